// SPDX-License-Identifier: Apache-2.0
// Order of callbacks, exact deadlines, and the same schedule inside SystemC.
#include "sim/time/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/run_in_child.h"
#include "sim/common/seed.h"
#include "sim/time/core_clock.h"
#include "sim/time/systemc_scheduler.h"

namespace vireo::sim {
namespace {

bool Never() { return false; }

class Log final : public Scheduler::Client {
 public:
  Log(Scheduler& scheduler, std::vector<std::string>& lines, std::string name)
      : scheduler_(scheduler), lines_(lines), name_(std::move(name)), number_(scheduler.AddClient(*this)) {}
  void At(Picoseconds time, uint64_t cookie) { scheduler_.At(time, number_, cookie); }
  void SetAlarm(Picoseconds time) { scheduler_.SetAlarm(time, number_); }
  void OnTime(uint64_t cookie) override {
    lines_.push_back(std::to_string(scheduler_.now()) + " " + name_ + " " + std::to_string(cookie));
    if (cookie == 100) At(scheduler_.now(), 101);      // immediately
    if (cookie == 200) At(scheduler_.now() + 5, 201);  // later
    if (cookie == 300) SetAlarm(scheduler_.now() + 7);
  }

 private:
  Scheduler& scheduler_;
  std::vector<std::string>& lines_;
  const std::string name_;
  const Scheduler::ClientNumber number_;
};

std::vector<std::string> RunSchedule(Scheduler& scheduler) {
  std::vector<std::string> lines;
  Log a(scheduler, lines, "a"), b(scheduler, lines, "b");
  b.At(10, 1);
  scheduler.Call(10, [&] {
    lines.push_back("function");
    scheduler.Call(scheduler.now() + 1, [&] { lines.push_back("function of a function"); });
  });
  a.At(10, 2);
  a.At(10, 1);
  a.At(7, 100);
  b.At(7, 3);
  b.At(20, 200);
  a.At(25, 4);
  a.At(0, 0);
  EXPECT_FALSE(scheduler.RunUntil(Never, 20));
  EXPECT_EQ(scheduler.now(), 20u);
  lines.push_back("deadline");
  a.At(21, 9);  // between two runs, earlier than all others
  EXPECT_FALSE(scheduler.RunUntil(Never, kForever));
  EXPECT_TRUE(scheduler.empty());
  EXPECT_EQ(scheduler.next(), kForever);
  return lines;
}

const std::vector<std::string> kExpected = {
    "0 a 0",    "7 a 100",  "7 a 101", "7 b 3",  "10 a 2",  "10 a 1", "10 b 1", "function", "function of a function",
    "deadline", "20 b 200", "21 a 9",  "25 a 4", "25 b 201"};

TEST(Scheduler, RunsInOrderOfTimeClientAndCall) {
  StandaloneScheduler scheduler;
  EXPECT_EQ(RunSchedule(scheduler), kExpected);
}

TEST(Scheduler, RunsTheSameScheduleInsideSystemC) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    EXPECT_EQ(RunSchedule(scheduler), kExpected);
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

void CheckDeadlineAndPredicate(Scheduler& scheduler) {
  std::vector<std::string> lines;
  Log a(scheduler, lines, "a");
  a.At(100, 1);
  EXPECT_FALSE(scheduler.RunUntil(Never, 100));  // what is due at the deadline has not run
  EXPECT_EQ(lines.size(), 0u);
  EXPECT_EQ(scheduler.now(), 100u);
  EXPECT_FALSE(scheduler.RunUntil(Never, 101));
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(scheduler.now(), 101u);
  a.At(200, 2);
  a.At(200, 3);
  a.At(300, 4);
  EXPECT_TRUE(scheduler.RunUntil([&] { return lines.size() >= 2; }, 1000));
  EXPECT_EQ(lines.size(), 3u);  // all of one time
  EXPECT_EQ(scheduler.now(), 200u);
  EXPECT_TRUE(scheduler.RunUntil([] { return true; }, 1000));  // evaluated before anything runs
  EXPECT_EQ(scheduler.now(), 200u);
  EXPECT_FALSE(scheduler.RunUntil(Never, 200));  // a deadline that is over
  EXPECT_EQ(scheduler.now(), 200u);
  EXPECT_TRUE(scheduler.RunUntil([&] { return lines.size() >= 4; }, kForever));
  EXPECT_EQ(scheduler.now(), 300u);
}

TEST(Scheduler, StopsExactlyAtDeadlineAndPredicate) {
  StandaloneScheduler scheduler;
  CheckDeadlineAndPredicate(scheduler);
}

TEST(Scheduler, StopsExactlyAtDeadlineAndPredicateInsideSystemC) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    CheckDeadlineAndPredicate(scheduler);
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

// One callback per alarm, at its last setting, after the same client's callbacks and before later clients.
std::vector<std::string> RunAlarms(Scheduler& scheduler) {
  std::vector<std::string> lines;
  Log a(scheduler, lines, "a"), b(scheduler, lines, "b"), c(scheduler, lines, "c");
  b.SetAlarm(50);
  c.SetAlarm(10);
  b.SetAlarm(10);  // earlier than before, and before c
  b.At(10, 1);
  c.At(10, 2);
  a.At(10, 3);
  EXPECT_EQ(scheduler.next(), 10u);
  EXPECT_FALSE(scheduler.RunUntil(Never, 20));
  a.SetAlarm(30);
  b.SetAlarm(30);
  a.SetAlarm(40);  // later than before
  b.SetAlarm(kForever);
  EXPECT_EQ(scheduler.next(), 40u);
  EXPECT_FALSE(scheduler.empty());
  b.At(300'000, 300);  // sets the alarm when it runs
  b.At(100'000'000, 4);
  EXPECT_FALSE(scheduler.RunUntil(Never, kForever));
  EXPECT_TRUE(scheduler.empty());
  EXPECT_EQ(scheduler.next(), kForever);
  return lines;
}

const std::vector<std::string> kExpectedAlarms = {"10 a 3", "10 b 1",       "10 b 0",     "10 c 2",       "10 c 0",
                                                  "40 a 0", "300000 b 300", "300007 b 0", "100000000 b 4"};

TEST(Scheduler, KeepsOneAlarmPerClient) {
  StandaloneScheduler scheduler;
  EXPECT_EQ(RunAlarms(scheduler), kExpectedAlarms);
}

TEST(Scheduler, KeepsOneAlarmPerClientInsideSystemC) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    EXPECT_EQ(RunAlarms(scheduler), kExpectedAlarms);
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

// Random clients and times, against a list that is searched linearly.
TEST(Scheduler, RandomSchedulesMatchTheReference) {
  auto random = MakeRandom("scheduler");
  StandaloneScheduler scheduler;
  struct Expected {
    Picoseconds time;
    size_t client;
    uint64_t number;  // of the call; an alarm comes after all of them
    uint64_t cookie;
    auto operator<=>(const Expected&) const = default;
  };
  std::vector<Expected> expected;
  struct Client final : Scheduler::Client {
    void OnTime(uint64_t cookie) override { on_time(cookie); }
    std::function<void(uint64_t)> on_time;
  };
  std::array<Client, 5> clients;
  uint64_t calls = 0, called = 0, proceeded = 0;
  Picoseconds deadline = 0;
  const auto time = [&] {
    // Mostly soon, sometimes beyond all slots.
    const Picoseconds ahead[] = {random() % 8, random() % 5'000, random() % 100'000, random() % 20'000'000};
    return scheduler.now() + ahead[random() % 4];
  };
  const auto schedule = [&] {
    const size_t client = random() % clients.size();
    const Picoseconds at = time();
    if (random() % 3 != 0) {
      ++calls;
      scheduler.At(at, static_cast<Scheduler::ClientNumber>(client), calls);
      expected.push_back({at, client, calls, calls});
      return;
    }
    std::erase_if(expected, [&](const Expected& other) { return other.client == client && other.cookie == 0; });
    const bool none = random() % 4 == 0;
    scheduler.SetAlarm(none ? kForever : at, static_cast<Scheduler::ClientNumber>(client));
    if (!none) expected.push_back({at, client, ~uint64_t{0}, 0});
  };
  for (size_t i = 0; i < clients.size(); ++i) {
    ASSERT_EQ(scheduler.AddClient(clients[i]), i);
    clients[i].on_time = [&, i](uint64_t cookie) {
      ++called;
      const auto first = std::min_element(expected.begin(), expected.end());
      ASSERT_NE(first, expected.end());
      ASSERT_EQ(std::tuple(first->time, first->client, first->cookie), std::tuple(scheduler.now(), i, cookie));
      expected.erase(first);
      for (uint64_t n = expected.size() < 60 ? random() % 3 : 0; n > 0 && called < 50'000; --n) schedule();
      if (cookie != 0) return;
      const Picoseconds next = time(), before = scheduler.now();
      const bool is_free =
          next < deadline && std::ranges::all_of(expected, [&](const Expected& other) { return next < other.time; });
      ASSERT_EQ(scheduler.Proceed(next), is_free);
      ASSERT_EQ(scheduler.now(), is_free ? next : before);
      proceeded += is_free ? 1 : 0;
    };
  }
  while (called < 50'000 && !HasFatalFailure()) {
    schedule();
    deadline = scheduler.now() + random() % 1'000'000;
    scheduler.RunUntil([&] { return random() % 16 == 0; }, deadline);
  }
  deadline = kForever;
  scheduler.RunUntil(Never, kForever);
  EXPECT_TRUE(expected.empty());
  EXPECT_GT(proceeded, 100u);
  EXPECT_EQ(scheduler.callbacks(), called + proceeded);
}

// A client that proceeds is called once for many times.
class Runner final : public Scheduler::Client {
 public:
  explicit Runner(Scheduler& scheduler) : scheduler_(scheduler), number_(scheduler.AddClient(*this)) {}
  void Start(Picoseconds time) { scheduler_.SetAlarm(time, number_); }
  void OnTime(uint64_t) override {
    ++calls;
    do {
      times.push_back(scheduler_.now());
      if (times.size() == 6) return;
    } while (scheduler_.Proceed(scheduler_.now() + 10));
    scheduler_.SetAlarm(scheduler_.now() + 10, number_);
  }
  unsigned calls = 0;
  std::vector<Picoseconds> times;

 private:
  Scheduler& scheduler_;
  const Scheduler::ClientNumber number_;
};

std::vector<Picoseconds> RunRunner(Scheduler& scheduler, unsigned* calls) {
  Runner runner(scheduler);
  runner.Start(10);
  bool seen = false;
  scheduler.Call(30, [&] { seen = runner.times.size() == 3; });  // after all clients of its time
  EXPECT_FALSE(scheduler.RunUntil(Never, 50));                   // at which the runner would run once more
  EXPECT_EQ(runner.times.size(), 4u);
  EXPECT_EQ(scheduler.now(), 50u);
  EXPECT_FALSE(scheduler.RunUntil(Never, kForever));
  EXPECT_TRUE(seen);
  EXPECT_FALSE(scheduler.Proceed(1000));  // outside of a run
  *calls = runner.calls;
  return runner.times;
}

TEST(Scheduler, ProceedsIfNothingElseIsDue) {
  StandaloneScheduler scheduler;
  unsigned calls = 0;
  EXPECT_EQ(RunRunner(scheduler, &calls), (std::vector<Picoseconds>{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(calls, 4u);  // stopped by the function at 30, before and after it, and by the deadline
}

TEST(Scheduler, HorizonIsTheNextCallbackOrTheEndOfTheRun) {
  StandaloneScheduler scheduler;
  std::vector<Picoseconds> horizons;
  const auto look = [&] { horizons.push_back(scheduler.Horizon()); };
  scheduler.Call(10, look);
  scheduler.Call(30, look);
  scheduler.Call(60, look);
  EXPECT_FALSE(scheduler.RunUntil(Never, 50));
  EXPECT_FALSE(scheduler.RunUntil(Never, kForever));
  EXPECT_EQ(horizons, (std::vector<Picoseconds>{30, 50, kForever}));
}

TEST(Scheduler, DoesNotProceedInsideSystemC) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    unsigned calls = 0;
    EXPECT_EQ(RunRunner(scheduler, &calls), (std::vector<Picoseconds>{10, 20, 30, 40, 50, 60}));
    EXPECT_EQ(calls, 6u);
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

// A device in the same kernel: its process schedules a callback earlier than the pending ones.
class Device final : public sc_core::sc_module {
 public:
  VIREO_SC_MODULE(Device)

  Device(sc_core::sc_module_name name, Log& log) : sc_core::sc_module(name), log_(log) {
    SC_METHOD(Run);
    sensitive << wake_;
    dont_initialize();
    wake_.notify(50, sc_core::SC_PS);
  }

 private:
  void Run() {
    log_.At(sc_core::sc_time_stamp().value(), 1);
    log_.At(sc_core::sc_time_stamp().value() + 10, 2);
  }
  Log& log_;
  sc_core::sc_event wake_;
};

TEST(Scheduler, AcceptsCallsFromOtherSystemCProcesses) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    std::vector<std::string> lines;
    Log a(scheduler, lines, "a");
    const Device device("device", a);
    a.At(100, 3);
    EXPECT_FALSE(scheduler.RunUntil(Never, 1000));
    EXPECT_EQ(lines, (std::vector<std::string>{"50 a 1", "60 a 2", "100 a 3"}));
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

TEST(SchedulerDeathTest, PastTimeAborts) {
  StandaloneScheduler scheduler;
  scheduler.RunUntil(Never, 100);
  scheduler.Call(100, [] {});
  EXPECT_DEATH(scheduler.Call(99, [] {}), "requests at 100 ps a callback at 99 ps");
}

TEST(SchedulerDeathTest, SecondSimulationAborts) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    const SystemcScheduler first("first");
    const SystemcScheduler second("second");
    return "";
  });
  EXPECT_FALSE(child.ok);
  EXPECT_EQ(child.error.substr(0, 8), "signal 6");
}

TEST(CoreClock, MapsCyclesToTimeAndBackWithoutDrift) {
  const CoreClock fast(250'000);
  EXPECT_EQ(fast.Begin(0), 0u);
  EXPECT_EQ(fast.Begin(1), 4000u);
  EXPECT_EQ(fast.Middle(1), 6000u);
  EXPECT_EQ(fast.AtOrAfter(3999), 1u);
  EXPECT_EQ(fast.AtOrAfter(4000), 1u);
  EXPECT_EQ(fast.AtOrAfter(4001), 2u);
  EXPECT_EQ(fast.Containing(3999), 0u);
  EXPECT_EQ(fast.Containing(4000), 1u);
  // 322.265 MHz: not a whole number of picoseconds.
  const CoreClock odd(322'265);
  EXPECT_EQ(odd.Begin(322'265'000), 1'000'000'000'000u);  // one second
  for (const Cycle cycle :
       {Cycle{1}, Cycle{2}, Cycle{3}, Cycle{322'264}, Cycle{322'265'001}, Cycle{5'000'000'000'000}}) {
    const Picoseconds begin = odd.Begin(cycle);
    EXPECT_EQ(odd.Containing(begin), cycle);
    EXPECT_EQ(odd.Containing(begin - 1), cycle - 1);
    EXPECT_EQ(odd.AtOrAfter(begin), cycle);
    EXPECT_EQ(odd.AtOrAfter(begin + 1), cycle + 1);
    EXPECT_GT(odd.Middle(cycle), begin);
    EXPECT_LT(odd.Middle(cycle), odd.Begin(cycle + 1));
  }
}

class Ping final : public Scheduler::Client {
 public:
  explicit Ping(Scheduler& scheduler) : scheduler_(scheduler), number_(scheduler.AddClient(*this)) {}
  void Start(uint64_t events) {
    left_ = events;
    OnTime(0);
  }
  void OnTime(uint64_t) override {
    if (left_-- > 0) scheduler_.At(scheduler_.now() + 1000 + left_ % 7, number_);
  }

 private:
  Scheduler& scheduler_;
  const Scheduler::ClientNumber number_;
  uint64_t left_ = 0;
};

// Printed, not checked: the speed depends on the machine.
TEST(Scheduler, PrintsItsSpeed) {
  constexpr uint64_t kEvents = 1'000'000;
  const auto measure = [](Scheduler& scheduler) {
    std::vector<Ping> pings;
    pings.reserve(20);
    for (int i = 0; i < 20; ++i) pings.emplace_back(scheduler);
    // Clients are registered by address, so they start after the last one is built.
    for (Ping& ping : pings) ping.Start(kEvents / 20);
    const auto start = std::chrono::steady_clock::now();
    scheduler.RunUntil(Never, kForever);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return static_cast<double>(scheduler.callbacks()) / seconds.count() / 1e6;
  };
  StandaloneScheduler standalone;
  std::printf("standalone: %.1f M callbacks/s\n", measure(standalone));
  EXPECT_EQ(standalone.callbacks(), kEvents);
  const auto child = RunInChild([&]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    std::printf("SystemC:    %.1f M callbacks/s\n", measure(scheduler));
    return "";
  });
  EXPECT_TRUE(child.ok) << child.error;
}

}  // namespace
}  // namespace vireo::sim
