// SPDX-License-Identifier: Apache-2.0
// The requester: RDMA READ and fence.
#include <gtest/gtest.h>

#include <vector>

#include "model/rdma/transport.h"
#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

// --- RDMA READ

TEST(Requester, ReadIsOneRequestWithThePsnsOfItsResponses) {
  for (const IbMtu mtu : {IbMtu::kMtu256, IbMtu::kMtu1024, IbMtu::kMtu4096}) {
    const uint32_t bytes = 128U << static_cast<unsigned>(mtu);
    for (const uint32_t length : {0U, 1U, bytes - 1, bytes, bytes + 1, 2 * bytes, 2 * bytes + 1, 70 * bytes,
                                  model::kMaxMessageBytes - 1, model::kMaxMessageBytes}) {
      Bench bench;
      bench.qps[3].mtu = mtu;
      bench.qps[3].psn = 0xff'fffe;
      bench.SetUp(3);
      WorkRequest request{.head = 5, .wr_id = 77, .opcode = kRead};
      request.sge = {.addr = 0x1'0000, .length = length, .lkey = 0xf0};  // not checked
      const uint32_t responses = length == 0 ? 1 : (length - 1) / bytes + 1;
      const bool is_long = responses > kMostReadPackets;  // sent by replays
      const uint32_t behind = Psn(0xff'fffe + responses);
      bench.Post(request);
      if (is_long) {
        bench.Post(request, {.epoch = 0, .psn = 0xff'fffe, .first_psn = 0xff'fffe, .last_psn = Psn(behind - 1)});
      }
      bench.Post({.head = 6});
      if (is_long) bench.Post({.head = 6}, {.epoch = 0, .psn = behind, .first_psn = behind, .last_psn = behind});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      ASSERT_EQ(bench.job.count, 2U);
      const spec::TxJob& job = bench.job_sink.sent()[0].token;
      EXPECT_EQ(job.packet.opcode, BthOpcode::kRcRdmaReadRequest);
      EXPECT_EQ(job.packet.psn, 0xff'fffeU);
      EXPECT_EQ(job.packet.payload_bytes, 0);
      EXPECT_FALSE(job.more || job.bytes0 != 0);
      const auto reth = spec::Reth::Decode(job.packet.extension);
      EXPECT_EQ(reth.virtual_address, request.remote_address);
      EXPECT_EQ(reth.rkey, request.rkey);
      EXPECT_EQ(reth.dma_length, length);
      EXPECT_EQ(bench.job_sink.sent()[1].token.packet.psn, Psn(0xff'fffe + responses));
      const spec::SendRecord& record = bench.record_sink.sent()[0].token;
      EXPECT_EQ(record.opcode, IbWcOpcode::kRdmaRead);
      EXPECT_EQ(record.bytes, length);
      EXPECT_EQ(record.first_psn, 0xff'fffeU);
      EXPECT_EQ(record.last_psn, Psn(0xff'fffe + responses - 1));
      EXPECT_EQ(bench.record_sink.sent()[1].token.bytes, 0U);
      ASSERT_EQ(bench.read.count, 1U);
      const spec::ReadRecord& read = bench.read_sink.sent()[0].token;
      EXPECT_EQ(read.bytes, length);
      EXPECT_EQ(read.elements, request.Address() + 576);
      EXPECT_EQ(read.num_sge, 1);
      EXPECT_EQ(spec::RdmaSge::Decode(read.sge).addr, 0x1'0000U);
      EXPECT_EQ(spec::RdmaSge::Decode(read.sge).lkey, 0xf0U);
      EXPECT_EQ(bench.check.count, 1U);  // of the write
      EXPECT_LT(bench.record_sink.sent()[0].cycle, bench.read_sink.sent()[0].cycle);
    }
  }
}

TEST(Requester, AtomicIsOneRequestWithItsOperands) {
  for (const uint8_t opcode : {kCompareSwap, kFetchAdd}) {
    for (const std::vector<uint32_t>& lengths : {std::vector{8U}, {100U}, {3U, 0U, 4U, 1U}, {8U, 1000U}}) {
      Bench bench;
      bench.qps[3].psn = 0xff'ffff;
      bench.SetUp(3);
      WorkRequest request{.head = 5, .wr_id = 77, .opcode = opcode};
      std::vector<spec::RdmaSge> list;
      for (const uint32_t length : lengths) list.push_back({.addr = 0x1'0000, .length = length, .lkey = 0xf0});
      request.SetList(list);  // its keys are not checked
      bench.Post(request);
      bench.Post({.head = 6});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      const spec::TxJob& job = bench.job_sink.sent().at(0).token;
      EXPECT_EQ(job.packet.opcode, opcode == kCompareSwap ? BthOpcode::kRcCompareSwap : BthOpcode::kRcFetchAdd);
      EXPECT_TRUE(job.packet.ack_req);
      EXPECT_EQ(job.packet.payload_bytes, 0);
      EXPECT_EQ(job.packet.psn, 0xff'ffffU);
      const auto eth = spec::AtomicEth::Decode(job.packet.extension);
      EXPECT_EQ(eth.virtual_address, request.remote_address);
      EXPECT_EQ(eth.rkey, request.rkey);
      EXPECT_EQ(eth.swap_add_data, opcode == kCompareSwap ? request.swap : request.compare_add);
      EXPECT_EQ(eth.compare_data, opcode == kCompareSwap ? request.compare_add : 0);
      const spec::SendRecord& record = bench.record_sink.sent().at(0).token;
      EXPECT_EQ(record.opcode, opcode == kCompareSwap ? IbWcOpcode::kCompSwap : IbWcOpcode::kFetchAdd);
      EXPECT_EQ(record.bytes, 8U);
      EXPECT_EQ(record.last_psn, 0xff'ffffU);
      const spec::ReadRecord& read = bench.read_sink.sent().at(0).token;
      EXPECT_TRUE(read.is_atomic);
      EXPECT_EQ(read.bytes, 8U);
      EXPECT_EQ(read.num_sge, lengths.size());
      EXPECT_EQ(bench.job_sink.sent().at(1).token.packet.psn, 0U);
      EXPECT_EQ(bench.check.count, 1U);  // of the write
    }
  }
}

// A READ of no bytes with a payload, which is the value of the work request: as Linux sends it. [A19.4.2]
TEST(Requester, AtomicWriteIsOneRequestWithItsValue) {
  for (const bool extensible : {false, true}) {
    Bench bench;
    bench.qps[3].psn = 0xff'ffff;
    bench.SetUp(3);
    WorkRequest request{.head = 5, .wr_id = 77, .opcode = kAtomicWrite, .extensible = extensible};
    request.SetList({});
    bench.Post(request);
    bench.Post({.head = 6});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    const spec::TxJob& job = bench.job_sink.sent().at(0).token;
    EXPECT_EQ(job.packet.opcode, BthOpcode::kRcAtomicWrite);
    EXPECT_TRUE(job.packet.ack_req);
    EXPECT_EQ(job.packet.payload_bytes, 0);
    EXPECT_EQ(job.packet.psn, 0xff'ffffU);
    const auto reth = spec::Reth::Decode(job.packet.extension);
    EXPECT_EQ(reth.virtual_address, request.remote_address);
    EXPECT_EQ(reth.rkey, request.rkey);
    EXPECT_EQ(reth.dma_length, 8U);
    const uint8_t value[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    EXPECT_TRUE(std::equal(std::begin(value), std::end(value), job.packet.extension + spec::Reth::kBytes));
    const spec::SendRecord& record = bench.record_sink.sent().at(0).token;
    EXPECT_EQ(record.opcode, IbWcOpcode::kAtomicWrite);
    EXPECT_EQ(record.bytes, 0U);
    EXPECT_EQ(record.last_psn, 0xff'ffffU);
    const spec::ReadRecord& read = bench.read_sink.sent().at(0).token;
    EXPECT_FALSE(read.is_atomic);
    EXPECT_EQ(read.bytes, 0U);
    EXPECT_EQ(read.num_sge, 0U);
    EXPECT_EQ(bench.job_sink.sent().at(1).token.packet.psn, 0U);
    EXPECT_EQ(bench.check.count, 1U);  // of the write
  }
}

// A READ of no bytes with FETH and RETH, whatever flags it has. [A19.4.1]
TEST(Requester, FlushIsOneRequestWithWhatItAsksFor) {
  for (const bool extensible : {false, true}) {
    Bench bench;
    bench.qps[3].psn = 0xff'fffe;
    bench.SetUp(3);
    WorkRequest request{.head = 5, .wr_id = 77, .extensible = extensible};
    request.flags |= IbSendFlags::kSolicited;
    request.SetFlush(0x7fff'ffff, 3, 0);
    bench.Post(request);
    request.SetFlush(0xffff'ffff, 1, 1);
    ++request.head;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    for (size_t i = 0; i < 2; ++i) {
      const spec::TxJob& job = bench.job_sink.sent().at(i).token;
      EXPECT_EQ(job.packet.opcode, BthOpcode::kRcFlush);
      EXPECT_TRUE(job.packet.ack_req);
      EXPECT_FALSE(job.packet.solicited_event);
      EXPECT_EQ(job.packet.payload_bytes, 0);
      EXPECT_EQ(job.packet.psn, 0xff'fffeU + i);
      EXPECT_EQ(
          spec::Feth::Decode(job.packet.extension),
          (spec::Feth{.selectivity = i == 0 ? spec::FlushSelectivity::kRange : spec::FlushSelectivity::kMemoryRegion,
                      .placement = static_cast<uint8_t>(i == 0 ? 3 : 1)}));
      EXPECT_EQ(spec::Reth::Decode(job.packet.extension + spec::Feth::kBytes),
                (spec::Reth{.virtual_address = request.remote_address,
                            .rkey = request.rkey,
                            .dma_length = i == 0 ? 0x7fff'ffffU : 0xffff'ffffU}));
      const spec::SendRecord& record = bench.record_sink.sent().at(i).token;
      EXPECT_EQ(record.opcode, IbWcOpcode::kFlush);
      EXPECT_EQ(record.bytes, 0U);
      EXPECT_EQ(bench.read_sink.sent().at(i).token.bytes, 0U);
    }
    EXPECT_EQ(bench.check.count, 0U);
  }
}

TEST(Requester, AtomicsAndReadsShareTheLimitAndTheFence) {
  Bench bench;
  bench.qps[3].max_rd_atomic = 2;
  bench.SetUp(3);
  bench.Post({.head = 1, .opcode = kRead});
  bench.Post({.head = 2, .opcode = kFetchAdd});
  bench.Post({.head = 3, .opcode = kCompareSwap});  // one too many
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 2U);
  EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
  Bench other;
  other.SetUp(3);
  other.Post({.head = 1, .opcode = kFetchAdd});
  other.Post({.head = 2, .flags = IbSendFlags::kFence});
  ASSERT_NO_FATAL_FAILURE(other.Compare());
  EXPECT_EQ(other.job.count, 1U);
}

// So that the completer can bound the PSNs outstanding: it is sent by a replay. [IBTA vol. 1, 9.7.1]
TEST(Requester, LongReadWaitsForTheCompleter) {
  for (const bool is_long : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu256;
    bench.qps[3].psn = 0xff'fff0;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .opcode = kRead};
    request.sge.length = kMostReadPackets * 256 + (is_long ? 1 : 0);
    const uint32_t behind = Psn(0xff'fff0 + kMostReadPackets + (is_long ? 1 : 0));
    bench.Post(request);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, is_long ? 0U : 2U);
    EXPECT_EQ(bench.record_sink.sent()[0].token.unsent, is_long);
    EXPECT_EQ(bench.record_sink.sent()[1].token.first_psn, behind);
    if (!is_long) continue;
    bench.Post(request, {.epoch = 0, .psn = 0xff'fff0, .first_psn = 0xff'fff0, .last_psn = Psn(behind - 1)});
    bench.Post({.head = 2}, {.epoch = 0, .psn = behind, .first_psn = behind, .last_psn = behind});
    // A resume from before the last record, whatever its PSN.
    bench.work.tokens.push_back(ResumeToken(3, 0, Psn(behind + 1), 1));
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    bench.Resume(3, 0, Psn(behind + 2));
    bench.Post({.head = 4});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
  }
}

TEST(Requester, ListOfAReadGoesToTheResponder) {
  for (uint32_t elements = 0; elements <= 7; ++elements) {
    Bench bench;
    bench.qps[3].max_send_sge = 7;
    bench.SetUp(3);
    WorkRequest request{.head = 2, .opcode = kRead};
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 3000, .lkey = 0xf1}));
    bench.Post(request);
    request.SetList(std::vector<spec::RdmaSge>(elements, {.addr = 0x1'0000, .length = 0, .lkey = 0xf1}));
    request.head = 3;
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    const spec::ReadRecord& read = bench.read_sink.sent().at(0).token;
    EXPECT_EQ(read.num_sge, elements);
    EXPECT_EQ(read.bytes, elements * 3000);
    EXPECT_EQ(spec::RdmaSge::Decode(read.sge).length, elements == 0 ? 0U : 3000U);
    EXPECT_EQ(bench.check.count, 0U);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, ReadWithAnUnreadableListFails) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.head = 2, .opcode = kRead};
  request.SetList(std::vector<spec::RdmaSge>(3, {.addr = 0x1'0000, .length = 10, .lkey = 1}));
  bench.reference.unreadable.insert(request.Address() + 576 + 32);
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(RdmaError::kQueueDmaError));
  EXPECT_EQ(bench.read.count, 0U);
  EXPECT_EQ(bench.job.count, 0U);
}

TEST(Requester, ReplayOfAReadRequestsTheRest) {
  for (const bool is_list : {false, true}) {
    Bench bench;
    bench.qps[3].mtu = IbMtu::kMtu512;
    bench.qps[3].psn = 0xff'fffd;
    bench.SetUp(3);
    WorkRequest request{.head = 1, .opcode = kRead, .remote_address = 0xffff'ffff'0000};
    request.sge.length = 2500;  // 5 responses
    if (is_list) {
      request.SetList({{.addr = 0x1'0000, .length = 700, .lkey = 1}, {.addr = 0x2'0000, .length = 1800, .lkey = 2}});
    }
    bench.Post(request);
    ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    for (uint32_t skipped = 0; skipped < 5; ++skipped) {
      bench.Post(request, {.psn = Psn(0xff'fffd + skipped), .first_psn = 0xff'fffd, .last_psn = 1});
      ASSERT_NO_FATAL_FAILURE(bench.Compare());
      const spec::TxPacket& packet = bench.job_sink.sent().back().token.packet;
      EXPECT_EQ(packet.opcode, BthOpcode::kRcRdmaReadRequest);
      EXPECT_EQ(packet.psn, Psn(0xff'fffd + skipped));
      const auto reth = spec::Reth::Decode(packet.extension);
      EXPECT_EQ(reth.virtual_address, request.remote_address + 512 * skipped);
      EXPECT_EQ(reth.dma_length, 2500 - 512 * skipped);
      const spec::ReadRecord& read = bench.read_sink.sent().back().token;  // all of it
      EXPECT_EQ(read.bytes, 2500U);
      EXPECT_EQ(read.first_psn, 0xff'fffdU);
      EXPECT_EQ(read.last_psn, 1U);
    }
    EXPECT_EQ(bench.record.count, 1U);
    EXPECT_EQ(bench.resent, 5U);
    EXPECT_EQ(bench.check.count, 0U);
    // A changed one.
    request.sge.length += 512;
    bench.Post(request, {.psn = 0xff'fffd, .first_psn = 0xff'fffd, .last_psn = 1});
    request.sge.length -= 512;
    bench.Post(request, {.psn = 2, .first_psn = 0xff'fffd, .last_psn = 1});
    bench.Resume(3, 1, 2);
    bench.Post({.head = 2});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.record_sink.sent()[1].token.vendor_err, static_cast<uint32_t>(RdmaError::kBadWqe));
    EXPECT_EQ(bench.record_sink.sent()[2].token.vendor_err, static_cast<uint32_t>(RdmaError::kBadWqe));
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, 2U);
    // Replays are not counted.
    EXPECT_EQ(bench.reference.started[3], 1);
  }
}

TEST(Requester, LongestReadIsReplayedFromItsLastResponse) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.opcode = kRead};
  request.sge.length = model::kMaxMessageBytes;
  bench.Post(request);
  ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
  const uint32_t last = 1000 + (1U << 21) - 1;
  bench.Post(request, {.psn = last, .first_psn = 1000, .last_psn = last});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  const auto reth = spec::Reth::Decode(bench.job_sink.sent().back().token.packet.extension);
  EXPECT_EQ(reth.dma_length, 1024U);
  EXPECT_EQ(reth.virtual_address, request.remote_address + 0x7fff'fc00);
}

TEST(Requester, QpHoldsItselfAtTheReadLimit) {
  for (const uint8_t limit : {uint8_t{1}, uint8_t{2}, uint8_t{7}}) {
    Bench bench;
    bench.qps[3].max_rd_atomic = limit;
    bench.SetUp(3);
    bench.SetUp(4);
    WorkRequest read{.opcode = kRead};
    for (uint16_t i = 0; i < limit; ++i) bench.Post(read);
    bench.Post({.head = 20});  // not a READ: continues
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, limit + 1U);
    EXPECT_FALSE(bench.qps[3].held);
    const uint32_t psn = bench.qps[3].psn;
    bench.Post(read);          // unsent
    bench.Post({.head = 21});  // later ones, too
    bench.Post({.qpn = 4});    // not of another QP
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, limit + 2U);
    ASSERT_EQ(bench.record.count, limit + 4U);
    for (size_t i = 0; i < limit + 4U; ++i) {
      EXPECT_EQ(bench.record_sink.sent()[i].token.unsent, i == limit + 1U || i == limit + 2U);
    }
    EXPECT_EQ(bench.record_sink.sent()[limit + 1U].token.bytes, 100U);
    // Ended READs alone are not enough.
    ASSERT_NO_FATAL_FAILURE(bench.End(3, limit));
    bench.Post({.head = 22});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    // There was no hold: the replays are of generation 0, and so is the resume.
    bench.Post(read, {.epoch = 0, .psn = psn, .first_psn = psn, .last_psn = psn});
    bench.Post({.head = 21}, {.epoch = 0, .psn = psn + 1, .first_psn = psn + 1, .last_psn = psn + 1});
    bench.Post({.head = 22}, {.epoch = 1, .psn = psn + 2, .first_psn = psn + 2, .last_psn = psn + 2});  // none
    bench.Post({.head = 22}, {.epoch = 0, .psn = psn + 2, .first_psn = psn + 2, .last_psn = psn + 2});
    bench.Resume(3, 1, psn + 3);
    bench.Resume(3, 0, psn + 2);
    bench.Post({.head = 23});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    bench.Post({.head = 23}, {.epoch = 0, .psn = psn + 3, .first_psn = psn + 3, .last_psn = psn + 3});
    bench.Resume(3, 0, psn + 4);
    bench.Post({.head = 24});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.job_sink.sent().back().token.packet.psn, psn + 4);
    // The READ that was unsent counts.
    for (uint16_t i = 1; i < limit; ++i) bench.Post(read);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.qps[3].held);
    bench.Post(read);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, FenceWaitsForReadsOnly) {
  for (const uint8_t opcode : {uint8_t{0}, uint8_t{1}, uint8_t{2}, uint8_t{3}, uint8_t{4}}) {
    Bench bench;
    bench.SetUp(3);
    WorkRequest fenced{.head = 5, .opcode = opcode, .flags = IbSendFlags::kFence};
    fenced.sge.length = 3000;
    bench.Post({.head = 1});
    bench.Post(fenced);  // no READ is outstanding
    if (opcode == kRead) {
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_TRUE(bench.record_sink.sent().back().token.fence);
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    const uint64_t jobs = bench.job.count;
    bench.Post({.head = 2, .opcode = kRead});
    bench.Post({.head = 3});
    const uint32_t psn = bench.qps[3].psn;
    bench.Post(fenced);
    bench.Post({.head = 4});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, jobs + 2);
    const auto& records = bench.record_sink.sent();
    EXPECT_TRUE(records[records.size() - 2].token.unsent && records[records.size() - 2].token.fence);
    EXPECT_TRUE(records.back().token.unsent && !records.back().token.fence);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    bench.Post(fenced, {.epoch = 0, .psn = psn, .first_psn = psn, .last_psn = psn + 2});
    bench.Post({.head = 4}, {.epoch = 0, .psn = psn + 3, .first_psn = psn + 3, .last_psn = psn + 3});
    bench.Resume(3, 0, psn + 4);
    if (opcode == kRead) {
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    bench.Post(fenced);
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
    EXPECT_EQ(bench.failure.count, 0U);
  }
}

TEST(Requester, WaitingWorkRequestIsNotProcessedButABadOneFails) {
  Bench bench;
  bench.SetUp(3);
  bench.Post({.head = 1, .opcode = kRead});
  // The replay checks its memory.
  WorkRequest refused{.head = 2, .flags = IbSendFlags::kFence};
  refused.sge.lkey = 0xf0;
  bench.Post(refused);
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.check.count, 0U);
  EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
  bench.Post({.head = 3, .opcode = 77, .flags = IbSendFlags::kFence});
  bench.Post({.head = 4, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.failure.count, 1U);
  EXPECT_EQ(bench.record_sink.sent().back().token.status, IbWcStatus::kWrFlushErr);
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, OneResumeEndsTheHoldsOfCompleterAndQp) {
  for (const bool itself_first : {false, true}) {
    Bench bench;
    bench.qps[3].max_rd_atomic = 1;
    bench.SetUp(3);
    bench.Post({.head = 1, .opcode = kRead});
    if (itself_first) {
      bench.Post({.head = 2, .opcode = kRead});
      ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
    } else {
      ASSERT_NO_FATAL_FAILURE(bench.Hold(3, 1));
      bench.Post({.head = 2, .opcode = kRead});
    }
    bench.Post({.head = 3});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 1U);
    bench.Resume(3, 0, 1003);  // of no hold, overtaken by a hold
    bench.Post({.head = 4});
    bench.Post({.head = 1, .opcode = kRead}, {.epoch = 0, .psn = 1000, .first_psn = 1000, .last_psn = 1000});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 1U);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
    bench.Resume(3, 1, 1004);
    bench.Post({.head = 5, .opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2U);
    // Held by itself once more: the last hold's generation counts.
    bench.Post({.head = 6, .opcode = kRead});
    bench.Resume(3, 0, 1006);
    bench.Post({.head = 7});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 2U);
    ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
    bench.Post({.head = 6, .opcode = kRead}, {.psn = 1005, .first_psn = 1005, .last_psn = 1005});
    bench.Post({.head = 7}, {.psn = 1006, .first_psn = 1006, .last_psn = 1006});
    bench.Resume(3, 1, 1007);
    bench.Post({.head = 8});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    EXPECT_EQ(bench.job.count, 5U);
    EXPECT_FALSE(bench.qps[3].held);
  }
}

TEST(Requester, LoadEndsTheQpsOwnHoldAndKeepsItsReadCount) {
  Bench bench;
  bench.qps[3].max_rd_atomic = 2;
  bench.SetUp(3);
  for (int i = 0; i < 3; ++i) bench.Post({.opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_TRUE(bench.qps[3].held);
  bench.SetUp(3);
  EXPECT_FALSE(bench.qps[3].held);
  bench.Post({.head = 1});  // sent
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
  // The completer has discarded them, and reports it.
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 3));
  bench.Post({.head = 2, .flags = IbSendFlags::kFence});
  bench.Post({.head = 3, .opcode = kRead});
  bench.Post({.head = 4, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
  bench.Post({.head = 5, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_TRUE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, ReadsAreCountedByTheirRecords) {
  Bench bench;
  bench.SetUp(3);
  // A failed one, and two that flush.
  WorkRequest bad{.head = 1, .opcode = kRead};
  bad.SetInline(3);
  bench.Post(bad);
  bench.Post({.head = 2, .opcode = kRead});
  ASSERT_EQ(bench.Settle(), "");
  bench.state.tokens.push_back({.qpn = 3, .state = IbQpState::kErr});
  bench.qps[3].state = IbQpState::kErr;
  ASSERT_EQ(bench.Settle(), "");
  bench.Post({.head = 3, .opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.record_sink.sent()[i].token.opcode, IbWcOpcode::kRdmaRead);
  bench.qps[3].state = IbQpState::kRts;
  bench.SetUp(3);
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 3));
  bench.Post({.head = 4, .flags = IbSendFlags::kFence});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

TEST(Requester, ReadsAreCountedModulo256) {
  // The limit at every count on both sides of 256.
  for (int before = 250; before < 262; ++before) {
    Bench bench;
    bench.qps[3].max_rd_atomic = 3;
    bench.SetUp(3);
    for (int i = 0; i < before; ++i) {
      bench.Post({.opcode = kRead});
      ASSERT_NO_FATAL_FAILURE(bench.End(3, 1));
    }
    for (int i = 0; i < 3; ++i) bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_FALSE(bench.record_sink.sent().back().token.unsent);
    bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    ASSERT_TRUE(bench.record_sink.sent().back().token.unsent);
    ASSERT_EQ(bench.job.count, static_cast<uint64_t>(before) + 3);
  }
}

TEST(Requester, ReadsMeetDocumentedLatencies) {
  Bench bench;
  bench.SetUp(3);
  bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  ASSERT_EQ(bench.Run(Requester::kWorkRequestToFlush), "");
  EXPECT_EQ(bench.record.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.record.count, 1U);
  ASSERT_EQ(bench.Run(Requester::kRecordToReadRecord - 1), "");
  EXPECT_EQ(bench.read.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.read.count, 1U);
  ASSERT_EQ(bench.Run(Requester::kReadRecordToJob - 1), "");
  EXPECT_EQ(bench.job.count, 0U);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.job.count, 1U);
  // Each waits for the previous one.
  bench.record.rate = bench.read.rate = 0;
  bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.p.record_valid_o, 1);
  EXPECT_EQ(bench.p.read_record_valid_o, 0);
  bench.record.rate = 16;
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.p.read_record_valid_o, 1);
  EXPECT_EQ(bench.job.count, 1U);
  bench.read.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 2U);
  // 4 cycles each in the back.
  ASSERT_NO_FATAL_FAILURE(bench.End(3, 2));
  bench.qps[3].max_rd_atomic = 255;
  bench.SetUp(3);
  for (int i = 0; i < 200; ++i) bench.work.tokens.push_back(WorkRequest{.opcode = kRead}.Token());
  const Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job.count, 202U);
  EXPECT_LE(bench.bench.cycle() - start, 200U * 4 + 30);
}

TEST(Requester, FenceUsesTheReadCountOfThreeCyclesBefore) {
  // The pulse in cycle n is in the table's output in n + 2, where the packet is decided; its record is 4 later.
  for (const bool in_time : {false, true}) {
    Bench bench;
    bench.SetUp(3);
    bench.Post({.opcode = kRead});
    ASSERT_NO_FATAL_FAILURE(bench.Compare());
    bench.work.tokens.push_back(WorkRequest{.flags = IbSendFlags::kFence}.Token());
    ASSERT_EQ(bench.Run(in_time ? 1 : 2), "");
    bench.reads.tokens.push_back({.qpn = 3, .ended = 1});
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.record_sink.sent().back().token.unsent, !in_time);
  }
}

TEST(Requester, FenceIsDecidedOncePerMessage) {
  Bench bench;
  bench.SetUp(3);
  WorkRequest request{.flags = IbSendFlags::kFence};
  request.sge.length = 100 * 1024;
  bench.Post(request);
  ASSERT_EQ(bench.Run(100), "");
  bench.reads.tokens.push_back({.qpn = 3, .ended = 250});  // no completer sends this
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  EXPECT_EQ(bench.job.count, 100U);
  bench.reads.tokens.push_back({.qpn = 3, .ended = 0});
  ASSERT_EQ(bench.Settle(), "");
}

TEST(Requester, EndedReadsReachAStalledQp) {
  Bench bench;
  bench.qps[3].max_send_sge = 7;
  bench.SetUp(3);
  bench.SetUp(4);
  bench.Post({.opcode = kRead});
  ASSERT_NO_FATAL_FAILURE(bench.Compare());
  bench.place.rate = 0;
  for (uint32_t i = 0; i < Requester::kPackets; ++i) bench.work.tokens.push_back(WorkRequest{.qpn = 4}.Token());
  WorkRequest fenced{.head = 2, .flags = IbSendFlags::kFence};
  std::vector<spec::RdmaSge> list(7);  // each empty one takes a cycle
  list.back() = {.addr = 0x2'0000, .length = 10, .lkey = 2};
  fenced.SetList(list);
  bench.Keep(fenced);
  bench.work.tokens.push_back(fenced.Token());
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_TRUE(bench.work.IsEmpty());
  bench.reads.tokens.push_back({.qpn = 3, .ended = 1});
  ASSERT_EQ(bench.Run(20), "");
  bench.place.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_FALSE(bench.record_sink.sent().back().token.unsent);
}

}  // namespace
}  // namespace vireo::verif
