// SPDX-License-Identifier: Apache-2.0
// A PCI device of this machine by Linux' VFIO: vfio-pci, an IOMMU group of its own, IOMMU of type 1 (version 2). No
// root is needed if the user may open /dev/vfio/GROUP. BARs are mapped where the kernel lets them be, else accessed by
// system calls.
//
// Memory that is mapped for the device is locked: it counts against RLIMIT_MEMLOCK. No mode without IOMMU: a device
// that reaches all memory needs a driver in the kernel. Does not watch for AER errors: a device that is gone reads as
// ones.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/vfio_device.h"
#include "host/driver/vfio_function.h"

namespace vireo::host {

// The system calls of VfioKernelDevice, with their results: -1 and errno. Tests have others.
class VfioSystem {
 public:
  virtual ~VfioSystem() = default;
  virtual int Open(const std::string& path);
  virtual int Ioctl(int fd, unsigned long request, uintptr_t argument);
  virtual ssize_t Read(int fd, void* to, size_t bytes, uint64_t offset);
  virtual ssize_t Write(int fd, const void* from, size_t bytes, uint64_t offset);
  // MAP_FAILED and errno. Unmapped by munmap.
  virtual void* Map(int fd, uint64_t offset, size_t bytes);
  // The last part of what a symbolic link names; empty if there is none.
  virtual std::string Link(const std::string& path);
  virtual bool WriteFile(const std::string& path, const std::string& text);

  static VfioSystem& Kernel();
};

class VfioKernelDevice final : public VfioDevice {
 public:
  // Gives the device to vfio-pci, away from the driver that it has. Needs root. kRefused, with the reason.
  static Status Bind(const std::string& address, VfioSystem& system = VfioSystem::Kernel());

  // `address`: of PCI, as lspci prints it: 0000:03:00.0, or 03:00.0. kInvalidArgument; kNoDevice: there is none, it has
  // no IOMMU group, or another driver; kRefused: no permission, in use, or not all devices of its group are free;
  // kUnsupported: another version of VFIO or type of IOMMU.
  static Result<std::unique_ptr<VfioDevice>> Open(const std::string& address,
                                                  VfioSystem& system = VfioSystem::Kernel());
  ~VfioKernelDevice() override;

  Status health() const override;
  Result<Info> GetInfo() override;
  Result<uint64_t> RegionBytes(uint32_t region) override;
  Result<Irq> GetIrq(uint32_t index) override;
  uint64_t Read(uint32_t region, uint64_t offset, unsigned bytes) override;
  void Write(uint32_t region, uint64_t offset, unsigned bytes, uint64_t value) override;
  std::vector<Range> AddressRanges() const override { return ranges_; }
  bool MapsOrdinaryMemory() const override { return true; }
  Status Map(uint64_t address, std::span<uint8_t> memory, int file) override;
  void Unmap(uint64_t address, size_t bytes) override;
  Status EnableMsix(uint32_t start, std::span<const int> fds) override;
  Status DisableMsix() override;
  size_t MostVectors() const override { return kMostMsixVectors; }
  // Of the function, else of all that shares its bus (hot reset), which must be in its group. kUnsupported: neither can
  // be reset.
  Status Reset() override;

 private:
  // Part of a region that is mapped into this process.
  struct Window {
    uint64_t first = 0;
    size_t bytes = 0;
    uint8_t* memory = nullptr;
  };
  struct Region {
    uint64_t file_offset = 0, bytes = 0;
    std::vector<Window> windows;
  };

  explicit VfioKernelDevice(VfioSystem& system) : system_(system) {}
  Status OpenGroup(const std::string& group);
  Status ReadRanges();
  Status ReadRegion(uint32_t index);
  void MapWindow(Region& region, uint64_t first, uint64_t bytes);
  Status HotReset();
  // The kernel's answer to a request that may be longer than its structure, which starts with argsz.
  Result<std::vector<uint8_t>> Ask(int fd, unsigned long request, std::vector<uint8_t> bytes, const char* what);
  Status SetIrqs(uint32_t flags, uint32_t start, std::span<const int> fds);
  const uint8_t* Find(uint32_t region, uint64_t offset, unsigned bytes) const;
  void NoteFailure();

  VfioSystem& system_;
  std::string address_;
  uint32_t group_number_ = 0;
  FileDescriptor container_, group_, device_;
  Info info_;
  std::vector<Range> ranges_;
  std::vector<Region> regions_;
  bool has_vectors_ = false;
  std::atomic<bool> is_lost_ = false;
};

// The function of a device of this machine.
Result<std::unique_ptr<VfioFunction>> OpenVfio(const std::string& address);

}  // namespace vireo::host
