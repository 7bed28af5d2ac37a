// SPDX-License-Identifier: Apache-2.0
// Memory regions. A region is the program's own memory, which the service accesses in place:
// nothing is copied, pinned or limited by memlock.
#include <sys/mman.h>

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

constexpr uint64_t kPageBytes = uint64_t{1} << spec::kRdmaPageShiftDefault;
// Access flags without effect here: pages are accessed in place, and there are devices without memory windows or with
// IBV_ATOMIC_NONE, but programs commonly set these flags, and Linux takes them on devices without either
// [ib_check_mr_access()].
constexpr uint32_t kIgnoredAccess = IBV_ACCESS_HUGETLB | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
                                    static_cast<uint32_t>(IBV_ACCESS_OPTIONAL_RANGE);

// The parts of [begin, end) in /proc/self/maps, in order and without gaps, satisfy `is_right(line, rights)`.
template <typename IsRight>
bool AllMapped(uint64_t begin, uint64_t end, IsRight is_right) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; begin < end && std::getline(maps, line);) {
    uint64_t first = 0;
    uint64_t last = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &first, &last, rights) != 3) continue;
    if (first <= begin && begin < last) {
      if (!is_right(line, rights)) return false;
      begin = last;
    }
  }
  return begin >= end;
}

bool IsMapped(uint64_t begin, uint64_t end, bool writable) {
  return AllMapped(begin, end, [writable](const std::string&, const char* rights) {
    return rights[0] == 'r' && (!writable || rights[1] == 'w');
  });
}

// All of it is mapped shared from files in the NIC's directory of persistent memory.
bool IsPmem(const Context& context, const void* address, size_t length) {
  const std::string& directory = context.shared->info().pmem;
  const auto start = reinterpret_cast<uint64_t>(address);
  if (directory.empty() || length == 0) return false;
  return AllMapped(start, start + length, [&directory](const std::string& line, const char* rights) {
    const size_t path = line.find('/');
    return rights[3] == 's' && path != std::string::npos && line.compare(path, directory.size(), directory) == 0 &&
           (directory == "/" || line[path + directory.size()] == '/');
  });
}

// The checks of the kernel when it pins pages: mapped, and writable if the region requires it.
int CheckPages(uint64_t begin, uint64_t bytes, bool writable) {
  void* const start = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): a program's address
  if (madvise(start, bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) return 0;
  // EINVAL: no permission, memory of a device file, or a kernel before 5.14.
  return errno == EINVAL && IsMapped(begin, begin + bytes, writable) ? 0 : EFAULT;
}

// The largest page shift that maps memory at `device` to addresses from `iova`; 0: none.
uint8_t PageShift(uint64_t page_size_cap, uint64_t iova, uint64_t device, uint64_t length) {
  for (uint8_t shift = spec::kRdmaPageShiftMax; shift >= spec::kRdmaPageShiftMin; --shift) {
    if ((page_size_cap >> shift & 1) == 0) continue;
    // Pages larger than the region are useless.
    if (shift > spec::kRdmaPageShiftMin && (uint64_t{1} << shift) > std::bit_ceil(length)) continue;
    if (((iova ^ device) & ((uint64_t{1} << shift) - 1)) == 0) return shift;
  }
  return 0;
}

// Memory as the device sees it, and its pages for a region from `iova` on.
struct Mapped {
  host::DmaBuffer memory;
  uint64_t iova = 0;  // of its first byte; zero-based: 0
  uint8_t page_shift = 0;
  std::vector<uint64_t> pages;
};

// Rights of a region that the device has.
uint32_t Rights(const Context& context) {
  return RemoteRights(context) | (context.device->has_windows() ? spec::IbAccessFlags::kMwBind : 0);
}

int CheckAccess(const Context& context, unsigned int access) {
  constexpr unsigned int kOfHost = kIgnoredAccess | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;
  if ((access & ~(RemoteRights(context) | kOfHost)) != 0) return EOPNOTSUPP;
  // [ib_check_mr_access()]
  const bool needs_local = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  return needs_local && (access & IBV_ACCESS_LOCAL_WRITE) == 0 ? EINVAL : 0;
}

// Whether the program may do itself what `access` allows; on demand, only when it is done.
int CheckMemory(const void* address, size_t length, unsigned int access) {
  const auto start = reinterpret_cast<uint64_t>(address);
  if (length == 0 || start + length < start || start + length > ~uint64_t{0} - kPageBytes) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return 0;
  const uint64_t begin = start / kPageBytes * kPageBytes;
  const uint64_t end = (start + length + kPageBytes - 1) / kPageBytes * kPageBytes;
  return CheckPages(begin, end - begin, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

// 0 or an errno. The caller holds context.control, and has checked the memory.
int Map(Context& context, const void* address, size_t length, uint64_t iova, unsigned int access, Mapped& out) {
  const auto start = reinterpret_cast<uint64_t>(address);
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) {
    if (start % kPageBytes != 0) return EOPNOTSUPP;  // address 0 must be page-aligned
    iova = 0;
  }
  if (iova % kPageBytes != start % kPageBytes) return EINVAL;
  const uint64_t begin = start / kPageBytes * kPageBytes;
  const uint64_t end = (start + length + kPageBytes - 1) / kPageBytes * kPageBytes;
  Result<host::DmaBuffer> memory = context.device->function().MapDma(
      reinterpret_cast<uint8_t*>(begin), end - begin);  // NOLINT(performance-no-int-to-ptr): a program's address
  if (!memory.ok()) return ErrnoOf(memory.error());
  const uint64_t device = (*memory)->address() + (start - begin);
  const uint8_t shift = PageShift(context.device->attributes().page_size_cap, iova, device, length);
  if (shift == 0) return EINVAL;
  const uint64_t page_bytes = uint64_t{1} << shift;
  out = {.memory = std::move(memory).value(), .iova = iova, .page_shift = shift, .pages = {}};
  for (uint64_t page = device / page_bytes * page_bytes; page < device + length; page += page_bytes) {
    out.pages.push_back(page);
  }
  return 0;
}

ibv_mr* MakeMr(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned int access) {
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  if (int error = CheckAccess(context, access); error != 0) return Null(error);
  if (int error = CheckMemory(address, length, access); error != 0) return Null(error);
  std::lock_guard guard(context.control);
  Mapped mapped;
  if (int error = Map(context, address, length, iova, access, mapped); error != 0) return Null(error);
  const bool is_pmem = IsPmem(context, address, length);
  if (!is_pmem && (access & spec::IbAccessFlags::kFlushPersistent) != 0) return Null(EINVAL);
  auto region = Of(pd).impl->Register(mapped.iova, length, access & Rights(context), mapped.page_shift, mapped.pages,
                                      /*invalidatable=*/false, is_pmem);
  if (!region.ok()) return Null(region.error());
  auto mr = std::make_unique<Mr>();
  mr->memory = std::move(mapped.memory);
  mr->impl = std::move(region).value();
  mr->pd = PdUse(pd);
  mr->access = access;
  mr->mr = {.context = pd->context,
            .pd = pd,
            .addr = address,
            .length = length,
            .handle = mr->impl->mrn(),
            .lkey = mr->impl->lkey(),
            .rkey = mr->impl->rkey()};
  context.mrs.emplace(mr->impl->mrn(), mr.get());
  return &mr.release()->mr;
}

// The kernel's part of ibv_rereg_mr: 0 or an errno.
int Reregister(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) {
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool has_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  if (flags == 0) return EINVAL;  // [ib_uverbs_rereg_mr()]
  Context& context = Of(mr->context);
  if (!context.IsOwnedByThisProcess()) return EIO;
  Mr& ours = Of(mr);
  unsigned int rights = ours.access;
  if (has_access) {
    rights = static_cast<unsigned int>(access);
    if (int error = CheckAccess(context, rights); error != 0) return error;
    // Its addresses are part of the translation.
    constexpr unsigned int kOfTranslation = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;
    if (!moves) {
      if ((rights & ~ours.access & IBV_ACCESS_ON_DEMAND) != 0) return EOPNOTSUPP;
      rights = (rights & ~kOfTranslation) | (ours.access & kOfTranslation);
    }
  }
  void* const start = moves ? address : mr->addr;
  const size_t bytes = moves ? length : mr->length;
  if (moves || has_access) {
    if (int error = CheckMemory(start, bytes, rights); error != 0) return error;
  }
  std::lock_guard guard(context.control);
  const bool is_pmem = IsPmem(context, start, bytes);
  if (!is_pmem && (rights & spec::IbAccessFlags::kFlushPersistent) != 0) return EINVAL;
  Mapped mapped;
  verbs::MemoryRegion::Change change;
  if (moves) {
    const auto iova = reinterpret_cast<uint64_t>(address);  // as libibverbs asks the kernel for
    if (int error = Map(context, address, length, iova, rights, mapped); error != 0) return error;
    change.pages = {.virtual_address = mapped.iova,
                    .length = length,
                    .page_shift = mapped.page_shift,
                    .addresses = mapped.pages,
                    .is_pmem = is_pmem};
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) change.pd = Of(pd).impl;
  if (has_access) change.access = rights & Rights(context);
  if (const host::Status done = ours.impl->Modify(change); !done.ok()) return ErrnoOf(done.error());
  if (moves) ours.memory = std::move(mapped.memory);  // the old one is free
  ours.access = rights;
  if (change.pd != nullptr) {
    mr->pd = pd;
    ours.pd = PdUse(pd);
  }
  mr->addr = start;
  mr->length = bytes;
  mr->lkey = ours.impl->lkey();
  mr->rkey = ours.impl->rkey();
  return 0;
}

}  // namespace
}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  VIREO_PASS(ibv_reg_mr, pd, address, length, access);
  return MakeMr(pd, address, length, reinterpret_cast<uint64_t>(address), static_cast<unsigned int>(access));
}

VIREO_API ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
  VIREO_PASS(ibv_reg_mr_iova, pd, address, length, iova, access);
  return MakeMr(pd, address, length, iova, static_cast<unsigned int>(access));
}

VIREO_API ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned int access) {
  VIREO_PASS(ibv_reg_mr_iova2, pd, address, length, iova, access);
  return MakeMr(pd, address, length, iova, access);
}

VIREO_API int ibv_dereg_mr(ibv_mr* mr) {
  VIREO_PASS(ibv_dereg_mr, mr);
  Context& context = Of(mr->context);
  if (!context.IsOwnedByThisProcess()) return 0;
  std::lock_guard guard(context.control);
  const vireo::host::Status ended = Of(mr).impl->Deregister();
  // A memory window is bound to it.
  if (!ended.ok() && ended.error().rdma == vireo::spec::RdmaError::kHandleBusy) return ErrnoOf(ended.error());
  context.mrs.erase(mr->handle);
  delete &Of(mr);
  return 0;
}

// The checks, their order and their results are those of libibverbs, whose kernel does the rest. The region is as
// before if it fails, also with IBV_REREG_MR_ERR_CMD, after which the man page lets a program not rely on it.
VIREO_API int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length, int access) {
  VIREO_PASS(ibv_rereg_mr, mr, flags, pd, address, length, access);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || (moves && (length == 0 || address == nullptr)) ||
      (access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0) ||
      ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && (pd == nullptr || pd->context != mr->context))) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  if (int error = Reregister(mr, flags, pd, address, length, access); error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_CMD;
  }
  return 0;
}

// A region of another context of this NIC (ibv_import_device): its memory is that of the other process.
VIREO_API ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  VIREO_PASS(ibv_import_mr, pd, handle);
  Context& context = Of(pd->context);
  if (!context.IsOwnedByThisProcess()) return Null(EIO);
  std::lock_guard guard(context.control);
  auto region = context.shared->FindRegion(handle);
  if (!region.ok()) return Null(region.error());
  auto mr = std::make_unique<Mr>();
  mr->impl = Of(pd).impl->ImportMr(handle, region->lkey, region->rkey, region->address, region->length);
  mr->pd = PdUse(pd);
  mr->mr = {.context = pd->context,
            .pd = pd,
            .addr = nullptr,
            .length = region->length,
            .handle = handle,
            .lkey = region->lkey,
            .rkey = region->rkey};
  return &mr.release()->mr;
}

VIREO_API void ibv_unimport_mr(ibv_mr* mr) {
  VIREO_PASS(ibv_unimport_mr, mr);
  Context& context = Of(mr->context);
  if (!context.IsOwnedByThisProcess()) return;
  std::lock_guard guard(context.control);
  Of(mr).impl->Leave();
  delete &Of(mr);
}
