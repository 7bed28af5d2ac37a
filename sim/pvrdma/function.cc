// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/function.h"

#include <algorithm>
#include <string>

namespace vireo::sim::pvrdma {
namespace {

constexpr uint64_t kMsixBytes = kPageBytes, kMsixPba = kMsixBytes / 2;
constexpr uint64_t kRegisterBytes = kPageBytes;
constexpr uint64_t kUarBytes = Commands::kDoorbellPages * kPageBytes;
constexpr uint32_t kDword = sizeof(uint32_t);
constexpr uint32_t kClassOtherNetwork = 0x02'80'00;  // PCI Code and ID Assignment, 1.3
constexpr uint8_t kCapabilities = 0x40;

}  // namespace

Function::Function(Device& device, host::PciFunction& nic_function) : device_(device), nic_function_(nic_function) {
  using spec::PciBarMemoryType;
  spec::PciHeader header;
  header.vendor_id = header.subsystem_vendor_id = kVendorId;
  header.device_id = header.subsystem_id = kDeviceId;
  header.status = spec::PciStatus::kCapabilitiesList;
  header.revision_id = 1;
  header.class_code = kClassOtherNetwork;
  header.capabilities_pointer = kCapabilities;
  uint8_t bar[spec::PciMemoryBar::kBytes];
  spec::PciMemoryBar{.memory_type = PciBarMemoryType::kMemory64}.Encode(bar);
  header.base_address[kUarBar] = Load<uint32_t>(bar);
  header.Encode(reset_.data());
  spec::MsixCap msix;
  msix.cap_id = spec::PciCapabilityId::kMsix;
  msix.table_size = kVectors - 1;
  msix.table_bir = msix.pba_bir = kMsixBar;
  msix.pba_offset = kMsixPba / 8;
  msix.Encode(reset_.data() + kCapabilities);

  const auto writable = [this](uint32_t offset, uint32_t bits) { Store(writable_.data() + offset, bits); };
  writable(spec::PciHeader::kCommandOffset,
           spec::PciCommand::kMemorySpace | spec::PciCommand::kBusMaster | spec::PciCommand::kInterruptDisable);
  const auto size_bits = [](uint64_t bytes) { return static_cast<uint32_t>(~(bytes - 1)); };
  constexpr uint32_t kBar = spec::PciHeader::kBaseAddressOffset;
  writable(kBar + kMsixBar * kDword, size_bits(kMsixBytes));
  writable(kBar + kRegisterBar * kDword, size_bits(kRegisterBytes));
  writable(kBar + kUarBar * kDword, size_bits(kUarBytes));
  writable(kBar + (kUarBar + 1) * kDword, ~uint32_t{0});
  writable_[spec::PciHeader::kInterruptLineOffset] = 0xff;
  writable_[kCapabilities + 3] = 0xc0;  // MSI-X enable and function mask
  config_ = reset_;
}

void Function::Reset() {
  device_.Reset();
  config_ = reset_;
  enabled_ = 0;
}

uint32_t Function::ReadConfig(uint32_t offset, unsigned bytes) {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    if (offset + i < config_.size()) value |= uint32_t{config_[offset + i]} << 8 * i;
  }
  return value;
}

void Function::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  for (unsigned i = 0; i < bytes && offset + i < config_.size(); ++i) {
    uint8_t& byte = config_[offset + i];
    const uint8_t mask = writable_[offset + i];
    byte = static_cast<uint8_t>((byte & ~mask) | (value >> 8 * i & mask));
  }
}

uint64_t Function::BarBytes(unsigned bar) const {
  switch (bar) {
    case kMsixBar: return kMsixBytes;
    case kRegisterBar: return kRegisterBytes;
    case kUarBar: return kUarBytes;
    default: return 0;
  }
}

uint64_t Function::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  if (bar != kRegisterBar) return 0;  // doorbells are write-only; the MSI-X table is the transport's
  uint64_t value = device_.ReadRegister(static_cast<uint32_t>(offset & ~uint64_t{kDword - 1}));
  if (bytes > kDword) return value | uint64_t{device_.ReadRegister(static_cast<uint32_t>(offset + kDword))} << 32;
  value >>= 8 * (offset % kDword);
  return bytes == kDword ? value : value & ((uint64_t{1} << 8 * bytes) - 1);
}

void Function::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  for (; bytes >= kDword; bytes -= kDword, offset += kDword, value >>= 32) {
    WriteDword(bar, offset, static_cast<uint32_t>(value));
  }
}

void Function::WriteDword(unsigned bar, uint64_t offset, uint32_t value) {
  if (bar == kRegisterBar) device_.WriteRegister(static_cast<uint32_t>(offset), value);
  if (bar == kUarBar) {
    device_.WriteDoorbell(static_cast<uint32_t>(offset / kPageBytes), static_cast<uint32_t>(offset % kPageBytes),
                          value);
  }
}

host::Result<host::DmaBuffer> Function::AllocateDma(size_t, size_t) {
  return host::Error{host::ErrorCode::kUnsupported, "the guest has the memory"};
}
host::Result<host::DmaBuffer> Function::MapDma(uint8_t*, size_t) {
  return host::Error{host::ErrorCode::kUnsupported, "the guest has the memory"};
}

host::Status Function::EnableMsix(unsigned count) {
  if (count > kVectors) {
    return host::Error{host::ErrorCode::kInvalidArgument,
                       std::to_string(count) + " vectors of " + std::to_string(kVectors)};
  }
  enabled_ = count;
  for (unsigned vector = 0; vector < kVectors; ++vector) static_cast<void>(device_.TakeInterrupt(vector));
  return {};
}

void Function::Wait(uint64_t deadline_ns) {
  nic_function_.Wait(deadline_ns);
  device_.Progress();
}

}  // namespace vireo::sim::pvrdma
