// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/quota.h"

#include "host/verbs/device.h"

namespace vireo::verbs {

Quota CapacityOf(Device& device, bool has_gsi, uint32_t own_gids) {
  const spec::RdmaAckQueryDevice& attributes = device.attributes();
  const spec::NetConfigRdma limits = device.net().rdma_config();
  const auto port = device.QueryPort();
  constexpr uint32_t kSpecialQps = 2;  // 0, which is never created, and 1
  constexpr uint32_t kMostHandles = 32, kHandlesPart = 4, kPageShift = 12;
  const Quota gsi{
      .pds = 1, .mrs = 1, .pages = 16, .ahs = std::min(kMostHandles, attributes.max_ah / kHandlesPart), .cqs = 1};
  const Quota own = Sum(has_gsi ? gsi : Quota(), {.qps = kSpecialQps, .gids = own_gids});
  // Profile rfc-v2 does not report how many pages there are; one region may have all.
  const uint64_t pages = attributes.max_mr_pages != 0 ? attributes.max_mr_pages : attributes.max_mr_size >> kPageShift;
  const Quota all{.pds = attributes.max_pd,
                  .mrs = attributes.max_mr,
                  .pages = static_cast<uint32_t>(std::min<uint64_t>(pages, std::numeric_limits<uint32_t>::max())),
                  .ahs = attributes.max_ah,
                  .cqs = limits.max_rdma_cqs,
                  .qps = limits.max_rdma_qps,
                  .srqs = attributes.max_srq,
                  .gids = port.ok() ? port->gid_tbl_len : 0};
  return Less(all, own);
}

}  // namespace vireo::verbs
