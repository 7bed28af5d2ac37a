// SPDX-License-Identifier: Apache-2.0
// The PCI transport against the mock device: valid and invalid capability lists, initialization, configuration, and
// queues.
#include <gtest/gtest.h>

#include "host/driver/packed_ring.h"
#include "host/driver/split_ring.h"
#include "host/driver/virtio_pci.h"
#include "verif/host/driver/mock_device.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using host::FeatureSet;
using host::VirtioPci;
using spec::NetFeature;
using spec::PciHeader;
using spec::VirtioFeature;
using spec::VirtioPciCap;
using DeviceStatus = spec::VirtioDeviceStatus;

constexpr uint64_t kTimeoutNs = 1'000'000;

MockDeviceOptions GoodOptions() {
  MockDeviceOptions options;
  options.offered = AllMockFeatures();
  return options;
}

// --- Capability list -------------------------------------------------------------------------------------------------

class CapabilityWalk : public testing::Test {
 protected:
  uint8_t& Byte(size_t at) { return device_.config_space()[at]; }
  void Put32(size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) Byte(at + i) = static_cast<uint8_t>(value >> (8 * i));
  }
  void ExpectRefused(const std::string& why) {
    const auto layout = host::FindVirtioLayout(device_);
    ASSERT_FALSE(layout.ok());
    EXPECT_EQ(layout.error().code, ErrorCode::kNoDevice);
    EXPECT_NE(layout.error().text.find(why), std::string::npos) << layout.error().text;
    EXPECT_EQ(device_.violations(), std::vector<std::string>());
  }

  MockDevice device_{GoodOptions()};
  static constexpr size_t kCommon = spec::kPciCapAtCommonCfg;
  static constexpr size_t kNotify = spec::kPciCapAtNotifyCfg;
  static constexpr size_t kIsr = spec::kPciCapAtIsrCfg;
  static constexpr size_t kDevice = spec::kPciCapAtDeviceCfg;
};

TEST_F(CapabilityWalk, FindsTheRegionsOfTheContract) {
  const auto layout = host::FindVirtioLayout(device_);
  ASSERT_TRUE(layout.ok()) << host::ToString(layout.error());
  EXPECT_EQ(layout->common.bar, spec::kBarVirtio);
  EXPECT_EQ(layout->common.offset, spec::kBarVirtioCommonCfg);
  EXPECT_EQ(layout->common.length, spec::kBarVirtioCfgBytes);
  EXPECT_EQ(layout->notify.offset, spec::kBarVirtioNotify);
  EXPECT_EQ(layout->notify.length, spec::kBarVirtioNotifyBytes);
  EXPECT_EQ(layout->isr.offset, spec::kBarVirtioIsrCfg);
  EXPECT_EQ(layout->device.offset, spec::kBarVirtioDeviceCfg);
  EXPECT_EQ(layout->notify_off_multiplier, spec::kNotifyOffMultiplier);
  EXPECT_EQ(device_.violations(), std::vector<std::string>());
}

TEST_F(CapabilityWalk, AnotherVendorOrDeviceIsRefused) {
  Byte(PciHeader::kVendorIdOffset) = 0x86;
  ExpectRefused("is not a modern virtio-net device");
}

TEST_F(CapabilityWalk, ATransitionalDeviceIsRefused) {
  Byte(PciHeader::kDeviceIdOffset) = static_cast<uint8_t>(spec::kPciDeviceIdTransitional);
  Byte(PciHeader::kDeviceIdOffset + 1) = static_cast<uint8_t>(spec::kPciDeviceIdTransitional >> 8);
  ExpectRefused("is not a modern virtio-net device");
}

TEST_F(CapabilityWalk, AFunctionWithoutCapabilitiesIsRefused) {
  Byte(PciHeader::kStatusOffset) = 0;
  ExpectRefused("no capability list");
}

TEST_F(CapabilityWalk, AnEmptyListIsRefused) {
  Byte(PciHeader::kCapabilitiesPointerOffset) = 0;
  ExpectRefused("no usable capability common_cfg");
}

TEST_F(CapabilityWalk, LoopIsRefused) {
  Byte(spec::kPciCapAtPm + 1) = spec::kPciCapAtMsix;
  ExpectRefused("loops at 0x98");
}

TEST_F(CapabilityWalk, SelfReferenceIsRefused) {
  Byte(kCommon + VirtioPciCap::kCapNextOffset) = kCommon;
  ExpectRefused("loops at 0x40");
}

TEST_F(CapabilityWalk, APointerIntoTheHeaderIsRefused) {
  Byte(kIsr + VirtioPciCap::kCapNextOffset) = 0x3c;
  ExpectRefused("points to 0x3c");
}

TEST_F(CapabilityWalk, TheLowBitsOfPointersAreReserved) {
  Byte(PciHeader::kCapabilitiesPointerOffset) |= 3;
  Byte(kCommon + VirtioPciCap::kCapNextOffset) |= 3;
  EXPECT_TRUE(host::FindVirtioLayout(device_).ok());
}

TEST_F(CapabilityWalk, VendorCapabilityAtEndOfSpaceIsNotOverread) {
  Byte(spec::kPciCapAtPm + 1) = 0xfc;
  Byte(0xfc) = static_cast<uint8_t>(spec::PciCapabilityId::kVendorSpecific);
  Byte(0xfd) = 0;
  EXPECT_TRUE(host::FindVirtioLayout(device_).ok());  // skipped: valid ones precede it
  EXPECT_EQ(device_.violations(), std::vector<std::string>());
}

TEST_F(CapabilityWalk, ALengthBelowTheStructureIsRefused) {
  Byte(kCommon + VirtioPciCap::kCapLenOffset) = VirtioPciCap::kBytes - 1;
  ExpectRefused("no usable capability common_cfg; common_cfg at 0x40: cap_len 15 is below 16");
}

TEST_F(CapabilityWalk, ANotifyCapabilityWithoutMultiplierIsRefused) {
  Byte(kNotify + VirtioPciCap::kCapLenOffset) = VirtioPciCap::kBytes;
  ExpectRefused("notify_cfg at 0x50: cap_len 16 is below 20");
}

TEST_F(CapabilityWalk, ALongerCapabilityIsAccepted) {
  Byte(kCommon + VirtioPciCap::kCapLenOffset) = 24;
  EXPECT_TRUE(host::FindVirtioLayout(device_).ok());
}

TEST_F(CapabilityWalk, ALengthBeyondTheConfigurationSpaceIsRefused) {
  Byte(kDevice + VirtioPciCap::kCapLenOffset) = 0xff;
  ExpectRefused("device_cfg at 0x74: ends beyond the configuration space");
}

TEST_F(CapabilityWalk, AReservedBarIsRefused) {
  Byte(kIsr + VirtioPciCap::kBarOffset) = 6;
  ExpectRefused("isr_cfg at 0x64: reserved BAR 6");
}

TEST_F(CapabilityWalk, ABarThatDoesNotExistIsRefused) {
  Byte(kIsr + VirtioPciCap::kBarOffset) = 4;
  ExpectRefused("isr_cfg at 0x64: BAR 4 does not exist");
}

TEST_F(CapabilityWalk, ARegionBeyondItsBarIsRefused) {
  Put32(kDevice + VirtioPciCap::kOffsetOffset, spec::kBarVirtioBytes - 4);
  Put32(kDevice + VirtioPciCap::kLengthOffset, 8);
  ExpectRefused("device_cfg at 0x74: 0x1fffffc + 0x8 is beyond BAR 0");
}

TEST_F(CapabilityWalk, AnOffsetThatOverflowsIsRefused) {
  Put32(kDevice + VirtioPciCap::kOffsetOffset, 0xffff'fffc);
  Put32(kDevice + VirtioPciCap::kLengthOffset, 0xffff'ffff);
  ExpectRefused("is beyond BAR 0");
}

TEST_F(CapabilityWalk, ATooShortCommonConfigurationIsRefused) {
  Put32(kCommon + VirtioPciCap::kLengthOffset, 55);
  ExpectRefused("common_cfg at 0x40: length 55 is below 56");
}

TEST_F(CapabilityWalk, ACommonConfigurationOfVirtio10IsAccepted) {
  Put32(kCommon + VirtioPciCap::kLengthOffset, 56);
  EXPECT_TRUE(host::FindVirtioLayout(device_).ok());
}

TEST_F(CapabilityWalk, AMisalignedOffsetIsRefused) {
  Put32(kCommon + VirtioPciCap::kOffsetOffset, 2);
  ExpectRefused("common_cfg at 0x40: offset 0x2 is not aligned");
}

TEST_F(CapabilityWalk, MultiplierMustBeAPowerOfTwo) {
  Put32(kNotify + spec::VirtioPciNotifyCap::kNotifyOffMultiplierOffset, 12);
  ExpectRefused("notify_off_multiplier 12");
}

TEST_F(CapabilityWalk, AMultiplierOfOneIsRefused) {
  Put32(kNotify + spec::VirtioPciNotifyCap::kNotifyOffMultiplierOffset, 1);
  ExpectRefused("notify_off_multiplier 1");
}

TEST_F(CapabilityWalk, FirstValidCapabilityIsUsed) {
  // The window capability becomes a second device_cfg; the first one is invalid.
  Byte(kDevice + VirtioPciCap::kBarOffset) = 7;
  Byte(spec::kPciCapAtPciCfg + VirtioPciCap::kCfgTypeOffset) = static_cast<uint8_t>(spec::VirtioPciCfgType::kDeviceCfg);
  Put32(spec::kPciCapAtPciCfg + VirtioPciCap::kOffsetOffset, 0x3000);
  Put32(spec::kPciCapAtPciCfg + VirtioPciCap::kLengthOffset, 0x100);
  auto layout = host::FindVirtioLayout(device_);
  ASSERT_TRUE(layout.ok()) << host::ToString(layout.error());
  EXPECT_EQ(layout->device.offset, 0x3000U);
  Byte(kDevice + VirtioPciCap::kBarOffset) = 0;
  layout = host::FindVirtioLayout(device_);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->device.offset, spec::kBarVirtioDeviceCfg);
}

TEST_F(CapabilityWalk, MissingCapabilityIsNamed) {
  Byte(kNotify + VirtioPciCap::kCfgTypeOffset) = 0x77;
  ExpectRefused("no usable capability notify_cfg");
}

TEST_F(CapabilityWalk, LostFunctionIsReported) {
  device_.LoseFunction();
  const auto layout = host::FindVirtioLayout(device_);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, ErrorCode::kLost);
}

TEST_F(CapabilityWalk, RandomListsTerminateWithoutViolation) {
  std::vector<uint8_t> good = device_.config_space();
  uint32_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    device_.config_space() = good;
    for (int i = 0; i < 6; ++i) {
      state = state * 1664525 + 1013904223;
      Byte(PciHeader::kCapabilitiesPointerOffset + (state >> 8) % (256 - PciHeader::kCapabilitiesPointerOffset)) =
          static_cast<uint8_t>(state >> 24);
    }
    const auto layout = host::FindVirtioLayout(device_);
    if (!layout.ok()) {
      ASSERT_EQ(layout.error().code, ErrorCode::kNoDevice);
      continue;
    }
    for (const host::BarRegion& region : {layout->common, layout->notify, layout->isr, layout->device}) {
      ASSERT_LE(region.offset + region.length, device_.BarBytes(region.bar));
    }
  }
  EXPECT_EQ(device_.violations(), std::vector<std::string>());
}

// --- States ----------------------------------------------------------------------------------------------------------

class Transport : public testing::Test {
 protected:
  // A device with these options, reset and acknowledged.
  VirtioPci& Start(const MockDeviceOptions& options) {
    device_ = std::make_unique<MockDevice>(options);
    pci_.emplace(VirtioPci::Open(*device_).value());
    EXPECT_TRUE(pci_->Reset(kTimeoutNs).ok());
    pci_->Acknowledge();
    return *pci_;
  }
  void TearDown() override {
    ASSERT_NE(device_, nullptr);
    EXPECT_EQ(device_->violations(), std::vector<std::string>());
  }

  std::unique_ptr<MockDevice> device_;
  std::optional<VirtioPci> pci_;
  const FeatureSet kBasic = {VirtioFeature::kVersion1, VirtioFeature::kRingReset, NetFeature::kMac};
};

TEST_F(Transport, HandshakeFollowsTheStateSequence) {
  VirtioPci& pci = Start(GoodOptions());
  EXPECT_TRUE(device_->bus_master());
  EXPECT_EQ(device_->status(), DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
  ASSERT_TRUE(pci.AcceptFeatures(kBasic, spec::Profile::kVireo).ok());
  EXPECT_EQ(pci.features(), kBasic);
  EXPECT_TRUE(device_->accepted()[static_cast<size_t>(VirtioFeature::kVersion1)]);
  EXPECT_EQ(device_->accepted().count(), 3U);
  EXPECT_EQ(device_->status(), DeviceStatus::kAcknowledge | DeviceStatus::kDriver | DeviceStatus::kFeaturesOk);
  pci.DriverOk();
  EXPECT_EQ(device_->status(),
            DeviceStatus::kAcknowledge | DeviceStatus::kDriver | DeviceStatus::kFeaturesOk | DeviceStatus::kDriverOk);
  EXPECT_TRUE(pci.Reset(kTimeoutNs).ok());
  EXPECT_EQ(device_->status(), 0);
  EXPECT_TRUE(pci.features().empty());
}

TEST_F(Transport, FeaturesOfAllFourWindowsAreRead) {
  MockDeviceOptions options = GoodOptions();
  for (const size_t bit : std::initializer_list<size_t>{0, 31, 63, 64, 70, 95, 96, 127}) options.offered.set(bit);
  VirtioPci& pci = Start(options);
  const FeatureSet offered = pci.OfferedFeatures();
  for (const uint8_t bit : std::initializer_list<uint8_t>{0, 31, 63, 64, 70, 95, 96, 127}) {
    EXPECT_TRUE(offered.Has(host::Feature(bit))) << int{bit};
  }
  EXPECT_FALSE(offered.Has(host::Feature(uint8_t{65})));
  FeatureSet accepted = kBasic;
  accepted.Add(host::Feature(uint8_t{64}));
  accepted.Add(host::Feature(uint8_t{127}));
  ASSERT_TRUE(pci.AcceptFeatures(accepted, spec::Profile::kVireo).ok());
  EXPECT_TRUE(device_->accepted()[64]);
  EXPECT_TRUE(device_->accepted()[127]);
  EXPECT_EQ(device_->accepted().count(), 5U);
}

TEST_F(Transport, FeaturesThatAreNotOfferedAreNotSent) {
  MockDeviceOptions options = GoodOptions();
  options.offered.reset(static_cast<size_t>(NetFeature::kMac));
  VirtioPci& pci = Start(options);
  const host::Status status = pci.AcceptFeatures(kBasic, spec::Profile::kVireo);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().text, "the device does not offer mac");
  EXPECT_TRUE(device_->accepted().none());
}

TEST_F(Transport, RefusedFeaturesAreAnError) {
  MockDeviceOptions options = GoodOptions();
  options.refuse_features = true;
  VirtioPci& pci = Start(options);
  const host::Status status = pci.AcceptFeatures(kBasic, spec::Profile::kVireo);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_NE(status.error().text.find("mac version_1 ring_reset"), std::string::npos) << status.error().text;
  EXPECT_TRUE(pci.features().empty());
  pci.Fail();
  EXPECT_NE(device_->status() & DeviceStatus::kFailed, 0);
}

TEST_F(Transport, AFeatureWithoutItsRegisterIsRefused) {
  MockDeviceOptions options = GoodOptions();
  device_ = std::make_unique<MockDevice>(options);
  device_->common_length = spec::VirtioPciCommonCfg::kQueueResetOffset;
  device_->config_space()[spec::kPciCapAtCommonCfg + VirtioPciCap::kLengthOffset] =
      spec::VirtioPciCommonCfg::kQueueResetOffset;
  device_->config_space()[spec::kPciCapAtCommonCfg + VirtioPciCap::kLengthOffset + 1] = 0;
  pci_.emplace(VirtioPci::Open(*device_).value());
  ASSERT_TRUE(pci_->Reset(kTimeoutNs).ok());
  pci_->Acknowledge();
  const host::Status status = pci_->AcceptFeatures(kBasic, spec::Profile::kVireo);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(status.error().text.find("ring_reset"), std::string::npos);
}

TEST_F(Transport, ResetTimesOut) {
  device_ = std::make_unique<MockDevice>(GoodOptions());
  device_->never_resets = true;
  pci_.emplace(VirtioPci::Open(*device_).value());
  pci_->Acknowledge();
  const uint64_t start = device_->NowNs();
  const host::Status status = pci_->Reset(kTimeoutNs);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
  EXPECT_GE(device_->NowNs() - start, kTimeoutNs);
  EXPECT_LT(device_->NowNs() - start, 2 * kTimeoutNs);
}

TEST_F(Transport, LostFunctionAbortsEveryWait) {
  VirtioPci& pci = Start(GoodOptions());
  device_->LoseFunction();
  EXPECT_EQ(pci.Reset(kTimeoutNs).error().code, ErrorCode::kLost);
  EXPECT_EQ(pci.AcceptFeatures({}, spec::Profile::kVireo).error().code, ErrorCode::kLost);
  EXPECT_EQ(pci.ReadDeviceConfig<spec::NetConfig>(0).error().code, ErrorCode::kLost);
}

// --- Device configuration --------------------------------------------------------------------------------------------

TEST_F(Transport, DeviceConfigurationIsReadWithFieldWidths) {
  VirtioPci& pci = Start(GoodOptions());
  const auto config = pci.ReadDeviceConfig<spec::NetConfig>(0);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(*config, device_->net_config());
  const auto rdma = pci.ReadDeviceConfig<spec::NetConfigRdma>(spec::kVireoConstants.net_config_rdma_offset);
  ASSERT_TRUE(rdma.ok());
  EXPECT_EQ(rdma->max_rdma_qps, 4U);
}

TEST_F(Transport, AChangingConfigurationIsReadAgain) {
  VirtioPci& pci = Start(GoodOptions());
  device_->unstable_reads = 23;
  const auto config = pci.ReadDeviceConfig<spec::NetConfig>(0);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(*config, device_->net_config());
  EXPECT_EQ(device_->unstable_reads, 0U);
}

TEST_F(Transport, EverChangingConfigurationIsAnError) {
  VirtioPci& pci = Start(GoodOptions());
  device_->unstable_reads = 1'000'000;
  EXPECT_EQ(pci.ReadDeviceConfig<spec::NetConfig>(0).error().code, ErrorCode::kMisbehaved);
}

TEST_F(Transport, AConfigurationBeyondTheRegionIsNotRead) {
  VirtioPci& pci = Start(GoodOptions());
  EXPECT_EQ(pci.ReadDeviceConfig<spec::NetConfig>(spec::kBarVirtioCfgBytes - 27).error().code, ErrorCode::kUnsupported);
}

// --- Queues ----------------------------------------------------------------------------------------------------------

class TransportQueues : public Transport {
 protected:
  VirtioPci& Bring(MockDeviceOptions options, std::initializer_list<host::Feature> more = {}) {
    VirtioPci& pci = Start(options);
    FeatureSet accepted = kBasic;
    for (const host::Feature feature : more) accepted.Add(feature);
    EXPECT_TRUE(pci.AcceptFeatures(accepted, spec::Profile::kVireo).ok());
    return pci;
  }
  std::unique_ptr<host::Virtqueue> Ring(uint16_t size) { return host::SplitRing::Create(*device_, size, {}).value(); }
};

TEST_F(TransportQueues, EnableWritesRingAndVector) {
  VirtioPci& pci = Bring(GoodOptions());
  EXPECT_EQ(pci.NumQueues(), 2 + 1 + 4 + 8 + 1);
  EXPECT_EQ(pci.MaxQueueSize(1).value(), 256);
  const auto ring = Ring(64);
  const host::Status enabled = pci.EnableQueue(1, *ring, 3);
  ASSERT_TRUE(enabled.ok()) << host::ToString(enabled.error());
  const MockDevice::Queue& queue = device_->queue(1);
  EXPECT_TRUE(queue.enabled);
  EXPECT_EQ(queue.size, 64);
  EXPECT_EQ(queue.vector, 3);
  EXPECT_EQ(queue.descriptors, ring->addresses().descriptors);
  EXPECT_EQ(queue.driver, ring->addresses().driver);
  EXPECT_EQ(queue.device, ring->addresses().device);
  EXPECT_EQ(pci.EnableQueue(1, *ring, 3).error().code, ErrorCode::kBadState);
}

TEST_F(TransportQueues, InvalidQueueSizeAndVectorAreRefused) {
  MockDeviceOptions options = GoodOptions();
  options.device_vectors = 4;
  VirtioPci& pci = Bring(options);
  EXPECT_EQ(pci.MaxQueueSize(16).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(pci.DoorbellOf(16).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(pci.EnableQueue(16, *Ring(4), 0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(pci.EnableQueue(0, *Ring(512), 0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(pci.EnableQueue(0, *Ring(4), 4).error().code, ErrorCode::kRefused);
  EXPECT_FALSE(device_->queue(0).enabled);
  EXPECT_EQ(pci.SetConfigVector(4).error().code, ErrorCode::kRefused);
  EXPECT_TRUE(pci.SetConfigVector(3).ok());
  EXPECT_TRUE(pci.SetConfigVector(std::nullopt).ok());
}

TEST_F(TransportQueues, AnUnavailableQueueHasNoSize) {
  MockDeviceOptions options = GoodOptions();
  options.max_queue_size = 0;
  VirtioPci& pci = Bring(options);
  EXPECT_EQ(pci.MaxQueueSize(0).error().code, ErrorCode::kUnsupported);
}

TEST_F(TransportQueues, AQueueIsResetAndEnabledAgain) {
  VirtioPci& pci = Bring(GoodOptions());
  const auto ring = Ring(16);
  ASSERT_TRUE(pci.EnableQueue(2, *ring, std::nullopt).ok());
  pci.DriverOk();
  const host::DmaBuffer memory = device_->AllocateDma(64, 64).value();
  const host::Segment segment{memory->address(), 64};
  std::vector<host::Token> expected;
  for (host::Token token = 0; token < 10; ++token) {
    ASSERT_TRUE(ring->Add({}, {&segment, 1}, token).ok());
    expected.push_back(token);
  }
  ring->Publish();
  const host::Status reset = pci.ResetQueue(2, kTimeoutNs);
  ASSERT_TRUE(reset.ok()) << host::ToString(reset.error());
  EXPECT_FALSE(device_->queue(2).enabled);
  EXPECT_EQ(ring->Detach(), expected);
  EXPECT_TRUE(ring->Detach().empty());
  ASSERT_TRUE(pci.EnableQueue(2, *ring, std::nullopt).ok());
  EXPECT_TRUE(device_->queue(2).enabled);
}

TEST_F(TransportQueues, QueueResetTimesOut) {
  VirtioPci& pci = Bring(GoodOptions());
  const auto ring = Ring(16);
  ASSERT_TRUE(pci.EnableQueue(0, *ring, std::nullopt).ok());
  device_->never_resets = true;
  const uint64_t start = device_->NowNs();
  EXPECT_EQ(pci.ResetQueue(0, 30'000).error().code, ErrorCode::kTimeout);
  EXPECT_GE(device_->NowNs() - start, 30'000U);
}

TEST_F(TransportQueues, WithoutRingResetAQueueCannotBeResetAlone) {
  VirtioPci& pci = Start(GoodOptions());
  ASSERT_TRUE(pci.AcceptFeatures({VirtioFeature::kVersion1}, spec::Profile::kVireo).ok());
  EXPECT_EQ(pci.ResetQueue(0, kTimeoutNs).error().code, ErrorCode::kUnsupported);
}

TEST_F(TransportQueues, TheDoorbellIsAtTheQueuesPageAndCarriesItsIndex) {
  VirtioPci& pci = Bring(GoodOptions());
  const auto ring = Ring(16);
  ASSERT_TRUE(pci.EnableQueue(5, *ring, std::nullopt).ok());
  pci.DriverOk();
  const host::Doorbell doorbell = pci.DoorbellOf(5).value();
  EXPECT_EQ(doorbell.bar(), spec::kBarVirtio);
  EXPECT_EQ(doorbell.offset(), spec::kBarVirtioNotify + 5U * spec::kNotifyOffMultiplier);
  doorbell.Ring(*ring);
  EXPECT_EQ(device_->queue(5).doorbells, 1U);
  EXPECT_EQ(device_->queue(5).last_doorbell, 5U);
}

TEST_F(TransportQueues, NotificationDataCarriesThePosition) {
  MockDeviceOptions options = GoodOptions();
  options.offered.set(static_cast<size_t>(VirtioFeature::kNotificationData));
  options.offered.set(static_cast<size_t>(VirtioFeature::kNotifConfigData));
  VirtioPci& pci = Bring(options, {VirtioFeature::kNotificationData, VirtioFeature::kNotifConfigData});
  const auto ring = Ring(16);
  ASSERT_TRUE(pci.EnableQueue(5, *ring, std::nullopt).ok());
  pci.DriverOk();
  const host::DmaBuffer memory = device_->AllocateDma(64, 64).value();
  const host::Segment segment{memory->address(), 64};
  for (host::Token token = 0; token < 3; ++token) ASSERT_TRUE(ring->Add({&segment, 1}, {}, token).ok());
  ring->Publish();
  pci.DoorbellOf(5).value().Ring(*ring);
  EXPECT_EQ(device_->queue(5).last_doorbell, 3U << 16 | 1005U);  // the mock's queue_notif_config_data is index + 1000
}

// Address, words in order, then the end, which names the place. [docs/decisions/0029]
TEST_F(TransportQueues, PushWritesAddressWordsAndEnd) {
  MockDeviceOptions options = GoodOptions();
  options.offered.set(static_cast<size_t>(VirtioFeature::kRingPacked));
  VirtioPci& pci = Bring(options, {});
  const auto ring = Ring(16);
  ASSERT_TRUE(pci.EnableQueue(5, *ring, std::nullopt).ok());
  pci.DriverOk();
  const host::DmaBuffer memory = device_->AllocateDma(64, 64).value();
  const host::Segment segment{memory->address(), 19};
  for (host::Token token = 0; token < 3; ++token) ASSERT_TRUE(ring->Add({&segment, 1}, {}, token).ok());
  ring->Publish();
  std::vector<uint8_t> request(19);
  for (size_t i = 0; i < request.size(); ++i) request[i] = static_cast<uint8_t>(i + 1);
  pci.DoorbellOf(5).value().Push(*ring, memory->address(), request);
  const auto place = ring->NewestPlace();
  EXPECT_EQ(place.position, 2U);
  using Write = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(device_->queue(5).pushed, (std::vector<Write>{{64, memory->address()},
                                                          {72, 0x0807060504030201},
                                                          {80, 0x100f0e0d0c0b0a09},
                                                          {88, 0x131211},
                                                          {8, 2 | uint64_t{place.head} << 16 | uint64_t{19} << 32}}));
  EXPECT_EQ(device_->queue(5).doorbells, 0U);
}

TEST_F(TransportQueues, ADoorbellOutsideTheRegionIsRefused) {
  device_ = std::make_unique<MockDevice>(GoodOptions());
  // The region ends in the middle of queue 3's doorbell.
  const uint32_t length = 3 * spec::kNotifyOffMultiplier + 1;
  for (size_t i = 0; i < 4; ++i) {
    device_->config_space()[spec::kPciCapAtNotifyCfg + VirtioPciCap::kLengthOffset + i] =
        static_cast<uint8_t>(length >> (8 * i));
  }
  pci_.emplace(VirtioPci::Open(*device_).value());
  EXPECT_TRUE(pci_->DoorbellOf(2).ok());
  EXPECT_EQ(pci_->DoorbellOf(3).error().code, ErrorCode::kMisbehaved);
}

TEST_F(TransportQueues, ArmingACqSendsItsPositionAndFlags) {
  MockDeviceOptions options = GoodOptions();
  options.offered.set(static_cast<size_t>(VirtioFeature::kRingPacked));
  for (const bool packed : {false, true}) {
    VirtioPci& pci = packed ? Bring(options, {VirtioFeature::kRingPacked}) : Bring(options);
    const auto ring = packed ? host::PackedRing::Create(*device_, 16, {}).value() : Ring(16);
    ASSERT_TRUE(pci.EnableQueue(4, *ring, std::nullopt).ok());
    pci.DriverOk();
    const host::DmaBuffer memory = device_->AllocateDma(64, 64).value();
    const host::Segment segment{memory->address(), 48};
    for (host::Token token = 0; token < 3; ++token) {
      ASSERT_TRUE(ring->Add({}, {&segment, 1}, token).ok());
      ring->Publish();
      const MockChain chain = device_->queue(4).ring->Fetch().value();
      device_->UseChain(4, chain, 48);
      ASSERT_TRUE(ring->Harvest().value().has_value());
    }
    const host::Doorbell doorbell = pci.DoorbellOf(4).value();
    doorbell.ArmCq(*ring, spec::IbNotifyFlags::kSolicited);
    doorbell.ArmCq(*ring, spec::IbNotifyFlags::kNextCompletion);
    ASSERT_EQ(device_->queue(4).arms.size(), 2U);
    const auto seen = static_cast<uint16_t>(packed ? 0x8003 : 3);
    EXPECT_EQ(spec::RdmaCqArm::FromWord(device_->queue(4).arms[0]),
              (spec::RdmaCqArm{.seen_used_idx = seen, .solicited = true, .next_completion = false, .reserved = 0}));
    EXPECT_EQ(spec::RdmaCqArm::FromWord(device_->queue(4).arms[1]),
              (spec::RdmaCqArm{.seen_used_idx = seen, .solicited = false, .next_completion = true, .reserved = 0}));
  }
}

// --- Features --------------------------------------------------------------------------------------------------------

TEST(Features, RequirementsMatchTheContract) {
  using host::FindUnmetRequirement;
  EXPECT_FALSE(FindUnmetRequirement({}, spec::Profile::kVireo).has_value());
  EXPECT_FALSE(FindUnmetRequirement({NetFeature::kMq, NetFeature::kCtrlVq}, spec::Profile::kVireo).has_value());
  const auto unmet = FindUnmetRequirement({NetFeature::kMq}, spec::Profile::kVireo);
  ASSERT_TRUE(unmet.has_value());
  EXPECT_EQ(unmet->feature.bit, static_cast<uint8_t>(NetFeature::kMq));
  EXPECT_EQ(unmet->needs, FeatureSet{NetFeature::kCtrlVq});
  EXPECT_TRUE(FindUnmetRequirement({NetFeature::kHostEcn, NetFeature::kCsum}, spec::Profile::kVireo).has_value());
  EXPECT_FALSE(
      FindUnmetRequirement({NetFeature::kHostEcn, NetFeature::kHostTso6, NetFeature::kCsum}, spec::Profile::kVireo)
          .has_value());
}

TEST(Features, RoceRequirementsDependOnTheProfile) {
  using host::FindUnmetRequirement;
  FeatureSet set = {VirtioFeature::kVersion1, NetFeature::kCtrlVq};
  set.Add(host::Feature(spec::kVireoConstants.net_f_roce));
  EXPECT_TRUE(FindUnmetRequirement(set, spec::Profile::kVireo).has_value());
  set.Add(VirtioFeature::kRingReset);
  EXPECT_FALSE(FindUnmetRequirement(set, spec::Profile::kVireo).has_value());
  set.Remove(NetFeature::kCtrlVq);
  EXPECT_TRUE(FindUnmetRequirement(set, spec::Profile::kVireo).has_value());

  FeatureSet rfc = {VirtioFeature::kVersion1, NetFeature::kCtrlVq};
  rfc.Add(host::Feature(spec::kRfcV2Constants.net_f_roce));
  EXPECT_FALSE(FindUnmetRequirement(rfc, spec::Profile::kRfcV2).has_value());
  // In the other profile the same bit is guest_uso6, which requires guest_csum.
  EXPECT_TRUE(FindUnmetRequirement(rfc, spec::Profile::kVireo).has_value());
}

TEST(Features, NamesMatchTheContract) {
  FeatureSet set = {NetFeature::kMac, VirtioFeature::kAdminVq};
  set.Add(host::Feature(uint8_t{55}));
  set.Add(host::Feature(uint8_t{58}));
  set.Add(host::Feature(uint8_t{100}));
  EXPECT_EQ(host::NamesOf(set, spec::Profile::kVireo), "mac admin_vq guest_uso6 net_f_roce bit_100");
  EXPECT_EQ(host::NamesOf(set, spec::Profile::kRfcV2), "mac admin_vq net_f_roce bit_58 bit_100");
}

}  // namespace
}  // namespace vireo::sim
