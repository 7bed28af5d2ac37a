// SPDX-License-Identifier: Apache-2.0
// The split ring format (virtio 1.3, 2.7).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/driver/virtqueue.h"

namespace vireo::host {

class SplitRing final : public Virtqueue {
 public:
  // `size` is a power of 2 up to spec::kVirtqSizeMax. The ring's memory is one zeroed DMA buffer; `function` must
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
  uint16_t UsedPosition() const override { return used_seen_; }

 private:
  SplitRing(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables);

  void LinkFreeDescriptors();
  uint8_t* Descriptor(uint16_t index) const;
  uint8_t* AvailEntry(uint16_t index) const;
  uint8_t* UsedEntry(uint16_t index) const;
  void WriteInterruptRequest(uint16_t used_event, uint16_t flags);
  uint16_t UsedIndex() const;

  // Driver-private copy of the chains' links, which the device cannot change. The free list is one more chain, from
  // free_head_ on.
  std::vector<uint16_t> next_;
  uint16_t free_head_ = 0;
  uint16_t used_seen_ = 0;  // used.idx up to which everything is harvested

  uint8_t* avail_ = nullptr;
  uint8_t* used_event_ = nullptr;
  uint8_t* used_ = nullptr;
  uint8_t* avail_event_ = nullptr;
};

}  // namespace vireo::host
