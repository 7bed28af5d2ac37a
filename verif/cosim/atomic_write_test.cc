// SPDX-License-Identifier: Apache-2.0
// ATOMIC WRITE on a reliable connection: 8 bytes are stored behind what came before, once, whatever the link does, and
// what is refused changes nothing. [IBTA vol. 1, A19.4.2]
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

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

class AtomicWrite : public AtomicPair {
 protected:
  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildWith(faults);
    if (HasFatalFailure()) return;
    if (!system_->host(0).device().has_atomic_write()) GTEST_SKIP() << "no ATOMIC WRITE in this profile";
    log_.Watch(system_->host(0).station());
  }
  verbs::SendRequest Store(uint64_t wr_id, uint64_t at, uint64_t value) {
    auto request = Remote(IbWrOpcode::kAtomicWrite, wr_id, {}, at);
    request.compare_add = value;
    return request;
  }
  void ExpectStored(uint64_t wr_id) {
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->opcode, IbWcOpcode::kAtomicWrite);
    EXPECT_EQ(completion->byte_len, 0U);
  }
};

// A WRITE before it at the same place is there first; an atomic operation behind it has its value, and a WRITE behind
// that one's completion is last. More of them than may be outstanding. The right is that of a WRITE.
TEST_P(AtomicWrite, StoresInTheOrderOfItsQueuePair) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const bool extensible : {true, false}) {
    SCOPED_TRACE(extensible);
    auto options = Options();
    options.qp.extensible_requests = extensible;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    constexpr uint64_t kAt = 128, kInto = 1024, kValue = 0x1122'3344'5566'7788;
    const uint64_t count = config().max_rd_atomic + 3;
    auto expected = Memory();
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 0, {near().region->Sge(0, 64)}, kAt));
    std::memcpy(expected[1].data() + kAt, expected[0].data(), 64);
    for (uint64_t i = 0; i < count; ++i) {
      PostSend(Store(1 + i, kAt + kBytes * (i % 3), kValue + i));
      Put(expected[1], kAt + kBytes * (i % 3), kValue + i);
    }
    const uint64_t last = kAt + kBytes * ((count - 1) % 3);
    PostSend(FetchAdd(1 + count, {near().region->Sge(kInto, kBytes)}, last, 1));
    Put(expected[0], kInto, kValue + count - 1);
    Put(expected[1], last, kValue + count);
    ExpectNext(0, 0, IbWcStatus::kSuccess);
    for (uint64_t i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(ExpectStored(1 + i));
    ExpectNext(0, 1 + count, IbWcStatus::kSuccess);
    ExpectMemory(expected);
    EXPECT_EQ(log_.Count(true, BthOpcode::kRcAtomicWrite), count);
    EXPECT_EQ(log_.Count(false, BthOpcode::kRcRdmaReadResponseOnly), count);
    ASSERT_FALSE(HasFailure());
  }
}

// Executed again, a store would undo the additions behind it.
TEST_P(AtomicWrite, ExecutedOnceOverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  Build({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu256;
  options.connection.timeout = kSoon;
  options.memory_bytes = 65'536;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t rounds = has_cheap_cycles() ? 300 : 8;
  constexpr uint64_t kAt = 0x140, kEach = 3, kBatch = 16;
  for (uint64_t first = 0; first < rounds; first += kBatch) {
    const uint64_t end = std::min(first + kBatch, rounds);
    for (uint64_t i = first; i < end; ++i) {
      const uint64_t into = (i - first) * 2 * kBytes;
      PostSend(Store(kEach * i, kAt, i << 8));
      PostSend(FetchAdd(kEach * i + 1, {near().region->Sge(into, kBytes)}, kAt, 1));
      PostSend(FetchAdd(kEach * i + 2, {near().region->Sge(into + kBytes, kBytes)}, kAt, 1));
    }
    for (uint64_t wr_id = kEach * first; wr_id < kEach * end; ++wr_id) {
      const auto completion = NextOf(*near().cq, 0, kTimeoutNs);
      ASSERT_TRUE(completion.has_value());
      ASSERT_EQ(completion->wr_id, wr_id);
      ASSERT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    }
    for (uint64_t i = first; i < end; ++i) {
      const uint64_t into = (i - first) * 2 * kBytes;
      ASSERT_EQ(Load(*near().memory, into), i << 8) << "of round " << i;
      ASSERT_EQ(Load(*near().memory, into + kBytes), (i << 8) + 1) << "of round " << i;
    }
  }
  EXPECT_EQ(Load(*far().memory, kAt), ((rounds - 1) << 8) + 2);
  if (has_cheap_cycles()) {
    ExpectAllFaultsInjected(0);
    ExpectAllFaultsInjected(1);
  }
}

TEST_P(AtomicWrite, RefusedStoreChangesNoMemory) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kNothing, kAlignment, kQpRight, kRegionRight, kKey, kBehind };
  for (const Wrong wrong :
       {Wrong::kNothing, Wrong::kAlignment, Wrong::kQpRight, Wrong::kRegionRight, Wrong::kKey, Wrong::kBehind}) {
    if (!has_cheap_cycles() && wrong > Wrong::kRegionRight) break;
    SCOPED_TRACE(static_cast<int>(wrong));
    // Without the right to execute atomic operations: it is not needed.
    constexpr uint32_t kWrites = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite;
    auto options = Options();
    options.connection.access =
        wrong == Wrong::kQpRight ? options.connection.access & ~IbAccessFlags::kRemoteWrite : kWrites;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    auto expected = Memory();
    const uint32_t access =
        wrong == Wrong::kRegionRight ? system_->host(1).device().all_access() & ~IbAccessFlags::kRemoteWrite : kWrites;
    auto made = far().pd->Register(*far().memory, access);
    ASSERT_TRUE(made.ok()) << host::ToString(made.error());
    std::shared_ptr<verbs::MemoryRegion> region = *made;
    auto request = Store(1, 16, 0x0123'4567'89ab'cdef);
    request.remote_addr = region->address() + 16;
    request.rkey = region->rkey();
    switch (wrong) {
      case Wrong::kAlignment: request.remote_addr += 4; break;
      case Wrong::kKey: request.rkey ^= 1; break;
      case Wrong::kBehind: request.remote_addr = region->address() + far().memory->size(); break;
      default: break;
    }
    PostSend(request);
    PostSend(Store(2, 32, 1));
    if (wrong == Wrong::kNothing) {
      Put(expected[1], 16, request.compare_add);
      Put(expected[1], 32, 1);
      ExpectStored(1);
      ExpectStored(2);
    } else {
      const auto completion = Next(0);
      ASSERT_TRUE(completion.has_value());
      const bool is_invalid = wrong == Wrong::kAlignment || wrong == Wrong::kQpRight;
      EXPECT_EQ(completion->wr_id, 1U);
      EXPECT_EQ(completion->status, is_invalid ? IbWcStatus::kRemInvReqErr : IbWcStatus::kRemAccessErr)
          << spec::ToString(completion->status);
      ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    }
    RunFor(20'000);
    ExpectMemory(expected);
    region.reset();
    ASSERT_FALSE(HasFailure());
  }
}

// Its value is in the work request: it has neither elements nor inline data.
TEST_P(AtomicWrite, MalformedWorkRequestFailsBeforeItIsSent) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  enum class Wrong : uint8_t { kElement, kInline, kNoneAllowed };
  for (const Wrong wrong : {Wrong::kElement, Wrong::kInline, Wrong::kNoneAllowed}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    if (wrong == Wrong::kNoneAllowed) options.connection.max_rd_atomic = 0;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    const auto expected = Memory();
    const Elements element = {near().region->Sge(0, kBytes)};
    const Bytes inline_data(kBytes);
    auto request = Store(1, 0, 1);
    if (wrong == Wrong::kElement) request.sg_list = element;
    if (wrong == Wrong::kInline) {
      request.flags |= spec::IbSendFlags::kInline;
      request.inline_data = inline_data;
    }
    PostSend(request);
    PostSend(Store(2, 0, 1));
    ExpectNext(0, 1, IbWcStatus::kLocQpOpErr);
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(log_.CountSent(), 0U);
    ExpectMemory(expected);
  }
}

VIREO_ON_EVERY_DEVICE(AtomicWrite);

}  // namespace
}  // namespace vireo::sim
