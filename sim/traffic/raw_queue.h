// SPDX-License-Identifier: Apache-2.0
// Queues of a simulated host from the outside: where their rings are, their doorbells, and what their descriptors may
// lead to.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/topology/rdma_system.h"
#include "sim/traffic/raw_ring.h"

namespace vireo::sim {

// The ring of an enabled queue, by what the device's registers say of it. Nothing if it has none in this process.
// Simulated time passes.
std::optional<RawRing> FindRing(RdmaHost& host, uint16_t index);
// Of what is written to a doorbell: with notification_data the upper half of 4 is a position in the ring, else 2.
unsigned DoorbellBytes(RdmaHost& host);
// Writes to the queue's doorbell as its driver would. False: there is no such doorbell.
bool RingRawDoorbell(RdmaHost& host, uint16_t index, uint64_t position = 0);

// From now on the descriptors of a queue may lead to these bytes only.
verbs::Status SetWindow(RdmaHost& host, uint16_t index, uint64_t base, uint64_t bytes);
// To what lies between the first and the last byte of the buffers that the driver has put into the ring: for queues
// that are filled once, as those of completions and events. kBadState: there are none.
verbs::Status SetWindowAroundBuffers(RdmaHost& host, const RawRing& ring);

}  // namespace vireo::sim
