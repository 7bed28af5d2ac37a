// SPDX-License-Identifier: Apache-2.0
#include "host/driver/net_queue.h"

#include <algorithm>
#include <array>
#include <string>

namespace vireo::host {
namespace {

using spec::NetHdr;

constexpr uint32_t kSlotAlign = 64;

constexpr uint32_t RoundUp(uint32_t value) { return (value + kSlotAlign - 1) / kSlotAlign * kSlotAlign; }

}  // namespace

// --- TransmitQueue ---------------------------------------------------------------------------------------------------

Result<TransmitQueue> TransmitQueue::Create(PciFunction& function, Queue queue, uint32_t max_frame_bytes) {
  const uint32_t slot_bytes = RoundUp(static_cast<uint32_t>(NetHdr::kBytes) + max_frame_bytes);
  Result<DmaBuffer> memory = function.AllocateDma(static_cast<size_t>(slot_bytes) * queue.ring->size(), kSlotAlign);
  if (!memory.ok()) return memory.error();
  // Sent buffers are reclaimed on demand, so no interrupts are needed.
  queue.ring->DisableInterrupts();
  return TransmitQueue(std::move(queue), std::move(memory).value(), slot_bytes);
}

TransmitQueue::TransmitQueue(Queue queue, DmaBuffer memory, uint32_t slot_bytes)
    : queue_(std::move(queue)), memory_(std::move(memory)), slot_bytes_(slot_bytes) {
  for (unsigned slot = queue_.ring->size(); slot-- > 0;) free_slots_.push_back(static_cast<uint16_t>(slot));
}

Result<uint16_t> TransmitQueue::Reclaim() {
  for (;;) {
    Result<std::optional<UsedBuffer>> used = queue_.ring->Harvest();
    if (!used.ok()) return used.error();
    if (!used->has_value()) return queue_.ring->outstanding();
    free_slots_.push_back(static_cast<uint16_t>((*used)->token));
  }
}

Status TransmitQueue::Send(std::span<const uint8_t> frame, NetHdr header) {
  if (frame.empty() || frame.size() > slot_bytes_ - NetHdr::kBytes) {
    return Error{ErrorCode::kInvalidArgument, "a frame of " + std::to_string(frame.size()) +
                                                  " bytes; the buffers hold 1 to " +
                                                  std::to_string(slot_bytes_ - NetHdr::kBytes)};
  }
  if (free_slots_.empty()) {
    if (Result<uint16_t> left = Reclaim(); !left.ok()) return left.error();
    if (free_slots_.empty()) return Error{ErrorCode::kNoSpace, "all transmit buffers are outstanding"};
  }
  const uint16_t slot = free_slots_.back();
  const uint64_t offset = static_cast<uint64_t>(slot) * slot_bytes_;
  header.num_buffers = 0;
  header.Encode(memory_->data() + offset);
  std::copy(frame.begin(), frame.end(), memory_->data() + offset + NetHdr::kBytes);
  const std::array<Segment, 1> segment{
      {{memory_->address() + offset, static_cast<uint32_t>(NetHdr::kBytes + frame.size())}}};
  if (Status added = queue_.ring->Add(segment, {}, slot); !added.ok()) return added;
  free_slots_.pop_back();
  queue_.Kick();
  return {};
}

void TransmitQueue::Restart() {
  for (const Token slot : queue_.ring->Detach()) free_slots_.push_back(static_cast<uint16_t>(slot));
  queue_.ring->DisableInterrupts();
}

// --- ReceiveQueue ----------------------------------------------------------------------------------------------------

Result<ReceiveQueue> ReceiveQueue::Create(PciFunction& function, Queue queue, uint32_t buffer_bytes, bool mergeable) {
  if (buffer_bytes <= NetHdr::kBytes) {
    return Error{ErrorCode::kInvalidArgument, "receive buffers of " + std::to_string(buffer_bytes) + " bytes"};
  }
  Result<DmaBuffer> memory =
      function.AllocateDma(static_cast<size_t>(RoundUp(buffer_bytes)) * queue.ring->size(), kSlotAlign);
  if (!memory.ok()) return memory.error();
  return ReceiveQueue(std::move(queue), std::move(memory).value(), buffer_bytes, mergeable);
}

ReceiveQueue::ReceiveQueue(Queue queue, DmaBuffer memory, uint32_t buffer_bytes, bool mergeable)
    : queue_(std::move(queue)), memory_(std::move(memory)), buffer_bytes_(buffer_bytes), mergeable_(mergeable) {
  for (unsigned slot = queue_.ring->size(); slot-- > 0;) free_slots_.push_back(slot);
}

Status ReceiveQueue::PostBuffer(Token slot) {
  const std::array<Segment, 1> segment{{{memory_->address() + slot * RoundUp(buffer_bytes_), buffer_bytes_}}};
  return queue_.ring->Add({}, segment, slot);
}

Status ReceiveQueue::Fill() {
  while (!free_slots_.empty()) {
    if (Status posted = PostBuffer(free_slots_.back()); !posted.ok()) return posted;
    free_slots_.pop_back();
  }
  queue_.Kick();
  return {};
}

Error ReceiveQueue::Broken(const std::string& what) {
  break_reason_ = what;
  return {ErrorCode::kMisbehaved, "receive queue " + std::to_string(queue_.index) + " is broken: " + break_reason_ +
                                      "; restart the queue or reset the device"};
}

Result<std::optional<ReceivedFrame>> ReceiveQueue::Receive() {
  if (!break_reason_.empty()) return Broken(break_reason_);
  for (;;) {
    Result<std::optional<UsedBuffer>> harvested = queue_.ring->Harvest();
    if (!harvested.ok()) return harvested.error();
    if (!harvested->has_value()) return std::optional<ReceivedFrame>();
    const UsedBuffer used = **harvested;
    const uint8_t* data = memory_->data() + used.token * RoundUp(buffer_bytes_);
    uint32_t skip = 0;
    free_slots_.push_back(used.token);
    if (missing_ == 0) {
      if (used.written <= NetHdr::kBytes) {
        return Broken("a packet of " + std::to_string(used.written) + " bytes, header included");
      }
      partial_.header = NetHdr::Decode(data);
      partial_.bytes.clear();
      // Without mergeable buffers the driver ignores num_buffers.
      missing_ = mergeable_ ? partial_.header.num_buffers : uint16_t{1};
      if (missing_ == 0 || missing_ > queue_.ring->size()) {
        return Broken("a packet in " + std::to_string(missing_) + " buffers");
      }
      skip = NetHdr::kBytes;
    } else if (used.written == 0) {
      return Broken("an empty buffer inside a packet");
    }
    partial_.bytes.insert(partial_.bytes.end(), data + skip, data + used.written);
    --missing_;
    if (Status filled = Fill(); !filled.ok()) return filled.error();
    if (missing_ == 0) {
      ReceivedFrame frame = std::move(partial_);
      partial_ = {};
      return std::optional<ReceivedFrame>(std::move(frame));
    }
  }
}

void ReceiveQueue::Restart() {
  for (const Token slot : queue_.ring->Detach()) free_slots_.push_back(slot);
  partial_ = {};
  missing_ = 0;
  break_reason_.clear();
}

}  // namespace vireo::host
