// SPDX-License-Identifier: Apache-2.0
// Starts vireo_simulator and waits until programs can use its NICs. For commands, and for tests (in a temporary
// directory each).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "sim/simulator/child_process.h"

namespace vireo::sim {

// Default startup timeout: an RTL NIC takes seconds to initialize its tables, more on a busy machine.
inline constexpr std::chrono::seconds kReadyTimeout(120);

// Starts a simulator with these command line arguments and returns when it is ready. nullopt and *error: it could not
// be started, exited before it was ready (its output has the reason), or was not ready after `timeout` and was
// terminated.
std::optional<ChildProcess> StartSimulator(const std::vector<std::string>& arguments, const ChildOptions& options,
                                           std::chrono::milliseconds timeout, std::string* error);

// A simulator for tests. Ends with the object, or with the test's process. Shares the test's stdout and stderr.
class SimulatorProcess {
 public:
  // Returns when programs can use the NICs or the start failed: see is_ready().
  explicit SimulatorProcess(const std::vector<std::string>& arguments = {},
                            std::chrono::milliseconds timeout = kReadyTimeout);
  ~SimulatorProcess();
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;

  bool is_ready() const { return process_.has_value(); }
  const std::string& error() const { return error_; }  // why it is not ready; else empty
  pid_t pid() const { return process_.has_value() ? process_->pid() : -1; }
  std::string socket(size_t nic) const { return directory_ + "/nic" + std::to_string(nic) + ".sock"; }
  const std::string& directory() const { return directory_; }
  // Sends SIGTERM. Returns the exit status, 128 + signal, or -1: it did not exit, or was not running.
  int Stop();

 private:
  std::string directory_;
  host::FileDescriptor lifeline_;
  std::optional<ChildProcess> process_;
  std::string error_;
};

}  // namespace vireo::sim
