// SPDX-License-Identifier: Apache-2.0
// How simulated time follows real time where real programs talk to simulated devices. While something is happening in
// the devices, simulated time takes as long as it takes to simulate. While they only wait for a deadline (a
// retransmission timer, for example), it does not run ahead of real time: a program that computes for a millisecond
// must not find that its peer has lost patience.
#pragma once

#include <cstdint>

#include "sim/time/scheduler.h"

namespace vireo::sim {

class Pacer {
 public:
  // Up to so much without any event counts as something happening: latencies of buses and wires are below. So this much
  // is all by which time may run ahead, once in a wait.
  static constexpr Picoseconds kIdleGap = 5'000'000;
  static constexpr uint64_t kForeverNs = ~uint64_t{0};

  // `scheduler` outlives it. Real times are nanoseconds of any clock that only goes forward.
  explicit Pacer(Scheduler& scheduler) : scheduler_(scheduler) {}

  bool IsIdle() const { return Gap() > kIdleGap; }

  // Runs events until the devices are idle, at most `steps` times at which something happens.
  void RunSlice(unsigned steps);

  // How long to sleep, at most: until the next event is due in real time; 0 if it is not idle; kForeverNs. Then, and
  // whenever the sleep ended early, call Advance.
  uint64_t SleepNs(uint64_t real_ns);
  // Moves idle simulated time on by the real time that has passed, not beyond the next event; an event that is due then
  // belongs to the next slice even though it was idle before it.
  void Advance(uint64_t real_ns);
  // Something other than this object ran the simulation.
  void Restart(uint64_t real_ns);

 private:
  Picoseconds Gap() const { return scheduler_.next() == kForever ? kForever : scheduler_.next() - scheduler_.now(); }

  Scheduler& scheduler_;
  bool has_anchor_ = false;  // where and when idleness began
  Picoseconds anchor_ = 0;
  uint64_t anchor_real_ns_ = 0;
};

}  // namespace vireo::sim
