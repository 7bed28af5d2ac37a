// SPDX-License-Identifier: Apache-2.0
// Processes of a test: the simulator with its NICs, and programs that talk to them. Every wait ends after
// kPatienceSeconds.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vireo::verif {

inline constexpr int kPatienceSeconds = 120;

// A program that runs. One that still does at the end is killed.
class Program {
 public:
  // `environment` is added to that of the test. Finds the program as a shell does.
  Program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  // Its exit code; -1: it did not end in time, or by a signal.
  int Wait();
  // True: it ended within so many milliseconds.
  bool HasEnded(int milliseconds) const;
  // What it has written to stdout and stderr.
  std::string Output() const;

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int output_ = -1;
};

// vireo_simulator with two NICs; ends with the object, or with the test.
class SimulatorProcess {
 public:
  explicit SimulatorProcess(const std::vector<std::string>& options = {});
  ~SimulatorProcess();
  SimulatorProcess(const SimulatorProcess&) = delete;
  SimulatorProcess& operator=(const SimulatorProcess&) = delete;

  bool is_ready() const { return is_ready_; }
  std::string socket(size_t nic) const { return directory_ + "/nic" + std::to_string(nic) + ".sock"; }

 private:
  std::string directory_;
  int lifeline_ = -1;
  bool is_ready_ = false;
  std::unique_ptr<Program> program_;
};

// A TCP port that nobody used a moment ago.
unsigned FreePort();
// Until somebody listens there; false: `program` ended before, or nobody does in time.
bool AwaitListener(unsigned port, const Program& program);

}  // namespace vireo::verif
