// SPDX-License-Identifier: Apache-2.0
// One timer per QP, for acknowledge timeouts and RNR waits: the counterpart of rtl/rdma/vireo_retry_timer.sv.
//
// When the earliest deadline has come, RTL scans all timers, one per cycle. Here a pass is one event: running timers
// are kept by deadline, and the cycle in which the pass reaches each timer is computed, again whenever a set or a
// waiting expiry delays the pass. A pass without due timers costs the same whatever the number of QPs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class RetryTimer final : public Block {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  // From the cycle in which a set is accepted to the one in which its duration starts.
  static constexpr Cycle kSetToStart = 2;
  // From the first cycle at or after the deadline to the one in which the expiry of QP 0 is visible; one more for each
  // QP before it, if nothing delays the pass.
  static constexpr Cycle kDeadlineToExpired = 3;

  RetryTimer(Agenda& agenda, uint32_t num_qps);

  // Device time in the cycle, and the first cycle with that time or later; to be set before the first cycle.
  std::function<uint64_t(Cycle)> time_ns;
  std::function<Cycle(uint64_t)> cycle_at;

  Channel<spec::TimerSet> timer_set_in = Channel<spec::TimerSet>::Slice();
  Output<spec::TimerExpired> timer_expired_out;

  void Run(Cycle now) override;
  // Alarms of timers that have been stopped are cancelled.
  bool NeedsWakeUp(Cycle) const override { return !IsIdle() || least_ != kNever; }
  // Valid after the cycles that have run. While idle, there is no event before it.
  uint64_t deadline_ns() const { return pass_ ? kNever : least_; }
  bool IsIdle() const { return swept_ && !pass_ && !set_ && timer_set_in.size() == 0 && !expired_; }

 private:
  struct Timer {
    bool running = false;
    uint8_t epoch = 0;
    uint64_t deadline_ns = 0;
  };
  struct Set {
    uint32_t qpn;
    uint8_t epoch;
    std::optional<uint64_t> duration_ns;  // none: stops the timer
  };
  struct Pass {
    uint32_t index = 0;       // the next timer to be read
    Cycle at = kUnknown;      // cycle of that read, each later one a cycle more; kUnknown: blocked by an expiry
    Cycle event = kUnknown;   // cycle of the next event: a timer is found due, or the last one was examined
    bool event_due = false;   // it is the former
    uint32_t event_qpn = 0;   // then: its QP
    uint64_t least = kNever;  // old deadlines of timers that are overwritten after the pass read them
  };

  void Examine(Cycle now);
  void Apply(Cycle now, const Set& set);
  void Take(Cycle now);
  void Plan();
  void Stop(uint32_t qpn);

  std::vector<Timer> timers_;
  std::set<std::pair<uint64_t, uint32_t>> running_;  // deadline, QP
  bool swept_ = false;                               // all timers were stopped after reset
  std::optional<Set> set_;                           // accepted in the cycle before
  bool pass_turn_ = false;                           // the pass has priority over the next set
  std::optional<Pass> pass_;
  uint64_t least_ = kNever;  // no running timer is due before
  std::optional<spec::TimerExpired> expired_;
  Cycle alarm_ = kUnknown;  // the earliest requested cycle for a deadline that has not come
  uint64_t alarm_ns_ = 0;   // its deadline
};

}  // namespace vireo::model
