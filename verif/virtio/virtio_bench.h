// SPDX-License-Identifier: Apache-2.0
// Shared code of the tests of host-side blocks: streams of the bench for ports without ready.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/common/cycle.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

// Any action of a test in every cycle: `begin` sets inputs, `end` returns a difference or nothing.
class EveryCycle final : public BenchStream {
 public:
  using Do = std::function<void(model::Cycle)>;
  using Compare = std::function<std::string(model::Cycle)>;
  EveryCycle(Do begin, Compare end) : begin_(std::move(begin)), end_(std::move(end)) {}
  void Begin(model::Cycle cycle) override {
    if (begin_) begin_(cycle);
  }
  void End(model::Cycle cycle) override {
    if (end_) difference = end_(cycle);
  }
  bool IsEmpty() const override { return true; }

 private:
  Do begin_;
  Compare end_;
};

// A pulse that leaves: the model reports it in its cycle, the RTL has it in valid and data.
template <typename T>
class ModelPulse {
 public:
  void operator()(model::Cycle cycle, const T& what) { all.push_back({cycle, what}); }
  // `valid` and `what` are the RTL's.
  template <typename Text>
  std::string Compare(const char* name, model::Cycle cycle, bool valid, const T& what, Text text) const {
    const bool in_model = !all.empty() && all.back().first == cycle;
    const std::string at = std::string(name) + ": cycle " + std::to_string(cycle) + ": ";
    if (valid && !in_model) return at + "leaves the RTL only: " + text(what);
    if (!valid && in_model) return at + "leaves the model only: " + text(all.back().second);
    if (valid && !(what == all.back().second)) return at + "RTL: " + text(what) + "\nmodel: " + text(all.back().second);
    return {};
  }
  std::vector<std::pair<model::Cycle, T>> all;
};

template <typename Port>
void AppendBytes(std::vector<uint8_t>& bytes, const Port& port) {
  const auto from = BytesOf(port);
  bytes.insert(bytes.end(), from.begin(), from.end());
}

}  // namespace vireo::verif
