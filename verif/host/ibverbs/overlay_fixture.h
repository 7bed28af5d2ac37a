// SPDX-License-Identifier: Apache-2.0
// A simulated NIC in loopback, whose verbs are the overlay's functions, linked into the test.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {

inline constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
inline constexpr int kIpv4Gid = 1;

inline bool IsReadable(int fd, int milliseconds) {
  pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waits, 1, milliseconds) == 1;
}
inline constexpr int kTimeoutMs = kTimeoutSeconds * 1000;

class Overlay : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pmem_ = (std::filesystem::temp_directory_path() / "vireo_pmem_XXXXXX").string();
    ASSERT_NE(mkdtemp(pmem_.data()), nullptr);
    simulator_ = std::make_unique<SimulatorProcess>(std::vector<std::string>{"--pmem", pmem_});
    setenv("VIREO_SOCKET", simulator_->socket(0).c_str(), 1);
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(simulator_->Stop(), 0);
    simulator_.reset();
    std::error_code error;
    std::filesystem::remove_all(pmem_, error);
  }

  void SetUp() override {
    ASSERT_TRUE(simulator_->is_ready());
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    ASSERT_EQ(count, 1);
    context_ = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    ASSERT_NE(context_, nullptr);
    pd_ = ibv_alloc_pd(context_);
    memory_ = static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    if (context_ == nullptr) return;
    EXPECT_EQ(ibv_dealloc_pd(pd_), 0);
    EXPECT_EQ(ibv_close_device(context_), 0);
    munmap(memory_, kBytes);
  }

  // Two RC queue pairs of this NIC, connected to each other.
  struct Pair {
    ibv_comp_channel* channel = nullptr;
    ibv_cq* cq = nullptr;
    std::array<ibv_qp*, 2> qp{};
    ibv_mr* mr = nullptr;
  };
  void Connect(ibv_qp* qp, uint32_t peer) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = kAll;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.grh.sgid_index = kIpv4Gid;
    ASSERT_EQ(ibv_query_gid(context_, 1, kIpv4Gid, &attributes.ah_attr.grh.dgid), 0);
    ASSERT_EQ(ibv_modify_qp(qp, &attributes,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              0);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 1;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                IBV_QP_MAX_QP_RD_ATOMIC),
              0);
  }
  ibv_qp_init_attr_ex QpAttributes(ibv_cq* cq, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64};
    init.qp_type = type;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd_;
    init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    if (type == IBV_QPT_RC) {
      init.send_ops_flags |=
          IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE;
    }
    if (type == IBV_QPT_UD) init.send_ops_flags = IBV_QP_EX_WITH_SEND;
    return init;
  }
  // `wc_flags` of its extended CQ.
  Pair MakePair(uint64_t wc_flags = 0) {
    Pair pair;
    pair.channel = ibv_create_comp_channel(context_);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    attributes.wc_flags = wc_flags;
    attributes.cq_context = this;
    attributes.channel = pair.channel;
    pair.cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context_, &attributes));
    for (ibv_qp*& qp : pair.qp) {
      ibv_qp_init_attr_ex init = QpAttributes(pair.cq);
      qp = ibv_create_qp_ex(context_, &init);
    }
    Connect(pair.qp[0], pair.qp[1]->qp_num);
    Connect(pair.qp[1], pair.qp[0]->qp_num);
    pair.mr = ibv_reg_mr(pd_, memory_, kBytes, kAll);
    return pair;
  }
  static void Destroy(const Pair& pair) {
    for (ibv_qp* qp : pair.qp) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(pair.cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(pair.channel), 0);
    EXPECT_EQ(ibv_dereg_mr(pair.mr), 0);
  }
  // An RDMA WRITE of the first `bytes` to the second half of memory, signaled.
  int Write(const Pair& pair, uint32_t bytes, uint32_t rkey, int flags = IBV_SEND_SIGNALED) {
    return WriteTo(pair, bytes, reinterpret_cast<uint64_t>(memory_ + kBytes / 2), rkey, flags);
  }
  int WriteTo(const Pair& pair, uint32_t bytes, uint64_t address, uint32_t rkey, int flags = IBV_SEND_SIGNALED) {
    ibv_sge sge{.addr = reinterpret_cast<uint64_t>(memory_), .length = bytes, .lkey = pair.mr->lkey};
    ibv_send_wr request{};
    request.wr_id = 77;
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = static_cast<unsigned int>(flags);
    request.wr.rdma = {.remote_addr = address, .rkey = rkey};
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(pair.qp[0], &request, &bad);
  }
  static ibv_wc Next(ibv_cq* cq) {
    ibv_wc wc{};
    for (int count = 0; count == 0;) {
      count = ibv_poll_cq(cq, 1, &wc);
      EXPECT_GE(count, 0);
      if (count < 0) break;
    }
    return wc;
  }

  static constexpr size_t kBytes = 65536;
  inline static std::unique_ptr<SimulatorProcess> simulator_;
  inline static std::string pmem_;  // its directory of persistent memory
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  uint8_t* memory_ = nullptr;
};

}  // namespace vireo::sim
