// SPDX-License-Identifier: Apache-2.0
// Protection domains, parent and thread domains, and domains of another context of this NIC.
#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

ibv_pd* MakePd(ibv_context* context, std::shared_ptr<verbs::ProtectionDomain> impl) {
  auto pd = std::make_unique<Pd>();
  pd->impl = std::move(impl);
  pd->pd = {.context = context, .handle = pd->impl->pdn()};
  return &pd.release()->pd;
}

}  // namespace

ibv_td* AllocTd(ibv_context* context, ibv_td_init_attr* init) {
  if (init->comp_mask != 0) return Null(EINVAL);
  if (!Of(context).IsOwnedByThisProcess()) return Null(EIO);
  auto td = std::make_unique<Td>();
  td->td = {.context = context};
  return &td.release()->td;
}

int DeallocTd(ibv_td* td) {
  if (!Of(td->context).IsOwnedByThisProcess()) return 0;
  if (Of(td).users != 0) return EBUSY;
  delete &Of(td);
  return 0;
}

// Its allocators are never called: queues lie in memory that the service shares, and nothing else is allocated for the
// device.
ibv_pd* AllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* init) {
  constexpr uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if ((init->comp_mask & ~kKnown) != 0) return Null(EOPNOTSUPP);
  if ((init->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0 &&
      (init->alloc == nullptr || init->free == nullptr)) {
    return Null(EINVAL);
  }
  if (init->pd == nullptr || init->pd->context != context) return Null(EINVAL);
  if (init->td != nullptr && init->td->context != context) return Null(EINVAL);
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return Null(EIO);
  std::lock_guard guard(ours.control);
  ibv_pd* const parent = MakePd(context, Of(init->pd).impl);
  Of(parent).base = PdUse(init->pd);
  if (init->td != nullptr) {
    Of(parent).td = &Of(init->td);
    ++Of(parent).td->users;
  }
  return parent;
}

}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_pd* ibv_alloc_pd(ibv_context* context) {
  VIREO_PASS(ibv_alloc_pd, context);
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return Null(EIO);
  std::lock_guard guard(ours.control);
  auto impl = ours.device->CreatePd();
  return impl.ok() ? MakePd(context, std::move(impl).value()) : Null(impl.error());
}

VIREO_API int ibv_dealloc_pd(ibv_pd* pd) {
  VIREO_PASS(ibv_dealloc_pd, pd);
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return 0;
  std::lock_guard guard(context.control);
  Pd& ours = Of(pd);
  if (ours.users != 0) return EBUSY;
  if (!ours.base.has_value()) {
    // The device refuses it while another process has objects in it.
    if (Status destroyed = ours.impl->Destroy(); !destroyed.ok()) return ErrnoOf(destroyed.error());
  }
  if (ours.td != nullptr) --ours.td->users;
  delete &ours;
  return 0;
}

VIREO_API ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  VIREO_PASS(ibv_import_pd, context, handle);
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return Null(EIO);
  std::lock_guard guard(ours.control);
  if (Status found = ours.shared->FindPd(handle); !found.ok()) return Null(found.error());
  return MakePd(context, ours.device->ImportPd(handle));
}

VIREO_API void ibv_unimport_pd(ibv_pd* pd) {
  VIREO_PASS(ibv_unimport_pd, pd);
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return;
  std::lock_guard guard(context.control);
  Of(pd).impl->Leave();
  if (Of(pd).users == 0) delete &Of(pd);  // else its objects still name it
}
