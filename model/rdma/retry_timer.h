// SPDX-License-Identifier: Apache-2.0
// One timer per QP, for acknowledges and pauses: the counterpart of rtl/rdma/vireo_retry_timer.sv.
//
// RTL passes over all timers when the least deadline has come, one per cycle. Here a pass is one event: those that run
// are kept by deadline, and in which cycle a pass comes to which timer is arithmetic, done anew when a set or a waiting
// expiry holds the pass up. A pass in which nothing is due costs the same whatever the number of QPs.
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

  // From the cycle in which a set is accepted to the one from whose time its duration counts.
  static constexpr Cycle kSetToStart = 2;
  // From the first cycle at or after the deadline to the one in which the expiry of QP 0 is visible; one more for each
  // QP before it, if nothing is in the way.
  static constexpr Cycle kDeadlineToExpired = 3;

  RetryTimer(Agenda& agenda, uint32_t num_qps);

  // Device time in the cycle, and the first cycle whose time is that or later; to be set before the first cycle.
  std::function<uint64_t(Cycle)> time_ns;
  std::function<Cycle(uint64_t)> cycle_at;

  Channel<spec::TimerSet> timer_set_in = Channel<spec::TimerSet>::Slice();
  Output<spec::TimerExpired> timer_expired_out;

  void Run(Cycle now) override;
  // Alarms of timers that stand by now are withdrawn.
  bool Wants(Cycle) const override { return !IsIdle() || least_ != kNever; }
  // After the cycles that have run; while idle: nothing happens by itself before.
  uint64_t deadline_ns() const { return pass_ ? kNever : least_; }
  bool IsIdle() const { return swept_ && !pass_ && !set_ && timer_set_in.size() == 0 && !expired_; }

 private:
  struct Timer {
    bool running = false;
    uint8_t generation = 0;
    uint64_t deadline_ns = 0;
  };
  struct Set {
    uint32_t qpn;
    uint8_t generation;
    std::optional<uint64_t> duration_ns;  // none: the timer stands from now on
  };
  struct Pass {
    uint32_t index = 0;       // the next timer to be read
    Cycle at = kUnknown;      // when, the others behind it each one cycle later; kUnknown: held up by an expiry
    Cycle event = kUnknown;   // when the next thing happens: a timer is found due, or the last was looked at
    bool event_due = false;   // the first of them
    uint32_t event_qpn = 0;   // then: whose
    uint64_t least = kNever;  // of what the table does not tell at the end: it was there when the pass looked
  };

  void Look(Cycle now);
  void Apply(Cycle now, const Set& set);
  void Take(Cycle now);
  void Plan();
  void Stop(uint32_t qpn);

  std::vector<Timer> timers_;
  std::set<std::pair<uint64_t, uint32_t>> running_;  // deadline, QP
  bool swept_ = false;                               // all timers were made to stand
  std::optional<Set> set_;                           // taken in the cycle before
  bool look_turn_ = false;                           // the pass goes before the next set
  std::optional<Pass> pass_;
  uint64_t least_ = kNever;  // no timer that runs is due before
  std::optional<spec::TimerExpired> expired_;
  Cycle alarm_ = kUnknown;  // the earliest cycle that was asked for because of a deadline and has not come
  uint64_t alarm_ns_ = 0;   // that deadline
};

}  // namespace vireo::model
