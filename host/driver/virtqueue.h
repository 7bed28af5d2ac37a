// SPDX-License-Identifier: Apache-2.0
// A virtqueue from the driver's side: buffers in, used buffers out, in either ring format. It knows nothing of
// registers: where the ring is told to the device and how the doorbell is rung is in virtio_pci.h.
//
// The ring never trusts what the device wrote. Everything it needs to know about a buffer it keeps in memory of its
// own; each word of the device is read once and checked. The first thing that breaks a rule marks the queue broken: it
// touches the ring no more, and every call but Detach fails with kMisbehaved.
//
// One thread at a time. Addresses are device addresses (DmaMemory::address).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/driver/pci_function.h"

namespace vireo::host {

struct Segment {
  uint64_t address = 0;
  uint32_t bytes = 0;  // from 1
};

// The caller's name of a buffer; any value, also the same several times.
using Token = uint64_t;

struct UsedBuffer {
  Token token = 0;
  uint32_t written = 0;  // bytes, from the start of the writable segments; at most their sum
};

struct RingAddresses {
  uint64_t descriptors = 0;  // common configuration: queue_desc
  uint64_t driver = 0;       // queue_driver
  uint64_t device = 0;       // queue_device
};

struct RingOptions {
  bool event_idx = false;  // feature ring_event_idx was accepted
  // With feature ring_indirect_desc: buffers of 2 up to so many segments take one descriptor of the ring and a table of
  // this many descriptors, of which each entry of the queue has one. 0: never.
  uint16_t indirect_segments = 0;
};

class Virtqueue {
 public:
  virtual ~Virtqueue() = default;
  Virtqueue(const Virtqueue&) = delete;
  Virtqueue& operator=(const Virtqueue&) = delete;

  uint16_t size() const { return size_; }
  RingAddresses addresses() const { return addresses_; }
  bool broken() const { return broken_; }
  // Buffers that were added and have not come back.
  uint16_t outstanding() const { return outstanding_; }
  // Descriptors of the ring that are free: an upper bound of what can be added.
  uint16_t free_descriptors() const { return free_; }

  // Adds one buffer: segments that the device reads, then segments that it writes; 1 to size() of them, at most 2^32 -
  // 1 bytes in all. The device does not see it before Publish. The memory belongs to the device until the token comes
  // back. kInvalidArgument; kNoSpace: nothing was added; kMisbehaved: the queue is broken.
  virtual Status Add(std::span<const Segment> readable, std::span<const Segment> writable, Token token) = 0;

  // Shows the device all that was added since the last call. True: ring the doorbell now. False: the device looks by
  // itself, or there is nothing new.
  virtual bool Publish() = 0;

  // The next buffer that came back, or none. With interrupts enabled, each call also moves the point from which the
  // device interrupts, so that "harvest until there is none" loses no interrupt. kMisbehaved.
  virtual Result<std::optional<UsedBuffer>> Harvest() = 0;

  // Asks the device to interrupt no more; a hint, so a message may still come. Interrupts are enabled in a new ring.
  virtual void DisableInterrupts() = 0;
  // Asks for an interrupt at the next used buffer. True: used buffers are there already, for which no interrupt may
  // come: harvest them, then call again. False: the next one interrupts.
  virtual bool EnableInterrupts() = 0;

  // After reset of the queue or device, never before, as the device may still write: forgets everything and returns the
  // token of every outstanding buffer once, in the order in which they were added. The ring is then as new (not
  // broken), for the device to be enabled again at the same addresses.
  virtual std::vector<Token> Detach() = 0;

  // The doorbell's 4 bytes with feature notification_data. `vq_index` is the first field as it shall be sent.
  virtual uint32_t NotificationData(uint16_t vq_index) const = 0;

  // How far the driver has harvested, as spec::RdmaCqArm::seen_used_idx wants it.
  virtual uint16_t UsedPosition() const = 0;

 protected:
  // What a ring remembers about a buffer, where the device cannot reach it.
  struct Buffer {
    Token token = 0;
    uint32_t writable = 0;     // bytes
    uint16_t descriptors = 0;  // of the ring
    uint64_t sequence = 0;     // value of added_ when it was added
    bool outstanding = false;
  };

  Virtqueue(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables);

  // Adding
  struct Shape {
    uint32_t writable = 0;
    uint16_t segments = 0;
    uint16_t descriptors = 0;  // of the ring: 1 with an indirect table
    bool indirect = false;
  };
  Result<Shape> Plan(std::span<const Segment> readable, std::span<const Segment> writable) const;
  void Remember(uint16_t id, const Shape& shape, Token token);

  // Harvesting: all checks of a used element. `id` names a buffer, `written` is what the device claims.
  Result<UsedBuffer> Take(uint32_t id, uint32_t written);
  Error Break(std::string what);
  Error BrokenError() const;

  // True if `event` is in [old_position, new_position), counting modulo 2^16: who filled those entries notifies who
  // asked to be told about entry `event`.
  static bool NeedsEvent(uint16_t event, uint16_t new_position, uint16_t old_position) {
    return static_cast<uint16_t>(new_position - event - 1) < static_cast<uint16_t>(new_position - old_position);
  }

  // Tokens of all outstanding buffers, oldest first; forgets them.
  std::vector<Token> ForgetBuffers();

  uint64_t TableAddress(uint16_t id) const;
  uint8_t* Table(uint16_t id) const;

  const uint16_t size_;
  const RingOptions options_;
  const DmaBuffer memory_;
  const DmaBuffer tables_;  // null without indirect tables
  RingAddresses addresses_;
  std::vector<Buffer> buffers_;
  uint16_t free_;             // descriptors
  uint16_t outstanding_ = 0;  // buffers
  uint64_t added_ = 0;        // buffers ever added
  uint64_t published_ = 0;    // buffers ever published
  bool interrupts_ = true;
  bool broken_ = false;
  std::string break_reason_;
};

}  // namespace vireo::host
