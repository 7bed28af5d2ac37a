// SPDX-License-Identifier: Apache-2.0
// The responder: queue pairs with a shared receive queue.
#include <gtest/gtest.h>

#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

constexpr uint32_t kSrq = 9;
constexpr uint32_t kOther = 6;  // another QP of it

// The completion of a receive of the shared queue.
spec::RxPlace Shared(spec::RxPlace place) {
  place.completion.vq_index = kFirstReceiveQueue + 2 * kSrq;
  place.completion.by_id = true;
  return place;
}
// It goes back to the driver without a CQE.
spec::RxPlace Returned(const Posted& posted) {
  spec::RxPlace place = Shared(Flushed(posted));
  place.completion = {.vq_index = place.completion.vq_index, .head = posted.head, .by_id = true};
  return place;
}

struct SharedReady : Ready {
  SharedReady() : Ready({.srq = kSrq}) { Configure({.qpn = kOther, .srq = kSrq}, IbQpState::kRts, 100); }
  void SendFirst(const Posted& posted) {
    const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
    Expect(first, Scatter(first, 0, posted.elements.at(0).addr, kMtu));
  }
};

const spec::QpFailure kLast{.qpn = kQpn, .event_type = RdmaEventType::kQpLastWqeReached};

TEST(ResponderSrq, MessagesTakeReceivesOfTheSharedQueue) {
  SharedReady bench;
  const Posted one = bench.host.Post(kSrq, {Host::Element(0x1000, kMtu), Host::Element(0x3000, 10)});
  const Posted two = bench.host.Post(kSrq, {Host::Element(0x9000, 100)});
  bench.host.Post(kQpn, {Host::Element(0x5000, 100)});  // its own queue is not used
  bench.SendFirst(one);
  // Another QP's message takes the next one and completes first.
  const auto only = TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = 100, .bytes = 50, .qpn = kOther});
  bench.Expect(only, Shared(With(Scatter(only, 0, 0x9000, 50, Answer(100, AethSyndrome::kAckNoCredits, 1, kOther)),
                                 CompletionOf(two, {.opcode = IbWcOpcode::kRecv, .byte_len = 50}, false, kOther))));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 7});
  bench.Expect(last, Shared(Scatter(last, 0, 0x3000, 7, Success(one, kMtu + 7, Ack(kFirstPsn + 1, 1)))));
  for (const auto& asked : bench.host.asked) {
    EXPECT_EQ(asked.qpn, asked.is_element ? kQpn : kSrq);  // whose message is in progress; whose receive it is
  }
  EXPECT_EQ(bench.host.asked.size(), 3u);
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 2}), NotReady(kFirstPsn + 2, 1));
}

TEST(ResponderSrq, WriteWithImmediateTakesAReceiveOfTheSharedQueue) {
  SharedReady bench;
  const Posted posted = bench.host.Post(kSrq, {});
  const auto only = TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate});
  bench.Expect(
      only, Shared(With(Write(only, 0x10000, Ack(kFirstPsn, 1)), CompletionOf(posted,
                                                                              {.opcode = IbWcOpcode::kRecvRdmaWithImm,
                                                                               .byte_len = 64,
                                                                               .imm_data = {0x11, 0x22, 0x33, 0x44},
                                                                               .wc_flags = spec::IbWcFlags::kWithImm},
                                                                              false))));
}

TEST(ResponderSrq, ErrFlushesTheHeldReceiveOnlyAndReportsTheLastOnce) {
  SharedReady bench;
  const Posted held = bench.host.Post(kSrq, {Host::Element(0x9000, 5000)});
  bench.host.Post(kSrq, {});
  bench.SendFirst(held);
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Shared(Flushed(held))});
  bench.ExpectFailures({kLast});
  bench.SetState(IbQpState::kErr);
  bench.Ring();
  bench.ExpectPlaces({});
  bench.ExpectFailures({});
  EXPECT_EQ(bench.host.queues[kSrq].size(), 1u);
  // After RESET it is reported again.
  bench.SetState(IbQpState::kReset, true);
  bench.ExpectPlaces({});
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
  bench.ExpectFailures({kLast});
}

TEST(ResponderSrq, LastReceiveWaitsForTheFailureBeforeIt) {
  SharedReady bench;
  bench.failure.rate = 0;
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast}),
               Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.SetState(IbQpState::kErr);
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.p.idle_o, 0);
  bench.failure.rate = 16;
  bench.RunOut();
  bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest), kLast});
  EXPECT_TRUE(bench.host.asked.empty());
}

TEST(ResponderSrq, ResetReturnsTheHeldReceive) {
  SharedReady bench;
  const Posted held = bench.host.Post(kSrq, {Host::Element(0x9000, 5000)});
  bench.SendFirst(held);
  bench.SetState(IbQpState::kReset, true);
  bench.ExpectPlaces({Returned(held)});
  bench.SetState(IbQpState::kReset, true);
  bench.ExpectPlaces({});
  bench.ExpectFailures({});
}

}  // namespace
}  // namespace vireo::verif
