// SPDX-License-Identifier: Apache-2.0
// Frames recorded from Linux, as seeds.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/wire/fault.h"

namespace vireo::sim {

// The first frame of each opcode and length of every capture file.
inline std::vector<std::vector<uint8_t>> RecordedFrames() {
  std::vector<std::vector<uint8_t>> frames;
  std::set<std::pair<unsigned, size_t>> seen;
  for (const std::string& path : ListCaptures(VIREO_VECTORS_DIR)) {
    const Capture capture = ReadPcap(path);
    EXPECT_EQ(capture.error, "");
    for (const Frame& frame : capture.frames) {
      const auto roce = FindRoce(frame.bytes);
      const unsigned kind = roce.has_value() ? static_cast<unsigned>(roce->bth.opcode) << 1 | roce->is_ipv6 : ~0U;
      if (seen.insert({kind, frame.bytes.size()}).second) frames.push_back(frame.bytes);
    }
  }
  return frames;
}

}  // namespace vireo::sim
