// SPDX-License-Identifier: Apache-2.0
// RDMA WRITE on a reliable connection, from the verbs call of one host to the memory of the other: on the model, on the
// RTL, and on both in lockstep, where every event must come in the same cycle.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::verif {
namespace {

class Write : public PairTest {
 protected:
  void SetUp() override { Build(); }
  // Writes bytes of host 0's memory to host 1's and waits for the completion.
  spec::RdmaCqReq DoWrite(uint64_t wr_id, uint64_t from, uint64_t to, uint32_t bytes) {
    auto& [near, far] = pair_->side;
    const spec::RdmaSge sge = near.region->Sge(from, bytes);
    const verbs::Status posted = near.qp->PostSend({.wr_id = wr_id,
                                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                    .sg_list = std::span(&sge, 1),
                                                    .remote_addr = far.region->address() + to,
                                                    .rkey = far.region->rkey()});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
    return Next(0).value_or(spec::RdmaCqReq{});
  }
  void ExpectWritten(uint64_t wr_id, uint64_t from, uint64_t to, uint32_t bytes) {
    auto& [near, far] = pair_->side;
    std::vector<uint8_t> expected(far.memory->data(), far.memory->data() + far.memory->size());
    std::memcpy(expected.data() + to, near.memory->data() + from, bytes);
    const spec::RdmaCqReq completion = DoWrite(wr_id, from, to, bytes);
    EXPECT_EQ(completion.status, spec::IbWcStatus::kSuccess) << spec::ToString(completion.status);
    EXPECT_EQ(completion.wr_id, wr_id);
    EXPECT_EQ(completion.opcode, spec::IbWcOpcode::kRdmaWrite);
    EXPECT_EQ(completion.qp_num, near.qp->qpn());
    // The acknowledge says that the peer has the data, not that its memory shows it already.
    system_->topology().RunFor(kArrivalTime);
    // All of it, so that nothing was written beside.
    EXPECT_EQ(std::memcmp(expected.data(), far.memory->data(), expected.size()), 0) << bytes << " bytes";
  }
};

TEST_P(Write, Carries64BytesAnd8KibIntact) {
  Connect({});
  ExpectWritten(1, 0, 0, 64);
  ExpectWritten(2, 4096, 8192, 8192);
}

TEST_P(Write, CarriesEverySizeAtEveryAlignment) {
  for (const spec::IbMtu mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu4096}) {
    Connect({.path_mtu = mtu});
    uint64_t wr_id = 0;
    for (const uint32_t bytes : {1u, 3u, 4u, 255u, 256u, 257u, 4095u, 4096u, 4097u, 12'345u}) {
      ++wr_id;
      ExpectWritten(wr_id, 4096 - wr_id, 8192 - 3 * wr_id, bytes);
    }
    pair_.reset();
  }
}

TEST_P(Write, GoesOverIpv6) {
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(system_->host(i).AddIpv6Gid(), "");
  Connect({.gid_index = RdmaHost::kIpv6Gid});
  ASSERT_FALSE(HasFatalFailure());
  ExpectWritten(1, 5, 9, 1);
  ExpectWritten(2, 4096, 8192, 8193);
}

TEST_P(Write, OfNothingCompletes) {
  Connect({});
  ExpectWritten(1, 0, 0, 0);
}

TEST_P(Write, ToAWrongKeyIsRefusedByThePeerAndHarmsNothing) {
  Connect({});
  auto& [near, far] = pair_->side;
  const std::vector<uint8_t> before(far.memory->data(), far.memory->data() + far.memory->size());
  const spec::RdmaSge sge = near.region->Sge(0, 64);
  ASSERT_TRUE(near.qp
                  ->PostSend({.wr_id = 5,
                              .opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address(),
                              .rkey = far.region->rkey() ^ 1})
                  .ok());
  auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
  ASSERT_TRUE(completion.ok() && completion->has_value());
  EXPECT_EQ((*completion)->status, spec::IbWcStatus::kRemAccessErr) << spec::ToString((*completion)->status);
  EXPECT_EQ(std::memcmp(before.data(), far.memory->data(), before.size()), 0);
}

TEST_P(Write, WithoutALocalKeyFailsLocally) {
  Connect({});
  auto& [near, far] = pair_->side;
  spec::RdmaSge sge = near.region->Sge(0, 64);
  sge.lkey ^= 1;
  ASSERT_TRUE(near.qp
                  ->PostSend({.wr_id = 6,
                              .opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address(),
                              .rkey = far.region->rkey()})
                  .ok());
  auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
  ASSERT_TRUE(completion.ok() && completion->has_value());
  EXPECT_EQ((*completion)->status, spec::IbWcStatus::kLocProtErr) << spec::ToString((*completion)->status);
  EXPECT_EQ((*completion)->wr_id, 6U);
}

TEST_P(Write, ManyAtOnceCompleteInOrder) {
  Connect({});
  auto& [near, far] = pair_->side;
  constexpr uint64_t kWrites = 200;
  uint64_t posted = 0, completed = 0;
  while (completed < kWrites) {
    while (posted < kWrites) {
      const spec::RdmaSge sge = near.region->Sge(posted * 64 % 4096, 64);
      if (!near.qp
               ->PostSend({.wr_id = posted,
                           .opcode = spec::IbWrOpcode::kRdmaWrite,
                           .sg_list = std::span(&sge, 1),
                           .remote_addr = far.region->address() + posted * 128,
                           .rkey = far.region->rkey()})
               .ok()) {
        break;
      }
      ++posted;
    }
    auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
    ASSERT_TRUE(completion.ok() && completion->has_value()) << completed;
    ASSERT_EQ((*completion)->status, spec::IbWcStatus::kSuccess);
    ASSERT_EQ((*completion)->wr_id, completed);
    ++completed;
  }
  for (uint64_t i = 0; i < kWrites; ++i) {
    ASSERT_EQ(std::memcmp(near.memory->data() + i * 64 % 4096, far.memory->data() + i * 128, 64), 0) << i;
  }
}

VIREO_ON_EVERY_DEVICE(Write);

}  // namespace
}  // namespace vireo::verif
