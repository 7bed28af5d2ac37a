// SPDX-License-Identifier: Apache-2.0
// A program that attacks other users of a NIC through its own queues. It has only its memory, its doorbells, and what
// it can find out or guess about others. Independent of where it runs: in a simulation's process, or as a client of
// host/service in its own process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "host/driver/pci_function.h"
#include "sim/traffic/raw_ring.h"

namespace vireo::sim {

// Resources of others.
struct OthersThings {
  std::vector<uint64_t> addresses;  // device addresses; at least one
  std::vector<uint32_t> keys;       // of either host; at least one
};

class HostileProgram {
 public:
  enum class Attack : uint8_t {
    kDoorbells,     // rings and arms without work
    kDescriptors,   // descriptors and indices of any kind
    kRequests,      // valid descriptors; work requests are random or name resources of others
    kForeignPeers,  // requests that only the peer can refuse: keys, addresses and lengths of others
    kSends,         // to a receive queue of its own without receives
    kEverything,
  };
  static constexpr std::array<const char*, 6> kNames = {"doorbells",     "descriptors", "requests",
                                                        "foreign peers", "sends",       "everything"};
  // Number of work requests that its memory holds.
  static constexpr size_t kSlots = 64, kSlotBytes = 1024, kMemoryBytes = kSlots * kSlotBytes;

  struct Queue {
    RawRing ring;
    uint8_t bar = 0;
    uint64_t doorbell = 0;                                          // in the BAR
    unsigned doorbell_bytes = spec::VirtqNotificationData::kBytes;  // per doorbell
    bool is_completion = false;                                     // filled by its driver
    uint64_t position = 0;                                          // where the next entry goes
  };
  // One queue pair and its completion queue.
  struct Own {
    std::vector<Queue> queues;  // the send queue first
    std::span<uint8_t> memory;  // kMemoryBytes
    uint64_t address = 0;       // of it, for the device
    spec::RdmaSge region;       // all of it, by its key
    uint64_t remote_address = 0;
    uint32_t remote_key = 0;  // of the remote end, which it owns, too
  };
  struct Counts {
    uint64_t doorbells = 0, entries = 0;
  };

  HostileProgram(Attack attack, OthersThings others, std::mt19937_64 random);

  // Writes random values to one of the queues and rings. Does not wait.
  void Step(Own& own, host::PciFunction& function);
  const Counts& counts() const { return counts_; }
  uint64_t Below(uint64_t bound);

 private:
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  T OneOf(const std::vector<T>& all) {
    return all[Below(all.size())];
  }
  void Scribble(Own& own, Queue& queue, Attack attack);
  RawDescriptor AnyDescriptor(const Own& own, size_t slot);
  void MakeRequest(const Own& own, size_t slot, Attack attack);
  void Ring(const Queue& queue, bool is_wild, host::PciFunction& function);

  const Attack attack_;
  const OthersThings others_;
  std::mt19937_64 random_;
  Counts counts_;
};

}  // namespace vireo::sim
