// SPDX-License-Identifier: Apache-2.0
// Counts the work requests whose memory the transmit path reads no more: the counterpart of
// rtl/rdma/vireo_work_fence.sv. The requester processes work requests and replays one after the other and issues
// packets; the transmit gather reads their payload in order. So a work request has ended when the last packet issued
// before its end is read. A replay whose work request is kept passes those that are read again: it counts when all that
// were started before it have ended, one per cycle.
#pragma once

#include <algorithm>
#include <bitset>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "model/common/cycle.h"

namespace vireo::model {

// Pulses of the requester, all in one cycle.
struct WorkEnds {
  bool issued = false;  // a packet, or the drop of one
  bool work = false;    // a work request with packets has ended; with `issued`, with that packet
  bool replay = false;  // likewise a replay, with packets or without
  uint8_t serial = 0;   // of the replay
};

class WorkFence {
 public:
  // Packets issued and not read.
  static constexpr size_t kPackets = 128;
  static constexpr unsigned kCountBits = 10;
  static constexpr size_t kReplays = 128;  // started and not ended

  // Modulo 2^kCountBits.
  struct Counts {
    uint32_t works = 0;
    uint32_t replays = 0;
    bool operator==(const Counts&) const = default;
  };

  // In cycle `at`, which may be in the future.
  void OnEnds(Cycle at, const WorkEnds& ends) { EventAt(at).ends = ends; }
  void OnRead(Cycle at) { ++EventAt(at).reads; }

  // What has ended, as of the start of cycle `now`.
  const Counts& ended() const { return ended_; }
  // Brings it up to date; true: it has changed. Due in each cycle behind a pulse, in the next one, and while
  // IsBehind().
  bool Advance(Cycle now) {
    const Counts before = ended_;
    for (;;) {
      // The next cycle in which something happens.
      const bool has_event = !events_.empty() && (!IsBehind() || events_.front().cycle == applied_ + 1);
      if (!has_event && !IsBehind()) break;
      const Event event = has_event ? events_.front() : Event{applied_ + 1, 0, {}};
      if (event.cycle >= now) break;
      Apply(event);
      if (has_event) events_.pop_front();
    }
    if (late_ && late_->cycle + 1 < now) TakeLate();
    return ended_ != before;
  }

  // In the next cycle, too, another replay counts.
  bool IsBehind() const { return passed_[First()]; }

 private:
  struct Event {
    Cycle cycle = 0;
    size_t reads = 0;
    WorkEnds ends;
  };
  // Read from RAM in this cycle.
  struct Late {
    Cycle cycle = 0;
    Counts counts;
  };

  Event& EventAt(Cycle cycle) {
    const auto place =
        std::find_if(events_.begin(), events_.end(), [cycle](const Event& event) { return event.cycle >= cycle; });
    if (place != events_.end() && place->cycle == cycle) return *place;
    return *events_.insert(place, Event{cycle, 0, {}});
  }
  // The oldest replay that does not count.
  size_t First() const { return (total_.replays + 1) % kReplays; }
  void TakeLate() {
    ended_ = late_->counts;
    late_.reset();
  }
  void Apply(const Event& event) {
    if (late_ && late_->cycle + 1 < event.cycle) TakeLate();
    const Counts before = total_;
    total_.works = (total_.works + (event.ends.work ? 1 : 0)) % (1U << kCountBits);
    if (event.ends.replay) {
      assert(!passed_[event.ends.serial]);
      passed_.set(event.ends.serial);
    }
    // In order it counts in the cycle in which it ends.
    if (const size_t first = First(); passed_[first]) {
      passed_.reset(first);
      total_.replays = (total_.replays + 1) % (1U << kCountBits);
    }
    applied_ = event.cycle;
    assert(event.reads <= packets_.size());
    Counts read;
    for (size_t i = 0; i < event.reads; ++i) {
      read = packets_.size() == 1 ? before : packets_[1];
      packets_.pop_front();
    }
    if (packets_.empty()) {
      ended_ = event.ends.issued ? before : total_;
      late_.reset();
    } else {
      if (late_) TakeLate();
      if (event.reads != 0) late_ = Late{event.cycle, read};
    }
    if (!event.ends.issued) return;
    packets_.push_back(before);
    assert(packets_.size() <= kPackets);
  }

  std::deque<Event> events_;
  Cycle applied_ = 0;             // of the last event
  Counts total_;                  // ended at the requester
  std::bitset<kReplays> passed_;  // replays that have ended before an older one, by serial
  std::deque<Counts> packets_;    // issued and not read: the totals before each
  Counts ended_;
  std::optional<Late> late_;
};

}  // namespace vireo::model
