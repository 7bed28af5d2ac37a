// SPDX-License-Identifier: Apache-2.0
// Pulses of one kind, counted modulo 2^16 by a register: those of cycle t are visible from t + 1 on. In RTL it is a
// counter of the block that receives them, so it has no file of its own in rtl/.
#pragma once

#include <cstdint>

#include "model/common/cycle.h"

namespace vireo::model {

class EventCount {
 public:
  // Cycles do not go backwards, neither here nor in At.
  void Add(Cycle cycle) {
    Fold(cycle);
    latest_ = cycle;
    ++in_latest_;
  }
  uint16_t At(Cycle cycle) {
    Fold(cycle);
    return before_;
  }

 private:
  void Fold(Cycle cycle) {
    if (latest_ >= cycle) return;
    before_ = static_cast<uint16_t>(before_ + in_latest_);
    in_latest_ = 0;
  }
  Cycle latest_ = 0;
  uint16_t before_ = 0;     // the latest cycle
  uint16_t in_latest_ = 0;  // the latest cycle
};

}  // namespace vireo::model
