// SPDX-License-Identifier: Apache-2.0
// The whole driver against the mock device: initialization in both profiles, frames, events, queues of CQs and QPs, and
// recovery.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host/driver/device.h"
#include "sim/common/seed.h"
#include "verif/host/driver/mock_device.h"

namespace vireo::sim {
namespace {

using host::DeviceEvent;
using host::DeviceOptions;
using host::ErrorCode;
using host::VirtioNetDevice;
using spec::NetFeature;
using spec::VirtioFeature;
using DeviceStatus = spec::VirtioDeviceStatus;

class DeviceTest : public testing::Test {
 protected:
  DeviceTest() {
    mock_options_.offered = AllMockFeatures();
    options_.wanted = host::DefaultFeatures();
    options_.reset_timeout_ns = options_.command_timeout_ns = 100'000;
  }
  void Offer(host::Feature feature, bool on = true) { mock_options_.offered.set(feature.bit, on); }

  void MakeMock() {
    device_.reset();
    mock_ = std::make_unique<MockDevice>(mock_options_);
  }
  host::Status TryOpen() {
    if (mock_ == nullptr) MakeMock();
    auto device = VirtioNetDevice::Open(*mock_, options_);
    if (!device.ok()) return device.error();
    device_ = std::move(device).value();
    return {};
  }
  void Open() {
    const host::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << host::ToString(status.error());
  }
  void ExpectRefused(ErrorCode code, const std::string& why) {
    const host::Status status = TryOpen();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code) << host::ToString(status.error());
    EXPECT_NE(status.error().text.find(why), std::string::npos) << status.error().text;
    EXPECT_EQ(mock_->live_allocations(), 0U);
  }
  void TearDown() override {
    device_.reset();
    if (mock_ == nullptr) return;
    EXPECT_EQ(mock_->violations(), std::vector<std::string>());
    EXPECT_EQ(mock_->live_allocations(), 0U);
  }

  MockDeviceOptions mock_options_;
  DeviceOptions options_;
  std::unique_ptr<MockDevice> mock_;
  std::unique_ptr<VirtioNetDevice> device_;
};

// --- Bringing up -----------------------------------------------------------------------------------------------------

TEST_F(DeviceTest, OpenEnablesAllQueues) {
  Open();
  EXPECT_EQ(mock_->status(),
            DeviceStatus::kAcknowledge | DeviceStatus::kDriver | DeviceStatus::kFeaturesOk | DeviceStatus::kDriverOk);
  EXPECT_EQ(device_->profile(), spec::Profile::kVireo);
  EXPECT_TRUE(device_->has_roce());
  EXPECT_EQ(device_->rdma_config().max_rdma_qps, 4U);
  EXPECT_TRUE(device_->features().Has(VirtioFeature::kRingReset));
  for (const unsigned index : {0U, 1U, mock_->control_index(), mock_->event_index()}) {
    EXPECT_TRUE(mock_->queue(index).enabled) << index;
  }
  EXPECT_FALSE(mock_->queue(3).enabled);
  // Receive and event buffers are posted.
  EXPECT_EQ(mock_->queue(0).ring->AvailableEnd(), 256U);
  EXPECT_EQ(mock_->queue(mock_->event_index()).ring->AvailableEnd(), 64U);
}

TEST_F(DeviceTest, DestructorResetsTheDevice) {
  Open();
  device_.reset();
  EXPECT_EQ(mock_->status(), 0);
}

TEST_F(DeviceTest, ResetTimeoutDisablesBusMastering) {
  Open();
  mock_->never_resets = true;
  device_.reset();
  EXPECT_FALSE(mock_->bus_master());
}

TEST_F(DeviceTest, ProfileFollowsTheFeatureBit) {
  mock_options_.profile = spec::Profile::kRfcV2;
  Open();
  EXPECT_EQ(device_->profile(), spec::Profile::kRfcV2);
  EXPECT_TRUE(device_->has_roce());
  EXPECT_EQ(device_->rdma_config().max_rdma_cqs, 4U);
  EXPECT_EQ(mock_->num_queues(), 3U + 4 + 8);  // no event queue
  EXPECT_TRUE(mock_->accepted()[spec::kRfcV2Constants.net_f_roce]);
  EXPECT_FALSE(device_->PollEvent().value().has_value());
}

TEST_F(DeviceTest, ProfileCanBeRequired) {
  options_.profile = spec::Profile::kRfcV2;
  options_.roce = DeviceOptions::Roce::kRequired;
  ExpectRefused(ErrorCode::kUnsupported, "no RoCE of the requested profile");
  EXPECT_EQ(mock_->status(), DeviceStatus::kFailed);
}

TEST_F(DeviceTest, GuestUso6IsNotMistakenForRfcV2) {
  // A device without RoCE: bit 55 is virtio's, and there are no RoCE limits at the RFC's offset.
  mock_options_.roce = false;
  Offer(NetFeature::kGuestUso6);
  Offer(NetFeature::kGuestCsum);
  Open();
  EXPECT_FALSE(device_->has_roce());
  EXPECT_FALSE(device_->features().Has(NetFeature::kGuestUso6));
  EXPECT_EQ(device_->profile(), spec::Profile::kVireo);
  device_.reset();
  // With tunnel types at the offset of max_rdma_qps.
  mock_.reset();
  Offer(NetFeature::kHashTunnel);
  MakeMock();
  mock_->net_config().supported_tunnel_types = 0x1ff;
  Open();
  EXPECT_FALSE(device_->has_roce());
}

TEST_F(DeviceTest, ReusedFeatureBitDistinguishesStockDeviceFromRfcV2) {
  // With hash_tunnel it is a device without RoCE, whatever the bytes of the limits are.
  mock_options_.profile = spec::Profile::kRfcV2;
  mock_options_.roce = false;
  Offer(NetFeature::kGuestUso6);
  Offer(NetFeature::kHashTunnel);
  MakeMock();
  mock_->rdma_config() = {.max_rdma_qps = 4, .max_rdma_cqs = 4};
  Open();
  EXPECT_FALSE(device_->has_roce());
}

TEST_F(DeviceTest, RoceCanBeDisabled) {
  options_.roce = DeviceOptions::Roce::kOff;
  Open();
  EXPECT_FALSE(device_->has_roce());
  EXPECT_FALSE(mock_->accepted()[spec::kVireoConstants.net_f_roce]);
  EXPECT_NE(device_->net(), nullptr);
}

TEST_F(DeviceTest, RoceCanBeRequired) {
  mock_options_.roce = false;
  options_.roce = DeviceOptions::Roce::kRequired;
  ExpectRefused(ErrorCode::kUnsupported, "offers no RoCE");
}

TEST_F(DeviceTest, RoceWithoutRingResetIsRefusedInVireo) {
  Offer(VirtioFeature::kRingReset, false);
  ExpectRefused(ErrorCode::kUnsupported, "ring_reset");
}

TEST_F(DeviceTest, RoceWithoutRingResetIsAcceptedInRfcV2) {
  mock_options_.profile = spec::Profile::kRfcV2;
  Offer(VirtioFeature::kRingReset, false);
  Open();
  EXPECT_TRUE(device_->has_roce());
}

TEST_F(DeviceTest, IllegalRoceLimitsAreRefused) {
  MakeMock();
  mock_->rdma_config().max_rdma_qps = spec::kRdmaQpsMax + 1U;
  ExpectRefused(ErrorCode::kMisbehaved, "16385 QPs");
  mock_->rdma_config() = {.max_rdma_qps = 4, .max_rdma_cqs = 0};
  ExpectRefused(ErrorCode::kMisbehaved, "0 CQs");
}

TEST_F(DeviceTest, ADeviceWithTooFewQueuesIsRefused) {
  MakeMock();
  mock_->override_num_queues = 15;
  ExpectRefused(ErrorCode::kMisbehaved, "the device reports 15 queues, but its configuration needs 16");
  mock_->override_num_queues = 0;
  Open();
}

TEST_F(DeviceTest, LegacyDevicesAreRefused) {
  Offer(VirtioFeature::kVersion1, false);
  ExpectRefused(ErrorCode::kUnsupported, "does not offer version_1");
}

TEST_F(DeviceTest, ARefusedHandshakeLeavesTheDeviceFailed) {
  mock_options_.refuse_features = true;
  ExpectRefused(ErrorCode::kRefused, "refuses this set of features");
  EXPECT_EQ(mock_->status(), DeviceStatus::kFailed);
}

TEST_F(DeviceTest, RequiredFeatureAddsItsDependencies) {
  options_.wanted = {};
  options_.roce = DeviceOptions::Roce::kOff;
  options_.required = {NetFeature::kMq};
  Open();
  EXPECT_TRUE(device_->features().Has(NetFeature::kCtrlVq));
}

TEST_F(DeviceTest, RequiredFeatureWithMissingDependencyIsRefused) {
  options_.required = {NetFeature::kMq};
  options_.roce = DeviceOptions::Roce::kOff;
  Offer(NetFeature::kCtrlVq, false);
  ExpectRefused(ErrorCode::kUnsupported, "mq is required and needs ctrl_vq");
}

TEST_F(DeviceTest, WantedFeatureWithMissingDependencyIsDropped) {
  options_.roce = DeviceOptions::Roce::kOff;
  Offer(NetFeature::kCtrlVq, false);
  Open();
  EXPECT_FALSE(device_->features().Has(NetFeature::kMq));
  EXPECT_FALSE(device_->features().Has(NetFeature::kCtrlMacAddr));
  EXPECT_EQ(device_->net(), nullptr);
}

TEST_F(DeviceTest, UnknownFeatureIsRefused) {
  options_.wanted.Add(NetFeature::kRss);
  ExpectRefused(ErrorCode::kInvalidArgument, "does not support rss");
}

TEST_F(DeviceTest, QueueIndicesDependOnPairCount) {
  mock_options_.net_pairs = 4;
  options_.queue_pairs = 3;
  std::vector<std::vector<uint8_t>> requests;
  MakeMock();
  mock_->on_control = [&](const std::vector<uint8_t>& request, uint64_t) {
    requests.push_back(request);
    return std::vector<uint8_t>{0};
  };
  Open();
  EXPECT_EQ(device_->queue_pairs(), 3);
  for (unsigned index = 0; index < 6; ++index) EXPECT_TRUE(mock_->queue(index).enabled);
  EXPECT_FALSE(mock_->queue(6).enabled);
  EXPECT_EQ(mock_->control_index(), 8U);
  EXPECT_TRUE(mock_->queue(8).enabled);
  EXPECT_EQ(device_->CompletionQueueIndex(0).value(), 9);
  EXPECT_EQ(device_->CompletionQueueIndex(3).value(), 12);
  EXPECT_EQ(device_->SendQueueIndex(0).value(), 13);
  EXPECT_EQ(device_->ReceiveQueueIndex(0).value(), 14);
  EXPECT_EQ(device_->SendQueueIndex(3).value(), 19);
  EXPECT_EQ(device_->ReceiveQueueIndex(3).value(), 20);
  EXPECT_EQ(mock_->event_index(), 21U);
  EXPECT_TRUE(mock_->queue(21).enabled);
  EXPECT_EQ(device_->CompletionQueueIndex(4).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device_->SendQueueIndex(4).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device_->ReceiveQueueIndex(4).error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0], (std::vector<uint8_t>{4, 0, 3, 0}));
}

TEST_F(DeviceTest, WithoutMqQueueIndicesCountOnePair) {
  mock_options_.net_pairs = 4;
  Offer(NetFeature::kMq, false);
  Open();
  EXPECT_EQ(mock_->control_index(), 2U);
  EXPECT_TRUE(mock_->queue(2).enabled);
  EXPECT_EQ(device_->CompletionQueueIndex(0).value(), 3);
}

TEST_F(DeviceTest, MorePairsThanTheDeviceHasAreRefused) {
  options_.queue_pairs = 2;
  ExpectRefused(ErrorCode::kUnsupported, "2 queue pairs requested, the device has 1");
}

TEST_F(DeviceTest, QueueSizesAreLimitedByFormatAndDevice) {
  mock_options_.max_queue_size = 100;
  Open();
  EXPECT_EQ(mock_->queue(0).size, 64);
  device_.reset();
  mock_.reset();
  Offer(VirtioFeature::kRingPacked);
  Open();
  EXPECT_EQ(mock_->queue(0).size, 100);
}

TEST_F(DeviceTest, VectorsAreSpread) {
  mock_options_.vectors = 4;
  Open();
  EXPECT_EQ(device_->vectors(), 4);
  EXPECT_EQ(mock_->config_vector(), 0);
  EXPECT_EQ(mock_->queue(mock_->control_index()).vector, 1);
  EXPECT_EQ(mock_->queue(mock_->event_index()).vector, 1);
  EXPECT_EQ(mock_->queue(0).vector, 2);
  EXPECT_EQ(device_->SpreadVector(0), 2);
  EXPECT_EQ(device_->SpreadVector(1), 3);
  EXPECT_EQ(device_->SpreadVector(2), 2);
}

TEST_F(DeviceTest, FewVectorsAreShared) {
  for (const unsigned vectors : {0U, 1U, 2U}) {
    mock_.reset();
    mock_options_.vectors = vectors;
    Open();
    const uint16_t last = vectors == 0 ? spec::kVirtioMsiNoVector : static_cast<uint16_t>(vectors - 1);
    EXPECT_EQ(mock_->config_vector(), vectors == 0 ? spec::kVirtioMsiNoVector : 0);
    EXPECT_EQ(mock_->queue(mock_->control_index()).vector, last);
    EXPECT_EQ(mock_->queue(0).vector, last);
    EXPECT_TRUE(device_->net()->AddVlan(1).ok());
    device_.reset();
    EXPECT_EQ(mock_->violations(), std::vector<std::string>());
  }
}

TEST_F(DeviceTest, RefusedVectorIsAnError) {
  mock_options_.device_vectors = 2;
  ExpectRefused(ErrorCode::kRefused, "no resources for vector 2");
}

TEST_F(DeviceTest, ALostFunctionIsReported) {
  MakeMock();
  mock_->LoseFunction();
  const host::Status status = TryOpen();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kLost);
}

// --- Frames ----------------------------------------------------------------------------------------------------------

struct FrameCase {
  bool packed;
  bool event_idx;
  bool mergeable;
  unsigned vectors;
};

class FrameTest : public DeviceTest, public testing::WithParamInterface<FrameCase> {
 protected:
  void OpenFor(uint32_t max_frame_bytes) {
    Offer(VirtioFeature::kRingPacked, GetParam().packed);
    Offer(VirtioFeature::kRingEventIdx, GetParam().event_idx);
    Offer(NetFeature::kMrgRxbuf, GetParam().mergeable);
    mock_options_.vectors = GetParam().vectors;
    options_.max_frame_bytes = max_frame_bytes;
    options_.mergeable_buffer_bytes = 1000;
    Open();
  }
  std::vector<uint8_t> Frame(size_t bytes) {
    std::vector<uint8_t> frame(bytes);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random_());
    return frame;
  }
  host::Result<std::optional<host::ReceivedFrame>> ReceiveOne() { return device_->Receive(0, mock_->NowNs() + 50'000); }

  std::mt19937_64 random_ = MakeRandom("frames");
};

TEST_P(FrameTest, FramesOfEverySizeLoopBackUnchanged) {
  OpenFor(9000);
  for (size_t bytes = 60; bytes <= 9000; bytes += bytes < 2100 ? 1 : 97) {
    const std::vector<uint8_t> frame = Frame(bytes);
    spec::NetHdr header;
    header.flags = spec::NetHdrFlags::kNeedsCsum;
    header.csum_start = static_cast<uint16_t>(bytes);
    const host::Status sent = device_->transmit(0).Send(frame, header);
    ASSERT_TRUE(sent.ok()) << host::ToString(sent.error());
    const auto received = ReceiveOne();
    ASSERT_TRUE(received.ok()) << host::ToString(received.error());
    ASSERT_TRUE(received->has_value()) << bytes;
    EXPECT_EQ((*received)->bytes, frame);
    EXPECT_EQ((*received)->header.csum_start, bytes);
    const auto buffers = static_cast<uint16_t>(GetParam().mergeable ? (bytes + spec::NetHdr::kBytes + 999) / 1000 : 1);
    EXPECT_EQ((*received)->header.num_buffers, buffers);
  }
  for (const size_t bytes : {size_t{8999}, size_t{9000}}) {
    const std::vector<uint8_t> frame = Frame(bytes);
    ASSERT_TRUE(device_->transmit(0).Send(frame).ok());
    EXPECT_EQ(ReceiveOne().value().value().bytes, frame);
  }
}

TEST_P(FrameTest, ManyFramesInFlightKeepTheirOrder) {
  OpenFor(1514);
  uint64_t sent = 0;
  uint64_t received = 0;
  while (received < 30'000) {
    for (uint64_t burst = 1 + random_() % 40; burst > 0; --burst) {
      std::vector<uint8_t> frame = Frame(60 + random_() % 1400);
      for (size_t i = 0; i < 8; ++i) frame[i] = static_cast<uint8_t>(sent >> (8 * i));
      ASSERT_TRUE(device_->transmit(0).Send(frame).ok());
      ++sent;
    }
    mock_->Wait(0);
    for (;;) {
      const auto frame = device_->receive(0).Receive();
      ASSERT_TRUE(frame.ok()) << host::ToString(frame.error());
      if (!frame->has_value()) break;
      uint64_t number = 0;
      for (size_t i = 0; i < 8; ++i) number |= uint64_t{(*frame)->bytes[i]} << (8 * i);
      ASSERT_EQ(number, received);
      ++received;
    }
    ASSERT_EQ(received, sent);
  }
  EXPECT_EQ(device_->transmit(0).Reclaim().value(), 0);
}

TEST_P(FrameTest, ReceiveWaitsUntilItsDeadline) {
  OpenFor(1514);
  const uint64_t start = mock_->NowNs();
  const auto frame = device_->Receive(0, start + 30'000);
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(frame->has_value());
  EXPECT_GE(mock_->NowNs(), start + 30'000);
  EXPECT_LT(mock_->NowNs(), start + 60'000);
}

TEST_P(FrameTest, FramesThatDoNotFitAreRefused) {
  OpenFor(1514);
  EXPECT_EQ(device_->transmit(0).Send(Frame(9999)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device_->transmit(0).Send({}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(device_->transmit(0).Send(Frame(1514)).ok());
}

TEST_P(FrameTest, FullTransmitQueueReturnsNoSpaceAndRecovers) {
  OpenFor(1514);
  mock_->unresponsive = true;
  const uint16_t size = mock_->queue(1).size;
  for (uint16_t i = 0; i < size; ++i) ASSERT_TRUE(device_->transmit(0).Send(Frame(60)).ok());
  EXPECT_EQ(device_->transmit(0).Send(Frame(60)).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(device_->transmit(0).Reclaim().value(), size);
  mock_->unresponsive = false;
  mock_->loopback = false;
  mock_->Wait(0);
  EXPECT_TRUE(device_->transmit(0).Send(Frame(60)).ok());
}

TEST_P(FrameTest, InvalidPacketHeaderBreaksTheQueueUntilRestart) {
  OpenFor(1514);
  for (const uint16_t lie : {uint16_t{0}, uint16_t{257}, uint16_t{0xffff}}) {
    mock_->on_receive_header = [lie](spec::NetHdr& header) { header.num_buffers = lie; };
    const std::vector<uint8_t> frame = Frame(100);
    ASSERT_TRUE(device_->transmit(0).Send(frame).ok());
    const auto received = ReceiveOne();
    if (!GetParam().mergeable) {
      // Ignored without mrg_rxbuf.
      EXPECT_EQ(received.value().value().bytes, frame);
      continue;
    }
    ASSERT_FALSE(received.ok());
    EXPECT_EQ(received.error().code, ErrorCode::kMisbehaved);
    EXPECT_EQ(ReceiveOne().error().code, ErrorCode::kMisbehaved) << "broken until it is restarted";
    const host::Status restarted = device_->RestartPair(0);
    ASSERT_TRUE(restarted.ok()) << host::ToString(restarted.error());
    mock_->on_receive_header = nullptr;
    ASSERT_TRUE(device_->transmit(0).Send(frame).ok());
    EXPECT_EQ(ReceiveOne().value().value().bytes, frame);
  }
}

TEST_P(FrameTest, APacketWithoutHeaderIsRefused) {
  OpenFor(1514);
  MockDevice::Queue& queue = mock_->queue(0);
  const MockChain chain = queue.ring->Fetch().value();
  mock_->UseChain(0, chain, spec::NetHdr::kBytes);
  EXPECT_EQ(ReceiveOne().error().code, ErrorCode::kMisbehaved);
}

TEST_P(FrameTest, ABrokenRingRestarts) {
  OpenFor(1514);
  mock_->queue(0).ring->UseRaw(0xfffe, 0, 1);
  EXPECT_EQ(ReceiveOne().error().code, ErrorCode::kMisbehaved);
  ASSERT_TRUE(device_->RestartPair(0).ok());
  for (int i = 0; i < 1000; ++i) {
    const std::vector<uint8_t> frame = Frame(100);
    ASSERT_TRUE(device_->transmit(0).Send(frame).ok());
    ASSERT_EQ(ReceiveOne().value().value().bytes, frame);
  }
}

TEST_P(FrameTest, RestartWithFramesInFlightLeaksNoBuffer) {
  OpenFor(1514);
  for (int round = 0; round < 5; ++round) {
    mock_->unresponsive = true;
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(device_->transmit(0).Send(Frame(60)).ok());
    ASSERT_TRUE(device_->RestartPair(0).ok());
    mock_->unresponsive = false;
    EXPECT_EQ(device_->transmit(0).Reclaim().value(), 0);
    EXPECT_EQ(mock_->queue(0).ring->AvailableEnd(), mock_->queue(0).size);
  }
}

TEST_P(FrameTest, PacketInSeveralBuffersIsReassembled) {
  if (!GetParam().mergeable) return;
  OpenFor(3000);
  const std::vector<uint8_t> frame = Frame(2500);
  spec::NetHdr header;
  header.num_buffers = 3;
  std::vector<uint8_t> packet(spec::NetHdr::kBytes);
  header.Encode(packet.data());
  packet.insert(packet.end(), frame.begin(), frame.end());
  size_t done = 0;
  while (done < packet.size()) {
    EXPECT_FALSE(device_->receive(0).Receive().value().has_value());
    const MockChain chain = mock_->queue(0).ring->Fetch().value();
    const size_t step = std::min<size_t>(1000, packet.size() - done);
    std::copy_n(packet.begin() + static_cast<ptrdiff_t>(done), step, mock_->At(chain.segments[0].address, step));
    mock_->UseChain(0, chain, static_cast<uint32_t>(step));
    done += step;
  }
  EXPECT_EQ(device_->receive(0).Receive().value().value().bytes, frame);
}

std::string NameOf(const testing::TestParamInfo<FrameCase>& info) {
  return std::string(info.param.packed ? "Packed" : "Split") + (info.param.event_idx ? "EventIdx" : "") +
         (info.param.mergeable ? "Mergeable" : "") + "Vectors" + std::to_string(info.param.vectors);
}
INSTANTIATE_TEST_SUITE_P(Devices, FrameTest,
                         testing::Values(FrameCase{false, false, false, 8}, FrameCase{false, true, false, 8},
                                         FrameCase{false, true, true, 8}, FrameCase{true, false, true, 8},
                                         FrameCase{true, true, false, 8}, FrameCase{true, true, true, 8},
                                         FrameCase{false, false, true, 0}, FrameCase{true, false, true, 1}),
                         NameOf);

// --- Queues on demand ------------------------------------------------------------------------------------------------

TEST_F(DeviceTest, AQueueIsOpenedStoppedAndRestarted) {
  Open();
  const uint16_t index = device_->CompletionQueueIndex(2).value();
  auto opened = device_->OpenQueue(index, 32, device_->SpreadVector(1), 0);
  ASSERT_TRUE(opened.ok()) << host::ToString(opened.error());
  host::Queue queue = std::move(opened).value();
  EXPECT_TRUE(mock_->queue(index).enabled);
  EXPECT_EQ(mock_->queue(index).vector, 3);
  const host::DmaBuffer memory = device_->function().AllocateDma(4096, 64).value();
  for (int round = 0; round < 3; ++round) {
    std::vector<host::Token> expected;
    for (host::Token token = 0; token < 20; ++token) {
      const host::Segment segment{memory->address() + token * 48, spec::RdmaCqReq::kBytes};
      ASSERT_TRUE(queue.ring->Add({}, {&segment, 1}, token).ok());
      expected.push_back(token);
    }
    queue.Kick();
    mock_->Wait(0);
    ASSERT_EQ(mock_->queue(index).chains.size(), 20U);
    mock_->UseChain(index, mock_->queue(index).chains[4], 48);
    ASSERT_EQ(queue.ring->Harvest().value().value().token, 4U);
    std::erase(expected, 4U);
    const auto stopped = device_->StopQueue(queue, false);
    ASSERT_TRUE(stopped.ok()) << host::ToString(stopped.error());
    EXPECT_EQ(*stopped, expected);
    EXPECT_FALSE(mock_->queue(index).enabled);
    ASSERT_TRUE(device_->RestartQueue(queue).ok());
  }
  EXPECT_TRUE(device_->StopQueue(queue, false).value().empty());
}

TEST_F(DeviceTest, AQueueCannotBeOpenedTwiceOrWithAnUnusedVector) {
  Open();
  const uint16_t index = device_->SendQueueIndex(1).value();
  auto queue = device_->OpenQueue(index, 8, std::nullopt, 0);
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(device_->OpenQueue(index, 8, std::nullopt, 0).error().code, ErrorCode::kBadState);
  EXPECT_EQ(device_->OpenQueue(index, 7, std::nullopt, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(device_->OpenQueue(index, 8, 8, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(device_->StopQueue(*queue, false).ok());
}

TEST_F(DeviceTest, RfcV2WithoutRingResetDestroyFreesTheQueue) {
  mock_options_.profile = spec::Profile::kRfcV2;
  Offer(VirtioFeature::kRingReset, false);
  Open();
  const uint16_t index = device_->CompletionQueueIndex(0).value();
  auto queue = device_->OpenQueue(index, 8, std::nullopt, 0);
  ASSERT_TRUE(queue.ok());
  const host::DmaBuffer memory = device_->function().AllocateDma(4096, 64).value();
  const host::Segment segment{memory->address(), 48};
  ASSERT_TRUE(queue->ring->Add({}, {&segment, 1}, 5).ok());
  EXPECT_EQ(device_->StopQueue(*queue, false).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(device_->StopQueue(*queue, true).value(), std::vector<host::Token>{5});
  device_.reset();
}

// --- Events ----------------------------------------------------------------------------------------------------------

class EventTest : public DeviceTest, public testing::WithParamInterface<unsigned> {
 protected:
  void SetUp() override {
    mock_options_.vectors = GetParam();
    Open();
    // Discard events of the initialization.
    EXPECT_FALSE(device_->PollEvent().value().has_value());
  }
};

TEST_P(EventTest, RdmaEventsAreInOrderAndBuffersAreReused) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    for (uint32_t burst = 0; burst < 1 + i % 5; ++burst) {
      ASSERT_TRUE(
          mock_->SendEvent({.event_type = spec::RdmaEventType::kQpFatal, .element = next++, .code = 131, .lost = 0}));
    }
    for (uint32_t burst = 1 + i % 5; burst > 0; --burst) {
      const auto event = device_->PollEvent();
      ASSERT_TRUE(event.ok()) << host::ToString(event.error());
      ASSERT_TRUE(event->has_value());
      EXPECT_EQ((*event)->kind, DeviceEvent::Kind::kRdma);
      EXPECT_EQ((*event)->rdma.element, next - burst);
      EXPECT_EQ((*event)->rdma.event_type, spec::RdmaEventType::kQpFatal);
      EXPECT_EQ((*event)->rdma.code, 131U);
    }
    ASSERT_FALSE(device_->PollEvent().value().has_value());
  }
}

TEST_P(EventTest, AShortEventIsAnError) {
  MockDevice::Queue& queue = mock_->queue(mock_->event_index());
  const MockChain chain = queue.ring->Fetch().value();
  mock_->UseChain(mock_->event_index(), chain, spec::RdmaEvent::kBytes - 1);
  EXPECT_EQ(device_->PollEvent().error().code, ErrorCode::kMisbehaved);
}

TEST_P(EventTest, ConfigChangeIsReportedOnce) {
  mock_->ChangeConfig();
  EXPECT_EQ(device_->PollEvent().value().value().kind, DeviceEvent::Kind::kConfigChanged);
  EXPECT_EQ(device_->ReadNetConfig().value().status & spec::NetStatus::kLinkUp, 0);
  EXPECT_FALSE(device_->PollEvent().value().has_value());
  mock_->ChangeConfig();
  EXPECT_EQ(device_->PollEvent().value().value().kind, DeviceEvent::Kind::kConfigChanged);
}

TEST_P(EventTest, NeedsResetIsReportedOnce) {
  mock_->NeedReset();
  EXPECT_EQ(device_->PollEvent().value().value().kind, DeviceEvent::Kind::kNeedsReset);
  EXPECT_FALSE(device_->PollEvent().value().has_value());
}

TEST_P(EventTest, CommandsAndFramesLoseNoEvents) {
  mock_->ChangeConfig();
  EXPECT_TRUE(device_->net()->AddVlan(1).ok());
  ASSERT_TRUE(device_->transmit(0).Send(std::vector<uint8_t>(60)).ok());
  EXPECT_TRUE(device_->Receive(0, mock_->NowNs() + 10'000).value().has_value());
  EXPECT_EQ(device_->PollEvent().value().value().kind, DeviceEvent::Kind::kConfigChanged);
}

INSTANTIATE_TEST_SUITE_P(Vectors, EventTest, testing::Values(0U, 1U, 2U, 8U));

}  // namespace
}  // namespace vireo::sim
