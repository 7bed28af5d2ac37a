// SPDX-License-Identifier: Apache-2.0
// Timing of a queue: the counterpart of rtl/common/vireo_fifo.sv and vireo_slice.sv (a half slice has one entry). It
// keeps cycles, not the entries themselves.
//
//   push n:  not before  pop n - depth, + 1    and  push n - 1, + 1
//   pop n:   not before  push n, + latency     and  pop n - 1, + 1
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/common/ring.h"

namespace vireo::model {

class FifoTiming {
 public:
  // Latencies of the queues of rtl/common, and the depths of the first two.
  static constexpr size_t kSliceDepth = 2;
  static constexpr size_t kHalfSliceDepth = 1;
  static constexpr unsigned kSliceLatency = 1;
  static constexpr unsigned kFifoLatency = 2;

  static FifoTiming Slice() { return FifoTiming(kSliceDepth, kSliceLatency); }
  static FifoTiming HalfSlice() { return FifoTiming(kHalfSliceDepth, kSliceLatency); }
  static FifoTiming Fifo(size_t depth) { return FifoTiming(depth, kFifoLatency); }

  // The first cycle in which the next entry can be pushed: s_ready_o is 1 from then on. kUnknown while the queue is
  // full and the pop that frees an entry is not known.
  Cycle PushReady() const { return std::max(next_push_, room_.Available(1)); }
  void Push(Cycle cycle) {
    assert(PushReady() <= cycle);
    room_.Take(1);
    next_push_ = cycle + 1;
    pushed_at_.push_back(cycle);
  }

  // The first cycle in which the oldest entry is visible: m_valid_o is 1 from then until it is popped. kUnknown if
  // there is none.
  Cycle PopReady() const { return pushed_at_.empty() ? kUnknown : std::max(next_pop_, pushed_at_.front() + latency_); }
  void Pop(Cycle cycle) {
    assert(PopReady() <= cycle);
    pushed_at_.pop_front();
    next_pop_ = cycle + 1;
    room_.Return(cycle);
  }

  // The first cycle with space for `count` more entries, at most the depth.
  Cycle PushReady(size_t count) const { return std::max(next_push_, room_.Available(count)); }
  // `count` pushes, one per cycle from `first` on.
  void Push(Cycle first, size_t count) {
    for (size_t i = 0; i < count; ++i) Push(first + i);
  }
  // The first cycle from which the oldest `count`, 1 or more, are visible when popped one per cycle; kUnknown if there
  // are fewer.
  Cycle PopReady(size_t count) const {
    if (pushed_at_.size() < count) return kUnknown;
    // At most one is pushed per cycle, so if the last one is visible in time, those before it are, too.
    const Cycle last = pushed_at_[count - 1] + latency_;
    return std::max({next_pop_, pushed_at_.front() + latency_, last - std::min<Cycle>(last, count - 1)});
  }
  // `count` pops, one per cycle from `first` on.
  void Pop(Cycle first, size_t count) {
    for (size_t i = 0; i < count; ++i) Pop(first + i);
  }
  // A stream without back-pressure: `pushes` more entries arrive, one per cycle from `push` on, and all leave, one per
  // cycle from `pop` on.
  void Pass(Cycle push, size_t pushes, Cycle pop) {
    const size_t pops = pushed_at_.size() + pushes;
    assert(pushes == 0 || next_push_ <= push);
    assert(pops == 0 || (next_pop_ <= pop && (pushed_at_.empty() || PopReady() <= pop)));
    assert(pushes == 0 || push + latency_ <= pop + pushed_at_.size());
    room_.Take(pushes);
    room_.Return(pop, pops);
    pushed_at_.clear();
    if (pushes != 0) next_push_ = push + pushes;
    if (pops != 0) next_pop_ = pop + pops;
  }

  size_t size() const { return pushed_at_.size(); }
  size_t depth() const { return room_.total(); }
  // No free entry, counting the pops reported so far.
  bool IsFull() const { return room_.IsEmpty(); }

 private:
  FifoTiming(size_t depth, unsigned latency) : latency_(latency), room_(depth) {}

  unsigned latency_;
  Credits room_;
  Ring<Cycle> pushed_at_;  // entries that have not been popped
  Cycle next_push_ = 0;
  Cycle next_pop_ = 0;
};

}  // namespace vireo::model
