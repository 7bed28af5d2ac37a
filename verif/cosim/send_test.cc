// SPDX-License-Identifier: Apache-2.0
// SEND and immediate data on a reliable connection: the data of a receive, its SGEs, and how each error ends on both
// sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "sim/common/random.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint8_t kImmediate[4] = {0xde, 0xad, 0x12, 0x34};
constexpr uint32_t kElements = 4;  // supported by every configuration

class Send : public PairTest {
 protected:
  void SetUp() override {
    Build();
    ASSERT_FALSE(HasFatalFailure());
  }
  static ConnectedPairOptions Options() {
    ConnectedPairOptions options;
    options.qp.max_send_sge = options.qp.max_recv_sge = kElements;
    options.qp.max_inline_data = 256;
    return options;
  }
  void ExpectReceived(uint64_t wr_id, const std::vector<uint8_t>& data, const std::vector<spec::RdmaSge>& list,
                      IbWcOpcode opcode = IbWcOpcode::kRecv) {
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    EXPECT_EQ(completion->opcode, opcode);
    EXPECT_EQ(completion->qp_num, far().qp->qpn());
    EXPECT_EQ(completion->byte_len, data.size());
    std::vector<uint8_t> received = Gather(far(), list);
    received.resize(data.size());
    EXPECT_TRUE(received == data) << data.size() << " bytes";
  }
};

TEST_P(Send, FillsAReceiveOfEverySize) {
  for (const spec::IbMtu mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu4096}) {
    auto options = Options();
    options.path_mtu = mtu;
    Connect(options);
    uint64_t wr_id = 0;
    for (const uint32_t bytes : {0U, 1U, 3U, 64U, 255U, 256U, 257U, 4095U, 4096U, 4097U, 12'345U}) {
      ++wr_id;
      const std::vector<spec::RdmaSge> to = {far().region->Sge(8192 - 3 * wr_id, bytes + 100)};
      const std::vector<spec::RdmaSge> from = {near().region->Sge(4096 - wr_id, bytes)};
      const std::vector<uint8_t> data = Gather(near(), from);
      PostRecv(1, 1000 + wr_id, to);
      PostSend({.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = from});
      ExpectNext(0, wr_id, IbWcStatus::kSuccess);
      ExpectReceived(1000 + wr_id, data, to);
    }
    pair_.reset();
  }
}

TEST_P(Send, CarriesImmediateData) {
  Connect(Options());
  const std::vector<spec::RdmaSge> to = {far().region->Sge(100, 5000)};
  const std::vector<spec::RdmaSge> from = {near().region->Sge(64, 3000)};
  const std::vector<uint8_t> data = Gather(near(), from);
  PostRecv(1, 7, to);
  verbs::SendRequest request{.wr_id = 1, .opcode = IbWrOpcode::kSendWithImm, .sg_list = from};
  std::ranges::copy(kImmediate, request.imm_data);
  PostSend(request);
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  const auto completion = Next(1);
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->wc_flags, spec::IbWcFlags::kWithImm);
  EXPECT_TRUE(std::ranges::equal(completion->imm_data, kImmediate));
  EXPECT_EQ(completion->byte_len, 3000U);
  EXPECT_EQ(completion->opcode, IbWcOpcode::kRecv);
  EXPECT_EQ(std::memcmp(far().memory->data() + 100, data.data(), data.size()), 0);
}

TEST_P(Send, WriteWithImmediateConsumesAReceiveAndReportsItsLength) {
  Connect(Options());
  for (const uint32_t bytes : {0U, 64U, 3000U}) {
    const std::vector<spec::RdmaSge> from = {near().region->Sge(64, bytes)};
    const std::vector<uint8_t> data = Gather(near(), from);
    PostRecv(1, 70 + bytes, {});
    verbs::SendRequest request{.wr_id = bytes,
                               .opcode = IbWrOpcode::kRdmaWriteWithImm,
                               .sg_list = from,
                               .remote_addr = far().region->address() + 9000,
                               .rkey = far().region->rkey()};
    std::ranges::copy(kImmediate, request.imm_data);
    PostSend(request);
    ExpectNext(0, bytes, IbWcStatus::kSuccess);
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 70 + bytes);
    EXPECT_EQ(completion->opcode, IbWcOpcode::kRecvRdmaWithImm);
    EXPECT_EQ(completion->wc_flags, spec::IbWcFlags::kWithImm);
    EXPECT_TRUE(std::ranges::equal(completion->imm_data, kImmediate));
    EXPECT_EQ(completion->byte_len, bytes);
    EXPECT_EQ(std::memcmp(far().memory->data() + 9000, data.data(), data.size()), 0);
  }
}

TEST_P(Send, GathersAndScattersOverSges) {
  auto random = MakeRandom("send.elements");
  for (const spec::IbMtu mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu1024}) {
    auto options = Options();
    options.path_mtu = mtu;
    Connect(options);
    for (uint64_t round = 0; round < 12; ++round) {
      const auto bytes = static_cast<uint32_t>(UniformBelow(random, round % 3 == 0 ? 40 : 5000));
      const auto from = Cut(near(), UniformBelow(random, 100), bytes, 1 + UniformBelow(random, kElements), random);
      const auto to = Cut(far(), UniformBelow(random, 100), bytes + static_cast<uint32_t>(UniformBelow(random, 50)),
                          1 + UniformBelow(random, kElements), random);
      const std::vector<uint8_t> data = Gather(near(), from);
      PostRecv(1, 100 + round, to);
      PostSend({.wr_id = round, .opcode = IbWrOpcode::kSend, .sg_list = from});
      ExpectNext(0, round, IbWcStatus::kSuccess);
      ExpectReceived(100 + round, data, to);
      ASSERT_FALSE(HasFailure()) << bytes << " bytes in round " << round;
    }
    pair_.reset();
  }
}

// Work requests of one slot, whose lists differ and end at the same address.
TEST_P(Send, ListOfAReceiveIsReadForEachMessage) {
  auto options = Options();
  options.qp.max_recv_wr = 1;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const Elements from = {near().region->Sge(0, 300)};
  const std::vector<uint8_t> data = Gather(near(), from);
  for (uint32_t round = 0; round < 6; ++round) {
    const Elements to = {far().region->Sge(0, 100), far().region->Sge(1000 * (round + 1), 150),
                         far().region->Sge(500, 50)};
    PostRecv(1, 100 + round, to);
    PostSend({.wr_id = round, .opcode = IbWrOpcode::kSend, .sg_list = from});
    ExpectNext(0, round, IbWcStatus::kSuccess);
    ExpectReceived(100 + round, data, to);
    ASSERT_FALSE(HasFailure()) << round;
  }
}

TEST_P(Send, WritesGatherOverSges) {
  auto random = MakeRandom("send.write");
  Connect(Options());
  for (uint64_t round = 0; round < 8; ++round) {
    const auto bytes = static_cast<uint32_t>(UniformBelow(random, 6000));
    const auto from = Cut(near(), 0, bytes, kElements, random);
    const std::vector<uint8_t> data = Gather(near(), from);
    PostSend({.wr_id = round,
              .opcode = IbWrOpcode::kRdmaWrite,
              .sg_list = from,
              .remote_addr = far().region->address() + 10'000 + round,
              .rkey = far().region->rkey()});
    ExpectNext(0, round, IbWcStatus::kSuccess);
    system_->topology().RunFor(kArrivalTime);
    EXPECT_EQ(std::memcmp(far().memory->data() + 10'000 + round, data.data(), data.size()), 0) << bytes;
  }
}

TEST_P(Send, InlineDataComesFromTheWorkRequest) {
  Connect(Options());
  uint64_t wr_id = 0;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{17}, size_t{64}, size_t{200}, size_t{256}}) {
    ++wr_id;
    std::vector<uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<uint8_t>(wr_id));
    const std::vector<spec::RdmaSge> to = {far().region->Sge(wr_id, 300)};
    PostRecv(1, wr_id, to);
    PostSend({.wr_id = wr_id,
              .opcode = IbWrOpcode::kSend,
              .flags = spec::IbSendFlags::kSignaled | spec::IbSendFlags::kInline,
              .inline_data = data});
    ExpectNext(0, wr_id, IbWcStatus::kSuccess);
    ExpectReceived(wr_id, data, to);
  }
}

TEST_P(Send, ManyArriveInOrder) {
  Connect(Options());
  constexpr uint64_t kSends = 150;
  uint64_t posted_receives = 0, posted = 0, sent = 0, received = 0;
  while (received < kSends || sent < kSends) {
    while (posted_receives < kSends && posted_receives < received + 48) {
      PostRecv(1, posted_receives, {far().region->Sge(posted_receives % 64 * 512, 512)});
      ++posted_receives;
    }
    while (posted < posted_receives && posted < sent + 48) {
      const spec::RdmaSge sge = near().region->Sge(posted * 300, static_cast<uint32_t>(1 + posted % 512));
      PostSend({.wr_id = posted, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
      ++posted;
    }
    if (sent < posted) ExpectNext(0, sent++, IbWcStatus::kSuccess);
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->wr_id, received);
    ASSERT_EQ(completion->byte_len, 1 + received % 512);
    ASSERT_EQ(std::memcmp(far().memory->data() + received % 64 * 512, near().memory->data() + received * 300,
                          1 + received % 512),
              0);
    ++received;
  }
}

TEST_P(Send, RnrRetryWaitsForALateReceive) {
  auto options = Options();
  options.connection.min_rnr_timer = 1;  // 10 us
  options.connection.rnr_retry = 7;      // infinite
  Connect(options);
  const std::vector<spec::RdmaSge> from = {near().region->Sge(0, 2500)};
  const std::vector<uint8_t> data = Gather(near(), from);
  for (uint64_t i = 1; i <= 3; ++i) PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .sg_list = from});
  ExpectNone(0, 60'000);
  for (uint64_t i = 1; i <= 3; ++i) {
    const std::vector<spec::RdmaSge> to = {far().region->Sge(i * 5000, 2500)};
    PostRecv(1, i, to);
    ExpectNext(0, i, IbWcStatus::kSuccess);
    ExpectReceived(i, data, to);
  }
}

TEST_P(Send, RnrRetriesAreExhaustedWithoutAReceive) {
  auto options = Options();
  options.connection.min_rnr_timer = 1;
  options.connection.rnr_retry = 2;
  Connect(options);
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  for (uint64_t i = 1; i <= 2; ++i) {
    PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
  }
  ExpectNext(0, 1, IbWcStatus::kRnrRetryExcErr);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
}

TEST_P(Send, TooShortReceiveFailsOnBothSides) {
  Connect(Options());
  const spec::RdmaSge sge = near().region->Sge(0, 2000);
  PostRecv(1, 1, {far().region->Sge(0, 1500)});
  PostRecv(1, 2, {far().region->Sge(4000, 4000)});
  PostSend({.wr_id = 3, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
  ExpectNext(0, 3, IbWcStatus::kRemInvReqErr);
  ExpectNext(1, 1, IbWcStatus::kLocLenErr);
  ExpectNext(1, 2, IbWcStatus::kWrFlushErr);
}

TEST_P(Send, ReceiveWithoutAccessRightsFailsOnBothSides) {
  Connect(Options());
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  spec::RdmaSge wrong = far().region->Sge(0, 64);
  wrong.lkey ^= 1;
  PostRecv(1, 1, {wrong});
  PostSend({.wr_id = 3, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
  ExpectNext(0, 3, IbWcStatus::kRemOpErr);
  ExpectNext(1, 1, IbWcStatus::kLocProtErr);
}

TEST_P(Send, ReceivesOfAFailedQpFlushInOrder) {
  Connect(Options());
  for (uint64_t i = 0; i < 20; ++i) PostRecv(1, i, {far().region->Sge(i * 64, 64)});
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  PostSend({.wr_id = 100, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
  ExpectNext(0, 100, IbWcStatus::kSuccess);
  ExpectNext(1, 0, IbWcStatus::kSuccess);
  ASSERT_TRUE(far().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
  for (uint64_t i = 1; i < 20; ++i) ExpectNext(1, i, IbWcStatus::kWrFlushErr);
  // Receives posted later, too.
  for (uint64_t i = 20; i < 24; ++i) PostRecv(1, i, {far().region->Sge(0, 64)});
  for (uint64_t i = 20; i < 24; ++i) ExpectNext(1, i, IbWcStatus::kWrFlushErr);
}

VIREO_ON_EVERY_DEVICE(Send);

}  // namespace
}  // namespace vireo::sim
