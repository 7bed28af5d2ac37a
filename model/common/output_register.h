// SPDX-License-Identifier: Apache-2.0
// The register that drives an output stream in RTL (`x_valid_q`, `x_q`): what is loaded in cycle t leaves in t + 1 or
// later, and in the cycle in which it leaves it can be loaded again.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/channel.h"

namespace vireo::model {

// Of Leave, for a token that is there.
template <typename T>
bool LeaveNow(Cycle now, std::optional<T>& token, Output<T>& output) {
  if (!output.CanPush(now)) return false;
  output.Push(now, *std::exchange(token, std::nullopt));
  return true;
}
// The same for a block that keeps the token itself; to be called first in Run. Says whether the token left.
template <typename T>
bool Leave(Cycle now, std::optional<T>& token, Output<T>& output) {
  return token && LeaveNow(now, token, output);  // mostly there is none
}

template <typename T>
class OutputRegister {
 public:
  // Both outlive the register's use.
  OutputRegister(Output<T>& out, Block& block) : out_(out), block_(block) {}

  // Bit `bit` of `set` is 1 as long as it holds a token. To be said before the first one.
  void ShowIn(uint64_t& set, size_t bit) { shown_.Join(set, bit); }

  // First in every cycle, before IsFree() and Load().
  void Drain(Cycle now) {
    if (Leave(now, token_, out_)) shown_.Clear();
  }
  bool IsFree() const { return !token_; }
  void Load(Cycle now, T token) {
    assert(IsFree());
    token_ = std::move(token);
    shown_.Set();
    block_.WakeAt(now + 1);
  }

 private:
  Output<T>& out_;
  Block& block_;
  std::optional<T> token_;
  SetBit shown_;
};

}  // namespace vireo::model
