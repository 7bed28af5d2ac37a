// SPDX-License-Identifier: Apache-2.0
// How a NIC is divided among its guests and the programs that use it: what one of them has, no other can take.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "host/driver/result.h"
#include "host/verbs/quota.h"

namespace vireo::sim::pvrdma {

// The kinds of which a guest has another number than its equal share.
using Limits = std::vector<std::pair<uint32_t verbs::Quota::*, uint32_t>>;

struct Shares {
  std::vector<verbs::Quota> guests;
  verbs::Quota programs;  // all together
};
// Of each kind the guests have what they ask for; the others, and all programs together, one equal share each of what
// is left. Programs need no GIDs of their own: guests without a number share them all, up to Commands::kGids each. What
// is left over is the programs'. kInvalidArgument: they ask for more than `capacity`.
host::Result<Shares> Divide(const verbs::Quota& capacity, std::span<const Limits> guests);

}  // namespace vireo::sim::pvrdma
