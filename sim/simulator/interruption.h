// SPDX-License-Identifier: Apache-2.0
// The end of a command together with all processes that it started.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "host/driver/file_descriptor.h"

namespace vireo::sim {

// From now on SIGINT, SIGTERM and SIGHUP do not end this process: Interruption() reports them, so that the command can
// stop what it started. Signals that are ignored, as SIGHUP under nohup, stay ignored.
void CatchInterruptions();
// The first such signal; 0: none.
int Interruption();
// Ends this process by the signal, as if it had not been caught, so that its parent sees the reason.
[[noreturn]] void EndByInterruption();

// A process that outlives this one, if this one is killed (SIGKILL): it then ends the process groups that it was told,
// by SIGTERM and after a second by SIGKILL, and removes a directory. It has a session of its own, so that signals of a
// terminal do not reach it. Destroyed before the end, it does nothing.
class OrphanGuard {
 public:
  // Call it while the process has one thread. Without effect if the system has no process or descriptor left.
  explicit OrphanGuard(const std::filesystem::path& directory);
  ~OrphanGuard();
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;

  // The leader of a process group (ChildOptions::own_session).
  void Add(pid_t leader);

 private:
  host::FileDescriptor pipe_;
  pid_t pid_ = -1;
};

}  // namespace vireo::sim
