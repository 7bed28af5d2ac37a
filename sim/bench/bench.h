// SPDX-License-Identifier: Apache-2.0
// Common part of the workloads of `./vireo bench`: two whole NICs with an observer, and the measured figures, which
// docs/bench.md defines.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "sim/device/model_nic.h"
#include "sim/device/nic_devices.h"
#include "sim/topology/rdma_system.h"

namespace vireo::sim {

using Clock = std::chrono::steady_clock;

inline constexpr uint64_t kSlowMbps = 10'000;
inline constexpr uint64_t kSlowLinkDivisor =
    10;  // of the number of messages below kSlowMbps, where each takes 50 times the cycles
inline constexpr Picoseconds kCompletionTimeout =
    100'000'000 * kPicosecondsPerNanosecond;  // simulated, for one completion
// Until all traffic has ended: a packet that is lost at the end is sent again after the ACK timeout only.
inline constexpr Picoseconds kQuietTimeout = 5'000'000'000 * kPicosecondsPerNanosecond;

inline constexpr uint32_t kMostNics = 16;

// All NICs and their hosts, if they are chosen in detail (settings.h).
struct Hardware {
  NicParameters nic;                         // without name and faults
  uint32_t lost_per_million = 0;             // of the frames that each NIC sends
  std::vector<FaultRule> faults_forth;       // on the frames of NICs that send messages
  std::vector<FaultRule> faults_back;        // on those of the others
  SwitchParameters network_switch{};         // of more than two NICs
  uint32_t mtu = 0;                          // bytes per packet of the link; 0: the maximum for the NIC's frames
  host::FeatureSet features = SplitRings();  // that the drivers accept if the NIC offers them
  uint32_t call_ns = 0;                      // time of a host's thread for a call; the workload custom only

  bool is_lossy() const { return lost_per_million != 0 || !faults_forth.empty() || !faults_back.empty(); }
};

// Who is there and who sends messages: by default NIC 0 to NIC 1, on one wire.
struct NicRoles {
  size_t nics = 2;
  bool is_switched = false;
  std::vector<size_t> senders = {0};
};

struct Options {
  std::vector<std::string> devices = {"model", "rtl"};
  const spec::Config* config = &spec::kNic100;
  std::string preset = "gen3x16";
  bool has_packed_rings = false;       // else split ones
  const Hardware* hardware = nullptr;  // instead of these two; `config` is its configuration
  spec::Profile profile = spec::Profile{spec::kProfileDefault};
  std::string peer;  // device of the other NIC; empty: the same
  std::vector<std::string> workloads;
  std::string config_label = config->name;  // for people
  std::string json, result;
  std::string page;  // whose generated blocks are written; empty: none
  bool quick = false, update_figures = false, update_speed = false;
  bool is_monitored = false, is_metered = false;
  unsigned monitor_rounds = 0;                              // of --monitor-cost (monitor_cost.h); 0: not asked for
  std::array<std::vector<model::Nic::Faster>, 2> faster{};  // blocks of sender and peer (speed_up.h)
  uint32_t more_outstanding = 1;                            // times as many messages outstanding
  PinsFactory rtl;                                          // of the configuration; empty: that of this program
};

struct Metric {
  std::string name;
  double value = 0;
  std::string unit;
  bool is_simulated = true;  // in simulated time: must be equal on all devices with the same seed
};

// Shares of the measured cycles (model/common/meters.h). Names: sender.requester, peer.responder.
struct BlockUse {
  std::string name;
  double worked = 0, starved = 0, blocked = 0, stalled = 0;
  double busy = 0, waits = 0;  // of blocks that count it
};
struct StreamUse {
  std::string producer, consumer;
  uint64_t tokens = 0;
  double waiting = 0, full = 0;
  double held = 0;   // tokens in its queue, on average
  size_t depth = 0;  // for how many it has room
};

struct Row {
  std::string device, workload;
  std::vector<Metric> metrics;
  std::string bottleneck{};           // in words; empty: not asked for
  std::vector<std::string> limits{};  // the same by names (speed_up.h)
  std::vector<BlockUse> blocks{};
  std::vector<StreamUse> streams{};
  double Value(std::string_view name) const {
    for (const Metric& metric : metrics) {
      if (metric.name == name) return metric.value;
    }
    return std::nan("");
  }
};

struct Counts {
  uint64_t events = 0;
  uint64_t frames = 0, line_bytes = 0;  // sent; with padding, FCS, preamble and gap
  uint64_t bar_writes = 0;
  uint64_t reads = 0, read_bytes = 0;
  uint64_t read_ends = 0, read_cycles = 0;  // from the request to its last completion
  uint64_t writes = 0, write_bytes = 0;

  Counts& operator+=(const Counts& other) {
    events += other.events, frames += other.frames, line_bytes += other.line_bytes, bar_writes += other.bar_writes;
    reads += other.reads, read_bytes += other.read_bytes;
    read_ends += other.read_ends, read_cycles += other.read_cycles;
    writes += other.writes, write_bytes += other.write_bytes;
    return *this;
  }
  Counts operator-(const Counts& other) const {
    return {events - other.events,         frames - other.frames,
            line_bytes - other.line_bytes, bar_writes - other.bar_writes,
            reads - other.reads,           read_bytes - other.read_bytes,
            read_ends - other.read_ends,   read_cycles - other.read_cycles,
            writes - other.writes,         write_bytes - other.write_bytes};
  }
};

class Observer final : public EventSink {
 public:
  struct Event {
    EventKind kind{};
    uint16_t nic = 0;
    Cycle cycle = 0;
    uint64_t address = 0;
    uint32_t id = 0, bytes = 0;
    bool is_last = false;
  };

  void OnEvent(const BoundaryEvent& event) override {
    Counts& counts = counts_.at(event.nic);
    auto& started = read_started_.at(event.nic);
    const bool is_last = event.kind == EventKind::kDmaCompletion && (event.status & 0x80) != 0;
    ++counts.events;
    switch (event.kind) {
      case EventKind::kBarWrite: ++counts.bar_writes; break;
      case EventKind::kTransmitEnd:
        ++counts.frames;
        counts.line_bytes +=
            std::max<uint64_t>(event.bytes, kMinFrameBytes) + kFcsBytes + kPreambleBytes + kInterframeGapBytes;
        break;
      case EventKind::kDmaRead:
        ++counts.reads;
        counts.read_bytes += event.bytes;
        if (event.id >= started.size()) started.resize(event.id + 1);
        started[event.id] = event.cycle;
        break;
      case EventKind::kDmaCompletion:
        if (!is_last || event.id >= started.size()) break;
        ++counts.read_ends;
        counts.read_cycles += event.cycle - started[event.id];
        break;
      case EventKind::kDmaWrite:
        ++counts.writes;
        counts.write_bytes += event.bytes;
        break;
      default: break;
    }
    if (is_recording_) {
      events_.push_back({event.kind, event.nic, event.cycle, event.address, event.id, event.bytes, is_last});
    }
  }

  const Counts& counts(size_t nic) const { return counts_.at(nic); }
  void Record() { events_.clear(), is_recording_ = true; }
  const std::vector<Event>& events() const { return events_; }

 private:
  std::array<Counts, kMostNics> counts_;
  std::array<std::vector<Cycle>, kMostNics> read_started_;  // by tag
  std::vector<Event> events_;
  bool is_recording_ = false;
};

// A frame is lost with this chance.
FaultRule LoseFrames(uint32_t per_million);
// What happens to the frames of a NIC of this hardware.
std::vector<FaultRule> FaultsOut(const Hardware& hardware, bool sends);
// Hosts of this hardware in `options`, with its devices. `faults`: on the frames that each NIC sends, before those of
// the hardware.
void UseHardware(const Hardware& hardware, const NicRoles& roles, const std::vector<FaultRule>& faults,
                 RdmaSystemOptions& options);

// The NICs and their connections.
struct Bench {
  Observer observer;  // must outlive the taps
  std::unique_ptr<RdmaSystem> system;
  std::vector<std::unique_ptr<ConnectedPair>> pairs;

  ~Bench() { pairs.clear(); }
  // `faults`: on the frames that each NIC sends. `roles`: only with Options::hardware. Returns "" or an error.
  std::string Open(const Options& options, const std::string& device, const host::DeviceOptions& driver = {},
                   const std::vector<FaultRule>& faults = {}, const NicRoles& roles = {}) {
    RdmaSystemOptions system_options{.device = device,
                                     .peer = options.peer,
                                     .config = options.config,
                                     .profile = options.profile,
                                     .driver = driver,
                                     .is_metered = options.is_metered,
                                     .is_monitored = options.is_monitored,
                                     .is_traced = false};
    if (!options.faster[0].empty() || !options.faster[1].empty()) {
      system_options.devices = [&options](std::string_view, const LockstepOptions&) -> NicFactory {
        return [&options](const NicContext& context) {
          return std::make_unique<ModelNic>(context, PciConfig::Options{},
                                            options.faster.at(std::min<size_t>(context.number, 1)));
        };
      };
    } else if (options.rtl) {
      system_options.devices = [&options](std::string_view name, const LockstepOptions& lockstep) {
        return NicDeviceFactory(name, lockstep, options.rtl);
      };
    }
    if (options.hardware == nullptr) system_options.pcie_preset = options.preset;
    if (!faults.empty()) system_options.faults_out = {faults, faults};
    system_options.driver.wanted = options.has_packed_rings ? host::DefaultFeatures() : SplitRings();
    if (options.hardware != nullptr) UseHardware(*options.hardware, roles, faults, system_options);
    auto built = RdmaSystem::Build(system_options);
    if (built.system == nullptr) return built.error;
    system = std::move(built.system);
    for (size_t i = 0; i < system->topology().size(); ++i) system->topology().station(i).tap().AddSink(observer);
    return RunUntilQuiet();
  }
  // Makes `count` connections with random memory contents. Returns "" or an error.
  std::string Connect(size_t count, const ConnectedPairOptions& pair) {
    auto random = MakeRandom("bench");
    for (size_t i = 0; i < count; ++i) {
      std::string error;
      pairs.push_back(MakeConnectedPair(system->host(0), system->host(1), pair, &error));
      if (pairs.back() == nullptr) return error;
      for (const auto& side : pairs.back()->side) {
        std::ranges::generate_n(side.memory->data(), static_cast<ptrdiff_t>(side.memory->size()),
                                [&] { return static_cast<uint8_t>(random()); });
      }
    }
    return RunUntilQuiet();
  }
  std::string RunUntilQuiet() {
    if (system->topology().RunUntilQuiet(system->scheduler().now() + kQuietTimeout)) return "";
    return "the NICs do not become idle";
  }
  // Runs until the device writes to the memory of a host, which a polling host may observe. False: timeout.
  template <typename Tick>
  bool RunUntilWritten(Tick tick, size_t host = 0) {
    const PcieLink::Counters& counters = system->topology().station(host).pcie().counters();
    const uint64_t writes = counters.writes;
    return system->scheduler().RunUntil(
        [&] {
          tick();
          return counters.writes != writes;
        },
        system->scheduler().now() + kCompletionTimeout);
  }
};

class Progress {
 public:
  Progress(std::string device, std::string what) : device_(std::move(device)), what_(std::move(what)) {}
  // Prints progress every 3 s. Cheap enough to call at every event.
  void Tick(uint64_t done, uint64_t all) {
    if (++calls_ % 1024 != 0) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::seconds(3)) return;
    last_ = now;
    fmt::print(stderr, "{} {}: {} of {} messages\n", device_, what_, std::min(done, all), all);
  }

 private:
  std::string device_, what_;
  uint64_t calls_ = 0;
  Clock::time_point last_ = Clock::now();
};

// CPU time of this process, which has one thread: its wall time on an idle machine.
inline double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

inline double Percentile(std::vector<Picoseconds>& times, unsigned percent) {  // nearest rank, in ns
  if (times.empty()) return 0;
  const size_t rank = (times.size() * percent + 99) / 100;
  const auto at = times.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(times, at);
  return static_cast<double>(*at) / kPicosecondsPerNanosecond;
}

// A point in time of a run. Figures are measured between two marks.
struct Mark {
  Picoseconds time = 0;
  Clock::time_point wall;
  double cpu = 0;
  std::array<Counts, 2> counts;
  uint64_t completed = 0;                         // messages
  std::array<model::Meters::Counts, 2> meters{};  // of metered models
};
// For NICs in lockstep: how many events of all were compared, and how many were in different cycles.
void AddLockstep(const Bench& bench, Row& row);
// A mark at the end of the current cycle: the order of events within a cycle depends on the device. `nics`: sender and
// peer.
Mark MarkNow(Bench& bench, uint64_t completed, const std::array<size_t, 2>& nics = {0, 1});
// The figures of every workload, for messages of `bytes` bytes, on average, from the sender to its peer.
std::vector<Metric> Measure(const Options& options, const Mark& begin, const Mark& end, double bytes,
                            std::vector<Picoseconds>& latencies);

}  // namespace vireo::sim
