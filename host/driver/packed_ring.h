// SPDX-License-Identifier: Apache-2.0
// The packed ring format (virtio 1.3, 2.8).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/driver/virtqueue.h"

namespace vireo::host {

class PackedRing final : public Virtqueue {
 public:
  // `size` is any number from 1 to spec::kPvirtqSizeMax. The ring's memory is one zeroed DMA buffer; `function` must
  // outlive the ring. kInvalidArgument, kNoMemory.
  static Result<std::unique_ptr<Virtqueue>> Create(PciFunction& function, uint16_t size, const RingOptions& options);

  Status Add(std::span<const Segment> readable, std::span<const Segment> writable, Token token) override;
  bool Publish() override;
  Result<std::optional<UsedBuffer>> Harvest() override;
  void DisableInterrupts() override;
  bool EnableInterrupts() override;
  std::vector<Token> Detach() override;
  uint32_t NotificationData(uint16_t vq_index) const override;
  Place NewestPlace() const override;
  uint16_t UsedPosition() const override;

 private:
  // A slot of the ring and the wrap counter of its descriptor.
  struct Position {
    uint16_t slot = 0;
    bool wrap = true;
  };

  PackedRing(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables);

  void Restart();
  Position Advance(Position position, uint16_t descriptors) const;
  uint8_t* Descriptor(uint16_t slot) const;
  void WriteDescriptor(const Segment& segment, uint16_t id, uint16_t flags);
  void WriteInterruptRequest(spec::RingEventFlags when);
  bool IsUsed(Position position) const;

  std::vector<uint16_t> free_ids_;  // as a stack
  Position next_add_;
  Position newest_;  // of the buffer added last
  Position next_used_;
  Position next_published_;         // where the device looks for the next available descriptor
  uint16_t unpublished_ = 0;        // descriptors from there to next_add_
  uint16_t unpublished_flags_ = 0;  // of the first of them, not yet written to the ring

  uint8_t* driver_event_ = nullptr;
  uint8_t* device_event_ = nullptr;
};

}  // namespace vireo::host
