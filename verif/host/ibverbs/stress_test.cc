// SPDX-License-Identifier: Apache-2.0
// Programs that come and go, many at once, that are killed, and that go on for long: nothing of them stays, and nobody
// else is disturbed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "verif/cosim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::verif {
namespace {

// --- Start and stop

// How many lines of the files, processes' command lines included, name `text`.
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

TEST(StressLife, AHundredSimulationsLeaveNoProcessFileOrSocket) {
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
    // Who ends a simulation in the middle of something: every fourth has a program on it that does not end by itself.
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

// When it has let go of all but so many descriptors: of a program's end it may learn a little later than we do.
Footprint AwaitQuiet(const SimulatorProcess& simulator, size_t descriptors) {
  constexpr int kLooks = 1000, kLookUs = 10'000;
  Footprint now;
  for (int looks = 0; looks < kLooks; ++looks) {
    now = FootprintOf(simulator.pid());
    if (now.descriptors <= descriptors) break;
    usleep(kLookUs);
  }
  EXPECT_EQ(now.descriptors, descriptors);
  return now;
}

TEST(StressLife, AHundredProgramsLeaveNothingInTheSimulator) {
  SimulatorProcess simulator;
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
  EXPECT_LE(after.mappings, before.mappings + 8);  // the allocator's own
  EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  EXPECT_EQ(simulator.Stop(), 0);
}

// --- Many, and death

struct System {
  const char* device;
  // At once. RTL takes seconds of a processor for each, so other devices would have fewer.
  const char* connections;
};
void PrintTo(const System& system, std::ostream* out) { *out << system.device; }

class Stress : public testing::TestWithParam<System> {
 protected:
  void SetUp() override { ASSERT_TRUE(simulator_.is_ready()); }
  // Nothing but a device that does what it must not ends a simulator with another status.
  void TearDown() override { EXPECT_EQ(simulator_.Stop(), 0); }

  SimulatorProcess simulator_{{"--device", GetParam().device}};
};
std::string NameOf(const testing::TestParamInfo<System>& info) { return info.param.device; }

TEST_P(Stress, ManyConnectionsAtOnce) {
  TcpPair(simulator_, std::string("ib_send_bw -F -n 5 -s 1000 -e -q ") + GetParam().connections, {}, /*yields=*/false)
      .ExpectGoodEnd();
}

// Of as many programs: 64 servers on one NIC, 64 clients on the other.
TEST(StressMany, SixtyFourPairsOfProgramsAtOnce) {
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

// Of two programs that are in the middle of traffic one dies: the other ends too, and says why.
void ExpectTheOtherIsTold(const SimulatorProcess& simulator, const std::string& command, bool server_dies) {
  SCOPED_TRACE(server_dies ? "the server dies" : "the client dies");
  // It says a line for each second of traffic. The other needs a processor to learn what happened, whoever else runs.
  TcpPair pair(simulator, "stdbuf -oL " + command + " --run_infinitely -D 1", {}, /*yields=*/false);
  ASSERT_NE(pair.client, nullptr);
  ASSERT_TRUE(AwaitOutput(" 4096 ", *pair.client)) << pair.client->Output();
  Program& victim = server_dies ? pair.server : *pair.client;
  Program& other = server_dies ? *pair.client : pair.server;
  victim.Kill();
  EXPECT_EQ(victim.Wait(), 128 + SIGKILL);
  EXPECT_GT(other.Wait(), 0);
  // IBV_WC_RETRY_EXC_ERR; or, if the memory was gone before the connection, IBV_WC_REM_OP_ERR.
  const std::string output = other.Output();
  EXPECT_TRUE(output.find("Failed status 12") != std::string::npos ||
              output.find("Failed status 11") != std::string::npos)
      << output;
}

// Again and again: the small NIC has 14 queue pairs, of which each takes 5.
TEST_P(Stress, AProgramThatIsKilledTakesNothingWithIt) {
  SimulatorProcess small({"--device", GetParam().device, "--config", "nic1"});
  ASSERT_TRUE(small.is_ready());
  const size_t descriptors = FootprintOf(small.pid()).descriptors;
  for (const bool server_dies : {true, false, true}) {
    ExpectTheOtherIsTold(small, "ib_write_bw -F -b -q 5 -s 4096 -t 16 -u 10", server_dies);
  }
  TcpPair(small, "ib_write_bw -F -q 10 -n 20 -s 4096", {}, /*yields=*/false).ExpectGoodEnd();
  AwaitQuiet(small, descriptors);
  EXPECT_EQ(small.Stop(), 0);
}

// Nobody, if somebody else may use what was built and reach the sockets; empty: one user is all that there is.
std::string OtherUser(const SimulatorProcess& simulator) {
  if (geteuid() != 0) return "";
  chmod(simulator.directory().c_str(), 0711);
  for (const size_t nic : {0, 1}) chmod(simulator.socket(nic).c_str(), 0666);
  const std::string become = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  Program devices(WordsOf(become + "ibv_devices"), Seeing(simulator.socket(0)));
  return devices.Wait() == 0 && devices.Output().find("vireo0") != std::string::npos ? become : "";
}

// A writer, a reader and a pingpong share each NIC, and where there are several users, two do.
TEST_P(Stress, UsersOfOneNicDoNotDisturbEachOther) {
  const std::string other = OtherUser(simulator_);
  if (other.empty()) std::printf("one user only: this machine lets no other one use the build\n");
  TcpPair write(simulator_, "ib_write_bw -F -b -q 2 -n 50 -s 16384");
  TcpPair read(simulator_, other + "ib_read_bw -F -n 50 -s 16384");
  TcpPair ping(simulator_, other + "ibv_rc_pingpong -g 1 -e -c -n 50");
  for (TcpPair* pair : {&write, &read, &ping}) pair->ExpectGoodEnd();
}

INSTANTIATE_TEST_SUITE_P(Devices, Stress, testing::Values(System{"model", "64"}), NameOf);

// --- For long

// All kinds of programs, three pairs at a time, one of which in four rounds is killed, until the time is over; then the
// simulator is no larger than after the first rounds. VIREO_SOAK_SECONDS says for how long.
TEST(StressSoak, MixedTrafficForLongMakesTheSimulatorNoLarger) {
  constexpr std::array kCommands = {"ib_write_bw -F -b -q 4 -n 50 -s 16384", "ibv_rc_pingpong -g 1 -e -c -n 100",
                                    "ib_send_bw -F -c UD -n 100 -s 1024",    "ib_read_bw -F -q 2 -n 50 -s 65536",
                                    "ib_send_lat -F -n 100 -s 64",           "ib_send_bw -F -c UC -n 100 -s 8192",
                                    "ibv_ud_pingpong -g 1 -n 100 -s 1000",   "ib_write_lat -F -n 20 -s 256"};
  constexpr size_t kAtOnce = 3, kWarmRounds = 4, kEveryKill = 4;
  constexpr size_t kGrowthKib = 8192;  // the allocator's: tables as large as what was ever under way at once
  const char* const text = std::getenv("VIREO_SOAK_SECONDS");
  const auto length = std::chrono::seconds(text == nullptr ? 5 : std::strtol(text, nullptr, 10));
  // Of a build with the address sanitizer: what was freed comes back soon, or its size would be all that is seen.
  setenv("ASAN_OPTIONS", "quarantine_size_mb=4", 0);
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  const size_t descriptors = FootprintOf(simulator.pid()).descriptors;
  Footprint before;
  size_t rounds = 0, programs = 0;
  const auto begin = std::chrono::steady_clock::now();
  while ((rounds < 2 * kWarmRounds || std::chrono::steady_clock::now() - begin < length) && !HasFailure()) {
    std::vector<std::unique_ptr<TcpPair>> pairs;
    for (size_t i = 0; i < kAtOnce; ++i) {
      const bool by_agent = programs % 7 == 6;
      pairs.push_back(std::make_unique<TcpPair>(simulator, kCommands.at((rounds * kAtOnce + i) % kCommands.size()),
                                                by_agent ? Environment{{"VIREO_DMA", "agent"}} : Environment{}));
      programs += 2;
    }
    if (rounds % kEveryKill == kEveryKill - 1) {
      programs += 2;
      ExpectTheOtherIsTold(simulator, "ib_write_bw -F -b -q 4 -u 10 -s 4096", rounds / kEveryKill % 2 == 0);
    }
    for (const auto& pair : pairs) pair->ExpectGoodEnd();
    if (++rounds == kWarmRounds) before = AwaitQuiet(simulator, descriptors);
  }
  if (HasFailure()) return;
  const Footprint after = AwaitQuiet(simulator, descriptors);
  const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%zu programs in %.0f s; the simulator: %zu KiB after %zu rounds, %zu KiB after %zu\n", programs, took,
              before.resident_kib, kWarmRounds, after.resident_kib, rounds);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.resident_kib, before.resident_kib + kGrowthKib);
  EXPECT_EQ(simulator.Stop(), 0);
}

}  // namespace
}  // namespace vireo::verif
