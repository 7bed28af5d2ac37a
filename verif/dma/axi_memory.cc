// SPDX-License-Identifier: Apache-2.0
#include "verif/dma/axi_memory.h"

#include <algorithm>
#include <stdexcept>

namespace vireo::verif {
namespace {

uint64_t Between(uint64_t low, uint64_t high, std::mt19937_64& random) { return low + random() % (high - low + 1); }

model::AxiResp Resp(unsigned faulty, std::mt19937_64& random) {
  return random() % 1024 < faulty ? static_cast<model::AxiResp>(1 + random() % 3) : model::AxiResp::kOkay;
}

}  // namespace

uint8_t MemoryByte(uint64_t address) {
  // splitmix64's finalizer on the address of eight bytes.
  uint64_t x = address / 8 + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return static_cast<uint8_t>(x >> (8 * (address % 8)));
}

void AxiReadMemory::Accept(uint64_t cycle, uint32_t id, uint64_t address, uint32_t beats) {
  for (const auto& burst : bursts_) {
    if (burst.id == id) throw std::logic_error("a tag is used twice");
  }
  uint64_t ready = cycle + Between(policy_.min_latency, policy_.max_latency, random_);
  if (!policy_.out_of_order && !bursts_.empty()) ready = std::max(ready, bursts_.back().ready);
  bursts_.push_back({id, address, beats, ready});
}

std::optional<AxiReadMemory::Beat> AxiReadMemory::Next(uint64_t cycle) {
  if (random_() % 16 < policy_.stall) return std::nullopt;
  std::vector<size_t> candidates;
  for (size_t i = 0; i < bursts_.size(); ++i) {
    if (bursts_[i].ready > cycle) continue;
    // A burst that has started continues.
    if (!policy_.interleave && bursts_[i].sent > 0) {
      candidates = {i};
      break;
    }
    if (candidates.empty() || policy_.out_of_order || policy_.interleave) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  const size_t index = candidates[random_() % candidates.size()];
  Burst& burst = bursts_[index];
  Beat beat{burst.id, std::vector<uint8_t>(beat_bytes_), Resp(policy_.faulty, random_), false};
  const uint64_t base = burst.address / beat_bytes_ * beat_bytes_ + uint64_t{burst.sent} * beat_bytes_;
  for (uint32_t lane = 0; lane < beat_bytes_; ++lane) {
    const uint64_t address = base + lane;
    beat.data[lane] = address < burst.address ? static_cast<uint8_t>(random_()) : MemoryByte(address);
  }
  beat.last = ++burst.sent == burst.beats;
  if (beat.last) bursts_.erase(bursts_.begin() + static_cast<ptrdiff_t>(index));
  return beat;
}

void AxiWriteMemory::AcceptAddress(uint64_t cycle) {
  ++addresses_;
  Complete(cycle);
}

void AxiWriteMemory::AcceptLastBeat(uint64_t cycle) {
  ++last_beats_;
  Complete(cycle);
}

void AxiWriteMemory::Complete(uint64_t cycle) {
  while (answered_ + ready_.size() < std::min(addresses_, last_beats_)) {
    const uint64_t ready = cycle + Between(policy_.min_latency, policy_.max_latency, random_);
    ready_.push_back(ready_.empty() ? ready : std::max(ready, ready_.back()));
  }
}

std::optional<model::AxiResp> AxiWriteMemory::Next(uint64_t cycle) {
  if (random_() % 16 < policy_.stall || ready_.empty() || ready_.front() > cycle) return std::nullopt;
  ready_.pop_front();
  ++answered_;
  return Resp(policy_.faulty, random_);
}

void AxiWriteMemory::Reset() {
  addresses_ = last_beats_ = answered_ = 0;
  ready_.clear();
}

}  // namespace vireo::verif
