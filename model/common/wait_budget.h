// SPDX-License-Identifier: Apache-2.0
// Bounds the share of time that something optional may make others wait: after a wait of n cycles none may begin for
// share × n. Waits that last longer than 2^wait_bits - 1 cycles count as that. The counterpart of
// rtl/common/vireo_wait_budget.sv.
#pragma once

#include <algorithm>
#include <optional>

#include "model/common/cycle.h"

namespace vireo::model {

class WaitBudget {
 public:
  constexpr WaitBudget(unsigned share, unsigned wait_bits) : share_(share), longest_((Cycle{1} << wait_bits) - 1) {}

  bool MayWait(Cycle now) const { return !begin_ && now >= next_; }
  // Decided in these cycles.
  void Begin(Cycle now) { begin_ = now; }
  // Without effect if there is none in progress.
  void End(Cycle now) {
    if (!begin_) return;
    next_ = now + 1 + share_ * std::min(now - *begin_, longest_);
    begin_.reset();
  }

 private:
  const Cycle share_;
  const Cycle longest_;
  std::optional<Cycle> begin_;
  Cycle next_ = 0;
};

}  // namespace vireo::model
