// SPDX-License-Identifier: Apache-2.0
// What is simulated: NICs, what joins them, and how each of them is offered. A command line (simulation_options.h) and
// a topology file (topology_file.h) both say it in these terms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {

inline constexpr size_t kMostNics = 64;

struct Simulation {
  // Its NICs are `hosts`, each with its own name: what programs call the device, and captures and reports the NIC.
  RdmaSystemOptions system{.fabric = Fabric::kSwitch, .network_switch = {.hairpin = true}};
  // By NIC: the socket at which it is given out whole, as a PCI function, by vfio-user; a relative path is in the
  // simulation's directory. Empty, or short: it has a service.
  std::vector<std::string> exports{};
  // A socket for each of the system's outer ports (wire_socket.h), in their order: somebody outside is at the switch.
  // Services then look for who is out there.
  std::vector<std::string> wires{};
  // Programs see simulated time, and each of their calls that reaches the data path takes so many nanoseconds of it
  // (virtual_time.h). Not together with exports or wires.
  std::optional<uint32_t> call_cost_ns{};
  std::optional<uint64_t> seed{};  // without: VIREO_SEED, or by chance

  const std::string& name(size_t nic) const { return system.hosts[nic].nic.name; }
  size_t size() const { return system.hosts.size(); }
  bool is_exported(size_t nic) const { return nic < exports.size() && !exports[nic].empty(); }
};

// The name of a NIC that was given none.
inline std::string DefaultNicName(size_t number) { return "vireo" + std::to_string(number); }

}  // namespace vireo::sim
