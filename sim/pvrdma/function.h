// SPDX-License-Identifier: Apache-2.0
// The PCI function of a PVRDMA device: configuration space, BARs, MSI-X. It has no DMA memory of its own: the guest's
// is in GuestMemory.
#pragma once

#include <array>
#include <cstdint>

#include "host/driver/pci_function.h"
#include "sim/pvrdma/device.h"

namespace vireo::sim::pvrdma {

class Function final : public host::PciFunction {
 public:
  // All outlive it. `nic_function` has the time that passes while a caller waits.
  Function(Device& device, host::PciFunction& nic_function);

  // To the state after power-on.
  void Reset();

  host::Status health() const override { return {}; }
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override;
  // Registers and doorbells are 32 bits wide: narrower writes are ignored, a wider access is two.
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  host::Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return kVectors; }
  host::Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override { return vector < enabled_ && device_.TakeInterrupt(vector); }
  uint64_t NowNs() override { return nic_function_.NowNs(); }
  void Wait(uint64_t deadline_ns) override;

 private:
  using Image = std::array<uint8_t, spec::kPciConfigBytes>;
  void WriteDword(unsigned bar, uint64_t offset, uint32_t value);

  Device& device_;
  host::PciFunction& nic_function_;
  Image config_{}, reset_{}, writable_{};
  unsigned enabled_ = 0;
};

}  // namespace vireo::sim::pvrdma
