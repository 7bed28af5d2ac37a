// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "sim/bench/rdma_workload.h"

namespace vireo::sim {

std::string RunBreakdown(const Options& options, const std::string& device, Row& row, std::vector<Step>& steps) {
  constexpr Workload kOne = {kBreakdown, spec::IbWrOpcode::kRdmaWrite, 64, 1, 1, 1, spec::IbMtu::kMtu4096, 1, 1};
  Bench bench;
  if (std::string error = bench.Open(options, device); !error.empty()) return error;
  if (std::string error = bench.Connect(1, {.memory_bytes = kMinMemoryBytes,
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
  constexpr uint64_t kWarm = 2;  // warm-up: the device prefetches a CQ's buffers
  for (uint64_t i = 0; i <= kWarm; ++i) {
    if (host::Status armed = pair.side[0].cq->Arm(); !armed.ok()) return host::ToString(armed.error());
    if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
    bench.observer.Record();
    posted_at = bench.system->scheduler().now();
    if (host::Status posted = PostMessage(pair, kOne, i, 0, true); !posted.ok()) {
      return host::ToString(posted.error());
    }
    for (size_t count = 0; count == 0;) {
      if (!bench.RunUntilWritten([] {})) return "no completion\n" + bench.system->Violations();
      auto polled = pair.side[0].cq->Poll(cqe);
      if (!polled.ok()) return host::ToString(polled.error());
      count = *polled;
    }
    seen_at = bench.system->scheduler().now();
    if (cqe[0].status != spec::IbWcStatus::kSuccess) return std::string("completion: ") + spec::ToString(cqe[0].status);
    if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  }
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;

  // Events are ordered per NIC only.
  auto events = bench.observer.events();
  std::ranges::stable_sort(events, {}, &Observer::Event::cycle);
  const Cycle start = clock.Containing(posted_at);
  constexpr const char *kNic = "nic", *kHost = "pcie+memory", *kLine = "mac+wire", *kPeer = "peer nic";
  Cycle reached = start;  // by the last step on the critical path
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
  const auto missing = [](const char* what) { return fmt::format("breakdown: no {}", what); };

  const auto doorbell = find(start, kind(EventKind::kBarWrite, 0));
  if (doorbell == events.end()) return missing("doorbell");
  // The last write of a push is its doorbell.
  auto rung = doorbell;
  for (auto event = doorbell; event != events.end(); ++event) {
    if (event->nic != 0) continue;
    if (event->kind != EventKind::kBarWrite) break;
    rung = event;
  }
  if (rung != doorbell) add("push (first bar_write)", kHost, doorbell->cycle);
  add("doorbell (bar_write)", kHost, rung->cycle);
  // Reads up to that of the payload. Reads issued before a completion are one step.
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
  const auto msix = find(cqe_write->cycle, kind(EventKind::kMsix, 0));
  if (msix == events.end()) return missing("MSI-X message");
  // The last used index before the interrupt; that of the send queue may come after the CQE, too.
  auto index_write = msix;
  while (index_write != cqe_write && !(index_write->kind == EventKind::kDmaWrite && index_write->nic == 0 &&
                                       index_write->bytes == sizeof(uint16_t))) {
    --index_write;
  }
  if (index_write == cqe_write) return missing("dma_write of the used index");
  add("CQ used index dma_write", kNic, index_write->cycle);
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
  AddLockstep(bench, row);
  return "";
}

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

}  // namespace vireo::sim
