// SPDX-License-Identifier: Apache-2.0
// The requester: holds, resumes and replays.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

// --- Retransmission

TEST(Requester, HeldQpSendsRecordsButNoPacketsUntilResume) {
  Bench bench;
  bench.qps[3].psn = 0xff'fffe;
  bench.SetUp(3);
  bench.SetUp(4);
  WorkRequest a{.head = 1}, b{.head = 2}, c{.head = 3}, other{.qpn = 4, .head = 4};
  a.sge.length = 2500;  // 3 packets
  b.SetList({{.addr = 0x1'0000, .length = 900, .lkey = 1}, {.addr = 0x2'0000, .length = 900, .lkey = 2}});
  bench.Post(a);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  bench.Post(b);
  bench.Post(other);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 4u);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.unsent);
  EXPECT_EQ(bench.record_sink.sent()[1].token.first_psn, 1u);
  EXPECT_EQ(bench.record_sink.sent()[1].token.last_psn, 2u);
  EXPECT_FALSE(bench.record_sink.sent()[2].token.unsent);
  // The first message from its second packet on, then the other.
  bench.Post(a, {.psn = 0xff'ffff, .first_psn = 0xff'fffe, .last_psn = 0});
  bench.Post(b, {.slot = 1, .psn = 1, .first_psn = 1, .last_psn = 2});
  bench.Post(c);          // not resumed: unsent
  bench.Resume(3, 1, 3);  // which the completer could not know
  bench.Post(c);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 4u + 2 + 3);
  EXPECT_EQ(bench.record.count, 5u);
  EXPECT_TRUE(bench.record_sink.sent()[4].token.unsent);
  bench.Post(c, {.psn = 3, .first_psn = 3, .last_psn = 3});
  bench.Post(c, {.psn = 4, .first_psn = 4, .last_psn = 4});
  bench.Resume(3, 1, 5);
  bench.Post(c);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent()[5].token.unsent);
  EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 5u);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, HoldEndsAMessageBetweenPacketsAndAReplaySendsTheRest) {
  for (const bool stalls : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    if (stalls) bench.Rates(16, 8, 8);
    WorkRequest request{.head = 1, .opcode = 3};
    request.SetList(
        {{.addr = 0x1'0000, .length = 100'000, .lkey = 1}, {.addr = 0x2'0000, .length = 156'000, .lkey = 2}});
    bench.Post(request);
    std::vector<spec::TxJob> expected = bench.reference.jobs;
    bench.reference.jobs.clear();
    ASSERT_EQ(bench.Run(200), "");
    bench.hold.tokens.push_back({.qpn = 3, .epoch = 1});
    ASSERT_EQ(bench.Settle(), "");
    const size_t sent = bench.job_sink.sent().size();
    ASSERT_GT(sent, 10u);
    ASSERT_LT(sent, 200u);
    for (size_t i = 0; i < sent; ++i) ASSERT_EQ(bench.job_sink.sent()[i].token, expected[i]);
    ASSERT_FALSE(bench.job_sink.sent().back().token.more);
    EXPECT_EQ(bench.record.count, 1u);
    bench.qps[3].held = true;
    bench.qps[3].epoch = 1;
    // From each of its elements, and from both at once.
    const uint32_t first = 1000, last = 1999;
    for (const uint32_t psn : {first, first + 390, first + 391, last}) {
      bench.job_sink.sent().clear();
      bench.reference.jobs.clear();
      bench.Post(request, {.psn = psn, .first_psn = first, .last_psn = last});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.job_sink.sent().front().token.packet.psn, psn);
      EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, last);
    }
    bench.Resume(3, 1, last + 1);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, last + 1);
  }
}

TEST(Requester, OnlyTheResumeOfTheLastHoldCounts) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1});
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 2));
  bench.Resume(3, 1, 1001);
  bench.Post({.head = 2});
  bench.Resume(3, 2, 1001);
  bench.Post({.head = 3});
  EXPECT_TRUE(bench.qps[3].held);
  bench.Resume(3, 2, 1003);
  bench.Post({.head = 4});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 2u);
  // Another resume changes nothing, and neither do replays when there is nothing to repeat.
  bench.Resume(3, 2, 1004);
  bench.Resume(3, 7, 1004);
  bench.Post({.head = 5});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 3u);
}

TEST(Requester, ReplayOfAnOlderHoldIsIgnored) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request{.head = 1};
  request.sge.length = 256 * 1000;
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 4));
  bench.Post(request, {.epoch = 3, .psn = 1000, .first_psn = 1000, .last_psn = 1999});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  // A new hold ends one in progress.
  bench.work.tokens.push_back(Replay{.epoch = 4, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Run(300), "");
  bench.hold.tokens.push_back({.qpn = 3, .epoch = 5});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_GT(bench.job.count, 1050u);
  EXPECT_LT(bench.job.count, 1200u);
  EXPECT_EQ(bench.record.count, 1u);
  // And so does ERR.
  bench.work.tokens.push_back(Replay{.epoch = 5, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Run(300), "");
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  ASSERT_EQ(bench.Settle(), "");
  const uint64_t jobs = bench.job.count;
  EXPECT_LT(jobs, 1400u);
  bench.work.tokens.push_back(Replay{.epoch = 5, .psn = 1000, .first_psn = 1000, .last_psn = 1999}.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, jobs);
  EXPECT_EQ(bench.record.count, 1u);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, BadReplayAmendsItsRecordAndLeavesTheQpAlive) {
  struct Case {
    const char* what;
    std::function<void(WorkRequest&, Replay&)> spoil;
    IbWcStatus status;
    RdmaError why;
  };
  const Case cases[] = {
      {"not read", [](WorkRequest& w, Replay&) { w.failed = RdmaError::kQueueDmaError; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kQueueDmaError},
      {"opcode", [](WorkRequest& w, Replay&) { w.opcode = 10; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"flags", [](WorkRequest& w, Replay&) { w.flags = 0x80; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"list", [](WorkRequest& w, Replay&) { w.num_sge = 5; }, IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"too long", [](WorkRequest& w, Replay&) { w.sge.length = 769; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"too short", [](WorkRequest& w, Replay&) { w.sge.length = 512; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"much too long", [](WorkRequest& w, Replay&) { w.sge.length = ~0u; }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"before", [](WorkRequest&, Replay& r) { --r.psn; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"behind", [](WorkRequest&, Replay& r) { r.psn += 3; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"key", [](WorkRequest& w, Replay&) { w.sge.lkey = 0xf0; }, IbWcStatus::kLocProtErr, RdmaError::kBadMrn},
      {"domain", [](WorkRequest& w, Replay&) { w.sge.lkey = 0xf1; }, IbWcStatus::kLocProtErr, RdmaError::kBadPdn},
      {"bounds on the way", [](WorkRequest& w, Replay&) { w.sge = {.addr = 0x1'01f0, .length = 700, .lkey = 0x80}; },
       IbWcStatus::kLocProtErr, RdmaError::kInvalidLength},
      {"in a packet",
       [](WorkRequest& w, Replay&) {
         w.SetList({{.addr = 0x1'0000, .length = 300, .lkey = 1}, {.addr = 0x1'0000, .length = 400, .lkey = 0xf2}});
       },
       IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .wr_id = 77};
    request.sge.length = 700;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 9));
    WorkRequest spoiled = request;
    Replay replay{.epoch = 9, .slot = 6, .psn = 1000, .first_psn = 1000, .last_psn = 1002};
    c.spoil(spoiled, replay);
    bench.Post(spoiled, replay);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.record.count, 2u);
    const spec::SendRecord& record = bench.record_sink.sent()[1].token;
    EXPECT_TRUE(record.replaces && record.is_replay);
    EXPECT_FALSE(record.no_completion || record.unsent);
    EXPECT_EQ(record.slot, 6u);
    EXPECT_EQ(record.first_psn, 1000u);
    EXPECT_EQ(record.status, c.status);
    EXPECT_EQ(record.vendor_err, static_cast<uint32_t>(c.why));
    EXPECT_EQ(bench.failure.count, 0u);  // the completer reports it
    bench.Post(request, {.epoch = 9, .slot = 6, .psn = 1001, .first_psn = 1000, .last_psn = 1002});
    bench.Resume(3, 9, 1003);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 1003u);
  }
}

TEST(Requester, BadWorkRequestOfAHeldQpFailsAtOnce) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1});
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  bench.Post({.head = 2, .opcode = 10});
  bench.Post({.head = 3});
  bench.Post({.head = 1}, {.psn = 1000, .first_psn = 1000, .last_psn = 1000});  // of a dead QP
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 1u);
  EXPECT_EQ(bench.failure.count, 1u);
}

TEST(Requester, LoadEndsEveryHold) {
  for (const uint8_t epoch : {uint8_t{1}, uint8_t{2}, uint8_t{255}}) {
    Bench bench;
    bench.SetUp(3);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, epoch));
    bench.Post({.head = 1});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    bench.SetUp(3);
    bench.Post({.head = 2});
    // Of the previous lifetime.
    bench.work.tokens.push_back(Replay{.epoch = epoch, .psn = 5, .first_psn = 5, .last_psn = 5}.Token(WorkRequest{}));
    bench.work.tokens.push_back(ResumeToken(3, epoch, 1002, bench.reference.made[3]));
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2u);
    // The same number identifies another hold.
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, epoch));
    bench.Post({.head = 4});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2u);
  }
}

TEST(Requester, HoldGenerationWraps) {
  Bench bench;
  bench.SetUp(3);
  for (int i = 1; i <= 300; ++i) {
    const auto epoch = static_cast<uint8_t>(i);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, epoch));
    const uint32_t psn = bench.qps[3].psn;
    bench.Post({.head = 1});
    bench.Resume(3, static_cast<uint8_t>(epoch - 1), Psn(psn + 1));
    ASSERT_TRUE(bench.qps[3].held);
    bench.Post({.head = 1}, {.epoch = epoch, .psn = psn, .first_psn = psn, .last_psn = psn});
    bench.Resume(3, epoch, Psn(psn + 1));
    bench.Post({.head = 2});
  }
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 600u);
}

TEST(Requester, HoldMeetsDocumentedLatency) {
  // The decision about the record is in the cycle before it is visible.
  for (const Cycle before : {Requester::kHoldToDecision - 1, Requester::kHoldToDecision}) {
    Bench bench;
    bench.SetUp(3);
    bench.place.rate = 0;
    bench.work.tokens.push_back(WorkRequest{}.Token());
    ASSERT_EQ(bench.Run(20), "");
    bench.place.rate = 16;
    const Cycle decision = Requester::kPlaceToRecord - 1;
    ASSERT_EQ(bench.Run(decision - before), "");
    bench.hold.tokens.push_back({.qpn = 3, .epoch = 1});
    ASSERT_EQ(bench.Settle(), "");
    ASSERT_EQ(bench.record.count, 1u);
    EXPECT_EQ(bench.record_sink.sent()[0].token.unsent, before == Requester::kHoldToDecision);
    EXPECT_EQ(bench.job.count, before == Requester::kHoldToDecision ? 0u : 1u);
  }
}

TEST(Requester, ListsAndReplaysMeetDocumentedLatencies) {
  for (const uint32_t elements : {2u, 5u, 6u, 7u}) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    bench.fetched.rate = 0;
    WorkRequest request;
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.Keep(request);
    bench.work.tokens.push_back(request.Token());
    ASSERT_EQ(bench.Run(Requester::kWorkRequestToFetch), "");
    EXPECT_EQ(bench.fetch.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.fetch.count, 1u);
    ASSERT_EQ(bench.Run(10), "");
    // All but the last answer, and that when they are read.
    const uint32_t in_last = (elements - 2) % 4 + 1;
    bench.fetched.rate = 16;
    if (elements > 5) {
      const spec::DmaFetched last = bench.fetched.tokens.back();
      bench.fetched.tokens.pop_back();
      ASSERT_EQ(bench.Run(20), "");
      bench.fetched.tokens.push_back(last);
    }
    ASSERT_EQ(bench.Run(Requester::FetchedToCheck(in_last)), "");
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.check.count, 1u);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.job.count, elements);

    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    bench.work.tokens.push_back(Replay{.psn = 7, .first_psn = 7, .last_psn = 7}.Token(WorkRequest{}));
    bench.check.count = 0;
    ASSERT_EQ(bench.Run(Requester::kReplayToCheck), "");
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.check.count, 1u);
  }
}

TEST(Requester, RunOfAListTakesThreeCycles) {
  Bench bench;
  bench.qps[3].max_send_sge = 7;
  bench.SetUp(3);
  for (uint16_t i = 0; i < 50; ++i) {
    WorkRequest request{.head = i};
    request.SetList(std::vector<spec::RdmaSge>(7, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.Keep(request);
    bench.work.tokens.push_back(request.Token());
  }
  const Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 350u);
  // 3 for each run; the list's read overlaps the runs of the previous one.
  EXPECT_LE(bench.bench.cycle() - start, 50u * 7 * 3 + 50);
}

}  // namespace
}  // namespace vireo::verif
