// SPDX-License-Identifier: Apache-2.0
#include "sim/device/devices.h"

#include <memory>

#include "sim/pcie/pcie_link.h"

namespace vireo::sim {

const std::vector<std::string>& DeviceNames() {
  static const std::vector<std::string> names = {"model", "rtl", "lockstep"};
  return names;
}

const std::vector<std::string>& ConfigNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const spec::Config* config : spec::kConfigs) all.emplace_back(config->name);
    return all;
  }();
  return names;
}

const spec::Config* FindConfig(std::string_view name) {
  for (const spec::Config* config : spec::kConfigs) {
    if (name == config->name) return config;
  }
  return nullptr;
}

const std::vector<std::string>& ProfileNames() {
  static const std::vector<std::string> names = {"rfc-v2", "vireo"};  // by value
  return names;
}

std::optional<spec::Profile> FindProfile(std::string_view name) {
  for (const spec::Profile profile : {spec::Profile::kRfcV2, spec::Profile::kVireo}) {
    if (name == ProfileName(profile)) return profile;
  }
  return std::nullopt;
}

const std::string& ProfileName(spec::Profile profile) { return ProfileNames().at(static_cast<size_t>(profile)); }

const std::vector<std::string>& PciePresetNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const PcieParameters& preset : kPciePresets) all.emplace_back(preset.name);
    return all;
  }();
  return names;
}

NicFactory DeviceFactory(std::string_view name, const DeviceFactories& factories) {
  if (name == "model") return factories.model;
  if (name == "rtl") return factories.rtl;
  if (name != "lockstep" || !factories.model || !factories.rtl) return {};
  return [factories](const NicContext& context) -> std::unique_ptr<Nic> {
    auto nic = std::make_unique<LockstepNic>(context, factories.rtl, factories.model, factories.lockstep);
    if (!nic->is_built()) return nullptr;
    return nic;
  };
}

}  // namespace vireo::sim
