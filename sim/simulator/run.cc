// SPDX-License-Identifier: Apache-2.0
// RDMA programs on simulated NICs: `vireo up`, `down`, `status`, `gid`, `exec` and `pair`.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/report/report_table.h"
#include "sim/simulator/child_process.h"
#include "sim/simulator/control_socket.h"
#include "sim/simulator/interruption.h"
#include "sim/simulator/overlay.h"
#include "sim/simulator/simulation_directory.h"
#include "sim/simulator/simulation_options.h"
#include "sim/simulator/simulator_process.h"

namespace vireo::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kEndTimeout = seconds(10);
constexpr size_t kLogLines = 20;

int Fail(const std::string& what) {
  fmt::print(stderr, "vireo: {}\n", what);
  return 1;
}

// Starts a simulator in `directory`, and waits until programs can use it.
std::optional<ChildProcess> StartIn(const SimulationDirectory& directory, const SimulationOptions& options,
                                    std::string* error, OrphanGuard* guard = nullptr) {
  if (const auto running = directory.Find()) {
    *error = fmt::format(
        "a simulation is already running in {} (process {}); stop it with `vireo down`, or use another "
        "--directory",
        directory.path().string(), running->pid);
    return std::nullopt;
  }
  // Reports invalid options here rather than in the log of the simulator process.
  if (const auto described = options.Describe(); !described.ok()) {
    *error = described.error().text;
    return std::nullopt;
  }
  std::error_code failed;
  std::filesystem::create_directories(directory.path(), failed);
  std::filesystem::remove(directory.status_file(), failed);
  const host::FileDescriptor log(
      open(directory.log_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) {
    *error = fmt::format("cannot write to {}; choose another --directory", directory.path().string());
    return std::nullopt;
  }
  std::vector<std::string> arguments = options.Arguments();
  arguments.insert(arguments.end(), {"--directory", directory.path()});
  ChildOptions child{.output = log.get(), .own_session = true};
  if (guard != nullptr) child.on_start = [guard](pid_t leader) { guard->Add(leader); };
  auto simulator = StartSimulator(arguments, child, kReadyTimeout, error);
  if (!simulator.has_value()) *error += fmt::format(":\n{}", directory.LogTail(kLogLines));
  return simulator;
}

std::optional<SimulationStatus> FindOrReport(const SimulationDirectory& directory) {
  auto status = directory.Find();
  if (!status.has_value()) {
    Fail(fmt::format("no simulation is running in {}; start one with `vireo up`", directory.path().string()));
  }
  return status;
}

// " 3 pds, 1 qps": the counts that are not 0.
std::string NotZero(const nlohmann::ordered_json& counts) {
  std::string text;
  for (const auto& [name, count] : counts.items()) {
    if (count != 0) text += fmt::format("{} {} {}", text.empty() ? "" : ",", count.get<uint64_t>(), name);
  }
  return text;
}

// What the simulation answers (control_commands.h): by NIC, or by guest. Empty: not known.
struct Answers {
  static nlohmann::ordered_json None() { return nlohmann::ordered_json::array(); }
  nlohmann::ordered_json frames = None(), drops = None(), programs = None(), guests = None(), limits = None();
};

// One line per program, and one per queue pair.
void PrintPrograms(const nlohmann::ordered_json& programs) {
  for (const nlohmann::ordered_json& program : programs) {
    nlohmann::ordered_json counts = program;
    for (const char* other : {"pid", "qps"}) counts.erase(other);
    counts["qps"] = program["qps"].size();
    fmt::print("       program {}:{}\n", program["pid"].get<int64_t>(), NotZero(counts));
    for (const nlohmann::ordered_json& qp : program["qps"]) {
      const std::string peer = qp.contains("dgid") ? fmt::format(", to QP {} at {}", qp["dest_qpn"].get<uint64_t>(),
                                                                 qp["dgid"].get<std::string>())
                                                   : std::string();
      fmt::print("         QP {}: {}, {}{}, next PSN sent {}, received {}\n", qp["qpn"].get<uint64_t>(),
                 qp["type"].get<std::string>(), qp["state"].get<std::string>(), peer, qp["sq_psn"].get<uint64_t>(),
                 qp["rq_psn"].get<uint64_t>());
    }
  }
}

// One line per NIC, and more for its frames, those that it dropped and its programs. One line per guest, and one more
// if it has objects, and one for the most that it may have.
void PrintNics(const SimulationStatus& status, const Answers& answers = {}) {
  size_t widest = 0;
  for (const SimulationStatus::Nic& nic : status.nics) widest = std::max(widest, nic.name.size());
  for (size_t number = 0; number < status.nics.size(); ++number) {
    const SimulationStatus::Nic& nic = status.nics[number];
    fmt::print("nic {:<2} {:<{}}  {:<8} {:<6} {:<7} {:<6}  {}{}\n", number, nic.name, widest, nic.device, nic.config,
               nic.preset, nic.profile, nic.socket, nic.is_exported ? "  (vfio-user: for a driver or guest only)" : "");
    if (number < answers.frames.size()) {
      const nlohmann::ordered_json& frames = answers.frames[number];
      fmt::print("       frames: {} sent, {} bytes; {} received, {} bytes\n", frames["sent"].get<uint64_t>(),
                 frames["sent_bytes"].get<uint64_t>(), frames["received"].get<uint64_t>(),
                 frames["received_bytes"].get<uint64_t>());
    }
    if (number < answers.drops.size()) {
      const std::string reasons = NotZero(answers.drops[number]);
      if (!reasons.empty()) fmt::print("       dropped frames:{}\n", reasons);
    }
    if (number < answers.programs.size()) PrintPrograms(answers.programs[number]);
  }
  for (size_t number = 0; number < status.guests.size(); ++number) {
    const SimulationStatus::Guest& guest = status.guests[number];
    fmt::print("guest {}  PVRDMA on {}  {}  (vfio-user)\n", guest.name, guest.nic, guest.socket);
    if (number >= answers.guests.size()) continue;
    if (const std::string kinds = NotZero(answers.guests[number]); !kinds.empty())
      fmt::print("       it has:{}\n", kinds);
    if (number < answers.limits.size()) fmt::print("       it may have:{}\n", NotZero(answers.limits[number]));
  }
}

int Up(const SimulationDirectory& directory, const SimulationOptions& options) {
  std::string error;
  auto simulator = StartIn(directory, options, &error);
  if (!simulator.has_value()) return Fail(error);
  const auto status = directory.Find();
  if (!status.has_value()) return Fail("the simulator wrote no state that can be read");
  fmt::print("{} NICs in {}\n", status->nics.size(), directory.path().string());
  PrintNics(*status);
  const auto used = std::ranges::find(status->nics, false, &SimulationStatus::Nic::is_exported);
  if (used != status->nics.end()) fmt::print("next: vireo exec --nic {} -- ibv_devinfo\n", used->name);
  simulator->Release();
  return 0;
}

int Down(const SimulationDirectory& directory) {
  const auto status = FindOrReport(directory);
  if (!status.has_value()) return 1;
  // The simulator removes status.json before it exits, so wait for the process itself.
  const host::FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, status->pid, 0)));
  kill(status->pid, SIGTERM);
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  if (process.is_open() && poll(&end, 1, static_cast<int>(milliseconds(kEndTimeout).count())) == 0) {
    kill(status->pid, SIGKILL);
    fmt::print(stderr, "vireo: process {} did not exit within {} s and was killed\n", status->pid, kEndTimeout.count());
  }
  std::error_code failed;
  std::filesystem::remove(directory.status_file(), failed);
  fmt::print("stopped\n");
  const std::vector<std::string> violations = directory.Violations();
  if (violations.empty()) return 0;
  for (const std::string& violation : violations) fmt::print("{}\n", violation);
  return Fail("a NIC broke a rule: see above, and docs/monitor.md");
}

int Status(const SimulationDirectory& directory) {
  const auto status = FindOrReport(directory);
  if (!status.has_value()) return 1;
  fmt::print("process {}, in {}\n", status->pid, directory.path().string());
  std::string why;
  const auto ask = [&](const char* what, const char* which = "list") {
    if (!why.empty()) return Answers::None();
    auto answer = ControlSocket::Ask(directory.control_socket(), {{what, which}}, seconds(3));
    if (!answer.ok()) why = answer.error().text;
    return answer.ok() ? std::move(answer).value() : Answers::None();
  };
  const Answers answers{.frames = ask("frames"),
                        .drops = ask("drops"),
                        .programs = ask("programs"),
                        .guests = ask("guests"),
                        .limits = ask("guests", "limits")};
  PrintNics(*status, answers);
  if (!why.empty()) fmt::print("frames, programs and objects are not known: {}\n", why);
  return 0;
}

int Exec(const SimulationDirectory& directory, const std::string& name_or_number, std::vector<std::string> command) {
  const auto status = FindOrReport(directory);
  if (!status.has_value()) return 1;
  const std::optional<size_t> nic = status->FindNic(name_or_number);
  if (!nic.has_value()) {
    return Fail(fmt::format("there is no NIC {}; this simulation has NICs 0 to {}; `vireo status` lists their names",
                            name_or_number, status->nics.size() - 1));
  }
  if (status->nics[*nic].is_exported) {
    return Fail(fmt::format("NIC {} is exported at {} and has no service for programs; choose another --nic",
                            name_or_number, status->nics[*nic].socket));
  }
  for (const auto& [name, value] : OverlayEnvironment(status->nics[*nic].socket)) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  if (status->virtual_time) personality(ADDR_NO_RANDOMIZE);  // as for a pair
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return Fail(fmt::format("{}: {}", command[0], std::strerror(errno)));
}

// `request` without the NIC's number.
int Gid(const SimulationDirectory& directory, const std::string& name_or_number, nlohmann::json request) {
  const auto status = FindOrReport(directory);
  if (!status.has_value()) return 1;
  const std::optional<size_t> nic = status->FindNic(name_or_number);
  if (!nic.has_value()) {
    return Fail(fmt::format("there is no NIC {}; `vireo status` lists them", name_or_number));
  }
  request["nic"] = *nic;
  const host::Result<nlohmann::ordered_json> answer = ControlSocket::Ask(directory.control_socket(), request);
  if (!answer.ok()) return Fail(answer.error().text);
  if (request["gid"] == "add")
    fmt::print("GID {} of {}\n", (*answer)["index"].get<unsigned>(), status->nics[*nic].name);
  if (request["gid"] != "list") return 0;
  for (const nlohmann::ordered_json& entry : *answer) {
    fmt::print("{:<3} {}\n", entry["index"].get<unsigned>(), entry["gid"].get<std::string>());
  }
  return 0;
}

// Prints a program's output, each line prefixed with `who`.
void PrintOutput(const char* who, const std::filesystem::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) fmt::print("{} | {}\n", who, line);
}

nlohmann::ordered_json ReadJson(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
}

// Waits until the server listens on a TCP port. A server that connects through the NIC itself does not: it counts as
// ready when it has been blocked for kSettled, at the earliest after kMinimum. Gives up after kTimeout.
void AwaitServer(ChildProcess& server) {
  constexpr auto kMinimum = seconds(1), kTimeout = seconds(15);
  constexpr auto kSettled = milliseconds(300);  // longer than the simulator's response time
  const auto begin = std::chrono::steady_clock::now();
  auto waits_since = begin;
  while (!server.IsListening()) {
    const auto now = std::chrono::steady_clock::now();
    if (!server.IsWaiting()) waits_since = now;
    if (now > begin + kTimeout || (now > begin + kMinimum && now > waits_since + kSettled)) return;
    if (server.Wait(milliseconds(10)).has_value() || Interruption() != 0) return;
  }
}

// As ChildProcess::Wait, but nothing if this command is interrupted meanwhile.
std::optional<int> WaitUnlessInterrupted(ChildProcess& child, milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::optional<int> ended;
  while (Interruption() == 0 && !(ended = child.Wait(milliseconds(50))).has_value()) {
    if (std::chrono::steady_clock::now() >= deadline) break;
  }
  return ended;
}

struct PairOptions {
  SimulationOptions simulation;
  std::string server, client;
  unsigned timeout_s = 600;
  // Set: directory for the programs' output ("server", "client"); it and the report are then printed only on failure.
  // Empty: they are printed.
  std::filesystem::path output{};
};

// Runs both programs on a new simulation and stops it when they have exited, or this command is interrupted or killed.
int Pair(const PairOptions& options) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo-pair-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return Fail(fmt::format("cannot create {}: {}; check TMPDIR", pattern, std::strerror(errno)));
  }
  const SimulationDirectory directory(pattern);
  struct Cleaner {
    std::filesystem::path path;
    ~Cleaner() {
      std::error_code failed;
      std::filesystem::remove_all(path, failed);
    }
  } const cleaner{pattern};
  OrphanGuard guard(pattern);

  std::string error;
  auto simulator = StartIn(directory, options.simulation, &error, &guard);
  if (!simulator.has_value()) return Fail(error);
  const auto status = directory.Find();
  if (!status.has_value()) return Fail("the simulator wrote no state that can be read");
  if (status->nics.size() < 2) return Fail("pair needs two NICs; use --nics 2 or more");
  if (status->nics[0].is_exported || status->nics[1].is_exported) {
    return Fail("pair runs its programs on NICs 0 and 1; export other NICs only");
  }

  const auto start = [&](const char* who, const std::string& text, size_t nic) {
    const int output = open((directory.path() / who).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    auto child = ChildProcess::Start({"/bin/sh", "-c", text},
                                     // In virtual time the simulation waits for programs: they need normal priority.
                                     {.environment = OverlayEnvironment(status->nics[nic].socket),
                                      .output = output,
                                      .own_session = true,
                                      .yields = !options.simulation.is_virtual_time(),
                                      .on_start = [&guard](pid_t leader) { guard.Add(leader); },
                                      .fixed_addresses = options.simulation.is_virtual_time()},
                                     &error);
    close(output);
    return child;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = begin + seconds(options.timeout_s);
  auto server = start("server", options.server, 0);
  if (!server.has_value()) return Fail(error);
  AwaitServer(*server);
  if (Interruption() != 0) return Fail("interrupted");
  auto client = start("client", options.client, 1);
  if (!client.has_value()) return Fail(error);

  bool progress = false;
  std::optional<int> client_end, server_end;
  while (!client_end.has_value() && std::chrono::steady_clock::now() < deadline) {
    client_end = WaitUnlessInterrupted(*client, seconds(1));
    if (Interruption() != 0) return Fail("interrupted: the simulation and both programs are stopped");
    if (simulator->Wait(milliseconds(0)).has_value()) break;
    if (!client_end.has_value() && isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} s …",
                 std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - begin).count());
      progress = true;
    }
  }
  if (progress) fmt::print(stderr, "\r          \r");
  if (client_end.has_value()) server_end = WaitUnlessInterrupted(*server, kEndTimeout);
  if (Interruption() != 0) return Fail("interrupted: the simulation and both programs are stopped");
  const auto simulator_end = simulator->Wait(milliseconds(0));
  client->Stop(seconds(1));
  server->Stop(seconds(1));
  if (!simulator_end.has_value()) simulator->Stop(kEndTimeout);
  const int simulator_status = simulator->Wait(milliseconds(0)).value_or(1);

  const bool is_good =
      !simulator_end.has_value() && simulator_status == 0 && client_end.value_or(1) == 0 && server_end.value_or(1) == 0;
  if (is_good && !options.output.empty()) {
    std::error_code failed;
    for (const char* who : {"server", "client"}) {
      std::filesystem::copy_file(directory.path() / who, options.output / who,
                                 std::filesystem::copy_options::overwrite_existing, failed);
      if (failed) return Fail(fmt::format("{}: {}", (options.output / who).string(), failed.message()));
    }
    return 0;
  }
  PrintOutput("server", directory.path() / "server");
  PrintOutput("client", directory.path() / "client");
  if (simulator_end.has_value()) {
    return Fail(fmt::format("the simulator exited with status {} before the programs:\n{}", *simulator_end,
                            directory.LogTail(kLogLines)));
  }
  if (!options.simulation.report.empty()) fmt::print("\n{}", ReportTable(ReadJson(options.simulation.report)));
  fmt::print("\n{}", directory.LogTail(kLogLines));
  if (simulator_status != 0) return Fail("the simulation failed: see its summary above");
  if (!client_end.has_value()) {
    return Fail(fmt::format("the client did not exit within {} s; --timeout sets a longer limit", options.timeout_s));
  }
  if (*client_end != 0) return Fail(fmt::format("the client exited with status {}", *client_end));
  if (!server_end.has_value()) {
    return Fail(
        fmt::format("the server did not exit within {} s after the client and was stopped", kEndTimeout.count()));
  }
  if (*server_end != 0) return Fail(fmt::format("the server exited with status {}", *server_end));
  return 0;
}

// The first line of a file that contains `text`, words separated by one space; empty if there is none.
std::string LineWith(const std::filesystem::path& file, const std::string& text) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(text) == std::string::npos) continue;
    std::istringstream words(line);
    std::string one_spaced;
    for (std::string word; words >> word;) one_spaced += (one_spaced.empty() ? "" : " ") + word;
    return one_spaced;
  }
  return "";
}

// `vireo demo`: two of the distribution's programs, unmodified, on NICs in lockstep.
int Demo() {
  struct Program {
    const char* name;
    const char* server;
    const char* client;
    const char* result;  // text that identifies the result line of the client's output
    const char* columns;
    const char* doc;
  };
  constexpr Program kPrograms[] = {
      {"pingpong", "ibv_rc_pingpong -g 1 -n 100", "ibv_rc_pingpong -g 1 -n 100 localhost", "bytes in", "",
       "100 messages of 4 KiB each way (SEND)"},
      {"write_bw", "ib_write_bw -F -n 30", "ib_write_bw -F -n 30 localhost", " 65536 ",
       " (bytes, messages; peak and average MiB/s and million messages/s)", "30 messages of 64 KiB (RDMA WRITE)"},
  };
  const std::filesystem::path files = "build/demo";
  std::error_code failed;
  std::filesystem::create_directories(files, failed);
  if (failed) return Fail(fmt::format("{}: {}", files.string(), failed.message()));
  fmt::print(
      "Debian's own programs, unmodified, on two NICs. Each NIC is the Verilated RTL in lockstep with the C++ model:\n"
      "every event at their boundary is compared, and the first difference in a bit or a cycle ends the run. The\n"
      "programs' clocks show simulated time, so they print the speed of the NIC.\n");
  const auto begin = std::chrono::steady_clock::now();
  for (const Program& program : kPrograms) {
    PairOptions options;
    options.server = program.server;
    options.client = program.client;
    options.simulation.device = "lockstep";
    options.simulation.call_cost_ns = "50";  // so that programs measure the NIC, not the simulation
    options.simulation.capture = files / fmt::format("{}.pcapng", program.name);
    options.simulation.report = files / fmt::format("{}.json", program.name);
    options.simulation.timeline = files / fmt::format("{}.html", program.name);
    options.output = files;
    fmt::print("\n$ vireo pair --device lockstep --virtual-time '{}' '{}'\n  {}\n", program.server, program.client,
               program.doc);
    std::fflush(stdout);
    if (const int code = Pair(options); code != 0) return code;
    fmt::print("  the program prints: {}\n", LineWith(files / "client", program.result) + program.columns);
    fmt::print("{}", ReportSummary(ReadJson(options.simulation.report)));
    for (const char* who : {"server", "client"}) {
      std::filesystem::rename(files / who, files / fmt::format("{}.{}.txt", program.name, who), failed);
    }
  }
  const auto took = std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("\nDone in {} s. In {}, of each run:\n", took, files.string());
  for (const Program& program : kPrograms) {
    fmt::print(
        "  {0}.pcapng  every frame, for Wireshark     {0}.html  timeline of messages, for a browser\n"
        "  {0}.json    per-message report             {0}.*.txt the programs' output\n",
        program.name);
  }
  fmt::print(
      "next: ./vireo pair --device rtl --report r.json 'rping -s -a 10.0.0.1 -C 5 -v' 'rping -c -a 10.0.0.1 -C 5 -v'\n"
      "      ./vireo pair --topology examples/topology.toml 'ibv_rc_pingpong -g 1' 'ibv_rc_pingpong -g 1 localhost'\n"
      "      ./vireo up, then in several terminals ./vireo exec --nic 0 -- ibv_devinfo -v\n");
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Unmodified RDMA programs on simulated NICs");
  app.require_subcommand(1);
  std::string directory_name;
  SimulationOptions up_options;
  std::string nic = "0";
  std::vector<std::string> command;
  PairOptions pair;

  const auto with_directory = [&](CLI::App* sub) {
    sub->add_option("--directory", directory_name,
                    "directory of the simulation's sockets and log (default: one per user)");
    return sub;
  };
  CLI::App* const up = with_directory(app.add_subcommand("up", "start a simulation in the background"));
  up_options.AddTo(*up);
  CLI::App* const down = with_directory(app.add_subcommand("down", "stop the simulation"));
  CLI::App* const status =
      with_directory(app.add_subcommand("status", "list the NICs of the simulation and what they dropped"));
  CLI::App* const exec =
      with_directory(app.add_subcommand("exec", "run a program on one NIC: exec --nic 1 -- ibv_devinfo -v"));
  exec->add_option("--nic", nic, "number (from 0) or name of the NIC")->capture_default_str();
  exec->add_option("command", command, "the program and its arguments, after --")->required();
  CLI::App* const gid = with_directory(
      app.add_subcommand("gid", "list and change the GIDs of a NIC: gid add --nic 0 192.0.2.7 --vlan 5"));
  gid->require_subcommand(1);
  std::string address;
  std::optional<unsigned> vlan;
  uint16_t index = 0;
  const auto of_nic = [&](CLI::App* sub) {
    sub->add_option("--nic", nic, "number (from 0) or name of the NIC")->capture_default_str();
    return sub->fallthrough();  // --directory before or after the verb
  };
  CLI::App* const gid_list = of_nic(gid->add_subcommand("list", "index and address of each GID"));
  CLI::App* const gid_add =
      of_nic(gid->add_subcommand("add", "add a GID at the first free index; programs see it at once"));
  gid_add->add_option("address", address, "IPv4 or IPv6 address of one host")->required();
  gid_add->add_option("--vlan", vlan, "frames from this GID have the tag of this VLAN")->check(CLI::Range(1, 4094));
  CLI::App* const gid_del =
      of_nic(gid->add_subcommand("del", "remove a GID; queue pairs that use it keep its address"));
  gid_del->add_option("index", index, "as `gid list` prints it")->required();
  CLI::App* const both = app.add_subcommand("pair",
                                            "run two programs, one per NIC, on a new simulation:\n"
                                            "pair 'ibv_rc_pingpong -g 1' 'ibv_rc_pingpong -g 1 localhost'");
  pair.simulation.AddTo(*both);
  both->add_option("--timeout", pair.timeout_s, "seconds until the programs are stopped")->capture_default_str();
  both->add_option("server", pair.server, "shell command on NIC 0")->required();
  both->add_option("client", pair.client, "shell command on NIC 1, started as soon as the server listens")->required();
  CLI::App* const demo = app.add_subcommand("demo", "run a pingpong and a bandwidth test in lockstep");
  CLI11_PARSE(app, argc, argv);

  const SimulationDirectory directory = directory_name.empty()
                                            ? SimulationDirectory::Default()
                                            : SimulationDirectory(std::filesystem::absolute(directory_name));
  if (down->parsed()) return Down(directory);
  if (status->parsed()) return Status(directory);
  if (gid_list->parsed()) return Gid(directory, nic, {{"gid", "list"}});
  if (gid_add->parsed()) {
    const std::string setting = vlan.has_value() ? fmt::format("{} vlan {}", address, *vlan) : address;
    return Gid(directory, nic, {{"gid", "add"}, {"setting", setting}});
  }
  if (gid_del->parsed()) return Gid(directory, nic, {{"gid", "del"}, {"index", index}});
  if (exec->parsed()) return Exec(directory, nic, std::move(command));
  // The others start processes in sessions of their own, which a terminal's signals do not reach.
  CatchInterruptions();
  const int code = demo->parsed() ? Demo() : up->parsed() ? Up(directory, up_options) : Pair(pair);
  if (Interruption() != 0) EndByInterruption();
  return code;
}

}  // namespace
}  // namespace vireo::sim

int main(int argc, char** argv) {
  try {
    return vireo::sim::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo: %s\n", error.what());
    return 1;
  }
}
