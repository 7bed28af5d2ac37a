// SPDX-License-Identifier: Apache-2.0
// A beat of a write of the DMA write port's whole client.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

struct WriteBeat {
  spec::DmaWriteRequest request{};  // the same in every beat of a write
  std::vector<uint8_t> data{};      // a full beat; in the last one, at least what is left
  bool last{};
};

}  // namespace vireo::model
