// SPDX-License-Identifier: Apache-2.0
// Two Linux guests, whose only network device is a NIC of the simulator each, exported as a PCI function. The driver is
// the kernel's own virtio_net, in the distribution's build. See docs/guest.md.
//
// A world is one simulator with its guests; all cases of a world share it. VIREO_SYSTEM=full runs every case in every
// world, else a subset of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "spec/gen/vireo_spec.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/system/guest.h"
#include "verif/system/guest_line.h"

namespace vireo::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kCommandTimeout = seconds(120);

// What a world runs without VIREO_SYSTEM=full: the cases whose names start so.
using Cases = std::span<const char* const>;
constexpr const char* kModelCases[] = {"Pings",    "Files", "Ethtool", "Statistics", "QueuePairs", "Coalescing",
                                       "Checksum", "Mtu",   "Unicast", "Multicast",  "Vlan",       "LinkChange",
                                       "Suspends", "Rings", "Reboots", "NewKernel"};
constexpr const char* kLockstepCases[] = {"Pings",      "Files",    "InterfaceGoesDownAndUp",
                                          "LinkChange", "Suspends", "SoftRoce"};
constexpr const char* kRtlCases[] = {"Pings", "LinkChange", "Suspends", "DriverIsUnboundAndBound"};

struct World {
  const char* name;
  const char* device;
  const spec::Config* config;
  unsigned cpus;
  bool has_split_rings;  // else packed ones
  const char* kernel;    // GuestSetup
  Cases usual;
};
constexpr bool kSplit = true, kPacked = false;
constexpr const char* const kOwn = "";  // this machine's Debian
constexpr const char* const kTrixie = "trixie";
// Each value of each column, and each case, is in the usual run.
constexpr World kWorlds[] = {
    {"model_nic100_4cpus_split_trixie", "model", &spec::kNic100, 4, kSplit, kTrixie, kModelCases},
    {"lockstep_nic100", "lockstep", &spec::kNic100, 1, kPacked, kOwn, kLockstepCases},
    {"rtl_nic1", "rtl", &spec::kNic1, 1, kPacked, kOwn, kRtlCases},
    {"model_nic100", "model", &spec::kNic100, 1, kPacked, kOwn, {}},
    {"model_nic1_split", "model", &spec::kNic1, 1, kSplit, kOwn, {}},
    {"lockstep_nic100_4cpus", "lockstep", &spec::kNic100, 4, kPacked, kOwn, {}},
    {"lockstep_nic100_split_trixie", "lockstep", &spec::kNic100, 1, kSplit, kTrixie, {}},
    {"lockstep_nic1", "lockstep", &spec::kNic1, 1, kPacked, kOwn, {}},
    {"rtl_nic100", "rtl", &spec::kNic100, 1, kPacked, kOwn, {}},
    {"rtl_nic100_4cpus_trixie", "rtl", &spec::kNic100, 4, kPacked, kTrixie, {}},
};
void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

// The size of a net queue.
unsigned NetEntries(const World& world) {
  return std::min(world.config->max_net_queue_entries, world.config->max_queue_entries);
}

// Linux fills every entry of every receive queue that it uses. Measured: 25 KiB of memory for each.
unsigned MemoryMib(const World& world) { return 384 + world.cpus * (NetEntries(world) * 28 / 1024); }

unsigned QueuePairs(const World& world) { return std::min(world.cpus, world.config->net_queue_pairs); }
unsigned MostMtu(const World& world) { return world.config->max_frame_bytes - 18; }  // Ethernet header, VLAN tag

// A datagram to the RoCE port whose bytes a fault of the wire waits for: the link of guest 1 is down for 2 s. Its
// payload is that of a TFTP request, 00 01 and the file's name: for the wire a packet of opcode 0 to this queue pair.
constexpr const char* kCutLink = "timeout 2 tftp -g -l /run/none -r LLLLLLLLLLLLLLLL 10.0.0.2 4791 2>/run/none";
constexpr const char* kTopology = R"(
[[nic]]
[[nic]]
[[nic]]  # for a program

[[link]]
ends = ["vireo1", "switch"]
faults = "link_down 2000000000 opcode=rc_send_first qp=0x4c4c4c nth=1"
)";
constexpr size_t kProgramNic = 2;

class Guests : public testing::TestWithParam<World> {
 protected:
  static void TearDownTestSuite() { End(); }

  void SetUp() override {
    const World& world = GetParam();
    if (!IsFullSystemTest() && world.usual.empty()) GTEST_SKIP() << "VIREO_SYSTEM=full runs this world";
    if (!IsFullSystemTest() && !IsUsual(world)) GTEST_SKIP() << "VIREO_SYSTEM=full runs this case here";
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    if (Shared().world != world.name) Begin(world);
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    ASSERT_TRUE(Shared().is_running) << "the guests of this world do not run";
  }
  void TearDown() override {
    if (!Shared().is_running || IsSkipped()) return;
    for (const unsigned guest : {0U, 1U}) ExpectNoErrors(guest);
  }

  // Returns the line's output; a non-zero status is a test failure.
  static std::string In(unsigned guest, const std::string& line, milliseconds timeout = kCommandTimeout) {
    if (!Shared().is_running) return "";
    return ExpectSuccess(*Shared().guests[guest], guest, line, timeout, Shared().is_running);
  }
  static unsigned long Number(unsigned guest, const std::string& line) {
    return std::strtoul(In(guest, line).c_str(), nullptr, 10);
  }
  // A counter of /sys/class/net/eth0/statistics.
  static unsigned long Count(unsigned guest, const std::string& name) {
    return Number(guest, "cat /sys/class/net/eth0/statistics/" + name);
  }
  static std::string AddressOf(unsigned guest) { return "10.0.0." + std::to_string(guest + 1); }

  // All replies arrive, and each has the request's bytes (busybox' ping compares them).
  static void Ping(unsigned from, const std::string& address, unsigned bytes = 56, unsigned count = 3) {
    const std::string all = std::to_string(count);
    const std::string output = In(from, "ping -c " + all + " -i 0.1 -W 20 -s " + std::to_string(bytes) + " " + address);
    EXPECT_NE(output.find(all + " packets transmitted, " + all + " packets received"), std::string::npos) << output;
  }
  static void PingEachOther(unsigned bytes = 56, unsigned count = 3) {
    Ping(0, AddressOf(1), bytes, count);
    Ping(1, AddressOf(0), bytes, count);
  }

  // A random file of `kib` KiB that `from` serves by HTTP arrives in the other guest, `flows` times at once.
  static void Transfer(unsigned from, unsigned kib, unsigned flows = 1) {
    const unsigned to = 1 - from;
    const std::string sent =
        In(from, "mkdir -p /run/www && dd if=/dev/urandom of=/run/www/file bs=1024 count=" + std::to_string(kib) +
                     " 2>/run/none && (pidof httpd >/run/none || httpd -p 80 -h "
                     "/run/www) && sha256sum </run/www/file");
    std::string fetch = "rm -f /run/got*; fetches=; ";
    for (unsigned flow = 0; flow < flows; ++flow) {
      fetch += "wget -q -O /run/got" + std::to_string(flow) + " http://" + AddressOf(from) +
               "/file & fetches=\"$fetches $!\"; ";
    }
    In(to, fetch + "wait $fetches");
    for (unsigned flow = 0; flow < flows; ++flow) {
      EXPECT_EQ(In(to, "sha256sum </run/got" + std::to_string(flow)), sent) << "flow " << flow;
    }
    EXPECT_EQ(sent.size(), 68U) << sent;  // 64 digits, "  -", end of line
  }

  // Linux drops what it would send on an interface that is down. Until the counters start again from 0.
  static void ExpectDroppedTransmissions(unsigned guest) {
    In(guest, "mkdir -p /run/expected && cp /sys/class/net/eth0/statistics/tx_dropped /run/expected");
  }
  static void ExpectNoErrors(unsigned guest) {
    const std::string counts =
        In(guest,
           "cd /sys/class/net/eth0/statistics; for count in *errors *dropped; do read n <$count; "
           "[ $n = $(cat /run/expected/$count 2>/run/none || echo 0) ] || echo $count $n; done");
    EXPECT_EQ(counts, "") << "guest " << guest;
    const std::string log = In(
        guest, "dmesg | grep -iE 'warning|(^|[^e])bug:|call trace|netdev watchdog|lockup|virtio.*(fail|error)'; true");
    EXPECT_EQ(log, "") << "guest " << guest;
  }

  static void Restart(unsigned guest, const std::string& line) {
    if (!Shared().is_running) return;
    if (!Shared().guests[guest]->Reboot(line)) {
      Shared().is_running = false;
      FAIL() << "guest " << guest << " does not come back; its kernel: " << Shared().guests[guest]->Log();
    }
    AwaitTraffic();
  }

  static void SleepAndWake(unsigned guest) {
    if (!Shared().is_running) return;
    const auto answer = Shared().guests[guest]->RunAndWake("echo freeze >/sys/power/state", kCommandTimeout);
    if (!answer.has_value()) {
      Shared().is_running = false;
      FAIL() << "guest " << guest << " does not sleep or does not wake; its kernel: " << Shared().guests[guest]->Log();
    }
    EXPECT_EQ(answer->status, 0) << answer->output;
    AwaitTraffic();
  }

  // Linux fills its receive queues after a start, and received packets wait until then.
  static void AwaitTraffic() { In(0, "until ping -c 1 -W 1 " + AddressOf(1) + " >/run/none; do :; done"); }

  // Guest 1 sends to guest 0 until the end of the object, and gets replies. It waits for each, because a slow simulator
  // would have to carry ever older requests.
  class Traffic {
   public:
    Traffic() {
      In(1, "while :; do ping -c 1 -W 1 -s 4000 " + AddressOf(0) + "; usleep 20000; done >/run/none 2>&1 & traffic=$!");
    }
    ~Traffic() { In(1, "kill $traffic; wait $traffic; true"); }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
  };

  // Soft-RoCE on the guest's eth0, until the end of the object.
  class SoftRoce {
   public:
    explicit SoftRoce(unsigned guest) : guest_(guest) {
      In(guest_,
         "{ test -e /sys/module/rdma_rxe || for module in /modules/softroce/*; do insmod $module; done; } && rdma link "
         "add rxe0 type rxe netdev eth0");
    }
    ~SoftRoce() { In(guest_, "rdma link del rxe0"); }
    SoftRoce(const SoftRoce&) = delete;
    SoftRoce& operator=(const SoftRoce&) = delete;

   private:
    const unsigned guest_;
  };
  // Starts a server in the guest; `listens` is true when it does.
  static void StartServer(unsigned guest, const std::string& command, const std::string& listens) {
    In(guest, "timeout 100 " + command + " >/run/server 2>&1 & server=$!");
    In(guest, "until " + listens + " >/run/none; do kill -0 $server || break; usleep 20000; done; kill -0 $server");
  }
  static void AwaitServer(unsigned guest) { In(guest, "wait $server; status=$?; cat /run/server; (exit $status)"); }
  static Environment OnProgramNic() { return Seeing(Shared().simulator->socket(kProgramNic), {{"VIREO_LOG", "1"}}); }

 private:
  struct State {
    std::string world, is_unavailable, directory;
    std::unique_ptr<SimulatorProcess> simulator;
    std::array<std::unique_ptr<Guest>, 2> guests;
    bool is_running = false;
  };
  static State& Shared() {
    static State state;
    return state;
  }

  static bool IsUsual(const World& world) {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    return std::ranges::any_of(world.usual, [&name](const char* start) { return name.starts_with(start); });
  }

  static void Begin(const World& world) {
    End();
    State& state = Shared();
    state.world = world.name;
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_guest_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    state.directory = pattern;
    const std::string topology = pattern + "/topology.toml";
    std::ofstream(topology) << kTopology;
    std::vector<std::string> arguments = {"--topology", topology,   "--device",
                                          world.device, "--config", world.config->name};
    for (const char* nic : {"0", "1"}) {
      arguments.insert(arguments.end(), {"--export", std::string(nic) + "=" + pattern + "/nic" + nic +
                                                         (world.has_split_rings ? ",without=ring_packed" : "")});
    }
    state.simulator = std::make_unique<SimulatorProcess>(arguments);
    ASSERT_TRUE(state.simulator->is_ready());
    for (const unsigned i : {0U, 1U}) {
      const std::string number = std::to_string(i);
      Guest::Booted started = Guest::Start({.directory = pattern,
                                            .name = "guest" + number,
                                            .nic = pattern + "/nic" + number,
                                            .kernel = world.kernel,
                                            .host = i + 1,
                                            .cpus = world.cpus,
                                            .memory_mib = MemoryMib(world)});
      if (started.is_unavailable) state.is_unavailable = started.reason;
      if (started.guest == nullptr) {
        EXPECT_TRUE(started.is_unavailable) << started.reason;
        return;
      }
      state.guests[i] = std::move(started.guest);
    }
    for (auto& guest : state.guests) {
      if (const auto reason = guest->AwaitBoot(); reason.has_value()) FAIL() << *reason;
    }
    state.is_running = true;
    std::printf("%s: the guests started in %.1f s\n", world.name,
                static_cast<double>(state.guests[1]->boot_time().count()) / 1000);
    AwaitTraffic();
  }

  // The simulator exits with another status than 0 for a device error: in lockstep, an event in a different cycle.
  static void End() {
    State& state = Shared();
    for (auto& guest : state.guests) guest.reset();
    if (state.simulator != nullptr) {
      EXPECT_EQ(state.simulator->Stop(), 0) << state.world;
    }
    state.simulator.reset();
    std::error_code error;
    if (!state.directory.empty()) std::filesystem::remove_all(state.directory, error);
    state.is_running = false;
    state.world.clear();
    state.directory.clear();
  }
};

TEST_P(Guests, PingsOfAllSizes) {
  for (const unsigned bytes : {64U, 1400U, 1500U, 4096U, 9000U}) PingEachOther(bytes);
  Ping(0, AddressOf(1), MostMtu(GetParam()) - 28);  // the largest packet
  Ping(0, AddressOf(1), 3 * MostMtu(GetParam()));   // fragments
  Ping(1, "fe80::56:49ff:fe52:1%eth0", 1000);       // IPv6; resolved by multicast
}

TEST_P(Guests, FilesArriveIntact) {
  Transfer(0, 512);
  Transfer(1, 512);
}

TEST_P(Guests, EthtoolShowsTheDevice) {
  const World& world = GetParam();
  if (world.kernel == std::string(kTrixie)) {
    EXPECT_NE(In(0, "uname -r").find("+deb13"), std::string::npos);
  }
  EXPECT_NE(In(0, "ethtool -i eth0").find("driver: virtio_net"), std::string::npos);
  EXPECT_NE(In(0, "ethtool eth0").find("Link detected: yes"), std::string::npos);
  EXPECT_EQ(In(0, "cat /sys/class/net/eth0/operstate /sys/class/net/eth0/mtu"),
            "up\n" + std::to_string(MostMtu(world)) + "\n");
  EXPECT_EQ(In(0, "cat /sys/class/net/eth0/address"), "02:56:49:52:00:01\n");
  const std::string entries = std::to_string(NetEntries(world));
  EXPECT_EQ(In(0, "ethtool -g eth0 | grep -E '^[RT]X:' | tr -d ' \\t' | tr '\\n' ' '"),
            "RX:" + entries + " TX:" + entries + " RX:" + entries + " TX:" + entries + " \n");
  if (world.config->net_queue_pairs > 1) {
    EXPECT_EQ(In(0, "ethtool -l eth0 | grep Combined | tr -d ' \\t' | tr '\\n' ' '"),
              "Combined:" + std::to_string(world.config->net_queue_pairs) +
                  " Combined:" + std::to_string(QueuePairs(world)) + " \n");
  }
  // Bit n is the character at n: the driver accepts these of the device.
  const std::string features = In(0, "cat /sys/class/net/eth0/device/features");
  ASSERT_GE(features.size(), 64U);
  for (const auto bit :
       {spec::VirtioFeature::kVersion1, spec::VirtioFeature::kRingEventIdx, spec::VirtioFeature::kAccessPlatform}) {
    EXPECT_EQ(features[static_cast<size_t>(bit)], '1') << spec::ToString(bit);
  }
  EXPECT_EQ(features[static_cast<size_t>(spec::VirtioFeature::kRingPacked)], world.has_split_rings ? '0' : '1');
  for (const auto bit : {spec::NetFeature::kCsum, spec::NetFeature::kMrgRxbuf, spec::NetFeature::kCtrlVlan}) {
    EXPECT_EQ(features[static_cast<size_t>(bit)], '1') << spec::ToString(bit);
  }
}

TEST_P(Guests, StatisticsCountThePackets) {
  constexpr unsigned kPings = 10;
  const unsigned long sent = Count(0, "tx_packets"), received = Count(1, "rx_packets");
  Ping(0, AddressOf(1), 1000, kPings);
  EXPECT_GE(Count(0, "tx_packets") - sent, kPings);
  EXPECT_GE(Count(1, "rx_packets") - received, kPings);
  EXPECT_LE(Count(1, "rx_packets") - received, kPings + 10);  // and a few of neighbour discovery
  // Linux 6.12 has no names of single queues' packets here.
  if (In(1, "ethtool -S eth0").find("rx_queue_0_packets") == std::string::npos) return;
  const std::string sum = "ethtool -S eth0 | awk '/rx_queue_[0-9]+_packets/ { sum += $2 } END { print sum }'";
  EXPECT_EQ(Number(1, sum), Count(1, "rx_packets"));
}

TEST_P(Guests, QueuePairsShareTheTraffic) {
  const unsigned pairs = QueuePairs(GetParam());
  // The receive queues that have had an interrupt.
  const std::string used =
      "awk '/virtio[0-9]+-input[.][0-9]+$/ { sum = 0; for (cpu = 2; $cpu ~ /^[0-9]+$/; ++cpu) sum += $cpu; used += sum "
      "> 0 } "
      "END { print used + 0 }' /proc/interrupts";
  Transfer(1, 128, 8);  // flows are spread by a hash
  EXPECT_GE(Number(0, used), pairs > 1 ? 2U : 1U);
  if (pairs == 1) return;
  In(0, "ethtool -L eth0 combined 1");
  PingEachOther();
  In(0, "ethtool -L eth0 combined " + std::to_string(pairs));
  PingEachOther();
  In(0, "! ethtool -L eth0 combined " + std::to_string(GetParam().config->net_queue_pairs + 1));
}

TEST_P(Guests, CoalescingIsSetAndTrafficGoesOn) {
  In(0, "ethtool -C eth0 rx-usecs 50 rx-frames 8 tx-usecs 100 tx-frames 8");
  EXPECT_EQ(In(0, "ethtool -c eth0 | grep -E '^[rt]x-(usecs|frames):' | tr -d ' \\t' | tr '\\n' ' '"),
            "rx-usecs:50 rx-frames:8 tx-usecs:100 tx-frames:8 \n");
  PingEachOther();
  Transfer(1, 64);
  In(0, "ethtool -C eth0 rx-usecs 0 rx-frames 1 tx-usecs 0 tx-frames 1");
  PingEachOther();
}

TEST_P(Guests, ChecksumOffloadOnAndOff) {
  for (const char* mode : {"off", "on"}) {
    In(1, std::string("ethtool -K eth0 tx ") + mode);
    Transfer(1, 128);
    EXPECT_EQ(In(1, "ethtool -k eth0 | grep tx-checksum-ip-generic"),
              std::string("\ttx-checksum-ip-generic: ") + mode + "\n");
  }
  // InErrs, beside it, also counts repeated SYNs.
  EXPECT_EQ(In(0, "awk '$1 == \"Tcp:\" { print $NF }' /proc/net/snmp"), "InCsumErrors\n0\n");
}

TEST_P(Guests, MtuChanges) {
  const std::string most = std::to_string(MostMtu(GetParam()));
  In(0, "! ip link set eth0 mtu " + std::to_string(MostMtu(GetParam()) + 1));
  for (const char* mtu : {"1500", "9000"}) {
    for (const unsigned guest : {0U, 1U}) In(guest, std::string("ip link set eth0 mtu ") + mtu);
    PingEachOther(8000);
    Transfer(0, 64);
  }
  for (const unsigned guest : {0U, 1U}) In(guest, "ip link set eth0 mtu " + most);
}

TEST_P(Guests, UnicastFilterFollowsAddressAndPromiscuousMode) {
  // Frames to an address of nobody reach every port of the switch.
  const auto arrived = [] {
    const unsigned long before = Count(1, "rx_packets");
    In(0,
       "ip neigh replace 10.0.0.77 lladdr 02:00:00:00:00:99 nud permanent dev eth0; ping -c 5 -i 0.1 -W 1 10.0.0.77 "
       ">/run/none; true");
    return Count(1, "rx_packets") - before;
  };
  EXPECT_LT(arrived(), 5U);
  In(1, "ip link set eth0 promisc on");
  EXPECT_GE(arrived(), 5U);
  In(1, "ip link set eth0 promisc off");
  EXPECT_LT(arrived(), 5U);
  In(1, "ip link set eth0 address 02:00:00:00:00:99");
  EXPECT_GE(arrived(), 5U);
  In(0, "ip neigh flush dev eth0");
  PingEachOther();
  In(1, "ip link set eth0 address 02:56:49:52:00:02");
  EXPECT_LT(arrived(), 5U);
  In(0, "ip neigh del 10.0.0.77 dev eth0; ip neigh flush dev eth0");
  PingEachOther();
}

TEST_P(Guests, MulticastFilterFollowsGroups) {
  // 239.1.2.3 is 01:00:5e:01:02:03 [RFC 1112, 6.4].
  const auto arrived = [] {
    const unsigned long before = Count(1, "rx_packets");
    In(0, "ip route replace 239.0.0.0/8 dev eth0; ping -c 5 -i 0.1 -W 1 239.1.2.3 >/run/none; true");
    return Count(1, "rx_packets") - before;
  };
  EXPECT_LT(arrived(), 5U);
  In(1, "ip maddress add 01:00:5e:01:02:03 dev eth0");
  EXPECT_GE(arrived(), 5U);
  In(1, "ip maddress del 01:00:5e:01:02:03 dev eth0");
  EXPECT_LT(arrived(), 5U);
  In(1, "ip link set eth0 allmulticast on");
  EXPECT_GE(arrived(), 5U);
  In(1, "ip link set eth0 allmulticast off");
  EXPECT_LT(arrived(), 5U);
}

TEST_P(Guests, VlanFilterFollowsInterfaces) {
  const auto add = [](unsigned guest) {
    In(guest, "ip link add link eth0 name vlan5 type vlan id 5 && ip address add 10.5.0." + std::to_string(guest + 1) +
                  "/24 dev vlan5 && ip link set vlan5 up");
  };
  add(0);
  // The NIC of guest 1 drops frames of a VLAN that it has not been told of.
  const unsigned long before = Count(1, "rx_packets");
  In(0,
     "ip neigh replace 10.5.0.2 lladdr 02:56:49:52:00:02 dev vlan5; ping -c 5 -i 0.1 -W 1 10.5.0.2 >/run/none; true");
  EXPECT_LT(Count(1, "rx_packets") - before, 5U);
  add(1);
  In(0, "ip neigh flush dev vlan5");
  Ping(0, "10.5.0.2");
  Ping(1, "10.5.0.1", 9000);
  for (const unsigned guest : {0U, 1U}) In(guest, "ip link del vlan5");
  PingEachOther();
}

// A TCP connection of the interface transfers data all the time, and is the same one at the end.
TEST_P(Guests, InterfaceGoesDownAndUpUnderTraffic) {
  Transfer(0, 1);  // starts the HTTP server
  In(0,
     "rm -f /run/enough && mkdir -p /run/www/cgi-bin && printf '%s\\n' '#!/bin/sh' 'echo Content-type: x; echo' "
     "'until test -e /run/enough; do head -c 20000 /dev/urandom; usleep 20000; done | tee /run/sent' "
     ">/run/www/cgi-bin/stream && chmod +x /run/www/cgi-bin/stream");
  In(1, "wget -q -O /run/got http://10.0.0.1/cgi-bin/stream & fetch=$!");
  In(1, "until test -s /run/got; do usleep 10000; done");
  for (int round = 0; round < 3; ++round) {
    In(0, "ip link set eth0 down && ip link set eth0 up && sleep 0.3");
    Ping(0, AddressOf(1));
  }
  In(1, "kill -0 $fetch");
  In(0, "touch /run/enough");
  In(1, "wait $fetch");
  EXPECT_EQ(In(1, "sha256sum </run/got"), In(0, "sha256sum </run/sent"));
  ExpectDroppedTransmissions(0);
  PingEachOther();
}

TEST_P(Guests, LinkChangeIsSeen) {
  // [virtio 1.3, 5.1.4: status, with an interrupt of the configuration]
  const std::string changes = "cd /sys/class/net/eth0 && cat carrier carrier_down_count carrier_up_count";
  EXPECT_EQ(In(1, changes), "1\n1\n1\n");
  In(0, std::string(kCutLink) + "; true");
  In(1, "until [ $(cat /sys/class/net/eth0/carrier_up_count) = 2 ]; do usleep 50000; done");
  EXPECT_EQ(In(1, changes), "1\n2\n2\n");
  AwaitTraffic();
  PingEachOther();
}

// To idle, until the power button is pressed: the driver resets the device, and sets it up again.
TEST_P(Guests, SuspendsAndResumes) {
  const Traffic traffic;
  for (int round = 0; round < 2; ++round) {
    ASSERT_NO_FATAL_FAILURE(SleepAndWake(0));
    PingEachOther();
    Transfer(0, 64);
    Transfer(1, 64);
  }
  EXPECT_EQ(In(0, "cat /sys/power/suspend_stats/success /sys/power/suspend_stats/fail"), "2\n0\n");
}

// Without the RoCE feature the NIC passes RoCE frames on like all others, to Linux' own implementation.
TEST_P(Guests, SoftRoceRunsOverTheNetQueues) {
  const SoftRoce first(0), second(1);
  StartServer(1, "rping -s -a 10.0.0.2 -C 5 -S 9000 -V", "rdma resource show cm_id | grep LISTEN");
  EXPECT_NE(In(0, "timeout 100 rping -c -a 10.0.0.2 -C 5 -S 9000 -V -v").find("ping data: rdma-ping-4:"),
            std::string::npos);
  AwaitServer(1);
  // Its ACK timeout of 9 s (-u 21) is longer than any round trip: timers of the guest run in the machine's time, and
  // what is sent again while a slow simulator still carries the first one is more work for it, without end.
  const std::string send = "ib_send_bw -F -x 1 -m 4096 -n 20 -s 8192 -u 21 -e";
  StartServer(1, send, "cat /proc/net/tcp /proc/net/tcp6 | grep ':4853 .* 0A '");  // its TCP port, 18515
  EXPECT_NE(In(0, "timeout 100 " + send + " 10.0.0.2").find(" 8192       20 "), std::string::npos);
  AwaitServer(1);
}

// One end is Linux with Soft-RoCE on virtio_net, the other a program on a NIC's own RDMA.
TEST_P(Guests, SoftRoceTalksToAProgramOnANic) {
  const SoftRoce link(0);
  const std::string common = " -p 7471 -C 5 -S 9000 -V", last = "ping data: rdma-ping-4:";
  {
    Program server(WordsOf("rping -s -a 10.0.0.3" + common), OnProgramNic(), /*yields=*/false);
    ASSERT_TRUE(AwaitOutput("rdma_cm listens", server)) << server.Output();
    EXPECT_NE(In(0, "timeout 100 rping -c -a 10.0.0.3 -v" + common).find(last), std::string::npos);
    EXPECT_EQ(server.Wait(), 0) << server.Output();
  }
  StartServer(0, "rping -s -a 10.0.0.1" + common, "rdma resource show cm_id | grep LISTEN");
  Program client(WordsOf("rping -c -a 10.0.0.1 -v" + common), OnProgramNic());
  EXPECT_EQ(client.Wait(), 0) << client.Output();
  EXPECT_NE(client.Output().find(last), std::string::npos) << client.Output();
  AwaitServer(0);
}

// Resets single queues while the others go on. [virtio 1.3, 2.6.1]
TEST_P(Guests, RingsAreResized) {
  const auto resize = [](const std::string& receive, const std::string& transmit) {
    In(0, "ethtool -G eth0 rx " + receive + " tx " + transmit, seconds(600));
    EXPECT_EQ(In(0, "ethtool -g eth0 | grep -E '^[RT]X:' | tail -n 2 | tr -d ' \\t' | tr '\\n' ' '"),
              "RX:" + receive + " TX:" + transmit + " \n");
    AwaitTraffic();
    PingEachOther(9000);
    Transfer(0, 128);
    Transfer(1, 128);
  };
  const std::string most = std::to_string(NetEntries(GetParam()));
  resize("128", "64");
  resize(most, most);
}

TEST_P(Guests, DriverIsUnboundAndBound) {
  const Traffic traffic;
  for (const char* driver : {"virtio_net", "virtio-pci", "virtio_net"}) {
    const std::string device = std::string("basename $(readlink -f /sys/class/net/eth0/device") +
                               (std::string(driver) == "virtio-pci" ? "/.." : "") + ")";
    const std::string bus =
        std::string("/sys/bus/") + (std::string(driver) == "virtio-pci" ? "pci" : "virtio") + "/drivers/" + driver;
    In(0,
       "rm -rf /run/expected; device=$(" + device + ") && echo $device >" + bus +
           "/unbind && ! test -e /sys/class/net/eth0",
       seconds(600));
    In(0, "echo $device >" + bus +
              "/bind && until test -e /sys/class/net/eth0; do usleep 10000; done && ip link set eth0 up && "
              "ip address add 10.0.0.1/24 dev eth0");
    AwaitTraffic();
    PingEachOther();
    Transfer(1, 64);
  }
}

// The machine's reset resets the device.
TEST_P(Guests, RebootsUnderTraffic) {
  const Traffic traffic;
  ASSERT_NO_FATAL_FAILURE(Restart(0, "reboot -f"));
  PingEachOther();
  Transfer(0, 64);
  Transfer(1, 64);
}

// Nothing resets the machine: the new kernel finds the device as the old one's driver left it, in use.
TEST_P(Guests, NewKernelTakesOverUnderTraffic) {
  const Traffic traffic;
  In(0, "find / -xdev -path '/run/*' -prune -o -print | cpio -o -H newc >/run/initramfs 2>/run/none");
  ASSERT_NO_FATAL_FAILURE(Restart(0, "kexec /vmlinuz /run/initramfs \"$(cat /proc/cmdline) vireo.started_by=kexec\""));
  EXPECT_NE(In(0, "cat /proc/cmdline").find("vireo.started_by=kexec"), std::string::npos);
  PingEachOther();
  Transfer(0, 64);
  Transfer(1, 64);
}

INSTANTIATE_TEST_SUITE_P(Worlds, Guests, testing::ValuesIn(kWorlds), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace vireo::sim
