// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/tx_builder.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vireo::model {
namespace {

// From the acceptance of a packet: its token is built, and is offered to the framer.
constexpr uint64_t kToken = 2;
constexpr uint64_t kOffer = 3;

static_assert(TxBuilder::kTokenLatency == 1 + kOffer);
static_assert(TxBuilder::kInterval == kOffer + 1);

// A net frame is granted in the cycle after its first beat is present, and may start in the cycle after that. From then
// on: its first beat is taken, is visible.
constexpr uint64_t kNetSeen = 1;
constexpr uint64_t kNetBegin = 1;
constexpr uint64_t kNetTaken = 1;
constexpr uint64_t kNetVisible = 2;

static_assert(TxBuilder::kNetLatency == kNetSeen + kNetBegin + kNetVisible);
static_assert(TxBuilder::kNetReady == TxFramer::kReadyLatency + kNetVisible);
static_assert(TxBuilder::kNetGap == 1 + kNetVisible);
// A net frame's last beat is visible in the first cycle in which the next one may be present and a packet be taken.
static_assert(TxBuilder::kNetInterval == kNetSeen + kNetBegin + kNetVisible);
static_assert(TxBuilder::kPacketGap == kOffer + TxFramer::kLatency);

// IPv6's flow label [RFC 6437, 2], and the part of it in the source port above udp_source_port_base.
constexpr unsigned kFlowLabelBits = 20;
constexpr unsigned kEntropyBits = 14;

}  // namespace

TxBuilder::TxBuilder(Agenda& agenda, size_t beat_bytes, size_t num_qps, size_t num_ahs, PayloadSource& payload,
                     FrameSink& sink, NetFrameSource* net)
    : Block(agenda),
      beat_bytes_(beat_bytes),
      payload_(payload),
      sink_(sink),
      net_(net),
      framer_(beat_bytes),
      rows_(spec::ContextRam::kTxBuilderQp, num_qps, on_parity_error),
      ahs_(spec::ContextRam::kTxBuilderAh, num_ahs, on_parity_error),
      epochs_(num_qps) {
  packet_in.SetConsumer(this);
  answer_in.SetConsumer(this);
  if (net_ != nullptr) net_->SetReader(this);
}

void TxBuilder::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kQpContext) {
    const auto context = spec::TableQpContext::Decode(write.data);
    rows_.Write(now, write.index % rows_.size(), {.path = context.path, .dest_qpn = context.dest_qpn});
  } else if (write.table_id == spec::MgmtTable::kAh) {
    ahs_.Write(now, write.index % ahs_.size(), spec::TableAh::Decode(write.data).path);
  }
}

void TxBuilder::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  rows_.OnFlip(now, flip);
  ahs_.OnFlip(now, flip);
}

void TxBuilder::OnEnable(Cycle now, bool enable) {
  enable_.Write(now, 0, enable);
  if (enable) WakeAt(now + 1);
}

void TxBuilder::OnMac(Cycle now, const std::array<uint8_t, 6>& mac) { mac_.Write(now, 0, mac); }

void TxBuilder::OnTransmitReady(Cycle now, bool ready) {
  ready_.Write(now, 0, ready);
  if (ready && (token_ || net_chosen_)) WakeAt(now + TxFramer::kReadyLatency);
}

// [Linux, include/rdma/ib_verbs.h: rdma_get_udp_sport, rdma_calc_flow_label, rdma_flow_label_to_udp_sport]
uint16_t TxBuilder::SourcePort(uint32_t flow_label, uint32_t qpn, uint32_t dest_qpn) {
  if (flow_label == 0) {
    uint64_t product = uint64_t{qpn} * dest_qpn;
    product ^= product >> kFlowLabelBits;
    product ^= product >> 2 * kFlowLabelBits;
    flow_label = static_cast<uint32_t>(product % (1u << kFlowLabelBits));
  }
  const uint32_t entropy = (flow_label ^ flow_label >> kEntropyBits) % (1u << kEntropyBits);
  return static_cast<uint16_t>(spec::kUdpSourcePortBase | entropy);
}

void TxBuilder::OnQpHold(Cycle now, const spec::QpHold& hold) {
  WriteClear(now);
  if (clear_ && clear_->at == now) ++clear_->at;
  hold_at_ = now;
  epochs_.Write(now, hold.qpn % epochs_.size(), hold.epoch);
}

void TxBuilder::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  if (!write.clear) return;
  WriteClear(now);
  assert(!clear_);
  clear_ = Clear{.at = now + (hold_at_ == now ? 1 : 0), .qpn = write.qpn};
}

// One of before cycle `now`.
void TxBuilder::WriteClear(Cycle now) {
  if (!clear_ || clear_->at >= now) return;
  epochs_.Write(clear_->at, clear_->qpn % epochs_.size(), 0);
  clear_.reset();
}

bool TxBuilder::IsOld(Cycle now, const spec::TxPacket& packet) {
  WriteClear(now);
  const uint8_t last = epochs_.Read(now, packet.qpn % epochs_.size());
  return !packet.is_response && packet.opcode < spec::BthOpcode::kUcSendFirst && packet.epoch != last;
}

void TxBuilder::OnStopped(Cycle now, const QpStop& stop) {
  stopped_.Set(now, stop);
  WakeAt(now + 1);
}

void TxBuilder::MarkStopped(Cycle now, const QpStop& stop) {
  packet_in.ForEachBefore(now, [&](spec::TxPacket& packet) { packet.stale |= stop.Marks(packet, packet.is_response); });
  answer_in.ForEachBefore(now, [&](spec::TxPacket& packet) { packet.stale |= stop.Marks(packet, true); });
  if (!packet_ || !stop.Marks(*packet_, packet_->is_response || winner_ == 1)) return;
  dead_ = true;
  if (!token_) row_ = {};
}

void TxBuilder::Run(Cycle now) {
  if (const auto stop = stopped_.Take(now)) MarkStopped(now, *stop);
  // One packet or net frame is in progress, with steps in fixed cycles; the last one waits for the framer and the MAC.
  if (now >= next_) {
    if (net_chosen_) {
      // A frame leaves `frames_` with its last beat; the RTL's framer is empty from the next cycle on.
      if (frames_.empty() && ready_.Read(now, 0) != 0) SendNet(now);
    } else if (!packet_ && dead_) {
      if (frames_.empty()) {
        dead_ = false;
        next_ = now + 1;
        WakeAt(next_);
      }
    } else if (!packet_) {
      Choose(now);
    } else if (!token_) {
      token_ = Token(now);
      next_ = std::max(now + 1, framer_.free_at());
      WakeAt(next_);
    } else if (ready_.Read(now, 0) != 0 && (!dead_ || frames_.empty())) {
      SendPacket(now);
    }
  }
  if (!frames_.empty() && frames_.front().train.last_beat_cycle == now) {
    Frame frame = std::move(frames_.front());
    frames_.pop_front();
    if (!frame.bytes.empty()) sink_.OnFrame(frame.train.first_beat_cycle, now, std::move(frame.bytes));
    if (net_chosen_ || dead_) WakeAt(now + 1);
  }
}

void TxBuilder::Choose(Cycle now) {
  const bool net_waits = NetWaits(now);
  if (enable_.Read(now, 0) == 0) return;
  for (size_t i = 1; i <= 3; ++i) {
    const size_t candidate = (winner_ + i) % 3;
    if (candidate == 2) {
      if (!net_waits) continue;
      net_chosen_ = true;
      next_ = now + kNetBegin;
      WakeAt(next_);
    } else {
      Channel<spec::TxPacket>& channel = candidate == 0 ? packet_in : answer_in;
      if (!channel.CanPop(now)) continue;
      Take(now, channel);
    }
    winner_ = candidate;
    return;
  }
}

// True if a net frame was present in the cycle before.
bool TxBuilder::NetWaits(Cycle now) {
  if (net_ == nullptr || !net_->HasFrame(now)) return false;
  // Beats before net_from_ belong to the previous frame.
  if (now != 0 && now >= net_from_ + kNetSeen && net_->HasFrame(now - 1)) return true;
  WakeAt(now + 1);
  return false;
}

void TxBuilder::Take(Cycle now, Channel<spec::TxPacket>& channel) {
  packet_ = channel.Pop(now);
  if (packet_->has_ah) {
    row_ = {.path = ahs_.Read(now, packet_->ah % ahs_.size()), .dest_qpn = packet_->dest_qpn};
    dead_ = ahs_.corrupt();
  } else {
    row_ = rows_.Read(now, packet_->qpn % rows_.size());
    dead_ = rows_.corrupt();
  }
  if (packet_->stale || (&channel == &packet_in && IsOld(now, *packet_))) {
    dead_ = true;
    row_ = {};
  }
  if (packet_->is_response && on_response_taken) on_response_taken(now);
  if (packet_->ack_req && !packet_->stale && on_qp_sent) {
    on_qp_sent(now, {.qpn = packet_->qpn, .psn = packet_->last_psn, .epoch = packet_->epoch});
  }
  next_ = now + kToken;
  WakeAt(next_);
}

void TxBuilder::SendPacket(Cycle now) {
  const TxTrain train = framer_.Accept(now, *token_);
  std::vector<uint8_t> payload;
  if (packet_->has_inline) {
    payload.assign(packet_->inline_data, packet_->inline_data + packet_->payload_bytes);
  } else if (train.payload_beats != 0) {
    payload = payload_.TakePayload(train.first_payload_cycle);
  }
  AddFrame(train, dead_ ? std::vector<uint8_t>{} : TxFramer::Frame(*token_, payload));
  packet_.reset();
  token_.reset();
  next_ = now + 1;
  WakeAt(next_);
}

void TxBuilder::SendNet(Cycle now) {
  std::vector<uint8_t> bytes = net_->TakeFrame(now + kNetTaken);
  assert(!bytes.empty());
  const uint64_t beats = (bytes.size() + beat_bytes_ - 1) / beat_bytes_;
  TxTrain train;
  train.first_beat_cycle = now + kNetVisible;
  train.last_beat_cycle = train.first_beat_cycle + beats - 1;
  AddFrame(train, std::move(bytes));
  net_chosen_ = false;
  next_ = now + kNetTaken + beats;
  net_from_ = next_;
  WakeAt(next_);
}

void TxBuilder::AddFrame(const TxTrain& train, std::vector<uint8_t> bytes) {
  if (!bytes.empty()) sink_.OnFrameAhead(train.first_beat_cycle, train.last_beat_cycle);
  WakeAt(train.last_beat_cycle);
  frames_.push_back({.train = train, .bytes = std::move(bytes)});
}

TxToken TxBuilder::Token(Cycle now) {
  const spec::TablePath& path = row_.path;
  TxToken token{};
  std::copy_n(path.dmac, sizeof token.destination_mac, token.destination_mac);
  std::copy_n(mac_.Read(now, 0).begin(), sizeof token.source_mac, token.source_mac);
  token.vlan_present = path.vlan_present;
  token.vlan_pcp = static_cast<uint8_t>(path.vlan >> 13);
  token.vlan_dei = (path.vlan >> 12 & 1) != 0;
  token.vlan_vid = path.vlan & 0xfff;
  token.is_ipv6 = !path.ipv4;
  token.dscp = path.traffic_class >> 2;
  token.ecn = static_cast<spec::IpEcn>(path.traffic_class & 3);
  token.hop_limit = path.hop_limit;
  token.flow_label = path.flow_label;
  std::copy_n(path.sgid, sizeof token.ip_source, token.ip_source);
  std::copy_n(path.dgid, sizeof token.ip_destination, token.ip_destination);
  token.udp_source_port = SourcePort(path.flow_label, packet_->qpn, row_.dest_qpn);
  token.bth.opcode = packet_->opcode;
  token.bth.solicited_event = packet_->solicited_event;
  token.bth.pkey = spec::kPkeyDefault;
  token.bth.dest_qp = row_.dest_qpn;
  token.bth.ack_req = packet_->ack_req;
  token.bth.psn = packet_->psn;
  std::copy_n(packet_->extension, sizeof token.extension, token.extension);
  token.payload_bytes = packet_->payload_bytes;
  return token;
}

bool TxBuilder::IsIdle() const {
  return packet_in.size() == 0 && answer_in.size() == 0 && !packet_ && !dead_ && !net_chosen_ && frames_.empty();
}

}  // namespace vireo::model
