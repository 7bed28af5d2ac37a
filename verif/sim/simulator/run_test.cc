// SPDX-License-Identifier: Apache-2.0
// `vireo up`, `status`, `exec`, `down` and `pair` as run at a terminal: their output, their errors, and whether reports
// match the run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/driver/vfio_user_device.h"
#include "host/driver/virtio_pci.h"
#include "sim/common/pcap.h"
#include "sim/simulator/control_socket.h"
#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/sim/pvrdma/side.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kPingpongBytes = 4096;  // ibv_rc_pingpong's default

class Run : public testing::Test {
 protected:
  struct Ended {
    int code = -1;
    std::string output;
  };

  Run() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_run_XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) directory_ = pattern;
  }
  ~Run() override {
    if (is_up_) Vireo({"down", "--directory", directory_ / "up"});
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  void SetUp() override { ASSERT_FALSE(directory_.empty()); }

  static Ended Vireo(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {VIREO_RUN};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Program program(command, {}, /*yields=*/false);
    const int code = program.Wait();
    return {code, program.Output()};
  }
  // A simulation that ends with the test.
  Ended Up(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"up", "--directory", directory_ / "up"});
    is_up_ = true;
    return Vireo(arguments);
  }
  Ended On(const char* verb, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {verb, "--directory", directory_ / "up"});
    return Vireo(arguments);
  }
  // Runs `command` as server and, with the server's address, as client; writes report, timeline and capture.
  Ended Pair(std::vector<std::string> arguments, const std::string& command) {
    arguments.insert(arguments.begin(), {"pair", "--report", Report(), "--timeline", directory_ / "a.html", "--capture",
                                         directory_ / "a.pcapng"});
    const std::string server = command + " -p " + std::to_string(FreePort());
    arguments.insert(arguments.end(), {server, server + " 127.0.0.1"});
    return Vireo(arguments);
  }
  std::string Report() const { return directory_ / "a.json"; }
  static std::string ContentOf(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Json JsonOf(const std::filesystem::path& path) {
    return Json::parse(ContentOf(path), nullptr, /*allow_exceptions=*/false);
  }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }

  std::filesystem::path directory_;
  bool is_up_ = false;
};

// --- Background simulations

TEST_F(Run, ExportsNicByVfioUserAndServesTheOthers) {
  const std::string socket = directory_ / "whole.sock";
  const Ended up = Up({"--nics", "3", "--export", "vireo1=" + socket});
  ASSERT_EQ(up.code, 0) << up.output;
  const Ended status = On("status");
  EXPECT_EQ(status.code, 0);
  EXPECT_TRUE(std::regex_search(status.output, std::regex("nic 1 .*" + socket + ".*vfio-user"))) << status.output;
  EXPECT_TRUE(std::regex_search(status.output, std::regex("nic 2 .*nic2\\.sock\n"))) << status.output;

  EXPECT_EQ(On("exec", {"--nic", "vireo2", "--", "ibv_devinfo"}).code, 0);
  const Ended refused = On("exec", {"--nic", "1", "--", "ibv_devinfo"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.output.find("NIC 1 is exported at " + socket), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "up" / "nic1.sock"));
  auto function = host::ConnectVfioUser(socket);
  ASSERT_TRUE(function.ok()) << host::ToString(function.error());
  EXPECT_EQ((*function)->ReadConfig(0, 2), spec::kPciVendorId);
}

// A driver in this process takes the part of both guests.
TEST_F(Run, ServesGuestsByPvrdmaBesidePrograms) {
  const std::string socket = directory_ / "b.pvrdma";
  const Ended up = Up({"--pvrdma", "a=" + (directory_ / "a.pvrdma").string() + ",qps=21,gids=5", "--pvrdma",
                       "b=" + socket + ",nic=vireo0"});
  ASSERT_EQ(up.code, 0) << up.output;
  EXPECT_TRUE(std::regex_search(up.output, std::regex("guest a  PVRDMA on vireo0  .*a\\.pvrdma  \\(vfio-user\\)\n")))
      << up.output;
  EXPECT_EQ(JsonOf(directory_ / "up" / "status.json")["guests"][1]["nic"], "vireo0");
  auto first = host::ConnectVfioUser(directory_ / "a.pvrdma");
  auto second = host::ConnectVfioUser(socket);
  ASSERT_TRUE(first.ok() && second.ok());
  pvrdma::Driver drivers[2] = {pvrdma::Driver(**first), pvrdma::Driver(**second)};
  std::array<uint8_t, 16> gids[2]{};
  for (size_t i = 0; i < 2; ++i) {
    gids[i] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 8, static_cast<uint8_t>(i + 1)};
    drivers[i].Start();
    drivers[i].Bind(0, gids[i]);
  }
  // What a guest does not ask for is shared with the other one and the programs, of which one may have three quarters.
  EXPECT_EQ(drivers[0].caps().max_qp, 21u + 1);
  EXPECT_EQ(drivers[0].caps().gid_tbl_len, 5u);
  EXPECT_EQ(drivers[0].caps().max_cq, 1023u / 3);
  EXPECT_EQ(drivers[1].caps().max_qp, (1022u - 21) / 2 + 1);
  pvrdma::Side a(drivers[0], {}), b(drivers[1], {});
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = gids[1]});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = gids[0]});
  pvrdma::PingPong(a, b, 5, 1000, true);
  // The NIC's programs are served meanwhile, and see none of the guests' GIDs.
  const Ended devinfo = On("exec", {"--nic", "vireo0", "--", "ibv_devinfo", "-v"});
  EXPECT_EQ(devinfo.code, 0) << devinfo.output;
  EXPECT_EQ(devinfo.output.find("10.9.8."), std::string::npos) << devinfo.output;
  EXPECT_TRUE(std::regex_search(devinfo.output, std::regex("max_qp:\\s+376\n"))) << devinfo.output;  // 3/4 of 501
  EXPECT_TRUE(std::regex_search(devinfo.output, std::regex("max_cq:\\s+256\n"))) << devinfo.output;  // of 341
  pvrdma::PingPong(a, b, 5, 1000, false);
  constexpr const char* kHas = "       it has: 1 contexts, 1 pds, 1 mrs, 1 cqs, 1 qps, 1 gids\n";
  EXPECT_NE(On("status").output.find(kHas), std::string::npos) << On("status").output;
  EXPECT_TRUE(std::regex_search(On("status").output, std::regex("it may have: 341 pds, .*, 21 qps, .*, 5 gids\n")))
      << On("status").output;
  a.Destroy();
  b.Destroy();
  EXPECT_NE(On("status").output.find("       it has: 1 contexts, 1 gids\n"), std::string::npos);
}

TEST_F(Run, ServesGuestsOfATopologyFile) {
  const std::string file = Write("guests.toml",
                                 "[[nic]]\nname = 'left'\n[[nic]]\n[[guest]]\nname = 'a'\nsocket = 'a.pvrdma'\n"
                                 "nic = 'left'\nqps = 21\n");
  const Ended up = Up({"--topology", file});
  ASSERT_EQ(up.code, 0) << up.output;
  // A relative path is in the simulation's directory.
  const std::string socket = directory_ / "up" / "a.pvrdma";
  EXPECT_NE(up.output.find("guest a  PVRDMA on left  " + socket + "  (vfio-user)\n"), std::string::npos) << up.output;
  EXPECT_EQ(JsonOf(directory_ / "up" / "status.json")["guests"][0]["socket"], socket);
  auto function = host::ConnectVfioUser(socket);
  ASSERT_TRUE(function.ok()) << host::ToString(function.error());
  pvrdma::Driver driver(**function);
  driver.Start();
  EXPECT_EQ(driver.caps().max_qp, 21u + 1);
}

TEST_F(Run, RunsExampleTopology) {
  const Ended up = Up({"--topology", VIREO_EXAMPLE_TOPOLOGY});
  ASSERT_EQ(up.code, 0) << up.output;
  EXPECT_TRUE(std::regex_search(up.output, std::regex("nic 0  server  model +nic100 gen3x16"))) << up.output;
  EXPECT_TRUE(std::regex_search(up.output, std::regex("nic 1  client  lockstep nic100 gen3x8"))) << up.output;
  EXPECT_TRUE(std::regex_search(up.output, std::regex("nic 2  guest   model +nic1 .*guest\\.vfio"))) << up.output;
  const Ended devinfo = On("exec", {"--nic", "client", "--", "ibv_devinfo", "-v"});
  EXPECT_EQ(devinfo.code, 0);
  EXPECT_NE(devinfo.output.find("::ffff:10.0.1.2"), std::string::npos) << devinfo.output;
  EXPECT_NE(devinfo.output.find("hca_id:\tclient"), std::string::npos) << devinfo.output;
}

TEST_F(Run, RunsNicsOfProfileRfcV2) {
  const std::string socket = directory_ / "whole.sock";
  const Ended up = Up({"--profile", "rfc-v2", "--export", "1=" + socket});
  ASSERT_EQ(up.code, 0) << up.output;
  const Ended status = On("status");
  EXPECT_TRUE(std::regex_search(status.output, std::regex("nic 0 .*gen3x16 rfc-v2 .*nic0\\.sock"))) << status.output;
  EXPECT_EQ(JsonOf(directory_ / "up" / "status.json")["nics"][0]["profile"], "rfc-v2");
  EXPECT_EQ(On("exec", {"--nic", "0", "--", "ibv_devinfo"}).code, 0);
  auto function = host::ConnectVfioUser(socket);
  ASSERT_TRUE(function.ok()) << host::ToString(function.error());
  auto pci = host::VirtioPci::Open(**function);
  ASSERT_TRUE(pci.ok()) << host::ToString(pci.error());
  EXPECT_TRUE(pci->OfferedFeatures().Has(host::Feature(spec::kRfcV2Constants.net_f_roce)));
  EXPECT_FALSE(pci->OfferedFeatures().Has(host::Feature(spec::kVireoConstants.net_f_roce)));
}

// Programs and report of a topology whose NICs have different profiles: frames do not differ.
TEST_F(Run, NicsOfBothProfilesTalkInOneTopology) {
  const std::string both = Write("both.toml", "[[nic]]\nprofile = 'rfc-v2'\n[[nic]]\nprofile = 'vireo'\n");
  const Ended ended = Pair({"--topology", both}, "ibv_rc_pingpong -g 1 -n 20 -e -c");
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(JsonOf(Report()).at("totals").at("completed"), 40);
  // Of the file, not of the command: the one is the default of the other.
  const Ended up = Up({"--topology", both, "--profile", "rfc-v2"});
  ASSERT_EQ(up.code, 0) << up.output;
  const Json nics = JsonOf(directory_ / "up" / "status.json")["nics"];
  EXPECT_EQ(nics[0]["profile"], "rfc-v2");
  EXPECT_EQ(nics[1]["profile"], "vireo");
}

// Long messages in short packets overflow the receive buffer; a corrupted packet has a wrong ICRC.
TEST_F(Run, StatusShowsDropsWhileTheSimulationRuns) {
  const std::string topology = Write("corrupt.toml",
                                     "[[nic]]\n[[nic]]\n[[link]]\nends = ['vireo0', 'vireo1']\n"
                                     "faults_back = 'corrupt part=payload nth=4'\n");
  // Otherwise each retransmission timer takes real time.
  const SimulatorProcess simulator({"--topology", topology, "--virtual-time"});
  ASSERT_TRUE(simulator.is_ready()) << simulator.error();
  const auto status = [&] { return Vireo({"status", "--directory", simulator.directory()}); };
  const Ended before = status();
  EXPECT_EQ(before.code, 0);
  EXPECT_EQ(before.output.find("dropped"), std::string::npos) << before.output;
  TcpPair pair(simulator, "ib_write_bw -F -m 256 -s 524288 -n 5", {}, /*yields=*/false);
  pair.ExpectGoodEnd();
  // Reading clears the NIC's counters, and what was read is kept.
  for (int i = 0; i < 2; ++i) {
    const Ended after = status();
    EXPECT_EQ(after.code, 0);
    EXPECT_TRUE(
        std::regex_search(after.output, std::regex("nic 0 .*\n       frames: .*\n       dropped frames: [1-9][0-9]* "
                                                   "rx_buffer_drops, 1 icrc\nnic 1 .*\n       frames: .*\n$")))
        << after.output;
    const auto drops = ControlSocket::Ask(std::string(simulator.directory()) + "/control.sock", {{"drops", "list"}});
    ASSERT_TRUE(drops.ok());
    EXPECT_EQ((*drops)[0]["icrc"], 1);
    EXPECT_EQ((*drops)[1]["icrc"], 0);
    EXPECT_EQ((*drops)[1]["rx_buffer_drops"], 0);
  }
  // One that does not answer is still shown.
  ASSERT_EQ(kill(simulator.pid(), SIGSTOP), 0);
  const Ended stopped = status();
  ASSERT_EQ(kill(simulator.pid(), SIGCONT), 0);
  EXPECT_EQ(stopped.code, 0);
  EXPECT_TRUE(std::regex_search(
      stopped.output,
      std::regex("nic 1 .*\nframes, programs and objects are not known: the simulation does not answer")))
      << stopped.output;
}

// Programs reach a GID that was added after the start, on both NICs, and know of it.
// No NIC here breaks a rule, so the line is added to the log.
TEST_F(Run, StatusShowsProgramsAndFrames) {
  ASSERT_EQ(Up({"--nics", "2"}).code, 0);
  EXPECT_TRUE(std::regex_search(On("status").output, std::regex("nic 0 .*\n       frames: .*\nnic 1 ")));
  // Without a limit: the pair is at work when it is looked at.
  const std::string port = std::to_string(FreePort());
  const auto pingpong = [&](const char* nic, const std::vector<std::string>& peer) {
    std::vector<std::string> command = {
        VIREO_RUN, "exec", "--directory", directory_ / "up", "--nic", nic, "--", "ibv_rc_pingpong",
        "-g",      "1",    "-n",          "100000000",       "-p",    port};
    command.insert(command.end(), peer.begin(), peer.end());
    return command;
  };
  Program server(pingpong("0", {}), {}, /*yields=*/false);
  ASSERT_TRUE(AwaitListener(static_cast<unsigned>(std::stoul(port)), server)) << server.Output();
  Program client(pingpong("1", {"127.0.0.1"}), {}, /*yields=*/false);
  const std::regex wanted(
      "nic 1 .*\n       frames: [1-9][0-9]* sent, [1-9][0-9]* bytes; [1-9][0-9]* received, [1-9][0-9]* bytes\n"
      "       program [0-9]+: 1 pds, 1 mrs, 1 cqs, 1 qps\n"
      "         QP [0-9]+: rc, rts, to QP [0-9]+ at 10\\.0\\.0\\.1, next PSN sent [0-9]+, received [0-9]+\n");
  std::string output;
  for (int i = 0; i < 100 && !std::regex_search(output, wanted); ++i) output = On("status").output;
  EXPECT_TRUE(std::regex_search(output, wanted)) << output;
  const auto programs = [&] {
    const auto answer = ControlSocket::Ask(std::string(directory_ / "up" / "control.sock"), {{"programs", "list"}});
    return answer.ok() ? (*answer)[1] : nlohmann::ordered_json();
  };
  // The pair goes on.
  const auto next_psn = [&] {
    const auto all = programs();
    return all.size() == 1 ? all[0]["qps"][0]["sq_psn"] : nlohmann::ordered_json();
  };
  const auto before = next_psn();
  ASSERT_FALSE(before.is_null());
  auto after = before;
  for (int i = 0; i < 500 && after == before; ++i, usleep(10'000)) after = next_psn();
  EXPECT_NE(after, before);
  server.Kill();
  client.Kill();
  for (int i = 0; i < 100 && !programs().empty(); ++i) usleep(10'000);
  EXPECT_EQ(programs(), nlohmann::ordered_json::array());
}

TEST_F(Run, DownFailsWithWhatTheMonitorFound) {
  const Ended up = Up({});
  ASSERT_EQ(up.code, 0) << up.output;
  const std::string violation = "monitor: psn.contiguous: nic 1, cycle 5: seen QP 2: PSN 3, expected PSN 2 [IBTA]";
  std::ofstream(directory_ / "up" / "log", std::ios::app) << violation << "\n";
  const Ended down = On("down");
  is_up_ = false;
  EXPECT_EQ(down.code, 1);
  EXPECT_NE(down.output.find(violation + "\n"), std::string::npos) << down.output;
}

TEST_F(Run, GidsChangeWhileTheSimulationRuns) {
  ASSERT_EQ(Up({"--nics", "2"}).code, 0);
  const Ended before = On("gid", {"list", "--nic", "1"});
  ASSERT_EQ(before.code, 0) << before.output;
  EXPECT_TRUE(std::regex_match(before.output, std::regex("0   fe80::[0-9a-f:]+\n1   10\\.0\\.0\\.2\n")))
      << before.output;

  std::vector<std::string> watcher = {VIREO_RUN, "exec",   "--directory", directory_ / "up", "--nic", "1",
                                      "--",      "stdbuf", "-oL",         "ibv_asyncwatch"};
  Program watch(watcher, {}, /*yields=*/false);
  ASSERT_TRUE(AwaitOutput("async event FD", watch)) << watch.Output();
  EXPECT_EQ(On("gid", {"add", "--nic", "0", "192.0.2.1"}).output, "GID 2 of vireo0\n");
  EXPECT_EQ(On("gid", {"add", "--nic", "vireo1", "192.0.2.2"}).output, "GID 2 of vireo1\n");
  EXPECT_EQ(On("gid", {"add", "--nic", "1", "2001:db8::2", "--vlan", "7"}).output, "GID 3 of vireo1\n");
  EXPECT_TRUE(AwaitOutput("GID", watch)) << watch.Output();
  watch.Kill();

  const auto devinfo = [&] { return On("exec", {"--nic", "1", "--", "ibv_devinfo", "-v"}).output; };
  EXPECT_NE(devinfo().find("::ffff:192.0.2.2"), std::string::npos) << devinfo();
  EXPECT_NE(devinfo().find("2001:db8::2"), std::string::npos) << devinfo();
  const unsigned number = FreePort();
  const std::string port = std::to_string(number);
  std::vector<std::string> server = {
      VIREO_RUN, "exec", "--directory", directory_ / "up", "--nic", "0", "--", "ibv_rc_pingpong", "-g", "2", "-c", "-n",
      "20",      "-p",   port};
  Program serving(server, {}, /*yields=*/false);
  ASSERT_TRUE(AwaitListener(number, serving)) << serving.Output();
  const Ended client =
      On("exec", {"--nic", "1", "--", "ibv_rc_pingpong", "-g", "2", "-c", "-n", "20", "-p", port, "127.0.0.1"});
  EXPECT_EQ(client.code, 0) << client.output;
  EXPECT_NE(client.output.find("GID ::ffff:192.0.2.2"), std::string::npos) << client.output;
  EXPECT_EQ(serving.Wait(), 0) << serving.Output();

  EXPECT_EQ(On("gid", {"del", "--nic", "1", "2"}).code, 0);
  EXPECT_EQ(devinfo().find("::ffff:192.0.2.2"), std::string::npos) << devinfo();
  EXPECT_EQ(On("gid", {"add", "--nic", "1", "192.0.2.9", "--vlan", "9"}).output, "GID 2 of vireo1\n")
      << "the first free index";
  EXPECT_NE(On("gid", {"list", "--nic", "1"}).output.find("2   192.0.2.9 vlan 9\n3   2001:db8::2 vlan 7\n"),
            std::string::npos);

  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    const Ended ended = On("gid", std::move(arguments));
    EXPECT_NE(ended.code, 0) << why;
    EXPECT_NE(ended.output.find(why), std::string::npos) << ended.output;
  };
  refused({"add", "--nic", "1", "192.0.2.1"}, "192.0.2.1 is GID 2 of NIC 0");
  refused({"add", "--nic", "1", "10.0.0.2"}, "10.0.0.2 is GID 1 of NIC 1");
  refused({"add", "--nic", "1", "10.0.0"}, "'10.0.0' is not an IP address");
  refused({"add", "--nic", "1", "10.0.0.9", "--vlan", "4095"}, "4095");
  refused({"add", "--nic", "2", "10.0.0.9"}, "there is no NIC 2");
  refused({"del", "--nic", "1", "9"}, "there is no GID 9");
  refused({"list", "--nic", "x"}, "there is no NIC x");
}

TEST_F(Run, ReportsInvalidOptionsAndStartsNothing) {
  const std::string wrong = Write("wrong.toml", "[[nic]]\nnaem = 'a'\n");
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } rows[] = {
      {{"--topology", wrong}, wrong + ":2:1: [[nic]] has no 'naem'; did you mean 'name'?"},
      {{"--topology", directory_ / "none.toml"}, "none.toml: cannot be read"},
      {{"--topology", wrong, "--nics", "3"}, "--nics excludes --topology"},
      {{"--profile", "rfc"}, "--profile: rfc not in {rfc-v2,vireo}"},
      {{"--pmem", "/nonexistent"}, "--pmem: '/nonexistent' is not a directory"},
      {{"--export", "2=/tmp/x"}, "there is no NIC '2'; this simulation has NICs 0 to 1, named vireo0, vireo1"},
      {{"--export", "/tmp/x"}, "expected NIC=SOCKET"},
      {{"--export", "0=/tmp/x", "--export", "vireo0=/tmp/y"}, "this NIC is already exported"},
      {{"--export", "0=/tmp/x", "--export", "1=/tmp/x"}, "another NIC is exported at this socket"},
      {{"--export", "0=/tmp/x,without=packed"}, "there is no feature 'packed'"},
      {{"--export", "0=,without=ring_packed"}, "expected NIC=SOCKET"},
      {{"--virtual-time", "--export", "0=/tmp/x"}, "drivers of exported NICs and external peers run in real time"},
      {{"--pvrdma", "a"}, "--pvrdma a: expected GUEST=SOCKET"},
      {{"--pvrdma", "a=,nic=1"}, "expected GUEST=SOCKET"},
      {{"--pvrdma", "=/tmp/x"}, "expected GUEST=SOCKET"},
      {{"--pvrdma", "1=/tmp/x"}, "--pvrdma 1=/tmp/x: '1' is not a valid guest name"},
      {{"--pvrdma", "a=/tmp/x,nic=2"}, "there is no NIC '2'; this simulation has NICs 0 to 1"},
      {{"--pvrdma", "a=/tmp/x", "--pvrdma", "a=/tmp/y"}, "there is a guest of this name already"},
      {{"--pvrdma", "a=/tmp/x", "--pvrdma", "b=/tmp/x"}, "another guest has this socket"},
      {{"--pvrdma", "a=/tmp/x,qp=1"}, "there is no 'qp'; known: nic, pds"},
      {{"--pvrdma", "a=/tmp/x,qps"}, "qps: expected a number, not ''"},
      {{"--pvrdma", "a=/tmp/x,qps=-1"}, "qps: expected a number, not '-1'"},
      {{"--pvrdma", "a=/tmp/x,qps=1000", "--pvrdma", "b=/tmp/y,nic=0,qps=23"}, "qps: the guests have 1023 together"},
      {{"--export", "0=/tmp/x", "--pvrdma", "a=/tmp/y"}, "NIC 0 is exported and cannot be shared"},
      {{"--export", "1=/tmp/x", "--pvrdma", "a=/tmp/x"}, "a NIC is exported at this socket"},
      {{"--virtual-time", "--pvrdma", "a=/tmp/x"}, "and so do guests"},
      {{"--pvrdma", "a=/nonexistent/x"}, "guest a: "},       // reported by the simulator process
      {{"--export", "0=/nonexistent/x"}, "/nonexistent/x"},  // reported by the simulator process
  };
  for (const auto& row : rows) {
    const Ended ended = Up(row.arguments);
    EXPECT_NE(ended.code, 0);
    EXPECT_NE(ended.output.find(row.message), std::string::npos) << ended.output;
    EXPECT_EQ(On("status").code, 1);
  }
  is_up_ = false;
}

TEST(StartSimulator, ReportsTimeout) {
  const auto begin = std::chrono::steady_clock::now();
  const SimulatorProcess simulator({"--device", "rtl"}, std::chrono::milliseconds(1));
  EXPECT_FALSE(simulator.is_ready());
  EXPECT_NE(simulator.error().find("was not ready within 1 ms"), std::string::npos) << simulator.error();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kReadyTimeout);
}

TEST(StartSimulator, ReportsExitStatusBeforeReady) {
  const SimulatorProcess simulator({"--nics", "65"});
  EXPECT_FALSE(simulator.is_ready());
  EXPECT_EQ(simulator.error(), "the simulator ended with status 2");
}

// --- Ends

// True within some seconds: the process has exited, perhaps without its parent's notice.
bool EndsSoon(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(file, line) || line.find(") Z") != std::string::npos) return true;
    usleep(50'000);
  }
  return false;
}

class RunEnds : public Run, public testing::WithParamInterface<int> {};

// On Ctrl-C, on `kill`, when the terminal closes, and when the command itself is killed: the simulator, both programs
// and their children end, and the directory is removed.
TEST_P(RunEnds, WithEverythingThatPairStarted) {
  const std::filesystem::path temporary = directory_ / "tmp", pids = directory_ / "pids";
  std::filesystem::create_directory(temporary);
  const std::string program = "echo $$ >>" + pids.string() + "; sleep 1000 & echo $! >>" + pids.string() + "; wait";
  Program pair({VIREO_RUN, "pair", program, program}, {{"TMPDIR", temporary}}, /*yields=*/false);
  std::vector<pid_t> running;
  for (int i = 0; i < 100 * kTimeoutSeconds && running.size() < 4 && !pair.HasEnded(10); ++i) {
    running.clear();
    std::ifstream file(pids);
    for (pid_t pid = 0; file >> pid;) running.push_back(pid);
  }
  ASSERT_EQ(running.size(), 4U) << pair.Output();
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(temporary), {}), 1);
  const auto simulation = std::filesystem::directory_iterator(temporary)->path();
  running.push_back(JsonOf(simulation / "status.json").at("pid").get<pid_t>());
  for (const pid_t pid : running) ASSERT_EQ(kill(pid, 0), 0) << pid;
  ASSERT_EQ(kill(pair.pid(), GetParam()), 0);
  EXPECT_EQ(pair.Wait(), 128 + GetParam()) << pair.Output();
  for (const pid_t pid : running) EXPECT_TRUE(EndsSoon(pid)) << pid;
  for (int i = 0; i < 100 && !std::filesystem::is_empty(temporary); ++i) usleep(50'000);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

INSTANTIATE_TEST_SUITE_P(Signals, RunEnds, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL),
                         [](const auto& info) { return std::string("Sig") + sigabbrev_np(info.param); });

// A directory whose simulator has exited unnoticed by its parent has no simulation.
TEST_F(Run, ZombieIsNoSimulation) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_GT(child, 0);
  ASSERT_TRUE(EndsSoon(child));
  std::filesystem::create_directory(directory_ / "up");
  Write("up/status.json", "{\"pid\": " + std::to_string(child) + ", \"nics\": []}");
  const Ended status = On("status");
  EXPECT_EQ(status.code, 1);
  EXPECT_NE(status.output.find("no simulation is running"), std::string::npos) << status.output;
  EXPECT_EQ(Up({}).code, 0);  // not "already running"
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// --- Reports

// Adds the path of every value, such as "totals.messages" or "messages[].stages.*.ns". Names of stages, parts and kinds
// are replaced by *.
void AddPaths(const Json& json, const std::string& at, std::set<std::string>& paths) {
  if (json.is_array()) {
    for (const Json& element : json) AddPaths(element, at + "[]", paths);
    return;
  }
  if (!json.is_object()) {
    paths.insert(at);
    return;
  }
  static const std::set<std::string> maps = {"messages[].stages", "operations[].stages_ns",
                                             "operations[].path_ns.parts", "lockstep[].kinds", "nics[].drops"};
  for (const auto& [key, value] : json.items()) {
    AddPaths(value, (at.empty() ? "" : at + ".") + (maps.contains(at) ? "*" : key), paths);
  }
}

// The paths that docs/reports.md lists: rows "| `where` | `key`, `key` … |", where "the report" is the top level.
std::set<std::string> DocumentedPaths() {
  std::set<std::string> paths;
  std::ifstream file(VIREO_REPORTS_MD);
  static const std::regex row(R"(\| (the report|`[^`]+`) \| (.*) \|)"), key("`([^`]+)`");
  bool is_in_section = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) is_in_section = line == "## Keys of the JSON";
    std::smatch match;
    if (!is_in_section || !std::regex_match(line, match, row)) continue;
    const std::string first = match[1], keys = match[2];
    const std::string prefix = first == "the report" ? "" : first.substr(1, first.size() - 2) + ".";
    for (auto at = std::sregex_iterator(keys.begin(), keys.end(), key); at != std::sregex_iterator(); ++at) {
      paths.insert(prefix + (*at)[1].str());
    }
  }
  return paths;
}

// Invariants of every report: its totals are the sums over its messages, and latencies are in order.
void ExpectConsistent(const Json& report) {
  const Json& totals = report.at("totals");
  uint64_t bytes = 0, retransmitted = 0, packets = 0, complete = 0;
  for (const Json& message : report.at("messages")) {
    bytes += message.at("bytes").get<uint64_t>();
    retransmitted += message.at("retransmitted").get<uint64_t>();
    packets += message.at("packets").get<uint64_t>();
    complete += message.at("end") == "complete" ? 1 : 0;
  }
  EXPECT_EQ(totals.at("messages"), report.at("messages").size());
  EXPECT_EQ(totals.at("bytes"), bytes);
  EXPECT_EQ(totals.at("retransmitted_packets"), retransmitted);
  EXPECT_EQ(totals.at("completed"), complete);
  EXPECT_LE(packets + retransmitted,
            totals.at("packets_sent").get<uint64_t>());  // which includes acknowledges and responses
  for (const auto& [what, count] : report.at("unattributed").items()) EXPECT_EQ(count, 0) << what;
  uint64_t operations = 0;
  for (const Json& row : report.at("operations")) {
    operations += row.at("count").get<uint64_t>();
    const Json& latency = row.at("latency_ns");
    EXPECT_LE(latency.at("p50"), latency.at("p99"));
    EXPECT_LE(latency.at("p99"), latency.at("max"));
    EXPECT_GT(latency.at("p50"), 0);
    // The parts of the path add up to its mean.
    double sum = 0;
    for (const auto& [name, mean] : row.at("path_ns").at("parts").items()) sum += mean.get<double>();
    const double mean = row.at("path_ns").at("mean").get<double>();
    EXPECT_NEAR(sum, mean, mean * 1e-9);
    EXPECT_GT(row.at("path_ns").at("count"), 0);
    if (row.at("path_ns").at("count") == row.at("count")) {
      EXPECT_NEAR(mean, latency.at("mean").get<double>(), mean * 1e-9);
    }
  }
  EXPECT_EQ(operations, complete);
}

class RunReport : public Run, public testing::WithParamInterface<const char*> {};

TEST_P(RunReport, MatchesProgramsAndCapture) {
  constexpr uint64_t kIterations = 20;
  const std::string device = GetParam();
  const Ended ended = Pair({"--device", device, "--seed", "11"}, "ibv_rc_pingpong -g 1 -n 20");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const Json report = JsonOf(Report());
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report.at("device"), device);
  EXPECT_EQ(report.at("seed"), "11");
  ExpectConsistent(report);
  // Two messages per iteration, as the programs count them.
  const Json& totals = report.at("totals");
  EXPECT_EQ(totals.at("messages"), 2 * kIterations);
  EXPECT_EQ(totals.at("completed"), 2 * kIterations);
  EXPECT_EQ(totals.at("bytes"), 2 * kIterations * kPingpongBytes);
  EXPECT_NE(ended.output.find(std::to_string(2 * kIterations * kPingpongBytes) + " bytes in"), std::string::npos);
  EXPECT_EQ(totals.at("retransmitted_packets"), 0);
  EXPECT_EQ(totals.at("packets_lost"), 0);
  ASSERT_EQ(report.at("operations").size(), 1U);
  EXPECT_EQ(report.at("operations")[0].at("operation"), "SEND");
  // A message that the NIC finds while it reads the ring has no doorbell, and its path has no start.
  uint64_t doorbells = 0;
  for (const Json& message : report.at("messages")) {
    EXPECT_EQ(message.at("bytes"), kPingpongBytes);
    const bool has_doorbell = message.at("stages").contains("doorbell");
    if (has_doorbell) ++doorbells;
    // One that was pushed comes with its doorbell.
    const bool is_read = message.at("stages").contains("work_request_read");
    double last = 0;
    for (const std::string stage : {"doorbell", "ring_read", "descriptor_read", "work_request_read", "work_request",
                                    "payload_read", "transmit", "arrival", "answer", "answer_arrival", "completion"}) {
      if (!has_doorbell && !message.at("stages").contains(stage)) continue;
      if (!is_read && (stage == "ring_read" || stage == "descriptor_read" || stage == "work_request_read")) continue;
      const double ns = message.at("stages").at(stage).at("ns").get<double>();
      EXPECT_GE(ns, last) << stage << " of message " << message.at("number");
      last = ns;
    }
    for (const auto& [name, stage] : message.at("stages").items()) {
      // Lockstep compares the NIC's outputs, not its inputs.
      const bool is_output = name == "transmit" || name == "completion" || name == "payload_read" || name == "answer";
      if (device == "lockstep" && is_output) {
        EXPECT_EQ(stage.at("model_delta_cycles"), 0) << name;
      }
      if (device != "lockstep") {
        EXPECT_FALSE(stage.contains("model_delta_cycles")) << name;
      }
    }
  }
  EXPECT_GT(doorbells, kIterations);
  EXPECT_EQ(report.at("operations")[0].at("path_ns").at("count"), doorbells);
  ASSERT_EQ(report.contains("lockstep"), device == "lockstep");
  if (device == "lockstep") {
    ASSERT_EQ(report.at("lockstep").size(), 2U);
    for (const Json& nic : report.at("lockstep")) {
      EXPECT_GT(nic.at("total").at("count"), 1000);
      EXPECT_EQ(nic.at("total").at("count"), nic.at("total").at("exact"));
    }
  }
  // The capture has every frame twice: at the sender and at the receiver.
  const Capture capture = ReadPcap(directory_ / "a.pcapng");
  EXPECT_EQ(capture.error, "");
  EXPECT_EQ(capture.frames.size(),
            totals.at("packets_sent").get<size_t>() + totals.at("packets_received").get<size_t>());
  // The timeline contains the same report.
  const std::string html = ContentOf(directory_ / "a.html");
  const std::string open = R"(<script type="application/json" id="report">)";
  const size_t begin = html.find(open);
  ASSERT_NE(begin, std::string::npos);
  const size_t text = begin + open.size();
  EXPECT_EQ(Json::parse(html.substr(text, html.find("</script>", text) - text), nullptr, false), report);

  std::set<std::string> paths, documented = DocumentedPaths();
  AddPaths(report, "", paths);
  if (device != "lockstep") {
    std::erase_if(documented, [](const std::string& path) {
      return path.starts_with("lockstep") || path.find("model_delta_cycles") != std::string::npos;
    });
  }
  EXPECT_EQ(paths, documented);
}

INSTANTIATE_TEST_SUITE_P(Devices, RunReport, testing::Values("model", "rtl", "lockstep"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Run, ReportsLossesAndRetransmissions) {
  const std::string lossy =
      Write("lossy.toml",
            "seed = 5\n[[nic]]\nname = 'left'\n[[nic]]\nname = 'right'\n"
            "[[link]]\nends = ['left', 'right']\nfaults_back = 'drop opcode=rc_send_middle nth=4'\n");
  const Ended ended = Pair({"--topology", lossy}, "ibv_rc_pingpong -g 1 -n 10 -c");
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("; 1 faults on its link"), std::string::npos) << ended.output;
  const Json report = JsonOf(Report());
  ExpectConsistent(report);
  const Json& totals = report.at("totals");
  EXPECT_EQ(report.at("nics")[1].at("name"), "right");
  EXPECT_EQ(totals.at("messages"), 20);
  EXPECT_EQ(totals.at("completed"), 20);
  EXPECT_EQ(totals.at("packets_lost"), 1);
  EXPECT_EQ(totals.at("sequence_naks"), 1);
  // The lost packet and the one after it. [IBTA 1.7, 9.7.5.2.8: NAK sequence error, go back]
  EXPECT_GE(totals.at("retransmitted_packets"), 2);
  // The fourth middle packet belongs to the client's second message: each message has two.
  unsigned of_client = 0;
  for (const Json& message : report.at("messages")) {
    const bool is_second = message.at("nic") == 1 && ++of_client == 2;
    EXPECT_EQ(message.at("retransmitted").get<uint64_t>() != 0, is_second) << message.at("number");
  }
}

// Messages in small packets arrive faster than the NIC takes them, and overflow its receive buffer: no loss on the
// wire.
TEST_F(Run, ReportsDropsOfTheReceiveBuffer) {
  const Ended ended = Pair({}, "ib_write_bw -F -m 256 -s 1048576 -n 5");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const Json report = JsonOf(Report());
  EXPECT_EQ(report.at("totals").at("packets_lost"), 0);
  EXPECT_GT(report.at("totals").at("retransmitted_packets"), 0);
  const Json& drops = report.at("nics").at(0).at("receive_buffer_drops");
  EXPECT_GT(drops, 0);
  EXPECT_EQ(report.at("nics").at(1).at("receive_buffer_drops"), 0);
  EXPECT_EQ(report.at("nics").at(0).at("drops").at("rx_buffer_drops"), drops);
  EXPECT_EQ(report.at("nics").at(0).at("drops").at("icrc"), 0);
  const std::string line = " " + drops.dump() + " frames dropped by its full receive buffer";
  EXPECT_NE(ended.output.find(line), std::string::npos) << ended.output;
}

TEST_F(Run, ProgramsUseGidsInAVlan) {
  const std::string tagged = Write("tagged.toml", "[[nic]]\nvlan = 5\n[[nic]]\nvlan = 5\n");
  for (const auto& [gid, is_tagged] : {std::pair("-g 3", true), std::pair("-g 2", true), std::pair("-g 1", false)}) {
    const Ended ended = Pair({"--topology", tagged}, std::string("ibv_rc_pingpong -n 5 -c ") + gid);
    ASSERT_EQ(ended.code, 0) << ended.output;
    const Capture capture = ReadPcap(directory_ / "a.pcapng");
    ASSERT_FALSE(capture.frames.empty()) << capture.error;
    for (const auto& frame : capture.frames) {
      ASSERT_GE(frame.bytes.size(), spec::Ethernet::kBytes + spec::VlanTag::kBytes);
      const auto ethertype = spec::Ethernet::Decode(frame.bytes.data()).ethertype;
      ASSERT_EQ(ethertype == spec::Ethertype::kVlan, is_tagged) << gid;
      const uint8_t* tag = frame.bytes.data() + spec::Ethernet::kBytes;
      if (is_tagged) {
        ASSERT_EQ((tag[0] << 8 | tag[1]) & 0xfff, 5) << gid;
      }
    }
  }
}

TEST_F(Run, ReportsReadPayloadAtPeer) {
  const Ended ended = Pair({}, "ib_read_bw -F -n 20 -s 8192");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const Json report = JsonOf(Report());
  ExpectConsistent(report);
  EXPECT_EQ(report.at("totals").at("messages"), 20);
  EXPECT_EQ(report.at("totals").at("bytes"), 20 * 8192);
  for (const Json& message : report.at("messages")) {
    EXPECT_EQ(message.at("operation"), "READ");
    EXPECT_EQ(message.at("stages").at("payload_read").at("nic"), message.at("peer"));
    EXPECT_EQ(message.at("stages").at("payload_write").at("nic"), message.at("nic"));
  }
}

TEST_F(Run, PairNeedsTwoNicsWithServices) {
  const Ended one = Vireo({"pair", "--nics", "1", "true", "true"});
  EXPECT_EQ(one.code, 1);
  EXPECT_NE(one.output.find("use --nics 2 or more"), std::string::npos) << one.output;
  const Ended exported = Vireo({"pair", "--export", "1=" + (directory_ / "x").string(), "true", "true"});
  EXPECT_EQ(exported.code, 1);
  EXPECT_NE(exported.output.find("export other NICs only"), std::string::npos) << exported.output;
}

}  // namespace
}  // namespace vireo::sim
