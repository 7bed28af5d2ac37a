// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/completer.h"

#include <algorithm>
#include <cassert>

#include "model/common/output_register.h"

namespace vireo::model {
namespace {

using spec::AethKind;
using spec::IbQpState;
using spec::IbWcStatus;
using spec::NakCode;

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

// States in which records count; in others they are left from before a clear.
bool Keeps(IbQpState state) { return state == IbQpState::kRts || state == IbQpState::kSqd || state == IbQpState::kSqe; }

AethKind KindOf(uint8_t syndrome) { return static_cast<AethKind>(syndrome >> 5 & 3); }

// [IBTA vol. 1, tables 44, 45; 11.6.2]
IbWcStatus StatusOfNak(uint8_t syndrome) {
  if (KindOf(syndrome) == AethKind::kRnrNak) return IbWcStatus::kRnrRetryExcErr;  // retries: later
  if (KindOf(syndrome) != AethKind::kNak) return IbWcStatus::kBadRespErr;
  switch (static_cast<NakCode>(syndrome & 0x1f)) {
    case NakCode::kPsnSequenceError: return IbWcStatus::kRetryExcErr;  // resending: later
    case NakCode::kInvalidRequest: return IbWcStatus::kRemInvReqErr;
    case NakCode::kRemoteAccessError: return IbWcStatus::kRemAccessErr;
    case NakCode::kRemoteOperationalError: return IbWcStatus::kRemOpErr;
    default: return IbWcStatus::kBadRespErr;
  }
}

}  // namespace

Completer::Completer(Agenda& agenda, const spec::Config& config)
    : Block(agenda),
      num_qps_(config.num_qps),
      send_records_(config.send_records),
      first_queue_one_(2 * spec::kNetMqVqPairsMin + config.num_cqs + spec::kRdmaTransmitqOffset),
      first_queue_many_(2 * config.net_queue_pairs + config.num_cqs + spec::kRdmaTransmitqOffset),
      first_queue_(first_queue_one_),
      clear_(config.num_qps),
      flush_(config.num_qps),
      state_table_(config.num_qps),
      cqns_(config.num_qps),
      rings_(config.num_qps) {
  record_in.SetConsumer(this);
  ack_in.SetConsumer(this);
}

void Completer::SetMq(Cycle from, bool mq) { first_queue_.Set(from + 1, mq ? first_queue_many_ : first_queue_one_); }

void Completer::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  cqns_.Write(cycle, write.index, spec::TableQpContext::Decode(write.data).send_cqn);
}

void Completer::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  state_table_.Write(cycle, write.qpn, write.state);
  if (write.clear) {
    clear_.Push(cycle, write.qpn);
    WakeAt(std::max(cycle, clear_.PopReady()));
  }
  if (write.state == IbQpState::kErr) {
    flush_.Push(cycle, write.qpn);
    WakeAt(std::max(cycle, flush_.PopReady()));
  }
}

void Completer::Run(Cycle now) {
  bool moved = Leave(now, completion_, completion_out);
  moved |= Leave(now, retired_, retired_out);
  moved |= Leave(now, failure_, failure_out);
  moved |= Step(now);
  if (moved) WakeAt(now + 1);
}

bool Completer::Step(Cycle now) {
  const State before = state_;
  switch (state_) {
    case State::kChoose: return Choose(now);
    case State::kDecide: state_ = Decide(now); return true;
    case State::kRead: state_ = rings_[qpn_].records.empty() ? State::kChoose : State::kCheck; return true;
    case State::kCheck: state_ = Check(now); return state_ != before;
  }
  return false;
}

bool Completer::Choose(Cycle now) {
  // Records before acknowledges: a record is always here before the acknowledge of its packets.
  if (clear_.CanPop(now)) {
    op_ = Op::kClear;
    qpn_ = clear_.Pop(now);
    WakeAt(clear_.PopReady());
  } else if (flush_.CanPop(now)) {
    op_ = Op::kFlush;
    qpn_ = flush_.Pop(now);
    WakeAt(flush_.PopReady());
  } else if (record_in.CanPop(now)) {
    op_ = Op::kRecord;
    qpn_ = record_in.front().qpn;
  } else if (ack_in.CanPop(now)) {
    op_ = Op::kAck;
    qpn_ = ack_in.front().qpn % num_qps_;
  } else {
    return false;
  }
  chosen_ = now;
  state_ = State::kDecide;
  return true;
}

Completer::State Completer::Decide(Cycle now) {
  cqn_ = cqns_.Read(chosen_, qpn_);
  switch (op_) {
    case Op::kClear:
      why_ = Why::kForget;
      rings_[qpn_].failed = false;
      return State::kRead;
    case Op::kFlush:
      why_ = Why::kFlush;
      return state_table_.Read(chosen_, qpn_) == IbQpState::kErr ? State::kRead : State::kChoose;
    case Op::kRecord: return DecideRecord(now);
    case Op::kAck: return DecideAck(now);
  }
  return State::kChoose;
}

Completer::State Completer::DecideRecord(Cycle now) {
  Ring& ring = rings_[qpn_];
  const IbQpState state = state_table_.Read(chosen_, qpn_);
  const spec::SendRecord record = record_in.Pop(now);
  if (record.amends) {
    if (!ring.records.empty()) ring.records.back() = record;
  } else {
    if (ring.records.empty()) ring.unacked = record.first_psn;
    ring.newest = record.last_psn;
    ring.records.push_back(record);
    assert(ring.records.size() <= send_records_);
  }
  why_ = state == IbQpState::kErr ? Why::kFlush : Keeps(state) ? Why::kOwn : Why::kForget;
  const bool waits = why_ == Why::kOwn && !ring.failed && record.status == IbWcStatus::kSuccess && !record.silent;
  return waits ? State::kChoose : State::kRead;
}

Completer::State Completer::DecideAck(Cycle now) {
  Ring& ring = rings_[qpn_];
  const spec::RxAck ack = ack_in.Pop(now);
  const bool positive = KindOf(ack.syndrome) == AethKind::kAck;
  const uint32_t distance = Psn(ack.psn - ring.unacked);
  if (ack.qpn >= num_qps_ || !Keeps(state_table_.Read(chosen_, qpn_)) || ring.failed || ring.records.empty() ||
      distance > Psn(ring.newest - ring.unacked)) {
    return State::kChoose;
  }
  why_ = positive ? Why::kAck : Why::kNak;
  nak_status_ = StatusOfNak(ack.syndrome);
  syndrome_ = ack.syndrome;
  base_ = ring.unacked;
  covered_ = distance + (positive ? 1 : 0);
  ring.unacked = Psn(ring.unacked + covered_);
  return State::kRead;
}

Completer::State Completer::Check(Cycle now) {
  Ring& ring = rings_[qpn_];
  const spec::SendRecord& record = ring.records.front();
  const bool covered = (why_ == Why::kAck || why_ == Why::kNak) && Psn(record.last_psn - base_) < covered_;
  bool completes = true;
  bool naked = false;
  IbWcStatus status = IbWcStatus::kWrFlushErr;
  uint32_t vendor = 0;
  if (why_ == Why::kForget || record.silent) {
    completes = false;
  } else if (record.status != IbWcStatus::kSuccess) {
    status = record.status;
    vendor = record.vendor_err;
  } else if (covered) {
    status = IbWcStatus::kSuccess;
  } else if (why_ == Why::kNak) {
    status = nak_status_;
    vendor = syndrome_;
    naked = true;
  } else if (why_ != Why::kFlush && !ring.failed) {
    return State::kChoose;
  }
  if (completion_ || retired_ || failure_) return State::kCheck;

  const auto queue = static_cast<uint16_t>(first_queue_.At(now) + 2 * qpn_);
  retired_ = spec::Doorbell{.vq_index = queue};
  if (completes) {
    const bool failed = status != IbWcStatus::kSuccess;
    completion_ = spec::Completion{
        .vq_index = queue, .head = record.head, .has_cqe = record.signaled || failed, .cqn = cqn_, .solicited = failed};
    spec::RdmaCqReq{
        .wr_id = record.wr_id, .status = status, .opcode = record.opcode, .vendor_err = vendor, .qp_num = qpn_}
        .Encode(completion_->cqe);
  }
  if (naked) {
    failure_ = spec::QpFailure{.qpn = qpn_, .event_type = spec::RdmaEventType::kQpFatal, .code = syndrome_};
  }
  if (why_ != Why::kForget) {
    if (record.silent || status != IbWcStatus::kSuccess) ring.failed = true;
    if (ring.failed) why_ = Why::kFlush;
  }
  ring.records.pop_front();
  return State::kRead;
}

bool Completer::IsIdle() const {
  return state_ == State::kChoose && clear_.IsEmpty() && flush_.IsEmpty() && record_in.size() == 0 &&
         ack_in.size() == 0 && !completion_ && !retired_ && !failure_;
}

}  // namespace vireo::model
