// SPDX-License-Identifier: Apache-2.0
// The report of a run, from the messages of a MessageTracker: totals, and latencies of messages and stages by operation
// and size. JSON; docs/reports.md documents each key.
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

// A histogram of durations; percentiles are exact to 1/64.
class Durations {
 public:
  void Add(Picoseconds duration);
  uint64_t count() const { return count_; }
  Picoseconds max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The upper bound of the class of the `share` quantile (0 to 1), at most max(). 0 if empty.
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

// A part of a message's lifetime that is drawn and averaged.
struct Interval {
  const char* name;
  Stage from, to;
  const char* doc;
};
// In the order in which a WRITE passes them.
const std::vector<Interval>& Intervals();

// A part of the latency of an RC message. The parts are consecutive and add up to the latency, from doorbell to CQE
// (without one: to the used element).
struct PathPart {
  const char* name;
  Stage from;
  std::optional<Stage> to;  // nullopt: the end
  const char* doc;
};
const std::vector<PathPart>& PathParts();

class Report {
 public:
  static constexpr int kVersion = 1;  // of the JSON: changes if a key is removed or changes its meaning
  // Parameters of the run; strings as on the command line.
  struct Run {
    std::string device, config, preset, seed;
    std::vector<std::string> nics;  // names
  };
  // Becomes the tracker's OnForget observer, so that forgotten messages are counted too. `tracker` must outlive this.
  Report(MessageTracker& tracker, Run run);

  // The report up to `now`. `lockstep`: by NIC; null or missing: not in lockstep.
  nlohmann::ordered_json ToJson(Picoseconds now, const std::vector<const LockstepNic*>& lockstep = {}) const;

 private:
  struct Operation {
    uint64_t count = 0, bytes = 0, retransmitted = 0;
    Durations latency;
    std::vector<Durations> intervals;  // as Intervals()
    std::vector<Durations> path;       // as PathParts(), all of the same messages
    Durations path_latency;            // of the same messages
  };
  // By name of the operation and upper bound of the size class.
  using Operations = std::map<std::pair<std::string, uint64_t>, Operation>;

  // The start of the cycle; nullopt if the stage is unknown.
  std::optional<Picoseconds> TimeOf(const Message& message, Stage stage) const;
  void AddPath(Operation& operation, const Message& message, Stage end) const;
  void Add(Operations& operations, const Message& message) const;
  nlohmann::ordered_json ToJson(const Message& message) const;

  MessageTracker& tracker_;
  const Run run_;
  Operations forgotten_;
};

}  // namespace vireo::sim
