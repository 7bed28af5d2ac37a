// SPDX-License-Identifier: Apache-2.0
#include "sim/common/coverage.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace vireo::sim {
namespace {

constexpr const char* kHeader = "# SystemC::Coverage-3";

std::string Directory() {
  const char* text = std::getenv("VIREO_COVERAGE_DIR");
  return text == nullptr ? "" : text;
}

}  // namespace

bool CoverageSums::Add(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line != kHeader) return false;
  std::map<std::string, uint64_t> added;
  while (std::getline(file, line)) {
    // C 'name' count
    const size_t name_end = line.rfind("' ");
    if (!line.starts_with("C '") || name_end == std::string::npos || name_end < 3) return false;
    char* end = nullptr;
    const uint64_t count = std::strtoull(line.c_str() + name_end + 2, &end, 10);
    if (*end != '\0') return false;
    added[line.substr(3, name_end - 3)] += count;
  }
  for (const auto& [name, count] : added) counts_[name] += count;
  return true;
}

bool CoverageSums::Write(const std::string& path) const {
  if (counts_.empty()) return true;
  std::ofstream file(path, std::ios::binary);
  file << kHeader << '\n';
  for (const auto& [name, count] : counts_) file << "C '" << name << "' " << count << '\n';
  file.flush();
  return file.good();
}

ProcessCoverage& ProcessCoverage::Instance() {
  static ProcessCoverage instance;
  return instance;
}

ProcessCoverage::ProcessCoverage() : directory_(Directory()) {}

ProcessCoverage::~ProcessCoverage() {
  if (directory_.empty()) return;
  if (!sums_.Write(Path(".dat"))) std::fprintf(stderr, "coverage: could not write %s\n", Path(".dat").c_str());
}

std::string ProcessCoverage::Path(const char* suffix) const {
  return directory_ + "/" + std::to_string(getpid()) + suffix;
}

}  // namespace vireo::sim
