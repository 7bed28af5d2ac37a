// SPDX-License-Identifier: Apache-2.0
// A virtqueue's ring as it lies in memory, for who writes into it behind the driver's back: what a careless or hostile
// driver may do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "verif/cosim/rdma_system.h"

namespace vireo::verif {

struct RingDescriptor {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint16_t flags = 0;  // spec::VirtqDescFlags
  uint16_t link = 0;   // split: next; packed: id
};

// A ring where the driver has put it. Valid while the queue is enabled and its memory stays.
struct RawRing {
  uint16_t index = 0;  // of the queue
  uint16_t size = 0;
  bool packed = false;
  uint64_t address = 0;  // of the descriptors, for the device
  uint8_t* descriptors = nullptr;
  uint8_t* available = nullptr;  // split only

  // Where the driver would put its next buffer. To be asked when the driver's entries are as it left them.
  struct Position {
    uint64_t number = 0;  // split: of the available ring; packed: of the ring
    uint16_t flags = 0;   // packed: of a descriptor that is available there
  };
  Position Next() const;

  // `place` is below size.
  RingDescriptor Get(size_t place) const;
  void Put(size_t place, const RingDescriptor& to) const;
  // Split only: which descriptor the available ring names there, and up to where it is filled.
  void PutHead(uint64_t position, uint64_t head) const;
  uint16_t available_index() const;
  void PutAvailableIndex(uint64_t index) const;
};

// Asks the device's registers. Nothing if there is no such queue, or its ring is nowhere in this host's memory.
std::optional<RawRing> FindRing(RdmaHost& host, uint16_t index);
// Writes the queue's doorbell. With notification_data the upper half is `position`, which no device may believe. False:
// there is no such queue.
bool RingDoorbell(RdmaHost& host, uint16_t index, uint16_t position = 0);

}  // namespace vireo::verif
