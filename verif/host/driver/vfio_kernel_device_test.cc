// SPDX-License-Identifier: Apache-2.0
// What the conformance tests of pci_function_test.cc do not reach: how a device of this machine is found, opened,
// mapped and reset.
#include "host/driver/vfio_kernel_device.h"

#include <gtest/gtest.h>
#include <linux/vfio.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "host/driver/vfio_user_device.h"
#include "verif/host/driver/vfio_shim.h"
#include "verif/sim/vfio_user/server_bench.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using host::VfioKernelDevice;

class VfioKernel : public testing::Test {
 protected:
  VfioKernel() {
    auto connected = host::VfioUserDevice::Connect(bench_.socket(), {});
    EXPECT_TRUE(connected.ok());
    served_ = std::move(connected).value();
  }
  host::Result<std::unique_ptr<host::VfioFunction>> Open(const VfioShim::Options& options,
                                                         const std::string& address = VfioShim::kAddress) {
    shim_ = std::make_unique<VfioShim>(*served_, options);
    auto device = VfioKernelDevice::Open(address, *shim_);
    if (!device.ok()) return device.error();
    return host::VfioFunction::Open(std::move(device).value());
  }
  void ExpectRefused(const VfioShim::Options& options, ErrorCode code, const std::string& part) {
    const auto opened = Open(options);
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_EQ(opened.error().code, code) << opened.error().text;
    EXPECT_NE(opened.error().text.find(part), std::string::npos) << opened.error().text;
  }

  VfioUserBench bench_;
  std::unique_ptr<host::VfioDevice> served_;
  std::unique_ptr<VfioShim> shim_;
};

TEST_F(VfioKernel, AddressesAreThoseOfPci) {
  for (const char* address : {"0000:03:00.0", "03:00.0"}) EXPECT_TRUE(Open({}, address).ok()) << address;
  for (const char* address : {"", "3", "03:00", "03:00.8", "03:20.0", "03:00.0 ", "../03:00.0", "0000:03:00.0x"}) {
    const auto opened = Open({}, address);
    ASSERT_FALSE(opened.ok()) << address;
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument) << address;
  }
  const auto absent = Open({}, "04:00.0");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kNoDevice);
}

TEST_F(VfioKernel, RefusalsSayWhatToDo) {
  ExpectRefused({.has_group = false}, ErrorCode::kNoDevice, "no IOMMU group");
  ExpectRefused({.driver = "virtio-pci"}, ErrorCode::kNoDevice, "has the driver virtio-pci: give it to vfio-pci");
  ExpectRefused({.driver = ""}, ErrorCode::kNoDevice, "has the driver none");
  ExpectRefused({.is_viable = false}, ErrorCode::kRefused, "group 7 has devices of other drivers");
  ExpectRefused({.may_open_group = false}, ErrorCode::kRefused, "/dev/vfio/7: Device or resource busy");
  ExpectRefused({.has_type1v2 = false}, ErrorCode::kUnsupported, "IOMMU of type 1");
}

TEST_F(VfioKernel, BindTakesTheDeviceFromItsDriver) {
  VfioShim shim(*served_, {.driver = "virtio-pci"});
  ASSERT_TRUE(VfioKernelDevice::Bind("03:00.0", shim).ok());
  ASSERT_TRUE(VfioKernelDevice::Bind("03:00.0", shim).ok());  // has it already
  EXPECT_TRUE(VfioKernelDevice::Open("03:00.0", shim).ok());
  VfioShim strict(*served_, {.driver = "virtio-pci", .may_bind = false});
  const auto refused = VfioKernelDevice::Bind("03:00.0", strict);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_EQ(strict.Link(std::string("/sys/bus/pci/devices/") + VfioShim::kAddress + "/driver"), "virtio-pci");
}

TEST_F(VfioKernel, PagesOfABarAreMappedAndTheRestIsCalled) {
  auto opened = Open({.mapped_first = 4096, .mapped_bytes = 8192});
  ASSERT_TRUE(opened.ok()) << opened.error().text;
  auto& function = **opened;
  ASSERT_NE(shim_->mapped, nullptr);
  function.WriteBar(0, 4096, 1, 0x11);
  function.WriteBar(0, 4098, 2, 0x3322);
  function.WriteBar(0, 4100, 4, 0x77665544);
  function.WriteBar(0, 12280, 8, 0x0102030405060708);
  EXPECT_EQ(shim_->calls, 0u);
  const uint8_t expected[] = {0x11, 0, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77};
  EXPECT_EQ(std::memcmp(shim_->mapped, expected, sizeof expected), 0);
  EXPECT_EQ(function.ReadBar(0, 12280, 8), 0x0102030405060708u);
  EXPECT_EQ(function.ReadBar(0, 4100, 2), 0x5544u);
  EXPECT_EQ(shim_->calls, 0u);
  function.ReadBar(0, 0, 4);
  function.ReadBar(0, 12288, 4);
  EXPECT_EQ(shim_->calls, 2u);
  // Outside of the BAR: ones, and no access.
  EXPECT_EQ(function.ReadBar(0, function.BarBytes(0), 4), 0xffff'ffffu);
  EXPECT_EQ(function.ReadBar(0, ~uint64_t{0}, 4), 0xffff'ffffu);
  EXPECT_EQ(function.ReadBar(1, 0, 4), 0xffff'ffffu);
  EXPECT_EQ(shim_->calls, 2u);
}

TEST_F(VfioKernel, DmaAddressesLieInRangesAndAreNotUsedAgain) {
  constexpr uint64_t kFirst = 0x20'0000'0000;
  auto opened = Open({.ranges = {{0, kFirst + 0x4fff}, {kFirst + 0x8000, kFirst + 0xffff}}});
  ASSERT_TRUE(opened.ok()) << opened.error().text;
  auto& function = **opened;
  auto first = function.AllocateDma(8192, 4096);
  ASSERT_TRUE(first.ok()) << first.error().text;
  EXPECT_EQ((*first)->address(), kFirst);
  first->reset();
  EXPECT_TRUE(shim_->mappings.empty());
  // A guard page is behind each; what does not fit goes to the next range.
  const auto second = function.AllocateDma(8192, 4096);
  ASSERT_TRUE(second.ok()) << second.error().text;
  EXPECT_EQ((*second)->address(), kFirst + 0x8000);
  const auto third = function.AllocateDma(4096 * 8, 4096);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kNoMemory);
}

TEST_F(VfioKernel, LimitOfLockedMemoryIsNamed) {
  auto opened = Open({.locked_limit = 8192});
  ASSERT_TRUE(opened.ok()) << opened.error().text;
  const auto refused = (*opened)->AllocateDma(12'288, 4096);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(refused.error().text.find("ulimit -l"), std::string::npos) << refused.error().text;
  EXPECT_TRUE((*opened)->AllocateDma(8192, 4096).ok());
}

TEST_F(VfioKernel, ResetIsOfTheFunctionElseOfItsBus) {
  {
    auto opened = Open({});
    ASSERT_TRUE(opened.ok() && (*opened)->Reset().ok());
    EXPECT_EQ(shim_->resets, 1u);
  }
  {
    auto opened = Open({.has_function_reset = false});
    ASSERT_TRUE(opened.ok() && (*opened)->Reset().ok());
    EXPECT_EQ(shim_->bus_resets, 1u);
  }
  auto opened = Open({.has_function_reset = false, .groups_of_bus = {7, 8}});
  ASSERT_TRUE(opened.ok());
  const auto refused = (*opened)->Reset();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("IOMMU group 8"), std::string::npos) << refused.error().text;
  EXPECT_EQ(shim_->bus_resets, 0u);
}

// The flags promise a reset that the kernel cannot do any more.
TEST_F(VfioKernel, FunctionWithoutItsResetIsResetWithItsBus) {
  for (const int error : {ENOTTY, ENODEV, EINVAL}) {
    auto opened = Open({.function_reset_error = error});
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE((*opened)->Reset().ok()) << error;
    EXPECT_EQ(shim_->resets, 0u);
    EXPECT_EQ(shim_->bus_resets, 1u);
  }
  // A reset that fails is no missing one.
  auto opened = Open({.function_reset_error = EIO});
  ASSERT_TRUE(opened.ok());
  const auto failed = (*opened)->Reset();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kRefused);
  EXPECT_EQ(shim_->bus_resets, 0u);
}

TEST_F(VfioKernel, DeviceWithoutAnyResetIsNamed) {
  for (const bool has_function_reset : {false, true}) {
    for (const int error : {ENOTTY, ENODEV, EINVAL}) {
      auto opened =
          Open({.has_function_reset = has_function_reset, .function_reset_error = ENOTTY, .bus_reset_error = error});
      ASSERT_TRUE(opened.ok());
      const auto refused = (*opened)->Reset();
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(refused.error().text.find("neither 0000:03:00.0 nor its bus"), std::string::npos)
          << refused.error().text;
    }
  }
}

TEST_F(VfioKernel, VectorsAreEnabledAtOnceAndAgain) {
  auto opened = Open({});
  ASSERT_TRUE(opened.ok());
  for (const unsigned count : {0u, 8u, 3u, 0u, 1u}) {
    EXPECT_TRUE((*opened)->EnableMsix(count).ok()) << count;
  }
  EXPECT_EQ((*opened)->EnableMsix(9).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace vireo::sim
