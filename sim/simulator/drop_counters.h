// SPDX-License-Identifier: Apache-2.0
// What each NIC of a system has dropped, by reason. The NICs' own counters are cleared by reading (spec/csr.toml), so
// they are added up here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {

// By reason, named as in spec/csr.toml; all reasons, in a fixed order.
using Drops = std::vector<std::pair<std::string, uint64_t>>;

class DropCounters {
 public:
  // The system outlives this.
  explicit DropCounters(RdmaSystem& system, size_t nics);

  // Adds what the NICs have counted since the last call. Runs the simulation, some microseconds at most. A NIC that
  // does not answer, as one in reset, adds nothing.
  void Update();
  const Drops& of(size_t nic) const { return drops_[nic]; }
  // Frames dropped because the receive buffer was full.
  uint64_t receive_buffer(size_t nic) const { return drops_[nic].front().second; }

 private:
  RdmaSystem& system_;
  std::vector<Drops> drops_;  // by NIC
};

}  // namespace vireo::sim
