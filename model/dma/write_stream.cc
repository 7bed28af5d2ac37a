// SPDX-License-Identifier: Apache-2.0
#include "model/dma/write_stream.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace vireo::model {
namespace {

constexpr std::array<uint8_t, spec::kPcieRequestBoundary> kZeros{};

}  // namespace

void WriteStream::Run(Cycle now) {
  if (beats_.empty()) return;
  if (const Cycle due = std::max(beats_.front().cycle, next_beat_); due > now) return block_.WakeAt(due);
  if (!out_.CanPush(now)) return;  // woken when there is space
  out_.Push(now, beats_.front().beat);
  beats_.pop_front();
  room_.Return(now);
  next_beat_ = now + 1;
  Advance();
  if (!beats_.empty()) block_.WakeAt(std::max(next_beat_, beats_.front().cycle));
}

void WriteStream::Begin(Cycle first, const Write& write) {
  assert(step_ == steps_ && write.bytes >= 1 && write.bytes <= spec::kPcieRequestBoundary);
  const size_t memory_beats = (write.lane + write.bytes + beat_bytes_ - 1) / beat_bytes_;
  const size_t beats = (write.bytes + beat_bytes_ - 1) / beat_bytes_;
  write_ = write;
  lag_ = write.lane != 0 && memory_beats != 1 ? 1 : 0;
  steps_ = beats + lag_;
  step_ = 0;
  next_step_ = first;
  Advance();
}

// Makes every step whose cycle is known.
void WriteStream::Advance() {
  if (step_ == steps_) return;
  for (; step_ != steps_; ++step_) {
    Cycle cycle = next_step_;
    if (step_ >= lag_) {
      cycle = std::max(cycle, room_.Available(1));
      if (cycle == kUnknown) return;
      room_.Take(1);
      Ready& ready = beats_.Extend();
      ready.cycle = cycle + kBeatLatency;
      MakeBeat(ready.beat);
      if (beats_.size() == 1) block_.WakeAt(ready.cycle);
    }
    next_step_ = cycle + 1;
  }
  block_.WakeAt(LastStep());
}

void WriteStream::MakeBeat(WriteBeat& beat) const {
  const size_t from = (step_ - lag_) * beat_bytes_;
  const size_t bytes = std::min(beat_bytes_, write_.bytes - from);
  beat.request = {.address = write_.address,
                  .bytes = static_cast<uint16_t>(write_.bytes),
                  .notify = write_.notify,
                  .tag = write_.tag};
  beat.last = step_ + 1 == steps_;
  const uint8_t* const data = write_.data != nullptr ? write_.data + from : kZeros.data();
  beat.data.assign(data, data + bytes);
  // Zero after the end of the write; before it a beat is full.
  beat.data.resize(beat_bytes_);
}

std::span<const uint8_t> WriteStream::TakeRest(size_t sent, Cycle next) {
  if (step_ == steps_) return {};
  const size_t made = step_ > lag_ ? step_ - lag_ : 0;
  // Steps wait only for space, so all of it is used.
  if (beats_.size() != kDepth || made != sent + kDepth || next_beat_ > next) return {};
  Cycle leaves = next;
  for (const Ready& ready : beats_) {
    if (ready.cycle > leaves++) return {};
  }
  // From here on beat k is in the cycle after the beat kDepth before it has left, or after the previous beat; both are
  // early enough if the first of them is.
  if (next_step_ + kBeatLatency > leaves) return {};
  static_assert(kDepth > kBeatLatency);
  const size_t beats = steps_ - lag_;
  const Cycle last = std::max(next_step_ + (beats - 1 - made), next + (beats - 1 - sent) - (kDepth - 1));
  room_.Take(beats - made);
  room_.Return(next, beats - sent);
  beats_.clear();
  next_beat_ = next + (beats - sent);
  step_ = steps_;
  next_step_ = last + 1;
  block_.WakeAt(last);
  return {write_.data != nullptr ? write_.data : kZeros.data(), write_.bytes};
}

}  // namespace vireo::model
