// SPDX-License-Identifier: Apache-2.0
// Cycles as the model computes with them: an event happens in the latest of the cycles that it waits for, and what
// waits for something that is not known yet is not known either.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vireo::model {

using Cycle = uint64_t;  // of the core clock; 0 is the first one after reset

// Later than every cycle, so that std::max() carries it on.
inline constexpr Cycle kUnknown = ~Cycle{0};

// Changes that a level or table keeps for who may still look back before them: at most one per cycle, and nobody looks
// back so many cycles. Without a bound, one that nobody reads would grow for ever.
inline constexpr size_t kChangesKept = 1024;

constexpr Cycle After(Cycle cycle, uint64_t cycles) { return cycle == kUnknown ? kUnknown : cycle + cycles; }

}  // namespace vireo::model
