// SPDX-License-Identifier: Apache-2.0
// Pairs of unmodified programs, a server on one NIC and a client on the other, on the model, in RTL and in lockstep.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "verif/cosim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::verif {
namespace {

enum class Meet : uint8_t { kTcp, kRdmaCm };
enum class Server : uint8_t { kEnds, kStays };  // with its client; or it waits for another one

struct Row {
  const char* name;
  Meet meet;
  // $PORT: one that nobody uses; $FILE, $COPY: a file, and the name of one that is not there. Words have no spaces.
  const char* server;
  const char* client;
  const char* output;  // of the client, a part
  // Which simulators, each by its letter: model, rtl, lockstep. All but what is quick runs on the model only.
  const char* devices = "m";
  bool wr_api = false;  // perftest posts by ibv_wr_* to devices that it knows by their part number
  Server end = Server::kEnds;
};

// Of the same command line with the server's address for the client.
#define VIREO_TCP(command) Meet::kTcp, command " -p $PORT", command " -p $PORT 127.0.0.1"
#define VIREO_CM(command) Meet::kRdmaCm, command " -p $PORT", command " -p $PORT 10.0.0.1"

constexpr Row kPingpongs[] = {
    {"Rc", VIREO_TCP("ibv_rc_pingpong -g 1 -n 20 -c"), "20 iters in", "mrl"},
    {"RcByLinkLocalAddresses", VIREO_TCP("ibv_rc_pingpong -g 0 -n 20"), "GID fe80::"},
    {"RcByEvents", VIREO_TCP("ibv_rc_pingpong -g 1 -n 50 -e -c"), "50 iters in", "mr"},
    {"RcByNewPostSend", VIREO_TCP("ibv_rc_pingpong -g 1 -n 50 -N -c"), "50 iters in"},
    {"RcWithTimestamps", VIREO_TCP("ibv_rc_pingpong -g 1 -n 20 -t"), "Average receive completion clock cycles"},
    {"RcOfMebibytes", VIREO_TCP("ibv_rc_pingpong -g 1 -n 3 -s 1048576 -c"), "3 iters in"},
    {"RcInPacketsOf256", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 256 -c"), "5 iters in"},
    {"RcInPacketsOf512", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 512 -c"), "5 iters in"},
    {"RcInPacketsOf2048", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 2048 -c"), "5 iters in"},
    {"RcInPacketsOf4096", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 4096 -c"), "5 iters in"},
    {"Uc", VIREO_TCP("ibv_uc_pingpong -g 1 -n 20"), "20 iters in", "mrl"},
    {"UcByEvents", VIREO_TCP("ibv_uc_pingpong -g 1 -n 20 -e"), "20 iters in"},
    {"UcInPacketsOf4096", VIREO_TCP("ibv_uc_pingpong -g 1 -n 10 -s 65536 -m 4096"), "10 iters in"},
    {"Ud", VIREO_TCP("ibv_ud_pingpong -g 1 -n 20 -s 1000"), "20 iters in", "mrl"},
    {"UdByEvents", VIREO_TCP("ibv_ud_pingpong -g 1 -n 50 -s 1000 -e"), "50 iters in"},
};

// -F: processors of unequal clocks are no matter. The last size of -a is 8 MiB.
constexpr Row kPerftest[] = {
    {"WriteBw", VIREO_TCP("ib_write_bw -F -n 10 -s 4096"), " 4096       10 ", "mrl"},
    {"WriteBwByWrApi", VIREO_TCP("ib_write_bw -F -n 10 -s 4096"), "ibv_wr* API     : ON", "m", true},
    {"WriteBwOfAllSizes", VIREO_TCP("ib_write_bw -F -n 5 -a"), " 8388608    5 "},
    {"WriteBwUc", VIREO_TCP("ib_write_bw -F -n 20 -s 1024 -c UC"), "Connection type : UC"},
    {"WriteBwBothWaysOnQps", VIREO_TCP("ib_write_bw -F -n 20 -s 2048 -b -q 4"), "Number of qps   : 4"},
    {"WriteBwBothWaysOnQpsByWrApi", VIREO_TCP("ib_write_bw -F -n 20 -s 2048 -b -q 4"), "ibv_wr* API     : ON", "m",
     true},
    {"WriteBwByRdmaCm", VIREO_CM("ib_write_bw -F -n 20 -s 4096 -R"), "rdma_cm QPs\t : ON"},
    {"WriteBwByRdmaCmAndWrApi", VIREO_CM("ib_write_bw -F -n 20 -s 4096 -R"), "ibv_wr* API     : ON", "m", true},
    {"WriteLat", VIREO_TCP("ib_write_lat -F -n 10 -s 64"), " 64      10 "},
    {"WriteLatByWrApi", VIREO_TCP("ib_write_lat -F -n 10 -s 64"), "ibv_wr* API     : ON", "m", true},
    {"WriteLatOfAllSizes", VIREO_TCP("ib_write_lat -F -n 5 -a"), " 8388608 5 "},
    {"WriteLatUc", VIREO_TCP("ib_write_lat -F -n 20 -s 64 -c UC"), "Connection type : UC"},
    {"SendBw", VIREO_TCP("ib_send_bw -F -n 20 -s 4096"), " 4096       20 "},
    {"SendBwByWrApi", VIREO_TCP("ib_send_bw -F -n 20 -s 4096"), "ibv_wr* API     : ON", "m", true},
    {"SendBwOfAllSizes", VIREO_TCP("ib_send_bw -F -n 10 -a"), " 8388608    10 "},
    {"SendBwByEvents", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -e"), "Test with events."},
    {"SendBwBothWays", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -b"), "Send Bidirectional BW Test"},
    {"SendBwOnQps", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -q 4"), "Number of qps   : 4"},
    {"SendBwUc", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -c UC"), "Connection type : UC"},
    {"SendBwUd", VIREO_TCP("ib_send_bw -F -n 20 -s 1024 -c UD"), "Connection type : UD"},
    {"SendBwUdByWrApi", VIREO_TCP("ib_send_bw -F -n 20 -s 1024 -c UD"), "ibv_wr* API     : ON", "m", true},
    {"SendBwUdByRdmaCm", VIREO_CM("ib_send_bw -F -n 20 -s 1024 -c UD -R"), "rdma_cm QPs\t : ON"},
    {"SendLatUdByRdmaCm", VIREO_CM("ib_send_lat -F -n 20 -s 64 -c UD -R"), "rdma_cm QPs\t : ON"},
    {"SendLat", VIREO_TCP("ib_send_lat -F -n 20 -s 64"), " 64      20 "},
    {"SendLatInlineByWrApi", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -I 64"), "ibv_wr* API     : ON", "m", true},
    {"SendLatByEvents", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -e"), "Test with events."},
    {"SendLatUc", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -c UC"), "Connection type : UC"},
    {"SendLatUd", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -c UD"), "Connection type : UD"},
    {"SendLatByRdmaCm", VIREO_CM("ib_send_lat -F -n 20 -s 64 -R"), "rdma_cm QPs\t : ON"},
    {"ReadBw", VIREO_TCP("ib_read_bw -F -n 10 -s 4096"), " 4096       10 ", "mr"},
    {"ReadBwByWrApi", VIREO_TCP("ib_read_bw -F -n 10 -s 4096"), "ibv_wr* API     : ON", "m", true},
    {"ReadBwOfAllSizes", VIREO_TCP("ib_read_bw -F -n 5 -a"), " 8388608    5 "},
    {"ReadBwBothWaysOnQps", VIREO_TCP("ib_read_bw -F -n 20 -s 4096 -b -q 4"), "Number of qps   : 4"},
    {"ReadBwByRdmaCm", VIREO_CM("ib_read_bw -F -n 20 -s 4096 -R"), "rdma_cm QPs\t : ON"},
    {"ReadLat", VIREO_TCP("ib_read_lat -F -n 10 -s 64"), " 64      10 "},
    {"ReadLatByWrApi", VIREO_TCP("ib_read_lat -F -n 10 -s 64"), "ibv_wr* API     : ON", "m", true},
    {"ReadLatByEvents", VIREO_TCP("ib_read_lat -F -n 20 -s 64 -e"), "Test with events."},
};

#define VIREO_CM_S(server, client) Meet::kRdmaCm, server " -p $PORT", client " -p $PORT -s 10.0.0.1"

constexpr Row kRdmaCm[] = {
    {"Rping", Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 3 -V", "rping -c -a 10.0.0.1 -p $PORT -C 3 -V -v",
     "ping data: rdma-ping-2:", "mrl"},
    {"RpingOfItsOwnSize", Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 10 -S 4000 -V",
     "rping -c -a 10.0.0.1 -p $PORT -C 10 -S 4000 -V -v", "ping data: rdma-ping-9:"},
    {"RpingByQpOfItsOwn", Meet::kRdmaCm, "rping -s -q -a 10.0.0.1 -p $PORT -C 3",
     "rping -c -q -a 10.0.0.1 -p $PORT -C 3 -v", "ping data: rdma-ping-2:"},
    {"Ucmatose", VIREO_CM_S("ucmatose", "ucmatose"), "return status 0", "mr"},
    {"UcmatoseOfConnectionsThatMigrate", VIREO_CM_S("ucmatose -c 4 -C 5 -m", "ucmatose -c 4 -C 5 -m"),
     "return status 0"},
    // Its -p is the port space.
    {"Udaddy", Meet::kRdmaCm, "udaddy", "udaddy -s 10.0.0.1", "return status 0", "mr"},
    {"RdmaServer", VIREO_CM_S("rdma_server", "rdma_client"), "rdma_client: end 0"},
    {"Rstream", VIREO_CM_S("rstream -S 1024 -I 5 -C 5", "rstream -S 1024 -I 5 -C 5"), "custom    1k      5       5 "},
    {"RstreamThatBlocks", VIREO_CM_S("rstream -T b -S 65536 -I 5 -C 5", "rstream -T b -S 65536 -I 5 -C 5"),
     "custom    64k     5       5 "},
    {"Rcopy", Meet::kRdmaCm, "rcopy -p $PORT", "rcopy $FILE 10.0.0.1:$COPY -p $PORT", "200000 bytes in", "mr", false,
     Server::kStays},
};

struct Case {
  const Row* row;
  const char* device;
};
// Names, not addresses of strings, in the test's output.
void PrintTo(const Case& one, std::ostream* out) { *out << one.row->name << " on " << one.device; }

template <size_t kRows>
std::vector<Case> CasesOf(const Row (&rows)[kRows]) {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    for (const char* device : {"model", "rtl", "lockstep"}) {
      if (std::string_view(row.devices).find(device[0]) != std::string_view::npos) cases.push_back({&row, device});
    }
  }
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string device = info.param.device;
  device[0] = static_cast<char>(device[0] - 'a' + 'A');
  return std::string(info.param.row->name) + "On" + device;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A run of a row on a simulator that lives on.
class PairOfPrograms {
 public:
  PairOfPrograms(const Row& row, const SimulatorProcess& simulator) : row_(row), simulator_(simulator) {
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pair_XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) directory_ = pattern;
  }
  ~PairOfPrograms() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  PairOfPrograms(const PairOfPrograms&) = delete;
  PairOfPrograms& operator=(const PairOfPrograms&) = delete;

  void ExpectGoodEnd() const {
    ASSERT_FALSE(directory_.empty());
    const bool copies = std::string_view(row_.client).find("$FILE") != std::string_view::npos;
    std::string content(200'000, '\0');
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 251);
    if (copies) std::ofstream(directory_ / "file", std::ios::binary) << content;

    // perftest connects twice: its server must listen again before the service refuses its client.
    Program server(Words(row_.server), On(0), /*yields=*/row_.meet == Meet::kTcp);
    ASSERT_TRUE(row_.meet == Meet::kTcp ? AwaitListener(port_, server) : AwaitOutput("rdma_cm listens", server))
        << server.Output();
    Program client(Words(row_.client), On(1));
    EXPECT_EQ(client.Wait(), 0) << client.Output() << "server:\n" << server.Output();
    if (row_.end == Server::kEnds) {
      EXPECT_EQ(server.Wait(), 0) << server.Output();
    }
    EXPECT_NE(client.Output().find(row_.output), std::string::npos) << row_.output << " is not in\n" << client.Output();
    if (copies) {
      EXPECT_TRUE(ContentOf(directory_ / "copy") == content);
    }
  }

 private:
  std::vector<std::string> Words(const char* command) const {
    const std::map<std::string, std::string> values = {
        {"$PORT", std::to_string(port_)}, {"$FILE", directory_ / "file"}, {"$COPY", directory_ / "copy"}};
    std::vector<std::string> words = WordsOf(command);
    for (std::string& word : words) {
      for (const auto& [name, value] : values) {
        if (const size_t at = word.find(name); at != std::string::npos) word.replace(at, name.size(), value);
      }
    }
    return words;
  }
  Environment On(size_t nic) const {
    Environment environment = Seeing(simulator_.socket(nic));
    if (row_.wr_api) environment["VIREO_VENDOR_PART_ID"] = "4119";
    if (row_.meet == Meet::kRdmaCm) environment["VIREO_LOG"] = "1";
    return environment;
  }

  const Row& row_;
  const SimulatorProcess& simulator_;
  const unsigned port_ = FreePort();
  std::filesystem::path directory_;
};

class Pairs : public testing::TestWithParam<Case> {
 protected:
  // Nothing but what the device says makes a simulator end with another status than 0: in lockstep, a difference.
  static void TearDownTestSuite() {
    for (auto& [device, simulator] : Simulators()) EXPECT_EQ(simulator.Stop(), 0) << device;
    Simulators().clear();
  }
  void SetUp() override {
    simulator_ = &Simulators().try_emplace(GetParam().device, Arguments{"--device", GetParam().device}).first->second;
    ASSERT_TRUE(simulator_->is_ready());
  }

  SimulatorProcess* simulator_ = nullptr;

 private:
  using Arguments = std::vector<std::string>;
  static std::map<std::string, SimulatorProcess>& Simulators() {
    static std::map<std::string, SimulatorProcess> simulators;
    return simulators;
  }
};

TEST_P(Pairs, EndWell) { PairOfPrograms(*GetParam().row, *simulator_).ExpectGoodEnd(); }

INSTANTIATE_TEST_SUITE_P(Pingpong, Pairs, testing::ValuesIn(CasesOf(kPingpongs)), NameOf);
INSTANTIATE_TEST_SUITE_P(Perftest, Pairs, testing::ValuesIn(CasesOf(kPerftest)), NameOf);
INSTANTIATE_TEST_SUITE_P(RdmaCm, Pairs, testing::ValuesIn(CasesOf(kRdmaCm)), NameOf);

}  // namespace
}  // namespace vireo::verif
