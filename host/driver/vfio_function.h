// SPDX-License-Identifier: Apache-2.0
// A PCI function of a VFIO device: a NIC in the machine, by the kernel, or in another process, by vfio-user. NowNs is
// real time, not simulated time.
//
// Device addresses are used once, so that a late access of the device fails instead of reaching other memory.
//
// Must not be used in a child of fork().
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/pci_function.h"
#include "host/driver/vfio_device.h"

namespace vireo::host {

class VfioFunction final : public PciFunction {
 public:
  // kUnsupported: the device is not PCI.
  static Result<std::unique_ptr<VfioFunction>> Open(std::unique_ptr<VfioDevice> device);
  // The device is reset by who serves it.
  ~VfioFunction() override;

  Status health() const override { return device_->health(); }
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override { return bar < kBars ? bar_bytes_[bar] : 0; }
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  Result<DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  Result<DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return max_vectors_; }
  Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override;
  void Wait(uint64_t deadline_ns) override;

  // Function-level reset. Keeps memory mappings and vectors.
  Status Reset() { return device_->Reset(); }

 private:
  static constexpr unsigned kBars = 6;
  class Memory;
  struct Vector {
    FileDescriptor fd;
    bool has_arrived = false;
  };

  explicit VfioFunction(std::unique_ptr<VfioDevice> device);
  Status ReadInfo();
  Result<uint64_t> MapNext(std::span<uint8_t> memory, int file);
  bool Harvest(Vector& vector);

  const std::unique_ptr<VfioDevice> device_;
  const std::vector<VfioDevice::Range> ranges_;
  uint64_t bar_bytes_[kBars]{};
  unsigned max_vectors_ = 0;
  std::vector<Vector> vectors_;  // enabled

  std::mutex mutex_;  // of what follows
  uint64_t next_address_ = 0;
};

}  // namespace vireo::host
