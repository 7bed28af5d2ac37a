// SPDX-License-Identifier: Apache-2.0
// How blocks hand each other whole net frames, without check sequence, in the model: beats that follow each other
// without a gap are one call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/cycle.h"

namespace vireo::model {

// Who has frames to send, as their reader sees it.
class NetFrameSource {
 public:
  // Who is woken when a frame becomes the oldest; outlives the source's use.
  void SetReader(Block* reader) { reader_ = reader; }

  // net_valid_o in cycle `now`, of a frame's first beat.
  virtual bool HasFrame(Cycle now) const = 0;
  // The oldest frame; there is one. Its beats are taken in cycle `first`, which is later than the one that runs, and
  // the following.
  virtual std::vector<uint8_t> TakeFrame(Cycle first) = 0;

 protected:
  ~NetFrameSource() = default;
  Block* reader_ = nullptr;
};

// Who gets frames, without a way to refuse them.
class NetFrameSink {
 public:
  // A frame whose beats are visible in cycle `first` and the following; called in that cycle or before.
  virtual void OnNetFrame(Cycle first, std::span<const uint8_t> bytes) = 0;

 protected:
  ~NetFrameSink() = default;
};

}  // namespace vireo::model
