// SPDX-License-Identifier: Apache-2.0
// Writes captures of simulated links as pcapng (draft-ietf-opsawg-pcapng): one file with several named interfaces,
// nanoseconds of simulated time, direction, FCS errors and comments, for Wireshark and everything built on libpcap.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/time/scheduler.h"
#include "sim/wire/wire.h"

namespace vireo::sim {

// Frames are written in call order, with the caller's timestamps rounded down to a nanosecond; in the simulation's
// files they never decrease. The output does not depend on the clock or the machine: the same run writes the same
// bytes.
class PcapngWriter {
 public:
  // Overwrites the file. `comment` describes the run (seed, command); may be empty. Check error().
  PcapngWriter(const std::string& path, std::string_view comment);

  // Call before the first frame of that interface; may follow frames of others. Returns its number, from 0. speed_mbps
  // 0: unspecified.
  uint32_t AddInterface(std::string_view name, std::string_view description, uint32_t speed_mbps);

  // `interface` must exist. The comment may be empty.
  void Write(uint32_t interface, Picoseconds time, Direction direction, const WireFrame& frame);

  // Flushes everything written so far to the file. False: an error, now or before.
  bool Flush();

  // With the file's name; empty without an error. After an error nothing more is written.
  const std::string& error() const { return error_; }
  uint64_t frames() const { return frames_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void Put16(uint16_t value);
  void Put32(uint32_t value);
  void PutPadded(const void* data, size_t bytes);
  void PutOption(uint16_t code, const void* data, size_t bytes);
  void PutOption(uint16_t code, std::string_view text) { PutOption(code, text.data(), text.size()); }
  void Begin(uint32_t type);
  void End();  // writes the block that Begin() started

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string error_;
  std::vector<uint8_t> block_;
  uint32_t interfaces_ = 0;
  uint64_t frames_ = 0;
};

// Records one point of a link.
class PcapngRecorder final : public FrameRecorder {
 public:
  // Both outlive the recorder.
  PcapngRecorder(PcapngWriter& writer, uint32_t interface, const Scheduler& scheduler)
      : writer_(writer), interface_(interface), scheduler_(scheduler) {}

  void OnFrame(Direction direction, const WireFrame& frame) override {
    writer_.Write(interface_, scheduler_.now(), direction, frame);
  }

 private:
  PcapngWriter& writer_;
  const uint32_t interface_;
  const Scheduler& scheduler_;
};

}  // namespace vireo::sim
