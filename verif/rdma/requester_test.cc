// SPDX-License-Identifier: Apache-2.0
// The requester: outcome and timing of work requests, and failures.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model/rdma/transport.h"
#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

TEST(Requester, CutsMessagesOfEveryLengthByEveryPathMtu) {
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu512, IbMtu::kMtu1024, IbMtu::kMtu2048, IbMtu::kMtu4096}) {
    Bench bench;
    const uint32_t bytes = 128u << static_cast<unsigned>(mtu);
    bench.qps[3].mtu = mtu;
    bench.qps[3].psn = 0xff'fff0;
    bench.SetUp(3);
    for (const uint32_t length : {0u, 1u, 3u, bytes - 1, bytes, bytes + 1, 2 * bytes - 1, 2 * bytes, 2 * bytes + 1,
                                  7 * bytes, 70 * bytes + 5}) {
      WorkRequest request{.head = static_cast<uint16_t>(length), .wr_id = length};
      request.sge.length = length;
      request.sge.addr = 0x1'0000 + length;
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.failure_sink.sent().empty());
  }
}

// A local invalidate has a check and a record, but no packet, PSN or room; the key of a SEND is in its last packet.
TEST(Requester, InvalidatesTakeTheirKeyFromTheWorkRequest) {
  Bench bench;
  bench.SetUp(3);
  const auto post = [&](spec::IbWrOpcode opcode, uint32_t bytes) {
    WorkRequest request{.head = 1, .wr_id = 1, .opcode = static_cast<uint8_t>(opcode)};
    if (opcode == spec::IbWrOpcode::kLocalInv) {
      request.num_sge = 0;
      request.bytes = 576;
    }
    request.sge.length = bytes;
    bench.Post(request);
  };
  const uint32_t mtu = bench.qps[3].Mtu();
  post(spec::IbWrOpcode::kLocalInv, 0);
  post(spec::IbWrOpcode::kSendWithInv, mtu + 1);
  post(spec::IbWrOpcode::kLocalInv, 0);
  post(spec::IbWrOpcode::kSendWithInv, 1);
  ASSERT_EQ(bench.Run(600), "");
  const auto& records = bench.record_sink.sent();
  ASSERT_EQ(records.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const spec::SendRecord& record = records[i].token;
    EXPECT_EQ(record.status, IbWcStatus::kSuccess);
    EXPECT_EQ(record.is_local, i % 2 == 0);
    EXPECT_EQ(record.opcode, i % 2 == 0 ? IbWcOpcode::kLocalInv : IbWcOpcode::kSend);
    const uint32_t packets = i % 2 == 0 ? 0 : i == 1 ? 2 : 1;
    EXPECT_EQ((record.last_psn - record.first_psn + 1) & 0xff'ffff, packets);
  }
  EXPECT_EQ(records[2].token.first_psn, records[3].token.first_psn);
  const auto& jobs = bench.job_sink.sent();
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].token.packet.opcode, BthOpcode::kRcSendFirst);
  EXPECT_EQ(jobs[1].token.packet.opcode, BthOpcode::kRcSendLastWithInvalidate);
  EXPECT_EQ(jobs[2].token.packet.opcode, BthOpcode::kRcSendOnlyWithInvalidate);
}

// A bind in both formats of a work request.
struct Bind {
  uint8_t flags = 0;
  uint64_t length = 0x1'2345'6789;
  uint32_t access = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kZeroBased;
  uint32_t rkey = 0x12'3401;
  uint32_t num_sge = 0;

  spec::WorkRequest Token(bool extensible) const {
    constexpr uint64_t kAddress = 0x1234'5678'9abc'def0;
    constexpr uint32_t kLkey = 0x56'7802;
    spec::WorkRequest token{.qpn = 3, .head = 1, .address = 0x5555'0000, .bytes = extensible ? 48u : 576u};
    if (extensible) {
      using Element = spec::RdmaSqElement;
      spec::RdmaSqBase{.wr_id = 1,
                       .opcode = spec::IbWrOpcode::kBindMw,
                       .send_flags = flags,
                       .version = spec::kRdmaSqVersion,
                       .elements = Element::kRdma | Element::kAtomic}
          .Encode(token.head_bytes);
      spec::RdmaSqBind{.addr = kAddress, .rkey = rkey, .lkey = kLkey}.Encode(token.head_bytes + 16);
      spec::RdmaSqBindRange{.length = length, .access_flags = access}.Encode(token.head_bytes + 32);
      if (num_sge == 0) return token;
      token.head_bytes[11] |= Element::kSgList;
      token.bytes += 16 * num_sge;
      return token;
    }
    spec::RdmaSqReq request{.wr_id = 1, .opcode = spec::IbWrOpcode::kBindMw, .send_flags = flags};
    spec::RdmaSqReqBind{.addr = kAddress, .length = length, .access_flags = access, .rkey = rkey, .lkey = kLkey}.Encode(
        request.wr);
    uint8_t memory[spec::RdmaSqReq::kBytes];
    request.Encode(memory);
    std::copy_n(memory, sizeof token.head_bytes, token.head_bytes);
    token.tail_bytes[0] = static_cast<uint8_t>(num_sge);
    token.bytes += 16 * num_sge;
    return token;
  }
  spec::MemoryCheck Check() const {
    using Access = spec::IbAccessFlags;
    return {.key = rkey,
            .pdn = Qp{}.pdn,
            .remote_write = (access & Access::kRemoteWrite) != 0,
            .remote_read = (access & Access::kRemoteRead) != 0,
            .remote_atomic = (access & Access::kRemoteAtomic) != 0,
            .address = 0x1234'5678'9abc'def0,
            .bytes = static_cast<uint32_t>(length),
            .qpn = 3,
            .binds = true,
            .zero_based = (access & Access::kZeroBased) != 0,
            .lkey = 0x56'7802,
            .bytes_high = static_cast<uint32_t>(length >> 32)};
  }
};

// A check and a record, but no packet, PSN or room.
TEST(Requester, BindTakesItsFieldsFromTheWorkRequest) {
  using Access = spec::IbAccessFlags;
  for (const bool extensible : {false, true}) {
    Bench bench;
    bench.SetUp(3);
    std::vector<spec::MemoryCheck> expected;
    for (const uint32_t access :
         {Access::kRemoteWrite, Access::kRemoteRead, Access::kRemoteAtomic, Access::kZeroBased}) {
      const Bind bind{.access = access};
      bench.work.tokens.push_back(bind.Token(extensible));
      expected.push_back(bind.Check());
    }
    ASSERT_EQ(bench.Run(300), "");
    EXPECT_EQ(bench.binds, expected);
    const auto& records = bench.record_sink.sent();
    ASSERT_EQ(records.size(), expected.size());
    for (const auto& [cycle, record] : records) {
      EXPECT_EQ(record.status, IbWcStatus::kSuccess) << TokenText(record);
      EXPECT_TRUE(record.is_local);
      EXPECT_EQ(record.opcode, IbWcOpcode::kBindMw);
      EXPECT_EQ(record.first_psn, bench.qps[3].psn);
      EXPECT_EQ(record.last_psn, Psn(record.first_psn - 1));
    }
    EXPECT_TRUE(bench.job_sink.sent().empty());
    EXPECT_EQ(bench.room.used, 0u);
  }
}

TEST(Requester, BadBindFails) {
  using Access = spec::IbAccessFlags;
  struct Case {
    Bind bind;
    IbWcStatus status;
    RdmaError why;
  };
  const Case cases[] = {
      {{.flags = IbSendFlags::kFence}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kLocalWrite}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kMwBind}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kFlushGlobal}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = 1u << 31}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.num_sge = 1}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      // What the memory check answers.
      {{.rkey = 0xf0}, IbWcStatus::kMwBindErr, RdmaError::kBadMrn},
      {{.rkey = 0xf1}, IbWcStatus::kMwBindErr, RdmaError::kBadPdn},
      {{.rkey = 0xf2}, IbWcStatus::kMwBindErr, RdmaError::kBadAccessFlags},
      {{.rkey = 0xf3}, IbWcStatus::kMwBindErr, RdmaError::kInvalidLength},
  };
  for (const bool extensible : {false, true}) {
    for (const Case& bad : cases) {
      SCOPED_TRACE(&bad - cases);
      Bench bench;
      bench.SetUp(3);
      bench.work.tokens = {bad.bind.Token(extensible), Bind{}.Token(extensible)};
      ASSERT_EQ(bench.Run(300), "");
      const auto& records = bench.record_sink.sent();
      ASSERT_EQ(records.size(), 2u);
      EXPECT_EQ(records[0].token.status, bad.status) << spec::ToString(records[0].token.status);
      EXPECT_EQ(records[0].token.vendor_err, static_cast<uint32_t>(bad.why));
      EXPECT_EQ(records[1].token.status, IbWcStatus::kWrFlushErr);
      EXPECT_EQ(bench.failure_sink.sent().size(), 1u);
    }
  }
}

TEST(Requester, ZeroByteMessageIsOnePacketWithoutMemory) {
  for (const uint32_t num_sge : {0u, 1u}) {
    Bench bench;
    bench.SetUp(3);
    WorkRequest request{.num_sge = num_sge};
    request.sge = {.addr = 0, .length = num_sge == 0 ? 77u : 0u, .lkey = 0xf0};  // a key that is refused
    if (num_sge == 0) request.bytes = 576;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0u);
    ASSERT_EQ(bench.job_sink.sent().size(), 1u);
    const spec::TxJob& job = bench.job_sink.sent()[0].token;
    EXPECT_EQ(job.packet.opcode, BthOpcode::kRcRdmaWriteOnly);
    EXPECT_EQ(job.packet.payload_bytes, 0);
    EXPECT_EQ(job.bytes0, 0);
  }
}

TEST(Requester, EveryBadWorkRequestFailsOnceAndKillsItsQp) {
  struct Case {
    const char* what;
    std::function<void(Qp&, WorkRequest&)> spoil;
    IbWcStatus status;
    RdmaError why;
  };
  const auto opcode = [](uint8_t value) { return [value](Qp&, WorkRequest& w) { w.opcode = value; }; };
  const auto key = [](uint32_t value) { return [value](Qp&, WorkRequest& w) { w.sge.lkey = value; }; };
  const auto datagram = [](void (*spoil)(WorkRequest&)) {
    return [spoil](Qp& q, WorkRequest& w) {
      q.type = IbQpType::kUd;
      w.is_datagram = true;
      w.opcode = 2;
      spoil(w);
    };
  };
  const auto extensible = [](void (*spoil)(WorkRequest&)) {
    return [spoil](Qp&, WorkRequest& w) {
      w.extensible = true;
      spoil(w);
    };
  };
  const Case cases[] = {
      {"service", [](Qp& q, WorkRequest&) { q.type = IbQpType::kSmi; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedQpType},
      {"unknown service", [](Qp& q, WorkRequest&) { q.type = IbQpType{5}; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedQpType},
      {"read of UC", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUc, w.opcode = kRead; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write with immediate data of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = 1; },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"read of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = kRead; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"write of GSI", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kGsi, w.opcode = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"atomic of UC", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUc, w.opcode = kFetchAdd; },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"atomic of UD", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUd, w.opcode = kCompareSwap; },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"inline atomic", [](Qp&, WorkRequest& w) { w.opcode = kFetchAdd, w.SetInline(8); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"atomic of a QP without", [](Qp& q, WorkRequest& w) { q.max_rd_atomic = 0, w.opcode = kFetchAdd; },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"short element of an atomic", [](Qp&, WorkRequest& w) { w.opcode = kFetchAdd, w.sge.length = 7; },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"atomic without element", [](Qp&, WorkRequest& w) { w.opcode = kCompareSwap, w.num_sge = 0; },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"ATOMIC WRITE of UC",
       [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUc, w.opcode = kAtomicWrite, w.num_sge = 0; },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"inline ATOMIC WRITE", [](Qp&, WorkRequest& w) { w.opcode = kAtomicWrite, w.SetInline(8); },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"element of an ATOMIC WRITE", [](Qp&, WorkRequest& w) { w.opcode = kAtomicWrite, w.sge.length = 8; },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"ATOMIC WRITE of a QP without",
       [](Qp& q, WorkRequest& w) { q.max_rd_atomic = 0, w.opcode = kAtomicWrite, w.num_sge = 0; },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"FLUSH of UC", [](Qp& q, WorkRequest& w) { q.type = IbQpType::kUc, w.SetFlush(8, 1, 0); },
       IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"element of a FLUSH", [](Qp&, WorkRequest& w) { w.SetFlush(8, 1, 0), w.num_sge = 1; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"FLUSH for nothing", [](Qp&, WorkRequest& w) { w.SetFlush(8, 0, 0); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"FLUSH for what is reserved", [](Qp&, WorkRequest& w) { w.SetFlush(8, 5, 0); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"FLUSH of a reserved extent", [](Qp&, WorkRequest& w) { w.SetFlush(8, 1, 2); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"FLUSH of too much", [](Qp&, WorkRequest& w) { w.SetFlush(0x8000'0000, 1, 0); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"FLUSH of a QP without", [](Qp& q, WorkRequest& w) { q.max_rd_atomic = 0, w.SetFlush(8, 1, 0); },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"next opcode", opcode(10), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"inline read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.SetInline(8); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"read of a QP without", [](Qp& q, WorkRequest& w) { q.max_rd_atomic = 0, w.opcode = kRead; },
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"length of a read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.sge.length = 0x8000'0001; },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"list of a read", [](Qp&, WorkRequest& w) { w.opcode = kRead, w.SetList(std::vector<spec::RdmaSge>(5)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"handle behind the table", datagram([](WorkRequest& w) { w.ah = 16 + 3; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"handle of more than 16 bits", datagram([](WorkRequest& w) { w.ah = 0x1'0003; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"handle that is none", datagram([](WorkRequest& w) { w.ah = 4; }), IbWcStatus::kLocQpOpErr, RdmaError::kBadAh},
      {"handle of another domain", datagram([](WorkRequest& w) { w.ah = 5; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadAh},
      {"long datagram", datagram([](WorkRequest& w) { w.sge.length = 1025; }), IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"long list of a datagram",
       datagram([](WorkRequest& w) { w.SetList({{.length = 1000}, {.length = 24}, {.length = 1}}); }),
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"very long datagram", datagram([](WorkRequest& w) { w.sge.length = ~0U; }), IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"key of a datagram", datagram([](WorkRequest& w) { w.sge.lkey = 0xf0; }), IbWcStatus::kLocProtErr,
       RdmaError::kBadMrn},
      {"unknown", opcode(200), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"mtu 0", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{0}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"mtu 6", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{6}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"flags", [](Qp&, WorkRequest& w) { w.flags = 0x10; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"inline data", [](Qp& q, WorkRequest& w) { q.max_inline_data = 64, w.SetInline(65); }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapInlineExceeded},
      {"inline data behind its room", [](Qp& q, WorkRequest& w) { q.max_inline_data = 999, w.SetInline(513); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapInlineExceeded},
      {"list", [](Qp& q, WorkRequest& w) { q.max_send_sge = 3, w.SetList(std::vector<spec::RdmaSge>(4)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"list for the device",
       [](Qp& q, WorkRequest& w) { q.max_send_sge = 255, w.SetList(std::vector<spec::RdmaSge>(8)); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"long list", [](Qp&, WorkRequest& w) { w.num_sge = 0x100'0001; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"no elements allowed", [](Qp& q, WorkRequest&) { q.max_send_sge = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"half an element", [](Qp&, WorkRequest& w) { w.bytes = 591; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"half a list", [](Qp&, WorkRequest& w) { w.SetList(std::vector<spec::RdmaSge>(3)), w.bytes -= 1; },
       IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"length of a list",
       [](Qp&, WorkRequest& w) { w.SetList({{.length = 0x8000'0000}, {.length = 0}, {.length = 1}}); },
       IbWcStatus::kLocLenErr, RdmaError::kInvalidLength},
      {"length of a list above 32 bits",
       [](Qp&, WorkRequest& w) { w.SetList({{.length = ~0u}, {.length = 1}, {.length = 7}}); }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"length", [](Qp&, WorkRequest& w) { w.sge.length = 0x8000'0001; }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
      {"version 0", extensible([](WorkRequest& w) { w.version = 0; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"version 2", extensible([](WorkRequest& w) { w.version = 2; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedCommand},
      {"element 5", extensible([](WorkRequest& w) { w.mask = 0x31; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"element 7", extensible([](WorkRequest& w) { w.mask = 0x91; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"write without memory", extensible([](WorkRequest& w) { w.mask = 0x10; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"write of a datagram", extensible([](WorkRequest& w) { w.mask = 0x12; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"write with operands", extensible([](WorkRequest& w) { w.mask = 0x15; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"send with memory", extensible([](WorkRequest& w) { w.opcode = 2, w.mask = 0x11; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"atomic without operands", extensible([](WorkRequest& w) { w.opcode = kFetchAdd, w.mask = 0x11; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"atomic without memory", extensible([](WorkRequest& w) { w.opcode = kFetchAdd, w.mask = 0x14; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"datagram without peer", datagram([](WorkRequest& w) { w.extensible = true, w.mask = 0x10; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"data and a list", extensible([](WorkRequest& w) { w.SetInline(16), w.mask = 0x19; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"data without its flag", extensible([](WorkRequest& w) { w.mask = 9; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kInvalidParameter},
      {"flag without its data", extensible([](WorkRequest& w) { w.SetInline(16), w.mask = 1; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"inline read, extensible", extensible([](WorkRequest& w) { w.opcode = kRead, w.SetInline(8); }),
       IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"base alone of a write", extensible([](WorkRequest& w) { w.length = 16; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadWqe},
      {"half an element", extensible([](WorkRequest& w) { w.length = 31; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadWqe},
      {"half of the operands", extensible([](WorkRequest& w) { w.opcode = kCompareSwap, w.length = 40; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"data before its place", extensible([](WorkRequest& w) { w.SetInline(8), w.length = 28; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"half of a list", extensible([](WorkRequest& w) { w.length = 32 + 15; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadWqe},
      {"more than a list", extensible([](WorkRequest& w) { w.length = 32 + 17; }), IbWcStatus::kLocQpOpErr,
       RdmaError::kBadWqe},
      {"more than the elements", extensible([](WorkRequest& w) { w.num_sge = 0, w.length = 48; }),
       IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"long list", extensible([](WorkRequest& w) { w.SetList(std::vector<spec::RdmaSge>(5)); }),
       IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"more inline data", [](Qp& q, WorkRequest& w) { q.max_inline_data = 31, w.extensible = true, w.SetInline(32); },
       IbWcStatus::kLocQpOpErr, RdmaError::kCapInlineExceeded},
      {"key", key(0xf0), IbWcStatus::kLocProtErr, RdmaError::kBadMrn},
      {"domain", key(0xf1), IbWcStatus::kLocProtErr, RdmaError::kBadPdn},
      {"rights", key(0xf2), IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags},
      {"bounds", key(0xf3), IbWcStatus::kLocProtErr, RdmaError::kInvalidLength},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Bench bench;
    WorkRequest good{.head = 1, .wr_id = 1};
    WorkRequest spoiled{.head = 2, .wr_id = 2, .flags = 0};
    c.spoil(bench.qps[3], spoiled);
    bench.SetUp(3);
    bench.SetUp(4);
    bench.SetHandle(3, true, 9);
    bench.SetHandle(4, false, 9);
    bench.SetHandle(5, true, 8);
    bench.Post(spoiled);
    bench.Post(good);
    good.qpn = 4;  // of another QP
    bench.Post(good);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.record_sink.sent().size(), 3u);
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, c.status);
    EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(c.why));
    EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kWrFlushErr);
    EXPECT_EQ(bench.record_sink.sent()[2].token.status, IbWcStatus::kSuccess);
    ASSERT_EQ(bench.failure_sink.sent().size(), 1u);
    EXPECT_EQ(bench.failure_sink.sent()[0].token.code, static_cast<uint32_t>(c.why));
    EXPECT_GT(bench.failure_sink.sent()[0].cycle, bench.record_sink.sent()[0].cycle);
    // A load is a new beginning.
    bench.qps[3] = Qp{.psn = 5};
    bench.SetUp(3);
    good.qpn = 3;
    bench.Post(good);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 5u);
  }
}

TEST(Requester, WorkRequestOfAQpWithBadParityFailsUnsent) {
  for (const uint32_t bit : {0u, 30u, 1023u}) {
    Bench bench;
    for (const uint32_t qpn : {3u, 4u}) bench.SetUp(qpn);
    bench.contexts.Flip(spec::ContextRam::kRequesterQp, 4, bit);
    ASSERT_NO_FATAL_FAILURE(bench.Post({.qpn = 3, .wr_id = bit}));
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.contexts.errors.empty());
    const size_t jobs = bench.job_sink.sent().size(), records = bench.record_sink.sent().size();
    bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.contexts.errors.size(), 1u);
    EXPECT_EQ(bench.job_sink.sent().size(), jobs);
    ASSERT_EQ(bench.record_sink.sent().size(), records + 1);
    EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kLocQpOpErr);
    // A write ends it.
    bench.SetUp(4);
    bench.contexts.errors.clear();
    bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_TRUE(bench.contexts.errors.empty());
    EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kSuccess);
  }
}

TEST(Requester, AddressHandleWithBadParityIsInvalid) {
  Bench bench;
  bench.qps[3] = {.type = IbQpType::kUd};
  for (const uint32_t qpn : {3u, 4u}) bench.SetUp(qpn);
  bench.SetHandle(5, true, 9);
  bench.contexts.Flip(spec::ContextRam::kRequesterAh, 5, 3);
  bench.contexts.Flip(spec::ContextRam::kRequesterAh, 5, 4);  // replaces the first one
  // A QP of another service has no handle; the field is ignored.
  bench.work.tokens.push_back(WorkRequest{.qpn = 4, .is_datagram = true, .ah = 5}.Token());
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_TRUE(bench.contexts.errors.empty());
  const WorkRequest datagram{.qpn = 3, .opcode = 2, .is_datagram = true, .ah = 5};
  bench.work.tokens.push_back(datagram.Token());
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.contexts.errors.size(), 1u);
  const auto& record = bench.record_sink.sent().back().token;
  EXPECT_EQ(record.status, IbWcStatus::kLocQpOpErr);
  EXPECT_EQ(record.vendor_err, static_cast<uint32_t>(RdmaError::kBadAh));
}

TEST(Requester, LongestMessageStarts) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request;
  request.sge.length = model::kMaxMessageBytes;
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Run(2000), "");
  EXPECT_EQ(bench.failure.count, 0u);
  EXPECT_GT(bench.job.count, 100u);
  EXPECT_EQ(bench.record_sink.sent().at(0).token.last_psn, Psn(1000 + (1u << 21) - 1));
  // It ends with the state.
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.record.count, 1u);  // which the completer flushes
  bench.work.tokens.push_back(request.Token());
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record.count, 2u);
  EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kWrFlushErr);
  EXPECT_EQ(bench.failure.count, 0u);
}

TEST(Requester, MessageWhoseMemoryFailsMidwayAmendsItsRecord) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  WorkRequest request;
  request.sge = {.addr = 0x1'0000, .length = 4000, .lkey = 0x80};  // 1,000 bytes are there: 3 packets
  bench.Post(request);
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  ASSERT_EQ(bench.record.count, 3u);
  EXPECT_EQ(bench.job.count, 3u);
  EXPECT_TRUE(bench.record_sink.sent()[1].token.replaces);
  EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kLocProtErr);
  EXPECT_EQ(bench.record_sink.sent()[2].token.status, IbWcStatus::kWrFlushErr);
}

TEST(Requester, UnreadableWorkRequestLeavesASilentRecord) {
  for (const RdmaError failed : {RdmaError::kBadWqe, RdmaError::kQueueDmaError}) {
    Bench bench;
    bench.SetUp(3);
    bench.Post({.head = 7, .failed = failed});
    bench.Post({.head = 8});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().at(0).token.no_completion);
    EXPECT_FALSE(bench.record_sink.sent().at(1).token.no_completion);
    EXPECT_EQ(bench.failure.count, 0u);  // the send queue reports it
    EXPECT_EQ(bench.job.count, 0u);
  }
}

TEST(Requester, OnlySendingOrDrainingQpsSend) {
  for (const IbQpState state : {IbQpState::kReset, IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd,
                                IbQpState::kSqe, IbQpState::kErr}) {
    Bench bench;
    bench.qps[3].state = state;
    bench.SetUp(3);
    bench.Post({.head = 7});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, state == IbQpState::kRts || state == IbQpState::kSqd ? 1u : 0u);
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

// Nothing is granted that would wait for the wire afterwards.
TEST(Requester, ChecksNoMemoryOfAPacketWithoutRoom) {
  for (const bool is_inline : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    bench.room.rate = 0;
    WorkRequest request{.sge = {.addr = 0x1'0000, .length = 3 * 256, .lkey = 0x42}};
    if (is_inline) request.SetInline(512);
    bench.Post(request);
    for (uint16_t head = 1; head < 4; ++head) bench.Post({.head = head});
    ASSERT_EQ(bench.Run(200), "");
    EXPECT_EQ(bench.room.used, model::TxRoom::kAhead);
    EXPECT_EQ(bench.job.count, model::TxRoom::kAhead);
    EXPECT_EQ(bench.check.count, is_inline ? 0 : model::TxRoom::kAhead);
    bench.room.rate = 16;
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.room.unused, 0u);
  }
}

// A packet of several runs has room for all of them; a work request without packets needs none.
TEST(Requester, TakesRoomOncePerPacket) {
  Bench bench;
  bench.SetUp(3);
  bench.room.rate = 0;
  WorkRequest request;
  request.SetList({{.addr = 0x1'0000, .length = 100, .lkey = 1},
                   {.addr = 0x2'0000, .length = 200, .lkey = 1},
                   {.addr = 0x3'0000, .length = 300, .lkey = 1}});
  bench.Post(request);
  bench.Post({.head = 1, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.room.used, 2u);
  bench.Post({.head = 2, .opcode = 0x77});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.room.used, 2u);
}

TEST(Requester, ReturnsTheRoomOfAPacketThatIsNotSent) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  // The first packet's memory is refused; so the others, which were checked before, are not sent.
  bench.Post({.sge = {.addr = 0x1'0000, .length = 4 * 256, .lkey = 0xf0}});
  bench.Post({.head = 1});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 0u);
  EXPECT_GE(bench.room.used, 2u);
  EXPECT_EQ(bench.room.unused, bench.room.used);
}

// A message that waits for room ends with the state of its queue pair, without room.
TEST(Requester, StateEndsAMessageThatWaitsForRoom) {
  Bench bench;
  bench.qps[3].mtu = IbMtu::kMtu256;
  bench.SetUp(3);
  bench.room.rate = 0;
  bench.work.tokens.push_back(WorkRequest{.sge = {.addr = 0x1'0000, .length = 4 * 256, .lkey = 0x42}}.Token());
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_EQ(bench.job.count, model::TxRoom::kAhead);
  EXPECT_EQ(bench.p.idle_o, 0);
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, model::TxRoom::kAhead);
}

TEST(Requester, MeetsDocumentedLatencies) {
  Bench bench;
  bench.SetUp(3);
  bench.place.rate = 0;
  bench.work.tokens.push_back(WorkRequest{}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToCheck), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  ASSERT_EQ(bench.Run(10), "");
  bench.place.rate = 16;
  ASSERT_EQ(bench.Run(Requester::kPlaceToRecord), "");
  EXPECT_EQ(bench.record.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 1u);
  ASSERT_EQ(bench.Run(Requester::kPlaceToJob - Requester::kPlaceToRecord - 1), "");
  EXPECT_EQ(bench.job.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.job.count, 1u);
  ASSERT_EQ(bench.Settle(), "");
  bench.work.tokens.push_back(WorkRequest{.opcode = 77}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToFlush), "");
  EXPECT_EQ(bench.record.count, 1u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 2u);
}

TEST(Requester, OnePacketMessageTakesFourCyclesAndFurtherPacketsThree) {
  Bench bench;
  bench.SetUp(3);
  for (int i = 0; i < 200; ++i) bench.work.tokens.push_back(WorkRequest{}.Token());
  Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 200u);
  EXPECT_LE(bench.bench.cycle() - start, 200u * 4 + 30);
  WorkRequest request;
  request.sge.length = 200 * 1024;
  bench.work.tokens.push_back(request.Token());
  start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 400u);
  EXPECT_LE(bench.bench.cycle() - start, 200u * 3 + 30);
}

TEST(Requester, EveryOperationHasItsOpcodesAndHeaders) {
  struct Row {
    IbQpType type;
    uint8_t opcode;
    BthOpcode only, last;  // of several packets
    bool may_solicit;
    size_t immediate;  // position in the headers of the last packet if that is the only one
  };
  constexpr Row kRows[] = {
      {IbQpType::kRc, 0, BthOpcode::kRcRdmaWriteOnly, BthOpcode::kRcRdmaWriteLast, false, 0},
      {IbQpType::kRc, 1, BthOpcode::kRcRdmaWriteOnlyWithImmediate, BthOpcode::kRcRdmaWriteLastWithImmediate, true, 16},
      {IbQpType::kRc, 2, BthOpcode::kRcSendOnly, BthOpcode::kRcSendLast, true, 0},
      {IbQpType::kRc, 3, BthOpcode::kRcSendOnlyWithImmediate, BthOpcode::kRcSendLastWithImmediate, true, 0},
      {IbQpType::kRc, 4, BthOpcode::kRcRdmaReadRequest, BthOpcode::kRcRdmaReadRequest, false, 0},
      {IbQpType::kUc, 0, BthOpcode::kUcRdmaWriteOnly, BthOpcode::kUcRdmaWriteLast, false, 0},
      {IbQpType::kUc, 1, BthOpcode::kUcRdmaWriteOnlyWithImmediate, BthOpcode::kUcRdmaWriteLastWithImmediate, true, 16},
      {IbQpType::kUc, 2, BthOpcode::kUcSendOnly, BthOpcode::kUcSendLast, true, 0},
      {IbQpType::kUc, 3, BthOpcode::kUcSendOnlyWithImmediate, BthOpcode::kUcSendLastWithImmediate, true, 0},
      {IbQpType::kUd, 2, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, true, 0},
      {IbQpType::kUd, 3, BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate, true, 8},
      {IbQpType::kGsi, 2, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, true, 0},
      {IbQpType::kGsi, 3, BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate, true, 8},
  };
  for (const Row& row : kRows) {
    for (const uint32_t length : {0u, 100u, 256u, 257u, 1000u}) {
      for (const bool solicited : {false, true}) {
        Bench bench;
        Qp& qp = bench.qps[3];
        qp.mtu = IbMtu::kMtu256;
        qp.type = row.type;
        if (qp.IsUd() && length > 256) continue;
        bench.SetUp(3);
        bench.SetHandle(3, true, 9);
        WorkRequest request{.opcode = row.opcode, .is_datagram = qp.IsUd()};
        if (solicited) request.flags |= IbSendFlags::kSolicited;
        request.sge.length = length;
        bench.Post(request);
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        // Independent of the reference, for the ends: immediate data is in the last packet alone.
        const spec::TxPacket& last = bench.job_sink.sent().back().token.packet;
        const bool is_only = length <= 256;
        const bool has_immediate = row.opcode % 2 == 1;
        EXPECT_EQ(last.opcode, is_only ? row.only : row.last);
        if (row.opcode < 2 || !is_only || has_immediate) {
          const size_t at = is_only ? row.immediate : 0;
          if (row.opcode != kRead) {
            EXPECT_EQ(last.extension[at], has_immediate ? 0x0a : is_only ? 0x12 : 0);
            EXPECT_EQ(last.extension[at + 3], has_immediate ? 0x0d : is_only ? 0x78 : 0);
          }
        }
        EXPECT_EQ(last.solicited_event, solicited && row.may_solicit);
        // Only RC is acknowledged; others report.
        EXPECT_EQ(last.ack_req, row.type == IbQpType::kRc);
        EXPECT_EQ(last.reports, row.type != IbQpType::kRc);
        EXPECT_FALSE(last.is_response);
        for (const auto& [cycle, job] : bench.job_sink.sent()) {
          EXPECT_EQ(job.packet.reports, row.type != IbQpType::kRc && job.packet.psn == last.psn);
          EXPECT_EQ(job.packet.has_ah, qp.IsUd());
        }
        EXPECT_EQ(bench.record_sink.sent()[0].token.opcode, row.opcode < 2        ? IbWcOpcode::kRdmaWrite
                                                            : row.opcode == kRead ? IbWcOpcode::kRdmaRead
                                                                                  : IbWcOpcode::kSend);
        EXPECT_EQ(bench.record_sink.sent()[0].token.last_psn, Psn(1000 + (length == 0 ? 0 : (length - 1) / 256)));
      }
    }
  }
}

TEST(Requester, ListOfAnyElementsIsOneMessage) {
  const std::vector<std::vector<uint32_t>> lists = {
      {100, 100},      {256, 256}, {255, 1, 1},       {1, 1, 1, 1, 1, 1, 1}, {0, 0, 0},
      {0, 5},          {5, 0},     {0, 0, 300, 0},    {1000, 1, 1000},       {257, 0, 0, 0, 0, 256},
      {2000, 3, 0, 4}, {0},        {512, 0, 0, 0, 0}, {3, 4097, 1},          {1, 254, 1, 256, 0, 0, 1}};
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu4096}) {
    Bench bench;
    bench.qps[3].mtu = mtu;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    uint16_t head = 0;
    for (const auto& lengths : lists) {
      WorkRequest request{.head = head++, .opcode = 3};
      std::vector<spec::RdmaSge> elements;
      for (const uint32_t length : lengths) {
        const auto i = static_cast<uint32_t>(elements.size());
        // The key of an element of 0 bytes is not checked.
        elements.push_back({.addr = 0x1'0ff0 + 0x10000 * i, .length = length, .lkey = length == 0 ? 0xf0 : 0x10 + i});
      }
      request.SetList(elements);
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

TEST(Requester, ListIsReadOnceFourElementsAtATime) {
  for (uint32_t elements = 1; elements <= 7; ++elements) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    bench.fetch.keep = true;
    WorkRequest request{.head = 2};
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 3000, .lkey = 1}));
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_EQ(bench.fetch.count, (elements + 2) / 4);
    if (elements == 7) {
      EXPECT_EQ(bench.fetch_sink.sent()[0].token.address, request.Address() + 592);
      EXPECT_EQ(bench.fetch_sink.sent()[0].token.bytes, 64);
      EXPECT_EQ(bench.fetch_sink.sent()[1].token.address, request.Address() + 592 + 64);
      EXPECT_EQ(bench.fetch_sink.sent()[1].token.bytes, 32);
    }
  }
}

TEST(Requester, ListWhoseMemoryFailsDropsTheStartedPacket) {
  for (size_t bad = 0; bad < 5; ++bad) {
    for (const uint32_t length : {100u, 128u, 300u}) {
      Bench bench;
      bench.qps[3].mtu = IbMtu::kMtu256;
      bench.qps[3].max_send_sge = 7;
      bench.SetUp(3);
      WorkRequest request{.head = 2};
      std::vector<spec::RdmaSge> list(5, {.addr = 0x1'0000, .length = length, .lkey = 1});
      list[bad].lkey = 0xf1;
      request.SetList(list);
      bench.Post(request);
      bench.Post({.head = 3});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      ASSERT_EQ(bench.failure.count, 1u);
      const auto& records = bench.record_sink.sent();
      EXPECT_EQ(records.size(), bad == 0 ? 2u : 3u);
      EXPECT_EQ(records[records.size() - 2].token.replaces, bad != 0);
      const bool in_a_packet = bad * length % 256 != 0;
      EXPECT_EQ(!bench.job_sink.sent().empty() && bench.job_sink.sent().back().token.drop, in_a_packet);
    }
  }
}

TEST(Requester, UnreadableListFails) {
  for (const uint32_t bad : {1u, 4u, 5u, 6u}) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    WorkRequest request{.head = 2};
    request.SetList(std::vector<spec::RdmaSge>(7, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
    bench.reference.unreadable.insert(request.Address() + 576 + 16 * bad);
    bench.Post(request);
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.record_sink.sent()[0].token.status, IbWcStatus::kLocQpOpErr);
    EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(RdmaError::kQueueDmaError));
    EXPECT_EQ(bench.failure.count, 1u);
  }
}

// Whatever the format, a work request has the same effects: the reference makes no difference.
TEST(Requester, ExtensibleWorkRequestsDoWhatThoseOfTheRfcDo) {
  for (const bool is_datagram : {false, true}) {
    for (uint32_t elements = 0; elements <= 4; ++elements) {
      Bench bench;
      bench.qps[3] = {.type = is_datagram ? IbQpType::kUd : IbQpType::kRc, .max_rd_atomic = 16};
      bench.SetUp(3);
      bench.SetHandle(3, true, 9);
      for (uint8_t opcode = 0; opcode < 7; ++opcode) {
        if (!bench.qps[3].Has(opcode)) continue;
        WorkRequest request{.head = opcode, .wr_id = 0x1111u * opcode, .opcode = opcode};
        request.is_datagram = is_datagram;
        if (request.IsAtomic() && elements == 0) continue;
        std::vector<spec::RdmaSge> list(elements);
        for (uint32_t i = 0; i < elements; ++i) list[i] = {.addr = 0x3'0000 + 5 * i, .length = 90 + i, .lkey = i};
        request.SetList(list);
        for (const bool extensible : {false, true}) {
          request.extensible = extensible;
          bench.Post(request);
        }
      }
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      const auto& jobs = bench.job_sink.sent();
      ASSERT_EQ(jobs.size() % 2, 0u);
      EXPECT_GE(jobs.size(), is_datagram ? 4u : 10u);
      EXPECT_EQ(bench.failure.count, 0u);
    }
  }
}

TEST(Requester, InlineDataThatWasReadGoesWithThePacket) {
  for (const bool is_datagram : {false, true}) {
    for (const uint32_t length : {0u, 1u, 3u, 4u, 16u, 31u, 32u, 33u, 48u, 64u, 256u, 257u, 512u}) {
      Bench bench;
      bench.qps[3] = {.type = is_datagram ? IbQpType::kUd : IbQpType::kRc,
                      .mtu = is_datagram ? IbMtu::kMtu512 : IbMtu::kMtu256};
      bench.SetUp(3);
      bench.SetHandle(3, true, 9);
      for (uint8_t opcode = 0; opcode < 4; ++opcode) {
        if (!bench.qps[3].Has(opcode)) continue;
        WorkRequest request{.head = opcode, .opcode = opcode, .is_datagram = is_datagram, .extensible = true};
        request.SetInline(length);
        request.sge.lkey = 0xf0;
        bench.Post(request);
      }
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      EXPECT_EQ(bench.check.count, 0u);
      EXPECT_EQ(bench.fetch.count, 0u);
      EXPECT_EQ(bench.failure.count, 0u);
      for (const auto& sent : bench.job_sink.sent()) {
        EXPECT_EQ(sent.token.packet.has_inline, length >= 1 && length <= 32);
        EXPECT_EQ(sent.token.bytes0 != 0, length > 32);
      }
    }
  }
}

// Where it is several beats: like longer inline data.
TEST(Requester, NarrowReadsInlineDataAgain) {
  for (const uint32_t length : {0u, 1u, 8u, 31u, 32u, 33u, 256u, 257u}) {
    NarrowBench bench;
    bench.qps[3] = {.mtu = IbMtu::kMtu256, .carries_inline = false};
    bench.SetUp(3);
    for (uint8_t opcode = 0; opcode < 4; ++opcode) {
      WorkRequest request{.head = opcode, .opcode = opcode, .extensible = true};
      request.SetInline(length);
      request.sge.lkey = 0xf0;
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0u);
    EXPECT_EQ(bench.failure.count, 0u);
    for (const auto& sent : bench.job_sink.sent()) {
      EXPECT_FALSE(sent.token.packet.has_inline);
      EXPECT_EQ(sent.token.bytes0 != 0, length != 0);
    }
  }
}

TEST(Requester, InlineDataComesFromTheWorkRequestWithoutAKey) {
  for (const uint32_t length : {0u, 1u, 255u, 256u, 257u, 512u}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.SetUp(3);
    for (uint8_t opcode = 0; opcode < 4; ++opcode) {
      WorkRequest request{.head = opcode, .opcode = opcode};
      request.SetInline(length);
      request.sge.lkey = 0xf0;
      bench.Post(request);
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.check.count, 0u);
    EXPECT_EQ(bench.fetch.count, 0u);
    EXPECT_EQ(bench.failure.count, 0u);
  }
}

}  // namespace
}  // namespace vireo::verif
