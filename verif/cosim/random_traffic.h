// SPDX-License-Identifier: Apache-2.0
// Random RDMA WRITEs and READs in both directions between two hosts, with occasional errors, against a reference: the
// expected completion of every work request, and every byte of every registered buffer.
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
  uint64_t messages = 0, bytes = 0;  // completed successfully
  uint64_t reads = 0;                // of them
  uint64_t refused = 0;              // with an injected error
  uint64_t flushed = 0;
  uint64_t reconnects = 0, revokes = 0, interrupts = 0;
  std::string Text() const;
};

// Stops when an expectation fails; each is a GoogleTest failure with its reason.
class RandomTraffic {
 public:
  // `system` has two hosts and outlives the traffic. All choices come from `random`.
  RandomTraffic(RdmaSystem& system, const spec::Config& config, std::mt19937_64& random);
  ~RandomTraffic();

  // Posts until `bytes` and `messages` have been posted, waits for all of it, and compares all memory.
  void Run(uint64_t bytes, uint64_t messages);
  const TrafficStatistics& statistics() const { return statistics_; }

 private:
  // The injected error of a work request. The peer refuses those before kFirstLocal, the local NIC the others.
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
  // accesses across the end touch. The rest of the buffer must not change.
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

    uint64_t Place(uint64_t offset) const;  // offset in the buffer of a byte of the region
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
    std::shared_ptr<Region> local, remote;  // named by lkey, by rkey
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
    std::vector<Message> failed;  // from the first failed one on
  };
  struct Pair {
    std::array<Side, 2> side;
    uint32_t path_mtu = 0;
    bool failing = false, ended_by_us = false;
  };
  struct Host {
    std::vector<std::shared_ptr<verbs::ProtectionDomain>> pds;  // regions of the second one are foreign
    std::vector<Queue> queues;
    std::vector<std::shared_ptr<Region>> regions, revoked;
    // Regions without remote write; without remote read; without local write; of another PD.
    std::shared_ptr<Region> read_only, write_only, constant, foreign;
    uint64_t bytes = 0, packets = 0;  // outstanding towards the peer, of its own WRITEs and the peer's READs
  };

  uint64_t Below(uint64_t bound) { return (random_() >> 32) % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  uint32_t RandomSize(uint32_t path_mtu);
  bool ok() const;
  void Fail(const std::string& what);

  // A region without rights has targets of one pair only.
  std::shared_ptr<Region> MakeRegion(size_t host, size_t pd, uint32_t access, size_t pairs = 1);
  void MakeQueues(size_t host);
  void Connect(size_t number);
  // False: not possible now.
  bool Post(size_t number, size_t side, Fault fault, bool closing);
  void Burst();
  void Revoke();
  // Waits until nothing is outstanding, then replaces both queue pairs.
  void Reconnect(size_t number);
  void Judge(size_t number);
  void Harvest();
  void Complete(size_t host, size_t queue, const spec::RdmaCqReq& completion);
  void Succeed(Side& side, size_t host, const Message& message);
  void Release(Side& side, size_t host, const Message& message);
  void PollEvents();
  void Step();
  // Reconnects failed pairs, and posts a signaled work request behind unsignaled ones to detect their completion. True:
  // nothing is outstanding.
  bool Settle();
  // Runs until done(); fails after 20 ms of simulated time.
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
