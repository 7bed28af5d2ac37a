// SPDX-License-Identifier: Apache-2.0
// The MADs to QP 1 in a capture file, over untagged IPv4.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "host/service/cm/messages.h"
#include "sim/common/pcap.h"

namespace vireo::sim {

// `name`: a file of verif/vectors.
inline std::vector<service::cm::Mad> RecordedMads(const std::string& name) {
  constexpr size_t kBeforeMad = 14 + 20 + 8 + 12 + 8;  // Ethernet, IPv4, UDP, BTH, DETH
  constexpr size_t kDestQpLast = 14 + 20 + 8 + 7;
  std::vector<service::cm::Mad> mads;
  const Capture capture = ReadPcap(std::string(VIREO_VECTORS_DIR) + "/" + name);
  EXPECT_EQ(capture.error, "");
  for (const Frame& frame : capture.frames) {
    if (frame.bytes.size() < kBeforeMad + service::cm::kMadBytes) continue;
    if (frame.bytes[kDestQpLast] != 1 || frame.bytes[kDestQpLast - 1] != 0 || frame.bytes[kDestQpLast - 2] != 0)
      continue;
    service::cm::Mad& mad = mads.emplace_back();
    std::copy_n(frame.bytes.begin() + kBeforeMad, service::cm::kMadBytes, mad.begin());
  }
  return mads;
}

}  // namespace vireo::sim
