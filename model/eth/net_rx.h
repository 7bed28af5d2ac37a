// SPDX-License-Identifier: Apache-2.0
// Writes received net frames into buffers of their queue pair: fetches buffers for a frame, writes header and frame to
// their descriptors, returns them as used when all writes are in memory, stops a queue of which the bus refuses a
// write, and drops a frame without buffers: the counterpart of rtl/eth/vireo_net_rx.sv. It does not inspect or filter
// frames.
//
// Machines run side by side. Finding buffers takes one cycle for the frame, two per buffer from the cache, two and a
// response per further descriptor of a chain, and one at the end. Writing a frame takes one cycle, one more per
// descriptor, and one per step, as the dma_reader's trains; a beat is visible 4 cycles after its step. A frame is
// written while it is being stored: if it is not known whether its checksum is valid, net_hdr is its last write.
// Buffers are requested ahead of the frames, for several pairs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/level.h"
#include "model/dma/write_stream.h"
#include "model/eth/net_frames.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetRx final : public Block {
 public:
  // Cycles from a step to its beat at the output.
  static constexpr Cycle kBeatLatency = WriteStream::kBeatLatency;
  static constexpr size_t kRequests = 4;                          // outstanding
  static constexpr size_t kWaiting = spec::kNetChainDescriptors;  // completions waiting for the writes of their frame

  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible. `Beat` is the
  // frame's first.
  static constexpr Cycle kFrameToBeat = 11;          // from the cache
  static constexpr Cycle kFrameToBufferRequest = 3;  // the cache is empty
  static constexpr Cycle kDoorbellToBufferRequest = 2;
  static constexpr Cycle kBufferToBeat = 11;       // for a buffer that was waited for
  static constexpr Cycle kBufferToDrop = 3;        // no buffer
  static constexpr Cycle kBufferToDescriptor = 5;  // to the request for the next one of its chain
  static constexpr Cycle kFrameToDrop = 3;         // its queue is not served
  static constexpr Cycle kBufferToFailure = 5;     // bad buffer
  static constexpr Cycle kDoneToCompletion = 1;    // from the pulse of the frame's last write
  static constexpr Cycle kDoneToFailure = 2;       // likewise, if the bus refused one
  static constexpr Cycle kCyclesPerFrame = 2;      // and one per step, of one descriptor

  // `store` must outlive the block. Without offloads no checksum is reported as valid.
  NetRx(Agenda& agenda, uint32_t data_bits, uint32_t net_queue_pairs, NetFrameStore& store, bool has_offloads = true);
  NetRx(Agenda& agenda, const spec::Config& config, NetFrameStore& store)
      : NetRx(agenda, config.datapath_bits, config.net_queue_pairs, store, config.net_offloads != 0) {}

  Channel<spec::NetFrame> frame_in = Channel<spec::NetFrame>::Slice();
  Channel<spec::Buffer> buffer_in;
  Output<spec::BufferRequest> buffer_request_out;
  Output<WriteBeat> write_out;
  Output<spec::Completion> completion_out;
  Output<spec::QueueFailure> queue_failure_out;
  std::function<void(Cycle)> on_drop;  // drop_o, in its cycle; may be empty

  // write_done_i in cycle `now`.
  void OnWriteDone(Cycle now, const spec::DmaDone& done);
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& write);
  // Of any net queue: a receive queue has new buffers.
  void OnDoorbell(Cycle now, const spec::Doorbell& doorbell);
  // Effective from cycle `from` on; initially 0.
  void SetHold(Cycle from, bool hold);
  // Effective from cycle `from` on; initially 0.
  void SetMrgRxbuf(Cycle from, bool mrg_rxbuf) { mrg_rxbuf_.Set(from, mrg_rxbuf); }

  BeatSource& beat_source() { return stream_; }

  void Run(Cycle now) override;
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  enum class State : uint8_t { kFrame, kNeedBuffer, kTake, kRequest, kAnswer, kReady, kFail, kDrop };
  enum class WriteState : uint8_t { kJob, kEntry, kRun, kHeader, kFree };

  struct Pair {
    bool enabled = false;     // the queue is enabled
    bool broken = false;      // the queue is broken
    bool refused = false;     // the bus refused a write: no frame is returned any more
    bool is_short = false;    // its last response had fewer buffers than requested
    bool guest_csum = false;  // the offload is enabled
    bool wanted = false;      // may have to prefetch
    bool asked = false;       // a request for buffers is outstanding
    bool stale = false;       // its response is discarded
    std::deque<spec::Buffer> cache{};
  };
  // An outstanding request.
  struct Asked {
    bool by_index;
    size_t pair;
    size_t count;
  };
  // A descriptor of a frame: the part to write, and, if it ends a buffer, the buffer's completion.
  struct Entry {
    uint64_t address = 0;
    size_t bytes = 0;
    bool ends = false;
    spec::Completion completion{};
  };
  // Disposition of the oldest frame.
  struct Job {
    bool drop = false;
    bool guest_csum = false;
    size_t buffers = 0;
    size_t bytes = 0;  // header and frame
    std::vector<Entry> entries{};
  };
  struct Waiting {
    bool first = false;  // of its frame: waits for all writes of it
    spec::Completion completion{};
  };

  // Applies inputs of cycles before `now`.
  void ApplyInputs(Cycle now);
  // Each performs the work of a cycle and returns whether there was any.
  bool RunBuffers(Cycle now);
  bool RunPrefetch(Cycle now);
  bool RunCache(Cycle now);
  bool RunWrites(Cycle now);
  bool RunCompletions(Cycle now);
  bool NeedBuffer();
  void Take(const spec::Buffer& piece);
  void RequestBuffer(size_t pair, const spec::BufferRequest& request);
  void RequestRing(size_t pair);
  void BeginFrame(const spec::NetFrame& frame, bool mrg_rxbuf);
  bool BeginEntry(Cycle now);
  void BeginWrite(Cycle now, uint64_t address, size_t bytes);
  bool EndWrite(Cycle now);
  bool EndFrame(Cycle now);
  void MakeHeader();
  // In the cycle after the store has shown it.
  bool IsChecked(Cycle now) const { return store_.CheckedFrom() < now; }
  Pair& pair() { return pairs_[pair_]; }
  uint16_t VqIndex() const { return static_cast<uint16_t>(2 * pair_); }
  // The response that comes next is that of a walk.
  bool IsWalked() const { return !asked_.empty() && asked_.front().by_index; }

  const size_t beat_bytes_;
  NetFrameStore& store_;
  const bool has_offloads_;
  std::vector<Pair> pairs_;
  Level<bool> mrg_rxbuf_{false};
  std::deque<std::pair<Cycle, spec::QueueRowWrite>> rows_;
  struct Offloads {
    Cycle cycle;
    size_t pair;
    bool guest_csum;
  };
  std::deque<Offloads> offloads_;
  struct Done {
    Cycle cycle;
    bool ends_frame;
    bool is_refused;
  };
  std::deque<Done> dones_;
  std::deque<std::pair<Cycle, size_t>> doorbells_;  // pairs
  Level<bool> hold_{false};
  bool held_ = false;  // as of the last cycle that ran

  std::deque<Asked> asked_;
  size_t got_ = 0;  // buffers of the oldest one's response
  size_t last_pair_;
  uint64_t prefetch_ = 0;     // bit per pair that may prefetch, as of the start of the cycle
  bool may_request_ = false;  // likewise

  // The frame whose buffers are being fetched.
  State state_ = State::kFrame;
  size_t pair_ = 0;
  bool mrg_ = false;
  bool queue_lost_ = false;       // its queue was disabled or reset meanwhile
  bool requested_since_ = false;  // a request was made after it needed a buffer
  size_t left_ = 0;               // bytes without a descriptor yet
  size_t taken_ = 0;              // buffers
  Job job_;                       // as built so far
  spec::Buffer piece_;            // the last descriptor
  uint16_t head_ = 0;             // of the buffer
  size_t used_ = 0;               // bytes of it

  std::optional<spec::BufferRequest> request_;
  std::optional<spec::QueueFailure> failure_;

  Channel<Job> jobs_ = Channel<Job>::Slice();
  size_t listed_ = 0;  // descriptors of frames to be written that the machine has not read

  // The frame being written.
  WriteState write_state_ = WriteState::kJob;
  Job writing_;
  size_t entry_ = 0;          // next entry
  bool is_returned_ = false;  // a buffer of it
  bool is_late_ = false;      // its header is written last, to this address
  uint64_t header_address_ = 0;
  size_t position_ = 0;  // offset in header and frame, after the current write
  uint64_t address_ = 0;
  size_t bytes_ = 0;            // left in the descriptor, after the current write
  std::vector<uint8_t> frame_;  // with its header
  WriteStream stream_{*this, write_out, beat_bytes_};

  Channel<Waiting> waiting_ = Channel<Waiting>::Fifo(kWaiting);
  std::deque<bool> ended_;         // frames whose writes have ended and that are not returned: one was refused
  bool is_refused_ = false;        // a write of the next one was refused so far
  bool withheld_ = false;          // the frame of the last buffer is not returned
  std::optional<size_t> refused_;  // in this cycle: a pair stops because of a refused write
};

}  // namespace vireo::model
