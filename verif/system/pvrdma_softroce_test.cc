// SPDX-License-Identifier: Apache-2.0
// A Linux guest with a PVRDMA function and one with Soft-RoCE, at the other end of the NIC's wire: two kernels, and two
// RoCE implementations. All cases share them. See docs/pvrdma.md.
//
// VIREO_SYSTEM=full runs all devices, and loss; else the model.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/system/guest.h"
#include "verif/system/guest_line.h"
#include "verif/system/rdma_program.h"

namespace vireo::sim {
namespace {

using std::chrono::seconds;

constexpr auto kLineTimeout = seconds(kTimeoutSeconds + 60);
constexpr const char* kAddress = "10.0.0.101";  // of the guest with the PVRDMA function

struct Setup {
  const char* name;
  const char* device;
  const char* faults;  // of the wire, in both directions; null: none
};
constexpr Setup kSetups[] = {{"model", "model", nullptr},
                             {"lockstep", "lockstep", nullptr},
                             {"rtl", "rtl", nullptr},
                             {"lockstep_loss", "lockstep", "drop rate=0.01"},
                             {"model_loss", "model", "drop rate=0.01"}};
void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

// A slow guest: 1 s until a retransmission (-u 18). The path MTU is the one of the smaller link.
constexpr RdmaProgram kPingpongs[] = {
    {"ibv_rc_pingpong -g 1 -m 1024 -n 20 -s 8192 -e -c", "ibv_rc_pingpong -g 1 -m 1024 -n 20 -s 8192 -e -c", "",
     "20 iters in"},
    {"ibv_ud_pingpong -g 1 -n 20 -s 1000 -e", "ibv_ud_pingpong -g 1 -n 20 -s 1000 -e", "", "20 iters in"}};
constexpr RdmaProgram kPerftest[] = {
    {"ib_write_bw -F -x 1 -m 1024 -n 10 -s 20000 -u 18", "ib_write_bw -F -x 1 -m 1024 -n 10 -s 20000 -u 18", "",
     " 20000      10 "},
    {"ib_send_bw -F -x 1 -m 1024 -n 10 -s 20000 -u 18 -e", "ib_send_bw -F -x 1 -m 1024 -n 10 -s 20000 -u 18 -e", "",
     " 20000      10 "},
    {"ib_read_bw -F -x 1 -m 1024 -o 4 -n 10 -s 20000 -u 18 -e",
     "ib_read_bw -F -x 1 -m 1024 -o 4 -n 10 -s 20000 -u 18 -e", "", " 20000      10 "}};
constexpr RdmaProgram kAtomics[] = {
    {"ib_atomic_bw -F -x 1 -m 1024 -o 4 -n 10 -u 18 -e", "ib_atomic_bw -F -x 1 -m 1024 -o 4 -n 10 -u 18 -e", "",
     " 8          10 "},
    {"ib_atomic_lat -F -x 1 -m 1024 -o 4 -n 10 -u 18 -e -A CMP_AND_SWAP",
     "ib_atomic_lat -F -x 1 -m 1024 -o 4 -n 10 -u 18 -e -A CMP_AND_SWAP", "", " 8       10 "}};

class PvrdmaAndSoftRoce : public testing::TestWithParam<Setup> {
 protected:
  enum Which : uint8_t { kPvrdma, kSoftRoce };

  static void TearDownTestSuite() { End(); }
  void SetUp() override {
    if (!IsFullSystemTest() && std::string_view(GetParam().name) != "model") {
      GTEST_SKIP() << "VIREO_SYSTEM=full runs this";
    }
    if (Shared().is_unavailable.empty() && Shared().setup != GetParam().name) Begin();
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    ASSERT_TRUE(Shared().is_running);
  }

  static std::string In(Which which, const std::string& line) {
    if (!Shared().is_running) return "";
    return ExpectSuccess(*Shared().guests[which], which, line, kLineTimeout, Shared().is_running);
  }
  static std::string Limit() { return "timeout " + std::to_string(3 * kTimeoutSeconds) + " "; }

  static void Run(const RdmaProgram& program, Which server, Which client) {
    SCOPED_TRACE(program.client);
    const unsigned port = Shared().guests[server]->tcp_port();  // this machine's, too
    In(server, Limit() + program.server + program.Port(port) + " >/run/server 2>&1 & server=$!");
    In(server, "until " + Listens(program, port) + " >/run/none || ! kill -0 $server; do usleep 20000; done");
    const std::string address = program.by_tcp ? Guest::kThisMachine : server == kPvrdma ? kAddress : Guest::kIpv4;
    const std::string output =
        In(client, Limit() + program.client + program.Port(port) + " " + program.address + address);
    EXPECT_NE(output.find(program.output), std::string::npos) << output;
    In(server, "wait $server; status=$?; cat /run/server; (exit $status)");
  }
  static void BothWays(const RdmaProgram& program) {
    Run(program, kPvrdma, kSoftRoce);
    Run(program, kSoftRoce, kPvrdma);
  }

 private:
  struct State {
    std::string setup, directory, is_unavailable;
    std::unique_ptr<SimulatorProcess> simulator;
    std::unique_ptr<Guest> guests[2];
    bool is_running = false;
  };
  static State& Shared() {
    static State state;
    return state;
  }
  static bool Boot(Which which, const GuestSetup& setup) {
    Guest::Booted started = Guest::Start(setup);
    if (started.is_unavailable) Shared().is_unavailable = started.reason;
    EXPECT_TRUE(started.guest != nullptr || started.is_unavailable) << started.reason;
    Shared().guests[which] = std::move(started.guest);
    return Shared().guests[which] != nullptr;
  }
  static void Begin() {
    End();
    State& state = Shared();
    state.setup = GetParam().name;
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pvrdma_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    state.directory = pattern;
    std::vector<std::string> arguments = {
        "--nics",         "1", "--device", GetParam().device, "--pvrdma", "a=" + pattern + "/pvrdma", "--wire",
        pattern + "/wire"};
    if (GetParam().faults != nullptr) arguments.insert(arguments.end(), {"--wire-faults", GetParam().faults});
    state.simulator = std::make_unique<SimulatorProcess>(arguments);
    ASSERT_TRUE(state.simulator->is_ready()) << state.simulator->error();
    if (!Boot(kPvrdma, {.directory = pattern,
                        .name = "pvrdma.guest",
                        .pvrdma = pattern + "/pvrdma",
                        .link = pattern + "/link," + pattern + "/none",
                        .host = 101,
                        .memory_mib = 384}) ||
        !Boot(kSoftRoce, {.directory = pattern, .name = "softroce.guest", .wire = pattern + "/wire"})) {
      return;
    }
    for (auto& guest : state.guests) {
      const auto reason = guest->AwaitBoot();
      ASSERT_FALSE(reason.has_value()) << *reason;
    }
    state.is_running = true;
    // The peer is none of the Ethernet function's link. The other way the NIC answers for its guest.
    In(kPvrdma, "ip neigh replace " + std::string(Guest::kIpv4) + " lladdr 02:56:49:52:ff:01 dev eth0 nud permanent");
  }
  // The simulator exits with another status than 0 for device errors: in lockstep, a difference.
  static void End() {
    State& state = Shared();
    for (auto& guest : state.guests) guest.reset();
    if (state.simulator != nullptr) {
      EXPECT_EQ(state.simulator->Stop(), 0) << state.setup;
      state.simulator.reset();
      std::error_code error;
      std::filesystem::remove_all(state.directory, error);
    }
    state.is_running = false;
  }
};

TEST_P(PvrdmaAndSoftRoce, Pingpongs) {
  if (GetParam().faults != nullptr) GTEST_SKIP() << "with loss they may fail on any NIC (docs/interop.md)";
  for (const RdmaProgram& program : kPingpongs) BothWays(program);
}

TEST_P(PvrdmaAndSoftRoce, Perftest) {
  for (const RdmaProgram& program : kPerftest) BothWays(program);
}

TEST_P(PvrdmaAndSoftRoce, Atomics) {
  for (const RdmaProgram& program : kAtomics) BothWays(program);
}

TEST_P(PvrdmaAndSoftRoce, RdmaCm) {
  BothWays(kUcmatose);
  if (GetParam().faults != nullptr) return;
  BothWays(kRping);
  BothWays(kUdaddy);
}

INSTANTIATE_TEST_SUITE_P(Setups, PvrdmaAndSoftRoce, testing::ValuesIn(kSetups),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::sim
