// SPDX-License-Identifier: Apache-2.0
// A set of indices in FIFO order, each at most once: the counterpart of rtl/common/vireo_index_set.sv, which states the
// rules. IndexSet is Lookup = 0 and the order of both; LookupIndexSet is Lookup = 1: the token that leaves is made from
// the index in the cycle of the load, in which RTL reads what belongs to it.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/level.h"

namespace vireo::model {

// From a push to its index at the output of a LookupIndexSet, if nothing waits.
inline constexpr unsigned kIndexSetLookupLatency = 4;

// Pushes and pops of one cycle may come in either order.
class IndexSet {
 public:
  explicit IndexSet(size_t entries, bool lookup = false)
      : lookup_(lookup), order_(FifoTiming::Fifo(2 * entries)), waits_(entries), popped_(entries, kUnknown) {}

  // At most one in a cycle. In the first cycles, one for each entry, both bits of every index are cleared.
  void Push(Cycle cycle, uint32_t index) {
    if (IsClearing(cycle)) return;
    if (waits_[index] != 0) {
      again_cycle_ = cycle;
      again_ = index;
    } else if (!lookup_ || popped_[index] != cycle) {
      Add(cycle, index);
    }
  }
  // The first cycle in which the oldest can be popped; kUnknown if there is none.
  Cycle PopReady() const { return order_.PopReady(); }
  uint32_t front() const { return indices_.front(); }
  bool CanPop(Cycle now) const { return order_.PopReady() <= now; }
  uint32_t Pop(Cycle now) {
    assert(CanPop(now));
    const uint32_t index = indices_.front();
    indices_.pop_front();
    order_.Pop(now);
    waits_[index] = 0;
    popped_[index] = now;
    if (!lookup_ && again_cycle_ == now && again_ == index) Add(now, index);
    return index;
  }
  bool IsEmpty() const { return indices_.empty(); }
  size_t size() const { return indices_.size(); }
  bool IsClearing(Cycle cycle) const { return cycle < waits_.size(); }

 private:
  void Add(Cycle cycle, uint32_t index) {
    waits_[index] = 1;
    order_.Push(lookup_ ? cycle + 1 : cycle);
    indices_.push_back(index);
  }

  bool lookup_;
  FifoTiming order_;
  std::deque<uint32_t> indices_;
  std::vector<uint8_t> waits_;    // by index
  std::vector<Cycle> popped_;     // by index: its last pop
  Cycle again_cycle_ = kUnknown;  // of the last push that added nothing
  uint32_t again_ = 0;
};

template <typename T>
class LookupIndexSet final : public Block {
 public:
  using Make = std::function<T(Cycle load, uint32_t index)>;

  LookupIndexSet(Agenda& agenda, size_t entries, Make make)
      : Block(agenda), make_(std::move(make)), set_(entries, true) {}

  // A pulse in cycle `now`; may come before or after this cycle's Run.
  void Push(Cycle now, uint32_t index) {
    if (set_.IsClearing(now)) return;
    if (pushed_ != now) pushed_before_ = std::exchange(pushed_, now);
    const size_t before = set_.size();
    set_.Push(now, index);
    if (set_.size() == before) return;
    added_ = now;
    if (before == 0) WakeAt(set_.PopReady());
  }
  // The inputs hold_i and clear_i from cycle `from` on.
  void SetHold(Cycle from, bool hold) {
    hold_.Set(from, hold);
    WakeAt(from);
  }
  void SetClear(Cycle from, bool clear) {
    clear_.Set(from, clear);
    WakeAt(from);
  }

  void Run(Cycle now) override {
    if (offer_.has_value() && offer_at_ <= now && out.CanPush(now)) {
      out.Push(now, std::move(*offer_));
      offer_.reset();
    }
    const bool clear = clear_.At(now);
    const bool hold = hold_.At(now);
    if (set_.CanPop(now) && (clear || (!hold && !offer_.has_value()))) {
      const uint32_t index = set_.Pop(now);
      popped_ = now;
      if (!clear) {
        offer_ = make_(now, index);
        offer_at_ = now + 1;
        WakeAt(offer_at_);
      }
    }
    // Otherwise: woken by the taker's room or the end of the hold.
    if (!set_.IsEmpty() && (clear || (!hold && !offer_.has_value()))) WakeAt(std::max(now + 1, set_.PopReady()));
  }

  // Not empty_o in cycle `now`, whether or not this cycle's Run and pushes have been.
  bool IsWaiting(Cycle now) const {
    return set_.IsClearing(now) || popped_ == now || After(pushed_, 1) == now || After(pushed_before_, 1) == now ||
           set_.size() > (added_ == now ? 1 : 0);
  }
  // As pop_valid_o in cycle `now`, before its Run.
  bool IsOffered() const { return offer_.has_value(); }
  // Nothing waits and nothing is offered, from the next cycle on; the clearing after reset does not count.
  bool IsEmpty() const { return set_.IsEmpty() && !offer_.has_value(); }

  Output<T> out;

 private:
  Make make_;
  IndexSet set_;
  std::optional<T> offer_;
  Cycle offer_at_ = 0;
  Cycle pushed_ = kUnknown, pushed_before_ = kUnknown;  // last cycles with a push
  Cycle added_ = kUnknown;                              // last push that added an index
  Cycle popped_ = kUnknown;                             // last pop of the order
  Level<bool> hold_{false};
  Level<bool> clear_{false};
};

}  // namespace vireo::model
