// SPDX-License-Identifier: Apache-2.0
// One 64-bit seed makes every random choice of a run. It is printed when it is first used; VIREO_SEED=N repeats a run.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

namespace vireo::sim {

// The seed of this process: VIREO_SEED if it is set (decimal or 0x…; the process ends with a message if it is not a
// number), else chosen by chance.
uint64_t Seed();

// A generator of its own for each consumer, so that a new consumer does not shift the numbers of the others.
std::mt19937_64 MakeRandom(std::string_view consumer);

}  // namespace vireo::sim
