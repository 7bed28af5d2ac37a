// SPDX-License-Identifier: Apache-2.0
// The description of a simulation: NICs, their network, and how each NIC is accessed. Built from a command line
// (simulation_options.h) or a topology file (topology_file.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/pvrdma/shares.h"
#include "sim/simulator/gid_setting.h"
#include "sim/topology/rdma_system.h"

namespace vireo::sim {

inline constexpr size_t kMostNics = 64;

struct Simulation {
  // `hosts` are the NICs. A NIC's name is unique; it is the name of the RDMA device, and of the NIC in captures and
  // reports.
  RdmaSystemOptions system{.fabric = Fabric::kSwitch, .network_switch = {.hairpin = true}};
  // By NIC: the vfio-user socket that exports the whole PCI function; a relative path is in the simulation's directory.
  // Empty or missing: the NIC has a service.
  std::vector<std::string> exports{};
  // By NIC: virtio features that the driver of an exported NIC does not see. Missing: none.
  std::vector<std::vector<uint8_t>> hidden_features{};
  // By NIC: directory, absolute, whose files are persistent memory of the programs that map them shared. Empty or
  // missing: there is none.
  std::vector<std::string> pmem{};
  // Guests with a PVRDMA function of their own, backed by the service of a NIC.
  struct Guest {
    std::string name{};    // unique
    std::string socket{};  // vfio-user; a relative path is in the simulation's directory
    size_t nic = 0;        // not exported
    pvrdma::Limits limits{};
  };
  std::vector<Guest> guests{};
  // By NIC: GIDs after those that every NIC has. Empty or missing: none.
  std::vector<std::vector<GidSetting>> gids{};
  // By NIC: the VLAN of GIDs 2 and 3, which repeat GIDs 0 and 1. Empty or missing: no such GIDs.
  std::vector<std::optional<uint16_t>> vlans{};
  // Sockets of the system's outer ports (wire_socket.h), in their order. If there is one, services discover neighbors
  // on the wire.
  std::vector<std::string> wires{};
  // Set: programs see simulated time, and each of their data path calls takes this many ns of it (virtual_time.h). Not
  // with exports, guests or wires.
  std::optional<uint32_t> call_cost_ns{};
  std::optional<uint64_t> seed{};  // unset: VIREO_SEED, else random

  const std::string& name(size_t nic) const { return system.hosts[nic].nic.name; }
  size_t size() const { return system.hosts.size(); }
  bool is_exported(size_t nic) const { return nic < exports.size() && !exports[nic].empty(); }
};

// The name of a NIC without a configured one.
inline std::string DefaultNicName(size_t number) { return "vireo" + std::to_string(number); }

}  // namespace vireo::sim
