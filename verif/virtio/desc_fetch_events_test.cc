// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch: avail_event, so that drivers ring only where needed.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

#include "sim/common/seed.h"
#include "verif/virtio/desc_fetch_bench.h"

namespace vireo::verif {
namespace {

// --- avail_event

TEST(DescFetch, ReportsAvailIndexOnceAfterAShortAnswer) {
  Bench b;
  b.AcceptEventIdx();
  b.Enable(4, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(4, 4);
  b.Ask(0, 4, 3);
  b.Settle();
  EXPECT_EQ(b.avail_events, 0u);
  b.MakeAvailable(4, 1);
  b.Ask(0, 4, 2);  // there are two: the client must request again
  b.Settle();
  EXPECT_EQ(b.avail_events, 0u);
  b.Ask(0, 4, 2);
  b.Settle();
  EXPECT_EQ(b.avail_events, 1u);
  EXPECT_EQ(b.rings[4].avail_event, 5);
  b.Ask(0, 4, 8);
  b.Settle();
  EXPECT_EQ(b.avail_events, 1u);
  b.MakeAvailable(4, 2);
  b.Ask(0, 4, 8);
  b.Settle();
  EXPECT_EQ(b.avail_events, 2u);
  EXPECT_EQ(b.rings[4].avail_event, 7);

  // A new lifetime starts at 0, which a driver need not have written: it is sent, too.
  for (const bool by_row : {false, true}) {
    if (by_row) {
      b.Enable(4, 8);
    } else {
      b.SetKind(4, spec::TableQueueKind::kSq, false, true);
      b.rings[4].index = 0;
      b.rings[4].taken = b.rings[4].added = 0;
    }
    ASSERT_EQ(b.bench.Run(50), "");
    const unsigned before = b.avail_events;
    b.rings[4].avail_event.reset();
    b.Ask(0, 4, 8);
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.avail_events, before + 1);
    EXPECT_EQ(b.rings[4].avail_event, 0);
  }
}

TEST(DescFetch, SendsNoAvailEventForQueuesWithoutDoorbells) {
  for (const auto kind : {spec::TableQueueKind::kCq, spec::TableQueueKind::kEvent}) {
    Bench b;
    b.AcceptEventIdx();
    b.Enable(4, 8);
    b.SetKind(4, kind);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 1);
    b.rings[4].avail_event = 1;  // for the bench, which does not know kinds
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.avail_events, 0u);
  }
}

// Driver and device with ring_event_idx: the driver rings only when it adds the entry that avail_event names; a pulse
// of descriptor fetch becomes avail_event some time later, and a doorbell of the device's own. Every available buffer
// is found.
TEST(DescFetch, DriverThatRingsOnlyAtAvailEventIsNeverMissed) {
  Bench b;
  b.AcceptEventIdx();
  b.Enable(4, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  Ring& ring = b.rings[4];
  uint16_t avail_event = 0x8000;  // in memory: far away
  bool rung = true;               // when the queue is enabled
  bool full = false;              // the last answer was as long as requested
  std::deque<std::pair<Cycle, uint16_t>> writes;
  unsigned reported = 0, rings = 0, additions = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (b.random() % 16 < (step / 1000 % 2 == 0 ? 1u : 8u)) {
      const uint16_t before = ring.index;
      b.MakeAvailable(4, static_cast<unsigned>(1 + b.random() % 3));
      const auto added = static_cast<uint16_t>(ring.index - before);
      additions += added != 0;
      // [virtio 1.3, 2.7.10]
      if (static_cast<uint16_t>(avail_event - before) < added) {
        rung = true;
        ++rings;
      }
    }
    if (b.avail_events != reported) {
      reported = b.avail_events;
      writes.emplace_back(b.bench.cycle() + b.random() % 60, *ring.avail_event);
    }
    if (!writes.empty() && writes.front().first <= b.bench.cycle()) {
      avail_event = writes.front().second;
      writes.pop_front();
      rung = true;
    }
    if (ring.outstanding == 0 && (rung || full)) {
      rung = full = false;
      b.answers.clear();
      b.Ask(0, 4, 4);
    }
    ASSERT_EQ(b.bench.Run(1 + b.random() % 20), "");
    ASSERT_FALSE(HasFatalFailure());
    if (ring.outstanding == 0 && b.answers.size() == 4) full = true;
  }
  for (int i = 0; i < 2000; ++i) {
    if (b.avail_events != reported) {
      reported = b.avail_events;
      writes.emplace_back(b.bench.cycle(), *ring.avail_event);
    }
    if (!writes.empty()) rung = true, writes.pop_front();
    if (ring.outstanding == 0 && b.answers.size() == 4) full = true;
    if (ring.outstanding == 0 && (rung || full)) {
      rung = full = false;
      b.answers.clear();
      b.Ask(0, 4, 4);
    }
    ASSERT_EQ(b.bench.Run(10), "");
  }
  EXPECT_TRUE(ring.available.empty()) << "overlooked";
  EXPECT_GT(additions, 1000u);
  EXPECT_GT(rings, 100u);
  EXPECT_LT(rings, additions);
}

}  // namespace
}  // namespace vireo::verif
