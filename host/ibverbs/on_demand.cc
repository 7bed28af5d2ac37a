// SPDX-License-Identifier: Apache-2.0
// On-demand paging. The service accesses registered memory where it is, by address and when it is used, so no region
// needs its pages before: a region without IBV_ACCESS_ON_DEMAND only has the kernel's check that they exist.
#include <sys/mman.h>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

constexpr uint64_t kPageBytes = uint64_t{1} << spec::kRdmaPageShiftDefault;

// The memory of an element, if it may be advised so; 0 or an errno. [ibv_advise_mr(3)]
int FindMemory(Context& context, ibv_pd* pd, const ibv_sge& sge, bool writes, uint64_t& begin) {
  const auto found = context.mrs.find(spec::RdmaKey::FromWord(sge.lkey).index);
  if (found == context.mrs.end() || found->second->mr.lkey != sge.lkey) return ENOENT;
  const Mr& mr = *found->second;
  if (Of(mr.mr.pd).impl != Of(pd).impl) return EPERM;
  if ((mr.access & IBV_ACCESS_ON_DEMAND) == 0) return EINVAL;
  if (writes && (mr.access & IBV_ACCESS_LOCAL_WRITE) == 0) return EPERM;
  const uint64_t offset = sge.addr - mr.impl->address();
  if (sge.addr < mr.impl->address() || offset > mr.mr.length || sge.length > mr.mr.length - offset) return EFAULT;
  begin = reinterpret_cast<uint64_t>(mr.mr.addr) + offset;
  return 0;
}

}  // namespace

ibv_odp_caps OdpCaps(const Context& context) {
  constexpr uint32_t kDatagrams = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  constexpr uint32_t kUnreliable = kDatagrams | IBV_ODP_SUPPORT_WRITE;
  const uint32_t shared = context.device->attributes().max_srq != 0 ? IBV_ODP_SUPPORT_SRQ_RECV : 0;
  const uint32_t atomics = context.device->has_atomics() ? IBV_ODP_SUPPORT_ATOMIC : 0;
  ibv_odp_caps caps{};
  caps.general_caps = IBV_ODP_SUPPORT;
  caps.per_transport_caps = {.rc_odp_caps = kUnreliable | IBV_ODP_SUPPORT_READ | atomics | shared,
                             .uc_odp_caps = kUnreliable | shared,
                             .ud_odp_caps = kDatagrams | shared};
  return caps;
}

int AdviseMr(ibv_pd* pd, ib_uverbs_advise_mr_advice advice, uint32_t flags, ibv_sge* list, uint32_t count) {
  if ((flags & ~static_cast<uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0 || count == 0) return EINVAL;
  const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  if (!writes && advice != IBV_ADVISE_MR_ADVICE_PREFETCH && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
    return ENOTSUP;
  }
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(context.control);
  for (const ibv_sge& sge : std::span(list, count)) {
    uint64_t begin = 0;
    if (int error = FindMemory(context, pd, sge, writes, begin); error != 0) return error;
    if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || sge.length == 0) continue;  // present pages need nothing
    const uint64_t first = begin / kPageBytes * kPageBytes;
    const uint64_t end = (begin + sge.length + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* const start = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr): a program's address
    if (madvise(start, end - first, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) continue;
    // EINVAL: a kernel before 5.14, or memory of a device file. The advice is best effort.
    if (errno != EINVAL) return EFAULT;
  }
  return 0;
}

}  // namespace vireo::ibverbs
