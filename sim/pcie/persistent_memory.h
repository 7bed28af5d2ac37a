// SPDX-License-Identifier: Apache-2.0
// Persistent memory of a host behind a buffer of its controller that loses what it holds with the power: a device's
// write is visible at once, and survives when the buffer has written it to the medium. That happens when the buffer is
// full, one write at a time and in any order, and of all of them before a device's read of this memory is answered: a
// read pushes the writes before it (PCI Express 5.0, 2.4.1), and so does the controller with those that it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "sim/pcie/host_memory.h"

namespace vireo::sim {

class PersistentMemory {
 public:
  // All of `region`, as it is now, on the medium. The buffer holds up to `most_held` writes. Takes the memory's
  // OnAccess; `memory` outlives the object.
  PersistentMemory(HostMemory& memory, const DmaRegion& region, size_t most_held, uint64_t seed);
  ~PersistentMemory();
  PersistentMemory(const PersistentMemory&) = delete;
  PersistentMemory& operator=(const PersistentMemory&) = delete;

  // What is there after power fails now.
  const std::vector<uint8_t>& medium() const { return medium_; }
  size_t held() const { return held_.size(); }

 private:
  struct Held {
    uint64_t offset = 0;
    std::vector<uint8_t> data;
  };

  void OnAccess(uint64_t address, uint64_t bytes, std::span<const uint8_t> written);
  void Store(size_t index);

  HostMemory& memory_;
  const uint64_t first_;
  const size_t most_held_;
  std::vector<uint8_t> medium_;
  std::deque<Held> held_;  // in the order of arrival
  std::mt19937_64 random_;
};

}  // namespace vireo::sim
