// SPDX-License-Identifier: Apache-2.0
// External memory, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/pcie/host_memory.h"

namespace vireo::sim {

// Plain bytes, and a log of the accesses, in order: "read OFFSET+BYTES", "write OFFSET+BYTES".
class RecordedMemory final : public MemoryBackend {
 public:
  // `bytes` and `calls` outlive it; several may share `calls`.
  RecordedMemory(std::vector<uint8_t>& bytes, std::vector<std::string>& calls)
      : good_bytes(bytes.size()), bytes_(bytes), calls_(calls) {}

  bool Read(uint64_t offset, std::span<uint8_t> data) override {
    if (!Record("read ", offset, data.size())) return false;
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), data.size(), data.begin());
    return true;
  }
  bool Write(uint64_t offset, std::span<const uint8_t> data) override {
    if (!Record("write ", offset, data.size())) return false;
    std::ranges::copy(data, bytes_.begin() + static_cast<ptrdiff_t>(offset));
    return true;
  }

  size_t good_bytes;  // accesses beyond them fail

 private:
  bool Record(const char* what, uint64_t offset, size_t bytes) {
    calls_.push_back(what + std::to_string(offset) + "+" + std::to_string(bytes));
    return offset + bytes <= good_bytes;
  }

  std::vector<uint8_t>& bytes_;
  std::vector<std::string>& calls_;
};

}  // namespace vireo::sim
