// SPDX-License-Identifier: Apache-2.0
// The control processor's program: runs the firmware, sleeps when idle. The firmware's interrupt is the machine
// external interrupt; it wakes the processor and is never taken as a trap.
#include "firmware/app/firmware.h"

extern "C" uint32_t _csr_base;  // its address is that of the management registers

inline void* operator new(size_t, void* place) noexcept { return place; }

namespace vireo::firmware {
namespace {

alignas(Firmware) unsigned char storage[sizeof(Firmware)];

void Sleep() {
  constexpr uint32_t machine_external = 1u << 11;  // RISC-V privileged architecture 1.12, 3.1.9: mie.MEIE
  asm volatile("csrs mie, %0\n\twfi" : : "r"(machine_external) : "memory");
}

}  // namespace

extern "C" void Main() {
  auto* firmware = new (storage) Firmware(Csr(reinterpret_cast<uintptr_t>(&_csr_base)));
  if (!firmware->Start()) return;
  for (;;) {
    if (!firmware->Poll()) Sleep();
  }
}

}  // namespace vireo::firmware
