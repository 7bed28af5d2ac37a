// SPDX-License-Identifier: Apache-2.0
// Unmodified programs of rdma-core and perftest over two simulated NICs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "verif/host/ibverbs/processes.h"

namespace vireo::verif {
namespace {

using Environment = std::map<std::string, std::string>;

class Programs : public testing::Test {
 protected:
  static void SetUpTestSuite() { simulator_ = std::make_unique<SimulatorProcess>(); }
  static void TearDownTestSuite() { simulator_.reset(); }
  void SetUp() override { ASSERT_TRUE(simulator_->is_ready()); }

  static Environment On(const std::string& sockets, const Environment& more = {}) {
    Environment environment{{"LD_PRELOAD", VIREO_IBVERBS}, {"VIREO_SOCKET", sockets}};
    environment.insert(more.begin(), more.end());
    return environment;
  }

  // Server on one NIC, client on the other; both end well.
  static void RunPair(const std::vector<std::string>& command, const Environment& more = {}) {
    const unsigned port = FreePort();
    std::vector<std::string> server_command = command;
    server_command.insert(server_command.end(), {"-p", std::to_string(port)});
    std::vector<std::string> client_command = server_command;
    client_command.emplace_back("127.0.0.1");
    Program server(server_command, On(simulator_->socket(0), more));
    ASSERT_TRUE(AwaitListener(port, server)) << server.Output();
    Program client(client_command, On(simulator_->socket(1), more));
    EXPECT_EQ(client.Wait(), 0) << client.Output();
    EXPECT_EQ(server.Wait(), 0) << server.Output();
  }

  static std::unique_ptr<SimulatorProcess> simulator_;
};
std::unique_ptr<SimulatorProcess> Programs::simulator_;

TEST_F(Programs, EveryNamedSocketIsADevice) {
  Program devices({"ibv_devices"}, On(simulator_->socket(1) + "::/nonexistent:" + simulator_->socket(0)));
  ASSERT_EQ(devices.Wait(), 0);
  const std::string output = devices.Output();
  EXPECT_NE(output.find("vireo0"), std::string::npos) << output;
  EXPECT_LT(output.find("vireo1"), output.find("vireo0")) << output;
  EXPECT_EQ(std::ranges::count(output, '\n'), 4) << output;  // 2 lines of headings
}

TEST_F(Programs, WithoutASocketTheOverlayIsNotThere) {
  Program plain({"ibv_devices"}, {{"VIREO_SOCKET", ""}});
  Program preloaded({"ibv_devices"}, {{"VIREO_SOCKET", ""}, {"LD_PRELOAD", VIREO_IBVERBS}});
  EXPECT_EQ(plain.Wait(), preloaded.Wait());
  EXPECT_EQ(plain.Output(), preloaded.Output());
}

TEST_F(Programs, IbvDevinfoSaysAll) {
  Program devinfo({"ibv_devinfo", "-v"}, On(simulator_->socket(0), {{"VIREO_VENDOR_PART_ID", "4119"}}));
  ASSERT_EQ(devinfo.Wait(), 0) << devinfo.Output();
  const std::string output = devinfo.Output();
  for (const char* line : {"PORT_ACTIVE (4)", "link_layer:\t\tEthernet", "vendor_part_id:\t\t\t4119",
                           "::ffff:10.0.0.1, RoCE v2", "GID[  0]:\t\tfe80::"}) {
    EXPECT_NE(output.find(line), std::string::npos) << line << " is not in\n" << output;
  }
}

TEST_F(Programs, RcPingpong) { RunPair({"ibv_rc_pingpong", "-g", "1", "-n", "50", "-c"}); }
TEST_F(Programs, RcPingpongByLinkLocalAddresses) { RunPair({"ibv_rc_pingpong", "-g", "0", "-n", "20"}); }
TEST_F(Programs, RcPingpongByEvents) { RunPair({"ibv_rc_pingpong", "-g", "1", "-n", "50", "-e", "-c"}); }
TEST_F(Programs, RcPingpongByNewPostSend) { RunPair({"ibv_rc_pingpong", "-g", "1", "-n", "50", "-N", "-c"}); }
TEST_F(Programs, UcPingpong) { RunPair({"ibv_uc_pingpong", "-g", "1", "-n", "50"}); }
TEST_F(Programs, UdPingpong) { RunPair({"ibv_ud_pingpong", "-g", "1", "-n", "50", "-s", "1000"}); }
TEST_F(Programs, UdPingpongByEvents) { RunPair({"ibv_ud_pingpong", "-g", "1", "-n", "50", "-s", "1000", "-e"}); }

// RoCE has no addresses but GIDs: without one, programs are refused, as by any RoCE device.
TEST_F(Programs, WithoutAGidNothingConnects) {
  const unsigned port = FreePort();
  const std::vector<std::string> command = {"ibv_rc_pingpong", "-p", std::to_string(port)};
  Program server(command, On(simulator_->socket(0)));
  ASSERT_TRUE(AwaitListener(port, server)) << server.Output();
  std::vector<std::string> client_command = command;
  client_command.emplace_back("127.0.0.1");
  Program client(client_command, On(simulator_->socket(1)));
  EXPECT_EQ(client.Wait(), 1);
  EXPECT_EQ(server.Wait(), 1);
  EXPECT_NE(server.Output().find("Failed to modify QP to RTR"), std::string::npos) << server.Output();
}

struct PerftestRun {
  const char* name;
  std::vector<std::string> command;
};
// Names, not addresses of strings, in the test's output.
void PrintTo(const PerftestRun& run, std::ostream* out) { *out << run.name; }

// With both ways to post: perftest takes ibv_wr_* for devices that it knows by their part number.
class Perftest : public Programs, public testing::WithParamInterface<PerftestRun> {};
TEST_P(Perftest, PostsByLists) { RunPair(GetParam().command); }
TEST_P(Perftest, PostsByWrApi) { RunPair(GetParam().command, {{"VIREO_VENDOR_PART_ID", "4119"}}); }
INSTANTIATE_TEST_SUITE_P(
    All, Perftest,
    testing::Values(PerftestRun{"WriteBw", {"ib_write_bw", "-F", "-n", "20", "-s", "4096"}},
                    PerftestRun{"SendBw", {"ib_send_bw", "-F", "-n", "20", "-s", "4096"}},
                    PerftestRun{"SendBwByEvents", {"ib_send_bw", "-F", "-n", "20", "-s", "4096", "-e"}},
                    PerftestRun{"ReadBw", {"ib_read_bw", "-F", "-n", "20", "-s", "4096"}},
                    PerftestRun{"WriteBwUc", {"ib_write_bw", "-F", "-n", "20", "-s", "1024", "-c", "UC"}},
                    PerftestRun{"SendBwUd", {"ib_send_bw", "-F", "-n", "20", "-s", "1024", "-c", "UD"}},
                    PerftestRun{"WriteLat", {"ib_write_lat", "-F", "-n", "20", "-s", "64"}},
                    PerftestRun{"SendLatInline", {"ib_send_lat", "-F", "-n", "20", "-s", "64", "-I", "64"}},
                    PerftestRun{"WriteBwBothWaysOnQps",
                                {"ib_write_bw", "-F", "-n", "20", "-s", "2048", "-b", "-q", "4"}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::verif
