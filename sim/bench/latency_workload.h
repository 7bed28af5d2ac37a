// SPDX-License-Identifier: Apache-2.0
// Latency of one message between otherwise idle hosts: one way and round trip.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kRoundTrip = "roundtrip_64b";
inline constexpr const char* kRoundTripInline = "roundtrip_32b_inline";

// SENDs of 64 bytes, or of 32 bytes of inline data; host 1 replies to each as soon as it observes it. Returns "" or an
// error.
std::string RunRoundTrip(const Options& options, const std::string& device, bool is_inline, Row& row);
void PrintRoundTrip(const Row& row);

}  // namespace vireo::sim
