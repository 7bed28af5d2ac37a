// SPDX-License-Identifier: Apache-2.0
// A ready/valid stream of tokens between two blocks, with the queue at its end: the slice or FIFO at the consumer's
// input in RTL. The producer pushes in a cycle with space; the consumer sees the token after the queue's latency. Each
// side wakes the other when it creates work for it.
//
// Without a queue it is a sink, for outputs of the device and for tests: tokens are kept with their cycles until they
// are removed, and its user sets when it is open.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/meters.h"
#include "model/common/ring.h"

namespace vireo::model {

// A bit in a set that shows which of many objects are in use, so that a reader visits only those. It joins at most one
// set, which must outlive it; before it joins it has no effect.
class SetBit {
 public:
  void Join(uint64_t& set, size_t bit) {
    set_ = &set;
    mask_ = uint64_t{1} << bit;
  }
  void Set() const {
    if (set_ != nullptr) *set_ |= mask_;
  }
  void Clear() const {
    if (set_ != nullptr) *set_ &= ~mask_;
  }

 private:
  uint64_t* set_ = nullptr;
  uint64_t mask_ = 0;
};

template <typename T>
class Channel {
 public:
  struct Sent {
    Cycle cycle;
    T token;
  };

  static Channel Slice() { return Channel(FifoTiming::Slice()); }
  static Channel HalfSlice() { return Channel(FifoTiming::HalfSlice()); }
  static Channel Fifo(size_t depth) { return Channel(FifoTiming::Fifo(depth)); }
  static Channel Sink() { return Channel(std::nullopt); }

  // Blocks to wake; both must outlive the channel's use.
  void SetProducer(Block* block) { producer_ = block; }
  void SetConsumer(Block* block) { consumer_ = block; }
  const Block* consumer() const { return consumer_; }
  // Of its queue; it has one.
  size_t depth() const { return timing_->depth(); }
  // Null: none. Outlives the channel's use.
  void SetMeter(StreamMeter* meter) { meter_ = meter; }
  // Bit `bit` of `set` is 1 while there is a token. To be called before the first one.
  void ShowIn(uint64_t& set, size_t bit) { shown_.Join(set, bit); }

  // --- Producer. A push takes place in the current cycle.
  bool CanPush(Cycle now) const { return timing_ ? timing_->PushReady() <= now : open_; }
  void Push(Cycle now, const T& token) {
    assert(CanPush(now));
    Sent& sent = tokens_.Extend();
    sent.cycle = now;
    sent.token = token;
    OnPush(now);
  }
  void Push(Cycle now, T&& token) {
    assert(CanPush(now));
    Sent& sent = tokens_.Extend();
    sent.cycle = now;
    sent.token = std::move(token);
    OnPush(now);
  }

  // --- Consumer
  bool CanPop(Cycle now) const { return timing_->PopReady() <= now; }
  const T& front() const { return tokens_.front().token; }
  T Pop(Cycle now) {
    assert(CanPop(now));
    T token = std::move(tokens_.front().token);
    Drop(now);
    return token;
  }
  // As Pop, for a caller that has read the token through front().
  void Drop(Cycle now) {
    assert(CanPop(now));
    // The producer waits only if the queue was full.
    const bool was_full = timing_->IsFull();
    if (was_full && producer_ != nullptr) producer_->WakeAt(now + 1);
    tokens_.pop_front();
    if (meter_ != nullptr) meter_->OnPop(now, was_full, tokens_.empty());
    if (tokens_.empty()) shown_.Clear();
    timing_->Pop(now);
    if (consumer_ != nullptr) consumer_->WakeAt(timing_->PopReady());
  }
  // A stream without back-pressure, as FifoTiming's Pass: its tokens are transferred separately.
  void Pass(Cycle push, size_t pushes, Cycle pop) {
    if (meter_ != nullptr) meter_->OnPass(push, pushes, tokens_.size(), timing_->IsFull(), pop);
    tokens_.clear();
    shown_.Clear();
    timing_->Pass(push, pushes, pop);
  }
  size_t size() const { return tokens_.size(); }
  // Among tokens pushed before cycle `now` and still present.
  template <typename Predicate>
  bool AnyBefore(Cycle now, const Predicate& predicate) const {
    for (const Sent& sent : tokens_) {
      if (sent.cycle < now && predicate(sent.token)) return true;
    }
    return false;
  }

  // Changes tokens that were pushed before cycle `now` where they wait.
  template <typename Change>
  void ForEachBefore(Cycle now, const Change& change) {
    for (Sent& sent : tokens_) {
      if (sent.cycle < now) change(sent.token);
    }
  }

  // --- Sink
  Ring<Sent>& sent() { return tokens_; }
  // Whether it accepts a token in cycle `now`; to be set before the blocks of that cycle run.
  void SetOpen(Cycle now, bool open) {
    open_ = open;
    if (open && producer_ != nullptr) producer_->WakeAt(now);
  }

 private:
  explicit Channel(std::optional<FifoTiming> timing) : timing_(std::move(timing)) {}

  void OnPush(Cycle now) {
    if (!timing_) return;
    timing_->Push(now);
    if (meter_ != nullptr) meter_->OnPush(now, tokens_.size() == 1, timing_->IsFull());
    // Behind others it changes nothing for the consumer, which is woken for each of them in turn.
    if (tokens_.size() != 1) return;
    shown_.Set();
    if (consumer_ != nullptr) consumer_->WakeAt(timing_->PopReady());
  }

  std::optional<FifoTiming> timing_;
  Ring<Sent> tokens_;
  bool open_ = true;
  SetBit shown_;
  Block* producer_ = nullptr;
  Block* consumer_ = nullptr;
  StreamMeter* meter_ = nullptr;
};

// A block's end of a stream that leaves it.
template <typename T>
class Output {
 public:
  void Connect(Channel<T>& channel, Block& producer) {
    channel_ = &channel;
    channel.SetProducer(&producer);
    if (Meters* const meters = producer.meters(); meters != nullptr && channel.consumer() != nullptr) {
      channel.SetMeter(meters->Add(&producer, channel.consumer(), channel.depth()));
    }
  }
  bool IsConnected() const { return channel_ != nullptr; }
  bool CanPush(Cycle now) const { return channel_->CanPush(now); }
  void Push(Cycle now, const T& token) { channel_->Push(now, token); }
  void Push(Cycle now, T&& token) { channel_->Push(now, std::move(token)); }

 private:
  Channel<T>* channel_ = nullptr;
};

}  // namespace vireo::model
