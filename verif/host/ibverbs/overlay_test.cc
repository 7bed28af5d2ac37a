// SPDX-License-Identifier: Apache-2.0
// The overlay's functions on a simulated NIC in loopback: error cases, events, and functions that the programs of
// programs_test do not use.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host/service/client.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/host/ibverbs/overlay_fixture.h"

namespace vireo::sim {
namespace {

TEST_F(Overlay, UnmappedMemoryIsRefused) {
  const auto error_of = [this](void* address, size_t bytes, int access) {
    errno = 0;
    ibv_mr* mr = ibv_reg_mr(pd_, address, bytes, access);
    if (mr == nullptr) return errno;
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  };
  EXPECT_EQ(error_of(memory_ + 100, 5000, kAll), 0);
  EXPECT_EQ(error_of(memory_, 0, kAll), EINVAL);
  EXPECT_EQ(error_of(memory_, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(error_of(memory_, 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  EXPECT_EQ(error_of(memory_, 4096, kAll | IBV_ACCESS_REMOTE_ATOMIC), 0);
  EXPECT_EQ(error_of(memory_, 4096, kAll | 1 << 18), EOPNOTSUPP);  // no right of verbs
  EXPECT_EQ(error_of(memory_, 4096, kAll | IBV_ACCESS_MW_BIND), 0);
  EXPECT_EQ(error_of(memory_, 4096, IBV_ACCESS_MW_BIND), 0);
  EXPECT_EQ(error_of(memory_, ~size_t{0}, kAll), EINVAL);
  ASSERT_EQ(mprotect(memory_ + kBytes / 2, 4096, PROT_READ), 0);
  EXPECT_EQ(error_of(memory_, kBytes, kAll), EFAULT);
  EXPECT_EQ(error_of(memory_, kBytes, IBV_ACCESS_REMOTE_READ), 0);
  ASSERT_EQ(munmap(memory_ + kBytes / 2, 4096), 0);
  EXPECT_EQ(error_of(memory_, kBytes, IBV_ACCESS_REMOTE_READ), EFAULT);
  EXPECT_EQ(error_of(memory_, kBytes, kAll | IBV_ACCESS_ON_DEMAND), 0);
}

TEST_F(Overlay, RegionMayHaveAnotherIova) {
  EXPECT_EQ(ibv_reg_mr_iova(pd_, memory_, 4096, 0x1001, kAll), nullptr);
  EXPECT_EQ(errno, EINVAL);
  Pair pair = MakePair();
  constexpr uint64_t kIova = uint64_t{1} << 40;
  ibv_mr* target = ibv_reg_mr_iova(pd_, memory_ + kBytes / 2, kBytes / 2, kIova, kAll);
  ASSERT_NE(target, nullptr);
  std::memset(memory_, 0x5a, 3000);
  ASSERT_EQ(WriteTo(pair, 3000, kIova + 9, target->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(memory_[kBytes / 2 + 8], 0);
  EXPECT_EQ(std::memcmp(memory_, memory_ + kBytes / 2 + 9, 3000), 0);
  EXPECT_EQ(memory_[kBytes / 2 + 9 + 3000], 0);
  EXPECT_EQ(ibv_dereg_mr(target), 0);
  Destroy(pair);
}

TEST_F(Overlay, FailedReregistrationKeepsTheRegion) {
  Pair pair = MakePair();
  const uint32_t rkey = pair.mr->rkey;
  constexpr int kTranslation = IBV_REREG_MR_CHANGE_TRANSLATION, kAccess = IBV_REREG_MR_CHANGE_ACCESS;
  constexpr int kPd = IBV_REREG_MR_CHANGE_PD;
  struct {
    int flags;
    ibv_pd* pd;
    void* address;
    size_t length;
    int access, expected, error;
  } const rows[] = {
      // Refused by libibverbs.
      {8, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kTranslation, nullptr, nullptr, 4096, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kTranslation, nullptr, memory_, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kTranslation, nullptr, memory_, 4096, kAll, IBV_REREG_MR_ERR_INPUT, EINVAL},
      {kPd, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_INPUT, EINVAL},
      // By the kernel.
      {0, nullptr, nullptr, 0, 0, IBV_REREG_MR_ERR_CMD, EINVAL},
      {kTranslation, nullptr, reinterpret_cast<void*>(4096), 4096, 0, IBV_REREG_MR_ERR_CMD, EFAULT},
      {kTranslation, nullptr, memory_, ~size_t{0}, 0, IBV_REREG_MR_ERR_CMD, EINVAL},
      {kAccess, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE, IBV_REREG_MR_ERR_CMD, EINVAL},
      {kAccess, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_ATOMIC, IBV_REREG_MR_ERR_CMD, EINVAL},
      {kAccess, nullptr, nullptr, 0, kAll | IBV_ACCESS_ON_DEMAND, IBV_REREG_MR_ERR_CMD, EOPNOTSUPP},
  };
  const ibv_mr before = *pair.mr;
  for (const auto& row : rows) {
    errno = 0;
    EXPECT_EQ(ibv_rereg_mr(pair.mr, row.flags, row.pd, row.address, row.length, row.access), row.expected);
    EXPECT_EQ(errno, row.error);
    EXPECT_EQ(std::memcmp(pair.mr, &before, sizeof before), 0);
    ASSERT_EQ(Write(pair, 100, rkey), 0);
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  }
  // A successful one removes the access right.
  ASSERT_EQ(ibv_rereg_mr(pair.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
  Destroy(pair);
}

// By the same keys, and the program may unmap the old memory.
TEST_F(Overlay, ReregistrationKeepsTheKeys) {
  Pair pair = MakePair();
  auto map = [] {
    return static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  uint8_t *const first = map(), *const second = map();
  ASSERT_TRUE(first != MAP_FAILED && second != MAP_FAILED);
  ibv_pd* other = ibv_alloc_pd(context_);
  ASSERT_NE(other, nullptr);
  ibv_mr* target = ibv_reg_mr(other, first, kBytes, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(target, nullptr);
  const uint32_t lkey = target->lkey, rkey = target->rkey;
  ASSERT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_PD, pd_, nullptr, 0, 0), 0);
  EXPECT_EQ(target->pd, pd_);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  ASSERT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll), 0);
  std::memset(memory_, 0x5a, 3000);
  ASSERT_EQ(WriteTo(pair, 3000, reinterpret_cast<uint64_t>(first) + 9, rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_, first + 9, 3000), 0);
  ASSERT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second + 100, 5000, 0), 0);
  ASSERT_EQ(munmap(first, kBytes), 0);
  EXPECT_EQ(target->addr, second + 100);
  EXPECT_EQ(target->length, 5000U);
  EXPECT_EQ(target->lkey, lkey);
  EXPECT_EQ(target->rkey, rkey);
  ASSERT_EQ(WriteTo(pair, 3000, reinterpret_cast<uint64_t>(second) + 2100, rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_, second + 2100, 3000), 0);
  ASSERT_EQ(WriteTo(pair, 3000, reinterpret_cast<uint64_t>(second) + 2101, rkey), 0);  // a byte behind its end
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
  // What the program itself may not write, the region may not either.
  ASSERT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_READ), 0);
  ASSERT_EQ(mprotect(second, kBytes, PROT_READ), 0);
  EXPECT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_dereg_mr(target), 0);
  EXPECT_EQ(munmap(second, kBytes), 0);
  Destroy(pair);
}

// Its addresses stay when only its rights change.
TEST_F(Overlay, ReregistrationKeepsAZeroBasedRegion) {
  Pair pair = MakePair();
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ibv_mr* target = ibv_reg_mr(pd_, memory_ + kBytes / 2, kBytes / 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
  ASSERT_NE(target, nullptr);
  ASSERT_EQ(ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll), 0);
  std::memset(memory_, 0x5a, 100);
  ASSERT_EQ(WriteTo(pair, 100, 9, target->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_, memory_ + kBytes / 2 + 9, 100), 0);
  EXPECT_EQ(ibv_dereg_mr(target), 0);
  Destroy(pair);
}

TEST_F(Overlay, CqParametersAreCheckedAndCqInUseIsBusy) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  for (const auto& [cqe, vector] :
       {std::pair{0, 0}, {-1, 0}, {device.max_cqe + 1, 0}, {8, -1}, {8, context_->num_comp_vectors}}) {
    EXPECT_EQ(ibv_create_cq(context_, cqe, nullptr, nullptr, vector), nullptr) << cqe << ", " << vector;
    EXPECT_EQ(errno, EINVAL);
  }
  ibv_cq_init_attr_ex init{};
  init.cqe = 8;
  init.wc_flags = IBV_WC_EX_WITH_CVLAN;
  EXPECT_EQ(ibv_create_cq_ex(context_, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  Pair pair = MakePair();
  EXPECT_EQ(ibv_destroy_cq(pair.cq), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(pair.channel), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd_), EBUSY);
  Destroy(pair);
}

// A CQ of one entry, which one completion fills.
class ResizedCq : public Overlay {
 protected:
  void SetUp() override {
    Overlay::SetUp();
    pair_.cq = ibv_create_cq(context_, 1, nullptr, nullptr, 0);
    for (ibv_qp*& qp : pair_.qp) {
      ibv_qp_init_attr_ex init = QpAttributes(pair_.cq);
      qp = ibv_create_qp_ex(context_, &init);
    }
    Connect(pair_.qp[0], pair_.qp[1]->qp_num);
    Connect(pair_.qp[1], pair_.qp[0]->qp_num);
    pair_.mr = ibv_reg_mr(pd_, memory_, kBytes, kAll);
  }
  void TearDown() override {
    for (ibv_qp* qp : pair_.qp) EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(pair_.cq), 0);
    EXPECT_EQ(ibv_dereg_mr(pair_.mr), 0);
    Overlay::TearDown();
  }
  // Writes bytes, and waits until all have come, or the CQ has failed.
  void WriteWithoutPolling(int count) {
    for (int i = 0; i < count; ++i) {
      volatile uint8_t* const target = memory_ + kBytes / 2;
      memory_[0] = static_cast<uint8_t>(*target + 1);
      ASSERT_EQ(Write(pair_, 1, pair_.mr->rkey), 0);
      while (*target != memory_[0] && !IsReadable(context_->async_fd, 0)) {
      }
    }
    ibv_port_attr port;
    EXPECT_EQ(ibv_query_port(context_, 1, &port), 0);  // a command takes longer than a CQE
  }
  Pair pair_;
};

TEST_F(ResizedCq, IsOverrunIfItIsNotResized) {
  WriteWithoutPolling(3);
  ibv_async_event event;
  ASSERT_TRUE(IsReadable(context_->async_fd, kTimeoutMs));
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  ibv_ack_async_event(&event);
}

TEST_F(ResizedCq, HoldsMoreCompletionsAndKeepsThoseInIt) {
  WriteWithoutPolling(1);
  ASSERT_EQ(ibv_resize_cq(pair_.cq, 5), 0);
  EXPECT_EQ(pair_.cq->cqe, 5);
  WriteWithoutPolling(3);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, 3), EINVAL);  // four are not polled
  EXPECT_EQ(pair_.cq->cqe, 5);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Next(pair_.cq).status, IBV_WC_SUCCESS);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(pair_.cq, 1, &wc), 0);
  EXPECT_FALSE(IsReadable(context_->async_fd, 0));

  // Smaller: the device gives the surplus back with the next completions.
  ASSERT_EQ(ibv_resize_cq(pair_.cq, 1), 0);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(Write(pair_, 1, pair_.mr->rkey), 0);
    EXPECT_EQ(Next(pair_.cq).status, IBV_WC_SUCCESS);
  }
  // Larger again, with the same slots and new ones.
  ASSERT_EQ(ibv_resize_cq(pair_.cq, 8), 0);
  WriteWithoutPolling(8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Next(pair_.cq).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(IsReadable(context_->async_fd, 0));
  ASSERT_EQ(ibv_resize_cq(pair_.cq, 1), 0);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(Write(pair_, 1, pair_.mr->rkey), 0);
    EXPECT_EQ(Next(pair_.cq).status, IBV_WC_SUCCESS);
  }
  WriteWithoutPolling(3);
  ibv_async_event event;
  ASSERT_TRUE(IsReadable(context_->async_fd, kTimeoutMs));
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  ibv_ack_async_event(&event);
}

TEST_F(ResizedCq, SizesThatItCannotHaveAreRefused) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, 0), EINVAL);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, -1), EINVAL);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, device.max_cqe + 1), EINVAL);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, device.max_cqe), ENOMEM);
  EXPECT_EQ(ibv_resize_cq(pair_.cq, 1024), 0);
}

// As many objects as the device says, and not one more.
TEST_F(Overlay, LimitsOfTheDeviceAreExact) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  const auto count = [](const auto& create, const auto& destroy) {
    int made = 0;
    std::vector<decltype(create())> all;
    for (errno = 0; auto* one = create(); ++made) all.push_back(one);
    EXPECT_EQ(errno, ENOMEM);
    for (auto* one : all) EXPECT_EQ(destroy(one), 0);
    return made;
  };
  EXPECT_EQ(count([this] { return ibv_alloc_pd(context_); }, ibv_dealloc_pd) + 1, device.max_pd);  // and pd_
  EXPECT_EQ(count([this] { return ibv_create_cq(context_, 1, nullptr, nullptr, 0); }, ibv_destroy_cq), device.max_cq);
  EXPECT_EQ(count([this] { return ibv_reg_mr(pd_, memory_, 4096, kAll); }, ibv_dereg_mr), device.max_mr);
}

TEST_F(Overlay, UnsupportedQpTypesAreRefused) {
  ibv_cq* cq = ibv_create_cq(context_, 8, nullptr, nullptr, 0);
  const auto error_of = [&](ibv_qp_type type, uint64_t operations, const ibv_qp_cap* cap = nullptr) {
    ibv_qp_init_attr_ex init = QpAttributes(cq, type);
    init.send_ops_flags = operations;
    if (cap != nullptr) init.cap = *cap;
    errno = 0;
    ibv_qp* qp = ibv_create_qp_ex(context_, &init);
    if (qp == nullptr) return errno;
    EXPECT_NE(ibv_qp_to_qp_ex(qp), nullptr);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    return 0;
  };
  EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_READ), 0);
  EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE), 0);
  EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
  EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD), 0);
  EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD), EOPNOTSUPP);
  EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ), EOPNOTSUPP);
  EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV), 0);
  EXPECT_EQ(error_of(IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV), EOPNOTSUPP);
  EXPECT_EQ(error_of(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), EOPNOTSUPP);
  EXPECT_EQ(error_of(IBV_QPT_RAW_PACKET, IBV_QP_EX_WITH_SEND), EOPNOTSUPP);
  constexpr ibv_qp_cap kTooMuch = {
      .max_send_wr = 1u << 20, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  EXPECT_EQ(error_of(IBV_QPT_RC, IBV_QP_EX_WITH_SEND, &kTooMuch), EINVAL);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_alloc_mw(pd_, static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Overlay, SharedReceiveQueueHasALimitAndCannotBeDestroyedInUse) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_GT(device.max_srq, 0);
  EXPECT_GT(device.max_srq_wr, 0);
  EXPECT_GT(device.max_srq_sge, 0);
  ibv_srq_init_attr wanted{};
  EXPECT_EQ(ibv_create_srq(pd_, &wanted), nullptr);  // without receives
  EXPECT_EQ(errno, EINVAL);
  wanted.attr = {.max_wr = 16, .max_sge = 2, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(pd_, &wanted);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(wanted.attr.max_wr, 16U);
  ibv_srq_attr attributes{.max_wr = 0, .max_sge = 0, .srq_limit = 17};
  EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT), EINVAL);
  ibv_cq* cq = ibv_create_cq(context_, 10, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.srq = srq;
  init.cap = {.max_send_wr = 1, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd_, &init);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->srq, srq);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  // Receives are posted to the queue only, up to its size.
  ibv_recv_wr request{};
  ibv_recv_wr* bad = nullptr;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
  EXPECT_EQ(ibv_post_recv(qp, &request, &bad), EINVAL);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(ibv_post_srq_recv(srq, &request, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(srq, &request, &bad), ENOMEM);
  EXPECT_EQ(bad, &request);
  // Sixteen are left: not fewer than 16.
  attributes.srq_limit = 16;
  EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(ibv_query_srq(srq, &attributes), 0);
  EXPECT_EQ(attributes.max_wr, 16U);
  EXPECT_EQ(attributes.max_sge, 2U);
  EXPECT_EQ(attributes.srq_limit, 16U);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  // None is left.
  srq = ibv_create_srq(pd_, &wanted);
  ASSERT_NE(srq, nullptr);
  attributes.srq_limit = 1;
  EXPECT_EQ(ibv_modify_srq(srq, &attributes, IBV_SRQ_LIMIT), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_query_srq(srq, &attributes), 0);
  EXPECT_EQ(attributes.srq_limit, 0U);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(Overlay, SharedReceiveQueueIsResizedWithReceivesInIt) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_NE(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0U);
  ibv_srq_init_attr wanted{};
  wanted.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(pd_, &wanted);
  ASSERT_NE(srq, nullptr);
  ibv_cq* cq = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
  std::array<ibv_qp*, 2> qp{};
  for (size_t i = 0; i < 2; ++i) {
    ibv_qp_init_attr_ex init = QpAttributes(cq);
    init.srq = i == 1 ? srq : nullptr;
    qp.at(i) = ibv_create_qp_ex(context_, &init);
    ASSERT_NE(qp.at(i), nullptr);
  }
  Connect(qp[0], qp[1]->qp_num);
  Connect(qp[1], qp[0]->qp_num);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad_receive = nullptr;
  const auto post = [&](uint64_t wr_id) {
    receive.wr_id = wr_id;
    return ibv_post_srq_recv(srq, &receive, &bad_receive);
  };
  const auto resize = [srq](uint32_t max_wr, uint32_t limit, int mask) {
    ibv_srq_attr attributes{.max_wr = max_wr, .max_sge = 0, .srq_limit = limit};
    return ibv_modify_srq(srq, &attributes, mask);
  };
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(post(i), 0);
  EXPECT_EQ(post(4), ENOMEM);
  // More: those that are there stay.
  EXPECT_EQ(resize(6, 0, IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(post(4), 0);
  EXPECT_EQ(post(5), 0);
  EXPECT_EQ(post(6), ENOMEM);
  ibv_srq_attr now{};
  EXPECT_EQ(ibv_query_srq(srq, &now), 0);
  EXPECT_EQ(now.max_wr, 6U);
  // Not fewer than are outstanding, none, or more than the device has.
  EXPECT_EQ(resize(5, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(resize(0, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(resize(static_cast<uint32_t>(device.max_srq_wr) + 1, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(resize(1025, 0, IBV_SRQ_MAX_WR), ENOMEM);  // the room of a small queue
  EXPECT_EQ(resize(1024, 0, IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(resize(6, 0, IBV_SRQ_MAX_WR), 0);
  // The limit is at most the size, the new one if both change.
  EXPECT_EQ(resize(0, 7, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(resize(7, 8, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(resize(7, 6, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(ibv_query_srq(srq, &now), 0);
  EXPECT_EQ(now.max_wr, 7U);
  EXPECT_EQ(now.srq_limit, 6U);
  // Messages take them in the order of posting.
  ibv_send_wr send{};
  ibv_send_wr* bad_send = nullptr;
  send.opcode = IBV_WR_SEND;
  for (uint64_t i = 0; i < 6; ++i) {
    ASSERT_EQ(ibv_post_send(qp[0], &send, &bad_send), 0);
    const ibv_wc wc = Next(cq);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, i);
  }
  // Fewer, now that they are free.
  EXPECT_EQ(resize(2, 0, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(post(0), 0);
  EXPECT_EQ(post(1), 0);
  EXPECT_EQ(post(2), ENOMEM);
  for (ibv_qp* one : qp) EXPECT_EQ(ibv_destroy_qp(one), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

// As other adapters report it in RoCE, and UCX needs it: UDP with IPv6, with IPv4.
TEST_F(Overlay, ServiceLevelOfADatagramTellsItsNetworkHeader) {
  ibv_cq* cq = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr_ex init = QpAttributes(cq, IBV_QPT_UD);
  ibv_qp* qp = ibv_create_qp_ex(context_, &init);
  ASSERT_NE(qp, nullptr);
  constexpr uint32_t kQkey = 0x1111;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = 1;
  state.qkey = kQkey;
  ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
  state.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
  state.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  ibv_mr* mr = ibv_reg_mr(pd_, memory_, kBytes, kAll);
  // One whose addresses are not the program's, and none with the header in one piece.
  ibv_mr* moved = ibv_reg_mr_iova(pd_, memory_, 4096, uint64_t{1} << 46, kAll);
  ASSERT_NE(moved, nullptr);
  const auto at = reinterpret_cast<uint64_t>(memory_);
  struct Case {
    std::vector<ibv_sge> elements;
    uint8_t gid;
    uint8_t expected;
  };
  for (const Case& one : {Case{{{at, 200, mr->lkey}}, 0, 9}, Case{{{at, 200, mr->lkey}}, kIpv4Gid, 10},
                          Case{{{at, 39, mr->lkey}, {at + 100, 200, mr->lkey}}, kIpv4Gid, 0},
                          Case{{{uint64_t{1} << 46, 200, moved->lkey}}, kIpv4Gid, 0},
                          Case{{{at, 40, mr->lkey}, {at + 100, 200, mr->lkey}}, kIpv4Gid, 10}}) {
    ibv_ah_attr path{};
    path.is_global = 1;
    path.port_num = 1;
    path.grh.sgid_index = one.gid;
    ASSERT_EQ(ibv_query_gid(context_, 1, one.gid, &path.grh.dgid), 0);
    ibv_ah* ah = ibv_create_ah(pd_, &path);
    ASSERT_NE(ah, nullptr);
    std::vector<ibv_sge> elements = one.elements;
    ibv_recv_wr receive{};
    receive.wr_id = 2;
    receive.sg_list = elements.data();
    receive.num_sge = static_cast<int>(elements.size());
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(qp, &receive, &bad_receive), 0);
    ibv_send_wr send{};
    send.wr_id = 1;
    send.opcode = IBV_WR_SEND;
    send.wr.ud = {.ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = kQkey};
    send.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad_send = nullptr;
    ASSERT_EQ(ibv_post_send(qp, &send, &bad_send), 0);
    for (int i = 0; i < 2; ++i) {
      const ibv_wc wc = Next(cq);
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_EQ(wc.sl, wc.wr_id == 2 ? one.expected : 0) << unsigned{one.gid};
    }
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
  }
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dereg_mr(moved), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(Overlay, UnusedGidsAreZerosOrNoData) {
  ibv_port_attr port;
  ASSERT_EQ(ibv_query_port(context_, 1, &port), 0);
  EXPECT_NE(ibv_query_port(context_, 2, &port), 0);
  ibv_gid gid;
  for (int i = 0; i < port.gid_tbl_len; ++i) EXPECT_EQ(ibv_query_gid(context_, 1, i, &gid), 0) << i;
  EXPECT_EQ(gid.global.interface_id, 0U);
  EXPECT_NE(ibv_query_gid(context_, 1, port.gid_tbl_len, &gid), 0);
  EXPECT_NE(ibv_query_gid(context_, 1, -1, &gid), 0);
  ibv_gid_entry entry;
  EXPECT_EQ(ibv_query_gid_ex(context_, 1, 5, &entry, 0), ENODATA);
  EXPECT_EQ(ibv_query_gid_ex(context_, 1, kIpv4Gid, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<uint32_t>(IBV_GID_TYPE_ROCE_V2));
  std::array<ibv_gid_entry, 4> table;
  EXPECT_EQ(ibv_query_gid_table(context_, table.data(), table.size(), 0), 2);
  EXPECT_EQ(ibv_query_gid_table(context_, table.data(), 1, 0), -EINVAL);
  __be16 pkey = 0;
  EXPECT_EQ(ibv_query_pkey(context_, 1, 0, &pkey), 0);
  EXPECT_EQ(ibv_get_pkey_index(context_, 1, pkey), 0);
  EXPECT_EQ(ibv_query_pkey(context_, 1, 1, &pkey), -1);
}

// Cached, because otherwise reading the table takes a command per entry.
TEST_F(Overlay, GidTableLengthIsCached) {
  SimulatorProcess other;
  ASSERT_TRUE(other.is_ready());
  setenv("VIREO_SOCKET", other.socket(0).c_str(), 1);
  ibv_device** list = ibv_get_device_list(nullptr);
  setenv("VIREO_SOCKET", simulator_->socket(0).c_str(), 1);
  ASSERT_NE(list[0], nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(context, nullptr);
  ibv_port_attr port;
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  ibv_gid gid;
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
  EXPECT_EQ(other.Stop(), 0);
  EXPECT_NE(ibv_query_port(context, 1, &port), 0);
  for (int i = 0; i < port.gid_tbl_len; ++i) EXPECT_EQ(ibv_query_gid(context, 1, i, &gid), 0) << i;
  EXPECT_NE(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST_F(Overlay, ChannelIsReadableWhileAnEventIsPending) {
  Pair pair = MakePair();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(fcntl(pair.channel->fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_cq_event(pair.channel, &cq, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
  EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs));
  ASSERT_EQ(ibv_get_cq_event(pair.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, pair.cq);
  EXPECT_EQ(cq_context, this);
  EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
  EXPECT_EQ(Next(pair.cq).wr_id, 77U);
  ibv_ack_cq_events(pair.cq, 1);
  // Without arming again, there is no event.
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
  // An unread event does not block the destruction of its CQ.
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs));
  Destroy(pair);
}

// Raw ones between readings of the device's clock, and as wall clock between those of the host's, in order.
TEST_F(Overlay, CompletionsHaveTheDevicesTimestamps) {
  Pair pair = MakePair(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
  ASSERT_NE(pair.cq, nullptr);
  auto* const cq_ex = reinterpret_cast<ibv_cq_ex*>(pair.cq);
  const auto raw = [this] {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    EXPECT_EQ(ibv_query_rt_values_ex(context_, &values), 0);
    EXPECT_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
    EXPECT_EQ(values.raw_clock.tv_sec, 0);
    return static_cast<uint64_t>(values.raw_clock.tv_nsec);
  };
  const auto wall = [] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  };
  constexpr unsigned kWrites = 4;  // as the send queue holds
  uint64_t last = 0, last_wall = 0;
  for (int round = 0; round < 3; ++round) {
    const uint64_t wall_before_reading = wall();
    const uint64_t before = raw(), wall_before = wall();
    const uint64_t slack = wall_before - wall_before_reading;  // what a reading of the clocks takes, and more
    for (unsigned i = 0; i < kWrites; ++i) ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
    for (unsigned taken = 0; taken < kWrites;) {
      ibv_poll_cq_attr attributes{};
      int error = ibv_start_poll(cq_ex, &attributes);
      if (error == ENOENT) continue;
      ASSERT_EQ(error, 0);
      for (; error == 0; error = ibv_next_poll(cq_ex)) {
        ++taken;
        EXPECT_EQ(cq_ex->status, IBV_WC_SUCCESS);
        const uint64_t time = ibv_wc_read_completion_ts(cq_ex);
        const uint64_t wall_time = ibv_wc_read_completion_wallclock_ns(cq_ex);
        EXPECT_GT(time, std::max(before, last));
        EXPECT_GE(wall_time, last_wall);
        EXPECT_GE(wall_time + 10 * slack + 10'000'000, wall_before);
        EXPECT_LE(wall_time, wall());
        last = time;
        last_wall = wall_time;
      }
      EXPECT_EQ(error, ENOENT);
      ibv_end_poll(cq_ex);
    }
    EXPECT_LT(last, raw());
  }
  // The other interface takes them, too.
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  Destroy(pair);
}

// Like perftest -e: takes an event, arms, polls once for fewer than may be there, and sleeps. Others poll first, then
// arm. In both orders, and with both polling interfaces, all completions must be found without extra polls.
TEST_F(Overlay, EventIsRaisedForCompletionsLeftByAPoll) {
  constexpr int kWrites = 4;  // as the send queue holds
  Pair pair = MakePair();
  auto* const cq_ex = reinterpret_cast<ibv_cq_ex*>(pair.cq);
  const auto take_event = [&] {
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(pair.channel, &cq, &cq_context), 0);
    ibv_ack_cq_events(cq, 1);
  };
  const auto take_one = [&](bool by_ex) {
    ibv_wc wc;
    if (!by_ex) return ibv_poll_cq(pair.cq, 1, &wc);
    ibv_poll_cq_attr attributes{};
    if (ibv_start_poll(cq_ex, &attributes) != 0) return 0;
    ibv_end_poll(cq_ex);
    return 1;
  };
  for (const bool by_ex : {false, true}) {
    for (const bool arms_first : {true, false}) {
      SCOPED_TRACE(testing::Message() << (by_ex ? "start_poll" : "poll_cq") << ", arms first: " << arms_first);
      ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
      memory_[0] = static_cast<uint8_t>(memory_[kBytes / 2] + 1);
      volatile uint8_t* const last = &memory_[kBytes / 2];
      for (int i = 0; i < kWrites; ++i) ASSERT_EQ(Write(pair, i + 1 == kWrites ? 1 : 0, pair.mr->rkey), 0);
      while (*last != memory_[0]) usleep(1000);
      usleep(50'000);  // all completions arrive; otherwise the test is weaker, but does not fail
      int taken = 0;
      while (taken < kWrites && !HasFailure()) {
        ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs)) << "after " << taken;
        take_event();
        if (arms_first) {
          ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
        }
        taken += take_one(by_ex);
        if (!arms_first) {
          ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
        }
      }
      EXPECT_EQ(take_one(by_ex), 0);
    }
  }
  Destroy(pair);
}

// A completion that was polled after arming, or without arming, raises no event (ib_read_lat would exit).
TEST_F(Overlay, NoEventIfAllWasPolled) {
  Pair pair = MakePair();
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
    ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs));
    ASSERT_EQ(ibv_get_cq_event(pair.channel, &cq, &cq_context), 0);
    ibv_ack_cq_events(cq, 1);
    ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);  // pending, not polled yet
    EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
    ibv_wc wc;
    EXPECT_EQ(ibv_poll_cq(pair.cq, 1, &wc), 1);
    EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
    EXPECT_EQ(ibv_poll_cq(pair.cq, 1, &wc), 0);
    EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
  }
  Destroy(pair);
}

// Which of the completions left by a poll were solicited is unknown: after arming for solicited ones, only new ones
// raise an event.
TEST_F(Overlay, NoEventForLeftCompletionsIfArmedForSolicitedOnly) {
  Pair pair = MakePair();
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
  memory_[0] = 0x77;
  volatile uint8_t* const last = &memory_[kBytes / 2];
  for (const uint32_t bytes : {0, 0, 1}) ASSERT_EQ(Write(pair, bytes, pair.mr->rkey), 0);
  while (*last != memory_[0]) usleep(1000);
  ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs));
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(pair.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
  ASSERT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 1), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(IsReadable(pair.channel->fd, 0));
  Destroy(pair);
}

// Values wider than their fields: the low bits count, as with the kernel's providers.
TEST_F(Overlay, AttributesAreTakenModuloTheirFields) {
  Pair pair = MakePair();
  ibv_qp_attr attributes{};
  for (const auto& [given, taken] : {std::pair<uint8_t, uint8_t>{32, 0}, {255, 31}, {31, 31}, {12, 12}}) {
    attributes.qp_state = IBV_QPS_RTS;
    attributes.min_rnr_timer = given;
    ASSERT_EQ(ibv_modify_qp(pair.qp[0], &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), 0) << int{given};
    ibv_qp_init_attr init;
    ASSERT_EQ(ibv_query_qp(pair.qp[0], &attributes, IBV_QP_MIN_RNR_TIMER, &init), 0);
    EXPECT_EQ(attributes.min_rnr_timer, taken) << int{given};
  }
  // Out of range, for every provider.
  attributes.qp_state = IBV_QPS_RTS;
  attributes.min_rnr_timer = 12;
  attributes.qp_access_flags = kAll | IBV_ACCESS_MW_BIND;
  EXPECT_EQ(ibv_modify_qp(pair.qp[0], &attributes, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
  attributes.retry_cnt = 8;
  EXPECT_EQ(ibv_modify_qp(pair.qp[0], &attributes, IBV_QP_STATE | IBV_QP_RETRY_CNT), EINVAL);
  Destroy(pair);
}

// A failed WRITE makes events; a program that does not read them destroys the queue pairs.
TEST_F(Overlay, DestructionTakesUnreadEventsAway) {
  ibv_async_event event;
  const auto fail = [this](const Pair& pair) {
    ASSERT_EQ(Write(pair, 100, pair.mr->rkey ^ 0x55), 0);
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
    ASSERT_TRUE(IsReadable(context_->async_fd, kTimeoutMs));
  };
  ASSERT_FALSE(IsReadable(context_->async_fd, 0));
  Pair pair = MakePair();
  fail(pair);
  Destroy(pair);
  EXPECT_FALSE(IsReadable(context_->async_fd, 0));
  // Events of one object remain when another one is destroyed. Both QPs are in error; the responder's has an event.
  Pair other = MakePair();
  fail(other);
  EXPECT_EQ(ibv_destroy_qp(other.qp[0]), 0);
  ASSERT_TRUE(IsReadable(context_->async_fd, 0));
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.element.qp, other.qp[1]);
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_destroy_qp(other.qp[1]), 0);
  EXPECT_FALSE(IsReadable(context_->async_fd, 0));
  // Later objects, with the same numbers: no event.
  Pair later = MakePair();
  EXPECT_FALSE(IsReadable(context_->async_fd, 50));
  const int flags = fcntl(context_->async_fd, F_GETFL);
  ASSERT_EQ(fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_async_event(context_, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  Destroy(later);
  EXPECT_EQ(ibv_destroy_cq(other.cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(other.channel), 0);
  EXPECT_EQ(ibv_dereg_mr(other.mr), 0);
}

TEST_F(Overlay, ResetDiscardsCompletions) {
  Pair pair = MakePair();
  ASSERT_EQ(ibv_req_notify_cq(pair.cq, 0), 0);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  ASSERT_TRUE(IsReadable(pair.channel->fd, kTimeoutMs));  // the completion has arrived
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(pair.qp[0], &attributes, IBV_QP_STATE), 0);
  ASSERT_EQ(ibv_modify_qp(pair.qp[1], &attributes, IBV_QP_STATE), 0);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(pair.cq, 1, &wc), 0);
  EXPECT_EQ(Write(pair, 100, pair.mr->rkey), EINVAL);
  // Both work again after reconnecting.
  Connect(pair.qp[0], pair.qp[1]->qp_num);
  Connect(pair.qp[1], pair.qp[0]->qp_num);
  std::memset(memory_, 0x17, 100);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(memory_[kBytes / 2 + 99], 0x17);
  Destroy(pair);
}

TEST_F(Overlay, InvalidWorkRequestsAreRefused) {
  Pair pair = MakePair();
  std::array<ibv_sge, 3> sges{};
  std::array<ibv_send_wr, 2> requests{};
  requests[0].opcode = requests[1].opcode = IBV_WR_RDMA_WRITE;
  requests[0].sg_list = requests[1].sg_list = sges.data();
  requests[0].send_flags = IBV_SEND_SIGNALED;
  requests[0].next = &requests[1];
  const auto second = [&] {
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(pair.qp[0], requests.data(), &bad);
    EXPECT_EQ(bad, &requests[1]);
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);  // of the first one
    return error;
  };
  requests[1].num_sge = 3;
  EXPECT_EQ(second(), EINVAL);
  requests[1].num_sge = 1;
  requests[1].opcode = IBV_WR_TSO;
  EXPECT_EQ(second(), EOPNOTSUPP);
  requests[1].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  requests[1].send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(second(), EINVAL);
  requests[1].opcode = IBV_WR_SEND;
  requests[1].send_flags = IBV_SEND_INLINE;
  sges[0] = {.addr = reinterpret_cast<uint64_t>(memory_), .length = 65, .lkey = 0};
  EXPECT_EQ(second(), EINVAL);
  std::array<ibv_recv_wr, 5> receives{};
  for (size_t i = 0; i + 1 < receives.size(); ++i) receives[i].next = &receives[i + 1];
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(pair.qp[0], receives.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &receives[4]);
  Destroy(pair);
}

TEST_F(Overlay, WrApiPostsAllOrNothing) {
  Pair pair = MakePair();
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(pair.qp[0]);
  ASSERT_NE(qp, nullptr);
  const auto add = [&](size_t inline_bytes) {
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, pair.mr->rkey, reinterpret_cast<uint64_t>(memory_ + kBytes / 2));
    ibv_wr_set_inline_data(qp, memory_, inline_bytes);
  };
  ibv_wr_start(qp);
  add(8);
  add(65);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  ibv_wr_start(qp);
  for (int i = 0; i < 5; ++i) add(8);
  EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
  ibv_wr_start(qp);
  add(8);
  ibv_wr_abort(qp);
  memory_[0] = 0x31;
  qp->wr_id = 5;
  ibv_wr_start(qp);
  add(1);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(Next(pair.cq).wr_id, 5U);
  EXPECT_EQ(memory_[kBytes / 2], 0x31);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(pair.cq, 1, &wc), 0);
  Destroy(pair);
}

// By both ways to post, with all operands; the right belongs to the region and to the queue pair.
TEST_F(Overlay, AtomicOperations) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_EQ(device.atomic_cap, IBV_ATOMIC_HCA);
  EXPECT_GE(device.max_qp_rd_atom, 1);
  Pair pair = MakePair();
  ibv_mr* counter = ibv_reg_mr(pd_, memory_ + kBytes / 2, 4096, kAll | IBV_ACCESS_REMOTE_ATOMIC);
  ASSERT_NE(counter, nullptr);
  uint64_t value = 0xffff'ffff'ffff'fff0;
  std::memcpy(memory_ + kBytes / 2, &value, sizeof value);
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(memory_), .length = 8, .lkey = pair.mr->lkey};
  const auto returned = [&] {
    std::memcpy(&value, memory_, sizeof value);
    return value;
  };
  const auto there = [&] {
    std::memcpy(&value, memory_ + kBytes / 2, sizeof value);
    return value;
  };
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic = {.remote_addr = reinterpret_cast<uint64_t>(memory_ + kBytes / 2),
                       .compare_add = 0x20,
                       .swap = 0,
                       .rkey = counter->rkey};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(pair.qp[0], &request, &bad), 0);
  ibv_wc wc = Next(pair.cq);
  // The queue pairs lack the right.
  EXPECT_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(there(), 0xffff'ffff'ffff'fff0U);
  EXPECT_EQ(ibv_dereg_mr(counter), 0);
  Destroy(pair);

  pair = MakePair();
  counter = ibv_reg_mr(pd_, memory_ + kBytes / 2, 4096, kAll | IBV_ACCESS_REMOTE_ATOMIC);
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = kAll | IBV_ACCESS_REMOTE_ATOMIC;
  ASSERT_EQ(ibv_modify_qp(pair.qp[1], &attributes, IBV_QP_ACCESS_FLAGS), 0);
  ibv_qp_init_attr init;
  ASSERT_EQ(ibv_query_qp(pair.qp[1], &attributes, IBV_QP_ACCESS_FLAGS, &init), 0);
  EXPECT_EQ(attributes.qp_access_flags, static_cast<unsigned int>(kAll | IBV_ACCESS_REMOTE_ATOMIC));
  request.wr.atomic.rkey = counter->rkey;
  sge.lkey = pair.mr->lkey;
  ASSERT_EQ(ibv_post_send(pair.qp[0], &request, &bad), 0);
  wc = Next(pair.cq);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(wc.byte_len, 8U);
  EXPECT_EQ(returned(), 0xffff'ffff'ffff'fff0U);
  EXPECT_EQ(there(), 0x10U);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(pair.qp[0]);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(qp);
  ibv_wr_atomic_cmp_swp(qp, counter->rkey, request.wr.atomic.remote_addr, 0x10, 0x1234'5678'9abc'def0);
  ibv_wr_set_sge(qp, sge.lkey, sge.addr, 8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  wc = Next(pair.cq);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(returned(), 0x10U);
  EXPECT_EQ(there(), 0x1234'5678'9abc'def0U);
  ibv_wr_start(qp);
  ibv_wr_atomic_fetch_add(qp, counter->rkey, request.wr.atomic.remote_addr, 1);
  ibv_wr_set_sge(qp, sge.lkey, sge.addr, 8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(Next(pair.cq).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(there(), 0x1234'5678'9abc'def1U);
  ibv_wr_start(qp);
  ibv_wr_atomic_fetch_add(qp, counter->rkey, request.wr.atomic.remote_addr, 1);
  ibv_wr_set_inline_data(qp, memory_, 8);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(counter), 0);
  Destroy(pair);
}

// The value is a program's bytes. Only ibv_wr_* has it: an ibv_send_wr has no place for them.
TEST_F(Overlay, AtomicWrite) {
  Pair pair = MakePair();
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(pair.qp[0]);
  const auto to = reinterpret_cast<uint64_t>(memory_ + kBytes / 2);
  const std::array<uint8_t, 8> value = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  const std::array<uint8_t, 8> next = {1, 2, 3, 4, 5, 6, 7, 8};
  qp->wr_flags = IBV_SEND_SIGNALED;
  qp->wr_id = 7;
  ibv_wr_start(qp);
  ibv_wr_atomic_write(qp, pair.mr->rkey, to, value.data());
  ibv_wr_atomic_write(qp, pair.mr->rkey, to + 8, next.data());
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = Next(pair.cq);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(wc.wr_id, 7U);
  }
  EXPECT_EQ(std::memcmp(memory_ + kBytes / 2, value.data(), value.size()), 0);
  EXPECT_EQ(std::memcmp(memory_ + kBytes / 2 + 8, next.data(), next.size()), 0);
  ibv_wr_start(qp);
  ibv_wr_atomic_write(qp, pair.mr->rkey, to, next.data());
  ibv_wr_set_inline_data(qp, memory_, 8);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
  ibv_send_wr request{};
  request.opcode = IBV_WR_ATOMIC_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {.remote_addr = to, .rkey = pair.mr->rkey};
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair.qp[0], &request, &bad), EOPNOTSUPP);
  // An address that is not aligned is the peer's to refuse.
  ibv_wr_start(qp);
  ibv_wr_atomic_write(qp, pair.mr->rkey, to + 4, next.data());
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(std::memcmp(memory_ + kBytes / 2, value.data(), value.size()), 0);
  Destroy(pair);
}

// What is mapped shared from a file in the NIC's directory may be flushed for persistence, and nothing else.
TEST_F(Overlay, FilesInTheDirectoryArePersistentMemory) {
  constexpr int kGlobal = 0x100, kPersistent = 0x200;  // IBV_ACCESS_FLUSH_*, which the installed libibverbs has not
  constexpr size_t kPage = 4096;
  const auto open_file = [](const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(file, 2 * kPage), 0);
    return file;
  };
  const auto map = [](int file, int kind) {
    void* const memory = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, kind, file, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<uint8_t*>(memory);
  };
  const auto error_of = [this](void* address, size_t bytes) {
    errno = 0;
    ibv_mr* mr = ibv_reg_mr(pd_, address, bytes, kAll | kPersistent);
    if (mr == nullptr) return errno;
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  };
  const int file = open_file(pmem_ + "/file"), other = open_file(pmem_ + "_beside");
  uint8_t* const shared = map(file, MAP_SHARED);
  uint8_t* const copy = map(file, MAP_PRIVATE);
  uint8_t* const beside = map(other, MAP_SHARED);
  EXPECT_EQ(error_of(shared, 2 * kPage), 0);
  EXPECT_EQ(error_of(shared + 100, kPage), 0);
  EXPECT_EQ(error_of(copy, kPage), EINVAL) << "what is written does not come to the file";
  EXPECT_EQ(error_of(beside, kPage), EINVAL) << "a directory whose name begins alike";
  EXPECT_EQ(error_of(memory_, kPage), EINVAL);
  ASSERT_NE(mmap(beside + kPage, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0), MAP_FAILED);
  EXPECT_EQ(error_of(beside, 2 * kPage), EINVAL) << "the first page is not";
  EXPECT_EQ(error_of(beside + kPage, kPage), 0);
  // The right may come later.
  ibv_mr* mr = ibv_reg_mr(pd_, shared, 2 * kPage, kAll);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kAll | kPersistent), 0);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory_, kPage, 0), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);

  // A peer in C++ flushes what it has stored; for global visibility there is no right.
  auto client = service::SharedDevice::Connect(simulator_->socket(0));
  ASSERT_TRUE(client.ok()) << host::ToString(client.error());
  const service::SharedDevice::Info info = (*client)->info();
  auto device = verbs::Device::Attach(std::move(client).value());
  ASSERT_TRUE(device.ok()) << host::ToString(device.error());
  auto pd = (*device)->CreatePd();
  auto cq = (*device)->CreateCq(16);
  ASSERT_TRUE(pd.ok() && cq.ok());
  auto qp = (*pd)->CreateQp({.send_cq = *cq, .recv_cq = *cq});
  ASSERT_TRUE(qp.ok()) << host::ToString(qp.error());
  Pair pair = MakePair();
  ibv_qp_init_attr_ex init = QpAttributes(pair.cq);
  ibv_qp* const responder = ibv_create_qp_ex(context_, &init);
  ASSERT_NE(responder, nullptr);
  Connect(responder, (*qp)->qpn());
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = kAll | kGlobal | kPersistent;
  ASSERT_EQ(ibv_modify_qp(responder, &attributes, IBV_QP_ACCESS_FLAGS), 0);
  verbs::QueuePair::Connection connection{.dest_qpn = responder->qp_num};
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context_, 1, kIpv4Gid, &gid), 0);
  std::memcpy(connection.path.grh.dgid, gid.raw, sizeof gid.raw);
  connection.path.grh.sgid_index = kIpv4Gid;
  connection.path.grh.hop_limit = 64;
  std::memcpy(connection.path.dmac, info.mac, sizeof connection.path.dmac);
  ASSERT_TRUE((*qp)->Connect(connection).ok());
  const auto post = [&](uint64_t wr_id, spec::IbWrOpcode opcode, uint8_t placement) {
    const verbs::Status posted = (*qp)->PostSend({.wr_id = wr_id,
                                                  .opcode = opcode,
                                                  .remote_addr = reinterpret_cast<uint64_t>(mr->addr),
                                                  .rkey = mr->rkey,
                                                  .compare_add = 0x1122'3344'5566'7788,
                                                  .flush_length = kPage,
                                                  .flush_placement = placement});
    ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
  };
  post(1, spec::IbWrOpcode::kAtomicWrite, 0);
  post(2, spec::IbWrOpcode::kFlush, spec::FlushPlacement::kPersistence);
  post(3, spec::IbWrOpcode::kFlush, spec::FlushPlacement::kGlobalVisibility);
  for (uint64_t i = 1; i <= 3; ++i) {
    std::array<spec::RdmaCqReq, 1> completion;
    host::Result<size_t> count = size_t{0};
    do count = (*cq)->Poll(completion);
    while (count.ok() && *count == 0);
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(completion[0].wr_id, i);
    EXPECT_EQ(completion[0].status, i == 3 ? spec::IbWcStatus::kRemAccessErr : spec::IbWcStatus::kSuccess);
  }
  uint64_t stored = 0;
  ASSERT_EQ(pread(file, &stored, sizeof stored, 0), static_cast<ssize_t>(sizeof stored));
  EXPECT_EQ(stored, 0x1122'3344'5566'7788U);
  EXPECT_EQ(ibv_destroy_qp(responder), 0);
  Destroy(pair);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  for (uint8_t* memory : {shared, copy, beside}) munmap(memory, 2 * kPage);
  for (const int one : {file, other}) close(one);
  unlink((pmem_ + "_beside").c_str());
}

// Of each type: bound by its own call or work request, used by the peer, ended; a region with one is busy.
TEST_F(Overlay, MemoryWindows) {
  ibv_device_attr device;
  ASSERT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_GT(device.max_mw, 0);
  constexpr unsigned int kCaps = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  EXPECT_EQ(device.device_cap_flags & kCaps, kCaps);
  for (const ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
    SCOPED_TRACE(static_cast<int>(type));
    Pair pair = MakePair();
    ibv_mr* region = ibv_reg_mr(pd_, memory_ + kBytes / 2, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    ibv_mw* window = ibv_alloc_mw(pd_, type);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    const auto to = reinterpret_cast<uint64_t>(memory_ + kBytes / 2 + 100);
    const ibv_mw_bind_info info{.mr = region, .addr = to, .length = 4096, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    ibv_mw_bind bind{.wr_id = 5, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    const uint32_t rkey = ibv_inc_rkey(window->rkey);
    const auto post = [&](ibv_wr_opcode opcode, uint32_t key) {
      ibv_send_wr request{};
      request.wr_id = 5;
      request.opcode = opcode;
      request.send_flags = IBV_SEND_SIGNALED;
      request.bind_mw = {.mw = window, .rkey = key, .bind_info = info};
      if (opcode == IBV_WR_LOCAL_INV) request.invalidate_rkey = key;
      ibv_send_wr* bad = nullptr;
      return ibv_post_send(pair.qp[1], &request, &bad);
    };
    EXPECT_EQ(post(IBV_WR_BIND_MW, rkey + 0x100), EINVAL) << "the key of another window";
    bind.bind_info.mw_access_flags = 1U << 30;
    EXPECT_NE(ibv_bind_mw(pair.qp[1], window, &bind), 0);
    bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (type == IBV_MW_TYPE_1) {
      ASSERT_EQ(ibv_bind_mw(pair.qp[1], window, &bind), 0);
      EXPECT_EQ(window->rkey, rkey);
    } else {
      EXPECT_EQ(ibv_bind_mw(pair.qp[1], window, &bind), EINVAL);
      ASSERT_EQ(post(IBV_WR_BIND_MW, rkey), 0);
    }
    ibv_wc wc = Next(pair.cq);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(wc.wr_id, 5U);
    ASSERT_EQ(WriteTo(pair, 64, to, rkey), 0);
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(memory_, memory_ + kBytes / 2 + 100, 64), 0);
    EXPECT_EQ(ibv_dereg_mr(region), EBUSY);
    if (type == IBV_MW_TYPE_1) {
      bind.bind_info.length = 0;
      ASSERT_EQ(ibv_bind_mw(pair.qp[1], window, &bind), 0);
    } else {
      ASSERT_EQ(post(IBV_WR_LOCAL_INV, rkey), 0);
    }
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
    ASSERT_EQ(WriteTo(pair, 64, to, rkey), 0);
    EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    Destroy(pair);
  }
}

// By ibv_wr_bind_mw; one that the device refuses.
TEST_F(Overlay, MemoryWindowByTheBuilderOfWorkRequests) {
  Pair pair = MakePair();
  ibv_mr* region = ibv_reg_mr(pd_, memory_ + kBytes / 2, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ibv_mw* window = ibv_alloc_mw(pd_, IBV_MW_TYPE_2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  const auto to = reinterpret_cast<uint64_t>(memory_ + kBytes / 2);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(pair.qp[1]);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_mw_bind_info info{.mr = region, .addr = to, .length = 4096, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  const uint32_t rkey = ibv_inc_rkey(window->rkey);
  ibv_wr_start(qp);
  ibv_wr_bind_mw(qp, window, rkey, &info);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(Next(pair.cq).opcode, IBV_WC_BIND_MW);
  ASSERT_EQ(WriteTo(pair, 64, to, rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  info.length = 8193;
  ibv_wr_start(qp);
  ibv_wr_bind_mw(qp, window, rkey, &info);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(ibv_dealloc_mw(window), 0);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
  Destroy(pair);
}

TEST_F(Overlay, AsyncEventNamesItsQueuePair) {
  Pair pair = MakePair();
  ibv_async_event event;
  ASSERT_EQ(fcntl(context_->async_fd, F_SETFL, O_NONBLOCK), 0);
  const auto access_error = [&] {  // skip earlier events: communication established
    while (IsReadable(context_->async_fd, kTimeoutMs)) {
      if (ibv_get_async_event(context_, &event) != 0) continue;
      if (event.event_type == IBV_EVENT_QP_ACCESS_ERR) return true;
      ibv_ack_async_event(&event);
    }
    return false;
  };
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey ^ 0xff), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_ACCESS_ERR);
  ASSERT_TRUE(access_error());
  EXPECT_EQ(event.element.qp, pair.qp[1]);
  ibv_ack_async_event(&event);
  while (ibv_get_async_event(context_, &event) == 0) ibv_ack_async_event(&event);
  EXPECT_EQ(errno, EAGAIN);
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  ASSERT_EQ(ibv_query_qp(pair.qp[1], &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
  Destroy(pair);
}

TEST_F(Overlay, AddressHandleFromReceivedCompletion) {
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  std::array<uint8_t, 40> area{};
  ibv_gid own;
  ASSERT_EQ(ibv_query_gid(context_, 1, kIpv4Gid, &own), 0);
  uint8_t* header = area.data() + 20;
  header[0] = 0x45;
  header[1] = 0x2c;
  const uint8_t source[4] = {10, 0, 0, 2};
  std::memcpy(header + 12, source, 4);
  std::memcpy(header + 16, own.raw + 12, 4);
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  header[10] = static_cast<uint8_t>(~sum >> 8);
  header[11] = static_cast<uint8_t>(~sum);
  ibv_ah_attr attributes;
  auto* grh = reinterpret_cast<ibv_grh*>(area.data());
  ASSERT_EQ(ibv_init_ah_from_wc(context_, 1, &wc, grh, &attributes), 0);
  EXPECT_EQ(attributes.grh.sgid_index, kIpv4Gid);
  EXPECT_EQ(attributes.grh.traffic_class, 0x2c);
  EXPECT_EQ(std::memcmp(attributes.grh.dgid.raw + 12, source, 4), 0);
  ibv_ah* ah = ibv_create_ah_from_wc(pd_, &wc, grh, 1);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
  header[11] ^= 1;  // neither an IPv4 header, nor an IPv6 header to this NIC
  EXPECT_NE(ibv_init_ah_from_wc(context_, 1, &wc, grh, &attributes), 0);
  wc.wc_flags = 0;
  EXPECT_NE(ibv_init_ah_from_wc(context_, 1, &wc, grh, &attributes), 0);
}

TEST_F(Overlay, ForkedChildOpensItsOwnContext) {
  Pair pair = MakePair();
  const pid_t child = fork();
  if (child == 0) {
    // The child can only release inherited objects.
    ibv_port_attr port;
    if (ibv_query_port(context_, 1, &port) == 0 || Write(pair, 1, pair.mr->rkey) == 0) _exit(1);
    if (ibv_destroy_qp(pair.qp[0]) != 0 || ibv_close_device(context_) != 0) _exit(2);
    ibv_device** list = ibv_get_device_list(nullptr);
    ibv_context* own = list[0] == nullptr ? nullptr : ibv_open_device(list[0]);
    if (own == nullptr || ibv_query_port(own, 1, &port) != 0) _exit(3);
    _exit(ibv_close_device(own) == 0 ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(Write(pair, 100, pair.mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  Destroy(pair);
}

}  // namespace
}  // namespace vireo::sim
