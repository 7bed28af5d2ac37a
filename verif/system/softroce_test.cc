// SPDX-License-Identifier: Apache-2.0
// Interoperability with Soft-RoCE: unmodified RDMA programs, one on a simulated NIC and the other in a Linux guest. One
// guest for all cases; see docs/interop.md.
//
// VIREO_SYSTEM=full runs every combination; else a representative subset.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/system/guest.h"

namespace vireo::sim {
namespace {

using std::chrono::seconds;

constexpr auto kGuestTimeout = seconds(60);                       // for shell commands in the guest
constexpr auto kProgramTimeout = seconds(kTimeoutSeconds);        // for programs
constexpr auto kAnswerTimeout = kProgramTimeout + kGuestTimeout;  // until the guest's `timeout` has killed them

enum class Meet : uint8_t { kTcp, kRdmaCm };

// A program and its check. Placeholders: $PORT; $A the server's address (in the network by which they connect, from the
// program's point of view); $GID the GID index of the address family, the same on both sides; $MTU of the path; $KIND
// ip or ipv6.
struct RdmaProgram {
  const char* name;
  Meet meet;
  const char* server;
  const char* client;
  bool runs_with_loss;        // reliable service, and both ends wait for each other before they exit
  const char* output;         // substring of the client's output
  bool forgets_dreq = false;  // its client exits without waiting for DREP
};

#define VIREO_SAME(command) Meet::kTcp, command " -p $PORT", command " -p $PORT $A"

// A pingpong destroys its queue pair right after its last message: if the acknowledge of that message is lost, its
// peer's retries fail. So the pingpongs run without loss only.
//
// The pingpongs use events: polling in a guest with one processor starves its RDMA stack. -c and -V compare every byte;
// the payload of the others is covered by the ICRC, which both sides check. perftest's ACK timeout is 1 s (-u 18)
// because a guest is slow. -o limits outstanding reads to what both devices support.
constexpr RdmaProgram kPrograms[] = {
    {"RcPingpong", VIREO_SAME("ibv_rc_pingpong -g $GID -m $MTU -n 20 -s 8192 -e -c"), false, "20 iters in"},
    {"UcPingpong", VIREO_SAME("ibv_uc_pingpong -g $GID -m $MTU -n 20 -s 8192 -e"), false, "20 iters in"},
    {"UdPingpong", VIREO_SAME("ibv_ud_pingpong -g $GID -n 20 -s 1000 -e"), false, "20 iters in"},
    {"WriteBw", VIREO_SAME("ib_write_bw -F -x $GID -m $MTU -n 10 -s 20000 -u 18"), true, " 20000      10 "},
    {"SendBw", VIREO_SAME("ib_send_bw -F -x $GID -m $MTU -n 10 -s 20000 -u 18"), true, " 20000      10 "},
    {"ReadBw", VIREO_SAME("ib_read_bw -F -x $GID -m $MTU -o 4 -n 10 -s 20000 -u 18"), true, " 20000      10 "},
    {"AtomicBw", VIREO_SAME("ib_atomic_bw -F -x $GID -m $MTU -o 4 -n 10 -u 18"), true, " 8          10 "},
    {"AtomicLat", VIREO_SAME("ib_atomic_lat -F -x $GID -m $MTU -o 4 -n 10 -u 18 -A CMP_AND_SWAP"), true,
     " 8       10 "},
    {"Rping", Meet::kRdmaCm, "rping -s -a $A -p $PORT -C 5 -S 9000 -V", "rping -c -a $A -p $PORT -C 5 -S 9000 -V -v",
     true, "ping data: rdma-ping-4:", true},
    {"Ucmatose", Meet::kRdmaCm, "ucmatose -f $KIND -b $A -p $PORT -C 5 -S 6000",
     "ucmatose -f $KIND -s $A -p $PORT -C 5 -S 6000", true, "return status 0"},
};

struct Loss {
  const char* name;
  const char* netem;   // on the guest's transmit side; null: none
  const char* faults;  // on the simulated wire, both directions; null: none
};
constexpr Loss kLosses[] = {
    {"NoLoss", nullptr, nullptr},
    {"Netem1Percent", "loss 1%", nullptr},
    {"Netem5Percent", "loss 5%", nullptr},
    {"Wire1Percent", nullptr, "drop rate=0.01"},
    {"Wire5Percent", nullptr, "drop rate=0.05"},
    // Drops the third message to QP1 in each direction: the DREQ of a guest client, after REQ and RTU.
    {"LostDreq", nullptr, "drop opcode=ud_send_only qp=1 nth=3"},
};

struct Case {
  const char* device;
  const Loss* loss;
  bool ipv6;
  unsigned mtu;
  const RdmaProgram* program;
  bool guest_serves;
};

std::string NameOf(const Case& one) {
  std::ostringstream name;
  name << one.program->name << (one.guest_serves ? "ToGuest" : "FromGuest") << (one.ipv6 ? "Ipv6" : "Ipv4") << one.mtu
       << one.loss->name << "On" << static_cast<char>(one.device[0] - 'a' + 'A') << one.device + 1;
  return name.str();
}
void PrintTo(const Case& one, std::ostream* out) { *out << NameOf(one); }

bool MakesSense(const Case& one) {
  const std::string loss = one.loss->name;
  // Once per simulator: the wire's counters are not reset.
  if (loss == "LostDreq") return one.program->forgets_dreq && !one.guest_serves && !one.ipv6;
  return one.program->runs_with_loss || loss == "NoLoss";
}

// The subset without VIREO_SYSTEM=full: everything once on the model, and representative cases on the others.
bool IsQuick(const Case& one) {
  const std::string program = one.program->name, loss = one.loss->name, device = one.device;
  const bool is_plain = loss == "NoLoss";
  // A guest answers atomic operations slowly.
  if (program == "AtomicBw" && device != "model")
    return device == "rtl" && is_plain && one.mtu == 4096 && !one.ipv6 && !one.guest_serves;
  if (is_plain && !one.ipv6 && one.mtu == 4096) {
    return device == "model" || (device == "rtl" && program != "Ucmatose" && program != "AtomicLat") ||
           (device == "lockstep" && program == "RcPingpong");
  }
  if (is_plain && one.ipv6 && one.mtu == 1024) {
    if (device == "model") return program != "SendBw" && program != "AtomicBw" && program != "AtomicLat";
    return device == "rtl" && program == "RcPingpong";
  }
  if (one.ipv6 || one.mtu != 1024) return false;
  if (loss == "Wire1Percent") return device != "lockstep" && (program == "WriteBw" || program == "AtomicBw");
  if (loss == "Netem1Percent") return device == "model" && program == "ReadBw";
  if (loss == "Wire5Percent") return device != "lockstep" && program == "SendBw";
  if (loss == "LostDreq") return device == "model";
  return loss == "Netem5Percent" && device == "model" && (program == "WriteBw" || program == "Rping");
}

// Adjacent cases share a simulator where possible.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* device : {"model", "rtl", "lockstep"}) {
    for (const Loss& loss : kLosses) {
      for (const unsigned mtu : {4096U, 1024U}) {
        for (const bool ipv6 : {false, true}) {
          for (const RdmaProgram& program : kPrograms) {
            for (const bool guest_serves : {false, true}) {
              const Case one{device, &loss, ipv6, mtu, &program, guest_serves};
              if (MakesSense(one) && (IsFullSystemTest() || IsQuick(one))) cases.push_back(one);
            }
          }
        }
      }
    }
  }
  return cases;
}

class SoftRoce : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_system_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    World().directory = pattern;
  }
  static void TearDownTestSuite() {
    World().guest.reset();
    StopSimulator();
    std::error_code error;
    std::filesystem::remove_all(World().directory, error);
    for (const auto& [device, score] : World().scores) {
      std::printf("soft-roce: %-8s %3u of %3u passed, %u of them with a lost DREQ of the guest\n", device.c_str(),
                  score.passed, score.total, score.lost_good_byes);
    }
  }

  void SetUp() override {
    if (World().guest == nullptr) {
      if (World().is_unavailable.empty()) Boot();
      if (!World().is_unavailable.empty()) GTEST_SKIP() << World().is_unavailable;
      ASSERT_NE(World().guest, nullptr);
    }
    // One simulator per device and wire configuration; the guest's end stays. Both ends have the same MTU, because
    // connection managers use the initiator's path MTU. RoCE headers take less than 100 bytes.
    const Case& one = GetParam();
    const std::string mtu = one.mtu == 4096 ? "4400" : "1500";
    const std::string faults = one.loss->faults == nullptr ? "" : one.loss->faults;
    if (World().simulator == nullptr || World().device != one.device || World().faults != faults ||
        World().mtu != mtu) {
      StopSimulator();
      std::vector<std::string> arguments = {"--nics", "1", "--device", one.device, "--wire", Wire(), "--mtu", mtu};
      if (!faults.empty()) arguments.insert(arguments.end(), {"--wire-faults", faults});
      World().simulator = std::make_unique<SimulatorProcess>(arguments);
      World().device = one.device;
      World().faults = faults;
      World().mtu = mtu;
    }
    ASSERT_TRUE(World().simulator->is_ready());
    const std::string queue = one.loss->netem == nullptr ? "pfifo" : std::string("netem ") + one.loss->netem;
    InGuest("ip link set eth0 mtu " + mtu + " && ip neigh flush dev eth0 && tc qdisc replace dev eth0 root " + queue);
    ++World().scores[one.device].total;
  }
  void TearDown() override {
    if (!IsSkipped() && !HasFailure()) ++World().scores[GetParam().device].passed;
  }

  // Returns the line's output; a non-zero status is a test failure.
  static std::string InGuest(const std::string& line, std::chrono::milliseconds timeout = kGuestTimeout) {
    const auto answer = World().guest->Run(line, timeout);
    if (!answer.has_value()) {
      ADD_FAILURE() << "the guest does not answer: " << line << "\nIts kernel: " << World().guest->Log();
      World().guest.reset();  // the next case boots a new one
      return "";
    }
    EXPECT_EQ(answer->status, 0) << line << "\n" << answer->output;
    return answer->output;
  }

  static std::string Words(const char* text, const std::map<std::string, std::string>& values) {
    std::string line = text;
    for (const auto& [name, value] : values) {
      for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + value.size())) {
        line.replace(at, name.size(), value);
      }
    }
    return line;
  }
  // The server's address, for a program in the guest or on this machine.
  static std::string ServerAddress(bool for_guest) {
    const Case& one = GetParam();
    if (one.program->meet == Meet::kTcp) {
      return one.guest_serves ? "127.0.0.1" : Guest::kThisMachine;
    }
    std::string address;
    if (one.guest_serves) {
      address = one.ipv6 ? Guest::kIpv6 : Guest::kIpv4;
    } else {
      address = one.ipv6 ? "fe80::56:49ff:fe52:1" : "10.0.0.1";
    }
    return one.ipv6 && for_guest ? address + "%eth0" : address;  // link-local: Linux requires the scope
  }
  static std::map<std::string, std::string> Values(bool for_guest, unsigned port) {
    const Case& one = GetParam();
    return {{"$PORT", std::to_string(port)},
            {"$A", ServerAddress(for_guest)},
            {"$GID", one.ipv6 ? "0" : "1"},
            {"$MTU", std::to_string(one.mtu)},
            {"$KIND", one.ipv6 ? "ipv6" : "ip"}};
  }
  static Environment OnOurs() { return Seeing(World().simulator->socket(0), {{"VIREO_LOG", "1"}}); }

  void GuestServes() {
    const RdmaProgram& program = *GetParam().program;
    const unsigned port = World().guest->tcp_port();
    const std::string limit = "timeout " + std::to_string(seconds(kProgramTimeout).count()) + " ";
    char hex[16];
    static_cast<void>(std::snprintf(hex, sizeof hex, ":%04X ", port));
    const std::string listens = program.meet == Meet::kTcp
                                    ? "cat /proc/net/tcp /proc/net/tcp6 | grep '" + std::string(hex) + ".* 0A '"
                                    : "rdma resource show cm_id | grep LISTEN";
    InGuest(limit + Words(program.server, Values(true, port)) + " >/run/server 2>&1 & server=$!");
    // Poll: there is no notification of a listening port.
    InGuest("until " + listens + " >/run/none || ! kill -0 $server; do usleep 20000; done");
    if (HasFailure()) return;
    Program client(WordsOf(Words(program.client, Values(false, port))), OnOurs());
    EXPECT_EQ(client.Wait(), 0);
    const std::string output = InGuest("wait $server; status=$?; cat /run/server; (exit $status)", kAnswerTimeout);
    EXPECT_NE(client.Output().find(program.output), std::string::npos);
    if (HasFailure()) ADD_FAILURE() << "here:\n" << client.Output() << "guest:\n" << output;
  }

  // Number of the guest's unanswered DREQs since boot, from its kernel's counters.
  static long UnansweredDreqs() {
    std::istringstream counts(InGuest("cd /sys/class/infiniband/rxe0/ports/1 && cat cm_tx_msgs/dreq cm_rx_msgs/drep"));
    long sent = -1, answered = -1;
    counts >> sent >> answered;
    EXPECT_TRUE(sent >= 0 && answered >= 0) << "the guest's kernel has no CM message counters";
    return sent - answered;
  }
  // Linux stops retransmitting a DREQ once the program has destroyed its identifier [drivers/infiniband/core/cm.c,
  // cm_destroy_id], and a client with forgets_dreq does so immediately. If the DREQ is lost, its peer waits forever, on
  // any NIC: such a server passes if its client has checked its work.
  static bool IsGoodByeLost(Program& server, long unanswered_before) {
    constexpr int kLongEnoughMs = 10'000;  // to exit after a received DREQ
    return UnansweredDreqs() > unanswered_before && !server.HasEnded(kLongEnoughMs) &&
           UnansweredDreqs() > unanswered_before;
  }

  void GuestIsClient() {
    const RdmaProgram& program = *GetParam().program;
    const unsigned port = FreePort();
    const std::string limit = "timeout " + std::to_string(seconds(kProgramTimeout).count()) + " ";
    const bool by_tcp = program.meet == Meet::kTcp;
    Program server(WordsOf(Words(program.server, Values(false, port))), OnOurs(), /*yields=*/by_tcp);
    ASSERT_TRUE(by_tcp ? AwaitListener(port, server) : AwaitOutput("rdma_cm listens", server)) << server.Output();
    const bool may_lose = program.forgets_dreq && std::string(GetParam().loss->name) != "NoLoss";
    const long unanswered = may_lose ? UnansweredDreqs() : 0;
    const std::string output = InGuest(limit + Words(program.client, Values(true, port)), kAnswerTimeout);
    EXPECT_NE(output.find(program.output), std::string::npos);
    if (may_lose && !HasFailure() && IsGoodByeLost(server, unanswered)) {
      ++World().scores[GetParam().device].lost_good_byes;
      return;
    }
    EXPECT_STRNE(GetParam().loss->name, "LostDreq") << "the server ended without it";
    EXPECT_EQ(HasFailure() ? 0 : server.Wait(), 0);
    if (HasFailure()) ADD_FAILURE() << "guest:\n" << output << "here:\n" << server.Output();
  }

 private:
  struct Score {
    unsigned passed = 0, total = 0, lost_good_byes = 0;
  };
  // State shared by all cases.
  struct Shared {
    std::string directory, is_unavailable;
    std::unique_ptr<Guest> guest;
    std::unique_ptr<SimulatorProcess> simulator;
    std::string device, faults, mtu;  // of the simulator
    std::map<std::string, Score> scores;
  };
  static Shared& World() {
    static Shared world;
    return world;
  }
  static std::string Wire() { return World().directory + "/wire"; }
  static void Boot() {
    Guest::Booted booted = Guest::Start({.directory = World().directory, .wire = Wire()});
    if (booted.is_unavailable) World().is_unavailable = booted.reason;
    if (booted.guest == nullptr && !booted.is_unavailable) ADD_FAILURE() << booted.reason;
    if (booted.guest != nullptr) {
      if (const auto reason = booted.guest->AwaitBoot(); reason.has_value()) {
        ADD_FAILURE() << *reason;
        return;
      }
    }
    World().guest = std::move(booted.guest);
    if (World().guest != nullptr) {
      std::printf("soft-roce: the guest started in %.1f s\n",
                  static_cast<double>(World().guest->boot_time().count()) / 1000);
    }
  }
  // The simulator exits with another status than 0 only for device errors: in lockstep, a difference.
  static void StopSimulator() {
    if (World().simulator != nullptr) {
      EXPECT_EQ(World().simulator->Stop(), 0) << World().device;
    }
    World().simulator.reset();
  }
};

TEST_P(SoftRoce, Interoperates) {
  if (GetParam().guest_serves) {
    GuestServes();
  } else {
    GuestIsClient();
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, SoftRoce, testing::ValuesIn(Cases()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace vireo::sim
