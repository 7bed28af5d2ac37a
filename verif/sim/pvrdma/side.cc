// SPDX-License-Identifier: Apache-2.0
#include "verif/sim/pvrdma/side.h"

#include <vector>

namespace vireo::sim::pvrdma {

void PingPong(Side& a, Side& b, int rounds, uint32_t bytes, bool interrupts) {
  const auto half = static_cast<uint64_t>(kBytes / 2);
  for (int round = 0; round < rounds; ++round) {
    Side* sides[] = {&a, &b};
    for (size_t turn = 0; turn < 2; ++turn) {
      Side &from = *sides[turn], &to = *sides[1 - turn];
      const uint64_t id = static_cast<uint64_t>(round) * 2 + turn;
      std::memset(from.data(), static_cast<int>(id + 1), bytes);
      std::memset(to.data() + half, 0, bytes);
      to.qp.Receive({.wr_id = id | 1U << 31}, std::array{to.region.Element(half, static_cast<uint32_t>(half))});
      if (interrupts) to.cq.Arm();
      from.qp.Send(Wqe(WrOpcode::kSend, id), std::array{from.region.Element(0, bytes)});
      if (interrupts) {
        ASSERT_TRUE(to.driver.Await([&] { return to.driver.function().TakeInterrupt(kCqVector); }))
            << "round " << round;
        ASSERT_EQ(to.driver.TakeNotifications(), std::vector<uint32_t>{to.cq.handle()});
      }
      const auto received = to.cq.Next();
      ASSERT_TRUE(received.has_value()) << "round " << round;
      EXPECT_EQ(received->wr_id, id | 1U << 31);
      EXPECT_EQ(received->status, 0u);
      EXPECT_EQ(received->opcode, 128u);
      EXPECT_EQ(received->byte_len, bytes);
      EXPECT_EQ(received->qp, to.qp.qpn());
      EXPECT_EQ(std::memcmp(to.data() + half, from.data(), bytes), 0) << "round " << round;
      const auto sent = from.cq.Next();
      ASSERT_TRUE(sent.has_value()) << "round " << round;
      EXPECT_EQ(sent->wr_id, id);
      EXPECT_EQ(sent->status, 0u);
      EXPECT_EQ(sent->opcode, 0u);
    }
  }
}

}  // namespace vireo::sim::pvrdma
