// SPDX-License-Identifier: Apache-2.0
// The fake follows the rules of the seam, sleeps while idle, and wakes exactly at its timer.
#include "sim/device/fake_nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/topology/topology.h"

namespace vireo::sim {
namespace {

struct World {
  World() {
    TopologyParameters parameters;
    parameters.nics.resize(2);
    parameters.nics[0].name = "a";
    parameters.nics[1].name = "b";
    parameters.fabric = Fabric::kDirect;
    auto built = Topology::Build(scheduler, parameters, [this](const NicContext& context) {
      auto nic = std::make_unique<FakeNic>(context.scheduler, context.clock, context.config, context.environment);
      nics.push_back(nic.get());
      return nic;
    });
    EXPECT_EQ(built.error, "");
    topology = std::move(built.topology);
    station().pcie().OnMsix([this](uint16_t vector) { messages.emplace_back(vector, scheduler.now()); });
  }
  ~World() { EXPECT_EQ(topology->Violations(), std::vector<std::string>()); }
  Station& station() { return topology->station(0); }

  StandaloneScheduler scheduler;
  std::vector<FakeNic*> nics;
  std::unique_ptr<Topology> topology;
  std::vector<std::pair<uint16_t, Picoseconds>> messages;
};

constexpr Picoseconds kMillisecond = 1'000'000'000;

TEST(FakeNic, SleepsWhileIdleAndWakesAtItsTimer) {
  World world;
  EXPECT_TRUE(world.topology->RunUntilQuiet(kMillisecond));
  world.station().pcie().WriteBar(0, FakeNic::kTimer, 4, 1'000'000);  // 4 ms
  EXPECT_FALSE(world.topology->RunUntilQuiet(kMillisecond));
  EXPECT_TRUE(world.nics[0]->IsIdle());
  const Cycle deadline = world.nics[0]->NextDeadline();
  EXPECT_LT(world.nics[0]->evaluated_cycles(), 10u);
  const Picoseconds due = world.station().clock().Middle(deadline);
  EXPECT_FALSE(world.topology->RunUntil([] { return false; }, due));
  EXPECT_EQ(world.nics[0]->NextDeadline(), deadline);
  EXPECT_FALSE(world.topology->RunUntil([] { return false; }, due + 1));
  EXPECT_EQ(world.nics[0]->NextDeadline(), kNever);
  EXPECT_TRUE(world.topology->RunUntilQuiet(10 * kMillisecond));
  ASSERT_EQ(world.messages.size(), 1u);
  EXPECT_EQ(world.messages[0].first, FakeNic::kTimerVector);
  EXPECT_LT(world.nics[0]->evaluated_cycles(), 10u);  // of a million
}

TEST(FakeNic, AnswersBarAndCsrAccesses) {
  World world;
  uint64_t value = 0;
  world.station().pcie().WriteBar(0, FakeNic::kScratch, 8, 0x1122334455667788);
  world.station().pcie().ReadBar(0, FakeNic::kScratch, 8, [&](uint64_t answer) { value = answer; });
  EXPECT_TRUE(world.topology->RunUntilQuiet(kMillisecond));
  EXPECT_EQ(value, 0x1122334455667788u);
  EXPECT_EQ(world.station().pcie().ReadConfig(0, 4), spec::kPciDeviceId << 16 | spec::kPciVendorId);

  struct Management final : ManagementEnvironment {
    void CompleteCsrRead(Cycle cycle, uint32_t answer) override { csr = answer, answered = cycle; }
    void SetFirmwareInterrupt(Cycle, bool level) override { interrupt = level; }
    uint32_t csr = 0;
    Cycle answered = 0;
    bool interrupt = false;
  } management;
  world.station().tap().Connect(management);
  const Cycle cycle = world.station().clock().AtOrAfter(world.scheduler.now() + 1000);
  const auto begin = [&](Cycle at) { return world.station().clock().Begin(at); };
  world.scheduler.Call(begin(cycle), [&] { world.station().tap().WriteCsr(cycle, spec::kMgmtScratchRegister, 77); });
  world.scheduler.Call(begin(cycle + 1), [&] { world.station().tap().ReadCsr(cycle + 1, spec::kMgmtScratchRegister); });
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(management.csr, 77u);
  EXPECT_EQ(management.answered, cycle + 2);  // not in the cycle of the read
  EXPECT_TRUE(management.interrupt);
}

TEST(FakeNic, FailedReadDropsTheFrame) {
  World world;
  world.station().pcie().WriteBar(0, FakeNic::kSendAddress, 8, 0xbad'0000);
  world.station().pcie().WriteBar(0, FakeNic::kSendBytes, 4, 3000);
  uint64_t sent = 9, dropped = 9;
  EXPECT_TRUE(world.topology->RunUntilQuiet(kMillisecond));
  world.station().pcie().ReadBar(0, FakeNic::kSent, 8, [&](uint64_t answer) { sent = answer; });
  world.station().pcie().ReadBar(0, FakeNic::kDropped, 8, [&](uint64_t answer) { dropped = answer; });
  EXPECT_TRUE(world.topology->RunUntilQuiet(kMillisecond));
  EXPECT_EQ(sent, 0u);
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(world.topology->Violations().size(), 6u);  // 3000 bytes from a page's start, in reads of 512
  const auto violations = world.topology->Violations();
  EXPECT_EQ(std::count(violations.begin(), violations.end(), "a: DMA read of 512 bytes at 0xbad0000: no_window"), 1);
  EXPECT_EQ(std::count(violations.begin(), violations.end(), "a: DMA read of 440 bytes at 0xbad0a00: no_window"), 1);
  world.station().memory().ClearViolations();
}

TEST(FakeNic, ResetLeavesNothingBehind) {
  World world;
  const auto buffer = world.station().memory().Allocate(9000);
  world.station().pcie().WriteBar(0, FakeNic::kSendAddress, 8, buffer->address);
  for (int i = 0; i < 20; ++i) world.station().pcie().WriteBar(0, FakeNic::kSendBytes, 4, 9000);
  world.topology->RunFor(2'000'000);  // 2 us: reads and the first frame are in flight
  EXPECT_FALSE(world.topology->IsQuiet());
  world.topology->Reset(0);
  EXPECT_TRUE(world.topology->RunUntilQuiet(kMillisecond));
  const uint64_t frames = world.topology->station(1).mac().counters().received_frames;
  EXPECT_LT(frames, 5u);
  world.station().pcie().WriteBar(0, FakeNic::kSendAddress, 8, buffer->address);
  world.station().pcie().WriteBar(0, FakeNic::kSendBytes, 4, 9000);
  EXPECT_TRUE(world.topology->RunUntilQuiet(2 * kMillisecond));
  EXPECT_EQ(world.topology->station(1).mac().counters().received_frames, frames + 1);
}

}  // namespace
}  // namespace vireo::sim
