// SPDX-License-Identifier: Apache-2.0
// Stress tests: programs that start and exit, many at once, and that are killed. No leaks, and no effect on other
// programs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

// --- Start and stop

// Number of processes whose command line contains `text`.
size_t ProcessesWith(const std::string& text) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    const std::string command{std::istreambuf_iterator<char>(file), {}};
    if (command.find(text) != std::string::npos) ++count;
  }
  return count;
}

size_t UnixSocketsBelow(const std::string& directory) {
  size_t count = 0;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) count += line.find(directory) != std::string::npos ? 1 : 0;
  return count;
}

TEST(StressStartStop, HundredSimulationsLeakNoProcessFileOrSocket) {
  std::string pattern = (std::filesystem::temp_directory_path() / "vireo_life_XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path top = pattern, temporary = top / "tmp", home = top / "up";
  std::filesystem::create_directory(temporary);
  const auto vireo = [&](const std::string& arguments) {
    std::vector<std::string> command = WordsOf(std::string(VIREO_RUN) + " " + arguments);
    Program program(command, {{"TMPDIR", temporary}}, /*yields=*/false);
    const int code = program.Wait();
    EXPECT_EQ(code, 0) << arguments << "\n" << program.Output();
    return program.Output();
  };
  const std::string where = " --directory " + home.string();
  for (int cycle = 0; cycle < 100 && !HasFailure(); ++cycle) {
    SCOPED_TRACE(cycle);
    vireo("up" + where);
    // Stop a simulation in use: every fourth one has a program on it that runs until stopped.
    std::unique_ptr<Program> program;
    if (cycle % 4 == 0) {
      program = std::make_unique<Program>(std::vector<std::string>{"stdbuf", "-oL", "ibv_asyncwatch"},
                                          Seeing(home / "nic0.sock"));
      EXPECT_TRUE(AwaitOutput("async event FD", *program)) << program->Output();
    } else {
      EXPECT_NE(vireo("exec" + where + " --nic 1 -- ibv_devices").find("vireo1"), std::string::npos);
    }
    vireo("down" + where);
    EXPECT_EQ(UnixSocketsBelow(top), 0U);
    for (const auto& entry : std::filesystem::directory_iterator(home)) EXPECT_EQ(entry.path().filename(), "log");
  }
  EXPECT_EQ(ProcessesWith(top), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  std::filesystem::remove_all(top);
}

TEST(StressStartStop, HundredProgramsLeakNothing) {
  SimulatorProcess simulator({"--no-monitor"});  // it remembers buffers that are gone, up to a bound
  ASSERT_TRUE(simulator.is_ready());
  const size_t descriptors = FootprintOf(simulator.pid()).descriptors;
  const auto run = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) TcpPair(simulator, "ibv_rc_pingpong -g 1 -e -n 2").ExpectGoodEnd();
  };
  run(10);
  const Footprint before = AwaitQuiet(simulator, descriptors);
  run(50);
  const Footprint after = AwaitQuiet(simulator, descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.mappings, before.mappings + 8);  // of the allocator
  EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  EXPECT_EQ(simulator.Stop(), 0);
}

// --- Many programs, and killed programs

class Stress : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(simulator_.is_ready()); }
  // The simulator exits with another status only for device errors.
  void TearDown() override { EXPECT_EQ(simulator_.Stop(), 0); }

  SimulatorProcess simulator_{{"--device", GetParam()}};
};

TEST_P(Stress, SixtyFourConcurrentConnections) {
  TcpPair(simulator_, "ib_send_bw -F -n 5 -s 1000 -e -q 64", {}, /*yields=*/false).ExpectGoodEnd();
}

// 64 server programs on one NIC, 64 client programs on the other.
TEST(StressMany, SixtyFourConcurrentProgramPairs) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  std::vector<std::unique_ptr<TcpPair>> pairs;
  for (int i = 0; i < 64; ++i) {
    pairs.push_back(
        std::make_unique<TcpPair>(simulator, "ibv_rc_pingpong -g 1 -e -c -n 200", Environment{}, /*yields=*/false));
  }
  for (const auto& pair : pairs) pair->ExpectGoodEnd();
  EXPECT_EQ(simulator.Stop(), 0);
}

struct Death {
  const char* device;
  bool only_if_all;
};
void PrintTo(const Death& death, std::ostream* out) { *out << death.device; }

// Repeatedly: the small NIC has 14 queue pairs, of which each program takes 5.
class StressKill : public testing::TestWithParam<Death> {};
TEST_P(StressKill, KilledProgramLeaksNothing) {
  if (GetParam().only_if_all && !AreAllProgramsWanted()) GTEST_SKIP() << kOnlyIfAll;
  SimulatorProcess small({"--device", GetParam().device, "--config", "nic1"});
  ASSERT_TRUE(small.is_ready());
  const size_t descriptors = FootprintOf(small.pid()).descriptors;
  for (const bool server_dies : {true, false, true}) {
    ExpectPeerIsNotified(small, "ib_write_bw -F -b -q 5 -s 4096 -t 16 -u 10", server_dies);
  }
  TcpPair(small, "ib_write_bw -F -q 10 -n 20 -s 4096", {}, /*yields=*/false).ExpectGoodEnd();
  AwaitQuiet(small, descriptors);
  EXPECT_EQ(small.Stop(), 0);
}

// The prefix that runs a command as user nobody, if that user can access the build and the sockets; else empty.
std::string OtherUser(const SimulatorProcess& simulator) {
  if (geteuid() != 0) return "";
  chmod(simulator.directory().c_str(), 0711);
  for (const size_t nic : {0, 1}) chmod(simulator.socket(nic).c_str(), 0666);
  const std::string become = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  Program devices(WordsOf(become + "ibv_devices"), Seeing(simulator.socket(0)));
  return devices.Wait() == 0 && devices.Output().find("vireo0") != std::string::npos ? become : "";
}

// A writer, a reader and a pingpong share each NIC, as two users where possible.
TEST_P(Stress, UsersOfOneNicAreIsolated) {
  const std::string other = OtherUser(simulator_);
  if (other.empty()) std::printf("one user only: other users cannot access the build\n");
  TcpPair write(simulator_, "ib_write_bw -F -b -q 2 -n 50 -s 16384");
  TcpPair read(simulator_, other + "ib_read_bw -F -n 50 -s 16384");
  TcpPair ping(simulator_, other + "ibv_rc_pingpong -g 1 -e -c -n 50");
  for (TcpPair* pair : {&write, &read, &ping}) pair->ExpectGoodEnd();
}

INSTANTIATE_TEST_SUITE_P(Devices, Stress, testing::Values("model", "rtl"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Devices, StressKill, testing::Values(Death{"model", false}, Death{"rtl", true}),
                         [](const auto& info) { return std::string(info.param.device); });

}  // namespace
}  // namespace vireo::sim
