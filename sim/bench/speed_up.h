// SPDX-License-Identifier: Apache-2.0
// Twice the speed for one thing, to see whether the workload gets faster: whether it is the bottleneck. Model only: RTL
// has no such NIC, and lockstep would differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

// Names of what can be faster, and of bottlenecks (Row::limits); blocks also have a side, as in sender.completer.
inline constexpr const char* kLimitWire = "wire";
inline constexpr const char* kLimitDataPath = "data_path";
inline constexpr const char* kLimitPcie = "pcie";
inline constexpr const char* kLimitHostMemory = "host_memory";
inline constexpr const char* kLimitOutstanding = "outstanding";

// Of --speed-up:
//   wire         twice the rate, or what the data path carries if that is less
//   data_path    twice the width, at the same clock
//   pcie         twice the rate, latencies as before
//   host_memory  half the round trip of a read, at the same rate
//   outstanding  twice as many messages outstanding
//   SIDE.BLOCK   a block of the sender's or the peer's model that takes two steps per cycle; desc_fetch, dma_read_port
//                and send_queue have twice as much under way instead
//   SIDE.BLOCK/N the same in every N-th cycle only: a little faster, where the next limit is near
std::vector<std::string> SpeedUpNames();

// Keeps what the options then point to.
class SpeedUp {
 public:
  // Changes options.hardware, which must be set, and others. Returns "" or an error.
  std::string Apply(const std::vector<std::string>& names, Options& options);

 private:
  static std::string AddBlock(const std::string& name, Options& options);
  void UseConfig(Options& options);

  spec::Config config_;
  Hardware hardware_;
};

}  // namespace vireo::sim
