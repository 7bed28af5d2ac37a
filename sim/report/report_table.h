// SPDX-License-Identifier: Apache-2.0
// A report for people. Apart from report.h, so that who only has a report's JSON needs no simulator.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vireo::sim {

// Of what Report::ToJson gave, with an end of line. Empty if it is not that.
std::string ReportTable(const nlohmann::ordered_json& report);
// The same in a few lines, indented: messages, packets, latencies and, in lockstep, what was compared.
std::string ReportSummary(const nlohmann::ordered_json& report);

}  // namespace vireo::sim
