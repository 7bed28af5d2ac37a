// SPDX-License-Identifier: Apache-2.0
// Shared receive queues.
#include <algorithm>
#include <array>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

// Room for ibv_modify_srq.
constexpr uint32_t kRoomTimes = 4;
constexpr uint32_t kRoomAtLeast = 1024;

}  // namespace

int PostSrqRecv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad) {
  Srq& ours = Of(srq);
  *bad = request;
  if (!ours.context().IsOwnedByThisProcess()) return EIO;
  ours.context().shared->CountCall();
  std::lock_guard guard(ours.receive);
  std::array<spec::RdmaSge, 32> elements;
  for (; request != nullptr; request = request->next) {
    *bad = request;
    if (request->num_sge < 0 || static_cast<size_t>(request->num_sge) > elements.size()) return EINVAL;
    const std::span sges(request->sg_list, static_cast<size_t>(request->num_sge));
    std::ranges::transform(sges, elements.begin(), [](const ibv_sge& sge) {
      return spec::RdmaSge{.addr = sge.addr, .length = sge.length, .lkey = sge.lkey};
    });
    Status posted = ours.impl->PostRecv({.wr_id = request->wr_id, .sg_list = std::span(elements).first(sges.size())});
    if (!posted.ok()) return ErrnoOf(posted.error());
  }
  return 0;
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  VIREO_PASS(ibv_create_srq, pd, init);
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  auto srq = std::make_unique<Srq>();
  std::lock_guard guard(context.control);
  // The man page: the numbers of `init` become the actual ones, and srq_limit is irrelevant here.
  const uint32_t max_srq_wr = context.device->attributes().max_qp_wr;
  const uint32_t wanted = init->attr.max_wr;
  const uint32_t room =
      std::min(max_srq_wr, std::max(kRoomAtLeast, wanted > max_srq_wr / kRoomTimes ? max_srq_wr : wanted * kRoomTimes));
  auto impl = Of(pd).impl->CreateSrq({.max_wr = wanted, .max_sge = init->attr.max_sge, .room = room});
  if (!impl.ok()) return Null(impl.error());
  srq->impl = std::move(impl).value();
  srq->pd = PdUse(pd);
  srq->attributes = {.max_wr = init->attr.max_wr, .max_sge = init->attr.max_sge, .srq_limit = 0};
  srq->srq.context = pd->context;
  srq->srq.srq_context = init->srq_context;
  srq->srq.pd = pd;
  srq->srq.handle = srq->impl->srqn();
  pthread_mutex_init(&srq->srq.mutex, nullptr);
  pthread_cond_init(&srq->srq.cond, nullptr);
  context.srqs.emplace(srq->impl->srqn(), srq.get());
  return &srq.release()->srq;
}

VIREO_API int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  VIREO_PASS(ibv_modify_srq, srq, attributes, mask);
  Srq& ours = Of(srq);
  if (!ours.context().IsOwnedByThisProcess()) return EIO;
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  std::lock_guard guard(ours.context().control);
  std::lock_guard receive(ours.receive);
  if ((mask & IBV_SRQ_MAX_WR) != 0) {
    // Nothing changes if the limit does not fit.
    const uint32_t limit = (mask & IBV_SRQ_LIMIT) != 0 ? attributes->srq_limit : ours.impl->limit();
    if (attributes->max_wr == 0 || attributes->max_wr > ours.context().device->attributes().max_qp_wr ||
        limit > attributes->max_wr) {
      return EINVAL;
    }
    // A limit that is above will be replaced.
    const uint32_t former = ours.impl->limit();
    const bool is_above = former > attributes->max_wr;
    if (is_above) {
      if (Status disarmed = ours.impl->Arm(0); !disarmed.ok()) return ErrnoOf(disarmed.error());
    }
    if (Status resized = ours.impl->Resize(attributes->max_wr); !resized.ok()) {
      if (is_above) static_cast<void>(ours.impl->Arm(former));
      return resized.error().code == vireo::host::ErrorCode::kBadState ? EINVAL : ErrnoOf(resized.error());
    }
    ours.attributes.max_wr = attributes->max_wr;
  }
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  Status armed = ours.impl->Arm(attributes->srq_limit);
  return armed.ok() ? 0 : ErrnoOf(armed.error());
}

VIREO_API int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  VIREO_PASS(ibv_query_srq, srq, attributes);
  Srq& ours = Of(srq);
  if (!ours.context().IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(ours.context().control);
  *attributes = ours.attributes;
  attributes->srq_limit = ours.impl->limit();
  return 0;
}

VIREO_API int ibv_destroy_srq(ibv_srq* srq) {
  VIREO_PASS(ibv_destroy_srq, srq);
  Srq& ours = Of(srq);
  Context& context = ours.context();
  if (!context.IsOwnedByThisProcess()) return 0;
  {
    std::lock_guard guard(context.control);
    if (ours.impl.use_count() > 1) return EBUSY;  // queue pairs hold it
    context.srqs.erase(ours.impl->srqn());        // no more events
    ours.impl.reset();
    ours.pd.End();
    context.DropStaleEvents();
  }
  // Wait until all read events are acknowledged: their readers hold the pointer.
  pthread_mutex_lock(&srq->mutex);
  while (srq->events_completed != ours.async_events_read) pthread_cond_wait(&srq->cond, &srq->mutex);
  pthread_mutex_unlock(&srq->mutex);
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  delete &ours;
  return 0;
}
