// SPDX-License-Identifier: Apache-2.0
// The owner of a Verilated class calls KeepCoverage before destroying it. No effect unless the build counts coverage
// (CMake's VIREO_COVERAGE) and a directory is set (coverage.h).
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
  // Verilator exports its counters only through a file.
  const std::string path = process.Path(".part");
  context.coveragep()->forcePerInstance(true);  // one point per instance
  context.coveragep()->write(path.c_str());
  if (!process.sums().Add(path)) std::fprintf(stderr, "coverage: could not read %s\n", path.c_str());
  (void)std::remove(path.c_str());
}
#else
inline void KeepCoverage(VerilatedContext& /*context*/) {}
#endif

}  // namespace vireo::sim
