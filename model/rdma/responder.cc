// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/responder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace vireo::model {
namespace {

using spec::AethSyndrome;
using spec::BthOperation;
using spec::BufferStatus;
using spec::IbQpState;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::PayloadRule;
using spec::RdmaError;
using spec::RdmaEventType;
using spec::RxVerdict;

// A path MTU is this shifted left by its code; codes above the largest count as it. [IBTA vol. 1, 9.4.3.2]
constexpr uint32_t kMtuUnit = 128;
constexpr uint32_t kPsnMask = (1u << spec::kPsnBits) - 1;
// The other bit of a P_Key tells membership.
constexpr uint16_t kPkeyMask = 0x7fff;

}  // namespace

Responder::Responder(Agenda& agenda, uint32_t net_queue_pairs, uint32_t num_cqs, uint32_t num_qps)
    : Block(agenda),
      queues_(net_queue_pairs, num_cqs, num_qps, spec::kRdmaReceiveqOffset),
      attributes_table_(num_qps),
      state_table_(num_qps),
      half_table_(num_qps),
      flush_(num_qps) {
  load_in.SetConsumer(this);
  frame_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
  doorbell_in.SetConsumer(this);
  receive_in.SetConsumer(this);
}

void Responder::SetMq(Cycle from, bool mq) { queues_.SetMq(from, mq); }

void Responder::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  Attributes attributes{.rc = context.valid && context.qp_type == spec::IbQpType::kRc,
                        .remote_write = context.remote_write,
                        .path_mtu = static_cast<unsigned>(std::min(context.path_mtu, spec::IbMtu::kMtu4096)),
                        .pdn = context.pdn,
                        .recv_cqn = context.recv_cqn,
                        .min_rnr_timer = context.min_rnr_timer};
  std::copy(std::begin(context.path.dgid), std::end(context.path.dgid), attributes.peer);
  attributes_table_.Write(now, write.index % attributes_table_.size(), attributes);
}

void Responder::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  const auto qpn = static_cast<uint32_t>(write.qpn % state_table_.size());
  state_table_.Write(now, qpn, write.state);
  if (!write.clear && write.state != IbQpState::kErr) return;
  changes_.emplace_back(now, qpn);
  WakeAt(now + 1);
}

void Responder::SetEnable(Cycle from, bool enable) {
  if (enable_from_ < from) enable_ = next_enable_;
  next_enable_ = enable;
  enable_from_ = from;
}

bool Responder::IsIdle() const {
  return state_ == State::kIdle && load_in.size() == 0 && frame_in.size() == 0 && doorbell_in.size() == 0 &&
         changes_.empty() && !again_ && !ring_ && flush_.IsEmpty() && !check_.token && !request_.token &&
         !place_.token && !ack_.token && !failure_.token;
}

void Responder::Run(Cycle now) {
  check_.Offer(now, memory_check_out);
  request_.Offer(now, receive_request_out);
  place_.Offer(now, place_out);
  ack_.Offer(now, ack_out);
  failure_.Offer(now, failure_out);
  const bool again = again_.has_value();
  RunRings(now, again);
  if (begins_ > now) return WakeAt(begins_);

  switch (state_) {
    case State::kIdle: Begin(now); break;
    case State::kAct: Act(now); break;
    case State::kMemory: OnMemory(now); break;
    case State::kReceive: OnReceive(now); break;
    case State::kNext: Next(now, again); break;
    case State::kFlush: Flush(now); break;
  }
}

// One QP is added per cycle. `again`: there was one at the begin of the cycle.
void Responder::RunRings(Cycle now, bool again) {
  const bool ring = ring_.has_value();
  bool added = false;
  const auto add = [&](uint32_t qpn) {
    flush_.Push(now, qpn);
    WakeAt(std::max(now + 1, flush_.PopReady()));
    added = true;
  };
  if (!changes_.empty() && changes_.front().first < now) {
    add(changes_.front().second);
    changes_.pop_front();
  }
  if (again && !added) {
    add(*again_);
    again_.reset();
  }
  if (again) WakeAt(now + 1);
  if (ring && (!added || !ring_in_error_)) {
    if (ring_in_error_) add(*ring_);
    ring_.reset();
  } else if (!ring && doorbell_in.CanPop(now)) {
    ring_ = queues_.QpOf(now, doorbell_in.Pop(now).vq_index);
    // Most receive queues are rung in another state: those rings take no turn.
    ring_in_error_ = ring_ && state_table_.Read(now, *ring_) == IbQpState::kErr;
  }
  if (ring || ring_) WakeAt(now + 1);
}

void Responder::Go(Cycle now, State state) {
  state_ = state;
  begins_ = now + 1;
  WakeAt(begins_);
}

// Outputs of the turn before have been taken.
bool Responder::HasSpace(Cycle now) {
  if (place_.IsFree(now) && ack_.IsFree(now) && failure_.IsFree(now)) return true;
  // Taken in this cycle: free in the next.
  if (!place_.token && !ack_.token && !failure_.token) WakeAt(now + 1);
  return false;
}

void Responder::Begin(Cycle now) {
  if (load_in.CanPop(now)) {
    const spec::QpLoad load = load_in.Pop(now);
    half_table_.Write(now, load.qpn % half_table_.size(), {.expected_psn = load.psn});
    return Go(now, State::kIdle);
  }
  const bool frame = frame_in.CanPop(now);
  is_flush_ = flush_.CanPop(now) && !(frame && turn_);
  if (!is_flush_ && !frame) return WakeAt(flush_.PopReady());
  turn_ = is_flush_;
  if (is_flush_) {
    qpn_ = flush_.Pop(now);
    WakeAt(flush_.PopReady());
  } else {
    qpn_ = static_cast<uint32_t>(frame_in.front().bth.dest_qp % half_table_.size());
    enabled_ = Enabled(now);
  }
  attributes_ = attributes_table_.Read(now, qpn_);
  qp_state_ = state_table_.Read(now, qpn_);
  half_ = half_table_.Read(now, qpn_);
  status_ = BufferStatus::kOk;
  is_element_ = false;
  if (is_flush_) {
    state_ = State::kFlush;
    begins_ = now + kFlushLatency;
  } else {
    const RxToken& token = frame_in.front();
    const bool starts = token.info.starts_message;
    const auto reth = spec::Reth::Decode(token.extension);
    address_ = starts ? reth.virtual_address : half_.position.address;
    rkey_ = starts ? reth.rkey : half_.position.key;
    bytes_left_ = starts ? reth.dma_length : half_.position.bytes_left;
    left_ = token.payload_bytes;
    offset_ = token.payload_offset;
    state_ = State::kAct;
    begins_ = now + kDecisionLatency;
  }
  WakeAt(begins_);
}

// A packet for a QP of ours that receives, from its peer. [IBTA vol. 1, 9.6]
bool Responder::IsTaken() const {
  const RxToken& frame = frame_in.front();
  if (!enabled_ || frame.verdict != RxVerdict::kRoce) return false;
  const bool receives = frame.bth.dest_qp < half_table_.size() && !half_.failed &&
                        (qp_state_ == IbQpState::kRtr || qp_state_ == IbQpState::kRts || qp_state_ == IbQpState::kSqd ||
                         qp_state_ == IbQpState::kSqe);
  const bool service_matches = attributes_.rc && static_cast<spec::BthService>(static_cast<uint8_t>(frame.bth.opcode) >>
                                                                               5) == spec::BthService::kRc;
  // Ours is a full member, so the membership bit of the other side does not matter. [10.9.3]
  const bool pkey_matches = (frame.bth.pkey & kPkeyMask) == (spec::kPkeyDefault & kPkeyMask);
  const bool peer_matches = std::equal(std::begin(frame.ip_source), std::end(frame.ip_source), attributes_.peer);
  return receives && service_matches && pkey_matches && peer_matches;
}

// Opcode sequence, operation and lengths of the expected packet. [IBTA vol. 1, 9.7.4]
bool Responder::IsRequestValid() const {
  const RxToken& frame = frame_in.front();
  if (frame.info.starts_message == half_.in_message) return false;
  if (!frame.info.starts_message && IsSend() != half_.send) return false;
  if (IsSend() ? frame.info.has_ieth : frame.info.operation != BthOperation::kRdmaWrite) return false;
  const uint32_t mtu = kMtuUnit << attributes_.path_mtu;
  switch (frame.info.payload) {
    case PayloadRule::kMtu:
      if (frame.payload_bytes != mtu) return false;
      break;
    case PayloadRule::kOneToMtu:
      if (frame.payload_bytes == 0 || frame.payload_bytes > mtu) return false;
      break;
    case PayloadRule::kZeroToMtu:
      if (frame.payload_bytes > mtu) return false;
      break;
    default: return false;
  }
  // A SEND's elements tell how long it may be.
  if (IsSend()) return true;
  return frame.info.ends_message ? bytes_left_ == frame.payload_bytes : bytes_left_ > frame.payload_bytes;
}

Responder::Action Responder::Decide() const {
  const RxToken& frame = frame_in.front();
  if (!IsTaken()) return Action::kDrop;
  if (frame.info.is_response) {
    return frame.info.operation == BthOperation::kAcknowledge && frame.payload_bytes == 0 ? Action::kAcknowledge
                                                                                          : Action::kDrop;
  }
  // Half of the PSNs are ahead of the expected one. [IBTA vol. 1, 9.7.4]
  const uint32_t ahead_by = (frame.bth.psn - half_.expected_psn) & kPsnMask;
  if (ahead_by > kPsnMask / 2) {
    return frame.info.response == BthOperation::kAcknowledge ? Action::kRepeat : Action::kDrop;
  }
  // One NAK for a gap, until what is missing has come. [9.7.5]
  if (ahead_by != 0) return half_.nak_sent ? Action::kDrop : Action::kSequence;
  if (!IsRequestValid()) return Action::kInvalid;
  if (IsSend()) return frame.info.consumes_recv ? Action::kReceive : Action::kContinue;
  // Without bytes neither key nor right is looked at. [9.7.4]
  if (frame.payload_bytes == 0) return frame.info.consumes_recv ? Action::kReceive : Action::kAccept;
  return attributes_.remote_write ? Action::kWrite : Action::kAccess;
}

void Responder::Act(Cycle now) {
  if (!HasSpace(now)) return;
  const Action action = Decide();
  switch (action) {
    case Action::kWrite:
      check_.Set(now, {.key = rkey_,
                       .pdn = attributes_.pdn,
                       .remote_write = true,
                       .address = address_,
                       .bytes = frame_in.front().payload_bytes});
      return Go(now, State::kMemory);
    case Action::kReceive: return AskForReceive(now);
    case Action::kContinue: position_ = half_.position; return Go(now, State::kNext);
    default: return Finish(now, action, {});
  }
}

void Responder::Ask(Cycle now, const spec::ReceiveRequest& request) {
  request_.Set(now, request);
  is_element_ = request.is_element;
  Go(now, State::kReceive);
}

void Responder::OnMemory(Cycle now) {
  if (!memory_place_in.CanPop(now) || !HasSpace(now)) return;
  const RxToken& frame = frame_in.front();
  const bool ok = memory_place_in.front().status == MemoryStatus::kOk;
  // Nothing is written without a receive: the place waits where it is.
  if (ok && !IsSend() && frame.info.consumes_recv) return AskForReceive(now);
  const spec::MemoryPlace memory = memory_place_in.Pop(now);
  if (!ok) return Finish(now, IsSend() ? Action::kProtection : Action::kAccess, memory);
  if (!IsSend()) return Finish(now, Action::kWrite, memory);
  const uint32_t chunk = Chunk();
  position_.address += chunk;
  position_.bytes_left -= chunk;
  if (chunk == left_) return Finish(now, Action::kWrite, memory);
  spec::RxPlace place{.more = true};
  SetRuns(place, memory);
  place_.Set(now, place);
  left_ -= chunk;
  offset_ += chunk;
  Go(now, State::kNext);
}

void Responder::OnReceive(Cycle now) {
  if (!receive_in.CanPop(now)) return;
  const spec::Receive receive = receive_in.Pop(now);
  const auto sge = spec::RdmaSge::Decode(receive.sge);
  status_ = receive.status;
  code_ = receive.code;
  position_.address = sge.addr;
  position_.key = sge.lkey;
  position_.bytes_left = sge.length;
  if (is_element_) {
    position_.next_element += spec::RdmaSge::kBytes;
    --position_.elements;
  } else {
    position_.head = receive.head;
    position_.wr_id = receive.wr_id;
    position_.next_element = receive.elements + spec::RdmaSge::kBytes;
    position_.elements = static_cast<uint8_t>(receive.num_sge == 0 ? 0 : receive.num_sge - 1);
    if (receive.num_sge == 0) position_.bytes_left = 0;
  }
  Go(now, State::kNext);
}

void Responder::Next(Cycle now, bool again) {
  if (is_flush_) {
    // A queue that is broken has no more to flush; a work request that is bad is flushed like others.
    const bool none = status_ == BufferStatus::kEmpty || (status_ == BufferStatus::kFailed && code_ == RdmaError::kOk);
    if (none) return Go(now, State::kIdle);
    if (!HasSpace(now) || again) return;
    spec::RxPlace place{.no_frame = true};
    Complete(now, place, {.status = IbWcStatus::kWrFlushErr, .opcode = IbWcOpcode::kRecv}, true);
    place_.Set(now, place);
    again_ = qpn_;
    return Go(now, State::kIdle);
  }
  const bool payload = frame_in.front().payload_bytes != 0;
  if (status_ == BufferStatus::kOk && IsSend() && left_ != 0) {
    if (position_.bytes_left != 0) {
      check_.Set(now, {.key = position_.key,
                       .pdn = attributes_.pdn,
                       .local_write = true,
                       .address = position_.address,
                       .bytes = static_cast<uint16_t>(Chunk())});
      return Go(now, State::kMemory);
    }
    if (position_.elements != 0) {
      return Ask(now, {.qpn = qpn_, .is_element = true, .address = position_.next_element});
    }
    if (HasSpace(now)) Finish(now, Action::kLength, {});
    return;
  }
  if (!HasSpace(now)) return;
  Action action = !IsSend() && payload ? Action::kWrite : Action::kAccept;
  if (status_ != BufferStatus::kOk) {
    action = status_ == BufferStatus::kEmpty && !is_element_ ? Action::kNotReady : Action::kOperation;
  }
  spec::MemoryPlace memory;
  if (!IsSend() && payload) memory = memory_place_in.Pop(now);
  Finish(now, action, memory);
}

void Responder::Flush(Cycle now) {
  // RESET forgets what a message under way holds, ERR completes it before all others.
  if (qp_state_ == IbQpState::kErr || qp_state_ == IbQpState::kReset) {
    Half half = half_;
    half.in_message = false;
    half_table_.Write(now, qpn_, half);
  }
  if (qp_state_ != IbQpState::kErr) return Go(now, State::kIdle);
  if (!half_.in_message || !half_.send) return AskForReceive(now);
  position_ = half_.position;
  Go(now, State::kNext);
}

void Responder::SetRuns(spec::RxPlace& place, const spec::MemoryPlace& memory) const {
  place.offset = static_cast<uint16_t>(offset_);
  place.address0 = memory.address0;
  place.bytes0 = memory.bytes0;
  place.address1 = memory.address1;
  place.bytes1 = memory.bytes1;
}

void Responder::Complete(Cycle now, spec::RxPlace& place, spec::RdmaCqReq cqe, bool solicited) {
  cqe.wr_id = position_.wr_id;
  cqe.qp_num = qpn_;
  place.has_completion = true;
  place.completion = {.vq_index = queues_.IndexOf(now, qpn_),
                      .head = position_.head,
                      .has_cqe = true,
                      .cqn = attributes_.recv_cqn,
                      .solicited = solicited};
  cqe.Encode(place.completion.cqe);
}

void Responder::Finish(Cycle now, Action action, const spec::MemoryPlace& memory) {
  const bool send = IsSend();
  const RxToken frame = frame_in.Pop(now);
  Go(now, State::kIdle);

  Half half = half_;
  spec::RxPlace place;
  auto syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);
  uint32_t psn = frame.bth.psn;
  const auto nak = [&](AethSyndrome value) {
    place.has_answer = true;
    syndrome = static_cast<uint8_t>(value);
  };
  // `status`: of the receive, if it is known.
  const auto refuse = [&](AethSyndrome value, RdmaEventType event, std::optional<IbWcStatus> status = {}) {
    nak(value);
    half.failed = true;
    // What a receive's own error is: its code; otherwise what the peer is told.
    const bool own = action == Action::kOperation && code_ != RdmaError::kOk;
    const uint32_t reason = own ? static_cast<uint32_t>(code_) : syndrome;
    failure_.Set(now, {.qpn = frame.bth.dest_qp, .event_type = event, .code = reason});
    if (!status) return;
    half.in_message = false;
    Complete(now, place, {.status = *status, .opcode = IbWcOpcode::kRecv, .vendor_err = reason}, true);
  };
  switch (action) {
    case Action::kDrop:
    case Action::kReceive:   // not an end
    case Action::kContinue:  // likewise
      break;
    case Action::kAcknowledge: {
      const auto aeth = spec::Aeth::Decode(frame.extension);
      ack_.Set(now, {.qpn = frame.bth.dest_qp, .psn = psn, .syndrome = frame.extension[0], .msn = aeth.msn});
      break;
    }
    case Action::kRepeat:
      // Acknowledges everything so far. [IBTA vol. 1, 9.7.5]
      place.has_answer = true;
      psn = (half.expected_psn - 1) & kPsnMask;
      break;
    case Action::kSequence:
      nak(AethSyndrome::kNakPsnSequenceError);
      psn = half.expected_psn;
      half.nak_sent = true;
      break;
    case Action::kNotReady:
      // The packet comes again later; what is behind it is as good as lost. [9.7.5.2.8]
      nak(AethSyndrome::kRnrNak);
      syndrome = static_cast<uint8_t>(syndrome | attributes_.min_rnr_timer);
      half.nak_sent = true;
      break;
    case Action::kInvalid: refuse(AethSyndrome::kNakInvalidRequest, RdmaEventType::kQpReqErr); break;
    case Action::kAccess: refuse(AethSyndrome::kNakRemoteAccessError, RdmaEventType::kQpAccessErr); break;
    case Action::kOperation: {
      // A queue that is broken gave no work request.
      std::optional<IbWcStatus> status;
      if (is_element_ || code_ != RdmaError::kOk) status = IbWcStatus::kLocQpOpErr;
      refuse(AethSyndrome::kNakRemoteOperationalError, RdmaEventType::kQpFatal, status);
      break;
    }
    case Action::kProtection:
      refuse(AethSyndrome::kNakRemoteOperationalError, RdmaEventType::kQpFatal, IbWcStatus::kLocProtErr);
      break;
    case Action::kLength:
      refuse(AethSyndrome::kNakInvalidRequest, RdmaEventType::kQpReqErr, IbWcStatus::kLocLenErr);
      break;
    case Action::kAccept:
    case Action::kWrite:
      place.has_answer = frame.bth.ack_req;
      half.nak_sent = false;
      half.expected_psn = (half.expected_psn + 1) & kPsnMask;
      // Messages are counted when they are complete. [9.7.7]
      half.msn = (half.msn + frame.info.ends_message) & kPsnMask;
      half.in_message = !frame.info.ends_message;
      half.send = send;
      half.received = (frame.info.starts_message ? 0 : half.received) + frame.payload_bytes;
      half.position = position_;
      if (!send) {
        half.position.address = address_ + frame.payload_bytes;
        half.position.key = rkey_;
        half.position.bytes_left = bytes_left_ - frame.payload_bytes;
      }
      if (frame.info.completes_recv) {
        spec::RdmaCqReq cqe{.opcode = send ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm,
                            .byte_len = half.received};
        if (frame.info.has_immdt) {
          // Behind the RETH of a message of one packet. [9.2, 9.3]
          const auto* immediate = frame.extension + (frame.info.has_reth ? spec::Reth::kBytes : 0);
          std::copy_n(immediate, spec::Immdt::kBytes, cqe.imm_data);
          cqe.wc_flags = spec::IbWcFlags::kWithImm;
        }
        Complete(now, place, cqe, frame.bth.solicited_event);
      }
      break;
  }
  if (action == Action::kWrite) SetRuns(place, memory);
  if (place.has_answer) {
    place.answer.qpn = frame.bth.dest_qp;
    place.answer.opcode = spec::BthOpcode::kRcAcknowledge;
    place.answer.psn = psn;
    spec::Aeth aeth;
    aeth.msn = half.msn;
    aeth.Encode(place.answer.extension);
    place.answer.extension[0] = syndrome;
  }
  place_.Set(now, place);
  if (action != Action::kDrop && action != Action::kAcknowledge) {
    half_table_.Write(now, frame.bth.dest_qp % half_table_.size(), half);
  }
}

}  // namespace vireo::model
