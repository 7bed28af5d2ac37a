// SPDX-License-Identifier: Apache-2.0
// Event scheduler of the model: which block has work in which cycle. Time advances from one such cycle to the next;
// idle cycles cost nothing.
//
// Blocks depend on each other only through state of earlier cycles (channels, tables), so the order of blocks within a
// cycle does not matter, and each runs at most once per cycle (but RunTwice).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

class Agenda;
class Meters;

// A part of the device. Run performs everything that happens in cycle `now` and requests wake-ups for later events that
// it can predict. Spurious calls are allowed.
class Block {
 public:
  // kCancellable: the block cancels wake-up requests; NeedsWakeUp reports which ones still hold.
  enum class WakeUps : uint8_t { kPersistent, kCancellable };

  inline explicit Block(Agenda& agenda, WakeUps wake_ups = WakeUps::kPersistent);
  inline virtual ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  virtual void Run(Cycle now) = 0;
  // Whether a wake-up request still holds. A block that cancels requests must override it, or simulated time would stop
  // at cycles without work.
  virtual bool NeedsWakeUp(Cycle) const { return true; }
  // After Run: whether its next step may follow in the same cycle, as in a block of twice the speed (Agenda::RunTwice).
  // Not if that step reads a table that this one has written: a table shows its writes from the next cycle on.
  virtual bool CanRunTwice() const { return false; }
  inline void WakeAt(Cycle cycle);  // kUnknown: not at all
  // Null: streams have no meters.
  inline Meters* meters() const;
  inline bool IsRunTwice(Cycle now) const;

 private:
  friend class Agenda;
  Agenda& agenda_;
  size_t number_ = 0;
  Cycle requested_ = kUnknown;  // latest request in the heap: a timer requests the same cycle repeatedly
  Cycle ran_ = kUnknown;
};

// Most wake-ups are for one of the next few cycles: a bit set of blocks for each of these, and a heap for later ones.
class Agenda {
 public:
  static constexpr size_t kBlocksMax = 64;

  // The next cycle in which a block runs; kUnknown if no wake-up is pending.
  Cycle next() {
    for (;;) {
      const Cycle cycle = Earliest();
      if (cycle == kUnknown) return cycle;
      if (!far_.empty() && far_.front().cycle == cycle) {
        if (Holds(cycle, far_.front().block)) return cycle;
        PopFar();
        continue;
      }
      uint64_t& due = due_[cycle % kNear];
      if ((due & ~cancelling_) != 0) return cycle;
      for (; due != 0; due &= due - 1) {
        if (Holds(cycle, static_cast<size_t>(std::countr_zero(due)))) return cycle;
      }
      near_ &= ~Bit(cycle % kNear);
    }
  }

  // Runs every block with a wake-up in `cycle`; no earlier wake-up may be pending.
  void Run(Cycle cycle) {
    assert(Earliest() >= cycle);
    now_ = cycle;
    uint64_t& due = due_[cycle % kNear];
    for (; !far_.empty() && far_.front().cycle == cycle; PopFar()) due |= Bit(far_.front().block);
    while (due != 0) {
      Block& block = *blocks_[static_cast<size_t>(std::countr_zero(due))];
      due &= due - 1;
      block.ran_ = cycle;
      block.Run(cycle);
      if (block.IsRunTwice(cycle) && block.CanRunTwice()) block.Run(cycle);
    }
    near_ &= ~Bit(cycle % kNear);
  }
  // Runs every block with a wake-up up to `last`, cycle by cycle.
  void RunThrough(Cycle last) {
    for (Cycle cycle = Earliest(); cycle <= last && cycle != kUnknown; cycle = Earliest()) Run(cycle);
  }

  // To be set before streams are connected; outlives them.
  void SetMeters(Meters* meters) { meters_ = meters; }
  // Blocks that take two steps in every so many-th cycle where they can, unlike RTL: to see what depends on their
  // speed. every(block): 0 if it does not.
  template <typename Every>
  void RunTwice(const Every& every) {
    for (uint64_t left = numbers_; left != 0; left &= left - 1) {
      const auto number = static_cast<size_t>(std::countr_zero(left));
      twice_every_[number] = every(blocks_[number]);
      if (twice_every_[number] != 0) twice_ |= Bit(number);
    }
  }

 private:
  friend class Block;
  static constexpr size_t kNear = 64;  // cycles from now_ on; one bit of near_ for each
  struct Entry {
    Cycle cycle;
    size_t block;
    bool operator>(const Entry& other) const { return cycle > other.cycle; }
  };

  static constexpr uint64_t Bit(size_t number) { return uint64_t{1} << number; }
  bool Holds(Cycle cycle, size_t block) const {
    return (cancelling_ & Bit(block)) == 0 || blocks_[block]->NeedsWakeUp(cycle);
  }
  Cycle Earliest() const {
    const Cycle far = far_.empty() ? kUnknown : far_.front().cycle;
    if (near_ == 0) return far;
    const int first = std::countr_zero(std::rotr(near_, static_cast<int>(now_ % kNear)));
    return std::min(far, now_ + static_cast<Cycle>(first));
  }
  void PopFar() {
    blocks_[far_.front().block]->requested_ = kUnknown;
    std::pop_heap(far_.begin(), far_.end(), std::greater<>());
    far_.pop_back();
  }
  void Add(Cycle cycle, size_t block) {
    assert(cycle >= now_);  // time is monotonic
    if (cycle - now_ < kNear) {
      due_[cycle % kNear] |= Bit(block);
      near_ |= Bit(cycle % kNear);
      return;
    }
    if (std::exchange(blocks_[block]->requested_, cycle) == cycle) return;
    far_.push_back({cycle, block});
    std::push_heap(far_.begin(), far_.end(), std::greater<>());
  }

  std::array<Block*, kBlocksMax> blocks_{};      // by number
  uint64_t numbers_ = 0;                         // in use
  uint64_t cancelling_ = 0;                      // blocks with WakeUps::kCancellable
  uint64_t twice_ = 0;                           // blocks that take two steps,
  std::array<Cycle, kBlocksMax> twice_every_{};  // in every so many-th cycle
  std::array<uint64_t, kNear> due_{};            // blocks, by cycle modulo kNear
  uint64_t near_ = 0;                            // cycles with due blocks
  std::vector<Entry> far_;                       // earliest first
  Meters* meters_ = nullptr;
  Cycle now_ = 0;  // the current cycle, or the last one that ran
};

Block::Block(Agenda& agenda, WakeUps wake_ups)
    : agenda_(agenda), number_(static_cast<size_t>(std::countr_one(agenda.numbers_))) {
  assert(number_ < Agenda::kBlocksMax);
  agenda.blocks_[number_] = this;
  agenda.numbers_ |= Agenda::Bit(number_);
  if (wake_ups == WakeUps::kCancellable) agenda.cancelling_ |= Agenda::Bit(number_);
}

Block::~Block() {
  agenda_.numbers_ &= ~Agenda::Bit(number_);
  agenda_.cancelling_ &= ~Agenda::Bit(number_);
}

Meters* Block::meters() const { return agenda_.meters_; }

bool Block::IsRunTwice(Cycle now) const {
  return (agenda_.twice_ & Agenda::Bit(number_)) != 0 && now % agenda_.twice_every_[number_] == 0;
}

void Block::WakeAt(Cycle cycle) {
  if (cycle == kUnknown || cycle == ran_) return;
  agenda_.Add(cycle, number_);
}

}  // namespace vireo::model
