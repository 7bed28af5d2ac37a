// SPDX-License-Identifier: Apache-2.0
// Memory of the simulation of two NICs with all queue pairs in use.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kMemory = "memory_1024qp";

// As many connections as the configuration has queue pairs, 1,022 of nic100's 1,024 (0 and 1 are reserved), and a WRITE
// over each of them; a tenth with Options::quick. Measures resident memory of this process, including earlier
// workloads; more than 1 GB is an error. Returns "" or an error.
std::string RunMemory(const Options& options, const std::string& device, Row& row);
void PrintMemory(const Row& row);

}  // namespace vireo::sim
