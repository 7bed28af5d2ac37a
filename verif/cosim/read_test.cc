// SPDX-License-Identifier: Apache-2.0
// RDMA READ on a reliable connection: at its completion every byte is in place, work requests complete in order for any
// mix of operations, as many READs are outstanding as both sides allow, and lost or refused requests end as the
// standard requires. [IBTA vol. 1, 9.4.4, 9.5, 9.7.3, 9.7.5]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/traffic/frame_log.h"
#include "sim/traffic/raw_queue.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;
using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr std::array<spec::IbMtu, 5> kMtus = {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu1024,
                                              spec::IbMtu::kMtu2048, spec::IbMtu::kMtu4096};
constexpr uint32_t BytesOf(spec::IbMtu mtu) { return uint32_t{128} << static_cast<uint8_t>(mtu); }
constexpr uint8_t kSoon = 5;  // acknowledge timeout: 131 us
constexpr uint64_t kTimeoutNs = 20'000'000;

class Read : public PairTest {
 protected:
  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildWith(faults);
    if (!HasFatalFailure()) log_.Watch(system_->host(0).station());
  }
  // As many READs as the device supports.
  ConnectedPairOptions Options() const {
    ConnectedPairOptions options;
    options.memory_bytes = 131'072;
    options.qp.max_send_sge = options.qp.max_recv_sge = config().max_send_sge;
    options.qp.max_inline_data = 64;
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic =
        static_cast<uint8_t>(config().max_rd_atomic);
    return options;
  }
  // With timeouts short enough for a test.
  ConnectedPairOptions LossyOptions() const {
    ConnectedPairOptions options = Options();
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.timeout = kSoon;
    return options;
  }
  verbs::SendRequest ReadFrom(uint64_t wr_id, const Elements& into, uint64_t from, size_t reader = 0) {
    return Remote(IbWrOpcode::kRdmaRead, wr_id, into, from, reader);
  }
  // Polls the completion of a READ and checks all its fields.
  void ExpectRead(uint64_t wr_id, uint32_t bytes, size_t reader = 0, uint64_t timeout_ns = kTimeoutNs) {
    const auto completion = Next(reader, timeout_ns);
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->wr_id, wr_id);
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess)
        << spec::ToString(completion->status) << ", " << completion->vendor_err;
    EXPECT_EQ(completion->opcode, IbWcOpcode::kRdmaRead);
    EXPECT_EQ(completion->byte_len, bytes);
    EXPECT_EQ(completion->qp_num, side(reader).qp->qpn());
    EXPECT_EQ(completion->wc_flags, 0U);
  }
  // The bytes of the other side's memory at `from`.
  Bytes Source(uint64_t from, uint32_t bytes, size_t reader = 0) {
    const uint8_t* data = side(1 - reader).memory->data() + from;
    return {data, data + bytes};
  }
  // Distance of an acknowledge (or response) of host 1 from the connection's first PSN.
  static uint32_t Ahead(const FrameLog::Entry& entry) {
    constexpr uint32_t kFirst = 0xfffffe;  // of MakeConnectedPair
    return (entry.psn() - kFirst) % (1U << spec::kPsnBits);
  }
  // The packets that host 0 received from host 1, without loss: each response and acknowledge once and in PSN order.
  void ExpectAnswersInOrder() {
    uint32_t last = 0;
    bool is_first = true;
    for (const FrameLog::Entry& entry : log_.entries()) {
      if (entry.is_sent || !entry.info().is_response) continue;
      const uint32_t ahead = Ahead(entry);
      if (!is_first) {
        EXPECT_GT(ahead, last) << static_cast<int>(entry.opcode());
      }
      last = ahead;
      is_first = false;
    }
  }

  FrameLog log_;  // of host 0
};

// --- Data

TEST_P(Read, ReadsEverySizeIntoAnySges) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  auto random = MakeRandom("read.sizes");
  for (const spec::IbMtu mtu : kMtus) {
    SCOPED_TRACE(BytesOf(mtu));
    auto options = Options();
    options.path_mtu = mtu;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    for (const size_t elements : {size_t{1}, size_t{2}, size_t{config().max_send_sge}}) {
      SCOPED_TRACE(elements);
      const uint32_t whole = BytesOf(mtu);
      const std::vector<uint32_t> sizes = {0, 1, 3, 4, whole - 1, whole, whole + 1};
      auto expected = Memory();
      uint64_t at = UniformBelow(random, 64);
      for (size_t i = 0; i < sizes.size(); ++i) {
        const Elements into = Cut(near(), at, sizes[i], elements, random);
        const uint64_t from = UniformBelow(random, 100'000);
        Scatter(near(), into, Source(from, sizes[i]), expected[0]);
        PostSend(ReadFrom(i, into, from));
        at += sizes[i] + 70 * elements;
      }
      for (size_t i = 0; i < sizes.size(); ++i) ASSERT_NO_FATAL_FAILURE(ExpectRead(i, sizes[i]));
      // Immediately: the completion follows the data.
      ExpectMemory(expected);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(Read, ReadsLongMessages) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  auto random = MakeRandom("read.long");
  struct Long {
    spec::IbMtu mtu;
    uint32_t bytes;
  };
  std::vector<Long> all = {{spec::IbMtu::kMtu1024, 65'536}};
  if (has_fast_wire()) all = {{spec::IbMtu::kMtu256, 65'536}, {spec::IbMtu::kMtu4096, 1'048'576}};
  for (const Long& one : all) {
    SCOPED_TRACE(one.bytes);
    auto options = Options();
    options.memory_bytes = one.bytes + 8192;
    options.path_mtu = one.mtu;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    auto expected = Memory();
    const Elements into = Cut(near(), 33, one.bytes, config().max_send_sge, random);
    Scatter(near(), into, Source(77, one.bytes), expected[0]);
    PostSend(ReadFrom(1, into, 77));
    ASSERT_NO_FATAL_FAILURE(ExpectRead(1, one.bytes));
    ExpectMemory(expected);
  }
}

TEST_P(Read, ZeroLengthReadChecksNoKey) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  Connect(Options());
  const auto expected = Memory();
  auto request = ReadFrom(1, {}, 0);
  request.rkey ^= 0x5555;
  request.remote_addr = 7;
  PostSend(request);
  ASSERT_NO_FATAL_FAILURE(ExpectRead(1, 0));
  ExpectMemory(expected);
}

TEST_P(Read, ReadsInBothDirectionsBesideWrites) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  auto random = MakeRandom("read.both");
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu512;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  // Per side: 32 KiB of constant data, then the target of its READs, then the target of the other's WRITEs.
  constexpr uint64_t kRead = 32'768, kWritten = 81'920, kPlace = 2048;
  constexpr uint64_t kRounds = 20;
  auto expected = Memory();
  std::array<std::vector<uint32_t>, 2> sizes;
  for (uint64_t i = 0; i < kRounds; ++i) {
    for (size_t from = 0; from < 2; ++from) {
      const auto bytes = static_cast<uint32_t>(UniformBelow(random, kPlace + 1));
      const uint64_t source = UniformBelow(random, kRead - kPlace);
      const bool is_read = UniformBelow(random, 2) == 0;
      sizes.at(from).push_back(is_read ? bytes : ~0U);
      if (is_read) {
        const Elements into = {side(from).region->Sge(kRead + i * kPlace, bytes)};
        Scatter(side(from), into, Source(source, bytes, from), expected.at(from));
        PostSend(ReadFrom(i, into, source, from), from);
      } else {
        const Elements what = {side(from).region->Sge(source, bytes)};
        Scatter(side(1 - from), {side(1 - from).region->Sge(kWritten + i * kPlace, bytes)}, Gather(side(from), what),
                expected.at(1 - from));
        PostSend(Remote(IbWrOpcode::kRdmaWrite, i, what, kWritten + i * kPlace, from), from);
      }
    }
  }
  for (uint64_t i = 0; i < kRounds; ++i) {
    for (size_t from = 0; from < 2; ++from) {
      const uint32_t bytes = sizes.at(from)[i];
      if (bytes != ~0U) {
        ASSERT_NO_FATAL_FAILURE(ExpectRead(i, bytes, from));
      } else {
        ExpectNext(from, i, IbWcStatus::kSuccess, kTimeoutNs);
      }
    }
  }
  Settle();
  ExpectMemory(expected);
}

// --- Order

TEST_P(Read, OutstandingReadsReachButNeverExceedTheLimit) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const uint32_t limit : {uint32_t{1}, uint32_t{2}, config().max_rd_atomic}) {
    SCOPED_TRACE(limit);
    auto options = Options();
    options.path_mtu = spec::IbMtu::kMtu1024;
    // The peer accepts no more than that, and would refuse one.
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic = static_cast<uint8_t>(limit);
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    auto expected = Memory();
    const uint32_t bytes = has_fast_wire() ? 8192 : 2048;
    const uint64_t count = limit == 1 ? 6 : 2 * limit + 3;
    for (uint64_t i = 0; i < count; ++i) {
      const Elements into = {near().region->Sge(i * 3001, bytes)};
      // The later one overwrites the earlier one where they overlap.
      Scatter(near(), into, Source(i * 1000, bytes), expected[0]);
      PostSend(ReadFrom(i, into, i * 1000));
    }
    for (uint64_t i = 0; i < count; ++i) ASSERT_NO_FATAL_FAILURE(ExpectRead(i, bytes));
    ExpectMemory(expected);
    uint64_t now = 0, most = 0;
    for (const FrameLog::Entry& entry : log_.entries()) {
      if (entry.is_sent && entry.opcode() == BthOpcode::kRcRdmaReadRequest) most = std::max(most, ++now);
      const bool is_response = entry.info().operation == spec::BthOperation::kRdmaReadResponse;
      if (!entry.is_sent && is_response && entry.info().ends_message) --now;
    }
    EXPECT_EQ(now, 0U);
    EXPECT_EQ(most, limit);
    EXPECT_EQ(log_.Count(true, BthOpcode::kRcRdmaReadRequest), count) << "without loss each is requested once";
    ExpectAnswersInOrder();
  }
}

TEST_P(Read, CompletesInOrderWithSendsAndWrites) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu256;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  log_.Clear();
  // Responses of many packets, followed by SENDs and WRITEs whose acknowledges could overtake them.
  constexpr uint64_t kRounds = 8;
  constexpr uint32_t kBytes = 3000;
  auto expected = Memory();
  for (uint64_t i = 0; i < kRounds; ++i) {
    const Elements receive = {far().region->Sge(98'304 + i * 300, 300)}, sent = {near().region->Sge(i * 64, 200)};
    const Elements written = {near().region->Sge(i * 100, 300)};
    const Elements into = {near().region->Sge(65'536 + i * kBytes, kBytes)};
    PostRecv(1, 100 + i, receive);
    Scatter(far(), receive, Gather(near(), sent), expected[1]);
    Scatter(far(), {far().region->Sge(65'536 + i * 300, 300)}, Gather(near(), written), expected[1]);
    Scatter(near(), into, Source(i * 500, kBytes), expected[0]);
  }
  for (uint64_t i = 0; i < kRounds; ++i) {
    const Elements sent = {near().region->Sge(i * 64, 200)}, written = {near().region->Sge(i * 100, 300)};
    const Elements into = {near().region->Sge(65'536 + i * kBytes, kBytes)};
    PostSend(ReadFrom(3 * i, into, i * 500));
    PostSend({.wr_id = 3 * i + 1, .opcode = IbWrOpcode::kSend, .sg_list = sent});
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 3 * i + 2, written, 65'536 + i * 300));
  }
  for (uint64_t i = 0; i < kRounds; ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectRead(3 * i, kBytes));
    ExpectNext(0, 3 * i + 1, IbWcStatus::kSuccess);
    ExpectNext(0, 3 * i + 2, IbWcStatus::kSuccess);
    ExpectNext(1, 100 + i, IbWcStatus::kSuccess);
  }
  Settle();
  ExpectMemory(expected);
  ExpectAnswersInOrder();
}

TEST_P(Read, FencedSendForwardsTheReadData) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  auto options = Options();
  options.path_mtu = spec::IbMtu::kMtu512;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint64_t kRounds = 6;
  constexpr uint32_t kBytes = 1700;
  auto expected = Memory();
  for (uint64_t i = 0; i < kRounds; ++i) PostRecv(1, 100 + i, {far().region->Sge(98'304 + i * 2048, 2048)});
  // Two READs: the data of the first is sent, the data of the second is written, and once more without delay.
  for (uint64_t i = 0; i < kRounds; ++i) {
    const uint64_t a = 32'768 + 2 * i * 2048, b = a + 2048;
    const Elements first = {near().region->Sge(a, kBytes)}, second = {near().region->Sge(b, kBytes)};
    const Bytes first_data = Source(i * 1000, kBytes), second_data = Source(i * 1000 + 500, kBytes);
    Scatter(near(), first, first_data, expected[0]);
    Scatter(near(), second, second_data, expected[0]);
    Scatter(far(), {far().region->Sge(98'304 + i * 2048, kBytes)}, first_data, expected[1]);
    Scatter(far(), {far().region->Sge(65'536 + i * 2048, kBytes)}, second_data, expected[1]);
    PostSend(ReadFrom(4 * i, first, i * 1000));
    PostSend(ReadFrom(4 * i + 1, second, i * 1000 + 500));
    constexpr uint8_t kFenced = spec::IbSendFlags::kFence | spec::IbSendFlags::kSignaled;
    PostSend({.wr_id = 4 * i + 2, .opcode = IbWrOpcode::kSend, .flags = kFenced, .sg_list = first});
    auto write = Remote(IbWrOpcode::kRdmaWrite, 4 * i + 3, second, 65'536 + i * 2048);
    write.flags = i % 2 == 0 ? kFenced : spec::IbSendFlags::kSignaled;  // the other's fence already orders it
    PostSend(write);
  }
  for (uint64_t i = 0; i < kRounds; ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectRead(4 * i, kBytes));
    ASSERT_NO_FATAL_FAILURE(ExpectRead(4 * i + 1, kBytes));
    ExpectNext(0, 4 * i + 2, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectNext(0, 4 * i + 3, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectNext(1, 100 + i, IbWcStatus::kSuccess, kTimeoutNs);
  }
  Settle();
  ExpectMemory(expected);
}

// --- Loss

// Rounds of two READs of several packets, one of one packet, a SEND and a fenced WRITE of the read data.
class LossyRead : public Read {
 protected:
  void ExpectRounds(uint64_t rounds) {
    Connect(LossyOptions());
    ASSERT_FALSE(HasFatalFailure());
    auto random = MakeRandom("read.loss");
    constexpr uint32_t kLong = 1200, kShort = 200;
    for (uint64_t round = 0; round < rounds; ++round) {
      SCOPED_TRACE(round);
      auto expected = Memory();
      const Elements receive = {far().region->Sge(98'304, 300)}, sent = {near().region->Sge(round * 64, 300)};
      PostRecv(1, 100 + round, receive);
      Scatter(far(), receive, Gather(near(), sent), expected[1]);
      std::array<Elements, 3> into;
      for (size_t i = 0; i < into.size(); ++i) {
        const uint32_t bytes = i == 2 ? kShort : kLong;
        const uint64_t from = UniformBelow(random, 60'000);
        into.at(i) = Cut(near(), 65'536 + i * 4096, bytes, 1 + UniformBelow(random, config().max_send_sge), random);
        Scatter(near(), into.at(i), Source(from, bytes), expected[0]);
        PostSend(ReadFrom(i, into.at(i), from));
      }
      PostSend({.wr_id = 3, .opcode = IbWrOpcode::kSend, .sg_list = sent});
      auto write = Remote(IbWrOpcode::kRdmaWrite, 4, into[0], 110'000);
      write.flags |= spec::IbSendFlags::kFence;
      PostSend(write);
      Bytes written;  // expected contents of the SGEs
      for (const spec::RdmaSge& sge : into[0]) {
        const auto at = static_cast<ptrdiff_t>(sge.addr - near().region->address());
        written.insert(written.end(), expected[0].begin() + at, expected[0].begin() + at + sge.length);
      }
      Scatter(far(), {far().region->Sge(110'000, kLong)}, written, expected[1]);
      for (size_t i = 0; i < into.size(); ++i) ASSERT_NO_FATAL_FAILURE(ExpectRead(i, i == 2 ? kShort : kLong));
      ExpectNext(0, 3, IbWcStatus::kSuccess, kTimeoutNs);
      ExpectNext(0, 4, IbWcStatus::kSuccess, kTimeoutNs);
      ExpectNext(1, 100 + round, IbWcStatus::kSuccess, kTimeoutNs);
      system_->topology().RunFor(kArrivalTime);
      ExpectMemory(expected);
      ASSERT_FALSE(HasFailure());
    }
    ExpectNone(0);
    ExpectNone(1);
  }
};

TEST_P(LossyRead, RecoversFromLossOfRequests) {
  // The first request, one in the middle, two in a row, and the following SEND and WRITE.
  Build(
      {"drop opcode=rc_rdma_read_request nth=1; drop opcode=rc_rdma_read_request nth=6;"
       "drop opcode=rc_rdma_read_request nth=12 count=2; drop opcode=rc_send_first nth=5; drop opcode=rc_send_last "
       "nth=6;"
       "drop opcode=rc_rdma_write_middle nth=20",
       ""});
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_NO_FATAL_FAILURE(ExpectRounds(7));
  ExpectAllFaultsInjected(0);
}

TEST_P(LossyRead, RecoversFromLossOfAnyResponse) {
  Build({"",
         "drop opcode=rc_rdma_read_response_first nth=1; drop opcode=rc_rdma_read_response_middle nth=12;"
         "drop opcode=rc_rdma_read_response_last nth=6; drop opcode=rc_rdma_read_response_only nth=4;"
         "drop opcode=rc_rdma_read_response_middle nth=30 count=4; drop opcode=rc_rdma_read_response_last nth=14 "
         "count=2"});
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_NO_FATAL_FAILURE(ExpectRounds(9));
  ExpectAllFaultsInjected(1);
}

TEST_P(LossyRead, RecoversFromLossOfLaterAcknowledges) {
  // The SEND's and the WRITE's; then READs with all responses lost while the following acknowledge arrives.
  Build({"",
         "drop opcode=rc_acknowledge nth=1 count=2; drop opcode=rc_acknowledge nth=7;"
         "drop opcode=rc_rdma_read_response_only nth=5;  drop opcode=rc_rdma_read_response_only nth=7 count=2"});
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_NO_FATAL_FAILURE(ExpectRounds(8));
  ExpectAllFaultsInjected(1);
}

TEST_P(LossyRead, DuplicateAndLateRequestsAreHarmless) {
  Build(
      {"duplicate 1 opcode=rc_rdma_read_request rate=0.3; delay 4000 opcode=rc_rdma_read_request rate=0.1;"
       "reorder 2 rate=0.05",
       "duplicate 1 rate=0.1; reorder 2 rate=0.05; corrupt rate=0.05"});
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_NO_FATAL_FAILURE(ExpectRounds(8));
}

TEST_P(LossyRead, LossOfAllResponsesExhaustsTheRetries) {
  Build({"", "drop opcode=rc_rdma_read_response_only"});
  ASSERT_FALSE(HasFatalFailure());
  auto options = LossyOptions();
  options.connection.retry_cnt = 2;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const auto expected = Memory();
  const Elements into = {near().region->Sge(0, 100)};
  PostSend(ReadFrom(1, into, 0));
  PostSend(ReadFrom(2, into, 0));
  ExpectNext(0, 1, IbWcStatus::kRetryExcErr, kTimeoutNs);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
  EXPECT_GE(log_.Count(true, BthOpcode::kRcRdmaReadRequest), 3U);  // the first transmission and both retries
  ExpectMemory(expected);
}

// --- Refused requests

TEST_P(Read, RemoteAccessErrorReturnsNoData) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  enum class Wrong : uint8_t { kQpRight, kRegionRight, kKey, kPd, kFront, kBehind, kOneTooMany, kManyPackets };
  for (const Wrong wrong : {Wrong::kQpRight, Wrong::kRegionRight, Wrong::kKey, Wrong::kPd, Wrong::kFront,
                            Wrong::kBehind, Wrong::kOneTooMany, Wrong::kManyPackets}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    options.memory_bytes = 16'384;
    if (wrong == Wrong::kQpRight) options.connection.access = IbAccessFlags::kRemoteWrite;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    // A valid one before it, and one that would be valid after it.
    const Elements into = {near().region->Sge(0, 100)}, later = {near().region->Sge(8192, 100)};
    auto expected = Memory();
    const bool has_right = wrong != Wrong::kQpRight;
    if (has_right) {
      Scatter(near(), into, Source(50, 100), expected[0]);
      PostSend(ReadFrom(1, into, 50));
    }
    const uint64_t end = far().memory->size();
    auto request = ReadFrom(2, later, 0);
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::MemoryRegion> region;
    const Elements many = {near().region->Sge(4096, 4097)};
    switch (wrong) {
      case Wrong::kQpRight: break;
      case Wrong::kRegionRight: {
        auto made = far().pd->Register(*far().memory, IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite);
        ASSERT_TRUE(made.ok());
        region = *made;
        request.rkey = region->rkey();
        break;
      }
      case Wrong::kPd: {
        auto other = system_->host(1).device().CreatePd();
        ASSERT_TRUE(other.ok());
        pd = *other;
        auto made = pd->Register(*far().memory, IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteRead);
        ASSERT_TRUE(made.ok());
        region = *made;
        request.rkey = region->rkey();
        break;
      }
      case Wrong::kKey: request.rkey ^= 1; break;
      case Wrong::kFront: request.remote_addr -= 1; break;
      case Wrong::kBehind: request.remote_addr += end; break;
      case Wrong::kOneTooMany: request.remote_addr += end - 99; break;
      case Wrong::kManyPackets:
        request.sg_list = many;
        request.remote_addr += end - 4096;
        break;
    }
    PostSend(request);
    PostSend(ReadFrom(3, later, 0));
    if (has_right) {
      ASSERT_NO_FATAL_FAILURE(ExpectRead(1, 100));
    }
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 2U);
    EXPECT_EQ(completion->status, has_right ? IbWcStatus::kRemAccessErr : IbWcStatus::kRemInvReqErr)
        << spec::ToString(completion->status);
    EXPECT_EQ(completion->vendor_err, static_cast<uint32_t>(has_right ? spec::AethSyndrome::kNakRemoteAccessError
                                                                      : spec::AethSyndrome::kNakInvalidRequest));
    ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    RunFor(20'000);
    ExpectMemory(expected);
    region.reset();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Read, UnwritableLocalMemoryFailsLocally) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  enum class Wrong : uint8_t { kRight, kKey, kBehind, kSecondElement };
  for (const Wrong wrong : {Wrong::kRight, Wrong::kKey, Wrong::kBehind, Wrong::kSecondElement}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    auto options = Options();
    options.memory_bytes = 16'384;
    options.path_mtu = spec::IbMtu::kMtu256;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    auto made = near().pd->Register(*near().memory, IbAccessFlags::kRemoteRead);
    ASSERT_TRUE(made.ok());
    std::shared_ptr<verbs::MemoryRegion> read_only = *made;
    constexpr uint32_t kBytes = 700;
    Elements into = {near().region->Sge(1024, kBytes)};
    size_t written = 0;  // data before the refusal may have arrived
    switch (wrong) {
      case Wrong::kRight: into[0].lkey = read_only->lkey(); break;
      case Wrong::kKey: into[0].lkey ^= 1; break;
      case Wrong::kBehind:
        into[0].addr = near().region->address() + near().memory->size() - kBytes + 1, written = 512;
        break;
      case Wrong::kSecondElement:
        into = {near().region->Sge(1024, 256), read_only->Sge(4096, kBytes - 256)};
        written = 256;
        break;
    }
    const auto before = Memory();
    auto expected = before;
    const Bytes data = Source(3000, kBytes);
    const Elements good = {near().region->Sge(9000, 100)};
    Scatter(near(), good, Source(0, 100), expected[0]);
    PostSend(ReadFrom(1, good, 0));
    PostSend(ReadFrom(2, into, 3000));
    PostSend(ReadFrom(3, {near().region->Sge(12'000, 100)}, 0));
    ASSERT_NO_FATAL_FAILURE(ExpectRead(1, 100));
    ExpectNext(0, 2, IbWcStatus::kLocProtErr);
    ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    RunFor(20'000);
    const size_t first = into[0].addr - near().region->address();
    size_t came = 0;
    while (came < written && near().memory->data()[first + came] == data[came]) ++came;
    std::copy_n(data.begin(), came, expected[0].begin() + static_cast<ptrdiff_t>(first));
    ExpectMemory(expected);
    read_only.reset();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Read, MalformedWorkRequestFailsBeforeItIsSent) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const bool is_inline : {true, false}) {
    auto options = Options();
    options.connection.max_rd_atomic = is_inline ? 1 : 0;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    const auto expected = Memory();
    const Elements into = {near().region->Sge(0, 16)};
    const Bytes inline_data(16);
    auto request = ReadFrom(1, into, 0);
    if (is_inline) {
      request.flags |= spec::IbSendFlags::kInline;
      request.inline_data = inline_data;
    }
    PostSend(request);
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 2, into, 0));
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 1U);
    EXPECT_EQ(completion->status, IbWcStatus::kLocQpOpErr) << spec::ToString(completion->status);
    EXPECT_EQ(completion->vendor_err, static_cast<uint32_t>(is_inline ? spec::RdmaError::kInvalidParameter
                                                                      : spec::RdmaError::kInvalidAttribute));
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(log_.CountSent(), 0U);
    ExpectMemory(expected);
  }
}

TEST_P(Read, ExcessOutstandingReadIsRefusedAsInvalid) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const uint8_t room : {uint8_t{0}, uint8_t{1}}) {
    SCOPED_TRACE(int{room});
    auto options = LossyOptions();
    options.connection.max_dest_rd_atomic = room;
    options.connection.retry_cnt = 1;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    constexpr uint32_t kBytes = 8192;
    constexpr uint64_t kReads = 4;
    for (uint64_t i = 0; i < kReads; ++i) PostSend(ReadFrom(i, {near().region->Sge(i * kBytes, kBytes)}, i));
    // Earlier ones may succeed. A started one is not answered after the peer's error, and fails without an answer.
    bool has_failed = false;
    for (uint64_t i = 0; i < kReads; ++i) {
      const auto completion = Next(0, kTimeoutNs);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, i);
      if (has_failed) {
        EXPECT_EQ(completion->status, IbWcStatus::kWrFlushErr) << spec::ToString(completion->status);
        continue;
      }
      if (completion->status == IbWcStatus::kSuccess) {
        EXPECT_NE(room, 0U);
        EXPECT_EQ(std::memcmp(near().memory->data() + i * kBytes, far().memory->data() + i, kBytes), 0);
        continue;
      }
      has_failed = true;
      const bool is_refused = completion->status == IbWcStatus::kRemInvReqErr;
      EXPECT_TRUE(is_refused || (room == 1 && completion->status == IbWcStatus::kRetryExcErr))
          << spec::ToString(completion->status);
    }
    EXPECT_TRUE(has_failed);
    EXPECT_TRUE(std::ranges::any_of(log_.entries(), [](const FrameLog::Entry& entry) {
      return !entry.is_sent && entry.syndrome() == spec::AethSyndrome::kNakInvalidRequest;
    }));
  }
}

// --- Requests that end in flight

TEST_P(Read, OutstandingReadIsFlushedAndWritesNoMoreMemory) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const bool is_destroyed : {false, true}) {
    SCOPED_TRACE(is_destroyed);
    auto options = LossyOptions();
    options.connection.retry_cnt = 1;
    const uint32_t bytes = has_fast_wire() ? 400'000 : 32'768;
    options.memory_bytes = 3 * bytes;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    for (uint64_t i = 0; i < 3; ++i) PostSend(ReadFrom(i, {near().region->Sge(i * bytes, bytes)}, 2 * i * bytes / 3));
    RunFor(5'000);  // responses are in flight
    if (is_destroyed) {
      near().qp.reset();
    } else {
      ASSERT_TRUE(near().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
      bool has_ended = false;
      for (uint64_t i = 0; i < 3; ++i) {
        const auto completion = Next(0);
        ASSERT_TRUE(completion.has_value());
        EXPECT_EQ(completion->wr_id, i);
        if (completion->status == IbWcStatus::kSuccess) {
          EXPECT_FALSE(has_ended);
          EXPECT_EQ(std::memcmp(near().memory->data() + i * bytes, far().memory->data() + 2 * i * bytes / 3, bytes), 0);
          continue;
        }
        has_ended = true;
        EXPECT_EQ(completion->status, IbWcStatus::kWrFlushErr) << spec::ToString(completion->status);
      }
      EXPECT_TRUE(has_ended);
    }
    const auto expected = Memory();
    Settle();
    ExpectMemory(expected);
    ASSERT_FALSE(HasFailure());
  }
}

// Writes to the memory of READs behind the CQE that has ended them, wr_id i that of the i-th part of the memory.
class LateWrites final : public EventSink {
 public:
  LateWrites(BufferExtent cqes, const host::DmaMemory& memory, uint32_t part_bytes)
      : cqes_(cqes), memory_(memory.address()), bytes_(memory.size()), part_bytes_(part_bytes) {}
  void OnEvent(const BoundaryEvent& event) override {
    if (event.kind != EventKind::kDmaWrite) return;
    if (event.address >= cqes_.first && event.address < cqes_.end && event.bytes == spec::RdmaCqReq::kBytes) {
      ended_.insert(spec::RdmaCqReq::Decode(event.payload.data()).wr_id);
    } else if (event.address - memory_ < bytes_) {
      ++writes;
      late += ended_.contains((event.address - memory_) / part_bytes_);
    }
  }
  uint64_t writes = 0, late = 0;

 private:
  const BufferExtent cqes_;
  const uint64_t memory_, bytes_;
  const uint32_t part_bytes_;
  std::set<uint64_t> ended_;
};

class FlushedRead : public Read {
 protected:
  std::deque<LateWrites> late_;  // outlive the system
};

// Responses are on their way to memory when the queue pair ends. From the flush of its READ on the memory is the
// program's. A completer that does not wait for them is found on nic100 in some rounds, on nic1 in none: its wire is
// too slow for two responses to wait.
TEST_P(FlushedRead, IsNotWrittenBehindItsCompletion) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  const uint32_t bytes = has_fast_wire() ? 100'000 : 20'000;
  const auto reads = static_cast<uint32_t>(std::min<size_t>(config().max_rd_atomic, 8));
  const uint64_t rounds = has_cheap_cycles() ? 9 : 3;
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    ConnectedPairOptions pair = Options();
    pair.memory_bytes = reads * bytes;
    Connect(pair);
    ASSERT_FALSE(HasFatalFailure());
    const auto queue = system_->host(0).device().net().CompletionQueueIndex(near().cq->cqn());
    ASSERT_TRUE(queue.ok());
    const auto ring = FindRing(system_->host(0), *queue);
    ASSERT_TRUE(ring.has_value());
    LateWrites& late = late_.emplace_back(BuffersIn(*ring), *near().memory, bytes);
    system_->host(0).station().tap().AddSink(late);
    for (uint64_t i = 0; i < reads; ++i) PostSend(ReadFrom(i, {near().region->Sge(i * bytes, bytes)}, i * bytes));
    RunFor((has_fast_wire() ? 15'000 : 100'000) + round * (has_fast_wire() ? 1'000 : 7'000));
    ASSERT_GT(late.writes, 0U);
    ASSERT_TRUE(near().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
    size_t flushed = 0;
    for (uint64_t i = 0; i < reads; ++i) {
      const auto completion = Next(0, kTimeoutNs);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, i);
      flushed += completion->status == IbWcStatus::kWrFlushErr;
    }
    EXPECT_GT(flushed, 0U);
    Settle();
    EXPECT_EQ(late.late, 0U) << "of " << late.writes << " writes";
  }
}

TEST_P(Read, DestroyedPeerExhaustsTheRetriesAndDeregisteredRegionIsRefused) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const bool is_region : {false, true}) {
    SCOPED_TRACE(is_region);
    auto options = LossyOptions();
    options.memory_bytes = has_fast_wire() ? 1'048'576 : 65'536;
    options.connection.retry_cnt = 1;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    const auto bytes = static_cast<uint32_t>(options.memory_bytes);
    const Bytes before = Copy(*near().memory), data = Copy(*far().memory);
    PostSend(ReadFrom(1, {near().region->Sge(0, bytes)}, 0));
    PostSend(ReadFrom(2, {near().region->Sge(0, 1)}, 0));
    RunFor(5'000);
    if (is_region) {
      far().region.reset();
    } else {
      far().qp.reset();
      far().region.reset();
    }
    // From here on the host owns the memory again: an access would be a violation.
    far().memory.reset();
    ExpectNext(0, 1, is_region ? IbWcStatus::kRemAccessErr : IbWcStatus::kRetryExcErr, kTimeoutNs);
    ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
    Settle();
    // The received data is correct from the start on, and nothing follows it.
    const uint8_t* memory = near().memory->data();
    const auto came = static_cast<size_t>(std::mismatch(data.begin(), data.end(), memory).first - data.begin());
    EXPECT_LT(came, data.size());
    EXPECT_EQ(std::memcmp(memory + came, before.data() + came, before.size() - came), 0) << came;
  }
}

VIREO_ON_EVERY_DEVICE(Read);
VIREO_ON_EVERY_DEVICE(LossyRead);
VIREO_ON_EVERY_DEVICE(FlushedRead);

}  // namespace
}  // namespace vireo::sim
