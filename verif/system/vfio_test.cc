// SPDX-License-Identifier: Apache-2.0
// Linux' own VFIO as the judge of host/driver/vfio_kernel_device.h: a guest with an IOMMU and two NICs of the
// simulator, in which examples/vfio drives both without a driver in the kernel. See docs/guest.md.
//
// A world is one simulator with its guest; all cases of a world share it. VIREO_SYSTEM=full runs every world.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/system/guest.h"
#include "verif/system/guest_line.h"

namespace vireo::sim {
namespace {

constexpr auto kTimeout = std::chrono::seconds(240);
constexpr std::array<const char*, 2> kAddresses = {"0000:01:00.0", "0000:02:00.0"};
constexpr const char* kBoth = "0000:01:00.0 0000:02:00.0";
constexpr const char* kProgram = "vireo_vfio_pair";

struct World {
  const char* name;
  const char* device;
  const char* config;
  const char* kernel;  // GuestSetup
  bool is_usual;       // without VIREO_SYSTEM=full, too
};
constexpr World kWorlds[] = {
    {"model_nic100", "model", "nic100", "", true},
    {"model_nic1_trixie", "model", "nic1", "trixie", false},
    {"lockstep_nic1", "lockstep", "nic1", "", false},
};
void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

class Vfio : public testing::TestWithParam<World> {
 protected:
  static void TearDownTestSuite() { End(); }

  void SetUp() override {
    const World& world = GetParam();
    if (!IsFullSystemTest() && !world.is_usual) GTEST_SKIP() << "VIREO_SYSTEM=full runs this world";
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    if (Shared().world != world.name) Begin(world);
    if (!Shared().is_unavailable.empty()) GTEST_SKIP() << Shared().is_unavailable;
    ASSERT_TRUE(Shared().is_running) << "the guest of this world does not run";
  }
  // Neither the kernel nor its IOMMU has seen a fault.
  void TearDown() override {
    if (!Shared().is_running || IsSkipped()) return;
    EXPECT_EQ(
        In("dmesg | grep -iE 'warning|(^|[^e])(bug:|fault)|call trace|lockup|vfio.*(fail|error|timed out)'; true"), "");
  }

  // Returns the line's output; a non-zero status is a test failure.
  static std::string In(const std::string& line) {
    if (!Shared().is_running) return "";
    return ExpectSuccess(*Shared().guest, 0, line, kTimeout, Shared().is_running);
  }
  static void ExpectRefused(const std::string& line, const std::string& reason) {
    if (!Shared().is_running) return;
    const std::string output = In(line + "; echo \"status $?\"");
    EXPECT_NE(output.find("status 1\n"), std::string::npos) << line << "\n" << output;
    EXPECT_NE(output.find(reason), std::string::npos) << line << "\n" << output;
  }
  // Both NICs talk, are reset by the kernel, and talk again. `command`: with the program's options.
  static void ExpectTraffic(const std::string& command) {
    const std::string output = In(command);
    size_t exchanges = 0;
    for (size_t at = output.find(" bytes arrived\n"); at != std::string::npos;
         at = output.find(" bytes arrived\n", at + 1)) {
      ++exchanges;
    }
    EXPECT_EQ(exchanges, 2U) << output;
    // Two rounds of five messages each way, before and after the reset: an interrupt for each end of each message.
    EXPECT_NE(output.find("interrupts: 40 of 0000:01:00.0, 40 of 0000:02:00.0\n"), std::string::npos) << output;
  }

  static std::string DriverOf(const char* address) {
    return In(std::string("basename \"$(readlink /sys/bus/pci/devices/") + address + "/driver)\"");
  }
  // Both have virtio-pci again, as after the start.
  static void GiveBack() {
    for (const std::string address : kAddresses) {
      const std::string device = "/sys/bus/pci/devices/" + address;
      In("echo >" + device + "/driver_override; ! test -e " + device + "/driver || echo " + address + " >" + device +
         "/driver/unbind; echo " + address + " >/sys/bus/pci/drivers_probe");
      EXPECT_EQ(DriverOf(address.c_str()), "virtio-pci\n");
    }
  }
  // Both have vfio-pci. Each program that ends costs seconds, for the kernel's resets, so none runs without need.
  static void Bind() {
    if (std::ranges::all_of(kAddresses, [](const char* address) { return DriverOf(address) == "vfio-pci\n"; })) return;
    In(std::string(kProgram) + " --rounds 1 --bind " + kBoth);
    for (const char* const address : kAddresses) EXPECT_EQ(DriverOf(address), "vfio-pci\n");
  }
  // /dev/vfio/GROUP of the first NIC.
  static std::string GroupFile() {
    std::string name =
        In(std::string("basename \"$(readlink /sys/bus/pci/devices/") + kAddresses[0] + "/iommu_group)\"");
    if (!name.empty()) name.pop_back();
    return "/dev/vfio/" + name;
  }

 private:
  struct State {
    std::string world, is_unavailable, directory;
    std::unique_ptr<SimulatorProcess> simulator;
    std::unique_ptr<Guest> guest;
    bool is_running = false;
  };
  static State& Shared() {
    static State state;
    return state;
  }

  static void Begin(const World& world) {
    End();
    State& state = Shared();
    state.world = world.name;
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_vfio_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    state.directory = pattern;
    std::vector<std::string> sockets, arguments = {"--nics", "2", "--device", world.device, "--config", world.config};
    for (const char* nic : {"0", "1"}) {
      sockets.push_back(pattern + "/nic" + nic);
      arguments.insert(arguments.end(), {"--export", std::string(nic) + "=" + sockets.back()});
    }
    state.simulator = std::make_unique<SimulatorProcess>(arguments);
    ASSERT_TRUE(state.simulator->is_ready());
    Guest::Booted started = Guest::Start(
        {.directory = pattern, .vfio = sockets, .kernel = world.kernel, .program = VIREO_VFIO_PAIR, .memory_mib = 512});
    if (started.is_unavailable) state.is_unavailable = started.reason;
    if (started.guest == nullptr) {
      EXPECT_TRUE(started.is_unavailable) << started.reason;
      return;
    }
    state.guest = std::move(started.guest);
    if (const auto reason = state.guest->AwaitBoot(); reason.has_value()) FAIL() << *reason;
    state.is_running = true;
  }

  static void End() {
    State& state = Shared();
    state.guest.reset();
    if (state.simulator != nullptr && state.simulator->is_ready()) {
      EXPECT_EQ(state.simulator->Stop(), 0);  // in lockstep: no event in a different cycle
    }
    state.simulator.reset();
    if (!state.directory.empty()) std::filesystem::remove_all(state.directory);
    state = State{};
  }
};

TEST_P(Vfio, RefusalsSayWhatToDo) {
  GiveBack();
  ExpectRefused(std::string(kProgram) + " " + kBoth, "0000:01:00.0 has the driver virtio-pci: give it to vfio-pci");
  ExpectRefused(std::string(kProgram) + " 0000:00:00.0 0000:02:00.0", "0000:00:00.0 has the driver none");
  ExpectRefused(std::string(kProgram) + " --bind 0000:77:00.0 0000:02:00.0", "0000:77:00.0");
  Bind();
  // Another program has it.
  ExpectRefused(
      "exec 5<>" + GroupFile() + " && { " + kProgram + " " + kBoth + "; status=$?; exec 5>&-; (exit $status); }",
      GroupFile() + ": Device or resource busy");
}

TEST_P(Vfio, ProgramTakesTheNicsFromTheKernelAndTheyTalk) {
  GiveBack();
  ExpectTraffic(std::string(kProgram) + " --bind " + kBoth);
  // Another program uses the same device addresses.
  ExpectTraffic(std::string(kProgram) + " 01:00.0 02:00.0 | sed 's/ \\(0[12]:\\)/ 0000:\\1/g'");
}

// A program of a user: it needs the group's files, and memory that it may lock.
TEST_P(Vfio, UserNeedsNoMoreThanTheGroupAndLockedMemory) {
  Bind();
  In("mkdir -p /etc && echo 'root:x:0:0::/:/bin/sh' >/etc/passwd && echo 'user:x:1000:1000::/:/bin/sh' >>/etc/passwd");
  const auto as_user = [](const std::string& line) { return "su user -c '" + line + "'"; };
  const std::string command = std::string(kProgram) + " " + kBoth;
  In("chmod 755 / && chown root /dev/vfio/*");
  ExpectRefused(as_user("/bin/" + command), GroupFile() + ": Permission denied");
  In("chown user /dev/vfio/*");
  ExpectRefused(as_user("ulimit -l 64; /bin/" + command), "(RLIMIT_MEMLOCK: ulimit -l)");
  ExpectTraffic("ulimit -l unlimited; " + as_user("/bin/" + command));
}

// The kernel ends its DMA and resets the NICs, which the next program finds as new.
TEST_P(Vfio, NicsAreUsableAfterTheirProgramIsKilled) {
  Bind();
  for (int i = 0; i < 2; ++i) {
    In(std::string(kProgram) + " --rounds 1000000 " + kBoth +
       " >/run/victim & victim=$!; until [ $(grep -c MAC /run/victim) = 2 ]; do "
       "usleep 20000; done; usleep 200000; kill -9 $victim; wait $victim; [ $? = 137 ]");
  }
  ExpectTraffic(std::string(kProgram) + " " + kBoth);
}

// Linux' virtio_net has the NICs, and moves its packets through the same IOMMU; then a program takes them away under
// traffic.
TEST_P(Vfio, KernelGetsTheNicsBack) {
  Bind();
  GiveBack();
  In("ip netns add peer && ip link set eth1 netns peer && ip address add 10.0.0.1/24 dev eth0 && ip link set eth0 up "
     "&& "
     "ip -n peer address add 10.0.0.2/24 dev eth1 && ip -n peer link set eth1 up");
  In("for i in $(seq 30); do ping -c 1 -W 1 10.0.0.2 >/run/none && break; done");
  const std::string pings = In("ping -c 3 -i 0.1 -W 20 -s 4000 10.0.0.2");
  EXPECT_NE(pings.find("3 packets transmitted, 3 packets received"), std::string::npos) << pings;
  In("ping -i 0.1 10.0.0.2 >/run/none 2>&1 & traffic=$!");
  ExpectTraffic(std::string(kProgram) + " --bind " + kBoth);
  In("kill $traffic; wait $traffic; ip netns del peer; true");
}

INSTANTIATE_TEST_SUITE_P(Worlds, Vfio, testing::ValuesIn(kWorlds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::sim
