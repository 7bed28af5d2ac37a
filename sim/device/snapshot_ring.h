// SPDX-License-Identifier: Apache-2.0
// A way back in time for a simulation: now and then the process forks, and the copy sleeps. When something goes wrong,
// the copy from before is woken, and goes the same way again, this time looking closely (with a waveform). Until then a
// snapshot costs a fork and the pages that the simulation touches afterwards.
//
// The simulation must be deterministic and have one thread. A woken copy must not disturb the original: everything that
// the process had open for writing at the snapshot, but for standard output and error, leads to /dev/null in it; what
// it writes of its own it opens after waking. It ends by Finish and runs no destructors or exit handlers.
//
//   if (ring.Take(cycle)) StartTrace();          // every so many cycles: true in a copy that was woken
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

  // False: the original goes on (also if the system cannot fork: then there is no snapshot). True: this is a copy, and
  // Replay has woken it. In a replay it does nothing.
  bool Take(uint64_t when);

  // Wakes the youngest snapshot taken at `when` or before, else the oldest there is, and waits until it has called
  // Finish. False: there is no snapshot, or it did not get there. `*from` is the time of the snapshot.
  bool Replay(uint64_t when, uint64_t* from);

  bool is_replay() const { return is_replay_; }
  // Ends a replay.
  [[noreturn]] void Finish() const;

 private:
  struct Snapshot {
    uint64_t when;
    pid_t process;
    int wake;  // our end of the line on which it sleeps
  };
  static void Forget(const Snapshot& snapshot);

  const size_t keep_;
  bool is_replay_ = false;
  std::deque<Snapshot> snapshots_;  // oldest first
};

}  // namespace vireo::sim
