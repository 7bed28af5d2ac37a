// SPDX-License-Identifier: Apache-2.0
// vireo_qp_set against its model in every cycle, and against its specification: first come first served, no QP waits
// twice, and one that is pushed in the cycle in which it is taken comes again.
#include "model/rdma/qp_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vqp_set_16.h"
#include "Vqp_set_2.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::QpSet;

template <typename Top, uint32_t kEntries>
struct Bench {
  // One cycle: pushes one QP, or none; takes one if there is one and `take` is set. Returns the QP taken.
  std::optional<uint32_t> Step(std::optional<uint32_t> push, bool take) {
    EXPECT_EQ(p.pop_valid_o != 0, set.CanPop(cycle)) << "cycle " << cycle;
    EXPECT_EQ(p.empty_o != 0, set.IsEmpty()) << "cycle " << cycle;
    if (p.pop_valid_o != 0 && set.CanPop(cycle)) {
      EXPECT_EQ(p.pop_o, set.front()) << "cycle " << cycle;
    }
    p.push_valid_i = push.has_value();
    p.push_i = static_cast<uint8_t>(push.value_or(random() % kEntries));
    p.pop_ready_i = take;
    // The model may be informed in any order.
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
    set = QpSet(kEntries);
    cycle = 0;
  }
  // Pushes do not count yet.
  void PassSweep() {
    while (cycle < kEntries) Step(random() % kEntries, true);
    EXPECT_EQ(p.empty_o, 1);
  }

  std::mt19937_64 random = sim::MakeRandom("qp_set");
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.insert(bytes.end(), {top.pop_valid_o, top.pop_o, top.empty_o});
  }};
  Top& p = rtl.ports();
  QpSet set{kEntries};
  Cycle cycle = 0;
};
using Bench16 = Bench<Vqp_set_16, 16>;

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
        // In half of its cycles the QP that is about to be taken.
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
TEST(QpSet, MatchesModelWithoutLoss) { RandomTraffic<Bench16>(16); }
TEST(QpSet, MatchesModelWithoutLossForTwoQps) { RandomTraffic<Bench<Vqp_set_2, 2>>(2); }

TEST(QpSet, QpIsVisibleTwoCyclesAfterItsPushThenOnePerCycle) {
  Bench16 bench;
  bench.PassSweep();
  for (uint32_t qpn = 0; qpn < 16; ++qpn) {
    const auto taken = bench.Step(qpn, true);
    if (qpn < 2) {
      EXPECT_FALSE(taken);
    } else {
      EXPECT_EQ(taken, qpn - 2);
    }
  }
  EXPECT_EQ(bench.Step({}, true), 14u);
  EXPECT_EQ(bench.Step({}, true), 15u);
  EXPECT_EQ(bench.p.empty_o, 1);
}

TEST(QpSet, HoldsEachQpOnceAndReaddsOneTakenInTheSameCycle) {
  Bench16 bench;
  bench.PassSweep();
  for (int twice = 0; twice < 2; ++twice) {
    for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.Step(qpn, false);
  }
  EXPECT_EQ(bench.Step(0, true), 0u);  // in the cycle in which it is taken
  for (uint32_t qpn = 1; qpn < 16; ++qpn) EXPECT_EQ(bench.Step({}, true), qpn);
  EXPECT_EQ(bench.Step({}, true), 0u);
  EXPECT_EQ(bench.Step({}, true), std::nullopt);
}

TEST(QpSet, ResetClearsTheSet) {
  Bench16 bench;
  for (int half = 0; half < 8; ++half) {
    bench.Reset();
    bench.PassSweep();
    for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.Step(qpn, bench.random() % 2 == 0);
  }
  bench.Reset();
  EXPECT_EQ(bench.p.pop_valid_o, 0);
  bench.PassSweep();
  for (uint32_t qpn = 0; qpn < 16; ++qpn) {
    bench.Step(qpn, true);
    bench.Step({}, true);
    EXPECT_EQ(bench.Step({}, true), qpn);
  }
}

}  // namespace
}  // namespace vireo::verif
