// SPDX-License-Identifier: Apache-2.0
// Pairs of programs as a parameterized test: rows on devices. The pairs of one binary share a simulator per device.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/program_pair.h"

namespace vireo::sim {

struct Case {
  const ProgramRow* row;
  const char* device;
  bool only_if_all = false;
  const char* profile = "vireo";
};
// Prints names instead of pointers in the test's output.
inline void PrintTo(const Case& one, std::ostream* out) {
  *out << one.row->name << " on " << one.device << ", profile " << one.profile;
}

template <size_t kRows>
std::vector<Case> CasesOf(const ProgramRow (&rows)[kRows], const char* profile = "vireo") {
  std::vector<Case> cases;
  for (const ProgramRow& row : rows) {
    for (const char* device : {"model", "rtl", "lockstep"}) {
      if (std::string_view(row.devices).find(device[0]) != std::string_view::npos)
        cases.push_back({&row, device, false, profile});
    }
    if (std::string_view(row.devices).find('R') != std::string_view::npos)
      cases.push_back({&row, "rtl", true, profile});
  }
  return cases;
}

// Without what `env` sets for it.
inline std::string ProgramOf(const char* command) {
  for (const std::string& word : WordsOf(command)) {
    if (word != "env" && word.find('=') == std::string::npos) return word;
  }
  return "";
}

inline std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string device = info.param.device;
  device[0] = static_cast<char>(device[0] - 'a' + 'A');
  return std::string(info.param.row->name) + "On" + device;
}

class Pairs : public testing::TestWithParam<Case> {
 protected:
  // The simulator exits with another status than 0 only for device errors: in lockstep, a difference.
  static void TearDownTestSuite() {
    for (auto& [name, simulator] : Simulators()) EXPECT_EQ(simulator.Stop(), 0) << name;
    Simulators().clear();
  }
  void SetUp() override {
    if (GetParam().only_if_all && !AreAllProgramsWanted()) GTEST_SKIP() << kOnlyIfAll;
    if (const std::string program = ProgramOf(GetParam().row->server); !IsInstalled(program)) {
      GTEST_SKIP() << program << " is not installed (docs/dependencies.md)";
    }
    const auto& [row, device, only_if_all, profile] = GetParam();
    const Arguments arguments{"--device", device, "--profile", profile};
    simulator_ = &Simulators().try_emplace(std::string(device) + " " + profile, arguments).first->second;
    ASSERT_TRUE(simulator_->is_ready());
  }

  SimulatorProcess* simulator_ = nullptr;

 private:
  using Arguments = std::vector<std::string>;
  static std::map<std::string, SimulatorProcess>& Simulators() {
    static std::map<std::string, SimulatorProcess> simulators;
    return simulators;
  }
};

}  // namespace vireo::sim
