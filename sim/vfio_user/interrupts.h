// SPDX-License-Identifier: Apache-2.0
// The interrupts of a function for a vfio-user client: an eventfd each, masks, and triggers. The server owns the
// device's MSI-X table and unmasks every vector that has an eventfd; the client's mask and pending bits are kept here.
//
// Error (VFIO_PCI_ERR_IRQ_INDEX) and unplug request (VFIO_PCI_REQ_IRQ_INDEX) take an eventfd as Linux' vfio-pci does
// for every PCI Express function, or QEMU warns that it cannot recover from errors. The device raises neither.
#pragma once

#include <array>
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
  // SET_IRQS. 0, or an errno and nothing has changed. Runs the simulation.
  uint32_t Set(const host::vfio_user::IrqSet& set, std::span<const uint8_t> data,
               std::vector<host::FileDescriptor> fds);
  // Forwards interrupts of the device to the eventfds.
  void Deliver();
  // After a function reset, which disabled MSI-X: enables it again, because clients expect their vectors to survive.
  void Restore();

 private:
  struct Vector {
    host::FileDescriptor fd;
    bool is_masked = false, is_pending = false;
  };
  std::span<Vector> VectorsOf(uint32_t index);
  bool Enable();
  void Signal(Vector& vector);

  host::PciFunction& function_;
  std::vector<Vector> vectors_;
  std::array<Vector, 1> error_, request_;
  unsigned enabled_ = 0;  // vectors enabled in the device
};

}  // namespace vireo::sim
