// SPDX-License-Identifier: Apache-2.0
// The agenda against a list of wake-up requests that is searched.
#include "model/common/agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sim/common/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Block;
using model::Cycle;
using model::kUnknown;

class Sleeper final : public Block {
 public:
  Sleeper(Agenda& agenda, WakeUps wake_ups, std::mt19937_64& random) : Block(agenda, wake_ups), random_(random) {}

  void Run(Cycle now) override {
    ran.push_back(now);
    wake_ups.erase(now);
    for (uint64_t i = random_() % 3; i > 0; --i) Ask(now + 1 + random_() % (random_() % 4 == 0 ? 1000 : 70));
    WakeAt(now);  // it has run
  }
  bool NeedsWakeUp(Cycle cycle) const override { return !withdrawn.contains(cycle); }
  void Ask(Cycle cycle) {
    wake_ups.insert(cycle);
    withdrawn.erase(cycle);
    WakeAt(cycle);
  }

  std::vector<Cycle> ran;
  std::set<Cycle> wake_ups, withdrawn;

 private:
  std::mt19937_64& random_;
};

TEST(Agenda, RunsEachBlockOncePerRequestedCycle) {
  auto random = sim::MakeRandom("agenda");
  Agenda agenda;
  EXPECT_EQ(agenda.next(), kUnknown);
  std::vector<std::unique_ptr<Sleeper>> blocks;
  for (size_t i = 0; i < Agenda::kBlocksMax; ++i) {
    blocks.push_back(std::make_unique<Sleeper>(agenda, Block::WakeUps::kPersistent, random));
  }
  Cycle now = 0;
  for (int round = 0; round < 20'000; ++round) {
    Sleeper& block = *blocks[random() % blocks.size()];
    if (random() % 8 == 0) block.Ask(now + 1 + random() % 300);
    Cycle first = kUnknown;
    for (const auto& each : blocks) {
      if (!each->wake_ups.empty()) first = std::min(first, *each->wake_ups.begin());
    }
    ASSERT_EQ(agenda.next(), first);
    if (first == kUnknown) continue;
    std::vector<size_t> due;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i]->wake_ups.contains(first)) due.push_back(i);
    }
    for (const auto& each : blocks) each->ran.clear();
    agenda.RunThrough(first);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool is_due = std::find(due.begin(), due.end(), i) != due.end();
      ASSERT_EQ(blocks[i]->ran, is_due ? std::vector<Cycle>{first} : std::vector<Cycle>{});
    }
    now = first;
  }
}

TEST(Agenda, SkipsWithdrawnRequests) {
  auto random = sim::MakeRandom("agenda");
  Agenda agenda;
  Sleeper block(agenda, Block::WakeUps::kCancellable, random);
  for (const Cycle cycle : {Cycle{5}, Cycle{63}, Cycle{64}, Cycle{5000}}) {
    block.Ask(cycle);
    EXPECT_EQ(agenda.next(), cycle);
    block.withdrawn.insert(cycle);
    EXPECT_EQ(agenda.next(), kUnknown);
    block.Ask(cycle);  // again
    EXPECT_EQ(agenda.next(), cycle);
    block.withdrawn.insert(cycle);
    EXPECT_EQ(agenda.next(), kUnknown);
  }
}

// A machine of six steps, one per cycle. The third one writes what the fourth reads.
class Machine final : public Block {
 public:
  explicit Machine(Agenda& agenda) : Block(agenda) { WakeAt(1); }
  void Run(Cycle now) override {
    if (ran.size() == 6) return;
    ran.push_back(now);
    WakeAt(now + 1);
  }
  bool CanRunTwice() const override { return ran.size() != 3; }

  std::vector<Cycle> ran;
};

TEST(Agenda, BlockOfTwiceTheSpeed) {
  Agenda agenda;
  Machine usual(agenda), fast(agenda);
  agenda.RunTwice([&](const Block* block) { return block == &fast; });
  EXPECT_TRUE(fast.IsRunTwice(0));
  EXPECT_FALSE(usual.IsRunTwice(0));
  agenda.RunThrough(20);
  EXPECT_EQ(usual.ran, (std::vector<Cycle>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(fast.ran, (std::vector<Cycle>{1, 1, 2, 3, 3, 4}));
}

TEST(Agenda, BlockThatIsALittleFaster) {
  Agenda agenda;
  Machine fast(agenda);
  agenda.RunTwice([](const Block*) { return 4; });
  EXPECT_FALSE(fast.IsRunTwice(2));
  EXPECT_TRUE(fast.IsRunTwice(8));
  agenda.RunThrough(20);
  EXPECT_EQ(fast.ran, (std::vector<Cycle>{1, 2, 3, 4, 4, 5}));
}

}  // namespace
}  // namespace vireo::verif
