// SPDX-License-Identifier: Apache-2.0
// Programs of a test that use simulated NICs. Every wait ends after kPatienceSeconds.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulator/child_process.h"
#include "sim/simulator/simulator_process.h"

namespace vireo::sim {

inline constexpr int kPatienceSeconds = 120;

// What a program's environment has beside the test's own.
using Environment = std::map<std::string, std::string>;
// Of one that sees the NICs behind these sockets, separated by ':' (cosim/simulator/overlay.h), with `more`.
Environment Seeing(const std::string& sockets, const Environment& more = {});

// A program that runs. One that still does at the end is killed.
class Program {
 public:
  // Finds the program as a shell does. One that yields runs when nobody else wants the processor: while it polls it
  // does not starve the simulator.
  Program(const std::vector<std::string>& command, const Environment& environment, bool yields = true);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return process_.has_value() ? process_->pid() : -1; }
  // Its exit code, or 128 + signal; -1: it did not end in time.
  int Wait();
  // True: it ended within so many milliseconds.
  bool HasEnded(int milliseconds);
  // SIGKILL: it can say good-bye to nobody. Its end is Wait()'s.
  void Kill();
  // What it has written to stdout and stderr.
  std::string Output() const;

 private:
  int output_ = -1;
  std::optional<ChildProcess> process_;
};

// The words of a command line without quotes.
std::vector<std::string> WordsOf(const std::string& command);

// A program on NIC 0 and one on NIC 1 that meet over TCP: `line` with the port behind it, and for the client, which
// starts when the server listens, its address too.
struct TcpPair {
  TcpPair(const SimulatorProcess& simulator, std::string line, const Environment& more = {}, bool yields = true);
  // Both ended, and well; if not, the test fails with what they wrote.
  void ExpectGoodEnd();

  const std::string command;
  const unsigned port;
  Program server;
  std::unique_ptr<Program> client;  // null: the server does not listen, and the test has failed
};

// What the kernel has for a process.
struct Footprint {
  size_t descriptors = 0, threads = 0, mappings = 0;
  size_t resident_kib = 0;
};
// Zeros: there is no such process.
Footprint FootprintOf(pid_t pid);

// When it has let go of all but so many descriptors: of a program's end it may learn a little later than we do. If it
// does not in time, the test fails.
Footprint AwaitQuiet(const SimulatorProcess& simulator, size_t descriptors);

// Whether the environment asks for the programs that the test suite has no time for, on RTL; and what to say if not.
bool AreAllProgramsWanted();
inline constexpr const char* kOnlyIfAll = "not in the usual run, for its time on RTL: VIREO_PROGRAMS_ALL=1 runs it";

// Of two programs of perftest that are in the middle of traffic one dies: the other ends too, and says why. `command`:
// of messages of 4096 bytes.
void ExpectTheOtherIsTold(const SimulatorProcess& simulator, const std::string& command, bool server_dies);

// A TCP port that nobody used a moment ago.
unsigned FreePort();
// Until somebody listens there; false: `program` ended before, or nobody does in time.
bool AwaitListener(unsigned port, Program& program);
// Until `program` has written `text`; false as above.
bool AwaitOutput(const std::string& text, Program& program);

}  // namespace vireo::sim
