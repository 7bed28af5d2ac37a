// SPDX-License-Identifier: Apache-2.0
// RTL of any configuration, Verilated into a shared library of its own (sim/device/library), loaded at run time.
#pragma once

#include <memory>
#include <string>

#include "sim/device/nic_devices.h"
#include "spec/gen/vireo_config.h"

namespace vireo::sim {

class NicPins;

// The functions that the library exports. Both sides are compiled from the same headers: the build is named by a hash
// of them (sim/explore/rtl.py).
extern "C" {
using MakeNicPins = NicPins* (*)();                  // the caller owns it
using NicLibraryParameters = const uint32_t* (*)();  // of the configuration, in the order of spec::kParameterInfo
}
inline constexpr const char* kMakeNicPins = "VireoMakeNicPins";
inline constexpr const char* kNicLibraryParameters = "VireoNicLibraryParameters";

struct NicLibrary {
  PinsFactory pins;   // empty if there is an error
  std::string error;  // cannot be loaded, is no such library, or of another configuration than `config`
};
// The library stays loaded. `config` outlives the factory, which makes pins for it only.
NicLibrary LoadNicLibrary(const std::string& path, const spec::Config& config);

}  // namespace vireo::sim
