// SPDX-License-Identifier: Apache-2.0
// Starts vireo_simulator and waits until programs can use its NICs: for commands, and for tests, each in a temporary
// directory of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "sim/simulator/child_process.h"

namespace vireo::sim {

// How long a simulator may take until it is ready: a NIC in RTL takes seconds to build its tables, and the machine may
// have more to do.
inline constexpr std::chrono::seconds kReadyPatience(120);

// A simulator that is ready, started with these arguments of its command line. Nothing, and why: it cannot be started,
// it ended before it was ready (what it wrote says why), or was not ready when `patience` was over; then it was ended.
std::optional<ChildProcess> StartSimulator(const std::vector<std::string>& arguments, const ChildOptions& options,
                                           std::chrono::milliseconds patience, std::string* error);

// Ends with the object, or with the test's process. What it writes goes where the test's output does.
class SimulatorProcess {
 public:
  // Returns when programs can use the NICs, or it failed: is_ready().
  explicit SimulatorProcess(const std::vector<std::string>& arguments = {},
                            std::chrono::milliseconds patience = kReadyPatience);
  ~SimulatorProcess();
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;

  bool is_ready() const { return process_.has_value(); }
  const std::string& error() const { return error_; }  // why it is not ready
  pid_t pid() const { return process_.has_value() ? process_->pid() : -1; }
  std::string socket(size_t nic) const { return directory_ + "/nic" + std::to_string(nic) + ".sock"; }
  const std::string& directory() const { return directory_; }
  // SIGTERM. The exit status, 128 + signal, or -1: it did not end, or does not run.
  int Stop();

 private:
  std::string directory_;
  host::FileDescriptor lifeline_;
  std::optional<ChildProcess> process_;
  std::string error_;
};

}  // namespace vireo::sim
