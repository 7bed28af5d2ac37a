// SPDX-License-Identifier: Apache-2.0
// What a key gives, for the monitor's pictures of keys that work requests make: memory windows and fast registrations.
#pragma once

#include <cstdint>

#include "sim/monitor/packet_rules.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

inline uint32_t IndexOf(uint32_t key) { return spec::RdmaKey::FromWord(key).index; }

// The access flag that a packet with this right needs; 0: no such key gives it.
inline uint32_t AccessOf(PacketRules::Right right) {
  switch (right) {
    case PacketRules::Right::kWrite: return spec::IbAccessFlags::kRemoteWrite;
    case PacketRules::Right::kRead: return spec::IbAccessFlags::kRemoteRead;
    case PacketRules::Right::kAtomic: return spec::IbAccessFlags::kRemoteAtomic;
    default: return 0;
  }
}

// Whether all of `bytes` from `address` on are among `length` from `first` on, which may end at 2^64.
inline bool IsInside(uint64_t first, uint64_t length, uint64_t address, uint64_t bytes) {
  const uint64_t offset = address - first;
  return address >= first && offset <= length && bytes <= length - offset;
}

}  // namespace vireo::sim::monitor
