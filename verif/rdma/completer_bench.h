// SPDX-License-Identifier: Apache-2.0
// Test bench of the completer: runs RTL and model in step, and has one QP with directed records and acknowledges.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Vcompleter.h"
#include "model/rdma/completer.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/hold_bench.h"
#include "verif/rdma/key_fence_bench.h"

namespace vireo::verif {

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
  config.datapath_bits = 512;
  config.net_queue_pairs = 3;
  config.num_cqs = 16;
  config.num_qps = 16;
  config.send_records = 8;
  config.send_burst_bytes = 4096;
  return config;
}
inline constexpr spec::Config kConfig = MakeConfig();
inline constexpr uint32_t kBurstBytes = kConfig.send_burst_bytes;
inline constexpr uint32_t kFirstQueue = 2 * kConfig.net_queue_pairs + 16 + spec::kRdmaTransmitqOffset;  // with mq
inline constexpr uint32_t kFirstQueueOne = 2 * 1 + 16 + spec::kRdmaTransmitqOffset;                     // without

inline uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }
// Atomic operations are READs, too.
inline bool IsRead(const spec::SendRecord& record) {
  return record.opcode == spec::IbWcOpcode::kRdmaRead || record.opcode == spec::IbWcOpcode::kCompSwap ||
         record.opcode == spec::IbWcOpcode::kFetchAdd;
}

// Requester and transmit gather, as far as the fence sees them: each work request ends when its record is taken, each
// replay when it is issued, all at once, or when a packet of it is read at random; then some replays pass others.
class Fence final : public BenchStream {
 public:
  Fence(Vcompleter& top, Completer& model, std::mt19937_64& random) : p_(top), model_(model), random_(random) {}

  void Begin(Cycle cycle) override {
    model::WorkEnds end;
    if (!ends.empty()) {
      end = ends.front();
      ends.pop_front();
      if (end.replay) {
        // By hand they end in order, unless a serial is given.
        next_serial_ = (next_serial_ + 1) % model::WorkFence::kReplays;
        if (!is_automatic && end.serial == 0) end.serial = static_cast<uint8_t>(next_serial_);
      }
      model_.OnWorkEnds(cycle, end);
    }
    p_.issued_i = end.issued;
    p_.work_ended_i = end.work;
    p_.replay_ended_i = end.replay;
    p_.replay_serial_i = end.serial;
    unsigned count = static_cast<unsigned>(std::min<uint64_t>(reads, 2));
    if (reads_at_random && random_() % 64 < rate) count = static_cast<unsigned>(random_() % 3);
    count = static_cast<unsigned>(std::min<uint64_t>(count, outstanding));
    reads -= std::min<uint64_t>(reads, count);
    outstanding -= count;
    if (end.issued) ++outstanding;
    for (unsigned i = 0; i < count; ++i) model_.OnPacketRead(cycle);
    p_.packets_read_i = static_cast<CData>(count);
  }
  void End(Cycle) override {
    const bool has_replay = p_.replay_valid_o != 0 && !replay_waits_;
    replay_waits_ = p_.replay_valid_o != 0 && p_.replay_ready_i == 0;
    if (!is_automatic) return;
    if (p_.record_valid_i != 0 && p_.record_ready_o != 0) {
      const auto record = TokenFrom<spec::SendRecord>(BytesOf(std::as_const(p_.record_i)));
      if (!record.replaces && !record.unsent && record.status == IbWcStatus::kSuccess && !record.is_local) {
        Add({.work = true});
      }
    }
    if (slow_ && random_() % 128 == 0) Add({.replay = true, .serial = *std::exchange(slow_, std::nullopt)});
    if (!has_replay) return;
    const auto replay = TokenFrom<spec::Replay>(BytesOf(std::as_const(p_.replay_o)));
    if (replay.resume) return;
    if (reads_at_random && !slow_ && random_() % 8 == 0) {
      slow_ = replay.serial;
    } else {
      Add({.replay = true, .serial = replay.serial});
    }
  }
  bool IsEmpty() const override { return ends.empty() && !slow_; }

  bool is_automatic = true;
  bool reads_at_random = false;
  unsigned rate = 8;                 // of reads, of 64
  std::deque<model::WorkEnds> ends;  // pulses to come
  uint64_t outstanding = 0;          // packets
  uint64_t reads = 0;                // of packets, to come

 private:
  void Add(model::WorkEnds end) {
    if (reads_at_random && outstanding < 100) {
      // Another packet of it, or of an earlier one; a replay may have none.
      if (random_() % 4 == 0) ends.push_back({.issued = true});
      end.issued = end.work || random_() % 2 == 0;
    }
    ends.push_back(end);
  }
  Vcompleter& p_;
  Completer& model_;
  std::mt19937_64& random_;
  bool replay_waits_ = false;
  size_t next_serial_ = 0;
  std::optional<uint8_t> slow_;  // a replay that others pass
};

// Responder and receive scatter, as far as the fence of responses sees them.
class Reception final : public BenchStream {
 public:
  Reception(Vcompleter& top, Completer& model, std::mt19937_64& random) : p_(top), model_(model), random_(random) {}

  void Begin(Cycle) override {
    p_.responder_settled_i = next_.settled;
    p_.place_waits_i = next_.waits;
    p_.place_begins_i = next_.begins;
    p_.place_ends_i = next_.ends;
  }
  // Chooses the next cycle, at whose start the model sees it.
  void End(Cycle) override {
    begun_ += next_.begins;
    ended_ += next_.ends;
    const bool still_waits = next_.waits && !next_.begins;
    if (at_random) {
      next_.settled = random_() % 4 == 0;
      next_.waits = still_waits || random_() % 4 == 0;
      next_.begins = next_.waits && random_() % 2 == 0;
      next_.ends = begun_ != ended_ && (random_() % 4 == 0 || begun_ - ended_ > 60);
    } else {
      next_.settled = is_settled;
      next_.waits = next_.begins = to_begin != 0;
      to_begin -= next_.begins;
      next_.ends = to_end != 0;
      to_end -= next_.ends;
    }
    if (model_.IsFencing()) model_.AdvanceFence({next_.settled, begun_ + next_.waits, ended_});
  }

  bool IsEmpty() const override { return to_begin == 0 && to_end == 0; }

  bool at_random = false;
  bool is_settled = true;
  unsigned to_begin = 0, to_end = 0;  // places, one per cycle

 private:
  struct Inputs {
    bool settled = true, waits = false, begins = false, ends = false;
  };
  Vcompleter& p_;
  Completer& model_;
  std::mt19937_64& random_;
  Inputs next_;
  uint64_t begun_ = 0, ended_ = 0;
};

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
    bench.AddOther(fence);
    bench.AddOther(reception);
    bench.AddOther(key_fence);
    bench.AddOther(contexts);
    state.spacing = sent.spacing = 4;     // of qp_control and tx_builder
    EXPECT_EQ(Run(kConfig.num_qps), "");  // the sets of QPs are cleared
  }

  // Cycles, with idle compared in each.
  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs in cycle " + std::to_string(bench.cycle());
    }
    return {};
  }
  // Until nothing is in flight.
  std::string ApplyAck() {
    for (int i = 0; i < 5000; ++i) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (record.IsEmpty() && ack.IsEmpty() && expired.IsEmpty() && state.IsEmpty() && table.IsEmpty() &&
          sent.IsEmpty() && block.IsIdle())
        return {};
    }
    return "the block does not become idle";
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
  // While nothing is in flight.
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
  std::mt19937_64 random = sim::MakeRandom("completer");
  Agenda agenda;
  Completer block{agenda, kConfig};
  Channel<spec::Completion> completion_sink = Channel<spec::Completion>::Sink();
  Channel<spec::Doorbell> retired_sink = Channel<spec::Doorbell>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  Channel<spec::Replay> replay_sink = Channel<spec::Replay>::Sink();
  Channel<spec::TimerSet> timer_set_sink = Channel<spec::TimerSet>::Sink();
  RtlTop<Vcompleter> rtl{[](const Vcompleter& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.record_ready_o, top.ack_ready_o, top.timer_expired_ready_o, top.completion_valid_o,
                           top.retired_valid_o, top.failure_valid_o, top.replay_valid_o, top.timer_set_valid_o,
                           top.qp_hold_valid_o, top.qp_reads_valid_o, top.fence_waits_o, top.idle_o}) {
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
  KeyFenceBench<decltype(p.key_fence_i), decltype(p.fence_waits_o), Completer> key_fence{p.key_fence_i, p.fence_waits_o,
                                                                                         block, random};
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
  decltype(bench.Pulse<spec::QpSent>(p.qp_sent_valid_i, p.qp_sent_i, {})) sent = bench.Pulse<spec::QpSent>(
      p.qp_sent_valid_i, p.qp_sent_i, [this](Cycle cycle, const auto& token) { block.OnQpSent(cycle, token); });
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
  ContextBench<Vcompleter, Completer> contexts{p, block};
  OutPulse<spec::QpHold, decltype(p.qp_hold_valid_o), decltype(p.qp_hold_o)> hold{"qp_hold", p.qp_hold_valid_o,
                                                                                  p.qp_hold_o};
  OutPulse<spec::QpReads, decltype(p.qp_reads_valid_o), decltype(p.qp_reads_o)> reads{"qp_reads", p.qp_reads_valid_o,
                                                                                      p.qp_reads_o};
  Hold<Completer> pause{p.hold_i, block, random};
  Fence fence{p, block, random};
  Reception reception{p, block, random};
};

inline constexpr uint32_t kQp = 5;
inline constexpr uint16_t kCq = 11;
inline constexpr uint64_t kWrId = 0xabc0'0000'0000;  // of the first

// One QP in RTS with directed records.
struct OneQp : Bench {
  explicit OneQp(uint32_t psn = 1000, const Retries& retries = {}) : next_psn(psn) {
    // As QP control does.
    failure.on_token = [this](Cycle, const spec::QpFailure& token) {
      if (!token.send_only) SetState(token.qpn, IbQpState::kErr);
    };
    SetCq(kQp, kCq, retries);
    SetState(kQp, IbQpState::kRts);
    EXPECT_EQ(ApplyAck(), "");
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
  void SetState(uint32_t qpn, IbQpState to, bool clear = false) {
    Bench::SetState(qpn, to, clear);
    if (!clear) return;
    last_hold = 0;
    holds_before = hold.sent.size();
  }
  // Every requested packet is on the wire.
  void Send() { sent.tokens.push_back({.qpn = kQp, .psn = Psn(next_psn - 1), .epoch = LastHold()}); }
  uint8_t LastHold() const { return hold.sent.size() > holds_before ? hold.sent.back().second.epoch : last_hold; }
  // The timer set last expires, for an acknowledge twice: the first expiry does not count, because nothing was sent
  // when it was set. Timers() does not report that one.
  void Expire() {
    if (timer.kind == TimerKind::kAck) {
      const size_t holds = hold.sent.size();
      const size_t sets = timer_set_sink.sent().size();
      Send();
      EXPECT_EQ(Run(3), "");
      expired.tokens.push_back({.qpn = kQp, .epoch = timer.epoch});
      EXPECT_EQ(Run(20), "");
      if (hold.sent.size() != holds || timer_set_sink.sent().size() == sets) return;
      timer = timer_set_sink.sent().back().token;
      unseen.insert(timer.epoch);
    }
    expired.tokens.push_back({.qpn = kQp, .epoch = timer.epoch});
  }
  // Events since the last call.
  // With `serial`, which counts all replays, checked and then 0.
  std::vector<spec::Replay> TakeReplays() {
    EXPECT_EQ(ApplyAck(), "");
    auto replays = Taken(replay_sink);
    for (auto& replay : replays) {
      if (replay.resume) continue;
      last_serial = static_cast<uint8_t>((last_serial + 1) % model::WorkFence::kReplays);
      EXPECT_EQ(replay.serial, last_serial);
      replay.serial = 0;
    }
    return replays;
  }
  std::vector<spec::Replay> Replays() {
    auto replays = TakeReplays();
    // The field `first_transmission` is checked here.
    for (auto& replay : replays) {
      if (replay.resume) continue;
      EXPECT_EQ(replay.first_transmission, Psn(replay.psn - never_sent) < 0x80'0000) << replay.psn;
      if (replay.first_transmission) never_sent = Psn(replay.last_psn + 1);
      replay.first_transmission = false;
    }
    return replays;
  }
  std::vector<spec::TimerSet> Timers() {
    EXPECT_EQ(ApplyAck(), "");
    std::vector<spec::TimerSet> timers;
    for (const auto& one : Taken(timer_set_sink)) {
      timer = one;
      if (unseen.erase(one.epoch) != 0) {
        ++left_out;
        continue;
      }
      timers.push_back(one);
      timers.back().epoch = static_cast<uint8_t>(one.epoch - left_out);
    }
    return timers;
  }
  std::vector<uint8_t> Holds() {
    EXPECT_EQ(ApplyAck(), "");
    std::vector<uint8_t> generations;
    for (const auto& [cycle, token] : hold.sent) {
      EXPECT_EQ(token.qpn, kQp);
      generations.push_back(token.epoch);
    }
    last_hold = LastHold();
    holds_before = 0;
    hold.sent.clear();
    return generations;
  }
  // The counts of ended READs, each report since the last call.
  std::vector<uint8_t> Ended() {
    EXPECT_EQ(ApplyAck(), "");
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
  // The records that these tests post, by number from 0 on.
  spec::Replay Again(uint8_t epoch, uint32_t number, uint32_t psn, uint32_t first, uint32_t last) const {
    const auto is_read = IsRead;
    const auto reads = std::count_if(made.begin(), made.begin() + number, is_read);
    return {.qpn = kQp,
            .epoch = epoch,
            .head = static_cast<uint16_t>(40 + number),
            .slot = static_cast<uint8_t>(number % kConfig.send_records),
            .psn = Psn(psn),
            .first_psn = Psn(first),
            .last_psn = Psn(last),
            .number = static_cast<uint8_t>(is_read(made[number]) ? reads : 0)};
  }
  spec::Replay Resume(uint8_t epoch) const {
    return {.qpn = kQp, .resume = true, .epoch = epoch, .psn = next_psn, .number = static_cast<uint8_t>(posted)};
  }

  // The statuses since the last call; each work request in order, each with its own data.
  std::vector<IbWcStatus> Statuses() {
    EXPECT_EQ(ApplyAck(), "");
    std::vector<IbWcStatus> statuses;
    for (const auto& sent : completion_sink.sent()) {
      const auto cqe = spec::RdmaCqReq::Decode(sent.token.cqe);
      EXPECT_EQ(sent.token.vq_index, first_queue + 2 * kQp);
      EXPECT_EQ(sent.token.head, 40 + completed);
      EXPECT_EQ(sent.token.used_bytes, 0u);
      EXPECT_EQ(sent.token.cqn, kCq);
      EXPECT_EQ(sent.token.solicited, cqe.status != IbWcStatus::kSuccess);
      EXPECT_LT(completed, made.size());
      const bool is_read = IsRead(made[completed]);
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
  uint32_t never_sent = next_psn;  // first PSN that was never sent
  uint8_t last_serial = 0;         // of a replay
  uint32_t posted = 0;
  std::vector<spec::SendRecord> made;
  uint32_t completed = 0;
  uint32_t vendor_err = 0;  // of the last completion
  bool has_cqe = false;
  spec::TimerSet timer;      // the last one that Timers() returned
  std::set<uint8_t> unseen;  // settings that Timers() must not report, and
  uint8_t left_out = 0;      //   how many it has not reported
  uint8_t last_hold = 0;
  size_t holds_before = 0;  // of hold.sent, from before a clear
};

using Statuses = std::vector<IbWcStatus>;
inline constexpr auto kOk = IbWcStatus::kSuccess;
inline constexpr auto kFlush = IbWcStatus::kWrFlushErr;

using Holds = std::vector<uint8_t>;
using Replays = std::vector<spec::Replay>;
using Timers = std::vector<spec::TimerSet>;
inline constexpr auto kRetryExc = IbWcStatus::kRetryExcErr;
inline constexpr auto kRnrRetryExc = IbWcStatus::kRnrRetryExcErr;
inline constexpr uint8_t kTimeout = 14;
inline constexpr Bench::Retries kMostRetries{.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7};

inline spec::TimerSet Timer(TimerKind kind, uint8_t code, uint8_t epoch) {
  return {.qpn = kQp, .kind = kind, .code = code, .epoch = epoch};
}
inline spec::TimerSet AckTimer(uint8_t epoch) { return Timer(TimerKind::kAck, kTimeout, epoch); }

using Counts = std::vector<uint8_t>;
inline constexpr Bench::Retries kReader{.timeout = kTimeout, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
inline constexpr auto kSequenceNak = static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
inline constexpr auto kRetryExceeded = static_cast<uint32_t>(spec::RdmaError::kRetryExceeded);
inline constexpr auto kAck = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);

}  // namespace vireo::verif
