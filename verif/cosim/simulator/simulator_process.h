// SPDX-License-Identifier: Apache-2.0
// vireo_simulator for a test, in a temporary directory of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "verif/cosim/simulator/child_process.h"

namespace vireo::verif {

// Ends with the object, or with the test's process. What it writes goes where the test's output does.
class SimulatorProcess {
 public:
  // Returns when programs can use the NICs, or it failed: is_ready().
  explicit SimulatorProcess(const std::vector<std::string>& arguments = {});
  ~SimulatorProcess();
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;

  bool is_ready() const { return is_ready_; }
  std::string socket(size_t nic) const { return directory_ + "/nic" + std::to_string(nic) + ".sock"; }
  const std::string& directory() const { return directory_; }
  // SIGTERM. The exit status, 128 + signal, or -1: it did not end, or does not run.
  int Stop();

 private:
  std::string directory_;
  host::FileDescriptor lifeline_;
  std::optional<ChildProcess> process_;
  bool is_ready_ = false;
};

}  // namespace vireo::verif
