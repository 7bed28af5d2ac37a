// SPDX-License-Identifier: Apache-2.0
// SEND, RDMA WRITE, both with immediate data, and RDMA READ over many queue pairs between two hosts, none of which may
// fail: every message must be delivered whole, once and in the order of its queue pair, whatever the link does. Some
// wait for the READs in front of them, and some of those pass on what the READ brought.
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
    uint64_t messages = 1000;  // in all
    size_t pairs = 8;          // each sends both ways
    uint32_t max_bytes = 6000;
    uint8_t timeout = 5;  // of the connections; longer than a window of every pair takes on the wire
  };
  // `system` has two hosts and outlives the traffic. All choices come from `random`. What goes wrong is a failure of
  // the GoogleTest that runs.
  MixedTraffic(RdmaSystem& system, const Options& options, std::mt19937_64& random);

  // Until all messages are delivered, or something went wrong.
  void Run();
  std::string Text() const;

 private:
  // At most so many are unfinished per direction, and as many may be done whose bytes nobody has looked at.
  static constexpr uint64_t kWindow = 12;
  static constexpr uint64_t kPlaces = 2 * kWindow;
  static constexpr uint64_t kReceives = 8;

  struct Message {
    uint64_t number = 0;  // of its direction, from 0
    spec::IbWrOpcode opcode = spec::IbWrOpcode::kSend;
    uint32_t bytes = 0;
    const uint8_t* data = nullptr;  // what it carries; nobody writes there
    bool signaled = false;
    std::array<uint8_t, 4> immediate{};
  };
  // From one end of a pair to the other.
  struct Direction {
    uint64_t posted = 0, completed = 0, arrived = 0, receives = 0;
    std::deque<Message> unfinished;  // without a completion at the sender
    std::deque<Message> unarrived;   // as the receiver has not seen them; no READs
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
  // What arrived by WRITE, and what came by READ to who asked for it.
  void CheckWritten(size_t pair, size_t to, const Message& message);
  void CheckRead(size_t pair, size_t reader, const Message& message);
  // Where in a side's memory its peer writes, and where its own READs and receives go.
  uint64_t WritePlace(uint64_t message) const { return (2 + message % kPlaces) * options_.max_bytes; }
  uint64_t ReadPlace(uint64_t message) const { return (2 + kPlaces + message % kPlaces) * options_.max_bytes; }
  uint64_t ReceivePlace(uint64_t receive) const { return (2 + 2 * kPlaces + receive % kReceives) * options_.max_bytes; }

  RdmaSystem& system_;
  const Options options_;
  std::mt19937_64& random_;
  std::vector<std::unique_ptr<ConnectedPair>> pairs_;
  std::vector<std::array<Direction, 2>> directions_;  // by pair and sender
  uint64_t posted_ = 0, bytes_ = 0;
};

}  // namespace vireo::sim
