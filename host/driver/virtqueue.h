// SPDX-License-Identifier: Apache-2.0
// The driver side of a virtqueue, in either ring format: makes buffers available, returns used buffers. It does not
// access registers: virtio_pci.h enables the queue and rings the doorbell.
//
// The driver does not trust the device. It keeps all state of a buffer in private memory; each word that the device
// writes is read once and checked. The first violation marks the queue broken: the ring is not accessed any more, and
// every call but Detach fails with kMisbehaved.
//
// Not thread-safe. Addresses are device addresses (DmaMemory::address).
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

// The caller's identifier of a buffer; any value, not necessarily unique.
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
  // With feature ring_indirect_desc: buffers of 2 to this many segments take one descriptor of the ring and an indirect
  // table of this many descriptors; each queue entry has one table. 0: never.
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
  // Buffers that were added and not yet harvested.
  uint16_t outstanding() const { return outstanding_; }
  // Free descriptors of the ring: an upper bound of what can be added.
  uint16_t free_descriptors() const { return free_; }

  // Adds one buffer: segments that the device reads, then segments that it writes; 1 to size() segments, at most 2^32 -
  // 1 bytes in total. The device sees it after Publish. The memory belongs to the device until the token is returned.
  // kInvalidArgument; kNoSpace: nothing was added; kMisbehaved: the queue is broken.
  virtual Status Add(std::span<const Segment> readable, std::span<const Segment> writable, Token token) = 0;

  // Makes all buffers added since the last call available. True: ring the doorbell now. False: the device suppresses
  // doorbells, or nothing was added.
  virtual bool Publish() = 0;

  // The next used buffer, or none. With interrupts enabled, each call also advances used_event, so that "harvest until
  // none" loses no interrupt. kMisbehaved.
  virtual Result<std::optional<UsedBuffer>> Harvest() = 0;

  // Suppresses interrupts; a hint, so the device may still interrupt. Interrupts are enabled in a new ring.
  virtual void DisableInterrupts() = 0;
  // Enables an interrupt at the next used buffer. True: used buffers are already in the ring and may not interrupt:
  // harvest them, then call again. False: the next one interrupts.
  virtual bool EnableInterrupts() = 0;

  // Call only after reset of the queue or device, because until then the device may still write. Clears the ring and
  // returns the token of every outstanding buffer once, in the order of Add. The ring is then as new (not broken), and
  // can be enabled again at the same addresses.
  virtual std::vector<Token> Detach() = 0;

  // The doorbell's 4 bytes with feature notification_data. `vq_index` is the value of its first field.
  virtual uint32_t NotificationData(uint16_t vq_index) const = 0;

  // The newest buffer: its position and head, in the format of spec::RdmaPush. Only after Add.
  struct Place {
    uint16_t position = 0;
    uint16_t head = 0;
  };
  virtual Place NewestPlace() const = 0;

  // The driver's harvest position, in the format of spec::RdmaCqArm::seen_used_idx.
  virtual uint16_t UsedPosition() const = 0;

 protected:
  // Driver-private state of a buffer.
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
  Result<Shape> CheckBuffer(std::span<const Segment> readable, std::span<const Segment> writable) const;
  void RecordBuffer(uint16_t id, const Shape& shape, Token token);

  // Harvesting: all checks of a used element. `id` and `written` are the device's values.
  Result<UsedBuffer> Take(uint32_t id, uint32_t written);
  Error Break(std::string what);
  Error BrokenError() const;

  // virtio's vring_need_event: true if `event` is in [old_position, new_position), modulo 2^16. The side that filled
  // those entries then notifies the other.
  static bool NeedsEvent(uint16_t event, uint16_t new_position, uint16_t old_position) {
    return static_cast<uint16_t>(new_position - event - 1) < static_cast<uint16_t>(new_position - old_position);
  }

  // Returns the tokens of all outstanding buffers, oldest first, and clears them.
  std::vector<Token> DetachBuffers();

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
