// SPDX-License-Identifier: Apache-2.0
// UC, UD and GSI: a send work request that completes in error stops only the send queue (SQE), until the driver moves
// it back to RTS; and the first packet that a connection receives before RTS is reported.
// [IBTA vol. 1, 10.3.1.6, 11.6.3.1]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbQpType;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaEventType;
using Mask = spec::IbQpAttrMask;

constexpr uint32_t kBytes = 300;
constexpr uint32_t kReceiveBytes = spec::kRdmaUdGrhBytes + kBytes;
constexpr uint64_t kReceive = 16'384;  // offset of the receives

// Common part of connections and datagrams.
template <typename Base>
class SendHalf : public Base {
 protected:
  verbs::Status Move(size_t number, IbQpState state) {
    return this->side(number).qp->Modify({.qp_state = state}, Mask::kState);
  }
  void ExpectState(size_t number, IbQpState state) {
    auto answer = this->side(number).qp->Query();
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->qp_state, state) << spec::ToString(answer->qp_state);
  }
  std::vector<spec::RdmaEvent> Events(size_t number) {
    std::vector<spec::RdmaEvent> events;
    for (;;) {
      auto event = this->system_->host(number).device().PollEvent();
      if (!event.ok() || !event->has_value()) return events;
      EXPECT_EQ((*event)->kind, host::DeviceEvent::Kind::kRdma);
      events.push_back((*event)->rdma);
    }
  }
  void Receive(size_t number, uint64_t wr_id) {
    this->PostRecv(number, wr_id, {this->side(number).region->Sge(kReceive, kReceiveBytes)});
  }
};

// --- Datagrams

class SqeDatagram : public SendHalf<SystemTestWith<DatagramPair>> {
 protected:
  void Connect(IbQpType type) {
    pair_.reset();
    DatagramPairOptions options;
    options.qp.type = type;
    if (type == IbQpType::kGsi) options.qkey = {spec::kGsiQkey, spec::kGsiQkey};
    std::string error;
    pair_ = MakeDatagramPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
  }
  void Send(uint64_t wr_id, size_t from = 0, bool good = true) {
    const spec::RdmaSge sge = side(from).region->Sge(0, kBytes);
    auto request = pair_->To(from, {.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = {&sge, 1}});
    if (!good) request.ah = nullptr;
    PostSend(request, from);
  }
};

TEST_P(SqeDatagram, FailedSendStopsOnlyTheSendQueueUntilModify) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  for (const IbQpType type : {IbQpType::kUd, IbQpType::kGsi}) {
    SCOPED_TRACE(spec::ToString(type));
    Connect(type);
    ASSERT_FALSE(HasFatalFailure());
    for (uint64_t i = 0; i < 2; ++i) Receive(1, 100 + i);
    Receive(0, 200);
    Send(1);
    Send(2, 0, false);
    Send(3);
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ExpectNext(0, 2, IbWcStatus::kLocQpOpErr);
    ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    ExpectNext(1, 100, IbWcStatus::kSuccess);
    ExpectState(0, IbQpState::kSqe);
    Send(4);
    ExpectNext(0, 4, IbWcStatus::kWrFlushErr);
    Send(5, 1);  // it still receives
    ExpectNext(1, 5, IbWcStatus::kSuccess);
    ExpectNext(0, 200, IbWcStatus::kSuccess);
    ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
    ExpectState(0, IbQpState::kRts);
    Send(6);
    ExpectNext(0, 6, IbWcStatus::kSuccess);
    ExpectNext(1, 101, IbWcStatus::kSuccess);
    ExpectNone(0);
    ExpectNone(1);
    EXPECT_TRUE(Events(0).empty());
    EXPECT_TRUE(Events(1).empty());
  }
}

// --- Connections

class Sqe : public SendHalf<PairTest> {
 protected:
  void BuildAndConnect(IbQpType type = IbQpType::kUc) {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    ConnectedPairOptions options;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.qp.type = type;
    options.qp.max_send_sge = 2;
    Connect(options);
  }
  void Send(uint64_t wr_id, size_t from = 0, bool good = true) {
    Elements what = {side(from).region->Sge(0, kBytes)};
    if (!good) what[0].lkey ^= 1;
    verbs::SendRequest request{.wr_id = wr_id, .opcode = IbWrOpcode::kSendWithImm, .sg_list = what};
    for (size_t i = 0; i < 4; ++i) request.imm_data[i] = static_cast<uint8_t>(wr_id >> (8 * i));
    PostSend(request, from);
  }
};

TEST_P(Sqe, FailedUcSendStopsOnlyTheSendQueueUntilModify) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  for (uint64_t i = 0; i < 2; ++i) Receive(1, 100 + i);
  Receive(0, 200);
  Send(1);
  Send(2, 0, false);
  Send(3);
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  ExpectNext(0, 2, IbWcStatus::kLocProtErr);
  ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
  ExpectNext(1, 100, IbWcStatus::kSuccess);
  ExpectState(0, IbQpState::kSqe);
  Send(4);
  ExpectNext(0, 4, IbWcStatus::kWrFlushErr);
  Send(5, 1);
  ExpectNext(1, 5, IbWcStatus::kSuccess);
  ExpectNext(0, 200, IbWcStatus::kSuccess);
  ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
  ExpectState(0, IbQpState::kRts);
  Send(6);
  ExpectNext(0, 6, IbWcStatus::kSuccess);
  ExpectNext(1, 101, IbWcStatus::kSuccess);
  EXPECT_TRUE(Events(0).empty());
  EXPECT_TRUE(Events(1).empty());
}

TEST_P(Sqe, TransitionsToRtsErrAndReset) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  Send(1, 0, false);
  ExpectNext(0, 1, IbWcStatus::kLocProtErr);
  ExpectState(0, IbQpState::kSqe);
  for (const IbQpState to : {IbQpState::kInit, IbQpState::kRtr, IbQpState::kSqd, IbQpState::kSqe}) {
    EXPECT_FALSE(Move(0, to).ok()) << spec::ToString(to);
  }
  ExpectState(0, IbQpState::kSqe);
  Receive(0, 200);
  ASSERT_TRUE(Move(0, IbQpState::kErr).ok());
  ExpectNext(0, 200, IbWcStatus::kWrFlushErr);
  ASSERT_TRUE(Move(0, IbQpState::kReset).ok());
  ExpectState(0, IbQpState::kReset);
  EXPECT_TRUE(Events(0).empty());
}

TEST_P(Sqe, PartlySentMessageIsLostAndTheNextArrives) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  const Elements into = {far().region->Sge(kReceive, 1000)};
  PostRecv(1, 100, into);
  Elements what = {near().region->Sge(0, 600), near().region->Sge(700, 100)};
  what[1].lkey ^= 1;
  PostSend({.wr_id = 1, .opcode = IbWrOpcode::kSend, .sg_list = what});
  ExpectNext(0, 1, IbWcStatus::kLocProtErr);
  ExpectState(0, IbQpState::kSqe);
  ExpectNone(1);
  ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
  auto expected = Memory();
  Scatter(far(), into, Gather(near(), {near().region->Sge(0, kBytes)}), expected[1]);
  Send(2);
  ExpectNext(0, 2, IbWcStatus::kSuccess);
  ExpectNext(1, 100, IbWcStatus::kSuccess);
  Settle();
  ExpectMemory(expected);
}

// The bus refuses to read a packet of the message: it must not complete with success, although its last packet leaves.
TEST_P(Sqe, UnreadablePacketFailsItsUcMessageAndThePeerDiscardsIt) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  PcieLink& pcie = system_->host(0).station().pcie();
  uint64_t wr_id = 0;
  // The second packet of five, the first, the last, and a message of one.
  for (const auto& [bytes, packet] : {std::pair{1100U, 1U}, {1100U, 0U}, {1100U, 4U}, {200U, 0U}}) {
    SCOPED_TRACE(testing::Message() << "packet " << packet << " of " << bytes << " bytes");
    const Elements into = {far().region->Sge(kReceive, 2000)};
    PostRecv(1, 100, into);
    pcie.AddFault({.kind = DmaFault::Kind::kUnsupportedRequest,
                   .address = near().memory->address() + 4096 + 256 * packet,
                   .bytes = 1});
    Send(wr_id + 1);  // arrives: its payload is elsewhere
    ExpectNext(0, wr_id + 1, IbWcStatus::kSuccess);
    ExpectNext(1, 100, IbWcStatus::kSuccess);
    PostRecv(1, 101, into);
    const Elements what = {near().region->Sge(4096, bytes)};
    PostSend({.wr_id = wr_id + 2, .opcode = IbWrOpcode::kSend, .sg_list = what});
    Send(wr_id + 3);
    ExpectNext(0, wr_id + 2, IbWcStatus::kLocQpOpErr);
    ExpectNext(0, wr_id + 3, IbWcStatus::kWrFlushErr);
    ExpectState(0, IbQpState::kSqe);
    Settle();
    ExpectNone(0);
    pcie.ClearFaults();
    ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
    // The message behind the failed one may have left before the QP stopped; it was flushed nevertheless. So one more
    // receive may be needed.
    PostRecv(1, 102, into);
    Send(wr_id + 4);
    ExpectNext(0, wr_id + 4, IbWcStatus::kSuccess);
    uint32_t last = 0;
    for (unsigned i = 0; i < 2 && last != wr_id + 4; ++i) {
      const auto completion = Next(1);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, 101 + i);
      EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
      last = completion->imm_data[0];
      EXPECT_TRUE(last == wr_id + 3 || last == wr_id + 4) << "not the message that failed: " << last;
      if (last == wr_id + 4 && i == 0) {
        // Consume the spare receive.
        Send(wr_id + 5);
        ExpectNext(0, wr_id + 5, IbWcStatus::kSuccess);
        ExpectNext(1, 102, IbWcStatus::kSuccess);
      }
    }
    EXPECT_EQ(last, wr_id + 4);
    EXPECT_TRUE(Events(0).empty());
    EXPECT_TRUE(Events(1).empty());
    wr_id += 10;
  }
}

// A part behind the first burst is requested like a retransmission, but its failure stops the send half only, too.
TEST_P(Sqe, UcErrorBehindTheFirstBurstEndsInSqe) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  ConnectedPairOptions options;
  options.path_mtu = spec::IbMtu::kMtu4096;
  options.qp.type = IbQpType::kUc;
  options.qp.max_send_sge = 2;
  const uint32_t burst = config().send_burst_bytes;
  options.memory_bytes = 4 * burst + 40'000;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  Elements what = {near().region->Sge(0, burst + 40'000), near().region->Sge(0, 1000)};
  what[1].lkey ^= 1;
  PostSend(Remote(IbWrOpcode::kRdmaWriteWithImm, 1, what, 0));
  Send(2);
  constexpr uint64_t kTimeout = 10 * kSecondNs / 1000;  // a burst takes more than 1 ms on a slow wire
  ExpectNext(0, 1, IbWcStatus::kLocProtErr, kTimeout);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
  ExpectState(0, IbQpState::kSqe);
  ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
  // One burst and more, again: nothing of the message before hinders it.
  Receive(1, 100);
  what = {near().region->Sge(0, burst), near().region->Sge(0, burst)};
  PostSend(Remote(IbWrOpcode::kRdmaWriteWithImm, 3, what, burst));
  ExpectNext(0, 3, IbWcStatus::kSuccess, kTimeout);
  ExpectNext(1, 100, IbWcStatus::kSuccess, kTimeout);
  EXPECT_TRUE(Events(0).empty());
  EXPECT_TRUE(Events(1).empty());
}

// Posts without checking anything, while recovery starts as soon as a failure is seen.
TEST_P(Sqe, EveryMessageIsExecutedOrFlushedInOrder) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  auto random = MakeRandom("sqe");
  constexpr uint64_t kMessages = 120;
  std::map<uint64_t, bool> good;
  std::vector<IbWcStatus> statuses;
  uint64_t posted = 0, receives = 0, failures = 0;
  std::vector<uint64_t> sent, received;
  // Polls all completions.
  const auto poll = [&](size_t number) {
    std::array<spec::RdmaCqReq, 64> completions;
    const auto count = side(number).cq->Poll(completions);
    ASSERT_TRUE(count.ok());
    for (size_t i = 0; i < *count; ++i) {
      const spec::RdmaCqReq& completion = completions.at(i);
      if (number == 1) {
        ASSERT_EQ(completion.status, IbWcStatus::kSuccess);
        received.push_back(completion.imm_data[0]);
        continue;
      }
      ASSERT_EQ(completion.wr_id, statuses.size());
      statuses.push_back(completion.status);
      if (completion.status == IbWcStatus::kSuccess) {
        EXPECT_TRUE(good.at(completion.wr_id));
        sent.push_back(completion.wr_id);
      } else if (completion.status == IbWcStatus::kLocProtErr) {
        EXPECT_FALSE(good.at(completion.wr_id));
        ++failures;
        ASSERT_TRUE(Move(0, IbQpState::kRts).ok());
      } else {
        EXPECT_EQ(completion.status, IbWcStatus::kWrFlushErr);
        // After a failure, or after another one of those.
        ASSERT_NE(completion.wr_id, 0U);
        EXPECT_NE(statuses.at(completion.wr_id - 1), IbWcStatus::kSuccess);
      }
    }
  };
  while (statuses.size() != kMessages && !HasFailure()) {
    while (receives < posted + 8 && receives - received.size() < 32) Receive(1, receives++);
    for (auto burst = UniformBelow(random, 8); burst != 0 && posted != kMessages; --burst) {
      // A datagram may still wait for a slow wire: including those, fewer outstanding than there are receives.
      if (posted - statuses.size() >= 16 || sent.size() - received.size() >= 12) break;
      good[posted] = UniformBelow(random, 12) != 0;
      Send(posted, 0, good[posted]);
      ++posted;
    }
    RunFor(UniformBelow(random, 3000));
    ASSERT_NO_FATAL_FAILURE(poll(0));
    ASSERT_NO_FATAL_FAILURE(poll(1));
  }
  Settle();
  ASSERT_NO_FATAL_FAILURE(poll(1));
  EXPECT_EQ(received, sent);
  EXPECT_NE(failures, 0U);
  EXPECT_FALSE(sent.empty());
  EXPECT_TRUE(Events(0).empty());
}

TEST_P(Sqe, FailedRcSendMovesTheQpToErrAndIsReportedOnce) {
  BuildAndConnect(IbQpType::kRc);
  ASSERT_FALSE(HasFatalFailure());
  Receive(0, 200);
  Send(1, 0, false);
  Send(2);
  ExpectNext(0, 1, IbWcStatus::kLocProtErr);
  std::vector<uint64_t> flushed;
  for (int i = 0; i < 2; ++i) {
    const auto completion = Next(0);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, IbWcStatus::kWrFlushErr);
    flushed.push_back(completion->wr_id);
  }
  std::ranges::sort(flushed);
  EXPECT_EQ(flushed, (std::vector<uint64_t>{2, 200}));
  ExpectState(0, IbQpState::kErr);
  EXPECT_TRUE(Events(0).empty()) << "its completion reports it";
}

// --- The first packet

TEST_P(Sqe, FirstPacketBeforeRtsIsReportedOnce) {
  BuildAndConnect();
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint32_t kPsn = 0xffffff;
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kRc}) {
    SCOPED_TRACE(spec::ToString(type));
    std::array<std::shared_ptr<verbs::QueuePair>, 2> qp;
    for (size_t i = 0; i < 2; ++i) {
      auto made = side(i).pd->CreateQp({.type = type, .send_cq = side(i).cq, .recv_cq = side(i).cq, .push = false});
      ASSERT_TRUE(made.ok());
      qp.at(i) = *made;
    }
    const auto connection = [&](size_t i) {
      return verbs::QueuePair::Connection{.dest_qpn = qp.at(1 - i)->qpn(),
                                          .local_psn = kPsn,
                                          .remote_psn = kPsn,
                                          .path_mtu = spec::IbMtu::kMtu256,
                                          .path = system_->host(i).PathTo(system_->host(1 - i))};
    };
    ASSERT_TRUE(qp[0]->Connect(connection(0)).ok());
    // The passive side of a connection that is being established.
    const bool reliable = type == IbQpType::kRc;
    const auto other = connection(1);
    ASSERT_TRUE(
        qp[1]
            ->Modify({.qp_state = IbQpState::kInit, .qp_access_flags = other.access}, Mask::kState | Mask::kAccessFlags)
            .ok());
    ASSERT_TRUE(qp[1]
                    ->Modify({.qp_state = IbQpState::kRtr,
                              .path_mtu = other.path_mtu,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .rq_psn = other.remote_psn,
                              .dest_qp_num = other.dest_qpn,
                              .ah_attr = other.path},
                             Mask::kState | Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn |
                                 (reliable ? Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer : 0))
                    .ok());
    const spec::RdmaSge from = near().region->Sge(0, kBytes), to = far().region->Sge(kReceive, kBytes);
    const auto carry = [&](uint64_t wr_id) {
      ASSERT_TRUE(qp[1]->PostRecv({.wr_id = wr_id, .sg_list = {&to, 1}}).ok());
      ASSERT_TRUE(qp[0]->PostSend({.wr_id = wr_id, .sg_list = {&from, 1}}).ok());
      for (size_t i = 0; i < 2; ++i) {
        const auto completion = Next(i);
        ASSERT_TRUE(completion.has_value());
        EXPECT_EQ(completion->wr_id, wr_id);
        EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
        EXPECT_EQ(completion->qp_num, qp.at(i)->qpn());
      }
    };
    for (uint64_t i = 0; i < 2; ++i) ASSERT_NO_FATAL_FAILURE(carry(i));
    Settle();
    const auto events = Events(1);
    ASSERT_EQ(events.size(), has_additions() ? 1U : 0U);
    for (const spec::RdmaEvent& event : events) {
      EXPECT_EQ(event.event_type, RdmaEventType::kCommEst);
      EXPECT_EQ(event.element, qp[1]->qpn());
      EXPECT_EQ(event.code, 0U);
    }
    ASSERT_TRUE(
        qp[1]
            ->Modify({.qp_state = IbQpState::kRts,
                      .max_rd_atomic = 1,
                      .timeout = 14,
                      .retry_cnt = 7,
                      .rnr_retry = 7,
                      .sq_psn = other.local_psn},
                     Mask::kState | Mask::kSqPsn |
                         (reliable ? Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic : 0))
            .ok());
    ASSERT_NO_FATAL_FAILURE(carry(2));
    Settle();
    EXPECT_TRUE(Events(1).empty());
    EXPECT_TRUE(Events(0).empty());
  }
}

VIREO_ON_EVERY_DEVICE(SqeDatagram);
VIREO_ON_EVERY_DEVICE(Sqe);

}  // namespace
}  // namespace vireo::sim
