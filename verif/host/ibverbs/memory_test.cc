// SPDX-License-Identifier: Apache-2.0
// On-demand paging.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "verif/host/ibverbs/overlay_fixture.h"

namespace vireo::sim {
namespace {

constexpr int kOnDemand = kAll | IBV_ACCESS_ON_DEMAND;

class OnDemand : public Overlay {
 protected:
  static constexpr size_t kPage = 4096;

  bool IsPresent(size_t page) const {
    uint8_t present = 0;
    EXPECT_EQ(mincore(memory_ + page * kPage, kPage, &present), 0);
    return (present & 1) != 0;
  }
  int Advise(ib_uverbs_advise_mr_advice advice, const ibv_sge& sge, uint32_t flags = IBV_ADVISE_MR_FLAG_FLUSH) {
    ibv_sge copy = sge;
    return ibv_advise_mr(pd_, advice, flags, &copy, 1);
  }
};

TEST_F(OnDemand, PagesComeWhenTheyAreUsed) {
  Pair pair = MakePair();
  ASSERT_EQ(madvise(memory_, kBytes, MADV_DONTNEED), 0);
  ibv_mr* plain = ibv_reg_mr(pd_, memory_ + kBytes / 2, kPage, kAll);
  ASSERT_NE(plain, nullptr);
  EXPECT_TRUE(IsPresent(8));  // registration without the flag takes the pages
  ibv_mr* mr = ibv_reg_mr(pd_, memory_ + kBytes / 2, kBytes / 2, kOnDemand);
  ASSERT_NE(mr, nullptr);
  EXPECT_FALSE(IsPresent(9));
  std::memset(memory_, 0x77, 100);
  ASSERT_EQ(WriteTo(pair, 100, reinterpret_cast<uint64_t>(memory_ + 9 * kPage), mr->rkey), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(IsPresent(9));
  EXPECT_FALSE(IsPresent(10));
  EXPECT_EQ(std::memcmp(memory_, memory_ + 9 * kPage, 100), 0);
  EXPECT_EQ(ibv_dereg_mr(plain), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  Destroy(pair);
}

TEST_F(OnDemand, MemoryThatIsNotThereFailsTheAccessOnly) {
  Pair pair = MakePair();
  auto* hole = static_cast<uint8_t*>(mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(munmap(hole, kPage), 0);
  ibv_mr* mr = ibv_reg_mr(pd_, hole, kPage, kOnDemand);
  ASSERT_NE(mr, nullptr);
  ibv_sge sge{.addr = reinterpret_cast<uint64_t>(memory_), .length = 100, .lkey = pair.mr->lkey};
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {.remote_addr = reinterpret_cast<uint64_t>(hole), .rkey = mr->rkey};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(pair.qp[0], &request, &bad), 0);
  EXPECT_EQ(Next(pair.cq).status, IBV_WC_REM_OP_ERR);
  // The same region, once the program has memory there.
  ASSERT_EQ(mmap(hole, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), hole);
  Pair other = MakePair();
  std::memset(memory_, 0x66, 100);
  ASSERT_EQ(WriteTo(other, 100, reinterpret_cast<uint64_t>(hole), mr->rkey), 0);
  EXPECT_EQ(Next(other.cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_, hole, 100), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  Destroy(other);
  Destroy(pair);
  munmap(hole, kPage);
}

TEST_F(OnDemand, PrefetchBringsPages) {
  ibv_mr* mr = ibv_reg_mr(pd_, memory_, kBytes, kOnDemand);
  ASSERT_NE(mr, nullptr);
  const auto at = [&](size_t page) { return reinterpret_cast<uint64_t>(memory_ + page * kPage); };
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, {at(1), 2 * kPage, mr->lkey}), 0);
  EXPECT_FALSE(IsPresent(1));
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {at(1) + 100, kPage, mr->lkey}, 0), 0);
  EXPECT_TRUE(IsPresent(1));
  EXPECT_TRUE(IsPresent(2));
  EXPECT_FALSE(IsPresent(3));
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, {at(4), kPage, mr->lkey}), 0);
  EXPECT_TRUE(IsPresent(4));
  EXPECT_FALSE(IsPresent(5));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(OnDemand, InvalidAdviceIsRefused) {
  ibv_mr* mr = ibv_reg_mr(pd_, memory_, kBytes, IBV_ACCESS_ON_DEMAND);
  ibv_mr* plain = ibv_reg_mr(pd_, memory_, kBytes, kAll);
  ASSERT_NE(mr, nullptr);
  const auto start = reinterpret_cast<uint64_t>(memory_);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start, kPage, plain->lkey}), EINVAL);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start, kPage, mr->lkey}, 2), EINVAL);
  EXPECT_EQ(Advise(static_cast<ib_uverbs_advise_mr_advice>(3), {start, kPage, mr->lkey}), ENOTSUP);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, {start, kPage, mr->lkey}), EPERM);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start + kBytes, 1, mr->lkey}), EFAULT);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start - 1, 1, mr->lkey}), EFAULT);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start + 1, kBytes, mr->lkey}), EFAULT);
  ibv_pd* other = ibv_alloc_pd(context_);
  ibv_sge sge{start, kPage, mr->lkey};
  EXPECT_EQ(ibv_advise_mr(other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EPERM);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
  const uint32_t lkey = mr->lkey;
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(Advise(IBV_ADVISE_MR_ADVICE_PREFETCH, {start, kPage, lkey}), ENOENT);
  EXPECT_EQ(ibv_dereg_mr(plain), 0);
  // All of memory in one region is not supported.
  EXPECT_EQ(ibv_reg_mr(pd_, nullptr, SIZE_MAX, kOnDemand), nullptr);
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context_, nullptr, &attributes), 0);
  EXPECT_EQ(attributes.odp_caps.general_caps, uint64_t{IBV_ODP_SUPPORT});
  EXPECT_EQ(attributes.odp_caps.per_transport_caps.ud_odp_caps & IBV_ODP_SUPPORT_READ, 0U);
}

}  // namespace
}  // namespace vireo::sim
