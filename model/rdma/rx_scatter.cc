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

RxScatter::Write RxScatter::MakeWrite(size_t offset, uint64_t address, size_t bytes) const {
  const size_t lane = offset % beat_bytes_;
  const size_t frame_beats = (lane + bytes + beat_bytes_ - 1) / beat_bytes_;
  const size_t run_beats = (bytes + beat_bytes_ - 1) / beat_bytes_;
  const size_t lag = lane != 0 && frame_beats != 1 ? 1 : 0;
  return {offset, address, bytes, lag, run_beats - 1 + lag, 0};
}

WriteBeat RxScatter::MakeBeat() const {
  const size_t from = (write_.step - write_.lag) * beat_bytes_;
  const size_t bytes = std::min(beat_bytes_, write_.bytes - from);
  const auto frame = store_.oldest().subspan(write_.offset + from, bytes);
  WriteBeat beat{{.address = write_.address, .bytes = static_cast<uint16_t>(write_.bytes), .notify = false, .tag = 0},
                 {frame.begin(), frame.end()},
                 write_.step == write_.last_step};
  // Zero behind the end of the write; inside it a beat is full.
  beat.data.resize(beat_bytes_);
  return beat;
}

void RxScatter::Run(Cycle now) {
  Leave(now);
  if (!beats_.empty() && beats_.front().cycle <= now && next_beat_ <= now && write_out.CanPush(now)) {
    write_out.Push(now, std::move(beats_.front().beat));
    beats_.pop_front();
    room_.Return(now);
    next_beat_ = now + 1;
    WakeAt(now + 1);  // there is room for a step again
  }
  if (!beats_.empty() && beats_.front().cycle > now) WakeAt(beats_.front().cycle);
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

void RxScatter::TakePlace(Cycle now) {
  if (!place_in.CanPop(now) || !pending_.CanPush(now)) return;
  if (!place_in.front().no_frame && !store_.HasOldest(now)) return;
  place_ = place_in.Pop(now);
  const unsigned writes = place_.no_frame || place_.bytes0 == 0 ? 0 : place_.bytes1 == 0 ? 1 : 2;
  pending_.Push(now, {writes, place_.has_completion, place_.completion, place_.has_answer, place_.answer});
  begins_ = now + 1;
  if (writes != 0) {
    second_ = false;
    state_ = State::kRun;
    write_ = MakeWrite(place_.offset, place_.address0, place_.bytes0);
  } else if (!place_.no_frame && !place_.more) {
    state_ = State::kFree;
  }
}

void RxScatter::Step(Cycle now) {
  if (write_.step >= write_.lag) {
    if (room_.Available(1) > now) return;
    room_.Take(1);
    beats_.push_back({now + kBeatLatency, MakeBeat()});
    if (beats_.size() == 1) WakeAt(now + kBeatLatency);
  }
  begins_ = now + 1;
  if (write_.step++ != write_.last_step) return;
  if (!second_ && place_.bytes1 != 0) {
    second_ = true;
    write_ = MakeWrite(size_t{place_.offset} + place_.bytes0, place_.address1, place_.bytes1);
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
  if (pending.has_completion && !completed_) {
    if (!completion_out.CanPush(now)) return;
    completion_out.Push(now, pending.completion);
    if (pending.has_answer) {
      completed_ = true;
      return WakeAt(now + 1);
    }
  } else if (pending.has_answer) {
    if (!answer_out.CanPush(now)) return;
    answer_out.Push(now, pending.answer);
  }
  completed_ = false;
  accepted_.erase(accepted_.begin(), accepted_.begin() + static_cast<ptrdiff_t>(pending.writes));
  pending_.Pop(now);
}

}  // namespace vireo::model
