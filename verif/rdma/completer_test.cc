// SPDX-License-Identifier: Apache-2.0
// The completer: acknowledges and states against records, rule by rule.
#include <gtest/gtest.h>

#include "verif/rdma/completer_bench.h"

namespace vireo::verif {
namespace {

TEST(Completer, AcknowledgeCompletesEveryCoveredRecord) {
  OneQp qp;
  for (const uint32_t packets : {1u, 3u, 1u, 2u}) qp.Post(packets);  // 1000, 1001 to 1003, 1004, 1005 and 1006
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1002);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Ack(1005);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  EXPECT_TRUE(qp.has_cqe);
  qp.Ack(1006);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.retired_sink.sent().size(), 4u);
  for (const auto& sent : qp.retired_sink.sent()) EXPECT_EQ(sent.token.vq_index, kFirstQueue + 2 * kQp);
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, AcknowledgesOutsideTheOutstandingRangeAreIgnored) {
  for (const uint32_t start : {1000u, 0xff'fffeu, 0u, 0x80'0000u}) {
    OneQp qp(start);
    qp.Ack(start);  // before anything is outstanding
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Post(2);
    qp.Post(3);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    const auto nak = static_cast<uint8_t>(AethSyndrome::kNakInvalidRequest);
    for (const uint32_t psn : {start - 1, start + 5, start + 0x80'0000, start - 0x80'0000}) {
      qp.Ack(psn);
      qp.Ack(psn, nak);
    }
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(start + 2);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(start + 2, nak);  // acknowledged already
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});
  }
}

TEST(Completer, UnsignaledRecordHasACqeOnlyOnFailure) {
  OneQp qp;
  qp.Post(1, false);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_FALSE(qp.has_cqe);
  qp.Post(1, false);
  qp.Ack(1001, static_cast<uint8_t>(AethSyndrome::kNakRemoteAccessError));
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kRemAccessErr});
  EXPECT_TRUE(qp.has_cqe);
}

TEST(Completer, QpWithBadParityCompletesNothing) {
  for (const uint32_t bit : {0u, 38u, 1000u}) {
    OneQp qp(1000, kMostRetries);
    qp.Post(2);
    qp.Post(1);
    qp.Send();
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.timer_set_sink.sent().clear();
    qp.contexts.Flip(spec::ContextRam::kCompleterQp, kQp, bit);
    ASSERT_EQ(qp.Run(3), "");
    auto& errors = qp.contexts.errors;
    EXPECT_TRUE(errors.empty());
    // Acknowledges have no effect.
    const Cycle offered = qp.bench.cycle();
    qp.Ack(1001);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    ASSERT_EQ(qp.Run(2), "");  // the pulse
    EXPECT_EQ(errors, std::vector<Cycle>{offered + 3});
    qp.SequenceNak(1000);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_TRUE(qp.replay_sink.sent().empty());
    EXPECT_TRUE(qp.timer_set_sink.sent().empty());
    // Nothing is flushed.
    qp.SetState(kQp, IbQpState::kErr);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_TRUE(qp.retired_sink.sent().empty());
    ASSERT_EQ(qp.Run(2), "");
    EXPECT_EQ(errors.size(), 3u);
    // A record and those before it are discarded.
    qp.Post(1);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.retired_sink.sent().size(), 3u);
    EXPECT_TRUE(qp.failure_sink.sent().empty());
    ASSERT_EQ(qp.Run(2), "");
    EXPECT_EQ(errors.size(), 4u);
    errors.clear();
    // A QP that is cleared does not need it.
    qp.SetState(kQp, IbQpState::kReset, true);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    ASSERT_EQ(qp.Run(2), "");
    EXPECT_TRUE(errors.empty());
    qp.completed += 3;
    qp.SetCq(kQp, kCq, kMostRetries);
    qp.SetState(kQp, IbQpState::kRts);
    qp.Post(2);
    qp.Ack(qp.next_psn - 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_TRUE(errors.empty());
  }
}

TEST(Completer, NakCompletesEarlierRecordsFailsOneAndFlushesTheRest) {
  const auto syndrome = [](AethSyndrome value) { return static_cast<uint8_t>(value); };
  struct Case {
    uint8_t syndrome;
    IbWcStatus status;
    spec::RdmaError code;
  };
  for (const Case& c : {
           Case{syndrome(AethSyndrome::kNakPsnSequenceError), IbWcStatus::kRetryExcErr,
                spec::RdmaError::kRetryExceeded},
           Case{syndrome(AethSyndrome::kNakInvalidRequest), IbWcStatus::kRemInvReqErr,
                spec::RdmaError::kRemoteInvalidRequest},
           Case{syndrome(AethSyndrome::kNakRemoteAccessError), IbWcStatus::kRemAccessErr,
                spec::RdmaError::kRemoteAccessError},
           Case{syndrome(AethSyndrome::kNakRemoteOperationalError), IbWcStatus::kRemOpErr,
                spec::RdmaError::kRemoteOperationalError},
           Case{syndrome(AethSyndrome::kNakInvalidRdRequest), IbWcStatus::kBadRespErr, spec::RdmaError::kBadResponse},
           Case{0x7f, IbWcStatus::kBadRespErr, spec::RdmaError::kBadResponse},  // reserved NAK code
           Case{0x40, IbWcStatus::kBadRespErr, spec::RdmaError::kBadResponse},  // reserved kind
           Case{syndrome(AethSyndrome::kRnrNak), IbWcStatus::kRnrRetryExcErr, spec::RdmaError::kRnrRetryExceeded},
           Case{0x3f, IbWcStatus::kRnrRetryExcErr, spec::RdmaError::kRnrRetryExceeded},
       }) {
    OneQp qp(0xff'fffd);
    for (int i = 0; i < 4; ++i) qp.Post(2);
    qp.Ack(0xff'ffff + 1, c.syndrome);  // in the middle of the second
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, c.status, kFlush, kFlush}));
    ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token, (spec::QpFailure{.qpn = kQp,
                                                                .event_type = spec::RdmaEventType::kQpFatal,
                                                                .code = static_cast<uint32_t>(c.code),
                                                                .reported = true}));
    // Failed before qp_control broadcasts it: later records flush, acknowledges are ignored.
    qp.Post(1);
    EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
    qp.Ack(qp.next_psn - 1);
    qp.SetState(kQp, IbQpState::kErr);
    qp.Post(1);
    EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
    EXPECT_EQ(qp.retired_sink.sent().size(), 6u);
    // Set up again.
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.next_psn = 77;
    qp.Post(1);
    qp.Ack(77);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  }
}

// A QP that flushes without end alternates with all others.
TEST(Completer, FlushingRecordsAlternateWithAcknowledgesTimeoutsAndReplays) {
  constexpr uint32_t kFlooder = 3;
  OneQp qp(1000, kMostRetries);
  qp.SetState(kFlooder, IbQpState::kErr);
  for (int i = 0; i < 8; ++i) qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  const auto flood = [&](int count) {
    for (int i = 0; i < count; ++i) {
      qp.record.tokens.push_back({.qpn = kFlooder, .status = kFlush, .last_psn = Psn(0U - 1), .first_psn = 0});
    }
  };
  flood(400);
  qp.completion.rate = 4;
  std::vector<bool> flushes;
  qp.completion.on_token = [&](Cycle, const spec::Completion& token) {
    flushes.push_back(token.vq_index == qp.first_queue + 2 * kFlooder);
  };
  ASSERT_EQ(qp.Run(100), "");
  for (uint32_t i = 0; i < 4; ++i) qp.Ack(1000 + i);
  while (!qp.ack.IsEmpty()) ASSERT_EQ(qp.Run(1), "");
  ASSERT_EQ(qp.Run(100), "");
  const auto first = std::find(flushes.begin(), flushes.end(), false);
  ASSERT_GE(flushes.end() - first, 8);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(first[i], i % 2 != 0) << i;
  // A replay of all, with its resume, and a timeout that starts another one.
  qp.SequenceNak(1004);
  ASSERT_EQ(qp.Run(800), "");
  ASSERT_EQ(qp.replay_sink.sent().size(), 5U);
  EXPECT_TRUE(qp.replay_sink.sent().back().token.resume);
  qp.Send();
  ASSERT_EQ(qp.Run(20), "");
  for (int i = 0; i < 2; ++i) {
    qp.expired.tokens.push_back({.qpn = kQp, .epoch = qp.timer_set_sink.sent().back().token.epoch});
    ASSERT_EQ(qp.Run(150), "");
  }
  EXPECT_EQ(qp.LastHold(), 2);
  EXPECT_FALSE(qp.record.IsEmpty()) << "the flood went on all the time";
  qp.completion.rate = 16;
  ASSERT_EQ(qp.ApplyAck(), "");
}

// A record that waits behind one that flushes is processed before the acknowledge of its packets.
TEST(Completer, AcknowledgeDoesNotOvertakeTheRecordOfItsQp) {
  constexpr uint32_t kFlooder = 3;
  for (int before = 0; before < 4; ++before) {
    OneQp qp;
    qp.SetState(kFlooder, IbQpState::kErr);
    ASSERT_EQ(qp.ApplyAck(), "");
    uint64_t completed = 0;
    qp.completion.on_token = [&](Cycle, const spec::Completion& token) {
      completed += token.vq_index == qp.first_queue + 2 * kQp ? 1 : 0;
    };
    const auto flood = [&](int count) {
      for (int i = 0; i < count; ++i) {
        qp.record.tokens.push_back({.qpn = kFlooder, .status = kFlush, .last_psn = Psn(0U - 1), .first_psn = 0});
      }
    };
    for (uint32_t i = 0; i < 50; ++i) {
      flood(before + 1);
      qp.Post(1);
      flood(3);
      // In the cycle after the record was taken its packet may have been answered.
      const uint64_t accepted = qp.record.accepted;
      while (qp.record.accepted < accepted + before + 2) ASSERT_EQ(qp.Run(1), "");
      qp.Ack(1000 + i);
      ASSERT_EQ(qp.Run(60), "");
      EXPECT_EQ(completed, i + 1);
    }
  }
}

TEST(Completer, VendorErrorOfANakIsItsSyndrome) {
  OneQp qp;
  qp.Post(1);
  qp.Ack(1000, static_cast<uint8_t>(AethSyndrome::kNakInvalidRequest));
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kRemInvReqErr});
  EXPECT_EQ(qp.vendor_err, static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest));
}

TEST(Completer, FailedRecordCompletesInOrderAndTheRestFlushes) {
  OneQp qp;
  qp.Post(2);
  qp.PostFailed(IbWcStatus::kLocQpOpErr, 51);
  qp.PostFailed(kFlush, 0);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr, kFlush}));
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  EXPECT_TRUE(qp.failure_sink.sent().empty());  // the requester reports it
}

TEST(Completer, FailedOldestRecordCompletesAtOnce) {
  OneQp qp;
  qp.PostFailed(IbWcStatus::kLocProtErr, 19);
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
  EXPECT_EQ(qp.vendor_err, 19u);
}

TEST(Completer, FailedRecordKeepsItsStatusWhenTheQpFlushes) {
  OneQp qp;
  qp.Post(2);
  qp.PostFailed(IbWcStatus::kLocQpOpErr, 51);
  qp.PostFailed(kFlush, 0);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, IbWcStatus::kLocQpOpErr, kFlush}));
}

TEST(Completer, AmendmentReplacesTheNewestRecord) {
  OneQp qp;
  qp.Post(1);
  spec::SendRecord record = qp.Record(5);
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  record.replaces = true;
  record.status = IbWcStatus::kLocProtErr;
  record.vendor_err = 19;
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr}));
  EXPECT_EQ(qp.vendor_err, 19u);
  EXPECT_EQ(qp.retired_sink.sent().size(), 2u);
}

TEST(Completer, AmendmentOfAFlushedRecordIsIgnored) {
  OneQp qp;
  spec::SendRecord record = qp.Record(5);
  qp.record.tokens.push_back(record);
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  record.replaces = true;
  record.status = IbWcStatus::kLocProtErr;
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 1u);
}

TEST(Completer, SilentRecordLeavesWithoutCompletion) {
  OneQp qp;
  qp.Post(1);
  spec::SendRecord no_completion = qp.Record(0);
  no_completion.status = kFlush;
  no_completion.no_completion = true;
  qp.record.tokens.push_back(no_completion);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.retired_sink.sent().size(), 2u);
  qp.completed = 2;
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
}

TEST(Completer, ErrFlushesInOrder) {
  OneQp qp;
  for (int i = 0; i < 8; ++i) qp.Post(2);
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), Statuses(7, kFlush));
}

TEST(Completer, ClearDiscardsRecordsWithoutCompletion) {
  OneQp qp;
  for (int i = 0; i < 8; ++i) qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kReset, true);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 8u);
  qp.Post(1);  // left over from before
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 9u);
}

TEST(Completer, DrainingQpStillCompletes) {
  OneQp qp;
  qp.Post(1);
  qp.SetState(kQp, IbQpState::kSqd);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(Completer, AcknowledgeForANonexistentQpIsIgnored) {
  OneQp qp;
  qp.Post(1);
  qp.ack.tokens.push_back({.qpn = kQp + 16, .psn = 1000, .syndrome = 0x1f});
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, QueueMappingFollowsTheAcceptedNetQueuePairs) {
  OneQp qp;
  for (const bool mq : {false, true, false}) {
    qp.SetMq(mq);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.retired_sink.sent().clear();
    qp.Post(1);
    qp.Ack(qp.next_psn - 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});  // checks the completion's queue
    ASSERT_EQ(qp.retired_sink.sent().size(), 1u);
    EXPECT_EQ(qp.retired_sink.sent()[0].token.vq_index, 2 * (mq ? 3 : 1) + 16 + 1 + 2 * kQp);
  }
}

// --- The fence: the device may still read the memory of a work request

// Work requests that end when their packet is read.
struct SlowQp : OneQp {
  explicit SlowQp(const Retries& retries = {}) : OneQp(1000, retries) { fence.is_automatic = false; }
  void Issue(bool work = true, bool replay = false) {
    fence.ends.push_back({.issued = true, .work = work, .replay = replay});
  }
  // So many CQEs by now.
  std::vector<IbWcStatus> Now(Cycle cycles = 100) {
    EXPECT_EQ(Run(cycles), "");
    std::vector<IbWcStatus> statuses;
    for (const auto& sent : completion_sink.sent()) {
      statuses.push_back(spec::RdmaCqReq::Decode(sent.token.cqe).status);
    }
    EXPECT_EQ(retired_sink.sent().size(), statuses.size());
    return statuses;
  }
};

TEST(Completer, AcknowledgedRecordWaitsForItsOwnReadOnly) {
  SlowQp qp;
  for (int i = 0; i < 3; ++i) {
    qp.Post(1);
    qp.Issue();
  }
  qp.Ack(1002);
  EXPECT_EQ(qp.Now(), Statuses{});
  EXPECT_FALSE(qp.block.IsIdle());
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), Statuses{kOk});
  qp.fence.reads += 2;
  EXPECT_EQ(qp.Now(), (Statuses{kOk, kOk, kOk}));
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
}

TEST(Completer, OtherQpsPassARecordThatIsRead) {
  SlowQp qp;
  qp.Bench::SetState(1, IbQpState::kRts);
  ASSERT_EQ(qp.Run(20), "");
  spec::SendRecord other = qp.Record(1);
  other.qpn = 1;
  qp.record.tokens.push_back(other);
  qp.fence.ends.push_back({.issued = true, .work = true});
  ++qp.fence.reads;
  qp.Post(1);
  qp.Issue();
  qp.Ack(1001);
  EXPECT_EQ(qp.Now(), Statuses{});
  qp.ack.tokens.push_back({.qpn = 1, .psn = 1000, .syndrome = kAck});
  EXPECT_EQ(qp.Now(), Statuses{kOk});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), (Statuses{kOk, kOk}));
}

TEST(Completer, FlushWaitsForReads) {
  SlowQp qp;
  qp.Post(1);
  qp.Issue();
  qp.PostUnsent(1);  // nothing of it is read but by its replay, and the order is kept
  qp.PostFailed(kFlush, 0);
  ASSERT_EQ(qp.Run(100), "");
  qp.fence.ends.push_back({.replay = true});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), (Statuses{kFlush, kFlush, kFlush}));
}

TEST(Completer, FailureIsReportedBeforeItsCompletionIfThatIsRead) {
  SlowQp qp;
  qp.Post(1);
  qp.Issue();
  qp.Post(1);
  qp.Issue();
  qp.Ack(1000, static_cast<uint8_t>(AethSyndrome::kNakRemoteAccessError));
  EXPECT_EQ(qp.Now(), Statuses{});
  EXPECT_EQ(qp.failure_sink.sent().size(), 1U);
  qp.fence.reads += 2;
  EXPECT_EQ(qp.Now(), (Statuses{IbWcStatus::kRemAccessErr, kFlush}));
  EXPECT_EQ(qp.failure_sink.sent().size(), 1U);
}

// One work request was sent and read, and the peer requests it again.
void PostAndNak(SlowQp& qp) {
  qp.Post(1);
  qp.Issue();
  ++qp.fence.reads;
  ASSERT_EQ(qp.Run(20), "");
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
}

TEST(Completer, AcknowledgeDuringAReplayWaitsForItsEnd) {
  SlowQp qp(kMostRetries);
  ASSERT_NO_FATAL_FAILURE(PostAndNak(qp));
  ASSERT_EQ(qp.Replays().size(), 2U);  // and the resume
  qp.Ack(1000);
  EXPECT_EQ(qp.Now(), Statuses{});
  qp.Issue(false, true);
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), Statuses{kOk});
}

// Also one without packets, which is older than a packet that is not read.
TEST(Completer, ReplayWithoutPacketsEndsInItsTurn) {
  SlowQp qp(kMostRetries);
  ASSERT_NO_FATAL_FAILURE(PostAndNak(qp));
  qp.Ack(1000);
  qp.fence.ends.push_back({.issued = true});  // another QP's
  qp.fence.ends.push_back({.replay = true});
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), Statuses{kOk});
}

// A replay that is read again is passed by one of another QP: its record waits nevertheless.
TEST(Completer, AcknowledgeDuringAReplayWaitsForItAlthoughAnotherPassesIt) {
  SlowQp qp(kMostRetries);
  ASSERT_NO_FATAL_FAILURE(PostAndNak(qp));
  qp.SetCq(1, kCq, kMostRetries);
  qp.Bench::SetState(1, IbQpState::kRts);
  ASSERT_EQ(qp.Run(20), "");
  spec::SendRecord other = qp.Record(1);
  other.qpn = 1;
  other.unsent = true;
  qp.record.tokens.push_back(other);
  ASSERT_EQ(qp.Run(50), "");
  ASSERT_EQ(qp.Replays().size(), 4U);  // and two resumes
  qp.fence.ends.push_back({.issued = true, .replay = true, .serial = 2});
  ++qp.fence.reads;
  qp.Ack(1000);
  EXPECT_EQ(qp.Now(), Statuses{});
  qp.fence.ends.push_back({.issued = true, .replay = true, .serial = 1});
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), Statuses{kOk});
  // That other one was read long ago.
  qp.ack.tokens.push_back({.qpn = 1, .psn = 1001, .syndrome = kAck});
  EXPECT_EQ(qp.Now(), (Statuses{kOk, kOk}));
}

// Their room returns when nothing of them is in progress any more: before, the QP's number is not free.
TEST(Completer, ClearDiscardsRecordsThatAreRead) {
  SlowQp qp;
  for (int i = 0; i < 4; ++i) {
    qp.Post(1);
    qp.Issue();
  }
  qp.Ack(1001);
  EXPECT_EQ(qp.Now(), Statuses{});
  qp.SetState(kQp, IbQpState::kReset, true);
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.retired_sink.sent().size(), 0U);
  EXPECT_FALSE(qp.block.IsIdle());
  qp.fence.reads += 3;
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.retired_sink.sent().size(), 3U);
  ++qp.fence.reads;
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.retired_sink.sent().size(), 4U);
  EXPECT_TRUE(qp.completion_sink.sent().empty());
  EXPECT_TRUE(qp.block.IsIdle());
  // The QP's next life does not depend on it.
  qp.SetState(kQp, IbQpState::kRts);
  ASSERT_EQ(qp.Run(20), "");
  qp.retired_sink.sent().clear();
  qp.Post(1);
  qp.Issue();
  qp.Ack(1004);
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  EXPECT_EQ(qp.Now(), Statuses{kOk});
}

// Numbers are 10 bits: one from long ago may wait for others, but not forever.
TEST(Completer, NumbersOfWorkRequestsWrap) {
  SlowQp qp;
  qp.Post(1);
  qp.Issue();
  ++qp.fence.reads;
  ASSERT_EQ(qp.Run(20), "");
  // Of another QP that completes nothing, in RESET; the last ones, as many as fit into its ring, are not read.
  for (int i = 0; i < 1028; ++i) {
    spec::SendRecord other = qp.Record(1);
    other.qpn = 2;
    qp.record.tokens.push_back(other);
    qp.Issue();
    if (i < 1022) ++qp.fence.reads;
    ASSERT_EQ(qp.Run(20), "");
  }
  qp.retired_sink.sent().clear();
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.completion_sink.sent().size(), 0U);
  qp.fence.reads += 6;
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.completion_sink.sent().size(), 1U);
}

TEST(Completer, MeetsLatencyFromTheEndOfARead) {
  SlowQp qp;
  qp.Post(1);
  qp.Issue();
  qp.Ack(1000);
  EXPECT_EQ(qp.Now(), Statuses{});
  ++qp.fence.reads;
  ASSERT_EQ(qp.Run(Completer::kEndedToCompletion), "");
  EXPECT_EQ(qp.completion.count, 0U);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 1U);
}

void PostLocal(OneQp& qp) {
  spec::SendRecord local = qp.Record(0);
  local.opcode = spec::IbWcOpcode::kLocalInv;
  local.is_local = true;
  qp.record.tokens.push_back(local);
}

// Accesses of both sides, of the generation in which it comes.
TEST(Completer, LocalInvalidateWaitsForWhatWasGrantedBefore) {
  for (const bool sent : {false, true}) {
    OneQp qp;
    qp.key_fence.rate = 0;
    auto& fence = qp.key_fence.state;
    PostLocal(qp);
    ASSERT_EQ(qp.Run(100), "");
    EXPECT_EQ(qp.completion.count, 0U) << "both generations go on";
    for (uint8_t* const number : {&fence.sent, &fence.received}) {
      *number = static_cast<uint8_t>((*number + 1) % spec::kKeyGenerations);
    }
    fence.sent_open = sent;
    fence.received_open = !sent;
    ASSERT_EQ(qp.Run(100), "");
    EXPECT_EQ(qp.completion.count, 0U) << "one has not ended";
    fence.sent_open = fence.received_open = false;
    ASSERT_EQ(qp.Run(20), "");
    EXPECT_EQ(qp.completion.count, 1U);
    EXPECT_EQ(qp.retired.count, 1U);
  }
}

// It has no packets: an acknowledge of those around it completes it in its order, and no replay asks for it.
TEST(Completer, LocalInvalidateIsInOrderAndNotReplayed) {
  OneQp qp(1000, {.retry_cnt = 7});
  qp.Post(1);
  PostLocal(qp);
  qp.Post(1);
  ASSERT_EQ(qp.Run(100), "");
  EXPECT_EQ(qp.completion.count, 0U);
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(300), "");
  const auto& replays = qp.replay_sink.sent();
  ASSERT_EQ(replays.size(), 3U);
  EXPECT_EQ(replays[0].token.psn, 1000U);
  EXPECT_EQ(replays[1].token.psn, 1001U);
  EXPECT_EQ(replays[1].token.slot, replays[0].token.slot + 2);
  EXPECT_TRUE(replays[2].token.resume);
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(400), "");
  EXPECT_EQ(qp.completion.count, 2U);
  qp.Ack(1001);
  ASSERT_EQ(qp.Run(400), "");
  EXPECT_EQ(qp.completion.count, 3U);
}

TEST(Completer, MeetsDocumentedLatencies) {
  OneQp qp;
  qp.Post(1);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToCompletion), "");
  EXPECT_EQ(qp.completion.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 1u);
  EXPECT_EQ(qp.retired.count, 1u);
  ASSERT_EQ(qp.ApplyAck(), "");

  qp.Post(1);
  ASSERT_EQ(qp.ApplyAck(), "");
  qp.SetState(kQp, IbQpState::kErr);
  ASSERT_EQ(qp.Run(Completer::kStateToCompletion), "");
  EXPECT_EQ(qp.completion.count, 1u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 2u);
  ASSERT_EQ(qp.ApplyAck(), "");

  qp.PostFailed(kFlush, 0);
  ASSERT_EQ(qp.Run(Completer::kFailedRecordToCompletion), "");
  EXPECT_EQ(qp.completion.count, 2u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 3u);
}

TEST(Completer, MessageWithOwnAcknowledgeTakesAtMostEightCycles) {
  OneQp qp;
  const Cycle start = qp.bench.cycle();
  for (uint32_t i = 0; i < 50; ++i) {
    for (uint32_t k = 0; k < 8; ++k) qp.Post(1);
    for (uint32_t k = 0; k < 8; ++k) qp.Ack(1000 + 8 * i + k);
    ASSERT_EQ(qp.ApplyAck(), "");
  }
  EXPECT_EQ(qp.completion.count, 400u);
  EXPECT_LE(qp.bench.cycle() - start, 400u * 8);
}

// An acknowledge that ends with a record looks at no other one, unless that may leave by itself.
TEST(Completer, RecordWithStatusLeavesWithTheAcknowledgeBeforeIt) {
  for (const bool amends : {false, true}) {
    OneQp qp;
    qp.Post(1);
    if (amends) {
      qp.Post(1);
      qp.record.tokens.push_back({.qpn = kQp, .status = kFlush, .replaces = true});
    } else {
      qp.PostFailed(kFlush, 1);
    }
    ASSERT_EQ(qp.ApplyAck(), "");
    const auto completions = qp.completion.count;
    qp.Ack(1000);
    ASSERT_EQ(qp.ApplyAck(), "");
    EXPECT_EQ(qp.completion.count, completions + 2) << amends;
  }
}

}  // namespace
}  // namespace vireo::verif
