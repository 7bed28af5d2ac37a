// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/monitor_cost.h"

#include <fmt/format.h>

#include <algorithm>

namespace vireo::sim {

std::string MeasureMonitor(Options options, unsigned rounds, const RunOnce& run, MonitorCost& cost) {
  for (unsigned round = 0; round < rounds; ++round) {
    for (double* const least : {&cost.plain_s, &cost.monitored_s}) {
      options.is_monitored = least == &cost.monitored_s;
      Row row{cost.device, cost.workload, {}};
      if (std::string error = run(options, row); !error.empty()) return error;
      const double seconds = row.Value("cpu_s");
      *least = round == 0 ? seconds : std::min(*least, seconds);
    }
  }
  return "";
}

void PrintMonitorCosts(const std::vector<MonitorCost>& costs, unsigned rounds) {
  fmt::print(
      "\ncost of the monitor: CPU time of the measured part, least of {} rounds\n{:<10}{:<26}{:>12}{:>12}{:>9}\n",
      rounds, "device", "workload", "without s", "with s", "cost");
  double plain = 0, monitored = 0;
  for (const MonitorCost& cost : costs) {
    fmt::print("{:<10}{:<26}{:>12.3f}{:>12.3f}{:>8.1f}%\n", cost.device, cost.workload, cost.plain_s, cost.monitored_s,
               cost.percent());
    plain += cost.plain_s, monitored += cost.monitored_s;
  }
  if (costs.size() > 1)
    fmt::print("{:<36}{:>12.3f}{:>12.3f}{:>8.1f}%\n", "all", plain, monitored, (monitored / plain - 1) * 100);
}

}  // namespace vireo::sim
