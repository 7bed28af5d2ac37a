// SPDX-License-Identifier: Apache-2.0
// Names that programs take from command lines and files, and what they mean: of devices (--device; their factories come
// from who links them), of configurations (--config) and of PCIe presets (--preset).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/device/lockstep_nic.h"
#include "sim/nic/nic_context.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct DeviceFactories {
  NicFactory model;  // one that is not linked is empty
  NicFactory rtl;
  LockstepOptions lockstep;
};

// model, rtl, lockstep.
const std::vector<std::string>& DeviceNames();
// Of spec::kConfigs, in its order.
const std::vector<std::string>& ConfigNames();
// Null if there is no configuration of this name.
const spec::Config* FindConfig(std::string_view name);
// Of kPciePresets, in its order (FindPciePreset).
const std::vector<std::string>& PciePresetNames();

// Empty if there is no device of this name, or if what it needs is not there. `lockstep` is rtl as master and model as
// shadow.
NicFactory DeviceFactory(std::string_view name, const DeviceFactories& factories);

}  // namespace vireo::sim
