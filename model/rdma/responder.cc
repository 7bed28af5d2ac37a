// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/responder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "model/common/wide_slice.h"
#include "model/rdma/psn.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::AethKind;
using spec::AethSyndrome;
using spec::BthService;
using spec::BufferStatus;
using spec::IbQpState;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::RdmaError;
using spec::RdmaEventType;

// It needs a receive.
bool IsSendStart(const RxToken& frame) {
  return frame.verdict == spec::RxVerdict::kRoce && frame.info.operation == spec::BthOperation::kSend &&
         frame.info.starts_message;
}

}  // namespace

Responder::Responder(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      load_in(WideSlice<spec::QpLoad>(sizes.data_bits)),
      frame_in(WideSlice<RxToken>(sizes.data_bits)),
      memory_place_in(WideSlice<spec::MemoryPlace>(sizes.data_bits)),
      receive_in(WideSlice<spec::Receive>(sizes.data_bits)),
      read_record_in(WideSlice<spec::ReadRecord>(sizes.data_bits)),
      has_shared_queues_(sizes.has_shared_queues),
      queues_(sizes.net_queue_pairs, sizes.num_cqs, sizes.num_qps, spec::kRdmaReceiveqOffset),
      attributes_table_(spec::ContextRam::kResponderQp, sizes.num_qps, on_parity_error),
      state_table_(sizes.num_qps),
      half_table_(sizes.num_qps),
      read_half_table_(sizes.num_qps),
      ended_table_(sizes.num_qps),
      reads_(sizes.num_qps, sizes.max_rd_atomic),
      groups_(sizes.num_qps, sizes.max_mcast_attach),
      flush_(sizes.num_qps) {
  for (ResponderTurn& turn : turns_) {
    turn.num_qps = sizes.num_qps;
    turn.has_atomics = sizes.has_atomics;
    turn.has_atomic_write = sizes.has_atomic_write;
    turn.has_flush = sizes.has_flush;
    turn.has_invalidation = sizes.has_invalidation;
  }
  load_in.SetConsumer(this);
  frame_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
  doorbell_in.SetConsumer(this);
  receive_retry_in.SetConsumer(this);
  receive_in.SetConsumer(this);
  read_record_in.SetConsumer(this);
}

void Responder::SetMq(Cycle from, bool mq) { queues_.SetMq(from, mq); }

void Responder::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  groups_.OnTableWrite(now, write);
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  ResponderAttributes attributes{.exists = context.valid,
                                 .remote_write = context.remote_write,
                                 .remote_read = context.remote_read,
                                 .remote_atomic = context.remote_atomic,
                                 .flush_global = context.flush_global,
                                 .flush_persistent = context.flush_persistent,
                                 // Codes above the largest count as it.
                                 .path_mtu = static_cast<unsigned>(std::min(context.path_mtu, spec::IbMtu::kMtu4096)),
                                 .pdn = context.pdn,
                                 .recv_cqn = context.recv_cqn,
                                 .has_srq = has_shared_queues_ && context.has_srq,
                                 .srqn = static_cast<uint32_t>(context.srq % attributes_table_.size()),
                                 .min_rnr_timer = context.min_rnr_timer,
                                 .max_reads = context.max_dest_rd_atomic,
                                 .qkey = context.qkey};
  if (const BthService service = ServiceOf(context.qp_type); service != BthService::kCnp) {
    attributes.service = service;
  } else {
    attributes.exists = false;
  }
  std::copy(std::begin(context.path.sgid), std::end(context.path.sgid), attributes.own);
  std::copy(std::begin(context.path.dgid), std::end(context.path.dgid), attributes.peer);
  attributes_table_.Write(now, write.index % attributes_table_.size(), attributes);
}

void Responder::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  const auto qpn = static_cast<uint32_t>(write.qpn % state_table_.size());
  state_table_.Write(now, qpn, write.state);
  if (!write.clear && write.state != IbQpState::kErr) return;
  changes_.push_back({now, qpn, write.clear});
  WakeAt(now + 1);
}

void Responder::OnQpReads(Cycle now, const spec::QpReads& reads) {
  ended_table_.Write(now, reads.qpn % ended_table_.size(), reads.ended);
}

void Responder::SetEnable(Cycle from, bool enable) {
  if (enable_from_ < from) enable_ = next_enable_;
  next_enable_ = enable;
  enable_from_ = from;
}

void Responder::SetHold(Cycle from, bool hold) {
  hold_.Set(from, hold);
  WakeAt(from);
}

bool Responder::IsIdle() const {
  return state_ == State::kIdle && !has_next_ && load_in.size() == 0 &&
         (frame_in.size() == 0 || (held_ && !early_ && !groups_.IsBusy(frame_in.front()))) && doorbell_in.size() == 0 &&
         receive_retry_in.size() == 0 && changes_.empty() && !reflush_ && !ring_ && flush_.IsEmpty() && !check_.token &&
         !request_.token && !place_.token && !failure_.token && read_record_in.size() == 0 && !expected_psn_;
}

void Responder::Run(Cycle now) {
  if (const auto psn = std::exchange(expected_psn_, std::nullopt)) on_expected_psn(now, *psn);
  if (const auto rung = std::exchange(rung_, std::nullopt)) on_queue_rung(now, {.qpn = *rung});
  check_.Offer(now, memory_check_out);
  request_.Offer(now, receive_request_out);
  place_.Offer(now, place_out);
  failure_.Offer(now, failure_out);
  const bool reflush = reflush_.has_value();
  RunRings(now, reflush);
  wrote_ = false;
  if (frame_in.CanPop(now) && groups_.Run(now, frame_in.front())) WakeAt(now + 1);
  const bool behind = has_next_ && next_since_ < now;
  if (has_next_) {
    if (behind) IssueAhead(now);
  } else {
    IssueEarly(now);
  }
  Begin(now);
  if (begins_ > now) {
    WakeAt(begins_);
  } else {
    switch (state_) {
      case State::kIdle: break;
      case State::kAct: Act(now); break;
      case State::kRead: MatchResponse(now); break;
      case State::kMemory: OnMemory(now); break;
      case State::kReceive: OnReceive(now); break;
      case State::kNext: Next(now, reflush); break;
      case State::kInvalidate: OnInvalidate(now); break;
      case State::kDrain: Drain(now); break;
      case State::kFlush: Flush(now); break;
    }
  }
  if (behind && state_ == State::kIdle) Advance(now);
  // After the turn, which may be a load.
  if (reads_.Run(now, read_record_in)) WakeAt(now + 1);
  if (const bool hold = hold_.At(now); hold != held_) {
    held_ = hold;
    WakeAt(now + 1);
  }
}

// One QP is added per cycle. `again`: there was one at the start of the cycle.
void Responder::RunRings(Cycle now, bool reflush) {
  const bool ring = ring_.has_value();
  bool added = false;
  const auto add = [&](uint32_t qpn) {
    flush_.Push(now, qpn);
    WakeAt(std::max(now + 1, flush_.PopReady()));
    added = true;
  };
  if (!changes_.empty() && changes_.front().cycle < now) {
    const Change change = changes_.front();
    add(change.qpn);
    if (change.clear && turn_->qpn == change.qpn) turn_->is_cleared = true;
    if (change.clear && next_->qpn == change.qpn) next_->is_cleared = true;
    changes_.pop_front();
  }
  if (reflush && !added) {
    add(*reflush_);
    reflush_.reset();
  }
  if (reflush) WakeAt(now + 1);
  if (ring && (!added || !ring_in_error_)) {
    if (ring_in_error_) add(*ring_);
    ring_.reset();
  } else if (!ring && receive_retry_in.CanPop(now)) {
    ring_ = receive_retry_in.Pop(now).qpn;
    ring_in_error_ = state_table_.Read(now, *ring_) == IbQpState::kErr;
  } else if (!ring && doorbell_in.CanPop(now)) {
    rung_ = ring_ = queues_.QpOf(now, doorbell_in.Pop(now).vq_index);
    // Most receive queues ring in another state: those doorbells take no turn.
    ring_in_error_ = ring_ && state_table_.Read(now, *ring_) == IbQpState::kErr;
  }
  if (ring || ring_) WakeAt(now + 1);
}

void Responder::WriteHalf(Cycle now, uint32_t qpn, const ResponderHalf& half) {
  half_table_.Write(now, qpn, half);
  wrote_ = true;
  expected_psn_ = spec::QpPsn{.qpn = qpn, .psn = half.expected_psn};
  WakeAt(now + 1);
}

void Responder::SetState(Cycle now, State state) {
  state_ = state;
  begins_ = now + (IsRunTwice(now) && state != State::kIdle ? 0 : 1);
  WakeAt(now + 1);
}

// Outputs of the previous turn have been taken.
bool Responder::HasSpace(Cycle now) {
  if (place_.IsFree(now) && failure_.IsFree(now)) return true;
  // Taken in this cycle: free in the next.
  if (!place_.token && !failure_.token) WakeAt(now + 1);
  return false;
}

// A load and a flush wait for the frames whose turn has come. A frame that is behind another one has its turn when
// nothing of the tables is needed for the other one any more, or can be changed by it. A SEND behind one of its own QP
// has it when that one needs its last key check only: with the QP's half as it is when the key allows it.
void Responder::Begin(Cycle now) {
  const bool is_idle = state_ == State::kIdle;
  if (load_in.CanPop(now)) {
    if (!is_idle || has_next_) return;
    if (!reads_.CanLoad(now)) return WakeAt(now + 1);
    const spec::QpLoad load = load_in.Pop(now);
    const auto qpn = static_cast<uint32_t>(load.qpn % half_table_.size());
    WriteHalf(now, qpn, {.expected_psn = load.psn});
    read_half_table_.Write(now, qpn, {});
    reads_.Load(now, qpn);
    return SetState(now, State::kIdle);
  }
  if (has_next_) return;
  const bool frame = frame_in.CanPop(now) && groups_.IsReady(now, frame_in.front()) && (!held_ || early_);
  if (flush_.CanPop(now) && !(frame && was_flush_)) {
    if (!is_idle) return;
    is_flush_ = true;
    was_flush_ = true;
    const uint32_t qpn = flush_.Pop(now);
    WakeAt(flush_.PopReady());
    ReadTables(now, *turn_, qpn);
    Reset(*turn_);
    state_ = State::kFlush;
    begins_ = now + kFlushLatency;
    return WakeAt(begins_);
  }
  if (!frame) return WakeAt(flush_.PopReady());
  const uint32_t dest_qp = groups_.IsCopy() ? groups_.qpn() : frame_in.front().bth.dest_qp;
  const auto qpn = static_cast<uint32_t>(dest_qp % half_table_.size());
  const bool is_behind_own = !is_idle && turn_->qpn == qpn;
  if (!is_idle && (state_ == State::kAct || is_flush_)) return;
  if (is_behind_own && !(IsCertain() && IsSendStart(frame_in.front()))) return;
  was_flush_ = false;
  has_next_ = true;
  next_since_ = now;
  next_issued_ = Issued::kNothing;
  next_->frame = frame_in.front();
  next_->frame.bth.dest_qp = dest_qp;
  next_->is_copy = groups_.IsCopy();
  next_->enabled = Enabled(now);
  const auto& mac = mac_.At(now);
  next_->is_ours = next_->is_copy || std::equal(mac.begin(), mac.end(), next_->frame.destination_mac);
  ReadTables(now, *next_, qpn);
  next_expects_ = is_behind_own;
  next_refused_ = false;
  if (is_behind_own) next_->half.EndSend();
  next_->Locate();
  WakeAt(now + 1);
}

void Responder::Reset(const ResponderTurn& turn) {
  position_ = turn.half.position;
  is_response_ = false;
  status_ = BufferStatus::kOk;
  is_element_ = false;
}

void Responder::BeginPart(Part part) {
  const RxToken& frame = turn_->frame;
  part_ = part;
  switch (part) {
    case Part::kZeros:
      left_ = spec::kRdmaUdGrhBytes - spec::Ipv4::kBytes;
      offset_ = 0;
      break;
    case Part::kHeader:
      left_ = static_cast<uint32_t>(frame.is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes);
      offset_ = frame.l3_offset;
      break;
    case Part::kPayload:
      left_ = frame.payload_bytes;
      offset_ = frame.payload_offset;
      break;
  }
}

void Responder::CheckKey(Cycle now, const ResponderTurn& turn) {
  const bool read = turn.IsRead();
  // Of a READ the whole range at once; the read responder translates packet by packet.
  check_.Set(now, {.key = turn.rkey,
                   .pdn = turn.attributes.pdn,
                   .remote_write = !read || turn.IsAtomicWrite(),
                   .remote_read = read && !turn.IsAtomic(),
                   .remote_atomic = turn.IsAtomic() && !turn.IsAtomicWrite() && !turn.IsFlush(),
                   .flush_global = turn.IsPlaced(spec::FlushPlacement::kGlobalVisibility),
                   .flush_persistent = turn.IsPlaced(spec::FlushPlacement::kPersistence),
                   .whole = turn.IsWhole(),
                   .address = turn.address,
                   .bytes = read ? turn.bytes_left : turn.frame.payload_bytes,
                   .qpn = turn.qpn});
  WakeAt(now + 1);
}

void Responder::Act(Cycle now) {
  const RxToken& frame = turn_->frame;
  const Action action = turn_->Decide();
  if (early_ && !(action == Action::kWrite && turn_->attributes.pdn == early_pdn_)) {
    // Not what the early check asked: its answer is not used.
    if (!memory_place_in.CanPop(now)) return;
    EndGrant(now, memory_place_in.Pop(now).grant);
    early_ = false;
    return SetState(now, State::kAct);
  }
  if (!HasSpace(now)) return;
  if (turn_->Announces()) {
    turn_->half.established = true;
    WriteHalf(now, turn_->qpn, turn_->half);
    failure_.Set(now, {.qpn = frame.bth.dest_qp, .event_type = RdmaEventType::kCommEst});
    return SetState(now, State::kAct);
  }
  switch (action) {
    case Action::kWrite:
    case Action::kRead:
      if (!std::exchange(early_, false)) CheckKey(now, *turn_);
      return SetState(now, State::kMemory);
    case Action::kReceive:
      if (!turn_->half.holds) return RequestReceive(now, turn_->ReceiveQueue());
      {
        // Of a message that was never completed: this one reuses it from the start.
        ElementCursor& cursor = position_.cursor;
        cursor.next_element -= spec::RdmaSge::kBytes * static_cast<uint8_t>(position_.num_sge - cursor.elements);
        cursor.elements = position_.num_sge;
        cursor.bytes_left = 0;
      }
      return SetState(now, State::kNext);
    case Action::kContinue: return SetState(now, State::kNext);
    case Action::kResponse: {
      is_response_ = true;
      if (frame.info.has_atomic_ack_eth) left_ = spec::kAtomicBytes;
      const spec::ReadRecord& record = reads_.Oldest();
      reads_.Keep();
      read_half_ = turn_->read_half;
      if (!read_half_.started) {
        read_half_.psn = record.first_psn;
        read_half_.bytes_left = record.bytes;
        read_half_.cursor.Begin(record.elements, record.num_sge, spec::RdmaSge::Decode(record.sge));
      }
      position_.cursor = read_half_.cursor;
      oldest_ = {.is_held = reads_.IsHeld(),
                 .is_atomic = record.is_atomic,
                 .is_at_first = record.num_sge - 1 == position_.cursor.elements,
                 .last_psn = record.last_psn};
      return SetState(now, State::kRead);
    }
    default: return Finish(now, action);
  }
}

// A READ response belongs to the oldest READ. First or middle is not checked, because a retry may start anywhere; last
// and only must end the message. [IBTA vol. 1, 9.7.5.1.9, 9.7.6.1]
void Responder::MatchResponse(Cycle now) {
  const RxToken& frame = turn_->frame;
  const uint32_t ahead_by = (frame.bth.psn - read_half_.psn) & kPsnMask;
  if (!oldest_.is_held || read_half_.halted || IsBehind(ahead_by)) return Finish(now, Action::kDrop);
  if (ahead_by != 0) return Finish(now, Action::kGap);
  const bool last = frame.bth.psn == oldest_.last_psn;
  const bool acknowledges = !frame.info.has_aeth || spec::Aeth::Decode(frame.extension).kind == AethKind::kAck;
  const bool is_atomic = oldest_.is_atomic;
  const uint32_t bytes = is_atomic ? 0 : std::min(read_half_.bytes_left, turn_->MtuBytes());
  if (!acknowledges || frame.payload_bytes != bytes || frame.info.ends_message != last ||
      frame.info.has_atomic_ack_eth != is_atomic) {
    return Finish(now, Action::kBadResponse);
  }
  SetState(now, State::kNext);
}

void Responder::RequestReceive(Cycle now, uint32_t queue, bool no_wait) {
  request_.Set(now, {.qpn = queue, .no_wait = no_wait});
  is_element_ = false;
  SetState(now, State::kReceive);
}

void Responder::RequestElement(Cycle now, uint8_t behind) {
  // The first one came with the receive, or with the READ.
  const bool is_new = is_response_ ? oldest_.is_at_first && !is_element_
                                   : static_cast<uint8_t>(position_.num_sge - position_.cursor.elements) <= 1;
  request_.Set(now, {.qpn = turn_->qpn,
                     .is_element = true,
                     .address = position_.cursor.next_element + uint64_t{spec::RdmaSge::kBytes} * behind,
                     .elements = static_cast<uint8_t>(position_.cursor.elements - behind),
                     .is_new = behind == 0 && is_new});
  is_element_ = true;
}

void Responder::TakeElement(const spec::RdmaSge& sge) {
  position_.cursor.Take(sge);
  position_.cursor.next_element += spec::RdmaSge::kBytes;
  --position_.cursor.elements;
}

void Responder::CheckElement(Cycle now, uint64_t address, uint32_t key, uint32_t bytes) {
  check_.Set(now, {.key = key, .pdn = turn_->attributes.pdn, .local_write = true, .address = address, .bytes = bytes});
}

// The next element came before the answer to the key check in front of it.
void Responder::CheckAhead(Cycle now) {
  if (!ahead_ || checked_ || !receive_in.CanPop(now) || check_.token) return;
  if (!check_.IsFree(now)) return WakeAt(now + 1);
  const spec::Receive& next = receive_in.front();
  const auto sge = spec::RdmaSge::Decode(next.sge);
  if (next.status != BufferStatus::kOk || sge.length == 0) return;
  const uint32_t bytes = std::min(sge.length, rest_);
  CheckElement(now, sge.addr, sge.lkey, bytes);
  rest_ -= bytes;
  checked_ = true;
  further_ = rest_ != 0 && position_.cursor.elements > 1;
  if (further_) RequestElement(now, 1);
  WakeAt(now + 1);
}

// A key was refused: nothing is written to what was requested and checked behind it.
void Responder::Drain(Cycle now) {
  if (!ahead_) {
    if (HasSpace(now)) Finish(now, Action::kProtection, {.status = refused_});
    return;
  }
  if (checked_ ? !memory_place_in.CanPop(now) : !receive_in.CanPop(now)) return;
  if (std::exchange(checked_, false)) {
    EndGrant(now, memory_place_in.Pop(now).grant);
  } else {
    receive_in.Drop(now);
    ahead_ = std::exchange(further_, false);
  }
  WakeAt(now + 1);
}

void Responder::OnMemory(Cycle now) {
  if (!memory_place_in.CanPop(now) || !HasSpace(now)) return CheckAhead(now);
  const RxToken& frame = turn_->frame;
  const bool ok = memory_place_in.front().status == MemoryStatus::kOk;
  const bool scatters = Scatters();
  if (!ok && ahead_) {
    refused_ = memory_place_in.Pop(now).status;
    return SetState(now, State::kDrain);
  }
  // Nothing is written without a receive: the memory_place stays in its register.
  if (ok && !scatters && !turn_->IsRead() && frame.info.consumes_recv && !turn_->half.holds)
    return RequestReceive(now, turn_->ReceiveQueue());
  const spec::MemoryPlace memory = memory_place_in.Pop(now);
  if (turn_->IsRead()) {
    EndGrant(now, memory.grant);  // the read responder checks again
    const bool expected = frame.bth.psn == turn_->half.expected_psn;
    if (ok) return Finish(now, expected ? Action::kIssueRead : Action::kReplayRead);
    return Finish(now, expected ? Action::kAccess : Action::kDrop);
  }
  if (!ok) {
    const Action refusal = turn_->IsAcknowledged() ? Action::kAccess : Action::kAbandon;
    return Finish(now, scatters ? Action::kProtection : refusal, {.status = memory.status});
  }
  if (!scatters) return Finish(now, Action::kAccept, memory);
  const uint32_t chunk = Chunk();
  position_.cursor.address += chunk;
  position_.cursor.bytes_left -= chunk;
  const bool invalidates = !is_response_ && turn_->Invalidates();
  if (chunk == left_ && part_ == Part::kPayload && !invalidates) {
    return Finish(now, is_response_ ? Action::kResponseDone : Action::kAccept, memory);
  }
  spec::RxPlace place{.more = true};
  SetRuns(place, memory);
  SetPlace(now, place);
  left_ -= chunk;
  offset_ += chunk;
  if (left_ == 0 && part_ != Part::kPayload) BeginPart(part_ == Part::kZeros ? Part::kHeader : Part::kPayload);
  if (!ahead_) return SetState(now, State::kNext);
  ahead_ = std::exchange(further_, false);
  if (std::exchange(checked_, false)) {
    TakeElement(spec::RdmaSge::Decode(receive_in.Pop(now).sge));
    return SetState(now, State::kMemory);
  }
  SetState(now, State::kReceive);
  OnReceive(now);
}

// The access is not made.
void Responder::EndGrant(Cycle now, const spec::MemoryGrant& grant) {
  if (grant.valid) on_grant_ended(now, now + 1, grant);
}

void Responder::OnInvalidate(Cycle now) {
  if (!memory_place_in.CanPop(now) || !HasSpace(now)) return;
  const spec::MemoryStatus status = memory_place_in.Pop(now).status;
  Finish(now, status == MemoryStatus::kOk ? Action::kAccept : Action::kInvalidate);
}

void Responder::OnReceive(Cycle now) {
  if (!receive_in.CanPop(now)) return;
  const spec::Receive receive = receive_in.Pop(now);
  const auto sge = spec::RdmaSge::Decode(receive.sge);
  status_ = receive.status;
  code_ = receive.code;
  if (is_element_) {
    TakeElement(sge);
  } else {
    position_.head = receive.head;
    position_.wr_id = receive.wr_id;
    position_.num_sge = receive.num_sge;
    position_.cursor.Begin(receive.elements, receive.num_sge, sge);
    // It was behind others that are discarded, so it must not complete. A shared queue is not cleared.
    if (turn_->is_cleared && !turn_->attributes.has_srq) status_ = BufferStatus::kEmpty;
  }
  SetState(now, State::kNext);
}

void Responder::Next(Cycle now, bool reflush) {
  if (is_flush_) {
    // A broken queue has no more to flush, of one that answers `pending` this is known later; a bad work request is
    // flushed like others.
    const bool none = status_ == BufferStatus::kEmpty || (status_ != BufferStatus::kOk && code_ == RdmaError::kOk);
    if (none) return SetState(now, State::kIdle);
    if (!HasSpace(now) || reflush) return;
    spec::RxPlace place{.no_frame = true};
    spec::RdmaCqReq cqe{.status = IbWcStatus::kWrFlushErr, .opcode = IbWcOpcode::kRecv};
    if (turn_->half.access_refused) {  // [IBTA vol. 1, 11.6.2: local access error]
      cqe.status = IbWcStatus::kLocAccessErr;
      cqe.vendor_err = static_cast<uint32_t>(AethSyndrome::kNakRemoteAccessError);
    }
    Complete(now, place, cqe, true);
    if (turn_->qp_state == IbQpState::kReset) {
      const spec::Completion completed = place.completion;
      place.completion = {.vq_index = completed.vq_index, .head = completed.head, .by_id = completed.by_id};
    }
    SetPlace(now, place);
    reflush_ = turn_->qpn;
    return SetState(now, State::kIdle);
  }
  if (turn_->half.failed) {
    if (HasSpace(now)) Finish(now, Action::kKeep);
    return;
  }
  const bool scatters = Scatters();
  const bool placed = !scatters && turn_->frame.payload_bytes != 0;
  if (status_ == BufferStatus::kOk && scatters && left_ != 0) {
    if (position_.cursor.bytes_left != 0) {
      CheckElement(now, position_.cursor.address, position_.cursor.key, Chunk());
      rest_ = left_ - Chunk();
      ahead_ = rest_ != 0 && position_.cursor.elements != 0;
      if (ahead_) RequestElement(now);
      return SetState(now, State::kMemory);
    }
    if (position_.cursor.elements != 0) {
      RequestElement(now);
      return SetState(now, State::kReceive);
    }
    if (HasSpace(now)) Finish(now, Action::kLength);
    return;
  }
  if (status_ == BufferStatus::kOk && !is_response_ && turn_->Invalidates()) {
    // Behind all of the message. [IBTA vol. 1, 9.4.1.1]
    check_.Set(now, {.key = spec::Ieth::Decode(turn_->frame.extension).rkey,
                     .pdn = turn_->attributes.pdn,
                     .invalidate = true,
                     .qpn = turn_->qpn});
    return SetState(now, State::kInvalidate);
  }
  if (!HasSpace(now)) return;
  spec::MemoryPlace memory;
  if (placed) memory = memory_place_in.Pop(now);
  if (status_ == BufferStatus::kOk) return Finish(now, is_response_ ? Action::kResponseDone : Action::kAccept, memory);
  EndGrant(now, memory.grant);
  if (status_ == BufferStatus::kEmpty && !is_element_) {
    return Finish(now, turn_->IsAcknowledged() ? Action::kNotReady : Action::kAbandon);
  }
  // Descriptor fetch has reported a broken queue: without a response to send there is nothing more to report.
  const bool broken = !is_element_ && code_ == RdmaError::kOk;
  Finish(now, broken && !turn_->IsAcknowledged() ? Action::kAbandon : Action::kOperation);
}

void Responder::Flush(Cycle now) {
  // RESET discards the held receive, ERR completes it before all others.
  const bool fails = turn_->qp_state == IbQpState::kErr && !attributes_corrupt_;
  const bool drains = fails && turn_->attributes.has_srq && !turn_->half.holds && !turn_->half.drained;
  if (drains && !HasSpace(now)) return;
  if (turn_->qp_state == IbQpState::kErr || turn_->qp_state == IbQpState::kReset) {
    ResponderHalf half = turn_->half;
    half.in_message = false;
    half.holds = false;
    half.access_refused = false;  // turn_->half still has it for this turn
    half.drained = turn_->qp_state == IbQpState::kErr && (turn_->half.drained || drains);
    WriteHalf(now, turn_->qpn, half);
  }
  // The driver gets the buffer of a shared queue back.
  const bool returns =
      turn_->qp_state == IbQpState::kReset && turn_->attributes.has_srq && turn_->half.holds && !attributes_corrupt_;
  // The CQ number is lost with the entry.
  if (!fails && !returns) return SetState(now, State::kIdle);
  if (turn_->half.holds) return SetState(now, State::kNext);
  if (!turn_->attributes.has_srq) {
    // The one that a refused WRITE would have consumed is not left to a later turn.
    return RequestReceive(now, turn_->ReceiveQueue(), !turn_->half.access_refused);
  }
  // The others are not this QP's.
  if (drains) failure_.Set(now, {.qpn = turn_->qpn, .event_type = RdmaEventType::kQpLastWqeReached});
  SetState(now, State::kIdle);
}

}  // namespace vireo::model
