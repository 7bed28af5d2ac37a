// SPDX-License-Identifier: Apache-2.0
// The campaign: every fault of the catalogue, on every transport that it has an outcome for, on every device; the
// devices must agree. docs/faults.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
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
  bool list = false, markdown = false, counters = false;
};

// Nothing, or an exit code.
std::optional<int> ParseCommandLine(int argc, char** argv, Options& options) {
  CLI::App app(
      "Makes every fault of the catalogue (docs/faults.md) while two NICs carry checked traffic, and says what came of "
      "it.\n"
      "  injected   frames, reads or acts of a host that the fault hit\n"
      "  detected   what the counters show that the catalogue names for it; -: nobody has to notice\n"
      "  recovered  messages that were delivered once, whole and in order, or ended as the catalogue says\n"
      "  lost, hung messages that are missing, or never end: must be 0\n"
      "Exit code: 0; 1 if an outcome is not as the catalogue says, or differs between devices; 2 for a wrong "
      "argument.");
  app.name("vireo faults");
  std::vector<std::string> names;
  for (const Fault& fault : Faults()) names.emplace_back(fault.name);
  std::string config = options.one.config->name;
  app.add_option("names", options.names, "only these faults (default: all)")->check(CLI::IsMember(names));
  app.add_option("--device", options.devices, "model, rtl, lockstep (default: all three)")
      ->delimiter(',')
      ->check(CLI::IsMember(DeviceNames()));
  app.add_option("--transport", options.transports, "rc, uc, ud, net (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(kTransportNames.begin(), kTransportNames.end())));
  app.add_option("--config", config, "configuration of both NICs")
      ->check(CLI::IsMember(ConfigNames()))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of what happens by chance")->capture_default_str();
  app.add_option("--capture", options.one.capture_path, "write the frames of one case to this pcapng file");
  app.add_flag("--counters", options.counters, "print every counter that is not 0");
  app.add_flag("--list", options.list, "name the faults, with their scripts, and what must come of them");
  app.add_flag("--markdown", options.markdown, "the catalogue as the table of docs/faults.md");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
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
  const std::vector<Row> rows = Choose(options);
  if (options.list) {
    List(rows);
    return 0;
  }
  if (rows.empty()) {
    fmt::print(stderr, "vireo faults: none of these faults means anything on these transports; --list tells\n");
    return 2;
  }
  if (!options.one.capture_path.empty() && rows.size() * options.devices.size() != 1) {
    fmt::print(stderr, "vireo faults: --capture goes with one fault, one transport and one device\n");
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
                 result.hung, result.complaints.empty() ? Text(*row.fault->outcomes.at(transport)) : "NOT AS DEFINED");
      for (const std::string& complaint : result.complaints) fmt::print("    {}\n", complaint);
      if (options.counters) {
        for (const auto& [name, value] : result.counters) fmt::print("    {} {}\n", name, value);
      }
      lost += result.lost;
      hung += result.hung;
      wrong += !result.complaints.empty();
      if (!first) first = result;
      if (!first->IsSameAs(result)) {
        ++different;
        fmt::print("    NOT THE SAME as on {}\n", options.devices.front());
      }
      std::fflush(stdout);
    }
  }
  fmt::print("{} cases: {} not as defined, {} not the same on two devices, {} messages lost, {} hung\n", cases, wrong,
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
