// SPDX-License-Identifier: Apache-2.0
// The control processor's program: runs the firmware, sleeps when idle.
#include "firmware/app/firmware.h"
#include "firmware/boot/processor.h"

inline void* operator new(size_t, void* place) noexcept { return place; }

namespace vireo::firmware {
namespace {

alignas(Firmware) unsigned char storage[sizeof(Firmware)];

Options OptionsOf(const spec::ProcessorSettings& settings) {
  Options options{.has_mac = settings.has_mac != 0, .mtu = settings.mtu};
  options.profile = settings.abi_profile != 0 ? spec::Profile::kVireo : spec::Profile::kRfcV2;
  for (size_t i = 0; i < sizeof(options.mac); ++i) options.mac[i] = settings.mac[i];
  return options;
}

}  // namespace

extern "C" void Main() {
  const LastFailure last = ReadLastFailure();
  if (last.cause != spec::ProcessorFailure::kNone) {
    Print("vireo: restart after ");
    Print(spec::ToString(last.cause));
    Print(" at ");
    PrintHex(last.address);
    Print("\n");
  }
  const spec::ProcessorSettings settings = ReadSettings();
  if (settings.magic != spec::kProcessorSettingsMagic) {
    Print("vireo: no settings\n");
    Stop();
  }
  auto* firmware = new (storage) Firmware(Csr(spec::kProcessorManagementBase), OptionsOf(settings));
  if (!firmware->Start()) {
    Print("vireo: unknown device\n");
    Stop();
  }
  // What has happened before comes first: characters take time.
  while (firmware->Poll()) ReportAlive();
  Print("vireo: ready\n");
  for (;;) {
    ReportAlive();
    if (!firmware->Poll()) Wait();
  }
}

}  // namespace vireo::firmware
