// SPDX-License-Identifier: Apache-2.0
// Decides on every received frame, in order: which bytes go to memory, what it completes and the
// response: the counterpart of rtl/rdma/vireo_responder.sv. Owner of the receive half of every QP and of its
// outstanding READs as requester. Of requests it executes SEND and RDMA WRITE, with or without immediate data, and RDMA
// READ on RC, SEND and WRITE on UC, and SEND on UD and GSI; of responses it accepts acknowledges and READ responses. In
// ERR it flushes the QP's receives, one per turn. A frame leaves as one rx_place or as several, one of the net path
// with its length alone, a flushed receive as one without frame.
//
// With r the cycle in which a frame's turn comes (its tables are read): it is decided on in r + 2 or when the outputs
// of the previous frame have been taken, + 1. The outputs are visible one cycle after the decision; with a key check,
// the check is issued one cycle after the decision and the outputs are visible one cycle after its response. A receive
// or an element is used one cycle after it is visible. A READ response is decided on one cycle later than others.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "model/rdma/memory_grant.h"
#include "model/rdma/qp_queues.h"
#include "model/rdma/read_ring.h"
#include "model/rdma/responder_groups.h"
#include "model/rdma/responder_turn.h"
#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Responder final : public Block {
 public:
  // From a frame's turn to the decision.
  static constexpr uint64_t kDecisionLatency = 2;
  // In addition, for the first packet in RTR: comm_est is reported first, when its output is free.
  static constexpr uint64_t kAnnounceLatency = 2;

  // From a flush's turn to the request for a receive, or to the decision if a message holds one.
  static constexpr uint64_t kFlushLatency = 1;

  // From the turn of a frame behind another one until its key check or receive can be requested.
  static constexpr uint64_t kAheadLatency = 2;

  // Additional cycles until a READ response's place is known.
  static constexpr uint64_t kResponseLatency = 1;

  struct Sizes {
    uint32_t net_queue_pairs;
    uint32_t num_cqs;
    uint32_t num_qps;
    uint32_t max_rd_atomic;  // READs of ours per QP; a power of two, 2 or more
    bool has_atomics = true;
    bool has_atomic_write = true;
    bool has_flush = true;
    bool has_invalidation = true;
    bool has_shared_queues = true;
    uint32_t max_mcast_attach = 0;  // at most 64
    uint32_t data_bits = 512;
  };

  Responder(Agenda& agenda, const Sizes& sizes);
  Responder(Agenda& agenda, const spec::Config& config)
      : Responder(agenda, Sizes{.net_queue_pairs = config.net_queue_pairs,
                                .num_cqs = config.num_cqs,
                                .num_qps = config.num_qps,
                                .max_rd_atomic = config.max_rd_atomic,
                                .has_atomics = config.atomics != 0,
                                .has_atomic_write = config.atomic_write != 0,
                                .has_flush = config.flush != 0,
                                .has_invalidation = config.invalidation != 0,
                                .has_shared_queues = config.max_srqs != 0,
                                .max_mcast_attach = config.max_mcast_attach,
                                .data_bits = config.datapath_bits}) {}

  Channel<spec::QpLoad> load_in;
  Channel<RxToken> frame_in;
  Channel<spec::MemoryPlace> memory_place_in;
  Channel<spec::Doorbell> doorbell_in = Channel<spec::Doorbell>::Slice();  // of receive queues
  Channel<spec::Receive> receive_in;
  Channel<spec::ReadRecord> read_record_in;
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::ReceiveRequest> receive_request_out;
  Channel<spec::ReceiveRetry> receive_retry_in = Channel<spec::ReceiveRetry>::Slice();
  Output<spec::RxPlace> place_out;
  Output<spec::QpFailure> failure_out;

  // Pulses, in their cycle.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  // Any memory; those of others are ignored.
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip) { attributes_table_.OnFlip(now, flip); }
  // The entry of a QP whose turn comes has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);
  void OnQpReads(Cycle now, const spec::QpReads& reads);  // of the read responder
  // enable_i from cycle `from` on, which has not ended; 0 before the first call.
  void SetEnable(Cycle from, bool enable);
  // mq_i, likewise.
  void SetMq(Cycle from, bool mq);
  // mac_i, likewise: the device's own address.
  void SetMac(Cycle from, const std::array<uint8_t, 6>& mac) { mac_.Set(from, mac); }

  // hold_i, likewise; from the next cycle on no frame's turn is started.
  void SetHold(Cycle from, bool hold);

  void Run(Cycle now) override;
  // No frame or flush has its turn, and none waits for it with its tables read.
  bool IsSettled() const { return state_ == State::kIdle && !has_next_; }
  // Places that it has made, but those of net frames.
  uint64_t places_begun() const { return places_begun_; }
  // A turn begins with reading what the previous one has written. One QP is added to those to flush per cycle.
  bool CanRunTwice() const override {
    return state_ != State::kIdle && !wrote_ && changes_.empty() && !reflush_ && !ring_;
  }
  bool IsIdle() const;

  // Called in the cycle of the pulse: one after a possible change of a QP's expected PSN.
  // A granted access is not made.
  OnGrantEnded on_grant_ended = [](Cycle, Cycle, const spec::MemoryGrant&) {};
  std::function<void(Cycle, const spec::QpPsn&)> on_expected_psn = [](Cycle, const spec::QpPsn&) {};
  // A doorbell of a receive queue, in the cycle after it was taken.
  std::function<void(Cycle, const spec::QueueRung&)> on_queue_rung = [](Cycle, const spec::QueueRung&) {};

 private:
  enum class State : uint8_t { kIdle, kAct, kRead, kMemory, kReceive, kNext, kInvalidate, kDrain, kFlush };
  using Action = ResponderAction;
  // What was issued for the frame behind, whose answer comes after those of the frame in progress.
  enum class Issued : uint8_t { kNothing, kCheck, kReceive };
  // Parts of a frame that go to a receive, in this order; payload only, except for datagrams.
  enum class Part : uint8_t { kZeros, kHeader, kPayload };
  // A token in an output register.
  template <typename T>
  struct Register {
    std::optional<T> token;
    Cycle since = 0;  // when it was set, or taken
    void Set(Cycle now, const T& value) {
      token = value;
      since = now;
    }
    void Offer(Cycle now, Output<T>& output) {
      if (!token || since >= now || !output.CanPush(now)) return;
      output.Push(now, *token);
      token.reset();
      since = now;
    }
    // Empty in cycle `now`, as the block samples it.
    bool IsFree(Cycle now) const { return !token && (since < now || since == 0); }
  };

  void Begin(Cycle now);
  void ReadTables(Cycle now, ResponderTurn& turn, uint32_t qpn);
  void Reset(const ResponderTurn& turn);
  bool IsLast() const;
  bool IsCertain() const;
  void IssueAhead(Cycle now);
  void IssueEarly(Cycle now);
  void Advance(Cycle now);
  // The payload goes to elements.
  bool Scatters() const { return is_response_ || turn_->IsSend(); }
  void BeginPart(Part part);
  void Act(Cycle now);
  void CheckKey(Cycle now, const ResponderTurn& turn);
  void MatchResponse(Cycle now);
  void OnMemory(Cycle now);
  void EndGrant(Cycle now, const spec::MemoryGrant& grant);
  void OnReceive(Cycle now);
  void OnInvalidate(Cycle now);
  void Next(Cycle now, bool reflush);
  void Flush(Cycle now);
  void RequestReceive(Cycle now, uint32_t queue, bool no_wait = false);
  // The next one, or one that is `behind` it.
  void RequestElement(Cycle now, uint8_t behind = 0);
  void TakeElement(const spec::RdmaSge& sge);
  void CheckElement(Cycle now, uint64_t address, uint32_t key, uint32_t bytes);
  void CheckAhead(Cycle now);
  void Drain(Cycle now);
  void SetState(Cycle now, State state);
  bool HasSpace(Cycle now);
  void Complete(Cycle now, spec::RxPlace& place, spec::RdmaCqReq cqe, bool solicited);
  void SetPlace(Cycle now, const spec::RxPlace& place);
  void SetRuns(spec::RxPlace& place, const spec::MemoryPlace& memory) const;
  uint32_t Chunk() const { return std::min(position_.cursor.bytes_left, left_); }
  // `memory`: final action of the frame, if any of it is written.
  void WriteHalf(Cycle now, uint32_t qpn, const ResponderHalf& half);
  void Finish(Cycle now, Action action, const spec::MemoryPlace& memory = {});
  void FinishRequest(Cycle now, Action action, const RxToken& frame, spec::RxPlace& place,
                     spec::MemoryStatus memory_status);
  void FinishResponse(Cycle now, Action action, const RxToken& frame, spec::RxPlace& place,
                      spec::MemoryStatus memory_status);
  void RunRings(Cycle now, bool reflush);
  bool Enabled(Cycle now) const { return enable_from_ <= now ? next_enable_ : enable_; }

  const bool has_shared_queues_;
  QpQueues queues_;

  ContextTable<ResponderAttributes> attributes_table_;
  Table<spec::IbQpState> state_table_;
  Table<ResponderHalf> half_table_;
  Table<ResponderReadHalf> read_half_table_;
  // READs of the peer that the read responder has ended, modulo 2^8.
  Table<uint8_t> ended_table_;
  ReadRing reads_;
  ResponderGroups groups_;
  Level<std::array<uint8_t, 6>> mac_;

  bool enable_ = false;
  bool next_enable_ = false;
  Cycle enable_from_ = 0;

  Level<bool> hold_;
  bool held_ = false;  // as of the last cycle: effective in the next one

  // QPs to flush, and QPs about to be added, in order.
  IndexSet flush_;
  struct Change {
    Cycle cycle = 0;
    uint32_t qpn = 0;
    bool clear = false;
  };
  std::deque<Change> changes_;  // from qp_state_write, visible one cycle later
  std::optional<uint32_t> reflush_;
  std::optional<uint32_t> ring_;  // a doorbell of a QP, in ERR or not
  std::optional<uint32_t> rung_;  // the pulse of the next cycle
  bool ring_in_error_ = false;

  State state_ = State::kIdle;
  Cycle begins_ = 0;  // start of the state
  // State of the turn.
  bool is_flush_ = false;
  bool attributes_corrupt_ = false;
  bool was_flush_ = false;  // the last turn: a frame has priority over the next one
  bool wrote_ = false;      // a table of QPs, in the last cycle that ran
  std::array<ResponderTurn, 2> turns_;
  ResponderTurn* turn_ = &turns_[0];  // in progress
  ResponderTurn* next_ = &turns_[1];  // the frame behind, if its turn has come
  bool has_next_ = false;
  Cycle next_since_ = 0;
  Issued next_issued_ = Issued::kNothing;
  // Its turn came behind a SEND of its QP, as whose message is complete; but that was refused.
  bool next_expects_ = false;
  bool next_refused_ = false;
  // The key check of a WRITE that is next was issued before its turn, because the frame in front of it is of its QP.
  bool early_ = false;
  uint16_t early_pdn_ = 0;
  // Of a READ response.
  bool is_response_ = false;
  ResponderReadHalf read_half_;
  struct {
    bool is_held = false;
    bool is_atomic = false;
    bool is_at_first = false;  // no element behind the first one was requested
    uint32_t last_psn = 0;
  } oldest_;
  // The receive, and bytes not yet placed.
  bool is_element_ = false;  // kind of the receive_request outstanding, or last
  // Behind the piece whose key is checked: the next element was requested, its key is checked, the one after it was
  // requested.
  bool ahead_ = false;
  bool checked_ = false;
  bool further_ = false;
  spec::MemoryStatus refused_{};  // of the piece
  spec::BufferStatus status_{};
  spec::RdmaError code_{};
  ReceivePosition position_;
  Part part_ = Part::kPayload;
  uint32_t left_ = 0;    // of the part
  uint32_t rest_ = 0;    // of the part, behind all whose keys are checked
  uint32_t offset_ = 0;  // in the frame

  Register<spec::MemoryCheck> check_;
  Register<spec::ReceiveRequest> request_;
  Register<spec::RxPlace> place_;
  uint64_t places_begun_ = 0;
  Register<spec::QpFailure> failure_;
  std::optional<spec::QpPsn> expected_psn_;  // the pulse of the next cycle
};

}  // namespace vireo::model
