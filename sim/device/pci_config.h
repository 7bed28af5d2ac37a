// SPDX-License-Identifier: Apache-2.0
// The configuration space of every simulated device.
#pragma once

#include "model/pci/pci_config.h"

namespace vireo::sim {

using model::PciConfig;

}  // namespace vireo::sim
