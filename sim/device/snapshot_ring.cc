// SPDX-License-Identifier: Apache-2.0
#include "sim/device/snapshot_ring.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace vireo::sim {
namespace {

constexpr char kGo = 'g';

// Redirects descriptors that share a file position with the original: writes through them would go to the original's
// file.
void SilenceInheritedFiles() {
  std::vector<int> files;
  if (DIR* directory = opendir("/proc/self/fd"); directory != nullptr) {
    while (const dirent* entry = readdir(directory)) {
      const int file = std::atoi(entry->d_name);
      struct stat status {};
      if (file > STDERR_FILENO && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
          (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY) {
        files.push_back(file);
      }
    }
    closedir(directory);
  }
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int file : files) dup2(null, file);
  close(null);
}

void WaitFor(pid_t process, int* status) {
  while (waitpid(process, status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

SnapshotRing::~SnapshotRing() {
  for (const Snapshot& snapshot : snapshots_) Forget(snapshot);
}

void SnapshotRing::Forget(const Snapshot& snapshot) {
  close(snapshot.wake);
  kill(snapshot.process, SIGKILL);
  int status = 0;
  WaitFor(snapshot.process, &status);
}

bool SnapshotRing::Take(uint64_t when) {
  if (is_replay_) return false;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  std::fflush(nullptr);  // else a copy would write buffered output again
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    return false;
  }
  if (process != 0) {
    close(ends[0]);
    if (snapshots_.size() == keep_) {
      Forget(snapshots_.front());
      snapshots_.pop_front();
    }
    snapshots_.push_back({when, process, ends[1]});
    return false;
  }
  // The copy. Closes its siblings' sockets, so that each ends with the original.
  close(ends[1]);
  for (const Snapshot& snapshot : snapshots_) close(snapshot.wake);
  snapshots_.clear();
  is_replay_ = true;
  char order = 0;
  ssize_t got = 0;
  while ((got = read(ends[0], &order, 1)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (got != 1 || order != kGo) _exit(0);  // the original ended
  SilenceInheritedFiles();
  return true;
}

bool SnapshotRing::Replay(uint64_t when, uint64_t* from) {
  if (snapshots_.empty()) return false;
  size_t chosen = 0;
  for (size_t i = 0; i < snapshots_.size(); ++i) {
    if (snapshots_[i].when <= when) chosen = i;
  }
  const Snapshot snapshot = snapshots_[chosen];
  snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(chosen));
  *from = snapshot.when;
  std::fflush(nullptr);
  const bool woken = send(snapshot.wake, &kGo, 1, MSG_NOSIGNAL) == 1;  // the copy may be dead
  close(snapshot.wake);
  int status = 0;
  WaitFor(snapshot.process, &status);
  return woken && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void SnapshotRing::Finish() const {
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace vireo::sim
