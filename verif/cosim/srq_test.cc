// SPDX-License-Identifier: Apache-2.0
// Shared receive queues: two hosts; queue pairs of the second take their receives from one queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/verbs/shared_receive_queue.h"
#include "sim/common/random.h"
#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbQpType;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaError;
using spec::RdmaEventType;
using Mask = spec::IbQpAttrMask;

constexpr uint32_t kElements = 3;
constexpr uint32_t kSlotBytes = 4096;  // of memory, for each receive
constexpr uint32_t kQkey = 0x1234;

class Srq : public SystemTest {
 protected:
  void SetUp() override {
    profile_ = spec::Profile::kVireo;  // the RFC has no shared receive queues
    Build();
    ASSERT_FALSE(HasFatalFailure());
    for (size_t i = 0; i < 2; ++i) {
      RdmaHost& host = system_->host(i);
      pd_.at(i) = host.device().CreatePd().value();
      cq_.at(i) = host.device().CreateCq(256, std::nullopt).value();
      memory_.at(i) = host.function().AllocateDma(32 * size_t{kSlotBytes}, 4096).value();
      region_.at(i) =
          pd_.at(i)
              ->Register(*memory_.at(i), spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite)
              .value();
      auto random = MakeRandom("srq" + std::to_string(i));
      Fill(*memory_.at(i), random);
    }
  }
  void TearDown() override {
    Destroy();
    for (size_t i = 0; i < 2; ++i) {
      region_.at(i).reset();
      memory_.at(i).reset();
      cq_.at(i).reset();
      pd_.at(i).reset();
    }
    SystemTest::TearDown();
  }
  void Destroy() {
    near_.clear();
    far_.clear();
    ah_.reset();
    srq_.reset();
  }

  void CreateSrq(uint32_t max_wr = 32) {
    auto created = pd_[1]->CreateSrq({.max_wr = max_wr, .max_sge = kElements});
    ASSERT_TRUE(created.ok()) << host::ToString(created.error());
    srq_ = *created;
  }
  verbs::QueuePairOptions Options(size_t host, IbQpType type) const {
    verbs::QueuePairOptions options{.type = type, .send_cq = cq_.at(host), .recv_cq = cq_.at(host)};
    options.max_send_wr = options.max_recv_wr = 16;
    options.max_send_sge = kElements;
    options.push = false;  // receives are posted at the same time
    if (host == 1) options.srq = srq_;
    return options;
  }
  // One more pair of connected queue pairs; the second takes its receives from the shared queue.
  void Connect(verbs::QueuePair::Connection connection = {.timeout = 16, .min_rnr_timer = 1}) {
    near_.push_back(pd_[0]->CreateQp(Options(0, IbQpType::kRc)).value());
    auto far = pd_[1]->CreateQp(Options(1, IbQpType::kRc));
    ASSERT_TRUE(far.ok()) << host::ToString(far.error());
    far_.push_back(*far);
    const std::array<verbs::QueuePair*, 2> qps = {near_.back().get(), far_.back().get()};
    connection.path_mtu = spec::IbMtu::kMtu256;
    for (size_t i = 0; i < 2; ++i) {
      connection.dest_qpn = qps.at(1 - i)->qpn();
      connection.path = system_->host(i).PathTo(system_->host(1 - i));
      const verbs::Status connected = qps.at(i)->Connect(connection);
      ASSERT_TRUE(connected.ok()) << host::ToString(connected.error());
    }
  }
  // A receive of `bytes` in the place of its wr_id, in several elements.
  void PostRecv(uint64_t wr_id, uint32_t bytes = kSlotBytes) {
    const uint32_t third = bytes / 3;
    const uint64_t at = (wr_id % 32) * kSlotBytes;
    const Elements list = {region_[1]->Sge(at, third), region_[1]->Sge(at + third, third),
                           region_[1]->Sge(at + 2 * third, bytes - 2 * third)};
    const verbs::Status posted = srq_->PostRecv({.wr_id = wr_id, .sg_list = list});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }
  // A SEND of pair `pair` from the place of its wr_id.
  void PostSend(size_t pair, uint64_t wr_id, uint32_t bytes) {
    const Elements list = {region_[0]->Sge((wr_id % 32) * kSlotBytes, bytes)};
    const verbs::Status posted =
        near_.at(pair)->PostSend({.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = list});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }
  std::optional<spec::RdmaCqReq> Next(size_t host, uint64_t timeout_ns = kSecondNs / 500) {
    return NextOf(*cq_.at(host), host, timeout_ns);
  }
  void ExpectData(uint64_t received, uint64_t sent, uint32_t bytes) {
    EXPECT_TRUE(std::equal(memory_[1]->data() + (received % 32) * kSlotBytes,
                           memory_[1]->data() + (received % 32) * kSlotBytes + bytes,
                           memory_[0]->data() + (sent % 32) * kSlotBytes))
        << "receive " << received << " of message " << sent;
  }
  // The next event of host 1 of this type; others are passed.
  std::optional<spec::RdmaEvent> NextEvent(RdmaEventType type, uint64_t timeout_ns = 500'000) {
    host::PciFunction& function = system_->host(1).function();
    const uint64_t deadline = function.NowNs() + timeout_ns;
    while (true) {
      auto event = system_->host(1).device().PollEvent();
      EXPECT_TRUE(event.ok());
      if (event.ok() && event->has_value()) {
        if ((*event)->kind == host::DeviceEvent::Kind::kRdma && (*event)->rdma.event_type == type)
          return (*event)->rdma;
        continue;
      }
      if (function.NowNs() >= deadline) return std::nullopt;
      RunFor(2'000);
    }
  }

  std::array<std::shared_ptr<verbs::ProtectionDomain>, 2> pd_;
  std::array<std::shared_ptr<verbs::CompletionQueue>, 2> cq_;
  std::array<host::DmaBuffer, 2> memory_;
  std::array<std::shared_ptr<verbs::MemoryRegion>, 2> region_;
  std::shared_ptr<verbs::SharedReceiveQueue> srq_;
  std::vector<std::shared_ptr<verbs::QueuePair>> near_, far_;
  std::shared_ptr<verbs::AddressHandle> ah_;
};

TEST_P(Srq, QueuePairsTakeReceivesInTheOrderOfTheirMessages) {
  CreateSrq();
  for (int i = 0; i < 2; ++i) Connect();
  if (HasFatalFailure()) return;
  // A long message of the first pair and short ones of the second: these pass it.
  for (uint64_t wr_id = 0; wr_id < 12; ++wr_id) PostRecv(wr_id);
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> sent;  // by QP and order
  std::array<uint64_t, 2> count{};
  uint64_t wr_id = 0;
  for (const uint32_t bytes : {4000U, 100U, 3500U, 1U, 0U, 700U}) {
    for (size_t pair = 0; pair < 2; ++pair) {
      sent[{far_[pair]->qpn(), count.at(pair)++}] = wr_id;
      PostSend(pair, wr_id, pair == 0 ? bytes : bytes / 50);
      ++wr_id;
    }
  }
  std::map<uint32_t, uint64_t> got;
  std::set<uint64_t> taken;
  for (int i = 0; i < 12; ++i) {
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess);
    const uint64_t message = sent.at({completion->qp_num, got[completion->qp_num]++});
    EXPECT_TRUE(taken.insert(completion->wr_id).second) << completion->wr_id;
    EXPECT_LT(completion->wr_id, 12U);
    ExpectData(completion->wr_id, message, completion->byte_len);
  }
  EXPECT_EQ(got[far_[0]->qpn()], 6U);
  EXPECT_EQ(got[far_[1]->qpn()], 6U);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
}

// Receives come back in another order than they were posted, and more are posted than the ring holds.
TEST_P(Srq, SlotsAreReusedInAnyOrder) {
  CreateSrq(8);
  for (int i = 0; i < 3; ++i) Connect();
  if (HasFatalFailure()) return;
  auto random = MakeRandom("srq.reuse");
  const int rounds = has_cheap_cycles() ? 120 : 24;
  uint64_t next_recv = 0, next_send = 0;
  for (; next_recv < 8; ++next_recv) PostRecv(next_recv);
  EXPECT_EQ(srq_->PostRecv({.wr_id = 99}).error().code, host::ErrorCode::kNoSpace);
  std::map<uint32_t, std::vector<std::pair<uint64_t, uint32_t>>> sent;
  for (int round = 0; round < rounds; ++round) {
    const size_t burst = 1 + UniformBelow(random, 8);
    for (size_t i = 0; i < burst; ++i, ++next_send) {
      const size_t pair = UniformBelow(random, 3);
      const auto bytes = static_cast<uint32_t>(UniformBelow(random, 4) == 0 ? 4000 : UniformBelow(random, 300));
      sent[far_[pair]->qpn()].emplace_back(next_send, bytes);
      PostSend(pair, next_send, bytes);
    }
    for (size_t i = 0; i < burst; ++i) {
      const auto completion = Next(1);
      ASSERT_TRUE(completion.has_value());
      ASSERT_EQ(completion->status, IbWcStatus::kSuccess);
      auto& messages = sent[completion->qp_num];
      ASSERT_FALSE(messages.empty());
      EXPECT_EQ(completion->byte_len, messages.front().second);
      ExpectData(completion->wr_id, messages.front().first, messages.front().second);
      messages.erase(messages.begin());
    }
    for (size_t i = 0; i < burst; ++i) ASSERT_EQ(Next(0)->status, IbWcStatus::kSuccess);
    for (size_t i = 0; i < burst; ++i, ++next_recv) PostRecv(next_recv);
    ASSERT_FALSE(HasFailure());
  }
}

// A long queue is taken to its last receive; then it is empty.
TEST_P(Srq, TenThousandReceivesAreTaken) {
  if (config().max_queue_entries < 16384) GTEST_SKIP() << "its queues are shorter";
  const uint64_t receives = has_cheap_cycles() ? 10'000 : 300;
  constexpr uint64_t kBatch = 12;  // work requests of a pair at a time
  CreateSrq(10'000);
  for (int i = 0; i < 2; ++i) Connect({.timeout = 16, .rnr_retry = 0, .min_rnr_timer = 1});
  if (HasFatalFailure()) return;
  for (uint64_t i = 0; i < receives; ++i) PostRecv(i, 48);
  RunFor(20'000);
  std::vector<bool> taken(receives);
  for (uint64_t begin = 0; begin < receives; begin += 2 * kBatch) {
    const uint64_t count = std::min(2 * kBatch, receives - begin);
    for (uint64_t i = 0; i < count; ++i) PostSend(i % 2, i, 48);
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(Next(0).value_or(spec::RdmaCqReq{.status = IbWcStatus::kGeneralErr}).status, IbWcStatus::kSuccess);
      const auto received = Next(1);
      ASSERT_TRUE(received.has_value());
      ASSERT_LT(received->wr_id, receives);
      EXPECT_FALSE(taken[received->wr_id]) << received->wr_id;
      taken[received->wr_id] = true;
    }
  }
  EXPECT_EQ(std::ranges::count(taken, true), static_cast<ptrdiff_t>(receives));
  PostSend(0, 1, 48);
  EXPECT_EQ(Next(0).value_or(spec::RdmaCqReq{}).status, IbWcStatus::kRnrRetryExcErr);
}

TEST_P(Srq, EmptyQueueIsReceiverNotReady) {
  CreateSrq();
  for (int i = 0; i < 2; ++i) Connect();
  if (HasFatalFailure()) return;
  PostSend(0, 1, 600);
  PostSend(1, 2, 10);
  ExpectNoneOf(*cq_[1], 1, 30'000);
  PostRecv(5);
  PostRecv(6);
  std::set<uint64_t> taken;
  for (int i = 0; i < 2; ++i) {
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    taken.insert(completion->wr_id);
  }
  EXPECT_EQ(taken, (std::set<uint64_t>{5, 6}));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
}

TEST_P(Srq, NoRetryEndsInAnError) {
  CreateSrq();
  Connect({.timeout = 16, .rnr_retry = 0, .min_rnr_timer = 1});
  if (HasFatalFailure()) return;
  PostSend(0, 1, 600);
  EXPECT_EQ(Next(0)->status, IbWcStatus::kRnrRetryExcErr);
}

TEST_P(Srq, LimitEventComesOnceAndCountsWhatIsLeft) {
  CreateSrq();
  for (int i = 0; i < 2; ++i) Connect();
  if (HasFatalFailure()) return;
  for (uint64_t wr_id = 0; wr_id < 6; ++wr_id) PostRecv(wr_id);
  ASSERT_TRUE(srq_->Arm(3).ok());
  EXPECT_EQ(srq_->Query()->srq_limit, 3U);
  const auto send = [&](size_t pair) {
    PostSend(pair, 1, 20);
    ASSERT_EQ(Next(0)->status, IbWcStatus::kSuccess);
    ASSERT_TRUE(Next(1).has_value());
  };
  for (size_t i = 0; i < 3; ++i) send(i % 2);  // three are left
  EXPECT_FALSE(NextEvent(RdmaEventType::kSrqLimitReached, 20'000).has_value());
  PostRecv(6);
  send(1);  // three are left, but the device learns of the new one with the event
  auto event = NextEvent(RdmaEventType::kSrqLimitReached);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->element, srq_->srqn());
  EXPECT_FALSE(srq_->ConfirmLimit().value());
  EXPECT_FALSE(NextEvent(RdmaEventType::kSrqLimitReached, 20'000).has_value());
  send(0);  // two
  event = NextEvent(RdmaEventType::kSrqLimitReached);
  ASSERT_TRUE(event.has_value());
  EXPECT_TRUE(srq_->ConfirmLimit().value());
  EXPECT_EQ(srq_->limit(), 0U);
  send(0);
  EXPECT_FALSE(NextEvent(RdmaEventType::kSrqLimitReached, 20'000).has_value());
  // Armed when it is reached already.
  ASSERT_TRUE(srq_->Arm(2).ok());
  EXPECT_TRUE(NextEvent(RdmaEventType::kSrqLimitReached).has_value());
  EXPECT_TRUE(srq_->ConfirmLimit().value());
  // Disarmed.
  ASSERT_TRUE(srq_->Arm(1).ok());
  ASSERT_TRUE(srq_->Arm(0).ok());
  send(1);
  EXPECT_FALSE(NextEvent(RdmaEventType::kSrqLimitReached, 20'000).has_value());
  EXPECT_EQ(srq_->Arm(33).error().rdma, RdmaError::kInvalidAttribute);
}

// Its own receive is flushed; those of the shared queue stay for the others.
TEST_P(Srq, QueuePairInErrorLeavesTheReceivesToOthers) {
  CreateSrq();
  for (int i = 0; i < 2; ++i) Connect();
  if (HasFatalFailure()) return;
  for (uint64_t wr_id = 0; wr_id < 4; ++wr_id) PostRecv(wr_id);
  ASSERT_TRUE(far_[0]->Modify({.qp_state = IbQpState::kErr}, Mask::kState).ok());
  const auto event = NextEvent(RdmaEventType::kQpLastWqeReached);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->element, far_[0]->qpn());
  EXPECT_FALSE(NextEvent(RdmaEventType::kQpLastWqeReached, 20'000).has_value());
  ExpectNoneOf(*cq_[1], 1, 20'000);
  for (uint64_t i = 0; i < 4; ++i) {
    PostSend(1, i, 50);
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    EXPECT_EQ(completion->qp_num, far_[1]->qpn());
    EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
  }
}

// The receive that a queue pair had taken comes back without a completion when the queue pair is destroyed.
TEST_P(Srq, DestroyedQueuePairReturnsTheReceiveThatItHeld) {
  CreateSrq(4);
  Connect();
  if (HasFatalFailure()) return;
  for (uint64_t wr_id = 0; wr_id < 4; ++wr_id) PostRecv(wr_id);
  // The first packets of a message whose last one the sender cannot read.
  const Elements list = {region_[0]->Sge(0, 1024), {.addr = 0x10, .length = 512, .lkey = 0xdeadbeef}};
  ASSERT_TRUE(near_[0]->PostSend({.wr_id = 1, .opcode = IbWrOpcode::kSend, .sg_list = list}).ok());
  EXPECT_EQ(Next(0)->status, IbWcStatus::kLocProtErr);
  RunFor(20'000);
  far_.clear();
  near_.clear();
  ExpectNoneOf(*cq_[1], 1, 10'000);
  // All of its places can be used again.
  Connect();
  if (HasFatalFailure()) return;
  for (uint64_t i = 0; i < 8; ++i) {
    PostSend(0, i, 30);
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
    if (i == 0) PostRecv(20);
    PostRecv(10 + i);
  }
}

// The queue goes on.
TEST_P(Srq, BadKeyFailsTheQueuePairThatTookTheReceive) {
  CreateSrq();
  for (int i = 0; i < 2; ++i) Connect();
  if (HasFatalFailure()) return;
  PostRecv(1);
  const Elements bad = {{.addr = 0x10, .length = 512, .lkey = 0xdeadbeef}};
  ASSERT_TRUE(srq_->PostRecv({.wr_id = 2, .sg_list = bad}).ok());
  PostRecv(3);
  PostSend(0, 1, 20);
  EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
  EXPECT_EQ(Next(1)->wr_id, 1U);
  PostSend(0, 2, 20);
  EXPECT_EQ(Next(0)->status, IbWcStatus::kRemOpErr);
  const auto failed = Next(1);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->wr_id, 2U);
  EXPECT_EQ(failed->status, IbWcStatus::kLocProtErr);
  PostSend(1, 3, 20);
  EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
  EXPECT_EQ(Next(1)->wr_id, 3U);
}

TEST_P(Srq, CommandsRefuseWhatDoesNotFit) {
  host::RoceCommands& roce = system_->host(1).device().base().roce();
  CreateSrq();
  Connect();
  if (HasFatalFailure()) return;
  // Another protection domain's, none, a queue pair's number.
  auto other = system_->host(1).device().CreatePd().value();
  EXPECT_EQ(other->CreateQp(Options(1, IbQpType::kRc)).error().rdma, RdmaError::kBadSrqn);
  spec::RdmaCmdCreateQp create{.pdn = pd_[1]->pdn(),
                               .qp_type = IbQpType::kRc,
                               .has_srq = 1,
                               .send_cqn = cq_[1]->cqn(),
                               .recv_cqn = cq_[1]->cqn(),
                               .srqn = far_[0]->qpn()};
  EXPECT_EQ(roce.CreateQp(create).error().rdma, RdmaError::kBadSrqn);
  create.srqn = ~0U;
  EXPECT_EQ(roce.CreateQp(create).error().rdma, RdmaError::kBadSrqn);
  // In use.
  EXPECT_EQ(roce.DestroySrq(srq_->srqn()).error().rdma, RdmaError::kHandleBusy);
  EXPECT_EQ(srq_->Query()->qps, 1U);
  EXPECT_EQ(srq_->Query()->max_wr, 32U);
  EXPECT_EQ(srq_->Query()->max_sge, kElements);
  // It is no queue pair.
  EXPECT_EQ(roce.DestroyQp(srq_->srqn()).error().rdma, RdmaError::kBadQpn);
  EXPECT_EQ(roce.QueryQp(srq_->srqn(), 0).error().rdma, RdmaError::kBadQpn);
  EXPECT_EQ(roce.QuerySrq(far_[0]->qpn()).error().rdma, RdmaError::kBadSrqn);
  EXPECT_EQ(roce.DestroySrq(far_[0]->qpn()).error().rdma, RdmaError::kBadSrqn);
  // Its own protection domain is in use.
  EXPECT_EQ(roce.DestroyPd(pd_[1]->pdn()).error().rdma, RdmaError::kHandleBusy);
  EXPECT_EQ(other->CreateSrq({.max_wr = 0}).error().rdma, RdmaError::kInvalidParameter);
  EXPECT_EQ(other->CreateSrq({.max_wr = config().max_queue_entries + 1}).error().rdma, RdmaError::kCapWrExceeded);
  EXPECT_EQ(other->CreateSrq({.max_sge = config().max_recv_sge + 1}).error().rdma, RdmaError::kCapSgeExceeded);
  if (!has_cheap_cycles()) return;
  std::vector<uint32_t> all;
  for (uint32_t i = 1; i < config().max_srqs; ++i) {
    const auto srqn = roce.CreateSrq({.pdn = other->pdn(), .max_wr = 1});
    ASSERT_TRUE(srqn.ok()) << host::ToString(srqn.error());
    all.push_back(*srqn);
  }
  EXPECT_EQ(roce.CreateSrq({.pdn = other->pdn(), .max_wr = 1}).error().rdma, RdmaError::kNoFreeSrq);
  for (const uint32_t srqn : all) EXPECT_TRUE(roce.DestroySrq(srqn).ok());
}

TEST_P(Srq, DatagramsTakeReceives) {
  CreateSrq();
  near_.push_back(pd_[0]->CreateQp(Options(0, IbQpType::kUd)).value());
  for (int i = 0; i < 2; ++i) far_.push_back(pd_[1]->CreateQp(Options(1, IbQpType::kUd)).value());
  ASSERT_TRUE(near_[0]->Start({.qkey = kQkey}).ok());
  for (const auto& qp : far_) ASSERT_TRUE(qp->Start({.qkey = kQkey}).ok());
  ah_ = pd_[0]->CreateAh(system_->host(0).PathTo(system_->host(1))).value();
  for (uint64_t wr_id = 0; wr_id < 4; ++wr_id) PostRecv(wr_id);
  for (uint64_t i = 0; i < 4; ++i) {
    const Elements list = {region_[0]->Sge(i * kSlotBytes, 200)};
    ASSERT_TRUE(near_[0]
                    ->PostSend({.wr_id = i,
                                .opcode = IbWrOpcode::kSend,
                                .sg_list = list,
                                .remote_qpn = far_[i % 2]->qpn(),
                                .remote_qkey = kQkey,
                                .ah = ah_.get()})
                    .ok());
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    EXPECT_EQ(completion->qp_num, far_[i % 2]->qpn());
    EXPECT_EQ(completion->byte_len, 200U + spec::kRdmaUdGrhBytes);
    EXPECT_EQ(Next(0)->status, IbWcStatus::kSuccess);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Srq, testing::ValuesIn(EveryDeviceWithEveryRing()), NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
