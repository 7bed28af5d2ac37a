// SPDX-License-Identifier: Apache-2.0
// Stores received frames and outputs for each, in order, the parser's token: the counterpart of
// rtl/rdma/vireo_rx_buffer.sv. A frame without guaranteed space at its first beat is dropped completely; so is, later,
// one with another verdict than roce or net, or one longer than the largest frame.
//
// With t the cycle of a frame's last beat: verdict in t + RxParser::kLatency, its token and its status as oldest frame
// 2 cycles later, each not before those of the previous frame, + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/frame_store.h"
#include "model/common/level.h"
#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class RxBuffer final : public Block, public FrameStore {
 public:
  // Same as the RTL's parameter default.
  static constexpr uint32_t kBytesPerFrame = 1024;
  struct Sizes {
    uint32_t data_bits;
    uint32_t buffer_bytes;
    uint32_t max_frame_bytes;
    uint32_t bytes_per_frame = kBytesPerFrame;
  };

  RxBuffer(Agenda& agenda, const Sizes& sizes);
  RxBuffer(Agenda& agenda, const spec::Config& config)
      : RxBuffer(agenda, {config.datapath_bits, config.rx_buffer_bytes, config.max_frame_bytes}) {}

  Output<RxToken> frame_out;
  // Pulses, in the cycle in which they are visible; optional.
  std::function<void(Cycle)> on_drop;
  std::function<void(Cycle, spec::RxVerdict)> on_verdict;

  // enable_i from cycle `from` on, which has not ended; 0 before the first call.
  void SetEnable(Cycle from, bool enable);
  // roce_i from cycle `from` on; 0 before the first call. With 0 every good frame is a net frame.
  void SetRoce(Cycle from, bool roce) { roce_.Set(from, roce); }
  // A frame whose beats come in the cycles `start` to `end` without gaps. To be called in cycle `start`, in frame
  // order.
  void OnFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error);

  bool HasOldest(Cycle now) const override;
  std::span<const uint8_t> oldest() const override { return records_.front().bytes; }
  void Free(Cycle now) override;

  void Run(Cycle now) override;
  // idle_o in cycle `now` + 1. A frame that begins then may have been reported already.
  bool IsIdle(Cycle now = kUnknown) const {
    return frames_ == freed_.size() + (frames_ != 0 && last_start_ > now ? 1 : 0);
  }

 private:
  struct Record {
    bool good;
    size_t beats;
    std::vector<uint8_t> bytes;  // of an accepted frame
  };
  struct Parsed {
    Cycle cycle;
    RxToken token;
    Record record;
  };
  struct Freed {
    Cycle cycle;
    size_t beats;
  };

  void Pop(Cycle now);
  void WakeForRecord();

  const size_t beat_bytes_;
  const size_t beats_;
  const size_t max_frame_bytes_;
  const size_t max_beats_;
  const size_t max_frames_;

  bool enable_ = false;
  bool next_enable_ = false;
  Cycle enable_from_ = 0;
  Level<bool> roce_{false};

  // Space taken so far, and space returned since; the latter is available one cycle later.
  size_t used_ = 0;
  size_t frames_ = 0;
  Cycle last_start_ = 0;  // of the last of them
  std::deque<Freed> freed_;

  std::deque<Cycle> drops_;
  std::deque<Parsed> parsed_;  // parsed, token not yet pushed
  FifoTiming record_timing_;
  std::deque<Record> records_;
  Channel<RxToken> tokens_;
};

}  // namespace vireo::model
