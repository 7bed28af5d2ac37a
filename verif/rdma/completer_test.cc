// SPDX-License-Identifier: Apache-2.0
// The completer: RTL against model in every cycle, and both against what acknowledges and states must do to records.
#include "model/rdma/completer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "Vcompleter.h"
#include "verif/common/block_bench.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Completer;
using model::Cycle;
using spec::AethSyndrome;
using spec::IbQpState;
using spec::IbWcStatus;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.net_queue_pairs = 3;
  config.num_cqs = 16;
  config.num_qps = 16;
  config.send_records = 8;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();
constexpr uint32_t kFirstQueue = 2 * kConfig.net_queue_pairs + 16 + spec::kRdmaTransmitqOffset;  // with mq
constexpr uint32_t kFirstQueueOne = 2 * 1 + 16 + spec::kRdmaTransmitqOffset;                     // without

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

struct Bench {
  explicit Bench(bool mq = true) : bench(rtl, agenda, random) {
    SetMq(mq);
    block.completion_out.Connect(completion_sink, block);
    block.retired_out.Connect(retired_sink, block);
    block.failure_out.Connect(failure_sink, block);
  }

  // Cycles, with idle compared in each.
  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs in cycle " + std::to_string(bench.cycle());
    }
    return {};
  }
  // Until nothing is under way.
  std::string Settle() {
    for (int i = 0; i < 5000; ++i) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (record.IsEmpty() && ack.IsEmpty() && state.IsEmpty() && table.IsEmpty() && block.IsIdle()) return {};
    }
    return "the block does not come to rest";
  }
  void SetState(uint32_t qpn, IbQpState to, bool clear = false) {
    state.tokens.push_back({.qpn = qpn, .state = to, .clear = clear});
  }
  void SetCq(uint32_t qpn, uint16_t cqn) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.send_cqn = cqn}.Encode(write.data);
    table.tokens.push_back(write);
  }
  // While nothing is under way.
  void SetMq(bool mq) {
    p.mq_i = mq;
    block.SetMq(bench.cycle(), mq);
    first_queue = mq ? kFirstQueue : kFirstQueueOne;
  }
  void Rates(unsigned in, unsigned out) {
    record.rate = ack.rate = in;
    completion.rate = retired.rate = failure.rate = out;
  }

  uint32_t first_queue = 0;
  std::mt19937_64 random = MakeRandom("completer");
  Agenda agenda;
  Completer block{agenda, kConfig};
  Channel<spec::Completion> completion_sink = Channel<spec::Completion>::Sink();
  Channel<spec::Doorbell> retired_sink = Channel<spec::Doorbell>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  RtlTop<Vcompleter> rtl{[](const Vcompleter& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.record_ready_o, top.ack_ready_o, top.completion_valid_o, top.retired_valid_o,
                           top.failure_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.completion_o);
    add(top.retired_o);
    add(top.failure_o);
  }};
  BlockBench<Vcompleter> bench;
  Vcompleter& p = rtl.ports();
  decltype(bench.In("", block.record_in, p.record_valid_i, p.record_ready_o, p.record_i)) record =
      bench.In("record", block.record_in, p.record_valid_i, p.record_ready_o, p.record_i);
  decltype(bench.In("", block.ack_in, p.ack_valid_i, p.ack_ready_o, p.ack_i)) ack =
      bench.In("ack", block.ack_in, p.ack_valid_i, p.ack_ready_o, p.ack_i);
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle cycle, const auto& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.Out("", completion_sink, p.completion_valid_o, p.completion_ready_i, p.completion_o)) completion =
      bench.Out("completion", completion_sink, p.completion_valid_o, p.completion_ready_i, p.completion_o);
  decltype(bench.Out("", retired_sink, p.retired_valid_o, p.retired_ready_i, p.retired_o)) retired =
      bench.Out("retired", retired_sink, p.retired_valid_o, p.retired_ready_i, p.retired_o);
  decltype(bench.Out("", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o);
};

constexpr uint32_t kQp = 5;
constexpr uint16_t kCq = 11;
constexpr uint64_t kWrId = 0xabc0'0000'0000;  // of the first

// One QP in RTS, and records by hand.
struct OneQp : Bench {
  explicit OneQp(uint32_t psn = 1000) : next_psn(psn) {
    SetCq(kQp, kCq);
    SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(Settle(), "");
  }
  spec::SendRecord Record(uint32_t packets, bool signaled = true) {
    spec::SendRecord record{.qpn = kQp,
                            .head = static_cast<uint16_t>(40 + posted),
                            .wr_id = kWrId + posted,
                            .opcode = spec::IbWcOpcode::kRdmaWrite,
                            .signaled = signaled,
                            .last_psn = Psn(next_psn + packets - 1),
                            .first_psn = next_psn};
    next_psn = Psn(next_psn + packets);
    ++posted;
    return record;
  }
  void Post(uint32_t packets, bool signaled = true) { record.tokens.push_back(Record(packets, signaled)); }
  void PostFailed(IbWcStatus status, uint32_t vendor) {
    spec::SendRecord failed = Record(0);
    failed.status = status;
    failed.vendor_err = vendor;
    record.tokens.push_back(failed);
  }
  void Ack(uint32_t psn, uint8_t syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits)) {
    ack.tokens.push_back({.qpn = kQp, .psn = Psn(psn), .syndrome = syndrome});
  }
  // The statuses that came since the last call; each work request in its turn, each with its own data.
  std::vector<IbWcStatus> Statuses() {
    EXPECT_EQ(Settle(), "");
    std::vector<IbWcStatus> statuses;
    for (const auto& sent : completion_sink.sent()) {
      const auto cqe = spec::RdmaCqReq::Decode(sent.token.cqe);
      EXPECT_EQ(sent.token.vq_index, first_queue + 2 * kQp);
      EXPECT_EQ(sent.token.head, 40 + completed);
      EXPECT_EQ(sent.token.used_bytes, 0u);
      EXPECT_EQ(sent.token.cqn, kCq);
      EXPECT_EQ(sent.token.solicited, cqe.status != IbWcStatus::kSuccess);
      EXPECT_EQ(cqe, (spec::RdmaCqReq{.wr_id = kWrId + completed,
                                      .status = cqe.status,
                                      .opcode = spec::IbWcOpcode::kRdmaWrite,
                                      .vendor_err = cqe.vendor_err,
                                      .qp_num = kQp}));
      vendor_err = cqe.vendor_err;
      statuses.push_back(cqe.status);
      ++completed;
    }
    has_cqe = !completion_sink.sent().empty() && completion_sink.sent().back().token.has_cqe;
    completion_sink.sent().clear();
    return statuses;
  }

  uint32_t next_psn;
  uint32_t posted = 0;
  uint32_t completed = 0;
  uint32_t vendor_err = 0;  // of the last completion
  bool has_cqe = false;
};

using Statuses = std::vector<IbWcStatus>;
constexpr auto kOk = IbWcStatus::kSuccess;
constexpr auto kFlush = IbWcStatus::kWrFlushErr;

TEST(Completer, AnAcknowledgeCompletesEveryRecordThatItCovers) {
  OneQp qp;
  for (const uint32_t packets : {1u, 3u, 1u, 2u}) qp.Post(packets);  // 1000, 1001 to 1003, 1004, 1005 and 1006
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1002);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Ack(1005);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  EXPECT_TRUE(qp.has_cqe);
  qp.Ack(1006);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.retired_sink.sent().size(), 4u);
  for (const auto& sent : qp.retired_sink.sent()) EXPECT_EQ(sent.token.vq_index, kFirstQueue + 2 * kQp);
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, AcknowledgesOutsideOfWhatIsOutstandingAreIgnored) {
  for (const uint32_t start : {1000u, 0xff'fffeu, 0u, 0x80'0000u}) {
    OneQp qp(start);
    qp.Ack(start);  // before there is anything
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Post(2);
    qp.Post(3);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    const auto nak = static_cast<uint8_t>(AethSyndrome::kNakInvalidRequest);
    for (const uint32_t psn : {start - 1, start + 5, start + 0x80'0000, start - 0x80'0000}) {
      qp.Ack(psn);
      qp.Ack(psn, nak);
    }
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(start + 2);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(start + 2, nak);  // acknowledged already
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});
  }
}

TEST(Completer, AnUnsignaledSuccessHasNoCqeButAFailureHas) {
  OneQp qp;
  qp.Post(1, false);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_FALSE(qp.has_cqe);
  qp.Post(1, false);
  qp.Ack(1001, static_cast<uint8_t>(AethSyndrome::kNakRemoteAccessError));
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kRemAccessErr});
  EXPECT_TRUE(qp.has_cqe);
}

TEST(Completer, ANakCompletesWhatIsBeforeItFailsOneAndFlushesTheRest) {
  const auto syndrome = [](AethSyndrome value) { return static_cast<uint8_t>(value); };
  struct Case {
    uint8_t syndrome;
    IbWcStatus status;
  };
  for (const Case& c : {
           Case{syndrome(AethSyndrome::kNakPsnSequenceError), IbWcStatus::kRetryExcErr},
           Case{syndrome(AethSyndrome::kNakInvalidRequest), IbWcStatus::kRemInvReqErr},
           Case{syndrome(AethSyndrome::kNakRemoteAccessError), IbWcStatus::kRemAccessErr},
           Case{syndrome(AethSyndrome::kNakRemoteOperationalError), IbWcStatus::kRemOpErr},
           Case{syndrome(AethSyndrome::kNakInvalidRdRequest), IbWcStatus::kBadRespErr},
           Case{0x7f, IbWcStatus::kBadRespErr},  // reserved NAK code
           Case{0x40, IbWcStatus::kBadRespErr},  // reserved kind
           Case{syndrome(AethSyndrome::kRnrNak), IbWcStatus::kRnrRetryExcErr},
           Case{0x3f, IbWcStatus::kRnrRetryExcErr},
       }) {
    OneQp qp(0xff'fffd);
    for (int i = 0; i < 4; ++i) qp.Post(2);
    qp.Ack(0xff'ffff + 1, c.syndrome);  // in the middle of the second
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, c.status, kFlush, kFlush}));
    ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token,
              (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = c.syndrome}));
    // Dead before qp_control says so: later records flush, acknowledges count for nothing.
    qp.Post(1);
    EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
    qp.Ack(qp.next_psn - 1);
    qp.SetState(kQp, IbQpState::kErr);
    qp.Post(1);
    EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
    EXPECT_EQ(qp.retired_sink.sent().size(), 6u);
    // Set up anew.
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.next_psn = 77;
    qp.Post(1);
    qp.Ack(77);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  }
}

TEST(Completer, TheVendorErrorOfANakIsItsSyndrome) {
  OneQp qp;
  qp.Post(1);
  qp.Ack(1000, static_cast<uint8_t>(AethSyndrome::kNakInvalidRequest));
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kRemInvReqErr});
  EXPECT_EQ(qp.vendor_err, static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest));
}

TEST(Completer, AFailedRecordCompletesInItsTurnAndWhatFollowsFlushes) {
  OneQp qp;
  qp.Post(2);
  qp.PostFailed(IbWcStatus::kLocQpOpErr, 51);
  qp.PostFailed(kFlush, 0);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr, kFlush}));
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  EXPECT_TRUE(qp.failure_sink.sent().empty());  // the requester tells of it
}

TEST(Completer, AFailedRecordWithNothingBeforeItCompletesAtOnce) {
  OneQp qp;
  qp.PostFailed(IbWcStatus::kLocProtErr, 19);
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
  EXPECT_EQ(qp.vendor_err, 19u);
}

TEST(Completer, AFailedRecordKeepsItsStatusWhenTheQpFlushes) {
  OneQp qp;
  qp.Post(2);
  qp.PostFailed(IbWcStatus::kLocQpOpErr, 51);
  qp.PostFailed(kFlush, 0);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, IbWcStatus::kLocQpOpErr, kFlush}));
}

TEST(Completer, AnAmendmentTakesThePlaceOfTheNewestRecord) {
  OneQp qp;
  qp.Post(1);
  spec::SendRecord record = qp.Record(5);
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  record.amends = true;
  record.status = IbWcStatus::kLocProtErr;
  record.vendor_err = 19;
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr}));
  EXPECT_EQ(qp.vendor_err, 19u);
  EXPECT_EQ(qp.retired_sink.sent().size(), 2u);
}

TEST(Completer, AnAmendmentOfARecordThatHasFlushedIsNothing) {
  OneQp qp;
  spec::SendRecord record = qp.Record(5);
  qp.record.tokens.push_back(record);
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  record.amends = true;
  record.status = IbWcStatus::kLocProtErr;
  qp.record.tokens.push_back(record);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 1u);
}

TEST(Completer, ASilentRecordLeavesWithoutCompletion) {
  OneQp qp;
  qp.Post(1);
  spec::SendRecord silent = qp.Record(0);
  silent.status = kFlush;
  silent.silent = true;
  qp.record.tokens.push_back(silent);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.retired_sink.sent().size(), 2u);
  qp.completed = 2;
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
}

TEST(Completer, ErrFlushesInOrder) {
  OneQp qp;
  for (int i = 0; i < 8; ++i) qp.Post(2);
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), Statuses(7, kFlush));
}

TEST(Completer, ClearForgetsWithoutAWord) {
  OneQp qp;
  for (int i = 0; i < 8; ++i) qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kReset, true);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 8u);
  qp.Post(1);  // left over from before
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.retired_sink.sent().size(), 9u);
}

TEST(Completer, ADrainingQpStillCompletes) {
  OneQp qp;
  qp.Post(1);
  qp.SetState(kQp, IbQpState::kSqd);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(Completer, AnAcknowledgeForAQpThatIsNotThereIsIgnored) {
  OneQp qp;
  qp.Post(1);
  qp.ack.tokens.push_back({.qpn = kQp + 16, .psn = 1000, .syndrome = 0x1f});
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, ItsQueuesFollowTheNetQueuePairsThatTheDriverAccepted) {
  OneQp qp;
  for (const bool mq : {false, true, false}) {
    qp.SetMq(mq);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.retired_sink.sent().clear();
    qp.Post(1);
    qp.Ack(qp.next_psn - 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});  // looks at the completion's queue
    ASSERT_EQ(qp.retired_sink.sent().size(), 1u);
    EXPECT_EQ(qp.retired_sink.sent()[0].token.vq_index, 2 * (mq ? 3 : 1) + 16 + 1 + 2 * kQp);
  }
}

TEST(Completer, LatenciesAreThoseOfThePage) {
  OneQp qp;
  qp.Post(1);
  ASSERT_EQ(qp.Settle(), "");
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToCompletion), "");
  EXPECT_EQ(qp.completion.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 1u);
  EXPECT_EQ(qp.retired.count, 1u);
  ASSERT_EQ(qp.Settle(), "");

  qp.Post(1);
  ASSERT_EQ(qp.Settle(), "");
  qp.SetState(kQp, IbQpState::kErr);
  ASSERT_EQ(qp.Run(Completer::kStateToCompletion), "");
  EXPECT_EQ(qp.completion.count, 1u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 2u);
  ASSERT_EQ(qp.Settle(), "");

  qp.PostFailed(kFlush, 0);
  ASSERT_EQ(qp.Run(Completer::kFailedRecordToCompletion), "");
  EXPECT_EQ(qp.completion.count, 2u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, 3u);
}

TEST(Completer, AMessageWithAnAcknowledgeOfItsOwnTakesAtMostTenCycles) {
  OneQp qp;
  const Cycle start = qp.bench.cycle();
  for (uint32_t i = 0; i < 50; ++i) {
    for (uint32_t k = 0; k < 8; ++k) qp.Post(1);
    for (uint32_t k = 0; k < 8; ++k) qp.Ack(1000 + 8 * i + k);
    ASSERT_EQ(qp.Settle(), "");
  }
  EXPECT_EQ(qp.completion.count, 400u);
  EXPECT_LE(qp.bench.cycle() - start, 400u * 10);
}

// Many QPs in any state, records and acknowledges that may mean anything.
TEST(Completer, RtlAndModelAgreeInEveryCycleUnderRandomTraffic) {
  for (const unsigned in_rate : {16u, 5u}) {
    for (const unsigned out_rate : {16u, 8u, 2u}) {
      Bench bench(out_rate == 8);
      bench.Rates(in_rate, out_rate);
      auto& random = bench.random;
      std::map<uint32_t, uint32_t> psn, open;
      uint64_t records = 0;
      bench.retired.keep = bench.completion.keep = bench.failure.keep = false;
      bench.retired.on_token = [&](Cycle, const spec::Doorbell& token) {
        ASSERT_NE(open[(token.vq_index - bench.first_queue) / 2]--, 0u);
      };
      for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        bench.SetCq(qpn, static_cast<uint16_t>(random() % 16));
        bench.SetState(qpn, IbQpState::kRts);
      }
      ASSERT_EQ(bench.Settle(), "");
      for (int step = 0; step < 8000; ++step) {
        const auto qpn = static_cast<uint32_t>(random() % (step % 2 == 0 ? 16 : 3));
        const unsigned dice = random() % 64;
        if (dice < 24 && open[qpn] < 8 && bench.record.tokens.size() < 4) {
          const auto packets = static_cast<uint32_t>(random() % 4);
          spec::SendRecord record{.qpn = qpn,
                                  .head = static_cast<uint16_t>(random()),
                                  .wr_id = random(),
                                  .opcode = static_cast<spec::IbWcOpcode>(random() % 5),
                                  .vendor_err = static_cast<uint32_t>(random()),
                                  .signaled = random() % 2 == 0,
                                  .last_psn = Psn(psn[qpn] + packets - 1),
                                  .first_psn = psn[qpn]};
          if (packets == 0 || random() % 32 == 0) {
            record.status = static_cast<IbWcStatus>(1 + random() % 12);
            record.silent = random() % 4 == 0;
          }
          psn[qpn] = Psn(psn[qpn] + packets);
          if (random() % 16 == 0) {
            record.amends = true;
          } else {
            ++open[qpn];
            ++records;
          }
          bench.record.tokens.push_back(record);
        } else if (dice < 52 && bench.ack.tokens.size() < 4) {
          const auto syndrome = static_cast<uint8_t>(random() % 6 == 0 ? random() : random() % 32);
          bench.ack.tokens.push_back({.qpn = random() % 32 == 0 ? static_cast<uint32_t>(random() & 0xff'ffff) : qpn,
                                      .psn = Psn(psn[qpn] - static_cast<uint32_t>(random() % 12)),
                                      .syndrome = syndrome,
                                      .msn = static_cast<uint32_t>(random() & 0xff'ffff)});
        } else if (dice < 56) {
          bench.SetState(qpn, static_cast<IbQpState>(random() % 7), random() % 4 == 0);
        } else if (dice < 61) {
          bench.SetState(qpn, IbQpState::kReset, true);
          bench.SetState(qpn, IbQpState::kRts);
        }
        ASSERT_EQ(bench.Run(random() % 12), "");
      }
      // Everything ends, and nothing is forgotten.
      bench.Rates(16, 16);
      ASSERT_EQ(bench.Settle(), "");
      for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kErr);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.retired.count, records);
      EXPECT_GT(bench.completion.count, 200u);
      EXPECT_GT(bench.failure.count, 10u);
    }
  }
}

// States of a few QPs change so often that changes meet their QP's turn.
TEST(Completer, RtlAndModelAgreeWhenStatesChangeInEveryCycle) {
  Bench bench;
  uint32_t open[3]{};
  bench.retired.on_token = [&](Cycle, const spec::Doorbell& token) { --open[(token.vq_index - kFirstQueue) / 2]; };
  for (int i = 0; i < 3000; ++i) {
    const auto qpn = static_cast<uint32_t>(bench.random() % 3);
    bench.SetState(qpn, bench.random() % 2 == 0 ? IbQpState::kErr : IbQpState::kRts, bench.random() % 2 == 0);
    if (bench.random() % 4 == 0 && open[qpn] < 8) {
      ++open[qpn];
      bench.record.tokens.push_back({.qpn = qpn, .last_psn = 7, .first_psn = 7});
    }
    bench.state.rate = bench.random() % 16 == 0 ? 3 : 16;
    ASSERT_EQ(bench.Run(1 + bench.random() % 2), "");
  }
  ASSERT_EQ(bench.Settle(), "");
}

}  // namespace
}  // namespace vireo::verif
