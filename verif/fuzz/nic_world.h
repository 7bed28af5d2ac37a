// SPDX-License-Identifier: Apache-2.0
// Two hosts with a NIC each for targets that attack one of them, host 0, and a connection between them that must not
// notice: WRITEs both ways whose completions must come and whose bytes must arrive. Building it takes long, so it stays
// from one input to the next, and is built anew after every kInputs of them.
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

  // The one world with this kind of rings, for the next input. Its device is what the target was compiled for
  // (VIREO_FUZZ_DEVICE).
  static NicWorld& Next(bool packed = false);

  RdmaSystem& system() { return *system_; }
  RdmaHost& attacked() { return system_->host(0); }

  // Starts one WRITE each way.
  void PostGood();
  // They complete, and all memory is as it should be: in the good ones' and outside of what an attack may reach. Broken
  // rules, DMA outside of windows, and differences between model and RTL count.
  void ExpectGood();
  // A queue pair for victims on host 0. Not connected.
  std::shared_ptr<verbs::QueuePair> MakeVictim(spec::IbQpType type);
  // What peers may read and write: not quite three pages.
  const verbs::MemoryRegion& region() const { return *region_; }
  // Device addresses on host 0 for who is not allowed there: a page that no device may touch, and the good ones'
  // memory.
  uint64_t vault() const { return vault_->address(); }
  uint64_t good_address() const { return good_->side[0].memory->address(); }
  // What DMA has done with that memory, and what it had to do for the WRITEs that were started, if none was sent twice.
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
