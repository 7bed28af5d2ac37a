// SPDX-License-Identifier: Apache-2.0
// Arms of CQs, and what the CQ writer does when a write has ended: interrupts, event suppression, avail_event.

#include "model/virtio/cq_writer.h"

namespace vireo::model {
namespace {

using spec::RdmaError;

}  // namespace

bool CqWriter::Arm(Cycle now) {
  if (!interrupt_.IsFree()) return false;
  spec::RdmaCqArm value;
  CqState next = cq_state_;
  uint32_t cqn = 0;
  if (from_context_) {
    const Context context = contexts_.Pop(now);
    cqn = context.cqn;
    value = {.seen_used_idx = position_.used,
             .solicited = context.entry.set_solicited,
             .next_completion = context.entry.set_next_completion};
    if (context.entry.set_failed) next.failed = true;
    if (!context.entry.valid) {
      cq_states_.Write(now, cqn, {});
      state_ = State::kIdle;
      return true;
    }
  } else {
    const spec::CqArm arm = cq_arm_in.Pop(now);
    cqn = arm.cqn;
    value = spec::RdmaCqArm::FromWord(arm.value);
  }
  state_ = State::kIdle;

  // Notify at once if a matching CQE lies between the seen position and the one in memory.
  uint16_t unconsumed = Distance(value.seen_used_idx, position_.used);
  if (packed_ && !from_context_) {
    const bool other_wrap = ((value.seen_used_idx & kWrap) != 0) == position_.wrapped;
    unconsumed =
        static_cast<uint16_t>(position_.place + (other_wrap ? row_.queue_size : 0u) - (value.seen_used_idx & ~kWrap));
  }
  const bool after = unconsumed > Distance(cq_state_.written, position_.used);
  const bool after_solicited = cq_state_.has_solicited && Distance(cq_state_.solicited, position_.used) < unconsumed;
  const bool fire = (value.next_completion && after) || (value.solicited && after_solicited);
  if (value.solicited || value.next_completion) {
    next.armed_solicited = !fire && (value.solicited || cq_state_.armed_solicited);
    next.armed_next = !fire && (value.next_completion || cq_state_.armed_next);
    next.arm_position = static_cast<uint16_t>(position_.used - unconsumed);
    next.passed = false;
  }
  if (!from_context_ && (!cq_context_.known || row_corrupt_)) return true;
  cq_states_.Write(now, cqn, next);
  if (!from_context_ && fire && row_.msix_vector != spec::kVirtioMsiNoVector) {
    interrupt_.Load(now, {.vq_index = cq_context_.vq_index, .msix_vector = row_.msix_vector});
  }
  return true;
}

bool CqWriter::FinishSlot(Cycle now) {
  const Slot& slot = slots_[slot_head_];
  CqState next = cq_state_;
  if (slot.error) {
    if (!queue_failure_.IsFree()) return false;
    if (!positions_.CanWrite(now)) return true;
    if (!position_.failed && !(slot.is_cq && cq_state_.failed)) {  // report once
      LoadFailure(now, {.vq_index = slot.vq_index, .code = RdmaError::kQueueDmaError});
    }
    Position position = position_;
    position.failed = true;
    positions_.Write(now, slot.vq_index, position);
    next.failed = true;
  } else if (slot.is_avail) {
    if (!doorbell_.IsFree()) return false;
    doorbell_.Load(now, {.vq_index = slot.vq_index});
  } else if (!slot.is_cq) {
    if (!ReadSuppression(now)) return false;
  } else {
    if (!interrupt_.IsFree()) return false;
    // A CQE that the driver had processed when it armed, before its write completed, does not notify.
    const bool unconsumed =
        cq_state_.passed || Distance(slot.position, position_.used) < Distance(cq_state_.arm_position, position_.used);
    const bool fire = unconsumed && (cq_state_.armed_next || (cq_state_.armed_solicited && slot.solicited));
    if (fire && slot.msix != spec::kVirtioMsiNoVector) {
      interrupt_.Load(now, {.vq_index = slot.vq_index, .msix_vector = slot.msix});
    }
    next.written = slot.position;
    next.passed = unconsumed;
    if (slot.solicited) {
      next.has_solicited = true;
      next.solicited = slot.position;
    } else if (Distance(cq_state_.solicited, slot.position) >= spec::kVirtqSizeMax) {
      next.has_solicited = false;  // long since processed: before the distance wraps
    }
    if (fire) next.armed_solicited = next.armed_next = false;
  }
  if (slot.is_cq) cq_states_.Write(now, slot.cqn, next);
  PopSlot(now);
  state_ = State::kIdle;
  return true;
}

// Reads the driver's event suppression for a queue that interrupts by itself.
bool CqWriter::ReadSuppression(Cycle now) {
  const Slot& slot = slots_[slot_head_];
  if (!row_.enabled) return true;  // reset meanwhile
  if (!fetch_request_.IsFree()) return false;
  const uint64_t used_event = spec::VirtqAvail::kBytes + uint64_t{spec::VirtqAvail::kRingEntryBytes} * row_.queue_size;
  const uint64_t offset = packed_ ? 0 : event_idx_.At(now) ? used_event : spec::VirtqAvail::kFlagsOffset;
  fetch_request_.Load(
      now, {.address = row_.queue_driver + offset,
            .bytes = packed_ ? uint16_t{spec::PvirtqEventSuppress::kBytes} : uint16_t{spec::VirtqUsedEvent::kBytes},
            .tag = 0});
  questions_.push_back({slot.span, slot.vq_index, slot.msix});
  return true;
}

// True if the event index is in [first, behind).
bool CqWriter::IsInterruptDue(Cycle now, const SuppressionRead& question, const spec::DmaFetched& fetched) {
  if (row_corrupt_) return true;  // the size is unknown
  const bool event_idx = event_idx_.At(now);
  const Span& span = question.span;
  if (!packed_) {
    const auto value = static_cast<uint16_t>(fetched.data[0] | fetched.data[1] << 8);
    return event_idx ? Distance(span.first, value) < Distance(span.first, span.next_position)  // [virtio 1.3, 2.7.7.2]
                     : (value & spec::VirtqAvailFlags::kNoInterrupt) == 0;
  }
  // [virtio 1.3, 2.8.10]; the reserved value, and kDesc without its feature, count as enabled.
  const auto event = spec::PvirtqEventSuppress::Decode(fetched.data);
  if (event.desc_event_flags == spec::RingEventFlags::kDisable) return false;
  if (event.desc_event_flags != spec::RingEventFlags::kDesc || !event_idx) return true;
  // The wrap counter selects one of two laps: positions after `first` come first.
  const auto distance = [&](unsigned at, bool wrap) {
    const bool other_wrap = wrap != ((span.first & kWrap) != 0);
    return static_cast<int>(at) - static_cast<int>(span.first & ~kWrap) + (other_wrap ? int{row_.queue_size} : 0);
  };
  const int to_event = distance(event.desc_event_off, event.desc_event_wrap != 0);
  return to_event >= 0 && to_event < distance(span.next_position & ~kWrap, (span.next_position & kWrap) != 0);
}

bool CqWriter::FinishQuestion(Cycle now) {
  const SuppressionRead& question = questions_.front();
  if (fetched_in.front().resp != 0) {
    if (!queue_failure_.IsFree()) return false;
    if (!positions_.CanWrite(now)) return true;
    if (!position_.failed) LoadFailure(now, {.vq_index = question.vq_index, .code = RdmaError::kQueueDmaError});
    Position next = position_;
    next.failed = true;
    positions_.Write(now, question.vq_index, next);
  } else {
    if (!interrupt_.IsFree()) return false;
    if (IsInterruptDue(now, question, fetched_in.front())) {
      interrupt_.Load(now, {.vq_index = question.vq_index, .msix_vector = question.msix});
    }
  }
  fetched_in.Pop(now);
  questions_.pop_front();
  popped_question_ = true;
  state_ = State::kIdle;
  return true;
}

bool CqWriter::WriteAvailEvent(Cycle now) {
  if (IsUsable() && !store_.IsFree()) return false;
  const spec::AvailEvent event = avail_in_.Pop(now);
  state_ = State::kIdle;
  if (!IsUsable()) return true;
  spec::DmaStore store{
      .address = row_.queue_device + spec::VirtqUsed::kBytes + uint64_t{spec::VirtqUsedElem::kBytes} * row_.queue_size,
      .bytes = spec::VirtqAvailEvent::kBytes,
      .notify = true,
      .tag = static_cast<uint8_t>(kTagIndex | slot_tail_)};
  spec::VirtqAvailEvent{.avail_event = event.idx}.Encode(store.data);
  store_.Load(now, store);
  PushSlot(now, {.is_avail = true, .span = {}, .vq_index = event.vq_index});
  return true;
}

}  // namespace vireo::model
