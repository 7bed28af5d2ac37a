// SPDX-License-Identifier: Apache-2.0
// Who stores received frames until they have been read, as the model's reader sees it.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/agenda.h"
#include "model/common/cycle.h"

namespace vireo::model {

// The frames that are stored, as their reader sees them.
class FrameStore {
 public:
  // Who is woken when a frame becomes the oldest; outlives the store's use.
  void SetReader(Block* reader) { reader_ = reader; }

  // oldest_valid_o in cycle `now`.
  virtual bool HasOldest(Cycle now) const = 0;
  // All of its bytes; there is one.
  virtual std::span<const uint8_t> oldest() const = 0;
  // Its bytes are read, the last of them in cycle `now`.
  virtual void Free(Cycle now) = 0;

 protected:
  ~FrameStore() = default;
  Block* reader_ = nullptr;
};

}  // namespace vireo::model
