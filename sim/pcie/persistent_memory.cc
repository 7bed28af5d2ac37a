// SPDX-License-Identifier: Apache-2.0
#include "sim/pcie/persistent_memory.h"

#include <algorithm>

#include "sim/common/random.h"

namespace vireo::sim {

PersistentMemory::PersistentMemory(HostMemory& memory, const DmaRegion& region, size_t most_held, uint64_t seed)
    : memory_(memory),
      first_(region.address),
      most_held_(most_held),
      medium_(region.data.begin(), region.data.end()),
      random_(seed) {
  memory_.OnAccess([this](uint64_t address, uint64_t bytes, std::span<const uint8_t> written) {
    OnAccess(address, bytes, written);
  });
}

PersistentMemory::~PersistentMemory() { memory_.OnAccess(nullptr); }

void PersistentMemory::OnAccess(uint64_t address, uint64_t bytes, std::span<const uint8_t> written) {
  const uint64_t begin = std::max(address, first_);
  const uint64_t end = std::min(address + bytes, first_ + medium_.size());
  if (begin >= end) return;  // another controller's
  if (written.empty()) {
    while (!held_.empty()) Store(0);
    return;
  }
  const auto part = written.subspan(begin - address, end - begin);
  held_.push_back({.offset = begin - first_, .data = {part.begin(), part.end()}});
  if (held_.size() <= most_held_) return;
  // Of writes to the same bytes the earliest first.
  size_t index = UniformBelow(random_, held_.size());
  for (size_t i = 0; i < index; ++i) {
    const Held &a = held_[i], &b = held_[index];
    if (a.offset < b.offset + b.data.size() && b.offset < a.offset + a.data.size()) index = i;
  }
  Store(index);
}

void PersistentMemory::Store(size_t index) {
  const Held& held = held_[index];
  std::ranges::copy(held.data, medium_.begin() + static_cast<ptrdiff_t>(held.offset));
  held_.erase(held_.begin() + static_cast<ptrdiff_t>(index));
}

}  // namespace vireo::sim
