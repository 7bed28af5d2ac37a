// SPDX-License-Identifier: Apache-2.0
// Ethernet frames of net queues from host 0 to host 1, over one or more queue pairs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

struct NetWorkload {
  const char* name;
  uint32_t bytes;        // per frame, without FCS
  uint16_t queue_pairs;  // at most as many as the configuration has
  uint32_t depth;        // frames in flight per queue pair
  uint64_t frames, quick_frames;
};
std::span<const NetWorkload> NetWorkloads();

// Returns "" or an error; a frame that is lost, corrupted or reordered within its flow is an error.
std::string RunNetWorkload(const Options& options, const std::string& device, const NetWorkload& workload, Row& row);

}  // namespace vireo::sim
