// SPDX-License-Identifier: Apache-2.0
// Interface of the block that buffers packet payload until it is sent, as the model's sender sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  // The payload of the oldest packet with payload that has left. Its beats are taken from cycle `first` on, which is
  // later than the current cycle.
  virtual std::vector<uint8_t> TakePayload(Cycle first) = 0;
};

}  // namespace vireo::model
