// SPDX-License-Identifier: Apache-2.0
// Two fake NICs in lockstep, with every kind of fault in the shadow: each is detected and reported, and does not affect
// the environment.
#include "sim/device/lockstep_nic.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "sim/device/devices.h"
#include "sim/device/fake_nic.h"
#include "sim/topology/topology.h"

namespace vireo::sim {
namespace {

constexpr Picoseconds kMillisecond = 1'000'000'000;

// Between a device and its environment: forwards calls unchanged, or with an injected fault.
struct FaultHooks {
  std::function<bool(Cycle, DmaRead&)> on_read = [](Cycle, DmaRead&) { return true; };  // false: dropped
  std::function<bool(Cycle, uint64_t&, std::vector<uint8_t>&)> on_write = [](Cycle, uint64_t&, std::vector<uint8_t>&) {
    return true;
  };
  std::function<bool(uint16_t&)> on_msix = [](uint16_t&) { return true; };
  std::function<bool(std::vector<uint8_t>&)> on_frame = [](std::vector<uint8_t>&) { return true; };
  std::function<void(uint64_t&)> on_bar = [](uint64_t&) {};
  std::function<void(uint32_t&)> on_csr = [](uint32_t&) {};
  std::function<void(bool&)> on_interrupt = [](bool&) {};
  bool answers_csr = true;
  bool corrupts_config = false;
  std::function<bool(bool)> on_idle = [](bool idle) { return idle; };
  std::function<Cycle(Cycle)> on_deadline = [](Cycle deadline) { return deadline; };
  std::function<Cycle(EventKind)> late = [](EventKind) { return Cycle{0}; };
};

class FaultyNic final : public Nic, public NicEnvironment {
 public:
  FaultyNic(const NicContext& context, const FaultHooks& hooks)
      : environment_(context.environment),
        hooks_(hooks),
        scheduler_(context.scheduler),
        clock_(context.clock),
        nic_(context.scheduler, context.clock, context.config, *this) {}

  void Reset(Cycle cycle) override { nic_.Reset(cycle); }
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override {
    return nic_.ReadConfig(cycle, offset, bytes) ^ (hooks_.corrupts_config ? 1 : 0);
  }
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override {
    nic_.WriteConfig(cycle, offset, bytes, value);
  }
  void ReadBar(Cycle c, unsigned bar, uint64_t offset, unsigned bytes) override { nic_.ReadBar(c, bar, offset, bytes); }
  void WriteBar(Cycle c, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override {
    nic_.WriteBar(c, bar, offset, bytes, value);
  }
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override {
    nic_.CompleteDmaRead(cycle, completion);
  }
  void RefuseDmaWrite(Cycle cycle) override { nic_.RefuseDmaWrite(cycle); }
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override { nic_.ReturnCredits(cycle, kind, beats); }
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override {
    nic_.ReceiveFrame(start, end, bytes, mac_error);
  }
  void SetLink(Cycle cycle, bool up) override { nic_.SetLink(cycle, up); }
  void ReadCsr(Cycle cycle, uint32_t offset) override { nic_.ReadCsr(cycle, offset); }
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override { nic_.WriteCsr(cycle, offset, value); }
  bool IsIdle() const override { return hooks_.on_idle(nic_.IsIdle()); }
  Cycle NextDeadline() const override { return hooks_.on_deadline(nic_.NextDeadline()); }

  void CompleteBarRead(Cycle cycle, uint64_t value) override {
    hooks_.on_bar(value);
    Tell(EventKind::kBarCompletion, cycle, [this, value](Cycle c) { environment_.CompleteBarRead(c, value); });
  }
  void ReadDma(Cycle cycle, const DmaRead& read) override {
    DmaRead copy = read;
    if (!hooks_.on_read(cycle, copy)) return;
    Tell(EventKind::kDmaRead, cycle, [this, copy](Cycle c) { environment_.ReadDma(c, copy); });
  }
  void WriteDma(Cycle cycle, const DmaWrite& write) override {
    std::vector<uint8_t> data(write.data.begin(), write.data.end());
    uint64_t address = write.address;
    if (!hooks_.on_write(cycle, address, data)) return;
    Tell(EventKind::kDmaWrite, cycle, [this, address, data](Cycle c) { environment_.WriteDma(c, {address, data}); });
  }
  void SendMsix(Cycle cycle, uint16_t vector) override {
    if (!hooks_.on_msix(vector)) return;
    Tell(EventKind::kMsix, cycle, [this, vector](Cycle c) { environment_.SendMsix(c, vector); });
  }
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override {
    std::vector<uint8_t> data(bytes.begin(), bytes.end());
    if (!hooks_.on_frame(data)) return;
    Tell(EventKind::kTransmitEnd, end,
         [this, start, end, data](Cycle c) { environment_.TransmitFrame(start + c - end, c, data); });
  }
  void CompleteCsrRead(Cycle cycle, uint32_t value) override {
    if (!hooks_.answers_csr) return;
    hooks_.on_csr(value);
    Tell(EventKind::kCsrCompletion, cycle, [this, value](Cycle c) { environment_.CompleteCsrRead(c, value); });
  }
  void SetFirmwareInterrupt(Cycle cycle, bool level) override {
    hooks_.on_interrupt(level);
    Tell(EventKind::kFirmwareInterrupt, cycle, [this, level](Cycle c) { environment_.SetFirmwareInterrupt(c, level); });
  }

 private:
  void Tell(EventKind kind, Cycle cycle, std::function<void(Cycle)> what) {
    const Cycle later = hooks_.late(kind);
    if (later == 0) return what(cycle);
    scheduler_.Call(clock_.Middle(cycle + later), [what = std::move(what), cycle, later] { what(cycle + later); });
  }

  NicEnvironment& environment_;
  const FaultHooks hooks_;
  Scheduler& scheduler_;
  const CoreClock clock_;
  FakeNic nic_;
};

NicFactory Fake() {
  return [](const NicContext& context) {
    return std::make_unique<FakeNic>(context.scheduler, context.clock, context.config, context.environment);
  };
}
NicFactory Faulty(const FaultHooks& hooks) {
  return [hooks](const NicContext& context) { return std::make_unique<FaultyNic>(context, hooks); };
}

struct Management final : ManagementEnvironment {
  void CompleteCsrRead(Cycle, uint32_t value) override { answers.push_back(value); }
  void SetFirmwareInterrupt(Cycle, bool level) override { levels.push_back(level); }
  std::vector<uint32_t> answers;
  std::vector<bool> levels;
};

// A station in lockstep that exchanges frames with a plain one.
struct World {
  World(const NicFactory& master, const NicFactory& shadow, LockstepOptions options = {}) {
    options.on_mismatch = [this](const std::string& report) { reports.push_back(report); };
    TopologyParameters parameters;
    parameters.nics.resize(2);
    parameters.nics[0].name = "a";
    parameters.nics[1].name = "b";
    parameters.fabric = Fabric::kDirect;
    auto built = Topology::Build(scheduler, parameters, [&](const NicContext& context) -> std::unique_ptr<Nic> {
      if (context.number == 1) return Fake()(context);
      auto owned = std::make_unique<LockstepNic>(context, master, shadow, options);
      nic = owned.get();
      return owned;
    });
    EXPECT_EQ(built.error, "");
    topology = std::move(built.topology);
    topology->station(0).tap().Connect(management);
    for (unsigned i = 0; i < 2; ++i) {
      rings[i] = *topology->station(i).memory().Allocate(16 * FakeNic::kSlotBytes, 4096);
      topology->station(i).pcie().WriteBar(0, FakeNic::kReceiveAddress, 8, rings[i].address);
      topology->station(i).pcie().WriteBar(0, FakeNic::kReceiveSlots, 4, 16);
    }
  }
  ~World() { EXPECT_EQ(topology->Violations(), std::vector<std::string>()); }

  void Send(unsigned from, uint64_t bytes) {
    Station& station = topology->station(from);
    const auto buffer = *station.memory().Allocate(bytes);
    for (size_t i = 0; i < bytes; ++i) buffer.data[i] = static_cast<uint8_t>(i * 7 + bytes);
    station.pcie().WriteBar(0, FakeNic::kSendAddress, 8, buffer.address);
    station.pcie().WriteBar(0, FakeNic::kSendBytes, 4, bytes);
  }
  // Frames in both directions, registers, a timer and the management port; everything works, whatever the shadow does.
  void Traffic() {
    std::optional<uint64_t> sent;
    for (uint64_t i = 0; i < 5; ++i) {
      Send(0, 100 + 900 * i);
      Send(1, 60 + 500 * i);
    }
    PcieLink& pcie = topology->station(0).pcie();
    pcie.WriteBar(0, FakeNic::kTimer, 4, 3000);
    const CoreClock& clock = topology->station(0).clock();
    NicTap& tap = topology->station(0).tap();
    const Cycle cycle = clock.Containing(scheduler.now()) + 500;
    scheduler.Call(clock.Begin(cycle), [&tap, cycle] { tap.WriteCsr(cycle, spec::kMgmtScratchRegister, 9); });
    scheduler.Call(clock.Begin(cycle + 5), [&tap, cycle] { tap.ReadCsr(cycle + 5, spec::kMgmtScratchRegister); });
    scheduler.Call(clock.Begin(cycle + 9), [&tap, cycle] { tap.ReadCsr(cycle + 9, spec::kMgmtScratchRegister); });
    scheduler.Call(clock.Begin(cycle + 20), [&tap, cycle] { tap.WriteCsr(cycle + 20, spec::kMgmtScratchRegister, 0); });
    topology->RunFor(kMillisecond);
    EXPECT_TRUE(topology->RunUntilQuiet(scheduler.now() + 10 * kMillisecond));
    pcie.ReadBar(0, FakeNic::kSent, 8, [&](uint64_t value) { sent = value; });
    pcie.ReadConfig(0, 4);
    EXPECT_TRUE(topology->RunUntil([&] { return sent.has_value(); }, scheduler.now() + kMillisecond));
    EXPECT_EQ(sent, 5u);
    EXPECT_EQ(management.answers, (std::vector<uint32_t>{9, 9}));
    EXPECT_EQ(management.levels, (std::vector<bool>{true, false}));
    EXPECT_EQ(topology->station(0).mac().counters().sent_frames, 5u);
    EXPECT_EQ(topology->station(0).mac().counters().received_frames, 5u);
    EXPECT_EQ(rings[0].data[FakeNic::kSlotHeader], 60);  // the first frame's first byte
    // Only the master determines this; the last comparison may still be pending.
    topology->RunFor(kMillisecond);
  }

  StandaloneScheduler scheduler;
  std::vector<std::string> reports;
  Management management;
  DmaRegion rings[2];
  LockstepNic* nic = nullptr;
  std::unique_ptr<Topology> topology;
};

// Traffic with a faulty shadow: exactly one report, which contains `what`.
void ExpectMismatch(const FaultHooks& hooks, const std::string& what, const LockstepOptions& options = {}) {
  World world(Fake(), Faulty(hooks), options);
  world.Traffic();
  ASSERT_EQ(world.reports.size(), 1u) << what;
  EXPECT_NE(world.reports[0].find(what), std::string::npos) << world.reports[0];
  EXPECT_EQ(world.nic->mismatch(), world.reports[0]);
}

TEST(LockstepNic, EqualDevicesMatchInEveryEventAndCycle) {
  World world(Fake(), Fake());
  world.Traffic();
  EXPECT_EQ(world.reports, std::vector<std::string>());
  const CycleDifferences total = world.nic->TotalDifferences();
  EXPECT_EQ(total.count, total.exact);
  EXPECT_EQ(total.max, 0u);
  EXPECT_EQ(world.nic->Differences(EventKind::kTransmitEnd).count, 5u);
  EXPECT_EQ(world.nic->Differences(EventKind::kTransmitStart).count, 5u);
  EXPECT_EQ(world.nic->Differences(EventKind::kBarCompletion).count, 1u);
  EXPECT_EQ(world.nic->Differences(EventKind::kCsrCompletion).count, 2u);
  EXPECT_EQ(world.nic->Differences(EventKind::kFirmwareInterrupt).count, 2u);
  EXPECT_EQ(world.nic->Differences(EventKind::kMsix).count, 11u);
  EXPECT_GT(world.nic->Differences(EventKind::kDmaRead).count, 10u);
  EXPECT_GT(world.nic->Differences(EventKind::kDmaWrite).count, 10u);
  EXPECT_EQ(world.nic->Differences(EventKind::kReceiveEnd).count, 0u);  // inputs are not compared
}

TEST(LockstepNic, OnlyTheMasterDrivesTheEnvironment) {
  uint64_t alone = 0, together = 0;
  {
    World world(Fake(), Fake());
    world.Traffic();
    together = world.topology->trace().hash();
  }
  {
    FaultHooks hooks;
    hooks.on_write = [](Cycle, uint64_t&, std::vector<uint8_t>&) { return false; };
    World world(Fake(), Faulty(hooks));
    world.Traffic();
    EXPECT_EQ(world.reports.size(), 1u);
    alone = world.topology->trace().hash();
  }
  EXPECT_EQ(alone, together);
}

TEST(LockstepNic, DetectsContentMismatchInEveryStream) {
  FaultHooks hooks;
  hooks.on_write = [](Cycle, uint64_t&, std::vector<uint8_t>& data) {
    if (data.size() > 100) data[77] ^= 1;
    return true;
  };
  ExpectMismatch(hooks, "differs in byte 77");
  hooks = {};
  hooks.on_write = [](Cycle, uint64_t& address, std::vector<uint8_t>&) { return ++address != 0; };
  ExpectMismatch(hooks, "differs in address");
  hooks = {};
  hooks.on_write = [](Cycle, uint64_t&, std::vector<uint8_t>& data) {
    data.push_back(0);
    return true;
  };
  ExpectMismatch(hooks, "differs in length");
  hooks = {};
  hooks.on_read = [](Cycle, DmaRead& read) { return ++read.tag != 0; };
  ExpectMismatch(hooks, "event 0 differs in tag");
  hooks = {};
  hooks.on_msix = [](uint16_t& vector) { return ++vector != 0; };
  ExpectMismatch(hooks, "differs in vector");
  hooks = {};
  hooks.on_frame = [](std::vector<uint8_t>& bytes) { return (bytes[99] ^= 0x80, true); };
  ExpectMismatch(hooks, "differs in byte 99");
  hooks = {};
  hooks.on_bar = [](uint64_t& value) { value ^= 0x100; };
  ExpectMismatch(hooks, "differs in byte 1");
  hooks = {};
  hooks.on_csr = [](uint32_t& value) { value ^= 0x1'0000; };
  ExpectMismatch(hooks, "differs in byte 2");
  hooks = {};
  hooks.on_interrupt = [](bool& level) { level = !level; };
  ExpectMismatch(hooks, "differs in level");
  hooks = {};
  hooks.corrupts_config = true;
  ExpectMismatch(hooks, "configuration space at 0x0");
}

TEST(LockstepNic, DetectsOrderMismatch) {
  FaultHooks hooks;
  // The message overtakes the previous write in its stream.
  hooks.late = [](EventKind kind) { return kind == EventKind::kDmaWrite ? Cycle{200} : Cycle{0}; };
  LockstepOptions options;
  options.max_difference = kNever;
  ExpectMismatch(hooks, "differs in kind", options);
}

TEST(LockstepNic, DetectsUnmatchedMasterEventAfterTheHorizon) {
  FaultHooks hooks;
  auto frames = std::make_shared<int>(0);
  hooks.on_frame = [frames](std::vector<uint8_t>&) { return ++*frames != 5; };
  // The last frame is missing; the devices become idle.
  ExpectMismatch(hooks, "is missing in model; both are idle");
  // The same while a timer of an hour runs, so that they have a deadline.
  *frames = 0;
  LockstepOptions options;
  options.horizon = 5000;
  World world(Fake(), Faulty(hooks), options);
  for (int i = 0; i < 5; ++i) world.Send(0, 200);
  world.topology->station(0).pcie().WriteBar(0, FakeNic::kTimer, 4, 0xffff'ffff);
  Cycle found = 0;
  world.topology->RunUntil([&] { return !world.reports.empty(); }, 100 * kMillisecond);
  ASSERT_EQ(world.reports.size(), 1u);
  EXPECT_NE(world.reports[0].find("is missing in model after 5000 cycles"), std::string::npos) << world.reports[0];
  found = world.topology->station(0).clock().Containing(world.scheduler.now());
  EXPECT_LT(found, 20'000u);
}

TEST(LockstepNic, DetectsUnmatchedShadowEvent) {
  FaultHooks hooks;
  auto frames = std::make_shared<int>(0);
  hooks.on_frame = [frames](std::vector<uint8_t>&) { return ++*frames != 5; };
  World world(Faulty(hooks), Fake());
  for (int i = 0; i < 5; ++i) world.Send(0, 200);
  world.topology->RunFor(kMillisecond);
  ASSERT_EQ(world.reports.size(), 1u);
  EXPECT_NE(world.reports[0].find("of model is missing in rtl"), std::string::npos) << world.reports[0];
}

TEST(LockstepNic, DetectsCompletionThatTheShadowDidNotRequest) {
  FaultHooks hooks;
  hooks.late = [](EventKind kind) { return kind == EventKind::kDmaRead ? Cycle{3000} : Cycle{0}; };
  ExpectMismatch(hooks, "reaches model, which has not requested it");
}

TEST(LockstepNic, DetectsCsrReadUnansweredByTheShadow) {
  FaultHooks hooks;
  hooks.answers_csr = false;
  ExpectMismatch(hooks, "which has not answered the previous one");
}

TEST(LockstepNic, CountsCycleDifferencesExactly) {
  FaultHooks hooks;
  auto frames = std::make_shared<int>(0);
  hooks.late = [frames](EventKind kind) -> Cycle {
    if (kind == EventKind::kTransmitEnd) return ++*frames == 5 ? 7 : 0;
    return kind == EventKind::kBarCompletion ? 2 : 0;
  };
  LockstepOptions options;
  options.max_difference = kNever;
  World world(Fake(), Faulty(hooks), options);
  world.Traffic();
  EXPECT_EQ(world.reports, std::vector<std::string>());
  const CycleDifferences frame = world.nic->Differences(EventKind::kTransmitEnd);
  EXPECT_EQ(frame.count, 5u);
  EXPECT_EQ(frame.exact, 4u);
  EXPECT_EQ(frame.shadow_late, 1u);
  EXPECT_EQ(frame.shadow_early, 0u);
  EXPECT_EQ(frame.p50, 0u);
  EXPECT_EQ(frame.p99, 7u);
  EXPECT_EQ(frame.max, 7u);
  const CycleDifferences bar = world.nic->Differences(EventKind::kBarCompletion);
  EXPECT_EQ(bar.exact, 0u);
  EXPECT_EQ(bar.p50, 2u);
  EXPECT_EQ(world.nic->TotalDifferences().max, 7u);
  const std::string table = world.nic->DifferenceTable();
  EXPECT_NE(table.find("transmit_end"), std::string::npos) << table;
  EXPECT_NE(table.find("total"), std::string::npos);
  EXPECT_EQ(table.find("receive_end"), std::string::npos);

  // Swapped: the shadow is early.
  *frames = 0;
  World turned(Faulty(hooks), Fake(), options);
  turned.Traffic();
  EXPECT_EQ(turned.reports, std::vector<std::string>());
  EXPECT_EQ(turned.nic->Differences(EventKind::kTransmitEnd).shadow_early, 1u);
}

TEST(LockstepNic, TimingGateIsExact) {
  FaultHooks hooks;
  hooks.late = [](EventKind kind) { return kind == EventKind::kTransmitEnd ? Cycle{4} : Cycle{0}; };
  LockstepOptions options;
  options.max_difference = 4;
  {
    World world(Fake(), Faulty(hooks), options);
    world.Traffic();
    EXPECT_EQ(world.reports, std::vector<std::string>());
  }
  options.max_difference = 3;
  ExpectMismatch(hooks, "differs by 4 cycles, more than 3", options);
  hooks.late = [](EventKind kind) { return kind == EventKind::kTransmitEnd ? Cycle{1} : Cycle{0}; };
  ExpectMismatch(hooks, "differs by 1 cycles, more than 0");
}

TEST(LockstepNic, DetectsADeviceThatIsIdleAlone) {
  FaultHooks hooks;
  hooks.on_idle = [](bool) { return false; };
  ExpectMismatch(hooks, "rtl is idle and model is not, 4096 cycles after the last event");
  // For a while it may be.
  int asked = 0;
  hooks.on_idle = [&asked](bool idle) { return ++asked < 4 ? false : idle; };
  World late(Fake(), Faulty(hooks));
  late.topology->RunFor(kMillisecond);
  EXPECT_EQ(late.reports, std::vector<std::string>());
  EXPECT_GE(asked, 4);
  hooks.on_idle = [](bool) { return true; };
  LockstepOptions options;
  World world(Fake(), Faulty(hooks), options);
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(world.reports, std::vector<std::string>());
  hooks.on_idle = [](bool) { return false; };
  World turned(Faulty(hooks), Fake(), options);
  turned.topology->RunFor(kMillisecond);
  ASSERT_EQ(turned.reports.size(), 1u);
  EXPECT_NE(turned.reports[0].find("model is idle and rtl is not"), std::string::npos) << turned.reports[0];
}

TEST(LockstepNic, DetectsDifferentDeadlines) {
  FaultHooks hooks;
  hooks.on_deadline = [](Cycle deadline) { return deadline == kNever ? deadline : deadline + 1; };
  ExpectMismatch(hooks, "the next deadline of rtl is cycle ");
  hooks.on_deadline = [](Cycle) { return kNever; };
  ExpectMismatch(hooks, ", of model none, 64 cycles after the last event");
  // While a device works its deadline may be anything.
  hooks.on_idle = [](bool) { return false; };
  World world(Faulty(hooks), Faulty(hooks));
  world.topology->station(0).pcie().WriteBar(0, FakeNic::kTimer, 4, 3000);
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(world.reports, std::vector<std::string>());
}

TEST(LockstepNic, ReportHasBothHistoriesSeedAndCommand) {
  FaultHooks hooks;
  auto frames = std::make_shared<int>(0);
  hooks.on_frame = [frames](std::vector<uint8_t>& bytes) {
    if (++*frames == 30) bytes[3] ^= 1;
    return true;
  };
  LockstepOptions options;
  options.repeat_command = "./vireo test --filter 'x'";
  options.waveform = [](Cycle) { return "/tmp/ring.fst"; };
  World world(Fake(), Faulty(hooks), options);
  for (int i = 0; i < 30; ++i) world.Send(0, 200 + static_cast<uint64_t>(i));
  world.topology->RunFor(kMillisecond);
  ASSERT_EQ(world.reports.size(), 1u);
  const std::string& report = world.reports[0];
  EXPECT_NE(report.find("event 59 differs in byte 3"), std::string::npos) << report;
  EXPECT_NE(report.find("rtl, the last 20 of 60 events of this stream:"), std::string::npos);
  EXPECT_NE(report.find("model, the last 20 of 60 events of this stream:"), std::string::npos);
  EXPECT_EQ(report.find("#39 "), std::string::npos);
  EXPECT_NE(report.find("#40 "), std::string::npos);
  EXPECT_NE(report.find("bytes 229"), std::string::npos);
  EXPECT_NE(report.find("waveform: /tmp/ring.fst"), std::string::npos);
  EXPECT_NE(report.find("repeat: VIREO_SEED=" + std::to_string(Seed()) + " ./vireo test --filter 'x'\n"),
            std::string::npos);
  // Default: the command line of this process.
  FaultHooks other;
  other.on_bar = [](uint64_t& value) { ++value; };
  World again(Fake(), Faulty(other));
  again.Traffic();
  ASSERT_EQ(again.reports.size(), 1u);
  EXPECT_NE(again.reports[0].find("lockstep_nic"), std::string::npos);
}

TEST(LockstepNic, ResetRestartsBoth) {
  World world(Fake(), Fake());
  for (int i = 0; i < 20; ++i) {
    world.Send(0, 3000);
    world.topology->RunFor(static_cast<Picoseconds>(i) * 200'000);
    world.topology->Reset(0);
  }
  world.topology->RunFor(kMillisecond);
  world.topology->station(0).pcie().WriteBar(0, FakeNic::kReceiveAddress, 8, world.rings[0].address);
  world.Send(0, 100);
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(world.reports, std::vector<std::string>());
  EXPECT_EQ(world.nic->TotalDifferences().count, world.nic->TotalDifferences().exact);
  EXPECT_EQ(world.nic->unmatched_at_reset(), 0u);
}

TEST(LockstepNicDeathTest, MismatchWithoutAHandlerAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    FaultHooks hooks;
    hooks.corrupts_config = true;
    StandaloneScheduler scheduler;
    TopologyParameters parameters;
    parameters.nics.resize(1);
    parameters.nics[0].name = "a";
    auto built = Topology::Build(scheduler, parameters, DeviceFactory("lockstep", {Faulty(hooks), Fake(), {}}));
    built.topology->station(0).pcie().ReadConfig(0, 2);
  };
  EXPECT_DEATH(run(), "LOCKSTEP MISMATCH: a, cycle 0: configuration space");
}

TEST(Devices, NamesSelectFactories) {
  const DeviceFactories both{Fake(), Faulty({}), {}};
  EXPECT_TRUE(DeviceFactory("model", both));
  EXPECT_TRUE(DeviceFactory("rtl", both));
  EXPECT_TRUE(DeviceFactory("lockstep", both));
  EXPECT_FALSE(DeviceFactory("netlist", both));
  EXPECT_FALSE(DeviceFactory("", both));
  EXPECT_FALSE(DeviceFactory("lockstep", {Fake(), {}, {}}));
  EXPECT_FALSE(DeviceFactory("rtl", {Fake(), {}, {}}));
  // rtl is the master.
  StandaloneScheduler scheduler;
  TopologyParameters parameters;
  parameters.nics.resize(1);
  parameters.nics[0].name = "a";
  auto built = Topology::Build(scheduler, parameters, DeviceFactory("lockstep", both));
  ASSERT_EQ(built.error, "");
  auto& nic = static_cast<LockstepNic&>(built.topology->station(0).nic());
  EXPECT_NE(dynamic_cast<FaultyNic*>(&nic.master()), nullptr);
  EXPECT_NE(dynamic_cast<FakeNic*>(&nic.shadow()), nullptr);
  // A device that cannot be built is an error of the topology.
  const DeviceFactories half{Fake(), [](const NicContext&) { return std::unique_ptr<Nic>(); }, {}};
  EXPECT_NE(Topology::Build(scheduler, parameters, DeviceFactory("lockstep", half)).error, "");
}

}  // namespace
}  // namespace vireo::sim
