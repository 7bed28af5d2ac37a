// SPDX-License-Identifier: Apache-2.0
// nic1 with the features that it leaves out, and that need no wide data path: a small NIC for tests of all of them.
#pragma once

#include "spec/gen/vireo_spec.h"

namespace vireo::verif {

inline constexpr spec::Config kFullNic1 = [] {
  spec::Config config = spec::kNic1;
  config.fast_registration = config.cqe_elements = 1;
  return config;
}();

}  // namespace vireo::verif
