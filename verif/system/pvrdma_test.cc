// SPDX-License-Identifier: Apache-2.0
// Programs of Linux guests with PVRDMA functions, with each other and with programs of this machine; the worlds.
#include <gtest/gtest.h>

#include <string>

#include "verif/system/pvrdma_guests.h"

namespace vireo::sim {
namespace {

constexpr const char* kAll[] = {""};
constexpr const char* kWithLoss[] = {"Perftest", "Atomics", "RdmaCm", "GuestIs", "Driver"};
constexpr const char* kEnds[] = {"GuestIs", "Driver"};
constexpr const char* kLockstepCases[] = {"RcPingpong", "RdmaCm"};
constexpr const char* kTwoNicCases[] = {"RcPingpong", "Driver", "Ibverbs",  "Shared", "Perftest",
                                        "Atomics",    "RdmaCm", "Programs", "Gids",   "Unreliable"};
constexpr PvrdmaWorld kWorlds[] = {
    {"model_2nics", "model", 2, false, kAll, kTwoNicCases},
    {"model_1nic", "model", 1, false, kAll, kAll},
    {"lockstep_2nics", "lockstep", 2, false, kAll, kLockstepCases},
    {"lockstep_1nic_loss", "lockstep", 1, true, kWithLoss, {}},
    {"rtl_2nics", "rtl", 2, false, kAll, {}},
    {"rtl_1nic", "rtl", 1, false, kAll, {}},
    {"rtl_2nics_loss", "rtl", 2, true, kWithLoss, {}},
    {"model_2nics_loss", "model", 2, true, kWithLoss, {}},
    {"model_2nics_ends", "model", 2, false, kEnds, {}, 20},
};

// All but ib_write_bw, which cannot, use events: polling in a guest with one processor takes the time of its kernel,
// and here that of the simulator.
constexpr RdmaProgram kRcPingpongIpv6 = {"ibv_rc_pingpong -g 0 -n 20 -s 3000 -e -c",
                                         "ibv_rc_pingpong -g 0 -n 20 -s 3000 -e -c", "", "20 iters in"};
constexpr RdmaProgram kUdPingpong = {"ibv_ud_pingpong -g 1 -n 20 -s 1000 -e", "ibv_ud_pingpong -g 1 -n 20 -s 1000 -e",
                                     "", "20 iters in"};
constexpr RdmaProgram kPerftest[] = {
    {"ib_write_bw -F -x 1 -n 10 -s 20000 -u 18", "ib_write_bw -F -x 1 -n 10 -s 20000 -u 18", "", " 20000      10 "},
    kSendBw,
    {"ib_read_bw -F -x 1 -o 4 -n 10 -s 20000 -u 18 -e", "ib_read_bw -F -x 1 -o 4 -n 10 -s 20000 -u 18 -e", "",
     " 20000      10 "},
};
// Not with loss: ib_send_lat waits for the event of its message, then for that of the peer's, which may come in the
// other order. ib_write_lat reads memory until it changes.
constexpr RdmaProgram kLatencies[] = {
    {"ib_send_lat -F -x 1 -n 10 -s 200 -u 18 -e", "ib_send_lat -F -x 1 -n 10 -s 200 -u 18 -e", "", " 200     10 "},
    {"ib_read_lat -F -x 1 -o 4 -n 10 -s 200 -u 18 -e", "ib_read_lat -F -x 1 -o 4 -n 10 -s 200 -u 18 -e", "",
     " 200     10 "},
    {"ib_write_lat -F -x 1 -n 10 -s 200 -u 18", "ib_write_lat -F -x 1 -n 10 -s 200 -u 18", "", " 200     10 "},
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

// Linux' driver makes no queue pairs for unreliable connections, and does not ask the device, which has them.
TEST_P(PvrdmaGuests, UnreliableConnectionsAreRefusedByTheDriver) {
  const std::string output = In(0, "! ibv_uc_pingpong -g 1 >/run/client 2>&1 && cat /run/client");
  EXPECT_NE(output.find("Couldn't create QP"), std::string::npos) << output;
  EXPECT_NE(In(0, "dmesg -c | grep pvrdma | tail -1").find("queuepair type 3 not supported"), std::string::npos);
  BetweenGuests(kRcPingpong);
}

TEST_P(PvrdmaGuests, Perftest) {
  for (const RdmaProgram& program : kPerftest) BetweenGuests(program);
  if (GetParam().has_loss) return;
  for (const RdmaProgram& program : kLatencies) BetweenGuests(program);
}

TEST_P(PvrdmaGuests, SharedReceiveQueue) {
  BetweenGuests(kSrqPingpong);
  FromGuest(kSrqPingpong, 0);
  ToGuest(kSrqPingpong, GetParam().nics - 1);
}

TEST_P(PvrdmaGuests, Atomics) {
  BetweenGuests(kAtomicBw);
  BetweenGuests(kAtomicLat);
  FromGuest(kAtomicBw, 0);
  ToGuest(kAtomicLat, GetParam().nics - 1);
}

// rdma-core's own tests, both ends in guest 0. Python, pyverbs and the suite are this machine's, whose Debian is the
// guest's; verif/system/pyverbs_pass_list.txt has the tests that must pass.
TEST_P(PvrdmaGuests, Pyverbs) {
  constexpr auto kTimeout = std::chrono::minutes(15);
  if (!IsFullSystemTest()) GTEST_SKIP() << "VIREO_SYSTEM=full runs this case";
  if (std::string(GetParam().device) != "model") GTEST_SKIP() << "takes many minutes on RTL";
  In(0, "mkdir -p /host && mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 root /host");
  In(0, "for folder in proc sys dev; do mount -o bind /$folder /host/$folder; done");
  const std::string files = VIREO_PYVERBS_DIR;
  std::printf("%s", In(0,
                       "chroot /host /usr/bin/env -i TMPDIR=/dev/shm PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 " +
                           files + "/run_pyverbs.py --list " + VIREO_SYSTEM_DIR + "/pyverbs_pass_list.txt " +
                           "--device vmw_pvrdma0 --gid 1 --address " + AddressOf(0),
                       kTimeout)
                        .c_str());
  In(0, "umount /host/proc /host/sys /host/dev /host");
  In(0, "dmesg -c >/run/none");  // the driver's complaints: much of the suite is wrong requests
}

TEST_P(PvrdmaGuests, RdmaCm) {
  BetweenGuests(kUcmatose);
  if (GetParam().has_loss) return;  // the others have no retries of their own, or as kRping
  BetweenGuests(kRping);
  BetweenGuests(kUdaddy);
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

INSTANTIATE_TEST_SUITE_P(Worlds, PvrdmaGuests, testing::ValuesIn(kWorlds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace vireo::sim
