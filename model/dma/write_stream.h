// SPDX-License-Identifier: Apache-2.0
// Sends a write of a DMA write client whose bytes are in a local memory: it steps through them, one step per beat and
// one more before the first beat if that needs bytes of two words; a beat is visible kBeatLatency cycles after its
// step. A step waits for space for its beat. Common part of rtl/rdma/vireo_rx_scatter.sv and rtl/eth/vireo_net_rx.sv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/common/ring.h"
#include "model/dma/write_beat.h"

namespace vireo::model {

// Interface of a write client for a port that can take the rest of a write at once.
class BeatSource {
 public:
  // `sent` beats of the current write have left, and from cycle `next` on there is no back-pressure. If the others
  // would then leave from `next` on without a gap: returns the bytes of the whole write, valid until the end of the
  // cycle, and the beats count as sent. Otherwise returns an empty span and changes nothing.
  virtual std::span<const uint8_t> TakeRest(size_t sent, Cycle next) = 0;

 protected:
  ~BeatSource() = default;
};

class WriteStream final : public BeatSource {
 public:
  static constexpr Cycle kBeatLatency = 4;
  static constexpr size_t kDepth = 8;  // beats in flight

  struct Write {
    uint64_t address;
    size_t bytes;  // 1 to kPcieRequestBoundary
    size_t lane;   // lane of the first byte in the memory
    bool notify;
    uint8_t tag;
    const uint8_t* data;  // valid until the last step; null: zeros
  };

  // Both must outlive the stream; the block is woken for beats and for the last step.
  WriteStream(Block& block, Output<WriteBeat>& out, size_t beat_bytes)
      : block_(block), out_(out), beat_bytes_(beat_bytes) {}

  // To be called first in every cycle that runs: sends a beat.
  void Run(Cycle now);
  // The first step is in cycle `first` or later. The previous write must have made its last step.
  void Begin(Cycle first, const Write& write);
  // Of the last write; kUnknown while it waits for room that is not known.
  Cycle LastStep() const { return step_ == steps_ ? next_step_ - 1 : kUnknown; }

  std::span<const uint8_t> TakeRest(size_t sent, Cycle next) override;

 private:
  struct Ready {
    Cycle cycle;  // visible from then on
    WriteBeat beat;
  };

  void Advance();
  void MakeBeat(WriteBeat& beat) const;

  Block& block_;
  Output<WriteBeat>& out_;
  const size_t beat_bytes_;
  Write write_{};
  size_t lag_ = 0;       // steps before the first beat
  size_t steps_ = 0;     // of the write
  size_t step_ = 0;      // the next one
  Cycle next_step_ = 0;  // not before this cycle
  Credits room_{kDepth};
  Ring<Ready> beats_;    // in the pipeline to the output
  Cycle next_beat_ = 0;  // not before this cycle
};

}  // namespace vireo::model
