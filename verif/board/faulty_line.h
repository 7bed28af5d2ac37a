// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/device/board/byte_line.h"

namespace vireo::sim {

// A line that loses, doubles and damages bytes, both ways, each with this chance per million.
class FaultyLine final : public ByteLine {
 public:
  FaultyLine(std::unique_ptr<ByteLine> line, uint32_t per_million, std::mt19937_64 random)
      : line_(std::move(line)), per_million_(per_million), random_(random) {}
  bool Send(std::span<const uint8_t> bytes) override { return line_->Send(Damaged(bytes)); }
  bool Receive(std::vector<uint8_t>& bytes) override {
    std::vector<uint8_t> whole;
    if (!line_->Receive(whole)) return false;
    const std::vector<uint8_t> arrived = Damaged(whole);
    bytes.insert(bytes.end(), arrived.begin(), arrived.end());
    return true;
  }

 private:
  std::vector<uint8_t> Damaged(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> result;
    for (const uint8_t byte : bytes) {
      const uint64_t dice = UniformBelow(random_, 1'000'000);
      if (dice < per_million_) continue;
      result.push_back(dice < 2 * per_million_ ? static_cast<uint8_t>(byte ^ 1u << UniformBelow(random_, 8)) : byte);
      if (dice >= 2 * per_million_ && dice < 3 * per_million_) result.push_back(byte);
    }
    return result;
  }
  const std::unique_ptr<ByteLine> line_;
  const uint32_t per_million_;
  std::mt19937_64 random_;
};

}  // namespace vireo::sim
