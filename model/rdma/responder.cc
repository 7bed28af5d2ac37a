// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/responder.h"

#include <algorithm>
#include <iterator>

namespace vireo::model {
namespace {

using spec::AethSyndrome;
using spec::BthOperation;
using spec::IbQpState;
using spec::PayloadRule;
using spec::RxVerdict;

// A path MTU is this shifted left by its code; codes above the largest count as it. [IBTA vol. 1, 9.4.3.2]
constexpr uint32_t kMtuUnit = 128;
constexpr uint32_t kPsnMask = (1u << spec::kPsnBits) - 1;
// The other bit of a P_Key tells membership.
constexpr uint16_t kPkeyMask = 0x7fff;

}  // namespace

Responder::Responder(Agenda& agenda, uint32_t num_qps)
    : Block(agenda), attributes_table_(num_qps), state_table_(num_qps), half_table_(num_qps) {
  load_in.SetConsumer(this);
  frame_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
}

void Responder::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  Attributes attributes{.rc = context.valid && context.qp_type == spec::IbQpType::kRc,
                        .remote_write = context.remote_write,
                        .path_mtu = static_cast<unsigned>(std::min(context.path_mtu, spec::IbMtu::kMtu4096)),
                        .pdn = context.pdn};
  std::copy(std::begin(context.path.dgid), std::end(context.path.dgid), attributes.peer);
  attributes_table_.Write(now, write.index % attributes_table_.size(), attributes);
}

void Responder::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  state_table_.Write(now, write.qpn % state_table_.size(), write.state);
}

void Responder::SetEnable(Cycle from, bool enable) {
  if (enable_from_ < from) enable_ = next_enable_;
  next_enable_ = enable;
  enable_from_ = from;
}

bool Responder::IsIdle() const {
  return state_ == State::kIdle && load_in.size() == 0 && frame_in.size() == 0 && !check_.token && !place_.token &&
         !ack_.token && !failure_.token;
}

void Responder::Run(Cycle now) {
  check_.Offer(now, memory_check_out);
  place_.Offer(now, place_out);
  ack_.Offer(now, ack_out);
  failure_.Offer(now, failure_out);
  if (begins_ > now) return WakeAt(begins_);

  switch (state_) {
    case State::kIdle:
      if (load_in.CanPop(now)) {
        const spec::QpLoad load = load_in.Pop(now);
        half_table_.Write(now, load.qpn % half_table_.size(), {.expected_psn = load.psn});
        begins_ = now + 1;
        WakeAt(now + 1);
      } else if (frame_in.CanPop(now)) {
        const RxToken& frame = frame_in.front();
        const size_t qpn = frame.bth.dest_qp % half_table_.size();
        enabled_ = Enabled(now);
        attributes_ = attributes_table_.Read(now, qpn);
        qp_state_ = state_table_.Read(now, qpn);
        half_ = half_table_.Read(now, qpn);
        const bool starts = frame.info.starts_message;
        const auto reth = spec::Reth::Decode(frame.extension);
        address_ = starts ? reth.virtual_address : half_.address;
        rkey_ = starts ? reth.rkey : half_.rkey;
        bytes_left_ = starts ? reth.dma_length : half_.bytes_left;
        state_ = State::kAct;
        begins_ = now + kDecisionLatency;
        WakeAt(begins_);
      }
      break;

    case State::kAct: Act(now); break;

    case State::kMemory:
      if (memory_place_in.CanPop(now)) {
        const spec::MemoryPlace memory = memory_place_in.Pop(now);
        Finish(now, memory.status == spec::MemoryStatus::kOk ? Action::kWrite : Action::kAccess, memory);
      }
      break;
  }
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

// Opcode sequence, operation and lengths of the expected packet. [IBTA vol. 1, 9.7.4.1]
bool Responder::IsRequestValid() const {
  const RxToken& frame = frame_in.front();
  if (frame.info.starts_message == half_.in_message) return false;
  if (frame.info.operation != BthOperation::kRdmaWrite || frame.info.has_immdt) return false;
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
  return frame.info.ends_message ? bytes_left_ == frame.payload_bytes : bytes_left_ > frame.payload_bytes;
}

Responder::Action Responder::Decide() const {
  const RxToken& frame = frame_in.front();
  if (!IsTaken()) return Action::kDrop;
  if (frame.info.is_response) {
    return frame.info.operation == BthOperation::kAcknowledge && frame.payload_bytes == 0 ? Action::kAcknowledge
                                                                                          : Action::kDrop;
  }
  // Half of the PSNs are ahead of the expected one. [IBTA vol. 1, 9.7.4.1.1]
  const uint32_t ahead_by = (frame.bth.psn - half_.expected_psn) & kPsnMask;
  if (ahead_by > kPsnMask / 2) {
    return frame.info.response == BthOperation::kAcknowledge ? Action::kRepeat : Action::kDrop;
  }
  // One NAK for a gap, until what is missing has come. [9.7.5.2.8]
  if (ahead_by != 0) return half_.nak_sent ? Action::kDrop : Action::kSequence;
  if (!IsRequestValid()) return Action::kInvalid;
  // Without bytes neither key nor right is looked at. [9.7.4.1.5]
  if (frame.payload_bytes == 0) return Action::kAccept;
  return attributes_.remote_write ? Action::kWrite : Action::kAccess;
}

void Responder::Act(Cycle now) {
  if (!place_.IsFree(now) || !ack_.IsFree(now) || !failure_.IsFree(now)) {
    // Taken in this cycle: free in the next.
    if (!place_.token && !ack_.token && !failure_.token) WakeAt(now + 1);
    return;
  }
  const Action action = Decide();
  if (action != Action::kWrite) return Finish(now, action, {});
  check_.Set(now, {.key = rkey_,
                   .pdn = attributes_.pdn,
                   .remote_write = true,
                   .address = address_,
                   .bytes = frame_in.front().payload_bytes});
  state_ = State::kMemory;
  begins_ = now + 1;
  WakeAt(begins_);
}

void Responder::Finish(Cycle now, Action action, const spec::MemoryPlace& memory) {
  const RxToken frame = frame_in.Pop(now);
  state_ = State::kIdle;
  begins_ = now + 1;
  WakeAt(begins_);

  Half half = half_;
  spec::RxPlace place;
  auto syndrome = AethSyndrome::kAckNoCredits;
  uint32_t psn = frame.bth.psn;
  switch (action) {
    case Action::kDrop: break;
    case Action::kAcknowledge: {
      const auto aeth = spec::Aeth::Decode(frame.extension);
      ack_.Set(now, {.qpn = frame.bth.dest_qp, .psn = psn, .syndrome = frame.extension[0], .msn = aeth.msn});
      break;
    }
    case Action::kRepeat:
      // Acknowledges everything so far. [IBTA vol. 1, 9.7.5.1.3]
      place.has_answer = true;
      psn = (half.expected_psn - 1) & kPsnMask;
      break;
    case Action::kSequence:
      place.has_answer = true;
      psn = half.expected_psn;
      syndrome = AethSyndrome::kNakPsnSequenceError;
      half.nak_sent = true;
      break;
    case Action::kInvalid:
    case Action::kAccess: {
      const bool access = action == Action::kAccess;
      place.has_answer = true;
      syndrome = access ? AethSyndrome::kNakRemoteAccessError : AethSyndrome::kNakInvalidRequest;
      half.failed = true;
      failure_.Set(now, {.qpn = frame.bth.dest_qp,
                         .event_type = access ? spec::RdmaEventType::kQpAccessErr : spec::RdmaEventType::kQpReqErr,
                         .code = static_cast<uint32_t>(syndrome)});
      break;
    }
    case Action::kAccept:
    case Action::kWrite:
      place.has_answer = frame.bth.ack_req;
      half.nak_sent = false;
      half.expected_psn = (half.expected_psn + 1) & kPsnMask;
      // Messages are counted when they are complete. [9.7.7.1]
      half.msn = (half.msn + frame.info.ends_message) & kPsnMask;
      half.in_message = !frame.info.ends_message;
      half.address = address_ + frame.payload_bytes;
      half.rkey = rkey_;
      half.bytes_left = bytes_left_ - frame.payload_bytes;
      break;
  }
  if (action == Action::kWrite) {
    place.offset = frame.payload_offset;
    place.address0 = memory.address0;
    place.bytes0 = memory.bytes0;
    place.address1 = memory.address1;
    place.bytes1 = memory.bytes1;
  }
  if (place.has_answer) {
    place.answer.qpn = frame.bth.dest_qp;
    place.answer.opcode = spec::BthOpcode::kRcAcknowledge;
    place.answer.psn = psn;
    spec::Aeth aeth;
    aeth.msn = half.msn;
    aeth.Encode(place.answer.extension);
    place.answer.extension[0] = static_cast<uint8_t>(syndrome);
  }
  place_.Set(now, place);
  if (action != Action::kDrop && action != Action::kAcknowledge) {
    half_table_.Write(now, frame.bth.dest_qp % half_table_.size(), half);
  }
}

}  // namespace vireo::model
