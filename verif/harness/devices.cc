// SPDX-License-Identifier: Apache-2.0
#include "verif/harness/devices.h"

#include <memory>

namespace vireo::verif {

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

}  // namespace vireo::verif
