// SPDX-License-Identifier: Apache-2.0
// What the monitor knows of memory: the bytes last read, those before, and that it has forgotten some.
#include "sim/monitor/payload_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace vireo::sim::monitor {
namespace {

using Verdict = PayloadMemory::Verdict;
constexpr uint64_t kPage = uint64_t{1} << PayloadMemory::kPageShift;

TEST(PayloadMemory, ComparesWithWhatWasReadLastOrBefore) {
  PayloadMemory memory;
  const std::vector<uint8_t> old(64, 1), now(64, 2), other(64, 3);
  memory.Read(10, 0x1000, old);
  EXPECT_EQ(memory.Compare(11, 0x1000, old), Verdict::kEqual);
  memory.Read(20, 0x1000, now);
  EXPECT_EQ(memory.Compare(21, 0x1000, now), Verdict::kEqual);
  EXPECT_EQ(memory.Compare(21, 0x1000, old), Verdict::kEqual);
  EXPECT_EQ(memory.Compare(21, 0x1000, other), Verdict::kOther);
  EXPECT_EQ(memory.Compare(21, 0x1040, now), Verdict::kNotRead);
  EXPECT_FALSE(memory.has_forgotten());
}

// A rule on bytes that are written long before they are compared needs to know that they may have been dropped.
TEST(PayloadMemory, SaysThatItHasForgotten) {
  PayloadMemory memory;
  const std::vector<uint8_t> data(8, 1);
  for (uint64_t page = 0; page < 2 * PayloadMemory::kMostPages; ++page) memory.Read(1, page * kPage, data);
  EXPECT_FALSE(memory.has_forgotten());
  EXPECT_EQ(memory.Compare(2, 0, data), Verdict::kEqual);  // and kept, being used
  for (uint64_t page = 0; page < PayloadMemory::kMostPages; ++page) memory.Read(3, (page + 5000) * kPage, data);
  EXPECT_TRUE(memory.has_forgotten());
  EXPECT_EQ(memory.Compare(4, kPage, data), Verdict::kNotRead);
  memory.Clear();
  EXPECT_FALSE(memory.has_forgotten());
}

}  // namespace
}  // namespace vireo::sim::monitor
