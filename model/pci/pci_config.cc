// SPDX-License-Identifier: Apache-2.0
#include "model/pci/pci_config.h"

#include <algorithm>
#include <bit>

namespace vireo::model {
namespace {

using spec::PciCapabilityId;
using spec::VirtioPciCap;
using spec::VirtioPciCfgType;

constexpr unsigned kBars = sizeof(spec::PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint8_t kPowerStates = 3;      // of pci_pm_cap: D0 and D3hot; both bits can be written
constexpr uint32_t kMsixOffsetUnit = 8;  // PCIe 5.0, 7.7.2.3: the low three bits are the BAR
constexpr uint8_t kPcieCapVersion = 2;   // PCIe 5.0, 7.5.3.2
constexpr uint8_t kPmVersion = 3;        // PCI Express Base 5.0, 7.5.2.1

static_assert(std::has_single_bit(spec::kBarVirtioBytes) && std::has_single_bit(spec::kBarMsixBytes));

VirtioPciCap RegionCap(VirtioPciCfgType type, uint8_t next, uint32_t offset, uint32_t length) {
  VirtioPciCap cap;
  cap.cap_vndr = PciCapabilityId::kVendorSpecific;
  cap.cap_next = next;
  cap.cap_len = VirtioPciCap::kBytes;
  cap.cfg_type = type;
  cap.bar = spec::kBarVirtio;
  cap.offset = offset;
  cap.length = length;
  return cap;
}

}  // namespace

uint64_t PciConfig::BarBytes(unsigned bar) {
  switch (bar) {
    case spec::kBarVirtio: return spec::kBarVirtioBytes;
    case spec::kBarMsix: return spec::kBarMsixBytes;
    default: return 0;
  }
}

PciConfig::PciConfig(Options options, const spec::Config& config)
    : PciConfig((options.msix_vectors = std::min(options.msix_vectors, config.num_msix_vectors), options)) {}

PciConfig::PciConfig(const Options& options) {
  // Values, and in structures of the same type the mask of writable bits.
  spec::PciHeader header, header_bits;
  header.vendor_id = spec::kPciVendorId;
  header.device_id = spec::kPciDeviceId;
  header.status = spec::PciStatus::kCapabilitiesList;
  header.revision_id = spec::kPciRevisionId;
  header.class_code = spec::kPciClassCode;
  header.subsystem_vendor_id = spec::kPciSubsystemVendorId;
  header.subsystem_id = spec::kPciSubsystemId;
  header.capabilities_pointer = spec::kPciCapAtCommonCfg;
  header_bits.command = spec::PciCommand::kMemorySpace | spec::PciCommand::kBusMaster |
                        spec::PciCommand::kParityErrorResponse | spec::PciCommand::kSerrEnable |
                        spec::PciCommand::kInterruptDisable;
  header_bits.cache_line_size = 0xff;
  header_bits.interrupt_line = 0xff;
  for (unsigned bar = 0; bar < kBars; ++bar) {
    const uint64_t bytes = BarBytes(bar);
    if (bytes == 0) continue;
    spec::PciMemoryBar low;
    low.memory_type = spec::PciBarMemoryType::kMemory64;
    header.base_address[bar] = low.ToWord();
    // Sizing (PCIe 5.0, 7.5.1.2.1): address bits below the size read 0.
    header_bits.base_address[bar] = static_cast<uint32_t>(~(bytes - 1));
    header_bits.base_address[bar + 1] = static_cast<uint32_t>(~(bytes - 1) >> 32);
  }
  header.Encode(reset_.data());
  header_bits.Encode(writable_.data());

  RegionCap(VirtioPciCfgType::kCommonCfg, spec::kPciCapAtNotifyCfg, spec::kBarVirtioCommonCfg, spec::kBarVirtioCfgBytes)
      .Encode(&reset_[spec::kPciCapAtCommonCfg]);
  spec::VirtioPciNotifyCap notify;
  notify.cap = RegionCap(VirtioPciCfgType::kNotifyCfg, spec::kPciCapAtIsrCfg, spec::kBarVirtioNotify,
                         spec::kBarVirtioNotifyBytes);
  notify.cap.cap_len = spec::VirtioPciNotifyCap::kBytes;
  notify.notify_off_multiplier = spec::kNotifyOffMultiplier;
  notify.Encode(&reset_[spec::kPciCapAtNotifyCfg]);
  RegionCap(VirtioPciCfgType::kIsrCfg, spec::kPciCapAtDeviceCfg, spec::kBarVirtioIsrCfg, spec::kBarVirtioCfgBytes)
      .Encode(&reset_[spec::kPciCapAtIsrCfg]);
  RegionCap(VirtioPciCfgType::kDeviceCfg, spec::kPciCapAtPciCfg, spec::kBarVirtioDeviceCfg, spec::kBarVirtioCfgBytes)
      .Encode(&reset_[spec::kPciCapAtDeviceCfg]);

  // virtio 1.3, 4.1.4.9: bar, offset and length select the window; 0 after reset.
  spec::VirtioPciCfgCap window, window_bits;
  window.cap = RegionCap(VirtioPciCfgType::kPciCfg, spec::kPciCapAtMsix, 0, 0);
  window.cap.cap_len = spec::VirtioPciCfgCap::kBytes;
  window.cap.bar = 0;
  window_bits.cap.bar = 0xff;
  window_bits.cap.offset = window_bits.cap.length = ~uint32_t{0};
  window.Encode(&reset_[spec::kPciCapAtPciCfg]);
  window_bits.Encode(&writable_[spec::kPciCapAtPciCfg]);

  spec::MsixCap msix, msix_bits;
  msix.cap_id = PciCapabilityId::kMsix;
  msix.cap_next = spec::kPciCapAtPcie;
  msix.table_size = static_cast<uint16_t>(std::clamp<uint32_t>(options.msix_vectors, 1, spec::kMsixVectorsMax) - 1);
  msix.table_bir = msix.pba_bir = spec::kBarMsix;
  msix.table_offset = spec::kBarMsixTable / kMsixOffsetUnit;
  msix.pba_offset = spec::kBarMsixPba / kMsixOffsetUnit;
  msix_bits.function_mask = msix_bits.msix_enable = true;
  msix.Encode(&reset_[spec::kPciCapAtMsix]);
  msix_bits.Encode(&writable_[spec::kPciCapAtMsix]);

  spec::PcieCap pcie, pcie_bits;
  pcie.cap_id = PciCapabilityId::kPciExpress;
  pcie.cap_next = spec::kPciCapAtPm;
  pcie.version = kPcieCapVersion;
  pcie.port_type = spec::PciePortType::kEndpoint;
  pcie.max_payload_size_supported = options.max_payload_size;
  pcie.extended_tag_supported = true;
  pcie.role_based_error_reporting = true;
  pcie.max_read_request_size = spec::PcieSize::kBytes512;  // the value after reset (PCIe 5.0, 7.5.3.4)
  pcie.max_link_speed = pcie.link_speed = options.link_speed;
  pcie.max_link_width = pcie.link_width = static_cast<uint8_t>(options.link_width & 0x3f);
  pcie.link_capabilities2 = (uint32_t{2} << static_cast<unsigned>(options.link_speed)) - 2;  // all speeds up to it
  pcie.link_control2 = static_cast<uint16_t>(options.link_speed);
  pcie_bits.correctable_error_reporting = pcie_bits.non_fatal_error_reporting = true;
  pcie_bits.fatal_error_reporting = pcie_bits.unsupported_request_reporting = true;
  pcie_bits.relaxed_ordering = pcie_bits.extended_tag = pcie_bits.no_snoop = true;
  pcie_bits.max_payload_size = pcie_bits.max_read_request_size = spec::PcieSize{7};
  pcie.Encode(&reset_[spec::kPciCapAtPcie]);
  pcie_bits.Encode(&writable_[spec::kPciCapAtPcie]);

  spec::PciPmCap pm, pm_bits;
  pm.capability_id = PciCapabilityId::kPowerManagement;
  pm.pm_version = kPmVersion;
  pm.immediate_readiness = true;
  pm.no_soft_reset = true;
  pm_bits.power_state = kPowerStates;
  pm.Encode(&reset_[spec::kPciCapAtPm]);
  pm_bits.Encode(&writable_[spec::kPciCapAtPm]);

  Reset();
}

void PciConfig::Reset() { bytes_ = reset_; }

uint32_t PciConfig::Read(uint16_t offset, unsigned bytes) const {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    if (offset + i < bytes_.size()) value |= uint32_t{bytes_[offset + i]} << 8 * i;
  }
  return value;
}

void PciConfig::Write(uint16_t offset, unsigned bytes, uint32_t value) {
  for (unsigned i = 0; i < bytes; ++i) {
    const size_t at = offset + i;
    if (at >= bytes_.size()) return;
    const auto byte = static_cast<uint8_t>(value >> 8 * i);
    bytes_[at] = static_cast<uint8_t>((bytes_[at] & ~writable_[at]) | (byte & writable_[at]));
  }
}

PciConfig::Controls PciConfig::controls() const {
  const auto header = spec::PciHeader::Decode(bytes_.data());
  const auto msix = spec::MsixCap::Decode(&bytes_[spec::kPciCapAtMsix]);
  const auto pcie = spec::PcieCap::Decode(&bytes_[spec::kPciCapAtPcie]);
  return {.memory_space = (header.command & spec::PciCommand::kMemorySpace) != 0,
          .bus_master = (header.command & spec::PciCommand::kBusMaster) != 0,
          .msix_enable = msix.msix_enable,
          .msix_mask = msix.function_mask,
          .max_payload_size = pcie.max_payload_size,
          .max_read_request_size = pcie.max_read_request_size};
}

}  // namespace vireo::model
