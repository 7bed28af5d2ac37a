// SPDX-License-Identifier: Apache-2.0
// Idle simulated time is paced to real time, busy time is not, and interruptions do not stop the clock.
#include "sim/simulator/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace vireo::sim {
namespace {

constexpr Picoseconds kNs = kPicosecondsPerNanosecond;
constexpr Picoseconds kMs = 1'000'000 * kNs;
constexpr uint64_t kMsNs = 1'000'000;

class PacerTest : public testing::Test {
 protected:
  void At(Picoseconds time) {
    scheduler_.Call(time, [this] { seen_.push_back(scheduler_.now()); });
  }
  StandaloneScheduler scheduler_;
  Pacer pacer_{scheduler_};
  std::vector<Picoseconds> seen_;
};

TEST_F(PacerTest, NearEventsRunAtOnceAndDistantOnesWait) {
  At(100 * kNs);
  At(100 * kNs + Pacer::kIdleGap);
  At(100 * kNs + Pacer::kIdleGap + kMs);
  EXPECT_EQ(pacer_.SleepNs(0), 0u);
  pacer_.RunSlice(1000);
  EXPECT_EQ(seen_.size(), 2u);
  EXPECT_TRUE(pacer_.IsIdle());
  EXPECT_EQ(pacer_.SleepNs(50), kMsNs);
  constexpr uint64_t kGapNs = Pacer::kIdleGap / kNs;
  const uint64_t early = 50 + kMsNs - kGapNs - 1;
  pacer_.Advance(early);
  EXPECT_TRUE(pacer_.IsIdle());
  EXPECT_EQ(pacer_.SleepNs(early), kGapNs + 1);
  EXPECT_EQ(seen_.size(), 2u);
  pacer_.Advance(50 + kMsNs);
  EXPECT_EQ(seen_.size(), 3u);
  EXPECT_EQ(seen_.back(), 100 * kNs + Pacer::kIdleGap + kMs);
  // From the second event, which was run as work, to the third.
  EXPECT_EQ(pacer_.idle(), scheduler_.now() - (100 * kNs + Pacer::kIdleGap));
  EXPECT_GE(pacer_.idle(), kMs);
}

// A wake-up shortly before the event runs the event at once.
TEST_F(PacerTest, NoSleepForLessThanIdleGap) {
  At(kMs);
  EXPECT_EQ(pacer_.SleepNs(0), kMsNs);
  pacer_.Advance(kMsNs - Pacer::kIdleGap / kNs);
  EXPECT_FALSE(pacer_.IsIdle());
  EXPECT_TRUE(seen_.empty());
  pacer_.RunSlice(1);
  EXPECT_EQ(seen_.size(), 1u);
}

TEST_F(PacerTest, SliceEndsAfterItsSteps) {
  for (Picoseconds i = 1; i <= 5; ++i) At(i * kNs);
  pacer_.RunSlice(3);
  EXPECT_EQ(seen_.size(), 3u);
  pacer_.RunSlice(3);
  EXPECT_EQ(seen_.size(), 5u);
}

// A client that sends a request every 0.1 ms must not keep a 1 ms timer from expiring after 1 ms.
TEST_F(PacerTest, InterruptionsDoNotStopTheClock) {
  At(kMs);
  uint64_t real = 0;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(pacer_.SleepNs(real), kMsNs - real);
    real += kMsNs / 10;
    pacer_.Advance(real);
    EXPECT_EQ(scheduler_.now(), real * kNs);
    At(scheduler_.now() + kNs);
    pacer_.RunSlice(10);
    real += 1;  // time of the slice
  }
  EXPECT_EQ(seen_.size(), 9u);
  while (seen_.size() < 10 && real < 2 * kMsNs) {
    real += std::max<uint64_t>(pacer_.SleepNs(real), 1);
    pacer_.Advance(real);
  }
  EXPECT_EQ(seen_.back(), kMs);
  EXPECT_NEAR(static_cast<double>(real), kMsNs, 100);
}

TEST_F(PacerTest, SleepsForeverWithoutEvents) {
  EXPECT_EQ(pacer_.SleepNs(7), Pacer::kForeverNs);
  pacer_.Advance(107);
  EXPECT_EQ(scheduler_.now(), 100 * kNs);
}

}  // namespace
}  // namespace vireo::sim
