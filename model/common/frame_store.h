// SPDX-License-Identifier: Apache-2.0
// Interface of a store of received frames, as its reader sees it.
#pragma once

#include <cstdint>
#include <span>

#include "model/common/agenda.h"
#include "model/common/cycle.h"

namespace vireo::model {

// The stored frames, oldest first.
class FrameStore {
 public:
  // Block to wake when a frame becomes the oldest; must outlive the store's use.
  void SetReader(Block* reader) { reader_ = reader; }

  // oldest_valid_o in cycle `now`.
  virtual bool HasOldest(Cycle now) const = 0;
  // All bytes of the oldest frame, which must exist.
  virtual std::span<const uint8_t> oldest() const = 0;
  // The oldest frame has been read, its last bytes in cycle `now`.
  virtual void Free(Cycle now) = 0;

 protected:
  ~FrameStore() = default;
  Block* reader_ = nullptr;
};

}  // namespace vireo::model
