// SPDX-License-Identifier: Apache-2.0
// Keeps the send records of every QP in order until acknowledges, a failure or a state change retire them, and issues a
// completion for each; decides on retransmissions and their timing (go-back-N): the counterpart of
// rtl/rdma/vireo_completer.sv. It reads no work request, sends no packet and has no timer of its own.
//
// An event takes 2 cycles, plus 2 for every record examined, 1 if it empties the ring, 1 for its end, and 1 if it is a
// NAK or stops at a READ; a waiting record that finds the timer running takes 2, a replay 3, a resume 2.
//
// A record whose outcome is known while its memory may still be read is parked: its completion follows when the fence
// shows that its packets and its replays have ended.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "model/rdma/qp_queues.h"
#include "model/rdma/response_fence.h"
#include "model/rdma/work_fence.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Completer final : public Block {
 public:
  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kAckToCompletion = 5;
  static constexpr Cycle kFailedRecordToCompletion = 5;
  static constexpr Cycle kStateToCompletion = 6;

  static constexpr Cycle kAckToHold = 7;           // the pulse; of a sequence NAK that completes nothing
  static constexpr Cycle kExpiredToHold = 4;       // the pulse
  static constexpr Cycle kHoldToReplay = 4;        // from the pulse on; the first one
  static constexpr Cycle kReadsToReplay = 4;       // from the pulse qp_reads on; one that waited for that READ
  static constexpr Cycle kReleaseToReplay = 4;     // from the first cycle without hold_i on; one that waited
  static constexpr Cycle kEndedToCompletion = 4;   // from the pulse packets_read on; one that is parked
  static constexpr uint8_t kRnrRetryInfinite = 7;  // rnr_retry: infinite [IBTA vol. 1, 9.7.5.2.8]
  // Replays that have not ended: no other one is started. Far more than there is room for on the way, except for
  // outdated ones while the wire is paused.
  static constexpr uint32_t kMostReplays = WorkFence::kReplays;

  Completer(Agenda& agenda, const spec::Config& config);

  // Effective from cycle `from` on; initially 0.
  void SetMq(Cycle from, bool mq);
  // Likewise: from the next cycle on no replay is started.
  void SetHold(Cycle from, bool hold);
  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip) { attributes_table_.OnFlip(now, flip); }
  // The attributes of a QP have bad parity; nothing of it completes. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);
  void OnQpSent(Cycle cycle, const spec::QpSent& sent);
  // Of the requester: what it has issued and ended. Of the transmit gather: a packet of the requester is read; `at` may
  // be in the future.
  void OnWorkEnds(Cycle cycle, const WorkEnds& ends);
  void OnPacketRead(Cycle at);
  // At the end of each cycle in which it is true.
  bool IsFencing() const { return response_fence_.IsBusy(); }
  void AdvanceFence(const ResponseFence::Reception& reception) { response_fence_.Advance(reception); }

  Channel<spec::SendRecord> record_in;
  Channel<spec::RxAck> ack_in;
  Channel<spec::TimerExpired> timer_expired_in;
  Output<spec::Completion> completion_out;
  Output<spec::Doorbell> retired_out;
  Output<spec::QpFailure> failure_out;
  Output<spec::Replay> replay_out;
  Output<spec::TimerSet> timer_set_out;

  // Called in the cycle of the pulse.
  std::function<void(Cycle, const spec::QpHold&)> on_qp_hold = [](Cycle, const spec::QpHold&) {};
  std::function<void(Cycle, const spec::QpReads&)> on_qp_reads = [](Cycle, const spec::QpReads&) {};

  // Who completes a local invalidate waits for the accesses that were granted before it: KeyFence. `on_fence_wait` is
  // called with the cycle of the pulse.
  std::function<spec::KeyFence(Cycle)> key_fence = [](Cycle) { return spec::KeyFence{}; };
  std::function<void(Cycle at)> on_fence_wait = [](Cycle) {};

  void Run(Cycle now) override;
  // Clears and flushes that came before have been done.
  bool IsSettled() const { return state_ == State::kChoose && clear_.IsEmpty() && flush_.IsEmpty(); }
  bool HasAck() const { return ack_in.size() != 0; }
  bool HasCompletion() const { return completion_.has_value(); }
  bool CanRunTwice() const override { return true; }  // its tables are written by others
  // No work in flight after the cycles that have run. Records waiting for acknowledges are ignored.
  bool IsIdle() const;

 private:
  enum class State { kChoose, kDecide, kAmend, kReplay, kRead, kCheck, kApplyAck, kEnd, kRetire };
  enum class Op { kClear, kFlush, kRecord, kRetire, kTimer, kAck, kReplay };
  // Reason for retiring records.
  enum class Reason {
    kDiscard,    // all, without completions
    kFlush,      // all
    kOwnStatus,  // those with a status of their own, and all later ones
    kAck,        // those acknowledged
    kNak,        // those acknowledged; the next one fails
  };
  // Action after the retirement.
  enum class NextAction { kNothing, kReplay, kPause, kContinue, kHalt };
  struct Attributes {
    bool reliable = false;  // RC: packets are acknowledged
    uint8_t path_mtu = 0;   // code of the path MTU; constant while the requester sends
    uint16_t cqn = 0;
    uint8_t timeout = 0;
    uint8_t retry_cnt = 0;
    uint8_t rnr_retry = 0;
    uint8_t max_rd_atomic = 0;
    bool HasTimer() const { return reliable && timeout != 0; }
  };
  struct StoredRecord {
    // An atomic operation is a READ, too, and ATOMIC WRITE and FLUSH: responses complete it.
    bool IsRead() const {
      return record.opcode == spec::IbWcOpcode::kRdmaRead || record.opcode == spec::IbWcOpcode::kCompSwap ||
             record.opcode == spec::IbWcOpcode::kFetchAdd || record.opcode == spec::IbWcOpcode::kAtomicWrite ||
             record.opcode == spec::IbWcOpcode::kFlush;
    }
    spec::SendRecord record;
    bool to_report = false;  // its status is not yet reported to QP control
    // Numbers of its work request and of its last replay; those of others if it has no packets, or no replay.
    WorkFence::Counts ends;
    // Of a parked local invalidate: generations of the accesses before it.
    uint8_t sent = 0;
    uint8_t received = 0;
  };
  struct Ring {
    bool failed = false;              // a completion had an error: all later ones flush
    uint32_t unacked = 0;             // oldest PSN without an acknowledge
    uint32_t newest = 0;              // last PSN of the newest record
    std::deque<StoredRecord> parked;  // with their outcome, in the slots before the first record's
    bool is_polled = false;           // in the set of QPs with parked records
    // Responses to its READs: are they accepted, or, since it is in ERR, may they be on their way to memory, until
    // this epoch has passed.
    enum class Responses : uint8_t { kOpen, kClosing, kClosed } responses{};
    uint16_t closed_by = 0;
    std::deque<StoredRecord> records;
    bool has_own_outcome = false;  // a record that leaves without an acknowledge may be among them
    uint32_t oldest = 0;           // slot of the first one
    uint8_t epoch = 0;             // of the last hold
    uint8_t records_before = 0;    // records taken before it, of all QPs
    bool replaying = false;        // replays or the resume of that hold are still to be issued
    uint32_t cursor = 0;           // while replaying: number of records, from the oldest on, whose replay was issued
    bool part = false;             // of the record at the cursor, a part was requested, up to
    uint32_t next = 0;             //   this PSN
    bool awaits = false;           // no turn before the requester has started that part
    uint32_t sent = 0;   // packets before this PSN were requested once; at most kMostOutstanding from `unacked` on
    uint8_t number = 0;  // of records, in total
    uint32_t reads = 0;  // READs among the records
    uint32_t reads_replayed = 0;  // READs before the cursor
    uint8_t reads_ended = 0;      // READs retired, in total
    bool waits_for_read = false;  // the replay waits for a READ to complete
    bool waits_for_ack = false;   // the replay or the resume waits for an acknowledge: too much is outstanding
    bool paused = false;          // RNR NAK wait: no replay before the timer expires
    bool nak_replayed = false;    // a sequence NAK of `unacked` has started the last replay
    uint8_t retries = 0;          // retries without progress, after sequence NAKs and timeouts
    uint8_t rnr_retries = 0;      // likewise after RNR NAKs
    bool timer = false;           // running
    bool timed = false;           // the packets awaiting acknowledge had been sent when it was set
    uint8_t timer_epoch = 0;      // of the last timer_set
  };

  bool Step(Cycle now);
  bool Choose(Cycle now);
  bool HasRecordOf(Cycle now, uint32_t qpn) const;
  spec::SendRecord TakeRecord(Cycle now);
  // Each returns the next state.
  State Decide(Cycle now);
  State DecideRecord(Cycle now);
  State DecideTimer(Cycle now);
  State DecideAck(Cycle now);
  State DecideReplay(Cycle now);
  State Amend(Cycle now);
  bool IsAwaited(const Ring& ring, uint32_t index) const;
  void Replay(Cycle now);
  State Check(Cycle now);
  bool IsPending(const StoredRecord& stored) const;
  bool AwaitsResponses(const StoredRecord& stored) const;
  void CheckResponses(Ring& ring) const;
  void Complete(Cycle now, const StoredRecord& stored);
  void PushParked(Cycle now);
  bool IsFenced(Cycle now, const StoredRecord& stored);
  State Retire(Cycle now);
  State ApplyAck();
  State End(Cycle now);
  void PushTurn(Cycle now);

  const uint32_t num_qps_;
  const uint32_t send_records_;
  const uint32_t burst_bytes_;

  QpQueues queues_;
  IndexSet clear_;
  IndexSet flush_;
  Table<spec::IbQpState> state_table_;
  IndexSet turn_;    // QPs with retransmissions pending; each turn is one replay
  IndexSet parked_;  // QPs with parked records
  size_t parked_qps_ = 0;
  size_t polls_left_ = 0;        // of these, to be examined since the last change of the fence
  bool polled_ = false;          // the last turn other than a record's was that of one of these
  size_t locals_parked_ = 0;     // local invalidates among the parked records
  spec::KeyFence last_fence_{};  // one cycle ago, while there are such
  bool key_fence_changed_ = false;
  WorkFence fence_;
  ResponseFence response_fence_;
  WorkFence::Counts started_;  // works: records with packets; replays: issued
  ContextTable<Attributes> attributes_table_;
  // Last qp_sent of a QP, and the hold epoch of that packet.
  struct Sent {
    bool valid = false;  // since the last state in which nothing is sent
    uint32_t psn = 0;
    uint8_t epoch = 0;
  };
  Table<Sent> sent_table_;
  // Not in the table yet: other events of its cycle may still be reported.
  struct LastSent {
    Cycle cycle;
    uint32_t qpn;
    Sent entry;
  };
  std::optional<LastSent> last_sent_;
  struct InstanceStart {
    Cycle cycle = kUnknown;
    uint32_t qpn = 0;
  } instance_start_;  // the last one
  void WriteSent(Cycle before);
  std::vector<Ring> rings_;  // accessed only by this block's machine, one event at a time

  State state_ = State::kChoose;
  Op op_ = Op::kClear;
  Reason reason_ = Reason::kDiscard;
  Cycle chosen_ = 0;  // when the tables were read
  uint32_t qpn_ = 0;
  uint32_t base_ = 0;
  uint32_t covered_ = 0;  // PSNs acknowledged, from base_ on
  Attributes attributes_;
  bool dead_ = false;  // they have bad parity
  Sent sent_;
  NextAction next_action_ = NextAction::kNothing;
  bool is_read_ = false;     // the acknowledge is a READ response
  bool has_status_ = false;  // it has a status
  bool replayed_ = false;    // the last turn other than a record's was a replay's
  bool flushed_ = false;     // the last turn other than another record's was that of a record with a status
  uint8_t taken_ = 0;        // records, of all QPs
  spec::IbWcStatus nak_status_{};
  uint8_t syndrome_ = 0;

  Level<bool> hold_level_;
  bool held_ = false;  // as of the last cycle: effective in the next one

  std::optional<spec::Completion> completion_;
  std::optional<spec::Doorbell> retired_;
  std::optional<spec::QpFailure> failure_;
  std::optional<spec::Replay> replay_;
  std::optional<spec::TimerSet> timer_set_;
  std::optional<spec::QpHold> hold_;    // the pulse of the next cycle
  std::optional<spec::QpReads> reads_;  // likewise
};

}  // namespace vireo::model
