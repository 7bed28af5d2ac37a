// SPDX-License-Identifier: Apache-2.0
// The options of a command line that say what is simulated and what is written down about it: of vireo_simulator, and
// of every command that starts one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/result.h"
#include "sim/simulator/simulation.h"

namespace vireo::sim {

class SimulationOptions {
 public:
  // --nics, --device, --config, --preset, --fabric, --topology, --export, --wire, --wire-faults, --mtu, --virtual-time,
  // --seed, --capture, --report,
  // --timeline and
  // --messages, each with its help. This object outlives the command.
  void AddTo(CLI::App& command);

  // What they say, after the command line was read. kInvalidArgument: a topology that cannot be read, an export of a
  // NIC that is not there.
  host::Result<Simulation> Describe() const;
  // The words that say the same to vireo_simulator, if it runs in the same directory.
  std::vector<std::string> Words() const;

  bool is_virtual_time() const { return !call_cost_ns.empty(); }

  // As if the command line said so.
  std::string device = "model", capture{}, report{}, timeline{};
  std::string call_cost_ns{};  // of --virtual-time; empty: programs see the system's time
  size_t messages = 10'000;    // of which report and timeline tell one by one

 private:
  host::Status AddExports(Simulation& simulation) const;
  host::Status AddWires(Simulation& simulation) const;
  host::Status AddVirtualTime(Simulation& simulation) const;

  size_t nics_ = 2;
  std::string config_ = "nic100", preset_ = "gen3x16", fabric_ = "switch", topology_, wire_faults_;
  uint32_t mtu_ = 0;
  std::vector<std::string> exports_, wires_;
  std::optional<uint64_t> seed_;
};

}  // namespace vireo::sim
