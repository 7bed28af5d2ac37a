// SPDX-License-Identifier: Apache-2.0
#include "sim/wire/wire.h"

#include <algorithm>
#include <utility>

namespace vireo::sim {
namespace {

constexpr uint64_t kUpAgain = 2;  // a cookie, besides the numbers of the ends

}  // namespace

Wire::Wire(Scheduler& scheduler, const WireParameters& parameters)
    : scheduler_(scheduler), parameters_(parameters), client_(scheduler.AddClient(*this)) {}

Picoseconds Wire::Send(unsigned end, Picoseconds earliest, WireFrame frame) {
  const Picoseconds start = std::max(earliest, free_[end]);
  const Picoseconds left = start + Time(kPreambleBytes + frame.bytes.size() + kFcsBytes);
  free_[end] = left + Time(kInterframeGapBytes);
  if (!is_up_) {
    Lose(end, std::move(frame));
    return left;
  }
  in_flight_[end].push_back(std::move(frame));
  scheduler_.At(left + parameters_.delay_ns * kPicosecondsPerNanosecond, client_, end);
  return left;
}

void Wire::TakeDown(Picoseconds until) {
  if (until <= std::max(down_until_, scheduler_.now())) return;
  down_until_ = until;
  scheduler_.At(until, client_, kUpAgain);
  SetLink(false);
}

void Wire::BringUp() {
  down_until_ = 0;
  SetLink(true);
}

void Wire::SetLink(bool up) {
  if (std::exchange(is_up_, up) == up) return;
  for (LinkListener* listener : listeners_) {
    if (listener != nullptr) listener->OnLink(up);
  }
}

void Wire::Lose(unsigned end, WireFrame frame) {
  ++lost_;
  frame.comment += frame.comment.empty() ? "link down" : ", link down";
  if (on_lost_) on_lost_(end, frame);
}

void Wire::OnTime(uint64_t cookie) {
  if (cookie == kUpAgain) {
    if (scheduler_.now() >= down_until_) BringUp();
    return;
  }
  const auto end = static_cast<unsigned>(cookie);
  WireFrame frame = std::move(in_flight_[end].front());
  in_flight_[end].pop_front();
  if (!is_up_) return Lose(end, std::move(frame));
  if (FrameReceiver* receiver = receivers_[1 - end]) receiver->OnFrame(std::move(frame));
}

MacPort::MacPort(Scheduler& scheduler, const CoreClock& clock, const spec::Config& config,
                 const MacParameters& parameters)
    : scheduler_(scheduler),
      clock_(clock),
      config_(config),
      parameters_(parameters),
      beat_bytes_(BeatBytes(config)),
      credit_beats_(FrameBeats(std::max(parameters.buffer_bytes, 2 * config.max_frame_bytes), beat_bytes_)),
      client_(scheduler.AddClient(*this)) {}

void MacPort::Connect(Wire& wire, unsigned end) {
  wire_ = &wire;
  end_ = end;
  wire.Connect(end, *this);
  wire.Watch(end, *this);
  const uint64_t core_kbps = uint64_t{config_.core_clock_khz} * config_.datapath_bits;
  cut_through_ = core_kbps >= uint64_t{wire.parameters().rate_mbps} * 1000;
}

void MacPort::Schedule(Picoseconds time, Event event) {
  scheduler_.At(time, client_, epoch_ << 8 | static_cast<uint8_t>(event));
}

void MacPort::Restart(Cycle first_input) {
  ++epoch_;
  first_input_ = core_free_ = first_input;
  to_line_.clear();
  to_core_.clear();
  credits_.assign(1, credit_beats_);
  Schedule(clock_.Begin(first_input), Event::kCredit);
  reported_link_ = true;
  if (!wire_->is_up()) Schedule(clock_.Begin(first_input), Event::kLink);
}

void MacPort::OnLink(bool) {
  // Before the first reset there is no NIC; during one, Restart() has scheduled it.
  if (first_input_ == kNever) return;
  Schedule(std::max(clock_.Begin(clock_.AtOrAfter(scheduler_.now())), clock_.Begin(first_input_)), Event::kLink);
}

void MacPort::TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) {
  ++counters_.sent_frames;
  counters_.sent_bytes += bytes.size();
  WireFrame frame;
  frame.bytes.assign(bytes.begin(), bytes.end());
  if (frame.bytes.size() < kMinFrameBytes) frame.bytes.resize(kMinFrameBytes);
  ToLine entry;
  entry.beats = FrameBeats(bytes.size(), beat_bytes_);
  if (recorder_ != nullptr) entry.copy = frame;
  const Picoseconds ready = clock_.Begin((cut_through_ ? start : end) + 1);
  const Picoseconds earliest = ready + parameters_.transmit_latency_ns * kPicosecondsPerNanosecond;
  to_line_.push_back(std::move(entry));
  Schedule(wire_->Send(end_, earliest, std::move(frame)), Event::kLeft);
}

void MacPort::OnFrame(WireFrame frame) {
  if (recorder_ != nullptr) recorder_->OnFrame(Direction::kIn, frame);
  if (frame.bytes.empty() || first_input_ == kNever) return;
  if (frame.bytes.size() > config_.max_frame_bytes) {
    ++counters_.oversize_drops;
    return;
  }
  ++counters_.received_frames;
  counters_.received_bytes += frame.bytes.size();
  const Picoseconds ready = scheduler_.now() + parameters_.receive_latency_ns * kPicosecondsPerNanosecond;
  const Cycle start = std::max(clock_.AtOrAfter(ready), core_free_);
  core_free_ = start + FrameBeats(frame.bytes.size(), beat_bytes_);
  to_core_.push_back({start, core_free_ - 1, std::move(frame)});
  Schedule(clock_.Begin(start), Event::kToCore);
}

void MacPort::OnTime(uint64_t cookie) {
  if (cookie >> 8 != epoch_) return;
  switch (static_cast<Event>(cookie & 0xff)) {
    case Event::kLeft: {
      const ToLine entry = std::move(to_line_.front());
      to_line_.pop_front();
      if (recorder_ != nullptr) recorder_->OnFrame(Direction::kOut, entry.copy);
      credits_.push_back(entry.beats);
      return Schedule(clock_.Begin(clock_.AtOrAfter(scheduler_.now())), Event::kCredit);
    }
    case Event::kCredit: {
      const uint32_t beats = credits_.front();
      credits_.pop_front();
      return nic_->ReturnCredits(clock_.Containing(scheduler_.now()), CreditKind::kTransmit, beats);
    }
    case Event::kToCore: {
      const ToCore entry = std::move(to_core_.front());
      to_core_.pop_front();
      return nic_->ReceiveFrame(entry.start, entry.end, entry.frame.bytes, entry.frame.bad_fcs);
    }
    case Event::kLink: {
      // The link may have changed twice within a cycle.
      if (std::exchange(reported_link_, wire_->is_up()) == wire_->is_up()) return;
      return nic_->SetLink(clock_.Containing(scheduler_.now()), wire_->is_up());
    }
  }
}

}  // namespace vireo::sim
