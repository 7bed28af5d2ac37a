// SPDX-License-Identifier: Apache-2.0
// One hash over all events at the seams of all NICs: equal seeds must give equal hashes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/nic/nic.h"

namespace vireo::sim {

// Not cryptographic; the same on every machine and compiler.
constexpr uint64_t HashWord(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}
uint64_t HashBytes(uint64_t hash, std::span<const uint8_t> bytes);
// Over kind, status, address, id, bytes and payload; neither cycle nor NIC.
uint64_t ContentHash(const BoundaryEvent& event);

// Order-sensitive within each stream of each NIC. Between streams only the cycle stamps matter: the order in which a
// simulator reports two streams of one cycle is not a property of the device, so model and RTL can have equal hashes.
class TraceHash final : public EventSink {
 public:
  void OnEvent(const BoundaryEvent& event) override;

  uint64_t hash() const;          // events with their cycles
  uint64_t content_hash() const;  // events without cycles: the same for devices that differ only in time
  uint64_t events() const { return events_; }

 private:
  struct Chain {
    uint64_t hash = 0;
    uint64_t content = 0;
    uint64_t events = 0;
  };

  template <typename Select>
  uint64_t Combine(Select select) const;

  std::vector<Chain> chains_;  // by NIC and stream
  uint64_t events_ = 0;
};

}  // namespace vireo::sim
