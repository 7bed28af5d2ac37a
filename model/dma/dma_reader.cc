// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_reader.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vireo::model {
namespace {

// Parts of the latencies.
constexpr uint64_t kDoneToRetire = 2;   // last beat of a burst to its retirement
constexpr uint64_t kRetireToQueue = 1;  // retirement of the last burst to the queue of complete requests
constexpr uint64_t kStepToQueue = 2;    // step of a train to the output queue

}  // namespace

DmaReader::DmaReader(const Config& config)
    : config_(config),
      beat_bytes_(config.data_bits / 8),
      split_(beat_bytes_),
      tags_(config.tags),
      places_(config.buffer_bytes / beat_bytes_),
      reads_(config.tags),
      done_timing_(FifoTiming::Fifo(config.buffer_bytes / beat_bytes_)) {}

uint32_t DmaReader::TrainSteps(uint64_t address, uint32_t bytes) const {
  const bool lag = address % beat_bytes_ != 0 && BusBeats(address, bytes, beat_bytes_) > 1;
  return BusBeats(0, bytes, beat_bytes_) + lag;
}

void DmaReader::OnRequest(Cycle cycle, const Request& request) {
  assert(request.bytes <= max_request_bytes());
  split_.OnRequest(cycle, request.address, request.bytes, request.max_read_request_size);
  Flight& flight = flights_.Extend();  // reuses the memory of one that has left
  flight.tag = request.tag;
  flight.data.resize(request.bytes);
  flight.resp = AxiResp::kOkay;
  flight.issued_bytes = 0;
  flight.bus_beats = BusBeats(request.address, request.bytes, beat_bytes_);
  flight.steps = TrainSteps(request.address, request.bytes);
  flight.train_beats = BusBeats(0, request.bytes, beat_bytes_);
  Advance();
}

void DmaReader::OnBurstTaken(Cycle cycle) {
  bursts_timing_.Pop(cycle);
  bursts_.pop_front();
  Advance();
}

void DmaReader::OnReadBeat(Cycle cycle, uint32_t id, std::span<const uint8_t> data, AxiResp resp, bool last) {
  assert(data.size() == beat_bytes_);
  Read& read = reads_[id];
  const auto lane = static_cast<uint32_t>((read.address + read.bytes_received) % beat_bytes_);
  OnReadData(id, data.subspan(lane, std::min(beat_bytes_ - lane, read.bytes - read.bytes_received)));
  if (last) return OnReadEnd(cycle, id, resp);
  if (read.resp == AxiResp::kOkay) read.resp = resp;
}

void DmaReader::OnReadData(uint32_t id, std::span<const uint8_t> data) {
  Read& read = reads_[id];
  assert(data.size() <= read.bytes - read.bytes_received);
  std::copy(data.begin(), data.end(), FlightOf(read.flight).data.begin() + read.offset + read.bytes_received);
  read.bytes_received += static_cast<uint32_t>(data.size());
}

void DmaReader::OnReadEnd(Cycle cycle, uint32_t id, AxiResp resp) {
  Read& read = reads_[id];
  if (read.resp == AxiResp::kOkay) read.resp = resp;
  if (read.bytes_received != read.bytes) {
    assert(resp != AxiResp::kOkay);
    // A beat of the bus is present or not, so a partial one is missing, too.
    const auto partial_beat = static_cast<uint32_t>((read.address + read.bytes_received) % beat_bytes_);
    const auto data = FlightOf(read.flight).data.begin() + read.offset;
    std::fill(data + read.bytes_received - std::min(partial_beat, read.bytes_received), data + read.bytes, uint8_t{0});
  }
  read.done = cycle;
  Advance();
}

DmaReader::TrainBeat DmaReader::train_beat() const {
  const Flight& flight = flights_.front();
  const size_t begin = size_t{beat_} * beat_bytes_;
  const size_t size = std::min<size_t>(beat_bytes_, flight.data.size() - begin);
  return {.tag = flight.tag,
          .bytes = static_cast<uint32_t>(flight.data.size()),
          .resp = flight.resp,
          .last = beat_ + 1 == flight.train_beats,
          .data = std::span(flight.data).subspan(begin, size)};
}

void DmaReader::OnTrainBeatTaken(Cycle cycle) {
  train_timing_.Pop(cycle);
  train_room_.Return(cycle);
  if (++beat_ == flights_.front().train_beats) PopTrain();
  Advance();
}

// Between the beats only steps wait for queue space, and a step waits for nothing else except as Advance checks.
std::span<const uint8_t> DmaReader::TakeTrain(Cycle first) {
  assert(beat_ == 0);
  const uint32_t beats = flights_.front().train_beats;
  // True if the remaining steps find space and no beat is late for its cycle.
  const bool flows =
      next_step_ > first && next_step_ + kStepToQueue + FifoTiming::kFifoLatency <= first + train_timing_.size();
  if (step_flight_ == first_flight_ && step_ > 0 && flows) {
    TakeSteps(first);
  } else {
    for (Cycle cycle = first; cycle != first + beats; ++cycle) {
      train_timing_.Pop(cycle);
      train_room_.Return(cycle);
      while (Step()) {
      }
    }
  }
  const std::span<const uint8_t> data = flights_.front().data;
  PopTrain();
  Advance();
  return data;
}

// The remaining steps of the oldest train, one per cycle, and all its beats from `first` on.
void DmaReader::TakeSteps(Cycle first) {
  const Flight& flight = flights_.front();
  const uint32_t steps = flight.steps - step_;
  places_.Return(next_step_, std::min(flight.bus_beats, flight.steps) - std::min(step_, flight.bus_beats));
  train_timing_.Pass(next_step_ + kStepToQueue, steps, first);
  train_room_.Take(steps);
  train_room_.Return(first, flight.train_beats);
  next_step_ += steps;
  step_ = 0;
  ++step_flight_;
  done_timing_.Pop(next_step_ - 1);
}

void DmaReader::PopTrain() {
  beat_ = 0;
  flights_.pop_front();
  ++first_flight_;
}

void DmaReader::Advance() {
  for (bool moved = true; moved;) {
    while (split_.Advance() || Issue()) {
    }
    moved = false;  // then tags and buffer space may be free
    while (Retire()) moved = true;
    while (Step()) moved = true;
  }
}

bool DmaReader::Issue() {
  const Cycle turn = split_.BurstCycle();
  if (turn == kUnknown) return false;
  const DmaSplit::Burst burst = split_.burst();
  const Cycle tag = tags_.Available(1);
  const Cycle room = places_.Available(burst.beats);
  const Cycle bus = bursts_timing_.PushReady();
  const Cycle cycle = std::max({turn, tag, room, bus});
  if (cycle == kUnknown) return false;
  if (cycle > turn) ++(cycle == bus ? waits_.bus : cycle == room ? waits_.buffer : waits_.tag);

  split_.TakeBurst(cycle);
  tags_.Take(1);
  places_.Take(burst.beats);
  const auto id = static_cast<uint32_t>(issued_++ % config_.tags);
  Flight& flight = FlightOf(issue_flight_);
  reads_[id] = {.flight = issue_flight_,
                .address = burst.address,
                .offset = flight.issued_bytes,
                .bytes = burst.bytes,
                .bytes_received = 0,
                .last = burst.last,
                .resp = AxiResp::kOkay,
                .done = kUnknown};
  flight.issued_bytes += burst.bytes;
  if (burst.last) ++issue_flight_;
  bursts_.push_back({id, burst.address, burst.bytes, burst.beats});
  bursts_timing_.Push(cycle);
  return true;
}

bool DmaReader::Retire() {
  if (retired_ == issued_) return false;
  const Read& read = reads_[static_cast<size_t>(retired_ % config_.tags)];
  const Cycle cycle = std::max(next_retire_, After(read.done, kDoneToRetire));
  if (cycle == kUnknown) return false;
  ++retired_;
  next_retire_ = cycle + 1;
  tags_.Return(cycle);
  Flight& flight = FlightOf(read.flight);
  if (flight.resp == AxiResp::kOkay) flight.resp = read.resp;
  if (read.last) done_timing_.Push(cycle + kRetireToQueue);
  return true;
}

bool DmaReader::Step() {
  if (done_timing_.PopReady() == kUnknown) return false;
  const Flight& flight = FlightOf(step_flight_);
  const bool produces = step_ > 0 || flight.steps == flight.train_beats;
  const Cycle cycle = std::max({done_timing_.PopReady(), next_step_, produces ? train_room_.Available(1) : 0});
  if (cycle == kUnknown) return false;
  next_step_ = cycle + 1;
  if (step_ < flight.bus_beats) places_.Return(cycle);
  if (produces) {
    train_room_.Take(1);
    train_timing_.Push(cycle + kStepToQueue);
  }
  if (++step_ == flight.steps) {
    step_ = 0;
    ++step_flight_;
    done_timing_.Pop(cycle);
  }
  return true;
}

}  // namespace vireo::model
