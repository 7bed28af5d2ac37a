// SPDX-License-Identifier: Apache-2.0
// Figures as tables, as JSON, and those of several devices compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

void PrintTables(const std::vector<Row>& rows);
// What has no business to depend on the device. The number of figures that differ.
uint64_t Compare(const Options& options, const std::vector<Row>& rows);
// To options.json. Empty, or what went wrong.
std::string WriteJson(const Options& options, const std::vector<Row>& rows);

}  // namespace vireo::sim
