// SPDX-License-Identifier: Apache-2.0
// Simulated time in picoseconds and its exact relation to the cycles of a NIC's core clock.
#pragma once

#include <cstdint>

#include "model/common/cycle.h"  // cycle 0 begins at time 0

namespace vireo::model {

using Picoseconds = uint64_t;  // since the start of the simulation; 2^64 are 213 days

inline constexpr Picoseconds kForever = ~Picoseconds{0};
inline constexpr Picoseconds kPicosecondsPerNanosecond = 1000;

// Cycle n lasts from Begin(n) up to but not including Begin(n + 1). Begin(n) is n periods rounded down to a picosecond,
// so a period that is no whole number of picoseconds does not drift. Exact up to 2^64 ps.
class CoreClock {
 public:
  explicit constexpr CoreClock(uint32_t khz)  // 1 to 1,000,000,000
      : khz_(khz), period_(kPicosecondsPerMillisecond / khz), rest_(kPicosecondsPerMillisecond % khz) {}

  constexpr Picoseconds Begin(Cycle cycle) const {
    // Divisions are slow, and a period of whole picoseconds needs none.
    return cycle * period_ + (rest_ == 0 ? 0 : cycle / khz_ * rest_ + cycle % khz_ * rest_ / khz_);
  }
  // The first cycle that begins at `time` or later: the cycle in which an input that arrives at `time` takes effect.
  constexpr Cycle AtOrAfter(Picoseconds time) const {
    Cycle cycle = Containing(time);
    return Begin(cycle) == time ? cycle : cycle + 1;
  }
  // The same for a device time in ns; kUnknown if that exceeds 2^64 ps.
  constexpr Cycle AtOrAfterNs(uint64_t ns) const {
    return ns < kForever / kPicosecondsPerNanosecond ? AtOrAfter(ns * kPicosecondsPerNanosecond) : kUnknown;
  }
  // The cycle that contains `time`.
  constexpr Cycle Containing(Picoseconds time) const {
    if (rest_ == 0) return time / period_;
    Cycle cycle = time / kPicosecondsPerMillisecond * khz_ +
                  time % kPicosecondsPerMillisecond * khz_ / kPicosecondsPerMillisecond;
    while (Begin(cycle + 1) <= time) ++cycle;
    return cycle;
  }
  // The sampling time of cycle n: after all inputs of the cycle, which arrive at its beginning.
  constexpr Picoseconds Middle(Cycle cycle) const { return Begin(cycle) + (Begin(cycle + 1) - Begin(cycle)) / 2; }

  constexpr uint32_t khz() const { return khz_; }

 private:
  static constexpr Picoseconds kPicosecondsPerMillisecond = 1'000'000'000;
  uint32_t khz_;
  Picoseconds period_;  // rounded down
  uint64_t rest_;       // in 1/khz_ ps
};

}  // namespace vireo::model
