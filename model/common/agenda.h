// SPDX-License-Identifier: Apache-2.0
// Which block of the model has something to do in which cycle. Time goes from one such cycle to the next; what lies
// between costs nothing.
//
// Blocks depend on each other only through what was so in earlier cycles (channels, tables), so the order in which the
// blocks of one cycle run does not matter, and each runs at most once per cycle.
#pragma once

#include <algorithm>
#include <cassert>
#include <functional>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

class Agenda;

// A part of the device. Run does everything that happens in cycle `now`, and asks to be woken for what it knows will
// happen later by itself. It may be called without need.
class Block {
 public:
  explicit Block(Agenda& agenda) : agenda_(agenda) {}
  virtual ~Block() = default;
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
  Cycle asked_ = kUnknown;  // the last cycle that was asked for: most requests repeat it
  Cycle ran_ = kUnknown;
};

class Agenda {
 public:
  // The next cycle in which a block runs; kUnknown if none has anything to do.
  Cycle next() {
    while (!heap_.empty() && !heap_.front().block->Wants(heap_.front().cycle)) {
      heap_.front().block->asked_ = kUnknown;
      Pop();
    }
    return heap_.empty() ? kUnknown : heap_.front().cycle;
  }

  // Runs every block that asked for a cycle up to `last`, cycle by cycle.
  void RunThrough(Cycle last) {
    while (!heap_.empty() && heap_.front().cycle <= last) {
      const Entry entry = heap_.front();
      now_ = entry.cycle;
      Pop();
      if (entry.block->ran_ == entry.cycle) continue;
      entry.block->ran_ = entry.cycle;
      entry.block->Run(entry.cycle);
    }
  }

 private:
  friend class Block;
  struct Entry {
    Cycle cycle;
    Block* block;
    bool operator>(const Entry& other) const { return cycle > other.cycle; }
  };
  void Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }

  std::vector<Entry> heap_;  // earliest first
  Cycle now_ = 0;            // that runs, or ran last
};

void Block::WakeAt(Cycle cycle) {
  if (cycle == kUnknown || cycle == asked_ || cycle == ran_) return;
  assert(cycle >= agenda_.now_);  // time does not go back
  asked_ = cycle;
  agenda_.heap_.push_back({cycle, this});
  std::push_heap(agenda_.heap_.begin(), agenda_.heap_.end(), std::greater<>());
}

}  // namespace vireo::model
