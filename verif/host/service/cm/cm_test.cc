// SPDX-License-Identifier: Apache-2.0
// Two connection managers connected by a wire that drops, duplicates and delays; in simulated time.
#include "host/service/cm/cm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

using namespace service::cm;  // NOLINT(google-build-using-namespace): namespace under test
using Kind = Event::Kind;
using Verdict = ConnectionManager::Answer::Verdict;

constexpr uint64_t kService = 0x0106'1c06;
constexpr uint64_t kRefusalNs = 1'000'000;

Gid GidOf(uint8_t n) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n}; }

// One side: records its events and sent MADs.
struct Side final : MadTransport, Handler {
  struct Reported {
    uint32_t id;
    Event event;
    std::vector<uint8_t> data;
  };
  struct Sent {
    Path path;
    Mad mad;
  };

  Side(uint8_t n, uint64_t* now, uint64_t seed)
      : manager(*this, [now] { return *now; }, {.node_guid = n, .seed = seed, .refusal_delay_ns = kRefusalNs}) {
    manager.SetAcceptor([this](const Incoming& incoming) -> ConnectionManager::Answer {
      if (verdict != Verdict::kTaken || incoming.service_id != kService) {
        return {.verdict = verdict == Verdict::kTaken ? Verdict::kNoService : verdict};
      }
      Note(incoming.id, incoming.event);
      return {.verdict = verdict, .handler = this};
    });
  }
  void SendMad(const Path& path, MadView mad) override {
    Sent& one = sent.emplace_back();
    one.path = path;
    std::ranges::copy(mad, one.mad.begin());
  }
  void OnCmEvent(uint32_t id, const Event& event) override {
    Note(id, event);
    if (on_event) on_event(id, event);
  }
  void Note(uint32_t id, const Event& event) {
    events.push_back({id, event, {event.private_data.begin(), event.private_data.end()}});
  }
  std::vector<Kind> Kinds() const {
    std::vector<Kind> kinds;
    for (const auto& one : events) kinds.push_back(one.event.kind);
    return kinds;
  }

  Verdict verdict = Verdict::kTaken;
  std::function<void(uint32_t, const Event&)> on_event;
  std::vector<Reported> events;
  std::deque<Sent> sent;
  ConnectionManager manager;
};

class Cm : public testing::Test {
 protected:
  // Delivers MADs in both directions until none is in flight.
  void Deliver() {
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < 2; ++i) {
        while (!side(i).sent.empty()) {
          const Side::Sent one = side(i).sent.front();
          side(i).sent.pop_front();
          Arrive(1 - i, one);
          more = true;
        }
      }
    }
  }
  void Arrive(size_t to, const Side::Sent& one) {
    Path back = one.path;
    std::swap(back.sgid, back.dgid);
    side(to).manager.OnMad(back, one.mad);
  }
  // Advances the clock to the next deadline of either side; false: there is none.
  bool Later() {
    const auto a = a_.manager.NextDeadline(), b = b_.manager.NextDeadline();
    if (!a.has_value() && !b.has_value()) return false;
    now_ = std::max(now_, std::min(a.value_or(UINT64_MAX), b.value_or(UINT64_MAX)));
    a_.manager.Tick();
    b_.manager.Tick();
    return true;
  }
  Side& side(size_t i) { return i == 0 ? a_ : b_; }
  static ConnectParameters Ask() {
    return {.service_id = kService,
            .qpn = 0x11,
            .starting_psn = 0x123456,
            .responder_resources = 3,
            .initiator_depth = 5,
            .path_mtu = 4,
            .local_ack_timeout = 17,
            .private_data = kData};
  }
  static AcceptParameters Take() {
    return {.qpn = 0x22, .starting_psn = 0x654321, .responder_resources = 4, .initiator_depth = 2};
  }
  uint32_t Connect() { return a_.manager.Connect(a_, path_, Ask()).value(); }
  // Returns the ids of both sides.
  std::pair<uint32_t, uint32_t> Establish() {
    const uint32_t a = Connect();
    Deliver();
    const uint32_t b = b_.events.back().id;
    EXPECT_TRUE(b_.manager.Accept(b, Take()).ok());
    Deliver();
    EXPECT_TRUE(a_.manager.Ready(a).ok());
    Deliver();
    EXPECT_EQ(b_.Kinds(), (std::vector{Kind::kRequest, Kind::kEstablished}));
    EXPECT_EQ(a_.Kinds(), (std::vector{Kind::kReply}));
    a_.events.clear();
    b_.events.clear();
    return {a, b};
  }
  static State StateOf(const Side& side, uint32_t id) { return side.manager.Query(id)->state; }

  static constexpr std::array<uint8_t, 3> kData = {7, 8, 9};
  uint64_t now_ = 1'000;
  Side a_{1, &now_, 1}, b_{2, &now_, 2};
  const Path path_{.sgid_index = 1, .sgid = GidOf(1), .dgid = GidOf(2)};
};

TEST_F(Cm, ConnectAndDisconnect) {
  const uint32_t a = Connect();
  EXPECT_EQ(StateOf(a_, a), State::kReqSent);
  Deliver();
  ASSERT_EQ(b_.events.size(), 1U);
  const Side::Reported request = b_.events[0];
  EXPECT_EQ(request.event.remote_qpn, 0x11U);
  EXPECT_EQ(request.event.responder_resources, 5U);  // the peer's view: exchanged
  EXPECT_EQ(request.event.initiator_depth, 3U);
  EXPECT_TRUE(std::equal(kData.begin(), kData.end(), request.data.begin()));
  ASSERT_TRUE(b_.manager.Accept(request.id, Take()).ok());
  Deliver();
  ASSERT_EQ(a_.events.size(), 1U);
  EXPECT_EQ(a_.events[0].event.remote_qpn, 0x22U);
  EXPECT_EQ(a_.events[0].event.responder_resources, 2U);
  EXPECT_EQ(a_.events[0].event.initiator_depth, 4U);
  ASSERT_TRUE(a_.manager.Ready(a).ok());
  Deliver();

  const auto at_a = *a_.manager.Query(a), at_b = *b_.manager.Query(request.id);
  EXPECT_EQ(at_a.state, State::kEstablished);
  EXPECT_EQ(at_b.state, State::kEstablished);
  EXPECT_EQ(at_a.rq_psn, 0x123456U);
  EXPECT_EQ(at_a.sq_psn, 0x654321U);
  EXPECT_EQ(at_b.rq_psn, at_a.sq_psn);
  EXPECT_EQ(at_b.sq_psn, at_a.rq_psn);
  EXPECT_EQ(at_b.remote_qpn, 0x11U);
  EXPECT_EQ(at_b.path_mtu, 4U);
  EXPECT_EQ(at_b.timeout, 17U);
  EXPECT_EQ(at_b.path.dgid, GidOf(1));

  ASSERT_TRUE(b_.manager.Disconnect(request.id).ok());
  Deliver();
  EXPECT_EQ(a_.events.back().event.kind, Kind::kDisconnected);
  EXPECT_EQ(b_.events.back().event.kind, Kind::kEstablished);  // not before A answers
  ASSERT_TRUE(a_.manager.Disconnect(a).ok());
  Deliver();
  EXPECT_EQ(b_.events.back().event.kind, Kind::kDisconnected);
  EXPECT_EQ(b_.events.back().event.status, 0);
  while (Later()) {
  }
  EXPECT_EQ(a_.events.back().event.kind, Kind::kTimewaitExit);
  EXPECT_EQ(b_.events.back().event.kind, Kind::kTimewaitExit);
  a_.manager.Destroy(a);
  b_.manager.Destroy(request.id);
  EXPECT_EQ(a_.manager.connections() + b_.manager.connections(), 0U);
  EXPECT_TRUE(a_.sent.empty());
  EXPECT_TRUE(b_.sent.empty());
}

TEST_F(Cm, UnansweredRequestIsRetriedAndTimesOut) {
  const uint32_t a = Connect();
  const uint64_t begin = now_;
  const uint64_t interval = *a_.manager.NextDeadline() - begin;
  EXPECT_EQ(interval, TimeoutNs(20) + 2 * TimeoutNs(16));
  size_t requests = 0;
  while (a_.events.empty()) {
    requests += static_cast<size_t>(
        std::ranges::count_if(a_.sent, [](const auto& one) { return Parse(one.mad)->attribute == Attribute::kReq; }));
    a_.sent.clear();
    ASSERT_TRUE(Later());
  }
  EXPECT_EQ(requests, 16U);  // one and 15 retries
  EXPECT_EQ(now_ - begin, 16 * interval);
  EXPECT_EQ(a_.events[0].event.kind, Kind::kUnreachable);
  EXPECT_EQ(a_.events[0].event.status, -ETIMEDOUT);
  ASSERT_EQ(a_.sent.size(), 1U);  // a REJ, in case the request arrived
  EXPECT_EQ(Decode<Rej>(a_.sent[0].mad).reason, RejectReason::kTimeout);
  EXPECT_EQ(StateOf(a_, a), State::kIdle);
  EXPECT_FALSE(Later());
}

TEST_F(Cm, RejectCarriesItsReason) {
  const uint32_t none = a_.manager.Connect(a_, path_, {.service_id = kService + 1}).value();
  Deliver();
  now_ += kRefusalNs;
  b_.manager.Tick();
  Deliver();
  ASSERT_EQ(a_.events.size(), 1U);
  EXPECT_EQ(a_.events[0].event.kind, Kind::kRejected);
  EXPECT_EQ(a_.events[0].event.status, static_cast<int>(RejectReason::kInvalidServiceId));
  EXPECT_EQ(b_.manager.connections(), 0U);
  a_.manager.Destroy(none);
  a_.events.clear();

  (void)Connect();
  Deliver();
  ASSERT_TRUE(b_.manager.Reject(b_.events.back().id, RejectReason::kConsumer, kData).ok());
  Deliver();
  EXPECT_EQ(a_.events.back().event.status, 28);
  EXPECT_TRUE(std::equal(kData.begin(), kData.end(), a_.events.back().data.begin()));
  EXPECT_EQ(b_.manager.Accept(b_.events.back().id, Take()).error().code, host::ErrorCode::kBadState);
}

TEST_F(Cm, TheActiveSideMayRejectAReply) {
  const uint32_t a = Connect();
  Deliver();
  ASSERT_TRUE(b_.manager.Accept(b_.events.back().id, Take()).ok());
  Deliver();
  ASSERT_TRUE(a_.manager.Reject(a, RejectReason::kConsumer, {}).ok());
  Deliver();
  EXPECT_EQ(b_.events.back().event.kind, Kind::kRejected);
}

TEST_F(Cm, RequestIsQueuedUntilTheServiceIsAdded) {
  for (const bool is_sidr : {false, true}) {
    SCOPED_TRACE(is_sidr);
    b_.verdict = Verdict::kNoService;
    b_.events.clear();
    if (is_sidr) {
      ASSERT_TRUE(a_.manager.Resolve(a_, path_, kService, kData).ok());
    } else {
      (void)Connect();
    }
    const Side::Sent request = a_.sent.front();
    Deliver();
    Arrive(1, request);  // a duplicate: already queued
    b_.manager.OnServiceAdded();
    b_.manager.Tick();  // expired
    Deliver();
    EXPECT_TRUE(a_.events.empty());
    b_.verdict = Verdict::kTaken;
    b_.manager.OnServiceAdded();
    EXPECT_LE(b_.manager.NextDeadline(), now_);
    b_.manager.Tick();
    EXPECT_EQ(b_.Kinds(), std::vector{Kind::kRequest});
    EXPECT_TRUE(std::equal(kData.begin(), kData.end(), b_.events.back().data.begin()));
    EXPECT_FALSE(b_.manager.NextDeadline().has_value());
  }
}

TEST_F(Cm, QueuedRequestExpires) {
  b_.verdict = Verdict::kNoService;
  (void)Connect();
  ASSERT_TRUE(a_.manager.Resolve(a_, path_, kService, kData).ok());
  Deliver();
  EXPECT_EQ(b_.manager.NextDeadline(), now_ + kRefusalNs);
  now_ += kRefusalNs - 1;
  b_.manager.OnServiceAdded();  // an unrelated service: the timer continues
  b_.manager.Tick();
  Deliver();
  EXPECT_TRUE(a_.events.empty());
  ++now_;
  b_.manager.Tick();
  Deliver();
  EXPECT_EQ(a_.Kinds(), (std::vector{Kind::kRejected, Kind::kSidrReply}));
  EXPECT_EQ(a_.events[0].event.status, static_cast<int>(RejectReason::kInvalidServiceId));
  EXPECT_EQ(a_.events[1].event.status, static_cast<int>(SidrStatus::kUnsupported));
  EXPECT_EQ(b_.manager.connections(), 0U);
}

TEST_F(Cm, IgnoredRequestIsRetried) {
  b_.verdict = Verdict::kIgnored;
  (void)Connect();
  Deliver();
  EXPECT_TRUE(a_.events.empty());
  EXPECT_EQ(b_.manager.connections(), 0U);
  b_.verdict = Verdict::kTaken;
  ASSERT_TRUE(Later());
  Deliver();
  EXPECT_EQ(b_.Kinds(), std::vector{Kind::kRequest});
}

TEST_F(Cm, DuplicateRequestIsAnsweredOnce) {
  const uint32_t a = Connect();
  const Side::Sent req = a_.sent.front();
  Deliver();
  Arrive(1, req);  // the user has not answered yet: MRA
  ASSERT_EQ(b_.sent.size(), 1U);
  EXPECT_EQ(Parse(b_.sent[0].mad)->attribute, Attribute::kMra);
  Deliver();
  EXPECT_EQ(StateOf(a_, a), State::kMraReqReceived);
  EXPECT_GT(*a_.manager.NextDeadline() - now_, TimeoutNs(24));
  const uint32_t b = b_.events.back().id;
  ASSERT_TRUE(b_.manager.Accept(b, Take()).ok());
  const Side::Sent rep = b_.sent.front();
  Deliver();
  Arrive(1, req);  // REP is repeated
  ASSERT_EQ(b_.sent.size(), 1U);
  EXPECT_EQ(b_.sent[0].mad, rep.mad);
  Deliver();
  EXPECT_EQ(b_.Kinds(), std::vector{Kind::kRequest});
  EXPECT_EQ(a_.Kinds(), std::vector{Kind::kReply});
  ASSERT_TRUE(a_.manager.Ready(a).ok());
  a_.sent.clear();  // the RTU is lost
  Arrive(0, rep);
  Deliver();
  EXPECT_EQ(b_.Kinds(), (std::vector{Kind::kRequest, Kind::kEstablished}));
}

TEST_F(Cm, DataBeforeTheRtuEstablishes) {
  const uint32_t a = Connect();
  Deliver();
  const uint32_t b = b_.events.back().id;
  EXPECT_FALSE(b_.manager.Establish(b).ok());
  ASSERT_TRUE(b_.manager.Accept(b, Take()).ok());
  Deliver();
  ASSERT_TRUE(b_.manager.Establish(b).ok());
  ASSERT_TRUE(b_.manager.Establish(b).ok());
  b_.manager.Tick();
  ASSERT_TRUE(a_.manager.Ready(a).ok());
  Deliver();
  EXPECT_EQ(b_.Kinds(), (std::vector{Kind::kRequest, Kind::kEstablished}));  // once
}

TEST_F(Cm, SimultaneousDisconnect) {
  const auto [a, b] = Establish();
  ASSERT_TRUE(a_.manager.Disconnect(a).ok());
  ASSERT_TRUE(b_.manager.Disconnect(b).ok());
  Deliver();
  EXPECT_EQ(a_.Kinds(), std::vector{Kind::kDisconnected});
  EXPECT_EQ(b_.Kinds(), std::vector{Kind::kDisconnected});
  EXPECT_EQ(a_.manager.Disconnect(a).error().code, host::ErrorCode::kBadState);
}

TEST_F(Cm, UnansweredDisconnectTimesOut) {
  const uint32_t a = Establish().first;
  ASSERT_TRUE(a_.manager.Disconnect(a).ok());
  while (a_.events.empty()) {
    a_.sent.clear();
    ASSERT_TRUE(Later());
  }
  EXPECT_EQ(a_.events[0].event.kind, Kind::kDisconnected);
  EXPECT_EQ(a_.events[0].event.status, -ETIMEDOUT);
}

TEST_F(Cm, DestroyNotifiesThePeer) {
  {  // established: a lost DREQ is retransmitted
    const auto [a, b] = Establish();
    a_.manager.Destroy(a);
    a_.sent.clear();
    ASSERT_TRUE(Later());
    Deliver();
    EXPECT_EQ(b_.Kinds(), std::vector{Kind::kDisconnected});
    b_.manager.Destroy(b);
    Deliver();
    while (Later()) {
    }
    EXPECT_TRUE(a_.events.empty());
    EXPECT_EQ(a_.manager.connections() + b_.manager.connections(), 0U);
    b_.events.clear();
  }
  {  // request sent
    const uint32_t a = Connect();
    Deliver();
    a_.manager.Destroy(a);
    Deliver();
    EXPECT_EQ(b_.events.back().event.kind, Kind::kRejected);
    EXPECT_EQ(b_.events.back().event.status, static_cast<int>(RejectReason::kTimeout));
    b_.manager.Destroy(b_.events.back().id);
  }
  {  // request received
    const uint32_t a = Connect();
    Deliver();
    b_.manager.Destroy(b_.events.back().id);
    Deliver();
    EXPECT_EQ(a_.events.back().event.kind, Kind::kRejected);
    a_.manager.Destroy(a);
  }
  {  // reply sent, and received
    const uint32_t a = Connect();
    Deliver();
    ASSERT_TRUE(b_.manager.Accept(b_.events.back().id, Take()).ok());
    Deliver();
    b_.manager.Destroy(b_.events.back().id);
    Deliver();
    EXPECT_EQ(a_.events.back().event.kind, Kind::kRejected);
    a_.manager.Destroy(a);
  }
  EXPECT_EQ(a_.manager.connections() + b_.manager.connections(), 0U);
}

TEST_F(Cm, ReplyWithoutConnectionIsRejected) {
  const uint32_t a = Connect();
  Deliver();
  ASSERT_TRUE(b_.manager.Accept(b_.events.back().id, Take()).ok());
  a_.manager.Destroy(a);
  a_.sent.clear();  // its REJ is lost
  Deliver();
  EXPECT_EQ(b_.events.back().event.kind, Kind::kRejected);
  EXPECT_EQ(b_.events.back().event.status, static_cast<int>(RejectReason::kInvalidCommId));
}

// The peer has lost its state (host restart) and reuses the same queue pair.
TEST_F(Cm, StaleConnectionIsClosed) {
  (void)Establish();
  Side fresh(1, &now_, 3);
  (void)fresh.manager.Connect(fresh, path_, Ask());
  Arrive(1, fresh.sent[0]);
  ASSERT_EQ(b_.sent.size(), 2U);
  EXPECT_EQ(Decode<Rej>(b_.sent[0].mad).reason, RejectReason::kStaleConnection);
  EXPECT_EQ(Parse(b_.sent[1].mad)->attribute, Attribute::kDreq);
  b_.sent.pop_front();
  const Side::Sent dreq = b_.sent.front();
  b_.sent.clear();
  fresh.manager.OnMad({.sgid = GidOf(1), .dgid = GidOf(2)}, dreq.mad);  // unknown connection: DREP
  EXPECT_EQ(Parse(fresh.sent.back().mad)->attribute, Attribute::kDrep);
  Arrive(1, fresh.sent.back());
  EXPECT_EQ(b_.Kinds(), std::vector{Kind::kDisconnected});
}

TEST_F(Cm, MessagesNotFromThePeerAreIgnored) {
  const auto [a, b] = Establish();
  const Dreq dreq{.local_comm_id = a, .remote_comm_id = b, .remote_qpn = 0x22};
  const Path other{.sgid = GidOf(2), .dgid = GidOf(3)}, peer{.sgid = GidOf(2), .dgid = GidOf(1)};
  b_.manager.OnMad(other, Encode(dreq, 1));
  Dreq wrong = dreq;
  wrong.remote_qpn = 0x23;
  b_.manager.OnMad(peer, Encode(wrong, 1));
  wrong = dreq;
  wrong.local_comm_id ^= 1;
  b_.manager.OnMad(peer, Encode(wrong, 1));
  b_.manager.OnMad(other, Encode(Rej{.local_comm_id = a, .remote_comm_id = b}, 1));
  b_.manager.OnMad(peer, Encode(Drep{.local_comm_id = a, .remote_comm_id = b}, 1));
  b_.manager.OnMad(peer, Encode(Rep{.local_comm_id = a, .remote_comm_id = b}, 1));
  EXPECT_TRUE(b_.events.empty());
  EXPECT_EQ(StateOf(b_, b), State::kEstablished);
}

TEST_F(Cm, SidrResolvesADatagramService) {
  const uint32_t a = a_.manager.Resolve(a_, path_, kService, kData).value();
  const Side::Sent req = a_.sent.front();
  Deliver();
  const uint32_t b = b_.events.back().id;
  Arrive(1, req);
  EXPECT_EQ(b_.events.size(), 1U);
  ASSERT_TRUE(b_.manager.SidrReply(b, SidrStatus::kValid, 0x33, 0x1234567, kData).ok());
  EXPECT_FALSE(b_.manager.SidrReply(b, SidrStatus::kValid, 0x33, 0x1234567, kData).ok());
  b_.sent.clear();  // lost
  ASSERT_TRUE(Later());
  Deliver();
  ASSERT_EQ(a_.events.size(), 1U);
  EXPECT_EQ(a_.events[0].event.kind, Kind::kSidrReply);
  EXPECT_EQ(a_.events[0].event.status, 0);
  EXPECT_EQ(a_.events[0].event.remote_qpn, 0x33U);
  EXPECT_EQ(a_.events[0].event.qkey, 0x1234567U);
  EXPECT_TRUE(std::equal(kData.begin(), kData.end(), a_.events[0].data.begin()));
  EXPECT_EQ(b_.events.size(), 1U);
  a_.manager.Destroy(a);

  (void)a_.manager.Resolve(a_, path_, kService + 1, {});
  Deliver();
  now_ += kRefusalNs;
  b_.manager.Tick();
  Deliver();
  EXPECT_EQ(a_.events.back().event.status, static_cast<int>(SidrStatus::kUnsupported));
  (void)a_.manager.Resolve(a_, path_, kService, {});
  Deliver();
  b_.manager.Destroy(b_.events.back().id);
  Deliver();
  EXPECT_EQ(a_.events.back().event.status, static_cast<int>(SidrStatus::kReject));
}

TEST_F(Cm, InvalidCallsAreRefused) {
  const std::vector<uint8_t> long_data(300);
  ConnectParameters ask = Ask();
  ask.private_data = std::span(long_data).first(Req::kPrivateBytes + 1);
  EXPECT_EQ(a_.manager.Connect(a_, path_, ask).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_FALSE(a_.manager.Resolve(a_, path_, kService, std::span(long_data).first(SidrReq::kPrivateBytes + 1)).ok());
  EXPECT_EQ(a_.manager.connections(), 0U);
  const uint32_t a = Connect();
  EXPECT_EQ(a_.manager.Ready(a).error().code, host::ErrorCode::kBadState);
  EXPECT_EQ(a_.manager.Accept(a, Take()).error().code, host::ErrorCode::kBadState);
  EXPECT_EQ(a_.manager.Disconnect(a).error().code, host::ErrorCode::kBadState);
  EXPECT_FALSE(a_.manager.Reject(a, RejectReason::kConsumer, std::span(long_data).first(Rej::kPrivateBytes + 1)).ok());
  EXPECT_EQ(a_.manager.Disconnect(a + 1).error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_FALSE(a_.manager.Query(a + 1).has_value());
  a_.manager.Destroy(a + 1);
}

// Random bytes in every state: no unexpected events.
TEST_F(Cm, RandomDatagramsAreHarmless) {
  auto random = MakeRandom("random datagrams");
  const auto [a, b] = Establish();
  for (int i = 0; i < 20'000; ++i) {
    Mad mad = Encode(Rtu{.local_comm_id = a, .remote_comm_id = b}, 0);
    mad[17] = static_cast<uint8_t>(UniformBelow(random, 0x20));
    const size_t from = 24 + UniformBelow(random, 16);
    for (size_t at = from; at < mad.size(); ++at) mad.at(at) = static_cast<uint8_t>(random() >> 40);
    Arrive(1, {.path = path_, .mad = mad});
    b_.sent.clear();
    for (const auto& events : b_.events) b_.manager.Destroy(events.id);
    b_.events.clear();
  }
  now_ += TimeoutNs(31);
  for (int i = 0; i < 40; ++i) {
    b_.manager.Tick();
    now_ += TimeoutNs(31);
  }
  for (const auto& events : b_.events) b_.manager.Destroy(events.id);
  b_.manager.Destroy(b);
  for (int i = 0; i < 40; ++i) {
    b_.manager.Tick();
    now_ += TimeoutNs(31);
  }
  EXPECT_EQ(b_.manager.connections(), 0U);
}

// Loss, duplication and reordering: every connection is still established and closed.
TEST_F(Cm, ToleratesLossDuplicationAndReordering) {
  auto random = MakeRandom("bad wire");
  for (int round = 0; round < 200; ++round) {
    a_.on_event = [this](uint32_t id, const Event& event) {
      if (event.kind == Kind::kReply) (void)a_.manager.Ready(id);
      if (event.kind == Kind::kDisconnected) (void)a_.manager.Disconnect(id);
    };
    std::vector<std::pair<size_t, Side::Sent>> wire;
    const auto step = [&] {
      for (size_t i = 0; i < 2; ++i) {
        for (const auto& one : side(i).sent) {
          // Of eight, one is dropped and one duplicated. With more loss, some rounds would exhaust the retries.
          const uint64_t fate = UniformBelow(random, 8);
          for (uint64_t copies = fate == 0 ? 0 : fate == 1 ? 2 : 1; copies > 0; --copies) wire.emplace_back(1 - i, one);
        }
        side(i).sent.clear();
      }
      if (wire.empty()) return Later();
      const size_t next = UniformBelow(random, wire.size());
      const auto arriving = wire[next];
      wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(next));
      Arrive(arriving.first, arriving.second);
      return true;
    };
    const auto until = [&](Side& side, Kind kind) {
      for (int i = 0; i < 2'000; ++i) {
        if (std::ranges::count(side.Kinds(), kind) != 0) return true;
        if (!step()) return false;
      }
      return false;
    };
    const uint32_t a = Connect();
    ASSERT_TRUE(until(b_, Kind::kRequest));
    const uint32_t b = b_.events.back().id;
    ASSERT_TRUE(b_.manager.Accept(b, Take()).ok());
    ASSERT_TRUE(until(b_, Kind::kEstablished));
    EXPECT_EQ(a_.manager.Query(a)->sq_psn, 0x654321U);
    ASSERT_TRUE(b_.manager.Disconnect(b).ok());
    ASSERT_TRUE(until(b_, Kind::kDisconnected));
    ASSERT_TRUE(until(a_, Kind::kDisconnected));
    EXPECT_EQ(std::ranges::count(b_.Kinds(), Kind::kRequest), 1);
    EXPECT_EQ(std::ranges::count(b_.Kinds(), Kind::kEstablished), 1);
    a_.manager.Destroy(a);
    b_.manager.Destroy(b);
    wire.clear();  // no packets of this round in the next one
    a_.sent.clear();
    b_.sent.clear();
    a_.events.clear();
    b_.events.clear();
    EXPECT_EQ(a_.manager.connections() + b_.manager.connections(), 0U);
  }
}

}  // namespace
}  // namespace vireo::sim
