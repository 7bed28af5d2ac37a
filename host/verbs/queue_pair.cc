// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/queue_pair.h"

#include <algorithm>
#include <string>
#include <utility>

namespace vireo::verbs {

using Mask = spec::IbQpAttrMask;

namespace {

using Opcode = spec::IbWrOpcode;

bool IsInline(const SendRequest& request) { return (request.flags & spec::IbSendFlags::kInline) != 0; }

bool IsAtomic(Opcode opcode) { return opcode == Opcode::kAtomicCmpAndSwp || opcode == Opcode::kAtomicFetchAndAdd; }

bool HasOperands(Opcode opcode) { return IsAtomic(opcode) || opcode == Opcode::kAtomicWrite; }

bool Invalidates(Opcode opcode) { return opcode == Opcode::kSendWithInv || opcode == Opcode::kLocalInv; }

bool NeedsRemoteAddress(Opcode opcode) {
  return opcode == Opcode::kRdmaWrite || opcode == Opcode::kRdmaWriteWithImm || opcode == Opcode::kRdmaRead ||
         HasOperands(opcode) || opcode == Opcode::kFlush;
}

// Also of a handle that is none: the device reports it.
uint32_t HandleOf(const SendRequest& request) { return request.ah == nullptr ? ~uint32_t{0} : request.ah->handle(); }

void EncodeImmediate(const SendRequest& request, uint8_t (&to)[spec::Immdt::kBytes]) {
  std::copy(std::begin(request.imm_data), std::end(request.imm_data), std::begin(to));
  if (Invalidates(request.opcode)) spec::Ieth{.rkey = request.invalidate_rkey}.Encode(to);
}

// What a work request takes before its elements, which come in addition.
size_t FixedBytes(bool is_extensible, const QueuePairOptions& options) {
  if (!is_extensible) return spec::RdmaSqReq::kBytes;
  constexpr size_t kWithList = spec::RdmaSqBase::kBytes + spec::RdmaSqRdma::kBytes + spec::RdmaSqAtomic::kBytes;
  constexpr size_t kWithData = spec::RdmaSqBase::kBytes + std::max(spec::RdmaSqRdma::kBytes, spec::RdmaSqUd::kBytes);
  return std::max<size_t>(kWithList, kWithData + options.max_inline_data);
}

}  // namespace

Result<std::shared_ptr<QueuePair>> QueuePair::Create(std::shared_ptr<ProtectionDomain> pd,
                                                     const QueuePairOptions& options) {
  if (options.send_cq == nullptr || options.recv_cq == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "a queue pair needs two completion queues"};
  }
  host::RoceDevice& base = pd->device().base();
  const spec::RdmaCmdCreateQp request{.pdn = pd->pdn(),
                                      .qp_type = options.type,
                                      .sq_sig_all = options.signal_all,
                                      .has_srq = static_cast<uint8_t>(options.srq != nullptr),
                                      .send_cqn = options.send_cq->cqn(),
                                      .recv_cqn = options.recv_cq->cqn(),
                                      .cap = {.max_send_wr = options.max_send_wr,
                                              .max_recv_wr = options.max_recv_wr,
                                              .max_send_sge = options.max_send_sge,
                                              .max_recv_sge = options.max_recv_sge,
                                              .max_inline_data = options.max_inline_data},
                                      .srqn = options.srq == nullptr ? 0 : options.srq->srqn()};
  Result<uint32_t> qpn = base.roce().CreateQp(request);
  if (!qpn.ok()) return qpn.error();
  // From here on the destructor cleans up.
  std::shared_ptr<QueuePair> qp(new QueuePair(std::move(pd), options, *qpn));
  Result<uint16_t> send = base.SendQueueIndex(*qpn);
  if (!send.ok()) return send.error();
  Result<uint16_t> receive = base.ReceiveQueueIndex(*qpn);
  if (!receive.ok()) return receive.error();
  Device& device = qp->pd_->device();
  Status opened =
      qp->send_.Open(device, *send, options.max_send_wr, options.max_send_sge, FixedBytes(qp->is_extensible_, options));
  if (opened.ok() && options.srq == nullptr) {
    opened = qp->recv_.Open(device, *receive, options.max_recv_wr, options.max_recv_sge, spec::RdmaRqReq::kBytes);
  }
  if (!opened.ok()) return opened.error();
  if (qp->is_extensible_ && options.push) qp->send_.max_push = device.max_push();
  return qp;
}

QueuePair::~QueuePair() {
  Device& device = pd_->device();
  while (is_attached()) {
    static_cast<void>(device.base().roce().DetachMcast(qpn_, groups_.back()));  // if it is refused, so is the next
    groups_.pop_back();
  }
  const Status destroyed = device.base().roce().DestroyQp(qpn_);
  device.Close(std::move(send_.work), destroyed);
  device.Close(std::move(recv_.work), destroyed);
}

Status QueuePair::Attach(const Group& group) {
  if (pd_->device().attributes().max_mcast_attach == 0) {
    return Error{ErrorCode::kUnsupported, "the device receives no multicast"};
  }
  Status attached = pd_->device().base().roce().AttachMcast(qpn_, group);
  if (attached.ok() && std::ranges::find(groups_, group) == groups_.end()) groups_.push_back(group);
  return attached;
}

Status QueuePair::Detach(const Group& group) {
  if (pd_->device().attributes().max_mcast_attach == 0) {
    return Error{ErrorCode::kUnsupported, "the device receives no multicast"};
  }
  Status detached = pd_->device().base().roce().DetachMcast(qpn_, group);
  if (detached.ok()) std::erase(groups_, group);
  return detached;
}

Status QueuePair::Modify(spec::RdmaCmdModifyQp attributes, uint32_t attr_mask) {
  attributes.qpn = qpn_;
  attributes.attr_mask = attr_mask;
  Status modified = pd_->device().base().roce().ModifyQp(attributes);
  if (!modified.ok() || (attr_mask & Mask::kState) == 0 || attributes.qp_state != spec::IbQpState::kReset) {
    return modified;
  }
  // The device has released both queues, and reads nothing from them until they are reset.
  Device& device = pd_->device();
  Status reopened = send_.Reopen(device);
  return reopened.ok() ? recv_.Reopen(device) : reopened;
}

Result<spec::RdmaAckQueryQp> QueuePair::Query() { return pd_->device().base().roce().QueryQp(qpn_, 0); }

Status QueuePair::Connect(const Connection& connection) {
  const bool reliable = type_ == spec::IbQpType::kRc;
  Status status = Modify({.qp_state = spec::IbQpState::kInit, .qp_access_flags = connection.access},
                         Mask::kState | Mask::kAccessFlags);
  if (!status.ok()) return status;
  status = Modify({.qp_state = spec::IbQpState::kRtr,
                   .path_mtu = connection.path_mtu,
                   .max_dest_rd_atomic = connection.max_dest_rd_atomic,
                   .min_rnr_timer = connection.min_rnr_timer,
                   .rq_psn = connection.remote_psn,
                   .dest_qp_num = connection.dest_qpn,
                   .ah_attr = connection.path},
                  Mask::kState | Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn |
                      (reliable ? Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer : 0));
  if (!status.ok()) return status;
  return Modify({.qp_state = spec::IbQpState::kRts,
                 .max_rd_atomic = connection.max_rd_atomic,
                 .timeout = connection.timeout,
                 .retry_cnt = connection.retry_cnt,
                 .rnr_retry = connection.rnr_retry,
                 .sq_psn = connection.local_psn},
                Mask::kState | Mask::kSqPsn |
                    (reliable ? Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic : 0));
}

Status QueuePair::Start(const Datagrams& datagrams) {
  Status status = Modify({.qp_state = spec::IbQpState::kInit, .qkey = datagrams.qkey}, Mask::kState | Mask::kQkey);
  if (!status.ok()) return status;
  status = Modify({.qp_state = spec::IbQpState::kRtr}, Mask::kState);
  if (!status.ok()) return status;
  return Modify({.qp_state = spec::IbQpState::kRts, .sq_psn = datagrams.local_psn}, Mask::kState | Mask::kSqPsn);
}

Result<size_t> QueuePair::SendRoom() {
  if (Status reclaimed = send_.Reclaim(); !reclaimed.ok()) return reclaimed.error();
  return send_.free_slots.size();
}

Status QueuePair::PostSend(const SendRequest& request) {
  if (IsAtomic(request.opcode) && !pd_->device().has_atomics()) {
    return Error{ErrorCode::kUnsupported, "the device has no atomic operations"};
  }
  if (request.opcode == Opcode::kAtomicWrite && !pd_->device().has_atomic_write()) {
    return Error{ErrorCode::kUnsupported, "the device has no ATOMIC WRITE"};
  }
  if (request.opcode == Opcode::kFlush &&
      (pd_->device().attributes().flush == 0 || !pd_->device().has_flush(request.flush_placement))) {
    return Error{ErrorCode::kUnsupported, "the device has no FLUSH with this placement"};
  }
  if (Invalidates(request.opcode) && !pd_->device().has_invalidation()) {
    return Error{ErrorCode::kUnsupported, "the device ends no regions by work requests"};
  }
  if (request.opcode == Opcode::kBindMw && !pd_->device().has_windows()) {
    return Error{ErrorCode::kUnsupported, "the device has no memory windows"};
  }
  const bool registers = request.opcode == Opcode::kRegMr;
  if (registers && pd_->device().max_fast_pages() == 0) {
    return Error{ErrorCode::kUnsupported, "the device registers no memory by work requests"};
  }
  const bool is_inline = IsInline(request);
  const size_t elements = request.sg_list.size() + (registers ? (request.pages.size() + 1) / 2 : 0);
  if (is_inline ? request.inline_data.size() > max_inline_data_ : elements > send_.max_sge) {
    return Error{ErrorCode::kInvalidArgument, "QP " + std::to_string(qpn_) + ": more " +
                                                  (is_inline ? "inline data" : "elements") +
                                                  " than a work request of this QP may have"};
  }
  Result<host::Token> slot = send_.TakeSlot(owner(), "send");
  if (!slot.ok()) return slot.error();

  uint8_t* const bytes = send_.work->memory->data() + *slot * send_.slot_bytes;
  return send_.Post(*slot, is_extensible_ ? EncodeExtensible(request, bytes) : EncodeFixed(request, bytes));
}

// The list at bytes + count, or the pages of a registration in its place; returns where it ends.
size_t QueuePair::EncodeElements(const SendRequest& request, uint8_t* bytes, size_t count) {
  for (const spec::RdmaSge& sge : request.sg_list) {
    sge.Encode(bytes + count);
    count += spec::RdmaSge::kBytes;
  }
  if (request.opcode != Opcode::kRegMr) return count;
  for (size_t i = 0; i < request.pages.size(); i += 2) {
    const bool has_second = i + 1 < request.pages.size();
    spec::RdmaPagePair{.first = request.pages[i], .second = has_second ? request.pages[i + 1] : 0}.Encode(bytes +
                                                                                                          count);
    count += spec::RdmaPagePair::kBytes;
  }
  return count;
}

// The RFC's format.
size_t QueuePair::EncodeFixed(const SendRequest& request, uint8_t* bytes) const {
  spec::RdmaSqReq wqe{.wr_id = request.wr_id, .opcode = request.opcode, .send_flags = request.flags};
  EncodeImmediate(request, wqe.imm_data);
  if (IsDatagram()) {
    spec::RdmaSqReqUd{.remote_qpn = request.remote_qpn, .remote_qkey = request.remote_qkey, .ah = HandleOf(request)}
        .Encode(wqe.wr);
  } else if (HasOperands(request.opcode)) {
    spec::RdmaSqReqAtomic{.remote_addr = request.remote_addr,
                          .compare_add = request.compare_add,
                          .swap = request.swap,
                          .rkey = request.rkey}
        .Encode(wqe.wr);
  } else if (request.opcode == Opcode::kBindMw) {
    spec::RdmaSqReqBind{.addr = request.bind_address,
                        .length = request.bind_length,
                        .access_flags = request.bind_access,
                        .rkey = request.rkey,
                        .lkey = request.bind_lkey}
        .Encode(wqe.wr);
  } else if (request.opcode == Opcode::kRegMr) {
    spec::RdmaSqReqReg{.virt_addr = request.bind_address,
                       .length = request.bind_length,
                       .access_flags = request.bind_access,
                       .key = request.rkey,
                       .page_shift = request.page_shift}
        .Encode(wqe.wr);
  } else if (request.opcode == Opcode::kFlush) {
    spec::RdmaSqReqFlush{.remote_addr = request.remote_addr,
                         .length = request.flush_length,
                         .placement = request.flush_placement,
                         .selectivity = static_cast<uint8_t>(request.flush_selectivity),
                         .rkey = request.rkey}
        .Encode(wqe.wr);
  } else {
    spec::RdmaSqReqRdma{.remote_addr = request.remote_addr, .rkey = request.rkey}.Encode(wqe.wr);
  }
  size_t count = spec::RdmaSqReq::kBytes;
  if (IsInline(request)) {
    std::copy(request.inline_data.begin(), request.inline_data.end(), std::begin(wqe.inline_data));
    spec::RdmaSqReqInlineLen{.inline_len = static_cast<uint16_t>(request.inline_data.size())}.Encode(wqe.size);
  } else {
    const size_t end = EncodeElements(request, bytes, count);
    spec::RdmaSqReqNumSge{.num_sge = static_cast<uint32_t>((end - count) / spec::RdmaSge::kBytes)}.Encode(wqe.size);
    count = end;
  }
  wqe.Encode(bytes);
  return count;
}

// Base and elements, in the order of the elements' bits.
size_t QueuePair::EncodeExtensible(const SendRequest& request, uint8_t* bytes) const {
  using Element = spec::RdmaSqElement;
  spec::RdmaSqBase base{
      .wr_id = request.wr_id, .opcode = request.opcode, .send_flags = request.flags, .version = spec::kRdmaSqVersion};
  EncodeImmediate(request, base.imm_data);
  size_t count = spec::RdmaSqBase::kBytes;
  if (NeedsRemoteAddress(request.opcode) && !IsDatagram()) {
    base.elements |= Element::kRdma;
    spec::RdmaSqRdma{.remote_addr = request.remote_addr, .rkey = request.rkey}.Encode(bytes + count);
    count += spec::RdmaSqRdma::kBytes;
  }
  if (IsDatagram()) {
    base.elements |= Element::kUd;
    spec::RdmaSqUd{.remote_qpn = request.remote_qpn, .remote_qkey = request.remote_qkey, .ah = HandleOf(request)}
        .Encode(bytes + count);
    count += spec::RdmaSqUd::kBytes;
  }
  if (HasOperands(request.opcode) && !IsDatagram()) {
    base.elements |= Element::kAtomic;
    spec::RdmaSqAtomic{.compare_add = request.compare_add, .swap = request.swap}.Encode(bytes + count);
    count += spec::RdmaSqAtomic::kBytes;
  }
  if (request.opcode == Opcode::kBindMw && !IsDatagram()) {
    base.elements |= Element::kRdma | Element::kAtomic;
    spec::RdmaSqBind{.addr = request.bind_address, .rkey = request.rkey, .lkey = request.bind_lkey}.Encode(bytes +
                                                                                                           count);
    count += spec::RdmaSqBind::kBytes;
    spec::RdmaSqBindRange{.length = request.bind_length, .access_flags = request.bind_access}.Encode(bytes + count);
    count += spec::RdmaSqBindRange::kBytes;
  }
  if (request.opcode == Opcode::kRegMr && !IsDatagram()) {
    base.elements |= Element::kRdma | Element::kAtomic;
    spec::RdmaSqReg{.virt_addr = request.bind_address, .key = request.rkey, .page_shift = request.page_shift}.Encode(
        bytes + count);
    count += spec::RdmaSqReg::kBytes;
    spec::RdmaSqBindRange{.length = request.bind_length, .access_flags = request.bind_access}.Encode(bytes + count);
    count += spec::RdmaSqBindRange::kBytes;
  }
  if (request.opcode == Opcode::kFlush && !IsDatagram()) {
    base.elements |= Element::kAtomic;
    spec::RdmaSqFlush{.length = request.flush_length,
                      .placement = request.flush_placement,
                      .selectivity = static_cast<uint8_t>(request.flush_selectivity)}
        .Encode(bytes + count);
    count += spec::RdmaSqFlush::kBytes;
  }
  if (IsInline(request)) {
    base.elements |= Element::kInlineData;
    std::copy(request.inline_data.begin(), request.inline_data.end(), bytes + count);
    count += request.inline_data.size();
  } else if (const size_t end = EncodeElements(request, bytes, count); end != count) {
    base.elements |= Element::kSgList;
    count = end;
  }
  base.Encode(bytes);
  return count;
}

Status QueuePair::PostRecv(const RecvRequest& request) {
  if (srq_ != nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "QP " + std::to_string(qpn_) + ": its receives are posted to its shared receive queue"};
  }
  return recv_.PostRecv(owner(), request);
}

}  // namespace vireo::verbs
