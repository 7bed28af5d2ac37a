// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/net_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "sim/traffic/net_frame.h"

#include "sim/bench/bottleneck.h"

namespace vireo::sim {
namespace {

constexpr NetWorkload kNetWorkloads[] = {
    {"net_64b_1pair", 60, 1, 64, 6000, 600},  // 64 with FCS
    {"net_1514b_1pair", 1514, 1, 64, 4000, 400}, {"net_9014b_1pair", 9014, 1, 8, 800, 80},
    {"net_64b_16pair", 60, 16, 16, 6000, 600},   {"net_1514b_16pair", 1514, 16, 16, 4000, 640},
};
constexpr uint16_t kFirstPort = 50'000;

// The part of a frame that differs between frames of its flow.
struct Label {
  uint32_t flow;
  uint32_t number;
};

}  // namespace

std::span<const NetWorkload> NetWorkloads() { return kNetWorkloads; }

std::string RunNetWorkload(const Options& options, const std::string& device, const NetWorkload& base, Row& row) {
  NetWorkload workload = base;
  workload.depth *= options.more_outstanding;
  const auto pairs = static_cast<uint16_t>(std::min<uint32_t>(workload.queue_pairs, options.config->net_queue_pairs));
  Bench bench;
  if (std::string error = bench.Open(options, device, {.queue_pairs = pairs}); !error.empty()) return error;
  host::VirtioNetDevice& near = bench.system->host(0).device().net();
  host::VirtioNetDevice& far = bench.system->host(1).device().net();

  // One flow per sending queue pair; the receiver selects its queue pair by hash.
  struct Flow {
    std::vector<uint8_t> frame;
    uint32_t sent = 0, received = 0;
    std::vector<Picoseconds> sent_at;  // by number modulo depth
  };
  std::vector<sim::Flow> headers(pairs);
  std::vector<Flow> flows(pairs);
  for (uint16_t i = 0; i < pairs; ++i) {
    headers[i].source_port = static_cast<uint16_t>(kFirstPort + i);
    const size_t overhead = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes;
    flows[i].frame = MakeTransportFrame(bench.system->host(1).mac(), bench.system->host(0).mac(), headers[i],
                                        workload.bytes - overhead, i, true)
                         .bytes;
    flows[i].sent_at.resize(workload.depth);
  }

  constexpr uint64_t kFillDivisor = 8;  // of the measured frames, in addition to those that fill all queues
  uint64_t measured = options.quick ? workload.quick_frames : workload.frames;
  if (options.config->link_mbps < kSlowMbps) measured /= kSlowLinkDivisor;
  const uint64_t fill = uint64_t{workload.depth} * pairs + measured / kFillDivisor;
  uint64_t received = 0;
  std::optional<Mark> begin, end;
  std::vector<Picoseconds> latencies;
  Progress progress(device, workload.name);
  const auto take = [&](uint16_t pair) -> std::string {
    for (;;) {
      auto frame = far.receive(pair).Receive();
      if (!frame.ok()) return host::ToString(frame.error());
      if (!frame->has_value()) return "";
      Label label;
      const std::vector<uint8_t>& bytes = (*frame)->bytes;
      if (bytes.size() != workload.bytes)
        return fmt::format("received a frame of {} bytes, expected {}", bytes.size(), workload.bytes);
      std::memcpy(&label, bytes.data() + bytes.size() - sizeof(label), sizeof(label));
      if (label.flow >= pairs) return "received a frame of an unknown flow";
      Flow& flow = flows[label.flow];
      if (label.number != flow.received) {
        return fmt::format("flow {}: received frame {}, expected {}", label.flow, label.number, flow.received);
      }
      std::memcpy(flow.frame.data() + flow.frame.size() - sizeof(label), &label, sizeof(label));
      if (bytes != flow.frame) return fmt::format("flow {}: frame {} has wrong data", label.flow, label.number);
      ++flow.received;
      ++received;
      if (begin) latencies.push_back(bench.system->scheduler().now() - flow.sent_at[label.number % workload.depth]);
    }
  };
  while (!end) {
    for (uint16_t i = 0; i < pairs; ++i) {
      Flow& flow = flows[i];
      for (; flow.sent - flow.received < workload.depth; ++flow.sent) {
        const Label label{i, flow.sent};
        std::memcpy(flow.frame.data() + flow.frame.size() - sizeof(label), &label, sizeof(label));
        const host::Status sent = near.transmit(i).Send(flow.frame);
        if (!sent.ok()) return host::ToString(sent.error());
        flow.sent_at[flow.sent % workload.depth] = bench.system->scheduler().now();
      }
    }
    if (!bench.RunUntilWritten([&] { progress.Tick(received, fill + measured); }, 1)) {
      return fmt::format("no frame received after {} frames\n{}", received, bench.system->Violations());
    }
    for (uint16_t i = 0; i < pairs; ++i) {
      if (std::string error = take(i); !error.empty()) return error;
    }
    if (!begin && received >= fill) {
      begin = MarkNow(bench, received);
    } else if (begin && received >= begin->completed + measured) {
      end = MarkNow(bench, received);
    }
  }
  if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;
  row.metrics = Measure(options, *begin, *end, workload.bytes, latencies);
  row.metrics.push_back({"queue_pairs", static_cast<double>(pairs), "1"});
  AddLockstep(bench, row);
  if (options.is_metered) FindBottleneck(options, *begin, *end, uint64_t{workload.depth} * pairs, true, row);
  return "";
}

}  // namespace vireo::sim
