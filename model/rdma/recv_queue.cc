// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/recv_queue.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "model/common/output_register.h"
#include "model/dma/dma_split.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;
using spec::RdmaError;

constexpr uint32_t kReceivesPerRequest = spec::kReceiveBuffersPerRequest;

// Part of a work request that is read: the fixed part and the first element.
constexpr uint32_t kRequestBytes = spec::RdmaRqReq::kBytes;
constexpr uint32_t kSgeBytes = spec::RdmaSge::kBytes;

// Of a receive, or of a READ.
uint32_t MostElements(const spec::Config& config) { return std::max(config.max_recv_sge, config.max_send_sge); }
// In one read. Of short lists each is read alone, so that no read is longer than that of a work request.
uint32_t ReadElements(const spec::Config& config) { return MostElements(config) > 4 ? 4 : 1; }

bool IsOkay(const spec::DmaFetched& fetched) { return fetched.resp == static_cast<uint8_t>(AxiResp::kOkay); }

}  // namespace

RecvQueue::RecvQueue(Agenda& agenda, const spec::Config& config)
    : RecvQueue(agenda, config, Sizes{.ahead = config.receives_ahead}) {}

RecvQueue::RecvQueue(Agenda& agenda, const spec::Config& config, const Sizes& sizes)
    : Block(agenda),
      buffer_in(Channel<spec::Buffer>::Fifo(size_t{sizes.requests} * std::min(sizes.ahead, kReceivesPerRequest))),
      fetched_in(Channel<spec::DmaFetched>::Fifo(sizes.fetches)),
      has_shared_queues_(config.max_srqs != 0),
      max_recv_sge_(config.max_recv_sge),
      sizes_(sizes),
      read_elements_(ReadElements(config)),
      list_elements_(std::bit_ceil(MostElements(config))),
      queues_(config.net_queue_pairs, config.num_cqs, config.num_qps, spec::kRdmaReceiveqOffset),
      clear_(config.num_qps),
      armed_(config.num_qps),
      rung_(config.num_qps),
      limits_(config.num_qps),
      infos_(Channel<Info>::Fifo(sizes.fetches)),
      slots_(config.num_qps),
      ring_(size_t{config.num_qps} * sizes.ahead),
      lists_(config.num_qps),
      elements_(size_t{config.num_qps} * list_elements_) {
  receive_request_in.SetConsumer(this);
  buffer_in.SetConsumer(this);
  fetched_in.SetConsumer(this);
  infos_.SetConsumer(this);
}

void RecvQueue::SetMq(Cycle from, bool mq) { queues_.SetMq(from, mq); }

void RecvQueue::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  if (!write.clear) return;
  clear_.Push(cycle, write.qpn);
  WakeAt(std::max(cycle, clear_.PopReady()));
}

void RecvQueue::OnQueueRung(Cycle cycle, const spec::QueueRung& rung) {
  rung_.Push(cycle, rung.qpn);
  WakeAt(std::max(cycle, rung_.PopReady()));
}

void RecvQueue::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (!has_shared_queues_ || write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  const auto queue = static_cast<uint32_t>(write.index % limits_.size());
  if (!context.is_srq) return limits_.Write(cycle, queue, {});
  limits_.Write(cycle, queue, {.is_shared = true, .armed = context.limit_armed, .position = context.srq});
  armed_.Push(cycle, queue);
  WakeAt(std::max(cycle, armed_.PopReady()));
}

void RecvQueue::Run(Cycle now) {
  bool moved = Leave(now, fetch_, fetch_request_out);
  moved |= Leave(now, request_, buffer_request_out);
  moved |= Leave(now, receive_, receive_out);
  moved |= Leave(now, retry_, receive_retry_out);
  moved |= Leave(now, failure_, queue_failure_out);
  // The machines see each other's registers as of the start of the cycle.
  const uint32_t requests = requests_;
  moved |= RunFetch(now);
  const uint32_t done = requests - requests_;
  requests_ = requests;
  moved |= RunRings(now);
  requests_ -= done;
  if (moved) WakeAt(now + 1);
}

bool RecvQueue::RunFetch(Cycle now) {
  if (fetch_ || !infos_.CanPush(now)) return false;
  if (rest_) {
    const uint32_t count = std::min<uint32_t>(rest_->elements, read_elements_);
    infos_.Push(now, {.qpn = wait_qpn_, .element = true, .reads = true, .bytes = rest_->elements});
    fetch_ = spec::DmaReadRequest{.address = rest_->address, .bytes = static_cast<uint16_t>(count * kSgeBytes)};
    rest_->address += count * kSgeBytes;
    rest_->elements = static_cast<uint8_t>(rest_->elements - count);
    if (rest_->elements == 0) rest_.reset();
    return true;
  }
  if (!buffer_in.CanPop(now)) return false;
  const spec::Buffer buffer = buffer_in.Pop(now);
  Info info{.qpn = queues_.QpOf(now, buffer.vq_index).value_or(0),
            .broken = buffer.status == BufferStatus::kFailed,
            .last = buffer.last};
  if (buffer.status == BufferStatus::kOk) {
    info.receive = true;
    info.head = buffer.head;
    if (buffer.has_id) info.id = buffer.id;
    info.address = buffer.address;
    info.bytes = buffer.bytes;
    // A receive work request is one device-readable descriptor. [RFC v2, RoCE Support]
    info.failed = buffer.writable || buffer.more ? RdmaError::kBadDescriptor
                  : buffer.bytes < kRequestBytes ? RdmaError::kBadWqe
                                                 : RdmaError::kOk;
    info.reads = info.failed == RdmaError::kOk;
  }
  if (info.reads) {
    fetch_ = spec::DmaReadRequest{.address = buffer.address,
                                  .bytes = static_cast<uint16_t>(std::min(buffer.bytes, kRequestBytes + kSgeBytes))};
  }
  if (buffer.last) --requests_;
  infos_.Push(now, info);
  return true;
}

bool RecvQueue::RunRings(Cycle now) {
  if (delivery_) {
    const spec::Receive& receive = ring_[delivery_->place];
    if (receive.code != RdmaError::kOk) {
      failure_ = spec::QueueFailure{.vq_index = queues_.IndexOf(now, delivery_->qpn), .code = receive.code};
    }
    receive_ = receive;
    wait_ = Wait::kNone;
    delivery_.reset();
    return true;
  }
  if (event_) {
    Decide(now);
    return true;
  }
  return Choose(now);
}

bool RecvQueue::Choose(Cycle now) {
  if (due_) {
    if (failure_) return false;
    failure_ = spec::QueueFailure{.vq_index = queues_.IndexOf(now, *due_)};
    due_.reset();
    return true;
  }
  if (clear_.CanPop(now)) {
    event_ = Event{Op::kClear, clear_.Pop(now)};
    WakeAt(clear_.PopReady());
    return true;
  }
  if (armed_.CanPop(now)) {
    event_ = Event{Op::kLimit, armed_.Pop(now)};
    WakeAt(armed_.PopReady());
    return true;
  }
  // Both outputs are free while a request is pending, but for the report of a limit.
  if (wait_ == Wait::kNone && receive_request_in.CanPop(now) && !receive_ && !failure_ && !retry_) {
    const spec::ReceiveRequest request = receive_request_in.Pop(now);
    wait_qpn_ = request.qpn;
    no_wait_ = request.no_wait;
    requested_since_ = false;
    broken_ = false;
    if (request.is_element) {
      wait_ = Wait::kElement;
      event_ = Event{Op::kElement, request.qpn};
      element_ = request.elements;
      element_address_ = request.address;
      element_is_new_ = request.is_new;
    } else {
      wait_ = Wait::kServe;
      event_ = Event{Op::kServe, request.qpn};
    }
    return true;
  }
  if (wait_ == Wait::kElement && !receive_ && !failure_ && !retry_) {
    event_ = Event{Op::kElement, wait_qpn_};
    return true;
  }
  if (!failure_ && !retry_ && (wait_ == Wait::kServe || (wait_ == Wait::kRoom && CanRequest()))) {
    event_ = Event{Op::kServe, wait_qpn_};
    return true;
  }
  if (!retry_ && infos_.CanPop(now) && (!infos_.front().reads || fetched_in.CanPop(now))) {
    event_ = Event{Op::kStore, infos_.front().qpn};
    return true;
  }
  if (CanRequest() && rung_.CanPop(now)) {
    event_ = Event{Op::kRung, rung_.Pop(now)};
    WakeAt(rung_.PopReady());
    return true;
  }
  return false;
}

// One element of the read per cycle. The one that is waited for is served when all are stored: then nothing is in
// flight when the responder goes on.
void RecvQueue::StoreElement(Cycle now) {
  const Info& info = infos_.front();
  const auto number = info.bytes - stored_;
  Element& element = elements_[size_t{info.qpn} * list_elements_ + number % list_elements_];
  element.failed = !IsOkay(fetched_in.front());
  std::copy_n(fetched_in.front().data + size_t{stored_} * kSgeBytes, kSgeBytes, element.sge);
  if (number == 1) wait_ = Wait::kElement;
  if (number != 1 && ++stored_ != read_elements_) return;
  stored_ = 0;
  infos_.Pop(now);
  fetched_in.Pop(now);
  event_.reset();
}

// The QP's list is another one if the message has a new one, if SENDs and READ responses of the QP take turns, and if a
// message starts again in a receive that one before it has used.
void RecvQueue::ServeElement(Cycle now) {
  const uint64_t end = element_address_ + kSgeBytes * element_;
  const List list = lists_.Read(now - 1, wait_qpn_);
  if (element_is_new_ || list.end != end || element_ > list.first) {
    lists_.Write(now, wait_qpn_, {.end = end, .first = element_});
    rest_ = Rest{.address = element_address_, .elements = element_};
    element_is_new_ = false;
    wait_ = Wait::kList;
    return;
  }
  const Element& element = elements_[size_t{wait_qpn_} * list_elements_ + element_ % list_elements_];
  wait_ = Wait::kNone;
  receive_.emplace();
  if (element.failed) {
    receive_->status = BufferStatus::kFailed;
    receive_->code = RdmaError::kQueueDmaError;
  } else {
    receive_->status = BufferStatus::kOk;
    std::copy_n(element.sge, kSgeBytes, receive_->sge);
  }
}

void RecvQueue::Decide(Cycle now) {
  const Event event = *event_;
  if (event.op == Op::kStore && infos_.front().element) return StoreElement(now);
  event_.reset();
  Slot slot = slots_.Read(now - 1, event.qpn);
  switch (event.op) {
    case Op::kElement: return ServeElement(now);
    case Op::kClear:
      slot.count = 0;
      slot.stale = slot.requests != 0;
      slot.retries = false;
      slot.dry = false;
      slot.again = false;
      slot.taken = 0;
      slot.armed = false;
      break;
    case Op::kLimit: {
      const Limit limit = limits_.Read(now - 1, event.qpn);
      slot.armed = limit.armed;
      slot.position = limit.position;
      CheckLimit(event.qpn, slot);
      break;
    }
    case Op::kServe:
      Serve(now, event.qpn, slot);
      CheckLimit(event.qpn, slot);
      break;
    case Op::kStore: Store(now, event.qpn, slot); break;
    case Op::kRung:
      slot.again = slot.dry || slot.requests != 0;
      if (slot.dry && slot.requests == 0) RequestBatch(now, event.qpn, slot);
      break;
  }
  slots_.Write(now, event.qpn, slot);
}

// Positions are modulo 2^16.
void RecvQueue::CheckLimit(uint32_t qpn, Slot& slot) {
  if (!slot.armed || static_cast<int16_t>(slot.taken - slot.position) < 0) return;
  due_ = qpn;
  slot.armed = false;
}

void RecvQueue::Serve(Cycle now, uint32_t qpn, Slot& slot) {
  if (slot.count != 0) {
    delivery_ = Delivery{qpn, size_t{qpn} * sizes_.ahead + slot.first};
    slot.first = (slot.first + 1) % sizes_.ahead;
    --slot.count;
    if (limits_.Read(now - 1, qpn).is_shared) ++slot.taken;
    slot.retries = false;
    // Without space for a request, the next receive that is delivered makes it.
    if (slot.requests != kRequestsPerQueue && CanRequest() &&
        slot.count + slot.Coming() <= sizes_.ahead - StepOf(sizes_.ahead) && (!slot.dry || slot.again)) {
      RequestBatch(now, qpn, slot);
    }
  } else if (no_wait_) {
    wait_ = Wait::kNone;
    receive_ = spec::Receive{.status = BufferStatus::kPending};
    slot.since = slot.requests == 0;
    if (slot.requests == 0 && CanRequest()) RequestBatch(now, qpn, slot);
    slot.retries = slot.requests != 0;
    if (!slot.retries) retry_ = spec::ReceiveRetry{.qpn = qpn};
  } else if (slot.dry) {
    // What its doorbell announced is, or can be, under way.
    if (slot.requests == 0 && CanRequest() && slot.again) RequestBatch(now, qpn, slot);
    if (slot.requests != 0 && dry_waits_.MayWait(now)) {
      wait_ = Wait::kBatch;
      dry_waits_.Begin(now);
    } else {
      wait_ = Wait::kNone;
      receive_ = spec::Receive{.status = BufferStatus::kEmpty};
    }
  } else if (slot.requests != 0) {
    wait_ = Wait::kBatch;
  } else if (requested_since_) {
    wait_ = Wait::kNone;
    receive_ = spec::Receive{.status = broken_ ? BufferStatus::kFailed : BufferStatus::kEmpty};
  } else if (CanRequest()) {
    // Also after a request that was made before a receive was needed: one may have been posted since.
    wait_ = Wait::kBatch;
    requested_since_ = true;
    RequestBatch(now, qpn, slot);
  } else {
    wait_ = Wait::kRoom;
  }
}

void RecvQueue::RequestBatch(Cycle now, uint32_t qpn, Slot& slot) {
  const uint32_t count = std::min(sizes_.ahead - slot.count - slot.Coming(), kReceivesPerRequest);
  slot.missing[slot.requests++] = static_cast<uint8_t>(count);
  slot.again = false;
  ++requests_;
  ++batches_begun_;
  request_ = spec::BufferRequest{.client = spec::BufferClient::kReceive,
                                 .vq_index = queues_.IndexOf(now, qpn),
                                 .count = static_cast<uint8_t>(count)};
}

void RecvQueue::Store(Cycle now, uint32_t qpn, Slot& slot) {
  const Info info = infos_.Pop(now);
  const spec::DmaFetched fetched = info.reads ? fetched_in.Pop(now) : spec::DmaFetched{};
  if (info.receive) --slot.missing[0];
  if (info.receive && !slot.stale) {
    const uint32_t place = (slot.first + slot.count) % sizes_.ahead;
    ring_[size_t{qpn} * sizes_.ahead + place] =
        ReceiveOf(info, fetched, limits_.Read(now - 1, qpn).is_shared, ring_packed_.At(now));
    ++slot.count;
  }
  if (info.last) {
    ++batches_ended_;
    const bool is_short = slot.missing[0] != 0 && !info.broken && !slot.stale;
    --slot.requests;
    // Only the last one in flight tells that all is in the ring.
    slot.dry = is_short && (slot.requests == 0 || slot.dry);
    slot.stale = slot.stale && slot.requests != 0;
    std::shift_left(slot.missing.begin(), slot.missing.end(), 1);
    slot.missing.back() = 0;
    // Without a receive only if one may have been posted since the request was made.
    if (slot.retries && (slot.count != 0 || !slot.since)) retry_ = spec::ReceiveRetry{.qpn = qpn};
    slot.retries = false;
    if (slot.dry && slot.again && slot.requests == 0 && CanRequest()) RequestBatch(now, qpn, slot);
  }
  if (wait_ == Wait::kBatch && wait_qpn_ == qpn) {
    wait_ = Wait::kServe;
    dry_waits_.End(now);
    if (info.broken && requested_since_) broken_ = true;
  }
}

spec::Receive RecvQueue::ReceiveOf(const Info& info, const spec::DmaFetched& fetched, bool is_shared,
                                   bool packed) const {
  spec::Receive receive{.status = BufferStatus::kFailed, .code = info.failed, .head = info.head};
  // Of a shared queue buffers are used in any order, so a packed ring's used descriptor needs the id.
  const bool unnamed = is_shared && packed && !info.id;
  if (is_shared && info.id) receive.head = *info.id;
  if (unnamed) receive.code = RdmaError::kBadDescriptor;
  if (!info.reads) return receive;
  if (!IsOkay(fetched)) {
    if (!unnamed) receive.code = RdmaError::kQueueDmaError;
    return receive;
  }
  const auto work = spec::RdmaRqReq::Decode(fetched.data);
  receive.wr_id = work.wr_id;
  if (unnamed) return receive;
  if (work.num_sge > max_recv_sge_ || info.bytes < kRequestBytes + kSgeBytes * work.num_sge) {
    receive.code = RdmaError::kBadWqe;
    return receive;
  }
  receive.status = BufferStatus::kOk;
  receive.elements = info.address + kRequestBytes;
  receive.num_sge = static_cast<uint8_t>(work.num_sge);
  if (work.num_sge != 0) std::copy_n(fetched.data + kRequestBytes, kSgeBytes, receive.sge);
  return receive;
}

bool RecvQueue::IsIdle() const {
  return !event_ && !delivery_ && !due_ && armed_.IsEmpty() && rung_.IsEmpty() && wait_ == Wait::kNone &&
         receive_request_in.size() == 0 && clear_.IsEmpty() && requests_ == 0 && infos_.size() == 0 && !request_ &&
         !fetch_ && !receive_ && !failure_ && !retry_;
}

}  // namespace vireo::model
