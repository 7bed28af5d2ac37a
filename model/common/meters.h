// SPDX-License-Identifier: Apache-2.0
// What blocks did and what the streams between them held, in cycles: for reports. Nothing in the model depends on it,
// and streams without a meter pay for one comparison with null.
//
//   waiting   a token was in the stream's queue
//   full      the queue had no room: the producer was blocked, if it had more
//   held      tokens in the queue, summed over the cycles: divided by these, how many it held on average
//   worked    a token entered or left the block
//   starved   none of the block's input streams held a token
//   blocked   at least one of its output streams was full
//   busy      its machine, of those that count this, had work under way
//   waits     for the answer of another block, or for room for what it has to ask
//   stalled   no token entered or left for longer than any step takes: it waited for an answer, or for work
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

class Block;

// The cycles in which something held.
class Duration {
 public:
  void Begin(Cycle now) { since_ = now; }
  void End(Cycle now) {
    if (now > since_) total_ += now - since_;  // a train of tokens is counted ahead
    since_ = kUnknown;
  }
  Cycle At(Cycle now) const { return since_ == kUnknown || since_ > now ? total_ : total_ + (now - since_); }

 private:
  Cycle total_ = 0, since_ = kUnknown;
};

class BlockMeter {
 public:
  // Cycles between two tokens without an answer of another block are no more.
  static constexpr Cycle kLongestStep = 16;

  BlockMeter() { starved_.Begin(0); }
  void OnToken(Cycle now) {
    worked_ += now != last_worked_;
    stalled_ += StalledSince(now);
    last_worked_ = now;
  }
  // One in each of `count` cycles.
  void OnTokens(Cycle first, size_t count) {
    if (count == 0) return;
    worked_ += count;
    stalled_ += StalledSince(first);
    last_worked_ = first + count - 1;
  }
  void OnInput(Cycle now, bool is_waiting) { Count(now, is_waiting, inputs_, starved_, false); }
  void OnOutput(Cycle now, bool is_full) { Count(now, is_full, outputs_, blocked_, true); }
  // Its machine, from this cycle on.
  void OnMachine(Cycle now, bool is_busy, bool waits) {
    Set(now, is_busy, is_busy_, busy_);
    Set(now, waits, waits_, waiting_);
  }

  uint64_t worked() const { return worked_; }
  const Duration& starved() const { return starved_; }
  const Duration& blocked() const { return blocked_; }
  const Duration& busy() const { return busy_; }
  const Duration& waiting() const { return waiting_; }
  Cycle StalledAt(Cycle now) const { return stalled_ + StalledSince(now); }

 private:
  Cycle StalledSince(Cycle now) const {
    const Cycle since = After(last_worked_, kLongestStep + 1);
    return now > since ? now - since : 0;
  }
  static void Set(Cycle now, bool holds, bool& held, Duration& duration) {
    if (holds == held) return;
    held = holds;
    if (holds) {
      duration.Begin(now);
    } else {
      duration.End(now);
    }
  }
  // `duration` runs while `count` is above 0, or while it is 0.
  static void Count(Cycle now, bool is_more, size_t& count, Duration& duration, bool is_above) {
    const bool was_above = count != 0;
    count += is_more ? 1 : size_t{0} - 1;
    if (was_above == (count != 0)) return;
    if (was_above == is_above) {
      duration.End(now);
    } else {
      duration.Begin(now);
    }
  }

  uint64_t worked_ = 0;
  Cycle last_worked_ = kUnknown;
  Cycle stalled_ = 0;
  size_t inputs_ = 0, outputs_ = 0;  // with a token; full
  Duration starved_, blocked_;
  bool is_busy_ = false, waits_ = false;
  Duration busy_, waiting_;
};

class StreamMeter {
 public:
  StreamMeter(BlockMeter& producer, BlockMeter& consumer, size_t depth)
      : producer_(producer), consumer_(consumer), depth_(depth) {}
  // After the push.
  void OnPush(Cycle now, bool is_first, bool is_full) {
    producer_.OnToken(now);
    ++present_, held_ -= now;
    if (is_first) waiting_.Begin(now), consumer_.OnInput(now, true);
    if (is_full) full_.Begin(now), producer_.OnOutput(now, true);
  }
  // After the pop.
  void OnPop(Cycle now, bool was_full, bool is_empty) {
    ++tokens_;
    --present_, held_ += now;
    consumer_.OnToken(now);
    if (was_full) full_.End(now), producer_.OnOutput(now, false);
    if (is_empty) waiting_.End(now), consumer_.OnInput(now, false);
  }

  // `pushes` tokens from cycle `push` on, which leave with the `before` that are there from `pop` on.
  void OnPass(Cycle push, size_t pushes, size_t before, bool was_full, Cycle pop) {
    tokens_ += before + pushes;
    present_ -= before;
    held_ += SumFrom(pop, before + pushes) - SumFrom(push, pushes);
    producer_.OnTokens(push, pushes);
    consumer_.OnTokens(pop, before + pushes);
    if (was_full) full_.End(pop), producer_.OnOutput(pop, false);
    if (before + pushes == 0) return;
    if (before == 0) waiting_.Begin(push), consumer_.OnInput(push, true);
    waiting_.End(pop + before + pushes);
    consumer_.OnInput(pop + before + pushes, false);
  }

  uint64_t tokens() const { return tokens_; }
  const Duration& waiting() const { return waiting_; }
  const Duration& full() const { return full_; }
  uint64_t HeldAt(Cycle now) const { return held_ + present_ * now; }
  size_t depth() const { return depth_; }

 private:
  // Of `count` cycles from `first` on.
  static uint64_t SumFrom(Cycle first, uint64_t count) { return count * first + count * (count - 1) / 2; }

  BlockMeter &producer_, &consumer_;
  size_t depth_;
  uint64_t tokens_ = 0;
  uint64_t present_ = 0, held_ = 0;  // held_: cycles of pops less those of pushes, modulo 2^64
  Duration waiting_, full_;
};

// Of a device whose parts are members of one object.
class Meters {
 public:
  // A member: blocks inside it count as this one.
  struct Part {
    const void* begin;
    size_t bytes;
    const char* name;
  };
  struct StreamCounts {
    const char *producer, *consumer;
    uint64_t tokens;
    Cycle waiting, full;
    uint64_t held;
    size_t depth;
  };
  struct BlockCounts {
    const char* name;
    Cycle worked, starved, blocked, stalled, busy, waits;
  };
  // Since the start, in the order in which they were added. Streams between the same two parts are separate.
  struct Counts {
    std::vector<StreamCounts> streams;
    std::vector<BlockCounts> blocks;
  };

  void SetParts(std::vector<Part> parts);
  // Of a stream whose queue has `depth` places. Null within one part: that is its own matter.
  StreamMeter* Add(const Block* producer, const Block* consumer, size_t depth);
  // Of the part that contains it; valid as long as this.
  BlockMeter* Of(const Block* block) { return &blocks_[PartOf(block)]; }
  Counts At(Cycle now) const;
  // Of the part that contains it.
  const char* NameOf(const Block* block) const { return parts_[PartOf(block)].name; }

 private:
  struct Stream {
    StreamMeter meter;
    size_t producer, consumer;
  };
  size_t PartOf(const Block* block) const;

  std::vector<Part> parts_;
  std::vector<BlockMeter> blocks_;  // of each part
  std::deque<Stream> streams_;      // whose addresses streams keep
};

}  // namespace vireo::model
