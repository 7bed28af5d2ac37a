// SPDX-License-Identifier: Apache-2.0
// A signal that holds its value until it changes: another block's register as a block samples it.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>

#include "model/common/cycle.h"
#include "model/common/ring.h"

namespace vireo::model {

template <typename T>
class Level {
 public:
  explicit Level(T value = {}) : value_(std::move(value)) {}

  // The value from cycle `from` on. Cycles do not go backwards, neither here nor in At.
  void Set(Cycle from, T value) {
    if (!changes_.empty() && changes_.back().first == from) {
      changes_.back().second = std::move(value);
      return;
    }
    changes_.push_back({from, std::move(value)});
    if (changes_.size() <= kMaxChanges) return;
    merged_at_ = changes_.front().first;
    MergeOldest();
  }
  const T& At(Cycle cycle) {
    assert(merged_at_ == kUnknown || merged_at_ <= cycle);
    while (!changes_.empty() && changes_.front().first <= cycle) MergeOldest();
    return value_;
  }
  size_t changes() const { return changes_.size(); }  // not yet passed by a read

 private:
  void MergeOldest() {
    value_ = std::move(changes_.front().second);
    changes_.pop_front();
  }

  T value_;
  Ring<std::pair<Cycle, T>> changes_;
  Cycle merged_at_ = kUnknown;  // of the last change merged into value_ without a read after it
};

}  // namespace vireo::model
