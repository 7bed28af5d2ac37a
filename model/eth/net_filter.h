// SPDX-License-Identifier: Apache-2.0
// Stores received net frames and passes on, in order, those that pass the receive filter: the counterpart of
// rtl/eth/vireo_net_filter.sv. A frame without space at its first beat is dropped completely, as is one longer than the
// largest frame.
//
// With t the cycle of a frame's class beat: the decision starts in t + NetClassify::kLatency + kClassLatency, not
// before the previous frame's decision, + 1; it takes kDecisionCycles, plus one per table address checked; the frame's
// token and its status as oldest frame come 2 cycles later, each not before those of the previous frame, + 1. Whether
// its checksum is valid is known NetClassify::kLatency + kClassLatency after its last beat.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/level.h"
#include "model/eth/net_frames.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetFilter final : public Block, public NetFrameStore, public NetFrameSink {
 public:
  // Same as the RTL's parameter default.
  static constexpr uint32_t kBytesPerFrame = 128;
  // Of the queues of classes and of checksums.
  static constexpr unsigned kClassLatency = FifoTiming::kFifoLatency;
  // From start to decision, without the table of addresses.
  static constexpr unsigned kDecisionCycles = 2;
  struct Sizes {
    uint32_t data_bits;
    uint32_t buffer_bytes;
    uint32_t max_frame_bytes;
    uint32_t bytes_per_frame = kBytesPerFrame;
  };

  NetFilter(Agenda& agenda, const Sizes& sizes);
  NetFilter(Agenda& agenda, const spec::Config& config)
      : NetFilter(agenda, {config.datapath_bits, config.net_buffer_bytes, config.max_frame_bytes}) {}

  Output<spec::NetFrame> frame_out;
  // Pulses, in the cycle in which they are visible; optional.
  std::function<void(Cycle)> on_drop;
  std::function<void(Cycle)> on_filtered;

  // Levels, from cycle `from` on, which has not ended; all 0 before the first call.
  void SetRxMode(Cycle from, const spec::MgmtRxMode& mode) { rx_mode_.Set(from, mode); }
  void SetMac(Cycle from, uint64_t mac) { mac_.Set(from, mac); }  // its first byte in bits 7:0
  void SetActivePairs(Cycle from, uint16_t pairs) { active_pairs_.Set(from, pairs); }
  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // A table's entry that a decision read has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  // Frames in order; each has 1 byte or more.
  void OnNetFrame(Cycle first, std::span<const uint8_t> bytes) override;

  bool HasOldest(Cycle now) const override;
  // Without the reserved space in front.
  std::span<const uint8_t> oldest() const override { return records_.front().bytes; }
  Cycle CheckedFrom() const override { return std::max(record_timing_.PopReady(), check_timing_.PopReady()); }
  bool HasValidChecksum() const override { return records_.front().checksum_valid; }
  void Free(Cycle now) override;

  void Run(Cycle now) override;
  bool IsIdle() const { return frames_ == freed_.size() && drops_.empty(); }

 private:
  struct Arrival {
    Cycle first;
    std::vector<uint8_t> bytes;
  };
  struct PendingFrame {
    Cycle class_visible;
    spec::NetClass frame_class;
    std::vector<uint8_t> bytes;
  };
  struct Record {
    bool good;
    size_t beats;
    bool checksum_valid;
    std::vector<uint8_t> bytes;  // of a frame that passed
  };
  struct Freed {
    Cycle cycle;
    size_t beats;
  };
  enum class State { kWait, kDecide, kScan, kEmit };

  size_t BeatsOf(size_t bytes) const { return (spec::NetHdr::kBytes + bytes + beat_bytes_ - 1) / beat_bytes_; }
  void Admit(Arrival arrival);
  void Step(Cycle now);
  // Empty: the table of addresses decides.
  std::optional<bool> Decide(Cycle now, const spec::NetClass& net_class);
  void EmitFrame(Cycle now);
  void WakeForNext();
  void Pop(Cycle now);
  void WakeForRecord();

  const size_t beat_bytes_;
  const size_t beats_;
  const size_t max_frame_bytes_;
  const size_t max_frames_;

  Level<spec::MgmtRxMode> rx_mode_;
  Level<uint64_t> mac_;
  Level<uint16_t> active_pairs_;
  ContextTable<spec::TableMacFilter> macs_;
  ContextTable<uint32_t> vlans_;

  // Frames whose first beat is in the future.
  std::deque<Arrival> arrivals_;
  Cycle ran_ = 0;  // the last cycle of Run
  bool has_run_ = false;

  // Space taken so far, and space returned since; the latter is available one cycle later.
  size_t used_ = 0;
  size_t frames_ = 0;
  std::deque<Freed> freed_;
  std::deque<Cycle> drops_;

  // Frames to decide, and progress of the decision on the first of them.
  std::deque<PendingFrame> pending_frames_;
  State state_ = State::kWait;
  Cycle wait_from_ = 0;  // earliest start of a decision
  uint32_t vlan_members_ = 0;
  bool pass_ = false;
  uint8_t pair_ = 0;
  size_t index_ = 0;
  spec::TableMacFilter entry_;

  FifoTiming record_timing_;
  FifoTiming check_timing_;  // of all stored frames
  std::deque<Record> records_;
  Channel<spec::NetFrame> tokens_;
};

}  // namespace vireo::model
