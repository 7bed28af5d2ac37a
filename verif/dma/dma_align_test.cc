// SPDX-License-Identifier: Apache-2.0
// The shift pipeline by itself: every run of a memory becomes its train, under any stalls, in the cycles that the
// models of dma_reader and rx_scatter assume.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vdma_align_512.h"
#include "Vdma_align_64.h"
#include "model/rdma/rx_scatter.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using Bytes = std::vector<uint8_t>;
using model::RxScatter;

template <typename Top>
typename RtlTop<Top>::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto more = BytesOf(port);
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    add(top.train_valid_o);
    add(top.train_data_o);
    add(top.train_last_o);
    add(top.train_meta_o);
  };
}

// Runs lie one behind the other in memory, each starting in a beat of its own, all other bytes random.
template <typename Top>
struct Bench {
  static constexpr size_t kBeat = sizeof(Top::data_i);

  Bench() {
    p.run_valid_i = 0;
    p.train_ready_i = 0;
    rtl.Reset();
  }

  struct Run {
    size_t lane;
    size_t bytes;
    uint32_t meta;
  };
  struct Beat {
    Bytes data;
    bool last;
    uint32_t meta;
  };

  void Add(size_t lane, size_t bytes) {
    runs.push_back({lane, bytes, static_cast<uint32_t>(random())});
    const size_t from = memory.size() + lane;
    memory.resize(memory.size() + (lane + bytes + kBeat - 1) / kBeat * kBeat);
    for (size_t i = from - lane; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(random());
    for (size_t at = 0; at < bytes; at += kBeat) {
      Bytes beat(kBeat);
      for (size_t i = 0; i < std::min(kBeat, bytes - at); ++i) beat[i] = memory[from + at + i];
      expected.push_back({beat, at + kBeat >= bytes, runs.back().meta});
    }
  }

  void Cycle() {
    if (!offered && !runs.empty()) offered = random() % 16 < run_rate;
    p.run_valid_i = offered;
    if (offered) {
      const Run& run = runs.front();
      const size_t memory_beats = (run.lane + run.bytes + kBeat - 1) / kBeat;
      const size_t train_beats = (run.bytes + kBeat - 1) / kBeat;
      const bool lag = run.lane != 0 && memory_beats > 1;
      p.run_lag_i = lag;
      p.run_dummy_i = lag && memory_beats == train_beats;
      p.run_last_step_i = static_cast<CData>(train_beats - (lag ? 0 : 1));
      p.run_lane_i = static_cast<CData>(run.lane);
      p.run_end_lane_i = static_cast<CData>((run.bytes - 1) % kBeat);
      p.run_meta_i = run.meta;
    } else {
      Scramble(p.run_lag_i, random, 1);
      Scramble(p.run_dummy_i, random, 1);
      Scramble(p.run_lane_i, random, kBeat == 8 ? 3 : 6);
      Scramble(p.run_meta_i, random);
    }
    p.train_ready_i = random() % 16 < train_rate;
    Scramble(p.data_i, random);
    if (coming) {
      ASSERT_LE(*coming + kBeat, memory.size()) << "reads past the end";
      std::copy_n(memory.begin() + static_cast<ptrdiff_t>(*coming), kBeat, BytesOf(p.data_i).begin());
    }
    p.eval();
    coming.reset();
    if (p.read_o != 0) {
      coming = kBeat * reads;
      ++reads;
    }
    if (p.run_ready_o != 0) {
      ASSERT_TRUE(offered);
      runs.pop_front();
      offered = false;
    }
    if (p.train_valid_o != 0 && p.train_ready_i != 0) {
      ASSERT_FALSE(expected.empty());
      const Beat beat = std::move(expected.front());
      expected.pop_front();
      const auto data = BytesOf(std::as_const(p.train_data_o));
      ASSERT_TRUE(std::equal(data.begin(), data.end(), beat.data.begin(), beat.data.end()));
      ASSERT_EQ(p.train_last_o != 0, beat.last);
      ASSERT_EQ(p.train_meta_o, beat.meta);
      left.push_back(cycle);
    }
    rtl.Clock();
    ++cycle;
  }
  void Finish() {
    for (unsigned i = 0; i < 100'000 && !expected.empty() && !testing::Test::HasFatalFailure(); ++i) Cycle();
    EXPECT_TRUE(expected.empty() && runs.empty());
    EXPECT_EQ(kBeat * reads, memory.size());
  }

  std::mt19937_64 random = sim::MakeRandom("dma_align");
  RtlTop<Top> rtl{Outputs<Top>()};
  Top& p = rtl.ports();
  unsigned run_rate = 16;
  unsigned train_rate = 16;
  std::deque<Run> runs;
  bool offered = false;
  Bytes memory;
  size_t reads = 0;              // beats
  std::optional<size_t> coming;  // of memory, in this cycle
  std::deque<Beat> expected;
  uint64_t cycle = 0;
  std::vector<uint64_t> left;  // cycles in which beats left
};

template <typename Top>
class DmaAlignTest : public testing::Test {};
struct WidthNames {
  template <typename Top>
  static std::string GetName(int) {
    return "Bits" + std::to_string(8 * sizeof(Top::data_i));
  }
};
using Tops = testing::Types<Vdma_align_64, Vdma_align_512>;
TYPED_TEST_SUITE(DmaAlignTest, Tops, WidthNames);

TYPED_TEST(DmaAlignTest, EveryRunBecomesItsTrain) {
  for (const auto& [run_rate, train_rate] : {std::pair(16u, 16u), {3u, 16u}, {16u, 3u}, {9u, 9u}}) {
    Bench<TypeParam> b;
    b.run_rate = run_rate;
    b.train_rate = train_rate;
    for (size_t lane = 0; lane < b.kBeat; lane += b.kBeat > 8 ? 5 : 1) {
      for (const size_t whole : {size_t{0}, b.kBeat, 9 * b.kBeat}) {
        for (size_t more = 1; more <= b.kBeat; more += b.kBeat > 8 ? 7 : 1) b.Add(lane, whole + more);
      }
    }
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(DmaAlignTest, BeatIsVisibleAFixedTimeAfterItsStep) {
  Bench<TypeParam> b;
  b.Add(0, 5 * b.kBeat);
  b.Finish();
  // Step 0 in cycle 0.
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(b.left.at(i), RxScatter::kBeatLatency + i);
  const uint64_t start = b.cycle;
  b.Add(3, 5 * b.kBeat);  // one step more in front
  b.Add(3, b.kBeat - 3);  // of one beat: none
  b.Finish();
  for (uint64_t i = 0; i < 6; ++i) EXPECT_EQ(b.left.at(5 + i), start + RxScatter::kBeatLatency + 1 + i);
}

TYPED_TEST(DmaAlignTest, ReadsNoMoreThanItHasRoomFor) {
  Bench<TypeParam> b;
  b.train_rate = 0;
  b.Add(0, 20 * b.kBeat);
  for (unsigned i = 0; i < 50; ++i) b.Cycle();
  EXPECT_EQ(b.reads, model::WriteStream::kDepth);
  b.train_rate = 16;
  b.Finish();
}

TYPED_TEST(DmaAlignTest, ResetDiscardsTheRunInProgress) {
  for (unsigned cycles = 1; cycles < 20; ++cycles) {
    Bench<TypeParam> b;
    b.train_rate = cycles % 2 * 16;
    b.Add(3, 20 * b.kBeat);
    for (unsigned i = 0; i < cycles; ++i) b.Cycle();
    b.p.run_valid_i = 0;
    b.rtl.Reset();
    ASSERT_EQ(b.p.train_valid_o, 0);
    b.runs.clear();
    b.expected.clear();
    b.memory.clear();
    b.offered = false;
    b.coming.reset();
    b.reads = 0;
    b.train_rate = 16;
    b.Add(1, 3 * b.kBeat);
    b.Finish();
  }
}

}  // namespace
}  // namespace vireo::verif
