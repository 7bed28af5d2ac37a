// SPDX-License-Identifier: Apache-2.0
#include "verif/host/driver/mock_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace vireo::sim {
namespace {

using spec::NetFeature;
using spec::VirtioFeature;
using Common = spec::VirtioPciCommonCfg;
using DeviceStatus = spec::VirtioDeviceStatus;

constexpr uint64_t kAccessNs = 100;
constexpr uint64_t kPage = 4096;

}  // namespace

MockFeatures AllMockFeatures() {
  MockFeatures features;
  for (const auto bit : {VirtioFeature::kRingIndirectDesc, VirtioFeature::kRingEventIdx, VirtioFeature::kVersion1,
                         VirtioFeature::kAccessPlatform, VirtioFeature::kOrderPlatform, VirtioFeature::kRingReset}) {
    features.set(static_cast<size_t>(bit));
  }
  for (const auto bit : {NetFeature::kMtu, NetFeature::kMac, NetFeature::kMrgRxbuf, NetFeature::kStatus,
                         NetFeature::kCtrlVq, NetFeature::kCtrlRx, NetFeature::kCtrlVlan, NetFeature::kCtrlRxExtra,
                         NetFeature::kMq, NetFeature::kCtrlMacAddr, NetFeature::kSpeedDuplex}) {
    features.set(static_cast<size_t>(bit));
  }
  return features;
}

// --- Memory ----------------------------------------------------------------------------------------------------------

class MockDevice::Memory final : public host::DmaMemory {
 public:
  Memory(MockDevice& device, uint8_t* data, uint64_t address, size_t size, bool owned)
      : DmaMemory(data, address, size), device_(device), owned_(owned ? data : nullptr, &std::free) {}
  ~Memory() override { device_.memory_.erase(address()); }

 private:
  MockDevice& device_;
  std::unique_ptr<uint8_t, decltype(&std::free)> owned_;
};

host::Result<host::DmaBuffer> MockDevice::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || alignment == 0 || alignment > kPage || (alignment & (alignment - 1)) != 0) {
    Violation("AllocateDma(" + std::to_string(bytes) + ", " + std::to_string(alignment) + ")");
  }
  // Exactly the requested alignment, with the end of the allocation at the end of the buffer, so that the sanitizer
  // detects overruns.
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* data = static_cast<uint8_t*>(
      std::aligned_alloc(std::max(alignment, alignof(std::max_align_t)), std::max(rounded, alignof(std::max_align_t))));
  if (data == nullptr) return host::Error{host::ErrorCode::kNoMemory, "out of memory"};
  std::memset(data, 0, bytes);
  const uint64_t address = next_address_ + alignment;
  next_address_ = (address + bytes + 2 * kPage) / kPage * kPage;
  memory_[address] = {data, bytes};
  return host::DmaBuffer(new Memory(*this, data, address, bytes, true));
}

host::Result<host::DmaBuffer> MockDevice::MapDma(uint8_t* memory, size_t bytes) {
  const uint64_t address = next_address_;
  next_address_ += (bytes + 2 * kPage) / kPage * kPage;
  memory_[address] = {memory, bytes};
  return host::DmaBuffer(new Memory(*this, memory, address, bytes, false));
}

uint8_t* MockDevice::At(uint64_t address, uint64_t bytes) {
  if (!bus_master()) return nullptr;
  auto it = memory_.upper_bound(address);
  if (it == memory_.begin()) return nullptr;
  --it;
  const uint64_t offset = address - it->first;
  if (offset > it->second.second || bytes > it->second.second - offset) return nullptr;
  return it->second.first + offset;
}

// --- Set-up ----------------------------------------------------------------------------------------------------------

MockDevice::MockDevice(const MockDeviceOptions& options)
    : options_(options), constants_(spec::ConstantsOf(options.profile)), offered_(options.offered) {
  if (options.roce) offered_.set(constants_.net_f_roce);
  BuildConfigSpace();
  bars_[spec::kBarVirtio] = spec::kBarVirtioBytes;
  bars_[spec::kBarMsix] = spec::kBarMsixBytes;
  const uint8_t mac[] = {0x02, 0, 0, 0xaa, 0xbb, 0xcc};
  std::copy(std::begin(mac), std::end(mac), std::begin(net_config_.mac));
  net_config_.status = spec::NetStatus::kLinkUp;
  net_config_.max_virtqueue_pairs = options.net_pairs;
  net_config_.mtu = options.mtu;
  if (options.roce) rdma_config_ = {.max_rdma_qps = options.qps, .max_rdma_cqs = options.cqs};
  queues_.resize(options.net_pairs * 2U + 1 +
                 (options.roce ? options.cqs + 2 * options.qps + constants_.rdma_event_queues : 0));
  messages_.resize(options.vectors);
  pending_.resize(options.vectors);
  ClearState();
}

MockDevice::~MockDevice() {
  if (!memory_.empty()) std::abort();  // DMA memory must not outlive its function
}

void MockDevice::BuildConfigSpace() {
  config_space_.assign(spec::kPciConfigBytes, 0);
  spec::PciHeader header;
  header.vendor_id = spec::kPciVendorId;
  header.device_id = spec::kPciDeviceId;
  header.status = spec::PciStatus::kCapabilitiesList;
  header.revision_id = spec::kPciRevisionId;
  header.class_code = spec::kPciClassCode;
  header.capabilities_pointer = spec::kPciCapAtCommonCfg;
  header.Encode(config_space_.data());
  const auto cap = [](spec::VirtioPciCfgType type, uint8_t next, uint8_t bytes, uint32_t offset, uint32_t length) {
    spec::VirtioPciCap result;
    result.cap_vndr = spec::PciCapabilityId::kVendorSpecific;
    result.cap_next = next;
    result.cap_len = bytes;
    result.cfg_type = type;
    result.bar = spec::kBarVirtio;
    result.offset = offset;
    result.length = length;
    return result;
  };
  using Type = spec::VirtioPciCfgType;
  constexpr uint8_t bytes = spec::VirtioPciCap::kBytes;
  cap(Type::kCommonCfg, spec::kPciCapAtNotifyCfg, bytes, spec::kBarVirtioCommonCfg, spec::kBarVirtioCfgBytes)
      .Encode(&config_space_[spec::kPciCapAtCommonCfg]);
  spec::VirtioPciNotifyCap notify;
  notify.cap = cap(Type::kNotifyCfg, spec::kPciCapAtIsrCfg, spec::VirtioPciNotifyCap::kBytes, spec::kBarVirtioNotify,
                   spec::kBarVirtioNotifyBytes);
  notify.notify_off_multiplier = spec::kNotifyOffMultiplier;
  notify.Encode(&config_space_[spec::kPciCapAtNotifyCfg]);
  cap(Type::kIsrCfg, spec::kPciCapAtDeviceCfg, bytes, spec::kBarVirtioIsrCfg, spec::kBarVirtioCfgBytes)
      .Encode(&config_space_[spec::kPciCapAtIsrCfg]);
  cap(Type::kDeviceCfg, spec::kPciCapAtPciCfg, bytes, spec::kBarVirtioDeviceCfg, spec::kBarVirtioCfgBytes)
      .Encode(&config_space_[spec::kPciCapAtDeviceCfg]);
  spec::VirtioPciCfgCap window;
  window.cap = cap(Type::kPciCfg, spec::kPciCapAtMsix, spec::VirtioPciCfgCap::kBytes, 0, 0);
  window.Encode(&config_space_[spec::kPciCapAtPciCfg]);
  spec::MsixCap msix;
  msix.cap_id = spec::PciCapabilityId::kMsix;
  msix.cap_next = spec::kPciCapAtPcie;
  msix.Encode(&config_space_[spec::kPciCapAtMsix]);
  config_space_[spec::kPciCapAtPcie] = static_cast<uint8_t>(spec::PciCapabilityId::kPciExpress);
  config_space_[spec::kPciCapAtPcie + 1] = spec::kPciCapAtPm;
  config_space_[spec::kPciCapAtPm] = static_cast<uint8_t>(spec::PciCapabilityId::kPowerManagement);
}

unsigned MockDevice::control_index() const { return Has(NetFeature::kMq) ? 2U * options_.net_pairs : 2U; }
unsigned MockDevice::event_index() const { return control_index() + options_.cqs + 2 * options_.qps + 1; }

bool MockDevice::bus_master() const {
  return (config_space_[spec::PciHeader::kCommandOffset] & spec::PciCommand::kBusMaster) != 0;
}

host::Status MockDevice::health() const {
  if (lost_) return host::Error{host::ErrorCode::kLost, "function removed by the test"};
  return {};
}

// --- Configuration space ---------------------------------------------------------------------------------------------

uint32_t MockDevice::ReadConfig(uint32_t offset, unsigned bytes) {
  now_ns_ += kAccessNs;
  if (lost_) return ~uint32_t{0};
  if (offset % bytes != 0 || offset + bytes > config_space_.size()) {
    Violation("configuration read of " + std::to_string(bytes) + " bytes at " + std::to_string(offset));
    return 0;
  }
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint32_t{config_space_[offset + i]} << (8 * i);
  return value;
}

void MockDevice::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  now_ns_ += kAccessNs;
  if (lost_) return;
  if (offset != spec::PciHeader::kCommandOffset || bytes != 2)
    Violation("configuration write at " + std::to_string(offset));
  for (unsigned i = 0; i < bytes; ++i) config_space_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

// --- BAR -------------------------------------------------------------------------------------------------------------

uint64_t MockDevice::BarBytes(unsigned bar) const {
  const auto it = bars_.find(bar);
  return it == bars_.end() ? 0 : it->second;
}

uint64_t MockDevice::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  now_ns_ += kAccessNs;
  if (lost_) return ~uint64_t{0};
  if (bar != spec::kBarVirtio || offset % bytes != 0) {
    Violation("BAR read " + std::to_string(bar) + "+" + std::to_string(offset));
    return 0;
  }
  if (offset < spec::kBarVirtioIsrCfg) return ReadCommon(offset, bytes);
  if (offset == spec::kBarVirtioIsrCfg && bytes == 1) return std::exchange(isr_, uint8_t{0});
  const std::vector<uint8_t> config = DeviceConfigBytes();
  if (offset >= spec::kBarVirtioDeviceCfg && offset + bytes <= spec::kBarVirtioDeviceCfg + config.size()) {
    if (unstable_reads > 0) {
      --unstable_reads;
      ++generation_;
      net_config_.mtu = static_cast<uint16_t>(net_config_.mtu ^ 0xffff);
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      value |= uint64_t{config[offset - spec::kBarVirtioDeviceCfg + i]} << (8 * i);
    }
    return value;
  }
  if (offset >= spec::kBarVirtioDeviceCfg && offset < spec::kBarVirtioDeviceCfg + spec::kBarVirtioCfgBytes) return 0;
  Violation("BAR read at " + std::to_string(offset));
  return 0;
}

std::vector<uint8_t> MockDevice::DeviceConfigBytes() const {
  std::vector<uint8_t> bytes(256);
  net_config_.Encode(bytes.data());
  if (rdma_config_.max_rdma_qps != 0) rdma_config_.Encode(bytes.data() + constants_.net_config_rdma_offset);
  return bytes;
}

void MockDevice::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  now_ns_ += kAccessNs;
  if (lost_) return;
  if (bar != spec::kBarVirtio || offset % bytes != 0) {
    Violation("BAR write " + std::to_string(bar) + "+" + std::to_string(offset));
  } else if (offset >= spec::kBarVirtioNotify) {
    WriteNotify(offset - spec::kBarVirtioNotify, bytes, value);
  } else if (offset < spec::kBarVirtioIsrCfg) {
    WriteCommon(offset, bytes, static_cast<uint32_t>(value));
  } else {
    Violation("BAR write at " + std::to_string(offset));
  }
}

void MockDevice::WriteNotify(uint64_t offset, unsigned bytes, uint64_t value) {
  const uint64_t index = offset / spec::kNotifyOffMultiplier;
  const uint64_t place = offset % spec::kNotifyOffMultiplier;
  if (index >= queues_.size()) return Violation("doorbell of queue " + std::to_string(index));
  Queue& queue = queues_[index];
  if ((status_ & DeviceStatus::kDriverOk) == 0) Violation("doorbell before driver_ok");
  if (place == spec::kRdmaCqArmOffset) {
    if (!constants_.rdma_has_cq_arm || bytes != 4) Violation("CQ arm");
    queue.arms.push_back(static_cast<uint32_t>(value));
    return;
  }
  if (constants_.rdma_has_additions && bytes == spec::RdmaPush::kBytes) {
    queue.pushed.emplace_back(place, value);
    return;
  }
  if (place != spec::kNotifyPageQueue) return Violation("doorbell page offset " + std::to_string(place));
  if (!queue.enabled) Violation("doorbell of queue " + std::to_string(index) + ", which is not enabled");
  if (bytes != (Has(VirtioFeature::kNotificationData) ? 4U : 2U))
    Violation("doorbell of " + std::to_string(bytes) + " bytes");
  const uint64_t sent = value & 0xffff;
  const uint64_t expected = Has(VirtioFeature::kNotifConfigData) ? index + 1000 : index;
  if (sent != expected) Violation("doorbell of queue " + std::to_string(index) + " carries " + std::to_string(sent));
  queue.kicked = true;
  queue.last_doorbell = value;
  ++queue.doorbells;
}

uint64_t MockDevice::ReadCommon(uint64_t offset, unsigned bytes) {
  if (offset + bytes > common_length) Violation("read beyond the common configuration");
  const auto width = [&](unsigned expected) {
    if (bytes != expected)
      Violation("common configuration read of " + std::to_string(bytes) + " bytes at " + std::to_string(offset));
  };
  const bool selected = select_ < queues_.size();
  Queue none;
  Queue& queue = selected ? queues_[select_] : none;
  switch (offset) {
    case Common::kDeviceFeatureOffset: {
      width(4);
      uint32_t window = 0;
      for (size_t i = 0; i < 32; ++i) {
        const size_t bit = size_t{device_feature_select_} * 32 + i;
        if (bit < offered_.size() && offered_[bit]) window |= uint32_t{1} << i;
      }
      return window;
    }
    case Common::kConfigMsixVectorOffset: width(2); return config_vector_;
    case Common::kNumQueuesOffset: width(2); return override_num_queues != 0 ? override_num_queues : queues_.size();
    case Common::kDeviceStatusOffset:
      width(1);
      if (resetting_ > 0 && !never_resets && --resetting_ == 0) ClearState();
      return status_;
    case Common::kConfigGenerationOffset: width(1); return generation_;
    case Common::kQueueSizeOffset: width(2); return selected ? queue.size : 0;
    case Common::kQueueMsixVectorOffset: width(2); return queue.vector;
    case Common::kQueueEnableOffset: width(2); return queue.enabled ? 1 : 0;
    case Common::kQueueNotifyOffOffset: width(2); return select_;
    case Common::kQueueNotifConfigDataOffset: width(2); return select_ + 1000U;
    case Common::kQueueResetOffset:
      width(2);
      if (queue.resetting > 0 && !never_resets && --queue.resetting == 0) {
        queue.enabled = false;
        queue.size = options_.max_queue_size;
        queue.vector = spec::kVirtioMsiNoVector;
      }
      return queue.resetting > 0 ? 1 : 0;
    default: Violation("common configuration read at " + std::to_string(offset)); return 0;
  }
}

void MockDevice::WriteCommon(uint64_t offset, unsigned bytes, uint32_t value) {
  if (offset + bytes > common_length) Violation("write beyond the common configuration");
  const auto width = [&](unsigned expected) {
    if (bytes != expected)
      Violation("common configuration write of " + std::to_string(bytes) + " bytes at " + std::to_string(offset));
  };
  Queue none;
  Queue& queue = select_ < queues_.size() ? queues_[select_] : none;
  const auto set_up = [&] {
    if (queue.enabled) Violation("set-up of queue " + std::to_string(select_) + ", which is enabled");
    if ((status_ & DeviceStatus::kFeaturesOk) == 0) Violation("queue set-up before features_ok");
  };
  const auto half = [&](uint64_t& field, bool high) {
    width(4);
    set_up();
    field = high ? (field & 0xffff'ffff) | uint64_t{value} << 32 : (field & ~uint64_t{0xffff'ffff}) | value;
  };
  switch (offset) {
    case Common::kDeviceFeatureSelectOffset:
      width(4);
      device_feature_select_ = value;
      break;
    case Common::kDriverFeatureSelectOffset:
      width(4);
      driver_feature_select_ = value;
      break;
    case Common::kDriverFeatureOffset:
      width(4);
      if ((status_ & DeviceStatus::kFeaturesOk) != 0) Violation("features written after features_ok");
      for (size_t i = 0; i < 32; ++i) {
        const size_t bit = size_t{driver_feature_select_} * 32 + i;
        if (bit < accepted_.size()) accepted_[bit] = (value >> i & 1) != 0;
      }
      break;
    case Common::kConfigMsixVectorOffset:
      width(2);
      config_vector_ = value < options_.device_vectors ? static_cast<uint16_t>(value) : spec::kVirtioMsiNoVector;
      break;
    case Common::kDeviceStatusOffset:
      width(1);
      WriteStatus(static_cast<uint8_t>(value));
      break;
    case Common::kQueueSelectOffset:
      width(2);
      select_ = static_cast<uint16_t>(value);
      break;
    case Common::kQueueSizeOffset:
      width(2);
      set_up();
      if (value == 0 || value > options_.max_queue_size) Violation("queue size " + std::to_string(value));
      if (!Has(VirtioFeature::kRingPacked) && (value & (value - 1)) != 0)
        Violation("queue size " + std::to_string(value));
      queue.size = static_cast<uint16_t>(value);
      break;
    case Common::kQueueMsixVectorOffset:
      width(2);
      queue.vector = value < options_.device_vectors ? static_cast<uint16_t>(value) : spec::kVirtioMsiNoVector;
      break;
    case Common::kQueueDescOffset: half(queue.descriptors, false); break;
    case Common::kQueueDescOffset + 4: half(queue.descriptors, true); break;
    case Common::kQueueDriverOffset: half(queue.driver, false); break;
    case Common::kQueueDriverOffset + 4: half(queue.driver, true); break;
    case Common::kQueueDeviceOffset: half(queue.device, false); break;
    case Common::kQueueDeviceOffset + 4: half(queue.device, true); break;
    case Common::kQueueEnableOffset:
      width(2);
      set_up();
      if (value != 1) Violation("queue_enable " + std::to_string(value));
      EnableSelected();
      break;
    case Common::kQueueResetOffset:
      width(2);
      if (value != 1 || !Has(VirtioFeature::kRingReset)) Violation("queue_reset " + std::to_string(value));
      if (queue.ring != nullptr) {
        const auto& broken = queue.ring->violations();
        ring_violations_.insert(ring_violations_.end(), broken.begin(), broken.end());
      }
      queue.resetting = options_.reset_reads + 1;
      queue.ring.reset();
      queue.chains.clear();
      queue.kicked = false;
      ++queue.resets;
      break;
    default: Violation("common configuration write at " + std::to_string(offset));
  }
}

void MockDevice::EnableSelected() {
  Queue& queue = queues_[select_];
  const bool packed = Has(VirtioFeature::kRingPacked);
  const MockRingSetup setup{.size = queue.size,
                            .descriptors = queue.descriptors,
                            .driver = queue.driver,
                            .device = queue.device,
                            .event_idx = Has(VirtioFeature::kRingEventIdx),
                            .indirect = Has(VirtioFeature::kRingIndirectDesc)};
  // Size and alignment of each area, from virtio.toml.
  const uint64_t size = queue.size;
  const uint64_t driver_bytes = packed
                                    ? spec::PvirtqEventSuppress::kBytes
                                    : spec::VirtqAvail::kBytes + size * sizeof(uint16_t) + spec::VirtqUsedEvent::kBytes;
  const uint64_t device_bytes =
      packed ? spec::PvirtqEventSuppress::kBytes
             : spec::VirtqUsed::kBytes + size * spec::VirtqUsedElem::kBytes + spec::VirtqAvailEvent::kBytes;
  const uint64_t descriptor_align = packed ? spec::kPvirtqDescAlign : spec::kVirtqDescAlign;
  const uint64_t driver_align = packed ? spec::kPvirtqEventSuppressAlign : spec::kVirtqAvailAlign;
  const uint64_t device_align = packed ? spec::kPvirtqEventSuppressAlign : spec::kVirtqUsedAlign;
  if (At(queue.descriptors, spec::VirtqDesc::kBytes * size) == nullptr || At(queue.driver, driver_bytes) == nullptr ||
      At(queue.device, device_bytes) == nullptr || queue.descriptors % descriptor_align != 0 ||
      queue.driver % driver_align != 0 || queue.device % device_align != 0) {
    return Violation("ring of queue " + std::to_string(select_) + " is outside DMA memory or not aligned");
  }
  queue.ring = packed ? MakeMockPackedRing(*this, setup) : MakeMockSplitRing(*this, setup);
  queue.enabled = true;
}

bool MockDevice::FeaturesAreGood() const {
  if (options_.refuse_features || (accepted_ & ~offered_).any() || !Has(VirtioFeature::kVersion1)) return false;
  if (accepted_[constants_.net_f_roce] && options_.roce) {
    if (!Has(NetFeature::kCtrlVq)) return false;
    if (constants_.rdma_needs_ring_reset && !Has(VirtioFeature::kRingReset)) return false;
  }
  return true;
}

void MockDevice::WriteStatus(uint8_t value) {
  if (value == 0) {
    for (Queue& queue : queues_) {
      if (queue.ring == nullptr) continue;
      const auto& broken = queue.ring->violations();
      ring_violations_.insert(ring_violations_.end(), broken.begin(), broken.end());
      queue.ring.reset();
    }
    // Status 0 means that the reset is complete.
    resetting_ = status_ == 0 ? 0 : options_.reset_reads + 1;
    if (resetting_ == 0) ClearState();
    return;
  }
  if (resetting_ > 0) Violation("status written during a reset");
  if ((status_ & ~value & ~DeviceStatus::kDeviceNeedsReset) != 0) Violation("status bits cleared");
  const auto added = static_cast<uint8_t>(value & ~status_);
  if ((added & DeviceStatus::kDriver) != 0 && (status_ & DeviceStatus::kAcknowledge) == 0)
    Violation("driver before acknowledge");
  if ((added & DeviceStatus::kFeaturesOk) != 0) {
    if ((status_ & DeviceStatus::kDriver) == 0) Violation("features_ok before driver");
    if (!FeaturesAreGood()) value = static_cast<uint8_t>(value & ~DeviceStatus::kFeaturesOk);
  }
  if ((added & DeviceStatus::kDriverOk) != 0 && (status_ & DeviceStatus::kFeaturesOk) == 0)
    Violation("driver_ok before features_ok");
  status_ = value;
}

void MockDevice::ClearState() {
  status_ = 0;
  accepted_.reset();
  config_vector_ = spec::kVirtioMsiNoVector;
  isr_ = 0;
  for (Queue& queue : queues_) {
    queue = Queue{};
    queue.size = options_.max_queue_size;
  }
}

// --- Interrupts and time ---------------------------------------------------------------------------------------------

host::Status MockDevice::EnableMsix(unsigned count) {
  if (count > options_.vectors) return host::Error{host::ErrorCode::kInvalidArgument, "too many vectors"};
  msix_count_ = count;
  return {};
}

void MockDevice::Message(unsigned vector) {
  if (vector >= msix_count_ || !bus_master()) return;
  pending_[vector] = true;
  ++messages_[vector];
  message_since_wait_ = true;
}

bool MockDevice::TakeInterrupt(unsigned vector) {
  if (vector >= msix_count_) Violation("TakeInterrupt(" + std::to_string(vector) + ")");
  const bool pending = pending_[vector];
  pending_[vector] = false;
  return pending;
}

void MockDevice::Wait(uint64_t deadline_ns) {
  if (!lost_) Work();
  now_ns_ += kAccessNs;
  if (!message_since_wait_) now_ns_ = std::max(now_ns_, deadline_ns);
  message_since_wait_ = false;
}

// --- Work ------------------------------------------------------------------------------------------------------------

void MockDevice::Work() {
  if (unresponsive || (status_ & DeviceStatus::kDriverOk) == 0) return;
  for (unsigned index = 0; index < queues_.size(); ++index) {
    Queue& queue = queues_[index];
    if (!queue.enabled || !queue.kicked || queue.ring == nullptr) continue;
    queue.kicked = false;
    for (;;) {
      std::optional<MockChain> chain = queue.ring->Fetch();
      if (!chain.has_value()) {
        queue.ring->EnableDoorbell();
        if (queue.ring->AvailableEnd() == queue.ring->fetched() || !queue.ring->violations().empty()) break;
        continue;
      }
      if (index == control_index()) {
        Control(*chain);
      } else if (index < control_index() && index % 2 == 1) {
        Transmit(index, *chain);
      } else {
        queue.chains.push_back(*chain);
      }
    }
  }
}

std::vector<uint8_t> MockDevice::Gather(const MockChain& chain) {
  std::vector<uint8_t> bytes;
  for (const MockSegment& segment : chain.segments) {
    const uint8_t* from = At(segment.address, segment.bytes);
    if (!segment.writable && from != nullptr) bytes.insert(bytes.end(), from, from + segment.bytes);
  }
  return bytes;
}

uint32_t MockDevice::Scatter(const MockChain& chain, const std::vector<uint8_t>& bytes) {
  size_t done = 0;
  for (const MockSegment& segment : chain.segments) {
    if (!segment.writable) continue;
    const size_t step = std::min<size_t>(segment.bytes, bytes.size() - done);
    if (step > 0) std::memcpy(At(segment.address, segment.bytes), bytes.data() + done, step);
    done += step;
  }
  return static_cast<uint32_t>(done);
}

void MockDevice::UseChain(unsigned index, const MockChain& chain, uint32_t written) {
  Queue& queue = queues_[index];
  queue.ring->Use(chain, written);
  if (queue.ring->PublishUsed() && queue.vector != spec::kVirtioMsiNoVector) Message(queue.vector);
}

void MockDevice::Control(const MockChain& chain) {
  const std::vector<uint8_t> request = Gather(chain);
  std::vector<uint8_t> response = {0};
  if (on_control) response = on_control(request, chain.Room());
  const uint32_t written = Scatter(chain, response);
  UseChain(control_index(), chain, control_length < 0 ? written : static_cast<uint32_t>(control_length));
}

void MockDevice::Transmit(unsigned index, const MockChain& chain) {
  const std::vector<uint8_t> packet = Gather(chain);
  if (packet.size() <= spec::NetHdr::kBytes) Violation("a transmit buffer without packet");
  UseChain(index, chain, 0);
  if (loopback) Deliver(index - 1, packet);
}

void MockDevice::Deliver(unsigned rx_index, const std::vector<uint8_t>& packet) {
  Queue& queue = queues_[rx_index];
  if (queue.ring == nullptr) return;
  while (std::optional<MockChain> chain = queue.ring->Fetch()) queue.chains.push_back(*chain);
  queue.ring->EnableDoorbell();
  uint64_t room = 0;
  size_t count = 0;
  while (room < packet.size()) {
    if (count == queue.chains.size()) return;  // no buffers: drop the packet
    room += queue.chains[count++].Room();
    if (!Has(NetFeature::kMrgRxbuf)) break;
  }
  if (room < packet.size()) return Violation("a receive buffer of " + std::to_string(room) + " bytes");
  spec::NetHdr header = spec::NetHdr::Decode(packet.data());
  if (header.num_buffers != 0) Violation("num_buffers of a sent packet");
  header.num_buffers = static_cast<uint16_t>(count);
  if (on_receive_header) on_receive_header(header);
  std::vector<uint8_t> bytes = packet;
  header.Encode(bytes.data());
  size_t done = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t step = std::min<size_t>(queue.chains[i].Room(), bytes.size() - done);
    Scatter(queue.chains[i],
            {bytes.begin() + static_cast<ptrdiff_t>(done), bytes.begin() + static_cast<ptrdiff_t>(done + step)});
    queue.ring->Use(queue.chains[i], static_cast<uint32_t>(step));
    done += step;
  }
  queue.chains.erase(queue.chains.begin(), queue.chains.begin() + static_cast<ptrdiff_t>(count));
  if (queue.ring->PublishUsed() && queue.vector != spec::kVirtioMsiNoVector) Message(queue.vector);
}

bool MockDevice::SendEvent(const spec::RdmaEvent& event) {
  Queue& queue = queues_[event_index()];
  while (std::optional<MockChain> chain = queue.ring->Fetch()) queue.chains.push_back(*chain);
  queue.ring->EnableDoorbell();
  if (queue.chains.empty()) return false;
  std::vector<uint8_t> bytes(spec::RdmaEvent::kBytes);
  event.Encode(bytes.data());
  const MockChain chain = queue.chains.front();
  queue.chains.erase(queue.chains.begin());
  UseChain(event_index(), chain, Scatter(chain, bytes));
  return true;
}

void MockDevice::ChangeConfig() {
  net_config_.status ^= spec::NetStatus::kLinkUp;
  ++generation_;
  isr_ |= spec::VirtioIsr::kDeviceConfig;
  if (config_vector_ != spec::kVirtioMsiNoVector) Message(config_vector_);
}

void MockDevice::NeedReset() {
  status_ |= DeviceStatus::kDeviceNeedsReset;
  isr_ |= spec::VirtioIsr::kDeviceConfig;
  if (config_vector_ != spec::kVirtioMsiNoVector) Message(config_vector_);
}

std::vector<std::string> MockDevice::violations() const {
  std::vector<std::string> all = violations_;
  all.insert(all.end(), ring_violations_.begin(), ring_violations_.end());
  for (const Queue& queue : queues_) {
    if (queue.ring == nullptr) continue;
    all.insert(all.end(), queue.ring->violations().begin(), queue.ring->violations().end());
  }
  return all;
}

}  // namespace vireo::sim
