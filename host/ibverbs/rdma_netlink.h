// SPDX-License-Identifier: Apache-2.0
// What Linux tells of RDMA devices by netlink (NETLINK_RDMA, client RDMA_NL_NLDEV), for the `rdma` command of iproute2:
// devices, ports, the objects of all programs, and counters, of the devices that this process sees. Nothing can be
// changed. Formats: Linux, <rdma/rdma_netlink.h> and drivers/infiniband/core/nldev.c.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vireo::ibverbs {

// The datagrams that answer `request`, one or several netlink messages; for the socket of `port_id`. A dump takes
// several datagrams of less than a page. A command that Linux has and that is not answered here fails with EOPNOTSUPP.
std::vector<std::vector<uint8_t>> AnswerRdmaNetlink(std::span<const uint8_t> request, uint32_t port_id);

}  // namespace vireo::ibverbs
