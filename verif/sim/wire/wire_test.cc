// SPDX-License-Identifier: Apache-2.0
// Exact times of frames on the line and into the core, line rate with back-to-back frames, and the MAC's credits.
#include "sim/wire/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/nic/nic_tap.h"
#include "verif/sim/device/probe_nic.h"

namespace vireo::sim {
namespace {

class Receiver final : public FrameReceiver {
 public:
  explicit Receiver(const Scheduler& scheduler) : scheduler_(scheduler) {}
  void OnFrame(WireFrame frame) override {
    times.push_back(scheduler_.now());
    frames.push_back(std::move(frame));
  }
  std::vector<Picoseconds> times;
  std::vector<WireFrame> frames;

 private:
  const Scheduler& scheduler_;
};

WireFrame Frame(size_t bytes, uint8_t value = 0xa5) { return {std::vector<uint8_t>(bytes, value), false, ""}; }

void RunTo(Scheduler& scheduler, Picoseconds time) {
  scheduler.RunUntil([] { return false; }, time);
}

TEST(Wire, ArrivalIncludesPreambleFrameFcsAndDelay) {
  StandaloneScheduler scheduler;
  Wire wire(scheduler, {.rate_mbps = 100'000, .delay_ns = 500});
  Receiver left(scheduler), right(scheduler);
  wire.Connect(0, left);
  wire.Connect(1, right);
  // (8 + 1000 + 4) * 8 bits of 10 ps; then a gap of 960 ps.
  EXPECT_EQ(wire.Send(0, 0, Frame(1000)), 80'960u);
  EXPECT_EQ(wire.Send(0, 0, Frame(60)), 80'960u + 960 + 5'760);
  EXPECT_EQ(wire.Send(0, 1'000'000, Frame(60)), 1'005'760u);  // the line is free before
  EXPECT_EQ(wire.Send(1, 0, Frame(60)), 5'760u);              // the other direction does not wait
  RunTo(scheduler, 580'960);
  EXPECT_EQ(right.times.size(), 0u);
  RunTo(scheduler, 580'961);
  ASSERT_EQ(right.times.size(), 1u);
  EXPECT_EQ(right.frames[0].bytes.size(), 1000u);
  RunTo(scheduler, kForever);
  EXPECT_EQ(right.times, (std::vector<Picoseconds>{580'960, 587'680, 1'505'760}));
  EXPECT_EQ(left.times, (std::vector<Picoseconds>{505'760}));
  EXPECT_TRUE(wire.IsIdle());
}

TEST(Wire, EveryRateIsRoundedUpToAPicosecond) {
  StandaloneScheduler scheduler;
  EXPECT_EQ(Wire(scheduler, {.rate_mbps = 1000}).Time(1), 8000u);
  EXPECT_EQ(Wire(scheduler, {.rate_mbps = 400'000}).Time(1), 20u);
  EXPECT_EQ(Wire(scheduler, {.rate_mbps = 30'000}).Time(1), 267u);
}

TEST(Wire, LinkDownLosesFramesAndNotifiesBothEnds) {
  struct Listener final : LinkListener {
    void OnLink(bool up) override { changes.emplace_back(scheduler->now(), up); }
    const Scheduler* scheduler = nullptr;
    std::vector<std::pair<Picoseconds, bool>> changes;
  };
  StandaloneScheduler scheduler;
  Wire wire(scheduler, {.rate_mbps = 100'000, .delay_ns = 500});
  Receiver left(scheduler), right(scheduler);
  wire.Connect(0, left);
  wire.Connect(1, right);
  std::array<Listener, 2> listeners;
  for (unsigned end = 0; end < 2; ++end) {
    listeners.at(end).scheduler = &scheduler;
    wire.Watch(end, listeners.at(end));
  }
  std::vector<std::pair<unsigned, uint8_t>> lost;
  wire.OnLost([&](unsigned end, const WireFrame& frame) {
    EXPECT_EQ(frame.comment, "link down");
    lost.emplace_back(end, frame.bytes[0]);
  });
  const auto at = [&](Picoseconds time, std::function<void()> what) { scheduler.Call(time, std::move(what)); };
  constexpr Picoseconds kMicro = 1'000'000;
  const auto send = [&](unsigned end, uint8_t value) { wire.Send(end, scheduler.now(), Frame(60, value)); };
  at(0, [&] { send(0, 1); });
  at(600'000, [&] { send(1, 2); });  // on the wire when it goes down
  at(1 * kMicro, [&] { wire.TakeDown(5 * kMicro); });
  at(2 * kMicro, [&] { send(0, 3), send(1, 4); });
  at(3 * kMicro, [&] { wire.TakeDown(4 * kMicro); });  // it is already down for longer
  at(4 * kMicro + 1, [&] { EXPECT_FALSE(wire.is_up()); });
  at(4'900'000, [&] { wire.TakeDown(6 * kMicro); });  // extends it
  at(5'900'000, [&] { send(0, 5); });                 // would arrive after it is up
  at(6'100'000, [&] { send(0, 6), send(1, 7); });
  at(8 * kMicro, [&] { wire.TakeDown(9 * kMicro), wire.TakeDown(8 * kMicro); });
  at(8'500'000, [&] { wire.BringUp(); });
  at(8'600'000, [&] { wire.TakeDown(10 * kMicro); });  // the earlier end does not apply
  at(9'500'000, [&] { EXPECT_FALSE(wire.is_up()); });
  RunTo(scheduler, kForever);
  const auto values = [](const Receiver& receiver) {
    std::vector<uint8_t> all;
    for (const WireFrame& frame : receiver.frames) all.push_back(frame.bytes[0]);
    return all;
  };
  EXPECT_EQ(values(right), (std::vector<uint8_t>{1, 6}));
  EXPECT_EQ(values(left), (std::vector<uint8_t>{7}));
  EXPECT_EQ(lost, (std::vector<std::pair<unsigned, uint8_t>>{{1, 2}, {0, 3}, {1, 4}, {0, 5}}));
  const std::vector<std::pair<Picoseconds, bool>> changes = {{1 * kMicro, false}, {6 * kMicro, true},
                                                             {8 * kMicro, false}, {8'500'000, true},
                                                             {8'600'000, false},  {10 * kMicro, true}};
  for (const Listener& listener : listeners) EXPECT_EQ(listener.changes, changes);
  EXPECT_TRUE(wire.IsIdle());
}

// A NIC's MAC on end 0 of a wire, with a plain receiver on end 1.
struct World {
  explicit World(const spec::Config& config_ = spec::kNic100,
                 WireParameters wire_parameters = {.rate_mbps = 100'000, .delay_ns = 500},
                 const MacParameters& mac_parameters = {})
      : config(config_),
        clock(config.core_clock_khz),
        tap(scheduler, clock, config, {}, 0),
        wire(scheduler, wire_parameters),
        mac(scheduler, clock, config, mac_parameters),
        far(scheduler) {
    tap.Attach(nic);
    tap.Connect(pcie, mac);
    mac.Attach(tap);
    mac.Connect(wire, 0);
    wire.Connect(1, far);
    tap.Reset(0);
    mac.Restart(kResetCycles);
  }
  ~World() { EXPECT_EQ(tap.violations(), std::vector<std::string>()); }
  void Transmit(Cycle start, size_t bytes, uint8_t value = 1) {
    const Cycle end = start + FrameBeats(bytes, BeatBytes(config)) - 1;
    scheduler.Call(clock.Middle(end), [=, this] { tap.TransmitFrame(start, end, std::vector<uint8_t>(bytes, value)); });
  }

  struct NoPcie final : PcieEnvironment {
    void CompleteBarRead(Cycle, uint64_t) override {}
    void ReadDma(Cycle, const DmaRead&) override {}
    void WriteDma(Cycle, const DmaWrite&) override {}
    void SendMsix(Cycle, uint16_t) override {}
  };
  const spec::Config config;
  const CoreClock clock;
  StandaloneScheduler scheduler;
  NoPcie pcie;
  ProbeNic nic;
  NicTap tap;
  Wire wire;
  MacPort mac;
  Receiver far;
};

TEST(MacPort, CutsThroughIfTheCoreIsFaster) {
  World world;
  world.Transmit(100, 4096);  // 64 beats, cycles 100 to 163; 128 Gb/s into 100 Gb/s
  RunTo(world.scheduler, kForever);
  // The second beat's cycle starts at 404,000; 40 ns to the line; (8 + 4096 + 4) * 80 ps = 328,640; 500 ns.
  ASSERT_EQ(world.far.times.size(), 1u);
  EXPECT_EQ(world.far.times[0], 404'000u + 40'000 + 328'640 + 500'000);
  // The credits return when the last bit has left: 772,640 ps, cycle 194.
  ASSERT_EQ(world.nic.credits.size(), 2u);
  EXPECT_EQ(world.nic.credits[0].cycle, kResetCycles);
  EXPECT_EQ(world.nic.credits[0].beats, 512u);
  EXPECT_EQ(world.nic.credits[1].cycle, 194u);
  EXPECT_EQ(world.nic.credits[1].beats, 64u);
}

TEST(MacPort, LinkStateReachesTheNicInTheNextCycle) {
  World world;
  using Links = std::vector<std::pair<Cycle, bool>>;
  world.scheduler.Call(1'000'001, [&] { world.wire.TakeDown(2'000'000); });  // cycles start every 4,000 ps
  world.Transmit(300, 64);                                                   // lost, its credits return
  RunTo(world.scheduler, 1'900'000);
  EXPECT_EQ(world.nic.links, (Links{{251, false}}));
  EXPECT_EQ(world.nic.credits.back().beats, 1u);
  RunTo(world.scheduler, 2'500'000);
  EXPECT_EQ(world.nic.links, (Links{{251, false}, {500, true}}));
  world.scheduler.Call(3'000'001, [&] { world.wire.TakeDown(3'003'000); });  // up before the cycle ends
  RunTo(world.scheduler, 3'100'000);
  EXPECT_EQ(world.nic.links.size(), 2u);
  // After a reset the device assumes that the link is up.
  world.wire.TakeDown(9'000'000);
  RunTo(world.scheduler, 4'000'000);
  world.tap.Reset(1000);
  world.mac.Restart(1000 + kResetCycles);
  RunTo(world.scheduler, 10'000'000);
  EXPECT_EQ(world.nic.links,
            (Links{{251, false}, {500, true}, {775, false}, {1000 + kResetCycles, false}, {2250, true}}));
  EXPECT_TRUE(world.far.frames.empty());
}

TEST(MacPort, StoresTheWholeFrameIfTheLineIsFaster) {
  spec::Config narrow = spec::kNic100;
  narrow.datapath_bits = 64;  // 16 Gb/s into 100 Gb/s
  World world(narrow);
  world.Transmit(100, 800);  // 100 beats, cycles 100 to 199
  RunTo(world.scheduler, kForever);
  ASSERT_EQ(world.far.times.size(), 1u);
  EXPECT_EQ(world.far.times[0], 800'000u + 40'000 + (8 + 800 + 4) * 80 + 500'000);
}

TEST(MacPort, PadsShortFramesOnTheLineOnly) {
  World world;
  world.Transmit(100, 42, 9);
  world.Transmit(110, 60, 9);
  RunTo(world.scheduler, kForever);
  ASSERT_EQ(world.far.frames.size(), 2u);
  ASSERT_EQ(world.far.frames[0].bytes.size(), 60u);
  EXPECT_EQ(world.far.frames[0].bytes[41], 9);
  EXPECT_EQ(world.far.frames[0].bytes[42], 0);
  EXPECT_EQ(world.far.frames[1].bytes.size(), 60u);
  EXPECT_EQ(world.nic.credits.at(1).beats, 1u);
  EXPECT_EQ(world.mac.counters().sent_bytes, 102u);
}

TEST(MacPort, DeliversAReceivedFrameAsOneTrainAtItsTime) {
  World world;
  world.wire.Send(1, 1'000'000, Frame(1000));
  // Last bit at 1,000,000 + 80,960 + 500,000; 40 ns: 1,620,960 ps, cycle 406.
  RunTo(world.scheduler, world.clock.Begin(406));
  EXPECT_EQ(world.nic.frames.size(), 0u);
  RunTo(world.scheduler, world.clock.Begin(407));
  ASSERT_EQ(world.nic.frames.size(), 1u);
  EXPECT_EQ(world.nic.frames[0].start, 406u);
  EXPECT_EQ(world.nic.frames[0].end, 421u);  // 16 beats
  EXPECT_FALSE(world.nic.frames[0].mac_error);
}

TEST(MacPort, ReceivedFramesWaitForTheCoresPort) {
  spec::Config narrow = spec::kNic100;
  narrow.datapath_bits = 64;
  World world(narrow);
  for (int i = 0; i < 3; ++i) world.wire.Send(1, 1'000'000, Frame(800));
  RunTo(world.scheduler, kForever);
  ASSERT_EQ(world.nic.frames.size(), 3u);
  EXPECT_EQ(world.nic.frames[1].start, world.nic.frames[0].end + 1);
  EXPECT_EQ(world.nic.frames[2].start, world.nic.frames[1].end + 1);
}

TEST(MacPort, DropsOversizedAndPassesBadFcs) {
  World world;
  world.wire.Send(1, 0, Frame(9729));
  world.wire.Send(1, 0, Frame(9728));
  WireFrame bad = Frame(100);
  bad.bad_fcs = true;
  world.wire.Send(1, 0, std::move(bad));
  world.wire.Send(1, 0, Frame(0));
  world.wire.Send(1, 0, Frame(1));
  RunTo(world.scheduler, kForever);
  ASSERT_EQ(world.nic.frames.size(), 3u);
  EXPECT_EQ(world.nic.frames[0].bytes.size(), 9728u);
  EXPECT_TRUE(world.nic.frames[1].mac_error);
  EXPECT_EQ(world.nic.frames[2].bytes.size(), 1u);
  EXPECT_EQ(world.mac.counters().oversize_drops, 1u);
  EXPECT_TRUE(world.mac.IsIdle());
}

TEST(MacPort, RestartDropsFramesBetweenCoreAndLine) {
  World world;
  world.Transmit(130, 1000);  // on the line until cycle 161
  world.wire.Send(1, 0, Frame(1000));
  RunTo(world.scheduler, world.clock.Begin(151));  // the frame has arrived and waits for the core
  EXPECT_FALSE(world.mac.IsIdle());
  world.tap.Reset(151);
  world.mac.Restart(151 + kResetCycles);
  RunTo(world.scheduler, kForever);
  EXPECT_EQ(world.nic.frames.size(), 0u);
  ASSERT_EQ(world.nic.credits.size(), 2u);
  EXPECT_EQ(world.nic.credits[1].cycle, 151 + kResetCycles);
  EXPECT_EQ(world.nic.credits[1].beats, 512u);
}

// A device that sends as fast as its credits allow reaches line rate, or the rate of its own port if that is lower: 65
// bytes are two beats.
TEST(MacPort, CreditsSustainLineRate) {
  for (const uint32_t bytes : {60u, 64u, 65u, 1500u, 4160u, 9728u}) {
    World world;
    constexpr uint64_t kFrames = 2000;
    const uint32_t beats = FrameBeats(bytes, BeatBytes(world.config));
    uint32_t credits = 0;
    uint64_t sent = 0;
    Cycle free = 0;
    std::function<void(Cycle)> step = [&](Cycle cycle) {
      if (cycle >= free && credits >= beats && sent < kFrames) {
        credits -= beats;
        free = cycle + beats;
        ++sent;
        world.Transmit(cycle + 1, bytes);
      }
      if (sent < kFrames) world.scheduler.Call(world.clock.Middle(cycle + 1), [&step, cycle] { step(cycle + 1); });
    };
    world.nic.on_credits = [&](const ProbeNic::Credits& returned) { credits += returned.beats; };
    world.scheduler.Call(world.clock.Middle(20), [&step] { step(20); });
    RunTo(world.scheduler, kForever);
    ASSERT_EQ(world.far.times.size(), kFrames);
    const double ps = static_cast<double>(world.far.times.back() - world.far.times[100]);
    const double gbps = static_cast<double>((kFrames - 101) * (bytes + 24) * 8) / ps * 1000;
    std::printf("%5u-byte frames: %7.3f Gb/s on the line, %6.2f M frames/s\n", bytes, gbps,
                static_cast<double>(kFrames - 101) / ps * 1e6);
    const double port_gbps = 0.25 / beats * (bytes + 24) * 8;
    EXPECT_LT(std::abs(gbps / std::min(100.0, port_gbps) - 1), 0.0001);
  }
}

}  // namespace
}  // namespace vireo::sim
