// SPDX-License-Identifier: Apache-2.0
// Figures as tables, as JSON, and those of several devices compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verif/bench/bench.h"

namespace vireo::verif {

void PrintTables(const std::vector<Row>& rows);
// What has no business to depend on the device. The number of figures that differ.
uint64_t Compare(const Options& options, const std::vector<Row>& rows);
// To options.json. Empty, or what went wrong.
std::string WriteJson(const Options& options, const std::vector<Row>& rows);
// Writes the generated blocks of options.page: figures in simulated time, which every device gives alike, and speeds.
// Empty, or what went wrong. The marks of a block: verif/repo/generated.py.
std::string UpdatePage(const Options& options, const std::vector<Row>& rows);

}  // namespace vireo::verif
