// SPDX-License-Identifier: Apache-2.0
// Buffers by the address where they begin. Drivers use the same few addresses again and again, so the place of a buffer
// that is gone is kept for the next one there, and an address is found without a search of the tree.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

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
    Entry* const entry = EntryAt(address);
    return entry != nullptr && entry->second.is_live ? &entry->second.value : nullptr;
  }
  // The one that begins there, or the nearest before.
  Found FindBefore(uint64_t address) {
    Entry*& known = known_[PlaceOf(address)];
    if (known != nullptr && known->first == address && known->second.is_live) return {address, &known->second.value};
    auto at = entries_.upper_bound(address);
    for (unsigned i = 0; at != entries_.begin() && i < kMostSkipped; ++i) {
      --at;
      if (at->first == address) known = &*at;
      if (at->second.is_live) return {at->first, &at->second.value};
    }
    return {};
  }
  // Adds a buffer, instead of the one that begins there, if any. What the value was before is kept: assign all of it.
  T& Add(uint64_t address) {
    Entry* entry = EntryAt(address);
    if (entry == nullptr) {
      if (entries_.size() >= 4 * live_ + kMostKept) Purge();
      entry = &*entries_.try_emplace(address).first;
      known_[PlaceOf(address)] = entry;
    }
    live_ += entry->second.is_live ? 0 : 1;
    entry->second.is_live = true;
    return entry->second.value;
  }
  void Remove(uint64_t address) {
    Entry* const entry = EntryAt(address);
    if (entry == nullptr || !entry->second.is_live) return;
    entry->second.is_live = false;
    --live_;
  }
  template <typename Predicate>
  void RemoveIf(Predicate is_removed) {
    for (auto& [address, slot] : entries_) {
      if (!slot.is_live || !is_removed(slot.value)) continue;
      slot.is_live = false;
      --live_;
    }
  }

 private:
  struct Slot {
    T value{};
    bool is_live = false;
  };
  using Entries = std::map<uint64_t, Slot>;
  using Entry = typename Entries::value_type;
  static constexpr size_t kMostKept = 4096;  // of buffers that are gone
  static constexpr unsigned kMostSkipped = 64;
  static constexpr unsigned kKnownBits = 11;

  static size_t PlaceOf(uint64_t address) { return address * 0x9e37'79b9'7f4a'7c15 >> (64 - kKnownBits); }
  Entry* EntryAt(uint64_t address) {
    Entry*& known = known_[PlaceOf(address)];
    if (known != nullptr && known->first == address) return known;
    const auto found = entries_.find(address);
    return found == entries_.end() ? nullptr : known = &*found;
  }
  void Purge() {
    known_ = {};
    std::erase_if(entries_, [](const auto& entry) { return !entry.second.is_live; });
  }

  Entries entries_;
  size_t live_ = 0;
  std::array<Entry*, size_t{1} << kKnownBits> known_{};  // by a hash of the address
};

}  // namespace vireo::sim::monitor
