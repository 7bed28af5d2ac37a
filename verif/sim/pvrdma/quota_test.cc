// SPDX-License-Identifier: Apache-2.0
// What one guest may have of a NIC that others share: shares, what the device reports of them, and a guest that takes
// all it gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "sim/pvrdma/shares.h"
#include "verif/sim/pvrdma/side.h"
#include "verif/sim/pvrdma/world.h"

namespace vireo::sim::pvrdma {
namespace {

using verbs::Quota;

constexpr uint32_t kNoMemory = ENOMEM, kInvalid = EINVAL;

// --- Shares

TEST(PvrdmaShares, GuestsAndProgramsHaveEqualShares) {
  const Quota capacity{.pds = 15, .mrs = 63, .pages = 1000, .ahs = 12, .cqs = 15, .qps = 14, .srqs = 4, .gids = 6};
  const std::vector<Limits> two(2);
  const auto shares = Divide(capacity, two);
  ASSERT_TRUE(shares.ok());
  const Quota third{.pds = 5, .mrs = 21, .pages = 333, .ahs = 4, .cqs = 5, .qps = 4, .srqs = 1, .gids = 3};
  EXPECT_EQ(shares->guests, (std::vector{third, third}));
  EXPECT_EQ(shares->programs, verbs::Less(capacity, verbs::Sum(third, third)));
  // GIDs are the guests' alone, up to 16 each.
  const auto many = Divide({.gids = 126}, two);
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many->guests[0].gids, 16u);
}

TEST(PvrdmaShares, AskedNumbersAreGivenAndTheRestIsShared) {
  const Quota capacity{.pds = 15, .qps = 14, .srqs = 4};
  const std::vector<Limits> guests = {{{&Quota::qps, 10}, {&Quota::srqs, 0}}, {}, {{&Quota::qps, 2}}};
  const auto shares = Divide(capacity, guests);
  ASSERT_TRUE(shares.ok());
  EXPECT_EQ(shares->guests[0].qps, 10u);
  EXPECT_EQ(shares->guests[1].qps, 1u);
  EXPECT_EQ(shares->guests[2].qps, 2u);
  EXPECT_EQ(shares->programs.qps, 1u);
  EXPECT_EQ(shares->guests[0].srqs, 0u);
  EXPECT_EQ(shares->guests[1].srqs, 1u);
  EXPECT_EQ(shares->guests[0].pds, 3u);
  const std::vector<Limits> greedy = {{{&Quota::qps, 14}}, {{&Quota::qps, 1}}};
  const auto refused = Divide(capacity, greedy);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().text, "qps: the guests have 15 together, the NIC has 14 for them");
}

// The profile does not report how many pages there are.
TEST(PvrdmaShares, ProfileRfcV2HasRegionsAndNoSharedReceiveQueues) {
  World world({.config = &spec::kNic1, .profile = spec::Profile::kRfcV2});
  world.Start();
  EXPECT_EQ(world.driver(0).caps().max_mr_size, uint64_t{spec::kNic1.num_translations} * kPageBytes);
  EXPECT_EQ(world.driver(0).caps().max_srq, 0u);
  Side a(world.driver(0), {}), b(world.driver(1), {});
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(1)});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = World::GidOf(0)});
  PingPong(a, b, 3, 600, true);
}

// --- Guests of one NIC

class PvrdmaQuota : public testing::Test {
 protected:
  PvrdmaQuota() {
    World::Options options{.config = &spec::kNic1, .guests = {0, 0, 1}};
    shares_ = DivideOf(options);
    options.quotas = shares_.guests;
    world_ = std::make_unique<World>(options);
    world_->Start();
  }
  // The first two guests' shares of NIC 0; the third one has all of NIC 1.
  static Shares DivideOf(const World::Options& options) {
    const World world(options);
    auto shares = Divide(const_cast<World&>(world).nic(0).capacity(), std::vector<Limits>(2));
    EXPECT_TRUE(shares.ok());
    return std::move(shares).value();
  }
  Shares shares_;
  std::unique_ptr<World> world_;
};

TEST_F(PvrdmaQuota, DeviceReportsTheGuestsOwnLimits) {
  const Quota& quota = shares_.guests[0];
  const DeviceCaps& caps = world_->driver(0).caps();
  EXPECT_GT(quota.qps, 1u);
  EXPECT_EQ(caps.max_qp, quota.qps + 1);  // with queue pair 1
  EXPECT_EQ(caps.max_cq, quota.cqs);
  EXPECT_EQ(caps.max_pd, quota.pds);
  EXPECT_EQ(caps.max_mr, quota.mrs);
  EXPECT_EQ(caps.max_mr_size, quota.pages * kPageBytes);
  EXPECT_EQ(caps.max_srq, quota.srqs);
  EXPECT_EQ(caps.gid_tbl_len, quota.gids);
  QueryPortResponse port;
  ASSERT_EQ(world_->driver(0).Execute(Command::kQueryPort, QueryPort{.port = 1}, port), 0u);
  EXPECT_EQ(port.attributes.gid_tbl_len, static_cast<int>(quota.gids));
}

// A guest that takes whatever it gets leaves the other one all that is reported to it, and its traffic alone.
TEST_F(PvrdmaQuota, GreedyGuestLeavesOthersTheirShare) {
  Driver &greedy = world_->driver(0), &other = world_->driver(1);
  Hoard hoard(greedy);
  Quota expected = shares_.guests[0];
  expected.ahs = expected.gids = 0;
  EXPECT_EQ(hoard.Take(), expected);
  for (uint8_t gid = 1; gid < shares_.guests[0].gids; ++gid) greedy.Bind(gid, World::GidOf(0, gid));
  CreateBind more{.vlan = kNoVlan, .index = shares_.guests[0].gids, .gid_type = kGidRoceV2};
  std::ranges::copy(World::GidOf(0, 200), more.gid);
  EXPECT_EQ(greedy.Execute(Command::kCreateBind, more), kInvalid);

  expected = shares_.guests[1];
  expected.ahs = expected.gids = 0;
  EXPECT_EQ(CountLeft(other), expected);
  for (uint8_t gid = 1; gid < shares_.guests[1].gids; ++gid) other.Bind(gid, World::GidOf(1, gid));
  {
    Side a(other, {}), b(world_->driver(2), {});
    a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(2)});
    b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = World::GidOf(1)});
    PingPong(a, b, 3, 600, true);
    a.Destroy();
    b.Destroy();
  }
  // What it gives back it gets again.
  hoard.GiveBack();
  expected = shares_.guests[0];
  expected.ahs = expected.gids = 0;
  EXPECT_EQ(CountLeft(greedy), expected);
}

TEST_F(PvrdmaQuota, SharedReceiveQueuesTakeQueuePairs) {
  Driver& driver = world_->driver(0);
  Side side(driver, {});  // one queue pair
  std::vector<DriverSrq> srqs;
  for (uint32_t i = 0; i < shares_.guests[0].srqs; ++i) srqs.emplace_back(driver, side.pd, 2);
  std::vector<DriverQp> qps;
  for (uint32_t i = 1 + shares_.guests[0].srqs; i < shares_.guests[0].qps; ++i) {
    qps.emplace_back(driver, side.pd, side.cq, side.cq, DriverQpOptions{.send_wr = 2, .recv_wr = 2});
  }
  const DriverQpOptions options{.send_wr = 2, .recv_wr = 2};
  CreateQp request = DriverQp::Request(side.pd, side.cq.handle(), side.cq.handle(), options);
  request.directory = side.qp.buffer().directory->address();
  EXPECT_EQ(driver.Execute(Command::kCreateQp, request), kNoMemory);
  EXPECT_EQ(srqs.back().Destroy(), 0u);
  EXPECT_EQ(driver.Execute(Command::kCreateQp, request), 0u);
}

// Linux' driver and its library keep tables of as many entries as the device reports, and put what the device gives a
// handle into them.
TEST_F(PvrdmaQuota, HandlesAreBelowTheLimitsAndUsedAgain) {
  Driver &first = world_->driver(0), &second = world_->driver(1);
  Side taken(first, {});
  // Of the NIC they have other numbers.
  Side side(second, {});
  EXPECT_EQ(side.qp.handle(), taken.qp.handle());
  EXPECT_NE(side.qp.qpn(), taken.qp.qpn());
  EXPECT_EQ(side.cq.handle(), taken.cq.handle());
  const uint32_t pd = second.CreatePd();
  DriverSrq srq(second, pd, 2);
  EXPECT_LT(srq.handle(), second.caps().max_srq);
  for (uint32_t round = 0; round < 40; ++round) {
    DriverCq cq(second, 4);
    DriverQp qp(second, pd, cq, cq, {.send_wr = 2, .recv_wr = 2});
    ASSERT_LT(cq.handle(), second.caps().max_cq);
    ASSERT_LT(qp.handle(), second.caps().max_qp);
    ASSERT_NE(qp.handle(), side.qp.handle());
    ASSERT_EQ(qp.Destroy(), 0u);
    ASSERT_EQ(cq.Destroy(), 0u);
  }
}

// Datagrams to more paths than the guest has address handles: each arrives, and the handles are reused.
TEST_F(PvrdmaQuota, DatagramsToManyPathsShareTheAddressHandles) {
  Driver &driver = world_->driver(0), &peer = world_->driver(2);
  const DriverQpOptions options{.type = 4};
  Side first(driver, options), to(peer, options);
  DriverQp second(driver, first.pd, first.cq, first.cq, options);
  first.qp.Connect({.qkey = 5});
  second.Connect({.qkey = 5});
  to.qp.Connect({.qkey = 5});
  const uint32_t most = shares_.guests[0].ahs;
  ASSERT_GT(most, 1u);
  for (uint32_t i = 0; i < 4 * most; ++i) {
    SendWqe wqe = Wqe(WrOpcode::kSend, i);
    DatagramPart part{.remote_qpn = to.qp.qpn(), .remote_qkey = 5};
    part.av.hop_limit = static_cast<uint8_t>(1 + i);
    std::ranges::copy(World::GidOf(2), part.av.dgid);
    std::memcpy(wqe.part, &part, sizeof part);
    to.qp.Receive({.wr_id = i}, std::array{to.region.Element(0, 200)});
    (i % 2 == 0 ? first.qp : second).Send(wqe, std::array{first.region.Element(0, 100)});
    const auto received = to.cq.Next();
    ASSERT_TRUE(received.has_value()) << i;
    EXPECT_EQ(received->status, 0u);
    const auto sent = first.cq.Next();
    ASSERT_TRUE(sent.has_value()) << i;
    EXPECT_EQ(sent->status, 0u);
    EXPECT_LE(world_->guest(0).device().objects().Count().ahs, most);
  }
  EXPECT_EQ(world_->guest(0).device().objects().Count().ahs, most);
}

}  // namespace
}  // namespace vireo::sim::pvrdma
