// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/raw_ring.h"

namespace vireo::verif {
namespace {

using Common = spec::VirtioPciCommonCfg;
using DescFlags = spec::VirtqDescFlags;

uint16_t Get16(const uint8_t* at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
void Put16(uint8_t* at, uint64_t value) {
  at[0] = static_cast<uint8_t>(value);
  at[1] = static_cast<uint8_t>(value >> 8);
}

}  // namespace

RawRing::Position RawRing::Next() const {
  if (!packed) return {available_index(), 0};
  // The driver's lap shows in the descriptors that it has made available in it, or the lap before.
  uint16_t lap = Get(0).flags & DescFlags::kAvail;
  uint64_t place = 0;
  while (place < size && (Get(place).flags & DescFlags::kAvail) == lap) ++place;
  if (place == size) place = 0, lap ^= DescFlags::kAvail;
  return {place, lap != 0 ? lap : DescFlags::kUsed};
}

RingDescriptor RawRing::Get(size_t place) const {
  const uint8_t* at = descriptors + place * spec::VirtqDesc::kBytes;
  if (packed) {
    const auto raw = spec::PvirtqDesc::Decode(at);
    return {raw.addr, raw.len, raw.flags, raw.id};
  }
  const auto raw = spec::VirtqDesc::Decode(at);
  return {raw.addr, raw.len, raw.flags, raw.next};
}

void RawRing::Put(size_t place, const RingDescriptor& to) const {
  uint8_t* at = descriptors + place * spec::VirtqDesc::kBytes;
  if (packed) {
    spec::PvirtqDesc{.addr = to.address, .len = to.bytes, .id = to.link, .flags = to.flags}.Encode(at);
  } else {
    spec::VirtqDesc{.addr = to.address, .len = to.bytes, .flags = to.flags, .next = to.link}.Encode(at);
  }
}

void RawRing::PutHead(uint64_t position, uint64_t head) const {
  Put16(available + spec::VirtqAvail::kBytes + position % size * sizeof(uint16_t), head);
}

uint16_t RawRing::available_index() const { return Get16(available + spec::VirtqAvail::kIdxOffset); }

void RawRing::PutAvailableIndex(uint64_t to) const { Put16(available + spec::VirtqAvail::kIdxOffset, to); }

std::optional<RawRing> FindRing(RdmaHost& host, uint16_t index) {
  host::VirtioNetDevice& net = host.device().net();
  const host::BarRegion& common = net.pci().layout().common;
  const auto read = [&](size_t field, unsigned bytes) {
    return static_cast<uint32_t>(host.function().ReadBar(common.bar, common.offset + field, bytes));
  };
  const auto address = [&](size_t field) { return read(field, 4) | uint64_t{read(field + 4, 4)} << 32; };
  host.function().WriteBar(common.bar, common.offset + Common::kQueueSelectOffset, 2, index);
  RawRing ring{.index = index,
               .size = static_cast<uint16_t>(read(Common::kQueueSizeOffset, 2)),
               .packed = net.features().Has(spec::VirtioFeature::kRingPacked)};
  ring.address = address(Common::kQueueDescOffset);
  HostMemory& memory = host.station().memory();
  ring.descriptors = memory.HostPointer(ring.address, size_t{ring.size} * spec::VirtqDesc::kBytes);
  if (!ring.packed) {
    ring.available =
        memory.HostPointer(address(Common::kQueueDriverOffset), spec::VirtqAvail::kBytes + size_t{ring.size} * 2);
  }
  if (ring.size == 0 || ring.descriptors == nullptr || (!ring.packed && ring.available == nullptr)) return std::nullopt;
  return ring;
}

bool RingDoorbell(RdmaHost& host, uint16_t index, uint16_t position) {
  host::VirtioNetDevice& net = host.device().net();
  auto doorbell = net.pci().DoorbellOf(index);
  if (!doorbell.ok()) return false;
  const bool sends_position = net.features().Has(spec::VirtioFeature::kNotificationData);
  host.function().WriteBar(doorbell->bar(), doorbell->offset(), sends_position ? 4 : 2,
                           index | (sends_position ? uint32_t{position} << 16 : 0));
  return true;
}

}  // namespace vireo::verif
