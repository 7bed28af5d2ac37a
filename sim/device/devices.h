// SPDX-License-Identifier: Apache-2.0
// Names in command lines and files: of devices (--device; the caller supplies the factories), configurations
// (--config), ABI profiles (--profile) and PCIe presets (--preset).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/device/lockstep_nic.h"
#include "sim/nic/nic_context.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct DeviceFactories {
  NicFactory model;  // empty if not linked
  NicFactory rtl;
  LockstepOptions lockstep;
};

// model, rtl, lockstep.
const std::vector<std::string>& DeviceNames();
// Of spec::kConfigs, in its order.
const std::vector<std::string>& ConfigNames();
// Null: no such configuration.
const spec::Config* FindConfig(std::string_view name);
// Those of spec/profiles.toml, in its order.
const std::vector<std::string>& ProfileNames();
// None: no such profile.
std::optional<spec::Profile> FindProfile(std::string_view name);
const std::string& ProfileName(spec::Profile profile);
// Of kPciePresets, in its order (FindPciePreset).
const std::vector<std::string>& PciePresetNames();

// Empty if there is no such device or its factories are missing. `lockstep` has rtl as master and model as shadow.
NicFactory DeviceFactory(std::string_view name, const DeviceFactories& factories);

}  // namespace vireo::sim
