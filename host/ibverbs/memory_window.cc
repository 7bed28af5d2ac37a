// SPDX-License-Identifier: Apache-2.0
// Memory windows: allocated by commands, bound by work requests. libibverbs' inline functions call what is in
// ibv_context::ops.
#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

constexpr uint32_t kIndexMask = 0xffffff00;  // of a key; the low bits are chosen by who binds

}  // namespace

// 0 or an errno. [rxe_bind_mw()]
int SetBind(const Qp& qp, const ibv_mw& mw, uint32_t rkey, const ibv_mw_bind_info& info, verbs::SendRequest& out) {
  constexpr unsigned int kAccess =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
  constexpr unsigned int kIgnored = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;  // programs give a region's rights
  const ibv_qp& base = qp.ex.qp_base;
  if (!qp.context().device->has_windows() || base.qp_type != IBV_QPT_RC) return EOPNOTSUPP;
  if (mw.context != base.context || (rkey & kIndexMask) != (mw.rkey & kIndexMask)) return EINVAL;
  if (info.mr == nullptr && (info.addr != 0 || info.length != 0)) return EINVAL;
  if ((info.mw_access_flags & ~(kAccess | kIgnored)) != 0) return EOPNOTSUPP;
  out.rkey = rkey;
  out.bind_address = info.addr;
  out.bind_length = info.length;
  out.bind_access = info.mw_access_flags & kAccess;
  out.bind_lkey = info.mr == nullptr ? 0 : info.mr->lkey;
  return 0;
}

ibv_mw* AllocMw(ibv_pd* pd, ibv_mw_type type) {
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return Null(EINVAL);
  static_assert(static_cast<int>(spec::RdmaMwType::kType1) == IBV_MW_TYPE_1 &&
                static_cast<int>(spec::RdmaMwType::kType2) == IBV_MW_TYPE_2);
  std::lock_guard guard(context.control);
  auto impl = Of(pd).impl->AllocateWindow(static_cast<spec::RdmaMwType>(type));
  if (!impl.ok()) return Null(impl.error());
  auto mw = std::make_unique<Mw>();
  mw->impl = std::move(impl).value();
  mw->pd = PdUse(pd);
  mw->mw = {.context = pd->context, .pd = pd, .rkey = mw->impl->rkey(), .handle = mw->impl->mwn(), .type = type};
  return &mw.release()->mw;
}

int DeallocMw(ibv_mw* mw) {
  Context& context = Of(mw->context);
  if (!context.IsOwnedByThisProcess()) return 0;
  std::lock_guard guard(context.control);
  delete &Of(mw);
  return 0;
}

// Of type 1: as a work request, with the next key, which is the window's as soon as it is posted.
int BindMw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  if ((bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0) return EINVAL;
  if (bind->bind_info.mr != nullptr && (bind->bind_info.mr->pd != mw->pd || qp->pd != mw->pd)) return EPERM;
  ibv_send_wr request{};
  request.wr_id = bind->wr_id;
  request.opcode = IBV_WR_BIND_MW;
  request.send_flags = bind->send_flags;
  request.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info};
  ibv_send_wr* bad = nullptr;
  if (int error = PostSend(qp, &request, &bad); error != 0) return error;
  mw->rkey = request.bind_mw.rkey;
  return 0;
}

}  // namespace vireo::ibverbs
