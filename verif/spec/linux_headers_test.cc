// SPDX-License-Identifier: Apache-2.0
// The virtio part of the contract against the kernel's headers, an independent source. Names that a distribution's
// headers do not have yet are skipped one by one.
#include <gtest/gtest.h>

// These are C headers: one has a member called `class`, one converts from void* in an inline function that is excluded
// here.
#define VIRTIO_RING_NO_LEGACY
#ifdef __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define class class_
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_net.h>
#include <linux/virtio_pci.h>
#include <linux/virtio_ring.h>
#undef class

#include <cstddef>

#include "spec/gen/vireo_spec.h"

namespace vireo::spec {
namespace {

#define EXPECT_SAME(linux_name, ours) EXPECT_EQ(static_cast<uint64_t>(linux_name), static_cast<uint64_t>(ours)) << #ours

TEST(LinuxHeaders, TransportFeaturesAndStatusBits) {
  EXPECT_SAME(VIRTIO_ID_NET, VirtioDeviceId::kNet);
  EXPECT_SAME(VIRTIO_CONFIG_S_ACKNOWLEDGE, VirtioDeviceStatus::kAcknowledge);
  EXPECT_SAME(VIRTIO_CONFIG_S_DRIVER, VirtioDeviceStatus::kDriver);
  EXPECT_SAME(VIRTIO_CONFIG_S_DRIVER_OK, VirtioDeviceStatus::kDriverOk);
  EXPECT_SAME(VIRTIO_CONFIG_S_FEATURES_OK, VirtioDeviceStatus::kFeaturesOk);
  EXPECT_SAME(VIRTIO_CONFIG_S_NEEDS_RESET, VirtioDeviceStatus::kDeviceNeedsReset);
  EXPECT_SAME(VIRTIO_CONFIG_S_FAILED, VirtioDeviceStatus::kFailed);
  EXPECT_SAME(VIRTIO_RING_F_INDIRECT_DESC, VirtioFeature::kRingIndirectDesc);
  EXPECT_SAME(VIRTIO_RING_F_EVENT_IDX, VirtioFeature::kRingEventIdx);
  EXPECT_SAME(VIRTIO_F_VERSION_1, VirtioFeature::kVersion1);
  EXPECT_SAME(VIRTIO_F_ACCESS_PLATFORM, VirtioFeature::kAccessPlatform);
  EXPECT_SAME(VIRTIO_F_RING_PACKED, VirtioFeature::kRingPacked);
  EXPECT_SAME(VIRTIO_F_IN_ORDER, VirtioFeature::kInOrder);
  EXPECT_SAME(VIRTIO_F_ORDER_PLATFORM, VirtioFeature::kOrderPlatform);
  EXPECT_SAME(VIRTIO_F_SR_IOV, VirtioFeature::kSrIov);
  EXPECT_SAME(VIRTIO_F_RING_RESET, VirtioFeature::kRingReset);
#ifdef VIRTIO_F_NOTIFICATION_DATA
  EXPECT_SAME(VIRTIO_F_NOTIFICATION_DATA, VirtioFeature::kNotificationData);
#endif
#ifdef VIRTIO_F_ADMIN_VQ
  EXPECT_SAME(VIRTIO_F_ADMIN_VQ, VirtioFeature::kAdminVq);
#endif
}

TEST(LinuxHeaders, NetFeatures) {
  EXPECT_SAME(VIRTIO_NET_F_CSUM, NetFeature::kCsum);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_CSUM, NetFeature::kGuestCsum);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_GUEST_OFFLOADS, NetFeature::kCtrlGuestOffloads);
  EXPECT_SAME(VIRTIO_NET_F_MTU, NetFeature::kMtu);
  EXPECT_SAME(VIRTIO_NET_F_MAC, NetFeature::kMac);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_TSO4, NetFeature::kGuestTso4);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_TSO6, NetFeature::kGuestTso6);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_ECN, NetFeature::kGuestEcn);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_UFO, NetFeature::kGuestUfo);
  EXPECT_SAME(VIRTIO_NET_F_HOST_TSO4, NetFeature::kHostTso4);
  EXPECT_SAME(VIRTIO_NET_F_HOST_TSO6, NetFeature::kHostTso6);
  EXPECT_SAME(VIRTIO_NET_F_HOST_ECN, NetFeature::kHostEcn);
  EXPECT_SAME(VIRTIO_NET_F_HOST_UFO, NetFeature::kHostUfo);
  EXPECT_SAME(VIRTIO_NET_F_MRG_RXBUF, NetFeature::kMrgRxbuf);
  EXPECT_SAME(VIRTIO_NET_F_STATUS, NetFeature::kStatus);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_VQ, NetFeature::kCtrlVq);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_RX, NetFeature::kCtrlRx);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_VLAN, NetFeature::kCtrlVlan);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_RX_EXTRA, NetFeature::kCtrlRxExtra);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_ANNOUNCE, NetFeature::kGuestAnnounce);
  EXPECT_SAME(VIRTIO_NET_F_MQ, NetFeature::kMq);
  EXPECT_SAME(VIRTIO_NET_F_CTRL_MAC_ADDR, NetFeature::kCtrlMacAddr);
  EXPECT_SAME(VIRTIO_NET_F_NOTF_COAL, NetFeature::kNotfCoal);
  EXPECT_SAME(VIRTIO_NET_F_HASH_REPORT, NetFeature::kHashReport);
  EXPECT_SAME(VIRTIO_NET_F_RSS, NetFeature::kRss);
  EXPECT_SAME(VIRTIO_NET_F_RSC_EXT, NetFeature::kRscExt);
  EXPECT_SAME(VIRTIO_NET_F_STANDBY, NetFeature::kStandby);
  EXPECT_SAME(VIRTIO_NET_F_SPEED_DUPLEX, NetFeature::kSpeedDuplex);
#ifdef VIRTIO_NET_F_VQ_NOTF_COAL
  EXPECT_SAME(VIRTIO_NET_F_VQ_NOTF_COAL, NetFeature::kVqNotfCoal);
#endif
#ifdef VIRTIO_NET_F_DEVICE_STATS
  EXPECT_SAME(VIRTIO_NET_F_DEVICE_STATS, NetFeature::kDeviceStats);
#endif
#ifdef VIRTIO_NET_F_GUEST_USO4
  EXPECT_SAME(VIRTIO_NET_F_GUEST_USO4, NetFeature::kGuestUso4);
  EXPECT_SAME(VIRTIO_NET_F_GUEST_USO6, NetFeature::kGuestUso6);
  EXPECT_SAME(VIRTIO_NET_F_HOST_USO, NetFeature::kHostUso);
#endif
#ifdef VIRTIO_NET_F_GUEST_HDRLEN
  EXPECT_SAME(VIRTIO_NET_F_GUEST_HDRLEN, NetFeature::kGuestHdrlen);
#endif
}

TEST(LinuxHeaders, NetStructures) {
  using linux_config = struct virtio_net_config;
  EXPECT_SAME(offsetof(linux_config, status), NetConfig::kStatusOffset);
  EXPECT_SAME(offsetof(linux_config, max_virtqueue_pairs), NetConfig::kMaxVirtqueuePairsOffset);
  EXPECT_SAME(offsetof(linux_config, mtu), NetConfig::kMtuOffset);
  EXPECT_SAME(offsetof(linux_config, speed), NetConfig::kSpeedOffset);
  EXPECT_SAME(offsetof(linux_config, duplex), NetConfig::kDuplexOffset);
  EXPECT_SAME(offsetof(linux_config, supported_hash_types), NetConfig::kSupportedHashTypesOffset);
  EXPECT_SAME(sizeof(struct virtio_net_hdr_v1), NetHdr::kBytes);
  EXPECT_SAME(offsetof(struct virtio_net_hdr_v1, gso_size), NetHdr::kGsoSizeOffset);
  EXPECT_SAME(offsetof(struct virtio_net_hdr_v1, num_buffers), NetHdr::kNumBuffersOffset);
  EXPECT_SAME(sizeof(struct virtio_net_hdr_v1_hash), NetHdrHash::kBytes);
  EXPECT_SAME(VIRTIO_NET_HDR_F_NEEDS_CSUM, NetHdrFlags::kNeedsCsum);
  EXPECT_SAME(VIRTIO_NET_HDR_F_DATA_VALID, NetHdrFlags::kDataValid);
  EXPECT_SAME(VIRTIO_NET_HDR_GSO_TCPV6, NetHdrGso::kTcpv6);
  EXPECT_SAME(VIRTIO_NET_S_LINK_UP, NetStatus::kLinkUp);
  EXPECT_SAME(VIRTIO_NET_S_ANNOUNCE, NetStatus::kAnnounce);
}

TEST(LinuxHeaders, NetControl) {
  EXPECT_SAME(sizeof(struct virtio_net_ctrl_hdr), NetCtrlHdr::kBytes);
  EXPECT_SAME(VIRTIO_NET_OK, NetCtrlAck::kOk);
  EXPECT_SAME(VIRTIO_NET_ERR, NetCtrlAck::kErr);
  EXPECT_SAME(VIRTIO_NET_CTRL_RX, NetCtrlClass::kRx);
  EXPECT_SAME(VIRTIO_NET_CTRL_RX_PROMISC, NetCtrlRxCmd::kPromisc);
  EXPECT_SAME(VIRTIO_NET_CTRL_RX_NOBCAST, NetCtrlRxCmd::kNobcast);
  EXPECT_SAME(VIRTIO_NET_CTRL_MAC, NetCtrlClass::kMac);
  EXPECT_SAME(VIRTIO_NET_CTRL_MAC_TABLE_SET, NetCtrlMacCmd::kTableSet);
  EXPECT_SAME(VIRTIO_NET_CTRL_MAC_ADDR_SET, NetCtrlMacCmd::kAddrSet);
  EXPECT_SAME(VIRTIO_NET_CTRL_VLAN, NetCtrlClass::kVlan);
  EXPECT_SAME(VIRTIO_NET_CTRL_VLAN_DEL, NetCtrlVlanCmd::kDel);
  EXPECT_SAME(VIRTIO_NET_CTRL_ANNOUNCE, NetCtrlClass::kAnnounce);
  EXPECT_SAME(VIRTIO_NET_CTRL_MQ, NetCtrlClass::kMq);
  EXPECT_SAME(VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET, NetCtrlMqCmd::kVqPairsSet);
  EXPECT_SAME(VIRTIO_NET_CTRL_MQ_RSS_CONFIG, NetCtrlMqCmd::kRssConfig);
  EXPECT_SAME(VIRTIO_NET_CTRL_GUEST_OFFLOADS, NetCtrlClass::kGuestOffloads);
  EXPECT_SAME(VIRTIO_NET_CTRL_NOTF_COAL, NetCtrlClass::kNotfCoal);
#ifdef VIRTIO_NET_CTRL_STATS
  EXPECT_SAME(VIRTIO_NET_CTRL_STATS, NetCtrlClass::kStats);
#endif
}

TEST(LinuxHeaders, PciTransport) {
  EXPECT_SAME(VIRTIO_PCI_CAP_COMMON_CFG, VirtioPciCfgType::kCommonCfg);
  EXPECT_SAME(VIRTIO_PCI_CAP_NOTIFY_CFG, VirtioPciCfgType::kNotifyCfg);
  EXPECT_SAME(VIRTIO_PCI_CAP_ISR_CFG, VirtioPciCfgType::kIsrCfg);
  EXPECT_SAME(VIRTIO_PCI_CAP_DEVICE_CFG, VirtioPciCfgType::kDeviceCfg);
  EXPECT_SAME(VIRTIO_PCI_CAP_PCI_CFG, VirtioPciCfgType::kPciCfg);
  EXPECT_SAME(sizeof(struct virtio_pci_cap), VirtioPciCap::kBytes);
  EXPECT_SAME(sizeof(struct virtio_pci_cap64), VirtioPciCap64::kBytes);
  EXPECT_SAME(sizeof(struct virtio_pci_notify_cap), VirtioPciNotifyCap::kBytes);
  EXPECT_SAME(VIRTIO_PCI_COMMON_DFSELECT, VirtioPciCommonCfg::kDeviceFeatureSelectOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_GF, VirtioPciCommonCfg::kDriverFeatureOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_MSIX, VirtioPciCommonCfg::kConfigMsixVectorOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_NUMQ, VirtioPciCommonCfg::kNumQueuesOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_STATUS, VirtioPciCommonCfg::kDeviceStatusOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_SELECT, VirtioPciCommonCfg::kQueueSelectOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_ENABLE, VirtioPciCommonCfg::kQueueEnableOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_NOFF, VirtioPciCommonCfg::kQueueNotifyOffOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_DESCLO, VirtioPciCommonCfg::kQueueDescOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_AVAILLO, VirtioPciCommonCfg::kQueueDriverOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_USEDLO, VirtioPciCommonCfg::kQueueDeviceOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_NDATA, VirtioPciCommonCfg::kQueueNotifConfigDataOffset);
  EXPECT_SAME(VIRTIO_PCI_COMMON_Q_RESET, VirtioPciCommonCfg::kQueueResetOffset);
}

TEST(LinuxHeaders, Rings) {
  EXPECT_SAME(sizeof(struct vring_desc), VirtqDesc::kBytes);
  EXPECT_SAME(offsetof(struct vring_desc, len), VirtqDesc::kLenOffset);
  EXPECT_SAME(offsetof(struct vring_desc, flags), VirtqDesc::kFlagsOffset);
  EXPECT_SAME(offsetof(struct vring_desc, next), VirtqDesc::kNextOffset);
  EXPECT_SAME(sizeof(struct vring_used_elem), VirtqUsedElem::kBytes);
  EXPECT_SAME(offsetof(struct vring_avail, ring), VirtqAvail::kBytes);
  EXPECT_SAME(offsetof(struct vring_used, ring), VirtqUsed::kBytes);
  EXPECT_SAME(VRING_DESC_F_NEXT, VirtqDescFlags::kNext);
  EXPECT_SAME(VRING_DESC_F_WRITE, VirtqDescFlags::kWrite);
  EXPECT_SAME(VRING_DESC_F_INDIRECT, VirtqDescFlags::kIndirect);
  EXPECT_SAME(sizeof(struct vring_packed_desc), PvirtqDesc::kBytes);
  EXPECT_SAME(offsetof(struct vring_packed_desc, id), PvirtqDesc::kIdOffset);
  EXPECT_SAME(sizeof(struct vring_packed_desc_event), PvirtqEventSuppress::kBytes);
  EXPECT_SAME(VRING_PACKED_EVENT_FLAG_DESC, RingEventFlags::kDesc);
}

// The numbers that the vireo profile uses must be free in the headers of this machine, and those of rfc-v2 must be
// exactly the ones that collide.
TEST(LinuxHeaders, VireoProfileHasNoCollisions) {
  const auto& vireo = ConstantsOf(Profile::kVireo);
  EXPECT_EQ(ToString(static_cast<NetFeature>(vireo.net_f_roce)), nullptr);
  EXPECT_EQ(ToString(static_cast<NetCtrlClass>(vireo.net_ctrl_class_roce)), nullptr);
  EXPECT_GE(vireo.net_config_rdma_offset, sizeof(struct virtio_net_config));
  EXPECT_GE(vireo.net_config_rdma_offset, NetConfig::kBytes);
  const auto& rfc = ConstantsOf(Profile::kRfcV2);
  EXPECT_EQ(static_cast<NetFeature>(rfc.net_f_roce), NetFeature::kGuestUso6);
  EXPECT_EQ(static_cast<NetCtrlClass>(rfc.net_ctrl_class_roce), NetCtrlClass::kNotfCoal);
  for (const auto feature : {NetFeature::kGuestUso6, NetFeature::kNotfCoal, NetFeature::kHashTunnel}) {
    EXPECT_TRUE(rfc.net_features_withheld >> static_cast<unsigned>(feature) & 1) << ToString(feature);
  }
}

}  // namespace
}  // namespace vireo::spec
