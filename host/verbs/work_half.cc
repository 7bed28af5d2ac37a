// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/work_half.h"

#include <string>
#include <utility>

namespace vireo::verbs {
namespace {

// With more outstanding, the rate counts, and not the latency: a read of several work requests costs the device less
// than the bus would cost the writes. Two, because a message may be answered before it is acknowledged.
constexpr uint16_t kPushOutstanding = 2;

}  // namespace

Status WorkHalf::Open(Device& device, uint16_t index, uint32_t count, uint32_t elements, size_t fixed_bytes) {
  return OpenWithRoom(device, index, count, count, elements, fixed_bytes);
}

Status WorkHalf::OpenWithRoom(Device& device, uint16_t index, uint32_t count, uint32_t room, uint32_t elements,
                              size_t fixed_bytes) {
  entries = count;
  max_sge = elements;
  if (entries == 0) return {};  // never posted to; the device needs no virtqueue then
  Result<host::Queue> queue = device.OpenQueue(index, room, std::nullopt);
  if (!queue.ok()) return queue.error();
  work.emplace(Device::WorkQueue{.queue = std::move(queue).value(), .memory = nullptr});
  constexpr size_t kAlignment = 64;
  slot_bytes = (fixed_bytes + max_sge * spec::RdmaSge::kBytes + kAlignment - 1) / kAlignment * kAlignment;
  Result<host::DmaBuffer> memory = device.function().AllocateDma(room * slot_bytes, kAlignment);
  if (!memory.ok()) return memory.error();
  work->memory = std::move(memory).value();
  for (host::Token slot = room; slot-- > entries;) spare_slots.push_back(slot);
  for (host::Token slot = entries; slot-- > 0;) free_slots.push_back(slot);
  return {};
}

Status WorkHalf::Resize(uint32_t count) {
  if (Status reclaimed = Reclaim(); !reclaimed.ok()) return reclaimed;
  const auto move = [](std::vector<host::Token>& from, std::vector<host::Token>& to, size_t slots) {
    to.insert(to.end(), from.end() - static_cast<ptrdiff_t>(slots), from.end());
    from.resize(from.size() - slots);
  };
  if (count > entries) {
    if (count - entries > spare_slots.size()) return Error{ErrorCode::kNoSpace, "a queue has no room for more"};
    move(spare_slots, free_slots, count - entries);
  } else {
    if (entries - count > free_slots.size()) return Error{ErrorCode::kBadState, "more are outstanding"};
    move(free_slots, spare_slots, entries - count);
  }
  entries = count;
  return {};
}

Status WorkHalf::Reopen(Device& device) {
  if (!work.has_value()) return {};
  const uint16_t index = work->queue.index;
  Result<std::vector<host::Token>> stopped = device.base().StopQueue(work->queue, false);
  // In rfc-v2 without ring_reset the command has reset the queue.
  if (!stopped.ok() && stopped.error().code == ErrorCode::kUnsupported) {
    stopped = device.base().StopQueue(work->queue, true);
  }
  if (!stopped.ok()) return stopped.error();
  Result<host::Queue> queue = device.OpenQueue(index, entries, std::nullopt);
  if (!queue.ok()) return queue.error();
  work->queue = std::move(queue).value();
  free_slots.clear();
  for (host::Token slot = entries; slot-- > 0;) free_slots.push_back(slot);
  return {};
}

Status WorkHalf::Reclaim() {
  while (work.has_value()) {
    Result<std::optional<host::UsedBuffer>> used = work->queue.ring->Harvest();
    if (!used.ok()) return used.error();
    if (!used->has_value()) break;
    free_slots.push_back((*used)->token);
  }
  return {};
}

Result<host::Token> WorkHalf::TakeSlot(const Owner& owner, const char* what) {
  if (free_slots.empty()) {
    if (Status reclaimed = Reclaim(); !reclaimed.ok()) return reclaimed.error();
  }
  if (free_slots.empty()) {
    return Error{ErrorCode::kNoSpace, std::string(owner.kind) + " " + std::to_string(owner.number) + ": all " + what +
                                          " work requests are outstanding"};
  }
  const host::Token slot = free_slots.back();
  free_slots.pop_back();
  return slot;
}

Status WorkHalf::Post(host::Token slot, size_t bytes) {
  const bool may_push = bytes <= max_push;
  if (may_push) {
    if (Status reclaimed = Reclaim(); !reclaimed.ok()) return reclaimed;
  }
  const host::Segment segment{.address = work->memory->address() + slot * slot_bytes,
                              .bytes = static_cast<uint32_t>(bytes)};
  if (Status added = work->queue.ring->Add({&segment, 1}, {}, slot); !added.ok()) {
    free_slots.push_back(slot);
    return added;
  }
  host::Queue& queue = work->queue;
  if (may_push && queue.ring->outstanding() <= kPushOutstanding) {
    queue.ring->Publish();
    queue.doorbell.Push(*queue.ring, segment.address, {work->memory->data() + slot * slot_bytes, bytes});
    rings_next = true;
  } else if (rings_next) {
    queue.ring->Publish();
    queue.doorbell.Ring(*queue.ring);
    rings_next = false;
  } else {
    queue.Kick();
  }
  return {};
}

Status WorkHalf::PostRecv(const Owner& owner, const RecvRequest& request) {
  if (request.sg_list.size() > max_sge) {
    return Error{ErrorCode::kInvalidArgument, std::string(owner.kind) + " " + std::to_string(owner.number) +
                                                  ": more elements than a receive of this queue may have"};
  }
  Result<host::Token> slot = TakeSlot(owner, "receive");
  if (!slot.ok()) return slot.error();
  uint8_t* bytes = work->memory->data() + *slot * slot_bytes;
  spec::RdmaRqReq{.wr_id = request.wr_id, .num_sge = static_cast<uint32_t>(request.sg_list.size())}.Encode(bytes);
  size_t count = spec::RdmaRqReq::kBytes;
  for (const spec::RdmaSge& sge : request.sg_list) {
    sge.Encode(bytes + count);
    count += spec::RdmaSge::kBytes;
  }
  return Post(*slot, count);
}

}  // namespace vireo::verbs
