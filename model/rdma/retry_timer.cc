// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/retry_timer.h"

#include <algorithm>

#include "model/common/output_register.h"

namespace vireo::model {
namespace {

// IBTA vol. 1, 9.7.6.1.3 and table 47
std::optional<uint64_t> DurationOf(const spec::TimerSet& set) {
  if (set.kind == spec::TimerKind::kRnr) return spec::kRnrTimerNs[set.code];
  if (set.kind == spec::TimerKind::kAck && set.code != 0) return uint64_t{spec::kLocalAckTimeoutUnitNs} << set.code;
  return {};
}

}  // namespace

RetryTimer::RetryTimer(Agenda& agenda, uint32_t num_qps) : Block(agenda, WakeUps::kCancellable), timers_(num_qps) {
  timer_set_in.SetConsumer(this);
  WakeAt(num_qps - 1);  // the end of the sweep
}

void RetryTimer::Run(Cycle now) {
  if (!swept_) {
    swept_ = now + 1 >= timers_.size();
    WakeAt(swept_ ? now + 1 : timers_.size() - 1);
    return;
  }
  if (alarm_ <= now) alarm_ = kUnknown;
  if (Leave(now, expired_, timer_expired_out) && pass_ && pass_->at == kUnknown) pass_->at = now + 1;

  // Decides on data read in the cycle before; there is no read in the cycle of a write.
  const bool was_pass = pass_.has_value();
  const bool examined = was_pass && pass_->event == now;
  const bool writes = set_.has_value() || (examined && pass_->event_due);
  if (examined) Examine(now);
  if (!was_pass && time_ns(now) >= least_) {
    pass_ = Pass{.at = expired_ ? kUnknown : now + 1};
    least_ = kNever;
  }
  if (set_) Apply(now, *std::exchange(set_, std::nullopt));
  if (!writes) Take(now);
  if (writes && timer_set_in.size() != 0) WakeAt(now + 1);

  if (pass_) {
    Plan();
  } else if (least_ != kNever && (alarm_ == kUnknown || least_ < alarm_ns_)) {
    // Otherwise the alarm is early and is set again: one wake-up request instead of one per set.
    alarm_ns_ = least_;
    alarm_ = std::max(now + 1, cycle_at(least_));
    WakeAt(alarm_);
  }
  if (IsIdle() && least_ == kNever) alarm_ = kUnknown;
}

// The pass has reached its event.
void RetryTimer::Examine(Cycle now) {
  pass_turn_ = false;
  if (pass_->event_due) {
    const uint32_t qpn = pass_->event_qpn;
    expired_ = spec::TimerExpired{.qpn = qpn, .epoch = timers_[qpn].epoch};
    WakeAt(now + 1);
    Stop(qpn);
    if (running_.empty()) pass_->least = kNever;
    pass_->index = qpn + 1;
    pass_->at = kUnknown;
    if (pass_->index != timers_.size()) return;
  }
  least_ = running_.empty() ? kNever : std::min(pass_->least, running_.begin()->first);
  pass_.reset();
}

void RetryTimer::Apply(Cycle now, const Set& set) {
  Timer& timer = timers_[set.qpn];
  uint64_t* const least = pass_ ? &pass_->least : &least_;
  if (timer.running) {
    // The pass has included the value that is overwritten now.
    if (pass_ && set.qpn < pass_->index) *least = std::min(*least, timer.deadline_ns);
    Stop(set.qpn);
  }
  if (set.duration_ns) {
    timer = {.running = true, .epoch = set.epoch, .deadline_ns = time_ns(now) + *set.duration_ns};
    running_.emplace(timer.deadline_ns, set.qpn);
    *least = std::min(*least, timer.deadline_ns);
  }
  if (running_.empty()) *least = kNever;
}

// Accepts a waiting set in its turn; the pass makes no read in this cycle, nor in the next one with the write.
void RetryTimer::Take(Cycle now) {
  if (!timer_set_in.CanPop(now)) return;
  if (pass_ && pass_->at < now) {
    const auto left = static_cast<Cycle>(timers_.size() - pass_->index);
    pass_->index += static_cast<uint32_t>(std::min(now - pass_->at, left));
    pass_->at = now;
    pass_turn_ = false;
  }
  if (pass_ && pass_->at == now && pass_turn_) {
    WakeAt(now + 1);
    return;
  }
  const spec::TimerSet set = timer_set_in.Pop(now);
  set_ = Set{.qpn = set.qpn, .epoch = set.epoch, .duration_ns = DurationOf(set)};
  pass_turn_ = true;
  WakeAt(now + 1);
  if (pass_ && pass_->at != kUnknown) pass_->at = std::max(pass_->at, now + 2);
}

// Computes when the pass reaches a due timer, or its end. A timer is examined one cycle after it was read.
void RetryTimer::Plan() {
  if (pass_->at == kUnknown) {
    pass_->event = kUnknown;
    return;
  }
  const auto looked_at = [this](uint32_t qpn) { return pass_->at + (qpn - pass_->index) + 1; };
  pass_->event = looked_at(static_cast<uint32_t>(timers_.size() - 1));
  pass_->event_due = false;
  const uint64_t last = time_ns(pass_->event);
  for (const auto& [deadline_ns, qpn] : running_) {
    if (deadline_ns > last) break;
    if (qpn < pass_->index || (pass_->event_due && qpn > pass_->event_qpn)) continue;
    if (time_ns(looked_at(qpn)) < deadline_ns) continue;
    pass_->event = looked_at(qpn);
    pass_->event_due = true;
    pass_->event_qpn = qpn;
  }
  WakeAt(pass_->event);
}

void RetryTimer::Stop(uint32_t qpn) {
  timers_[qpn].running = false;
  running_.erase({timers_[qpn].deadline_ns, qpn});
}

}  // namespace vireo::model
