// SPDX-License-Identifier: Apache-2.0
// Completions with elements: timestamps of the device's clock, in order and within their operation, of successes and
// errors; sets of elements that it does not have are refused. [docs/decisions/0039]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaCqElement;
using spec::RdmaError;
using verbs::Completion;

constexpr uint64_t kTimeoutNs = 50'000'000;

class CqeElements : public PairTest {
 protected:
  verbs::Device& device(size_t number = 0) { return system_->host(number).device(); }
  bool has_timestamps() { return (device().cq_elements() & RdmaCqElement::kTimestamp) != 0; }
  void BuildPair(ConnectedPairOptions options = {}) {
    Build();
    if (HasFatalFailure()) return;
    if (!has_timestamps()) GTEST_SKIP() << "no timestamps in this profile or configuration";
    options.cq_elements = RdmaCqElement::kTimestamp;
    Connect(options);
  }
  uint64_t Clock(size_t number = 0) {
    const auto clock = device(number).QueryClock();
    EXPECT_TRUE(clock.ok()) << host::ToString(clock.error());
    return clock.ok() ? *clock : 0;
  }
  // The next `count` completions of a side, whose timestamps are in order.
  std::vector<Completion> Take(size_t number, size_t count) {
    std::vector<Completion> taken;
    const uint64_t deadline = system_->host(number).function().NowNs() + kTimeoutNs;
    while (taken.size() < count) {
      std::array<Completion, 3> some;
      const size_t room = std::min(some.size(), count - taken.size());
      const auto polled = side(number).cq->Poll(std::span(some).first(room));
      EXPECT_TRUE(polled.ok());
      if (!polled.ok()) return taken;
      for (size_t i = 0; i < *polled; ++i) {
        const Completion& completion = some.at(i);
        EXPECT_TRUE(completion.timestamp_ns.has_value());
        EXPECT_GT(completion.timestamp_ns.value_or(0), latest_.at(number));
        latest_.at(number) = completion.timestamp_ns.value_or(0);
        taken.push_back(completion);
      }
      if (*polled != 0) continue;
      EXPECT_LT(system_->host(number).function().NowNs(), deadline) << "a completion is missing";
      if (HasFailure()) return taken;
      RunFor(500);
    }
    return taken;
  }
  void PostSends(uint64_t first, size_t count, uint32_t bytes = 100) {
    for (uint64_t i = first; i < first + count; ++i) {
      PostRecv(1, i, {far().region->Sge(4096, bytes)});
      const Elements list = {near().region->Sge(0, bytes)};
      PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .sg_list = list});
    }
  }

  std::array<uint64_t, 2> latest_{};  // timestamp, of each side
};

TEST_P(CqeElements, TimestampsAreInOrderAndWithinTheirOperation) {
  BuildPair();
  if (IsSkipped() || HasFatalFailure()) return;
  for (uint64_t round = 0; round < 4; ++round) {
    const size_t count = round % 2 == 0 ? 1 : 16;
    const std::array<uint64_t, 2> before = {Clock(0), Clock(1)};
    PostSends(100 * round, count);
    for (size_t number : {1U, 0U}) {
      const auto completions = Take(number, count);
      ASSERT_EQ(completions.size(), count);
      const uint64_t after = Clock(number);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(completions[i].wr_id, 100 * round + i);
        EXPECT_EQ(completions[i].status, IbWcStatus::kSuccess);
        EXPECT_EQ(completions[i].byte_len, number == 1 ? 100U : 0U);
        EXPECT_GT(completions[i].timestamp_ns.value_or(0), before.at(number));
        EXPECT_LT(completions[i].timestamp_ns.value_or(0), after);
      }
    }
  }
}

// The clocks of all NICs of a simulation are its own.
TEST_P(CqeElements, ClockIsBetweenCommandAndAnswer) {
  Build();
  if (HasFatalFailure()) return;
  if (!has_additions()) {
    EXPECT_EQ(device().QueryClock().error().code, host::ErrorCode::kUnsupported);
    return;
  }
  uint64_t last = 0;
  for (size_t i = 0; i < 4; ++i) {
    const uint64_t before = system_->host(i % 2).function().NowNs();
    const uint64_t clock = Clock(i % 2);
    EXPECT_GE(clock, before);
    EXPECT_LE(clock, system_->host(i % 2).function().NowNs());
    EXPECT_GT(clock, last);
    last = clock;
  }
}

// A receive completes before its sender's send does, by clocks that are one.
TEST_P(CqeElements, ReceiveIsEarlierThanItsSend) {
  BuildPair();
  if (IsSkipped() || HasFatalFailure()) return;
  PostSends(0, 8, 1000);
  const auto received = Take(1, 8), sent = Take(0, 8);
  ASSERT_TRUE(received.size() == 8 && sent.size() == 8);
  // The last one is acknowledged behind the receive's CQE: nothing of it is coalesced before.
  EXPECT_LT(received[0].timestamp_ns.value_or(0), sent[7].timestamp_ns.value_or(0));
}

TEST_P(CqeElements, ErrorsAndFlushedOnesHaveThem) {
  BuildPair();
  if (IsSkipped() || HasFatalFailure()) return;
  for (uint64_t i = 0; i < 5; ++i) PostRecv(0, 50 + i, {near().region->Sge(0, 16)});
  const Elements list = {near().region->Sge(0, 64)};
  auto request = Remote(IbWrOpcode::kRdmaWrite, 1, list, 0);
  request.rkey ^= 0x5a;
  PostSend(request);
  for (uint64_t i = 2; i < 5; ++i) PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .sg_list = list});
  const auto completions = Take(0, 9);
  ASSERT_EQ(completions.size(), 9U);
  size_t flushed = 0;
  for (const Completion& completion : completions) flushed += completion.status == IbWcStatus::kWrFlushErr;
  EXPECT_EQ(flushed, 8U);
}

// One CQ has them and another one of the same NIC not, whose completions come between; the monitor judges both.
TEST_P(CqeElements, OtherCqsHaveNone) {
  BuildPair();
  if (IsSkipped() || HasFatalFailure()) return;
  std::string error;
  const auto plain = MakeConnectedPair(system_->host(0), system_->host(1), {}, &error);
  ASSERT_NE(plain, nullptr) << error;
  for (uint64_t i = 0; i < 8; ++i) {
    PostSends(i, 1);
    const Elements list = {plain->side[0].region->Sge(0, 100)};
    const Elements to = {plain->side[1].region->Sge(0, 100)};
    ASSERT_TRUE(plain->side[1].qp->PostRecv({.wr_id = i, .sg_list = to}).ok());
    ASSERT_TRUE(plain->side[0].qp->PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .sg_list = list}).ok());
  }
  for (size_t number : {0U, 1U}) {
    EXPECT_EQ(Take(number, 8).size(), 8U);
    for (uint64_t i = 0; i < 8; ++i) {
      const auto completion = NextOf(*plain->side.at(number).cq, number, kTimeoutNs);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, i);
    }
    std::array<Completion, 1> none;
    EXPECT_EQ(plain->side.at(number).cq->Poll(none).value(), 0U);
  }
}

// Other places of the ring, more and fewer buffers.
TEST_P(CqeElements, ResizedCqKeepsThem) {
  ConnectedPairOptions options;
  options.cqe = 64;
  BuildPair(options);
  if (IsSkipped() || HasFatalFailure()) return;
  uint64_t wr_id = 0;
  for (const uint32_t capacity : {4U, 64U, 2U, 33U, 1U}) {
    ASSERT_TRUE(near().cq->Resize(capacity).ok());
    for (size_t round = 0; round < 3; ++round) {
      const size_t count = std::min<size_t>(capacity, 8);
      PostSends(wr_id, count);
      const auto completions = Take(0, count);
      ASSERT_EQ(completions.size(), count);
      EXPECT_EQ(completions.back().wr_id, wr_id + count - 1);
      EXPECT_EQ(Take(1, count).size(), count);
      wr_id += count;
    }
  }
  EXPECT_LT(near().cq->capacity(), 64U);  // buffers that are too many leave with their completion
}

TEST_P(CqeElements, NotifiesAsOthersDo) {
  BuildPair();
  if (IsSkipped() || HasFatalFailure()) return;
  for (uint64_t i = 0; i < 4; ++i) {
    PostSends(i, 1);
    ExpectNext(0, i, IbWcStatus::kSuccess, kTimeoutNs);  // sleeps until the interrupt
    ExpectNext(1, i, IbWcStatus::kSuccess, kTimeoutNs);
  }
}

TEST_P(CqeElements, SetThatTheDeviceDoesNotHaveIsRefused) {
  Build();
  if (HasFatalFailure()) return;
  host::RoceCommands& roce = device().net().roce();
  if (!has_additions()) {
    EXPECT_EQ(roce.CreateExtendedCq(4, RdmaCqElement::kTimestamp).error().code, host::ErrorCode::kUnsupported);
    EXPECT_EQ(device().cq_elements(), 0U);
    return;
  }
  const uint32_t has = device().cq_elements();
  EXPECT_EQ(has, config().cqe_elements != 0 ? uint32_t{RdmaCqElement::kTimestamp} : 0U);
  for (uint32_t bit = 0; bit < 32; ++bit) {
    const uint32_t wanted = uint32_t{1} << bit;
    for (const uint32_t set : {wanted, wanted | has, wanted | 0x8000'0000U}) {
      if ((set & ~has) == 0) continue;
      const auto refused = device().CreateCq(4, std::nullopt, 0, set);
      ASSERT_FALSE(refused.ok()) << set;
      EXPECT_EQ(refused.error().rdma, RdmaError::kUnsupportedCqElement) << set;
    }
  }
  EXPECT_EQ(roce.CreateExtendedCq(4, 0).error().rdma, RdmaError::kInvalidParameter);
  EXPECT_EQ(roce.CreateExtendedCq(0, has | 1).error().rdma, RdmaError::kInvalidParameter);
  EXPECT_EQ(roce.CreateExtendedCq(config().max_queue_entries + 1, 1).error().rdma, RdmaError::kCapCqeExceeded);
  // No CQ is left of them.
  std::vector<std::shared_ptr<verbs::CompletionQueue>> all;
  for (uint32_t i = 0; i < std::min(config().num_cqs, 64U); ++i) {
    auto made = device().CreateCq(2, std::nullopt, 0, has);
    ASSERT_TRUE(made.ok()) << host::ToString(made.error());
    all.push_back(*made);
  }
}

VIREO_ON_EVERY_DEVICE(CqeElements);

}  // namespace
}  // namespace vireo::sim
