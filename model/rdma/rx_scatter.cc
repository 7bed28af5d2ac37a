// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/rx_scatter.h"

#include <algorithm>
#include <utility>

namespace vireo::model {

RxScatter::RxScatter(Agenda& agenda, uint32_t data_bits, FrameStore& store)
    : Block(agenda), beat_bytes_(data_bits / 8), store_(store) {
  place_in.SetConsumer(this);
  pending_.SetProducer(this);
  pending_.SetConsumer(this);
  store_.SetReader(this);
}

void RxScatter::OnWriteDone(Cycle now) {
  dones_.push_back(now);
  if (pending_.size() != 0) WakeAt(now + 1);
}

void RxScatter::Run(Cycle now) {
  Leave(now);
  stream_.Run(now);
  if (net_until_ && *net_until_ <= now) net_until_.reset();
  if (begins_ > now) return WakeAt(begins_);
  switch (state_) {
    case State::kPlace: TakePlace(now); break;
    case State::kRun: EndWrite(now); break;
    case State::kFree:
      store_.Free(now);
      state_ = State::kPlace;
      begins_ = now + 1;
      break;
  }
  if (begins_ == now + 1) WakeAt(begins_);
}

// Whole beats without gaps and without back-pressure.
void RxScatter::TakeNet(Cycle now) {
  if (!store_.HasOldest(now)) return;
  const size_t bytes = place_in.Pop(now).net_bytes;
  const size_t beats = (bytes + beat_bytes_ - 1) / beat_bytes_;
  if (net_sink != nullptr) net_sink->OnNetFrame(now + kNetLatency, store_.oldest().first(bytes));
  // Freed with the last read.
  state_ = State::kFree;
  begins_ = now + beats;
  net_until_ = now + kNetLatency + beats - 1;
  WakeAt(begins_);
  WakeAt(*net_until_);
}

void RxScatter::TakePlace(Cycle now) {
  if (!place_in.CanPop(now)) return;
  if (place_in.front().net_bytes != 0) return TakeNet(now);
  if (!pending_.CanPush(now)) return;
  if (!place_in.front().no_frame && !store_.HasOldest(now)) return;
  place_ = place_in.Pop(now);
  const unsigned writes = place_.no_frame || place_.bytes0 == 0 ? 0 : place_.bytes1 == 0 ? 1 : 2;
  number_ += writes;
  pending_.Push(now, {.grant = place_.grant,
                      .number = number_,
                      .has_completion = place_.has_completion,
                      .completion = place_.completion,
                      .has_ack = place_.has_ack,
                      .ack = place_.ack,
                      .has_answer = place_.has_answer,
                      .answer = place_.answer});
  begins_ = now + 1;
  if (writes != 0) {
    second_ = false;
    state_ = State::kRun;
    BeginWrite(now, place_.offset, place_.address0, place_.bytes0);
  } else if (!place_.no_frame && !place_.more) {
    state_ = State::kFree;
  }
}

void RxScatter::BeginWrite(Cycle now, size_t offset, uint64_t address, size_t bytes) {
  stream_.Begin(now + 1, {.address = address,
                          .bytes = bytes,
                          .lane = place_.zeros ? 0 : offset % beat_bytes_,
                          .notify = true,
                          .data = place_.zeros ? nullptr : store_.oldest().subspan(offset, bytes).data()});
}

// In the cycle of the last step.
void RxScatter::EndWrite(Cycle now) {
  if (stream_.LastStep() > now) return;
  begins_ = now + 1;
  if (!second_ && place_.bytes1 != 0) {
    second_ = true;
    return BeginWrite(now, size_t{place_.offset} + place_.bytes0, place_.address1, place_.bytes1);
  }
  if (!place_.more) store_.Free(now);
  state_ = State::kPlace;
}

void RxScatter::Leave(Cycle now) {
  if (!pending_.CanPop(now)) return;
  const Pending& pending = pending_.front();
  // Those of this cycle are visible from the next one on.
  for (; !dones_.empty() && dones_.front() < now; dones_.pop_front()) ++done_;
  if (done_ < pending.number) return;
  const bool completes = part_ == Part::kCompletion && pending.has_completion;
  const bool acks = !completes && part_ != Part::kAnswer && pending.has_ack;
  const bool answers = !completes && !acks && pending.has_answer;
  if (completes) {
    if (!completion_out.CanPush(now)) return;
    completion_out.Push(now, pending.completion);
  } else if (acks) {
    if (!ack_out.CanPush(now)) return;
    ack_out.Push(now, pending.ack);
  } else if (answers) {
    if (!answer_out.CanPush(now)) return;
    answer_out.Push(now, pending.answer);
  }
  if ((completes && (pending.has_ack || pending.has_answer)) || (acks && pending.has_answer)) {
    part_ = completes ? Part::kAck : Part::kAnswer;
    return WakeAt(now + 1);
  }
  part_ = Part::kCompletion;
  if (pending.grant.valid) on_grant_ended(now, now + 1, pending.grant);
  pending_.Drop(now);
}

}  // namespace vireo::model
