// SPDX-License-Identifier: Apache-2.0
// A table whose entries have a parity bit: the counterpart of rtl/common/vireo_context_table.sv. An entry that a flip
// has hit reads as zero, as one that was never written, until it is written. Which bit it was makes no difference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "model/common/cycle.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Which entries of one memory are flipped when. Cycles do not go backwards. A flip counts for reads of later cycles, a
// write ends it for those behind the write; of a flip and a write in one cycle, told in any order, the write wins.
class Flips {
 public:
  // One takes the place of the one before, also if its entry does not exist.
  void Flip(Cycle cycle, size_t index, bool exists) {
    for (auto& flip : flips_) flip.last = std::min(flip.last, cycle);
    if (!exists) return;
    const bool written = written_index_ == index && written_ == cycle;
    flips_.push_back({index, cycle, written ? cycle : std::numeric_limits<Cycle>::max()});
  }
  void Write(Cycle cycle, size_t index) {
    written_ = cycle;
    written_index_ = index;
    for (auto& flip : flips_) {
      if (flip.index == index) flip.last = std::min(flip.last, cycle);
    }
  }
  bool IsCorrupt(Cycle cycle, size_t index) {
    if (flips_.empty()) return false;
    std::erase_if(flips_, [cycle](const auto& flip) { return flip.last < cycle; });
    return std::any_of(flips_.begin(), flips_.end(), [&](const auto& flip) {
      return flip.index == index && flip.cycle < cycle && cycle <= flip.last;
    });
  }

 private:
  struct One {
    size_t index;
    Cycle cycle;
    Cycle last;  // in which a read finds it
  };
  std::vector<One> flips_;
  Cycle written_ = std::numeric_limits<Cycle>::max();
  size_t written_index_ = 0;
};

template <typename T>
class ContextTable {
 public:
  // From a read that finds bad parity to its block's pulse, with which `on_error` is called: the block's, which
  // outlives the table.
  static constexpr Cycle kErrorLatency = 2;

  ContextTable(spec::ContextRam ram, size_t entries, const std::function<void(Cycle)>& on_error)
      : ram_(ram), table_(entries), on_error_(&on_error) {}

  void Write(Cycle cycle, size_t index, const T& entry) {
    flips_.Write(cycle, index);
    table_.Write(cycle, index, entry);
  }
  const T& Read(Cycle cycle, size_t index) {
    corrupt_ = flips_.IsCorrupt(cycle, index);
    if (!corrupt_) return table_.Read(cycle, index);
    if (*on_error_) (*on_error_)(cycle + kErrorLatency);
    return zero_;
  }
  bool corrupt() const { return corrupt_; }  // the entry that was read last
  // Any memory's flip.
  void OnFlip(Cycle cycle, const spec::ContextFlip& flip) {
    if (flip.ram == ram_) flips_.Flip(cycle, flip.index, flip.index < table_.size());
  }
  size_t size() const { return table_.size(); }

 private:
  spec::ContextRam ram_;
  Table<T> table_;
  const std::function<void(Cycle)>* on_error_;
  Flips flips_;
  bool corrupt_ = false;
  const T zero_{};
};

}  // namespace vireo::model
