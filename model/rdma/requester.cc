// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/requester.h"

#include <algorithm>

#include "model/common/output_register.h"

namespace vireo::model {
namespace {

using spec::BthOpcode;
using spec::IbQpState;
using spec::IbSendFlags;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::MemoryStatus;
using spec::RdmaError;

constexpr uint32_t kPsnMask = 0xff'ffff;

// ib_mtu counts in powers of two from 128. [IBTA vol. 1, 9.4.3.2]
constexpr uint32_t kMtuUnit = 128;

constexpr uint8_t kKnownFlags =
    IbSendFlags::kFence | IbSendFlags::kSignaled | IbSendFlags::kSolicited | IbSendFlags::kInline;

// What a work request's opcode means. A service or an opcode that comes later is a row more.
struct Operation {
  IbWrOpcode opcode;
  spec::IbWcOpcode wc_opcode;
  BthOpcode bth[4];  // by packet_position
};
constexpr Operation kOperations[] = {
    {IbWrOpcode::kRdmaWrite,
     spec::IbWcOpcode::kRdmaWrite,
     {BthOpcode::kRcRdmaWriteMiddle, BthOpcode::kRcRdmaWriteFirst, BthOpcode::kRcRdmaWriteLast,
      BthOpcode::kRcRdmaWriteOnly}},
};
const Operation* OperationOf(IbWrOpcode opcode) {
  const auto* const row = std::find_if(std::begin(kOperations), std::end(kOperations),
                                       [&](const Operation& operation) { return operation.opcode == opcode; });
  return row == std::end(kOperations) ? nullptr : row;
}

// Sending, or finishing what was fetched before a drain. [IBTA vol. 1, 10.3.1]
bool IsSending(IbQpState state) { return state == IbQpState::kRts || state == IbQpState::kSqd; }

// What a memory_check's refusal is called.
RdmaError MemoryError(MemoryStatus status) {
  switch (status) {
    case MemoryStatus::kKey: return RdmaError::kBadMrn;
    case MemoryStatus::kPd: return RdmaError::kBadPdn;
    case MemoryStatus::kRights: return RdmaError::kBadAccessFlags;
    default: return RdmaError::kInvalidLength;
  }
}

}  // namespace

Requester::Requester(Agenda& agenda, const spec::Config& config, uint32_t packets)
    : Block(agenda),
      memory_place_in(Channel<spec::MemoryPlace>::Fifo(packets)),
      attributes_(config.num_qps),
      front_state_(config.num_qps),
      back_state_(config.num_qps),
      half_(config.num_qps),
      dead_(config.num_qps),
      entries_(Channel<Entry>::Fifo(packets)) {
  work_request_in.SetConsumer(this);
  load_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
  entries_.SetConsumer(this);
}

void Requester::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  attributes_.Write(cycle, write.index,
                    {context.qp_type, context.path_mtu, context.sq_sig_all, context.pdn, context.max_send_sge});
}

void Requester::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  front_state_.Write(cycle, write.qpn, write.state);
  back_state_.Write(cycle, write.qpn, write.state);
  WakeAt(cycle + 2);  // who waits looks at the state in every cycle, as it was read in the one before
}

void Requester::Run(Cycle now) {
  bool moved = Leave(now, check_, memory_check_out);
  moved |= Leave(now, job_, job_out);
  moved |= Leave(now, record_, record_out);
  moved |= Leave(now, failure_, failure_out);
  moved |= RunFront(now);
  moved |= RunBack(now);
  if (moved) WakeAt(now + 1);
}

bool Requester::RunFront(Cycle now) {
  switch (front_) {
    case Front::kIdle:
      if (load_in.CanPop(now)) {
        if (!entries_.CanPush(now)) return false;
        const spec::QpLoad load = load_in.Pop(now);
        half_.Write(now, load.qpn, load.psn);
        Entry entry{.load = true};
        entry.record.qpn = load.qpn;
        entries_.Push(now, entry);
        return true;
      }
      if (!work_request_in.CanPop(now)) return false;
      front_ = Front::kCheck;
      return true;
    case Front::kCheck: Check(now); return true;
    case Front::kPacket: return SendPacket(now);
  }
  return false;
}

// What was read in the cycle before.
void Requester::Check(Cycle now) {
  const spec::WorkRequest& work = work_request_in.front();
  const Attributes& attributes = attributes_.Read(now - 1, work.qpn);
  const uint32_t psn = half_.Read(now - 1, work.qpn);
  const IbQpState state = front_state_.Read(now - 1, work.qpn);

  message_ = Message{};
  uint8_t bytes[spec::RdmaSqReq::kBytes]{};
  std::copy(std::begin(work.head_bytes), std::end(work.head_bytes), bytes);
  message_.request = spec::RdmaSqReq::Decode(bytes);
  const uint32_t num_sge = spec::RdmaSqReqNumSge::Decode(work.tail_bytes).num_sge;
  message_.sge = spec::RdmaSge::Decode(work.tail_bytes + (spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset));
  const uint8_t flags = message_.request.send_flags;
  const Operation* const operation = OperationOf(message_.request.opcode);
  const uint32_t length = num_sge == 0 ? 0 : message_.sge.length;

  // The first that applies.
  IbWcStatus status = IbWcStatus::kLocQpOpErr;
  RdmaError vendor = RdmaError::kOk;
  if (work.failed != RdmaError::kOk || !IsSending(state)) {
    status = IbWcStatus::kWrFlushErr;  // not carried out [IBTA vol. 1, 10.3.1.7]
  } else if (attributes.qp_type != spec::IbQpType::kRc) {
    vendor = RdmaError::kUnsupportedQpType;
  } else if (operation == nullptr) {
    vendor = RdmaError::kUnsupportedCommand;  // which operations a service has: IBTA vol. 1, table 38
  } else if (attributes.path_mtu < spec::IbMtu::kMtu256 || attributes.path_mtu > spec::IbMtu::kMtu4096) {
    vendor = RdmaError::kInvalidAttribute;
  } else if ((flags & ~kKnownFlags) != 0) {
    vendor = RdmaError::kInvalidParameter;
  } else if ((flags & IbSendFlags::kInline) != 0) {
    vendor = RdmaError::kCapInlineExceeded;  // later
  } else if (num_sge > attributes.max_send_sge || num_sge > 1) {
    vendor = RdmaError::kCapSgeExceeded;  // more than one: later
  } else if (num_sge != 0 && work.bytes < spec::RdmaSqReq::kBytes + spec::RdmaSge::kBytes) {
    vendor = RdmaError::kBadWqe;
  } else if (length > kMaxMessageBytes) {
    status = IbWcStatus::kLocLenErr;
    vendor = RdmaError::kInvalidLength;
  } else {
    status = IbWcStatus::kSuccess;
  }

  const bool sends = status == IbWcStatus::kSuccess;
  message_.length = length;
  message_.left = sends ? length : 0;
  message_.address = message_.sge.addr;
  message_.psn = psn;
  message_.mtu = kMtuUnit << (static_cast<uint32_t>(attributes.path_mtu) % 8);
  message_.pdn = attributes.pdn;
  uint32_t last_psn = psn;
  if (!sends) {
    last_psn = psn - 1;
  } else if (length != 0) {
    last_psn = psn + (length - 1) / message_.mtu;
  }
  message_.record = {
      .qpn = work.qpn,
      .head = work.head,
      .wr_id = message_.request.wr_id,
      .opcode = operation == nullptr ? spec::IbWcOpcode{} : operation->wc_opcode,
      .status = status,
      .vendor_err = static_cast<uint32_t>(vendor),
      // Failures have a CQE in any case.
      .signaled = attributes.sq_sig_all || (flags & IbSendFlags::kSignaled) != 0,
      .last_psn = last_psn & kPsnMask,
      .first_psn = psn,
      .silent = work.failed != RdmaError::kOk,
  };
  front_ = Front::kPacket;
}

bool Requester::SendPacket(Cycle now) {
  Message& message = message_;
  const uint32_t qpn = message.record.qpn;
  if (!message.first && !IsSending(front_state_.Read(now - 1, qpn))) {
    half_.Write(now, qpn, message.psn);
    work_request_in.Pop(now);
    front_ = Front::kIdle;
    return true;
  }
  const bool placed = message.left != 0;
  if (!entries_.CanPush(now) || (placed && check_)) return false;
  const bool last = message.left <= message.mtu;
  const uint32_t bytes = last ? message.left : message.mtu;
  Entry entry{.first = message.first, .placed = placed, .record = message.record};
  if (const Operation* const operation = OperationOf(message.request.opcode)) {
    const BthOpcode opcode = operation->bth[(last ? 2 : 0) + (message.first ? 1 : 0)];
    const spec::OpcodeInfo& info = spec::kOpcodeInfo[static_cast<uint8_t>(opcode)];
    entry.packet = {
        .qpn = qpn,
        .opcode = opcode,
        .solicited_event = last && info.may_solicit && (message.request.send_flags & IbSendFlags::kSolicited) != 0,
        .ack_req = last || (message.psn + 1) % spec::kSendAckPackets == 0,
        .psn = message.psn,
        .payload_bytes = static_cast<uint16_t>(bytes),
    };
    if (info.has_reth) {
      const auto rdma = spec::RdmaSqReqRdma::Decode(message.request.wr);
      spec::Reth{.virtual_address = rdma.remote_addr, .rkey = rdma.rkey, .dma_length = message.length}.Encode(
          entry.packet.extension);
    }
  }
  if (placed) {
    check_ = spec::MemoryCheck{
        .key = message.sge.lkey, .pdn = message.pdn, .address = message.address, .bytes = static_cast<uint16_t>(bytes)};
  }
  entries_.Push(now, entry);
  message.first = false;
  message.left -= bytes;
  message.address += bytes;
  message.psn = (message.psn + 1) & kPsnMask;
  if (last) {
    // The PSN after a failure does not matter, because a dead QP sends nothing.
    half_.Write(now, qpn, message.psn);
    work_request_in.Pop(now);
    front_ = Front::kIdle;
  }
  return true;
}

void Requester::PopEntry(Cycle now) {
  if (entries_.front().placed) memory_place_in.Pop(now);
  entries_.Pop(now);
  back_ = Back::kIdle;
}

bool Requester::RunBack(Cycle now) {
  switch (back_) {
    case Back::kIdle:
      if (!entries_.CanPop(now) || (entries_.front().placed && !memory_place_in.CanPop(now))) return false;
      back_ = Back::kDecide;
      return true;
    case Back::kDecide: return Decide(now);
    case Back::kJob: {
      // Not before the record is in the completer's hands, so that no acknowledge can be there first.
      if (record_ || job_) return false;
      const Entry& entry = entries_.front();
      job_ = spec::TxJob{.packet = entry.packet};
      if (entry.placed) {
        const spec::MemoryPlace& place = memory_place_in.front();
        job_->address0 = place.address0;
        job_->bytes0 = place.bytes0;
        job_->address1 = place.address1;
        job_->bytes1 = place.bytes1;
      }
      PopEntry(now);
      return true;
    }
    case Back::kFail:
      // After the record, so that the completer knows why before everything flushes.
      if (record_ || failure_) return false;
      failure_ = spec::QpFailure{
          .qpn = entries_.front().record.qpn, .event_type = spec::RdmaEventType::kQpFatal, .code = code_};
      PopEntry(now);
      return true;
  }
  return false;
}

bool Requester::Decide(Cycle now) {
  const Entry& entry = entries_.front();
  const uint32_t qpn = entry.record.qpn;
  if (entry.load) {
    dead_.Write(now, qpn, 0);
    PopEntry(now);
    return true;
  }
  const bool alive = IsSending(back_state_.Read(now - 1, qpn)) && dead_.Read(now - 1, qpn) == 0;
  if (!alive && !entry.first) {
    // The rest of a message whose record failed or flushes.
    PopEntry(now);
    return true;
  }
  if (record_) return false;
  spec::SendRecord record = entry.record;
  record.amends = !entry.first;
  if (!alive) {
    record.status = IbWcStatus::kWrFlushErr;
    record.vendor_err = 0;
  } else if (record.status == IbWcStatus::kSuccess && entry.placed &&
             memory_place_in.front().status != MemoryStatus::kOk) {
    // [IBTA vol. 1, 11.6.2: local protection error]
    record.status = IbWcStatus::kLocProtErr;
    record.vendor_err = static_cast<uint32_t>(MemoryError(memory_place_in.front().status));
  }
  const bool fails = record.status != IbWcStatus::kSuccess;
  if (entry.first || fails) record_ = record;
  if (!fails) {
    back_ = Back::kJob;
    return true;
  }
  dead_.Write(now, qpn, 1);
  if (record.status == IbWcStatus::kWrFlushErr) {
    // Whoever put the QP into ERR, or stopped its queue, has said so.
    PopEntry(now);
  } else {
    code_ = record.vendor_err;
    back_ = Back::kFail;
  }
  return true;
}

bool Requester::IsIdle() const {
  return front_ == Front::kIdle && work_request_in.size() == 0 && load_in.size() == 0 && entries_.size() == 0 &&
         !check_ && !record_ && !job_ && !failure_;
}

}  // namespace vireo::model
