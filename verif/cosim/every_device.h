// SPDX-License-Identifier: Apache-2.0
// All devices and configurations for tests of whole NICs: model, RTL and both in lockstep. Tests must not depend on
// which one they run on.
// Programs with VIREO_SYSTEMC_DEVICES run on the SystemC module instead (verif/platform/systemc_nic.h): alone, in
// lockstep with the model, and in lockstep with RTL.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Name of the device (DeviceNames()), configuration.
using EveryDevice = std::tuple<std::string, const spec::Config*>;
// The same, and whether the driver requests packed rings.
using EveryDeviceAndRing = std::tuple<std::string, const spec::Config*, bool>;

inline std::string NameOf(const testing::TestParamInfo<EveryDevice>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param)->name;
}
inline std::string NameOfWithRing(const testing::TestParamInfo<EveryDeviceAndRing>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param)->name +
         (std::get<2>(info.param) ? "_packed" : "_split");
}

// `kDevices` run on every configuration and kind of ring. The others have each configuration and each kind of ring
// once: every combination runs on them in lockstep too, or equals one that runs on `kDevices`.
#ifdef VIREO_SYSTEMC_DEVICES
inline constexpr std::array kDevices = {"systemc_model"};
inline constexpr std::array kSampledDevices = {"systemc_rtl", "systemc"};
#else
inline constexpr std::array kDevices = {"model", "lockstep"};
inline constexpr std::array kSampledDevices = {"rtl"};
#endif

inline std::vector<EveryDeviceAndRing> EveryDeviceWithEveryRing() {
  std::vector<EveryDeviceAndRing> all;
  for (const char* device : kDevices) {
    for (const spec::Config* config : {&spec::kNic100, &spec::kNic1}) {
      for (const bool packed : {false, true}) all.emplace_back(device, config, packed);
    }
  }
  for (const char* device : kSampledDevices) {
    all.emplace_back(device, &spec::kNic100, true);
    all.emplace_back(device, &spec::kNic1, false);
  }
  return all;
}

// Likewise; a sampled device has one configuration.
inline std::vector<EveryDevice> EveryDeviceOnce() {
  std::vector<EveryDevice> all;
  for (const char* device : kDevices) {
    for (const spec::Config* config : {&spec::kNic100, &spec::kNic1}) all.emplace_back(device, config);
  }
  for (const char* device : kSampledDevices) all.emplace_back(device, &spec::kNic100);
  return all;
}

}  // namespace vireo::sim

// For a suite of EveryDevice, which chooses its own rings.
#define VIREO_ON_EVERY_DEVICE_ONCE(Suite) \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::ValuesIn(::vireo::sim::EveryDeviceOnce()), ::vireo::sim::NameOf)
// For a suite of EveryDeviceAndRing.
#define VIREO_ON_EVERY_DEVICE(Suite)                                                                    \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, testing::ValuesIn(::vireo::sim::EveryDeviceWithEveryRing()), \
                           ::vireo::sim::NameOfWithRing)
