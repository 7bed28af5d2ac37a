// SPDX-License-Identifier: Apache-2.0
// vireo_index_set against its model in every cycle, without and with Lookup: FIFO order, no index is lost, none waits
// twice, and a push is new exactly as the block's page says.
#include "model/common/index_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vindex_set_16.h"
#include "Vindex_set_2.h"
#include "Vlookup_index_set_16.h"
#include "Vlookup_index_set_5.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::IndexSet;
using model::LookupIndexSet;

// --- Without Lookup

template <typename Top, uint32_t kEntries>
struct Bench {
  // One cycle: pushes an index if given, pops one if there is one and `take` is set. Returns what was popped.
  std::optional<uint32_t> Step(std::optional<uint32_t> push, bool take) {
    EXPECT_EQ(p.pop_valid_o != 0, set.CanPop(cycle)) << "cycle " << cycle;
    EXPECT_EQ(p.empty_o != 0, set.IsEmpty()) << "cycle " << cycle;
    if (p.pop_valid_o != 0 && set.CanPop(cycle)) {
      EXPECT_EQ(p.pop_o, set.front()) << "cycle " << cycle;
    }
    p.push_valid_i = push.has_value();
    p.push_i = static_cast<uint8_t>(push.value_or(random() % kEntries));
    p.pop_ready_i = take;
    // The order of both calls of the model does not matter.
    const bool push_first = random() % 2 == 0;
    std::optional<uint32_t> taken;
    if (push && push_first) set.Push(cycle, *push);
    if (take && set.CanPop(cycle)) taken = set.Pop(cycle);
    if (push && !push_first) set.Push(cycle, *push);
    rtl.Clock();
    ++cycle;
    return taken;
  }
  void Reset() {
    rtl.Reset();
    set = IndexSet(kEntries);
    cycle = 0;
  }
  // Pushes do not count yet.
  void PassSweep() {
    while (cycle < kEntries) Step(random() % kEntries, true);
    EXPECT_EQ(p.empty_o, 1);
  }

  std::mt19937_64 random = sim::MakeRandom("index_set");
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.insert(bytes.end(), {top.pop_valid_o, top.pop_o, top.empty_o});
  }};
  Top& p = rtl.ports();
  IndexSet set{kEntries};
  Cycle cycle = 0;
};
using Bench16 = Bench<Vindex_set_16, 16>;

// Rates in 16ths.
template <typename B>
void RandomTraffic(uint32_t entries) {
  B bench;
  for (const unsigned push_rate : {16u, 8u, 2u}) {
    for (const unsigned pop_rate : {16u, 8u, 1u}) {
      bench.Reset();
      bench.PassSweep();
      std::vector<bool> waits(entries);
      std::vector<uint32_t> order;
      for (int i = 0; i < 5000; ++i) {
        std::optional<uint32_t> push;
        if (bench.random() % 16 < push_rate) push = static_cast<uint32_t>(bench.random() % entries);
        // Half of the pushes are of the index that is next.
        if (push && !order.empty() && bench.random() % 2 == 0) push = order.front();
        const auto taken = bench.Step(push, bench.random() % 16 < pop_rate);
        if (taken) {
          ASSERT_FALSE(order.empty());
          EXPECT_EQ(*taken, order.front());
          waits[*taken] = false;
          order.erase(order.begin());
        }
        if (push && !waits[*push]) {
          waits[*push] = true;
          order.push_back(*push);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}
TEST(IndexSet, RtlAndModelAgreeAndNoIndexIsLost) { RandomTraffic<Bench16>(16); }
TEST(IndexSet, RtlAndModelAgreeWithTwoEntries) { RandomTraffic<Bench<Vindex_set_2, 2>>(2); }

TEST(IndexSet, AnIndexCanBePoppedTwoCyclesAfterItsPushAndThenOnePerCycle) {
  Bench16 bench;
  bench.PassSweep();
  for (uint32_t index = 0; index < 16; ++index) {
    const auto taken = bench.Step(index, true);
    if (index < 2) {
      EXPECT_FALSE(taken);
    } else {
      EXPECT_EQ(taken, index - 2);
    }
  }
  EXPECT_EQ(bench.Step({}, true), 14u);
  EXPECT_EQ(bench.Step({}, true), 15u);
  EXPECT_EQ(bench.p.empty_o, 1);
}

TEST(IndexSet, AllCanWaitAndAPushInTheCycleOfThePopIsNew) {
  Bench16 bench;
  bench.PassSweep();
  for (int twice = 0; twice < 2; ++twice) {
    for (uint32_t index = 0; index < 16; ++index) bench.Step(index, false);
  }
  EXPECT_EQ(bench.Step(0, true), 0u);  // in the cycle in which it is taken
  for (uint32_t index = 1; index < 16; ++index) EXPECT_EQ(bench.Step({}, true), index);
  EXPECT_EQ(bench.Step({}, true), 0u);
  EXPECT_EQ(bench.Step({}, true), std::nullopt);
}

TEST(IndexSet, AResetDiscardsWhatWaited) {
  Bench16 bench;
  for (int half = 0; half < 8; ++half) {
    bench.Reset();
    bench.PassSweep();
    for (uint32_t index = 0; index < 16; ++index) bench.Step(index, bench.random() % 2 == 0);
  }
  bench.Reset();
  EXPECT_EQ(bench.p.pop_valid_o, 0);
  bench.PassSweep();
  for (uint32_t index = 0; index < 16; ++index) {
    bench.Step(index, true);
    bench.Step({}, true);
    EXPECT_EQ(bench.Step({}, true), index);
  }
}

// --- With Lookup

template <unsigned kBits>
struct Index {
  uint8_t index{};
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("index", self.index, kBits);
  }
};

// Sets hold and clear, chosen by the test or at random.
class Levels final : public BenchStream {
 public:
  explicit Levels(std::function<void(Cycle)> begin) : begin_(std::move(begin)) {}
  void Begin(Cycle cycle) override { begin_(cycle); }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }

 private:
  std::function<void(Cycle)> begin_;
};

template <typename Top, uint32_t kEntries, unsigned kBits>
struct LookupBench {
  using Token = Index<kBits>;

  LookupBench() {
    block.out.Connect(sink, block);
    bench.AddOther(levels);
  }
  void Push(uint32_t index) { push.tokens.push_back({static_cast<uint8_t>(index)}); }
  std::string PassReset() { return bench.Run(kEntries); }

  std::mt19937_64 random = sim::MakeRandom("lookup_index_set");
  Agenda agenda;
  LookupIndexSet<Token> block{agenda, kEntries,
                              [](Cycle, uint32_t index) { return Token{static_cast<uint8_t>(index)}; }};
  Channel<Token> sink = Channel<Token>::Sink();
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.pop_valid_o);
    bytes.push_back(top.empty_o);
    bytes.push_back(top.pop_o);
  }};
  BlockBench<Top> bench{rtl, agenda, random};
  Top& p = rtl.ports();
  std::vector<std::pair<Cycle, uint32_t>> pushed;
  bool hold = false, clear = false;
  unsigned hold_rate = 0, clear_rate = 0;  // in 256ths, that they change
  Levels levels{[this](Cycle cycle) {
    if (random() % 256 < hold_rate) hold = !hold;
    if (random() % 256 < clear_rate) clear = !clear;
    p.hold_i = hold;
    p.clear_i = clear;
    block.SetHold(cycle, hold);
    block.SetClear(cycle, clear);
    if ((p.empty_o == 0) != block.IsWaiting(cycle)) {
      levels.difference = "empty is not the model's in cycle " + std::to_string(cycle);
    }
  }};
  decltype(bench.template Pulse<Token>(p.push_valid_i, p.push_i, nullptr)) push =
      bench.template Pulse<Token>(p.push_valid_i, p.push_i, [this](Cycle cycle, const Token& token) {
        block.Push(cycle, token.index);
        pushed.emplace_back(cycle, token.index);
      });
  decltype(bench.Out("pop", sink, p.pop_valid_o, p.pop_ready_i, p.pop_o)) out =
      bench.Out("pop", sink, p.pop_valid_o, p.pop_ready_i, p.pop_o);
};
using LookupBench16 = LookupBench<Vlookup_index_set_16, 16, 4>;
using LookupBench5 = LookupBench<Vlookup_index_set_5, 5, 3>;

// After the last push of an index comes a pop of it, and there are no more pops than pushes.
template <typename B>
void LookupTraffic(uint32_t entries) {
  for (const unsigned push_rate : {16u, 6u, 1u}) {
    for (const unsigned pop_rate : {16u, 7u, 1u}) {
      B bench;
      bench.push.rate = push_rate;
      bench.out.rate = pop_rate;
      bench.hold_rate = push_rate == 6 ? 8 : 0;
      for (int i = 0; i < 3000; ++i) bench.Push(static_cast<uint32_t>(bench.random() % entries));
      ASSERT_EQ(bench.bench.RunOut(0), "");
      bench.hold = false;
      bench.hold_rate = 0;
      bench.out.rate = 16;
      ASSERT_EQ(bench.bench.Run(100), "");
      Cycle last_push[16] = {}, last_pop[16] = {};
      size_t pushes[16] = {}, pops[16] = {};
      for (const auto& [cycle, index] : bench.pushed) {
        if (cycle < entries) continue;  // while both bits are being cleared
        last_push[index] = cycle;
        ++pushes[index];
      }
      for (const auto& sent : bench.sink.sent()) {
        last_pop[sent.token.index] = sent.cycle;
        ++pops[sent.token.index];
      }
      for (uint32_t index = 0; index < entries; ++index) {
        EXPECT_LE(pops[index], pushes[index]);
        EXPECT_GT(last_pop[index], last_push[index]) << "lost: " << index;
      }
    }
  }
}
TEST(LookupIndexSet, RtlAndModelAgreeAndNoIndexIsLost) { LookupTraffic<LookupBench16>(16); }
TEST(LookupIndexSet, RtlAndModelAgreeWithEntriesThatAreNoPowerOfTwo) { LookupTraffic<LookupBench5>(5); }

TEST(LookupIndexSet, RtlAndModelAgreeWithHoldAndClear) {
  LookupBench5 bench;
  bench.push.rate = 5;
  bench.out.rate = 5;
  bench.hold_rate = 30;
  bench.clear_rate = 30;
  for (int i = 0; i < 5000; ++i) bench.Push(static_cast<uint32_t>(bench.random() % 5));
  ASSERT_EQ(bench.bench.RunOut(100), "");
  EXPECT_GT(bench.out.count, 100u);
}

TEST(LookupIndexSet, EachIndexComesOnceInTheOrderOfTheFirstPush) {
  LookupBench16 bench;
  ASSERT_EQ(bench.PassReset(), "");
  bench.hold = true;
  std::vector<uint32_t> order(16);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), bench.random);
  for (const uint32_t index : order) bench.Push(index);
  for (int i = 0; i < 100; ++i) bench.Push(static_cast<uint32_t>(bench.random() % 16));
  ASSERT_EQ(bench.bench.RunOut(10), "");
  EXPECT_EQ(bench.out.count, 0u);
  bench.hold = false;
  ASSERT_EQ(bench.bench.Run(100), "");
  ASSERT_EQ(bench.sink.sent().size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(bench.sink.sent()[i].token.index, order[i]);
}

TEST(LookupIndexSet, AnIndexLeavesFourCyclesAfterItsPush) {
  LookupBench16 bench;
  ASSERT_EQ(bench.PassReset(), "");
  const Cycle push = bench.bench.cycle();
  bench.Push(7);
  ASSERT_EQ(bench.bench.Run(model::kIndexSetLookupLatency), "");
  EXPECT_EQ(bench.out.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.out.count, 1u);
  EXPECT_EQ(bench.sink.sent()[0].cycle, push + model::kIndexSetLookupLatency);
}

// The load is one cycle before the first cycle at the output: up to it a push adds nothing, from the next cycle on it
// is new. The pop is later in any case.
TEST(LookupIndexSet, APushIsNewFromTheCycleAfterTheLoadOn) {
  for (Cycle later = 1; later < 10; ++later) {
    LookupBench16 bench;
    ASSERT_EQ(bench.PassReset(), "");
    bench.Push(3);
    ASSERT_EQ(bench.bench.Run(later), "");
    bench.Push(3);
    ASSERT_EQ(bench.bench.Run(20), "");
    const bool is_new = later > model::kIndexSetLookupLatency - 1;
    EXPECT_EQ(bench.out.count, is_new ? 2u : 1u) << later;
  }
}

TEST(LookupIndexSet, ClearDiscardsWhatWaitsAndKeepsTheOutput) {
  LookupBench16 bench;
  ASSERT_EQ(bench.PassReset(), "");
  bench.out.rate = 0;
  for (uint32_t i = 0; i < 16; ++i) bench.Push(i);
  ASSERT_EQ(bench.bench.RunOut(5), "");
  bench.clear = true;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.p.empty_o, 1);
  bench.clear = false;
  bench.Push(9);  // thrown away before, so this is new
  bench.out.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  ASSERT_EQ(bench.out.count, 2u);
  EXPECT_EQ(bench.sink.sent()[0].token.index, 0);
  EXPECT_EQ(bench.sink.sent()[1].token.index, 9);
}

TEST(LookupIndexSet, AfterAResetInTrafficNoIndexIsStuck) {
  RtlTop<Vlookup_index_set_16> rtl{[](const Vlookup_index_set_16& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.pop_valid_o);
    bytes.push_back(top.empty_o);
  }};
  auto& p = rtl.ports();
  auto random = sim::MakeRandom("lookup_index_set_reset");
  p.hold_i = p.clear_i = p.pop_ready_i = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 40; ++i) {
      p.push_valid_i = random() % 2;
      p.push_i = random() % 16;
      p.pop_ready_i = random() % 2;
      rtl.Clock();
    }
    p.push_valid_i = 0;
    rtl.Reset();
    p.pop_ready_i = 1;
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(p.empty_o, 0);
      rtl.Clock();
    }
    EXPECT_EQ(p.empty_o, 1);
    unsigned popped = 0;
    for (unsigned i = 0; i < 40; ++i) {
      p.push_valid_i = i < 16;
      p.push_i = static_cast<uint8_t>(i % 16);
      popped += p.pop_valid_o;
      rtl.Clock();
    }
    EXPECT_EQ(popped, 16u);
    p.pop_ready_i = 0;
  }
}

}  // namespace
}  // namespace vireo::verif
