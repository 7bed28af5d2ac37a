// SPDX-License-Identifier: Apache-2.0
// Converts times of a device's clock to the host's, by readings of both at about one time. The clocks may differ in
// their rate, and that may change: in a simulation neither is known. A reading is as exact as half the time that it
// takes.
#pragma once

#include <cstdint>
#include <deque>

namespace vireo::verbs {

class ClockRelation {
 public:
  // Not before the last reading, in either clock.
  void Add(uint64_t device_ns, uint64_t host_ns) { readings_.push_back({device_ns, host_ns}); }
  bool is_empty() const { return readings_.empty(); }
  // Between the readings before and after `device_ns`: behind the last one that of the last one, which needs at least
  // one reading; with the first one only, as if the clocks had one rate. Never decreases; later calls have a later
  // time.
  uint64_t ToHost(uint64_t device_ns) {
    while (readings_.size() > 2 && readings_[1].device_ns <= device_ns) readings_.pop_front();
    const Reading& first = readings_.front();
    if (readings_.size() == 1)
      return device_ns < first.device_ns ? first.host_ns - (first.device_ns - device_ns) : first.host_ns;
    const Reading& second = readings_[1];
    if (device_ns >= second.device_ns) return second.host_ns;
    if (device_ns <= first.device_ns) return first.host_ns;
    const double share =
        static_cast<double>(device_ns - first.device_ns) / static_cast<double>(second.device_ns - first.device_ns);
    return first.host_ns + static_cast<uint64_t>(share * static_cast<double>(second.host_ns - first.host_ns));
  }

 private:
  struct Reading {
    uint64_t device_ns = 0, host_ns = 0;
  };
  std::deque<Reading> readings_;
};

}  // namespace vireo::verbs
