// SPDX-License-Identifier: Apache-2.0
// Coverage counts of all Verilated classes of a process, summed into one file per test program. Handles Verilator's
// file format only; rtl_coverage.h handles the Verilated classes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace vireo::sim {

class CoverageSums {
 public:
  // Adds the counts of a file that Verilator wrote. False: not such a file; nothing was added.
  bool Add(const std::string& path);
  // Writes all counts to one file for verilator_coverage; no file if there are no counts. False: write error.
  bool Write(const std::string& path) const;
  const std::map<std::string, uint64_t>& counts() const { return counts_; }  // by Verilator's name of the point

 private:
  std::map<std::string, uint64_t> counts_;
};

// The sums of this process, written at exit() to `<pid>.dat` in the directory VIREO_COVERAGE_DIR; nothing is written if
// that is not set or if the process ends without exit().
class ProcessCoverage {
 public:
  static ProcessCoverage& Instance();
  // Empty: coverage is off.
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
