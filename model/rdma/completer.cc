// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/completer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/common/output_register.h"
#include "model/common/wide_slice.h"
#include "model/rdma/completer_rules.h"
#include "model/rdma/key_fence.h"
#include "model/rdma/psn.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::IbQpState;
using spec::IbWcStatus;

}  // namespace

Completer::Completer(Agenda& agenda, const spec::Config& config)
    : Block(agenda),
      record_in(WideSlice<spec::SendRecord>(config.datapath_bits)),
      ack_in(WideSlice<spec::RxAck>(config.datapath_bits)),
      timer_expired_in(WideSlice<spec::TimerExpired>(config.datapath_bits)),
      num_qps_(config.num_qps),
      send_records_(config.send_records),
      burst_bytes_(config.send_burst_bytes),
      queues_(config.net_queue_pairs, config.num_cqs, config.num_qps, spec::kRdmaTransmitqOffset),
      clear_(config.num_qps),
      flush_(config.num_qps),
      state_table_(config.num_qps),
      turn_(config.num_qps),
      parked_(config.num_qps),
      attributes_table_(spec::ContextRam::kCompleterQp, config.num_qps, on_parity_error),
      sent_table_(config.num_qps),
      rings_(config.num_qps) {
  record_in.SetConsumer(this);
  ack_in.SetConsumer(this);
  timer_expired_in.SetConsumer(this);
}

void Completer::SetMq(Cycle from, bool mq) { queues_.SetMq(from, mq); }

void Completer::SetHold(Cycle from, bool hold) {
  hold_level_.Set(from, hold);
  WakeAt(from);
}

void Completer::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  attributes_table_.Write(cycle, write.index,
                          {.reliable = context.qp_type == spec::IbQpType::kRc,
                           .path_mtu = static_cast<uint8_t>(static_cast<uint8_t>(context.path_mtu) % 8),
                           .cqn = context.send_cqn,
                           .timeout = context.timeout,
                           .retry_cnt = context.retry_cnt,
                           .rnr_retry = context.rnr_retry,
                           .max_rd_atomic = context.max_rd_atomic});
}

void Completer::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  state_table_.Write(cycle, write.qpn, write.state);
  if (IsBeforeSend(write.state)) {
    WriteSent(cycle);
    sent_table_.Write(cycle, write.qpn, {});
    instance_start_ = {cycle, write.qpn};
  }
  if (write.clear) {
    clear_.Push(cycle, write.qpn);
    WakeAt(std::max(cycle, clear_.PopReady()));
  }
  if (write.state == IbQpState::kErr) {
    flush_.Push(cycle, write.qpn);
    WakeAt(std::max(cycle, flush_.PopReady()));
  }
}

void Completer::OnQpSent(Cycle cycle, const spec::QpSent& sent) {
  WriteSent(cycle);
  last_sent_ = {cycle, sent.qpn % num_qps_, {.valid = true, .psn = sent.psn, .epoch = sent.epoch}};
}

// A qp_sent in the cycle in which an instance of a QP starts belongs to its previous instance, or to another QP and is
// written one cycle later.
void Completer::WriteSent(Cycle before) {
  if (!last_sent_ || last_sent_->cycle >= before) return;
  const bool begins = instance_start_.cycle == last_sent_->cycle;
  if (!begins || instance_start_.qpn != last_sent_->qpn) {
    sent_table_.Write(last_sent_->cycle + (begins ? 1 : 0), last_sent_->qpn, last_sent_->entry);
  }
  last_sent_.reset();
}

void Completer::OnWorkEnds(Cycle cycle, const WorkEnds& ends) {
  fence_.OnEnds(cycle, ends);
  WakeAt(cycle + 1);
}

void Completer::OnPacketRead(Cycle at) {
  fence_.OnRead(at);
  WakeAt(at + 1);
  WakeAt(at + 2);
}

void Completer::Run(Cycle now) {
  const bool has_ended = fence_.Advance(now), has_key_change = std::exchange(key_fence_changed_, false);
  if (response_fence_.TakeChange() || has_ended || has_key_change) polls_left_ = parked_qps_;
  if (locals_parked_ != 0) {
    const spec::KeyFence fence = key_fence(now);
    key_fence_changed_ = fence != std::exchange(last_fence_, fence);
    WakeAt(now + 1);
  }
  if (fence_.IsBehind() || response_fence_.IsBusy()) WakeAt(now + 1);
  if (const auto hold = std::exchange(hold_, std::nullopt)) on_qp_hold(now, *hold);
  if (const auto reads = std::exchange(reads_, std::nullopt)) on_qp_reads(now, *reads);
  bool moved = Leave(now, completion_, completion_out);
  moved |= Leave(now, retired_, retired_out);
  moved |= Leave(now, failure_, failure_out);
  moved |= Leave(now, replay_, replay_out);
  moved |= Leave(now, timer_set_, timer_set_out);
  moved |= Step(now);
  if (const bool hold = hold_level_.At(now); hold != held_) {
    held_ = hold;
    moved = true;
  }
  if (moved) WakeAt(now + 1);
}

bool Completer::Step(Cycle now) {
  const State before = state_;
  switch (state_) {
    case State::kChoose: return Choose(now);
    case State::kDecide: state_ = Decide(now); return true;
    case State::kAmend: state_ = Amend(now); return true;
    case State::kReplay:
      Replay(now);
      state_ = State::kChoose;
      return true;
    case State::kRead: state_ = rings_[qpn_].records.empty() ? State::kEnd : State::kCheck; return true;
    case State::kCheck: state_ = Check(now); return state_ != before;
    case State::kApplyAck: state_ = ApplyAck(); return true;
    case State::kEnd: state_ = End(now); return state_ != before;
    case State::kRetire: {
      const size_t parked = rings_[qpn_].parked.size();
      state_ = Retire(now);
      return state_ != before || rings_[qpn_].parked.size() != parked;
    }
  }
  return false;
}

bool Completer::Choose(Cycle now) {
  // Records before acknowledges: a record must be processed before the acknowledge of its packets. Records with a
  // status free their own space, so their stream could starve other events; they alternate with all others, which do
  // not depend on later records of their QP.
  const bool waits = record_in.CanPop(now);
  const bool acks = ack_in.CanPop(now) && !HasRecordOf(now, ack_in.front().qpn);
  const bool expires = timer_expired_in.CanPop(now);
  const bool replays = turn_.CanPop(now) && !held_ && !replay_ &&
                       Number(started_.replays - fence_.ended().replays) < kMostReplays &&
                       (!replayed_ || (!expires && !acks));
  const bool retires = polls_left_ != 0 && parked_.CanPop(now) && (!polled_ || (!replays && !expires && !acks));
  const bool flushes = waits && (record_in.front().status != IbWcStatus::kSuccess || record_in.front().is_local);
  if (clear_.CanPop(now)) {
    op_ = Op::kClear;
    qpn_ = clear_.Pop(now);
    WakeAt(clear_.PopReady());
  } else if (flush_.CanPop(now)) {
    op_ = Op::kFlush;
    qpn_ = flush_.Pop(now);
    WakeAt(flush_.PopReady());
  } else if (waits && !(flushes && flushed_ && (retires || replays || expires || acks))) {
    op_ = Op::kRecord;
    qpn_ = record_in.front().qpn;
    flushed_ |= flushes;
  } else if (retires) {
    op_ = Op::kRetire;
    qpn_ = parked_.Pop(now);
    WakeAt(parked_.PopReady());
    --polls_left_;
    polled_ = true;
    flushed_ = false;
  } else if (replays) {
    op_ = Op::kReplay;
    qpn_ = turn_.Pop(now);
    WakeAt(turn_.PopReady());
    replayed_ = true;
    polled_ = false;
    flushed_ = false;
  } else if (expires) {
    op_ = Op::kTimer;
    qpn_ = timer_expired_in.front().qpn % num_qps_;
    replayed_ = polled_ = false;
    flushed_ = false;
  } else if (acks) {
    op_ = Op::kAck;
    qpn_ = ack_in.front().qpn % num_qps_;
    replayed_ = polled_ = false;
    flushed_ = false;
  } else {
    return false;
  }
  chosen_ = now;
  next_action_ = NextAction::kNothing;
  state_ = State::kDecide;
  return true;
}

// One is waiting, of any QP with the same low bits of its number.
bool Completer::HasRecordOf(Cycle now, uint32_t qpn) const {
  return record_in.AnyBefore(now,
                             [&](const spec::SendRecord& record) { return record.qpn % num_qps_ == qpn % num_qps_; });
}

spec::SendRecord Completer::TakeRecord(Cycle now) {
  ++taken_;
  return record_in.Pop(now);
}

Completer::State Completer::Decide(Cycle now) {
  Ring& ring = rings_[qpn_];
  attributes_ = attributes_table_.Peek(chosen_, qpn_);
  dead_ = attributes_table_.corrupt() && op_ != Op::kClear;
  if (dead_) attributes_table_.Report(chosen_);
  WriteSent(chosen_);
  sent_ = sent_table_.Read(chosen_, qpn_);
  switch (op_) {
    case Op::kClear:
      reason_ = Reason::kDiscard;
      ring.failed = false;
      ring.epoch = 0;
      ring.records_before = taken_;
      ring.nak_replayed = false;
      ring.retries = 0;
      ring.rnr_retries = 0;
      ring.responses = Ring::Responses::kOpen;
      // What only waits for responses leaves now.
      if (!ring.parked.empty()) polls_left_ = parked_qps_;
      return State::kRead;
    case Op::kFlush:
      reason_ = Reason::kFlush;
      if (state_table_.Read(chosen_, qpn_) != IbQpState::kErr || dead_) return State::kChoose;
      if (ring.responses == Ring::Responses::kOpen) {
        ring.responses = Ring::Responses::kClosed;
        if (ring.reads != 0 || !ring.parked.empty()) {
          ring.responses = Ring::Responses::kClosing;
          ring.closed_by = response_fence_.Start();
        }
      }
      return State::kRead;
    case Op::kRecord: return DecideRecord(now);
    case Op::kRetire: return State::kRetire;
    case Op::kTimer: return DecideTimer(now);
    case Op::kAck: return DecideAck(now);
    case Op::kReplay: return DecideReplay(now);
  }
  return State::kChoose;
}

Completer::State Completer::DecideRecord(Cycle now) {
  Ring& ring = rings_[qpn_];
  const IbQpState state = state_table_.Read(chosen_, qpn_);
  reason_ = state == IbQpState::kErr ? Reason::kFlush : KeepsRecords(state) ? Reason::kOwnStatus : Reason::kDiscard;
  if (dead_) reason_ = Reason::kDiscard;
  if (record_in.front().replaces) return State::kAmend;

  StoredRecord stored{.record = TakeRecord(now), .ends = fence_.ended()};
  const spec::SendRecord& record = stored.record;
  if (!record.unsent && record.status == IbWcStatus::kSuccess && !record.is_local) {
    stored.ends.works = started_.works = Number(started_.works + 1);
  }
  // The requester has seen the hold of the failure, and SQE after it.
  if (!attributes_.reliable && !dead_ && record.recovers && record.epoch == ring.epoch) ring.failed = false;
  const bool has_own_outcome = record.status != IbWcStatus::kSuccess || record.no_completion || record.is_local;
  if (ring.records.empty()) {
    ring.unacked = ring.sent = record.first_psn;
    ring.has_own_outcome = has_own_outcome;
  } else {
    ring.has_own_outcome |= has_own_outcome;
  }
  ring.newest = record.last_psn;
  ++ring.number;
  // A work request that failed has no packets, and earlier ones may be unsent.
  if (!record.unsent && record.status == IbWcStatus::kSuccess && !record.is_local) {
    ring.sent = Psn(record.packets != 0 ? record.first_psn + record.packets : record.last_psn + 1);
  }
  State next = State::kRead;
  if (reason_ == Reason::kOwnStatus && !ring.failed && record.status == IbWcStatus::kSuccess && !record.no_completion &&
      !record.is_local) {
    if ((record.unsent || record.packets != 0) && !ring.paused && !ring.replaying) {
      // The requester holds the QP itself, or will when the first part of the message has left, or the resume was
      // issued before it made this record.
      next_action_ = NextAction::kContinue;
      ring.part = !record.unsent;
      ring.next = Psn(record.first_psn + record.packets);
      ring.cursor = static_cast<uint32_t>(ring.records.size());
      ring.reads_replayed = ring.reads;
      next = State::kEnd;
    } else {
      next = !ring.timer && !ring.paused && attributes_.HasTimer() ? State::kEnd : State::kChoose;
    }
  }
  ring.records.push_back(stored);
  assert(ring.parked.size() + ring.records.size() <= send_records_);
  if (stored.IsRead()) ++ring.reads;
  return next;
}

Completer::State Completer::DecideReplay(Cycle now) {
  Ring& ring = rings_[qpn_];
  if (dead_ || !KeepsRecords(state_table_.Read(chosen_, qpn_)) || ring.failed || !ring.replaying || ring.awaits) {
    return State::kChoose;
  }
  if (ring.cursor != ring.records.size()) return State::kReplay;
  // A message that had started to leave when its QP was held must arrive before the resume is issued: with fewer
  // records than this since the hold it may still be in flight.
  if (record_in.CanPop(now) && static_cast<uint8_t>(taken_ - ring.records_before) < kRecordsInFlight) {
    PushTurn(now);
    return State::kChoose;
  }
  // All records were requested, so this is not more than kMostOutstanding.
  if (Psn(ring.newest + 1 - ring.unacked) > kMostOutstanding / 2) {
    ring.waits_for_ack = true;
    return State::kChoose;
  }
  replay_ = spec::Replay{
      .qpn = qpn_, .resume = true, .epoch = ring.epoch, .psn = Psn(ring.newest + 1), .number = ring.number};
  ring.replaying = false;
  return State::kChoose;
}

Completer::State Completer::Amend(Cycle now) {
  Ring& ring = rings_[qpn_];
  const spec::SendRecord record = TakeRecord(now);
  const uint32_t newest = (ring.oldest + static_cast<uint32_t>(ring.records.size()) - 1) % send_records_;
  const uint32_t slot = record.is_replay ? record.slot : newest;
  const uint32_t index = (slot - ring.oldest) % send_records_;
  if (slot >= send_records_ || index >= ring.records.size() ||
      (record.is_replay && ring.records[index].record.first_psn != record.first_psn)) {
    return State::kChoose;  // its message is complete
  }
  const bool awaited = IsAwaited(ring, index);
  if (record.packets != 0) {
    // A part of it has started: the next one may be requested, unless a later hold has restarted the replay.
    if (awaited && record.epoch == ring.epoch) {
      ring.awaits = false;
      PushTurn(now);
    }
    return State::kChoose;
  }
  // The requested part will not be sent.
  if (awaited) ring.replaying = ring.awaits = false;
  // Only its status: the other fields are kept from the first record.
  StoredRecord& stored = ring.records[index];
  stored.record.status = record.status;
  stored.record.vendor_err = record.vendor_err;
  stored.to_report = record.is_replay;
  ring.has_own_outcome = true;
  return State::kRead;
}

bool Completer::IsAwaited(const Ring& ring, uint32_t index) const {
  return ring.replaying && ring.awaits && index == ring.cursor;
}

void Completer::Replay(Cycle now) {
  Ring& ring = rings_[qpn_];
  StoredRecord& stored = ring.records[ring.cursor];
  const spec::SendRecord& record = stored.record;
  if (record.status != IbWcStatus::kSuccess || record.no_completion) {
    // It is never acknowledged, so replaying later records is useless.
    ring.replaying = false;
    return;
  }
  if (record.is_local) {
    // It was executed when it came.
    ring.part = false;
    ++ring.cursor;
    return PushTurn(now);
  }
  if (ring.reads_replayed != 0 &&
      (record.fence || (stored.IsRead() && ring.reads_replayed >= attributes_.max_rd_atomic))) {
    ring.waits_for_read = true;
    return;
  }
  // Acknowledged packets are not retransmitted.
  uint32_t psn = ring.cursor == 0 ? ring.unacked : record.first_psn;
  if (ring.part && (ring.cursor != 0 || Psn(psn - record.first_psn) < Psn(ring.next - record.first_psn))) {
    psn = ring.next;
  }
  const auto burst = static_cast<uint16_t>(burst_bytes_ >> kMtuShift >> attributes_.path_mtu);
  const bool cuts = !stored.IsRead() && burst != 0 && Psn(record.last_psn - psn) >= burst;
  const uint32_t packets = cuts ? burst : Psn(record.last_psn - psn) + 1;
  if (Psn(psn - ring.unacked) + packets > kMostOutstanding) {
    ring.waits_for_ack = true;
    return;
  }
  replay_ = spec::Replay{.qpn = qpn_,
                         .epoch = ring.epoch,
                         .head = record.head,
                         .slot = static_cast<uint8_t>((ring.oldest + ring.cursor) % send_records_),
                         .psn = psn,
                         .first_psn = record.first_psn,
                         .last_psn = record.last_psn,
                         .packets = cuts ? burst : uint16_t{0},
                         .first_transmission = Psn(psn - ring.unacked) >= Psn(ring.sent - ring.unacked)};
  stored.ends.replays = started_.replays = Number(started_.replays + 1);
  replay_->serial = static_cast<uint8_t>(started_.replays % kMostReplays);
  // All READs before it have ended or are before the cursor.
  if (stored.IsRead()) replay_->number = static_cast<uint8_t>(ring.reads_ended + ring.reads_replayed);
  ring.part = ring.awaits = cuts;
  ring.next = Psn(psn + packets);
  if (Psn(ring.next - ring.unacked) > Psn(ring.sent - ring.unacked)) ring.sent = ring.next;
  if (cuts) return;
  ++ring.cursor;
  if (stored.IsRead()) ++ring.reads_replayed;
  PushTurn(now);
}

Completer::State Completer::End(Cycle now) {
  using spec::TimerKind;
  Ring& ring = rings_[qpn_];
  const bool stops = reason_ == Reason::kDiscard || reason_ == Reason::kFlush;
  const bool progress = op_ == Op::kAck && covered_ != 0;
  bool sets = ring.timer;
  TimerKind kind = TimerKind::kOff;
  uint8_t code = 0;
  if (stops) {
    // Nothing outstanding for the timer.
  } else if (next_action_ == NextAction::kPause) {
    sets = true;
    kind = TimerKind::kRnr;
    code = syndrome_ & 0x1f;
  } else if (ring.paused && next_action_ != NextAction::kReplay) {
    sets = false;
  } else if (!ring.records.empty() && attributes_.HasTimer()) {
    sets = !ring.timer || progress || next_action_ == NextAction::kReplay;
    kind = TimerKind::kAck;
    code = attributes_.timeout;
  }
  if (sets && timer_set_) return State::kEnd;

  if (op_ == Op::kAck) ring.unacked = Psn(base_ + covered_);
  if (progress && next_action_ == NextAction::kNothing) {
    ring.nak_replayed = false;
    ring.retries = 0;
    ring.rnr_retries = 0;
  }
  if (stops) {
    ring.replaying = false;
    ring.paused = false;
    ring.waits_for_read = ring.waits_for_ack = false;
    ring.awaits = false;
    if (next_action_ == NextAction::kHalt) {
      // What was requested before has no effect once the QP sends again.
      ++ring.epoch;
      hold_ = spec::QpHold{.qpn = qpn_, .epoch = ring.epoch};
      ring.records_before = taken_;
    }
  } else if (next_action_ == NextAction::kReplay || next_action_ == NextAction::kPause) {
    ++ring.epoch;
    hold_ = spec::QpHold{.qpn = qpn_, .epoch = ring.epoch};
    ring.records_before = taken_;
    ring.replaying = next_action_ == NextAction::kReplay;
    ring.paused = next_action_ == NextAction::kPause;
    ring.cursor = 0;
    ring.reads_replayed = 0;
    ring.waits_for_read = ring.waits_for_ack = false;
    ring.part = false;
    ring.awaits = false;
    if (ring.replaying) PushTurn(now);
  } else if (next_action_ == NextAction::kContinue) {
    ring.replaying = true;
    PushTurn(now);
  } else if (progress && std::exchange(ring.waits_for_ack, false)) {
    PushTurn(now);
  }
  if (sets) {
    ring.timer = kind != TimerKind::kOff;
    ring.timed = sent_.valid && sent_.epoch == ring.epoch && Psn(sent_.psn - ring.unacked) < 0x80'0000;
    ++ring.timer_epoch;
    timer_set_ = spec::TimerSet{.qpn = qpn_, .kind = kind, .code = code, .epoch = ring.timer_epoch};
  }
  return State::kChoose;
}

void Completer::PushTurn(Cycle now) {
  turn_.Push(now, qpn_);
  WakeAt(std::max(now + 1, turn_.PopReady()));
}

bool Completer::IsIdle() const {
  return state_ == State::kChoose && clear_.IsEmpty() && flush_.IsEmpty() && (turn_.IsEmpty() || held_) &&
         parked_qps_ == 0 && !response_fence_.IsBusy() && record_in.size() == 0 && ack_in.size() == 0 &&
         timer_expired_in.size() == 0 && !completion_ && !retired_ && !failure_ && !replay_ && !timer_set_ && !hold_ &&
         !reads_;
}

}  // namespace vireo::model
