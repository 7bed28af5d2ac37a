// SPDX-License-Identifier: Apache-2.0
// Who keeps the payload of packets until it is sent, as the model's sender sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

class PayloadSource {
 public:
  virtual ~PayloadSource() = default;
  // The payload of the oldest packet that has one and left with it. Its beats are taken in cycle `first`, which is
  // later than the one that runs, and the following.
  virtual std::vector<uint8_t> TakePayload(Cycle first) = 0;
};

}  // namespace vireo::model
