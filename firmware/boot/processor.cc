// SPDX-License-Identifier: Apache-2.0
#include "firmware/boot/processor.h"

extern "C" const uint8_t _settings[vireo::spec::ProcessorSettings::kBytes];

namespace vireo::firmware {
namespace {

volatile uint32_t& Register(uint32_t offset) {
  return *reinterpret_cast<volatile uint32_t*>(uintptr_t{spec::kProcessorRegistersBase} + offset);
}

}  // namespace

void Wait() { [[maybe_unused]] const uint32_t zero = Register(spec::kProcessorWaitRegister); }

void ReportAlive() { Register(spec::kProcessorAliveRegister) = 0; }

void Stop() {
  for (;;) Register(spec::kProcessorStopRegister) = 0;
}

LastFailure ReadLastFailure() {
  return {.cause = spec::ProcessorLastFailure::FromWord(Register(spec::kProcessorLastFailureRegister)).cause,
          .address = Register(spec::kProcessorFailureAddressRegister)};
}

void Print(const char* text) {
  for (; *text != '\0'; ++text) Register(spec::kProcessorConsoleRegister) = static_cast<uint8_t>(*text);
}

void PrintHex(uint32_t value) {
  char digits[9] = {};
  for (unsigned i = 0; i < 8; ++i) digits[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  Print(digits);
}

spec::ProcessorSettings ReadSettings() {
  uint8_t bytes[spec::ProcessorSettings::kBytes];
  // The loader's bytes, which the compiler takes for zeros.
  for (uint32_t i = 0; i < sizeof(bytes); ++i) bytes[i] = static_cast<const volatile uint8_t*>(_settings)[i];
  return spec::ProcessorSettings::Decode(bytes);
}

}  // namespace vireo::firmware
