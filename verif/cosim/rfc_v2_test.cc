// SPDX-License-Identifier: Apache-2.0
// Profile rfc-v2 on whole NICs: what differs from vireo. That the same traffic runs is tested by the other tests of
// this folder with VIREO_PROFILE=rfc-v2. [RFC v2 "virtio-net: Add RoCE support"]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaCtrlCmd;
using spec::RdmaError;

constexpr uint8_t kClass = 6;  // the RFC's control class
constexpr uint32_t kBytes = 300;

class RfcV2 : public PairTest {
 protected:
  RfcV2() { profile_ = spec::Profile::kRfcV2; }
  void BuildAndConnect() {
    Build();
    if (!HasFatalFailure()) Connect();
  }
  host::VirtioNetDevice& net(size_t number = 0) { return system_->host(number).device().net(); }
  // Raw bytes, with the control class of the RFC.
  host::Status Execute(RdmaCtrlCmd command, std::vector<uint8_t> request, std::vector<uint8_t>& response,
                       const std::vector<uint8_t>& tail = {}) {
    return net().control().Execute(kClass, static_cast<uint8_t>(command), request, tail, response);
  }
  template <typename Request>
  host::Status Execute(RdmaCtrlCmd command, const Request& request, size_t response_bytes = 0,
                       const std::vector<uint8_t>& tail = {}) {
    std::vector<uint8_t> bytes(Request::kBytes), response(response_bytes);
    request.Encode(bytes.data());
    return Execute(command, bytes, response, tail);
  }
  void Send(uint64_t wr_id, uint8_t flags = spec::IbSendFlags::kSignaled) {
    PostRecv(1, wr_id, {far().region->Sge(8192, kBytes)});
    const spec::RdmaSge sge = near().region->Sge(0, kBytes);
    PostSend({.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .flags = flags, .sg_list = {&sge, 1}});
  }
  // Sends one message and takes both completions.
  void ExpectTraffic(uint64_t wr_id) {
    Send(wr_id);
    ExpectNext(0, wr_id, IbWcStatus::kSuccess);
    ExpectNext(1, wr_id, IbWcStatus::kSuccess);
  }
  bool TakeInterrupt(size_t number) {
    RunFor(100'000);
    return system_->host(number).function().TakeInterrupt(side(number).cq->vector().value());
  }
  size_t Drain(size_t number) {
    std::array<spec::RdmaCqReq, 16> some;
    const auto polled = side(number).cq->Poll(some);
    EXPECT_TRUE(polled.ok());
    return polled.ok() ? *polled : 0;
  }

  FrameLog log_;  // outlives the system
};

TEST_P(RfcV2, NumbersAreTheRfcs) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  const host::FeatureSet offered = net().pci().OfferedFeatures();
  EXPECT_TRUE(offered.Has(host::Feature(55)) && net().features().Has(host::Feature(55)));
  for (const uint8_t bit : std::array<uint8_t, 4>{51, 52, 53, 58})
    EXPECT_FALSE(offered.Has(host::Feature(bit))) << int{bit};
  const auto limits = net().pci().ReadDeviceConfig<spec::NetConfigRdma>(24);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(limits->max_rdma_qps, config().num_qps);
  EXPECT_EQ(limits->max_rdma_cqs, config().num_cqs);
  // Net pairs, the control queue, completion queues, then a send and a receive queue for each QP, and nothing else.
  EXPECT_EQ(net().pci().NumQueues(), 2 * config().net_queue_pairs + 1 + config().num_cqs + 2 * config().num_qps);
  std::vector<uint8_t> response(spec::RdmaAckQueryDevice::kBytes);
  ASSERT_TRUE(Execute(RdmaCtrlCmd::kQueryDevice, {}, response).ok());
  const auto device = spec::RdmaAckQueryDevice::Decode(response.data());
  EXPECT_EQ(device.page_size_cap, 4096U);
  EXPECT_EQ(device.max_mr_pages, 0U);
}

// The driver comes long before firmware has chosen the profile: it waits, and negotiates what firmware wants.
TEST_P(RfcV2, DriverWaitsForFirmware) {
  RdmaSystemOptions options;
  options.firmware_access_cycles = 5000;
  Build(options);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_TRUE(net().features().Has(host::Feature(55)));
  Connect();
  ExpectTraffic(1);
}

TEST_P(RfcV2, RefusedCommandsHaveNoReason) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  const auto expect_refused = [](const char* what, const host::Status& status) {
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.error().code, host::ErrorCode::kRefused) << what;
    EXPECT_EQ(status.error().rdma, RdmaError::kErr) << what << ": " << spec::ToString(status.error().rdma);
  };
  expect_refused("destroy_pd", Execute(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = 9999}));
  expect_refused("create_cq", Execute(RdmaCtrlCmd::kCreateCq, spec::RdmaCmdCreateCq{.cqe = 0}, 4));
  expect_refused("set_window",
                 Execute(RdmaCtrlCmd::kSetWindow, spec::RdmaCmdSetWindow{.vq_index = 20, .flags = 1, .length = 4096}));
  // The class of profile vireo is of no command.
  std::vector<uint8_t> response(spec::RdmaAckCreatePd::kBytes);
  EXPECT_FALSE(net().control().Execute(0x80, static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd), {}, {}, response).ok());
  EXPECT_TRUE(Execute(RdmaCtrlCmd::kCreatePd, {}, response).ok());
}

// The RFC's bytes after the page count are reserved: the device ignores them.
TEST_P(RfcV2, RegUserMrHasPagesOf4096Bytes) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  const uint64_t address = near().memory->address();
  const spec::RdmaCmdRegUserMr request{.pdn = near().pd->pdn(),
                                       .access_flags = spec::IbAccessFlags::kLocalWrite,
                                       .virt_addr = address,
                                       .length = 8192,
                                       .npages = 2,
                                       .page_shift = 21};
  std::vector<uint8_t> pages;
  for (const uint64_t page : {address, address + 4096}) {
    for (unsigned i = 0; i < 8; ++i) pages.push_back(static_cast<uint8_t>(page >> 8 * i));
  }
  EXPECT_TRUE(Execute(RdmaCtrlCmd::kRegUserMr, request, spec::RdmaAckRegUserMr::kBytes, pages).ok());
  // The kernel driver published with the RFC describes the header and omits the page list.
  EXPECT_FALSE(Execute(RdmaCtrlCmd::kRegUserMr, request, spec::RdmaAckRegUserMr::kBytes).ok());
  ExpectTraffic(1);
}

TEST_P(RfcV2, GidHasNoVlan) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  log_.Watch(system_->host(1).station());
  uint8_t gid[16];
  std::ranges::copy(system_->host(0).gid(), gid);
  EXPECT_EQ(system_->host(0).device().AddGid(1, gid, 5).error().code, host::ErrorCode::kUnsupported);
  spec::RdmaCmdAddGid request{.index = 0, .flags = spec::RdmaGidFlags::kVlanPresent, .vlan = 5};
  std::ranges::copy(gid, request.gid);
  ASSERT_TRUE(net().roce().DelGid(0).ok());
  ASSERT_TRUE(Execute(RdmaCtrlCmd::kAddGid, request).ok());
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  ExpectTraffic(1);
  ASSERT_FALSE(log_.entries().empty());
  for (const FrameLog::Entry& entry : log_.entries()) {
    EXPECT_NE(spec::Ethernet::Decode(entry.frame.data()).ethertype, spec::Ethertype::kVlan);
  }
}

TEST_P(RfcV2, ACommandArmsTheCqForOneInterrupt) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_TRUE(side(1).cq->vector().has_value());
  ASSERT_FALSE(TakeInterrupt(1));
  Send(1);
  EXPECT_FALSE(TakeInterrupt(1)) << "not armed";
  // A completion before the command does not count.
  ASSERT_TRUE(side(1).cq->Arm().ok());
  EXPECT_FALSE(TakeInterrupt(1)) << "an earlier completion";
  Send(2);
  EXPECT_TRUE(TakeInterrupt(1));
  Send(3);
  EXPECT_FALSE(TakeInterrupt(1)) << "armed once, notified twice";
  EXPECT_EQ(Drain(1), 3U);
  EXPECT_EQ(Drain(0), 3U);
}

// The arm register exists in profile vireo only.
TEST_P(RfcV2, AWriteToTheArmRegisterIsIgnored) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  const auto index = net(1).CompletionQueueIndex(side(1).cq->cqn());
  ASSERT_TRUE(index.ok());
  const auto doorbell = net(1).pci().DoorbellOf(*index);
  ASSERT_TRUE(doorbell.ok());
  const spec::RdmaCqArm arm{.seen_used_idx = 0, .next_completion = true};
  uint8_t bytes[spec::RdmaCqArm::kBytes];
  arm.Encode(bytes);
  uint32_t word = 0;
  for (size_t i = 0; i < sizeof bytes; ++i) word |= uint32_t{bytes[i]} << 8 * i;
  system_->host(1).function().WriteBar(doorbell->bar(), doorbell->offset() + spec::kRdmaCqArmOffset, 4, word);
  Send(1);
  EXPECT_FALSE(TakeInterrupt(1));
  EXPECT_EQ(Drain(1), 1U);
}

TEST_P(RfcV2, AFailedQueuePairIsReportedByCompletionsAndQueryOnly) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  spec::RdmaSge bad = near().region->Sge(0, kBytes);
  bad.lkey ^= 1;
  PostSend({.wr_id = 7, .opcode = IbWrOpcode::kSend, .sg_list = {&bad, 1}});
  ExpectNext(0, 7, IbWcStatus::kLocProtErr);
  const auto state = near().qp->Query();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->qp_state, IbQpState::kErr);
  const auto event = system_->host(0).device().PollEvent();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  ExpectTraffic(8);
}

TEST_P(RfcV2, AnOverrunCqFailsWithoutAnEvent) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  Connect({.cqe = 4});
  ASSERT_FALSE(HasFatalFailure());
  for (uint64_t i = 0; i < 6; ++i) PostRecv(1, i, {far().region->Sge(8192, kBytes)});
  const spec::RdmaSge sge = near().region->Sge(0, kBytes);
  for (uint64_t i = 0; i < 6; ++i) {
    PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .flags = 0, .sg_list = {&sge, 1}});
  }
  RunFor(kSecondNs / 1000);
  for (uint64_t i = 0; i < 4; ++i) ExpectNext(1, i, IbWcStatus::kSuccess);
  ExpectNone(1);
  const auto state = far().qp->Query();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->qp_state, IbQpState::kErr);
  const auto event = system_->host(1).device().PollEvent();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
}

// Without a window nothing bounds a ring: its descriptors reach all memory that the function can access.
// docs/profiles.md
TEST_P(RfcV2, DescriptorsReachAllMemory) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  // The user of this CQ has no right to the pair's memory, but aims its completion buffer there.
  const auto cqn = net().roce().CreateCq(2);
  ASSERT_TRUE(cqn.ok());
  const auto cq_index = net().CompletionQueueIndex(*cqn);
  ASSERT_TRUE(cq_index.ok());
  EXPECT_EQ(net().roce().SetWindow({.vq_index = *cq_index, .flags = 1, .length = 4096}).error().code,
            host::ErrorCode::kUnsupported);
  auto cq = net().OpenQueue(*cq_index, 2, std::nullopt, 0);
  ASSERT_TRUE(cq.ok());
  const host::Segment foreign{.address = near().memory->address() + 4096, .bytes = spec::RdmaCqReq::kBytes};
  ASSERT_TRUE(cq->ring->Add({}, {&foreign, 1}, 0).ok());
  static_cast<void>(cq->ring->Publish());
  const auto pd = net().roce().CreatePd();
  ASSERT_TRUE(pd.ok());
  const auto qpn = net().roce().CreateQp({.pdn = *pd,
                                          .qp_type = spec::IbQpType::kRc,
                                          .send_cqn = *cqn,
                                          .recv_cqn = *cqn,
                                          .cap = {.max_send_wr = 2, .max_recv_wr = 2}});
  ASSERT_TRUE(qpn.ok()) << host::ToString(qpn.error());
  auto receives = net().OpenQueue(net().ReceiveQueueIndex(*qpn).value(), 2, std::nullopt, 0);
  ASSERT_TRUE(receives.ok());
  auto memory = net().function().AllocateDma(64, 64);
  ASSERT_TRUE(memory.ok());
  spec::RdmaRqReq{.wr_id = 0x1122'3344'5566'7788}.Encode((*memory)->data());
  const host::Segment request{.address = (*memory)->address(), .bytes = spec::RdmaRqReq::kBytes};
  ASSERT_TRUE(
      net().roce().ModifyQp({.qpn = *qpn, .attr_mask = spec::IbQpAttrMask::kState, .qp_state = IbQpState::kErr}).ok());
  ASSERT_TRUE(receives->ring->Add({&request, 1}, {}, 0).ok());
  receives->Kick();
  RunFor(100'000);
  const auto completion = spec::RdmaCqReq::Decode(near().memory->data() + 4096);
  EXPECT_EQ(completion.wr_id, 0x1122'3344'5566'7788);
  EXPECT_EQ(completion.status, IbWcStatus::kWrFlushErr);
  EXPECT_TRUE(net().roce().DestroyQp(*qpn).ok() && net().roce().DestroyCq(*cqn).ok());
  EXPECT_TRUE(net().StopQueue(*receives, true).ok() && net().StopQueue(*cq, true).ok());
}

INSTANTIATE_TEST_SUITE_P(Devices, RfcV2,
                         testing::Combine(testing::Values("model", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false)),
                         NameOfWithRing);

// A driver as of 2022: queues are never reset one by one. Objects are destroyed and made again on the same rings.
class WithoutRingReset : public RfcV2 {
 protected:
  void SetUp() override {
    removed_ = {spec::VirtioFeature::kRingReset};
    Build();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_FALSE(net().features().Has(spec::VirtioFeature::kRingReset));
  }
};

TEST_P(WithoutRingReset, EveryNumberIsUsedAgain) {
  // Numbers are assigned in turn, so that each is used at least twice.
  const uint32_t rounds = 2 * std::max(config().num_qps, config().num_cqs) + 1;
  std::vector<uint32_t> uses(config().num_cqs);
  for (uint32_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Connect({.memory_bytes = 16384, .cqe = 16, .qp = {.max_send_wr = 16, .max_recv_wr = 16}});
    ASSERT_FALSE(HasFatalFailure());
    ++uses.at(near().cq->cqn());
    // So many that positions of the last object would show.
    for (uint64_t i = 0; i < 3; ++i) ExpectTraffic(10 * round + i);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GE(*std::ranges::max_element(uses), 2U);
}

TEST_P(WithoutRingReset, AQueuePairIsConnectedAgainAfterReset) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  for (uint64_t i = 0; i < 3; ++i) ExpectTraffic(i);
  PostRecv(1, 100, {far().region->Sge(0, kBytes)});  // is discarded
  for (size_t number = 0; number < 2; ++number) {
    const verbs::Status reset = side(number).qp->Modify({.qp_state = IbQpState::kReset}, spec::IbQpAttrMask::kState);
    ASSERT_TRUE(reset.ok()) << host::ToString(reset.error());
  }
  for (size_t number = 0; number < 2; ++number) {
    verbs::QueuePair::Connection connection;
    connection.dest_qpn = side(1 - number).qp->qpn();
    connection.path = system_->host(number).PathTo(system_->host(1 - number));
    ASSERT_TRUE(side(number).qp->Connect(connection).ok());
  }
  for (uint64_t i = 10; i < 13; ++i) ExpectTraffic(i);
}

TEST_P(WithoutRingReset, AKeptRingDoesNotGrow) {
  verbs::Device& device = system_->host(0).device();
  std::vector<uint32_t> first;
  for (uint32_t i = 0; i < config().num_cqs; ++i) {
    const auto cq = device.CreateCq(16, std::nullopt);
    ASSERT_TRUE(cq.ok()) << host::ToString(cq.error());
    first.push_back((*cq)->cqn());
  }
  const auto larger = device.CreateCq(32, std::nullopt);
  ASSERT_FALSE(larger.ok());
  EXPECT_EQ(larger.error().code, host::ErrorCode::kUnsupported);
  EXPECT_NE(host::ToString(larger.error()).find("holds at most 16"), std::string::npos)
      << host::ToString(larger.error());
  EXPECT_TRUE(device.CreateCq(8, std::nullopt).ok());
}

INSTANTIATE_TEST_SUITE_P(Devices, WithoutRingReset,
                         testing::Combine(testing::Values("model", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false, true)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
