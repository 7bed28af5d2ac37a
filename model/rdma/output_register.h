// SPDX-License-Identifier: Apache-2.0
// The register in front of a stream that leaves a block: what is put into it in cycle t is offered from t + 1 on, and
// it can be filled again in the cycle in which it is taken.
#pragma once

#include <optional>

#include "model/common/channel.h"

namespace vireo::model {

// To be called first in Run. Says whether the token left.
template <typename T>
bool Leave(Cycle now, std::optional<T>& token, Output<T>& output) {
  if (!token || !output.CanPush(now)) return false;
  output.Push(now, *token);
  token.reset();
  return true;
}

}  // namespace vireo::model
