// SPDX-License-Identifier: Apache-2.0
// The completer: retransmission for a NAK, a pause or a timeout.
#include <gtest/gtest.h>

#include "verif/rdma/completer_bench.h"

namespace vireo::verif {
namespace {

TEST(Completer, SequenceNakHoldsTheQpAndReplaysFromItsPsn) {
  for (const uint32_t start : {1000u, 0xff'fffeu, 0xff'fffcu}) {
    OneQp qp(start, {.retry_cnt = 1});
    for (const uint32_t packets : {1u, 3u, 1u}) qp.Post(packets);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Holds(), Holds{});
    qp.SequenceNak(start + 2);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Holds(), Holds{1});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, start + 2, start + 1, start + 3),
                                     qp.Again(1, 2, start + 4, start + 4, start + 4), qp.Resume(1)}));
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, SequenceNakOfTheOldestPsnReplaysItsWholeMessage) {
  OneQp qp(1000, {.retry_cnt = 1});
  qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1001), qp.Resume(1)}));
}

TEST(Completer, DuplicateSequenceNakCostsNoRetry) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2});
  qp.Post(4);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.replay.rate = 0;
  for (int i = 0; i < 5; ++i) qp.SequenceNak(1001);  // while replays wait
  ASSERT_EQ(qp.Run(100), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Holds(), Holds{1});
  for (int i = 0; i < 5; ++i) qp.SequenceNak(1001);  // when they have left
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Replays().size(), 2u);
  // A timeout starts the second replay, and one NAK of a packet that is lost again would count.
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{2});
  EXPECT_EQ(qp.Replays().size(), 2u);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1002);  // progress: all counters are restored
  EXPECT_EQ(qp.Holds(), Holds{3});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Holds(), Holds{4});
  EXPECT_EQ(qp.Timers().size(), 3u);
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{5});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1003);  // after a timeout: the third without progress
  EXPECT_EQ(qp.Statuses(), Statuses{kRetryExc});
}

TEST(Completer, SequenceNakDuringATimeoutReplayCounts) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2});
  qp.Post(1);
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.replay.rate = 0;
  qp.Expire();
  ASSERT_EQ(qp.Run(50), "");
  for (int i = 0; i < 3; ++i) qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Again(2, 0, 1000, 1000, 1000),
                                   qp.Again(2, 1, 1001, 1001, 1001), qp.Resume(2)}));
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, ExhaustedRetriesFailTheOldestRecordAndFlushTheRest) {
  for (const uint8_t count : {uint8_t{0}, uint8_t{1}, uint8_t{7}}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = count});
    qp.Post(1);
    qp.Post(2);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    for (uint8_t i = 0; i < count; ++i) {
      qp.Expire();
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(static_cast<uint8_t>(2 + i))});
      EXPECT_EQ(qp.Replays(), (Replays{qp.Again(static_cast<uint8_t>(1 + i), 0, 1000, 1000, 1000),
                                       qp.Again(static_cast<uint8_t>(1 + i), 1, 1001, 1001, 1002),
                                       qp.Resume(static_cast<uint8_t>(1 + i))}));
    }
    EXPECT_EQ(qp.Holds().size(), count);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Expire();
    EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
    EXPECT_EQ(qp.vendor_err, 0u);
    ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token,
              (spec::QpFailure{
                  .qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = kRetryExceeded, .reported = true}));
    EXPECT_EQ(qp.Timers(), Timers{});  // stopped since it expired
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Replays(), Replays{});
  }
}

TEST(Completer, ProgressRestoresBothRetryCounters) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .rnr_retry = 1});
  qp.Post(8);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  for (uint32_t psn = 1000; psn < 1004; ++psn) {
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.RnrNak(psn);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Ack(psn);
    EXPECT_EQ(qp.Timers().size(), 1u);
  }
  EXPECT_EQ(qp.Holds().size(), 12u);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Expire();
  EXPECT_EQ(qp.Timers().size(), 1u);
  qp.Expire();
  EXPECT_EQ(qp.Statuses(), Statuses{kRetryExc});
}

TEST(Completer, RnrNakPausesTheQpAndReplaysAtTimerExpiry) {
  OneQp qp(1000, {.timeout = kTimeout, .rnr_retry = 1});
  qp.Post(1);
  qp.Post(2);
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.RnrNak(1001, 27);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kRnr, 27, 2)});
  EXPECT_EQ(qp.Holds(), Holds{1});
  // In the pause an acknowledge counts and changes nothing else; the same NAK again has no effect.
  qp.RnrNak(1001, 5);
  qp.SequenceNak(1001);
  qp.Ack(1001);
  qp.PostUnsent(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
  EXPECT_EQ(qp.Replays(), Replays{});
  EXPECT_EQ(qp.Holds(), Holds{});
  qp.Expire();
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  EXPECT_EQ(qp.Holds(), Holds{2});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1003, 1003, 1003), qp.Again(2, 3, 1004, 1004, 1005), qp.Resume(2)}));
  // The end of the pause has cost no further retry of either kind: 1003 was progress.
  qp.RnrNak(1003, 31);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kRnr, 31, 4)});
  qp.Expire();
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(5)});
  qp.RnrNak(1003, 31);
  EXPECT_EQ(qp.Statuses(), (Statuses{kRnrRetryExc, kFlush}));
  EXPECT_EQ(qp.vendor_err, 0u);  // the flushed one's
  EXPECT_EQ(qp.failure_sink.sent().back().token.code, static_cast<uint32_t>(spec::RdmaError::kRnrRetryExceeded));
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 6)});
}

TEST(Completer, RnrRetrySevenIsUnlimited) {
  for (const bool ends : {false, true}) {
    OneQp qp(1000, {.rnr_retry = static_cast<uint8_t>(ends ? 6 : 7)});
    qp.Post(1);
    for (int i = 0; i < (ends ? 6 : 20); ++i) {
      qp.RnrNak(1000, 3);
      EXPECT_EQ(qp.Timers().size(), 1u);
      qp.Expire();
      EXPECT_EQ(qp.Replays().size(), 2u);
    }
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.RnrNak(1000, 3);
    EXPECT_EQ(qp.Statuses(), ends ? Statuses{kRnrRetryExc} : Statuses{});
  }
}

TEST(Completer, PauseWithoutRecordsEndsWithAResume) {
  OneQp qp(1000, kMostRetries);
  qp.Post(1);
  qp.RnrNak(1000, 1);
  EXPECT_EQ(qp.Timers().size(), 2u);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Resume(2)});
  EXPECT_EQ(qp.Timers(), Timers{});  // nothing is outstanding
}

TEST(Completer, AckTimerRunsWhileOutstandingAndRestartsOnProgress) {
  OneQp qp(1000, kMostRetries);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Ack(999);
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Ack(1001);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  qp.Ack(1002);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 4)});
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(5)});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(6)});
  // Firmware disables it.
  qp.SetCq(kQp, kCq, {.retry_cnt = 7});
  qp.Post(1);
  qp.Ack(1003);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 7)});
  qp.Ack(1004);
  EXPECT_EQ(qp.Timers(), Timers{});
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk, kOk}));
}

// A packet that has not left, or has just left, is not late. [IBTA vol. 1, 9.7.6.1.3]
TEST(Completer, TimeoutCountsOnlyIfItStartedAfterTheTransmission) {
  for (const bool is_replay : {false, true}) {
    OneQp qp(0xff'fffe, {.timeout = kTimeout, .retry_cnt = 0});
    if (is_replay) qp.SetCq(kQp, kCq, {.timeout = kTimeout, .retry_cnt = 1});
    qp.Post(2);
    qp.Post(2);
    uint8_t set = 1;
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(set)});
    if (is_replay) {
      qp.Send();  // before the hold
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.SequenceNak(0xff'fffe);
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(++set)});
      EXPECT_EQ(qp.Holds(), Holds{1});
      EXPECT_EQ(qp.Replays().size(), 3U);
    }
    const auto epoch = static_cast<uint8_t>(is_replay ? 1 : 0);
    const auto expire = [&] {
      qp.expired.tokens.push_back({.qpn = kQp, .epoch = set});
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(++set)});
    };
    for (int i = 0; i < 20; ++i) expire();
    // Of another QP, of an earlier hold, of an acknowledged PSN: all ignored.
    qp.sent.tokens.push_back({.qpn = kQp + 1, .psn = 1, .epoch = epoch});
    qp.sent.tokens.push_back({.qpn = kQp, .psn = 1, .epoch = static_cast<uint8_t>(epoch - 1)});
    ASSERT_EQ(qp.ApplyAck(), "");
    for (int i = 0; i < 2; ++i) expire();
    qp.sent.tokens.push_back({.qpn = kQp, .psn = 0xff'ffff, .epoch = epoch});
    qp.Ack(0xff'ffff);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(++set)});
    for (int i = 0; i < 2; ++i) expire();
    qp.sent.tokens.push_back({.qpn = kQp, .psn = 1, .epoch = epoch});
    ASSERT_EQ(qp.ApplyAck(), "");
    EXPECT_EQ(qp.Holds(), Holds{});
    expire();  // it is sent, and its time starts now
    EXPECT_EQ(qp.Holds(), Holds{});
    qp.expired.tokens.push_back({.qpn = kQp, .epoch = set});
    if (is_replay) {  // the counter was restored
      EXPECT_EQ(qp.Holds(), Holds{2});
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(++set)});
      expire();
      EXPECT_EQ(qp.Statuses(), Statuses{});
    } else {
      EXPECT_EQ(qp.Statuses(), Statuses{kRetryExc});
    }
  }
}

// They share a RAM: a lifetime of this or another QP starts in the cycles around the one in which this one sends.
TEST(Completer, TransmissionsCountSinceTheStartOfTheLifetime) {
  for (const uint32_t begins : {kQp, kQp + 1}) {
    for (int delay = -3; delay <= 3; ++delay) {
      SCOPED_TRACE("QP " + std::to_string(begins) + " " + std::to_string(delay) + " cycles after");
      OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7});
      qp.Post(1);
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
      for (int i = -4; i <= 4; ++i) {
        if (i == 0) qp.Send();
        if (i == delay) qp.SetState(begins, IbQpState::kRtr);
        ASSERT_EQ(qp.Run(1), "");
      }
      qp.SetState(begins, IbQpState::kRts);
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.expired.tokens.push_back({.qpn = kQp, .epoch = 1});
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
      qp.expired.tokens.push_back({.qpn = kQp, .epoch = 2});
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
      EXPECT_EQ(qp.Holds(), begins == kQp && delay >= 0 ? Holds{} : Holds{1});
    }
  }
}

// The request counts for all responses.
TEST(Completer, TimeoutOfAReadWithoutResponsesCounts) {
  OneQp qp(1000, kReader);
  qp.PostRead(4);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Send();
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Timers(), (Timers{AckTimer(2), AckTimer(3)}));
  qp.expired.tokens.push_back({.qpn = kQp, .epoch = 3});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1002, 1000, 1003), qp.Resume(1)}));
}

TEST(Completer, TimerCodeZeroDisablesTheAckTimer) {
  OneQp qp(1000, {.retry_cnt = 7});
  qp.Post(2);
  qp.Ack(1000);
  qp.SequenceNak(1001);
  EXPECT_EQ(qp.Replays().size(), 2u);
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
}

TEST(Completer, StaleExpiryIsIgnored) {
  OneQp qp(1000, kMostRetries);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Ack(1000);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.Expire();  // generation 1
  qp.expired.tokens.push_back({.qpn = kQp, .epoch = 3});
  qp.expired.tokens.push_back({.qpn = kQp + 16, .epoch = 2});
  qp.expired.tokens.push_back({.qpn = kQp + 1, .epoch = 0});
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  qp.Expire();  // it is stopped
  EXPECT_EQ(qp.Holds(), Holds{1});
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Expire();  // it was stopped
  EXPECT_EQ(qp.Holds(), Holds{});
}

TEST(Completer, NakOrTimeoutDuringAReplayRestartsIt) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kMostRetries);
    for (int i = 0; i < 4; ++i) qp.Post(2);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    qp.replay.rate = 0;
    qp.SequenceNak(1001);
    ASSERT_EQ(qp.Run(50), "");
    if (cause == 0) qp.SequenceNak(1003);
    if (cause == 1) qp.RnrNak(1003);
    if (cause == 2) {
      qp.timer.epoch = 2;
      qp.Expire();
    }
    ASSERT_EQ(qp.Run(50), "");
    qp.replay.rate = 16;
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
    (void)qp.Timers();
    // The first one had been issued already.
    Replays expected{qp.Again(1, 0, 1001, 1000, 1001)};
    uint8_t epoch = 2;
    if (cause == 1) {
      EXPECT_EQ(qp.Replays(), expected);
      expected.clear();
      qp.Expire();
      epoch = 3;
      EXPECT_EQ(qp.Holds(), Holds{3});
    }
    if (cause == 2) expected.push_back(qp.Again(2, 0, 1001, 1000, 1001));
    expected.push_back(qp.Again(epoch, 1, cause == 2 ? 1002 : 1003, 1002, 1003));
    expected.push_back(qp.Again(epoch, 2, 1004, 1004, 1005));
    expected.push_back(qp.Again(epoch, 3, 1006, 1006, 1007));
    expected.push_back(qp.Resume(epoch));
    EXPECT_EQ(qp.Replays(), expected);
  }
}

TEST(Completer, RecordsAcknowledgedDuringAReplayAreSkipped) {
  OneQp qp(1000, kMostRetries);
  for (int i = 0; i < 5; ++i) qp.Post(2);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.replay.rate = 0;
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1002);  // the first, and half of the second
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1001), qp.Again(1, 1, 1003, 1002, 1003),
                                   qp.Again(1, 2, 1004, 1004, 1005), qp.Again(1, 3, 1006, 1006, 1007),
                                   qp.Again(1, 4, 1008, 1008, 1009), qp.Resume(1)}));
  // The cursor stays at its record when records before it leave.
  qp.replay.rate = 0;
  qp.SequenceNak(1003);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1007);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1009);
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1003, 1002, 1003), qp.Resume(2)}));
  EXPECT_EQ(qp.Statuses(), Statuses(5, kOk));
}

TEST(Completer, UnsentRecordIsReplayedInOrder) {
  OneQp qp(1000, kMostRetries);
  qp.Post(1);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.replay.rate = 0;
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.PostUnsent(2);  // during the replay
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Again(1, 1, 1001, 1001, 1002), qp.Resume(1)}));
  qp.PostUnsent(1);  // behind the resume: it is sent, and the resume is sent once more, without another hold
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 2, 1003, 1003, 1003), qp.Resume(1)}));
  qp.Ack(1003);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
  qp.PostUnsent(1);  // with nothing else outstanding
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 3, 1004, 1004, 1004), qp.Resume(1)}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kAck);
  EXPECT_EQ(qp.Holds(), Holds{1});
}

TEST(Completer, RecordThatFailsInAReplayCompletesInOrderAndIsReported) {
  OneQp qp(1000, kMostRetries);
  qp.Post(1);
  const spec::SendRecord record = qp.Record(2);
  qp.record.tokens.push_back(record);
  qp.Post(1);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays().size(), 4u);
  spec::SendRecord amendment{.qpn = kQp,
                             .status = IbWcStatus::kLocProtErr,
                             .vendor_err = 19,
                             .last_psn = 99,
                             .first_psn = record.first_psn,
                             .replaces = true,
                             .is_replay = true,
                             .slot = 1,
                             .no_completion = true};
  // Of a nonexistent record.
  for (const uint8_t slot : {uint8_t{0}, uint8_t{2}, uint8_t{3}, uint8_t{7}, uint8_t{9}, uint8_t{255}}) {
    amendment.slot = slot;
    qp.record.tokens.push_back(amendment);
  }
  amendment.slot = 1;
  amendment.first_psn = 1002;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  amendment.first_psn = 1001;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  // Earlier records are replayed once more; it and later ones are not.
  qp.Timers();
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Again(2, 0, 1000, 1000, 1000)});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr, kFlush}));
  ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
  EXPECT_EQ(qp.failure_sink.sent()[0].token,
            (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = 19, .reported = true}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
}

TEST(Completer, RecordThatFailedInAReplayFlushesWithItsStatus) {
  OneQp qp(1000, kMostRetries);
  qp.Post(1);
  qp.Post(1);
  spec::SendRecord amendment{
      .qpn = kQp, .status = IbWcStatus::kLocProtErr, .first_psn = 1001, .replaces = true, .is_replay = true, .slot = 1};
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, IbWcStatus::kLocProtErr}));
  EXPECT_TRUE(qp.failure_sink.sent().empty());
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, ReplayFailureOfACompletedRecordIsIgnored) {
  // Its slot is free, the next to be used, or another record's.
  for (const uint32_t later : {0u, 6u, 7u, 8u}) {
    OneQp qp(1000, kMostRetries);
    qp.Post(1);
    qp.Ack(1000);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    for (uint32_t i = 0; i < later; ++i) qp.Post(1);
    ASSERT_EQ(qp.ApplyAck(), "");
    qp.record.tokens.push_back({.qpn = kQp,
                                .status = IbWcStatus::kLocProtErr,
                                .first_psn = 1000,
                                .replaces = true,
                                .is_replay = true,
                                .slot = 0});
    ASSERT_EQ(qp.ApplyAck(), "");
    qp.Ack(1000 + later);
    EXPECT_EQ(qp.Statuses(), Statuses(later, kOk));
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, ClearRestoresTheRetryCounters) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .rnr_retry = 1});
  for (int i = 0; i < 3; ++i) {
    qp.Post(1);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.RnrNak(qp.next_psn - 1);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.SetState(kQp, IbQpState::kReset, true);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
  }
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, OldestRecordThatFailsInAReplayCompletesAtOnce) {
  OneQp qp(1000, kMostRetries);
  for (int i = 0; i < 2; ++i) qp.Post(1);
  qp.record.tokens.push_back({.qpn = kQp,
                              .status = IbWcStatus::kLocProtErr,
                              .vendor_err = 7,
                              .first_psn = 1000,
                              .replaces = true,
                              .is_replay = true,
                              .slot = 0});
  EXPECT_EQ(qp.Statuses(), (Statuses{IbWcStatus::kLocProtErr, kFlush}));
  EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
}

TEST(Completer, ErrAndClearEndReplayPauseAndTimer) {
  for (const bool clear : {false, true}) {
    for (const int cause : {0, 1, 2}) {
      OneQp qp(1000, kMostRetries);
      for (int i = 0; i < 4; ++i) qp.Post(2);
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
      qp.replay.rate = 0;
      if (cause == 0) qp.SequenceNak(1001);
      if (cause == 1) qp.RnrNak(1001);
      ASSERT_EQ(qp.Run(50), "");
      if (clear) {
        qp.SetState(kQp, IbQpState::kReset, true);
      } else {
        qp.SetState(kQp, IbQpState::kErr);
      }
      ASSERT_EQ(qp.Run(50), "");
      qp.replay.rate = 16;
      EXPECT_EQ(qp.Statuses(), Statuses(clear ? 0 : 4, kFlush));
      EXPECT_EQ(qp.Replays().size(), cause == 0 ? 1u : 0u);  // the one that waited to be taken
      EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
      qp.Expire();
      EXPECT_EQ(qp.Timers(), Timers{});
      EXPECT_EQ(qp.Holds().size(), cause == 2 ? 0u : 1u);
      if (!clear) qp.SetState(kQp, IbQpState::kReset, true);
      // Set up again: generations start at 0 again, counters are full.
      qp.SetState(kQp, IbQpState::kRts);
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.Post(1);
      EXPECT_EQ(qp.Timers().back().kind, TimerKind::kAck);
      qp.Expire();
      EXPECT_EQ(qp.Holds(), Holds{1});
    }
  }
}

TEST(Completer, ReplaysAlternateBetweenQps) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < 3; ++qpn) {
    bench.SetCq(qpn, 0, kMostRetries);
    bench.SetState(qpn, IbQpState::kRts);
  }
  ASSERT_EQ(bench.ApplyAck(), "");
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.record.tokens.push_back({.qpn = qpn, .last_psn = i, .first_psn = i});
  }
  ASSERT_EQ(bench.ApplyAck(), "");
  bench.replay.rate = 0;
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.ack.tokens.push_back({.qpn = qpn, .psn = 0, .syndrome = 0x60});
  ASSERT_EQ(bench.Run(100), "");
  bench.replay.rate = 16;
  ASSERT_EQ(bench.ApplyAck(), "");
  ASSERT_EQ(bench.replay_sink.sent().size(), 15u);
  uint32_t next[3]{};
  for (size_t i = 0; i < 15; ++i) {
    const spec::Replay& token = bench.replay_sink.sent()[i].token;
    EXPECT_EQ(token.psn, next[token.qpn]);
    EXPECT_EQ(token.resume, next[token.qpn] == 4);
    ++next[token.qpn];
    // From the third on all of them wait; in the end one after the other runs out.
    if (i >= 2 && i < 10) {
      EXPECT_EQ(token.qpn, bench.replay_sink.sent()[i + 3].token.qpn) << i;
    }
  }
}

TEST(Completer, RecordsAndAcknowledgesDoNotWaitForReplays) {
  OneQp qp(1000, {.retry_cnt = 1});
  qp.Post(1);
  qp.SequenceNak(1000);
  qp.replay.rate = 0;
  ASSERT_EQ(qp.Run(50), "");
  for (uint32_t psn = 1000; psn < 1030; ++psn) {
    if (psn != 1000) qp.Post(1);
    ASSERT_EQ(qp.Run(20), "");
    qp.Ack(psn);
    ASSERT_EQ(qp.Run(20), "");
  }
  EXPECT_EQ(qp.completion.count, 30u);
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Resume(1)}));
}

TEST(Completer, StallsForTheTimerWithoutLosingASetting) {
  OneQp qp(1000, kMostRetries);
  qp.timer_set.rate = 0;
  qp.Post(8);
  for (uint32_t psn = 1000; psn < 1008; ++psn) qp.Ack(psn);
  ASSERT_EQ(qp.Run(200), "");
  EXPECT_EQ(qp.ack.accepted, 3u);  // one waits for its end, two in the slice
  EXPECT_EQ(qp.completion.count, 0u);
  qp.timer_set.rate = 1;
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  Timers expected;
  for (uint8_t i = 1; i <= 8; ++i) expected.push_back(AckTimer(i));
  expected.push_back(Timer(TimerKind::kOff, 0, 9));
  EXPECT_EQ(qp.Timers(), expected);
}

TEST(Completer, RetransmissionMeetsDocumentedLatencies) {
  OneQp qp(1000, kMostRetries);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToHold), "");
  EXPECT_EQ(qp.hold.sent.size(), 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.hold.sent.size(), 1u);
  EXPECT_EQ(qp.timer_set.count, 2u);
  ASSERT_EQ(qp.Run(Completer::kHoldToReplay - 1), "");
  EXPECT_EQ(qp.replay.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.replay.count, 1u);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  ASSERT_EQ(qp.Run(Completer::kExpiredToHold), "");
  EXPECT_EQ(qp.hold.sent.size(), 1u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.hold.sent.size(), 2u);
}

TEST(Completer, MessageWithTimerAndOwnAcknowledgeTakesAtMostTenCycles) {
  for (const uint32_t burst : {1u, 8u}) {
    OneQp qp(1000, kMostRetries);
    Cycle busy = 0;
    for (uint32_t i = 0; i < 400; i += burst) {
      for (uint32_t k = 0; k < burst; ++k) qp.Post(1);
      for (uint32_t k = 0; k < burst; ++k) qp.Ack(1000 + i + k);
      if (burst == 1) qp.ack.rate = 0;  // the record first, as in the device
      ASSERT_EQ(qp.Run(1), "");
      qp.ack.rate = 16;
      while (qp.p.idle_o == 0 || !qp.ack.IsEmpty()) {
        ASSERT_EQ(qp.Run(1), "");
        ++busy;
      }
    }
    EXPECT_EQ(qp.completion.count, 400u);
    EXPECT_LE(busy, 400u * 10 + 400 / burst * 3);  // two latencies through the slices, and to the last output
  }
}

}  // namespace
}  // namespace vireo::verif
