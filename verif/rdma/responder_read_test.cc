// SPDX-License-Identifier: Apache-2.0
// The responder: READ responses, and incoming READs.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

TEST(ResponderRead, ResponseFillsTheReadsElementsBeforeItsAcknowledge) {
  Reader bench;
  bench.Read(kReadPsn, 100, {Host::Element(0x9001, 100)});
  const auto only = ResponseOf(kReadPsn, At::kOnly, 100);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9001, 100)));
  // It is complete: duplicates are dropped, and the peer's own requests continued meanwhile.
  bench.Expect(only, kDropped);
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.ExpectFailures({});
}

TEST(ResponderRead, MultiPacketResponseFillsTheElementsInOrder) {
  Reader bench;
  bench.Read(kReadPsn, 3 * kMtu + 5,
             {Host::Element(0, 0, kBadLkey), Host::Element(0x1000, 10), Host::Element(0x3000, 2 * kMtu - 10),
              Host::Element(0x7001, 5000)});
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu, 0x03, 5);
  bench.Expect(first,
               {Scatter(first, 0, 0x1000, 10, kMore), Got(kReadPsn, Scatter(first, 10, 0x3000, kMtu - 10), 0x03, 5)});
  const auto second = ResponseOf(kReadPsn + 1, At::kMiddle, kMtu);
  bench.Expect(second, GotMiddle(kReadPsn + 1, Scatter(second, 0, 0x3000 + kMtu - 10, kMtu)));
  const auto third = ResponseOf(kReadPsn + 2, At::kMiddle, kMtu);
  bench.Expect(third, GotMiddle(kReadPsn + 2, Scatter(third, 0, 0x7001, kMtu)));
  const auto last = ResponseOf(kReadPsn + 3, At::kLast, 5);
  bench.Expect(last, Got(kReadPsn + 3, Scatter(last, 0, 0x7001 + kMtu, 5)));
  // Every element behind the first; only its list's first request is of a new one.
  ASSERT_EQ(bench.host.asked.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(bench.host.asked[i].is_element);
    EXPECT_EQ(bench.host.asked[i].elements, 3 - i);
    EXPECT_EQ(bench.host.asked[i].is_new, i == 0);
  }
}

TEST(ResponderRead, ListThatALaterResponseBeginsIsNew) {
  Reader bench;
  bench.Read(kReadPsn, 3 * kMtu,
             {Host::Element(0x9000, kMtu), Host::Element(0xb000, kMtu), Host::Element(0xd000, kMtu)});
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu, 0x03, 5);
  bench.Expect(first, Got(kReadPsn, Scatter(first, 0, 0x9000, kMtu), 0x03, 5));
  EXPECT_TRUE(bench.host.asked.empty());
  const auto second = ResponseOf(kReadPsn + 1, At::kMiddle, kMtu);
  bench.Expect(second, GotMiddle(kReadPsn + 1, Scatter(second, 0, 0xb000, kMtu)));
  const auto last = ResponseOf(kReadPsn + 2, At::kLast, kMtu);
  bench.Expect(last, Got(kReadPsn + 2, Scatter(last, 0, 0xd000, kMtu)));
  ASSERT_EQ(bench.host.asked.size(), 2u);
  EXPECT_TRUE(bench.host.asked[0].is_new);
  EXPECT_FALSE(bench.host.asked[1].is_new);
}

TEST(ResponderRead, ZeroByteReadHasOneResponseAndNeedsNoElement) {
  Reader bench;
  bench.Read(kReadPsn, 0, {});
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 0), Got(kReadPsn));
  bench.Read(kReadPsn + 1, 0, {Host::Element(0, 10, kBadLkey)});
  bench.Expect(ResponseOf(kReadPsn + 1, At::kOnly, 0), Got(kReadPsn + 1));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(ResponderRead, RetryMayStartAnywhereButTheMessageEndIsChecked) {
  Reader bench;
  bench.Read(kReadPsn, 4 * kMtu, {Host::Element(0x9000, 4 * kMtu)});
  // All as if each were the first one of a new response.
  for (uint32_t i = 0; i < 3; ++i) {
    const auto first = ResponseOf(kReadPsn + i, At::kFirst, kMtu);
    bench.Expect(first, Got(kReadPsn + i, Scatter(first, 0, 0x9000 + uint64_t{i} * kMtu, kMtu)));
  }
  const auto only = ResponseOf(kReadPsn + 3, At::kOnly, kMtu);
  bench.Expect(only, Got(kReadPsn + 3, Scatter(only, 0, 0x9000 + uint64_t{3} * kMtu, kMtu)));
}

TEST(ResponderRead, GapIsReportedWithTheMissingPsnAndLaterResponsesAreDropped) {
  Reader bench;
  bench.Read(kReadPsn, 3 * kMtu, {Host::Element(0x9000, 5000)});
  bench.Read(kReadPsn + 5, 10, {Host::Element(0x19000, 5000)});
  bench.Expect(ResponseOf(kReadPsn + 1, At::kMiddle, kMtu), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn + 5, At::kOnly, 10), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn + 0x7fffff, At::kMiddle, kMtu), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn - 1, At::kMiddle, kMtu), kDropped);
  bench.Expect(ResponseOf(kReadPsn + 0x800000, At::kMiddle, kMtu), kDropped);
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
  bench.Expect(first, Got(kReadPsn, Scatter(first, 0, 0x9000, kMtu)));
  bench.Expect(first, kDropped);
  bench.Expect(ResponseOf(kReadPsn + 2, At::kLast, kMtu), GapAt(kReadPsn + 1));
  const auto second = ResponseOf(kReadPsn + 1, At::kMiddle, kMtu);
  bench.Expect(second, GotMiddle(kReadPsn + 1, Scatter(second, 0, 0x9000 + kMtu, kMtu)));
  const auto last = ResponseOf(kReadPsn + 2, At::kLast, kMtu);
  bench.Expect(last, Got(kReadPsn + 2, Scatter(last, 0, 0x9000 + 2 * kMtu, kMtu)));
  // Now the next one is the oldest.
  bench.Expect(ResponseOf(kReadPsn + 6, At::kOnly, 10), GapAt(kReadPsn + 5));
  const auto only = ResponseOf(kReadPsn + 5, At::kOnly, 10);
  bench.Expect(only, Got(kReadPsn + 5, Scatter(only, 0, 0x19000, 10)));
  bench.Expect(ResponseOf(kReadPsn + 6, At::kOnly, 10), kDropped);
}

TEST(ResponderRead, MismatchedResponseEndsTheRead) {
  struct Bad {
    const char* name;
    RxToken token;
    RdmaError code = RdmaError::kInvalidLength;
  };
  const std::vector<Bad> cases = {
      {"shorter than the MTU", ResponseOf(kReadPsn, At::kFirst, kMtu - 1)},
      {"longer than the MTU", ResponseOf(kReadPsn, At::kFirst, kMtu + 1)},
      {"ends too early", ResponseOf(kReadPsn, At::kLast, kMtu)},
      {"ends too early, all at once", ResponseOf(kReadPsn, At::kOnly, kMtu)},
      {"nothing", ResponseOf(kReadPsn, At::kMiddle, 0)},
      {"NAK", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x60), RdmaError::kInvalidParameter},
      {"RNR NAK", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x20), RdmaError::kInvalidParameter},
      {"reserved", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x40), RdmaError::kInvalidParameter},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.name);
    Reader bench;
    bench.Read(kReadPsn, kMtu + 8, {Host::Element(0x9000, 5000)});
    bench.Expect(bad.token, ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, bad.code));
    EXPECT_EQ(bench.check.count, 0u);
    // No READ of the QP accepts responses any more; all else continues until the completer has reported.
    bench.Expect(ResponseOf(kReadPsn, At::kFirst, kMtu), kDropped);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
    // Until the load.
    bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
    bench.Read(77, 8, {Host::Element(0x9000, 8)});
    const auto only = ResponseOf(77, At::kOnly, 8);
    bench.Expect(only, Got(77, Scatter(only, 0, 0x9000, 8)));
  }
  // The last packet: not exactly the rest, or not at the end.
  for (const auto& token : {ResponseOf(kReadPsn + 1, At::kLast, 7), ResponseOf(kReadPsn + 1, At::kLast, 9),
                            ResponseOf(kReadPsn + 1, At::kMiddle, 8), ResponseOf(kReadPsn + 1, At::kMiddle, kMtu)}) {
    Reader bench;
    bench.Read(kReadPsn, kMtu + 8, {Host::Element(0x9000, 5000)});
    const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
    bench.Expect(first, Got(kReadPsn, Scatter(first, 0, 0x9000, kMtu)));
    bench.Expect(token, ReadFailed(kReadPsn + 1, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
}

TEST(ResponderRead, ShortForbiddenOrUnreadableElementsEndTheRead) {
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
  {
    Reader bench;
    bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, kMtu - 1)});
    bench.Expect(first, {Scatter(first, 0, 0x9000, kMtu - 1, kMore),
                         ReadFailed(kReadPsn, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength)});
    bench.Expect(ResponseOf(kReadPsn + 1, At::kLast, kMtu), kDropped);
    bench.ExpectFailures({});
  }
  {
    Reader bench;
    bench.Read(kReadPsn, 2 * kMtu, {});
    bench.Expect(first, ReadFailed(kReadPsn, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength));
  }
  const std::pair<MemoryStatus, RdmaError> refusals[] = {{MemoryStatus::kKey, RdmaError::kBadMrn},
                                                         {MemoryStatus::kPd, RdmaError::kBadPdn},
                                                         {MemoryStatus::kRights, RdmaError::kBadAccessFlags},
                                                         {MemoryStatus::kBounds, RdmaError::kInvalidLength}};
  for (const auto& [status, code] : refusals) {
    Reader bench;
    bench.check.on_token = [&, status = status](Cycle, const spec::MemoryCheck& asked) {
      EXPECT_TRUE(asked.local_write);
      bench.memory.tokens.push_back({.status = status});
    };
    bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, 5000)});
    bench.Expect(first, ReadFailed(kReadPsn, IbWcStatus::kLocProtErr, code));
    bench.Expect(first, kDropped);
  }
  Reader bench;
  bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, 8), Host::Element(0xa000, 5000)});
  bench.host.elements.clear();
  bench.Expect(first, {Scatter(first, 0, 0x9000, 8, kMore),
                       ReadFailed(kReadPsn, IbWcStatus::kLocQpOpErr, RdmaError::kQueueDmaError)});
  bench.Expect(first, kDropped);
}

TEST(ResponderRead, ResponsesWithoutAReadAreDropped) {
  Reader bench;
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
  bench.Expect(ResponseOf(0, At::kOnly, 0), kDropped);
  // A READ of another QP does not count.
  bench.Configure({.qpn = 6}, IbQpState::kRts, 0);
  bench.record.tokens.push_back(RecordOf(bench.host, 6, kReadPsn, 8, {Host::Element(0x9000, 8)}));
  bench.RunOut();
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
  // After the load, those before it are discarded.
  bench.Read(kReadPsn, 8, {Host::Element(0x9000, 8)});
  bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
  bench.RunOut();
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
}

TEST(ResponderRead, DuplicateReadRecordIsDropped) {
  Reader bench;
  const auto elements = std::vector{Host::Element(0x9000, 5000)};
  const auto other = std::vector{Host::Element(0x19000, 5000)};
  bench.Read(0, kReadPsn, 8, elements);
  bench.Read(1, kReadPsn + 1, kMtu + 8, elements);
  bench.Read(0, kReadPsn, 8, other);
  bench.Read(1, kReadPsn + 1, kMtu + 8, other);
  auto only = ResponseOf(kReadPsn, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9000, 8)));
  const auto first = ResponseOf(kReadPsn + 1, At::kFirst, kMtu);
  bench.Expect(first, Got(kReadPsn + 1, Scatter(first, 0, 0x9000, kMtu)));
  bench.Read(1, kReadPsn + 1, kMtu + 8, other);
  const auto last = ResponseOf(kReadPsn + 2, At::kLast, 8);
  bench.Expect(last, Got(kReadPsn + 2, Scatter(last, 0, 0x9000 + kMtu, 8)));
  // Also when it is complete, and no other one is outstanding.
  bench.Read(1, kReadPsn + 1, kMtu + 8, other);
  bench.Expect(first, kDropped);
  bench.Read(2, kReadPsn + 3, 8, other);
  only = ResponseOf(kReadPsn + 3, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn + 3, Scatter(only, 0, 0x19000, 8)));
}

// For any acknowledge of the peer: of PSNs never sent, or half the PSNs ahead.
TEST(ResponderRead, DuplicateReadIsDetectedByNumberAlone) {
  for (const uint8_t begin : {uint8_t{0}, uint8_t{250}}) {
    Reader bench;
    const auto elements = std::vector{Host::Element(0x9000, 5000)};
    const auto other = std::vector{Host::Element(0x19000, 5000)};
    uint32_t psn = kReadPsn;
    uint8_t number = begin;
    for (const uint32_t step : {0x1u, 0x7fffffu, 0x800000u, 0x3e8u, 0x0u, 0xffffffu}) {
      for (const uint32_t ahead : {1000u, 0x7ffff0u, 0x800010u}) {
        bench.frame.tokens.push_back(AckOf(psn + ahead, kAcked, 0));
        bench.frame.tokens.push_back(AckOf(psn + ahead, 0x60, 0));
      }
      bench.RunOut();
      Bench::Take(bench.places);
      bench.Read(number, psn, 8, elements);
      for (const int behind : {0, 1, 127}) bench.Read(static_cast<uint8_t>(number - behind), psn + 1, 8, other);
      const auto only = ResponseOf(psn, At::kOnly, 8);
      bench.Expect(only, Got(psn, Scatter(only, 0, 0x9000, 8)));
      bench.Expect(ResponseOf(psn + 1, At::kOnly, 8), kDropped);
      psn = Psn(psn + step);
      // READs between that failed before they were recorded have numbers, too.
      number = static_cast<uint8_t>(number + (step == 0x3e8 ? 128 : 1));
    }
    // A load clears the numbers.
    bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
    bench.Read(static_cast<uint8_t>(number - 5), psn, 8, other);
    const auto only = ResponseOf(psn, At::kOnly, 8);
    bench.Expect(only, Got(psn, Scatter(only, 0, 0x19000, 8)));
  }
}

TEST(ResponderRead, AcknowledgeBeyondAReadDoesNotMakeItADuplicate) {
  Reader bench;
  bench.Read(kReadPsn, 8, {Host::Element(0x9000, 8)});
  bench.frame.tokens.push_back(AckOf(kReadPsn + 100, kAcked, 0));
  bench.RunOut();
  Bench::Take(bench.places);
  const auto only = ResponseOf(kReadPsn, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9000, 8)));
  bench.Read(kReadPsn + 50, 8, {Host::Element(0x9000, 8)});
  const auto next = ResponseOf(kReadPsn + 50, At::kOnly, 8);
  bench.Expect(next, Got(kReadPsn + 50, Scatter(next, 0, 0x9000, 8)));
}

TEST(ResponderRead, ReadsBeyondTheRingAreDropped) {
  Reader bench;
  for (uint32_t i = 0; i < kReads + 1; ++i) bench.Read(kReadPsn + i, 8, {Host::Element(0x1000 * i, 8)});
  for (uint32_t i = 0; i < kReads; ++i) {
    const auto only = ResponseOf(kReadPsn + i, At::kOnly, 8);
    bench.Expect(only, Got(kReadPsn + i, Scatter(only, 0, 0x1000 * i, 8)));
  }
  bench.Expect(ResponseOf(kReadPsn + kReads, At::kOnly, 8), kDropped);
  // Repeated, it is taken; and the ring wraps.
  for (uint32_t i = kReads; i < 5 * kReads; ++i) {
    bench.Read(static_cast<uint8_t>(i), kReadPsn + i, 8, {Host::Element(0x1000 * i, 8)});
    const auto only = ResponseOf(kReadPsn + i, At::kOnly, 8);
    bench.Expect(only, Got(kReadPsn + i, Scatter(only, 0, 0x1000 * i, 8)));
  }
}

TEST(ResponderRead, RecordsAreTakenWhileAllElseStalls) {
  Reader bench;
  bench.place.rate = 0;
  for (uint32_t i = 0; i < 5; ++i) bench.Send({.psn = kFirstPsn + i, .bytes = 0});
  ASSERT_EQ(bench.bench.Run(40), "");
  const auto before = bench.record.accepted;
  for (uint32_t i = 0; i < 100; ++i) {
    bench.record.tokens.push_back(RecordOf(bench.host, i % kQps, kReadPsn + i, 8, {}));
  }
  // One in two cycles.
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.record.accepted - before, 100u);
  EXPECT_EQ(bench.place.count, 0u);
}

TEST(ResponderRead, LoadsAndRecordsInEveryCycle) {
  Reader bench;
  for (uint32_t i = 0; i < 2000; ++i) {
    bench.host.reads[i % 3] = static_cast<uint8_t>(bench.random() % 3);
    bench.record.tokens.push_back(
        RecordOf(bench.host, i % 3, static_cast<uint32_t>(bench.random() % 3), 8, {Host::Element(0x9000, 8)}));
    if (bench.random() % 8 == 0) {
      bench.load.tokens.push_back({.qpn = static_cast<uint32_t>(bench.random() % 3), .psn = kFirstPsn});
    }
    auto token = ResponseOf(static_cast<uint32_t>(bench.random() % 3), At::kOnly, 8);
    token.bth.dest_qp = i % 3;
    SetPeer(i % 3, token.ip_source);
    SetOwn(i % 3, token.ip_destination);
    bench.frame.tokens.push_back(token);
  }
  for (uint32_t qpn = 0; qpn < 3; ++qpn) {
    bench.table.tokens.push_back(ContextOf({.qpn = qpn}));
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kRts});
  }
  bench.load.rate = 1;
  bench.record.rate = 8;
  ASSERT_EQ(bench.bench.RunOut(100), "");
  const auto places = Bench::Take(bench.places);
  EXPECT_GT(std::count_if(places.begin(), places.end(), [](const auto& place) { return place.bytes0 != 0; }), 50);
}

TEST(ResponderRead, ResponseIsDecidedOneCycleLater) {
  Reader bench;
  bench.Read(kReadPsn, 0, {});
  const Cycle pushed = bench.bench.cycle();
  bench.frame.tokens.push_back(ResponseOf(kReadPsn, At::kOnly, 0));
  // In its slice, its turn, two cycles to decide, one for its place, one for its elements, in the register.
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + Responder::kResponseLatency + 1 + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.place.count, 1u);
  EXPECT_EQ(bench.places.sent().back().cycle, pushed + kLatency);

  bench.check.on_token = nullptr;
  bench.Read(kReadPsn + 1, 8, {Host::Element(0x9000, 8)});
  bench.frame.tokens.push_back(ResponseOf(kReadPsn + 1, At::kOnly, 8));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 8});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
  // Dropped ones, and ones that match nothing.
  bench.frame.tokens.push_back(ResponseOf(kReadPsn + 1, At::kOnly, 8));
  ASSERT_EQ(bench.bench.Run(kLatency - 1), "");
  EXPECT_EQ(bench.place.count, 2u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 3u);
}

TEST(ResponderRead, ReadIsForwardedAndTakesThePsnsOfItsResponse) {
  Ready bench({.max_reads = 255});
  uint32_t psn = kFirstPsn, msn = 0;
  const std::pair<uint32_t, uint32_t> sizes[] = {{0, 1},
                                                 {1, 1},
                                                 {kMtu - 1, 1},
                                                 {kMtu, 1},
                                                 {kMtu + 1, 2},
                                                 {4096, 4},
                                                 {4097, 5},
                                                 {5 * kMtu, 5},
                                                 {1u << 31, 1u << 21},
                                                 {0x7fffffff, 1u << 21}};
  for (const auto& [bytes, packets] : sizes) {
    const auto request = ReadRequest(psn, bytes);
    const auto checks = bench.check.count;
    bench.Expect(TokenOf(request), Given(request, ++msn));
    EXPECT_EQ(bench.check.count, checks + (bytes != 0));
    psn = Psn(psn + packets);
  }
  bench.Expect(TokenOf({.psn = psn, .bytes = 0}), Ack(psn, msn + 1));
  bench.ExpectFailures({});
}

TEST(ResponderRead, EveryMtuCountsItsPackets) {
  for (const auto mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu2048, spec::IbMtu::kMtu4096}) {
    const uint32_t bytes = 128u << static_cast<unsigned>(mtu);
    Ready bench({.mtu = mtu});
    bench.Expect(TokenOf(ReadRequest(kFirstPsn, 3 * bytes + 1)), Given(ReadRequest(kFirstPsn, 3 * bytes + 1), 1));
    bench.Expect(TokenOf(ReadRequest(kFirstPsn + 4, 1u << 31)), Given(ReadRequest(kFirstPsn + 4, 1u << 31), 2));
    const uint32_t next = kFirstPsn + 4 + (1u << 31) / bytes;
    bench.Expect(TokenOf({.psn = next, .bytes = 0}), Ack(next, 3));
  }
}

TEST(ResponderRead, KeyCheckCoversTheWholeMessage) {
  Ready bench;
  bench.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(
        asked,
        (spec::MemoryCheck{
            .key = kRkey, .pdn = kPdn, .remote_read = true, .address = 0x10000, .bytes = 0x12345678, .qpn = kQpn}));
    bench.memory.tokens.push_back({.status = MemoryStatus::kOk});
  };
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 0x12345678)), Given(ReadRequest(kFirstPsn, 0x12345678), 1));
  EXPECT_EQ(bench.check.count, 1u);
}

TEST(ResponderRead, ForbiddenReadEndsTheConnection) {
  {
    Ready bench({.remote_read = false});
    bench.Expect(TokenOf(ReadRequest(kFirstPsn, 0)), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
    EXPECT_EQ(bench.check.count, 0u);
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
  for (const uint32_t key : {kBadRkey, kLkey}) {
    Ready bench;
    auto request = ReadRequest(kFirstPsn, 8);
    request.rkey = key;
    bench.Expect(TokenOf(request), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
  }
  Ready bench;
  auto request = ReadRequest(kFirstPsn, 0);
  request.rkey = kBadRkey;
  bench.Expect(TokenOf(request), Given(request, 1));
}

TEST(ResponderRead, ReadsBeyondThePeersLimitEndTheConnection) {
  for (const auto most : std::to_array<uint8_t>({0, 1, 3})) {
    Ready bench({.max_reads = most});
    for (uint32_t i = 0; i < most; ++i) {
      bench.Expect(TokenOf(ReadRequest(kFirstPsn + i, 8)), Given(ReadRequest(kFirstPsn + i, 8), i + 1));
    }
    bench.Expect(TokenOf(ReadRequest(kFirstPsn + most, 8)),
                 Answer(kFirstPsn + most, AethSyndrome::kNakInvalidRequest, most));
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  }
}

TEST(ResponderRead, NewReadIsDroppedWhileDuplicatesTakeTheRoom) {
  Ready bench({.max_reads = 2});
  const auto first = ReadRequest(kFirstPsn, 8), second = ReadRequest(kFirstPsn + 1, 8);
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  bench.RunOut();
  // Twice more, though the peer has received all of it by now.
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.Expect(TokenOf(second), kDropped);
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
  bench.RunOut();
  bench.Expect(TokenOf(second), Given(second, 2));
  // No duplicate is behind the outstanding one now: one more is too many.
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 3});
  bench.RunOut();
  const auto third = ReadRequest(kFirstPsn + 2, 8), fourth = ReadRequest(kFirstPsn + 3, 8);
  bench.Expect(TokenOf(third), Given(third, 3));
  bench.Expect(TokenOf(fourth), Answer(kFirstPsn + 3, AethSyndrome::kNakInvalidRequest, 3));
}

TEST(ResponderRead, EndedReadsMakeRoomAndCountsWrapAndRestartAtALoad) {
  Ready bench({.max_reads = 2});
  uint32_t psn = kFirstPsn, msn = 0;
  for (uint32_t i = 0; i < 600; ++i) {
    bench.Expect(TokenOf(ReadRequest(psn, 0)), Given(ReadRequest(psn, 0), ++msn));
    psn = Psn(psn + 1);
    if (i != 0) bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(i)});
    if (i % 100 != 50) continue;
    // All of them, before a load.
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(i + 1)});
    bench.RunOut();
    bench.load.tokens.push_back({.qpn = kQpn, .psn = psn});
    msn = 0;
  }
  // Of two, one is still outstanding.
  bench.Expect(TokenOf(ReadRequest(psn, 0)), Given(ReadRequest(psn, 0), msn + 1));
  bench.Expect(TokenOf(ReadRequest(psn + 1, 0)), Answer(psn + 1, AethSyndrome::kNakInvalidRequest, msn + 1));
}

TEST(ResponderRead, ResetRestartsTheCounts) {
  std::shared_ptr<RtlTop<Vresponder_16>> rtl;
  for (unsigned i = 0; i < 3; ++i) {
    Bench bench(rtl);
    rtl = bench.owner;
    bench.Configure({.max_reads = 2}, IbQpState::kRts);
    bench.Send(ReadRequest(kFirstPsn, 8));
    bench.Send(ReadRequest(kFirstPsn + 1, 8));
    bench.RunOut();
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
    bench.RunOut();
    bench.Send(ReadRequest(kFirstPsn + 2, 8));
    bench.RunOut();
    const auto places = Bench::Take(bench.places);
    ASSERT_EQ(places.size(), 3u);
    for (const auto& place : places) EXPECT_TRUE(place.answer.is_read);
  }
}

TEST(ResponderRead, DuplicateReadIsForwardedAgainIfPastAndAllowed) {
  Ready bench;
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 3 * kMtu)), Given(ReadRequest(kFirstPsn, 3 * kMtu), 1));
  const uint32_t psn = kFirstPsn + 3;
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  // All of it, its end, and one that reaches up to the expected PSN.
  for (const auto& request :
       {ReadRequest(kFirstPsn, 3 * kMtu), ReadRequest(kFirstPsn + 2, kMtu), ReadRequest(psn - 1, 0)}) {
    bench.Expect(TokenOf(request), Given(request, 1));
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(bench.place.count)});
  }
  // One that reaches beyond it, one that is too long, one that may not, one with payload.
  auto bad = ReadRequest(kFirstPsn, kMtu);
  bad.rkey = kBadRkey;
  auto payload = ReadRequest(kFirstPsn, kMtu);
  payload.bytes = 4;
  for (const auto& request : {ReadRequest(kFirstPsn, 3 * kMtu + 1), ReadRequest(psn - 0x800000, (1u << 31) + 1),
                              ReadRequest(psn - 1, kMtu + 1), bad, payload}) {
    bench.Expect(TokenOf(request), kDropped);
  }
  // Far behind there is much room.
  bench.Expect(TokenOf(ReadRequest(psn - 0x800000, 1u << 31)), Given(ReadRequest(psn - 0x800000, 1u << 31), 1));
  // It has not advanced the expected PSN, nor does it fill a gap.
  bench.Expect(TokenOf({.psn = psn + 1, .bytes = 0}), Answer(psn, AethSyndrome::kNakPsnSequenceError, 1));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.Expect(TokenOf({.psn = psn + 1, .bytes = 0}), kDropped);
  bench.Expect(TokenOf({.psn = psn, .bytes = 0}), Ack(psn, 2));
  bench.ExpectFailures({});
}

TEST(ResponderRead, DuplicateReadWithoutRoomOrRightIsDropped) {
  Ready bench({.max_reads = 1});
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), kDropped);
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  bench.RunOut();
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
  bench.table.tokens.push_back(ContextOf({.remote_read = false}));
  bench.RunOut();
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderRead, DuplicateReadInsideAMessageKeepsTheMessage) {
  Ready bench;
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first =
      TokenOf({.opcode = BthOpcode::kRcSendFirst, .psn = kFirstPsn + 1, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 2, .bytes = 8});
  bench.Expect(last, Scatter(last, 0, 0x9000 + kMtu, 8, Success(posted, kMtu + 8, Ack(kFirstPsn + 2, 2))));
}

}  // namespace
}  // namespace vireo::verif
