// SPDX-License-Identifier: Apache-2.0
// Atomic operations on a reliable connection: what was in memory comes back, each operation is executed once and none
// comes between another's read and write, whatever the link does, and those that are refused change nothing.
// [IBTA vol. 1, 9.4.5, 9.7.5.1.4]
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verif/cosim/atomic_pair.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;
using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint8_t kSoon = 5;  // acknowledge timeout: 131 us
constexpr uint64_t kTimeoutNs = 50'000'000;
constexpr uint32_t kBytes = 8;

class Atomic : public AtomicPair {
 protected:
  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildWith(faults);
    if (HasFatalFailure()) return;
    if (!system_->host(0).device().has_atomics()) GTEST_SKIP() << "no atomic operations in this profile";
    log_.Watch(system_->host(0).station());
  }
  verbs::SendRequest CompareSwap(uint64_t wr_id, const Elements& into, uint64_t at, uint64_t compare, uint64_t swap) {
    auto request = Remote(IbWrOpcode::kAtomicCmpAndSwp, wr_id, into, at);
    request.compare_add = compare;
    request.swap = swap;
    return request;
  }
  static void Store(host::DmaMemory& memory, uint64_t offset, uint64_t value) {
    std::memcpy(memory.data() + offset, &value, sizeof value);
  }
};

// One behind the other at one address, none waits for the one before: results are in the order of the requests.
TEST_P(Atomic, OperationsAtOneAddressAreInOrder) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint64_t kAt = 128, kFrom = 4096;
  struct Step {
    bool is_swap;
    uint64_t compare_add, swap, before;
  };
  constexpr uint64_t kFirst = 0xffff'ffff'ffff'fffe, kNext = 0x0123'4567'89ab'cdef;
  constexpr std::array<Step, 8> kSteps = {{{false, 1, 0, kFirst},
                                           {false, 2, 0, kFirst + 1},  // wraps to 1
                                           {true, 0, 7, 1},            // differs: nothing is written
                                           {true, 1, kNext, 1},
                                           {true, kNext ^ uint64_t{1} << 63, 7, kNext},
                                           {false, 0x1'0000'0000, 0, kNext},
                                           {false, 0, 0, kNext + 0x1'0000'0000},
                                           {true, kNext + 0x1'0000'0000, 5, kNext + 0x1'0000'0000}}};
  // A WRITE before them is visible to the first one; a fenced READ behind them sees the last one.
  auto expected = Memory();
  Store(*near().memory, 0, kFirst);
  Put(expected[0], 0, kFirst);
  PostSend(Remote(IbWrOpcode::kRdmaWrite, 0, {near().region->Sge(0, kBytes)}, kAt));
  for (size_t i = 0; i < kSteps.size(); ++i) {
    const Step& step = kSteps.at(i);
    const Elements into = {near().region->Sge(kFrom + 3 * kBytes * i + 1, 3),
                           near().region->Sge(kFrom + 3 * kBytes * i + 9, 5)};
    Bytes value(kBytes);
    std::memcpy(value.data(), &step.before, kBytes);
    Scatter(near(), into, value, expected[0]);
    PostSend(step.is_swap ? CompareSwap(1 + i, into, kAt, step.compare_add, step.swap)
                          : FetchAdd(1 + i, into, kAt, step.compare_add));
  }
  Put(expected[1], kAt, 5);
  const Elements at_the_end = {near().region->Sge(64, kBytes)};
  auto read = Remote(IbWrOpcode::kRdmaRead, 9, at_the_end, kAt);
  read.flags |= spec::IbSendFlags::kFence;
  PostSend(read);
  Put(expected[0], 64, 5);
  ExpectNext(0, 0, IbWcStatus::kSuccess);
  for (size_t i = 0; i < kSteps.size(); ++i) {
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 1 + i);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->opcode, kSteps.at(i).is_swap ? IbWcOpcode::kCompSwap : IbWcOpcode::kFetchAdd);
    EXPECT_EQ(completion->byte_len, kBytes);
  }
  ExpectNext(0, 9, IbWcStatus::kSuccess);
  ExpectMemory(expected);
  EXPECT_EQ(log_.Count(false, BthOpcode::kRcAtomicAcknowledge), kSteps.size());
}

// --- The counter

// Queue pairs of both hosts add to one counter of the other host each. No value comes back twice, and none is left out.
TEST_P(Atomic, CountersAddUpOverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  Build({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  // 16, of which nic1 has 14; each costs commands.
  const size_t pairs = std::min<size_t>(has_cheap_cycles() ? 16 : 4, config().num_qps - 2);
  const uint64_t each = has_cheap_cycles() ? 60 : 6;  // operations of a queue pair
  constexpr uint64_t kStart = 0xffff'ffff'ffff'fff0, kAt = 0x140, kSlot = 16;
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu256;
  options.connection.timeout = kSoon;
  options.interrupts = false;
  std::array<host::DmaBuffer, 2> memory;
  for (size_t host = 0; host < 2; ++host) {
    auto made = system_->host(host).function().AllocateDma(4096, 4096);
    ASSERT_TRUE(made.ok());
    memory.at(host) = std::move(made).value();
    Store(*memory.at(host), kAt, kStart);
  }
  std::vector<std::unique_ptr<ConnectedPair>> all;
  std::vector<std::array<std::shared_ptr<verbs::MemoryRegion>, 2>> counters;
  for (size_t i = 0; i < pairs; ++i) {
    std::string error;
    all.push_back(MakeConnectedPair(system_->host(0), system_->host(1), options, &error));
    ASSERT_NE(all.back(), nullptr) << error;
    auto& regions = counters.emplace_back();
    for (size_t host = 0; host < 2; ++host) {
      auto made = all.back()->side.at(host).pd->Register(*memory.at(host), system_->host(host).device().all_access());
      ASSERT_TRUE(made.ok()) << host::ToString(made.error());
      regions.at(host) = *made;
    }
  }
  for (uint64_t k = 0; k < each; ++k) {
    for (size_t i = 0; i < pairs; ++i) {
      for (size_t host = 0; host < 2; ++host) {
        const ConnectedPair::Side& side = all[i]->side.at(host);
        const verbs::MemoryRegion& counter = *counters[i].at(1 - host);
        const spec::RdmaSge into = side.region->Sge(k * kSlot, kBytes);
        const verbs::Status posted = side.qp->PostSend({.wr_id = k,
                                                        .opcode = IbWrOpcode::kAtomicFetchAndAdd,
                                                        .sg_list = std::span(&into, 1),
                                                        .remote_addr = counter.address() + kAt,
                                                        .rkey = counter.rkey(),
                                                        .compare_add = 1});
        ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
      }
    }
  }
  std::array<std::vector<uint64_t>, 2> counts;  // that came back to each host
  for (size_t i = 0; i < pairs; ++i) {
    for (size_t host = 0; host < 2; ++host) {
      uint64_t last = 0;
      for (uint64_t k = 0; k < each; ++k) {
        const auto completion = NextOf(*all[i]->side.at(host).cq, host, kTimeoutNs);
        ASSERT_TRUE(completion.has_value());
        ASSERT_EQ(completion->wr_id, k);
        ASSERT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
        const uint64_t count = Load(*all[i]->side.at(host).memory, k * kSlot) - kStart;
        EXPECT_TRUE(k == 0 || count > last) << "those of a queue pair are executed in order";
        last = count;
        counts.at(host).push_back(count);
      }
    }
  }
  for (size_t host = 0; host < 2; ++host) {
    std::ranges::sort(counts.at(host));
    for (uint64_t i = 0; i < counts.at(host).size(); ++i) {
      ASSERT_EQ(counts.at(host)[i], i) << "came back to host " << host << " twice, or never";
    }
    EXPECT_EQ(Load(*memory.at(host), kAt) - kStart, pairs * each) << "at host " << host;
    if (has_cheap_cycles()) ExpectAllFaultsInjected(host);  // of few packets, not every kind is hit
  }
  counters.clear();
  all.clear();
}

// --- Refused requests

TEST_P(Atomic, RefusedOperationChangesNoMemory) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kAlignment, kQpRight, kRegionRight, kKey, kPd, kFront, kBehind, kOneTooMany };
  for (const Wrong wrong : {Wrong::kAlignment, Wrong::kQpRight, Wrong::kRegionRight, Wrong::kKey, Wrong::kPd,
                            Wrong::kFront, Wrong::kBehind, Wrong::kOneTooMany}) {
    // Where cycles are not cheap, those of the responder and one of memory_check.
    if (!has_cheap_cycles() && wrong > Wrong::kRegionRight) break;
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    if (wrong == Wrong::kQpRight) options.connection.access &= ~IbAccessFlags::kRemoteAtomic;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    auto expected = Memory();
    const Elements into = {near().region->Sge(0, kBytes)}, later = {near().region->Sge(64, kBytes)};
    const bool has_right = wrong != Wrong::kQpRight;
    if (has_right) {
      const uint64_t before = Load(*far().memory, 8);
      Put(expected[0], 0, before);
      Put(expected[1], 8, before + 3);
      PostSend(FetchAdd(1, into, 8, 3));
    }
    const uint64_t end = far().memory->size();
    auto request = FetchAdd(2, later, 16, 1);
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::MemoryRegion> region;
    switch (wrong) {
      case Wrong::kAlignment: request.remote_addr += 4; break;
      case Wrong::kQpRight: break;
      case Wrong::kRegionRight: {
        auto made = far().pd->Register(
            *far().memory, IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead);
        ASSERT_TRUE(made.ok());
        region = *made;
        request.rkey = region->rkey();
        break;
      }
      case Wrong::kPd: {
        auto other = system_->host(1).device().CreatePd();
        ASSERT_TRUE(other.ok());
        pd = *other;
        auto made = pd->Register(*far().memory, system_->host(1).device().all_access());
        ASSERT_TRUE(made.ok());
        region = *made;
        request.rkey = region->rkey();
        break;
      }
      case Wrong::kKey: request.rkey ^= 1; break;
      case Wrong::kFront: request.remote_addr = far().region->address() - kBytes; break;
      case Wrong::kBehind: request.remote_addr = far().region->address() + end; break;
      case Wrong::kOneTooMany: {
        // A region that ends within the operand.
        const std::array<uint64_t, 1> page = {far().memory->address()};
        auto made = far().pd->Register(far().region->address(), 23, system_->host(1).device().all_access(), 0, page);
        ASSERT_TRUE(made.ok()) << host::ToString(made.error());
        region = *made;
        request.rkey = region->rkey();
        request.remote_addr = far().region->address() + 16;
        break;
      }
    }
    PostSend(request);
    PostSend(FetchAdd(3, later, 24, 1));
    if (has_right) ExpectNext(0, 1, IbWcStatus::kSuccess);
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    const bool is_invalid = wrong == Wrong::kAlignment || wrong == Wrong::kQpRight;
    EXPECT_EQ(completion->wr_id, 2U);
    EXPECT_EQ(completion->status, is_invalid ? IbWcStatus::kRemInvReqErr : IbWcStatus::kRemAccessErr)
        << spec::ToString(completion->status);
    EXPECT_EQ(completion->vendor_err, static_cast<uint32_t>(is_invalid ? spec::AethSyndrome::kNakInvalidRequest
                                                                       : spec::AethSyndrome::kNakRemoteAccessError));
    ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    RunFor(20'000);
    ExpectMemory(expected);
    region.reset();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Atomic, MalformedWorkRequestFailsBeforeItIsSent) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kShort, kInline, kNoneAllowed };
  for (const Wrong wrong : {Wrong::kShort, Wrong::kInline, Wrong::kNoneAllowed}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    if (wrong == Wrong::kNoneAllowed) options.connection.max_rd_atomic = 0;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    const auto expected = Memory();
    const Elements into = {near().region->Sge(0, wrong == Wrong::kShort ? kBytes - 1 : kBytes)};
    const Bytes inline_data(kBytes);
    auto request = CompareSwap(1, into, 0, Load(*far().memory, 0), 1);
    if (wrong == Wrong::kInline) {
      request.flags |= spec::IbSendFlags::kInline;
      request.inline_data = inline_data;
    }
    PostSend(request);
    PostSend(FetchAdd(2, into, 0, 1));
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 1U);
    EXPECT_EQ(completion->status, wrong == Wrong::kShort ? IbWcStatus::kLocLenErr : IbWcStatus::kLocQpOpErr)
        << spec::ToString(completion->status);
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(log_.CountSent(), 0U);
    ExpectMemory(expected);
  }
}

// The operation is executed, but its result has no place: only the requester can know.
TEST_P(Atomic, UnwritableResultFailsLocally) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  auto made = near().pd->Register(*near().memory, IbAccessFlags::kRemoteRead);
  ASSERT_TRUE(made.ok());
  std::shared_ptr<verbs::MemoryRegion> read_only = *made;
  auto expected = Memory();
  Put(expected[1], 8, Load(*far().memory, 8) + 1);
  PostSend(FetchAdd(1, {read_only->Sge(0, kBytes)}, 8, 1));
  PostSend(Remote(IbWrOpcode::kRdmaRead, 2, {near().region->Sge(64, kBytes)}, 8));
  ExpectNext(0, 1, IbWcStatus::kLocProtErr);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
  RunFor(20'000);
  ExpectMemory(expected);
}

VIREO_ON_EVERY_DEVICE(Atomic);

}  // namespace
}  // namespace vireo::sim
