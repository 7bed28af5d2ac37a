// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_split.h"

#include <algorithm>
#include <cassert>

namespace vireo::model {

uint32_t BurstLimit(spec::PcieSize max_size, uint32_t beat_bytes) {
  constexpr uint32_t kMaxBeats = 256;
  uint32_t limit = spec::kPcieSizeUnit;
  if (max_size <= spec::PcieSize::kBytes4096) limit <<= static_cast<unsigned>(max_size);
  return std::min({limit, kMaxBeats * beat_bytes, uint32_t{spec::kPcieRequestBoundary}});
}

void DmaSplit::OnRequest(Cycle cycle, uint64_t address, uint32_t bytes, spec::PcieSize max_size) {
  assert(bytes > 0);
  requests_timing_.Push(cycle);
  requests_.push_back({address, bytes, BurstLimit(max_size, beat_bytes_), false});
}

void DmaSplit::Cut(Cycle cycle) {
  Request& request = requests_.front();
  const auto to_limit = static_cast<uint32_t>(request.limit - request.address % request.limit);
  const uint32_t bytes = std::min(request.bytes, to_limit);
  const bool last = bytes == request.bytes;
  bursts_.push_back({request.address, bytes, BusBeats(request.address, bytes, beat_bytes_), !request.started, last});
  bursts_timing_.Push(cycle);
  request.address += bytes;
  request.bytes -= bytes;
  request.started = true;
  if (last) {
    requests_.pop_front();
    requests_timing_.Pop(cycle);
  }
}

void DmaSplit::TakeBurst(Cycle cycle) {
  bursts_timing_.Pop(cycle);
  bursts_.pop_front();
}

}  // namespace vireo::model
