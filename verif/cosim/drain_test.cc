// SPDX-License-Identifier: Apache-2.0
// A drained send queue (SQD): started messages complete, new work requests wait, the end of the drain is reported, and
// the queue pair can continue. [IBTA vol. 1, 10.3.1.5]
#include <gtest/gtest.h>

#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using Mask = spec::IbQpAttrMask;

constexpr uint32_t kBytes = 300;
constexpr uint64_t kTimeoutNs = 5 * kSecondNs / 1000;

class Drain : public PairTest {
 protected:
  void SetUp() override {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    ConnectedPairOptions options;
    options.connection.min_rnr_timer = 1;  // 10 µs [IBTA vol. 1, table 45]
    Connect(options);
  }
  void Move(IbQpState state) {
    spec::RdmaCmdModifyQp attributes;
    attributes.qp_state = state;
    const verbs::Status moved = near().qp->Modify(attributes, Mask::kState);
    ASSERT_TRUE(moved.ok()) << host::ToString(moved.error());
  }
  spec::RdmaAckQueryQp Query(ConnectedPair::Side& side) {
    auto answer = side.qp->Query();
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *answer : spec::RdmaAckQueryQp{};
  }
  void Send(uint64_t wr_id) {
    const spec::RdmaSge sge = near().region->Sge(0, kBytes);
    PostSend({.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = {&sge, 1}});
  }
  void Receive(uint64_t wr_id) { PostRecv(1, wr_id, {far().region->Sge(0, kBytes)}); }
  // Events received by the near side.
  std::vector<spec::RdmaEvent> Events() {
    std::vector<spec::RdmaEvent> events;
    for (;;) {
      auto event = system_->host(0).device().PollEvent();
      if (!event.ok() || !event->has_value()) return events;
      EXPECT_EQ((*event)->kind, host::DeviceEvent::Kind::kRdma);
      events.push_back((*event)->rdma);
    }
  }
  void ExpectDrained() {
    const uint64_t deadline = system_->host(0).function().NowNs() + kTimeoutNs;
    std::vector<spec::RdmaEvent> events;
    while (events.empty() && system_->host(0).function().NowNs() < deadline) {
      ExpectNone(0, 10'000);
      events = Events();
    }
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].event_type, spec::RdmaEventType::kSqDrained);
    EXPECT_EQ(events[0].element, near().qp->qpn());
  }
};

TEST_P(Drain, EmptySendQueueIsDrainedImmediately) {
  Move(IbQpState::kSqd);
  ExpectDrained();
  const auto answer = Query(near());
  EXPECT_EQ(answer.qp_state, IbQpState::kSqd);
  EXPECT_FALSE(answer.sq_draining);
}

TEST_P(Drain, StartedMessagesCompleteThenDrainIsReported) {
  for (uint64_t i = 0; i < 3; ++i) Send(i);
  ExpectNone(0, 20'000);  // the peer has no receive
  Move(IbQpState::kSqd);
  ExpectNone(0);
  EXPECT_TRUE(Events().empty());
  EXPECT_TRUE(Query(near()).sq_draining);
  for (uint64_t i = 0; i < 3; ++i) Receive(100 + i);
  for (uint64_t i = 0; i < 3; ++i) ExpectNext(0, i, IbWcStatus::kSuccess, kTimeoutNs);
  for (uint64_t i = 0; i < 3; ++i) ExpectNext(1, 100 + i, IbWcStatus::kSuccess);
  ExpectDrained();
  EXPECT_FALSE(Query(near()).sq_draining);
}

TEST_P(Drain, NewWorkRequestsWaitForRts) {
  Move(IbQpState::kSqd);
  ExpectDrained();
  Receive(100);
  Send(7);
  ExpectNone(0);
  Move(IbQpState::kRts);
  ExpectNext(0, 7, IbWcStatus::kSuccess);
  ExpectNext(1, 100, IbWcStatus::kSuccess);
}

TEST_P(Drain, EndlessDrainBlocksNoOtherCommand) {
  Send(1);
  ExpectNone(0, 20'000);
  Move(IbQpState::kSqd);
  ExpectNone(0);
  spec::RdmaCmdModifyQp attributes;
  attributes.qp_state = IbQpState::kRts;
  EXPECT_FALSE(near().qp->Modify(attributes, Mask::kState).ok());  // not before its end
  Move(IbQpState::kErr);
  ExpectNext(0, 1, IbWcStatus::kWrFlushErr);
  EXPECT_TRUE(Events().empty());
}

TEST_P(Drain, QueryReturnsTheStateOfTheDrain) {
  const auto near_before = Query(near());
  const auto far_before = Query(far());
  EXPECT_EQ(near_before.sq_psn, far_before.rq_psn);
  EXPECT_EQ(far_before.sq_psn, near_before.rq_psn);
  constexpr uint32_t kPackets = 3;
  const spec::RdmaSge sge = near().region->Sge(0, 2 * 1024 + 1);  // of the path MTU of 1024
  PostSend({.wr_id = 5,
            .opcode = IbWrOpcode::kRdmaWrite,
            .sg_list = {&sge, 1},
            .remote_addr = far().region->address(),
            .rkey = far().region->rkey()});
  ExpectNext(0, 5, IbWcStatus::kSuccess);
  EXPECT_EQ(Query(near()).sq_psn, (near_before.sq_psn + kPackets) & 0xffffff);
  EXPECT_EQ(Query(far()).rq_psn, (far_before.rq_psn + kPackets) & 0xffffff);
  EXPECT_EQ(Query(far()).sq_psn, far_before.sq_psn);
}

VIREO_ON_EVERY_DEVICE(Drain);

}  // namespace
}  // namespace vireo::sim
