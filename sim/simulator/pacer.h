// SPDX-License-Identifier: Apache-2.0
// Paces simulated time to real time while real programs use simulated devices. While the devices have work, simulated
// time advances at the speed of the simulation. While they only wait for a timer (a retransmission timer, for example),
// it does not run ahead of real time: the timer must not expire while a program computes for a millisecond.
#pragma once

#include <cstdint>

#include "sim/time/scheduler.h"

namespace vireo::sim {

class Pacer {
 public:
  // The devices count as busy if the next event is at most this far away: latencies of buses and wires are below. Time
  // runs ahead of real time by at most this much, once per wait.
  static constexpr Picoseconds kIdleGap = 5'000'000;
  static constexpr uint64_t kForeverNs = ~uint64_t{0};

  // `scheduler` must outlive this. Real times are nanoseconds of any monotonic clock.
  explicit Pacer(Scheduler& scheduler) : scheduler_(scheduler) {}

  bool IsIdle() const { return Gap() > kIdleGap; }

  // Runs events until the devices are idle, at most `steps` callbacks.
  void RunSlice(unsigned steps);

  // Longest time to sleep: until the next event is due in real time; 0 if busy; kForeverNs without an event. Call
  // Advance after the sleep, also if it ended early.
  uint64_t SleepNs(uint64_t real_ns);
  // Advances idle simulated time by the elapsed real time, at most to the next event, which runs if it is due.
  void Advance(uint64_t real_ns);
  // Call after anything else has run the simulation.
  void Restart(uint64_t real_ns);

  // Simulated time that has passed while the devices were idle.
  Picoseconds idle() const { return idle_; }

 private:
  Picoseconds Gap() const { return scheduler_.next() == kForever ? kForever : scheduler_.next() - scheduler_.now(); }

  Scheduler& scheduler_;
  bool has_anchor_ = false;  // simulated and real time at which the devices became idle
  Picoseconds anchor_ = 0;
  uint64_t anchor_real_ns_ = 0;
  Picoseconds idle_ = 0;
};

}  // namespace vireo::sim
