// SPDX-License-Identifier: Apache-2.0
// Prints figures as tables and JSON, and compares devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/bench/bench.h"

namespace vireo::sim {

void PrintTables(const std::vector<Row>& rows);
// Compares the figures in simulated time, which must be equal on all devices. Returns the number that differ.
uint64_t Compare(const Options& options, const std::vector<Row>& rows);
// Writes options.json. Returns "" or an error.
std::string WriteJson(const Options& options, const std::vector<Row>& rows);
// Writes the generated blocks of options.page: figures in simulated time, which every device gives alike, those of the
// first device with packed rings in columns of their own, and speeds.
// Empty, or what went wrong. The marks of a block: verif/repo/generated.py.
std::string UpdatePage(const Options& options, const std::vector<Row>& rows, const std::vector<Row>& packed);

}  // namespace vireo::sim
