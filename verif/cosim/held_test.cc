// SPDX-License-Identifier: Apache-2.0
// Stops and flushes while the transmitter is held, as by a peer's PAUSE without end: every command is answered, of the
// tenant and of others, nothing of a stopped queue pair leaves later, and its next lifetime meets none of its work.
// Memory is unmapped right behind the answer, so any later access is a violation.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "verif/cosim/pair_test.h"
#include "verif/cosim/tenants.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using Mask = spec::IbQpAttrMask;

constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
// Far longer than all commands of a case take.
constexpr Picoseconds kHold = 2'500 * kMicrosecond;
// A command, with the resets of its queues.
constexpr uint64_t kMostNs = 200'000;
constexpr uint32_t kMacBytes = 32'768;
constexpr uint32_t kMtuBytes = 1024;

class Held : public PairTest {
 protected:
  // More than fits between the queue pair and the line.
  void Prepare(size_t memory_bytes) {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    Connect({.memory_bytes = memory_bytes, .connection = {.timeout = 10}});
    ASSERT_FALSE(HasFatalFailure());
  }
  std::unique_ptr<ConnectedPair> MakePair(size_t memory_bytes = 65536) {
    std::string error;
    auto made = MakeConnectedPair(system_->host(0), system_->host(1), {.memory_bytes = memory_bytes}, &error);
    EXPECT_NE(made, nullptr) << error;
    return made;
  }
  // The line of host 0 is busy with a frame that the peer drops, because it is too long.
  void Hold() {
    Wire& wire = system_->topology().wire(0);
    WireFrame frame;
    frame.bytes.resize(kHold * wire.parameters().rate_mbps / (8 * 1'000'000));
    wire.Send(0, system_->scheduler().now(), std::move(frame));
    until_ = system_->scheduler().now() + kHold;
  }
  void ExpectHeld() const { EXPECT_LT(system_->scheduler().now(), until_) << "the commands waited for the wire"; }
  void Release() {
    if (const Picoseconds now = system_->scheduler().now(); now < until_) system_->topology().RunFor(until_ - now);
  }
  template <typename Command>
  void Timed(const char* what, Command command) {
    const uint64_t begin = system_->host(0).function().NowNs();
    command();
    EXPECT_LT(system_->host(0).function().NowNs() - begin, kMostNs) << what;
  }
  void Move(verbs::QueuePair& qp, IbQpState state) {
    spec::RdmaCmdModifyQp attributes;
    attributes.qp_state = state;
    const verbs::Status moved = qp.Modify(attributes, Mask::kState);
    EXPECT_TRUE(moved.ok()) << host::ToString(moved.error());
  }
  // One try; the driver's own tries again.
  spec::RdmaError TryInit(uint32_t qpn) {
    host::CommandChannel& control = system_->host(0).device().net().control();
    const auto answer = control.Command<spec::RdmaCmdModifyQp, host::NoPayload>(
        spec::ConstantsOf(profile_).net_ctrl_class_roce, static_cast<uint8_t>(spec::RdmaCtrlCmd::kModifyQp),
        spec::RdmaCmdModifyQp{
            .qpn = qpn, .attr_mask = Mask::kState | Mask::kAccessFlags, .qp_state = IbQpState::kInit});
    return answer.ok() ? spec::RdmaError::kOk : answer.error().rdma;
  }
  void ConnectTo(verbs::QueuePair& qp, size_t host, uint32_t dest_qpn, uint32_t local_psn, uint32_t remote_psn) {
    verbs::QueuePair::Connection connection;
    connection.dest_qpn = dest_qpn;
    connection.local_psn = local_psn;
    connection.remote_psn = remote_psn;
    connection.path = system_->host(host).PathTo(system_->host(1 - host));
    const verbs::Status connected = qp.Connect(connection);
    ASSERT_TRUE(connected.ok()) << host::ToString(connected.error());
  }
  static void Write(ConnectedPair& pair, uint64_t wr_id, uint32_t bytes, IbWrOpcode opcode = IbWrOpcode::kRdmaWrite) {
    const spec::RdmaSge sge = pair.side[0].region->Sge(0, bytes);
    const verbs::Status posted = pair.side[0].qp->PostSend({.wr_id = wr_id,
                                                            .opcode = opcode,
                                                            .sg_list = {&sge, 1},
                                                            .remote_addr = pair.side[1].region->address(),
                                                            .rkey = pair.side[1].region->rkey()});
    ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
  }

  Picoseconds until_ = 0;
};

// Work requests, replays of a long message, packets in the payload buffer and READs of both directions wait for the
// wire.
TEST_P(Held, CommandsAreAnswered) {
  constexpr uint32_t kBytes = 512 * 1024;
  Prepare(kBytes);
  auto flushed = MakePair(), reset = MakePair(), beside = MakePair();
  ASSERT_TRUE(flushed && reset && beside);
  CommandTenant other(*system_, {.posts = 4});
  Hold();
  Write(*pair_, 1, kBytes);
  Write(*pair_, 2, 4096, IbWrOpcode::kRdmaRead);
  // Those that are not stopped go first: the others wait behind them.
  for (const auto* one : {&beside, &flushed, &reset}) {
    for (uint64_t i = 0; i < 8; ++i) Write(**one, i, 20'000);
    Write(**one, 8, 3000, IbWrOpcode::kRdmaRead);
  }
  // The peer reads, too.
  const spec::RdmaSge sge = far().region->Sge(0, 30'000);
  PostSend({.wr_id = 3,
            .opcode = IbWrOpcode::kRdmaRead,
            .sg_list = {&sge, 1},
            .remote_addr = near().region->address(),
            .rkey = near().region->rkey()},
           1);
  RunFor(100'000);
  ExpectHeld();

  const Bytes before = Copy(*far().memory);
  const uint32_t qpn = near().qp->qpn();
  Timed("destroy_qp", [&] { near().qp.reset(); });
  Timed("dereg_mr", [&] { near().region.reset(); });
  near().memory.reset();
  Timed("modify_qp to ERR", [&] { Move(*flushed->side[0].qp, IbQpState::kErr); });
  Timed("modify_qp to RESET", [&] { Move(*reset->side[0].qp, IbQpState::kReset); });
  // Its work is still behind that of others.
  EXPECT_EQ(TryInit(reset->side[0].qp->qpn()), spec::RdmaError::kHandleBusy);
  EXPECT_EQ(other.Round(), "");
  EXPECT_LT(other.longest_destroy_ns(), kMostNs);
  EXPECT_LT(other.longest_deregister_ns(), kMostNs);
  auto again = MakePair();
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->side[0].qp->qpn(), qpn) << "the number is not free before its work has gone";
  ExpectHeld();

  // What the MAC had leaves, and nothing else of it.
  Release();
  Settle();
  uint32_t last = 0;
  for (uint32_t i = 0; i < kBytes; ++i) {
    if (far().memory->data()[i] != before[i]) last = i;
  }
  EXPECT_LT(last, kMacBytes + 4 * kMtuBytes);
  for (uint64_t i = 0; i < 9; ++i) {
    const auto completion = NextOf(*beside->side[0].cq, 0, kSecondNs / 10);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
  }
  for (uint64_t i = 0; i < 9; ++i) {
    const auto completion = NextOf(*flushed->side[0].cq, 0, kSecondNs / 10);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
  }
  ExpectNoneOf(*reset->side[0].cq, 0, 20'000);
  // It starts again, and works.
  Move(*reset->side[1].qp, IbQpState::kReset);
  ASSERT_NO_FATAL_FAILURE(ConnectTo(*reset->side[0].qp, 0, reset->side[1].qp->qpn(), 5000, 7000));
  ASSERT_NO_FATAL_FAILURE(ConnectTo(*reset->side[1].qp, 1, reset->side[0].qp->qpn(), 7000, 5000));
  for (ConnectedPair* const one : {reset.get(), again.get()}) {
    Write(*one, 77, 20'000);
    const auto completion = NextOf(*one->side[0].cq, 0, kSecondNs / 10);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, 77U);
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
  }
  for (auto* one : {&flushed, &reset, &beside, &again}) one->reset();
}

// All of its packets are read and wait behind another's, so the number is free at once, for another peer: they do not
// leave with the new path, nor with the old one.
TEST_P(Held, NextLifetimeMeetsNoPacketOfTheLastOne) {
  Prepare(65536);
  auto busy = MakePair(), next = MakePair();
  ASSERT_TRUE(busy && next);
  const uint32_t qpn = near().qp->qpn();
  // The next lifetime has the same PSNs, so its peer would take old packets for new ones.
  const auto fresh = near().qp->Query();
  ASSERT_TRUE(fresh.ok());
  const uint32_t psn = fresh->sq_psn;
  const auto expected = Memory();
  Hold();
  // Fills the MAC and leaves a rest before it.
  Write(*busy, 1, kMacBytes + 4 * kMtuBytes);
  RunFor(50'000);
  Write(*pair_, 2, 2000, IbWrOpcode::kSend);
  Write(*pair_, 3, 500);
  RunFor(50'000);
  ExpectHeld();
  Timed("modify_qp to RESET", [&] { Move(*near().qp, IbQpState::kReset); });
  EXPECT_EQ(TryInit(qpn), spec::RdmaError::kOk) << "nothing of it is in progress but packets";
  Timed("modify_qp to RESET", [&] { Move(*near().qp, IbQpState::kReset); });
  // The only two that name each other, so that the monitor knows whose packets it sees.
  next->side[0].qp.reset();
  Move(*far().qp, IbQpState::kReset);
  Move(*next->side[1].qp, IbQpState::kReset);
  ASSERT_NO_FATAL_FAILURE(ConnectTo(*near().qp, 0, next->side[1].qp->qpn(), psn, 7000));
  ASSERT_NO_FATAL_FAILURE(ConnectTo(*next->side[1].qp, 1, qpn, 7000, psn));
  const spec::RdmaSge sge = next->side[1].region->Sge(0, 4096);
  ASSERT_TRUE(next->side[1].qp->PostRecv({.wr_id = 21, .sg_list = {&sge, 1}}).ok());
  Write(*pair_, 4, 1500, IbWrOpcode::kSend);
  ExpectHeld();
  Release();
  const auto received = NextOf(*next->side[1].cq, 1, kSecondNs / 10);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->wr_id, 21U);
  EXPECT_EQ(received->byte_len, 1500U);
  ExpectNext(0, 4, IbWcStatus::kSuccess);
  ExpectNone(1, 100'000);
  ExpectMemory(expected);
  busy.reset();
  next.reset();
}

INSTANTIATE_TEST_SUITE_P(Devices, Held,
                         testing::Values(EveryDeviceAndRing{"model", &spec::kNic100, false},
                                         EveryDeviceAndRing{"model", &spec::kNic1, true},
                                         EveryDeviceAndRing{"lockstep", &spec::kNic1, false},
                                         EveryDeviceAndRing{"lockstep", &spec::kNic100, true},
                                         EveryDeviceAndRing{"rtl", &spec::kNic1, true}),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
