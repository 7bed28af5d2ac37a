// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/cq_writer.h"

#include <algorithm>
#include <optional>

#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

using spec::RdmaError;
using spec::TableQueueKind;

// A CQE with an error is solicited.
bool IsSolicited(const spec::Completion& completion) {
  return completion.solicited ||
         completion.cqe[spec::RdmaCqReq::kStatusOffset] != static_cast<uint8_t>(spec::IbWcStatus::kSuccess);
}

}  // namespace

CqWriter::CqWriter(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      completion_in(WideSlice<spec::Completion>(sizes.data_bits)),
      host_event_in(WideSlice<spec::HostEvent>(sizes.data_bits)),
      cq_arm_in(WideSlice<spec::CqArm>(sizes.data_bits)),
      rows_(spec::ContextRam::kCqWriterRow, sizes.queues, on_parity_error),
      kinds_(spec::ContextRam::kCqWriterKind, sizes.queues, on_parity_error),
      positions_(sizes.queues),
      cq_contexts_(spec::ContextRam::kCqWriterCq, sizes.cqs, on_parity_error),
      cq_states_(sizes.cqs),
      cached_(sizes.cqs),
      publish_(*this, sizes.queues, sizes.slots),
      slots_(sizes.slots),
      avail_values_(sizes.queues),
      avail_pending_(agenda, sizes.queues,
                     [this](Cycle load, uint32_t vq_index) {
                       return spec::AvailEvent{.vq_index = static_cast<uint16_t>(vq_index),
                                               .idx = avail_values_.Read(load, vq_index)};
                     }),
      has_elements_(sizes.has_elements),
      swept_(sizes.queues) {
  avail_in_.SetConsumer(this);
  avail_pending_.out.Connect(avail_in_, avail_pending_);
  fetched_in.SetConsumer(this);
  WakeAt(swept_ - 1);
  completion_in.SetConsumer(this);
  host_event_in.SetConsumer(this);
  cq_arm_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  contexts_.SetConsumer(this);
  filled_.SetConsumer(this);
  parked_.SetConsumer(this);
}

void CqWriter::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kVirtqueue) {
    const auto entry = spec::TableVirtqueue::Decode(write.data);
    const bool none = entry.kind == TableQueueKind::kNone;
    kinds_.Write(cycle, write.index,
                 {.served = !none && !entry.stopped,
                  .notifies = entry.kind == TableQueueKind::kReceive || entry.kind == TableQueueKind::kTransmit ||
                              entry.kind == TableQueueKind::kControl});
    if (none || entry.reset_positions) {
      positions_.OnTableClear(cycle, write.index);
      publish_.OnTableClear(cycle, write.index);
    }
    StartFence(cycle);
    entry_written_ = cycle;
    WakeAt(cycle + 1);
    const auto vq_index = static_cast<uint16_t>(write.index);
    const EventQueue events = event_queue_.Read(cycle, 0);
    const bool is_events = vq_index == events.vq_index;
    if (is_events ? none || entry.reset_positions : entry.kind == TableQueueKind::kEvent) DropEventBufferAfter(cycle);
    if (entry.kind == TableQueueKind::kEvent) {
      // Events from before there was an event queue are not those of its driver.
      if (!events.known || !is_events) ClearLostAfter(cycle);
      event_queue_.Write(cycle, 0, {.known = true, .vq_index = vq_index});
    } else if (is_events) {
      event_queue_.Write(cycle, 0, {.known = false, .vq_index = vq_index});
    }
  } else if (write.table_id == spec::MgmtTable::kCqContext) {
    const auto entry = spec::TableCqContext::Decode(write.data);
    const auto elements = static_cast<uint8_t>(has_elements_ ? entry.elements & spec::RdmaCqElement::kTimestamp : 0);
    cq_contexts_.Write(cycle, write.index, {.known = entry.valid, .vq_index = entry.vq_index, .elements = elements});
    contexts_.Push(cycle, {write.index, entry});
  }
}

void CqWriter::OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row) {
  rows_.Write(cycle, row.vq_index, row);
  positions_.OnRowClear(cycle, row.vq_index);
  publish_.OnRowClear(cycle, row.vq_index);
  const EventQueue& events = event_queue_.Read(cycle, 0);
  if (events.known && row.vq_index == events.vq_index) {
    ClearLostAfter(cycle);
    DropEventBufferAfter(cycle);
  }
}

void CqWriter::ClearLostAfter(Cycle cycle) {
  if (lost_clear_ < cycle) lost_ = 0;  // not yet applied by Run
  lost_clear_ = cycle;
}

void CqWriter::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  rows_.OnFlip(now, flip);
  kinds_.OnFlip(now, flip);
  cq_contexts_.OnFlip(now, flip);
}

void CqWriter::OnDone(Cycle cycle, const spec::DmaDone& done) {
  dones_.push_back({cycle, done});
  WakeAt(cycle + 1);
}

void CqWriter::OnAvailEvent(Cycle cycle, const spec::AvailEvent& event) {
  reported_avails_.push_back({cycle, event});
  WakeAt(cycle + 1);
}

// Each queue is pending once, with its latest value. The value is written one cycle before its push, so that a load
// just before the push has read it.
void CqWriter::TakeAvailEvents(Cycle now) {
  if (!reported_avails_.empty() && reported_avails_.front().cycle + 2 == now) {
    avail_pending_.Push(now, reported_avails_.front().event.vq_index);
    reported_avails_.pop_front();
  }
  for (const ReportedAvail& reported : reported_avails_) {
    if (reported.cycle + 1 == now) avail_values_.Write(now, reported.event.vq_index, reported.event.idx);
    WakeAt(now + 1);
  }
}

void CqWriter::Run(Cycle now) {
  packed_ = ring_packed_.At(now);
  is_swept_ = now + 1 >= swept_;
  TakeAvailEvents(now);
  if (lost_clear_ < now) {
    lost_ = 0;
    lost_clear_ = kUnknown;
  }
  if (event_drop_ < now) DropEventBuffer();
  for (; !dones_.empty() && dones_.front().cycle < now; dones_.pop_front()) {
    const spec::DmaDone& done = dones_.front().done;
    Slot& slot = slots_[(done.tag & ~kTagIndex) % slots_.size()];
    if (done.resp != 0) slot.error = true;
    if ((done.tag & kTagIndex) != 0) {
      slot.done = true;
    } else {
      publish_.OnWriteDone();
    }
  }
  store_.Drain(now);
  buffer_request_.Drain(now);
  interrupt_.Drain(now);
  queue_failure_.Drain(now);
  fetch_request_.Drain(now);
  doorbell_.Drain(now);
  TakeBuffer(now);
  StartFence(now);
  const bool between_operations = state_ == State::kIdle && !batch_;
  const InUse in_use = CountInUse();
  popped_slot_ = popped_question_ = popped_ask_ = popped_parked_ = false;
  const bool is_free = IsFree(slots_[slot_head_]);
  if (Step(now)) WakeAt(now + 1);
  WriteIndex(now);
  if (is_free) {
    PopSlot(now);
    WakeAt(now + 1);
  }
  if (fence_ != Fence::kNone) AdvanceFence(now, between_operations, in_use);
}

// After a write in an earlier cycle.
void CqWriter::StartFence(Cycle now) {
  if (!entry_written_ || *entry_written_ >= now) return;
  fence_ = Fence::kOperation;
  entry_written_.reset();
}

// With the state and the numbers at the start of the cycle.
void CqWriter::AdvanceFence(Cycle now, bool between_operations, const InUse& in_use) {
  if (fence_ == Fence::kOperation) {
    if (between_operations) {
      fence_ = Fence::kBuffers;
      fenced_asks_ = in_use.asks - popped_ask_;
      fenced_parked_ = in_use.parked - popped_parked_;
    }
  } else if (fence_ == Fence::kBuffers) {
    if (fenced_asks_ == 0 && fenced_parked_ == 0) {
      fence_ = Fence::kSlots;
      fenced_ = in_use.slots - popped_slot_;
    }
    if (fenced_asks_ != 0) fenced_asks_ -= popped_ask_;
    if (fenced_parked_ != 0) fenced_parked_ -= popped_parked_;
  } else if (fenced_ != 0) {
    fenced_ -= fence_ == Fence::kSlots ? popped_slot_ : popped_question_;
  } else if (fence_ == Fence::kSlots) {
    fence_ = Fence::kQuestions;
    fenced_ = in_use.questions - popped_question_;
  } else {
    fence_ = Fence::kNone;
    fence_end_ = now + 1;
  }
  WakeAt(now + 1);
}

bool CqWriter::IsIdle() const {
  return state_ == State::kIdle && !batch_ && completion_in.size() == 0 && host_event_in.size() == 0 &&
         cq_arm_in.size() == 0 && contexts_.size() == 0 && asks_ == 0 && parked_.size() == 0 && slots_used_ == 0 &&
         store_.IsFree() && buffer_request_.IsFree() && interrupt_.IsFree() && queue_failure_.IsFree() &&
         questions_.empty() && doorbell_.IsFree() && is_swept_ && reported_avails_.empty() &&
         avail_pending_.IsEmpty() && avail_in_.size() == 0;
}

void CqWriter::ReadQueue(Cycle now, uint16_t vq_index) {
  row_ = rows_.Read(now, vq_index);
  row_corrupt_ = rows_.corrupt();
  kind_ = kinds_.Read(now, vq_index);
  queue_corrupt_ = row_corrupt_ || kinds_.corrupt();
  position_ = positions_.Read(now, vq_index);
}

void CqWriter::ReadCq(Cycle now, uint32_t cqn, bool uses_context) {
  cq_context_ = cq_contexts_.Peek(now, cqn);
  if (uses_context && cq_contexts_.corrupt()) cq_contexts_.Report(now);
  cq_state_ = cq_states_.Read(now, cqn);
}

void CqWriter::PushSlot(Cycle now, Slot slot) {
  if (slots_used_ == 0) LoadSlot(now);
  slot.error = slots_[slot_tail_].error;  // one of its writes may have failed already
  slots_[slot_tail_] = slot;
  slot_tail_ = (slot_tail_ + 1) % slots_.size();
  ++slots_used_;
}

// The oldest one is read in the cycle after `now`.
void CqWriter::LoadSlot(Cycle now) {
  slot_loaded_ = now + 2;
  WakeAt(slot_loaded_);
}

void CqWriter::PopSlot(Cycle now) {
  LoadSlot(now);
  popped_slot_ = true;
  slots_[slot_head_] = {};
  slot_head_ = (slot_head_ + 1) % slots_.size();
  --slots_used_;
}

void CqWriter::PopCqe(Cycle now) {
  if (!from_park_) {
    completion_in.Drop(now);
    return;
  }
  parked_.Drop(now);
  popped_parked_ = true;
  park_try_ = true;
}

void CqWriter::LoadFailure(Cycle now, const spec::QueueFailure& failure) {
  queue_failure_.Load(now, failure);
  if (on_queue_stopped) on_queue_stopped(now + 1, failure);
}

void CqWriter::Fail(bool report, RdmaError code) {
  report_ = report;
  code_ = code;
  state_ = State::kFail;
}

void CqWriter::Publish(Cycle now) {
  const spec::Completion& completion = completion_in.front();
  const bool first = IsPackedBatch();
  const uint16_t head = PlaceOf(completion);
  PublishIndex(now, completion.vq_index, first ? batch_->first : head,
               first ? batch_->written : completion.used_bytes != 0);
  Span span = SpanOf(head);
  if (packed_ && completion.has_id) span.next_position = completion.next_position;
  if (batch_) span.first = batch_->first;
  Position next = position_;
  next.used = UsedNext();
  if (IsById(completion)) {
    const bool place_last = position_.place + 1 == row_.queue_size;
    next.place = place_last ? 0 : position_.place + 1;
    next.wrapped = position_.wrapped != place_last;
  }
  positions_.Write(now, completion.vq_index, next);
  PushSlot(now,
           {.span = span,
            .vq_index = completion.vq_index,
            .msix = row_.msix_vector,
            .no_interrupt = completion.has_cqe || !kind_.notifies || row_.msix_vector == spec::kVirtioMsiNoVector});
}

// The work request's buffer is returned as used, or one of a batch; continues with the CQE.
void CqWriter::FinishCompletion(Cycle now) {
  const spec::Completion& completion = completion_in.front();
  if (!completion.more) {
    batch_.reset();
  } else if (batch_) {
    batch_->used = UsedNext();
  } else {
    batch_ = {.usable = IsUsable(),
              .kind = kind_,
              .row = row_,
              .first = packed_ ? PlaceOf(completion) : position_.used,
              .written = completion.used_bytes != 0,
              .used = UsedNext()};
  }
  // No CQE of a work request that is not returned because its queue has bad parity.
  if (completion.has_cqe && !queue_corrupt_) {
    ReadQueue(now, vq_);
    state_ = State::kCq;
  } else {
    completion_in.Pop(now);
    state_ = State::kIdle;
  }
}

bool CqWriter::Step(Cycle now) {
  switch (state_) {
    case State::kIdle: return Idle(now);
    case State::kElement: {
      vq_ = cq_context_.vq_index;
      if (!(batch_ ? batch_->usable : IsUsable())) {
        FinishCompletion(now);
        return true;
      }
      if (!store_.IsFree()) return false;
      const spec::Completion& completion = completion_in.front();
      if (IsById(completion)) {
        StoreElement(now, PlaceOf(completion), completion.used_bytes, completion.head);
      } else {
        StoreElement(now, completion.head, completion.used_bytes,
                     completion.has_id ? std::optional(completion.id) : std::nullopt);
      }
      // Its flags, or an index, must not become visible to the driver yet.
      if (completion.more && !IsPackedBatch()) {
        FinishCompletion(now);
      } else {
        state_ = State::kIndex;
      }
      return true;
    }
    case State::kIndex: {
      const spec::Completion& completion = completion_in.front();
      if (IsPackedBatch()) {
        if (!store_.IsFree()) return false;
        Load(now, IndexStore(PlaceOf(completion), completion.used_bytes != 0));
        if (completion.more) {
          FinishCompletion(now);
        } else {
          state_ = State::kFirst;
        }
        return true;
      }
      if (!positions_.CanWrite(now)) return true;
      Publish(now);
      FinishCompletion(now);
      return true;
    }
    case State::kFirst:
      if (!positions_.CanWrite(now)) return true;
      Publish(now);
      FinishCompletion(now);
      return true;
    case State::kCq: return WriteCqe(now);
    case State::kCqRead:
      vq_ = cq_context_.vq_index;
      ReadQueue(now, vq_);
      state_ = State::kCq;
      return true;
    case State::kFilled: return FinishFill(now);
    case State::kEvent: return WriteEvent(now);
    case State::kData:
      if (!is_event_ && target_.bad) {
        Fail(true, RdmaError::kBadDescriptor);
        return true;
      }
      if (!store_.IsFree()) return false;
      if (is_event_) {
        const spec::HostEvent& event = host_event_in.front();
        uint8_t bytes[spec::RdmaEvent::kBytes];
        spec::RdmaEvent{.event_type = event.event_type, .element = event.element, .code = event.code, .lost = lost_}
            .Encode(bytes);
        Store(now, target_.address, bytes, sizeof bytes);
      } else {
        StoreCqe(now);
      }
      state_ = State::kTargetElement;
      return true;
    case State::kTargetElement:
      if (!store_.IsFree()) return false;
      StoreElement(now, target_.head, TargetBytes(), {});
      state_ = State::kTargetIndex;
      return true;
    case State::kTargetIndex: return TargetIndex(now);
    case State::kFail: {
      if (report_ && !queue_failure_.IsFree()) return false;
      if (!positions_.CanWrite(now)) return true;
      if (report_) LoadFailure(now, {.vq_index = vq_, .code = code_});
      if (is_event_) {
        Position next = position_;
        next.failed = true;
        if (report_) positions_.Write(now, vq_, next);
        host_event_in.Pop(now);
        event_buffer_ = EventBuffer::kNone;
      } else {
        CqState next = cq_state_;
        next.failed = true;
        cq_states_.Write(now, from_park_ ? parked_.front().cqn : completion_in.front().cqn, next);
        PopCqe(now);
      }
      state_ = State::kIdle;
      return true;
    }
    case State::kArmRead:
      ReadQueue(now, cq_context_.vq_index);
      state_ = State::kArm;
      return true;
    case State::kArm: return Arm(now);
    case State::kDone: return FinishSlot(now);
    case State::kSuppression: return FinishQuestion(now);
    case State::kAvail: return WriteAvailEvent(now);
  }
  return false;
}

bool CqWriter::Idle(Cycle now) {
  const Slot& oldest = slots_[slot_head_];
  const bool completion = completion_in.CanPop(now) && (!completion_in.front().has_cqe || parked_.CanPush(now));
  const bool event = host_event_in.CanPop(now) && !batch_ &&
                     (event_buffer_ == EventBuffer::kNone || event_buffer_ == EventBuffer::kReady);
  if (fetched_in.CanPop(now)) {
    ReadQueue(now, questions_.front().vq_index);
    state_ = State::kSuppression;
  } else if (oldest.done && !IsFree(oldest) && now >= slot_loaded_ && questions_.size() < kSuppressionReads) {
    ReadQueue(now, oldest.vq_index);
    ReadCq(now, oldest.cqn, false);
    state_ = State::kDone;
  } else if (filled_.CanPop(now)) {
    const Asked& asked = filled_.front().asked;
    if (asked.is_event) {
      event_buffer_ = event_buffer_ == EventBuffer::kVoid ? EventBuffer::kNone : EventBuffer::kReady;
      filled_.Drop(now);
      popped_ask_ = park_try_ = true;
      --asks_;
    } else {
      ReadQueue(now, asked.vq_index);
      ReadCq(now, asked.cqn);
      state_ = State::kFilled;
    }
  } else if (contexts_.CanPop(now) || cq_arm_in.CanPop(now)) {
    from_context_ = contexts_.CanPop(now);
    ReadCq(now, from_context_ ? contexts_.front().cqn : cq_arm_in.front().cqn);
    state_ = State::kArmRead;
  } else if (avail_in_.CanPop(now) && !batch_ && slots_used_ <= slots_.size() - 2) {
    ReadQueue(now, avail_in_.front().vq_index);
    state_ = State::kAvail;
  } else if (parked_.CanPop(now) && park_try_ && !batch_ && slots_used_ <= slots_.size() - 2) {
    ReadCq(now, parked_.front().cqn);
    from_park_ = true;
    is_event_ = false;
    state_ = State::kCqRead;
  } else if ((completion || event) && slots_used_ <= slots_.size() - 2) {
    is_event_ = event && (!completion || !is_event_);
    from_park_ = false;
    if (is_event_) {
      vq_ = event_queue_.Read(now, 0).vq_index;
      ReadQueue(now, vq_);
      state_ = State::kEvent;
    } else {
      ReadQueue(now, completion_in.front().vq_index);
      if (batch_) {
        kind_ = batch_->kind;
        row_ = batch_->row;
        position_.used = batch_->used;
      }
      if (completion_in.front().has_cqe) ReadCq(now, completion_in.front().cqn);
      state_ = State::kElement;
    }
  } else {
    return false;
  }
  return true;
}

// Writes the CQE, or parks it until its CQ has a buffer.
bool CqWriter::WriteCqe(Cycle now) {
  const uint32_t cqn = from_park_ ? parked_.front().cqn : completion_in.front().cqn;
  const bool can_write = positions_.CanWrite(now);
  Position next = position_;
  if (!cq_context_.known || cq_state_.failed || !IsUsable()) {
    if (from_park_ && position_.parked != 0) {
      if (!can_write) return true;
      --next.parked;
      positions_.Write(now, vq_, next);
    }
    PopCqe(now);
    state_ = State::kIdle;
    return true;
  }
  // Behind others of its CQ that are parked.
  if (position_.cached != 0 && (from_park_ || position_.parked == 0)) {
    target_ = cached_[cqn][position_.first];
    state_ = State::kData;
    return true;
  }
  if (!can_write) return true;
  if (position_.cached == 0 && !position_.asked && CanAsk()) {
    Ask(now, {.sure = true, .cqn = cqn, .vq_index = vq_, .base = position_.first}, kCqBuffers);
    next.asked = true;
  }
  if (from_park_) {
    park_try_ = false;
  } else {
    Parked parked{.cqn = cqn, .solicited = IsSolicited(completion_in.front())};
    std::copy_n(completion_in.front().cqe, parked.cqe.size(), parked.cqe.begin());
    parked_.Push(now, parked);
    ++next.parked;
    if (position_.cached != 0) park_try_ = true;
    completion_in.Drop(now);
  }
  positions_.Write(now, vq_, next);
  state_ = State::kIdle;
  return true;
}

bool CqWriter::WriteEvent(Cycle now) {
  if (!event_queue_.Read(now, 0).known || !IsUsable()) {
    CountLost();
    host_event_in.Pop(now);
    event_buffer_ = EventBuffer::kNone;
    state_ = State::kIdle;
  } else if (event_buffer_ == EventBuffer::kNone) {
    if (!buffer_request_.IsFree()) return false;
    Ask(now, {.is_event = true, .vq_index = vq_}, 1);
    event_buffer_ = EventBuffer::kAsked;
    state_ = State::kIdle;
  } else if (event_ok_ && !event_target_.bad) {
    target_ = event_target_;
    state_ = State::kData;
  } else {
    CountLost();
    Fail(event_ok_, RdmaError::kBadDescriptor);
  }
  return true;
}

bool CqWriter::TargetIndex(Cycle now) {
  if (!positions_.CanWrite(now)) return true;
  PublishIndex(now, vq_, target_.head, true);
  Position next = position_;
  next.used = UsedNext();
  const unsigned place = target_.head & ~kWrap;
  const bool place_last = place + 1 == row_.queue_size;
  next.place = place_last ? 0 : place + 1;
  next.wrapped = ((target_.head & kWrap) == 0) != place_last;
  Slot slot{.is_cq = !is_event_,
            .span = SpanOf(target_.head),
            .vq_index = vq_,
            .position = next.used,
            .msix = row_.msix_vector};
  if (is_event_) {
    slot.no_interrupt = row_.msix_vector == spec::kVirtioMsiNoVector;
    lost_ = 0;
    host_event_in.Pop(now);
    event_buffer_ = EventBuffer::kNone;
  } else {
    next.cached = position_.cached - 1;
    next.first = (position_.first + 1) % kCqBuffers;
    if (from_park_ && position_.parked != 0) --next.parked;
    slot.cqn = from_park_ ? parked_.front().cqn : completion_in.front().cqn;
    slot.solicited = from_park_ ? parked_.front().solicited : IsSolicited(completion_in.front());
    // Half of them are used: asks for more.
    if (!position_.asked && next.cached <= std::min<unsigned>(kCqBuffers, row_.queue_size) / 2 && CanAsk()) {
      Ask(now,
          {.sure = next.cached == 0 && next.parked != 0,
           .cqn = slot.cqn,
           .vq_index = vq_,
           .base = (position_.first + position_.cached) % kCqBuffers},
          kCqBuffers - next.cached);
      next.asked = true;
    }
    PopCqe(now);
  }
  positions_.Write(now, vq_, next);
  PushSlot(now, slot);
  state_ = State::kIdle;
  return true;
}

}  // namespace vireo::model
