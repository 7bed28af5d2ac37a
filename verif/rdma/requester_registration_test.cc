// SPDX-License-Identifier: Apache-2.0
// Registrations of memory regions: the checks of their pages and range, in both formats of a work request, and each way
// to fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "verif/rdma/requester_bench.h"

namespace vireo::verif {
namespace {

using Access = spec::IbAccessFlags;

constexpr uint64_t kList = 0x5555'0000, kVirtAddr = 0x1234'5678'9abc'def0;
constexpr uint32_t kPdn = Qp{}.pdn, kOther = 0x77'7701;

struct Registration {
  uint8_t flags = 0;
  uint64_t length = 0x1'2345'6789;
  uint32_t access = Access::kLocalWrite | Access::kRemoteRead;
  uint32_t key = 0x12'3401;
  uint8_t page_shift = 21;
  uint32_t pairs = 3;

  static spec::RdmaPagePair Pair(uint32_t i) {
    return {.first = 0xa000'0000'0000 + (uint64_t{i} << 21), .second = 0xb123'0000'0000 + (uint64_t{i} << 33)};
  }
  // Where the list is.
  static uint64_t ListOf(bool extensible) { return kList + (extensible ? 48 : spec::RdmaSqReq::kBytes); }
  spec::WorkRequest Token(bool extensible, uint32_t qpn = 3) const {
    spec::WorkRequest token{.qpn = qpn, .head = 1, .address = kList, .bytes = (extensible ? 48u : 576u) + 16 * pairs};
    uint8_t first[16]{};
    Pair(0).Encode(first);
    if (extensible) {
      using Element = spec::RdmaSqElement;
      const auto list = static_cast<uint8_t>(pairs == 0 ? 0 : Element::kSgList);
      spec::RdmaSqBase{.wr_id = 1,
                       .opcode = spec::IbWrOpcode::kRegMr,
                       .send_flags = flags,
                       .version = spec::kRdmaSqVersion,
                       .elements = static_cast<uint8_t>(Element::kRdma | Element::kAtomic | list)}
          .Encode(token.head_bytes);
      spec::RdmaSqReg{.virt_addr = kVirtAddr, .key = key, .page_shift = page_shift}.Encode(token.head_bytes + 16);
      spec::RdmaSqBindRange{.length = length, .access_flags = access}.Encode(token.head_bytes + 32);
      std::copy_n(first, sizeof first, token.tail_bytes);
      return token;
    }
    spec::RdmaSqReq request{.wr_id = 1, .opcode = spec::IbWrOpcode::kRegMr, .send_flags = flags};
    spec::RdmaSqReqReg{
        .virt_addr = kVirtAddr, .length = length, .access_flags = access, .key = key, .page_shift = page_shift}
        .Encode(request.wr);
    uint8_t memory[spec::RdmaSqReq::kBytes];
    request.Encode(memory);
    std::copy_n(memory, sizeof token.head_bytes, token.head_bytes);
    token.tail_bytes[0] = static_cast<uint8_t>(pairs);
    std::copy_n(first, sizeof first, token.tail_bytes + (spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset));
    return token;
  }
  template <typename B>
  void PutList(B& bench, bool extensible) const {
    for (uint32_t i = 1; i < pairs; ++i) {
      uint8_t bytes[16];
      Pair(i).Encode(bytes);
      bench.memory[ListOf(extensible) + 16 * i] = spec::RdmaSge::Decode(bytes);
    }
  }
  std::vector<spec::MemoryCheck> Checks() const {
    std::vector<spec::MemoryCheck> checks;
    for (uint32_t i = 0; i < pairs; ++i) {
      checks.push_back({.key = key,
                        .pdn = kPdn,
                        .address = Pair(i).first,
                        .bytes = static_cast<uint32_t>(Pair(i).second),
                        .qpn = 3,
                        .lkey = i,
                        .bytes_high = static_cast<uint32_t>(Pair(i).second >> 32),
                        .maps = true});
    }
    checks.push_back({.key = key,
                      .pdn = kPdn,
                      .local_write = (access & Access::kLocalWrite) != 0,
                      .remote_write = (access & Access::kRemoteWrite) != 0,
                      .remote_read = (access & Access::kRemoteRead) != 0,
                      .remote_atomic = (access & Access::kRemoteAtomic) != 0,
                      .address = kVirtAddr,
                      .bytes = static_cast<uint32_t>(length),
                      .qpn = 3,
                      .lkey = page_shift | pairs << 8,
                      .bytes_high = static_cast<uint32_t>(length >> 32),
                      .registers = true});
    return checks;
  }
};

// Checks and a record, but no packet, PSN or room.
TEST(RequesterRegistration, PagesAndRangeAreThoseOfTheWorkRequest) {
  for (const auto type : {IbQpType::kRc, IbQpType::kUc}) {
    for (const bool extensible : {false, true}) {
      for (uint32_t pairs = 1; pairs <= 7; ++pairs) {
        SCOPED_TRACE(pairs);
        Bench bench;
        bench.qps[3].type = type;
        bench.qps[3].max_send_sge = 7;
        bench.SetUp(3);
        std::vector<spec::MemoryCheck> expected;
        for (const uint32_t access :
             {Access::kLocalWrite, Access::kRemoteWrite, Access::kRemoteRead, Access::kRemoteAtomic}) {
          const Registration one{.access = access, .pairs = pairs};
          one.PutList(bench, extensible);
          bench.work.tokens.push_back(one.Token(extensible));
          for (const auto& check : one.Checks()) expected.push_back(check);
        }
        ASSERT_EQ(bench.Settle(), "");
        EXPECT_EQ(bench.binds, expected);
        const auto& records = bench.record_sink.sent();
        ASSERT_EQ(records.size(), 4u);
        for (const auto& [cycle, record] : records) {
          EXPECT_EQ(record.status, IbWcStatus::kSuccess) << TokenText(record);
          EXPECT_TRUE(record.is_local);
          EXPECT_EQ(record.opcode, IbWcOpcode::kRegMr);
          EXPECT_EQ(record.first_psn, bench.qps[3].psn);
          EXPECT_EQ(record.last_psn, Psn(record.first_psn - 1));
        }
        EXPECT_TRUE(bench.job_sink.sent().empty());
        EXPECT_EQ(bench.room.used, 0u);
      }
    }
  }
}

TEST(RequesterRegistration, BadRegistrationFails) {
  struct Case {
    Registration registration;
    IbWcStatus status;
    RdmaError why;
    bool is_readable = true;
  };
  const Case cases[] = {
      {{.flags = IbSendFlags::kFence}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.length = 0}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kMwBind}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kZeroBased}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = Access::kFlushGlobal}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.access = 1u << 31}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.page_shift = 11}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.page_shift = 31}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.page_shift = 255}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.pairs = 0}, IbWcStatus::kLocQpOpErr, RdmaError::kInvalidParameter},
      {{.pairs = 5}, IbWcStatus::kLocQpOpErr, RdmaError::kCapSgeExceeded},
      {{}, IbWcStatus::kLocQpOpErr, RdmaError::kQueueDmaError, false},
      // What the memory check answers.
      {{.key = 0xf0}, IbWcStatus::kMwBindErr, RdmaError::kBadMrn},
      {{.key = 0xf1}, IbWcStatus::kMwBindErr, RdmaError::kBadPdn},
      {{.key = 0xf2}, IbWcStatus::kMwBindErr, RdmaError::kBadAccessFlags},
      {{.key = 0xf3}, IbWcStatus::kMwBindErr, RdmaError::kInvalidLength},
  };
  for (const bool extensible : {false, true}) {
    for (const Case& bad : cases) {
      SCOPED_TRACE(&bad - cases);
      Bench bench;
      bench.qps[3].max_send_sge = 4;
      bench.SetUp(3);
      bad.registration.PutList(bench, extensible);
      if (!bad.is_readable) bench.reference.unreadable.insert(Registration::ListOf(extensible) + 32);
      bench.work.tokens = {bad.registration.Token(extensible),
                           Registration{.key = kOther, .pairs = 1}.Token(extensible)};
      ASSERT_EQ(bench.Settle(), "");
      const auto& records = bench.record_sink.sent();
      ASSERT_EQ(records.size(), 2u);
      EXPECT_EQ(records[0].token.status, bad.status) << spec::ToString(records[0].token.status);
      EXPECT_EQ(records[0].token.vendor_err, static_cast<uint32_t>(bad.why));
      EXPECT_EQ(records[1].token.status, IbWcStatus::kWrFlushErr);
      EXPECT_EQ(bench.failure_sink.sent().size(), 1u);
      if (bad.status == IbWcStatus::kLocQpOpErr) {
        for (const auto& check : bench.binds) EXPECT_EQ(check.key, kOther) << "its pages are not touched";
      }
    }
  }
}

// Of a UD queue pair there is none.
TEST(RequesterRegistration, DatagramsRegisterNothing) {
  Bench bench;
  bench.qps[3].type = IbQpType::kUd;
  bench.SetUp(3);
  bench.work.tokens = {Registration{.pairs = 1}.Token(false)};
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.record_sink.sent().size(), 1u);
  EXPECT_EQ(bench.record_sink.sent()[0].token.status, IbWcStatus::kLocQpOpErr);
  EXPECT_EQ(bench.record_sink.sent()[0].token.vendor_err, static_cast<uint32_t>(RdmaError::kUnsupportedCommand));
}

// Among messages, with every rate of the streams: RTL and model in every cycle, and all in order.
TEST(RequesterRegistration, AmongMessagesAtEveryRate) {
  for (const unsigned in : {16u, 3u}) {
    for (const unsigned place : {16u, 3u}) {
      for (const unsigned out : {16u, 3u}) {
        for (const bool extensible : {false, true}) {
          Bench bench;
          bench.qps[3].max_send_sge = 7;
          bench.SetUp(3);
          bench.Rates(in, place, out);
          std::vector<IbWcOpcode> expected;
          std::vector<spec::MemoryCheck> checks;
          for (unsigned i = 0; i < 40; ++i) {
            if (bench.random() % 3 == 0) {
              WorkRequest request{.head = 1, .wr_id = i, .opcode = 2};
              request.sge.length = static_cast<uint32_t>(bench.random() % 5000);
              bench.Post(request);
              expected.push_back(IbWcOpcode::kSend);
              continue;
            }
            const Registration one{.key = static_cast<uint32_t>(0x12'3400 + i % 16),
                                   .pairs = static_cast<uint32_t>(1 + bench.random() % 7)};
            one.PutList(bench, extensible);
            bench.work.tokens.push_back(one.Token(extensible));
            for (const auto& check : one.Checks()) checks.push_back(check);
            expected.push_back(IbWcOpcode::kRegMr);
          }
          for (uint32_t i = 1; i < 7; ++i) Registration{.pairs = 7}.PutList(bench, extensible);
          ASSERT_EQ(bench.Settle(), "");
          EXPECT_EQ(bench.binds, checks);
          std::vector<IbWcOpcode> seen;
          for (const auto& [cycle, record] : bench.record_sink.sent()) {
            EXPECT_EQ(record.status, IbWcStatus::kSuccess) << TokenText(record);
            seen.push_back(record.opcode);
          }
          EXPECT_EQ(seen, expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
