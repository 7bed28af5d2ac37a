// SPDX-License-Identifier: Apache-2.0
// RDMA programs of guests with PVRDMA functions.
#pragma once

#include <cstdio>
#include <string>

namespace vireo::sim {

// Two ends of a program that meet by TCP, or by the RDMA CM, at a port and the server's address.
struct RdmaProgram {
  const char* server;
  const char* client;
  const char* address;  // the client's option for it, at the end
  const char* output;   // substring of the client's output
  bool by_tcp = true;
  bool has_port = true;  // "-p PORT"; else its own one
  std::string Port(unsigned port) const { return has_port ? " -p " + std::to_string(port) : ""; }
};
// -c and -V compare every byte; perftest's ACK timeout is 1 s (-u 18) because a guest is slow.
inline constexpr RdmaProgram kRcPingpong = {"ibv_rc_pingpong -g 1 -n 20 -s 8192 -e -c",
                                            "ibv_rc_pingpong -g 1 -n 20 -s 8192 -e -c", "", "20 iters in"};
inline constexpr RdmaProgram kSendBw = {"ib_send_bw -F -x 1 -n 10 -s 20000 -u 18 -e",
                                        "ib_send_bw -F -x 1 -n 10 -s 20000 -u 18 -e", "", " 20000      10 "};
// Several queue pairs on one shared receive queue, whose ring wraps.
inline constexpr RdmaProgram kSrqPingpong = {"ibv_srq_pingpong -g 1 -q 4 -n 100 -r 16 -s 3000 -e -c",
                                             "ibv_srq_pingpong -g 1 -q 4 -n 100 -r 16 -s 3000 -e -c", "",
                                             "100 iters in"};
inline constexpr RdmaProgram kAtomicBw = {"ib_atomic_bw -F -x 1 -o 4 -n 10 -u 18 -e",
                                          "ib_atomic_bw -F -x 1 -o 4 -n 10 -u 18 -e", "", " 8          10 "};
inline constexpr RdmaProgram kAtomicLat = {"ib_atomic_lat -F -x 1 -n 10 -u 18 -e -A CMP_AND_SWAP",
                                           "ib_atomic_lat -F -x 1 -n 10 -u 18 -e -A CMP_AND_SWAP", "", " 8       10 "};
inline constexpr RdmaProgram kRping = {"rping -s -C 5 -S 900 -V", "rping -c -C 5 -S 900 -V -v", "-a ",
                                       "ping data: rdma-ping-4:", false};
inline constexpr RdmaProgram kUcmatose = {"ucmatose -C 5 -S 6000", "ucmatose -C 5 -S 6000", "-s ", "return status 0",
                                          false};
inline constexpr RdmaProgram kUdaddy = {
    "udaddy -C 5 -S 1000", "udaddy -C 5 -S 1000", "-s ", "return status 0", false, false};

// A line for a guest's shell: succeeds when the program's server listens.
inline std::string Listens(const RdmaProgram& program, unsigned port) {
  char hex[16];
  static_cast<void>(std::snprintf(hex, sizeof hex, ":%04X ", port));
  return program.by_tcp ? "cat /proc/net/tcp /proc/net/tcp6 | grep '" + std::string(hex) + ".* 0A '"
                        : "rdma resource show cm_id | grep LISTEN";
}

}  // namespace vireo::sim
