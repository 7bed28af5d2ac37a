// SPDX-License-Identifier: Apache-2.0
// Programs of a test that use simulated NICs. Every wait ends after kPatienceSeconds.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verif/cosim/simulator/child_process.h"

namespace vireo::verif {

inline constexpr int kPatienceSeconds = 120;

// A program that runs. One that still does at the end is killed.
class Program {
 public:
  // `environment` is added to that of the test. Finds the program as a shell does. One that yields runs when nobody
  // else wants the processor: while it polls it does not starve the simulator.
  Program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
          bool yields = true);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return process_.has_value() ? process_->pid() : -1; }
  // Its exit code, or 128 + signal; -1: it did not end in time.
  int Wait();
  // True: it ended within so many milliseconds.
  bool HasEnded(int milliseconds);
  // What it has written to stdout and stderr.
  std::string Output() const;

 private:
  int output_ = -1;
  std::optional<ChildProcess> process_;
};

// A TCP port that nobody used a moment ago.
unsigned FreePort();
// Until somebody listens there; false: `program` ended before, or nobody does in time.
bool AwaitListener(unsigned port, Program& program);
// Until `program` has written `text`; false as above.
bool AwaitOutput(const std::string& text, Program& program);

}  // namespace vireo::verif
