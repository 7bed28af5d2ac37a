// SPDX-License-Identifier: Apache-2.0
// nic1_rc, whose features are switched off: it offers none of them, refuses commands for them, and does nothing for a
// driver that uses them nevertheless. What it has works: cases of the other tests run on it, too (CMakeLists.txt).
#include <gtest/gtest.h>

#include "sim/traffic/net_frame.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::NetFeature;
using spec::VirtioFeature;

constexpr uint64_t kTimeoutNs = kSecondNs / 1000;

class Switches : public PairTest {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(Build()); }
  host::VirtioNetDevice& net(size_t number) { return system_->host(number).device().net(); }
  void WriteCommon(size_t field, unsigned bytes, uint32_t value) {
    system_->host(0).function().WriteBar(spec::kBarVirtio, spec::kBarVirtioCommonCfg + field, bytes, value);
  }
  // The device sets features_ok for a driver that has acknowledged it.
  bool Accepts(const host::FeatureSet& features) {
    using Common = spec::VirtioPciCommonCfg;
    using Status = spec::VirtioDeviceStatus;
    for (unsigned window = 0; window < host::FeatureSet::kWindows; ++window) {
      WriteCommon(Common::kDriverFeatureSelectOffset, 4, window);
      WriteCommon(Common::kDriverFeatureOffset, 4, features.Window(window));
    }
    WriteCommon(Common::kDeviceStatusOffset, 1, Status::kAcknowledge | Status::kDriver | Status::kFeaturesOk);
    return (net(0).pci().ReadStatus() & Status::kFeaturesOk) != 0;
  }
};

TEST_P(Switches, DeviceOffersWhatItHas) {
  const host::FeatureSet offered = net(0).pci().OfferedFeatures();
  for (const NetFeature off : {NetFeature::kCsum, NetFeature::kGuestCsum, NetFeature::kCtrlGuestOffloads,
                               NetFeature::kNotfCoal, NetFeature::kVqNotfCoal}) {
    EXPECT_FALSE(offered.Has(off)) << spec::ToString(off);
  }
  EXPECT_FALSE(offered.Has(VirtioFeature::kRingPacked) || offered.Has(VirtioFeature::kRingEventIdx));
  for (const NetFeature on : {NetFeature::kMac, NetFeature::kMtu, NetFeature::kMrgRxbuf, NetFeature::kCtrlVq,
                              NetFeature::kMq, NetFeature::kCtrlVlan}) {
    EXPECT_TRUE(offered.Has(on)) << spec::ToString(on);
  }
  const verbs::Device& device = system_->host(0).device();
  EXPECT_FALSE(device.has_atomics() || device.has_invalidation() || device.has_windows());
  EXPECT_FALSE(device.has_flush(spec::FlushPlacement::kGlobalVisibility));
  EXPECT_EQ(device.max_fast_pages(), 0U);
  EXPECT_EQ(device.cq_elements(), 0U);
  EXPECT_EQ(system_->host(0).device().attributes().max_mcast_attach, 0U);
}

// A driver cannot accept what is not offered, and the device refuses features_ok.
TEST_P(Switches, FeatureThatIsNotOfferedIsRefused) {
  for (const host::Feature feature :
       {host::Feature(NetFeature::kCsum), host::Feature(VirtioFeature::kRingPacked),
        host::Feature(VirtioFeature::kRingEventIdx), host::Feature(NetFeature::kNotfCoal)}) {
    host::VirtioPci& pci = net(0).pci();
    ASSERT_TRUE(pci.Reset(kTimeoutNs).ok());
    pci.Acknowledge();
    host::FeatureSet accepted{VirtioFeature::kVersion1, NetFeature::kCtrlVq};
    EXPECT_TRUE(Accepts(accepted));
    ASSERT_TRUE(pci.Reset(kTimeoutNs).ok());
    pci.Acknowledge();
    accepted.Add(feature);
    EXPECT_FALSE(Accepts(accepted)) << int{feature.bit};
  }
}

TEST_P(Switches, FrameThatAsksForAChecksumLeavesUnchanged) {
  const Mac from = system_->host(0).mac(), to = system_->host(1).mac();
  const TransportFrame frame = MakeTransportFrame(to, from, {.protocol = kProtocolTcp}, 500, 1, false);
  const auto sent = net(0).transmit(0).Send(
      frame.bytes,
      {.flags = spec::NetHdrFlags::kNeedsCsum, .csum_start = frame.csum_start, .csum_offset = frame.csum_offset});
  ASSERT_TRUE(sent.ok());
  auto received = net(1).Receive(0, system_->host(1).function().NowNs() + kTimeoutNs);
  ASSERT_TRUE(received.ok() && received->has_value());
  EXPECT_EQ((*received)->bytes, frame.bytes);
  EXPECT_EQ((*received)->header.flags, 0);
  // A checksum that is right is not reported as such either.
  const TransportFrame complete = MakeTransportFrame(to, from, {.protocol = kProtocolTcp}, 500, 1, true);
  ASSERT_TRUE(net(0).transmit(0).Send(complete.bytes).ok());
  received = net(1).Receive(0, system_->host(1).function().NowNs() + kTimeoutNs);
  ASSERT_TRUE(received.ok() && received->has_value());
  EXPECT_EQ((*received)->header.flags, 0);
}

TEST_P(Switches, ObjectsAndWorkOfMissingFeaturesAreRefused) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_FALSE(near().pd->CreateSrq({}).ok());
  EXPECT_FALSE(near().pd->AllocateRegion(1).ok());
  EXPECT_FALSE(near().pd->Register(0x1000, 4096, spec::IbAccessFlags::kRemoteAtomic, 0, {}).ok());
  const Elements list = {near().region->Sge(0, 8)};
  const auto posted = near().qp->PostSend(Remote(IbWrOpcode::kAtomicFetchAndAdd, 1, list, 64));
  ASSERT_FALSE(posted.ok());
  EXPECT_EQ(posted.error().code, host::ErrorCode::kUnsupported);
  auto datagrams = near().pd->CreateQp({.type = spec::IbQpType::kUd, .send_cq = near().cq, .recv_cq = near().cq});
  ASSERT_TRUE(datagrams.ok());
  verbs::QueuePair::Group group{0xff};
  EXPECT_EQ((*datagrams)->Attach(group).error().code, host::ErrorCode::kUnsupported);
  const auto attached = system_->host(0).device().base().roce().AttachMcast((*datagrams)->qpn(), group);
  EXPECT_EQ(attached.error().rdma, spec::RdmaError::kNoFreeMcast);
}

// Without parity nothing is detected, and nothing is flipped.
TEST_P(Switches, FlipHasNoEffect) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  for (const auto ram : {spec::ContextRam::kRequesterQp, spec::ContextRam::kCompleterQp}) {
    for (uint32_t qpn = 0; qpn < config().num_qps; ++qpn) system_->host(0).FlipBit(ram, qpn, 0);
  }
  auto expected = Memory();
  const Elements from = {near().region->Sge(0, 700)};
  Scatter(far(), {far().region->Sge(100, 700)}, Gather(near(), from), expected[1]);
  PostSend(Remote(IbWrOpcode::kRdmaWrite, 7, from, 100));
  ExpectNext(0, 7, IbWcStatus::kSuccess);
  ExpectMemory(expected);
  EXPECT_EQ(net(0).pci().ReadStatus() & spec::VirtioDeviceStatus::kDeviceNeedsReset, 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, Switches,
                         testing::Combine(testing::Values("model", "rtl", "lockstep"), testing::Values(&spec::kNic1Rc),
                                          testing::Values(false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
