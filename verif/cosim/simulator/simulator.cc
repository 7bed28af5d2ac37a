// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/simulator/simulator.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include "host/service/connection_service.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

// The clock of the services' deadlines.
uint64_t RealNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Simulator::Built Simulator::Build(const SimulatorOptions& options) {
  std::unique_ptr<Simulator> simulator(new Simulator());
  RdmaSystemOptions system = options.system;
  system.open = false;
  RdmaSystem::Built built = RdmaSystem::Build(system);
  if (built.system == nullptr) return {nullptr, built.error};
  simulator->system_ = std::move(built.system);
  for (size_t i = 0; i < system.nics; ++i) {
    RdmaHost& host = simulator->system_->host(i);
    service::ServiceOptions service;
    service.name = "vireo" + std::to_string(i);
    service.netdev = "vnet" + std::to_string(i);
    // Far from the numbers of interfaces that there are.
    constexpr uint32_t kFirstIfindex = 10'000;
    service.ifindex = kFirstIfindex + static_cast<uint32_t>(i);
    service.driver = system.driver;
    // Everybody's addresses are known here, so nobody has to ask on the wire.
    service.neighbors = [world = simulator->system_.get(), nics = system.nics](
                            const std::array<uint8_t, 16>& gid) -> std::optional<std::array<uint8_t, 6>> {
      for (size_t n = 0; n < nics; ++n) {
        const RdmaHost& peer = world->host(n);
        if (gid == peer.gid(RdmaHost::kIpv6Gid) || gid == peer.gid(RdmaHost::kIpv4Gid)) return peer.mac();
      }
      return std::nullopt;
    };
    for (const uint8_t gid : {RdmaHost::kIpv6Gid, RdmaHost::kIpv4Gid}) {
      service::GidEntry& entry = service.gids.emplace_back();
      entry.index = static_cast<uint16_t>(service.gids.size() - 1);
      std::ranges::copy(host.gid(gid), entry.gid);
    }
    auto opened = service::Service::Open(host.function(), simulator->loop_, service);
    if (!opened.ok()) return {nullptr, service.name + ": " + host::ToString(opened.error())};
    simulator->services_.push_back(std::move(opened).value());
    service::Service& running = *simulator->services_.back();
    auto connections = service::MakeUcmaServer(running, MakeRandom(service.name + ".cm")());
    if (!connections.ok()) return {nullptr, service.name + ": " + host::ToString(connections.error())};
    running.SetUcmaServer(std::move(connections).value());
    simulator->sockets_.push_back(options.directory + "/nic" + std::to_string(i) + ".sock");
  }
  // Only when all of them are there: who sees one socket may use every NIC.
  for (size_t i = 0; i < system.nics; ++i) {
    const host::Status listening = simulator->services_[i]->Listen(simulator->sockets_[i]);
    if (!listening.ok()) return {nullptr, host::ToString(listening.error())};
  }
  return {std::move(simulator), ""};
}

Simulator::~Simulator() { services_.clear(); }

void Simulator::Progress() {
  for (const auto& service : services_) service->Progress();
}

void Simulator::Run() {
  // So many times at which something happens take some tens of microseconds in the model: what a client's message or an
  // interrupt may wait.
  constexpr unsigned kSliceSteps = 256;
  Scheduler& scheduler = system_->scheduler();
  Pacer pacer(scheduler);
  while (!is_stopping_) {
    const uint64_t now_ns = RealNs();
    uint64_t sleep_ns = pacer.SleepNs(now_ns);
    for (const auto& service : services_) {
      const uint64_t deadline_ns = service->NextDeadlineNs();
      if (deadline_ns != service::EventLoop::kForeverNs) {
        sleep_ns = std::min(sleep_ns, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
      }
    }
    const uint64_t callbacks = scheduler.callbacks();
    // Sleeping first, then time, then what clients say: it is said at the time to which it was slept.
    if (sleep_ns != 0) {
      loop_.Sleep(sleep_ns);
      pacer.Advance(RealNs());
    }
    loop_.Poll(0);
    if (scheduler.callbacks() != callbacks) pacer.Restart(RealNs());
    if (pacer.IsIdle()) {
      pacer.Advance(RealNs());
    } else {
      pacer.RunSlice(kSliceSteps);
    }
    Progress();
    // From here on the RTL would go on alone, and nothing could be learned from it.
    if (system_->is_mismatched()) Stop();
  }
}

}  // namespace vireo::verif
