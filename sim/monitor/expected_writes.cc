// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/expected_writes.h"

#include <cstring>

namespace vireo::sim::monitor {

void ExpectedWrites::Clear() {
  EraseIf([](const ExpectedWrite&, uint64_t) { return true; });
}

void ExpectedWrites::Add(const ExpectedWrite& write, uint64_t address, std::span<const uint8_t> data) {
  if (count_ >= first_.size()) Grow();
  uint32_t added = free_;
  if (added == kNone) {
    added = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    free_ = slots_[added].younger;
  }
  Slot& slot = slots_[added];
  slot.write = write;
  slot.address = address;
  slot.data.assign(data.begin(), data.end());
  slot.done = 0;
  slot.older = youngest_;
  slot.younger = kNone;
  (youngest_ == kNone ? oldest_ : slots_[youngest_].younger) = added;
  youngest_ = added;
  ++count_;
  Link(added);
}

std::optional<ExpectedWrite> ExpectedWrites::OnWrite(uint64_t address, std::span<const uint8_t> data) {
  for (uint32_t at = first_[PlaceOf(address)]; at != kNone; at = slots_[at].next) {
    Slot& slot = slots_[at];
    if (slot.address != address || data.size() > slot.data.size() - slot.done) continue;
    if (std::memcmp(data.data(), slot.data.data() + slot.done, data.size()) != 0) continue;
    if (slot.done + data.size() == slot.data.size()) {
      const ExpectedWrite write = slot.write;
      Erase(at);
      return write;
    }
    Unlink(at);
    slot.done += data.size();
    slot.address += data.size();
    Link(at);
    return std::nullopt;
  }
  return std::nullopt;
}

// As the last one of its place.
void ExpectedWrites::Link(uint32_t slot) {
  uint32_t* at = &first_[PlaceOf(slots_[slot].address)];
  while (*at != kNone) at = &slots_[*at].next;
  *at = slot;
  slots_[slot].next = kNone;
}

void ExpectedWrites::Unlink(uint32_t slot) {
  uint32_t* at = &first_[PlaceOf(slots_[slot].address)];
  while (*at != slot) at = &slots_[*at].next;
  *at = slots_[slot].next;
}

void ExpectedWrites::Erase(uint32_t slot) {
  Unlink(slot);
  Slot& erased = slots_[slot];
  (erased.older == kNone ? oldest_ : slots_[erased.older].younger) = erased.younger;
  (erased.younger == kNone ? youngest_ : slots_[erased.younger].older) = erased.older;
  erased.younger = free_;
  free_ = slot;
  --count_;
}

void ExpectedWrites::Grow() {
  first_.assign(2 * first_.size(), kNone);
  for (uint32_t slot = oldest_; slot != kNone; slot = slots_[slot].younger) Link(slot);
}

}  // namespace vireo::sim::monitor
