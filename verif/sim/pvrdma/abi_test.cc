// SPDX-License-Identifier: Apache-2.0
// The ABI as this system's kernel headers define it, and the parts that move data by it.
#include "sim/pvrdma/abi.h"

#include <gtest/gtest.h>
#include <rdma/vmw_pvrdma-abi.h>

#include <cstddef>
#include <utility>

#include "sim/pvrdma/ring.h"
#include "sim/pvrdma/translate.h"

namespace vireo::sim::pvrdma {
namespace {

#define VIREO_SAME(Ours, our_field, theirs, their_field)                             \
  static_assert(offsetof(Ours, our_field) == offsetof(struct theirs, their_field) && \
                sizeof(Ours::our_field) == sizeof((static_cast<theirs*>(nullptr))->their_field))

static_assert(sizeof(SendWqe) == sizeof(pvrdma_sq_wqe_hdr) && sizeof(RecvWqe) == sizeof(pvrdma_rq_wqe_hdr));
static_assert(sizeof(Sge) == sizeof(pvrdma_sge) && sizeof(Cqe) == sizeof(pvrdma_cqe));
static_assert(sizeof(AddressVector) == sizeof(pvrdma_av));
VIREO_SAME(SendWqe, wr_id, pvrdma_sq_wqe_hdr, wr_id);
VIREO_SAME(SendWqe, num_sge, pvrdma_sq_wqe_hdr, num_sge);
VIREO_SAME(SendWqe, opcode, pvrdma_sq_wqe_hdr, opcode);
VIREO_SAME(SendWqe, flags, pvrdma_sq_wqe_hdr, send_flags);
VIREO_SAME(SendWqe, imm_data, pvrdma_sq_wqe_hdr, ex.imm_data);
VIREO_SAME(SendWqe, imm_data, pvrdma_sq_wqe_hdr, ex.invalidate_rkey);
VIREO_SAME(SendWqe, part, pvrdma_sq_wqe_hdr, wr);
static_assert(offsetof(SendWqe, part) + offsetof(RdmaPart, rkey) == offsetof(pvrdma_sq_wqe_hdr, wr.rdma.rkey));
static_assert(offsetof(SendWqe, part) + offsetof(AtomicPart, compare_add) ==
                  offsetof(pvrdma_sq_wqe_hdr, wr.atomic.compare_add) &&
              offsetof(SendWqe, part) + offsetof(AtomicPart, swap) == offsetof(pvrdma_sq_wqe_hdr, wr.atomic.swap) &&
              offsetof(SendWqe, part) + offsetof(AtomicPart, rkey) == offsetof(pvrdma_sq_wqe_hdr, wr.atomic.rkey));
static_assert(offsetof(SendWqe, part) + offsetof(DatagramPart, remote_qkey) ==
              offsetof(pvrdma_sq_wqe_hdr, wr.ud.remote_qkey));
static_assert(offsetof(SendWqe, part) + offsetof(DatagramPart, av) == offsetof(pvrdma_sq_wqe_hdr, wr.ud.av));
VIREO_SAME(AddressVector, sl_tclass_flowlabel, pvrdma_av, sl_tclass_flowlabel);
VIREO_SAME(AddressVector, dgid, pvrdma_av, dgid);
VIREO_SAME(AddressVector, gid_index, pvrdma_av, gid_index);
VIREO_SAME(AddressVector, hop_limit, pvrdma_av, hop_limit);
VIREO_SAME(AddressVector, dmac, pvrdma_av, dmac);
VIREO_SAME(RecvWqe, num_sge, pvrdma_rq_wqe_hdr, num_sge);
VIREO_SAME(Sge, length, pvrdma_sge, length);
VIREO_SAME(Sge, lkey, pvrdma_sge, lkey);
VIREO_SAME(Cqe, qp, pvrdma_cqe, qp);
VIREO_SAME(Cqe, opcode, pvrdma_cqe, opcode);
VIREO_SAME(Cqe, status, pvrdma_cqe, status);
VIREO_SAME(Cqe, byte_len, pvrdma_cqe, byte_len);
VIREO_SAME(Cqe, imm_data, pvrdma_cqe, imm_data);
VIREO_SAME(Cqe, src_qp, pvrdma_cqe, src_qp);
VIREO_SAME(Cqe, wc_flags, pvrdma_cqe, wc_flags);
VIREO_SAME(Cqe, vendor_err, pvrdma_cqe, vendor_err);
VIREO_SAME(Cqe, pkey_index, pvrdma_cqe, pkey_index);
VIREO_SAME(Cqe, port, pvrdma_cqe, port_num);
VIREO_SAME(Cqe, network_hdr_type, pvrdma_cqe, network_hdr_type);
static_assert(kHandleMask == PVRDMA_UAR_HANDLE_MASK && kQpDoorbell == PVRDMA_UAR_QP_OFFSET &&
              kCqDoorbell == PVRDMA_UAR_CQ_OFFSET && kSrqDoorbell == PVRDMA_UAR_SRQ_OFFSET);
static_assert(kQpSend == PVRDMA_UAR_QP_SEND && kQpRecv == static_cast<uint32_t>(PVRDMA_UAR_QP_RECV) &&
              kCqArmSolicited == PVRDMA_UAR_CQ_ARM_SOL && kCqArm == PVRDMA_UAR_CQ_ARM &&
              kCqPoll == static_cast<uint32_t>(PVRDMA_UAR_CQ_POLL) && kSrqRecv == PVRDMA_UAR_SRQ_RECV);
static_assert(static_cast<int>(WrOpcode::kRdmaWriteWithImm) == PVRDMA_WR_RDMA_WRITE_WITH_IMM &&
              static_cast<int>(WrOpcode::kSend) == PVRDMA_WR_SEND &&
              static_cast<int>(WrOpcode::kRdmaRead) == PVRDMA_WR_RDMA_READ &&
              static_cast<int>(WrOpcode::kCompareSwap) == PVRDMA_WR_ATOMIC_CMP_AND_SWP &&
              static_cast<int>(WrOpcode::kFetchAdd) == PVRDMA_WR_ATOMIC_FETCH_AND_ADD &&
              static_cast<int>(WrOpcode::kSendWithInv) == PVRDMA_WR_SEND_WITH_INV &&
              static_cast<int>(WrOpcode::kLocalInv) == PVRDMA_WR_LOCAL_INV);
static_assert(kWcGrh == PVRDMA_WC_GRH && kWcWithImm == PVRDMA_WC_WITH_IMM);

TEST(PvrdmaAbi, CompletionsHaveTheSystemsValues) {
  using Status = spec::IbWcStatus;
  const std::pair<Status, pvrdma_wc_status> statuses[] = {
      {Status::kSuccess, PVRDMA_WC_SUCCESS},
      {Status::kLocLenErr, PVRDMA_WC_LOC_LEN_ERR},
      {Status::kLocQpOpErr, PVRDMA_WC_LOC_QP_OP_ERR},
      {Status::kLocProtErr, PVRDMA_WC_LOC_PROT_ERR},
      {Status::kWrFlushErr, PVRDMA_WC_WR_FLUSH_ERR},
      {Status::kBadRespErr, PVRDMA_WC_BAD_RESP_ERR},
      {Status::kLocAccessErr, PVRDMA_WC_LOC_ACCESS_ERR},
      {Status::kRemInvReqErr, PVRDMA_WC_REM_INV_REQ_ERR},
      {Status::kRemAccessErr, PVRDMA_WC_REM_ACCESS_ERR},
      {Status::kRemOpErr, PVRDMA_WC_REM_OP_ERR},
      {Status::kRetryExcErr, PVRDMA_WC_RETRY_EXC_ERR},
      {Status::kRnrRetryExcErr, PVRDMA_WC_RNR_RETRY_EXC_ERR},
      {Status::kRemAbortErr, PVRDMA_WC_REM_ABORT_ERR},
      {Status::kFatalErr, PVRDMA_WC_FATAL_ERR},
      {Status::kRespTimeoutErr, PVRDMA_WC_RESP_TIMEOUT_ERR},
      {Status::kGeneralErr, PVRDMA_WC_GENERAL_ERR},
      {static_cast<Status>(0x77), PVRDMA_WC_GENERAL_ERR},
  };
  for (const auto& [ours, theirs] : statuses) {
    EXPECT_EQ(FromCompletion({.status = ours}).status, static_cast<uint32_t>(theirs)) << ToString(ours);
  }
  using Opcode = spec::IbWcOpcode;
  const std::pair<Opcode, pvrdma_wc_opcode> opcodes[] = {
      {Opcode::kSend, PVRDMA_WC_SEND},
      {Opcode::kRdmaWrite, PVRDMA_WC_RDMA_WRITE},
      {Opcode::kRdmaRead, PVRDMA_WC_RDMA_READ},
      {Opcode::kRecv, PVRDMA_WC_RECV},
      {Opcode::kRecvRdmaWithImm, PVRDMA_WC_RECV_RDMA_WITH_IMM},
      {Opcode::kCompSwap, PVRDMA_WC_COMP_SWAP},
      {Opcode::kFetchAdd, PVRDMA_WC_FETCH_ADD},
      {Opcode::kLocalInv, PVRDMA_WC_LOCAL_INV},
  };
  for (const auto& [ours, theirs] : opcodes) {
    EXPECT_EQ(FromCompletion({.opcode = ours}).opcode, static_cast<uint32_t>(theirs)) << ToString(ours);
  }
}

// The index arithmetic of the driver's pvrdma_ring.h on any number of entries: it walks a ring of UsableEntries().
TEST(PvrdmaRing, DriversMasksWalkTheUsableEntries) {
  for (const uint32_t slots : {1U, 2U, 3U * 1024, 3U * 512, 6U, 12U, 7U, 1024U, 5U * 256}) {
    const uint32_t usable = UsableEntries(slots);
    RingState state;
    RingEnd end(usable, reinterpret_cast<uint8_t*>(&state.prod_tail), reinterpret_cast<uint8_t*>(&state.cons_head));
    uint32_t index = 0;
    for (uint32_t i = 0; i < 5 * slots; ++i) {
      EXPECT_EQ(end.slot(), index & (slots - 1)) << slots << " slots, entry " << i;
      EXPECT_EQ(end.Outstanding(), 0u);
      end.Advance();
      EXPECT_EQ(end.Outstanding(), 1u);
      index = (index + 1) & (2 * slots - 1);
      ASSERT_EQ(state.prod_tail, index) << slots << " slots, entry " << i;
      state.cons_head = index;
    }
  }
}

TEST(PvrdmaRing, StopsAtIndicesThatNoGuestCanReach) {
  constexpr uint32_t kEntries = 4;
  const auto consumer = [](uint32_t taken, uint32_t tail) {
    RingState state;
    RingEnd end(kEntries, reinterpret_cast<uint8_t*>(&state.cons_head), reinterpret_cast<uint8_t*>(&state.prod_tail));
    for (uint32_t i = 0; i < taken; ++i) end.Advance();
    EXPECT_EQ(state.cons_head, taken % (2 * kEntries));
    state.prod_tail = tail;
    const auto available = end.Available();
    EXPECT_EQ(available.has_value(), !end.is_stopped());
    // It stays stopped until the guest restarts it.
    state.prod_tail = 0;
    if (!available.has_value()) {
      EXPECT_FALSE(end.Available().has_value());
      end.Restart();
      EXPECT_EQ(end.Available(), 0u);
    }
    return available;
  };
  EXPECT_EQ(consumer(0, 0), 0u);
  EXPECT_EQ(consumer(0, 4), 4u);
  EXPECT_EQ(consumer(7, 3), 4u);
  EXPECT_EQ(consumer(7, 7), 0u);
  EXPECT_EQ(consumer(0, 5), std::nullopt);  // more than there are
  EXPECT_EQ(consumer(1, 0), std::nullopt);  // backwards
  EXPECT_EQ(consumer(0, 8), std::nullopt);  // no index
  EXPECT_EQ(consumer(0, ~0U), std::nullopt);
}

}  // namespace
}  // namespace vireo::sim::pvrdma
