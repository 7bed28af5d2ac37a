// SPDX-License-Identifier: Apache-2.0
// The answer to a whole client's read, as the model hands it over: all of it at once, with the cycle of its first beat.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/cycle.h"
#include "model/dma/dma_split.h"

namespace vireo::model {

// Unbroken: beat k is in the k-th cycle after the first.
struct Train {
  uint8_t tag;                    // of the request
  uint32_t bytes;                 // of the request
  AxiResp resp;                   // other than kOkay: the data is undefined
  std::span<const uint8_t> data;  // `bytes` of them; while OnTrain runs
};

class TrainSink {
 public:
  virtual ~TrainSink() = default;
  // Called in cycle `first`, in which the first beat is visible, or before; trains in their order.
  virtual void OnTrain(Cycle first, const Train& train) = 0;
};

}  // namespace vireo::model
