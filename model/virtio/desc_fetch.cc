// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/desc_fetch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

using spec::BufferStatus;
using spec::RdmaError;

constexpr unsigned kEntryBytes = spec::VirtqAvail::kRingEntryBytes;
constexpr size_t kReadsPerRequest = 4;  // on average: a request of a packed ring takes up to 9
constexpr unsigned kEntriesPerRead = spec::kDmaFetchBytes / kEntryBytes;
static_assert(kEntriesPerRead >= spec::kNetBuffersPerRequest);
constexpr unsigned kDescriptorsPerRead = spec::kDmaFetchBytes / spec::PvirtqDesc::kBytes;

uint16_t Little16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | bytes[1] << 8); }

}  // namespace

DescFetch::DescFetch(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      buffer_request_in{
          WideSlice<spec::BufferRequest>(sizes.data_bits), WideSlice<spec::BufferRequest>(sizes.data_bits),
          WideSlice<spec::BufferRequest>(sizes.data_bits), WideSlice<spec::BufferRequest>(sizes.data_bits),
          WideSlice<spec::BufferRequest>(sizes.data_bits), WideSlice<spec::BufferRequest>(sizes.data_bits)},
      areas_(spec::ContextRam::kDescFetchArea, sizes.queues, on_parity_error),
      ring_rows_(spec::ContextRam::kDescFetchSize, sizes.queues, on_parity_error),
      list_rows_(spec::ContextRam::kDescFetchDescriptors, sizes.queues, on_parity_error),
      served_(spec::ContextRam::kDescFetchServed, sizes.queues, on_parity_error),
      rings_(sizes.queues),
      windows_(spec::ContextRam::kDescFetchWindow, sizes.queues, on_parity_error),
      positions_(sizes.queues),
      known_(sizes.queues),
      reported_(sizes.queues),
      failed_(sizes.queues),
      requests_(WideSlice<Request>(sizes.data_bits)),
      index_jobs_(Channel<IndexJob>::Fifo(sizes.requests)),
      ring_jobs_(Channel<RingJob>::Fifo(sizes.requests)),
      descriptor_jobs_(Channel<DescriptorJob>::Fifo(sizes.descriptors)),
      buffer_{OutputRegister(buffer_out[0], *this), OutputRegister(buffer_out[1], *this),
              OutputRegister(buffer_out[2], *this), OutputRegister(buffer_out[3], *this),
              OutputRegister(buffer_out[4], *this), OutputRegister(buffer_out[5], *this)},
      requests_most_(sizes.requests),
      knows_entries_(sizes.knows_entries),
      ring_slots_(kReadsPerRequest * sizes.requests) {
  for (size_t i = 0; i < kClients; ++i) {
    buffer_request_in[i].SetConsumer(this);
    buffer_request_in[i].ShowIn(waiting_, i);
    buffer_[i].ShowIn(loaded_, i);
  }
  for (auto* channel : {&index_fetched_in, &ring_fetched_in, &descriptor_fetched_in, &table_fetched_in}) {
    channel->SetConsumer(this);
  }
  size_t bit = kClients;
  for (auto* out : {&index_request_, &ring_request_, &descriptor_request_, &table_request_})
    out->ShowIn(loaded_, bit++);
  queue_failure_.ShowIn(loaded_, bit);
  const auto join = [this](auto& channel) {
    channel.SetProducer(this);
    channel.SetConsumer(this);
  };
  join(requests_);
  join(index_jobs_);
  join(ring_jobs_);
  join(descriptor_jobs_);
}

void DescFetch::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kVirtqueue) {
    const auto entry = spec::TableVirtqueue::Decode(write.data);
    accepted_.Set(cycle);
    const bool none = entry.kind == spec::TableQueueKind::kNone;
    served_.Write(
        cycle, write.index,
        {.served = !none && !entry.stopped,
         .chains = entry.kind == spec::TableQueueKind::kReceive || entry.kind == spec::TableQueueKind::kTransmit ||
                   entry.kind == spec::TableQueueKind::kControl});
    rings_.Write(cycle, write.index,
                 entry.kind != spec::TableQueueKind::kCq && entry.kind != spec::TableQueueKind::kEvent);
    if (none || entry.reset_positions) {
      positions_.OnTableClear(cycle, write.index);
      known_.OnTableClear(cycle, write.index);
      reported_.OnTableClear(cycle, write.index);
      failed_.OnTableClear(cycle, write.index);
    }
  } else if (write.table_id == spec::MgmtTable::kWindow) {
    windows_.Write(cycle, write.index, spec::TableWindow::Decode(write.data));
  }
}

void DescFetch::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  areas_.OnFlip(now, flip);
  ring_rows_.OnFlip(now, flip);
  list_rows_.OnFlip(now, flip);
  served_.OnFlip(now, flip);
  windows_.OnFlip(now, flip);
}

void DescFetch::OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row) {
  for (auto* rows : {&areas_, &ring_rows_, &list_rows_}) rows->Write(cycle, row.vq_index, row);
  positions_.OnRowClear(cycle, row.vq_index);
  known_.OnRowClear(cycle, row.vq_index);
  reported_.OnRowClear(cycle, row.vq_index);
  failed_.OnRowClear(cycle, row.vq_index);
}

void DescFetch::Run(Cycle now) {
  packed_ = ring_packed_.At(now);
  accepts_tables_ = indirect_.At(now);
  if (loaded_ != 0) Drain(now);
  if (waiting_ != 0) Arbitrate(now);
  Accept(now);  // before Ring and List, which change held_ and index_request_
  Ring(now);
  List(now);
  Answer(now);
  const bool drains = list_ == ListState::kDrain || list_ == ListState::kLeave;
  if (drains != drains_last_) drains_.Set(now + 1, drains_last_ = drains);
}

void DescFetch::Drain(Cycle now) {
  for (uint64_t left = loaded_ & kLoadedBuffers; left != 0; left &= left - 1) {
    buffer_[static_cast<size_t>(std::countr_zero(left))].Drain(now);
  }
  if ((loaded_ & ~kLoadedBuffers) == 0) return;
  for (auto* out : {&index_request_, &ring_request_, &descriptor_request_, &table_request_}) out->Drain(now);
  queue_failure_.Drain(now);
}

bool DescFetch::IsIdle() const {
  return waiting_ == 0 && (loaded_ & kLoadedBuffers) == 0 && requests_.size() == 0 && index_jobs_.size() == 0 &&
         ring_jobs_.size() == 0 && descriptor_jobs_.size() == 0 && queue_failure_.IsFree();
}

// Two reads of one index could return out of order, and the second would then seem to go backwards; how many entries
// are known is written by stage 2. The next position of a packed ring is known only after the walk. Queues on the way
// to stage 1 are not compared, so a client has at most one request on it.
bool DescFetch::IsEligible(size_t client) const {
  if ((accepting_ >> client & 1) != 0) return false;
  const spec::BufferRequest& request = buffer_request_in[client].front();
  return request.by_index || std::none_of(held_.begin(), held_.end(), [&](const Hold& hold) {
           return hold.vq_index == request.vq_index && !(hold.pushed && request.pushed);
         });
}

void DescFetch::Arbitrate(Cycle now) {
  if (!requests_.CanPush(now)) return;
  for (size_t i = 1; i <= kClients; ++i) {
    const size_t client = (winner_ + i) % kClients;
    if ((waiting_ >> client & 1) == 0 || !buffer_request_in[client].CanPop(now) || !IsEligible(client)) continue;
    requests_.Push(now, {client, buffer_request_in[client].Pop(now)});
    accepting_ |= uint64_t{1} << client;
    winner_ = client;
    return;
  }
}

void DescFetch::Accept(Cycle now) {
  if (accept_ == AcceptState::kTake) {
    if (!requests_.CanPop(now) || !index_jobs_.CanPush(now) || (!packed_ && !index_request_.IsFree())) return;
    const spec::BufferRequest& request = requests_.front().request;
    if (!request.by_index && held_.size() == requests_most_) return;
    const spec::QueueRowWrite& row = areas_.Read(now, request.vq_index);
    const Served& served = served_.Read(now, request.vq_index);
    accept_area_ = packed_ ? row.queue_desc : row.queue_driver;
    accept_chains_ = packed_ && served.chains;
    if (!row.enabled || !served.served) {
      accept_kind_ = Kind::kEmpty;
    } else if (failed_.Read(now, request.vq_index) != 0) {
      accept_kind_ = Kind::kFailed;
    } else {
      accept_known_ = known_.Read(now, request.vq_index);
      const bool is_known = knows_entries_ && !packed_ && accept_known_ >= request.count;
      accept_kind_ = request.pushed     ? Kind::kPushed
                     : request.by_index ? Kind::kByIndex
                     : is_known         ? Kind::kKnown
                                        : Kind::kRead;
    }
    accepted_.Begin(now);
    accept_ = AcceptState::kLookup;
  } else {
    const Request from = requests_.Pop(now);
    accepting_ &= ~(uint64_t{1} << from.client);
    index_jobs_.Push(now, {accept_kind_, from, accept_chains_, accept_area_, accept_known_});
    const bool is_pushed = accept_kind_ == Kind::kPushed;
    if (accept_kind_ == Kind::kRead && !packed_) {
      index_request_.Load(now,
                          {.address = accept_area_ + spec::VirtqAvail::kIdxOffset, .bytes = kEntryBytes, .tag = 0});
    }
    if (accept_kind_ == Kind::kRead || accept_kind_ == Kind::kKnown || (is_pushed && knows_entries_ && !packed_)) {
      held_.push_back({from.request.vq_index, is_pushed});
    }
    accept_ = AcceptState::kTake;
  }
  WakeAt(now + 1);
}

// Reads the next entries at ring_at_: as many as one read can, up to the end of the ring.
unsigned DescFetch::IssueRingRead(Cycle now) {
  const unsigned most = packed_ ? kDescriptorsPerRead : kEntriesPerRead;
  const unsigned part = std::min({ring_left_, most, ring_row_.queue_size - ring_at_});
  const unsigned bytes = packed_ ? spec::PvirtqDesc::kBytes : kEntryBytes;
  --ring_slots_;
  ring_request_.Load(now,
                     {.address = ring_area_ + (packed_ ? 0 : spec::VirtqAvail::kBytes) + uint64_t{bytes} * ring_at_,
                      .bytes = static_cast<uint16_t>(bytes * part),
                      .tag = 0});
  ring_at_ = (ring_at_ + part) % ring_row_.queue_size;
  ring_left_ -= part;
  return part;
}

void DescFetch::Ring(Cycle now) {
  if (ring_ == RingState::kTake) {
    if (!index_jobs_.CanPop(now) || !ring_jobs_.CanPush(now)) return;
    const IndexJob& job = index_jobs_.front();
    const bool is_pushed = job.kind == Kind::kPushed;
    if (job.kind != Kind::kRead && job.kind != Kind::kKnown && !is_pushed) {
      RingJob next{job.kind, job.from, 1, RdmaError::kOk};
      if (job.kind == Kind::kByIndex) {
        next.place = job.from.request.index & ~kWrap;
        next.wrapped = (job.from.request.index & kWrap) == 0;
      }
      ring_jobs_.Push(now, next);
      index_jobs_.Pop(now);
      return;
    }
    const bool reads_index = ReadsIndex(job);
    if (!is_pushed && ((reads_index && !index_fetched_in.CanPop(now)) || !ring_request_.IsFree() || ring_slots_ == 0)) {
      return;
    }
    ring_row_ = ring_rows_.Read(now, job.from.request.vq_index);
    position_ = positions_.Read(now, job.from.request.vq_index);
    ring_reported_ = reported_.Read(now, job.from.request.vq_index);
    ring_rings_ = rings_.Read(now, job.from.request.vq_index) != 0;
    ring_ = RingState::kLookup;
  } else if (ring_ == RingState::kLookup) {
    ring_ = RingState::kIssue;
  } else if (ring_ == RingState::kMore) {
    if (!ring_request_.IsFree() || ring_slots_ == 0) return;
    IssueRingRead(now);
    if (ring_left_ == 0) ring_ = RingState::kTake;
  } else if (index_jobs_.front().kind == Kind::kPushed) {
    RingPushed(now);
  } else if (positions_.CanWrite(now)) {
    const IndexJob job = index_jobs_.Pop(now);
    const bool reads_index = ReadsIndex(job);
    spec::DmaFetched fetched;
    if (reads_index) fetched = index_fetched_in.Pop(now);
    const uint16_t size = ring_row_.queue_size;
    const uint16_t available = packed_       ? size
                               : reads_index ? static_cast<uint16_t>(Little16(fetched.data) - position_)
                                             : job.known;
    uint16_t known = 0;
    if (reads_index && ring_row_.enabled && fetched.resp == 0 && available <= size) {
      ReportAvailEvent(now, job.from.request.vq_index, job.from.request.count, available);
    }
    RingJob next{Kind::kRead, job.from, 1, RdmaError::kOk, job.chains, packed_};
    ring_ = RingState::kTake;
    if (!ring_row_.enabled || (fetched.resp == 0 && available == 0)) {
      next.kind = Kind::kEmpty;
    } else if (fetched.resp != 0) {
      next.kind = Kind::kBroken;
      next.code = RdmaError::kQueueDmaError;
    } else if (available > size) {
      // The driver never has more than the queue's size available. [virtio 1.3, 2.7.13.1]
      next.kind = Kind::kBroken;
      next.code = RdmaError::kBadDescriptor;
    } else {
      next.place = packed_ ? position_ & ~kWrap : position_ & (size - 1u);
      next.wrapped = packed_ && (position_ & kWrap) != 0;
      next.count = std::min({unsigned{job.from.request.count}, unsigned{available}});
      ring_at_ = next.place;
      ring_left_ = next.count;
      ring_area_ = job.area;
      IssueRingRead(now);
      if (ring_left_ != 0) ring_ = RingState::kMore;
      const unsigned before_end = std::min(next.count, size - next.place);
      const unsigned past_end = next.count - before_end;
      const unsigned most = packed_ ? kDescriptorsPerRead : kEntriesPerRead;
      next.reads = (before_end + most - 1) / most + (past_end + most - 1) / most;
      if (!packed_) positions_.Write(now, job.from.request.vq_index, static_cast<uint16_t>(position_ + next.count));
      known = static_cast<uint16_t>(available - next.count);
    }
    known_.Write(now, job.from.request.vq_index, known);
    ring_jobs_.Push(now, next);
    if (!packed_) held_.pop_front();
  }
  WakeAt(now + 1);
}

// What the driver says is the next buffer is it, if its position is the queue's. The driver has made it available.
void DescFetch::RingPushed(Cycle now) {
  if (!positions_.CanWrite(now) || WritesPosition(now)) return;
  const IndexJob job = index_jobs_.Pop(now);
  const spec::BufferRequest& request = job.from.request;
  const unsigned size = ring_row_.queue_size;
  const auto claimed = static_cast<uint16_t>(packed_ ? request.index ^ kWrap : request.index);
  const bool is_next = ring_row_.enabled && claimed == position_ && (packed_ || request.table_entries < size);
  RingJob next{is_next ? Kind::kPushed : Kind::kEmpty, job.from, 1, RdmaError::kOk};
  ring_ = RingState::kTake;
  if (is_next) {
    const Place after = Place{position_ & (kWrap - 1), (position_ & kWrap) != 0}.Next(size);
    positions_.Write(now, request.vq_index,
                     static_cast<uint16_t>(packed_ ? after.at | (after.wrapped ? kWrap : 0) : position_ + 1u));
  }
  known_.Write(now, request.vq_index, 0);
  if (knows_entries_ && !packed_) held_.pop_front();
  ring_jobs_.Push(now, next);
}

// A client whose response reports an empty ring waits for a doorbell. In a packed ring the driver always rings: the
// device's event suppression stays zero. [virtio 1.3, 2.7.10 and 2.8.10]
void DescFetch::ReportAvailEvent(Cycle now, uint16_t vq_index, unsigned requested, uint16_t available) {
  const auto index = static_cast<uint16_t>(position_ + available);
  if (!event_idx_.At(now) || !ring_rings_ || available >= requested ||
      (ring_reported_.known && ring_reported_.idx == index)) {
    return;
  }
  reported_.Write(now, vq_index, {.known = true, .idx = index});
  if (on_avail_event) on_avail_event(now + 1, {.vq_index = vq_index, .idx = index});
}

void DescFetch::PopRing(Cycle now) {
  ring_fetched_in.Pop(now);
  ++ring_slots_;
}

void DescFetch::List(Cycle now) {
  switch (list_) {
    case ListState::kTake: {
      if (!ring_jobs_.CanPop(now)) return;
      const RingJob& job = ring_jobs_.front();
      const uint16_t vq_index = job.from.request.vq_index;
      if (job.kind != Kind::kRead && job.kind != Kind::kByIndex) {
        if (!descriptor_jobs_.CanPush(now)) return;
        DescriptorJob next{job.kind, job.from.client, vq_index, 0, job.code, true};
        if (job.kind == Kind::kPushed) {
          const spec::BufferRequest& request = job.from.request;
          next.head = packed_ ? request.index : request.table_entries;
          next.walked = {.addr = request.table_address, .len = request.bytes, .id = 0, .flags = 0};
        }
        descriptor_jobs_.Push(now, next);
        if (ring_jobs_.Pop(now).held) {
          held_.pop_front();
          WakeAt(now + 1);
        }
        return;
      }
      if (job.kind == Kind::kRead && !ring_fetched_in.CanPop(now)) return;
      list_row_ = list_rows_.Read(now, vq_index);
      entry_ = part_entry_ = returned_ = 0;
      reads_ = job.reads;
      place_ = {job.place, job.wrapped};
      by_itself_ = in_chain_ = false;
      deferred_.reset();
      broken_.reset();
      list_ = packed_ && job.kind == Kind::kRead ? ListState::kWalk : ListState::kNext;
      break;
    }
    case ListState::kNext:
      if (!descriptor_jobs_.CanPush(now) || !descriptor_request_.IsFree()) return;
      if (ring_jobs_.front().kind == Kind::kRead && !ring_fetched_in.CanPop(now)) return;
      ListNext(now);
      break;
    case ListState::kDrain:
      if (!ring_fetched_in.CanPop(now)) return;
      PopRing(now);
      ring_jobs_.Pop(now);
      list_ = ListState::kTake;
      break;
    case ListState::kWalk:
      if (!(by_itself_ ? index_fetched_in : ring_fetched_in).CanPop(now) || !descriptor_jobs_.CanPush(now)) return;
      Walk(now);
      break;
    case ListState::kRequest:
      if (!index_request_.IsFree()) return;
      index_request_.Load(now, {.address = list_row_.queue_desc + uint64_t{spec::PvirtqDesc::kBytes} * place_.at,
                                .bytes = spec::PvirtqDesc::kBytes,
                                .tag = 0});
      list_ = in_chain_ ? ListState::kChain : ListState::kWalk;
      break;
    case ListState::kChain:
      if (!index_fetched_in.CanPop(now)) return;
      WalkChain(now);
      break;
    case ListState::kEnd:
      if (!descriptor_jobs_.CanPush(now)) return;
      EndWalk(now);
      break;
    case ListState::kLeave:
      if (reads_ != 0) {
        if (!ring_fetched_in.CanPop(now)) return;
        PopRing(now);
        --reads_;
      } else if (positions_.CanWrite(now)) {
        positions_.Write(now, ring_jobs_.front().from.request.vq_index,
                         static_cast<uint16_t>(place_.at | (place_.wrapped ? kWrap : 0)));
        held_.pop_front();
        ring_jobs_.Pop(now);
        list_ = ListState::kTake;
      }
      break;
  }
  WakeAt(now + 1);
}

void DescFetch::ListNext(Cycle now) {
  const RingJob& job = ring_jobs_.front();
  const bool by_index = job.kind == Kind::kByIndex;
  const uint16_t head =
      by_index ? job.from.request.index : Little16(ring_fetched_in.front().data + size_t{kEntryBytes} * part_entry_);
  const bool in_table = by_index && job.from.request.indirect;
  const auto at = static_cast<uint16_t>(packed_ && !in_table ? head & ~kWrap : head);
  const unsigned size = list_row_.queue_size;
  DescriptorJob next{Kind::kRead, job.from.client, job.from.request.vq_index, head, RdmaError::kOk, true};
  next.next = place_.Next(size).Index();
  next.replay = by_index && job.from.client == static_cast<size_t>(spec::BufferClient::kSend);
  next.in_table = in_table;
  next.table = job.from.request;
  if (!list_row_.enabled) {
    next.kind = Kind::kEmpty;
  } else if (!by_index && ring_fetched_in.front().resp != 0) {
    next.kind = Kind::kBroken;
    next.code = RdmaError::kQueueDmaError;
  } else if (at >= (in_table ? job.from.request.table_entries : size)) {
    next.kind = Kind::kBroken;
    next.code = RdmaError::kBadDescriptor;
  } else {
    next.last = ++entry_ == job.count;
    const uint64_t area = in_table ? job.from.request.table_address : list_row_.queue_desc;
    descriptor_request_.Load(
        now, {.address = area + uint64_t{spec::VirtqDesc::kBytes} * at, .bytes = spec::VirtqDesc::kBytes, .tag = 0});
  }
  descriptor_jobs_.Push(now, next);
  const bool part_end = place_.at + 1 == size;
  part_entry_ = part_end ? 0 : part_entry_ + 1;
  place_ = place_.Next(size);
  if (!by_index && (part_end || next.last)) {
    PopRing(now);
    --reads_;
  }
  if (next.last) {
    list_ = reads_ == 0 ? ListState::kTake : ListState::kDrain;
    if (reads_ == 0) ring_jobs_.Pop(now);
  }
}

void DescFetch::Break(RdmaError code) {
  broken_ = code;
  list_ = ListState::kEnd;
}

// The first descriptor of a buffer, if it is available. [virtio 1.3, 2.8.1 and 2.8.6]
void DescFetch::Walk(Cycle now) {
  using Flags = spec::VirtqDescFlags;
  const RingJob& job = ring_jobs_.front();
  spec::DmaFetched fetched = by_itself_ ? index_fetched_in.Pop(now) : ring_fetched_in.front();
  const auto walk_descriptor =
      spec::PvirtqDesc::Decode(fetched.data + (by_itself_ ? 0 : part_entry_ * spec::PvirtqDesc::kBytes));
  const bool available = ((walk_descriptor.flags & Flags::kAvail) != 0) != place_.wrapped &&
                         ((walk_descriptor.flags & Flags::kUsed) != 0) == place_.wrapped;
  const bool more = (walk_descriptor.flags & Flags::kNext) != 0;
  if (!list_row_.enabled || (fetched.resp == 0 && !available)) {
    list_ = ListState::kEnd;
  } else if (fetched.resp != 0) {
    Break(RdmaError::kQueueDmaError);
  } else if (more && (!job.chains || (walk_descriptor.flags & Flags::kIndirect) != 0)) {
    Break(RdmaError::kBadDescriptor);
  } else {
    if (deferred_) descriptor_jobs_.Push(now, *deferred_);
    const unsigned size = list_row_.queue_size;
    const bool part_end = place_.at + 1 == size || part_entry_ == kDescriptorsPerRead - 1;
    const Place at = place_;
    place_ = place_.Next(size);
    deferred_ = {Kind::kWalked,  job.from.client, job.from.request.vq_index, at.Index(), RdmaError::kOk, false,
                 place_.Index(), walk_descriptor};
    if (more) {
      in_chain_ = true;
      chain_ = 1;
      list_ = ListState::kRequest;
      return;
    }
    ++returned_;
    if (by_itself_) {
      list_ = ListState::kRequest;
    } else {
      part_entry_ = part_end ? 0 : part_entry_ + 1;
      if (part_end || returned_ == job.count) {
        PopRing(now);
        --reads_;
      }
    }
    if (returned_ == job.count) list_ = ListState::kEnd;
  }
}

// The driver makes the first descriptor of a chain available last, so here all of it is. [virtio 1.3, 2.8.21.1]
void DescFetch::WalkChain(Cycle now) {
  using Flags = spec::VirtqDescFlags;
  const spec::DmaFetched fetched = index_fetched_in.Pop(now);
  const auto walk_descriptor = spec::PvirtqDesc::Decode(fetched.data);
  const unsigned size = list_row_.queue_size;
  const bool available = ((walk_descriptor.flags & Flags::kAvail) != 0) != place_.wrapped &&
                         ((walk_descriptor.flags & Flags::kUsed) != 0) == place_.wrapped;
  list_ = ListState::kRequest;
  if (fetched.resp != 0) {
    deferred_.reset();  // a chain without an end is not a buffer
    Break(RdmaError::kQueueDmaError);
  } else if (!available || (walk_descriptor.flags & Flags::kIndirect) != 0 || chain_ == kChainMost || chain_ == size) {
    deferred_.reset();
    Break(RdmaError::kBadDescriptor);
  } else {
    place_ = place_.Next(size);
    ++chain_;
    if ((walk_descriptor.flags & Flags::kNext) != 0) return;
    in_chain_ = false;
    by_itself_ = true;
    if (++returned_ == ring_jobs_.front().count) list_ = ListState::kEnd;
  }
}

void DescFetch::EndWalk(Cycle now) {
  const RingJob& job = ring_jobs_.front();
  if (deferred_) {
    deferred_->last = !broken_;
    descriptor_jobs_.Push(now, *deferred_);
    deferred_.reset();
    if (!broken_) list_ = ListState::kLeave;
    return;
  }
  descriptor_jobs_.Push(now, {broken_ ? Kind::kBroken : Kind::kEmpty, job.from.client, job.from.request.vq_index, 0,
                              broken_.value_or(RdmaError::kOk), true});
  list_ = ListState::kLeave;
}

void DescFetch::Answer(Cycle now) {
  if (answer_ == AnswerState::kTake) {
    if (!descriptor_jobs_.CanPop(now)) return;
    const DescriptorJob& job = descriptor_jobs_.front();
    if (job.kind == Kind::kRead && !descriptor_fetched_in.CanPop(now)) return;
    if (drop_) {
      if (job.kind == Kind::kRead) descriptor_fetched_in.Pop(now);
      drop_ = !PopJob(now).last;
      return;
    }
    if (!queue_failure_.IsFree()) return;
    if ((loaded_ & kLoadedBuffers) != 0) return;
    window_ = windows_.Read(now, job.vq_index);
    // With an unreadable window the queue's limits are unknown.
    answer_failed_ = failed_.Read(now, job.vq_index) != 0 || windows_.corrupt();
    answer_ = AnswerState::kLookup;
  } else if (answer_ == AnswerState::kLookup) {
    answer_ = AnswerState::kRespond;
  } else if (answer_ == AnswerState::kTable) {
    if (!table_fetched_in.CanPop(now)) return;
    from_table_ = table_fetched_in.Pop(now);
    answer_ = AnswerState::kLookup;
  } else if (failed_.CanWrite(now)) {
    Respond(now);
  }
  WakeAt(now + 1);
}

DescFetch::DescriptorJob DescFetch::PopJob(Cycle now) {
  const DescriptorJob job = descriptor_jobs_.Pop(now);
  if (job.last) accepted_.End(now);
  return job;
}

RdmaError DescFetch::Check(const spec::VirtqDesc& descriptor, bool in_table, bool more, uint8_t resp) const {
  const bool wraps =
      descriptor.len != 0 && descriptor.addr > std::numeric_limits<uint64_t>::max() - (descriptor.len - 1);
  if (resp != 0) return RdmaError::kQueueDmaError;
  if (descriptor.len == 0 || wraps) return RdmaError::kBadDescriptor;
  // One table per buffer, of whole descriptors, with nothing after it. [virtio 1.3, 2.7.5.3.1 and 2.8.19]
  if ((descriptor.flags & spec::VirtqDescFlags::kIndirect) != 0 &&
      (!accepts_tables_ || in_table || more || descriptor.len > kTableBytesMost ||
       descriptor.len % spec::VirtqDesc::kBytes != 0)) {
    return RdmaError::kBadDescriptor;
  }
  if (window_.enable && (descriptor.addr < window_.base || descriptor.addr + (descriptor.len - 1) > window_.last)) {
    return RdmaError::kWindowViolation;
  }
  return RdmaError::kOk;
}

void DescFetch::Respond(Cycle now) {
  using Flags = spec::VirtqDescFlags;
  const DescriptorJob& job = descriptor_jobs_.front();
  const bool found = job.kind == Kind::kRead || job.kind == Kind::kWalked || job.kind == Kind::kPushed;
  const bool in_table = from_table_ || job.in_table;
  RdmaError code = job.code;
  spec::VirtqDesc descriptor;
  IndirectTable table = table_;
  bool more = false;
  std::optional<uint16_t> id;
  if (found) {
    const spec::DmaFetched fetched = from_table_               ? *from_table_
                                     : job.kind == Kind::kRead ? descriptor_fetched_in.front()
                                                               : spec::DmaFetched{};
    if (!from_table_ && job.in_table) table = {job.table.table_address, job.table.table_entries, job.head};
    descriptor = spec::VirtqDesc::Decode(fetched.data);
    if (job.kind == Kind::kPushed) {
      descriptor = {.addr = job.walked.addr, .len = job.walked.len, .flags = 0, .next = 0};
    } else if (packed_) {
      const bool walked = job.kind == Kind::kWalked && !from_table_;
      const spec::PvirtqDesc packed = walked ? job.walked : spec::PvirtqDesc::Decode(fetched.data);
      descriptor = {.addr = packed.addr, .len = packed.len, .flags = packed.flags, .next = job.next};
      if (!in_table) id = packed.id;
    }
    more = (descriptor.flags & Flags::kNext) != 0;
    // A packed table is ordered by position: of the flags only `write` is used. [virtio 1.3, 2.8.7]
    if (packed_ && in_table) {
      descriptor.flags &= Flags::kWrite;
      descriptor.next = static_cast<uint16_t>(table.index + 1);
      more = descriptor.next != table.entries;
    }
    code = Check(descriptor, in_table, more, fetched.resp);
  }
  if (found && code == RdmaError::kOk && !answer_failed_ && (descriptor.flags & Flags::kIndirect) != 0) {
    table_ = {descriptor.addr, static_cast<uint16_t>(descriptor.len / spec::VirtqDesc::kBytes), 0};
    table_request_.Load(now, {.address = descriptor.addr, .bytes = spec::VirtqDesc::kBytes, .tag = 0});
    answer_ = AnswerState::kTable;
    return;
  }

  spec::Buffer buffer{.status = BufferStatus::kFailed, .last = true, .vq_index = job.vq_index};
  const bool bad = !answer_failed_ && code != RdmaError::kOk;
  if (!answer_failed_ && job.kind == Kind::kEmpty) {
    buffer.status = BufferStatus::kEmpty;
  } else if (!answer_failed_ && !bad && found) {
    buffer = {.status = BufferStatus::kOk,
              .last = job.last,
              .vq_index = job.vq_index,
              .head = job.head,
              .address = descriptor.addr,
              .bytes = descriptor.len,
              .writable = (descriptor.flags & Flags::kWrite) != 0,
              .more = more};
    buffer.has_id = id.has_value();
    buffer.id = id.value_or(0);
    if (more || id) buffer.next_index = descriptor.next;
    if (more && in_table) {
      buffer.indirect = true;
      buffer.table_address = table.address;
      buffer.table_entries = table.entries;
    }
  }
  drop_ = buffer.last && !job.last;
  buffer_[job.client].Load(now, buffer);
  if (bad && !job.replay) {
    queue_failure_.Load(now, {.vq_index = job.vq_index, .code = code});
    failed_.Write(now, job.vq_index, 1);
    if (code == RdmaError::kWindowViolation && on_window_violation) on_window_violation(now);
  }
  if (job.kind == Kind::kRead) descriptor_fetched_in.Pop(now);
  PopJob(now);
  from_table_.reset();
  answer_ = AnswerState::kTake;
}

}  // namespace vireo::model
