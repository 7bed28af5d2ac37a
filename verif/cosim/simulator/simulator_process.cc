// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/simulator/simulator_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace vireo::verif {
namespace {

constexpr std::chrono::seconds kEndPatience(60);  // a simulation of RTL ends with its step

}  // namespace

SimulatorProcess::SimulatorProcess(const std::vector<std::string>& arguments) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_test_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return;
  directory_ = pattern;
  std::array<int, 2> lifeline{}, ready{};
  if (pipe2(lifeline.data(), O_CLOEXEC) != 0 || pipe2(ready.data(), O_CLOEXEC) != 0) return;
  lifeline_ = host::FileDescriptor(lifeline[1]);
  const host::FileDescriptor theirs(lifeline[0]), ready_in(ready[0]);
  host::FileDescriptor ready_out(ready[1]);
  std::vector<std::string> command = {VIREO_SIMULATOR,
                                      "--directory",
                                      directory_,
                                      "--lifeline",
                                      std::to_string(theirs.get()),
                                      "--ready",
                                      std::to_string(ready_out.get())};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::string error;
  process_ = ChildProcess::Start(command, {.inherited = {theirs.get(), ready_out.get()}}, &error);
  if (!process_.has_value()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return;
  }
  ready_out.Close();
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(ready_in.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  is_ready_ = got == 1;
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

}  // namespace vireo::verif
