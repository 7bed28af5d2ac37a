// SPDX-License-Identifier: Apache-2.0
// Flips of context memories into a block that keeps some, RTL and model alike, and its parity_error: for
// BlockBench::AddOther.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {

template <typename Top, typename Block>
class ContextBench final : public BenchStream {
 public:
  ContextBench(Top& ports, Block& block) : p_(ports), block_(block) {
    p_.context_flip_valid_i = 0;
    block_.on_parity_error = [this](model::Cycle at) { told_.insert(at); };
  }
  void Begin(model::Cycle cycle) override {
    p_.context_flip_valid_i = !flips.empty() && cycle % period == 0;
    if (!p_.context_flip_valid_i) return;
    SetPort(p_.context_flip_i, flips.front());
    block_.OnContextFlip(cycle, flips.front());
    flips.pop_front();
  }
  void End(model::Cycle cycle) override {
    told_.erase(told_.begin(), told_.lower_bound(cycle));
    const bool in_model = told_.contains(cycle);
    if ((p_.parity_error_o != 0) != in_model) {
      difference = "cycle " + std::to_string(cycle) + ": " + Same("parity_error", p_.parity_error_o, in_model);
    }
    if (in_model) errors.push_back(cycle);
  }
  bool IsEmpty() const override { return flips.empty(); }

  void Flip(spec::ContextRam ram, uint32_t index, uint32_t bit = 0) {
    flips.push_back({.ram = ram, .index = index, .bit_index = static_cast<uint16_t>(bit)});
  }

  std::deque<spec::ContextFlip> flips;  // one in each of the next cycles, or in every `period` of them
  unsigned period = 1;
  std::vector<model::Cycle> errors;  // of the pulses

 private:
  Top& p_;
  Block& block_;
  std::set<model::Cycle> told_;
};

}  // namespace vireo::verif
