// SPDX-License-Identifier: Apache-2.0
// Bus functional model between the AXI ports of a device and the seam (nic.h), like a PCIe hard block and a MAC at the
// core's edge. These rules define all of its timing, so a model that computes the cycles of its beats uses the same
// object as RTL whose pins are driven cycle by cycle. c, n are cycles; "before n" is strict.
//
// Reads
//   R1  arready is always 1. A burst is a ReadDma in the cycle of its AR handshake.
//   R2  A completion that arrives in cycle c (its first beat) makes a bus beat in cycle c + k of every beat k of its
//   train
//       that completes a beat of the burst: at the end of the bus beat or of the burst. Parts that end within a bus
//       beat wait for the next part.
//   R3  A completion without data makes, in the same cycle, every missing beat of the burst, with SLVERR and zeros.
//       kPoisoned data sets SLVERR in every beat that it touches.
//   R4  R carries one beat per cycle, in the order in which R2 and R3 made them: in the cycle in which it was made, or
//       in the cycle after the previous beat. Lanes outside of the burst are zero.
// Writes
//   W1  awready in cycle n is 1 if awvalid is and the write credits that arrived before n, less the beats of all bursts
//       accepted before n, cover all beats of this burst. Accepting it consumes the credits.
//   W2  wready in cycle n is 1 if a burst was accepted before n and not all its beats have come before n. So beats
//   never
//       precede their address, although AXI allows it: the seam passes no data without credits.
//   W3  A burst is a WriteDma in the cycle of its last beat e; B answers it in cycle e + 1: with OKAY, or with SLVERR
//   if
//       the environment refuses it then.
// Frames
//   T1  tready in cycle n is 1 if the transmit credits that arrived before n, less the beats sent before n, are at
//   least
//       FrameBeats(max_frame_bytes) + kTransmitReserve.
//   T2  A frame is a TransmitFrame in the cycle of its last beat; its start is the cycle of its first.
//   T3  Received frames are delivered beat by beat from their start.
// Registers
//   C1  BAR and CSR accesses are on the pins in their cycle; answers and messages leave in the cycle in which they are
//       valid.
//   C2  Configuration writes reach the device's pins in the cycle after the call, because calls may come at any time of
//       their cycle.
//   C3  Outputs of one cycle are reported in this order: BAR answer, CSR answer, firmware interrupt, DMA read, DMA
//       write, MSI-X, frame.
//
// An inconsistent burst or beat (length, strobes, an ID in use) is a defect of the device and aborts the program with a
// message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/common/ring.h"
#include "model/rdma/tx_framer.h"
#include "sim/nic/nic.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// The framer checks tready once per frame, a cycle before it accepts the frame's token, and its beats start kLatency
// cycles later. If it checks in cycle n, beats of frames accepted earlier may still come in cycles n … n + kLatency: at
// most kLatency + 1, because the next token is accepted in n + 1 at the earliest and its beats follow without overlap.
inline constexpr uint32_t kTransmitReserve = static_cast<uint32_t>(model::TxFramer::kLatency) + 1;

// AXI response codes used by the bridge. [AMBA AXI, A3.4.4]
inline constexpr uint8_t kAxiOkay = 0;
inline constexpr uint8_t kAxiSlverr = 2;

class AxiBridge {
 public:
  struct ReadBeat {
    Cycle cycle = 0;  // on the bus
    uint16_t id = 0;
    std::vector<uint8_t> data;  // a whole beat
    uint8_t resp = kAxiOkay;
    bool last = false;
  };
  struct Write {
    uint64_t address = 0;
    std::vector<uint8_t> data;
  };

  // `config` outlives the bridge; `name` is for messages.
  AxiBridge(const spec::Config& config, std::string name);

  void Reset();

  // --- Reads
  // R1; the caller forwards it to the seam.
  void OnReadBurst(Cycle cycle, const DmaRead& read);
  // R2 to R4: appends to read_beats(). Calls are in cycle order.
  void OnCompletion(Cycle cycle, const DmaCompletion& completion);
  // The same for a caller that already has the bytes: returns how many bytes of the completion belong to the burst, and
  // the burst's last beat if the completion makes it.
  struct ReadPart {
    size_t bytes = 0;
    bool last = false;
    Cycle cycle = 0;  // of the last beat
    uint8_t resp = kAxiOkay;
  };
  ReadPart TakeCompletion(Cycle cycle, const DmaCompletion& completion);
  // In cycle order; the caller removes those that it delivers to the device.
  model::Ring<ReadBeat>& read_beats() { return read_beats_; }
  // Bursts with missing beats.
  size_t open_reads() const { return open_reads_; }

  // --- Writes
  // May be called for a later cycle: only OnAddress can change true to false.
  bool IsAddressReady(Cycle cycle, uint64_t address, uint32_t bytes) const;
  // Calls are in cycle order: in the burst's cycle, or earlier if it is known.
  void OnAddress(Cycle cycle, uint64_t address, uint32_t bytes);
  bool IsDataReady(Cycle cycle) const;
  // A beat of the oldest burst, of beat_bytes() bytes; only the burst's lanes are used. Returns the write if it was the
  // last.
  std::optional<Write> OnData(Cycle cycle, std::span<const uint8_t> beat, bool last);
  // The same for a caller that has all beats of a burst when its address is accepted: its `bytes` bytes are complete in
  // `cycle`, the cycle of the last beat. Returns their address.
  uint64_t OnBurstData(Cycle cycle, size_t bytes);
  // The lanes of the next beat, as [first, end).
  std::pair<uint32_t, uint32_t> NextLanes() const;
  bool IsAnswer(Cycle cycle) const { return answer_cycle_ == cycle; }  // B is valid
  // Of the answer in this cycle. A refusal without one is the environment's defect; NicTap reports it.
  void RefuseWrite(Cycle cycle) { refused_cycle_ = cycle; }
  uint8_t AnswerResp(Cycle cycle) const { return refused_cycle_ == cycle ? kAxiSlverr : kAxiOkay; }
  size_t open_writes() const { return writes_.size(); }

  // --- Frames
  bool IsTransmitReady(Cycle cycle) const;
  // One beat of a frame.
  void OnTransmitBeat(Cycle cycle) { transmit_.Take(cycle, 1); }

  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats);

  uint32_t beat_bytes() const { return beat_bytes_; }
  // No beat or answer for the device is pending.
  bool IsIdle(Cycle next) const { return read_beats_.empty() && (answer_cycle_ == kNever || answer_cycle_ < next); }

  [[noreturn]] void Defect(Cycle cycle, const std::string& what) const;

 private:
  // A credit counter whose changes in a cycle count from the next cycle on.
  class Credits {
   public:
    void Give(Cycle cycle, uint64_t beats) { Add(cycle, static_cast<int64_t>(beats)); }
    void Take(Cycle cycle, uint64_t beats) { Add(cycle, -static_cast<int64_t>(beats)); }
    // For a caller that takes in cycle order, but ahead of credits returned meanwhile.
    void TakeAhead(uint64_t beats) { settled_ -= static_cast<int64_t>(beats); }
    int64_t Before(Cycle cycle) const { return cycle > cycle_ ? settled_ + now_ : settled_; }

   private:
    void Add(Cycle cycle, int64_t beats) {
      if (cycle != cycle_) {
        settled_ += now_;
        now_ = 0;
        cycle_ = cycle;
      }
      now_ += beats;
    }
    Cycle cycle_ = 0;  // of the last change
    int64_t settled_ = 0, now_ = 0;
  };
  struct Read {
    uint64_t address = 0;
    uint32_t bytes = 0;  // 0: the ID is free
    uint32_t done = 0;   // bytes made into beats, or in `partial`
    std::vector<uint8_t> partial;
    bool poisoned = false;  // a byte of `partial` is poisoned
  };
  struct OpenWrite {
    Cycle taken = 0;
    Write write;
    uint32_t bytes = 0;
  };

  Cycle Occupy(Cycle cycle, uint32_t beats);
  void MakeBeat(Cycle cycle, uint16_t id, std::span<const uint8_t> data, uint8_t resp, bool last);
  OpenWrite& OldestWrite(Cycle cycle);
  void FinishWrite(Cycle cycle);

  const spec::Config& config_;
  const std::string name_;
  const uint32_t beat_bytes_;
  const uint32_t transmit_threshold_;

  std::vector<Read> reads_;  // by ID
  size_t open_reads_ = 0;
  model::Ring<ReadBeat> read_beats_;
  Cycle read_free_ = 0;  // the first cycle in which R is free

  model::Ring<OpenWrite> writes_;
  Cycle answer_cycle_ = kNever, refused_cycle_ = kNever;
  Credits write_, transmit_;
};

}  // namespace vireo::sim
