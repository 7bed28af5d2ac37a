// SPDX-License-Identifier: Apache-2.0
// The completer: long messages are requested burst by burst.
#include <gtest/gtest.h>

#include <vector>

#include "verif/rdma/completer_bench.h"

namespace vireo::verif {
namespace {

// Long messages: 32 packets are a burst of these QPs.
constexpr uint32_t kBurst = 32;
struct LongQp : OneQp {
  using OneQp::OneQp;
  // A burst of it leaves at once.
  void PostLong(uint32_t packets) {
    spec::SendRecord long_one = Record(packets);
    long_one.packets = kBurst;
    record.tokens.push_back(long_one);
  }
  spec::Replay Part(uint8_t epoch, uint32_t number, uint32_t psn, bool first_transmission, bool last = false) const {
    const auto& message = made[number];
    spec::Replay replay = Again(epoch, number, psn, message.first_psn, message.last_psn);
    replay.packets = last ? 0 : kBurst;
    replay.first_transmission = first_transmission;
    return replay;
  }
  std::vector<spec::Replay> Replays() { return TakeReplays(); }
  // The requester starts the requested part.
  void Begin(const spec::Replay& replay) {
    record.tokens.push_back({.qpn = kQp,
                             .head = replay.head,
                             .last_psn = replay.last_psn,
                             .first_psn = replay.first_psn,
                             .replaces = true,
                             .is_replay = true,
                             .slot = replay.slot,
                             .packets = replay.packets,
                             .epoch = replay.epoch});
  }
};

TEST(CompleterBurst, LongMessageIsRequestedBurstByBurst) {
  LongQp qp(0xff'fff0);
  const uint32_t first = 0xff'fff0;
  qp.PostLong(3 * kBurst + 1);
  qp.PostUnsent(2);
  const auto part = [&](uint32_t index) { return qp.Part(0, 0, first + index * kBurst, true, index == 3); };
  EXPECT_EQ(qp.Replays(), Replays{part(1)});
  qp.Begin(part(1));
  EXPECT_EQ(qp.Replays(), Replays{part(2)});
  qp.Begin(part(2));
  spec::Replay behind = qp.Again(0, 1, first + 97, first + 97, first + 98);
  behind.first_transmission = true;
  EXPECT_EQ(qp.Replays(), (Replays{part(3), behind, qp.Resume(0)}));
  EXPECT_TRUE(qp.Holds().empty());
  qp.Ack(first + 98);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
}

TEST(CompleterBurst, RestShorterThanABurstIsRequestedAtOnce) {
  for (const uint32_t left : {1u, kBurst - 1, kBurst, kBurst + 1}) {
    LongQp qp;
    qp.PostLong(kBurst + left);
    const bool is_last = left <= kBurst;
    Replays expected{qp.Part(0, 0, 1000 + kBurst, true, is_last)};
    if (is_last) expected.push_back(qp.Resume(0));
    EXPECT_EQ(qp.Replays(), expected);
  }
}

TEST(CompleterBurst, OnlyTheStartOfTheLastPartCounts) {
  LongQp qp;
  qp.PostLong(4 * kBurst);
  const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
  EXPECT_EQ(qp.Replays(), Replays{part});
  for (int i = 0; i < 5; ++i) {
    spec::Replay other = part;
    if (i == 0) other.epoch = 1;
    if (i == 1) other.slot = 1;
    if (i == 2) other.slot = 8;
    if (i == 3) other.first_psn = 1001;
    if (i == 4) other.qpn = 6;
    qp.Begin(other);
    if (i == 4) qp.record.tokens.back().qpn = 6;
    EXPECT_TRUE(qp.Replays().empty()) << i;
  }
  qp.Begin(part);
  const spec::Replay next = qp.Part(0, 0, 1000 + 2 * kBurst, true);
  EXPECT_EQ(qp.Replays(), Replays{next});
  qp.Begin(next);
  EXPECT_EQ(qp.Replays().size(), 2u) << "the last part, and the resume";
  qp.Ack(999 + 4 * kBurst);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

// A replay may start anywhere in a burst, but the sent range matters.
TEST(CompleterBurst, RetransmissionStartsAtAnyPacketAndContinuesByBursts) {
  for (const uint32_t lost : {0u, 1u, kBurst - 1, kBurst, kBurst + 1, 2 * kBurst - 1}) {
    SCOPED_TRACE(lost);
    LongQp qp(1000, {.retry_cnt = 7});
    qp.PostLong(4 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    // The first burst has left, the second is in flight.
    qp.SequenceNak(1000 + lost);
    EXPECT_EQ(qp.Holds(), std::vector<uint8_t>{1});
    qp.Begin(part);  // it started before the hold
    uint32_t psn = 1000 + lost;
    while (999 + 4 * kBurst - psn >= kBurst) {
      const spec::Replay next = qp.Part(1, 0, psn, psn >= 1000 + 2 * kBurst);
      EXPECT_EQ(qp.Replays(), Replays{next});
      qp.Begin(next);
      psn += kBurst;
    }
    EXPECT_EQ(qp.Replays(), (Replays{qp.Part(1, 0, psn, psn >= 1000 + 2 * kBurst, true), qp.Resume(1)}));
  }
}

TEST(CompleterBurst, MessageAcknowledgedBetweenPartsIsSkipped) {
  LongQp qp(1000, {.timeout = 1, .retry_cnt = 7});
  qp.Post(3 * kBurst);
  qp.Post(1);
  qp.Timers();
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(1, 0, 1000, false)});
  // Half of it was already acknowledged.
  qp.Ack(1000 + kBurst + 9);
  EXPECT_TRUE(qp.Statuses().empty());
  qp.Begin(qp.Part(1, 0, 1000, false));
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(1, 0, 1000 + kBurst + 10, false)});
  // All of it.
  qp.Ack(999 + 3 * kBurst);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  const uint32_t second = 1000 + 3 * kBurst;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, second, second, second), qp.Resume(1)}));
  qp.Begin(qp.Part(1, 0, 1000 + kBurst + 10, false));
  EXPECT_TRUE(qp.Replays().empty());
  qp.Ack(second);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(CompleterBurst, LongMessageRestartsAfterAPause) {
  LongQp qp(1000, {.timeout = 1, .retry_cnt = 7, .rnr_retry = 7});
  qp.Post(1);
  qp.RnrNak(1000);
  qp.Timers();
  EXPECT_EQ(qp.Holds(), std::vector<uint8_t>{1});
  qp.PostLong(2 * kBurst);
  EXPECT_TRUE(qp.Replays().empty());
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 0, 1000, 1000, 1000), qp.Part(2, 1, 1001, false)}));
}

TEST(CompleterBurst, ReadIsOneReplay) {
  OneQp qp(1000, {.max_rd_atomic = 1});
  qp.PostUnsentRead(1000);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 0, 1000, 1000, 1999), qp.Resume(0)}));
}

TEST(CompleterBurst, FailedLongMessageIsSkipped) {
  for (const bool in_first : {true, false}) {
    LongQp qp(1000, {.qp_type = spec::IbQpType::kUc});
    qp.PostLong(3 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    spec::SendRecord amendment{.qpn = kQp,
                               .status = IbWcStatus::kLocProtErr,
                               .vendor_err = 5,
                               .first_psn = 1000,
                               .replaces = true,
                               .is_replay = !in_first};
    qp.record.tokens.push_back(amendment);
    EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
    // In the first burst the requester has reported it, and SQE may end; later it was not reported, and the QP must
    // stop.
    EXPECT_EQ(qp.failure.count, in_first ? 0u : 1u);
    EXPECT_EQ(qp.Holds(), in_first ? Holds{} : Holds{1});
    if (!in_first) {
      EXPECT_EQ(qp.failure_sink.sent()[0].token, (spec::QpFailure{.qpn = kQp,
                                                                  .event_type = spec::RdmaEventType::kQpFatal,
                                                                  .code = 5,
                                                                  .send_only = true,
                                                                  .reported = true}));
    }
    qp.PostUnsent(1);
    const uint32_t psn = 1000 + 3 * kBurst;
    spec::Replay next = qp.Again(0, 1, psn, psn, psn);
    next.first_transmission = true;
    EXPECT_EQ(qp.Replays(), in_first ? (Replays{next, qp.Resume(0)}) : Replays{});
    EXPECT_EQ(qp.Statuses(), in_first ? Statuses{} : Statuses{kFlush});
    if (in_first) continue;
    // After SQE it sends again; the requester is still held.
    spec::SendRecord recovers = qp.Record(1);
    recovers.unsent = recovers.recovers = true;
    recovers.epoch = 1;
    qp.record.tokens.push_back(recovers);
    next = qp.Again(1, 2, psn + 1, psn + 1, psn + 1);
    next.first_transmission = true;
    EXPECT_EQ(qp.Replays(), (Replays{next, qp.Resume(1)}));
    qp.Ack(psn + 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  }
}

TEST(CompleterBurst, RequestsNothingAndIsIdleDuringHold) {
  LongQp qp;
  qp.PostLong(4 * kBurst);
  const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
  EXPECT_EQ(qp.Replays(), Replays{part});
  qp.pause.on = true;
  ASSERT_EQ(qp.Run(2), "");
  qp.Begin(part);
  EXPECT_TRUE(qp.Replays().empty());
  EXPECT_EQ(qp.p.idle_o, 1);
  // Acknowledges still count.
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(50), "");
  EXPECT_TRUE(qp.Replays().empty());
  qp.pause.on = false;
  ASSERT_EQ(qp.Run(Completer::kReleaseToReplay - 1), "");
  EXPECT_EQ(qp.p.replay_valid_o, 0);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.p.replay_valid_o, 1);
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(0, 0, 1000 + 2 * kBurst, true)});
}

TEST(CompleterBurst, ErrAndClearEndTheAwaitedPart) {
  for (const bool clear : {true, false}) {
    LongQp qp;
    qp.PostLong(3 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    qp.SetState(kQp, clear ? IbQpState::kReset : IbQpState::kErr, clear);
    EXPECT_EQ(qp.Statuses(), clear ? Statuses{} : Statuses{kFlush});
    qp.Begin(part);
    EXPECT_TRUE(qp.Replays().empty());
    if (clear) ++qp.completed;
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.ApplyAck(), "");
    qp.PostUnsent(1);
    spec::Replay next = qp.Again(0, 1, 1000 + 3 * kBurst, 1000 + 3 * kBurst, 1000 + 3 * kBurst);
    next.first_transmission = true;
    EXPECT_EQ(qp.Replays(), (Replays{next, qp.Resume(0)}));
  }
}

}  // namespace
}  // namespace vireo::verif
