// SPDX-License-Identifier: Apache-2.0
// Cycle arithmetic of the model: an event happens in the latest of the cycles that it depends on, and is unknown while
// one of these is unknown.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vireo::model {

using Cycle = uint64_t;  // of the core clock; 0 is the first one after reset

// Later than every cycle, so that std::max() propagates it.
inline constexpr Cycle kUnknown = ~Cycle{0};

// Changes that a level or table keeps for reads of earlier cycles: at most one per cycle, and no reader lags by so many
// cycles. The limit bounds the memory of those without a reader.
inline constexpr size_t kMaxChanges = 1024;

constexpr Cycle After(Cycle cycle, uint64_t cycles) { return cycle == kUnknown ? kUnknown : cycle + cycles; }

}  // namespace vireo::model
