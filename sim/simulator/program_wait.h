// SPDX-License-Identifier: Apache-2.0
// How the simulator waits for what programs say next. Most of them poll, and answer within microseconds: so it looks
// for a moment before it sleeps, which saves going to sleep and being woken. And programs that poll on the simulator's
// own processor, which they get whenever it sleeps, answer only then: those are moved to another one.
//
// Looking is for programs that answer. Where they do not, it soon gives up, and looks again now and then.
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
  static constexpr uint64_t kLookNs = 20'000;  // at most, before it sleeps
  // Who answers a sleeping simulator within this time may have waited for its processor.
  static constexpr uint64_t kPromptNs = 200'000;
  static constexpr uint64_t kMoveIntervalNs = 10'000'000;  // between two times that programs are moved
  static constexpr unsigned kSkipMost = 64;                // waits without a look, after looks in vain

  // `programs` says which processes there are. All outlive it.
  ProgramWait(service::EventLoop& loop, std::function<std::vector<pid_t>()> programs)
      : loop_(loop), programs_(std::move(programs)) {}

  // Until something can be read, at most `ns` (EventLoop::kForeverNs: until then).
  void Wait(uint64_t ns);
  uint64_t looks() const { return looks_; }  // waits that began with one

 private:
  bool Look(uint64_t until_ns);
  void MovePrograms() const;

  service::EventLoop& loop_;
  const std::function<std::vector<pid_t>()> programs_;
  unsigned skip_ = 0;       // so many waits more without a look
  unsigned next_skip_ = 0;  // after the next look in vain
  uint64_t looks_ = 0;
  uint64_t moved_ns_ = 0;
};

// Takes the process's first thread away from this thread's processor if it is there, and may run on others; it may come
// back: where it may run is as before. What the process itself says of that in the same microseconds may be lost.
void MoveAway(pid_t process);

}  // namespace vireo::sim
