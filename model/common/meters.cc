// SPDX-License-Identifier: Apache-2.0
#include "model/common/meters.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace vireo::model {

void Meters::SetParts(std::vector<Part> parts) {
  parts_ = std::move(parts);
  blocks_.resize(parts_.size());
}

size_t Meters::PartOf(const Block* block) const {
  const auto part = std::ranges::find_if(parts_, [block](const Part& it) {
    const auto* const begin = static_cast<const std::byte*>(it.begin);
    const auto* const address = reinterpret_cast<const std::byte*>(block);
    return !std::less<>()(address, begin) && std::less<>()(address, begin + it.bytes);
  });
  assert(part != parts_.end());
  return static_cast<size_t>(part - parts_.begin());
}

StreamMeter* Meters::Add(const Block* producer, const Block* consumer, size_t depth) {
  const size_t from = PartOf(producer), to = PartOf(consumer);
  if (from == to) return nullptr;
  return &streams_.emplace_back(Stream{StreamMeter(blocks_[from], blocks_[to], depth), from, to}).meter;
}

Meters::Counts Meters::At(Cycle now) const {
  Counts counts;
  for (const Stream& stream : streams_) {
    counts.streams.push_back({parts_[stream.producer].name, parts_[stream.consumer].name, stream.meter.tokens(),
                              stream.meter.waiting().At(now), stream.meter.full().At(now), stream.meter.HeldAt(now),
                              stream.meter.depth()});
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    counts.blocks.push_back({parts_[i].name, blocks_[i].worked(), blocks_[i].starved().At(now),
                             blocks_[i].blocked().At(now), blocks_[i].StalledAt(now), blocks_[i].busy().At(now),
                             blocks_[i].waiting().At(now)});
  }
  return counts;
}

}  // namespace vireo::model
