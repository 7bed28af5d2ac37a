// SPDX-License-Identifier: Apache-2.0
// Which block of the model has something to do in which cycle. Time goes from one such cycle to the next; what lies
// between costs nothing.
//
// Blocks depend on each other only through what was so in earlier cycles (channels, tables), so the order in which the
// blocks of one cycle run does not matter, and each runs at most once per cycle.
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

// A part of the device. Run does everything that happens in cycle `now`, and asks to be woken for what it knows will
// happen later by itself. It may be called without need.
class Block {
 public:
  // Whether a block withdraws wishes to be woken: then Wants says which ones still hold.
  enum class Wishes : uint8_t { kStay, kMayBeWithdrawn };

  inline explicit Block(Agenda& agenda, Wishes wishes = Wishes::kStay);
  inline virtual ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  virtual void Run(Cycle now) = 0;
  // Whether a wish to be woken still holds. A block that withdraws wishes says so here, or time in the simulation would
  // go there for nothing.
  virtual bool Wants(Cycle) const { return true; }
  inline void WakeAt(Cycle cycle);  // kUnknown: not at all

 private:
  friend class Agenda;
  Agenda& agenda_;
  size_t number_ = 0;
  Cycle asked_ = kUnknown;  // the last one that is in the heap: a timer asks for the same cycle again and again
  Cycle ran_ = kUnknown;
};

// Most wishes are for one of the next few cycles. So there is a set of blocks for each of those, one word wide, and a
// heap for what is later.
class Agenda {
 public:
  static constexpr size_t kBlocksMax = 64;

  // The next cycle in which a block runs; kUnknown if none has anything to do.
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
      if ((due & ~withdrawing_) != 0) return cycle;
      for (; due != 0; due &= due - 1) {
        if (Holds(cycle, static_cast<size_t>(std::countr_zero(due)))) return cycle;
      }
      near_ &= ~Bit(cycle % kNear);
    }
  }

  // Runs every block that asked for `cycle`; none has asked for an earlier one that has not run.
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
    }
    near_ &= ~Bit(cycle % kNear);
  }
  // Runs every block that asked for a cycle up to `last`, cycle by cycle.
  void RunThrough(Cycle last) {
    for (Cycle cycle = Earliest(); cycle <= last && cycle != kUnknown; cycle = Earliest()) Run(cycle);
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
    return (withdrawing_ & Bit(block)) == 0 || blocks_[block]->Wants(cycle);
  }
  Cycle Earliest() const {
    const Cycle far = far_.empty() ? kUnknown : far_.front().cycle;
    if (near_ == 0) return far;
    const int first = std::countr_zero(std::rotr(near_, static_cast<int>(now_ % kNear)));
    return std::min(far, now_ + static_cast<Cycle>(first));
  }
  void PopFar() {
    blocks_[far_.front().block]->asked_ = kUnknown;
    std::pop_heap(far_.begin(), far_.end(), std::greater<>());
    far_.pop_back();
  }
  void Add(Cycle cycle, size_t block) {
    assert(cycle >= now_);  // time does not go back
    if (cycle - now_ < kNear) {
      due_[cycle % kNear] |= Bit(block);
      near_ |= Bit(cycle % kNear);
      return;
    }
    if (std::exchange(blocks_[block]->asked_, cycle) == cycle) return;
    far_.push_back({cycle, block});
    std::push_heap(far_.begin(), far_.end(), std::greater<>());
  }

  std::array<Block*, kBlocksMax> blocks_{};  // by number
  uint64_t numbers_ = 0;                     // in use
  uint64_t withdrawing_ = 0;                 // blocks that may withdraw wishes
  std::array<uint64_t, kNear> due_{};        // blocks, by cycle modulo kNear
  uint64_t near_ = 0;                        // where there are any
  std::vector<Entry> far_;                   // earliest first
  Cycle now_ = 0;                            // that runs, or ran last
};

Block::Block(Agenda& agenda, Wishes wishes)
    : agenda_(agenda), number_(static_cast<size_t>(std::countr_one(agenda.numbers_))) {
  assert(number_ < Agenda::kBlocksMax);
  agenda.blocks_[number_] = this;
  agenda.numbers_ |= Agenda::Bit(number_);
  if (wishes == Wishes::kMayBeWithdrawn) agenda.withdrawing_ |= Agenda::Bit(number_);
}

Block::~Block() {
  agenda_.numbers_ &= ~Agenda::Bit(number_);
  agenda_.withdrawing_ &= ~Agenda::Bit(number_);
}

void Block::WakeAt(Cycle cycle) {
  if (cycle == kUnknown || cycle == ran_) return;
  agenda_.Add(cycle, number_);
}

}  // namespace vireo::model
