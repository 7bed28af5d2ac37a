// SPDX-License-Identifier: Apache-2.0
#include "sim/report/ring_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace vireo::sim {
namespace {

using Common = spec::VirtioPciCommonCfg;
using spec::TableQueueKind;

constexpr uint64_t kUsedEntries = spec::VirtqUsed::kBytes, kAvailEntries = spec::VirtqAvail::kBytes;

uint64_t Little(std::span<const uint8_t> bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count && i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

// Writes half or all of a 64-bit register.
void Merge(uint64_t& target, uint64_t at, uint64_t value, unsigned bytes) {
  const uint64_t mask = (bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1) << 8 * at;
  target = (target & ~mask) | (value << 8 * at & mask);
}

}  // namespace

void RingWatch::OnReset() {
  for (size_t i = 0; i < queues_.size(); ++i) Disable(static_cast<uint16_t>(i));
  regions_.clear();
  by_address_.clear();
  reads_.clear();
  selected_ = 0;
  feature_window_ = 0;
  is_packed_ = false;
}

// --- Writes of driver and firmware

void RingWatch::OnBarWrite(const BoundaryEvent& event, EventMark mark) {
  if (event.id != spec::kBarVirtio) return;
  const uint64_t value = Little(event.payload, event.payload.size());
  if (event.address < spec::kBarVirtioCommonCfg + Common::kBytes) {
    return WriteCommon(event.address - spec::kBarVirtioCommonCfg, value, event.bytes);
  }
  if (event.address < spec::kBarVirtioNotify) return;
  const uint64_t at = event.address - spec::kBarVirtioNotify;
  const uint64_t index = at / spec::kNotifyOffMultiplier;
  if (at % spec::kNotifyOffMultiplier != 0) {  // arms a CQ, or pushes
    if (index >= queues_.size() || !queues_[index].enabled || queues_[index].kind != TableQueueKind::kSq ||
        event.bytes != spec::RdmaPush::kBytes) {
      return;
    }
    Queue& queue = queues_[index];
    auto pushed = queue.places.Write(at % spec::kNotifyOffMultiplier, value);
    if (at % spec::kNotifyOffMultiplier == spec::kRdmaPushEndOffset) queue.doorbell = mark;
    if (!pushed.has_value()) return;
    queue.pushed = std::move(pushed);
    queue.push_end = mark;
    return TakePushed(static_cast<uint16_t>(index));
  }
  if (index >= queues_.size() || !queues_[index].enabled) {
    ++counters_.doorbells;
    return;
  }
  queues_[index].doorbell = mark;
}

void RingWatch::WriteCommon(uint64_t offset, uint64_t value, unsigned bytes) {
  const auto in = [&](size_t at, size_t size) { return offset >= at && offset < at + size; };
  if (offset == Common::kQueueSelectOffset) {
    selected_ = static_cast<uint16_t>(value);
    return;
  }
  if (offset == Common::kDeviceStatusOffset) {
    if (value == 0) OnReset();
    return;
  }
  if (offset == Common::kDriverFeatureSelectOffset) {
    feature_window_ = static_cast<uint32_t>(value);
    return;
  }
  if (offset == Common::kDriverFeatureOffset) {
    constexpr auto kPacked = static_cast<uint32_t>(spec::VirtioFeature::kRingPacked);
    if (feature_window_ == kPacked / 32) is_packed_ = (value >> kPacked % 32 & 1) != 0;
    return;
  }
  if (selected_ >= spec::kNotifyQueuesMax || offset < Common::kQueueSizeOffset) return;
  if (queues_.size() <= selected_) queues_.resize(size_t{selected_} + 1);
  Queue& queue = queues_[selected_];
  if (offset == Common::kQueueSizeOffset) queue.size = static_cast<uint16_t>(value);
  if (offset == Common::kQueueMsixVectorOffset) queue.vector = static_cast<uint16_t>(value);
  if (in(Common::kQueueDescOffset, 8)) Merge(queue.desc, offset - Common::kQueueDescOffset, value, bytes);
  if (in(Common::kQueueDriverOffset, 8)) Merge(queue.driver, offset - Common::kQueueDriverOffset, value, bytes);
  if (in(Common::kQueueDeviceOffset, 8)) Merge(queue.device, offset - Common::kQueueDeviceOffset, value, bytes);
  if (offset == Common::kQueueEnableOffset && value == 1) Enable(selected_);
  if (offset == Common::kQueueResetOffset && value == 1) Disable(selected_);
}

void RingWatch::Enable(uint16_t index) {
  Disable(index);
  Queue& queue = queues_[index];
  queue.enabled = true;
  const uint64_t size = queue.size;
  const auto add = [&](uint64_t begin, uint64_t bytes, Part part) {
    regions_[begin] = {.end = begin + bytes, .queue = index, .part = part};
  };
  add(queue.desc, size * spec::VirtqDesc::kBytes, Part::kDescriptors);
  if (is_packed_) return;  // its other areas are event suppression only
  // Including used_event and avail_event at the end.
  add(queue.driver, kAvailEntries + (size + 1) * sizeof(uint16_t), Part::kDriver);
  add(queue.device, kUsedEntries + size * spec::VirtqUsedElem::kBytes + sizeof(uint16_t), Part::kDevice);
}

void RingWatch::Disable(uint16_t index) {
  Queue& queue = queues_[index];
  std::erase_if(regions_, [&](const auto& entry) { return entry.second.queue == index; });
  std::erase_if(by_address_, [&](const auto& entry) { return entry.second.queue == index; });
  queue.enabled = false;
  queue.doorbell = queue.index_read = {};
  // Numbers continue, so that an outstanding read matches no buffer of the re-enabled queue.
  queue.first += queue.buffers.size();
  queue.reported = queue.first;
  queue.buffers.clear();
  queue.first_packed += queue.packed.size();
  queue.packed.clear();
  queue.next_index = 0;
  queue.wrap = true;
  queue.in_chain = false;
  queue.places = {};
  queue.pushed.reset();
  queue.newest_pushed = 0;
}

// The device takes it if it is the next; reads of its place that follow are repeated ones.
void RingWatch::TakePushed(uint16_t index) {
  Queue& queue = queues_[index];
  if (!queue.pushed.has_value() || queue.size == 0) return;
  constexpr uint16_t kWrap = 0x8000;
  const uint16_t position = queue.pushed->end.position;
  const auto next = static_cast<uint16_t>(is_packed_ ? queue.next_index | (queue.wrap ? kWrap : 0) : queue.next_index);
  const auto passed = static_cast<uint16_t>(next - position);
  if (!is_packed_ && passed != 0 && passed <= queue.size) queue.pushed.reset();
  if (passed != 0) return;
  const auto pushed = *std::exchange(queue.pushed, std::nullopt);
  Buffer& buffer = Take(index, {});
  buffer.head = is_packed_ ? queue.next_index : pushed.end.head;
  buffer.has_head = true;
  buffer.request.doorbell = queue.push_end;
  buffer.request.index_read = {};
  const uint32_t newest = queue.newest_pushed;
  Advance(queue);
  queue.newest_pushed = newest + 1;
  const BufferId id{index, queue.first + queue.buffers.size() - 1};
  SetAddress(id, pushed.address, static_cast<uint32_t>(pushed.bytes.size()), 0);
  ReadBufferData(id, pushed.address, pushed.bytes, queue.push_end);
}

// Behind one buffer.
void RingWatch::Advance(Queue& queue) {
  queue.newest_pushed = 0;
  ++queue.next_index;
  if (!is_packed_ || queue.next_index != queue.size) return;
  queue.next_index = 0;
  queue.wrap = !queue.wrap;
}

void RingWatch::OnTableWrite(const TableWindow::Write& write) {
  if (write.table != spec::MgmtTable::kVirtqueue || write.index >= spec::kNotifyQueuesMax) return;
  if (queues_.size() <= write.index) queues_.resize(size_t{write.index} + 1);
  const auto row = spec::TableVirtqueue::Decode(write.entry);
  queues_[write.index].kind = row.kind;
  queues_[write.index].owner = row.owner;
}

// --- Address lookup

const RingWatch::Region* RingWatch::RegionAt(uint64_t address, uint64_t* begin) const {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  --after;
  if (address >= after->second.end) return nullptr;
  *begin = after->first;
  return &after->second;
}

RingWatch::Buffer* RingWatch::Find(const BufferId& id) {
  if (id.queue >= queues_.size()) return nullptr;
  Queue& queue = queues_[id.queue];
  if (id.number < queue.first || id.number >= queue.first + queue.buffers.size()) return nullptr;
  return &queue.buffers[id.number - queue.first];
}

RingWatch::Buffer* RingWatch::BufferAt(uint64_t address, BufferId* id) {
  auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  --after;
  Buffer* const buffer = Find(after->second);
  if (buffer == nullptr || address - after->first >= buffer->bytes) return nullptr;
  *id = after->second;
  return buffer;
}

// --- Reads

RingWatch::Target RingWatch::OnRead(const BoundaryEvent& event, EventMark mark) {
  Read& read = reads_[event.id];
  read = {.use = Use::kNone, .buffer = {}, .address = event.address, .mark = mark};
  uint64_t begin = 0;
  if (const Region* region = RegionAt(event.address, &begin)) {
    Queue& queue = queues_[region->queue];
    const uint64_t at = event.address - begin;
    read.buffer.queue = region->queue;
    if (region->part == Part::kDriver && at < kAvailEntries) {
      if (at + event.bytes == kAvailEntries) queue.index_read = mark;
    } else if (region->part == Part::kDriver && at < kAvailEntries + queue.size * sizeof(uint16_t)) {
      read.use = Use::kRingEntries;
      const auto count = static_cast<uint32_t>(event.bytes / sizeof(uint16_t));
      // It may read places of buffers that are known already, because they were pushed.
      const auto place = static_cast<uint32_t>((at - kAvailEntries) / sizeof(uint16_t));
      const uint32_t behind = queue.size == 0 ? 0 : (queue.next_index - place) % queue.size;
      const uint32_t known = behind <= std::min<size_t>(queue.newest_pushed, queue.buffers.size()) ? behind : 0;
      read.buffer.number = queue.first + queue.buffers.size() - known;
      for (uint32_t i = known; i < count; ++i) {
        Take(region->queue, mark);
        Advance(queue);
      }
      TakePushed(region->queue);
      // The next entries may be known to the device without another read. Those behind a wrap are of this one.
      if (place + count != queue.size) queue.index_read = {};
    } else if (region->part == Part::kDescriptors && is_packed_) {
      read.use = Use::kPacked;
      read.buffer.number = queue.first_packed + queue.packed.size();
      queue.packed.push_back({event.address, mark, {}, false});
    } else if (region->part == Part::kDescriptors) {
      // Only the first read counts; a repeated one belongs to a retransmission.
      for (size_t i = 0; i < queue.buffers.size(); ++i) {
        Buffer& buffer = queue.buffers[i];
        if (!buffer.has_head || buffer.head != at / spec::VirtqDesc::kBytes) continue;
        if (buffer.request.descriptor_read.is_set()) break;
        buffer.request.descriptor_read = mark;
        read.use = Use::kDescriptor;
        read.buffer.number = queue.first + i;
        break;
      }
    }
    return Target::kRing;
  }
  BufferId id;
  if (Buffer* buffer = BufferAt(event.address, &id)) {
    read.buffer = id;
    if (buffer->is_table) {
      read.use = Use::kTable;
      return Target::kRing;
    }
    if (buffer->is_read || queues_[id.queue].kind != TableQueueKind::kSq) return Target::kBuffer;
    read.use = Use::kBufferData;
    if (!buffer->request.read.is_set()) buffer->request.read = mark;
    return Target::kBuffer;
  }
  return Target::kOther;
}

RingWatch::Buffer& RingWatch::Take(uint16_t index, EventMark ring_read) {
  Queue& queue = queues_[index];
  // At most `size` buffers are outstanding; the rest were returned in a way not tracked here (chains of net frames).
  if (queue.buffers.size() >= queue.size && !queue.buffers.empty()) {
    queue.buffers.pop_front();
    queue.reported = std::max(queue.reported, ++queue.first);
  }
  Buffer& buffer = queue.buffers.emplace_back();
  buffer.request.queue = index;
  buffer.request.doorbell = queue.doorbell;
  buffer.request.index_read = queue.index_read;
  buffer.request.ring_read = ring_read;
  return buffer;
}

void RingWatch::OnReadData(const BoundaryEvent& event, EventMark mark) {
  const auto found = reads_.find(event.id);
  if (found == reads_.end()) return;
  const Read read = found->second;
  if ((event.status & 0x80) != 0) reads_.erase(found);
  // A failed read ends here too, without data.
  if (read.use == Use::kPacked) return ReadPacked(read.buffer, event.payload, (event.status & 0x80) != 0);
  if (read.use == Use::kNone || event.payload.empty()) return;
  switch (read.use) {
    case Use::kRingEntries:
      for (size_t i = 0; i + 1 < event.payload.size(); i += sizeof(uint16_t)) {
        const uint64_t entry = (event.address - read.address + i) / sizeof(uint16_t);
        if (Buffer* buffer = Find({read.buffer.queue, read.buffer.number + entry})) {
          buffer->head = static_cast<uint32_t>(Little(event.payload.subspan(i), sizeof(uint16_t)));
          buffer->has_head = true;
        }
      }
      return;
    case Use::kDescriptor:
    case Use::kTable:
      if (event.payload.size() < spec::VirtqDesc::kBytes) return;
      if (Buffer* buffer = Find(read.buffer)) {
        if (read.use == Use::kTable && !buffer->is_table) return;
        const auto descriptor = spec::VirtqDesc::Decode(event.payload.data());
        // In packed rings the flags of a table's descriptors are at another offset.
        const uint16_t flags = is_packed_ ? spec::PvirtqDesc::Decode(event.payload.data()).flags : descriptor.flags;
        SetAddress(read.buffer, descriptor.addr, descriptor.len, flags);
      }
      return;
    case Use::kBufferData: return ReadBufferData(read.buffer, event.address, event.payload, mark);
    case Use::kPacked:
    case Use::kNone: return;
  }
}

// Sets the address of a buffer, or of its indirect table.
void RingWatch::SetAddress(const BufferId& id, uint64_t address, uint32_t bytes, uint16_t flags) {
  Buffer& buffer = *Find(id);
  if (buffer.is_table) by_address_.erase(buffer.address);
  buffer.is_table = (flags & spec::VirtqDescFlags::kIndirect) != 0;
  buffer.has_address = true;
  buffer.address = address;
  buffer.bytes = bytes;
  const TableQueueKind kind = queues_[id.queue].kind;
  if (buffer.is_table || kind == TableQueueKind::kSq || kind == TableQueueKind::kCq) by_address_[address] = id;
}

// Walks reads in the order of their requests, regardless of the order of completions.
void RingWatch::ReadPacked(const BufferId& id, std::span<const uint8_t> data, bool is_last) {
  Queue& queue = queues_[id.queue];
  if (id.number < queue.first_packed || id.number >= queue.first_packed + queue.packed.size()) return;
  PackedRead& read = queue.packed[id.number - queue.first_packed];
  read.data.insert(read.data.end(), data.begin(), data.end());
  read.is_complete = is_last;
  while (!queue.packed.empty() && queue.packed.front().is_complete) {
    WalkPacked(id.queue, queue.packed.front());
    queue.packed.pop_front();
    ++queue.first_packed;
  }
}

void RingWatch::WalkPacked(uint16_t index, const PackedRead& read) {
  Queue& queue = queues_[index];
  constexpr size_t kBytes = spec::PvirtqDesc::kBytes;
  for (size_t at = 0; at + kBytes <= read.data.size(); at += kBytes) {
    if ((read.address + at - queue.desc) / kBytes != queue.next_index) continue;  // a repeated read, or part of a chain
    const auto descriptor = spec::PvirtqDesc::Decode(read.data.data() + at);
    const bool avail = (descriptor.flags & spec::VirtqDescFlags::kAvail) != 0;
    const bool used = (descriptor.flags & spec::VirtqDescFlags::kUsed) != 0;
    if (avail != queue.wrap || used == queue.wrap) break;
    if (!queue.in_chain) {
      Buffer& buffer = Take(index, read.mark);
      buffer.head = queue.next_index;
      buffer.has_head = true;
      buffer.request.index_read = {};
      SetAddress({index, queue.first + queue.buffers.size() - 1}, descriptor.addr, descriptor.len, descriptor.flags);
    }
    queue.in_chain = (descriptor.flags & spec::VirtqDescFlags::kNext) != 0;
    Advance(queue);
  }
  TakePushed(index);
}

void RingWatch::ReadBufferData(const BufferId& id, uint64_t address, std::span<const uint8_t> data, EventMark mark) {
  Buffer* const buffer = Find(id);
  if (buffer == nullptr || buffer->is_read) return;
  for (size_t i = 0; i < data.size(); ++i) {
    const uint64_t at = address + i - buffer->address;
    if (buffer->bytes < spec::RdmaSqReq::kBytes) {
      if (at >= kStartBytes) continue;
      buffer->content[at] = data[i];
    } else if (at < kHeadBytes) {
      buffer->content[at] = data[i];
    } else if (at >= kTailAt && at < kTailAt + kTailBytes) {
      buffer->content[kHeadBytes + at - kTailAt] = data[i];
    } else {
      continue;
    }
    ++buffer->have;
  }
  const uint64_t awaited = buffer->bytes < spec::RdmaSqReq::kBytes
                               ? std::min<uint64_t>(buffer->bytes, kStartBytes)
                               : kHeadBytes + std::min<uint64_t>(buffer->bytes - kTailAt, kTailBytes);
  if (buffer->have < awaited) return;
  WorkRequest& request = buffer->request;
  request.qpn = queues_[id.queue].owner;
  request.knows_bytes = true;
  if (buffer->bytes < spec::RdmaSqReq::kBytes) {
    ParseExtensible(*buffer);
  } else {
    Parse(*buffer);
  }
  request.completed = mark;
  buffer->is_read = true;
  ReportRequests(queues_[id.queue]);
}

void RingWatch::ParseExtensible(Buffer& buffer) {
  using Element = spec::RdmaSqElement;
  WorkRequest& request = buffer.request;
  const auto base = spec::RdmaSqBase::Decode(buffer.content.data());
  request.wr_id = base.wr_id;
  request.opcode = base.opcode;
  request.send_flags = base.send_flags;
  size_t at = spec::RdmaSqBase::kBytes;
  if ((base.elements & Element::kRdma) != 0) {
    const auto rdma = spec::RdmaSqRdma::Decode(buffer.content.data() + at);
    request.remote_addr = rdma.remote_addr;
    request.rkey = rdma.rkey;
    at += spec::RdmaSqRdma::kBytes;
  }
  if ((base.elements & Element::kUd) != 0) {
    request.remote_qpn = spec::RdmaSqUd::Decode(buffer.content.data() + at).remote_qpn;
    at += spec::RdmaSqUd::kBytes;
  }
  if ((base.elements & Element::kAtomic) != 0) at += spec::RdmaSqAtomic::kBytes;
  const auto rest = static_cast<uint32_t>(buffer.bytes < at ? 0 : buffer.bytes - at);
  if ((base.elements & Element::kInlineData) != 0) {
    request.bytes = rest;
  } else if ((base.elements & Element::kSgList) != 0) {
    request.knows_bytes = rest < 2 * spec::RdmaSge::kBytes;
    if (rest >= spec::RdmaSge::kBytes) request.bytes = spec::RdmaSge::Decode(buffer.content.data() + at).length;
  }
}

void RingWatch::Parse(Buffer& buffer) {
  std::array<uint8_t, spec::RdmaSqReq::kBytes> bytes{};
  std::copy_n(buffer.content.begin(), kHeadBytes, bytes.begin());
  std::copy_n(buffer.content.begin() + kHeadBytes, spec::RdmaSqReq::kBytes - kTailAt, bytes.begin() + kTailAt);
  const auto wqe = spec::RdmaSqReq::Decode(bytes.data());
  WorkRequest& request = buffer.request;
  request.wr_id = wqe.wr_id;
  request.opcode = wqe.opcode;
  request.send_flags = wqe.send_flags;
  const auto rdma = spec::RdmaSqReqRdma::Decode(wqe.wr);
  request.remote_addr = rdma.remote_addr;
  request.rkey = rdma.rkey;
  request.remote_qpn = spec::RdmaSqReqUd::Decode(wqe.wr).remote_qpn;
  if ((wqe.send_flags & spec::IbSendFlags::kInline) != 0) {
    request.bytes = spec::RdmaSqReqInlineLen::Decode(wqe.size).inline_len;
  } else {
    const uint32_t elements = spec::RdmaSqReqNumSge::Decode(wqe.size).num_sge;
    request.knows_bytes = elements <= 1;
    if (elements != 0) {
      request.bytes =
          spec::RdmaSge::Decode(buffer.content.data() + kHeadBytes + spec::RdmaSqReq::kBytes - kTailAt).length;
    }
  }
}

// Reports in ring order, regardless of the order of completions.
void RingWatch::ReportRequests(Queue& queue) {
  while (queue.reported < queue.first + queue.buffers.size()) {
    Buffer& buffer = queue.buffers[queue.reported - queue.first];
    if (!buffer.is_read) return;
    buffer.is_reported = true;
    ++queue.reported;
    listener_.OnWorkRequest(buffer.request);
  }
}

// --- Writes

RingWatch::Target RingWatch::OnWrite(const BoundaryEvent& event, EventMark mark) {
  uint64_t begin = 0;
  if (const Region* region = RegionAt(event.address, &begin)) {
    const uint16_t index = region->queue;
    const uint64_t at = event.address - begin;
    if (region->part == Part::kDescriptors) {
      // Writing the flags, last, makes a packed descriptor used.
      if (is_packed_ && at % spec::PvirtqDesc::kBytes == spec::PvirtqDesc::kFlagsOffset) {
        Used(index, mark, static_cast<uint32_t>(at / spec::PvirtqDesc::kBytes), true);
        if (queues_[index].kind == TableQueueKind::kCq) listener_.OnCompletionVisible(index, mark);
      }
    } else if (region->part == Part::kDevice && at >= kUsedEntries && event.bytes > sizeof(uint16_t)) {
      // An element may be split into two writes at a boundary; only its first part counts.
      if ((at - kUsedEntries) % spec::VirtqUsedElem::kBytes == 0) {
        Used(index, mark, static_cast<uint32_t>(Little(event.payload, sizeof(uint32_t))), true);
      }
    } else if (region->part == Part::kDevice && at == spec::VirtqUsed::kIdxOffset) {
      if (queues_[index].kind == TableQueueKind::kCq) listener_.OnCompletionVisible(index, mark);
    }
    return Target::kRing;
  }
  BufferId id;
  Buffer* const buffer = BufferAt(event.address, &id);
  if (buffer == nullptr || buffer->is_table || queues_[id.queue].kind != TableQueueKind::kCq) return Target::kOther;
  for (size_t i = 0; i < event.payload.size(); ++i) {
    const uint64_t at = event.address + i - buffer->address;
    if (at >= spec::RdmaCqReq::kBytes) continue;
    buffer->content[at] = event.payload[i];
    ++buffer->have;
  }
  if (buffer->have == spec::RdmaCqReq::kBytes) {
    listener_.OnCompletion(id.queue, spec::RdmaCqReq::Decode(buffer->content.data()), mark);
  }
  return Target::kBuffer;
}

void RingWatch::Used(uint16_t index, EventMark mark, uint32_t head, bool has_head) {
  Queue& queue = queues_[index];
  // Buffers of receive and completion queues are used in order, too.
  if (queue.buffers.empty() || (has_head && queue.buffers.front().has_head && queue.buffers.front().head != head)) {
    const bool is_followed =
        queue.kind == TableQueueKind::kSq || queue.kind == TableQueueKind::kRq || queue.kind == TableQueueKind::kCq;
    if (is_followed) ++counters_.used;
    return;
  }
  const Buffer& buffer = queue.buffers.front();
  const bool was_reported = buffer.is_reported;
  if (queue.kind == TableQueueKind::kCq && buffer.have != spec::RdmaCqReq::kBytes) ++counters_.completions;
  if (buffer.has_address) {
    const auto at = by_address_.find(buffer.address);
    if (at != by_address_.end() && at->second.queue == index && at->second.number == queue.first) by_address_.erase(at);
  }
  queue.buffers.pop_front();
  ++queue.first;
  queue.reported = std::max(queue.reported, queue.first);
  if (queue.kind == TableQueueKind::kSq) {
    listener_.OnSendUsed(queue.owner, mark, was_reported);
    ReportRequests(queue);
  } else if (queue.kind == TableQueueKind::kRq) {
    listener_.OnReceiveUsed(queue.owner, mark);
  }
}

}  // namespace vireo::sim
