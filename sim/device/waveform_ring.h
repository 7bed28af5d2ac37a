// SPDX-License-Identifier: Apache-2.0
// The waveform of the cycles before a mismatch, without writing one all the time: a ring of snapshots (snapshot_ring.h)
// of the whole simulation. At a mismatch the latest copy that is old enough runs the same cycles again, writes a
// waveform of every device, and ends where the original is.
//
//   auto ring = std::make_shared<WaveformRing>(options);
//   pins = WaveformRing::Watch(ring, "nic0", std::move(pins));   // of every device; these pins must have StartTrace
//   lockstep.waveform = [ring](Cycle) { return ring->OnMismatch(); };
//
// Cycles are evaluated cycles: cycles in which a device sleeps are in no waveform and need no snapshot. Only the first
// mismatch of a ring gets a waveform.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/device/nic_pins.h"
#include "sim/device/snapshot_ring.h"

namespace vireo::sim {

class WaveformRing {
 public:
  struct Options {
    std::string directory = ".";  // for the files: lockstep_<process>_<ring of the process>_<device>.fst
    uint64_t cycles = 20'000;     // minimum, or all since the start: LockstepOptions::horizon and 10,000
    uint64_t interval = 5'000;    // cycles between snapshots
    unsigned timeout = 600;       // real-time limit of a replay, in seconds
  };
  // VIREO_WAVEFORM: an existing directory; not set: the current one. Null if it is "off".
  static std::shared_ptr<WaveformRing> FromEnvironment();

  explicit WaveformRing(Options options);
  // In a copy: it did not reach the mismatch, and exits as a failure.
  ~WaveformRing();
  WaveformRing(const WaveformRing&) = delete;
  WaveformRing& operator=(const WaveformRing&) = delete;

  // Wraps pins; the result shares ownership of the ring.
  static std::unique_ptr<NicPins> Watch(std::shared_ptr<WaveformRing> ring, std::string name,
                                        std::unique_ptr<NicPins> pins);

  // Returns, in the original, when the waveforms are written: their paths and times, or the reason why there are none.
  std::string OnMismatch();
  // Of the last waveforms written, in the order of the Watch calls.
  const std::vector<std::string>& files() const { return files_; }
  uint64_t snapshots() const { return times_.size(); }  // taken so far

 private:
  class Pins;
  void Tick(Pins& pins, uint64_t time_ns);
  void StartReplay();
  std::string Path(const Pins& pins) const;

  const Options options_;
  const std::string prefix_;
  SnapshotRing ring_;
  std::vector<Pins*> watched_;
  std::vector<uint64_t> times_;  // of every snapshot, ns; `interval` cycles apart
  bool is_started_ = false, is_spent_ = false;
  std::vector<std::string> files_;
};

}  // namespace vireo::sim
