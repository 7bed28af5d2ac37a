// SPDX-License-Identifier: Apache-2.0
// The requester: RTL against model in every cycle, and both against a reference that takes one work request after the
// other.
#include "model/rdma/requester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "Vrequester.h"
#include "verif/common/block_bench.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Requester;
using spec::BthOpcode;
using spec::IbMtu;
using spec::IbQpState;
using spec::IbSendFlags;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::RdmaError;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.num_qps = 16;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

// What the memory check says, by key and address: two runs, cut at the page; keys from 0xf0 on are refused.
spec::MemoryPlace PlaceOf(const spec::MemoryCheck& check) {
  constexpr uint64_t kPage = 4096;
  if (check.key >= 0xf0 && check.key < 0xf4) {
    return {.status = static_cast<MemoryStatus>(1 + check.key % 4)};
  }
  // Keys from 0x80 on name regions of 1,000 bytes from 0x1'0000 on.
  if (check.key >= 0x80 && check.key < 0xf0 && check.address + check.bytes > 0x1'0000 + 1000) {
    return {.status = MemoryStatus::kBounds};
  }
  const auto bytes0 = static_cast<uint16_t>(std::min<uint64_t>(check.bytes, kPage - check.address % kPage));
  const auto bytes1 = static_cast<uint16_t>(check.bytes - bytes0);
  return {.address0 = check.address + 0x7000'0000,
          .bytes0 = bytes0,
          .address1 = bytes1 == 0 ? 0 : check.address * 3 & ~(kPage - 1),
          .bytes1 = bytes1};
}

struct WorkRequest {
  uint32_t qpn = 3;
  uint16_t head = 0;
  RdmaError failed = RdmaError::kOk;
  uint32_t bytes = 592;
  uint64_t wr_id = 0;
  uint8_t opcode = static_cast<uint8_t>(spec::IbWrOpcode::kRdmaWrite);
  uint8_t flags = IbSendFlags::kSignaled;
  uint64_t remote_address = 0x1234'5678'9abc'def0;
  uint32_t rkey = 0xfeed'beef;
  uint32_t num_sge = 1;
  spec::RdmaSge sge{.addr = 0x1'0000, .length = 100, .lkey = 0x42};

  spec::WorkRequest Token() const {
    spec::WorkRequest token{.qpn = qpn, .head = head, .failed = failed, .address = 0x5555'0000, .bytes = bytes};
    if (failed != RdmaError::kOk) return token;
    spec::RdmaSqReq request{.wr_id = wr_id, .opcode = static_cast<spec::IbWrOpcode>(opcode), .send_flags = flags};
    spec::RdmaSqReqRdma{.remote_addr = remote_address, .rkey = rkey}.Encode(request.wr);
    spec::RdmaSqReqNumSge{.num_sge = num_sge}.Encode(request.size);
    uint8_t memory[spec::RdmaSqReq::kBytes + spec::RdmaSge::kBytes];
    request.Encode(memory);
    sge.Encode(memory + spec::RdmaSqReq::kBytes);
    std::copy_n(memory, sizeof token.head_bytes, token.head_bytes);
    std::copy_n(memory + spec::RdmaSqReq::kSizeOffset, sizeof token.tail_bytes, token.tail_bytes);
    return token;
  }
};

struct Qp {
  spec::IbQpType type = spec::IbQpType::kRc;
  IbMtu mtu = IbMtu::kMtu1024;
  bool sq_sig_all = false;
  uint16_t pdn = 9;
  uint8_t max_send_sge = 4;
  uint32_t psn = 1000;
  IbQpState state = IbQpState::kRts;
  bool dead = false;
};

// One work request after the other.
struct Reference {
  std::vector<spec::SendRecord> records;
  std::vector<spec::TxJob> jobs;
  std::vector<spec::QpFailure> failures;

  void Do(Qp& qp, const WorkRequest& work) {
    spec::SendRecord record{
        .qpn = work.qpn,
        .head = work.head,
        .wr_id = work.failed == RdmaError::kOk ? work.wr_id : 0,
        .signaled = qp.sq_sig_all || (work.failed == RdmaError::kOk && (work.flags & IbSendFlags::kSignaled) != 0),
        .first_psn = qp.psn,
        .silent = work.failed != RdmaError::kOk};
    // A work request that was not read is all zero, and 0 is RDMA WRITE.
    const bool write = work.opcode == 0 || record.silent;
    if (write) record.opcode = spec::IbWcOpcode::kRdmaWrite;
    const auto fail = [&](IbWcStatus status, RdmaError why) {
      record.status = status;
      record.vendor_err = static_cast<uint32_t>(why);
      records.push_back(record);
      if (status != IbWcStatus::kWrFlushErr) {
        failures.push_back(
            {.qpn = work.qpn, .event_type = spec::RdmaEventType::kQpFatal, .code = static_cast<uint32_t>(why)});
      }
      qp.dead = true;
    };
    const uint32_t length = work.num_sge == 0 ? 0 : work.sge.length;
    const uint32_t mtu = 128u << static_cast<unsigned>(qp.mtu);
    const auto bad = [&]() -> RdmaError {
      if (qp.type != spec::IbQpType::kRc) return RdmaError::kUnsupportedQpType;
      if (!write) return RdmaError::kUnsupportedCommand;
      if (static_cast<unsigned>(qp.mtu) < 1 || static_cast<unsigned>(qp.mtu) > 5) return RdmaError::kInvalidAttribute;
      if ((work.flags & 0xf0) != 0) return RdmaError::kInvalidParameter;
      if ((work.flags & IbSendFlags::kInline) != 0) return RdmaError::kCapInlineExceeded;
      if (work.num_sge > qp.max_send_sge || work.num_sge > 1) return RdmaError::kCapSgeExceeded;
      if (work.num_sge == 1 && work.bytes < 592) return RdmaError::kBadWqe;
      return RdmaError::kOk;
    }();
    const bool sends = qp.state == IbQpState::kRts || qp.state == IbQpState::kSqd;
    record.last_psn = Psn(qp.psn - 1);
    const bool readable = sends && !record.silent && bad == RdmaError::kOk && length <= 0x8000'0000;
    const uint32_t packets = !readable || length == 0 ? 1 : (length + mtu - 1) / mtu;
    if (readable) record.last_psn = Psn(qp.psn + packets - 1);
    const uint32_t first = qp.psn;
    qp.psn = Psn(qp.psn + packets);
    if (qp.dead || !sends || record.silent) return fail(IbWcStatus::kWrFlushErr, RdmaError::kOk);
    if (bad != RdmaError::kOk) return fail(IbWcStatus::kLocQpOpErr, bad);
    if (!readable) return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
    for (uint32_t i = 0; i < packets; ++i) {
      const bool last = i + 1 == packets;
      const uint32_t bytes = last ? length - i * mtu : mtu;
      spec::TxJob job{};
      if (bytes != 0) {
        const auto place = PlaceOf({.key = work.sge.lkey,
                                    .pdn = qp.pdn,
                                    .address = work.sge.addr + uint64_t{i} * mtu,
                                    .bytes = static_cast<uint16_t>(bytes)});
        if (place.status != MemoryStatus::kOk) {
          record.amends = i != 0;
          constexpr RdmaError kWhy[] = {RdmaError::kOk, RdmaError::kBadMrn, RdmaError::kBadPdn,
                                        RdmaError::kBadAccessFlags, RdmaError::kInvalidLength};
          return fail(IbWcStatus::kLocProtErr, kWhy[static_cast<unsigned>(place.status)]);
        }
        job = {.address0 = place.address0, .bytes0 = place.bytes0, .address1 = place.address1, .bytes1 = place.bytes1};
      }
      if (i == 0) records.push_back(record);
      job.packet = {.qpn = work.qpn,
                    .opcode = packets == 1 ? BthOpcode::kRcRdmaWriteOnly
                              : i == 0     ? BthOpcode::kRcRdmaWriteFirst
                              : last       ? BthOpcode::kRcRdmaWriteLast
                                           : BthOpcode::kRcRdmaWriteMiddle,
                    .ack_req = last || (first + i) % 64 == 63,
                    .psn = Psn(first + i),
                    .payload_bytes = static_cast<uint16_t>(bytes)};
      if (i == 0) {
        for (size_t k = 0; k < 8; ++k) {
          job.packet.extension[k] = static_cast<uint8_t>(work.remote_address >> (56 - 8 * k));
        }
        for (size_t k = 0; k < 4; ++k) {
          job.packet.extension[8 + k] = static_cast<uint8_t>(work.rkey >> (24 - 8 * k));
          job.packet.extension[12 + k] = static_cast<uint8_t>(length >> (24 - 8 * k));
        }
      }
      jobs.push_back(job);
    }
  }
};

struct Bench {
  Bench() : bench(rtl, agenda, random) {
    block.memory_check_out.Connect(check_sink, block);
    block.job_out.Connect(job_sink, block);
    block.record_out.Connect(record_sink, block);
    block.failure_out.Connect(failure_sink, block);
    check.keep = false;
    check.on_token = [this](Cycle, const spec::MemoryCheck& token) {
      EXPECT_EQ(token.pdn, qps[3].pdn);
      EXPECT_FALSE(token.local_write || token.remote_write || token.remote_read);  // reading needs no right
      EXPECT_TRUE(token.bytes >= 1 && token.bytes <= 4096);
      place.tokens.push_back(PlaceOf(token));
    };
    record.on_token = [this](Cycle, const spec::SendRecord& token) {
      if (!token.amends && token.status == IbWcStatus::kSuccess) begun[token.qpn] = token;
    };
    job.on_token = [this](Cycle, const spec::TxJob& token) {
      // The record was there before; those of later messages may be there too.
      EXPECT_LT(Psn(begun[token.packet.qpn].last_psn - token.packet.psn), 0x80'0000u);
    };
  }

  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs in cycle " + std::to_string(bench.cycle());
    }
    return {};
  }
  std::string Settle() {
    for (int i = 0; i < 100'000; ++i) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (work.IsEmpty() && load.IsEmpty() && place.IsEmpty() && state.IsEmpty() && table.IsEmpty() && block.IsIdle()) {
        return {};
      }
    }
    return "the block does not come to rest";
  }
  // Makes the QP what qps[qpn] says.
  void SetUp(uint32_t qpn) {
    const Qp& qp = qps[qpn];
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.qp_type = qp.type,
                         .path_mtu = qp.mtu,
                         .sq_sig_all = qp.sq_sig_all,
                         .pdn = qp.pdn,
                         .max_send_sge = qp.max_send_sge}
        .Encode(write.data);
    table.tokens.push_back(write);
    write.table_id = spec::MgmtTable::kVirtqueue;  // not this block's
    std::fill(std::begin(write.data), std::end(write.data), uint8_t{0xff});
    table.tokens.push_back(write);
    load.tokens.push_back({.qpn = qpn, .psn = qp.psn});
    qps[qpn].dead = false;
    ASSERT_EQ(Settle(), "");
    state.tokens.push_back({.qpn = qpn, .state = qp.state});
    ASSERT_EQ(Settle(), "");
  }
  void Post(const WorkRequest& request) {
    work.tokens.push_back(request.Token());
    reference.Do(qps[request.qpn], request);
  }
  // What came is what the reference says.
  void Compare() {
    ASSERT_EQ(Settle(), "");
    const auto same = [](const auto& sent, const auto& expected, const char* name) {
      for (size_t i = 0; i < std::min(sent.size(), expected.size()); ++i) {
        ASSERT_EQ(sent[i].token, expected[i])
            << name << " " << i << ": " << TokenText(sent[i].token) << "\nexpected " << TokenText(expected[i]);
      }
      ASSERT_EQ(sent.size(), expected.size()) << name;
    };
    same(record_sink.sent(), reference.records, "record");
    same(job_sink.sent(), reference.jobs, "job");
    same(failure_sink.sent(), reference.failures, "failure");
  }
  void Rates(unsigned in, unsigned place_in, unsigned out) {
    work.rate = load.rate = in;
    place.rate = place_in;
    check.rate = job.rate = record.rate = failure.rate = out;
  }

  Qp qps[16];
  Reference reference;
  spec::SendRecord begun[16];

  std::mt19937_64 random = MakeRandom("requester");
  Agenda agenda;
  Requester block{agenda, kConfig};
  Channel<spec::MemoryCheck> check_sink = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::TxJob> job_sink = Channel<spec::TxJob>::Sink();
  Channel<spec::SendRecord> record_sink = Channel<spec::SendRecord>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  RtlTop<Vrequester> rtl{[](const Vrequester& top, std::vector<uint8_t>& bytes) {
    for (const auto bit :
         {top.work_request_ready_o, top.load_ready_o, top.memory_place_ready_o, top.memory_check_valid_o,
          top.job_valid_o, top.record_valid_o, top.failure_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.memory_check_o);
    add(top.job_o);
    add(top.record_o);
    add(top.failure_o);
  }};
  BlockBench<Vrequester> bench;
  Vrequester& p = rtl.ports();
  decltype(bench.In("", block.work_request_in, p.work_request_valid_i, p.work_request_ready_o, p.work_request_i)) work =
      bench.In("work_request", block.work_request_in, p.work_request_valid_i, p.work_request_ready_o, p.work_request_i);
  decltype(bench.In("", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i)) load =
      bench.In("load", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i);
  decltype(bench.In("", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
                    p.memory_place_i)) place =
      bench.In("memory_place", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o, p.memory_place_i);
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle cycle, const auto& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.Out("", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o)) check =
      bench.Out("memory_check", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o);
  decltype(bench.Out("", job_sink, p.job_valid_o, p.job_ready_i, p.job_o)) job =
      bench.Out("job", job_sink, p.job_valid_o, p.job_ready_i, p.job_o);
  decltype(bench.Out("", record_sink, p.record_valid_o, p.record_ready_i, p.record_o)) record =
      bench.Out("record", record_sink, p.record_valid_o, p.record_ready_i, p.record_o);
  decltype(bench.Out("", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o);
};

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

TEST(Requester, AMessageOfZeroBytesIsOnePacketWithoutMemory) {
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
  const Case cases[] = {
      {"service", [](Qp& q, WorkRequest&) { q.type = spec::IbQpType::kUc; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kUnsupportedQpType},
      {"with immediate", opcode(1), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"send", opcode(2), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"read", opcode(4), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"unknown", opcode(200), IbWcStatus::kLocQpOpErr, RdmaError::kUnsupportedCommand},
      {"mtu 0", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{0}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"mtu 6", [](Qp& q, WorkRequest&) { q.mtu = IbMtu{6}; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidAttribute},
      {"flags", [](Qp&, WorkRequest& w) { w.flags = 0x10; }, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {"inline", [](Qp&, WorkRequest& w) { w.flags = IbSendFlags::kInline; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapInlineExceeded},
      {"list", [](Qp&, WorkRequest& w) { w.num_sge = 2; }, IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {"long list", [](Qp&, WorkRequest& w) { w.num_sge = 0x100'0001; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"no elements allowed", [](Qp& q, WorkRequest&) { q.max_send_sge = 0; }, IbWcStatus::kLocQpOpErr,
       RdmaError::kCapSgeExceeded},
      {"half an element", [](Qp&, WorkRequest& w) { w.bytes = 591; }, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe},
      {"length", [](Qp&, WorkRequest& w) { w.sge.length = 0x8000'0001; }, IbWcStatus::kLocLenErr,
       RdmaError::kInvalidLength},
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

TEST(Requester, TheLongestMessageBegins) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request;
  request.sge.length = Requester::kMaxMessageBytes;
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

TEST(Requester, AMessageThatLosesItsMemoryOnTheWayAmendsItsRecord) {
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
  EXPECT_TRUE(bench.record_sink.sent()[1].token.amends);
  EXPECT_EQ(bench.record_sink.sent()[1].token.status, IbWcStatus::kLocProtErr);
  EXPECT_EQ(bench.record_sink.sent()[2].token.status, IbWcStatus::kWrFlushErr);
}

TEST(Requester, AWorkRequestThatCouldNotBeReadLeavesASilentRecord) {
  for (const RdmaError failed : {RdmaError::kBadWqe, RdmaError::kQueueDmaError}) {
    Bench bench;
    bench.SetUp(3);
    bench.Post({.head = 7, .failed = failed});
    bench.Post({.head = 8});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().at(0).token.silent);
    EXPECT_FALSE(bench.record_sink.sent().at(1).token.silent);
    EXPECT_EQ(bench.failure.count, 0u);  // the send queue tells of it
    EXPECT_EQ(bench.job.count, 0u);
  }
}

TEST(Requester, OnlyAQpThatSendsOrDrainsSends) {
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

TEST(Requester, LatenciesAreThoseOfThePage) {
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

TEST(Requester, AMessageOfOnePacketTakesFourCyclesAndAPacketOfALongOneThree) {
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

WorkRequest RandomRequest(std::mt19937_64& random, uint32_t mtu, bool mostly_good) {
  WorkRequest request{.qpn = static_cast<uint32_t>(random() % 16),
                      .head = static_cast<uint16_t>(random()),
                      .wr_id = random(),
                      .flags = static_cast<uint8_t>(random() % 8),
                      .remote_address = random(),
                      .rkey = static_cast<uint32_t>(random())};
  request.sge = {.addr = random() >> 8,
                 .length = static_cast<uint32_t>(random() % (random() % 4 == 0 ? 9 * mtu : 2 * mtu)),
                 .lkey = static_cast<uint32_t>(random() % 0x80)};
  if (random() % 16 == 0) request.num_sge = 0;
  if (mostly_good ? random() % 64 != 0 : random() % 4 != 0) return request;
  switch (random() % 8) {
    case 0: request.sge.lkey = static_cast<uint32_t>(0xf0 + random() % 4); break;
    case 1: request.opcode = static_cast<uint8_t>(random()); break;
    case 2: request.flags = static_cast<uint8_t>(random()); break;
    case 3: request.num_sge = static_cast<uint32_t>(random() % 4); break;
    case 4: request.failed = RdmaError::kQueueDmaError; break;
    case 5: request.bytes = static_cast<uint32_t>(570 + random() % 40); break;
    case 6: request.sge = {.addr = 0x1'0000, .length = static_cast<uint32_t>(random() % 2000), .lkey = 0x81}; break;
    default: request.sge.length = static_cast<uint32_t>(0x8000'0001 + random() % 4); break;
  }
  return request;
}

TEST(Requester, AgreesWithTheReferenceAndRtlWithModelUnderRandomTraffic) {
  for (const unsigned in_rate : {16u, 4u}) {
    for (const unsigned place_rate : {16u, 3u}) {
      for (const unsigned out_rate : {16u, 7u, 2u}) {
        Bench bench;
        auto& random = bench.random;
        for (uint32_t qpn = 0; qpn < 16; ++qpn) {
          bench.qps[qpn] = {.mtu = static_cast<IbMtu>(1 + random() % 5),
                            .sq_sig_all = random() % 4 == 0,
                            .psn = Psn(static_cast<uint32_t>(random()))};
          bench.SetUp(qpn);
        }
        bench.Rates(in_rate, place_rate, out_rate);
        for (int i = 0; i < 250; ++i) {
          const uint32_t mtu = 128u << static_cast<unsigned>(bench.qps[random() % 16].mtu);
          bench.Post(RandomRequest(random, mtu, true));
        }
        ASSERT_NO_FATAL_FAILURE(bench.Compare());
        EXPECT_GT(bench.job.count, 100u);
      }
    }
  }
}

// States, attributes and loads change at any time: what a work request meets is a matter of cycles, which RTL and model
// must agree on. Every work request has one record all the same.
TEST(Requester, RtlAndModelAgreeWhileStatesAndAttributesChange) {
  for (const unsigned out_rate : {16u, 6u}) {
    Bench bench;
    auto& random = bench.random;
    for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetUp(qpn);
    bench.Rates(12, 9, out_rate);
    bench.job.on_token = nullptr;
    uint64_t records = 0, posted = 0;
    std::deque<uint16_t> heads;
    bench.record.on_token = [&](Cycle, const spec::SendRecord& token) {
      if (token.amends) return;
      ++records;
      ASSERT_EQ(token.head, heads.front());
      heads.pop_front();
    };
    bench.record.keep = bench.job.keep = bench.failure.keep = false;
    for (int i = 0; i < 4000; ++i) {
      const auto qpn = static_cast<uint32_t>(random() % 16);
      const unsigned dice = random() % 16;
      if (dice < 8 && bench.work.tokens.size() < 8) {
        bench.work.tokens.push_back(RandomRequest(random, 1024, false).Token());
        heads.push_back(bench.work.tokens.back().head);
        ++posted;
      } else if (dice < 12) {
        bench.state.tokens.push_back(
            {.qpn = qpn, .state = static_cast<IbQpState>(random() % 2 == 0 ? 3 : random() % 7)});
      } else if (dice < 15) {
        bench.load.tokens.push_back({.qpn = qpn, .psn = Psn(static_cast<uint32_t>(random()))});
        bench.state.tokens.push_back({.qpn = qpn, .state = IbQpState::kRts});
      } else {
        spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
        spec::TableQpContext{.qp_type = random() % 16 == 0 ? spec::IbQpType::kUd : spec::IbQpType::kRc,
                             .path_mtu = static_cast<IbMtu>(1 + random() % 5),
                             .sq_sig_all = random() % 2 == 0,
                             .pdn = 9,
                             .max_send_sge = static_cast<uint8_t>(1 + random() % 3)}
            .Encode(write.data);
        bench.table.tokens.push_back(write);
      }
      ASSERT_EQ(bench.Run(random() % 16), "");
    }
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(records, posted);
    EXPECT_GT(bench.job.count, 500u);
    EXPECT_GT(bench.failure.count, 20u);
  }
}

}  // namespace
}  // namespace vireo::verif
