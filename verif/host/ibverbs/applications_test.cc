// SPDX-License-Identifier: Apache-2.0
// Applications and their libraries, from Debian packages that only tests need: they were tuned for other adapters, and
// nobody has tuned them for this one. All on model and RTL, some also in lockstep.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/pairs_fixture.h"
#include "verif/host/ibverbs/processes.h"
#include "verif/host/ibverbs/program_pair.h"

namespace vireo::sim {
namespace {

#define VIREO_UCX(transport, test)                                           \
  ProgramRow::Meet::kTcp, "env UCX_TLS=" transport " ucx_perftest -p $PORT", \
      "env UCX_TLS=" transport " ucx_perftest 127.0.0.1 -p $PORT -w 1 " test
#define VIREO_FABRIC(options)                                                                      \
  ProgramRow::Meet::kTcp, "env FI_UNIVERSE_SIZE=2 fi_pingpong -p verbs -c -I 5 -B $PORT " options, \
      "env FI_UNIVERSE_SIZE=2 fi_pingpong -p verbs -c -I 5 -P $PORT " options " 127.0.0.1"
// Who connects "writes", whatever the verb.
// fio connects with rnr_retry 0, so the server posts a receive for each of the ten SENDs beforehand.
#define VIREO_FIO(verb)                                                                                             \
  ProgramRow::Meet::kRdmaCm, "fio --name=s --ioengine=rdma --port=$PORT --bs=4k --size=40k --rw=read --iodepth=16", \
      "fio --name=c --ioengine=rdma --hostname=10.0.0.1 --port=$PORT --bs=4k --size=40k --rw=write --iodepth=2 "    \
      "--verb=" verb
constexpr ProgramRow kApplications[] = {
    // UCX: connections are made by datagrams, also those of RC. Long messages by rendezvous, with READ or with WRITE.
    {"UcxTagsOverRc", VIREO_UCX("rc_v", "-t tag_lat -n 5 -s 1000"), "Final:", "mrl"},
    {"UcxTagsOverUd", VIREO_UCX("ud_v", "-t tag_lat -n 5 -s 20000"), "Final:", "mrl"},
    {"UcxRendezvousByRead", VIREO_UCX("rc_v UCX_RNDV_SCHEME=get_zcopy", "-t tag_bw -n 3 -s 300000"), "Final:"},
    {"UcxRendezvousByWrite", VIREO_UCX("rc_v UCX_RNDV_SCHEME=put_zcopy", "-t tag_bw -n 3 -s 300000"), "Final:"},
    {"UcxActiveMessages", VIREO_UCX("rc_v", "-t ucp_am_lat -n 5 -s 3000"), "Final:"},
    {"UcxPut", VIREO_UCX("rc_v", "-t ucp_put_lat -n 5 -s 4096"), "Final:"},
    {"UcxGet", VIREO_UCX("rc_v", "-t ucp_get -n 5 -s 4096"), "Final:"},
    {"UcxFetchAdd", VIREO_UCX("rc_v", "-t ucp_fadd -n 5 -s 8"), "Final:"},
    {"UcxCompareSwap", VIREO_UCX("rc_v", "-t ucp_cswap -n 5 -s 8"), "Final:"},
    // libfabric: endpoints of RC by rdma_cm, datagrams, and reliable datagrams over RC (ofi_rxm), which takes a CQ with
    // 256 entries for each peer that there may be.
    {"LibfabricMessages", VIREO_FABRIC("-e msg -S 1000"), "1000    5       =5 ", "mrl"},
    {"LibfabricDatagrams", VIREO_FABRIC("-e dgram -S 1000"), "1000    5       =5 "},
    {"LibfabricReliableDatagrams", VIREO_FABRIC("-e rdm -S 1000"), "1000    5       =5 "},
    {"LibfabricReliableDatagramsByRendezvous", VIREO_FABRIC("-e rdm -S 150000"), "146k    5       =5 "},
    {"FioWrites", VIREO_FIO("write"), "issued rwts: total=0,10,0,0"},
    {"FioReads", VIREO_FIO("read"), "issued rwts: total=0,10,0,0"},
    {"FioSends", VIREO_FIO("send"), "issued rwts: total=0,10,0,0"},
    // One address for the control connection by TCP and for rdma_cm. `quit` ends the server.
    {"Qperf", ProgramRow::Meet::kTcp, "qperf -lp $PORT", "qperf 10.0.0.1 -lp $PORT -cm1 -n 20 -m 4096 rc_bw quit",
     "bw  ="},
};

class Applications : public Pairs {};
TEST_P(Applications, Succeed) { ProgramPair(*GetParam().row, *simulator_).ExpectGoodEnd(); }
INSTANTIATE_TEST_SUITE_P(Debian, Applications, testing::ValuesIn(CasesOf(kApplications)), NameOf);

// Open MPI over UCX: a rank on each of two NICs.
class Mpi : public testing::TestWithParam<const char*> {};

TEST_P(Mpi, RanksExchangeMessages) {
  for (const char* program : {"mpicc", "mpirun"}) {
    if (!IsInstalled(program)) GTEST_SKIP() << program << " is not installed (docs/dependencies.md)";
  }
  std::string directory = testing::TempDir() + "vireo_mpi_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string pingpong = directory + "/pingpong";
  Program compiler({"mpicc", "-O1", "-o", pingpong, VIREO_MPI_PINGPONG}, {});
  ASSERT_EQ(compiler.Wait(), 0) << compiler.Output();

  SimulatorProcess simulator({"--device", GetParam()});
  ASSERT_TRUE(simulator.is_ready());
  // Its own messages between the processes are the system's; MPI's may use nothing but UCX, and UCX nothing but RC.
  std::vector<std::string> command = WordsOf(
      "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ucx --mca pml_ucx_tls any "
      "--mca pml_ucx_devices any --mca btl ^openib,tcp,vader --mca osc ^ucx,rdma,pt2pt --mca coll ^hcoll");
  for (size_t nic = 0; nic < 2; ++nic) {
    if (nic != 0) command.emplace_back(":");
    command.insert(command.end(), {"-n", "1", "env"});
    for (const auto& [name, value] : Seeing(simulator.socket(nic))) command.push_back(name + "=" + value);
    command.push_back(pingpong);
  }
  Program mpirun(command, {{"UCX_TLS", "rc_v,self"}, {"TMPDIR", directory}});
  EXPECT_EQ(mpirun.Wait(), 0) << mpirun.Output();
  const std::string output = mpirun.Output();
  EXPECT_NE(output.find("1048576 bytes: "), std::string::npos) << output;
  EXPECT_NE(output.find("ranks together: 1"), std::string::npos) << output;
  EXPECT_EQ(simulator.Stop(), 0);
  std::error_code error;
  std::filesystem::remove_all(directory, error);
}
INSTANTIATE_TEST_SUITE_P(Devices, Mpi, testing::Values("model", "rtl"),
                         [](const auto& info) { return std::string(info.param) == "rtl" ? "OnRtl" : "OnModel"; });

}  // namespace
}  // namespace vireo::sim
