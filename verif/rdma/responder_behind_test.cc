// SPDX-License-Identifier: Apache-2.0
// Responder: a frame behind another one, whose tables are read and whose key check or receive is requested while the
// other one waits for its last key check.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

constexpr uint32_t kOther = kQpn + 1;

// Two QPs, key checks and receives that take as long as in the NIC.
struct Pair : Ready {
  static constexpr Cycle kCheck = 6;    // from the request's push to the answer's
  static constexpr Cycle kReceive = 4;  // likewise

  Pair() {
    Configure({.qpn = kOther}, IbQpState::kRts);
    check.on_token = [this](Cycle now, const spec::MemoryCheck& asked) {
      checked.push_back(asked.key);
      answers.emplace_back(now + kCheck, Check(asked));
    };
    request.on_token = [this](Cycle now, const spec::ReceiveRequest& asked) {
      receives.emplace_back(now + kReceive, host.Answer(asked));
    };
  }
  void RunFor(Cycle cycles) {
    for (; cycles != 0; --cycles) {
      if (!answers.empty() && answers.front().first <= bench.cycle()) {
        memory.tokens.push_back(answers.front().second);
        answers.pop_front();
      }
      if (!receives.empty() && receives.front().first <= bench.cycle()) {
        receive.tokens.push_back(receives.front().second);
        receives.pop_front();
      }
      ASSERT_EQ(bench.Run(1), "");
    }
  }
  // The cycles from the place of one frame to that of the next.
  std::vector<Cycle> Intervals() {
    std::vector<Cycle> result;
    for (size_t i = 1; i < places.sent().size(); ++i) {
      result.push_back(places.sent()[i].cycle - places.sent()[i - 1].cycle);
    }
    return result;
  }

  std::deque<std::pair<Cycle, spec::MemoryPlace>> answers;
  std::deque<std::pair<Cycle, spec::Receive>> receives;
  std::vector<uint32_t> checked;  // keys, in the order of the checks
};

TEST(ResponderBehind, TwoWritesOfDifferentQueuePairsTakeTheTimeOfOne) {
  Pair bench;
  for (uint32_t i = 0; i < 20; ++i) bench.Send({.psn = kFirstPsn + i / 2, .qpn = i % 2 == 0 ? kQpn : kOther});
  bench.RunFor(200);
  const auto intervals = bench.Intervals();
  ASSERT_EQ(intervals.size(), 19u);
  for (size_t i = 2; i < intervals.size(); ++i) EXPECT_EQ(intervals[i] + intervals[i - 1], 11u) << i;
}

TEST(ResponderBehind, WritesOfOneQueuePairAreCheckedEarly) {
  Pair bench;
  for (uint32_t i = 0; i < 20; ++i) bench.Send({.psn = kFirstPsn + i});
  bench.RunFor(300);
  const auto intervals = bench.Intervals();
  ASSERT_EQ(intervals.size(), 19u);
  for (size_t i = 2; i < intervals.size(); ++i) EXPECT_EQ(intervals[i] + intervals[i - 1], 12u) << i;
}

// What is not decided as the early check supposed is decided as if there were none.
TEST(ResponderBehind, EarlyCheckOfADroppedOrRefusedWriteIsNotUsed) {
  Pair bench;
  bench.Send({});
  bench.Send({});  // a duplicate
  bench.Send({.psn = kFirstPsn + 1, .rkey = kBadRkey});
  bench.Send({.psn = kFirstPsn + 2});  // the QP has failed
  bench.Send({.qpn = kOther});
  bench.RunFor(100);
  const auto& sent = bench.places.sent();
  ASSERT_EQ(sent.size(), 5u);
  const uint32_t written[] = {64, 0, 0, 0, 64};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(sent[i].token.bytes0, written[i]) << i;
  EXPECT_EQ(sent[1].token.answer.packet.psn, kFirstPsn);
  EXPECT_TRUE(sent[2].token.has_answer);
  EXPECT_FALSE(sent[3].token.has_answer);
  EXPECT_TRUE(bench.answers.empty());
  EXPECT_TRUE(bench.block.IsIdle());
}

TEST(ResponderBehind, SendsOfDifferentQueuePairsTakeNineCycles) {
  Pair bench;
  for (uint32_t i = 0; i < 20; ++i) {
    const uint32_t qpn = i % 2 == 0 ? kQpn : kOther;
    bench.host.Post(qpn, {Host::Element(0x9000, 64)});
    bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + i / 2, .qpn = qpn});
  }
  bench.RunFor(300);
  const auto intervals = bench.Intervals();
  ASSERT_EQ(intervals.size(), 19u);
  for (size_t i = 1; i < intervals.size(); ++i) EXPECT_EQ(intervals[i], 9u) << i;
}

// A SEND into several elements checks a key for each: the WRITE behind it comes after the last of them.
TEST(ResponderBehind, IssuesNothingBeforeTheLastCheckOfTheFrameInFront) {
  Pair bench;
  bench.host.Post(kQpn, {Host::Element(0x9000, 20), Host::Element(0xa000, 20), Host::Element(0xb000, 24)});
  bench.Send({.opcode = BthOpcode::kRcSendOnly});
  bench.Send({.qpn = kOther});
  bench.RunFor(200);
  EXPECT_EQ(bench.checked, (std::vector<uint32_t>{kLkey, kLkey, kLkey, kRkey}));
  EXPECT_EQ(bench.places.sent().size(), 4u);
}

// Its receive is requested after its key check, so that of the SEND behind it comes later.
TEST(ResponderBehind, WriteWithImmediateGetsItsReceiveFirst) {
  Pair bench;
  for (const uint32_t qpn : {kQpn, kOther}) bench.host.Post(qpn, {Host::Element(0x9000, 64)});
  bench.Send({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate});
  bench.Send({.opcode = BthOpcode::kRcSendOnly, .qpn = kOther});
  bench.RunFor(100);
  ASSERT_EQ(bench.host.asked.size(), 2u);
  EXPECT_EQ(bench.host.asked[0].qpn, kQpn);
  EXPECT_EQ(bench.host.asked[1].qpn, kOther);
  ASSERT_EQ(bench.places.sent().size(), 2u);
  for (const auto& place : bench.places.sent()) EXPECT_TRUE(place.token.has_completion);
}

// A refused WRITE in front does not change what was issued for the frame behind it.
TEST(ResponderBehind, FrameBehindARefusedOneIsAccepted) {
  Pair bench;
  bench.Send({.rkey = kBadRkey});
  bench.Send({.qpn = kOther});
  bench.RunFor(60);
  ASSERT_EQ(bench.places.sent().size(), 2u);
  EXPECT_EQ(bench.places.sent()[0].token.bytes0, 0u);
  EXPECT_EQ(bench.places.sent()[1].token.bytes0, 64u);
  EXPECT_EQ(bench.places.sent()[1].token.answer.packet.qpn, kOther);
}

// A load in every cycle of two frames: it takes effect behind both or in front of what has not had its turn.
TEST(ResponderBehind, LoadIsNotOverwrittenByAFrameWhoseTablesWereRead) {
  constexpr uint32_t kNew = 0x1000;
  for (Cycle late = 0; late < 24; ++late) {
    Pair bench;
    bench.Send({});
    bench.Send({.qpn = kOther});
    bench.RunFor(late);
    bench.load.tokens.push_back({.qpn = kOther, .psn = kNew});
    bench.RunFor(60);
    bench.places.sent().clear();
    bench.Send({.psn = kNew, .qpn = kOther});
    bench.RunFor(40);
    ASSERT_EQ(bench.places.sent().size(), 1u) << late;
    EXPECT_EQ(bench.places.sent()[0].token.bytes0, 64u) << late;
  }
}

}  // namespace
}  // namespace vireo::verif
