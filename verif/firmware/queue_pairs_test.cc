// SPDX-License-Identifier: Apache-2.0
// QPs: states, attributes, draining, stopping, and query.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "verif/firmware/bench.h"
#include "verif/firmware/reference.h"

namespace vireo::verif {
namespace {

using QueuePairs = FirmwareTest;
using Mask = spec::IbQpAttrMask;
using spec::QpOperation;

constexpr IbQpState kStates[] = {IbQpState::kReset, IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts,
                                 IbQpState::kSqd,   IbQpState::kSqe,  IbQpState::kErr};
constexpr IbQpType kTypes[] = {IbQpType::kRc, IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi};
// Valid values of all attributes; the mask selects.
spec::RdmaCmdModifyQp GoodAttributes(uint32_t qpn) {
  spec::RdmaCmdModifyQp request{.qpn = qpn,
                                .path_mtu = spec::IbMtu::kMtu512,
                                .max_rd_atomic = 2,
                                .max_dest_rd_atomic = 1,
                                .min_rnr_timer = 31,
                                .timeout = 30,
                                .retry_cnt = 7,
                                .rnr_retry = 7,
                                .qkey = 0x80010000,
                                .rq_psn = 0xffffff,
                                .sq_psn = 0xfffffe,
                                .dest_qp_num = 0xfffffd,
                                .qp_access_flags = spec::IbAccessFlags::kRemoteRead};
  SetGid(request.ah_attr.grh.dgid, 12);
  return request;
}

// One QP of each type, taken into each state repeatedly.
class Transitions : public FirmwareTest {
 protected:
  void SetUp() override {
    bench().AddGid(0, 1);
    for (const auto type : kTypes) qpns_.push_back(bench().CreateQp(type));
  }
  // To RESET, with re-enabled queues, then to `state`.
  void Put(uint32_t qpn, IbQpState state) {
    ASSERT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
    for (uint32_t index : {bench().SendQueue(qpn), bench().ReceiveQueue(qpn)}) device().ResetQueue(index);
    bench().Settle();
    bench().Bring(qpn, state);
    ASSERT_EQ(device().Qp(qpn).engine_state, state);
  }
  std::vector<uint32_t> qpns_;
};

TEST_F(Transitions, OnlyIbtaTransitionsAreLegal) {
  int legal = 0;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    for (const auto from : kStates) {
      for (unsigned to = 0; to < 9; ++to) {
        const auto target = IbQpState{static_cast<uint8_t>(to == 8 ? 255 : to)};
        Put(qpns_[i], from);
        const QpRule* rule = QpRuleOf(kTypes[i], from, target);
        auto request = GoodAttributes(qpns_[i]);
        request.qp_state = target;
        request.attr_mask = Mask::kState | (rule != nullptr ? rule->required : 0u);
        const auto before = device().Snapshot();
        const auto error = bench().Modify(request);
        EXPECT_EQ(error, rule != nullptr ? RdmaError::kOk : RdmaError::kInvalidStateTransition)
            << spec::ToString(kTypes[i]) << " " << spec::ToString(from) << " to " << to;
        if (rule != nullptr) {
          ++legal;
          EXPECT_EQ(device().Qp(qpns_[i]).engine_state, target);
        } else {
          EXPECT_EQ(device().Snapshot(), before);
        }
      }
    }
  }
  // 9 transitions of the table per type, plus RESET and ERR from each of the 7 states.
  EXPECT_EQ(legal, 4 * (9 + 2 * 7));
}

TEST_F(Transitions, EveryAttributeIsRequiredAllowedOrRefused) {
  int required = 0, refused = 0, allowed = 0;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    for (const auto from : kStates) {
      for (const auto to : kStates) {
        const QpRule* rule = QpRuleOf(kTypes[i], from, to);
        if (rule == nullptr) continue;
        for (uint32_t attribute = Mask::kCurState; attribute != 0; attribute <<= 1) {
          Put(qpns_[i], from);
          auto request = GoodAttributes(qpns_[i]);
          request.qp_state = to;
          request.cur_qp_state = from;
          request.attr_mask = (Mask::kState | rule->required) ^ attribute;
          RdmaError expected = RdmaError::kOk;
          if ((rule->required & attribute) != 0) {
            expected = RdmaError::kMissingAttribute;
            ++required;
          } else if (((rule->allowed | Mask::kCurState) & attribute) == 0) {
            expected = RdmaError::kAttributeNotAllowed;
            ++refused;
          } else {
            ++allowed;
          }
          const auto before = device().Snapshot();
          ASSERT_EQ(bench().Modify(request), expected) << spec::ToString(kTypes[i]) << " " << spec::ToString(from)
                                                       << " to " << spec::ToString(to) << ", attribute " << attribute;
          if (expected != RdmaError::kOk) {
            ASSERT_EQ(device().Snapshot(), before);
          }
        }
      }
    }
  }
  std::printf("%d required, %d allowed, %d refused\n", required, allowed, refused);
  EXPECT_EQ(required, 6 + 4 + 0 + 0 + 5 + 1 + 1 + 1 + 4);
}

TEST_F(Transitions, ModifyWithoutStateKeepsTheState) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    for (const auto from : kStates) {
      Put(qpns_[i], from);
      auto request = GoodAttributes(qpns_[i]);
      request.qp_state = IbQpState::kErr;  // not in the mask, so ignored
      const bool legal = QpRuleOf(kTypes[i], from, from) != nullptr;
      EXPECT_EQ(bench().Modify(request), legal ? RdmaError::kOk : RdmaError::kInvalidStateTransition);
      EXPECT_EQ(device().Qp(qpns_[i]).engine_state, from);
    }
  }
}

// --- Create and query ------------------------------------------------------------------------------------------------

TEST_F(QueuePairs, CreateQpWritesTheContext) {
  const uint32_t send_cqn = bench().CreateCq(), recv_cqn = bench().CreateCq(), pdn = bench().CreatePd();
  const uint32_t qpn = bench().CreateQp({.pdn = pdn,
                                         .qp_type = IbQpType::kUc,
                                         .sq_sig_all = 2,
                                         .send_cqn = send_cqn,
                                         .recv_cqn = recv_cqn,
                                         .cap = {.max_send_wr = spec::kNic1.max_queue_entries,
                                                 .max_recv_wr = 0,
                                                 .max_send_sge = spec::kNic1.max_send_sge,
                                                 .max_recv_sge = 1,
                                                 .max_inline_data = spec::kRdmaInlineBytes}});
  EXPECT_GE(qpn, spec::kRdmaFirstQpn);
  EXPECT_EQ(device().Qp(qpn), (spec::TableQpContext{.qp_type = IbQpType::kUc,
                                                    .valid = true,
                                                    .sq_sig_all = true,
                                                    .pdn = static_cast<uint16_t>(pdn),
                                                    .send_cqn = static_cast<uint16_t>(send_cqn),
                                                    .recv_cqn = static_cast<uint16_t>(recv_cqn),
                                                    .max_inline_data = spec::kRdmaInlineBytes,
                                                    .max_send_sge = static_cast<uint8_t>(spec::kNic1.max_send_sge),
                                                    .max_send_wr = static_cast<uint16_t>(spec::kNic1.max_queue_entries),
                                                    .max_recv_sge = 1}));
  EXPECT_EQ(bench().Queue(bench().SendQueue(qpn)).kind, spec::TableQueueKind::kSq);
  EXPECT_EQ(bench().Queue(bench().SendQueue(qpn)).owner, qpn);
  EXPECT_EQ(bench().Queue(bench().SendQueue(qpn)).limit, spec::kNic1.max_queue_entries);
  EXPECT_EQ(bench().Queue(bench().ReceiveQueue(qpn)).kind, spec::TableQueueKind::kRq);
}

TEST_F(QueuePairs, TheLargestQueueOfNic100Fits) {
  Use({.config = &spec::kNic100});
  const uint32_t cqn = bench().CreateCq(spec::kNic100.max_queue_entries);
  const uint32_t qpn = bench().CreateQp({.pdn = bench().CreatePd(),
                                         .qp_type = IbQpType::kRc,
                                         .send_cqn = cqn,
                                         .recv_cqn = cqn,
                                         .cap = {.max_send_wr = spec::kNic100.max_queue_entries,
                                                 .max_recv_wr = spec::kNic100.max_queue_entries,
                                                 .max_send_sge = spec::kNic100.max_send_sge,
                                                 .max_recv_sge = spec::kNic100.max_recv_sge}});
  EXPECT_EQ(bench().QueryQp(qpn).cap.max_send_wr, spec::kNic100.max_queue_entries);
  EXPECT_EQ(bench().QueryQp(qpn).cap.max_recv_wr, spec::kNic100.max_queue_entries);
}

TEST_F(QueuePairs, GsiQpIsQp1) {
  EXPECT_EQ(bench().CreateQp(IbQpType::kGsi), spec::kGsiQpn);
  EXPECT_NE(bench().CreateQp(IbQpType::kUd), spec::kGsiQpn);
}

TEST_F(QueuePairs, RemoteAtomicIsARightOfItsOwn) {
  for (const uint32_t flags :
       {uint32_t{spec::IbAccessFlags::kRemoteAtomic}, uint32_t{spec::IbAccessFlags::kRemoteRead},
        uint32_t{spec::IbAccessFlags::kFlushGlobal}, uint32_t{spec::IbAccessFlags::kFlushPersistent}}) {
    const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
    auto modify = bench().ToInit(qpn);
    modify.qp_access_flags = flags;
    ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kModifyQp, BytesOf(modify)).ok());
    EXPECT_EQ(device().Qp(qpn).remote_atomic, flags == spec::IbAccessFlags::kRemoteAtomic);
    EXPECT_EQ(device().Qp(qpn).flush_global, flags == spec::IbAccessFlags::kFlushGlobal);
    EXPECT_EQ(device().Qp(qpn).flush_persistent, flags == spec::IbAccessFlags::kFlushPersistent);
    EXPECT_FALSE(device().Qp(qpn).remote_write);
    EXPECT_EQ(bench().QueryQp(qpn).qp_access_flags, flags);
  }
}

TEST_F(QueuePairs, QueryReturnsRcAttributes) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  EXPECT_EQ(bench().QueryQp(qpn).path_mtu, spec::IbMtu{});
  bench().Bring(qpn, IbQpState::kRts);
  spec::RdmaAckQueryQp expected{
      .qp_state = IbQpState::kRts,
      .path_mtu = spec::IbMtu::kMtu1024,
      .max_rd_atomic = 3,
      .max_dest_rd_atomic = 4,
      .min_rnr_timer = 12,
      .timeout = 14,
      .retry_cnt = 5,
      .rnr_retry = 6,
      .rq_psn = 0xabcdef,
      .sq_psn = 0x654321,
      .dest_qp_num = 0x123456,
      .qp_access_flags = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead,
      .cap = {.max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 64},
      .ah_attr = bench().ToRtr(qpn).ah_attr};
  EXPECT_EQ(bench().QueryQp(qpn), expected);
  // The datapath makes progress.
  auto context = device().Qp(qpn);
  context.next_psn = 0x654400;
  context.expected_psn = 0xabce00;
  device().Set(MgmtTable::kQpContext, qpn, context);
  expected.sq_psn = 0x654400;
  expected.rq_psn = 0xabce00;
  EXPECT_EQ(bench().QueryQp(qpn), expected);
}

TEST_F(QueuePairs, QueryReturnsUdAttributes) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kUd);
  bench().Bring(qpn, IbQpState::kRts);
  EXPECT_EQ(
      bench().QueryQp(qpn),
      (spec::RdmaAckQueryQp{
          .qp_state = IbQpState::kRts,
          .qkey = 0x11111111,
          .sq_psn = 0x654321,
          .cap = {.max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 64}}));
  EXPECT_EQ(device().Qp(qpn).path_mtu, spec::IbMtu::kMtu4096) << "the link's MTU";
}

TEST_F(QueuePairs, TheContextHoldsTheResolvedPath) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRtr);
  spec::TablePath path{.flow_label = 0xfedcb, .ipv4 = true, .traffic_class = 0x92, .hop_limit = 64};
  SetGid(path.dgid, 77);
  SetGid(path.sgid, 1);
  for (uint8_t i = 0; i < 6; ++i) path.dmac[i] = static_cast<uint8_t>(0x60 + i);
  EXPECT_EQ(device().Qp(qpn).path, path);
}

TEST_F(QueuePairs, ModifyKeepsTheEnginesState) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  auto context = device().Qp(qpn);
  context.next_psn = 5;
  context.unacked_psn = 4;
  context.expected_psn = 3;
  context.msn = 2;
  context.deadline_ns = 1;
  context.retries_left = 1;
  context.in_message = true;
  device().Set(MgmtTable::kQpContext, qpn, context);
  EXPECT_EQ(bench().Modify({.qpn = qpn, .attr_mask = Mask::kMinRnrTimer, .min_rnr_timer = 1}), RdmaError::kOk);
  context.min_rnr_timer = 1;
  EXPECT_EQ(device().Qp(qpn), context);
}

TEST_F(QueuePairs, RtsSetsFirstPsnAndRetries) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  const auto context = device().Qp(qpn);
  EXPECT_EQ(context.next_psn, 0x654321u);
  EXPECT_EQ(context.unacked_psn, 0x654321u);
  EXPECT_EQ(context.retries_left, 5);
  EXPECT_EQ(context.rnr_retries_left, 6);
  EXPECT_EQ(context.expected_psn, 0xabcdefu);
}

TEST_F(QueuePairs, PathMtuIsBoundedByTheLink) {
  // Around the payload: IPv6 header, UDP, BTH, the longest extended headers, ICRC.
  const uint32_t overhead = 40 + 8 + 12 + 28 + 4;
  for (uint8_t largest = 0; largest <= 5; ++largest) {
    for (const uint32_t link : {(128u << largest) + overhead, (128u << (largest + 1)) + overhead - 1}) {
      Use({.brings_up = false});
      bench().control =
          std::make_unique<firmware::Firmware>(device().MakeCsr(), firmware::Options{.mtu = link, .max_polls = 1000});
      ASSERT_TRUE(bench().control->Start());
      bench().BringUp();
      bench().AddGid(0, 1);
      for (uint8_t mtu = 0; mtu < 8; ++mtu) {
        const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
        bench().Bring(qpn, IbQpState::kInit);
        auto request = bench().ToRtr(qpn);
        request.path_mtu = spec::IbMtu{mtu};
        const bool fits = mtu >= 1 && mtu <= 5 && mtu <= largest;
        EXPECT_EQ(bench().Modify(request), fits ? RdmaError::kOk : RdmaError::kInvalidAttribute)
            << link << " " << int{mtu};
      }
    }
  }
}

// --- Operations of the transport -------------------------------------------------------------------------------------

TEST_F(QueuePairs, StateChangesWaitForTheirOperation) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  device().qp_delay = 20;
  bench().Bring(qpn, IbQpState::kSqd);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kRts)), RdmaError::kOk);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kErr)), RdmaError::kOk);
  EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kErr) << "answered before the flush was complete";
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kReset);
  const std::vector<QpOperationRecord> expected = {
      {qpn, QpOperation::kStart}, {qpn, QpOperation::kStart}, {qpn, QpOperation::kStart}, {qpn, QpOperation::kDrain},
      {qpn, QpOperation::kStart}, {qpn, QpOperation::kFlush}, {qpn, QpOperation::kStop},
  };
  EXPECT_EQ(device().qp_operations, expected);
}

TEST_F(QueuePairs, ResetClearsAttributesAndStopsBothQueues) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  const auto fresh = device().Qp(qpn);
  bench().Bring(qpn, IbQpState::kRts);
  device().SetSendOutstanding(qpn, 7);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  EXPECT_EQ(device().Qp(qpn), fresh);
  for (uint32_t index : {bench().SendQueue(qpn), bench().ReceiveQueue(qpn)}) {
    EXPECT_TRUE(bench().Queue(index).stopped);
    EXPECT_EQ(bench().Queue(index).owner, qpn);
  }
  EXPECT_FALSE(bench().Queue(bench().CqQueue(device().Qp(qpn).send_cqn)).stopped);
  // Until the driver has reset them, the QP cannot reach RTR.
  EXPECT_EQ(bench().Modify(bench().ToInit(qpn)), RdmaError::kOk);
  EXPECT_EQ(bench().Modify(bench().ToRtr(qpn)), RdmaError::kQueueNotReady);
}

TEST_F(QueuePairs, QpWorksAgainAfterQpResetAndQueueReset) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  for (uint32_t index : {bench().SendQueue(qpn), bench().ReceiveQueue(qpn)}) device().ResetQueue(index);
  bench().Settle();
  EXPECT_EQ(device().queue_resets_done, (std::vector<uint32_t>{bench().SendQueue(qpn), bench().ReceiveQueue(qpn)}));
  EXPECT_TRUE(device().events.empty()) << "no event for a QP in RESET";
  bench().Bring(qpn, IbQpState::kRts);
  EXPECT_EQ(bench().QueryQp(qpn).qp_state, IbQpState::kRts);
}

TEST_F(QueuePairs, ResetOfANewQpKeepsItsQueues) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().EnableQueues(qpn);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  EXPECT_FALSE(bench().Queue(bench().SendQueue(qpn)).stopped);
  EXPECT_TRUE(device().qp_operations.empty());
}

TEST_F(QueuePairs, DestroyWithWorkInFlightStopsAndWaits) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  const auto context = device().Qp(qpn);
  bench().Bring(qpn, IbQpState::kRts);
  device().SetSendOutstanding(qpn, 8);
  device().qp_delay = 500;
  const auto operations = device().qp_operations.size();
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn})).ok());
  ASSERT_EQ(device().qp_operations.size(), operations + 1);
  EXPECT_EQ(device().qp_operations.back(), (QpOperationRecord{qpn, QpOperation::kStop}));
  EXPECT_FALSE(device().tables().contains({MgmtTable::kQpContext, qpn}));
  EXPECT_TRUE(bench().Queue(bench().SendQueue(qpn)).stopped);
  EXPECT_TRUE(bench().Queue(bench().ReceiveQueue(qpn)).stopped);
  EXPECT_TRUE(device().events.empty());
  // CQ and PD are no longer in use.
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = context.send_cqn})).ok());
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = context.pdn})).ok());
}

// What a stop discarded may wait for the wire as long as a peer pauses it. Nobody waits for that, and nobody takes it
// for work of its own.
TEST_F(QueuePairs, NumberIsNotFreeBeforeDiscardedWorkHasGone) {
  const uint32_t first = bench().CreateQp(IbQpType::kRc);
  const auto context = device().Qp(first);
  const spec::RdmaCmdCreateQp request{
      .pdn = context.pdn, .qp_type = IbQpType::kRc, .send_cqn = context.send_cqn, .recv_cqn = context.recv_cqn};
  device().has_old_work = first;
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = first})).ok());
  // All other numbers, round-robin, and then none.
  const uint32_t others = spec::kNic1.num_qps - spec::kRdmaFirstQpn - 1;
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < others; ++i) numbers.insert(bench().CreateQp(request));
  EXPECT_EQ(numbers.size(), others);
  EXPECT_FALSE(numbers.contains(first));
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kCreateQp, BytesOf(request)).error(), RdmaError::kNoFreeQp);
  device().SetSendOutstanding(first, 0);
  EXPECT_EQ(bench().CreateQp(request), first);
}

TEST_F(QueuePairs, QpDoesNotStartAgainBeforeDiscardedWorkHasGone) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  device().SetSendOutstanding(qpn, 3);
  EXPECT_EQ(bench().Modify(bench().ToInit(qpn)), RdmaError::kHandleBusy);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kErr)),
            RdmaError::kHandleBusy);  // it would be flushed twice
  EXPECT_EQ(bench().QueryQp(qpn).qp_state, IbQpState::kReset);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  device().SetSendOutstanding(qpn, 0);
  EXPECT_EQ(bench().Modify(bench().ToInit(qpn)), RdmaError::kOk);
}

TEST_F(QueuePairs, DestroyWithoutRingResetClearsThePositions) {
  Use({.profile = spec::Profile::kRfcV2, .has_ring_reset = false});
  const uint32_t qpn = bench().CreateQp(IbQpType::kUd);
  bench().Bring(qpn, IbQpState::kRts);
  auto queue = bench().Queue(bench().SendQueue(qpn));
  queue.next_avail = queue.next_used = 9;
  device().Set(MgmtTable::kVirtqueue, bench().SendQueue(qpn), queue);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn})).ok());
  queue = bench().Queue(bench().SendQueue(qpn));
  EXPECT_EQ(queue.next_avail, 0);
  EXPECT_FALSE(queue.stopped);
  EXPECT_TRUE(queue.enabled);
}

TEST_F(QueuePairs, EngineErrorIsReportedAndClearedByReset) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  device().SetEngineState(qpn, IbQpState::kErr);
  EXPECT_EQ(bench().QueryQp(qpn).qp_state, IbQpState::kErr);
  EXPECT_EQ(bench().Modify({.qpn = qpn, .attr_mask = Mask::kMinRnrTimer}), RdmaError::kAttributeNotAllowed);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kSqd)), RdmaError::kInvalidStateTransition);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kReset)), RdmaError::kOk);
  EXPECT_EQ(bench().QueryQp(qpn).qp_state, IbQpState::kReset);
}

TEST_F(QueuePairs, RtsClearsSendQueueError) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kUd);
  bench().Bring(qpn, IbQpState::kSqe);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kRts)), RdmaError::kOk);
  EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kRts);
}

// --- Virtqueues for RTR ----------------------------------------------------------------------------------------------

TEST_F(QueuePairs, RtrRequiresVirtqueuesOfUsedDirections) {
  bench().AddGid(0, 1);
  for (uint32_t send_wr : {0u, 4u}) {
    for (uint32_t recv_wr : {0u, 4u}) {
      for (unsigned enabled = 0; enabled < 16; ++enabled) {
        bench().Restart();
        bench().AddGid(0, 1);
        const uint32_t send_cqn = bench().CreateCq(), recv_cqn = bench().CreateCq();
        const uint32_t qpn = bench().CreateQp({.pdn = bench().CreatePd(),
                                               .qp_type = IbQpType::kRc,
                                               .send_cqn = send_cqn,
                                               .recv_cqn = recv_cqn,
                                               .cap = {.max_send_wr = send_wr, .max_recv_wr = recv_wr}});
        const uint32_t queues[] = {bench().SendQueue(qpn), bench().CqQueue(send_cqn), bench().ReceiveQueue(qpn),
                                   bench().CqQueue(recv_cqn)};
        for (unsigned i = 0; i < 4; ++i) {
          if ((enabled >> i & 1) != 0) device().EnableQueue(queues[i]);
        }
        EXPECT_EQ(bench().Modify(bench().ToInit(qpn)), RdmaError::kOk);
        const bool ready = (send_wr == 0 || (enabled & 3) == 3) && (recv_wr == 0 || (enabled & 12) == 12);
        EXPECT_EQ(bench().Modify(bench().ToRtr(qpn)), ready ? RdmaError::kOk : RdmaError::kQueueNotReady)
            << send_wr << " " << recv_wr << " " << enabled;
      }
    }
  }
}

TEST_F(QueuePairs, RtrRequiresAWorkingCq) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kInit);
  auto cq = device().Get<spec::TableCqContext>(MgmtTable::kCqContext, device().Qp(qpn).send_cqn);
  cq.failed = true;
  device().Set(MgmtTable::kCqContext, device().Qp(qpn).send_cqn, cq);
  EXPECT_EQ(bench().Modify(bench().ToRtr(qpn)), RdmaError::kQueueNotReady);
  cq.failed = false;
  device().Set(MgmtTable::kCqContext, device().Qp(qpn).send_cqn, cq);
  // A virtqueue that the engine stopped (vq_err) does not count as enabled.
  const uint32_t index = bench().SendQueue(qpn);
  auto queue = bench().Queue(index);
  queue.failed = true;
  device().Set(MgmtTable::kVirtqueue, index, queue);
  EXPECT_EQ(bench().Modify(bench().ToRtr(qpn)), RdmaError::kQueueNotReady);
  queue.failed = false;
  device().Set(MgmtTable::kVirtqueue, index, queue);
  EXPECT_EQ(bench().Modify(bench().ToRtr(qpn)), RdmaError::kOk);
}

// --- Draining --------------------------------------------------------------------------------------------------------

spec::RdmaEvent Drained(uint32_t qpn) { return {.event_type = spec::RdmaEventType::kSqDrained, .element = qpn}; }

class Draining : public FirmwareTest {
 protected:
  void SetUp() override { bench().AddGid(0, 1); }
  uint32_t Begin(uint16_t outstanding) {
    const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
    bench().Bring(qpn, IbQpState::kRts);
    device().SetSendOutstanding(qpn, outstanding);
    EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kSqd)), RdmaError::kOk);
    return qpn;
  }
};

TEST_F(Draining, CommandDoesNotWaitAndEventReportsTheEnd) {
  const uint32_t qpn = Begin(3);
  EXPECT_EQ(bench().QueryQp(qpn).qp_state, IbQpState::kSqd);
  EXPECT_EQ(bench().QueryQp(qpn).sq_draining, 1);
  EXPECT_TRUE(device().events.empty());
  device().SetSendOutstanding(qpn, 0);
  EXPECT_EQ(bench().QueryQp(qpn).sq_draining, 0);
  bench().Settle();
  EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{Drained(qpn)});
  bench().Settle();
  EXPECT_EQ(device().events.size(), 1u);
}

TEST_F(Draining, NothingChangesBeforeTheQueueIsDrained) {
  const uint32_t qpn = Begin(1);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kRts)), RdmaError::kInvalidStateTransition);
  EXPECT_EQ(bench().Modify({.qpn = qpn, .attr_mask = Mask::kTimeout, .timeout = 3}),
            RdmaError::kInvalidStateTransition);
  device().SetSendOutstanding(qpn, 0);
  EXPECT_EQ(bench().Modify({.qpn = qpn, .attr_mask = Mask::kTimeout, .timeout = 3}), RdmaError::kOk);
  EXPECT_EQ(bench().QueryQp(qpn).timeout, 3);
}

// Query can report the end of draining before the event.
TEST_F(Draining, RtsEndsDrainingWithoutLosingTheEvent) {
  const uint32_t qpn = Begin(1);
  // The drain completes between the firmware's last poll and the command.
  device().drains_at_fetch = qpn;
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kRts)), RdmaError::kOk);
  bench().Settle();
  EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{Drained(qpn)});
  EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kRts) << "the aborted drain must not take effect";
}

TEST_F(Draining, EndlessDrainBlocksNoOtherCommand) {
  const uint32_t stuck = Begin(1);
  const uint32_t other = bench().CreateQp(IbQpType::kRc);
  bench().Bring(other, IbQpState::kRts);
  EXPECT_EQ(bench().QueryQp(other).qp_state, IbQpState::kRts);
  EXPECT_EQ(bench().Modify(bench().ToState(other, IbQpState::kErr)), RdmaError::kOk);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = other})).ok());
  EXPECT_EQ(bench().QueryQp(stuck).sq_draining, 1);
  EXPECT_TRUE(device().events.empty());
  device().SetSendOutstanding(stuck, 0);
  bench().Settle();
  bench().Settle();
  EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{Drained(stuck)});
}

TEST_F(Draining, EveryDrainIsReported) {
  const uint32_t a = Begin(1), b = Begin(1), c = Begin(1);
  device().SetSendOutstanding(b, 0);
  for (int i = 0; i < 10; ++i) bench().Settle();
  EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{Drained(b)});
  device().SetSendOutstanding(c, 0);
  for (int i = 0; i < 10; ++i) bench().Settle();
  device().SetSendOutstanding(a, 0);
  for (int i = 0; i < 10; ++i) bench().Settle();
  EXPECT_EQ(device().events, (std::vector<spec::RdmaEvent>{Drained(b), Drained(c), Drained(a)}));
}

TEST_F(Draining, NoEventOfADestroyedResetOrFailedQp) {
  const uint32_t a = Begin(1), b = Begin(1), c = Begin(1), d = Begin(1);
  device().qp_operations.clear();
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = a})).ok());
  EXPECT_EQ(bench().Modify(bench().ToState(b, IbQpState::kReset)), RdmaError::kOk);
  EXPECT_EQ(bench().Modify(bench().ToState(d, IbQpState::kErr)), RdmaError::kOk);
  for (uint32_t qpn : {a, b, d}) {
    const auto last = std::find_if(device().qp_operations.rbegin(), device().qp_operations.rend(),
                                   [qpn](const auto& record) { return record.qpn == qpn; });
    ASSERT_NE(last, device().qp_operations.rend());
    EXPECT_NE(last->operation, QpOperation::kDrain) << "its drain was restarted";
  }
  device().SetEngineState(c, IbQpState::kErr);
  for (int i = 0; i < 10; ++i) bench().Settle();
  EXPECT_TRUE(device().events.empty());
  EXPECT_EQ(device().Qp(b).engine_state, IbQpState::kReset);
}

// If the device does not abort a drain for another operation, that operation waits for it, within the bound.
TEST_F(Draining, WaitForADrainIsBounded) {
  device().keeps_drains = true;
  const uint32_t a = Begin(1);
  const uint32_t b = bench().CreateQp(IbQpType::kUd);
  EXPECT_EQ(bench().Modify(bench().ToInit(b)), RdmaError::kInternal);
  EXPECT_TRUE(bench().control->fatal());
  (void)a;
}

}  // namespace
}  // namespace vireo::verif
