// SPDX-License-Identifier: Apache-2.0
// The responder: UC and datagrams.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

// --- UC

constexpr Qp kUc{.type = spec::IbQpType::kUc};

TEST(ResponderUc, MessagesStartWithAnyPsnAndAreNotAnswered) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .psn = 0x4711, .bytes = 100});
  bench.Expect(only, Scatter(only, 0, 0x9000, 100, Success(posted, 100)));
  const auto first =
      TokenOf({.opcode = BthOpcode::kUcRdmaWriteFirst, .psn = 0xffffff, .bytes = kMtu, .dma_length = 2 * kMtu + 5});
  bench.Expect(first, Write(first, 0x10000));
  const auto middle = TokenOf({.opcode = BthOpcode::kUcRdmaWriteMiddle, .psn = 0, .bytes = kMtu});
  bench.Expect(middle, Write(middle, 0x10000 + kMtu));
  const auto last = TokenOf({.opcode = BthOpcode::kUcRdmaWriteLast, .psn = 1, .bytes = 5});
  bench.Expect(last, Write(last, 0x10000 + 2 * kMtu));
  bench.ExpectFailures({});
}

TEST(ResponderUc, FirstPacketInRtrIsReportedOnce) {
  Ready bench(kUc, IbQpState::kRtr);
  const auto middle = TokenOf({.opcode = BthOpcode::kUcRdmaWriteMiddle, .bytes = kMtu});
  bench.Expect(middle, kDropped);  // of no message
  bench.ExpectFailures({kEstablished});
  const auto only = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly, .bytes = 10});
  bench.Expect(only, Write(only, 0x10000));
  bench.ExpectFailures({});
}

TEST(ResponderUc, ImmediateDataComesWithTheCompletion) {
  Ready bench(kUc);
  spec::RdmaCqReq cqe{.opcode = IbWcOpcode::kRecvRdmaWithImm,
                      .byte_len = 64,
                      .imm_data = {0x11, 0x22, 0x33, 0x44},
                      .wc_flags = spec::IbWcFlags::kWithImm};
  Posted posted = bench.host.Post(kQpn, {});
  const auto write = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate});
  bench.Expect(write, With(Write(write, 0x10000), CompletionOf(posted, cqe, false)));
  cqe.opcode = IbWcOpcode::kRecv;
  posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  const auto send = TokenOf({.opcode = BthOpcode::kUcSendOnlyWithImmediate, .solicited = true});
  bench.Expect(send, With(Scatter(send, 0, 0x9000, 64), CompletionOf(posted, cqe, true)));
}

TEST(ResponderUc, MessageWithAGapIsDroppedAndTheNextReusesItsReceive) {
  Ready bench(kUc);
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0x1000, 600), Host::Element(0x3000, 600), Host::Element(0x5000, 5000)});
  const Posted next = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const std::vector<RxToken> rest = {TokenOf({.opcode = BthOpcode::kUcSendMiddle, .psn = 2, .bytes = kMtu}),
                                     TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 3, .bytes = 8}),
                                     TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1, .bytes = 8})};
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .psn = 0, .bytes = kMtu});
  for (unsigned i = 0; i < 3; ++i) {
    bench.Expect(first, {Scatter(first, 0, 0x1000, 600, kMore), Scatter(first, 600, 0x3000, kMtu - 600)});
    for (const auto& token : rest) bench.Expect(token, kDropped);
  }
  // Of another message, whole.
  bench.Expect(first, {Scatter(first, 0, 0x1000, 600, kMore), Scatter(first, 600, 0x3000, kMtu - 600)});
  const auto last = TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1, .bytes = 200});
  bench.Expect(last, {Scatter(last, 0, 0x3000 + kMtu - 600, 1200 - kMtu, kMore),
                      Scatter(last, 1200 - kMtu, 0x5000, kMtu - 1000, Success(posted, kMtu + 200))});
  const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 9});
  bench.Expect(only, Scatter(only, 0, 0x9000, 9, Success(next, 9)));
  bench.ExpectFailures({});
}

TEST(ResponderUc, MessageThatStartsInsideAnotherTakesItsReceive) {
  for (const bool write : {false, true}) {
    Ready bench(kUc);
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
    bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
    // A WRITE without immediate data leaves it where it is.
    const auto other = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly});
    bench.Expect(other, Write(other, 0x10000));
    if (write) {
      const auto only = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate});
      bench.Expect(only, With(Write(only, 0x10000), CompletionOf(posted,
                                                                 {.opcode = IbWcOpcode::kRecvRdmaWithImm,
                                                                  .byte_len = 64,
                                                                  .imm_data = {0x11, 0x22, 0x33, 0x44},
                                                                  .wc_flags = spec::IbWcFlags::kWithImm},
                                                                 false)));
    } else {
      const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 10});
      bench.Expect(only, Scatter(only, 0, 0x9000, 10, Success(posted, 10)));
    }
    // It is no longer held.
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  }
}

TEST(ResponderUc, ReceiveWithoutElementsIsReused) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 0}), Success(posted, 0));
}

TEST(ResponderUc, ReceiveOfAnIncompleteMessageIsFlushed) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const Posted next = bench.host.Post(kQpn, {});
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = kFirstPsn + 7}), kDropped);
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(posted), Flushed(next)});
}

TEST(ResponderUc, InvalidPacketsAreDroppedSilently) {
  using O = BthOpcode;
  const std::vector<Packet> cases = {
      {.opcode = O::kUcSendMiddle, .bytes = kMtu},
      {.opcode = O::kUcSendLast},
      {.opcode = O::kUcRdmaWriteLast},
      {.opcode = O::kUcSendFirst, .bytes = kMtu - 1},
      {.opcode = O::kUcSendOnly, .bytes = kMtu + 1},
      {.opcode = O::kUcRdmaWriteOnly, .dma_length = 63},
      {.opcode = O::kUcRdmaWriteOnly, .dma_length = 65},
      {.opcode = O::kUcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu},
      {.opcode = O::kUcRdmaWriteOnly, .rkey = kBadRkey},
      {.opcode = O::kUcRdmaWriteOnlyWithImmediate, .rkey = kBadRkey},
  };
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  for (const Packet& packet : cases) bench.Expect(TokenOf(packet), kDropped);
  EXPECT_EQ(bench.request.count, 0u);
  bench.table.tokens.push_back(ContextOf({.type = spec::IbQpType::kUc, .remote_write = false}));
  bench.RunOut();
  for (const uint16_t bytes : {uint16_t{0}, uint16_t{64}}) {
    bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteOnly, .bytes = bytes}), kDropped);
  }
  EXPECT_EQ(bench.check.count, 2u);
  // A message refused in its middle has ended.
  bench.table.tokens.push_back(ContextOf(kUc));
  bench.RunOut();
  const auto first = TokenOf({.opcode = O::kUcRdmaWriteFirst, .psn = 0, .bytes = kMtu, .dma_length = 2 * kMtu + 1});
  bench.Expect(first, Write(first, 0x10000));
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu - 1}), kDropped);
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  // So has one that receives a packet of another operation.
  bench.Expect(first, Write(first, 0x10000));
  bench.Expect(TokenOf({.opcode = O::kUcSendMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  const auto only = TokenOf({.opcode = O::kUcSendOnly});
  bench.Expect(only, Scatter(only, 0, 0x9000, 64, Success(posted, 64)));
  bench.ExpectFailures({});
}

TEST(ResponderUc, MessageWithoutAReceiveIsDropped) {
  for (const bool broken : {false, true}) {
    Ready bench(kUc);
    bench.host.broken[kQpn] = broken;
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendFirst, .psn = 0, .bytes = kMtu}), kDropped);
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate}), kDropped);
    bench.host.broken[kQpn] = false;
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1}), kDropped);
    const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly});
    bench.Expect(only, Scatter(only, 0, 0x9000, 64, Success(posted, 64)));
    bench.ExpectFailures({});
  }
}

TEST(ResponderUc, ReceiveErrorEndsTheConnectionWithoutAnAnswer) {
  const auto token = TokenOf({.opcode = BthOpcode::kUcSendOnly});
  const auto expect = [&](const std::vector<spec::RdmaSge>& list, IbWcStatus status, RdmaError code, RdmaError posted) {
    Ready bench(kUc);
    const Posted receive = bench.host.Post(kQpn, list, posted);
    bench.Expect(token, Failed(receive, status, static_cast<uint32_t>(code)));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
    bench.Expect(token, kDropped);
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  };
  expect({}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength, RdmaError::kOk);
  expect({Host::Element(0x9000, 64, kBadLkey)}, IbWcStatus::kLocProtErr, RdmaError::kBadMrn, RdmaError::kOk);
  expect({Host::Element(0x9000, 64, kRkey)}, IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags, RdmaError::kOk);
  expect({}, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe, RdmaError::kBadWqe);
}

// --- Datagrams

struct Datagrams : Ready {
  explicit Datagrams(spec::IbQpType type = spec::IbQpType::kUd) : Ready({.type = type}) {}
  static Packet Datagram(uint16_t bytes, bool is_ipv6 = false) {
    return {.opcode = BthOpcode::kUdSendOnly, .psn = 0x123, .bytes = bytes, .is_ipv6 = is_ipv6};
  }
  // A run of the header, in front of more.
  static spec::RxPlace Header(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes) {
    auto place = Scatter(token, 0, address, bytes, kMore);
    place.offset = static_cast<uint16_t>(token.l3_offset + from);
    return place;
  }
  static spec::RxPlace Zeros(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes) {
    auto place = Header(token, 0, address, bytes);
    place.offset = static_cast<uint16_t>(from);
    place.zeros = true;
    return place;
  }
  static spec::RxPlace Received(const Posted& posted, uint32_t bytes, spec::RxPlace place = {},
                                bool immediate = false) {
    spec::RdmaCqReq cqe{.opcode = IbWcOpcode::kRecv,
                        .byte_len = bytes + spec::kRdmaUdGrhBytes,
                        .src_qp = 0x778899,
                        .wc_flags = spec::IbWcFlags::kGrh};
    if (immediate) {
      cqe.wc_flags |= spec::IbWcFlags::kWithImm;
      for (unsigned i = 0; i < 4; ++i) cqe.imm_data[i] = static_cast<uint8_t>(0x11 * (i + 1));
    }
    return With(place, CompletionOf(posted, cqe, false));
  }
};

TEST(ResponderUd, IpHeaderPrecedesThePayload) {
  for (const auto type : {spec::IbQpType::kUd, spec::IbQpType::kGsi}) {
    for (const uint16_t bytes : std::to_array<uint16_t>({1, 100, kMtu})) {
      Datagrams bench(type);
      const Posted first = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
      const auto v4 = TokenOf(Datagrams::Datagram(bytes));
      bench.Expect(v4, {Datagrams::Zeros(v4, 0, 0x9000, 20), Datagrams::Header(v4, 0, 0x9014, 20),
                        Datagrams::Received(first, bytes, Scatter(v4, 0, 0x9028, bytes))});
      const Posted second = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
      const auto v6 = TokenOf(Datagrams::Datagram(bytes, true));
      bench.Expect(v6, {Datagrams::Header(v6, 0, 0x9000, 40),
                        Datagrams::Received(second, bytes, Scatter(v6, 0, 0x9028, bytes))});
      bench.ExpectFailures({});
    }
  }
}

TEST(ResponderUd, DatagramsDoNotEstablishAConnection) {
  for (const auto type : {spec::IbQpType::kUd, spec::IbQpType::kGsi}) {
    Ready bench({.type = type}, IbQpState::kRtr);
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.frame.tokens.push_back(TokenOf({.opcode = BthOpcode::kUdSendOnly}));
    ASSERT_EQ(bench.bench.RunOut(100), "");
    EXPECT_FALSE(Bench::Take(bench.places).empty());
    bench.ExpectFailures({});
  }
}

TEST(ResponderUd, ZeroByteDatagramHasAHeader) {
  Datagrams bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 40)});
  const auto token = TokenOf(Datagrams::Datagram(0));
  bench.Expect(token, {Datagrams::Zeros(token, 0, 0x9000, 20), Datagrams::Header(token, 0, 0x9014, 20),
                       Datagrams::Received(posted, 0)});
}

TEST(ResponderUd, ImmediateDataFollowsTheDeth) {
  Datagrams bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  auto packet = Datagrams::Datagram(8, true);
  packet.opcode = BthOpcode::kUdSendOnlyWithImmediate;
  const auto token = TokenOf(packet);
  bench.Expect(token, {Datagrams::Header(token, 0, 0x9000, 40),
                       Datagrams::Received(posted, 8, Scatter(token, 0, 0x9028, 8), true)});
}

TEST(ResponderUd, ElementsMayEndAnywhere) {
  Datagrams bench;
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0x1000, 15), Host::Element(0x2000, 15), Host::Element(0, 0, kBadLkey),
                             Host::Element(0x3000, 10), Host::Element(0x4000, 3), Host::Element(0x5000, 50)});
  const auto token = TokenOf(Datagrams::Datagram(50));
  bench.Expect(token,
               {Datagrams::Zeros(token, 0, 0x1000, 15), Datagrams::Zeros(token, 15, 0x2000, 5),
                Datagrams::Header(token, 0, 0x2005, 10), Datagrams::Header(token, 10, 0x3000, 10),
                Scatter(token, 0, 0x4000, 3, kMore), Datagrams::Received(posted, 50, Scatter(token, 3, 0x5000, 47))});
}

TEST(ResponderUd, OnlyTheQKeyGrantsAccess) {
  Datagrams bench;
  const std::vector<std::function<void(RxToken&)>> dropped = {
      [](RxToken& t) { t.extension[0] ^= 0x80; },
      [](RxToken& t) { t.extension[3] ^= 1; },
      [](RxToken& t) { t.bth.pkey = 0x1234; },
      [](RxToken& t) { t.destination_mac[2] ^= 4; },
  };
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  for (const auto& change : dropped) {
    auto token = TokenOf(Datagrams::Datagram(8, true));
    change(token);
    bench.Expect(token, kDropped);
  }
  bench.Expect(TokenOf(Datagrams::Datagram(kMtu + 1, true)), kDropped);
  bench.Expect(TokenOf({.bytes = 0}), kDropped);  // of RC
  EXPECT_EQ(bench.request.count, 0u);
  auto token = TokenOf(Datagrams::Datagram(8, true));
  token.ip_source[3] ^= 1;
  token.ip_destination[3] ^= 1;
  token.bth.psn ^= 0xabcdef;
  bench.Expect(token,
               {Datagrams::Header(token, 0, 0x9000, 40), Datagrams::Received(posted, 8, Scatter(token, 0, 0x9028, 8))});
  bench.ExpectFailures({});
}

TEST(ResponderUd, EachPartOfADatagramTakesAKeyCheck) {
  // With answers one cycle after their requests, and one element: p + 12 + 1 + 2 and p + 15 + 1 + 3.
  for (const auto& [is_ipv6, latency] : {std::pair{true, 15u}, std::pair{false, 19u}}) {
    Datagrams bench;
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.frame.tokens.push_back(TokenOf(Datagrams::Datagram(8, is_ipv6)));
    const unsigned places = is_ipv6 ? 2 : 3;
    ASSERT_EQ(bench.bench.Run(latency), "");
    EXPECT_EQ(bench.place.count, places - 1);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.place.count, places);
  }
}

TEST(ResponderUd, DatagramWithoutAReceiveIsDropped) {
  Datagrams bench;
  const auto token = TokenOf(Datagrams::Datagram(8));
  bench.Expect(token, kDropped);
  bench.host.broken[kQpn] = true;
  bench.Expect(token, kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderUd, ReceiveErrorLeadsToErr) {
  const auto token = TokenOf(Datagrams::Datagram(8));
  const auto expect = [&](const std::vector<spec::RdmaSge>& list, const std::vector<spec::RxPlace>& before,
                          IbWcStatus status, RdmaError code, RdmaError posted = RdmaError::kOk) {
    Datagrams bench;
    const Posted receive = bench.host.Post(kQpn, list, posted);
    auto places = before;
    places.push_back(Failed(receive, status, static_cast<uint32_t>(code)));
    bench.Expect(token, places);
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
    bench.Expect(token, kDropped);
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  };
  const auto zeros = Datagrams::Zeros(token, 0, 0x9000, 20);
  const auto header = Datagrams::Header(token, 0, 0x9014, 20);
  expect({}, {}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 20)}, {zeros}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 47)}, {zeros, header, Scatter(token, 0, 0x9028, 7, kMore)}, IbWcStatus::kLocLenErr,
         RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 5000, kBadLkey)}, {}, IbWcStatus::kLocProtErr, RdmaError::kBadMrn);
  expect({Host::Element(0x9000, 40), Host::Element(0xa000, 8, kRkey)}, {zeros, header}, IbWcStatus::kLocProtErr,
         RdmaError::kBadAccessFlags);
  expect({}, {}, IbWcStatus::kLocQpOpErr, RdmaError::kQueueDmaError, RdmaError::kQueueDmaError);
}

}  // namespace
}  // namespace vireo::verif
