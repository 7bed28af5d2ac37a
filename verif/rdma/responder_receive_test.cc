// SPDX-License-Identifier: Apache-2.0
// The responder: messages that take a receive, flushes, and the timing of decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

// --- Receives

TEST(Responder, SendFillsTheReceivesElementAndCompletesIt) {
  Ready bench;
  for (uint32_t i = 0; i < 3; ++i) {
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9001 + i, 100)});
    const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly,
                                .psn = kFirstPsn + i,
                                .bytes = static_cast<uint16_t>(99 + i % 2),
                                .solicited = i == 1});
    bench.Expect(token, Scatter(token, 0, 0x9001 + i, 99 + i % 2,
                                Success(posted, 99 + i % 2, Ack(kFirstPsn + i, i + 1), i == 1)));
  }
  bench.ExpectFailures({});
}

TEST(Responder, ImmediateDataComesWithTheCompletion) {
  Ready bench;
  const spec::RdmaCqReq with{.imm_data = {0x11, 0x22, 0x33, 0x44}, .wc_flags = spec::IbWcFlags::kWithImm};
  auto cqe = with;
  cqe.opcode = IbWcOpcode::kRecv;
  cqe.byte_len = 5;
  Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  const auto send = TokenOf({.opcode = BthOpcode::kRcSendOnlyWithImmediate, .bytes = 5});
  bench.Expect(send, With(Scatter(send, 0, 0x9000, 5, Ack(kFirstPsn, 1)), CompletionOf(posted, cqe, false)));

  // A WRITE writes to its RETH's address; of the receive it uses only the work request.
  cqe.opcode = IbWcOpcode::kRecvRdmaWithImm;
  cqe.byte_len = 64;
  posted = bench.host.Post(kQpn, {});
  const auto only = TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .psn = kFirstPsn + 1});
  bench.Expect(only, With(Write(only, 0x10000, Ack(kFirstPsn + 1, 2)), CompletionOf(posted, cqe, false)));

  const auto first =
      TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .psn = kFirstPsn + 2, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn + 2, 2)));
  cqe.byte_len = kMtu + 8;
  posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64, kBadLkey)});
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLastWithImmediate,
                             .psn = kFirstPsn + 3,
                             .bytes = 8,
                             .ack_req = false,
                             .solicited = true});
  bench.Expect(last, With(Write(last, 0x10000 + kMtu), CompletionOf(posted, cqe, true)));
}

TEST(Responder, ZeroByteWriteWithImmediateNeedsAReceiveButNoKey) {
  Ready bench;
  const auto token = TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .bytes = 0, .rkey = kBadRkey});
  bench.Expect(token, NotReady(kFirstPsn, 0));
  const Posted posted = bench.host.Post(kQpn, {});
  bench.Expect(token, With(Ack(kFirstPsn, 1), CompletionOf(posted,
                                                           {.opcode = IbWcOpcode::kRecvRdmaWithImm,
                                                            .imm_data = {0x11, 0x22, 0x33, 0x44},
                                                            .wc_flags = spec::IbWcFlags::kWithImm},
                                                           false)));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, ZeroByteSendTakesAReceive) {
  Ready bench;
  const Posted first = bench.host.Post(kQpn, {});
  const Posted second = bench.host.Post(kQpn, {Host::Element(0, 10, kBadLkey)});
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = 0}), Success(first, 0, Ack(kFirstPsn, 1)));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 1, .bytes = 0}),
               Success(second, 0, Ack(kFirstPsn + 1, 2)));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, MessageFillsTheElementsInOrder) {
  Ready bench;
  // Borders inside of packets and at their end, and elements of 0 bytes, whose key is not checked.
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0, 0, kBadLkey), Host::Element(0x1000, 10), Host::Element(0x3001, kMtu - 20),
                             Host::Element(0, 0, kBadLkey), Host::Element(0x5000, 10), Host::Element(0, 0, kBadLkey),
                             Host::Element(0x7000, 3 * kMtu), Host::Element(0, 1, kBadLkey)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, {Scatter(first, 0, 0x1000, 10, kMore), Scatter(first, 10, 0x3001, kMtu - 20, kMore),
                       Scatter(first, kMtu - 10, 0x5000, 10)});
  const auto middle = TokenOf({.opcode = BthOpcode::kRcSendMiddle, .psn = kFirstPsn + 1, .bytes = kMtu});
  bench.Expect(middle, Scatter(middle, 0, 0x7000, kMtu, Ack(kFirstPsn + 1, 0)));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 2, .bytes = 33});
  bench.Expect(last, Scatter(last, 0, 0x7000 + kMtu, 33, Success(posted, 2 * kMtu + 33, Ack(kFirstPsn + 2, 1))));
  // One request for the receive, one for each further element needed.
  ASSERT_EQ(bench.host.asked.size(), 7u);
  for (size_t i = 1; i < 7; ++i) {
    EXPECT_EQ(bench.host.asked[i], (spec::ReceiveRequest{.qpn = kQpn,
                                                         .is_element = true,
                                                         .address = 0x7000'0000 + 16 * i,
                                                         .elements = static_cast<uint8_t>(8 - i),
                                                         .is_new = i == 1}));
  }
}

TEST(Responder, MessageMayEndWithItsElements) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x1000, 3), Host::Element(0x2000, kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, {Scatter(first, 0, 0x1000, 3, kMore), Scatter(first, 3, 0x2000, kMtu - 3)});
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 3});
  bench.Expect(last, Scatter(last, 0, 0x2000 + kMtu - 3, 3, Success(posted, kMtu + 3, Ack(kFirstPsn + 1, 1))));
}

TEST(Responder, MessagesOfTwoQpsDoNotMix) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRts, 100);
  const Posted five = bench.host.Post(5, {Host::Element(0x1000, kMtu + 5), Host::Element(0x3000, 5)});
  bench.host.Post(6, {Host::Element(0x8000, kMtu), Host::Element(0xa000, 100)});
  const auto first5 = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first5, Scatter(first5, 0, 0x1000, kMtu));
  const auto first6 =
      TokenOf({.opcode = BthOpcode::kRcSendFirst, .psn = 100, .bytes = kMtu, .ack_req = false, .qpn = 6});
  bench.Expect(first6, Scatter(first6, 0, 0x8000, kMtu));
  const auto last5 = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 10});
  bench.Expect(last5, {Scatter(last5, 0, 0x1000 + kMtu, 5, kMore),
                       Scatter(last5, 5, 0x3000, 5, Success(five, kMtu + 10, Ack(kFirstPsn + 1, 1)))});
  const auto middle6 =
      TokenOf({.opcode = BthOpcode::kRcSendMiddle, .psn = 101, .bytes = kMtu, .ack_req = false, .qpn = 6});
  bench.frame.tokens.push_back(middle6);
  ASSERT_EQ(bench.bench.RunOut(100), "");
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], Scatter(middle6, 0, 0xa000, 100, kMore));
}

TEST(Responder, SendWithoutAReceiveGetsAnRnrNak) {
  for (const auto opcode : {BthOpcode::kRcSendOnly, BthOpcode::kRcRdmaWriteOnlyWithImmediate}) {
    Ready bench;
    const auto token = TokenOf({.opcode = opcode, .ack_req = false});
    bench.Expect(token, NotReady(kFirstPsn, 0));
    // Later packets are dropped silently until retransmitted.
    bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
    bench.Expect(TokenOf({.psn = kFirstPsn - 1}), Ack(kFirstPsn - 1, 0));
    bench.Expect(token, NotReady(kFirstPsn, 0));
    bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
    bench.frame.tokens.push_back(token);
    bench.RunOut();
    const auto out = Bench::Take(bench.places);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].completion.head, posted.head);
    EXPECT_NE(out[0].bytes0, 0u);
    EXPECT_FALSE(out[0].has_answer);
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Ack(kFirstPsn + 1, 2));
    bench.Expect(TokenOf({.psn = kFirstPsn + 3}), Answer(kFirstPsn + 2, AethSyndrome::kNakPsnSequenceError, 2));
    bench.ExpectFailures({});
  }
}

TEST(Responder, WriteWithImmediateWithoutAReceiveKeepsItsMessage) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLastWithImmediate, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, NotReady(kFirstPsn + 1, 0));
  bench.host.Post(kQpn, {});
  bench.frame.tokens.push_back(last);
  bench.RunOut();
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].address0, Write(last, 0x10000 + kMtu).address0);
  EXPECT_EQ(out[0].answer, Ack(kFirstPsn + 1, 1).answer);
}

TEST(Responder, RefusedWriteWithImmediateTakesNoReceive) {
  Ready bench;
  bench.host.Post(kQpn, {});
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .rkey = kBadRkey}),
               Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
  EXPECT_EQ(bench.request.count, 0u);
  bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
}

TEST(Responder, UnreadableReceiveEndsTheConnection) {
  for (const auto opcode : {BthOpcode::kRcSendOnly, BthOpcode::kRcRdmaWriteOnlyWithImmediate}) {
    for (const auto code : {RdmaError::kBadWqe, RdmaError::kBadDescriptor, RdmaError::kQueueDmaError}) {
      Ready bench;
      const Posted posted = bench.host.Post(kQpn, {}, code);
      bench.Expect(TokenOf({.opcode = opcode}), Failed(posted, IbWcStatus::kLocQpOpErr, static_cast<uint32_t>(code),
                                                       Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0)));
      bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
      bench.Expect(TokenOf({.bytes = 0}), kDropped);
    }
    // A queue that is broken has no work request that could complete.
    Ready bench;
    bench.host.broken[kQpn] = true;
    bench.Expect(TokenOf({.opcode = opcode}), Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kRemoteOperationalError, false)});
  }
}

TEST(Responder, UnreadableElementEndsTheConnection) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 60), Host::Element(0xa000, 60)});
  bench.request.on_token = [&](Cycle, const spec::ReceiveRequest& asked) {
    bench.host.elements.clear();
    bench.receive.tokens.push_back(bench.host.Answer(asked));
    if (!asked.is_element) bench.host.elements.clear();
  };
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token, {Scatter(token, 0, 0x9000, 60, kMore),
                       Failed(posted, IbWcStatus::kLocQpOpErr, static_cast<uint32_t>(RdmaError::kQueueDmaError),
                              Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0))});
  bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kQueueDmaError)});
}

TEST(Responder, ElementKeyIsCheckedForEveryPieceOfAMessage) {
  const auto nak = Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0);
  const std::pair<uint32_t, RdmaError> keys[] = {{kBadLkey, RdmaError::kBadMrn}, {kRkey, RdmaError::kBadAccessFlags}};
  for (const auto& [key, why] : keys) {
    Ready bench;
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64, key)});
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}),
                 Failed(posted, IbWcStatus::kLocProtErr, static_cast<uint32_t>(why), nak));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, why)});
  }
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 60), Host::Element(0xa000, 60, kBadLkey)});
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token, {Scatter(token, 0, 0x9000, 60, kMore),
                       Failed(posted, IbWcStatus::kLocProtErr, static_cast<uint32_t>(RdmaError::kBadMrn), nak)});
  bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kBadMrn)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
  // The receive has been used: ERR has nothing left to flush.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, ElementKeyIsCheckedWithEveryPacket) {
  Ready later;
  const Posted posted = later.host.Post(kQpn, {Host::Element(0x9000, 2 * kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  later.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  later.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(asked.key, kLkey);
    EXPECT_EQ(asked.address, 0x9000u + kMtu);
    EXPECT_EQ(asked.bytes, 8u);
    later.memory.tokens.push_back({.status = MemoryStatus::kBounds});
  };
  later.Expect(TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 8}),
               Failed(posted, IbWcStatus::kLocProtErr, static_cast<uint32_t>(RdmaError::kInvalidLength),
                      Answer(kFirstPsn + 1, AethSyndrome::kNakRemoteOperationalError, 0)));
}

TEST(Responder, MessageLongerThanItsElementsEndsTheConnection) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 32), Host::Element(0xa000, 31)});
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token, {Scatter(token, 0, 0x9000, 32, kMore), Scatter(token, 32, 0xa000, 31, kMore),
                       Failed(posted, IbWcStatus::kLocLenErr, kInvalid,
                              Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0))});
  bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest, true)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
}

TEST(Responder, ReceiveWithoutElementsHoldsNothing) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  Ready none;
  const Posted posted = none.host.Post(kQpn, {});
  none.Expect(token,
              Failed(posted, IbWcStatus::kLocLenErr, kInvalid, Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0)));
}

TEST(Responder, SecondPacketBeyondTheElementsEndsTheConnection) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  Ready later;
  const Posted posted = later.host.Post(kQpn, {Host::Element(0x9000, kMtu), Host::Element(0, 0)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  later.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  later.Expect(
      TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 1}),
      Failed(posted, IbWcStatus::kLocLenErr, kInvalid, Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0)));
  later.SetState(IbQpState::kErr);
  later.ExpectPlaces({});
}

TEST(Responder, GapOrDuplicateInsideASendKeepsTheReceive) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(first, Ack(kFirstPsn, 0));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 2}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 0));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, Scatter(last, 0, 0x9000 + kMtu, 8, Success(posted, kMtu + 8, Ack(kFirstPsn + 1, 1))));
}

// --- Flush

TEST(Responder, ErrFlushesTheHeldReceiveAndThenAllOthers) {
  Ready bench;
  std::vector<spec::RxPlace> flushed;
  for (unsigned i = 0; i < 5; ++i) flushed.push_back(Flushed(bench.host.Post(kQpn, {Host::Element(0x9000, 5000)})));
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces(flushed);
  // Receives posted later, after a doorbell.
  const Posted later = bench.host.Post(kQpn, {});
  bench.ExpectPlaces({});
  bench.Ring();
  bench.ExpectPlaces({Flushed(later)});
  bench.ExpectFailures({});
  // Repeated, it finds nothing.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, InvalidRequestInsideASendFlushesTheReceiveInErr) {
  Ready bench;
  const Posted held = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const Posted next = bench.host.Post(kQpn, {});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0));
  bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  bench.Ring();
  bench.ExpectPlaces({});  // not yet in force
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(held), Flushed(next)});
}

// The receive that the WRITE would have consumed, and only that one; of a WRITE without immediate none.
TEST(Responder, RefusedWriteWithImmediateEndsItsReceiveWithAccessError) {
  const auto nak = [](uint32_t psn, uint32_t msn = 0) { return Answer(psn, AethSyndrome::kNakRemoteAccessError, msn); };
  const auto refused = [](const Posted& posted) {
    return Failed(posted, IbWcStatus::kLocAccessErr, static_cast<uint32_t>(AethSyndrome::kNakRemoteAccessError),
                  {.no_frame = true});
  };
  for (const bool immediate : {true, false}) {
    Ready bench;
    const Posted own = bench.host.Post(kQpn, {});
    const Posted next = bench.host.Post(kQpn, {});
    bench.Expect(TokenOf({.opcode = immediate ? BthOpcode::kRcRdmaWriteOnlyWithImmediate : BthOpcode::kRcRdmaWriteOnly,
                          .rkey = kBadRkey}),
                 nak(kFirstPsn));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({immediate ? refused(own) : Flushed(own), Flushed(next)});
  }
  {  // The last packet of a longer one.
    Ready bench;
    const Posted own = bench.host.Post(kQpn, {});
    const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
    bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
    bench.check.on_token = [&](Cycle, const spec::MemoryCheck&) {
      bench.memory.tokens.push_back({.status = spec::MemoryStatus::kBounds});
    };
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLastWithImmediate, .psn = kFirstPsn + 1, .bytes = 8}),
                 nak(kFirstPsn + 1));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({refused(own)});
  }
  // Without a receive nothing remains for those that are posted later, nor for the QP's next lifetime.
  for (const bool loads : {false, true}) {
    Ready bench;
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .rkey = kBadRkey}), nak(kFirstPsn));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
    if (loads) {
      bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
      bench.RunOut();
    } else {
      bench.SetState(IbQpState::kErr);
      bench.ExpectPlaces({});
    }
    const Posted later = bench.host.Post(kQpn, {});
    if (loads) {
      bench.SetState(IbQpState::kErr);
    } else {
      bench.Ring();
    }
    bench.ExpectPlaces({Flushed(later)});
  }
}

TEST(Responder, WriteInProgressHoldsNoReceive) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 2 * kMtu});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, FlushPassesBadWorkRequestsAndEndsAtABrokenQueue) {
  Ready bench;
  const Posted bad = bench.host.Post(kQpn, {}, RdmaError::kBadWqe);
  const Posted good = bench.host.Post(kQpn, {});
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(bad), Flushed(good)});
  bench.host.broken[kQpn] = true;
  bench.Ring();
  bench.ExpectPlaces({});
}

TEST(Responder, ResetStateDiscardsTheHeldReceive) {
  Ready bench;
  bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.SetState(IbQpState::kReset, true);
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 1u);
  // Without a load before it.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 2u);
}

// It is behind those that the clear discards.
TEST(Responder, ReceiveThatComesAfterAClearIsDiscarded) {
  for (const bool flush : {true, false}) {
    Ready bench;
    bench.receive.rate = 0;
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    if (flush) bench.SetState(IbQpState::kErr);
    if (!flush) bench.Send({.opcode = BthOpcode::kRcSendOnly, .bytes = kMtu});
    ASSERT_EQ(bench.bench.Run(30), "");
    ASSERT_EQ(bench.request.count, 1u);
    bench.SetState(IbQpState::kReset, true);
    ASSERT_EQ(bench.bench.Run(10), "");
    bench.receive.rate = 16;
    ASSERT_EQ(bench.bench.Run(400), "");
    for (const auto& place : Bench::Take(bench.places)) EXPECT_EQ(place.completion, spec::Completion{});
    EXPECT_EQ(bench.p.idle_o, 1);
  }
}

TEST(Responder, OnlyDoorbellsOfReceiveQueuesInErrAreServed) {
  Ready bench;
  bench.host.Post(kQpn, {});
  for (unsigned vq_index = 0; vq_index < 64; ++vq_index) {
    bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq_index)});
  }
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 0u);
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  Bench::Take(bench.places);
  bench.RunOut();
  const auto asked = bench.request.count;
  for (unsigned vq_index = 0; vq_index < 64; ++vq_index) {
    if (vq_index != kFirstReceiveQueue + 2 * kQpn) {
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq_index)});
    }
  }
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, asked);
}

TEST(Responder, QueueMappingFollowsTheNegotiatedPairs) {
  Ready bench;
  bench.mq.on = true;
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  Posted posted = bench.host.Post(kQpn, {});
  constexpr uint16_t kMore = 2 * (kNetQueuePairs - 1);
  bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + kMore + 2 * kQpn)});
  auto expected = Flushed(posted);
  expected.completion.vq_index = static_cast<uint16_t>(expected.completion.vq_index + kMore);
  bench.ExpectPlaces({expected});
}

TEST(Responder, FramesOfOtherQpsAreServedBetweenFlushes) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRts, 100);
  for (unsigned i = 0; i < 10; ++i) bench.host.Post(kQpn, {});
  for (uint32_t i = 0; i < 10; ++i) bench.Send({.psn = 100 + i, .bytes = 0, .qpn = 6});
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  bench.RunOut();
  bench.RunOut();
  bench.RunOut();
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 20u);
  // From the first flush on, in turn.
  const auto first = std::find_if(out.begin(), out.end(), [](const auto& place) { return place.no_frame; });
  ASSERT_LT(first - out.begin(), 3);
  for (auto place = first; place < first + 14; ++place) EXPECT_EQ(place->no_frame, (place - first) % 2 == 0);
}

// A queue pair in ERR that rings although its receives are not at hand, so that host memory would have to be read.
TEST(Responder, FlushThatIsPendingHoldsNoFrame) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRts, 100);
  bench.pending = 16;
  bench.retry.rate = 0;
  const Posted posted = bench.host.Post(kQpn, {});
  bench.SetState(IbQpState::kErr);
  ASSERT_EQ(bench.bench.Run(200), "");
  ASSERT_EQ(bench.retry.tokens.size(), 1u);
  bench.Ring();
  for (uint32_t i = 0; i < 10; ++i) bench.Send({.psn = 100 + i, .bytes = 0, .qpn = 6});
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(Bench::Take(bench.places).size(), 10u);
  ASSERT_EQ(bench.retry.tokens.size(), 2u);
  // One retry more finds it, the other nothing.
  bench.pending = 0;
  bench.retry.rate = 16;
  bench.ExpectPlaces({Flushed(posted)});
  // No QP in ERR: nothing is requested.
  const auto before = bench.request.count;
  bench.retry.tokens.push_back({.qpn = 6});
  bench.RunOut();
  EXPECT_EQ(bench.request.count, before);
}

TEST(Responder, ErrWhileAFrameWaitsCompletesItsReceiveOnce) {
  // ERR comes in any cycle of a frame that takes a receive, and of one that continues with it.
  for (unsigned when = 0; when < 30; ++when) {
    for (const auto opcode : {BthOpcode::kRcSendFirst, BthOpcode::kRcSendOnly}) {
      Ready bench;
      bench.receive.rate = bench.memory.rate = 5;
      bench.host.Post(kQpn, {Host::Element(0x9000, 500), Host::Element(0xa000, 5000)});
      bench.host.Post(kQpn, {});
      bench.Send({.opcode = opcode, .bytes = kMtu});
      ASSERT_EQ(bench.bench.Run(when), "");
      bench.SetState(IbQpState::kErr);
      ASSERT_EQ(bench.bench.Run(400), "");
      std::vector<spec::Completion> completions;
      for (const auto& place : Bench::Take(bench.places)) {
        if (place.has_completion) completions.push_back(place.completion);
      }
      ASSERT_EQ(completions.size(), 2u);
      EXPECT_EQ(completions[0].head, 1u);
      EXPECT_EQ(completions[1].head, 2u);
      EXPECT_TRUE(bench.block.IsIdle());
    }
  }
}

TEST(Responder, SendRequestsReceiveAndElementTwoCyclesAfterEachInput) {
  Ready bench;
  bench.request.on_token = nullptr;
  bench.check.on_token = nullptr;
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  bench.Send({.opcode = BthOpcode::kRcSendOnly});
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.request.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 1u);
  ASSERT_EQ(bench.bench.Run(10), "");
  spec::Receive receive{.num_sge = 1};
  Host::Element(0x9000, 64).Encode(receive.sge);
  bench.receive.tokens.push_back(receive);
  // In its slice, taken, decided, in the register.
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 64});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);

  // A flush: the pulse's register, the set (2), the turn, the tables.
  bench.SetState(IbQpState::kErr);
  ASSERT_EQ(bench.bench.Run(1 + 2 + 1 + Responder::kFlushLatency), "");
  EXPECT_EQ(bench.request.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 2u);
  bench.receive.tokens.push_back(receive);
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
}

// --- Timing

TEST(Responder, DecidesThreeCyclesAfterTheFrameAndTwoAfterTheKeyCheck) {
  Ready bench;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  const Cycle pushed = bench.bench.cycle();
  // In its slice, its turn, two cycles to decide, in the register.
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  EXPECT_FALSE(bench.block.IsIdle());
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.place.count, 1u);
  EXPECT_EQ(bench.places.sent().back().cycle, pushed + kLatency);
  EXPECT_TRUE(bench.block.IsIdle());

  bench.check.on_token = nullptr;
  bench.frame.tokens.push_back(TokenOf({.psn = kFirstPsn + 1}));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  ASSERT_EQ(bench.bench.Run(10), "");
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 64});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
}

// The next element does not wait for the key check in front of it, nor does its own key check.
TEST(Responder, TwoElementsAreCheckedAtATime) {
  Ready bench;
  bench.check.on_token = nullptr;
  bench.host.Post(kQpn, {Host::Element(0x1000, 10), Host::Element(0x2000, 10), Host::Element(0x3000, 10),
                         Host::Element(0x4000, kMtu)});
  bench.frame.tokens.push_back(TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = 40}));
  ASSERT_EQ(bench.bench.Run(30), "");
  EXPECT_EQ(bench.check.count, 2u);
  EXPECT_EQ(bench.host.asked.size(), 3u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 0x1000, .bytes0 = 10});
  // The third one has come already.
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.place.count, 1u);
  EXPECT_EQ(bench.check.count, 2u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 3u);
  EXPECT_EQ(bench.host.asked.size(), 4u);

  // What was requested behind one that is refused ends first.
  bench.memory.tokens.push_back({.status = MemoryStatus::kRights});
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.place.count, 1u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 0x3000, .bytes0 = 10});
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.place.count, 2u);
  EXPECT_EQ(bench.failure.count, 1u);
  EXPECT_TRUE(bench.block.IsIdle());
}

// Whichever element is refused, and whichever have come by then.
TEST(Responder, RefusedElementEndsThoseBehindIt) {
  constexpr size_t kElements = 6;
  for (size_t refused = 0; refused < kElements; ++refused) {
    for (const unsigned rate : {16U, 5U, 2U}) {
      Ready bench;
      bench.receive.rate = rate;
      bench.memory.rate = rate;
      std::vector<spec::RdmaSge> elements;
      std::vector<spec::RxPlace> expected;
      const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = 10 * kElements});
      for (size_t i = 0; i < kElements; ++i) {
        elements.push_back(Host::Element(0x1000 * (i + 1), 10, i == refused ? kBadLkey : kLkey));
        if (i < refused) expected.push_back(Scatter(token, static_cast<uint32_t>(10 * i), 0x1000 * (i + 1), 10, kMore));
      }
      const Posted posted = bench.host.Post(kQpn, elements);
      const auto code = static_cast<uint32_t>(RdmaError::kBadMrn);
      expected.push_back(Failed(posted, IbWcStatus::kLocProtErr, code,
                                Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0)));
      bench.Expect(token, expected);
      bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kBadMrn)});
    }
  }
}

TEST(Responder, FrameTakesThreeCyclesWithoutAKeyCheck) {
  Ready bench;
  constexpr uint32_t kFrames = 20;
  for (uint32_t i = 0; i < kFrames; ++i) bench.Send({.psn = kFirstPsn + i, .bytes = 0});
  bench.RunOut();
  const auto& sent = bench.places.sent();
  ASSERT_EQ(sent.size(), kFrames);
  EXPECT_EQ(sent.back().cycle - sent.front().cycle, uint64_t{3} * (kFrames - 1));
}

}  // namespace
}  // namespace vireo::verif
