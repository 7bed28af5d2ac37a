// SPDX-License-Identifier: Apache-2.0
// Takes net packets (net_hdr and frame), executes the offloads that the header requests, and buffers the frame until it
// is sent: the counterpart of rtl/eth/vireo_net_checksum.sv. A frame that needs a checksum is stored first, another one
// starts to leave with its first beat; all in packet order. A frame whose header requests an unsupported offload is
// dropped.
//
// Unloaded, with p the cycle of a packet's push, P the beats of header and frame, t the cycle of the last of them, H
// the beats of the header alone:
//
//   first beat of payload taken:  p + kTakeLatency; so t = p + kTakeLatency + P - 1
//   next packet's first beat:     t + 1
//   frame visible:                t + kLatency, without checksum the earlier of that and p + H + kForwardLatency;
//                                 not before the last beat of the previous frame, + 1
//   drop visible:                 t + kDropLatency; the space can be reused one cycle later
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
  static constexpr uint64_t kTakeLatency = 2;
  static constexpr uint64_t kLatency = 11;
  static constexpr uint64_t kForwardLatency = kTakeLatency + kLatency - 1;
  static constexpr uint64_t kDropLatency = 2;

  // beat_bytes: DataBits/8. buffer_bytes: a power of two, not less than the largest frame. `payload` must outlive the
  // block. Without offloads every frame leaves unchanged.
  NetChecksum(Agenda& agenda, size_t beat_bytes, size_t buffer_bytes, PayloadSource& payload, bool has_offloads = true);
  NetChecksum(Agenda& agenda, const spec::Config& config, PayloadSource& payload)
      : NetChecksum(agenda, config.datapath_bits / 8, config.net_buffer_bytes, payload, config.net_offloads != 0) {}

  Channel<spec::TxPacket> packet_in = Channel<spec::TxPacket>::Slice();  // payload_bytes covers header and frame

  // A frame was dropped: drop_o in this cycle; optional.
  std::function<void(Cycle)> on_drop;

  bool HasFrame(Cycle now) const override;
  std::vector<uint8_t> TakeFrame(Cycle first) override;  // with padding

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the last cycle that ran

  // Executes the header's offloads: `frame` is header and frame and becomes the frame to send, without padding. False:
  // not possible, and `frame` is unchanged.
  bool Complete(std::vector<uint8_t>& frame) const;
  // The header requests a checksum.
  bool NeedsChecksum(const std::vector<uint8_t>& frame) const;

 private:
  struct Frame {
    Cycle visible;
    size_t beats;  // of the store
    std::vector<uint8_t> bytes;
  };

  size_t Beats(size_t bytes) const { return (bytes + beat_bytes_ - 1) / beat_bytes_; }
  bool ReturnThrough(Cycle last);  // true if there was any
  void ReturnIn(Cycle cycle, size_t beats);
  void TakePacket(Cycle now);

  size_t beat_bytes_;
  PayloadSource& payload_;
  bool has_offloads_;

  Cycle take_from_ = 0;                   // the payload of the previous packet has been taken
  size_t free_;                           // beats of the buffer that belong to no frame
  size_t frames_in_flight_ = 0;           // frames between packet and wire
  std::multimap<Cycle, size_t> returns_;  // beats of one frame each, free after this cycle
  std::deque<Cycle> drops_;
  std::deque<Frame> frames_;  // complete, or with a known end
  Cycle sent_ = 0;            // last beat of all frames taken, + 1
};

}  // namespace vireo::model
