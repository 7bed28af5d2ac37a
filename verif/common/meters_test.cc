// SPDX-License-Identifier: Apache-2.0
// The counters of blocks and streams against a count cycle by cycle.
#include "model/common/meters.h"

#include <gtest/gtest.h>

#include <random>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "sim/common/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Block;
using model::Channel;
using model::Cycle;
using model::Meters;

class Part final : public Block {
 public:
  explicit Part(Agenda& agenda) : Block(agenda) { in.SetConsumer(this); }
  void Run(Cycle) override {}

  Channel<int> in = Channel<int>::Fifo(4);
  model::Output<int> out;
};

TEST(Meters, EqualACountOfEveryCycle) {
  auto random = sim::MakeRandom("meters");
  Agenda agenda;
  Part first(agenda), second(agenda);
  Meters meters;
  meters.SetParts({{&first, sizeof first, "first"}, {&second, sizeof second, "second"}});
  agenda.SetMeters(&meters);
  first.out.Connect(second.in, first);

  uint64_t tokens = 0, first_worked = 0, second_worked = 0;
  Cycle waiting = 0, full = 0, stalled = 0, without = 0;
  size_t held = 0;
  uint64_t sum = 0;
  for (Cycle now = 1; now < 20'000; ++now) {
    // State during the cycle before: from the end of its events on.
    const unsigned phase = static_cast<unsigned>(now / 500 % 4);  // more pushes, more pops, both, none for long
    if (phase == 3 && now % 50 > 10) {
      ++without;
      stalled += first_worked != 0 && without > model::BlockMeter::kLongestStep;
      waiting += held != 0, full += held == 4, sum += held;
      continue;
    }
    bool pushed = false, popped = false;
    if (second.in.CanPop(now) && (phase != 0 || random() % 4 == 0)) {
      second.in.Drop(now);
      --held, popped = true;
    }
    if (first.out.CanPush(now) && (phase != 1 || random() % 4 == 0)) {
      first.out.Push(now, 1);
      ++held, pushed = true;
    }
    tokens += popped, first_worked += pushed, second_worked += popped;
    without = pushed ? 0 : without + 1;
    stalled += first_worked != 0 && without > model::BlockMeter::kLongestStep;
    waiting += held != 0, full += held == 4, sum += held;
    const Meters::Counts counts = meters.At(now + 1);
    ASSERT_EQ(counts.streams.size(), 1);
    ASSERT_EQ(counts.streams[0].tokens, tokens);
    ASSERT_EQ(counts.streams[0].waiting, waiting) << "cycle " << now;
    ASSERT_EQ(counts.streams[0].full, full) << "cycle " << now;
    ASSERT_EQ(counts.streams[0].held, sum) << "cycle " << now;
    ASSERT_EQ(counts.streams[0].depth, 4);
    ASSERT_EQ(counts.blocks[0].worked, first_worked);
    ASSERT_EQ(counts.blocks[1].worked, second_worked);
    ASSERT_EQ(counts.blocks[0].blocked, full);
    ASSERT_EQ(counts.blocks[1].starved, now + 1 - waiting);
    ASSERT_EQ(counts.blocks[1].blocked, 0);
    ASSERT_EQ(counts.blocks[0].stalled, stalled);
  }
  EXPECT_GT(stalled, 1000);
  EXPECT_GT(full, 1000);
  EXPECT_GT(waiting, full);
  EXPECT_LT(waiting, 19'000);
}

TEST(Meters, StreamWithinOnePartHasNone) {
  Agenda agenda;
  Part part(agenda);
  Meters meters;
  meters.SetParts({{&part, sizeof part, "part"}});
  agenda.SetMeters(&meters);
  part.out.Connect(part.in, part);
  part.out.Push(1, 1);
  EXPECT_TRUE(meters.At(5).streams.empty());
  EXPECT_EQ(meters.At(5).blocks[0].worked, 0);
}

TEST(Meters, TrainIsCountedAtOnce) {
  Agenda agenda;
  Part first(agenda), second(agenda);
  Meters meters;
  meters.SetParts({{&first, sizeof first, "first"}, {&second, sizeof second, "second"}});
  agenda.SetMeters(&meters);
  first.out.Connect(second.in, first);
  second.in.Pass(10, 100, 12);  // pushed from 10 to 109, popped from 12 to 111
  const Meters::Counts counts = meters.At(200);
  EXPECT_EQ(counts.streams[0].tokens, 100);
  EXPECT_EQ(counts.streams[0].waiting, 102);
  EXPECT_EQ(counts.streams[0].held, 200);  // two cycles each
  EXPECT_EQ(counts.blocks[1].starved, 98);
  EXPECT_EQ(counts.blocks[0].worked, 100);
  first.out.Push(201, 1);
  EXPECT_EQ(meters.At(210).streams[0].waiting, 111);
}

TEST(Meters, MachineThatIsBusy) {
  Agenda agenda;
  Part first(agenda), second(agenda);
  Meters meters;
  meters.SetParts({{&first, sizeof first, "first"}, {&second, sizeof second, "second"}});
  model::BlockMeter& meter = *meters.Of(&second);
  meter.OnMachine(10, true, false);
  meter.OnMachine(12, true, true);
  meter.OnMachine(15, true, true);
  meter.OnMachine(20, true, false);
  EXPECT_EQ(meters.At(22).blocks[1].busy, 12);
  EXPECT_EQ(meters.At(22).blocks[1].waits, 8);
  meter.OnMachine(30, false, false);
  EXPECT_EQ(meters.At(99).blocks[1].busy, 20);
  EXPECT_EQ(meters.At(99).blocks[0].busy, 0);
}

}  // namespace
}  // namespace vireo::verif
