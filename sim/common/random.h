// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same with every C++ library; the standard's distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace vireo::sim {

// Uniform in [0, bound - 1]; bound is 1 to 2^32. One draw. Bias: less than bound / 2^32.
inline uint64_t UniformBelow(std::mt19937_64& random, uint64_t bound) { return (random() >> 32) * bound >> 32; }

}  // namespace vireo::sim
