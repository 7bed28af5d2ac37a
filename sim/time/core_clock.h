// SPDX-License-Identifier: Apache-2.0
// Time at the seam: the model's types, under vireo::sim.
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
