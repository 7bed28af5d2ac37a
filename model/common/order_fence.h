// SPDX-License-Identifier: Apache-2.0
// A fence around accesses that begin and end in order: tells whether those that had begun when it was set have ended.
// Blocks run in any order within a cycle, so what happened is counted by its cycle.
#pragma once

#include <cstdint>

#include "model/common/cycle.h"

namespace vireo::model {

class OrderFence {
 public:
  void Begin(Cycle now) {
    Resolve(now);
    ++begun_;
  }
  void End(Cycle now) {
    if (now != last_end_) ended_in_last_ = 0;
    last_end_ = now;
    ++ended_in_last_;
    ++ended_;
  }
  // Includes accesses that begin in this cycle.
  void Set(Cycle now) { set_at_ = now; }
  // At the start of a cycle after that of Set.
  bool IsUp(Cycle now) {
    Resolve(now);
    return ended_ - (last_end_ >= now ? ended_in_last_ : 0) < until_;
  }

 private:
  void Resolve(Cycle now) {
    if (set_at_ >= now) return;
    until_ = begun_;
    set_at_ = kUnknown;
  }

  uint64_t begun_ = 0, ended_ = 0, until_ = 0;
  uint64_t ended_in_last_ = 0;
  Cycle last_end_ = 0;
  Cycle set_at_ = kUnknown;  // not resolved yet
};

}  // namespace vireo::model
