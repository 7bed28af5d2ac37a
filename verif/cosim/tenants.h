// SPDX-License-Identifier: Apache-2.0
// Two users of one NIC: a well-behaved one and a hostile one. Both run in simulated time by themselves: they post, poll
// and ring from the scheduler.
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

// WRITEs in both directions over a connected pair, at a fixed pace or with a fixed number outstanding. Checks every
// completion and, at the end, every byte. Must outlive every later run of the system.
class SteadyWrites final : private Scheduler::Client {
 public:
  struct Options {
    uint32_t bytes = 4096;     // per message
    uint64_t messages = 0;     // per direction; 0: until Stop()
    size_t depth = 32;         // maximum outstanding per direction
    Picoseconds interval = 0;  // per message; 0: as soon as there is room
    Picoseconds poll = 200 * kPicosecondsPerNanosecond;
  };
  // `pair` needs 2 * depth messages of memory.
  SteadyWrites(RdmaSystem& system, ConnectedPair& pair, const Options& options, std::mt19937_64& random);

  void Start();
  // Stops posting; done when all outstanding messages have completed.
  void Stop() { is_stopping_ = true; }
  bool is_done() const { return is_started_ && open_ways_ == 0; }
  // Time from the start to the last completion of messages from host 0 (1). Only valid when is_done().
  Picoseconds duration(size_t from) const { return way_.at(from).end - begin_; }
  // Of both directions together.
  uint64_t completed() const { return way_[0].completed + way_[1].completed; }
  // The first error; empty: none. When done and all data has arrived, includes a check of all memory.
  std::string Error();

 private:
  struct Way {
    uint64_t posted = 0, completed = 0;
    Picoseconds end = 0;
    std::vector<uint8_t> source, target;  // expected contents of the sender's first and the receiver's second half
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

// Queue pairs on host 0, connected to host 1, whose rings, work requests and doorbells a hostile program owns, like a
// client of host/service: it writes anything to that memory; the NIC's owner confines each queue to the tenant's memory
// (SET_WINDOW) and replaces queue pairs at its request. It owns the remote ends, too.
class HostileTenant final : private Scheduler::Client {
 public:
  struct Options {
    HostileProgram::Attack attack = HostileProgram::Attack::kEverything;
    size_t queue_pairs = 4;
    Picoseconds doorbell = 50 * kPicosecondsPerNanosecond;  // period
  };
  // All choices come from `random`. Must outlive every later run of the system.
  HostileTenant(RdmaSystem& system, const Options& options, OthersThings others, std::mt19937_64 random);

  // Creates its queue pairs. Runs the simulation. Returns an error message, empty if none.
  std::string MakeQueues();
  void Start();
  void Stop() { is_stopping_ = true; }
  // Replaces the next queue pair, round-robin, by commands. Returns an error message, empty if none.
  std::string RenewOne();
  const HostileProgram::Counts& counts() const { return program_.counts(); }
  uint64_t renewals() const { return renewals_; }

 private:
  struct Part {
    std::unique_ptr<ConnectedPair> pair;
    HostileProgram::Own own;  // without queues: being replaced
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

// Keeps every rule, and makes each received frame cost as many accesses of host memory as it can: SENDs to receives of
// many short elements, or READs to such destinations, in both directions, as many outstanding as there is room for.
class ElementTenant final : private Scheduler::Client {
 public:
  struct Options {
    size_t queue_pairs = 4;
    uint32_t elements = 1;       // of each receive, or of each READ
    uint32_t element_bytes = 1;  // of each; the last one may be larger, see message_bytes
    uint32_t message_bytes = 0;  // 0: elements * element_bytes
    bool reads = false;          // READs instead of SENDs
    uint8_t max_rd_atomic = 1;   // READs under way per queue pair and direction
    spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
    Picoseconds poll = 200 * kPicosecondsPerNanosecond;
  };
  ElementTenant(RdmaSystem& system, const Options& options);

  // Creates its queue pairs. Runs the simulation. Returns an error message, empty if none.
  std::string Make();
  void Start();
  // Stops posting.
  void Stop() { is_stopping_ = true; }
  uint64_t completed() const { return completed_; }  // messages
  std::string Error() const { return error_; }

 private:
  void OnTime(uint64_t cookie) override;
  verbs::Status PostReceive(ConnectedPair::Side& side);
  verbs::Status PostMessage(ConnectedPair& pair, size_t from);
  std::vector<spec::RdmaSge> Elements(const ConnectedPair::Side& side) const;

  RdmaSystem& system_;
  const Options options_;
  const uint32_t message_bytes_;
  const Scheduler::ClientNumber client_;
  std::vector<std::unique_ptr<ConnectedPair>> pairs_;
  uint64_t completed_ = 0;
  bool is_stopping_ = false;
  std::string error_;
};

// Creates, connects and destroys queue pairs and completion queues of host 0, and registers and deregisters memory, one
// command after the other. Its data path has nothing to do but what `Options` says.
class CommandTenant {
 public:
  struct Options {
    size_t posts = 0;  // WRITEs before each queue pair is destroyed; their peer does not exist
  };
  CommandTenant(RdmaSystem& system, const Options& options) : system_(system), options_(options) {}

  // Each object once. Runs the simulation. Returns an error message, empty if none.
  std::string Round();
  uint64_t rounds() const { return rounds_; }
  // The longest time to destroy a queue pair with its two queues, and to deregister memory.
  uint64_t longest_destroy_ns() const { return longest_destroy_ns_; }
  uint64_t longest_deregister_ns() const { return longest_deregister_ns_; }

 private:
  RdmaSystem& system_;
  const Options options_;
  uint64_t rounds_ = 0;
  uint64_t longest_destroy_ns_ = 0, longest_deregister_ns_ = 0;
};

}  // namespace vireo::sim
