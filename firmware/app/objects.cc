// SPDX-License-Identifier: Apache-2.0
// Commands on objects other than QPs: completion queues, protection domains, memory regions, address handles, GIDs,
// windows.
#include "firmware/app/firmware.h"
#include "firmware/app/gid.h"

namespace vireo::firmware {
namespace {

// IBTA vol. 1, 11.2.1.2: the longest time to respond to a request is 4096 ns times 2^this. Assumes a host that takes up
// to 50 µs to complete a read.
constexpr uint8_t kLocalCaAckDelay = 4;
// Longest message: IBTA vol. 1, 9.7.8 limits it to 2^31.
constexpr uint32_t kMaxMessageBytes = uint32_t{1} << 31;

// Words of a region or window: validity, rights and type; the region it is bound to; the QP that bound it.
constexpr Words kRights = WordAt(0), kBound = WordAt(spec::TableMr::kBoundToOffset),
                kBoundBy = WordAt(spec::TableMr::kBoundByOffset);

bool SameBytes(const uint8_t* a, const uint8_t* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

void CopyBytes(uint8_t* to, const uint8_t* from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace

// --- Queries ---------------------------------------------------------------------------------------------------------

uint64_t Firmware::PageSizeCap() const {
  if (!profile_->rdma_has_additions) return uint64_t{1} << spec::kRdmaPageShiftDefault;
  uint64_t sizes = 0;
  for (uint32_t shift = spec::kRdmaPageShiftMin; shift <= spec::kRdmaPageShiftMax; ++shift)
    sizes |= uint64_t{1} << shift;
  return sizes;
}

uint64_t Firmware::MaxMrSize() const {
  const uint32_t shift = profile_->rdma_has_additions ? spec::kRdmaPageShiftMax : spec::kRdmaPageShiftDefault;
  return uint64_t{config_.num_translations} << shift;
}

Firmware::Error Firmware::QueryDevice(const Empty&, spec::RdmaAckQueryDevice& response) {
  response = {.device_cap_flags = spec::IbDeviceCap::kRcRnrNakGen,
              .max_mr_size = MaxMrSize(),
              .page_size_cap = PageSizeCap(),
              .hw_ver = hardware_version_,
              .max_qp_wr = config_.max_queue_entries,
              .max_send_sge = config_.max_send_sge,
              .max_recv_sge = config_.max_recv_sge,
              .max_sge_rd = config_.max_send_sge,
              .max_cqe = config_.max_queue_entries,
              .max_mr = config_.num_mrs,
              .max_pd = config_.num_pds,
              .max_qp_rd_atom = config_.max_rd_atomic,
              .max_qp_init_rd_atom = config_.max_rd_atomic,
              .max_ah = config_.num_ahs,
              .local_ca_ack_delay = kLocalCaAckDelay,
              .max_mr_pages = profile_->rdma_has_additions ? config_.num_translations : 0,
              .atomic_cap = HasAtomics() ? spec::RdmaAtomicCap::kHca : spec::RdmaAtomicCap::kNone,
              .invalidation = HasInvalidation(),
              .sq_version = HasExtensibleRequests() ? spec::kRdmaSqVersion : uint8_t{0},
              .atomic_write = HasAtomicWrite(),
              .max_srq = profile_->rdma_has_additions ? config_.max_srqs : 0,
              .flush = static_cast<uint8_t>(
                  HasFlush() ? spec::RdmaFlushCap::kGlobalVisibility | spec::RdmaFlushCap::kPersistence : 0),
              .max_push = HasPush() ? spec::kRdmaPushMost : uint8_t{0},
              .max_mw = HasWindows() ? config_.num_mrs : 0,
              .max_fast_mr_pages = MaxFastPages(),
              .cq_elements = CqElements(),
              .max_mcast_attach = MaxMcastAttach()};
  return Error::kOk;
}

Firmware::Error Firmware::QueryPort(const Empty&, spec::RdmaAckQueryPort& response) {
  response = {.gid_tbl_len = config_.num_gids, .max_msg_sz = kMaxMessageBytes};
  return Error::kOk;
}

Firmware::Error Firmware::QueryClock(const Empty&, spec::RdmaAckQueryClock& response) {
  const uint32_t low = device_.Read(spec::kMgmtTimeLowRegister);  // which keeps the high half
  response = {.time_ns = uint64_t{device_.Read(spec::kMgmtTimeHighRegister)} << 32 | low};
  return Error::kOk;
}

// --- Completion queues -----------------------------------------------------------------------------------------------

// Those that the device and its table's entry have.
uint32_t Firmware::CqElements() const {
  return profile_->rdma_has_additions && config_.cqe_elements != 0 ? spec::RdmaCqElement::kTimestamp : 0;
}

Firmware::Error Firmware::CreateCq(const spec::RdmaCmdCreateCq& request, spec::RdmaAckCreateCq& response) {
  return MakeCq({.cqe = request.cqe}, response);
}

Firmware::Error Firmware::CreateExtendedCq(const spec::RdmaCmdCreateExtendedCq& request,
                                           spec::RdmaAckCreateCq& response) {
  if (request.elements == 0) return Error::kInvalidParameter;
  return MakeCq(request, response);
}

Firmware::Error Firmware::MakeCq(const spec::RdmaCmdCreateExtendedCq& request, spec::RdmaAckCreateCq& response) {
  if (request.cqe == 0) return Error::kInvalidParameter;
  if (request.cqe > config_.max_queue_entries) return Error::kCapCqeExceeded;
  if ((request.elements & ~CqElements()) != 0) return Error::kUnsupportedCqElement;
  const uint32_t cqn = cq_used_.FindClear(0, config_.num_cqs, next_cq_);
  if (cqn == kNone) return Error::kNoFreeCq;

  BindQueue(CqQueue(cqn), spec::TableQueueKind::kCq, cqn, request.cqe);
  device_.WriteEntry(cqn, spec::TableCqContext{.valid = true,
                                               .elements = static_cast<uint8_t>(request.elements),
                                               .vq_index = static_cast<uint16_t>(CqQueue(cqn)),
                                               .cqe = request.cqe});
  cq_used_.Set(cqn);
  next_cq_ = cqn + 1;
  response.cqn = cqn;
  return Error::kOk;
}

Firmware::Error Firmware::DestroyCq(const spec::RdmaCmdDestroyCq& request, Empty&) {
  if (!HasCq(request.cqn)) return Error::kBadCqn;
  if (cq_users_[request.cqn] != 0) return Error::kHandleBusy;

  device_.ClearEntry<spec::TableCqContext>(request.cqn);
  StopQueue(CqQueue(request.cqn), true);
  cq_used_.Clear(request.cqn);
  return Error::kOk;
}

Firmware::Error Firmware::ReqNotifyCq(const spec::RdmaCmdReqNotify& request, Empty&) {
  constexpr uint32_t known = spec::IbNotifyFlags::kSolicited | spec::IbNotifyFlags::kNextCompletion;
  if (!HasCq(request.cqn)) return Error::kBadCqn;
  if (request.flags == 0 || (request.flags & ~known) != 0) return Error::kInvalidParameter;

  auto context = device_.ReadEntry<spec::TableCqContext>(request.cqn);
  context.set_solicited = (request.flags & spec::IbNotifyFlags::kSolicited) != 0;
  context.set_next_completion = (request.flags & spec::IbNotifyFlags::kNextCompletion) != 0;
  device_.WriteEntry(request.cqn, context);
  return Error::kOk;
}

// --- Protection domains ----------------------------------------------------------------------------------------------

Firmware::Error Firmware::CreatePd(const Empty&, spec::RdmaAckCreatePd& response) {
  const uint32_t pdn = pd_used_.FindClear(0, config_.num_pds, next_pd_);
  if (pdn == kNone) return Error::kNoFreePd;
  pd_used_.Set(pdn);
  next_pd_ = pdn + 1;
  response.pdn = pdn;
  return Error::kOk;
}

Firmware::Error Firmware::DestroyPd(const spec::RdmaCmdDestroyPd& request, Empty&) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (pd_users_[request.pdn] != 0) return Error::kHandleBusy;
  pd_used_.Clear(request.pdn);
  return Error::kOk;
}

// --- Memory regions --------------------------------------------------------------------------------------------------

// rfc-v2 has no atomic operations.
bool Firmware::HasAtomics() const { return profile_->rdma_has_additions && config_.atomics != 0; }

bool Firmware::HasAtomicWrite() const { return profile_->rdma_has_additions && config_.atomic_write != 0; }

bool Firmware::HasFlush() const { return profile_->rdma_has_additions && config_.flush != 0; }

bool Firmware::HasInvalidation() const { return profile_->rdma_has_additions && config_.invalidation != 0; }

bool Firmware::HasWindows() const { return profile_->rdma_has_additions && config_.memory_windows != 0; }

bool Firmware::HasExtensibleRequests() const {
  return profile_->rdma_has_additions && config_.extensible_requests != 0;
}

bool Firmware::HasPush() const { return HasExtensibleRequests() && config_.push_requests != 0; }

// Two for each element of a work request.
uint32_t Firmware::MaxFastPages() const {
  return profile_->rdma_has_additions && config_.fast_registration != 0 ? 2 * config_.max_send_sge : 0;
}

uint32_t Firmware::KnownAccess() const {
  using Flags = spec::IbAccessFlags;
  return Flags::kLocalWrite | Flags::kRemoteWrite | Flags::kRemoteRead | (HasAtomics() ? Flags::kRemoteAtomic : 0) |
         (HasFlush() ? Flags::kFlushGlobal | Flags::kFlushPersistent : 0);
}

// Of a region of these pages. Linux has the same rules: no FLUSH of a DMA MR, and persistence of persistent memory
// only.
bool Firmware::IsFlushAllowed(const spec::TableMr& entry, uint32_t access_flags) {
  using Flags = spec::IbAccessFlags;
  const bool is_global = (access_flags & Flags::kFlushGlobal) != 0;
  const bool is_persistent = (access_flags & Flags::kFlushPersistent) != 0;
  return (!is_global || !entry.dma) && (!is_persistent || (!entry.dma && entry.is_pmem));
}

// IBTA vol. 1, 10.6.3.1: remote write and remote atomic require local write.
bool Firmware::IsAccessAllowed(uint32_t access_flags) const {
  using Flags = spec::IbAccessFlags;
  const uint32_t known = KnownAccess() | (HasWindows() ? Flags::kMwBind : 0);
  if ((access_flags & ~known) != 0) return false;
  return (access_flags & (Flags::kRemoteWrite | Flags::kRemoteAtomic)) == 0 || (access_flags & Flags::kLocalWrite) != 0;
}

void Firmware::SetRights(spec::TableMr& entry, uint32_t access_flags) {
  entry.local_write = (access_flags & spec::IbAccessFlags::kLocalWrite) != 0;
  entry.remote_write = (access_flags & spec::IbAccessFlags::kRemoteWrite) != 0;
  entry.remote_read = (access_flags & spec::IbAccessFlags::kRemoteRead) != 0;
  entry.remote_atomic = (access_flags & spec::IbAccessFlags::kRemoteAtomic) != 0;
  entry.flush_global = (access_flags & spec::IbAccessFlags::kFlushGlobal) != 0;
  entry.flush_persistent = (access_flags & spec::IbAccessFlags::kFlushPersistent) != 0;
  entry.mw_bind = (access_flags & spec::IbAccessFlags::kMwBind) != 0;
}

uint32_t Firmware::RightsOf(const spec::TableMr& entry) {
  using Flags = spec::IbAccessFlags;
  return (entry.local_write ? Flags::kLocalWrite : 0) | (entry.remote_write ? Flags::kRemoteWrite : 0) |
         (entry.remote_read ? Flags::kRemoteRead : 0) | (entry.remote_atomic ? Flags::kRemoteAtomic : 0) |
         (entry.flush_global ? Flags::kFlushGlobal : 0) | (entry.flush_persistent ? Flags::kFlushPersistent : 0) |
         (entry.mw_bind ? Flags::kMwBind : 0);
}

// A DMA MR is no tenant's, and an invalidate would leave the windows bound.
bool Firmware::AreWindowsAllowed(const spec::TableMr& entry) {
  return !entry.mw_bind || (!entry.dma && !entry.invalidatable);
}

// Another key for the number than its last one; never 0.
uint8_t Firmware::NextKey(uint32_t index) {
  if (++mr_key_[index] == 0) ++mr_key_[index];
  return mr_key_[index];
}

// Activates the entry for datapath and peers: the last step.
uint32_t Firmware::ActivateMr(spec::TableMr entry, uint32_t access_flags) {
  entry.valid = true;
  SetRights(entry, access_flags);
  return WriteNewMr(entry);
}

uint32_t Firmware::WriteNewMr(spec::TableMr entry) {
  const uint32_t index = mr_used_.FindClear(0, config_.num_mrs, next_mr_);
  entry.key = NextKey(index);
  device_.WriteEntry(index, entry);
  mr_used_.Set(index);
  next_mr_ = index + 1;
  ++pd_users_[entry.pdn];
  return spec::RdmaKey{.key = entry.key, .index = index}.ToWord();
}

Firmware::Error Firmware::GetDmaMr(const spec::RdmaCmdGetDmaMr& request, spec::RdmaAckGetDmaMr& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (!IsAccessAllowed(request.access_flags) || !IsFlushAllowed({.dma = true}, request.access_flags) ||
      (request.access_flags & spec::IbAccessFlags::kMwBind) != 0) {
    return Error::kBadAccessFlags;
  }
  if (mr_used_.FindClear(0, config_.num_mrs, 0) == kNone) return Error::kNoFreeMr;

  const uint32_t key = ActivateMr({.dma = true, .pdn = static_cast<uint16_t>(request.pdn)}, request.access_flags);
  response = {.mrn = spec::RdmaKey::FromWord(key).index, .lkey = key, .rkey = key};
  return Error::kOk;
}

// Addresses and number of pages. `page_shift`: as requested; becomes the one that counts.
Firmware::Error Firmware::CheckPageCount(uint64_t virt_addr, uint64_t length, uint32_t npages,
                                         uint8_t& page_shift) const {
  if (length == 0 || length > MaxMrSize()) return Error::kInvalidLength;
  const uint64_t last = virt_addr + (length - 1);
  if (last < virt_addr) return Error::kInvalidLength;
  if (!profile_->rdma_has_additions || page_shift == 0) page_shift = spec::kRdmaPageShiftDefault;
  if (page_shift >= 64 || (PageSizeCap() >> page_shift & 1) == 0) return Error::kInvalidPageSize;
  if (npages > config_.num_translations) return Error::kPageListTooLong;
  const uint64_t expected = (last >> page_shift) - (virt_addr >> page_shift) + 1;
  return npages == expected ? Error::kOk : Error::kPageCountMismatch;
}

Firmware::Error Firmware::RegUserMr(const spec::RdmaCmdRegUserMr& request, spec::RdmaAckRegUserMr& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  const bool invalidatable = profile_->rdma_has_additions && request.invalidatable != 0;
  if (invalidatable && (request.invalidatable != 1 || !HasInvalidation())) return Error::kInvalidParameter;
  const bool is_pmem = profile_->rdma_has_additions && request.is_pmem != 0;
  if (is_pmem && (request.is_pmem != 1 || !HasFlush())) return Error::kInvalidParameter;
  spec::TableMr rights{.invalidatable = invalidatable};
  SetRights(rights, request.access_flags);
  if (!IsAccessAllowed(request.access_flags) || !IsFlushAllowed({.is_pmem = is_pmem}, request.access_flags) ||
      !AreWindowsAllowed(rights)) {
    return Error::kBadAccessFlags;
  }
  uint8_t page_shift = request.page_shift;
  Error error = CheckPageCount(request.virt_addr, request.length, request.npages, page_shift);
  if (error != Error::kOk) return error;

  // The list is read once, directly into the table if there is space: reserve, program, and only then activate.
  const bool has_index = mr_used_.FindClear(0, config_.num_mrs, 0) != kNone;
  const uint32_t first = translation_used_.FindRun(request.npages, config_.num_translations);
  error = LoadPages(spec::RdmaCmdRegUserMr::kBytes, request.npages, page_shift, has_index ? first : kNone);
  if (error != Error::kOk) return error;
  if (!has_index) return Error::kNoFreeMr;
  if (first == kNone) return Error::kNoFreePages;

  const uint32_t key = ActivateMr({.invalidatable = invalidatable,
                                   .page_shift = page_shift,
                                   .is_pmem = is_pmem,
                                   .npages = request.npages,
                                   .first_translation = first,
                                   .pdn = static_cast<uint16_t>(request.pdn),
                                   .virt_addr = request.virt_addr,
                                   .length = request.length},
                                  request.access_flags);
  response = {.mrn = spec::RdmaKey::FromWord(key).index, .lkey = key, .rkey = key};
  return Error::kOk;
}

// The list is behind `request_bytes` of the request. The translations are in use if it succeeds.
Firmware::Error Firmware::LoadPages(size_t request_bytes, uint32_t npages, uint8_t page_shift, uint32_t first) {
  const uint64_t list = spec::NetCtrlHdr::kBytes + request_bytes;
  const uint64_t in_page = (uint64_t{1} << page_shift) - 1;
  for (uint32_t i = 0; i < npages; ++i) {
    uint8_t bytes[spec::TableTranslation::kBytes];
    Error error = Error::kOk;
    if (!device_.ReadRequest(list + uint64_t{i} * sizeof(bytes), bytes, sizeof(bytes))) error = Error::kDmaError;
    const auto page = spec::TableTranslation::Decode(bytes);
    if (error == Error::kOk && (page.address & in_page) != 0) error = Error::kUnalignedPage;
    if (error != Error::kOk) {
      if (first != kNone) ClearPages(first, i);
      return error;
    }
    if (first != kNone) device_.WriteEntry(first + i, page);
  }
  for (uint32_t i = 0; first != kNone && i < npages; ++i) translation_used_.Set(first + i);
  return Error::kOk;
}

void Firmware::ClearPages(uint32_t first, uint32_t npages) {
  for (uint32_t i = 0; i < npages; ++i) device_.ClearEntry<spec::TableTranslation>(first + i);
}

// No region uses them any more.
void Firmware::FreePages(uint32_t first, uint32_t npages) {
  ClearPages(first, npages);
  for (uint32_t i = 0; i < npages; ++i) translation_used_.Clear(first + i);
}

// Also of a region that the device has ended itself: the entry that is read is the one that was written.
// Clears the region first, which waits for every access in flight; then its translations are unused.
void Firmware::RemoveMr(uint32_t index) {
  const auto entry = device_.ReadEntry<spec::TableMr>(index, WordAt(spec::TableMr::kNpagesOffset) |
                                                                 WordAt(spec::TableMr::kFirstTranslationOffset) |
                                                                 WordAt(spec::TableMr::kPdnOffset));
  device_.ClearEntry<spec::TableMr>(index);
  if (!device_.broken()) {
    FreePages(entry.first_translation, entry.npages);
    --pd_users_[entry.pdn];
  }
  mr_used_.Clear(index);
  mw_used_.Clear(index);
}

Firmware::Error Firmware::DeregMr(const spec::RdmaCmdDeregMr& request, Empty&) {
  if (!HasMr(request.mrn)) return Error::kBadMrn;
  const bool has_binds = device_.ReadEntry<spec::TableMr>(request.mrn, kRights).mw_bind;
  if (has_binds && !EndBinds(request.mrn, device_.ReadEntry<spec::TableMr>(request.mrn))) return Error::kHandleBusy;
  RemoveMr(request.mrn);
  return Error::kOk;
}

// One write of the entry, which waits for the accesses that the old one allowed; the old translations are in use until
// then. The device may clear an invalidatable entry at any time, also just before the write: only another key keeps the
// old one from being valid again.
Firmware::Error Firmware::ReregMr(const spec::RdmaCmdReregMr& request, spec::RdmaAckReregMr& response) {
  using Flags = spec::RdmaReregFlags;
  constexpr uint32_t known = Flags::kTranslation | Flags::kPd | Flags::kAccess;
  const bool has_pages = (request.flags & Flags::kTranslation) != 0;
  const bool has_pd = (request.flags & Flags::kPd) != 0;
  const bool has_access = (request.flags & Flags::kAccess) != 0;
  if (has_pd && !HasPd(request.pdn)) return Error::kBadPdn;
  if (!HasMr(request.mrn)) return Error::kBadMrn;
  const auto old = device_.ReadEntry<spec::TableMr>(request.mrn);
  if (old.mw_bind && IsBound(request.mrn)) return Error::kHandleBusy;
  if (request.flags == 0 || (request.flags & ~known) != 0 || old.is_fast) return Error::kInvalidParameter;
  if (has_pages && request.is_pmem != 0 && (request.is_pmem != 1 || !HasFlush())) return Error::kInvalidParameter;
  if (has_access && !IsAccessAllowed(request.access_flags)) return Error::kBadAccessFlags;

  auto entry = old;
  if (has_access) SetRights(entry, request.access_flags);
  if (has_pages) {
    entry.dma = false;
    entry.is_pmem = request.is_pmem != 0;
  }
  // Of the rights that it has from now on, and the pages.
  const uint32_t flushes = (entry.flush_global ? spec::IbAccessFlags::kFlushGlobal : 0) |
                           (entry.flush_persistent ? spec::IbAccessFlags::kFlushPersistent : 0);
  if (!IsFlushAllowed(entry, flushes) || !AreWindowsAllowed(entry)) return Error::kBadAccessFlags;
  if (has_pages) {
    entry.page_shift = request.page_shift;
    Error error = CheckPageCount(request.virt_addr, request.length, request.npages, entry.page_shift);
    if (error != Error::kOk) return error;
    entry.first_translation = translation_used_.FindRun(request.npages, config_.num_translations);
    error = LoadPages(spec::RdmaCmdReregMr::kBytes, request.npages, entry.page_shift, entry.first_translation);
    if (error != Error::kOk) return error;
    if (entry.first_translation == kNone) return Error::kNoFreePages;
    entry.npages = request.npages;
    entry.virt_addr = request.virt_addr;
    entry.length = request.length;
  }
  if (has_pd) entry.pdn = static_cast<uint16_t>(request.pdn);
  // Only now: a refused command leaves the region as it was.
  if (!EndBinds(request.mrn, old)) {
    if (has_pages) FreePages(entry.first_translation, entry.npages);
    return Error::kHandleBusy;
  }
  if (entry.invalidatable) entry.key = NextKey(request.mrn);
  device_.WriteEntry(request.mrn, entry);
  if (device_.broken()) return Error::kInternal;
  if (has_pages) FreePages(old.first_translation, old.npages);
  --pd_users_[old.pdn];
  ++pd_users_[entry.pdn];
  response.lkey = response.rkey = spec::RdmaKey{.key = entry.key, .index = request.mrn}.ToWord();
  return Error::kOk;
}

// The device sets key, range, rights and pages, and clears them; the entry keeps what is reserved. Its pages are
// written in pairs.
Firmware::Error Firmware::AllocMr(const spec::RdmaCmdAllocMr& request, spec::RdmaAckAllocMr& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (request.max_pages == 0) return Error::kInvalidParameter;
  if (request.max_pages > MaxFastPages()) return Error::kPageListTooLong;
  if (mr_used_.FindClear(0, config_.num_mrs, 0) == kNone) return Error::kNoFreeMr;
  const uint32_t npages = (request.max_pages + 1) / 2 * 2;
  const uint32_t first = translation_used_.FindRun(npages, config_.num_translations);
  if (first == kNone) return Error::kNoFreePages;

  for (uint32_t i = 0; i < npages; ++i) translation_used_.Set(first + i);
  const uint32_t key = WriteNewMr({.invalidatable = true,
                                   .is_fast = true,
                                   .npages = npages,
                                   .first_translation = first,
                                   .pdn = static_cast<uint16_t>(request.pdn)});
  response = {.mrn = spec::RdmaKey::FromWord(key).index, .lkey = key, .rkey = key};
  return Error::kOk;
}

// Without invalidates the entry is in the device as it was written.
Firmware::Error Firmware::QueryMr(const spec::RdmaCmdQueryMr& request, spec::RdmaAckQueryMr& response) {
  if (!HasMr(request.mrn)) return Error::kBadMrn;
  const auto entry = device_.ReadEntry<spec::TableMr>(request.mrn);
  const bool is_alive = config_.invalidation == 0 || entry.is_alive;
  const uint8_t key = entry.is_fast ? entry.device_key : entry.key;
  response = {.lkey = spec::RdmaKey{.key = key, .index = request.mrn}.ToWord(),
              .pdn = entry.pdn,
              .access_flags = RightsOf(entry),
              .virt_addr = entry.virt_addr,
              .length = entry.length,
              .npages = entry.npages,
              .page_shift = entry.page_shift,
              .is_alive = is_alive,
              .invalidatable = entry.invalidatable,
              .is_fast = entry.is_fast};
  response.rkey = response.lkey;
  return Error::kOk;
}

// --- Memory windows

Firmware::Error Firmware::AllocMw(const spec::RdmaCmdAllocMw& request, spec::RdmaAckAllocMw& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (request.mw_type != spec::RdmaMwType::kType1 && request.mw_type != spec::RdmaMwType::kType2) {
    return Error::kInvalidParameter;
  }
  if (!HasWindows() || mr_used_.FindClear(0, config_.num_mrs, 0) == kNone) return Error::kNoFreeMr;

  const uint32_t key = ActivateMr({.is_window = true,
                                   .is_type_2 = request.mw_type == spec::RdmaMwType::kType2,
                                   .pdn = static_cast<uint16_t>(request.pdn)},
                                  0);
  response = {.mwn = spec::RdmaKey::FromWord(key).index, .rkey = key};
  mw_used_.Set(response.mwn);
  return Error::kOk;
}

Firmware::Error Firmware::DeallocMw(const spec::RdmaCmdDeallocMw& request, Empty&) {
  if (!HasMw(request.mwn)) return Error::kBadMrn;
  RemoveMr(request.mwn);
  return Error::kOk;
}

// The device binds; its windows are asked one by one.
bool Firmware::IsBound(uint32_t mrn) {
  for (uint32_t i = 0; (i = mw_used_.FindSet(i, config_.num_mrs)) != kNone; ++i) {
    const auto window = device_.ReadEntry<spec::TableMr>(i, kBound);
    if (window.is_bound && window.bound_to == mrn) return true;
  }
  return false;
}

bool Firmware::EndBinds(uint32_t mrn, const spec::TableMr& entry) {
  if (!entry.mw_bind) return true;
  if (IsBound(mrn)) return false;
  // One may be on its way: the write waits for it, and refuses those behind.
  auto closed = entry;
  closed.mw_bind = false;
  device_.WriteEntry(mrn, closed);
  if (!IsBound(mrn)) return true;
  device_.WriteEntry(mrn, entry);
  return false;
}

// The number of the queue pair may be that of another one soon.
void Firmware::UnbindWindows(uint32_t qpn) {
  for (uint32_t i = 0; (i = mw_used_.FindSet(i, config_.num_mrs)) != kNone; ++i) {
    const auto window = device_.ReadEntry<spec::TableMr>(i, kRights | kBound | kBoundBy);
    if (window.is_bound && window.is_type_2 && window.bound_by == qpn) device_.RewriteEntry(i, window, 0);
  }
}

// --- Paths, address handles, GIDs ------------------------------------------------------------------------------------

Firmware::Error Firmware::CheckPath(const spec::RdmaAhAttr& path) {
  if (path.grh.flow_label > AllOnes<spec::Ipv6>().flow_label) return Error::kInvalidAttribute;
  const auto gid = device_.ReadEntry<spec::TableGid>(path.grh.sgid_index, WordAt(0));
  if (IsZero(path.grh.dgid) || IsIpv4(path.grh.dgid) != gid.ipv4) return Error::kInvalidAddress;
  return Error::kOk;
}

spec::TablePath Firmware::ResolvePath(const spec::RdmaAhAttr& path) {
  const auto gid = device_.ReadEntry<spec::TableGid>(path.grh.sgid_index);
  spec::TablePath result{.vlan = gid.vlan,
                         .flow_label = path.grh.flow_label,
                         .ipv4 = gid.ipv4,
                         .vlan_present = gid.vlan_present,
                         .traffic_class = path.grh.traffic_class,
                         .hop_limit = path.grh.hop_limit,
                         .sgid_index = path.grh.sgid_index};
  CopyBytes(result.dgid, path.grh.dgid, sizeof(result.dgid));
  CopyBytes(result.sgid, gid.gid, sizeof(result.sgid));
  CopyBytes(result.dmac, path.dmac, sizeof(result.dmac));
  return result;
}

Firmware::Error Firmware::CreateAh(const spec::RdmaCmdCreateAh& request, spec::RdmaAckCreateAh& response) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (!HasGid(request.ah_attr.grh.sgid_index)) return Error::kBadGidIndex;
  const Error error = CheckPath(request.ah_attr);
  if (error != Error::kOk) return error;
  const uint32_t ah = ah_used_.FindClear(0, config_.num_ahs, next_ah_);
  if (ah == kNone) return Error::kNoFreeAh;

  device_.WriteEntry(
      ah,
      spec::TableAh{.valid = true, .pdn = static_cast<uint16_t>(request.pdn), .path = ResolvePath(request.ah_attr)});
  ah_used_.Set(ah);
  next_ah_ = ah + 1;
  ++pd_users_[request.pdn];
  response.ah = ah;
  return Error::kOk;
}

Firmware::Error Firmware::DestroyAh(const spec::RdmaCmdDestroyAh& request, Empty&) {
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (request.ah >= config_.num_ahs || !ah_used_.Test(request.ah)) return Error::kBadAh;
  if (device_.ReadEntry<spec::TableAh>(request.ah, WordAt(spec::TableAh::kPdnOffset)).pdn != request.pdn)
    return Error::kBadAh;

  device_.ClearEntry<spec::TableAh>(request.ah);
  ah_used_.Clear(request.ah);
  --pd_users_[request.pdn];
  return Error::kOk;
}

Firmware::Error Firmware::AddGid(const spec::RdmaCmdAddGid& request, Empty&) {
  spec::TableGid entry{.valid = true, .ipv4 = IsIpv4(request.gid)};
  CopyBytes(entry.gid, request.gid, sizeof(entry.gid));
  if (request.index >= config_.num_gids) return Error::kBadGidIndex;
  if (profile_->rdma_has_additions) {
    if ((request.flags & ~spec::RdmaGidFlags::kVlanPresent) != 0) return Error::kInvalidParameter;
    if (request.gid_type != spec::RdmaGidType::kUnspecified && request.gid_type != spec::RdmaGidType::kRoceV2) {
      return Error::kUnsupportedGidType;
    }
    entry.vlan_present = (request.flags & spec::RdmaGidFlags::kVlanPresent) != 0;
    entry.vlan = request.vlan;
    // The identifier with all bits set is reserved (IEEE 802.1Q, 9.6).
    if (entry.vlan_present ? (entry.vlan & kVlanIdentifier) == kVlanIdentifier : entry.vlan != 0) {
      return Error::kInvalidVlan;
    }
  }
  if (IsZero(request.gid) || IsMulticast(request.gid)) return Error::kInvalidGid;
  if (gid_used_.Test(request.index)) return Error::kGidIndexInUse;
  for (uint32_t i = 0; (i = gid_used_.FindSet(i, config_.num_gids)) != kNone; ++i) {
    const auto other = device_.ReadEntry<spec::TableGid>(i);
    if (SameBytes(other.gid, entry.gid, sizeof(entry.gid)) && other.vlan_present == entry.vlan_present &&
        (other.vlan & kVlanIdentifier) == (entry.vlan & kVlanIdentifier)) {
      return Error::kGidDuplicate;
    }
  }

  device_.WriteEntry(request.index, entry);
  gid_used_.Set(request.index);
  return Error::kOk;
}

Firmware::Error Firmware::DelGid(const spec::RdmaCmdDelGid& request, Empty&) {
  if (!HasGid(request.index)) return Error::kBadGidIndex;
  device_.ClearEntry<spec::TableGid>(request.index);
  gid_used_.Clear(request.index);
  return Error::kOk;
}

// --- Windows ---------------------------------------------------------------------------------------------------------

Firmware::Error Firmware::SetWindow(const spec::RdmaCmdSetWindow& request, Empty&) {
  const bool enable = (request.flags & spec::RdmaWindowFlags::kEnable) != 0;
  const uint64_t last = request.base + (request.length - 1);
  if (request.vq_index >= QueueCount() || request.vq_index == ControlQueue()) return Error::kBadVqIndex;
  if ((request.flags & ~spec::RdmaWindowFlags::kEnable) != 0) return Error::kInvalidParameter;
  if (enable && (request.length == 0 || last < request.base)) return Error::kInvalidWindow;

  if (enable) {
    device_.WriteEntry(request.vq_index, spec::TableWindow{.enable = true, .base = request.base, .last = last});
    window_used_.Set(request.vq_index);
  } else {
    device_.ClearEntry<spec::TableWindow>(request.vq_index);
    window_used_.Clear(request.vq_index);
  }
  return Error::kOk;
}

}  // namespace vireo::firmware
