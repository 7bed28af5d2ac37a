// SPDX-License-Identifier: Apache-2.0
// Factories of all devices, by name: the model, the Verilated RTL, and both in lockstep.
#pragma once

#include <string_view>

#include "sim/device/devices.h"

namespace vireo::sim {

// Empty if there is no such device (DeviceNames()). Every named configuration of the contract can be built.
// In lockstep, unless `lockstep` has a waveform hook, the first mismatch gets a waveform of all NICs of the factory
// (WaveformRing::FromEnvironment); not in a build without VIREO_WAVEFORMS.
NicFactory NicDeviceFactory(std::string_view name, const LockstepOptions& lockstep = {});

}  // namespace vireo::sim
