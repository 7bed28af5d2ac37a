// SPDX-License-Identifier: Apache-2.0
// The woken copy has the state of its snapshot, reaches the same point, and does not disturb the original.
#include "sim/device/snapshot_ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace vireo::sim {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SnapshotRingTest : public testing::Test {
 protected:
  SnapshotRingTest() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    trace_ = testing::TempDir() + "snapshot_" + name + ".txt";
    log_ = testing::TempDir() + "snapshot_" + name + ".log";
    std::remove(trace_.c_str());
  }
  // A simulation of 1,000 steps whose state depends on all previous ones; snapshots every 100; fails at step `failure`.
  // Returns whether it could be replayed.
  bool Simulate(SnapshotRing& ring, uint64_t failure, uint64_t look_back) {
    std::ofstream log(log_);
    std::ofstream trace;
    uint64_t state = 1;
    for (uint64_t step = 0; step < 1000; ++step) {
      if (step % 100 == 0 && ring.Take(step)) trace.open(trace_);
      state = state * 6364136223846793005U + step;
      log << step << "\n" << std::flush;
      if (trace.is_open()) trace << step << " " << state << "\n";
      if (step != failure) continue;
      if (ring.is_replay()) {
        trace.close();
        ring.Finish();
      }
      last_state_ = state;
      return ring.Replay(step - look_back, &from_);
    }
    return false;
  }

  std::string trace_, log_;
  uint64_t last_state_ = 0;
  uint64_t from_ = 0;
};

TEST_F(SnapshotRingTest, ReplaysTheStepsBeforeAFailure) {
  SnapshotRing ring(3);
  ASSERT_TRUE(Simulate(ring, 555, 50));
  EXPECT_EQ(from_, 500U);
  const std::string trace = Contents(trace_);
  EXPECT_EQ(trace.substr(0, 4), "500 ");
  const std::string last = "\n555 " + std::to_string(last_state_) + "\n";
  ASSERT_GE(trace.size(), last.size());
  EXPECT_EQ(trace.substr(trace.size() - last.size()), last);
}

TEST_F(SnapshotRingTest, UsesAnOlderSnapshotIfTheLastIsTooRecent) {
  SnapshotRing ring(3);
  ASSERT_TRUE(Simulate(ring, 510, 50));
  EXPECT_EQ(from_, 400U);
}

TEST_F(SnapshotRingTest, UsesTheOldestSnapshotIfNoneIsOldEnough) {
  SnapshotRing ring(2);
  ASSERT_TRUE(Simulate(ring, 510, 400));
  EXPECT_EQ(from_, 400U);
}

TEST_F(SnapshotRingTest, DoesNotChangeTheOriginalsFiles) {
  SnapshotRing ring(3);
  ASSERT_TRUE(Simulate(ring, 310, 100));
  std::string expected;
  for (int step = 0; step <= 310; ++step) expected += std::to_string(step) + "\n";
  EXPECT_EQ(Contents(log_), expected);
}

TEST_F(SnapshotRingTest, LeavesNothingWithoutAFailure) {
  {
    SnapshotRing ring(3);
    EXPECT_FALSE(Simulate(ring, 5000, 0));
    EXPECT_FALSE(ring.is_replay());
  }
  EXPECT_EQ(access(trace_.c_str(), F_OK), -1);
}

TEST_F(SnapshotRingTest, NoReplayWithoutASnapshot) {
  SnapshotRing ring(1);
  uint64_t from = 0;
  EXPECT_FALSE(ring.Replay(5, &from));
}

TEST_F(SnapshotRingTest, CrashedSnapshotGivesNoReplay) {
  SnapshotRing ring(1);
  if (ring.Take(0)) _exit(3);
  uint64_t from = 1;
  EXPECT_FALSE(ring.Replay(5, &from));
  EXPECT_EQ(from, 0U);
}

}  // namespace
}  // namespace vireo::sim
