// SPDX-License-Identifier: Apache-2.0
// Extents of memory with owners, for one question: does a single extent contain these bytes? Extents may overlap.
// Addresses are DMA addresses; an extent that would pass the end of the address space ends there.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace vireo::sim::monitor {

class ExtentMap {
 public:
  void Add(uint64_t owner, uint64_t address, uint64_t bytes);
  // Removes one extent that was added with the same arguments; none: no effect.
  void Remove(uint64_t owner, uint64_t address, uint64_t bytes);
  void Clear();
  // The bytes do not cross a multiple of 4 KiB, as every DMA access (nic.h).
  bool Contains(uint64_t address, uint32_t bytes) const;

 private:
  struct Extent {
    uint64_t owner = 0, address = 0;
    uint64_t last = 0;  // last address inside
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  static constexpr Extent kNothing = {.owner = 0, .address = ~uint64_t{0}, .last = 0};
  static constexpr unsigned kPageShift = 12;
  static constexpr uint64_t kMostPages = 4096;  // larger extents are in `large_`

  std::unordered_map<uint64_t, std::vector<Extent>> pages_;  // by address >> kPageShift
  std::vector<Extent> large_;
  mutable Extent found_ = kNothing;  // the last one that Contains found: most accesses are next to each other
};

}  // namespace vireo::sim::monitor
