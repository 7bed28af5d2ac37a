// SPDX-License-Identifier: Apache-2.0
// Programs that see simulated time: unmodified ones print the NIC's figures, the same in each run and on each device;
// and the overlay's clocks, in this process.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "verif/cosim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::verif {
namespace {

// The numbers that perftest prints for one size, and nothing if it printed none.
std::vector<double> FiguresOf(const std::string& output) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line) && line.find("#bytes") == std::string::npos) {
  }
  std::getline(lines, line);
  std::istringstream numbers(line);
  std::vector<double> figures;
  for (double number = 0; numbers >> number;) figures.push_back(number);
  return figures;
}

// The client's figures, in a simulation of its own.
std::vector<double> Measure(const std::string& command, const std::string& device) {
  SimulatorProcess simulator({"--device", device, "--virtual-time", "--seed", "7"});
  if (!simulator.is_ready()) return {};
  const unsigned port = FreePort();
  std::vector<std::string> words = {"setarch",
                                    "-R"};  // addresses are part of what a run is: `vireo pair` fixes them too
  std::istringstream text(command + " -F -p " + std::to_string(port));
  for (std::string word; text >> word;) words.push_back(word);
  const auto on = [&](size_t nic) {
    return std::map<std::string, std::string>{{"LD_PRELOAD", VIREO_IBVERBS}, {"VIREO_SOCKET", simulator.socket(nic)}};
  };
  Program server(words, on(0), /*yields=*/false);
  if (!AwaitListener(port, server)) return {};
  words.emplace_back("127.0.0.1");
  Program client(words, on(1), /*yields=*/false);
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_EQ(simulator.Stop(), 0);
  return FiguresOf(client.Output());
}

// Of figures in [first, first + count). A starved machine has moved averages by 0.3 parts in 1000 (docs/programs.md).
void ExpectSame(const std::vector<double>& one, const std::vector<double>& other, size_t first, size_t count) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = first; i < first + count; ++i)
    EXPECT_NEAR(one.at(i), other.at(i), 0.005 * one.at(i)) << "column " << i;
}
constexpr size_t kAverageMib = 3;                      // of a bandwidth test; messages behind it
constexpr size_t kTypicalUs = 4, kLatencyColumns = 2;  // of a latency test, and the average

TEST(VirtualTime, BandwidthIsTheWiresInEveryRun) {
  const std::vector<double> figures = Measure("ib_write_bw -s 65536 -n 200", "model");
  ASSERT_EQ(figures.size(), 5u);  // bytes, iterations, MiB/s peak and average, messages
  // 100 Gb/s are 11921 MiB/s, of which headers, preamble and gaps take 3 % and the first and last message some more.
  EXPECT_GT(figures[3], 0.93 * 11921);
  EXPECT_LT(figures[3], 0.98 * 11921);
  ExpectSame(figures, Measure("ib_write_bw -s 65536 -n 200", "model"), kAverageMib, 2);
}

// Waits by memory, by queues that are polled, and by both.
TEST(VirtualTime, LatencyIsTheSameInEveryRun) {
  for (const char* command : {"ib_write_lat -n 30", "ib_send_lat -n 30", "ib_read_lat -n 30"}) {
    const std::vector<double> figures = Measure(command, "model");
    ASSERT_EQ(figures.size(), 9u) << command;
    EXPECT_GT(figures[5], 1) << command;  // average, in microseconds
    EXPECT_LT(figures[5], 20) << command;
    SCOPED_TRACE(command);
    ExpectSame(figures, Measure(command, "model"), kTypicalUs, kLatencyColumns);
  }
}

TEST(VirtualTime, ModelAndRtlGiveTheSameFigures) {
  const std::vector<double> model = Measure("ib_send_lat -n 10", "model");
  ASSERT_EQ(model.size(), 9u);
  ExpectSame(model, Measure("ib_send_lat -n 10", "rtl"), kTypicalUs, kLatencyColumns);
}

TEST(VirtualTime, SleepsTakeSimulatedTimeAndClocksAgree) {
  SimulatorProcess simulator({"--virtual-time"});
  ASSERT_TRUE(simulator.is_ready());
  // A day is slept in no time; what tells time agrees, and what counts processor time is the system's.
  constexpr const char* kScript =
      "import ctypes, time\n"
      "lib = ctypes.CDLL('libibverbs.so.1'); n = ctypes.c_int()\n"
      "f = ctypes.CDLL(None).ibv_get_device_list; f.restype = ctypes.c_void_p\n"
      "devices = ctypes.cast(f(ctypes.byref(n)), ctypes.POINTER(ctypes.c_void_p))\n"
      "g = ctypes.CDLL(None).ibv_open_device; g.restype = ctypes.c_void_p; g.argtypes = [ctypes.c_void_p]\n"
      "assert g(devices[0])\n"
      "m, r, c = time.monotonic(), time.time(), time.process_time()\n"
      "ctypes.CDLL(None).sleep(86400)\n"
      "assert 86400 <= time.monotonic() - m < 86400.1, time.monotonic() - m\n"
      "assert 86400 <= time.time() - r < 86400.1\n"
      "assert time.process_time() - c < 60\n"
      "while time.monotonic() - m < 86400.2: pass\n"  // a loop that waits for a time ends
      "import subprocess; assert subprocess.run(['true']).returncode == 0\n"
      "assert ctypes.CDLL(None).system(b'true') == 0\n"
      "print('done')\n";
  Program python({"python3", "-c", kScript}, {{"LD_PRELOAD", VIREO_IBVERBS}, {"VIREO_SOCKET", simulator.socket(0)}},
                 /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_NE(python.Output().find("done"), std::string::npos) << python.Output();
  EXPECT_EQ(simulator.Stop(), 0);
}

TEST(VirtualTime, WithoutItClocksAreTheSystems) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  timespec before{}, after{};
  clock_gettime(CLOCK_REALTIME, &before);
  Program date({"date", "+%s"}, {{"LD_PRELOAD", VIREO_IBVERBS}, {"VIREO_SOCKET", simulator.socket(0)}});
  ASSERT_EQ(date.Wait(), 0);
  clock_gettime(CLOCK_REALTIME, &after);
  const long shown = std::strtol(date.Output().c_str(), nullptr, 10);
  EXPECT_GE(shown, before.tv_sec);
  EXPECT_LE(shown, after.tv_sec);
}

TEST(VirtualTime, ACostThatIsNoneIsRefused) {
  EXPECT_FALSE(SimulatorProcess({"--virtual-time", "--export", "vfio-user"}).is_ready());
  for (const char* cost : {"--virtual-time=0", "--virtual-time=-5", "--virtual-time=often"}) {
    EXPECT_FALSE(SimulatorProcess({cost}).is_ready()) << cost;
  }
}

}  // namespace
}  // namespace vireo::verif
