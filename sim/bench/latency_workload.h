// SPDX-License-Identifier: Apache-2.0
// Latency of one message between otherwise idle hosts: one way and round trip.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kRoundTrip = "roundtrip_64b";

// SENDs of 64 bytes; host 1 replies to each as soon as it observes it. Returns "" or an error.
std::string RunRoundTrip(const Options& options, const std::string& device, Row& row);
void PrintRoundTrip(const Row& row);

}  // namespace vireo::sim
