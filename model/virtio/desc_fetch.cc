// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/desc_fetch.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace vireo::model {
namespace {

using spec::BufferStatus;
using spec::RdmaError;

constexpr unsigned kEntryBytes = 2;  // of an available ring [virtio 1.3, 2.7.6]

uint16_t Little16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | bytes[1] << 8); }

}  // namespace

DescFetch::DescFetch(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      buffer_request_in{Channel<spec::BufferRequest>::Slice(), Channel<spec::BufferRequest>::Slice(),
                        Channel<spec::BufferRequest>::Slice(), Channel<spec::BufferRequest>::Slice(),
                        Channel<spec::BufferRequest>::Slice()},
      index_fetched_in(Channel<spec::DmaFetched>::Fifo(sizes.requests)),
      ring_fetched_in(Channel<spec::DmaFetched>::Fifo(sizes.requests)),
      descriptor_fetched_in(Channel<spec::DmaFetched>::Fifo(sizes.descriptors)),
      rows_(sizes.queues),
      served_(sizes.queues),
      windows_(sizes.queues),
      positions_(sizes.queues),
      failed_(sizes.queues),
      index_jobs_(Channel<IndexJob>::Fifo(sizes.requests)),
      ring_jobs_(Channel<RingJob>::Fifo(sizes.requests)),
      descriptor_jobs_(Channel<DescriptorJob>::Fifo(sizes.descriptors)),
      buffer_{OutputRegister(buffer_out[0], *this), OutputRegister(buffer_out[1], *this),
              OutputRegister(buffer_out[2], *this), OutputRegister(buffer_out[3], *this),
              OutputRegister(buffer_out[4], *this)} {
  for (auto& channel : buffer_request_in) channel.SetConsumer(this);
  for (auto* channel : {&index_fetched_in, &ring_fetched_in, &descriptor_fetched_in}) channel->SetConsumer(this);
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
    const bool none = entry.kind == spec::TableQueueKind::kNone;
    served_.Write(cycle, write.index, !none && !entry.stopped);
    if (none || entry.reset_positions) {
      positions_.OnTableClear(cycle, write.index);
      failed_.OnTableClear(cycle, write.index);
    }
  } else if (write.table_id == spec::MgmtTable::kWindow) {
    windows_.Write(cycle, write.index, spec::TableWindow::Decode(write.data));
  }
}

void DescFetch::OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row) {
  rows_.Write(cycle, row.vq_index, row);
  positions_.OnRowClear(cycle, row.vq_index);
  failed_.OnRowClear(cycle, row.vq_index);
}

void DescFetch::Run(Cycle now) {
  for (auto* out : {&index_request_, &ring_request_, &descriptor_request_}) out->Drain(now);
  for (auto& out : buffer_) out.Drain(now);
  queue_failure_.Drain(now);
  Arbitrate(now);
  Accept(now);  // before Ring, which changes reading_
  Ring(now);
  List(now);
  Answer(now);
}

bool DescFetch::IsIdle() const {
  for (const auto& channel : buffer_request_in) {
    if (channel.size() != 0) return false;
  }
  for (const auto& out : buffer_) {
    if (!out.IsFree()) return false;
  }
  return requests_.size() == 0 && index_jobs_.size() == 0 && ring_jobs_.size() == 0 && descriptor_jobs_.size() == 0 &&
         queue_failure_.IsFree();
}

void DescFetch::Arbitrate(Cycle now) {
  if (!requests_.CanPush(now)) return;
  for (size_t i = 1; i <= kClients; ++i) {
    const size_t client = (winner_ + i) % kClients;
    if (!buffer_request_in[client].CanPop(now)) continue;
    requests_.Push(now, {client, buffer_request_in[client].Pop(now)});
    winner_ = client;
    return;
  }
}

void DescFetch::Accept(Cycle now) {
  if (accept_ == AcceptState::kTake) {
    if (!requests_.CanPop(now) || !index_jobs_.CanPush(now) || !index_request_.IsFree()) return;
    const spec::BufferRequest& request = requests_.front().request;
    // Two reads of one index could be answered in the other order, and then the second would seem to go backwards.
    if (!request.by_index && std::find(reading_.begin(), reading_.end(), request.vq_index) != reading_.end()) return;
    const spec::QueueRowWrite& row = rows_.Read(now, request.vq_index);
    accept_driver_ = row.queue_driver;
    if (!row.enabled || served_.Read(now, request.vq_index) == 0) {
      accept_kind_ = Kind::kEmpty;
    } else if (failed_.Read(now, request.vq_index) != 0) {
      accept_kind_ = Kind::kFailed;
    } else {
      accept_kind_ = request.by_index ? Kind::kByIndex : Kind::kRead;
    }
    accept_ = AcceptState::kLook;
  } else {
    const Request from = requests_.Pop(now);
    index_jobs_.Push(now, {accept_kind_, from, accept_driver_});
    if (accept_kind_ == Kind::kRead) {
      index_request_.Load(now,
                          {.address = accept_driver_ + spec::VirtqAvail::kIdxOffset, .bytes = kEntryBytes, .tag = 0});
      reading_.push_back(from.request.vq_index);
    }
    accept_ = AcceptState::kTake;
  }
  WakeAt(now + 1);
}

void DescFetch::Ring(Cycle now) {
  if (ring_ == RingState::kTake) {
    if (!index_jobs_.CanPop(now) || !ring_jobs_.CanPush(now)) return;
    const IndexJob& job = index_jobs_.front();
    if (job.kind != Kind::kRead) {
      ring_jobs_.Push(now, {job.kind, job.from, 1, RdmaError::kOk});
      index_jobs_.Pop(now);
      return;
    }
    if (!index_fetched_in.CanPop(now) || !ring_request_.IsFree()) return;
    ring_row_ = rows_.Read(now, job.from.request.vq_index);
    position_ = positions_.Read(now, job.from.request.vq_index);
    ring_ = RingState::kLook;
  } else if (ring_ == RingState::kLook) {
    ring_ = RingState::kIssue;
  } else if (positions_.CanWrite(now)) {
    const IndexJob job = index_jobs_.Pop(now);
    const spec::DmaFetched fetched = index_fetched_in.Pop(now);
    const auto available = static_cast<uint16_t>(Little16(fetched.data) - position_);
    RingJob next{Kind::kRead, job.from, 1, RdmaError::kOk};
    if (!ring_row_.enabled || (fetched.resp == 0 && available == 0)) {
      next.kind = Kind::kEmpty;
    } else if (fetched.resp != 0) {
      next.kind = Kind::kBroken;
      next.code = RdmaError::kQueueDmaError;
    } else if (available > ring_row_.queue_size) {
      // The driver never has more than the queue's size available. [virtio 1.3, 2.7.13.1]
      next.kind = Kind::kBroken;
      next.code = RdmaError::kBadDescriptor;
    } else {
      const auto at = static_cast<unsigned>(position_ & (ring_row_.queue_size - 1));
      next.count = std::min({unsigned{job.from.request.count}, unsigned{available}, ring_row_.queue_size - at});
      ring_request_.Load(now, {.address = job.driver + spec::VirtqAvail::kBytes + uint64_t{kEntryBytes} * at,
                               .bytes = static_cast<uint16_t>(kEntryBytes * next.count),
                               .tag = 0});
      positions_.Write(now, job.from.request.vq_index, static_cast<uint16_t>(position_ + next.count));
    }
    ring_jobs_.Push(now, next);
    reading_.pop_front();
    ring_ = RingState::kTake;
  }
  WakeAt(now + 1);
}

void DescFetch::List(Cycle now) {
  if (list_ == ListState::kTake) {
    if (!ring_jobs_.CanPop(now)) return;
    const RingJob& job = ring_jobs_.front();
    const uint16_t vq_index = job.from.request.vq_index;
    if (job.kind != Kind::kRead && job.kind != Kind::kByIndex) {
      if (!descriptor_jobs_.CanPush(now)) return;
      descriptor_jobs_.Push(now, {job.kind, job.from.client, vq_index, 0, job.code, true});
      ring_jobs_.Pop(now);
      return;
    }
    if (job.kind == Kind::kRead && !ring_fetched_in.CanPop(now)) return;
    list_row_ = rows_.Read(now, vq_index);
    entry_ = 0;
    list_ = ListState::kNext;
  } else {
    if (!descriptor_jobs_.CanPush(now) || !descriptor_request_.IsFree()) return;
    const RingJob& job = ring_jobs_.front();
    const bool by_index = job.kind == Kind::kByIndex;
    const uint16_t head =
        by_index ? job.from.request.index : Little16(ring_fetched_in.front().data + size_t{kEntryBytes} * entry_);
    DescriptorJob next{Kind::kRead, job.from.client, job.from.request.vq_index, head, RdmaError::kOk, true};
    if (!list_row_.enabled) {
      next.kind = Kind::kEmpty;
    } else if (!by_index && ring_fetched_in.front().resp != 0) {
      next.kind = Kind::kBroken;
      next.code = RdmaError::kQueueDmaError;
    } else if (head >= list_row_.queue_size) {
      next.kind = Kind::kBroken;
      next.code = RdmaError::kBadDescriptor;
    } else {
      next.last = ++entry_ == job.count;
      descriptor_request_.Load(now, {.address = list_row_.queue_desc + uint64_t{spec::VirtqDesc::kBytes} * head,
                                     .bytes = spec::VirtqDesc::kBytes,
                                     .tag = 0});
    }
    descriptor_jobs_.Push(now, next);
    if (next.last) {
      ring_jobs_.Pop(now);
      if (!by_index) ring_fetched_in.Pop(now);
      list_ = ListState::kTake;
    }
  }
  WakeAt(now + 1);
}

void DescFetch::Answer(Cycle now) {
  if (answer_ == AnswerState::kTake) {
    if (!descriptor_jobs_.CanPop(now)) return;
    const DescriptorJob& job = descriptor_jobs_.front();
    if (job.kind == Kind::kRead && !descriptor_fetched_in.CanPop(now)) return;
    if (drop_) {
      if (job.kind == Kind::kRead) descriptor_fetched_in.Pop(now);
      drop_ = !descriptor_jobs_.Pop(now).last;
      return;
    }
    if (!queue_failure_.IsFree()) return;
    for (const auto& out : buffer_) {
      if (!out.IsFree()) return;
    }
    window_ = windows_.Read(now, job.vq_index);
    answer_failed_ = failed_.Read(now, job.vq_index) != 0;
    answer_ = AnswerState::kLook;
  } else if (answer_ == AnswerState::kLook) {
    answer_ = AnswerState::kSay;
  } else if (failed_.CanWrite(now)) {
    const DescriptorJob job = descriptor_jobs_.Pop(now);
    RdmaError code = job.code;
    spec::VirtqDesc descriptor;
    if (job.kind == Kind::kRead) {
      const spec::DmaFetched fetched = descriptor_fetched_in.Pop(now);
      descriptor = spec::VirtqDesc::Decode(fetched.data);
      const bool wraps =
          descriptor.len != 0 && descriptor.addr > std::numeric_limits<uint64_t>::max() - (descriptor.len - 1);
      if (fetched.resp != 0) {
        code = RdmaError::kQueueDmaError;
      } else if ((descriptor.flags & spec::VirtqDescFlags::kIndirect) != 0 || descriptor.len == 0 || wraps) {
        code = RdmaError::kBadDescriptor;
      } else if (window_.enable &&
                 (descriptor.addr < window_.base || descriptor.addr + (descriptor.len - 1) > window_.last)) {
        code = RdmaError::kWindowViolation;
      }
    }
    spec::Buffer buffer{.status = BufferStatus::kFailed, .last = true, .vq_index = job.vq_index};
    const bool report = !answer_failed_ && code != RdmaError::kOk;
    if (!answer_failed_ && job.kind == Kind::kEmpty) {
      buffer.status = BufferStatus::kEmpty;
    } else if (!answer_failed_ && !report && job.kind == Kind::kRead) {
      buffer = {.status = BufferStatus::kOk,
                .last = job.last,
                .vq_index = job.vq_index,
                .head = job.head,
                .address = descriptor.addr,
                .bytes = descriptor.len,
                .writable = (descriptor.flags & spec::VirtqDescFlags::kWrite) != 0,
                .more = (descriptor.flags & spec::VirtqDescFlags::kNext) != 0};
      if (buffer.more) buffer.next_index = descriptor.next;
    }
    drop_ = buffer.last && !job.last;
    buffer_[job.client].Load(now, buffer);
    if (report) {
      queue_failure_.Load(now, {.vq_index = job.vq_index, .code = code});
      failed_.Write(now, job.vq_index, 1);
      if (code == RdmaError::kWindowViolation && on_window_violation) on_window_violation(now);
    }
    answer_ = AnswerState::kTake;
  }
  WakeAt(now + 1);
}

}  // namespace vireo::model
