// SPDX-License-Identifier: Apache-2.0
// Requirements of RFC v2 "virtio-net: Add RoCE support" that no other test checks for every operation: which local
// memory is refused, when immediate data is used, the fields of a completion. docs/testplan.toml lists all requirements
// and their tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
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

TEST_P(Rfc, ADmaRegionIsOneKeyForAllBusAddresses) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  Connect({.qp = {.max_send_sge = 2}});
  ASSERT_FALSE(HasFatalFailure());
  std::array<std::shared_ptr<verbs::MemoryRegion>, 2> all;
  for (size_t i = 0; i < 2; ++i) {
    auto made = side(i).pd->RegisterAll(spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite |
                                        spec::IbAccessFlags::kRemoteRead);
    ASSERT_TRUE(made.ok()) << host::ToString(made.error());
    all.at(i) = *made;
  }
  // Two buffers of this host that no region of their own covers.
  std::array<host::DmaBuffer, 2> buffers;
  Bytes sent;
  auto random = MakeRandom("rfc_test.dma_region");
  Elements list;
  for (host::DmaBuffer& buffer : buffers) {
    auto made = system_->host(0).function().AllocateDma(4096, 64);
    ASSERT_TRUE(made.ok());
    buffer = std::move(made).value();
    Fill(*buffer, random);
    list.push_back({.addr = buffer->address() + 100, .length = kBytes, .lkey = all[0]->lkey()});
    sent.insert(sent.end(), buffer->data() + 100, buffer->data() + 100 + kBytes);
  }
  std::array<Bytes, 2> expected = Memory();
  verbs::SendRequest request = Request(IbWrOpcode::kRdmaWrite, 1, list);
  request.remote_addr = far().memory->address() + 4096;
  request.rkey = all[1]->rkey();
  PostSend(request);
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  std::ranges::copy(sent, expected[1].begin() + 4096);
  const spec::RdmaSge into{.addr = far().memory->address() + 16384, .length = 2 * kBytes, .lkey = all[1]->lkey()};
  PostRecv(1, 2, {into});
  PostSend(Request(IbWrOpcode::kSend, 2, list));
  ExpectNext(0, 2, IbWcStatus::kSuccess);
  ExpectNext(1, 2, IbWcStatus::kSuccess);
  std::ranges::copy(sent, expected[1].begin() + 16384);
  const Elements into_near = {{.addr = near().memory->address() + 512, .length = kBytes, .lkey = all[0]->lkey()}};
  request = Request(IbWrOpcode::kRdmaRead, 3, into_near);
  request.remote_addr = far().memory->address() + 4096;
  request.rkey = all[1]->rkey();
  PostSend(request);
  ExpectNext(0, 3, IbWcStatus::kSuccess);
  std::copy_n(sent.begin(), kBytes, expected[0].begin() + 512);
  Settle();
  ExpectMemory(expected);
  // The key is of its protection domain and ends with its region.
  const uint32_t rkey = all[1]->rkey();
  all[1].reset();
  request.rkey = rkey;
  PostSend(request);
  ExpectNext(0, 3, IbWcStatus::kRemAccessErr);
}

TEST_P(Rfc, ACqArmedForSolicitedEventsIgnoresOtherCompletions) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(far().cq->vector().has_value());
  const auto is_notified = [this](size_t host) {
    RunFor(100'000);
    return system_->host(host).function().TakeInterrupt(side(host).cq->vector().value());
  };
  uint64_t wr_id = 0;
  const auto send = [&](uint8_t flags) {
    PostRecv(1, ++wr_id, {far().region->Sge(8192, kBytes)});
    const Elements list = {near().region->Sge(0, kBytes)};
    verbs::SendRequest request = Request(IbWrOpcode::kSend, wr_id, list);
    request.flags = static_cast<uint8_t>(spec::IbSendFlags::kSignaled | flags);
    PostSend(request);
    ExpectNext(0, wr_id, IbWcStatus::kSuccess);
  };
  const auto poll = [&] {
    std::array<spec::RdmaCqReq, 8> some;
    const auto polled = far().cq->Poll(some);
    return polled.ok() ? *polled : 0;
  };
  static_cast<void>(is_notified(1));
  ASSERT_TRUE(far().cq->Arm(/*solicited_only=*/true).ok());
  send(0);
  EXPECT_FALSE(is_notified(1)) << "a completion that is not solicited";
  send(spec::IbSendFlags::kSolicited);
  EXPECT_TRUE(is_notified(1));
  send(spec::IbSendFlags::kSolicited);
  EXPECT_FALSE(is_notified(1)) << "armed once, notified twice";
  EXPECT_EQ(poll(), 3U);
  ASSERT_TRUE(far().cq->Arm().ok());
  send(0);
  EXPECT_TRUE(is_notified(1)) << "armed for any completion";
  EXPECT_EQ(poll(), 1U);
  // A failed one counts as solicited.
  ASSERT_TRUE(far().cq->Arm(/*solicited_only=*/true).ok());
  PostRecv(1, ++wr_id, {far().region->Sge(8192, kBytes)});
  ASSERT_TRUE(far().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
  EXPECT_TRUE(is_notified(1)) << "a failed completion";
  ExpectNext(1, wr_id, IbWcStatus::kWrFlushErr);
}

// Virtqueues of destroyed objects, reset by the driver, take another size.
TEST_P(Rfc, AVirtqueueTakesAnotherSizeAfterItsReset) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  std::set<std::pair<uint32_t, uint32_t>> used;  // number of the CQ, size
  std::set<uint32_t> resized;
  for (uint32_t round = 0; round < 2 * config().num_cqs; ++round) {
    const uint32_t entries = round < config().num_cqs ? 4 : 32;
    Connect({.memory_bytes = 16384, .cqe = entries, .qp = {.max_send_wr = entries, .max_recv_wr = entries}});
    ASSERT_FALSE(HasFatalFailure());
    const uint32_t cqn = near().cq->cqn();
    used.emplace(cqn, entries);
    if (entries == 32 && used.contains({cqn, 4})) resized.insert(cqn);
    for (uint32_t i = 0; i < entries; ++i) PostRecv(1, i, {far().region->Sge(8192, 64)});
    for (uint32_t i = 0; i < entries; ++i) PostSend(Request(IbWrOpcode::kSend, i, {near().region->Sge(0, 64)}));
    for (const size_t host : {0, 1}) {
      for (uint32_t i = 0; i < entries; ++i) ExpectNext(host, i, IbWcStatus::kSuccess);
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GE(resized.size(), config().num_cqs - 1);
}

// Independent of datapath width and kind of ring; lockstep includes the RTL.
INSTANTIATE_TEST_SUITE_P(Devices, Rfc,
                         testing::Combine(testing::Values("model", "rtl", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
