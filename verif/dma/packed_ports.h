// SPDX-License-Identifier: Apache-2.0
// Ports that are packed arrays of streams, for BlockBench: each stream as ports of its own, copied to and from the
// array once per cycle.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "model/common/cycle.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

inline void CopyBits(std::span<const uint8_t> from, size_t from_bit, std::span<uint8_t> to, size_t to_bit,
                     size_t bits) {
  for (size_t i = 0; i < bits; ++i, ++from_bit, ++to_bit) {
    const auto mask = static_cast<uint8_t>(1u << to_bit % 8);
    const bool value = (from[from_bit / 8] >> from_bit % 8 & 1) != 0;
    to[to_bit / 8] = static_cast<uint8_t>(value ? to[to_bit / 8] | mask : to[to_bit / 8] & ~mask);
  }
}

template <size_t kBits>
struct StreamPorts {
  uint8_t valid = 0;
  uint8_t ready = 0;
  std::array<uint8_t, (kBits + 7) / 8> data{};
};

// Bit `index` of a port of up to 8 bits.
template <typename Port>
void SetBit(Port& port, size_t index, bool value) {
  port = static_cast<Port>(value ? port | 1u << index : port & ~(1u << index));
}
template <typename Port>
uint8_t Bit(const Port& port, size_t index) {
  return port >> index & 1;
}

// Any other action of a bench in a cycle. `begin` and `end` return a difference or nothing.
class Other final : public BenchStream {
 public:
  using Step = std::function<std::string(model::Cycle)>;
  Other(Step begin, Step end) : begin_(std::move(begin)), end_(std::move(end)) {}
  void Begin(model::Cycle cycle) override { Do(begin_, cycle); }
  void End(model::Cycle cycle) override { Do(end_, cycle); }
  bool IsEmpty() const override { return true; }

 private:
  void Do(const Step& step, model::Cycle cycle) {
    if (!step) return;
    if (std::string text = step(cycle); !text.empty()) difference = "cycle " + std::to_string(cycle) + ": " + text;
  }
  Step begin_, end_;
};

}  // namespace vireo::verif
