// SPDX-License-Identifier: Apache-2.0
// Which device a name means. Programs take the name from --device; the factories come from who links the devices.
#pragma once

#include <string>
#include <string_view>

#include "verif/harness/lockstep_nic.h"
#include "verif/harness/topology.h"

namespace vireo::verif {

struct DeviceFactories {
  NicFactory model;  // one that is not linked is empty
  NicFactory rtl;
  LockstepOptions lockstep;
};

inline constexpr std::string_view kDeviceNames = "model|rtl|lockstep";

// Empty if there is no device of this name, or if what it needs is not there. `lockstep` is rtl as master and model as
// shadow.
NicFactory DeviceFactory(std::string_view name, const DeviceFactories& factories);

}  // namespace vireo::verif
