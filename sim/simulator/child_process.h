// SPDX-License-Identifier: Apache-2.0
// A program that runs beside this one: started with an environment of its own, waited for, ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  // added to this process's own
  int output = -1;               // file descriptor for its stdout and stderr; -1: this process's
  std::vector<int> inherited{};  // file descriptors that it gets although they are closed on exec
  // Of a session of its own: it outlives the terminal, and Stop() ends it with all that it started.
  bool own_session = false;
  bool ends_with_parent = false;  // is killed when the thread that started it ends
  // Runs only when nobody else wants the processor: programs that spin do not starve the simulator.
  bool yields = false;
  // Its memory lies at the same addresses in every run, so that it and its device do the same (personality(2)).
  bool fixed_addresses = false;
};

// Ends the process, if it runs still, when it goes.
class ChildProcess {
 public:
  // The program is looked up in PATH. Nothing, and why, if it could not be started.
  static std::optional<ChildProcess> Start(const std::vector<std::string>& command, const ChildOptions& options,
                                           std::string* error);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Its end as shells tell it: exit status, or 128 + signal. None: it runs still when `patience` is over.
  std::optional<int> Wait(std::chrono::milliseconds patience);
  // SIGTERM, and SIGKILL if that does not help within `patience`.
  void Stop(std::chrono::milliseconds patience);
  // It is nobody's child any more: it goes on when this object goes.
  void Release() { pid_ = -1; }

  // One of its TCP sockets, or of what it started, listens: a server to connect to.
  bool IsListening() const;
  // Neither it nor what it started runs, or wants to: all wait for something.
  bool IsWaiting() const;

 private:
  ChildProcess(pid_t pid, bool own_session) : pid_(pid), own_session_(own_session) {}
  pid_t pid_ = -1;
  bool own_session_ = false;
  std::optional<int> ended_{};
};

}  // namespace vireo::sim
