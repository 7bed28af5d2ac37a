// SPDX-License-Identifier: Apache-2.0
// The responder's next frame: its tables, and what is issued for it before it is the one in progress.
#include <utility>

#include "model/rdma/responder.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::BthOperation;

constexpr uint32_t kLargestMtu = uint32_t{1} << (kMtuShift + static_cast<unsigned>(spec::IbMtu::kMtu4096));

}  // namespace

void Responder::ReadTables(Cycle now, ResponderTurn& turn, uint32_t qpn) {
  turn.qpn = qpn;
  turn.is_cleared = false;
  turn.attributes = attributes_table_.Read(now, qpn);
  attributes_corrupt_ = attributes_table_.corrupt();
  turn.qp_state = state_table_.Read(now, qpn);
  turn.half = half_table_.Read(now, qpn);
  turn.read_half = read_half_table_.Read(now, qpn);
  turn.ended = ended_table_.Read(now, qpn);
  // No READ is outstanding when a load starts a new half.
  turn.reads_issued = turn.half.reads_valid ? turn.half.reads_issued : turn.ended;
  turn.duplicate_limit = turn.half.reads_valid ? turn.half.duplicate_limit : turn.ended;
  reads_.Read(now, qpn);
}

// The frame in progress only waits for the answer to a key check, and ends with it.
bool Responder::IsLast() const {
  if (state_ != State::kMemory) return false;
  if (Scatters()) return Chunk() == left_ && part_ == Part::kPayload && (is_response_ || !turn_->Invalidates());
  return turn_->IsRead() || turn_->half.holds || !turn_->frame.info.consumes_recv;
}

// The frame in progress completes a SEND, or its last element's key does not allow it.
bool Responder::IsCertain() const {
  if (is_flush_ || !turn_->IsSend() || !turn_->IsAcknowledged() || turn_->half.failed) return false;
  if (state_ == State::kNext ? status_ != spec::BufferStatus::kOk || left_ == 0 : state_ != State::kMemory)
    return false;
  return turn_->frame.info.ends_message && Chunk() == left_ && !turn_->Invalidates();
}

// Answers come in the order of what was issued: nothing is issued for the frame in progress any more.
void Responder::IssueAhead(Cycle now) {
  if (next_issued_ != Issued::kNothing) return;
  if (next_since_ + kAheadLatency > now) return WakeAt(next_since_ + kAheadLatency);
  if (!IsLast() || next_->Announces()) return;
  const Action action = next_->Decide();
  if (action == Action::kWrite || action == Action::kRead) {
    if (check_.token) return;
    if (!check_.IsFree(now)) return WakeAt(now + 1);
    CheckKey(now, *next_);
    next_issued_ = Issued::kCheck;
  } else if (action == Action::kReceive && !next_->half.holds) {
    request_.Set(now, {.qpn = next_->ReceiveQueue()});
    next_issued_ = Issued::kReceive;
    WakeAt(now + 1);
  }
}

// The frame in front is of its QP, so its turn has not come; but the check of a WRITE needs the protection domain only.
void Responder::IssueEarly(Cycle now) {
  if (early_ || held_ || !IsLast() || !frame_in.CanPop(now)) return;
  const RxToken& frame = frame_in.front();
  if (frame.bth.dest_qp % half_table_.size() != turn_->qpn || frame.verdict != spec::RxVerdict::kRoce) return;
  if (frame.info.operation != BthOperation::kRdmaWrite || !frame.info.starts_message) return;
  if (frame.payload_bytes == 0 || frame.payload_bytes > kLargestMtu || check_.token) return;
  if (!check_.IsFree(now)) return WakeAt(now + 1);
  const auto reth = spec::Reth::Decode(frame.extension);
  early_ = true;
  early_pdn_ = turn_->attributes.pdn;
  check_.Set(now, {.key = reth.rkey,
                   .pdn = early_pdn_,
                   .remote_write = true,
                   .address = reth.virtual_address,
                   .bytes = frame.payload_bytes,
                   .qpn = turn_->qpn});
  WakeAt(now + 1);
}

// The frame behind becomes the one in progress.
void Responder::Advance(Cycle now) {
  std::swap(turn_, next_);
  has_next_ = false;
  if (next_refused_) {
    // The QP is as the frame in front has left it.
    const ResponderTurn& refused = *next_;
    turn_->half = refused.half;
    turn_->half.failed = true;
    turn_->half.in_message = false;
    turn_->half.holds = false;
  }
  is_flush_ = false;
  if (groups_.Advance(now)) frame_in.Drop(now);
  Reset(*turn_);
  if (!turn_->IsDatagram()) {
    BeginPart(Part::kPayload);
  } else {
    BeginPart(turn_->frame.is_ipv6 ? Part::kHeader : Part::kZeros);
  }
  switch (next_issued_) {
    case Issued::kNothing: return SetState(now, State::kAct);
    case Issued::kCheck: return SetState(now, State::kMemory);
    case Issued::kReceive: SetState(now, State::kReceive); return OnReceive(now);
  }
}

}  // namespace vireo::model
