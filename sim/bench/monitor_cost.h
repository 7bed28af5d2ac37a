// SPDX-License-Identifier: Apache-2.0
// What the monitor costs (docs/monitor.md): the same workload without and with it, by turns in one process, so that
// both see the same machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

// One workload on one device: "" or an error; fills the row.
using RunOnce = std::function<std::string(const Options& options, Row& row)>;

struct MonitorCost {
  std::string device, workload;
  // CPU time of the measured part of a run, the least of all rounds: whatever else the machine does only adds to it.
  double plain_s = 0, monitored_s = 0;
  double percent() const { return (monitored_s / plain_s - 1) * 100; }
};

// `rounds`: at least 1. Returns "" or an error.
std::string MeasureMonitor(Options options, unsigned rounds, const RunOnce& run, MonitorCost& cost);
void PrintMonitorCosts(const std::vector<MonitorCost>& costs, unsigned rounds);

}  // namespace vireo::sim
