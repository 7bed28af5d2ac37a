// SPDX-License-Identifier: Apache-2.0
// A stand-in for Linux' VFIO in tests: the requests of vfio-pci, with the checks and errors of the kernel, for a device
// that another VfioDevice serves. One device, alone in its group, at 0000:03:00.0. [linux/vfio.h; drivers/vfio of
// Linux 6.1]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/driver/vfio_device.h"
#include "host/driver/vfio_kernel_device.h"

namespace vireo::sim {

class VfioShim final : public host::VfioSystem {
 public:
  static constexpr const char* kAddress = "0000:03:00.0";
  static constexpr const char* kGroup = "7";

  struct Options {
    std::string driver = "vfio-pci";
    bool has_group = true, may_bind = true, is_viable = true, may_open_group = true, has_type1v2 = true;
    bool has_function_reset = true;
    // errno of a request for a reset of the function, which has one by its flags; of the bus. 0: it succeeds.
    int function_reset_error = 0, bus_reset_error = 0;
    // Of the devices that a reset of the bus resets.
    std::vector<uint32_t> groups_of_bus = {7};
    std::vector<host::VfioDevice::Range> ranges = {{0, 0xfedf'ffff}, {0xfef0'0000, (uint64_t{1} << 48) - 1}};
    uint64_t locked_limit = ~uint64_t{0};  // bytes
    // Pages of BAR 0 that can be mapped; memory of the shim, not of the device.
    uint64_t mapped_first = 0, mapped_bytes = 0;
  };
  VfioShim(host::VfioDevice& device, const Options& options) : options_(options), device_(device) {}

  int Open(const std::string& path) override;
  int Ioctl(int fd, unsigned long request, uintptr_t argument) override;
  ssize_t Read(int fd, void* to, size_t bytes, uint64_t offset) override;
  ssize_t Write(int fd, const void* from, size_t bytes, uint64_t offset) override;
  void* Map(int fd, uint64_t offset, size_t bytes) override;
  std::string Link(const std::string& path) override;
  bool WriteFile(const std::string& path, const std::string& text) override;

  // What happened.
  unsigned resets = 0, bus_resets = 0;
  std::map<uint64_t, uint64_t> mappings;  // bytes, by address
  // Reads and writes that came as system calls, of BAR 0.
  unsigned calls = 0;
  // A mapping of the same pages, for the test.
  uint8_t* mapped = nullptr;

 private:
  int Container(unsigned long request, uintptr_t argument);
  int Group(unsigned long request, uintptr_t argument);
  int Device(unsigned long request, uintptr_t argument);
  int IommuInfo(uintptr_t argument) const;
  int MapDma(uintptr_t argument);
  int UnmapDma(uintptr_t argument);
  int RegionInfo(uintptr_t argument);
  int SetIrqs(uintptr_t argument);
  int HotResetInfo(uintptr_t argument) const;

  Options options_;
  host::VfioDevice& device_;
  int container_ = -1, group_ = -1, device_fd_ = -1, pages_ = -1;
  std::string override_;
  bool has_container_ = false, has_iommu_ = false, has_vectors_ = false;
  uint64_t locked_ = 0;
};

}  // namespace vireo::sim
