// SPDX-License-Identifier: Apache-2.0
#include "host/driver/virtio_pci.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

namespace vireo::host {
namespace {

using spec::PciHeader;
using spec::VirtioPciCap;
using spec::VirtioPciCfgType;
using CommonCfg = spec::VirtioPciCommonCfg;
using DeviceStatus = spec::VirtioDeviceStatus;

// Poll interval of registers that change without an interrupt.
constexpr uint64_t kPollIntervalNs = 1000;
// Consecutive inconsistent reads of the configuration before giving up.
constexpr int kConfigReadTries = 100;

constexpr unsigned kBars = sizeof(PciHeader{}.base_address) / sizeof(uint32_t);
constexpr uint32_t kCapabilityAlign = 4;  // its low address bits are reserved and ignored

std::string Hex(uint64_t value) {
  std::array<char, 19> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

template <typename Struct>
Struct ReadConfigStruct(PciFunction& function, uint32_t at) {
  uint8_t bytes[Struct::kBytes];
  for (uint32_t i = 0; i < Struct::kBytes; ++i) bytes[i] = static_cast<uint8_t>(function.ReadConfig(at + i, 1));
  return Struct::Decode(bytes);
}

const char* NameOf(VirtioPciCfgType type) {
  const char* name = spec::ToString(type);
  return name != nullptr ? name : "unknown";
}

// Smallest useful region of each kind, and the alignment of its offset (virtio 1.3, 4.1.4).
struct RegionRequirement {
  size_t bytes;
  uint32_t alignment;
};
RegionRequirement RequirementOf(VirtioPciCfgType type) {
  switch (type) {
    // The fields of virtio 1.0; later fields are accessed only with their features.
    case VirtioPciCfgType::kCommonCfg: return {CommonCfg::kQueueNotifConfigDataOffset, 4};
    case VirtioPciCfgType::kNotifyCfg: return {spec::VirtqNotification::kBytes, 2};
    case VirtioPciCfgType::kIsrCfg: return {1, 1};
    default: return {1, 4};
  }
}

// Why this capability is invalid; empty if it is valid.
std::string CapabilityError(PciFunction& function, const VirtioPciCap& cap, uint32_t at) {
  const bool notify = cap.cfg_type == VirtioPciCfgType::kNotifyCfg;
  const size_t bytes = notify ? spec::VirtioPciNotifyCap::kBytes : VirtioPciCap::kBytes;
  const std::string name = std::string(NameOf(cap.cfg_type)) + " at " + Hex(at) + ": ";
  if (cap.cap_len < bytes)
    return name + "cap_len " + std::to_string(cap.cap_len) + " is below " + std::to_string(bytes);
  if (at + cap.cap_len > spec::kPciConfigBytes) return name + "ends beyond the configuration space";
  if (cap.bar >= kBars) return name + "reserved BAR " + std::to_string(cap.bar);
  const uint64_t bar_bytes = function.BarBytes(cap.bar);
  if (bar_bytes == 0) return name + "BAR " + std::to_string(cap.bar) + " does not exist";
  if (uint64_t{cap.offset} + cap.length > bar_bytes) {
    return name + Hex(cap.offset) + " + " + Hex(cap.length) + " is beyond BAR " + std::to_string(cap.bar) + " of " +
           Hex(bar_bytes) + " bytes";
  }
  const RegionRequirement requirement = RequirementOf(cap.cfg_type);
  if (cap.length < requirement.bytes) {
    return name + "length " + std::to_string(cap.length) + " is below " + std::to_string(requirement.bytes);
  }
  if (cap.offset % requirement.alignment != 0) return name + "offset " + Hex(cap.offset) + " is not aligned";
  if (notify) {
    const uint32_t multiplier = ReadConfigStruct<spec::VirtioPciNotifyCap>(function, at).notify_off_multiplier;
    if (multiplier != 0 && (!std::has_single_bit(multiplier) || multiplier < spec::VirtqNotification::kBytes)) {
      return name + "notify_off_multiplier " + std::to_string(multiplier) + " is not an even power of 2";
    }
  }
  return {};
}

}  // namespace

Result<VirtioPciLayout> FindVirtioLayout(PciFunction& function) {
  const auto no_device = [](std::string text) { return Error{ErrorCode::kNoDevice, std::move(text)}; };
  const uint32_t vendor = function.ReadConfig(PciHeader::kVendorIdOffset, 2);
  const uint32_t device = function.ReadConfig(PciHeader::kDeviceIdOffset, 2);
  if (Status health = function.health(); !health.ok()) return health.error();
  if (vendor != spec::kPciVendorId || device != spec::kPciDeviceId) {
    return no_device("PCI " + Hex(vendor) + ":" + Hex(device) + " is not a modern virtio-net device, which is " +
                     Hex(spec::kPciVendorId) + ":" + Hex(spec::kPciDeviceId));
  }
  if ((function.ReadConfig(PciHeader::kStatusOffset, 2) & spec::PciStatus::kCapabilitiesList) == 0) {
    return no_device("the PCI function has no capability list");
  }

  VirtioPciLayout layout;
  std::array<bool, 256> found{};  // by cfg_type
  std::array<bool, spec::kPciConfigBytes / kCapabilityAlign> visited{};
  std::string faults;
  uint32_t at = function.ReadConfig(PciHeader::kCapabilitiesPointerOffset, 1) & ~(kCapabilityAlign - 1);
  while (at != 0) {
    // A pointer has 8 bits: it cannot leave the configuration space, but can point into the header.
    if (at < PciHeader::kBytes) return no_device("the capability list points to " + Hex(at) + ", into the header");
    if (visited[at / kCapabilityAlign]) return no_device("the capability list loops at " + Hex(at));
    visited[at / kCapabilityAlign] = true;
    const auto head = ReadConfigStruct<spec::PciCapability>(function, at);
    const uint32_t here = at;
    at = head.cap_next & ~(kCapabilityAlign - 1);
    if (head.cap_id != spec::PciCapabilityId::kVendorSpecific) continue;
    if (here + VirtioPciCap::kBytes > spec::kPciConfigBytes) {
      faults += "; vendor capability at " + Hex(here) + ": ends beyond the configuration space";
      continue;
    }
    const auto cap = ReadConfigStruct<VirtioPciCap>(function, here);
    BarRegion* region = nullptr;
    switch (cap.cfg_type) {
      case VirtioPciCfgType::kCommonCfg: region = &layout.common; break;
      case VirtioPciCfgType::kNotifyCfg: region = &layout.notify; break;
      case VirtioPciCfgType::kIsrCfg: region = &layout.isr; break;
      case VirtioPciCfgType::kDeviceCfg: region = &layout.device; break;
      default: continue;
    }
    bool& taken = found[static_cast<uint8_t>(cap.cfg_type)];
    if (taken) continue;
    const std::string fault = CapabilityError(function, cap, here);
    if (!fault.empty()) {
      faults += "; " + fault;
      continue;
    }
    taken = true;
    *region = {cap.bar, cap.offset, cap.length};
    if (cap.cfg_type == VirtioPciCfgType::kNotifyCfg) {
      layout.notify_off_multiplier = ReadConfigStruct<spec::VirtioPciNotifyCap>(function, here).notify_off_multiplier;
    }
  }
  for (const VirtioPciCfgType type : {VirtioPciCfgType::kCommonCfg, VirtioPciCfgType::kNotifyCfg,
                                      VirtioPciCfgType::kIsrCfg, VirtioPciCfgType::kDeviceCfg}) {
    if (!found[static_cast<uint8_t>(type)]) {
      return no_device(std::string("no usable capability ") + NameOf(type) + faults);
    }
  }
  return layout;
}

// --- Doorbell --------------------------------------------------------------------------------------------------------

void Doorbell::Ring(const Virtqueue& ring) const {
  if (sends_position_) {
    function_->WriteBar(bar_, offset_, spec::VirtqNotificationData::kBytes, ring.NotificationData(value_));
  } else {
    function_->WriteBar(bar_, offset_, spec::VirtqNotification::kBytes, spec::VirtqNotification{value_}.ToWord());
  }
}

void Doorbell::Push(const Virtqueue& ring, uint64_t address, std::span<const uint8_t> request) const {
  constexpr size_t kWord = spec::RdmaPush::kBytes;
  uint64_t offset = offset_ + spec::kRdmaPushOffset;
  function_->WriteBar(bar_, offset, kWord, address);
  for (size_t at = 0; at < request.size(); at += kWord) {
    uint64_t word = 0;
    for (size_t i = at; i < std::min(at + kWord, request.size()); ++i) word |= uint64_t{request[i]} << 8 * (i - at);
    function_->WriteBar(bar_, offset += kWord, kWord, word);
  }
  const Virtqueue::Place place = ring.NewestPlace();
  const spec::RdmaPush end{
      .position = place.position, .head = place.head, .length = static_cast<uint16_t>(request.size())};
  function_->WriteBar(bar_, offset_ + spec::kRdmaPushEndOffset, kWord, end.ToWord());
}

void Doorbell::ArmCq(const Virtqueue& ring, uint32_t flags) const {
  spec::RdmaCqArm arm;
  arm.seen_used_idx = ring.UsedPosition();
  arm.solicited = (flags & spec::IbNotifyFlags::kSolicited) != 0;
  arm.next_completion = (flags & spec::IbNotifyFlags::kNextCompletion) != 0;
  function_->WriteBar(bar_, offset_ + spec::kRdmaCqArmOffset, spec::RdmaCqArm::kBytes, arm.ToWord());
}

// --- VirtioPci: states -----------------------------------------------------------------------------------------------

Result<VirtioPci> VirtioPci::Open(PciFunction& function) {
  Result<VirtioPciLayout> layout = FindVirtioLayout(function);
  if (!layout.ok()) return layout.error();
  const uint32_t command = function.ReadConfig(PciHeader::kCommandOffset, 2);
  function.WriteConfig(PciHeader::kCommandOffset, 2,
                       command | spec::PciCommand::kMemorySpace | spec::PciCommand::kBusMaster);
  return VirtioPci(function, *layout);
}

uint32_t VirtioPci::Read(size_t field, unsigned bytes) {
  return static_cast<uint32_t>(function_->ReadBar(layout_.common.bar, layout_.common.offset + field, bytes));
}

void VirtioPci::Write(size_t field, unsigned bytes, uint32_t value) {
  function_->WriteBar(layout_.common.bar, layout_.common.offset + field, bytes, value);
}

// As two 32-bit writes, as virtio requires.
void VirtioPci::WriteAddress(size_t field, uint64_t value) {
  Write(field, 4, static_cast<uint32_t>(value));
  Write(field + 4, 4, static_cast<uint32_t>(value >> 32));
}

Status VirtioPci::Lost(const std::string& what) {
  Status health = function_->health();
  if (health.ok()) return {};
  return Error{ErrorCode::kLost, what + ": " + health.error().text};
}

Status VirtioPci::Reset(uint64_t timeout_ns) {
  const uint64_t deadline = function_->NowNs() + timeout_ns;
  status_ = 0;
  features_ = {};
  Write(CommonCfg::kDeviceStatusOffset, 1, 0);
  for (;;) {
    const uint8_t status = ReadStatus();
    if (Status lost = Lost("device reset"); !lost.ok()) return lost;
    if (status == 0) return {};
    const uint64_t now = function_->NowNs();
    if (now >= deadline) {
      return Error{ErrorCode::kTimeout, "device reset is not complete after " + std::to_string(timeout_ns) +
                                            " ns; status " + Hex(status) +
                                            ". Keep its DMA memory or disable bus mastering"};
    }
    function_->Wait(std::min(deadline, now + kPollIntervalNs));
  }
}

void VirtioPci::Acknowledge() {
  status_ |= DeviceStatus::kAcknowledge;
  Write(CommonCfg::kDeviceStatusOffset, 1, status_);
  status_ |= DeviceStatus::kDriver;
  Write(CommonCfg::kDeviceStatusOffset, 1, status_);
}

FeatureSet VirtioPci::OfferedFeatures() {
  FeatureSet offered;
  for (unsigned window = 0; window < FeatureSet::kWindows; ++window) {
    Write(CommonCfg::kDeviceFeatureSelectOffset, 4, window);
    offered.SetWindow(window, Read(CommonCfg::kDeviceFeatureOffset, 4));
  }
  return offered;
}

Status VirtioPci::AcceptFeatures(const FeatureSet& accepted, spec::Profile profile) {
  const FeatureSet missing = accepted - OfferedFeatures();
  if (!missing.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the device does not offer " + NamesOf(missing, profile)};
  }
  const struct {
    Feature feature;
    size_t needs;  // bytes of the common configuration
  } grown[] = {
      {spec::VirtioFeature::kNotifConfigData, CommonCfg::kQueueNotifConfigDataOffset + 2},
      {spec::VirtioFeature::kRingReset, CommonCfg::kQueueResetOffset + 2},
  };
  for (const auto& [feature, needs] : grown) {
    if (accepted.Has(feature) && layout_.common.length < needs) {
      return Error{ErrorCode::kUnsupported,
                   "the device offers " + NamesOf({feature}, profile) + ", but its common configuration of " +
                       std::to_string(layout_.common.length) + " bytes has no register for it"};
    }
  }
  for (unsigned window = 0; window < FeatureSet::kWindows; ++window) {
    Write(CommonCfg::kDriverFeatureSelectOffset, 4, window);
    Write(CommonCfg::kDriverFeatureOffset, 4, accepted.Window(window));
  }
  status_ |= DeviceStatus::kFeaturesOk;
  Write(CommonCfg::kDeviceStatusOffset, 1, status_);
  if ((ReadStatus() & DeviceStatus::kFeaturesOk) == 0) {
    return Error{ErrorCode::kRefused, "the device refuses this set of features: " + NamesOf(accepted, profile)};
  }
  if (Status lost = Lost("feature negotiation"); !lost.ok()) return lost;
  features_ = accepted;
  return {};
}

void VirtioPci::DriverOk() {
  status_ |= DeviceStatus::kDriverOk;
  Write(CommonCfg::kDeviceStatusOffset, 1, status_);
}

void VirtioPci::Fail() {
  status_ |= DeviceStatus::kFailed;
  Write(CommonCfg::kDeviceStatusOffset, 1, status_);
}

uint8_t VirtioPci::ReadStatus() { return static_cast<uint8_t>(Read(CommonCfg::kDeviceStatusOffset, 1)); }

// --- VirtioPci: device configuration ---------------------------------------------------------------------------------

Status VirtioPci::ReadDeviceConfigFields(uint32_t offset, const std::vector<unsigned>& widths, uint8_t* bytes) {
  uint64_t total = 0;
  for (const unsigned width : widths) total += width;
  if (offset + total > layout_.device.length) {
    return Error{ErrorCode::kUnsupported, "the device configuration of " + std::to_string(layout_.device.length) +
                                              " bytes has nothing at " + std::to_string(offset) + " + " +
                                              std::to_string(total)};
  }
  for (int i = 0; i < kConfigReadTries; ++i) {
    const uint8_t before = ReadConfigGeneration();
    uint8_t* to = bytes;
    uint64_t at = layout_.device.offset + offset;
    for (const unsigned width : widths) {
      // A 64-bit field is two accesses of 32 bits; the generation check makes them one.
      for (unsigned done = 0; done < width;) {
        const unsigned step = std::min(width - done, 4U);
        uint64_t value = function_->ReadBar(layout_.device.bar, at, step);
        for (unsigned k = 0; k < step; ++k, value >>= 8) *to++ = static_cast<uint8_t>(value);
        at += step;
        done += step;
      }
    }
    if (Status lost = Lost("device configuration"); !lost.ok()) return lost;
    if (ReadConfigGeneration() == before) return {};
  }
  return Error{ErrorCode::kMisbehaved,
               "the device configuration changed during each of " + std::to_string(kConfigReadTries) + " reads"};
}

uint8_t VirtioPci::ReadConfigGeneration() { return static_cast<uint8_t>(Read(CommonCfg::kConfigGenerationOffset, 1)); }

uint8_t VirtioPci::ReadIsr() {
  return static_cast<uint8_t>(function_->ReadBar(layout_.isr.bar, layout_.isr.offset, 1));
}

Status VirtioPci::SetConfigVector(std::optional<uint16_t> vector) {
  const uint16_t value = vector.value_or(spec::kVirtioMsiNoVector);
  Write(CommonCfg::kConfigMsixVectorOffset, 2, value);
  if (Read(CommonCfg::kConfigMsixVectorOffset, 2) == value) return {};
  return Error{ErrorCode::kRefused, "the device has no resources for vector " + std::to_string(value) +
                                        " for configuration changes; use fewer vectors"};
}

// --- VirtioPci: queues -----------------------------------------------------------------------------------------------

uint16_t VirtioPci::NumQueues() { return static_cast<uint16_t>(Read(CommonCfg::kNumQueuesOffset, 2)); }

Status VirtioPci::SelectQueue(uint16_t queue) {
  if (const uint16_t queues = NumQueues(); queue >= queues) {
    return Error{ErrorCode::kUnsupported,
                 "the device has no queue " + std::to_string(queue) + ", only " + std::to_string(queues) + " queues"};
  }
  Write(CommonCfg::kQueueSelectOffset, 2, queue);
  return {};
}

Result<uint16_t> VirtioPci::MaxQueueSize(uint16_t queue) {
  if (Status selected = SelectQueue(queue); !selected.ok()) return selected.error();
  const auto size = static_cast<uint16_t>(Read(CommonCfg::kQueueSizeOffset, 2));
  if (size == 0) return Error{ErrorCode::kUnsupported, "queue " + std::to_string(queue) + " is not available"};
  return size;
}

Status VirtioPci::EnableQueue(uint16_t queue, uint16_t size, const RingAddresses& addresses,
                              std::optional<uint16_t> vector) {
  const std::string name = "queue " + std::to_string(queue);
  Result<uint16_t> max_size = MaxQueueSize(queue);
  if (Status lost = Lost(name); !lost.ok()) return lost;
  if (!max_size.ok()) return max_size.error();
  if (Read(CommonCfg::kQueueEnableOffset, 2) != 0) {
    return Error{ErrorCode::kBadState, name + " is enabled already; reset it first"};
  }
  if (size > *max_size) {
    return Error{ErrorCode::kUnsupported, name + " takes at most " + std::to_string(*max_size) +
                                              " entries, the ring has " + std::to_string(size)};
  }
  Write(CommonCfg::kQueueSizeOffset, 2, size);
  const uint16_t vector_value = vector.value_or(spec::kVirtioMsiNoVector);
  Write(CommonCfg::kQueueMsixVectorOffset, 2, vector_value);
  if (Read(CommonCfg::kQueueMsixVectorOffset, 2) != vector_value) {
    return Error{ErrorCode::kRefused, "the device has no resources for vector " + std::to_string(vector_value) +
                                          " for " + name + "; use fewer vectors"};
  }
  WriteAddress(CommonCfg::kQueueDescOffset, addresses.descriptors);
  WriteAddress(CommonCfg::kQueueDriverOffset, addresses.driver);
  WriteAddress(CommonCfg::kQueueDeviceOffset, addresses.device);
  Write(CommonCfg::kQueueEnableOffset, 2, 1);
  if (Read(CommonCfg::kQueueEnableOffset, 2) != 1)
    return Error{ErrorCode::kRefused, "the device did not enable " + name};
  return {};
}

Status VirtioPci::ResetQueue(uint16_t queue, uint64_t timeout_ns) {
  const std::string name = "queue " + std::to_string(queue);
  if (!features_.Has(spec::VirtioFeature::kRingReset)) {
    return Error{ErrorCode::kUnsupported,
                 name + " cannot be reset alone: ring_reset is not accepted. Reset the device"};
  }
  if (Status selected = SelectQueue(queue); !selected.ok()) return selected;
  const uint64_t deadline = function_->NowNs() + timeout_ns;
  Write(CommonCfg::kQueueResetOffset, 2, 1);
  for (;;) {
    const uint32_t busy = Read(CommonCfg::kQueueResetOffset, 2);
    if (Status lost = Lost("reset of " + name); !lost.ok()) return lost;
    if (busy == 0) break;
    const uint64_t now = function_->NowNs();
    if (now >= deadline) {
      return Error{ErrorCode::kTimeout, "reset of " + name + " is not complete after " + std::to_string(timeout_ns) +
                                            " ns; its buffers still belong to the device"};
    }
    function_->Wait(std::min(deadline, now + kPollIntervalNs));
  }
  if (Read(CommonCfg::kQueueEnableOffset, 2) != 0) {
    return Error{ErrorCode::kMisbehaved, name + " is still enabled after its reset; reset the device"};
  }
  return {};
}

Result<Doorbell> VirtioPci::DoorbellOf(uint16_t queue) {
  if (Status selected = SelectQueue(queue); !selected.ok()) return selected.error();
  const uint64_t page = Read(CommonCfg::kQueueNotifyOffOffset, 2);
  const bool sends_position = features_.Has(spec::VirtioFeature::kNotificationData);
  const uint16_t value = features_.Has(spec::VirtioFeature::kNotifConfigData)
                             ? static_cast<uint16_t>(Read(CommonCfg::kQueueNotifConfigDataOffset, 2))
                             : queue;
  const uint64_t offset = page * layout_.notify_off_multiplier;
  const uint64_t bytes = sends_position ? spec::VirtqNotificationData::kBytes : spec::VirtqNotification::kBytes;
  if (offset + bytes > layout_.notify.length) {
    return Error{ErrorCode::kMisbehaved, "the doorbell of queue " + std::to_string(queue) + " at " + Hex(offset) +
                                             " is outside the notify region of " + Hex(layout_.notify.length) +
                                             " bytes"};
  }
  return Doorbell(*function_, layout_.notify.bar, layout_.notify.offset + offset, value, sends_position);
}

}  // namespace vireo::host
