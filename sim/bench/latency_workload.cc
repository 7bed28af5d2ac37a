// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/latency_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace vireo::sim {
namespace {

constexpr uint32_t kBytes = 64, kInlineBytes = 32;
constexpr uint32_t kDepth = 16;          // work requests per queue, and receives posted in advance
constexpr uint64_t kMemoryBytes = 8192;  // per side: first half for sends, second for receives
constexpr uint64_t kReceiveAt = kMemoryBytes / 2;
constexpr uint64_t kRounds = 1000, kQuickRounds = 50;
constexpr uint64_t kWarm = 2;  // warm-up: the device prefetches buffers

}  // namespace

std::string RunRoundTrip(const Options& options, const std::string& device, bool is_inline, Row& row) {
  Bench bench;
  if (std::string error = bench.Open(options, device); !error.empty()) return error;
  if (std::string error = bench.Connect(
          1, {.memory_bytes = kMemoryBytes,
              .path_mtu = spec::IbMtu::kMtu4096,
              .cqe = 4 * kDepth,
              .interrupts = false,
              .qp = {.max_send_wr = kDepth, .max_recv_wr = kDepth, .max_inline_data = is_inline ? kInlineBytes : 0}});
      !error.empty()) {
    return error;
  }
  auto& sides = bench.pairs[0]->side;
  Scheduler& scheduler = bench.system->scheduler();
  const uint64_t rounds = options.quick || options.config->link_mbps < kSlowMbps ? kQuickRounds : kRounds;
  std::array<uint64_t, 2> receives{};  // posted
  const auto post_receive = [&](size_t host) {
    const spec::RdmaSge sge = sides.at(host).region->Sge(kReceiveAt + receives.at(host) % kDepth * kBytes, kBytes);
    return sides.at(host).qp->PostRecv({.wr_id = receives.at(host)++, .sg_list = std::span(&sge, 1)});
  };
  for (size_t host = 0; host < 2; ++host) {
    for (uint32_t i = 1; i < kDepth; ++i) {
      if (const host::Status posted = post_receive(host); !posted.ok()) return host::ToString(posted.error());
    }
  }
  std::array<uint64_t, 2> sent{}, received{};
  const auto send = [&](size_t host) {
    std::memcpy(sides.at(host).memory->data(), &sent.at(host), sizeof(uint64_t));
    if (is_inline) {
      return sides.at(host).qp->PostSend({.wr_id = sent.at(host)++,
                                          .opcode = spec::IbWrOpcode::kSend,
                                          .flags = spec::IbSendFlags::kSignaled | spec::IbSendFlags::kInline,
                                          .inline_data = {sides.at(host).memory->data(), kInlineBytes}});
    }
    const spec::RdmaSge sge = sides.at(host).region->Sge(0, kBytes);
    return sides.at(host).qp->PostSend(
        {.wr_id = sent.at(host)++, .opcode = spec::IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
  };
  // Waits for a message at this host and checks its data, which is its number.
  const auto wait = [&](size_t host) -> std::string {
    std::array<spec::RdmaCqReq, 4> cqes;
    for (const uint64_t wanted = received.at(host) + 1; received.at(host) != wanted;) {
      if (!bench.RunUntilWritten([] {}, host)) {
        return fmt::format("no message at host {}\n{}", host, bench.system->Violations());
      }
      auto count = sides.at(host).cq->Poll(cqes);
      if (!count.ok()) return host::ToString(count.error());
      for (size_t i = 0; i < *count; ++i) {
        const spec::RdmaCqReq& cqe = cqes.at(i);
        if (cqe.status != spec::IbWcStatus::kSuccess) return spec::ToString(cqe.status);
        if (cqe.opcode != spec::IbWcOpcode::kRecv) continue;
        uint64_t number = 0;
        std::memcpy(&number, sides.at(host).memory->data() + kReceiveAt + cqe.wr_id % kDepth * kBytes, sizeof number);
        if (number != received.at(host)++)
          return fmt::format("host {}: received message {} out of order", host, number);
      }
    }
    return "";
  };
  std::vector<Picoseconds> one_way, round_trip;
  double cpu = 0;
  for (uint64_t i = 0; i < kWarm + rounds; ++i) {
    if (i == kWarm) cpu = CpuSeconds();
    const Picoseconds begin = scheduler.now();
    if (const host::Status posted = send(0); !posted.ok()) return host::ToString(posted.error());
    if (std::string error = wait(1); !error.empty()) return error;
    const Picoseconds there = scheduler.now();
    if (const host::Status posted = send(1); !posted.ok()) return host::ToString(posted.error());
    if (std::string error = wait(0); !error.empty()) return error;
    if (i >= kWarm) {
      one_way.push_back(there - begin);
      round_trip.push_back(scheduler.now() - begin);
    }
    for (size_t host = 0; host < 2; ++host) {
      if (const host::Status posted = post_receive(host); !posted.ok()) return host::ToString(posted.error());
    }
  }
  cpu = CpuSeconds() - cpu;
  if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;
  row.metrics = {
      {"one_way_ns_p50", Percentile(one_way, 50), "ns"},
      {"one_way_ns_p99", Percentile(one_way, 99), "ns"},
      {"round_trip_ns_p50", Percentile(round_trip, 50), "ns"},
      {"round_trip_ns_p99", Percentile(round_trip, 99), "ns"},
      {"rounds", static_cast<double>(rounds), "1"},
      {"message_bytes", static_cast<double>(is_inline ? kInlineBytes : kBytes), "bytes"},
      {"cpu_s", cpu, "s", false},
  };
  AddLockstep(bench, row);
  return "";
}

void PrintRoundTrip(const Row& row) {
  fmt::print(
      "\n{}: SEND of {:.0f} bytes and its reply, {:.0f} times: one way {:.1f} ns (p99 {:.1f}), round trip {:.1f} "
      "ns (p99 {:.1f})\n",
      row.device, row.Value("message_bytes"), row.Value("rounds"), row.Value("one_way_ns_p50"),
      row.Value("one_way_ns_p99"), row.Value("round_trip_ns_p50"), row.Value("round_trip_ns_p99"));
}

}  // namespace vireo::sim
