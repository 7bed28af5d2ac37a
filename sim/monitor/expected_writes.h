// SPDX-License-Identifier: Apache-2.0
// Payload that has arrived and must be written to memory: of WRITEs, and of responses to READs. The device writes it in
// parts, which are compared with it; those of one payload come in the order of their addresses.
//
// Found by the address of the next byte, so that a write costs one look-up. What an entry held its bytes in is used
// again for a later one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vireo::sim::monitor {

// What is to be written at one place.
struct ExpectedWrite {
  uint32_t qpn = 0, psn = 0;
  uint64_t message = 0;  // number of the READ; 0: a WRITE
  bool asks = false;     // the packet requests an acknowledge
};

class ExpectedWrites {
 public:
  void Clear();
  void Add(const ExpectedWrite& write, uint64_t address, std::span<const uint8_t> data);
  // The device has written: counts for the oldest one that goes on here and has these bytes. Returns it if that was its
  // last part.
  std::optional<ExpectedWrite> OnWrite(uint64_t address, std::span<const uint8_t> data);
  // Removes those for which the predicate, called with each and the address of its next byte, is true.
  template <typename Predicate>
  void EraseIf(Predicate is_erased) {
    for (uint32_t slot = oldest_; slot != kNone;) {
      const uint32_t following = slots_[slot].younger;
      if (is_erased(slots_[slot].write, slots_[slot].address)) Erase(slot);
      slot = following;
    }
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Slot {
    uint64_t address = 0;  // of the next byte
    ExpectedWrite write;
    std::vector<uint8_t> data;
    size_t done = 0;                          // bytes of `data` written
    uint32_t older = kNone, younger = kNone;  // of all; of free ones `younger` alone
    uint32_t next = kNone;                    // in its place of first_, younger
  };

  size_t PlaceOf(uint64_t address) const {
    return static_cast<size_t>(address * 0x9e37'79b9'7f4a'7c15 >> 32) & (first_.size() - 1);
  }
  void Link(uint32_t slot);
  void Unlink(uint32_t slot);
  void Erase(uint32_t slot);
  void Grow();

  std::vector<Slot> slots_;
  std::vector<uint32_t> first_ = std::vector<uint32_t>(64, kNone);  // by a hash of the address
  uint32_t oldest_ = kNone, youngest_ = kNone, free_ = kNone;
  size_t count_ = 0;
};

}  // namespace vireo::sim::monitor
