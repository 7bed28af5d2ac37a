// SPDX-License-Identifier: Apache-2.0
// A report as text. Separate from report.h, so that it does not depend on the simulator.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vireo::sim {

// The full table, with a final newline. `report`: the result of Report::ToJson; returns "" for anything else.
std::string ReportTable(const nlohmann::ordered_json& report);
// A summary, indented: messages, packets, latencies and, in lockstep, the number of compared events. Else as above.
std::string ReportSummary(const nlohmann::ordered_json& report);

}  // namespace vireo::sim
