// SPDX-License-Identifier: Apache-2.0
// Verbs that the device does not support. Those called through verbs_context need no stub: an empty slot is EOPNOTSUPP.
#include "host/ibverbs/objects.h"

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

// --- Memory of other devices (dma-buf)
VIREO_API ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  VIREO_PASS(ibv_reg_dmabuf_mr, pd, offset, length, iova, fd, access);
  return Null(EOPNOTSUPP);
}

// --- Device memory of another process
VIREO_API ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  VIREO_PASS(ibv_import_dm, context, handle);
  return Null(EOPNOTSUPP);
}
VIREO_API void ibv_unimport_dm(ibv_dm* dm) { VIREO_PASS(ibv_unimport_dm, dm); }

// --- Enhanced connection establishment: no options to negotiate
VIREO_API int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  VIREO_PASS(ibv_set_ece, qp, ece);
  return EOPNOTSUPP;
}
VIREO_API int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  VIREO_PASS(ibv_query_ece, qp, ece);
  return EOPNOTSUPP;
}
VIREO_API int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, uint32_t flags) {
  VIREO_PASS(ibv_query_qp_data_in_order, qp, opcode, flags);
  return 0;  // not guaranteed
}

// --- fork(): pages are accessed by address at the time of access, so no preparation is needed.
VIREO_API int ibv_fork_init() {
  VIREO_PASS(ibv_fork_init);
  return 0;
}
VIREO_API ibv_fork_status ibv_is_fork_initialized() {
  VIREO_PASS(ibv_is_fork_initialized);
  return IBV_FORK_UNNEEDED;
}
