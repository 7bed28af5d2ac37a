// SPDX-License-Identifier: Apache-2.0
// Frames over a virtio-net queue pair: transmit copies a frame into a buffer of the driver, receive copies it out.
// Simple and safe rather than fast; who needs no copies uses the Queue itself.
//
// Frames begin with the destination MAC address and have no FCS. No offload is hidden: the packet header is the
// caller's business in both directions.
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
  // Buffers for frames up to max_frame_bytes: one per entry of the queue. Queue and object must outlive the device's
  // use of them.
  static Result<TransmitQueue> Create(PciFunction& function, Queue queue, uint32_t max_frame_bytes);

  // Gives a frame of 1 to max_frame_bytes to the device, which sends it some time later. header.num_buffers is sent as
  // 0. kInvalidArgument; kNoSpace: all buffers are with the device, try again later; kMisbehaved: see Restart.
  Status Send(std::span<const uint8_t> frame, spec::NetHdr header = {});
  // Takes back what the device has sent; Send does it by itself when it runs out of buffers. Returns how many are still
  // on their way.
  Result<uint16_t> Reclaim();

  Queue& queue() { return queue_; }
  // After the queue or device was reset and before it is enabled again: all buffers are free; frames on their way are
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
  // One buffer of buffer_bytes (packet header included) per entry of the queue. With `mergeable` (feature mrg_rxbuf) a
  // frame may span buffers; else it must fit in one.
  static Result<ReceiveQueue> Create(PciFunction& function, Queue queue, uint32_t buffer_bytes, bool mergeable);

  // Gives all free buffers to the device. Once after the device was started, and after Restart; Receive does it by
  // itself then.
  Status Fill();
  // The next frame, or none. kMisbehaved: the device broke a rule of the ring or of the packet header; see Restart.
  Result<std::optional<ReceivedFrame>> Receive();

  Queue& queue() { return queue_; }
  // After the queue or device was reset and before it is enabled again. A frame of which only a part was there is lost.
  void Restart();

 private:
  ReceiveQueue(Queue queue, DmaBuffer memory, uint32_t buffer_bytes, bool mergeable);
  Status Give(Token slot);
  Error Broken(const std::string& what);

  Queue queue_;
  DmaBuffer memory_;
  uint32_t buffer_bytes_;
  bool mergeable_;
  std::vector<Token> free_slots_;
  ReceivedFrame partial_;     // of a frame that spans buffers,
  uint16_t missing_ = 0;      // of which so many have not come yet
  std::string break_reason_;  // not empty: nothing is read any more
};

}  // namespace vireo::host
