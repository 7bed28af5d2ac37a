// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch: buffers that the driver has pushed. [docs/decisions/0029]
#include "verif/virtio/desc_fetch_bench.h"

namespace vireo::verif {
namespace {

class DescFetchPush : public testing::TestWithParam<bool> {
 protected:
  void Start(Bench& b, uint16_t size = 4) {
    if (GetParam()) b.UsePackedRings();
    b.Enable(4, size);
    b.SetWindow(4, {.enable = true, .base = 0x1000, .last = 0x1fff});
    ASSERT_EQ(b.bench.Run(50), "");
  }
  // Makes a buffer available. Returns what the driver says of it: position and head.
  static std::pair<uint16_t, uint16_t> Post(Bench& b) {
    Ring& ring = b.rings[4];
    if (b.packed) {
      b.UsePacked(4);
      const uint16_t place = ring.next_place;
      b.MakePacked(4, 1, 1);
      ring.memory[place & ~kWrap].addr = 0x1100;
      ring.memory[place & ~kWrap].len = 64;
      return {place, place};
    }
    const uint16_t position = ring.index;
    b.MakeAvailable(4);
    const uint16_t head = ring.available.back();
    ring.table[head] = {.addr = 0x1100, .len = 64};
    return {position, head};
  }
};
INSTANTIATE_TEST_SUITE_P(Rings, DescFetchPush, testing::Bool(),
                         [](const auto& test) { return test.param ? "Packed" : "Split"; });

// More than once around the ring and, split, around the index.
TEST_P(DescFetchPush, NextPositionIsAnsweredWithoutAnyRead) {
  for (const uint16_t size : std::initializer_list<uint16_t>{1, 2, 4}) {
    if (!GetParam() && size == 1) continue;
    Bench b;
    Start(b, size);
    const unsigned count = size == 4 && !GetParam() ? 66'000 : 50;
    for (unsigned i = 0; i < count; ++i) {
      const auto [position, head] = Post(b);
      b.AskPushed(4, position, head, 0x1100, 64);
      ASSERT_EQ(b.bench.Run(DescFetch::kPushedToBuffer + 1), "");
      ASSERT_EQ(b.pushed, i + 1);
    }
    EXPECT_EQ(b.reads.size(), 0u);
    // The ring goes on behind them.
    Post(b);
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.answers.size(), count + 1);
    EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
  }
}

// Of what was known to be available a pushed buffer is one: a request behind it takes no more than there is, also if it
// comes at once.
TEST_P(DescFetchPush, NothingIsKnownToBeAvailableBehindIt) {
  for (unsigned gap = 0; gap < 12; ++gap) {
    SCOPED_TRACE(gap);
    Bench b;
    Start(b, 16);
    for (int i = 0; i < 6; ++i) Post(b);
    b.Ask(0, 4, 2);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 2u);
    const Ring& ring = b.rings[4];
    if (b.packed) {
      const uint16_t place = ring.buffers.front().head;
      b.AskPushed(4, place, place, 0x1100, 64);
    } else {
      b.AskPushed(4, static_cast<uint16_t>(ring.taken), ring.available.front(), 0x1100, 64);
    }
    ASSERT_EQ(b.bench.Run(gap), "");
    b.Ask(0, 4, 4);
    b.Settle();
    EXPECT_EQ(b.pushed, 1u);
    EXPECT_EQ(b.answers.size(), 6u) << "two, the pushed one, and three";
  }
}

TEST_P(DescFetchPush, AnotherPositionIsAnsweredEmptyAndChangesNothing) {
  Bench b;
  Start(b);
  const auto [position, head] = Post(b);
  for (const int other : {1, 2, 4, 0x4000, 0x8000, 0xffff}) {
    const auto wrong = static_cast<uint16_t>(position + other);
    b.AskPushed(4, wrong, b.packed ? wrong : head, 0x1100, 64);
    b.Settle();
    ASSERT_EQ(b.answers.back().status, BufferStatus::kEmpty);
  }
  if (!b.packed) {
    b.AskPushed(4, position, 4, 0x1100, 64);
    b.Settle();
    EXPECT_EQ(b.answers.back().status, BufferStatus::kEmpty) << "no descriptor of the queue";
  }
  EXPECT_EQ(b.reads.size(), 0u);
  b.AskPushed(4, position, head, 0x1100, 64);
  b.Settle();
  EXPECT_EQ(b.pushed, 1u);
}

TEST_P(DescFetchPush, BufferOutsideOfTheWindowStopsTheQueue) {
  for (const uint64_t address : {uint64_t{0xfff}, uint64_t{0x1fc1}, uint64_t{0x2000}, ~uint64_t{0} - 10}) {
    Bench b;
    Start(b);
    const auto [position, head] = Post(b);
    b.rings[4].defect = address > 0x2000 ? Defect::kNoLength : Defect::kAbove;  // the code
    b.rings[4].defective = true;
    b.AskPushed(4, position, head, address, 64);
    b.Settle();
    EXPECT_EQ(b.answers.back().status, BufferStatus::kFailed) << address;
    EXPECT_EQ(b.rings[4].failures, 1u);
    b.AskPushed(4, position, head, 0x1100, 64);
    b.Settle();
    EXPECT_EQ(b.answers.back().status, BufferStatus::kFailed) << "until the queue is reset";
    EXPECT_EQ(b.rings[4].failures, 1u);
  }
}

TEST_P(DescFetchPush, QueueThatIsNotServedIsAnsweredEmpty) {
  Bench b;
  Start(b);
  const auto [position, head] = Post(b);
  b.SetKind(4, spec::TableQueueKind::kSq, true);
  ASSERT_EQ(b.bench.Run(10), "");
  b.AskPushed(4, position, head, 0x1100, 64);
  b.Settle();
  EXPECT_EQ(b.answers.back().status, BufferStatus::kEmpty);
  b.SetKind(4, spec::TableQueueKind::kSq);
  b.row_in.tokens.push_back({.vq_index = 4});
  ASSERT_EQ(b.bench.Run(10), "");
  b.AskPushed(4, position, head, 0x1100, 64);
  b.Settle();
  EXPECT_EQ(b.answers.back().status, BufferStatus::kEmpty);
}

TEST_P(DescFetchPush, MeetsDocumentedLatency) {
  Bench b;
  Start(b);
  const auto [position, head] = Post(b);
  b.AskPushed(4, position, head, 0x1100, 64);
  ASSERT_EQ(b.bench.Run(DescFetch::kPushedToBuffer), "");
  EXPECT_EQ(b.answers.size(), 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.answers.size(), 1u);
}

}  // namespace
}  // namespace vireo::verif
