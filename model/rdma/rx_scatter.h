// SPDX-License-Identifier: Apache-2.0
// Executes rx_place: bytes of the oldest frame in the receive buffer go to the DMA write port as one or two writes,
// then the frame is freed if no place of it follows, and completion, acknowledge and response leave, one after the
// other, when all writes are in memory: the counterpart of rtl/rdma/vireo_rx_scatter.sv. It checks nothing. A place of
// zeros takes as long as one from the first byte of the frame on.
//
// If the bus refuses a write, nobody learns of the data: a request is answered with a NAK (RC), its receive fails, and
// so does the QP; from then on the QP's answers are dropped and its receives flushed. A READ response of ours becomes
// one that fails.
//
// A place is taken in the latest of: pushed + 1; its frame, if it has one, is the oldest; the previous place is
// executed, + 1; the 64th place before has left the line, + 1. Taken in t, without bytes: frame freed in t + 1, if it
// is; else executed in t. With bytes: step 0 in t + 1, one step per beat, as the dma_reader's trains; a beat is visible
// 4 cycles after its step. A net frame uses no entry of the line; its beats are read from t + 1 on, one per cycle, each
// is visible 2 cycles after it was read, and the frame is freed with the last one.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/ring.h"
#include "model/common/table.h"
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
  static constexpr size_t kMostPlaces = 64;  // with writes not all in memory, or outputs waiting: WaitingPackets

  // `store` must outlive the block.
  RxScatter(Agenda& agenda, uint32_t data_bits, size_t num_qps, FrameStore& store);
  RxScatter(Agenda& agenda, const spec::Config& config, FrameStore& store)
      : RxScatter(agenda, config.datapath_bits, config.num_qps, store) {}

  Channel<spec::RxPlace> place_in;
  Output<WriteBeat> write_out;
  Output<spec::Completion> completion_out;
  Output<spec::RxAck> ack_out;
  Output<spec::RxAnswer> answer_out;
  Output<spec::QpFailure> failure_out;

  // Receiver of net frames; must outlive the block's use.
  NetFrameSink* net_sink = nullptr;

  // write_done_i in cycle `now`, with write_refused_i.
  void OnWriteDone(Cycle now, bool is_refused);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);

  // The writes of a place are in memory.
  OnGrantEnded on_grant_ended = [](Cycle, Cycle, const spec::MemoryGrant&) {};

  // A place with `fence` waits for the accesses that were granted to others before it: KeyFence. `on_fence_wait` is
  // called with the cycle of the pulse.
  std::function<spec::KeyFence(Cycle)> key_fence = [](Cycle) { return spec::KeyFence{}; };
  std::function<void(Cycle at)> on_fence_wait = [](Cycle) {};

  BeatSource& beat_source() { return stream_; }

  void Run(Cycle now) override;
  // Places that have ended, but those of net frames.
  uint64_t places_ended() const { return places_ended_; }
  bool IsIdle() const { return state_ == State::kPlace && place_in.size() == 0 && pending_.size() == 0 && !net_until_; }

 private:
  enum class State : uint8_t { kPlace, kRun, kFree };
  struct Pending {
    spec::MemoryGrant grant;
    uint64_t number;  // of its last write, or of the last before it
    unsigned writes;
    bool no_frame;
    bool more;
    bool request;
    bool acknowledged;
    bool uses_receive;
    bool ends_message;
    bool fence;
    uint8_t generation;  // with fence: of the accesses before it
    bool has_completion;
    spec::Completion completion;
    bool has_ack;
    spec::RxAck ack;
    bool has_answer;
    spec::RxAnswer answer;
  };
  // The next output of a place.
  enum class Part : uint8_t { kCompletion, kAck, kAnswer, kFailure, kNone };
  struct Done {
    Cycle cycle;
    bool is_refused;
  };
  // Of a QP whose writes the bus refused.
  struct Refusal {
    bool failed = false;
    bool receives = false;  // the receive of the message that a refused write was of has not been completed
  };
  // The QP starts anew.
  struct Clear {
    Cycle cycle;
    uint32_t qpn;
  };

  void TakePlace(Cycle now);
  void TakeNet(Cycle now);
  // Of the first byte to write, in the frame or the value.
  size_t Offset() const { return place_.has_value ? 0 : place_.offset; }
  void BeginWrite(Cycle now, size_t offset, uint64_t address, size_t bytes);
  void EndWrite(Cycle now);
  void Leave(Cycle now);
  bool IsRefused(const Pending& pending) const;
  bool LookUp(Cycle now, uint32_t qpn);
  bool IsFenced(Cycle now, const Pending& pending);
  void ApplyClear(Cycle now);
  bool Send(Cycle now, Part part, const Pending& pending, bool fails, bool refused);

  const size_t beat_bytes_;
  FrameStore& store_;

  State state_ = State::kPlace;
  Cycle begins_ = 0;                // start of the state
  std::optional<Cycle> net_until_;  // a net frame's beats are visible
  spec::RxPlace place_{};
  std::array<uint8_t, sizeof(uint64_t)> value_{};  // of place_, as in memory
  bool second_ = false;                            // the current write is the second one
  WriteStream stream_{*this, write_out, beat_bytes_};

  Channel<Pending> pending_;
  Part part_ = Part::kCompletion;  // the first one's next output, or an earlier one that it does not have
  uint64_t number_ = 0;            // writes of all places so far
  uint64_t places_ended_ = 0;
  uint64_t done_ = 0;  // of them, those in memory
  Ring<Done> dones_;   // of the current and later cycles

  std::bitset<2 * kMostPlaces> refused_;  // writes of all places in the line, by their number, modulo
  bool frame_refused_ = false;            // a write of the places of the current frame that have left
  Table<Refusal> refusals_;               // by QP
  bool any_failed_ = false;               // since reset
  std::optional<Cycle> looked_;           // in which the QP of the first one was looked up
  Refusal refusal_;                       // of the QP of the first one
  std::optional<Cycle> fence_passed_;     // in which the first one was seen not to wait for others
  std::optional<Clear> clear_;
};

}  // namespace vireo::model
