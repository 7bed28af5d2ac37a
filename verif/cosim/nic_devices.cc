// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/nic_devices.h"

#include <memory>
#include <string_view>

#include "Vnic1.h"
#include "Vnic100.h"
#include "verif/harness/model_nic.h"
#include "verif/harness/rtl_nic.h"
#include "verif/harness/rtl_pins.h"

namespace vireo::verif {

NicFactory NicDeviceFactory(std::string_view name, const LockstepOptions& lockstep) {
  DeviceFactories factories;
  factories.model = [](const NicContext& context) { return std::make_unique<ModelNic>(context); };
  factories.rtl = [](const NicContext& context) -> std::unique_ptr<Nic> {
    // A configuration that is not Verilated has no RTL.
    if (&context.config == &spec::kNic100)
      return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic100>>());
    if (&context.config == &spec::kNic1) return std::make_unique<RtlNic>(context, std::make_unique<RtlPins<Vnic1>>());
    return nullptr;
  };
  factories.lockstep = lockstep;
  return DeviceFactory(name, factories);
}

}  // namespace vireo::verif
