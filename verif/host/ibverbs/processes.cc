// SPDX-License-Identifier: Apache-2.0
#include "verif/host/ibverbs/processes.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/simulator/overlay.h"

namespace vireo::sim {
namespace {

constexpr int kLookMs = 10;  // poll interval: there is no notification of a listening port or a growing file

}  // namespace

Environment Seeing(const std::string& sockets, const Environment& more) {
  Environment environment = more;
  for (const auto& [name, value] : OverlayEnvironment(sockets)) environment.emplace(name, value);
  return environment;
}

Program::Program(const std::vector<std::string>& command, const Environment& environment, bool yields)
    : output_(memfd_create("output", MFD_CLOEXEC)) {
  std::string error;
  process_ = ChildProcess::Start(command,
                                 {.environment = {environment.begin(), environment.end()},
                                  .output = output_,
                                  .own_session = true,
                                  .ends_with_parent = true,
                                  .yields = yields},
                                 &error);
  if (!process_.has_value()) ADD_FAILURE() << error;
}

Program::~Program() {
  if (process_.has_value()) process_->Stop(std::chrono::milliseconds(0));
  close(output_);
}

bool Program::HasEnded(int milliseconds) {
  return !process_.has_value() || process_->Wait(std::chrono::milliseconds(milliseconds)).has_value();
}

int Program::Wait() {
  if (!process_.has_value()) return -1;
  return process_->Wait(std::chrono::seconds(kTimeoutSeconds)).value_or(-1);
}

void Program::Kill() {
  if (process_.has_value()) kill(process_->pid(), SIGKILL);
}

std::string Program::Output() const {
  std::string text(static_cast<size_t>(lseek(output_, 0, SEEK_END)), '\0');
  const ssize_t count = pread(output_, text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

bool IsInstalled(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::vector<std::string> WordsOf(const std::string& command) {
  std::istringstream text(command);
  return {std::istream_iterator<std::string>(text), {}};
}

TcpPair::TcpPair(const SimulatorProcess& simulator, std::string line, const Environment& more, bool yields)
    : command(std::move(line)),
      port(FreePort()),
      server(WordsOf(command + " -p " + std::to_string(port)), Seeing(simulator.socket(0), more), yields) {
  if (!AwaitListener(port, server)) {
    ADD_FAILURE() << command << ": the server does not listen\n" << server.Output();
    return;
  }
  client = std::make_unique<Program>(WordsOf(command + " -p " + std::to_string(port) + " 127.0.0.1"),
                                     Seeing(simulator.socket(1), more), yields);
}

void TcpPair::ExpectGoodEnd() {
  if (client == nullptr) return;
  EXPECT_EQ(client->Wait(), 0) << command << ", the client\n" << client->Output();
  EXPECT_EQ(server.Wait(), 0) << command << ", the server\n" << server.Output();
}

Footprint FootprintOf(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/";
  std::error_code error;
  Footprint found;
  const auto descriptors = std::filesystem::directory_iterator(directory + "fd", error);
  if (!error) found.descriptors = static_cast<size_t>(std::distance(begin(descriptors), end(descriptors)));
  std::ifstream maps(directory + "maps"), status(directory + "status");
  for (std::string line; std::getline(maps, line);) ++found.mappings;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name == "Threads:") fields >> found.threads;
    if (name == "VmRSS:") fields >> found.resident_kib;
  }
  return found;
}

Footprint AwaitQuiet(const SimulatorProcess& simulator, size_t descriptors) {
  constexpr int kLooks = 1000, kLookUs = 10'000;
  Footprint now;
  for (int looks = 0; looks < kLooks; ++looks) {
    now = FootprintOf(simulator.pid());
    if (now.descriptors <= descriptors) break;
    usleep(kLookUs);
  }
  EXPECT_EQ(now.descriptors, descriptors);
  return now;
}

bool AreAllProgramsWanted() {
  const char* const all = std::getenv("VIREO_PROGRAMS_ALL");
  return all != nullptr && std::string_view(all) == "1";
}

void ExpectPeerIsNotified(const SimulatorProcess& simulator, const std::string& command, bool server_dies) {
  SCOPED_TRACE(server_dies ? "the server dies" : "the client dies");
  // Prints a line per second of traffic. Normal priority, so that the other one detects the failure on a busy machine.
  TcpPair pair(simulator, "stdbuf -oL " + command + " --run_infinitely -D 1", {}, /*yields=*/false);
  ASSERT_NE(pair.client, nullptr);
  ASSERT_TRUE(AwaitOutput(" 4096 ", *pair.client)) << pair.client->Output();
  Program& victim = server_dies ? pair.server : *pair.client;
  Program& other = server_dies ? *pair.client : pair.server;
  victim.Kill();
  EXPECT_EQ(victim.Wait(), 128 + SIGKILL);
  EXPECT_GT(other.Wait(), 0);
  // IBV_WC_RETRY_EXC_ERR; or IBV_WC_REM_OP_ERR, if the memory was freed before the connection.
  const std::string output = other.Output();
  EXPECT_TRUE(output.find("Failed status 12") != std::string::npos ||
              output.find("Failed status 11") != std::string::npos)
      << output;
}

unsigned FreePort() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(socket_fd);
  return ntohs(address.sin_port);
}

bool AwaitListener(unsigned port, Program& program) {
  char wanted[16];
  static_cast<void>(std::snprintf(wanted, sizeof wanted, ":%04X ", port));
  for (int looks = 0; looks < kTimeoutSeconds * 1000 / kLookMs; ++looks) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream file(table);
      for (std::string line; std::getline(file, line);) {
        const size_t local = line.find(wanted);
        if (local != std::string::npos && line.find(" 0A ", local) != std::string::npos) return true;
      }
    }
    if (program.HasEnded(kLookMs)) return false;
  }
  return false;
}

bool AwaitOutput(const std::string& text, Program& program) {
  for (int looks = 0; looks < kTimeoutSeconds * 1000 / kLookMs; ++looks) {
    const bool has_ended = program.HasEnded(kLookMs);
    if (program.Output().find(text) != std::string::npos) return true;
    if (has_ended) return false;
  }
  return false;
}

}  // namespace vireo::sim
