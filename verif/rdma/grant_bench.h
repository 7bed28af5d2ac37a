// SPDX-License-Identifier: Apache-2.0
// Grants of memory accesses in block tests: those that stand in for memory check's, and the comparison of their ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

// Of an access: both epochs occur.
inline spec::MemoryGrant GrantOf(uint64_t address) { return {.valid = true, .epoch = (address >> 3 & 1) != 0}; }

// Compares grant_ended_o with the model's reports in every cycle.
template <typename Port, typename Block>
class GrantEnds final : public BenchStream {
 public:
  GrantEnds(const Port& port, Block& block) : port_(port) {
    block.on_grant_ended = [this](model::Cycle, model::Cycle at, const spec::MemoryGrant& grant) {
      if (!due_.emplace(at, grant).second) difference = "two ends of the model in cycle " + std::to_string(at);
    };
  }
  void Begin(model::Cycle) override {}
  void End(model::Cycle cycle) override {
    const auto due = due_.find(cycle);
    const spec::MemoryGrant model = due == due_.end() ? spec::MemoryGrant{} : due->second;
    const spec::MemoryGrant rtl = {.valid = (port_ & 2) != 0, .epoch = (port_ & 1) != 0};
    if (rtl.valid != model.valid || (rtl.valid && rtl.epoch != model.epoch)) {
      difference =
          "end of a grant: cycle " + std::to_string(cycle) + ": RTL " + TokenText(rtl) + ", model " + TokenText(model);
    }
    if (due == due_.end()) return;
    ended.push_back(due->second);
    due_.erase(due);
  }
  bool IsEmpty() const override { return due_.empty(); }

  std::vector<spec::MemoryGrant> ended;

 private:
  const Port& port_;
  std::map<model::Cycle, spec::MemoryGrant> due_;
};

}  // namespace vireo::verif
