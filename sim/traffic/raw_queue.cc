// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/raw_queue.h"

namespace vireo::sim {
namespace {

using Common = spec::VirtioPciCommonCfg;

uint32_t ReadCommon(RdmaHost& host, size_t field, unsigned bytes) {
  const host::BarRegion& common = host.device().net().pci().layout().common;
  return static_cast<uint32_t>(host.function().ReadBar(common.bar, common.offset + field, bytes));
}

uint64_t ReadAddress(RdmaHost& host, size_t field) {
  return ReadCommon(host, field, 4) | uint64_t{ReadCommon(host, field + 4, 4)} << 32;
}

}  // namespace

std::optional<RawRing> FindRing(RdmaHost& host, uint16_t index) {
  const host::BarRegion& common = host.device().net().pci().layout().common;
  host.function().WriteBar(common.bar, common.offset + Common::kQueueSelectOffset, 2, index);
  RawRing ring{.index = index,
               .size = static_cast<uint16_t>(ReadCommon(host, Common::kQueueSizeOffset, 2)),
               .packed = host.device().net().features().Has(spec::VirtioFeature::kRingPacked)};
  HostMemory& memory = host.station().memory();
  ring.address = ReadAddress(host, Common::kQueueDescOffset);
  ring.descriptors = memory.HostPointer(ring.address, size_t{ring.size} * spec::VirtqDesc::kBytes);
  if (!ring.packed) {
    ring.available = memory.HostPointer(ReadAddress(host, Common::kQueueDriverOffset),
                                        spec::VirtqAvail::kBytes + size_t{ring.size} * sizeof(uint16_t));
    ring.used_address = ReadAddress(host, Common::kQueueDeviceOffset);
    ring.used_bytes = spec::VirtqUsed::kBytes + uint64_t{ring.size} * spec::VirtqUsedElem::kBytes;
    ring.used = memory.HostPointer(ring.used_address, spec::VirtqUsed::kBytes);
  } else {
    ring.used_address = ring.address;
    ring.used_bytes = uint64_t{ring.size} * spec::PvirtqDesc::kBytes;
  }
  const bool found = ring.size != 0 && ring.descriptors != nullptr &&
                     (ring.packed || (ring.available != nullptr && ring.used != nullptr));
  return found ? std::optional(ring) : std::nullopt;
}

unsigned DoorbellBytes(RdmaHost& host) {
  return host.device().net().features().Has(spec::VirtioFeature::kNotificationData)
             ? spec::VirtqNotificationData::kBytes
             : spec::VirtqNotification::kBytes;
}

bool RingRawDoorbell(RdmaHost& host, uint16_t index, uint64_t position) {
  auto doorbell = host.device().net().pci().DoorbellOf(index);
  if (!doorbell.ok()) return false;
  host.function().WriteBar(doorbell->bar(), doorbell->offset(), DoorbellBytes(host), index | (position & 0xffff) << 16);
  return true;
}

verbs::Status SetWindow(RdmaHost& host, uint16_t index, uint64_t base, uint64_t bytes) {
  return host.device().net().roce().SetWindow(
      {.vq_index = index, .flags = spec::RdmaWindowFlags::kEnable, .base = base, .length = bytes});
}

verbs::Status SetWindowAroundBuffers(RdmaHost& host, const RawRing& ring) {
  const auto [first, end] = BuffersIn(ring);
  if (first >= end) return host::Error{host::ErrorCode::kBadState, "no buffers in the ring"};
  return SetWindow(host, ring.index, first, end - first);
}

}  // namespace vireo::sim
