// SPDX-License-Identifier: Apache-2.0
// Schedules QPs for send work request fetches, and reads the work requests: the counterpart of
// rtl/rdma/vireo_send_queue.sv. It uses a work request's length only, not its contents. One that is shorter than an
// rdma_sq_req is extensible: it takes one read. A replay makes it read the work request of one record again.
//
// Of a stopped QP nothing is requested or read any more: what is on its way passes as failed, without report.
//
// Three machines that share a few registers: the line (which QP requests buffers next; two cycles per event), the reads
// (at most two per buffer), and the work requests (two cycles each). Beside them replays pass whose work request is
// kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/meters.h"
#include "model/common/table.h"
#include "model/rdma/qp_queues.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class SendQueue final : public Block {
 public:
  struct Sizes {
    uint32_t requests;  // outstanding, to descriptor fetch
    uint32_t buffers;   // that these ask for
    uint32_t fetches;   // outstanding reads, at most two per work request
  };
  static Sizes SizesOf(const spec::Config& config) {
    return {.requests = config.send_queue_requests,
            .buffers = config.send_queue_buffers,
            .fetches = config.send_queue_fetches};
  }

  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kDoorbellToRequest = 6;
  static constexpr Cycle kPushToRequest = 4;  // from the push_write that ends it
  static constexpr Cycle kReplayToRequest = 3;
  static constexpr Cycle kBufferToFetch = 3;
  static constexpr Cycle kFetchedToWorkRequest = 3;  // from the second response
  static constexpr Cycle kBufferToPushed = 5;        // buffer of a pushed work request, to that
  // A resume, or a replay whose work request is kept.
  static constexpr Cycle kReplayToWorkRequest = 4;
  // From the first cycle without hold_i to the request for a ring that waited.
  static constexpr Cycle kReleaseToRequest = 3;

  SendQueue(Agenda& agenda, const spec::Config& config, const Sizes& sizes);

  // Effective from cycle `from` on; initially 0.
  void SetMq(Cycle from, bool mq);
  // Likewise: extensible work requests are legal.
  void SetExtensible(Cycle from, bool extensible);
  // Likewise: from the next cycle on no request is made.
  void SetHold(Cycle from, bool hold);
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);
  // Called in its cycle.
  void OnPushWrite(Cycle cycle, const spec::PushWrite& write);

  Channel<spec::Doorbell> doorbell_in = Channel<spec::Doorbell>::Slice();
  Channel<spec::Doorbell> retired_in = Channel<spec::Doorbell>::Slice();
  Channel<spec::Replay> replay_in;
  Channel<spec::Buffer> buffer_in;
  Channel<spec::DmaFetched> fetched_in;
  Output<spec::BufferRequest> buffer_request_out;
  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::WorkRequest> work_request_out;
  Output<spec::QueueFailure> queue_failure_out;

  // Called in the cycle of the pulse, which follows each change.
  std::function<void(Cycle, const spec::QpSends&)> on_qp_sends = [](Cycle, const spec::QpSends&) {};

  void Run(Cycle now) override;
  // Reads of work requests that were decided, and those of them that have ended.
  uint64_t reads_begun() const { return reads_begun_; }
  uint64_t reads_ended() const { return reads_taken_ + fetched_in.size(); }
  // No request for buffers waits.
  bool IsSettled() const { return !request_; }
  // No work in flight after the cycles that have run.
  bool IsIdle() const;
  // Counts how long a QP in the line waits because as much is under way as there is room for; null: it does not. Must
  // outlive this.
  void SetMeter(BlockMeter* meter) { meter_ = meter; }

 private:
  struct Slot {
    bool queued = false;     // is in the line
    bool requested = false;  // a request is outstanding
    bool more = false;       // its ring may hold more than was requested
    uint32_t in_use = 0;     // records, including those requested
  };
  struct Fetch {
    uint32_t qpn;
    uint32_t count;
    bool is_replay = false;  // for a replay
    bool resume = false;     // no request was made: it only takes its turn
    bool pushed = false;     // the one buffer is that of `position`, if it is the next one
    uint16_t position = 0;
  };
  struct Answer {
    Fetch fetch;
    uint32_t got;
  };
  struct Info {
    uint32_t qpn = 0;
    uint16_t head = 0;
    uint64_t address = 0;
    uint32_t bytes = 0;
    spec::RdmaError failed = spec::RdmaError::kOk;
    bool extensible = false;
    bool is_replay = false;  // of a replay
    bool resume = false;     // there is no work request
    bool pushed = false;     // its bytes are in pushed_
  };
  // What was pushed last to a queue.
  struct PushHead {
    uint8_t count = 0;    // places written in order, since the last end
    bool sealed = false;  // it is complete, and `end` has come
    spec::RdmaPush end = {};
  };
  struct PushedBytes {
    uint8_t bytes[spec::kRdmaPushMost];
  };
  static constexpr uint32_t kPushWords = 1 + spec::kRdmaPushMost / spec::RdmaPush::kBytes;  // the address, and it
  struct Tail {
    uint64_t address;
    uint16_t bytes;
  };
  struct Head {
    uint8_t bytes[48];
    bool failed;
  };
  // The newest work request of this head that was read.
  struct Kept {
    bool valid = false;
    uint32_t qpn = 0;
    uint16_t head = 0;
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint8_t head_bytes[48] = {};
    uint8_t tail_bytes[32] = {};
  };
  enum class Op { kRetired, kAnswer, kWake, kPush, kRing, kServe };
  struct Event {
    Op op;
    uint32_t qpn;
  };

  // Where a work request is kept.
  size_t PlaceOf(uint32_t qpn, uint16_t head) const;
  // The QP may have work requests; as read in the cycle before.
  bool Sends(Cycle now, uint32_t qpn);
  // The replay at the input was looked up, and needs no request.
  bool IsQuick(Cycle now);
  bool IsLookedUp(Cycle now) const { return replay_in.CanPop(now) && replay_in.CanPop(now - 1); }

  // Each performs the work of a cycle and returns whether there was any.
  bool HasRoom() const;
  bool RunLine(Cycle now, bool answered, bool replay_is_slow);
  void Choose(Cycle now, bool answered);
  void Decide(Cycle now);
  bool TakePush(Cycle now, uint32_t qpn);
  std::optional<PushedBytes> BytesPushed(Cycle now, const Fetch& fetch, uint32_t bytes);
  void WritePush();
  void RequestReplay(Cycle now);
  bool RunFetch(Cycle now, bool answered);
  bool RunAssemble(Cycle now, bool quick);
  void TakeQuick(Cycle now);
  void Keep(Cycle now, const spec::WorkRequest& work);
  bool CanReport(Cycle now);
  void WriteSilenced();

  const uint32_t send_records_;
  const uint32_t fetch_room_;
  const bool has_extensible_, has_push_;
  const Sizes sizes_;

  QpQueues queues_;
  IndexSet wake_;
  IndexSet pushes_;                      // QPs of which a push has ended
  std::vector<PushHead> newest_pushes_;  // as they will be, and as they are:
  Table<PushHead> push_heads_;
  Table<uint64_t> push_words_;  // kPushWords of each QP
  struct PushArrival {
    Cycle cycle;
    spec::PushWrite write;
  };
  std::optional<PushArrival> push_arrival_;  // not written yet
  Cycle push_voided_ = kUnknown;             // cycle of the last qp_state_write that voided a push
  Channel<uint32_t> line_;
  Channel<Fetch> fetches_pending_;
  Channel<Info> infos_;            // work requests that were requested and not issued
  Channel<spec::Replay> replays_;  // whose work request has not been issued
  Table<spec::IbQpState> state_;
  Table<Slot> slots_;
  bool keeps_;  // any of them
  Table<Kept> kept_;
  // 1: no failure is reported, because one was, or the QP is stopped. A change of the latter is written one cycle
  // later.
  Table<uint8_t> silent_;
  struct Silenced {
    Cycle cycle;
    uint32_t qpn;
    bool silent;
  };
  std::optional<Silenced> silenced_;  // not written yet
  Cycle silenced_before_ = kUnknown;  // cycle of the one before it

  Level<bool> extensible_;
  Level<bool> hold_;
  bool held_ = false;           // as of the last cycle: effective in the next one
  std::optional<Event> event_;  // chosen, to be decided
  BlockMeter* meter_ = nullptr;
  bool line_turn_ = false;                  // the line and replays have priority over doorbells
  bool replay_turn_ = false;                // replays have priority over the line
  bool ring_turn_ = false;                  // doorbells have priority over pushes
  uint32_t requests_ = 0;                   // whose last buffer has not been taken
  uint32_t buffers_ = 0;                    // that these ask for
  std::optional<spec::WorkRequest> quick_;  // of a replay that needs no request
  uint32_t reads_due_ = 0;                  // work requests that go before the next such
  std::optional<Answer> answer_;
  uint32_t got_ = 0;
  uint64_t reads_begun_ = 0;
  uint64_t reads_taken_ = 0;  // their data
  std::optional<Tail> tail_;
  std::optional<Head> head_;
  std::optional<PushedBytes> pushed_;  // of the one in infos_

  std::optional<spec::BufferRequest> request_;
  std::optional<spec::DmaReadRequest> fetch_;
  std::optional<spec::WorkRequest> work_;
  std::optional<spec::QueueFailure> failure_;
  std::optional<spec::QpSends> sends_;  // the pulse of the next cycle
};

}  // namespace vireo::model
