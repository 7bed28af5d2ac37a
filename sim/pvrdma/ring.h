// SPDX-License-Identifier: Apache-2.0
// The function's end of a ring in guest memory. It keeps its own index and reads only the guest's, which may be
// anything at any time: an index that no guest can have reached stops the ring.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

#include "sim/pvrdma/abi.h"

namespace vireo::sim::pvrdma {

// Index in shared memory. The guest sees an entry's bytes before the index that publishes it, and the other way round.
inline uint32_t LoadIndex(const uint8_t* at) {
  return std::atomic_ref(*reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(at))).load(std::memory_order_acquire);
}
inline void StoreIndex(uint8_t* at, uint32_t index) {
  std::atomic_ref(*reinterpret_cast<uint32_t*>(at)).store(index, std::memory_order_release);
}

class RingEnd {
 public:
  RingEnd() = default;
  // `entries` is a power of two; `own` and `other` are the indices in guest memory.
  RingEnd(uint32_t entries, uint8_t* own, const uint8_t* other) : entries_(entries), own_(own), other_(other) {}

  uint32_t entries() const { return entries_; }
  uint32_t slot() const { return index_ & (entries_ - 1); }  // of the next entry
  bool is_stopped() const { return is_stopped_; }

  // Consumer: entries to take. Producer: entries not yet taken by the guest. Nothing: the ring has just stopped, or is
  // stopped.
  std::optional<uint32_t> Available() {
    const uint32_t other = LoadIndex(other_);
    return Check(other, other - index_);
  }
  std::optional<uint32_t> Outstanding() {
    const uint32_t other = LoadIndex(other_);
    return Check(other, index_ - other);
  }

  // Passes on the entry at slot().
  void Advance() {
    index_ = (index_ + 1) & (2 * entries_ - 1);
    StoreIndex(own_, index_);
  }
  // As the guest does: both indices become 0.
  void Restart() {
    index_ = 0;
    is_stopped_ = false;
  }

 private:
  std::optional<uint32_t> Check(uint32_t other, uint32_t distance) {
    distance &= 2 * entries_ - 1;
    if (other >= 2 * entries_ || distance > entries_) is_stopped_ = true;
    return is_stopped_ ? std::nullopt : std::optional(distance);
  }

  uint32_t entries_ = 0, index_ = 0;
  uint8_t* own_ = nullptr;
  const uint8_t* other_ = nullptr;
  bool is_stopped_ = false;
};

// Entries of a ring whose pages hold `slots`. Drivers count by masks (pvrdma_ring.h: index + 1 masked by 2 n - 1, slot
// masked by n - 1), which for the 3 pages that Linux takes, not a power of two, gives a ring of the largest power of
// two that divides n.
inline uint32_t UsableEntries(uint32_t slots) { return slots & (~slots + 1); }

}  // namespace vireo::sim::pvrdma
