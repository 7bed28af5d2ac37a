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
#include "verif/common/level_bench.h"
#include "verif/harness/seed.h"
#include "verif/rdma/hold_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Completer;
using model::Cycle;
using spec::AethSyndrome;
using spec::IbQpState;
using spec::IbWcStatus;
using spec::TimerKind;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.net_queue_pairs = 3;
  config.num_cqs = 16;
  config.num_qps = 16;
  config.send_records = 8;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();
constexpr uint32_t kBurstBytes = 4096;
constexpr uint32_t kFirstQueue = 2 * kConfig.net_queue_pairs + 16 + spec::kRdmaTransmitqOffset;  // with mq
constexpr uint32_t kFirstQueueOne = 2 * 1 + 16 + spec::kRdmaTransmitqOffset;                     // without

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

struct Bench {
  explicit Bench(bool mq = true) : bench(rtl, agenda, random) {
    SetMq(mq);
    block.completion_out.Connect(completion_sink, block);
    block.retired_out.Connect(retired_sink, block);
    block.failure_out.Connect(failure_sink, block);
    block.replay_out.Connect(replay_sink, block);
    block.timer_set_out.Connect(timer_set_sink, block);
    block.on_qp_hold = [this](Cycle cycle, const spec::QpHold& token) { hold.Tell(cycle, token); };
    block.on_qp_reads = [this](Cycle cycle, const spec::QpReads& token) { reads.Tell(cycle, token); };
    bench.AddOther(hold);
    bench.AddOther(reads);
    bench.AddOther(pause);
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
      if (record.IsEmpty() && ack.IsEmpty() && expired.IsEmpty() && state.IsEmpty() && table.IsEmpty() &&
          block.IsIdle())
        return {};
    }
    return "the block does not come to rest";
  }
  void SetState(uint32_t qpn, IbQpState to, bool clear = false) {
    state.tokens.push_back({.qpn = qpn, .state = to, .clear = clear});
  }
  struct Retries {
    uint8_t timeout = 0;
    uint8_t retry_cnt = 0;
    uint8_t rnr_retry = 0;
    uint8_t max_rd_atomic = 0;
    spec::IbQpType qp_type = spec::IbQpType::kRc;
    spec::IbMtu path_mtu{};  // 32 packets are a burst
  };
  void SetCq(uint32_t qpn, uint16_t cqn) { SetCq(qpn, cqn, Retries{}); }
  void SetCq(uint32_t qpn, uint16_t cqn, const Retries& retries) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.qp_type = retries.qp_type,
                         .path_mtu = retries.path_mtu,
                         .max_rd_atomic = retries.max_rd_atomic,
                         .retry_cnt = retries.retry_cnt,
                         .timeout = retries.timeout,
                         .rnr_retry = retries.rnr_retry,
                         .send_cqn = cqn}
        .Encode(write.data);
    table.tokens.push_back(write);
  }
  // While nothing is under way.
  void SetMq(bool mq) {
    p.mq_i = mq;
    block.SetMq(bench.cycle(), mq);
    first_queue = mq ? kFirstQueue : kFirstQueueOne;
  }
  void Rates(unsigned in, unsigned out) {
    record.rate = ack.rate = expired.rate = in;
    completion.rate = retired.rate = failure.rate = replay.rate = timer_set.rate = out;
  }

  uint32_t first_queue = 0;
  std::mt19937_64 random = MakeRandom("completer");
  Agenda agenda;
  Completer block{agenda, kConfig, kBurstBytes};
  Channel<spec::Completion> completion_sink = Channel<spec::Completion>::Sink();
  Channel<spec::Doorbell> retired_sink = Channel<spec::Doorbell>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  Channel<spec::Replay> replay_sink = Channel<spec::Replay>::Sink();
  Channel<spec::TimerSet> timer_set_sink = Channel<spec::TimerSet>::Sink();
  RtlTop<Vcompleter> rtl{[](const Vcompleter& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.record_ready_o, top.ack_ready_o, top.timer_expired_ready_o, top.completion_valid_o,
                           top.retired_valid_o, top.failure_valid_o, top.replay_valid_o, top.timer_set_valid_o,
                           top.qp_hold_valid_o, top.qp_reads_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.completion_o);
    add(top.retired_o);
    add(top.failure_o);
    add(top.replay_o);
    add(top.timer_set_o);
    add(top.qp_hold_o);
    add(top.qp_reads_o);
  }};
  BlockBench<Vcompleter> bench;
  Vcompleter& p = rtl.ports();
  decltype(bench.In("", block.record_in, p.record_valid_i, p.record_ready_o, p.record_i)) record =
      bench.In("record", block.record_in, p.record_valid_i, p.record_ready_o, p.record_i);
  decltype(bench.In("", block.ack_in, p.ack_valid_i, p.ack_ready_o, p.ack_i)) ack =
      bench.In("ack", block.ack_in, p.ack_valid_i, p.ack_ready_o, p.ack_i);
  decltype(bench.In("", block.timer_expired_in, p.timer_expired_valid_i, p.timer_expired_ready_o,
                    p.timer_expired_i)) expired =
      bench.In("timer_expired", block.timer_expired_in, p.timer_expired_valid_i, p.timer_expired_ready_o,
               p.timer_expired_i);
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
  decltype(bench.Out("", replay_sink, p.replay_valid_o, p.replay_ready_i, p.replay_o)) replay =
      bench.Out("replay", replay_sink, p.replay_valid_o, p.replay_ready_i, p.replay_o);
  decltype(bench.Out("", timer_set_sink, p.timer_set_valid_o, p.timer_set_ready_i, p.timer_set_o)) timer_set =
      bench.Out("timer_set", timer_set_sink, p.timer_set_valid_o, p.timer_set_ready_i, p.timer_set_o);
  OutPulse<spec::QpHold, decltype(p.qp_hold_valid_o), decltype(p.qp_hold_o)> hold{"qp_hold", p.qp_hold_valid_o,
                                                                                  p.qp_hold_o};
  OutPulse<spec::QpReads, decltype(p.qp_reads_valid_o), decltype(p.qp_reads_o)> reads{"qp_reads", p.qp_reads_valid_o,
                                                                                      p.qp_reads_o};
  Hold<Completer> pause{p.hold_i, block, random};
};

constexpr uint32_t kQp = 5;
constexpr uint16_t kCq = 11;
constexpr uint64_t kWrId = 0xabc0'0000'0000;  // of the first

// One QP in RTS, and records by hand.
struct OneQp : Bench {
  explicit OneQp(uint32_t psn = 1000, const Retries& retries = {}) : next_psn(psn) {
    SetCq(kQp, kCq, retries);
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
    made.push_back(record);
    return record;
  }
  spec::SendRecord Read(uint32_t packets) {
    spec::SendRecord record = Record(packets);
    record.opcode = spec::IbWcOpcode::kRdmaRead;
    record.bytes = 100'000 + posted;
    made.back() = record;
    return record;
  }
  void PostRead(uint32_t packets) {
    record.tokens.push_back(Read(packets));
    never_sent = next_psn;
  }
  void PostUnsentRead(uint32_t packets) {
    spec::SendRecord unsent = Read(packets);
    unsent.unsent = true;
    record.tokens.push_back(unsent);
  }
  void PostFence(uint32_t packets, bool read = false) {
    spec::SendRecord fence = read ? Read(packets) : Record(packets);
    fence.unsent = fence.fence = true;
    record.tokens.push_back(fence);
  }
  void Response(uint32_t psn, uint8_t syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits),
                IbWcStatus status = IbWcStatus::kSuccess) {
    ack.tokens.push_back({.qpn = kQp, .psn = Psn(psn), .syndrome = syndrome, .is_read = true, .status = status});
  }
  void Responses(uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) Response(first + i);
  }
  void Post(uint32_t packets, bool signaled = true) {
    record.tokens.push_back(Record(packets, signaled));
    never_sent = next_psn;
  }
  void PostFailed(IbWcStatus status, uint32_t vendor) {
    spec::SendRecord failed = Record(0);
    failed.status = status;
    failed.vendor_err = vendor;
    record.tokens.push_back(failed);
  }
  void Ack(uint32_t psn, uint8_t syndrome = static_cast<uint8_t>(AethSyndrome::kAckNoCredits)) {
    ack.tokens.push_back({.qpn = kQp, .psn = Psn(psn), .syndrome = syndrome});
  }
  void PostUnsent(uint32_t packets) {
    spec::SendRecord unsent = Record(packets);
    unsent.unsent = true;
    record.tokens.push_back(unsent);
  }
  void SequenceNak(uint32_t psn) { Ack(psn, static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError)); }
  void RnrNak(uint32_t psn, uint8_t code = 0) {
    Ack(psn, static_cast<uint8_t>(static_cast<unsigned>(AethSyndrome::kRnrNak) | code));
  }
  // The timer that was set last runs out.
  void Expire() { expired.tokens.push_back({.qpn = kQp, .generation = timer.generation}); }
  // What was told since the last call.
  std::vector<spec::Replay> Replays() {
    EXPECT_EQ(Settle(), "");
    auto replays = Taken(replay_sink);
    // Whether it was sent before, is looked at here.
    for (auto& replay : replays) {
      if (replay.resume) continue;
      EXPECT_EQ(replay.fresh, Psn(replay.psn - never_sent) < 0x80'0000) << replay.psn;
      if (replay.fresh) never_sent = Psn(replay.last_psn + 1);
      replay.fresh = false;
    }
    return replays;
  }
  std::vector<spec::TimerSet> Timers() {
    EXPECT_EQ(Settle(), "");
    auto timers = Taken(timer_set_sink);
    if (!timers.empty()) timer = timers.back();
    return timers;
  }
  std::vector<uint8_t> Holds() {
    EXPECT_EQ(Settle(), "");
    std::vector<uint8_t> generations;
    for (const auto& [cycle, token] : hold.sent) {
      EXPECT_EQ(token.qpn, kQp);
      generations.push_back(token.generation);
    }
    hold.sent.clear();
    return generations;
  }
  // How many READs have ended, each time that it was told since the last call.
  std::vector<uint8_t> Ended() {
    EXPECT_EQ(Settle(), "");
    std::vector<uint8_t> counts;
    for (const auto& [cycle, token] : reads.sent) {
      EXPECT_EQ(token.qpn, kQp);
      counts.push_back(token.ended);
    }
    reads.sent.clear();
    return counts;
  }
  template <typename T>
  static std::vector<T> Taken(Channel<T>& sink) {
    std::vector<T> tokens;
    for (const auto& sent : sink.sent()) tokens.push_back(sent.token);
    sink.sent().clear();
    return tokens;
  }
  // The records that these tests post, by their numbers from 0 on.
  spec::Replay Again(uint8_t generation, uint32_t number, uint32_t psn, uint32_t first, uint32_t last) const {
    return {.qpn = kQp,
            .generation = generation,
            .head = static_cast<uint16_t>(40 + number),
            .slot = static_cast<uint8_t>(number % kConfig.send_records),
            .psn = Psn(psn),
            .first_psn = Psn(first),
            .last_psn = Psn(last)};
  }
  spec::Replay Resume(uint8_t generation) const {
    return {.qpn = kQp, .resume = true, .generation = generation, .psn = next_psn};
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
      EXPECT_LT(completed, made.size());
      const bool is_read = made[completed].opcode == spec::IbWcOpcode::kRdmaRead;
      EXPECT_EQ(cqe,
                (spec::RdmaCqReq{.wr_id = kWrId + completed,
                                 .status = cqe.status,
                                 .opcode = made[completed].opcode,
                                 .vendor_err = cqe.vendor_err,
                                 .byte_len = is_read && cqe.status == IbWcStatus::kSuccess ? made[completed].bytes : 0,
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
  uint32_t never_sent = next_psn;  // this PSN and what follows
  uint32_t posted = 0;
  std::vector<spec::SendRecord> made;
  uint32_t completed = 0;
  uint32_t vendor_err = 0;  // of the last completion
  bool has_cqe = false;
  spec::TimerSet timer;  // the last one that Timers() saw
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

// --- Sending again ---------------------------------------------------------------------------------------------------

using Holds = std::vector<uint8_t>;
using Replays = std::vector<spec::Replay>;
using Timers = std::vector<spec::TimerSet>;
constexpr auto kRetryExc = IbWcStatus::kRetryExcErr;
constexpr auto kRnrRetryExc = IbWcStatus::kRnrRetryExcErr;
constexpr uint8_t kTimeout = 14;
constexpr Bench::Retries kPatient{.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7};

spec::TimerSet Timer(TimerKind kind, uint8_t code, uint8_t generation) {
  return {.qpn = kQp, .kind = kind, .code = code, .generation = generation};
}
spec::TimerSet AckTimer(uint8_t generation) { return Timer(TimerKind::kAck, kTimeout, generation); }

TEST(Completer, ASequenceNakHoldsTheQpAndReplaysEverythingFromItsPsnOn) {
  for (const uint32_t start : {1000u, 0xff'fffeu, 0xff'fffcu}) {
    OneQp qp(start, {.retry_cnt = 1});
    for (const uint32_t packets : {1u, 3u, 1u}) qp.Post(packets);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Holds(), Holds{});
    qp.SequenceNak(start + 2);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Holds(), Holds{1});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, start + 2, start + 1, start + 3),
                                     qp.Again(1, 2, start + 4, start + 4, start + 4), qp.Resume(1)}));
    qp.Ack(start + 4);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, ASequenceNakOfTheOldestPsnReplaysItsWholeMessage) {
  OneQp qp(1000, {.retry_cnt = 1});
  qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1001), qp.Resume(1)}));
}

TEST(Completer, ASequenceNakThatTellsNothingNewCostsNoRetry) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2});
  qp.Post(4);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.replay.rate = 0;
  for (int i = 0; i < 5; ++i) qp.SequenceNak(1001);  // while replays wait
  ASSERT_EQ(qp.Run(100), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Holds(), Holds{1});
  for (int i = 0; i < 5; ++i) qp.SequenceNak(1001);  // when they have left
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Replays().size(), 2u);
  // A timeout begins the second replay, and one NAK of a packet that is lost again would be news.
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{2});
  EXPECT_EQ(qp.Replays().size(), 2u);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1002);  // progress: everything is full again
  EXPECT_EQ(qp.Holds(), Holds{3});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Holds(), Holds{4});
  EXPECT_EQ(qp.Timers().size(), 3u);
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{5});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1003);  // after a timeout: the third without progress
  EXPECT_EQ(qp.Statuses(), Statuses{kRetryExc});
}

TEST(Completer, ASequenceNakDuringAReplayThatATimeoutBeganIsNews) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2});
  qp.Post(1);
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.replay.rate = 0;
  qp.Expire();
  ASSERT_EQ(qp.Run(50), "");
  for (int i = 0; i < 3; ++i) qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Again(2, 0, 1000, 1000, 1000),
                                   qp.Again(2, 1, 1001, 1001, 1001), qp.Resume(2)}));
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, RetriesThatAreExhaustedFailTheOldestRecordAndFlushTheRest) {
  for (const uint8_t count : {uint8_t{0}, uint8_t{1}, uint8_t{7}}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = count});
    qp.Post(1);
    qp.Post(2);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    for (uint8_t i = 0; i < count; ++i) {
      qp.Expire();
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(static_cast<uint8_t>(2 + i))});
      EXPECT_EQ(qp.Replays(), (Replays{qp.Again(static_cast<uint8_t>(1 + i), 0, 1000, 1000, 1000),
                                       qp.Again(static_cast<uint8_t>(1 + i), 1, 1001, 1001, 1002),
                                       qp.Resume(static_cast<uint8_t>(1 + i))}));
    }
    EXPECT_EQ(qp.Holds().size(), count);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Expire();
    EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
    EXPECT_EQ(qp.vendor_err, 0u);
    ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token,
              (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = 0}));
    EXPECT_EQ(qp.Timers(), Timers{});  // it stands since it expired
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Replays(), Replays{});
  }
}

TEST(Completer, ProgressMakesBothCountersFullAgain) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .rnr_retry = 1});
  qp.Post(8);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  for (uint32_t psn = 1000; psn < 1004; ++psn) {
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.RnrNak(psn);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Ack(psn);
    EXPECT_EQ(qp.Timers().size(), 1u);
  }
  EXPECT_EQ(qp.Holds().size(), 12u);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Expire();
  EXPECT_EQ(qp.Timers().size(), 1u);
  qp.Expire();
  EXPECT_EQ(qp.Statuses(), Statuses{kRetryExc});
}

TEST(Completer, AnRnrNakPausesTheQpAndReplaysWhenTheTimerExpires) {
  OneQp qp(1000, {.timeout = kTimeout, .rnr_retry = 1});
  qp.Post(1);
  qp.Post(2);
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.RnrNak(1001, 27);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kRnr, 27, 2)});
  EXPECT_EQ(qp.Holds(), Holds{1});
  // In the pause an acknowledge counts and changes nothing else; the same NAK once more is no news.
  qp.RnrNak(1001, 5);
  qp.SequenceNak(1001);
  qp.Ack(1001);
  qp.PostUnsent(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
  EXPECT_EQ(qp.Replays(), Replays{});
  EXPECT_EQ(qp.Holds(), Holds{});
  qp.Expire();
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  EXPECT_EQ(qp.Holds(), Holds{2});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1003, 1003, 1003), qp.Again(2, 3, 1004, 1004, 1005), qp.Resume(2)}));
  // The pause's end has cost no retry of either kind beyond the one: 1003 was progress.
  qp.RnrNak(1003, 31);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kRnr, 31, 4)});
  qp.Expire();
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(5)});
  qp.RnrNak(1003, 31);
  EXPECT_EQ(qp.Statuses(), (Statuses{kRnrRetryExc, kFlush}));
  EXPECT_EQ(qp.failure_sink.sent().back().token.code, 0x3fu);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 6)});
}

TEST(Completer, AnRnrRetryOfSevenIsWithoutEnd) {
  for (const bool ends : {false, true}) {
    OneQp qp(1000, {.rnr_retry = static_cast<uint8_t>(ends ? 6 : 7)});
    qp.Post(1);
    for (int i = 0; i < (ends ? 6 : 20); ++i) {
      qp.RnrNak(1000, 3);
      EXPECT_EQ(qp.Timers().size(), 1u);
      qp.Expire();
      EXPECT_EQ(qp.Replays().size(), 2u);
    }
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.RnrNak(1000, 3);
    EXPECT_EQ(qp.Statuses(), ends ? Statuses{kRnrRetryExc} : Statuses{});
  }
}

TEST(Completer, APauseThatOutlivesItsRecordsEndsWithAResume) {
  OneQp qp(1000, kPatient);
  qp.Post(1);
  qp.RnrNak(1000, 1);
  EXPECT_EQ(qp.Timers().size(), 2u);
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Resume(2)});
  EXPECT_EQ(qp.Timers(), Timers{});  // nothing is outstanding
}

TEST(Completer, TheAckTimerRunsWhileSomethingIsOutstandingAndBeginsAnewWithProgress) {
  OneQp qp(1000, kPatient);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Ack(999);
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Ack(1000);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Ack(1001);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  qp.Ack(1002);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 4)});
  qp.Post(1);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(5)});
  qp.SequenceNak(1003);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(6)});
  // Firmware switches it off.
  qp.SetCq(kQp, kCq, {.retry_cnt = 7});
  qp.Post(1);
  qp.Ack(1003);
  EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 7)});
  qp.Ack(1004);
  EXPECT_EQ(qp.Timers(), Timers{});
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk, kOk}));
}

TEST(Completer, WithTimerCodeZeroThereIsNoAckTimer) {
  OneQp qp(1000, {.retry_cnt = 7});
  qp.Post(2);
  qp.Ack(1000);
  qp.SequenceNak(1001);
  EXPECT_EQ(qp.Replays().size(), 2u);
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Timers(), Timers{});
}

TEST(Completer, AnExpiryOfATimerThatWasSetAnewIsIgnored) {
  OneQp qp(1000, kPatient);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Ack(1000);
  ASSERT_EQ(qp.Settle(), "");
  qp.Expire();  // generation 1
  qp.expired.tokens.push_back({.qpn = kQp, .generation = 3});
  qp.expired.tokens.push_back({.qpn = kQp + 16, .generation = 2});
  qp.expired.tokens.push_back({.qpn = kQp + 1, .generation = 0});
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  qp.Expire();  // it stands
  EXPECT_EQ(qp.Holds(), Holds{1});
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
  qp.Ack(1001);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Expire();  // it was switched off
  EXPECT_EQ(qp.Holds(), Holds{});
}

TEST(Completer, ANakOrATimeoutDuringAReplayBeginsItAnew) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kPatient);
    for (int i = 0; i < 4; ++i) qp.Post(2);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    qp.replay.rate = 0;
    qp.SequenceNak(1001);
    ASSERT_EQ(qp.Run(50), "");
    if (cause == 0) qp.SequenceNak(1003);
    if (cause == 1) qp.RnrNak(1003);
    if (cause == 2) qp.expired.tokens.push_back({.qpn = kQp, .generation = 2});
    ASSERT_EQ(qp.Run(50), "");
    qp.replay.rate = 16;
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
    (void)qp.Timers();
    // The first one had been given already.
    Replays expected{qp.Again(1, 0, 1001, 1000, 1001)};
    uint8_t generation = 2;
    if (cause == 1) {
      EXPECT_EQ(qp.Replays(), expected);
      expected.clear();
      qp.Expire();
      generation = 3;
      EXPECT_EQ(qp.Holds(), Holds{3});
    }
    if (cause == 2) expected.push_back(qp.Again(2, 0, 1001, 1000, 1001));
    expected.push_back(qp.Again(generation, 1, cause == 2 ? 1002 : 1003, 1002, 1003));
    expected.push_back(qp.Again(generation, 2, 1004, 1004, 1005));
    expected.push_back(qp.Again(generation, 3, 1006, 1006, 1007));
    expected.push_back(qp.Resume(generation));
    EXPECT_EQ(qp.Replays(), expected);
  }
}

TEST(Completer, WhatIsAcknowledgedDuringAReplayIsNotReplayed) {
  OneQp qp(1000, kPatient);
  for (int i = 0; i < 5; ++i) qp.Post(2);
  ASSERT_EQ(qp.Settle(), "");
  qp.replay.rate = 0;
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1002);  // the first, and half of the second
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1001), qp.Again(1, 1, 1003, 1002, 1003),
                                   qp.Again(1, 2, 1004, 1004, 1005), qp.Again(1, 3, 1006, 1006, 1007),
                                   qp.Again(1, 4, 1008, 1008, 1009), qp.Resume(1)}));
  // The cursor stays at its record when records before it leave.
  qp.replay.rate = 0;
  qp.SequenceNak(1003);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1007);
  ASSERT_EQ(qp.Run(50), "");
  qp.Ack(1009);
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1003, 1002, 1003), qp.Resume(2)}));
  EXPECT_EQ(qp.Statuses(), Statuses(5, kOk));
}

TEST(Completer, AnUnsentRecordIsReplayedInItsTurn) {
  OneQp qp(1000, kPatient);
  qp.Post(1);
  ASSERT_EQ(qp.Settle(), "");
  qp.replay.rate = 0;
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(50), "");
  qp.PostUnsent(2);  // during the replay
  ASSERT_EQ(qp.Run(50), "");
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Again(1, 1, 1001, 1001, 1002), qp.Resume(1)}));
  qp.PostUnsent(1);  // behind the resume: it is sent, and the resume comes once more, without another hold
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 2, 1003, 1003, 1003), qp.Resume(1)}));
  qp.Ack(1003);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
  qp.PostUnsent(1);  // with nothing else outstanding
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 3, 1004, 1004, 1004), qp.Resume(1)}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kAck);
  EXPECT_EQ(qp.Holds(), Holds{1});
}

TEST(Completer, ARecordThatFailsInAReplayCompletesInItsTurnAndIsTold) {
  OneQp qp(1000, kPatient);
  qp.Post(1);
  const spec::SendRecord record = qp.Record(2);
  qp.record.tokens.push_back(record);
  qp.Post(1);
  ASSERT_EQ(qp.Settle(), "");
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays().size(), 4u);
  spec::SendRecord amendment{.qpn = kQp,
                             .status = IbWcStatus::kLocProtErr,
                             .vendor_err = 19,
                             .last_psn = 99,
                             .first_psn = record.first_psn,
                             .amends = true,
                             .again = true,
                             .slot = 1,
                             .silent = true};
  // Of a record that is not there.
  for (const uint8_t slot : {uint8_t{0}, uint8_t{2}, uint8_t{3}, uint8_t{7}, uint8_t{9}, uint8_t{255}}) {
    amendment.slot = slot;
    qp.record.tokens.push_back(amendment);
  }
  amendment.slot = 1;
  amendment.first_psn = 1002;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  amendment.first_psn = 1001;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  // What comes before it is replayed once more, it and what is behind it are not.
  qp.Timers();
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Again(2, 0, 1000, 1000, 1000)});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
  qp.Ack(1000);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr, kFlush}));
  ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
  EXPECT_EQ(qp.failure_sink.sent()[0].token,
            (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = 19}));
  EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
}

TEST(Completer, ARecordThatFailedInAReplayFlushesWithItsStatusWithoutAWordMore) {
  OneQp qp(1000, kPatient);
  qp.Post(1);
  qp.Post(1);
  spec::SendRecord amendment{
      .qpn = kQp, .status = IbWcStatus::kLocProtErr, .first_psn = 1001, .amends = true, .again = true, .slot = 1};
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.SetState(kQp, IbQpState::kErr);
  EXPECT_EQ(qp.Statuses(), (Statuses{kFlush, IbWcStatus::kLocProtErr}));
  EXPECT_TRUE(qp.failure_sink.sent().empty());
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{});
}

TEST(Completer, AFailureInAReplayOfARecordThatHasCompletedIsNothing) {
  // Its slot is free, the next to be used, or another record's.
  for (const uint32_t later : {0u, 6u, 7u, 8u}) {
    OneQp qp(1000, kPatient);
    qp.Post(1);
    qp.Ack(1000);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    for (uint32_t i = 0; i < later; ++i) qp.Post(1);
    ASSERT_EQ(qp.Settle(), "");
    qp.record.tokens.push_back(
        {.qpn = kQp, .status = IbWcStatus::kLocProtErr, .first_psn = 1000, .amends = true, .again = true, .slot = 0});
    ASSERT_EQ(qp.Settle(), "");
    qp.Ack(1000 + later);
    EXPECT_EQ(qp.Statuses(), Statuses(later, kOk));
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, AClearMakesTheCountersFullAgain) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .rnr_retry = 1});
  for (int i = 0; i < 3; ++i) {
    qp.Post(1);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.Expire();
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.RnrNak(qp.next_psn - 1);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.SetState(kQp, IbQpState::kReset, true);
    EXPECT_EQ(qp.Timers().size(), 1u);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
  }
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, TheOldestRecordThatFailsInAReplayCompletesAtOnce) {
  OneQp qp(1000, kPatient);
  for (int i = 0; i < 2; ++i) qp.Post(1);
  qp.record.tokens.push_back({.qpn = kQp,
                              .status = IbWcStatus::kLocProtErr,
                              .vendor_err = 7,
                              .first_psn = 1000,
                              .amends = true,
                              .again = true,
                              .slot = 0});
  EXPECT_EQ(qp.Statuses(), (Statuses{IbWcStatus::kLocProtErr, kFlush}));
  EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
}

TEST(Completer, ErrAndClearEndReplayPauseAndTimer) {
  for (const bool clear : {false, true}) {
    for (const int cause : {0, 1, 2}) {
      OneQp qp(1000, kPatient);
      for (int i = 0; i < 4; ++i) qp.Post(2);
      EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
      qp.replay.rate = 0;
      if (cause == 0) qp.SequenceNak(1001);
      if (cause == 1) qp.RnrNak(1001);
      ASSERT_EQ(qp.Run(50), "");
      if (clear) {
        qp.SetState(kQp, IbQpState::kReset, true);
      } else {
        qp.SetState(kQp, IbQpState::kErr);
      }
      ASSERT_EQ(qp.Run(50), "");
      qp.replay.rate = 16;
      EXPECT_EQ(qp.Statuses(), Statuses(clear ? 0 : 4, kFlush));
      EXPECT_EQ(qp.Replays().size(), cause == 0 ? 1u : 0u);  // that which waited to be taken
      EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
      qp.Expire();
      EXPECT_EQ(qp.Timers(), Timers{});
      EXPECT_EQ(qp.Holds().size(), cause == 2 ? 0u : 1u);
      if (!clear) qp.SetState(kQp, IbQpState::kReset, true);
      // Set up anew: generations begin at 0 again, counters are full.
      qp.SetState(kQp, IbQpState::kRts);
      ASSERT_EQ(qp.Settle(), "");
      qp.Post(1);
      EXPECT_EQ(qp.Timers().back().kind, TimerKind::kAck);
      qp.Expire();
      EXPECT_EQ(qp.Holds(), Holds{1});
    }
  }
}

TEST(Completer, QpsTakeTurnsToBeReplayed) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < 3; ++qpn) {
    bench.SetCq(qpn, 0, kPatient);
    bench.SetState(qpn, IbQpState::kRts);
  }
  ASSERT_EQ(bench.Settle(), "");
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.record.tokens.push_back({.qpn = qpn, .last_psn = i, .first_psn = i});
  }
  ASSERT_EQ(bench.Settle(), "");
  bench.replay.rate = 0;
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.ack.tokens.push_back({.qpn = qpn, .psn = 0, .syndrome = 0x60});
  ASSERT_EQ(bench.Run(100), "");
  bench.replay.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.replay_sink.sent().size(), 15u);
  uint32_t next[3]{};
  for (size_t i = 0; i < 15; ++i) {
    const spec::Replay& token = bench.replay_sink.sent()[i].token;
    EXPECT_EQ(token.psn, next[token.qpn]);
    EXPECT_EQ(token.resume, next[token.qpn] == 4);
    ++next[token.qpn];
    // From the third on all of them wait; in the end one after the other has nothing more.
    if (i >= 2 && i < 10) {
      EXPECT_EQ(token.qpn, bench.replay_sink.sent()[i + 3].token.qpn) << i;
    }
  }
}

TEST(Completer, RecordsAndAcknowledgesDoNotWaitForReplays) {
  OneQp qp(1000, {.retry_cnt = 1});
  qp.Post(1);
  qp.SequenceNak(1000);
  qp.replay.rate = 0;
  ASSERT_EQ(qp.Run(50), "");
  for (uint32_t psn = 1000; psn < 1030; ++psn) {
    if (psn != 1000) qp.PostUnsent(1);
    ASSERT_EQ(qp.Run(20), "");
    qp.Ack(psn);
    ASSERT_EQ(qp.Run(20), "");
  }
  EXPECT_EQ(qp.completion.count, 30u);
  qp.replay.rate = 16;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000, 1000, 1000), qp.Resume(1)}));
}

TEST(Completer, ItWaitsForTheTimerAndLosesNoSetting) {
  OneQp qp(1000, kPatient);
  qp.timer_set.rate = 0;
  qp.Post(8);
  for (uint32_t psn = 1000; psn < 1008; ++psn) qp.Ack(psn);
  ASSERT_EQ(qp.Run(200), "");
  EXPECT_EQ(qp.ack.accepted, 3u);  // one waits for its end, two in the slice
  EXPECT_EQ(qp.completion.count, 0u);
  qp.timer_set.rate = 1;
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  Timers expected;
  for (uint8_t i = 1; i <= 8; ++i) expected.push_back(AckTimer(i));
  expected.push_back(Timer(TimerKind::kOff, 0, 9));
  EXPECT_EQ(qp.Timers(), expected);
}

TEST(Completer, LatenciesOfSendingAgainAreThoseOfThePage) {
  OneQp qp(1000, kPatient);
  qp.Post(2);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.SequenceNak(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToHold), "");
  EXPECT_EQ(qp.hold.sent.size(), 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.hold.sent.size(), 1u);
  EXPECT_EQ(qp.timer_set.count, 2u);
  ASSERT_EQ(qp.Run(Completer::kHoldToReplay - 1), "");
  EXPECT_EQ(qp.replay.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.replay.count, 1u);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
  qp.Expire();
  ASSERT_EQ(qp.Run(Completer::kExpiredToHold), "");
  EXPECT_EQ(qp.hold.sent.size(), 1u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.hold.sent.size(), 2u);
}

TEST(Completer, AMessageWithTimerAndAcknowledgeOfItsOwnTakesAtMostTenCycles) {
  for (const uint32_t burst : {1u, 8u}) {
    OneQp qp(1000, kPatient);
    Cycle busy = 0;
    for (uint32_t i = 0; i < 400; i += burst) {
      for (uint32_t k = 0; k < burst; ++k) qp.Post(1);
      for (uint32_t k = 0; k < burst; ++k) qp.Ack(1000 + i + k);
      if (burst == 1) qp.ack.rate = 0;  // the record first, as it is in the device
      ASSERT_EQ(qp.Run(1), "");
      qp.ack.rate = 16;
      while (qp.p.idle_o == 0 || !qp.ack.IsEmpty()) {
        ASSERT_EQ(qp.Run(1), "");
        ++busy;
      }
    }
    EXPECT_EQ(qp.completion.count, 400u);
    EXPECT_LE(busy, 400u * 10 + 400 / burst * 3);  // two ways through the slices, and to the last output
  }
}

// --- RDMA READ and fence ---------------------------------------------------------------------------------------------

using Counts = std::vector<uint8_t>;
constexpr Bench::Retries kReader{.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
constexpr auto kSequenceNak = static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
constexpr auto kAck = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);

TEST(Completer, AReadCompletesWithItsLengthWhenItsLastResponseHasCome) {
  for (const uint32_t start : {1000u, 0xff'ffffu, 0xff'fffeu, 0xff'fffdu}) {
    OneQp qp(start, kReader);
    qp.Post(1);
    qp.PostRead(3);
    qp.PostRead(1);
    qp.Post(1);
    qp.Ack(start);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Responses(start + 1, 2);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    EXPECT_EQ(qp.Ended(), Counts{});
    qp.Response(start + 3, 0);  // with credits
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_TRUE(qp.has_cqe);
    EXPECT_EQ(qp.Ended(), Counts{1});
    qp.Response(start + 3);  // it was acknowledged before
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Response(start + 4);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Ended(), Counts{2});
    qp.Ack(start + 5);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
    EXPECT_EQ(qp.retired_sink.sent().size(), 4u);
    EXPECT_EQ(qp.Ended(), Counts{});
  }
}

TEST(Completer, AResponseCoversWhatIsBeforeItsRead) {
  OneQp qp(1000, kReader);
  qp.Post(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.PostRead(2);
  qp.Response(1002);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Response(1003);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  qp.Response(1006);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
}

TEST(Completer, EveryResponseSetsTheAckTimerAnew) {
  OneQp qp(1000, kReader);
  qp.PostRead(3);
  EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Timers(), (Timers{AckTimer(2), AckTimer(3)}));
  qp.Expire();
  EXPECT_EQ(qp.Holds(), Holds{1});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1002, 1000, 1002), qp.Resume(1)}));
}

TEST(Completer, WhatAcknowledgesMoreThanAReadThatLacksResponsesHasThemSentAgain) {
  const auto syndrome = [](AethSyndrome value) { return static_cast<uint8_t>(value); };
  for (const uint32_t start : {1000u, 0xff'fffdu}) {
    for (const uint8_t news :
         {kAck, uint8_t{3}, kSequenceNak, syndrome(AethSyndrome::kNakInvalidRequest),
          syndrome(AethSyndrome::kNakRemoteAccessError), syndrome(AethSyndrome::kNakRemoteOperationalError),
          syndrome(AethSyndrome::kRnrNak), uint8_t{0x40}, uint8_t{0x7f}}) {
      for (const uint32_t came : {0u, 1u, 2u}) {                        // of three
        for (const uint32_t psn : {start + 3, start + 4, start + 5}) {  // the READ's last, the next, the last
          OneQp qp(start, {.retry_cnt = 1, .rnr_retry = 1, .max_rd_atomic = 4});
          qp.Post(1);
          qp.PostRead(3);
          qp.Post(1);
          qp.Post(1);
          qp.Responses(start + 1, came);
          EXPECT_EQ(qp.Statuses(), came == 0 ? Statuses{} : Statuses{kOk});
          const uint32_t lacks = Psn(start + 1 + came);
          const bool is_positive = news < 0x20;
          if (!is_positive && Psn(psn) == lacks) continue;  // a NAK of the request itself: below
          qp.Ack(psn, news);
          EXPECT_EQ(qp.Statuses(), came == 0 ? Statuses{kOk} : Statuses{});
          EXPECT_EQ(qp.Holds(), Holds{1});
          EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, lacks, start + 1, start + 3),
                                           qp.Again(1, 2, start + 4, start + 4, start + 4),
                                           qp.Again(1, 3, start + 5, start + 5, start + 5), qp.Resume(1)}));
          // More of the same is no news.
          qp.Ack(psn, news);
          qp.Ack(start + 5, news);
          EXPECT_EQ(qp.Holds(), Holds{});
          EXPECT_EQ(qp.Statuses(), Statuses{});
          EXPECT_EQ(qp.Timers(), Timers{});
          EXPECT_EQ(qp.Ended(), Counts{});
          EXPECT_TRUE(qp.failure_sink.sent().empty());
          // It goes on as if nothing had been.
          qp.Responses(lacks, 3 - came);
          qp.Ack(start + 5);
          EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
          EXPECT_EQ(qp.Ended(), Counts{1});
        }
      }
    }
  }
}

TEST(Completer, LostResponsesCostARetryEachAndFailTheReadWithoutOne) {
  for (const bool acks : {true, false}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 2, .rnr_retry = 7, .max_rd_atomic = 4});
    const auto say = [&] { acks ? qp.Ack(1004) : qp.RnrNak(1004); };
    qp.Post(1);
    qp.PostRead(3);
    qp.Post(1);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    say();  // covers 1000
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(2)});
    qp.Expire();  // the second
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(3)});
    EXPECT_EQ(qp.Holds(), (Holds{1, 2}));
    EXPECT_EQ(qp.Statuses(), Statuses{});
    say();
    EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
    EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
    EXPECT_EQ(qp.failure_sink.sent()[0].token,
              (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = kSequenceNak}));
    EXPECT_EQ(qp.Timers(), Timers{Timer(TimerKind::kOff, 0, 4)});
    EXPECT_EQ(qp.Ended(), Counts{1});
  }
}

TEST(Completer, AResponseMakesTheRetriesFullAgain) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 1, .max_rd_atomic = 4});
  qp.PostRead(6);
  qp.Post(1);
  for (uint32_t i = 0; i < 5; ++i) {
    qp.Ack(1006);
    EXPECT_EQ(qp.Holds(), Holds{static_cast<uint8_t>(1 + i)});
    qp.Response(1000 + i);
  }
  EXPECT_EQ(qp.Statuses(), Statuses{});
  (void)qp.Timers();
  qp.Ack(1006);
  qp.Ack(1006);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.Timers().size(), 1u);
  qp.Expire();
  EXPECT_EQ(qp.Statuses(), (Statuses{kRetryExc, kFlush}));
  EXPECT_EQ(qp.vendor_err, 0u);
}

TEST(Completer, OfTwoReadsTheFirstThatLacksResponsesCounts) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.Responses(1000, 2);
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, 1002, 1002, 1003), qp.Again(1, 2, 1004, 1004, 1004), qp.Resume(1)}));
  qp.Response(1002);  // progress: the same acknowledge is news again
  qp.Ack(1004);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1003, 1002, 1003), qp.Again(2, 2, 1004, 1004, 1004), qp.Resume(2)}));
}

TEST(Completer, ANakOfAReadsOwnRequestFailsOrRetriesItAsAny) {
  for (const uint32_t came : {0u, 1u}) {
    for (const auto& [syndrome, status] : {std::pair{uint8_t{0x61}, IbWcStatus::kRemInvReqErr},
                                           {uint8_t{0x62}, IbWcStatus::kRemAccessErr},
                                           {uint8_t{0x63}, IbWcStatus::kRemOpErr},
                                           {uint8_t{0x40}, IbWcStatus::kBadRespErr}}) {
      OneQp qp(1000, kReader);
      qp.Post(1);
      qp.PostRead(2);
      qp.Post(1);
      qp.Responses(1001, came);
      qp.Ack(1001 + came, syndrome);
      EXPECT_EQ(qp.Statuses(), (Statuses{kOk, status, kFlush}));
      ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
      EXPECT_EQ(qp.failure_sink.sent()[0].token.code, syndrome);
      EXPECT_EQ(qp.Ended(), Counts{1});
    }
    OneQp qp(1000, kReader);
    qp.PostRead(2);
    qp.Responses(1000, came);
    qp.SequenceNak(1000 + came);
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 0, 1000 + came, 1000, 1001), qp.Resume(1)}));
    qp.RnrNak(1000 + came, 9);
    EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 9, static_cast<uint8_t>(3 + came)));
    qp.Expire();
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(3, 0, 1000 + came, 1000, 1001), qp.Resume(3)}));
  }
}

TEST(Completer, InAPauseLostResponsesAreNoNews) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.Post(1);
  qp.PostRead(2);
  qp.Post(1);
  qp.RnrNak(1000, 7);
  EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 7, 2));
  EXPECT_EQ(qp.Holds(), Holds{1});
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
  qp.RnrNak(1004, 8);
  qp.Ack(1004, 0x62);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_EQ(qp.Holds(), Holds{});
  EXPECT_EQ(qp.Timers(), Timers{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1002, 1002, 1003), qp.Again(2, 3, 1004, 1004, 1004), qp.Resume(2)}));
}

TEST(Completer, AGapInTheResponsesIsASequenceNakOfTheExpectedOne) {
  OneQp qp(1000, {.retry_cnt = 1, .max_rd_atomic = 4});
  qp.Post(1);
  qp.PostRead(2);
  qp.PostRead(2);
  qp.Post(1);
  qp.Response(1001, kSequenceNak);  // the first is missing
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  const Replays rest{qp.Again(1, 2, 1003, 1003, 1004), qp.Again(1, 3, 1005, 1005, 1005), qp.Resume(1)};
  Replays expected{qp.Again(1, 1, 1001, 1001, 1002)};
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(qp.Replays(), expected);
  qp.Response(1001, kSequenceNak);
  EXPECT_EQ(qp.Holds(), Holds{1});
  // All of one and nothing of the next: the first one has completed by then.
  qp.Responses(1001, 2);
  qp.Response(1003, kSequenceNak);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 2, 1003, 1003, 1004), qp.Again(2, 3, 1005, 1005, 1005), qp.Resume(2)}));
  qp.Response(1003);
  qp.Response(1004, kSequenceNak);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(3, 2, 1004, 1003, 1004), qp.Again(3, 3, 1005, 1005, 1005), qp.Resume(3)}));
  EXPECT_EQ(qp.Holds(), (Holds{2, 3}));
}

TEST(Completer, AResponseWithAStatusFailsItsReadAndFlushesTheRest) {
  for (const IbWcStatus status :
       {IbWcStatus::kLocLenErr, IbWcStatus::kLocQpOpErr, IbWcStatus::kLocProtErr, IbWcStatus::kBadRespErr}) {
    for (const uint8_t code : {uint8_t{0}, kAck, uint8_t{19}, uint8_t{0x3f}, kSequenceNak}) {
      for (const uint32_t psn : {1003u, 1004u}) {
        OneQp qp(1000, kReader);
        qp.Post(1);
        qp.PostRead(2);
        qp.PostRead(2);
        qp.PostRead(1);
        qp.Post(1);
        EXPECT_EQ(qp.Statuses(), Statuses{});
        qp.Response(psn, code, status);
        EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, status, kFlush, kFlush}));
        ASSERT_EQ(qp.failure_sink.sent().size(), 1u);
        EXPECT_EQ(qp.failure_sink.sent()[0].token,
                  (spec::QpFailure{.qpn = kQp, .event_type = spec::RdmaEventType::kQpFatal, .code = code}));
        EXPECT_EQ(qp.Ended(), (Counts{1, 2, 3}));
        EXPECT_EQ(qp.Timers().back().kind, TimerKind::kOff);
      }
    }
  }
  // Not of what is outstanding.
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Response(999, 5, IbWcStatus::kLocLenErr);
  qp.Response(1002, 5, IbWcStatus::kLocLenErr);
  qp.ack.tokens.push_back({.qpn = kQp, .psn = 999, .syndrome = kAck, .status = IbWcStatus::kLocLenErr});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, TheStatusOfWhatIsNoResponseCountsForNothing) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.ack.tokens.push_back({.qpn = kQp, .psn = 1000, .syndrome = kAck, .status = IbWcStatus::kLocLenErr});
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(Completer, AReplayStandsAtAFenceUntilEveryReadBeforeItHasLeft) {
  for (const bool read : {false, true}) {
    OneQp qp(1000, kReader);
    qp.PostRead(2);
    qp.Post(1);
    qp.PostRead(2);
    qp.PostFence(1, read);  // the requester holds itself
    qp.PostUnsent(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1000);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1001);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(1002);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Response(1003);
    qp.PostUnsent(2);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(1004);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 3, 1005, 1005, 1005), qp.Again(0, 4, 1006, 1006, 1006),
                                     qp.Again(0, 5, 1007, 1007, 1008), qp.Resume(0)}));
    EXPECT_EQ(qp.Holds(), Holds{});
    if (read) {
      qp.Response(1005);
    } else {
      qp.Ack(1005);
    }
    qp.Ack(1008);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk, kOk}));
    EXPECT_EQ(qp.Ended().size(), read ? 3u : 2u);
  }
}

TEST(Completer, AFenceWithNoReadBeforeItWaitsForNothing) {
  OneQp qp(1000, kReader);
  qp.Post(1);
  qp.PostFence(1);  // its READ has left meanwhile
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 1, 1001, 1001, 1001), qp.Resume(0)}));
  qp.PostFence(1);
  qp.PostUnsentRead(1);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 2, 1002, 1002, 1002), qp.Again(0, 3, 1003, 1003, 1003), qp.Resume(0)}));
  // A READ behind the cursor is none before it.
  qp.SequenceNak(1000);
  EXPECT_EQ(qp.Replays().size(), 5u);
}

TEST(Completer, AReplayStandsWhereThereWouldBeTooManyReads) {
  for (const uint32_t most : {1u, 2u, 4u}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7, .max_rd_atomic = static_cast<uint8_t>(most)});
    for (uint32_t i = 0; i < most; ++i) qp.PostRead(1);
    qp.PostUnsentRead(1);
    qp.PostUnsent(1);
    qp.PostUnsentRead(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    const auto again = [&](uint32_t number) {
      return qp.Again(0, number, 1000 + number, 1000 + number, 1000 + number);
    };
    qp.Response(1000);
    EXPECT_EQ(qp.Replays(), (Replays{again(most), again(most + 1)}));
    qp.Response(1001);
    EXPECT_EQ(qp.Replays(), (Replays{again(most + 2), qp.Resume(0)}));
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_EQ(qp.Holds(), Holds{});
  }
}

TEST(Completer, WithNoReadAllowedAReadIsReplayedWhenNoneIsBeforeIt) {
  OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7});  // the requester says what is wrong
  qp.PostUnsentRead(1);
  qp.PostUnsentRead(1);
  EXPECT_EQ(qp.Replays(), Replays{qp.Again(0, 0, 1000, 1000, 1000)});
}

TEST(Completer, ANakOrATimeoutEndsTheStandAndTheNextReplayStandsThereAgain) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kReader);
    qp.Post(1);
    qp.PostRead(2);
    qp.PostFence(1);
    EXPECT_EQ(qp.Timers(), Timers{AckTimer(1)});
    EXPECT_EQ(qp.Replays(), Replays{});
    uint8_t generation = 1;
    if (cause == 0) qp.SequenceNak(1000);
    if (cause == 1) qp.Expire();
    if (cause == 2) {
      qp.RnrNak(1000);
      EXPECT_EQ(qp.Timers().size(), 1u);
      qp.Expire();
      generation = 2;
    }
    EXPECT_EQ(qp.Replays(),
              (Replays{qp.Again(generation, 0, 1000, 1000, 1000), qp.Again(generation, 1, 1001, 1001, 1002)}));
    qp.Responses(1001, 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Responses(1002, 1);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    EXPECT_EQ(qp.Replays(), (Replays{qp.Again(generation, 2, 1003, 1003, 1003), qp.Resume(generation)}));
  }
}

TEST(Completer, AReadThatLeavesInAPauseBeginsNothing) {
  OneQp qp(1000, kReader);
  qp.PostRead(1);
  qp.Post(1);
  qp.PostFence(1);
  EXPECT_EQ(qp.Replays(), Replays{});
  qp.RnrNak(1000, 1);  // of the READ, as nobody should
  EXPECT_EQ(qp.Timers().back(), Timer(TimerKind::kRnr, 1, 2));
  qp.Response(1000);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  EXPECT_EQ(qp.Replays(), Replays{});
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 1, 1001, 1001, 1001), qp.Again(2, 2, 1002, 1002, 1002), qp.Resume(2)}));
}

TEST(Completer, ErrClearAndAFailureEndAStand) {
  for (const int cause : {0, 1, 2}) {
    OneQp qp(1000, kReader);
    qp.PostRead(1);
    qp.PostRead(1);
    qp.PostFence(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    if (cause == 0) qp.SetState(kQp, IbQpState::kErr);
    if (cause == 1) qp.SetState(kQp, IbQpState::kReset, true);
    if (cause == 2) qp.Response(1000, 5, IbWcStatus::kLocProtErr);
    EXPECT_EQ(qp.Statuses(), cause == 0   ? Statuses(3, kFlush)
                             : cause == 1 ? Statuses{}
                                          : (Statuses{IbWcStatus::kLocProtErr, kFlush, kFlush}));
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
    // Set up anew it begins from nothing, but the number goes on.
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.completed = qp.posted;
    qp.PostRead(1);
    qp.PostFence(1);
    EXPECT_EQ(qp.Replays(), Replays{});
    qp.Response(qp.next_psn - 2);
    EXPECT_EQ(qp.Replays().size(), 2u);
    EXPECT_EQ(qp.Ended(), Counts{3});
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  }
}

TEST(Completer, TheNumberOfReadsThatEndedIsNeverSetBackAndWraps) {
  OneQp qp(1000, kReader);
  uint8_t ended = 0;
  for (int i = 0; i < 300; ++i) {
    Counts expected{++ended};
    if (i % 50 == 20) {  // flushed
      qp.PostRead(1);
      qp.PostRead(2);
      expected.push_back(++ended);
      qp.SetState(kQp, IbQpState::kErr);
    } else if (i % 50 == 40) {  // forgotten, one when it comes
      qp.PostRead(1);
      ASSERT_EQ(qp.Settle(), "");
      qp.SetState(kQp, IbQpState::kReset, true);
      ASSERT_EQ(qp.Settle(), "");
      qp.PostRead(1);
      expected.push_back(++ended);
    } else if (i % 50 == 45) {  // came with a status
      spec::SendRecord read = qp.Read(0);
      read.status = IbWcStatus::kLocQpOpErr;
      qp.record.tokens.push_back(read);
    } else {
      qp.PostRead(1);
      qp.Post(1);
      qp.Response(qp.next_psn - 2);
      qp.Ack(qp.next_psn - 1);
    }
    EXPECT_EQ(qp.Ended(), expected);
    if (i % 5 == 0) {
      qp.SetState(kQp, IbQpState::kReset, true);
      qp.SetState(kQp, IbQpState::kRts);
    }
  }
  EXPECT_LT(ended, 100);  // 312 modulo 256
}

TEST(Completer, AnAmendmentCountsForNoReadAndEndsNone) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.Post(1);
  spec::SendRecord amendment{.qpn = kQp,
                             .opcode = spec::IbWcOpcode::kRdmaRead,
                             .status = IbWcStatus::kLocQpOpErr,
                             .vendor_err = 3,
                             .amends = true};
  qp.record.tokens.push_back(amendment);  // of the newest, which remains what it is
  EXPECT_EQ(qp.Ended(), Counts{});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
  EXPECT_EQ(qp.Ended(), Counts{1});
  EXPECT_TRUE(qp.failure_sink.sent().empty());
}

TEST(Completer, AReadThatFailsInAReplayCompletesInItsTurn) {
  OneQp qp(1000, kReader);
  qp.PostRead(2);
  qp.PostRead(1);
  qp.record.tokens.push_back({.qpn = kQp,
                              .opcode = spec::IbWcOpcode::kRdmaRead,
                              .status = IbWcStatus::kLocQpOpErr,
                              .vendor_err = 9,
                              .first_psn = 1002,
                              .amends = true,
                              .again = true,
                              .slot = 1});
  EXPECT_EQ(qp.Statuses(), Statuses{});
  qp.Responses(1000, 2);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
  EXPECT_EQ(qp.Ended(), (Counts{1, 2}));
  EXPECT_EQ(qp.failure_sink.sent().size(), 1u);
}

TEST(Completer, WhatNobodyAcknowledgesCompletesWhenItHasLeft) {
  using spec::IbQpType;
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    OneQp qp(0xff'fffe, {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = type});
    qp.Post(3);
    qp.Post(1);
    qp.Post(2, false);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(0);  // the first message's last packet
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    // Nothing else counts.
    for (const uint8_t nak : {uint8_t{0x60}, uint8_t{0x62}, uint8_t{0x25}, uint8_t{0x40}}) qp.Ack(1, nak);
    qp.Response(1);
    qp.Response(1, kSequenceNak);
    qp.Response(1, kAck, IbWcStatus::kLocLenErr);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.Ack(1);
    qp.Ack(3);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
    EXPECT_FALSE(qp.has_cqe);
    // It has no timer, and nothing is sent again.
    EXPECT_EQ(qp.Timers(), Timers{});
    EXPECT_EQ(qp.Holds(), Holds{});
    EXPECT_EQ(qp.Replays(), Replays{});
    EXPECT_TRUE(qp.failure_sink.sent().empty());
    qp.PostFailed(IbWcStatus::kLocQpOpErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocQpOpErr});
  }
}

// Which of what follows is flushed is the requester's to say. [IBTA vol. 1, 10.3.1.6]
TEST(Completer, OfWhatNobodyAcknowledgesAFailedRecordTakesNothingAlong) {
  using spec::IbQpType;
  for (const IbQpType type : {IbQpType::kUc, IbQpType::kUd, IbQpType::kGsi}) {
    OneQp qp(1000, {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = type});
    qp.Post(2);
    qp.PostFailed(IbWcStatus::kLocProtErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});  // not before its turn
    qp.SetState(kQp, IbQpState::kSqe);
    qp.PostFailed(kFlush, 0);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Settle(), "");
    qp.Post(1);
    qp.Ack(1001);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocProtErr, kFlush}));
    qp.Post(1);
    qp.Ack(1002);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    qp.Ack(1003);
    EXPECT_EQ(qp.Statuses(), Statuses{kOk});
    // In SQE what has left completes, too.
    qp.Post(1);
    qp.PostFailed(IbWcStatus::kLocQpOpErr, 4);
    EXPECT_EQ(qp.Statuses(), Statuses{});
    qp.SetState(kQp, IbQpState::kSqe);
    EXPECT_EQ(qp.Settle(), "");
    qp.Ack(1004);
    EXPECT_EQ(qp.Statuses(), (Statuses{kOk, IbWcStatus::kLocQpOpErr}));
    EXPECT_TRUE(qp.failure_sink.sent().empty());
  }
}

TEST(Completer, OfUcAMessageThatFailsOnTheWayCompletesWithItsAmendment) {
  OneQp qp(1000,
           {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = spec::IbQpType::kUc});
  qp.Post(3);
  spec::SendRecord amendment = qp.made.back();
  amendment.amends = true;
  amendment.status = IbWcStatus::kLocProtErr;
  qp.record.tokens.push_back(amendment);
  EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
  qp.PostFailed(kFlush, 0);
  qp.Post(2);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
  qp.Ack(1004);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(Completer, OfUcABrokenQueueFlushesTheRest) {
  OneQp qp(1000,
           {.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4, .qp_type = spec::IbQpType::kUc});
  spec::SendRecord silent = qp.Record(0);
  silent.silent = true;
  silent.status = kFlush;
  qp.record.tokens.push_back(silent);
  ++qp.completed;
  qp.Post(1);
  EXPECT_EQ(qp.Statuses(), Statuses{kFlush});
}

TEST(Completer, LatenciesOfReadsAreThoseOfThePage) {
  OneQp qp(1000, kReader);
  qp.PostRead(1);
  qp.PostFence(1);
  ASSERT_EQ(qp.Settle(), "");
  const auto completions = qp.completion.count;
  qp.Response(1000);
  ASSERT_EQ(qp.Run(Completer::kAckToCompletion), "");
  EXPECT_EQ(qp.completion.count, completions);
  EXPECT_EQ(qp.reads.sent.size(), 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.completion.count, completions + 1);
  EXPECT_EQ(qp.reads.sent.size(), 1u);
  ASSERT_EQ(qp.Run(Completer::kReadsToReplay - 1), "");
  EXPECT_EQ(qp.replay.count, 0u);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.replay.count, 1u);
}

TEST(Completer, AReadOfOnePacketTakesAtMostTwelveCycles) {
  OneQp qp(1000, kReader);
  Cycle busy = 0;
  for (uint32_t i = 0; i < 400; i += 4) {
    for (uint32_t k = 0; k < 4; ++k) qp.PostRead(1);
    for (uint32_t k = 0; k < 4; ++k) qp.Response(1000 + i + k);
    ASSERT_EQ(qp.Run(1), "");
    while (qp.p.idle_o == 0 || !qp.ack.IsEmpty()) {
      ASSERT_EQ(qp.Run(1), "");
      ++busy;
    }
  }
  EXPECT_EQ(qp.completion.count, 400u);
  EXPECT_LE(busy, 400u * 12);
}

// What stands around the completer, as simple as it can be: requesters that hold, also themselves, send queues that
// take their time, peers that lose packets and are not ready, responders that put READ responses in their place,
// timers.
struct Network {
  static constexpr uint32_t kQps = 4;
  struct Message {
    uint32_t first_psn, last_psn;
    bool is_read, fence;
  };
  struct Packet {
    uint32_t psn;
    uint32_t responses;  // of a READ request; else 0
    uint32_t message;
    uint8_t generation;  // of the replay that it belongs to
    bool again;
  };
  struct Qp {
    // Requester
    uint32_t next_psn = 0;
    uint32_t never_sent = 0;
    uint8_t hold = 0, resumed = 0;
    bool holds_itself = false;
    uint8_t reads_begun = 0, reads_ended = 0;
    std::vector<Message> messages;
    std::deque<Packet> sends;  // of the message under way
    std::deque<std::pair<Cycle, spec::Replay>> replays;
    uint32_t open = 0, done = 0;
    // Wire
    std::deque<std::pair<Cycle, Packet>> wire;
    unsigned lucky = 0;  // packets that are not lost
    // Peer
    uint32_t expected = 0;
    bool nak_sent = false;
    // Responder: the READs whose responses are still to come
    struct Read {
      uint32_t message, next_psn, last_psn;
    };
    std::deque<Read> reads;
    uint32_t newest_read = 0;
    // Timer
    Cycle deadline = model::kUnknown;
    uint8_t timer_generation = 0;

    bool IsHeld() const { return hold != resumed || holds_itself; }
  };

  // What the requester decides in the cycles of a hold and behind it does not know of it yet; its records are visible
  // one cycle later.
  static constexpr Cycle kHoldCycles = 3;

  // Without loss a peer still says what it lacks, so that nothing depends on the ack timer.
  // With a burst its requesters give way after so many packets.
  Network(Bench& b, bool is_lossy, uint8_t most_reads, uint32_t packets_of_burst)
      : bench(b), lossy(is_lossy), max_rd_atomic(most_reads), burst(packets_of_burst) {
    bench.completion.keep = bench.retired.keep = bench.failure.keep = bench.replay.keep = bench.timer_set.keep = false;
    bench.retired.on_token = [this](Cycle, const spec::Doorbell& token) {
      --qps[(token.vq_index - bench.first_queue) / 2].open;
    };
    bench.completion.on_token = [this](Cycle, const spec::Completion& token) {
      Qp& qp = qps[(token.vq_index - bench.first_queue) / 2];
      const auto cqe = spec::RdmaCqReq::Decode(token.cqe);
      ASSERT_EQ(cqe.status, kOk);
      ASSERT_EQ(cqe.wr_id, qp.done);
      // A READ's data is all there.
      for (const auto& read : qp.reads) ASSERT_NE(read.message, qp.done);
      ++qp.done;
    };
    bench.replay.on_token = [this](Cycle cycle, const spec::Replay& token) {
      Qp& qp = qps[token.qpn];
      qp.replays.emplace_back(cycle + 20 + bench.random() % 60, token);
      if (token.fresh) {
        ASSERT_LT(Psn(token.psn - qp.never_sent), 0x80'0000U);
      }
      ASSERT_TRUE(token.packets == 0 || token.packets == burst);
      ++(token.fresh ? fresh : stale);
    };
    bench.timer_set.on_token = [this](Cycle cycle, const spec::TimerSet& token) {
      Qp& qp = qps[token.qpn];
      qp.timer_generation = token.generation;
      qp.deadline = token.kind == TimerKind::kOff   ? model::kUnknown
                    : token.kind == TimerKind::kAck ? cycle + 1500
                                                    : cycle + 50 + token.code;
      if (token.kind == TimerKind::kRnr) ++pauses;
    };
  }

  bool IsLost(Qp& qp) {
    if (!lossy) return false;
    if (qp.lucky != 0) {
      --qp.lucky;
      return false;
    }
    if (bench.random() % 8 != 0) return false;
    qp.lucky = 60;
    ++lost;
    return true;
  }
  void Answer(uint32_t qpn, uint32_t psn, uint8_t syndrome) {
    if (!IsLost(qps[qpn])) bench.ack.tokens.push_back({.qpn = qpn, .psn = Psn(psn), .syndrome = syndrome});
  }
  void Respond(uint32_t qpn, uint32_t psn) {
    Qp& qp = qps[qpn];
    if (IsLost(qp) || qp.reads.empty()) return;
    auto& read = qp.reads.front();
    const uint32_t ahead = Psn(psn - read.next_psn);
    if (ahead == 0) {
      bench.ack.tokens.push_back({.qpn = qpn, .psn = psn, .syndrome = kAck, .is_read = true});
      read.next_psn = Psn(read.next_psn + 1);
      if (psn == read.last_psn) qp.reads.pop_front();
    } else if (ahead < 0x80'0000) {
      bench.ack.tokens.push_back({.qpn = qpn, .psn = read.next_psn, .syndrome = kSequenceNak, .is_read = true});
      ++gaps;
    }
  }
  void Arrive(uint32_t qpn, const Packet& packet) {
    Qp& qp = qps[qpn];
    const uint32_t ahead = Psn(packet.psn - qp.expected);
    if (ahead == 0) {
      if (bench.random() % 32 == 0 && packet.responses == 0) {
        Answer(qpn, packet.psn, static_cast<uint8_t>(0x20 + bench.random() % 32));
        return;
      }
      if (!lossy && !qp.nak_sent && bench.random() % 16 == 0) {
        qp.nak_sent = true;
        Answer(qpn, packet.psn, kSequenceNak);
        return;
      }
      qp.expected = Psn(qp.expected + std::max(packet.responses, 1u));
      qp.nak_sent = false;
      if (packet.responses == 0) Answer(qpn, packet.psn, kAck);
    } else if (ahead < 0x80'0000) {
      if (!qp.nak_sent) Answer(qpn, qp.expected, kSequenceNak);
      qp.nak_sent = true;
      return;
    } else if (packet.responses == 0) {
      Answer(qpn, qp.expected - 1, kAck);
    }
    for (uint32_t i = 0; i < packet.responses; ++i) Respond(qpn, Psn(packet.psn + i));
  }
  // A packet leaves the requester.
  void Send(Qp& qp, const Packet& packet) {
    const Message& message = qp.messages[packet.message];
    if (message.is_read) {
      if (const uint32_t ahead = Psn(message.last_psn - qp.newest_read); ahead != 0 && ahead < 0x80'0000) {
        qp.reads.push_back({packet.message, message.first_psn, message.last_psn});
        qp.newest_read = message.last_psn;
        most = std::max(most, qp.reads.size());
        ASSERT_LE(qp.reads.size(), max_rd_atomic);
      }
    }
    for (const auto& read : qp.reads) {
      if (message.fence) {
        ASSERT_GE(read.message, packet.message);
      }
    }
    const uint32_t behind = Psn(packet.psn + std::max(packet.responses, 1U));
    if (Psn(behind - qp.never_sent) < 0x80'0000) qp.never_sent = behind;
    if (!IsLost(qp)) qp.wire.emplace_back(bench.bench.cycle() + 20, packet);
    ++sent;
  }
  // Cuts what is from `psn` on: all of it, or so many packets.
  void Cut(Qp& qp, uint32_t number, uint32_t psn, uint8_t generation, bool again, uint32_t most_packets) {
    const Message& message = qp.messages[number];
    uint32_t packets = Psn(message.last_psn - psn) + 1;
    if (most_packets != 0) packets = std::min(packets, most_packets);
    if (message.is_read) {
      qp.sends.push_back({psn, packets, number, generation, again});
      return;
    }
    for (uint32_t i = 0; i < packets; ++i) qp.sends.push_back({Psn(psn + i), 0, number, generation, again});
  }
  void Post(uint32_t qpn) {
    Qp& qp = qps[qpn];
    const auto number = static_cast<uint32_t>(qp.messages.size());
    const auto packets = static_cast<uint32_t>(1 + bench.random() % 3);
    const Message message{qp.next_psn, Psn(qp.next_psn + packets - 1), max_rd_atomic != 0 && bench.random() % 3 == 0,
                          bench.random() % 8 == 0};
    const auto under_way = static_cast<uint8_t>(qp.reads_begun - qp.reads_ended);
    if (!qp.IsHeld() && ((message.is_read && under_way >= max_rd_atomic) || (message.fence && under_way != 0))) {
      qp.holds_itself = true;
      ++(message.fence ? fences : limits);
    }
    const bool cuts = burst != 0 && packets > burst && !message.is_read && !qp.IsHeld();
    bench.record.tokens.push_back(
        {.qpn = qpn,
         .head = static_cast<uint16_t>(number),
         .wr_id = number,
         .opcode = message.is_read ? spec::IbWcOpcode::kRdmaRead : spec::IbWcOpcode::kRdmaWrite,
         .signaled = true,
         .last_psn = message.last_psn,
         .first_psn = message.first_psn,
         .unsent = qp.IsHeld(),
         .fence = message.fence,
         .packets = static_cast<uint16_t>(cuts ? burst : 0)});
    qp.messages.push_back(message);
    if (message.is_read) ++qp.reads_begun;
    qp.next_psn = Psn(qp.next_psn + packets);
    ++qp.open;
    if (qp.IsHeld()) {
      ++unsent;
    } else {
      Cut(qp, number, message.first_psn, 0, false, cuts ? burst : 0);
      qp.holds_itself = cuts;
    }
  }
  void Step(bool posts) {
    const Cycle now = bench.bench.cycle();
    auto& holds = bench.hold.sent;
    while (!holds.empty() && holds.front().first + kHoldCycles < now) {
      qps[holds.front().second.qpn].hold = holds.front().second.generation;
      holds.erase(holds.begin());
    }
    auto& ended = bench.reads.sent;
    while (!ended.empty() && ended.front().first + kHoldCycles < now) {
      qps[ended.front().second.qpn].reads_ended = ended.front().second.ended;
      ended.erase(ended.begin());
    }
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      Qp& qp = qps[qpn];
      // A message under way stops when the QP is held, a replay when another hold comes.
      if (!qp.sends.empty() && bench.random() % 2 == 0) {
        const Packet packet = qp.sends.front();
        if (packet.again ? packet.generation != qp.hold : qp.hold != qp.resumed) {
          qp.sends.clear();
        } else {
          qp.sends.pop_front();
          Send(qp, packet);
        }
      } else if (qp.sends.empty() && !qp.replays.empty() && qp.replays.front().first <= now &&
                 bench.record.tokens.empty()) {
        const spec::Replay replay = qp.replays.front().second;
        qp.replays.pop_front();
        if (!replay.resume) {
          Cut(qp, replay.head, replay.psn, replay.generation, true, replay.packets);
          if (replay.packets != 0 && replay.generation == qp.hold) {
            ++parts;
            bench.record.tokens.push_back({.qpn = qpn,
                                           .head = replay.head,
                                           .first_psn = replay.first_psn,
                                           .amends = true,
                                           .again = true,
                                           .slot = replay.slot,
                                           .packets = replay.packets,
                                           .generation = replay.generation});
          }
        } else if (replay.generation == qp.hold && replay.psn == qp.next_psn) {
          qp.resumed = qp.hold;
          qp.holds_itself = false;
        }
      } else if (qp.sends.empty() && posts && qp.open < 8 && bench.record.tokens.empty() && bench.random() % 8 == 0) {
        Post(qpn);
      }
      if (!qp.wire.empty() && qp.wire.front().first <= now) {
        const Packet packet = qp.wire.front().second;
        qp.wire.pop_front();
        Arrive(qpn, packet);
      }
      if (qp.deadline <= now) {
        bench.expired.tokens.push_back({.qpn = qpn, .generation = qp.timer_generation});
        qp.deadline = model::kUnknown;
      }
    }
  }
  bool IsDone() const {
    return std::all_of(qps.begin(), qps.end(), [](const Qp& qp) {
      return qp.open == 0 && qp.sends.empty() && qp.replays.empty() && qp.wire.empty() && !qp.IsHeld();
    });
  }

  Bench& bench;
  const bool lossy;
  const uint8_t max_rd_atomic;  // 0: no READs
  const uint32_t burst;         // 0: messages are sent to their end
  std::vector<Qp> qps{kQps};
  uint64_t sent = 0, lost = 0, unsent = 0, pauses = 0, gaps = 0, fences = 0, limits = 0;
  uint64_t parts = 0, fresh = 0, stale = 0;
  size_t most = 0;  // READs at a time
};

TEST(Completer, EveryMessageCompletesInOrderThoughPacketsAreLostAndPeersAreNotReady) {
  struct Case {
    bool lossy;
    unsigned out_rate;
    uint8_t reads;
    uint32_t burst = 0;
  };
  for (const auto& [lossy, out_rate, reads, burst] : {Case{true, 16, 0},
                                                      {true, 4, 0},
                                                      {false, 16, 0},
                                                      {false, 6, 0},
                                                      {true, 16, 1},
                                                      {true, 6, 2},
                                                      {true, 16, 4},
                                                      {false, 16, 1},
                                                      {false, 6, 3},
                                                      {true, 16, 0, 1},
                                                      {false, 6, 0, 2},
                                                      {true, 6, 3, 1}}) {
    Bench bench;
    bench.Rates(16, out_rate);
    Network network(bench, lossy, reads, burst);
    if (burst != 0) bench.pause.toggles = 2;
    for (uint32_t qpn = 0; qpn < Network::kQps; ++qpn) {
      Bench::Retries retries = lossy ? kPatient : Bench::Retries{.retry_cnt = 1, .rnr_retry = 7};
      retries.max_rd_atomic = reads;
      if (burst != 0) retries.path_mtu = burst == 1 ? spec::IbMtu::kMtu4096 : spec::IbMtu::kMtu2048;
      bench.SetCq(qpn, 0, retries);
      bench.SetState(qpn, IbQpState::kRts);
      auto& qp = network.qps[qpn];
      qp.next_psn = qp.expected = Psn(0u - 50 * qpn);
      qp.never_sent = qp.next_psn;
      qp.newest_read = Psn(qp.next_psn - 1);
    }
    ASSERT_EQ(bench.Settle(), "");
    for (int i = 0; i < 40'000; ++i) {
      network.Step(true);
      ASSERT_FALSE(HasFatalFailure());
      ASSERT_EQ(bench.Run(1), "");
      ASSERT_FALSE(HasFatalFailure());
    }
    bench.pause.toggles = 0;
    bench.pause.on = false;
    for (int i = 0; i < 30'000 && !network.IsDone(); ++i) {
      network.Step(false);
      ASSERT_EQ(bench.Run(1), "");
    }
    EXPECT_TRUE(network.IsDone());
    for (int i = 0; i < 100; ++i) {  // the last timer
      ASSERT_EQ(bench.Run(1), "");
      network.Step(false);
    }
    EXPECT_EQ(bench.failure.count, 0u);
    for (const auto& qp : network.qps) {
      EXPECT_EQ(qp.done, qp.messages.size());
      EXPECT_EQ(qp.expected, qp.next_psn);
      EXPECT_EQ(qp.deadline, model::kUnknown);  // nothing is outstanding: every timer stands
      EXPECT_EQ(qp.reads_begun, qp.reads_ended);
      EXPECT_TRUE(qp.reads.empty());
      EXPECT_GT(qp.done, 150u);
    }
    if (lossy) {
      EXPECT_GT(network.lost, 50u);
    }
    EXPECT_GT(network.unsent, 50u);
    EXPECT_GT(network.fresh, 50u);
    EXPECT_GT(network.stale, 50u);
    EXPECT_EQ(network.parts > 50, burst != 0);
    EXPECT_GT(network.pauses, 10u);
    EXPECT_EQ(network.most, reads);
    if (reads != 0) {
      if (burst == 0) {
        EXPECT_GT(network.fences + network.limits, 0u);
      }
      EXPECT_EQ(network.gaps != 0, lossy);
    }
  }
}

// Long messages: 32 packets are a burst of these QPs.
constexpr uint32_t kBurst = 32;
struct LongQp : OneQp {
  using OneQp::OneQp;
  // A burst of it leaves at once.
  void PostLong(uint32_t packets) {
    spec::SendRecord long_one = Record(packets);
    long_one.packets = kBurst;
    record.tokens.push_back(long_one);
  }
  spec::Replay Part(uint8_t generation, uint32_t number, uint32_t psn, bool fresh, bool last = false) const {
    const auto& message = made[number];
    spec::Replay replay = Again(generation, number, psn, message.first_psn, message.last_psn);
    replay.packets = last ? 0 : kBurst;
    replay.fresh = fresh;
    return replay;
  }
  std::vector<spec::Replay> Replays() {
    EXPECT_EQ(Settle(), "");
    return Taken(replay_sink);
  }
  // The requester begins what was asked for.
  void Begin(const spec::Replay& replay) {
    record.tokens.push_back({.qpn = kQp,
                             .head = replay.head,
                             .last_psn = replay.last_psn,
                             .first_psn = replay.first_psn,
                             .amends = true,
                             .again = true,
                             .slot = replay.slot,
                             .packets = replay.packets,
                             .generation = replay.generation});
  }
};

TEST(CompleterBurst, ALongMessageIsAskedForBurstByBurstEachWhenTheLastHasBegun) {
  LongQp qp(0xff'fff0);
  const uint32_t first = 0xff'fff0;
  qp.PostLong(3 * kBurst + 1);
  qp.PostUnsent(2);
  const auto part = [&](uint32_t index) { return qp.Part(0, 0, first + index * kBurst, true, index == 3); };
  EXPECT_EQ(qp.Replays(), Replays{part(1)});
  qp.Begin(part(1));
  EXPECT_EQ(qp.Replays(), Replays{part(2)});
  qp.Begin(part(2));
  spec::Replay behind = qp.Again(0, 1, first + 97, first + 97, first + 98);
  behind.fresh = true;
  EXPECT_EQ(qp.Replays(), (Replays{part(3), behind, qp.Resume(0)}));
  EXPECT_TRUE(qp.Holds().empty());
  qp.Ack(first + 98);
  EXPECT_EQ(qp.Statuses(), (Statuses{kOk, kOk}));
}

TEST(CompleterBurst, WhatIsLeftAndNoLongerThanABurstIsAskedForInOne) {
  for (const uint32_t left : {1u, kBurst - 1, kBurst, kBurst + 1}) {
    LongQp qp;
    qp.PostLong(kBurst + left);
    const bool is_last = left <= kBurst;
    Replays expected{qp.Part(0, 0, 1000 + kBurst, true, is_last)};
    if (is_last) expected.push_back(qp.Resume(0));
    EXPECT_EQ(qp.Replays(), expected);
  }
}

TEST(CompleterBurst, OnlyTheBeginningOfWhatWasAskedForLastCounts) {
  LongQp qp;
  qp.PostLong(4 * kBurst);
  const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
  EXPECT_EQ(qp.Replays(), Replays{part});
  for (int i = 0; i < 5; ++i) {
    spec::Replay other = part;
    if (i == 0) other.generation = 1;
    if (i == 1) other.slot = 1;
    if (i == 2) other.slot = 8;
    if (i == 3) other.first_psn = 1001;
    if (i == 4) other.qpn = 6;
    qp.Begin(other);
    if (i == 4) qp.record.tokens.back().qpn = 6;
    EXPECT_TRUE(qp.Replays().empty()) << i;
  }
  qp.Begin(part);
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(0, 0, 1000 + 2 * kBurst, true)});
  qp.Ack(999 + 4 * kBurst);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

// A burst's end does not matter to where a replay begins, but to what has been sent before.
TEST(CompleterBurst, GoingBackBeginsAtAnyPacketAndGoesOnByBursts) {
  for (const uint32_t lost : {0u, 1u, kBurst - 1, kBurst, kBurst + 1, 2 * kBurst - 1}) {
    SCOPED_TRACE(lost);
    LongQp qp(1000, {.retry_cnt = 7});
    qp.PostLong(4 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    // The first burst has left, the second is on its way.
    qp.SequenceNak(1000 + lost);
    EXPECT_EQ(qp.Holds(), std::vector<uint8_t>{1});
    qp.Begin(part);  // it began before the hold
    uint32_t psn = 1000 + lost;
    while (999 + 4 * kBurst - psn >= kBurst) {
      const spec::Replay next = qp.Part(1, 0, psn, psn >= 1000 + 2 * kBurst);
      EXPECT_EQ(qp.Replays(), Replays{next});
      qp.Begin(next);
      psn += kBurst;
    }
    EXPECT_EQ(qp.Replays(), (Replays{qp.Part(1, 0, psn, psn >= 1000 + 2 * kBurst, true), qp.Resume(1)}));
  }
}

TEST(CompleterBurst, AMessageThatIsAcknowledgedBetweenItsPartsMakesWayForTheNextOne) {
  LongQp qp(1000, {.timeout = 1, .retry_cnt = 7});
  qp.Post(3 * kBurst);
  qp.Post(1);
  qp.Timers();
  qp.Expire();
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(1, 0, 1000, false)});
  // Half of it was there all the time.
  qp.Ack(1000 + kBurst + 9);
  EXPECT_TRUE(qp.Statuses().empty());
  qp.Begin(qp.Part(1, 0, 1000, false));
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(1, 0, 1000 + kBurst + 10, false)});
  // All of it.
  qp.Ack(999 + 3 * kBurst);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
  const uint32_t second = 1000 + 3 * kBurst;
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(1, 1, second, second, second), qp.Resume(1)}));
  qp.Begin(qp.Part(1, 0, 1000 + kBurst + 10, false));
  EXPECT_TRUE(qp.Replays().empty());
  qp.Ack(second);
  EXPECT_EQ(qp.Statuses(), Statuses{kOk});
}

TEST(CompleterBurst, InAPauseALongMessageIsNotAskedForAndBehindItFromTheBeginning) {
  LongQp qp(1000, {.timeout = 1, .retry_cnt = 7, .rnr_retry = 7});
  qp.Post(1);
  qp.RnrNak(1000);
  qp.Timers();
  EXPECT_EQ(qp.Holds(), std::vector<uint8_t>{1});
  qp.PostLong(2 * kBurst);
  EXPECT_TRUE(qp.Replays().empty());
  qp.Expire();
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(2, 0, 1000, 1000, 1000), qp.Part(2, 1, 1001, false)}));
}

TEST(CompleterBurst, AReadIsOneReplayHoweverLong) {
  OneQp qp(1000, {.max_rd_atomic = 1});
  qp.PostUnsentRead(1000);
  EXPECT_EQ(qp.Replays(), (Replays{qp.Again(0, 0, 1000, 1000, 1999), qp.Resume(0)}));
}

TEST(CompleterBurst, ALongMessageThatFailsIsNotAskedForAndTheNextOneIs) {
  for (const bool in_first : {true, false}) {
    LongQp qp(1000, {.qp_type = spec::IbQpType::kUc});
    qp.PostLong(3 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    spec::SendRecord amendment{.qpn = kQp,
                               .status = IbWcStatus::kLocProtErr,
                               .vendor_err = 5,
                               .first_psn = 1000,
                               .amends = true,
                               .again = !in_first};
    qp.record.tokens.push_back(amendment);
    EXPECT_EQ(qp.Statuses(), Statuses{IbWcStatus::kLocProtErr});
    // In the first burst the requester has said so, and SQE may end; later nobody has, and the QP is to stop.
    EXPECT_EQ(qp.failure.count, in_first ? 0u : 1u);
    qp.PostUnsent(1);
    const uint32_t psn = 1000 + 3 * kBurst;
    spec::Replay next = qp.Again(0, 1, psn, psn, psn);
    next.fresh = true;
    EXPECT_EQ(qp.Replays(), in_first ? (Replays{next, qp.Resume(0)}) : Replays{});
    EXPECT_EQ(qp.Statuses(), in_first ? Statuses{} : Statuses{kFlush});
  }
}

TEST(CompleterBurst, UnderAHoldOfAllNothingIsAskedForAndItIsIdle) {
  LongQp qp;
  qp.PostLong(4 * kBurst);
  const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
  EXPECT_EQ(qp.Replays(), Replays{part});
  qp.pause.on = true;
  ASSERT_EQ(qp.Run(2), "");
  qp.Begin(part);
  EXPECT_TRUE(qp.Replays().empty());
  EXPECT_EQ(qp.p.idle_o, 1);
  // Acknowledges are heard all the same.
  qp.Ack(1000);
  ASSERT_EQ(qp.Run(50), "");
  EXPECT_TRUE(qp.Replays().empty());
  qp.pause.on = false;
  ASSERT_EQ(qp.Run(Completer::kReleaseToReplay - 1), "");
  EXPECT_EQ(qp.p.replay_valid_o, 0);
  ASSERT_EQ(qp.Run(1), "");
  EXPECT_EQ(qp.p.replay_valid_o, 1);
  EXPECT_EQ(qp.Replays(), Replays{qp.Part(0, 0, 1000 + 2 * kBurst, true)});
}

TEST(CompleterBurst, ErrAndClearEndWhatIsAwaited) {
  for (const bool clear : {true, false}) {
    LongQp qp;
    qp.PostLong(3 * kBurst);
    const spec::Replay part = qp.Part(0, 0, 1000 + kBurst, true);
    EXPECT_EQ(qp.Replays(), Replays{part});
    qp.SetState(kQp, clear ? IbQpState::kReset : IbQpState::kErr, clear);
    EXPECT_EQ(qp.Statuses(), clear ? Statuses{} : Statuses{kFlush});
    qp.Begin(part);
    EXPECT_TRUE(qp.Replays().empty());
    if (clear) ++qp.completed;
    qp.SetState(kQp, IbQpState::kReset, true);
    qp.SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(qp.Settle(), "");
    qp.PostUnsent(1);
    spec::Replay next = qp.Again(0, 1, 1000 + 3 * kBurst, 1000 + 3 * kBurst, 1000 + 3 * kBurst);
    next.fresh = true;
    EXPECT_EQ(qp.Replays(), (Replays{next, qp.Resume(0)}));
  }
}

// Many QPs in any state, records and acknowledges that may mean anything.
TEST(Completer, RtlAndModelAgreeInEveryCycleUnderRandomTraffic) {
  for (const unsigned in_rate : {16u, 5u}) {
    for (const unsigned out_rate : {16u, 8u, 2u}) {
      Bench bench(out_rate == 8);
      bench.Rates(in_rate, out_rate);
      auto& random = bench.random;
      std::map<uint32_t, uint32_t> psn, open;
      std::map<uint32_t, uint8_t> reads, ended;
      uint64_t records = 0;
      bench.retired.keep = bench.completion.keep = bench.failure.keep = bench.replay.keep = bench.timer_set.keep =
          false;
      std::map<uint32_t, uint8_t> timers;
      bench.timer_set.on_token = [&](Cycle, const spec::TimerSet& token) { timers[token.qpn] = token.generation; };
      std::map<uint32_t, spec::Replay> asked;  // for a part
      bench.replay.on_token = [&](Cycle, const spec::Replay& token) {
        if (token.packets != 0) asked[token.qpn] = token;
      };
      bench.pause.toggles = 4;
      uint64_t parts = 0;
      const auto set_context = [&](uint32_t qpn) {
        bench.SetCq(qpn, static_cast<uint16_t>(random() % 16),
                    {.timeout = static_cast<uint8_t>(random() % 4 == 0 ? 0 : random() % 32),
                     .retry_cnt = static_cast<uint8_t>(random() % 8),
                     .rnr_retry = static_cast<uint8_t>(random() % 8),
                     .max_rd_atomic = static_cast<uint8_t>(random() % 4),
                     .qp_type = random() % 4 == 0 ? static_cast<spec::IbQpType>(random() % 6) : spec::IbQpType::kRc,
                     .path_mtu = static_cast<spec::IbMtu>(random() % 8)});
      };
      bench.retired.on_token = [&](Cycle, const spec::Doorbell& token) {
        ASSERT_NE(open[(token.vq_index - bench.first_queue) / 2]--, 0u);
      };
      for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        set_context(qpn);
        bench.SetState(qpn, IbQpState::kRts);
      }
      ASSERT_EQ(bench.Settle(), "");
      for (int step = 0; step < 10000; ++step) {
        const auto qpn = static_cast<uint32_t>(random() % (step % 2 == 0 ? 16 : 3));
        const unsigned dice = random() % 64;
        if (dice < 24 && open[qpn] < 8 && bench.record.tokens.size() < 4) {
          const auto packets = static_cast<uint32_t>(random() % 4 == 0 ? random() % 4 : 1 + random() % 3);
          spec::SendRecord record{
              .qpn = qpn,
              .head = static_cast<uint16_t>(random()),
              .wr_id = random(),
              .opcode = random() % 3 == 0 ? spec::IbWcOpcode::kRdmaRead : static_cast<spec::IbWcOpcode>(random() % 5),
              .vendor_err = static_cast<uint32_t>(random()),
              .signaled = random() % 2 == 0,
              .last_psn = Psn(psn[qpn] + packets - 1),
              .first_psn = psn[qpn]};
          if (packets == 0 || random() % 32 == 0) {
            record.status = static_cast<IbWcStatus>(1 + random() % 12);
            record.silent = random() % 4 == 0;
          }
          record.unsent = random() % 4 == 0;
          if (random() % 4 == 0) record.packets = static_cast<uint16_t>(1 + random() % 3);
          record.fence = random() % 4 == 0;
          record.bytes = static_cast<uint32_t>(random());
          psn[qpn] = Psn(psn[qpn] + packets);
          if (random() % 16 == 0) {
            record.amends = true;
            record.again = random() % 2 == 0;
            record.slot = static_cast<uint8_t>(random() % 9);
            if (record.again) record.first_psn = Psn(psn[qpn] - static_cast<uint32_t>(random() % 6));
          } else {
            ++open[qpn];
            ++records;
            if (record.opcode == spec::IbWcOpcode::kRdmaRead) ++reads[qpn];
          }
          bench.record.tokens.push_back(record);
        } else if (dice >= 61 && asked.contains(qpn)) {
          // The part that was asked for begins, or another one.
          const spec::Replay& part = asked[qpn];
          bench.record.tokens.push_back(
              {.qpn = qpn,
               .first_psn = part.first_psn,
               .amends = true,
               .again = true,
               .slot = part.slot,
               .packets = part.packets,
               .generation = static_cast<uint8_t>(part.generation - (random() % 8 == 0 ? 1 : 0))});
          ++parts;
        } else if (dice < 52 && bench.ack.tokens.size() < 4) {
          auto syndrome = static_cast<uint8_t>(random() % 12 == 0 ? random() : random() % 32);
          if (random() % 4 == 0) syndrome = static_cast<uint8_t>(random() % 2 == 0 ? 0x60 : 0x20 + random() % 32);
          bench.ack.tokens.push_back({.qpn = random() % 32 == 0 ? static_cast<uint32_t>(random() & 0xff'ffff) : qpn,
                                      .psn = Psn(psn[qpn] - static_cast<uint32_t>(random() % 12)),
                                      .syndrome = syndrome,
                                      .msn = static_cast<uint32_t>(random() & 0xff'ffff),
                                      .is_read = random() % 2 == 0,
                                      .status = static_cast<IbWcStatus>(random() % 32 == 0 ? random() % 23 : 0)});
        } else if (dice < 54 && bench.expired.tokens.size() < 4) {
          bench.expired.tokens.push_back({.qpn = random() % 32 == 0 ? static_cast<uint32_t>(random() & 0xff'ffff) : qpn,
                                          .generation = static_cast<uint8_t>(timers[qpn] - random() % 8 / 6)});
        } else if (dice < 55) {
          set_context(qpn);
        } else if (dice < 57 && random() % 4 == 0) {
          bench.SetState(qpn, static_cast<IbQpState>(random() % 7), random() % 4 == 0);
        } else if (dice < 61 && random() % 2 == 0) {
          bench.SetState(qpn, IbQpState::kReset, true);
          bench.SetState(qpn, IbQpState::kRts);
        }
        ASSERT_EQ(bench.Run(random() % 12), "");
      }
      // Everything ends, and nothing is forgotten.
      bench.Rates(16, 16);
      bench.pause.toggles = 0;
      bench.pause.on = false;
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_GT(parts, 50U);
      for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kErr);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.retired.count, records);
      for (const auto& [cycle, token] : bench.reads.sent) {
        ASSERT_EQ(token.ended, ++ended[token.qpn]);
      }
      EXPECT_EQ(ended, reads);
      EXPECT_GT(bench.completion.count, 200u);
      EXPECT_GT(bench.failure.count, 10u);
      EXPECT_GT(bench.replay.count, 200u);
      EXPECT_GT(bench.timer_set.count, 200u);
    }
  }
}

// States of a few QPs change so often that changes meet their QP's turn.
TEST(Completer, RtlAndModelAgreeWhenStatesChangeInEveryCycle) {
  Bench bench;
  uint32_t open[3]{};
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.SetCq(qpn, 0, kPatient);
  bench.retired.on_token = [&](Cycle, const spec::Doorbell& token) { --open[(token.vq_index - kFirstQueue) / 2]; };
  for (int i = 0; i < 3000; ++i) {
    const auto qpn = static_cast<uint32_t>(bench.random() % 3);
    bench.SetState(qpn, bench.random() % 2 == 0 ? IbQpState::kErr : IbQpState::kRts, bench.random() % 2 == 0);
    if (bench.random() % 4 == 0 && open[qpn] < 8) {
      ++open[qpn];
      bench.record.tokens.push_back({.qpn = qpn,
                                     .opcode = static_cast<spec::IbWcOpcode>(bench.random() % 4),
                                     .last_psn = 7,
                                     .first_psn = 7,
                                     .unsent = bench.random() % 2 == 0,
                                     .fence = bench.random() % 2 == 0});
    }
    if (bench.random() % 4 == 0) {
      bench.ack.tokens.push_back({.qpn = qpn,
                                  .psn = 7,
                                  .syndrome = bench.random() % 2 == 0 ? kSequenceNak : kAck,
                                  .is_read = bench.random() % 2 == 0});
    }
    bench.state.rate = bench.random() % 16 == 0 ? 3 : 16;
    ASSERT_EQ(bench.Run(1 + bench.random() % 2), "");
  }
  ASSERT_EQ(bench.Settle(), "");
}

}  // namespace
}  // namespace vireo::verif
