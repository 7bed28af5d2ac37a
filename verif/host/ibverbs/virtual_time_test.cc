// SPDX-License-Identifier: Apache-2.0
// Programs in simulated time: unmodified benchmarks print the NIC's figures, equal in each run and on each device; and
// the overlay's clocks.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

// The numbers in perftest's output for one size; empty if there are none.
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

enum class Meet : uint8_t { kTcp, kRdmaCm };

// The client's figures, in a new simulation.
std::vector<double> Measure(const std::string& command, const std::string& device, Meet meet = Meet::kTcp) {
  SimulatorProcess simulator({"--device", device, "--virtual-time", "--seed", "7"});
  if (!simulator.is_ready()) return {};
  const unsigned port = FreePort();
  // Fix addresses (no ASLR) for reproducibility, as `vireo pair` does.
  std::vector<std::string> words = WordsOf("setarch -R " + command + " -F -p " + std::to_string(port));
  const Environment log = {{"VIREO_LOG", "1"}};
  Program server(words, Seeing(simulator.socket(0), log), /*yields=*/false);
  if (!(meet == Meet::kTcp ? AwaitListener(port, server) : AwaitOutput("rdma_cm listens", server))) return {};
  words.emplace_back(meet == Meet::kTcp ? "127.0.0.1" : "10.0.0.1");
  Program client(words, Seeing(simulator.socket(1)), /*yields=*/false);
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_EQ(server.Wait(), 0) << server.Output();
  EXPECT_EQ(simulator.Stop(), 0);
  return FiguresOf(client.Output());
}

// Compares figures [first, first + count). A starved machine has moved averages by 0.3 parts in 1000
// (docs/programs.md).
void ExpectSame(const std::vector<double>& one, const std::vector<double>& other, size_t first, size_t count) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = first; i < first + count; ++i)
    EXPECT_NEAR(one.at(i), other.at(i), 0.005 * one.at(i)) << "column " << i;
}
constexpr size_t kAverageMib = 3;                      // of a bandwidth test; the message rate follows
constexpr size_t kTypicalUs = 4, kLatencyColumns = 2;  // of a latency test; the average follows

TEST(VirtualTime, BandwidthIsLineRateInEveryRun) {
  const std::vector<double> figures = Measure("ib_write_bw -s 65536 -n 200", "model");
  ASSERT_EQ(figures.size(), 5u);  // bytes, iterations, MiB/s peak and average, messages
  // 100 Gb/s are 11921 MiB/s; headers, preamble and gaps take 3 %, and the first and last message slightly more.
  EXPECT_GT(figures[3], 0.93 * 11921);
  EXPECT_LT(figures[3], 0.98 * 11921);
  ExpectSame(figures, Measure("ib_write_bw -s 65536 -n 200", "model"), kAverageMib, 2);
}

// Programs that poll memory, poll queues, and both.
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

// Connection management uses real time, the measurement simulated time: same results as without rdma_cm.
TEST(VirtualTime, RdmaCmConnectionsMeasureTheSame) {
  const std::vector<double> by_tcp = Measure("ib_send_lat -n 30", "model");
  ASSERT_EQ(by_tcp.size(), 9u);
  const std::vector<double> by_cm = Measure("ib_send_lat -n 30 -R", "model", Meet::kRdmaCm);
  ASSERT_EQ(by_cm.size(), 9u);
  EXPECT_NEAR(by_cm[kTypicalUs], by_tcp[kTypicalUs], 0.05 * by_tcp[kTypicalUs]);
}

// A forked child has its own time until it opens the device itself.
TEST(VirtualTime, ForkedChildUsesItsOwnTimeUntilItOpensTheDevice) {
  SimulatorProcess simulator({"--virtual-time"});
  ASSERT_TRUE(simulator.is_ready());
  constexpr const char* kScript =
      "import ctypes, os, time\n"
      "lib = ctypes.CDLL('libibverbs.so.1'); c = ctypes.CDLL(None)\n"
      "list, open = c.ibv_get_device_list, c.ibv_open_device\n"
      "list.restype = open.restype = ctypes.c_void_p; open.argtypes = [ctypes.c_void_p]\n"
      "def attach(): assert open(ctypes.cast(list(ctypes.byref(ctypes.c_int())), ctypes.POINTER(ctypes.c_void_p))[0])\n"
      "attach()\n"
      "m = time.monotonic()\n"
      "def child(opens, us):\n"
      "  pid = os.fork()\n"
      "  if pid: return os.waitpid(pid, 0)[1]\n"
      "  if opens: attach()\n"
      "  b = time.monotonic(); assert m <= b < m + 4000, b - m\n"
      "  c.usleep(us)\n"
      "  os._exit(0 if us <= (time.monotonic() - b) * 1e6 < us + 1e5 else 1)\n"
      "assert child(False, 200000) == 0\n"
      "assert time.monotonic() - m < 0.1, time.monotonic() - m\n"  // only the child's time advanced
      "assert child(True, 3600000000) == 0\n"
      "assert 3600 <= time.monotonic() - m < 3601, time.monotonic() - m\n"  // simulated time advanced for all
      "c.sleep(10)\n"
      "assert 3610 <= time.monotonic() - m < 3611\n"
      "print('done')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator.socket(0)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_NE(python.Output().find("done"), std::string::npos) << python.Output();
  EXPECT_EQ(simulator.Stop(), 0);
}

TEST(VirtualTime, SleepsTakeSimulatedTimeAndClocksAgree) {
  SimulatorProcess simulator({"--virtual-time"});
  ASSERT_TRUE(simulator.is_ready());
  // A day of sleep takes no real time; wall clocks agree, and CPU-time clocks are the system's.
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
      "while time.monotonic() - m < 86400.2: pass\n"  // a clock polling loop terminates
      "import subprocess; assert subprocess.run(['true']).returncode == 0\n"
      "assert ctypes.CDLL(None).system(b'true') == 0\n"
      "print('done')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator.socket(0)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_NE(python.Output().find("done"), std::string::npos) << python.Output();
  EXPECT_EQ(simulator.Stop(), 0);
}

// Every function of libc that reads the time of day, and in a thread that blocks all signals: also libc's own functions
// behind the overlay's, which execute rdtsc.
TEST(VirtualTime, AllClocksAgreeInEveryThread) {
  SimulatorProcess simulator({"--virtual-time"});
  ASSERT_TRUE(simulator.is_ready());
  constexpr const char* kScript =
      "import ctypes, signal, threading, time\n"
      "n = ctypes.c_int(); c = ctypes.CDLL(None); libc = ctypes.CDLL('libc.so.6')\n"
      "c.ibv_get_device_list.restype = c.ibv_open_device.restype = ctypes.c_void_p\n"
      "c.ibv_open_device.argtypes = [ctypes.c_void_p]\n"
      "assert c.ibv_open_device(ctypes.cast(c.ibv_get_device_list(ctypes.byref(n)), "
      "ctypes.POINTER(ctypes.c_void_p))[0])\n"
      "c.sleep(86400)\n"
      "def seconds(call):\n"
      "  t = (ctypes.c_long * 2)(); call(t); return t[0]\n"
      "zone = (ctypes.c_int * 2)(7, 7)\n"
      "clocks = (lambda t: c.clock_gettime(0, t), lambda t: c.gettimeofday(t, None), lambda t: c.gettimeofday(t, "
      "zone),\n"
      "          lambda t: c.timespec_get(t, 1), c.time)\n"
      "def check():\n"
      "  shown = [seconds(call) for call in clocks]\n"
      "  assert max(shown) - min(shown) <= 1 and shown[0] > seconds(lambda t: libc.syscall(228, 0, t)) + 80000, shown\n"
      "  assert tuple(zone) == (0, 0)\n"
      "  seconds(lambda t: libc.clock_gettime(0, t))\n"
      "check()\n"
      "done = []\n"
      "def blocked():\n"
      "  signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
      "  assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
      "  check(); done.append(1)\n"
      "thread = threading.Thread(target=blocked); thread.start(); thread.join(); assert done\n"
      "assert c.timespec_get((ctypes.c_long * 2)(), 77) == 0\n"
      "print('done')\n";
  Program python({"python3", "-c", kScript}, Seeing(simulator.socket(0)), /*yields=*/false);
  EXPECT_EQ(python.Wait(), 0) << python.Output();
  EXPECT_NE(python.Output().find("done"), std::string::npos) << python.Output();
  EXPECT_EQ(simulator.Stop(), 0);
}

TEST(VirtualTime, ClocksAreTheSystemsWithoutVirtualTime) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  timespec before{}, after{};
  clock_gettime(CLOCK_REALTIME, &before);
  Program date({"date", "+%s"}, Seeing(simulator.socket(0)));
  ASSERT_EQ(date.Wait(), 0);
  clock_gettime(CLOCK_REALTIME, &after);
  const long shown = std::strtol(date.Output().c_str(), nullptr, 10);
  EXPECT_GE(shown, before.tv_sec);
  EXPECT_LE(shown, after.tv_sec);
}

TEST(VirtualTime, InvalidCallCostIsRefused) {
  EXPECT_FALSE(SimulatorProcess({"--virtual-time", "--export", "vfio-user"}).is_ready());
  for (const char* cost : {"--virtual-time=0", "--virtual-time=-5", "--virtual-time=often"}) {
    EXPECT_FALSE(SimulatorProcess({cost}).is_ready()) << cost;
  }
}

}  // namespace
}  // namespace vireo::sim
