// SPDX-License-Identifier: Apache-2.0
#include "sim/device/nic_library.h"

#include <dlfcn.h>

#include "sim/device/nic_pins.h"

namespace vireo::sim {

NicLibrary LoadNicLibrary(const std::string& path, const spec::Config& config) {
  // A name without a slash would be searched for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {{}, dlerror()};
  const auto make = reinterpret_cast<MakeNicPins>(dlsym(library, kMakeNicPins));
  const auto parameters = reinterpret_cast<NicLibraryParameters>(dlsym(library, kNicLibraryParameters));
  if (make == nullptr || parameters == nullptr) return {{}, path + " is no RTL of a NIC"};
  const uint32_t* value = parameters();
  for (const spec::ParameterInfo& parameter : spec::kParameterInfo) {
    if (const uint32_t wanted = config.*parameter.member; *value != wanted) {
      return {{},
              path + " is RTL of another configuration: " + parameter.name + " is " + std::to_string(*value) +
                  ", not " + std::to_string(wanted)};
    }
    ++value;
  }
  return {[make, &config](const spec::Config& of) -> std::unique_ptr<NicPins> {
            return &of == &config ? std::unique_ptr<NicPins>(make()) : nullptr;
          },
          ""};
}

}  // namespace vireo::sim
