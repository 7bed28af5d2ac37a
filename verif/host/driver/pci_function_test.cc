// SPDX-License-Identifier: Apache-2.0
// Conformance tests of PciFunction: the same tests for every implementation, on the probe NIC.
#include "host/driver/pci_function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "Vnic_probe_512.h"
#include "host/driver/vfio_user_device.h"
#include "host/driver/virtio_pci.h"
#include "sim/device/rtl_nic.h"
#include "sim/device/rtl_pins.h"
#include "sim/topology/simulated_function.h"
#include "sim/topology/topology.h"
#include "verif/host/driver/vfio_shim.h"
#include "verif/sim/vfio_user/server_bench.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kMillisecondNs = 1'000'000;

class World {
 public:
  virtual ~World() = default;
  virtual host::PciFunction& function() = 0;
  // Timeout by function()'s clock; never reached if the test passes.
  virtual uint64_t timeout_ns() const = 0;
};

class SimulatedWorld final : public World {
 public:
  SimulatedWorld() {
    TopologyParameters parameters;
    parameters.nics.resize(2);
    parameters.nics[0].name = "a";
    parameters.nics[1].name = "b";
    parameters.fabric = Fabric::kDirect;
    auto built = Topology::Build(scheduler_, parameters, [](const NicContext& context) {
      return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic_probe_512>>(),
                                      PciConfig::Options{.msix_vectors = 8});
    });
    EXPECT_EQ(built.error, "");
    topology_ = std::move(built.topology);
    function_ = std::make_unique<SimulatedFunction>(scheduler_, topology_->station(0));
  }
  host::PciFunction& function() override { return *function_; }
  uint64_t timeout_ns() const override { return kMillisecondNs; }

 private:
  StandaloneScheduler scheduler_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<SimulatedFunction> function_;
};

class VfioUserWorld final : public World {
 public:
  VfioUserWorld() {
    auto connected = host::ConnectVfioUser(bench_.socket());
    EXPECT_TRUE(connected.ok());
    function_ = std::move(connected).value();
  }
  host::PciFunction& function() override { return *function_; }
  uint64_t timeout_ns() const override { return 20'000 * kMillisecondNs; }

 private:
  VfioUserBench bench_;
  std::unique_ptr<host::VfioFunction> function_;
};

// The same server, by the requests of Linux' VFIO.
class VfioKernelWorld final : public World {
 public:
  VfioKernelWorld() {
    auto connected = host::VfioUserDevice::Connect(bench_.socket(), {});
    EXPECT_TRUE(connected.ok());
    served_ = std::move(connected).value();
    shim_ = std::make_unique<VfioShim>(*served_, VfioShim::Options{});
    auto device = host::VfioKernelDevice::Open(VfioShim::kAddress, *shim_);
    EXPECT_TRUE(device.ok()) << device.error().text;
    auto opened = host::VfioFunction::Open(std::move(device).value());
    EXPECT_TRUE(opened.ok());
    function_ = std::move(opened).value();
  }
  host::PciFunction& function() override { return *function_; }
  uint64_t timeout_ns() const override { return 20'000 * kMillisecondNs; }

 private:
  VfioUserBench bench_;
  std::unique_ptr<host::VfioDevice> served_;
  std::unique_ptr<VfioShim> shim_;
  std::unique_ptr<host::VfioFunction> function_;
};

struct Kind {
  const char* name;
  std::unique_ptr<World> (*make)();
};

class PciFunction : public testing::TestWithParam<Kind> {
 protected:
  host::PciFunction& function() { return world_->function(); }
  void EnableDma() {
    function().WriteConfig(spec::PciHeader::kCommandOffset, 2,
                           spec::PciCommand::kBusMaster | spec::PciCommand::kMemorySpace);
  }
  // The probe copies, and interrupts with vector 0.
  void Copy(uint64_t from, uint64_t to, uint64_t bytes) {
    function().WriteBar(0, 0x00, 8, from);
    function().WriteBar(0, 0x08, 8, to);
    function().WriteBar(0, 0x10, 4, bytes);
  }
  // Waits like a driver: poll, then Wait.
  bool WaitFor(unsigned vector, uint64_t ns) {
    const uint64_t deadline = function().NowNs() + ns;
    while (!function().TakeInterrupt(vector)) {
      if (function().NowNs() >= deadline) return false;
      function().Wait(deadline);
    }
    return true;
  }
  bool WaitFor(unsigned vector) { return WaitFor(vector, world_->timeout_ns()); }

  std::unique_ptr<World> world_ = GetParam().make();
};

TEST_P(PciFunction, ExposesBarsAndCapabilityRegions) {
  EXPECT_EQ(function().BarBytes(0), spec::kBarVirtioBytes);
  EXPECT_EQ(function().BarBytes(1), 0u);
  EXPECT_EQ(function().BarBytes(2), spec::kBarMsixBytes);
  EXPECT_EQ(function().BarBytes(6), 0u);
  EXPECT_EQ(function().MsixVectors(), 8u);
  const auto layout = host::FindVirtioLayout(function());
  ASSERT_TRUE(layout.ok()) << host::ToString(layout.error());
  EXPECT_EQ(layout->common.offset, spec::kBarVirtioCommonCfg);
  EXPECT_EQ(layout->notify.offset, spec::kBarVirtioNotify);
  EXPECT_TRUE(host::VirtioPci::Open(function()).ok());
  EXPECT_EQ(function().ReadConfig(spec::PciHeader::kCommandOffset, 2) & 6u, 6u);
}

TEST_P(PciFunction, AReadReturnsAfterAllEarlierWrites) {
  const uint64_t before = function().NowNs();
  for (uint64_t i = 0; i < 50; ++i) {
    function().WriteBar(0, 0x00, 8, i << 32 | 1);
    EXPECT_EQ(function().ReadBar(0, 0x00, 8), i << 32 | 1);
  }
  EXPECT_GT(function().NowNs(), before);
  EXPECT_TRUE(function().health().ok());
}

TEST_P(PciFunction, InterruptsOnlyForEnabledVectorsAndAfterTheirData) {
  EnableDma();
  auto memory = function().AllocateDma(8192, 4096);
  ASSERT_TRUE(memory.ok());
  uint8_t* const data = (*memory)->data();
  for (size_t i = 0; i < 4096; ++i) data[i] = static_cast<uint8_t>(i * 3);
  const uint64_t address = (*memory)->address();
  Copy(address, address + 4096, 1000);
  EXPECT_FALSE(WaitFor(0, kMillisecondNs));  // MSI-X is off
  ASSERT_TRUE(function().EnableMsix(2).ok());
  for (int i = 1; i < 20; ++i) {
    data[0] = static_cast<uint8_t>(i);
    Copy(address, address + 4096, 1000);
    ASSERT_TRUE(WaitFor(0));
    EXPECT_TRUE(std::equal(data, data + 1000, data + 4096));
    EXPECT_FALSE(function().TakeInterrupt(0));
  }
  // Fewer vectors, none, and all again.
  ASSERT_TRUE(function().EnableMsix(1).ok());
  Copy(address, address + 4096, 10);
  EXPECT_TRUE(WaitFor(0));
  ASSERT_TRUE(function().EnableMsix(0).ok());
  Copy(address, address + 4096, 10);
  EXPECT_FALSE(WaitFor(0, kMillisecondNs));
  ASSERT_TRUE(function().EnableMsix(8).ok());
  Copy(address, address + 4096, 10);
  EXPECT_TRUE(WaitFor(0));
}

TEST_P(PciFunction, InvalidVectorCountsAreRefused) {
  EXPECT_EQ(function().EnableMsix(9).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_TRUE(function().EnableMsix(8).ok());
  EXPECT_FALSE(function().TakeInterrupt(8));
  EXPECT_FALSE(function().TakeInterrupt(~0U));
}

TEST_P(PciFunction, WaitReturnsAtInterruptOrDeadline) {
  EnableDma();
  ASSERT_TRUE(function().EnableMsix(8).ok());
  auto memory = function().AllocateDma(8192, 64);
  ASSERT_TRUE(memory.ok());
  const uint64_t start = function().NowNs();
  function().Wait(start + 12'345);
  EXPECT_GE(function().NowNs(), start + 12'345);
  // A deadline in the past: time advances nevertheless.
  const uint64_t later = function().NowNs();
  function().Wait(0);
  EXPECT_GT(function().NowNs(), later);
  // An interrupt ends it early, also one that arrived before the Wait.
  Copy((*memory)->address(), (*memory)->address() + 4096, 64);
  const uint64_t asked = function().NowNs();
  function().Wait(asked + world_->timeout_ns());
  EXPECT_LT(function().NowNs(), asked + world_->timeout_ns());
  EXPECT_TRUE(function().TakeInterrupt(0));
  // An interrupt that is not taken does not wake later Waits.
  Copy((*memory)->address(), (*memory)->address() + 4096, 64);
  function().Wait(function().NowNs() + world_->timeout_ns());
  const uint64_t then = function().NowNs();
  function().Wait(then + kMillisecondNs);
  EXPECT_GE(function().NowNs(), then + kMillisecondNs);
  EXPECT_TRUE(function().TakeInterrupt(0));
}

TEST_P(PciFunction, ConfigurationAccessWindowReachesTheBars) {
  const uint32_t at = spec::kPciCapAtPciCfg;
  const auto choose = [&](uint32_t bar, uint32_t offset, uint32_t length) {
    function().WriteConfig(at + spec::VirtioPciCap::kBarOffset, 1, bar);
    function().WriteConfig(at + spec::VirtioPciCap::kOffsetOffset, 4, offset);
    function().WriteConfig(at + spec::VirtioPciCap::kLengthOffset, 4, length);
  };
  const uint32_t data = at + spec::VirtioPciCfgCap::kPciCfgDataOffset;
  choose(0, 0, 4);
  function().WriteConfig(data, 4, 0x12345678);
  EXPECT_EQ(function().ReadConfig(data, 4), 0x12345678u);
  EXPECT_EQ(function().ReadBar(0, 0, 4), 0x12345678u);
  EXPECT_EQ(function().ReadConfig(data + 2, 2), 0x1234u);
  choose(1, 0, 4);  // no such BAR
  function().WriteConfig(data, 4, 1);
  EXPECT_EQ(function().ReadConfig(data, 4), 0u);
  EXPECT_EQ(function().ReadBar(0, 0, 4), 0x12345678u);
}

TEST_P(PciFunction, AllocatedAndMappedMemoryIsShared) {
  EnableDma();
  ASSERT_TRUE(function().EnableMsix(1).ok());
  auto* const own = static_cast<uint8_t*>(std::aligned_alloc(4096, 8192));
  std::fill(own, own + 8192, uint8_t{0});
  {
    auto memory = function().AllocateDma(1000, 4096);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->size(), 1000u);
    EXPECT_EQ((*memory)->address() % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*memory)->data()) % 4096, 0u);
    EXPECT_TRUE(std::all_of((*memory)->data(), (*memory)->data() + 1000, [](uint8_t byte) { return byte == 0; }));
    auto mapped = function().MapDma(own, 8192);
    ASSERT_TRUE(mapped.ok());
    EXPECT_EQ((*mapped)->data(), own);
    for (size_t i = 0; i < 1000; ++i) (*memory)->data()[i] = static_cast<uint8_t>(i * 5 + 1);
    // Copy across a page boundary, and back.
    Copy((*memory)->address(), (*mapped)->address() + 3600, 1000);
    ASSERT_TRUE(WaitFor(0));
    EXPECT_TRUE(std::equal(own + 3600, own + 4600, (*memory)->data()));
    EXPECT_EQ(own[3599], 0);
    EXPECT_EQ(own[4600], 0);
    std::fill((*memory)->data(), (*memory)->data() + 1000, uint8_t{0});
    Copy((*mapped)->address() + 3600, (*memory)->address(), 1000);
    ASSERT_TRUE(WaitFor(0));
    EXPECT_TRUE(std::equal(own + 3600, own + 4600, (*memory)->data()));
  }
  EXPECT_EQ(function().AllocateDma(0, 64).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function().AllocateDma(64, 3).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function().AllocateDma(64, 8192).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function().MapDma(own + 1, 4096).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function().MapDma(own, 4095).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(function().MapDma(own, 0).error().code, host::ErrorCode::kInvalidArgument);
  std::free(own);
}

template <typename W>
std::unique_ptr<World> Make() {
  return std::make_unique<W>();
}
INSTANTIATE_TEST_SUITE_P(Kinds, PciFunction,
                         testing::Values(Kind{"Simulated", Make<SimulatedWorld>}, Kind{"VfioUser", Make<VfioUserWorld>},
                                         Kind{"VfioKernel", Make<VfioKernelWorld>}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::sim
