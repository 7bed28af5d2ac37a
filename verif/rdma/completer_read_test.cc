// SPDX-License-Identifier: Apache-2.0
// The completer: RDMA READ and fence, and services without acknowledges.
#include <gtest/gtest.h>

#include <tuple>

#include "verif/rdma/completer_bench.h"

namespace vireo::verif {
namespace {

TEST(Completer, ReadCompletesWithItsLengthAtItsLastResponse) {
  for (const uint32_t start : {1000u, 0xff'ffffu, 0xff'fffeu, 0xff'fffdu}) {
    OneQp qp(start, kReader);
    qp.Post(1);
    qp.PostRead(3);
    qp.PostRead(1);
    qp.Post(1);
    qp.Ack(start);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Responses(start + 1, 2);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Ended(), Counts{});
    qp.Response(start + 3, 0);  // with credits
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_TRUE(qp.has_cqe);
    EXPECT_EQ(qp.Ended(), Counts{1});
    qp.Response(start + 3);  // it was acknowledged before
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Response(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Ended(), Counts{2});
    qp.Ack(start + 5);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
    EXPECT_EQ(qp.retired_sink.sent().size(), 4u);
    EXPECT_EQ(qp.Ended(), Counts{});
  }
}

TEST(Completer, ResponseAcknowledgesEarlierRecords) {
  OneQp qp(1000, kReader);
  qp.Post(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.PostRead(2);
  qp.Response(1002);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Response(1003);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Response(1006);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
}

TEST(Completer, EveryResponseRestartsTheAckTimer) {
  OneQp qp(1000, kReader);
  qp.PostRead(3);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Timers(), (Timers{AckTimer(2), AckTimer(3)}));
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{1});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1002, 1000, 1002), qp.Resume(1)}));
}

TEST(Completer, AcknowledgeBeyondALackingReadRetransmitsIt) {
  const auto syndrome = [](AethSyndrome value) { return static_cast<uint8_t>(value); };
  for (const uint32_t start : {1000u, 0xff'fffdu}) {
    for (const uint8_t news :
         {kAck, uint8_t{3}, kSequenceNak, syndrome(AethSyndrome::kNakInvalidRequest),
          syndrome(AethSyndrome::kNakRemoteAccessError), syndrome(AethSyndrome::kNakRemoteOperationalError),
          syndrome(AethSyndrome::kRnrNak), uint8_t{0x40}, uint8_t{0x7f}}) {
      for (const uint32_t came : {0u, 1u, 2u}) {                        // of three
        for (const uint32_t psn : {start + 3, start + 4, start + 5}) {  // the READ's last, the next, the last
          OneQp qp(start, {.retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 4});
          qp.Post(1);
          qp.PostRead(3);
          qp.Post(1);
          qp.Post(1);
          qp.Responses(start + 1, came);
          EXPECT_EQ(qp.Statuses(), came == 0 ? Statuses{} : Statuses{kOk});
          const uint32_t lacks = Psn(start + 1 + came);
          const bool is_positive = news < 0x20;
          if (!is_positive && Psn(psn) == lacks) continue;  // a NAK of the request itself: below
          qp.Ack(psn, news);
          EXPECT_EQ(qp.Statuses(), came == 0 ? Statuses{kOk} : Statuses{});
          EXPECT_EQ(qp.Holds(), Holds{1});
          EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, lacks, start + 1, start + 3),
                                           qp.Again(1, 2, start + 4, start + 4, start + 4),
                                           qp.Again(1, 3, start + 5, start + 5, start + 5), qp.Resume(1)}));
          // Repetitions have no effect.
          qp.Ack(psn, news);
          qp.Ack(start + 5, news);
          EXPECT_EQ(qp.Holds(), Holds{});
          EXPECT_EQ(qp.Statuses(), Statuses{});
          EXPECT_EQ(qp.Timers(), Timers{});
          EXPECT_EQ(qp.Ended(), Counts{});
          EXPECT_TRUE(qp.failure_sink.sent().empty());
          // It continues unaffected.
          qp.Responses(lacks, 3 - came);
          qp.Ack(start + 5);
          EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
          EXPECT_EQ(qp.Ended(), Counts{1});
        }
      }
    }
  }
}

TEST(Completer, LostResponsesCostRetriesAndFailTheReadAtZero) {
  for (const bool acks : {true, false}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2, .rnr_retry = 7, .max_rd_atomic = 4});
    const auto say = [&] { acks ? qp.Ack(1004) : qp.RnrNak(1004); };
    qp.Post(1);
    qp.PostRead(3);
    qp.Post(1);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    say();  // covers 1000
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
    qp.Expire();  // the second
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
    EXPECT_EQ(qp.Statuses(), Statuses{});
    say();
    EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
    EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token,
              (spec::QpFailure{
                  .qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = kRetryExceeded, .reported = true}));
    EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 4)});
    EXPECT_EQ(qp.Ended(), Counts{1});
  }
}

TEST(Completer, ResponseRestoresTheRetries) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .max_rd_atomic = 4});
  qp.PostRead(6);
  qp.Post(1);
  for (uint32_t i = 0; i < 5; ++i) {
    qp.Ack(1006);
    EXPECT_EQ(qp.Holds(), Holds{static_cast<uint8_t>(1 + i)});
    qp.Response(1000 + i);
  }
  EXPECT_EQ(qp.Statuses(), Statuses{});
  (void)qp.Timers();
  qp.Ack(1006);
  qp.Ack(1006);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.Timers().size(), 1u);
  qp.Expire();
  EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
  EXPECT_EQ(qp.vendor_err, 0u);
}

TEST(Completer, OfTwoReadsTheFirstLackingResponsesCounts) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.Responses(1000, 2);
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, 1002, 1002, 1003), qp.Again(1, 2, 1004, 1004, 1004), qp.Resume(1)}));
  qp.Response(1002);  // progress: the same acknowledge counts again
  qp.Ack(1004);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1003, 1002, 1003), qp.Again(2, 2, 1004, 1004, 1004), qp.Resume(2)}));
}

TEST(Completer, NakOfAReadRequestIsHandledLikeAnyNak) {
  for (const uint32_t came : {0u, 1u}) {
    using Case = std::tuple<uint8_t, IbWcStatus, spec::RdmaError>;
    for (const auto& [syndrome, status, code] :
         {Case{0x61, IbWcStatus::kRemInvReqErr, spec::RdmaError::kRemoteInvalidRequest},
          Case{0x62, IbWcStatus::kRemAccessErr, spec::RdmaError::kRemoteAccessError},
          Case{0x63, IbWcStatus::kRemOpErr, spec::RdmaError::kRemoteOperationalError},
          Case{0x40, IbWcStatus::kBadRespErr, spec::RdmaError::kBadResponse}}) {
      OneQp qp(1000, kReader);
      qp.Post(1);
      qp.PostRead(2);
      qp.Post(1);
      qp.Responses(1001, came);
      qp.Ack(1001 + came, syndrome);
      EXPECT_EQ(qp.Statuses(), (Statuses{kOk, status, kFlush}));
      ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
      EXPECT_EQ(qp.failure_sink.sent()[0].token.code, static_cast<uint32_t>(code));
      EXPECT_EQ(qp.Ended(), Counts{1});
    }
    OneQp qp(1000, kReader);
    qp.PostRead(2);
    qp.Responses(1000, came);
    qp.SequenceNak(1000 + came);
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000 + came, 1000, 1001), qp.Resume(1)}));
    qp.RnrNak(1000 + came, 9);
    EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 9, static_cast<uint8_t>(3 + came)));
    qp.Expire();
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(3, 0, 1000 + came, 1000, 1001), qp.Resume(3)}));
  }
}

TEST(Completer, LostResponsesAreIgnoredInAPause) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.Post(1);
  qp.PostRead(2);
  qp.Post(1);
  qp.RnrNak(1000, 7);
  EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 7, 2));
  EXPECT_EQ(qp.Holds(), Holds{1});
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  qp.RnrNak(1004, 8);
  qp.Ack(1004, 0x62);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1002, 1002, 1003), qp.Again(2, 3, 1004, 1004, 1004), qp.Resume(2)}));
}

TEST(Completer, ResponseGapIsASequenceNakOfTheExpectedPsn) {
  OneQp qp(1000, {.retry_cnt = 1, .max_rd_atomic = 4});
  qp.Post(1);
  qp.PostRead(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.Response(1001, kSequenceNak);  // the first is missing
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  const Replays rest{qp.Again(1, 2, 1003, 1003, 1004), qp.Again(1, 3, 1005, 1005, 1005), qp.Resume(1)};
  Replays expected{qp.Again(1, 1, 1001, 1001, 1002)};
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(qp.Replays(), expected);
  qp.Response(1001, kSequenceNak);
  EXPECT_EQ(qp.Holds(), Holds{1});
  // All of one and nothing of the next: the first one has completed by then.
  qp.Responses(1001, 2);
  qp.Response(1003, kSequenceNak);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1003, 1003, 1004), qp.Again(2, 3, 1005, 1005, 1005), qp.Resume(2)}));
  qp.Response(1003);
  qp.Response(1004, kSequenceNak);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(3, 2, 1004, 1003, 1004), qp.Again(3, 3, 1005, 1005, 1005), qp.Resume(3)}));
  EXPECT_EQ(qp.Holds(), (Holds{2, 3}));
}

TEST(Completer, ResponseWithStatusFailsItsReadAndFlushesTheRest) {
  for (const IbWcStatus status :
       {IbWcStatus::kLocLenErr, IbWcStatus::kLocQpOpErr, IbWcStatus::kLocProtErr, IbWcStatus::kBadRespErr}) {
    for (const uint8_t code : {uint8_t{0}, kAck, uint8_t{19}, uint8_t{0x3f}, kSequenceNak}) {
      for (const uint32_t psn : {1003u, 1004u}) {
        OneQp qp(1000, kReader);
        qp.Post(1);
        qp.PostRead(2);
        qp.PostRead(2);
        qp.PostRead(1);
        qp.Post(1);
        EXPECT_EQ(qp.Statuses(), Statuses{});
        qp.Response(psn, code, status);
        EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, status, kFlush, kFlush}));
        ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
        EXPECT_EQ(
            qp.failure_sink.sent()[0].token,
            (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = code, .reported = true}));
        EXPECT_EQ(qp.Ended(), (Counts{1, 2, 3}));
        EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
      }
    }
  }
  // Outside of the outstanding range.
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Response(999, 5, IbWcStatus::kLocLenErr);
  qp.Response(1002, 5, IbWcStatus::kLocLenErr);
  qp.ack.tokens.push_back({.qpn = kQp, .psn = 999, .syndrome = kAck, .status = IbWcStatus::kLocLenErr});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, StatusWithoutAResponseIsIgnored) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.ack.tokens.push_back({.qpn = kQp, .psn = 1000, .syndrome = kAck, .status = IbWcStatus::kLocLenErr});
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(Completer, ReplayStallsAtAFenceUntilEarlierReadsLeave) {
  for (const bool read : {false, true}) {
    OneQp qp(1000, kReader);
    qp.PostRead(2);
    qp.Post(1);
    qp.PostRead(2);
    qp.PostFence(1, read);  // the requester holds itself
    qp.PostUnsent(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1000);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1001);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(1002);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Response(1003);
    qp.PostUnsent(2);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1004);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 3, 1005, 1005, 1005), qp.Again(0, 4, 1006, 1006, 1006),
                                     qp.Again(0, 5, 1007, 1007, 1008), qp.Resume(0)}));
    EXPECT_EQ(qp.Holds(), Holds{});
    if (read) {
      qp.Response(1005);
    } else {
      qp.Ack(1005);
    }
    qp.Ack(1008);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
    EXPECT_EQ(qp.Ended().size(), read ? 3u : 2u);
  }
}

TEST(Completer, FenceWithoutEarlierReadsDoesNotStall) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.PostFence(1);  // its READ has left meanwhile
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 1, 1001, 1001, 1001), qp.Resume(0)}));
  qp.PostFence(1);
  qp.PostUnsentRead(1);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 2, 1002, 1002, 1002), qp.Again(0, 3, 1003, 1003, 1003), qp.Resume(0)}));
  // A READ behind the cursor does not count as before it.
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays().size(), 5u);
}

TEST(Completer, ReplayStallsAtTheReadLimit) {
  for (const uint32_t most : {1u, 2u, 4u}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7, .max_rd_atomic = static_cast<uint8_t>(most)});
    for (uint32_t i = 0; i < most; ++i) qp.PostRead(1);
    qp.PostUnsentRead(1);
    qp.PostUnsent(1);
    qp.PostUnsentRead(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    const auto is_replay = [&](uint32_t number) {
      return qp.Again(0, number, 1000 + number, 1000 + number, 1000 + number);
    };
    qp.Response(1000);
    EXPECT_EQ(qp.Replays(), (Replays{is_replay(most), is_replay(most + 1)}));
    qp.Response(1001);
    EXPECT_EQ(qp.Replays(), (Replays{is_replay(most + 2), qp.Resume(0)}));
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_EQ(qp.Holds(), Holds{});
  }
}

TEST(Completer, ReadLimitZeroReplaysAReadWithoutEarlierReads) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7});  // the requester reports the error
  qp.PostUnsentRead(1);
  qp.PostUnsentRead(1);
  EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, 0, 1000, 1000, 1000)});
}

TEST(Completer, NakOrTimeoutEndsTheStallAndTheNextReplayStallsAgain) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kReader);
    qp.Post(1);
    qp.PostRead(2);
    qp.PostFence(1);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    EXPECT_EQ(qp.Replays(), Replays{});
    uint8_t epoch = 1;
    if (cause == 0) qp.SequenceNak(1000);
    if (cause == 1) qp.Expire();
    if (cause == 2) {
      qp.RnrNak(1000);
      EXPECT_EQ(qp.Timers().size(), 1u);
      qp.Expire();
      epoch = 2;
    }
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(epoch, 0, 1000, 1000, 1000), qp.Again(epoch, 1, 1001, 1001, 1002)}));
    qp.Responses(1001, 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Responses(1002, 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(epoch, 2, 1003, 1003, 1003), qp.Resume(epoch)}));
  }
}

TEST(Completer, ReadThatLeavesInAPauseStartsNothing) {
  OneQp qp(1000, kReader);
  qp.PostRead(1);
  qp.Post(1);
  qp.PostFence(1);
  EXPECT_EQ(qp.Replays(), Replays{});
  qp.RnrNak(1000, 1);  // of the READ, which no peer should send
  EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 1, 2));
  qp.Response(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), Replays{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1001, 1001, 1001), qp.Again(2, 2, 1002, 1002, 1002), qp.Resume(2)}));
}

TEST(Completer, ErrClearAndFailureEndAStall) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kReader);
    qp.PostRead(1);
    qp.PostRead(1);
    qp.PostFence(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    if (cause == 0) qp.SetState(kQp, IbQpState::kErr);
    if (cause == 1) qp.SetState(kQp, IbQpState::kReset, true);
    if (cause == 2) qp.Response(1000, 5, IbWcStatus::kLocProtErr);
    EXPECT_EQ(qp.Statuses(), cause == 0   ? Statuses(3, kFlush)
                             : cause == 1 ? Statuses{}
                                          : (Statuses{IbWcStatus::kLocProtErr, kFlush, kFlush}));
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
    // Set up again it starts from nothing, but the number continues.
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.completed = qp.posted;
    qp.PostRead(1);
    qp.PostFence(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(qp.next_psn - 2);
    EXPECT_EQ(qp.Replays().size(), 2u);
    EXPECT_EQ(qp.Ended(), Counts{3});
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  }
}

TEST(Completer, EndedReadCountWrapsAndIsNeverReset) {
  OneQp qp(1000, kReader);
  uint8_t ended = 0;
  for (int i = 0; i < 300; ++i) {
    Counts expected{++ended};
    if (i % 50 == 20) {  // flushed
      qp.PostRead(1);
      qp.PostRead(2);
      expected.push_back(++ended);
      qp.SetState(kQp, IbQpState::kErr);
    } else if (i % 50 == 40) {  // discarded, one on arrival
      qp.PostRead(1);
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.SetState(kQp, IbQpState::kReset, true);
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.PostRead(1);
      expected.push_back(++ended);
    } else if (i % 50 == 45) {  // came with a status
      spec::SendRecord read = qp.Read(0);
      read.status = IbWcStatus::kLocQpOpErr;
      qp.record.tokens.push_back(read);
      qp.SetState(kQp, IbQpState::kErr);  // the requester has reported it
    } else {
      qp.PostRead(1);
      qp.Post(1);
      qp.Response(qp.next_psn - 2);
      qp.Ack(qp.next_psn - 1);
    }
    EXPECT_EQ(qp.Ended(), expected);
    if (i % 5 == 0) {
      qp.SetState(kQp, IbQpState::kReset, true);
      qp.SetState(kQp, IbQpState::kRts);
    }
  }
  EXPECT_LT(ended, 100);  // 312 modulo 256
}

TEST(Completer, AmendmentDoesNotCountAsARead) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.Post(1);
  spec::SendRecord amendment{.qpn = kQp,
                             .opcode = spec::IbWcOpcode::kRdmaRead,
                             .status = IbWcStatus::kLocQpOpErr,
                             .vendor_err = 3,
                             .replaces = true};
  qp.record.tokens.push_back(amendment);  // of the newest, which stays a READ
  EXPECT_EQ(qp.Ended(), Counts{});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
  EXPECT_EQ(qp.Ended(), Counts{1});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, ReadThatFailsInAReplayCompletesInOrder) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.PostRead(1);
  qp.record.tokens.push_back({.qpn = kQp,
                              .opcode = spec::IbWcOpcode::kRdmaRead,
                              .status = IbWcStatus::kLocQpOpErr,
                              .vendor_err = 9,
                              .first_psn = 1002,
                              .replaces = true,
                              .is_replay = true,
                              .slot = 1});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
  EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
  EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
}

// No more than 2^23 PSNs are outstanding, and half of it when the requester sends new work again. [IBTA vol. 1, 9.7.1]
TEST(Completer, ReplayWaitsUntilItsPsnsFit) {
  constexpr uint32_t kMost = 1U << 23;
  for (const uint32_t first : {0u, 1000u, 0x7f'ffffu, 0xff'fff0u}) {
    OneQp qp(first, kReader);
    qp.PostUnsentRead(kMost);
    qp.PostUnsentRead(3);
    qp.PostUnsent(1);
    const uint32_t second = first + kMost;
    EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, 0, first, first, second - 1)});
    qp.Response(first + 1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(first + 2);
    EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, 1, second, second, second + 2)});
    qp.Response(first + 3);
    EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, 2, second + 3, second + 3, second + 3)});
    // 2^22 + 1 are outstanding, then one less.
    qp.Response(second + 3 - kMost / 2 - 1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(second + 3 - kMost / 2);
    EXPECT_EQ(qp.Replays(), Replays{qp.Resume(0)});
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Response(second - 1);
    qp.Response(second + 2);
    qp.Ack(second + 3);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
  }
}

TEST(Completer, RecordsMayHaveMorePsnsThanThereAre) {
  constexpr uint32_t kMost = 1U << 23;
  constexpr uint32_t kFirst = 0xff'fff0;
  OneQp qp(kFirst, kReader);
  for (int i = 0; i < 7; ++i) qp.PostUnsentRead(kMost);
  qp.PostFailed(IbWcStatus::kLocProtErr, 4);  // it has no packets; nothing before it counts as sent
  for (uint32_t i = 0; i < 7; ++i) {
    const uint32_t first = kFirst + i * kMost, last = first + kMost - 1;
    EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, i, first, first, last)}) << i;
    // Outside of what was requested, on both sides.
    qp.Response(first - 1);
    qp.Response(last + 1);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Response(last - 1);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Response(last);
    EXPECT_EQ(qp.Statuses(), i == 6 ? (Statuses{kOk, IbWcStatus::kLocProtErr}) : Statuses{kOk}) << i;
  }
  EXPECT_EQ(qp.Ended().size(), 7u);
}

TEST(Completer, NakTimeoutErrAndClearEndTheWaitForPsns) {
  constexpr uint32_t kMost = 1U << 23;
  for (const char* const event : {"nak", "timeout", "err", "clear"}) {
    SCOPED_TRACE(event);
    OneQp qp(1000, kReader);
    qp.PostUnsentRead(kMost);
    qp.PostUnsentRead(2);
    EXPECT_EQ(qp.Replays().size(), 1u);
    qp.Timers();
    const std::string what = event;
    if (what == "nak") {
      qp.SequenceNak(1000);
    } else if (what == "timeout") {
      qp.sent.tokens.push_back({.qpn = kQp, .psn = 1000 + kMost - 1});
      ASSERT_EQ(qp.Run(10), "");
      // The first one does not count: the timer was set before.
      for (int i = 0; i < 2; ++i) {
        qp.expired.tokens.push_back({.qpn = kQp, .epoch = qp.timer.epoch});
        qp.Timers();
      }
    } else {
      qp.SetState(kQp, what == "err" ? IbQpState::kErr : IbQpState::kReset, what == "clear");
    }
    if (what == "nak" || what == "timeout") {
      EXPECT_EQ(qp.Replays(), Replays{qp.Again(1, 0, 1000, 1000, 1000 + kMost - 1)});
      qp.Response(1001);
      EXPECT_EQ(qp.Replays(), Replays{qp.Again(1, 1, 1000 + kMost, 1000 + kMost, 1001 + kMost)});
    } else {
      EXPECT_EQ(qp.Statuses(), what == "err" ? (Statuses{kFlush, kFlush}) : Statuses{});
      if (what == "clear") qp.completed += 2;
      qp.SetState(kQp, IbQpState::kReset, true);
      qp.SetState(kQp, IbQpState::kRts);
      ASSERT_EQ(qp.ApplyAck(), "");
      qp.Post(1);
      qp.Ack(qp.next_psn - 1);
      EXPECT_EQ(qp.Statuses(), Statuses{kOk});
      EXPECT_EQ(qp.Replays(), Replays{});
    }
  }
}

TEST(Completer, UnacknowledgedServicesCompleteWhenSent) {
  using spec::IbQpType;
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    OneQp qp(0xff'fffe, {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = type});
    qp.Post(3);
    qp.Post(1);
    qp.Post(2, false);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(0);  // the first message's last packet
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    // Nothing else counts.
    for (const uint8_t nak : {uint8_t{0x60}, uint8_t{0x62}, uint8_t{0x25}, uint8_t{0x40}}) qp.Ack(1, nak);
    qp.Response(1);
    qp.Response(1, kSequenceNak);
    qp.Response(1, kAck, IbWcStatus::kLocLenErr);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(1);
    qp.Ack(3);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_FALSE(qp.has_cqe);
    // It has no timer and is never retransmitted.
    EXPECT_EQ(qp.Timers(), Timers{});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_TRUE(qp.failure_sink.sent().empty());
    qp.PostFailed(IbWcStatus::kLocQpOpErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocQpOpErr});
  }
}

// The requester decides which later work is flushed. [IBTA vol. 1, 10.3.1.6]
TEST(Completer, UnacknowledgedServicesFailOneRecordAlone) {
  using spec::IbQpType;
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = type});
    qp.Post(2);
    qp.PostFailed(IbWcStatus::kLocProtErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});  // not before earlier records
    qp.SetState(kQp, IbQpState::kSqe);
    qp.PostFailed(kFlush, 0);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.ApplyAck(), "");
    qp.Post(1);
    qp.Ack(1001);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr, kFlush}));
    qp.Post(1);
    qp.Ack(1002);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(1003);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    // In SQE sent packets complete, too.
    qp.Post(1);
    qp.PostFailed(IbWcStatus::kLocQpOpErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.SetState(kQp, IbQpState::kSqe);
    EXPECT_EQ(qp.ApplyAck(), "");
    qp.Ack(1004);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, UcMessageThatFailsMidwayCompletesWithItsAmendment) {
  OneQp qp(1000,
           {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = spec::IbQpType::kUc});
  qp.Post(3);
  spec::SendRecord amendment = qp.made.back();
  amendment.replaces = true;
  amendment.status = IbWcStatus::kLocProtErr;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
  qp.PostFailed(kFlush, 0);
  qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

// The requester learns of it by the hold and by SQE. [IBTA vol. 1, 10.3.1.6]
TEST(Completer, UnreadablePacketFailsItsRecordAndTheRestFlushesUntilSqeEnds) {
  using spec::IbQpType;
  constexpr uint8_t kDma = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError);
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    OneQp qp(0xff'fffe, {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = type});
    const auto fail = [&qp](uint32_t psn) {
      qp.ack.tokens.push_back({.qpn = kQp, .psn = Psn(psn), .syndrome = kDma, .status = IbWcStatus::kLocQpOpErr});
    };
    qp.Post(1);
    qp.Post(3);
    qp.Post(2);
    qp.Ack(0xff'fffe);
    fail(0);  // the second packet of the second message
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr, kFlush}));
    EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token, (spec::QpFailure{.qpn = kQp,
                                                                .event_type = spec::RdmaEventType::kQpFatal,
                                                                .code = kDma,
                                                                .send_only = true,
                                                                .reported = true}));
    EXPECT_EQ(qp.Holds(), Holds{1});
    // The rest of these messages.
    qp.Ack(1);
    fail(2);
    qp.Ack(3);
    // Work requests that the requester processed before it knew, with and without a packet that is sent, and in SQE.
    qp.Post(1);
    qp.PostUnsent(1);
    EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, kFlush}));
    qp.SetState(kQp, IbQpState::kSqe);
    qp.PostFailed(kFlush, 0);
    EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.ApplyAck(), "");
    const auto post = [&qp](bool recovers, uint8_t epoch) {
      spec::SendRecord record = qp.Record(2);
      record.unsent = true;
      record.recovers = recovers;
      record.epoch = epoch;
      qp.record.tokens.push_back(record);
    };
    // Not yet: before SQE, and since an earlier SQE.
    post(false, 0);
    post(true, 0);
    EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, kFlush}));
    EXPECT_EQ(qp.Replays(), Replays{});
    const uint32_t psn = qp.next_psn;
    post(true, 1);
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 8, psn, psn, psn + 1), qp.Resume(1)}));
    // What still comes of messages before has no effect.
    qp.Ack(psn - 1);
    fail(psn - 1);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(psn + 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Timers(), Timers{});
  }
}

TEST(Completer, UcBrokenQueueFlushesTheRest) {
  OneQp qp(1000,
           {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = spec::IbQpType::kUc});
  spec::SendRecord no_completion = qp.Record(0);
  no_completion.no_completion = true;
  no_completion.status = kFlush;
  qp.record.tokens.push_back(no_completion);
  ++qp.completed;
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
}

TEST(Completer, ReadsMeetDocumentedLatencies) {
  OneQp qp(1000, kReader);
  qp.PostRead(1);
  qp.PostFence(1);
  ASSERT_EQ(qp.ApplyAck(), "");
  const auto completions = qp.completion.count;
  qp.Response(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToCompletion), "");
  EXPECT_EQ(qp.completion.count, completions);
  EXPECT_EQ(qp.reads.sent.size(), 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, completions + 1);
  EXPECT_EQ(qp.reads.sent.size(), 1u);
  ASSERT_EQ(qp.Run(Completer::kReadsToReplay - 1), "");
  EXPECT_EQ(qp.replay.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.replay.count, 1u);
}

TEST(Completer, OnePacketReadTakesAtMostTwelveCycles) {
  OneQp qp(1000, kReader);
  Cycle busy = 0;
  for (uint32_t i = 0; i < 400; i += 4) {
    for (uint32_t k = 0; k < 4; ++k) qp.PostRead(1);
    for (uint32_t k = 0; k < 4; ++k) qp.Response(1000 + i + k);
    ASSERT_EQ(qp.Run(1), "");
    while (qp.p.idle_o == 0 || !qp.ack.IsEmpty()) {
      ASSERT_EQ(qp.Run(1), "");
      ++busy;
    }
  }
  EXPECT_EQ(qp.completion.count, 400u);
  EXPECT_LE(busy, 400u * 12);
}

// --- Responses on their way to memory

// One QP whose completions are taken while it is not idle.
struct Reader : OneQp {
  Reader() : OneQp(1000, kReader) {}
  size_t Completed(uint64_t cycles) {
    EXPECT_EQ(Run(cycles), "");
    return completion.count;
  }
};

// The responder may be in the turn of a response, which it has accepted in the state of before.
TEST(Completer, FlushedReadWaitsForTheResponderAndForPlacesOnTheirWay) {
  Reader qp;
  qp.reception.to_begin = 5;
  qp.PostRead(4);
  qp.Post(1);
  EXPECT_EQ(qp.Completed(20), 0u);
  qp.reception.is_settled = false;
  EXPECT_EQ(qp.Completed(5), 0u);
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Completed(100), 0u);
  qp.reception.to_begin = 1;  // of that turn
  qp.reception.is_settled = true;
  EXPECT_EQ(qp.Completed(20), 0u);
  qp.reception.to_begin = 7;  // of later turns: nobody waits for them
  EXPECT_EQ(qp.Completed(20), 0u);
  qp.reception.to_end = 5;
  EXPECT_EQ(qp.Completed(40), 0u);
  qp.reception.to_end = 1;
  EXPECT_EQ(qp.Completed(20), 2u);
  EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, kFlush}));
  // Later ones have nothing to wait for.
  qp.reception.is_settled = false;
  qp.PostRead(2);
  EXPECT_EQ(qp.Completed(20), 3u);
  // The next instance.
  qp.reception.is_settled = true;
  qp.reception.to_end = 7;
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
}

// Before the QP is in ERR the responder accepts responses to a READ that has ended here.
TEST(Completer, FailedReadWaitsForTheStateErr) {
  Reader qp;
  qp.failure.on_token = {};
  qp.PostRead(4);
  qp.Post(1);
  qp.Ack(1000, static_cast<uint8_t>(AethSyndrome::kNakRemoteOperationalError));
  EXPECT_EQ(qp.Completed(200), 0u);
  EXPECT_EQ(qp.failure.count, 1u);
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Completed(40), 2u);
  EXPECT_EQ(qp.Statuses(), (Statuses{IbWcStatus::kRemOpErr, kFlush}));
}

TEST(Completer, ReadThatIsClearedWaitsForNothing) {
  Reader qp;
  qp.reception.to_begin = 1;
  qp.PostRead(4);
  EXPECT_EQ(qp.Completed(20), 0u);
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Completed(40), 0u);
  qp.SetState(kQp, IbQpState::kReset, true);
  EXPECT_EQ(qp.Completed(40), 0u);
  EXPECT_EQ(qp.retired.count, 1u);
  qp.reception.to_end = 1;
  EXPECT_EQ(qp.Statuses(), Statuses{});
  // A READ of the next instance is accepted again.
  qp.SetState(kQp, IbQpState::kRts);
  EXPECT_EQ(qp.ApplyAck(), "");
  qp.PostRead(1);
  EXPECT_EQ(qp.Completed(20), 0u);
  qp.reception.is_settled = false;
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Completed(100), 0u);
  qp.reception.is_settled = true;
  EXPECT_EQ(qp.Completed(40), 1u);
}

// Queue pairs that end one after the other do not defer each other.
TEST(Completer, FenceOfResponsesIsNotDeferredByOthers) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < kConfig.num_qps; ++qpn) {
    bench.SetCq(qpn, kCq, kReader);
    bench.SetState(qpn, IbQpState::kRts);
  }
  ASSERT_EQ(bench.ApplyAck(), "");
  for (uint32_t qpn = 0; qpn < kConfig.num_qps; ++qpn) {
    bench.record.tokens.push_back(
        {.qpn = qpn, .opcode = spec::IbWcOpcode::kRdmaRead, .signaled = true, .last_psn = 3, .first_psn = 0});
  }
  ASSERT_EQ(bench.Run(100), "");
  // A place is always in progress, another one than before.
  bench.reception.to_begin = 1;
  for (uint32_t qpn = 0; qpn < kConfig.num_qps; ++qpn) {
    bench.SetState(qpn, IbQpState::kErr);
    for (int i = 0; i < 3; ++i) {
      bench.reception.to_begin = 1;
      ASSERT_EQ(bench.Run(6), "");
      bench.reception.to_end = 1;
      ASSERT_EQ(bench.Run(6), "");
    }
    EXPECT_GE(bench.completion.count + 2, qpn + 1) << "no more than two epochs late";
  }
}

}  // namespace
}  // namespace vireo::verif
