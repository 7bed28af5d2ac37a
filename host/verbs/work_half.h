// SPDX-License-Identifier: Apache-2.0
// One direction of a queue pair, or a shared receive queue: a virtqueue and a slot of memory for each work request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/verbs/device.h"

namespace vireo::verbs {

// UD, GSI: the first spec::kRdmaUdGrhBytes of the elements receive the header, and count in byte_len.
struct RecvRequest {
  uint64_t wr_id = 0;
  std::span<const spec::RdmaSge> sg_list{};
};

struct WorkHalf {
  // Whose it is, for errors: "QP" or "SRQ", and its number.
  struct Owner {
    const char* kind = "QP";
    uint32_t number = 0;
  };

  std::optional<Device::WorkQueue> work;
  uint32_t entries = 0;
  uint32_t max_sge = 0;
  size_t slot_bytes = 0;
  std::vector<host::Token> free_slots;
  std::vector<host::Token> spare_slots;  // not to be taken: for Resize
  size_t max_push = 0;                   // work requests of up to this many bytes may be pushed
  bool rings_next = false;               // the last one was: the device does not know where to ask for a doorbell

  // Enables the virtqueue. Without entries it is never posted to, and the device needs no virtqueue.
  Status Open(Device& device, uint16_t index, uint32_t count, uint32_t elements, size_t fixed_bytes);
  // As Open, with a virtqueue and slots for `room` work requests, so that Resize can follow.
  Status OpenWithRoom(Device& device, uint16_t index, uint32_t count, uint32_t room, uint32_t elements,
                      size_t fixed_bytes);
  // Changes the number of work requests that can be outstanding. kNoSpace: above the room. kBadState: more are
  // outstanding.
  Status Resize(uint32_t count);
  // Re-enables a stopped virtqueue, empty.
  Status Reopen(Device& device);
  // Frees the slots of completed work requests.
  Status Reclaim();
  // Allocates a slot; reclaims completed ones if needed. kNoSpace.
  Result<host::Token> TakeSlot(const Owner& owner, const char* what);
  // Pushes it, if it may be and few are outstanding. Else the device reads it.
  Status Post(host::Token slot, size_t bytes);
  // kNoSpace; kInvalidArgument: more elements than max_sge.
  Status PostRecv(const Owner& owner, const RecvRequest& request);
};

}  // namespace vireo::verbs
