// SPDX-License-Identifier: Apache-2.0
// The responder's output stage: what leaves at the end of a frame, and the QP's state after it.
#include <algorithm>
#include <iterator>
#include <optional>

#include "model/rdma/psn.h"
#include "model/rdma/responder.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::AethKind;
using spec::AethSyndrome;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::RdmaError;
using spec::RdmaEventType;

}  // namespace

void Responder::SetPlace(Cycle now, const spec::RxPlace& place) {
  if (place.net_bytes == 0) ++places_begun_;
  place_.Set(now, place);
}

void Responder::SetRuns(spec::RxPlace& place, const spec::MemoryPlace& memory) const {
  if (memory.bytes0 == 0) return;
  place.zeros = Scatters() && part_ == Part::kZeros;
  // The result of an atomic operation of ours, in the order of memory; what is left of it.
  place.has_value = is_response_ && turn_->frame.info.has_atomic_ack_eth;
  if (place.has_value) {
    const auto result = spec::AtomicAckEth::Decode(turn_->frame.extension + spec::Aeth::kBytes);
    place.value = result.original_data >> 8 * (spec::kAtomicBytes - left_);
  } else {
    place.offset = static_cast<uint16_t>(offset_);
  }
  place.address0 = memory.address0;
  place.bytes0 = memory.bytes0;
  place.address1 = memory.address1;
  place.bytes1 = memory.bytes1;
  place.grant = memory.grant;
}

void Responder::Complete(Cycle now, spec::RxPlace& place, spec::RdmaCqReq cqe, bool solicited) {
  cqe.wr_id = position_.wr_id;
  cqe.qp_num = turn_->qpn;
  place.has_completion = true;
  place.completion = {.vq_index = queues_.IndexOf(now, turn_->ReceiveQueue()),
                      .head = position_.head,
                      .by_id = turn_->attributes.has_srq,
                      .has_cqe = true,
                      .cqn = turn_->attributes.recv_cqn,
                      .solicited = solicited};
  cqe.Encode(place.completion.cqe);
  place.answer.packet.qpn = turn_->qpn;
}

void Responder::Finish(Cycle now, Action action, const spec::MemoryPlace& memory) {
  spec::RxPlace place;
  SetRuns(place, memory);
  const RxToken& frame = turn_->frame;
  place.copied = turn_->is_copy;
  // The net path handles it.
  if (turn_->IsNet()) place.net_bytes = frame.frame_bytes;
  if (is_response_) {
    FinishResponse(now, action, frame, place, memory.status);
  } else {
    FinishRequest(now, action, frame, place, memory.status);
  }
  SetPlace(now, place);
  SetState(now, State::kIdle);
  next_refused_ = has_next_ && next_expects_ && action == Action::kProtection;
}

void Responder::FinishResponse(Cycle now, Action action, const RxToken& frame, spec::RxPlace& place,
                               MemoryStatus memory_status) {
  if (action == Action::kDrop) return;
  place.has_ack = true;
  spec::RxAck& ack = place.ack;
  ack = {.qpn = frame.bth.dest_qp,
         .psn = frame.bth.psn,
         .syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits),
         .is_read = true};
  ResponderReadHalf half = read_half_;
  const auto fail = [&](IbWcStatus status, RdmaError code) {
    ack.status = status;
    ack.syndrome = static_cast<uint8_t>(code);
    half.halted = true;
  };
  const auto aeth = spec::Aeth::Decode(frame.extension);
  switch (action) {
    case Action::kGap:
      ack.psn = read_half_.psn;
      ack.syndrome = static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
      return;
    case Action::kBadResponse:
      fail(IbWcStatus::kBadRespErr, frame.info.has_aeth && aeth.kind != AethKind::kAck ? RdmaError::kInvalidParameter
                                                                                       : RdmaError::kInvalidLength);
      break;
    case Action::kOperation: fail(IbWcStatus::kLocQpOpErr, code_); break;
    case Action::kProtection: fail(IbWcStatus::kLocProtErr, MemoryError(memory_status)); break;
    case Action::kLength: fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength); break;
    default: {  // filled
      if (frame.info.has_aeth) {
        ack.syndrome = frame.extension[0];
        ack.msn = aeth.msn;
      }
      const bool last = frame.bth.psn == oldest_.last_psn;
      half = {.started = !last,
              .psn = (read_half_.psn + 1) & kPsnMask,
              .bytes_left = read_half_.bytes_left - frame.payload_bytes,
              .cursor = position_.cursor};
      if (last) reads_.Retire(now);
      break;
    }
  }
  read_half_table_.Write(now, turn_->qpn, half);
  wrote_ = true;
}

void Responder::FinishRequest(Cycle now, Action action, const RxToken& frame, spec::RxPlace& place,
                              MemoryStatus memory_status) {
  const bool send = turn_->IsSend();
  const bool acknowledged = turn_->IsAcknowledged();
  ResponderHalf half = turn_->half;
  auto syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);
  uint32_t psn = frame.bth.psn;
  const auto nak = [&](AethSyndrome value) {
    place.has_answer = true;
    syndrome = static_cast<uint8_t>(value);
  };
  // `status`: of the receive, if it is known; `own`: reported locally only.
  const auto refuse = [&](AethSyndrome value, RdmaEventType event, std::optional<IbWcStatus> status = {},
                          RdmaError own = RdmaError::kOk) {
    nak(value);
    place.has_answer = acknowledged;
    half.failed = true;
    // Our own error; for a broken queue, the block that detected it has reported why. Otherwise the code sent to the
    // peer.
    const bool is_own = !acknowledged || event == RdmaEventType::kQpFatal;
    if (is_own && own == RdmaError::kOk) own = RdmaError::kRemoteOperationalError;
    const uint32_t reason = is_own ? static_cast<uint32_t>(own) : syndrome;
    failure_.Set(now, {.qpn = frame.bth.dest_qp,
                       .event_type = acknowledged ? event : RdmaEventType::kQpFatal,
                       .code = reason,
                       .reported = status.has_value()});
    if (!status) return;
    half.in_message = false;
    half.holds = false;
    Complete(now, place, {.status = *status, .opcode = IbWcOpcode::kRecv, .vendor_err = reason}, true);
  };
  switch (action) {
    case Action::kAcknowledge: {
      const auto aeth = spec::Aeth::Decode(frame.extension);
      place.has_ack = true;
      place.ack = {.qpn = frame.bth.dest_qp, .psn = psn, .syndrome = frame.extension[0], .msn = aeth.msn};
      return;
    }
    case Action::kAbandon:
      // A receive that the message held is passed to the next message that needs one. [IBTA vol. 1, 9.8.2.2]
      half.in_message = false;
      break;
    case Action::kDuplicate:
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
      // The packet will be retransmitted; those behind it are treated as lost. [9.7.5.2.8]
      nak(AethSyndrome::kRnrNak);
      syndrome = static_cast<uint8_t>(syndrome | turn_->attributes.min_rnr_timer);
      half.nak_sent = true;
      break;
    case Action::kInvalid: refuse(AethSyndrome::kNakInvalidRequest, RdmaEventType::kQpReqErr); break;
    case Action::kAccess:
      half.access_refused = frame.info.consumes_recv;
      refuse(AethSyndrome::kNakRemoteAccessError, RdmaEventType::kQpAccessErr);
      break;
    case Action::kInvalidate:
      // Its data has arrived, but the completion would vouch for more. Status as Linux.
      refuse(AethSyndrome::kNakRemoteAccessError, RdmaEventType::kQpAccessErr, IbWcStatus::kRemInvReqErr);
      break;
    case Action::kOperation: {
      // A broken queue returned no work request.
      std::optional<IbWcStatus> status;
      if (is_element_ || code_ != RdmaError::kOk) status = IbWcStatus::kLocQpOpErr;
      refuse(AethSyndrome::kNakRemoteOperationalError, RdmaEventType::kQpFatal, status, code_);
      break;
    }
    case Action::kProtection:
      refuse(AethSyndrome::kNakRemoteOperationalError, RdmaEventType::kQpFatal, IbWcStatus::kLocProtErr,
             MemoryError(memory_status));
      break;
    case Action::kLength:
      refuse(AethSyndrome::kNakInvalidRequest, RdmaEventType::kQpReqErr, IbWcStatus::kLocLenErr,
             RdmaError::kInvalidLength);
      break;
    case Action::kIssueRead:
      half.nak_sent = false;
      half.expected_psn = (half.expected_psn + turn_->Packets()) & kPsnMask;
      // Its response counts as sent. [9.7.7]
      half.msn = (half.msn + 1) & kPsnMask;
      [[fallthrough]];
    case Action::kReplayRead:
      place.has_answer = true;
      place.answer.is_read = true;
      place.answer.address = turn_->address;
      place.answer.rkey = turn_->rkey;
      // Of a FLUSH one byte is read behind what was written; of one without bytes nothing, as of such a READ.
      place.answer.bytes = turn_->IsFlush() ? std::min(turn_->bytes_left, 1U) : turn_->bytes_left;
      half.reads_valid = true;
      half.reads_issued = static_cast<uint8_t>(turn_->reads_issued + 1);
      half.duplicate_limit = action == Action::kReplayRead ? half.reads_issued : turn_->duplicate_limit;
      break;
    case Action::kKeep:
      // The next one to flush, unless there was none, or the queue is broken.
      half.holds =
          status_ == spec::BufferStatus::kOk || (status_ != spec::BufferStatus::kEmpty && code_ != RdmaError::kOk);
      half.position = position_;
      break;
    case Action::kAccept:
      place.has_answer = frame.bth.ack_req && acknowledged;
      place.request = true;
      place.acknowledged = acknowledged;
      place.uses_receive = send;
      place.ends_message = frame.info.ends_message;
      place.fence = turn_->Invalidates();
      half.nak_sent = false;
      // UC, UD: the PSN of the message, not where ours ended.
      half.expected_psn = ((acknowledged ? half.expected_psn : psn) + 1) & kPsnMask;
      // Messages are counted when they are complete. [9.7.7]
      half.msn = (half.msn + frame.info.ends_message) & kPsnMask;
      half.in_message = !frame.info.ends_message;
      half.send = send;
      half.received = (frame.info.starts_message ? 0 : half.received) + frame.payload_bytes +
                      (turn_->IsDatagram() ? spec::kRdmaUdGrhBytes : 0);
      half.position = position_;
      if (send) {
        half.holds = true;
      } else {
        half.position.cursor.address = turn_->address + frame.payload_bytes;
        half.position.cursor.key = turn_->rkey;
        half.position.cursor.bytes_left = turn_->bytes_left - frame.payload_bytes;
      }
      if (frame.info.completes_recv) {
        spec::RdmaCqReq cqe{.opcode = send ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm,
                            .byte_len = half.received};
        if (turn_->IsDatagram()) {
          cqe.src_qp = spec::Deth::Decode(frame.extension).source_qp;
          cqe.wc_flags = spec::IbWcFlags::kGrh;
        }
        if (frame.info.has_immdt) {
          // After the DETH, or the RETH of a message of one packet. [9.2, 9.3]
          const size_t reth = frame.info.has_reth ? spec::Reth::kBytes : 0;
          const size_t before = frame.info.has_deth ? spec::Deth::kBytes : reth;
          std::copy_n(frame.extension + before, spec::Immdt::kBytes, cqe.imm_data);
          cqe.wc_flags |= spec::IbWcFlags::kWithImm;
        }
        if (turn_->Invalidates()) {
          std::copy_n(frame.extension, spec::Ieth::kBytes, cqe.imm_data);
          cqe.wc_flags |= spec::IbWcFlags::kWithInv;
        }
        half.holds = false;
        Complete(now, place, cqe, frame.bth.solicited_event);
      }
      break;
    default: return;  // dropped; the others do not end a turn
  }
  if (place.has_answer || place.request) {
    spec::TxPacket& packet = place.answer.packet;
    packet.qpn = frame.bth.dest_qp;
    if (!place.answer.is_read) packet.opcode = spec::BthOpcode::kRcAcknowledge;
    packet.psn = psn;
    spec::Aeth aeth;
    aeth.msn = half.msn;
    aeth.Encode(packet.extension);
    packet.extension[0] = syndrome;
    if (place.answer.is_read && turn_->IsAtomic() && place.answer.bytes != 0) {
      packet.opcode = frame.bth.opcode;
      std::copy(std::begin(frame.extension) + spec::AtomicEth::kSwapAddDataOffset,
                std::begin(frame.extension) + spec::AtomicEth::kBytes, packet.extension + spec::Aeth::kBytes);
      place.answer.is_duplicate = action == Action::kReplayRead;
    }
  }
  WriteHalf(now, turn_->qpn, half);
}

}  // namespace vireo::model
