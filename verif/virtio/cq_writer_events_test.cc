// SPDX-License-Identifier: Apache-2.0
// The CQ writer: interrupts by the driver's flags and events, and avail_event.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "verif/virtio/cq_writer_bench.h"

namespace vireo::verif {
namespace {

struct SuppressionCase {
  const char* text;
  bool packed, event_idx;
  uint32_t suppression;  // contents of the driver area
  bool interrupts;
};

// A control queue of 8 entries. Split: its third used buffer. Packed: a chain of 3 from place 6 on, in the first pass.
TEST(CqWriter, InterruptsByFlagsAndUsedEvent) {
  constexpr uint32_t kEnable = 0, kDisable = 1u << 16, kDesc = 2u << 16, kReserved = 3u << 16;
  constexpr SuppressionCase kCases[] = {
      {"split: flags 0", false, false, 0, true},
      {"split: no_interrupt", false, false, 1, false},
      {"split: another flag", false, false, 2, true},
      {"split: used_event before", false, true, 1, false},
      {"split: used_event here; flags do not count", false, true, 2, true},
      {"split: used_event behind", false, true, 3, false},
      {"packed: always", true, false, kEnable | 0x1234, true},
      {"packed: never", true, false, kDisable | 0x8006, false},
      {"packed: at a descriptor, without the feature", true, false, kDesc, true},
      {"packed: reserved", true, true, kReserved, true},
      {"packed: always, with the feature", true, true, kEnable | 0x8005, true},
      {"packed: never, with the feature", true, true, kDisable | 0x8006, false},
      {"packed: just before", true, true, kDesc | 0x8005, false},
      {"packed: first of the chain", true, true, kDesc | 0x8006, true},
      {"packed: middle of the chain", true, true, kDesc | 0x8007, true},
      {"packed: end of the chain, in the next lap", true, true, kDesc | 0x0000, true},
      {"packed: just behind", true, true, kDesc | 0x0001, false},
      {"packed: here, but in the next lap", true, true, kDesc | 0x0006, false},
      {"packed: end of the chain, but in this lap", true, true, kDesc | 0x8000, false},
      {"packed: reserved bits set", true, true, 0xfffc'0000 | kDesc | 0x8007, true},
      {"packed: no such place", true, true, kDesc | 0xffff, false},
  };
  for (const SuppressionCase& c : kCases) {
    SCOPED_TRACE(c.text);
    auto b = std::make_unique<Bench>(Features{.packed = c.packed, .event_idx = c.event_idx});
    b->Enable(kControlQueue, 8);
    ASSERT_EQ(b->bench.RunOut(30), "");
    Queue& queue = b->queues[kControlQueue];
    const auto complete = [&](unsigned descriptors) { b->CompleteChain(kControlQueue, descriptors, false); };
    complete(5);
    b->Settle();
    complete(1);
    b->Settle();
    EXPECT_EQ(queue.interrupts, 2u);
    b->fixed_suppression = c.suppression;
    complete(3);
    b->Settle();
    EXPECT_EQ(queue.interrupts, c.interrupts ? 3u : 2u);
  }
}

TEST(CqWriter, FailedSuppressionReadStopsTheQueueAndIsReported) {
  for (const bool packed : {false, true}) {
    Bench b({.packed = packed, .event_idx = true});
    b.EnableAll();
    b.fail_fetch = kControlQueue;
    b.Complete(kControlQueue);
    b.Settle();
    Queue& queue = b.queues[kControlQueue];
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(queue.interrupts, 0u);
    queue.dead = true;
    b.Complete(kControlQueue);
    b.Settle();
    EXPECT_EQ(queue.failures, 1u);
  }
}

TEST(CqWriter, ResetQueueCausesNoSuppressionRead) {
  Bench b;
  b.EnableAll();
  b.done_in.rate = 0;
  b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(30), "");
  b.row_in.tokens.push_back({.vq_index = kNetQueue});
  ASSERT_EQ(b.bench.Run(10), "");
  b.done_in.rate = 16;
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.fetch_out.count, 0u);
  EXPECT_TRUE(b.idle.idle);
}

TEST(CqWriter, SuppressionReadsAreLimited) {
  Bench b;
  b.EnableAll();
  b.fetched_in.rate = 0;
  for (size_t i = 0; i < CqWriter::kSuppressionReads + 5; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(2000), "");
  EXPECT_EQ(b.fetch_out.count, CqWriter::kSuppressionReads);
  b.fetched_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].interrupts, CqWriter::kSuppressionReads + 5);
}

TEST(CqWriter, WritesTheLastAvailEventThenRingsTheDoorbell) {
  Bench b({.packed = false, .event_idx = true});
  b.EnableAll();
  b.done_in.rate = 0;
  b.TellAvail(kFirstWork, 0x1234);
  ASSERT_EQ(b.bench.Run(CqWriter::kAvailEventToStore), "");
  EXPECT_EQ(b.stores, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 1u);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.doorbells, 0u);
  EXPECT_FALSE(b.idle.idle);
  b.done_in.rate = 16;
  ASSERT_EQ(b.bench.Run(CqWriter::kDoneToDoorbell), "");
  EXPECT_EQ(b.doorbells, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.doorbells, 1u);
  EXPECT_EQ(b.last_doorbell, b.last_done + CqWriter::kDoneToDoorbell);
  b.Settle();

  // While nothing can be written the last value replaces earlier ones.
  b.store_out.rate = 0;
  for (uint16_t i = 0; i < 100; ++i) {
    b.TellAvail(kFirstWork, i);
    b.TellAvail(kControlQueue, i);
  }
  ASSERT_EQ(b.bench.Run(300), "");
  b.store_out.rate = 16;
  b.Settle();
  EXPECT_LT(b.doorbells, 10u);
  EXPECT_GE(b.doorbells, 3u);
}

TEST(CqWriter, WritesNoAvailEventForAnUnservedOrFailedQueue) {
  Bench b({.packed = false, .event_idx = true});
  b.EnableAll();
  b.SetKind(kFirstWork, KindOf(kFirstWork), true);
  ASSERT_EQ(b.bench.RunOut(10), "");
  b.queues[kFirstWork].dead = true;
  b.TellAvail(kFirstWork, 3);
  b.Settle();
  EXPECT_EQ(b.stores, 0u);
  EXPECT_EQ(b.doorbells, 0u);
  b.fail_queue = kControlQueue;
  b.fail_after = 0;
  b.TellAvail(kControlQueue, 3);
  b.Settle();
  EXPECT_EQ(b.stores, 1u);
  EXPECT_EQ(b.doorbells, 0u);
  EXPECT_EQ(b.queues[kControlQueue].failures, 1u);
  EXPECT_EQ(b.queues[kControlQueue].code, RdmaError::kQueueDmaError);
}

TEST(CqWriter, PackedCqArmStaysValidAcrossWrap) {
  for (const uint16_t size : std::initializer_list<uint16_t>{2, 3, 8, 13}) {
    Bench b({.packed = true});
    b.EnableAll();
    b.Enable(kFirstCq, size);
    ASSERT_EQ(b.bench.RunOut(30), "");
    Queue& cq = b.queues[kFirstCq];
    for (unsigned i = 0; i < 5u * size; ++i) {
      const uint64_t before = cq.interrupts;
      b.Post(kFirstCq, 1);
      b.ArmCq(0, false, true);  // all seen
      b.Settle();
      ASSERT_EQ(cq.interrupts, before) << i;
      b.Complete(kFirstWork, 0);
      b.Settle();
      ASSERT_EQ(cq.interrupts, before + 1) << i;
      b.ArmCq(0, false, true, 1);  // the last one was not seen
      b.Settle();
      ASSERT_EQ(cq.interrupts, before + 2) << i;
      // None of a whole ring was seen.
      if (i + 1 >= size) {
        b.ArmCq(0, false, true, size);
        b.Settle();
        ASSERT_EQ(cq.interrupts, before + 3) << i;
      }
    }
  }
}

// They come in any order, so they bring the id, and the position is the writer's own.
TEST(CqWriter, BuffersByIdAreUsedAtTheQueuesOwnPositions) {
  constexpr size_t kShared = kFirstWork + 1;
  for (const bool packed : {true, false}) {
    Bench b{{.packed = packed}};
    b.EnableAll();
    for (const uint16_t size : {uint16_t{4}, uint16_t{2}}) {
      b.Enable(kShared, size);
      ASSERT_EQ(b.bench.RunOut(30), "");
      for (unsigned i = 0; i < 11; ++i) {
        const auto id = static_cast<uint16_t>(b.random());
        Completion expected{.vq_index = kShared,
                            .head = packed ? b.queues[kShared].TakePlace() : id,
                            .used_bytes = i % 3 == 0 ? 5u : 0u,
                            .has_id = packed,
                            .id = id,
                            .next_position = b.queues[kShared].place};
        b.queues[kShared].work.push_back(expected);
        expected.has_id = false;
        expected.by_id = true;
        expected.head = id;
        expected.id = static_cast<uint16_t>(b.random());
        expected.next_position = static_cast<uint16_t>(b.random());
        b.completion_in.tokens.push_back(expected);
        b.Complete(kFirstWork + 2);
        if (i % 4 == 0) b.Settle();
      }
      b.Settle();
      EXPECT_EQ(b.queues[kShared].indices, 11u);
    }
  }
}

TEST(CqWriter, BufferWithoutAnIdKeepsTheDriversId) {
  Bench b({.packed = true});
  b.EnableAll();
  b.queues[kControlQueue].dead = true;  // checked here
  const Completion completion{.vq_index = kControlQueue, .head = kWrap | 1, .used_bytes = 9};
  std::vector<DmaStore> stores;
  b.store_out.on_token = [&](Cycle, const DmaStore& store) {
    stores.push_back(store);
    const bool is_index = (store.tag & CqWriter::kTagIndex) != 0;
    b.done_in.tokens.push_back({{.tag = store.tag}, kControlQueue, is_index ? Store::kIndex : Store::kOther});
  };
  b.fetch_out.on_token = [&](Cycle, const spec::DmaReadRequest& request) {
    b.wanted.push_back(kControlQueue);
    b.fetched_in.tokens.push_back({.tag = request.tag});
  };
  b.completion_in.tokens.push_back(completion);
  ASSERT_EQ(b.bench.RunOut(20), "");
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(stores[0].address, DeviceOf(kControlQueue) + 16 + spec::PvirtqDesc::kLenOffset);
  EXPECT_EQ(stores[0].bytes, 4);
  EXPECT_EQ(stores[1].address, DeviceOf(kControlQueue) + 16 + spec::PvirtqDesc::kFlagsOffset);
}

}  // namespace
}  // namespace vireo::verif
