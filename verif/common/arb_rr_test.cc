// SPDX-License-Identifier: Apache-2.0
// The round-robin arbiter, RTL against model: every beat with its bytes and its input, every cycle's valid and ready.
// Plus directed tests of its policy.
#include "model/common/arb_rr.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "Varb_rr_64.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::ArbRr;
using model::Cycle;
using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

constexpr size_t kInputs = 5;  // no power of two
constexpr size_t kWidth = 64;
constexpr uint64_t kLastDriven = ~uint64_t{0xffff};  // bits that the last input sets, as in CMakeLists.txt

// Parameters of one run: how often each input offers a beat and the output takes one, in 16ths; transaction lengths.
struct Traffic {
  std::array<unsigned, kInputs> producers;
  unsigned consumer;
  unsigned max_beats;
};

class Bench {
 public:
  explicit Bench(const char* consumer) : random_(sim::MakeRandom(consumer)), rtl_(Outputs) {}

  void Run(uint64_t cycles, const Traffic& traffic) {
    auto& ports = rtl_.ports();
    for (uint64_t i = 0; i < cycles; ++i, ++cycle_) {
      model_.Advance(cycle_);
      const bool valid = model_.PopReady() <= cycle_;
      ASSERT_EQ(ports.m_valid_o, valid) << "cycle " << cycle_;
      if (valid) {
        const auto& beat = model_.output().front();
        ASSERT_EQ(ports.m_index_o, beat.input) << "cycle " << cycle_;
        ASSERT_EQ(ports.m_last_o, beat.last) << "cycle " << cycle_;
        ASSERT_EQ(ports.m_data_o, inputs_[beat.input].sent.front()) << "cycle " << cycle_;
      }

      ports.s_valid_i = 0;
      ports.s_last_i = 0;
      for (size_t k = 0; k < kInputs; ++k) {
        Input& input = inputs_[k];
        const bool ready = model_.PushReady(k) <= cycle_;
        ASSERT_EQ(ports.s_ready_o >> k & 1, ready) << "input " << k << ", cycle " << cycle_;
        if (!input.offered) {
          if (input.beats_left == 0) input.beats_left = static_cast<unsigned>(1 + random_() % traffic.max_beats);
          input.data = random_();
          if (k == kInputs - 1) input.data &= kLastDriven;
          input.offered = random_() % 16 < traffic.producers[k];
        }
        std::memcpy(BytesOf(ports.s_data_i).data() + kWidth / 8 * k, &input.data, kWidth / 8);
        const bool last = input.offered ? input.beats_left == 1 : random_() % 2 != 0;
        ports.s_valid_i = static_cast<CData>(ports.s_valid_i | unsigned{input.offered} << k);
        ports.s_last_i = static_cast<CData>(ports.s_last_i | unsigned{last} << k);
        if (input.offered && ready) {
          model_.Push(cycle_, k, last);
          input.sent.push_back(input.data);
          input.offered = false;
          --input.beats_left;
        }
      }
      ports.m_ready_i = random_() % 16 < traffic.consumer;
      if (valid && ports.m_ready_i) {
        const auto beat = model_.output().front();
        inputs_[beat.input].sent.pop_front();
        served_[beat.input] += beat.last;
        if (first_of_transaction_) order_.push_back(beat.input);
        first_of_transaction_ = beat.last;
        model_.Pop(cycle_);
        ++beats_;
      }
      rtl_.Clock();
    }
  }

  const std::array<uint64_t, kInputs>& served() const { return served_; }  // transactions of each input
  const std::vector<size_t>& order() const { return order_; }              // inputs of the transactions
  uint64_t beats() const { return beats_; }

 private:
  struct Input {
    bool offered = false;
    uint64_t data = 0;
    unsigned beats_left = 0;
    std::deque<uint64_t> sent;
  };

  static void Outputs(const Varb_rr_64& top, Bytes& bytes) {
    const auto data = BytesOf(top.m_data_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.insert(bytes.end(), {top.s_ready_o, top.m_valid_o, top.m_last_o, top.m_index_o});
  }

  Random random_;
  RtlTop<Varb_rr_64> rtl_;
  ArbRr model_{kInputs};
  std::array<Input, kInputs> inputs_;
  std::array<uint64_t, kInputs> served_{};
  std::vector<size_t> order_;
  bool first_of_transaction_ = true;
  uint64_t beats_ = 0;
  Cycle cycle_ = 0;
};

TEST(ArbRrRtl, MatchesModelUnderStalls) {
  Bench bench("ArbRrRtl.Agrees");
  for (const unsigned consumer : {3u, 10u, 16u}) {
    for (const unsigned max_beats : {1u, 2u, 9u}) {
      bench.Run(3000, {{16, 16, 16, 16, 16}, consumer, max_beats});
      bench.Run(3000, {{1, 4, 16, 2, 1}, consumer, max_beats});
      bench.Run(3000, {{1, 1, 1, 1, 1}, consumer, max_beats});
    }
  }
  for (const auto transactions : bench.served()) EXPECT_GT(transactions, 500u);
}

TEST(ArbRrRtl, ServesBusyInputsRoundRobin) {
  Bench bench("ArbRrRtl.Turn");
  bench.Run(1000, {{16, 16, 16, 16, 16}, 16, 3});
  ASSERT_GT(bench.order().size(), 400u);
  for (size_t i = 0; i < bench.order().size(); ++i) ASSERT_EQ(bench.order()[i], i % kInputs);
}

TEST(ArbRrRtl, HasNoBubblesBetweenTransactions) {
  // Of one input, and of all.
  for (const auto& producers : {std::array<unsigned, kInputs>{0, 0, 16, 0, 0}, {16, 16, 16, 16, 16}}) {
    for (const unsigned max_beats : {1u, 4u}) {
      Bench bench("ArbRrRtl.Gaps");
      bench.Run(500, {producers, 16, max_beats});
      EXPECT_EQ(bench.beats(), 500u - 2);
    }
  }
}

TEST(ArbRrModel, DecidesWhenTheBeatMoves) {
  ArbRr arbiter(3);
  arbiter.Push(10, 1, true);
  arbiter.Advance(10);  // a push in cycle 10 could still come
  EXPECT_EQ(arbiter.PopReady(), model::kUnknown);
  arbiter.Push(10, 0, true);
  arbiter.Advance(11);
  ASSERT_EQ(arbiter.output().size(), 1u);
  EXPECT_EQ(arbiter.output()[0].input, 0u);  // after reset, input 0 comes first
  EXPECT_EQ(arbiter.output()[0].moved, 11u);
  EXPECT_EQ(arbiter.PopReady(), 12u);
  arbiter.Advance(12);
  ASSERT_EQ(arbiter.output().size(), 2u);
  EXPECT_EQ(arbiter.output()[1].input, 1u);
  EXPECT_EQ(arbiter.output()[1].moved, 12u);
}

TEST(ArbRrModel, StaysWithAnInputUntilItsTransactionEnds) {
  ArbRr arbiter(2);
  arbiter.Push(5, 1, false);
  arbiter.Advance(6);
  arbiter.Push(6, 0, true);
  arbiter.Pop(7);
  arbiter.Advance(50);
  EXPECT_TRUE(arbiter.output().empty());
  arbiter.Push(50, 1, true);
  arbiter.Advance(60);
  ASSERT_EQ(arbiter.output().size(), 2u);
  EXPECT_EQ(arbiter.output()[0].input, 1u);
  EXPECT_EQ(arbiter.output()[0].moved, 51u);
  EXPECT_EQ(arbiter.output()[1].input, 0u);
  EXPECT_EQ(arbiter.output()[1].moved, 52u);
}

}  // namespace
}  // namespace vireo::verif
