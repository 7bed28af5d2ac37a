// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/findings.h"

#include <cstdio>

namespace vireo::sim::monitor {

void Findings::Add(const Rule& rule, Cycle cycle, const std::string& seen, const std::string& expected) {
  if (list_.size() >= kMax) return;
  list_.push_back(std::string("monitor: ") + rule.name + ": nic " + std::to_string(nic_) + ", cycle " +
                  std::to_string(cycle) + ": seen " + seen + ", expected " + expected + " [" + rule.source + "]");
}

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace vireo::sim::monitor
