// SPDX-License-Identifier: Apache-2.0
// A run as one HTML file: the messages of a report as bars per stage, in lanes per NIC and QP, on one axis of time. It
// opens from a disk and asks no network for anything. What it looks like is in timeline.html.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vireo::sim {

// Of what Report::ToJson gave.
std::string TimelineHtml(const nlohmann::ordered_json& report);

}  // namespace vireo::sim
