// SPDX-License-Identifier: Apache-2.0
// Says of a received Ethernet frame what its way to the host depends on: destination MAC, VLAN, a hash of its flow, and
// whether its TCP or UDP checksum is right: the counterpart of rtl/eth/vireo_net_classify.sv. It decides nothing.
#pragma once

#include <cstdint>
#include <span>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetClassify {
 public:
  // Cycles from the one in which a frame's last beat is visible to the one in which its class is; the same for every
  // frame and every width of a beat.
  static constexpr uint64_t kLatency = 10;

  // A frame without check sequence, 1 to 16,383 bytes. The best that can be said, also of a frame that is cut or noise.
  static spec::NetClass Classify(std::span<const uint8_t> frame);
};

}  // namespace vireo::model
