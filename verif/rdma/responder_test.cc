// SPDX-License-Identifier: Apache-2.0
// The responder: requests that need no receive, rule by rule, and the effect of order on the connection.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

// --- Writes

TEST(Responder, WriteGoesToTheCheckedAddressAndIsAcknowledged) {
  Ready bench;
  for (const uint64_t address : {0x10000ull, 0x20001ull, 0xfffffffffff0ull}) {
    const auto n = static_cast<uint32_t>(bench.place.count);
    const RxToken token = TokenOf({.psn = kFirstPsn + n, .bytes = 64, .address = address});
    bench.Expect(token, Write(token, address, Ack(kFirstPsn + n, n + 1)));
  }
  bench.ExpectFailures({});
}

TEST(Responder, AcknowledgeIsSentOnlyOnRequest) {
  Ready bench;
  const RxToken token = TokenOf({.bytes = 1, .ack_req = false});
  bench.Expect(token, Write(token, 0x10000));
  // The message still counts.
  const RxToken next = TokenOf({.psn = kFirstPsn + 1, .bytes = kMtu});
  bench.Expect(next, Write(next, 0x10000, Ack(kFirstPsn + 1, 2)));
}

TEST(Responder, MultiPacketWriteContinuesAtTheNextAddress) {
  Ready bench;
  for (uint32_t message = 0; message < 2; ++message) {
    const uint32_t psn = kFirstPsn + 4 * message;
    const uint64_t address = 0x5003 + message;
    const uint32_t length = 3 * kMtu + 17;
    const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst,
                                .psn = psn,
                                .bytes = kMtu,
                                .ack_req = false,
                                .address = address,
                                .dma_length = length});
    bench.Expect(first, Write(first, address));
    for (uint32_t i = 1; i < 3; ++i) {
      const auto middle =
          TokenOf({.opcode = BthOpcode::kRcRdmaWriteMiddle, .psn = psn + i, .bytes = kMtu, .ack_req = i == 2});
      // An incomplete message does not count.
      bench.Expect(middle,
                   Write(middle, address + uint64_t{i} * kMtu, i == 2 ? Ack(psn + i, message) : spec::RxPlace{}));
    }
    const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = psn + 3, .bytes = 17});
    bench.Expect(last, Write(last, address + uint64_t{3} * kMtu, Ack(psn + 3, message + 1)));
  }
}

TEST(Responder, ZeroByteWriteNeedsNoKey) {
  Ready bench;
  bench.Expect(TokenOf({.bytes = 0, .rkey = kBadRkey}), Ack(kFirstPsn, 1));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, ReceivesInEveryReceivingState) {
  for (const auto state : {IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  }
  for (const auto state : {IbQpState::kReset, IbQpState::kInit, IbQpState::kErr}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
}

TEST(Responder, PacketForAQpWithBadParityIsDropped) {
  Ready bench;
  bench.Configure({.qpn = kQpn + 1}, IbQpState::kRts);
  for (const uint32_t bit : {0u, 100u, 1023u}) {
    bench.contexts.Flip(spec::ContextRam::kResponderQp, kQpn, bit);
    bench.Send({.qpn = kQpn + 1});
    bench.RunOut();
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.Take(bench.places);
    bench.Expect(TokenOf({}), kDropped);
    EXPECT_EQ(bench.contexts.errors.size(), 1u);
    bench.Configure({}, IbQpState::kRts);
    bench.contexts.errors.clear();
    bench.Send({});
    bench.RunOut();
    EXPECT_TRUE(bench.contexts.errors.empty());
    EXPECT_NE(bench.Take(bench.places).at(0), kDropped);
    bench.Configure({.qpn = kQpn + 1}, IbQpState::kRts);
  }
}

// Its completion queue is unknown.
TEST(Responder, QpWithBadParityFlushesNothing) {
  for (const bool corrupt : {false, true}) {
    Ready bench;
    bench.host.Post(kQpn, {});
    if (corrupt) bench.contexts.Flip(spec::ContextRam::kResponderQp, kQpn, 1);
    bench.RunOut();
    bench.SetState(IbQpState::kErr);
    bench.RunOut();
    EXPECT_EQ(bench.contexts.errors.empty(), !corrupt);
    EXPECT_EQ(bench.host.asked.empty(), corrupt);
  }
}

TEST(Responder, EveryPathMtuIsEnforced) {
  for (const auto mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu2048,
                         spec::IbMtu::kMtu4096}) {
    const auto bytes = static_cast<uint16_t>(128u << static_cast<unsigned>(mtu));
    Ready bench({.mtu = mtu});
    const RxToken token = TokenOf({.bytes = bytes});
    bench.Expect(token, Write(token, 0x10000, Ack(kFirstPsn, 1)));
    const uint16_t more = static_cast<uint16_t>(bytes + 1);
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = more}),
                 Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 1));
  }
}

// --- Dropped packets

TEST(Responder, PacketsForOthersHaveNoEffect) {
  const std::vector<std::pair<const char*, std::function<void(RxToken&)>>> cases = {
      {"no such QP", [](RxToken& t) { t.bth.dest_qp = 7; }},
      {"QP number too large", [](RxToken& t) { t.bth.dest_qp = kQpn + kQps; }},
      {"UC", [](RxToken& t) { t.bth.opcode = BthOpcode::kUcRdmaWriteOnly; }},
      {"CNP", [](RxToken& t) { t.bth.opcode = BthOpcode::kCnp; }},
      {"other partition", [](RxToken& t) { t.bth.pkey = 0xfffe; }},
      {"other peer, first byte", [](RxToken& t) { t.ip_source[0] ^= 0x80; }},
      {"other peer, last byte", [](RxToken& t) { t.ip_source[15] ^= 1; }},
      {"other address of ours, first byte", [](RxToken& t) { t.ip_destination[0] ^= 0x80; }},
      {"other address of ours, last byte", [](RxToken& t) { t.ip_destination[15] ^= 1; }},
      {"other station, first byte", [](RxToken& t) { t.destination_mac[0] ^= 0x80; }},
      {"other station, last byte", [](RxToken& t) { t.destination_mac[5] ^= 1; }},
  };
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    Ready bench;
    RxToken token = TokenOf({.bytes = 0});
    change(token);
    token.info = spec::kOpcodeInfo[static_cast<uint8_t>(token.bth.opcode)];
    bench.Expect(token, kDropped);
    // The PSN has not advanced either.
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
}

TEST(Responder, LimitedPartitionMembersAreAccepted) {
  Ready bench;
  RxToken token = TokenOf({.bytes = 0});
  token.bth.pkey = 0x7fff;
  bench.Expect(token, Ack(kFirstPsn, 1));
}

TEST(Responder, QpsOfOtherServicesAndNonexistentQpsDoNotAnswer) {
  for (const Qp& qp : {Qp{.type = spec::IbQpType::kUc}, Qp{.type = spec::IbQpType::kUd}, Qp{.valid = false}}) {
    Ready bench(qp);
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
}

TEST(Responder, DropsEverythingWhileDisabled) {
  Ready bench;
  bench.enable.rate = 0;
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
  bench.Expect(NetOf(60), kDropped);
  bench.enable.rate = 16;
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

// --- Net frames

TEST(Responder, NetFrameIsForwardedWithItsLengthAndWithoutAQp) {
  for (const auto state : {IbQpState::kReset, IbQpState::kRts, IbQpState::kErr}) {
    Ready bench({}, state);
    for (const auto bytes : std::to_array<uint16_t>({1, 2, 59, 60, 64, 1514, 4096, 9018, 0x3fff})) {
      RxToken token = NetOf(bytes);
      // Neither its destination nor the field at the QP number's place matters.
      token.destination_mac[bytes % 6] ^= static_cast<uint8_t>(bytes % 4);
      if (bytes % 2 != 0) token.bth.dest_qp = 0xffffff;
      bench.Expect(token, spec::RxPlace{.net_bytes = bytes});
    }
    bench.ExpectFailures({});
    EXPECT_EQ(bench.check.count, 0u);
    EXPECT_EQ(bench.request.count, state == IbQpState::kErr ? 1u : 0u) << "that of the flush";
    // The PSN has not advanced either.
    if (state == IbQpState::kRts) bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  }
}

TEST(Responder, NetFramesKeepTheirOrder) {
  Ready bench;
  std::vector<spec::RxPlace> expected;
  for (uint32_t i = 0; i < 40; ++i) {
    const RxToken write = TokenOf({.psn = kFirstPsn + i});
    bench.frame.tokens.push_back(write);
    expected.push_back(Write(write, 0x10000, Ack(kFirstPsn + i, i + 1)));
    for (uint32_t n = 0; n < i % 3; ++n) {
      const auto bytes = static_cast<uint16_t>(60 + i + n);
      bench.frame.tokens.push_back(NetOf(bytes));
      expected.push_back({.net_bytes = bytes});
    }
  }
  bench.ExpectPlaces(expected);
}

// --- Hold

TEST(Responder, HoldDefersFramesOnly) {
  constexpr uint32_t kFlushed = 3;
  Ready bench;
  bench.Configure({.qpn = kFlushed}, IbQpState::kRts);
  std::vector<spec::RxPlace> flushed;
  for (unsigned i = 0; i < 4; ++i) flushed.push_back(Flushed(bench.host.Post(kFlushed, {}), kFlushed));
  bench.hold.on = true;
  ASSERT_EQ(bench.bench.Run(2), "");
  std::vector<spec::RxPlace> expected;
  for (uint32_t i = 0; i < 6; ++i) {
    if (i == 3) bench.frame.tokens.push_back(NetOf(99));
    if (i == 3) expected.push_back({.net_bytes = 99});
    bench.Send({.psn = kFirstPsn + i, .bytes = 0});
    expected.push_back(Ack(kFirstPsn + i, i + 1));
  }
  bench.qp_state.tokens.push_back({.qpn = kFlushed, .state = IbQpState::kErr});
  for (uint32_t i = 0; i < kReads; ++i) bench.record.tokens.push_back(RecordOf(bench.host, 2, i, 8, {}));
  bench.load.tokens.push_back({.qpn = 2, .psn = 77});
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_TRUE(bench.p.idle_o);
  EXPECT_EQ(Bench::Take(bench.places), flushed);
  EXPECT_TRUE(bench.load.IsEmpty() && bench.record.IsEmpty() && bench.qp_state.IsEmpty());
  EXPECT_FALSE(bench.frame.IsEmpty());
  EXPECT_EQ(bench.expected_psn.sent.back().second.qpn, kFlushed);
  // A doorbell, too.
  const auto more = Flushed(bench.host.Post(kFlushed, {}), kFlushed);
  bench.Ring(kFlushed);
  ASSERT_EQ(bench.bench.Run(40), "");
  EXPECT_EQ(Bench::Take(bench.places), (std::vector<spec::RxPlace>{more}));
  EXPECT_TRUE(bench.p.idle_o);

  bench.hold.on = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_FALSE(bench.p.idle_o);
  bench.ExpectPlaces(expected);
}

// In any cycle of a hold: a frame that has had its turn ends, and no other one starts.
TEST(Responder, FrameInProgressEndsDuringHold) {
  unsigned waited = 0, ended = 0;
  for (unsigned when = 0; when < 60; ++when) {
    Ready bench;
    bench.receive.rate = bench.memory.rate = 8;
    const Posted first = bench.host.Post(kQpn, {Host::Element(0x9000, 500), Host::Element(0xa000, 5000)});
    const Posted second = bench.host.Post(kQpn, {Host::Element(0xb000, 2000)});
    const RxToken a = TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = kMtu});
    const RxToken b = TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 1, .bytes = kMtu});
    bench.frame.tokens = {a, NetOf(64), b};
    ASSERT_EQ(bench.bench.Run(when), "");
    bench.hold.on = true;
    // At most one turn starts, in the cycle in which the hold comes.
    ASSERT_EQ(bench.bench.Run(120), "");
    EXPECT_TRUE(bench.p.idle_o);
    const auto held = Bench::Take(bench.places);
    ++(held.size() < 4 ? waited : ended);
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.Run(2), "");
    bench.RunOut();
    ASSERT_EQ(bench.bench.Run(100), "");
    auto places = held;
    for (const auto& place : Bench::Take(bench.places)) places.push_back(place);
    const std::vector<spec::RxPlace> expected = {
        Scatter(a, 0, 0x9000, 500, kMore),
        Success(first, kMtu, Scatter(a, 500, 0xa000, kMtu - 500, Ack(kFirstPsn, 1))),
        {.net_bytes = 64},
        Success(second, kMtu, Scatter(b, 0, 0xb000, kMtu, Ack(kFirstPsn + 1, 2)))};
    EXPECT_EQ(Taken(places), Taken(expected)) << when;
  }
  EXPECT_GT(waited, 10u);
  EXPECT_GT(ended, 5u);
}

TEST(Responder, DeferredFrameIsServedInTheCycleAfterTheHold) {
  Ready bench;
  bench.hold.on = true;
  ASSERT_EQ(bench.bench.Run(2), "");
  bench.frame.tokens.push_back(NetOf(64));
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.place.count, 0u);
  bench.hold.on = false;
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);
  // A hold in the cycle of the push is in time, one cycle later it is too late.
  for (const unsigned late : {0u, 1u}) {
    const auto before = bench.place.count;
    bench.frame.tokens.push_back(NetOf(64));
    ASSERT_EQ(bench.bench.Run(late), "");
    bench.hold.on = true;
    ASSERT_EQ(bench.bench.Run(20), "");
    EXPECT_EQ(bench.place.count, before + late);
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.Run(20), "");
    EXPECT_EQ(bench.place.count, before + 1);
  }
}

// --- Acknowledges

TEST(Responder, AcknowledgesAreForwardedWithAnySyndrome) {
  Ready bench;
  for (const auto syndrome : std::to_array<uint8_t>({0x1f, 0x05, 0x2c, 0x60, 0x61, 0x62, 0x63, 0xff})) {
    bench.Expect(AckOf(0x123456, syndrome, 0xabcdef),
                 News({.qpn = kQpn, .psn = 0x123456, .syndrome = syndrome, .msn = 0xabcdef}));
  }
  // They are not the peer's requests: no PSN of the peer was used.
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

TEST(Responder, OtherResponsesAndAcknowledgesWithPayloadAreDropped) {
  Ready bench;
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcAtomicAcknowledge, .bytes = 0}), kDropped);
  RxToken ack = AckOf(1, 0x1f, 1);
  ack.payload_bytes = 4;
  bench.Expect(ack, kDropped);
  bench.ExpectFailures({});
}

// --- PSN

TEST(Responder, DuplicateIsAcknowledgedAgainButNotWrittenAgain) {
  Ready bench;
  for (uint32_t i = 0; i < 3; ++i) {
    const RxToken token = TokenOf({.psn = kFirstPsn + i});
    bench.Expect(token, Write(token, 0x10000, Ack(kFirstPsn + i, i + 1)));
  }
  const auto checks = bench.check.count;
  for (const uint32_t behind : {1u, 3u, 4u, 0x800000u}) {
    bench.Expect(TokenOf({.psn = kFirstPsn + 3 - behind, .ack_req = false, .rkey = kBadRkey}), Ack(kFirstPsn + 2, 3));
  }
  // A duplicate that would not be answered by an acknowledge is not answered here.
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFetchAdd, .psn = kFirstPsn}), kDropped);
  bench.Expect(TokenOf({.opcode = BthOpcode{0x1f}, .psn = kFirstPsn}), kDropped);
  EXPECT_EQ(bench.check.count, checks);
  bench.ExpectFailures({});
}

TEST(Responder, GapSendsNakOnceUntilTheMissingPacketComes) {
  Ready bench;
  const auto nak = Answer(kFirstPsn, AethSyndrome::kNakPsnSequenceError, 0);
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), nak);
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), kDropped);
  bench.Expect(TokenOf({.psn = kFirstPsn + 0x7fffff}), kDropped);
  // A duplicate does not fill it.
  bench.Expect(TokenOf({.psn = kFirstPsn - 1}), Ack(kFirstPsn - 1, 0));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 1));
  bench.ExpectFailures({});
}

TEST(Responder, GapInsideAMessageKeepsTheMessage) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 0));
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, Write(last, 0x10000 + kMtu, Ack(kFirstPsn + 1, 1)));
}

TEST(Responder, PsnsWrap) {
  Ready bench;
  for (uint32_t i = 0; i < 40; ++i)
    bench.Expect(TokenOf({.psn = kFirstPsn + i, .bytes = 0}), Ack(kFirstPsn + i, i + 1));
}

// --- Requests that are refused

struct Refusal {
  const char* name;
  Packet packet;
  bool in_message = false;  // after the first packet of a message of two path MTUs
};

std::vector<Refusal> InvalidRequests() {
  using O = BthOpcode;
  const uint32_t after = kFirstPsn + 1;
  return {
      {"middle outside a message", {.opcode = O::kRcRdmaWriteMiddle, .bytes = kMtu}},
      {"last outside a message", {.opcode = O::kRcRdmaWriteLast}},
      {"only inside a message", {.psn = after, .bytes = 0}, true},
      {"first inside a message",
       {.opcode = O::kRcRdmaWriteFirst, .psn = after, .bytes = kMtu, .dma_length = 5000},
       true},
      {"other operation inside a message", {.opcode = O::kRcSendLast, .psn = after}, true},
      {"send's middle outside a message", {.opcode = O::kRcSendMiddle, .bytes = kMtu}},
      {"send's last outside a message", {.opcode = O::kRcSendLast}},
      {"send's last with immediate outside a message", {.opcode = O::kRcSendLastWithImmediate}},
      {"send's first inside a write", {.opcode = O::kRcSendFirst, .psn = after, .bytes = kMtu}, true},
      {"send's middle inside a write", {.opcode = O::kRcSendMiddle, .psn = after, .bytes = kMtu}, true},
      {"send's first shorter than the MTU", {.opcode = O::kRcSendFirst, .bytes = kMtu - 1}},
      {"send longer than the MTU", {.opcode = O::kRcSendOnly, .bytes = kMtu + 1}},
      {"read with payload", {.opcode = O::kRcRdmaReadRequest, .bytes = 4}},
      {"read longer than a message may be",
       {.opcode = O::kRcRdmaReadRequest, .bytes = 0, .dma_length = (1u << 31) + 1}},
      {"read inside a message", {.opcode = O::kRcRdmaReadRequest, .psn = after, .bytes = 0}, true},
      {"atomic on an odd address", {.opcode = O::kRcFetchAdd, .bytes = 0, .address = 0x10001}},
      {"atomic on half an operand", {.opcode = O::kRcCompareSwap, .bytes = 0, .address = 0x10004}},
      {"atomic with payload", {.opcode = O::kRcFetchAdd, .bytes = 4}},
      {"atomic inside a message", {.opcode = O::kRcCompareSwap, .psn = after, .bytes = 0}, true},
      {"flush", {.opcode = O::kRcFlush, .bytes = 0}},
      {"write with immediate shorter than its DMA length",
       {.opcode = O::kRcRdmaWriteOnlyWithImmediate, .bytes = 64, .dma_length = 65}},
      {"last with immediate of nothing", {.opcode = O::kRcRdmaWriteLastWithImmediate, .psn = after, .bytes = 0}, true},
      {"reserved opcode", {.opcode = O{0x15}}},
      {"first shorter than the MTU", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu - 1, .dma_length = 5000}},
      {"first longer than the MTU", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu + 1, .dma_length = 5000}},
      {"first that is all", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu}},
      {"first that is more than all", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 5}},
      {"only longer than the MTU", {.bytes = kMtu + 1}},
      {"only shorter than its DMA length", {.bytes = 64, .dma_length = 65}},
      {"only longer than its DMA length", {.bytes = 64, .dma_length = 63}},
      {"no payload, but a DMA length", {.bytes = 0, .dma_length = 1}},
      {"middle shorter than the MTU", {.opcode = O::kRcRdmaWriteMiddle, .psn = after, .bytes = kMtu - 1}, true},
      {"middle that is all", {.opcode = O::kRcRdmaWriteMiddle, .psn = after, .bytes = kMtu}, true},
      {"last of nothing", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = 0}, true},
      {"last that is not all", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = kMtu - 1}, true},
      {"last longer than the MTU", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = kMtu + 1}, true},
  };
}

TEST(Responder, EveryInvalidRequestIsRefusedAndEndsTheConnection) {
  for (const Refusal& refusal : InvalidRequests()) {
    SCOPED_TRACE(refusal.name);
    Ready bench;
    if (refusal.in_message) {
      const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 2 * kMtu});
      bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
    }
    const auto checks = bench.check.count;
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.Expect(TokenOf(refusal.packet), Answer(refusal.packet.psn, AethSyndrome::kNakInvalidRequest, 0));
    EXPECT_EQ(bench.check.count, checks);
    EXPECT_EQ(bench.request.count, 0u);
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    // The QP has failed, before any other block knows; acknowledges do not reach it either.
    bench.Expect(TokenOf({.psn = refusal.packet.psn, .bytes = 0}), kDropped);
    bench.Expect(AckOf(1, 0x1f, 1), kDropped);
    bench.ExpectFailures({});
  }
}

TEST(Responder, RefusedKeyEndsTheConnection) {
  Ready bench;
  bench.Expect(TokenOf({.rkey = kBadRkey}), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
  EXPECT_EQ(bench.check.count, 1u);
  bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
}

TEST(Responder, KeyIsCheckedWithEveryPacket) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(asked.key, kRkey);
    EXPECT_EQ(asked.address, 0x10000u + kMtu);
    EXPECT_EQ(asked.bytes, 8u);
    bench.memory.tokens.push_back({.status = MemoryStatus::kBounds});
  };
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1, .bytes = 8}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakRemoteAccessError, 0));
}

TEST(Responder, WriteWithoutTheQpsRightIsRefusedWithoutAKeyCheck) {
  for (const uint16_t bytes : {uint16_t{0}, uint16_t{64}}) {
    Ready bench({.remote_write = false});
    bench.Expect(TokenOf({.bytes = bytes}), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
    EXPECT_EQ(bench.check.count, 0u);
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  }
}

TEST(Responder, LoadRestartsTheQp) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 5 * kMtu});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0));
  bench.load.tokens.push_back({.qpn = kQpn, .psn = 0x4711});
  bench.RunOut();
  bench.Expect(TokenOf({.psn = 0x4711, .bytes = 0}), Ack(0x4711, 1));
}

TEST(Responder, ErrorAffectsItsOwnQpOnly) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRtr, 100);
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFlush, .bytes = 0}),
               Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.Expect(TokenOf({.psn = 100, .bytes = 0, .qpn = 6}), Answer(100, AethSyndrome::kAckNoCredits, 1, 6));
}

// --- The first packet in RTR [IBTA vol. 1, 11.6.3.1]

TEST(Responder, FirstPacketInRtrIsReportedOncePerLoad) {
  Ready bench({}, IbQpState::kRtr);
  for (int life = 0; life < 2; ++life) {
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({kEstablished});
    const RxToken next = TokenOf({.psn = kFirstPsn + 1});
    bench.Expect(next, Write(next, 0x10000, Ack(kFirstPsn + 1, 2)));
    bench.SetState(IbQpState::kRts);
    bench.RunOut();
    bench.Expect(TokenOf({.psn = kFirstPsn + 2, .bytes = 0}), Ack(kFirstPsn + 2, 3));
    bench.ExpectFailures({});
    bench.Configure({}, IbQpState::kRtr);
  }
}

TEST(Responder, FirstPacketInAnotherStateIsNotReported) {
  for (const auto state : {IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
}

TEST(Responder, AnyFirstPacketIsReported) {
  {
    Ready bench({}, IbQpState::kRtr);  // a gap
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Answer(kFirstPsn, AethSyndrome::kNakPsnSequenceError, 0));
    bench.ExpectFailures({kEstablished});
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), kDropped);  // also reported once
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
  {
    Ready bench({}, IbQpState::kRtr);  // without a receive
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}), NotReady(kFirstPsn, 0));
    bench.ExpectFailures({kEstablished});
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}), NotReady(kFirstPsn, 0));
    bench.ExpectFailures({});
  }
  {
    Ready bench({}, IbQpState::kRtr);  // a response does not count: nothing was requested
    bench.frame.tokens.push_back(TokenOf({.opcode = BthOpcode::kRcAcknowledge, .bytes = 0}));
    bench.RunOut();
    EXPECT_EQ(Bench::Take(bench.places).size(), 1u);
    bench.ExpectFailures({});
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({kEstablished});
  }
}

TEST(Responder, FirstPacketThatEndsTheConnectionIsReportedBeforeTheFailure) {
  Ready bench({}, IbQpState::kRtr);
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFlush, .bytes = 0}),
               Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.ExpectFailures({kEstablished, Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
}

TEST(Responder, PacketsForOthersDoNotEstablishTheConnection) {
  Ready bench({}, IbQpState::kRtr);
  RxToken stranger = TokenOf({.bytes = 0});
  stranger.ip_source[0] ^= 1;
  bench.Expect(stranger, kDropped);
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly, .bytes = 0}), kDropped);
  bench.ExpectFailures({});
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.ExpectFailures({kEstablished});
}

TEST(Responder, FirstPacketInRtrIsDecidedTwoCyclesLaterAndWaitsForItsReport) {
  Ready bench({}, IbQpState::kRtr);
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + Responder::kAnnounceLatency + 1;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);
  bench.Configure({}, IbQpState::kRtr);
  bench.failure.rate = 0;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  ASSERT_EQ(bench.bench.Run(50), "");
  EXPECT_EQ(bench.place.count, 1u);
  bench.failure.rate = 16;
  bench.RunOut();
  EXPECT_EQ(bench.place.count, 2u);
  EXPECT_EQ(bench.failure.count, 2u);
}

}  // namespace
}  // namespace vireo::verif
