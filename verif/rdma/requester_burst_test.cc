// SPDX-License-Identifier: Apache-2.0
// The requester: messages longer than a burst yield to others.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/rdma/transport.h"
#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

// The completer's report of a part of a message that starts.
spec::SendRecord PartOf(const spec::SendRecord& record, const Replay& replay) {
  spec::SendRecord part = record;
  part.replaces = part.is_replay = true;
  part.unsent = false;
  part.slot = replay.slot;
  part.packets = replay.packets;
  part.epoch = replay.epoch;
  return part;
}

TEST(RequesterBurst, MessageLongerThanABurstYieldsAndReplaysSendTheRest) {
  for (const IbQpType type : {IbQpType::kRc, IbQpType::kUc}) {
    for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu1024, IbMtu::kMtu4096}) {
      for (const uint32_t length : {4095u, 4096u, 4097u, 8192u, 8193u, 20'000u}) {
        SCOPED_TRACE(length);
        BurstBench bench;
        bench.qps[3] = {.type = type, .mtu = mtu, .psn = 0xff'fffb};
        bench.SetUp(3);
        bench.SetUp(4);
        const uint32_t burst = BurstBench::kBurstBytes / bench.qps[3].Mtu();
        const bool is_long = length > BurstBench::kBurstBytes;
        WorkRequest request{.head = 1, .opcode = 3};
        request.SetList(
            {{.addr = 0x1'0000, .length = 3000, .lkey = 1}, {.addr = 0x2'0000, .length = length - 3000, .lkey = 2}});
        bench.Keep(request);
        const WorkRequest other{.qpn = 4, .head = 2};
        const WorkRequest behind{.head = 3};
        for (const auto& each : {request, behind, other}) bench.work.tokens.push_back(each.Token());
        ASSERT_EQ(bench.Settle(), "");

        const uint32_t first = bench.qps[3].psn;
        const uint32_t packets = bench.qps[3].Packets(length);
        const uint32_t last = Psn(first + packets - 1);
        std::vector<spec::SendRecord> records;
        for (const auto& sent : bench.record_sink.sent()) records.push_back(sent.token);
        ASSERT_EQ(records.size(), 3u);
        EXPECT_EQ(records[0].packets, is_long ? burst : 0);
        EXPECT_EQ(records[0].first_psn, first);
        EXPECT_EQ(records[0].last_psn, last);
        EXPECT_FALSE(records[0].unsent || records[0].replaces);
        EXPECT_EQ(records[1].first_psn, Psn(last + 1));
        EXPECT_EQ(records[1].unsent, is_long);
        EXPECT_FALSE(records[2].unsent);
        bench.record_sink.sent().clear();

        // The output equals that of an uncut message, except for other packets in between, and acknowledge requests at
        // each end.
        std::vector<spec::TxJob> expected;
        const auto add = [&](uint32_t from, uint32_t to) {
          for (uint32_t i = from; i < to; ++i) {
            for (auto& job : PacketOf(bench.qps[3], request, first, i).jobs) {
              if (i + 1 == to) job.packet.ack_req = type == IbQpType::kRc;
              expected.push_back(job);
            }
          }
        };
        add(0, std::min(burst, packets));
        if (!is_long) expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 1), 0).jobs.front());
        expected.push_back(PacketOf(bench.qps[4], other, bench.qps[4].psn, 0).jobs.front());
        for (uint32_t from = burst; from < packets; from += burst) {
          const bool goes_on = packets - from > burst;
          const Replay replay{.epoch = 0,
                              .slot = 5,
                              .psn = Psn(first + from),
                              .first_psn = first,
                              .last_psn = last,
                              .packets = static_cast<uint16_t>(goes_on ? burst : 0),
                              .first_transmission = true};
          bench.work.tokens.push_back(replay.Token(request));
          ASSERT_EQ(bench.Settle(), "");
          add(from, std::min(from + burst, packets));
          ASSERT_EQ(bench.record_sink.sent().size(), goes_on ? 1u : 0u);
          if (goes_on) {
            const auto& part = bench.record_sink.sent().front().token;
            EXPECT_EQ(part, PartOf(records[0], replay)) << TokenText(part);
            bench.record_sink.sent().clear();
          }
        }
        EXPECT_EQ(bench.resent, 0u);
        if (is_long) {
          bench.work.tokens.push_back(
              Replay{.epoch = 0, .psn = Psn(last + 1), .first_psn = Psn(last + 1), .last_psn = Psn(last + 1)}.Token(
                  behind));
          expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 1), 0).jobs.front());
        }
        bench.work.tokens.push_back(ResumeToken(3, 0, Psn(last + 2), 2));
        bench.work.tokens.push_back(behind.Token());
        expected.push_back(PacketOf(bench.qps[3], behind, Psn(last + 2), 0).jobs.front());
        ASSERT_EQ(bench.Settle(), "");
        EXPECT_EQ(bench.resent, is_long ? 1u : 0u);
        ASSERT_EQ(bench.job_sink.sent().size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto& job = bench.job_sink.sent()[i].token;
          ASSERT_EQ(job, expected[i]) << i << ": " << TokenText(job) << "\n" << TokenText(expected[i]);
        }
        EXPECT_EQ(bench.failure.count, 0u);
      }
    }
  }
}

// Go-back-N to both sides of a burst's end, in a message of which two bursts have left.
TEST(RequesterBurst, ReplayStartsAtAnyPacketAndEndsAfterItsPart) {
  for (const uint32_t from : {0u, 1u, 14u, 15u, 16u, 17u, 31u, 32u, 33u, 62u, 63u, 64u}) {
    SCOPED_TRACE(from);
    BurstBench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .opcode = 0};
    request.sge.length = 64 * 256 + 1;
    bench.work.tokens.push_back(request.Token());
    const uint32_t first = 1000, last = 1064;
    Replay replay{.epoch = 0, .slot = 1, .psn = first + 16, .first_psn = first, .last_psn = last, .packets = 16};
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.job.count, 32u);
    const spec::SendRecord record = bench.record_sink.sent().front().token;
    bench.record_sink.sent().clear();
    bench.job_sink.sent().clear();
    bench.hold.tokens.push_back({.qpn = 3, .epoch = 1});
    ASSERT_EQ(bench.Run(8), "");
    // The next part, requested before the hold: neither it nor its start is reported.
    replay.psn = first + 32;
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_TRUE(bench.job_sink.sent().empty());
    EXPECT_TRUE(bench.record_sink.sent().empty());

    const bool goes_on = from + 16 < 65;
    replay.epoch = 1;
    replay.psn = first + from;
    replay.packets = goes_on ? 16 : 0;
    bench.work.tokens.push_back(replay.Token(request));
    ASSERT_EQ(bench.Settle(), "");
    const uint32_t count = std::min(16u, 65 - from);
    ASSERT_EQ(bench.job_sink.sent().size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      auto expected = PacketOf(bench.qps[3], request, first, from + i).jobs.front();
      expected.packet.ack_req |= i + 1 == count;
      expected.packet.epoch = replay.epoch;  // of the hold before it
      ASSERT_EQ(bench.job_sink.sent()[i].token, expected);
    }
    ASSERT_EQ(bench.record_sink.sent().size(), goes_on ? 1u : 0u);
    if (goes_on) {
      EXPECT_EQ(bench.record_sink.sent().front().token, PartOf(record, replay));
    }
    EXPECT_EQ(bench.resent, 16 + count);
  }
}

TEST(RequesterBurst, LongMessageHeldFromTheStartHasNoParts) {
  BurstBench bench;
  bench.SetUp(3);
  bench.hold.tokens.push_back({.qpn = 3, .epoch = 1});
  ASSERT_EQ(bench.Run(8), "");
  WorkRequest request;
  request.sge.length = 100'000;
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 1u);
  EXPECT_TRUE(bench.record_sink.sent()[0].token.unsent);
  EXPECT_EQ(bench.record_sink.sent()[0].token.packets, 0);
  EXPECT_EQ(bench.job.count, 0u);
}

TEST(RequesterBurst, LongMessageThatFailsInAPartReportsOnlyThat) {
  BurstBench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request;
  // Its first burst is there; of the second, one element.
  request.SetList({{.addr = 0x2'0000, .length = 5000, .lkey = 1}, {.addr = 0x3'0000, .length = 10'000, .lkey = 0xf0}});
  bench.Keep(request);
  bench.work.tokens.push_back(request.Token());
  Replay replay{.epoch = 0, .slot = 1, .psn = 1016, .first_psn = 1000, .last_psn = 1058, .packets = 16};
  bench.work.tokens.push_back(replay.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 3u);
  EXPECT_EQ(bench.record_sink.sent()[1].token, PartOf(bench.record_sink.sent()[0].token, replay));
  const spec::SendRecord& failed = bench.record_sink.sent()[2].token;
  EXPECT_TRUE(failed.replaces && failed.is_replay);
  EXPECT_EQ(failed.status, IbWcStatus::kLocProtErr);
  EXPECT_EQ(failed.packets, 0);
  EXPECT_EQ(bench.failure.count, 0u);  // which the completer reports
  EXPECT_TRUE(bench.job_sink.sent().back().token.drop);
  // From its first packet on: nothing has started.
  replay.psn = 1032;
  bench.work.tokens.push_back(replay.Token(request));
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 4u);
  EXPECT_EQ(bench.record_sink.sent()[3].token.status, IbWcStatus::kLocProtErr);
}

// Behind a message of 2 GiB of another QP.
TEST(RequesterBurst, ShortMessageWaitsForOneBurstOfAnotherQp) {
  BurstBench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  bench.SetUp(4);
  WorkRequest request;
  request.sge.length = model::kMaxMessageBytes;
  bench.work.tokens.push_back(request.Token());
  bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
  ASSERT_EQ(bench.Run(2), "");
  const Cycle begin = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  constexpr uint32_t kBurst = BurstBench::kBurstBytes / 256;
  ASSERT_EQ(bench.job.count, kBurst + 1);
  const auto& job = bench.job_sink.sent().back();
  EXPECT_EQ(job.token.packet.qpn, 4u);
  // Three cycles for each packet of the burst, and for each message its own once.
  EXPECT_LE(job.cycle - begin, 3 * kBurst + 2 * (Requester::kWorkRequestToCheck + Requester::kPlaceToJob));
}

}  // namespace
}  // namespace vireo::verif
