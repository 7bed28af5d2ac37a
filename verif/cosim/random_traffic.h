// SPDX-License-Identifier: Apache-2.0
// Random RDMA WRITEs and READs in both directions between two hosts, with errors now and then, against a reference:
// what every work request's completion must be, and what every byte of every registered buffer must be.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {

struct TrafficStatistics {
  uint64_t messages = 0, bytes = 0;  // that completed with success
  uint64_t reads = 0;                // of them
  uint64_t refused = 0;              // with the status of an error of their own
  uint64_t flushed = 0;
  uint64_t reconnects = 0, revokes = 0, interrupts = 0;
  std::string Text() const;
};

// Goes on until an expectation fails; each is a GoogleTest failure with its reason.
class RandomTraffic {
 public:
  // `system` has two hosts and outlives the traffic. All choices come from `random`.
  RandomTraffic(RdmaSystem& system, const spec::Config& config, std::mt19937_64& random);
  ~RandomTraffic();

  // Posts until `bytes` and `messages` have been posted, waits for all of it, and compares all memory.
  void Run(uint64_t bytes, uint64_t messages);
  const TrafficStatistics& statistics() const { return statistics_; }

 private:
  // What is wrong with a work request. The peer refuses those in front of kFirstLocal, the own NIC the others.
  enum class Fault : uint8_t {
    kNone,
    kRemoteKey,
    kRemoteBounds,
    kRemoteRights,
    kRemotePd,
    kRemoteRevoked,
    kFirstLocal,
    kLocalKey = kFirstLocal,
    kLocalBounds,
    kLocalPd,
    kLocalRights,  // READ only: a WRITE needs none
    kLocalRevoked,
    kCount,
  };
  // Registered memory: sources, then for each pair targets of the peer's WRITEs and of own READs, then a tail that only
  // accesses across the end touch. What the buffer holds beside that must stay as it is.
  struct Region {
    size_t host = 0;
    host::DmaBuffer buffer;
    std::shared_ptr<verbs::MemoryRegion> region;  // null: revoked
    uint32_t lkey = 0, rkey = 0;
    uint64_t address = 0, length = 0;
    uint8_t page_shift = 12;
    size_t pairs = 1;
    std::vector<uint64_t> pages;     // offset of each in the buffer
    std::vector<uint8_t> reference;  // the whole buffer
    uint64_t source_bytes = 0, target_bytes = 0, tail = 0;

    uint64_t Place(uint64_t offset) const;  // in the buffer, of a byte of the region
    uint64_t Target(size_t pair, bool is_read) const {
      return source_bytes + (2 * (pair % pairs) + (is_read ? 1 : 0)) * target_bytes;
    }
  };
  struct Message {
    uint64_t wr_id = 0;
    uint32_t bytes = 0;
    uint64_t packets = 0;
    bool is_read = false;  // else WRITE
    std::vector<uint8_t> data;
    std::shared_ptr<Region> local, remote;  // of whom it names by lkey, by rkey
    uint64_t target_offset = 0;
    bool signaled = false;
    Fault fault = Fault::kNone;
    bool local_revoked = false, remote_revoked = false;  // while it was outstanding

    Region& target() const { return is_read ? *local : *remote; }
    bool is_remote_fault() const { return fault > Fault::kNone && fault < Fault::kFirstLocal; }
    bool is_local_fault() const { return fault >= Fault::kFirstLocal; }
    spec::IbWcStatus status = spec::IbWcStatus::kSuccess;
  };
  struct Queue {
    std::shared_ptr<verbs::CompletionQueue> cq;
    uint32_t cqe = 0;
    std::optional<uint16_t> vector;
    uint32_t outstanding = 0, users = 0;
  };
  struct Side {
    std::shared_ptr<verbs::QueuePair> qp;
    size_t queue = 0;  // of its host
    uint32_t max_send_wr = 0;
    bool signal_all = false, doomed = false;
    std::deque<Message> outstanding;
    std::vector<Message> failed;  // from the first one that did not succeed on
  };
  struct Pair {
    std::array<Side, 2> side;
    uint32_t path_mtu = 0;
    bool failing = false, ended_by_us = false;
  };
  struct Host {
    std::vector<std::shared_ptr<verbs::ProtectionDomain>> pds;  // the second one's regions are foreign
    std::vector<Queue> queues;
    std::vector<std::shared_ptr<Region>> regions, revoked;
    // No WRITE by the peer; no READ by the peer; no local WRITE; of another PD.
    std::shared_ptr<Region> read_only, write_only, constant, foreign;
    uint64_t bytes = 0, packets = 0;  // outstanding towards the peer, by WRITEs of its own and by READs of the peer's
  };

  uint64_t Below(uint64_t bound) { return (random_() >> 32) % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  uint32_t RandomSize(uint32_t path_mtu);
  bool ok() const;
  void Fail(const std::string& what);

  // One that nobody may use needs targets of one pair only.
  std::shared_ptr<Region> MakeRegion(size_t host, size_t pd, uint32_t access, size_t pairs = 1);
  void MakeQueues(size_t host);
  void Connect(size_t number);
  // False: not now.
  bool Post(size_t number, size_t side, Fault fault, bool closing);
  void Burst();
  void Revoke();
  // Until nothing is outstanding, then both queue pairs end and others take their place.
  void Reconnect(size_t number);
  void Judge(size_t number);
  void Harvest();
  void Complete(size_t host, size_t queue, const spec::RdmaCqReq& completion);
  void Succeed(Side& side, size_t host, const Message& message);
  void Release(Side& side, size_t host, const Message& message);
  void PollEvents();
  void Step();
  // Connects anew what failed; what is not signaled shows its end by a later work request, which it posts. True:
  // nothing is outstanding.
  bool Settle();
  // Until done(), or fails after 20 ms of the simulation.
  template <typename Done>
  void StepUntil(const char* what, Done done);
  void CompareAll();
  std::string Name(size_t number, size_t side) const;

  RdmaSystem& system_;
  const spec::Config& config_;
  std::mt19937_64& random_;
  uint32_t largest_ = 0;
  bool with_errors_ = false;
  std::array<Host, 2> hosts_;
  std::vector<Pair> pairs_;
  std::map<std::pair<size_t, uint32_t>, std::pair<size_t, size_t>> by_qpn_;
  uint64_t next_wr_id_ = 1;
  uint64_t posted_bytes_ = 0, posted_messages_ = 0;
  TrafficStatistics statistics_;
};

}  // namespace vireo::sim
