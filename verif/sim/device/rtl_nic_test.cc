// SPDX-License-Identifier: Apache-2.0
// RTL behind the seam: a probe with the ports and DMA blocks of the device copies memory, sends and receives frames and
// has registers, with real links and wires. The taps check every rule of the seam.
#include "sim/device/rtl_nic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Vnic_probe_512.h"
#include "Vnic_probe_64.h"
#include "sim/common/random.h"
#include "sim/common/run_in_child.h"
#include "sim/common/seed.h"
#include "sim/device/lockstep_nic.h"
#include "sim/device/rtl_pins.h"
#include "sim/time/systemc_scheduler.h"
#include "sim/topology/topology.h"

namespace vireo::sim {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr Picoseconds kMillisecond = 1'000 * kMicrosecond;

std::unique_ptr<RtlNic> MakeProbe(const NicContext& context) {
  std::unique_ptr<NicPins> pins;
  if (context.config.datapath_bits == 512) {
    pins = std::make_unique<RtlPins<Vnic_probe_512>>();
  } else {
    pins = std::make_unique<RtlPins<Vnic_probe_64>>();
  }
  return std::make_unique<RtlNic>(context, std::move(pins), PciConfig::Options{.msix_vectors = 8});
}

// Records everything that crosses a seam, with copies of the payload.
struct Recorder final : EventSink {
  struct Event {
    BoundaryEvent event;
    std::vector<uint8_t> payload;
  };
  void OnEvent(const BoundaryEvent& event) override {
    events.push_back({event, {event.payload.begin(), event.payload.end()}});
    events.back().event.payload = {};
  }
  std::vector<Event> Of(EventKind kind) const {
    std::vector<Event> found;
    for (const Event& event : events) {
      if (event.event.kind == kind) found.push_back(event);
    }
    return found;
  }
  std::vector<Event> events;
};

// Two probes on one wire; the first one's host drives them.
struct World {
  explicit World(const spec::Config& config, Scheduler& s, const NicFactory& factory = MakeProbe) : scheduler(s) {
    TopologyParameters parameters;
    parameters.nics.resize(2);
    for (unsigned i = 0; i < 2; ++i) {
      parameters.nics[i].name = "nic" + std::to_string(i);
      parameters.nics[i].config = &config;
    }
    parameters.fabric = Fabric::kDirect;
    auto built = Topology::Build(scheduler, parameters, factory);
    EXPECT_EQ(built.error, "");
    topology = std::move(built.topology);
    for (unsigned i = 0; i < 2; ++i) {
      topology->station(i).tap().AddSink(recorders[i]);
      topology->station(i).pcie().OnMsix([this, i](uint16_t vector) { messages[i].push_back(vector); });
    }
  }
  ~World() {
    if (expects_violations) return;
    EXPECT_EQ(topology->Violations(), std::vector<std::string>());
  }

  Station& station(unsigned i = 0) { return topology->station(i); }
  PcieLink& pcie(unsigned i = 0) { return station(i).pcie(); }
  RtlNic& nic(unsigned i = 0) { return static_cast<RtlNic&>(station(i).nic()); }
  // Bus master, MSI-X with all vectors unmasked, sizes of the link.
  void Enable(unsigned i = 0) {
    pcie(i).WriteConfig(spec::PciHeader::kCommandOffset, 2,
                        spec::PciCommand::kBusMaster | spec::PciCommand::kMemorySpace);
    pcie(i).WriteConfig(spec::kPciCapAtMsix + 2, 2, 0x8000);
    pcie(i).WriteConfig(spec::kPciCapAtPcie + 8, 2, 2u << 12 | 1u << 5);  // 512 and 256 bytes
    for (unsigned vector = 0; vector < 8; ++vector) pcie(i).WriteBar(spec::kBarMsix, uint64_t{16} * vector + 12, 4, 0);
  }
  uint64_t Read(uint64_t offset, unsigned i = 0, unsigned bar = 0) {
    std::optional<uint64_t> value;
    pcie(i).ReadBar(bar, offset, 8, [&](uint64_t v) { value = v; });
    EXPECT_TRUE(topology->RunUntil([&] { return value.has_value(); }, scheduler.now() + kMillisecond));
    return value.value_or(~uint64_t{0});
  }
  void Copy(uint64_t from, uint64_t to, uint64_t bytes) {
    pcie().WriteBar(0, 0x00, 8, from);
    pcie().WriteBar(0, 0x08, 8, to);
    pcie().WriteBar(0, 0x10, 4, bytes);
  }
  void Finish() { EXPECT_TRUE(topology->RunUntilQuiet(scheduler.now() + 10 * kMillisecond)); }

  Scheduler& scheduler;
  bool expects_violations = false;
  Recorder recorders[2];
  std::vector<uint16_t> messages[2];
  std::unique_ptr<Topology> topology;
};

class RtlNicTest : public testing::TestWithParam<const spec::Config*> {
 protected:
  const spec::Config& config() const { return *GetParam(); }
  StandaloneScheduler scheduler;
};
INSTANTIATE_TEST_SUITE_P(RtlNic, RtlNicTest, testing::Values(&spec::kNic100, &spec::kNic1),
                         [](const auto& info) { return std::string(info.param->name); });

// Copies of every kind, each compared in memory, on the wire and at the other end.
void CopyAll(World& world, unsigned copies, std::mt19937_64& random) {
  world.Enable(0);
  world.Enable(1);
  const auto source = *world.station().memory().Allocate(16384, 4096);
  const auto target = *world.station().memory().Allocate(16384, 4096);
  for (auto& byte : source.data) byte = static_cast<uint8_t>(random());
  uint64_t sent = 0, sent_bytes = 0;
  for (unsigned i = 0; i < copies; ++i) {
    const uint64_t from = random() % 8192, to = random() % 8192;
    const uint64_t bytes = i % 3 == 0 ? 1 + random() % 130 : 1 + random() % 4096;
    std::fill(target.data.begin(), target.data.end(), uint8_t{0xee});
    const size_t messages = world.messages[0].size();
    world.Copy(source.address + from, target.address + to, bytes);
    ASSERT_TRUE(world.topology->RunUntil([&] { return world.messages[0].size() > messages; },
                                         world.scheduler.now() + kMillisecond));
    // At the message the copy is in memory, and nothing else has changed.
    for (uint64_t at = 0; at < target.data.size(); ++at) {
      const bool inside = at >= to && at < to + bytes;
      ASSERT_EQ(target.data[at], inside ? source.data[from + at - to] : 0xee) << "copy " << i << " byte " << at;
    }
    world.Finish();
    const auto frames = world.recorders[0].Of(EventKind::kTransmitEnd);
    ASSERT_EQ(frames.size(), ++sent);
    ASSERT_EQ(frames.back().payload, std::vector<uint8_t>(source.data.begin() + static_cast<ptrdiff_t>(from),
                                                          source.data.begin() + static_cast<ptrdiff_t>(from + bytes)));
    sent_bytes += std::max<uint64_t>(bytes, 60);  // the line pads
  }
  EXPECT_EQ(world.Read(0x18), sent);
  EXPECT_EQ(world.Read(0x20, 1), sent);
  EXPECT_EQ(world.Read(0x28, 1), sent_bytes);
  EXPECT_EQ(world.Read(0x30), 0u);
  EXPECT_EQ(world.messages[1].size(), sent);
  EXPECT_EQ(std::set<uint16_t>(world.messages[1].begin(), world.messages[1].end()), (std::set<uint16_t>{1}));
  world.Finish();
}

TEST_P(RtlNicTest, CopiesMemoryAndSendsWhatItRead) {
  World world(config(), scheduler);
  auto random = MakeRandom("rtl_nic");
  CopyAll(world, 40, random);
}

TEST_P(RtlNicTest, SameSeedGivesTheSameTrace) {
  uint64_t hashes[2];
  for (uint64_t& hash : hashes) {
    StandaloneScheduler own;
    World world(config(), own);
    std::mt19937_64 random(5);
    CopyAll(world, 5, random);
    hash = world.topology->trace().hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST_P(RtlNicTest, FailedReadEndsOnlyItsCopy) {
  World world(config(), scheduler);
  world.Enable();
  const auto memory = *world.station().memory().Allocate(16384, 4096);
  for (size_t i = 0; i < memory.data.size(); ++i) memory.data[i] = static_cast<uint8_t>(i * 3);
  uint64_t failures = 0;
  for (const auto kind : {DmaFault::Kind::kUnsupportedRequest, DmaFault::Kind::kCompleterAbort,
                          DmaFault::Kind::kPoisoned, DmaFault::Kind::kTimeout}) {
    for (const uint32_t good : {0u, 100u, 300u}) {
      DmaFault fault;
      fault.kind = kind;
      fault.address = memory.address + 1000;
      fault.bytes = 1;
      fault.nth = 1;
      fault.after_bytes = good;
      world.pcie().AddFault(fault);
      world.Copy(memory.address + 10, memory.address + 8192, 3000);
      world.Finish();
      EXPECT_EQ(world.Read(0x30), ++failures);
      EXPECT_EQ(world.messages[0].size(), 2 * failures - 1);
      world.pcie().ClearFaults();
      world.Copy(memory.address + 10, memory.address + 8192 + 7, 3000);
      world.Finish();
      EXPECT_EQ(world.Read(0x18), failures);
      EXPECT_TRUE(std::equal(memory.data.begin() + 10, memory.data.begin() + 3010, memory.data.begin() + 8192 + 7));
    }
  }
}

TEST_P(RtlNicTest, WritesStallForCreditsWithoutLoss) {
  const spec::Config& c = config();
  TopologyParameters parameters;
  parameters.nics.resize(1);
  parameters.nics[0].name = "a";
  parameters.nics[0].config = &c;
  // One write's worth at a time.
  parameters.nics[0].pcie.write_buffer_beats = 256 / BeatBytes(c) + 1;
  auto built = Topology::Build(scheduler, parameters, MakeProbe);
  ASSERT_EQ(built.error, "");
  Station& station = built.topology->station(0);
  station.pcie().WriteConfig(spec::PciHeader::kCommandOffset, 2, spec::PciCommand::kBusMaster);
  station.pcie().WriteConfig(spec::kPciCapAtPcie + 8, 2, 2u << 12 | 1u << 5);
  const auto memory = *station.memory().Allocate(16384, 4096);
  for (size_t i = 0; i < 4096; ++i) memory.data[i] = static_cast<uint8_t>(i * 5 + i / 256);
  Recorder recorder;
  station.tap().AddSink(recorder);
  station.pcie().WriteBar(0, 0x00, 8, memory.address);
  station.pcie().WriteBar(0, 0x08, 8, memory.address + 8192 + 13);
  station.pcie().WriteBar(0, 0x10, 4, 4096);
  EXPECT_TRUE(built.topology->RunUntilQuiet(10 * kMillisecond));
  EXPECT_TRUE(std::equal(memory.data.begin(), memory.data.begin() + 4096, memory.data.begin() + 8192 + 13));
  EXPECT_EQ(built.topology->Violations(), std::vector<std::string>());
  // And it stalled: the ends of some bursts are more than a burst apart.
  const auto writes = recorder.Of(EventKind::kDmaWrite);
  ASSERT_GE(writes.size(), 17u);
  EXPECT_GT(writes[8].event.cycle - writes[7].event.cycle, 256 / BeatBytes(c) + 1);
}

TEST_P(RtlNicTest, RegisterAccessesHaveFixedLatency) {
  World world(config(), scheduler);
  world.Enable();
  world.pcie().WriteBar(0, 0x08, 8, 0x1122334455667788);
  EXPECT_EQ(world.Read(0x08), 0x1122334455667788u);
  EXPECT_EQ(world.Read(0x38), 2u << 6 | 1u << 3 | 0u << 2 | 1u << 1 | 1u);
  const auto reads = world.recorders[0].Of(EventKind::kBarRead);
  const auto answers = world.recorders[0].Of(EventKind::kBarCompletion);
  ASSERT_EQ(reads.size(), 2u);
  ASSERT_EQ(answers.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(answers[i].event.cycle, reads[i].event.cycle + 3);
  // Reads back to back: one access per cycle, answers in order.
  std::vector<uint64_t> values;
  for (int i = 0; i < 20; ++i) {
    world.pcie().WriteBar(0, 0x00, 8, 1000 + static_cast<uint64_t>(i));
    world.pcie().ReadBar(0, 0x00, 8, [&](uint64_t value) { values.push_back(value); });
  }
  world.Finish();
  ASSERT_EQ(values.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(values[i], 1000 + i);
}

struct Management final : ManagementEnvironment {
  void CompleteCsrRead(Cycle cycle, uint32_t value) override { answers.emplace_back(cycle, value); }
  void SetFirmwareInterrupt(Cycle cycle, bool level) override { levels.emplace_back(cycle, level); }
  std::vector<std::pair<Cycle, uint32_t>> answers;
  std::vector<std::pair<Cycle, bool>> levels;
};

TEST_P(RtlNicTest, TimeAndInterruptMatchTheCycle) {
  World world(config(), scheduler);
  Management management;
  world.station().tap().Connect(management);
  const CoreClock& clock = world.station().clock();
  const Cycle cycle = 1'000'003;
  const auto at = [&](Cycle when, std::function<void()> what) { scheduler.Call(clock.Begin(when), std::move(what)); };
  NicTap& tap = world.station().tap();
  at(cycle, [&] { tap.WriteCsr(cycle, spec::kMgmtScratchRegister, 77); });
  at(cycle + 1, [&] { tap.ReadCsr(cycle + 1, spec::kMgmtScratchRegister); });
  at(cycle + 100, [&] { tap.ReadCsr(cycle + 100, spec::kMgmtTimeLowRegister); });
  at(cycle + 200, [&] { tap.WriteCsr(cycle + 200, spec::kMgmtScratchRegister, 0); });
  world.topology->RunFor(10 * kMillisecond);
  using Answers = std::vector<std::pair<Cycle, uint32_t>>;
  using Levels = std::vector<std::pair<Cycle, bool>>;
  EXPECT_EQ(management.answers,
            (Answers{{cycle + 3, 77}, {cycle + 102, static_cast<uint32_t>(clock.Begin(cycle + 101) / 1000)}}));
  EXPECT_EQ(management.levels, (Levels{{cycle + 3, true}, {cycle + 203, false}}));
  // The clock ran while busy, and not in the thousands of cycles between.
  EXPECT_LT(world.nic().evaluated_cycles(), 200u);
}

TEST_P(RtlNicTest, SleepsUntilItsDeadlineAndWakesInThatCycle) {
  World world(config(), scheduler);
  world.Enable();
  const uint64_t deadline_ns = 5'000'001;
  world.pcie().WriteBar(0, 0x40, 8, deadline_ns);
  EXPECT_FALSE(world.topology->RunUntilQuiet(kMillisecond));
  EXPECT_TRUE(world.nic().IsIdle());
  const CoreClock& clock = world.station().clock();
  const Cycle due = clock.AtOrAfter(deadline_ns * kPicosecondsPerNanosecond);
  EXPECT_EQ(world.nic().NextDeadline(), due);
  EXPECT_LT(world.nic().evaluated_cycles(), 100u);
  world.Finish();
  const auto messages = world.recorders[0].Of(EventKind::kMsix);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].event.id, 2u);
  EXPECT_EQ(messages[0].event.cycle, due + 1);
  EXPECT_EQ(world.nic().NextDeadline(), kNever);
}

TEST_P(RtlNicTest, ConfigurationReachesThePinsInTheNextCycle) {
  World world(config(), scheduler);
  world.Enable();
  world.Finish();
  const CoreClock& clock = world.station().clock();
  const Cycle cycle = clock.Containing(scheduler.now()) + 1000;
  NicTap& tap = world.station().tap();
  // The probe exposes its configuration pins of the cycle after the access. Written late in cycle + 10, they change in
  // cycle + 11.
  scheduler.Call(clock.Begin(cycle + 9), [&] { tap.ReadBar(cycle + 9, 0, 0x38, 8); });
  scheduler.Call(clock.Begin(cycle + 10), [&] { tap.ReadBar(cycle + 10, 0, 0x38, 8); });
  scheduler.Call(clock.Begin(cycle + 11) - 1,
                 [&] { tap.WriteConfig(cycle + 10, spec::PciHeader::kCommandOffset, 2, 0); });
  world.expects_violations = true;  // these reads are not in the link
  world.topology->RunFor(kMillisecond);
  const auto answers = world.recorders[0].Of(EventKind::kBarCompletion);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].payload[0] & 1, 1);
  EXPECT_EQ(answers[1].payload[0] & 1, 0);
  EXPECT_EQ(tap.violations(), std::vector<std::string>());
}

TEST_P(RtlNicTest, NoDmaWithoutBusMaster) {
  World world(config(), scheduler);
  world.Copy(0x1000, 0x2000, 64);
  world.Finish();
  EXPECT_EQ(world.Read(0x30), 1u);
  EXPECT_TRUE(world.recorders[0].Of(EventKind::kDmaRead).empty());
}

TEST_P(RtlNicTest, ResetAtAnyTimeClearsAllState) {
  auto random = MakeRandom("rtl_nic.reset");
  World world(config(), scheduler);
  const auto memory = *world.station().memory().Allocate(16384, 4096);
  for (size_t i = 0; i < 4096; ++i) memory.data[i] = static_cast<uint8_t>(i * 5 + i / 256);
  for (int i = 0; i < 30; ++i) {
    world.Enable();
    world.Copy(memory.address, memory.address + 8192, 4096);
    world.topology->RunFor(random() % (3 * kMicrosecond));
    world.topology->Reset(0);
    world.topology->RunFor(random() % (100'000));
  }
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(world.Read(0x18), 0u);
  EXPECT_EQ(world.Read(0x38) & 7, 0u);
  world.Enable();
  std::fill(memory.data.begin() + 8192, memory.data.end(), uint8_t{0});
  world.Copy(memory.address, memory.address + 8192, 4096);
  world.Finish();
  EXPECT_TRUE(std::equal(memory.data.begin(), memory.data.begin() + 4096, memory.data.begin() + 8192));
}

// RTL in lockstep with itself: all outputs of the seam match exactly.
TEST_P(RtlNicTest, LockstepWithItselfFindsNoDifference) {
  World world(config(), scheduler,
              [](const NicContext& context) { return std::make_unique<LockstepNic>(context, MakeProbe, MakeProbe); });
  auto random = MakeRandom("rtl_nic.lockstep");
  CopyAll(world, 10, random);
  auto& nic = static_cast<LockstepNic&>(world.station().nic());
  EXPECT_EQ(nic.mismatch(), "");
  // At least a read, a write, a message and a frame's start and end for each copy, and two registers at the end.
  EXPECT_GE(nic.TotalDifferences().count, 10u * 5 + 2);
  EXPECT_EQ(nic.Differences(EventKind::kMsix).count, 10u);
  EXPECT_EQ(nic.TotalDifferences().exact, nic.TotalDifferences().count);
  EXPECT_EQ(nic.Differences(EventKind::kTransmitEnd).count, 10u);
  EXPECT_NE(nic.DifferenceTable().find("dma_write"), std::string::npos);
}

TEST(RtlNic, RunsInsideSystemC) {
  const auto child = RunInChild([]() -> std::optional<std::string> {
    SystemcScheduler scheduler;
    World world(spec::kNic100, scheduler);
    auto random = MakeRandom("rtl_nic");
    CopyAll(world, 5, random);
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

// Pins controlled by a test: violations of the bus protocol are detected.
struct FakePins final : NicPins {
  void Reset(unsigned) override { out = {}; }
  bool Clock(const NicInputs& inputs) override {
    if (step) step(inputs);
    return is_registered;
  }
  const NicOutputs& outputs() const override { return out; }
  NicOutputs out;
  bool is_registered = true;
  std::function<void(const NicInputs&)> step;
};

struct FakeWorld {
  FakeWorld() {
    TopologyParameters parameters;
    parameters.nics.resize(1);
    parameters.nics[0].name = "fake";
    auto built = Topology::Build(scheduler, parameters, [this](const NicContext& context) {
      auto owned = std::make_unique<FakePins>();
      pins = owned.get();
      return std::make_unique<RtlNic>(context, std::move(owned));
    });
    topology = std::move(built.topology);
  }
  void Run() {
    topology->station(0).pcie().WriteBar(0, 0, 4, 1);
    topology->RunFor(kMillisecond);
  }
  StandaloneScheduler scheduler;
  FakePins* pins = nullptr;
  std::unique_ptr<Topology> topology;
};

TEST(RtlNicDeathTest, ProtocolViolationAbortsWithAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](const std::function<void(FakePins&)>& breaks) {
    FakeWorld world;
    world.pins->step = [&](const NicInputs&) {
      world.pins->out.idle = false;
      breaks(*world.pins);
    };
    world.Run();
  };
  EXPECT_DEATH(run([](FakePins& pins) { pins.is_registered = false; }), "depends on an input");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.arvalid = true;
                 pins.out.aruser = 65;
               }),
               "read burst of 1 beats for 65 bytes");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.awvalid = true;
                 pins.out.awuser = 65;
               }),
               "write burst of 1 beats for 65 bytes");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.awvalid = pins.out.wvalid = pins.out.wlast = true;
                 pins.out.awuser = 5;
                 pins.out.wstrb[0] = 0x0f;
               }),
               "wstrb does not match the burst's address and length in lane 4");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.tx_valid = pins.out.tx_last = true;
                 pins.out.tx_keep[0] = 5;
               }),
               "hole in tkeep");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.tx_valid = true;
                 pins.out.tx_keep[0] = 3;
               }),
               "not full");
  EXPECT_DEATH(run([](FakePins& pins) {
                 pins.out.tx_valid = !pins.out.tx_valid;
                 pins.out.tx_keep.fill(0xff);
               }),
               "interrupted");
}

// A received frame with an error is marked in its last beat only.
TEST(RtlNic, ReceivedFrameIsDeliveredBeatByBeat) {
  FakeWorld world;
  std::vector<NicInputs> seen;
  world.pins->step = [&](const NicInputs& inputs) {
    if (inputs.rx_valid) seen.push_back(inputs);
  };
  std::vector<uint8_t> frame(150);
  for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i + 1);
  Nic& nic = world.topology->station(0).nic();
  world.scheduler.Call(world.topology->station(0).clock().Begin(1000),
                       [&] { nic.ReceiveFrame(1000, 1002, frame, true); });
  world.topology->RunFor(kMillisecond);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].time_ns, 4000u);
  EXPECT_EQ(seen[2].time_ns, 4008u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(seen[i].rx_last, i == 2);
    EXPECT_EQ(seen[i].rx_error, i == 2);
    EXPECT_EQ(seen[i].rx_data[0], i * 64 + 1);
    EXPECT_EQ(seen[i].rx_keep[7], i == 2 ? 0 : 0xff);
  }
  EXPECT_EQ(seen[2].rx_keep[2], 0x3f);  // bytes 16 … 21 of the beat
  EXPECT_EQ(seen[2].rx_data[22], 0);
}

}  // namespace
}  // namespace vireo::sim
