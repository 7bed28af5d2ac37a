// SPDX-License-Identifier: Apache-2.0
// The requester: UC and UD, and SQE, which exists only for them.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

// --- UC, UD

TEST(Requester, UcMessageThatFailsMidwayEndsAsOnRc) {
  Bench bench;
  bench.qps[3].type = IbQpType::kUc;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request{.head = 2, .opcode = 2};
  request.SetList({{.addr = 0x1'0000, .length = 600, .lkey = 1}, {.addr = 0x1'0000, .length = 100, .lkey = 0xf2}});
  bench.Post(request);
  bench.Post({.head = 3});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.failure.count, 1U);
  EXPECT_TRUE(bench.job_sink.sent().back().token.drop);
  ASSERT_EQ(bench.record.count, 3U);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.replaces);
  for (const auto& [cycle, job] : bench.job_sink.sent()) EXPECT_FALSE(job.packet.reports && !job.more && !job.drop);
}

// --- SQE -------------------------------------------------------------------------------------------------------------

constexpr IbQpType kSendOnly[] = {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi};

struct SqeBench : Bench {
  explicit SqeBench(IbQpType type, IbQpState state = IbQpState::kRts) {
    qps[3].type = type;
    qps[3].mtu = IbMtu::kMtu256;
    qps[3].state = state;
    SetUp(3);
    SetHandle(3, true, 9);
  }
  WorkRequest Work(uint16_t head) const { return {.head = head, .opcode = 2, .is_datagram = qps[3].IsUd()}; }
  WorkRequest Bad(uint16_t head) const {
    WorkRequest work = Work(head);
    work.sge.lkey = 0xf1;
    return work;
  }
  // As many records as work requests, except amendments.
  std::vector<IbWcStatus> Statuses() {
    std::vector<IbWcStatus> statuses;
    for (const auto& sent : record_sink.sent()) statuses.push_back(sent.token.status);
    return statuses;
  }
};

using Statuses = std::vector<IbWcStatus>;
constexpr auto kOk = IbWcStatus::kSuccess;
constexpr auto kFlush = IbWcStatus::kWrFlushErr;
constexpr auto kProt = IbWcStatus::kLocProtErr;

TEST(RequesterSqe, FailureStopsTheSendHalfAndFlushesUntilRtsReturns) {
  for (const IbQpType type : kSendOnly) {
    for (const IbQpState from : {IbQpState::kRts, IbQpState::kSqd}) {
      SqeBench bench(type, from);
      bench.Post(bench.Work(1));
      bench.Post(bench.Bad(2));
      bench.Post(bench.Work(3));
      ASSERT_EQ(bench.Settle(), "");
      bench.Post(bench.Work(4));  // the state is in flight
      bench.SetState(3, IbQpState::kSqe);
      bench.Post(bench.Work(5));
      bench.Post(bench.Bad(6));
      bench.SetState(3, IbQpState::kRts);
      bench.Post(bench.Work(7));
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.Statuses(), (Statuses{kOk, kProt, kFlush, kFlush, kFlush, kFlush, kOk}));
      EXPECT_EQ(bench.job.count, 2U);
      ASSERT_EQ(bench.failure.count, 1U);
      EXPECT_TRUE(bench.failure_sink.sent()[0].token.send_only);
      // Once more.
      bench.Post(bench.Bad(8));
      bench.Post(bench.Work(9));
      bench.SetState(3, IbQpState::kSqe);
      bench.SetState(3, IbQpState::kRts);
      bench.Post(bench.Work(10));
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.failure.count, 2U);
      EXPECT_EQ(bench.job.count, 3U);
    }
  }
}

// A failure that the completer has found comes as a hold and SQE. The first record after SQE tells which hold was seen.
TEST(RequesterSqe, FirstRecordAfterSqeNamesTheLastHold) {
  for (const IbQpType type : kSendOnly) {
    SqeBench bench(type);
    bench.Post(bench.Work(1));
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    bench.Hold(3, 7);
    bench.Post(bench.Work(2));  // the state is in flight
    bench.SetState(3, IbQpState::kSqe);
    bench.Post(bench.Work(3));
    bench.SetState(3, IbQpState::kRts);
    bench.Post(bench.Work(4));
    bench.Post(bench.Work(5));
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.Statuses(), (Statuses{kOk, kOk, kFlush, kOk, kOk}));
    EXPECT_EQ(bench.job.count, 1U);
    const auto& records = bench.record_sink.sent();
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(records[i].token.recovers, i == 3) << i;
      EXPECT_EQ(records[i].token.epoch, i == 3 ? 7 : 0) << i;
      EXPECT_EQ(records[i].token.unsent, i == 1 || i >= 3) << i;
    }
  }
}

TEST(RequesterSqe, FailureBeforeTheFirstPacketTakesNoPsn) {
  SqeBench bench(IbQpType::kUc);
  bench.Post(bench.Work(1));
  WorkRequest bad = bench.Work(2);
  bad.flags = 0xf0;
  bench.Post(bad);
  bench.SetState(3, IbQpState::kSqe);
  bench.Post(bench.Work(3));
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_EQ(bench.job.count, 2U);
  EXPECT_EQ(bench.job_sink.sent()[1].token.packet.psn, bench.job_sink.sent()[0].token.packet.psn + 1);
}

TEST(RequesterSqe, RtsBeforeSqeDoesNotReviveTheQp) {
  SqeBench bench(IbQpType::kUc, IbQpState::kSqd);
  bench.Post(bench.Bad(1));
  bench.SetState(3, IbQpState::kRts);  // the end of SQD, ordered before the failure was known
  bench.Post(bench.Work(2));
  bench.SetState(3, IbQpState::kSqe);
  bench.Post(bench.Work(3));
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush, kFlush, kOk}));
}

// Records do not leave: SQE starts and ends while a long message waits behind the one that failed. Its front half has
// been cut short in SQE, so it must not be sent.
TEST(RequesterSqe, MessageCutBeforeTheEndOfSqeFlushes) {
  for (const Cycle before : {Cycle{0}, Cycle{20}, Cycle{40}, Cycle{60}}) {
    SqeBench bench(IbQpType::kUc);
    bench.record.rate = 0;
    const WorkRequest work = bench.Work(0);
    bench.work.tokens.push_back(work.Token());  // takes the register
    bench.work.tokens.push_back(bench.Bad(1).Token());
    WorkRequest big = bench.Work(2);
    big.sge.length = 256 * 40;
    bench.work.tokens.push_back(big.Token());
    bench.work.tokens.push_back(bench.Work(3).Token());
    ASSERT_EQ(bench.Run(before), "");
    bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kSqe});
    ASSERT_EQ(bench.Run(30), "");
    bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kRts});
    ASSERT_EQ(bench.Run(30), "");
    bench.record.rate = 16;
    ASSERT_EQ(bench.Settle(), "");
    bench.work.tokens.push_back(bench.Work(4).Token());
    ASSERT_EQ(bench.Settle(), "");
    // Every message is one record, and one that succeeds has all of its packets.
    uint64_t jobs = 0;
    std::map<uint16_t, IbWcStatus> last;
    for (const auto& sent : bench.record_sink.sent()) {
      last[sent.token.head] = sent.token.status;
      if (sent.token.status == kOk) jobs += Psn(sent.token.last_psn - sent.token.first_psn) + 1;
    }
    EXPECT_EQ(last.size(), 5U);
    EXPECT_EQ(bench.job.count, jobs);
    if (before >= 20) {
      EXPECT_EQ(last.at(1), kProt);
      EXPECT_EQ(last.at(2), kFlush);
    }
  }
}

// The same as a realistic case: the key check of the message that waits takes longer than the way to SQE and back.
TEST(RequesterSqe, MessageWhoseKeyCheckOutlivesSqeFlushes) {
  SqeBench bench(IbQpType::kUc);
  bench.place.rate = 0;
  WorkRequest big = bench.Work(2);
  big.sge.length = 256 * 40;
  for (const WorkRequest& work : {bench.Work(0), bench.Bad(1), big, bench.Work(3)}) {
    bench.work.tokens.push_back(work.Token());
  }
  ASSERT_EQ(bench.Run(80), "");
  bench.place.rate = 16;
  for (const size_t waiting = bench.place.tokens.size(); bench.place.tokens.size() + 2 != waiting;) {
    ASSERT_GT(waiting, 2U);
    ASSERT_EQ(bench.Run(1), "");
  }
  bench.place.rate = 0;
  ASSERT_EQ(bench.Run(30), "");
  ASSERT_EQ(bench.failure.count, 1U);
  for (const IbQpState state : {IbQpState::kSqe, IbQpState::kRts}) {
    bench.state.tokens.push_back({.qpn = 3, .state = state});
    ASSERT_EQ(bench.Run(30), "");
  }
  bench.place.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  bench.work.tokens.push_back(bench.Work(4).Token());
  ASSERT_EQ(bench.Settle(), "");
  // The one behind it is checked when it has left the queue between front and back, in RTS again.
  EXPECT_EQ(bench.Statuses(), (Statuses{kOk, kProt, kFlush, kOk, kOk}));
  EXPECT_EQ(bench.job.count, 3U);
}

TEST(RequesterSqe, BrokenQueueIsPermanent) {
  SqeBench bench(IbQpType::kUd);
  bench.Post(bench.Bad(1));
  WorkRequest no_completion = bench.Work(2);
  no_completion.failed = RdmaError::kBadWqe;
  bench.Post(no_completion);
  bench.SetState(3, IbQpState::kSqe);
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(3));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush, kFlush}));
  bench.SetUp(3);
  bench.Post(bench.Work(4));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 1U);
}

TEST(RequesterSqe, OnRcOnlyALoadRevivesAQp) {
  SqeBench bench(IbQpType::kRc);
  bench.Post(bench.Bad(1));
  bench.SetState(3, IbQpState::kSqe);  // never occurs in practice
  bench.SetState(3, IbQpState::kRts);
  bench.Post(bench.Work(2));
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kFlush}));
  EXPECT_FALSE(bench.failure_sink.sent().at(0).token.send_only);
}

// The table's write port belongs to the pulse, one cycle after it.
TEST(RequesterSqe, SqeInAnyCycleOfACheckIsNotLost) {
  for (Cycle shift = 0; shift < 12; ++shift) {
    SqeBench bench(IbQpType::kUc);
    bench.qps[4] = bench.qps[3];
    bench.SetUp(4);
    bench.Post(bench.Bad(1));
    bench.SetState(3, IbQpState::kSqe);
    bench.SetState(3, IbQpState::kRts);
    WorkRequest other = bench.Bad(2);
    other.qpn = 4;
    bench.Post(other);
    ASSERT_EQ(bench.Settle(), "");
    bench.Post(bench.Work(3));
    ASSERT_EQ(bench.Run(shift), "");
    bench.state.tokens.push_back({.qpn = 4, .state = IbQpState::kSqe});
    bench.qps[4].was_sqe = true;
    ASSERT_EQ(bench.Settle(), "");
    bench.SetState(4, IbQpState::kRts);
    other = bench.Work(4);
    other.qpn = 4;
    bench.Post(other);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.Statuses(), (Statuses{kProt, kProt, kOk, kOk}));
  }
}

TEST(Requester, DatagramCarriesItsDestinationAndSource) {
  for (const IbQpType type : {IbQpType::kUd, IbQpType::kGsi}) {
    for (const uint32_t length : {0U, 1U, 1023U, 1024U}) {
      Bench bench;
      bench.qps[1].type = type;
      bench.qps[1].psn = 0xff'ffff;
      bench.SetUp(1);
      for (uint32_t ah = 0; ah < 16; ++ah) bench.SetHandle(ah, ah % 5 != 4, 9);
      for (const uint32_t qkey : {0U, 0x7fff'ffffU, 0x8000'0000U, 0xffff'ffffU}) {
        WorkRequest request{.qpn = 1,
                            .head = 7,
                            .opcode = 3,
                            .flags = IbSendFlags::kFence,  // ignored
                            .is_datagram = true,
                            .remote_qpn = 0xff00'0000 + qkey % 1000,  // 24 bits count
                            .remote_qkey = qkey,
                            .ah = 15};
        request.sge.length = length;
        bench.Post(request);
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        const spec::TxPacket& packet = bench.job_sink.sent().back().token.packet;
        EXPECT_TRUE(packet.has_ah && packet.reports);
        EXPECT_EQ(packet.ah, 15);
        EXPECT_EQ(packet.dest_qpn, qkey % 1000);
        const auto deth = spec::Deth::Decode(packet.extension);
        EXPECT_EQ(deth.qkey, qkey >= 0x8000'0000 ? 0xaabb'ccdd : qkey);
        EXPECT_EQ(deth.source_qp, 1U);
      }
      EXPECT_EQ(bench.qps[1].psn, 3U);  // one each
      EXPECT_EQ(bench.failure.count, 0U);
      // A handle that is removed.
      bench.SetHandle(15, false, 9);
      bench.Post({.qpn = 1, .opcode = 2, .is_datagram = true, .ah = 15});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.record_sink.sent().back().token.vendor_err, static_cast<uint32_t>(RdmaError::kBadAh));
    }
  }
}

TEST(Requester, DatagramOfAListIsOnePacket) {
  for (const uint32_t last : {0U, 23U, 24U, 25U}) {
    Bench bench;
    bench.qps[3].type = IbQpType::kUd;
    bench.SetUp(3);
    bench.SetHandle(3, true, 9);
    WorkRequest request{.head = 2, .opcode = 2, .is_datagram = true};
    request.SetList({{.addr = 0x1'0000, .length = 600, .lkey = 1},
                     {.addr = 0x2'0000, .length = 400, .lkey = 2},
                     {.addr = 0x3'0000, .length = last, .lkey = 3}});
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.failure.count, last == 25 ? 1U : 0U);
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, last == 25 ? IbWcStatus::kLocLenErr : IbWcStatus::kSuccess);
  }
}

TEST(Requester, InlineDataWorksOnEveryService) {
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    Bench bench;
    bench.qps[3].type = type;
    bench.qps[3].mtu = IbMtu::kMtu512;
    bench.SetUp(3);
    bench.SetHandle(3, true, 9);
    for (const uint32_t length : {0U, 1U, 512U}) {
      WorkRequest request{.head = 2, .opcode = 3, .is_datagram = bench.qps[3].IsUd()};
      request.SetInline(length);
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0U);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

}  // namespace
}  // namespace vireo::verif
