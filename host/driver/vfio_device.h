// SPDX-License-Identifier: Apache-2.0
// A PCI device as VFIO shows it: regions, interrupts, DMA mappings, reset. Numbers and flags are those of linux/vfio.h,
// whoever serves them: the kernel (vfio_kernel_device.h) or another process (vfio_user_device.h). VfioFunction makes a
// PciFunction of it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "host/driver/result.h"

namespace vireo::host {

class VfioDevice {
 public:
  // Mappings are of whole pages.
  static constexpr uint64_t kPageBytes = 4096;
  // Of an MSI-X table. [PCIe 5.0, 7.7.2.2]
  static constexpr uint32_t kMostMsixVectors = 2048;
  // What a read of `bytes` returns that fails.
  static constexpr uint64_t Ones(unsigned bytes) { return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1; }
  // With the text of errno.
  static Error SystemError(ErrorCode code, const std::string& what) {
    return {code, what + ": " + std::strerror(errno)};
  }

  struct Info {
    uint32_t flags = 0, regions = 0, irqs = 0;
  };
  struct Irq {
    uint32_t flags = 0, count = 0;
  };
  // Device addresses that can be mapped, both ends included.
  struct Range {
    uint64_t first = 0, last = 0;
  };

  virtual ~VfioDevice() = default;

  // Ok, or kLost with the reason. kLost is permanent.
  virtual Status health() const = 0;
  virtual Result<Info> GetInfo() = 0;
  virtual Result<uint64_t> RegionBytes(uint32_t region) = 0;
  virtual Result<Irq> GetIrq(uint32_t index) = 0;

  // One access of 1, 2, 4 or 8 bytes. A read that fails returns ones, a write that fails is dropped, as on the bus.
  virtual uint64_t Read(uint32_t region, uint64_t offset, unsigned bytes) = 0;
  virtual void Write(uint32_t region, uint64_t offset, unsigned bytes, uint64_t value) = 0;

  // In ascending order; not empty.
  virtual std::vector<Range> AddressRanges() const = 0;
  // Whether memory without a file can be mapped.
  virtual bool MapsOrdinaryMemory() const = 0;
  // Maps whole pages of this process at `address`. `file`: the file that they are all of, from its start, or -1.
  // kNoMemory.
  virtual Status Map(uint64_t address, std::span<uint8_t> memory, int file) = 0;
  // A mapping as it was made.
  virtual void Unmap(uint64_t address, size_t bytes) = 0;

  // Signals `fds` for the MSI-X vectors `start` and following. Vectors can be added to those that are enabled already.
  virtual Status EnableMsix(uint32_t start, std::span<const int> fds) = 0;
  virtual Status DisableMsix() = 0;
  // Vectors that one call of EnableMsix may enable.
  virtual size_t MostVectors() const = 0;

  // Keeps mappings and vectors.
  virtual Status Reset() = 0;

  // A descriptor whose hang-up means that the device is lost, or -1. Then OnHangUp.
  virtual int hang_up() const { return -1; }
  virtual void OnHangUp() {}
};

}  // namespace vireo::host
