// SPDX-License-Identifier: Apache-2.0
// A hardware reset (a reset of the function or of its bus) of a NIC in use: the NIC is as new, though its memories keep
// their contents over the reset. Nothing of the time before it can be reached.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kBytes = 3000;

class HardReset : public PairTest {
 protected:
  void SetUp() override {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    Connect();
  }
  // Of a NIC whose driver knows nothing of it, and then opens it again. Its objects of the pair end.
  void Reset(size_t number, ConnectedPair& pair) {
    system_->Reset(number);
    auto& side = pair.side.at(number);
    side.qp.reset();
    side.cq.reset();
    side.region.reset();
    side.memory = {};
    side.pd.reset();
    system_->host(number).Close();
    ASSERT_EQ(system_->host(number).Open(), "");
  }
  // WRITE, READ and SEND from both sides.
  void ExpectTraffic() {
    for (size_t from = 0; from < 2; ++from) {
      const uint64_t at = from * 30'000;
      auto expected = Memory();
      const auto copy = [&](size_t to, uint64_t source, uint64_t target) {
        std::copy_n(expected.at(1 - to).begin() + static_cast<ptrdiff_t>(source), kBytes,
                    expected.at(to).begin() + static_cast<ptrdiff_t>(target));
      };
      PostRecv(1 - from, 4, {side(1 - from).region->Sge(at + 18'000, kBytes)});
      PostSend(Remote(IbWrOpcode::kRdmaWrite, 1, {side(from).region->Sge(at, kBytes)}, at + 6000, from), from);
      copy(1 - from, at, at + 6000);
      PostSend(Remote(IbWrOpcode::kRdmaRead, 2, {side(from).region->Sge(at + 12'000, kBytes)}, at + 3000, from), from);
      copy(from, at + 3000, at + 12'000);
      PostSend({.wr_id = 3, .opcode = IbWrOpcode::kSend, .sg_list = Elements{side(from).region->Sge(at, kBytes)}},
               from);
      copy(1 - from, at, at + 18'000);
      for (const uint64_t wr_id : {1, 2, 3}) ExpectNext(from, wr_id, IbWcStatus::kSuccess);
      ExpectNext(1 - from, 4, IbWcStatus::kSuccess);
      RunFor(20'000);
      ExpectMemory(expected);
    }
  }
};

TEST_P(HardReset, NicInUseIsAsNewAfterIt) {
  ExpectTraffic();
  for (const size_t number : {0, 1, 1}) {
    ASSERT_NO_FATAL_FAILURE(Reset(number, *pair_));
    ASSERT_NO_FATAL_FAILURE(Connect());
    ExpectTraffic();
  }
}

// The peer does not know of the reset: its connection and the keys that it has are of the time before.
TEST_P(HardReset, OldConnectionsAndKeysReachNothing) {
  ExpectTraffic();
  const auto first = std::move(pair_);  // the new pair has its numbers and its key
  ConnectedPairOptions impatient;
  impatient.connection.timeout = 8;  // 1 ms
  impatient.connection.retry_cnt = 1;
  ASSERT_NO_FATAL_FAILURE(Connect(impatient));
  ExpectTraffic();
  const auto old = std::move(pair_);
  const uint64_t old_address = old->side.at(1).region->address();
  const uint32_t old_rkey = old->side.at(1).region->rkey();
  ASSERT_NO_FATAL_FAILURE(Reset(1, *old));
  ASSERT_NO_FATAL_FAILURE(Connect());
  const auto expected = Memory();

  auto& old_near = old->side.at(0);
  const Elements list = {old_near.region->Sge(0, kBytes)};
  const verbs::Status posted = old_near.qp->PostSend(
      {.wr_id = 1, .opcode = IbWrOpcode::kRdmaWrite, .sg_list = list, .remote_addr = old_address, .rkey = old_rkey});
  ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
  const auto unanswered = NextOf(*old_near.cq, 0, kSecondNs);
  ASSERT_TRUE(unanswered.has_value());
  EXPECT_EQ(unanswered->status, IbWcStatus::kRetryExcErr) << spec::ToString(unanswered->status);

  ASSERT_NE(far().region->rkey(), old_rkey);
  const Elements new_list = {near().region->Sge(0, kBytes)};
  verbs::SendRequest request = Remote(IbWrOpcode::kRdmaWrite, 2, new_list, 0);
  request.remote_addr = old_address;
  request.rkey = old_rkey;
  PostSend(request);
  ExpectNext(0, 2, IbWcStatus::kRemAccessErr);
  RunFor(20'000);
  ExpectMemory(expected);
}

VIREO_ON_EVERY_DEVICE(HardReset);

}  // namespace
}  // namespace vireo::sim
