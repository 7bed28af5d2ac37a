// SPDX-License-Identifier: Apache-2.0
// What a lossy line costs go-back-N however fast its two NICs are: the figure that the workloads `loss_…` are held
// against. docs/bench.md, "Lossy lines".
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/topology/topology.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Metrics of a row: the most that go-back-N can reach, and how much of it was.
inline constexpr const char* kGoBackN = "go_back_n_gbps";
inline constexpr const char* kGoBackNReached = "go_back_n_reached_pct";

struct LossyLine {
  double loss = 0;         // chance of each frame
  double frame_ns = 0;     // time of a full frame on the line, with preamble and gap
  double answer_ns = 0;    // likewise, of an acknowledge
  double delay_ns = 0;     // from end to end
  double mac_ns = 0;       // latency of both MACs of one direction
  double most_frames = 0;  // that a queue pair has outstanding
};

// The times of a wire with MACs at both ends, for RoCE over IPv4 with this path MTU. Loss and most_frames are the
// caller's.
inline LossyLine LineOf(const Wire& wire, const MacParameters& mac, uint32_t path_mtu) {
  constexpr uint32_t kHeaderBytes =
      spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes + spec::Bth::kBytes + spec::kIcrcBytes;
  constexpr uint32_t kLineBytes = kPreambleBytes + kFcsBytes + kInterframeGapBytes;
  const auto line_ns = [&wire](uint64_t bytes) {
    return static_cast<double>(wire.Time(bytes + kLineBytes)) / kPicosecondsPerNanosecond;
  };
  return {.frame_ns = line_ns(path_mtu + kHeaderBytes),
          .answer_ns = line_ns(std::max<uint64_t>(kHeaderBytes + spec::Aeth::kBytes, kMinFrameBytes)),
          .delay_ns = static_cast<double>(wire.parameters().delay_ns),
          .mac_ns = static_cast<double>(mac.transmit_latency_ns + mac.receive_latency_ns)};
}

// Frames on the line for each that is lost: itself, and those of its queue pair behind it that left before the sender
// knew. The next one shows the gap when it has arrived, and the NAK comes back.
inline double FramesPerLoss(const LossyLine& line) {
  const double known_ns = line.frame_ns + line.answer_ns + 2 * (line.delay_ns + line.mac_ns);
  return std::min(1 + known_ns / line.frame_ns, line.most_frames);
}

// The share of the line's frames that are new data and arrive.
inline double GoBackNShare(const LossyLine& line) {
  const double good = 1 - line.loss;
  return good / (good + line.loss * FramesPerLoss(line));
}

}  // namespace vireo::sim
