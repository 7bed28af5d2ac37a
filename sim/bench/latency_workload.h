// SPDX-License-Identifier: Apache-2.0
// How long one message takes between hosts that do nothing else: one way, and there and back.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

inline constexpr const char* kRoundTrip = "roundtrip_64b";

// SENDs of 64 bytes: host 1 answers each in the moment in which it sees it. Empty, or what went wrong.
std::string RunRoundTrip(const Options& options, const std::string& device, Row& row);
void PrintRoundTrip(const Row& row);

}  // namespace vireo::sim
