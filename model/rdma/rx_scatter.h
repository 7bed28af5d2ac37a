// SPDX-License-Identifier: Apache-2.0
// Executes rx_place: bytes of the oldest frame in the receive buffer go to the DMA write port as one or two writes,
// then the frame is freed if no place of it follows, and completion, acknowledge and response leave, one after the
// other, when all writes are in memory: the counterpart of rtl/rdma/vireo_rx_scatter.sv. It checks nothing. A place of
// zeros takes as long as one from the first byte of the frame on.
//
// A place is taken in the latest of: pushed + 1; its frame, if it has one, is the oldest; the previous place is
// executed, + 1; the 64th place before has left the line, + 1. Taken in t, without bytes: frame freed in t + 1, if it
// is; else executed in t. With bytes: step 0 in t + 1, one step per beat, as the dma_reader's trains; a beat is visible
// 4 cycles after its step. A net frame uses no entry of the line; its beats are read from t + 1 on, one per cycle, each
// is visible 2 cycles after it was read, and the frame is freed with the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/ring.h"
#include "model/dma/write_stream.h"
#include "model/eth/net_frames.h"
#include "model/rdma/memory_grant.h"
#include "model/rdma/rx_buffer.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class RxScatter final : public Block {
 public:
  // Cycles from a step to its beat at the output.
  static constexpr uint64_t kBeatLatency = WriteStream::kBeatLatency;
  // For a net frame: from the cycle in which its place is taken to its first beat.
  static constexpr uint64_t kNetLatency = 3;
  static constexpr size_t kPlaces = 64;  // with writes not all in memory, or outputs waiting

  // `store` must outlive the block.
  RxScatter(Agenda& agenda, uint32_t data_bits, FrameStore& store);
  RxScatter(Agenda& agenda, const spec::Config& config, FrameStore& store)
      : RxScatter(agenda, config.datapath_bits, store) {}

  Channel<spec::RxPlace> place_in = Channel<spec::RxPlace>::Slice();
  Output<WriteBeat> write_out;
  Output<spec::Completion> completion_out;
  Output<spec::RxAck> ack_out;
  Output<spec::RxAnswer> answer_out;

  // Receiver of net frames; must outlive the block's use.
  NetFrameSink* net_sink = nullptr;

  // write_done_i in cycle `now`.
  void OnWriteDone(Cycle now);

  // The writes of a place are in memory.
  OnGrantEnded on_grant_ended = [](Cycle, Cycle, const spec::MemoryGrant&) {};

  BeatSource& beat_source() { return stream_; }

  void Run(Cycle now) override;
  bool IsIdle() const { return state_ == State::kPlace && place_in.size() == 0 && pending_.size() == 0 && !net_until_; }

 private:
  enum class State : uint8_t { kPlace, kRun, kFree };
  struct Pending {
    spec::MemoryGrant grant;
    uint64_t number;  // of its last write, or of the last before it
    bool has_completion;
    spec::Completion completion;
    bool has_ack;
    spec::RxAck ack;
    bool has_answer;
    spec::RxAnswer answer;
  };
  // The next output of a place.
  enum class Part : uint8_t { kCompletion, kAck, kAnswer };

  void TakePlace(Cycle now);
  void TakeNet(Cycle now);
  void BeginWrite(Cycle now, size_t offset, uint64_t address, size_t bytes);
  void EndWrite(Cycle now);
  void Leave(Cycle now);

  const size_t beat_bytes_;
  FrameStore& store_;

  State state_ = State::kPlace;
  Cycle begins_ = 0;                // start of the state
  std::optional<Cycle> net_until_;  // a net frame's beats are visible
  spec::RxPlace place_{};
  bool second_ = false;  // the current write is the second one
  WriteStream stream_{*this, write_out, beat_bytes_};

  Channel<Pending> pending_ = Channel<Pending>::Fifo(kPlaces);
  Part part_ = Part::kCompletion;  // next output of the first one
  uint64_t number_ = 0;            // writes of all places so far
  uint64_t done_ = 0;              // of them, those in memory
  Ring<Cycle> dones_;              // of the current and later cycles
};

}  // namespace vireo::model
