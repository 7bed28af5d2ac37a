// SPDX-License-Identifier: Apache-2.0
#include "model/ctrl/mailbox.h"

#include <algorithm>

#include "model/dma/dma_split.h"

namespace vireo::model {

namespace {

constexpr size_t kRowBytes = spec::kDmaFetchBytes;
constexpr size_t kMailboxWordBytes = sizeof(uint32_t);

bool IsOkay(uint8_t resp) { return resp == static_cast<uint8_t>(AxiResp::kOkay); }

}  // namespace

Mailbox::Mailbox(Agenda& agenda, size_t chain_entries) : Block(agenda), chain_entries_(chain_entries) {
  control_doorbell_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  fetched_in.SetConsumer(this);
}

// --- Pulses ----------------------------------------------------------------------------------------------------------

void Mailbox::OnStoreDone(Cycle now, const spec::DmaDone& done) {
  dones_.emplace_back(now, done.resp);
  WakeAt(now + 1);
}

void Mailbox::OnDeviceReset(Cycle now) {
  TakePulses(now);
  reset_at_ = now;
  WakeAt(now + 1);
}

void Mailbox::OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row) {
  if (row.enabled || row.vq_index != vq_index_) return;
  OnDeviceReset(now);
}

void Mailbox::OnQueueStopped(Cycle at, const spec::QueueFailure& failure) {
  if (failure.vq_index != vq_index_) return;
  stops_.push_back(at);
  WakeAt(at + 1);
}

void Mailbox::OnFetch(Cycle now, uint32_t offset) {
  TakePulses(now);
  order_ = {now, false, offset};
  WakeAt(now + 1);
}

void Mailbox::OnComplete(Cycle now, uint32_t bytes) {
  TakePulses(now);
  order_ = {now, true, bytes};
  WakeAt(now + 1);
}

void Mailbox::OnWindowWrite(Cycle now, uint32_t word, uint32_t data) {
  if (IsBusy(now)) return;
  for (size_t i = 0; i < kMailboxWordBytes; ++i)
    window_[kMailboxWordBytes * word + i] = static_cast<uint8_t>(data >> (8 * i));
}

uint32_t Mailbox::ReadWindow(Cycle now, uint32_t word) {
  if (IsBusy(now)) return 0;
  uint32_t data = 0;
  for (size_t i = 0; i < kMailboxWordBytes; ++i)
    data |= static_cast<uint32_t>(window_[kMailboxWordBytes * word + i]) << (8 * i);
  return data;
}

// The state in a cycle, before or after its Run.
bool Mailbox::IsBusy(Cycle now) {
  TakePulses(now);
  const State state = StateAt(now);
  return IsActive(state) && state != State::kWait;
}

// Applies pulses of earlier cycles.
void Mailbox::TakePulses(Cycle now) {
  if (order_ && order_->cycle < now) {
    const Order order = *order_;
    order_.reset();
    // An abort discards orders: then the state has changed by now.
    if (state_ == State::kWait && StateAt(order.cycle) == State::kWait) {
      skip_ = order.complete ? 0 : order.value;
      end_ = kWindowBytes;
      if (order.complete) {
        completing_ = true;
        end_ = std::min<size_t>(end_, std::min(response_bytes_, order.value));
      } else {
        dma_error_ = false;
      }
      entry_ = order.complete ? readable_ : 0;
      pos_ = 0;
      SetState(order.cycle, State::kWalk);
    }
  }
  while (!stops_.empty() && stops_.front() < now) {
    if (!abort_ && stops_.front() > begun_at_) stopped_ = true;
    stops_.erase(stops_.begin());
  }
  if (reset_at_ && *reset_at_ < now) {
    // A command that begins in the cycle of the reset is not discarded: descriptor fetch finds no more of the queue.
    if (StateAt(*reset_at_) != State::kIdle || state_ != State::kRequest) abort_ = true;
    reset_at_.reset();
  }
  while (!dones_.empty() && dones_.front().first < now) {
    --outstanding_;
    store_failed_ |= !IsOkay(dones_.front().second);
    dones_.erase(dones_.begin());
  }
}

// --- Transitions -----------------------------------------------------------------------------------------------------

void Mailbox::Run(Cycle now) {
  TakePulses(now);
  ReportStatus(now);
  Step(now);
}

void Mailbox::SetState(Cycle now, State state) {
  before_ = state_;
  state_ = state;
  since_ = now + 1;
  WakeAt(now + 1);
}

// A command is in progress.
bool Mailbox::IsActive(State state) {
  return state != State::kIdle && state != State::kRequest && state != State::kBuffer && state != State::kReport &&
         state != State::kBroken;
}

void Mailbox::ReportStatus(Cycle now) {
  const MailboxStatus status{.request = IsActive(state_) && !abort_ && !stopped_ && !completing_,
                             .busy = IsActive(state_) && state_ != State::kWait,
                             .dma_error = dma_error_,
                             .request_bytes = request_bytes_,
                             .response_bytes = response_bytes_};
  if (status == last_status_) return;
  last_status_ = status;
  on_status(now, status);
}

void Mailbox::Step(Cycle now) {
  switch (state_) {
    case State::kIdle:
      if (stopped_ && !abort_) return SetState(now, State::kBroken);
      if (!control_doorbell_in.CanPop(now)) return;
      vq_index_ = control_doorbell_in.Pop(now).vq_index;
      if (abort_) {
        begun_at_ = now;
        stopped_ = false;
      }
      abort_ = false;
      Begin();
      return SetState(now, State::kRequest);

    case State::kRequest:
      if (!buffer_request_out.CanPush(now)) return;
      next_.vq_index = vq_index_;
      buffer_request_out.Push(now, next_);
      return SetState(now, State::kBuffer);

    case State::kBuffer:
      if (buffer_in.CanPop(now)) TakeBuffer(now);
      return;

    case State::kWait:
      if (abort_ || stopped_) SetState(now, State::kDrain);
      return;

    case State::kWalk: {
      const bool is_copied = pos_ == end_ || entry_ == (completing_ ? chain_.size() : readable_);
      if (abort_ || stopped_) return SetState(now, State::kDrain);
      if (!is_copied) return SetState(now, State::kPiece);
      if (completing_) return SetState(now, State::kDrain);
      return SetState(now, pos_ % kRowBytes == 0 ? State::kWait : State::kFill);
    }

    case State::kPiece: return Piece(now);

    case State::kFetch:
      if (!fetch_request_out.CanPush(now)) return;
      fetch_request_out.Push(now, {.address = address_, .bytes = static_cast<uint16_t>(piece_), .tag = 0});
      return SetState(now, State::kFetched);

    case State::kFetched:
      if (!fetched_in.CanPop(now)) return;
      if (!IsOkay(fetched_in.front().resp)) {
        fetched_in.Drop(now);
        dma_error_ = true;
        return SetState(now, State::kWait);
      }
      window_[pos_] = fetched_in.front().data[copied_];
      CountByte();
      if (copied_ < piece_) return WakeAt(now + 1);
      fetched_in.Drop(now);
      return SetState(now, State::kWalk);

    case State::kFill:
      window_[pos_++] = 0;
      if (pos_ % kRowBytes != 0) return WakeAt(now + 1);
      return SetState(now, State::kWalk);

    case State::kRead:
      if (copied_ == piece_) return SetState(now, State::kStore);
      store_.data[copied_] = window_[pos_];
      CountByte();
      return WakeAt(now + 1);

    case State::kStore:
      if (!store_out.CanPush(now)) return;
      store_out.Push(now, store_);
      ++outstanding_;
      return SetState(now, State::kWalk);

    case State::kDrain:
      // The used element must be written after the data, and another client of the write port writes it.
      if (outstanding_ != 0) return;
      if (abort_) return SetState(now, State::kIdle);
      if (stopped_) return SetState(now, State::kBroken);
      return SetState(now, store_failed_ ? State::kReport : State::kUsed);

    case State::kUsed:
      if (!completion_out.CanPush(now)) return;
      completion_out.Push(now, {.vq_index = vq_index_,
                                .head = head_,
                                .used_bytes = static_cast<uint32_t>(pos_),
                                .has_id = has_id_,
                                .id = id_,
                                .next_position = has_id_ ? next_.index : uint16_t{0}});
      Begin();
      if (abort_) return SetState(now, State::kIdle);
      return SetState(now, stopped_ ? State::kBroken : State::kRequest);

    case State::kReport:
      if (!queue_failure_out.CanPush(now)) return;
      queue_failure_out.Push(
          now, {.vq_index = vq_index_,
                .code = store_failed_ ? spec::RdmaError::kQueueDmaError : spec::RdmaError::kBadDescriptor});
      return SetState(now, State::kBroken);

    case State::kBroken:
      if (control_doorbell_in.CanPop(now)) control_doorbell_in.Pop(now);
      if (abort_) SetState(now, State::kIdle);
      return;
  }
}

void Mailbox::Begin() {
  next_ = {.client = spec::BufferClient::kControl, .count = 1};
  chain_.clear();
  readable_ = 0;
  request_bytes_ = response_bytes_ = 0;
  completing_ = store_failed_ = dma_error_ = false;
}

void Mailbox::TakeBuffer(Cycle now) {
  const auto buffer = buffer_in.Pop(now);
  if (!next_.by_index) head_ = buffer.head;
  has_id_ = buffer.has_id;
  id_ = buffer.id;
  next_ = {.client = spec::BufferClient::kControl,
           .by_index = true,
           .index = buffer.next_index,
           .count = 1,
           .indirect = buffer.indirect,
           .table_address = buffer.table_address,
           .table_entries = buffer.table_entries};
  if (abort_ || buffer.status == spec::BufferStatus::kEmpty) return SetState(now, State::kIdle);
  uint32_t& sum = buffer.writable ? response_bytes_ : request_bytes_;
  // A chain has at most 2^32 bytes and its writable descriptors come last (virtio 1.3, 2.7.4.1 and 2.7.4.2); its length
  // is at most the queue's size, here chain_entries_, which also ends loops (2.7.5.3.1).
  const bool is_bad = chain_.size() == chain_entries_ || uint64_t{sum} + buffer.bytes > ~uint32_t{0} ||
                      (!buffer.writable && chain_.size() != readable_);
  if (stopped_ || buffer.status != spec::BufferStatus::kOk) return SetState(now, State::kBroken);
  if (is_bad) return SetState(now, State::kReport);
  chain_.push_back({buffer.address, buffer.bytes});
  sum += buffer.bytes;
  if (!buffer.writable) ++readable_;
  SetState(now, buffer.more ? State::kRequest : State::kWait);
}

void Mailbox::Piece(Cycle now) {
  const Entry& entry = chain_[entry_];
  if (skip_ >= entry.bytes) {
    skip_ -= entry.bytes;
    ++entry_;
    return SetState(now, State::kWalk);
  }
  address_ = entry.address + skip_;
  piece_ = std::min({kRowBytes - pos_ % kRowBytes, end_ - pos_, size_t{entry.bytes - skip_}});
  copied_ = 0;
  store_ = {.address = address_, .bytes = static_cast<uint8_t>(piece_), .notify = true, .tag = 0};
  SetState(now, completing_ ? State::kRead : State::kFetch);
}

void Mailbox::CountByte() {
  ++copied_;
  ++pos_;
  ++skip_;
}

}  // namespace vireo::model
