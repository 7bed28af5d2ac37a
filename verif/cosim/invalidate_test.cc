// SPDX-License-Identifier: Apache-2.0
// SEND with invalidate and local invalidate: a key dies for what follows, not for what was begun, and what was begun
// has ended when the completion says so, which the monitor judges: it takes the region away with the completion. A key
// that may not be invalidated is refused. [IBTA vol. 1, 9.4.1.1, 10.6]
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "verif/cosim/key_test.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;
using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint64_t kAddress = 0x5000'0000;

class Invalidate : public KeyTest {
 protected:
  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildAndWatch(faults, 0);
    if (HasFatalFailure()) return;
    if (!system_->host(0).device().has_invalidation()) GTEST_SKIP() << "no invalidation in this profile";
  }
  ConnectedPairOptions Options() {
    ConnectedPairOptions options;
    options.memory_bytes = 8192;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.access = system_->host(0).device().all_access();
    return options;
  }
  // A page of a side's memory that an invalidate may end.
  std::shared_ptr<verbs::MemoryRegion> Region(size_t host, uint64_t page, bool invalidatable = true) {
    return Region(*side(host).pd, *side(host).memory, system_->host(host).device().all_access(), page, invalidatable);
  }
  static std::shared_ptr<verbs::MemoryRegion> Region(verbs::ProtectionDomain& pd, const host::DmaMemory& memory,
                                                     uint32_t access, uint64_t page, bool invalidatable = true) {
    const std::array<uint64_t, 1> pages = {memory.address() + page * kPage};
    auto made = pd.Register(kAddress, kPage, access, 0, pages, invalidatable);
    EXPECT_TRUE(made.ok()) << host::ToString(made.error());
    return made.ok() ? *made : nullptr;
  }
  static verbs::SendRequest SendWithInvalidate(uint64_t wr_id, const Elements& list, uint32_t rkey) {
    return {.wr_id = wr_id, .opcode = IbWrOpcode::kSendWithInv, .invalidate_rkey = rkey, .sg_list = list};
  }
  static verbs::SendRequest WriteTo(uint64_t wr_id, const Elements& list, const verbs::MemoryRegion& region,
                                    uint64_t offset) {
    return Access(IbWrOpcode::kRdmaWrite, wr_id, list, region.rkey(), region.address() + offset);
  }
};

// Of one packet, of several, and without payload; WRITEs before it are executed, those behind it refused.
TEST_P(Invalidate, SendEndsTheRegionForWhatFollows) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const uint32_t bytes : {0u, 100u, 600u}) {
    SCOPED_TRACE(bytes);
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region(1, 1);
    ASSERT_NE(region, nullptr);
    auto expected = Memory();
    const Elements from = {near().region->Sge(0, 300)}, sent = {near().region->Sge(512, bytes)};
    const Elements to = {far().region->Sge(0, 1024)};
    PostRecv(1, 7, to);
    Scatter(far(), {far().region->Sge(kPage + 16, 300)}, Bytes(near().memory->data(), near().memory->data() + 300),
            expected[1]);
    Scatter(far(), to, Bytes(near().memory->data() + 512, near().memory->data() + 512 + bytes), expected[1]);
    PostSend(WriteTo(1, from, *region, 16));
    PostSend(SendWithInvalidate(2, bytes == 0 ? Elements{} : sent, region->rkey()));
    PostSend(WriteTo(3, from, *region, 1000));
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ExpectNext(0, 2, IbWcStatus::kSuccess);
    ExpectNext(0, 3, IbWcStatus::kRemAccessErr);
    const auto received = Next(1);
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, 7U);
    EXPECT_EQ(received->status, IbWcStatus::kSuccess) << spec::ToString(received->status);
    EXPECT_EQ(received->opcode, IbWcOpcode::kRecv);
    EXPECT_EQ(received->byte_len, bytes);
    EXPECT_EQ(received->wc_flags, uint32_t{spec::IbWcFlags::kWithInv});
    EXPECT_EQ(spec::Ieth::Decode(received->imm_data).rkey, region->rkey());
    RunFor(20'000);
    ExpectMemory(expected);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(log_.Count(true, BthOpcode::kRcSendLastWithInvalidate), 1U);
  EXPECT_EQ(log_.Count(true, BthOpcode::kRcSendOnlyWithInvalidate), 2U);
}

TEST_P(Invalidate, SendOfAKeyThatMayNotBeInvalidatedIsRefused) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kProperty, kVariant, kPd, kTwice };
  for (const Wrong wrong : {Wrong::kProperty, Wrong::kVariant, Wrong::kPd, Wrong::kTwice}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    auto other = system_->host(1).device().CreatePd();
    ASSERT_TRUE(other.ok());
    const auto region = wrong == Wrong::kPd ? Region(**other, *far().memory, IbAccessFlags::kLocalWrite, 1)
                                            : Region(1, 1, wrong != Wrong::kProperty);
    ASSERT_NE(region, nullptr);
    const uint32_t key = region->rkey() ^ (wrong == Wrong::kVariant ? 1 : 0);
    const Elements from = {near().region->Sge(0, 64)};
    for (uint64_t i = 0; i < 2; ++i) PostRecv(1, 70 + i, {far().region->Sge(64 * i, 64)});
    if (wrong == Wrong::kTwice) {
      PostSend(SendWithInvalidate(1, from, key));
      ExpectNext(0, 1, IbWcStatus::kSuccess);
      ExpectNext(1, 70, IbWcStatus::kSuccess);
    }
    PostSend(SendWithInvalidate(2, from, key));
    ExpectNext(0, 2, IbWcStatus::kRemAccessErr);
    const auto received = Next(1);
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->wr_id, wrong == Wrong::kTwice ? 71U : 70U);
    EXPECT_EQ(received->status, IbWcStatus::kRemInvReqErr) << spec::ToString(received->status);
    EXPECT_EQ(received->vendor_err, static_cast<uint32_t>(spec::AethSyndrome::kNakRemoteAccessError));
    ASSERT_FALSE(HasFailure());
  }
}

// Behind SENDs that were sent before, and in order with those behind; then its key is of no use.
TEST_P(Invalidate, LocalInvalidateCompletesInOrder) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Region(0, 1);
  ASSERT_NE(region, nullptr);
  for (uint64_t i = 0; i < 4; ++i) PostRecv(1, 70 + i, {far().region->Sge(64 * i, 64)});
  const Elements from = {near().region->Sge(0, 64)};
  PostSend({.wr_id = 1, .sg_list = from});
  PostSend(LocalInvalidate(2, region->lkey()));
  PostSend({.wr_id = 3, .sg_list = from});
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  const auto completion = Next(0);
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->wr_id, 2U);
  EXPECT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
  EXPECT_EQ(completion->opcode, IbWcOpcode::kLocalInv);
  ExpectNext(0, 3, IbWcStatus::kSuccess);
  // With nothing before it.
  const auto second = Region(0, 1);
  ASSERT_NE(second, nullptr);
  PostSend(LocalInvalidate(4, second->lkey()));
  ExpectNext(0, 4, IbWcStatus::kSuccess);
  EXPECT_EQ(log_.CountSent(), 2U) << "it sends nothing";
  const Elements dead = {second->Sge(0, 64)};
  PostSend({.wr_id = 5, .sg_list = dead});
  ExpectNext(0, 5, IbWcStatus::kLocProtErr);
}

TEST_P(Invalidate, LocalInvalidateThatIsNotAllowedFails) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kProperty, kVariant, kFence, kElements };
  for (const Wrong wrong : {Wrong::kProperty, Wrong::kVariant, Wrong::kFence, Wrong::kElements}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region(0, 1, wrong != Wrong::kProperty);
    ASSERT_NE(region, nullptr);
    auto request = LocalInvalidate(1, region->lkey() ^ (wrong == Wrong::kVariant ? 1 : 0));
    const Elements list = {near().region->Sge(0, 8)};
    if (wrong == Wrong::kFence) request.flags |= spec::IbSendFlags::kFence;
    if (wrong == Wrong::kElements) request.sg_list = list;
    PostSend(request);
    PostSend(LocalInvalidate(2, region->lkey()));
    const auto error = wrong == Wrong::kProperty  ? spec::RdmaError::kBadAccessFlags
                       : wrong == Wrong::kVariant ? spec::RdmaError::kBadMrn
                                                  : spec::RdmaError::kInvalidParameter;
    ExpectError(0, 1, IbWcStatus::kLocQpOpErr, error);
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    ASSERT_FALSE(HasFailure());
  }
}

// The peer writes to the region and reads from it meanwhile: the monitor finds an access behind the completion. Host
// memory is so fast here that the completion seldom has to wait: that it does is the subject of the tests of completer
// and key fence.
TEST_P(Invalidate, WhatWasBegunHasEndedWithTheCompletion) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const unsigned rounds = has_cheap_cycles() ? 12 : 3;
  for (unsigned round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region(1, 1);
    ASSERT_NE(region, nullptr);
    const Elements block = {near().region->Sge(0, 2048)};
    constexpr uint64_t kWrites = 8;
    for (uint64_t i = 0; i < kWrites; ++i) {
      auto request = WriteTo(i, block, *region, 0);
      if (i % 2 != 0 && round % 2 != 0) request.opcode = IbWrOpcode::kRdmaRead;
      PostSend(request);
    }
    RunFor(2'000 + 500 * round);
    PostSend(LocalInvalidate(100, region->lkey()), 1);
    ExpectNext(1, 100, IbWcStatus::kSuccess);
    ExpectUntilRefused(0, kWrites);
    ASSERT_FALSE(HasFailure());
  }
}

// A response to a READ of the region is granted and not read yet, because host memory is slow to answer others that
// have all the tags (or room) of the device. The receive's completion says that nobody reads the region any more, so
// its owner writes to it. A READ that is not granted by then is refused: it has no fence.
TEST_P(Invalidate, ReceiveCompletesBehindReadsThatWaitForATag) {
  constexpr uint32_t kDelayNs = 40'000, kRead = 64, kBurst = 512;
  constexpr uint8_t kLater = 0xee;
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  // Several tags for each: fewer packets are read at a time than there are tags.
  constexpr uint32_t kPacket = 1024;
  const uint32_t tags = config().dma_tags / (kPacket / kBurst);
  const uint32_t most = std::min(tags, config().dma_read_buffer_bytes / kPacket);
  unsigned granted = 0;
  // How many wait between key check and tag depends on the path: one of these is the last that fits before the READ.
  for (uint32_t packets = most; packets < most + 6; ++packets) {
    SCOPED_TRACE(packets);
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    auto slow_options = Options();
    slow_options.memory_bytes = size_t{packets} * kPacket;
    slow_options.path_mtu = spec::IbMtu::kMtu1024;
    std::string error;
    const auto slow = MakeConnectedPair(system_->host(0), system_->host(1), slow_options, &error);
    ASSERT_NE(slow, nullptr) << error;
    const auto region = Region(1, 1);
    ASSERT_NE(region, nullptr);
    const Bytes before(far().memory->data() + kPage, far().memory->data() + kPage + kRead);
    const Elements first = {near().region->Sge(0, 16)}, to = {near().region->Sge(kPage, kRead)};
    // Behind this one the device has buffers of the completion queue.
    for (uint64_t i = 0; i < 2; ++i) PostRecv(1, 70 + i, {far().region->Sge(64 * i, 64)});
    PostSend({.wr_id = 1, .sg_list = first});
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ExpectNext(1, 70, IbWcStatus::kSuccess);
    RunFor(20'000);

    PcieLink& pcie = system_->host(1).station().pcie();
    pcie.AddFault({.kind = DmaFault::Kind::kDelay,
                   .address = slow->side[1].memory->address(),
                   .bytes = slow->side[1].memory->size(),
                   .delay_ns = kDelayNs});
    const uint64_t faulted = pcie.counters().faulted_reads;
    const spec::RdmaSge all = slow->side[0].region->Sge(0, packets * kPacket);
    const verbs::Status posted = slow->side[0].qp->PostSend({.opcode = IbWrOpcode::kRdmaRead,
                                                             .sg_list = std::span(&all, 1),
                                                             .remote_addr = slow->side[1].region->address(),
                                                             .rkey = slow->side[1].region->rkey()});
    ASSERT_TRUE(posted.ok());
    RunFor(10'000);
    PostSend({.wr_id = 2,
              .opcode = IbWrOpcode::kRdmaRead,
              .sg_list = to,
              .remote_addr = region->address(),
              .rkey = region->rkey()});
    PostSend(SendWithInvalidate(3, first, region->rkey()));
    ExpectNext(1, 71, IbWcStatus::kSuccess);
    std::fill_n(far().memory->data() + kPage, kRead, kLater);
    const auto read = Next(0);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->wr_id, 2U);
    if (read->status == IbWcStatus::kSuccess) {
      ++granted;
      EXPECT_EQ(Bytes(near().memory->data() + kPage, near().memory->data() + kPage + kRead), before);
      ExpectNext(0, 3, IbWcStatus::kSuccess);
    } else {
      EXPECT_EQ(read->status, IbWcStatus::kRemAccessErr) << spec::ToString(read->status);
      ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    }
    EXPECT_GT(pcie.counters().faulted_reads, faulted + most / 2);
    pcie.ClearFaults();
    Settle();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_NE(granted, 0U);
}

// Each key is invalidated once, whatever the link does; local invalidates stand among messages that are repeated.
TEST_P(Invalidate, OnceOverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  Build({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  auto options = Options();
  options.connection.timeout = 5;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t messages = has_cheap_cycles() ? 48 : 8;
  constexpr uint64_t kGroup = 8;  // each region takes a number
  for (uint64_t done = 0; done < messages; done += kGroup) {
    std::vector<std::shared_ptr<verbs::MemoryRegion>> ours, theirs;
    std::vector<Elements> lists;
    for (uint64_t i = 0; i < kGroup; ++i) {
      ours.push_back(Region(0, 1));
      theirs.push_back(Region(1, 1));
      ASSERT_TRUE(ours.back() != nullptr && theirs.back() != nullptr);
      lists.push_back({near().region->Sge(0, static_cast<uint32_t>(100 * i))});
      PostRecv(1, done + i, {far().region->Sge(0, 1024)});
    }
    for (uint64_t i = 0; i < kGroup; ++i) {
      PostSend(SendWithInvalidate(2 * i, i == 0 ? Elements{} : lists[i], theirs[i]->rkey()));
      PostSend(LocalInvalidate(2 * i + 1, ours[i]->lkey()));
    }
    for (uint64_t i = 0; i < 2 * kGroup; ++i) ExpectNext(0, i, IbWcStatus::kSuccess, kTimeoutNs);
    for (uint64_t i = 0; i < kGroup; ++i) {
      const auto received = Next(1, kTimeoutNs);
      ASSERT_TRUE(received.has_value());
      EXPECT_EQ(received->wr_id, done + i);
      EXPECT_EQ(received->status, IbWcStatus::kSuccess) << spec::ToString(received->status);
      EXPECT_EQ(spec::Ieth::Decode(received->imm_data).rkey, theirs[i]->rkey());
    }
    ASSERT_FALSE(HasFailure());
  }
}

// An old key never hits, also when another region has its number.
TEST_P(Invalidate, KeysRotate) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t regions = system_->host(0).device().attributes().max_mr;
  if (regions > 64) GTEST_SKIP() << "too many numbers to come back to one";
  auto region = Region(0, 1);
  ASSERT_NE(region, nullptr);
  const auto first = spec::RdmaKey::FromWord(region->lkey());
  PostSend(LocalInvalidate(1, region->lkey()));
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  const uint32_t old = region->lkey();
  region.reset();
  for (uint64_t i = 0; i <= regions; ++i) {
    region = Region(0, 1);
    ASSERT_NE(region, nullptr);
    const auto key = spec::RdmaKey::FromWord(region->lkey());
    EXPECT_NE(region->lkey(), old);
    if (key.index == first.index) break;
    region.reset();
  }
  ASSERT_NE(region, nullptr);
  ASSERT_EQ(spec::RdmaKey::FromWord(region->lkey()).index, first.index);
  const spec::RdmaSge with_old = {.addr = kAddress, .length = 8, .lkey = old};
  PostRecv(1, 7, {far().region->Sge(0, 64)});
  PostSend({.wr_id = 2, .sg_list = std::span(&with_old, 1)});
  ExpectNext(0, 2, IbWcStatus::kLocProtErr);
}

VIREO_ON_EVERY_DEVICE(Invalidate);

}  // namespace
}  // namespace vireo::sim
