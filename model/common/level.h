// SPDX-License-Identifier: Apache-2.0
// A wire that holds a value until it changes: what a block sees of another block's register.
#pragma once

#include <utility>

#include "model/common/cycle.h"
#include "model/common/ring.h"

namespace vireo::model {

template <typename T>
class Level {
 public:
  explicit Level(T value = {}) : value_(std::move(value)) {}

  // The value from cycle `from` on. Cycles do not go backwards, neither here nor in At.
  void Set(Cycle from, T value) { changes_.push_back({from, std::move(value)}); }
  const T& At(Cycle cycle) {
    while (!changes_.empty() && changes_.front().first <= cycle) {
      value_ = std::move(changes_.front().second);
      changes_.pop_front();
    }
    return value_;
  }

 private:
  T value_;
  Ring<std::pair<Cycle, T>> changes_;
};

}  // namespace vireo::model
