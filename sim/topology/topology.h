// SPDX-License-Identifier: Apache-2.0
// A topology of NICs, each with its host memory and PCIe link, connected by wires and a switch, in one simulation with
// one time. Tests and servers build one, drive it from the host side, and run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/nic/nic_tap.h"
#include "sim/nic/trace_hash.h"
#include "sim/pcie/host_memory.h"
#include "sim/pcie/pcie_link.h"
#include "sim/time/scheduler.h"
#include "sim/wire/fault.h"
#include "sim/wire/outer_port.h"
#include "sim/wire/pcapng.h"
#include "sim/wire/switch.h"
#include "sim/wire/wire.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct NicParameters {
  std::string name;  // "nic0": in captures and messages, and of its random generators
  const spec::Config* config = &spec::kNic100;
  PcieParameters pcie = kPciePresets[1];
  MacParameters mac;
  uint32_t wire_delay_ns = 500;
  uint32_t wire_mbps = 0;             // at most link_mbps of the configuration; 0: link_mbps
  std::vector<FaultRule> faults_in;   // on frames that arrive at this NIC
  std::vector<FaultRule> faults_out;  // on frames that it sent, at the other end of its wire

  uint32_t rate_mbps() const { return wire_mbps != 0 ? wire_mbps : config->link_mbps; }
};

enum class Fabric : uint8_t {
  kSwitch,  // one wire per NIC, of its own rate
  kDirect,  // two NICs of one rate, one wire with the first one's delay
};

// A port of the switch with a wire whose other end is outside of the simulation.
struct OuterPortParameters {
  std::string name;  // in captures and messages; different from all NICs'
  uint32_t rate_mbps = 100'000;
  uint32_t delay_ns = 500;
  std::vector<FaultRule> faults_in{};   // on frames that leave the simulation
  std::vector<FaultRule> faults_out{};  // on frames from outside, at the switch
};

struct TopologyParameters {
  std::vector<NicParameters> nics;                 // 1 or more, with different names
  std::vector<OuterPortParameters> outer_ports{};  // only with a switch
  Fabric fabric = Fabric::kSwitch;
  SwitchParameters network_switch;
  // Empty: no capture. Two interfaces per NIC and outer port: "<name>" at its MAC, frames as sent before and received
  // after faults, and "<name>.lost", frames to or from it that a fault dropped.
  std::string capture_path;
  std::string capture_comment;
  bool is_metered = false;    // models count what their blocks do (model/common/meters.h)
  bool is_monitored = false;  // a monitor judges every NIC (docs/monitor.md)
  bool is_traced = true;      // false: trace() stays empty, which saves hashing every byte
};

class Monitor;

// One NIC with its host memory, PCIe link and MAC.
class Station {
 public:
  ~Station();
  const std::string& name() const { return parameters_.name; }
  HostMemory& memory() { return memory_; }
  PcieLink& pcie() { return pcie_; }
  MacPort& mac() { return mac_; }
  NicTap& tap() { return tap_; }  // the NIC, for management access and sinks
  Nic& nic() { return *nic_; }    // the NIC itself, for tests that know what it is
  const CoreClock& clock() const { return clock_; }
  // What the monitor found, in time order; empty if there is none.
  std::vector<std::string> monitor_violations() const;

 private:
  friend class Topology;
  Station(Scheduler& scheduler, const NicParameters& parameters, uint16_t number);
  bool IsQuiet() const;

  const NicParameters parameters_;
  const CoreClock clock_;
  HostMemory memory_;
  NicTap tap_;
  std::unique_ptr<Monitor> monitor_;  // null: not monitored
  PcieLink pcie_;
  MacPort mac_;
  std::unique_ptr<Nic> nic_;
  std::unique_ptr<PcapngRecorder> recorder_, lost_recorder_;
};

// Random numbers come from MakeRandom() with "<name>.pcie", "<name>.faults_in" and "<name>.faults_out": one seed, one
// run.
//
// With a SystemcScheduler there is one topology per process (see there); with StandaloneScheduler any number, for
// devices that do not need SystemC.
class Topology {
 public:
  struct Built {
    std::unique_ptr<Topology> topology;  // null if there is an error
    std::string error;
  };
  // Resets every NIC, in order of number: immediately, if the scheduler has not run yet (then also before SystemC's
  // start of simulation). The scheduler outlives the topology, and does not run after it.
  static Built Build(Scheduler& scheduler, const TopologyParameters& parameters, const NicFactory& factory);

  // Hardware reset (PERST#) of a NIC at the start of its next cycle. Everything in flight between it and its host or
  // its line is lost; memory, wires and switch keep their contents.
  void Reset(size_t number);

  // See Scheduler::RunUntil: `done` is evaluated after every time at which something happened outside of the devices;
  // the deadline is a simulated time.
  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) { return scheduler_.RunUntil(done, deadline); }
  void RunFor(Picoseconds time);
  // Runs until nothing is in flight, every NIC is idle and none has a deadline. False: not before `deadline`.
  bool RunUntilQuiet(Picoseconds deadline);
  bool IsQuiet() const;

  size_t size() const { return stations_.size(); }
  Station& station(size_t number) { return *stations_[number]; }
  Scheduler& scheduler() { return scheduler_; }
  size_t outer_ports() const { return outer_.size(); }
  OuterPort& outer_port(size_t number) { return *outer_[number]->port; }
  Switch* network_switch() { return switch_.get(); }  // null if direct
  // The wire of a NIC. Directly connected NICs share one.
  Wire& wire(size_t number) { return *wires_[switch_ ? number : 0]; }
  // Null if the NIC has no such rules.
  FaultInjector* faults_in(size_t number) { return faults_in_[number].get(); }
  FaultInjector* faults_out(size_t number) { return faults_out_[number].get(); }

  const TraceHash& trace() const { return trace_; }
  // Every violation of a seam, every one that a monitor found, and every DMA access outside the windows, as text with
  // the NIC's name; empty in a good run.
  std::vector<std::string> Violations() const;
  // Completes the capture file. Returns an error message, empty if none.
  std::string FlushCapture();

 private:
  explicit Topology(Scheduler& scheduler) : scheduler_(scheduler) {}
  // The objects of an outer port, in order of construction: later ones refer to earlier ones.
  struct Outer {
    std::unique_ptr<Wire> wire;
    std::unique_ptr<PcapngRecorder> recorder, lost_recorder;
    std::unique_ptr<OuterPort> port;
    std::unique_ptr<FaultInjector> faults_in, faults_out;
  };

  std::string Assemble(const TopologyParameters& parameters, const NicFactory& factory);
  void AddOuterPort(const OuterPortParameters& parameters);
  FrameReceiver& WithFaults(std::unique_ptr<FaultInjector>& injector, Wire& wire, FrameReceiver& receiver,
                            const std::vector<FaultRule>& rules, FrameRecorder* lost_recorder,
                            const std::string& consumer);

  Scheduler& scheduler_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::unique_ptr<Switch> switch_;
  std::vector<std::unique_ptr<FaultInjector>> faults_in_, faults_out_;
  std::vector<std::unique_ptr<Outer>> outer_;
  std::unique_ptr<PcapngWriter> capture_;
  TraceHash trace_;
};

}  // namespace vireo::sim
