// SPDX-License-Identifier: Apache-2.0
// vireo_work_fence against its model in every cycle, and both against a list of packets: a work request has ended when
// all packets that were issued before its end are read, not a cycle before and at most one cycle later than that shows.
// A replay that passes others counts behind them.
#include "model/rdma/work_fence.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "Vwork_fence_128.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::WorkEnds;
using model::WorkFence;
using Counts = WorkFence::Counts;

constexpr uint32_t kCounts = 1u << WorkFence::kCountBits;

class Fence : public testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void Clear() {
    rtl_.Reset();
    model_ = {};
    cycle_ = 0;
    total_ = {};
    oldest_ = 1;
    passed_.clear();
    shown_ = before_ = {};
    unread_.clear();
  }
  // One cycle: what the requester ends and issues, and how many packets are read. A replay that ends passes so many.
  void Step(WorkEnds ends, unsigned reads, unsigned passes = 0) {
    if (ends.replay) {
      uint32_t replay = oldest_;
      for (;; ++replay) {
        if (passed_.contains(replay)) continue;
        if (passes-- == 0) break;
      }
      passed_.insert(replay);
      ends.serial = static_cast<uint8_t>(replay % WorkFence::kReplays);
    }
    p_.issued_i = ends.issued;
    p_.work_ended_i = ends.work;
    p_.replay_ended_i = ends.replay;
    p_.replay_serial_i = ends.serial;
    p_.packets_read_i = static_cast<uint8_t>(reads);
    if (ends.issued || ends.work || ends.replay) model_.OnEnds(cycle_, ends);
    for (unsigned i = 0; i < reads; ++i) model_.OnRead(cycle_);
    const Counts earlier = {p_.works_o, p_.replays_o};
    p_.eval();
    const bool changes = p_.changes_o != 0;
    rtl_.Clock();
    ++cycle_;
    EXPECT_EQ(changes, !(earlier == Counts{p_.works_o, p_.replays_o})) << "cycle " << cycle_;

    for (unsigned i = 0; i < reads; ++i) unread_.pop_front();
    if (ends.issued) unread_.push_back(total_);
    const uint32_t counts = passed_.erase(oldest_) != 0 ? 1 : 0;
    oldest_ += counts;
    total_ = {(total_.works + (ends.work ? 1 : 0)) % kCounts, (total_.replays + counts) % kCounts};
    before_ = shown_;
    shown_ = unread_.empty() ? total_ : unread_.front();
    Compare();
  }
  void Compare() {
    model_.Advance(cycle_);
    const Counts rtl = {p_.works_o, p_.replays_o};
    EXPECT_EQ(rtl.works, model_.ended().works) << "cycle " << cycle_;
    EXPECT_EQ(rtl.replays, model_.ended().replays) << "cycle " << cycle_;
    EXPECT_TRUE(rtl == shown_ || rtl == before_)
        << "cycle " << cycle_ << ": " << rtl.works << " works and " << rtl.replays << " replays, expected "
        << shown_.works << " and " << shown_.replays << ", or what it was the cycle before";
  }
  // Without input.
  void Wait(unsigned cycles) {
    for (unsigned i = 0; i < cycles; ++i) Step({}, 0);
  }
  void ExpectEnded(uint32_t works, uint32_t replays) {
    EXPECT_EQ(p_.works_o, works);
    EXPECT_EQ(p_.replays_o, replays);
  }

  std::mt19937_64 random_ = sim::MakeRandom("work_fence");
  RtlTop<Vwork_fence_128> rtl_{[](const Vwork_fence_128& top, std::vector<uint8_t>& bytes) {
    for (const auto port : {top.works_o, top.replays_o}) {
      bytes.insert(bytes.end(), {static_cast<uint8_t>(port), static_cast<uint8_t>(port >> 8)});
    }
  }};
  Vwork_fence_128& p_ = rtl_.ports();
  WorkFence model_;
  Cycle cycle_ = 0;
  Counts total_, shown_, before_;  // ended at the requester; what both show, and did in the cycle before
  std::deque<Counts> unread_;      // per packet that is not read: what had ended before it
  uint32_t oldest_ = 1;            // replay that does not count
  std::set<uint32_t> passed_;      // replays that have ended before it
};

// Rates in 16ths.
TEST_F(Fence, RtlAndModelAgreeWithTheListOfPackets) {
  for (const unsigned issue_rate : {16u, 8u, 1u}) {
    for (const unsigned read_rate : {16u, 9u, 4u}) {
      for (const unsigned end_rate : {16u, 5u}) {
        Clear();
        for (int i = 0; i < 6000; ++i) {
          const auto happens = [this](unsigned rate) { return random_() % 16 < rate; };
          unsigned reads = 0;
          for (int twice = 0; twice < 2; ++twice) reads += unread_.size() > reads && happens(read_rate) ? 1 : 0;
          const bool has_room = unread_.size() < WorkFence::kPackets;
          // As many as are not among the first half of those that may be open.
          const bool passes = passed_.size() < WorkFence::kReplays / 2 && happens(8);
          Step({.issued = has_room && happens(issue_rate), .work = happens(end_rate), .replay = happens(end_rate / 2)},
               reads, passes ? static_cast<unsigned>(random_() % (WorkFence::kReplays / 2)) : 0);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(Fence, AWorkRequestWithoutPacketsThatAreNotReadEndsInTheNextCycle) {
  ExpectEnded(0, 0);
  Step({.work = true}, 0);
  ExpectEnded(1, 0);
  Step({.replay = true}, 0);
  ExpectEnded(1, 1);
}

TEST_F(Fence, AWorkRequestEndsWithTheLastPacketBeforeItsEnd) {
  Step({.issued = true}, 0);
  Step({.issued = true, .work = true}, 0);
  Step({.issued = true, .replay = true}, 0);
  Wait(20);
  ExpectEnded(0, 0);
  Step({}, 1);
  Wait(20);
  ExpectEnded(0, 0);
  Step({}, 1);
  ExpectEnded(0, 0);  // the memory is read
  Wait(1);
  ExpectEnded(1, 0);
  Wait(20);
  ExpectEnded(1, 0);
  Step({}, 1);  // of the last one, at once
  ExpectEnded(1, 1);
}

TEST_F(Fence, PacketsOfLaterWorkRequestsDoNotDelayIt) {
  Step({.issued = true, .work = true}, 0);
  for (int i = 0; i < 5; ++i) Step({.issued = true}, 0);
  Step({.work = true}, 0);
  Step({}, 1);
  Wait(1);
  ExpectEnded(1, 0);
  Step({}, 2);
  Step({}, 2);
  Wait(20);
  ExpectEnded(1, 0);
  Step({}, 1);
  ExpectEnded(2, 0);
}

TEST_F(Fence, APacketThatIsIssuedWhenTheLastOneIsReadCounts) {
  Step({.issued = true, .work = true}, 0);
  Step({.issued = true, .work = true}, 1);
  ExpectEnded(1, 0);
  Wait(20);
  ExpectEnded(1, 0);
  Step({}, 1);
  ExpectEnded(2, 0);
}

// The third replay ends first, then the second one, and the first one with a packet.
TEST_F(Fence, AReplayThatPassesOthersCountsBehindThem) {
  Step({.replay = true}, 0, 2);
  Step({.issued = true}, 0);
  Step({.replay = true}, 0, 1);
  Step({}, 1);
  Wait(20);
  ExpectEnded(0, 0);
  Step({.issued = true, .replay = true}, 0);
  Wait(20);
  ExpectEnded(0, 0);
  Step({}, 1);
  ExpectEnded(0, 3);
  Step({.replay = true}, 0);
  ExpectEnded(0, 4);
  // One per cycle.
  for (unsigned passes = 5; passes != 0; --passes) Step({.replay = true}, 0, passes);
  Step({.replay = true}, 0);
  for (uint32_t i = 5; i <= 10; ++i) {
    ExpectEnded(0, i);
    Wait(1);
  }
  ExpectEnded(0, 10);
}

// All that may be open but the oldest end, and then that one.
TEST_F(Fence, AsManyReplaysPassAsMayBeOpen) {
  for (size_t i = 1; i < WorkFence::kReplays; ++i) Step({.replay = true}, 0, 1);
  ExpectEnded(0, 0);
  Step({.replay = true}, 0);
  Wait(WorkFence::kReplays - 2);
  ExpectEnded(0, WorkFence::kReplays - 1);
  Wait(1);
  ExpectEnded(0, WorkFence::kReplays);
  Wait(WorkFence::kReplays);
  ExpectEnded(0, WorkFence::kReplays);
}

TEST_F(Fence, HoldsAsManyPacketsAsThereArePlaces) {
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < WorkFence::kPackets; ++i) Step({.issued = true, .work = true}, 0);
    for (size_t i = 0; i < WorkFence::kPackets; i += 2) Step({}, 2);
    Wait(2);
    ExpectEnded(static_cast<uint32_t>((round + 1) * WorkFence::kPackets), 0);
  }
}

TEST_F(Fence, CountsWrap) {
  for (uint32_t i = 0; i < kCounts + 3; ++i) Step({.issued = true, .work = true, .replay = true}, i == 0 ? 0 : 1);
  Step({}, 1);
  ExpectEnded(3, 3);
}

TEST_F(Fence, AResetDiscardsAll) {
  for (int i = 0; i < 9; ++i) Step({.issued = true, .work = true}, 0);
  p_.issued_i = p_.work_ended_i = 0;
  Clear();
  ExpectEnded(0, 0);
  Step({.work = true}, 0);
  ExpectEnded(1, 0);
}

}  // namespace
}  // namespace vireo::verif
