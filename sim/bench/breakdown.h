// SPDX-License-Identifier: Apache-2.0
// Latency breakdown of one message.
#pragma once

#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kBreakdown = "breakdown_64b";

struct Step {
  std::string what;
  const char* where = "";  // component that took the time since the previous step
  Cycle cycle = 0;         // since the post
  Cycle took = 0;
  bool is_aside = false;  // not on the critical path: `took` counts from the previous step but is not in the sum
};

// One signaled 64-byte WRITE between idle NICs, with an armed CQ. Returns "" or an error.
std::string RunBreakdown(const Options& options, const std::string& device, Row& row, std::vector<Step>& steps);
void PrintSteps(const Options& options, const Row& row, const std::vector<Step>& steps);

}  // namespace vireo::sim
