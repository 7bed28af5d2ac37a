// SPDX-License-Identifier: Apache-2.0
// A child process: started with extra environment variables, waited for, terminated.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment{};  // added to this process's own
  int output = -1;               // file descriptor for its stdout and stderr; -1: this process's
  std::vector<int> inherited{};  // file descriptors to inherit despite O_CLOEXEC
  // Runs in a new session: it outlives the terminal, and Stop() kills the whole process group.
  bool own_session = false;
  bool ends_with_parent = false;  // killed when the thread that started it exits
  // SCHED_IDLE: spinning programs do not starve the simulator.
  bool yields = false;
  std::function<void(pid_t)> on_start{};  // called when it has been started
  // No address randomization, so that runs are reproducible (personality(2)).
  bool fixed_addresses = false;
};

// The destructor terminates the process if it still runs.
class ChildProcess {
 public:
  // Searches the program in PATH. Returns nullopt and sets *error if it could not be started.
  static std::optional<ChildProcess> Start(const std::vector<std::string>& command, const ChildOptions& options,
                                           std::string* error);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Exit status, or 128 + signal number, as shells report it. nullopt: still running after `timeout`.
  std::optional<int> Wait(std::chrono::milliseconds timeout);
  // Sends SIGTERM, then SIGKILL if the process has not exited within `timeout`.
  void Stop(std::chrono::milliseconds timeout);
  // Detaches: the process keeps running when this object is destroyed.
  void Release() { pid_ = -1; }

  // The process or a descendant has a listening TCP socket.
  bool IsListening() const;
  // The process and all its descendants are blocked (state S).
  bool IsWaiting() const;

 private:
  ChildProcess(pid_t pid, bool own_session) : pid_(pid), own_session_(own_session) {}
  pid_t pid_ = -1;
  bool own_session_ = false;
  std::optional<int> ended_{};
};

}  // namespace vireo::sim
