// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/rx_scatter.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/common/wide_slice.h"
#include "model/rdma/key_fence.h"

namespace vireo::model {
namespace {

constexpr uint32_t kMsnMask = (1u << spec::kPsnBits) - 1;

}  // namespace

RxScatter::RxScatter(Agenda& agenda, uint32_t data_bits, size_t num_qps, FrameStore& store)
    : Block(agenda),
      place_in(WideSlice<spec::RxPlace>(data_bits)),
      beat_bytes_(data_bits / 8),
      store_(store),
      pending_(Channel<Pending>::Fifo(WaitingPackets(data_bits))),
      refusals_(num_qps) {
  assert(WaitingPackets(data_bits) <= kMostPlaces);
  place_in.SetConsumer(this);
  pending_.SetProducer(this);
  pending_.SetConsumer(this);
  store_.SetReader(this);
}

void RxScatter::OnWriteDone(Cycle now, bool is_refused) {
  dones_.push_back({now, is_refused});
  if (pending_.size() != 0) WakeAt(now + 1);
}

void RxScatter::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  if (write.state != spec::IbQpState::kInit) return;
  ApplyClear(now);  // of an earlier pulse
  clear_ = {now + 1, static_cast<uint32_t>(write.qpn % refusals_.size())};
}

void RxScatter::Run(Cycle now) {
  Leave(now);
  stream_.Run(now);
  if (net_until_ && *net_until_ <= now) net_until_.reset();
  if (begins_ > now) return WakeAt(begins_);
  switch (state_) {
    case State::kPlace: TakePlace(now); break;
    case State::kRun: EndWrite(now); break;
    case State::kFree:
      store_.Free(now);
      state_ = State::kPlace;
      begins_ = now + 1;
      break;
  }
  if (begins_ == now + 1) WakeAt(begins_);
}

// Whole beats without gaps and without back-pressure.
void RxScatter::TakeNet(Cycle now) {
  if (!store_.HasOldest(now)) return;
  const size_t bytes = place_in.Pop(now).net_bytes;
  const size_t beats = (bytes + beat_bytes_ - 1) / beat_bytes_;
  if (net_sink != nullptr) net_sink->OnNetFrame(now + kNetLatency, store_.oldest().first(bytes));
  // Freed with the last read.
  state_ = State::kFree;
  begins_ = now + beats;
  net_until_ = now + kNetLatency + beats - 1;
  WakeAt(begins_);
  WakeAt(*net_until_);
}

void RxScatter::TakePlace(Cycle now) {
  if (!place_in.CanPop(now)) return;
  if (place_in.front().net_bytes != 0) return TakeNet(now);
  if (!pending_.CanPush(now)) return;
  if (!place_in.front().no_frame && !store_.HasOldest(now)) return;
  place_ = place_in.Pop(now);
  const unsigned writes = place_.no_frame || place_.bytes0 == 0 ? 0 : place_.bytes1 == 0 ? 1 : 2;
  number_ += writes;
  pending_.Push(now, {.grant = place_.grant,
                      .number = number_,
                      .writes = writes,
                      .no_frame = place_.no_frame,
                      .more = place_.more,
                      .request = place_.request,
                      .acknowledged = place_.acknowledged,
                      .uses_receive = place_.uses_receive,
                      .ends_message = place_.ends_message,
                      .fence = place_.fence,
                      .generation = place_.fence ? key_fence(now).sent : uint8_t{0},
                      .has_completion = place_.has_completion,
                      .completion = place_.completion,
                      .has_ack = place_.has_ack,
                      .ack = place_.ack,
                      .has_answer = place_.has_answer,
                      .answer = place_.answer});
  if (place_.fence) on_fence_wait(now + 1);
  begins_ = now + 1;
  if (writes != 0) {
    second_ = false;
    for (size_t i = 0; i < value_.size(); ++i) value_[i] = static_cast<uint8_t>(place_.value >> 8 * i);
    state_ = State::kRun;
    BeginWrite(now, Offset(), place_.address0, place_.bytes0);
  } else if (!place_.no_frame && !place_.more && !place_.copied) {
    state_ = State::kFree;
  }
}

void RxScatter::BeginWrite(Cycle now, size_t offset, uint64_t address, size_t bytes) {
  stream_.Begin(now + 1, {.address = address,
                          .bytes = bytes,
                          .lane = place_.zeros || place_.has_value ? 0 : offset % beat_bytes_,
                          .notify = true,
                          .tag = 0,
                          .data = place_.zeros       ? nullptr
                                  : place_.has_value ? value_.data() + offset
                                                     : store_.oldest().subspan(offset, bytes).data()});
}

// In the cycle of the last step.
void RxScatter::EndWrite(Cycle now) {
  if (stream_.LastStep() > now) return;
  begins_ = now + 1;
  if (!second_ && place_.bytes1 != 0) {
    second_ = true;
    return BeginWrite(now, Offset() + place_.bytes0, place_.address1, place_.bytes1);
  }
  if (!place_.more && !place_.copied) store_.Free(now);
  state_ = State::kPlace;
}

bool RxScatter::IsRefused(const Pending& pending) const {
  return (pending.writes != 0 && refused_[pending.number % refused_.size()]) ||
         (pending.writes == 2 && refused_[(pending.number - 1) % refused_.size()]);
}

void RxScatter::ApplyClear(Cycle now) {
  if (!clear_ || clear_->cycle > now) return;
  refusals_.Write(clear_->cycle, clear_->qpn, {});
  clear_.reset();
}

// Once a QP has failed, that of each place is read from the table when the place is the first one in the line, and is
// known one cycle later.
bool RxScatter::LookUp(Cycle now, uint32_t qpn) {
  refusal_ = {};
  if (!any_failed_) return true;
  if (!looked_) {
    looked_ = now;
    WakeAt(now + 1);
  }
  if (*looked_ == now) return false;
  refusal_ = refusals_.Read(now - 1, qpn % refusals_.size());
  return true;
}

// Samples the fence in every cycle until it has passed, and goes on in the next one.
bool RxScatter::IsFenced(Cycle now, const Pending& pending) {
  if (!pending.fence) return false;
  WakeAt(now + 1);
  const spec::KeyFence fence = key_fence(now);
  if (pending.generation == fence.sent) on_fence_wait(now + 1);
  if (fence_passed_) return *fence_passed_ >= now;
  if (HasPassed(pending.generation, fence.sent, fence.sent_open)) fence_passed_ = now;
  return true;
}

void RxScatter::Leave(Cycle now) {
  const bool clears = clear_ && clear_->cycle == now;
  if (!clears) ApplyClear(now);
  if (!pending_.CanPop(now)) return;
  const Pending& pending = pending_.front();
  const uint32_t qpn = pending.answer.packet.qpn;
  const bool is_known = LookUp(now, qpn);
  // Those of this cycle are visible from the next one on.
  for (; !dones_.empty() && dones_.front().cycle < now; dones_.pop_front()) {
    refused_[++done_ % refused_.size()] = dones_.front().is_refused;
  }
  const bool is_fenced = IsFenced(now, pending);
  if (!is_known || done_ < pending.number || is_fenced) return;

  const bool refused = IsRefused(pending) || (frame_refused_ && !pending.no_frame);
  const bool ends_frame = !pending.no_frame && !pending.more;
  const bool fails = refused && ends_frame && pending.request && !refusal_.failed;
  const auto has = [&](Part part) {
    switch (part) {
      case Part::kCompletion: return pending.has_completion;
      case Part::kAck: return pending.has_ack;
      case Part::kAnswer: return fails ? pending.acknowledged : pending.has_answer && !refusal_.failed;
      case Part::kFailure: return fails;
      case Part::kNone: break;
    }
    return true;
  };
  const auto next = [&](Part part) {
    while (!has(part)) part = static_cast<Part>(static_cast<uint8_t>(part) + 1);
    return part;
  };
  part_ = next(part_);
  if (part_ != Part::kNone) {
    if (!Send(now, part_, pending, fails, refused && ends_frame)) return;
    part_ = next(static_cast<Part>(static_cast<uint8_t>(part_) + 1));
    if (part_ != Part::kNone) return WakeAt(now + 1);
  }
  // Its last output takes it out of the line, together with what it changes of its QP.
  if (fails || (refusal_.failed && refusal_.receives && pending.has_completion)) {
    if (clears) return WakeAt(now + 1);
    // A message that is not complete keeps its receive until another place completes it.
    refusals_.Write(now, qpn % refusals_.size(),
                    {.failed = true, .receives = fails && pending.uses_receive && !pending.has_completion});
    any_failed_ = true;
  }
  if (!pending.no_frame) frame_refused_ = refused && pending.more;
  part_ = Part::kCompletion;
  looked_.reset();
  fence_passed_.reset();
  if (pending.grant.valid) on_grant_ended(now, now + 1, pending.grant);
  pending_.Drop(now);
  ++places_ended_;
}

// False: not taken in this cycle.
bool RxScatter::Send(Cycle now, Part part, const Pending& pending, bool fails, bool refused) {
  switch (part) {
    case Part::kCompletion: {
      if (!completion_out.CanPush(now)) return false;
      spec::Completion completion = pending.completion;
      if (fails || refusal_.failed) {
        const bool is_own = fails || refusal_.receives;
        auto cqe = spec::RdmaCqReq::Decode(completion.cqe);
        cqe.status = is_own ? spec::IbWcStatus::kLocQpOpErr : spec::IbWcStatus::kWrFlushErr;
        cqe.vendor_err = is_own ? static_cast<uint32_t>(spec::RdmaError::kQueueDmaError) : 0;
        cqe.Encode(completion.cqe);
      }
      completion_out.Push(now, completion);
      return true;
    }
    case Part::kAck: {
      if (!ack_out.CanPush(now)) return false;
      spec::RxAck ack = pending.ack;
      if (refused && ack.is_read && ack.status == spec::IbWcStatus::kSuccess) {
        ack.status = spec::IbWcStatus::kLocQpOpErr;
        ack.syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError);
      }
      ack_out.Push(now, ack);
      return true;
    }
    case Part::kAnswer: {
      if (!answer_out.CanPush(now)) return false;
      spec::RxAnswer answer = pending.answer;
      if (fails) {
        // [IBTA vol. 1, 9.9.5.2]
        auto aeth = spec::Aeth::Decode(answer.packet.extension);
        aeth.msn = (aeth.msn - pending.ends_message) & kMsnMask;
        aeth.Encode(answer.packet.extension);
        answer.packet.extension[0] = static_cast<uint8_t>(spec::AethSyndrome::kNakRemoteOperationalError);
      }
      answer_out.Push(now, answer);
      return true;
    }
    case Part::kFailure:
      if (!failure_out.CanPush(now)) return false;
      failure_out.Push(now, {.qpn = pending.answer.packet.qpn,
                             .event_type = spec::RdmaEventType::kQpFatal,
                             .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError),
                             .reported = pending.has_completion || pending.uses_receive});
      return true;
    case Part::kNone: break;
  }
  return true;
}

}  // namespace vireo::model
