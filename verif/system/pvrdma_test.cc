// SPDX-License-Identifier: Apache-2.0
// Two Linux guests, each with a PVRDMA function and vmxnet3, its partner. The driver is Linux' vmw_pvrdma, from the
// distribution's sources of its kernel; the programs are the distribution's. See docs/pvrdma.md.
//
// A world is one simulator with its guests; all cases of a world share it.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/system/guest.h"
#include "verif/system/guest_line.h"

namespace vireo::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kCommandTimeout = seconds(kTimeoutSeconds) + seconds(60);  // after the `timeout` of a program
constexpr unsigned kFirstHost = 101;                                      // of the guests' addresses

struct World {
  const char* name;
  const char* device;
  unsigned nics;  // 1: the guests share it
};
constexpr World kWorlds[] = {{"model_2nics", "model", 2}, {"model_1nic", "model", 1}};
void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

// Two ends of a program that meet by TCP, or by the RDMA CM, at a port and the server's address.
struct RdmaProgram {
  const char* server;
  const char* client;
  const char* address;  // the client's option for it, at the end
  const char* output;   // substring of the client's output
  bool by_tcp = true;
  bool has_port = true;  // "-p PORT"; else its own one
  std::string Port(unsigned port) const { return has_port ? " -p " + std::to_string(port) : ""; }
};
// All but ib_write_bw, which cannot, use events: polling in a guest with one processor takes the time of its kernel,
// and here that of the simulator. -c and -V compare every byte; perftest's ACK timeout is 1 s (-u 18) because a guest
// is slow.
constexpr RdmaProgram kRcPingpong = {"ibv_rc_pingpong -g 1 -n 20 -s 8192 -e -c",
                                     "ibv_rc_pingpong -g 1 -n 20 -s 8192 -e -c", "", "20 iters in"};
constexpr RdmaProgram kRcPingpongIpv6 = {"ibv_rc_pingpong -g 0 -n 20 -s 3000 -e -c",
                                         "ibv_rc_pingpong -g 0 -n 20 -s 3000 -e -c", "", "20 iters in"};
constexpr RdmaProgram kUdPingpong = {"ibv_ud_pingpong -g 1 -n 20 -s 1000 -e", "ibv_ud_pingpong -g 1 -n 20 -s 1000 -e",
                                     "", "20 iters in"};
constexpr RdmaProgram kPerftest[] = {
    {"ib_write_bw -F -x 1 -n 10 -s 20000 -u 18", "ib_write_bw -F -x 1 -n 10 -s 20000 -u 18", "", " 20000      10 "},
    {"ib_send_bw -F -x 1 -n 10 -s 20000 -u 18 -e", "ib_send_bw -F -x 1 -n 10 -s 20000 -u 18 -e", "", " 20000      10 "},
    {"ib_read_bw -F -x 1 -o 4 -n 10 -s 20000 -u 18 -e", "ib_read_bw -F -x 1 -o 4 -n 10 -s 20000 -u 18 -e", "",
     " 20000      10 "},
    {"ib_send_lat -F -x 1 -n 10 -s 200 -u 18 -e", "ib_send_lat -F -x 1 -n 10 -s 200 -u 18 -e", "", " 200     10 "},
};
constexpr RdmaProgram kRping = {"rping -s -C 5 -S 900 -V", "rping -c -C 5 -S 900 -V -v", "-a ",
                                "ping data: rdma-ping-4:", false};
constexpr RdmaProgram kUcmatose = {"ucmatose -C 5 -S 6000", "ucmatose -C 5 -S 6000", "-s ", "return status 0", false};
constexpr RdmaProgram kUdaddy = {"udaddy -C 5 -S 1000", "udaddy -C 5 -S 1000", "-s ", "return status 0", false, false};

class PvrdmaGuests : public testing::TestWithParam<World> {
 protected:
  static void TearDownTestSuite() { End(); }

  void SetUp() override {
    const World& world = GetParam();
    if (Shared().is_unavailable.empty() && Shared().world != world.name) Begin(world);
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    ASSERT_TRUE(Shared().is_running) << "the guests of this world do not run";
  }
  // No driver has complained: of a refused command, a time-out, a ring in an impossible state.
  void TearDown() override {
    if (!Shared().is_running || IsSkipped()) return;
    for (const unsigned guest : {0U, 1U}) {
      EXPECT_EQ(In(guest,
                   "dmesg | grep -iE 'pvrdma.*(fail|error|could not|cannot|invalid|timeout|not supported)|"
                   "infiniband.*(couldn|fail)|warning:|bug:|call trace|lockup' | grep -v 'module verification'; true"),
                "")
          << "guest " << guest;
    }
  }

  // Returns the line's output; a non-zero status is a test failure.
  static std::string In(unsigned guest, const std::string& line, milliseconds timeout = kCommandTimeout) {
    if (!Shared().is_running) return "";
    return ExpectSuccess(*Shared().guests[guest], guest, line, timeout, Shared().is_running);
  }
  static std::string AddressOf(unsigned guest) { return "10.0.0." + std::to_string(kFirstHost + guest); }
  static std::string AddressOfNic(unsigned nic) { return "10.0.0." + std::to_string(nic + 1); }
  static unsigned NicOf(unsigned guest) { return guest % GetParam().nics; }
  static std::string Gids(unsigned guest) { return In(guest, "cat /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*"); }

  // Starts a program's server in the guest, and returns when it listens.
  static void Serve(unsigned guest, const RdmaProgram& program, unsigned port) {
    char hex[16];
    static_cast<void>(std::snprintf(hex, sizeof hex, ":%04X ", port));
    const std::string listens = program.by_tcp
                                    ? "cat /proc/net/tcp /proc/net/tcp6 | grep '" + std::string(hex) + ".* 0A '"
                                    : "rdma resource show cm_id | grep LISTEN";
    In(guest, Limit() + program.server + program.Port(port) + " >/run/server 2>&1 & server=$!");
    // Poll: there is no notification of a listening port.
    In(guest, "until " + listens + " >/run/none || ! kill -0 $server; do usleep 20000; done");
  }
  static std::string ServerOutput(unsigned guest) {
    return In(guest, "wait $server; status=$?; cat /run/server; (exit $status)");
  }
  static std::string ClientOf(const RdmaProgram& program, const std::string& address, unsigned port) {
    return std::string(program.client) + program.Port(port) + " " + program.address + address;
  }
  // A guest's clock may be several times too fast, because its kernel measures it while the machine is busy.
  static std::string Limit() { return "timeout " + std::to_string(3 * kTimeoutSeconds) + " "; }
  static unsigned NextPort() {
    static unsigned port = 20'000;
    return port++;
  }

  // Guest 1 serves, guest 0 is the client.
  static void BetweenGuests(const RdmaProgram& program) {
    SCOPED_TRACE(program.client);
    const unsigned port = NextPort();
    Serve(1, program, port);
    const std::string output = In(0, Limit() + ClientOf(program, AddressOf(1), port));
    EXPECT_NE(output.find(program.output), std::string::npos) << output;
    ServerOutput(1);
  }
  // A program of this machine on the NIC `nic` serves, guest 0 is the client.
  static void FromGuest(const RdmaProgram& program, unsigned nic) {
    SCOPED_TRACE(program.client);
    const unsigned port = FreePort();
    Program server(WordsOf(program.server + program.Port(port)), On(nic), program.by_tcp);
    ASSERT_TRUE(program.by_tcp ? AwaitListener(port, server) : AwaitOutput("rdma_cm listens", server))
        << server.Output();
    const std::string address = program.by_tcp ? Guest::kThisMachine : AddressOfNic(nic);
    const std::string output = In(0, Limit() + ClientOf(program, address, port));
    EXPECT_NE(output.find(program.output), std::string::npos) << output;
    EXPECT_EQ(server.Wait(), 0) << server.Output();
  }
  // Guest 0 serves, a program of this machine on the NIC `nic` is the client.
  static void ToGuest(const RdmaProgram& program, unsigned nic) {
    SCOPED_TRACE(program.client);
    const unsigned port = Shared().guests[0]->tcp_port();
    Serve(0, program, port);
    Program client(WordsOf(ClientOf(program, program.by_tcp ? "127.0.0.1" : AddressOf(0), port)), On(nic));
    EXPECT_EQ(client.Wait(), 0) << client.Output();
    EXPECT_NE(client.Output().find(program.output), std::string::npos) << client.Output();
    ServerOutput(0);
  }
  static Environment On(unsigned nic) { return Seeing(Shared().simulator->socket(nic), {{"VIREO_LOG", "1"}}); }

 private:
  struct State {
    std::string world, directory, is_unavailable;
    std::unique_ptr<SimulatorProcess> simulator;
    std::array<std::unique_ptr<Guest>, 2> guests;
    bool is_running = false;
  };
  static State& Shared() {
    static State state;
    return state;
  }

  static bool Boot(unsigned guest) {
    State& state = Shared();
    const std::string own = std::to_string(guest), peer = std::to_string(1 - guest), link = state.directory + "/link";
    std::filesystem::remove(link + own);
    std::filesystem::remove(state.directory + "/guest" + own + ".console");
    Guest::Booted started = Guest::Start({.directory = state.directory,
                                          .name = "guest" + own,
                                          .pvrdma = state.directory + "/pvrdma" + own,
                                          .link = link + own + "," + link + peer,
                                          .host = kFirstHost + guest,
                                          .memory_mib = 384});
    if (started.is_unavailable) state.is_unavailable = started.reason;
    EXPECT_TRUE(started.guest != nullptr || started.is_unavailable) << started.reason;
    state.guests.at(guest) = std::move(started.guest);
    return state.guests.at(guest) != nullptr;
  }
  // A NIC's address is none of the guests' Ethernet link.
  static void KnowNics(unsigned guest) {
    for (unsigned nic = 0; nic < GetParam().nics; ++nic) {
      In(guest, "ip neigh replace " + AddressOfNic(nic) + " lladdr 02:56:49:52:00:0" + std::to_string(nic + 1) +
                    " dev eth0 nud permanent");
    }
  }
  static void Begin(const World& world) {
    End();
    State& state = Shared();
    state.world = world.name;
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pvrdma_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    state.directory = pattern;
    std::vector<std::string> arguments = {"--nics", std::to_string(world.nics), "--device", world.device};
    for (const unsigned guest : {0U, 1U}) {
      const std::string number = std::to_string(guest);
      arguments.insert(arguments.end(), {"--pvrdma", "guest" + number + "=" + pattern + "/pvrdma" + number +
                                                         ",nic=" + std::to_string(guest % world.nics)});
    }
    state.simulator = std::make_unique<SimulatorProcess>(arguments);
    ASSERT_TRUE(state.simulator->is_ready()) << state.simulator->error();
    for (const unsigned guest : {0U, 1U}) {
      if (!Boot(guest)) return;
    }
    for (auto& guest : state.guests) {
      if (const auto reason = guest->AwaitBoot(); reason.has_value()) FAIL() << *reason;
    }
    state.is_running = true;
    std::printf("%s: the guests started in %.1f s\n", world.name,
                static_cast<double>(state.guests[1]->boot_time().count()) / 1000);
    In(0, "until ping -c 1 -W 1 " + AddressOf(1) + " >/run/none; do :; done");
    for (const unsigned guest : {0U, 1U}) KnowNics(guest);
  }
  // The simulator exits with another status than 0 for device errors: in lockstep, a difference.
  static void End() {
    State& state = Shared();
    for (auto& guest : state.guests) guest.reset();
    if (state.simulator != nullptr) {
      EXPECT_EQ(state.simulator->Stop(), 0) << state.world;
      state.simulator.reset();
      std::error_code error;
      std::filesystem::remove_all(state.directory, error);
    }
    state.is_running = false;
  }
};

TEST_P(PvrdmaGuests, RcPingpong) { BetweenGuests(kRcPingpong); }

TEST_P(PvrdmaGuests, DriverShowsTheDevice) {
  for (const unsigned guest : {0U, 1U}) {
    const std::string shown = In(guest, "ibv_devinfo -v");
    const std::string address = "::ffff:" + AddressOf(guest) + ", RoCE v2";
    for (const std::string text : {"vmw_pvrdma0", "vendor_id:\t\t\t0x15ad", "PORT_ACTIVE (4)", "gid_tbl_len:\t\t16",
                                   "fe80::56:49ff:fe52:fe", address.c_str()}) {
      EXPECT_NE(shown.find(text), std::string::npos) << text << "\n" << shown;
    }
    EXPECT_NE(In(guest, "dmesg | grep pvrdma").find("attached to device"), std::string::npos);
  }
}

TEST_P(PvrdmaGuests, IbverbsExamples) {
  BetweenGuests(kRcPingpongIpv6);
  BetweenGuests(kUdPingpong);
}

TEST_P(PvrdmaGuests, Perftest) {
  for (const RdmaProgram& program : kPerftest) BetweenGuests(program);
}

TEST_P(PvrdmaGuests, RdmaCm) {
  for (const RdmaProgram& program : {kRping, kUcmatose, kUdaddy}) BetweenGuests(program);
}

TEST_P(PvrdmaGuests, ProgramsOfThisMachine) {
  for (unsigned nic = 0; nic < GetParam().nics; ++nic) {  // the guest's own NIC, and another one
    FromGuest(kRcPingpong, nic);
    ToGuest(kRcPingpong, nic);
    FromGuest(kRping, nic);
    ToGuest(kRping, nic);
  }
  FromGuest(kPerftest[0], 0);
  ToGuest(kPerftest[2], 0);
}

TEST_P(PvrdmaGuests, GidsFollowTheAddresses) {
  const std::string gid = "ffff:0a00:0096";  // 10.0.0.150
  EXPECT_EQ(Gids(0).find(gid), std::string::npos);
  In(0, "ip address add 10.0.0.150/24 dev eth0");
  In(0, "until grep -q " + gid + " /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*; do usleep 20000; done");
  const RdmaProgram added = {"ibv_rc_pingpong -g 1 -n 5 -e", "ibv_rc_pingpong -g 2 -n 5 -e", "",
                             "GID ::ffff:10.0.0.150"};
  BetweenGuests(added);
  In(0, "ip address del 10.0.0.150/24 dev eth0");
  In(0, "while grep -q " + gid + " /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*; do usleep 20000; done");
  BetweenGuests(kRcPingpong);
}

TEST_P(PvrdmaGuests, DriverIsUnloadedAndLoaded) {
  for (int round = 0; round < 3; ++round) {
    In(0, "rmmod vmw_pvrdma");
    EXPECT_EQ(In(0, "ls /sys/class/infiniband"), "");
    In(0, "insmod /modules/pvrdma/*vmw_pvrdma.ko");
    In(0, "until grep -q " + std::string("ffff:0a00:0065") +
              " /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*; do usleep 20000; done");
    BetweenGuests(kRcPingpong);
  }
  BetweenGuests(kRping);
}

INSTANTIATE_TEST_SUITE_P(Worlds, PvrdmaGuests, testing::ValuesIn(kWorlds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::sim
