// SPDX-License-Identifier: Apache-2.0
// Notification coalescing of net queues: the counterpart of rtl/virtio/vireo_moderation.sv, state by state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/output_register.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Moderation final : public Block {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr uint64_t kNsPerUs = 1000;

  // From a notification that is accepted to its interrupt, or to the cycle in which a deadline shows.
  static constexpr Cycle kLatency = 3;
  // From one notification to the next; in a pass, from one queue to the next.
  static constexpr Cycle kInterval = 2;
  // From the notification that starts a count to the cycle whose time is its start time.
  static constexpr Cycle kAcceptedToStart = 2;
  // From the first cycle at or after a deadline to the interrupt of the first queue that is pending.
  static constexpr Cycle kDeadlineToInterrupt = 3;
  // From a write of new limits to the interrupt, if they make it due.
  static constexpr Cycle kTableWriteToInterrupt = 4;

  // 0 pairs: every notification is an interrupt, as in a configuration without moderation.
  Moderation(Agenda& agenda, uint32_t net_queue_pairs);

  // Device time in the cycle, and the first cycle with that time or later; to be set before the first cycle.
  std::function<uint64_t(Cycle)> time_ns;
  std::function<Cycle(uint64_t)> cycle_at;

  Channel<spec::QueueInterrupt> queue_interrupt_in = Channel<spec::QueueInterrupt>::Slice();
  Output<spec::Interrupt> interrupt_out;
  // Pulses in cycle `now`.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // Limits or count of a queue that is served have bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;

  void Run(Cycle now) override;
  // Alarms for counts that ended early are cancelled.
  bool NeedsWakeUp(Cycle) const override { return !IsIdle() || least_ != kNever || !pulses_.empty(); }
  // Valid after the cycles that have run. While idle, there is no event before it.
  uint64_t deadline_ns() const { return left_ != 0 || state_ == State::kExamine || recheck_ ? kNever : least_; }
  bool IsIdle() const {
    return state_ == State::kIdle && left_ == 0 && !recheck_ && queue_interrupt_in.size() == 0 && interrupt_.IsFree();
  }

 private:
  enum class State { kIdle, kCount, kExamine };
  struct Setting {
    uint32_t max_packets = 0;
    uint32_t max_usecs = 0;
  };
  // State of a queue with pending notifications.
  struct Row {
    uint32_t count = 0;
    uint64_t first_ns = 0;
    uint16_t msix_vector = 0;
  };
  // Register changes at the end of its cycle.
  struct Pulse {
    std::optional<spec::QueueRowWrite> row;  // none: limits were written
  };
  using Queues = uint64_t;  // a bit for each

  static Queues Bit(uint32_t queue) { return Queues{1} << queue; }
  void Add(Cycle now, const Pulse& pulse);
  void Apply();
  void Idle(Cycle now);
  bool Finish(Cycle now);
  void Read(Cycle now, uint32_t queue);
  void Plan(Cycle now, bool waits);

  const uint32_t queues_;
  ContextTable<Setting> settings_;
  ContextTable<Row> rows_;
  std::vector<Pulse> pulses_;  // of the current or next cycle
  Cycle ran_ = kUnknown;

  // The registers.
  State state_ = State::kIdle;
  Queues enabled_ = 0, pending_ = 0;
  Queues left_ = 0;         // queues that the pass has yet to visit; all pending
  bool recheck_ = false;    // limits have changed
  bool pass_turn_ = false;  // the pass is served before the next notification
  uint32_t index_ = 0;
  bool moderated_ = false;  // moderated if limits are set: the index is that of the notification's queue
  uint16_t msix_vector_ = 0;
  Setting setting_;
  Row row_;
  bool setting_corrupt_ = false, row_corrupt_ = false;
  Cycle read_ = kUnknown;    // when they were read
  uint64_t least_ = kNever;  // lower bound of the deadlines of pending queues
  OutputRegister<spec::Interrupt> interrupt_{interrupt_out, *this};

  Cycle alarm_ = kUnknown;  // the earliest requested cycle for a deadline that has not come
  uint64_t alarm_ns_ = 0;   // its deadline
};

}  // namespace vireo::model
