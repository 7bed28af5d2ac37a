// SPDX-License-Identifier: Apache-2.0
// Sends packets: adds path and peer from its queue pair's row, or for a datagram the path from its address handle and
// the peer from the packet itself, and makes a frame of it: the counterpart of rtl/rdma/vireo_tx_builder.sv including
// the framer. Of a packet whose queue pair was stopped since it was made no frame is sent. Packets, responses and net
// frames, which pass unchanged, alternate. It checks nothing.
//
// Unloaded, with p the cycle of a packet's push: its frame's first beat is visible in p + kLatency, if the MAC was
// ready in cycle p + kTokenLatency - 1. With v the first cycle in which a net frame is present: its first beat is
// visible in v + kNetLatency, if the MAC was ready kNetReady cycles before that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/table.h"
#include "model/eth/net_frames.h"
#include "model/rdma/payload_source.h"
#include "model/rdma/stop_pulse.h"
#include "model/rdma/tx_framer.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A frame that will be visible from `start` to `end`; called before `start`.
  virtual void OnFrameAhead(Cycle start, Cycle end) = 0;
  // A frame, without check sequence; called in cycle `end`. Its beats were visible from `start` to `end`.
  virtual void OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) = 0;
};

class TxBuilder final : public Block {
 public:
  // From the push of a packet to the cycle in which the framer may accept its token, and to the frame's first beat.
  static constexpr uint64_t kTokenLatency = 4;
  static constexpr uint64_t kLatency = kTokenLatency + TxFramer::kLatency;
  // From the acceptance of one token to that of the next, if the framer is free.
  static constexpr uint64_t kInterval = 4;
  // From a net frame's first beat at the input to that at the output; from m_axis_tready to the beat that it allows.
  static constexpr uint64_t kNetLatency = 4;
  static constexpr uint64_t kNetReady = 3;
  // Gap from a last beat at the output to the next waiting frame's first one: a packet's to a net frame's, a net
  // frame's to another's, a net frame's to a packet's.
  static constexpr uint64_t kNetGap = 3;
  static constexpr uint64_t kNetInterval = 4;
  static constexpr uint64_t kPacketGap = 13;

  // beat_bytes: DataBits/8. `payload`, `sink` and `net` must outlive the block. net: its frames are padded; null: none.
  TxBuilder(Agenda& agenda, size_t beat_bytes, size_t num_qps, size_t num_ahs, PayloadSource& payload, FrameSink& sink,
            NetFrameSource* net = nullptr);
  TxBuilder(Agenda& agenda, const spec::Config& config, PayloadSource& payload, FrameSink& sink,
            NetFrameSource* net = nullptr)
      : TxBuilder(agenda, config.datapath_bits / 8, config.num_qps, config.num_ahs, payload, sink, net) {}

  Channel<spec::TxPacket> packet_in = Channel<spec::TxPacket>::HalfSlice();
  Channel<spec::TxPacket> answer_in = Channel<spec::TxPacket>::HalfSlice();  // without payload

  // A packet with is_response is taken in this cycle; optional.
  std::function<void(Cycle)> on_response_taken;
  // A packet with ack_req is taken in this cycle; optional.
  std::function<void(Cycle, const spec::QpSent&)> on_qp_sent;

  // Any table; those of others are ignored.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // The row of a packet has bad parity; its frame is not sent. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  // Inputs, effective from cycle `now` on; set in that cycle or before. Initially 0.
  void OnEnable(Cycle now, bool enable);
  void OnMac(Cycle now, const std::array<uint8_t, 6>& mac);
  void OnTransmitReady(Cycle now, bool ready);  // m_axis_tready

  // Pulses in cycle `now`, not in consecutive cycles: requests of RC from before the last hold are sent again, so no
  // frame of them is sent.
  void OnQpHold(Cycle now, const spec::QpHold& hold);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);
  // Pulse in cycle `now`: packets of this queue pair that are here are stale, or its requests.
  void OnStopped(Cycle now, const QpStop& stop);

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the last cycle that ran

  // The source port of a flow: from flow_label if it is not 0, else from the two queue pairs, independent of their
  // order.
  static uint16_t SourcePort(uint32_t flow_label, uint32_t qpn, uint32_t dest_qpn);

 private:
  struct Row {
    spec::TablePath path{};
    uint32_t dest_qpn{};
  };
  struct Frame {
    TxTrain train;
    std::vector<uint8_t> bytes;  // empty: it is not sent
  };

  void MarkStopped(Cycle now, const QpStop& stop);
  void WriteClear(Cycle now);
  bool IsOld(Cycle now, const spec::TxPacket& packet);
  void Choose(Cycle now);
  bool NetWaits(Cycle now);
  void Take(Cycle now, Channel<spec::TxPacket>& channel);
  TxToken Token(Cycle now);
  void SendPacket(Cycle now);
  void SendNet(Cycle now);
  void AddFrame(const TxTrain& train, std::vector<uint8_t> bytes);

  const size_t beat_bytes_;
  PayloadSource& payload_;
  FrameSink& sink_;
  NetFrameSource* const net_;
  TxFramer framer_;
  ContextTable<Row> rows_;
  ContextTable<spec::TablePath> ahs_;
  // Inputs, registered in RTL.
  Table<uint8_t> enable_{1};
  Table<std::array<uint8_t, 6>> mac_{1};
  Table<uint8_t> ready_{1};

  Table<uint8_t> epochs_;  // of the queue pair's last hold; 0 after a clear
  struct Clear {
    Cycle at;
    uint32_t qpn;
  };
  std::optional<Clear> clear_;  // a hold in its cycle goes first
  std::optional<Cycle> hold_at_;
  StopPulse stopped_;
  size_t winner_ = 2;        // granted last: 0 packet_in, 1 answer_in, 2 net_
  bool net_chosen_ = false;  // a net frame waits for the framer and the MAC
  std::optional<spec::TxPacket> packet_;
  Row row_{};  // path and peer of the packet
  // Its row has bad parity, or it is stale or old: from its acceptance until its frame has left the framer.
  bool dead_ = false;
  std::optional<TxToken> token_;
  Cycle next_ = 0;      // of the next step
  Cycle net_from_ = 0;  // a net frame present from then on is a new one
  std::deque<Frame> frames_;
};

}  // namespace vireo::model
