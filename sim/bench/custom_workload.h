// SPDX-License-Identifier: Apache-2.0
// The workload whose every parameter is a setting (settings.h): RDMA messages or Ethernet frames between two or more
// NICs, with a mix of operations, a distribution of sizes, and hosts whose calls take time. docs/explore.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

// Who sends to whom.
enum class Pattern : uint8_t {
  kPair,    // NIC 0 to NIC 1, on one wire
  kIncast,  // all others to the last NIC, through a switch
  kRing,    // each NIC to the next one, the last to the first, through a switch
};

// A part of the messages, by weight.
struct OperationShare {
  spec::IbWrOpcode opcode = spec::IbWrOpcode::kRdmaWrite;
  uint32_t weight = 1;
};
struct SizeShare {
  uint32_t least = 0, most = 0;  // uniform, inclusive
  uint32_t weight = 1;
};

struct CustomWorkload {
  const char* name;
  std::vector<OperationShare> operations;  // empty: Ethernet frames of net queue pairs
  std::vector<SizeShare> sizes;            // at least one
  uint32_t queue_pairs, outstanding;       // of each NIC that sends; messages of each queue pair
  uint32_t signal_every;                   // every n-th work request is signaled
  spec::IbMtu path_mtu;
  uint64_t messages;  // of all NICs, measured after those that fill the pipeline
  Pattern pattern;
  uint32_t nics;

  bool is_net() const { return operations.empty(); }
  uint32_t most_bytes() const;
};
inline constexpr const char* kCustom = "custom";

// "write", or "write:3 read:1": operations with their weights, or only "net". "64", or "64:50 1500-9000:1": sizes and
// ranges of them, up to `most`. Return an error, or "".
std::string ParseOperations(std::string_view text, std::vector<OperationShare>& operations);
std::string ParseSizes(std::string_view text, uint32_t most, std::vector<SizeShare>& sizes);

// For the run (custom_run.cc): the message consumes a receive.
bool HasReceive(spec::IbWrOpcode opcode);
// Posted at the receiver of each queue pair: twice as many as outstanding messages, so that no message waits for a host
// whose calls take no time.
uint32_t Receives(const CustomWorkload& workload);
// Memory of each operation: as many messages as fit, at least one.
uint64_t SectionBytes(const CustomWorkload& workload);
inline constexpr uint32_t kMinCqes = 64;

// The first rule that the workload breaks with this hardware, with the reason; empty if there is none.
std::string IllegalWorkload(const CustomWorkload& workload, const Hardware& hardware);
// The figures, with values of no meaning.
std::vector<Metric> CustomMetrics();
// Returns "" or an error. Lost Ethernet frames are counted.
std::string RunCustom(const Options& options, const std::string& device, const CustomWorkload& workload, Row& row);

}  // namespace vireo::sim
