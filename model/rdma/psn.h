// SPDX-License-Identifier: Apache-2.0
// Packet sequence numbers, which wrap. [IBTA vol. 1, 9.7.4]
#pragma once

#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

inline constexpr uint32_t kPsnMask = (1u << spec::kPsnBits) - 1;

// From a sum or a difference.
constexpr uint32_t Psn(uint32_t value) { return value & kPsnMask; }

// Half of the range is behind, half is ahead: whether a PSN that is ahead by this distance is in fact behind.
constexpr bool IsBehind(uint32_t ahead_by) { return ahead_by > kPsnMask / 2; }
// Whether a PSN is ahead of another one.
constexpr bool IsAhead(uint32_t psn, uint32_t of) { return Psn(psn - of) != 0 && !IsBehind(Psn(psn - of)); }

}  // namespace vireo::model
