// SPDX-License-Identifier: Apache-2.0
// rdma-core's own tests of its Python bindings, with both ends on one NIC. pyverbs_pass_list.txt lists those that must
// pass.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

const std::string kDirectory = VIREO_PYVERBS_DIR;
const std::string kPassList = kDirectory + "/pyverbs_pass_list.txt";

// The suite that the list is complete for: others have more tests.
bool IsDebian12() {
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line == "VERSION_ID=\"12\"") return true;
  }
  return false;
}

class Pyverbs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(simulator_.is_ready()); }

  // Returns the exit status of the run, and its output in `output`. An empty list of names: the whole suite.
  int Run(const std::string& list, const std::vector<std::string>& names, std::string& output) {
    // Debian builds pyverbs for its system Python, which need not be the first in PATH.
    std::vector<std::string> command = {"/usr/bin/python3",
                                        kDirectory + "/run_pyverbs.py",
                                        "--list",
                                        list,
                                        "--device",
                                        "vireo0",
                                        "--gid",
                                        "1",
                                        "--address",
                                        "10.0.0.1"};
    if (names.empty() && IsDebian12()) command.emplace_back("--complete");
    command.insert(command.end(), names.begin(), names.end());
    Program program(command, Seeing(simulator_.socket(0), {{"PYTHONDONTWRITEBYTECODE", "1"}}));
    const int status = program.Wait();
    output = program.Output();
    return status;
  }

  SimulatorProcess simulator_{{"--nics", "1", "--device", GetParam()}};
};

TEST_P(Pyverbs, PassListPasses) {
  // The whole list takes minutes on RTL: only tests of data transfer and connections run there.
  const std::vector<std::string> in_rtl = {"tests.test_cq_events", "tests.test_rdmacm"};
  std::string output;
  EXPECT_EQ(Run(kPassList, std::string(GetParam()) == "rtl" ? in_rtl : std::vector<std::string>(), output), 0)
      << output;
  std::printf("%s", output.c_str());  // reports passing tests that are not on the list
  EXPECT_EQ(simulator_.Stop(), 0);
}
INSTANTIATE_TEST_SUITE_P(Devices, Pyverbs, testing::Values("model", "rtl"),
                         [](const auto& info) { return std::string(info.param) == "rtl" ? "OnRtl" : "OnModel"; });

// The list is enforced: a skipped or missing test does not count as passed.
class PyverbsList : public Pyverbs {};
TEST_P(PyverbsList, MissingAndSkippedTestsAreDetected) {
  const std::string list = std::filesystem::temp_directory_path() / ("vireo_list_" + std::to_string(getpid()));
  for (const char* test :
       {"tests.test_pd.PDTest.test_there_is_none", "tests.test_atomic.AtomicTest.test_xrc_atomic_fetch_and_add"}) {
    std::ofstream(list) << "tests.test_pd.PDTest.test_alloc_pd\n" << test << "\n";
    std::string output;
    EXPECT_EQ(Run(list, {"tests.test_pd", "tests.test_atomic"}, output), 1);
    EXPECT_NE(output.find(std::string("on the list, did not pass: ") + test), std::string::npos) << output;
    EXPECT_EQ(output.find("did not pass: tests.test_pd.PDTest.test_alloc_pd"), std::string::npos) << output;
    EXPECT_NE(output.find("is not on the list: tests.test_pd.PDTest.test_dealloc_pd"), std::string::npos) << output;
  }
  // A reason that is none any more.
  std::ofstream(list) << "tests.test_pd.PDTest.test_alloc_pd\nskips tests.test_pd.PDTest  # reason\n";
  std::string output;
  EXPECT_EQ(Run(list, {"tests.test_pd"}, output), 1);
  EXPECT_NE(output.find("is on the list as skipped: tests.test_pd.PDTest.test_dealloc_pd"), std::string::npos)
      << output;
  EXPECT_EQ(output.find("is on the list as skipped: tests.test_pd.PDTest.test_alloc_pd"), std::string::npos) << output;
  std::filesystem::remove(list);
}
INSTANTIATE_TEST_SUITE_P(Devices, PyverbsList, testing::Values("model"), [](const auto&) { return "OnModel"; });

}  // namespace
}  // namespace vireo::sim
