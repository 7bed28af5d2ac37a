// SPDX-License-Identifier: Apache-2.0
// Frames for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/pcap.h"

namespace vireo::verif {

using Bytes = std::vector<uint8_t>;

// Every frame of the captures in a folder, sent by Linux. They hold only untagged RoCEv2 frames.
inline std::vector<Bytes> GoldenFrames(const std::string& folder) {
  std::vector<Bytes> result;
  for (const auto& path : sim::ListCaptures(folder)) {
    sim::Capture capture = sim::ReadPcap(path);
    EXPECT_EQ(capture.error, "");
    for (auto& frame : capture.frames) result.push_back(std::move(frame.bytes));
  }
  return result;
}

// Sixteen bytes a line.
inline std::string Hex(const Bytes& bytes) {
  std::string result;
  for (size_t i = 0; i < bytes.size(); ++i) {
    static constexpr char kDigits[] = "0123456789abcdef";
    if (i > 0 && i % 16 == 0) result += '\n';
    result += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15], ' '};
  }
  return result;
}

}  // namespace vireo::verif
