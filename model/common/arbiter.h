// SPDX-License-Identifier: Apache-2.0
// Merges streams of tokens, round robin: rtl/common/vireo_arb_rr.sv where every transaction is one beat. The input
// slices are the arbiter's; of those that have a token the first behind the last winner is served.
#pragma once

#include <cstddef>
#include <deque>

#include "model/common/agenda.h"
#include "model/common/channel.h"

namespace vireo::model {

template <typename T>
class Arbiter final : public Block {
 public:
  Arbiter(Agenda& agenda, size_t inputs) : Block(agenda), winner_(inputs - 1) {
    for (size_t i = 0; i < inputs; ++i) {
      in.push_back(Channel<T>::Slice());
      in.back().SetConsumer(this);
    }
    slice_.SetProducer(this);
    slice_.SetConsumer(this);
  }

  std::deque<Channel<T>> in;
  Output<T> out;

  void Run(Cycle now) override {
    if (slice_.CanPop(now) && out.CanPush(now)) out.Push(now, slice_.Pop(now));
    if (!slice_.CanPush(now)) return;
    for (size_t i = 1; i <= in.size(); ++i) {
      const size_t candidate = (winner_ + i) % in.size();
      if (!in[candidate].CanPop(now)) continue;
      winner_ = candidate;
      slice_.Push(now, in[candidate].Pop(now));
      // Of several tokens that wait, one is served per cycle.
      WakeAt(now + 1);
      return;
    }
  }

  bool IsIdle() const {
    for (const auto& channel : in) {
      if (channel.size() != 0) return false;
    }
    return slice_.size() == 0;
  }

 private:
  Channel<T> slice_ = Channel<T>::Slice();
  size_t winner_;
};

}  // namespace vireo::model
