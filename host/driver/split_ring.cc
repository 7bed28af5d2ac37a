// SPDX-License-Identifier: Apache-2.0
#include "host/driver/split_ring.h"

#include <bit>
#include <string>

#include "host/driver/shared_memory.h"

namespace vireo::host {
namespace {

using spec::VirtqAvail;
using spec::VirtqDesc;
using spec::VirtqDescFlags;
using spec::VirtqUsed;
using spec::VirtqUsedElem;

// Offsets of the parts of a ring of `size` entries in its memory.
struct Layout {
  size_t avail = 0;
  size_t used_event = 0;
  size_t used = 0;
  size_t avail_event = 0;
  size_t bytes = 0;
};

constexpr size_t RoundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

constexpr Layout LayoutOf(size_t size) {
  Layout layout;
  layout.avail = RoundUp(size * VirtqDesc::kBytes, spec::kVirtqAvailAlign);
  layout.used_event = layout.avail + VirtqAvail::kBytes + size * sizeof(uint16_t);
  layout.used = RoundUp(layout.used_event + spec::VirtqUsedEvent::kBytes, spec::kVirtqUsedAlign);
  layout.avail_event = layout.used + VirtqUsed::kBytes + size * VirtqUsedElem::kBytes;
  layout.bytes = layout.avail_event + spec::VirtqAvailEvent::kBytes;
  return layout;
}

}  // namespace

Result<std::unique_ptr<Virtqueue>> SplitRing::Create(PciFunction& function, uint16_t size, const RingOptions& options) {
  if (!std::has_single_bit(size) || size > spec::kVirtqSizeMax) {
    return Error{ErrorCode::kInvalidArgument, "split ring of " + std::to_string(size) +
                                                  " entries; sizes are powers of 2 up to " +
                                                  std::to_string(spec::kVirtqSizeMax)};
  }
  Result<DmaBuffer> memory = function.AllocateDma(LayoutOf(size).bytes, spec::kVirtqDescAlign);
  if (!memory.ok()) return memory.error();
  DmaBuffer tables;
  if (options.indirect_segments > 0) {
    Result<DmaBuffer> allocated = function.AllocateDma(
        static_cast<size_t>(size) * options.indirect_segments * VirtqDesc::kBytes, spec::kVirtqDescAlign);
    if (!allocated.ok()) return allocated.error();
    tables = std::move(allocated).value();
  }
  return std::unique_ptr<Virtqueue>(new SplitRing(size, options, std::move(memory).value(), std::move(tables)));
}

SplitRing::SplitRing(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables)
    : Virtqueue(size, options, std::move(memory), std::move(tables)), next_(size) {
  const Layout layout = LayoutOf(size);
  avail_ = memory_->data() + layout.avail;
  used_event_ = memory_->data() + layout.used_event;
  used_ = memory_->data() + layout.used;
  avail_event_ = memory_->data() + layout.avail_event;
  addresses_ = {.descriptors = memory_->address(),
                .driver = memory_->address() + layout.avail,
                .device = memory_->address() + layout.used};
  LinkFreeDescriptors();
}

void SplitRing::LinkFreeDescriptors() {
  for (uint16_t i = 0; i < size_; ++i) next_[i] = static_cast<uint16_t>((i + 1) % size_);
  free_head_ = 0;
}

uint8_t* SplitRing::Descriptor(uint16_t index) const {
  return memory_->data() + static_cast<size_t>(index) * VirtqDesc::kBytes;
}

uint8_t* SplitRing::AvailEntry(uint16_t index) const {
  return avail_ + VirtqAvail::kBytes + static_cast<size_t>(index % size_) * sizeof(uint16_t);
}

uint8_t* SplitRing::UsedEntry(uint16_t index) const {
  return used_ + VirtqUsed::kBytes + static_cast<size_t>(index % size_) * VirtqUsedElem::kBytes;
}

uint16_t SplitRing::UsedIndex() const { return LoadShared16(used_ + VirtqUsed::kIdxOffset); }

Status SplitRing::Add(std::span<const Segment> readable, std::span<const Segment> writable, Token token) {
  Result<Shape> shape = CheckBuffer(readable, writable);
  if (!shape.ok()) return shape.error();
  const uint16_t head = free_head_;

  // Same loop for both: descriptors of the ring, linked by the free list, or descriptors of a table, linked in order.
  uint16_t index = shape->indirect ? uint16_t{0} : head;
  uint16_t left = shape->segments;
  const auto write = [&](const Segment& segment, uint16_t flags) {
    const auto next = shape->indirect ? static_cast<uint16_t>(index + 1) : next_[index];
    if (--left > 0) flags |= VirtqDescFlags::kNext;
    const VirtqDesc descriptor{
        .addr = segment.address, .len = segment.bytes, .flags = flags, .next = left > 0 ? next : uint16_t{0}};
    descriptor.Encode(shape->indirect ? Table(head) + static_cast<size_t>(index) * VirtqDesc::kBytes
                                      : Descriptor(index));
    index = next;
  };
  for (const Segment& segment : readable) write(segment, 0);
  for (const Segment& segment : writable) write(segment, VirtqDescFlags::kWrite);
  if (shape->indirect) {
    const VirtqDesc table{.addr = TableAddress(head),
                          .len = static_cast<uint32_t>(shape->segments * VirtqDesc::kBytes),
                          .flags = VirtqDescFlags::kIndirect,
                          .next = 0};
    table.Encode(Descriptor(head));
    index = next_[head];
  }
  free_head_ = index;

  StoreShared16(AvailEntry(static_cast<uint16_t>(added_)), head);
  RecordBuffer(head, *shape, token);
  return {};
}

bool SplitRing::Publish() {
  if (broken_ || published_ == added_) return false;
  const auto old_index = static_cast<uint16_t>(published_);
  const auto new_index = static_cast<uint16_t>(added_);
  OrderChainBeforePublish();
  StoreShared16(avail_ + VirtqAvail::kIdxOffset, new_index);
  published_ = added_;
  OrderPublishBeforeNotifyCheck();
  if (options_.event_idx) return NeedsEvent(LoadShared16(avail_event_), new_index, old_index);
  return (LoadShared16(used_ + VirtqUsed::kFlagsOffset) & spec::VirtqUsedFlags::kNoNotify) == 0;
}

Result<std::optional<UsedBuffer>> SplitRing::Harvest() {
  if (broken_) return BrokenError();
  const auto waiting = static_cast<uint16_t>(UsedIndex() - used_seen_);
  if (waiting == 0) return std::optional<UsedBuffer>();
  const auto with_device = static_cast<uint64_t>(outstanding_) - (added_ - published_);
  if (waiting > with_device) {
    return Break("used index is " + std::to_string(waiting) + " ahead, but the device has " +
                 std::to_string(with_device) + " buffers");
  }
  OrderUsedBeforeEntry();
  const VirtqUsedElem element = VirtqUsedElem::Decode(UsedEntry(used_seen_));
  Result<UsedBuffer> used = Take(element.id, element.len);
  if (!used.ok()) return used.error();

  const auto head = static_cast<uint16_t>(element.id);
  uint16_t last = head;
  for (uint16_t i = 1; i < buffers_[head].descriptors; ++i) last = next_[last];
  next_[last] = free_head_;
  free_head_ = head;
  ++used_seen_;
  if (interrupts_ && options_.event_idx) {
    StoreShared16(used_event_, used_seen_);
    OrderEnableBeforeRecheck();
  }
  return std::optional<UsedBuffer>(*used);
}

void SplitRing::DisableInterrupts() {
  interrupts_ = false;
  // event_idx cannot disable interrupts: the furthest event is 65535 used buffers away.
  WriteInterruptRequest(static_cast<uint16_t>(used_seen_ - 1), spec::VirtqAvailFlags::kNoInterrupt);
}

bool SplitRing::EnableInterrupts() {
  if (broken_) return false;
  interrupts_ = true;
  WriteInterruptRequest(used_seen_, 0);
  OrderEnableBeforeRecheck();
  return UsedIndex() != used_seen_;
}

void SplitRing::WriteInterruptRequest(uint16_t used_event, uint16_t flags) {
  if (options_.event_idx) {
    StoreShared16(used_event_, used_event);
  } else {
    StoreShared16(avail_ + VirtqAvail::kFlagsOffset, flags);
  }
}

std::vector<Token> SplitRing::Detach() {
  std::vector<Token> tokens = DetachBuffers();
  LinkFreeDescriptors();
  used_seen_ = 0;
  return tokens;
}

uint32_t SplitRing::NotificationData(uint16_t vq_index) const {
  return spec::VirtqNotificationData{.vq_index = vq_index, .next_idx = static_cast<uint16_t>(published_)}.ToWord();
}

Virtqueue::Place SplitRing::NewestPlace() const {
  const auto position = static_cast<uint16_t>(added_ - 1);
  return {.position = position, .head = LoadShared16(AvailEntry(position))};
}

}  // namespace vireo::host
