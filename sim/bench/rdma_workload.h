// SPDX-License-Identifier: Apache-2.0
// RDMA messages from host 0 to host 1 (data of READs flows back), over one or more queue pairs; and work requests that
// bind and invalidate memory windows of host 0, for which no packet is sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

struct Workload {
  const char* name;
  spec::IbWrOpcode opcode;  // flush: a WRITE and the FLUSH of it; local_inv: a bind of type 2 and its invalidate
  uint32_t bytes;           // per message; 0: of a bind
  uint32_t queue_pairs;     // at most as many as the configuration has
  uint32_t depth;           // outstanding work requests per queue pair
  uint32_t signal_every;    // every n-th work request is signaled
  spec::IbMtu path_mtu;
  uint64_t messages, quick_messages;  // measured, after those that fill the pipeline
  uint32_t lost_per_million = 0;      // of the frames that each NIC sends
  bool has_srq = false;               // all queue pairs of the peer take receives from one queue
};
// All workloads, in the order of the table.
std::span<const Workload> Workloads();
// Whether the NICs have what it needs.
bool IsOffered(const Options& options, const Workload& workload);
inline constexpr uint32_t kReservedQueuePairs = 2;  // 0 and 1
inline constexpr uint32_t kMinMemoryBytes = 65536;  // so that small messages use different addresses

// How many queue pairs with memory for so many bytes a configuration has room for.
uint64_t MostQueuePairs(const spec::Config& config, uint64_t bytes);
// Local ACK timeout of connections on a lossy line: longer than so many bytes take on it.
uint8_t LossTimeout(const spec::Config& config, uint64_t bytes_in_flight);
// Posts one message, at `offset` of both memories. No bind or invalidate.
host::Status PostMessage(ConnectedPair& pair, const Workload& workload, uint64_t wr_id, uint64_t offset,
                         bool is_signaled);
// Returns "" or an error.
std::string RunWorkload(const Options& options, const std::string& device, const Workload& workload, Row& row);

}  // namespace vireo::sim
