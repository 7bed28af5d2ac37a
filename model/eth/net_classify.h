// SPDX-License-Identifier: Apache-2.0
// Classifies a received Ethernet frame: destination MAC, VLAN, flow hash, and whether its TCP or UDP checksum is
// correct: the counterpart of rtl/eth/vireo_net_classify.sv. It makes no forwarding decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetClassify {
 public:
  // Cycles from the last beat of a frame to whether its checksum is valid, and from its class beat to the rest of its
  // class; the same for every frame and every beat width.
  static constexpr uint64_t kLatency = 10;
  // The index of the class beat: the last one in which there may be headers.
  static size_t ClassBeat(size_t frame_bytes, size_t beat_bytes);

  // A frame without check sequence, 1 to 16,383 bytes; truncated or random frames are allowed.
  static spec::NetClass Classify(std::span<const uint8_t> frame);
};

}  // namespace vireo::model
