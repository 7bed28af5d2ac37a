// SPDX-License-Identifier: Apache-2.0
// Who owns a Verilated class calls KeepCoverage before it goes. Does nothing unless the build counts coverage (CMake's
// VIREO_COVERAGE) and somebody asked for it (coverage.h).
#pragma once

#include <verilated.h>

#ifdef VIREO_COVERAGE
#include <verilated_cov.h>

#include <cstdio>
#include <string>

#include "sim/common/coverage.h"
#endif

namespace vireo::sim {

#ifdef VIREO_COVERAGE
inline void KeepCoverage(VerilatedContext& context) {
  ProcessCoverage& process = ProcessCoverage::Instance();
  if (process.directory().empty()) return;
  // Verilator's counters are to be had by a file only.
  const std::string path = process.Path(".part");
  context.coveragep()->forcePerInstance(true);  // a point counts for the block that it lies in
  context.coveragep()->write(path.c_str());
  if (!process.sums().Add(path)) std::fprintf(stderr, "coverage: could not read %s\n", path.c_str());
  (void)std::remove(path.c_str());
}
#else
inline void KeepCoverage(VerilatedContext& /*context*/) {}
#endif

}  // namespace vireo::sim
