// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/bitmap.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/common/seed.h"

namespace vireo::verif {
namespace {

constexpr uint32_t kBits = 173;

uint32_t SlowFindClear(const std::vector<bool>& bits, uint32_t first, uint32_t limit, uint32_t start) {
  if (start < first || start >= limit) start = first;
  for (uint32_t i = start; i < limit; ++i) {
    if (!bits[i]) return i;
  }
  for (uint32_t i = first; i < start; ++i) {
    if (!bits[i]) return i;
  }
  return firmware::kNone;
}

uint32_t SlowFindRun(const std::vector<bool>& bits, uint32_t count, uint32_t limit) {
  for (uint32_t start = 0; start + count <= limit; ++start) {
    bool free = true;
    for (uint32_t i = 0; i < count; ++i) free = free && !bits[start + i];
    if (free) return start;
  }
  return firmware::kNone;
}

TEST(FirmwareBitmap, FindRunMatchesTheReference) {
  auto random = sim::MakeRandom("bitmap");
  for (int round = 0; round < 300; ++round) {
    firmware::Bitmap<kBits> map;
    std::vector<bool> bits(kBits);
    const auto density = random() % 9;
    for (uint32_t i = 0; i < kBits; ++i) {
      if (random() % 8 >= density) continue;
      map.Set(i);
      bits[i] = true;
    }
    for (int i = 0; i < 100; ++i) {
      const uint32_t cleared = static_cast<uint32_t>(random() % kBits);
      if (random() % 4 == 0) {
        map.Clear(cleared);
        bits[cleared] = false;
      }
      const uint32_t limit = 1 + static_cast<uint32_t>(random() % kBits);
      const uint32_t first = static_cast<uint32_t>(random() % limit);
      const uint32_t start = static_cast<uint32_t>(random() % (kBits + 5));
      const uint32_t count = 1 + static_cast<uint32_t>(random() % 70);
      ASSERT_EQ(map.FindClear(first, limit, start), SlowFindClear(bits, first, limit, start));
      ASSERT_EQ(map.FindRun(count, limit), SlowFindRun(bits, count, limit)) << count << " " << limit;
      uint32_t set = first;
      while (set < limit && !bits[set]) ++set;
      ASSERT_EQ(map.FindSet(first, limit), set < limit ? set : firmware::kNone);
      ASSERT_EQ(map.Test(first), bits[first]);
    }
  }
}

TEST(FirmwareBitmap, WordBoundaries) {
  firmware::Bitmap<96> map;
  for (uint32_t i = 0; i < 96; ++i) map.Set(i);
  EXPECT_EQ(map.FindClear(0, 96, 0), firmware::kNone);
  EXPECT_EQ(map.FindRun(1, 96), firmware::kNone);
  for (uint32_t i : {31u, 32u, 63u, 64u, 95u}) map.Clear(i);
  EXPECT_EQ(map.FindRun(2, 96), 31u);
  EXPECT_EQ(map.FindRun(2, 32), firmware::kNone);
  EXPECT_EQ(map.FindRun(3, 96), firmware::kNone);
  EXPECT_EQ(map.FindClear(0, 96, 33), 63u);
  EXPECT_EQ(map.FindClear(0, 96, 96), 31u);
  EXPECT_EQ(map.FindRun(96, 96), firmware::kNone);
  EXPECT_EQ((firmware::Bitmap<96>{}.FindRun(96, 96)), 0u);
}

}  // namespace
}  // namespace vireo::verif
