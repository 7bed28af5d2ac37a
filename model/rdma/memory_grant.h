// SPDX-License-Identifier: Apache-2.0
// How a block reports to memory check that a granted access has ended: grant_ended_o in cycle `at`, which may lie after
// `now`. Called for valid grants only.
#pragma once

#include <functional>

#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

using OnGrantEnded = std::function<void(Cycle now, Cycle at, const spec::MemoryGrant& grant)>;

}  // namespace vireo::model
