// SPDX-License-Identifier: Apache-2.0
// How a program that knows nothing of simulated NICs comes to see them: what is added to its environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {

// Of a program that sees the NICs behind these sockets, separated by ':'; none: it sees what the system has. What is
// preloaded already stays so. Of a build with the address sanitizer the overlay brings the sanitizer along, which then
// watches the program too; what a program that is not ours leaves allocated at its end is not reported.
std::vector<std::pair<std::string, std::string>> OverlayEnvironment(const std::string& sockets);

}  // namespace vireo::sim
