// SPDX-License-Identifier: Apache-2.0
// vireo_simulator: simulated NICs for programs of other processes.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "sim/device/devices.h"
#include "sim/report/report.h"
#include "sim/report/timeline.h"
#include "sim/simulator/control_commands.h"
#include "sim/simulator/control_socket.h"
#include "sim/simulator/drop_counters.h"
#include "sim/simulator/simulation_directory.h"
#include "sim/simulator/simulation_options.h"
#include "sim/simulator/simulator.h"

namespace vireo::sim {
namespace {

struct CommandLine {
  std::string directory;
  SimulationOptions simulation;
  int lifeline = -1;  // file descriptors
  int ready = -1;
};

// nullopt, or an exit code.
std::optional<int> Parse(int argc, char** argv, CommandLine& line) {
  CLI::App app(
      "Simulated NICs on a wire or switch. Each NIC has a socket in the directory (nic0.sock, nic1.sock, ...) for "
      "programs that use the Vireo ibverbs library, or is exported as a PCI function for QEMU or your own driver. "
      "status.json exists when all NICs are ready. `vireo up` and `vireo pair` start this program for you.");
  app.name("vireo_simulator");
  app.add_option("--directory", line.directory, "directory of the sockets; created if missing")->required();
  line.simulation.AddTo(app);
  app.add_option("--lifeline", line.lifeline, "exit when the other end of this file descriptor is closed");
  app.add_option("--ready", line.ready, "write one byte to this file descriptor when ready");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

SimulationStatus StatusOf(const Simulation& simulation, const Simulator& simulator) {
  SimulationStatus status{.pid = ::getpid(), .virtual_time = simulation.call_cost_ns.has_value(), .nics = {}};
  for (size_t i = 0; i < simulation.size(); ++i) {
    const HostOptions& host = simulation.system.hosts[i];
    status.nics.push_back({.name = host.nic.name,
                           .device = host.device,
                           .config = host.nic.config->name,
                           .profile = ProfileName(host.profile),
                           .preset = std::string(host.nic.pcie.name),
                           .socket = simulator.socket(i),
                           .is_exported = simulation.is_exported(i)});
  }
  for (size_t i = 0; i < simulation.guests.size(); ++i) {
    const Simulation::Guest& guest = simulation.guests[i];
    status.guests.push_back(
        {.name = guest.name, .socket = simulator.guest_socket(i), .nic = simulation.name(guest.nic)});
  }
  return status;
}

// Device, configuration and preset of the NICs; different ones joined by '+'.
Report::Run RunOf(const Simulation& simulation) {
  Report::Run run{.device = {}, .config = {}, .preset = {}, .seed = std::to_string(Seed()), .nics = {}};
  const auto add = [](std::string& all, std::string_view one) {
    if (("+" + all + "+").find("+" + std::string(one) + "+") != std::string::npos) return;
    all += (all.empty() ? "" : "+") + std::string(one);
  };
  for (const HostOptions& host : simulation.system.hosts) {
    add(run.device, host.device);
    add(run.config, host.nic.config->name);
    add(run.preset, host.nic.pcie.name);
    run.nics.push_back(host.nic.name);
  }
  return run;
}

// Prints a summary of the run. False: model and RTL differ in a cycle, a NIC with a service accessed memory outside of
// its mapped regions, or the monitor found a violation.
bool PrintSummary(Simulator& simulator, const Simulation& simulation) {
  RdmaSystem& system = simulator.system();
  bool is_good = true;
  fmt::print("simulated time  {:.3f} us\n",
             static_cast<double>(system.scheduler().now()) / kPicosecondsPerNanosecond / 1000);
  fmt::print("CPU time        {:.3f} s\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  for (size_t i = 0; i < simulator.size(); ++i) {
    const MacPort::Counters& counters = system.host(i).station().mac().counters();
    fmt::print("{:<15} {} frames sent, {} received", system.host(i).station().name(), counters.sent_frames,
               counters.received_frames);
    uint64_t faults = 0;
    for (const FaultInjector* injector : {system.topology().faults_in(i), system.topology().faults_out(i)}) {
      if (injector != nullptr) faults += injector->injected();
    }
    if (faults != 0) fmt::print("; {} faults on its link", faults);
    if (LockstepNic* const lockstep = system.lockstep(i); lockstep != nullptr) {
      const CycleDifferences total = lockstep->TotalDifferences();
      fmt::print("; {} events of model and RTL compared, {} in different cycles", total.count,
                 total.count - total.exact);
      is_good = is_good && total.count == total.exact;
    }
    // An access to mapped memory that fails is that of a client that exited during a transfer. The addresses of an
    // exported NIC are chosen by its driver.
    const auto outside = std::ranges::count_if(system.host(i).station().memory().violations(),
                                               [](const auto& one) { return one.error != MemoryError::kFailed; });
    if (outside != 0) fmt::print("; {} DMA accesses outside of mapped host memory", outside);
    is_good = is_good && (outside == 0 || simulation.is_exported(i));
    fmt::print("\n");
    // The first ones tell most, and what shows the end of the log should show them.
    constexpr size_t kShown = 5;
    const std::vector<std::string> found = system.host(i).station().monitor_violations();
    for (size_t k = 0; k < std::min(found.size(), kShown); ++k) fmt::print("{}\n", found[k]);
    if (found.size() > kShown) fmt::print("{}nic {}: {} more\n", kMonitorPrefix, i, found.size() - kShown);
    is_good = is_good && found.empty();
  }
  for (size_t i = 0; i < simulator.wires(); ++i) {
    const WireSocket::Counters& counters = simulator.wire(i).counters();
    fmt::print(
        "wire {}          {} frames received, {} sent; dropped: {} malformed, {} without a peer, {} by queue "
        "overflow\n",
        i, counters.received, counters.sent, counters.malformed_drops, counters.unreachable_drops,
        counters.overflow_drops);
  }
  return is_good;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file.good()) fmt::print(stderr, "{}: cannot be written\n", path);
  return file.good();
}

// A frame that the receive buffer had no room for has arrived, so it is not lost on the wire.
void PrintDrops(Simulator& simulator, const DropCounters& drops) {
  for (size_t i = 0; i < simulator.size(); ++i) {
    if (drops.receive_buffer(i) == 0) continue;
    fmt::print("{:<15} {} frames dropped by its full receive buffer\n", simulator.system().host(i).station().name(),
               drops.receive_buffer(i));
  }
}

nlohmann::ordered_json MakeReport(const Report& report, Simulator& simulator) {
  std::vector<const LockstepNic*> lockstep;
  for (size_t i = 0; i < simulator.size(); ++i) lockstep.push_back(simulator.system().lockstep(i));
  return report.ToJson(simulator.system().scheduler().now(), lockstep);
}

// False: a file could not be written; the error has been printed.
bool WriteReports(const SimulationOptions& options, const nlohmann::ordered_json& json) {
  bool written = options.report.empty() || WriteFile(options.report, json.dump(1) + "\n");
  written &= options.timeline.empty() || WriteFile(options.timeline, TimelineHtml(json));
  return written;
}

int Main(int argc, char** argv) {
  CommandLine line;
  if (const std::optional<int> code = Parse(argc, argv, line)) return *code;
  auto described = line.simulation.Describe();
  if (!described.ok()) {
    fmt::print(stderr, "{}\n", described.error().text);
    return 2;
  }
  SimulatorOptions options{.directory = line.directory, .simulation = std::move(described).value()};
  if (const auto& seed = options.simulation.seed; seed.has_value()) {
    ::setenv("VIREO_SEED", std::to_string(*seed).c_str(), 1);  // before any thread
  }
  const bool reports = !line.simulation.report.empty() || !line.simulation.timeline.empty();
  MessageTracker tracker({.keep = line.simulation.messages});
  if (reports) options.tracker = &tracker;
  const Report report(tracker, RunOf(options.simulation));
  std::error_code error;
  std::filesystem::create_directories(line.directory, error);
  if (error) {
    fmt::print(stderr, "{}: {}\n", line.directory, error.message());
    return 1;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Under nohup it is ignored; a blocked signal would be reported.
  struct sigaction hangup {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const host::FileDescriptor signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);  // precise short sleeps

  Simulator::Built built = Simulator::Build(options);
  if (built.simulator == nullptr) {
    fmt::print(stderr, "{}\n", built.error);
    return 1;
  }
  Simulator& simulator = *built.simulator;
  const auto stop = [&simulator] { simulator.Stop(); };
  if (line.lifeline >= 0) simulator.loop().Watch(line.lifeline, stop);
  const SimulationDirectory directory(line.directory);
  DropCounters& drops = simulator.drops();
  simulator.loop().Watch(signal_fd.get(), stop);
  if (!directory.Write(StatusOf(options.simulation, simulator))) {
    fmt::print(stderr, "{}: cannot be written\n", directory.status_file().string());
    return 1;
  }
  const auto control = ControlSocket::Listen(simulator.loop(), directory.control_socket(), [&](const auto& request) {
    return RunControlCommand(simulator, drops, request);
  });
  if (!control.ok()) {
    fmt::print(stderr, "{}\n", host::ToString(control.error()));
    return 1;
  }
  if (line.ready >= 0 && ::write(line.ready, "", 1) != 1) return 1;
  simulator.Run();
  auto json = reports ? MakeReport(report, simulator) : nlohmann::ordered_json();

  std::filesystem::remove(directory.status_file(), error);
  const std::string flushed = simulator.system().topology().FlushCapture();
  if (!flushed.empty()) fmt::print(stderr, "{}\n", flushed);
  const bool is_good = PrintSummary(simulator, options.simulation);
  // After the comparison of events, which it would add to.
  drops.Update();
  PrintDrops(simulator, drops);
  for (size_t i = 0; reports && i < simulator.size(); ++i) {
    json["nics"][i]["receive_buffer_drops"] = drops.receive_buffer(i);
    for (const auto& [reason, frames] : drops.of(i)) json["nics"][i]["drops"][reason] = frames;
  }
  const bool reported = !reports || WriteReports(line.simulation, json);
  return flushed.empty() && reported && is_good && !simulator.system().is_mismatched() ? 0 : 1;
}

}  // namespace
}  // namespace vireo::sim

int main(int argc, char** argv) {
  try {
    return vireo::sim::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
