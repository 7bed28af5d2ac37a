// SPDX-License-Identifier: Apache-2.0
// FLUSH on a reliable connection: it completes when what its queue pair has changed before is placed as requested, in
// every system where a read pushes the writes before it, and what is refused ends the connection. [IBTA vol. 1, A19.4]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sim/pcie/persistent_memory.h"
#include "verif/cosim/atomic_pair.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;
using spec::FlushSelectivity;
using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint8_t kGlobal = spec::FlushPlacement::kGlobalVisibility;
constexpr uint8_t kPersistent = spec::FlushPlacement::kPersistence;
constexpr uint8_t kSoon = 5;  // acknowledge timeout: 131 us
constexpr uint64_t kTimeoutNs = 50'000'000;
constexpr uint32_t kBytes = 8;

class Flush : public AtomicPair {
 protected:
  void Build(RdmaSystemOptions options = {}) {
    SystemTest::Build(std::move(options));
    Begin();
  }
  void BuildLossy(const std::array<std::string, 2>& faults) {
    BuildWith(faults);
    Begin();
  }
  // The far host's writes are on their way for long.
  void BuildSlow(uint32_t upstream_ns) {
    RdmaSystemOptions options;
    options.hosts.resize(2);
    options.hosts[1].nic.pcie.upstream_ns = upstream_ns;
    Build(std::move(options));
  }
  void Begin() {
    if (HasFatalFailure()) return;
    if (!system_->host(0).device().has_flush(kGlobal)) GTEST_SKIP() << "no FLUSH in this profile";
    log_.Watch(system_->host(0).station());
  }
  // Persistent memory instead of the far side's region, with all rights.
  void RegisterPersistent() {
    constexpr uint64_t kPage = 4096;
    std::vector<uint64_t> pages;
    for (uint64_t at = 0; at < far().memory->size(); at += kPage) pages.push_back(far().memory->address() + at);
    auto region = far().pd->Register(far().memory->address(), far().memory->size(),
                                     system_->host(1).device().all_access() | IbAccessFlags::kFlushPersistent, 0, pages,
                                     false, true);
    ASSERT_TRUE(region.ok()) << host::ToString(region.error());
    persistent_ = *region;
  }
  void TearDown() override {
    persistent_.reset();
    AtomicPair::TearDown();
  }
  ConnectedPairOptions Options() {
    auto options = AtomicPair::Options();
    options.connection.access |= IbAccessFlags::kFlushPersistent;
    return options;
  }
  verbs::SendRequest FlushOf(uint64_t wr_id, uint64_t at, uint32_t bytes, uint8_t placement = kGlobal,
                             FlushSelectivity selectivity = FlushSelectivity::kRange) {
    auto request = Remote(IbWrOpcode::kFlush, wr_id, {}, at);
    if (persistent_ != nullptr) request.rkey = persistent_->rkey();
    request.flush_length = bytes;
    request.flush_placement = placement;
    request.flush_selectivity = selectivity;
    return request;
  }
  verbs::SendRequest WriteOf(uint64_t wr_id, uint64_t from, uint32_t bytes, uint64_t at) {
    auto request = Remote(IbWrOpcode::kRdmaWrite, wr_id, {}, at);
    if (persistent_ != nullptr) request.rkey = persistent_->rkey();
    element_ = {near().region->Sge(from, bytes)};
    request.sg_list = element_;
    return request;
  }
  void ExpectFlushed(uint64_t wr_id) {
    const auto completion = NextOf(*near().cq, 0, kTimeoutNs);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->opcode, IbWcOpcode::kFlush);
    EXPECT_EQ(completion->byte_len, 0U);
  }

  std::shared_ptr<verbs::MemoryRegion> persistent_;
  Elements element_;
};

// Among other operations, of both extents and formats, more than may be outstanding.
TEST_P(Flush, CompletesInTheOrderOfItsQueuePair) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const bool extensible : {true, false}) {
    SCOPED_TRACE(extensible);
    auto options = Options();
    options.qp.extensible_requests = extensible;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    constexpr uint64_t kAt = 128, kInto = 1024;
    const uint64_t count = config().max_rd_atomic + 3;
    auto expected = Memory();
    PostSend(WriteOf(0, 0, 64, kAt));
    std::memcpy(expected[1].data() + kAt, expected[0].data(), 64);
    for (uint64_t i = 0; i < count; ++i) {
      const auto bytes = static_cast<uint32_t>(i % 4 == 0 ? 0 : i * 100);
      PostSend(FlushOf(1 + i, kAt + i, bytes, kGlobal,
                       i % 3 == 2 ? FlushSelectivity::kMemoryRegion : FlushSelectivity::kRange));
    }
    PostSend(FetchAdd(1 + count, {near().region->Sge(kInto, kBytes)}, kAt, 1));
    const uint64_t before = Load(*near().memory, 0);
    Put(expected[0], kInto, before);
    Put(expected[1], kAt, before + 1);
    PostSend(FlushOf(2 + count, kAt, kBytes));
    ExpectNext(0, 0, IbWcStatus::kSuccess);
    for (uint64_t i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(ExpectFlushed(1 + i));
    ExpectNext(0, 1 + count, IbWcStatus::kSuccess);
    ExpectFlushed(2 + count);
    ExpectMemory(expected);
    EXPECT_EQ(log_.Count(true, BthOpcode::kRcFlush), count + 1);
    EXPECT_EQ(log_.Count(false, BthOpcode::kRcRdmaReadResponseOnly), count + 1);
    for (const auto& entry : log_.entries()) EXPECT_FALSE(entry.headers.bth.solicited_event);
    ASSERT_FALSE(HasFailure());
  }
}

// A posted write is answered when it is on its way. With a FLUSH behind it, it is there; without, it is not yet.
TEST_P(Flush, IsBehindTheWritesOnTheirWayToMemory) {
  BuildSlow(20'000);
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint32_t kMany = 3000;
  const auto is_there = [this](uint64_t at) {
    return std::equal(near().memory->data(), near().memory->data() + kMany, far().memory->data() + at);
  };
  PostSend(WriteOf(1, 0, kMany, 64));
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  EXPECT_FALSE(is_there(64)) << "a write is not on its way";
  for (const auto selectivity : {FlushSelectivity::kRange, FlushSelectivity::kMemoryRegion}) {
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    PostSend(WriteOf(1, 0, kMany, 4096));
    PostSend(FlushOf(2, 4096, kMany, kGlobal, selectivity));
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    EXPECT_FALSE(is_there(4096));
    ExpectFlushed(2);
    EXPECT_TRUE(is_there(4096));
  }
  RunFor(50'000);
}

TEST_P(Flush, CompletesOverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  BuildLossy({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu256;
  options.connection.timeout = kSoon;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t rounds = has_cheap_cycles() ? 300 : 8;
  constexpr uint64_t kAt = 0x140, kBatch = 16;
  uint64_t sum = Load(*far().memory, kAt);
  for (uint64_t first = 0; first < rounds; first += kBatch) {
    const uint64_t end = std::min(first + kBatch, rounds);
    for (uint64_t i = first; i < end; ++i) {
      PostSend(FetchAdd(2 * i, {near().region->Sge((i - first) * kBytes, kBytes)}, kAt, i));
      PostSend(FlushOf(2 * i + 1, kAt, kBytes));
    }
    for (uint64_t i = first; i < end; ++i) {
      const auto added = NextOf(*near().cq, 0, kTimeoutNs);
      ASSERT_TRUE(added.has_value());
      ASSERT_EQ(added->wr_id, 2 * i);
      ASSERT_NO_FATAL_FAILURE(ExpectFlushed(2 * i + 1));
      ASSERT_EQ(Load(*near().memory, (i - first) * kBytes), sum) << "of round " << i;
      sum += i;
    }
  }
  EXPECT_EQ(Load(*far().memory, kAt), sum);
  if (has_cheap_cycles()) {
    ExpectAllFaultsInjected(0);
    ExpectAllFaultsInjected(1);
  }
}

// Rights of queue pair and region for each placement, key and range; a region's FLUSH ignores the range.
TEST_P(Flush, RefusedFlushEndsTheConnection) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kNothing, kWhole, kQpRight, kRegionRight, kPlacement, kKey, kBehind, kEmptyBehind };
  for (const Wrong wrong : {Wrong::kNothing, Wrong::kWhole, Wrong::kQpRight, Wrong::kRegionRight, Wrong::kPlacement,
                            Wrong::kKey, Wrong::kBehind, Wrong::kEmptyBehind}) {
    if (!has_cheap_cycles() && wrong > Wrong::kPlacement) break;
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    if (wrong == Wrong::kQpRight) options.connection.access &= ~IbAccessFlags::kFlushGlobal;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    const auto expected = Memory();
    const uint32_t access = wrong == Wrong::kRegionRight
                                ? IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead
                                : uint32_t{IbAccessFlags::kFlushGlobal};
    auto made = far().pd->Register(*far().memory, access);
    ASSERT_TRUE(made.ok()) << host::ToString(made.error());
    std::shared_ptr<verbs::MemoryRegion> region = *made;
    auto request = FlushOf(1, 0, 100);
    request.remote_addr = region->address() + 100;
    request.rkey = region->rkey();
    switch (wrong) {
      case Wrong::kWhole:
        request.flush_selectivity = FlushSelectivity::kMemoryRegion;
        request.remote_addr = 1;
        request.flush_length = 0xffff'ffff;
        break;
      case Wrong::kPlacement: request.flush_placement = kGlobal | kPersistent; break;
      case Wrong::kKey: request.rkey ^= 1; break;
      case Wrong::kBehind: request.remote_addr = region->address() + region->length() - 99; break;
      case Wrong::kEmptyBehind:
        request.remote_addr = region->address() + region->length() + 1;
        request.flush_length = 0;
        break;
      default: break;
    }
    PostSend(request);
    request.wr_id = 2;
    PostSend(request);
    if (wrong <= Wrong::kWhole) {
      ExpectFlushed(1);
      ExpectFlushed(2);
    } else {
      ExpectNext(0, 1, wrong == Wrong::kQpRight ? IbWcStatus::kRemInvReqErr : IbWcStatus::kRemAccessErr);
      ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    }
    ExpectMemory(expected);
    region.reset();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Flush, MalformedWorkRequestFailsBeforeItIsSent) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kElement, kInline, kNothing, kExtent, kLength, kNoneAllowed };
  for (const Wrong wrong :
       {Wrong::kElement, Wrong::kInline, Wrong::kNothing, Wrong::kExtent, Wrong::kLength, Wrong::kNoneAllowed}) {
    if (!has_cheap_cycles() && wrong > Wrong::kNothing) break;
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    if (wrong == Wrong::kNoneAllowed) options.connection.max_rd_atomic = 0;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    const Elements element = {near().region->Sge(0, kBytes)};
    const Bytes inline_data(kBytes);
    auto request = FlushOf(1, 0, 100);
    if (wrong == Wrong::kElement) request.sg_list = element;
    if (wrong == Wrong::kInline) {
      request.flags |= spec::IbSendFlags::kInline;
      request.inline_data = inline_data;
    }
    if (wrong == Wrong::kNothing) request.flush_placement = 0;
    if (wrong == Wrong::kExtent) request.flush_selectivity = static_cast<FlushSelectivity>(2);
    if (wrong == Wrong::kLength) request.flush_length = 0x8000'0000;
    PostSend(request);
    PostSend(FlushOf(2, 0, 100));
    ExpectNext(0, 1, IbWcStatus::kLocQpOpErr);
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(log_.CountSent(), 0U);
  }
}

// Which memory may have which right. [Linux, ib_check_mr_access(); rxe]
TEST_P(Flush, RightsDependOnTheMemory) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  const auto registers = [this](uint32_t access, bool is_pmem) {
    const std::array pages = {far().memory->address()};
    return far().pd->Register(far().memory->address(), 100, access, 0, pages, false, is_pmem).ok();
  };
  constexpr uint32_t kBoth = IbAccessFlags::kFlushGlobal | IbAccessFlags::kFlushPersistent;
  EXPECT_TRUE(registers(IbAccessFlags::kFlushGlobal, false));
  EXPECT_TRUE(registers(IbAccessFlags::kFlushGlobal, true));
  EXPECT_FALSE(registers(IbAccessFlags::kFlushPersistent, false));
  EXPECT_FALSE(registers(kBoth, false));
  EXPECT_TRUE(registers(IbAccessFlags::kFlushPersistent, true));
  EXPECT_TRUE(registers(kBoth, true));
  EXPECT_FALSE(far().pd->RegisterAll(IbAccessFlags::kFlushGlobal).ok());
  EXPECT_FALSE(far().pd->RegisterAll(IbAccessFlags::kFlushPersistent).ok());
  EXPECT_TRUE(far().pd->RegisterAll(IbAccessFlags::kRemoteRead).ok());
}

// Power fails at random moments, about VIREO_POWER_CUTS of them with FLUSH. What was written before a FLUSH that has
// completed is on the medium; of WRITEs that have only completed, some are lost.
TEST_P(Flush, WhatWasFlushedSurvivesAPowerCut) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  constexpr uint64_t kSlots = 32, kSlot = 200;
  size_t lost = 0, cuts = 0;
  auto random = MakeRandom("flush_test");
  for (const bool flushes : {true, false}) {
    SCOPED_TRACE(flushes);
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_NO_FATAL_FAILURE(RegisterPersistent());
    std::memset(far().memory->data(), 0, far().memory->size());
    PersistentMemory persistent(
        system_->host(1).station().memory(),
        {.address = far().memory->address(), .data = {far().memory->data(), far().memory->size()}}, 40, random());
    const char* const wanted = std::getenv("VIREO_POWER_CUTS");
    const uint64_t rounds = wanted != nullptr    ? (std::strtoull(wanted, nullptr, 10) + 1) / 2
                            : has_cheap_cycles() ? 400
                                                 : 12;
    // Round i writes its number over slot i % kSlots; the power is cut between rounds and within them.
    std::vector<uint64_t> durable(kSlots);  // the last round of each slot that has completed
    const auto check = [&] {
      ++cuts;
      for (uint64_t slot = 0; slot < kSlots; ++slot) {
        uint64_t least = ~uint64_t{0};
        for (uint64_t at = 0; at < kSlot; at += kBytes) {
          uint64_t value = 0;
          std::memcpy(&value, persistent.medium().data() + slot * kSlot + at, sizeof value);
          least = std::min(least, value);
        }
        if (flushes) {
          ASSERT_GE(least, durable[slot]) << "slot " << slot;
        }
        lost += least < durable[slot];
      }
    };
    for (uint64_t round = 1; round <= rounds; ++round) {
      const uint64_t slot = round % kSlots;
      const uint64_t from = (round % 4) * kSlot;
      for (uint64_t at = 0; at < kSlot; at += kBytes) {
        std::memcpy(near().memory->data() + from + at, &round, sizeof round);
      }
      PostSend(WriteOf(2 * round, from, kSlot, slot * kSlot));
      const bool whole = random() % 2 != 0;
      if (flushes) {
        PostSend(FlushOf(2 * round + 1, slot * kSlot, kSlot, kPersistent,
                         whole ? FlushSelectivity::kMemoryRegion : FlushSelectivity::kRange));
      }
      RunFor(random() % 3000);
      ASSERT_NO_FATAL_FAILURE(check());
      ExpectNext(0, 2 * round, IbWcStatus::kSuccess);
      if (flushes) {
        ASSERT_NO_FATAL_FAILURE(ExpectFlushed(2 * round + 1));
      }
      durable[slot] = round;
      ASSERT_NO_FATAL_FAILURE(check());
    }
    if (flushes) {
      EXPECT_EQ(lost, 0U);
    }
    persistent_.reset();
    RunFor(20'000);
  }
  EXPECT_GT(lost, 0U) << "the memory loses nothing without FLUSH";
  EXPECT_GT(cuts, 0U);
  if (std::getenv("VIREO_POWER_CUTS") != nullptr) {
    std::printf("%zu cuts, half of them with FLUSH: nothing lost; without: %zu slots\n", cuts, lost);
  }
}

VIREO_ON_EVERY_DEVICE(Flush);

}  // namespace
}  // namespace vireo::sim
