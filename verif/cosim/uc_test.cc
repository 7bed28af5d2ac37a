// SPDX-License-Identifier: Apache-2.0
// Unreliable connections: arrived messages are intact and in order, lost ones are not reported, and a lost message does
// not affect another one. [IBTA vol. 1, 9.8.2]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kMtu = 256;
constexpr uint64_t kReceive = 32'768, kPlace = 2048;  // offset of the receives, and bytes of each

class Uc : public PairTest {
 protected:
  void Build(const std::string& faults = "") {
    BuildWith({faults, ""});
    if (!HasFatalFailure()) log_.Watch(system_->host(1).station());
  }
  static ConnectedPairOptions Options() {
    ConnectedPairOptions options;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.qp.type = spec::IbQpType::kUc;
    options.qp.max_send_sge = options.qp.max_recv_sge = 4;  // supported by every configuration
    options.qp.max_inline_data = 64;
    return options;
  }
  void BuildAndConnect(const std::string& faults = "") {
    Build(faults);
    ASSERT_FALSE(HasFatalFailure());
    Connect(Options());
  }
  void TearDown() override {
    EXPECT_EQ(log_.CountSent(), 0U) << "UC has no acknowledges";
    PairTest::TearDown();
  }
  // `bytes` of data from `from` on; always another part of the memory.
  Elements Source(uint64_t from, uint32_t bytes) { return {near().region->Sge(from, bytes)}; }
  Elements Receive(uint64_t number) { return {far().region->Sge(kReceive + number * kPlace, kPlace)}; }
  static std::array<uint8_t, 4> Immediate(uint64_t wr_id) {
    return {0xab, static_cast<uint8_t>(wr_id >> 8), static_cast<uint8_t>(wr_id), 0xcd};
  }
  // SEND, or WRITE to `to`, with or without immediate data.
  void Post(uint64_t wr_id, IbWrOpcode opcode, const Elements& what, uint64_t to = 0) {
    auto request = Remote(opcode, wr_id, what, to);
    std::ranges::copy(Immediate(wr_id), request.imm_data);
    PostSend(request);
  }
  void ExpectReceived(uint64_t receive, uint64_t wr_id, IbWrOpcode opcode, uint32_t bytes) {
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, receive);
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess) << spec::ToString(completion->status);
    const bool is_write = opcode == IbWrOpcode::kRdmaWriteWithImm;
    const bool has_immediate = is_write || opcode == IbWrOpcode::kSendWithImm;
    EXPECT_EQ(completion->opcode, is_write ? IbWcOpcode::kRecvRdmaWithImm : IbWcOpcode::kRecv);
    EXPECT_EQ(completion->byte_len, bytes);
    EXPECT_EQ(completion->wc_flags, has_immediate ? uint32_t{spec::IbWcFlags::kWithImm} : 0U);
    if (has_immediate) {
      EXPECT_TRUE(std::ranges::equal(completion->imm_data, Immediate(wr_id)));
    }
    EXPECT_EQ(completion->qp_num, far().qp->qpn());
  }

  FrameLog log_;  // of host 1, which only receives
};

TEST_P(Uc, CarriesEveryOperationOfEverySize) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  auto random = MakeRandom("uc.sizes");
  uint64_t wr_id = 0;
  for (const IbWrOpcode opcode :
       {IbWrOpcode::kSend, IbWrOpcode::kSendWithImm, IbWrOpcode::kRdmaWrite, IbWrOpcode::kRdmaWriteWithImm}) {
    SCOPED_TRACE(spec::ToString(opcode));
    for (const uint32_t bytes : {0U, 1U, kMtu - 1, kMtu, kMtu + 1, 2 * kMtu, 5 * kMtu + 3}) {
      SCOPED_TRACE(bytes);
      ++wr_id;
      const bool takes_receive = opcode != IbWrOpcode::kRdmaWrite;
      const bool is_send = opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm;
      const Elements what = Cut(near(), UniformBelow(random, 4096), bytes, 1 + UniformBelow(random, 4), random);
      const Elements into =
          Cut(far(), kReceive + UniformBelow(random, 100), bytes, 1 + UniformBelow(random, 4), random);
      const uint64_t to = 8192 + UniformBelow(random, 4096);
      auto expected = Memory();
      Scatter(far(), is_send ? into : Elements{far().region->Sge(to, bytes)}, Gather(near(), what), expected[1]);
      if (takes_receive) PostRecv(1, 100 + wr_id, into);
      Post(wr_id, opcode, what, to);
      const auto sent = Next(0);
      ASSERT_TRUE(sent.has_value());
      EXPECT_EQ(sent->wr_id, wr_id);
      EXPECT_EQ(sent->status, IbWcStatus::kSuccess) << spec::ToString(sent->status);
      EXPECT_EQ(sent->opcode, is_send ? IbWcOpcode::kSend : IbWcOpcode::kRdmaWrite);
      if (takes_receive) {
        ASSERT_NO_FATAL_FAILURE(ExpectReceived(100 + wr_id, wr_id, opcode, bytes));
      } else {
        Settle();  // nothing reports its arrival
      }
      ExpectMemory(expected);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(Uc, ManyArriveOnceAndInOrder) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint64_t kMessages = 60;
  constexpr std::array<IbWrOpcode, 4> kOpcodes = {IbWrOpcode::kSend, IbWrOpcode::kRdmaWrite, IbWrOpcode::kSendWithImm,
                                                  IbWrOpcode::kRdmaWriteWithImm};
  auto expected = Memory();
  const auto bytes_of = [](uint64_t i) { return static_cast<uint32_t>(i * 37 % 700); };
  for (uint64_t i = 0; i < kMessages; ++i) {
    if (kOpcodes.at(i % 4) != IbWrOpcode::kRdmaWrite) PostRecv(1, i, {far().region->Sge(kReceive + i * 512, 700)});
  }
  for (uint64_t i = 0; i < kMessages; ++i) {
    const IbWrOpcode opcode = kOpcodes.at(i % 4);
    const Elements what = Source(i * 100, bytes_of(i));
    const uint64_t to = i * 500;
    const bool is_send = opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm;
    // Later ones overwrite earlier ones, in order of arrival.
    Scatter(far(), {far().region->Sge(is_send ? kReceive + i * 512 : to, bytes_of(i))}, Gather(near(), what),
            expected[1]);
    Post(i, opcode, what, to);
  }
  for (uint64_t i = 0; i < kMessages; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
  for (uint64_t i = 0; i < kMessages; ++i) {
    if (kOpcodes.at(i % 4) == IbWrOpcode::kRdmaWrite) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(i, i, kOpcodes.at(i % 4), bytes_of(i)));
  }
  Settle();
  ExpectMemory(expected);
  ExpectNone(0);
  ExpectNone(1);
}

TEST_P(Uc, LostPacketLosesOnlyItsMessageAndTheNextReusesItsReceive) {
  // Of SENDs of four packets the first, a middle and the last one of every other message; two in a row at the end.
  BuildAndConnect(
      "drop opcode=uc_send_first nth=1; drop opcode=uc_send_middle nth=5; drop opcode=uc_send_last nth=5;"
      "drop opcode=uc_send_middle nth=13; drop opcode=uc_send_last nth=8");
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint32_t kBytes = 3 * kMtu + 50;
  constexpr uint64_t kMessages = 10;
  // Message 0 loses its first packet, 2 (middle 4, 5) one of the middle, 4 the last, 6 and 7 one each.
  constexpr std::array<bool, kMessages> kIsLost = {true, false, true, false, true, false, true, true, false, false};
  uint64_t receives = 0;
  auto expected = Memory();
  for (uint64_t i = 0; i < kMessages; ++i) {
    if (kIsLost.at(i)) continue;
    PostRecv(1, receives, Receive(receives));
    ++receives;
  }
  receives = 0;
  for (uint64_t i = 0; i < kMessages; ++i) {
    SCOPED_TRACE(i);
    const Elements what = Source(i * 1000, kBytes);
    Post(i, IbWrOpcode::kSend, what);
    ExpectNext(0, i, IbWcStatus::kSuccess);
    if (kIsLost.at(i)) {
      ExpectNone(1, 100'000);
      continue;
    }
    Scatter(far(), Receive(receives), Gather(near(), what), expected[1]);
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(receives, i, IbWrOpcode::kSend, kBytes));
    ++receives;
    // The next message overwrites parts of lost ones.
    ExpectMemory(expected);
  }
  ExpectAllFaultsInjected(0);
}

TEST_P(Uc, LostWritePacketLosesItsImmediateData) {
  BuildAndConnect("drop opcode=uc_rdma_write_middle nth=2; drop opcode=uc_rdma_write_last_with_immediate nth=3");
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint32_t kBytes = 3 * kMtu + 50;
  auto expected = Memory();
  for (uint64_t i = 0; i < 3; ++i) PostRecv(1, i, {});
  uint64_t receives = 0;
  for (uint64_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const Elements what = Source(i * 1000, kBytes);
    const uint64_t to = i * 1024;
    Post(i, IbWrOpcode::kRdmaWriteWithImm, what, to);
    ExpectNext(0, i, IbWcStatus::kSuccess);
    // Everything before the lost packet is written, nothing after it.
    const uint32_t written = i == 0 ? 2 * kMtu : i == 2 ? 3 * kMtu : kBytes;
    Bytes data = Gather(near(), what);
    data.resize(written);
    Scatter(far(), {far().region->Sge(to, written)}, data, expected[1]);
    if (written == kBytes) {
      ASSERT_NO_FATAL_FAILURE(ExpectReceived(receives++, i, IbWrOpcode::kRdmaWriteWithImm, kBytes));
    } else {
      ExpectNone(1, 100'000);
    }
    ExpectMemory(expected);
  }
  ExpectAllFaultsInjected(0);
}

TEST_P(Uc, MessageIsLostWithoutAReceive) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  auto expected = Memory();
  const Elements lost = Source(0, 700), taken = Source(5000, 600);
  Post(1, IbWrOpcode::kSend, lost);
  Post(2, IbWrOpcode::kSendWithImm, Source(100, 10));
  Post(3, IbWrOpcode::kRdmaWriteWithImm, {}, 0);
  for (uint64_t i = 1; i <= 3; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
  Settle();
  PostRecv(1, 10, Receive(0));
  ExpectNone(1);
  ExpectMemory(expected);
  Post(4, IbWrOpcode::kSend, taken);
  ExpectNext(0, 4, IbWcStatus::kSuccess);
  Scatter(far(), Receive(0), Gather(near(), taken), expected[1]);
  ASSERT_NO_FATAL_FAILURE(ExpectReceived(10, 4, IbWrOpcode::kSend, 600));
  ExpectMemory(expected);
}

TEST_P(Uc, WriteWithoutAccessRightsIsDroppedAndTheConnectionContinues) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  auto expected = Memory();
  const Elements what = Source(0, 700);
  auto wrong_key = Remote(IbWrOpcode::kRdmaWrite, 1, what, 0);
  wrong_key.rkey ^= 1;
  PostSend(wrong_key);
  PostSend(Remote(IbWrOpcode::kRdmaWrite, 2, what, far().memory->size()));
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  ExpectNext(0, 2, IbWcStatus::kSuccess);
  Settle();
  ExpectMemory(expected);
  PostRecv(1, 10, {});
  Post(3, IbWrOpcode::kRdmaWriteWithImm, what, 2000);
  ExpectNext(0, 3, IbWcStatus::kSuccess);
  Scatter(far(), {far().region->Sge(2000, 700)}, Gather(near(), what), expected[1]);
  ASSERT_NO_FATAL_FAILURE(ExpectReceived(10, 3, IbWrOpcode::kRdmaWriteWithImm, 700));
  ExpectMemory(expected);
}

TEST_P(Uc, BadReceiveFailsOnlyTheReceivingQp) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const bool is_short : {true, false}) {
    SCOPED_TRACE(is_short);
    Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    spec::RdmaSge receive = far().region->Sge(kReceive, 600);
    if (!is_short) receive.lkey ^= 1;
    PostRecv(1, 10, {receive});
    PostRecv(1, 11, Receive(1));
    const Elements what = Source(0, is_short ? 601 : 600);
    Post(1, IbWrOpcode::kSend, what);
    Post(2, IbWrOpcode::kSend, what);
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ExpectNext(0, 2, IbWcStatus::kSuccess);
    ExpectNext(1, 10, is_short ? IbWcStatus::kLocLenErr : IbWcStatus::kLocProtErr);
    ExpectNext(1, 11, IbWcStatus::kWrFlushErr);
    const auto attributes = far().qp->Query();
    ASSERT_TRUE(attributes.ok());
    EXPECT_EQ(attributes->qp_state, spec::IbQpState::kErr);
    // The sender gets no error.
    Post(3, IbWrOpcode::kSend, what);
    ExpectNext(0, 3, IbWcStatus::kSuccess);
  }
}

TEST_P(Uc, ReadIsNotSupported) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  const auto expected = Memory();
  Post(1, IbWrOpcode::kRdmaRead, Source(0, 64), 0);
  Post(2, IbWrOpcode::kRdmaWrite, Source(0, 64), 0);
  ExpectNext(0, 1, IbWcStatus::kLocQpOpErr);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
  Settle();
  ExpectMemory(expected);
}

VIREO_ON_EVERY_DEVICE(Uc);

}  // namespace
}  // namespace vireo::sim
