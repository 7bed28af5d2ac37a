// SPDX-License-Identifier: Apache-2.0
// A table whose entries have a parity bit: the counterpart of rtl/common/vireo_context_table.sv. An entry hit by a flip
// reads as zero, like one never written, until it is written. Which bit was flipped makes no difference.
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

// Flipped entries of one memory over time. Cycles do not go backwards. A flip affects reads of later cycles; a write
// ends it for reads after the write; of a flip and a write in one cycle, reported in any order, the write wins.
class Flips {
 public:
  // A flip replaces the previous one, even if its entry does not exist.
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
    Cycle last;  // last cycle in which a read finds it
  };
  std::vector<One> flips_;
  Cycle written_ = std::numeric_limits<Cycle>::max();
  size_t written_index_ = 0;
};

template <typename T>
class ContextTable {
 public:
  // Latency from a read with bad parity to the block's pulse, for which `on_error` is called. The block must outlive
  // the table.
  static constexpr Cycle kErrorLatency = 2;

  ContextTable(spec::ContextRam ram, size_t entries, const std::function<void(Cycle)>& on_error)
      : ram_(ram), table_(entries), on_error_(&on_error) {}

  void Write(Cycle cycle, size_t index, const T& entry) {
    flips_.Write(cycle, index);
    table_.Write(cycle, index, entry);
  }
  const T& Read(Cycle cycle, size_t index) {
    const T& entry = Peek(cycle, index);
    if (corrupt_) Report(cycle);
    return entry;
  }
  // A read that counts only if the block uses the entry: it then calls Report with the cycle of the read.
  const T& Peek(Cycle cycle, size_t index) {
    corrupt_ = flips_.IsCorrupt(cycle, index);
    return corrupt_ ? zero_ : table_.Read(cycle, index);
  }
  void Report(Cycle read) const {
    if (*on_error_) (*on_error_)(read + kErrorLatency);
  }
  bool corrupt() const { return corrupt_; }  // of the entry read last
  // A flip in any memory.
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
