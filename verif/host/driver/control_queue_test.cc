// SPDX-License-Identifier: Apache-2.0
// Control commands against the mock device: encoding, decoding, and all error cases.
#include <gtest/gtest.h>

#include <functional>

#include "host/driver/device.h"
#include "verif/host/driver/mock_device.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using spec::RdmaCtrlCmd;
using spec::RdmaError;

using Bytes = std::vector<uint8_t>;

template <typename Struct>
Bytes BytesOf(const Struct& value) {
  Bytes bytes(Struct::kBytes);
  value.Encode(bytes.data());
  return bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A structure in which adjacent bytes differ.
template <typename Struct>
Struct Patterned(uint8_t start) {
  uint8_t bytes[Struct::kBytes];
  for (size_t i = 0; i < Struct::kBytes; ++i) bytes[i] = static_cast<uint8_t>(start + i);
  return Struct::Decode(bytes);
}

struct ControlCase {
  spec::Profile profile;
  bool packed;
  bool event_idx;
  unsigned vectors;
};

class ControlTest : public testing::TestWithParam<ControlCase> {
 protected:
  void SetUp() override {
    MockDeviceOptions options;
    options.profile = GetParam().profile;
    options.offered = AllMockFeatures();
    options.vectors = GetParam().vectors;
    if (GetParam().packed) options.offered.set(static_cast<size_t>(spec::VirtioFeature::kRingPacked));
    if (vireo()) {  // reused by RoCE in rfc-v2
      options.offered.set(static_cast<size_t>(spec::NetFeature::kNotfCoal));
      options.offered.set(static_cast<size_t>(spec::NetFeature::kVqNotfCoal));
    }
    if (!GetParam().event_idx) options.offered.reset(static_cast<size_t>(spec::VirtioFeature::kRingEventIdx));
    mock_ = std::make_unique<MockDevice>(options);
    mock_->on_control = [this](const Bytes& request, uint64_t room) {
      requests_.push_back(request);
      rooms_.push_back(room);
      return answer_;
    };
    host::DeviceOptions device_options;
    device_options.wanted = host::DefaultFeatures();
    device_options.command_timeout_ns = 10'000;
    auto device = host::VirtioNetDevice::Open(*mock_, device_options);
    ASSERT_TRUE(device.ok()) << host::ToString(device.error());
    device_ = std::move(device).value();
    ASSERT_TRUE(device_->has_roce());
    requests_.clear();
    rooms_.clear();
  }
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(mock_->violations(), std::vector<std::string>());
    EXPECT_EQ(mock_->live_allocations(), 0U);
  }

  bool vireo() const { return GetParam().profile == spec::Profile::kVireo; }
  uint8_t roce_class() const { return spec::ConstantsOf(GetParam().profile).net_ctrl_class_roce; }
  host::RoceCommands& roce() { return device_->roce(); }
  host::NetCommands& net() { return *device_->net(); }

  // Checks the last command: class, number and request, with room for the ack and `response_bytes`.
  void ExpectSent(uint8_t ctrl_class, uint8_t command, const Bytes& request, uint64_t response_bytes) {
    ASSERT_EQ(requests_.size(), 1U);
    EXPECT_EQ(requests_[0], (Bytes{ctrl_class, command} + request));
    EXPECT_EQ(rooms_[0], 1 + response_bytes);
    requests_.clear();
    rooms_.clear();
  }
  void ExpectRoce(RdmaCtrlCmd command, const Bytes& request, uint64_t response_bytes) {
    ExpectSent(roce_class(), static_cast<uint8_t>(command), request, response_bytes);
    const spec::CommandInfo& info = spec::kNetCtrlRoceCommands[static_cast<size_t>(command)];
    EXPECT_EQ(info.response_bytes, response_bytes) << info.name;
    if (info.request_has_tail) {
      EXPECT_GE(request.size(), info.request_bytes) << info.name;
    } else {
      EXPECT_EQ(request.size(), info.request_bytes) << info.name;
    }
    seen_.insert(command);
  }
  template <typename Struct>
  void Answer(const Struct& response) {
    answer_ = Bytes{0} + BytesOf(response);
  }
  void Answer() { answer_ = {0}; }

  std::unique_ptr<MockDevice> mock_;
  std::unique_ptr<host::VirtioNetDevice> device_;
  std::vector<Bytes> requests_;
  std::vector<uint64_t> rooms_;
  Bytes answer_ = {0};
  std::set<RdmaCtrlCmd> seen_;
};

TEST_P(ControlTest, EveryRoceCommandEncodesRequestAndDecodesResponse) {
  const auto device_ack = Patterned<spec::RdmaAckQueryDevice>(1);
  Answer(device_ack);
  EXPECT_EQ(roce().QueryDevice().value(), device_ack);
  ExpectRoce(RdmaCtrlCmd::kQueryDevice, {}, spec::RdmaAckQueryDevice::kBytes);

  const auto port_ack = Patterned<spec::RdmaAckQueryPort>(2);
  Answer(port_ack);
  EXPECT_EQ(roce().QueryPort().value(), port_ack);
  ExpectRoce(RdmaCtrlCmd::kQueryPort, {}, spec::RdmaAckQueryPort::kBytes);

  Answer(spec::RdmaAckCreateCq{.cqn = 0x1234});
  EXPECT_EQ(roce().CreateCq(77).value(), 0x1234U);
  ExpectRoce(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 77}), 4);

  Answer();
  EXPECT_TRUE(roce().DestroyCq(5).ok());
  ExpectRoce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = 5}), 0);

  EXPECT_TRUE(roce().ReqNotifyCq(5, spec::IbNotifyFlags::kSolicited).ok());
  ExpectRoce(RdmaCtrlCmd::kReqNotifyCq,
             BytesOf(spec::RdmaCmdReqNotify{.cqn = 5, .flags = spec::IbNotifyFlags::kSolicited}), 0);

  Answer(spec::RdmaAckCreatePd{.pdn = 9});
  EXPECT_EQ(roce().CreatePd().value(), 9U);
  ExpectRoce(RdmaCtrlCmd::kCreatePd, {}, 4);

  Answer();
  EXPECT_TRUE(roce().DestroyPd(9).ok());
  ExpectRoce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = 9}), 0);

  const spec::RdmaAckGetDmaMr dma_ack{.mrn = 1, .lkey = 2, .rkey = 3};
  Answer(dma_ack);
  EXPECT_EQ(roce().GetDmaMr(9, 7).value(), dma_ack);
  ExpectRoce(RdmaCtrlCmd::kGetDmaMr, BytesOf(spec::RdmaCmdGetDmaMr{.pdn = 9, .access_flags = 7}), 12);

  const spec::RdmaAckRegUserMr mr_ack{.mrn = 4, .lkey = 5, .rkey = 6};
  Answer(mr_ack);
  spec::RdmaCmdRegUserMr mr;
  mr.pdn = 9;
  mr.access_flags = 3;
  mr.virt_addr = 0x1122'3344'5566'7788;
  mr.length = 8000;
  EXPECT_EQ(roce().RegUserMr(mr, std::vector<uint64_t>{0x8877'6655'4433'2000, 0x1000}).value(), mr_ack);
  mr.npages = 2;
  ExpectRoce(RdmaCtrlCmd::kRegUserMr,
             BytesOf(mr) + Bytes{0x00, 0x20, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0, 0x10, 0, 0, 0, 0, 0, 0}, 12);

  Answer();
  EXPECT_TRUE(roce().DeregMr(4).ok());
  ExpectRoce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = 4}), 0);

  auto create_qp = Patterned<spec::RdmaCmdCreateQp>(3);
  if (!vireo()) create_qp.has_srq = 0;
  Answer(spec::RdmaAckCreateQp{.qpn = 3});
  EXPECT_EQ(roce().CreateQp(create_qp).value(), 3U);
  ExpectRoce(RdmaCtrlCmd::kCreateQp, BytesOf(create_qp), 4);

  const auto modify_qp = Patterned<spec::RdmaCmdModifyQp>(4);
  Answer();
  EXPECT_TRUE(roce().ModifyQp(modify_qp).ok());
  ExpectRoce(RdmaCtrlCmd::kModifyQp, BytesOf(modify_qp), 0);

  const auto query_ack = Patterned<spec::RdmaAckQueryQp>(5);
  Answer(query_ack);
  EXPECT_EQ(roce().QueryQp(3, 0xff).value(), query_ack);
  ExpectRoce(RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = 3, .attr_mask = 0xff}),
             spec::RdmaAckQueryQp::kBytes);

  Answer();
  EXPECT_TRUE(roce().DestroyQp(3).ok());
  ExpectRoce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = 3}), 0);

  spec::RdmaCmdCreateAh create_ah;
  create_ah.pdn = 9;
  create_ah.ah_attr = Patterned<spec::RdmaAhAttr>(6);
  Answer(spec::RdmaAckCreateAh{.ah = 8});
  EXPECT_EQ(roce().CreateAh(9, create_ah.ah_attr).value(), 8U);
  ExpectRoce(RdmaCtrlCmd::kCreateAh, BytesOf(create_ah), 4);

  Answer();
  EXPECT_TRUE(roce().DestroyAh(9, 8).ok());
  ExpectRoce(RdmaCtrlCmd::kDestroyAh, BytesOf(spec::RdmaCmdDestroyAh{.pdn = 9, .ah = 8}), 0);

  spec::RdmaCmdAddGid gid;
  gid.index = 2;
  for (size_t i = 0; i < sizeof gid.gid; ++i) gid.gid[i] = static_cast<uint8_t>(i);
  EXPECT_TRUE(roce().AddGid(gid).ok());
  ExpectRoce(RdmaCtrlCmd::kAddGid, BytesOf(gid), 0);

  EXPECT_TRUE(roce().DelGid(2).ok());
  ExpectRoce(RdmaCtrlCmd::kDelGid, BytesOf(spec::RdmaCmdDelGid{.index = 2}), 0);

  spec::RdmaCmdSetWindow window;
  window.vq_index = 5;
  window.flags = spec::RdmaWindowFlags::kEnable;
  window.base = 0x1000;
  window.length = 0x2000;
  const host::Status set = roce().SetWindow(window);
  if (vireo()) {
    EXPECT_TRUE(set.ok());
    ExpectRoce(RdmaCtrlCmd::kSetWindow, BytesOf(window), 0);
  } else {
    EXPECT_EQ(set.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(requests_.empty());
  }
  if (vireo()) {
    const auto create_srq = Patterned<spec::RdmaCmdCreateSrq>(7);
    Answer(spec::RdmaAckCreateSrq{.srqn = 6});
    EXPECT_EQ(roce().CreateSrq(create_srq).value(), 6U);
    ExpectRoce(RdmaCtrlCmd::kCreateSrq, BytesOf(create_srq), spec::RdmaAckCreateSrq::kBytes);

    const auto modify_srq = Patterned<spec::RdmaCmdModifySrq>(8);
    Answer();
    EXPECT_TRUE(roce().ModifySrq(modify_srq).ok());
    ExpectRoce(RdmaCtrlCmd::kModifySrq, BytesOf(modify_srq), 0);

    const auto srq_ack = Patterned<spec::RdmaAckQuerySrq>(9);
    Answer(srq_ack);
    EXPECT_EQ(roce().QuerySrq(6).value(), srq_ack);
    ExpectRoce(RdmaCtrlCmd::kQuerySrq, BytesOf(spec::RdmaCmdQuerySrq{.srqn = 6}), spec::RdmaAckQuerySrq::kBytes);

    Answer();
    EXPECT_TRUE(roce().DestroySrq(6).ok());
    ExpectRoce(RdmaCtrlCmd::kDestroySrq, BytesOf(spec::RdmaCmdDestroySrq{.srqn = 6}), 0);

    const spec::RdmaAckAllocMw window_ack{.mwn = 4, .rkey = 0x456};
    Answer(window_ack);
    EXPECT_EQ(roce().AllocMw(9, spec::RdmaMwType::kType2).value(), window_ack);
    ExpectRoce(RdmaCtrlCmd::kAllocMw, BytesOf(spec::RdmaCmdAllocMw{.pdn = 9, .mw_type = spec::RdmaMwType::kType2}),
               spec::RdmaAckAllocMw::kBytes);

    Answer();
    EXPECT_TRUE(roce().DeallocMw(4).ok());
    ExpectRoce(RdmaCtrlCmd::kDeallocMw, BytesOf(spec::RdmaCmdDeallocMw{.mwn = 4}), 0);

    Answer(spec::RdmaAckCreateCq{.cqn = 0x1235});
    EXPECT_EQ(roce().CreateExtendedCq(78, 0x81).value(), 0x1235U);
    ExpectRoce(RdmaCtrlCmd::kCreateExtendedCq, BytesOf(spec::RdmaCmdCreateExtendedCq{.cqe = 78, .elements = 0x81}), 4);

    Answer(spec::RdmaAckQueryClock{.time_ns = 0x1234'5678'9abc});
    EXPECT_EQ(roce().QueryClock().value(), 0x1234'5678'9abcU);
    ExpectRoce(RdmaCtrlCmd::kQueryClock, {}, 8);

    const auto group = Patterned<spec::RdmaCmdAttachMcast>(12);
    Answer();
    EXPECT_TRUE(roce().AttachMcast(group.qpn, group.mgid).ok());
    ExpectRoce(RdmaCtrlCmd::kAttachMcast, BytesOf(group), 0);
    const auto left = Patterned<spec::RdmaCmdDetachMcast>(13);
    Answer();
    EXPECT_TRUE(roce().DetachMcast(left.qpn, left.mgid).ok());
    ExpectRoce(RdmaCtrlCmd::kDetachMcast, BytesOf(left), 0);

    const spec::RdmaAckAllocMr region_ack{.mrn = 4, .lkey = 0x456, .rkey = 0x457};
    Answer(region_ack);
    EXPECT_EQ(roce().AllocMr(9, 33).value(), region_ack);
    ExpectRoce(RdmaCtrlCmd::kAllocMr, BytesOf(spec::RdmaCmdAllocMr{.pdn = 9, .max_pages = 33}),
               spec::RdmaAckAllocMr::kBytes);

    const auto query_ack = Patterned<spec::RdmaAckQueryMr>(11);
    Answer(query_ack);
    EXPECT_EQ(roce().QueryMr(4).value(), query_ack);
    ExpectRoce(RdmaCtrlCmd::kQueryMr, BytesOf(spec::RdmaCmdQueryMr{.mrn = 4}), spec::RdmaAckQueryMr::kBytes);
  }
  auto change = Patterned<spec::RdmaCmdReregMr>(10);
  const spec::RdmaAckReregMr change_ack{.lkey = 7, .rkey = 8};
  Answer(change_ack);
  const auto changed = roce().ReregMr(change, std::vector<uint64_t>{0x8877'6655'4433'2000});
  if (vireo()) {
    EXPECT_EQ(changed.value(), change_ack);
    change.npages = 1;
    ExpectRoce(RdmaCtrlCmd::kReregMr, BytesOf(change) + Bytes{0x00, 0x20, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88},
               spec::RdmaAckReregMr::kBytes);
  } else {
    EXPECT_EQ(changed.error().code, ErrorCode::kUnsupported);
    EXPECT_TRUE(requests_.empty());
  }
  EXPECT_EQ(seen_.size(), spec::ConstantsOf(GetParam().profile).rdma_last_command + 1U)
      << "a command of the profile is missing";
}

TEST_P(ControlTest, RfcV2DoesNotSendVireoExtensions) {
  spec::RdmaCmdRegUserMr mr;
  mr.page_shift = 21;
  spec::RdmaCmdAddGid gid;
  gid.flags = spec::RdmaGidFlags::kVlanPresent;
  gid.vlan = 7;
  Answer(spec::RdmaAckRegUserMr{});
  const auto registered = roce().RegUserMr(mr, {});
  if (vireo()) {
    ASSERT_TRUE(registered.ok());
    EXPECT_EQ(requests_[0][2 + spec::RdmaCmdRegUserMr::kPageShiftOffset], 21);
    Answer();
    EXPECT_TRUE(roce().AddGid(gid).ok());
    EXPECT_EQ(requests_[1][2 + spec::RdmaCmdAddGid::kVlanOffset], 7);
    return;
  }
  EXPECT_EQ(registered.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(roce().AddGid(gid).error().code, ErrorCode::kUnsupported);
  gid = {};
  gid.gid_type = spec::RdmaGidType::kIbRoceV1;
  EXPECT_EQ(roce().AddGid(gid).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(requests_.empty());
  // Values that equal the default are sent as 0.
  mr.page_shift = spec::kRdmaPageShiftDefault;
  ASSERT_TRUE(roce().RegUserMr(mr, {}).ok());
  EXPECT_EQ(requests_[0][2 + spec::RdmaCmdRegUserMr::kPageShiftOffset], 0);
  gid.gid_type = spec::RdmaGidType::kRoceV2;
  Answer();
  ASSERT_TRUE(roce().AddGid(gid).ok());
  EXPECT_EQ(requests_[1][2 + spec::RdmaCmdAddGid::kGidTypeOffset], 0);
}

TEST_P(ControlTest, LongPageListUsesALargerBuffer) {
  std::vector<uint64_t> pages(70'000);
  for (size_t i = 0; i < pages.size(); ++i) pages[i] = i << 12;
  Answer(spec::RdmaAckRegUserMr{.mrn = 1, .lkey = 2, .rkey = 3});
  const auto ack = roce().RegUserMr({}, pages);
  ASSERT_TRUE(ack.ok()) << host::ToString(ack.error());
  EXPECT_EQ(ack->rkey, 3U);
  ASSERT_EQ(requests_[0].size(), 2 + spec::RdmaCmdRegUserMr::kBytes + 8 * pages.size());
  EXPECT_EQ(requests_[0][requests_[0].size() - 6], 69'999 >> 4 & 0xff);
  Answer(spec::RdmaAckCreatePd{.pdn = 1});
  EXPECT_TRUE(roce().CreatePd().ok());
}

TEST_P(ControlTest, RefusalHasReasonOnlyInVireo) {
  for (const RdmaError code : {RdmaError::kErr, RdmaError::kBadPdn, RdmaError::kHandleBusy, RdmaError::kNoFreePages}) {
    answer_ = {static_cast<uint8_t>(code)};
    const auto ack = roce().CreatePd();
    ASSERT_FALSE(ack.ok());
    EXPECT_EQ(ack.error().code, ErrorCode::kRefused);
    EXPECT_EQ(ack.error().rdma, vireo() ? code : RdmaError::kErr);
    EXPECT_NE(host::ToString(ack.error()).find("create_pd"), std::string::npos) << host::ToString(ack.error());
    EXPECT_NE(host::ToString(ack.error()).find(spec::ToString(ack.error().rdma)), std::string::npos);
  }
}

TEST_P(ControlTest, RefusalWithAckOnlyIsReported) {
  // A refusal has only the ack byte.
  answer_ = {static_cast<uint8_t>(RdmaError::kInternal)};
  EXPECT_EQ(roce().QueryDevice().error().code, ErrorCode::kRefused);
}

TEST_P(ControlTest, RefusalOfOtherClassesHasNoReason) {
  answer_ = {17};
  const host::Status status = net().AddVlan(1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_EQ(status.error().rdma, RdmaError::kErr);
}

TEST_P(ControlTest, AShortResponseIsAnError) {
  Answer(spec::RdmaAckQueryPort{});
  answer_.pop_back();
  EXPECT_EQ(roce().QueryPort().error().code, ErrorCode::kMisbehaved);
  Answer(spec::RdmaAckQueryPort{});
  EXPECT_TRUE(roce().QueryPort().ok()) << "the next command works";
}

TEST_P(ControlTest, AnAnswerWithoutAckIsAnError) {
  answer_ = {};
  EXPECT_EQ(roce().DestroyPd(1).error().code, ErrorCode::kMisbehaved);
  Answer();
  EXPECT_TRUE(roce().DestroyPd(1).ok());
}

TEST_P(ControlTest, UnwrittenAnswerIsNotSuccess) {
  answer_ = {};
  mock_->control_length = 1;
  EXPECT_EQ(roce().DestroyPd(1).error().code, ErrorCode::kRefused);
}

TEST_P(ControlTest, OversizedAnswerBreaksTheQueue) {
  mock_->control_length = 2;
  EXPECT_EQ(roce().DestroyPd(1).error().code, ErrorCode::kMisbehaved);
  mock_->control_length = -1;
  EXPECT_EQ(roce().DestroyPd(1).error().code, ErrorCode::kMisbehaved) << "broken until reset";
}

TEST_P(ControlTest, CommandTimesOutAndLateAnswerIsDiscarded) {
  mock_->unresponsive = true;
  const uint64_t start = mock_->NowNs();
  const auto pd = roce().CreatePd();
  ASSERT_FALSE(pd.ok());
  EXPECT_EQ(pd.error().code, ErrorCode::kTimeout);
  EXPECT_GE(mock_->NowNs() - start, 10'000U);
  EXPECT_LT(mock_->NowNs() - start, 20'000U);
  EXPECT_EQ(roce().DestroyPd(1).error().code, ErrorCode::kBadState) << "the first one is still outstanding";
  EXPECT_TRUE(requests_.empty());

  mock_->unresponsive = false;
  Answer(spec::RdmaAckCreatePd{.pdn = 111});
  mock_->Wait(0);
  ASSERT_EQ(requests_.size(), 1U);
  Answer(spec::RdmaAckCreatePd{.pdn = 222});
  EXPECT_EQ(roce().CreatePd().value(), 222U);
}

TEST_P(ControlTest, LostFunctionAbortsTheWait) {
  mock_->unresponsive = true;
  mock_->LoseFunction();
  EXPECT_EQ(roce().CreatePd().error().code, ErrorCode::kLost);
}

TEST_P(ControlTest, ManyConsecutiveCommands) {
  for (uint32_t i = 0; i < 70'000; ++i) {
    Answer(spec::RdmaAckCreatePd{.pdn = i});
    ASSERT_EQ(roce().CreatePd().value(), i);
  }
  requests_.clear();
}

TEST_P(ControlTest, NetCommandsEncodeTheirRequests) {
  using spec::NetCtrlClass;
  const auto number = [](auto value) { return static_cast<uint8_t>(value); };
  EXPECT_TRUE(net().SetQueuePairs(1).ok());
  ExpectSent(number(NetCtrlClass::kMq), number(spec::NetCtrlMqCmd::kVqPairsSet), {1, 0}, 0);
  EXPECT_TRUE(net().SetRxMode(spec::NetCtrlRxCmd::kPromisc, true).ok());
  ExpectSent(number(NetCtrlClass::kRx), number(spec::NetCtrlRxCmd::kPromisc), {1}, 0);
  EXPECT_TRUE(net().SetRxMode(spec::NetCtrlRxCmd::kNobcast, false).ok());
  ExpectSent(number(NetCtrlClass::kRx), number(spec::NetCtrlRxCmd::kNobcast), {0}, 0);
  const host::MacAddress a = {1, 2, 3, 4, 5, 6};
  const host::MacAddress b = {0x33, 0x33, 0, 0, 0, 1};
  EXPECT_TRUE(net().SetMacTable(std::vector<host::MacAddress>{a, b}, std::vector<host::MacAddress>{b}).ok());
  ExpectSent(number(NetCtrlClass::kMac), number(spec::NetCtrlMacCmd::kTableSet),
             {2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x33, 0x33, 0, 0, 0, 1, 1, 0, 0, 0, 0x33, 0x33, 0, 0, 0, 1}, 0);
  EXPECT_TRUE(net().SetMacTable({}, {}).ok());
  ExpectSent(number(NetCtrlClass::kMac), number(spec::NetCtrlMacCmd::kTableSet), {0, 0, 0, 0, 0, 0, 0, 0}, 0);
  EXPECT_TRUE(net().SetMacAddress(a).ok());
  ExpectSent(number(NetCtrlClass::kMac), number(spec::NetCtrlMacCmd::kAddrSet), {1, 2, 3, 4, 5, 6}, 0);
  EXPECT_TRUE(net().AddVlan(0x123).ok());
  ExpectSent(number(NetCtrlClass::kVlan), number(spec::NetCtrlVlanCmd::kAdd), {0x23, 0x01}, 0);
  EXPECT_TRUE(net().DeleteVlan(0x123).ok());
  ExpectSent(number(NetCtrlClass::kVlan), number(spec::NetCtrlVlanCmd::kDel), {0x23, 0x01}, 0);
  EXPECT_EQ(net().AcknowledgeAnnounce().error().code, ErrorCode::kUnsupported) << "guest_announce is not offered";
  EXPECT_TRUE(requests_.empty());

  using Direction = host::NetCommands::Direction;
  const spec::NetCtrlCoal coalescing{.max_packets = 0x0a0b, .max_usecs = 0x01020304};
  if (vireo()) {
    EXPECT_TRUE(net().SetCoalescing(Direction::kTransmit, coalescing).ok());
    ExpectSent(number(NetCtrlClass::kNotfCoal), number(spec::NetCtrlNotfCoalCmd::kTxSet),
               {0x0b, 0x0a, 0, 0, 4, 3, 2, 1}, 0);
    EXPECT_TRUE(net().SetCoalescing(Direction::kReceive, coalescing).ok());
    ExpectSent(number(NetCtrlClass::kNotfCoal), number(spec::NetCtrlNotfCoalCmd::kRxSet),
               {0x0b, 0x0a, 0, 0, 4, 3, 2, 1}, 0);
    EXPECT_TRUE(net().SetQueueCoalescing(0x1234, coalescing).ok());
    ExpectSent(number(NetCtrlClass::kNotfCoal), number(spec::NetCtrlNotfCoalCmd::kVqSet),
               {0x34, 0x12, 0, 0, 0x0b, 0x0a, 0, 0, 4, 3, 2, 1}, 0);
  } else {
    EXPECT_EQ(net().SetCoalescing(Direction::kTransmit, coalescing).error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(net().SetQueueCoalescing(0, coalescing).error().code, ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(requests_.empty());
}

std::string NameOf(const testing::TestParamInfo<ControlCase>& info) {
  return std::string(info.param.profile == spec::Profile::kVireo ? "Vireo" : "RfcV2") +
         (info.param.packed ? "Packed" : "Split") + (info.param.event_idx ? "EventIdx" : "") + "Vectors" +
         std::to_string(info.param.vectors);
}
INSTANTIATE_TEST_SUITE_P(Devices, ControlTest,
                         testing::Values(ControlCase{spec::Profile::kVireo, false, true, 8},
                                         ControlCase{spec::Profile::kVireo, true, true, 8},
                                         ControlCase{spec::Profile::kVireo, false, false, 0},
                                         ControlCase{spec::Profile::kVireo, true, false, 1},
                                         ControlCase{spec::Profile::kRfcV2, false, true, 2},
                                         ControlCase{spec::Profile::kRfcV2, true, false, 0}),
                         NameOf);

}  // namespace
}  // namespace vireo::sim
