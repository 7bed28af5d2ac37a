// SPDX-License-Identifier: Apache-2.0
#include "host/driver/packed_ring.h"

#include <algorithm>
#include <string>

#include "host/driver/shared_memory.h"

namespace vireo::host {
namespace {

using spec::PvirtqDesc;
using spec::PvirtqEventSuppress;
using spec::RingEventFlags;
using spec::VirtqDescFlags;

constexpr size_t RoundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

constexpr size_t DriverEventOffset(size_t size) {
  return RoundUp(size * PvirtqDesc::kBytes, spec::kPvirtqEventSuppressAlign);
}
constexpr size_t DeviceEventOffset(size_t size) {
  return RoundUp(DriverEventOffset(size) + PvirtqEventSuppress::kBytes, spec::kPvirtqEventSuppressAlign);
}

// Flags of an available descriptor with this wrap counter.
constexpr uint16_t AvailableFlags(bool wrap) { return wrap ? VirtqDescFlags::kAvail : VirtqDescFlags::kUsed; }

}  // namespace

Result<std::unique_ptr<Virtqueue>> PackedRing::Create(PciFunction& function, uint16_t size,
                                                      const RingOptions& options) {
  if (size == 0 || size > spec::kPvirtqSizeMax) {
    return Error{ErrorCode::kInvalidArgument, "packed ring of " + std::to_string(size) + " entries; sizes are 1 to " +
                                                  std::to_string(spec::kPvirtqSizeMax)};
  }
  Result<DmaBuffer> memory =
      function.AllocateDma(DeviceEventOffset(size) + PvirtqEventSuppress::kBytes, spec::kPvirtqDescAlign);
  if (!memory.ok()) return memory.error();
  DmaBuffer tables;
  if (options.indirect_segments > 0) {
    Result<DmaBuffer> allocated = function.AllocateDma(
        static_cast<size_t>(size) * options.indirect_segments * PvirtqDesc::kBytes, spec::kPvirtqDescAlign);
    if (!allocated.ok()) return allocated.error();
    tables = std::move(allocated).value();
  }
  return std::unique_ptr<Virtqueue>(new PackedRing(size, options, std::move(memory).value(), std::move(tables)));
}

PackedRing::PackedRing(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables)
    : Virtqueue(size, options, std::move(memory), std::move(tables)) {
  driver_event_ = memory_->data() + DriverEventOffset(size);
  device_event_ = memory_->data() + DeviceEventOffset(size);
  addresses_ = {.descriptors = memory_->address(),
                .driver = memory_->address() + DriverEventOffset(size),
                .device = memory_->address() + DeviceEventOffset(size)};
  Restart();
}

void PackedRing::Restart() {
  free_ids_.clear();
  for (unsigned id = size_; id-- > 0;) free_ids_.push_back(static_cast<uint16_t>(id));
  next_add_ = next_used_ = next_published_ = Position{};
  unpublished_ = 0;
}

PackedRing::Position PackedRing::Advance(Position position, uint16_t descriptors) const {
  const unsigned slot = unsigned{position.slot} + descriptors;
  if (slot < size_) return {static_cast<uint16_t>(slot), position.wrap};
  return {static_cast<uint16_t>(slot - size_), !position.wrap};
}

uint8_t* PackedRing::Descriptor(uint16_t slot) const {
  return memory_->data() + static_cast<size_t>(slot) * PvirtqDesc::kBytes;
}

// The device reads descriptors in ring order. So only the first unpublished one must keep its old flags; those after it
// can be written completely.
void PackedRing::WriteDescriptor(const Segment& segment, uint16_t id, uint16_t flags) {
  uint8_t* at = Descriptor(next_add_.slot);
  flags |= AvailableFlags(next_add_.wrap);
  const bool hidden = unpublished_ == 0;
  if (hidden) unpublished_flags_ = flags;
  const PvirtqDesc descriptor{.addr = segment.address, .len = segment.bytes, .id = id, .flags = flags};
  uint8_t bytes[PvirtqDesc::kBytes];
  descriptor.Encode(bytes);
  std::copy_n(bytes, PvirtqDesc::kFlagsOffset, at);
  if (!hidden) StoreShared16(at + PvirtqDesc::kFlagsOffset, flags);
  ++unpublished_;
  next_add_ = Advance(next_add_, 1);
}

Status PackedRing::Add(std::span<const Segment> readable, std::span<const Segment> writable, Token token) {
  Result<Shape> shape = CheckBuffer(readable, writable);
  if (!shape.ok()) return shape.error();
  const uint16_t id = free_ids_.back();
  free_ids_.pop_back();
  newest_ = next_add_;
  if (shape->indirect) {
    uint8_t* table = Table(id);
    const auto write = [&](const Segment& segment, uint16_t flags) {
      PvirtqDesc{.addr = segment.address, .len = segment.bytes, .id = 0, .flags = flags}.Encode(table);
      table += PvirtqDesc::kBytes;
    };
    for (const Segment& segment : readable) write(segment, 0);
    for (const Segment& segment : writable) write(segment, VirtqDescFlags::kWrite);
    WriteDescriptor({TableAddress(id), static_cast<uint32_t>(shape->segments * PvirtqDesc::kBytes)}, id,
                    VirtqDescFlags::kIndirect);
  } else {
    uint16_t left = shape->segments;
    const auto write = [&](const Segment& segment, uint16_t flags) {
      if (--left > 0) flags |= VirtqDescFlags::kNext;
      WriteDescriptor(segment, id, flags);
    };
    for (const Segment& segment : readable) write(segment, 0);
    for (const Segment& segment : writable) write(segment, VirtqDescFlags::kWrite);
  }
  RecordBuffer(id, *shape, token);
  return {};
}

bool PackedRing::Publish() {
  if (broken_ || unpublished_ == 0) return false;
  const uint16_t count = unpublished_;
  OrderChainBeforePublish();
  StoreShared16(Descriptor(next_published_.slot) + PvirtqDesc::kFlagsOffset, unpublished_flags_);
  next_published_ = next_add_;
  unpublished_ = 0;
  published_ = added_;
  OrderPublishBeforeNotifyCheck();

  const PvirtqEventSuppress event = PvirtqEventSuppress::FromWord(LoadShared32(device_event_));
  if (event.desc_event_flags != RingEventFlags::kDesc || !options_.event_idx) {
    return event.desc_event_flags != RingEventFlags::kDisable;
  }
  // Unwrapped positions: slots of the current lap count from 0, slots of the previous lap are negative.
  auto wanted = static_cast<uint16_t>(event.desc_event_off);
  if (event.desc_event_wrap != next_add_.wrap) wanted = static_cast<uint16_t>(wanted - size_);
  return NeedsEvent(wanted, next_add_.slot, static_cast<uint16_t>(next_add_.slot - count));
}

bool PackedRing::IsUsed(Position position) const {
  const uint16_t flags = LoadShared16(Descriptor(position.slot) + PvirtqDesc::kFlagsOffset);
  const bool avail = (flags & VirtqDescFlags::kAvail) != 0;
  const bool used = (flags & VirtqDescFlags::kUsed) != 0;
  return avail == used && used == position.wrap;
}

Result<std::optional<UsedBuffer>> PackedRing::Harvest() {
  if (broken_) return BrokenError();
  if (!IsUsed(next_used_)) return std::optional<UsedBuffer>();
  OrderUsedBeforeEntry();
  const PvirtqDesc descriptor = PvirtqDesc::Decode(Descriptor(next_used_.slot));
  const bool has_length = (descriptor.flags & VirtqDescFlags::kWrite) != 0;
  Result<UsedBuffer> used = Take(descriptor.id, has_length ? descriptor.len : 0);
  if (!used.ok()) return used.error();
  free_ids_.push_back(descriptor.id);
  next_used_ = Advance(next_used_, buffers_[descriptor.id].descriptors);
  if (interrupts_ && options_.event_idx) {
    WriteInterruptRequest(RingEventFlags::kDesc);
    OrderEnableBeforeRecheck();
  }
  return std::optional<UsedBuffer>(*used);
}

void PackedRing::DisableInterrupts() {
  interrupts_ = false;
  WriteInterruptRequest(RingEventFlags::kDisable);
}

bool PackedRing::EnableInterrupts() {
  if (broken_) return false;
  interrupts_ = true;
  WriteInterruptRequest(options_.event_idx ? RingEventFlags::kDesc : RingEventFlags::kEnable);
  OrderEnableBeforeRecheck();
  return IsUsed(next_used_);
}

// One store, so that the device never reads a new position with old flags.
void PackedRing::WriteInterruptRequest(RingEventFlags when) {
  PvirtqEventSuppress event;
  event.desc_event_flags = when;
  if (when == RingEventFlags::kDesc) {
    event.desc_event_off = next_used_.slot;
    event.desc_event_wrap = next_used_.wrap;
  }
  StoreShared32(driver_event_, event.ToWord());
}

std::vector<Token> PackedRing::Detach() {
  std::vector<Token> tokens = DetachBuffers();
  Restart();
  return tokens;
}

uint32_t PackedRing::NotificationData(uint16_t vq_index) const {
  return spec::PvirtqNotificationData{
      .vq_index = vq_index, .next_off = next_published_.slot, .next_wrap = next_published_.wrap}
      .ToWord();
}

uint16_t PackedRing::UsedPosition() const {
  // Slot and wrap counter share one word, as in the event suppression structure.
  const spec::PvirtqEventSuppress position{.desc_event_off = next_used_.slot,
                                           .desc_event_wrap = next_used_.wrap,
                                           .desc_event_flags = RingEventFlags::kEnable,
                                           .reserved = 0};
  return static_cast<uint16_t>(position.ToWord());
}

Virtqueue::Place PackedRing::NewestPlace() const {
  constexpr uint16_t kWrap = 0x8000;  // [virtio 1.3, 2.8.14]
  const auto place = static_cast<uint16_t>(newest_.slot | (newest_.wrap ? kWrap : 0));
  return {.position = place, .head = place};
}

}  // namespace vireo::host
