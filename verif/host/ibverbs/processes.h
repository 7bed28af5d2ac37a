// SPDX-License-Identifier: Apache-2.0
// Runs programs on simulated NICs for tests. All waits time out after kTimeoutSeconds.
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

inline constexpr int kTimeoutSeconds = 120;

// Environment variables of a program, in addition to the test's own.
using Environment = std::map<std::string, std::string>;
// Environment of a program that uses the NICs behind these sockets, separated by ':' (cosim/simulator/overlay.h), with
// `more`.
Environment Seeing(const std::string& sockets, const Environment& more = {});

// A running program. The destructor kills it.
class Program {
 public:
  // Searches PATH. With `yields` it runs at idle priority, so that its polling does not starve the simulator.
  Program(const std::vector<std::string>& command, const Environment& environment, bool yields = true);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return process_.has_value() ? process_->pid() : -1; }
  // Waits for its exit code, or 128 + signal; -1: timeout.
  int Wait();
  // True: it exited within `milliseconds`.
  bool HasEnded(int milliseconds);
  // SIGKILL: no cleanup. Wait() collects its exit.
  void Kill();
  // Its stdout and stderr so far.
  std::string Output() const;

 private:
  int output_ = -1;
  std::optional<ChildProcess> process_;
};

// In one of the directories of PATH.
bool IsInstalled(const std::string& program);

// Splits a command line without quotes into words.
std::vector<std::string> WordsOf(const std::string& command);

// A server on NIC 0 and a client on NIC 1 that connect over TCP: the command with the port appended, and for the
// client, which starts when the server listens, also the address.
struct TcpPair {
  TcpPair(const SimulatorProcess& simulator, std::string line, const Environment& more = {}, bool yields = true);
  // Expects both to exit successfully; else the test fails with their output.
  void ExpectGoodEnd();

  const std::string command;
  const unsigned port;
  Program server;
  std::unique_ptr<Program> client;  // null: the server does not listen; the test has failed
};

// Resources of a process.
struct Footprint {
  size_t descriptors = 0, threads = 0, mappings = 0;
  size_t resident_kib = 0;
};
// All zero if there is no such process.
Footprint FootprintOf(pid_t pid);

// Waits until the simulator has closed all but `descriptors` descriptors, because it may detect a program's exit with
// delay. On timeout the test fails.
Footprint AwaitQuiet(const SimulatorProcess& simulator, size_t descriptors);

// VIREO_PROGRAMS_ALL=1 enables programs that take too long on RTL for the usual run; and the message if it is not set.
bool AreAllProgramsWanted();
inline constexpr const char* kOnlyIfAll = "too slow on RTL for the usual run: VIREO_PROGRAMS_ALL=1 enables it";

// Kills one of two perftest programs in the middle of traffic and expects the other one to exit with an error status.
// `command`: with messages of 4096 bytes.
void ExpectPeerIsNotified(const SimulatorProcess& simulator, const std::string& command, bool server_dies);

// An unused TCP port.
unsigned FreePort();
// Waits until the port is listening; false: `program` exited, or timeout.
bool AwaitListener(unsigned port, Program& program);
// Waits until `program` has written `text`; false as above.
bool AwaitOutput(const std::string& text, Program& program);

}  // namespace vireo::sim
