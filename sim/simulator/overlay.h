// SPDX-License-Identifier: Apache-2.0
// The environment that makes an unmodified program use the simulated NICs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {

// LD_PRELOAD and VIREO_SOCKET for the services at `sockets`, separated by ':'; empty: the program uses the system's
// own devices. Keeps an existing LD_PRELOAD. In an address sanitizer build the sanitizer is preloaded too and checks
// the program; leak detection is off, because the program may not be ours.
std::vector<std::pair<std::string, std::string>> OverlayEnvironment(const std::string& sockets);

}  // namespace vireo::sim
