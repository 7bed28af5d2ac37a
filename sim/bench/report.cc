// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>

#include "sim/bench/go_back_n.h"
#include "sim/device/devices.h"

namespace vireo::sim {

void PrintTables(const std::vector<Row>& rows) {
  fmt::print("\n{:<8} {:<24}{:>4}{:>9}{:>9}{:>11}{:>10}{:>10}{:>10}{:>9}{:>11}{:>11}{:>10}\n", "device", "workload",
             "qps", "goodput", "wire", "msgs/s", "cyc/msg", "p50 ns", "p99 ns", "cpu s", "cycles/s", "packets/s",
             "events");
  for (const Row& row : rows) {
    if (std::isnan(row.Value("messages"))) continue;  // no workload of messages
    fmt::print(
        "{:<8} {:<24}{:>4.0f}{:>9.3f}{:>9.3f}{:>11.0f}{:>10.1f}{:>10.0f}{:>10.0f}{:>9.2f}{:>11.0f}{:>11.0f}{:>10.0f}\n",
        row.device, row.workload, row.Value("queue_pairs"), row.Value("goodput_gbps"),
        std::max(row.Value("wire_gbps"), row.Value("wire_back_gbps")),  // the direction of the data
        row.Value("msgs_per_s"), row.Value("cycles_per_msg"), row.Value("latency_ns_p50"), row.Value("latency_ns_p99"),
        row.Value("cpu_s"), row.Value("sim_cycles_per_s"), row.Value("packets_per_s"), row.Value("events"));
  }
  fmt::print(
      "\nper message, at the sender and (back, peer) at the "
      "receiver\n{:<8} {:<24}{:>8}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>11}{:>11}\n",
      "device", "workload", "frames", "back", "bar_wr", "reads", "read B", "writes", "peer wr", "read cyc",
      "in flight");
  for (const Row& row : rows) {
    if (std::isnan(row.Value("messages"))) continue;  // no workload of messages
    fmt::print("{:<8} {:<24}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>9.0f}{:>8.2f}{:>8.2f}{:>11.1f}{:>11.2f}\n", row.device,
               row.workload, row.Value("frames_per_msg"), row.Value("frames_back_per_msg"),
               row.Value("bar_writes_per_msg"), row.Value("dma_reads_per_msg"), row.Value("dma_read_bytes_per_msg"),
               row.Value("dma_writes_per_msg"), row.Value("peer_dma_writes_per_msg"), row.Value("dma_read_cycles"),
               row.Value("dma_reads_outstanding"));
  }
  for (const Row& row : rows) {
    if (std::isnan(row.Value(kGoBackN))) continue;
    fmt::print("{} {}: go-back-N allows {:.1f} Gb/s on this line, {:.1f} % of that reached\n", row.device, row.workload,
               row.Value(kGoBackN), row.Value(kGoBackNReached));
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
          "{}  {{\"device\": \"{}\", \"peer\": \"{}\", \"config\": \"{}\", \"profile\": \"{}\", \"preset\": \"{}\", "
          "\"workload\": \"{}\", "
          "\"metric\": \"{}\", \"value\": {}, \"unit\": \"{}\"}}",
          text.size() > 2 ? ",\n" : "", row.device, options.peer.empty() ? row.device : options.peer,
          options.config_label, ProfileName(options.profile), options.preset, row.workload, metric.name, metric.value,
          metric.unit);
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

namespace {

constexpr const char* kFigures = "./vireo bench --device model --update";
constexpr const char* kSpeeds = "./vireo bench --update-speed";

// Of the workload, or a row of nothing.
const Row& RowOf(const std::vector<Row>& rows, const std::string& workload) {
  static const Row kNone{};
  const auto of = std::ranges::find(rows, workload, &Row::workload);
  return of == rows.end() ? kNone : *of;
}

std::string FigureTables(const std::vector<Row>& rows, const std::vector<Row>& packed_rows, const std::string& device) {
  std::string text =
      "| workload | goodput Gb/s | wire Gb/s | cycles per message | latency ns, p50 | p99 | packed rings: goodput | "
      "cycles per message | p50 | p99 |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  std::string latencies = "\n| one message of 64 bytes | | packed rings |\n|---|---:|---:|\n";
  const size_t no_latency = latencies.size();
  std::string lossy = "\n| lossy line | go-back-N allows, Gb/s | reached | packed rings |\n|---|---:|---:|---:|\n";
  const size_t no_loss = lossy.size();
  for (const Row& row : rows) {
    if (row.device != device) continue;
    const Row& packed = RowOf(packed_rows, row.workload);
    const auto figure = [](double value, int digits, const char* unit) {
      return std::isnan(value) ? std::string() : fmt::format("{:.{}f}{}", value, digits, unit);
    };
    const auto add = [&](const char* what, const char* metric, const char* unit) {
      latencies += fmt::format("| `{}`: {} | {:.0f}{} | {} |\n", row.workload, what, row.Value(metric), unit,
                               figure(packed.Value(metric), 0, unit));
    };
    if (!std::isnan(row.Value("messages"))) {
      text += fmt::format("| `{}` | {:.1f} | {:.1f} | {:.1f} | {:.0f} | {:.0f} | {} | {} | {} | {} |\n", row.workload,
                          row.Value("goodput_gbps"), std::max(row.Value("wire_gbps"), row.Value("wire_back_gbps")),
                          row.Value("cycles_per_msg"), row.Value("latency_ns_p50"), row.Value("latency_ns_p99"),
                          figure(packed.Value("goodput_gbps"), 1, ""), figure(packed.Value("cycles_per_msg"), 1, ""),
                          figure(packed.Value("latency_ns_p50"), 0, ""), figure(packed.Value("latency_ns_p99"), 0, ""));
      if (!std::isnan(row.Value(kGoBackN))) {
        lossy += fmt::format("| `{}` | {:.1f} | {:.1f} % | {} |\n", row.workload, row.Value(kGoBackN),
                             row.Value(kGoBackNReached), figure(packed.Value(kGoBackNReached), 1, " %"));
      }
    } else if (!std::isnan(row.Value("cycles_in_nic"))) {
      add("in the NIC, from doorbell to CQE", "cycles_in_nic", " cycles");
      add("in the peer's NIC", "cycles_in_peer nic", " cycles");
      add("from post to CQE", "latency_ns", " ns");
    } else if (!std::isnan(row.Value("round_trip_ns_p50"))) {
      add("SEND one way, p50", "one_way_ns_p50", " ns");
      add("there and back, p50", "round_trip_ns_p50", " ns");
    }
  }
  if (lossy.size() != no_loss) text += lossy;
  return latencies.size() == no_latency ? text : text + latencies;
}

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Of every workload that has a speed, on each device.
std::string SpeedTable(const Options& options, const std::vector<Row>& rows) {
  std::string text = fmt::format("{}, {} threads. Million NIC cycles per second of CPU:\n\n| workload |", Processor(),
                                 std::thread::hardware_concurrency());
  std::string rule = "|---|";
  for (const std::string& device : options.devices) {
    text += fmt::format(" {} |", device);
    rule += "---:|";
  }
  const bool has_ratio = options.devices.size() > 1;
  if (has_ratio) text += fmt::format(" {} / {} |", options.devices[0], options.devices[1]);
  text += "\n" + rule + (has_ratio ? "---:|\n" : "\n");
  for (const Row& row : rows) {
    if (row.device != options.devices[0] || std::isnan(row.Value("nic_cycles_per_s"))) continue;
    text += fmt::format("| `{}` |", row.workload);
    double other = std::nan("");
    for (const std::string& device : options.devices) {
      const auto of =
          std::ranges::find_if(rows, [&](const Row& it) { return it.device == device && it.workload == row.workload; });
      const double speed = of == rows.end() ? std::nan("") : of->Value("nic_cycles_per_s");
      if (has_ratio && device == options.devices[1]) other = speed;
      text += std::isnan(speed) ? " |" : fmt::format(" {:.3f} |", speed * 1e-6);
    }
    if (has_ratio) text += std::isnan(other) ? " |" : fmt::format(" {:.1f} |", row.Value("nic_cycles_per_s") / other);
    text += '\n';
  }
  return text;
}

// Replaces what lies between the marks of the block of `command`.
std::string ReplaceBlock(std::string& page, const std::string& command, const std::string& text) {
  const std::string begin = fmt::format("<!-- BEGIN GENERATED: {} -->\n", command);
  const size_t at = page.find(begin);
  const size_t end = at == std::string::npos ? at : page.find("<!-- END GENERATED -->", at);
  if (end == std::string::npos) {
    return fmt::format("no block to write to: {}<!-- END GENERATED -->", begin);
  }
  page.replace(at + begin.size(), end - at - begin.size(), text);
  return "";
}

}  // namespace

std::string UpdatePage(const Options& options, const std::vector<Row>& rows, const std::vector<Row>& packed) {
  std::stringstream read;
  if (std::ifstream file(options.page); !(read << file.rdbuf())) return fmt::format("cannot read {}", options.page);
  std::string page = read.str(), error;
  if (options.update_figures) error = ReplaceBlock(page, kFigures, FigureTables(rows, packed, options.devices[0]));
  if (options.update_speed && error.empty()) error = ReplaceBlock(page, kSpeeds, SpeedTable(options, rows));
  if (!error.empty()) return fmt::format("{}: {}", options.page, error);
  if (std::ofstream file(options.page); !(file << page).flush()) return fmt::format("cannot write {}", options.page);
  fmt::print("wrote {}\n", options.page);
  return "";
}

}  // namespace vireo::sim
