// SPDX-License-Identifier: Apache-2.0
#include "model/eth/net_tx.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "model/common/output_register.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;

constexpr uint32_t kHeadsPerRequest = spec::kNetBuffersPerRequest;

// Buffers for which there is space: one response is processed while others are fetched.
constexpr uint32_t HeadsOf(uint32_t pairs) { return (pairs < 2 ? 2 : pairs < 4 ? 4 : 8) * kHeadsPerRequest; }

// Transmit queues are the odd ones. [virtio 1.3, 5.1.2]
uint16_t QueueOf(uint32_t pair) { return static_cast<uint16_t>(2 * pair + 1); }
std::optional<uint32_t> PairOf(uint16_t vq_index, size_t pairs) {
  if (vq_index % 2 == 0 || vq_index >= 2 * pairs) return std::nullopt;
  return vq_index / 2u;
}

}  // namespace

NetTx::NetTx(Agenda& agenda, uint32_t net_queue_pairs, uint32_t max_frame_bytes)
    : Block(agenda),
      max_frame_bytes_(max_frame_bytes),
      heads_most_(HeadsOf(net_queue_pairs)),
      heads_(Channel<spec::Buffer>::Fifo(heads_most_)),
      records_(Channel<Record>::Fifo(spec::kNetTxFrames)),
      pairs_(net_queue_pairs),
      last_pair_(net_queue_pairs - 1) {
  doorbell_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  sent_in.SetConsumer(this);
  failed_in.SetConsumer(this);
  heads_.SetConsumer(this);
  records_.SetConsumer(this);
  records_.SetProducer(this);
}

void NetTx::SetHold(Cycle from, bool hold) {
  hold_.Set(from, hold);
  WakeAt(from);
}

void NetTx::OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& write) {
  if (const auto pair = PairOf(write.vq_index, pairs_.size())) rows_.emplace_back(cycle, *pair);
}

void NetTx::Run(Cycle now) {
  if (std::exchange(drop_, false)) on_drop(now);
  while (!rows_.empty() && rows_.front().first < now) {
    const uint32_t pair = rows_.front().second;
    rows_.pop_front();
    Discard(pair);
    pairs_[pair].broken = false;
    if (walk_.pair == pair) walk_.valid = false;
  }
  bool moved = Leave(now, request_, buffer_request_out);
  moved |= Leave(now, job_, job_out);
  moved |= Leave(now, completion_, completion_out);
  moved |= Leave(now, failure_, queue_failure_out);
  reads_ahead_ = reading_ >= kReadAheadBytes;
  moved |= RunCompletions(now);
  // The machines see each other's registers as of the start of the cycle.
  const State state = state_;
  const bool responds_to_walk = IsWalked();
  asks_ = 0;
  for (uint32_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].pending && pairs_[i].asked != kPairRequests) asks_ |= uint32_t{1} << i;
  }
  moved |= RunRequest(now);
  if (!responds_to_walk) moved |= RunAnswer(now);
  if (state != State::kWait || responds_to_walk) moved |= RunWalk(now);
  if (doorbell_in.CanPop(now)) {
    const spec::Doorbell doorbell = doorbell_in.Pop(now);
    on_doorbell(now, doorbell);
    const auto pair = PairOf(doorbell.vq_index, pairs_.size());
    if (pair && !pairs_[*pair].broken) pairs_[*pair].pending = true;
    moved = true;
  }
  // Last, so that it overrides changes of the same cycle.
  if (const auto pair = std::exchange(discard_, std::nullopt)) {
    Discard(*pair);
    if (std::exchange(breaks_, false)) pairs_[*pair].pending = false, pairs_[*pair].broken = true;
  }
  const bool hold = hold_.At(now);
  moved |= hold != held_;
  held_ = hold;
  if (moved) WakeAt(now + 1);
}

bool NetTx::RunCompletions(Cycle now) {
  bool moved = false;
  if (!completion_ && records_.CanPop(now) && (records_.front().dropped || ended_ != 0)) {
    const Record record = records_.Pop(now);
    completion_ = record.completion;
    if (!record.dropped) --ended_;
    reading_ -= record.bytes;
    moved = true;
  }
  // Frames end in the order of their jobs, so no more information is needed.
  const auto end = [&](auto& input) {
    if (!input.CanPop(now)) return;
    input.Pop(now);
    ++ended_;
    moved = true;
  };
  end(sent_in);
  end(failed_in);
  return moved;
}

// Requests the next buffers of a ring. A walk has priority: the buffer in progress is older.
bool NetTx::RunRequest(Cycle now) {
  if (asks_ == 0 || hold_.At(now) || reserved_ > heads_most_ - kHeadsPerRequest || request_ ||
      state_ == State::kRequest) {
    return false;
  }
  uint32_t index = last_pair_;
  do {
    index = static_cast<uint32_t>((index + 1) % pairs_.size());
  } while ((asks_ >> index & 1) == 0);
  last_pair_ = index;
  Pair& pair = pairs_[index];
  pair.pending = false;
  ++pair.asked;
  asked_.push_back({.by_index = false, .pair = index});
  reserved_ += kHeadsPerRequest;
  request_ = spec::BufferRequest{
      .client = spec::BufferClient::kNetTransmit, .vq_index = QueueOf(index), .count = spec::kNetBuffersPerRequest};
  return true;
}

bool NetTx::RunAnswer(Cycle now) {
  if (!buffer_in.CanPop(now)) return false;
  const spec::Buffer buffer = buffer_in.Pop(now);
  const uint32_t index = asked_.front().pair;
  Pair& pair = pairs_[index];
  if (pair.stale == 0 && buffer.status == BufferStatus::kOk) {
    heads_.Push(now, buffer);
    head_of_.push_back({.pair = index, .valid = true});
    ++got_;
  }
  if (buffer.last) {
    asked_.pop_front();
    --pair.asked;
    if (pair.stale != 0) --pair.stale;
    reserved_ -= kHeadsPerRequest - got_;
    // Fewer means that the ring has no more, and the driver will ring the doorbell.
    if (std::exchange(got_, 0) == kHeadsPerRequest) pair.pending = true;
  }
  return true;
}

bool NetTx::RunWalk(Cycle now) {
  switch (state_) {
    case State::kTake: return Take(now);
    case State::kRequest:
      if (request_) return false;
      asked_.push_back({.by_index = true, .pair = walk_.pair});
      request_ = spec::BufferRequest{.client = spec::BufferClient::kNetTransmit,
                                     .vq_index = QueueOf(walk_.pair),
                                     .by_index = true,
                                     .index = walk_.last.next_index,
                                     .count = 1,
                                     .indirect = walk_.last.indirect,
                                     .table_address = walk_.last.table_address,
                                     .table_entries = walk_.last.table_entries};
      state_ = State::kWait;
      return true;
    case State::kWait: return Follow(now);
    case State::kDecide:
      if (reads_ahead_) return false;
      Decide(now);
      return true;
    case State::kRun:
      if (job_) return false;
      CutRun();
      return true;
    case State::kFail: return Fail();
  }
  return false;
}

bool NetTx::Take(Cycle now) {
  if (!heads_.CanPop(now)) return false;
  const Head head = head_of_.front();
  if (head.valid && !records_.CanPush(now)) return false;
  head_of_.pop_front();
  --reserved_;
  const spec::Buffer buffer = heads_.Pop(now);
  walk_ = Walk{.pair = head.pair,
               .head = buffer.head,
               .last = buffer,
               .has_id = buffer.has_id,
               .total = buffer.bytes,
               .entries = {{buffer.address, buffer.bytes}}};
  if (!head.valid) return true;
  // Transmit buffers have no device-writable descriptors. [virtio 1.3, 5.1.6.2]
  state_ = buffer.writable ? State::kFail : buffer.more ? State::kRequest : State::kDecide;
  return true;
}

// Processes the response to a walk.
bool NetTx::Follow(Cycle now) {
  if (!buffer_in.CanPop(now)) return false;
  const spec::Buffer buffer = buffer_in.Pop(now);
  asked_.pop_front();
  if (!walk_.valid) {
    state_ = State::kTake;
  } else if (buffer.status != BufferStatus::kOk) {
    // Descriptor fetch has reported why; the queue has no more.
    discard_ = walk_.pair;
    state_ = State::kTake;
  } else if (buffer.writable || (buffer.more && walk_.entries.size() == spec::kNetChainDescriptors - 1)) {
    state_ = State::kFail;
  } else {
    walk_.entries.push_back({buffer.address, buffer.bytes});
    walk_.total += buffer.bytes;
    // A table counts as one descriptor of the ring.
    walk_.has_id = buffer.has_id && !walk_.last.indirect;
    walk_.last = buffer;
    state_ = buffer.more ? State::kRequest : State::kDecide;
  }
  return true;
}

void NetTx::Decide(Cycle now) {
  const bool dropped = walk_.total < spec::NetHdr::kBytes + spec::Ethernet::kBytes ||
                       walk_.total > spec::NetHdr::kBytes + max_frame_bytes_;
  spec::Completion completion{.vq_index = QueueOf(walk_.pair), .head = walk_.head, .has_id = walk_.has_id};
  if (walk_.has_id) {
    completion.id = walk_.last.id;
    completion.next_position = walk_.last.next_index;
  }
  const auto bytes = static_cast<uint32_t>(dropped ? 0 : walk_.total);
  records_.Push(now, {.completion = completion, .dropped = dropped, .bytes = bytes});
  reading_ += bytes;
  drop_ = dropped;
  state_ = dropped ? State::kTake : State::kRun;
}

void NetTx::CutRun() {
  Entry& entry = walk_.entries[walk_.entry];
  const auto bytes =
      static_cast<uint16_t>(entry.bytes <= kRunBytes ? entry.bytes : kRunBytes - entry.address % kRunBytes);
  auto job = std::exchange(walk_.first_half, std::nullopt);
  const bool second = job.has_value();
  if (!job) {
    job.emplace();
    job->packet.payload_bytes = static_cast<uint16_t>(walk_.total);
    job->packet.reports = true;
  }
  (second ? job->address1 : job->address0) = entry.address;
  (second ? job->bytes1 : job->bytes0) = bytes;
  entry.address += bytes;
  entry.bytes -= bytes;
  if (entry.bytes == 0) ++walk_.entry;
  const bool last = walk_.entry == walk_.entries.size();
  job->more = !last;
  (second || last ? job_ : walk_.first_half) = job;
  if (last) state_ = State::kTake;
}

bool NetTx::Fail() {
  if (walk_.valid) {
    if (failure_) return false;
    failure_ = spec::QueueFailure{.vq_index = QueueOf(walk_.pair), .code = spec::RdmaError::kBadDescriptor};
    discard_ = walk_.pair;
    breaks_ = true;
  }
  state_ = State::kTake;
  return true;
}

// Discards what was fetched of the pair's queue.
void NetTx::Discard(uint32_t pair) {
  for (Head& head : head_of_) head.valid = head.valid && head.pair != pair;
  pairs_[pair].stale = pairs_[pair].asked;
}

bool NetTx::IsIdle() const {
  const auto pending = [](const Pair& pair) { return pair.pending; };
  return doorbell_in.size() == 0 && (held_ || std::none_of(pairs_.begin(), pairs_.end(), pending)) && asked_.empty() &&
         reserved_ == 0 && state_ == State::kTake && records_.size() == 0 && !job_ && !completion_ && !failure_;
}

}  // namespace vireo::model
