// SPDX-License-Identifier: Apache-2.0
#include "sim/nic/trace_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace vireo::sim {

namespace {

constexpr size_t kLanes = 4;

// Little-endian, up to 8 bytes.
uint64_t Load(const uint8_t* bytes, size_t count) {
  uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&word, bytes, count);
  } else {
    for (size_t i = 0; i < count; ++i) word |= uint64_t{bytes[i]} << 8 * i;
  }
  return word;
}

}  // namespace

uint64_t HashBytes(uint64_t hash, std::span<const uint8_t> bytes) {
  hash = HashWord(hash, bytes.size());
  // Long data: four words at a time, without dependencies between them.
  if (bytes.size() >= kLanes * 8) {
    std::array<uint64_t, kLanes> lanes = {hash, hash + 1, hash + 2, hash + 3};
    for (; bytes.size() >= kLanes * 8; bytes = bytes.subspan(kLanes * 8)) {
      for (size_t i = 0; i < kLanes; ++i) lanes[i] = HashWord(lanes[i], Load(bytes.data() + i * 8, 8));
    }
    for (const uint64_t lane : lanes) hash = HashWord(hash, lane);
  }
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) hash = HashWord(hash, Load(bytes.data(), 8));
  return HashWord(hash, bytes.empty() ? 0 : Load(bytes.data(), bytes.size()));
}

uint64_t ContentHash(const BoundaryEvent& event) {
  const uint64_t what = static_cast<uint64_t>(event.kind) << 40 | uint64_t{event.status} << 32 | event.bytes;
  return HashBytes(HashWord(HashWord(what, event.address), event.id), event.payload);
}

void TraceHash::OnEvent(const BoundaryEvent& event) {
  const size_t index = size_t{event.nic} * kStreams + static_cast<size_t>(event.stream);
  if (index >= chains_.size()) chains_.resize((size_t{event.nic} + 1) * kStreams);
  Chain& chain = chains_[index];
  const uint64_t content = ContentHash(event);
  chain.content = HashWord(chain.content, content);
  chain.hash = HashWord(HashWord(chain.hash, event.cycle), content);
  ++chain.events;
  ++events_;
}

// Includes the index: the same events of another NIC give another hash.
template <typename Select>
uint64_t TraceHash::Combine(Select select) const {
  uint64_t hash = 0;
  for (size_t i = 0; i < chains_.size(); ++i) {
    if (chains_[i].events != 0) hash = HashWord(HashWord(HashWord(hash, i + 1), chains_[i].events), select(chains_[i]));
  }
  return hash;
}

uint64_t TraceHash::hash() const {
  return Combine([](const Chain& chain) { return chain.hash; });
}

uint64_t TraceHash::content_hash() const {
  return Combine([](const Chain& chain) { return chain.content; });
}

}  // namespace vireo::sim
