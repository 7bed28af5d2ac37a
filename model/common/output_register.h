// SPDX-License-Identifier: Apache-2.0
// The register that drives an output stream in RTL (`x_valid_q`, `x_q`): a token loaded in cycle t leaves in t + 1 or
// later; the register can be reloaded in the cycle in which the token leaves.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/channel.h"

namespace vireo::model {

// Part of Leave, for a token that exists.
template <typename T>
bool LeaveNow(Cycle now, std::optional<T>& token, Output<T>& output) {
  if (!output.CanPush(now)) return false;
  output.Push(now, *std::exchange(token, std::nullopt));
  return true;
}
// For a block that keeps the token itself; to be called first in Run. True: the token left.
template <typename T>
bool Leave(Cycle now, std::optional<T>& token, Output<T>& output) {
  return token && LeaveNow(now, token, output);  // usually empty
}

template <typename T>
class OutputRegister {
 public:
  // Both must outlive the register's use.
  OutputRegister(Output<T>& out, Block& block) : out_(out), block_(block) {}

  // Bit `bit` of `set` is 1 while it holds a token. To be called before the first one.
  void ShowIn(uint64_t& set, size_t bit) { shown_.Join(set, bit); }

  // To be called first in every cycle, before IsFree() and Load().
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
