// SPDX-License-Identifier: Apache-2.0
// A counter of free resources (tags, buffer space): a credit returned in cycle t can be taken in cycle t+1. In RTL it
// is the counter register of a block with a bounded resource, so it has no file of its own in rtl/.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

#include "model/common/cycle.h"

namespace vireo::model {

// Returns come in cycle order. Takes may be computed ahead of returns of earlier cycles.
class Credits {
 public:
  explicit Credits(size_t total) : returned_at_(total) {}

  // The first cycle in which `count` more (at most the total) can be taken, as far as credits determine it; kUnknown
  // while a return is missing.
  Cycle Available(size_t count) const {
    assert(count <= returned_at_.size());
    const uint64_t needed = taken_ + count;  // credits returned in total by then
    if (needed <= returned_at_.size()) return 0;
    if (needed - returned_at_.size() > returned_) return kUnknown;
    return returned_at_[Wrap(next_taken_ + count - 1)] + 1;
  }

  // May exceed the free credits: takes of a stream, each one after an earlier return.
  void Take(size_t count) {
    taken_ += count;
    next_taken_ =
        count <= returned_at_.size() ? Wrap(next_taken_ + count) : static_cast<size_t>(taken_ % returned_at_.size());
  }
  void Return(Cycle cycle) {
    assert(returned_ < taken_);
    ++returned_;
    returned_at_[next_returned_] = cycle;
    next_returned_ = Wrap(next_returned_ + 1);
  }
  // `count` returns, one per cycle from `first` on.
  void Return(Cycle first, size_t count) {
    // Only the last ones are ever queried.
    const size_t skip = count - std::min(count, returned_at_.size());
    returned_ += skip;
    next_returned_ = static_cast<size_t>(returned_ % returned_at_.size());
    for (size_t i = skip; i < count; ++i) Return(first + i);
  }

  bool IsEmpty() const { return taken() >= returned_at_.size(); }
  size_t total() const { return returned_at_.size(); }
  size_t taken() const { return static_cast<size_t>(taken_ - returned_); }

 private:
  size_t Wrap(size_t index) const { return index < returned_at_.size() ? index : index - returned_at_.size(); }

  std::vector<Cycle> returned_at_;  // cycles of the last returns; return n in element n modulo the size
  uint64_t taken_ = 0;
  uint64_t returned_ = 0;
  size_t next_taken_ = 0;  // the same modulo the size
  size_t next_returned_ = 0;
};

}  // namespace vireo::model
