// SPDX-License-Identifier: Apache-2.0
// A FIFO of indices without duplicates: the counterpart of rtl/common/vireo_pending.sv. The output token is built from
// the index in the cycle of the load, in which RTL reads the data that belongs to it.
#pragma once

#include <algorithm>
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

// Latency from a push to its index at the output, unloaded.
inline constexpr unsigned kPendingLatency = 4;

template <typename T>
class Pending final : public Block {
 public:
  using Make = std::function<T(Cycle load, uint32_t index)>;

  Pending(Agenda& agenda, size_t entries, Make make)
      : Block(agenda),
        make_(std::move(make)),
        timing_(FifoTiming::Fifo(std::max<size_t>(entries, 4))),
        waits_(entries),
        loaded_(entries, kUnknown) {}

  // A pulse in cycle `now`; before or after this cycle's Run.
  void Push(Cycle now, uint32_t index) {
    if (now < waits_.size()) return;  // both bits of every index are being cleared
    if (pushed_ != now) pushed_before_ = std::exchange(pushed_, now);
    if (waits_[index] != 0 || loaded_[index] == now) return;  // counts as waiting until the load is over
    waits_[index] = 1;
    added_ = now;
    fifo_.push_back(index);
    timing_.Push(now + 1);
    if (fifo_.size() == 1) WakeAt(timing_.PopReady());
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
    if (!fifo_.empty() && timing_.PopReady() <= now && (clear || (!hold && !offer_.has_value()))) {
      const uint32_t index = fifo_.front();
      fifo_.pop_front();
      timing_.Pop(now);
      waits_[index] = 0;
      taken_ = now;
      loaded_[index] = now;
      if (!clear) {
        offer_ = make_(now, index);
        offer_at_ = now + 1;
        WakeAt(offer_at_);
      }
    }
    // Otherwise the consumer's space or the end of the hold wakes it.
    if (!fifo_.empty() && (clear || (!hold && !offer_.has_value()))) WakeAt(std::max(now + 1, timing_.PopReady()));
  }

  // waiting_o in cycle `now`, before or after this cycle's Run and pushes.
  bool IsWaiting(Cycle now) const {
    return now < waits_.size() || taken_ == now || After(pushed_, 1) == now || After(pushed_before_, 1) == now ||
           fifo_.size() > (added_ == now ? 1 : 0);
  }
  // pop_valid_o in cycle `now`, before its Run.
  bool IsOffered() const { return offer_.has_value(); }
  // Nothing waits and nothing is offered, from the next cycle on; the clearing after reset is not considered.
  bool IsEmpty() const { return fifo_.empty() && !offer_.has_value(); }

  Output<T> out;

 private:
  Make make_;
  FifoTiming timing_;
  std::deque<uint32_t> fifo_;
  std::vector<uint8_t> waits_;  // by index: is in the queue
  std::vector<Cycle> loaded_;   // by index: when it was loaded last
  std::optional<T> offer_;
  Cycle offer_at_ = 0;
  Cycle pushed_ = kUnknown, pushed_before_ = kUnknown;  // last cycles with a push
  Cycle added_ = kUnknown;                              // last push that added something
  Cycle taken_ = kUnknown;                              // last index that left the queue
  Level<bool> hold_{false};
  Level<bool> clear_{false};
};

}  // namespace vireo::model
