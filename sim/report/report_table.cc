// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report_table.h"

#include <fmt/format.h>

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string SizeText(uint64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

// Names of counters that are not 0, with their values; empty if there is none.
std::string Nonzero(const Json& counters) {
  std::string text;
  for (const auto& [name, value] : counters.items()) {
    if (value.get<int64_t>() != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value.dump(), name);
  }
  return text;
}

std::string Text(const Json& report) {
  const Json& totals = report.at("totals");
  const double ns = report.at("simulated_ns").get<double>();
  const auto bytes = totals.at("bytes").get<uint64_t>();
  std::string text =
      fmt::format("{} NICs, {}, {}: {:.3f} us simulated\n", report.at("nics").size(),
                  report.at("device").get<std::string>(), report.at("config").get<std::string>(), ns / 1000);
  text += fmt::format("{} messages, {} bytes; {} completed, {} failed, {} abandoned, {} open\n",
                      totals.at("messages").get<uint64_t>(), bytes, totals.at("completed").get<uint64_t>(),
                      totals.at("failed").get<uint64_t>(), totals.at("abandoned").get<uint64_t>(),
                      totals.at("open").get<uint64_t>());
  text += fmt::format("{} packets sent, {} received; {} retransmitted; NAKs: {} sequence, {} RNR, {} other\n",
                      totals.at("packets_sent").get<uint64_t>(), totals.at("packets_received").get<uint64_t>(),
                      totals.at("retransmitted_packets").get<uint64_t>(), totals.at("sequence_naks").get<uint64_t>(),
                      totals.at("rnr_naks").get<uint64_t>(), totals.at("other_naks").get<uint64_t>());
  if (const std::string odd = Nonzero(report.at("unattributed")); !odd.empty()) {
    text += fmt::format("not attributed to a message: {}\n", odd);
  }
  if (!report.at("operations").empty()) {
    text += fmt::format("\n{:<6} {:>8} {:>9} {:>13} {:>10} {:>10} {:>10} {:>8}  latency in ns\n", "", "up to",
                        "messages", "bytes", "p50", "p99", "max", "retrans");
  }
  for (const Json& row : report.at("operations")) {
    const Json& latency = row.at("latency_ns");
    text += fmt::format("{:<6} {:>8} {:>9} {:>13} {:>10.1f} {:>10.1f} {:>10.1f} {:>8}\n",
                        row.at("operation").get<std::string>(), SizeText(row.at("max_bytes").get<uint64_t>()),
                        row.at("count").get<uint64_t>(), row.at("bytes").get<uint64_t>(),
                        latency.at("p50").get<double>(), latency.at("p99").get<double>(),
                        latency.at("max").get<double>(), row.at("retransmitted_packets").get<uint64_t>());
    std::string stages;
    for (const auto& [name, stage] : row.at("stages_ns").items()) {
      stages += fmt::format("  {} {:.1f}", name, stage.at("mean").get<double>());
    }
    const Json& path = row.at("path_ns");
    std::string parts;
    for (const auto& [name, mean] : path.at("parts").items()) {
      parts += fmt::format("{}{} {:.1f}", parts.empty() ? "" : " + ", name, mean.get<double>());
    }
    if (!parts.empty()) {
      text += fmt::format("       mean {:.1f} of {} = {}\n", path.at("mean").get<double>(),
                          path.at("count").get<uint64_t>(), parts);
    }
    text += fmt::format("       stages, mean:{}\n", stages);
  }
  if (!report.contains("lockstep")) return text;
  text += fmt::format("\n{:<6} {:<20} {:>12} {:>12} {:>8} {:>8} {:>10}\n", "RTL", "against the model", "events",
                      "same cycle", "earlier", "later", "max cycles");
  for (const Json& nic : report.at("lockstep")) {
    const auto line = [&](const std::string& name, const Json& row) {
      text += fmt::format("nic {:<2} {:<20} {:>12} {:>12} {:>8} {:>8} {:>10}\n", nic.at("nic").get<uint64_t>(), name,
                          row.at("count").get<uint64_t>(), row.at("exact").get<uint64_t>(),
                          row.at("model_early").get<uint64_t>(), row.at("model_late").get<uint64_t>(),
                          row.at("max_cycles").get<uint64_t>());
    };
    for (const auto& [name, row] : nic.at("kinds").items()) line(name, row);
    line("total", nic.at("total"));
  }
  return text;
}

// Each line indented by two spaces.
std::string Summary(const Json& report) {
  const Json& totals = report.at("totals");
  std::string text =
      fmt::format("  on the wire: {} messages, {} bytes, {} packets, {} retransmitted, {} lost\n",
                  totals.at("messages").get<uint64_t>(), totals.at("bytes").get<uint64_t>(),
                  totals.at("packets_sent").get<uint64_t>(), totals.at("retransmitted_packets").get<uint64_t>(),
                  totals.at("packets_lost").get<int64_t>());
  for (const Json& row : report.at("operations")) {
    text += fmt::format("  {} up to {}: {} messages, simulated latency {:.0f} ns (p50), {:.0f} ns (p99)\n",
                        row.at("operation").get<std::string>(), SizeText(row.at("max_bytes").get<uint64_t>()),
                        row.at("count").get<uint64_t>(), row.at("latency_ns").at("p50").get<double>(),
                        row.at("latency_ns").at("p99").get<double>());
  }
  if (!report.contains("lockstep")) return text;
  uint64_t events = 0, exact = 0;
  for (const Json& nic : report.at("lockstep")) {
    events += nic.at("total").at("count").get<uint64_t>();
    exact += nic.at("total").at("exact").get<uint64_t>();
  }
  return text + fmt::format("  RTL and model: {} events compared, {} in different cycles\n", events, events - exact);
}

std::string OrEmpty(std::string (*make)(const Json&), const Json& report) {
  try {
    return make(report);
  } catch (const Json::exception&) {  // not a report; the library reports it only by an exception
    return "";
  }
}

}  // namespace

std::string ReportTable(const Json& report) { return OrEmpty(Text, report); }
std::string ReportSummary(const Json& report) { return OrEmpty(Summary, report); }

}  // namespace vireo::sim
