// SPDX-License-Identifier: Apache-2.0
// One guest's objects for one connection, and messages between two of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "host/verbs/quota.h"
#include "verif/sim/pvrdma/driver.h"

namespace vireo::sim::pvrdma {

inline constexpr uint32_t kPages = 8;
inline constexpr uint64_t kBytes = kPages * kPageBytes;
inline constexpr uint32_t kSignaled = kSendSignaled;

inline SendWqe Wqe(WrOpcode opcode, uint64_t wr_id, uint32_t flags = kSignaled) {
  return {.wr_id = wr_id, .opcode = opcode, .flags = flags};
}
inline SendWqe Remote(WrOpcode opcode, uint64_t wr_id, const Driver::Region& region, uint64_t offset,
                      uint32_t flags = kSignaled) {
  SendWqe wqe = Wqe(opcode, wr_id, flags);
  const RdmaPart part{.remote_addr = region.start + offset, .rkey = region.rkey};
  std::memcpy(wqe.part, &part, sizeof part);
  return wqe;
}

// One guest's objects for one connection.
struct Side {
  Side(Driver& own_driver, const DriverQpOptions& options, uint32_t cqe = 64)
      : driver(own_driver),
        pd(driver.CreatePd(options.context)),
        cq(driver, cqe, options.context),
        qp(driver, pd, cq, cq, options),
        region(driver.CreateRegion(pd, kPages)) {}
  uint8_t* data() { return region.buffer.data(); }
  // Without it the device uses the memory until that is gone, which resets the guest.
  void Destroy() {
    EXPECT_EQ(qp.Destroy(), 0u);
    EXPECT_EQ(cq.Destroy(), 0u);
    EXPECT_EQ(driver.Destroy(Command::kDestroyMr, region.handle), 0u);
    EXPECT_EQ(driver.Destroy(Command::kDestroyPd, pd), 0u);
  }

  Driver& driver;
  uint32_t pd;
  DriverCq cq;
  DriverQp qp;
  Driver::Region region;
};

// Objects of one guest, as many of each kind as it gets, and the memory of all of them.
class Hoard {
 public:
  explicit Hoard(Driver& driver) : driver_(driver) {}
  // Each until it is refused, which must be for want of room. Address handles and GIDs: none.
  verbs::Quota Take();
  void GiveBack();

 private:
  // False: no more.
  template <typename Request, typename Response>
  bool Make(Command command, const Request& request, Response& response);

  Driver& driver_;
  GuestBuffer page_, ring_, rings_;
  std::vector<uint32_t> pds_, mrs_, cqs_, qps_;
};
// How many a guest could have besides what it has; of queue pairs without one that is a shared receive queue.
verbs::Quota CountLeft(Driver& driver);

// In turn: the receive of one side, then the send of the other one.
void PingPong(Side& a, Side& b, int rounds, uint32_t bytes, bool interrupts);

}  // namespace vireo::sim::pvrdma
