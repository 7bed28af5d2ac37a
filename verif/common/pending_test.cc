// SPDX-License-Identifier: Apache-2.0
// vireo_pending against its model, and against its specification: no push is lost, no index is pending twice.
#include "model/common/pending.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "Vpending_16.h"
#include "Vpending_5.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Pending;

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
struct Bench {
  using Token = Index<kBits>;

  Bench() {
    block.out.Connect(sink, block);
    bench.AddOther(levels);
  }
  void Push(uint32_t index) { push.tokens.push_back({static_cast<uint8_t>(index)}); }
  std::string PassReset() { return bench.Run(kEntries); }

  std::mt19937_64 random = sim::MakeRandom("pending");
  Agenda agenda;
  Pending<Token> block{agenda, kEntries, [](Cycle, uint32_t index) { return Token{static_cast<uint8_t>(index)}; }};
  Channel<Token> sink = Channel<Token>::Sink();
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.pop_valid_o);
    bytes.push_back(top.waiting_o);
    bytes.push_back(top.pop_o);
  }};
  BlockBench<Top> bench{rtl, agenda, random};
  Top& p = rtl.ports();
  std::vector<std::pair<Cycle, uint32_t>> pushed;
  bool hold = false, clear = false;
  unsigned hold_rate = 0, clear_rate = 0;  // of changes, in 256ths
  Levels levels{[this](Cycle cycle) {
    if (random() % 256 < hold_rate) hold = !hold;
    if (random() % 256 < clear_rate) clear = !clear;
    p.hold_i = hold;
    p.clear_i = clear;
    block.SetHold(cycle, hold);
    block.SetClear(cycle, clear);
    if ((p.waiting_o != 0) != block.IsWaiting(cycle)) {
      levels.difference = "waiting is not the model's in cycle " + std::to_string(cycle);
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
using Bench16 = Bench<Vpending_16, 16, 4>;
using Bench5 = Bench<Vpending_5, 5, 3>;

// After every push that counted the index is popped, and no more often than it was pushed.
template <typename B>
void RandomTraffic(uint32_t entries) {
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
TEST(Pending, MatchesModelWithoutLoss) { RandomTraffic<Bench16>(16); }
TEST(Pending, MatchesModelWithoutLossForNonPowerOfTwoEntries) { RandomTraffic<Bench5>(5); }

TEST(Pending, MatchesModelWhileCleared) {
  Bench5 bench;
  bench.push.rate = 5;
  bench.out.rate = 5;
  bench.hold_rate = 30;
  bench.clear_rate = 30;
  for (int i = 0; i < 5000; ++i) bench.Push(static_cast<uint32_t>(bench.random() % 5));
  ASSERT_EQ(bench.bench.RunOut(100), "");
  EXPECT_GT(bench.out.count, 100u);
}

TEST(Pending, PopsEachIndexOnceInOrderOfFirstPush) {
  Bench16 bench;
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

TEST(Pending, IndexLeavesFourCyclesAfterPush) {
  Bench16 bench;
  ASSERT_EQ(bench.PassReset(), "");
  const Cycle push = bench.bench.cycle();
  bench.Push(7);
  ASSERT_EQ(bench.bench.Run(model::kPendingLatency), "");
  EXPECT_EQ(bench.out.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.out.count, 1u);
  EXPECT_EQ(bench.sink.sent()[0].cycle, push + model::kPendingLatency);
}

// The load is one cycle before the first cycle at the output: up to it a push adds nothing, from the next cycle on it
// is new. The pop is later in any case.
TEST(Pending, PushIsNewFromTheCycleAfterTheLoad) {
  for (Cycle later = 1; later < 10; ++later) {
    Bench16 bench;
    ASSERT_EQ(bench.PassReset(), "");
    bench.Push(3);
    ASSERT_EQ(bench.bench.Run(later), "");
    bench.Push(3);
    ASSERT_EQ(bench.bench.Run(20), "");
    const bool is_new = later > model::kPendingLatency - 1;
    EXPECT_EQ(bench.out.count, is_new ? 2u : 1u) << later;
  }
}

TEST(Pending, ClearDiscardsPendingAndKeepsOffered) {
  Bench16 bench;
  ASSERT_EQ(bench.PassReset(), "");
  bench.out.rate = 0;
  for (uint32_t i = 0; i < 16; ++i) bench.Push(i);
  ASSERT_EQ(bench.bench.RunOut(5), "");
  bench.clear = true;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.p.waiting_o, 0);
  bench.clear = false;
  bench.Push(9);  // discarded before, so this is new
  bench.out.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  ASSERT_EQ(bench.out.count, 2u);
  EXPECT_EQ(bench.sink.sent()[0].token.index, 0);
  EXPECT_EQ(bench.sink.sent()[1].token.index, 9);
}

TEST(Pending, ResetInTrafficLeavesNothingStuck) {
  RtlTop<Vpending_16> rtl{[](const Vpending_16& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.pop_valid_o);
    bytes.push_back(top.waiting_o);
  }};
  auto& p = rtl.ports();
  auto random = sim::MakeRandom("pending_reset");
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
      EXPECT_EQ(p.waiting_o, 1);
      rtl.Clock();
    }
    EXPECT_EQ(p.waiting_o, 0);
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
