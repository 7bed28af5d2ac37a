// SPDX-License-Identifier: Apache-2.0
// Where the headers of datagrams are: the device's completion does not say whether a datagram came over IPv4 or IPv6,
// its header does, which the device writes to the first bytes of the receive. UCX depends on it (ToServiceLevel).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "spec/gen/vireo_spec.h"

namespace vireo::ibverbs {

// Receives of datagram queue pairs that have a receive queue of their own; they complete in the order of posting.
// Thread-safe; its lock is the last in the order of locks.
class DatagramReceives {
 public:
  // Before the receive is posted. `address`: where its header will be; 0: not in one piece. At most `limit` are kept:
  // those that can be outstanding.
  void Add(uint32_t qpn, uint64_t wr_id, uint64_t address, size_t limit);
  // The last one was not posted.
  void RemoveLast(uint32_t qpn);
  // The queue pair was reset or destroyed.
  void Forget(uint32_t qpn);
  // Of a successful receive: where its header is, or 0. Those before it have completed, too.
  uint64_t Take(const spec::RdmaCqReq& completion);

 private:
  struct Receive {
    uint64_t wr_id = 0, address = 0;
  };
  std::mutex lock_;
  std::unordered_map<uint32_t, std::deque<Receive>> receives_;
};

}  // namespace vireo::ibverbs
