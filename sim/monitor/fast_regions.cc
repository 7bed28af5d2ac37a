// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/fast_regions.h"

#include <algorithm>
#include <optional>

#include "sim/monitor/key_rights.h"

namespace vireo::sim::monitor {
namespace {

using Access = spec::IbAccessFlags;

}  // namespace

void FastRegions::Clear() {
  registrations_.clear();
  invalidates_.clear();
}

uint64_t FastRegions::OnRegister(uint16_t pdn, const spec::RdmaSqReqReg& reg, const SendData& data) {
  const uint64_t number = ++numbers_;
  const spec::TableMr* const region = find_(IndexOf(reg.key));
  if (region == nullptr || !region->is_fast || region->pdn != pdn || reg.length == 0) return number;
  if (reg.page_shift < spec::kRdmaPageShiftMin || reg.page_shift > spec::kRdmaPageShiftMax) return number;
  const uint32_t changes = Access::kRemoteWrite | Access::kRemoteAtomic;
  if ((reg.access_flags & changes) != 0 && (reg.access_flags & Access::kLocalWrite) == 0) return number;
  // It has no more pages than were allocated.
  const uint64_t in_page = reg.virt_addr & ((uint64_t{1} << reg.page_shift) - 1);
  const uint64_t room = uint64_t{region->npages} << reg.page_shift;
  if (reg.length > room || in_page > room - reg.length) return number;
  registrations_.push_back(
      {.number = number, .pdn = pdn, .reg = reg, .data = data, .invalidates = invalidates_[reg.key].begun});
  return number;
}

void FastRegions::OnRegistered(uint64_t number) {
  const auto found = std::ranges::find(registrations_, number, &Registration::number);
  if (found == registrations_.end()) return;
  const uint32_t region = IndexOf(found->reg.key);
  std::erase_if(registrations_,
                [&](const Registration& other) { return other.number < number && IndexOf(other.reg.key) == region; });
}

void FastRegions::OnInvalidate(uint32_t key) { ++invalidates_[key].begun; }

void FastRegions::OnInvalidated(uint32_t key) {
  const uint64_t ended = ++invalidates_[key].ended;
  std::erase_if(registrations_, [&](const Registration& one) { return one.reg.key == key && one.invalidates < ended; });
}

void FastRegions::OnDeallocated(uint32_t region) {
  std::erase_if(registrations_, [&](const Registration& one) { return IndexOf(one.reg.key) == region; });
}

bool FastRegions::HasPlace(const Registration& one, uint64_t place, uint64_t bytes) {
  const std::optional<uint32_t> elements = one.data.Elements();
  if (!elements.has_value() || one.data.bytes == nullptr) return false;
  const uint64_t page_bytes = uint64_t{1} << one.reg.page_shift;
  const uint64_t begin = one.reg.virt_addr & (page_bytes - 1), end = begin + one.reg.length;
  for (uint64_t page = 0; page < 2 * uint64_t{*elements} && page * page_bytes < end; ++page) {
    const size_t at = one.data.begin + page / 2 * spec::RdmaPagePair::kBytes;
    if (at + spec::RdmaPagePair::kBytes > one.data.bytes->size()) return false;  // not read
    const auto pair = spec::RdmaPagePair::Decode(one.data.bytes->data() + at);
    const uint64_t address = page % 2 == 0 ? pair.first : pair.second;
    const uint64_t from = page == 0 ? begin : 0, to = std::min(page_bytes, end - page * page_bytes);
    if (IsInside(address + from, to - from, place, bytes)) return true;
  }
  return false;
}

bool FastRegions::Contains(uint64_t place, uint64_t bytes) const {
  return std::ranges::any_of(registrations_, [&](const Registration& one) { return HasPlace(one, place, bytes); });
}

bool FastRegions::MayAccess(uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address,
                            uint64_t bytes) const {
  return std::ranges::any_of(registrations_, [&](const Registration& one) {
    return one.reg.key == rkey && one.pdn == pdn && (one.reg.access_flags & AccessOf(right)) != 0 &&
           IsInside(one.reg.virt_addr, one.reg.length, address, bytes);
  });
}

bool FastRegions::MayInvalidate(uint32_t key, uint16_t pdn) const {
  return std::ranges::any_of(registrations_,
                             [&](const Registration& one) { return one.reg.key == key && one.pdn == pdn; });
}

}  // namespace vireo::sim::monitor
