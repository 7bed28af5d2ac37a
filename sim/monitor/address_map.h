// SPDX-License-Identifier: Apache-2.0
// Buffers by the address where they begin. Drivers use the same few addresses again and again, so the place of a buffer
// that is gone is kept for the next one there. Few bytes per buffer: between two uses of one, a device uses all others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vireo::sim::monitor {

template <typename T>
class AddressMap {
 public:
  struct Found {
    uint64_t address = 0;  // where the buffer begins
    T* value = nullptr;    // null: none
  };

  // Null: no buffer begins there. Valid until the next Add().
  T* Find(uint64_t address) {
    const uint32_t at = places_[PlaceOf(address)];
    return at != kNone && slots_[at].is_live ? &slots_[at].value : nullptr;
  }
  // The one that begins there, or the nearest before.
  Found FindBefore(uint64_t address) {
    if (T* const value = Find(address)) return {address, value};
    if (!is_ordered_) std::ranges::sort(order_, {}, &Place::address);
    is_ordered_ = true;
    auto at = std::ranges::upper_bound(order_, address, {}, &Place::address);
    for (unsigned i = 0; at != order_.begin() && i < kMostSkipped; ++i) {
      --at;
      if (slots_[at->slot].is_live) return {at->address, &slots_[at->slot].value};
    }
    return {};
  }
  // Adds a buffer, instead of the one that begins there, if any. What the value was before is kept: assign all of it.
  T& Add(uint64_t address) {
    uint32_t at = places_[PlaceOf(address)];
    if (at == kNone) {
      if (slots_.size() >= 4 * live_ + kMostKept) Purge();
      at = Append({.address = address, .is_live = false, .value = {}});
    }
    live_ += slots_[at].is_live ? 0 : 1;
    slots_[at].is_live = true;
    return slots_[at].value;
  }
  void Remove(uint64_t address) {
    const uint32_t at = places_[PlaceOf(address)];
    if (at == kNone || !slots_[at].is_live) return;
    slots_[at].is_live = false;
    --live_;
  }

 private:
  struct Slot {
    uint64_t address = 0;
    bool is_live = false;
    T value{};
  };
  struct Place {
    uint64_t address = 0;
    uint32_t slot = 0;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kMostKept = 4096;  // of buffers that are gone
  static constexpr unsigned kMostSkipped = 64;

  // Of the buffer in places_, or where it would be.
  size_t PlaceOf(uint64_t address) const {
    auto place = static_cast<size_t>(address * 0x9e37'79b9'7f4a'7c15 >> 32) & (places_.size() - 1);
    while (places_[place] != kNone && slots_[places_[place]].address != address) {
      place = (place + 1) & (places_.size() - 1);
    }
    return place;
  }
  uint32_t Append(Slot slot) {
    const auto at = static_cast<uint32_t>(slots_.size());
    const uint64_t address = slot.address;
    slots_.push_back(std::move(slot));
    is_ordered_ = is_ordered_ && (order_.empty() || order_.back().address < address);
    order_.push_back({address, at});
    if (2 * slots_.size() <= places_.size()) {
      places_[PlaceOf(address)] = at;
    } else {
      places_.assign(2 * places_.size(), kNone);
      for (uint32_t i = 0; i < slots_.size(); ++i) places_[PlaceOf(slots_[i].address)] = i;
    }
    return at;
  }
  void Purge() {
    std::vector<Slot> slots = std::exchange(slots_, {});
    order_.clear();
    places_.assign(places_.size(), kNone);
    for (Slot& slot : slots) {
      if (slot.is_live) Append(std::move(slot));
    }
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> places_ = std::vector<uint32_t>(64, kNone);  // in slots_, by a hash of the address
  std::vector<Place> order_;                                         // by the address
  bool is_ordered_ = true;                                           // only FindBefore() needs it
  size_t live_ = 0;
};

}  // namespace vireo::sim::monitor
