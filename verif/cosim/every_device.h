// SPDX-License-Identifier: Apache-2.0
// All devices and configurations for tests of whole NICs: model, RTL and both in lockstep. Tests must not depend on
// which one they run on.
// Programs with VIREO_SYSTEMC_DEVICES run on the SystemC module instead (verif/platform/systemc_nic.h): alone, in
// lockstep with the model, and in lockstep with RTL.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "spec/gen/vireo_spec.h"
#include "verif/common/full_nic1.h"

namespace vireo::sim {

// Name of the device (DeviceNames()), configuration.
using EveryDevice = std::tuple<std::string, const spec::Config*>;
// The same, and whether the driver requests packed rings.
using EveryDeviceAndRing = std::tuple<std::string, const spec::Config*, bool>;

// The small NIC. VIREO_NIC1 names another one, which then has the names of its cases: nic1_rc, or nic1_full, which only
// the program of verif/mutants has as RTL. Cases that need what it does not have fail.
inline const spec::Config* Nic1OfTests() {
  const char* const name = std::getenv("VIREO_NIC1");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) return &spec::kNic1;
  if (std::string_view(name) == "nic1_full") return &verif::kFullNic1;
  for (const spec::Config* const known : spec::kConfigs) {
    if (std::string_view(known->name) == name) return known;
  }
  std::fprintf(stderr, "VIREO_NIC1=%s: no such configuration\n", name);
  std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe)
}

inline std::string NameOn(const std::string& device, const spec::Config* config) {
  return device + "_" + (config == &spec::kNic100 ? config->name : spec::kNic1.name);
}
inline std::string NameOf(const testing::TestParamInfo<EveryDevice>& info) {
  return NameOn(std::get<0>(info.param), std::get<1>(info.param));
}
inline std::string NameOfWithRing(const testing::TestParamInfo<EveryDeviceAndRing>& info) {
  return NameOn(std::get<0>(info.param), std::get<1>(info.param)) + (std::get<2>(info.param) ? "_packed" : "_split");
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
    for (const spec::Config* config : {&spec::kNic100, Nic1OfTests()}) {
      for (const bool packed : {false, true}) all.emplace_back(device, config, packed);
    }
  }
  for (const char* device : kSampledDevices) {
    all.emplace_back(device, &spec::kNic100, true);
    all.emplace_back(device, Nic1OfTests(), false);
  }
  return all;
}

// Likewise; a sampled device has one configuration.
inline std::vector<EveryDevice> EveryDeviceOnce() {
  std::vector<EveryDevice> all;
  for (const char* device : kDevices) {
    for (const spec::Config* config : {&spec::kNic100, Nic1OfTests()}) all.emplace_back(device, config);
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
