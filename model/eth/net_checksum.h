// SPDX-License-Identifier: Apache-2.0
// Takes net packets, which are a net_hdr and a frame behind it, carries out what the header asks for, and keeps the
// frame until it is sent: the counterpart of rtl/eth/vireo_net_checksum.sv. Frames leave in the order of their packets,
// each when it is whole; what the header asks for and cannot be done drops the frame.
//
// Unloaded, with p the cycle of a packet's push, P the beats of header and frame, t the cycle of the last of them:
//
//   first beat of payload taken:  p + kTakeLatency; so t = p + kTakeLatency + P - 1
//   next packet's first beat:     t + 1
//   frame visible:                t + kLatency, not before the last beat of the frame before it, + 1
//   drop visible:                 t + kDropLatency; the room can be taken again one cycle later
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/eth/net_frames.h"
#include "model/rdma/payload_source.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class NetChecksum final : public Block, public NetFrameSource {
 public:
  static constexpr size_t kFrames = 64;  // between packet and wire
  static constexpr uint64_t kTakeLatency = 2;
  static constexpr uint64_t kLatency = 11;
  static constexpr uint64_t kDropLatency = 2;

  // beat_bytes: DataBits/8. buffer_bytes: a power of two, not less than the largest frame. `payload` outlives the
  // block.
  NetChecksum(Agenda& agenda, size_t beat_bytes, size_t buffer_bytes, PayloadSource& payload);
  NetChecksum(Agenda& agenda, const spec::Config& config, PayloadSource& payload)
      : NetChecksum(agenda, config.datapath_bits / 8, spec::kNetBufferBytes, payload) {}

  Channel<spec::TxPacket> packet_in = Channel<spec::TxPacket>::Slice();  // its payload_bytes counts: header and frame

  // A frame was dropped: drop_o in this cycle; need not be set.
  std::function<void(Cycle)> on_drop;

  bool HasFrame(Cycle now) const override;
  std::vector<uint8_t> TakeFrame(Cycle first) override;  // with padding

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the cycle that ran last

  // Carries out what the header asks for: `frame` is header and frame and becomes the frame that is sent, without
  // padding. False: it cannot be done, and `frame` is what it was.
  static bool Complete(std::vector<uint8_t>& frame);

 private:
  struct Frame {
    Cycle visible;
    size_t beats;  // of the store
    std::vector<uint8_t> bytes;
  };

  size_t Beats(size_t bytes) const { return (bytes + beat_bytes_ - 1) / beat_bytes_; }
  bool ReturnThrough(Cycle last);  // whether there was any
  void ReturnIn(Cycle cycle, size_t beats);
  void TakePacket(Cycle now);

  size_t beat_bytes_;
  PayloadSource& payload_;

  Cycle take_from_ = 0;                   // the payload of the packet before is taken
  size_t free_;                           // beats of the buffer that belong to no frame
  size_t kept_ = 0;                       // frames between packet and wire
  std::multimap<Cycle, size_t> returns_;  // beats of one frame each, which are free after this cycle
  std::deque<Cycle> drops_;
  std::deque<Frame> frames_;  // that are whole, or will be
  Cycle sent_ = 0;            // last beat of all frames that were asked for, + 1
};

}  // namespace vireo::model
