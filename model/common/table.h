// SPDX-License-Identifier: Apache-2.0
// A table of records, one write and one read per cycle: the counterpart of rtl/common/vireo_table.sv. A read in cycle t
// sees the writes of all cycles before t, in whatever order reads and writes of one cycle are reported. Initially all
// zero, also while RTL clears it after a reset: what is written then is zero.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/common/cycle.h"
#include "model/common/ring.h"

namespace vireo::model {

template <typename T>
class Table {
 public:
  explicit Table(size_t entries) : entries_(entries) {}

  // Cycles do not go backwards.
  void Write(Cycle cycle, size_t index, const T& entry) {
    pending_.push_back({cycle, index, entry});
    if (pending_.size() <= kMaxChanges) return;
    merged_at_ = pending_.front().cycle;
    MergeOldest();
  }
  // In RTL the entry is available one cycle later.
  const T& Read(Cycle cycle, size_t index) {
    assert(merged_at_ == kUnknown || merged_at_ < cycle);
    while (!pending_.empty() && pending_.front().cycle < cycle) MergeOldest();
    return entries_[index];
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Pending {
    Cycle cycle;
    size_t index;
    T entry;
  };

  void MergeOldest() {
    entries_[pending_.front().index] = std::move(pending_.front().entry);
    pending_.pop_front();
  }

  std::vector<T> entries_;
  Ring<Pending> pending_;
  Cycle merged_at_ = kUnknown;  // of the last write merged into entries_ without a read after it
};

}  // namespace vireo::model
