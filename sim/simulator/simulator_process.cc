// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/simulator_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace vireo::sim {
namespace {

constexpr std::chrono::seconds kEndPatience(60);  // a simulation of RTL ends with its step

// Waits for the byte that says "ready", or for the end of the pipe. False: neither came in time.
bool AwaitReady(int pipe, std::chrono::milliseconds patience, bool* is_ready) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd entry{.fd = pipe, .events = POLLIN, .revents = 0};
    const int count = poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    char byte = 0;
    *is_ready = read(pipe, &byte, 1) == 1;
    return true;
  }
}

}  // namespace

std::optional<ChildProcess> StartSimulator(const std::vector<std::string>& arguments, const ChildOptions& options,
                                           std::chrono::milliseconds patience, std::string* error) {
  std::array<int, 2> ready{};
  if (pipe2(ready.data(), O_CLOEXEC) != 0) {
    *error = std::strerror(errno);
    return std::nullopt;
  }
  const host::FileDescriptor in(ready[0]);
  host::FileDescriptor out(ready[1]);
  std::vector<std::string> command = {VIREO_SIMULATOR, "--ready", std::to_string(out.get())};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildOptions with_pipe = options;
  with_pipe.inherited.push_back(out.get());
  auto simulator = ChildProcess::Start(command, with_pipe, error);
  if (!simulator.has_value()) return std::nullopt;
  out.Close();  // so that its end is ours
  bool is_ready = false;
  if (!AwaitReady(in.get(), patience, &is_ready)) {
    *error = "the simulator was not ready within " + std::to_string(patience.count()) + " ms, and was ended";
    simulator->Stop(std::chrono::seconds(1));
    return std::nullopt;
  }
  if (is_ready) return simulator;
  const auto ended = simulator->Wait(std::chrono::seconds(10));
  *error = ended.has_value() ? "the simulator ended with status " + std::to_string(*ended)
                             : "the simulator closed its pipe and did not become ready";
  return std::nullopt;
}

SimulatorProcess::SimulatorProcess(const std::vector<std::string>& arguments, std::chrono::milliseconds patience) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_test_XXXXXX").string();
  std::array<int, 2> lifeline{};
  if (mkdtemp(pattern.data()) == nullptr || pipe2(lifeline.data(), O_CLOEXEC) != 0) {
    error_ = "no directory or pipe for a simulator";
    return;
  }
  directory_ = pattern;
  lifeline_ = host::FileDescriptor(lifeline[1]);
  const host::FileDescriptor theirs(lifeline[0]);
  std::vector<std::string> command = {"--directory", directory_, "--lifeline", std::to_string(theirs.get())};
  command.insert(command.end(), arguments.begin(), arguments.end());
  process_ = StartSimulator(command, {.inherited = {theirs.get()}}, patience, &error_);
  if (!process_.has_value()) std::fprintf(stderr, "%s\n", error_.c_str());
}

int SimulatorProcess::Stop() {
  if (!process_.has_value()) return -1;
  kill(process_->pid(), SIGTERM);
  const std::optional<int> ended = process_->Wait(kEndPatience);
  process_.reset();
  return ended.value_or(-1);
}

SimulatorProcess::~SimulatorProcess() {
  Stop();
  std::error_code error;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
}

}  // namespace vireo::sim
