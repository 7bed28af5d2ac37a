// SPDX-License-Identifier: Apache-2.0
// Two whole NICs on a wire, each with driver, firmware, PCIe link and host memory, carrying RDMA or Ethernet frames:
// throughput and latency in simulated time, and how fast model and RTL simulate. docs/bench.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/bench/bottleneck.h"
#include "sim/bench/breakdown.h"
#include "sim/bench/custom_workload.h"
#include "sim/bench/latency_workload.h"
#include "sim/bench/memory_workload.h"
#include "sim/bench/monitor_cost.h"
#include "sim/bench/net_workload.h"
#include "sim/bench/rdma_workload.h"
#include "sim/bench/report.h"
#include "sim/bench/settings.h"
#include "sim/bench/speed_up.h"
#include "sim/device/board/board_device.h"
#include "sim/device/devices.h"
#include "sim/device/nic_library.h"

namespace vireo::sim {
namespace {

constexpr int kInvalidArgument = 2, kIllegalSettings = 3;

// Applies --set. nullopt, or an exit code.
std::optional<int> ApplySettings(std::vector<std::string> assignments, const std::string& config, bool lists,
                                 const std::string& library, Settings& settings, Options& options) {
  assignments.insert(assignments.begin(), {"nic.config=" + config, "pcie.preset=" + options.preset});
  if (const std::string error = settings.Apply(assignments); !error.empty()) {
    fmt::print(stderr, "vireo bench: --set: {}\n", error);
    return kInvalidArgument;
  }
  const std::string illegal = settings.Illegal();
  if (lists) {
    std::fputs(SettingsJson(settings, options.workloads, illegal).c_str(), stdout);
    return illegal.empty() ? EXIT_SUCCESS : kIllegalSettings;
  }
  if (!illegal.empty()) {
    fmt::print(stderr, "vireo bench: illegal settings: {}\n", illegal);
    return kIllegalSettings;
  }
  options.hardware = &settings.hardware();
  const spec::Config& nic = *options.hardware->nic.config;
  const bool is_model =
      options.devices == std::vector<std::string>{"model"} && (options.peer.empty() || options.peer == "model");
  if (!library.empty()) {
    NicLibrary loaded = LoadNicLibrary(library, nic);
    if (!loaded.error.empty()) {
      fmt::print(stderr, "vireo bench: --rtl-library: {}\n", loaded.error);
      return kInvalidArgument;
    }
    options.rtl = std::move(loaded.pins);
  } else if (!is_model && !HasRtl(nic)) {
    fmt::print(stderr, "vireo bench: this program has no RTL of this configuration: --device model or --rtl-library\n");
    return kInvalidArgument;
  }
  options.config = options.hardware->nic.config;
  options.profile = settings.profile();
  options.config_label = settings.nic_label();
  options.preset = settings.pcie_label();
  return std::nullopt;
}

// nullopt, or an exit code.
std::optional<int> ParseCommandLine(int argc, char** argv, Settings& settings, SpeedUp& speed_up, Options& options) {
  CLI::App app(
      "RDMA and Ethernet between two simulated NICs: throughput and latency in simulated time, and speed of "
      "simulation. docs/bench.md defines each figure.\n"
      "Example: vireo bench --quick --device model,rtl --workload write_64k_1qp\n"
      "Exit code: 0; 1 if a workload fails or a figure in simulated time differs between devices; 2 for an invalid "
      "argument; 3 for settings that are not legal together.");
  app.name("vireo bench");
  std::string config = options.config->name, profile = ProfileName(options.profile);
  std::vector<std::string> workloads;
  for (const auto& known : Workloads()) workloads.emplace_back(known.name);
  for (const auto& known : NetWorkloads()) workloads.emplace_back(known.name);
  workloads.emplace_back(kBreakdown);
  workloads.emplace_back(kRoundTrip);
  workloads.emplace_back(kRoundTripInline);
  workloads.emplace_back(kMemory);
  std::vector<std::string> known_workloads = workloads;
  known_workloads.emplace_back(kCustom);  // on request only
  app.add_option("--device", options.devices,
                 "comma-separated: model, rtl, lockstep, or board:LINE, a board at this serial port (docs/boards.md; "
                 "default: model,rtl)")
      ->delimiter(',')
      ->check(CheckDeviceName);
  app.add_option("--peer", options.peer, "device of the second NIC (default: same as --device, of a board model)")
      ->check(CheckDeviceName);
  app.add_option("--config", config, "configuration of both NICs: nic100 (100 Gb/s), nic1 or nic1_rc (1 Gb/s)")
      ->check(CLI::IsMember(ConfigNames()))
      ->capture_default_str();
  const CLI::Option* const profile_option =
      app.add_option("--profile", profile, "ABI profile of both NICs: vireo or rfc-v2 (docs/profiles.md)")
          ->check(CLI::IsMember(ProfileNames()))
          ->capture_default_str();
  app.add_option("--preset", options.preset, "PCIe link of both NICs: generation and lanes")
      ->check(CLI::IsMember(PciePresetNames()))
      ->capture_default_str();
  std::string rings = "split";
  const CLI::Option* const rings_option =
      app.add_option("--rings", rings, "format of the virtqueues: split or packed, which the driver prefers")
          ->check(CLI::IsMember({"split", "packed"}))
          ->capture_default_str();
  app.add_option("--workload", options.workloads,
                 "comma-separated workloads (default: all; memory_1024qp only with --device model)")
      ->delimiter(',')
      ->check(CLI::IsMember(known_workloads));
  std::vector<std::string> assignments;
  bool lists_settings = false;
  app.add_option("--set", assignments,
                 "set anything of the model, its links or the workload custom: NAME=VALUE; repeatable")
      ->take_all();
  app.add_flag(
      "--list-settings", lists_settings,
      "print, as JSON, all names for --set with their ranges, the presets, the metrics, and the values after --set");
  std::string library;
  app.add_option("--rtl-library", library,
                 "shared library with the Verilated NIC of exactly these settings (sim/device/library)");
  app.add_option("--result", options.result, "write settings, figures and their kinds to this JSON file");
  app.add_option("--json", options.json, "write all figures to this JSON file");
  app.add_flag("--quick", options.quick, "run a tenth of the messages");
  app.add_flag("--monitor", options.is_monitored, "judge both NICs by the standards meanwhile (docs/monitor.md)");
  app.add_option("--monitor-cost", options.monitor_rounds,
                 "print what the monitor costs: run each workload this many times without and with it, by turns")
      ->check(CLI::Range(1, 1000));
  app.add_flag(
      "--bottleneck", options.is_metered,
      "print what limits each workload, and what the blocks of the model did (docs/bench.md); needs --device model");
  std::vector<std::string> faster;
  app.add_option("--speed-up", faster,
                 "make this twice as fast, to see whether it is the bottleneck; needs --bottleneck (docs/bench.md)")
      ->delimiter(',');
  app.add_flag("--update", options.update_figures, "write the figures in simulated time into docs/bench.md");
  app.add_flag("--update-speed", options.update_speed,
               "write the speeds of simulation on this machine into docs/bench.md");
  const CLI::Option* page =
      app.add_option("--page", options.page, "write into this page instead, also of a part of the workloads");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kInvalidArgument;
  }
  const bool updates = options.update_figures || options.update_speed;
  if (updates && page->empty()) {
    for (const char* other :
         {"--quick", "--workload", "--config", "--profile", "--preset", "--rings", "--peer", "--set", "--speed-up"}) {
      if (app.get_option(other)->empty()) continue;
      fmt::print(stderr, "vireo bench: docs/bench.md has the figures of a whole run; leave out {}\n", other);
      return 2;
    }
    options.page = "docs/bench.md";
  } else if (!updates && !page->empty()) {
    fmt::print(stderr, "vireo bench: --page needs --update or --update-speed\n");
    return 2;
  }
  if (options.is_metered &&
      (options.devices != std::vector<std::string>{"model"} || (!options.peer.empty() && options.peer != "model"))) {
    fmt::print(stderr, "vireo bench: --bottleneck needs --device model: RTL has no such counters\n");
    return kInvalidArgument;
  }
  if (!faster.empty() && !options.is_metered) {
    fmt::print(stderr, "vireo bench: --speed-up needs --bottleneck: these are figures of no NIC that exists\n");
    return kInvalidArgument;
  }
  if (options.monitor_rounds != 0) {
    for (const char* other : {"--monitor", "--bottleneck", "--update", "--update-speed", "--json", "--result"}) {
      if (app.get_option(other)->empty()) continue;
      fmt::print(stderr, "vireo bench: --monitor-cost prints times only; leave out {}\n", other);
      return kInvalidArgument;
    }
    for (const std::string& name : options.workloads) {
      if (name != kBreakdown && name != kRoundTrip && name != kRoundTripInline && name != kMemory && name != kCustom)
        continue;
      fmt::print(stderr, "vireo bench: --monitor-cost: {} has no steady state to measure\n", name);
      return kInvalidArgument;
    }
  }
  options.config = FindConfig(config);
  options.config_label = config;
  options.profile = FindProfile(profile).value_or(options.profile);
  options.has_packed_rings = rings == "packed";
  const bool is_custom = std::ranges::count(options.workloads, kCustom) != 0;
  if (lists_settings || is_custom || !assignments.empty() || !library.empty() || !faster.empty()) {
    if (!profile_option->empty()) assignments.insert(assignments.begin(), "host.profile=" + profile);
    if (!rings_option->empty()) assignments.insert(assignments.begin(), "host.rings=" + rings);
    if (lists_settings) options.workloads = std::move(known_workloads);
    if (const auto code = ApplySettings(assignments, config, lists_settings, library, settings, options)) return code;
  }
  if (!faster.empty()) {
    if (const std::string error = speed_up.Apply(faster, options); !error.empty()) {
      fmt::print(stderr, "vireo bench: --speed-up {}\n", error);
      return kInvalidArgument;
    }
    options.config_label += fmt::format(", faster: {}", fmt::join(faster, ", "));
  }
  if (options.workloads.empty()) {
    options.workloads = std::move(workloads);
    // A thousand connections take many minutes on RTL: only on request.
    if (options.devices != std::vector<std::string>{"model"}) options.workloads.pop_back();
    for (const Workload& workload : Workloads()) {
      if (!IsOffered(options, workload)) std::erase(options.workloads, workload.name);
    }
  }
  return std::nullopt;
}

// All workloads on all devices. An exit code; rows are appended.
int RunWorkloads(const Options& options, const Settings& settings, std::vector<Row>& rows) {
  std::vector<MonitorCost> costs;
  const auto is_wanted = [&](const char* name) { return std::ranges::count(options.workloads, name) != 0; };
  const auto fail = [](const std::string& device, const char* workload, const std::string& error) {
    fmt::print(stderr, "vireo bench: {} {}: {}\n", device, workload, error);
    return 1;
  };
  fmt::print("two NICs, {} at {} MHz, {} Gb/s line, {}, profile {}\n", options.config_label,
             options.config->core_clock_khz / 1000, options.config->link_mbps / 1000, options.preset,
             ProfileName(options.profile));
  if (!options.peer.empty()) fmt::print("the second NIC is always {}\n", options.peer);
  for (const std::string& device : options.devices) {
    std::string error;
    const auto run = [&](const auto& workloads, const auto& run_one) {
      for (const auto& workload : workloads) {
        if (!is_wanted(workload.name)) continue;
        fmt::print(stderr, "{} {}\n", device, workload.name);
        Row& row = rows.emplace_back(Row{device, workload.name, {}});
        if (options.monitor_rounds == 0) {
          error = run_one(options, device, workload, row);
        } else {
          MonitorCost& cost = costs.emplace_back(MonitorCost{.device = device, .workload = workload.name});
          error = MeasureMonitor(
              options, options.monitor_rounds,
              [&](const Options& one, Row& measured) { return run_one(one, device, workload, measured); }, cost);
        }
        if (!error.empty()) return false;
      }
      return true;
    };
    if (!run(Workloads(), RunWorkload) || !run(NetWorkloads(), RunNetWorkload)) {
      return fail(device, rows.back().workload.c_str(), error);
    }
    if (options.monitor_rounds != 0) continue;
    if (is_wanted(kCustom)) {
      if (!run(std::array{settings.workload()}, RunCustom)) return fail(device, kCustom, error);
    }
    if (is_wanted(kBreakdown)) {
      Row& row = rows.emplace_back(Row{device, kBreakdown, {}});
      std::vector<Step> steps;
      error = RunBreakdown(options, device, row, steps);
      if (!error.empty()) return fail(device, kBreakdown, error);
      PrintSteps(options, row, steps);
    }
    for (const char* name : {kRoundTrip, kRoundTripInline}) {
      if (!is_wanted(name)) continue;
      Row& row = rows.emplace_back(Row{device, name, {}});
      error = RunRoundTrip(options, device, name == kRoundTripInline, row);
      if (!error.empty()) return fail(device, name, error);
      PrintRoundTrip(row);
    }
    if (is_wanted(kMemory)) {
      Row& row = rows.emplace_back(Row{device, kMemory, {}});
      error = RunMemory(options, device, row);
      if (!error.empty()) return fail(device, kMemory, error);
      PrintMemory(row);
    }
  }
  if (options.monitor_rounds != 0) PrintMonitorCosts(costs, options.monitor_rounds);
  return 0;
}

int Run(int argc, char** argv) {
  Settings settings;
  SpeedUp speed_up;
  Options options;
  if (const auto code = ParseCommandLine(argc, argv, settings, speed_up, options)) return *code;
  // Figures are reproducible: a fixed seed unless VIREO_SEED is set.
  setenv("VIREO_SEED", "1", /*overwrite=*/0);

  std::vector<Row> rows;
  if (const int code = RunWorkloads(options, settings, rows); code != 0 || options.monitor_rounds != 0) return code;
  PrintTables(rows);
  for (const Row& row : rows) {
    if (!row.bottleneck.empty()) PrintBottleneck(row);
  }
  const uint64_t different = Compare(options, rows);
  const auto fail = [](const std::string& error) {
    fmt::print(stderr, "vireo bench: {}\n", error);
    return 1;
  };
  if (!options.json.empty()) {
    if (const std::string error = WriteJson(options, rows); !error.empty()) return fail(error);
  }
  if (!options.result.empty()) {
    if (const std::string error = WriteResult(options.result, settings, rows); !error.empty()) return fail(error);
  }
  if (!options.page.empty() && different == 0) {
    std::vector<Row> packed;
    if (options.update_figures && options.hardware == nullptr) {
      // The page has the figures of both ring formats; the process' memory is measured once.
      fmt::print("with packed rings:\n");
      Options other = options;
      other.has_packed_rings = true;
      other.devices.resize(1);
      std::erase(other.workloads, kMemory);
      if (const int code = RunWorkloads(other, settings, packed); code != 0) return code;
    }
    if (const std::string error = UpdatePage(options, rows, packed); !error.empty()) return fail(error);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::sim

int main(int argc, char** argv) {
  try {
    return vireo::sim::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo bench: %s\n", error.what());
    return 1;
  }
}
