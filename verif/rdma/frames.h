// SPDX-License-Identifier: Apache-2.0
// Frames for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/rdma/icrc.h"
#include "sim/common/pcap.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {

using Bytes = std::vector<uint8_t>;

// Gives a FLUSH of Linux, whose ICRC is another one (docs/golden.md, flush_icrc), the standard's. Other frames stay.
inline void MendFlushIcrc(Bytes& frame) {
  constexpr size_t kBth = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes;
  const bool is_ipv4 = spec::Ethernet::Decode(frame.data()).ethertype == spec::Ethertype::kIpv4;
  if (!is_ipv4 || spec::Bth::Decode(&frame.at(kBth)).opcode != spec::BthOpcode::kRcFlush) return;
  const auto datagram = std::span(frame).subspan(spec::Ethernet::kBytes);
  const uint32_t icrc = model::IcrcCompute(datagram.first(datagram.size() - spec::kIcrcBytes), /*is_ipv6=*/false);
  for (size_t i = 0; i < spec::kIcrcBytes; ++i) {
    datagram[datagram.size() - spec::kIcrcBytes + i] = static_cast<uint8_t>(icrc >> (8 * i));
  }
}

// Every frame of the captures in a folder, sent by Linux. They hold only untagged RoCEv2 frames.
inline std::vector<Bytes> GoldenFrames(const std::string& folder) {
  std::vector<Bytes> result;
  for (const auto& path : sim::ListCaptures(folder)) {
    sim::Capture capture = sim::ReadPcap(path);
    EXPECT_EQ(capture.error, "");
    for (auto& frame : capture.frames) {
      MendFlushIcrc(frame.bytes);
      result.push_back(std::move(frame.bytes));
    }
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
