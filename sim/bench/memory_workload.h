// SPDX-License-Identifier: Apache-2.0
// How much memory the simulation of two NICs takes when all queue pairs of a device are in use.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kMemory = "memory_1024qp";

// As many connections as the configuration has queue pairs, 1,022 of nic100's 1,024 (0 and 1 are reserved), and a WRITE
// over each of them; a tenth with Options::quick. More than kMostResidentBytes is an error. What is measured is this
// process, with all that it did before. Empty, or what went wrong.
std::string RunMemory(const Options& options, const std::string& device, Row& row);
void PrintMemory(const Row& row);

}  // namespace vireo::sim
