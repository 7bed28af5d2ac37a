// SPDX-License-Identifier: Apache-2.0
// Reads a topology file (TOML): NICs and their devices, links and the faults on them, PVRDMA guests. docs/topology.md
// lists every key with its range; examples/topology.toml is an example.
//
// Anything unknown or out of range is an error: "FILE:LINE:COLUMN: reason and allowed values".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/driver/result.h"
#include "sim/simulator/simulation.h"

namespace vireo::sim {

// `every`: defaults for device, configuration and PCIe preset of each NIC. kInvalidArgument: the first error.
host::Result<Simulation> ReadTopology(const std::string& path, const HostOptions& every);
// The same for a text; `name` is its name in errors.
host::Result<Simulation> ParseTopology(std::string_view text, const std::string& name, const HostOptions& every);

// Why a guest cannot be added to those of the simulation: in conflict with what it has, or not a name. Nothing: it can.
struct GuestError {
  std::string_view key;  // of [[guest]]
  std::string text;
};
std::optional<GuestError> CheckGuest(const Simulation& simulation, const Simulation::Guest& guest);

// The absolute name, without symbolic links, of a directory for Simulation::pmem. kInvalidArgument: it is none.
host::Result<std::string> PmemDirectory(const std::string& path);

}  // namespace vireo::sim
