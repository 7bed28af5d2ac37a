// SPDX-License-Identifier: Apache-2.0
#include "sim/report/payload_match.h"

#include <gtest/gtest.h>

namespace vireo::sim {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(PayloadReads, MatchInOrderWithTimes) {
  PayloadReads reads;
  reads.OnRead(1, 2, {10});
  reads.OnRead(2, 2, {11});
  reads.OnData(2, Bytes{3, 4}, true, {20});  // overtakes
  reads.OnData(1, Bytes{1}, false, {21});
  reads.OnData(1, Bytes{2}, true, {22});
  const auto found = reads.Take(Bytes{1, 2, 3, 4});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->first.cycle, 10U);
  EXPECT_EQ(found->last.cycle, 22U);
  EXPECT_FALSE(reads.Take(Bytes{1, 2, 3, 4}).has_value()) << "already sent";
}

TEST(PayloadReads, SkipOtherReads) {
  PayloadReads reads;
  reads.OnRead(1, 2, {10});
  reads.OnRead(2, 3, {11});
  reads.OnRead(3, 2, {12});
  reads.OnData(1, Bytes{1, 2}, true, {20});
  reads.OnData(2, Bytes{7, 7, 7}, true, {21});
  reads.OnData(3, Bytes{3, 4}, true, {22});
  EXPECT_TRUE(reads.Take(Bytes{1, 2, 3, 4}).has_value());
  EXPECT_TRUE(reads.Take(Bytes{7, 7, 7}).has_value());
}

TEST(PayloadReads, MatchDespiteEqualPrefix) {
  PayloadReads reads;
  for (uint32_t tag = 1; tag <= 2; ++tag) reads.OnRead(tag, tag, {10 + tag});
  reads.OnData(1, Bytes{5}, true, {20});
  reads.OnData(2, Bytes{5, 6}, true, {21});
  const auto found = reads.Take(Bytes{5, 6});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->first.cycle, 12U);
  EXPECT_FALSE(reads.Take(Bytes{5}).has_value()) << "older reads are dropped";
}

TEST(PayloadReads, RejectDifferentBytes) {
  PayloadReads reads;
  reads.OnRead(1, 2, {10});
  EXPECT_FALSE(reads.Take(Bytes{1, 2}).has_value()) << "no data yet";
  reads.OnData(1, Bytes{1, 2}, true, {20});
  EXPECT_FALSE(reads.Take(Bytes{1, 3}).has_value());
  EXPECT_FALSE(reads.Take(Bytes{1}).has_value());
  EXPECT_FALSE(reads.Take(Bytes{1, 2, 3}).has_value());
  reads.OnData(9, Bytes{1}, true, {21});  // no such read
  EXPECT_TRUE(reads.Take(Bytes{1, 2}).has_value());
}

TEST(PayloadReads, ForgottenTagGetsNoData) {
  PayloadReads reads;
  reads.OnRead(1, 1, {1});
  reads.Forget(1);
  reads.OnData(1, Bytes{42}, true, {9});
  EXPECT_FALSE(reads.Take(Bytes{42}).has_value());
}

TEST(PayloadReads, ForgetOldest) {
  PayloadReads reads;
  reads.OnRead(1, 1, {1});
  reads.OnData(1, Bytes{42}, true, {2});
  for (uint32_t i = 0; i < PayloadReads::kMaxReads; ++i) reads.OnRead(2 + i, 1, {3});
  EXPECT_FALSE(reads.Take(Bytes{42}).has_value());
}

TEST(PayloadWrites, MatchOldestFrameThatContinues) {
  PayloadWrites<int> writes;
  const auto one = std::make_shared<int>(1), two = std::make_shared<int>(2);
  writes.OnFrame(one, Bytes{1, 2, 3});
  writes.OnFrame(two, Bytes{1, 2, 4});
  EXPECT_EQ(writes.Take(Bytes{1, 2}), one);
  EXPECT_EQ(writes.Take(Bytes{1, 2}), two);
  EXPECT_EQ(writes.Take(Bytes{4}), two);
  EXPECT_EQ(writes.Take(Bytes{4}), nullptr);
  EXPECT_EQ(writes.Take(Bytes{3, 0}), nullptr) << "longer than what is left";
  EXPECT_EQ(writes.Take(Bytes{3}), one);
}

TEST(PayloadWrites, MatchDespiteEqualPrefix) {
  PayloadWrites<int> writes;
  const auto one = std::make_shared<int>(1);
  writes.OnFrame(one, Bytes{1, 2, 3});
  EXPECT_EQ(writes.Take(Bytes{1}), one);  // a write of an unknown frame
  EXPECT_EQ(writes.Take(Bytes{1, 2}), one);
  EXPECT_EQ(writes.Take(Bytes{3}), one);
  EXPECT_EQ(writes.Take(Bytes{3}), nullptr);
}

}  // namespace
}  // namespace vireo::sim
