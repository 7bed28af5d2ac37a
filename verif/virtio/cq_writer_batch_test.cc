// SPDX-License-Identifier: Apache-2.0
// The CQ writer: batches, which become visible as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "sim/common/seed.h"
#include "verif/virtio/cq_writer_bench.h"

namespace vireo::verif {
namespace {

// --- Batches

// A driver that checks its ring after every single store. It must find either no change or one more whole batch: every
// buffer with its id and length, in order.
class Looker {
 public:
  Looker(Bench& b, size_t vq) : b_(b), vq_(vq) { Begin(); }
  // The queue was enabled.
  void Begin() {
    memory_.assign(std::max<size_t>(spec::PvirtqDesc::kBytes, spec::VirtqUsedElem::kBytes) * size() + 8, 0);
    outstanding_.clear();
    seen_ = 0;
    place_ = kWrap;
  }
  unsigned Room() const {
    unsigned room = size();
    for (const Buffer& buffer : outstanding_) room -= buffer.descriptors;
    return room;
  }
  // Makes buffers available, which return as a batch.
  void CompleteBatch(unsigned count, unsigned hold = ~0u) {
    Queue& queue = b_.queues[vq_];
    b_.CompleteBatch(vq_, count, hold, Room());
    ASSERT_GE(queue.work.size(), count);
    for (auto next = queue.work.end() - count; next != queue.work.end(); ++next) {
      const uint16_t next_position = next + 1 == queue.work.end() ? queue.place : (next + 1)->head;
      Buffer buffer{*next, 1};
      if (b_.packed) {
        for (uint16_t at = next->head;; ++buffer.descriptors) {
          const uint16_t following = NextPlace(at, size());
          const bool last = following == next_position;
          uint8_t* descriptor = At(at);
          const auto flags = (at & kWrap) != 0 ? spec::VirtqDescFlags::kAvail : spec::VirtqDescFlags::kUsed;
          spec::PvirtqDesc{.id = static_cast<uint16_t>(last ? next->id : ~next->id), .flags = flags}.Encode(descriptor);
          if (last) break;
          at = following;
        }
      }
      outstanding_.push_back(buffer);
    }
  }
  void OnStore(const DmaStore& store) {
    const uint64_t offset = store.address - DeviceOf(vq_);
    if (store.address < DeviceOf(vq_) || offset + store.bytes > memory_.size()) return;
    std::copy_n(store.data, store.bytes, memory_.begin() + static_cast<ptrdiff_t>(offset));
    unsigned found = 0;
    bool ended = true;
    while (IsUsed()) {
      ASSERT_FALSE(outstanding_.empty()) << "a buffer that the device does not own is completed";
      const Completion completion = outstanding_.front().completion;
      ASSERT_TRUE(found == 0 || !ended) << "more than a batch at once";
      Take(completion);
      ended = !completion.more;
      outstanding_.pop_front();
      ++found;
    }
    ASSERT_TRUE(ended) << "part of a batch is visible, queue " << vq_;
    all_ += found;
  }
  bool IsWaiting() const { return !outstanding_.empty(); }
  unsigned all() const { return all_; }

 private:
  struct Buffer {
    Completion completion;
    unsigned descriptors;
  };
  unsigned size() const { return b_.queues[vq_].row.queue_size; }
  uint8_t* At(uint16_t place) { return memory_.data() + spec::PvirtqDesc::kBytes * size_t{place & 0x7fffu}; }
  bool IsUsed() {
    if (!b_.packed) return Little(memory_.data() + spec::VirtqUsed::kIdxOffset, 2) != seen_;
    const auto flags = spec::PvirtqDesc::Decode(At(place_)).flags;
    const bool wrap = (place_ & kWrap) != 0;
    return ((flags & spec::VirtqDescFlags::kAvail) != 0) == wrap &&
           ((flags & spec::VirtqDescFlags::kUsed) != 0) == wrap;
  }
  void Take(const Completion& completion) {
    if (!b_.packed) {
      const auto element = spec::VirtqUsedElem::Decode(memory_.data() + spec::VirtqUsed::kBytes +
                                                       spec::VirtqUsedElem::kBytes * (seen_++ % size()));
      ASSERT_EQ(element.id, completion.head);
      ASSERT_EQ(element.len, completion.used_bytes);
      return;
    }
    const auto descriptor = spec::PvirtqDesc::Decode(At(place_));
    ASSERT_EQ(place_, completion.head);
    ASSERT_EQ(descriptor.id, completion.id);
    ASSERT_EQ((descriptor.flags & spec::VirtqDescFlags::kWrite) != 0, completion.used_bytes != 0);
    ASSERT_EQ(descriptor.len, completion.used_bytes);
    for (unsigned i = outstanding_.front().descriptors; i > 0; --i) place_ = NextPlace(place_, size());
  }

  Bench& b_;
  const size_t vq_;
  std::vector<uint8_t> memory_;
  std::deque<Buffer> outstanding_;
  uint16_t seen_ = 0;
  uint16_t place_ = kWrap;
  unsigned all_ = 0;
};

struct BatchBench : Bench {
  explicit BatchBench(const Features& features, uint16_t size = 0) : Bench(features) {
    EnableAll();
    if (size != 0) {
      for (size_t vq = 0; vq <= kControlQueue; ++vq) Enable(vq, size);
    }
    EXPECT_EQ(bench.RunOut(30), "");
    for (size_t vq = 0; vq <= kControlQueue; ++vq) lookers.push_back(std::make_unique<Looker>(*this, vq));
    on_store = [this](const DmaStore& store) {
      for (const auto& looker : lookers) looker->OnStore(store);
    };
  }
  Looker& net() { return *lookers[kNetQueue]; }
  std::vector<std::unique_ptr<Looker>> lookers;
};

TEST_P(CqWriterRings, DriverSeesABatchWholeOrNotAtAllAfterEveryStore) {
  for (uint16_t size : std::initializer_list<uint16_t>{8, 11, 16, 32}) {
    if (!Param().packed && size == 11) size = 64;
    auto b = std::make_unique<BatchBench>(Param(), size);
    for (unsigned lap = 0; lap < 6; ++lap) {
      for (unsigned count = 1; count <= 8; ++count) {
        SCOPED_TRACE(std::to_string(size) + " " + std::to_string(count));
        b->net().CompleteBatch(count);
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_FALSE(b->net().IsWaiting());
      }
    }
    EXPECT_EQ(b->net().all(), 6u * 36u);
    EXPECT_EQ(b->queues[kNetQueue].interrupts, 6u * 8u) << "one for each batch";
  }
}

TEST_P(CqWriterRings, DriverSeesBatchesWholeInMixedTrafficAtEveryRate) {
  for (const unsigned in : {16u, 4u}) {
    for (const unsigned memory : {16u, 2u}) {
      SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory));
      auto b = std::make_unique<BatchBench>(Param());
      b->SetRates(in, memory, in == 16 ? 6 : 16);
      b->fickle = true;
      for (unsigned step = 0; step < 2400; ++step) {
        Looker& looker = *b->lookers[b->random() % b->lookers.size()];
        const auto count = static_cast<unsigned>(1 + b->random() % 8);
        if (looker.Room() >= count) looker.CompleteBatch(count);
        if (b->random() % 3 == 0) {
          const auto cqn = static_cast<int>(b->random() % kCqs);
          b->Post(kFirstCq + static_cast<size_t>(cqn), 1);
          b->Complete(kFirstWork + b->random() % 4, cqn);
          if (!b->queues[kFirstCq + static_cast<size_t>(cqn)].armed) b->ArmCq(static_cast<size_t>(cqn), false, true);
        }
        if (b->random() % 8 == 0) b->Post(kEventQueue, 1), b->Happen();
        if (b->event_idx && !b->packed && b->random() % 4 == 0) {
          b->TellAvail(b->random() % (kControlQueue + 1), static_cast<uint16_t>(b->random()));
        }
        ASSERT_EQ(b->bench.Run(b->random() % 40), "");
        ASSERT_FALSE(HasFatalFailure());
      }
      b->Settle();
      ASSERT_FALSE(HasFatalFailure());
      unsigned all = 0;
      for (const auto& looker : b->lookers) {
        EXPECT_FALSE(looker->IsWaiting());
        all += looker->all();
      }
      EXPECT_GT(all, 200u);
      EXPECT_GT(b->batches, 40u);
    }
  }
}

TEST(CqWriter, UsedEventInsideABatchInterruptsOnceAndOutsideNever) {
  for (const bool packed : {false, true}) {
    constexpr uint16_t kSplitSize = 16, kPackedSize = 13;
    constexpr uint32_t kDesc = 2u << 16;
    const uint16_t size = packed ? kPackedSize : kSplitSize;
    auto b = std::make_unique<BatchBench>(Features{.packed = packed, .event_idx = true}, size);
    Queue& queue = b->queues[kNetQueue];
    for (unsigned count = 1; count <= 8; ++count) {
      uint64_t requested = 0, asked = 0;
      for (unsigned i = 0; i < (packed ? 2u * size : count + 4); ++i, ++asked) {
        SCOPED_TRACE(std::to_string(packed) + " " + std::to_string(count) + " " + std::to_string(i));
        const uint16_t first = queue.used;
        b->fixed_suppression =
            packed ? kDesc | (i < size ? i : kWrap | (i - size)) : static_cast<uint16_t>(first + i - 2);
        const uint64_t before = queue.interrupts;
        b->net().CompleteBatch(count);
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        if (!packed) {
          EXPECT_EQ(queue.interrupts, before + (i >= 2 && i < 2 + count));
        }
        ASSERT_LE(queue.interrupts, before + 1);
        requested += queue.interrupts - before;
      }
      if (!packed) {
        EXPECT_EQ(requested, count);
      }
      EXPECT_GT(requested, 0u);
      EXPECT_LT(requested, asked);
    }
  }
}

TEST(CqWriter, UsedEventInABatchAcrossIndexWrapInterrupts) {
  Bench b({.packed = false, .event_idx = true});
  b.Enable(kNetQueue, 16);
  ASSERT_EQ(b.bench.RunOut(30), "");
  Queue& queue = b.queues[kNetQueue];
  b.fixed_suppression = 2;
  b.CompleteBatch(kNetQueue, 3);
  b.Settle();
  EXPECT_EQ(queue.interrupts, 1u);
  while (queue.used < 0xfffb) {
    b.CompleteBatch(kNetQueue, 8);
    ASSERT_EQ(b.bench.RunOut(30), "");
  }
  ASSERT_EQ(queue.used, 0xfffb);
  EXPECT_EQ(queue.interrupts, 1u);
  b.CompleteBatch(kNetQueue, 8);  // 2 is the last of them
  b.Settle();
  EXPECT_EQ(queue.used, 3);
  EXPECT_EQ(queue.interrupts, 2u);
}

TEST_P(CqWriterRings, StartedBatchIsCompletedAcrossAQueueReset) {
  for (unsigned count = 2; count <= 5; ++count) {
    for (unsigned sent = 1; sent < count; ++sent) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(sent));
      auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
      Queue& queue = b->queues[kNetQueue];
      b->net().CompleteBatch(3);
      b->Settle();
      b->net().CompleteBatch(count, sent);
      ASSERT_EQ(b->bench.RunOut(100), "");
      EXPECT_EQ(b->stores, 3u + 1 + (b->packed ? 2 + 2 * sent - 1 : sent));
      EXPECT_EQ(b->net().all(), 3u);
      EXPECT_FALSE(b->idle.idle);
      b->row_in.tokens.push_back({.vq_index = kNetQueue,
                                  .queue_size = 4,
                                  .queue_desc = b->random(),
                                  .queue_driver = b->random(),
                                  .queue_device = b->random()});
      ASSERT_EQ(b->bench.RunOut(100), "");
      EXPECT_FALSE(b->idle.idle);
      b->SendHeld();
      ASSERT_EQ(b->bench.RunOut(100), "");
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_TRUE(b->idle.idle);
      EXPECT_EQ(b->net().all(), 3u + count);
      EXPECT_EQ(queue.interrupts, 1u);
      EXPECT_EQ(queue.questions, 1u) << "the event suppression is read once";
      queue.dead = true;
      b->CompleteBatch(kNetQueue, count);
      ASSERT_EQ(b->bench.RunOut(100), "");
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_TRUE(b->idle.idle);

      b->Enable(kNetQueue, 8);
      ASSERT_EQ(b->bench.RunOut(30), "");
      b->net().Begin();
      b->net().CompleteBatch(count);
      b->Settle();
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_EQ(b->net().all(), 3u + 2 * count);
    }
  }
}

TEST_P(CqWriterRings, BatchInterruptsByTheQueueStateAtItsStart) {
  for (const bool is_row : {false, true}) {
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    b->net().CompleteBatch(4, 2);
    ASSERT_EQ(b->bench.RunOut(50), "");
    if (is_row) {
      QueueRowWrite row = b->queues[kNetQueue].row;
      row.msix_vector = spec::kVirtioMsiNoVector;
      b->row_in.tokens.push_back(row);
    } else {
      b->SetKind(kNetQueue, TableQueueKind::kNone);
    }
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(b->net().IsWaiting());
    EXPECT_EQ(b->queues[kNetQueue].interrupts, 1u);
  }
}

TEST_P(CqWriterRings, BatchStartedWhileUnservedIsDroppedWhole) {
  for (unsigned sent = 1; sent < 4; ++sent) {
    auto b = std::make_unique<Bench>(Param());
    b->EnableAll();
    b->Enable(kNetQueue, 8);
    b->SetKind(kNetQueue, KindOf(kNetQueue), true);
    ASSERT_EQ(b->bench.RunOut(30), "");
    Queue& queue = b->queues[kNetQueue];
    queue.dead = true;
    b->CompleteBatch(kNetQueue, 4, sent);
    ASSERT_EQ(b->bench.RunOut(50), "");
    EXPECT_FALSE(b->idle.idle);
    b->SetKind(kNetQueue, KindOf(kNetQueue));
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    EXPECT_EQ(b->stores, 0u);
    queue.dead = false;
    b->CompleteBatch(kNetQueue, 4);
    b->Settle();
    EXPECT_EQ(queue.used, 4);
    // One that has started when it is stopped is written.
    b->CompleteBatch(kNetQueue, 4, sent);
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SetKind(kNetQueue, KindOf(kNetQueue), true);
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    EXPECT_EQ(queue.used, 8);
  }
}

TEST_P(CqWriterRings, QueueFailureMidwayCompletesTheBatchAsTheLast) {
  for (unsigned sent = 1; sent < 5; ++sent) {
    SCOPED_TRACE(sent);
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    Queue& queue = b->queues[kNetQueue];
    b->fail_queue = kNetQueue;
    b->fail_after = 1;
    b->done_in.rate = 0;
    b->net().CompleteBatch(1);
    ASSERT_EQ(b->bench.Run(50), "");  // its index is written
    b->net().CompleteBatch(5, sent);
    ASSERT_EQ(b->bench.Run(100), "");
    EXPECT_EQ(queue.failures, 0u);
    b->done_in.rate = 16;
    ASSERT_EQ(b->bench.Run(100), "");
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(b->net().all(), 1u);
    b->SendHeld();
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(b->net().all(), 6u);
    queue.dead = true;
    b->CompleteBatch(kNetQueue, 5);
    b->Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.interrupts, 1u) << "of the batch that is in memory";
  }
}

TEST_P(CqWriterRings, FailedBatchWriteStopsTheQueueOnceWithoutASuppressionRead) {
  constexpr unsigned kCount = 4;
  const unsigned stores = Param().packed ? 2 * kCount : kCount + 1;
  for (unsigned at = 0; at < stores; ++at) {
    SCOPED_TRACE(at);
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    Queue& queue = b->queues[kNetQueue];
    b->fail_queue = kNetQueue;
    b->fail_after = at;
    b->net().CompleteBatch(kCount);
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    const bool is_index = at + 1 == stores;
    EXPECT_EQ(b->stores, is_index ? stores : stores - 1);
    EXPECT_EQ(b->net().all(), is_index ? kCount : 0);
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(queue.questions, 0u);
    queue.dead = true;
    b->CompleteBatch(kNetQueue, kCount);
    b->lookers[kControlQueue]->CompleteBatch(1);  // the next slot is unaffected
    b->Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(b->queues[kControlQueue].interrupts, 1u);
  }
}

TEST_P(CqWriterRings, OpenBatchStallsOnlyOperationsThatNeedASlot) {
  auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
  Queue& cq = b->queues[kFirstCq];
  b->Post(kFirstCq, 8);
  b->Complete(kFirstWork, 0);
  b->Settle();
  b->done_in.rate = 0;
  b->lookers[kControlQueue]->CompleteBatch(1);
  b->net().CompleteBatch(3, 2);
  ASSERT_EQ(b->bench.Run(100), "");
  const unsigned before = b->stores, requests = b->requests;
  b->done_in.rate = 16;
  b->Post(kEventQueue, 1);
  b->Happen();
  if (b->event_idx && !b->packed) b->TellAvail(kFirstWork, 77);
  b->ArmCq(0, false, true, 1);
  ASSERT_EQ(b->bench.Run(200), "");
  EXPECT_EQ(b->stores, before);
  EXPECT_EQ(b->requests, requests) << "no buffer is fetched for the event";
  EXPECT_EQ(cq.interrupts, 1u);
  EXPECT_EQ(b->queues[kControlQueue].interrupts, 1u);
  b->SendHeld();
  b->Complete(kFirstWork, 0);
  b->Settle();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_FALSE(b->net().IsWaiting());
  EXPECT_EQ(b->queues[kEventQueue].used, 1);
  EXPECT_EQ(cq.used, 2);
  EXPECT_EQ(b->doorbells, b->event_idx && !b->packed ? 1u : 0u);
}

TEST_P(CqWriterRings, BatchTakesOneSlot) {
  auto b = std::make_unique<BatchBench>(Param());
  b->done_in.rate = 0;
  b->Enable(kNetQueue, 16);
  ASSERT_EQ(b->bench.RunOut(30), "");
  for (size_t i = 0; i < kSlots + 3; ++i) b->CompleteBatch(kNetQueue, 3);
  b->on_store = nullptr;  // more than the ring has room for
  ASSERT_EQ(b->bench.Run(1000), "");
  EXPECT_EQ(b->queues[kNetQueue].used, 3 * (kSlots - 1));
  b->done_in.rate = 16;
  b->Settle();
  EXPECT_EQ(b->queues[kNetQueue].used, 3 * (kSlots + 3));
  EXPECT_EQ(b->queues[kNetQueue].interrupts, kSlots + 3);
}

TEST_P(CqWriterRings, BatchMeetsDocumentedLatencies) {
  Bench b(Param());
  b.EnableAll();
  b.Enable(kNetQueue, 16);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.CompleteBatch(kNetQueue, 4);
  b.Complete(kNetQueue);
  // Visible: the last store of the batch but its index, and the first one of the following operation. It is in the
  // cycle of the index, and goes first.
  const Cycle last =
      b.packed ? CqWriter::kCompletionToElement + CqWriter::kCyclesPerMore + 2 * CqWriter::kCyclesPerPackedMore + 1
               : CqWriter::kCompletionToElement + 3 * CqWriter::kCyclesPerMore;
  const Cycle next = b.packed ? last - 1 + CqWriter::kCyclesPerPackedEnd : last + CqWriter::kCyclesPerCompletion;
  ASSERT_EQ(next, last + 1 + CqWriter::kDoneToIndex);
  const unsigned stores = b.packed ? 7 : 4;
  ASSERT_EQ(b.bench.Run(last), "");
  EXPECT_EQ(b.stores, stores - 1);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, stores);
  ASSERT_EQ(b.bench.Run(next - last - 1), "");
  EXPECT_EQ(b.stores, stores);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, stores + 1);
  EXPECT_EQ(b.batches, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, stores + 2);
  EXPECT_EQ(b.batches, 1u);
  b.Settle();
}

}  // namespace
}  // namespace vireo::verif
