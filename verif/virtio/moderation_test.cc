// SPDX-License-Identifier: Apache-2.0
// Notification coalescing: RTL against model in every cycle, and both against settings, notifications and their cycles.
#include "model/virtio/moderation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vmoderation.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/device_time.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Moderation;
using spec::Interrupt;
using spec::MgmtTable;
using spec::QueueInterrupt;
using spec::QueueRowWrite;
using spec::TableWrite;

constexpr uint32_t kPairs = 3;  // as the Verilated class was made
constexpr uint16_t kQueues = 2 * kPairs;
constexpr uint16_t kFirstVector = 100;
constexpr uint64_t kNever = Moderation::kNever;
constexpr uint64_t kUs = 1000;
constexpr uint32_t kLong = 1'000'000;

TableWrite Numbers(uint32_t index, uint32_t max_packets, uint32_t max_usecs, MgmtTable table = MgmtTable::kVirtqueue) {
  TableWrite write{.table_id = table, .index = index};
  spec::TableVirtqueue{.coal_max_packets = max_packets, .coal_max_usecs = max_usecs}.Encode(write.data);
  return write;
}

void Outputs(const Vmoderation& top, std::vector<uint8_t>& bytes) {
  for (const auto bit : {top.queue_interrupt_ready_o, top.interrupt_valid_o, top.idle_o}) bytes.push_back(bit);
  const auto add = [&](const auto& port) {
    const auto data = BytesOf(port);
    bytes.insert(bytes.end(), data.begin(), data.end());
  };
  add(top.interrupt_o);
  add(top.deadline_ns_o);
}

struct Bench {
  explicit Bench(uint64_t period_ns = 4) : time(period_ns), bench(rtl, agenda, random) {
    block.time_ns = [this](Cycle cycle) { return time.At(cycle); };
    block.cycle_at = [this](uint64_t time_ns) { return time.CycleAt(time_ns); };
    block.interrupt_out.Connect(sink, block);
    bench.AddOther(time_input);
    bench.AddOther(contexts);
    interrupts.on_token = [this](Cycle cycle, const Interrupt& token) {
      if (token.msix_vector < kFirstVector) return;
      const size_t queue = token.msix_vector - kFirstVector;
      if (queue < kQueues) interrupted[queue].push_back(cycle);
    };
  }

  // A queue that is enabled and has these limits, as at the start of traffic.
  void Enable(uint16_t queue, uint32_t max_packets, uint32_t max_usecs) {
    rows.tokens.push_back({.vq_index = queue, .enabled = true});
    tables.tokens.push_back(Numbers(queue, max_packets, max_usecs));
    ASSERT_EQ(Settle(), "");
  }
  void SetNumbers(uint16_t queue, uint32_t max_packets, uint32_t max_usecs) {
    tables.tokens.push_back(Numbers(queue, max_packets, max_usecs));
  }
  void Notify(uint16_t queue) {
    notifications.tokens.push_back({.vq_index = queue, .msix_vector = static_cast<uint16_t>(kFirstVector + queue)});
    offered.push_back(queue);
  }
  // They are counted, and nothing leaves.
  void NotifyAndExpectNothing(uint16_t queue, unsigned times) {
    const uint64_t count = interrupts.count;
    for (unsigned i = 0; i < times; ++i) Notify(queue);
    ASSERT_EQ(Run(Moderation::kLatency + Moderation::kInterval * times + 2), "");
    ASSERT_TRUE(notifications.IsEmpty());
    ASSERT_EQ(interrupts.count, count);
  }
  // Exactly this many cycles from now, one interrupt leaves.
  void ExpectInterruptAfter(Cycle latency, uint16_t queue) {
    const uint64_t count = interrupts.count;
    ASSERT_EQ(Run(latency), "");
    ASSERT_EQ(interrupts.count, count) << "early";
    ASSERT_EQ(Run(1), "");
    ASSERT_EQ(interrupts.count, count + 1) << "late";
    EXPECT_EQ(sink.sent().back().token.msix_vector, kFirstVector + queue);
  }
  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      const uint64_t accepted = notifications.accepted;
      // The model requested a wake-up for a time calculated before the jump.
      if (slept && block.deadline_ns() <= time.At(bench.cycle())) block.WakeAt(bench.cycle());
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (notifications.accepted != accepted) {
        if (offered.front() < kQueues) notified[offered.front()].push_back(bench.cycle() - 1);
        offered.pop_front();
      }
      const std::string at = " in cycle " + std::to_string(bench.cycle());
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs" + at;
      if (p.deadline_ns_o != block.deadline_ns()) return "the deadline differs" + at;
    }
    return {};
  }
  // Stops the clock until then, unless that is over. While idle: otherwise the clock never stops.
  void Sleep(uint64_t until_ns) {
    const uint64_t now = time.At(bench.cycle());
    ASSERT_TRUE(block.IsIdle());
    if (until_ns <= now) return;
    time.Leap(bench.cycle(), until_ns - now);
    slept = true;
  }
  std::string Settle(uint64_t limit = 5000) {
    for (; limit != 0; --limit) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      const bool empty = notifications.IsEmpty() && tables.IsEmpty() && rows.IsEmpty();
      if (empty && block.IsIdle() && block.deadline_ns() > time.At(bench.cycle())) return {};
    }
    return "the block does not become idle";
  }
  // All deadlines expire.
  std::string SleepToTheEnd() {
    for (int i = 0; i < 50; ++i) {
      if (std::string difference = Settle(); !difference.empty()) return difference;
      if (p.deadline_ns_o == kNever) return {};
      Sleep(p.deadline_ns_o);
    }
    return "deadlines without end";
  }

  std::deque<uint16_t> offered;
  std::vector<Cycle> notified[kQueues];     // when a notification was accepted
  std::vector<Cycle> interrupted[kQueues];  // when an interrupt left
  bool slept = false;

  DeviceTime time;
  std::mt19937_64 random = sim::MakeRandom("moderation");
  Agenda agenda;
  Moderation block{agenda, kPairs};
  Channel<Interrupt> sink = Channel<Interrupt>::Sink();
  RtlTop<Vmoderation> rtl{Outputs};
  BlockBench<Vmoderation> bench;
  Vmoderation& p = rtl.ports();
  DeviceTimeInput<decltype(p.time_ns_i)> time_input{p.time_ns_i, time};
  decltype(bench.In("", block.queue_interrupt_in, p.queue_interrupt_valid_i, p.queue_interrupt_ready_o,
                    p.queue_interrupt_i)) notifications =
      bench.In("queue_interrupt", block.queue_interrupt_in, p.queue_interrupt_valid_i, p.queue_interrupt_ready_o,
               p.queue_interrupt_i);
  decltype(bench.Out("", sink, p.interrupt_valid_o, p.interrupt_ready_i, p.interrupt_o)) interrupts =
      bench.Out("interrupt", sink, p.interrupt_valid_o, p.interrupt_ready_i, p.interrupt_o);
  decltype(bench.Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i, {})) tables =
      bench.Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i,
                              [this](Cycle cycle, const TableWrite& write) { block.OnTableWrite(cycle, write); });
  decltype(bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, {})) rows =
      bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i,
                                 [this](Cycle cycle, const QueueRowWrite& row) { block.OnQueueRowWrite(cycle, row); });
  ContextBench<Vmoderation, Moderation> contexts{p, block};
};

TEST(Moderation, WithoutBothLimitsEveryNotificationInterruptsAtOnce) {
  const struct {
    uint16_t queue;
    bool enabled;
    uint32_t max_packets, max_usecs;
  } cases[] = {{0, true, 0, 0},
               {1, true, 0, 50},
               {2, true, 5, 0},
               {3, true, 1, 50},
               {4, false, 5, 50},
               {5, true, 0, 0},
               {kQueues, true, 5, 50},  // the control queue
               {kQueues + 2, true, 5, 50},
               {1000, true, 5, 50},
               {0xffff, true, 5, 50}};
  Bench bench;
  for (const auto& c : cases) {
    if (c.enabled) bench.rows.tokens.push_back({.vq_index = c.queue, .enabled = true});
    bench.tables.tokens.push_back(Numbers(c.queue, c.max_packets, c.max_usecs));
  }
  ASSERT_EQ(bench.Settle(), "");
  for (const auto& c : cases) {
    for (int i = 0; i < 3; ++i) {
      bench.Notify(c.queue);
      bench.notifications.tokens.back().msix_vector = static_cast<uint16_t>(kFirstVector + c.queue % 32);
      bench.ExpectInterruptAfter(Moderation::kLatency, c.queue % 32);
      EXPECT_TRUE(bench.p.idle_o);
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
    }
  }
  // In order, one in two cycles.
  bench.sink.sent().clear();
  for (unsigned i = 0; i < 50; ++i) {
    bench.notifications.tokens.push_back({.vq_index = cases[i % 10].queue, .msix_vector = static_cast<uint16_t>(i)});
    bench.offered.push_back(cases[i % 10].queue);
  }
  ASSERT_EQ(bench.Run(Moderation::kLatency + 50 * Moderation::kInterval - 1), "");
  ASSERT_EQ(bench.sink.sent().size(), 50u);
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(bench.sink.sent()[i].token.msix_vector, i);
}

TEST(Moderation, LastOfMaxPacketsNotificationsInterruptsOnce) {
  for (const uint32_t packets : {2u, 3u, 7u}) {
    Bench bench;
    bench.Enable(1, packets, kLong);
    bench.Enable(4, packets + 1, kLong);
    for (int round = 0; round < 3; ++round) {
      bench.NotifyAndExpectNothing(1, packets - 1);
      EXPECT_NE(bench.p.deadline_ns_o, kNever);
      EXPECT_TRUE(bench.p.idle_o);
      bench.Notify(1);
      bench.ExpectInterruptAfter(Moderation::kLatency, 1);
      EXPECT_EQ(bench.p.deadline_ns_o, kNever) << "nothing is left";
    }
    // Each queue counts for itself.
    bench.NotifyAndExpectNothing(1, packets - 1);
    bench.NotifyAndExpectNothing(4, packets);
    bench.Notify(4);
    bench.ExpectInterruptAfter(Moderation::kLatency, 4);
    bench.Notify(1);
    bench.ExpectInterruptAfter(Moderation::kLatency, 1);
  }
}

TEST(Moderation, InterruptsOnceMaxUsecsAfterTheFirstNotification) {
  for (const uint32_t usecs : {1u, 50u, 4097u, 0xffff'ffffu}) {
    for (const uint16_t queue : {uint16_t{0}, uint16_t{5}}) {
      Bench bench;
      bench.Enable(queue, 0xffff'ffff, usecs);
      for (int round = 0; round < 3; ++round) {
        bench.Notify(queue);
        const uint64_t due = bench.time.At(bench.bench.cycle() + Moderation::kAcceptedToStart) + usecs * kUs;
        ASSERT_EQ(bench.Run(Moderation::kLatency - 1), "");
        EXPECT_EQ(bench.p.deadline_ns_o, kNever);
        ASSERT_EQ(bench.Run(1), "");
        EXPECT_EQ(bench.p.deadline_ns_o, due);
        EXPECT_TRUE(bench.p.idle_o);
        // Other queues add nothing to the time.
        bench.NotifyAndExpectNothing(queue, 3);
        EXPECT_EQ(bench.p.deadline_ns_o, due);
        // The last cycle before it, then the first one at it.
        bench.Sleep(due - 4);
        ASSERT_EQ(bench.Run(1), "");
        EXPECT_TRUE(bench.p.idle_o);
        bench.ExpectInterruptAfter(Moderation::kDeadlineToInterrupt, queue);
        EXPECT_EQ(bench.p.deadline_ns_o, kNever);
        EXPECT_TRUE(bench.p.idle_o);
      }
    }
  }
}

TEST(Moderation, NotificationAfterTheDeadlineJoinsTheInterrupt) {
  // It coincides with the pass in every way.
  for (Cycle before = 0; before < 8; ++before) {
    Bench bench;
    bench.Enable(2, 100, 10);
    bench.NotifyAndExpectNothing(2, 1);
    bench.Sleep(bench.p.deadline_ns_o - 4 * 4);
    ASSERT_EQ(bench.Run(before), "");
    bench.Notify(2);
    ASSERT_EQ(bench.Run(30), "");
    EXPECT_EQ(bench.interrupts.count, 1u);
    // It was counted before the interrupt, or started a new count.
    ASSERT_EQ(bench.SleepToTheEnd(), "");
    EXPECT_LE(bench.interrupts.count, 2u);
    EXPECT_GE(bench.interrupted[2].back(), bench.notified[2].back());
  }
}

// virtio 1.3, 5.1.6.5.9: "the device needs to immediately send a used buffer notification"
TEST(Moderation, NewLimitsApplyToPendingNotifications) {
  const struct {
    uint32_t max_packets, max_usecs;
    bool at_once;
  } cases[] = {{8, kLong, true}, {10, kLong, true}, {11, kLong, false}, {15, kLong, false},
               {0, kLong, true}, {1, kLong, true},  {0xffff, 0, true},  {15, 1, true},
               {15, 2, true},    {15, 1000, false}, {9, 1, true},       {0xffff, kLong, false}};
  for (const auto& c : cases) {
    Bench bench;
    bench.Enable(3, 15, kLong);
    bench.NotifyAndExpectNothing(3, 10);
    const uint64_t begin = bench.p.deadline_ns_o - kLong * kUs;
    bench.Sleep(begin + 3 * kUs);
    bench.SetNumbers(3, c.max_packets, c.max_usecs);
    if (c.at_once) {
      bench.ExpectInterruptAfter(Moderation::kTableWriteToInterrupt, 3);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
    } else {
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.interrupts.count, 0u);
      EXPECT_EQ(bench.p.deadline_ns_o, begin + c.max_usecs * kUs) << "of the first notification";
      // Counted notifications stay counted.
      if (c.max_packets == 15) {
        bench.NotifyAndExpectNothing(3, 4);
        bench.Notify(3);
        bench.ExpectInterruptAfter(Moderation::kLatency, 3);
      }
    }
  }
}

TEST(Moderation, LimitsOfOtherQueuesChangeNothing) {
  Bench bench;
  bench.Enable(3, 3, kLong);
  bench.NotifyAndExpectNothing(3, 2);
  const uint64_t due = bench.p.deadline_ns_o;
  for (const uint32_t index : {0u, 2u, 4u, 3u + 8, uint32_t{kQueues}, 0x10003u, 0xff'ffffu}) {
    bench.tables.tokens.push_back(Numbers(index, 0, 0));
  }
  bench.tables.tokens.push_back(Numbers(3, 0, 0, MgmtTable::kCqContext));
  bench.rows.tokens.push_back({.vq_index = 3 + 8, .enabled = false});
  bench.rows.tokens.push_back({.vq_index = 2, .enabled = true});
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.interrupts.count, 0u);
  EXPECT_EQ(bench.p.deadline_ns_o, due);
  bench.Notify(3);
  bench.ExpectInterruptAfter(Moderation::kLatency, 3);
}

TEST(Moderation, RowWritesDiscardPendingNotifications) {
  for (const bool enabled : {false, true}) {
    // With the notification at any stage.
    for (Cycle delay = 0; delay < 8; ++delay) {
      Bench bench;
      bench.Enable(0, 100, 20);
      bench.Enable(3, 5, kLong);
      bench.NotifyAndExpectNothing(3, 3);
      bench.Notify(3);
      ASSERT_EQ(bench.Run(delay), "");
      bench.rows.tokens.push_back({.vq_index = 3, .enabled = enabled});
      ASSERT_EQ(bench.Settle(), "");
      ASSERT_EQ(bench.SleepToTheEnd(), "");
      // A later one starts a new count, or is an interrupt, because a disabled queue is not moderated.
      const bool behind = delay < Moderation::kLatency - 1;
      EXPECT_EQ(bench.interrupts.count, behind ? 1u : 0u) << delay;
      bench.rows.tokens.push_back({.vq_index = 3, .enabled = true});
      ASSERT_EQ(bench.Settle(), "");
      const uint64_t count = bench.interrupts.count;
      bench.NotifyAndExpectNothing(3, 4);
      EXPECT_EQ(bench.interrupts.count, count);
      bench.Notify(3);
      bench.ExpectInterruptAfter(Moderation::kLatency, 3);
    }
  }
}

TEST(Moderation, DueQueueThatIsDiscardedSendsNothingOrIsInFlight) {
  for (Cycle delay = 0; delay < 12; ++delay) {
    for (const unsigned rate : {0u, 16u}) {
      Bench bench;
      bench.Enable(1, 100, 10);
      bench.Enable(2, 100, 10);
      bench.NotifyAndExpectNothing(1, 1);
      bench.NotifyAndExpectNothing(2, 1);
      bench.interrupts.rate = rate;
      bench.Sleep(bench.p.deadline_ns_o + 10 * kUs);
      ASSERT_EQ(bench.Run(delay), "");
      bench.rows.tokens.push_back({.vq_index = 2});
      ASSERT_EQ(bench.Run(20), "");
      bench.interrupts.rate = 16;
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
      const bool late = rate != 0 && delay >= Moderation::kDeadlineToInterrupt + Moderation::kInterval - 1;
      EXPECT_EQ(bench.interrupted[1].size(), 1u);
      EXPECT_EQ(bench.interrupted[2].size(), late ? 1u : 0u) << delay;
    }
  }
}

TEST(Moderation, PassSendsAllDueInOrderAndKeepsTheOthers) {
  Bench bench;
  for (uint16_t queue = 0; queue < kQueues; ++queue) bench.Enable(queue, 100, queue == 3 ? 500 : 50);
  for (uint16_t queue = kQueues; queue-- > 0;) bench.NotifyAndExpectNothing(queue, 2);
  ASSERT_EQ(bench.sink.sent().size(), 0u);
  bench.Sleep(bench.p.deadline_ns_o + 10 * kUs);
  const Cycle begin = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.sink.sent().size(), kQueues - 1);
  size_t i = 0;
  for (uint16_t queue = 0; queue < kQueues; ++queue) {
    if (queue == 3) continue;
    EXPECT_EQ(bench.sink.sent()[i].token.msix_vector, kFirstVector + queue);
    EXPECT_EQ(bench.sink.sent()[i++].cycle, begin + Moderation::kDeadlineToInterrupt + queue * Moderation::kInterval);
  }
  ASSERT_EQ(bench.SleepToTheEnd(), "");
  EXPECT_EQ(bench.interrupted[3].size(), 1u);
}

TEST(Moderation, QueueWithLimitsOfBadParityIsNotModerated) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(bench.Enable(1, 5, kLong));
  ASSERT_NO_FATAL_FAILURE(bench.Enable(2, 5, kLong));
  for (const uint32_t bit : {0u, 40u, 1000u}) {
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(2, 2));
    bench.contexts.Flip(spec::ContextRam::kModerationLimits, 2, bit);
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(1, 1));
    EXPECT_TRUE(bench.contexts.errors.empty());
    for (int i = 0; i < 2; ++i) {
      const Cycle offered = bench.bench.cycle();
      bench.Notify(2);
      ASSERT_NO_FATAL_FAILURE(bench.ExpectInterruptAfter(Moderation::kLatency, 2));
      EXPECT_EQ(bench.contexts.errors, std::vector<Cycle>{offered + Moderation::kLatency});
      bench.contexts.errors.clear();
    }
    bench.SetNumbers(2, 5, kLong);
    ASSERT_EQ(bench.Settle(), "");
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(2, 4));
    bench.Notify(2);
    ASSERT_NO_FATAL_FAILURE(bench.ExpectInterruptAfter(Moderation::kLatency, 2));
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.rows.tokens.push_back({.vq_index = 1, .enabled = true});  // discards its count
    ASSERT_EQ(bench.Settle(), "");
  }
}

TEST(Moderation, CountWithBadParityEndsAndTheNextOneIsClean) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(bench.Enable(2, 5, 10));
  for (const uint32_t bit : {0u, 40u, 1000u}) {
    // Nothing counts: the entry is written before it is read.
    bench.contexts.Flip(spec::ContextRam::kModerationCount, 2, bit);
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(2, 2));
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.contexts.Flip(spec::ContextRam::kModerationCount, 2, bit);
    ASSERT_EQ(bench.Run(3), "");
    const Cycle offered = bench.bench.cycle();
    bench.Notify(2);
    ASSERT_NO_FATAL_FAILURE(bench.ExpectInterruptAfter(Moderation::kLatency, 2));
    EXPECT_EQ(bench.contexts.errors, std::vector<Cycle>{offered + Moderation::kLatency});
    bench.contexts.errors.clear();
    EXPECT_EQ(bench.block.deadline_ns(), kNever);

    // A scan does not know the vector: no interrupt.
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(2, 3));
    bench.contexts.Flip(spec::ContextRam::kModerationCount, 2, bit);
    ASSERT_EQ(bench.Run(3), "");
    const uint64_t count = bench.interrupts.count;
    bench.Sleep(bench.block.deadline_ns());
    ASSERT_EQ(bench.Settle(), "");
    ASSERT_EQ(bench.Run(Moderation::kDeadlineToInterrupt + 2), "");
    EXPECT_EQ(bench.interrupts.count, count);
    EXPECT_EQ(bench.block.deadline_ns(), kNever);
    EXPECT_EQ(bench.contexts.errors.size(), 1u);
    bench.contexts.errors.clear();
    ASSERT_NO_FATAL_FAILURE(bench.NotifyAndExpectNothing(2, 4));
    bench.Notify(2);
    ASSERT_NO_FATAL_FAILURE(bench.ExpectInterruptAfter(Moderation::kLatency, 2));
    EXPECT_TRUE(bench.contexts.errors.empty());
  }
}

TEST(Moderation, EndlessNotificationsAndAPassAlternate) {
  Bench bench;
  for (uint16_t queue = 0; queue < kQueues; ++queue) bench.Enable(queue, queue == 0 ? 0 : 100, 50);
  for (uint16_t queue = 1; queue < kQueues; ++queue) bench.NotifyAndExpectNothing(queue, 1);
  bench.Sleep(bench.p.deadline_ns_o + 10 * kUs);
  for (int i = 0; i < 100; ++i) bench.Notify(0);
  ASSERT_EQ(bench.Run(2 * Moderation::kInterval * kQueues + 2), "");
  for (uint16_t queue = 1; queue < kQueues; ++queue) EXPECT_EQ(bench.interrupted[queue].size(), 1u);
  EXPECT_GE(bench.interrupted[0].size(), kQueues - 1);
  EXPECT_FALSE(bench.notifications.IsEmpty());
}

// State from before a reset does not count. Firmware must write the limits again, and the queue's row.
TEST(Moderation, ResetDiscardsPendingNotifications) {
  RtlTop<Vmoderation> rtl{Outputs};
  auto& p = rtl.ports();
  p.interrupt_ready_i = 1;
  const auto notify = [&] {
    SetPort(p.queue_interrupt_i, QueueInterrupt{.vq_index = 1, .msix_vector = 7});
    p.queue_interrupt_valid_i = 1;
    while (p.queue_interrupt_ready_o == 0) rtl.Clock();
    rtl.Clock();
    p.queue_interrupt_valid_i = 0;
  };
  for (unsigned wait = 0; wait < 12; ++wait) {
    SetPort(p.queue_row_write_i, QueueRowWrite{.vq_index = 1, .enabled = true});
    SetPort(p.table_write_i, Numbers(1, 3, 5));
    p.queue_row_write_valid_i = p.table_write_valid_i = 1;
    rtl.Clock();
    p.queue_row_write_valid_i = p.table_write_valid_i = 0;
    notify();
    notify();
    for (unsigned i = 0; i < 8; ++i) rtl.Clock();
    ASSERT_EQ(p.deadline_ns_o <= p.time_ns_i + 5 * kUs, true);
    p.time_ns_i += wait % 2 == 0 ? 5 * kUs : 0;
    for (unsigned i = 0; i < wait / 2; ++i) rtl.Clock();
    rtl.Reset();
    EXPECT_EQ(p.deadline_ns_o, kNever);
    EXPECT_TRUE(p.idle_o);
    p.time_ns_i += 100 * kUs;
    for (unsigned i = 0; i < 20; ++i) {
      EXPECT_FALSE(p.interrupt_valid_o);
      rtl.Clock();
    }
    // It is not enabled.
    notify();
    for (unsigned i = 1; i < Moderation::kLatency; ++i) rtl.Clock();
    EXPECT_TRUE(p.interrupt_valid_o);
    for (unsigned i = 0; i < 4; ++i) rtl.Clock();
  }
}

// With a clock that stops while idle until an input or the deadline, all events come in the same cycles.
TEST(Moderation, StoppingTheClockWhileIdleChangesNothing) {
  auto random = sim::MakeRandom("moderation_sleep");
  std::vector<std::pair<Cycle, QueueInterrupt>> notifications;
  Cycle cycle = 100;
  for (unsigned i = 0; i < 600; ++i) {
    cycle += random() % 4 == 0 ? random() % 3000 : random() % 40;
    notifications.emplace_back(cycle,
                               QueueInterrupt{.vq_index = static_cast<uint16_t>(random() % kQueues), .msix_vector = 0});
    notifications.back().second.msix_vector = notifications.back().second.vq_index;
  }
  const Cycle end = cycle + 20'000;
  std::vector<std::pair<Cycle, Interrupt>> seen[2];
  Cycle clocked[2]{};
  for (const bool sleeps : {false, true}) {
    RtlTop<Vmoderation> rtl{Outputs};
    auto& p = rtl.ports();
    p.interrupt_ready_i = 1;
    for (uint16_t queue = 0; queue < kQueues; ++queue) {
      SetPort(p.queue_row_write_i, QueueRowWrite{.vq_index = queue, .enabled = true});
      SetPort(p.table_write_i, Numbers(queue, 4 + queue, queue));
      p.queue_row_write_valid_i = p.table_write_valid_i = 1;
      rtl.Clock();
    }
    p.queue_row_write_valid_i = p.table_write_valid_i = 0;
    size_t next = 0;
    for (Cycle now = 0; now < end; ++now) {
      const uint64_t time = 4 * now;
      const bool offers = next < notifications.size() && notifications[next].first <= now;
      if (sleeps && p.idle_o != 0 && time < p.deadline_ns_o && !offers) continue;
      p.time_ns_i = time;
      p.queue_interrupt_valid_i = offers;
      if (offers) SetPort(p.queue_interrupt_i, notifications[next].second);
      if (offers && p.queue_interrupt_ready_o != 0) ++next;
      if (p.interrupt_valid_o != 0) {
        seen[sleeps].emplace_back(now, TokenFrom<Interrupt>(BytesOf(std::as_const(p.interrupt_o))));
      }
      rtl.Clock();
      ++clocked[sleeps];
    }
    EXPECT_EQ(next, notifications.size());
    EXPECT_TRUE(p.idle_o);
    EXPECT_EQ(p.deadline_ns_o, kNever);
  }
  EXPECT_FALSE(seen[0].empty());
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_LT(2 * clocked[1], clocked[0]);
}

// While the limits stay, the driver's interrupts can be predicted without knowledge of the block.
TEST(Moderation, MatchesModelAndNoNotificationExceedsItsLimits) {
  for (const uint64_t period_ns : {4u, 100u}) {
    for (const unsigned out_rate : {16u, 5u}) {
      for (const unsigned in_rate : {1u, 7u, 16u}) {
        Bench bench(period_ns);
        auto& random = bench.random;
        std::pair<uint32_t, uint32_t> numbers[kQueues];
        for (uint16_t queue = 0; queue < kQueues; ++queue) {
          numbers[queue] = {random() % 9, random() % 5 * (queue % 2 == 0 ? 1 : 10)};
          bench.Enable(queue, numbers[queue].first, numbers[queue].second);
        }
        bench.interrupts.rate = out_rate;
        bench.interrupts.keep = false;
        bench.notifications.rate = in_rate;
        const Cycle begin = bench.bench.cycle();
        for (int burst = 0; burst < 40; ++burst) {
          for (uint64_t count = random() % 40; count != 0; --count) {
            bench.Notify(static_cast<uint16_t>(random() % (kQueues + 1)));
          }
          ASSERT_EQ(bench.Run(random() % 2000), "");
        }
        ASSERT_EQ(bench.SleepToTheEnd(), "");
        const uint64_t elapsed_ns = bench.time.At(bench.bench.cycle()) - bench.time.At(begin);
        for (uint16_t queue = 0; queue < kQueues; ++queue) {
          const auto& [max_packets, max_usecs] = numbers[queue];
          const auto& notified = bench.notified[queue];
          const auto& interrupted = bench.interrupted[queue];
          if (max_packets <= 1 || max_usecs == 0) {
            EXPECT_EQ(notified.size(), interrupted.size());
            continue;
          }
          EXPECT_LE(interrupted.size(), notified.size() / max_packets + elapsed_ns / (max_usecs * kUs) + 1);
          // The interrupt may have waited for others, in the block and behind it.
          constexpr Cycle kSlack = 200;
          size_t next = 0;
          for (const Cycle cycle : notified) {
            while (next < interrupted.size() && interrupted[next] < cycle + Moderation::kLatency) ++next;
            ASSERT_LT(next, interrupted.size()) << "lost";
            ASSERT_LE(interrupted[next], bench.time.CycleAt(bench.time.At(cycle) + max_usecs * kUs) + kSlack);
          }
        }
      }
    }
  }
}

// Limits and rows change at any time. A notification is reported, or its queue has been reset meanwhile.
TEST(Moderation, MatchesModelWhileLimitsAndQueuesChange) {
  uint64_t interrupts = 0, notifications = 0, errors = 0;
  for (const uint64_t period_ns : {4u, 100u, 3000u}) {
    for (const unsigned out_rate : {16u, 4u, 1u}) {
      Bench bench(period_ns);
      auto& random = bench.random;
      bench.interrupts.rate = out_rate;
      bench.interrupts.keep = false;
      const bool resets = out_rate != 4;
      for (uint16_t queue = 0; queue < kQueues; ++queue) {
        bench.rows.tokens.push_back({.vq_index = queue, .enabled = true});
      }
      for (int step = 0; step < 4000; ++step) {
        bench.notifications.rate = 1 + random() % 16;
        for (uint64_t count = random() % 4; count != 0 && bench.notifications.tokens.size() < 20; --count) {
          bench.Notify(static_cast<uint16_t>(random() % (kQueues + 2)));
        }
        if (random() % 8 == 0) {
          bench.tables.tokens.push_back(Numbers(static_cast<uint32_t>(random() % (kQueues + 2)),
                                                static_cast<uint32_t>(random() % 9),
                                                static_cast<uint32_t>(random() % 8 * (period_ns / 4)),
                                                static_cast<MgmtTable>(random() % 4 == 0 ? random() % 8 : 0)));
          if (random() % 4 != 0) bench.tables.tokens.back().table_id = MgmtTable::kVirtqueue;
        }
        if (resets && random() % 16 == 0) {
          bench.rows.tokens.push_back(
              {.vq_index = static_cast<uint16_t>(random() % (kQueues + 2)), .enabled = random() % 4 != 0});
        }
        if (resets && random() % 16 == 0) {
          bench.contexts.Flip(
              random() % 2 == 0 ? spec::ContextRam::kModerationLimits : spec::ContextRam::kModerationCount,
              static_cast<uint32_t>(random() % (kQueues + 1)), static_cast<uint32_t>(random() % 1024));
        }
        if (bench.p.idle_o != 0 && random() % 16 == 0) {
          const uint64_t due = bench.block.deadline_ns();
          const uint64_t now = bench.time.At(bench.bench.cycle());
          bench.Sleep(due == kNever ? now + random() % 10'000
                                    : due - std::min<uint64_t>(due, random() % 3 * period_ns));
        }
        ASSERT_EQ(bench.Run(random() % 20), "") << step;
      }
      bench.interrupts.rate = bench.notifications.rate = 16;
      ASSERT_EQ(bench.SleepToTheEnd(), "");
      errors += bench.contexts.errors.size();
      for (uint16_t queue = 0; queue < kQueues; ++queue) {
        EXPECT_LE(bench.interrupted[queue].size(), bench.notified[queue].size());
        notifications += bench.notified[queue].size();
        interrupts += bench.interrupted[queue].size();
        if (resets) continue;
        ASSERT_FALSE(bench.notified[queue].empty());
        EXPECT_GT(bench.interrupted[queue].back(), bench.notified[queue].back()) << "the last is lost";
      }
    }
  }
  EXPECT_GT(errors, 300u);
  EXPECT_GT(notifications, 10'000u);
  EXPECT_LT(4 * interrupts, 3 * notifications);
}

// The model requests no cycle without an event, however long a queue counts.
TEST(Moderation, ModelRunsOnlyForNotificationsAndDeadlines) {
  DeviceTime time(4);
  Agenda agenda;
  Moderation block(agenda, kPairs);
  block.time_ns = [&](Cycle cycle) { return time.At(cycle); };
  block.cycle_at = [&](uint64_t time_ns) { return time.CycleAt(time_ns); };
  Channel<Interrupt> sink = Channel<Interrupt>::Sink();
  block.interrupt_out.Connect(sink, block);
  uint64_t runs = 0;
  Cycle now = 0;
  const auto run_to = [&](Cycle last) {
    for (; agenda.next() <= last; ++runs) agenda.RunThrough(agenda.next());
    now = last + 1;
  };
  block.OnQueueRowWrite(now, {.vq_index = 1, .enabled = true});
  block.OnTableWrite(now, Numbers(1, 100, 1000));
  run_to(100);
  EXPECT_EQ(agenda.next(), model::kUnknown);
  runs = 0;
  constexpr unsigned kNotifications = 10'000;
  for (unsigned i = 0; i < kNotifications; ++i) {
    block.queue_interrupt_in.Push(now, {.vq_index = 1, .msix_vector = 5});
    run_to(now + 1000);
  }
  EXPECT_EQ(sink.sent().size(), kNotifications / 100);
  EXPECT_LT(runs, 4u * kNotifications);
  block.queue_interrupt_in.Push(now, {.vq_index = 1, .msix_vector = 5});
  runs = 0;
  run_to(now + 10'000'000);
  EXPECT_EQ(sink.sent().size(), kNotifications / 100 + 1);
  EXPECT_LT(runs, 12u);
  EXPECT_EQ(agenda.next(), model::kUnknown);
}

}  // namespace
}  // namespace vireo::verif
