// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/overlay.h"

#include <dlfcn.h>

#include <cstdlib>

// Non-null if this program is linked with the address sanitizer.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void __asan_init() __attribute__((weak));

namespace vireo::sim {

std::vector<std::pair<std::string, std::string>> OverlayEnvironment(const std::string& sockets) {
  std::vector<std::pair<std::string, std::string>> environment;
  std::string preload = VIREO_OVERLAY;
  Dl_info runtime{};
  if (&__asan_init != nullptr && dladdr(reinterpret_cast<void*>(&__asan_init), &runtime) != 0) {
    preload = std::string(runtime.dli_fname) + ":" + preload;  // the sanitizer must be first
    environment.emplace_back("ASAN_OPTIONS", "detect_leaks=0");
  }
  if (const char* const already = std::getenv("LD_PRELOAD"); already != nullptr && *already != '\0') {
    preload += std::string(":") + already;
  }
  environment.emplace_back("LD_PRELOAD", preload);
  environment.emplace_back("VIREO_SOCKET", sockets);
  return environment;
}

}  // namespace vireo::sim
