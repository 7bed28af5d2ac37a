// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/program_wait.h"

#include <sched.h>

#include <algorithm>

namespace vireo::sim {

void ProgramWait::Wait(uint64_t ns) {
  const uint64_t begin_ns = service::MonotonicNs();
  uint64_t polled_ns = 0;
  if (skip_ != 0) {
    --skip_;
  } else {
    if (Poll(begin_ns + std::min(ns, kPollNs))) {
      next_skip_ = 0;
      return;
    }
    skip_ = next_skip_;
    next_skip_ = std::min(2 * next_skip_ + 1, kSkipMax);
    polled_ns = service::MonotonicNs() - begin_ns;
  }
  if (ns != service::EventLoop::kForeverNs) ns -= std::min(ns, polled_ns);
  if (ns == 0) return;
  loop_.Sleep(ns);
  const uint64_t now_ns = service::MonotonicNs();
  if (now_ns - begin_ns > kPromptNs || now_ns - moved_ns_ < kMoveIntervalNs) return;
  moved_ns_ = now_ns;
  MovePrograms();
}

bool ProgramWait::Poll(uint64_t until_ns) {
  ++polls_;
  do {
    if (loop_.Find()) return true;
  } while (service::MonotonicNs() < until_ns);
  return false;
}

void ProgramWait::MovePrograms() const {
  for (const pid_t process : programs_()) MoveAway(process);
}

void MoveAway(pid_t process) {
  const int here = ::sched_getcpu();
  cpu_set_t allowed;
  if (here < 0 || ::sched_getaffinity(process, sizeof allowed, &allowed) != 0) return;
  if (!CPU_ISSET(here, &allowed) || CPU_COUNT(&allowed) < 2) return;
  cpu_set_t others = allowed;
  CPU_CLR(here, &others);
  // Only a thread on this processor moves.
  if (::sched_setaffinity(process, sizeof others, &others) == 0) {
    ::sched_setaffinity(process, sizeof allowed, &allowed);
  }
}

}  // namespace vireo::sim
