// SPDX-License-Identifier: Apache-2.0
// vireo_simulator: simulated NICs for programs of other processes.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "verif/cosim/simulator/simulator.h"
#include "verif/harness/seed.h"
#include "verif/report/report.h"
#include "verif/report/timeline.h"

namespace vireo::verif {
namespace {

struct CommandLine {
  SimulatorOptions options;
  int lifeline = -1;  // file descriptors
  int ready = -1;
  std::string report, timeline;  // files
  size_t messages = 10'000;      // in them
};

// Nothing, or an exit code.
std::optional<int> Parse(int argc, char** argv, CommandLine& line) {
  CLI::App app(
      "Simulated NICs on a wire or switch. Each has a socket in the directory, nic0.sock and so on, for "
      "programs that run with the Vireo ibverbs library (or nic0.vfio, for QEMU and drivers of one's own); "
      "status.json is there when all are ready.");
  app.name("vireo_simulator");
  RdmaSystemOptions& system = line.options.system;
  std::string config = system.config->name, preset(system.pcie_preset), fabric = "switch";
  std::string export_as = "service";
  std::optional<uint64_t> seed;
  std::vector<std::string> configs, presets;
  for (const auto* known : spec::kConfigs) configs.emplace_back(known->name);
  for (const auto& known : kPciePresets) presets.emplace_back(known.name);
  app.add_option("--directory", line.options.directory, "where the sockets are; made if it is not there")->required();
  app.add_option("--nics", system.nics, "how many")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--device", system.device, "model, rtl, lockstep")
      ->check(CLI::IsMember({"model", "rtl", "lockstep"}))
      ->capture_default_str();
  app.add_option("--config", config, "configuration of all NICs")->check(CLI::IsMember(configs))->capture_default_str();
  app.add_option("--preset", preset, "PCIe link of all NICs")->check(CLI::IsMember(presets))->capture_default_str();
  app.add_option("--fabric", fabric, "direct: 2 NICs on one wire, and none can talk to itself")
      ->check(CLI::IsMember({"switch", "direct"}))
      ->capture_default_str();
  app.add_option("--export", export_as, "what a NIC's socket gives: its service, or (vfio-user) the whole PCI function")
      ->check(CLI::IsMember({"service", "vfio-user"}))
      ->capture_default_str();
  app.add_option("--seed", seed, "of all random numbers");
  app.add_option("--capture", system.capture_path, "write all frames to this file (pcapng)");
  app.add_option("--report", line.report, "at the end, write what became of all messages to this file (JSON)");
  app.add_option("--timeline", line.timeline, "at the end, write the stages of the last messages to this file (HTML)");
  app.add_option("--messages", line.messages, "how many messages report and timeline show one by one")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--lifeline", line.lifeline, "end when this file descriptor is closed at its other end");
  app.add_option("--ready", line.ready, "write one byte to this file descriptor when ready");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto* known : spec::kConfigs) {
    if (config == known->name) system.config = known;
  }
  for (const auto& known : kPciePresets) {
    if (preset == known.name) system.pcie_preset = known.name;
  }
  line.options.export_as = export_as == "vfio-user" ? Export::kVfioUser : Export::kService;
  system.fabric = fabric == "direct" ? Fabric::kDirect : Fabric::kSwitch;
  if (seed.has_value()) ::setenv("VIREO_SEED", std::to_string(*seed).c_str(), 1);  // NOLINT: before any thread
  return std::nullopt;
}

// Whole or not there.
bool WriteStatus(const CommandLine& line, Simulator& simulator) {
  const RdmaSystemOptions& system = line.options.system;
  nlohmann::ordered_json status = {{"pid", ::getpid()},
                                   {"device", system.device},
                                   {"config", system.config->name},
                                   {"preset", system.pcie_preset},
                                   {"nics", nlohmann::json::array()}};
  for (size_t i = 0; i < simulator.size(); ++i) {
    status["nics"].push_back({{"name", Simulator::NicName(i)}, {"socket", simulator.socket(i)}});
  }
  const std::string path = line.options.directory + "/status.json";
  std::ofstream file(path + ".new");
  file << status.dump(2) << "\n";
  file.close();
  std::error_code error;
  std::filesystem::rename(path + ".new", path, error);
  return file.good() && !error;
}

// What happened, in a few lines. False: a cycle of model and RTL differs.
bool PrintSummary(Simulator& simulator) {
  RdmaSystem& system = simulator.system();
  bool is_equal = true;
  fmt::print("simulated time  {:.3f} us\n",
             static_cast<double>(system.scheduler().now()) / kPicosecondsPerNanosecond / 1000);
  for (size_t i = 0; i < simulator.size(); ++i) {
    const MacPort::Counters& counters = system.host(i).station().mac().counters();
    fmt::print("nic {}           {} frames sent, {} received", i, counters.sent_frames, counters.received_frames);
    if (LockstepNic* const lockstep = system.lockstep(i); lockstep != nullptr) {
      const CycleDifferences total = lockstep->TotalDifferences();
      fmt::print("; {} events of model and RTL compared, {} in different cycles", total.count,
                 total.count - total.exact);
      is_equal = is_equal && total.count == total.exact;
    }
    fmt::print("\n");
  }
  return is_equal;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file.good()) fmt::print(stderr, "{}: cannot be written\n", path);
  return file.good();
}

// False: something could not be written, and was told.
bool WriteReports(const CommandLine& line, const Report& report, Simulator& simulator) {
  std::vector<const LockstepNic*> lockstep;
  for (size_t i = 0; i < simulator.size(); ++i) lockstep.push_back(simulator.system().lockstep(i));
  const auto json = report.ToJson(simulator.system().scheduler().now(), lockstep);
  bool written = line.report.empty() || WriteFile(line.report, json.dump(1) + "\n");
  written &= line.timeline.empty() || WriteFile(line.timeline, TimelineHtml(json));
  return written;
}

int Main(int argc, char** argv) {
  CommandLine line;
  if (const std::optional<int> code = Parse(argc, argv, line)) return *code;
  const bool reports = !line.report.empty() || !line.timeline.empty();
  MessageTracker tracker({.keep = line.messages});
  if (reports) line.options.tracker = &tracker;
  Report::Run run{.device = line.options.system.device,
                  .config = line.options.system.config->name,
                  .preset = std::string(line.options.system.pcie_preset),
                  .seed = std::to_string(Seed()),
                  .nics = {}};
  for (size_t i = 0; i < line.options.system.nics; ++i) run.nics.push_back("vireo" + std::to_string(i));
  const Report report(tracker, run);
  std::error_code error;
  std::filesystem::create_directories(line.options.directory, error);
  if (error) {
    fmt::print(stderr, "{}: {}\n", line.options.directory, error.message());
    return 1;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const host::FileDescriptor signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);  // sleeps as short as a simulated timer

  Simulator::Built built = Simulator::Build(line.options);
  if (built.simulator == nullptr) {
    fmt::print(stderr, "{}\n", built.error);
    return 1;
  }
  Simulator& simulator = *built.simulator;
  const auto stop = [&simulator] { simulator.Stop(); };
  simulator.loop().Watch(signal_fd.get(), stop);
  if (line.lifeline >= 0) simulator.loop().Watch(line.lifeline, stop);
  if (!WriteStatus(line, simulator)) {
    fmt::print(stderr, "{}: status.json cannot be written\n", line.options.directory);
    return 1;
  }
  if (line.ready >= 0 && ::write(line.ready, "", 1) != 1) return 1;
  simulator.Run();
  const bool reported = !reports || WriteReports(line, report, simulator);

  std::filesystem::remove(line.options.directory + "/status.json", error);
  const std::string flushed = simulator.system().topology().FlushCapture();
  if (!flushed.empty()) fmt::print(stderr, "{}\n", flushed);
  // A client may die in the middle of anything, so DMA that finds no memory is no defect; a device that differs is.
  const bool is_equal = PrintSummary(simulator);
  return flushed.empty() && reported && is_equal && !simulator.system().is_mismatched() ? 0 : 1;
}

}  // namespace
}  // namespace vireo::verif

int main(int argc, char** argv) {
  try {
    return vireo::verif::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
