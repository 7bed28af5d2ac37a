// SPDX-License-Identifier: Apache-2.0
// A driver's view of a simulated NIC: on the probe RTL for all functions, on the fake for timing and loss.
#include "sim/topology/simulated_function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Vnic_probe_512.h"
#include "host/driver/virtio_pci.h"
#include "sim/device/fake_nic.h"
#include "sim/device/rtl_nic.h"
#include "sim/device/rtl_pins.h"
#include "sim/topology/topology.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;

std::unique_ptr<Nic> MakeProbe(const NicContext& context) {
  return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic_probe_512>>(),
                                  PciConfig::Options{.msix_vectors = 8});
}
std::unique_ptr<Nic> MakeFake(const NicContext& context) {
  return std::make_unique<FakeNic>(context.scheduler, context.clock, context.config, context.environment);
}

struct World {
  explicit World(const NicFactory& factory = MakeProbe) {
    TopologyParameters parameters;
    parameters.nics.resize(2);
    parameters.nics[0].name = "a";
    parameters.nics[1].name = "b";
    parameters.fabric = Fabric::kDirect;
    auto built = Topology::Build(scheduler, parameters, factory);
    EXPECT_EQ(built.error, "");
    topology = std::move(built.topology);
    for (unsigned i = 0; i < 2; ++i) {
      functions[i] = std::make_unique<SimulatedFunction>(scheduler, topology->station(i));
    }
  }
  ~World() { EXPECT_EQ(topology->Violations(), std::vector<std::string>()); }
  SimulatedFunction& function(unsigned i = 0) { return *functions[i]; }
  void EnableDma(unsigned i = 0) {
    function(i).WriteConfig(spec::PciHeader::kCommandOffset, 2,
                            spec::PciCommand::kBusMaster | spec::PciCommand::kMemorySpace);
  }
  // Starts a copy of the probe, which sends the data.
  void Copy(uint64_t from, uint64_t to, uint64_t bytes) {
    function().WriteBar(0, 0x00, 8, from);
    function().WriteBar(0, 0x08, 8, to);
    function().WriteBar(0, 0x10, 4, bytes);
  }
  // Waits like a driver: polls, then waits.
  bool WaitFor(unsigned vector, unsigned i = 0, uint64_t ns = kMillisecondNs) {
    const uint64_t deadline = function(i).NowNs() + ns;
    while (!function(i).TakeInterrupt(vector)) {
      if (function(i).NowNs() >= deadline) return false;
      function(i).Wait(deadline);
    }
    return true;
  }

  StandaloneScheduler scheduler;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<SimulatedFunction> functions[2];
};

TEST(SimulatedFunction, SizesAndProgramsTheBars) {
  World world;
  EXPECT_EQ(world.function().BarBytes(0), spec::kBarVirtioBytes);
  EXPECT_EQ(world.function().BarBytes(1), 0u);
  EXPECT_EQ(world.function().BarBytes(2), spec::kBarMsixBytes);
  EXPECT_EQ(world.function().BarBytes(3), 0u);
  EXPECT_EQ(world.function().BarBytes(6), 0u);
  const auto address = [&](unsigned bar) {
    const auto at = static_cast<uint32_t>(spec::PciHeader::kBaseAddressOffset + size_t{4} * bar);
    return uint64_t{world.function().ReadConfig(at + 4, 4)} << 32 | (world.function().ReadConfig(at, 4) & ~0xfu);
  };
  EXPECT_NE(address(0), 0u);
  EXPECT_NE(address(2), 0u);
  EXPECT_EQ(address(0) % spec::kBarVirtioBytes, 0u);
  EXPECT_GE(std::max(address(0), address(2)) - std::min(address(0), address(2)), spec::kBarVirtioBytes);
  // The sizes of the link: 256 and 512 bytes.
  EXPECT_EQ(world.function().ReadConfig(spec::kPciCapAtPcie + 8, 2) & 0x70e0u, 2u << 12 | 1u << 5);
  EXPECT_EQ(world.function().MsixVectors(), 8u);
}

TEST(SimulatedFunction, DriverFindsTheVirtioRegions) {
  World world;
  const auto layout = host::FindVirtioLayout(world.function());
  ASSERT_TRUE(layout.ok()) << host::ToString(layout.error());
  EXPECT_EQ(layout->common.offset, spec::kBarVirtioCommonCfg);
  EXPECT_EQ(layout->notify.offset, spec::kBarVirtioNotify);
  EXPECT_EQ(layout->notify_off_multiplier, spec::kNotifyOffMultiplier);
  EXPECT_TRUE(host::VirtioPci::Open(world.function()).ok());
  EXPECT_EQ(world.function().ReadConfig(spec::PciHeader::kCommandOffset, 2) & 6u, 6u);
}

TEST(SimulatedFunction, ReadReturnsAfterAllEarlierWrites) {
  World world;
  const uint64_t before = world.function().NowNs();
  for (uint64_t i = 0; i < 50; ++i) {
    world.function().WriteBar(0, 0x00, 8, i << 32);
    EXPECT_EQ(world.function().ReadBar(0, 0x00, 8), i << 32);
  }
  EXPECT_GT(world.function().NowNs(), before + uint64_t{50} * 260);  // the link's latency both ways
  EXPECT_TRUE(world.function().health().ok());
}

TEST(SimulatedFunction, MsixComesForEnabledVectorsBehindItsData) {
  World world;
  world.EnableDma();
  auto memory = world.function().AllocateDma(8192, 4096);
  ASSERT_TRUE(memory.ok());
  uint8_t* data = (*memory)->data();
  for (size_t i = 0; i < 4096; ++i) data[i] = static_cast<uint8_t>(i * 3);
  const uint64_t address = (*memory)->address();

  world.Copy(address, address + 4096, 1000);
  EXPECT_FALSE(world.WaitFor(0));  // MSI-X is off
  ASSERT_TRUE(world.function().EnableMsix(2).ok());
  for (int i = 1; i < 20; ++i) {
    data[0] = static_cast<uint8_t>(i);
    world.Copy(address, address + 4096, 1000);
    ASSERT_TRUE(world.WaitFor(0));
    EXPECT_TRUE(std::equal(data, data + 1000, data + 4096));
    EXPECT_FALSE(world.function().TakeInterrupt(0));
    world.topology->RunUntilQuiet(world.scheduler.now() + 1'000'000'000);
  }
  EXPECT_EQ(world.function().messages(), 19u);

  // One vector fewer, none, and all again.
  ASSERT_TRUE(world.function().EnableMsix(1).ok());
  EXPECT_EQ(world.function().ReadBar(2, 12, 4), 0u);
  EXPECT_EQ(world.function().ReadBar(2, 16 + 12, 4), 1u);
  world.Copy(address, address + 4096, 10);
  EXPECT_TRUE(world.WaitFor(0));
  ASSERT_TRUE(world.function().EnableMsix(0).ok());
  world.topology->RunUntilQuiet(world.scheduler.now() + 1'000'000'000);
  world.Copy(address, address + 4096, 10);
  EXPECT_FALSE(world.WaitFor(0));
  ASSERT_TRUE(world.function().EnableMsix(8).ok());
  world.Copy(address, address + 4096, 10);
  EXPECT_TRUE(world.WaitFor(0));
}

TEST(SimulatedFunction, InvalidVectorCountsAreRefused) {
  World world;
  EXPECT_EQ(world.function().EnableMsix(9).error().code, host::ErrorCode::kInvalidArgument);
  World fake(MakeFake);
  EXPECT_EQ(fake.function().MsixVectors(), 0u);
  EXPECT_TRUE(fake.function().EnableMsix(0).ok());
  EXPECT_EQ(fake.function().EnableMsix(1).error().code, host::ErrorCode::kInvalidArgument);
  // The table of BAR 2 has room for 8: a device that reports 16 keeps the others masked.
  World big([](const NicContext& context) {
    return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic_probe_512>>(),
                                    PciConfig::Options{.msix_vectors = 16});
  });
  EXPECT_EQ(big.function().MsixVectors(), 16u);
  EXPECT_EQ(big.function().EnableMsix(16).error().code, host::ErrorCode::kRefused);
  EXPECT_EQ(big.function().ReadConfig(spec::kPciCapAtMsix + 2, 2) & 0x8000u, 0u);
  EXPECT_TRUE(big.function().EnableMsix(8).ok());
}

TEST(SimulatedFunction, WaitReturnsOnMsixOrAtItsDeadline) {
  World world;
  world.EnableDma(0);
  world.EnableDma(1);
  ASSERT_TRUE(world.function(0).EnableMsix(8).ok());
  ASSERT_TRUE(world.function(1).EnableMsix(8).ok());
  auto memory = world.function().AllocateDma(8192, 64);
  const uint64_t start = world.function().NowNs();
  world.function().Wait(start + 12'345);
  EXPECT_EQ(world.function().NowNs(), start + 12'345);
  // The deadline has passed: time advances anyway.
  world.function().Wait(0);
  EXPECT_GT(world.function().NowNs(), start + 12'345);
  EXPECT_LT(world.function().NowNs(), start + 13'000);
  // A message ends it early; so does one that arrived before the Wait, but only once.
  world.Copy((*memory)->address(), (*memory)->address() + 4096, 64);
  const uint64_t asked = world.function().NowNs();
  world.function().Wait(asked + kMillisecondNs);
  EXPECT_LT(world.function().NowNs(), asked + 10'000);
  EXPECT_TRUE(world.function().TakeInterrupt(0));
  // The other host's message arrives while this one waits.
  world.function(0).Wait(world.function().NowNs() + kMillisecondNs);
  const uint64_t now = world.function(1).NowNs();
  world.function(1).Wait(now + kMillisecondNs);
  EXPECT_EQ(world.function(1).NowNs(), now);
  EXPECT_TRUE(world.function(1).TakeInterrupt(1));
  world.function(1).Wait(now + 1000);
  EXPECT_EQ(world.function(1).NowNs(), now + 1000);
}

TEST(SimulatedFunction, PciConfigAccessWindowReachesTheBars) {
  World world;
  const uint32_t at = spec::kPciCapAtPciCfg;
  SimulatedFunction& function = world.function();
  const auto choose = [&](uint32_t bar, uint32_t offset, uint32_t length) {
    function.WriteConfig(at + spec::VirtioPciCap::kBarOffset, 1, bar);
    function.WriteConfig(at + spec::VirtioPciCap::kOffsetOffset, 4, offset);
    function.WriteConfig(at + spec::VirtioPciCap::kLengthOffset, 4, length);
  };
  const uint32_t data = at + spec::VirtioPciCfgCap::kPciCfgDataOffset;
  choose(0, 0, 4);
  function.WriteConfig(data, 4, 0x12345678);
  EXPECT_EQ(function.ReadConfig(data, 4), 0x12345678u);
  EXPECT_EQ(function.ReadBar(0, 0, 4), 0x12345678u);
  EXPECT_EQ(function.ReadConfig(data + 2, 2), 0x1234u);
  EXPECT_EQ(function.ReadConfig(data + 3, 1), 0x12u);
  choose(0, 0, 2);
  EXPECT_EQ(function.ReadConfig(data, 4), 0x5678u);
  function.WriteConfig(data, 2, 0xabcd);  // the probe replaces the whole register for any width
  EXPECT_EQ(function.ReadBar(0, 0, 8), 0xabcdu);
  // Invalid selection: no access.
  const uint64_t accesses = world.topology->station(0).pcie().counters().bar_writes;
  for (const auto& [bar, offset, length] :
       std::vector<std::array<uint32_t, 3>>{{0, 0, 0},
                                            {0, 0, 3},
                                            {0, 0, 8},
                                            {0, 2, 4},
                                            {1, 0, 4},
                                            {7, 0, 4},
                                            {255, 0, 1},
                                            {0, static_cast<uint32_t>(spec::kBarVirtioBytes), 4},
                                            {0, 0xffff'fffc, 4}}) {
    choose(bar, offset, length);
    function.WriteConfig(data, 4, 1);
    EXPECT_EQ(function.ReadConfig(data, 4), 0u);
  }
  EXPECT_EQ(world.topology->station(0).pcie().counters().bar_writes, accesses);
}

TEST(SimulatedFunction, MemoryIsSharedForTheLifetimeOfItsObject) {
  World world;
  SimulatedFunction& function = world.function();
  uint64_t address = 0;
  {
    auto memory = function.AllocateDma(100, 4096);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->size(), 100u);
    EXPECT_EQ((*memory)->address() % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*memory)->data()) % 4096, 0u);
    EXPECT_EQ((*memory)->data()[99], 0);
    address = (*memory)->address();
    EXPECT_EQ(world.topology->station(0).memory().HostPointer(address, 100), (*memory)->data());
  }
  EXPECT_EQ(world.topology->station(0).memory().HostPointer(address, 100), nullptr);
  EXPECT_EQ(function.AllocateDma(0, 64).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function.AllocateDma(64, 3).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function.AllocateDma(64, 8192).error().code, host::ErrorCode::kInvalidArgument);

  auto* own = static_cast<uint8_t*>(std::aligned_alloc(4096, 8192));
  {
    auto mapped = function.MapDma(own, 8192);
    ASSERT_TRUE(mapped.ok());
    EXPECT_EQ((*mapped)->data(), own);
    EXPECT_EQ(world.topology->station(0).memory().HostPointer((*mapped)->address() + 4096, 4096), own + 4096);
  }
  EXPECT_EQ(function.MapDma(own + 1, 4096).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function.MapDma(own, 4095).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function.MapDma(own, 0).error().code, host::ErrorCode::kInvalidArgument);
  std::free(own);
}

// A device that never answers.
class DeafNic final : public Nic {
 public:
  void Reset(Cycle) override {}
  uint32_t ReadConfig(Cycle, uint16_t, unsigned) override { return 0; }
  void WriteConfig(Cycle, uint16_t, unsigned, uint32_t) override {}
  void ReadBar(Cycle, unsigned, uint64_t, unsigned) override {}
  void WriteBar(Cycle, unsigned, uint64_t, unsigned, uint64_t) override {}
  void CompleteDmaRead(Cycle, const DmaCompletion&) override {}
  void RefuseDmaWrite(Cycle) override {}
  void ReturnCredits(Cycle, CreditKind, uint32_t) override {}
  void ReceiveFrame(Cycle, Cycle, std::span<const uint8_t>, bool) override {}
  void SetLink(Cycle, bool) override {}
  void ReadCsr(Cycle, uint32_t) override {}
  void WriteCsr(Cycle, uint32_t, uint32_t) override {}
  bool IsIdle() const override { return true; }
  Cycle NextDeadline() const override { return kNever; }
};

TEST(SimulatedFunction, UnresponsiveFunctionIsLost) {
  World world([](const NicContext&) { return std::make_unique<DeafNic>(); });
  SimulatedFunction& function = world.function();
  EXPECT_TRUE(function.health().ok());
  EXPECT_EQ(function.BarBytes(0), 0u);
  EXPECT_EQ(function.ReadBar(0, 0, 2), 0xffffu);
  EXPECT_EQ(function.NowNs(), kPciePresets[1].completion_timeout_ns);
  ASSERT_FALSE(function.health().ok());
  EXPECT_EQ(function.health().error().code, host::ErrorCode::kLost);
  const uint64_t now = function.NowNs();
  EXPECT_EQ(function.ReadBar(0, 0, 8), ~uint64_t{0});
  EXPECT_EQ(function.ReadConfig(0, 2), 0xffffu);
  EXPECT_EQ(function.NowNs(), now);
}

TEST(SimulatedFunction, WorksOnAnyDevice) {
  World world(MakeFake);
  SimulatedFunction& function = world.function();
  auto ring = world.function(1).AllocateDma(4 * FakeNic::kSlotBytes, 4096);
  auto buffer = function.AllocateDma(300, 64);
  for (size_t i = 0; i < 300; ++i) (*buffer)->data()[i] = static_cast<uint8_t>(i);
  world.function(1).WriteBar(0, FakeNic::kReceiveAddress, 8, (*ring)->address());
  world.function(1).WriteBar(0, FakeNic::kReceiveSlots, 4, 4);
  EXPECT_EQ(world.function(1).ReadBar(0, FakeNic::kScratch, 8), 0u);
  function.WriteBar(0, FakeNic::kSendAddress, 8, (*buffer)->address());
  function.WriteBar(0, FakeNic::kSendBytes, 4, 300);
  // Polls, like a driver without interrupts.
  int polls = 0;
  while (world.function(1).ReadBar(0, FakeNic::kReceived, 8) == 0 && ++polls < 1000) world.function(1).Progress();
  EXPECT_LT(polls, 1000);
  world.function(1).Wait(world.function(1).NowNs() + 10'000);
  EXPECT_TRUE(std::equal((*buffer)->data(), (*buffer)->data() + 300, (*ring)->data() + FakeNic::kSlotHeader));
}

TEST(SimulatedFunction, HardwareResetEnumeratesAgain) {
  World world;
  ASSERT_TRUE(world.function().EnableMsix(4).ok());
  world.topology->Reset(0);
  world.topology->RunFor(1'000'000);
  EXPECT_EQ(world.function().ReadConfig(spec::PciHeader::kBaseAddressOffset + 4, 4), 0u);
  world.function().Enumerate();
  EXPECT_NE(world.function().ReadConfig(spec::PciHeader::kBaseAddressOffset + 4, 4), 0u);
  EXPECT_EQ(world.function().ReadBar(2, 12, 4), 1u);  // masked again
  EXPECT_TRUE(world.function().EnableMsix(4).ok());
  EXPECT_EQ(world.function().ReadBar(2, 12, 4), 0u);
}

}  // namespace
}  // namespace vireo::sim
