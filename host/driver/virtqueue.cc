// SPDX-License-Identifier: Apache-2.0
#include "host/driver/virtqueue.h"

#include <algorithm>
#include <limits>

namespace vireo::host {

static_assert(spec::VirtqDesc::kBytes == spec::PvirtqDesc::kBytes,
              "an indirect table has the same size in both formats");

Virtqueue::Virtqueue(uint16_t size, const RingOptions& options, DmaBuffer memory, DmaBuffer tables)
    : size_(size),
      options_(options),
      memory_(std::move(memory)),
      tables_(std::move(tables)),
      buffers_(size),
      free_(size) {}

Result<Virtqueue::Shape> Virtqueue::CheckBuffer(std::span<const Segment> readable,
                                                std::span<const Segment> writable) const {
  if (broken_) return BrokenError();
  const size_t segments = readable.size() + writable.size();
  if (segments == 0 || segments > size_) {
    return Error{ErrorCode::kInvalidArgument, "a buffer of " + std::to_string(segments) +
                                                  " segments; the queue takes 1 to " + std::to_string(size_)};
  }
  uint64_t total = 0;
  uint64_t total_writable = 0;
  bool empty_segment = false;
  for (const Segment& segment : readable) {
    total += segment.bytes;
    empty_segment |= segment.bytes == 0;
  }
  for (const Segment& segment : writable) {
    total_writable += segment.bytes;
    empty_segment |= segment.bytes == 0;
  }
  total += total_writable;
  if (empty_segment) return Error{ErrorCode::kInvalidArgument, "a segment of 0 bytes"};
  if (total > std::numeric_limits<uint32_t>::max()) {
    return Error{ErrorCode::kInvalidArgument, "a buffer of " + std::to_string(total) + " bytes; the limit is 2^32 - 1"};
  }
  Shape shape;
  shape.writable = static_cast<uint32_t>(total_writable);
  shape.segments = static_cast<uint16_t>(segments);
  shape.indirect = segments > 1 && segments <= options_.indirect_segments;
  shape.descriptors = shape.indirect ? uint16_t{1} : shape.segments;
  if (shape.descriptors > free_) return Error{ErrorCode::kNoSpace, "ring is full"};
  return shape;
}

void Virtqueue::RecordBuffer(uint16_t id, const Shape& shape, Token token) {
  buffers_[id] = {.token = token,
                  .writable = shape.writable,
                  .descriptors = shape.descriptors,
                  .sequence = added_,
                  .outstanding = true};
  free_ = static_cast<uint16_t>(free_ - shape.descriptors);
  ++outstanding_;
  ++added_;
}

Result<UsedBuffer> Virtqueue::Take(uint32_t id, uint32_t written) {
  if (id >= size_) return Break("used buffer " + std::to_string(id) + " of " + std::to_string(size_));
  Buffer& buffer = buffers_[id];
  if (!buffer.outstanding) return Break("used buffer " + std::to_string(id) + ", which is not outstanding");
  if (buffer.sequence >= published_) {
    return Break("used buffer " + std::to_string(id) + ", which was not made available");
  }
  if (written > buffer.writable) {
    return Break("used buffer " + std::to_string(id) + " with " + std::to_string(written) + " bytes written of " +
                 std::to_string(buffer.writable));
  }
  buffer.outstanding = false;
  free_ = static_cast<uint16_t>(free_ + buffer.descriptors);
  --outstanding_;
  return UsedBuffer{buffer.token, written};
}

Error Virtqueue::Break(std::string what) {
  broken_ = true;
  break_reason_ = std::move(what);
  return BrokenError();
}

Error Virtqueue::BrokenError() const {
  return {ErrorCode::kMisbehaved, "queue is broken: " + break_reason_ + "; reset the queue or the device"};
}

std::vector<Token> Virtqueue::DetachBuffers() {
  std::vector<const Buffer*> order;
  order.reserve(outstanding_);
  for (const Buffer& buffer : buffers_) {
    if (buffer.outstanding) order.push_back(&buffer);
  }
  std::sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) { return a->sequence < b->sequence; });
  std::vector<Token> tokens;
  tokens.reserve(order.size());
  for (const Buffer* buffer : order) tokens.push_back(buffer->token);

  std::fill(buffers_.begin(), buffers_.end(), Buffer{});
  free_ = size_;
  outstanding_ = 0;
  added_ = published_ = 0;
  interrupts_ = true;
  broken_ = false;
  break_reason_.clear();
  std::fill_n(memory_->data(), memory_->size(), uint8_t{0});
  return tokens;
}

uint64_t Virtqueue::TableAddress(uint16_t id) const {
  return tables_->address() + static_cast<uint64_t>(id) * options_.indirect_segments * spec::VirtqDesc::kBytes;
}

uint8_t* Virtqueue::Table(uint16_t id) const {
  return tables_->data() + static_cast<size_t>(id) * options_.indirect_segments * spec::VirtqDesc::kBytes;
}

}  // namespace vireo::host
