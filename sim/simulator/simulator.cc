// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/simulator.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "host/service/connection_service.h"
#include "sim/common/seed.h"
#include "sim/simulator/program_wait.h"

namespace vireo::sim {
Simulator::Built Simulator::Build(const SimulatorOptions& options) {
  std::unique_ptr<Simulator> simulator(new Simulator());
  RdmaSystemOptions system = options.simulation.system;
  system.open = false;
  system.is_traced = false;
  const size_t nics = system.hosts.size();
  RdmaSystem::Built built = RdmaSystem::Build(system);
  if (built.system == nullptr) return {nullptr, built.error};
  simulator->system_ = std::move(built.system);
  for (size_t i = 0; i < nics && options.tracker != nullptr; ++i) {
    Station& station = simulator->system_->topology().station(i);
    options.tracker->Watch(station.tap(), station.clock(), simulator->system_->lockstep(i));
  }
  // What a program or peer sees of one NIC, it sees after what the others did before.
  const auto memories = std::make_shared<HostMemory::Group>();
  for (size_t i = 0; i < nics; ++i) simulator->system_->host(i).station().memory().Join(memories);
  for (size_t i = 0; i < options.simulation.wires.size(); ++i) {
    auto wire =
        WireSocket::Open(simulator->loop_, simulator->system_->topology().outer_port(i), options.simulation.wires[i]);
    if (!wire.ok()) return {nullptr, "wire: " + host::ToString(wire.error())};
    simulator->wires_.push_back(std::move(wire).value());
    simulator->wires_.back()->BeforeSend([simulator = simulator.get()] { simulator->SettleMemory(); });
  }
  if (options.simulation.call_cost_ns.has_value()) {
    auto time = VirtualTime::Create(simulator->system_->scheduler(), nics, *options.simulation.call_cost_ns);
    if (!time.ok()) return {nullptr, host::ToString(time.error())};
    simulator->virtual_time_ = std::move(time).value();
  }
  simulator->drops_ = std::make_unique<DropCounters>(*simulator->system_, nics);
  simulator->services_.resize(nics);
  simulator->gsis_.resize(nics);
  simulator->windows_.resize(nics);
  simulator->vfio_users_.resize(nics);
  for (size_t i = 0; i < nics; ++i) {
    const std::string error =
        options.simulation.is_exported(i) ? simulator->OpenVfioUser(options, i) : simulator->OpenService(options, i);
    if (!error.empty()) return {nullptr, options.simulation.name(i) + ": " + error};
  }
  for (size_t i = 0; i < options.simulation.gids.size(); ++i) {
    for (const GidSetting& setting : options.simulation.gids[i]) {
      const host::Result<uint16_t> added = simulator->AddGid(i, setting);
      if (!added.ok()) return {nullptr, options.simulation.name(i) + ": " + added.error().text};
    }
  }
  if (const std::string error = simulator->OpenGuests(options); !error.empty()) return {nullptr, error};
  // Listen only when all services are open: a program that finds one socket may use every NIC.
  for (size_t i = 0; i < nics; ++i) {
    if (simulator->services_[i] == nullptr) continue;
    const host::Status listening = simulator->services_[i]->Listen(simulator->sockets_[i]);
    if (!listening.ok()) return {nullptr, host::ToString(listening.error())};
  }
  return {std::move(simulator), ""};
}

std::vector<service::Counter> Simulator::CountersOf(size_t nic) {
  constexpr uint64_t kOctetsOfData = 4;  // the data counters' unit [IBTA vol. 1, 16.1.3.5, PortXmitData]
  const MacPort::Counters& mac = system_->host(nic).station().mac().counters();
  std::vector<service::Counter> counters = {{"counters/port_xmit_data", mac.sent_bytes / kOctetsOfData},
                                            {"counters/port_xmit_packets", mac.sent_frames},
                                            {"counters/port_rcv_data", mac.received_bytes / kOctetsOfData},
                                            {"counters/port_rcv_packets", mac.received_frames}};
  drops_->Update();
  for (const auto& [reason, frames] : drops_->of(nic)) counters.push_back({"hw_counters/" + reason, frames});
  return counters;
}

std::string Simulator::OpenService(const SimulatorOptions& options, size_t number) {
  RdmaHost& host = system_->host(number);
  service::ServiceOptions service;
  const NicParameters& nic = options.simulation.system.hosts[number].nic;
  service.name = nic.name;
  service.netdev = "vnet" + std::to_string(number);
  // Outside the range of real interface indexes.
  constexpr uint32_t kFirstIfindex = 10'000;
  service.ifindex = kFirstIfindex + static_cast<uint32_t>(number);
  service.link_mbps = nic.rate_mbps();
  service.driver = options.simulation.system.driver;
  if (std::ranges::find(options.simulation.guests, number, &Simulation::Guest::nic) !=
      options.simulation.guests.end()) {
    // Completion queues of guests that can be armed for solicited completions exactly.
    constexpr uint16_t kGuestVectors = 256;
    service.client_vectors = service.driver.max_vectors;
    service.driver.max_vectors += kGuestVectors;
  }
  service.counters = [this, number] { return CountersOf(number); };
  if (virtual_time_ != nullptr) {
    service.clock = &virtual_time_->clock(number);
    host.station().memory().OnWrite(
        [time = virtual_time_.get(), number](bool elsewhere) { time->OnWrite(number, elsewhere); });
  } else {
    // Each call into another process costs more than the bytes of a packet, so accesses are combined. Not in virtual
    // time, where programs see each write when it happens.
    constexpr size_t kMostBytes = 65536;
    host.station().memory().CombineWrites(kMostBytes);
    host.station().pcie().SampleTogether(kMostBytes);
  }
  // Addresses of simulated NICs are known. External peers are discovered on the wire, and drivers of exported NICs
  // discover this one.
  service.discovers_neighbors =
      !options.simulation.wires.empty() ||
      std::ranges::any_of(options.simulation.exports, [](const std::string& socket) { return !socket.empty(); });
  service.neighbors = [this](const std::array<uint8_t, 16>& gid) {
    const auto own = MacOfNic(gid);
    return own.has_value() ? own : guest_gids_.Find(gid);
  };
  if (number < options.simulation.pmem.size()) service.pmem = options.simulation.pmem[number];
  const auto add_gids = [&](std::optional<uint16_t> vlan) {
    for (const uint8_t gid : {RdmaHost::kIpv6Gid, RdmaHost::kIpv4Gid}) {
      service::GidEntry& entry = service.gids.emplace_back();
      entry.index = static_cast<uint16_t>(service.gids.size() - 1);
      entry.vlan = vlan;
      std::ranges::copy(host.gid(gid), entry.gid);
    }
  };
  add_gids(std::nullopt);
  const auto& vlans = options.simulation.vlans;
  if (number < vlans.size() && vlans[number].has_value()) add_gids(vlans[number]);
  auto opened = service::Service::Open(host.function(), loop_, service);
  if (!opened.ok()) return host::ToString(opened.error());
  services_[number] = std::move(opened).value();
  service::Service& running = *services_[number];
  auto connections = service::MakeUcmaServer(running, MakeRandom(service.name + ".cm")());
  if (!connections.ok()) return host::ToString(connections.error());
  gsis_[number] = &(*connections)->gsi();
  running.SetUcmaServer(std::move(connections).value());
  sockets_.push_back(options.directory + "/nic" + std::to_string(number) + ".sock");
  return "";
}

std::optional<std::array<uint8_t, 6>> Simulator::MacOfNic(const std::array<uint8_t, 16>& gid) const {
  for (size_t n = 0; n < services_.size(); ++n) {
    const RdmaHost& peer = system_->host(n);
    // The driver of an exported NIC has the default ones, too, if it is one of ours.
    const bool is_own = services_[n] == nullptr
                            ? gid == peer.gid(RdmaHost::kIpv6Gid) || gid == peer.gid(RdmaHost::kIpv4Gid)
                            : std::ranges::any_of(services_[n]->gids(), [&gid](const service::GidEntry& entry) {
                                return std::ranges::equal(entry.gid, gid);
                              });
    if (is_own) return peer.mac();
  }
  return std::nullopt;
}

std::vector<std::pair<uint16_t, GidSetting>> Simulator::Gids(size_t nic) const {
  std::vector<std::pair<uint16_t, GidSetting>> gids;
  if (services_[nic] == nullptr) return gids;
  for (const service::GidEntry& entry : services_[nic]->gids()) {
    GidSetting& setting = gids.emplace_back(entry.index, GidSetting{.vlan = entry.vlan}).second;
    std::ranges::copy(entry.gid, setting.gid.begin());
  }
  return gids;
}

std::string Simulator::WhyGidsAreFixed(size_t nic) const {
  if (services_[nic] == nullptr) return "the NIC is exported: its driver sets the GIDs";
  if (nic < guest_nics_.size() && guest_nics_[nic] != nullptr)
    return "the NIC has PVRDMA guests: they set its other GIDs";
  return "";
}

host::Result<uint16_t> Simulator::AddGid(size_t nic, const GidSetting& setting) {
  const auto refuse = [](const std::string& why) { return host::Error{host::ErrorCode::kInvalidArgument, why}; };
  if (const std::string why = WhyGidsAreFixed(nic); !why.empty()) return refuse(why);
  for (size_t other = 0; other < services_.size(); ++other) {
    for (const auto& [index, entry] : Gids(other)) {
      // Neighbors are known by address alone.
      if (entry.gid == setting.gid && (other != nic || entry.vlan == setting.vlan)) {
        return refuse(ToText(entry) + " is GID " + std::to_string(index) + " of NIC " + std::to_string(other));
      }
    }
  }
  return services_[nic]->AddGid(setting.gid, setting.vlan);
}

host::Status Simulator::DeleteGid(size_t nic, uint16_t index) {
  if (const std::string why = WhyGidsAreFixed(nic); !why.empty()) {
    return host::Error{host::ErrorCode::kInvalidArgument, why};
  }
  return services_[nic]->DeleteGid(index);
}

std::string Simulator::OpenGuests(const SimulatorOptions& options) {
  guest_nics_.resize(services_.size());
  std::vector<pvrdma::Shares> shares(services_.size());
  std::vector<size_t> opened(services_.size());  // guests, by NIC
  for (const Simulation::Guest& guest : options.simulation.guests) {
    service::Service& service = *services_[guest.nic];
    if (guest_nics_[guest.nic] == nullptr) {
      pvrdma::Nic::Options nic{.mac = system_->host(guest.nic).mac(),
                               .neighbors = [this](const auto& gid) { return MacOfNic(gid); },
                               .drain_events = [&service] { service.Progress(); },
                               .on_gids = [&service](auto gids) { service.SetGuestAddresses(std::move(gids)); },
                               .active_mtu = service.active_mtu(),
                               .link_mbps = service.link_mbps(),
                               .node_guid = service.node_guid(),
                               .first_vector = service.reserved_vectors().first,
                               .vectors = service.reserved_vectors().second,
                               .gsi = gsis_[guest.nic]};
      for (const service::GidEntry& entry : service.gids()) {
        std::ranges::copy(entry.gid, nic.own_gids.emplace_back(pvrdma::Nic::OwnGid{.index = entry.index}).gid.begin());
      }
      guest_nics_[guest.nic] = std::make_unique<pvrdma::Nic>(*service.device(), guest_gids_, std::move(nic));
      std::vector<pvrdma::Limits> limits;
      for (const Simulation::Guest& one : options.simulation.guests) {
        if (one.nic == guest.nic) limits.push_back(one.limits);
      }
      auto divided = pvrdma::Divide(guest_nics_[guest.nic]->capacity(), limits);
      if (!divided.ok()) return options.simulation.name(guest.nic) + ": " + divided.error().text;
      shares[guest.nic] = std::move(divided).value();
      service.SetClientQuota(shares[guest.nic].programs);
      service.OnEvent([this, number = guest.nic](const host::DeviceEvent& event) {
        for (const Guest& one : guests_) {
          if (one.nic == number) one.guest->OnEvent(event);
        }
      });
    }
    const std::string socket = std::filesystem::path(options.directory) / guest.socket;
    auto listening =
        pvrdma::Guest::Listen(loop_, *guest_nics_[guest.nic], socket, shares[guest.nic].guests[opened[guest.nic]++]);
    if (!listening.ok()) return "guest " + guest.name + ": " + host::ToString(listening.error());
    guests_.push_back({guest.nic, socket, std::move(listening).value()});
  }
  return "";
}

std::string Simulator::OpenVfioUser(const SimulatorOptions& options, size_t number) {
  RdmaHost& host = system_->host(number);
  // An absolute path stays as it is.
  sockets_.push_back(std::filesystem::path(options.directory) / options.simulation.exports[number]);
  windows_[number] = std::make_unique<StationWindows>(host.station());
  VfioUserPort port{
      .function = host.function(), .memory = *windows_[number], .reset = [this, number] { system_->Reset(number); }};
  if (number < options.simulation.hidden_features.size()) {
    for (const uint8_t bit : options.simulation.hidden_features[number]) {
      port.hidden_features.at(bit / 32) |= uint32_t{1} << bit % 32;
    }
  }
  // An RTL NIC initializes its tables after reset; done now so that a client need not wait.
  system_->Reset(number);
  auto listening = VfioUserServer::Listen(loop_, port, sockets_.back());
  if (!listening.ok()) return host::ToString(listening.error());
  vfio_users_[number] = std::move(listening).value();
  return "";
}

Simulator::~Simulator() {
  guests_.clear();
  guest_nics_.clear();
  services_.clear();
  for (size_t i = 0; i < vfio_users_.size(); ++i) {
    // The driver of an exported NIC chooses DMA addresses, and may have disconnected during a transfer.
    if (vfio_users_[i] != nullptr) system_->host(i).station().memory().ClearViolations();
  }
  vfio_users_.clear();
  wires_.clear();
}

void Simulator::Progress() {
  // Progress of one service may run the simulation, for example when it destroys a client's queues. Repeat until no new
  // interrupt occurs, so that none waits for the next message.
  uint64_t interrupts = 0;
  do {
    interrupts = Interrupts();
    for (const auto& service : services_) {
      if (service != nullptr) service->Progress();
    }
    for (const auto& server : vfio_users_) {
      if (server != nullptr) server->Progress();
    }
    for (const Guest& guest : guests_) guest.guest->Progress();
  } while (Interrupts() != interrupts);
}

// Programs may poll their memory without a notification.
void Simulator::SettleMemory() {
  if (!services_.empty()) system_->host(0).station().memory().FlushWrites();  // and its group
}

uint64_t Simulator::NextDeadlineNs(uint64_t now_ns) const {
  uint64_t next_ns = service::EventLoop::kForeverNs;
  for (const auto& service : services_) {
    if (service != nullptr) next_ns = std::min(next_ns, service->NextDeadlineNs());
  }
  for (const auto& server : vfio_users_) {
    if (server != nullptr && server->has_work()) next_ns = now_ns;
  }
  for (const Guest& guest : guests_) {
    if (guest.guest->has_work()) next_ns = now_ns;
  }
  return next_ns;
}

std::vector<pid_t> Simulator::Programs() const {
  std::vector<pid_t> programs;
  for (const auto& service : services_) {
    if (service == nullptr) continue;
    const std::vector<pid_t> these = service->processes();
    programs.insert(programs.end(), these.begin(), these.end());
  }
  return programs;
}

uint64_t Simulator::busy_ns() const { return (system_->scheduler().now() - idle_) / kPicosecondsPerNanosecond; }

uint64_t Simulator::Interrupts() const {
  uint64_t messages = 0;
  for (size_t i = 0; i < services_.size(); ++i) messages += system_->host(i).function().messages();
  return messages;
}

// Requires that all programs are quiet. Runs to the next time at which one of them may continue, at most kSteps steps
// so that Stop() takes effect.
void Simulator::RunWhileQuiet(Pacer& pacer) {
  constexpr unsigned kSteps = 4096;
  Scheduler& scheduler = system_->scheduler();
  Picoseconds due = virtual_time_->NextDue();
  if (due == kForever && scheduler.now() < virtual_time_->Settled()) due = virtual_time_->Settled();
  if (due == kForever && pacer.IsIdle()) {
    // No program waits for simulated time; only a timer is pending. It is paced to real time, so that it does not
    // expire while a program does something that the simulator cannot observe.
    const uint64_t now_ns = service::MonotonicNs();
    uint64_t sleep_ns = pacer.SleepNs(now_ns);
    if (const uint64_t deadline_ns = NextDeadlineNs(now_ns); deadline_ns != service::EventLoop::kForeverNs) {
      sleep_ns = std::min(sleep_ns, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
    }
    if (sleep_ns != 0) loop_.Sleep(sleep_ns);
    const uint64_t later_ns = service::MonotonicNs();
    if (pacer.SleepNs(later_ns) == 0) pacer.Advance(later_ns);
    return;
  }
  const uint64_t interrupts = Interrupts();
  static_cast<void>(virtual_time_->TakeObservable());
  const auto is_observable = [&, steps = 0U]() mutable {
    return steps++ == kSteps || Interrupts() != interrupts || virtual_time_->TakeObservable() ||
           (due == kForever && pacer.IsIdle());
  };
  scheduler.RunUntil(is_observable, std::max(due, scheduler.now()));
  pacer.Restart(service::MonotonicNs());
}

void Simulator::RunInVirtualTime() {
  Pacer pacer(system_->scheduler());
  while (!is_stopping_) {
    const uint64_t callbacks = system_->scheduler().callbacks();
    virtual_time_->Publish();  // before any program is notified of events up to now
    loop_.Poll(0);
    Progress();
    if (system_->is_mismatched()) Stop();
    if (is_stopping_) return;  // nothing else may happen that would end a sleep
    if (system_->scheduler().callbacks() != callbacks) pacer.Restart(service::MonotonicNs());
    if (const uint64_t busy_ns = virtual_time_->BusyNs(); busy_ns != 0) {
      loop_.Sleep(busy_ns);
      continue;
    }
    // Messages sent before the programs became quiet come first.
    if (loop_.Poll(0) != 0 || virtual_time_->AnswerDue()) continue;
    RunWhileQuiet(pacer);
  }
}

void Simulator::Run() {
  if (virtual_time_ != nullptr) return RunInVirtualTime();
  // Scheduler steps per slice: some tens of microseconds of real time with the model. Bounds the delay of a client's
  // message or an interrupt.
  constexpr unsigned kSliceSteps = 256;
  Scheduler& scheduler = system_->scheduler();
  Pacer pacer(scheduler);
  ProgramWait wait(loop_, [this] { return Programs(); });
  while (!is_stopping_) {
    const uint64_t now_ns = service::MonotonicNs();
    uint64_t sleep_ns = pacer.SleepNs(now_ns);
    if (const uint64_t deadline_ns = NextDeadlineNs(now_ns); deadline_ns != service::EventLoop::kForeverNs) {
      sleep_ns = std::min(sleep_ns, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
    }
    const uint64_t callbacks = scheduler.callbacks();
    // Sleep, then advance time, then handle messages: they take effect at the time after the sleep.
    if (sleep_ns != 0) {
      wait.Wait(sleep_ns);
      pacer.Advance(service::MonotonicNs());
    }
    idle_ = pacer.idle();
    loop_.Poll(0);
    if (scheduler.callbacks() != callbacks) pacer.Restart(service::MonotonicNs());
    if (pacer.IsIdle()) {
      pacer.Advance(service::MonotonicNs());
    } else {
      pacer.RunSlice(kSliceSteps);
    }
    SettleMemory();
    Progress();
    // After a mismatch only the RTL would continue, without a comparison.
    if (system_->is_mismatched()) Stop();
  }
}

}  // namespace vireo::sim
