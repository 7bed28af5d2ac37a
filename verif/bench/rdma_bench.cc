// SPDX-License-Identifier: Apache-2.0
// Two whole NICs on a wire, each with driver, firmware, PCIe link and host memory, carrying RDMA: throughput and
// latency in simulated time, and how fast model and RTL simulate. What each figure means is in docs/bench.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verif/cosim/rdma_system.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

using Clock = std::chrono::steady_clock;

// --- What is run

struct Workload {
  const char* name;
  spec::IbWrOpcode opcode;
  uint32_t bytes;         // of a message
  uint32_t queue_pairs;   // or as many as the configuration has
  uint32_t depth;         // work requests outstanding on each
  uint32_t signal_every;  // of how many work requests one asks for a CQE
  spec::IbMtu path_mtu;
  uint64_t messages, quick_messages;  // measured, after as many as fill the pipe
};
constexpr auto kWrite = spec::IbWrOpcode::kRdmaWrite;
constexpr auto kRead = spec::IbWrOpcode::kRdmaRead;
constexpr auto kSend = spec::IbWrOpcode::kSend;
constexpr auto kMtu = spec::IbMtu::kMtu4096;
constexpr Workload kWorkloads[] = {
    {"write_64b_1qp", kWrite, 64, 1, 64, 16, kMtu, 8000, 800},
    {"write_64b_16qp", kWrite, 64, 16, 64, 16, kMtu, 20000, 2000},
    {"write_512b_1qp", kWrite, 512, 1, 64, 16, kMtu, 8000, 800},
    {"write_4k_1qp", kWrite, 4096, 1, 64, 16, kMtu, 3000, 320},
    {"write_4k_16qp", kWrite, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"write_64k_1qp", kWrite, 65536, 1, 8, 1, kMtu, 300, 16},
    {"write_1m_1qp", kWrite, 1048576, 1, 2, 1, kMtu, 16, 2},
    {"write_64k_16qp", kWrite, 65536, 16, 2, 1, kMtu, 320, 32},
    {"read_64b_16qp", kRead, 64, 16, 32, 16, kMtu, 8000, 800},
    {"read_4k_16qp", kRead, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"read_64k_1qp", kRead, 65536, 1, 8, 1, kMtu, 300, 16},
    {"read_64k_16qp", kRead, 65536, 16, 2, 1, kMtu, 320, 32},
    {"send_64b_16qp", kSend, 64, 16, 64, 16, kMtu, 8000, 800},
    {"send_4k_16qp", kSend, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"send_64k_1qp", kSend, 65536, 1, 8, 1, kMtu, 300, 16},
    {"send_64k_16qp", kSend, 65536, 16, 2, 1, kMtu, 320, 32},
    {"pingpong_64b", kWrite, 64, 1, 1, 1, kMtu, 1000, 50},
};
constexpr const char* kBreakdown = "breakdown_64b";

constexpr uint32_t kMinMemoryBytes = 65536;  // so that small messages do not all lie in one place
constexpr uint32_t kReservedQueuePairs = 2;  // 0 and 1
constexpr uint64_t kSlowLinkDivisor =
    10;  // of the number of messages below 10 Gb/s, where each takes 50 times the cycles
constexpr Picoseconds kPatience = 100'000'000 * kPicosecondsPerNanosecond;  // simulated, for one completion

struct Options {
  std::vector<std::string> devices = {"model", "rtl"};
  const spec::Config* config = &spec::kNic100;
  std::string preset = "gen3x16";
  std::vector<std::string> workloads;
  std::string json;
  bool quick = false;
};

struct Metric {
  std::string name;
  double value = 0;
  std::string unit;
  bool is_simulated = true;  // a property of the device: every device of one seed must give the same
};

struct Row {
  std::string device, workload;
  std::vector<Metric> metrics;
  double Value(std::string_view name) const {
    for (const Metric& metric : metrics) {
      if (metric.name == name) return metric.value;
    }
    return std::nan("");
  }
};

// --- What is seen at the seams

struct Counts {
  uint64_t events = 0;
  uint64_t frames = 0, line_bytes = 0;  // sent; with padding, FCS, preamble and gap
  uint64_t bar_writes = 0;
  uint64_t reads = 0, read_bytes = 0;
  uint64_t read_ends = 0, read_cycles = 0;  // from the request to its last completion
  uint64_t writes = 0, write_bytes = 0;

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
    auto& began = read_began_.at(event.nic);
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
        if (event.id >= began.size()) began.resize(event.id + 1);
        began[event.id] = event.cycle;
        break;
      case EventKind::kDmaCompletion:
        if (!is_last || event.id >= began.size()) break;
        ++counts.read_ends;
        counts.read_cycles += event.cycle - began[event.id];
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
  std::array<Counts, 2> counts_;
  std::array<std::vector<Cycle>, 2> read_began_;  // by tag
  std::vector<Event> events_;
  bool is_recording_ = false;
};

// --- Running

// Two NICs and their connections.
struct Bench {
  Observer observer;  // outlives the taps
  std::unique_ptr<RdmaSystem> system;
  std::vector<std::unique_ptr<ConnectedPair>> pairs;

  ~Bench() { pairs.clear(); }
  // Empty, or why there is none.
  std::string Open(const Options& options, const std::string& device, size_t count, const ConnectedPairOptions& pair) {
    auto built = RdmaSystem::Build({.device = device, .config = options.config, .pcie_preset = options.preset});
    if (built.system == nullptr) return built.error;
    system = std::move(built.system);
    for (size_t i = 0; i < system->topology().size(); ++i) system->topology().station(i).tap().AddSink(observer);
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
    if (system->topology().RunUntilQuiet(system->scheduler().now() + kPatience)) return "";
    return "the NICs do not come to rest";
  }
  // Runs until bytes reach the memory of host 0, because only then there can be a completion. False: none came.
  template <typename Tick>
  bool RunUntilWritten(Tick tick) {
    const PcieLink::Counters& counters = system->topology().station(0).pcie().counters();
    const uint64_t writes = counters.writes;
    return system->scheduler().RunUntil(
        [&] {
          tick();
          return counters.writes != writes;
        },
        system->scheduler().now() + kPatience);
  }
  host::Status Post(ConnectedPair& pair, const Workload& workload, uint64_t wr_id, uint64_t offset, bool is_signaled) {
    auto& [near, far] = pair.side;
    const spec::RdmaSge sge = near.region->Sge(offset, workload.bytes);
    return near.qp->PostSend({.wr_id = wr_id,
                              .opcode = workload.opcode,
                              .flags = is_signaled ? spec::IbSendFlags::kSignaled : uint8_t{0},
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address() + offset,
                              .rkey = far.region->rkey()});
  }
};

class Progress {
 public:
  Progress(std::string device, std::string what) : device_(std::move(device)), what_(std::move(what)) {}
  // Cheap enough to be called at every event.
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

// Of this process, which has one thread: what the clock on the wall would say if the machine had nothing else to do.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double Percentile(std::vector<Picoseconds>& times, unsigned percent) {  // nearest rank, in ns
  if (times.empty()) return 0;
  const size_t rank = (times.size() * percent + 99) / 100;
  const auto at = times.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(times, at);
  return static_cast<double>(*at) / kPicosecondsPerNanosecond;
}

uint64_t MessageCount(const Options& options, const Workload& workload) {
  constexpr uint32_t kSlowMbps = 10'000;
  const uint64_t messages = options.quick ? workload.quick_messages : workload.messages;
  return options.config->link_mbps < kSlowMbps
             ? std::max<uint64_t>(messages / kSlowLinkDivisor, 2 * workload.signal_every)
             : messages;
}

// Empty, or what went wrong.
std::string RunWorkload(const Options& options, const std::string& device, const Workload& workload, Row& row) {
  const size_t queue_pairs = std::min<size_t>(workload.queue_pairs, options.config->num_qps - kReservedQueuePairs);
  const uint64_t memory_bytes = std::max(workload.bytes, kMinMemoryBytes);
  const bool sends = workload.opcode == kSend;
  // Receives, twice as many as there are messages under way, so that none waits for the peer's host.
  const uint32_t receives = sends ? 2 * workload.depth : 0;
  ConnectedPairOptions pair_options{
      .memory_bytes = memory_bytes,
      .path_mtu = workload.path_mtu,
      .cqe = std::max<uint32_t>(64, receives),
      .interrupts = false,  // a host that polls
      .qp = {.max_send_wr = std::max<uint32_t>(workload.depth, 2), .max_recv_wr = receives}};
  pair_options.connection.max_rd_atomic = pair_options.connection.max_dest_rd_atomic =
      static_cast<uint8_t>(options.config->max_rd_atomic);
  Bench bench;
  if (std::string error = bench.Open(options, device, queue_pairs, pair_options); !error.empty()) return error;

  struct Queue {
    uint64_t posted = 0, completed = 0;
    uint64_t receives = 0, received = 0;  // at the peer
    std::vector<Picoseconds> posted_at;   // by number modulo depth
  };
  std::vector<Queue> queues(queue_pairs);
  for (Queue& queue : queues) queue.posted_at.resize(workload.depth);
  // Until every message that found the queues empty is complete, and a while longer.
  const uint64_t measured = MessageCount(options, workload);
  const uint64_t fill = workload.depth * queue_pairs + measured / 8;
  const uint64_t slots = memory_bytes / workload.bytes;

  struct Mark {
    Picoseconds time = 0;
    Clock::time_point wall;
    double cpu = 0;
    std::array<Counts, 2> counts;
    uint64_t completed = 0;
  };
  uint64_t completed = 0;
  const CoreClock& clock = bench.system->topology().station(0).clock();
  const auto mark = [&] {
    // When in its cycle a device tells an event is its own business: all of the cycle counts.
    const Picoseconds now = bench.system->scheduler().now();
    bench.system->topology().RunFor(clock.Begin(clock.Containing(now) + 1) - now);
    return Mark{bench.system->scheduler().now(),
                Clock::now(),
                CpuSeconds(),
                {bench.observer.counts(0), bench.observer.counts(1)},
                completed};
  };
  std::optional<Mark> begin, end;
  std::vector<Picoseconds> latencies;
  Progress progress(device, workload.name);
  std::array<spec::RdmaCqReq, 16> cqes;
  // The peer's host takes what it has received, and posts as many receives.
  const auto receive = [&](Queue& queue, ConnectedPair::Side& far) -> std::string {
    for (;;) {
      auto count = far.cq->Poll(cqes);
      if (!count.ok()) return host::ToString(count.error());
      queue.received += *count;
      if (*count == 0) break;
    }
    for (; queue.receives - queue.received < receives; ++queue.receives) {
      const spec::RdmaSge sge = far.region->Sge(queue.receives % slots * workload.bytes, workload.bytes);
      const host::Status posted = far.qp->PostRecv({.wr_id = queue.receives, .sg_list = std::span(&sge, 1)});
      if (!posted.ok()) return host::ToString(posted.error());
    }
    return "";
  };
  while (!end) {
    for (size_t i = 0; i < queue_pairs; ++i) {
      Queue& queue = queues[i];
      if (std::string error = receive(queue, bench.pairs[i]->side[1]); !error.empty()) return error;
      for (; queue.posted - queue.completed < workload.depth; ++queue.posted) {
        const bool is_signaled = (queue.posted + 1) % workload.signal_every == 0;
        const host::Status posted =
            bench.Post(*bench.pairs[i], workload, queue.posted, queue.posted % slots * workload.bytes, is_signaled);
        if (!posted.ok()) return host::ToString(posted.error());
        queue.posted_at[queue.posted % workload.depth] = bench.system->scheduler().now();
      }
    }
    if (!bench.RunUntilWritten([&] { progress.Tick(completed, fill + measured); })) {
      return fmt::format("no completion after {} messages\n{}", completed, bench.system->Complaints());
    }
    const uint64_t first_completed = queues[0].completed;
    for (size_t i = 0; i < queue_pairs; ++i) {
      Queue& queue = queues[i];
      auto count = bench.pairs[i]->side[0].cq->Poll(cqes);
      if (!count.ok()) return host::ToString(count.error());
      for (size_t k = 0; k < *count; ++k) {
        const spec::RdmaCqReq& cqe = cqes[k];
        if (cqe.status != spec::IbWcStatus::kSuccess || cqe.wr_id != queue.completed + workload.signal_every - 1) {
          return fmt::format("queue pair {}: completion of {} is {}", i, cqe.wr_id, spec::ToString(cqe.status));
        }
        queue.completed += workload.signal_every;
        completed += workload.signal_every;
        if (begin) latencies.push_back(bench.system->scheduler().now() - queue.posted_at[cqe.wr_id % workload.depth]);
      }
    }
    // Both ends at a CQE of the same queue pair: the others are then as far on their way to their next CQE.
    if (queues[0].completed == first_completed) continue;
    if (!begin && completed >= fill) {
      begin = mark();
    } else if (begin && completed >= begin->completed + measured) {
      end = mark();
    }
  }
  // What is still under way ends too, so that all data can be looked at.
  if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  for (size_t i = 0; i < queue_pairs; ++i) {
    const auto& [near, far] = bench.pairs[i]->side;
    const uint64_t bytes = std::min(slots, queues[i].posted) * workload.bytes;
    if (std::memcmp(near.memory->data(), far.memory->data(), bytes) != 0) {
      return fmt::format("queue pair {}: the peer's memory has other data", i);
    }
  }
  if (std::string complaints = bench.system->Complaints(); !complaints.empty()) return complaints;

  const auto seconds = static_cast<double>(end->time - begin->time) * 1e-12;
  const double wall = std::chrono::duration<double>(end->wall - begin->wall).count();
  const double cpu = std::max(end->cpu - begin->cpu, 1.0 / CLOCKS_PER_SEC);
  const auto messages = static_cast<double>(end->completed - begin->completed);
  const double cycles = seconds * options.config->core_clock_khz * 1e3;
  const Counts near = end->counts[0] - begin->counts[0], far = end->counts[1] - begin->counts[1];
  const auto gbps = [&](double bytes) { return bytes * 8e-9 / seconds; };
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  row.metrics = {
      {"queue_pairs", number(queue_pairs), "1"},
      {"messages", messages, "1"},
      {"goodput_gbps", gbps(messages * workload.bytes), "Gb/s"},
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
      {"dma_reads_under_way", number(near.read_cycles) / cycles, "1"},
      {"events", number(near.events + far.events), "1"},
      {"simulated_us", seconds * 1e6, "us"},
      {"wall_s", wall, "s", false},
      {"cpu_s", cpu, "s", false},
      {"sim_cycles_per_s", cycles / cpu, "1/s", false},
      {"packets_per_s", number(near.frames + far.frames) / cpu, "1/s", false},
      {"events_per_s", number(near.events + far.events) / cpu, "1/s", false},
  };
  return "";
}

// --- Where the time of one message goes

struct Step {
  std::string what;
  const char* where = "";  // who took the time since the step before
  Cycle cycle = 0;         // since the post
  Cycle took = 0;
  bool is_aside = false;  // nobody waits for it: its time counts from what it follows, and not in the sum
};

// One signaled 64-byte WRITE between NICs at rest, with an armed CQ.
std::string RunBreakdown(const Options& options, const std::string& device, Row& row, std::vector<Step>& steps) {
  constexpr Workload kOne = {kBreakdown, kWrite, 64, 1, 1, 1, kMtu, 1, 1};
  Bench bench;
  if (std::string error = bench.Open(options, device, 1,
                                     {.memory_bytes = kMinMemoryBytes,
                                      .path_mtu = kOne.path_mtu,
                                      .cqe = 64,
                                      .interrupts = true,
                                      .qp = {.max_send_wr = 64, .max_recv_wr = 0}});
      !error.empty()) {
    return error;
  }
  ConnectedPair& pair = *bench.pairs[0];
  const CoreClock& clock = bench.system->topology().station(0).clock();
  std::array<spec::RdmaCqReq, 1> cqe;
  Picoseconds posted_at = 0, seen_at = 0;
  constexpr uint64_t kWarm = 2;  // the device fetches a CQ's buffers ahead: the first ones are no example
  for (uint64_t i = 0; i <= kWarm; ++i) {
    if (host::Status armed = pair.side[0].cq->Arm(); !armed.ok()) return host::ToString(armed.error());
    if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
    bench.observer.Record();
    posted_at = bench.system->scheduler().now();
    if (host::Status posted = bench.Post(pair, kOne, i, 0, true); !posted.ok()) {
      return host::ToString(posted.error());
    }
    for (size_t count = 0; count == 0;) {
      if (!bench.RunUntilWritten([] {})) return "no completion\n" + bench.system->Complaints();
      auto polled = pair.side[0].cq->Poll(cqe);
      if (!polled.ok()) return host::ToString(polled.error());
      count = *polled;
    }
    seen_at = bench.system->scheduler().now();
    if (cqe[0].status != spec::IbWcStatus::kSuccess) return std::string("completion: ") + spec::ToString(cqe[0].status);
    if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  }
  if (std::string complaints = bench.system->Complaints(); !complaints.empty()) return complaints;

  // Streams of one NIC are ordered, all together they are not.
  auto events = bench.observer.events();
  std::ranges::stable_sort(events, {}, &Observer::Event::cycle);
  const Cycle start = clock.Containing(posted_at);
  constexpr const char *kNic = "nic", *kHost = "pcie+memory", *kLine = "mac+wire", *kPeer = "peer nic";
  Cycle reached = start;  // by the last step that somebody waits for
  const auto add = [&](std::string what, const char* where, Cycle cycle) {
    steps.push_back({std::move(what), where, cycle - start, cycle - reached});
    reached = cycle;
  };
  const auto add_aside = [&](std::string what, const char* where, Cycle cycle) {
    steps.push_back({std::move(what), where, cycle - start, cycle - reached, true});
  };
  const auto find = [&](Cycle from, auto is) {
    return std::ranges::find_if(events, [&](const Observer::Event& event) { return event.cycle >= from && is(event); });
  };
  const auto kind = [](EventKind wanted, uint16_t nic) {
    return [=](const Observer::Event& event) { return event.kind == wanted && event.nic == nic; };
  };
  const auto in = [](const verbs::MemoryRegion& region, uint64_t address) {
    return address >= region.address() && address < region.address() + region.length();
  };
  const auto missing = [](const char* what) { return fmt::format("one message: there is no {}", what); };

  const auto doorbell = find(start, kind(EventKind::kBarWrite, 0));
  if (doorbell == events.end()) return missing("doorbell");
  add("doorbell (bar_write)", kHost, doorbell->cycle);
  // Reads up to that of the payload. Those made before one of them is answered are one step.
  constexpr std::array kQueueReads = {"available index", "ring entry", "descriptor", "work request"};
  size_t queue_reads = 0;
  std::vector<uint32_t> waiting;  // tags
  bool is_payload = false;
  Cycle last_answer = 0;
  for (auto event = doorbell; event != events.end(); ++event) {
    if (event->nic != 0) continue;
    if (event->kind == EventKind::kDmaRead && !is_payload) {
      is_payload = in(*pair.side[0].region, event->address);
      if (waiting.empty()) {
        const char* what = is_payload                         ? "payload"
                           : queue_reads < kQueueReads.size() ? kQueueReads[queue_reads]
                                                              : "queue";
        ++queue_reads;
        add(fmt::format("dma_read {}, {} B", what, event->bytes), kNic, event->cycle);
      } else {
        steps.back().what += fmt::format(" + {} B", event->bytes);
      }
      waiting.push_back(event->id);
    } else if (event->kind == EventKind::kDmaCompletion && event->is_last && std::erase(waiting, event->id) != 0 &&
               waiting.empty()) {
      last_answer = event->cycle;
      add(is_payload ? "payload read completion" : "dma_completion", kHost, last_answer);
      if (is_payload) break;
    }
  }
  if (!is_payload) return missing("read of the payload");
  const auto sent = find(last_answer, kind(EventKind::kTransmitStart, 0));
  if (sent == events.end()) return missing("transmit_start");
  add("transmit_start", kNic, sent->cycle);
  const auto arrived = find(sent->cycle, kind(EventKind::kReceiveStart, 1));
  if (arrived == events.end()) return missing("receive_start of the peer");
  add("peer receive_start", kLine, arrived->cycle);
  const auto stored = find(arrived->cycle, [&](const Observer::Event& event) {
    return event.kind == EventKind::kDmaWrite && event.nic == 1 && in(*pair.side[1].region, event.address);
  });
  if (stored == events.end()) return missing("payload dma_write of the peer");
  const auto answered = find(arrived->cycle, kind(EventKind::kTransmitStart, 1));
  if (answered == events.end()) return missing("acknowledge");
  add_aside("(peer payload dma_write)", kPeer, stored->cycle);
  add("peer ack transmit_start", kPeer, answered->cycle);
  const auto acknowledged = find(answered->cycle, kind(EventKind::kReceiveStart, 0));
  if (acknowledged == events.end()) return missing("receive_start of the acknowledge");
  add("ack receive_start", kLine, acknowledged->cycle);
  const auto cqe_write = find(acknowledged->cycle, [](const Observer::Event& event) {
    return event.kind == EventKind::kDmaWrite && event.nic == 0 && event.bytes == spec::RdmaCqReq::kBytes;
  });
  if (cqe_write == events.end()) return missing("dma_write of a CQE");
  add("CQE dma_write", kNic, cqe_write->cycle);
  const auto index_write = find(cqe_write->cycle, [&](const Observer::Event& event) {
    return event.kind == EventKind::kDmaWrite && event.nic == 0 && event.bytes == sizeof(uint16_t);
  });
  if (index_write != events.end()) add("CQ used index dma_write", kNic, index_write->cycle);
  const auto msix = find(cqe_write->cycle, kind(EventKind::kMsix, 0));
  if (msix == events.end()) return missing("MSI-X message");
  add_aside("(msix)", kNic, msix->cycle);
  add("CQE seen by a host that polls", kHost, clock.AtOrAfter(seen_at));

  const auto identifier = [](std::string text) {
    std::ranges::replace_if(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  };
  std::map<std::string, Cycle> by_place;
  Cycle sum = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    row.metrics.push_back(
        {fmt::format("step_{:02}_{}", i, identifier(step.what)), static_cast<double>(step.took), "cycles"});
    if (step.is_aside) continue;
    by_place[step.where] += step.took;
    sum += step.took;
  }
  for (const auto& [place, cycles] : by_place) {
    row.metrics.push_back({"cycles_in_" + place, static_cast<double>(cycles), "cycles"});
  }
  row.metrics.push_back({"cycles", static_cast<double>(sum), "cycles"});
  row.metrics.push_back({"latency_ns", static_cast<double>(seen_at - posted_at) / kPicosecondsPerNanosecond, "ns"});
  return "";
}

// --- Reports

void PrintSteps(const Options& options, const Row& row, const std::vector<Step>& steps) {
  fmt::print("\n{}: one 64-byte WRITE, in cycles of {:g} ns\n{:<44}{:>8}{:>8}  {}\n", row.device,
             1e6 / options.config->core_clock_khz, "event", "at", "took", "in");
  for (const Step& step : steps) fmt::print("{:<44}{:>8}{:>8}  {}\n", step.what, step.cycle, step.took, step.where);
  fmt::print("sum {:.0f} cycles, {:.1f} ns:", row.Value("cycles"), row.Value("latency_ns"));
  for (const Metric& metric : row.metrics) {
    constexpr std::string_view kPrefix = "cycles_in_";
    if (metric.name.starts_with(kPrefix)) fmt::print("  {} {:.0f}", metric.name.substr(kPrefix.size()), metric.value);
  }
  fmt::print("\n");
}

void PrintTables(const std::vector<Row>& rows) {
  fmt::print("\n{:<9}{:<16}{:>4}{:>9}{:>9}{:>11}{:>10}{:>10}{:>10}{:>9}{:>11}{:>11}{:>10}\n", "device", "workload",
             "qps", "goodput", "wire", "msgs/s", "cyc/msg", "p50 ns", "p99 ns", "cpu s", "cycles/s", "packets/s",
             "events");
  for (const Row& row : rows) {
    if (row.workload == kBreakdown) continue;
    fmt::print(
        "{:<9}{:<16}{:>4.0f}{:>9.3f}{:>9.3f}{:>11.0f}{:>10.1f}{:>10.0f}{:>10.0f}{:>9.2f}{:>11.0f}{:>11.0f}{:>10.0f}\n",
        row.device, row.workload, row.Value("queue_pairs"), row.Value("goodput_gbps"),
        std::max(row.Value("wire_gbps"), row.Value("wire_back_gbps")),  // the way of the data
        row.Value("msgs_per_s"), row.Value("cycles_per_msg"), row.Value("latency_ns_p50"), row.Value("latency_ns_p99"),
        row.Value("cpu_s"), row.Value("sim_cycles_per_s"), row.Value("packets_per_s"), row.Value("events"));
  }
  fmt::print(
      "\nper message, at the sender and (back, peer) at the "
      "receiver\n{:<9}{:<16}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>11}{:>11}\n",
      "device", "workload", "frames", "back", "bar_wr", "reads", "read B", "writes", "peer wr", "read cyc",
      "under way");
  for (const Row& row : rows) {
    if (row.workload == kBreakdown) continue;
    fmt::print("{:<9}{:<16}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>9.0f}{:>8.2f}{:>8.2f}{:>11.1f}{:>11.2f}\n", row.device,
               row.workload, row.Value("frames_per_msg"), row.Value("frames_back_per_msg"),
               row.Value("bar_writes_per_msg"), row.Value("dma_reads_per_msg"), row.Value("dma_read_bytes_per_msg"),
               row.Value("dma_writes_per_msg"), row.Value("peer_dma_writes_per_msg"), row.Value("dma_read_cycles"),
               row.Value("dma_reads_under_way"));
  }
}

// What has no business to depend on the device. The number of figures that differ.
uint64_t Compare(const Options& options, const std::vector<Row>& rows) {
  uint64_t different = 0;
  for (size_t i = 1; i < options.devices.size(); ++i) {
    const std::string& first = options.devices[0];
    const std::string& second = options.devices[i];
    uint64_t compared = 0, differ = 0;
    for (const Row& a : rows) {
      if (a.device != first) continue;
      for (const Row& b : rows) {
        if (b.device != second || b.workload != a.workload) continue;
        for (const Metric& metric : a.metrics) {
          if (!metric.is_simulated) continue;
          ++compared;
          if (b.Value(metric.name) == metric.value) continue;  // computed alike from integers: equal to the last bit
          ++differ;
          fmt::print("{} {}: {} {}, {} {}\n", a.workload, metric.name, first, metric.value, second,
                     b.Value(metric.name));
        }
        if (const double ratio = a.Value("sim_cycles_per_s") / b.Value("sim_cycles_per_s"); !std::isnan(ratio)) {
          fmt::print("{}: {} simulates {:.1f} times as fast as {}\n", a.workload, first, ratio, second);
        }
      }
    }
    fmt::print("{} and {}: {} figures in simulated time compared, {} differ\n", first, second, compared, differ);
    different += differ;
  }
  return different;
}

std::string WriteJson(const Options& options, const std::vector<Row>& rows) {
  std::string text = "[\n";
  for (const Row& row : rows) {
    for (const Metric& metric : row.metrics) {
      // Names are ours: nothing in them needs escaping.
      text += fmt::format(
          "{}  {{\"device\": \"{}\", \"config\": \"{}\", \"preset\": \"{}\", \"workload\": \"{}\", \"metric\": \"{}\", "
          "\"value\": {}, \"unit\": \"{}\"}}",
          text.size() > 2 ? ",\n" : "", row.device, options.config->name, options.preset, row.workload, metric.name,
          metric.value, metric.unit);
    }
  }
  text += "\n]\n";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(options.json.c_str(), "w"), &std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    return fmt::format("cannot write {}", options.json);
  }
  return "";
}

// Nothing, or an exit code.
std::optional<int> ParseCommandLine(int argc, char** argv, Options& options) {
  CLI::App app("RDMA between two simulated NICs: throughput and latency in simulated time, and speed of simulation.");
  app.name("vireo bench");
  std::string config = options.config->name;
  std::vector<std::string> configs, presets, workloads;
  for (const auto* known : spec::kConfigs) configs.emplace_back(known->name);
  for (const auto& known : kPciePresets) presets.emplace_back(known.name);
  for (const auto& known : kWorkloads) workloads.emplace_back(known.name);
  workloads.emplace_back(kBreakdown);
  options.workloads = workloads;
  app.add_option("--device", options.devices, "model, rtl, lockstep (default: model,rtl)")
      ->delimiter(',')
      ->check(CLI::IsMember({"model", "rtl", "lockstep"}));
  app.add_option("--config", config, "configuration of both NICs")
      ->check(CLI::IsMember(configs))
      ->capture_default_str();
  app.add_option("--preset", options.preset, "PCIe link of both NICs")
      ->check(CLI::IsMember(presets))
      ->capture_default_str();
  app.add_option("--workload", options.workloads, "only these (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(workloads));
  app.add_option("--json", options.json, "write all figures to this file");
  app.add_flag("--quick", options.quick, "a tenth of the messages");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto* known : spec::kConfigs) {
    if (config == known->name) options.config = known;
  }
  return std::nullopt;
}

int Run(int argc, char** argv) {
  Options options;
  if (const auto code = ParseCommandLine(argc, argv, options)) return *code;
  // Figures are repeated by the same command: chance decides only if somebody asks for it.
  setenv("VIREO_SEED", "1", /*overwrite=*/0);

  std::vector<Row> rows;
  const auto is_wanted = [&](const char* name) { return std::ranges::count(options.workloads, name) != 0; };
  const auto fail = [](const std::string& device, const char* workload, const std::string& error) {
    fmt::print(stderr, "vireo bench: {} {}: {}\n", device, workload, error);
    return 1;
  };
  fmt::print("two NICs, {} at {} MHz, {} Gb/s line, {}\n", options.config->name, options.config->core_clock_khz / 1000,
             options.config->link_mbps / 1000, options.preset);
  for (const std::string& device : options.devices) {
    for (const Workload& workload : kWorkloads) {
      if (!is_wanted(workload.name)) continue;
      fmt::print(stderr, "{} {}\n", device, workload.name);
      Row& row = rows.emplace_back(Row{device, workload.name, {}});
      if (std::string error = RunWorkload(options, device, workload, row); !error.empty()) {
        return fail(device, workload.name, error);
      }
    }
    if (is_wanted(kBreakdown)) {
      Row& row = rows.emplace_back(Row{device, kBreakdown, {}});
      std::vector<Step> steps;
      if (std::string error = RunBreakdown(options, device, row, steps); !error.empty()) {
        return fail(device, kBreakdown, error);
      }
      PrintSteps(options, row, steps);
    }
  }
  PrintTables(rows);
  const uint64_t different = Compare(options, rows);
  if (!options.json.empty()) {
    if (std::string error = WriteJson(options, rows); !error.empty()) return fail("", "", error);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::verif

int main(int argc, char** argv) {
  try {
    return vireo::verif::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo bench: %s\n", error.what());
    return 1;
  }
}
