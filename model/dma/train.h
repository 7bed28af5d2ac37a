// SPDX-License-Identifier: Apache-2.0
// The response to a train client's request, as the model passes it: all of it at once, with the cycle of its first
// beat.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/cycle.h"
#include "model/dma/dma_split.h"

namespace vireo::model {

// Without gaps: beat k is in the k-th cycle after the first.
struct Train {
  uint8_t tag;                    // of the request
  uint32_t bytes;                 // of the request
  AxiResp resp;                   // not kOkay: the data is undefined
  std::span<const uint8_t> data;  // `bytes` of them; valid during OnTrain
};

class TrainSink {
 public:
  virtual ~TrainSink() = default;
  // Called in cycle `first`, in which the first beat is visible, or before; trains in order.
  virtual void OnTrain(Cycle first, const Train& train) = 0;
};

}  // namespace vireo::model
