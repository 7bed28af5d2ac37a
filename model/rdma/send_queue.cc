// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/send_queue.h"

#include <algorithm>
#include <utility>

#include "model/common/output_register.h"
#include "model/common/wide_slice.h"
#include "model/dma/dma_split.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;
using spec::IbQpState;
using spec::RdmaError;

// Buffers that a request asks for: of a QP alone, beside one other, beside several.
constexpr uint32_t kSendsPerRequest = spec::kSendBuffersPerRequest;
constexpr uint32_t kFew = spec::kBuffersPerRequest;

// Parts of a work request that are read: all but the inline data, and the first element.
constexpr uint32_t kHeadBytes = spec::RdmaSqReq::kInlineDataOffset;
constexpr uint32_t kTailBytes =
    spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset + static_cast<uint32_t>(spec::RdmaSge::kBytes);
// Of an extensible one, behind the head.
constexpr uint32_t kRestBytes = spec::kDmaFetchBytes - kHeadBytes;
static_assert(kRestBytes <= kTailBytes);

void SetReplay(const spec::Replay& replay, spec::WorkRequest& work) {
  work.head = replay.head;
  work.is_replay = true;
  work.resume = replay.resume;
  work.epoch = replay.epoch;
  work.slot = replay.slot;
  work.psn = replay.psn;
  work.first_psn = replay.first_psn;
  work.last_psn = replay.last_psn;
  work.packets = replay.packets;
  work.first_transmission = replay.first_transmission;
  work.number = replay.number;
  work.serial = replay.serial;
}

bool IsServed(IbQpState state) {
  return state == IbQpState::kRts || state == IbQpState::kSqe || state == IbQpState::kErr;
}

}  // namespace

SendQueue::SendQueue(Agenda& agenda, const spec::Config& config, const Sizes& sizes)
    : Block(agenda),
      replay_in(WideSlice<spec::Replay>(config.datapath_bits)),
      buffer_in(Channel<spec::Buffer>::Fifo(sizes.buffers)),
      fetched_in(Channel<spec::DmaFetched>::Fifo(sizes.fetches)),
      send_records_(config.send_records),
      fetch_room_(std::min(config.send_records / 2, kFew)),
      has_extensible_(config.extensible_requests != 0),
      has_push_(config.push_requests != 0),
      sizes_(sizes),
      queues_(config.net_queue_pairs, config.num_cqs, config.num_qps, spec::kRdmaTransmitqOffset),
      wake_(config.num_qps),
      pushes_(config.num_qps),
      newest_pushes_(config.num_qps),
      push_heads_(config.num_qps),
      push_words_(size_t{config.num_qps} * kPushWords),
      line_(Channel<uint32_t>::Fifo(std::max(config.num_qps, 4u))),
      fetches_pending_(Channel<Fetch>::Fifo(sizes.requests)),
      infos_(Channel<Info>::Fifo(sizes.fetches)),
      replays_(Channel<spec::Replay>::Fifo(sizes.fetches / 2)),
      state_(config.num_qps),
      slots_(config.num_qps),
      keeps_(config.send_requests_kept != 0),
      kept_(std::max(config.send_requests_kept, 1u)),
      silent_(config.num_qps) {
  doorbell_in.SetConsumer(this);
  retired_in.SetConsumer(this);
  replay_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  fetched_in.SetConsumer(this);
  line_.SetConsumer(this);
  fetches_pending_.SetConsumer(this);
  infos_.SetConsumer(this);
}

void SendQueue::SetMq(Cycle from, bool mq) { queues_.SetMq(from, mq); }

void SendQueue::SetExtensible(Cycle from, bool extensible) { extensible_.Set(from, extensible && has_extensible_); }

void SendQueue::SetHold(Cycle from, bool hold) {
  hold_.Set(from, hold);
  WakeAt(from);
}

void SendQueue::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  state_.Write(cycle, write.qpn, write.state);
  WakeAt(cycle + 2);  // a replay that waits samples the state in every cycle, as read in the cycle before
  if (write.clear || write.state == IbQpState::kInit) {
    WriteSilenced();
    silenced_ = Silenced{cycle, write.qpn, write.clear};
    // What was pushed in the QP's last lifetime, maybe by another program.
    if (push_arrival_ && push_arrival_->cycle < cycle) WritePush();
    push_arrival_.reset();
    push_voided_ = cycle;
    newest_pushes_[write.qpn] = {};
    push_heads_.Write(cycle + 1, write.qpn, {});
  }
  // Work may have been posted before the state that serves it: entering that state counts as a doorbell.
  if (!IsServed(write.state)) return;
  wake_.Push(cycle, write.qpn);
  WakeAt(std::max(cycle, wake_.PopReady()));
}

// A write in the cycle of a state that voids a push is lost, and with it what was to be pushed: it comes by the ring.
// The doorbell is not.
void SendQueue::OnPushWrite(Cycle cycle, const spec::PushWrite& write) {
  if (!has_push_) return;
  if (push_arrival_) WritePush();
  if (push_voided_ != cycle) push_arrival_ = PushArrival{cycle, write};
  if (write.place != 0) return;
  pushes_.Push(cycle, write.qpn);
  WakeAt(std::max(cycle, pushes_.PopReady()));
}

void SendQueue::WritePush() {
  const auto [cycle, write] = *push_arrival_;
  push_arrival_.reset();
  PushHead& head = newest_pushes_[write.qpn];
  if (write.place == 0) {
    head.end = spec::RdmaPush::FromWord(write.data);
    const uint32_t words = (head.end.length + uint32_t{spec::RdmaPush::kBytes} - 1) / spec::RdmaPush::kBytes;
    head.sealed = head.end.length >= spec::RdmaSqBase::kBytes && head.end.length <= spec::kRdmaPushMost &&
                  head.count == 1 + words;
    head.count = 0;
  } else {
    head.count = write.place == 1 || write.place == head.count + 1 ? write.place : uint8_t{0};
    head.sealed = false;
    push_words_.Write(cycle + 1, size_t{write.qpn} * kPushWords + write.place - 1, write.data);
  }
  push_heads_.Write(cycle + 1, write.qpn, head);
}

void SendQueue::Run(Cycle now) {
  if (push_arrival_ && push_arrival_->cycle + 2 <= now) WritePush();
  if (const auto sends = std::exchange(sends_, std::nullopt)) on_qp_sends(now, *sends);
  bool moved = Leave(now, request_, buffer_request_out);
  moved |= Leave(now, fetch_, fetch_request_out);
  moved |= Leave(now, work_, work_request_out);
  moved |= Leave(now, failure_, queue_failure_out);
  // The machines see each other's registers as of the start of the cycle.
  const bool answered = answer_.has_value(), quick = quick_.has_value();
  const bool looked_up = IsLookedUp(now), is_quick = looked_up && IsQuick(now);
  // One that follows a quick one of its QP must not pass it.
  const bool is_slow = looked_up && !is_quick && !(quick && quick_->qpn == replay_in.front().qpn);
  if (!looked_up && replay_in.CanPop(now)) WakeAt(now + 1);
  if (is_quick && !quick) {
    TakeQuick(now);
    moved = true;
  }
  const uint32_t requests = requests_, buffers = buffers_;
  moved |= RunFetch(now, answered);
  const uint32_t requests_taken = requests - requests_, buffers_taken = buffers - buffers_;
  requests_ = requests;
  buffers_ = buffers;
  moved |= RunLine(now, answered, is_slow);
  requests_ -= requests_taken;
  buffers_ -= buffers_taken;
  moved |= RunAssemble(now, quick);
  if (meter_ != nullptr) meter_->OnMachine(now, false, line_.size() != 0 && !HasRoom());
  if (const bool hold = hold_.At(now); hold != held_) {
    held_ = hold;
    moved = true;
  }
  if (moved) WakeAt(now + 1);
}

// For another request of work.
bool SendQueue::HasRoom() const { return requests_ != sizes_.requests && buffers_ <= sizes_.buffers - kFew; }

size_t SendQueue::PlaceOf(uint32_t qpn, uint16_t head) const {
  const size_t of_one = std::min<size_t>(send_records_, kept_.size());
  return ((qpn * of_one) | (head % of_one)) % kept_.size();
}

bool SendQueue::Sends(Cycle now, uint32_t qpn) { return state_.Read(now - 1, qpn) >= IbQpState::kRts; }

// Replays of a QP stay in order, so one that is requested goes first; unless none has an effect any more.
bool SendQueue::IsQuick(Cycle now) {
  const spec::Replay& replay = replay_in.front();
  if (!Sends(now, replay.qpn)) return true;
  if (replays_.AnyBefore(now, [&](const spec::Replay& other) { return other.qpn == replay.qpn; })) return false;
  if (replay.resume) return true;
  if (!keeps_) return false;
  const Kept& kept = kept_.Read(now - 1, PlaceOf(replay.qpn, replay.head));
  return kept.valid && kept.qpn == replay.qpn && kept.head == replay.head;
}

void SendQueue::TakeQuick(Cycle now) {
  const spec::Replay replay = replay_in.Pop(now);
  quick_.emplace();
  if (!Sends(now, replay.qpn)) {
    quick_->failed = RdmaError::kBadDescriptor;
  } else if (!replay.resume) {
    const Kept& kept = kept_.Read(now - 1, PlaceOf(replay.qpn, replay.head));
    quick_->address = kept.address;
    quick_->bytes = kept.bytes;
    std::copy_n(kept.head_bytes, kHeadBytes, quick_->head_bytes);
    std::copy_n(kept.tail_bytes, kTailBytes, quick_->tail_bytes);
  }
  quick_->qpn = replay.qpn;
  SetReplay(replay, *quick_);
}

bool SendQueue::RunLine(Cycle now, bool answered, bool replay_is_slow) {
  if (event_) {
    Decide(now);
    return true;
  }
  const bool rang = doorbell_in.CanPop(now);
  const bool request_ready = !request_ && requests_ != sizes_.requests;
  const bool servable = line_.CanPop(now) && !request_ && HasRoom() && !held_;
  const bool pushed = pushes_.CanPop(now);
  const bool replay_servable = replay_is_slow && request_ready && buffers_ != sizes_.buffers && replays_.CanPush(now);
  if (retired_in.CanPop(now)) {
    if (const auto qpn = queues_.QpOf(now, retired_in.Pop(now).vq_index)) event_ = Event{Op::kRetired, *qpn};
  } else if (answered) {
    event_ = Event{Op::kAnswer, answer_->fetch.qpn};
  } else if (wake_.CanPop(now)) {
    event_ = Event{Op::kWake, wake_.Pop(now)};
    WakeAt(wake_.PopReady());
  } else if (pushed && !(rang && ring_turn_) && !((servable || replay_servable) && line_turn_)) {
    line_turn_ = true;
    ring_turn_ = true;
    const bool can_be_taken = request_ready && buffers_ != sizes_.buffers && !held_ && extensible_.At(now);
    event_ = Event{can_be_taken ? Op::kPush : Op::kRing, pushes_.Pop(now)};
    WakeAt(pushes_.PopReady());
  } else if (rang && !((servable || replay_servable) && line_turn_)) {
    line_turn_ = true;
    ring_turn_ = false;
    if (const auto qpn = queues_.QpOf(now, doorbell_in.Pop(now).vq_index)) event_ = Event{Op::kRing, *qpn};
  } else if (replay_servable && (!servable || replay_turn_)) {
    RequestReplay(now);
  } else if (servable) {
    line_turn_ = false;
    replay_turn_ = true;
    event_ = Event{Op::kServe, line_.Pop(now)};
  } else {
    return false;
  }
  return true;
}

// Independent of its QP's slot, so it is decided at once.
void SendQueue::RequestReplay(Cycle now) {
  line_turn_ = false;
  replay_turn_ = false;
  const spec::Replay replay = replay_in.Pop(now);
  replays_.Push(now, replay);
  fetches_pending_.Push(now, {.qpn = replay.qpn, .count = 1, .is_replay = true, .resume = replay.resume});
  ++requests_;
  ++buffers_;
  if (replay.resume) return;
  request_ = spec::BufferRequest{.client = spec::BufferClient::kSend,
                                 .vq_index = queues_.IndexOf(now, replay.qpn),
                                 .by_index = true,
                                 .index = replay.head,
                                 .count = 1};
}

void SendQueue::Decide(Cycle now) {
  const Event event = *event_;
  event_.reset();
  Slot slot = slots_.Read(now - 1, event.qpn);
  const uint32_t in_use = slot.in_use;
  const bool served = IsServed(state_.Read(now - 1, event.qpn));
  switch (event.op) {
    case Op::kRetired: --slot.in_use; break;
    case Op::kAnswer:
      slot.requested = false;
      slot.in_use -= answer_->fetch.count - answer_->got;
      // One that was pushed is the last, if it was the next.
      if ((answer_->got == answer_->fetch.count) != answer_->fetch.pushed) slot.more = true;
      answer_.reset();
      break;
    case Op::kPush:
      if (served && !slot.more && !slot.requested && !slot.queued && slot.in_use != send_records_ &&
          TakePush(now, event.qpn)) {
        slot.requested = true;
        ++slot.in_use;
      } else {
        slot.more = true;
      }
      break;
    case Op::kWake:
    case Op::kRing: slot.more = true; break;
    case Op::kServe:
      slot.queued = false;
      if (served) {
        const size_t others = line_.size() + requests_;
        const uint32_t share = others == 0 ? kSendsPerRequest : others == 1 ? kSendsPerRequest / 2 : kFew;
        const uint32_t count = std::min({send_records_ - slot.in_use, share, sizes_.buffers - buffers_});
        slot.more = false;
        slot.requested = true;
        slot.in_use += count;
        request_ = spec::BufferRequest{.client = spec::BufferClient::kSend,
                                       .vq_index = queues_.IndexOf(now, event.qpn),
                                       .count = static_cast<uint8_t>(count)};
        fetches_pending_.Push(now, {event.qpn, count});
        ++requests_;
        buffers_ += count;
      }
      break;
  }
  if (slot.more && !slot.queued && !slot.requested && served && slot.in_use <= send_records_ - fetch_room_) {
    slot.queued = true;
    line_.Push(now, event.qpn);
  }
  slots_.Write(now, event.qpn, slot);
  if (slot.in_use != in_use) {
    sends_ = spec::QpSends{.qpn = event.qpn, .outstanding = static_cast<uint16_t>(slot.in_use)};
  }
}

// Of a queue of which nothing else is requested. False: it is not complete.
bool SendQueue::TakePush(Cycle now, uint32_t qpn) {
  const PushHead& head = push_heads_.Read(now - 1, qpn);
  if (!head.sealed) return false;
  request_ = spec::BufferRequest{.client = spec::BufferClient::kSend,
                                 .vq_index = queues_.IndexOf(now, qpn),
                                 .index = head.end.position,
                                 .count = 1,
                                 .table_address = push_words_.Read(now - 1, size_t{qpn} * kPushWords),
                                 .table_entries = head.end.head,
                                 .pushed = true,
                                 .bytes = static_cast<uint8_t>(head.end.length)};
  fetches_pending_.Push(now, {.qpn = qpn, .count = 1, .pushed = true, .position = head.end.position});
  ++requests_;
  ++buffers_;
  return true;
}

// The bytes of the work request in this buffer, unless something else was pushed meanwhile.
std::optional<SendQueue::PushedBytes> SendQueue::BytesPushed(Cycle now, const Fetch& fetch, uint32_t bytes) {
  const PushHead& head = push_heads_.Read(now - 1, fetch.qpn);
  if (!fetch.pushed || !head.sealed || head.end.position != fetch.position || head.end.length != bytes) return {};
  PushedBytes pushed{};
  const size_t words = size_t{fetch.qpn} * kPushWords + 1;
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = push_words_.Read(now - 1, words + at / sizeof word);
    for (size_t i = 0; i < std::min(sizeof word, bytes - at); ++i) {
      pushed.bytes[at + i] = static_cast<uint8_t>(word >> 8 * i);
    }
  }
  return pushed;
}

bool SendQueue::RunFetch(Cycle now, bool answered) {
  if (tail_) {
    if (fetch_) return false;
    fetch_ = spec::DmaReadRequest{.address = tail_->address, .bytes = tail_->bytes, .tag = 1};
    tail_.reset();
    return true;
  }
  if (!fetches_pending_.CanPop(now) || !infos_.CanPush(now)) return false;
  const Fetch fetch = fetches_pending_.front();
  if (fetch.resume) {
    infos_.Push(now, {.qpn = fetch.qpn, .failed = RdmaError::kOk, .is_replay = true, .resume = true});
    fetches_pending_.Pop(now);
    --requests_;
    --buffers_;
    return true;
  }
  // There is space for the responses to all reads.
  const bool has_room = reads_begun_ - reads_taken_ + 2 <= sizes_.fetches;
  if (!buffer_in.CanPop(now) || answered || fetch_ || !has_room || (fetch.pushed && pushed_)) return false;
  // The QP's state is read in the cycle before.
  if (!fetches_pending_.CanPop(now - 1)) {
    WakeAt(now + 1);
    return false;
  }
  spec::Buffer buffer = buffer_in.Pop(now);
  std::optional<PushedBytes> pushed_now;
  if (buffer.status == BufferStatus::kOk || fetch.is_replay) {
    ++got_;
    // A send work request is one device-readable descriptor. [RFC v2, RoCE Support] A record's descriptor was checked
    // before. What was posted before a QP stopped is the driver's again.
    const bool none = buffer.status != BufferStatus::kOk;
    if (none) buffer.address = buffer.bytes = 0;
    const bool is_bad = none || buffer.writable || buffer.more || !Sends(now, fetch.qpn);
    const bool is_short = buffer.bytes < spec::RdmaSqReq::kBytes;
    const bool extensible = is_short && buffer.bytes >= spec::RdmaSqBase::kBytes && extensible_.At(now);
    const RdmaError failed = is_bad                    ? RdmaError::kBadDescriptor
                             : is_short && !extensible ? RdmaError::kBadWqe
                                                       : RdmaError::kOk;
    if (failed == RdmaError::kOk) pushed_now = BytesPushed(now, fetch, buffer.bytes);
    infos_.Push(now, {.qpn = fetch.qpn,
                      .head = buffer.head,
                      .address = buffer.address,
                      .bytes = buffer.bytes,
                      .failed = failed,
                      .extensible = extensible,
                      .is_replay = fetch.is_replay,
                      .resume = false,
                      .pushed = pushed_now.has_value()});
    if (pushed_now) {
      pushed_ = pushed_now;
    } else if (failed == RdmaError::kOk && extensible) {
      ++reads_begun_;
      fetch_ =
          spec::DmaReadRequest{.address = buffer.address,
                               .bytes = static_cast<uint16_t>(std::min<uint32_t>(buffer.bytes, spec::kDmaFetchBytes)),
                               .tag = 0};
    } else if (failed == RdmaError::kOk) {
      reads_begun_ += 2;
      fetch_ = spec::DmaReadRequest{.address = buffer.address, .bytes = kHeadBytes, .tag = 0};
      tail_ = Tail{buffer.address + spec::RdmaSqReq::kSizeOffset,
                   static_cast<uint16_t>(
                       std::min(kTailBytes, buffer.bytes - static_cast<uint32_t>(spec::RdmaSqReq::kSizeOffset)))};
    }
  }
  if (buffer.last) {
    fetches_pending_.Pop(now);
    if (!fetch.is_replay) answer_ = Answer{fetch, got_};
    got_ = 0;
    --requests_;
    buffers_ -= fetch.count;
  }
  return true;
}

bool SendQueue::RunAssemble(Cycle now, bool quick) {
  const bool is_ready = infos_.CanPop(now) && (infos_.front().failed != RdmaError::kOk || infos_.front().resume ||
                                               infos_.front().pushed || fetched_in.CanPop(now));
  if (quick && !head_ && !work_ && !failure_ && !(is_ready && reads_due_ != 0)) {
    work_ = std::exchange(quick_, std::nullopt);
    const bool is_part = !work_->resume && (work_->packets != 0 || work_->psn != work_->first_psn);
    reads_due_ = is_part ? spec::kSendReadsPerBurst : 1;
    return true;
  }
  if (!is_ready) return false;
  const Info& info = infos_.front();
  RdmaError failed = info.failed;
  bool own_failure = false;  // of a work request outside a replay
  spec::WorkRequest work{.qpn = info.qpn, .head = info.head, .address = info.address, .bytes = info.bytes};
  if (info.pushed) {
    if (work_ || failure_) return false;
    if (reads_due_ != 0) --reads_due_;
    std::copy_n(pushed_->bytes, kHeadBytes, work.head_bytes);
    std::copy_n(pushed_->bytes + kHeadBytes, kRestBytes, work.tail_bytes);
    pushed_.reset();
  } else if (failed == RdmaError::kOk && !info.resume) {
    if (!head_) {
      if (reads_due_ != 0) --reads_due_;
      const spec::DmaFetched fetched = fetched_in.front();
      // An extensible one has both parts in one response.
      if (!info.extensible) {
        fetched_in.Drop(now);
        ++reads_taken_;
      }
      head_.emplace();
      std::copy_n(fetched.data, kHeadBytes, head_->bytes);
      head_->failed = fetched.resp != static_cast<uint8_t>(AxiResp::kOkay);
      return true;
    }
    if (work_ || failure_) return false;
    const spec::DmaFetched& fetched = fetched_in.front();
    if (head_->failed || fetched.resp != static_cast<uint8_t>(AxiResp::kOkay)) {
      failed = RdmaError::kQueueDmaError;
      own_failure = !info.is_replay;
      if (own_failure && !CanReport(now)) return false;
    } else {
      std::copy_n(head_->bytes, kHeadBytes, work.head_bytes);
      if (info.extensible) {
        std::copy_n(fetched.data + kHeadBytes, kRestBytes, work.tail_bytes);
      } else {
        std::copy_n(fetched.data, kTailBytes, work.tail_bytes);
      }
    }
    fetched_in.Drop(now);
    ++reads_taken_;
    head_.reset();
  } else {
    if (work_ || failure_) return false;
    own_failure = !info.is_replay;
    if (own_failure && !CanReport(now)) return false;
    if (reads_due_ != 0) --reads_due_;
  }
  work.failed = failed;
  if (info.is_replay) SetReplay(replays_.Pop(now), work);
  if (!info.resume) Keep(now, work);
  // The completer judges a replay's failure: its record may have ended, and its buffer been reused. A failure ends the
  // QP: later work in flight reports nothing more.
  if (own_failure && silent_.Read(now - 1, info.qpn) == 0) {
    failure_ = spec::QueueFailure{.vq_index = queues_.IndexOf(now, info.qpn), .code = failed};
    silent_.Write(now, info.qpn, 1);
  }
  work_ = work;
  infos_.Pop(now);
  return true;
}

// A record's replay comes after its work request, so the newest one of a head is the record's.
void SendQueue::Keep(Cycle now, const spec::WorkRequest& work) {
  if (!keeps_) return;
  Kept kept{.valid = work.failed == RdmaError::kOk,
            .qpn = work.qpn,
            .head = work.head,
            .address = work.address,
            .bytes = work.bytes};
  std::copy_n(work.head_bytes, kHeadBytes, kept.head_bytes);
  std::copy_n(work.tail_bytes, kTailBytes, kept.tail_bytes);
  kept_.Write(now, PlaceOf(work.qpn, work.head), kept);
  if (replay_in.size() != 0) WakeAt(now + 2);  // it may be the place of the replay that waits
}

// The flag is read in the cycle before, and a state is written first.
bool SendQueue::CanReport(Cycle now) {
  const bool writes = now > 0 && ((silenced_ && silenced_->cycle == now - 1) || silenced_before_ == now - 1);
  if (infos_.CanPop(now - 1) && !writes) {
    if (silenced_ && silenced_->cycle < now) WriteSilenced();
    return true;
  }
  WakeAt(now + 1);
  return false;
}

void SendQueue::WriteSilenced() {
  if (!silenced_) return;
  silent_.Write(silenced_->cycle + 1, silenced_->qpn, silenced_->silent ? 1 : 0);
  silenced_before_ = silenced_->cycle;
  silenced_.reset();
}

bool SendQueue::IsIdle() const {
  return !event_ && doorbell_in.size() == 0 && retired_in.size() == 0 && replay_in.size() == 0 && wake_.IsEmpty() &&
         pushes_.IsEmpty() && (line_.size() == 0 || held_) && requests_ == 0 && !answer_ && !tail_ &&
         infos_.size() == 0 && !quick_ && !request_ && !fetch_ && !work_ && !failure_ && !sends_;
}

}  // namespace vireo::model
