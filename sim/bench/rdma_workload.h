// SPDX-License-Identifier: Apache-2.0
// RDMA messages from host 0 to host 1 (READs the other way), over one queue pair or many.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

struct Workload {
  const char* name;
  spec::IbWrOpcode opcode;
  uint32_t bytes;         // of a message
  uint32_t queue_pairs;   // or as many as the configuration has
  uint32_t depth;         // work requests outstanding on each
  uint32_t signal_every;  // of how many work requests one asks for a CQE
  spec::IbMtu path_mtu;
  uint64_t messages, quick_messages;  // measured, after as many as fill the pipe
  uint32_t lost_per_million = 0;      // frames, of those that each NIC sends
};
// All that there are, in the order of the table.
std::span<const Workload> Workloads();
inline constexpr uint32_t kReservedQueuePairs = 2;  // 0 and 1
inline constexpr uint32_t kMinMemoryBytes = 65536;  // so that small messages do not all lie in one place

// One message, at `offset` of both memories.
host::Status PostMessage(ConnectedPair& pair, const Workload& workload, uint64_t wr_id, uint64_t offset,
                         bool is_signaled);
// Empty, or what went wrong.
std::string RunWorkload(const Options& options, const std::string& device, const Workload& workload, Row& row);

}  // namespace vireo::sim
