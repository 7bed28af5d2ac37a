// SPDX-License-Identifier: Apache-2.0
// Access to the management registers: 32 bits at a multiple of 4. Firmware has no other access to the device.
//
// On the board (VIREO_FIRMWARE_MMIO) it is memory-mapped; natively it is two functions of the program that runs the
// firmware. They may advance simulated time before they return.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace vireo::firmware {

class Csr {
 public:
#ifdef VIREO_FIRMWARE_MMIO
  explicit Csr(uintptr_t base) : base_(base) {}
  uint32_t Read(uint32_t offset) const { return *reinterpret_cast<const volatile uint32_t*>(base_ + offset); }
  void Write(uint32_t offset, uint32_t value) const { *reinterpret_cast<volatile uint32_t*>(base_ + offset) = value; }

 private:
  uintptr_t base_;
#else
  using ReadFunction = uint32_t (*)(void* port, uint32_t offset);
  using WriteFunction = void (*)(void* port, uint32_t offset, uint32_t value);

  // `port` is passed to both functions and must outlive every copy of this object.
  Csr(void* port, ReadFunction read, WriteFunction write) : port_(port), read_(read), write_(write) {}
  uint32_t Read(uint32_t offset) const { return read_(port_, offset); }
  void Write(uint32_t offset, uint32_t value) const { write_(port_, offset, value); }

 private:
  void* port_;
  ReadFunction read_;
  WriteFunction write_;
#endif
};

}  // namespace vireo::firmware
