// SPDX-License-Identifier: Apache-2.0
// Merges streams of tokens, round robin: rtl/common/vireo_arb_rr.sv with one token per beat. The input slices belong to
// the arbiter; the first pending input after the last winner is granted. Every token is a transaction of its own unless
// `is_last` is set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"

namespace vireo::model {

template <typename T>
class Arbiter final : public Block {
 public:
  using IsLast = bool (*)(const T&);

  // `half_rate`: of an input and at the output a token passes in every second cycle only.
  Arbiter(
      Agenda& agenda, size_t inputs, bool half_rate = false, IsLast is_last = [](const T&) { return true; })
      : Block(agenda),
        slice_(half_rate ? Channel<T>::HalfSlice() : Channel<T>::Slice()),
        left_of_(inputs),
        is_last_(is_last),
        winner_(inputs - 1) {
    in.reserve(inputs);
    for (size_t i = 0; i < inputs; ++i) {
      in.push_back(half_rate ? Channel<T>::HalfSlice() : Channel<T>::Slice());
      in.back().SetConsumer(this);
    }
    slice_.SetProducer(this);
    slice_.SetConsumer(this);
  }

  std::vector<Channel<T>> in;  // fixed size: others keep the addresses of the elements
  Output<T> out;

  void Run(Cycle now) override {
    if (slice_.CanPop(now) && out.CanPush(now)) {
      out.Push(now, slice_.Pop(now));
      ++left_of_[sources_.front()];
      ++left_;
      sources_.pop_front();
    }
    if (!slice_.CanPush(now)) return;
    // Within a transaction only the winner is granted.
    for (size_t i = busy_ ? 0 : 1; i <= (busy_ ? 0 : in.size()); ++i) {
      const size_t candidate = (winner_ + i) % in.size();
      if (!in[candidate].CanPop(now)) continue;
      winner_ = candidate;
      busy_ = !is_last_(in[candidate].front());
      slice_.Push(now, in[candidate].Pop(now));
      sources_.push_back(candidate);
      // One waiting token is granted per cycle.
      WakeAt(now + 1);
      return;
    }
  }

  // Tokens of an input that are here, and all that have left: for a Passage.
  size_t TokensOf(size_t input) const {
    return in[input].size() + static_cast<size_t>(std::count(sources_.begin(), sources_.end(), input));
  }
  uint64_t LeftOf(size_t input) const { return left_of_[input]; }
  uint64_t left() const { return left_; }
  bool IsIdle() const {
    for (const auto& channel : in) {
      if (channel.size() != 0) return false;
    }
    return slice_.size() == 0;
  }

 private:
  Channel<T> slice_;               // at the output
  std::deque<size_t> sources_;     // inputs of the tokens in it
  std::vector<uint64_t> left_of_;  // tokens of each input that have left
  uint64_t left_ = 0;
  IsLast is_last_;
  bool busy_ = false;  // between the first and the last token of a transaction
  size_t winner_;
};

}  // namespace vireo::model
