// SPDX-License-Identifier: Apache-2.0
#include "model/common/level.h"

#include <gtest/gtest.h>

namespace vireo::verif {
namespace {

TEST(Level, ChangeIsVisibleFromItsCycleOn) {
  model::Level<int> level(1);
  level.Set(10, 2);
  level.Set(12, 3);
  level.Set(12, 4);  // the last write of a cycle counts
  EXPECT_EQ(level.At(9), 1);
  EXPECT_EQ(level.At(10), 2);
  EXPECT_EQ(level.At(11), 2);
  EXPECT_EQ(level.At(12), 4);
  EXPECT_EQ(level.At(1000), 4);
}

// A level that is not read needs no more memory, and returns the same value when read later.
TEST(Level, KeepsManyChangesBetweenReads) {
  model::Level<model::Cycle> level;
  constexpr model::Cycle kEnd = 100'000;
  for (model::Cycle cycle = 0; cycle < kEnd; ++cycle) level.Set(cycle, cycle);
  EXPECT_EQ(level.changes(), model::kMaxChanges);
  for (model::Cycle cycle = kEnd - model::kMaxChanges; cycle < kEnd; ++cycle) ASSERT_EQ(level.At(cycle), cycle);
  EXPECT_EQ(level.changes(), 0u);
}

}  // namespace
}  // namespace vireo::verif
