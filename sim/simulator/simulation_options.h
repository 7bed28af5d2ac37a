// SPDX-License-Identifier: Apache-2.0
// Command line options that describe a simulation and its output files: for vireo_simulator and for every command that
// starts one.
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
  // --nics, --device, --config, --profile, --firmware, --preset, --fabric, --topology, --export, --pvrdma, --pmem,
  // --wire, --wire-faults, --mtu,
  // --virtual-time, --seed, --monitor, --no-monitor, --capture, --report, --timeline and --messages, each with its
  // help. This object must outlive `command`.
  void AddTo(CLI::App& command);

  // Call after parsing. kInvalidArgument: for example a topology that cannot be read, or an export of an unknown NIC.
  host::Result<Simulation> Describe() const;
  // The equivalent arguments of vireo_simulator, if it runs in the same working directory.
  std::vector<std::string> Arguments() const;

  bool is_virtual_time() const { return !call_cost_ns.empty(); }

  // Commands may set these directly.
  std::string device = "model", capture{}, report{}, timeline{};
  std::string call_cost_ns{};          // of --virtual-time; empty: programs see real time
  std::optional<bool> is_monitored{};  // of --monitor, --no-monitor
  size_t messages = 10'000;            // most messages listed in report and timeline

 private:
  host::Status AddExports(Simulation& simulation) const;
  host::Status AddGuests(Simulation& simulation) const;
  host::Status AddWires(Simulation& simulation) const;
  host::Status AddVirtualTime(Simulation& simulation) const;
  host::Status AddPmem(Simulation& simulation) const;

  size_t nics_ = 2;
  std::string config_ = "nic100", profile_ = "vireo", firmware_ = DefaultFirmware(), preset_ = "gen3x16",
              fabric_ = "switch", topology_, wire_faults_;
  uint32_t mtu_ = 0;
  std::vector<std::string> exports_, guests_, wires_;
  std::string pmem_;
  std::optional<uint64_t> seed_;
};

}  // namespace vireo::sim
