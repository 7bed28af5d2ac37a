// SPDX-License-Identifier: Apache-2.0
// How a whole client of the DMA write port sends a write whose bytes lie in a memory of its own: it steps through them,
// one step per beat and one before if the first beat needs bytes of two, and a beat is visible kBeatLatency cycles
// after its step. A step waits for room for its beat. What rtl/rdma/vireo_rx_scatter.sv and rtl/eth/vireo_net_rx.sv
// have in common.
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

// A whole client, as the port sees it that can take the rest of a write at once.
class BeatSource {
 public:
  // Of the write under way `sent` beats have left, and from cycle `next` on nobody stops the others. If they then leave
  // in that cycle and those behind it, without a gap: the bytes of the whole write, which are there until the cycle is
  // over; the beats have left. Otherwise nothing, and nothing has changed.
  virtual std::span<const uint8_t> TakeRest(size_t sent, Cycle next) = 0;

 protected:
  ~BeatSource() = default;
};

class WriteStream final : public BeatSource {
 public:
  static constexpr Cycle kBeatLatency = 4;
  static constexpr size_t kDepth = 8;  // beats under way

  struct Write {
    uint64_t address;
    size_t bytes;  // 1 to kPcieRequestBoundary
    size_t lane;   // of the first byte in the memory
    bool notify;
    const uint8_t* data;  // until the last step; null: zeros
  };

  // Both outlive the stream; the block is woken for beats and for the last step.
  WriteStream(Block& block, Output<WriteBeat>& out, size_t beat_bytes)
      : block_(block), out_(out), beat_bytes_(beat_bytes) {}

  // First in every cycle that runs: gives a beat away.
  void Run(Cycle now);
  // The first step is in cycle `first` or later. The write before has made its last step.
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
  Cycle next_step_ = 0;  // not before
  Credits room_{kDepth};
  Ring<Ready> beats_;    // on their way to the output
  Cycle next_beat_ = 0;  // leaves not before
};

}  // namespace vireo::model
