// SPDX-License-Identifier: Apache-2.0
// Sockets of NETLINK_RDMA, answered by rdma_netlink.h. For the functions of libc that several overlays share.
#pragma once

namespace vireo::ibverbs {

// As socket(AF_NETLINK, type, NETLINK_RDMA).
int OpenNetlinkSocket(int type);
// It is one, and not closed.
bool IsNetlinkSocket(int fd);
// Before close(fd).
void ForgetNetlinkSocket(int fd);

}  // namespace vireo::ibverbs
