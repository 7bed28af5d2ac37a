// SPDX-License-Identifier: Apache-2.0
// Configuration space as seen by a driver: read byte by byte, sized, written.
#include "sim/device/pci_config.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace vireo::sim {
namespace {

template <typename Struct>
Struct At(const PciConfig& config, uint32_t at) {
  uint8_t bytes[Struct::kBytes];
  for (uint32_t i = 0; i < Struct::kBytes; ++i)
    bytes[i] = static_cast<uint8_t>(config.Read(static_cast<uint16_t>(at + i), 1));
  return Struct::Decode(bytes);
}

std::vector<uint32_t> Capabilities(const PciConfig& config) {
  std::vector<uint32_t> found;
  uint32_t at = config.Read(spec::PciHeader::kCapabilitiesPointerOffset, 1);
  while (at != 0 && found.size() < 64) {
    found.push_back(at);
    at = At<spec::PciCapability>(config, at).cap_next;
  }
  return found;
}

TEST(PciConfig, HeaderMatchesTheContract) {
  const PciConfig config;
  const auto header = At<spec::PciHeader>(config, 0);
  EXPECT_EQ(header.vendor_id, spec::kPciVendorId);
  EXPECT_EQ(header.device_id, spec::kPciDeviceId);
  EXPECT_EQ(header.revision_id, spec::kPciRevisionId);
  EXPECT_EQ(header.class_code, spec::kPciClassCode);
  EXPECT_EQ(header.subsystem_vendor_id, spec::kPciSubsystemVendorId);
  EXPECT_EQ(header.subsystem_id, spec::kPciSubsystemId);
  EXPECT_EQ(header.status, spec::PciStatus::kCapabilitiesList);
  EXPECT_EQ(header.command, 0);
  // The same through wider accesses.
  EXPECT_EQ(config.Read(0, 4), uint32_t{spec::kPciDeviceId} << 16 | spec::kPciVendorId);
  EXPECT_EQ(config.Read(2, 2), spec::kPciDeviceId);
}

TEST(PciConfig, CapabilitiesMatchTheContractInPlaceAndOrder) {
  const PciConfig config;
  const std::vector<uint32_t> expected = {spec::kPciCapAtCommonCfg, spec::kPciCapAtNotifyCfg, spec::kPciCapAtIsrCfg,
                                          spec::kPciCapAtDeviceCfg, spec::kPciCapAtPciCfg,    spec::kPciCapAtMsix,
                                          spec::kPciCapAtPcie,      spec::kPciCapAtPm};
  EXPECT_EQ(Capabilities(config), expected);
  const auto common = At<spec::VirtioPciCap>(config, spec::kPciCapAtCommonCfg);
  EXPECT_EQ(common.cfg_type, spec::VirtioPciCfgType::kCommonCfg);
  EXPECT_EQ(common.bar, spec::kBarVirtio);
  EXPECT_EQ(common.offset, spec::kBarVirtioCommonCfg);
  EXPECT_EQ(common.length, spec::kBarVirtioCfgBytes);
  EXPECT_EQ(At<spec::VirtioPciCap>(config, spec::kPciCapAtIsrCfg).offset, spec::kBarVirtioIsrCfg);
  EXPECT_EQ(At<spec::VirtioPciCap>(config, spec::kPciCapAtDeviceCfg).offset, spec::kBarVirtioDeviceCfg);
  const auto notify = At<spec::VirtioPciNotifyCap>(config, spec::kPciCapAtNotifyCfg);
  EXPECT_EQ(notify.cap.offset, spec::kBarVirtioNotify);
  EXPECT_EQ(notify.cap.length, spec::kBarVirtioNotifyBytes);
  EXPECT_EQ(notify.cap.cap_len, spec::VirtioPciNotifyCap::kBytes);
  EXPECT_EQ(notify.notify_off_multiplier, spec::kNotifyOffMultiplier);
  const auto msix = At<spec::MsixCap>(config, spec::kPciCapAtMsix);
  EXPECT_EQ(msix.table_size, spec::kMsixVectorsMax - 1);
  EXPECT_EQ(msix.table_bir, spec::kBarMsix);
  EXPECT_EQ(msix.table_offset * 8, spec::kBarMsixTable);
  EXPECT_EQ(msix.pba_offset * 8, spec::kBarMsixPba);
  const auto pcie = At<spec::PcieCap>(config, spec::kPciCapAtPcie);
  EXPECT_EQ(pcie.version, 2);
  EXPECT_EQ(pcie.port_type, spec::PciePortType::kEndpoint);
  EXPECT_EQ(pcie.link_width, 16);
  EXPECT_EQ(pcie.link_capabilities2, 0xeu);  // gen1 to gen3
  EXPECT_EQ(At<spec::PciPmCap>(config, spec::kPciCapAtPm).pm_version, 3);
}

TEST(PciConfig, BarsAreSizedAndProgrammed) {
  PciConfig config;
  std::map<unsigned, uint64_t> sizes;
  for (unsigned bar = 0; bar < 6; ++bar) {
    const auto at = static_cast<uint16_t>(spec::PciHeader::kBaseAddressOffset + size_t{4} * bar);
    const auto before = spec::PciMemoryBar::FromWord(config.Read(at, 4));
    config.Write(at, 4, ~0u);
    const uint32_t low = config.Read(at, 4);
    if (low == 0) continue;
    EXPECT_EQ(before.memory_type, spec::PciBarMemoryType::kMemory64);
    EXPECT_FALSE(before.prefetchable);
    const auto next = static_cast<uint16_t>(at + 4);
    config.Write(next, 4, ~0u);
    sizes[bar] = ~(uint64_t{config.Read(next, 4)} << 32 | (low & ~0xfu)) + 1;
    config.Write(at, 4, 0x1234'5678);
    config.Write(next, 4, 0xabc);
    EXPECT_EQ(config.Read(at, 4), (0x1234'5678 & ~(sizes[bar] - 1)) | 4);
    EXPECT_EQ(config.Read(next, 4), 0xabcu);
    ++bar;
  }
  EXPECT_EQ(sizes, (std::map<unsigned, uint64_t>{{spec::kBarVirtio, spec::kBarVirtioBytes},
                                                 {spec::kBarMsix, spec::kBarMsixBytes}}));
  EXPECT_EQ(PciConfig::BarBytes(1), 0u);
}

TEST(PciConfig, ControlsFollowTheirRegistersUntilReset) {
  PciConfig config;
  EXPECT_EQ(config.controls(), PciConfig::Controls{});
  config.Write(spec::PciHeader::kCommandOffset, 2, 0xffff);
  EXPECT_EQ(config.Read(spec::PciHeader::kCommandOffset, 2), 0x546u);  // writable bits of an endpoint: pci.toml
  EXPECT_TRUE(config.controls().memory_space);
  EXPECT_TRUE(config.controls().bus_master);
  config.Write(spec::kPciCapAtMsix + 2, 2, 0xc000);
  EXPECT_TRUE(config.controls().msix_enable);
  EXPECT_TRUE(config.controls().msix_mask);
  EXPECT_EQ(At<spec::MsixCap>(config, spec::kPciCapAtMsix).table_size, spec::kMsixVectorsMax - 1);
  config.Write(spec::kPciCapAtPcie + 8, 2, 5u << 12 | 1u << 5);
  EXPECT_EQ(config.controls().max_read_request_size, spec::PcieSize::kBytes4096);
  EXPECT_EQ(config.controls().max_payload_size, spec::PcieSize::kBytes256);
  config.Reset();
  EXPECT_EQ(config.controls(), PciConfig::Controls{});
}

TEST(PciConfig, ReadOnlyBitsIgnoreWrites) {
  PciConfig config;
  const PciConfig fresh;
  for (uint32_t at = 0; at < spec::kPcieConfigBytes; at += 4) config.Write(static_cast<uint16_t>(at), 4, ~0u);
  EXPECT_EQ(Capabilities(config), Capabilities(fresh));
  EXPECT_EQ(config.Read(0, 4), fresh.Read(0, 4));
  EXPECT_EQ(config.Read(spec::PciHeader::kStatusOffset, 2), fresh.Read(spec::PciHeader::kStatusOffset, 2));
  // Nothing after the capabilities is writable.
  for (uint32_t at = 0xe8; at < spec::kPcieConfigBytes; at += 4)
    EXPECT_EQ(config.Read(static_cast<uint16_t>(at), 4), 0u);
  // virtio_pci_cfg's window can be selected; its data is not served here.
  const auto window = At<spec::VirtioPciCfgCap>(config, spec::kPciCapAtPciCfg);
  EXPECT_EQ(window.cap.bar, 0xff);
  EXPECT_EQ(window.cap.offset, ~0u);
  EXPECT_EQ(window.cap.length, ~0u);
  EXPECT_EQ(config.Read(spec::kPciCapAtPciCfg + 16, 4), 0u);
}

TEST(PciConfig, NumberOfVectorsIsConfigurable) {
  const PciConfig config({.msix_vectors = 33});
  EXPECT_EQ(At<spec::MsixCap>(config, spec::kPciCapAtMsix).table_size, 32);
  // No more than the device has.
  const auto announced = [](uint32_t wanted, uint32_t has) {
    spec::Config device = spec::kNic1;
    device.num_msix_vectors = has;
    return At<spec::MsixCap>(PciConfig({.msix_vectors = wanted}, device), spec::kPciCapAtMsix).table_size + 1u;
  };
  EXPECT_EQ(announced(33, 64), 33u);
  EXPECT_EQ(announced(65, 64), 64u);
  EXPECT_EQ(announced(spec::kMsixVectorsMax, 2), 2u);
}

}  // namespace
}  // namespace vireo::sim
