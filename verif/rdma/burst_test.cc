// SPDX-License-Identifier: Apache-2.0
// Requester and completer together (models; their own tests prove the RTL equal): long messages in bursts, others
// beside them, and a hold of all. A replay's work request returns after a delay, as from the send queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "model/rdma/completer.h"
#include "model/rdma/requester.h"
#include "model/rdma/transport.h"
#include "model/rdma/tx_room.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Completer;
using model::Cycle;
using model::Requester;

constexpr spec::Config kConfig = spec::kNic100;
constexpr uint32_t kMtu = 4096;
constexpr uint32_t kBurst = kConfig.send_burst_bytes / kMtu;  // packets
constexpr uint64_t kBus = 0x7000'0000'0000;                   // bus address of the region's memory
constexpr Cycle kReread = 20;                                 // of a work request
constexpr uint64_t kRemote = 0x1234'5678'9abc'0000;

uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }

struct Pair {
  struct Message {
    uint32_t qpn;
    uint32_t bytes;
    uint64_t address;
    bool is_read = false;
  };

  Pair() {
    requester.memory_check_out.Connect(checks, requester);
    requester.job_out.Connect(jobs, requester);
    requester.record_out.Connect(completer.record_in, requester);
    requester.read_record_out.Connect(read_records, requester);
    requester.failure_out.Connect(requester_failures, requester);
    requester.fetch_request_out.Connect(fetches, requester);
    requester.on_resent = [this](Cycle) { ++resent; };
    completer.completion_out.Connect(completions, completer);
    completer.retired_out.Connect(retired, completer);
    completer.failure_out.Connect(completer_failures, completer);
    completer.replay_out.Connect(replays, completer);
    completer.timer_set_out.Connect(timers, completer);
    completer.on_qp_hold = [this](Cycle cycle, const spec::QpHold& hold) { requester.OnQpHold(cycle, hold); };
    requester.on_work_ends = [this](Cycle cycle, const model::WorkEnds& ends) { completer.OnWorkEnds(cycle, ends); };
    completer.on_qp_reads = [this](Cycle cycle, const spec::QpReads& reads) { requester.OnQpReads(cycle, reads); };
    requester.on_room_used = [this](Cycle at) { rooms.push_back(at + model::TxRoom::kUsedToRoom); };
    for (size_t i = 0; i < model::TxRoom::kAhead; ++i) rooms.push_back(i);
    Run(kConfig.num_qps);  // the sets of QPs are cleared
  }
  void SetUp(uint32_t qpn, uint32_t psn, spec::IbMtu mtu = spec::IbMtu::kMtu4096) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.qp_type = spec::IbQpType::kRc, .path_mtu = mtu, .max_rd_atomic = 16, .max_send_sge = 4}
        .Encode(write.data);
    requester.OnTableWrite(now, write);
    completer.OnTableWrite(now, write);
    requester.load_in.Push(now, {.qpn = qpn, .psn = psn});
    Run(10);
    requester.OnQpStateWrite(now, {.qpn = qpn, .state = spec::IbQpState::kRts});
    completer.OnQpStateWrite(now, {.qpn = qpn, .state = spec::IbQpState::kRts});
    Run(10);
  }
  // Its number is its descriptor's.
  void Post(const Message& message) {
    works.emplace_back(now, Token(static_cast<uint16_t>(messages.size())));
    messages.push_back(message);
    Write(works.back().second);
  }
  static spec::WorkRequest Token(uint16_t head) { return {.head = head, .bytes = 592}; }
  // Contents of host memory.
  void Write(spec::WorkRequest& token) const {
    const Message& message = messages[token.head];
    token.qpn = message.qpn;
    spec::RdmaSqReq request{.wr_id = token.head,
                            .opcode = message.is_read ? spec::IbWrOpcode::kRdmaRead : spec::IbWrOpcode::kRdmaWrite,
                            .send_flags = spec::IbSendFlags::kSignaled};
    spec::RdmaSqReqRdma{.remote_addr = kRemote, .rkey = 7}.Encode(request.wr);
    spec::RdmaSqReqNumSge{.num_sge = 1}.Encode(request.size);
    uint8_t memory[spec::RdmaSqReq::kBytes + spec::RdmaSge::kBytes];
    request.Encode(memory);
    spec::RdmaSge{.addr = message.address, .length = message.bytes, .lkey = 1}.Encode(memory + spec::RdmaSqReq::kBytes);
    std::copy_n(memory, sizeof token.head_bytes, token.head_bytes);
    std::copy_n(memory + spec::RdmaSqReq::kSizeOffset, sizeof token.tail_bytes, token.tail_bytes);
  }
  void Acknowledge(uint32_t qpn, uint32_t psn) {
    acks.push_back({.qpn = qpn, .psn = psn, .syndrome = static_cast<uint8_t>(spec::AethSyndrome::kAckNoCredits)});
  }
  void Respond(uint32_t qpn, uint32_t psn) {
    Acknowledge(qpn, psn);
    acks.back().is_read = true;
  }

  void Step() {
    for (; !rooms.empty() && rooms.front() <= now; rooms.pop_front()) requester.OnRoom(now);
    if (!places.empty() && requester.memory_place_in.CanPush(now)) {
      requester.memory_place_in.Push(now, places.front());
      places.pop_front();
    }
    if (!works.empty() && works.front().first <= now && requester.work_request_in.CanPush(now)) {
      requester.work_request_in.Push(now, works.front().second);
      works.pop_front();
    }
    if (!acks.empty() && completer.ack_in.CanPush(now)) {
      completer.ack_in.Push(now, acks.front());
      acks.pop_front();
    }
    agenda.RunThrough(now);
    for (const auto& sent : checks.sent()) {
      places.push_back({.address0 = sent.token.address + kBus, .bytes0 = static_cast<uint16_t>(sent.token.bytes)});
    }
    checks.sent().clear();
    for (const auto& sent : replays.sent()) {
      const spec::Replay& replay = sent.token;
      if (replay.first_transmission) ++first_transmission;
      spec::WorkRequest token{.qpn = replay.qpn};
      if (!replay.resume) {
        token = Token(replay.head);
        Write(token);
      }
      token.is_replay = true;
      token.resume = replay.resume;
      token.epoch = replay.epoch;
      token.slot = replay.slot;
      token.psn = replay.psn;
      token.first_psn = replay.first_psn;
      token.last_psn = replay.last_psn;
      token.packets = replay.packets;
      token.first_transmission = replay.first_transmission;
      token.number = replay.number;
      token.serial = replay.serial;
      works.emplace_back(now + kReread, token);
    }
    replays.sent().clear();
    left.clear();
    for (const auto& sent : jobs.sent()) {
      left.push_back(sent.token);
      if (!sent.token.more) completer.OnPacketRead(now + 1);
    }
    jobs.sent().clear();
    retired.sent().clear();
    read_records.sent().clear();
    ++now;
  }
  void Run(Cycle cycles) {
    for (; cycles != 0; --cycles) Step();
  }
  bool IsIdle() const {
    return requester.IsIdle() && completer.IsIdle() && works.empty() && places.empty() && acks.empty();
  }

  Agenda agenda;
  Requester requester{agenda, kConfig};
  Completer completer{agenda, kConfig};
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::TxJob> jobs = Channel<spec::TxJob>::Sink();
  Channel<spec::ReadRecord> read_records = Channel<spec::ReadRecord>::Sink();
  Channel<spec::QpFailure> requester_failures = Channel<spec::QpFailure>::Sink();
  Channel<spec::QpFailure> completer_failures = Channel<spec::QpFailure>::Sink();
  Channel<spec::DmaReadRequest> fetches = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  Channel<spec::Doorbell> retired = Channel<spec::Doorbell>::Sink();
  Channel<spec::Replay> replays = Channel<spec::Replay>::Sink();
  Channel<spec::TimerSet> timers = Channel<spec::TimerSet>::Sink();

  Cycle now = 0;
  std::vector<Message> messages;
  std::deque<std::pair<Cycle, spec::WorkRequest>> works;
  std::deque<spec::MemoryPlace> places;
  std::deque<Cycle> rooms;  // given to the requester then
  std::deque<spec::RxAck> acks;
  std::vector<spec::TxJob> left;    // in the last cycle
  uint64_t first_transmission = 0;  // replays
  uint64_t resent = 0;              // packets
};

TEST(Burst, LongestMessageIsCutCompletelyWhileOthersContinue) {
  Pair pair;
  constexpr uint32_t kLong = 3, kShort = 9;
  constexpr uint32_t kPackets = model::kMaxMessageBytes / kMtu;
  constexpr uint32_t kFirst = 0xff'fff0;
  constexpr uint64_t kAddress = 0x1'0000'0000;
  // At most the rest of one burst and another one, three cycles a packet, and its own latency.
  constexpr Cycle kMost = 2 * 3 * kBurst + kReread + 20;
  pair.SetUp(kLong, kFirst);
  pair.SetUp(kShort, 100);
  pair.Post({kLong, model::kMaxMessageBytes, kAddress});

  uint32_t sent = 0;
  uint64_t shorts = 0;
  Cycle posted = 0, slowest = 0;
  bool outstanding = false;
  const Cycle limit = pair.now + uint64_t{kPackets / kBurst} * (3 * kBurst + 6 * kReread);
  while (sent < kPackets && pair.now < limit) {
    if (!outstanding && pair.now % 128 == 0) {  // fewer than 2^16, the numbers of descriptors
      pair.Post({kShort, 64, 0x5000});
      outstanding = true;
      posted = pair.now;
    }
    pair.Step();
    for (const auto& job : pair.left) {
      const spec::TxPacket& packet = job.packet;
      if (packet.qpn == kShort) {
        slowest = std::max(slowest, pair.now - posted);
        ++shorts;
        outstanding = false;
        pair.Acknowledge(kShort, packet.psn);
        continue;
      }
      const bool first = sent == 0, last = sent + 1 == kPackets;
      ASSERT_EQ(packet.qpn, kLong);
      ASSERT_EQ(packet.psn, Psn(kFirst + sent));
      ASSERT_EQ(packet.opcode, first  ? spec::BthOpcode::kRcRdmaWriteFirst
                               : last ? spec::BthOpcode::kRcRdmaWriteLast
                                      : spec::BthOpcode::kRcRdmaWriteMiddle);
      ASSERT_EQ(packet.payload_bytes, kMtu);
      ASSERT_EQ(packet.ack_req, (sent + 1) % kBurst == 0 || Psn(packet.psn + 1) % spec::kSendAckPackets == 0);
      ASSERT_EQ(job.address0, kBus + kAddress + uint64_t{sent} * kMtu);
      ASSERT_EQ(job.bytes0, kMtu);
      ASSERT_EQ(job.bytes1, 0);
      ASSERT_FALSE(job.more || job.drop);
      const auto reth = spec::Reth::Decode(packet.extension);
      if (first) {
        ASSERT_EQ(reth, (spec::Reth{.virtual_address = kRemote, .rkey = 7, .dma_length = model::kMaxMessageBytes}));
      } else {
        ASSERT_EQ(reth, spec::Reth{});
      }
      ++sent;
      if (sent % 4096 == 0 && !last) pair.Acknowledge(kLong, packet.psn);
    }
  }
  ASSERT_EQ(sent, kPackets);
  EXPECT_LE(slowest, kMost);
  EXPECT_GT(shorts, kPackets / kBurst / 8);
  EXPECT_EQ(pair.first_transmission, kPackets / kBurst - 1);
  EXPECT_EQ(pair.resent, 0u);

  // It completes, and the QP sends again at once.
  pair.Acknowledge(kLong, Psn(kFirst + kPackets - 1));
  pair.Run(200);
  const auto cqe = spec::RdmaCqReq::Decode(pair.completions.sent().back().token.cqe);
  EXPECT_EQ(cqe.wr_id, 0u);
  EXPECT_EQ(cqe.status, spec::IbWcStatus::kSuccess);
  const uint64_t first_transmission = pair.first_transmission;
  pair.Post({kLong, 64, 0x5000});
  bool came = false;
  for (int i = 0; i < 50; ++i) {
    pair.Step();
    for (const auto& job : pair.left) came = job.packet.psn == Psn(kFirst + kPackets);
    if (came) break;
  }
  EXPECT_TRUE(came);
  EXPECT_EQ(pair.first_transmission, first_transmission);
  EXPECT_TRUE(pair.requester_failures.sent().empty());
  EXPECT_TRUE(pair.completer_failures.sent().empty());
}

// READs of 2^31 bytes at path MTU 256, each as many PSNs as may be outstanding, several times the space of PSNs
// together. [IBTA vol. 1, 9.7.1]
TEST(Burst, OutstandingPsnsAreBoundedWhileOthersContinue) {
  Pair pair;
  constexpr uint32_t kReader = 3, kShort = 9;
  constexpr uint32_t kFirst = 0xff'fff0;
  constexpr uint64_t kMost = 1 << 23;
  constexpr uint32_t kReads = 5;
  pair.SetUp(kReader, kFirst, spec::IbMtu::kMtu256);
  pair.SetUp(kShort, 100);
  std::vector<uint64_t> ends;  // PSNs up to each message's end
  const auto post = [&](uint32_t bytes, bool is_read) {
    pair.Post({kReader, bytes, 0x1'0000, is_read});
    ends.push_back((ends.empty() ? 0 : ends.back()) + bytes / 256);
  };
  for (uint32_t i = 0; i < kReads; ++i) post(model::kMaxMessageBytes, true);
  post(512, false);
  post(2560, true);
  post(256, false);
  const uint64_t all = ends.back();

  uint64_t sent = 0, acknowledged = 0, most = 0, shorts = 0;
  size_t message = 0;  // being acknowledged
  Cycle posted = 0, slowest = 0;
  bool outstanding = false;
  while (acknowledged != all && pair.now < 200'000) {
    if (!outstanding && pair.now % 64 == 0) {
      pair.Post({kShort, 64, 0x5000});
      outstanding = true;
      posted = pair.now;
    }
    // The peer answers slowly, and stops between READs where the next one just fits.
    if (pair.now % 400 == 399 && acknowledged != sent) {
      const bool is_read = pair.messages[message].is_read;
      const uint64_t step = pair.now % 800 == 399 ? 1 : kMost / 5;
      acknowledged = std::min({acknowledged + step, sent, ends[message]});
      (is_read ? pair.Respond(kReader, Psn(static_cast<uint32_t>(kFirst + acknowledged - 1)))
               : pair.Acknowledge(kReader, Psn(static_cast<uint32_t>(kFirst + acknowledged - 1))));
      if (acknowledged == ends[message]) ++message;
    }
    pair.Step();
    for (const auto& job : pair.left) {
      const spec::TxPacket& packet = job.packet;
      if (packet.qpn == kShort) {
        slowest = std::max(slowest, pair.now - posted);
        ++shorts;
        outstanding = false;
        pair.Acknowledge(kShort, packet.psn);
        continue;
      }
      ASSERT_EQ(packet.qpn, kReader);
      ASSERT_EQ(packet.psn, Psn(static_cast<uint32_t>(kFirst + sent)));
      sent += Psn(packet.last_psn - packet.psn) + 1;
      most = std::max(most, sent - acknowledged);
      ASSERT_LE(most, kMost);
    }
  }
  EXPECT_EQ(acknowledged, all);
  EXPECT_EQ(most, kMost) << "as many as may be";
  EXPECT_LE(slowest, 200u);
  EXPECT_GT(shorts, 100u);
  EXPECT_EQ(pair.resent, 0u);
  pair.Run(200);
  std::vector<uint64_t> completed;
  for (const auto& one : pair.completions.sent()) {
    const auto cqe = spec::RdmaCqReq::Decode(one.token.cqe);
    EXPECT_EQ(cqe.status, spec::IbWcStatus::kSuccess);
    if (cqe.qp_num == kReader) completed.push_back(cqe.wr_id);
  }
  std::vector<uint64_t> expected(ends.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(completed, expected);
  // Then it sends without the completer's help.
  const uint64_t replays = pair.first_transmission;
  pair.Post({kReader, 64, 0x5000});
  pair.Run(100);
  EXPECT_EQ(pair.first_transmission, replays);
  EXPECT_TRUE(pair.requester_failures.sent().empty());
  EXPECT_TRUE(pair.completer_failures.sent().empty());
}

TEST(Burst, LongMessagesAlternate) {
  Pair pair;
  constexpr uint32_t kQps = 5;
  constexpr uint32_t kPackets = 200;
  std::map<uint32_t, uint32_t> sent;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
    pair.SetUp(qpn, 1000 * qpn);
  }
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) pair.Post({qpn, kPackets * kMtu - qpn, 0x1'0000});
  const auto least = [&] {
    return std::min_element(sent.begin(), sent.end(), [](auto& a, auto& b) { return a.second < b.second; })->second;
  };
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) sent[qpn] = 0;
  for (int i = 0; i < 100'000 && least() < kPackets; ++i) {
    pair.Step();
    for (const auto& job : pair.left) {
      ASSERT_EQ(job.packet.psn, 1000 * job.packet.qpn + sent[job.packet.qpn]);
      ++sent[job.packet.qpn];
      ASSERT_LE(sent[job.packet.qpn], least() + 2 * kBurst);
    }
  }
  EXPECT_EQ(least(), kPackets);
  EXPECT_EQ(pair.resent, 0u);
}

TEST(Burst, HoldEndsWithTheBurstsInProgress) {
  for (const Cycle after : {10u, 100u, 127u, 333u, 480u}) {
    Pair pair;
    constexpr uint32_t kQps = 3;
    constexpr uint32_t kPackets = 1000;
    std::map<uint32_t, uint32_t> sent;
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      pair.SetUp(qpn, 1000 * qpn);
    }
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      sent[qpn] = 0;
      pair.Post({qpn, kPackets * kMtu, 0x1'0000});
    }
    const auto run = [&] {
      pair.Step();
      for (const auto& job : pair.left) {
        ASSERT_EQ(job.packet.psn, 1000 * job.packet.qpn + sent[job.packet.qpn]);
        ++sent[job.packet.qpn];
      }
    };
    for (Cycle i = 0; i < after; ++i) run();
    const auto before = sent;
    pair.completer.SetHold(pair.now, true);
    const Cycle begin = pair.now;
    for (int i = 0; i < 10; ++i) run();
    while (!pair.IsIdle() && pair.now < begin + 10'000) run();
    // Of each QP the rest of a burst and one in flight.
    EXPECT_LE(pair.now - begin, 2 * kQps * (3 * kBurst + 10) + kReread);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      EXPECT_LE(sent[qpn] - before.at(qpn), 2 * kBurst);
      EXPECT_LT(sent[qpn], kPackets);
    }
    const auto held = sent;
    for (int i = 0; i < 1000; ++i) run();
    EXPECT_EQ(sent, held);
    pair.completer.SetHold(pair.now, false);
    for (int i = 0; i < 30'000; ++i) run();
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) EXPECT_EQ(sent[qpn], kPackets);
    EXPECT_EQ(pair.resent, 0u);
  }
}

}  // namespace
}  // namespace vireo::verif
