// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/moderation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace vireo::model {

Moderation::Moderation(Agenda& agenda, uint32_t net_queue_pairs)
    : Block(agenda, WakeUps::kCancellable),
      queues_(2 * net_queue_pairs),
      settings_(spec::ContextRam::kModerationLimits, queues_, on_parity_error),
      rows_(spec::ContextRam::kModerationCount, queues_, on_parity_error) {
  assert(queues_ <= std::numeric_limits<Queues>::digits);
  queue_interrupt_in.SetConsumer(this);
}

void Moderation::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kVirtqueue || write.index >= queues_) return;
  const auto entry = spec::TableVirtqueue::Decode(write.data);
  settings_.Write(now, write.index, {.max_packets = entry.coal_max_packets, .max_usecs = entry.coal_max_usecs});
  Add(now, {});
}

void Moderation::OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row) {
  if (row.vq_index < queues_) Add(now, {.row = row});
}

void Moderation::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  settings_.OnFlip(now, flip);
  rows_.OnFlip(now, flip);
}

// In cycle order, before or after the block's Run of that cycle.
void Moderation::Add(Cycle now, const Pulse& pulse) {
  pulses_.push_back(pulse);
  if (ran_ != now) {
    WakeAt(now);
    return;
  }
  Apply();
  Plan(now, false);
}

void Moderation::Apply() {
  for (const Pulse& pulse : pulses_) {
    if (!pulse.row) {
      recheck_ = true;
      continue;
    }
    const Queues queue = Bit(pulse.row->vq_index);
    pending_ &= ~queue;
    enabled_ = pulse.row->enabled ? enabled_ | queue : enabled_ & ~queue;
  }
  pulses_.clear();
  left_ &= pending_;
  if (pending_ == 0) least_ = kNever;
}

void Moderation::Run(Cycle now) {
  ran_ = now;
  if (alarm_ <= now) alarm_ = kUnknown;
  interrupt_.Drain(now);
  bool waits = false;
  if (state_ == State::kIdle) {
    Idle(now);
  } else {
    waits = !Finish(now);
  }
  waits = waits && pulses_.empty();
  Apply();
  Plan(now, waits);
}

void Moderation::Idle(Cycle now) {
  const bool examines = left_ != 0 && (pass_turn_ || !queue_interrupt_in.CanPop(now));
  if (examines) {
    const auto queue = static_cast<uint32_t>(std::countr_zero(left_));
    left_ &= ~Bit(queue);
    moderated_ = true;
    pass_turn_ = false;
    state_ = State::kExamine;
    Read(now, queue);
    return;
  }
  if (left_ == 0 && (recheck_ || time_ns(now) >= least_)) {
    left_ = pending_;
    recheck_ = false;
    least_ = kNever;
  }
  if (!queue_interrupt_in.CanPop(now)) return;
  const spec::QueueInterrupt notification = queue_interrupt_in.Pop(now);
  moderated_ = notification.vq_index < queues_;
  msix_vector_ = notification.msix_vector;
  pass_turn_ = true;
  state_ = State::kCount;
  if (moderated_) Read(now, notification.vq_index);
}

void Moderation::Read(Cycle now, uint32_t queue) {
  index_ = queue;
  read_ = now;
  setting_ = settings_.Peek(now, queue);
  setting_corrupt_ = settings_.corrupt();
  row_ = rows_.Peek(now, queue);
  row_corrupt_ = rows_.corrupt();
}

// False: it is due, but the previous interrupt has not left.
bool Moderation::Finish(Cycle now) {
  const bool counts = state_ == State::kCount;
  const Queues queue = moderated_ ? Bit(index_) : 0;
  const bool had = (pending_ & queue) != 0;
  const bool had_corrupt = had && row_corrupt_;
  const bool corrupt = had_corrupt || (moderated_ && setting_corrupt_);
  if (corrupt && read_ + 1 == now) settings_.Report(read_);
  if (!counts && (!had || had_corrupt)) {  // discarded meanwhile, or the count is lost
    pending_ &= ~queue;
    state_ = State::kIdle;
    return true;
  }
  const uint64_t count = (had ? row_.count : 0) + uint64_t{counts};
  const uint64_t time = time_ns(now);
  const uint64_t first_ns = had ? row_.first_ns : time;
  const uint64_t deadline_ns = first_ns + setting_.max_usecs * kNsPerUs;
  const uint16_t msix_vector = counts ? msix_vector_ : row_.msix_vector;
  // virtio 1.3, 5.1.6.5.9: with a limit of 0 the first one is due.
  const bool due = (enabled_ & queue) == 0 || count >= setting_.max_packets || time >= deadline_ns || corrupt;
  if (due && !interrupt_.IsFree()) return false;
  state_ = State::kIdle;
  if (due) {
    interrupt_.Load(now, {.msix_vector = msix_vector});
    pending_ &= ~queue;
    return true;
  }
  if (counts) {
    rows_.Write(now, index_, {.count = static_cast<uint32_t>(count), .first_ns = first_ns, .msix_vector = msix_vector});
    pending_ |= queue;
  }
  least_ = std::min(least_, deadline_ns);
  return true;
}

void Moderation::Plan(Cycle now, bool waits) {
  const bool works = state_ != State::kIdle || left_ != 0 || recheck_ || queue_interrupt_in.size() != 0;
  if (works && !waits) WakeAt(now + 1);
  if (!works && least_ != kNever && (alarm_ == kUnknown || least_ < alarm_ns_)) {
    // Otherwise the alarm is early and is set again.
    alarm_ns_ = least_;
    alarm_ = std::max(now + 1, cycle_at(least_));
    WakeAt(alarm_);
  }
  if (IsIdle() && least_ == kNever) alarm_ = kUnknown;
}

}  // namespace vireo::model
