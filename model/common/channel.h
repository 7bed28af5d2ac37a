// SPDX-License-Identifier: Apache-2.0
// A ready/valid stream of tokens between two blocks, with the queue at its end: the slice or FIFO that the consumer has
// at that input in RTL. The producer pushes in a cycle in which there is room; the consumer sees the token as many
// cycles later as the queue takes. Each side is woken when the other gives it something to do.
//
// Without a queue it is a sink, for what leaves the device and for tests: tokens are kept with their cycles until they
// are taken away, and the taker says when it is open.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"

namespace vireo::model {

// A bit of a set that says which of many things are in use, for who looks at those only. It joins one set at most; the
// set outlives it. In none it says nothing.
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
  static Channel Fifo(size_t depth) { return Channel(FifoTiming::Fifo(depth)); }
  static Channel Sink() { return Channel(std::nullopt); }

  // Who is woken; both outlive the channel's use.
  void SetProducer(Block* block) { producer_ = block; }
  void SetConsumer(Block* block) { consumer_ = block; }
  // Bit `bit` of `set` is 1 as long as there is a token. To be said before the first one.
  void ShowIn(uint64_t& set, size_t bit) { shown_.Join(set, bit); }

  // --- Producer. A push is in the cycle that runs.
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
  // The same for who has seen the token as front().
  void Drop(Cycle now) {
    assert(CanPop(now));
    // Where there was room, nobody waits for it.
    if (timing_->IsFull() && producer_ != nullptr) producer_->WakeAt(now + 1);
    tokens_.pop_front();
    if (tokens_.empty()) shown_.Clear();
    timing_->Pop(now);
    if (consumer_ != nullptr) consumer_->WakeAt(timing_->PopReady());
  }
  // A stream that nobody stops, as FifoTiming's Pass: its tokens have come another way.
  void Pass(Cycle push, size_t pushes, Cycle pop) {
    tokens_.clear();
    shown_.Clear();
    timing_->Pass(push, pushes, pop);
  }
  size_t size() const { return tokens_.size(); }
  // Of what was pushed before cycle `now` and is still here.
  template <typename Predicate>
  bool AnyBefore(Cycle now, const Predicate& predicate) const {
    for (const Sent& sent : tokens_) {
      if (sent.cycle < now && predicate(sent.token)) return true;
    }
    return false;
  }

  // --- Sink
  Ring<Sent>& sent() { return tokens_; }
  // Whether it takes a token in cycle `now`; to be said before the blocks of that cycle run.
  void SetOpen(Cycle now, bool open) {
    open_ = open;
    if (open && producer_ != nullptr) producer_->WakeAt(now);
  }

 private:
  explicit Channel(std::optional<FifoTiming> timing) : timing_(std::move(timing)) {}

  void OnPush(Cycle now) {
    if (!timing_) return;
    timing_->Push(now);
    // Behind others it changes nothing for the consumer, who is woken for each of them in turn.
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
};

// A block's end of a stream that leaves it.
template <typename T>
class Output {
 public:
  void Connect(Channel<T>& channel, Block& producer) {
    channel_ = &channel;
    channel.SetProducer(&producer);
  }
  bool IsConnected() const { return channel_ != nullptr; }
  bool CanPush(Cycle now) const { return channel_->CanPush(now); }
  void Push(Cycle now, const T& token) { channel_->Push(now, token); }
  void Push(Cycle now, T&& token) { channel_->Push(now, std::move(token)); }

 private:
  Channel<T>* channel_ = nullptr;
};

}  // namespace vireo::model
