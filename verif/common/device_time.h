// SPDX-License-Identifier: Apache-2.0
// Device time for benches of blocks that depend on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "verif/common/block_bench.h"

namespace vireo::verif {

// Device time: a fixed step per cycle, and jumps where the clock was stopped.
class DeviceTime {
 public:
  explicit DeviceTime(uint64_t period_ns) : period_ns_(period_ns) {}

  uint64_t At(model::Cycle cycle) const {
    const auto after = std::upper_bound(leaps_.begin(), leaps_.end(), std::pair(cycle, ~uint64_t{0}));
    return 1'000'000 + cycle * period_ns_ + (after == leaps_.begin() ? 0 : std::prev(after)->second);
  }
  model::Cycle CycleAt(uint64_t time_ns) const {
    model::Cycle low = 0;
    model::Cycle high = model::Cycle{1} << 45;
    while (low < high) {
      const model::Cycle middle = (low + high) / 2;
      if (At(middle) >= time_ns) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  // The clock is stopped before this cycle.
  void Leap(model::Cycle cycle, uint64_t ns) {
    const auto next = std::upper_bound(leaps_.begin(), leaps_.end(), std::pair(cycle, ~uint64_t{0}));
    const uint64_t before = next == leaps_.begin() ? 0 : std::prev(next)->second;
    for (auto later = leaps_.insert(next, {cycle, before}); later != leaps_.end(); ++later) later->second += ns;
  }

 private:
  uint64_t period_ns_;
  std::vector<std::pair<model::Cycle, uint64_t>> leaps_;  // first cycle, total
};

template <typename Port>
class DeviceTimeInput final : public BenchStream {
 public:
  DeviceTimeInput(Port& port, const DeviceTime& time) : port_(port), time_(time) {}
  void Begin(model::Cycle cycle) override { port_ = time_.At(cycle); }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return true; }

 private:
  Port& port_;
  const DeviceTime& time_;
};

}  // namespace vireo::verif
