// SPDX-License-Identifier: Apache-2.0
// What a process's Verilated classes counted, added up: the one file of coverage that a test program leaves behind. It
// knows the lines of Verilator's format and no Verilated class; rtl_coverage.h has those.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vireo::sim {

class CoverageSums {
 public:
  // Adds the counts of a file that Verilator wrote. False: it is none, and nothing was added.
  bool Add(const std::string& path);
  // One file with all of it, for verilator_coverage. Nothing is written without a count. False: could not be written.
  bool Write(const std::string& path) const;
  const std::map<std::string, uint64_t>& counts() const { return counts_; }  // by Verilator's name of the point

 private:
  std::map<std::string, uint64_t> counts_;
};

// The sums of this process. At its end they go to `<pid>.dat` in the directory of the environment variable
// VIREO_COVERAGE_DIR; nowhere without one. A process that ends otherwise than by exit() leaves nothing.
class ProcessCoverage {
 public:
  static ProcessCoverage& Instance();
  // Empty: nobody wants to know.
  const std::string& directory() const { return directory_; }
  std::string Path(const char* suffix) const;
  CoverageSums& sums() { return sums_; }
  ProcessCoverage(const ProcessCoverage&) = delete;
  ProcessCoverage& operator=(const ProcessCoverage&) = delete;

 private:
  ProcessCoverage();
  ~ProcessCoverage();

  const std::string directory_;
  CoverageSums sums_;
};

}  // namespace vireo::sim
