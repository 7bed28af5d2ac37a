// SPDX-License-Identifier: Apache-2.0
// Pairs of unmodified programs, a server on one NIC and a client on the other: all on model and RTL, the fast ones also
// in lockstep.
#include <gtest/gtest.h>

#include "verif/host/ibverbs/pairs_fixture.h"
#include "verif/host/ibverbs/program_pair.h"

namespace vireo::sim {
namespace {

constexpr ProgramRow kPingpongs[] = {
    {"Rc", VIREO_TCP("ibv_rc_pingpong -g 1 -n 20 -c"), "20 iters in", "mrl"},
    {"RcByLinkLocalAddresses", VIREO_TCP("ibv_rc_pingpong -g 0 -n 20"), "GID fe80::", "mrl"},
    {"RcByEvents", VIREO_TCP("ibv_rc_pingpong -g 1 -n 50 -e -c"), "50 iters in", "mrl"},
    {"RcByWrApi", VIREO_TCP("ibv_rc_pingpong -g 1 -n 50 -N -c"), "50 iters in", "mr"},
    {"RcWithTimestamps", VIREO_TCP("ibv_rc_pingpong -g 1 -n 20 -t"), "Average receive completion clock cycles"},
    {"RcOf1MiB", VIREO_TCP("ibv_rc_pingpong -g 1 -n 3 -s 1048576 -c"), "3 iters in"},
    {"RcInPacketsOf256", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 256 -c"), "5 iters in"},
    {"RcInPacketsOf512", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 512 -c"), "5 iters in"},
    {"RcInPacketsOf2048", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 2048 -c"), "5 iters in"},
    {"RcInPacketsOf4096", VIREO_TCP("ibv_rc_pingpong -g 1 -n 5 -s 65536 -m 4096 -c"), "5 iters in"},
    {"Uc", VIREO_TCP("ibv_uc_pingpong -g 1 -n 20"), "20 iters in", "mrl"},
    {"UcByEvents", VIREO_TCP("ibv_uc_pingpong -g 1 -n 20 -e"), "20 iters in"},
    {"UcInPacketsOf4096", VIREO_TCP("ibv_uc_pingpong -g 1 -n 10 -s 65536 -m 4096"), "10 iters in"},
    {"Ud", VIREO_TCP("ibv_ud_pingpong -g 1 -n 20 -s 1000"), "20 iters in", "mrl"},
    {"UdByEvents", VIREO_TCP("ibv_ud_pingpong -g 1 -n 50 -s 1000 -e"), "50 iters in"},
    {"Srq", VIREO_TCP("ibv_srq_pingpong -g 1 -q 4 -n 50 -r 100"), "50 iters in", "ml"},
    {"SrqByEvents", VIREO_TCP("ibv_srq_pingpong -g 1 -q 4 -n 50 -r 100 -e"), "50 iters in"},
};

// -F: ignore different processor clocks. The last size of -a is 8 MiB.
constexpr ProgramRow kPerftest[] = {
    {"WriteBw", VIREO_TCP("ib_write_bw -F -n 10 -s 4096"), " 4096       10 ", "mrl"},
    {"WriteBwByWrApi", VIREO_TCP("ib_write_bw -F -n 10 -s 4096"), "ibv_wr* API     : ON", "mr", true},
    {"WriteBwOfAllSizes", VIREO_TCP("ib_write_bw -F -n 5 -a"), " 8388608    5 ", "mR"},
    // More completions at a time than one poll takes.
    {"SendBwOnQpsByEvents", VIREO_TCP("ib_send_bw -F -n 500 -s 64 -q 8 -e"), "Test with events."},
    {"WriteBwUc", VIREO_TCP("ib_write_bw -F -n 20 -s 1024 -c UC"), "Connection type : UC"},
    {"WriteBwBidirectionalOnQps", VIREO_TCP("ib_write_bw -F -n 20 -s 2048 -b -q 4"), "Number of qps   : 4"},
    {"WriteBwBidirectionalOnQpsByWrApi", VIREO_TCP("ib_write_bw -F -n 20 -s 2048 -b -q 4"), "ibv_wr* API     : ON",
     "mr", true},
    {"WriteBwByRdmaCm", VIREO_CM("ib_write_bw -F -n 20 -s 4096 -R"), "rdma_cm QPs\t : ON"},
    {"WriteBwByRdmaCmAndWrApi", VIREO_CM("ib_write_bw -F -n 20 -s 4096 -R"), "ibv_wr* API     : ON", "mr", true},
    // Reads the port's counter before and after, 20,000 and some times four octets, by one descriptor.
    {"WriteBwCountsOctets", VIREO_TCP("ib_write_bw -F -n 20 -s 4096 -W counters/port_xmit_data"),
     "counters/port_xmit_data=2", "m"},
    {"WriteBwOnDemand", VIREO_TCP("ib_write_bw -F -n 20 -s 4096 --odp --mr_per_qp -q 2"), " 4096       40 ", "m"},
    {"WriteLat", VIREO_TCP("ib_write_lat -F -n 10 -s 64"), " 64      10 "},
    {"WriteLatByWrApi", VIREO_TCP("ib_write_lat -F -n 10 -s 64"), "ibv_wr* API     : ON", "mr", true},
    {"WriteLatOfAllSizes", VIREO_TCP("ib_write_lat -F -n 5 -a"), " 8388608 5 ", "mR"},
    {"WriteLatByRdmaCm", VIREO_CM("ib_write_lat -F -n 20 -s 64 -R"), "rdma_cm QPs\t : ON"},
    {"WriteLatUc", VIREO_TCP("ib_write_lat -F -n 20 -s 64 -c UC"), "Connection type : UC"},
    {"SendBw", VIREO_TCP("ib_send_bw -F -n 20 -s 4096"), " 4096       20 "},
    {"SendBwByWrApi", VIREO_TCP("ib_send_bw -F -n 20 -s 4096"), "ibv_wr* API     : ON", "mr", true},
    {"SendBwOfAllSizes", VIREO_TCP("ib_send_bw -F -n 10 -a"), " 8388608    10 ", "mR"},
    {"SendBwByEvents", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -e"), "Test with events."},
    {"SendBwBidirectional", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -b"), "Send Bidirectional BW Test"},
    {"SendBwBidirectionalOnQpsByEvents", VIREO_TCP("ib_send_bw -F -n 300 -s 64 -b -q 4 -e"), "Test with events."},
    {"SendBwOnQps", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -q 4"), "Number of qps   : 4"},
    {"SendBwOnQpsWithSrq", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -q 4 --use-srq"), "Number of qps   : 4"},
    {"SendBwUc", VIREO_TCP("ib_send_bw -F -n 20 -s 4096 -c UC"), "Connection type : UC"},
    {"SendBwUd", VIREO_TCP("ib_send_bw -F -n 20 -s 1024 -c UD"), "Connection type : UD"},
    {"SendBwUdByWrApi", VIREO_TCP("ib_send_bw -F -n 20 -s 1024 -c UD"), "ibv_wr* API     : ON", "mr", true},
    {"SendBwMulticast", VIREO_TCP("ib_send_bw -F -n 20 -s 1024 -c UD -g -x 0"), "Send BW Multicast Test", "mrl"},
    {"SendBwUdByRdmaCm", VIREO_CM("ib_send_bw -F -n 20 -s 1024 -c UD -R"), "rdma_cm QPs\t : ON"},
    {"SendLatUdByRdmaCm", VIREO_CM("ib_send_lat -F -n 20 -s 64 -c UD -R"), "rdma_cm QPs\t : ON"},
    {"SendLatOfAllSizes", VIREO_TCP("ib_send_lat -F -n 5 -a"), " 8388608 5 ", "mR"},
    {"SendBwByRdmaCm", VIREO_CM("ib_send_bw -F -n 20 -s 4096 -R"), "rdma_cm QPs\t : ON"},
    {"SendLat", VIREO_TCP("ib_send_lat -F -n 20 -s 64"), " 64      20 "},
    {"SendLatInlineByWrApi", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -I 64"), "ibv_wr* API     : ON", "mr", true},
    {"SendLatByEvents", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -e"), "Test with events."},
    {"SendLatUc", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -c UC"), "Connection type : UC"},
    {"SendLatUd", VIREO_TCP("ib_send_lat -F -n 20 -s 64 -c UD"), "Connection type : UD"},
    {"SendLatByRdmaCm", VIREO_CM("ib_send_lat -F -n 20 -s 64 -R"), "rdma_cm QPs\t : ON"},
    {"ReadBw", VIREO_TCP("ib_read_bw -F -n 10 -s 4096"), " 4096       10 ", "mr"},
    {"ReadBwByWrApi", VIREO_TCP("ib_read_bw -F -n 10 -s 4096"), "ibv_wr* API     : ON", "mr", true},
    {"ReadBwOfAllSizes", VIREO_TCP("ib_read_bw -F -n 5 -a"), " 8388608    5 ", "mR"},
    {"ReadBwBidirectionalOnQps", VIREO_TCP("ib_read_bw -F -n 20 -s 4096 -b -q 4"), "Number of qps   : 4"},
    {"ReadBwByRdmaCm", VIREO_CM("ib_read_bw -F -n 20 -s 4096 -R"), "rdma_cm QPs\t : ON"},
    {"ReadBwByEvents", VIREO_TCP("ib_read_bw -F -n 300 -s 64 -q 4 -e"), "Test with events."},
    {"ReadBwByOldPostSend", VIREO_TCP("ib_read_bw -F -n 20 -s 4096 -Q 1 --use_old_post_send"), "ibv_wr* API     : OFF",
     "m", true},
    {"ReadLatOfAllSizes", VIREO_TCP("ib_read_lat -F -n 5 -a"), " 8388608 5 ", "mR"},
    {"ReadLatByRdmaCm", VIREO_CM("ib_read_lat -F -n 20 -s 64 -R"), "rdma_cm QPs\t : ON"},
    {"ReadLat", VIREO_TCP("ib_read_lat -F -n 10 -s 64"), " 64      10 "},
    {"ReadLatByWrApi", VIREO_TCP("ib_read_lat -F -n 10 -s 64"), "ibv_wr* API     : ON", "mr", true},
    {"ReadLatByEvents", VIREO_TCP("ib_read_lat -F -n 20 -s 64 -e"), "Test with events."},
    {"AtomicBwFetchAdd", VIREO_TCP("ib_atomic_bw -F -n 20 -A FETCH_AND_ADD"), " 8          20 ", "mrl"},
    {"AtomicBwCompareSwapOnQps", VIREO_TCP("ib_atomic_bw -F -n 20 -A CMP_AND_SWAP -q 4"), "Number of qps   : 4"},
    {"AtomicBwByWrApi", VIREO_TCP("ib_atomic_bw -F -n 20 -A FETCH_AND_ADD"), "ibv_wr* API     : ON", "mr", true},
    {"AtomicLat", VIREO_TCP("ib_atomic_lat -F -n 10"), " 8       10 "},
    {"AtomicLatByRdmaCm", VIREO_CM("ib_atomic_lat -F -n 10 -R"), "rdma_cm QPs\t : ON"},
};

constexpr ProgramRow kRdmaCm[] = {
    {"Rping", ProgramRow::Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 3 -V",
     "rping -c -a 10.0.0.1 -p $PORT -C 3 -V -v", "ping data: rdma-ping-2:", "mrl"},
    {"RpingOf4000Bytes", ProgramRow::Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 10 -S 4000 -V",
     "rping -c -a 10.0.0.1 -p $PORT -C 10 -S 4000 -V -v", "ping data: rdma-ping-9:"},
    {"RpingWithOwnQp", ProgramRow::Meet::kRdmaCm, "rping -s -q -a 10.0.0.1 -p $PORT -C 3",
     "rping -c -q -a 10.0.0.1 -p $PORT -C 3 -v", "ping data: rdma-ping-2:"},
    {"Ucmatose", VIREO_CM_S("ucmatose", "ucmatose"), "return status 0", "mr"},
    {"UcmatoseWithMigration", VIREO_CM_S("ucmatose -c 4 -C 5 -m", "ucmatose -c 4 -C 5 -m"), "return status 0"},
    // Its -p is the port space.
    {"Udaddy", ProgramRow::Meet::kRdmaCm, "udaddy", "udaddy -s 10.0.0.1", "return status 0", "mr"},
    {"RdmaServer", VIREO_CM_S("rdma_server", "rdma_client"), "rdma_client: end 0"},
    {"Rstream", VIREO_CM_S("rstream -S 1024 -I 5 -C 5", "rstream -S 1024 -I 5 -C 5"), "custom    1k      5       5 "},
    {"RstreamBlocking", VIREO_CM_S("rstream -T b -S 65536 -I 5 -C 5", "rstream -T b -S 65536 -I 5 -C 5"),
     "custom    64k     5       5 "},
    {"Rcopy", ProgramRow::Meet::kRdmaCm, "rcopy -p $PORT", "rcopy $FILE 10.0.0.1:$COPY -p $PORT", "200000 bytes in",
     "mr", false, ProgramRow::Server::kStays},
};

// On NICs of profile rfc-v2: one of each kind.
constexpr ProgramRow kRfcV2[] = {
    {"RcByEvents", VIREO_TCP("ibv_rc_pingpong -g 1 -n 20 -e -c"), "20 iters in", "mrl"},
    {"UdByEvents", VIREO_TCP("ibv_ud_pingpong -g 1 -n 20 -s 1000 -e"), "20 iters in", "l"},
    {"SendBwOnQpsByEvents", VIREO_TCP("ib_send_bw -F -n 500 -s 64 -q 8 -e"), "Test with events.", "m"},
    {"ReadBwByEvents", VIREO_TCP("ib_read_bw -F -n 20 -s 4096 -e"), "Test with events.", "m"},
    {"Rping", ProgramRow::Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 3 -V",
     "rping -c -a 10.0.0.1 -p $PORT -C 3 -V -v", "ping data: rdma-ping-2:", "l"},
};

TEST_P(Pairs, Succeed) { ProgramPair(*GetParam().row, *simulator_).ExpectGoodEnd(); }

INSTANTIATE_TEST_SUITE_P(Pingpong, Pairs, testing::ValuesIn(CasesOf(kPingpongs)), NameOf);
INSTANTIATE_TEST_SUITE_P(Perftest, Pairs, testing::ValuesIn(CasesOf(kPerftest)), NameOf);
INSTANTIATE_TEST_SUITE_P(RdmaCm, Pairs, testing::ValuesIn(CasesOf(kRdmaCm)), NameOf);
INSTANTIATE_TEST_SUITE_P(RfcV2, Pairs, testing::ValuesIn(CasesOf(kRfcV2, "rfc-v2")), NameOf);

}  // namespace
}  // namespace vireo::sim
