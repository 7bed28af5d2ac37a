// SPDX-License-Identifier: Apache-2.0
// Multicast of UD: each queue pair that is attached to the group of a datagram gets a copy, on every NIC behind a
// switch; nobody else does. [IBTA vol. 1, 10.5.2; RFC 1112, 6.4; RFC 2464, 7]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;
using Group = verbs::QueuePair::Group;

constexpr uint32_t kGrh = spec::kRdmaUdGrhBytes;
constexpr uint32_t kQkey = 0x0123'4567;
constexpr Group kIpv4Group = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0x81, 2, 3};
constexpr Group kOtherGroup = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0x01, 2, 3};  // of the same MAC
constexpr Group kIpv6Group = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd};
constexpr uint32_t kSlotBytes = 512, kSlots = 64;

class Multicast : public SystemTest {
 protected:
  struct Member {
    size_t host = 0;
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
    host::DmaBuffer memory;
    std::shared_ptr<verbs::MemoryRegion> region;
    uint64_t posted = 0;
    ~Member() { qp.reset(); }
  };

  void SetUp() override {
    if (!has_additions()) GTEST_SKIP() << "rfc-v2 has no multicast";
    Build({.nics = 3, .fabric = Fabric::kSwitch});
    if (HasFatalFailure()) return;
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(system_->host(i).AddIpv6Gid(), "");
  }
  void TearDown() override {
    if (system_ == nullptr) return;
    members_.clear();
    ah_.reset();
    SystemTest::TearDown();
  }

  Member& Add(size_t host, uint32_t qkey = kQkey) {
    auto member = std::make_unique<Member>();
    member->host = host;
    verbs::Device& device = system_->host(host).device();
    auto pd = device.CreatePd();
    auto cq = device.CreateCq(kSlots, std::nullopt);
    EXPECT_TRUE(pd.ok() && cq.ok());
    member->pd = *pd;
    member->cq = *cq;
    auto qp = member->pd->CreateQp({.type = spec::IbQpType::kUd,
                                    .send_cq = member->cq,
                                    .recv_cq = member->cq,
                                    .max_send_wr = kSlots / 2,
                                    .max_recv_wr = kSlots / 2,
                                    .push = false});
    EXPECT_TRUE(qp.ok());
    member->qp = *qp;
    EXPECT_TRUE(member->qp->Start({.qkey = qkey}).ok());
    auto memory = system_->host(host).function().AllocateDma(size_t{kSlotBytes} * kSlots, 4096);
    EXPECT_TRUE(memory.ok());
    member->memory = std::move(memory).value();
    auto region = member->pd->Register(*member->memory, spec::IbAccessFlags::kLocalWrite);
    EXPECT_TRUE(region.ok());
    member->region = *region;
    members_.push_back(std::move(member));
    return *members_.back();
  }
  void Post(Member& to, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t slot = to.posted++ % (kSlots / 2);
      const spec::RdmaSge sge = to.region->Sge(slot * kSlotBytes, kSlotBytes);
      ASSERT_TRUE(to.qp->PostRecv({.wr_id = slot, .sg_list = {&sge, 1}}).ok());
    }
  }
  void Address(Member& from, const Group& group) {
    spec::RdmaAhAttr path;
    std::ranges::copy(group, path.grh.dgid);
    path.grh.hop_limit = 1;
    path.grh.sgid_index = group[0] == 0xff ? RdmaHost::kIpv6Gid : RdmaHost::kIpv4Gid;
    const std::array<uint8_t, 6> ipv6 = {0x33, 0x33, group[12], group[13], group[14], group[15]};
    const std::array<uint8_t, 6> ipv4 = {1, 0, 0x5e, static_cast<uint8_t>(group[13] & 0x7f), group[14], group[15]};
    std::ranges::copy(group[0] == 0xff ? ipv6 : ipv4, path.dmac);
    auto ah = from.pd->CreateAh(path);
    ASSERT_TRUE(ah.ok());
    ah_ = std::move(ah).value();
  }
  // To the group of Address(); `value` fills it.
  void Send(Member& from, uint8_t value, uint32_t bytes, uint32_t qpn = spec::kMulticastQpn, uint32_t qkey = kQkey) {
    uint8_t* const data = from.memory->data() + size_t{kSlotBytes} * (kSlots - 1);
    std::fill_n(data, bytes, value);
    const spec::RdmaSge sge = from.region->Sge(size_t{kSlotBytes} * (kSlots - 1), bytes);
    ASSERT_TRUE(from.qp
                    ->PostSend({.wr_id = 1000,
                                .opcode = IbWrOpcode::kSend,
                                .sg_list = {&sge, 1},
                                .remote_qpn = qpn,
                                .remote_qkey = qkey,
                                .ah = ah_.get()})
                    .ok());
    const auto sent = NextOf(*from.cq, from.host, kSecondNs / 1000);
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->wr_id, 1000U);
    EXPECT_EQ(sent->status, IbWcStatus::kSuccess) << spec::ToString(sent->status);
  }
  // The next datagram at `to`: these bytes of `value` behind the header of the group.
  void ExpectReceived(Member& to, const Member& from, const Group& group, uint8_t value, uint32_t bytes) {
    const auto completion = NextOf(*to.cq, to.host, kSecondNs / 1000);
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->byte_len, kGrh + bytes);
    EXPECT_EQ(completion->src_qp, from.qp->qpn());
    EXPECT_EQ(completion->qp_num, to.qp->qpn());
    EXPECT_EQ(completion->wc_flags, uint32_t{spec::IbWcFlags::kGrh});
    const uint8_t* const data = to.memory->data() + size_t{kSlotBytes} * completion->wr_id;
    EXPECT_TRUE(std::all_of(data + kGrh, data + kGrh + bytes, [value](uint8_t byte) { return byte == value; }));
    const size_t address = group[0] == 0xff ? 16 : 4;
    EXPECT_TRUE(std::equal(group.end() - static_cast<ptrdiff_t>(address), group.end(), data + kGrh - address));
  }
  void ExpectNothing(Member& at) { ExpectNoneOf(*at.cq, at.host, 20'000); }

  std::vector<std::unique_ptr<Member>> members_;
  std::shared_ptr<verbs::AddressHandle> ah_;
};

TEST_P(Multicast, EachAttachedQueuePairGetsACopy) {
  for (const Group& group : {kIpv4Group, kIpv6Group}) {
    Member &sender = Add(0), &first = Add(1), &second = Add(1), &third = Add(2), &stranger = Add(1), &other = Add(2);
    for (Member* const member : {&sender, &first, &second, &third, &stranger, &other}) Post(*member, 2);
    for (Member* const member : {&sender, &first, &second, &third}) ASSERT_TRUE(member->qp->Attach(group).ok());
    ASSERT_TRUE(other.qp->Attach(kOtherGroup).ok());
    ASSERT_TRUE(first.qp->Attach(group).ok());  // again: no second copy
    Address(sender, group);
    Send(sender, 0x5a, 300);
    for (Member* const member : {&first, &second, &third}) ExpectReceived(*member, sender, group, 0x5a, 300);
    for (Member* const member : {&sender, &first, &second, &third, &stranger, &other}) ExpectNothing(*member);
    ASSERT_FALSE(HasFailure());
    // Who is detached gets no more.
    ASSERT_TRUE(first.qp->Detach(group).ok());
    Send(sender, 0xa5, 0);
    for (Member* const member : {&second, &third}) ExpectReceived(*member, sender, group, 0xa5, 0);
    ExpectNothing(first);
    members_.clear();
  }
}

TEST_P(Multicast, WhatMatchesNoAttachmentIsDropped) {
  Member &sender = Add(0), &member = Add(1), &locked = Add(1, kQkey + 1), &empty = Add(2);
  Post(member, 4);
  Post(locked, 4);
  for (Member* const one : {&member, &locked, &empty}) ASSERT_TRUE(one->qp->Attach(kIpv4Group).ok());
  Address(sender, kOtherGroup);  // same MAC address
  Send(sender, 1, 8);
  Address(sender, kIpv4Group);
  Send(sender, 2, 8, spec::kMulticastQpn - 1);
  Send(sender, 3, 8, member.qp->qpn());
  Send(sender, 4, 8, spec::kMulticastQpn, kQkey + 2);
  for (Member* const one : {&member, &locked, &empty}) ExpectNothing(*one);
  // They do not disturb what follows, nor does a member without a receive.
  Send(sender, 5, 8);
  ExpectReceived(member, sender, kIpv4Group, 5, 8);
  Send(sender, 6, 8, spec::kMulticastQpn, kQkey + 1);
  ExpectReceived(locked, sender, kIpv4Group, 6, 8);
  for (Member* const one : {&member, &locked, &empty}) ExpectNothing(*one);
}

TEST_P(Multicast, CommandsHaveLimits) {
  Member& member = Add(1);
  const uint32_t most = system_->host(1).device().attributes().max_mcast_attach;
  EXPECT_EQ(most, config().max_mcast_attach);
  Group group = kIpv6Group;
  const auto code = [](const host::Status& status) { return status.ok() ? spec::RdmaError::kOk : status.error().rdma; };
  for (uint32_t i = 0; i < most; ++i) {
    group[11] = static_cast<uint8_t>(i);
    EXPECT_TRUE(member.qp->Attach(group).ok());
  }
  group[11] = 0xff;
  EXPECT_EQ(code(member.qp->Attach(group)), spec::RdmaError::kNoFreeMcast);
  EXPECT_EQ(code(member.qp->Detach(group)), spec::RdmaError::kNotAttached);
  group[0] = 0xfe;
  EXPECT_EQ(code(member.qp->Attach(group)), spec::RdmaError::kInvalidGid);
  // A queue pair that is destroyed is detached first.
  members_.clear();
  Member& next = Add(1);
  EXPECT_TRUE(next.qp->Attach(kIpv4Group).ok());
}

// Datagrams to groups and to queue pairs, mixed; nothing is lost while there are receives.
TEST_P(Multicast, MixesWithUnicast) {
  auto random = MakeRandom("multicast");
  Member &sender = Add(0), &first = Add(1), &second = Add(1), &third = Add(2);
  for (Member* const member : {&first, &second, &third}) ASSERT_TRUE(member->qp->Attach(kIpv6Group).ok());
  for (unsigned i = 0; i < 24; ++i) {
    const auto value = static_cast<uint8_t>(1 + i);
    const auto bytes = static_cast<uint32_t>(UniformBelow(random, kSlotBytes - kGrh));
    if (UniformBelow(random, 3) != 0) {
      for (Member* const member : {&first, &second, &third}) Post(*member, 1);
      Address(sender, kIpv6Group);
      Send(sender, value, bytes);
      for (Member* const member : {&first, &second, &third}) ExpectReceived(*member, sender, kIpv6Group, value, bytes);
    } else {
      Member& to = UniformBelow(random, 2) == 0 ? first : third;
      Post(to, 1);
      auto ah = sender.pd->CreateAh(system_->host(0).PathTo(system_->host(to.host), RdmaHost::kIpv6Gid));
      ASSERT_TRUE(ah.ok());
      ah_ = std::move(ah).value();
      Send(sender, value, bytes, to.qp->qpn());
      Group own{};
      std::ranges::copy(system_->host(to.host).gid(RdmaHost::kIpv6Gid), own.begin());
      const auto completion = NextOf(*to.cq, to.host, kSecondNs / 1000);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->byte_len, kGrh + bytes);
    }
    ASSERT_FALSE(HasFailure());
  }
  for (Member* const member : {&first, &second, &third}) ExpectNothing(*member);
}

VIREO_ON_EVERY_DEVICE(Multicast);

}  // namespace
}  // namespace vireo::sim
