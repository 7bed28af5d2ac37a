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

TEST(ResponderBehind, SendsOfOneQueuePairTakeNineCycles) {
  Pair bench;
  for (uint32_t i = 0; i < 20; ++i) {
    bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
    bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + i});
  }
  bench.RunFor(300);
  const auto intervals = bench.Intervals();
  ASSERT_EQ(intervals.size(), 19u);
  for (size_t i = 1; i < intervals.size(); ++i) EXPECT_EQ(intervals[i], 9u) << i;
  for (uint32_t i = 0; i < 20; ++i) {
    const auto& place = bench.places.sent()[i].token;
    EXPECT_TRUE(place.has_completion) << i;
    EXPECT_EQ(place.completion.head, i + 1) << i;
    EXPECT_EQ(Taken(place).answer.packet, Ack(kFirstPsn + i, i + 1).answer.packet) << i;
  }
}

// The last packet of a SEND in front, and a message in several packets behind.
TEST(ResponderBehind, SendsOfOneQueuePairKeepTheirReceives) {
  Pair bench;
  std::vector<Posted> posted;
  for (unsigned i = 0; i < 3; ++i) {
    posted.push_back(bench.host.Post(kQpn, {Host::Element(0x9000, 20), Host::Element(0xa000, 2 * kMtu)}));
  }
  bench.Send({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Send({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 100});
  bench.Send({.opcode = BthOpcode::kRcSendFirst, .psn = kFirstPsn + 2, .bytes = kMtu, .ack_req = false});
  bench.Send({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 3, .bytes = 1});
  bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 4, .bytes = 20});
  bench.RunFor(300);
  std::vector<uint16_t> heads;
  for (const auto& place : bench.places.sent()) {
    if (place.token.has_completion) heads.push_back(place.token.completion.head);
  }
  EXPECT_EQ(heads, (std::vector<uint16_t>{posted[0].head, posted[1].head, posted[2].head}));
  EXPECT_TRUE(bench.failures.sent().empty());
}

// What is no SEND that is expected is decided as if it had come later: of these none takes a receive.
TEST(ResponderBehind, SendBehindASendIsCheckedAsIfThatWereComplete) {
  Pair bench;
  for (unsigned i = 0; i < 4; ++i) bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  const auto only = BthOpcode::kRcSendOnly;
  bench.Send({.opcode = only});
  bench.Send({.opcode = only});                        // a duplicate
  bench.Send({.opcode = only, .psn = kFirstPsn + 1});  // the next one
  bench.Send({.opcode = only, .psn = kFirstPsn + 3});  // one is missing
  bench.Send({.opcode = only, .psn = kFirstPsn + 4});  // likewise, dropped
  bench.Send({.opcode = only, .psn = kFirstPsn + 2});
  bench.RunFor(200);
  EXPECT_EQ(bench.host.asked.size(), 3u);
  const auto places = Taken(Bench::Take(bench.places));
  ASSERT_EQ(places.size(), 6u);
  const spec::TxPacket answers[] = {Ack(kFirstPsn, 1).answer.packet,
                                    Ack(kFirstPsn, 1).answer.packet,
                                    Ack(kFirstPsn + 1, 2).answer.packet,
                                    Answer(kFirstPsn + 2, AethSyndrome::kNakPsnSequenceError, 2).answer.packet,
                                    {},
                                    Ack(kFirstPsn + 2, 3).answer.packet};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(places[i].answer.packet, answers[i]) << i;
}

// The receive that was requested for the SEND behind a refused one is the first to flush, whenever that SEND comes.
TEST(ResponderBehind, ReceiveOfASendBehindARefusedOneIsFlushedFirst) {
  unsigned early = 0;
  for (Cycle late = 0; late < 30; ++late) {
    for (const RdmaError code : {RdmaError::kOk, RdmaError::kBadWqe}) {
      Pair bench;
      const Posted refused = bench.host.Post(kQpn, {Host::Element(0x9000, 64, kBadLkey)});
      const Posted second = bench.host.Post(kQpn, {Host::Element(0xa000, 64)}, code);
      const Posted third = bench.host.Post(kQpn, {Host::Element(0xb000, 64)});
      bench.Send({.opcode = BthOpcode::kRcSendOnly});
      bench.RunFor(late);
      for (uint32_t i = 1; i < 4; ++i) bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + i});
      bench.RunFor(100);
      early += bench.host.asked.size() == 2;
      bench.SetState(IbQpState::kErr);
      bench.RunFor(150);
      const auto expected =
          Taken(std::vector{Failed(refused, IbWcStatus::kLocProtErr, static_cast<uint32_t>(RdmaError::kBadMrn),
                                   Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0)),
                            kDropped, kDropped, kDropped, Flushed(second), Flushed(third)});
      const auto places = Taken(Bench::Take(bench.places));
      ASSERT_EQ(places.size(), expected.size()) << late;
      for (size_t i = 0; i < places.size(); ++i) {
        EXPECT_EQ(places[i], expected[i])
            << late << " " << i << "\ngot      " << TokenText(places[i]) << "\nexpected " << TokenText(expected[i]);
      }
      bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kBadMrn)});
      EXPECT_TRUE(bench.block.IsIdle()) << late;
    }
  }
  EXPECT_GT(early, 10u);
}

// Likewise, if there is none, the queue is broken, or the QP is cleared in any cycle.
TEST(ResponderBehind, NoReceiveOfASendBehindARefusedOneIsKept) {
  for (Cycle late = 0; late < 40; ++late) {
    for (const unsigned kind : {0, 1, 2}) {
      Pair bench;
      bench.host.Post(kQpn, {Host::Element(0x9000, 64, kBadLkey)});
      if (kind == 2) bench.host.Post(kQpn, {Host::Element(0xa000, 64)});
      for (uint32_t i = 0; i < 2; ++i) bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + i});
      bench.RunFor(4);
      bench.host.broken[kQpn] = kind == 1 && late > 4;
      bench.RunFor(late);
      if (kind == 2) {
        bench.SetState(IbQpState::kReset, true);
        bench.RunFor(60);
        bench.host.queues[kQpn].clear();
      } else {
        bench.RunFor(60);
      }
      Bench::Take(bench.places);
      bench.SetState(IbQpState::kErr);
      bench.RunFor(60);
      EXPECT_TRUE(bench.places.sent().empty()) << late << " " << kind;
      EXPECT_TRUE(bench.block.IsIdle()) << late;
    }
  }
}

// The shared queue's receive is this QP's: flushed in ERR, and returned in RESET.
TEST(ResponderBehind, ReceiveOfASharedQueueBehindARefusedSendIsKept) {
  constexpr uint32_t kSrq = 9;
  for (const bool reset : {false, true}) {
    Pair bench;
    bench.Configure({.srq = kSrq}, IbQpState::kRts);
    bench.host.Post(kSrq, {Host::Element(0x9000, 64, kBadLkey)});
    const Posted second = bench.host.Post(kSrq, {Host::Element(0xa000, 64)});
    bench.host.Post(kSrq, {Host::Element(0xb000, 64)});
    for (uint32_t i = 0; i < 3; ++i) bench.Send({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + i});
    bench.RunFor(100);
    Bench::Take(bench.places);
    Bench::Take(bench.failures);
    bench.SetState(reset ? IbQpState::kReset : IbQpState::kErr, reset);
    bench.RunFor(60);
    const auto places = Bench::Take(bench.places);
    ASSERT_EQ(places.size(), 1u);
    EXPECT_EQ(places[0].completion.head, second.head);
    EXPECT_EQ(places[0].completion.vq_index, kFirstReceiveQueue + 2 * kSrq);
    EXPECT_EQ(places[0].completion.has_cqe, !reset);
    EXPECT_EQ(bench.failures.sent().size(), reset ? 0u : 1u);  // the last one is reported behind it
    EXPECT_EQ(bench.host.queues[kSrq].size(), 1u);
  }
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
