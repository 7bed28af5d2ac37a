// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a simulation by fork: at intervals the process forks, and the copy sleeps. After a failure an earlier
// copy is woken and runs the same cycles again, with a waveform. Until then a snapshot costs a fork and the pages that
// the simulation touches afterwards.
//
// The simulation must be deterministic and single-threaded. A woken copy must not disturb the original: every file that
// the process had open for writing at the snapshot, except standard output and error, is redirected to /dev/null in it;
// it opens its own files after waking. It ends by Finish and runs no destructors or exit handlers.
//
//   if (ring.Take(cycle)) StartTrace();          // at intervals: true in a woken copy
//   …
//   if (mismatch) {
//     if (ring.is_replay()) { StopTrace(); ring.Finish(); }
//     ring.Replay(cycle - 10'000);               // waits for the copy to finish
//   }
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace vireo::sim {

class SnapshotRing {
 public:
  // Keeps the last `keep` snapshots, 1 or more.
  explicit SnapshotRing(size_t keep) : keep_(keep) {}
  ~SnapshotRing();
  SnapshotRing(const SnapshotRing&) = delete;
  SnapshotRing& operator=(const SnapshotRing&) = delete;

  // False: the original continues (also if fork fails: then there is no snapshot). True: this is a copy that Replay has
  // woken. No effect in a replay.
  bool Take(uint64_t when);

  // Wakes the latest snapshot taken at `when` or before, else the oldest, and waits until it has called Finish. False:
  // no snapshot, or it did not call Finish. `*from` is the time of the snapshot.
  bool Replay(uint64_t when, uint64_t* from);

  bool is_replay() const { return is_replay_; }
  // Ends a replay.
  [[noreturn]] void Finish() const;

 private:
  struct Snapshot {
    uint64_t when;
    pid_t process;
    int wake;  // our end of the socket on which it waits
  };
  static void Forget(const Snapshot& snapshot);

  const size_t keep_;
  bool is_replay_ = false;
  std::deque<Snapshot> snapshots_;  // oldest first
};

}  // namespace vireo::sim
