// SPDX-License-Identifier: Apache-2.0
// The MSI-X vectors of a function as a vfio-user client has them: an eventfd each, masks, and triggers. The table in
// the device is ours: a vector that has a descriptor is unmasked there, and what its mask is to the client, is kept
// here, with what came meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/driver/pci_function.h"
#include "host/driver/vfio_user_protocol.h"

namespace vireo::sim {

class VfioUserInterrupts {
 public:
  explicit VfioUserInterrupts(host::PciFunction& function) : function_(function), vectors_(function.MsixVectors()) {}

  host::vfio_user::IrqInfo Info(uint32_t index) const;
  // SET_IRQS. 0, or an errno; then nothing has changed. Runs the simulation.
  uint32_t Set(const host::vfio_user::IrqSet& set, std::span<const uint8_t> data,
               std::vector<host::FileDescriptor> fds);
  // Passes on what has arrived.
  void Deliver();
  // No vector has a descriptor any more; MSI-X is off.
  void Clear();
  // The function was reset, which turned MSI-X off; clients expect to find it as it was.
  void Restore();

 private:
  struct Vector {
    host::FileDescriptor fd;
    bool is_masked = false, is_pending = false;
  };
  bool Enable();
  void Signal(Vector& vector);

  host::PciFunction& function_;
  std::vector<Vector> vectors_;
  unsigned enabled_ = 0;  // in the device
};

}  // namespace vireo::sim
