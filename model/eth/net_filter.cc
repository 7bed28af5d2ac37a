// SPDX-License-Identifier: Apache-2.0
#include "model/eth/net_filter.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "model/eth/net_classify.h"

namespace vireo::model {

using spec::MgmtTable;

namespace {

constexpr uint64_t kBroadcast = 0xffff'ffff'ffff;
constexpr size_t kVlanWords = (size_t{1} << 12) / spec::kTableVlanFilterBits;

uint64_t MacOf(const uint8_t (&bytes)[6]) {
  uint64_t mac = 0;
  for (unsigned i = 0; i < 6; ++i) mac |= uint64_t{bytes[i]} << 8 * i;
  return mac;
}

}  // namespace

NetFilter::NetFilter(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      beat_bytes_(sizes.data_bits / 8),
      beats_(sizes.buffer_bytes / beat_bytes_),
      max_frame_bytes_(sizes.max_frame_bytes),
      max_frames_(sizes.buffer_bytes / sizes.bytes_per_frame),
      macs_(spec::ContextRam::kNetFilterMac, spec::kTableMacFilterEntries, on_parity_error),
      vlans_(spec::ContextRam::kNetFilterVlan, kVlanWords, on_parity_error),
      record_timing_(FifoTiming::Fifo(max_frames_)),
      check_timing_(FifoTiming::Fifo(max_frames_)),
      tokens_(Channel<spec::NetFrame>::Fifo(max_frames_)) {
  tokens_.SetConsumer(this);
}

void NetFilter::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id == MgmtTable::kMacFilter) {
    macs_.Write(cycle, write.index, spec::TableMacFilter::Decode(write.data));
  } else if (write.table_id == MgmtTable::kVlanFilter) {
    vlans_.Write(cycle, write.index, spec::TableVlanFilter::Decode(write.data).members);
  }
}

void NetFilter::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  macs_.OnFlip(now, flip);
  vlans_.OnFlip(now, flip);
}

void NetFilter::OnNetFrame(Cycle first, std::span<const uint8_t> bytes) {
  assert(!bytes.empty() && (arrivals_.empty() || arrivals_.back().first < first));
  Arrival arrival{first, {bytes.begin(), bytes.end()}};
  // Run is not called again in a cycle in which it has run.
  if (has_run_ && ran_ == first) return Admit(std::move(arrival));
  arrivals_.push_back(std::move(arrival));
  WakeAt(first);
}

void NetFilter::Admit(Arrival arrival) {
  const Cycle first = arrival.first;
  while (!freed_.empty() && freed_.front().cycle < first) {
    used_ -= freed_.front().beats;
    --frames_;
    freed_.pop_front();
  }
  const size_t bytes = arrival.bytes.size();
  if (frames_ == max_frames_ || bytes > max_frame_bytes_ || used_ + BeatsOf(bytes) > beats_) {
    drops_.push_back(first + 1);
    WakeAt(first + 1);
    return;
  }
  ++frames_;
  used_ += BeatsOf(bytes);
  const Cycle last = first + (bytes - 1) / beat_bytes_;
  const Cycle class_beat = first + NetClassify::ClassBeat(bytes, beat_bytes_);
  check_timing_.Push(last + NetClassify::kLatency);
  const auto frame_class = NetClassify::Classify(arrival.bytes);
  pending_frames_.push_back(
      {class_beat + NetClassify::kLatency + kClassLatency, frame_class, std::move(arrival.bytes)});
  if (pending_frames_.size() == 1) WakeForNext();
}

void NetFilter::WakeForNext() {
  if (!pending_frames_.empty()) WakeAt(std::max(pending_frames_.front().class_visible, wait_from_));
}

std::optional<bool> NetFilter::Decide(Cycle now, const spec::NetClass& net_class) {
  const spec::MgmtRxMode& mode = rx_mode_.At(now);
  const uint64_t destination = MacOf(net_class.destination_mac);
  const bool group = (net_class.destination_mac[0] & 1) != 0;  // IEEE 802
  const bool member = (vlan_members_ >> net_class.vlan_id % spec::kTableVlanFilterBits & 1) != 0;
  if (mode.promiscuous) return true;
  if (net_class.vlan_present && mode.vlan_filter && !member) return false;
  if (destination == kBroadcast) return !mode.no_broadcast;
  if (group ? mode.no_multicast : mode.no_unicast) return false;
  if (group ? mode.all_multicast : mode.all_unicast || destination == mac_.At(now)) return true;
  return std::nullopt;
}

void NetFilter::Step(Cycle now) {
  const PendingFrame& frame = pending_frames_.front();
  switch (state_) {
    case State::kWait:
      vlan_members_ = vlans_.Read(now, frame.frame_class.vlan_id / spec::kTableVlanFilterBits);
      state_ = State::kDecide;
      break;
    case State::kDecide: {
      // The high bits of hash times number of pairs: uniform, without a division.
      pair_ = static_cast<uint8_t>(uint32_t{frame.frame_class.flow_hash} * active_pairs_.At(now) >> 16);
      const auto decided = Decide(now, frame.frame_class);
      pass_ = decided.value_or(false);
      state_ = decided ? State::kEmit : State::kScan;
      if (!decided) entry_ = macs_.Read(now, index_ = 0);
      break;
    }
    case State::kScan:
      pass_ = entry_.valid &&
              std::equal(std::begin(entry_.mac), std::end(entry_.mac), std::begin(frame.frame_class.destination_mac));
      // Entries are contiguous from the first on: the first invalid one is the end.
      if (pass_ || !entry_.valid || index_ == macs_.size() - 1) {
        state_ = State::kEmit;
      } else {
        entry_ = macs_.Read(now, ++index_);
      }
      break;
    case State::kEmit:
      EmitFrame(now);
      state_ = State::kWait;
      wait_from_ = now + 1;
      return WakeForNext();
  }
  WakeAt(now + 1);
}

void NetFilter::EmitFrame(Cycle now) {
  PendingFrame frame = std::move(pending_frames_.front());
  pending_frames_.pop_front();
  Record record{pass_, BeatsOf(frame.bytes.size()), frame.frame_class.checksum_valid, {}};
  if (pass_) {
    tokens_.Push(now, {.bytes = static_cast<uint16_t>(frame.bytes.size()), .pair_index = pair_});
    record.bytes = std::move(frame.bytes);
  } else if (on_filtered) {
    on_filtered(now);
  }
  record_timing_.Push(now);
  records_.push_back(std::move(record));
  if (records_.size() == 1) WakeForRecord();
}

bool NetFilter::HasOldest(Cycle now) const { return record_timing_.PopReady() <= now && records_.front().good; }

void NetFilter::Free(Cycle now) {
  assert(HasOldest(now) && CheckedFrom() <= now);
  Pop(now);
}

void NetFilter::Pop(Cycle now) {
  freed_.push_back({now, records_.front().beats});
  record_timing_.Pop(now);
  check_timing_.Pop(now);
  records_.pop_front();
  WakeForRecord();
}

void NetFilter::WakeForRecord() {
  if (records_.empty()) return;
  if (!records_.front().good) {
    WakeAt(CheckedFrom());
  } else if (reader_ != nullptr) {
    reader_->WakeAt(record_timing_.PopReady());
  }
}

void NetFilter::Run(Cycle now) {
  ran_ = now;
  has_run_ = true;
  if (!drops_.empty() && drops_.front() <= now) {
    drops_.pop_front();
    if (on_drop) on_drop(now);
  }
  while (!arrivals_.empty() && arrivals_.front().first <= now) {
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    Admit(std::move(arrival));
  }
  if (state_ != State::kWait ||
      (!pending_frames_.empty() && std::max(pending_frames_.front().class_visible, wait_from_) <= now)) {
    Step(now);
  }
  // The ring frees space only in order, so a dropped frame stays until it is the oldest.
  if (CheckedFrom() <= now && !records_.front().good) Pop(now);
  if (tokens_.CanPop(now) && frame_out.CanPush(now)) frame_out.Push(now, tokens_.Pop(now));
}

}  // namespace vireo::model
