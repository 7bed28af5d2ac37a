// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/bench.h"

#include <iterator>

#include "sim/device/board/board_device.h"

namespace vireo::sim {

FaultRule LoseFrames(uint32_t per_million) {
  FaultRule drop;
  drop.kind = FaultKind::kDrop;
  drop.per_million = per_million;
  return drop;
}

std::vector<FaultRule> FaultsOut(const Hardware& hardware, bool sends) {
  std::vector<FaultRule> rules = sends ? hardware.faults_forth : hardware.faults_back;
  if (hardware.lost_per_million != 0) rules.push_back(LoseFrames(hardware.lost_per_million));
  return rules;
}

void UseHardware(const Hardware& hardware, const NicRoles& roles, const std::vector<FaultRule>& faults,
                 RdmaSystemOptions& options) {
  for (size_t i = 0; i < roles.nics; ++i) {
    HostOptions& host = options.hosts.emplace_back();
    host.device = i == 0 || options.peer.empty() ? DeviceOfNic(options.device, i) : options.peer;
    host.profile = options.profile;
    host.nic = hardware.nic;
    host.nic.name = fmt::format("nic{}", i);
    host.nic.faults_out = faults;
    std::ranges::copy(FaultsOut(hardware, std::ranges::count(roles.senders, i) != 0),
                      std::back_inserter(host.nic.faults_out));
    host.mtu = hardware.mtu;
  }
  if (roles.is_switched) options.fabric = Fabric::kSwitch;
  options.network_switch = hardware.network_switch;
  options.driver.wanted = hardware.features;
}

void AddLockstep(const Bench& bench, Row& row) {
  uint64_t compared = 0, different = 0;
  for (size_t i = 0; i < bench.system->topology().size(); ++i) {
    const LockstepNic* const nic = bench.system->lockstep(i);
    if (nic == nullptr) continue;
    const CycleDifferences all = nic->TotalDifferences();
    compared += all.count, different += all.count - all.exact;
  }
  if (compared == 0) return;
  row.metrics.push_back({"lockstep_events", static_cast<double>(compared), "1", false});
  row.metrics.push_back({"lockstep_different", static_cast<double>(different), "1", false});
}

Mark MarkNow(Bench& bench, uint64_t completed, const std::array<size_t, 2>& nics) {
  Scheduler& scheduler = bench.system->scheduler();
  const CoreClock& clock = bench.system->topology().station(0).clock();
  const Picoseconds now = scheduler.now();
  bench.system->topology().RunFor(clock.Begin(clock.Containing(now) + 1) - now);
  Mark mark{scheduler.now(),
            Clock::now(),
            CpuSeconds(),
            {bench.observer.counts(nics[0]), bench.observer.counts(nics[1])},
            completed};
  for (size_t i = 0; i < 2; ++i) {
    if (const auto* nic = dynamic_cast<const ModelNic*>(&bench.system->topology().station(nics.at(i)).nic())) {
      mark.meters.at(i) = nic->MetersAt(clock.Containing(scheduler.now()));
    }
  }
  return mark;
}

std::vector<Metric> Measure(const Options& options, const Mark& begin, const Mark& end, double bytes,
                            std::vector<Picoseconds>& latencies) {
  const auto seconds = static_cast<double>(end.time - begin.time) * 1e-12;
  const double wall = std::chrono::duration<double>(end.wall - begin.wall).count();
  const double cpu = std::max(end.cpu - begin.cpu, 1.0 / CLOCKS_PER_SEC);
  const auto messages = static_cast<double>(end.completed - begin.completed);
  const double cycles = seconds * options.config->core_clock_khz * 1e3;
  const Counts near = end.counts[0] - begin.counts[0], far = end.counts[1] - begin.counts[1];
  const auto gbps = [&](double data) { return data * 8e-9 / seconds; };
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  return {
      {"messages", messages, "1"},
      {"goodput_gbps", gbps(messages * bytes), "Gb/s"},
      {"wire_gbps", gbps(number(near.line_bytes)), "Gb/s"},
      {"wire_back_gbps", gbps(number(far.line_bytes)), "Gb/s"},
      {"msgs_per_s", messages / seconds, "1/s"},
      {"cycles_per_msg", cycles / messages, "cycles"},
      {"latency_ns_p50", Percentile(latencies, 50), "ns"},
      {"latency_ns_p99", Percentile(latencies, 99), "ns"},
      {"frames_per_msg", number(near.frames) / messages, "1"},
      {"frames_back_per_msg", number(far.frames) / messages, "1"},
      {"bar_writes_per_msg", number(near.bar_writes) / messages, "1"},
      {"dma_reads_per_msg", number(near.reads) / messages, "1"},
      {"dma_read_bytes_per_msg", number(near.read_bytes) / messages, "B"},
      {"dma_writes_per_msg", number(near.writes) / messages, "1"},
      {"peer_dma_writes_per_msg", number(far.writes) / messages, "1"},
      {"dma_read_cycles", number(near.read_cycles) / std::max(1.0, number(near.read_ends)), "cycles"},
      {"dma_reads_outstanding", number(near.read_cycles) / cycles, "1"},
      {"events", number(near.events + far.events), "1"},
      {"simulated_us", seconds * 1e6, "us"},
      {"wall_s", wall, "s", false},
      {"cpu_s", cpu, "s", false},
      {"sim_cycles_per_s", cycles / cpu, "1/s", false},
      {"nic_cycles_per_s", 2 * cycles / cpu, "1/s", false},  // summed over both NICs
      {"packets_per_s", number(near.frames + far.frames) / cpu, "1/s", false},
      {"events_per_s", number(near.events + far.events) / cpu, "1/s", false},
  };
}

}  // namespace vireo::sim
