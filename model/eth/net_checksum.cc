// SPDX-License-Identifier: Apache-2.0
#include "model/eth/net_checksum.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/common/fifo.h"
#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

using spec::NetHdr;

// Latency from a frame's last payload beat: end detection, four adder stages and accumulation, two folds. Then the list
// of frames, reading, and insertion.
constexpr uint64_t kTail = 1;
constexpr uint64_t kSum = 6;
constexpr uint64_t kRead = 2;
static_assert(NetChecksum::kLatency == kTail + kSum + FifoTiming::kFifoLatency + kRead);
static_assert(NetChecksum::kDropLatency == kTail + 1);
static_assert(NetChecksum::kTakeLatency == FifoTiming::kSliceLatency + 1);

// The Internet checksum of the bytes after `start`, including the current value of the field. [RFC 1071]
uint16_t Checksum(const std::vector<uint8_t>& bytes, size_t start) {
  uint32_t sum = 0;
  size_t at = start;
  for (; at + 1 < bytes.size(); at += 2) sum += static_cast<uint32_t>(bytes[at] << 8 | bytes[at + 1]);
  if (at < bytes.size()) sum += static_cast<uint32_t>(bytes[at] << 8);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  // In UDP 0 means no checksum; both are the same sum. [RFC 768]
  return sum == 0xffff ? uint16_t{0xffff} : static_cast<uint16_t>(~sum);
}

}  // namespace

NetChecksum::NetChecksum(Agenda& agenda, size_t beat_bytes, size_t buffer_bytes, PayloadSource& payload,
                         bool has_offloads)
    : Block(agenda),
      beat_bytes_(beat_bytes),
      payload_(payload),
      has_offloads_(has_offloads),
      free_(buffer_bytes / beat_bytes) {
  packet_in.SetConsumer(this);
}

bool NetChecksum::NeedsChecksum(const std::vector<uint8_t>& frame) const {
  return has_offloads_ && (NetHdr::Decode(frame.data()).flags & spec::NetHdrFlags::kNeedsCsum) != 0;
}

bool NetChecksum::Complete(std::vector<uint8_t>& frame) const {
  assert(frame.size() >= NetHdr::kBytes);
  const NetHdr header = NetHdr::Decode(frame.data());
  const bool needs_csum = NeedsChecksum(frame);
  const size_t at = size_t{header.csum_start} + header.csum_offset;
  // No segmentation is offered. [virtio 1.3, 5.1.6.2]
  if (header.gso_type != spec::NetHdrGso::kNone || header.gso_udp_tunnel_ipv4 || header.gso_udp_tunnel_ipv6 ||
      header.gso_ecn || (needs_csum && at + 2 > frame.size() - NetHdr::kBytes)) {
    return false;
  }
  frame.erase(frame.begin(), frame.begin() + NetHdr::kBytes);
  if (needs_csum) {
    const uint16_t checksum = Checksum(frame, header.csum_start);
    frame[at] = static_cast<uint8_t>(checksum >> 8);
    frame[at + 1] = static_cast<uint8_t>(checksum & 0xff);
  }
  return true;
}

bool NetChecksum::HasFrame(Cycle now) const {
  return !frames_.empty() && std::max(frames_.front().visible, sent_) <= now;
}

std::vector<uint8_t> NetChecksum::TakeFrame(Cycle first) {
  assert(HasFrame(first));
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  frame.bytes.resize(std::max<size_t>(frame.bytes.size(), spec::kEthernetFrameBytesMin));
  sent_ = first + Beats(frame.bytes.size());
  ReturnIn(sent_ - 1, frame.beats);
  if (!frames_.empty() && reader_ != nullptr) reader_->WakeAt(std::max(frames_.front().visible, sent_));
  return std::move(frame.bytes);
}

void NetChecksum::ReturnIn(Cycle cycle, size_t beats) {
  returns_.emplace(cycle, beats);
  WakeAt(cycle);
}

bool NetChecksum::ReturnThrough(Cycle last) {
  bool any = false;
  for (; !returns_.empty() && returns_.begin()->first <= last; any = true) {
    free_ += returns_.begin()->second;
    --frames_in_flight_;
    returns_.erase(returns_.begin());
  }
  return any;
}

void NetChecksum::Run(Cycle now) {
  while (!drops_.empty() && drops_.front() <= now) {
    if (on_drop) on_drop(now);
    drops_.pop_front();
  }
  if (now > 0) ReturnThrough(now - 1);
  TakePacket(now);
  const bool room = ReturnThrough(now);
  if (packet_in.size() == 0) return;
  if (now < take_from_) WakeAt(take_from_);
  if (room) WakeAt(now + 1);
}

void NetChecksum::TakePacket(Cycle now) {
  if (!packet_in.CanPop(now) || now < take_from_ || frames_in_flight_ == WaitingPackets(8 * beat_bytes_)) return;
  const size_t bytes = packet_in.front().payload_bytes;
  assert(bytes >= NetHdr::kBytes + spec::Ethernet::kBytes);
  const size_t beats = Beats(bytes - NetHdr::kBytes);
  if (beats > free_) return;
  packet_in.Pop(now);
  free_ -= beats;
  ++frames_in_flight_;

  std::vector<uint8_t> frame = payload_.TakePayload(now + 1);
  assert(frame.size() == bytes);
  const Cycle last = now + Beats(bytes);
  take_from_ = last;
  // Without a checksum it is known with its first beat behind the header, and the others follow without a gap.
  const Cycle known = NeedsChecksum(frame) ? last + 1 : std::min(last + 1, now + 1 + Beats(NetHdr::kBytes));
  if (!Complete(frame)) {
    drops_.push_back(last + kDropLatency);
    return ReturnIn(last + kDropLatency, beats);
  }
  frames_.push_back({.visible = known + kLatency - kTail, .beats = beats, .bytes = std::move(frame)});
  if (frames_.size() == 1 && reader_ != nullptr) reader_->WakeAt(std::max(frames_.front().visible, sent_));
}

bool NetChecksum::IsIdle() const { return packet_in.size() == 0 && frames_in_flight_ == 0; }

}  // namespace vireo::model
