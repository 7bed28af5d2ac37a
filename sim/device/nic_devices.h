// SPDX-License-Identifier: Apache-2.0
// Factories of all devices, by name: the model, the Verilated RTL, both in lockstep, and boards (board/board_device.h).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "sim/device/devices.h"
#include "sim/device/nic_pins.h"

namespace vireo::sim {

// The RTL of a configuration; null if there is none.
using PinsFactory = std::function<std::unique_ptr<NicPins>(const spec::Config& config)>;

// Empty if there is no such device (DeviceNames(), or a board's). Every named configuration of the contract can be
// built. In lockstep, unless `lockstep` has a waveform hook, the first mismatch gets a waveform of all NICs of the
// factory (WaveformRing::FromEnvironment); not in a build without VIREO_WAVEFORMS. `rtl`: instead of the configurations
// that are Verilated into this program.
NicFactory NicDeviceFactory(std::string_view name, const LockstepOptions& lockstep = {}, PinsFactory rtl = {});
// Whether this configuration, which is one of spec::kConfigs, is Verilated into this program.
bool HasRtl(const spec::Config& config);

}  // namespace vireo::sim
