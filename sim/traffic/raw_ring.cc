// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/raw_ring.h"

#include <algorithm>

namespace vireo::sim {

RawDescriptor GetDescriptor(const RawRing& ring, size_t place) {
  const uint8_t* at = ring.descriptors + place * spec::VirtqDesc::kBytes;
  if (ring.packed) {
    const auto raw = spec::PvirtqDesc::Decode(at);
    return {raw.addr, raw.len, raw.flags, raw.id};
  }
  const auto raw = spec::VirtqDesc::Decode(at);
  return {raw.addr, raw.len, raw.flags, raw.next};
}

void PutDescriptor(const RawRing& ring, size_t place, const RawDescriptor& to) {
  uint8_t* at = ring.descriptors + place * spec::VirtqDesc::kBytes;
  if (ring.packed) {
    spec::PvirtqDesc{.addr = to.address, .len = to.bytes, .id = to.link, .flags = to.flags}.Encode(at);
  } else {
    spec::VirtqDesc{.addr = to.address, .len = to.bytes, .flags = to.flags, .next = to.link}.Encode(at);
  }
}

uint8_t* AvailableEntry(const RawRing& ring, uint64_t position) {
  return ring.available + spec::VirtqAvail::kBytes + position % ring.size * sizeof(uint16_t);
}

BufferExtent BuffersIn(const RawRing& ring) {
  BufferExtent extent{~uint64_t{0}, 0};
  for (size_t i = 0; i < ring.size; ++i) {
    const RawDescriptor one = GetDescriptor(ring, i);
    if (one.bytes == 0) continue;
    extent.first = std::min(extent.first, one.address);
    extent.end = std::max(extent.end, one.address + one.bytes);
  }
  return extent;
}

RingPosition NextPosition(const RawRing& ring) {
  using DescFlags = spec::VirtqDescFlags;
  if (!ring.packed) return {Get16(ring.available + spec::VirtqAvail::kIdxOffset), 0};
  // The driver's wrap counter shows in the descriptors it made available in this lap or the previous one.
  uint16_t lap = GetDescriptor(ring, 0).flags & DescFlags::kAvail;
  uint64_t place = 0;
  while (place < ring.size && (GetDescriptor(ring, place).flags & DescFlags::kAvail) == lap) ++place;
  if (place == ring.size) place = 0, lap ^= DescFlags::kAvail;
  return {place, lap != 0 ? lap : DescFlags::kUsed};
}

void EncodeWrite(uint8_t* at, uint64_t wr_id, const spec::RdmaSge& sge, uint64_t remote_address, uint32_t rkey) {
  spec::RdmaSqReq request{
      .wr_id = wr_id, .opcode = spec::IbWrOpcode::kRdmaWrite, .send_flags = spec::IbSendFlags::kSignaled};
  spec::RdmaSqReqRdma{.remote_addr = remote_address, .rkey = rkey}.Encode(request.wr);
  spec::RdmaSqReqNumSge{.num_sge = 1}.Encode(request.size);
  request.Encode(at);
  sge.Encode(at + spec::RdmaSqReq::kBytes);
}

}  // namespace vireo::sim
