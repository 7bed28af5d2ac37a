// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/simulator_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sim/simulator/interruption.h"

namespace vireo::sim {
namespace {

constexpr std::chrono::seconds kEndTimeout(60);  // an RTL simulation finishes its step first

// Waits for the ready byte or the end of the pipe. False: timeout, or interrupted.
bool AwaitReady(int pipe, std::chrono::milliseconds timeout, bool* is_ready) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (Interruption() != 0) return false;
    constexpr int64_t kSlice = 100;  // a signal may arrive before the call
    pollfd entry{.fd = pipe, .events = POLLIN, .revents = 0};
    const int count = poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, kSlice)));
    if ((count < 0 && errno == EINTR) || (count == 0 && left > kSlice)) continue;
    if (count <= 0) return false;
    char byte = 0;
    *is_ready = read(pipe, &byte, 1) == 1;
    return true;
  }
}

}  // namespace

std::optional<ChildProcess> StartSimulator(const std::vector<std::string>& arguments, const ChildOptions& options,
                                           std::chrono::milliseconds timeout, std::string* error) {
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
  out.Close();  // so that the pipe ends when the simulator exits
  bool is_ready = false;
  if (!AwaitReady(in.get(), timeout, &is_ready)) {
    *error = Interruption() != 0
                 ? "interrupted"
                 : "the simulator was not ready within " + std::to_string(timeout.count()) + " ms and was terminated";
    simulator->Stop(std::chrono::seconds(1));
    return std::nullopt;
  }
  if (is_ready) return simulator;
  const auto ended = simulator->Wait(std::chrono::seconds(10));
  *error = ended.has_value() ? "the simulator ended with status " + std::to_string(*ended)
                             : "the simulator closed its ready pipe without becoming ready";
  return std::nullopt;
}

SimulatorProcess::SimulatorProcess(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_test_XXXXXX").string();
  std::array<int, 2> lifeline{};
  if (mkdtemp(pattern.data()) == nullptr || pipe2(lifeline.data(), O_CLOEXEC) != 0) {
    error_ = std::string("cannot create a directory or pipe for the simulator: ") + std::strerror(errno);
    return;
  }
  directory_ = pattern;
  lifeline_ = host::FileDescriptor(lifeline[1]);
  const host::FileDescriptor theirs(lifeline[0]);
  std::vector<std::string> command = {"--directory", directory_, "--lifeline", std::to_string(theirs.get())};
  command.insert(command.end(), arguments.begin(), arguments.end());
  process_ = StartSimulator(command, {.inherited = {theirs.get()}}, timeout, &error_);
  if (!process_.has_value()) std::fprintf(stderr, "%s\n", error_.c_str());
}

int SimulatorProcess::Stop() {
  if (!process_.has_value()) return -1;
  kill(process_->pid(), SIGTERM);
  const std::optional<int> ended = process_->Wait(kEndTimeout);
  process_.reset();
  return ended.value_or(-1);
}

SimulatorProcess::~SimulatorProcess() {
  Stop();
  std::error_code error;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
}

}  // namespace vireo::sim
