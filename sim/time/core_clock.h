// SPDX-License-Identifier: Apache-2.0
// Time at the seam: that of the model, under the names of the harness.
#pragma once

#include "model/common/core_clock.h"

namespace vireo::sim {

using model::CoreClock;
using model::kForever;
using model::kPicosecondsPerNanosecond;
using model::Picoseconds;
using Cycle = uint64_t;  // of one NIC's core clock; cycle 0 begins at time 0

inline constexpr Cycle kNever = ~Cycle{0};

}  // namespace vireo::sim
