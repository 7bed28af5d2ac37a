// SPDX-License-Identifier: Apache-2.0
// Learning, flooding, exact latency, and queue overflow.
#include "sim/wire/switch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {
namespace {

using Mac = std::array<uint8_t, 6>;

constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Mac Host(uint8_t number) { return {0x02, 0, 0, 0, 0, number}; }

struct Arrival {
  Picoseconds time;
  size_t bytes;
  uint8_t tag;
  bool operator==(const Arrival&) const = default;
};

class Receiver final : public FrameReceiver {
 public:
  explicit Receiver(const Scheduler& scheduler) : scheduler_(scheduler) {}
  void OnFrame(WireFrame frame) override {
    arrivals.push_back({scheduler_.now(), frame.bytes.size(), frame.bytes.back()});
  }
  std::vector<Arrival> arrivals;

 private:
  const Scheduler& scheduler_;
};

struct World {
  explicit World(unsigned ports, const SwitchParameters& parameters = {}, std::vector<uint32_t> rates = {})
      : network_switch(scheduler, parameters) {
    for (unsigned i = 0; i < ports; ++i) {
      wires.push_back(std::make_unique<Wire>(scheduler, WireParameters{rates.empty() ? 100'000 : rates[i], 0}));
      receivers.push_back(std::make_unique<Receiver>(scheduler));
      wires[i]->Connect(0, *receivers[i]);
      EXPECT_EQ(network_switch.AddPort(*wires[i], 1), i);
    }
  }
  void Send(unsigned port, const Mac& to, const Mac& from, size_t bytes = 100, uint8_t tag = 0, bool bad_fcs = false) {
    WireFrame frame;
    frame.bytes.resize(bytes);
    std::copy(to.begin(), to.end(), frame.bytes.begin());
    if (bytes >= 12) std::copy(from.begin(), from.end(), frame.bytes.begin() + 6);
    if (bytes > 14) frame.bytes.back() = tag;
    frame.bad_fcs = bad_fcs;
    wires[port]->Send(0, scheduler.now(), std::move(frame));
  }
  void Run() {
    scheduler.RunUntil([] { return false; }, kForever);
  }
  std::vector<size_t> Counts() const {
    std::vector<size_t> counts;
    for (const auto& receiver : receivers) counts.push_back(receiver->arrivals.size());
    return counts;
  }

  StandaloneScheduler scheduler;
  Switch network_switch;
  std::vector<std::unique_ptr<Wire>> wires;
  std::vector<std::unique_ptr<Receiver>> receivers;
};

TEST(Switch, FloodsUnknownDestinationsAndLearnsSources) {
  World world(4);
  world.Send(0, Host(1), Host(0));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{0, 1, 1, 1}));
  EXPECT_EQ(world.network_switch.PortOf(Host(0)), 0u);
  EXPECT_EQ(world.network_switch.PortOf(Host(1)), std::nullopt);
  world.Send(1, Host(0), Host(1));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{1, 1, 1, 1}));
  world.Send(0, Host(1), Host(0));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{1, 2, 1, 1}));
  world.Send(2, kBroadcast, Host(2));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{2, 3, 1, 2}));
  // A host that moves is learned again.
  world.Send(3, kBroadcast, Host(0));
  world.Send(1, Host(0), Host(1));
  world.Run();
  EXPECT_EQ(world.network_switch.PortOf(Host(0)), 3u);
  EXPECT_TRUE(world.network_switch.IsIdle());
}

TEST(Switch, SendsNothingBackToItsIngressPort) {
  World world(2);
  world.Send(0, kBroadcast, Host(0));
  world.Send(0, kBroadcast, Host(5));
  world.Run();
  const auto before = world.Counts();
  world.Send(0, Host(5), Host(0));  // both at port 0
  world.Run();
  EXPECT_EQ(world.Counts(), before);
}

TEST(Switch, HairpinSendsBackToTheIngressPort) {
  World world(2, {.hairpin = true});
  world.Send(0, Host(5), Host(5));  // learned from this frame, which already comes back
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{1, 0}));
  world.Send(0, Host(5), Host(0));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{2, 0}));
  // Broadcast frames still do not come back.
  world.Send(0, kBroadcast, Host(0));
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{2, 1}));
}

TEST(Switch, GroupAddressIsNeverLearned) {
  World world(2);
  world.Send(0, Host(1), kBroadcast);
  world.Run();
  EXPECT_EQ(world.network_switch.PortOf(kBroadcast), std::nullopt);
}

TEST(Switch, DropsBadFcsShortAndReserved) {
  World world(2);
  world.Send(0, kBroadcast, Host(0), 100, 0, true);
  world.Send(0, kBroadcast, Host(0), 13);
  world.Send(0, {0x01, 0x80, 0xc2, 0, 0, 0x01}, Host(0));  // pause
  world.Send(0, {0x01, 0x80, 0xc2, 0, 0, 0x0f}, Host(0));
  world.Send(0, {0x01, 0x80, 0xc2, 0, 0, 0x10}, Host(0));  // the first non-reserved address
  world.Send(0, kBroadcast, Host(0), 14);
  world.Run();
  EXPECT_EQ(world.Counts(), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(world.network_switch.counters(0).bad_drops, 4u);
  EXPECT_EQ(world.network_switch.counters(0).received, 6u);
}

TEST(Switch, StoreAndForwardLatencyIsExact) {
  World world(2, {.latency_ns = 400, .queue_bytes = 10'000});
  world.Send(0, kBroadcast, Host(0), 1000, 7);
  world.Run();
  // (8 + 1000 + 4) * 80 ps in, 400 ns, the same out.
  EXPECT_EQ(world.receivers[1]->arrivals, (std::vector<Arrival>{{80'960 + 400'000 + 80'960, 1000, 7}}));
}

TEST(Switch, DropsExactlyWhatOverflowsTheQueue) {
  // 100 Gb/s in, 1 Gb/s out: frames of 1000 bytes come every 82 ns and leave every 8.2 us.
  World world(2, {.latency_ns = 0, .queue_bytes = 5'000}, {100'000, 1000});
  for (uint8_t i = 1; i <= 20; ++i) world.Send(0, kBroadcast, Host(0), 1000, i);
  world.Run();
  ASSERT_EQ(world.receivers[1]->arrivals.size(), 5u);
  for (uint8_t i = 1; i <= 5; ++i) EXPECT_EQ(world.receivers[1]->arrivals[i - 1u].tag, i);
  EXPECT_EQ(world.network_switch.counters(1).overflow_drops, 15u);
  EXPECT_EQ(world.network_switch.counters(1).sent, 5u);
  EXPECT_EQ(world.network_switch.counters(1).max_queue_bytes, 5000u);
  // There is room again exactly when the first one's last bit has left.
  World again(2, {.latency_ns = 0, .queue_bytes = 1000}, {100'000, 1000});
  again.Send(0, kBroadcast, Host(0), 1000, 1);
  const Picoseconds left = 80'960 + 8'096'000;
  again.scheduler.RunUntil([] { return false; }, left - 80'960 - 1);
  again.Send(0, kBroadcast, Host(0), 1000, 2);  // arrives 1 ps too early
  again.scheduler.RunUntil([] { return false; }, left + 1'000'000);
  again.Send(0, kBroadcast, Host(0), 1000, 3);
  again.Run();
  ASSERT_EQ(again.receivers[1]->arrivals.size(), 2u);
  EXPECT_EQ(again.receivers[1]->arrivals[1].tag, 3);
}

TEST(Switch, TwoPortsShareOneOutputPort) {
  World world(3, {.latency_ns = 400, .queue_bytes = 1'000'000});
  world.Send(2, kBroadcast, Host(2));
  world.Run();
  for (uint8_t i = 0; i < 100; ++i) {
    world.Send(0, Host(2), Host(0), 1000, 1);
    world.Send(1, Host(2), Host(1), 1000, 2);
  }
  world.Run();
  const auto& arrivals = world.receivers[2]->arrivals;
  ASSERT_EQ(arrivals.size(), 200u);
  for (size_t i = 1; i < arrivals.size(); ++i) EXPECT_EQ(arrivals[i].time - arrivals[i - 1].time, 81'920u);
  // They arrive at the same time; the wire created first is served first.
  for (size_t i = 0; i < arrivals.size(); ++i) EXPECT_EQ(arrivals[i].tag, i % 2 + 1);
}

}  // namespace
}  // namespace vireo::sim
