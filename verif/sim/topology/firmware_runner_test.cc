// SPDX-License-Identifier: Apache-2.0
// The real firmware on a management port in simulated time: the same answers as a direct call, exact times, sleep and
// wake-up, reset and destruction at any time. The registers are those of the firmware's own mock device.
#include "sim/topology/firmware_runner.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/topology/topology.h"
#include "verif/firmware/bench.h"
#include "verif/firmware/mock_device.h"

namespace vireo::sim {
namespace {

using verif::Answer;
using verif::Bench;
using verif::Bit;
using verif::BytesOf;
using verif::MailboxRequest;
using verif::MockDevice;
using verif::PageList;
using verif::RdmaCtrlCmd;
using verif::RdmaError;

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr Picoseconds kMillisecond = 1'000 * kMicrosecond;
constexpr Cycle kReadLatency = 3;       // of the register file
constexpr Cycle kInterruptLatency = 2;  // from a change of the registers to the level

// Registers only: reads are answered kReadLatency cycles later.
class RegisterNic final : public Nic, private Scheduler::Client {
 public:
  struct Access {
    Cycle cycle = 0;
    bool is_write = false;
    uint32_t offset = 0, value = 0;
    friend bool operator==(const Access&, const Access&) = default;
  };

  explicit RegisterNic(const NicContext& context)
      : scheduler_(context.scheduler),
        clock_(context.clock),
        config_(context.config),
        environment_(context.environment),
        client_(scheduler_.AddClient(*this)) {}

  void Reset(Cycle) override {
    ++generation_;
    device.emplace(config_, spec::Profile::kVireo);
    csr_.emplace(device->MakeCsr());
    reading_ = false;
    level_ = shown_ = false;
    accesses.clear();
  }
  uint32_t ReadConfig(Cycle, uint16_t, unsigned) override { return 0; }
  void WriteConfig(Cycle, uint16_t, unsigned, uint32_t) override {}
  void ReadBar(Cycle, unsigned, uint64_t, unsigned) override {}
  void WriteBar(Cycle, unsigned, uint64_t, unsigned, uint64_t) override {}
  void CompleteDmaRead(Cycle, const DmaCompletion&) override {}
  void RefuseDmaWrite(Cycle) override {}
  void ReturnCredits(Cycle, CreditKind, uint32_t) override {}
  void ReceiveFrame(Cycle, Cycle, std::span<const uint8_t>, bool) override {}
  void SetLink(Cycle, bool) override {}
  void ReadCsr(Cycle cycle, uint32_t offset) override {
    accesses.push_back({cycle, false, offset, 0});
    answer_ = broken_id && offset == spec::kMgmtIdRegister ? 0 : csr_->Read(offset);
    if (is_deaf) return;
    reading_ = true;
    Plan(cycle + kReadLatency);
    Look(cycle);
  }
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override {
    accesses.push_back({cycle, true, offset, value});
    csr_->Write(offset, value);
    Look(cycle);
  }
  bool IsIdle() const override { return !reading_ && level_ == shown_; }
  Cycle NextDeadline() const override { return kNever; }

  // Called after a change of the registers.
  void Look(Cycle cycle) {
    level_ = device->IsInterruptRaised();
    if (level_ != shown_) Plan(cycle + kInterruptLatency);
  }

  std::optional<MockDevice> device;
  std::vector<Access> accesses;
  bool broken_id = false;
  bool is_deaf = false;

 private:
  void Plan(Cycle cycle) { scheduler_.At(clock_.Middle(cycle), client_, generation_ << 40 | cycle); }
  void OnTime(uint64_t cookie) override {
    if (cookie >> 40 != generation_) return;
    const Cycle cycle = clock_.Containing(scheduler_.now());
    if (reading_ && accesses.back().cycle + kReadLatency == cycle) {
      reading_ = false;
      environment_.CompleteCsrRead(cycle, answer_);
    }
    if (level_ != shown_) {
      shown_ = level_;
      environment_.SetFirmwareInterrupt(cycle, level_);
    }
  }

  Scheduler& scheduler_;
  const CoreClock clock_;
  const spec::Config& config_;
  NicEnvironment& environment_;
  const Scheduler::ClientNumber client_;
  std::optional<firmware::Csr> csr_;
  uint64_t generation_ = 0;
  uint32_t answer_ = 0;
  bool reading_ = false, level_ = false, shown_ = false;
};

struct World {
  explicit World(const FirmwareRunner::Options& options = {}, bool broken_id = false) {
    TopologyParameters parameters;
    parameters.nics.resize(1);
    parameters.nics[0].name = "a";
    parameters.nics[0].config = &spec::kNic1;
    auto built = Topology::Build(scheduler, parameters, [&](const NicContext& context) {
      auto owned = std::make_unique<RegisterNic>(context);
      nic = owned.get();
      nic->broken_id = broken_id;
      return owned;
    });
    EXPECT_EQ(built.error, "");
    topology = std::move(built.topology);
    Station& station = topology->station(0);
    runner = std::make_unique<FirmwareRunner>(scheduler, station.clock(), station.tap(), options);
  }
  ~World() {
    EXPECT_EQ(topology->Violations(), std::vector<std::string>());
    EXPECT_EQ(nic->device->violations(), std::vector<std::string>());
  }

  Cycle Now() { return topology->station(0).clock().Containing(scheduler.now()); }
  bool RunUntilAsleep() {
    return topology->RunUntil([&] { return runner->is_sleeping() && nic->IsIdle(); }, scheduler.now() + kMillisecond);
  }
  // Applies changes of the host's side to the interrupt.
  template <typename What>
  void Do(What what) {
    what(*nic->device);
    nic->Look(Now() + 1);
  }
  void BringUp() {
    EXPECT_TRUE(RunUntilAsleep());
    Do([](MockDevice& device) {
      device.SetFeatures({Bit(spec::VirtioFeature::kVersion1), Bit(spec::NetFeature::kCtrlVq),
                          Bit(spec::VirtioFeature::kRingReset), spec::ConstantsOf(spec::Profile::kVireo).net_f_roce});
      device.SetDriverOk();
    });
    topology->RunFor(kMicrosecond);
    EXPECT_TRUE(RunUntilAsleep());
  }
  static MailboxRequest Command(RdmaCtrlCmd command, const std::vector<uint8_t>& request) {
    std::vector<uint8_t> readable{spec::ConstantsOf(spec::Profile::kVireo).net_ctrl_class_roce,
                                  static_cast<uint8_t>(command)};
    readable.insert(readable.end(), request.begin(), request.end());
    return {.readable = readable, .writable = 256};
  }
  Answer Roce(RdmaCtrlCmd command, const std::vector<uint8_t>& request = {}) {
    const size_t before = nic->device->answers.size();
    Do([&](MockDevice& device) { device.Post(Command(command, request)); });
    EXPECT_TRUE(
        topology->RunUntil([&] { return nic->device->answers.size() > before; }, scheduler.now() + kMillisecond));
    return {nic->device->answers.back()};
  }

  StandaloneScheduler scheduler;
  RegisterNic* nic = nullptr;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<FirmwareRunner> runner;
};

TEST(FirmwareRunner, StartsServesAndSleeps) {
  World world;
  EXPECT_FALSE(world.runner->is_started());
  EXPECT_TRUE(world.RunUntilAsleep());
  EXPECT_TRUE(world.runner->is_started());
  EXPECT_FALSE(world.runner->is_refused());
  EXPECT_TRUE(world.nic->device->RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister).firmware_ready);
  const uint64_t accesses = world.runner->accesses();
  EXPECT_GT(accesses, 20u);
  world.topology->RunFor(10 * kMillisecond);
  EXPECT_EQ(world.runner->accesses(), accesses);
  EXPECT_TRUE(world.scheduler.empty());
  world.BringUp();
  EXPECT_TRUE(world.nic->device->RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister).datapath_enable);
}

TEST(FirmwareRunner, AnswersAndTablesMatchAnUntimedCall) {
  World world;
  world.BringUp();
  Bench bench({.config = &spec::kNic1});
  const auto both = [&](RdmaCtrlCmd command, const std::vector<uint8_t>& request = {}) {
    const Answer answer = world.Roce(command, request);
    EXPECT_EQ(answer.bytes, bench.Roce(command, request).bytes) << static_cast<int>(command);
    return answer;
  };
  both(RdmaCtrlCmd::kQueryDevice);
  both(RdmaCtrlCmd::kQueryPort);
  for (int i = 0; i < 3; ++i) {
    const uint32_t pdn = both(RdmaCtrlCmd::kCreatePd).As<spec::RdmaAckCreatePd>().pdn;
    both(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 16}));
    auto request = BytesOf(spec::RdmaCmdRegUserMr{.pdn = pdn, .access_flags = 0, .length = 20'000, .npages = 5});
    const auto pages = PageList(0x10000, 5);
    request.insert(request.end(), pages.begin(), pages.end());
    both(RdmaCtrlCmd::kRegUserMr, request);
  }
  both(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = 0}));
  EXPECT_EQ(both(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = 77})).error(), RdmaError::kBadPdn);
  EXPECT_TRUE(world.RunUntilAsleep());
  EXPECT_EQ(world.nic->device->Snapshot(), bench.device.Snapshot());
}

TEST(FirmwareRunner, AccessesOccurInTheirStatedCycles) {
  for (const Cycle cost : {1u, 12u, 100u}) {
    World world({.access_cycles = cost, .firmware = {}});
    EXPECT_TRUE(world.RunUntilAsleep());
    const auto& accesses = world.nic->accesses;
    ASSERT_GT(accesses.size(), 20u);
    EXPECT_EQ(accesses[0].cycle, kResetCycles + cost);
    for (size_t i = 1; i < accesses.size(); ++i) {
      ASSERT_EQ(accesses[i].cycle, accesses[i - 1].cycle + (accesses[i - 1].is_write ? 0 : kReadLatency) + cost) << i;
    }
    // From sleep: from the interrupt, the cost of one access.
    const size_t before = accesses.size();
    const Cycle raised = world.Now() + 1 + kInterruptLatency;
    world.Do([](MockDevice& device) { device.SetLink(true); });
    EXPECT_TRUE(world.topology->RunUntil([&] { return world.nic->accesses.size() > before; }, kMillisecond));
    EXPECT_EQ(accesses[before].cycle, raised + cost);
    EXPECT_EQ(accesses[before].offset, spec::kMgmtInterruptCauseRegister);
    EXPECT_TRUE(world.RunUntilAsleep());
  }
}

TEST(FirmwareRunner, EqualRunsMatchInEveryAccess) {
  std::vector<RegisterNic::Access> runs[2];
  for (auto& run : runs) {
    World world;
    world.BringUp();
    for (int i = 0; i < 5; ++i) world.Roce(RdmaCtrlCmd::kCreatePd);
    run = world.nic->accesses;
  }
  EXPECT_GT(runs[0].size(), 100u);
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(FirmwareRunner, SeveralCommandsAreServedPerInterrupt) {
  World world;
  world.BringUp();
  world.Do([&](MockDevice& device) {
    for (int i = 0; i < 10; ++i) device.Post(World::Command(RdmaCtrlCmd::kCreatePd, {}));
  });
  EXPECT_TRUE(world.topology->RunUntil([&] { return world.nic->device->answers.size() == 10; }, kMillisecond));
  EXPECT_TRUE(world.RunUntilAsleep());
}

// For any state of the firmware at the next interrupt, including the cycles before it sleeps.
TEST(FirmwareRunner, NoInterruptIsMissed) {
  World world;
  world.BringUp();
  const CoreClock& clock = world.topology->station(0).clock();
  for (Cycle later = 0; later < 200; ++later) {
    world.Do([&](MockDevice& device) { device.SetLink(later % 2 == 0); });
    const Cycle then = world.Now() + later;
    world.scheduler.RunUntil([] { return false; }, clock.Begin(then));
    ASSERT_TRUE(world.Roce(RdmaCtrlCmd::kQueryPort).ok()) << later;
    ASSERT_TRUE(world.RunUntilAsleep());
  }
}

TEST(FirmwareRunner, PeekReadsConcurrentlyAndMissesNoInterrupt) {
  World world;
  world.BringUp();
  const CoreClock& clock = world.topology->station(0).clock();
  for (Cycle later = 3; later < 12; ++later) {
    // An interrupt during the read and after it; Peek is not allowed before it.
    const Cycle then = world.Now() + 6;
    uint32_t value = 0;
    world.scheduler.Call(clock.Begin(then), [&] {
      ASSERT_TRUE(world.runner->is_sleeping());
      world.runner->Peek(spec::kMgmtIdRegister, [&value](uint32_t read) { value = read; });
    });
    world.scheduler.RunUntil([] { return false; }, clock.Begin(then - 6 + later) + 1);
    const uint64_t accesses = world.runner->accesses();
    world.Do([&](MockDevice& device) { device.SetLink(later % 2 == 0); });
    world.topology->RunFor(kMicrosecond);
    EXPECT_EQ(value, world.nic->device->MakeCsr().Read(spec::kMgmtIdRegister)) << later;
    EXPECT_GT(world.runner->accesses(), accesses) << later;  // it was woken
    ASSERT_TRUE(world.RunUntilAsleep());
  }
}

TEST(FirmwareRunner, UnknownDeviceIsNotAccessed) {
  World world({}, true);
  world.topology->RunFor(kMillisecond);
  EXPECT_TRUE(world.runner->is_refused());
  EXPECT_FALSE(world.runner->is_started());
  EXPECT_EQ(world.runner->accesses(), 1u);
  world.Do([](MockDevice& device) { device.SetLink(true); });
  world.topology->RunFor(kMillisecond);
  EXPECT_EQ(world.runner->accesses(), 1u);
}

TEST(FirmwareRunner, UnresponsiveDeviceStopsOnlyItsFirmware) {
  World world;
  world.BringUp();
  world.nic->is_deaf = true;
  world.Do([](MockDevice& device) { device.Post(World::Command(RdmaCtrlCmd::kCreatePd, {})); });
  world.topology->RunFor(kMillisecond);
  EXPECT_FALSE(world.runner->is_sleeping());
  EXPECT_TRUE(world.nic->device->answers.empty());
}

TEST(FirmwareRunner, HardwareResetAtAnyTimeRestartsIt) {
  auto random = MakeRandom("firmware_runner.reset");
  World world;
  for (int i = 0; i < 100; ++i) {
    world.Do([](MockDevice& device) { device.SetLink(true); });
    world.topology->RunFor(random() % (8 * kMicrosecond));
    world.topology->Reset(0);
  }
  world.topology->RunFor(kMillisecond);
  world.BringUp();
  EXPECT_TRUE(world.Roce(RdmaCtrlCmd::kCreatePd).ok());
}

TEST(FirmwareRunner, MayBeDestroyedInAnyState) {
  auto random = MakeRandom("firmware_runner.destroy");
  for (int i = 0; i < 100; ++i) {
    World world;
    world.topology->RunFor(random() % (30 * kMicrosecond));
    if (i % 2 == 0) {
      world.Do([](MockDevice& device) { device.Post(World::Command(RdmaCtrlCmd::kQueryDevice, {})); });
      world.topology->RunFor(random() % (10 * kMicrosecond));
    }
    world.runner.reset();
  }
}

TEST(FirmwareRunner, TwoRunnersAreIndependent) {
  World a, b;
  a.BringUp();
  b.BringUp();
  EXPECT_EQ(a.Roce(RdmaCtrlCmd::kCreatePd).As<spec::RdmaAckCreatePd>().pdn,
            b.Roce(RdmaCtrlCmd::kCreatePd).As<spec::RdmaAckCreatePd>().pdn);
  EXPECT_EQ(a.nic->accesses, b.nic->accesses);
}

}  // namespace
}  // namespace vireo::sim
