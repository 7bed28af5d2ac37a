// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology.h"

#include <cstdio>
#include <set>
#include <utility>

#include "sim/common/seed.h"
#include "sim/monitor/monitor.h"

namespace vireo::sim {

Station::Station(Scheduler& scheduler, const NicParameters& parameters, uint16_t number)
    : parameters_(parameters),
      clock_(parameters.config->core_clock_khz),
      tap_(scheduler, clock_, *parameters.config,
           {parameters.pcie.max_read_request_bytes, parameters.pcie.max_payload_bytes}, number),
      pcie_(scheduler, clock_, parameters.pcie, *parameters.config, memory_, MakeRandom(parameters.name + ".pcie")),
      mac_(scheduler, clock_, *parameters.config, parameters.mac) {
  tap_.Connect(pcie_, mac_);
  pcie_.Attach(tap_);
  mac_.Attach(tap_);
}

Station::~Station() = default;

std::vector<std::string> Station::monitor_violations() const {
  if (monitor_ == nullptr) return {};
  tap_.IsIdle();  // which tells the monitor
  return monitor_->Violations();
}

bool Station::IsQuiet() const {
  return tap_.IsIdle() && nic_->NextDeadline() == kNever && pcie_.IsIdle() && mac_.IsIdle();
}

Topology::Built Topology::Build(Scheduler& scheduler, const TopologyParameters& parameters, const NicFactory& factory) {
  Built built;
  built.topology = std::unique_ptr<Topology>(new Topology(scheduler));
  built.error = built.topology->Assemble(parameters, factory);
  if (!built.error.empty()) built.topology.reset();
  return built;
}

std::string Topology::Assemble(const TopologyParameters& parameters, const NicFactory& factory) {
  const size_t count = parameters.nics.size();
  std::set<std::string> names;
  for (const NicParameters& nic : parameters.nics) {
    if (!names.insert(nic.name).second) return "two NICs have the name '" + nic.name + "'";
    if (nic.wire_mbps > nic.config->link_mbps) return "the wire of '" + nic.name + "' is faster than its NIC";
  }
  for (const OuterPortParameters& port : parameters.outer_ports) {
    if (!names.insert(port.name).second) return "two ends of wires have the name '" + port.name + "'";
    if (port.rate_mbps == 0) return port.name + ": the wire's rate is 0";
  }
  if (count == 0 || count > 0xffff) return "a topology must have 1 to 65535 NICs";
  if (parameters.fabric == Fabric::kDirect) {
    if (count != 2 || !parameters.outer_ports.empty()) return "a direct wire connects exactly two NICs";
    if (parameters.nics[0].rate_mbps() != parameters.nics[1].rate_mbps()) {
      return "a direct wire connects NICs of equal rate";
    }
  }
  if (!parameters.capture_path.empty()) {
    capture_ = std::make_unique<PcapngWriter>(parameters.capture_path, parameters.capture_comment);
    if (!capture_->error().empty()) return capture_->error();
  }

  for (size_t i = 0; i < count; ++i) {
    const NicParameters& nic = parameters.nics[i];
    stations_.push_back(std::unique_ptr<Station>(new Station(scheduler_, nic, static_cast<uint16_t>(i))));
    Station& station = *stations_.back();
    if (parameters.is_traced) station.tap_.AddSink(trace_);
    if (parameters.is_monitored) {
      station.monitor_ = std::make_unique<Monitor>(static_cast<uint16_t>(i), nic.config->core_clock_khz);
      station.tap_.AddSink(*station.monitor_);
    }
    if (capture_) {
      const uint32_t speed = nic.rate_mbps();
      const uint32_t frames = capture_->AddInterface(nic.name, "between MAC and line", speed);
      const uint32_t lost = capture_->AddInterface(nic.name + ".lost", "dropped by fault injection", speed);
      station.recorder_ = std::make_unique<PcapngRecorder>(*capture_, frames, scheduler_);
      station.lost_recorder_ = std::make_unique<PcapngRecorder>(*capture_, lost, scheduler_);
      station.mac_.Record(*station.recorder_);
    }
    station.nic_ = factory({station.parameters_.name, static_cast<uint16_t>(i), *nic.config, station.clock_, scheduler_,
                            station.tap_, parameters.is_metered});
    if (!station.nic_) return "no device for '" + nic.name + "'";
    station.tap_.Attach(*station.nic_);
  }

  faults_in_.resize(count);
  faults_out_.resize(count);
  if (parameters.fabric == Fabric::kSwitch) switch_ = std::make_unique<Switch>(scheduler_, parameters.network_switch);
  for (size_t i = 0; i < count; ++i) {
    const NicParameters& nic = parameters.nics[i];
    if (switch_ || i == 0) {
      wires_.push_back(std::make_unique<Wire>(scheduler_, WireParameters{nic.rate_mbps(), nic.wire_delay_ns}));
    }
    Wire& wire = *wires_.back();
    stations_[i]->mac_.Connect(wire, switch_ ? 0 : static_cast<unsigned>(i));
    if (switch_) switch_->AddPort(wire, 1);
  }
  // Both ends exist: insert injectors between a wire and its receivers.
  for (size_t i = 0; i < count; ++i) {
    const NicParameters& nic = parameters.nics[i];
    Station& station = *stations_[i];
    Wire& wire = switch_ ? *wires_[i] : *wires_[0];
    const unsigned near = switch_ ? 0 : static_cast<unsigned>(i);
    // Direct: frames that arrive here were sent by the other one; its rules for them come first.
    FrameReceiver* here = &WithFaults(faults_in_[i], wire, station.mac_, nic.faults_in, station.lost_recorder_.get(),
                                      nic.name + ".faults_in");
    if (switch_) {
      FrameReceiver& port = switch_->port(static_cast<unsigned>(i));
      wire.Connect(1, WithFaults(faults_out_[i], wire, port, nic.faults_out, station.lost_recorder_.get(),
                                 nic.name + ".faults_out"));
    } else {
      const NicParameters& other = parameters.nics[1 - i];
      here = &WithFaults(faults_out_[1 - i], wire, *here, other.faults_out, stations_[1 - i]->lost_recorder_.get(),
                         other.name + ".faults_out");
    }
    wire.Connect(near, *here);
  }
  for (size_t i = 0; capture_ && i < wires_.size(); ++i) {
    FrameRecorder* const near = stations_[i]->lost_recorder_.get();
    FrameRecorder* const far = switch_ ? near : stations_[1]->lost_recorder_.get();
    const Direction from_far = switch_ ? Direction::kIn : Direction::kOut;
    wires_[i]->OnLost([near, far, from_far](unsigned end, const WireFrame& frame) {
      end == 0 ? near->OnFrame(Direction::kOut, frame) : far->OnFrame(from_far, frame);
    });
  }
  for (const OuterPortParameters& port : parameters.outer_ports) AddOuterPort(port);
  for (size_t i = 0; i < count; ++i) Reset(i);
  return "";
}

FrameReceiver& Topology::WithFaults(std::unique_ptr<FaultInjector>& injector, Wire& wire, FrameReceiver& receiver,
                                    const std::vector<FaultRule>& rules, FrameRecorder* lost_recorder,
                                    const std::string& consumer) {
  if (rules.empty()) return receiver;
  injector = std::make_unique<FaultInjector>(scheduler_, wire, receiver, rules, MakeRandom(consumer));
  if (lost_recorder != nullptr) {
    const Direction direction = consumer.ends_with("_in") ? Direction::kIn : Direction::kOut;
    injector->OnDrop([lost_recorder, direction](const WireFrame& frame) { lost_recorder->OnFrame(direction, frame); });
  }
  return *injector;
}

void Topology::AddOuterPort(const OuterPortParameters& parameters) {
  Outer& outer = *outer_.emplace_back(std::make_unique<Outer>());
  outer.wire = std::make_unique<Wire>(scheduler_, WireParameters{parameters.rate_mbps, parameters.delay_ns});
  outer.port = std::make_unique<OuterPort>(scheduler_, *outer.wire, 0);
  if (capture_) {
    const uint32_t frames = capture_->AddInterface(parameters.name, "outside the simulation", parameters.rate_mbps);
    const uint32_t lost =
        capture_->AddInterface(parameters.name + ".lost", "dropped by fault injection", parameters.rate_mbps);
    outer.recorder = std::make_unique<PcapngRecorder>(*capture_, frames, scheduler_);
    outer.lost_recorder = std::make_unique<PcapngRecorder>(*capture_, lost, scheduler_);
    outer.port->Record(*outer.recorder);
    outer.wire->OnLost([lost = outer.lost_recorder.get()](unsigned end, const WireFrame& frame) {
      lost->OnFrame(end == 0 ? Direction::kOut : Direction::kIn, frame);
    });
  }
  FrameReceiver& port = switch_->port(switch_->AddPort(*outer.wire, 1));
  outer.wire->Connect(1, WithFaults(outer.faults_out, *outer.wire, port, parameters.faults_out,
                                    outer.lost_recorder.get(), parameters.name + ".faults_out"));
  outer.wire->Connect(0, WithFaults(outer.faults_in, *outer.wire, *outer.port, parameters.faults_in,
                                    outer.lost_recorder.get(), parameters.name + ".faults_in"));
}

void Topology::Reset(size_t number) {
  Station& station = *stations_[number];
  const Cycle cycle = station.clock_.AtOrAfter(scheduler_.now());
  const auto reset = [&station, cycle] {
    station.tap_.Reset(cycle);
    station.pcie_.Restart(cycle + kResetCycles);
    station.mac_.Restart(cycle + kResetCycles);
  };
  // Immediately if possible, so that the caller's next actions follow it.
  if (station.clock_.Begin(cycle) == scheduler_.now()) {
    reset();
  } else {
    scheduler_.Call(station.clock_.Begin(cycle), reset);
  }
}

void Topology::RunFor(Picoseconds time) {
  const Picoseconds deadline = scheduler_.now() + time;
  scheduler_.RunUntil([] { return false; }, deadline);
}

bool Topology::IsQuiet() const {
  for (const auto& station : stations_) {
    if (!station->IsQuiet()) return false;
  }
  for (const auto& wire : wires_) {
    if (!wire->IsIdle()) return false;
  }
  for (const auto* injectors : {&faults_in_, &faults_out_}) {
    for (const auto& injector : *injectors) {
      if (injector && !injector->IsIdle()) return false;
    }
  }
  for (const auto& outer : outer_) {
    if (!outer->wire->IsIdle()) return false;
    for (const FaultInjector* injector : {outer->faults_in.get(), outer->faults_out.get()}) {
      if (injector != nullptr && !injector->IsIdle()) return false;
    }
  }
  return !switch_ || switch_->IsIdle();
}

bool Topology::RunUntilQuiet(Picoseconds deadline) {
  return scheduler_.RunUntil([this] { return IsQuiet(); }, deadline);
}

std::vector<std::string> Topology::Violations() const {
  std::vector<std::string> all;
  for (const auto& station : stations_) {
    for (const std::string& violation : station->tap_.violations()) all.push_back(station->name() + ": " + violation);
    for (const std::string& violation : station->monitor_violations()) {
      all.push_back(station->name() + ": " + violation);
    }
    for (const HostMemory::Violation& violation : station->memory_.violations()) {
      char address[32];
      std::snprintf(address, sizeof(address), "%#llx", static_cast<unsigned long long>(violation.address));
      all.push_back(station->name() + ": DMA " + (violation.is_write ? "write" : "read") + " of " +
                    std::to_string(violation.bytes) + " bytes at " + address + ": " + ToString(violation.error));
    }
  }
  return all;
}

std::string Topology::FlushCapture() {
  if (!capture_) return "";
  capture_->Flush();
  return capture_->error();
}

}  // namespace vireo::sim
