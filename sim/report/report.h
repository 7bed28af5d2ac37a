// SPDX-License-Identifier: Apache-2.0
// What a run was like, from the messages that a MessageTracker followed: totals, and per operation and size how long
// messages and their stages took. As JSON, of which docs/reports.md tells what each figure is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/message_tracker.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class LockstepNic;

// Durations, whose percentiles are exact to 1/64.
class Durations {
 public:
  void Add(Picoseconds duration);
  uint64_t count() const { return count_; }
  Picoseconds max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The least of its classes that `share` (0 to 1) of all do not exceed; never above max(). 0 without any.
  Picoseconds Percentile(double share) const;

 private:
  static constexpr unsigned kFractionBits = 6;
  static size_t ClassOf(Picoseconds duration);
  static Picoseconds UpperEnd(size_t index);

  std::vector<uint64_t> counts_;  // by class
  uint64_t count_ = 0;
  double sum_ = 0;
  Picoseconds max_ = 0;
};

// A part of a message's life that is drawn and averaged.
struct Interval {
  const char* name;
  Stage from, to;
  const char* doc;
};
// In the order of time of a WRITE.
const std::vector<Interval>& Intervals();

// The latency of a message of RC, from doorbell to CQE (without one: to the used element), cut into parts that follow
// each other without gap, so that they add up to it.
struct PathPart {
  const char* name;
  Stage from;
  std::optional<Stage> to;  // nothing: the end
  const char* doc;
};
const std::vector<PathPart>& PathParts();

class Report {
 public:
  static constexpr int kVersion = 1;  // of the JSON: another one if anything is removed, or means something else
  // What the run was; strings as the command line has them.
  struct Run {
    std::string device, config, preset, seed;
    std::vector<std::string> nics;  // names
  };
  // From now on also what `tracker` forgets counts; it outlives the report, and has no other observer.
  Report(MessageTracker& tracker, Run run);

  // Everything until now. `lockstep`: by NIC, null if it is not; shorter: the others are not.
  nlohmann::ordered_json ToJson(Picoseconds now, const std::vector<const LockstepNic*>& lockstep = {}) const;

 private:
  struct Operation {
    uint64_t count = 0, bytes = 0, retransmitted = 0;
    Durations latency;
    std::vector<Durations> intervals;  // as Intervals()
    std::vector<Durations> path;       // as PathParts(); each of the same messages
    Durations path_latency;            // of those
  };
  // Name of the operation, and the largest size of its class.
  using Operations = std::map<std::pair<std::string, uint64_t>, Operation>;

  // The begin of the cycle; nothing if the stage was not found.
  std::optional<Picoseconds> TimeOf(const Message& message, Stage stage) const;
  void AddPath(Operation& operation, const Message& message, Stage end) const;
  void Add(Operations& operations, const Message& message) const;
  nlohmann::ordered_json ToJson(const Message& message) const;

  MessageTracker& tracker_;
  const Run run_;
  Operations forgotten_;
};

}  // namespace vireo::sim
