// SPDX-License-Identifier: Apache-2.0
// Reads from a TOML file which NICs there are, of what device, how they are joined, and what goes wrong on their links.
// docs/topology.md has every key, with its range; examples/topology.toml is one.
//
// Everything in a file counts or is an error: "FILE:LINE:COLUMN: what is wrong, and what is allowed".
#pragma once

#include <string>
#include <string_view>

#include "host/driver/result.h"
#include "sim/simulator/simulation.h"

namespace vireo::sim {

// `every`: device, configuration and PCIe preset of NICs of which the file does not say them.
host::Result<Simulation> ReadTopology(const std::string& path, const HostOptions& every);
// The same of its text; `name` is what errors call it.
host::Result<Simulation> ParseTopology(std::string_view text, const std::string& name, const HostOptions& every);

}  // namespace vireo::sim
