// SPDX-License-Identifier: Apache-2.0
// Direct access to the queues of a simulated host: their rings, doorbells and DMA windows.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/topology/rdma_system.h"
#include "sim/traffic/raw_ring.h"

namespace vireo::sim {

// The ring of an enabled queue, from the device's registers. Nothing if it has none in this process. Simulated time
// passes.
std::optional<RawRing> FindRing(RdmaHost& host, uint16_t index);
// Bytes of a doorbell write: with notification_data 4, whose upper half is a position in the ring; else 2.
unsigned DoorbellBytes(RdmaHost& host);
// Writes to the queue's doorbell like its driver. False: no such doorbell.
bool RingRawDoorbell(RdmaHost& host, uint16_t index, uint64_t position = 0);

// Restricts the queue's descriptors to these bytes.
verbs::Status SetWindow(RdmaHost& host, uint16_t index, uint64_t base, uint64_t bytes);
// Restricts them to the range from the first to the last byte of the buffers now in the ring: for queues that are
// filled once, like completion and event queues. kBadState: the ring has no buffers.
verbs::Status SetWindowAroundBuffers(RdmaHost& host, const RawRing& ring);

}  // namespace vireo::sim
