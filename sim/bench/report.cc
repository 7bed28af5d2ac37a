// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string_view>

namespace vireo::sim {

void PrintTables(const std::vector<Row>& rows) {
  fmt::print("\n{:<9}{:<24}{:>4}{:>9}{:>9}{:>11}{:>10}{:>10}{:>10}{:>9}{:>11}{:>11}{:>10}\n", "device", "workload",
             "qps", "goodput", "wire", "msgs/s", "cyc/msg", "p50 ns", "p99 ns", "cpu s", "cycles/s", "packets/s",
             "events");
  for (const Row& row : rows) {
    if (std::isnan(row.Value("messages"))) continue;  // no workload of messages
    fmt::print(
        "{:<9}{:<24}{:>4.0f}{:>9.3f}{:>9.3f}{:>11.0f}{:>10.1f}{:>10.0f}{:>10.0f}{:>9.2f}{:>11.0f}{:>11.0f}{:>10.0f}\n",
        row.device, row.workload, row.Value("queue_pairs"), row.Value("goodput_gbps"),
        std::max(row.Value("wire_gbps"), row.Value("wire_back_gbps")),  // the direction of the data
        row.Value("msgs_per_s"), row.Value("cycles_per_msg"), row.Value("latency_ns_p50"), row.Value("latency_ns_p99"),
        row.Value("cpu_s"), row.Value("sim_cycles_per_s"), row.Value("packets_per_s"), row.Value("events"));
  }
  fmt::print(
      "\nper message, at the sender and (back, peer) at the "
      "receiver\n{:<9}{:<24}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>11}{:>11}\n",
      "device", "workload", "frames", "back", "bar_wr", "reads", "read B", "writes", "peer wr", "read cyc",
      "in flight");
  for (const Row& row : rows) {
    if (std::isnan(row.Value("messages"))) continue;  // no workload of messages
    fmt::print("{:<9}{:<24}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>9.0f}{:>8.2f}{:>8.2f}{:>11.1f}{:>11.2f}\n", row.device,
               row.workload, row.Value("frames_per_msg"), row.Value("frames_back_per_msg"),
               row.Value("bar_writes_per_msg"), row.Value("dma_reads_per_msg"), row.Value("dma_read_bytes_per_msg"),
               row.Value("dma_writes_per_msg"), row.Value("peer_dma_writes_per_msg"), row.Value("dma_read_cycles"),
               row.Value("dma_reads_under_way"));
  }
}

namespace {

// The cost of lockstep: time of one device relative to another, over the workloads of both.
void PrintCost(const std::vector<Row>& rows, std::string_view device, std::string_view other) {
  double wall = 0, other_wall = 0, cpu = 0, other_cpu = 0;
  for (const Row& a : rows) {
    for (const Row& b : rows) {
      if (a.device != device || b.device != other || a.workload != b.workload) continue;
      if (std::isnan(a.Value("wall_s")) || std::isnan(b.Value("wall_s"))) continue;
      wall += a.Value("wall_s"), other_wall += b.Value("wall_s");
      cpu += a.Value("cpu_s"), other_cpu += b.Value("cpu_s");
    }
  }
  if (other_wall == 0) return;
  fmt::print("{} takes {:.2f} times the wall time of {}, {:.2f} times its CPU time\n", device, wall / other_wall, other,
             cpu / other_cpu);
}

}  // namespace

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
          if (b.Value(metric.name) == metric.value) continue;  // computed from integers: equal to the last bit
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
  PrintCost(rows, "lockstep", "rtl");
  return different;
}

std::string WriteJson(const Options& options, const std::vector<Row>& rows) {
  std::string text = "[\n";
  for (const Row& row : rows) {
    for (const Metric& metric : row.metrics) {
      // All names are constants of ours: no escaping needed.
      text += fmt::format(
          "{}  {{\"device\": \"{}\", \"peer\": \"{}\", \"config\": \"{}\", \"preset\": \"{}\", \"workload\": \"{}\", "
          "\"metric\": \"{}\", \"value\": {}, \"unit\": \"{}\"}}",
          text.size() > 2 ? ",\n" : "", row.device, options.peer.empty() ? row.device : options.peer,
          options.config->name, options.preset, row.workload, metric.name, metric.value, metric.unit);
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

}  // namespace vireo::sim
