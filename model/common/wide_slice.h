// SPDX-License-Identifier: Apache-2.0
// Queues that are shorter where the data path is narrow. RTL: is_narrow, wide_slice and waiting_packets of
// vireo_common_pkg.
#pragma once

#include <cstddef>

#include "model/common/channel.h"
#include "model/common/fifo.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

constexpr bool IsNarrow(size_t data_bits) { return data_bits < size_t{8} * spec::kDmaFetchBytes; }

// An input of wide tokens: of one entry where a token, or what belongs to it, takes several beats.
template <typename T>
Channel<T> WideSlice(size_t data_bits) {
  return IsNarrow(data_bits) ? Channel<T>::HalfSlice() : Channel<T>::Slice();
}

inline FifoTiming WideTiming(size_t data_bits) {
  return IsNarrow(data_bits) ? FifoTiming::HalfSlice() : FifoTiming::Slice();
}

// Packets or used elements that wait for host memory, at most.
constexpr size_t WaitingPackets(size_t data_bits) { return IsNarrow(data_bits) ? 16 : 64; }

}  // namespace vireo::model
