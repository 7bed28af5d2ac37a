// SPDX-License-Identifier: Apache-2.0
// Does a record of the completer leave, and with which outcome; records that are parked meanwhile.
#include <algorithm>
#include <utility>

#include "model/rdma/completer.h"
#include "model/rdma/completer_rules.h"
#include "model/rdma/key_fence.h"
#include "model/rdma/psn.h"

namespace vireo::model {
namespace {

using spec::AethKind;
using spec::IbWcStatus;

}  // namespace

Completer::State Completer::Check(Cycle now) {
  Ring& ring = rings_[qpn_];
  const StoredRecord& stored = ring.records.front();
  const spec::SendRecord& record = stored.record;
  const bool covered = (reason_ == Reason::kAck || reason_ == Reason::kNak) &&
                       Psn(record.last_psn - base_) < covered_ && (is_read_ || !stored.IsRead());
  bool completes = true;
  bool do_report = false;
  IbWcStatus status = IbWcStatus::kWrFlushErr;
  uint32_t vendor = 0;
  uint32_t code = 0;  // of the failure
  if (reason_ == Reason::kDiscard || record.no_completion) {
    completes = false;
  } else if (record.status != IbWcStatus::kSuccess) {
    status = record.status;
    code = vendor = record.vendor_err;
    // Failed when it was read again; when the QP flushes, the host has already been notified.
    do_report = stored.to_report && reason_ != Reason::kFlush;
  } else if (covered || (record.is_local && reason_ != Reason::kFlush && !ring.failed)) {
    status = IbWcStatus::kSuccess;
  } else if (reason_ == Reason::kNak) {
    status = nak_status_;
    vendor = syndrome_;
    // A status comes with its error code.
    code = has_status_ ? syndrome_ : static_cast<uint32_t>(ErrorOfNak(status));
    do_report = true;
  } else if (reason_ != Reason::kFlush && !ring.failed) {
    // An acknowledge that may cause a retransmission, or fail this record.
    const bool applies_ack = op_ == Op::kAck && (KindOf(syndrome_) != AethKind::kAck || (stored.IsRead() && !is_read_));
    return applies_ack ? State::kApplyAck : State::kEnd;
  }
  if (completion_ || retired_ || failure_) return State::kCheck;

  CheckResponses(ring);
  StoredRecord outcome = stored;
  outcome.record.status = status;
  outcome.record.vendor_err = vendor;
  outcome.record.no_completion = !completes;
  if (!ring.parked.empty() || IsPending(outcome) || (completes && (AwaitsResponses(outcome) || record.is_local))) {
    // It is accessed, or may be: behind its completion the driver could use its memory for something else, and without
    // room in its ring the QP does not start again, so that its next lifetime does not meet replays of this one.
    const spec::KeyFence fence = key_fence(now);
    outcome.sent = fence.sent;
    outcome.received = fence.received;
    ring.parked.push_back(outcome);
    if (record.is_local) {
      ++locals_parked_;
      on_fence_wait(now + 1);
    }
    if (!std::exchange(ring.is_polled, true)) {
      ++parked_qps_;
      PushParked(now);
    }
  } else {
    Complete(now, outcome);
  }
  if (do_report) {
    failure_ = spec::QpFailure{.qpn = qpn_,
                               .event_type = spec::RdmaEventType::kQpFatal,
                               .code = code,
                               .send_only = !attributes_.reliable,
                               .reported = true};
  }
  if (reason_ != Reason::kDiscard) {
    // UC and UD are in SQE, and each record has its own status, except those that the requester sent or held back
    // before it knew of a failure that is found here. [IBTA vol. 1, 10.3.1.6]
    if (do_report && !attributes_.reliable) next_action_ = NextAction::kHalt;
    if (record.no_completion || do_report || (status != IbWcStatus::kSuccess && attributes_.reliable))
      ring.failed = true;
    if (ring.failed) reason_ = Reason::kFlush;
  }
  if (stored.IsRead()) {
    --ring.reads;
    if (ring.cursor != 0) --ring.reads_replayed;
    ++ring.reads_ended;
    reads_ = spec::QpReads{.qpn = qpn_, .ended = ring.reads_ended};
    if (std::exchange(ring.waits_for_read, false)) PushTurn(now);
  }
  if (ring.cursor == 0) {
    // The replay continues with the next one.
    if (std::exchange(ring.awaits, false)) PushTurn(now);
    ring.part = false;
  }
  // The acknowledge ends with this record, so it does not concern the next one.
  const bool is_last = reason_ == Reason::kAck && covered && Psn(record.last_psn - base_) + 1 == covered_ &&
                       KindOf(syndrome_) == AethKind::kAck && !ring.has_own_outcome;
  ring.records.pop_front();
  ring.oldest = (ring.oldest + 1) % send_records_;
  if (ring.cursor != 0) --ring.cursor;
  return is_last ? State::kEnd : State::kRead;
}

// Packets of it, or a replay, may still be read. Numbers are compared modulo 2^kCountBits with those that have not
// ended: that of a record from long ago may be one of them by chance, so that it waits without need.
bool Completer::IsPending(const StoredRecord& stored) const {
  const WorkFence::Counts& ended = fence_.ended();
  const uint32_t works = Number(started_.works - ended.works);
  const uint32_t replays = Number(started_.replays - ended.replays);
  // Work requests of records that wait in the slice may have ended.
  const bool is_ahead = works >= 1U << (WorkFence::kCountBits - 1);
  return (!is_ahead && Number(stored.ends.works - ended.works - 1) < works) ||
         Number(stored.ends.replays - ended.replays - 1) < replays;
}

// A response to it may still be written to memory.
bool Completer::AwaitsResponses(const StoredRecord& stored) const {
  return stored.IsRead() && stored.record.status != IbWcStatus::kSuccess &&
         rings_[qpn_].responses != Ring::Responses::kClosed;
}

void Completer::CheckResponses(Ring& ring) const {
  if (ring.responses == Ring::Responses::kClosing && response_fence_.HasPassed(ring.closed_by)) {
    ring.responses = Ring::Responses::kClosed;
  }
}

void Completer::Complete(Cycle now, const StoredRecord& stored) {
  const spec::SendRecord& record = stored.record;
  const auto queue = queues_.IndexOf(now, qpn_);
  retired_ = spec::Doorbell{.vq_index = queue};
  if (record.no_completion) return;
  const bool failed = record.status != IbWcStatus::kSuccess;
  completion_ = spec::Completion{.vq_index = queue,
                                 .head = record.head,
                                 .has_cqe = record.signaled || failed,
                                 .cqn = attributes_.cqn,
                                 .solicited = failed};
  spec::RdmaCqReq{.wr_id = record.wr_id,
                  .status = record.status,
                  .opcode = record.opcode,
                  .vendor_err = record.vendor_err,
                  .byte_len = stored.IsRead() && !failed ? record.bytes : 0,
                  .qp_num = qpn_}
      .Encode(completion_->cqe);
}

void Completer::PushParked(Cycle now) {
  parked_.Push(now, qpn_);
  WakeAt(std::max(now + 1, parked_.PopReady()));
}

// Accesses that were granted before the local invalidate may not have ended.
bool Completer::IsFenced(Cycle now, const StoredRecord& stored) {
  if (!stored.record.is_local) return false;
  const spec::KeyFence fence = key_fence(now);
  if (stored.sent == fence.sent || stored.received == fence.received) on_fence_wait(now + 1);
  return !HasPassed(stored.sent, fence.sent, fence.sent_open) ||
         !HasPassed(stored.received, fence.received, fence.received_open);
}

// The oldest parked record leaves, without completion if the QP was cleared since.
Completer::State Completer::Retire(Cycle now) {
  Ring& ring = rings_[qpn_];
  CheckResponses(ring);
  const StoredRecord& stored = ring.parked.front();
  const bool completes = !stored.record.no_completion && !dead_ && CompletesIn(state_table_.Read(chosen_, qpn_));
  if (IsPending(stored) || (completes && (AwaitsResponses(stored) || IsFenced(now, stored)))) {
    PushParked(now);
    return State::kChoose;
  }
  if (completion_ || retired_ || failure_) return State::kRetire;
  StoredRecord outcome = stored;
  outcome.record.no_completion = !completes;
  Complete(now, outcome);
  if (outcome.record.is_local) --locals_parked_;
  ring.parked.pop_front();
  if (!ring.parked.empty()) return State::kRetire;
  ring.is_polled = false;
  --parked_qps_;
  return State::kChoose;
}

}  // namespace vireo::model
