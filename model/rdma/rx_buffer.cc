// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/rx_buffer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vireo::model {

using spec::RxVerdict;

RxBuffer::RxBuffer(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      beat_bytes_(sizes.data_bits / 8),
      beats_(sizes.buffer_bytes / beat_bytes_),
      max_frame_bytes_(sizes.max_frame_bytes),
      max_beats_((sizes.max_frame_bytes + beat_bytes_ - 1) / beat_bytes_),
      max_frames_(sizes.buffer_bytes / sizes.bytes_per_frame),
      record_timing_(FifoTiming::Fifo(max_frames_)),
      tokens_(Channel<RxToken>::Fifo(max_frames_)) {
  tokens_.SetConsumer(this);
}

void RxBuffer::SetEnable(Cycle from, bool enable) {
  if (enable_from_ < from) enable_ = next_enable_;
  next_enable_ = enable;
  enable_from_ = from;
}

void RxBuffer::OnFrame(Cycle start, [[maybe_unused]] Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  const size_t beats = (bytes.size() + beat_bytes_ - 1) / beat_bytes_;
  assert(end == start + beats - 1);
  if (!(enable_from_ <= start ? next_enable_ : enable_)) return;

  while (!freed_.empty() && freed_.front().cycle < start) {
    used_ -= freed_.front().beats;
    --frames_;
    freed_.pop_front();
  }
  if (frames_ == max_frames_ || used_ + max_beats_ > beats_) {
    drops_.push_back(start + 1);
    WakeAt(start + 1);
    return;
  }
  ++frames_;
  last_start_ = start;
  Parsed parsed{RxParser::TokenCycle(end),
                RxParser::Parse(bytes, mac_error, roce_.At(start)),
                {false, std::min(beats, max_beats_), {}}};
  used_ += parsed.record.beats;
  if (bytes.size() > max_frame_bytes_) parsed.token.verdict = RxVerdict::kTruncated;
  if (parsed.token.verdict == RxVerdict::kRoce || parsed.token.verdict == RxVerdict::kNet) {
    parsed.record.good = true;
    parsed.record.bytes.assign(bytes.begin(), bytes.end());
  }
  WakeAt(parsed.cycle);
  parsed_.push_back(std::move(parsed));
}

bool RxBuffer::HasOldest(Cycle now) const { return record_timing_.PopReady() <= now && records_.front().good; }

void RxBuffer::Free(Cycle now) {
  assert(HasOldest(now));
  Pop(now);
}

void RxBuffer::Pop(Cycle now) {
  freed_.push_back({now, records_.front().beats});
  record_timing_.Pop(now);
  records_.pop_front();
  WakeForRecord();
}

void RxBuffer::WakeForRecord() {
  if (records_.empty()) return;
  if (!records_.front().good) {
    WakeAt(record_timing_.PopReady());
  } else if (reader_ != nullptr) {
    reader_->WakeAt(record_timing_.PopReady());
  }
}

void RxBuffer::Run(Cycle now) {
  if (!drops_.empty() && drops_.front() <= now) {
    drops_.pop_front();
    if (on_drop) on_drop(now);
  }
  if (!parsed_.empty() && parsed_.front().cycle == now) {
    Parsed parsed = std::move(parsed_.front());
    parsed_.pop_front();
    if (on_verdict) on_verdict(now, parsed.token.verdict);
    if (parsed.record.good) tokens_.Push(now, parsed.token);
    record_timing_.Push(now);
    records_.push_back(std::move(parsed.record));
    if (records_.size() == 1) WakeForRecord();
  }
  // The ring frees space only in order, so a dropped frame stays until it is the oldest.
  if (record_timing_.PopReady() <= now && !records_.front().good) Pop(now);
  if (tokens_.CanPop(now) && frame_out.CanPush(now)) frame_out.Push(now, tokens_.Pop(now));
}

}  // namespace vireo::model
