// SPDX-License-Identifier: Apache-2.0
// Buffers of CQs that the CQ writer requests ahead, and the one for the next event.

#include "model/virtio/cq_writer.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;
using spec::RdmaError;

}  // namespace

void CqWriter::Ask(Cycle now, const Asked& asked, unsigned count) {
  buffer_request_.Load(
      now,
      {.client = spec::BufferClient::kCompletion, .vq_index = asked.vq_index, .count = static_cast<uint8_t>(count)});
  asked_.push_back(asked);
  ++asks_;
}

// Buffers are stored as they come, whatever operation is in progress.
void CqWriter::TakeBuffer(Cycle now) {
  if (!buffer_in.CanPop(now)) return;
  const spec::Buffer buffer = buffer_in.Pop(now);
  const Asked& asked = asked_.front();
  const bool ok = buffer.status == BufferStatus::kOk;
  const size_t needed = asked.is_event ? spec::RdmaEvent::kBytes : spec::RdmaCqReq::kBytes;
  const Cached came{.bad = !buffer.writable || buffer.bytes < needed, .head = buffer.head, .address = buffer.address};
  if (asked.is_event) {
    event_target_ = came;
    event_ok_ = ok;
  } else if (ok) {
    cached_[asked.cqn][(asked.base + fill_) % kCqBuffers] = came;
  }
  fill_ += ok;
  if (!buffer.last) return;
  filled_.Push(now, {.asked = asked, .is_empty = buffer.status == BufferStatus::kEmpty, .count = fill_});
  asked_.pop_front();
  fill_ = 0;
}

// The event queue begins a new lifetime.
void CqWriter::DropEventBuffer() {
  event_drop_ = kUnknown;
  if (event_buffer_ == EventBuffer::kReady) event_buffer_ = EventBuffer::kNone;
  if (event_buffer_ == EventBuffer::kAsked) event_buffer_ = EventBuffer::kVoid;
}

void CqWriter::DropEventBufferAfter(Cycle cycle) {
  if (event_drop_ < cycle) DropEventBuffer();
  event_drop_ = cycle;
}

// A request of a CQ is answered.
bool CqWriter::FinishFill(Cycle now) {
  const Filled& filled = filled_.front();
  // The CQ has no buffer left after the final check of the ring.
  const bool overrun =
      filled.count == 0 && filled.asked.sure && position_.asked && cq_context_.known && !cq_state_.failed;
  // For `failed`, descriptor fetch has reported the reason.
  const bool report = overrun && filled.is_empty;
  if (report && !queue_failure_.IsFree()) return false;
  if (!positions_.CanWrite(now)) return true;
  if (report) LoadFailure(now, {.vq_index = filled.asked.vq_index, .code = RdmaError::kCqOverrun});
  if (overrun) {
    CqState next = cq_state_;
    next.failed = true;
    cq_states_.Write(now, filled.asked.cqn, next);
  }
  // If the queue was reset since, its buffers are void.
  if (position_.asked) {
    Position next = position_;
    next.asked = false;
    next.cached += filled.count;
    positions_.Write(now, filled.asked.vq_index, next);
  }
  filled_.Drop(now);
  popped_ask_ = park_try_ = true;
  --asks_;
  state_ = State::kIdle;
  return true;
}

}  // namespace vireo::model
