// SPDX-License-Identifier: Apache-2.0
// How the simulator waits for the next message of a program. Most programs poll and respond within microseconds, so the
// simulator polls briefly before it sleeps, which saves a sleep and a wake-up. Programs that poll on the simulator's
// own processor respond only while it sleeps; they are moved to another processor.
//
// After unsuccessful polls the interval between polls grows exponentially, up to kSkipMax waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "host/service/event_loop.h"

namespace vireo::sim {

class ProgramWait {
 public:
  static constexpr uint64_t kPollNs = 20'000;  // longest poll before it sleeps
  // A program that responds to a sleeping simulator within this time may have waited for its processor.
  static constexpr uint64_t kPromptNs = 200'000;
  static constexpr uint64_t kMoveIntervalNs = 10'000'000;  // shortest time between two moves
  static constexpr unsigned kSkipMax = 64;                 // most waits without a poll after unsuccessful polls

  // `programs` returns the attached processes. Both arguments must outlive this.
  ProgramWait(service::EventLoop& loop, std::function<std::vector<pid_t>()> programs)
      : loop_(loop), programs_(std::move(programs)) {}

  // Returns when a watched descriptor is readable, or after `ns` (EventLoop::kForeverNs: no limit).
  void Wait(uint64_t ns);
  uint64_t polls() const { return polls_; }  // waits that started with a poll

 private:
  bool Poll(uint64_t until_ns);
  void MovePrograms() const;

  service::EventLoop& loop_;
  const std::function<std::vector<pid_t>()> programs_;
  unsigned skip_ = 0;       // waits left without a poll
  unsigned next_skip_ = 0;  // the same after the next unsuccessful poll
  uint64_t polls_ = 0;
  uint64_t moved_ns_ = 0;
};

// Moves the process's first thread off this thread's processor, if its affinity permits another one. The affinity is
// restored, so the thread may return later. A concurrent sched_setaffinity by the process itself may be lost.
void MoveAway(pid_t process);

}  // namespace vireo::sim
