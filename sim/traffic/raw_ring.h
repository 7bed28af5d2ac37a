// SPDX-License-Identifier: Apache-2.0
// Virtqueues in memory, split or packed, for tests that write invalid entries into a driver's rings. Nothing here
// checks or publishes anything; the order of writes is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// A ring that the driver has set up. The memory is the host's, and lives as long as the driver's queue.
struct RawRing {
  uint16_t index = 0;  // of the queue
  uint16_t size = 0;
  bool packed = false;
  uint64_t address = 0;  // of the descriptors, for the device
  uint8_t* descriptors = nullptr;
  uint8_t* available = nullptr;   // split only
  const uint8_t* used = nullptr;  // likewise
  // What the device writes to return buffers: its address for the device, and bytes.
  uint64_t used_address = 0;
  uint64_t used_bytes = 0;
};

struct RawDescriptor {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint16_t flags = 0;
  uint16_t link = 0;  // split: next; packed: id
};

inline uint16_t Get16(const uint8_t* at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
inline void Put16(uint8_t* at, uint64_t value) {
  at[0] = static_cast<uint8_t>(value);
  at[1] = static_cast<uint8_t>(value >> 8);
}

RawDescriptor GetDescriptor(const RawRing& ring, size_t place);
void PutDescriptor(const RawRing& ring, size_t place, const RawDescriptor& to);
// Split: the entry of the available ring for a position, which increases without wrapping.
uint8_t* AvailableEntry(const RawRing& ring, uint64_t position);

// First byte, and end (exclusive), of the buffers that its descriptors name; first >= end: none.
struct BufferExtent {
  uint64_t first = 0, end = 0;
};
BufferExtent BuffersIn(const RawRing& ring);
// Split: sets the available index.
inline void PutAvailableIndex(const RawRing& ring, uint64_t index) {
  Put16(ring.available + spec::VirtqAvail::kIdxOffset, index);
}

struct RingPosition {
  uint64_t number = 0;  // split: of the available ring; packed: of the ring
  uint16_t flags = 0;   // packed: of a descriptor that is available there
};
// Where the driver would put its next buffer. The ring's entries must be as the driver left them.
RingPosition NextPosition(const RawRing& ring);

// Encodes a work request: a signaled WRITE with one SGE. Writes spec::RdmaSqReq::kBytes + 16 bytes at `at`.
void EncodeWrite(uint8_t* at, uint64_t wr_id, const spec::RdmaSge& sge, uint64_t remote_address, uint32_t rkey);

}  // namespace vireo::sim
