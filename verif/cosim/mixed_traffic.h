// SPDX-License-Identifier: Apache-2.0
// SEND, RDMA WRITE, both with immediate data, RDMA READ and, if the devices have it, FETCH ADD over many queue pairs
// between two hosts, none of which may fail: every message must be delivered intact, once and in order per queue pair,
// whatever faults the link has. Some are fenced behind earlier READs, and some of those send the data that the READ
// returned. Each FETCH ADD counts those of its queue pair at the peer.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {

class MixedTraffic {
 public:
  struct Options {
    uint64_t messages = 1000;  // in total
    size_t pairs = 8;          // each sends in both directions
    uint32_t max_bytes = 6000;
    bool atomics = false;  // FETCH ADD too, if the devices have it
    uint8_t timeout = 5;   // of the connections; longer than the wire time of one window per pair
  };
  // `system` has two hosts and outlives the traffic. All choices come from `random`. Errors are failures of the running
  // GoogleTest.
  MixedTraffic(RdmaSystem& system, const Options& options, std::mt19937_64& random);

  // Runs until all messages are delivered, or an error.
  void Run();
  std::string Text() const;

 private:
  // Limit of unfinished messages per direction, and of completed ones whose data has not been checked.
  static constexpr uint64_t kWindow = 12;
  static constexpr uint64_t kPlaces = 2 * kWindow;
  static constexpr uint64_t kReceives = 8;

  struct Message {
    uint64_t number = 0;  // of its direction, from 0
    spec::IbWrOpcode opcode = spec::IbWrOpcode::kSend;
    uint32_t bytes = 0;
    const uint8_t* data = nullptr;  // its payload; constant
    uint64_t before = 0;            // what a FETCH ADD must return
    bool signaled = false;
    std::array<uint8_t, 4> immediate{};
  };
  // One direction of a pair.
  struct Direction {
    uint64_t posted = 0, completed = 0, arrived = 0, receives = 0, additions = 0;
    std::deque<Message> unfinished;  // without a completion at the sender
    std::deque<Message> unarrived;   // not yet seen at the receiver; no READs
    std::deque<Message> receiving;   // those of them that take a receive
    Message last;
  };

  uint64_t Below(uint64_t bound) { return (random_() >> 32) % bound; }
  bool ok() const;
  void Fail(const std::string& what);
  void PostReceives(size_t pair, size_t to);
  bool Post(size_t pair, size_t from);
  void Harvest(size_t host);
  void Sent(size_t pair, size_t from, const spec::RdmaCqReq& completion);
  void Received(size_t pair, size_t to, const spec::RdmaCqReq& completion);
  // Checks data that arrived by WRITE, and data that a READ or FETCH ADD returned to its requester.
  void CheckWritten(size_t pair, size_t to, const Message& message);
  void CheckRead(size_t pair, size_t reader, const Message& message);
  // Places in a side's memory for the peer's WRITEs, its own READs and its receives.
  uint64_t WritePlace(uint64_t message) const { return (2 + message % kPlaces) * options_.max_bytes; }
  uint64_t ReadPlace(uint64_t message) const { return (2 + kPlaces + message % kPlaces) * options_.max_bytes; }
  // The number that the peer's FETCH ADDs change.
  uint64_t CounterPlace() const { return (ReceivePlace(0) + kReceives * options_.max_bytes + 7) / 8 * 8; }
  uint64_t ReceivePlace(uint64_t receive) const { return (2 + 2 * kPlaces + receive % kReceives) * options_.max_bytes; }

  RdmaSystem& system_;
  const Options options_;
  std::mt19937_64& random_;
  std::vector<std::unique_ptr<ConnectedPair>> pairs_;
  std::vector<std::array<Direction, 2>> directions_;  // by pair and sender
  uint64_t posted_ = 0, bytes_ = 0;
};

}  // namespace vireo::sim
