// SPDX-License-Identifier: Apache-2.0
// `vireo faults`: runs every fault of the catalogue on every transport that it has an outcome for, on every device, and
// compares the devices. See docs/faults.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "sim/device/devices.h"
#include "sim/faults/campaign.h"
#include "sim/faults/catalogue.h"

namespace vireo::sim {
namespace {

struct Options {
  std::vector<std::string> names, devices, transports;
  CaseOptions one;
  uint64_t seed = 1;
  std::string shard;
  size_t shard_index = 0, shards = 1;
  bool list = false, markdown = false, counters = false;
};

// False: not I/N with I below N.
bool ParseShard(Options& options) {
  const char* const end = options.shard.data() + options.shard.size();
  const auto [slash, bad_index] = std::from_chars(options.shard.data(), end, options.shard_index);
  if (bad_index != std::errc() || slash == end || *slash != '/') return false;
  const auto [rest, bad_count] = std::from_chars(slash + 1, end, options.shards);
  return bad_count == std::errc() && rest == end && options.shard_index < options.shards;
}

// nullopt, or an exit code.
std::optional<int> ParseCommandLine(int argc, char** argv, Options& options) {
  CLI::App app(
      "Injects every fault of the catalogue (docs/faults.md) under checked traffic between two NICs and prints the "
      "outcome.\n"
      "  injected   frames, reads or host actions that the fault hit\n"
      "  detected   sum of the counters that must detect it; -: detection is not required\n"
      "  recovered  messages delivered once, complete and in order, or ended as defined in the catalogue\n"
      "  lost, hung messages that are missing, or never end; must be 0\n"
      "Example: vireo faults drop psn_gap --device model --transport rc\n"
      "Exit code: 0; 1 if an outcome is not as defined, or differs between devices; 2 for an invalid argument.");
  app.name("vireo faults");
  std::vector<std::string> names;
  for (const Fault& fault : Faults()) names.emplace_back(fault.name);
  std::string config = options.one.config->name;
  app.add_option("names", options.names, "names of faults (default: all; --list lists them)")
      ->check(CLI::IsMember(names));
  app.add_option("--device", options.devices, "comma-separated: model, rtl, lockstep (default: all three)")
      ->delimiter(',')
      ->check(CLI::IsMember(DeviceNames()));
  app.add_option("--transport", options.transports, "comma-separated: rc, uc, ud, net (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(kTransportNames.begin(), kTransportNames.end())));
  app.add_option("--config", config, "configuration of both NICs")
      ->check(CLI::IsMember(ConfigNames()))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
  app.add_option("--shard", options.shard,
                 "I/N: only every N-th fault and transport, from the I-th (from 0) on, for as many machines");
  app.add_option("--capture", options.one.capture_path,
                 "write all frames to this pcapng file; needs exactly one fault, transport and device");
  app.add_flag("--counters", options.counters, "print every counter that is not 0");
  app.add_flag("--list", options.list, "list the faults with their scripts and required outcomes");
  app.add_flag("--markdown", options.markdown, "print the catalogue as the table of docs/faults.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!options.shard.empty() && !ParseShard(options)) {
    fmt::print(stderr, "vireo faults: --shard: '{}' is not I/N with I from 0 to N - 1\n", options.shard);
    return 2;
  }
  options.one.config = FindConfig(config);
  if (options.devices.empty()) options.devices = DeviceNames();
  return std::nullopt;
}

struct Row {
  const Fault* fault;
  Transport transport;
};

std::vector<Row> Choose(const Options& options) {
  std::vector<Row> rows;
  for (const Fault& fault : Faults()) {
    if (!options.names.empty() && std::ranges::count(options.names, fault.name) == 0) continue;
    for (size_t i = 0; i < kTransportNames.size(); ++i) {
      const bool is_wanted =
          options.transports.empty() || std::ranges::count(options.transports, kTransportNames.at(i));
      if (is_wanted && fault.outcomes.at(i)) rows.push_back({&fault, static_cast<Transport>(i)});
    }
  }
  return rows;
}

// All devices of a row are in one share, because they are compared.
std::vector<Row> Share(const Options& options, const std::vector<Row>& rows) {
  std::vector<Row> share;
  for (size_t i = options.shard_index; i < rows.size(); i += options.shards) share.push_back(rows[i]);
  return share;
}

void List(const std::vector<Row>& rows) {
  const Fault* last = nullptr;
  for (const Row& row : rows) {
    if (row.fault != last) {
      fmt::print("{}  {}\n    {}: {}\n", row.fault->name, row.fault->does,
                 kFaultPlaceNames.at(static_cast<size_t>(row.fault->place)), row.fault->script);
    }
    last = row.fault;
    const auto transport = static_cast<size_t>(row.transport);
    fmt::print("    {:<4} {}\n", kTransportNames.at(transport), Text(*row.fault->outcomes.at(transport)));
  }
}

int Run(int argc, char** argv) {
  Options options;
  if (const auto code = ParseCommandLine(argc, argv, options)) return *code;
  if (options.markdown) {
    fmt::print("{}", CatalogueTable());
    return 0;
  }
  const std::vector<Row> all = Choose(options), rows = Share(options, all);
  if (options.list) {
    List(rows);
    return 0;
  }
  if (all.empty()) {
    fmt::print(stderr,
               "vireo faults: none of these faults applies to these transports; --list shows where each applies\n");
    return 2;
  }
  if (!options.one.capture_path.empty() && rows.size() * options.devices.size() != 1) {
    fmt::print(stderr, "vireo faults: --capture needs exactly one fault, one --transport and one --device\n");
    return 2;
  }
  setenv("VIREO_SEED", std::to_string(options.seed).c_str(), /*overwrite=*/1);

  fmt::print("{:<22} {:<4} {:<8} {:>8} {:>8} {:>9} {:>4} {:>4}  outcome\n", "fault", "", "device", "injected",
             "detected", "recovered", "lost", "hung");
  uint64_t cases = 0, lost = 0, hung = 0, wrong = 0, different = 0;
  for (const Row& row : rows) {
    std::optional<CaseResult> first;
    for (const std::string& device : options.devices) {
      options.one.device = device;
      fmt::print(stderr, "{} of {}\r", ++cases, rows.size() * options.devices.size());
      const CaseResult result = RunCase(*row.fault, row.transport, options.one);
      const auto transport = static_cast<size_t>(row.transport);
      fmt::print("{:<22} {:<4} {:<8} {:>8} {:>8} {:>9} {:>4} {:>4}  {}\n", row.fault->name,
                 kTransportNames.at(transport), device, result.injected,
                 row.fault->counters.empty() ? "-" : std::to_string(result.detected), result.recovered, result.lost,
                 result.hung, result.violations.empty() ? Text(*row.fault->outcomes.at(transport)) : "NOT AS DEFINED");
      for (const std::string& violation : result.violations) fmt::print("    {}\n", violation);
      if (options.counters) {
        for (const auto& [name, value] : result.counters) fmt::print("    {} {}\n", name, value);
      }
      lost += result.lost;
      hung += result.hung;
      wrong += !result.violations.empty();
      if (!first) first = result;
      if (!first->IsSameAs(result)) {
        ++different;
        fmt::print("    DIFFERS from {}\n", options.devices.front());
      }
      std::fflush(stdout);
    }
  }
  fmt::print("{} cases: {} not as defined, {} differ between devices, {} messages lost, {} hung\n", cases, wrong,
             different, lost, hung);
  return wrong + different + lost + hung == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::sim

int main(int argc, char** argv) {
  try {
    return vireo::sim::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo faults: %s\n", error.what());
    return 1;
  }
}
