// SPDX-License-Identifier: Apache-2.0
// Interfaces that pass whole net frames, without check sequence, between blocks of the model: consecutive beats without
// gaps are one call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/cycle.h"
#include "model/common/frame_store.h"

namespace vireo::model {

// Source of frames to send, as its reader sees it.
class NetFrameSource {
 public:
  // Block to wake when a frame becomes the oldest; must outlive the source's use.
  void SetReader(Block* reader) { reader_ = reader; }

  // net_valid_o in cycle `now`, of a frame's first beat.
  virtual bool HasFrame(Cycle now) const = 0;
  // The oldest frame, which must exist. Its beats are taken from cycle `first` on, which is later than the current
  // cycle.
  virtual std::vector<uint8_t> TakeFrame(Cycle first) = 0;

 protected:
  ~NetFrameSource() = default;
  Block* reader_ = nullptr;
};

// Receiver of frames, without back-pressure.
class NetFrameSink {
 public:
  // A frame whose beats are visible in cycle `first` and the following; called in that cycle or before.
  virtual void OnNetFrame(Cycle first, std::span<const uint8_t> bytes) = 0;

 protected:
  ~NetFrameSink() = default;
};

// The stored frames that passed the filter, as their reader sees them. A frame is read while it is being stored, from
// its first byte on and no faster; it is freed when all of it is stored.
class NetFrameStore : public FrameStore {
 public:
  // Of the oldest frame, which must exist: the first cycle of oldest_checked_o, from which on all of it is stored, and
  // whether its checksum is valid.
  virtual Cycle CheckedFrom() const = 0;
  virtual bool HasValidChecksum() const = 0;

 protected:
  ~NetFrameStore() = default;
};

}  // namespace vireo::model
