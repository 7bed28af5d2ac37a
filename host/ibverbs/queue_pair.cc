// SPDX-License-Identifier: Apache-2.0
// Queue pairs: creation, attributes, destruction, and posting of work request lists. ibv_wr_* is in wr_api.cc.
#include <algorithm>
#include <array>
#include <cstring>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

using Mask = spec::IbQpAttrMask;

bool IsAtomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool Invalidates(ibv_wr_opcode opcode) { return opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV; }

uint64_t SendOperations(const Context& context, ibv_qp_type type) {
  constexpr uint64_t kDatagram = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  const uint64_t unreliable = kDatagram | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                              (context.device->has_windows() ? IBV_QP_EX_WITH_BIND_MW : 0) |
                              (context.device->has_invalidation() ? IBV_QP_EX_WITH_LOCAL_INV : 0);
  switch (type) {
    case IBV_QPT_RC:
      return unreliable | IBV_QP_EX_WITH_RDMA_READ |
             (context.device->has_atomics() ? IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD
                                            : 0) |
             (context.device->has_atomic_write() ? IBV_QP_EX_WITH_ATOMIC_WRITE : 0) |
             (context.device->has_invalidation() ? IBV_QP_EX_WITH_SEND_WITH_INV : 0);
    case IBV_QPT_UC: return unreliable;
    default: return kDatagram;
  }
}

Qp* CreateQp(ibv_pd* pd, const ibv_qp_init_attr& init) {
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  if (init.srq != nullptr && init.srq->context != pd->context) return Null(EINVAL);
  if (init.qp_type != IBV_QPT_RC && init.qp_type != IBV_QPT_UC && init.qp_type != IBV_QPT_UD) return Null(EOPNOTSUPP);
  if (init.send_cq == nullptr || init.recv_cq == nullptr) return Null(EINVAL);
  static_assert(static_cast<int>(spec::IbQpType::kRc) == IBV_QPT_RC &&
                static_cast<int>(spec::IbQpType::kUd) == IBV_QPT_UD);
  auto qp = std::make_unique<Qp>();
  std::lock_guard guard(context.control);
  auto impl = Of(pd).impl->CreateQp({.type = static_cast<spec::IbQpType>(init.qp_type),
                                     .send_cq = Of(init.send_cq).impl,
                                     .recv_cq = Of(init.recv_cq).impl,
                                     .srq = init.srq == nullptr ? nullptr : Of(init.srq).impl,
                                     .max_send_wr = init.cap.max_send_wr,
                                     .max_recv_wr = init.cap.max_recv_wr,
                                     .max_send_sge = init.cap.max_send_sge,
                                     .max_recv_sge = init.cap.max_recv_sge,
                                     .max_inline_data = init.cap.max_inline_data,
                                     .signal_all = init.sq_sig_all != 0});
  if (!impl.ok()) return Null(impl.error());
  qp->impl = std::move(impl).value();
  qp->pd = PdUse(pd);
  qp->init = init;
  ibv_qp& base = qp->ex.qp_base;
  base.context = pd->context;
  base.qp_context = init.qp_context;
  base.pd = pd;
  base.send_cq = init.send_cq;
  base.recv_cq = init.recv_cq;
  base.srq = init.srq;
  base.handle = base.qp_num = qp->impl->qpn();
  base.state = IBV_QPS_RESET;
  base.qp_type = init.qp_type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  context.qps.emplace(base.qp_num, qp.get());
  return qp.release();
}

void Discard(Cq& cq, uint32_t qpn) {
  std::lock_guard guard(cq.lock);
  if (Status discarded = cq.impl->Discard(qpn); !discarded.ok()) Log(ToString(discarded.error()));
  cq.unnotified = std::min(cq.unnotified, cq.impl->buffered());
}

void DiscardCompletions(Cq* send_cq, Cq* recv_cq, uint32_t qpn) {
  Discard(*send_cq, qpn);
  if (recv_cq != send_cq) Discard(*recv_cq, qpn);
}

// Handles attributes that the device does not have, or that have a single valid value. 0 or an errno; the remaining
// `mask` is for the device.
int CheckFixedAttributes(const Qp& qp, const ibv_qp_attr& attributes, int& mask) {
  const bool begins =
      (mask & IBV_QP_STATE) != 0 && attributes.qp_state == IBV_QPS_INIT && qp.ex.qp_base.state == IBV_QPS_RESET;
  if (begins && (mask & (IBV_QP_PKEY_INDEX | IBV_QP_PORT)) != (IBV_QP_PKEY_INDEX | IBV_QP_PORT)) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attributes.pkey_index != 0) return EINVAL;
  if ((mask & IBV_QP_PORT) != 0 && attributes.port_num != kPort) return EINVAL;
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0 && attributes.path_mig_state != IBV_MIG_MIGRATED) return EOPNOTSUPP;
  if ((mask & (IBV_QP_ALT_PATH | IBV_QP_CAP)) != 0) return EOPNOTSUPP;
  // The device always reports a drained send queue.
  mask &= ~(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_PATH_MIG_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
  return 0;
}

constexpr struct {
  int verbs;
  uint32_t device;
} kMasks[] = {{IBV_QP_STATE, Mask::kState},
              {IBV_QP_CUR_STATE, Mask::kCurState},
              {IBV_QP_ACCESS_FLAGS, Mask::kAccessFlags},
              {IBV_QP_QKEY, Mask::kQkey},
              {IBV_QP_AV, Mask::kAv},
              {IBV_QP_PATH_MTU, Mask::kPathMtu},
              {IBV_QP_TIMEOUT, Mask::kTimeout},
              {IBV_QP_RETRY_CNT, Mask::kRetryCnt},
              {IBV_QP_RNR_RETRY, Mask::kRnrRetry},
              {IBV_QP_RQ_PSN, Mask::kRqPsn},
              {IBV_QP_MAX_QP_RD_ATOMIC, Mask::kMaxQpRdAtomic},
              {IBV_QP_MIN_RNR_TIMER, Mask::kMinRnrTimer},
              {IBV_QP_SQ_PSN, Mask::kSqPsn},
              {IBV_QP_MAX_DEST_RD_ATOMIC, Mask::kMaxDestRdAtomic},
              {IBV_QP_DEST_QPN, Mask::kDestQpn},
              {IBV_QP_RATE_LIMIT, Mask::kRateLimit}};

int Modify(Qp& qp, const ibv_qp_attr& in, int mask) {
  Context& context = qp.context();
  if (!context.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(context.control);
  if (int error = CheckFixedAttributes(qp, in, mask); error != 0) return error;
  uint32_t device_mask = 0;
  for (const auto& entry : kMasks) {
    if ((mask & entry.verbs) == 0) continue;
    device_mask |= entry.device;
    mask &= ~entry.verbs;
  }
  if (mask != 0) return EINVAL;
  spec::RdmaCmdModifyQp out{.qp_state = static_cast<spec::IbQpState>(in.qp_state),
                            .cur_qp_state = static_cast<spec::IbQpState>(in.cur_qp_state),
                            .path_mtu = static_cast<spec::IbMtu>(in.path_mtu),
                            .max_rd_atomic = in.max_rd_atomic,
                            .max_dest_rd_atomic = in.max_dest_rd_atomic,
                            // The field of an RNR NAK has five bits [IBTA vol. 1, table 45]: programs pass more, and
                            // the kernel's providers take the low ones, of this and of the 24-bit numbers below.
                            .min_rnr_timer = static_cast<uint8_t>(in.min_rnr_timer & 0x1f),
                            .timeout = in.timeout,
                            .retry_cnt = in.retry_cnt,
                            .rnr_retry = in.rnr_retry,
                            .qkey = in.qkey,
                            .rq_psn = in.rq_psn & 0xffffff,
                            .sq_psn = in.sq_psn & 0xffffff,
                            .dest_qp_num = in.dest_qp_num & 0xffffff,
                            .qp_access_flags = in.qp_access_flags & RemoteRights(context),
                            .rate_limit = in.rate_limit};
  if ((device_mask & Mask::kAv) != 0) {
    if (int error = ToAhAttr(context, in.ah_attr, out.ah_attr); error != 0) return error;
  }
  const bool changes = (device_mask & Mask::kState) != 0;
  const bool resets = changes && in.qp_state == IBV_QPS_RESET;
  std::unique_lock send(qp.send, std::defer_lock);
  std::unique_lock receive(qp.receive, std::defer_lock);
  if (resets) {
    send.lock();
    receive.lock();
  }
  if (Status modified = qp.impl->Modify(out, device_mask); !modified.ok()) return ErrnoOf(modified.error());
  ibv_qp& base = qp.ex.qp_base;
  if (changes) base.state = in.qp_state;
  if (resets) qp.context().datagrams.Forget(base.qp_num);
  if (resets) DiscardCompletions(&Of(base.send_cq), &Of(base.recv_cq), base.qp_num);
  return 0;
}

// Checks a send work request. 0 or an errno.
int CheckSend(const Qp& qp, const ibv_send_wr& request) {
  const ibv_qp& base = qp.ex.qp_base;
  if (base.state == IBV_QPS_RESET || base.state == IBV_QPS_INIT || base.state == IBV_QPS_RTR) return EINVAL;
  const bool is_atomic = IsAtomic(request.opcode);
  const bool invalidates = Invalidates(request.opcode);
  const bool binds = request.opcode == IBV_WR_BIND_MW;
  const bool is_local = binds || request.opcode == IBV_WR_LOCAL_INV;
  if (base.qp_type != IBV_QPT_RC && (is_local ? base.qp_type != IBV_QPT_UC : invalidates)) return EOPNOTSUPP;
  if (binds         ? !qp.context().device->has_windows()
      : is_atomic   ? !qp.context().device->has_atomics()
      : invalidates ? !qp.context().device->has_invalidation()
                    : request.opcode > IBV_WR_RDMA_READ) {
    return EOPNOTSUPP;
  }
  constexpr unsigned int kFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
  if ((request.send_flags & ~kFlags) != 0) return EINVAL;
  if ((request.send_flags & IBV_SEND_INLINE) != 0 && (is_atomic || binds || request.opcode == IBV_WR_RDMA_READ))
    return EINVAL;
  if (request.num_sge < 0) return EINVAL;
  if (base.qp_type == IBV_QPT_UD &&
      (request.wr.ud.ah == nullptr || (request.opcode != IBV_WR_SEND && request.opcode != IBV_WR_SEND_WITH_IMM))) {
    return EINVAL;
  }
  return 0;
}

spec::RdmaSge ToSge(const ibv_sge& sge) { return {.addr = sge.addr, .length = sge.length, .lkey = sge.lkey}; }

int PostOne(Qp& qp, const ibv_send_wr& request) {
  if (int error = CheckSend(qp, request); error != 0) return error;
  const std::span sges(request.sg_list, static_cast<size_t>(request.num_sge));
  verbs::SendRequest out{.wr_id = request.wr_id,
                         .opcode = static_cast<spec::IbWrOpcode>(request.opcode),
                         .flags = static_cast<uint8_t>(request.send_flags)};
  if (Invalidates(request.opcode)) {
    static_assert(static_cast<int>(spec::IbWrOpcode::kSendWithInv) == IBV_WR_SEND_WITH_INV &&
                  static_cast<int>(spec::IbWrOpcode::kLocalInv) == IBV_WR_LOCAL_INV);
    out.invalidate_rkey = request.invalidate_rkey;
  } else {
    std::memcpy(out.imm_data, &request.imm_data, sizeof out.imm_data);
  }
  if (request.opcode == IBV_WR_BIND_MW) {
    static_assert(static_cast<int>(spec::IbWrOpcode::kBindMw) == IBV_WR_BIND_MW);
    if (request.bind_mw.mw == nullptr) return EINVAL;
    if (int error = SetBind(qp, *request.bind_mw.mw, request.bind_mw.rkey, request.bind_mw.bind_info, out);
        error != 0) {
      return error;
    }
    Status posted = qp.impl->PostSend(out);
    return posted.ok() ? 0 : ErrnoOf(posted.error());
  }
  std::array<uint8_t, spec::kRdmaInlineBytes> data;
  std::array<spec::RdmaSge, 32> elements;
  if ((request.send_flags & IBV_SEND_INLINE) != 0) {
    size_t bytes = 0;
    for (const ibv_sge& sge : sges) {
      if (sge.length > data.size() - bytes) return EINVAL;
      if (sge.length == 0) continue;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): a program's address
      std::memcpy(data.data() + bytes, reinterpret_cast<const void*>(sge.addr), sge.length);
      bytes += sge.length;
    }
    out.inline_data = std::span(data).first(bytes);
  } else {
    if (sges.size() > elements.size()) return EINVAL;
    std::ranges::transform(sges, elements.begin(), ToSge);
    out.sg_list = std::span(elements).first(sges.size());
  }
  if (qp.ex.qp_base.qp_type == IBV_QPT_UD) {
    out.remote_qpn = request.wr.ud.remote_qpn;
    out.remote_qkey = request.wr.ud.remote_qkey;
    out.ah = Of(request.wr.ud.ah).impl.get();
  } else if (IsAtomic(request.opcode)) {
    out.remote_addr = request.wr.atomic.remote_addr;
    out.rkey = request.wr.atomic.rkey;
    out.compare_add = request.wr.atomic.compare_add;
    out.swap = request.wr.atomic.swap;
  } else {
    out.remote_addr = request.wr.rdma.remote_addr;
    out.rkey = request.wr.rdma.rkey;
  }
  Status posted = qp.impl->PostSend(out);
  return posted.ok() ? 0 : ErrnoOf(posted.error());
}

}  // namespace

int PostSend(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  Qp& ours = Of(qp);
  if (!ours.context().IsOwnedByThisProcess()) {
    *bad = request;
    return EIO;
  }
  ours.context().shared->CountCall();
  std::lock_guard guard(ours.send);
  for (; request != nullptr; request = request->next) {
    if (int error = PostOne(ours, *request); error != 0) {
      *bad = request;
      return error;
    }
  }
  return 0;
}

int PostRecv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  Qp& ours = Of(qp);
  *bad = request;
  if (!ours.context().IsOwnedByThisProcess()) return EIO;
  ours.context().shared->CountCall();
  std::lock_guard guard(ours.receive);
  const bool is_datagram = qp->qp_type == IBV_QPT_UD && qp->srq == nullptr;
  DatagramReceives& datagrams = ours.context().datagrams;
  std::array<spec::RdmaSge, 32> elements;
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (qp->state == IBV_QPS_RESET || request->num_sge < 0) return EINVAL;
    const std::span sges(request->sg_list, static_cast<size_t>(request->num_sge));
    if (sges.size() > elements.size()) return EINVAL;
    std::ranges::transform(sges, elements.begin(), ToSge);
    if (is_datagram) {
      const bool has_header = !sges.empty() && sges[0].length >= spec::kRdmaUdGrhBytes;
      datagrams.Add(qp->qp_num, request->wr_id, has_header ? sges[0].addr : 0, ours.init.cap.max_recv_wr);
    }
    Status posted = ours.impl->PostRecv({.wr_id = request->wr_id, .sg_list = std::span(elements).first(sges.size())});
    if (!posted.ok()) {
      if (is_datagram) datagrams.RemoveLast(qp->qp_num);
      return ErrnoOf(posted.error());
    }
  }
  return 0;
}

ibv_qp* CreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* init) {
  constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((init->comp_mask & ~kKnown) != 0) return Null(EOPNOTSUPP);
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || init->pd == nullptr || init->pd->context != context) {
    return Null(EINVAL);
  }
  if ((init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && init->create_flags != 0) return Null(EOPNOTSUPP);
  const bool has_wr_api = (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  // A missing operation would be a call through a null pointer.
  if (has_wr_api && (init->send_ops_flags & ~SendOperations(Of(context), init->qp_type)) != 0) return Null(EOPNOTSUPP);
  Qp* qp = CreateQp(init->pd, {.qp_context = init->qp_context,
                               .send_cq = init->send_cq,
                               .recv_cq = init->recv_cq,
                               .srq = init->srq,
                               .cap = init->cap,
                               .qp_type = init->qp_type,
                               .sq_sig_all = init->sq_sig_all});
  if (qp == nullptr) return nullptr;
  if (has_wr_api) SetWrApi(*qp);
  return &qp->ex.qp_base;
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  VIREO_PASS(ibv_create_qp, pd, init);
  Qp* qp = CreateQp(pd, *init);
  return qp == nullptr ? nullptr : &qp->ex.qp_base;
}

VIREO_API ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  VIREO_PASS(ibv_qp_to_qp_ex, qp);
  return Of(qp).has_wr_api ? &Of(qp).ex : nullptr;
}

VIREO_API int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  VIREO_PASS(ibv_modify_qp, qp, attributes, mask);
  return Modify(Of(qp), *attributes, mask);
}

VIREO_API int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) {
  VIREO_PASS(ibv_query_qp, qp, attributes, mask, init);
  Qp& ours = Of(qp);
  if (!ours.context().IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(ours.context().control);
  auto answer = ours.impl->Query();
  if (!answer.ok()) return ErrnoOf(answer.error());
  *attributes = {};
  qp->state = attributes->qp_state = attributes->cur_qp_state = static_cast<ibv_qp_state>(answer->qp_state);
  attributes->path_mtu = static_cast<ibv_mtu>(answer->path_mtu);
  attributes->path_mig_state = IBV_MIG_MIGRATED;
  attributes->qkey = answer->qkey;
  attributes->rq_psn = answer->rq_psn;
  attributes->sq_psn = answer->sq_psn;
  attributes->dest_qp_num = answer->dest_qp_num;
  attributes->qp_access_flags = answer->qp_access_flags;
  attributes->cap = ours.init.cap;
  FromAhAttr(answer->ah_attr, attributes->ah_attr);
  attributes->sq_draining = answer->sq_draining;
  attributes->max_rd_atomic = answer->max_rd_atomic;
  attributes->max_dest_rd_atomic = answer->max_dest_rd_atomic;
  attributes->min_rnr_timer = answer->min_rnr_timer;
  attributes->port_num = kPort;
  attributes->timeout = answer->timeout;
  attributes->retry_cnt = answer->retry_cnt;
  attributes->rnr_retry = answer->rnr_retry;
  attributes->rate_limit = answer->rate_limit;
  if (init != nullptr) *init = ours.init;
  return 0;
}

// The LID has no meaning on Ethernet.
VIREO_API int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  VIREO_PASS(ibv_attach_mcast, qp, gid, lid);
  Context& context = Of(qp).context();
  if (!context.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(context.control);
  Status attached = Of(qp).impl->Attach(std::to_array(gid->raw));
  return attached.ok() ? 0 : ErrnoOf(attached.error());
}

VIREO_API int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) {
  VIREO_PASS(ibv_detach_mcast, qp, gid, lid);
  Context& context = Of(qp).context();
  if (!context.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(context.control);
  Status detached = Of(qp).impl->Detach(std::to_array(gid->raw));
  return detached.ok() ? 0 : ErrnoOf(detached.error());
}

VIREO_API int ibv_destroy_qp(ibv_qp* qp) {
  VIREO_PASS(ibv_destroy_qp, qp);
  Qp& ours = Of(qp);
  Context& context = ours.context();
  if (!context.IsOwnedByThisProcess()) return 0;
  {
    std::lock_guard guard(context.control);
    if (ours.impl->is_attached()) return EBUSY;
    context.qps.erase(qp->qp_num);  // no more events
    context.datagrams.Forget(qp->qp_num);
    ours.impl.reset();
    ours.pd.End();
    context.DropStaleEvents();
    DiscardCompletions(&Of(qp->send_cq), &Of(qp->recv_cq), qp->qp_num);
  }
  // Wait until all read events are acknowledged: their readers hold the pointer.
  pthread_mutex_lock(&qp->mutex);
  while (qp->events_completed != ours.async_events_read) pthread_cond_wait(&qp->cond, &qp->mutex);
  pthread_mutex_unlock(&qp->mutex);
  pthread_cond_destroy(&qp->cond);
  pthread_mutex_destroy(&qp->mutex);
  delete &ours;
  return 0;
}
