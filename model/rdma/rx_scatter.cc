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

void RxScatter::OnAccepted(Cycle now) {
  accepted_.push_back(now);
  WakeAt(now + 1);
}

void RxScatter::OnWriteDone(Cycle now) {
  dones_.push_back(now);
  if (pending_.size() != 0) WakeAt(now + 1);
}

RxScatter::Write RxScatter::MakeWrite(size_t offset, uint64_t address, size_t bytes) const {
  const size_t lane = offset % beat_bytes_;
  const size_t frame_beats = (lane + bytes + beat_bytes_ - 1) / beat_bytes_;
  const size_t run_beats = (bytes + beat_bytes_ - 1) / beat_bytes_;
  const size_t lag = lane != 0 && frame_beats != 1 ? 1 : 0;
  return {offset, address, bytes, lag, run_beats - 1 + lag, 0};
}

void RxScatter::MakeBeat(WriteBeat& beat) const {
  const size_t from = (write_.step - write_.lag) * beat_bytes_;
  const size_t bytes = std::min(beat_bytes_, write_.bytes - from);
  beat.request = {.address = write_.address, .bytes = static_cast<uint16_t>(write_.bytes), .notify = true, .tag = 0};
  beat.last = write_.step == write_.last_step;
  if (place_.zeros) {
    beat.data = {};
  } else {
    const auto frame = store_.oldest().subspan(write_.offset + from, bytes);
    beat.data.assign(frame.begin(), frame.end());
  }
  // Zero behind the end of the write; inside it a beat is full.
  beat.data.resize(beat_bytes_);
}

void RxScatter::Run(Cycle now) {
  Leave(now);
  if (!beats_.empty() && beats_.front().cycle <= now && next_beat_ <= now && write_out.CanPush(now)) {
    write_out.Push(now, beats_.front().beat);
    beats_.pop_front();
    room_.Return(now);
    next_beat_ = now + 1;
    WakeAt(now + 1);  // there is room for a step again
  }
  if (!beats_.empty() && beats_.front().cycle > now) WakeAt(beats_.front().cycle);
  if (net_until_ && *net_until_ <= now) net_until_.reset();
  if (begins_ > now) return WakeAt(begins_);
  switch (state_) {
    case State::kPlace: TakePlace(now); break;
    case State::kRun: Step(now); break;
    case State::kFree:
      store_.Free(now);
      state_ = State::kPlace;
      begins_ = now + 1;
      break;
  }
  if (begins_ == now + 1) WakeAt(begins_);
}

// Whole beats follow each other without a gap, and nobody stops them.
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
  pending_.Push(now, {.writes = writes,
                      .settles = (place_.has_ack && place_.ack.is_read) || (place_.has_answer && place_.answer.is_read),
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
    write_ = MakeWrite(place_.zeros ? 0 : place_.offset, place_.address0, place_.bytes0);
  } else if (!place_.no_frame && !place_.more) {
    state_ = State::kFree;
  }
}

void RxScatter::Step(Cycle now) {
  if (write_.step >= write_.lag) {
    if (room_.Available(1) > now) return;
    room_.Take(1);
    Ready& ready = beats_.Extend();
    ready.cycle = now + kBeatLatency;
    MakeBeat(ready.beat);
    if (beats_.size() == 1) WakeAt(now + kBeatLatency);
  }
  begins_ = now + 1;
  if (write_.step++ != write_.last_step) return;
  if (!second_ && place_.bytes1 != 0) {
    second_ = true;
    const size_t offset = place_.zeros ? 0 : size_t{place_.offset} + place_.bytes0;
    write_ = MakeWrite(offset, place_.address1, place_.bytes1);
    return;
  }
  if (!place_.more) store_.Free(now);
  state_ = State::kPlace;
}

void RxScatter::Leave(Cycle now) {
  if (!pending_.CanPop(now)) return;
  const Pending& pending = pending_.front();
  // Those of this cycle count from the next one on.
  if (pending.writes != 0 && (accepted_.size() < pending.writes || accepted_[pending.writes - 1] >= now)) return;
  for (; !dones_.empty() && dones_.front() < now; dones_.pop_front()) ++done_;
  if (pending.settles && done_ < pending.number) return;
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
  for (unsigned i = 0; i < pending.writes; ++i) accepted_.pop_front();
  pending_.Drop(now);
}

}  // namespace vireo::model
