// SPDX-License-Identifier: Apache-2.0
// Where the time of one message goes.
#pragma once

#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kBreakdown = "breakdown_64b";

struct Step {
  std::string what;
  const char* where = "";  // who took the time since the step before
  Cycle cycle = 0;         // since the post
  Cycle took = 0;
  bool is_aside = false;  // nobody waits for it: its time counts from what it follows, and not in the sum
};

// One signaled 64-byte WRITE between NICs at rest, with an armed CQ. Empty, or what went wrong.
std::string RunBreakdown(const Options& options, const std::string& device, Row& row, std::vector<Step>& steps);
void PrintSteps(const Options& options, const Row& row, const std::vector<Step>& steps);

}  // namespace vireo::sim
