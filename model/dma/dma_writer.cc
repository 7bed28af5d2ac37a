// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vireo::model {
namespace {

constexpr uint64_t kWriteStepToQueue = 1;  // step to the output queue

}  // namespace

DmaWriter::DmaWriter(const Config& config)
    : config_(config),
      beat_bytes_(config.data_bits / 8),
      split_(beat_bytes_),
      data_timing_(FifoTiming::Fifo(config.buffer_bytes / beat_bytes_)),
      room_for_answers_(config.writes) {}

DmaWriter::Flight& DmaWriter::PlaceOf(uint64_t number) {
  const auto index = static_cast<size_t>(number - first_flight_);
  if (index == flights_.size()) {
    Flight& flight = flights_.Extend();  // reuses the memory of one that has left
    flight.data.clear();
    flight.complete = kUnknown;
    flight.resp = AxiResp::kOkay;
  }
  return flights_[index];
}

void DmaWriter::OnRequest(Cycle cycle, const Request& request) {
  assert(request.bytes <= kMaxRequestBytes);
  split_.OnRequest(cycle, request.address, request.bytes, request.max_payload_size);
  PlaceOf(next_request_++).request = request;
  Advance();
}

void DmaWriter::OnTrainBeat(Cycle cycle, std::span<const uint8_t> data, bool last) {
  data_timing_.Push(cycle);
  Flight& flight = PlaceOf(next_train_);
  flight.data.insert(flight.data.end(), data.begin(), data.end());
  if (!last) return;
  flight.complete = cycle;
  ++next_train_;
  Advance();
}

void DmaWriter::OnTrain(Cycle first, std::span<const uint8_t> data) {
  const uint32_t beats = BusBeats(0, static_cast<uint32_t>(data.size()), beat_bytes_);
  data_timing_.Push(first, beats);
  Flight& flight = PlaceOf(next_train_++);
  assert(flight.data.empty());
  flight.data.assign(data.begin(), data.end());
  flight.complete = first + beats - 1;
  Advance();
}

void DmaWriter::OnBurstTaken(Cycle cycle) {
  bursts_timing_.Pop(cycle);
  bursts_.pop_front();
  Advance();
}

DmaWriter::WriteBeat DmaWriter::write_beat() const {
  const Write& write = WriteOf(leaving_);
  const Flight& flight = FlightOf(write.flight);
  const auto lane = static_cast<uint32_t>(write.address % beat_bytes_);
  const uint32_t begin = beat_ == 0 ? lane : 0;
  const uint32_t at = beat_ * beat_bytes_ + begin - lane;  // offset in the burst
  const uint32_t size = std::min(beat_bytes_ - begin, write.bytes - at);
  const auto offset = static_cast<size_t>(write.address - flight.request.address) + at;
  return {.lane = begin, .data = std::span(flight.data).subspan(offset, size), .last = beat_ + 1 == write.beats};
}

void DmaWriter::OnWriteBeatTaken(Cycle cycle) {
  write_timing_.Pop(cycle);
  write_room_.Return(cycle);
  if (++beat_ == WriteOf(leaving_).beats) {
    beat_ = 0;
    ++leaving_;
  }
  Advance();
}

std::span<const uint8_t> DmaWriter::burst_data() const {
  const Write& write = WriteOf(leaving_);
  const Flight& flight = FlightOf(write.flight);
  return std::span(flight.data).subspan(static_cast<size_t>(write.address - flight.request.address), write.bytes);
}

// Between the beats only steps wait for queue space, and a step waits for nothing else except as Advance checks.
Cycle DmaWriter::TakeBurstData(Cycle from) {
  assert(beat_ == 0);
  const uint32_t beats = WriteOf(leaving_).beats;
  Cycle cycle = from;
  for (uint32_t left = beats; left != 0;) {
    cycle = std::max(WriteCycle(), from);
    const uint32_t count = write_timing_.PopReady(left) <= cycle ? left : 1;
    write_timing_.Pop(cycle, count);
    write_room_.Return(cycle, count);
    cycle += count - 1;
    left -= count;
    // Later beats wait for this burst's steps only.
    while (stepping_ == leaving_ && Step()) {
    }
  }
  ++leaving_;
  if (StepAll()) Advance();
  return cycle;
}

bool DmaWriter::OnAnswer(Cycle cycle, AxiResp resp) {
  assert(answered_ < leaving_);
  const Write write = writes_.front();
  writes_.pop_front();
  ++answered_;
  room_for_answers_.Return(cycle);
  last_answer_ = cycle;
  ended_ = write.last;
  Flight& flight = PlaceOf(write.flight);
  if (flight.resp == AxiResp::kOkay) flight.resp = resp;
  if (write.last) {
    if (flight.request.notify || flight.resp != AxiResp::kOkay) {
      completions_.push_back({cycle + kDoneLatency, flight.request.tag, flight.resp});
    }
    flights_.pop_front();
    ++first_flight_;
  }
  if (!std::exchange(waits_for_answer_, false)) return false;
  Advance();
  return true;
}

void DmaWriter::AmendAnswer(AxiResp resp) {
  assert(!ended_ || (!completions_.empty() && completions_.back().cycle == last_answer_ + kDoneLatency));
  AxiResp& told = ended_ ? completions_.back().resp : flights_.front().resp;
  if (told == AxiResp::kOkay) told = resp;
}

void DmaWriter::Advance() {
  do {
    while (split_.Advance() || Issue()) {
    }
  } while (StepAll());
}

bool DmaWriter::Issue() {
  const Cycle turn = split_.BurstCycle();
  if (turn == kUnknown) return false;
  const DmaSplit::Burst burst = split_.burst();
  const Flight& flight = FlightOf(issue_flight_);
  const Cycle answers = room_for_answers_.Available(1);
  const Cycle bus = bursts_timing_.PushReady();
  const Cycle beats = jobs_timing_.PushReady();
  const Cycle train = burst.first ? After(flight.complete, 1) : 0;
  Cycle fence = 0;
  if (burst.first && flight.request.after_all_b && issued_ > 0) {
    fence = answered_ == issued_ ? last_answer_ + 1 : kUnknown;
  }
  const Cycle cycle = std::max({turn, answers, bus, beats, train, fence});
  if (cycle == kUnknown) {
    waits_for_answer_ = answers == kUnknown || fence == kUnknown;
    return false;
  }
  if (cycle > turn) {
    ++(cycle == fence     ? waits_.fence
       : cycle == train   ? waits_.train
       : cycle == answers ? waits_.answers
       : cycle == bus     ? waits_.bus
                          : waits_.beats);
  }

  split_.TakeBurst(cycle);
  room_for_answers_.Take(1);
  writes_.push_back({issue_flight_, burst.address, burst.bytes, burst.beats, burst.last});
  ++issued_;
  if (burst.last) ++issue_flight_;
  bursts_.push_back({burst.address, burst.bytes, burst.beats});
  bursts_timing_.Push(cycle);
  jobs_timing_.Push(cycle);
  return true;
}

// True if there was a step.
bool DmaWriter::StepAll() {
  bool stepped = false;
  while (Step()) stepped = true;
  return stepped;
}

// All remaining steps of a burst if there is space for them as they come, else one.
bool DmaWriter::Step() {
  if (jobs_timing_.size() == 0) return false;
  const Cycle cycle = std::max({jobs_timing_.PopReady(), next_step_, write_room_.Available(1)});
  if (cycle == kUnknown) return false;
  const Write& write = WriteOf(stepping_);
  const uint32_t left = write.beats - step_;
  // At most one entry is returned per cycle, so if the last one is free in time, those before it are, too.
  const bool flows = left <= kStreamDepth && write_room_.Available(left) <= cycle + left - 1;
  const uint32_t count = flows ? left : 1;
  next_step_ = cycle + count;
  const Flight& flight = FlightOf(write.flight);
  if (step_ == 0 && write.address == flight.request.address) {
    beats_left_ = BusBeats(0, flight.request.bytes, beat_bytes_);
  }
  const uint32_t data = std::min(beats_left_, count);
  beats_left_ -= data;
  data_timing_.Pop(cycle, data);
  write_room_.Take(count);
  write_timing_.Push(cycle + kWriteStepToQueue, count);
  step_ += count;
  if (step_ == write.beats) {
    step_ = 0;
    ++stepping_;
    jobs_timing_.Pop(next_step_ - 1);
  }
  return true;
}

}  // namespace vireo::model
