// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_write_port.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>
#include <utility>

namespace vireo::model {
namespace {

// The writer's tag: client, notify, the client's tag.
constexpr unsigned kNotifyShift = 8;
constexpr unsigned kClientShift = 9;

}  // namespace

DmaWritePort::DmaWritePort(Agenda& agenda, const Config& config)
    : Block(agenda),
      on_done(config.store_clients),
      on_write_done(config.write_clients),
      on_accepted(config.write_clients),
      beat_source(config.write_clients),
      beat_bytes_(config.writer.data_bits / 8),
      writer_(config.writer),
      arb_(config.store_clients + config.write_clients),
      beats_(config.store_clients + config.write_clients),
      part_(config.store_clients),
      write_beats_(config.write_clients),
      writes_(config.store_clients + config.write_clients) {
  store_in.reserve(config.store_clients);
  write_in.reserve(config.write_clients);
  for (size_t i = 0; i < config.store_clients; ++i) {
    store_in.push_back(beat_bytes_ < spec::kDmaFetchBytes ? Channel<spec::DmaStore>::HalfSlice()
                                                          : Channel<spec::DmaStore>::Slice());
    store_in.back().SetConsumer(this);
    store_in.back().ShowIn(waiting_, i);
  }
  for (size_t i = 0; i < config.write_clients; ++i) {
    write_in.push_back(Channel<WriteBeat>::Slice());
    write_in.back().SetConsumer(this);
    write_in.back().ShowIn(waiting_, fetch_count() + i);
  }
}

void DmaWritePort::Run(Cycle now) {
  bool moved = false;  // then tokens waiting at the inputs may cause work in the next cycle

  auto& completions = writer_.completions();
  while (!completions.empty() && completions.front().cycle <= now) {
    const DmaWriter::Completion completion = completions.front();
    completions.pop_front();
    const size_t client = completion.tag >> kClientShift;
    --writes_[client];
    const bool failed = completion.resp != AxiResp::kOkay;
    const OnDone& told = client >= fetch_count() ? on_write_done[client - fetch_count()] : on_done[client];
    if (((completion.tag >> kNotifyShift & 1) != 0 || failed) && told) {
      told(now, {.tag = static_cast<uint8_t>(completion.tag), .resp = static_cast<uint8_t>(completion.resp)});
    }
    if (failed && on_dma_error) on_dma_error(now);
  }

  const size_t decided = arb_.output().size();
  arb_.Advance(now);
  moved |= arb_.output().size() != decided;
  moved |= IntoArbiter(now);
  moved |= OutOfArbiter(now);
  moved |= IntoWriter(now);

  if (aw_out.IsConnected() && writer_.BurstCycle() <= now && aw_out.CanPush(now)) {
    aw_out.Push(now, writer_.burst());
    writer_.OnBurstTaken(now);
    moved = true;
  }

  if (moved && (waiting_ != 0 || !arb_.IsDecided())) WakeAt(now + 1);
  Wake(now);
}

bool DmaWritePort::IntoArbiter(Cycle now) {
  bool moved = false;
  // The slot of the beat among those in the arbiter.
  const auto push = [&](size_t client, bool first, bool last) -> WriteBeat& {
    if (first) ++writes_[client];
    arb_.Push(now, client, last);
    moved = true;
    return beats_[client].Extend();
  };
  for (uint64_t left = waiting_; left != 0; left &= left - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(left));
    if (arb_.PushReady(i) > now) continue;
    if (i >= fetch_count()) {
      const size_t index = i - fetch_count();
      if (!write_in[index].CanPop(now)) continue;
      const WriteBeat& beat = write_in[index].front();
      push(i, write_beats_[index] == 0, beat.last) = beat;
      write_beats_[index] = beat.last ? 0 : write_beats_[index] + 1;
      write_in[index].Drop(now);
      continue;
    }
    if (!store_in[i].CanPop(now)) continue;
    const spec::DmaStore& store = store_in[i].front();
    assert(store.bytes >= 1 && store.bytes <= spec::kDmaFetchBytes);
    const uint32_t begin = part_[i] * beat_bytes_;
    const uint32_t size = std::min(beat_bytes_, store.bytes - begin);
    const auto data = std::span(store.data).subspan(begin, size);
    const bool last = begin + size == store.bytes;
    WriteBeat& beat = push(i, begin == 0, last);
    beat.request = {.address = store.address, .bytes = store.bytes, .notify = store.notify, .tag = store.tag};
    beat.data.assign(data.begin(), data.end());
    beat.last = last;
    ++part_[i];
    if (last) {
      part_[i] = 0;
      store_in[i].Drop(now);
    }
  }
  return moved;
}

bool DmaWritePort::OutOfArbiter(Cycle now) {
  const bool first = bytes_left_ == 0;
  if (arb_.PopReady() > now || writer_.TrainReady() > now || (first && requests_timing_.PushReady() > now))
    return false;
  const size_t client = arb_.output().front().input;
  const WriteBeat& beat = beats_[client].front();
  if (first) {
    assert(beat.request.bytes >= 1 && beat.request.bytes <= DmaWriter::kMaxRequestBytes);
    bytes_left_ = beat.request.bytes;
    // The end of each is reported, for counting.
    requests_.push_back({.address = beat.request.address,
                         .bytes = beat.request.bytes,
                         .tag = static_cast<uint32_t>(client) << kClientShift |
                                static_cast<uint32_t>(beat.request.notify) << kNotifyShift | beat.request.tag,
                         .notify = true,
                         .after_all_b = false,
                         .max_payload_size = {}});
    requests_timing_.Push(now);
    if (client >= fetch_count() && TakeRest(now, client)) return true;
  }
  arb_.Pop(now);
  const uint32_t size = std::min(beat_bytes_, bytes_left_);
  assert(beat.data.size() >= size && beat.last == (size == bytes_left_));
  bytes_left_ -= size;
  writer_.OnTrainBeat(now, std::span(beat.data).first(size), beat.last);
  const bool last = beat.last;
  beats_[client].pop_front();
  if (last && client >= fetch_count() && on_accepted[client - fetch_count()]) on_accepted[client - fetch_count()](now);
  return true;
}

// The first beat of a train leaves the arbiter, which grants no other client until the last one does. If the writer has
// space for all of them and the client does not pause, all cycles are known.
bool DmaWritePort::TakeRest(Cycle now, size_t client) {
  const size_t index = client - fetch_count();
  // The second beat is at the arbiter's output, the third at its input, and so on: the pipeline is full.
  constexpr size_t kInArbiter = 3;
  if (beat_source[index] == nullptr || write_beats_[index] != kInArbiter || beats_[client].size() != kInArbiter ||
      arb_.output().size() != kInArbiter - 1) {
    return false;
  }
  const uint32_t beats = BusBeats(0, bytes_left_, beat_bytes_);
  if (writer_.TrainReady(beats) > now) return false;
  const size_t sent = kInArbiter + write_in[index].size();
  const Cycle next = now + write_in[index].size();
  const std::span<const uint8_t> data = beat_source[index]->TakeRest(sent, next);
  if (data.empty()) return false;
  assert(data.size() == bytes_left_);
  writer_.OnTrain(now, data);
  write_in[index].Pass(next, beats - sent, now + 1);
  arb_.Pass(now, beats);
  beats_[client].clear();
  write_beats_[index] = 0;
  bytes_left_ = 0;
  const Cycle last = now + beats - 1;
  if (on_accepted[index]) on_accepted[index](last);
  WakeAt(last);  // the arbiter may grant another client
  return true;
}

bool DmaWritePort::IntoWriter(Cycle now) {
  if (requests_timing_.PopReady() > now || writer_.RequestReady() > now) return false;
  DmaWriter::Request request = requests_.front();
  requests_.pop_front();
  requests_timing_.Pop(now);
  request.max_payload_size = max_payload_size;
  writer_.OnRequest(now, request);
  return true;
}

void DmaWritePort::OnWriteBeatTaken(Cycle now) {
  writer_.OnWriteBeatTaken(now);
  Wake(now);
}

Cycle DmaWritePort::TakeBurst(Cycle cycle) {
  writer_.OnBurstTaken(cycle);
  return TakeBurstData(cycle, cycle + 1);
}

Cycle DmaWritePort::TakeBurstData(Cycle now, Cycle from) {
  const Cycle last = writer_.TakeBurstData(from);
  Wake(now);
  return last;
}

void DmaWritePort::OnAnswer(Cycle cycle, AxiResp resp) {
  const bool moved = writer_.OnAnswer(cycle, resp);
  if (!writer_.completions().empty()) WakeAt(writer_.completions().back().cycle);
  if (moved) Wake(cycle);
}

bool DmaWritePort::IsIdle() const {
  return waiting_ == 0 && std::all_of(writes_.begin(), writes_.end(), [](uint64_t writes) { return writes == 0; });
}

// Requests wake-ups for known cycles. Whatever is due already waits for an input that wakes the block.
void DmaWritePort::Wake(Cycle now) {
  const auto at = [&](Cycle cycle) {
    if (cycle > now) WakeAt(cycle);
  };
  if (aw_out.IsConnected()) at(writer_.BurstCycle());
  at(std::max({arb_.PopReady(), writer_.TrainReady(), bytes_left_ == 0 ? requests_timing_.PushReady() : 0}));
  at(std::max(requests_timing_.PopReady(), writer_.RequestReady()));
}

}  // namespace vireo::model
