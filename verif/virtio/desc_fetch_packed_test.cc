// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch: packed rings.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "verif/virtio/desc_fetch_bench.h"

namespace vireo::verif {
namespace {

// --- Packed rings

TEST(DescFetch, WalksAPackedRingOfEverySizeWithWrap) {
  for (const uint16_t size : std::initializer_list<uint16_t>{1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 100}) {
    for (const size_t vq : {3u, 4u}) {  // with chains and without
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(vq));
      auto b = std::make_unique<Bench>();
      b->UsePackedRings();
      b->Enable(vq, size);
      ASSERT_EQ(b->bench.Run(50), "");
      for (int i = 0; i < 3 * size + 20; ++i) {
        b->MakePacked(vq, static_cast<unsigned>(1 + b->random() % 12));
        b->Ask(2, vq, static_cast<unsigned>(1 + b->random() % 8));
        b->Ask(2, vq, 8);
        b->Settle(20);
        ASSERT_FALSE(HasFatalFailure());
        b->UsePacked(vq, b->random() % 2);
      }
      EXPECT_EQ(b->rings[vq].failures, 0u);
      EXPECT_GT(b->rings[vq].taken, 3u * size / 4);
    }
  }
}

TEST(DescFetch, ReadsAPackedRingNoFurtherThanRequested) {
  constexpr uint16_t kSize = 37;
  for (const unsigned count : {1u, 2u, 3u, 4u, 5u, 8u, 17u, 31u, 32u}) {
    for (const unsigned before : {0u, 1u, 2u, 3u, 4u, 5u, 20u, 32u, 33u, 34u, 35u, 36u}) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(before));
      Bench b;
      b.UsePackedRings();
      b.Enable(4, kSize);
      ASSERT_EQ(b.bench.Run(50), "");
      for (unsigned i = 0; i < before; ++i) {
        b.MakePacked(4);
        b.Ask(0, 4, 1);
        b.Settle(10);
        b.UsePacked(4);
      }
      b.MakePacked(4, kSize);
      b.answers.clear();
      b.reads.clear();
      b.Ask(0, 4, count);
      b.Settle(10);
      ASSERT_EQ(b.answers.size(), count);
      EXPECT_TRUE(b.answers.back().last);
      size_t descriptors = 0;
      for (const DmaReadRequest& read : b.reads) descriptors += read.bytes / PvirtqDesc::kBytes;
      EXPECT_EQ(descriptors, count);
    }
  }
}

TEST(DescFetch, FindsTheEndOfAPackedChainAndContinuesBehindIt) {
  Bench b;
  b.UsePackedRings();
  b.Enable(3, 100);
  ASSERT_EQ(b.bench.Run(50), "");
  b.follow = false;
  b.MakePacked(3, 1, 1);
  b.MakePacked(3, 1, DescFetch::kChainMost);
  b.MakePacked(3, 1, 3);
  b.MakePacked(3, 1, 1);
  b.Ask(3, 3, 8);
  b.Settle();
  ASSERT_EQ(b.answers.size(), 4u);
  EXPECT_EQ(b.answers[1].head, kWrap | 1);
  EXPECT_EQ(b.answers[1].next_index, kWrap | 2);
  EXPECT_EQ(b.answers[2].head, kWrap | 65);
  EXPECT_EQ(b.answers[3].head, kWrap | 68);
  EXPECT_TRUE(b.answers[3].last);
  // Each part by its index, with either wrap counter.
  for (uint16_t place = 1; place < 4; ++place) {
    b.Ask(3, 3, 1, static_cast<uint16_t>(place | kWrap));
    b.Ask(3, 3, 1, place);
  }
  b.Settle();
  EXPECT_EQ(b.answers.size(), 10u);
}

TEST(DescFetch, PackedDescriptorsHaveIdAndNextPlace) {
  constexpr uint16_t kSize = 5;
  for (const spec::BufferClient client :
       {spec::BufferClient::kControl, spec::BufferClient::kNetTransmit, spec::BufferClient::kNetReceive}) {
    for (unsigned descriptors = 1; descriptors <= kSize; ++descriptors) {
      SCOPED_TRACE(descriptors);
      Bench b;
      b.UsePackedRings();
      b.Enable(3, kSize);
      ASSERT_EQ(b.bench.Run(50), "");
      uint16_t place = kWrap;
      for (unsigned lap = 0; lap < 4 * kSize; ++lap) {
        b.MakePacked(3, 1, descriptors);
        const uint16_t id = b.rings[3].buffers.front().id;
        b.answers.clear();
        b.Ask(static_cast<size_t>(client), 3, 1);
        b.Settle(20);  // follows the chain
        ASSERT_EQ(b.answers.size(), descriptors);
        for (const Buffer& buffer : b.answers) {
          EXPECT_EQ(buffer.head, place);
          EXPECT_TRUE(buffer.has_id);
          place = NextPlace(place, kSize);
          EXPECT_EQ(buffer.next_index, place);
        }
        EXPECT_EQ(b.answers.back().id, id);
        b.UsePacked(3);
      }
      EXPECT_EQ(b.ids, 4u * kSize);
    }
  }
}

TEST(DescFetch, BufferInATableOrSplitRingHasNoId) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    unsigned with_id = 0, in_ring = 0;
    for (unsigned i = 0; i < 100; ++i) {
      const unsigned made = b.tables_made;
      if (packed) {
        b.MakePacked(3, 1, 1);
      } else {
        b.MakeAvailable(3);
      }
      in_ring += packed && made == b.tables_made;
      b.Ask(5, 3, 1);
      b.Settle(20);
      b.UsePacked(3);
    }
    for (const Buffer& buffer : b.answers) with_id += buffer.has_id;
    EXPECT_GT(b.tables_made, 10u);
    EXPECT_EQ(with_id, in_ring);
    EXPECT_EQ(in_ring > 10, packed);
  }
}

TEST(DescFetch, TooLongOrEndlessPackedChainStopsTheQueue) {
  struct Case {
    uint16_t size;
    unsigned descriptors;
    bool endless;
    bool chains;
  };
  for (const Case& c : {Case{100, DescFetch::kChainMost + 1, false, true}, Case{5, 5, true, true},
                        Case{64, 64, true, true}, Case{1, 1, true, true}, Case{8, 2, false, false}}) {
    SCOPED_TRACE(c.size);
    Bench b;
    b.UsePackedRings();
    const size_t vq = c.chains ? 3 : 4;
    b.Enable(vq, c.size);
    ASSERT_EQ(b.bench.Run(50), "");
    Ring& ring = b.rings[vq];
    b.MakePacked(vq, 1, c.descriptors);
    if (c.endless) {
      for (PvirtqDesc& descriptor : ring.memory) descriptor.flags |= VirtqDescFlags::kNext;
    }
    ring.defect = Defect::kIndex;  // the code
    ring.defective = true;
    b.Ask(1, vq, 8);
    b.Ask(1, vq, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 2u);
    EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
    EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  }
}

TEST(DescFetch, PackedQueueFailureIsReportedOnceUntilReset) {
  for (const Defect defect : kDefects) {
    for (const size_t vq : {3u, 5u}) {
      for (const uint64_t at : {0u, 3u}) {
        SCOPED_TRACE("defect " + std::to_string(static_cast<int>(defect)) + " at " + std::to_string(at));
        auto b = std::make_unique<Bench>();
        b->UsePackedRings();
        b->follow = false;
        b->Enable(vq, 30, defect, defect == Defect::kDmaError ? 0 : at);
        ASSERT_EQ(b->bench.Run(50), "");
        b->MakePacked(vq, 5);
        b->Ask(0, vq, 8);
        b->Settle();
        b->Ask(0, vq, 8);
        b->Settle();
        const size_t good = defect == Defect::kDmaError ? 0 : at;
        ASSERT_EQ(b->answers.size(), good + 2);
        for (size_t i = 0; i < good; ++i) EXPECT_EQ(b->answers[i].status, BufferStatus::kOk);
        EXPECT_EQ(b->answers[good].status, BufferStatus::kFailed);
        EXPECT_EQ(b->rings[vq].failures, 1u);
        const size_t reads = b->reads.size();
        b->Ask(1, vq, 1);
        b->Ask(2, vq, 1, uint16_t{0});
        b->Settle();
        EXPECT_EQ(b->reads.size(), reads) << "a broken queue is read";

        b->Enable(vq, 7);
        ASSERT_EQ(b->bench.Run(50), "");
        b->MakePacked(vq, 1);
        b->MakePacked(vq, 1);
        b->answers.clear();
        b->Ask(0, vq, 8);
        b->Settle();
        ASSERT_GE(b->answers.size(), 1u);
        EXPECT_EQ(b->answers[0].status, BufferStatus::kOk);
        EXPECT_EQ(b->answers[0].head, kWrap);
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
