// SPDX-License-Identifier: Apache-2.0
// Two users of one NIC: one that only wants its throughput, and one that is after everybody else. Both work by
// themselves in simulated time, whatever the test does meanwhile: they post, poll and ring from the scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/topology/rdma_system.h"
#include "sim/traffic/raw_queue.h"
#include "verif/cosim/hostile_program.h"

namespace vireo::sim {

// WRITEs both ways over a connected pair, at a pace or as many under way as there is room for. Every completion and, at
// the end, every byte is checked. Outlives every run of the system that follows.
class SteadyWrites final : private Scheduler::Client {
 public:
  struct Options {
    uint32_t bytes = 4096;     // of a message
    uint64_t messages = 0;     // each way; 0: until Stop()
    size_t depth = 32;         // under way at most, each way
    Picoseconds interval = 0;  // of a message; 0: as soon as there is room
    Picoseconds poll = 200 * kPicosecondsPerNanosecond;
  };
  // `pair` has at least 2 * depth messages of memory.
  SteadyWrites(RdmaSystem& system, ConnectedPair& pair, const Options& options, std::mt19937_64& random);

  void Start();
  // Posts no more; is done when what is under way has completed.
  void Stop() { is_stopping_ = true; }
  bool is_done() const { return is_started_ && open_ways_ == 0; }
  // From the start to the last completion of messages from host 0 (1). Meaningless before is_done().
  Picoseconds duration(size_t from) const { return way_.at(from).end - begin_; }
  // Of both ways together.
  uint64_t completed() const { return way_[0].completed + way_[1].completed; }
  // Empty, or the first thing that went wrong. When it is done and everything has arrived: all memory counts, too.
  std::string Error();

 private:
  struct Way {
    uint64_t posted = 0, completed = 0;
    Picoseconds end = 0;
    std::vector<uint8_t> source, target;  // what must be in the sender's first half, and in the receiver's second one
  };
  void OnTime(uint64_t cookie) override;
  bool Harvest(size_t from);
  bool Post(size_t from);
  void Fail(size_t from, const std::string& what);

  RdmaSystem& system_;
  ConnectedPair& pair_;
  const Options options_;
  const Scheduler::ClientNumber client_;
  std::array<Way, 2> way_;
  Picoseconds begin_ = 0;
  unsigned open_ways_ = 0;
  bool is_started_ = false, is_stopping_ = false;
  std::string error_;
};

// Queue pairs on host 0, connected to host 1, whose rings, work requests and doorbells a hostile program owns, as a
// client of host/service owns them: it writes into that memory what it likes, while the owner of the NIC confines each
// queue to the tenant's memory (SET_WINDOW) and makes a new one when it asks for one. Its far ends are its own as well.
class HostileTenant final : private Scheduler::Client {
 public:
  struct Options {
    HostileProgram::Attack attack = HostileProgram::Attack::kEverything;
    size_t queue_pairs = 4;
    Picoseconds doorbell = 50 * kPicosecondsPerNanosecond;  // one in that time
  };
  // All choices come from `random`. Outlives every run of the system that follows.
  HostileTenant(RdmaSystem& system, const Options& options, OthersThings others, std::mt19937_64 random);

  // Its queue pairs. Empty, or what was refused. The simulation runs.
  std::string MakeQueues();
  void Start();
  void Stop() { is_stopping_ = true; }
  // The next queue pair in turn ends and is made anew, by commands. Empty, or what was refused.
  std::string RenewOne();
  const HostileProgram::Counts& counts() const { return program_.counts(); }
  uint64_t renewals() const { return renewals_; }

 private:
  struct Part {
    std::unique_ptr<ConnectedPair> pair;
    HostileProgram::Own own;  // without queues: it is being made
  };

  void OnTime(uint64_t cookie) override;
  std::string Make(Part& part);

  RdmaSystem& system_;
  const Options options_;
  HostileProgram program_;
  const Scheduler::ClientNumber client_;
  std::deque<Part> parts_;
  size_t next_renewal_ = 0;
  bool is_stopping_ = false, is_running_ = false;
  uint64_t renewals_ = 0;
};

}  // namespace vireo::sim
