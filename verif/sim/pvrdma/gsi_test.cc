// SPDX-License-Identifier: Apache-2.0
// Queue pair 1 of guests: management datagrams between guests, and between a guest and a NIC.
#include "sim/pvrdma/gsi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "verif/sim/pvrdma/side.h"
#include "verif/sim/pvrdma/world.h"

namespace vireo::sim::pvrdma {
namespace {

using service::cm::kMadBytes;

constexpr uint32_t kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kErr = 6;
constexpr uint32_t kGrhBytes = 40, kDatagramBytes = kGrhBytes + kMadBytes;
constexpr uint32_t kAnyMask = kMaskState | kMaskPkeyIndex | kMaskQkey;
constexpr DriverQpOptions kOptions = {.type = 1, .send_sge = 2, .recv_sge = 2};

// A guest's kernel: what Linux' ib_mad creates.
struct Kernel {
  explicit Kernel(Driver& own_driver)
      : driver(own_driver), pd(driver.CreatePd()), cq(driver, 64), qp(driver, pd, cq, cq, kOptions) {
    CreateMrResponse response;
    EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = pd, .access_flags = 1, .flags = kMrDma}, response), 0u);
    key = response.lkey;
    handle = response.handle;
    EXPECT_EQ(response.rkey, 0u);
    memory = driver.AllocateListed(2);
  }
  void Start() {
    for (const uint32_t state : {kInit, kRtr, kRts}) ASSERT_EQ(To(state), 0u);
  }
  uint32_t To(uint32_t state) { return qp.Modify(kAnyMask, {.qp_state = state, .qkey = spec::kGsiQkey}); }
  Sge Element(uint64_t offset, uint32_t bytes) const {
    return {.addr = memory.address() + offset, .length = bytes, .lkey = key};
  }
  // The receive's datagram is in the second page.
  void Receive(uint64_t wr_id) { qp.Receive({.wr_id = wr_id}, std::array{Element(kPageBytes, kDatagramBytes)}); }
  // True: nothing completes, long after a datagram would have arrived.
  bool IsQuiet() {
    constexpr int kSteps = 200;
    host::PciFunction& function = driver.function();
    for (int i = 0; i < kSteps; ++i) function.Wait(function.NowNs() + 1'000);
    return !cq.Poll().has_value();
  }
  // Of one completion.
  uint32_t StatusOf(const SendWqe& wqe, std::span<const Sge> elements) {
    qp.Send(wqe, elements);
    const auto completed = cq.Next();
    EXPECT_TRUE(completed.has_value());
    return completed.has_value() ? completed->status : ~0U;
  }

  Driver& driver;
  uint32_t pd, key = 0, handle = 0;
  DriverCq cq;
  DriverQp qp;
  GuestBuffer memory;
};

SendWqe To(const std::array<uint8_t, 16>& gid, uint64_t wr_id) {
  SendWqe wqe = Wqe(WrOpcode::kSend, wr_id);
  DatagramPart part{.remote_qpn = 1, .remote_qkey = spec::kGsiQkey};
  part.av.port_pd = 1U << 24;
  part.av.sl_tclass_flowlabel = 0x60U << 20;
  part.av.hop_limit = 33;
  std::ranges::copy(gid, part.av.dgid);
  std::memcpy(wqe.part, &part, sizeof part);
  return wqe;
}

TEST(PvrdmaGsi, IsTheKernelsAndOne) {
  World world({.has_gsi = true});
  world.Start();
  Driver& driver = world.driver(0);
  HandleResponse context;
  ASSERT_EQ(driver.Execute(Command::kCreateUc, CreateUc{.pfn = driver.region().uar_pfn + 1}, context), 0u);
  const uint32_t user_pd = driver.CreatePd(1);
  DriverCq user_cq(driver, 16, 1);
  EXPECT_EQ(
      driver.Execute(Command::kCreateQp, DriverQp::Request(user_pd, user_cq.handle(), user_cq.handle(), kOptions)),
      uint32_t{EOPNOTSUPP});
  EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = user_pd, .access_flags = 1, .flags = kMrDma}),
            uint32_t{EOPNOTSUPP});
  Kernel kernel(driver);
  EXPECT_EQ(kernel.qp.qpn(), 1u);
  EXPECT_EQ(kernel.qp.handle(), kGsiHandle);
  EXPECT_EQ(driver.Execute(Command::kCreateQp,
                           DriverQp::Request(kernel.pd, kernel.cq.handle(), kernel.cq.handle(), kOptions)),
            uint32_t{EBUSY});
  // No rights for peers: the NIC knows no such region.
  EXPECT_EQ(driver.Execute(Command::kCreateMr, CreateMr{.pd = kernel.pd, .access_flags = 3, .flags = kMrDma}),
            uint32_t{EOPNOTSUPP});
  EXPECT_EQ(kernel.cq.Destroy(), uint32_t{EBUSY});
  EXPECT_EQ(driver.Destroy(Command::kDestroyMr, kernel.handle), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyMr, kernel.handle), uint32_t{EINVAL});
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, kernel.pd), uint32_t{EBUSY});
  EXPECT_EQ(kernel.qp.Destroy(), 0u);
  EXPECT_EQ(kernel.qp.Destroy(), uint32_t{EINVAL});
  EXPECT_EQ(kernel.cq.Destroy(), 0u);
  EXPECT_EQ(driver.Destroy(Command::kDestroyPd, kernel.pd), 0u);
}

TEST(PvrdmaGsi, DatagramsReachTheGuestOfTheirGid) {
  for (const std::vector<size_t>& guests : {std::vector<size_t>{0, 1, 1}, std::vector<size_t>{0, 0, 0}}) {
    World world({.guests = guests, .has_gsi = true});
    world.Start();
    Kernel a(world.driver(0)), b(world.driver(1)), c(world.driver(2));
    for (Kernel* kernel : {&a, &b, &c}) kernel->Start();
    std::iota(a.memory.data(), a.memory.data() + kMadBytes, uint8_t{7});
    for (uint64_t i = 0; i < 20; ++i) {  // more than a ring's entries
      a.memory.data()[100] = static_cast<uint8_t>(i);
      Kernel& to = i % 3 == 0 ? c : b;
      const size_t guest = i % 3 == 0 ? 2 : 1;
      to.Receive(i);
      to.cq.Arm();
      // In two elements, as Linux sends it.
      a.qp.Send(To(World::GidOf(guest), 50 + i), std::array{a.Element(0, 24), a.Element(24, kMadBytes - 24)});
      const auto sent = a.cq.Next(), received = to.cq.Next();
      ASSERT_TRUE(sent.has_value() && received.has_value());
      EXPECT_EQ(sent->wr_id, 50 + i);
      EXPECT_EQ(sent->status, 0u);
      EXPECT_EQ(received->wr_id, i);
      EXPECT_EQ(received->qp, to.qp.handle());
      EXPECT_EQ(received->status, 0u);
      EXPECT_EQ(received->opcode, 128u);
      EXPECT_EQ(received->byte_len, kDatagramBytes);
      EXPECT_EQ(received->src_qp, 1u);
      EXPECT_EQ(received->wc_flags, kWcGrh);
      EXPECT_EQ(to.driver.TakeNotifications(), std::vector{to.cq.handle()});
      const uint8_t* const got = to.memory.data() + kPageBytes;
      EXPECT_EQ(std::memcmp(got + kGrhBytes, a.memory.data(), kMadBytes), 0);
      // The IPv4 header in the last 20 bytes [IBTA A17, 4.3.2]: its checksum, and from whom to whom.
      const uint8_t* const ip = got + 20;
      EXPECT_EQ(ip[0], 0x45);
      EXPECT_EQ(ip[9], 17);
      EXPECT_EQ(std::memcmp(ip + 12, World::GidOf(0).data() + 12, 4), 0);
      EXPECT_EQ(std::memcmp(ip + 16, World::GidOf(guest).data() + 12, 4), 0);
      uint32_t sum = 0;
      for (size_t at = 0; at < 20; at += 2) sum += uint32_t{ip[at]} << 8 | ip[at + 1];
      EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
    }
    EXPECT_FALSE(b.cq.Poll().has_value() || c.cq.Poll().has_value());
  }
}

TEST(PvrdmaGsi, GuestAndNicExchangeDatagrams) {
  World world({.has_gsi = true});
  world.Start();
  Kernel guest(world.driver(0));
  guest.Start();
  for (const size_t nic : {0U, 1U}) {  // the guest's own, and another one
    std::optional<std::pair<service::cm::Path, service::cm::Mad>> got;
    world.gsi(nic).SetReceiver([&](const service::cm::Path& path, service::cm::MadView mad) {
      got.emplace(path, service::cm::Mad{});
      std::ranges::copy(mad, got->second.begin());
    });
    std::iota(guest.memory.data(), guest.memory.data() + kMadBytes, static_cast<uint8_t>(nic));
    EXPECT_EQ(guest.StatusOf(To(world.system().host(nic).gid(), 1), std::array{guest.Element(0, kMadBytes)}), 0u);
    ASSERT_TRUE(guest.driver.Await([&] { return got.has_value(); }));
    EXPECT_EQ(std::memcmp(got->second.data(), guest.memory.data(), kMadBytes), 0);
    EXPECT_EQ(got->first.dgid, World::GidOf(0));
    EXPECT_EQ(got->first.sgid, world.system().host(nic).gid());
    // The answer, by the path on which it came.
    guest.Receive(9);
    world.gsi(nic).SendMad(got->first, got->second);
    const auto answer = guest.cq.Next();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->wr_id, 9u);
    EXPECT_EQ(std::memcmp(guest.memory.data() + kPageBytes + kGrhBytes, guest.memory.data(), kMadBytes), 0);
  }
}

TEST(PvrdmaGsi, WrongRequestsCompleteWithTheirStatus) {
  World world({.has_gsi = true});
  world.Start();
  Kernel a(world.driver(0)), b(world.driver(1));
  a.Start();
  b.Start();
  const uint32_t other_pd = a.driver.CreatePd();
  CreateMrResponse other;
  ASSERT_EQ(a.driver.Execute(Command::kCreateMr, CreateMr{.pd = other_pd, .access_flags = 1, .flags = kMrDma}, other),
            0u);
  const SendWqe good = To(World::GidOf(1), 1);
  const auto part = [&](const std::function<void(DatagramPart&)>& change) {
    SendWqe wqe = good;
    DatagramPart changed;
    std::memcpy(&changed, wqe.part, sizeof changed);
    change(changed);
    std::memcpy(wqe.part, &changed, sizeof changed);
    return wqe;
  };
  const auto with = [&](WrOpcode opcode, uint32_t flags) {
    SendWqe wqe = good;
    wqe.opcode = opcode;
    wqe.flags = flags;
    return wqe;
  };
  constexpr uint32_t kLength = 1, kOperation = 2, kProtection = 4;
  const Sge all = a.Element(0, kMadBytes);
  const std::array<Sge, 1> one = {all};
  EXPECT_EQ(a.StatusOf(with(WrOpcode::kRdmaWrite, kSignaled), one), kOperation);
  EXPECT_EQ(a.StatusOf(with(WrOpcode::kSend, kSignaled | kSendInline), one), kOperation);
  EXPECT_EQ(a.StatusOf(part([](DatagramPart& to) { to.remote_qpn = 2; }), one), kOperation);
  EXPECT_EQ(a.StatusOf(part([](DatagramPart& to) { to.av.gid_index = 1; }), one), kOperation);  // not bound
  EXPECT_EQ(a.StatusOf(good, std::array{a.Element(0, kMadBytes - 1)}), kLength);
  EXPECT_EQ(a.StatusOf(good, std::array{all, a.Element(0, 1)}), kLength);
  EXPECT_EQ(a.StatusOf(good, {}), kLength);
  EXPECT_EQ(a.StatusOf(good, std::array{Sge{all.addr, kMadBytes, other.lkey}}), kProtection);
  EXPECT_EQ(a.StatusOf(good, std::array{Sge{all.addr, kMadBytes, a.key + 100}}), kProtection);
  EXPECT_EQ(a.StatusOf(good, std::array{Sge{8, kMadBytes, a.key}}), kProtection);
  EXPECT_EQ(a.StatusOf(good, std::array{Sge{~uint64_t{0} - 5, kMadBytes, a.key}}), kProtection);
  SendWqe many = good;
  many.num_sge = ~0U;
  EXPECT_EQ(a.StatusOf(many, one), kOperation);
  // Receives: too small, and in no memory.
  b.qp.Receive({.wr_id = 5}, std::array{b.Element(0, kDatagramBytes - 1)});
  b.qp.Receive({.wr_id = 6}, std::array{Sge{8, kDatagramBytes, b.key}});
  for (const auto& [wr_id, status] : {std::pair{5U, kLength}, std::pair{6U, kProtection}}) {
    EXPECT_EQ(a.StatusOf(good, one), 0u);
    const auto received = b.cq.Next();
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, wr_id);
    EXPECT_EQ(received->status, status);
  }
  // Without a receive it is lost; the next one is not.
  EXPECT_EQ(a.StatusOf(good, one), 0u);
  EXPECT_TRUE(b.IsQuiet());
  b.Receive(7);
  EXPECT_EQ(a.StatusOf(good, one), 0u);
  const auto received = b.cq.Next();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wr_id, 7u);
  // Indices that no driver can reach end the queue pair, with an event.
  a.qp.header().first.prod_tail = 1000;
  a.qp.RingSend();
  ASSERT_TRUE(a.driver.Await([&] { return world.guest(0).device().objects().gsi->is_reported; }));
  const auto events = a.driver.TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::kQpFatal);
  EXPECT_EQ(events[0].info, kGsiHandle);
}

TEST(PvrdmaGsi, StatesFollowTheirOrder) {
  World world({.has_gsi = true});
  world.Start();
  Kernel kernel(world.driver(0));
  const uint32_t invalid = EINVAL;
  EXPECT_EQ(kernel.To(kRtr), invalid);
  EXPECT_EQ(kernel.qp.Modify(kAnyMask, {.qp_state = kInit, .qkey = 1}), invalid);
  EXPECT_EQ(kernel.qp.Modify(kAnyMask, {.qp_state = kInit, .qkey = spec::kGsiQkey, .pkey_index = 1}), invalid);
  EXPECT_EQ(kernel.qp.Modify(kMaskState | kMaskPort, {.qp_state = kInit, .port = 2}), invalid);
  EXPECT_EQ(kernel.qp.Modify(kMaskState | kMaskPath, {.qp_state = kInit}), invalid);
  EXPECT_EQ(kernel.To(7), invalid);
  EXPECT_EQ(kernel.To(4), invalid);
  EXPECT_EQ(kernel.To(kInit), 0u);
  EXPECT_EQ(kernel.To(kRts), invalid);
  EXPECT_EQ(kernel.To(kRtr), 0u);
  // A send waits for its state.
  kernel.qp.Send(To(World::GidOf(1), 3), std::array{kernel.Element(0, kMadBytes)});
  EXPECT_TRUE(kernel.IsQuiet());
  EXPECT_EQ(kernel.To(kRts), 0u);
  EXPECT_EQ(kernel.cq.Next().value_or(Cqe{}).wr_id, 3u);
  const QpAttributes state = kernel.qp.Query();
  EXPECT_EQ(state.qp_state, kRts);
  EXPECT_EQ(state.qkey, spec::kGsiQkey);
  EXPECT_EQ(state.cap.max_send_wr, kOptions.send_wr);
  EXPECT_EQ(state.cap.max_recv_sge, kOptions.recv_sge);
  // In the error state all that is posted completes.
  kernel.Receive(4);
  EXPECT_EQ(kernel.To(kErr), 0u);
  kernel.qp.Send(To(World::GidOf(1), 5), std::array{kernel.Element(0, kMadBytes)});
  std::vector<uint64_t> flushed;
  for (int i = 0; i < 2; ++i) {
    const auto completed = kernel.cq.Next();
    ASSERT_TRUE(completed.has_value());
    EXPECT_EQ(completed->status, 5u);
    flushed.push_back(completed->wr_id);
  }
  std::ranges::sort(flushed);
  EXPECT_EQ(flushed, (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(kernel.To(kReset), 0u);
  EXPECT_EQ(kernel.qp.Query().qp_state, kReset);
}

TEST(PvrdmaGsi, EndsWithItsGids) {
  World world({.guests = {0, 0}, .has_gsi = true});
  world.Start();
  Kernel a(world.driver(0)), b(world.driver(1));
  a.Start();
  b.Start();
  const auto moved = World::GidOf(1);
  b.Receive(1);
  const auto send = [&] { EXPECT_EQ(a.StatusOf(To(moved, 2), std::array{a.Element(0, kMadBytes)}), 0u); };
  DestroyBind unbind{.index = 0};
  std::ranges::copy(moved, unbind.gid);
  ASSERT_EQ(b.driver.Execute(Command::kDestroyBind, unbind), 0u);
  send();  // nobody's: dropped, as by a network
  EXPECT_TRUE(b.IsQuiet());
  b.driver.Bind(3, moved);
  send();
  EXPECT_TRUE(b.cq.Next().has_value());
  // A guest that starts again gets nothing that was sent to it before.
  b.Receive(1);
  b.driver.WriteRegister(kCtl, pvrdma::kReset);
  send();
  EXPECT_FALSE(world.guest(1).device().objects().gsi.has_value());
}

}  // namespace
}  // namespace vireo::sim::pvrdma
