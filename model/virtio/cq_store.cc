// SPDX-License-Identifier: Apache-2.0
// The CQ writer's output stage: how what it writes to a ring looks.
#include <algorithm>
#include <array>
#include <optional>

#include "model/virtio/cq_writer.h"

namespace vireo::model {
void CqWriter::Load(Cycle now, const spec::DmaStore& store) {
  store_.Load(now, store);
  publish_.OnWrite();
}

void CqWriter::Store(Cycle now, uint64_t address, const uint8_t* data, size_t bytes) {
  spec::DmaStore store{.address = address,
                       .bytes = static_cast<uint8_t>(bytes),
                       .notify = true,
                       .tag = static_cast<uint8_t>(slot_tail_)};
  std::copy_n(data, bytes, store.data);
  Load(now, store);
}

// With the elements of its CQ. The timestamp is that of the cycle of the store.
void CqWriter::StoreCqe(Cycle now) {
  std::array<uint8_t, kCqeBytes> bytes{};
  std::copy_n(from_park_ ? parked_.front().cqe.data() : completion_in.front().cqe, spec::RdmaCqReq::kBytes,
              bytes.begin());
  if (cq_context_.elements != 0) {
    auto base = spec::RdmaCqBase::Decode(bytes.data());
    base.version = spec::kRdmaCqVersion;
    base.base_bytes = spec::RdmaCqBase::kBytes;
    base.elements = cq_context_.elements;
    base.Encode(bytes.data());
    spec::RdmaCqTimestamp{.time_ns = time_ns(now)}.Encode(bytes.data() + spec::RdmaCqBase::kBytes);
  }
  Store(now, target_.address, bytes.data(), bytes.size());
}

uint64_t CqWriter::DescriptorAt(uint16_t head) const {
  return row_.queue_desc + spec::PvirtqDesc::kBytes * uint64_t{head & ~kWrap};
}

uint32_t CqWriter::TargetBytes() const {
  return static_cast<uint32_t>(is_event_ ? spec::RdmaEvent::kBytes : spec::RdmaCqReq::kBytes);
}

uint16_t CqWriter::PlaceOf(const spec::Completion& completion) const {
  if (!IsById(completion)) return completion.head;
  return static_cast<uint16_t>((position_.wrapped ? 0 : kWrap) | position_.place);
}

CqWriter::Span CqWriter::SpanOf(uint16_t head) const {
  if (!packed_) return {.first = position_.used, .next_position = UsedNext()};
  const bool last = (head & ~kWrap) + 1 == row_.queue_size;
  return {.first = head, .next_position = static_cast<uint16_t>(last ? (head & kWrap) ^ kWrap : head + 1u)};
}

void CqWriter::StoreElement(Cycle now, uint16_t head, uint32_t bytes, std::optional<uint16_t> id) {
  if (packed_) {
    uint8_t descriptor[spec::PvirtqDesc::kBytes];
    spec::PvirtqDesc{.addr = 0, .len = bytes, .id = id.value_or(0), .flags = 0}.Encode(descriptor);
    const size_t end = id ? spec::PvirtqDesc::kFlagsOffset : spec::PvirtqDesc::kIdOffset;
    Store(now, DescriptorAt(head) + spec::PvirtqDesc::kLenOffset, descriptor + spec::PvirtqDesc::kLenOffset,
          end - spec::PvirtqDesc::kLenOffset);
    return;
  }
  uint8_t element[spec::VirtqUsedElem::kBytes];
  spec::VirtqUsedElem{.id = head, .len = bytes}.Encode(element);
  // Sizes are powers of two. [virtio 1.3, 2.7]
  const auto at = static_cast<uint64_t>(position_.used & (row_.queue_size - 1));
  Store(now, row_.queue_device + spec::VirtqUsed::kBytes + sizeof element * at, element, sizeof element);
}

spec::DmaStore CqWriter::IndexStore(uint16_t head, bool written) const {
  using Flags = spec::VirtqDescFlags;
  // Both bits are the wrap counter; the length is valid if something was written. [virtio 1.3, 2.8.1, 2.8.2 and 2.8.4]
  const auto flags =
      static_cast<uint16_t>(((head & kWrap) != 0 ? Flags::kAvail | Flags::kUsed : 0) | (written ? Flags::kWrite : 0));
  const uint16_t used = packed_ ? flags : UsedNext();
  spec::DmaStore store{.address = packed_ ? DescriptorAt(head) + spec::PvirtqDesc::kFlagsOffset
                                          : row_.queue_device + spec::VirtqUsed::kIdxOffset,
                       .bytes = sizeof used,
                       .notify = true,
                       .tag = static_cast<uint8_t>(slot_tail_)};
  store.data[0] = static_cast<uint8_t>(used);
  store.data[1] = static_cast<uint8_t>(used >> 8);
  return store;
}

void CqWriter::PublishIndex(Cycle now, uint16_t vq_index, uint16_t head, bool written) {
  spec::DmaStore store = IndexStore(head, written);
  store.tag |= kTagIndex;
  publish_.Push(now, {.slot = slot_tail_, .vq_index = vq_index, .store = store});
}

// Other writes go first: there are cycles without one.
void CqWriter::WriteIndex(Cycle now) {
  const UsedPublish::Index* const index = publish_.Due(now);
  if (index == nullptr) return;
  Slot& slot = slots_[index->slot];
  const bool again = publish_.IsWithheld();
  if (!again && !slot.error) {
    if (!store_.IsFree()) return;
    store_.Load(now, index->store);
    publish_.Drop(now);
  } else if (publish_.Withhold(now)) {
    slot.done = true;
    if (again) {  // the failure of its queue was reported
      slot.no_interrupt = true;
      slot.error = false;
    }
  }
}

}  // namespace vireo::model
