// SPDX-License-Identifier: Apache-2.0
// The user-space ABI of Linux' rdma_cm, including constants that only librdmacm's headers define.
#pragma once

// Before Linux' headers, which omit definitions that libc has made.
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <cstdint>

namespace vireo::service {

// <rdma/rdma_cma.h>, enum rdma_cm_event_type.
enum class UcmaEvent : uint32_t {
  kAddressResolved = 0,
  kAddressError = 1,
  kRouteResolved = 2,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kTimewaitExit = 15,
};

// <infiniband/verbs.h>; the kernel uses the same values.
inline constexpr uint8_t kQpTypeRc = 2, kQpTypeUd = 4;
inline constexpr uint32_t kQpStateInit = 1, kQpStateRtr = 2, kQpStateRts = 3, kQpStateError = 6;
inline constexpr uint32_t kAsyncCommEst = 4;
inline constexpr uint32_t kAccessRemoteWrite = 1 << 1, kAccessRemoteRead = 1 << 2, kAccessRemoteAtomic = 1 << 3;
namespace qp_mask {
inline constexpr uint32_t kState = 1 << 0, kAccessFlags = 1 << 3, kPkeyIndex = 1 << 4, kPort = 1 << 5, kQkey = 1 << 6,
                          kAv = 1 << 7, kPathMtu = 1 << 8, kTimeout = 1 << 9, kRetryCount = 1 << 10,
                          kRnrRetry = 1 << 11, kRqPsn = 1 << 12, kMaxQpRdAtomic = 1 << 13, kMinRnrTimer = 1 << 15,
                          kSqPsn = 1 << 16, kMaxDestRdAtomic = 1 << 17, kDestQpn = 1 << 20;
}  // namespace qp_mask

// Q_Key of datagram queue pairs of rdma_cm. [<rdma/rdma_cma.h>, RDMA_UDP_QKEY]
inline constexpr uint32_t kUcmaUdpQkey = 0x01234567;

constexpr ib_uverbs_ah_attr ToUverbs(const auto& path) {
  ib_uverbs_ah_attr ah{};
  for (unsigned i = 0; i < 16; ++i) ah.grh.dgid[i] = path.dgid[i];
  ah.grh.flow_label = path.flow_label;
  ah.grh.sgid_index = path.sgid_index;
  ah.grh.hop_limit = path.hop_limit;
  ah.grh.traffic_class = path.traffic_class;
  ah.is_global = 1;
  ah.port_num = 1;
  return ah;
}

}  // namespace vireo::service
