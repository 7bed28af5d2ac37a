// SPDX-License-Identifier: Apache-2.0
#include "model/common/arb_rr.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace vireo::model {

ArbRr::ArbRr(size_t inputs) : inputs_(inputs), winner_(inputs - 1) { assert(inputs <= 64); }

void ArbRr::Push(Cycle cycle, size_t input, bool last) {
  inputs_[input].slice.Push(cycle);
  inputs_[input].last.push_back(last ? 1 : 0);
  waiting_ |= uint64_t{1} << input;
}

void ArbRr::Advance(Cycle now) {
  while (Move(now)) {
  }
}

bool ArbRr::Move(Cycle now) {
  // The cycle in which the next beat moves: one is pending and the output has space.
  if (waiting_ == 0) return false;
  Cycle visible = kUnknown;
  if (busy_) {
    visible = inputs_[winner_].slice.PopReady();
  } else {
    for (uint64_t left = waiting_; left != 0; left &= left - 1) {
      visible = std::min(visible, inputs_[static_cast<size_t>(std::countr_zero(left))].slice.PopReady());
    }
  }
  const Cycle cycle = std::max(visible, output_.PushReady());
  // A push in cycle now - 1 is visible in cycle now: no decision beyond that.
  if (cycle > now) return false;

  if (!busy_) {
    size_t next = winner_;
    do {
      if (++next == inputs_.size()) next = 0;
    } while (inputs_[next].slice.PopReady() > cycle);
    winner_ = next;
  }
  Input& input = inputs_[winner_];
  const bool last = input.last.front() != 0;
  input.last.pop_front();
  input.slice.Pop(cycle);
  if (input.last.empty()) waiting_ &= ~(uint64_t{1} << winner_);
  busy_ = !last;
  output_.Push(cycle);
  beats_.push_back({cycle, winner_, last});
  return true;
}

void ArbRr::Pass(Cycle now, size_t beats) {
  Input& input = inputs_[winner_];
  assert(busy_ && beats >= 4 && output_.size() == 2 && input.slice.size() == 1);
  input.slice.Pass(now + 1, beats - 3, now + 1);
  output_.Pass(now + 1, beats - 2, now);
  input.last.clear();
  waiting_ &= ~(uint64_t{1} << winner_);
  busy_ = false;
  beats_.clear();
}

void ArbRr::Pop(Cycle cycle) {
  output_.Pop(cycle);
  beats_.pop_front();
}

}  // namespace vireo::model
