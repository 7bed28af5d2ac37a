// SPDX-License-Identifier: Apache-2.0
// Requirements of RFC v2 "virtio-net: Add RoCE support" that no other test checks for every operation: which local
// memory is refused, when immediate data is used, the fields of a completion. docs/testplan.toml lists all requirements
// and their tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcFlags;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kBytes = 200;
constexpr std::array<uint8_t, 4> kImmediate = {0x12, 0x34, 0x56, 0x78};
constexpr std::array<IbWrOpcode, 5> kOpcodes = {IbWrOpcode::kRdmaWrite, IbWrOpcode::kRdmaWriteWithImm,
                                                IbWrOpcode::kSend, IbWrOpcode::kSendWithImm, IbWrOpcode::kRdmaRead};

// One error of an SGE, in a region of `length` bytes at `address`.
struct BadElement {
  const char* what;
  spec::RdmaSge (*corrupt)(spec::RdmaSge good, uint64_t address, uint64_t length);
};
constexpr BadElement kBadElements[] = {
    {"lkey",
     [](spec::RdmaSge good, uint64_t, uint64_t) {
       good.lkey ^= 1;
       return good;
     }},
    {"addr",
     [](spec::RdmaSge good, uint64_t address, uint64_t) {
       good.addr = address - 1;
       return good;
     }},
    {"length",
     [](spec::RdmaSge good, uint64_t address, uint64_t length) {
       good.addr = address + length - kBytes + 1;
       return good;
     }},
};

class Rfc : public PairTest {
 protected:
  void BuildAndConnect() {
    Build();
    if (!HasFatalFailure()) Connect();
  }
  verbs::SendRequest Request(IbWrOpcode opcode, uint64_t wr_id, const Elements& list) {
    verbs::SendRequest request = Remote(opcode, wr_id, list, 4096);
    std::ranges::copy(kImmediate, request.imm_data);
    return request;
  }
};

TEST_P(Rfc, DeviceConfigurationReportsNumbersOfQpsAndCqs) {
  for (const spec::Config* any : spec::kConfigs) {
    EXPECT_GE(any->num_qps, 1U);
    EXPECT_LE(any->num_qps, spec::kRdmaQpsMax);
    EXPECT_GE(any->num_cqs, 1U);
    EXPECT_LE(any->num_cqs, spec::kRdmaCqsMax);
  }
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (size_t host = 0; host < 2; ++host) {
    const spec::NetConfigRdma limits = system_->host(host).device().net().rdma_config();
    EXPECT_EQ(limits.max_rdma_qps, config().num_qps);
    EXPECT_EQ(limits.max_rdma_cqs, config().num_cqs);
  }
}

TEST_P(Rfc, LocalMemoryIsValidatedByAddressLengthAndKeyForEveryOperation) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  for (const IbWrOpcode opcode : kOpcodes) {
    for (const BadElement& bad : kBadElements) {
      SCOPED_TRACE(std::string(spec::ToString(opcode)) + ", " + bad.what);
      Connect();
      ASSERT_FALSE(HasFatalFailure());
      const auto expected = Memory();
      PostRecv(1, 1, {far().region->Sge(8192, kBytes)});
      const Elements list = {
          bad.corrupt(near().region->Sge(0, kBytes), near().region->address(), near().region->length())};
      PostSend(Request(opcode, 2, list));
      ExpectNext(0, 2, IbWcStatus::kLocProtErr);
      ExpectMemory(expected);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(Rfc, ReceiveMemoryIsValidatedByAddressLengthAndKey) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  for (const BadElement& bad : kBadElements) {
    SCOPED_TRACE(bad.what);
    Connect();
    ASSERT_FALSE(HasFatalFailure());
    const auto expected = Memory();
    PostRecv(1, 1, {bad.corrupt(far().region->Sge(0, kBytes), far().region->address(), far().region->length())});
    PostSend(Request(IbWrOpcode::kSend, 2, {near().region->Sge(0, kBytes)}));
    ExpectNext(0, 2, IbWcStatus::kRemOpErr);
    ExpectNext(1, 1, IbWcStatus::kLocProtErr);
    ExpectMemory(expected);
    ASSERT_FALSE(HasFailure());
  }
}

// Each work request has immediate data in memory; only the opcodes with immediate data send it to the peer.
TEST_P(Rfc, ImmediateDataIsUsedByItsOpcodesOnlyAndCompletionsCarryWrId) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  uint64_t receive = 0x8000'0000'0000'0000;
  uint64_t send = 0xfedc'ba98'7654'3210;
  for (const IbWrOpcode opcode : kOpcodes) {
    SCOPED_TRACE(spec::ToString(opcode));
    const bool is_send = opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm;
    const bool has_immediate = opcode == IbWrOpcode::kSendWithImm || opcode == IbWrOpcode::kRdmaWriteWithImm;
    PostRecv(1, ++receive, {far().region->Sge(8192, kBytes)});
    const Elements list = {near().region->Sge(0, kBytes)};
    PostSend(Request(opcode, ++send, list));
    ExpectNext(0, send, IbWcStatus::kSuccess);
    if (!is_send && !has_immediate) {
      // The peer gets no completion, and its receive stays posted.
      ExpectNone(1);
      PostSend(Request(IbWrOpcode::kSend, ++send, list));
      ExpectNext(0, send, IbWcStatus::kSuccess);
    }
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, receive);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    EXPECT_EQ((completion->wc_flags & IbWcFlags::kWithImm) != 0, has_immediate);
    EXPECT_TRUE(std::ranges::equal(completion->imm_data, has_immediate ? kImmediate : std::array<uint8_t, 4>()));
  }
}

// Independent of datapath width and kind of ring; lockstep includes the RTL.
INSTANTIATE_TEST_SUITE_P(Devices, Rfc,
                         testing::Combine(testing::Values("model", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
