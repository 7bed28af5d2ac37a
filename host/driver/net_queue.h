// SPDX-License-Identifier: Apache-2.0
// Frames over a virtio-net queue pair. Transmit copies a frame into a driver buffer, receive copies it out. For zero
// copy, use the Queue itself.
//
// Frames start with the destination MAC address and have no FCS. Offloads are not handled here: the caller writes and
// reads the packet header.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/driver/queue.h"

namespace vireo::host {

struct ReceivedFrame {
  std::vector<uint8_t> bytes;
  spec::NetHdr header;
};

class TransmitQueue {
 public:
  // Allocates one buffer of max_frame_bytes per queue entry. Stop the queue or reset the device before destroying it.
  static Result<TransmitQueue> Create(PciFunction& function, Queue queue, uint32_t max_frame_bytes);

  // Queues a frame of 1 to max_frame_bytes for transmission. header.num_buffers is sent as 0. kInvalidArgument;
  // kNoSpace: all buffers are outstanding, try again later; kMisbehaved: see Restart.
  Status Send(std::span<const uint8_t> frame, spec::NetHdr header = {});
  // Reclaims buffers that the device has sent; Send calls it when it runs out of buffers. Returns how many are
  // outstanding.
  Result<uint16_t> Reclaim();

  Queue& queue() { return queue_; }
  // Call after the queue or device was reset and before it is enabled again. Frees all buffers; outstanding frames are
  // lost.
  void Restart();

 private:
  TransmitQueue(Queue queue, DmaBuffer memory, uint32_t slot_bytes);

  Queue queue_;
  DmaBuffer memory_;
  uint32_t slot_bytes_;
  std::vector<uint16_t> free_slots_;
};

class ReceiveQueue {
 public:
  // Allocates one buffer of buffer_bytes (packet header included) per queue entry. With `mergeable` (feature mrg_rxbuf)
  // a frame may span buffers; else it must fit in one.
  static Result<ReceiveQueue> Create(PciFunction& function, Queue queue, uint32_t buffer_bytes, bool mergeable);

  // Posts all free buffers. Call it once after the device was started and after Restart; after that, Receive does it.
  Status Fill();
  // The next frame, or none. kMisbehaved: the device broke a rule of the ring or of the packet header; see Restart.
  Result<std::optional<ReceivedFrame>> Receive();

  Queue& queue() { return queue_; }
  // Call after the queue or device was reset and before it is enabled again. A partly received frame is lost.
  void Restart();

 private:
  ReceiveQueue(Queue queue, DmaBuffer memory, uint32_t buffer_bytes, bool mergeable);
  Status PostBuffer(Token slot);
  Error Broken(const std::string& what);

  Queue queue_;
  DmaBuffer memory_;
  uint32_t buffer_bytes_;
  bool mergeable_;
  std::vector<Token> free_slots_;
  ReceivedFrame partial_;     // of a frame that spans buffers
  uint16_t missing_ = 0;      // buffers of that frame still to come
  std::string break_reason_;  // not empty: the queue is broken and not read any more
};

}  // namespace vireo::host
