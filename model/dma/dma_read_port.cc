// SPDX-License-Identifier: Apache-2.0
#include "model/dma/dma_read_port.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace vireo::model {
namespace {

constexpr unsigned kTagBits = 8;  // of a client's tag, below the client's index

constexpr uint64_t Bit(size_t client) { return uint64_t{1} << client; }

}  // namespace

DmaReadPort::DmaReadPort(Agenda& agenda, const Config& config)
    : Block(agenda),
      train_sink(config.read_clients),
      beat_bytes_(config.reader.data_bits / 8),
      reader_(config.reader),
      turn_(config.fetch_clients + config.read_clients - 1),
      chosen_(config.fetch_clients - 1) {
  fetch_request_in.reserve(config.fetch_clients);
  fetched_out.reserve(config.fetch_clients);
  read_request_in.reserve(config.read_clients);
  for (size_t i = 0; i < config.fetch_clients; ++i) {
    fetch_request_in.push_back(RequestSlice());
    fetch_request_in.back().SetConsumer(this);
    fetch_request_in.back().ShowIn(waiting_, i);
    fetched_out.emplace_back();
    responses_.emplace_back(config.fetch_depth);
  }
  for (size_t i = 0; i < config.read_clients; ++i) {
    read_request_in.push_back(RequestSlice());
    read_request_in.back().SetConsumer(this);
    read_request_in.back().ShowIn(waiting_, fetch_count() + i);
  }
}

void DmaReadPort::Run(Cycle now) {
  bool moved = false;  // then tokens waiting at the inputs may cause work in the next cycle

  while (!train_ends_.empty() && train_ends_.front() <= now) {
    train_ends_.pop_front();
    --reads_;
  }
  if (reader_.TrainCycle() <= now) TakeTrain(now);
  for (uint64_t left = answering_; left != 0; left &= left - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(left));
    Responses& responses = responses_[i];
    if (ShownAt(responses) > now || !fetched_out[i].CanPush(now)) continue;
    fetched_out[i].Push(now, responses.tokens.front());
    responses.tokens.pop_front();
    if (responses.tokens.empty()) answering_ &= ~Bit(i);
    if (HasStore()) {
      responses.shown = kUnknown;
      responses.free_from = now + 1;
    } else {
      responses.queue.Pop(now);
    }
    responses.places.Return(now);
    moved = true;
  }
  if (HasStore()) ChooseStored(now);

  moved |= TakeRequest(now);
  if (chosen_slice_.PopReady() <= now && reader_.RequestReady() <= now) {
    const auto [client, request] = chosen_requests_.front();
    assert(request.bytes >= 1 &&
           request.bytes <= (client >= fetch_count() ? spec::kPcieRequestBoundary : spec::kDmaFetchBytes));
    chosen_requests_.pop_front();
    chosen_slice_.Pop(now);
    reader_.OnRequest(now, {.address = request.address,
                            .bytes = request.bytes,
                            .tag = static_cast<uint32_t>(client) << kTagBits | request.tag,
                            .max_read_request_size = max_read_request_size});
    moved = true;
  }

  if (ar_out.IsConnected() && reader_.BurstCycle() <= now && ar_out.CanPush(now)) {
    ar_out.Push(now, reader_.burst());
    reader_.OnBurstTaken(now);
    begins_.push_back(now);
    moved = true;
  }
  outstanding(now);  // discards what has ended

  if (moved && waiting_ != 0) WakeAt(now + 1);
  Wake(now);
}

DmaReader::Burst DmaReadPort::TakeBurst() {
  const DmaReader::Burst burst = reader_.burst();
  const Cycle cycle = reader_.BurstCycle();
  reader_.OnBurstTaken(cycle);
  begins_.push_back(cycle);
  // Its consequences are in later cycles.
  Wake(cycle);
  return burst;
}

uint32_t DmaReadPort::outstanding(Cycle now) {
  for (; !begins_.empty() && begins_.front() < now; begins_.pop_front()) ++outstanding_;
  for (; !ends_.empty() && ends_.front() < now; ends_.pop_front()) --outstanding_;
  return outstanding_;
}

// Of one client, round robin, among those with a place for the answer.
bool DmaReadPort::TakeRequest(Cycle now) {
  if (chosen_slice_.PushReady() > now) return false;
  const size_t clients = fetch_count() + read_request_in.size();
  for (size_t k = 1; k <= clients; ++k) {
    const size_t client = (turn_ + k) % clients;
    if ((waiting_ & Bit(client)) == 0) continue;
    const bool is_fetch = client < fetch_count();
    auto& in = is_fetch ? fetch_request_in[client] : read_request_in[client - fetch_count()];
    if (!in.CanPop(now) || (is_fetch && responses_[client].places.Available(1) > now)) continue;
    if (is_fetch) {
      responses_[client].places.Take(1);
    } else {
      ++reads_;
    }
    chosen_requests_.push_back({client, in.Pop(now)});
    chosen_slice_.Push(now);
    turn_ = client;
    return true;
  }
  return false;
}

// A train has no back-pressure, so all its events follow from its first beat, and the reader can be notified at once.
void DmaReadPort::TakeTrain(Cycle now) {
  assert(reader_.TrainCycle() == now);
  const DmaReader::TrainBeat first = reader_.train_beat();
  const size_t client = first.tag >> kTagBits;
  const uint32_t beats = BusBeats(0, first.bytes, beat_bytes_);
  Train train{
      .tag = static_cast<uint8_t>(first.tag), .bytes = first.bytes, .resp = first.resp, .data = reader_.TakeTrain(now)};
  const Cycle end = now + beats - 1;
  if (train.resp != AxiResp::kOkay && on_dma_error) on_dma_error(now);
  if (client >= fetch_count()) {
    if (end == now) {
      --reads_;
    } else {
      train_ends_.push_back(end);
      WakeAt(end);
    }
    train_sink[client - fetch_count()]->OnTrain(now, train);
    return;
  }
  spec::DmaFetched& answer = responses_[client].tokens.Extend();
  answer = {.tag = train.tag, .resp = static_cast<uint8_t>(train.resp)};
  std::copy(train.data.begin(), train.data.end(), answer.data);
  if (HasStore()) {
    responses_[client].stored.push_back({now, beats});
  } else {
    responses_[client].queue.Push(end);
  }
  answering_ |= Bit(client);
}

// The first cycle in which a stored response of this client can be chosen; kUnknown if there is none, or if the
// response before it was not taken.
Cycle DmaReadPort::ChosenAt(const Responses& responses) const {
  if (responses.stored.empty() || responses.shown != kUnknown) return kUnknown;
  return std::max({read_from_, responses.stored.front().begin + 1, responses.free_from});
}

// Starts to read the next response, round robin: its first beat is in the output register two cycles later.
void DmaReadPort::ChooseStored(Cycle now) {
  if (read_from_ > now) return;
  for (size_t k = 1; k <= fetch_count(); ++k) {
    const size_t client = (chosen_ + k) % fetch_count();
    Responses& responses = responses_[client];
    if (ChosenAt(responses) > now) continue;
    const uint32_t beats = responses.stored.front().beats;
    responses.stored.pop_front();
    responses.shown = now + 1 + beats;
    read_from_ = now + beats;
    chosen_ = client;
    return;
  }
}

void DmaReadPort::OnReadBeat(Cycle cycle, uint32_t id, std::span<const uint8_t> data, AxiResp resp, bool last) {
  reader_.OnReadBeat(cycle, id, data, resp, last);
  if (last) EndRead(cycle);
}

void DmaReadPort::OnReadEnd(Cycle cycle, uint32_t id, AxiResp resp) {
  reader_.OnReadEnd(cycle, id, resp);
  EndRead(cycle);
}

void DmaReadPort::EndRead(Cycle cycle) {
  ends_.push_back(cycle);
  Wake(cycle);
}

bool DmaReadPort::IsIdle() const {
  return reads_ == 0 && waiting_ == 0 && std::all_of(responses_.begin(), responses_.end(), [](const auto& responses) {
           return responses.places.taken() == 0;
         });
}

// Requests wake-ups for known cycles. Whatever is due already waits for an input that wakes the block.
void DmaReadPort::Wake(Cycle now) {
  const auto at = [&](Cycle cycle) {
    if (cycle > now) WakeAt(cycle);
  };
  at(reader_.TrainCycle());
  if (ar_out.IsConnected()) at(reader_.BurstCycle());
  at(std::max(chosen_slice_.PopReady(), reader_.RequestReady()));
  for (uint64_t left = answering_; left != 0; left &= left - 1) {
    const Responses& responses = responses_[static_cast<size_t>(std::countr_zero(left))];
    at(ShownAt(responses));
    at(ChosenAt(responses));
  }
}

}  // namespace vireo::model
