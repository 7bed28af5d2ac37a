// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/queue_pair.h"

#include <algorithm>
#include <string>
#include <utility>

namespace vireo::verbs {

using Mask = spec::IbQpAttrMask;

Result<std::shared_ptr<QueuePair>> QueuePair::Create(std::shared_ptr<ProtectionDomain> pd,
                                                     const QueuePairOptions& options) {
  if (options.send_cq == nullptr || options.recv_cq == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "a queue pair needs two completion queues"};
  }
  host::RoceDevice& base = pd->device().base();
  const spec::RdmaCmdCreateQp request{.pdn = pd->pdn(),
                                      .qp_type = options.type,
                                      .sq_sig_all = options.signal_all,
                                      .send_cqn = options.send_cq->cqn(),
                                      .recv_cqn = options.recv_cq->cqn(),
                                      .cap = {.max_send_wr = options.max_send_wr,
                                              .max_recv_wr = options.max_recv_wr,
                                              .max_send_sge = options.max_send_sge,
                                              .max_recv_sge = options.max_recv_sge,
                                              .max_inline_data = options.max_inline_data}};
  Result<uint32_t> qpn = base.roce().CreateQp(request);
  if (!qpn.ok()) return qpn.error();
  // From here on the destructor cleans up.
  std::shared_ptr<QueuePair> qp(new QueuePair(std::move(pd), options, *qpn));
  Result<uint16_t> send = base.SendQueueIndex(*qpn);
  if (!send.ok()) return send.error();
  Result<uint16_t> receive = base.ReceiveQueueIndex(*qpn);
  if (!receive.ok()) return receive.error();
  Status opened = qp->Open(qp->send_, *send, options.max_send_wr, options.max_send_sge, spec::RdmaSqReq::kBytes);
  if (opened.ok()) {
    opened = qp->Open(qp->recv_, *receive, options.max_recv_wr, options.max_recv_sge, spec::RdmaRqReq::kBytes);
  }
  if (!opened.ok()) return opened.error();
  return qp;
}

Status QueuePair::Open(Half& half, uint16_t index, uint32_t entries, uint32_t max_sge, size_t fixed_bytes) {
  half.entries = entries;
  half.max_sge = max_sge;
  if (entries == 0) return {};  // never posted to; the device needs no virtqueue then
  Device& device = pd_->device();
  Result<host::Queue> queue = device.OpenQueue(index, entries, std::nullopt);
  if (!queue.ok()) return queue.error();
  half.work.emplace(Device::WorkQueue{.queue = std::move(queue).value(), .memory = nullptr});
  constexpr size_t kAlignment = 64;
  half.slot_bytes = (fixed_bytes + max_sge * spec::RdmaSge::kBytes + kAlignment - 1) / kAlignment * kAlignment;
  Result<host::DmaBuffer> memory = device.function().AllocateDma(entries * half.slot_bytes, kAlignment);
  if (!memory.ok()) return memory.error();
  half.work->memory = std::move(memory).value();
  for (host::Token slot = entries; slot-- > 0;) half.free_slots.push_back(slot);
  return {};
}

QueuePair::~QueuePair() {
  Device& device = pd_->device();
  const Status destroyed = device.base().roce().DestroyQp(qpn_);
  device.Close(std::move(send_.work), destroyed);
  device.Close(std::move(recv_.work), destroyed);
}

Status QueuePair::Modify(spec::RdmaCmdModifyQp attributes, uint32_t attr_mask) {
  attributes.qpn = qpn_;
  attributes.attr_mask = attr_mask;
  Status modified = pd_->device().base().roce().ModifyQp(attributes);
  if (!modified.ok() || (attr_mask & Mask::kState) == 0 || attributes.qp_state != spec::IbQpState::kReset) {
    return modified;
  }
  // The device has released both queues, and reads nothing from them until they are reset.
  Status reopened = Reopen(send_);
  return reopened.ok() ? Reopen(recv_) : reopened;
}

Status QueuePair::Reopen(Half& half) {
  if (!half.work.has_value()) return {};
  Device& device = pd_->device();
  const uint16_t index = half.work->queue.index;
  Result<std::vector<host::Token>> stopped = device.base().StopQueue(half.work->queue, false);
  // In rfc-v2 without ring_reset the command has reset the queue.
  if (!stopped.ok() && stopped.error().code == ErrorCode::kUnsupported) {
    stopped = device.base().StopQueue(half.work->queue, true);
  }
  if (!stopped.ok()) return stopped.error();
  Result<host::Queue> queue = device.OpenQueue(index, half.entries, std::nullopt);
  if (!queue.ok()) return queue.error();
  half.work->queue = std::move(queue).value();
  half.free_slots.clear();
  for (host::Token slot = half.entries; slot-- > 0;) half.free_slots.push_back(slot);
  return {};
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

Status QueuePair::Reclaim(Half& half) {
  while (half.work.has_value()) {
    Result<std::optional<host::UsedBuffer>> used = half.work->queue.ring->Harvest();
    if (!used.ok()) return used.error();
    if (!used->has_value()) break;
    half.free_slots.push_back((*used)->token);
  }
  return {};
}

Result<size_t> QueuePair::SendRoom() {
  if (Status reclaimed = Reclaim(send_); !reclaimed.ok()) return reclaimed.error();
  return send_.free_slots.size();
}

Result<host::Token> QueuePair::TakeSlot(Half& half, const char* what) {
  if (half.free_slots.empty()) {
    if (Status reclaimed = Reclaim(half); !reclaimed.ok()) return reclaimed.error();
  }
  if (half.free_slots.empty()) {
    return Error{ErrorCode::kNoSpace,
                 "QP " + std::to_string(qpn_) + ": all " + what + " work requests are outstanding"};
  }
  const host::Token slot = half.free_slots.back();
  half.free_slots.pop_back();
  return slot;
}

Status QueuePair::Post(Half& half, host::Token slot, size_t bytes) {
  const host::Segment segment{.address = half.work->memory->address() + slot * half.slot_bytes,
                              .bytes = static_cast<uint32_t>(bytes)};
  if (Status added = half.work->queue.ring->Add({&segment, 1}, {}, slot); !added.ok()) {
    half.free_slots.push_back(slot);
    return added;
  }
  half.work->queue.Kick();
  return {};
}

Status QueuePair::PostSend(const SendRequest& request) {
  const bool is_atomic =
      request.opcode == spec::IbWrOpcode::kAtomicCmpAndSwp || request.opcode == spec::IbWrOpcode::kAtomicFetchAndAdd;
  if (is_atomic && !pd_->device().has_atomics()) {
    return Error{ErrorCode::kUnsupported, "the device has no atomic operations"};
  }
  const bool is_inline = (request.flags & spec::IbSendFlags::kInline) != 0;
  if (is_inline ? request.inline_data.size() > max_inline_data_ : request.sg_list.size() > send_.max_sge) {
    return Error{ErrorCode::kInvalidArgument, "QP " + std::to_string(qpn_) + ": more " +
                                                  (is_inline ? "inline data" : "elements") +
                                                  " than a work request of this QP may have"};
  }
  Result<host::Token> slot = TakeSlot(send_, "send");
  if (!slot.ok()) return slot.error();

  spec::RdmaSqReq wqe{.wr_id = request.wr_id, .opcode = request.opcode, .send_flags = request.flags};
  std::copy(std::begin(request.imm_data), std::end(request.imm_data), std::begin(wqe.imm_data));
  if (type_ == spec::IbQpType::kUd || type_ == spec::IbQpType::kGsi) {
    spec::RdmaSqReqUd{.remote_qpn = request.remote_qpn,
                      .remote_qkey = request.remote_qkey,
                      .ah = request.ah == nullptr ? ~uint32_t{0} : request.ah->handle()}
        .Encode(wqe.wr);
  } else if (is_atomic) {
    spec::RdmaSqReqAtomic{.remote_addr = request.remote_addr,
                          .compare_add = request.compare_add,
                          .swap = request.swap,
                          .rkey = request.rkey}
        .Encode(wqe.wr);
  } else {
    spec::RdmaSqReqRdma{.remote_addr = request.remote_addr, .rkey = request.rkey}.Encode(wqe.wr);
  }
  uint8_t* bytes = send_.work->memory->data() + *slot * send_.slot_bytes;
  size_t count = spec::RdmaSqReq::kBytes;
  if (is_inline) {
    std::copy(request.inline_data.begin(), request.inline_data.end(), std::begin(wqe.inline_data));
    spec::RdmaSqReqInlineLen{.inline_len = static_cast<uint16_t>(request.inline_data.size())}.Encode(wqe.size);
  } else {
    spec::RdmaSqReqNumSge{.num_sge = static_cast<uint32_t>(request.sg_list.size())}.Encode(wqe.size);
    for (const spec::RdmaSge& sge : request.sg_list) {
      sge.Encode(bytes + count);
      count += spec::RdmaSge::kBytes;
    }
  }
  wqe.Encode(bytes);
  return Post(send_, *slot, count);
}

Status QueuePair::PostRecv(const RecvRequest& request) {
  if (request.sg_list.size() > recv_.max_sge) {
    return Error{ErrorCode::kInvalidArgument,
                 "QP " + std::to_string(qpn_) + ": more elements than a work request of this QP may have"};
  }
  Result<host::Token> slot = TakeSlot(recv_, "receive");
  if (!slot.ok()) return slot.error();
  uint8_t* bytes = recv_.work->memory->data() + *slot * recv_.slot_bytes;
  spec::RdmaRqReq{.wr_id = request.wr_id, .num_sge = static_cast<uint32_t>(request.sg_list.size())}.Encode(bytes);
  size_t count = spec::RdmaRqReq::kBytes;
  for (const spec::RdmaSge& sge : request.sg_list) {
    sge.Encode(bytes + count);
    count += spec::RdmaSge::kBytes;
  }
  return Post(recv_, *slot, count);
}

}  // namespace vireo::verbs
