// SPDX-License-Identifier: Apache-2.0
// One 64-bit seed determines every random choice of a run. It is printed on first use; VIREO_SEED=N reproduces a run.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

namespace vireo::sim {

// The seed of this process: VIREO_SEED if set (decimal or 0x…; the process exits with a message if it is not a number),
// else random.
uint64_t Seed();

// A separate generator per consumer, so that a new consumer does not change the numbers of the others.
std::mt19937_64 MakeRandom(std::string_view consumer);

}  // namespace vireo::sim
