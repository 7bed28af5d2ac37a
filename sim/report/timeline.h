// SPDX-License-Identifier: Apache-2.0
// The timeline of a run as one HTML file: a bar per message and stage, a lane per NIC and QP, one time axis. The file
// is self-contained and makes no network requests. The template is timeline.html.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vireo::sim {

// `report`: the result of Report::ToJson.
std::string TimelineHtml(const nlohmann::ordered_json& report);

}  // namespace vireo::sim
