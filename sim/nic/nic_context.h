// SPDX-License-Identifier: Apache-2.0
// The constructor arguments of a device backend, and the factory type with which a topology creates its NICs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/nic/nic.h"
#include "sim/time/core_clock.h"
#include "sim/time/scheduler.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// All references outlive the device.
struct NicContext {
  const std::string& name;
  uint16_t number;
  const spec::Config& config;
  CoreClock clock;
  Scheduler& scheduler;
  NicEnvironment& environment;
  bool is_metered = false;  // the model counts what its blocks do (model/common/meters.h)
};
using NicFactory = std::function<std::unique_ptr<Nic>(const NicContext&)>;

}  // namespace vireo::sim
