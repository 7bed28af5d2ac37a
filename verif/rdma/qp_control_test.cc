// SPDX-License-Identifier: Apache-2.0
// QP control: RTL and model side by side, and its outputs against the rules of tables.toml and decision 0003.
#include "model/rdma/qp_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "Vqp_control_16.h"
#include "model/common/level.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::QpControl;
using spec::HostEvent;
using spec::IbQpState;
using spec::QpOperation;
using spec::RdmaError;
using spec::RdmaEventType;
using spec::TableQueueKind;

constexpr uint32_t kQps = 16;
constexpr uint32_t kQueues = 52;  // as vireo_qp_control is verilated
// A configuration's queues: one net pair, control queue, CQs, QPs, event queue. Only the owners in the table count.
constexpr uint16_t CqQueue(uint32_t cqn) { return static_cast<uint16_t>(3 + cqn); }
constexpr uint16_t SendQueue(uint32_t qpn) { return static_cast<uint16_t>(19 + 2 * qpn); }
constexpr uint16_t ReceiveQueue(uint32_t qpn) { return static_cast<uint16_t>(20 + 2 * qpn); }

struct Bench {
  Bench() : bench(rtl, agenda, random) {
    block.host_event_out.Connect(sink, block);
    block.on_qp_state_write = [this](Cycle now, const spec::QpStateWrite& write) { states.Tell(now, write); };
    block.on_sweep = [this](Cycle from, bool hold) { hold_level.Set(from, hold); };
    block.on_qp_done = [this](Cycle now, const spec::QpDone& done) { qp_done.Tell(now, done); };
  }
  std::mt19937_64 random = sim::MakeRandom("qp_control");
  Agenda agenda;
  QpControl block{agenda, kQps, kQueues};
  Channel<HostEvent> sink = Channel<HostEvent>::Sink();
  RtlTop<Vqp_control_16> rtl{[](const Vqp_control_16& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.qp_order_ready_o, top.requester_failure_ready_o, top.completer_failure_ready_o,
                           top.responder_failure_ready_o, top.desc_fetch_failure_ready_o, top.work_failure_ready_o,
                           top.csr_event_ready_o, top.qp_state_write_valid_o, top.qp_done_valid_o,
                           top.host_event_valid_o, top.sweep_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    for (const auto byte : BytesOf(top.qp_done_o)) bytes.push_back(byte);
    for (const auto byte : BytesOf(top.host_event_o)) bytes.push_back(byte);
    for (const auto byte : BytesOf(top.qp_state_write_o)) bytes.push_back(byte);
  }};
  BlockBench<Vqp_control_16> bench;
  Vqp_control_16& p = rtl.ports();

  // quiet_i, hold_o and idle_o.
  model::Level<bool> hold_level;
  std::vector<Cycle> held, busy;  // cycles with hold_o, and without idle_o
  unsigned quiet_rate = 16;
  Probe levels{[this](Cycle now) {
                 std::string text =
                     Same("idle", p.idle_o, block.IsIdle()) + Same("hold", p.sweep_o, hold_level.At(now));
                 if (p.sweep_o) held.push_back(now);
                 if (!p.idle_o) busy.push_back(now);
                 p.swept_i = random() % 16 < quiet_rate;
                 block.SetSwept(now, p.swept_i != 0);
                 return text;
               },
               {}};
  OutPulse<spec::QpDone, decltype(p.qp_done_valid_o), decltype(p.qp_done_o)> qp_done{"qp_done", p.qp_done_valid_o,
                                                                                     p.qp_done_o};
  OutPulse<spec::QpStateWrite, decltype(p.qp_state_write_valid_o), decltype(p.qp_state_write_o)> states{
      "qp_state_write", p.qp_state_write_valid_o, p.qp_state_write_o};

  ContextBench<Vqp_control_16, QpControl> contexts{p, block};

  // Before all others, so that idle is compared before the cycle's tokens are passed to the model.
  bool added =
      (bench.AddOther(levels), bench.AddOther(states), bench.AddOther(qp_done), bench.AddOther(contexts), true);

// A declarator cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define VIREO_IN(name)                                                                              \
  decltype(bench.In(#name, block.name##_in, p.name##_valid_i, p.name##_ready_o, p.name##_i)) name = \
      bench.In(#name, block.name##_in, p.name##_valid_i, p.name##_ready_o, p.name##_i)
  // NOLINTEND(bugprone-macro-parentheses)
  VIREO_IN(requester_failure);
  VIREO_IN(completer_failure);
  VIREO_IN(responder_failure);
  VIREO_IN(desc_fetch_failure);
  VIREO_IN(work_failure);
  VIREO_IN(csr_event);
  VIREO_IN(qp_order);
#undef VIREO_IN
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table_write =
      bench.Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle now, const spec::TableWrite& write) { block.OnTableWrite(now, write); });
  decltype(bench.Pulse<spec::QpSends>(p.qp_sends_valid_i, p.qp_sends_i, {})) qp_sends = bench.Pulse<spec::QpSends>(
      p.qp_sends_valid_i, p.qp_sends_i, [this](Cycle now, const spec::QpSends& sends) { block.OnQpSends(now, sends); });
  decltype(bench.Out("host_event", sink, p.host_event_valid_o, p.host_event_ready_i, p.host_event_o)) host_event =
      bench.Out("host_event", sink, p.host_event_valid_o, p.host_event_ready_i, p.host_event_o);

  // --- Shorthands
  void WriteQp(uint32_t qpn, IbQpState wanted, uint16_t send_cqn = 0, uint16_t recv_cqn = 0) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext context{.state = wanted, .valid = true};
    context.send_cqn = send_cqn;
    context.recv_cqn = recv_cqn;
    context.Encode(write.data);
    table_write.tokens.push_back(write);
  }
  // The number is a shared receive queue's.
  void WriteSrq(uint32_t srqn) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = srqn};
    spec::TableQpContext{.is_srq = true}.Encode(write.data);
    table_write.tokens.push_back(write);
  }
  void WriteQueue(uint32_t index, TableQueueKind kind, uint32_t owner) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kVirtqueue, .index = index};
    spec::TableVirtqueue{.kind = kind, .owner = owner}.Encode(write.data);
    table_write.tokens.push_back(write);
  }
  void Order(uint32_t qpn, QpOperation operation) { qp_order.tokens.push_back({qpn, operation}); }
  // Everything offered is taken and has taken effect.
  void Finish() { ASSERT_EQ(bench.RunOut(40), ""); }
  // A QP in a state, with nothing pending from the way there.
  void Bring(uint32_t qpn, IbQpState state, uint16_t send_cqn = 0, uint16_t recv_cqn = 0) {
    WriteQp(qpn, state, send_cqn, recv_cqn);
    Order(qpn, QpOperation::kStop);
    Order(qpn, QpOperation::kStart);
    Finish();
    Forget();
  }
  size_t Dones() const { return qp_done.sent.size(); }
  Cycle DoneAt(size_t index) const { return qp_done.sent.at(index).first; }
  void Forget() {
    states.sent.clear();
    qp_done.sent.clear();
    sink.sent().clear();
  }
  std::vector<HostEvent> Events() const {
    std::vector<HostEvent> events;
    for (const auto& sent : const_cast<Channel<HostEvent>&>(sink).sent()) events.push_back(sent.token);
    return events;
  }
  std::vector<spec::QpStateWrite> States() const {
    std::vector<spec::QpStateWrite> result;
    for (const auto& sent : states.sent) result.push_back(sent.second);
    return result;
  }
};

constexpr IbQpState kStates[] = {IbQpState::kReset, IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts,
                                 IbQpState::kSqd,   IbQpState::kSqe,  IbQpState::kErr};

// --- Commands --------------------------------------------------------------------------------------------------------

// The sets of QPs, which are being cleared, would miss the state.
TEST(QpControl, CommandWaitsAfterReset) {
  Bench bench;
  bench.csr_event.tokens.push_back({.element = 3});
  bench.Order(5, QpOperation::kStop);
  bench.Finish();
  EXPECT_EQ(bench.sink.sent().size(), 1U);
  EXPECT_LT(bench.sink.sent().at(0).cycle, kQps);
  ASSERT_EQ(bench.states.sent.size(), 1U);
  EXPECT_EQ(bench.states.sent.at(0).first, kQps + 4);  // it is taken in cycle kQps
}

TEST(QpControl, StartAppliesTheRequestedStateUnlessInErr) {
  Bench bench;
  for (const auto from : kStates) {
    for (const auto to : kStates) {
      bench.Bring(5, from);
      bench.WriteQp(5, to);
      bench.Finish();
      bench.Order(5, QpOperation::kStart);
      bench.Finish();
      if (from == IbQpState::kErr) {
        EXPECT_TRUE(bench.States().empty());
      } else {
        ASSERT_EQ(bench.States().size(), 1u);
        EXPECT_EQ(bench.States()[0], (spec::QpStateWrite{.qpn = 5, .state = to}));
      }
      EXPECT_EQ(bench.Dones(), 1u);
      EXPECT_TRUE(bench.Events().empty());
    }
  }
}

TEST(QpControl, DrainChangesRtsOnlyToSqd) {
  Bench bench;
  for (const auto from : kStates) {
    bench.Bring(3, from);
    bench.Order(3, QpOperation::kDrain);
    bench.Finish();
    if (from == IbQpState::kRts) {
      ASSERT_EQ(bench.States().size(), 1u);
      EXPECT_EQ(bench.States()[0], (spec::QpStateWrite{.qpn = 3, .state = IbQpState::kSqd}));
    } else {
      EXPECT_TRUE(bench.States().empty());
    }
    ASSERT_EQ(bench.Dones(), 1u);
    EXPECT_TRUE(bench.qp_done.sent[0].second.is_drain);
  }
}

TEST(QpControl, DrainEndsWithTheLastWorkRequestAndIsIdleMeanwhile) {
  Bench bench;
  bench.Bring(3, IbQpState::kRts);
  bench.Bring(4, IbQpState::kRts);
  bench.qp_sends.tokens.push_back({.qpn = 3, .outstanding = 2});
  bench.Finish();
  bench.Order(3, QpOperation::kDrain);
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 0u);
  EXPECT_TRUE(bench.p.idle_o);
  // Work fetched while the state is in flight counts, another QP's does not, and failures are not stalled.
  bench.qp_sends.tokens = {{.qpn = 3, .outstanding = 8}, {.qpn = 4, .outstanding = 0}, {.qpn = 3, .outstanding = 1}};
  bench.requester_failure.tokens.push_back({.qpn = 4, .event_type = RdmaEventType::kQpFatal});
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 0u);
  EXPECT_EQ(bench.Events().size(), 1u);
  bench.qp_sends.tokens.push_back({.qpn = 3, .outstanding = 0});
  const Cycle offered = bench.bench.cycle();
  bench.Finish();
  ASSERT_EQ(bench.Dones(), 1u);
  EXPECT_TRUE(bench.qp_done.sent[0].second.is_drain);
  EXPECT_EQ(bench.DoneAt(0), offered + QpControl::kSendsToDone);
}

TEST(QpControl, AnotherCommandReplacesADrain) {
  Bench bench;
  bench.Bring(3, IbQpState::kRts);
  bench.Bring(4, IbQpState::kRts);
  bench.qp_sends.tokens = {{.qpn = 3, .outstanding = 2}, {.qpn = 4, .outstanding = 1}};
  bench.Finish();
  bench.Order(3, QpOperation::kDrain);
  bench.Finish();
  bench.WriteQp(5, IbQpState::kInit);
  bench.Order(5, QpOperation::kStart);
  bench.Finish();
  ASSERT_EQ(bench.Dones(), 1u);
  EXPECT_FALSE(bench.qp_done.sent[0].second.is_drain);
  bench.qp_sends.tokens.push_back({.qpn = 3, .outstanding = 0});
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 1u);
  // Another drain replaces it; restarted, one that has ended ends at once.
  bench.Order(4, QpOperation::kDrain);
  bench.Order(3, QpOperation::kDrain);
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 2u);
}

TEST(QpControl, FlushLeadsToErrAndStopToResetFromAnyState) {
  Bench bench;
  for (const auto from : kStates) {
    bench.Bring(0, from);
    bench.Order(0, QpOperation::kFlush);
    bench.Order(0, QpOperation::kStop);
    bench.Finish();
    ASSERT_EQ(bench.States().size(), 2u);
    EXPECT_EQ(bench.States()[0], (spec::QpStateWrite{.qpn = 0, .state = IbQpState::kErr}));
    EXPECT_EQ(bench.States()[1], (spec::QpStateWrite{.qpn = 0, .state = IbQpState::kReset, .clear = true}));
    EXPECT_EQ(bench.Dones(), 2u);
    EXPECT_TRUE(bench.Events().empty());
  }
}

TEST(QpControl, InvalidCommandIsDoneWithoutEffect) {
  Bench bench;
  for (uint8_t operation = 0; operation < 8; ++operation) {
    bench.Order(operation < 4 ? kQps : 4, static_cast<QpOperation>(operation));
    if (operation < 4) bench.Order(0xffffff, static_cast<QpOperation>(operation));
  }
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 12u);
  EXPECT_TRUE(bench.States().empty());
}

TEST(QpControl, DeferredCommandsAreDoneWhenAllAreQuiet) {
  Bench bench;
  bench.Bring(7, IbQpState::kRts);
  bench.quiet_rate = 0;
  bench.Order(7, QpOperation::kFlush);
  bench.Order(7, QpOperation::kStart);  // waits
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.States().size(), 1u);
  EXPECT_TRUE(bench.qp_done.sent.empty());
  // Meanwhile failures are served, or no block could become quiet.
  bench.desc_fetch_failure.tokens.push_back({.vq_index = 0, .code = RdmaError::kBadDescriptor});
  bench.requester_failure.tokens.push_back({.qpn = 7, .event_type = RdmaEventType::kQpFatal, .code = 1});
  ASSERT_EQ(bench.bench.Run(50), "");
  EXPECT_EQ(bench.Events().size(), 1u);
  EXPECT_TRUE(bench.qp_done.sent.empty());
  bench.quiet_rate = 16;
  const Cycle quiet = bench.bench.cycle();
  bench.Finish();
  ASSERT_FALSE(bench.qp_done.sent.empty());
  EXPECT_EQ(bench.DoneAt(0), quiet + 1);
}

TEST(QpControl, HoldIsAssertedWhileACommandWaitsForQuiet) {
  for (const auto operation : {QpOperation::kFlush, QpOperation::kStop}) {
    for (const Cycle wait : {Cycle{0}, Cycle{1}, Cycle{30}}) {
      Bench bench;
      bench.Bring(7, IbQpState::kRts);
      bench.held.clear();
      bench.quiet_rate = wait == 0 ? 16 : 0;
      bench.Order(7, operation);
      const Cycle pulse = bench.bench.cycle() + QpControl::kLatency;
      Cycle quiet = pulse + QpControl::kFenceCycles;
      if (wait != 0) {
        quiet += wait;
        ASSERT_EQ(bench.bench.Run(quiet - bench.bench.cycle()), "");
        bench.quiet_rate = 16;
      }
      bench.Finish();
      ASSERT_EQ(bench.States().size(), 1u);
      EXPECT_EQ(bench.states.sent[0].first, pulse);
      ASSERT_EQ(bench.Dones(), 1u);
      EXPECT_EQ(bench.DoneAt(0), quiet + 1);
      // From the pulse to the cycle in which quiet was sampled, without a gap.
      ASSERT_FALSE(bench.held.empty());
      EXPECT_EQ(bench.held.front(), pulse);
      EXPECT_EQ(bench.held.back(), quiet);
      EXPECT_EQ(bench.held.size(), quiet - pulse + 1);
      // Other blocks count held work as work again two cycles later: until then this block keeps the device awake.
      EXPECT_EQ(bench.busy.back(), quiet + 1);
    }
  }
}

TEST(QpControl, OtherCommandsAndFailuresDoNotAssertHold) {
  Bench bench;
  bench.Bring(7, IbQpState::kRts);
  bench.held.clear();
  bench.quiet_rate = 0;
  bench.qp_sends.tokens.push_back({.qpn = 7, .outstanding = 3});
  bench.Finish();
  bench.Order(7, QpOperation::kStart);
  bench.Order(7, QpOperation::kDrain);
  bench.Order(kQps, QpOperation::kStop);
  bench.requester_failure.tokens.push_back({.qpn = 7, .event_type = RdmaEventType::kQpFatal});
  bench.csr_event.tokens.push_back({.event_type = RdmaEventType::kPortErr});
  bench.Finish();
  EXPECT_EQ(bench.Dones(), 2u);
  EXPECT_TRUE(bench.held.empty());
}

TEST(QpControl, HoldIsDeassertedBetweenCommands) {
  Bench bench;
  bench.Bring(7, IbQpState::kRts);
  bench.held.clear();
  bench.Order(7, QpOperation::kFlush);
  bench.Order(7, QpOperation::kStop);
  bench.Finish();
  ASSERT_EQ(bench.Dones(), 2u);
  size_t gaps = 0;
  for (size_t i = 1; i < bench.held.size(); ++i) {
    if (bench.held[i] == bench.held[i - 1] + 1) continue;
    ++gaps;
    EXPECT_EQ(bench.held[i - 1], bench.DoneAt(0) - 1);
    EXPECT_EQ(bench.held[i], bench.states.sent[1].first);
    EXPECT_GT(bench.held[i], bench.held[i - 1] + 3);
  }
  EXPECT_EQ(gaps, 1u);
}

// --- Failures --------------------------------------------------------------------------------------------------------

TEST(QpControl, FailureStopsAnOperatingQpOnly) {
  Bench bench;
  const auto fail = [&](int input, const spec::QpFailure& failure) {
    (input == 0   ? bench.requester_failure.tokens
     : input == 1 ? bench.completer_failure.tokens
                  : bench.responder_failure.tokens)
        .push_back(failure);
  };
  constexpr RdmaEventType kTypes[] = {RdmaEventType::kQpFatal, RdmaEventType::kQpReqErr, RdmaEventType::kQpAccessErr};
  for (const auto from : kStates) {
    for (int input = 0; input < 3; ++input) {
      bench.Bring(9, from);
      fail(input, {.qpn = 9, .event_type = kTypes[input], .code = 0x80000000u + static_cast<uint32_t>(input)});
      bench.Finish();
      const bool works = from >= IbQpState::kRtr && from <= IbQpState::kSqe;
      ASSERT_EQ(bench.States().size(), works ? 1u : 0u);
      ASSERT_EQ(bench.Events().size(), works ? 1u : 0u);
      if (!works) continue;
      EXPECT_EQ(bench.States()[0], (spec::QpStateWrite{.qpn = 9, .state = IbQpState::kErr}));
      EXPECT_EQ(
          bench.Events()[0],
          (HostEvent{.event_type = kTypes[input], .element = 9, .code = 0x80000000u + static_cast<uint32_t>(input)}));
    }
  }
  for (const uint32_t qpn : {kQps, kQps + 9, 0xffffffu}) fail(0, {.qpn = qpn});
  bench.Bring(9, IbQpState::kRts);
  bench.Finish();
  EXPECT_TRUE(bench.Events().empty());
}

// The event is for errors that no completion can report; those of a request of the peer have events of their own.
// [IBTA vol. 1, 11.6.3.2]
TEST(QpControl, ReportedFailureLeadsToErrWithoutAFatalEvent) {
  Bench bench;
  for (const auto from : kStates) {
    for (auto* input : {&bench.requester_failure, &bench.completer_failure, &bench.responder_failure}) {
      for (const auto type : {RdmaEventType::kQpFatal, RdmaEventType::kQpReqErr, RdmaEventType::kQpAccessErr}) {
        bench.Bring(9, from);
        input->tokens.push_back({.qpn = 9, .event_type = type, .code = 7, .reported = true});
        bench.Finish();
        const bool works = from >= IbQpState::kRtr && from <= IbQpState::kSqe;
        std::vector<spec::QpStateWrite> states;
        std::vector<HostEvent> events;
        if (works) states.push_back({.qpn = 9, .state = IbQpState::kErr});
        if (works && type != RdmaEventType::kQpFatal) events.push_back({.event_type = type, .element = 9, .code = 7});
        EXPECT_EQ(bench.States(), states);
        EXPECT_EQ(bench.Events(), events);
      }
    }
  }
}

TEST(QpControl, SendHalfFailureChangesRtsAndSqdToSqeWithoutEvent) {
  Bench bench;
  for (const auto from : kStates) {
    for (auto* input : {&bench.requester_failure, &bench.completer_failure, &bench.responder_failure}) {
      bench.Bring(9, from);
      input->tokens.push_back({.qpn = 9, .event_type = RdmaEventType::kQpFatal, .code = 7, .send_only = true});
      bench.Finish();
      EXPECT_TRUE(bench.Events().empty());
      if (from == IbQpState::kRts || from == IbQpState::kSqd) {
        EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 9, .state = IbQpState::kSqe}}));
      } else {
        EXPECT_TRUE(bench.States().empty());
      }
    }
  }
  bench.Bring(9, IbQpState::kRts);
  bench.requester_failure.tokens.push_back({.qpn = kQps + 9, .send_only = true});
  bench.Finish();
  EXPECT_TRUE(bench.States().empty());
}

TEST(QpControl, InSqeSendHalfFailuresAreIgnoredAndOthersLeadToErr) {
  Bench bench;
  bench.Bring(2, IbQpState::kRts);
  bench.requester_failure.tokens = {{.qpn = 2, .event_type = RdmaEventType::kQpFatal, .send_only = true},
                                    {.qpn = 2, .event_type = RdmaEventType::kQpFatal, .send_only = true},
                                    {.qpn = 2, .event_type = RdmaEventType::kQpFatal, .code = 3},
                                    {.qpn = 2, .event_type = RdmaEventType::kQpFatal, .send_only = true}};
  bench.Finish();
  EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 2, .state = IbQpState::kSqe},
                                                             {.qpn = 2, .state = IbQpState::kErr}}));
  EXPECT_EQ(bench.Events(), (std::vector<HostEvent>{{.event_type = RdmaEventType::kQpFatal, .element = 2, .code = 3}}));
}

TEST(QpControl, CommunicationEstablishedIsReportedWithoutStateChange) {
  Bench bench;
  for (const auto from : kStates) {
    bench.Bring(9, from);
    bench.responder_failure.tokens.push_back({.qpn = 9, .event_type = RdmaEventType::kCommEst});
    bench.Finish();
    EXPECT_TRUE(bench.States().empty());
    std::vector<HostEvent> expected;
    if (from >= IbQpState::kRtr && from <= IbQpState::kSqe) {
      expected.push_back({.event_type = RdmaEventType::kCommEst, .element = 9});
    }
    EXPECT_EQ(bench.Events(), expected);
  }
}

TEST(QpControl, LastReceiveIsReportedInErrWithoutStateChange) {
  Bench bench;
  for (const auto from : kStates) {
    bench.Bring(9, from);
    bench.responder_failure.tokens.push_back({.qpn = 9, .event_type = RdmaEventType::kQpLastWqeReached});
    bench.Finish();
    EXPECT_TRUE(bench.States().empty());
    std::vector<HostEvent> expected;
    if (from >= IbQpState::kRtr) {
      expected.push_back({.event_type = RdmaEventType::kQpLastWqeReached, .element = 9});
    }
    EXPECT_EQ(bench.Events(), expected);
  }
  bench.Forget();
  bench.responder_failure.tokens.push_back({.qpn = kQps, .event_type = RdmaEventType::kQpLastWqeReached});
  bench.Finish();
  EXPECT_TRUE(bench.Events().empty());
}

TEST(QpControl, VirtqueueOfASharedReceiveQueueFailsIt) {
  for (const bool by_desc_fetch : {true, false}) {
    Bench bench;
    bench.WriteQueue(ReceiveQueue(6), TableQueueKind::kRq, 6);
    bench.WriteSrq(6);
    bench.Finish();
    auto& failure = by_desc_fetch ? bench.desc_fetch_failure : bench.work_failure;
    failure.tokens.push_back({.vq_index = ReceiveQueue(6), .code = RdmaError::kWindowViolation});
    bench.Finish();
    EXPECT_EQ(bench.Events(),
              (std::vector<HostEvent>{{.event_type = RdmaEventType::kVqErr, .element = ReceiveQueue(6), .code = 128},
                                      {.event_type = RdmaEventType::kSrqErr, .element = 6, .code = 128}}));
    bench.Forget();
    // Its limit.
    failure.tokens.push_back({.vq_index = ReceiveQueue(6)});
    bench.Finish();
    EXPECT_EQ(bench.Events(), (std::vector<HostEvent>{{.event_type = RdmaEventType::kSrqLimitReached, .element = 6}}));
    EXPECT_TRUE(bench.States().empty());
    // The number is a QP's again.
    bench.Bring(6, IbQpState::kRts);
    failure.tokens.push_back({.vq_index = ReceiveQueue(6), .code = RdmaError::kWindowViolation});
    bench.Finish();
    ASSERT_EQ(bench.Events().size(), 2u);
    EXPECT_EQ(bench.Events()[1].event_type, RdmaEventType::kQpFatal);
  }
}

TEST(QpControl, OnlyTheFirstFailureOfAQpIsReported) {
  Bench bench;
  bench.Bring(2, IbQpState::kRts);
  bench.requester_failure.tokens = {{.qpn = 2, .event_type = RdmaEventType::kQpFatal, .code = 1},
                                    {.qpn = 2, .event_type = RdmaEventType::kQpFatal, .code = 2}};
  bench.Finish();
  ASSERT_EQ(bench.Events().size(), 1u);
  EXPECT_EQ(bench.Events()[0].code, 1u);
}

TEST(QpControl, VirtqueueFailureIsReportedAndFailsItsOwner) {
  for (const bool by_desc_fetch : {true, false}) {
    Bench bench;
    bench.WriteQueue(SendQueue(6), TableQueueKind::kSq, 6);
    bench.WriteQueue(ReceiveQueue(6), TableQueueKind::kRq, 6);
    bench.WriteQueue(CqQueue(11), TableQueueKind::kCq, 11);
    bench.WriteQueue(2, TableQueueKind::kControl, 0);
    bench.WriteQueue(kQueues - 1, TableQueueKind::kEvent, 0);
    bench.WriteQueue(SendQueue(7), TableQueueKind::kSq, 0x10000 + kQps);  // an owner that does not exist
    const auto fail = [&](uint16_t vq_index) {
      bench.Bring(6, IbQpState::kRts);
      (by_desc_fetch ? bench.desc_fetch_failure : bench.work_failure)
          .tokens.push_back({.vq_index = vq_index, .code = RdmaError::kWindowViolation});
      bench.Finish();
      const auto events = bench.Events();
      ASSERT_FALSE(events.empty());
      EXPECT_EQ(events[0], (HostEvent{.event_type = RdmaEventType::kVqErr, .element = vq_index, .code = 128}));
    };
    for (const uint16_t vq_index : {SendQueue(6), ReceiveQueue(6)}) {
      fail(vq_index);
      ASSERT_EQ(bench.Events().size(), 2u);
      EXPECT_EQ(bench.Events()[1], (HostEvent{.event_type = RdmaEventType::kQpFatal, .element = 6, .code = 128}));
      ASSERT_EQ(bench.States().size(), 1u);
      EXPECT_EQ(bench.States()[0], (spec::QpStateWrite{.qpn = 6, .state = IbQpState::kErr}));
    }
    fail(CqQueue(11));
    ASSERT_EQ(bench.bench.RunOut(100), "");
    ASSERT_EQ(bench.Events().size(), 2u);
    EXPECT_EQ(bench.Events()[1], (HostEvent{.event_type = RdmaEventType::kCqErr, .element = 11, .code = 128}));
    EXPECT_TRUE(bench.States().empty());
    for (const uint32_t vq_index : {2u, kQueues - 1, kQueues, 0xffffu, uint32_t{SendQueue(7)}, uint32_t{CqQueue(0)}}) {
      fail(static_cast<uint16_t>(vq_index));
      EXPECT_EQ(bench.Events().size(), 1u) << vq_index;
      EXPECT_TRUE(bench.States().empty()) << vq_index;
    }
    // A QP that is not operating is not affected.
    bench.Bring(6, IbQpState::kInit);
    bench.desc_fetch_failure.tokens.push_back({.vq_index = SendQueue(6), .code = RdmaError::kBadDescriptor});
    bench.Finish();
    EXPECT_EQ(bench.Events().size(), 1u);
    EXPECT_TRUE(bench.States().empty());
  }
}

TEST(QpControl, CqFailureFailsAllAttachedQps) {
  for (const RdmaError code : {RdmaError::kCqOverrun, RdmaError::kBadDescriptor}) {
    Bench bench;
    bench.WriteQueue(CqQueue(11), TableQueueKind::kCq, 11);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Bring(qpn, IbQpState::kRts, 10, 12);
    bench.Bring(0, IbQpState::kRts, 11, 3);
    bench.Bring(4, IbQpState::kInit, 11, 11);  // not operating yet
    bench.Bring(9, IbQpState::kRtr, 3, 11);
    bench.Bring(kQps - 1, IbQpState::kSqd, 11, 11);
    bench.desc_fetch_failure.tokens.push_back({.vq_index = CqQueue(11), .code = code});
    bench.Finish();
    ASSERT_EQ(bench.bench.RunOut(200), "");
    std::vector<HostEvent> expected;
    // The ring of a full CQ is correct.
    if (code != RdmaError::kCqOverrun) {
      expected.push_back(
          {.event_type = RdmaEventType::kVqErr, .element = CqQueue(11), .code = static_cast<uint32_t>(code)});
    }
    expected.push_back({.event_type = RdmaEventType::kCqErr, .element = 11, .code = static_cast<uint32_t>(code)});
    std::vector<spec::QpStateWrite> states;
    for (const uint32_t qpn : {0U, 9U, kQps - 1}) {
      expected.push_back(
          {.event_type = RdmaEventType::kQpFatal, .element = qpn, .code = static_cast<uint32_t>(RdmaError::kCqFailed)});
      states.push_back({.qpn = qpn, .state = IbQpState::kErr});
    }
    EXPECT_EQ(bench.Events(), expected);
    EXPECT_EQ(bench.States(), states);
  }
}

TEST(QpControl, QueueFailuresAreTakenWhileEventsStall) {
  Bench bench;
  bench.host_event.rate = 0;
  for (uint32_t i = 0; i < kQueues; ++i) {
    bench.desc_fetch_failure.tokens.push_back(
        {.vq_index = static_cast<uint16_t>(i), .code = RdmaError::kBadDescriptor});
  }
  ASSERT_EQ(bench.bench.Run(4 * kQueues), "");
  EXPECT_TRUE(bench.desc_fetch_failure.IsEmpty());
  bench.host_event.rate = 16;
  ASSERT_EQ(bench.bench.RunOut(10 * kQueues), "");
  EXPECT_EQ(bench.Events().size(), kQueues);
}

TEST(QpControl, FirmwareEventsPassInOrder) {
  Bench bench;
  for (uint32_t i = 0; i < 50; ++i) {
    bench.csr_event.tokens.push_back({.event_type = RdmaEventType::kPortActive, .element = i, .code = ~i});
  }
  const std::vector<HostEvent> sent(bench.csr_event.tokens.begin(), bench.csr_event.tokens.end());
  bench.host_event.rate = 5;
  bench.Finish();
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.Events(), sent);
}

// --- Parity ----------------------------------------------------------------------------------------------------------

TEST(QpControl, VirtqueueWithBadParityFailsNoOwner) {
  Bench bench;
  for (const TableQueueKind kind : {TableQueueKind::kSq, TableQueueKind::kCq}) {
    bench.Bring(1, IbQpState::kRts, 1, 1);
    for (const uint32_t bit : {0u, 26u, 1000u}) {
      bench.WriteQueue(SendQueue(1), kind, 1);
      bench.Finish();
      bench.contexts.Flip(spec::ContextRam::kQpControlQueue, SendQueue(1), bit);
      bench.work_failure.tokens.push_back({.vq_index = SendQueue(2), .code = RdmaError::kBadWqe});
      bench.Finish();
      bench.Forget();
      EXPECT_TRUE(bench.contexts.errors.empty());
      bench.work_failure.tokens.push_back({.vq_index = SendQueue(1), .code = RdmaError::kBadWqe});
      const Cycle offered = bench.bench.cycle();
      bench.Finish();
      EXPECT_EQ(bench.Events(), (std::vector<HostEvent>{{.event_type = RdmaEventType::kVqErr,
                                                         .element = SendQueue(1),
                                                         .code = static_cast<uint32_t>(RdmaError::kBadWqe)}}));
      EXPECT_TRUE(bench.States().empty());
      EXPECT_EQ(bench.contexts.errors, std::vector<Cycle>{offered + QpControl::kLatency - 1});
      bench.contexts.errors.clear();
      bench.Forget();
    }
    bench.WriteQueue(SendQueue(1), kind, 1);
    bench.Finish();
    bench.work_failure.tokens.push_back({.vq_index = SendQueue(1), .code = RdmaError::kBadWqe});
    ASSERT_EQ(bench.bench.RunOut(100), "");
    EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 1, .state = IbQpState::kErr}}));
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.Forget();
  }
}

TEST(QpControl, QpWithCqsOfBadParityDoesNotFailWithACq) {
  Bench bench;
  bench.WriteQueue(CqQueue(11), TableQueueKind::kCq, 11);
  for (const uint32_t qpn : {2u, 4u, 6u}) bench.Bring(qpn, IbQpState::kRts, 11, 11);
  bench.contexts.Flip(spec::ContextRam::kQpControlCqs, 4, 5);
  bench.Finish();
  EXPECT_TRUE(bench.contexts.errors.empty());
  bench.desc_fetch_failure.tokens.push_back({.vq_index = CqQueue(11), .code = RdmaError::kBadDescriptor});
  ASSERT_EQ(bench.bench.RunOut(200), "");
  EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 2, .state = IbQpState::kErr},
                                                             {.qpn = 6, .state = IbQpState::kErr}}));
  EXPECT_EQ(bench.contexts.errors.size(), 1u);
  bench.Forget();
  bench.contexts.errors.clear();
  bench.WriteQp(4, IbQpState::kRts, 11, 11);
  bench.Finish();
  bench.desc_fetch_failure.tokens.push_back({.vq_index = CqQueue(11), .code = RdmaError::kBadDescriptor});
  ASSERT_EQ(bench.bench.RunOut(200), "");
  EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 4, .state = IbQpState::kErr}}));
  EXPECT_TRUE(bench.contexts.errors.empty());
}

TEST(QpControl, RequestedStateWithBadParityIsNotApplied) {
  Bench bench;
  for (const uint32_t bit : {0u, 2u, 1000u}) {
    bench.Bring(5, IbQpState::kRtr);
    bench.WriteQp(5, IbQpState::kRts);
    bench.Finish();
    bench.contexts.Flip(spec::ContextRam::kQpControlRequested, 5, bit);
    bench.Order(5, QpOperation::kDrain);  // does not use it
    bench.Finish();
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.Forget();
    bench.Order(5, QpOperation::kStart);
    const Cycle offered = bench.bench.cycle();
    bench.Finish();
    EXPECT_TRUE(bench.States().empty());
    EXPECT_EQ(bench.Dones(), 1u);
    EXPECT_EQ(bench.contexts.errors, std::vector<Cycle>{offered + QpControl::kLatency});
    bench.contexts.errors.clear();
    bench.WriteQp(5, IbQpState::kRts);
    bench.Order(5, QpOperation::kStart);
    bench.Finish();
    EXPECT_EQ(bench.States(), (std::vector<spec::QpStateWrite>{{.qpn = 5, .state = IbQpState::kRts}}));
    EXPECT_TRUE(bench.contexts.errors.empty());
  }
}

TEST(QpControl, QpWhoseStateHasBadParityIsStoppedOnly) {
  Bench bench;
  for (const uint32_t bit : {0u, 2u, 1000u}) {
    bench.Bring(5, IbQpState::kRts);
    bench.contexts.Flip(spec::ContextRam::kQpControlState, 5, bit);
    bench.Finish();
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.requester_failure.tokens.push_back({.qpn = 5, .event_type = RdmaEventType::kQpFatal});
    const Cycle offered = bench.bench.cycle();
    bench.Finish();
    EXPECT_EQ(bench.contexts.errors, std::vector<Cycle>{offered + QpControl::kLatency});
    for (const QpOperation operation : {QpOperation::kStart, QpOperation::kDrain}) bench.Order(5, operation);
    bench.Finish();
    EXPECT_TRUE(bench.States().empty());
    EXPECT_TRUE(bench.Events().empty());
    EXPECT_EQ(bench.contexts.errors.size(), 3u);
    bench.Order(5, QpOperation::kStop);  // writes it
    bench.Finish();
    EXPECT_EQ(bench.contexts.errors.size(), 4u);
    bench.contexts.errors.clear();
    bench.Order(5, QpOperation::kStart);
    bench.Finish();
    ASSERT_EQ(bench.States().size(), 2u);
    EXPECT_EQ(bench.States()[1], (spec::QpStateWrite{.qpn = 5, .state = IbQpState::kRts}));
    EXPECT_TRUE(bench.contexts.errors.empty());
  }
}

// --- Latencies -------------------------------------------------------------------------------------------------------

TEST(QpControl, MeetsDocumentedLatency) {
  Bench bench;
  bench.WriteQueue(SendQueue(1), TableQueueKind::kSq, 1);
  bench.Bring(1, IbQpState::kRts);

  bench.Order(1, QpOperation::kStart);
  Cycle offered = bench.bench.cycle();
  bench.Finish();
  EXPECT_EQ(bench.states.sent[0].first, offered + QpControl::kLatency);
  EXPECT_EQ(bench.DoneAt(0), offered + QpControl::kLatency);
  bench.Forget();

  bench.Order(1, QpOperation::kDrain);
  offered = bench.bench.cycle();
  bench.Finish();
  EXPECT_EQ(bench.states.sent[0].first, offered + QpControl::kLatency);
  EXPECT_EQ(bench.DoneAt(0), offered + QpControl::kLatency + QpControl::kFenceCycles + 1);
  bench.Forget();

  bench.work_failure.tokens.push_back({.vq_index = SendQueue(1), .code = RdmaError::kBadWqe});
  offered = bench.bench.cycle();
  bench.Finish();
  EXPECT_EQ(bench.states.sent[0].first, offered + QpControl::kLatency);
  EXPECT_EQ(bench.sink.sent()[0].cycle, offered + QpControl::kLatency);
  EXPECT_EQ(bench.sink.sent()[1].cycle, offered + QpControl::kLatency + 1);
  bench.Forget();

  bench.Order(1, QpOperation::kStop);
  offered = bench.bench.cycle();
  bench.Finish();
  EXPECT_EQ(bench.states.sent[0].first, offered + QpControl::kLatency);
  EXPECT_EQ(bench.DoneAt(0), offered + QpControl::kLatency + QpControl::kFenceCycles + 1);
  bench.Forget();

  // A token without an event takes 4 cycles, one with one event 5.
  bench.qp_order.tokens = {{1, QpOperation::kStart}, {1, QpOperation::kStart}};
  bench.Finish();
  EXPECT_EQ(bench.DoneAt(1), bench.DoneAt(0) + 4);
  bench.Forget();
  bench.csr_event.tokens.resize(3);
  bench.Finish();
  EXPECT_EQ(bench.sink.sent()[2].cycle, bench.sink.sent()[1].cycle + 5);
}

TEST(QpControl, ServesInputsRoundRobin) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < 4; ++qpn) bench.Bring(qpn, IbQpState::kRts);
  bench.requester_failure.tokens.assign(20, {.qpn = 3, .event_type = RdmaEventType::kQpFatal});
  bench.csr_event.tokens.assign(3, {.event_type = RdmaEventType::kPortErr});
  bench.completer_failure.tokens.push_back({.qpn = 1, .event_type = RdmaEventType::kQpReqErr});
  bench.Finish();
  // None of the others waits for the twenty.
  ASSERT_EQ(bench.Events().size(), 5u);
  EXPECT_LT(bench.sink.sent()[4].cycle, bench.sink.sent()[0].cycle + 60);
}

// --- RTL against model -----------------------------------------------------------------------------------------------

TEST(QpControl, MatchesModelInRandomTraffic) {
  size_t errors = 0;  // of parity
  for (const unsigned out_rate : {16u, 6u}) {
    for (const unsigned quiet_rate : {16u, 3u}) {
      for (const unsigned in_rate : {16u, 1u}) {
        Bench bench;
        auto& random = bench.random;
        for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
          bench.WriteQueue(SendQueue(qpn), TableQueueKind::kSq, qpn);
          bench.WriteQueue(ReceiveQueue(qpn), TableQueueKind::kRq, qpn);
          bench.WriteQueue(CqQueue(qpn), TableQueueKind::kCq, qpn);
        }
        bench.Finish();
        bench.host_event.rate = out_rate;
        bench.quiet_rate = quiet_rate;
        bench.requester_failure.rate = bench.completer_failure.rate = bench.responder_failure.rate = in_rate;
        bench.desc_fetch_failure.rate = bench.work_failure.rate = bench.csr_event.rate = in_rate;
        bench.table_write.rate = bench.qp_sends.rate = 4;
        size_t queue_failures = 0;
        size_t orders = 0, drains = 0;
        bench.contexts.period = 61;
        for (int i = 0; i < 400; ++i) {
          const auto qpn = [&] { return static_cast<uint32_t>(sim::UniformBelow(random, kQps + 1)); };
          const auto failure = [&] {
            return spec::QpFailure{.qpn = qpn(),
                                   .event_type = random() % 8 == 0   ? RdmaEventType::kCommEst
                                                 : random() % 8 == 0 ? RdmaEventType::kQpLastWqeReached
                                                                     : static_cast<RdmaEventType>(1 + random() % 3),
                                   .code = static_cast<uint32_t>(random()),
                                   .send_only = random() % 4 == 0,
                                   .reported = random() % 2 == 0};
          };
          if (i % 8 == 0) {
            bench.contexts.Flip(
                static_cast<spec::ContextRam>(static_cast<unsigned>(spec::ContextRam::kQpControlQueue) + random() % 4),
                static_cast<uint32_t>(sim::UniformBelow(random, kQps + 16)), static_cast<uint32_t>(random() % 1024));
          }
          bench.requester_failure.tokens.push_back(failure());
          if (i % 3 == 0) bench.completer_failure.tokens.push_back(failure());
          if (i % 4 == 0) bench.responder_failure.tokens.push_back(failure());
          for (auto* stream : {&bench.desc_fetch_failure, &bench.work_failure}) {
            if (random() % 4 != 0) continue;
            stream->tokens.push_back({.vq_index = static_cast<uint16_t>(sim::UniformBelow(random, kQueues + 2)),
                                      .code = static_cast<RdmaError>(128 + random() % 7)});
            ++queue_failures;
          }
          if (i % 2 == 0) {
            bench.csr_event.tokens.push_back({.event_type = static_cast<RdmaEventType>(random() & 0xffff),
                                              .element = static_cast<uint32_t>(random()),
                                              .code = static_cast<uint32_t>(random())});
          }
          // Mostly starts into operating states, so that failures find QPs to stop.
          const auto index = static_cast<uint32_t>(sim::UniformBelow(random, kQps));
          if (i % 16 == 5) bench.WriteSrq(static_cast<uint32_t>(sim::UniformBelow(random, kQps)));
          bench.WriteQp(index, static_cast<IbQpState>(random() % 4 == 0 ? random() % 7 : 3));
          const auto operation = static_cast<QpOperation>(random() % 8 == 0 ? random() % 8 : random() % 2 * 3);
          bench.Order(index, operation);
          ++(operation == QpOperation::kDrain ? drains : orders);
          bench.qp_sends.tokens.push_back({.qpn = index, .outstanding = static_cast<uint16_t>(random() % 2)});
        }
        std::map<uint32_t, IbQpState> state;
        ASSERT_EQ(bench.bench.RunOut(1000), "");
        const auto is_drain = [](const auto& done) { return done.second.is_drain != 0; };
        const auto drained =
            static_cast<size_t>(std::count_if(bench.qp_done.sent.begin(), bench.qp_done.sent.end(), is_drain));
        EXPECT_EQ(bench.Dones() - drained, orders);
        EXPECT_LE(drained, drains);
        for (const auto& [cycle, write] : bench.states.sent) {
          if (state[write.qpn] == IbQpState::kErr && write.state != IbQpState::kErr) {
            EXPECT_TRUE(write.clear) << "left ERR without stop in cycle " << cycle;
          }
          state[write.qpn] = write.state;
        }
        size_t vq_errs = 0;
        size_t csr_events = 0;
        for (const auto& event : bench.Events()) {
          if (event.event_type == RdmaEventType::kVqErr && event.code >= 128 && event.code < 135) ++vq_errs;
          constexpr auto kOverrun = static_cast<uint32_t>(RdmaError::kCqOverrun);
          if (event.event_type == RdmaEventType::kCqErr && event.code == kOverrun) ++vq_errs;
          ++csr_events;
        }
        EXPECT_GE(vq_errs, queue_failures);
        EXPECT_GE(csr_events, queue_failures + 200);
        EXPECT_GT(bench.states.sent.size(), 150u);
        errors += bench.contexts.errors.size();
      }
    }
  }
  EXPECT_GT(errors, 100u);
}

}  // namespace
}  // namespace vireo::verif
