// SPDX-License-Identifier: Apache-2.0
// An end of a wire that is not a NIC: frames from and to outside the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/time/scheduler.h"
#include "sim/wire/wire.h"

namespace vireo::sim {

// Frames in both directions are complete, from the destination MAC address on, without FCS. No credits, no buffer of
// its own: frames queue on the line. The wire outlives the port.
class OuterPort final : public FrameReceiver {
 public:
  struct Counters {
    uint64_t sent = 0;           // into the simulation
    uint64_t received = 0;       // out of it
    uint64_t bad_fcs_drops = 0;  // damaged: the outside cannot see the FCS
  };

  OuterPort(Scheduler& scheduler, Wire& wire, unsigned end) : scheduler_(scheduler), wire_(wire), end_(end) {}

  // Call before anything else. The receiver is called at the time of a frame's last bit.
  void OnArrival(std::function<void(const WireFrame&)> receiver) { receiver_ = std::move(receiver); }
  // Records each frame at the time of its last bit here; outlives the port.
  void Record(FrameRecorder& recorder) { recorder_ = &recorder; }

  // Sends as soon as the line is free; pads to the shortest frame. [IEEE 802.3, 3.2.8]
  void Send(WireFrame frame);
  void OnFrame(WireFrame frame) override;

  const Counters& counters() const { return counters_; }

 private:
  Scheduler& scheduler_;
  Wire& wire_;
  const unsigned end_;
  std::function<void(const WireFrame&)> receiver_;
  FrameRecorder* recorder_ = nullptr;
  Counters counters_;
};

}  // namespace vireo::sim
