// SPDX-License-Identifier: Apache-2.0
#include "model/eth/net_rx.h"

#include <algorithm>

#include "model/common/output_register.h"
#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;

constexpr size_t kDescriptors = spec::kNetChainDescriptors;
constexpr size_t kBuffersPerRequest = spec::kNetBuffersPerRequest;
// So many buffers in the cache, or fewer: the next ones are requested.
constexpr size_t kLow = spec::kNetReceivesAhead - kBuffersPerRequest;
static_assert(spec::kNetReceivesAhead <= kDescriptors);
constexpr uint8_t kLastOfFrame = 1;  // tag of a write

}  // namespace

NetRx::NetRx(Agenda& agenda, uint32_t data_bits, uint32_t net_queue_pairs, NetFrameStore& store, bool has_offloads)
    : Block(agenda),
      buffer_in(WideSlice<spec::Buffer>(data_bits)),
      beat_bytes_(data_bits / 8),
      store_(store),
      has_offloads_(has_offloads),
      pairs_(net_queue_pairs),
      last_pair_(std::max(net_queue_pairs, 2u) - 1) {
  frame_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  jobs_.SetProducer(this);
  jobs_.SetConsumer(this);
  waiting_.SetProducer(this);
  waiting_.SetConsumer(this);
  store_.SetReader(this);
}

void NetRx::OnWriteDone(Cycle now, const spec::DmaDone& done) {
  dones_.push_back({now, (done.tag & kLastOfFrame) != 0, done.resp != 0});
  WakeAt(now + 1);
}

void NetRx::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kVirtqueue || write.index % 2 != 0 || write.index / 2 >= pairs_.size()) return;
  if (!has_offloads_) return;
  const auto row = spec::TableVirtqueue::Decode(write.data);
  offloads_.push_back({now, write.index / 2, (row.guest_offloads & spec::NetGuestOffloads::kGuestCsum) != 0});
}

void NetRx::OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& write) {
  // Pair i has receive queue 2 * i. [virtio 1.3, 5.1.2]
  if (write.vq_index % 2 != 0 || write.vq_index / 2u >= pairs_.size()) return;
  rows_.emplace_back(now, write);
  WakeAt(now + 1);
}

void NetRx::OnDoorbell(Cycle now, const spec::Doorbell& doorbell) {
  if (doorbell.vq_index % 2 != 0 || doorbell.vq_index / 2u >= pairs_.size()) return;
  doorbells_.emplace_back(now, doorbell.vq_index / 2u);
  WakeAt(now + 1);
}

void NetRx::SetHold(Cycle from, bool hold) {
  hold_.Set(from, hold);
  WakeAt(from);
}

void NetRx::ApplyInputs(Cycle now) {
  for (; !dones_.empty() && dones_.front().cycle < now; dones_.pop_front()) {
    is_refused_ |= dones_.front().is_refused;
    if (dones_.front().ends_frame) ended_.push_back(std::exchange(is_refused_, false));
  }
  for (; !offloads_.empty() && offloads_.front().cycle < now; offloads_.pop_front()) {
    pairs_[offloads_.front().pair].guest_csum = offloads_.front().guest_csum;
  }
  for (; !doorbells_.empty() && doorbells_.front().first < now; doorbells_.pop_front()) {
    Pair& pair = pairs_[doorbells_.front().second];
    pair.is_short = false;
    pair.wanted = true;
  }
  for (; !rows_.empty() && rows_.front().first < now; rows_.pop_front()) {
    const spec::QueueRowWrite& row = rows_.front().second;
    const size_t index = row.vq_index / 2u;
    Pair& pair = pairs_[index];
    pair.enabled = row.enabled;
    pair.broken = false;
    pair.refused = false;
    pair.is_short = false;
    pair.cache.clear();
    pair.wanted = false;
    pair.stale = true;
    if (state_ != State::kFrame && pair_ == index) queue_lost_ = true;
  }
}

void NetRx::Run(Cycle now) {
  ApplyInputs(now);
  stream_.Run(now);
  bool moved = Leave(now, request_, buffer_request_out);
  moved |= Leave(now, failure_, queue_failure_out);
  moved |= RunCompletions(now);
  // Each machine sees the others' registers as of the start of the cycle: state that one changes and another reads in
  // the same cycle is read first.
  may_request_ = !request_ && asked_.size() < kRequests;
  prefetch_ = 0;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].wanted && !pairs_[i].asked) prefetch_ |= uint64_t{1} << i;
  }
  const bool is_cached = !asked_.empty() && !asked_.front().by_index;
  moved |= RunBuffers(now);
  if (refused_) pairs_[*refused_].broken = true;
  refused_.reset();
  moved |= RunPrefetch(now);
  if (is_cached) moved |= RunCache(now);
  moved |= RunWrites(now);
  const bool hold = hold_.At(now);
  moved |= hold != held_;
  held_ = hold;
  if (moved) WakeAt(now + 1);
}

// --- Buffers ------------------------------------------------------------------------------------------------------

bool NetRx::RunBuffers(Cycle now) {
  switch (state_) {
    case State::kFrame:
      // There is space for its result, however long its list.
      if (!frame_in.CanPop(now) || !jobs_.CanPush(now) || listed_ > kDescriptors) return false;
      BeginFrame(frame_in.Pop(now), mrg_rxbuf_.At(now));
      return true;
    case State::kNeedBuffer: return NeedBuffer();
    case State::kTake: Take(queue_lost_ ? spec::Buffer{} : pair().cache[taken_]); return true;
    case State::kRequest:
      if (queue_lost_) {
        state_ = State::kDrop;
        return true;
      }
      if (!may_request_) return false;
      RequestBuffer(pair_, {.by_index = true,
                            .index = piece_.next_index,
                            .count = 1,
                            .indirect = piece_.indirect,
                            .table_address = piece_.table_address,
                            .table_entries = piece_.table_entries});
      state_ = State::kAnswer;
      return true;
    case State::kAnswer: {
      if (!IsWalked() || !buffer_in.CanPop(now)) return false;
      asked_.pop_front();
      const spec::Buffer answer = buffer_in.Pop(now);
      if (answer.status == BufferStatus::kOk) {
        Take(answer);
      } else {
        state_ = State::kDrop;  // if it failed, descriptor fetch has reported why
      }
      return true;
    }
    case State::kReady: {
      if (queue_lost_) {
        state_ = State::kDrop;
        return true;
      }
      job_.guest_csum = pair().guest_csum;
      job_.buffers = taken_;
      for (auto& entry : job_.entries) {
        entry.completion.vq_index = VqIndex();
        entry.completion.more = &entry != &job_.entries.back();
      }
      listed_ += job_.entries.size();
      jobs_.Push(now, std::move(job_));
      auto& cache = pair().cache;
      cache.erase(cache.begin(), cache.begin() + static_cast<ptrdiff_t>(taken_));
      // Prefetch, unless the ring was empty.
      if (cache.size() <= kLow && !pair().is_short && !pair().asked) pair().wanted = true;
      state_ = State::kFrame;
      return true;
    }
    case State::kFail:
      if (queue_lost_) {
        state_ = State::kDrop;
        return true;
      }
      if (failure_) return false;
      failure_ = spec::QueueFailure{.vq_index = VqIndex(), .code = spec::RdmaError::kBadDescriptor};
      pair().broken = true;
      state_ = State::kDrop;
      return true;
    case State::kDrop:
      if (on_drop) on_drop(now);
      jobs_.Push(now, Job{.drop = true});
      state_ = State::kFrame;
      return true;
  }
  return false;
}

void NetRx::BeginFrame(const spec::NetFrame& frame, bool mrg_rxbuf) {
  queue_lost_ = frame.pair_index >= pairs_.size();
  pair_ = queue_lost_ ? 0 : frame.pair_index;
  mrg_ = mrg_rxbuf;
  requested_since_ = false;
  left_ = frame.bytes + spec::NetHdr::kBytes;
  taken_ = 0;
  used_ = 0;
  job_ = {.bytes = left_};
  state_ = State::kNeedBuffer;
}

bool NetRx::NeedBuffer() {
  if (queue_lost_ || !pair().enabled || pair().broken) {
    state_ = State::kDrop;
    return true;
  }
  if (pair().cache.size() != taken_) {
    state_ = State::kTake;
    return true;
  }
  if (taken_ == kDescriptors) {
    state_ = State::kDrop;
    return true;
  }
  if (pair().asked) return false;
  if (requested_since_) {
    state_ = State::kDrop;
    return true;
  }
  // Also after a request that was made before the frame needed a buffer: one may have been added since.
  if (!may_request_) return false;
  requested_since_ = true;
  RequestRing(pair_);
  return true;
}

// The next descriptor of the frame.
void NetRx::Take(const spec::Buffer& piece) {
  if (queue_lost_) {
    state_ = State::kDrop;
    return;
  }
  // A receive buffer is device-writable throughout. [virtio 1.3, 5.1.6.3] If a single chain fills the list, the chain
  // is too long; if several buffers fill it, the frame is too long, which is the peer's choice.
  const bool is_full = job_.entries.size() == kDescriptors;
  if (!piece.writable || is_full) {
    state_ = !piece.writable || taken_ == 0 ? State::kFail : State::kDrop;
    return;
  }
  const size_t bytes = std::min<size_t>(piece.bytes, left_);
  if (state_ == State::kTake) head_ = piece.head;
  used_ += bytes;
  left_ -= bytes;
  Entry entry{.address = piece.address, .bytes = bytes, .ends = !piece.more};
  entry.completion.head = head_;
  entry.completion.used_bytes = static_cast<uint32_t>(used_);
  entry.completion.has_id = piece.has_id;
  if (piece.has_id) {
    entry.completion.id = piece.id;
    entry.completion.next_position = piece.next_index;
  }
  job_.entries.push_back(entry);
  piece_ = piece;
  if (piece.more) {
    state_ = State::kRequest;
    return;
  }
  used_ = 0;
  ++taken_;
  requested_since_ = false;
  // Without mrg_rxbuf a frame must fit in one buffer. [virtio 1.3, 5.1.6.3.1, 5.1.6.4]
  state_ = left_ == 0 ? State::kReady : mrg_ ? State::kNeedBuffer : State::kDrop;
}

void NetRx::RequestBuffer(size_t pair, const spec::BufferRequest& request) {
  may_request_ = false;
  request_ = request;
  request_->client = spec::BufferClient::kNetReceive;
  request_->vq_index = static_cast<uint16_t>(2 * pair);
  asked_.push_back({.by_index = request.by_index, .pair = pair, .count = request.count});
}

void NetRx::RequestRing(size_t index) {
  Pair& pair = pairs_[index];
  pair.asked = true;
  pair.stale = false;
  RequestBuffer(index, {.count = static_cast<uint8_t>(std::min(kDescriptors - pair.cache.size(), kBuffersPerRequest))});
}

// Requests ahead of the frames. Conditions may have changed since the pair was marked.
bool NetRx::RunPrefetch(Cycle now) {
  if (prefetch_ == 0 || !may_request_ || hold_.At(now)) return false;
  size_t index = last_pair_;
  do {
    index = (index + 1) % std::max<size_t>(pairs_.size(), 2);
  } while ((prefetch_ >> index & 1) == 0);
  last_pair_ = index;
  Pair& pair = pairs_[index];
  pair.wanted = false;
  if (pair.enabled && !pair.broken && !pair.is_short && pair.cache.size() <= kLow) RequestRing(index);
  return true;
}

bool NetRx::RunCache(Cycle now) {
  if (!buffer_in.CanPop(now)) return false;
  const spec::Buffer buffer = buffer_in.Pop(now);
  const Asked asked = asked_.front();
  Pair& pair = pairs_[asked.pair];
  if (buffer.status == BufferStatus::kOk) {
    ++got_;
    if (!pair.stale) pair.cache.push_back(buffer);
  }
  if (!buffer.last) return true;
  asked_.pop_front();
  pair.asked = false;
  const bool is_whole = std::exchange(got_, 0) == asked.count;
  if (!pair.stale) {
    // If the driver has rung since, a short response does not mean that the ring is empty.
    pair.is_short = !is_whole && !pair.wanted;
    if (is_whole && pair.cache.size() <= kLow) pair.wanted = true;
  }
  return true;
}

// --- Writing ------------------------------------------------------------------------------------------------------

bool NetRx::RunWrites(Cycle now) {
  switch (write_state_) {
    case WriteState::kJob:
      if (!jobs_.CanPop(now) || !store_.HasOldest(now)) return false;
      writing_ = jobs_.Pop(now);
      if (writing_.drop) {
        write_state_ = WriteState::kFree;
        return true;
      }
      {
        frame_.assign(spec::NetHdr::kBytes, 0);
        const auto bytes = store_.oldest();
        frame_.insert(frame_.end(), bytes.begin(), bytes.end());
      }
      entry_ = 0;
      is_returned_ = false;
      is_late_ = false;
      --listed_;
      position_ = 0;
      write_state_ = WriteState::kEntry;
      return true;
    case WriteState::kEntry: return waiting_.CanPush(now) && BeginEntry(now);
    case WriteState::kRun: return EndWrite(now);
    case WriteState::kHeader:
    case WriteState::kFree: return EndFrame(now);
  }
  return false;
}

void NetRx::MakeHeader() {
  spec::NetHdr header;
  // All other fields are 0: no segmentation, and the driver ignores the related fields. [virtio 1.3, 5.1.6.4]
  if (writing_.guest_csum && store_.HasValidChecksum()) header.flags = spec::NetHdrFlags::kDataValid;
  header.num_buffers = static_cast<uint16_t>(writing_.buffers);
  header.Encode(frame_.data());
}

bool NetRx::BeginEntry(Cycle now) {
  const Entry& entry = writing_.entries[entry_];
  size_t skip = 0;
  if (position_ == 0) {
    const bool waits = writing_.guest_csum && !IsChecked(now);
    // In a shorter descriptor than the header nothing is written before the header is known.
    if (waits && entry.bytes < spec::NetHdr::kBytes) {
      WakeAt(store_.CheckedFrom() + 1);
      return false;
    }
    is_late_ = waits;
    header_address_ = entry.address;
    if (waits) {
      skip = spec::NetHdr::kBytes;
    } else {
      MakeHeader();
    }
  }
  ++entry_;
  if (entry.ends) waiting_.Push(now, {!std::exchange(is_returned_, true), entry.completion});
  position_ += skip;
  if (entry.bytes != skip) {
    BeginWrite(now, entry.address + skip, entry.bytes - skip);
    write_state_ = WriteState::kRun;
  } else if (entry_ == writing_.entries.size()) {
    write_state_ = is_late_ ? WriteState::kHeader : WriteState::kFree;
  } else {
    --listed_;
  }
  return true;
}

void NetRx::BeginWrite(Cycle now, uint64_t address, size_t left) {
  const size_t bytes = std::min<size_t>(left, spec::kNetWriteBytes - address % spec::kNetWriteBytes);
  const bool is_last = bytes == left && position_ + left == writing_.bytes && !is_late_;
  stream_.Begin(now + 1, {.address = address,
                          .bytes = bytes,
                          .lane = position_ % beat_bytes_,
                          .notify = true,
                          .tag = is_last ? kLastOfFrame : uint8_t{0},
                          .data = std::span(frame_).subspan(position_, bytes).data()});
  position_ += bytes;
  address_ = address + bytes;
  bytes_ = left - bytes;
}

// In the cycle of the last step.
bool NetRx::EndWrite(Cycle now) {
  if (stream_.LastStep() > now) return false;
  if (bytes_ != 0) {
    BeginWrite(now, address_, bytes_);
  } else if (entry_ != writing_.entries.size()) {
    --listed_;
    write_state_ = WriteState::kEntry;
  } else {
    return EndFrame(now);
  }
  return true;
}

// Writes the header, if it is not written yet, and frees the frame.
bool NetRx::EndFrame(Cycle now) {
  if (!IsChecked(now)) {
    write_state_ = is_late_ ? WriteState::kHeader : WriteState::kFree;
    WakeAt(store_.CheckedFrom() + 1);
    return false;
  }
  if (std::exchange(is_late_, false)) {
    MakeHeader();
    stream_.Begin(now + 1, {.address = header_address_,
                            .bytes = spec::NetHdr::kBytes,
                            .lane = 0,
                            .notify = true,
                            .tag = kLastOfFrame,
                            .data = frame_.data()});
    bytes_ = 0;
    write_state_ = WriteState::kRun;
  } else {
    store_.Free(now);
    write_state_ = WriteState::kJob;
  }
  return true;
}

bool NetRx::RunCompletions(Cycle now) {
  if (!waiting_.CanPop(now)) return false;
  const Waiting& waiting = waiting_.front();
  if (waiting.first && ended_.empty()) return false;
  const size_t index = waiting.completion.vq_index / 2u;
  Pair& pair = pairs_[index];
  const bool withhold = waiting.first ? ended_.front() || pair.refused : withheld_;
  if (!withhold) {
    if (!completion_out.CanPush(now)) return false;
    completion_out.Push(now, waiting.completion);
  } else if (waiting.first && ended_.front() && !pair.refused && pair.enabled) {  // once; and not if it was reset
    if (failure_) return false;
    failure_ = spec::QueueFailure{.vq_index = waiting.completion.vq_index, .code = spec::RdmaError::kQueueDmaError};
    pair.refused = true;
    refused_ = index;
  }
  withheld_ = withhold;
  if (waiting.first) ended_.pop_front();
  waiting_.Drop(now);
  return true;
}

bool NetRx::IsIdle() const {
  // Pulses of the last cycle are not applied yet.
  const auto is_reset = [&](size_t index) {
    return std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row.second.vq_index / 2u == index; });
  };
  bool prefetches =
      std::any_of(doorbells_.begin(), doorbells_.end(), [&](const auto& rung) { return !is_reset(rung.second); });
  for (size_t i = 0; i < pairs_.size(); ++i) prefetches |= pairs_[i].wanted && !is_reset(i);
  const bool asks = std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.asked; });
  return frame_in.size() == 0 && state_ == State::kFrame && (held_ || !prefetches) && !asks && !failure_ &&
         jobs_.size() == 0 && write_state_ == WriteState::kJob && waiting_.size() == 0;
}

}  // namespace vireo::model
