// SPDX-License-Identifier: Apache-2.0
// RDMA programs on simulated NICs: `vireo up`, `down`, `status`, `exec` and `pair`.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "verif/cosim/simulator/child_process.h"
#include "verif/cosim/simulator/simulation_directory.h"
#include "verif/report/report_table.h"

namespace vireo::verif {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kReadyPatience = seconds(60);  // a NIC in RTL takes some time to build its tables
constexpr auto kEndPatience = seconds(10);
constexpr size_t kLogLines = 20;

struct SimulationOptions {
  std::string device = "model", config = "nic100", preset = "gen3x16", seed, capture, report, timeline;
  size_t nics = 2;
};

void AddSimulationOptions(CLI::App& command, SimulationOptions& options) {
  command.add_option("--device", options.device, "model, rtl, or lockstep: both, compared in every cycle")
      ->check(CLI::IsMember({"model", "rtl", "lockstep"}))
      ->capture_default_str();
  command.add_option("--nics", options.nics, "how many NICs")->check(CLI::Range(1, 16))->capture_default_str();
  command.add_option("--config", options.config, "configuration of the NICs")
      ->check(CLI::IsMember({"nic100", "nic1"}))
      ->capture_default_str();
  command.add_option("--preset", options.preset, "PCIe link of the NICs")
      ->check(CLI::IsMember({"gen3x8", "gen3x16", "gen4x16"}))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of all that is random; one seed, one run");
  command.add_option("--capture", options.capture, "write all frames to this pcapng file");
  command.add_option("--report", options.report, "at the end, write what became of all messages to this JSON file");
  command.add_option("--timeline", options.timeline,
                     "at the end, write the stages of the last messages to this HTML file, for a browser");
}

int Fail(const std::string& what) {
  fmt::print(stderr, "vireo: {}\n", what);
  return 1;
}

// Starts a simulator that lives in `directory`, and waits until programs can use it.
std::optional<ChildProcess> StartSimulator(const SimulationDirectory& directory, const SimulationOptions& options,
                                           std::string* error) {
  if (const auto living = directory.Find()) {
    *error = fmt::format("a simulation lives in {} already (process {}); `vireo down` ends it",
                         directory.path().string(), living->pid);
    return std::nullopt;
  }
  std::error_code failed;
  std::filesystem::create_directories(directory.path(), failed);
  std::filesystem::remove(directory.status_file(), failed);
  const int log = open(directory.log_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) {
    *error = fmt::format("cannot write to {}; choose another --directory", directory.path().string());
    return std::nullopt;
  }
  std::vector<std::string> command = {
      VIREO_SIMULATOR, "--directory",  directory.path(), "--nics",       std::to_string(options.nics),
      "--device",      options.device, "--config",       options.config, "--preset",
      options.preset};
  if (!options.seed.empty()) command.insert(command.end(), {"--seed", options.seed});
  if (!options.capture.empty()) {
    command.insert(command.end(), {"--capture", std::filesystem::absolute(options.capture)});
  }
  if (!options.report.empty()) command.insert(command.end(), {"--report", std::filesystem::absolute(options.report)});
  if (!options.timeline.empty()) {
    command.insert(command.end(), {"--timeline", std::filesystem::absolute(options.timeline)});
  }
  // One byte comes when it is ready; the end of the pipe, when it is not and never will be.
  std::array<int, 2> ready{};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) {
    *error = std::strerror(errno);
    close(log);
    return std::nullopt;
  }
  command.insert(command.end(), {"--ready", std::to_string(ready[1])});
  auto simulator = ChildProcess::Start(command, {.output = log, .inherited = {ready[1]}, .own_session = true}, error);
  close(log);
  close(ready[1]);
  bool is_ready = false;
  if (simulator.has_value()) {
    pollfd entry{.fd = ready[0], .events = POLLIN, .revents = 0};
    char byte = 0;
    is_ready =
        poll(&entry, 1, static_cast<int>(milliseconds(kReadyPatience).count())) == 1 && read(ready[0], &byte, 1) == 1;
    if (!is_ready) {
      const auto ended = simulator->Wait(seconds(1));
      *error = fmt::format("the simulator {}:\n{}",
                           ended.has_value() ? fmt::format("ended with status {}", *ended) : "does not become ready",
                           directory.LogTail(kLogLines));
    }
  }
  close(ready[0]);
  if (!is_ready) return std::nullopt;
  return simulator;
}

std::optional<SimulationStatus> FindOrComplain(const SimulationDirectory& directory) {
  auto status = directory.Find();
  if (!status.has_value()) {
    Fail(fmt::format("no simulation lives in {}; `vireo up` starts one", directory.path().string()));
  }
  return status;
}

int Up(const SimulationDirectory& directory, const SimulationOptions& options) {
  std::string error;
  auto simulator = StartSimulator(directory, options, &error);
  if (!simulator.has_value()) return Fail(error);
  const auto status = directory.Find();
  if (!status.has_value()) return Fail("the simulator wrote no state that can be read");
  fmt::print("{} NICs ({}, {}, {}) in {}\n", status->nics.size(), status->device, status->config, status->preset,
             directory.path().string());
  fmt::print("next: vireo exec --nic 0 -- ibv_devinfo\n");
  simulator->Release();
  return 0;
}

int Down(const SimulationDirectory& directory) {
  const auto status = FindOrComplain(directory);
  if (!status.has_value()) return 1;
  kill(status->pid, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  while (directory.Find().has_value()) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(status->pid, SIGKILL);
      fmt::print(stderr, "vireo: process {} did not end by itself\n", status->pid);
      break;
    }
    usleep(10'000);
  }
  std::error_code failed;
  std::filesystem::remove(directory.status_file(), failed);
  fmt::print("ended\n");
  return 0;
}

int Status(const SimulationDirectory& directory) {
  const auto status = FindOrComplain(directory);
  if (!status.has_value()) return 1;
  fmt::print("process {}, {} {} on {}, in {}\n", status->pid, status->device, status->config, status->preset,
             directory.path().string());
  for (size_t nic = 0; nic < status->nics.size(); ++nic) {
    fmt::print("nic {}  {:<8} {}\n", nic, status->nics[nic].name, status->nics[nic].socket);
  }
  return 0;
}

std::string PreloadList() {
  const char* const already = std::getenv("LD_PRELOAD");
  return already == nullptr || *already == '\0' ? VIREO_OVERLAY : fmt::format("{}:{}", VIREO_OVERLAY, already);
}

// What makes a program see one NIC, and only that.
std::vector<std::pair<std::string, std::string>> EnvironmentFor(const SimulationStatus& status, size_t nic) {
  return {{"LD_PRELOAD", PreloadList()}, {"VIREO_SOCKET", status.nics[nic].socket}};
}

int Exec(const SimulationDirectory& directory, size_t nic, std::vector<std::string> command) {
  const auto status = FindOrComplain(directory);
  if (!status.has_value()) return 1;
  if (nic >= status->nics.size()) {
    return Fail(fmt::format("there is no NIC {}: this simulation has {}, from 0", nic, status->nics.size()));
  }
  for (const auto& [name, value] : EnvironmentFor(*status, nic)) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return Fail(fmt::format("{}: {}", command[0], std::strerror(errno)));
}

// Prints what the programs wrote, each line with who wrote it.
void PrintOutput(const char* who, const std::filesystem::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) fmt::print("{} | {}\n", who, line);
}

void PrintReport(const std::filesystem::path& report) {
  std::ifstream file(report);
  const auto json = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  fmt::print("\n{}", ReportTable(json));
}

struct PairOptions {
  SimulationOptions simulation;
  std::string server, client;
  unsigned timeout_s = 600;
};

// Both programs get NICs of a simulation of their own, which ends with them.
int Pair(const PairOptions& options) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo-pair-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return Fail("cannot make a directory for the simulation");
  const SimulationDirectory directory(pattern);
  struct Cleaner {
    std::filesystem::path path;
    ~Cleaner() {
      std::error_code failed;
      std::filesystem::remove_all(path, failed);
    }
  } const cleaner{pattern};

  std::string error;
  auto simulator = StartSimulator(directory, options.simulation, &error);
  if (!simulator.has_value()) return Fail(error);
  const auto status = directory.Find();
  if (!status.has_value()) return Fail("the simulator wrote no state that can be read");
  if (status->nics.size() < 2) return Fail("a pair needs --nics 2 or more");

  const auto start = [&](const char* who, const std::string& text, size_t nic) {
    const int output = open((directory.path() / who).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    auto child = ChildProcess::Start(
        {"/bin/sh", "-c", text},
        {.environment = EnvironmentFor(*status, nic), .output = output, .own_session = true, .yields = true}, &error);
    close(output);
    return child;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = begin + seconds(options.timeout_s);
  auto server = start("server", options.server, 0);
  if (!server.has_value()) return Fail(error);
  // Programs that meet over TCP listen soon; those that meet through the NIC itself say nothing that can be seen here.
  for (auto patience = begin + seconds(1); std::chrono::steady_clock::now() < patience && !server->IsListening();) {
    if (server->Wait(milliseconds(10)).has_value()) break;
  }
  auto client = start("client", options.client, 1);
  if (!client.has_value()) return Fail(error);

  bool progress = false;
  std::optional<int> client_end, server_end;
  while (!client_end.has_value() && std::chrono::steady_clock::now() < deadline) {
    client_end = client->Wait(seconds(1));
    if (simulator->Wait(milliseconds(0)).has_value()) break;
    if (!client_end.has_value() && isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} s …",
                 std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - begin).count());
      progress = true;
    }
  }
  if (progress) fmt::print(stderr, "\r          \r");
  if (client_end.has_value()) server_end = server->Wait(kEndPatience);
  const auto simulator_end = simulator->Wait(milliseconds(0));
  client->Stop(seconds(1));
  server->Stop(seconds(1));
  if (!simulator_end.has_value()) simulator->Stop(kEndPatience);
  const int verdict = simulator->Wait(milliseconds(0)).value_or(1);

  PrintOutput("server", directory.path() / "server");
  PrintOutput("client", directory.path() / "client");
  if (simulator_end.has_value()) {
    return Fail(fmt::format("the simulator ended with status {} before the programs did:\n{}", *simulator_end,
                            directory.LogTail(kLogLines)));
  }
  if (!options.simulation.report.empty()) PrintReport(options.simulation.report);
  fmt::print("\n{}", directory.LogTail(kLogLines));
  if (verdict != 0) return Fail("the simulation is not good: see above");
  if (!client_end.has_value()) return Fail(fmt::format("the client did not end within {} s", options.timeout_s));
  if (*client_end != 0) return Fail(fmt::format("the client ended with status {}", *client_end));
  if (!server_end.has_value()) {
    return Fail("the server did not end with its client, and was stopped");
  }
  if (*server_end != 0) return Fail(fmt::format("the server ended with status {}", *server_end));
  return 0;
}

// What anybody can see in a minute: programs of the distribution, as they are, on both NICs at once.
int Demo() {
  struct Program {
    std::string name, server, client;
  };
  const std::vector<Program> programs = {
      {"pingpong", "ibv_rc_pingpong -g 1 -n 100", "ibv_rc_pingpong -g 1 -n 100 localhost"},
      {"write_bw", "ib_write_bw -F -n 100", "ib_write_bw -F -n 100 localhost"},
  };
  const std::filesystem::path files = "build/demo";
  std::error_code failed;
  std::filesystem::create_directories(files, failed);
  if (failed) return Fail(fmt::format("{}: {}", files.string(), failed.message()));
  for (const Program& program : programs) {
    PairOptions options;
    options.server = program.server;
    options.client = program.client;
    options.simulation.device = "lockstep";
    options.simulation.capture = files / (program.name + ".pcapng");
    fmt::print("$ vireo pair --device lockstep --capture {} '{}' '{}'\n", options.simulation.capture, options.server,
               options.client);
    std::fflush(stdout);
    if (const int code = Pair(options); code != 0) return code;
    fmt::print("\n");
  }
  fmt::print(
      "Both programs are Debian's own. Model and Verilated RTL ran side by side: one event or cycle that differs ends\n"
      "the run with both histories. What went over the wire: {0}/pingpong.pcapng, {0}/write_bw.pcapng (Wireshark).\n"
      "next: ./vireo pair --device rtl 'rping -s -a 10.0.0.1 -C 5 -v' 'rping -c -a 10.0.0.1 -C 5 -v'\n"
      "      ./vireo up, then in several terminals ./vireo exec --nic 0 -- ibv_devinfo -v\n",
      files.string());
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Unmodified RDMA programs on simulated NICs");
  app.require_subcommand(1);
  std::string directory_name;
  SimulationOptions up_options;
  size_t nic = 0;
  std::vector<std::string> command;
  PairOptions pair;

  const auto with_directory = [&](CLI::App* sub) {
    sub->add_option("--directory", directory_name, "where the simulation lives (default: one per user)");
    return sub;
  };
  CLI::App* const up = with_directory(app.add_subcommand("up", "start a simulation of NICs, in the background"));
  AddSimulationOptions(*up, up_options);
  CLI::App* const down = with_directory(app.add_subcommand("down", "end it"));
  CLI::App* const status = with_directory(app.add_subcommand("status", "what runs"));
  CLI::App* const exec =
      with_directory(app.add_subcommand("exec", "run a program that sees one NIC: exec --nic 1 -- ibv_devinfo -v"));
  exec->add_option("--nic", nic, "its number, from 0")->capture_default_str();
  exec->add_option("command", command, "the program and its arguments, after --")->required();
  CLI::App* const both = app.add_subcommand("pair",
                                            "two programs, on a NIC each, in a simulation of their own:\n"
                                            "pair 'ibv_rc_pingpong -g 1' 'ibv_rc_pingpong -g 1 localhost'");
  AddSimulationOptions(*both, pair.simulation);
  both->add_option("--timeout", pair.timeout_s, "seconds until they are stopped")->capture_default_str();
  both->add_option("server", pair.server, "runs on NIC 0; for a shell")->required();
  both->add_option("client", pair.client, "runs on NIC 1, as soon as the server listens; for a shell")->required();
  CLI::App* const demo = app.add_subcommand("demo", "a pingpong and a bandwidth test in lockstep");
  CLI11_PARSE(app, argc, argv);

  const SimulationDirectory directory = directory_name.empty()
                                            ? SimulationDirectory::Default()
                                            : SimulationDirectory(std::filesystem::absolute(directory_name));
  if (demo->parsed()) return Demo();
  if (up->parsed()) return Up(directory, up_options);
  if (down->parsed()) return Down(directory);
  if (status->parsed()) return Status(directory);
  if (exec->parsed()) return Exec(directory, nic, std::move(command));
  return Pair(pair);
}

}  // namespace
}  // namespace vireo::verif

int main(int argc, char** argv) {
  try {
    return vireo::verif::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo: %s\n", error.what());
    return 1;
  }
}
