// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/extent_map.h"

#include <algorithm>

namespace vireo::sim::monitor {
namespace {

uint64_t LastOf(uint64_t address, uint64_t bytes) {
  const uint64_t last = address + bytes - 1;
  return last < address ? ~uint64_t{0} : last;
}

}  // namespace

void ExtentMap::Add(uint64_t owner, uint64_t address, uint64_t bytes) {
  if (bytes == 0) return;
  const Extent extent = {owner, address, LastOf(address, bytes)};
  const uint64_t first_page = address >> kPageShift, last_page = extent.last >> kPageShift;
  if (last_page - first_page >= kMostPages) {
    large_.push_back(extent);
    return;
  }
  for (uint64_t page = first_page; page <= last_page; ++page) pages_[page].push_back(extent);
}

void ExtentMap::Remove(uint64_t owner, uint64_t address, uint64_t bytes) {
  if (bytes == 0) return;
  found_ = kNothing;
  const Extent extent = {owner, address, LastOf(address, bytes)};
  const auto erase_from = [&extent](std::vector<Extent>& list) {
    const auto at = std::ranges::find(list, extent);
    if (at == list.end()) return;
    *at = list.back();
    list.pop_back();
  };
  const uint64_t first_page = address >> kPageShift, last_page = extent.last >> kPageShift;
  if (last_page - first_page >= kMostPages) return erase_from(large_);
  for (uint64_t page = first_page; page <= last_page; ++page) {
    const auto found = pages_.find(page);
    if (found != pages_.end()) erase_from(found->second);
  }
}

void ExtentMap::Clear() {
  found_ = kNothing;
  pages_.clear();
  large_.clear();
}

bool ExtentMap::Contains(uint64_t address, uint32_t bytes) const {
  const uint64_t last = LastOf(address, bytes);
  const auto contains = [&](const Extent& extent) {
    if (extent.address > address || last > extent.last) return false;
    found_ = extent;
    return true;
  };
  if (found_.address <= address && last <= found_.last) return true;
  const auto found = pages_.find(address >> kPageShift);
  if (found != pages_.end() && std::ranges::any_of(found->second, contains)) return true;
  return std::ranges::any_of(large_, contains);
}

}  // namespace vireo::sim::monitor
