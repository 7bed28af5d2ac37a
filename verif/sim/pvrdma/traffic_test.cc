// SPDX-License-Identifier: Apache-2.0
// RDMA between guests with PVRDMA functions, on every device of the NIC. At the end no seam, no DMA access and no cycle
// of model and RTL is wrong (World's destructor).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/seed.h"
#include "verif/cosim/every_device.h"
#include "verif/sim/pvrdma/side.h"
#include "verif/sim/pvrdma/world.h"

namespace vireo::sim::pvrdma {
namespace {

void Connect(Side& a, Side& b, size_t guest_a = 0, size_t guest_b = 1) {
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(guest_b)});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = World::GidOf(guest_a)});
}

class PvrdmaTraffic : public testing::TestWithParam<EveryDevice> {
 protected:
  void Build(const std::vector<size_t>& guests = {0, 1}, uint16_t vectors = 16) {
    const auto& [device, config] = GetParam();
    world_ = std::make_unique<World>(
        World::Options{.device = device, .config = config, .guests = guests, .vectors = vectors});
    world_->Start();
  }
  void Fill(Side& side, uint64_t seed) {
    auto random = MakeRandom("pvrdma." + std::to_string(seed));
    for (size_t i = 0; i < kBytes; ++i) side.data()[i] = static_cast<uint8_t>(random());
  }

  std::unique_ptr<World> world_;
};

TEST_P(PvrdmaTraffic, RcPingPongWrapsEveryRing) {
  Build();
  // 4 work requests, 8 completions: 20 rounds wrap each several times.
  const DriverQpOptions options{.send_wr = 4, .recv_wr = 4};
  Side a(world_->driver(0), options, 8), b(world_->driver(1), options, 8);
  Connect(a, b);
  PingPong(a, b, 20, 3000, false);
  PingPong(a, b, 3, 100, true);
  EXPECT_TRUE(world_->driver(0).TakeEvents().empty());
}

TEST_P(PvrdmaTraffic, TwoGuestsShareANic) {
  Build({0, 0});
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  EXPECT_NE(a.qp.qpn(), b.qp.qpn());
  PingPong(a, b, 4, 5000, false);
}

TEST_P(PvrdmaTraffic, RcWritesReadsAndImmediateData) {
  Build();
  // 3 elements: entries of 64 bytes; of 4 they had 128.
  const DriverQpOptions options{.send_sge = 4, .recv_sge = 3};
  Side a(world_->driver(0), options), b(world_->driver(1), options);
  Connect(a, b);
  Fill(a, 1);
  Fill(b, 2);
  const std::vector<uint8_t> from(a.data(), a.data() + kBytes), before(b.data(), b.data() + kBytes);
  // Gathered from four places, across pages.
  const std::array<Sge, 4> list = {a.region.Element(10, 100), a.region.Element(5000, 0), a.region.Element(4090, 5000),
                                   a.region.Element(30000, 1)};
  a.qp.Send(Remote(WrOpcode::kRdmaWrite, 1, b.region, 4093), list);
  // A WRITE with immediate data completes a receive there; not signaled here.
  SendWqe imm = Remote(WrOpcode::kRdmaWriteWithImm, 2, b.region, 20'000, 0);
  const uint8_t bytes[4] = {1, 2, 3, 0xfe};
  std::ranges::copy(bytes, imm.imm_data);
  b.qp.Receive({.wr_id = 77}, {});
  a.qp.Send(imm, std::array{a.region.Element(200, 300)});
  SendWqe send = Wqe(WrOpcode::kSendWithImm, 3, kSignaled | kSendSolicited);
  std::ranges::copy(bytes, send.imm_data);
  b.qp.Receive({.wr_id = 78}, std::array{b.region.Element(28'000, 10), b.region.Element(29'000, 100)});
  a.qp.Send(send, std::array{a.region.Element(0, 50)});
  a.qp.Send(Remote(WrOpcode::kRdmaRead, 4, b.region, 1000, kSignaled | kSendFence),
            std::array{a.region.Element(8000, 600)});

  const auto written = a.cq.Next(), sent = a.cq.Next(), read = a.cq.Next();
  ASSERT_TRUE(written.has_value() && sent.has_value() && read.has_value());
  EXPECT_EQ(written->wr_id, 1u);
  EXPECT_EQ(written->opcode, 1u);
  EXPECT_EQ(sent->wr_id, 3u);
  EXPECT_EQ(read->wr_id, 4u);
  EXPECT_EQ(read->opcode, 2u);
  EXPECT_EQ(read->byte_len, 600u);
  for (const auto& [wr_id, opcode, length] : {std::tuple{77U, 129U, 300U}, std::tuple{78U, 128U, 50U}}) {
    const auto received = b.cq.Next();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, wr_id);
    EXPECT_EQ(received->status, 0u);
    EXPECT_EQ(received->opcode, opcode);
    EXPECT_EQ(received->byte_len, length);
    EXPECT_EQ(received->wc_flags, kWcWithImm);
    EXPECT_TRUE(std::ranges::equal(received->imm_data, bytes));
  }
  std::vector<uint8_t> expected = before;
  const auto copy = [&](uint64_t source, uint64_t count, uint64_t to) {
    std::copy_n(from.begin() + static_cast<ptrdiff_t>(source), count, expected.begin() + static_cast<ptrdiff_t>(to));
  };
  copy(10, 100, 4093);
  copy(4090, 5000, 4193);
  copy(30000, 1, 9193);
  copy(200, 300, 20'000);
  copy(0, 10, 28'000);
  copy(10, 40, 29'000);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), b.data()));
  EXPECT_EQ(std::memcmp(a.data() + 8000, before.data() + 1000, 600), 0);
  EXPECT_FALSE(a.cq.Poll().has_value());
}

TEST_P(PvrdmaTraffic, UcSendsAndWrites) {
  Build();
  const DriverQpOptions options{.type = 3, .signal_all = true};
  Side a(world_->driver(0), options), b(world_->driver(1), options);
  Connect(a, b);
  Fill(a, 3);
  a.qp.Send(Remote(WrOpcode::kRdmaWrite, 1, b.region, 100, 0), std::array{a.region.Element(0, 9000)});
  b.qp.Receive({.wr_id = 2}, std::array{b.region.Element(20'000, 4000)});
  a.qp.Send(Wqe(WrOpcode::kSend, 3, 0), std::array{a.region.Element(10'000, 4000)});
  for (const uint64_t id : {1U, 3U}) {
    const auto sent = a.cq.Next();  // all are signaled
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->wr_id, id);
    EXPECT_EQ(sent->status, 0u);
  }
  const auto received = b.cq.Next();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->byte_len, 4000u);
  EXPECT_EQ(std::memcmp(b.data() + 100, a.data(), 9000), 0);
  EXPECT_EQ(std::memcmp(b.data() + 20'000, a.data() + 10'000, 4000), 0);
}

TEST_P(PvrdmaTraffic, AtomicsReturnWhatWasThere) {
  Build();
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  constexpr uint32_t kAll = 15;
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(1)});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = World::GidOf(0), .access = kAll});
  EXPECT_EQ(b.qp.Query().qp_access_flags, kAll);
  const auto region = b.driver.CreateRegion(b.pd, 1, kAll);
  const uint64_t first = 0x1122'3344'5566'7788;
  Store(region.buffer.data() + 64, first);
  const auto run = [&](WrOpcode opcode, uint64_t compare_add, uint64_t swap) {
    SendWqe wqe = Wqe(opcode, 7);
    Store(wqe.part,
          AtomicPart{.remote_addr = region.start + 64, .compare_add = compare_add, .swap = swap, .rkey = region.rkey});
    a.qp.Send(wqe, std::array{a.region.Element(8, 8)});
    const auto done = a.cq.Next();
    EXPECT_TRUE(done.has_value());
    if (!done.has_value()) return uint64_t{0};
    EXPECT_EQ(done->wr_id, 7u);
    EXPECT_EQ(done->status, 0u);
    EXPECT_EQ(done->opcode, opcode == WrOpcode::kCompareSwap ? 3u : 4u);
    EXPECT_EQ(done->byte_len, 8u);
    return Load<uint64_t>(a.data() + 8);
  };
  EXPECT_EQ(run(WrOpcode::kFetchAdd, 0x100, 99), first);
  EXPECT_EQ(run(WrOpcode::kCompareSwap, first, 5), first + 0x100);  // not equal: stays
  EXPECT_EQ(run(WrOpcode::kCompareSwap, first + 0x100, 5), first + 0x100);
  EXPECT_EQ(run(WrOpcode::kFetchAdd, ~uint64_t{0}, 0), 5u);
  EXPECT_EQ(Load<uint64_t>(region.buffer.data() + 64), 4u);
  EXPECT_EQ(b.driver.Destroy(Command::kDestroyMr, region.handle), 0u);
}

TEST_P(PvrdmaTraffic, SendWithInvalidateEndsThePeersRegion) {
  Build();
  if (!world_->nic(0).device().has_invalidation()) GTEST_SKIP() << "the NIC has no invalidation";
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  // The ABI cannot create one that may be ended: as a program of that NIC does.
  constexpr uint64_t kAddress = 0x5000;
  const std::array<uint64_t, 1> pages = {
      world_->guest(1).memory().Find(b.region.buffer.address(), kPageBytes)->device_address};
  const auto region = world_->guest(1).device().objects().pds.at(b.pd).pd->Register(
      kAddress, kPageBytes, spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite, 0, pages,
      /*invalidatable=*/true);
  ASSERT_TRUE(region.ok()) << host::ToString(region.error());
  const uint32_t key = (*region)->rkey();
  const auto run = [&](const SendWqe& wqe) {
    a.qp.Send(wqe, std::array{a.region.Element(0, 8)});
    const auto done = a.cq.Next();
    EXPECT_TRUE(done.has_value());
    return done.has_value() ? done->status : ~0U;
  };
  SendWqe write = Wqe(WrOpcode::kRdmaWrite, 1), ending = Wqe(WrOpcode::kSendWithInv, 2);
  Store(write.part, RdmaPart{.remote_addr = kAddress, .rkey = key});
  Store(ending.imm_data, key);
  EXPECT_EQ(run(write), 0u);
  b.qp.Receive({.wr_id = 3}, std::array{b.region.Element(100, 8)});
  EXPECT_EQ(run(ending), 0u);
  const auto received = b.cq.Next();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->status, 0u);
  EXPECT_EQ(received->byte_len, 8u);
  EXPECT_EQ(run(write), 10u);  // rem_access_err
}

// Two queue pairs of one guest take their receives from one ring, which wraps; the limit is reported once.
TEST_P(PvrdmaTraffic, SharedReceivesServeTwoQueuePairs) {
  Build();
  Side a(world_->driver(0), {}), c(world_->driver(0), {}), b(world_->driver(1), {});
  DriverSrq srq(b.driver, b.pd, 8, 2);
  const DriverQpOptions options{.srq = srq.handle()};
  DriverQp first(b.driver, b.pd, b.cq, b.cq, options), second(b.driver, b.pd, b.cq, b.cq, options);
  const auto connect = [](Side& side, DriverQp& qp) {
    side.qp.Connect({.dest_qpn = qp.qpn(), .dgid = World::GidOf(1)});
    qp.Connect({.dest_qpn = side.qp.qpn(), .dgid = World::GidOf(0)});
  };
  connect(a, first);
  connect(c, second);
  Fill(a, 5);
  Fill(c, 6);
  uint64_t posted = 0;
  const auto post = [&](bool rings = true) {
    const uint64_t at = posted % 8 * 1024;
    srq.Receive({.wr_id = posted++}, std::array{b.region.Element(at, 100), b.region.Element(at + 512, 400)}, rings);
  };
  for (int i = 0; i < 8; ++i) post();
  ASSERT_EQ(srq.Modify(kMaskSrqLimit, 6), 0u);
  for (uint64_t i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    Side& from = i % 3 == 0 ? c : a;
    DriverQp& to = i % 3 == 0 ? second : first;
    from.qp.Send(Wqe(WrOpcode::kSend, i), std::array{from.region.Element(i * 512, 300)});
    ASSERT_TRUE(from.cq.Next().has_value());
    const auto received = b.cq.Next();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->status, 0u);
    EXPECT_EQ(received->qp, to.handle());
    EXPECT_EQ(received->byte_len, 300u);
    EXPECT_EQ(received->wr_id, i);  // one message at a time: in the ring's order
    const uint8_t* const at = b.data() + i % 8 * 1024;
    EXPECT_EQ(std::memcmp(at, from.data() + i * 512, 100), 0);
    EXPECT_EQ(std::memcmp(at + 512, from.data() + i * 512 + 100, 200), 0);
    if (i >= 3) post();
  }
  ASSERT_TRUE(b.driver.Await([&] { return b.driver.function().TakeInterrupt(kAsyncVector); }));
  const auto events = b.driver.TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::kSrqLimitReached);
  EXPECT_EQ(events[0].info, srq.handle());
  EXPECT_EQ(srq.Query().srq_limit, 0u);

  // From another context's page a doorbell does nothing.
  const uint32_t head = srq.state().cons_head;
  post(false);
  b.driver.Ring(1, kSrqDoorbell, srq.handle() | kSrqRecv);
  EXPECT_EQ(srq.state().cons_head, head);
  srq.Ring();
  EXPECT_NE(srq.state().cons_head, head);
  EXPECT_EQ(first.Destroy(), 0u);
  EXPECT_EQ(second.Destroy(), 0u);
  EXPECT_EQ(srq.Destroy(), 0u);
}

SendWqe Datagram(const Side& to, size_t guest, uint64_t wr_id, uint32_t qkey, uint8_t gid_index = 0) {
  SendWqe wqe = Wqe(WrOpcode::kSend, wr_id);
  DatagramPart part{.remote_qpn = to.qp.qpn(), .remote_qkey = qkey};
  part.av.port_pd = 1U << 24;
  part.av.sl_tclass_flowlabel = 0x20U << 20;
  part.av.gid_index = gid_index;
  part.av.hop_limit = 12;
  std::ranges::copy(World::GidOf(guest), part.av.dgid);
  std::memcpy(wqe.part, &part, sizeof part);
  return wqe;
}

TEST_P(PvrdmaTraffic, UdDatagramsReachSeveralGuests) {
  Build({0, 1, 1});
  const DriverQpOptions options{.type = 4};
  Side a(world_->driver(0), options), b(world_->driver(1), options), c(world_->driver(2), options);
  for (Side* side : {&a, &b, &c}) side->qp.Connect({.qkey = 0x1234});
  Fill(a, 4);
  for (uint64_t i = 0; i < 40; ++i) {
    Side& to = i % 3 == 0 ? c : b;
    const size_t guest = i % 3 == 0 ? 2 : 1;
    to.qp.Receive({.wr_id = i}, std::array{to.region.Element(0, 1040)});
    a.qp.Send(Datagram(to, guest, 100 + i, 0x1234), std::array{a.region.Element(i * 16, 1000)});
    const auto received = to.cq.Next();
    ASSERT_TRUE(received.has_value()) << i;
    EXPECT_EQ(received->wr_id, i);
    EXPECT_EQ(received->status, 0u);
    EXPECT_EQ(received->byte_len, 1040u);
    EXPECT_EQ(received->src_qp, a.qp.qpn());
    EXPECT_EQ(received->wc_flags & kWcGrh, kWcGrh);
    EXPECT_EQ(std::memcmp(to.data() + 40, a.data() + i * 16, 1000), 0) << i;
    // The IPv4 header is in the last 20 bytes of the 40 [IBTA A17, 4.3.2]: TTL, type of service, source address.
    EXPECT_EQ(to.data()[20 + 1], 0x20);
    EXPECT_EQ(to.data()[20 + 8], 12);
    EXPECT_EQ(std::memcmp(to.data() + 20 + 12, World::GidOf(0).data() + 12, 4), 0);
    ASSERT_TRUE(a.cq.Next().has_value());
  }
  // A path that the guest does not have: its completion says so.
  a.qp.Send(Datagram(b, 1, 7, 0x1234, 5), std::array{a.region.Element(0, 10)});
  const auto failed = a.cq.Next();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->wr_id, 7u);
  EXPECT_EQ(failed->status, 2u);  // loc_qp_op_err
}

TEST_P(PvrdmaTraffic, InvalidatesNeedReliableConnections) {
  Build();
  constexpr uint8_t kUc = 3, kUd = 4;
  for (const uint8_t type : {kUc, kUd}) {
    for (const WrOpcode opcode : {WrOpcode::kSendWithInv, WrOpcode::kLocalInv}) {
      SCOPED_TRACE(static_cast<int>(opcode));
      Side a(world_->driver(0), {.type = type}), b(world_->driver(1), {.type = type});
      a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(1), .qkey = 0x1234});
      SendWqe wqe = type == kUd ? Datagram(b, 1, 1, 0x1234) : Wqe(opcode, 1);
      wqe.opcode = opcode;
      Store(wqe.imm_data, a.region.lkey);
      a.qp.Send(wqe, std::array{a.region.Element(0, 8)});
      const auto failed = a.cq.Next();
      ASSERT_TRUE(failed.has_value());
      EXPECT_EQ(failed->wr_id, 1u);
      EXPECT_EQ(failed->status, 2u);  // loc_qp_op_err
      a.Destroy();
      b.Destroy();
    }
  }
}

TEST_P(PvrdmaTraffic, DatagramsFollowAGidToAnotherNic) {
  Build({0, 0, 1});
  const DriverQpOptions options{.type = 4};
  Side a(world_->driver(0), options), b(world_->driver(1), options), c(world_->driver(2), options);
  for (Side* side : {&a, &b, &c}) side->qp.Connect({.qkey = 9});
  const auto moved = World::GidOf(7);
  const auto send = [&](Side& to) {
    to.qp.Receive({.wr_id = 1}, std::array{to.region.Element(0, 200)});
    a.qp.Send(Datagram(to, 7, 2, 9), std::array{a.region.Element(0, 100)});
    EXPECT_TRUE(a.cq.Next().has_value());
    const auto received = to.cq.Next();
    return received.has_value() && received->status == 0;
  };
  b.driver.Bind(4, moved);
  EXPECT_TRUE(send(b));
  ASSERT_EQ(b.driver.Execute(Command::kDestroyBind, DestroyBind{.index = 4}), 0u);
  c.driver.Bind(2, moved);
  EXPECT_TRUE(send(c));
}

// --- Errors

TEST_P(PvrdmaTraffic, FaultsOfRequestsCompleteWithTheirStatus) {
  Build();
  struct Row {
    const char* name;
    uint32_t status;
    std::function<void(Side&, Side&)> send;
  };
  const Row rows[] = {
      {"atomic without the queue pair's right", 9,
       [](Side& a, Side& b) {
         SendWqe wqe = Wqe(WrOpcode::kFetchAdd, 1);
         Store(wqe.part, AtomicPart{.remote_addr = b.region.start, .rkey = b.region.rkey});
         a.qp.Send(wqe, std::array{a.region.Element(0, 8)});
       }},
      {"unknown opcode", 2, [](Side& a, Side&) { a.qp.Send(Wqe(static_cast<WrOpcode>(0x1234'5678), 1)); }},
      {"fast registration", 2, [](Side& a, Side&) { a.qp.Send(Wqe(static_cast<WrOpcode>(11), 1)); }},
      // Of regions that the ABI can create none may be ended by a work request.
      {"local invalidate", 2,
       [](Side& a, Side&) {
         SendWqe wqe = Wqe(WrOpcode::kLocalInv, 1);
         Store(wqe.imm_data, a.region.lkey);
         a.qp.Send(wqe);
       }},
      {"invalidate of a peer's region", 10,
       [](Side& a, Side& b) {
         SendWqe wqe = Wqe(WrOpcode::kSendWithInv, 1);
         Store(wqe.imm_data, b.region.rkey);
         b.qp.Receive({.wr_id = 9}, std::array{b.region.Element(0, 8)});
         a.qp.Send(wqe, std::array{a.region.Element(0, 8)});
       }},
      {"inline", 2,
       [](Side& a, Side&) {
         a.qp.Send(Wqe(WrOpcode::kSend, 1, kSignaled | kSendInline), std::array{a.region.Element(0, 8)});
       }},
      {"too many elements", 2,
       [](Side& a, Side&) {
         SendWqe wqe = Wqe(WrOpcode::kSend, 1);
         wqe.num_sge = ~0U;
         a.qp.Send(wqe);
       }},
      {"key of nobody", 4, [](Side& a, Side&) { a.qp.Send(Wqe(WrOpcode::kSend, 1), std::array{Sge{0, 8, 0x77}}); }},
      {"remote key of nobody", 10,
       [](Side& a, Side& b) {
         SendWqe wqe = Remote(WrOpcode::kRdmaWrite, 1, b.region, 0);
         wqe.part[8] ^= 1;
         a.qp.Send(wqe, std::array{a.region.Element(0, 8)});
       }},
      {"beyond the remote region", 10,
       [](Side& a, Side& b) {
         a.qp.Send(Remote(WrOpcode::kRdmaRead, 1, b.region, kBytes - 4), std::array{a.region.Element(0, 8)});
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Side a(world_->driver(0), {}), b(world_->driver(1), {});
    Connect(a, b);
    row.send(a, b);
    a.qp.Send(Wqe(WrOpcode::kSend, 2), std::array{a.region.Element(0, 8)});
    const auto failed = a.cq.Next(), flushed = a.cq.Next();
    ASSERT_TRUE(failed.has_value() && flushed.has_value());
    EXPECT_EQ(failed->wr_id, 1u);
    EXPECT_EQ(failed->status, row.status);
    EXPECT_EQ(flushed->wr_id, 2u);
    EXPECT_EQ(flushed->status, 5u);  // wr_flush_err
    // The queue pair can be used again.
    for (Side* side : {&a, &b}) {
      ASSERT_EQ(side->qp.Modify(kMaskState, {.qp_state = 0}), 0u);
      side->qp.header() = {};
      while (side->cq.Poll().has_value()) {
      }
    }
    Connect(a, b);
    PingPong(a, b, 1, 64, false);
    a.Destroy();
    b.Destroy();
  }
}

TEST_P(PvrdmaTraffic, RegionEndsWithItsDestruction) {
  Build();
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  ASSERT_EQ(b.driver.Destroy(Command::kDestroyMr, b.region.handle), 0u);
  b.region.buffer = {};  // the guest's pages are gone
  a.qp.Send(Remote(WrOpcode::kRdmaWrite, 1, b.region, 0), std::array{a.region.Element(0, 8)});
  const auto failed = a.cq.Next();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status, 10u);  // rem_access_err
  ASSERT_TRUE(b.driver.Await([&] { return b.driver.function().TakeInterrupt(kAsyncVector); }));
  const auto events = b.driver.TakeEvents();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().type, EventType::kQpAccessErr);
  EXPECT_EQ(events.back().info, b.qp.handle());
}

TEST_P(PvrdmaTraffic, CompletionsWaitForRoom) {
  Build();
  // The guest has 8 completions for its 16 receives and does not take them.
  Side a(world_->driver(0), {}), b(world_->driver(1), {}, 8);
  Connect(a, b);
  for (uint64_t i = 0; i < 8; ++i) {
    b.qp.Receive({.wr_id = i}, std::array{b.region.Element(i * 64, 64)});
    a.qp.Send(Wqe(WrOpcode::kSend, i), std::array{a.region.Element(0, 64)});
    ASSERT_TRUE(a.cq.Next().has_value());
  }
  b.driver.Await([&] { return b.cq.state().prod_tail == 8; });
  EXPECT_EQ(b.cq.state().prod_tail, 8u);
  b.qp.Receive({.wr_id = 8}, std::array{b.region.Element(8 * 64, 64)});
  a.qp.Send(Wqe(WrOpcode::kSend, 8), std::array{a.region.Element(0, 64)});
  ASSERT_TRUE(a.cq.Next().has_value());
  EXPECT_EQ(b.cq.state().prod_tail, 8u);
  for (uint64_t i = 0; i < 9; ++i) {
    const auto received = b.cq.Next();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, i);
    EXPECT_EQ(received->status, 0u);
  }
  EXPECT_EQ(b.cq.state().prod_tail, 9u);
}

// The driver cannot process a completion of a queue pair that it has destroyed, and would stop at it.
TEST_P(PvrdmaTraffic, CompletionsEndWithTheirQueuePair) {
  Build();
  Side a(world_->driver(0), {}), b(world_->driver(1), {}, 8);
  Connect(a, b);
  // Eight fill the guest's ring; the ninth waits in the NIC's.
  for (uint64_t i = 0; i < 9; ++i) {
    b.qp.Receive({.wr_id = i}, std::array{b.region.Element(i * 64, 64)});
    a.qp.Send(Wqe(WrOpcode::kSend, i), std::array{a.region.Element(0, 64)});
    ASSERT_TRUE(a.cq.Next().has_value());
  }
  ASSERT_TRUE(b.driver.Await([&] { return b.cq.state().prod_tail == 8; }));
  ASSERT_EQ(b.qp.Destroy(), 0u);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(b.cq.Poll().has_value());
  b.cq.Ring(kCqPoll);
  EXPECT_FALSE(b.cq.Poll().has_value());
}

TEST_P(PvrdmaTraffic, NotifiesWhenArmedAndOnce) {
  Build();
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  host::PciFunction& function = b.driver.function();
  const auto exchange = [&](uint64_t id) {
    b.qp.Receive({.wr_id = id}, std::array{b.region.Element(0, 64)});
    a.qp.Send(Wqe(WrOpcode::kSend, id), std::array{a.region.Element(0, 64)});
    EXPECT_TRUE(a.cq.Next().has_value());
    EXPECT_TRUE(b.cq.Next().has_value());
  };
  exchange(1);
  EXPECT_FALSE(function.TakeInterrupt(kCqVector));
  b.cq.Arm();
  b.cq.Ring(kCqPoll);
  EXPECT_FALSE(function.TakeInterrupt(kCqVector));  // nothing new
  exchange(2);
  exchange(3);
  EXPECT_TRUE(function.TakeInterrupt(kCqVector));
  EXPECT_EQ(b.driver.TakeNotifications(), std::vector<uint32_t>{b.cq.handle()});
  // A doorbell from another process's page, or for a queue that does not exist.
  b.driver.Ring(1, kCqDoorbell, b.cq.handle() | kCqArm);
  b.driver.Ring(0, kCqDoorbell, 0xff'fff0 | kCqArm);
  b.driver.Ring(0, kSrqDoorbell, 1U << 30);
  exchange(4);
  EXPECT_FALSE(function.TakeInterrupt(kCqVector));
}

// A queue that is armed for solicited completions notifies at a message that was sent solicited, and at an error.
TEST_P(PvrdmaTraffic, NotifiesOfSolicitedCompletions) {
  Build();
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  host::PciFunction& function = b.driver.function();
  constexpr uint64_t kLongNs = 20'000;  // of an interrupt, and more
  const auto notifies = [&](Side& side) {
    side.driver.function().Wait(side.driver.function().NowNs() + kLongNs);
    const bool is_notified = side.driver.function().TakeInterrupt(kCqVector);
    EXPECT_EQ(side.driver.TakeNotifications(),
              is_notified ? std::vector<uint32_t>{side.cq.handle()} : std::vector<uint32_t>());
    return is_notified;
  };
  const auto exchange = [&](uint32_t flags) {
    b.qp.Receive({.wr_id = 1}, std::array{b.region.Element(0, 64)});
    a.qp.Send(Wqe(WrOpcode::kSend, 1, kSignaled | flags), std::array{a.region.Element(0, 64)});
    EXPECT_TRUE(a.cq.Next().has_value());
    EXPECT_TRUE(b.cq.Next().has_value());
  };
  a.cq.Arm(true);
  exchange(kSendSolicited);
  EXPECT_FALSE(notifies(a));  // a send is none
  EXPECT_FALSE(notifies(b));  // not armed
  b.cq.Arm(true);
  exchange(0);
  EXPECT_FALSE(notifies(b));
  exchange(kSendSolicited);
  EXPECT_TRUE(notifies(b));
  exchange(kSendSolicited);
  EXPECT_FALSE(notifies(b));  // once
  // Armed for any completion in the meantime: notifies once.
  b.cq.Arm(true);
  b.cq.Arm();
  exchange(0);
  EXPECT_TRUE(notifies(b));
  exchange(0);
  EXPECT_FALSE(notifies(b));
  // Armed while such a completion waits in the NIC's queue: of 64 entries in the ring none is free.
  for (uint64_t i = 0; i < 65; ++i) {
    b.qp.Receive({.wr_id = i}, std::array{b.region.Element(0, 64)});
    a.qp.Send(Wqe(WrOpcode::kSend, i, kSignaled | kSendSolicited), std::array{a.region.Element(0, 64)});
    ASSERT_TRUE(a.cq.Next().has_value());
  }
  ASSERT_TRUE(b.driver.Await([&] { return (b.cq.state().prod_tail ^ b.cq.state().cons_head) == 64; }));
  static_cast<void>(notifies(b));
  b.cq.Arm(true);
  EXPECT_TRUE(notifies(b));
  for (uint64_t i = 0; i < 65; ++i) EXPECT_TRUE(b.cq.Next().has_value());
  // An error.
  a.cq.Arm(true);
  a.qp.Send(Wqe(WrOpcode::kSend, 1), std::array{Sge{0, 8, 0x77}});
  EXPECT_TRUE(a.cq.Next().has_value());
  EXPECT_TRUE(notifies(a));
  EXPECT_FALSE(function.TakeInterrupt(kCqVector));
}

// Without a vector of the NIC it does so at every received message.
TEST_P(PvrdmaTraffic, NotifiesOfReceivedMessagesWithoutAVector) {
  Build({0, 1}, 0);
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  a.cq.Arm(true);
  b.cq.Arm(true);
  b.qp.Receive({.wr_id = 1}, std::array{b.region.Element(0, 64)});
  a.qp.Send(Wqe(WrOpcode::kSend, 1), std::array{a.region.Element(0, 64)});
  EXPECT_TRUE(a.cq.Next().has_value());
  EXPECT_TRUE(b.cq.Next().has_value());
  EXPECT_TRUE(b.driver.function().TakeInterrupt(kCqVector));
  EXPECT_FALSE(a.driver.function().TakeInterrupt(kCqVector));
}

TEST_P(PvrdmaTraffic, DoorbellsOfAnotherContextAreIgnored) {
  Build();
  HandleResponse context;
  Driver& driver = world_->driver(0);
  ASSERT_EQ(driver.Execute(Command::kCreateUc, CreateUc{.pfn = driver.region().uar_pfn + 2}, context), 0u);
  Side a(world_->driver(0), {.context = 2}), b(world_->driver(1), {});
  Connect(a, b);
  b.qp.Receive({.wr_id = 1}, std::array{b.region.Element(0, 64)});
  a.qp.Send(Wqe(WrOpcode::kSend, 1), std::array{a.region.Element(0, 64)}, false);
  for (const uint32_t page : {0U, 1U, 3U, 511U}) {
    driver.Ring(page, kQpDoorbell, kQpSend | a.qp.handle());
    EXPECT_EQ(a.qp.header().first.cons_head, 0u) << page;
  }
  a.qp.RingSend();
  EXPECT_TRUE(b.cq.Next().has_value());
}

// --- Hostile guests

TEST_P(PvrdmaTraffic, WrongIndicesStopOnlyTheirOwnRing) {
  Build();
  Side good_a(world_->driver(0), {}), good_b(world_->driver(1), {});
  Connect(good_a, good_b);
  for (const uint32_t index : {17U, 32U, 0xffff'ffffU}) {
    for (const bool sends : {true, false}) {
      SCOPED_TRACE(index);
      Side a(world_->driver(0), {}), b(world_->driver(1), {});
      Connect(a, b);
      (sends ? a.qp.header().first : a.qp.header().second).prod_tail = index;
      a.qp.RingSend();
      a.qp.RingRecv();
      ASSERT_TRUE(a.driver.Await([&] { return a.driver.function().TakeInterrupt(kAsyncVector); }));
      const auto events = a.driver.TakeEvents();
      ASSERT_EQ(events.size(), 1u);
      EXPECT_EQ(events[0].type, EventType::kQpFatal);
      EXPECT_EQ(events[0].info, a.qp.handle());
      EXPECT_EQ(a.qp.Query().qp_state, 6u);
      PingPong(good_a, good_b, 1, 500, false);
      a.Destroy();
      b.Destroy();
    }
  }
  // A shared receive queue.
  {
    const uint32_t pd = world_->driver(0).CreatePd();
    DriverSrq srq(world_->driver(0), pd, 16);
    srq.state().prod_tail = 17;
    srq.Ring();
    ASSERT_TRUE(world_->driver(0).Await([&] { return world_->driver(0).function().TakeInterrupt(kAsyncVector); }));
    const auto events = world_->driver(0).TakeEvents();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].type, EventType::kSrqErr);
    EXPECT_EQ(events[0].info, srq.handle());
    PingPong(good_a, good_b, 1, 500, false);
    EXPECT_EQ(srq.Destroy(), 0u);
  }
  // A completion queue.
  Side a(world_->driver(0), {}), b(world_->driver(1), {});
  Connect(a, b);
  b.cq.state().cons_head = 3;  // nothing was produced
  ASSERT_TRUE(b.driver.Await([&] { return b.driver.function().TakeInterrupt(kAsyncVector); }));
  const auto events = b.driver.TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::kCqErr);
  EXPECT_EQ(events[0].info, b.cq.handle());
  b.qp.Receive({.wr_id = 1}, std::array{b.region.Element(0, 64)});
  a.qp.Send(Wqe(WrOpcode::kSend, 1), std::array{a.region.Element(0, 64)});
  EXPECT_TRUE(a.cq.Next().has_value());
  EXPECT_EQ(b.cq.state().prod_tail, 0u);
  PingPong(good_a, good_b, 1, 500, false);
}

TEST_P(PvrdmaTraffic, MemoryTakenAwayResetsItsGuestOnly) {
  Build({0, 1, 0});
  Side good_a(world_->driver(1), {}), good_b(world_->driver(2), {});
  Connect(good_a, good_b, 1, 2);
  {
    Side a(world_->driver(0), {}), b(world_->driver(1), {});
    Connect(a, b);
    // A long transfer is under way.
    for (uint64_t i = 0; i < 8; ++i) {
      a.qp.Send(Remote(WrOpcode::kRdmaWrite, i, b.region, 0), std::array{a.region.Element(0, kBytes)});
    }
    a.region.buffer = {};
    EXPECT_TRUE(world_->guest(0).device().objects().qps.empty());
    EXPECT_TRUE(world_->guest(0).device().objects().gids.empty());
    a.driver.WriteRegister(kRequest, 0);
    EXPECT_NE(a.driver.ReadRegister(kErr), 0u);
    b.Destroy();
  }
  PingPong(good_a, good_b, 2, 500, false);
}

TEST_P(PvrdmaTraffic, ResetsAndStartsManyTimes) {
  Build();
  for (int cycle = 0; cycle < 20; ++cycle) {
    SCOPED_TRACE(cycle);
    {
      Side a(world_->driver(0), {}), b(world_->driver(1), {});
      Connect(a, b);
      PingPong(a, b, 1, 100, cycle % 2 == 0);
      a.qp.Send(Remote(WrOpcode::kRdmaWrite, 1, b.region, 0), std::array{a.region.Element(0, kBytes)});
      a.driver.WriteRegister(kCtl, kReset);
      EXPECT_EQ(a.driver.ReadRegister(kErr), 0u);
      b.Destroy();
    }
    world_->driver(0).Start();
    world_->driver(0).Bind(0, World::GidOf(0));
  }
}

VIREO_ON_EVERY_DEVICE_ONCE(PvrdmaTraffic);

}  // namespace
}  // namespace vireo::sim::pvrdma
