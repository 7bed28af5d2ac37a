// SPDX-License-Identifier: Apache-2.0
// The completer in random traffic: in a network that loses packets, and RTL against model in every cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/common/seed.h"
#include "verif/rdma/completer_bench.h"

namespace vireo::verif {
namespace {

// The environment of the completer, as simple as possible: requesters that hold, also themselves, slow send queues,
// peers that lose packets and are not ready, responders that order READ responses, timers.
struct Network {
  static constexpr uint32_t kQps = 4;
  static constexpr uint32_t kFlooder = 9;  // flushes all the time
  struct Message {
    uint32_t first_psn, last_psn;
    bool is_read, fence;
  };
  struct Packet {
    uint32_t psn;
    uint32_t responses;  // of a READ request; else 0
    uint32_t message;
    uint8_t epoch;  // of the replay that it belongs to
    bool is_replay;
  };
  struct Qp {
    // Requester
    uint32_t next_psn = 0;
    uint32_t never_sent = 0;
    uint8_t hold = 0, resumed = 0;
    bool holds_itself = false;
    uint8_t reads_started = 0, reads_ended = 0;
    std::vector<Message> messages;
    std::deque<Packet> sends;  // of the current message
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
    uint8_t timer_epoch = 0;

    bool IsHeld() const { return hold != resumed || holds_itself; }
  };

  // Decisions of the requester in the cycles of a hold and just after it do not consider it yet; its records are
  // visible one cycle later.
  static constexpr Cycle kHoldCycles = 3;

  // Without loss a peer still reports what it lacks, so that nothing depends on the ack timer.
  // With a burst its requesters yield after that many packets.
  Network(Bench& b, bool is_lossy, uint8_t most_reads, uint32_t packets_of_burst)
      : bench(b), lossy(is_lossy), max_rd_atomic(most_reads), burst(packets_of_burst) {
    bench.completion.keep = bench.retired.keep = bench.failure.keep = bench.replay.keep = bench.timer_set.keep = false;
    bench.retired.on_token = [this](Cycle, const spec::Doorbell& token) {
      const auto qpn = (token.vq_index - bench.first_queue) / 2;
      if (qpn != kFlooder) --qps[qpn].open;
    };
    bench.completion.on_token = [this](Cycle, const spec::Completion& token) {
      const auto qpn = (token.vq_index - bench.first_queue) / 2;
      if (qpn == kFlooder) {
        ++flushed;
        return;
      }
      Qp& qp = qps[qpn];
      const auto cqe = spec::RdmaCqReq::Decode(token.cqe);
      ASSERT_EQ(cqe.status, kOk);
      ASSERT_EQ(cqe.wr_id, qp.done);
      // A READ's data has all arrived.
      for (const auto& read : qp.reads) ASSERT_NE(read.message, qp.done);
      ++qp.done;
    };
    bench.replay.on_token = [this](Cycle cycle, const spec::Replay& token) {
      Qp& qp = qps[token.qpn];
      qp.replays.emplace_back(cycle + 20 + bench.random() % 60, token);
      if (token.first_transmission) {
        ASSERT_LT(Psn(token.psn - qp.never_sent), 0x80'0000U);
      }
      ASSERT_TRUE(token.packets == 0 || token.packets == burst);
      if (!token.resume && qp.messages[token.head].is_read) {
        const auto end = qp.messages.begin() + token.head;
        ASSERT_EQ(token.number,
                  std::count_if(qp.messages.begin(), end, [](const Message& m) { return m.is_read; }) & 0xff);
      }
      ++(token.first_transmission ? first_transmission : stale);
    };
    bench.timer_set.on_token = [this](Cycle cycle, const spec::TimerSet& token) {
      Qp& qp = qps[token.qpn];
      qp.timer_epoch = token.epoch;
      qp.deadline = token.kind == TimerKind::kOff   ? model::kUnknown
                    : token.kind == TimerKind::kAck ? cycle + 1000
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
    bench.sent.tokens.push_back({.qpn = static_cast<uint32_t>(&qp - qps.data()),
                                 .psn = Psn(behind - 1),
                                 .epoch = packet.is_replay ? packet.epoch : qp.resumed});
    if (!IsLost(qp)) qp.wire.emplace_back(bench.bench.cycle() + 20, packet);
    ++sent;
  }
  // Cuts the part from `psn` on: all of it, or this many packets.
  void Cut(Qp& qp, uint32_t number, uint32_t psn, uint8_t epoch, bool is_replay, uint32_t most_packets) {
    const Message& message = qp.messages[number];
    uint32_t packets = Psn(message.last_psn - psn) + 1;
    if (most_packets != 0) packets = std::min(packets, most_packets);
    if (message.is_read) {
      qp.sends.push_back({psn, packets, number, epoch, is_replay});
      return;
    }
    for (uint32_t i = 0; i < packets; ++i) qp.sends.push_back({Psn(psn + i), 0, number, epoch, is_replay});
  }
  void Post(uint32_t qpn) {
    Qp& qp = qps[qpn];
    const auto number = static_cast<uint32_t>(qp.messages.size());
    const auto packets = static_cast<uint32_t>(1 + bench.random() % 3);
    const Message message{qp.next_psn, Psn(qp.next_psn + packets - 1), max_rd_atomic != 0 && bench.random() % 3 == 0,
                          bench.random() % 8 == 0};
    const auto outstanding = static_cast<uint8_t>(qp.reads_started - qp.reads_ended);
    if (!qp.IsHeld() && ((message.is_read && outstanding >= max_rd_atomic) || (message.fence && outstanding != 0))) {
      qp.holds_itself = true;
      ++(message.fence ? fences : limits);
    }
    const bool cuts = burst != 0 && packets > burst && !message.is_read && !qp.IsHeld();
    bench.record.tokens.push_back({.qpn = qpn,
                                   .head = static_cast<uint16_t>(number),
                                   .wr_id = number,
                                   // Atomic operations are READs, too.
                                   .opcode = !message.is_read            ? spec::IbWcOpcode::kRdmaWrite
                                             : qp.reads_started % 3 == 0 ? spec::IbWcOpcode::kRdmaRead
                                             : qp.reads_started % 3 == 1 ? spec::IbWcOpcode::kCompSwap
                                                                         : spec::IbWcOpcode::kFetchAdd,
                                   .signaled = true,
                                   .last_psn = message.last_psn,
                                   .first_psn = message.first_psn,
                                   .unsent = qp.IsHeld(),
                                   .fence = message.fence,
                                   .packets = static_cast<uint16_t>(cuts ? burst : 0)});
    qp.messages.push_back(message);
    if (message.is_read) ++qp.reads_started;
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
      qps[holds.front().second.qpn].hold = holds.front().second.epoch;
      holds.erase(holds.begin());
    }
    auto& ended = bench.reads.sent;
    while (!ended.empty() && ended.front().first + kHoldCycles < now) {
      qps[ended.front().second.qpn].reads_ended = ended.front().second.ended;
      ended.erase(ended.begin());
    }
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      Qp& qp = qps[qpn];
      // A message in progress stops when the QP is held, a replay when another hold comes.
      if (!qp.sends.empty() && bench.random() % 2 == 0) {
        const Packet packet = qp.sends.front();
        if (packet.is_replay ? packet.epoch != qp.hold : qp.hold != qp.resumed) {
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
          Cut(qp, replay.head, replay.psn, replay.epoch, true, replay.packets);
          if (replay.packets != 0 && replay.epoch == qp.hold) {
            ++parts;
            bench.record.tokens.push_back({.qpn = qpn,
                                           .head = replay.head,
                                           .first_psn = replay.first_psn,
                                           .replaces = true,
                                           .is_replay = true,
                                           .slot = replay.slot,
                                           .packets = replay.packets,
                                           .epoch = replay.epoch});
          }
        } else if (replay.epoch == qp.hold && replay.psn == qp.next_psn) {
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
        bench.expired.tokens.push_back({.qpn = qpn, .epoch = qp.timer_epoch});
        qp.deadline = model::kUnknown;
      }
    }
  }
  // A record of the flooder is always before those of the others.
  void Flood() {
    if (!bench.record.tokens.empty()) return;
    bench.record.tokens.push_back(
        {.qpn = kFlooder, .status = IbWcStatus::kWrFlushErr, .last_psn = Psn(0U - 1), .first_psn = 0});
  }
  // The events that this test needs and that have not come often enough yet; empty: none.
  std::string Lacks() const {
    if (lossy && lost <= 50) return "lost packets";
    if (unsent <= 50) return "messages recorded before they are sent";
    if (first_transmission <= 50) return "fresh replays";
    if (stale <= 50) return "stale replays";
    if (burst != 0 && parts <= 50) return "parts of replays";
    if (pauses <= 10) return "RNR timers";
    if (most != max_rd_atomic) return "READs, as many as there may be";
    if (max_rd_atomic != 0 && burst == 0 && fences + limits == 0) return "requesters that hold themselves";
    if (max_rd_atomic != 0 && lossy && gaps == 0) return "gaps in READ responses";
    for (const auto& qp : qps) {
      if (qp.done <= 150) return "completions of every QP";
    }
    return "";
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
  uint64_t parts = 0, first_transmission = 0, stale = 0, flushed = 0;
  size_t most = 0;  // outstanding READs
};

TEST(Completer, EveryMessageCompletesInOrderDespiteLossAndRnr) {
  struct Case {
    bool lossy;
    unsigned out_rate;
    uint8_t reads;
    uint32_t burst = 0;
    bool floods = false;
  };
  for (const auto& [lossy, out_rate, reads, burst, floods] : {Case{true, 16, 0},
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
                                                              {true, 6, 3, 1},
                                                              {true, 16, 0, 0, true},
                                                              {false, 4, 2, 0, true},
                                                              {true, 16, 2, 1, true}}) {
    Bench bench;
    bench.Rates(16, out_rate);
    // Payload is read late in some cases, so that acknowledges come before.
    bench.fence.reads_at_random = out_rate != 16 || lossy;
    Network network(bench, lossy, reads, burst);
    if (burst != 0) bench.pause.toggles = 2;
    for (uint32_t qpn = 0; qpn < Network::kQps; ++qpn) {
      Bench::Retries retries = lossy ? kMostRetries : Bench::Retries{.retry_cnt = 1, .rnr_retry = 7};
      retries.max_rd_atomic = reads;
      if (burst != 0) retries.path_mtu = burst == 1 ? spec::IbMtu::kMtu4096 : spec::IbMtu::kMtu2048;
      bench.SetCq(qpn, 0, retries);
      bench.SetState(qpn, IbQpState::kRts);
      auto& qp = network.qps[qpn];
      qp.next_psn = qp.expected = Psn(0u - 50 * qpn);
      qp.never_sent = qp.next_psn;
      qp.newest_read = Psn(qp.next_psn - 1);
    }
    ASSERT_EQ(bench.ApplyAck(), "");
    bench.SetState(Network::kFlooder, IbQpState::kErr);
    // Runs until every event occurred: their frequency is random.
    for (int i = 0; i < 40'000 || (i < 400'000 && !network.Lacks().empty()); ++i) {
      network.Step(true);
      if (floods && i % 4 == 0) network.Flood();
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
    EXPECT_EQ(network.flushed > 1000, floods);
    for (const auto& qp : network.qps) {
      EXPECT_EQ(qp.done, qp.messages.size());
      EXPECT_EQ(qp.expected, qp.next_psn);
      EXPECT_EQ(qp.deadline, model::kUnknown);  // nothing is outstanding: every timer is stopped
      EXPECT_EQ(qp.reads_started, qp.reads_ended);
      EXPECT_TRUE(qp.reads.empty());
    }
    EXPECT_EQ(network.Lacks(), "");
    if (burst == 0) {
      EXPECT_EQ(network.parts, 0u);
    }
    if (!lossy) {
      EXPECT_EQ(network.gaps, 0u);
    }
  }
}

// Many QPs in any state, with arbitrary records and acknowledges.
TEST(Completer, MatchesModelInRandomTraffic) {
  for (const unsigned in_rate : {16u, 5u}) {
    for (const unsigned out_rate : {16u, 8u, 2u}) {
      Bench bench(out_rate == 8);
      bench.Rates(in_rate, out_rate);
      bench.fence.reads_at_random = true;
      bench.fence.rate = in_rate == 16 ? 1 : 16;
      bench.reception.at_random = true;
      auto& random = bench.random;
      std::map<uint32_t, uint32_t> psn, open;
      std::map<uint32_t, uint8_t> reads, ended;
      uint64_t records = 0;
      bench.retired.keep = bench.completion.keep = bench.failure.keep = bench.replay.keep = bench.timer_set.keep =
          false;
      std::map<uint32_t, uint8_t> timers;
      bench.timer_set.on_token = [&](Cycle, const spec::TimerSet& token) { timers[token.qpn] = token.epoch; };
      std::map<uint32_t, spec::Replay> asked;  // for a part
      bench.replay.on_token = [&](Cycle, const spec::Replay& token) {
        if (token.packets != 0) asked[token.qpn] = token;
      };
      bench.pause.toggles = 4;
      std::map<uint32_t, uint8_t> holds;  // since the last token that was sent
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
      // As QP control does.
      bench.failure.on_token = [&](Cycle, const spec::QpFailure& token) {
        if (!token.send_only) bench.SetState(token.qpn, IbQpState::kErr);
      };
      for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        set_context(qpn);
        bench.SetState(qpn, IbQpState::kRts);
      }
      ASSERT_EQ(bench.ApplyAck(), "");
      for (int step = 0; step < 10000; ++step) {
        const auto qpn = static_cast<uint32_t>(random() % (step % 2 == 0 ? 16 : 3));
        const unsigned dice = random() % 64;
        if (dice < 24 && open[qpn] < 8 && bench.record.tokens.size() < 4) {
          const auto packets = static_cast<uint32_t>(random() % 4 == 0 ? random() % 4 : 1 + random() % 3);
          spec::SendRecord record{
              .qpn = qpn,
              .head = static_cast<uint16_t>(random()),
              .wr_id = random(),
              .opcode = random() % 3 == 0 ? spec::IbWcOpcode::kRdmaRead : static_cast<spec::IbWcOpcode>(random() % 7),
              .vendor_err = static_cast<uint32_t>(random()),
              .signaled = random() % 2 == 0,
              .last_psn = Psn(psn[qpn] + packets - 1),
              .first_psn = psn[qpn]};
          const bool is_local = packets == 0 && random() % 2 == 0;
          if ((packets == 0 && !is_local) || random() % 32 == 0) {
            record.status = static_cast<IbWcStatus>(1 + random() % 12);
            record.no_completion = random() % 4 == 0;
          }
          record.is_local = is_local && record.status == IbWcStatus::kSuccess;
          if (record.is_local) record.opcode = spec::IbWcOpcode::kLocalInv;
          record.unsent = !record.is_local && random() % 4 == 0;
          if (!record.is_local && random() % 4 == 0) record.packets = static_cast<uint16_t>(1 + random() % 3);
          record.fence = random() % 4 == 0;
          record.bytes = static_cast<uint32_t>(random());
          psn[qpn] = Psn(psn[qpn] + packets);
          if (!record.is_local && random() % 16 == 0) {
            record.replaces = true;
            record.is_replay = random() % 2 == 0;
            record.slot = static_cast<uint8_t>(random() % 9);
            if (record.is_replay) record.first_psn = Psn(psn[qpn] - static_cast<uint32_t>(random() % 6));
          } else {
            ++open[qpn];
            ++records;
            if (IsRead(record)) ++reads[qpn];
          }
          bench.record.tokens.push_back(record);
          // The requester has reported it. Until then a READ waits, and keeps its place.
          if (record.status != IbWcStatus::kSuccess && IsRead(record)) bench.SetState(qpn, IbQpState::kErr);
        } else if (dice >= 61 && asked.contains(qpn)) {
          // The requested part starts, or another one.
          const spec::Replay& part = asked[qpn];
          bench.record.tokens.push_back({.qpn = qpn,
                                         .first_psn = part.first_psn,
                                         .replaces = true,
                                         .is_replay = true,
                                         .slot = part.slot,
                                         .packets = part.packets,
                                         .epoch = static_cast<uint8_t>(part.epoch - (random() % 8 == 0 ? 1 : 0))});
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
                                          .epoch = static_cast<uint8_t>(timers[qpn] - random() % 8 / 6)});
        } else if (dice < 55) {
          set_context(qpn);
        } else if (dice < 56) {
          for (; !bench.hold.sent.empty(); bench.hold.sent.pop_back()) {
            holds.emplace(bench.hold.sent.back().second.qpn, bench.hold.sent.back().second.epoch);
          }
          const uint8_t epoch = holds.contains(qpn) ? holds[qpn] : 0;
          bench.sent.tokens.push_back({.qpn = qpn,
                                       .psn = Psn(psn[qpn] - static_cast<uint32_t>(random() % 6)),
                                       .epoch = static_cast<uint8_t>(epoch - (random() % 8 == 0 ? 1 : 0))});
          holds.erase(qpn);
        } else if (dice < 57 && random() % 4 == 0) {
          bench.SetState(qpn, static_cast<IbQpState>(random() % 7), random() % 4 == 0);
        } else if (dice < 61 && random() % 2 == 0) {
          bench.SetState(qpn, IbQpState::kReset, true);
          bench.SetState(qpn, IbQpState::kRts);
        }
        ASSERT_EQ(bench.Run(random() % 12), "");
      }
      // Everything ends, and nothing is lost.
      bench.Rates(16, 16);
      bench.fence.rate = 64;
      bench.pause.toggles = 0;
      bench.pause.on = false;
      ASSERT_EQ(bench.Run(2000), "");  // READs that have failed wait for ERR
      EXPECT_GT(parts, 50U);
      for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kErr);
      ASSERT_EQ(bench.ApplyAck(), "");
      EXPECT_EQ(bench.retired.count, records);
      for (const auto& [cycle, token] : bench.reads.sent) {
        ASSERT_EQ(token.ended, ++ended[token.qpn]);
      }
      EXPECT_EQ(ended, reads);
      EXPECT_GT(bench.completion.count, 100u);
      EXPECT_GT(bench.failure.count, 4u);  // at most one of each of the 16 QPs
      EXPECT_GT(bench.replay.count, 100u);
      EXPECT_GT(bench.timer_set.count, 100u);
    }
  }
}

// States of a few QPs change so often that changes coincide with their QP's turn.
TEST(Completer, MatchesModelUnderStateChanges) {
  Bench bench;
  bench.fence.reads_at_random = true;
  bench.reception.at_random = true;
  uint32_t open[3]{};
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.SetCq(qpn, 0, kMostRetries);
  bench.retired.on_token = [&](Cycle, const spec::Doorbell& token) { --open[(token.vq_index - kFirstQueue) / 2]; };
  for (int i = 0; i < 6000; ++i) {
    const auto qpn = static_cast<uint32_t>(bench.random() % 3);
    if (bench.state.tokens.empty()) {
      bench.SetState(qpn, bench.random() % 2 == 0 ? IbQpState::kErr : IbQpState::kRts, bench.random() % 2 == 0);
    }
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
    if (bench.random() % 64 == 0) {
      bench.contexts.Flip(spec::ContextRam::kCompleterQp, qpn, static_cast<uint32_t>(bench.random() % 1024));
    }
    if (bench.random() % 32 == 0) bench.SetCq(qpn, 0, kMostRetries);
    bench.state.rate = bench.random() % 16 == 0 ? 3 : 16;
    ASSERT_EQ(bench.Run(1 + bench.random() % 2), "");
  }
  // READs that have failed wait for ERR, which has no effect with bad attributes.
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.SetCq(qpn, 0, kMostRetries);
  ASSERT_EQ(bench.Run(100), "");
  for (uint32_t qpn = 0; qpn < 3; ++qpn) bench.SetState(qpn, IbQpState::kErr);
  ASSERT_EQ(bench.ApplyAck(), "");
  EXPECT_GT(bench.contexts.errors.size(), 50u);
}

}  // namespace
}  // namespace vireo::verif
