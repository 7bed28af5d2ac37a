// SPDX-License-Identifier: Apache-2.0
// Ethernet frames of net queues from host 0 to host 1, over one pair or many.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

struct NetWorkload {
  const char* name;
  uint32_t bytes;        // of a frame
  uint16_t queue_pairs;  // or as many as the configuration has
  uint32_t depth;        // frames that one pair sends ahead of what has arrived
  uint64_t frames, quick_frames;
};
std::span<const NetWorkload> NetWorkloads();

// Empty, or what went wrong: a frame that is lost, changed or overtaken by one of its flow is.
std::string RunNetWorkload(const Options& options, const std::string& device, const NetWorkload& workload, Row& row);

}  // namespace vireo::sim
