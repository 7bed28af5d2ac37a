// SPDX-License-Identifier: Apache-2.0
// timeline.html, as CMake embeds it.
#pragma once

namespace vireo::sim {

// Has "@REPORT@" once, where the report's JSON goes.
extern const char* const kTimelineTemplate;

}  // namespace vireo::sim
