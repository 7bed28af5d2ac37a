// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/protection_domain.h"

#include <utility>
#include <vector>

#include "host/verbs/queue_pair.h"

namespace vireo::verbs {

// The object owns no DMA memory, so the result of the command is irrelevant.
MemoryRegion::~MemoryRegion() {
  if (!is_left_) static_cast<void>(Deregister());
}

Status MemoryRegion::Deregister() {
  Status deregistered = pd_->device().base().roce().DeregMr(mrn_);
  if (deregistered.ok()) is_left_ = true;
  return deregistered;
}

MemoryWindow::~MemoryWindow() {
  if (!is_free_) static_cast<void>(Deallocate());
}

Status MemoryWindow::Deallocate() {
  Status freed = pd_->device().base().roce().DeallocMw(mwn_);
  if (freed.ok()) is_free_ = true;
  return freed;
}

Status MemoryRegion::Modify(const Change& change) {
  using Flags = spec::RdmaReregFlags;
  if (change.pd != nullptr && &change.pd->device() != &pd_->device()) {
    return Error{ErrorCode::kInvalidArgument, "a protection domain of another device"};
  }
  spec::RdmaCmdReregMr request{.mrn = mrn_};
  std::span<const uint64_t> pages;
  if (change.pages.has_value()) {
    request.flags |= Flags::kTranslation;
    request.virt_addr = change.pages->virtual_address;
    request.length = change.pages->length;
    request.page_shift = change.pages->page_shift;
    request.is_pmem = static_cast<uint8_t>(change.pages->is_pmem);
    pages = change.pages->addresses;
  }
  if (change.pd != nullptr) {
    request.flags |= Flags::kPd;
    request.pdn = change.pd->pdn();
  }
  if (change.access.has_value()) {
    request.flags |= Flags::kAccess;
    request.access_flags = *change.access;
  }
  if (request.flags == 0) return Error{ErrorCode::kInvalidArgument, "nothing to change of a memory region"};
  Result<spec::RdmaAckReregMr> keys = pd_->device().base().roce().ReregMr(request, pages);
  if (!keys.ok()) return keys.error();
  lkey_ = keys->lkey;
  rkey_ = keys->rkey;
  if (change.pages.has_value()) {
    address_ = request.virt_addr;
    length_ = request.length;
  }
  if (change.pd != nullptr) pd_ = change.pd;
  return {};
}

Result<spec::RdmaAckQueryMr> MemoryRegion::Query() { return pd_->device().base().roce().QueryMr(mrn_); }

AddressHandle::~AddressHandle() { static_cast<void>(pd_->device().base().roce().DestroyAh(pd_->pdn(), handle_)); }
ProtectionDomain::~ProtectionDomain() {
  if (!is_left_) static_cast<void>(Destroy());
}

Status ProtectionDomain::Destroy() {
  Status destroyed = device_->base().roce().DestroyPd(pdn_);
  if (destroyed.ok()) is_left_ = true;
  return destroyed;
}

Result<std::shared_ptr<MemoryRegion>> ProtectionDomain::Register(const host::DmaMemory& memory, uint32_t access,
                                                                 uint64_t virtual_address) {
  constexpr uint64_t kPageBytes = uint64_t{1} << spec::kRdmaPageShiftDefault;
  const uint64_t first = memory.address() / kPageBytes * kPageBytes;
  std::vector<uint64_t> pages;
  for (uint64_t page = first; page < memory.address() + memory.size(); page += kPageBytes) pages.push_back(page);
  return Register(virtual_address, memory.size(), access, 0, pages);
}

Result<std::shared_ptr<MemoryRegion>> ProtectionDomain::Register(uint64_t virtual_address, uint64_t length,
                                                                 uint32_t access, uint8_t page_shift,
                                                                 std::span<const uint64_t> pages, bool invalidatable,
                                                                 bool is_pmem) {
  const spec::RdmaCmdRegUserMr request{.pdn = pdn_,
                                       .access_flags = access,
                                       .virt_addr = virtual_address,
                                       .length = length,
                                       .page_shift = page_shift,
                                       .invalidatable = static_cast<uint8_t>(invalidatable),
                                       .is_pmem = static_cast<uint8_t>(is_pmem)};
  Result<spec::RdmaAckRegUserMr> region = device_->base().roce().RegUserMr(request, pages);
  if (!region.ok()) return region.error();
  return std::shared_ptr<MemoryRegion>(
      new MemoryRegion(shared_from_this(), region->mrn, region->lkey, region->rkey, virtual_address, length));
}

Result<std::shared_ptr<MemoryRegion>> ProtectionDomain::AllocateRegion(uint32_t max_pages) {
  if (device_->max_fast_pages() == 0) {
    return Error{ErrorCode::kUnsupported, "the device registers no memory by work requests"};
  }
  Result<spec::RdmaAckAllocMr> region = device_->base().roce().AllocMr(pdn_, max_pages);
  if (!region.ok()) return region.error();
  return std::shared_ptr<MemoryRegion>(
      new MemoryRegion(shared_from_this(), region->mrn, region->lkey, region->rkey, 0, 0));
}

Result<std::shared_ptr<MemoryWindow>> ProtectionDomain::AllocateWindow(spec::RdmaMwType type) {
  if (!device_->has_windows()) return Error{ErrorCode::kUnsupported, "the device has no memory windows"};
  Result<spec::RdmaAckAllocMw> window = device_->base().roce().AllocMw(pdn_, type);
  if (!window.ok()) return window.error();
  return std::shared_ptr<MemoryWindow>(new MemoryWindow(shared_from_this(), window->mwn, window->rkey, type));
}

std::shared_ptr<MemoryRegion> ProtectionDomain::ImportMr(uint32_t mrn, uint32_t lkey, uint32_t rkey, uint64_t address,
                                                         uint64_t length) {
  return std::shared_ptr<MemoryRegion>(new MemoryRegion(shared_from_this(), mrn, lkey, rkey, address, length));
}

Result<std::shared_ptr<MemoryRegion>> ProtectionDomain::RegisterAll(uint32_t access) {
  Result<spec::RdmaAckGetDmaMr> region = device_->base().roce().GetDmaMr(pdn_, access);
  if (!region.ok()) return region.error();
  return std::shared_ptr<MemoryRegion>(
      new MemoryRegion(shared_from_this(), region->mrn, region->lkey, region->rkey, 0, ~uint64_t{0}));
}

Result<std::shared_ptr<AddressHandle>> ProtectionDomain::CreateAh(const spec::RdmaAhAttr& attributes) {
  Result<uint32_t> handle = device_->base().roce().CreateAh(pdn_, attributes);
  if (!handle.ok()) return handle.error();
  return std::shared_ptr<AddressHandle>(new AddressHandle(shared_from_this(), *handle));
}

Result<std::shared_ptr<QueuePair>> ProtectionDomain::CreateQp(const QueuePairOptions& options) {
  return QueuePair::Create(shared_from_this(), options);
}

Result<std::shared_ptr<SharedReceiveQueue>> ProtectionDomain::CreateSrq(const SharedReceiveQueueOptions& options) {
  if (device_->attributes().max_srq == 0) {
    return Error{ErrorCode::kUnsupported, "the device has no shared receive queues"};
  }
  return SharedReceiveQueue::Create(shared_from_this(), options);
}

}  // namespace vireo::verbs
