// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/tx_gather.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

// From a packet's decision to the cycles in which it, or its failure, is visible.
constexpr uint64_t kSend = 2;
constexpr uint64_t kFail = 1;
// From the last beat of a packet's last train to the decision that it enables: one stage, and the queue after it.
constexpr uint64_t kDone = 1 + FifoTiming::kFifoLatency;

// Likewise, to the first cycle in which the packet counts as read.
constexpr uint64_t kComplete = 2;

// memory_grant_t as bits.
unsigned EncodeGrant(const spec::MemoryGrant& grant) { return (grant.valid ? 2U : 0U) | (grant.epoch ? 1U : 0U); }
spec::MemoryGrant DecodeGrant(unsigned bits) { return {.valid = (bits & 2) != 0, .epoch = (bits & 1) != 0}; }

// A packet of UC or UD: its failure stops the send half.
bool IsSendOnly(const spec::TxPacket& packet) {
  const auto service = static_cast<spec::BthService>(static_cast<uint8_t>(packet.opcode) >> 5);
  return !packet.is_response && (service == spec::BthService::kUc || service == spec::BthService::kUd);
}

static_assert(TxGather::kPacketLatency == kDone + kSend);
static_assert(TxGather::kEmptyLatency == FifoTiming::kSliceLatency + FifoTiming::kFifoLatency + kSend);
static_assert(TxGather::kInterval == kSend + 1);
static_assert(TxGather::kSentAhead == kSend);

}  // namespace

TxGather::TxGather(Agenda& agenda, size_t beat_bytes, size_t buffer_bytes, std::optional<size_t> reserved_bytes)
    : Block(agenda),
      job_in(WideSlice<spec::TxJob>(8 * beat_bytes)),
      response_in(WideSlice<spec::TxJob>(8 * beat_bytes)),
      beat_bytes_(beat_bytes),
      free_(buffer_bytes / beat_bytes),
      waiting_timing_(FifoTiming::Fifo(WaitingPackets(8 * beat_bytes))) {
  if (reserved_bytes) {
    room_.emplace(Beats(*reserved_bytes), waiting_timing_.depth());
    WakeAt(0);
  }
  job_in.SetConsumer(this);
  response_in.SetConsumer(this);
}

void TxGather::OnTrain(Cycle first, const Train& train) {
  assert(train.data.size() == train.bytes);
  if ((train.tag & kTagFurther) == 0) arriving_ = Done{};
  arriving_.bad = arriving_.bad || train.resp != AxiResp::kOkay;
  arriving_.data.insert(arriving_.data.end(), train.data.begin(), train.data.end());
  const Cycle end = first + (Beats(train.bytes) - 1);
  --runs_;
  runs_end_ = end + kDropLatency;
  const spec::MemoryGrant grant = DecodeGrant(train.tag >> kTagGrant);
  if (grant.valid) on_grant_ended(first, end + 1, grant);
  if ((train.tag & kTagLast) == 0) {
    if (HasJobs()) WakeAt(runs_end_);
    return;
  }
  complete_.push_back(end + kComplete);
  CountReads();
  arriving_.visible = end + kDone;
  WakeAt(arriving_.visible);
  done_.push_back(std::move(arriving_));
}

std::vector<uint8_t> TxGather::TakePayload(Cycle first) {
  assert(unsent_ > 0);
  Payload& payload = payloads_[payloads_.size() - unsent_];
  --unsent_;
  const size_t beats = Beats(payload.data.size());
  payload.taken = first + beats - 1;
  last_taken_ = payload.taken;
  WakeAt(last_taken_);
  // A beat frees its buffer space when it moves to the output: each in the cycle in which the previous one is taken.
  if (beats > 1) ReturnBeats({.first = first, .beats = beats - 1, .at_once = false});
  if (unsent_ > 0) {
    const Cycle released = payloads_[payloads_.size() - unsent_].released;
    ReturnBeats({.first = std::max(released + 1, last_taken_), .beats = 1, .at_once = true});
  }
  return std::move(payload.data);
}

void TxGather::ReturnBeats(Return room) {
  returns_.push_back(room);
  if (HasJobs() || room_) WakeAt(room.first + 1);
}

void TxGather::OnRoomUsed(Cycle at, size_t input) {
  room_->OnUsed(at, input);
  WakeAt(at);
}

void TxGather::OnRoomUnused(Cycle at) {
  room_->OnUnused(at);
  WakeAt(at + 1);
}

size_t TxGather::Free(Cycle now) {
  while (!returns_.empty() && returns_.front().first < now) {
    Return& room = returns_.front();
    const size_t beats = room.at_once ? room.beats : std::min<size_t>(room.beats, now - room.first);
    free_ += beats;
    room.beats -= beats;
    room.first += beats;
    if (room.beats == 0) returns_.pop_front();
  }
  return free_;
}

void TxGather::Run(Cycle now) {
  if (const auto stop = stopped_.Take(now)) {
    const auto mark = [&](spec::TxPacket& packet) { packet.stale |= stop->Marks(packet, packet.is_response); };
    for (spec::TxPacket& packet : waiting_) mark(packet);
    if (send_ != Send::kWait) mark(packet_);
  }
  while (!payloads_.empty() && payloads_.front().taken <= now) payloads_.pop_front();
  if (room_) RunRoom(now);
  RunFetch(now);
  RunSend(now);
}

// Before everything that changes the count of free beats in this cycle.
void TxGather::RunRoom(Cycle now) {
  if (const auto input = std::exchange(room_to_, std::nullopt)) on_room(now, *input);
  free_ += room_->TakeUnused(now) * room_->max_beats();
  room_to_ = room_->Give(now, Free(now));
  if (room_to_) {
    free_ -= room_->max_beats();
    WakeAt(now + 1);
  } else if (room_->WaitsForBeats()) {
    // Those whose return is known.
    size_t missing = room_->max_beats() - free_;
    for (const Return& room : returns_) {
      if (room.beats >= missing) return WakeAt(room.first + (room.at_once ? 1 : missing));
      missing -= room.beats;
    }
  }
}

void TxGather::RunFetch(Cycle now) {
  if (now < fetch_from_) return;
  if (fetch_ == Fetch::kTake) {
    const size_t other = 1 - winner_;
    const size_t index = !part_ && Input(other).CanPop(now) ? other : winner_;
    Channel<spec::TxJob>& input = Input(index);
    if (!input.CanPop(now)) return;
    if (!(input.front().drop ? TakeDrop(now, input) : TakeJob(now, input))) return;
    winner_ = index;
  } else {
    if (!read_request_out.CanPush(now)) return;
    const bool second = fetch_ == Fetch::kSecond;
    const bool last_of_job = second || job_.bytes1 == 0;
    const bool last = last_of_job && !job_.more;
    const unsigned grant = last_of_job ? EncodeGrant(job_.grant) : 0;
    const auto tag =
        static_cast<uint8_t>((second || further_ ? kTagFurther : 0) | (last ? kTagLast : 0) | grant << kTagGrant);
    read_request_out.Push(
        now,
        {.address = second ? job_.address1 : job_.address0, .bytes = second ? job_.bytes1 : job_.bytes0, .tag = tag});
    ++runs_;
    fetch_ = last_of_job ? Fetch::kTake : Fetch::kSecond;
  }
  fetch_from_ = now + 1;
  WakeAt(fetch_from_);
}

bool TxGather::TakeJob(Cycle now, Channel<spec::TxJob>& input) {
  const bool more = input.front().more;
  if (!more && waiting_timing_.PushReady() > now) {
    WakeAt(waiting_timing_.PushReady());
    return false;
  }
  const size_t beats = BeatsOf(input.front().packet);
  if (!part_ && !room_ && Free(now) < beats) {
    // Missing space is freed beat by beat; returns that are not known yet will wake the block.
    if (!returns_.empty()) WakeAt(returns_.front().first + 1);
    return false;
  }
  job_ = input.Pop(now);
  if (!part_) {
    if (room_) free_ += room_->max_beats();
    assert(free_ >= beats);
    free_ -= beats;
    part_beats_ = beats;
  }
  further_ = part_;
  part_ = more;
  if (!more) {
    waiting_timing_.Push(now);
    waiting_.push_back(job_.packet);
    if (&input == &response_in) ++responses_ended_;
    unread_.push_back({now, beats != 0, job_.packet.is_response});
    CountReads();
    if (waiting_.size() == 1) WakeAt(waiting_timing_.PopReady());
  }
  if (job_.bytes0 != 0) fetch_ = Fetch::kFirst;
  return true;
}

// The packet's requested runs still arrive.
bool TxGather::TakeDrop(Cycle now, Channel<spec::TxJob>& input) {
  if (part_ && (runs_ != 0 || now < runs_end_)) {
    if (runs_ == 0) WakeAt(runs_end_);
    return false;
  }
  input.Pop(now);
  if (part_) free_ += part_beats_;
  if (part_ && room_) room_->End(now);
  if (part_ && &input == &job_in) on_packet_read(now + 1);
  part_ = false;
  return true;
}

void TxGather::CountReads() {
  for (; !unread_.empty(); unread_.pop_front()) {
    const Unread& packet = unread_.front();
    Cycle at = std::max(next_read_, packet.taken + 1);
    if (packet.has_payload) {
      if (complete_.empty()) return;
      at = std::max(at, complete_.front());
      complete_.pop_front();
    }
    next_read_ = at + 1;
    if (!packet.is_response) on_packet_read(at + 1);
  }
}

void TxGather::OnStopped(Cycle now, const QpStop& stop) {
  stopped_.Set(now, stop);
  WakeAt(now + 1);
}

void TxGather::RunSend(Cycle now) {
  if (now < send_from_) return;
  switch (send_) {
    case Send::kWait: {
      if (waiting_timing_.PopReady() > now) return WakeAt(waiting_timing_.PopReady());
      const bool has_payload = BeatsOf(waiting_.front()) != 0;
      if (has_payload && (done_.empty() || done_.front().visible > now)) return;
      const bool bad = has_payload && done_.front().bad;
      if (bad && unsent_ > 0) return;
      if (bad && now <= last_taken_) return WakeAt(last_taken_ + 1);
      if (bad || !waiting_.front().reports || waiting_.front().stale) return Decide(now, bad);
      send_ = Send::kSent;
      send_from_ = now + 1;
      return WakeAt(send_from_);
    }
    case Send::kSent:
      if (!sent_out.CanPush(now)) return;
      sent_out.Push(now, {.qpn = waiting_.front().qpn,
                          .psn = waiting_.front().psn,
                          .syndrome = static_cast<uint8_t>(spec::AethSyndrome::kAckNoCredits)});
      return Decide(now, false);
    case Send::kSend:
      if (!packet_out.CanPush(now)) return;
      packet_out.Push(now, packet_);
      break;
    case Send::kFail:
      if (!failed_out.CanPush(now)) return;
      failed_out.Push(now, {.qpn = packet_.qpn,
                            .event_type = spec::RdmaEventType::kQpFatal,
                            .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError)});
      if (!packet_.is_response) break;
      send_ = Send::kSend;
      send_from_ = now + 1;
      return WakeAt(send_from_);
    case Send::kFailSent:
      if (!sent_out.CanPush(now)) return;
      sent_out.Push(now, {.qpn = packet_.qpn,
                          .psn = packet_.psn,
                          .syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError),
                          .status = spec::IbWcStatus::kLocQpOpErr});
      break;
  }
  send_ = Send::kWait;
  send_from_ = now + 1;
  WakeAt(send_from_);
}

void TxGather::Decide(Cycle now, bool bad) {
  packet_ = waiting_.front();
  waiting_.pop_front();
  waiting_timing_.Pop(now);
  if (room_) room_->End(now);
  if (HasJobs() || room_) WakeAt(now + 1);
  const size_t beats = BeatsOf(packet_);
  if (beats != 0) {
    assert(done_.front().data.size() == packet_.payload_bytes);
    if (bad) {
      ReturnBeats({.first = now, .beats = beats, .at_once = true});
    } else {
      // The first beat moves to the output when that is free.
      if (unsent_ == 0) ReturnBeats({.first = std::max(now + 1, last_taken_), .beats = 1, .at_once = true});
      payloads_.push_back({.data = std::move(done_.front().data), .released = now});
      ++unsent_;
    }
    done_.pop_front();
  }
  // A response always has an AETH attached, though a middle one does not send it: if its payload cannot be read, a NAK
  // replaces it. [IBTA vol. 1, 9.7.5.2.2, 9.9.5.2]
  if (packet_.is_response && bad) {
    const uint32_t msn = spec::Aeth::Decode(packet_.extension).msn;
    packet_ = {.qpn = packet_.qpn,
               .opcode = spec::BthOpcode::kRcAcknowledge,
               .psn = packet_.psn,
               .is_response = true,
               .stale = packet_.stale};
    spec::Aeth aeth;
    aeth.msn = msn;
    aeth.Encode(packet_.extension);
    packet_.extension[0] = static_cast<uint8_t>(spec::AethSyndrome::kNakRemoteOperationalError);
  } else if (packet_.is_response && packet_.opcode == spec::BthOpcode::kRcRdmaReadResponseMiddle) {
    std::fill(std::begin(packet_.extension), std::end(packet_.extension), uint8_t{0});
  }
  if (bad && packet_.stale) {
    // Nobody is told of its failure.
    send_ = packet_.is_response ? Send::kSend : Send::kWait;
  } else {
    send_ = !bad ? Send::kSend : IsSendOnly(packet_) ? Send::kFailSent : Send::kFail;
  }
  send_from_ = now + (bad ? kFail : kSend);
  WakeAt(send_from_);
}

bool TxGather::IsIdle() const {
  return !HasJobs() && fetch_ == Fetch::kTake && !part_ && waiting_.empty() && send_ == Send::kWait &&
         payloads_.empty() && !room_to_ && (!room_ || room_->IsIdle());
}

}  // namespace vireo::model
