// SPDX-License-Identifier: Apache-2.0
// The control processor's own registers and settings: spec/processor.toml.
#pragma once

#include <stdint.h>

#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

// Sleeps until the interrupt of the management registers is asserted.
void Wait();
// Restarts the watchdog.
void ReportAlive();
// Stops the processor: the device loses its firmware until the driver resets it.
[[noreturn]] void Stop();
// Why the processor stopped last, and the address of its last access.
struct LastFailure {
  spec::ProcessorFailure cause;
  uint32_t address;
};
LastFailure ReadLastFailure();
// Sends text to the console, and waits until the last character but one has been sent.
void Print(const char* text);
void PrintHex(uint32_t value);
// As the image's loader has written them.
spec::ProcessorSettings ReadSettings();

}  // namespace vireo::firmware
