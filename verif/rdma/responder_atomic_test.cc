// SPDX-License-Identifier: Apache-2.0
// The responder: atomic operations of the peer, and the results of ours.
#include <gtest/gtest.h>

#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

using O = BthOpcode;

Packet Request(O opcode, uint32_t psn) {
  return {.opcode = opcode, .psn = psn, .bytes = 0, .ack_req = true, .address = 0x7'0000'0008};
}

RxToken ResultOf(uint32_t psn, uint64_t value, uint8_t syndrome = 0x07) {
  RxToken token =
      TokenOf({.opcode = O::kRcAtomicAcknowledge, .psn = psn, .bytes = 0, .ack_req = false, .swap_add = value});
  token.extension[0] = syndrome;
  token.extension[1] = 0xab;
  token.extension[2] = 0xcd;
  token.extension[3] = 0xef;
  return token;
}
constexpr uint64_t kValue = 0x0123'4567'89ab'cdef;

// --- Of the peer

TEST(ResponderAtomic, RequestGoesToTheReadResponderWithItsOperands) {
  Ready bench;
  uint32_t psn = kFirstPsn;
  for (const O opcode : {O::kRcCompareSwap, O::kRcFetchAdd}) {
    const Packet packet = Request(opcode, psn++);
    bench.Expect(TokenOf(packet), GivenAtomic(packet, psn - kFirstPsn));
    // Its key was checked, for this right alone.
    EXPECT_EQ(
        bench.checks.sent().back().token,
        (spec::MemoryCheck{
            .key = kRkey, .pdn = kPdn, .remote_atomic = true, .address = packet.address, .bytes = 8, .qpn = kQpn}));
  }
  // Each has one PSN and one MSN.
  bench.Expect(TokenOf({.psn = psn, .bytes = 0}), Ack(psn, 3));
  bench.ExpectFailures({});
}

void ExpectRefusal(Ready& bench, const Packet& packet, AethSyndrome syndrome, RdmaEventType event) {
  bench.Expect(TokenOf(packet), Answer(packet.psn, syndrome, 0));
  bench.ExpectFailures({Failure(event, syndrome)});
  bench.Expect(TokenOf(packet), kDropped);
}
// The queue pair is not set up for the operation, and so does not support it.
void ExpectUnsupported(Ready& bench, const Packet& packet) {
  ExpectRefusal(bench, packet, AethSyndrome::kNakInvalidRequest, RdmaEventType::kQpReqErr);
  EXPECT_EQ(bench.check.count, 0u);
}
void ExpectForbidden(Ready& bench, const Packet& packet) {
  ExpectRefusal(bench, packet, AethSyndrome::kNakRemoteAccessError, RdmaEventType::kQpAccessErr);
}

TEST(ResponderAtomic, RightOfQueuePairAndKeyAreNeeded) {
  {
    Ready bench({.remote_atomic = false});
    ExpectUnsupported(bench, Request(O::kRcFetchAdd, kFirstPsn));
  }
  {
    Ready bench;
    Packet packet = Request(O::kRcCompareSwap, kFirstPsn);
    packet.rkey = kBadRkey;
    ExpectForbidden(bench, packet);
  }
  {
    Ready bench({.remote_write = false, .remote_read = false});
    const Packet packet = Request(O::kRcFetchAdd, kFirstPsn);
    bench.Expect(TokenOf(packet), GivenAtomic(packet, 1));
  }
}

// An invalid request comes before one without right, and that before one with a wrong key.
TEST(ResponderAtomic, AlignmentIsCheckedFirst) {
  for (const uint64_t address : {1u, 2u, 4u, 7u, 12u}) {
    Ready bench({.remote_atomic = false});
    Packet packet = Request(O::kRcFetchAdd, kFirstPsn);
    packet.address = address;
    bench.Expect(TokenOf(packet), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    EXPECT_EQ(bench.check.count, 0u);
  }
}

TEST(ResponderAtomic, DuplicateIsMarkedAndNeedsNoKey) {
  Ready bench;
  const Packet first = Request(O::kRcCompareSwap, kFirstPsn);
  bench.Expect(TokenOf(first), GivenAtomic(first, 1));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Ack(kFirstPsn + 1, 2));
  const auto checks = bench.check.count;
  Packet again = first;
  again.rkey = kBadRkey;
  bench.Expect(TokenOf(again), GivenAtomic(again, 2, true));
  EXPECT_EQ(bench.check.count, checks);
  // One that is not legal is dropped.
  again.address = 4;
  bench.Expect(TokenOf(again), kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderAtomic, SharesTheResourcesOfReads) {
  Ready bench({.max_reads = 2});
  const auto read = ReadRequest(kFirstPsn, 8);
  bench.Expect(TokenOf(read), Given(read, 1));
  const Packet second = Request(O::kRcFetchAdd, kFirstPsn + 1);
  bench.Expect(TokenOf(second), GivenAtomic(second, 2));
  // One that has ended makes room.
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  bench.RunOut();
  const Packet third = Request(O::kRcFetchAdd, kFirstPsn + 2);
  bench.Expect(TokenOf(third), GivenAtomic(third, 3));
  bench.Expect(TokenOf(Request(O::kRcFetchAdd, kFirstPsn + 3)),
               Answer(kFirstPsn + 3, AethSyndrome::kNakInvalidRequest, 3));
}

TEST(ResponderAtomic, OtherServicesHaveNone) {
  for (const auto type : {spec::IbQpType::kUc, spec::IbQpType::kUd}) {
    Ready bench({.type = type});
    const auto service = static_cast<unsigned>(type == spec::IbQpType::kUc ? 0x20 : 0x60);
    for (const O opcode : {O::kRcCompareSwap, O::kRcFetchAdd}) {
      RxToken token = TokenOf(Request(opcode, kFirstPsn));
      bench.Expect(token, kDropped);
      token.bth.opcode = O{static_cast<uint8_t>(service + static_cast<unsigned>(opcode))};
      token.info = spec::kOpcodeInfo[static_cast<uint8_t>(token.bth.opcode)];
      bench.Expect(token, kDropped);
    }
    bench.ExpectFailures({});
  }
}

// --- ATOMIC WRITE of the peer

Packet Store(uint32_t psn) {
  return {.opcode = O::kRcAtomicWrite, .psn = psn, .bytes = 8, .ack_req = true, .address = 0x7'0000'0008};
}

TEST(ResponderAtomic, AtomicWriteGoesToTheReadResponderWithItsValue) {
  // The right to write is enough.
  Ready bench({.remote_read = false, .remote_atomic = false});
  const Packet packet = Store(kFirstPsn);
  bench.Expect(TokenOf(packet), GivenStore(packet, 1));
  EXPECT_EQ(bench.checks.sent().back().token,
            (spec::MemoryCheck{
                .key = kRkey, .pdn = kPdn, .remote_write = true, .address = packet.address, .bytes = 8, .qpn = kQpn}));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Ack(kFirstPsn + 1, 2));
  // A duplicate is marked, and needs no key.
  const auto checks = bench.check.count;
  Packet again = packet;
  again.rkey = kBadRkey;
  bench.Expect(TokenOf(again), GivenStore(again, 2, true));
  EXPECT_EQ(bench.check.count, checks);
  again.address += 4;
  bench.Expect(TokenOf(again), kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderAtomic, AtomicWriteNeedsTheRightsToWrite) {
  Ready without({.remote_write = false});
  ExpectUnsupported(without, Store(kFirstPsn));
  Ready bench;
  Packet packet = Store(kFirstPsn);
  packet.rkey = kBadRkey;
  ExpectForbidden(bench, packet);
}

// Aligned, and 8 bytes by header and payload; checked before the rights. [A19.4.2]
TEST(ResponderAtomic, AtomicWriteOfAnotherShapeIsInvalid) {
  struct Shape {
    uint64_t address;
    uint16_t bytes;
    uint32_t dma_length;
  };
  for (const Shape& shape : {Shape{0x1001, 8, 8}, Shape{0x1004, 8, 8}, Shape{0x1000, 7, 8}, Shape{0x1000, 9, 8},
                             Shape{0x1000, 0, 8}, Shape{0x1000, 8, 7}, Shape{0x1000, 8, 16}, Shape{0x1000, 8, 0},
                             Shape{0x1000, 16, 16}, Shape{0x1000, 0, 0}, Shape{0x1000, 8, 0x8000'0008}}) {
    Ready bench({.remote_write = false});
    Packet packet = Store(kFirstPsn);
    packet.address = shape.address;
    packet.bytes = shape.bytes;
    packet.dma_length = shape.dma_length;
    bench.Expect(TokenOf(packet), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    EXPECT_EQ(bench.check.count, 0u);
  }
}

TEST(ResponderAtomic, AtomicWritesShareTheResourcesOfReads) {
  Ready bench({.max_reads = 2});
  const auto read = ReadRequest(kFirstPsn, 8);
  bench.Expect(TokenOf(read), Given(read, 1));
  const Packet second = Store(kFirstPsn + 1);
  bench.Expect(TokenOf(second), GivenStore(second, 2));
  bench.Expect(TokenOf(Store(kFirstPsn + 2)), Answer(kFirstPsn + 2, AethSyndrome::kNakInvalidRequest, 2));
}

// --- FLUSH of the peer

// `feth`: selectivity level above the placement types.
Packet Flush(uint32_t psn, uint8_t feth, uint32_t bytes = 5000) {
  return {.opcode = O::kRcFlush,
          .psn = psn,
          .bytes = 0,
          .ack_req = true,
          .address = 0x7'0000'0003,
          .dma_length = bytes,
          .swap_add = feth};
}

TEST(ResponderAtomic, FlushGoesToTheReadResponderWithWhatItRequests) {
  uint32_t psn = kFirstPsn, msn = 0;
  Ready bench({.remote_write = false, .remote_read = false, .remote_atomic = false, .max_reads = 200});
  for (const uint8_t feth : std::initializer_list<uint8_t>{0x01, 0x02, 0x03, 0x11, 0x12, 0x13}) {
    for (const uint32_t bytes : {0U, 1U, 5000U, 0x7fff'ffffU}) {
      const Packet packet = Flush(psn++, feth, bytes);
      bench.Expect(TokenOf(packet), GivenFlush(packet, ++msn));
      const bool whole = feth >= 0x10;
      EXPECT_EQ(bench.checks.sent().back().token, (spec::MemoryCheck{.key = kRkey,
                                                                     .pdn = kPdn,
                                                                     .flush_global = (feth & 1) != 0,
                                                                     .flush_persistent = (feth & 2) != 0,
                                                                     .whole = whole,
                                                                     .address = packet.address,
                                                                     .bytes = whole ? 1 : bytes,
                                                                     .qpn = kQpn}));
      // One PSN, however long it is. A duplicate needs no key.
      const auto checks = bench.check.count;
      Packet again = packet;
      again.rkey = kBadRkey;
      bench.Expect(TokenOf(again), GivenFlush(again, msn, true));
      EXPECT_EQ(bench.check.count, checks);
    }
  }
  // The length of a region's FLUSH is ignored.
  const Packet packet = Flush(psn, 0x11, 0xffff'ffff);
  bench.Expect(TokenOf(packet), GivenFlush(packet, msn + 1));
  bench.ExpectFailures({});
}

TEST(ResponderAtomic, FlushNeedsTheRightOfEachPlacement) {
  for (unsigned rights = 0; rights < 4; ++rights) {
    for (unsigned placement = 1; placement < 4; ++placement) {
      Ready bench({.flush_global = (rights & 1) != 0, .flush_persistent = (rights & 2) != 0});
      const Packet packet = Flush(kFirstPsn, static_cast<uint8_t>(placement));
      if ((placement & ~rights) == 0) {
        bench.Expect(TokenOf(packet), GivenFlush(packet, 1));
        bench.ExpectFailures({});
        continue;
      }
      ExpectUnsupported(bench, packet);
    }
  }
  // The key is checked, also for no bytes.
  for (const uint32_t bytes : {0U, 8U}) {
    Ready bench;
    Packet packet = Flush(kFirstPsn, 1, bytes);
    packet.rkey = kBadRkey;
    bench.Expect(TokenOf(packet), Answer(packet.psn, AethSyndrome::kNakRemoteAccessError, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
  }
}

// A payload, what is reserved, nothing, or more than 2^31 - 1 bytes; checked before the rights. [A19.4.1]
TEST(ResponderAtomic, FlushOfAnotherShapeIsInvalid) {
  struct Shape {
    uint8_t feth;
    uint16_t payload;
    uint32_t bytes;
  };
  for (const Shape& shape : {Shape{0x01, 1, 8}, Shape{0x01, 8, 8}, Shape{0x00, 0, 8}, Shape{0x10, 0, 8},
                             Shape{0x21, 0, 8}, Shape{0x31, 0, 8}, Shape{0x05, 0, 8}, Shape{0x0b, 0, 8},
                             Shape{0x04, 0, 8}, Shape{0x01, 0, 0x8000'0000}, Shape{0x02, 0, 0xffff'ffff}}) {
    Ready bench({.flush_global = false, .flush_persistent = false});
    Packet packet = Flush(kFirstPsn, shape.feth, shape.bytes);
    packet.bytes = shape.payload;
    bench.Expect(TokenOf(packet), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    EXPECT_EQ(bench.check.count, 0u);
  }
}

TEST(ResponderAtomic, FlushesShareTheResourcesOfReads) {
  Ready bench({.max_reads = 2});
  const auto read = ReadRequest(kFirstPsn, 8);
  bench.Expect(TokenOf(read), Given(read, 1));
  const Packet second = Flush(kFirstPsn + 1, 1);
  bench.Expect(TokenOf(second), GivenFlush(second, 2));
  bench.Expect(TokenOf(Flush(kFirstPsn + 2, 1)), Answer(kFirstPsn + 2, AethSyndrome::kNakInvalidRequest, 2));
}

// --- Of ours

TEST(ResponderAtomic, ResultIsWrittenInTheOrderOfMemory) {
  Reader bench;
  bench.Atomic(kReadPsn, {Host::Element(0x9000, 8)});
  bench.Expect(ResultOf(kReadPsn, kValue), Got(kReadPsn, ScatterValue(kValue, 0x9000, 8)));
  // Longer elements keep the rest; a page's border makes two runs.
  bench.Atomic(kReadPsn + 1, {Host::Element(0x9001, 100)});
  bench.Expect(ResultOf(kReadPsn + 1, kValue), Got(kReadPsn + 1, ScatterValue(kValue, 0x9001, 8)));
  bench.Expect(ResultOf(kReadPsn + 1, kValue), kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderAtomic, ResultGoesToSeveralElements) {
  Reader bench;
  bench.Atomic(kReadPsn, {Host::Element(0x9000, 1), Host::Element(0, 0, kBadLkey), Host::Element(0xa000, 4),
                          Host::Element(0xb000, 3)});
  bench.Expect(ResultOf(kReadPsn, kValue),
               {ScatterValue(kValue, 0x9000, 1, kMore), ScatterValue(kValue >> 8, 0xa000, 4, kMore),
                Got(kReadPsn, ScatterValue(kValue >> 40, 0xb000, 3))});
}

TEST(ResponderAtomic, ElementsThatDoNotFitFail) {
  {
    Reader bench;
    bench.Atomic(kReadPsn, {Host::Element(0x9000, 7)});
    bench.Expect(ResultOf(kReadPsn, kValue), {ScatterValue(kValue, 0x9000, 7, kMore),
                                              ReadFailed(kReadPsn, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength)});
  }
  Reader bench;
  bench.Atomic(kReadPsn, {Host::Element(0x9000, 8, kBadLkey)});
  bench.Expect(ResultOf(kReadPsn, kValue), ReadFailed(kReadPsn, IbWcStatus::kLocProtErr, RdmaError::kBadMrn));
}

TEST(ResponderAtomic, ResponseOfTheOtherKindFails) {
  {
    Reader bench;
    bench.Atomic(kReadPsn, {Host::Element(0x9000, 8)});
    bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8),
                 ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
  {
    Reader bench;
    bench.Read(kReadPsn, 8, {Host::Element(0x9000, 8)});
    bench.Expect(ResultOf(kReadPsn, kValue), ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
  {
    Reader bench;
    bench.Read(kReadPsn, 0, {});
    bench.Expect(ResultOf(kReadPsn, kValue), ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
  {
    Reader bench;
    bench.Atomic(kReadPsn, {Host::Element(0x9000, 8)});
    RxToken token = ResultOf(kReadPsn, kValue);
    token.payload_bytes = 8;
    bench.Expect(token, ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
  Reader bench;
  bench.Atomic(kReadPsn, {Host::Element(0x9000, 8)});
  bench.Expect(ResultOf(kReadPsn, kValue, 0x63),
               ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, RdmaError::kInvalidParameter));
}

TEST(ResponderAtomic, ResultsMixWithReads) {
  Reader bench;
  bench.Read(kReadPsn, 3, {Host::Element(0x8000, 3)});
  bench.Atomic(kReadPsn + 1, {Host::Element(0x9000, 8)});
  bench.Expect(ResultOf(kReadPsn + 1, kValue), GapAt(kReadPsn));
  const auto only = ResponseOf(kReadPsn, At::kOnly, 3);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x8000, 3)));
  bench.Expect(ResultOf(kReadPsn + 1, kValue), Got(kReadPsn + 1, ScatterValue(kValue, 0x9000, 8)));
}

}  // namespace
}  // namespace vireo::verif
