// SPDX-License-Identifier: Apache-2.0
// timeline.html, embedded by CMake.
#pragma once

namespace vireo::sim {

// Contains "@REPORT@" once, the placeholder for the report's JSON.
extern const char* const kTimelineTemplate;

}  // namespace vireo::sim
