// SPDX-License-Identifier: Apache-2.0
// The register that drives an output stream in RTL (`x_valid_q`, `x_q`): what is loaded in cycle t leaves in t + 1 or
// later, and in the cycle in which it leaves it can be loaded again.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/channel.h"

namespace vireo::model {

// The same for a block that keeps the token itself; to be called first in Run. Says whether the token left.
template <typename T>
bool Leave(Cycle now, std::optional<T>& token, Output<T>& output) {
  if (!token || !output.CanPush(now)) return false;
  output.Push(now, *std::exchange(token, std::nullopt));
  return true;
}

template <typename T>
class OutputRegister {
 public:
  // Both outlive the register's use.
  OutputRegister(Output<T>& out, Block& block) : out_(out), block_(block) {}

  // First in every cycle, before IsFree() and Load().
  void Drain(Cycle now) { Leave(now, token_, out_); }
  bool IsFree() const { return !token_; }
  void Load(Cycle now, T token) {
    assert(IsFree());
    token_ = std::move(token);
    block_.WakeAt(now + 1);
  }

 private:
  Output<T>& out_;
  Block& block_;
  std::optional<T> token_;
};

}  // namespace vireo::model
