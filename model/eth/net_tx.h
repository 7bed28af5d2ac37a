// SPDX-License-Identifier: Apache-2.0
// Walks the descriptors of net transmit queues and has their frames read: the counterpart of rtl/eth/vireo_net_tx.sv.
// On a doorbell a pair requests buffers from descriptor fetch; each buffer becomes jobs that cover its bytes in order
// and, when the gather reports that they were read or failed, a completion. It does not access frame bytes.
//
// Two machines share a request stream: one for the next buffers of rings, with several requests outstanding, one for
// the descriptors of the current chain, with one. The constants are unloaded latencies from the acceptance of one token
// to the visibility of the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/level.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetTx final : public Block {
 public:
  static constexpr Cycle kDoorbellToRequest = 3;
  static constexpr Cycle kBufferToJob = 5;   // one more for each of the job's runs; without chain
  static constexpr Cycle kBufferToWalk = 5;  // the request for the second descriptor
  static constexpr Cycle kWalkToWalk = 3;    // for each further one
  static constexpr Cycle kWalkToJob = 3;     // from the last one; one more for each of the job's runs
  static constexpr Cycle kBufferToDrop = 5;
  static constexpr Cycle kBufferToFailure = 5;
  static constexpr Cycle kSentToCompletion = 3;
  // Interval between the jobs of single descriptors of one or two runs: 2 cycles and one for each run.
  static constexpr Cycle kCyclesPerBuffer = 2;

  // Requests for buffers of one pair outstanding.
  static constexpr uint32_t kPairRequests = 3;
  // Jobs of a frame are made while fewer bytes of earlier ones are being read.
  static constexpr uint32_t kReadAheadBytes = 12288;
  // A run has at most so many bytes, and ends at a multiple of this address or with its descriptor. A host answers such
  // a read in one packet, so the reads of a frame are answered nearly in their order, and its first bytes need not wait
  // for its last ones.
  static constexpr uint32_t kRunBytes = 256;

  // max_frame_bytes: without header.
  NetTx(Agenda& agenda, uint32_t net_queue_pairs, uint32_t max_frame_bytes);
  NetTx(Agenda& agenda, const spec::Config& config) : NetTx(agenda, config.net_queue_pairs, config.max_frame_bytes) {}

  // Effective from cycle `from` on; initially 0.
  void SetHold(Cycle from, bool hold);
  void OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& write);

  Channel<spec::Doorbell> doorbell_in = Channel<spec::Doorbell>::Slice();
  Channel<spec::Buffer> buffer_in = Channel<spec::Buffer>::Slice();
  Channel<spec::RxAck> sent_in = Channel<spec::RxAck>::Slice();
  Channel<spec::QpFailure> failed_in = Channel<spec::QpFailure>::Slice();
  Output<spec::BufferRequest> buffer_request_out;
  Output<spec::TxJob> job_out;
  Output<spec::Completion> completion_out;
  Output<spec::QueueFailure> queue_failure_out;

  // Every doorbell, in the cycle of the pulse.
  std::function<void(Cycle, const spec::Doorbell&)> on_doorbell = [](Cycle, const spec::Doorbell&) {};
  // Called in the cycle of the pulse; optional.
  std::function<void(Cycle)> on_drop = [](Cycle) {};

  void Run(Cycle now) override;
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  enum class State : uint8_t { kTake, kRequest, kWait, kDecide, kRun, kFail };

  struct Pair {
    bool pending = false;  // may have buffers
    bool broken = false;   // broken until the row is written
    uint32_t asked = 0;    // requests for buffers outstanding
    uint32_t stale = 0;    // of them, the oldest ones whose response is discarded
  };
  // An outstanding request.
  struct Asked {
    bool by_index;
    uint32_t pair;
  };
  struct Head {
    uint32_t pair;
    bool valid;
  };
  struct Record {
    spec::Completion completion;
    bool dropped;  // without jobs
    uint32_t bytes;
  };
  struct Entry {
    uint64_t address;
    uint32_t bytes;
  };
  struct Walk {
    bool valid = true;  // false: its row was written meanwhile
    uint32_t pair = 0;
    uint16_t head = 0;
    spec::Buffer last{};  // the last descriptor received
    bool has_id = false;
    uint64_t total = 0;                       // bytes
    std::vector<Entry> entries{};             // of the descriptor being cut: the rest
    size_t entry = 0;                         // index of that one
    std::optional<spec::TxJob> first_half{};  // a job with one run, to be completed
  };

  // Each performs the work of a cycle and returns whether there was any.
  bool RunCompletions(Cycle now);
  bool RunRequest(Cycle now);
  bool RunAnswer(Cycle now);
  bool RunWalk(Cycle now);
  bool Take(Cycle now);
  bool Follow(Cycle now);
  void Decide(Cycle now);
  void CutRun();
  bool Fail();
  void Discard(uint32_t pair);

  // The response that comes next is that of the chain's request.
  bool IsWalked() const { return !asked_.empty() && asked_.front().by_index; }

  const uint32_t max_frame_bytes_;
  const uint32_t heads_most_;

  Channel<spec::Buffer> heads_;  // prefetched
  Channel<Record> records_;
  std::deque<Head> head_of_;  // by place in heads_
  uint32_t reserved_ = 0;     // slots of heads_: filled and requested
  std::vector<Pair> pairs_;
  uint32_t last_pair_;
  std::deque<Asked> asked_;
  uint32_t asks_ = 0;  // bit per pair that may request, as of the start of the cycle
  uint32_t got_ = 0;   // buffers of the oldest one's response

  State state_ = State::kTake;
  Walk walk_;
  std::optional<uint32_t> discard_;  // pair to discard at the end of the cycle
  bool breaks_ = false;              // the pair also becomes dead
  bool reads_ahead_ = false;         // enough is being read, as of the start of the cycle
  uint32_t reading_ = 0;             // bytes of frames with jobs whose completion has not left
  uint32_t ended_ = 0;               // frames whose completion has not left

  Level<bool> hold_{false};
  bool held_ = false;                            // as of the last cycle that ran
  std::deque<std::pair<Cycle, uint32_t>> rows_;  // pairs whose row was written, not yet reported

  std::optional<spec::BufferRequest> request_;
  std::optional<spec::TxJob> job_;
  std::optional<spec::Completion> completion_;
  std::optional<spec::QueueFailure> failure_;
  bool drop_ = false;  // the pulse of the next cycle
};

}  // namespace vireo::model
