// SPDX-License-Identifier: Apache-2.0
// An input of wide tokens: of one entry where a token, or what belongs to it, takes several beats. RTL: wide_slice of
// vireo_common_pkg.
#pragma once

#include <cstddef>

#include "model/common/channel.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

template <typename T>
Channel<T> WideSlice(size_t data_bits) {
  return data_bits < size_t{8} * spec::kDmaFetchBytes ? Channel<T>::HalfSlice() : Channel<T>::Slice();
}

}  // namespace vireo::model
