// SPDX-License-Identifier: Apache-2.0
// ibv_wr_*: work requests built between wr_start and wr_complete, which posts all of them or none.
#include <algorithm>
#include <cstring>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

// The work request being built; null after an error, which wr_complete reports.
WorkRequest* Current(Qp& qp) {
  if (qp.work_error != 0) return nullptr;
  if (qp.work_count == 0) {
    qp.work_error = EINVAL;
    return nullptr;
  }
  return &qp.work[qp.work_count - 1];
}

WorkRequest* Begin(ibv_qp_ex* ex, spec::IbWrOpcode opcode) {
  Qp& qp = Of(ex);
  if (qp.work_error != 0) return nullptr;
  constexpr unsigned int kFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
  if ((ex->wr_flags & ~(kFlags | IBV_SEND_INLINE)) != 0) {
    qp.work_error = EINVAL;
    return nullptr;
  }
  if (qp.work_count == qp.work.size()) qp.work.emplace_back();
  WorkRequest& work = qp.work[qp.work_count++];
  // Inline data is selected by wr_set_inline_data, not by the flag.
  work.request = {.wr_id = ex->wr_id, .opcode = opcode, .flags = static_cast<uint8_t>(ex->wr_flags & kFlags)};
  work.sg_list.clear();
  work.inline_data.clear();
  return &work;
}

void SetImm(WorkRequest* work, __be32 imm_data) {
  if (work != nullptr) std::memcpy(work->request.imm_data, &imm_data, sizeof imm_data);
}

void SetRemote(WorkRequest* work, uint32_t rkey, uint64_t address) {
  if (work == nullptr) return;
  work->request.rkey = rkey;
  work->request.remote_addr = address;
}

void SetAtomic(WorkRequest* work, uint32_t rkey, uint64_t address, uint64_t compare_add, uint64_t swap) {
  SetRemote(work, rkey, address);
  if (work == nullptr) return;
  work->request.compare_add = compare_add;
  work->request.swap = swap;
}

void AddInline(Qp& qp, const void* data, size_t bytes) {
  WorkRequest* work = Current(qp);
  if (work == nullptr) return;
  const bool has_no_data =
      work->request.opcode == spec::IbWrOpcode::kRdmaRead || work->request.opcode == spec::IbWrOpcode::kLocalInv ||
      work->request.opcode == spec::IbWrOpcode::kBindMw || work->request.opcode == spec::IbWrOpcode::kAtomicCmpAndSwp ||
      work->request.opcode == spec::IbWrOpcode::kAtomicFetchAndAdd ||
      work->request.opcode == spec::IbWrOpcode::kAtomicWrite;
  if (has_no_data || bytes > qp.init.cap.max_inline_data - work->inline_data.size()) {
    qp.work_error = EINVAL;
    return;
  }
  work->request.flags |= spec::IbSendFlags::kInline;
  const auto* begin = static_cast<const uint8_t*>(data);
  work->inline_data.insert(work->inline_data.end(), begin, begin + bytes);
}

int Complete(Qp& qp) {
  if (qp.work_error != 0) return qp.work_error;
  const ibv_qp_state state = qp.ex.qp_base.state;
  if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR) return EINVAL;
  Result<size_t> room = qp.impl->SendRoom();
  if (!room.ok()) return ErrnoOf(room.error());
  if (*room < qp.work_count) return ENOMEM;
  const bool is_datagram = qp.init.qp_type == IBV_QPT_UD;
  for (const WorkRequest& work : std::span(qp.work).first(qp.work_count)) {
    if (work.sg_list.size() > qp.init.cap.max_send_sge || (is_datagram && work.request.ah == nullptr)) return EINVAL;
  }
  for (WorkRequest& work : std::span(qp.work).first(qp.work_count)) {
    work.request.sg_list = work.sg_list;
    work.request.inline_data = work.inline_data;
    if (Status posted = qp.impl->PostSend(work.request); !posted.ok()) return ErrnoOf(posted.error());
  }
  return 0;
}

}  // namespace

void SetWrApi(Qp& qp) {
  qp.has_wr_api = true;
  ibv_qp_ex& ex = qp.ex;
  ex.wr_start = [](ibv_qp_ex* current) {
    Qp& ours = Of(current);
    ours.building = std::unique_lock(ours.send);
    ours.work_count = 0;
    ours.work_error = ours.context().IsOwnedByThisProcess() ? 0 : EIO;
  };
  ex.wr_complete = [](ibv_qp_ex* current) {
    std::unique_lock<std::mutex> guard = std::move(Of(current).building);
    Of(current).context().shared->CountCall();
    return Complete(Of(current));
  };
  ex.wr_abort = [](ibv_qp_ex* current) { std::unique_lock<std::mutex> guard = std::move(Of(current).building); };

  ex.wr_send = [](ibv_qp_ex* current) { static_cast<void>(Begin(current, spec::IbWrOpcode::kSend)); };
  ex.wr_send_imm = [](ibv_qp_ex* current, __be32 imm_data) {
    SetImm(Begin(current, spec::IbWrOpcode::kSendWithImm), imm_data);
  };
  ex.wr_set_sge = [](ibv_qp_ex* current, uint32_t lkey, uint64_t address, uint32_t bytes) {
    WorkRequest* work = Current(Of(current));
    if (work != nullptr) work->sg_list.assign(1, {.addr = address, .length = bytes, .lkey = lkey});
  };
  ex.wr_set_sge_list = [](ibv_qp_ex* current, size_t count, const ibv_sge* list) {
    WorkRequest* work = Current(Of(current));
    if (work == nullptr) return;
    work->sg_list.clear();
    for (const ibv_sge& sge : std::span(list, count)) {
      work->sg_list.push_back({.addr = sge.addr, .length = sge.length, .lkey = sge.lkey});
    }
  };
  ex.wr_set_inline_data = [](ibv_qp_ex* current, void* data, size_t bytes) { AddInline(Of(current), data, bytes); };
  ex.wr_set_inline_data_list = [](ibv_qp_ex* current, size_t count, const ibv_data_buf* list) {
    for (const ibv_data_buf& buffer : std::span(list, count)) AddInline(Of(current), buffer.addr, buffer.length);
  };
  if (qp.init.qp_type == IBV_QPT_UD) {
    ex.wr_set_ud_addr = [](ibv_qp_ex* current, ibv_ah* ah, uint32_t qpn, uint32_t qkey) {
      WorkRequest* work = Current(Of(current));
      if (work == nullptr) return;
      work->request.ah = ah == nullptr ? nullptr : Of(ah).impl.get();
      work->request.remote_qpn = qpn;
      work->request.remote_qkey = qkey;
    };
    return;
  }
  ex.wr_rdma_write = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address) {
    SetRemote(Begin(current, spec::IbWrOpcode::kRdmaWrite), rkey, address);
  };
  ex.wr_rdma_write_imm = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address, __be32 imm_data) {
    WorkRequest* work = Begin(current, spec::IbWrOpcode::kRdmaWriteWithImm);
    SetRemote(work, rkey, address);
    SetImm(work, imm_data);
  };
  if (qp.init.qp_type != IBV_QPT_RC) return;
  ex.wr_rdma_read = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address) {
    SetRemote(Begin(current, spec::IbWrOpcode::kRdmaRead), rkey, address);
  };
  if (qp.context().device->has_invalidation()) {
    ex.wr_send_inv = [](ibv_qp_ex* current, uint32_t rkey) {
      WorkRequest* work = Begin(current, spec::IbWrOpcode::kSendWithInv);
      if (work != nullptr) work->request.invalidate_rkey = rkey;
    };
    ex.wr_local_inv = [](ibv_qp_ex* current, uint32_t rkey) {
      WorkRequest* work = Begin(current, spec::IbWrOpcode::kLocalInv);
      if (work != nullptr) work->request.invalidate_rkey = rkey;
    };
  }
  if (qp.context().device->has_windows()) {
    ex.wr_bind_mw = [](ibv_qp_ex* current, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info* info) {
      WorkRequest* work = Begin(current, spec::IbWrOpcode::kBindMw);
      if (work == nullptr) return;
      if (int error = SetBind(Of(current), *mw, rkey, *info, work->request); error != 0) Of(current).work_error = error;
    };
  }
  if (qp.context().device->has_atomic_write()) {
    ex.wr_atomic_write = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address, const void* value) {
      uint8_t bytes[spec::kAtomicBytes];
      std::memcpy(bytes, value, sizeof bytes);
      uint64_t operand = 0;  // what the device stores with its lowest byte first
      for (size_t i = 0; i < sizeof bytes; ++i) operand |= uint64_t{bytes[i]} << 8 * i;
      SetAtomic(Begin(current, spec::IbWrOpcode::kAtomicWrite), rkey, address, operand, 0);
    };
  }
  if (!qp.context().device->has_atomics()) return;
  ex.wr_atomic_cmp_swp = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address, uint64_t compare, uint64_t swap) {
    SetAtomic(Begin(current, spec::IbWrOpcode::kAtomicCmpAndSwp), rkey, address, compare, swap);
  };
  ex.wr_atomic_fetch_add = [](ibv_qp_ex* current, uint32_t rkey, uint64_t address, uint64_t add) {
    SetAtomic(Begin(current, spec::IbWrOpcode::kAtomicFetchAndAdd), rkey, address, add, 0);
  };
}

}  // namespace vireo::ibverbs
