// SPDX-License-Identifier: Apache-2.0
// Between the AXI ports of a device and the seam (nic.h): what a PCIe hard block and a MAC do at the core's edge. All
// of its timing is in these rules, so that a model that says when its beats happen can be joined to the seam by the
// same object as RTL whose pins are driven cycle by cycle. c, n are cycles; "before n" is strict.
//
// Reads
//   R1  arready is always 1. A burst is a ReadDma in the cycle of its AR handshake.
//   R2  A completion that comes in cycle c (its first beat) makes a bus beat in cycle c + k of every beat k of its
//   train
//       with which a beat of the burst is complete: at the end of the bus beat or of the burst. Parts that end within a
//       bus beat wait for the next part.
//   R3  A completion without data makes, in the same cycle, every beat of the burst that has not been, with SLVERR and
//       zeros. kPoisoned data is given with SLVERR in every beat that it touches.
//   R4  R carries one beat per cycle, in the order in which R2 and R3 made them: in the cycle in which it was made, or
//       in the one after the beat before. Lanes outside of the burst are zero.
// Writes
//   W1  awready in cycle n is 1 if awvalid is and the write credits that came before n, less the beats of all bursts
//       taken before n, are enough for all beats of this burst. Taking it takes the credits.
//   W2  wready in cycle n is 1 if a burst was taken before n and not all its beats have come before n. So beats never
//       come before their address is taken, although AXI would allow it: the seam knows no data without credits.
//   W3  A burst is a WriteDma in the cycle of its last beat e; B answers it with OKAY in cycle e + 1.
// Frames
//   T1  tready in cycle n is 1 if the transmit credits that came before n, less the beats sent before n, are at least
//       FrameBeats(max_frame_bytes) + kTransmitReserve.
//   T2  A frame is a TransmitFrame in the cycle of its last beat; its start is the cycle of its first.
//   T3  Received frames are given beat by beat from their start on.
// Registers
//   C1  BAR and CSR accesses are on the pins in their cycle; answers and messages leave in the cycle in which they are
//       valid.
//   C2  Configuration writes reach the device's pins in the cycle after that of the call, because they may come at any
//       time of theirs.
//   C3  What leaves in one cycle is told in this order: BAR answer, CSR answer, firmware interrupt, DMA read, DMA
//   write,
//       MSI-X, frame.
//
// A burst or beat that contradicts itself (length, strobes, an ID that is in use) is a defect of the device and ends
// the program with a message.
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

// The framer asks once per frame, a cycle before it accepts its token, and its beats begin kLatency cycles after that.
// When it asks in cycle n, beats of frames accepted before may still come in the cycles n … n + kLatency, kLatency + 1
// at the most, because the next token is accepted in n + 1 at the earliest and its beats follow without overlap.
inline constexpr uint32_t kTransmitReserve = static_cast<uint32_t>(model::TxFramer::kLatency) + 1;

// AXI's codes that the bridge uses. [AMBA AXI, A3.4.4]
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
  // R1; the caller tells the seam.
  void OnReadBurst(Cycle cycle, const DmaRead& read);
  // R2 to R4: appends to read_beats(). Calls come in the order of their cycles.
  void OnCompletion(Cycle cycle, const DmaCompletion& completion);
  // The same for who knows the bytes and wants only the end: how many of the completion's bytes belong to the burst,
  // and its last beat if it is among those that are made.
  struct ReadPart {
    size_t bytes = 0;
    bool last = false;
    Cycle cycle = 0;  // of the last beat
    uint8_t resp = kAxiOkay;
  };
  ReadPart TakeCompletion(Cycle cycle, const DmaCompletion& completion);
  // In the order of their cycles; whoever gives them to the device takes them away.
  model::Ring<ReadBeat>& read_beats() { return read_beats_; }
  // Bursts of which beats are still to be made.
  size_t open_reads() const { return open_reads_; }

  // --- Writes
  // Also of a later cycle: true does not become false but by OnAddress.
  bool IsAddressReady(Cycle cycle, uint64_t address, uint32_t bytes) const;
  // In the order of the cycles; in its cycle, or before for who knows it.
  void OnAddress(Cycle cycle, uint64_t address, uint32_t bytes);
  bool IsDataReady(Cycle cycle) const;
  // A beat of the oldest burst, of beat_bytes() bytes; the burst's own are taken from it. The write, if it was the
  // last.
  std::optional<Write> OnData(Cycle cycle, std::span<const uint8_t> beat, bool last);
  // The same for who knows all beats of a burst when its address is taken: `bytes` of them are complete in cycle
  // `cycle`, that of the last beat. Where they go to.
  uint64_t OnBurstData(Cycle cycle, size_t bytes);
  // Which lanes the next beat must have, as [first, end).
  std::pair<uint32_t, uint32_t> NextLanes() const;
  bool IsAnswer(Cycle cycle) const { return answer_cycle_ == cycle; }  // B is valid
  size_t open_writes() const { return writes_.size(); }

  // --- Frames
  bool IsTransmitReady(Cycle cycle) const;
  // One beat of a frame.
  void OnTransmitBeat(Cycle cycle) { transmit_.Take(cycle, 1); }

  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats);

  uint32_t beat_bytes() const { return beat_bytes_; }
  // Nothing of what it was told is still to be given to the device.
  bool IsIdle(Cycle next) const { return read_beats_.empty() && (answer_cycle_ == kNever || answer_cycle_ < next); }

  [[noreturn]] void Defect(Cycle cycle, const std::string& what) const;

 private:
  // Credits of which those given or taken in a cycle count from the next one on.
  class Credits {
   public:
    void Give(Cycle cycle, uint64_t beats) { Add(cycle, static_cast<int64_t>(beats)); }
    void Take(Cycle cycle, uint64_t beats) { Add(cycle, -static_cast<int64_t>(beats)); }
    // For who takes in the order of cycles, but ahead of what is given in the meantime.
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
    uint32_t done = 0;   // bytes that were made into beats, or wait in `partial`
    std::vector<uint8_t> partial;
    bool poisoned = false;  // a byte of `partial` is
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
  Cycle answer_cycle_ = kNever;
  Credits write_, transmit_;
};

}  // namespace vireo::sim
