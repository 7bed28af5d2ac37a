// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/memory_windows.h"

#include <algorithm>

#include "sim/monitor/key_rights.h"

namespace vireo::sim::monitor {
namespace {

using Access = spec::IbAccessFlags;

}  // namespace

void MemoryWindows::Clear() {
  bindings_.clear();
  invalidates_.clear();
}

uint64_t MemoryWindows::OnBind(uint32_t qpn, uint16_t pdn, const spec::RdmaSqReqBind& bind) {
  const uint64_t number = ++numbers_;
  const spec::TableMr* const window = find_(IndexOf(bind.rkey));
  if (window == nullptr || !window->valid || !window->is_window || window->pdn != pdn || bind.length == 0) {
    return number;
  }
  if (!window->is_type_2 && (bind.access_flags & Access::kZeroBased) != 0) return number;
  const spec::TableMr* const region = find_(IndexOf(bind.lkey));
  if (region == nullptr || !region->valid || region->is_window || !region->mw_bind || region->pdn != pdn ||
      region->key != spec::RdmaKey::FromWord(bind.lkey).key) {
    return number;
  }
  const bool changes = (bind.access_flags & (Access::kRemoteWrite | Access::kRemoteAtomic)) != 0;
  if ((changes && !region->local_write) || !IsInside(region->virt_addr, region->length, bind.addr, bind.length)) {
    return number;
  }
  bindings_.push_back({.number = number,
                       .qpn = qpn,
                       .pdn = pdn,
                       .is_type_2 = window->is_type_2,
                       .bind = bind,
                       .invalidates = invalidates_[bind.rkey].begun});
  return number;
}

void MemoryWindows::OnBound(uint64_t number) {
  const auto found = std::ranges::find(bindings_, number, &Binding::number);
  if (found == bindings_.end()) return;
  const uint32_t window = IndexOf(found->bind.rkey);
  std::erase_if(bindings_,
                [&](const Binding& other) { return other.number < number && IndexOf(other.bind.rkey) == window; });
}

void MemoryWindows::OnInvalidate(uint32_t rkey) { ++invalidates_[rkey].begun; }

void MemoryWindows::OnInvalidated(uint32_t rkey) {
  const uint64_t ended = ++invalidates_[rkey].ended;
  std::erase_if(bindings_, [&](const Binding& one) { return one.bind.rkey == rkey && one.invalidates < ended; });
}

void MemoryWindows::OnDeallocated(uint32_t window) {
  std::erase_if(bindings_, [&](const Binding& one) { return IndexOf(one.bind.rkey) == window; });
}

bool MemoryWindows::MayAccess(uint32_t qpn, uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address,
                              uint64_t bytes) const {
  return std::ranges::any_of(bindings_, [&](const Binding& one) {
    const uint64_t first = (one.bind.access_flags & Access::kZeroBased) != 0 ? 0 : one.bind.addr;
    return one.bind.rkey == rkey && one.pdn == pdn && (!one.is_type_2 || one.qpn == qpn) &&
           (one.bind.access_flags & AccessOf(right)) != 0 && IsInside(first, one.bind.length, address, bytes);
  });
}

bool MemoryWindows::MayInvalidate(uint32_t qpn, uint32_t rkey, uint16_t pdn) const {
  return std::ranges::any_of(bindings_, [&](const Binding& one) {
    return one.bind.rkey == rkey && one.pdn == pdn && one.is_type_2 && one.qpn == qpn;
  });
}

}  // namespace vireo::sim::monitor
