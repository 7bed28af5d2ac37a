// SPDX-License-Identifier: Apache-2.0
// What an acknowledge or the timer means for a QP of the completer.

#include "model/rdma/completer.h"
#include "model/rdma/completer_rules.h"
#include "model/rdma/psn.h"

namespace vireo::model {
namespace {

using spec::AethKind;
using spec::IbWcStatus;

}  // namespace

Completer::State Completer::DecideTimer(Cycle now) {
  Ring& ring = rings_[qpn_];
  const spec::TimerExpired expired = timer_expired_in.Pop(now);
  if (dead_ || expired.qpn >= num_qps_ || !KeepsRecords(state_table_.Read(chosen_, qpn_)) || ring.failed ||
      !ring.timer || ring.timer_epoch != expired.epoch) {
    return State::kChoose;
  }
  ring.timer = false;
  reason_ = Reason::kAck;
  covered_ = 0;
  base_ = ring.unacked;
  // No timeout while the packets to be acknowledged wait for the wire, or less than the timeout has passed since they
  // left. [IBTA vol. 1, 9.7.6.1.3]
  if (!ring.paused && !ring.timed) return State::kEnd;
  ring.nak_replayed = false;
  if (!ring.paused) {
    if (ring.retries >= attributes_.retry_cnt) {
      reason_ = Reason::kNak;
      nak_status_ = IbWcStatus::kRetryExcErr;
      syndrome_ = 0;
      has_status_ = false;
      return State::kRead;
    }
    ++ring.retries;
  }
  next_action_ = NextAction::kReplay;
  return State::kEnd;
}

Completer::State Completer::DecideAck(Cycle now) {
  const Ring& ring = rings_[qpn_];
  const spec::RxAck ack = ack_in.Pop(now);
  const bool positive = KindOf(ack.syndrome) == AethKind::kAck;
  const bool fatal = (ack.is_read || !attributes_.reliable) && ack.status != IbWcStatus::kSuccess;
  const uint32_t distance = Psn(ack.psn - ring.unacked);
  // The records' PSNs may be more than fit into the space of numbers, those that were requested are less than half.
  if (dead_ || ack.qpn >= num_qps_ || !KeepsRecords(state_table_.Read(chosen_, qpn_)) || ring.failed ||
      ring.records.empty() || distance >= Psn(ring.sent - ring.unacked)) {
    return State::kChoose;
  }
  // UC, UD: only rx_acks for packets that have left or cannot be sent.
  if (!attributes_.reliable && (ack.is_read || !(positive || fatal))) return State::kChoose;
  reason_ = fatal ? Reason::kNak : Reason::kAck;
  is_read_ = ack.is_read;
  has_status_ = fatal;
  nak_status_ = ack.status;
  syndrome_ = ack.syndrome;
  base_ = ring.unacked;
  covered_ = distance + (positive && !fatal ? 1 : 0);
  return State::kRead;
}

// Effect of an acknowledge on the first record that it does not complete.
Completer::State Completer::ApplyAck() {
  Ring& ring = rings_[qpn_];
  const StoredRecord& stored = ring.records.front();
  // Of a READ, the part after the received responses is missing.
  const uint32_t first = Psn(stored.record.first_psn - base_);
  const uint32_t missing = first > Psn(stored.record.last_psn - base_) ? 0 : first;
  nak_status_ = StatusOfNak(syndrome_);
  if (stored.IsRead() && !is_read_ && missing < covered_) {
    covered_ = missing;
    syndrome_ = static_cast<uint8_t>(spec::AethSyndrome::kNakPsnSequenceError);
    nak_status_ = IbWcStatus::kRetryExcErr;
  }
  // An acknowledge that makes progress resets both retry counters. A sequence NAK without progress must not consume a
  // retry if a replay has already answered it: a responder sends one NAK per gap. [IBTA vol. 1, 9.7.5.2.3]
  if (covered_ != 0) {
    ring.nak_replayed = false;
    ring.retries = 0;
    ring.rnr_retries = 0;
  }
  if (IsSequenceNak(syndrome_)) {
    if (ring.paused || ring.nak_replayed) return State::kEnd;  // during the RNR wait it counts as an acknowledge only
    if (ring.retries < attributes_.retry_cnt) {
      next_action_ = NextAction::kReplay;
    } else {
      reason_ = Reason::kNak;
    }
    ++ring.retries;
    ring.nak_replayed = true;
  } else if (KindOf(syndrome_) == AethKind::kRnrNak) {
    if (ring.paused && covered_ == 0) return State::kEnd;  // a repeated RNR NAK during its wait is a duplicate
    const bool forever = attributes_.rnr_retry == kRnrRetryInfinite;
    if (forever || ring.rnr_retries < attributes_.rnr_retry) {
      next_action_ = NextAction::kPause;
    } else {
      reason_ = Reason::kNak;
    }
    if (!forever) ++ring.rnr_retries;
    ring.nak_replayed = false;
  } else if (KindOf(syndrome_) != AethKind::kAck) {
    reason_ = Reason::kNak;
  }
  return reason_ == Reason::kNak ? State::kCheck : State::kEnd;
}

}  // namespace vireo::model
