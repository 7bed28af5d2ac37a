// SPDX-License-Identifier: Apache-2.0
// SEND, RDMA WRITE, both with immediate data, and RDMA READ over many queue pairs between two hosts, none of which may
// fail: every message must be delivered intact, once and in order per queue pair, whatever faults the link has. Some
// are fenced behind earlier READs, and some of those send the data that the READ returned. On request everything else
// that the devices have, too: atomic operations on a number of each queue pair, which the reference follows; ATOMIC
// WRITE; FLUSH, behind whose completion all earlier data is in the peer's memory; memory windows that each side binds
// for its peer, whose WRITEs use them, until either side invalidates them; and receives that all queue pairs of host 1
// share.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
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
    bool every_operation = false;  // of the devices
    uint8_t timeout = 5;           // of the connections; longer than the wire time of one window per pair
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
    uint64_t before = 0;            // what an atomic operation must return
    bool signaled = false;
    std::array<uint8_t, 4> immediate{};
    std::optional<size_t> window{};  // it uses, ends or binds: of the peer; of a bind and local invalidate its own
  };
  // A memory window of a side to where its peer's WRITEs go. Only what the peer's work requests and this side's
  // completions make certain is used: bound by a completed bind, ended when nothing of the peer is under way to it.
  enum class WindowState : uint8_t { kUnbound, kBinding, kBound, kEnding };
  struct Window {
    std::shared_ptr<verbs::MemoryWindow> window;
    WindowState state = WindowState::kUnbound;
    uint8_t key = 0;          // low bits of the last one
    bool zero_based = false;  // type 2 only
  };
  struct Windows {
    std::shared_ptr<verbs::MemoryRegion> region;  // of the places of the peer's WRITEs
    std::array<Window, 2> all;                    // of type 1 and 2; no region: there are none
  };
  // One direction of a pair.
  struct Direction {
    uint64_t posted = 0, completed = 0, arrived = 0, receives = 0;
    uint64_t number = 0;             // at the peer, after all atomic operations that were posted
    std::deque<Message> unfinished;  // without a completion at the sender
    std::deque<Message> unarrived;   // not yet seen at the receiver; only what a receive's completion shows
    std::deque<Message> receiving;   // those of them that take a receive
    Message last;
    Windows windows;  // of the sender
  };

  uint64_t Below(uint64_t bound) { return (random_() >> 32) % bound; }
  bool ok() const;
  void Fail(const std::string& what);
  void PostReceives(size_t pair, size_t to);
  void PostSharedReceives();
  bool Post(size_t pair, size_t from);
  // Completes a work request that changes or uses a window, of this message. False: no window is in a state for it.
  bool UseWindow(size_t pair, size_t from, Message& message, verbs::SendRequest& request);
  bool IsInUse(size_t pair, size_t owner, size_t window) const;
  void MakeWindows(size_t pair, size_t side);
  uint32_t KeyOf(size_t pair, size_t owner, size_t window) const;
  void Harvest(size_t host);
  void Sent(size_t pair, size_t from, const spec::RdmaCqReq& completion);
  void Received(size_t pair, size_t to, const spec::RdmaCqReq& completion);
  // Checks data that arrived by WRITE or ATOMIC WRITE, and what a completion vouches for: the data that a READ or
  // atomic operation returned to its requester, what an ATOMIC WRITE stored, all that was written before a FLUSH; and
  // notes the end of a work request on a window.
  void CheckWritten(size_t pair, size_t to, const Message& message);
  void CheckAnswered(size_t pair, size_t requester, const Message& message);
  // Places in a side's memory for the peer's WRITEs, its own READs and its receives.
  uint64_t WritePlace(uint64_t message) const { return (2 + message % kPlaces) * options_.max_bytes; }
  uint64_t ReadPlace(uint64_t message) const { return (2 + kPlaces + message % kPlaces) * options_.max_bytes; }
  // The number that the peer's atomic operations change.
  uint64_t NumberPlace() const { return (ReceivePlace(0) + kReceives * options_.max_bytes + 7) / 8 * 8; }
  uint64_t ReceivePlace(uint64_t receive) const { return (2 + 2 * kPlaces + receive % kReceives) * options_.max_bytes; }

  RdmaSystem& system_;
  const Options options_;
  std::mt19937_64& random_;
  std::vector<std::unique_ptr<ConnectedPair>> pairs_;
  std::vector<std::array<Direction, 2>> directions_;  // by pair and sender
  std::vector<spec::IbWrOpcode> opcodes_;             // to choose from
  std::shared_ptr<verbs::SharedReceiveQueue> srq_;    // of host 1; null: its queue pairs have their own receives
  std::set<uint64_t> shared_;                         // receives in it, or taken, that are not complete
  uint64_t shared_receives_ = 0;
  uint64_t posted_ = 0, bytes_ = 0;
};

}  // namespace vireo::sim
