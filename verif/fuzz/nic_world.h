// SPDX-License-Identifier: Apache-2.0
// Two hosts with a NIC each, for targets that attack host 0, and a background connection between them that must not be
// affected: WRITEs in both directions whose completions and data must arrive. Building it is slow, so it is reused and
// rebuilt after every kInputs inputs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {

class NicWorld {
 public:
  static constexpr uint64_t kInputs = 500;
  static constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;

  // The shared world with this ring format, for the next input. Its device is set at compile time (VIREO_FUZZ_DEVICE).
  static NicWorld& Next(bool packed = false);

  RdmaSystem& system() { return *system_; }
  RdmaHost& attacked() { return system_->host(0); }

  // Starts one background WRITE in each direction.
  void PostGood();
  // Expects them to complete, and correct memory contents: of the background connection, and of all memory that an
  // attack may not reach. Also fails on protocol violations, DMA outside windows, and differences between model and
  // RTL.
  void ExpectGood();
  // Creates an unconnected victim queue pair on host 0.
  std::shared_ptr<verbs::QueuePair> MakeVictim(spec::IbQpType type);
  // The region that peers may read and write: slightly less than three pages.
  const verbs::MemoryRegion& region() const { return *region_; }
  // Forbidden device addresses on host 0: a page that no device may access, and the background connection's memory.
  uint64_t vault() const { return vault_->address(); }
  uint64_t good_address() const { return good_->side[0].memory->address(); }
  // DMA traffic of that memory, and the expected traffic of the started WRITEs without retransmissions.
  HostMemory::Traffic good_traffic();
  const HostMemory::Traffic& posted() const { return posted_; }
  void PollVictims();

 private:
  void Build();

  bool packed_ = false;
  std::unique_ptr<RdmaSystem> system_;
  std::unique_ptr<ConnectedPair> good_;
  std::array<std::vector<uint8_t>, 2> expected_;
  std::array<std::deque<uint64_t>, 2> outstanding_;
  std::shared_ptr<verbs::ProtectionDomain> pd_;
  std::shared_ptr<verbs::CompletionQueue> cq_;
  host::DmaBuffer memory_, vault_;
  HostMemory::Traffic posted_;
  std::vector<uint8_t> before_;
  std::shared_ptr<verbs::MemoryRegion> region_;
  uint64_t inputs_ = 0, next_wr_id_ = 0;
};

}  // namespace vireo::sim
