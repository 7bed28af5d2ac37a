// SPDX-License-Identifier: Apache-2.0
// The two queues, RTL against the formula: every entry with its bytes, every cycle's valid and ready.
#include "model/common/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "Vfifo_512.h"
#include "Vfifo_64.h"
#include "Vfifo_luts_64.h"
#include "Vslice_1_64.h"
#include "Vslice_64.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::FifoTiming;
using model::kUnknown;
using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

// How often a side is ready, in 16ths.
struct Rates {
  unsigned producer;
  unsigned consumer;
};

class Queue {
 public:
  virtual ~Queue() = default;
  // Clocks the RTL `cycles` times and compares each with the formula. Reports the first difference only.
  virtual void Run(uint64_t cycles, Rates rates) = 0;
  virtual void Reset() = 0;
  uint64_t full_cycles = 0;
  uint64_t popped = 0;
};

template <typename Top>
class QueueOf final : public Queue {
 public:
  QueueOf(FifoTiming timing, const char* consumer)
      : empty_(timing), timing_(std::move(timing)), random_(sim::MakeRandom(consumer)), rtl_(Outputs) {}

  void Run(uint64_t cycles, Rates rates) override {
    auto& ports = rtl_.ports();
    for (uint64_t i = 0; i < cycles; ++i, ++cycle_) {
      const bool ready = timing_.PushReady() <= cycle_;
      const bool valid = timing_.PopReady() <= cycle_;
      ASSERT_EQ(ports.s_ready_o, ready) << "cycle " << cycle_;
      ASSERT_EQ(ports.m_valid_o, valid) << "cycle " << cycle_;
      if (valid) {
        const auto data = BytesOf(ports.m_data_o);
        ASSERT_EQ(Bytes(data.begin(), data.end()), entries_.front()) << "cycle " << cycle_;
      }
      full_cycles += !ready;

      if (!offered_) Scramble(ports.s_data_i, random_);
      offered_ = offered_ || random_() % 16 < rates.producer;
      ports.s_valid_i = offered_;
      ports.m_ready_i = random_() % 16 < rates.consumer;
      if (offered_ && ready) {
        const auto data = BytesOf(ports.s_data_i);
        entries_.emplace_back(data.begin(), data.end());
        timing_.Push(cycle_);
        offered_ = false;
      }
      if (valid && ports.m_ready_i) {
        entries_.pop_front();
        timing_.Pop(cycle_);
        ++popped;
      }
      rtl_.Clock();
    }
  }

  void Reset() override {
    rtl_.ports().s_valid_i = 0;
    rtl_.Reset();
    timing_ = empty_;
    entries_.clear();
    offered_ = false;
    cycle_ = 0;
  }

 private:
  static void Outputs(const Top& top, Bytes& bytes) {
    const auto data = BytesOf(top.m_data_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.push_back(top.s_ready_o);
    bytes.push_back(top.m_valid_o);
  }

  const FifoTiming empty_;
  FifoTiming timing_;
  Random random_;
  RtlTop<Top> rtl_;
  std::deque<Bytes> entries_;
  bool offered_ = false;
  Cycle cycle_ = 0;
};

constexpr size_t kShallow = 16;
constexpr size_t kDeep = 512;

std::unique_ptr<Queue> Make(const std::string& name) {
  if (name == "slice") return std::make_unique<QueueOf<Vslice_64>>(FifoTiming::Slice(), "slice");
  if (name == "slice_1") return std::make_unique<QueueOf<Vslice_1_64>>(FifoTiming::HalfSlice(), "slice_1");
  if (name == "fifo_64") return std::make_unique<QueueOf<Vfifo_64>>(FifoTiming::Fifo(kShallow), "fifo_64");
  if (name == "fifo_luts_64")
    return std::make_unique<QueueOf<Vfifo_luts_64>>(FifoTiming::Fifo(kShallow), "fifo_luts_64");
  return std::make_unique<QueueOf<Vfifo_512>>(FifoTiming::Fifo(kDeep), "fifo_512");
}

class QueueTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Queue> queue_ = Make(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Rtl, QueueTest, testing::Values("slice", "slice_1", "fifo_64", "fifo_luts_64", "fifo_512"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(QueueTest, FollowsTheFormulaUnderStalls) {
  for (const unsigned producer : {1u, 5u, 12u, 16u}) {
    for (const unsigned consumer : {1u, 5u, 12u, 16u}) queue_->Run(4000, {producer, consumer});
  }
  EXPECT_GT(queue_->full_cycles, 0u);
  EXPECT_GT(queue_->popped, 10000u);
}

TEST_P(QueueTest, PassesAnEntryPerCycleOrWithOneEntryInEverySecond) {
  queue_->Run(1000, {16, 16});
  const bool half = GetParam() == std::string("slice_1");
  EXPECT_EQ(queue_->full_cycles, half ? 500u : 0u);
  EXPECT_GE(queue_->popped, (half ? 500u : 1000u) - FifoTiming::kFifoLatency);
}

TEST_P(QueueTest, FillsToItsDepthAndDrains) {
  for (int i = 0; i < 3; ++i) {
    queue_->Run(2 * kDeep, {16, 0});
    queue_->Run(2 * kDeep, {0, 16});
  }
  EXPECT_GT(queue_->full_cycles, 3 * kDeep - 10);
}

TEST_P(QueueTest, IsEmptyAfterReset) {
  for (int i = 0; i < 20; ++i) {
    queue_->Run(100, {16, 6});
    queue_->Reset();
    queue_->Run(30, {8, 16});
  }
}

TEST(FifoTiming, ReportsUnknownCycles) {
  FifoTiming slice = FifoTiming::Slice();
  EXPECT_EQ(slice.PopReady(), kUnknown);
  EXPECT_EQ(slice.PushReady(), 0u);
  slice.Push(10);
  EXPECT_EQ(slice.PopReady(), 11u);
  EXPECT_EQ(slice.PushReady(), 11u);
  slice.Push(11);
  EXPECT_EQ(slice.PushReady(), kUnknown);
  slice.Pop(20);
  EXPECT_EQ(slice.PushReady(), 21u);
  EXPECT_EQ(slice.PopReady(), 21u);
}

TEST(FifoTiming, ReportsWhenSeveralCanBePoppedWithoutABubble) {
  FifoTiming timing = FifoTiming::Fifo(kShallow);
  EXPECT_EQ(timing.PopReady(1), kUnknown);
  for (const Cycle cycle : {Cycle{10}, Cycle{11}, Cycle{20}}) timing.Push(cycle);
  EXPECT_EQ(timing.PopReady(1), 10 + FifoTiming::kFifoLatency);
  EXPECT_EQ(timing.PopReady(2), 10 + FifoTiming::kFifoLatency);
  EXPECT_EQ(timing.PopReady(3), 20 + FifoTiming::kFifoLatency - 2);
  EXPECT_EQ(timing.PopReady(4), kUnknown);
  timing.Pop(30, 2);
  EXPECT_EQ(timing.PopReady(1), 32u);
  EXPECT_EQ(timing.size(), 1u);
}

}  // namespace
}  // namespace vireo::verif
