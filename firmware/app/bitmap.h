// SPDX-License-Identifier: Apache-2.0
// Set of used indices of a fixed range. All searches are below a limit passed at run time.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace vireo::firmware {

inline constexpr uint32_t kNone = ~uint32_t{0};

template <uint32_t capacity>
class Bitmap {
 public:
  bool Test(uint32_t index) const { return (words_[index / kBits] >> (index % kBits) & 1) != 0; }
  void Set(uint32_t index) { words_[index / kBits] |= uint32_t{1} << (index % kBits); }
  void Clear(uint32_t index) { words_[index / kBits] &= ~(uint32_t{1} << (index % kBits)); }

  // The first clear bit of [first, limit), searched from `start` with wrap-around; kNone if all are set.
  uint32_t FindClear(uint32_t first, uint32_t limit, uint32_t start) const {
    if (start < first || start >= limit) start = first;
    const uint32_t found = Find<false>(start, limit);
    return found != kNone ? found : Find<false>(first, start);
  }

  // The first set bit of [from, limit); kNone if there is none.
  uint32_t FindSet(uint32_t from, uint32_t limit) const { return Find<true>(from, limit); }

  // The lowest run of `count` clear bits below `limit`; kNone if there is none. count is at least 1.
  uint32_t FindRun(uint32_t count, uint32_t limit) const {
    for (uint32_t start = Find<false>(0, limit); start != kNone;) {
      if (count > limit - start) return kNone;
      const uint32_t used = Find<true>(start, start + count);
      if (used == kNone) return start;
      start = Find<false>(used, limit);
    }
    return kNone;
  }

 private:
  static constexpr uint32_t kBits = 32;

  template <bool wanted>
  uint32_t Find(uint32_t from, uint32_t limit) const {
    while (from < limit) {
      const uint32_t word = (wanted ? words_[from / kBits] : ~words_[from / kBits]) >> (from % kBits);
      if (word == 0) {
        from += kBits - from % kBits;
      } else if ((word & 1) != 0) {
        return from;
      } else {
        ++from;
      }
    }
    return kNone;
  }

  uint32_t words_[(capacity + kBits - 1) / kBits]{};
};

}  // namespace vireo::firmware
