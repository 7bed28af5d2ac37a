// SPDX-License-Identifier: Apache-2.0
// The retry timer: RTL against model in every cycle, and both against the sets and their cycles.
#include "model/rdma/retry_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vretry_timer_16.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/device_time.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::RetryTimer;
using spec::TimerExpired;
using spec::TimerKind;
using spec::TimerSet;

constexpr uint32_t kQps = 16;  // as the Verilated class was made
constexpr uint64_t kNever = RetryTimer::kNever;

// 0: the timer is stopped.
uint64_t DurationOf(const TimerSet& set) {
  if (set.kind == TimerKind::kRnr) return spec::kRnrTimerNs[set.code];
  if (set.kind == TimerKind::kAck && set.code != 0) return uint64_t{4096} << set.code;
  return 0;
}

void Outputs(const Vretry_timer_16& top, std::vector<uint8_t>& bytes) {
  for (const auto bit : {top.timer_set_ready_o, top.timer_expired_valid_o, top.idle_o}) bytes.push_back(bit);
  const auto add = [&](const auto& port) {
    const auto data = BytesOf(port);
    bytes.insert(bytes.end(), data.begin(), data.end());
  };
  add(top.timer_expired_o);
  add(top.deadline_ns_o);
}

using Time = DeviceTime;

struct Bench {
  explicit Bench(uint64_t period_ns = 4) : time(period_ns), bench(rtl, agenda, random) {
    block.time_ns = [this](Cycle cycle) { return time.At(cycle); };
    block.cycle_at = [this](uint64_t time_ns) { return time.CycleAt(time_ns); };
    block.timer_expired_out.Connect(sink, block);
    bench.AddOther(time_input);
    expired.on_token = [this](Cycle cycle, const TimerExpired& token) { Check(cycle, token); };
  }

  struct Known {
    TimerSet set;
    Cycle accepted;
    std::optional<Cycle> replaced;  // when the next one of this QP was accepted
    std::optional<Cycle> expired;
  };

  // Generations of a QP are consecutive here, so that one identifies a set.
  void Set(uint32_t qpn, TimerKind kind, uint32_t code = 0) {
    sets.tokens.push_back({.qpn = qpn, .kind = kind, .code = static_cast<uint8_t>(code), .epoch = epoch[qpn]++});
    offered.push_back(sets.tokens.back());
  }
  void Check(Cycle cycle, const TimerExpired& token) {
    ASSERT_LT(token.qpn, kQps);
    for (auto known = sets_of[token.qpn].rbegin(); known != sets_of[token.qpn].rend(); ++known) {
      if (known->set.epoch != token.epoch) continue;
      ASSERT_FALSE(known->expired) << "twice";
      known->expired = cycle;
      const uint64_t duration = DurationOf(known->set);
      ASSERT_NE(duration, 0u) << "the timer is stopped";
      const uint64_t deadline = time.At(known->accepted) + duration;
      ASSERT_GE(time.At(cycle), deadline) << "early";
      // One that was due when the next one came may still be in flight.
      if (known->replaced) {
        ASSERT_GE(time.At(*known->replaced + 64), deadline);
      }
      if (checks_lateness) {
        // Two passes with all timers due, and a set before each of them; the sets before it in the slice.
        ASSERT_LE(cycle, time.CycleAt(time.At(known->accepted + 16) + duration) + 2 * 5 * kQps);
      }
      return;
    }
    ADD_FAILURE() << "the timer is not set: " << TokenText(token);
  }
  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      const uint64_t accepted = sets.accepted;
      // The model requested a wake-up for a time calculated before the jump.
      if (slept && block.deadline_ns() <= time.At(bench.cycle())) block.WakeAt(bench.cycle());
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (sets.accepted != accepted) {
        const TimerSet set = offered.front();
        offered.pop_front();
        auto& known = sets_of[set.qpn];
        if (!known.empty()) known.back().replaced = bench.cycle() - 1;
        known.push_back({.set = set, .accepted = bench.cycle() - 1, .replaced = {}, .expired = {}});
        if (known.size() > 100) known.pop_front();
      }
      const std::string at = " in cycle " + std::to_string(bench.cycle());
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs" + at;
      if (p.deadline_ns_o != block.deadline_ns()) return "the deadline differs" + at;
      if (p.idle_o != 0) {
        // A running timer is not lost.
        const bool runs = std::any_of(std::begin(sets_of), std::end(sets_of), [](const auto& known) {
          return !known.empty() && DurationOf(known.back().set) != 0 && !known.back().expired;
        });
        if (runs != (p.deadline_ns_o != kNever)) return "running timers and the deadline differ" + at;
      }
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
      if (sets.IsEmpty() && block.IsIdle() && block.deadline_ns() > time.At(bench.cycle())) return {};
    }
    return "the block does not become idle";
  }

  std::deque<TimerSet> offered;
  std::deque<Known> sets_of[kQps];
  uint8_t epoch[kQps]{};
  bool checks_lateness = false;
  bool slept = false;

  Time time;
  std::mt19937_64 random = sim::MakeRandom("retry_timer");
  Agenda agenda;
  RetryTimer block{agenda, kQps};
  Channel<TimerExpired> sink = Channel<TimerExpired>::Sink();
  RtlTop<Vretry_timer_16> rtl{Outputs};
  BlockBench<Vretry_timer_16> bench;
  Vretry_timer_16& p = rtl.ports();
  DeviceTimeInput<decltype(p.time_ns_i)> time_input{p.time_ns_i, time};
  decltype(bench.In("", block.timer_set_in, p.timer_set_valid_i, p.timer_set_ready_o, p.timer_set_i)) sets =
      bench.In("timer_set", block.timer_set_in, p.timer_set_valid_i, p.timer_set_ready_o, p.timer_set_i);
  decltype(bench.Out("", sink, p.timer_expired_valid_o, p.timer_expired_ready_i, p.timer_expired_o)) expired =
      bench.Out("timer_expired", sink, p.timer_expired_valid_o, p.timer_expired_ready_i, p.timer_expired_o);
};

TEST(RetryTimer, EveryCodeOfBothKindsHasItsDuration) {
  Bench bench;
  ASSERT_EQ(bench.Settle(), "");
  for (const TimerKind kind : {TimerKind::kAck, TimerKind::kRnr}) {
    for (uint32_t code = kind == TimerKind::kAck ? 1 : 0; code < 32; ++code) {
      const uint32_t qpn = code % kQps;
      bench.Set(qpn, kind, code);
      const Cycle accepted = bench.bench.cycle();
      ASSERT_EQ(bench.Run(RetryTimer::kSetToStart), "");
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
      ASSERT_EQ(bench.Run(1), "");
      const uint64_t duration =
          kind == TimerKind::kAck ? 4096 * (uint64_t{1} << code) : uint64_t{spec::kRnrTimerNs[code]};
      ASSERT_EQ(bench.p.deadline_ns_o, bench.time.At(accepted + RetryTimer::kSetToStart) + duration);
      EXPECT_TRUE(bench.p.idle_o);
      // The last cycle before it, then the first one at it.
      bench.Sleep(bench.p.deadline_ns_o - 4);
      const uint64_t count = bench.expired.count;
      ASSERT_EQ(bench.Run(1), "");
      EXPECT_TRUE(bench.p.idle_o);
      ASSERT_EQ(bench.Run(RetryTimer::kDeadlineToExpired + qpn), "");
      EXPECT_EQ(bench.expired.count, count);
      ASSERT_EQ(bench.Run(1), "");
      ASSERT_EQ(bench.expired.count, count + 1);
      EXPECT_EQ(bench.sink.sent().back().token,
                (TimerExpired{.qpn = qpn, .epoch = static_cast<uint8_t>(bench.epoch[qpn] - 1)}));
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
    }
  }
  // Some of the numbers as IBTA has them: codes 1 and 14 of a timeout, 0, 1 and 31 of a pause.
  EXPECT_EQ(DurationOf({.kind = TimerKind::kAck, .code = 1}), 8'192u);
  EXPECT_EQ(DurationOf({.kind = TimerKind::kAck, .code = 14}), 67'108'864u);
  EXPECT_EQ(DurationOf({.kind = TimerKind::kRnr, .code = 0}), 655'360'000u);
  EXPECT_EQ(DurationOf({.kind = TimerKind::kRnr, .code = 1}), 10'000u);
  EXPECT_EQ(DurationOf({.kind = TimerKind::kRnr, .code = 31}), 491'520'000u);
}

TEST(RetryTimer, StoppedTimerDoesNotExpire) {
  for (const auto& [kind, code] : {std::pair(TimerKind::kOff, 0u), std::pair(TimerKind::kOff, 14u),
                                   std::pair(TimerKind::kAck, 0u), std::pair(static_cast<TimerKind>(3), 7u)}) {
    for (const bool others : {false, true}) {
      Bench bench;
      if (others) bench.Set(9, TimerKind::kAck, 3);
      bench.Set(5, TimerKind::kAck, 2);
      bench.Set(5, kind, code);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.p.deadline_ns_o == kNever, !others);
      for (int i = 0; i < 4 && bench.p.deadline_ns_o != kNever; ++i) {
        bench.Sleep(bench.p.deadline_ns_o);
        ASSERT_EQ(bench.Settle(), "");
      }
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
      EXPECT_EQ(bench.expired.count, others ? 1u : 0u);
    }
  }
}

TEST(RetryTimer, SetRestartsATimer) {
  for (const auto& [first, second] : {std::pair(2u, 5u), std::pair(5u, 2u), std::pair(3u, 3u)}) {
    Bench bench;
    bench.Set(7, TimerKind::kAck, first);
    ASSERT_EQ(bench.Run(500), "");
    bench.Set(7, TimerKind::kAck, second);
    const Cycle accepted = bench.bench.cycle();
    ASSERT_EQ(bench.Run(10), "");
    const uint64_t due = bench.time.At(accepted + RetryTimer::kSetToStart) + (uint64_t{4096} << second);
    bench.Sleep(due - 200);
    ASSERT_EQ(bench.Run(50), "");
    EXPECT_EQ(bench.expired.count, 0u);
    // An earlier deadline at most caused a pass: the next pass recalculates the bound.
    EXPECT_EQ(bench.p.deadline_ns_o, due);
    ASSERT_EQ(bench.Run(RetryTimer::kDeadlineToExpired + 7 + 1), "");
    ASSERT_EQ(bench.expired.count, 1u);
    EXPECT_EQ(bench.sink.sent().back().token, (TimerExpired{.qpn = 7, .epoch = 1}));
  }
}

TEST(RetryTimer, SetsContinueWhileAnExpiryIsNotTaken) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Set(qpn, TimerKind::kAck, 1);
  ASSERT_EQ(bench.Settle(), "");
  bench.expired.rate = 0;
  bench.Sleep(bench.p.deadline_ns_o + 1000);
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_TRUE(bench.p.timer_expired_valid_o);
  // All but the reported one are restarted, in two cycles each.
  for (uint32_t qpn = 1; qpn < kQps; ++qpn) bench.Set(qpn, TimerKind::kAck, 20);
  ASSERT_EQ(bench.Run(2 * kQps + 4), "");
  EXPECT_TRUE(bench.sets.IsEmpty());
  bench.expired.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.expired.count, 1u);
}

// Only sets in every third cycle take that long, and only with all timers due at once.
TEST(RetryTimer, EndlessSetsDoNotStallAPass) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Set(qpn, TimerKind::kAck, 1);
  ASSERT_EQ(bench.Settle(), "");
  bench.Sleep(bench.p.deadline_ns_o + 1000);
  // QP 0 is restarted again and again.
  for (int i = 0; i < 200; ++i) bench.Set(0, TimerKind::kAck, 20);
  ASSERT_EQ(bench.Run(6 * kQps), "");
  EXPECT_GE(bench.expired.count, kQps - 1);
  EXPECT_GE(bench.sets.accepted, kQps + 2 * kQps);
  EXPECT_FALSE(bench.sets.IsEmpty());
}

TEST(RetryTimer, TimerSetDuringAPassIsNotLost) {
  // A set in every cycle of a pass, before and behind the pass's position.
  for (Cycle delay = 0; delay < 24; ++delay) {
    for (const uint32_t qpn : {0u, 3u, 8u, 15u}) {
      Bench bench;
      bench.Set(8, TimerKind::kAck, 1);
      bench.Set(3, TimerKind::kAck, 2);
      ASSERT_EQ(bench.Settle(), "");
      bench.Sleep(bench.p.deadline_ns_o);
      ASSERT_EQ(bench.Run(delay), "");
      bench.Set(qpn, TimerKind::kRnr, 1);
      ASSERT_EQ(bench.Settle(), "");
      for (int i = 0; i < 8 && bench.p.deadline_ns_o != kNever; ++i) {
        bench.Sleep(bench.p.deadline_ns_o);
        ASSERT_EQ(bench.Settle(), "");
      }
      ASSERT_TRUE(bench.sets_of[qpn].back().expired);
    }
  }
}

// Table contents from before a reset do not count, and until they are cleared no set is lost.
TEST(RetryTimer, ResetStopsAllTimers) {
  RtlTop<Vretry_timer_16> rtl{Outputs};
  auto& p = rtl.ports();
  p.timer_expired_ready_i = 1;
  const auto set = [&](uint32_t qpn) {
    SetPort(p.timer_set_i, TimerSet{.qpn = qpn, .kind = TimerKind::kAck, .code = 1, .epoch = 77});
    p.timer_set_valid_i = 1;
    while (p.timer_set_ready_o == 0) rtl.Clock();
    rtl.Clock();
    p.timer_set_valid_i = 0;
  };
  for (unsigned wait = 0; wait < 60; ++wait) {  // before and while a pass reports them as due
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) set(qpn);
    for (unsigned i = 0; i < 40; ++i) rtl.Clock();
    ASSERT_NE(p.deadline_ns_o, kNever);
    p.time_ns_i += 10'000;
    for (unsigned i = 0; i < wait; ++i) rtl.Clock();
    rtl.Reset();
    EXPECT_FALSE(p.idle_o);
    EXPECT_EQ(p.deadline_ns_o, kNever);
    set(5);
    for (unsigned i = 0; i < 40; ++i) rtl.Clock();
    ASSERT_TRUE(p.idle_o);
    ASSERT_EQ(p.deadline_ns_o, p.time_ns_i + 8192);
    p.time_ns_i += 100'000;
    unsigned count = 0;
    for (unsigned i = 0; i < 100; ++i) {
      if (p.timer_expired_valid_o != 0) {
        ++count;
        EXPECT_EQ(TokenFrom<TimerExpired>(BytesOf(std::as_const(p.timer_expired_o))).qpn, 5u);
      }
      rtl.Clock();
    }
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(p.deadline_ns_o, kNever);
    ASSERT_TRUE(p.idle_o);
  }
}

// With a clock that stops while idle until an input or the deadline, all events come in the same cycles.
TEST(RetryTimer, StoppingTheClockWhileIdleChangesNothing) {
  auto random = sim::MakeRandom("retry_timer_sleep");
  std::vector<std::pair<Cycle, TimerSet>> sets;
  Cycle cycle = 100;
  for (unsigned i = 0; i < 400; ++i) {
    cycle += random() % 4 == 0 ? random() % 3000 : random() % 40;
    sets.emplace_back(cycle, TimerSet{.qpn = static_cast<uint32_t>(random() % kQps),
                                      .kind = random() % 4 == 0 ? TimerKind::kOff : TimerKind::kAck,
                                      .code = static_cast<uint8_t>(1 + random() % 3),
                                      .epoch = static_cast<uint8_t>(i)});
  }
  const Cycle end = cycle + 20'000;
  std::vector<std::pair<Cycle, TimerExpired>> seen[2];
  Cycle clocked[2]{};
  for (const bool sleeps : {false, true}) {
    RtlTop<Vretry_timer_16> rtl{Outputs};
    auto& p = rtl.ports();
    p.timer_expired_ready_i = 1;
    size_t next = 0;
    for (Cycle now = 0; now < end; ++now) {
      const uint64_t time = 4 * now;
      const bool offers = next < sets.size() && sets[next].first <= now;
      if (sleeps && p.idle_o != 0 && time < p.deadline_ns_o && !offers) continue;
      p.time_ns_i = time;
      p.timer_set_valid_i = offers;
      if (offers) SetPort(p.timer_set_i, sets[next].second);
      if (offers && p.timer_set_ready_o != 0) ++next;
      if (p.timer_expired_valid_o != 0) {
        seen[sleeps].emplace_back(now, TokenFrom<TimerExpired>(BytesOf(std::as_const(p.timer_expired_o))));
      }
      rtl.Clock();
      ++clocked[sleeps];
    }
    EXPECT_EQ(next, sets.size());
    EXPECT_TRUE(p.idle_o);
    EXPECT_EQ(p.deadline_ns_o, kNever);
  }
  EXPECT_FALSE(seen[0].empty());
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_LT(2 * clocked[1], clocked[0]);
}

// As many QPs as nic100 has: the model alone, which the other tests prove equal to the RTL.
TEST(RetryTimer, ModelCostsNothingWhileNothingIsDueAndExpiresWithinTwoPasses) {
  constexpr uint32_t kMany = 1024;
  Time time(4);
  Agenda agenda;
  RetryTimer block(agenda, kMany);
  block.time_ns = [&](Cycle cycle) { return time.At(cycle); };
  block.cycle_at = [&](uint64_t time_ns) { return time.CycleAt(time_ns); };
  Channel<TimerExpired> sink = Channel<TimerExpired>::Sink();
  block.timer_expired_out.Connect(sink, block);
  uint64_t runs = 0;
  Cycle now = 0;
  const auto run_to = [&](Cycle last) {
    for (; agenda.next() <= last; ++runs) agenda.RunThrough(agenda.next());
    now = last + 1;
  };
  run_to(2 * kMany);
  // A set per message, many timeouts long: restarted timers cause a pass now and then, and nothing expires.
  constexpr unsigned kSets = 300'000;
  constexpr uint8_t kCode = 8;
  runs = 0;
  std::vector<uint64_t> due(kMany);
  for (unsigned i = 0; i < kSets; ++i) {
    const uint32_t qpn = i * 7 % kMany;
    block.timer_set_in.Push(now, {.qpn = qpn, .kind = TimerKind::kAck, .code = kCode, .epoch = 1});
    due[qpn] = time.At(now + RetryTimer::kSetToStart) + (uint64_t{4096} << kCode);
    run_to(now + 12);
  }
  EXPECT_LT(runs, 4u * kSets);
  EXPECT_TRUE(sink.sent().empty());
  // Then all of them stop.
  runs = 0;
  run_to(now + 10'000'000);
  ASSERT_EQ(sink.sent().size(), kMany);
  Cycle latest = 0;
  for (const auto& sent : sink.sent()) {
    const Cycle first = time.CycleAt(due[sent.token.qpn]);
    ASSERT_GE(sent.cycle, first);
    latest = std::max(latest, sent.cycle - first);
  }
  EXPECT_LE(latest, 2 * (kMany + RetryTimer::kDeadlineToExpired) + 3 * kMany);
  EXPECT_TRUE(block.IsIdle());
  EXPECT_EQ(block.deadline_ns(), kNever);
}

TEST(RetryTimer, MatchesModelInRandomTrafficAndEveryTimerExpiresOnce) {
  for (const uint64_t period_ns : {4u, 100u, 3000u}) {
    for (const unsigned out_rate : {16u, 5u, 1u}) {
      Bench bench(period_ns);
      auto& random = bench.random;
      bench.expired.rate = out_rate;
      bench.expired.keep = false;
      bench.sets.rate = 1 + random() % 16;
      bench.checks_lateness = out_rate == 16;
      // Known from the start, and therefore allowed at any time, in a pass as well.
      for (Cycle at = 0; at < 40'000; at += 1 + random() % 400) bench.time.Leap(at, random() % 20'000);
      for (int step = 0; step < 1500; ++step) {  // with bursts of sets, so that there are several in a pass
        const unsigned dice = random() % 16;
        const auto qpn = static_cast<uint32_t>(random() % (step / 300 % 2 == 0 ? kQps : 3));
        if (dice < 8) {
          const auto code = static_cast<uint32_t>(random() % (random() % 4 == 0 ? 32 : 6));
          bench.Set(qpn, static_cast<TimerKind>(random() % 8 == 0 ? random() % 4 : 1 + random() % 2), code);
        } else if (dice < 9) {
          for (uint32_t i = 0; i < kQps; ++i) bench.Set(i, TimerKind::kAck, 1 + static_cast<uint32_t>(random() % 3));
        } else if (dice < 11) {
          bench.Set(qpn, TimerKind::kOff);
        }
        ASSERT_EQ(bench.Run(random() % 40), "");
        ASSERT_FALSE(HasFailure());
        while (bench.sets.tokens.size() > 40) ASSERT_EQ(bench.Run(10), "");
      }
      while (!bench.sets.IsEmpty()) ASSERT_EQ(bench.Run(1), "");
      for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(bench.Settle(50'000), "");
        if (bench.p.deadline_ns_o == kNever) break;
        bench.Sleep(bench.p.deadline_ns_o);
      }
      EXPECT_EQ(bench.p.deadline_ns_o, kNever);
      for (const auto& known : bench.sets_of) {
        if (known.empty()) continue;
        EXPECT_EQ(known.back().expired.has_value(), DurationOf(known.back().set) != 0);
      }
      EXPECT_GT(bench.expired.count, 100u);
    }
  }
}

}  // namespace
}  // namespace vireo::verif
