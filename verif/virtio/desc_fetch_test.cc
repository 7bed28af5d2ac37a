// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch: split rings, queues that break, latencies; for any driver behavior, at every rate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/common/seed.h"
#include "verif/virtio/desc_fetch_bench.h"

namespace vireo::verif {
namespace {

void GiveWhatDriversMadeAvailable(bool packed, bool features) {
  using testing::Test;
  std::map<RdmaError, unsigned> codes;
  unsigned empties = 0, faileds = 0, followed = 0, from_tables = 0, avail_events = 0, ids = 0;
  uint64_t pushed = 0, pushed_empties = 0;
  // Runs until every event occurred: the frequency of failures is random.
  const auto lacks = [&] {
    return std::min({codes[RdmaError::kBadDescriptor], codes[RdmaError::kWindowViolation],
                     codes[RdmaError::kQueueDmaError]}) <= 10 ||
           empties <= 100 || faileds <= 30;
  };
  for (unsigned round = 0; round == 0 || (round < 10 && lacks()); ++round) {
    for (const unsigned in : {16u, 3u}) {
      for (const unsigned memory : {16u, 4u}) {
        for (const unsigned out : {16u, 6u}) {
          auto b = std::make_unique<Bench>();
          SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory) + " " + std::to_string(out));
          if (packed) b->UsePackedRings();
          if (features) b->AcceptTables(), b->AcceptEventIdx();
          b->SetRates(in, memory, out);
          const auto any_size = [&] {  // packed: not only powers of two
            return static_cast<uint16_t>(packed ? 1 + b->random() % 40 : 2u << b->random() % 5);
          };
          const auto any_defect = [&] {
            return b->random() % 3 == 0 ? kDefects[b->random() % kDefects.size()] : Defect::kNone;
          };
          for (size_t vq = 0; vq < kQueues; ++vq) {
            b->Enable(vq, any_size(), any_defect(), b->random() % 20);
          }
          ASSERT_EQ(b->bench.Run(200), "");
          for (int step = 0; step < 4000; ++step) {
            const size_t vq = b->random() % kQueues;
            Ring& ring = b->rings[vq];
            const unsigned more = b->random() % 8 == 0 ? 41 : 9;
            if (packed) {
              b->UsePacked(vq, b->random() % 4);
              b->MakePacked(vq, static_cast<unsigned>(b->random() % more));
            } else {
              b->MakeAvailable(vq, static_cast<unsigned>(b->random() % more));
            }
            // Every queue belongs to one client, as in a device.
            if (b->random() % 64 == 0) ring.retires = true;
            if (vq % kClients == 0 && ring.outstanding == 0 && ring.failures == 0 && !ring.defective && !ring.retires &&
                b->random() % 2 == 0) {
              b->AskPushedOrNot(vq);
            }
            if (b->asked[vq % kClients].size() < 6 && !ring.retires && (ring.failures == 0 || b->random() % 4 == 0)) {
              b->Ask(vq % kClients, vq, b->AnyCount(vq % kClients));
            } else if (ring.outstanding == 0 && (ring.retires || ring.failures != 0)) {
              // Reports of the previous lifetime come before the next one starts.
              ASSERT_NO_FATAL_FAILURE(b->Stop(vq));
              while (b->p.queue_failure_valid_o != 0) ASSERT_EQ(b->bench.Run(1), "");
              b->Enable(vq, any_size(), any_defect(), b->random() % 20);
              ASSERT_EQ(b->bench.Run(40), "");
            }
            ASSERT_EQ(b->bench.Run(b->random() % 12), "");
            ASSERT_FALSE(Test::HasFatalFailure());
          }
          b->Settle();
          ASSERT_FALSE(Test::HasFatalFailure());
          followed += b->followed;
          from_tables += b->from_tables;
          avail_events += b->avail_events;
          ids += b->ids;
          pushed += b->pushed;
          pushed_empties += b->pushed_empties;
          for (const auto& [code, count] : b->codes) codes[code] += count;
          EXPECT_EQ(b->to.violations, b->codes[RdmaError::kWindowViolation]);
          empties += b->empties;
          faileds += b->faileds;
        }
      }
    }
  }
  EXPECT_GT(codes[RdmaError::kBadDescriptor], 10u);
  EXPECT_GT(codes[RdmaError::kWindowViolation], 10u);
  EXPECT_GT(codes[RdmaError::kQueueDmaError], 10u);
  EXPECT_GT(empties, 100u);
  EXPECT_GT(faileds, 30u);
  EXPECT_EQ(followed > 100, packed || features);
  EXPECT_EQ(from_tables > 1000, features);
  EXPECT_EQ(avail_events > 1000, features && !packed);
  EXPECT_EQ(ids > 1000, packed);
  EXPECT_GT(pushed, 20u);
  EXPECT_GT(pushed_empties, 10u);
}
TEST(DescFetch, DeliversAvailableBuffersAndStopsBrokenQueuesAtEveryRate) { GiveWhatDriversMadeAvailable(false, false); }
TEST(DescFetch, DeliversPackedBuffersAndStopsBrokenQueuesAtEveryRate) { GiveWhatDriversMadeAvailable(true, false); }
TEST(DescFetch, DeliversBuffersWithTablesAndAvailEvents) { GiveWhatDriversMadeAvailable(false, true); }
TEST(DescFetch, DeliversPackedBuffersWithTables) { GiveWhatDriversMadeAvailable(true, true); }

TEST(DescFetch, ReadsTheEntriesOfALongRequestAtOnce) {
  constexpr unsigned kMost = spec::kNetBuffersPerRequest;
  Bench b;
  b.Enable(5, 64);
  ASSERT_EQ(b.bench.Run(50), "");
  const auto take = [&](unsigned count, unsigned ring_reads) {
    b.MakeAvailable(5, count);
    b.answers.clear();
    b.reads.clear();
    b.Ask(5, 5, count);
    b.Settle();
    ASSERT_EQ(b.answers.size(), count);
    EXPECT_TRUE(b.answers.back().last);
    EXPECT_EQ(b.reads.size(), 1 + ring_reads + count);
  };
  take(kMost, 1);
  take(kMost / 2, 1);
  take(kMost, 2);  // entries 48 ... 63, 0 ... 15
}

// Reads of ring and descriptors only, until more is requested than was available when the index was read.
TEST(DescFetch, BuffersThatWereAvailableNeedNoReadOfTheIndex) {
  Bench b;
  b.Enable(5, 64);
  b.Enable(6, 64);
  ASSERT_EQ(b.bench.Run(50), "");
  const auto take = [&](size_t vq, unsigned count, bool reads_index) {
    b.reads.clear();
    b.answers.clear();
    b.Ask(5, vq, count);
    b.Settle();
    ASSERT_EQ(b.answers.size(), count);
    EXPECT_TRUE(b.answers.back().last);
    ASSERT_EQ(b.reads.size(), 1 + count + (reads_index ? 1 : 0));
    if (reads_index) {
      EXPECT_EQ(b.reads.front().address, Bench::DriverOf(vq) + spec::VirtqAvail::kIdxOffset);
    }
  };
  b.MakeAvailable(5, 40);
  b.MakeAvailable(6, 10);
  take(5, 8, true);
  take(6, 4, true);
  take(5, 16, false);
  take(6, 5, false);
  take(5, 15, false);
  b.MakeAvailable(5, 20);  // one is known
  take(5, 2, true);
  take(5, 19, false);
  b.MakeAvailable(5, 1);
  take(5, 1, true);
}

TEST(DescFetch, NothingIsKnownToBeAvailableBehindAReset) {
  for (const int reset : {0, 1, 2}) {
    SCOPED_TRACE(reset);
    Bench b;
    b.Enable(4, 16);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 16);
    b.Ask(0, 4, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 8u);
    if (reset == 0) {
      b.SetKind(4, spec::TableQueueKind::kSq, false, true);
    } else if (reset == 1) {
      b.SetKind(4, spec::TableQueueKind::kNone);
      b.SetKind(4, spec::TableQueueKind::kSq);
    } else {
      b.Enable(4, 16);
    }
    Ring& ring = b.rings[4];
    ring.index = 0;
    ring.available.clear();
    ring.added = ring.taken;
    std::fill(ring.head_used.begin(), ring.head_used.end(), false);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 2);
    b.answers.clear();
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.answers.size(), 2u);
  }
}

TEST(DescFetch, QueueFailureIsReportedOnceUntilReset) {
  for (const Defect defect : kDefects) {
    for (const uint64_t at : {0u, 3u}) {
      SCOPED_TRACE("defect " + std::to_string(static_cast<int>(defect)) + " at " + std::to_string(at));
      auto b = std::make_unique<Bench>();
      b->Enable(5, 8, defect, at);
      ASSERT_EQ(b->bench.Run(50), "");
      b->MakeAvailable(5, 8);
      b->Ask(0, 5, 8);
      b->Settle();
      b->Ask(0, 5, 8);
      b->Settle();
      // DMA errors count reads, not entries: index, ring, then descriptors.
      const size_t good = defect == Defect::kIndex ? 0 : defect == Defect::kDmaError ? (at == 0 ? 0 : 1) : at;
      ASSERT_EQ(b->answers.size(), good + 2);
      for (size_t i = 0; i < good; ++i) EXPECT_EQ(b->answers[i].status, BufferStatus::kOk);
      EXPECT_EQ(b->answers[good].status, BufferStatus::kFailed);
      EXPECT_EQ(b->answers[good + 1].status, BufferStatus::kFailed);
      EXPECT_EQ(b->rings[5].failures, 1u);

      const size_t reads = b->reads.size();
      b->Ask(1, 5, 1);
      b->Ask(2, 5, 1, uint16_t{0});
      b->Settle();
      EXPECT_EQ(b->faileds, 4u);
      EXPECT_EQ(b->reads.size(), reads) << "a broken queue is read";

      b->Enable(5, 8);
      ASSERT_EQ(b->bench.Run(50), "");
      b->MakeAvailable(5, 2);
      b->answers.clear();
      b->Ask(0, 5, 8);
      b->Settle();
      ASSERT_EQ(b->answers.size(), 2u);
      EXPECT_EQ(b->answers[1].status, BufferStatus::kOk);
      EXPECT_TRUE(b->answers[1].last);
    }
  }
}

TEST(DescFetch, QueueWithBadParityDeliversNothingUntilWritten) {
  using spec::ContextRam;
  unsigned empty = 0, failed = 0;
  for (const bool packed : {false, true}) {
    for (const ContextRam ram : {ContextRam::kDescFetchServed, ContextRam::kDescFetchArea, ContextRam::kDescFetchSize,
                                 ContextRam::kDescFetchDescriptors, ContextRam::kDescFetchWindow}) {
      SCOPED_TRACE(std::string(spec::ToString(ram)) + (packed ? " packed" : " split"));
      Bench b;
      if (packed) b.UsePackedRings();
      const auto enable = [&] {
        for (const size_t vq : {4u, 5u}) b.Enable(vq, 8);
        ASSERT_EQ(b.bench.Run(50), "");
        for (const size_t vq : {4u, 5u}) packed ? b.MakePacked(vq, 3) : b.MakeAvailable(vq, 3);
      };
      ASSERT_NO_FATAL_FAILURE(enable());
      for (const uint32_t bit : {0u, 1u, 1000u}) {
        b.contexts.Flip(ram, 5, bit);
        ASSERT_EQ(b.bench.Run(2), "");
        EXPECT_TRUE(b.contexts.errors.empty());
        b.Ask(0, 4, 1);
        b.Settle();
        EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
        EXPECT_TRUE(b.contexts.errors.empty());
        b.rings[5].defective = true;  // for `failed` answers and missed buffers
        const size_t answers = b.answers.size();
        b.Ask(0, 5, 3);
        b.Settle();
        ASSERT_EQ(b.answers.size(), answers + 1);
        EXPECT_NE(b.answers.back().status, BufferStatus::kOk);
        empty += b.answers.back().status == BufferStatus::kEmpty;
        failed += b.answers.back().status == BufferStatus::kFailed;
        EXPECT_EQ(b.rings[5].failures, 0u);
        EXPECT_EQ(b.contexts.errors.size(), 1u);
        b.contexts.errors.clear();
        b.rings[5].defective = false;
        ASSERT_NO_FATAL_FAILURE(enable());
        b.Ask(0, 5, 1);
        b.Settle();
        EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
        EXPECT_TRUE(b.contexts.errors.empty());
      }
    }
  }
  EXPECT_EQ(empty, 2 * 4 * 3u);
  EXPECT_EQ(failed, 2 * 3u);
}

TEST(DescFetch, FlipAtAnyTimeCausesAnErrorAndNoWrongBuffer) {
  unsigned errors = 0;
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    for (int round = 0; round < 300; ++round) {
      const auto ram =
          static_cast<spec::ContextRam>(static_cast<unsigned>(spec::ContextRam::kDescFetchServed) + b.random() % 5);
      b.Enable(5, 16);
      ASSERT_EQ(b.bench.Run(50), "");
      packed ? b.MakePacked(5, 16) : b.MakeAvailable(5, 16);
      b.rings[5].defective = true;
      const size_t client = b.random() % kClients;
      for (unsigned i = 0; i < 4; ++i) b.Ask(client, 5, 1 + b.random() % 4);
      ASSERT_EQ(b.bench.Run(b.random() % 100), "");
      b.contexts.Flip(ram, 5, b.random() % 1024);
      b.Ask(client, 5, 1);
      b.Settle(10);
      b.rings[5].defective = false;
      errors += !b.contexts.errors.empty();
      b.contexts.errors.clear();
    }
  }
  EXPECT_GT(errors, 500u);
}

TEST(DescFetch, ReadsADescriptorByIndexWithoutTheRing) {
  Bench b;
  b.Enable(3, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  b.Ask(3, 3, 1, uint16_t{15});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 1u);
  EXPECT_EQ(b.answers[0].status, BufferStatus::kOk);
  EXPECT_EQ(b.reads.size(), 1u);

  b.rings[3].defect = Defect::kHead;  // the code
  b.rings[3].defective = true;
  b.Ask(3, 3, 1, uint16_t{16});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 2u);
  EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
  EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  EXPECT_EQ(b.reads.size(), 1u);
}

// The descriptor read by a replay may be used since, or another's by now: that is no fault of the queue.
TEST(DescFetch, ReplayWithoutABufferLeavesTheQueueAlone) {
  Bench b;
  b.Enable(3, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  b.rings[3].defective = true;  // for a `failed` answer
  constexpr auto kSend = static_cast<size_t>(spec::BufferClient::kSend);
  b.Ask(kSend, 3, 1, uint16_t{16});
  b.Settle();
  b.rings[3].table[5].len = 0;
  b.Ask(kSend, 3, 1, uint16_t{5});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 2u);
  EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
  EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
  EXPECT_TRUE(b.codes.empty());
  b.rings[3].defective = false;
  b.rings[3].table[5].len = 1;
  b.Ask(kSend, 3, 1, uint16_t{5});
  b.Settle();
  EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
}

TEST(DescFetch, DoesNotAccessUnservedQueues) {
  Bench b;
  b.SetKind(1, spec::TableQueueKind::kSq);  // not enabled
  b.Enable(2, 4);
  b.SetKind(2, spec::TableQueueKind::kSq, true);  // stopped
  b.Enable(3, 4);
  b.SetKind(3, spec::TableQueueKind::kNone);  // no kind
  ASSERT_EQ(b.bench.Run(50), "");
  for (const size_t vq : {1u, 2u, 3u}) {
    b.rings[vq].served = false;
    b.Ask(0, vq, 4);
    b.Ask(1, vq, 1, uint16_t{0});
  }
  b.Settle();
  EXPECT_EQ(b.empties, 6u);
  EXPECT_EQ(b.reads.size(), 0u);
}

TEST(DescFetch, RestartsAtTheFirstEntryAfterPositionReset) {
  for (const bool by_kind_none : {false, true}) {
    Bench b;
    b.Enable(4, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 5);
    b.Ask(0, 4, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 5u);
    b.SetKind(4, by_kind_none ? spec::TableQueueKind::kNone : spec::TableQueueKind::kSq, false, !by_kind_none);
    b.SetKind(4, spec::TableQueueKind::kSq);
    Ring& ring = b.rings[4];
    ring.index = 0;
    b.MakeAvailable(4, 3);
    ASSERT_EQ(b.bench.Run(20), "");
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.answers.size(), 8u);
  }
}

TEST(DescFetch, TakesAFullRingRepeatedly) {
  Bench b;
  b.Enable(7, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  uint64_t given = 0;
  // 65536 and more entries: the index wraps, too.
  for (int i = 0; i < 6500; ++i) {
    b.MakeAvailable(7, i % 100 == 0 ? 16 : static_cast<unsigned>(13 + b.random() % 4));
    b.Ask(2, 7, 8);
    b.Ask(2, 7, 8);
    ASSERT_EQ(b.bench.RunOut(40), "");
    given = b.rings[7].taken;
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
  EXPECT_GT(given, 66'000u);
}

TEST(DescFetch, AnswerContinuesAcrossRingWrap) {
  for (uint16_t before = 0; before <= 8; ++before) {
    SCOPED_TRACE(before);
    Bench b;
    b.Enable(7, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(7, before);
    if (before != 0) b.Ask(2, 7, 8);
    b.Settle();
    b.MakeAvailable(7, 8);
    b.answers.clear();
    b.reads.clear();
    b.Ask(2, 7, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(b.answers[i].last, i == 7);
    EXPECT_EQ(b.reads.size(), 1u + (before % 8 == 0 ? 1 : 2) + 8);
  }
}

TEST(DescFetch, FailureBeforeRingWrapDoesNotAffectTheNextRequest) {
  for (const uint64_t at : {5u, 7u}) {
    Bench b;
    b.Enable(7, 8, Defect::kHead, at);
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(7, 4);
    b.Ask(2, 7, 4);
    b.Settle();
    b.MakeAvailable(7, 8);
    b.MakeAvailable(3, 8);
    b.answers.clear();
    b.Ask(2, 7, 8);
    b.Ask(3, 3, 8);
    b.Settle();
    EXPECT_EQ(b.rings[7].failures, 1u);
    EXPECT_EQ(b.answers.size(), at - 4 + 1 + 8);
  }
}

TEST(DescFetch, WalksOnePackedRequestPerQueueAtATime) {
  Bench b;
  b.UsePackedRings();
  b.Enable(1, 8);
  b.Enable(2, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakePacked(1, 8);
  b.MakePacked(2, 8);
  b.ring_in.rate = 0;
  b.Ask(0, 1, 1);
  b.Ask(1, 2, 1);
  b.Ask(0, 1, 1);
  ASSERT_EQ(b.bench.Run(60), "");
  EXPECT_EQ(b.reads.size(), 2u);
  b.ring_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.answers.size(), 3u);
}

TEST(DescFetch, QueueThatIsBeingReadStopsNoOtherClient) {
  for (const bool packed : {false, true}) {
    Bench b;
    b.follow = false;
    if (packed) b.UsePackedRings();
    for (const size_t vq : {0, 1, 2}) b.Enable(vq, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    for (const size_t vq : {0, 1, 2}) packed ? b.MakePacked(vq, 8) : b.MakeAvailable(vq, 8);
    b.index_in.rate = b.ring_in.rate = 0;
    for (int i = 0; i < 3; ++i) b.Ask(0, 0, 1);  // the second and third wait
    ASSERT_EQ(b.bench.Run(30), "");
    EXPECT_EQ(b.reads.size(), 1u);
    b.Ask(1, 1, 1);
    b.Ask(2, 2, 1);
    b.Ask(2, 2, 1, uint16_t{3});  // waits for no read
    ASSERT_EQ(b.bench.Run(60), "");
    EXPECT_EQ(b.reads.size(), 3u);
    b.index_in.rate = b.ring_in.rate = 16;
    b.Settle();
    EXPECT_EQ(b.answers.size(), 6u);
  }
}

TEST(DescFetch, PackedRingsMeetDocumentedLatencies) {
  for (const bool one : {true, false}) {  // buffer
    Bench b;
    b.UsePackedRings();
    b.Enable(1, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakePacked(1, one ? 1 : 4);
    b.ring_in.rate = 0;
    b.Ask(0, 1, 4);
    ASSERT_EQ(b.bench.Run(DescFetch::kRequestToPackedRead), "");
    EXPECT_EQ(b.reads.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.reads.size(), 1u);
    ASSERT_EQ(b.bench.Run(10), "");
    b.ring_in.rate = 16;
    // The last one is known only when the next descriptor was checked.
    ASSERT_EQ(b.bench.Run(DescFetch::kPackedToBuffer - (one ? 0 : 1)), "");
    EXPECT_EQ(b.answers.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 1u);
    if (one) continue;
    ASSERT_EQ(b.bench.Run(3 * DescFetch::kCyclesPerBuffer - 1), "");
    EXPECT_EQ(b.answers.size(), 3u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 4u);
  }
}

TEST(DescFetch, ReadsOneIndexPerQueueAtATime) {
  Bench b;
  b.Enable(1, 8);
  b.Enable(2, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(1, 8);
  b.MakeAvailable(2, 8);
  b.index_in.rate = 0;
  b.Ask(0, 1, 1);
  b.Ask(1, 2, 1);
  b.Ask(0, 1, 1);
  ASSERT_EQ(b.bench.Run(60), "");
  EXPECT_EQ(b.reads.size(), 2u);
  b.index_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.answers.size(), 3u);
}

TEST(DescFetch, MeetsDocumentedLatencies) {
  Bench b;
  b.Enable(1, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(1, 8);
  b.index_in.rate = b.ring_in.rate = b.descriptor_in.rate = 0;
  const auto until_read = [&](Cycle latency, size_t reads) {
    const Cycle begin = b.bench.cycle();
    EXPECT_EQ(b.bench.Run(latency), "");
    EXPECT_EQ(b.reads.size(), reads - 1) << "too early";
    EXPECT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.reads.size(), reads) << "too late";
    EXPECT_EQ(b.last_read, begin + latency);
  };
  b.Ask(0, 1, 3);
  until_read(DescFetch::kRequestToIndexRead, 1);
  b.index_in.rate = 16;
  until_read(DescFetch::kIndexToRingRead, 2);
  b.ring_in.rate = 16;
  until_read(DescFetch::kRingToDescriptorRead, 3);
  ASSERT_EQ(b.bench.Run(10), "");
  b.descriptor_in.rate = 16;
  const Cycle begin = b.bench.cycle();
  ASSERT_EQ(b.bench.Run(DescFetch::kDescriptorToBuffer), "");
  EXPECT_EQ(b.answers.size(), 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.answers.size(), 1u);
  ASSERT_EQ(b.bench.Run(2 * DescFetch::kCyclesPerBuffer - 1), "");
  EXPECT_EQ(b.answers.size(), 2u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.answers.size(), 3u);
  EXPECT_EQ(b.last_buffer, begin + DescFetch::kDescriptorToBuffer + 2 * DescFetch::kCyclesPerBuffer);
}

TEST(DescFetch, MeetsDocumentedLatencyOfABufferThatIsKnown) {
  Bench b;
  b.Enable(1, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(1, 8);
  b.Ask(0, 1, 3);
  b.Settle();
  b.reads.clear();
  b.Ask(0, 1, 3);
  const Cycle begin = b.bench.cycle();
  ASSERT_EQ(b.bench.Run(DescFetch::kRequestToKnownRingRead), "");
  EXPECT_EQ(b.reads.size(), 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.reads.size(), 1u);
  EXPECT_EQ(b.last_read, begin + DescFetch::kRequestToKnownRingRead);
}

TEST(DescFetch, SimultaneousClearsDisturbNoOtherWrite) {
  Bench b;
  for (size_t vq = 0; vq < kQueues; ++vq) b.Enable(vq, 16);
  ASSERT_EQ(b.bench.Run(200), "");
  for (int round = 0; round < 200; ++round) {
    for (size_t vq = 0; vq < kClients; ++vq) {
      b.MakeAvailable(vq, 3);
      b.Ask(vq, vq, 8);
    }
    // Queues 8 to 15 are reset in a row, one in every cycle, with a table write now and then.
    for (size_t vq = 8; vq < kQueues; ++vq) b.row_in.tokens.push_back(b.rings[vq].row);
    b.SetKind(15, spec::TableQueueKind::kSq, false, true);
    ASSERT_EQ(b.bench.Run(30 + b.random() % 8), "");
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
}

// --- Fence -----------------------------------------------------------------------------------------------------------

// After a write of an entry of the table, fence_o falls when the requests from before it have made their last read,
// whatever others do. Reads are answered one by one.
class DescFetchFence : public testing::Test {
 protected:
  static constexpr size_t kStopped = 3, kOther = 6;

  void Enable(size_t vq, Defect defect = Defect::kNone, uint64_t defect_at = 0) {
    b->Enable(vq, 8, defect, defect_at);
    ASSERT_EQ(b->bench.Run(50), "");
  }
  void Ask(size_t client, size_t vq) {
    b->Ask(client, vq, 8);
    ASSERT_EQ(b->bench.Run(60), "");
  }
  template <typename Stream>
  void Answer(Stream& stream, size_t reads) {
    ASSERT_GE(stream.tokens.size(), reads);
    stream.rate = 16;
    ASSERT_EQ(b->bench.Run(reads), "");
    stream.rate = 0;
    ASSERT_EQ(b->bench.Run(60), "");
  }
  // The queue is stopped while these reads of it are not answered; others may follow.
  template <typename Stream>
  void ExpectUpFor(Stream& stream, size_t reads, bool others = false) {
    b->SetKind(kStopped, spec::TableQueueKind::kSq, true);
    ASSERT_EQ(b->bench.Run(2), "");
    if (others) Ask(1, kOther);
    for (; reads != 0; --reads) {
      EXPECT_TRUE(b->p.fence_o) << reads;
      ASSERT_NO_FATAL_FAILURE(Answer(stream, 1));
    }
    EXPECT_FALSE(b->p.fence_o);
    EXPECT_EQ(b->to.idle(), !others);
    stream.rate = 16;
    b->Settle();
  }

  std::unique_ptr<Bench> b = std::make_unique<Bench>();
};

TEST_F(DescFetchFence, CoversRequestsFromBeforeTheWriteOnly) {
  for (const size_t vq : {kStopped, kOther}) {
    Enable(vq);
    b->MakeAvailable(vq, 8);
  }
  b->descriptor_in.rate = 0;
  Ask(0, kStopped);
  ExpectUpFor(b->descriptor_in, 8, true);
}

TEST_F(DescFetchFence, CoversPackedRequestsFromBeforeTheWriteOnly) {
  b->UsePackedRings();
  for (const size_t vq : {kStopped, kOther}) {
    Enable(vq);
    b->MakePacked(vq, 8, 1);
  }
  b->ring_in.rate = 0;
  Ask(0, kStopped);
  ExpectUpFor(b->ring_in, 2, true);
}

// The client knows that the request has failed while reads of its rest are in flight.
TEST_F(DescFetchFence, CoversTheRestOfARequestThatHasFailed) {
  Enable(kStopped, Defect::kNoLength, 1);
  b->MakeAvailable(kStopped, 8);
  Ring& ring = b->rings[kStopped];
  while (ring.index != 8) ring.entries[ring.index++] = ring.available.front();
  b->descriptor_in.rate = 0;
  Ask(0, kStopped);
  Answer(b->descriptor_in, 2);
  ASSERT_EQ(b->answers.back().status, BufferStatus::kFailed);
  ASSERT_TRUE(b->asked[0].empty());
  ExpectUpFor(b->descriptor_in, 6);
}

// Likewise, the second part of a ring that wraps.
TEST_F(DescFetchFence, CoversTheRestOfARingThatHasFailed) {
  Enable(kStopped, Defect::kDmaError, 7);
  b->MakeAvailable(kStopped, 4);
  b->Ask(0, kStopped, 4);  // reads 0 ... 5: index, ring, descriptors
  b->Settle();
  b->MakeAvailable(kStopped, 8);
  b->ring_in.rate = 0;
  Ask(0, kStopped);
  Answer(b->ring_in, 1);
  ASSERT_EQ(b->answers.back().status, BufferStatus::kFailed);
  ExpectUpFor(b->ring_in, 1);
}

// A packed ring is read in advance; the answer does not wait for what is not needed.
TEST_F(DescFetchFence, CoversReadsBehindTheLastBuffer) {
  b->UsePackedRings();
  Enable(kStopped);
  b->MakePacked(kStopped, 1, 1);
  b->ring_in.rate = 0;
  Ask(0, kStopped);
  Answer(b->ring_in, 1);
  ASSERT_TRUE(b->asked[0].empty());
  ExpectUpFor(b->ring_in, 1);
}

}  // namespace
}  // namespace vireo::verif
