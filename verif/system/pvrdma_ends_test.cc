// SPDX-License-Identifier: Apache-2.0
// Ends of Linux guests with PVRDMA functions, and of their driver, beside the traffic of others.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "verif/system/pvrdma_guests.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

// Without a limit, and every message waits for its acknowledge: 67 ms (-u 14), seven times, after the peer's end.
constexpr RdmaProgram kEndless = {"ib_write_bw -F -x 1 -s 4096 -u 14 --run_infinitely -D 1",
                                  "ib_write_bw -F -x 1 -s 4096 -u 14 --run_infinitely -D 1", "", "status 12"};
// Of the others. -c compares every byte. RTL takes some seconds for 500 messages.
constexpr RdmaProgram kPingpongs[] = {
    {"ibv_rc_pingpong -g 1 -n 3000 -s 8192 -e -c", "ibv_rc_pingpong -g 1 -n 3000 -s 8192 -e -c", "", "3000 iters in"},
    {"ibv_rc_pingpong -g 1 -n 500 -s 8192 -e -c", "ibv_rc_pingpong -g 1 -n 500 -s 8192 -e -c", "", "500 iters in"}};
constexpr RdmaProgram kSends[] = {{"ib_send_bw -F -x 1 -n 3000 -s 20000 -u 18 -e",
                                   "ib_send_bw -F -x 1 -n 3000 -s 20000 -u 18 -e", "", " 20000      3000 "},
                                  {"ib_send_bw -F -x 1 -n 500 -s 20000 -u 18 -e",
                                   "ib_send_bw -F -x 1 -n 500 -s 20000 -u 18 -e", "", " 20000      500 "}};

const Json kNothing = {{"contexts", 0}, {"pds", 0}, {"mrs", 0}, {"cqs", 0}, {"qps", 0}, {"srqs", 0}, {"gids", 0}};

}  // namespace

void PvrdmaGuests::EndInTraffic(const std::function<void()>& end) {
  const size_t which = std::string_view(GetParam().device) == "model" ? 0 : 1;
  const RdmaProgram& others = GetParam().has_loss ? kSends[which] : kPingpongs[which];
  const Json idle = ObjectsOf(0);
  Serve(0, others, tcp_port(0));
  In(0, "others=$server");
  Program program(WordsOf(ClientOf(others, "127.0.0.1", tcp_port(0))), On(NicOf(1)), /*yields=*/false);
  const unsigned port = NextPort();
  Serve(1, kEndless, port);
  In(0, Limit() + ClientOf(kEndless, AddressOf(1), port) + " >/run/client 2>&1 & client=$!");
  // Both are connected, and send for a second at least.
  In(0, "until [ $(rdma resource show qp link vmw_pvrdma0/1 type RC | wc -l) = 2 ]; do usleep 20000; done");
  In(0, "sleep 1; kill -0 $client && kill -0 $others");
  EXPECT_EQ(ObjectsOf(1)["qps"], 1) << ObjectsOf(1);
  end();
  const std::string output = In(0, "! wait $client && cat /run/client");
  EXPECT_NE(output.find(kEndless.output), std::string::npos) << output;
  EXPECT_EQ(program.Wait(), 0) << program.Output();
  EXPECT_NE(program.Output().find(others.output), std::string::npos) << program.Output();
  In(0, "wait $others; status=$?; cat /run/server; (exit $status)");
  AwaitObjects(0, idle);
}

namespace {

TEST_P(PvrdmaGuests, GuestIsKilledInTraffic) {
  const Json idle = ObjectsOf(1);
  for (int end = 0; end < GetParam().ends && !HasFailure(); ++end) {
    SCOPED_TRACE(end);
    EndInTraffic([&] {
      Kill(1);
      AwaitObjects(1, kNothing);
    });
    StartAgain(1);
    AwaitObjects(1, idle);
    BetweenGuests(ReliableProgram(GetParam()));
  }
}

TEST_P(PvrdmaGuests, GuestIsResetInTraffic) {
  const Json idle = ObjectsOf(1);
  for (int end = 0; end < GetParam().ends && !HasFailure(); ++end) {
    SCOPED_TRACE(end);
    EndInTraffic([&] {
      ResetMachine(1);
      AwaitObjects(1, idle);
    });
    BetweenGuests(ReliableProgram(GetParam()));
  }
}

TEST_P(PvrdmaGuests, DriverIsUnloadedAndLoaded) {
  const Json idle = ObjectsOf(0);
  const int rounds = IsFullSystemTest() ? 20 : 3;
  for (int round = 0; round < rounds; ++round) {
    In(0, "rmmod vmw_pvrdma");
    EXPECT_EQ(In(0, "ls /sys/class/infiniband"), "");
    AwaitObjects(0, kNothing);
    In(0, "insmod /modules/pvrdma/*vmw_pvrdma.ko");
    In(0, "until grep -q ffff:0a00:0065 /sys/class/infiniband/vmw_pvrdma0/ports/1/gids/*; do usleep 20000; done");
    AwaitObjects(0, idle);
    BetweenGuests(ReliableProgram(GetParam()));
  }
  if (!GetParam().has_loss) BetweenGuests(kRping);
}

}  // namespace
}  // namespace vireo::sim
