// SPDX-License-Identifier: Apache-2.0
// Memory behind an AXI4 port for the DMA tests: as slow, unordered and faulty as AXI allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "model/dma/dma_split.h"

namespace vireo::verif {

// Contents of memory that was never written.
uint8_t MemoryByte(uint64_t address);

struct AxiPolicy {
  uint64_t min_latency = 1;  // cycles from the acceptance of a burst to its first beat (its answer, if it is a write)
  uint64_t max_latency = 1;
  unsigned stall = 0;         // how often it pauses for a cycle, in 16ths
  bool out_of_order = false;  // bursts overtake each other
  bool interleave = false;    // and mix their beats
  unsigned faulty = 0;        // beats, or answers to writes, with an error; in 1024ths
};

// Answers read bursts with MemoryByte, at most one beat per cycle.
class AxiReadMemory {
 public:
  struct Beat {
    uint32_t id;
    std::vector<uint8_t> data;  // lanes before the burst's first byte are random
    model::AxiResp resp;
    bool last;
  };

  // `random` outlives the object.
  AxiReadMemory(uint32_t beat_bytes, const AxiPolicy& policy, std::mt19937_64& random)
      : beat_bytes_(beat_bytes), policy_(policy), random_(random) {}

  void Accept(uint64_t cycle, uint32_t id, uint64_t address, uint32_t beats);
  std::optional<Beat> Next(uint64_t cycle);

  size_t outstanding() const { return bursts_.size(); }
  // Discards bursts in flight.
  void Reset() { bursts_.clear(); }

 private:
  struct Burst {
    uint32_t id;
    uint64_t address;
    uint32_t beats;
    uint64_t ready;  // cycle
    uint32_t sent = 0;
  };

  const uint32_t beat_bytes_;
  const AxiPolicy policy_;
  std::mt19937_64& random_;
  std::deque<Burst> bursts_;  // in the order of acceptance
};

// Answers write bursts in order, as they come under one ID; does not keep the data. Beats may come before their burst's
// address.
class AxiWriteMemory {
 public:
  AxiWriteMemory(const AxiPolicy& policy, std::mt19937_64& random) : policy_(policy), random_(random) {}

  void AcceptAddress(uint64_t cycle);
  void AcceptLastBeat(uint64_t cycle);
  std::optional<model::AxiResp> Next(uint64_t cycle);

  // Bursts with an address and without an answer.
  size_t outstanding() const { return static_cast<size_t>(addresses_ - answered_); }
  void Reset();

 private:
  void Complete(uint64_t cycle);

  const AxiPolicy policy_;
  std::mt19937_64& random_;
  uint64_t addresses_ = 0;
  uint64_t last_beats_ = 0;
  uint64_t answered_ = 0;
  std::deque<uint64_t> ready_;  // cycles of the answers to bursts that are complete
};

}  // namespace vireo::verif
