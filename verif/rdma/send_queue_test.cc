// SPDX-License-Identifier: Apache-2.0
// The send queue: RTL against model in every cycle, and both against rings, descriptors and memory kept by the test.
#include "model/rdma/send_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vsend_queue.h"
#include "model/dma/dma_split.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/hold_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::SendQueue;
using spec::BufferStatus;
using spec::IbQpState;
using spec::RdmaError;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.net_queue_pairs = 3;
  config.num_cqs = 16;
  config.num_qps = 16;
  config.send_records = 32;
  config.send_requests_kept = 64;
  config.push_requests = 1;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();
constexpr SendQueue::Sizes kSizes = {.requests = 4, .buffers = 32, .fetches = 16};
constexpr uint32_t kFirstQueue = 2 * kConfig.net_queue_pairs + 16 + spec::kRdmaTransmitqOffset;  // with mq
constexpr uint32_t kFirstQueueOne = 2 * 1 + 16 + spec::kRdmaTransmitqOffset;                     // without

// Contents of host memory.
uint8_t ByteAt(uint64_t address) { return static_cast<uint8_t>(address * 37 ^ address >> 8 ^ address >> 19); }

struct Posted {
  uint16_t head = 0;
  uint64_t address = 0;
  uint32_t bytes = 592;
  bool writable = false;
  bool more = false;
};

struct Bench {
  explicit Bench(bool mq = true) : bench(rtl, agenda, random) {
    SetMq(mq);
    block.buffer_request_out.Connect(request_sink, block);
    block.fetch_request_out.Connect(fetch_sink, block);
    block.work_request_out.Connect(work_sink, block);
    block.queue_failure_out.Connect(failure_sink, block);
    bench.AddOther(sends);
    bench.AddOther(hold);
    block.on_qp_sends = [this](Cycle now, const spec::QpSends& token) { sends.Tell(now, token); };
    // Descriptor fetch.
    request.on_token = [this](Cycle, const spec::BufferRequest& token) {
      EXPECT_EQ(token.client, spec::BufferClient::kSend);
      EXPECT_LT(asking.size(), kSizes.requests);
      ASSERT_TRUE(token.vq_index >= first_queue && (token.vq_index - first_queue) % 2 == 0);
      const uint32_t qpn = (token.vq_index - first_queue) / 2u;
      ASSERT_LT(qpn, kConfig.num_qps);
      asked_buffers += token.count;
      EXPECT_LE(asked_buffers, kSizes.buffers);
      if (token.pushed) {
        EXPECT_FALSE(token.by_index);
        EXPECT_EQ(token.count, 1u);
        EXPECT_FALSE(asked[qpn]);
        EXPECT_LT(open[qpn], kConfig.send_records);
        asked[qpn] = true;
        asking.push_back({qpn, 1, {}, token});
        if (!hold_answers) AnswerAll();
        return;
      }
      if (token.by_index) {
        // Of its QP the first that is neither requested nor, because it is kept, passed.
        const auto again = std::find_if(replays[qpn].begin(), replays[qpn].end(), [&](const Again& one) {
          return !one.requested && !one.replay.resume && one.replay.head == token.index;
        });
        ASSERT_NE(again, replays[qpn].end());
        EXPECT_EQ(token.count, 1u);
        again->requested = true;
        asking.push_back({qpn, 1, *again, {}});
        if (!hold_answers) AnswerAll();
        return;
      }
      EXPECT_EQ(token.index, 0u);
      EXPECT_TRUE(token.count >= 1 && token.count <= spec::kSendBuffersPerRequest);
      EXPECT_LE(open[qpn] + token.count, kConfig.send_records);  // room for all of them
      EXPECT_FALSE(asked[qpn]);
      asked[qpn] = true;
      asking.push_back({qpn, token.count, {}, {}});
      if (!hold_answers) AnswerAll();
    };
    // Host memory.
    fetch.on_token = [this](Cycle, const spec::DmaReadRequest& token) {
      ASSERT_TRUE(token.bytes >= 1 && token.bytes <= spec::kDmaFetchBytes);
      spec::DmaFetched answer{.tag = token.tag};
      const bool fails = random() % 1000 < fault_rate || token.address == faulty;
      if (fails) answer.resp = static_cast<uint8_t>(AxiResp::kSlverr);
      for (size_t i = 0; i < token.bytes; ++i) {
        answer.data[i] = fails ? static_cast<uint8_t>(random()) : ByteAt(token.address + i);
      }
      faults.push_back({token.address, fails});
      fetched.tokens.push_back(answer);
      ++reads;
      EXPECT_LE(reads - fetched.accepted, kSizes.fetches);
    };
    work.on_token = [this](Cycle, const spec::WorkRequest& token) { Check(token); };
    failure.on_token = [this](Cycle, const spec::QueueFailure& token) { failures.push_back(token); };
    // The sets of QPs are cleared. A state in which nothing is requested, and of which replays are read.
    for (uint32_t qpn = 0; qpn < kConfig.num_qps; ++qpn) SetState(qpn, IbQpState::kSqd);
    EXPECT_EQ(Run(kConfig.num_qps + 2), "");
  }

  // A replay, and the descriptor at its index.
  struct Again {
    spec::Replay replay;
    Posted posted;
    BufferStatus status;
    bool requested = false;
  };
  struct Asking {
    uint32_t qpn;
    uint32_t count;
    std::optional<Again> is_replay;
    std::optional<spec::BufferRequest> pushed;
  };
  uint16_t QueueOf(uint32_t qpn) const { return static_cast<uint16_t>(first_queue + 2 * qpn); }
  void AnswerAll() {
    for (; !asking.empty(); asking.pop_front()) {
      const auto [qpn, count, is_replay, pushed] = asking.front();
      const auto vq = QueueOf(qpn);
      asked_buffers -= count;
      if (is_replay) {
        const bool ok = is_replay->status == BufferStatus::kOk;
        // The other fields of a failure do not count.
        buffer.tokens.push_back({.status = is_replay->status,
                                 .last = true,
                                 .vq_index = vq,
                                 .head = ok ? is_replay->replay.head : static_cast<uint16_t>(random()),
                                 .address = ok ? is_replay->posted.address : random(),
                                 .bytes = ok ? is_replay->posted.bytes : static_cast<uint32_t>(random()),
                                 .writable = is_replay->posted.writable,
                                 .more = is_replay->posted.more,
                                 .next_index = static_cast<uint16_t>(random())});
        outstanding.push_back({qpn, is_replay->posted, is_replay, false});
        continue;
      }
      asked[qpn] = false;
      if (pushed) {
        AnswerPushed(qpn, *pushed);
        continue;
      }
      const auto got = static_cast<uint32_t>(std::min<size_t>(count, ring[qpn].size()));
      if (got == 0) {
        buffer.tokens.push_back({.status = random() % 2 == 0 ? BufferStatus::kEmpty : BufferStatus::kFailed,
                                 .last = true,
                                 .vq_index = vq,
                                 .head = static_cast<uint16_t>(random())});
      }
      for (uint32_t i = 0; i < got; ++i) {
        const Posted posted = TakeFromRing(qpn, false);
        buffer.tokens.push_back({.status = BufferStatus::kOk,
                                 .last = i + 1 == got,
                                 .vq_index = vq,
                                 .head = posted.head,
                                 .address = posted.address,
                                 .bytes = posted.bytes,
                                 .writable = posted.writable,
                                 .more = posted.more,
                                 .next_index = static_cast<uint16_t>(random())});
      }
    }
  }
  Posted TakeFromRing(uint32_t qpn, bool pushed) {
    const Posted posted = ring[qpn].front();
    ring[qpn].pop_front();
    ++open[qpn];
    ++taken[qpn];
    outstanding.push_back({qpn, posted, {}, pushed});
    return posted;
  }
  // As descriptor fetch: by the position alone.
  void AnswerPushed(uint32_t qpn, const spec::BufferRequest& request) {
    spec::Buffer answer{.status = BufferStatus::kEmpty, .last = true, .vq_index = QueueOf(qpn)};
    ++pushes_asked;
    if (request.index == taken[qpn] && !ring[qpn].empty()) {
      const Posted posted = TakeFromRing(qpn, true);
      EXPECT_EQ(request.table_entries, posted.head);
      EXPECT_EQ(request.table_address, posted.address);
      EXPECT_EQ(request.bytes, posted.bytes);
      answer.status = BufferStatus::kOk;
      answer.head = posted.head;
      answer.address = posted.address;
      answer.bytes = posted.bytes;
      ++pushes_taken;
    }
    buffer.tokens.push_back(answer);
  }
  // Pushes what was posted last. `without`: a place that is left out.
  void Push(uint32_t qpn, unsigned without = ~0u, bool ends = true) {
    const Posted& posted = ring[qpn].back();
    const auto position = static_cast<uint16_t>(taken[qpn] + ring[qpn].size() - 1);
    if (without != 1) push.tokens.push_back({.qpn = qpn, .place = 1, .data = posted.address});
    for (uint32_t word = 0; 8 * word < posted.bytes; ++word) {
      uint64_t data = 0;
      for (uint32_t i = 0; i < 8; ++i) data |= uint64_t{ByteAt(posted.address + 8 * word + i)} << 8 * i;
      const auto place = static_cast<uint8_t>(word + 2);
      if (place < 10 && place != without) push.tokens.push_back({.qpn = qpn, .place = place, .data = data});
    }
    if (ends) EndPush(qpn, {.position = position, .head = posted.head, .length = static_cast<uint16_t>(posted.bytes)});
  }
  void EndPush(uint32_t qpn, const spec::RdmaPush& end) {
    push.tokens.push_back({.qpn = qpn, .place = 0, .data = end.ToWord()});
  }
  void PostShort(uint32_t qpn, uint32_t bytes) {
    Post(qpn);
    ring[qpn].back().bytes = bytes;
  }
  void Check(const spec::WorkRequest& token) {
    spec::WorkRequest expected{};
    if (!checks) {
      came_again += token.is_replay ? 1 : 0;
      if (!token.is_replay) KeepRecord(token.qpn);
      return;
    }
    if (token.is_replay) {
      ASSERT_LT(token.qpn, kConfig.num_qps);
      ASSERT_FALSE(replays[token.qpn].empty());
      const Again again = replays[token.qpn].front();
      const spec::Replay& replay = again.replay;
      expected = {.qpn = replay.qpn,
                  .head = replay.head,
                  .is_replay = true,
                  .resume = replay.resume,
                  .epoch = replay.epoch,
                  .slot = replay.slot,
                  .psn = replay.psn,
                  .first_psn = replay.first_psn,
                  .last_psn = replay.last_psn,
                  .number = replay.number,
                  .serial = replay.serial};
      replays[token.qpn].pop_front();
      ++came_again;
      if (expected.resume) {
        ASSERT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
        return;
      }
      if (!again.requested) {
        // It was kept: as it was read last.
        ++came_quickly;
        const auto last = newest.find({token.qpn, replay.head});
        ASSERT_TRUE(last != newest.end() && last->second.has_value());
        expected.address = last->second->address;
        expected.bytes = last->second->bytes;
        Fill(expected);
        ASSERT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
        return;
      }
    }
    ASSERT_FALSE(outstanding.empty());
    const auto [qpn, posted, is_replay, pushed] = outstanding.front();
    outstanding.pop_front();
    ASSERT_EQ(is_replay.has_value(), token.is_replay);
    expected.qpn = qpn;
    expected.head = posted.head;
    const bool none = is_replay && is_replay->status != BufferStatus::kOk;
    if (!none) {
      expected.address = posted.address;
      expected.bytes = posted.bytes;
    }
    if (none || posted.writable || posted.more) {
      expected.failed = RdmaError::kBadDescriptor;
    } else if (posted.bytes < (is_extensible ? 16u : 576u)) {
      expected.failed = RdmaError::kBadWqe;
    } else if (pushed && (faults.empty() || faults.front().first != posted.address)) {
      ++came_pushed;  // else it was read, because something else was pushed meanwhile
    } else {
      const bool head_fault = faults.front().second;
      faults.pop_front();
      bool tail_fault = false;
      if (posted.bytes >= 576) {
        tail_fault = faults.front().second;
        faults.pop_front();
      }
      if (head_fault || tail_fault) expected.failed = RdmaError::kQueueDmaError;
    }
    recent[qpn].push_back(expected.head);
    if (recent[qpn].size() > 4) recent[qpn].pop_front();
    newest[{qpn, expected.head}] = expected.failed == RdmaError::kOk ? std::optional(posted) : std::nullopt;
    if (expected.failed == RdmaError::kOk) {
      Fill(expected);
    } else if (!is_replay) {
      if (!is_reported[qpn]) expected_failures.push_back({.vq_index = QueueOf(qpn), .code = expected.failed});
      is_reported[qpn] = true;
    }
    ASSERT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
    if (!is_replay) KeepRecord(qpn);
  }
  void KeepRecord(uint32_t qpn) {
    ++came[qpn];
    held.push_back(qpn);
    if (!hold_records) RetireAll();
  }
  // The bytes of memory.
  static void Fill(spec::WorkRequest& work) {
    // An extensible one is shorter: of it the first 64 bytes.
    const size_t tail = work.bytes < 576 ? 48 : 560;
    const size_t tail_bytes = work.bytes < 576 ? 16 : 32;
    for (size_t i = 0; i < 48 && i < work.bytes; ++i) work.head_bytes[i] = ByteAt(work.address + i);
    for (size_t i = 0; i < tail_bytes && tail + i < work.bytes; ++i) {
      work.tail_bytes[i] = ByteAt(work.address + tail + i);
    }
  }
  void Retire() {
    const uint32_t qpn = held.front();
    held.pop_front();
    --open[qpn];
    retired.tokens.push_back({.vq_index = QueueOf(qpn)});
  }
  void RetireAll() {
    while (!held.empty()) Retire();
  }
  void Post(uint32_t qpn, uint32_t count = 1) {
    for (; count != 0; --count) {
      ring[qpn].push_back({.head = static_cast<uint16_t>(random()), .address = random() >> 4});
      ++posts[qpn];
    }
  }
  // `whole`: from the message's first packet on.
  void Resend(uint32_t qpn, bool resume = false, Posted posted = {}, BufferStatus status = BufferStatus::kOk,
              bool whole = true) {
    if (posted.address == 0) {
      posted.address = random() >> 4;
      posted.head = static_cast<uint16_t>(random());
    }
    const auto psn = static_cast<uint32_t>(random() & 0xffffff);
    const spec::Replay token{.qpn = qpn,
                             .resume = resume,
                             .epoch = static_cast<uint8_t>(random()),
                             .head = posted.head,
                             .slot = static_cast<uint8_t>(random()),
                             .psn = psn,
                             .first_psn = whole ? psn : (psn - 1 - static_cast<uint32_t>(random() % 64)) & 0xffffff,
                             .last_psn = static_cast<uint32_t>(random() & 0xffffff),
                             .number = static_cast<uint8_t>(random()),
                             .serial = static_cast<uint8_t>(random() % 128)};
    replay.tokens.push_back(token);
    replays[qpn].push_back({token, posted, status});
    ++sent_again;
  }
  // Chooses one of the last ones of the QP that were read, unless a replay of it has not come.
  void ChooseRead(uint32_t qpn, Posted& posted) {
    if (recent[qpn].empty()) return;
    const uint16_t head = recent[qpn][random() % recent[qpn].size()];
    const auto& one = newest.at({qpn, head});
    const auto same = [&](const Again& other) { return other.replay.head == head; };
    if (one && std::none_of(replays[qpn].begin(), replays[qpn].end(), same)) posted = *one;
  }
  void Ring(uint32_t qpn) { doorbell.tokens.push_back({.vq_index = QueueOf(qpn)}); }
  void SetState(uint32_t qpn, IbQpState to, bool clear = false) {
    state.tokens.push_back({.qpn = qpn, .state = to, .clear = clear});
  }

  void SetExtensible(bool extensible) {
    p.extensible_i = extensible;
    block.SetExtensible(bench.cycle(), extensible);
    is_extensible = extensible;
  }
  // While nothing is in flight.
  void SetMq(bool mq) {
    p.mq_i = mq;
    block.SetMq(bench.cycle(), mq);
    first_queue = mq ? kFirstQueue : kFirstQueueOne;
  }

  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if ((p.idle_o != 0) != block.IsIdle()) return "idle differs in cycle " + std::to_string(bench.cycle());
    }
    return {};
  }
  std::string Settle() {
    for (int i = 0; i < 50'000; ++i) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (doorbell.IsEmpty() && retired.IsEmpty() && replay.IsEmpty() && buffer.IsEmpty() && fetched.IsEmpty() &&
          state.IsEmpty() && push.IsEmpty() && block.IsIdle()) {
        return {};
      }
    }
    return "the block does not become idle";
  }

  std::deque<Posted> ring[16];
  uint32_t open[16]{};  // records
  bool asked[16]{};
  uint64_t posts[16]{}, came[16]{};
  std::deque<Asking> asking;
  struct Outstanding {
    uint32_t qpn;
    Posted posted;
    std::optional<Again> is_replay;
    bool pushed;
  };
  std::deque<Outstanding> outstanding;
  std::array<uint16_t, 16> taken{};  // of each ring
  uint64_t pushes_asked = 0, pushes_taken = 0, came_pushed = 0;
  std::deque<Again> replays[16];  // whose work request has not come
  // The work request of a head that was read last; none: it failed.
  std::map<std::pair<uint32_t, uint16_t>, std::optional<Posted>> newest;
  std::deque<uint16_t> recent[16];  // heads
  uint64_t sent_again = 0, came_again = 0, came_quickly = 0;
  uint32_t asked_buffers = 0;                    // of the requests that were not answered
  std::deque<std::pair<uint64_t, bool>> faults;  // address and fault of the reads whose work request has not come
  std::deque<uint32_t> held;
  std::vector<spec::QueueFailure> failures, expected_failures;
  std::array<bool, kConfig.num_qps> is_reported{};  // QPs whose failure was reported, until the test clears them
  uint64_t reads = 0;
  bool checks = true;  // work requests against what was posted; not if it depends on the cycle in which a QP stops
  bool hold_answers = false;
  bool hold_records = false;
  unsigned fault_rate = 0;  // of 1,000 reads
  uint64_t faulty = ~uint64_t{0};
  bool is_extensible = false;
  uint32_t first_queue = 0;

  std::mt19937_64 random = sim::MakeRandom("send_queue");
  Agenda agenda;
  SendQueue block{agenda, kConfig, kSizes};
  Channel<spec::BufferRequest> request_sink = Channel<spec::BufferRequest>::Sink();
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::WorkRequest> work_sink = Channel<spec::WorkRequest>::Sink();
  Channel<spec::QueueFailure> failure_sink = Channel<spec::QueueFailure>::Sink();
  RtlTop<Vsend_queue> rtl{[](const Vsend_queue& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.doorbell_ready_o, top.retired_ready_o, top.replay_ready_o, top.buffer_ready_o,
                           top.fetched_ready_o, top.buffer_request_valid_o, top.fetch_request_valid_o,
                           top.work_request_valid_o, top.queue_failure_valid_o, top.qp_sends_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.buffer_request_o);
    add(top.fetch_request_o);
    add(top.work_request_o);
    add(top.queue_failure_o);
    add(top.qp_sends_o);
  }};
  BlockBench<Vsend_queue> bench;
  Vsend_queue& p = rtl.ports();
  OutPulse<spec::QpSends, decltype(p.qp_sends_valid_o), decltype(p.qp_sends_o)> sends{"qp_sends", p.qp_sends_valid_o,
                                                                                      p.qp_sends_o};
  Hold<SendQueue> hold{p.hold_i, block, random};
  decltype(bench.In("", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i)) doorbell =
      bench.In("doorbell", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i);
  decltype(bench.In("", block.retired_in, p.retired_valid_i, p.retired_ready_o, p.retired_i)) retired =
      bench.In("retired", block.retired_in, p.retired_valid_i, p.retired_ready_o, p.retired_i);
  decltype(bench.In("", block.replay_in, p.replay_valid_i, p.replay_ready_o, p.replay_i)) replay =
      bench.In("replay", block.replay_in, p.replay_valid_i, p.replay_ready_o, p.replay_i);
  decltype(bench.In("", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i)) buffer =
      bench.In("buffer", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i);
  decltype(bench.In("", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i)) fetched =
      bench.In("fetched", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i);
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.Pulse<spec::PushWrite>(p.push_write_valid_i, p.push_write_i, {})) push =
      bench.Pulse<spec::PushWrite>(p.push_write_valid_i, p.push_write_i,
                                   [this](Cycle cycle, const auto& token) { block.OnPushWrite(cycle, token); });
  decltype(bench.Out("", request_sink, p.buffer_request_valid_o, p.buffer_request_ready_i,
                     p.buffer_request_o)) request =
      bench.Out("buffer_request", request_sink, p.buffer_request_valid_o, p.buffer_request_ready_i, p.buffer_request_o);
  decltype(bench.Out("", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o)) fetch =
      bench.Out("fetch_request", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o);
  decltype(bench.Out("", work_sink, p.work_request_valid_o, p.work_request_ready_i, p.work_request_o)) work =
      bench.Out("work_request", work_sink, p.work_request_valid_o, p.work_request_ready_i, p.work_request_o);
  decltype(bench.Out("", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o)) failure =
      bench.Out("queue_failure", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o);
};

TEST(SendQueue, DoorbellFetchesEveryWorkRequestInOrder) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  bench.Post(5, 30);
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 30u);
  EXPECT_TRUE(bench.failures.empty());
}

TEST(SendQueue, OnlySendingOrFlushingQpsAreServed) {
  for (unsigned state = 0; state < 7; ++state) {
    Bench bench;
    bench.SetState(5, static_cast<IbQpState>(state));
    bench.Post(5);
    bench.Ring(5);
    ASSERT_EQ(bench.Settle(), "");
    const bool served = state == static_cast<unsigned>(IbQpState::kRts) ||
                        state == static_cast<unsigned>(IbQpState::kSqe) ||
                        state == static_cast<unsigned>(IbQpState::kErr);
    EXPECT_EQ(bench.came[5], served ? 1u : 0u);
    // Work that was posted before counts when the state comes.
    bench.SetState(5, IbQpState::kErr);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 1u);
  }
}

TEST(SendQueue, WorkKeptInSqdIsReadInSqe) {
  Bench bench;
  bench.SetState(5, IbQpState::kSqd);
  bench.Post(5, 3);
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 0u);
  bench.SetState(5, IbQpState::kSqe);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 3u);
  bench.Post(5, 2);
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 5u);
}

TEST(SendQueue, FullQpWaitsForRoomWithoutStallingOthers) {
  Bench bench;
  bench.hold_records = true;
  for (const uint32_t qpn : {5u, 6u}) bench.SetState(qpn, IbQpState::kRts);
  bench.Post(5, 40);
  bench.Post(6, 3);
  bench.Ring(5);
  bench.Ring(6);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 32u);
  EXPECT_EQ(bench.came[6], 3u);
  // It returns when there is room for a few (FetchRoom: 8).
  while (bench.held.front() != 5) bench.Retire();
  for (int i = 0; i < 7; ++i) bench.Retire();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 32u);
  bench.Retire();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 40u);
}

// One queue pair alone asks for all that it has room for, one of two for half as many, one of several for 8.
TEST(SendQueue, RequestsAreLongWhileFewQpsRequest) {
  for (const unsigned others : {0u, 1u, 2u, 3u}) {
    Bench bench;
    for (uint32_t qpn = 2; qpn < 8; ++qpn) bench.SetState(qpn, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    bench.hold_answers = true;
    const size_t before = bench.request_sink.sent().size();
    for (unsigned i = 0; i < others; ++i) bench.Resend(2 + i);
    ASSERT_EQ(bench.Run(20), "");
    bench.Ring(7);
    ASSERT_EQ(bench.Run(20), "");
    ASSERT_EQ(bench.request_sink.sent().size(), before + others + 1);
    const unsigned expected = others == 0 ? 32 : others == 1 ? 16 : 8;
    EXPECT_EQ(bench.request_sink.sent().back().token.count, expected) << others;
    bench.hold_answers = false;
    bench.AnswerAll();
    ASSERT_EQ(bench.Settle(), "");
  }
}

// No more than there is room for the answers, and none for fewer than 8.
TEST(SendQueue, RequestsWaitForRoomForTheirAnswers) {
  Bench bench;
  for (const uint32_t qpn : {5u, 6u, 7u}) bench.SetState(qpn, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  const size_t before = bench.request_sink.sent().size();
  bench.hold_answers = true;
  bench.Resend(2);
  ASSERT_EQ(bench.Run(20), "");
  for (const uint32_t qpn : {5u, 6u, 7u}) {
    bench.Post(qpn, 20);
    bench.Ring(qpn);
    ASSERT_EQ(bench.Run(20), "");
  }
  std::vector<unsigned> counts;
  for (size_t i = before; i < bench.request_sink.sent().size(); ++i) {
    counts.push_back(bench.request_sink.sent()[i].token.count);
  }
  EXPECT_EQ(counts, (std::vector<unsigned>{1, 16, 8}));  // 7 are left: the third queue pair waits, a replay does not
  bench.Resend(2);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.request_sink.sent().size(), before + 4);
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  for (const uint32_t qpn : {5u, 6u, 7u}) EXPECT_EQ(bench.came[qpn], 20u);
}

TEST(SendQueue, DoorbellBetweenRequestAndAnswerIsNotLost) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  bench.hold_answers = true;
  bench.Ring(5);
  ASSERT_EQ(bench.Run(20), "");
  ASSERT_EQ(bench.asking.size(), 1u);
  bench.Ring(5);
  ASSERT_EQ(bench.Run(20), "");
  bench.hold_answers = false;
  bench.AnswerAll();  // still empty when the ring was read
  bench.Post(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 1u);
}

TEST(SendQueue, QpsAreServedRoundRobin) {
  Bench bench;
  for (uint32_t qpn = 2; qpn < 6; ++qpn) {
    bench.Post(qpn, 24);
    bench.SetState(qpn, IbQpState::kRts);
  }
  std::vector<uint16_t> order;
  ASSERT_EQ(bench.Settle(), "");
  for (const auto& sent : bench.request_sink.sent()) order.push_back(sent.token.vq_index);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(order.at(i), bench.QueueOf(2 + i % 4));
}

TEST(SendQueue, UnreadableWorkRequestStopsItsQueue) {
  struct Case {
    Posted posted;
    RdmaError code;
  };
  for (const Case& c : {Case{{.head = 1, .address = 0x1000, .bytes = 575}, RdmaError::kBadWqe},
                        Case{{.head = 1, .address = 0x1000, .bytes = 0}, RdmaError::kBadWqe},
                        Case{{.head = 1, .address = 0x1000, .writable = true}, RdmaError::kBadDescriptor},
                        Case{{.head = 1, .address = 0x1000, .more = true}, RdmaError::kBadDescriptor}}) {
    Bench bench;
    bench.SetState(5, IbQpState::kRts);
    bench.ring[5].push_back(c.posted);
    bench.Post(5);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 2u);
    EXPECT_EQ(bench.failures, (std::vector<spec::QueueFailure>{{.vq_index = bench.QueueOf(5), .code = c.code}}));
    EXPECT_EQ(bench.reads, 2u);  // nothing of the bad one is read
  }
  for (const uint64_t faulty : {0x1000, 0x1000 + 560}) {
    Bench bench;
    bench.faulty = faulty;
    bench.SetState(5, IbQpState::kRts);
    bench.ring[5].push_back({.head = 1, .address = 0x1000});
    bench.Post(5);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 2u);
    EXPECT_EQ(bench.failures,
              (std::vector<spec::QueueFailure>{{.vq_index = bench.QueueOf(5), .code = RdmaError::kQueueDmaError}}));
  }
}

TEST(SendQueue, OneFailurePerQpIsReportedUntilClear) {
  Bench bench;
  for (const uint32_t qpn : {5u, 6u}) bench.SetState(qpn, IbQpState::kRts);
  const auto post = [&](uint32_t qpn) {
    bench.ring[qpn].push_back({.head = 1, .address = 0x1000, .bytes = 575});
    bench.ring[qpn].push_back({.head = 2, .address = 0x1000, .more = true});
    bench.Post(qpn);
    bench.Ring(qpn);
    ASSERT_EQ(bench.Settle(), "");
  };
  const auto expect_reported = [&](std::vector<uint32_t> qpns) {
    std::vector<spec::QueueFailure> expected;
    for (const uint32_t qpn : qpns) expected.push_back({.vq_index = bench.QueueOf(qpn), .code = RdmaError::kBadWqe});
    EXPECT_EQ(bench.failures, expected);
    bench.failures.clear();
  };
  post(5);
  expect_reported({5});
  // No state but RESET starts a new lifetime.
  bench.SetState(5, IbQpState::kErr);
  post(5);
  bench.SetState(5, IbQpState::kRts);
  post(5);
  expect_reported({});
  post(6);
  expect_reported({6});
  const auto restart = [&] {
    bench.SetState(5, IbQpState::kReset, true);
    bench.SetState(5, IbQpState::kInit);
    bench.SetState(5, IbQpState::kRts);
  };
  restart();
  post(5);
  post(6);
  expect_reported({5});
  // Stopped in every cycle around the one in which it fails again: behind it nothing is reported any more.
  bool was_reported = false;
  for (uint64_t delay = 0; delay < 60; ++delay) {
    restart();
    ASSERT_EQ(bench.Settle(), "");
    bench.ring[5].push_back({.head = 1, .address = 0x1000, .bytes = 575});
    bench.Post(5);
    bench.Ring(5);
    ASSERT_EQ(bench.Run(delay), "") << delay;
    bench.SetState(5, IbQpState::kRts, true);
    ASSERT_EQ(bench.Settle(), "") << delay;
    if (delay == 0) {
      EXPECT_TRUE(bench.failures.empty());
    }
    if (was_reported) {
      EXPECT_FALSE(bench.failures.empty());
    }
    was_reported = !bench.failures.empty();
    if (was_reported) expect_reported({5});
  }
  EXPECT_TRUE(was_reported);
}

// Its memory is the driver's from the end of the stop on: buffers that come later are not read, replays not requested.
// Their records return, so that its number becomes free.
TEST(SendQueue, ReadsNothingOfAStoppedQp) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  bench.hold_answers = true;
  bench.Resend(5);
  ASSERT_EQ(bench.Run(20), "");
  bench.Post(5, 4);
  bench.Ring(5);
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_EQ(bench.request.count, 2U);
  bench.SetState(5, IbQpState::kReset, true);
  ASSERT_EQ(bench.Run(10), "");
  bench.checks = false;
  for (int i = 0; i < 3; ++i) bench.Resend(5, i == 1);
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_EQ(bench.request.count, 2U);
  EXPECT_EQ(bench.came_again, 3U) << "they wait for nothing";
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.fetch.count, 0U);
  EXPECT_EQ(bench.came[5], 4U);
  EXPECT_EQ(bench.came_again, 4U);
  for (const auto& sent : bench.work_sink.sent()) EXPECT_EQ(sent.token.failed, RdmaError::kBadDescriptor);
  EXPECT_TRUE(bench.failures.empty()) << "of a QP that was stopped";
  // A later lifetime is read as always.
  bench.checks = true;
  bench.outstanding.clear();
  bench.SetState(5, IbQpState::kInit);
  bench.SetState(5, IbQpState::kRts);
  bench.hold_answers = false;
  bench.Post(5, 2);
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 6U);
  EXPECT_EQ(bench.fetch.count, 4U);
}

TEST(SendQueue, MatchesModelWhileQueuePairsStop) {
  std::mt19937_64 random = sim::MakeRandom("send_queue_stops");
  for (const unsigned rate : {16U, 5U}) {
    Bench bench;
    bench.checks = false;
    bench.SetExtensible(true);
    bench.doorbell.rate = bench.retired.rate = bench.buffer.rate = bench.replay.rate = rate;
    bench.request.rate = bench.fetch.rate = bench.work.rate = bench.failure.rate = rate;
    bench.hold_answers = bench.hold_records = true;
    for (int step = 0; step < 4000; ++step) {
      const auto qpn = static_cast<uint32_t>(random() % 4);
      switch (random() % 6) {
        case 0:
          bench.Post(qpn, 1 + static_cast<uint32_t>(random() % 4));
          if (random() % 8 == 0) bench.ring[qpn].back().more = true;
          if (random() % 2 == 0) {
            bench.ring[qpn].back().bytes = static_cast<uint32_t>(16 + random() % 49);
            bench.Push(qpn, static_cast<unsigned>(random() % 40), random() % 8 != 0);
          }
          if (random() % 2 == 0) bench.Ring(qpn);
          break;
        case 1: {
          const bool clear = random() % 4 == 0;
          const auto to = clear               ? IbQpState::kReset
                          : random() % 2 == 0 ? IbQpState::kRts
                                              : static_cast<IbQpState>(random() % 7);
          bench.SetState(qpn, to, clear);
          break;
        }
        case 2:
          if (bench.replay.tokens.size() < 8)
            bench.Resend(qpn, random() % 4 == 0, {}, BufferStatus::kOk, random() % 2 == 0);
          break;
        case 3: bench.AnswerAll(); break;
        default:
          for (uint64_t i = random() % 3; i != 0 && !bench.held.empty(); --i) bench.Retire();
      }
      ASSERT_EQ(bench.Run(random() % 8), "");
    }
    bench.hold_answers = bench.hold_records = false;
    bench.AnswerAll();
    bench.RetireAll();
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came_again, bench.sent_again);
    for (const uint32_t qpn : {0U, 1U, 2U, 3U}) EXPECT_EQ(bench.open[qpn], 0U);
  }
}

TEST(SendQueue, ReadsNothingBehindTheEndOfTheDescriptor) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  for (const uint32_t bytes : {576u, 577u, 591u, 592u, 593u, 4096u}) {
    bench.ring[5].push_back({.address = 0x2000, .bytes = bytes});
  }
  ASSERT_EQ(bench.Settle(), "");
  std::vector<unsigned> tails;
  for (const auto& sent : bench.fetch_sink.sent()) {
    if (sent.token.address == 0x2000 + 560)
      tails.push_back(sent.token.bytes);
    else
      EXPECT_EQ(sent.token.bytes, 48u);
  }
  EXPECT_EQ(tails, (std::vector<unsigned>{16, 17, 31, 32, 32, 32}));
}

TEST(SendQueue, ExtensibleWorkRequestTakesOneRead) {
  Bench bench;
  bench.SetExtensible(true);
  bench.SetState(5, IbQpState::kRts);
  for (const uint32_t bytes : {16u, 17u, 47u, 48u, 49u, 63u, 64u, 65u, 575u}) {
    bench.ring[5].push_back({.address = 0x2000, .bytes = bytes});
  }
  ASSERT_EQ(bench.Settle(), "");
  std::vector<unsigned> reads;
  for (const auto& sent : bench.fetch_sink.sent()) {
    EXPECT_EQ(sent.token.address, 0x2000u);
    reads.push_back(sent.token.bytes);
  }
  EXPECT_EQ(reads, (std::vector<unsigned>{16, 17, 47, 48, 49, 63, 64, 64, 64}));
  EXPECT_TRUE(bench.failures.empty());
  // Those of the RFC beside it.
  bench.ring[5].push_back({.head = 1, .address = 0x3000, .bytes = 576});
  bench.ring[5].push_back({.head = 2, .address = 0x4000, .bytes = 64});
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.fetch_sink.sent().size(), 9u + 3u);
}

TEST(SendQueue, ShortWorkRequestsNeedABaseAndTheProfile) {
  for (const bool extensible : {false, true}) {
    for (const uint32_t bytes : {0u, 15u, 16u, 575u}) {
      Bench bench;
      bench.SetExtensible(extensible);
      bench.SetState(5, IbQpState::kRts);
      bench.ring[5].push_back({.address = 0x2000, .bytes = bytes});
      ASSERT_EQ(bench.Settle(), "");
      const bool is_legal = extensible && bytes >= 16;
      EXPECT_EQ(bench.fetch_sink.sent().size(), is_legal ? 1u : 0u);
      ASSERT_EQ(bench.failures.size(), is_legal ? 0u : 1u);
      if (!is_legal) {
        EXPECT_EQ(bench.failures[0].code, RdmaError::kBadWqe);
      }
    }
  }
}

TEST(SendQueue, UnreadableExtensibleWorkRequestStopsItsQueue) {
  Bench bench;
  bench.SetExtensible(true);
  bench.faulty = 0x2000;
  bench.SetState(5, IbQpState::kRts);
  bench.ring[5].push_back({.address = 0x2000, .bytes = 64});
  bench.ring[5].push_back({.head = 1, .address = 0x3000, .bytes = 64});
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.failures.size(), 1u);
  EXPECT_EQ(bench.failures[0].code, RdmaError::kQueueDmaError);
}

TEST(SendQueue, DoorbellsOfOtherQueuesAreIgnored) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  const uint64_t before = bench.request.count;
  for (const uint32_t vq : {0u, 1u, kFirstQueue - 1, kFirstQueue + 1, kFirstQueue + 31, kFirstQueue + 32, 0xffffu}) {
    bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq)});
  }
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.request.count, before);
}

TEST(SendQueue, MeetsDocumentedLatencies) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  const uint64_t requests = bench.request.count;
  bench.buffer.rate = 0;
  bench.Post(5);
  bench.Ring(5);
  ASSERT_EQ(bench.Run(SendQueue::kDoorbellToRequest), "");
  EXPECT_EQ(bench.request.count, requests);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.request.count, requests + 1);
  ASSERT_EQ(bench.Run(5), "");
  bench.buffer.rate = 16;
  bench.fetched.rate = 0;
  ASSERT_EQ(bench.Run(SendQueue::kBufferToFetch), "");
  EXPECT_EQ(bench.fetch.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.fetch.count, 1u);
  ASSERT_EQ(bench.Run(10), "");
  bench.fetched.rate = 16;
  ASSERT_EQ(bench.Run(1), "");  // the first answer is taken; the second follows
  ASSERT_EQ(bench.Run(SendQueue::kFetchedToWorkRequest), "");
  EXPECT_EQ(bench.work.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.work.count, 1u);
}

TEST(SendQueue, WorkRequestTakesAtMostSixCycles) {
  Bench bench;
  bench.Post(5, 400);
  bench.Post(6, 400);
  for (const uint32_t qpn : {5u, 6u}) bench.SetState(qpn, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_LE(bench.bench.cycle(), 800u * 6);
  EXPECT_EQ(bench.came[5] + bench.came[6], 800u);
}

// A record exists already: neither room nor state counts, and nothing else is affected afterwards.
TEST(SendQueue, ReplayRereadsAWorkRequestInAnyState) {
  Bench bench;
  bench.hold_records = true;
  bench.SetState(5, IbQpState::kRts);
  bench.Post(5, 33);
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.came[5], 32u);  // it is full
  for (const uint32_t qpn : {5u, 6u}) {
    for (int i = 0; i < 20; ++i) bench.Resend(qpn);
  }
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 40u);
  EXPECT_EQ(bench.came[5], 32u);
  bench.hold_records = false;
  bench.RetireAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 33u);
  EXPECT_EQ(bench.open[5], 0u);
  EXPECT_TRUE(bench.failures.empty());
}

// Those whose place nobody else took are not read again, in whatever order they come; and those that could not be read
// are.
TEST(SendQueue, ReplayOfAKeptWorkRequestReadsNothing) {
  Bench bench;
  bench.hold_records = true;
  bench.faulty = 0x5000;
  for (const uint32_t qpn : {4u, 5u, 6u}) {
    for (uint16_t head = 0; head < 32; ++head) {
      // 6 takes the places of 4: 64 places, 32 of a QP.
      const uint64_t address = qpn == 5 && head == 9 ? 0x5000 : 0x10000u * qpn + 0x400u * head;
      bench.ring[qpn].push_back({.head = static_cast<uint16_t>(0x100 + head), .address = address});
    }
    bench.SetState(qpn, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
  }
  const uint64_t requests = bench.request.count, reads = bench.reads;
  for (const uint32_t qpn : {6u, 5u}) {
    for (uint16_t i = 0; i < 32; ++i) {
      const auto head = static_cast<uint16_t>(0x100 + i * 7 % 32);
      if (qpn == 5 && head == 0x109) continue;
      bench.Resend(qpn, false, {.head = head, .address = 0x10000u * qpn + 0x400u * (head % 32u)});
    }
    bench.Resend(qpn, true);
  }
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 65u);
  EXPECT_EQ(bench.came_quickly, 63u);
  EXPECT_EQ(bench.request.count, requests);
  EXPECT_EQ(bench.reads, reads);
  // Of another QP, of another head, of one that failed.
  bench.Resend(4, false, {.head = 0x107, .address = 0x40000 + 0x1c00});
  bench.Resend(6, false, {.head = 0x128, .address = 0x7000});
  bench.Resend(5, false, {.head = 0x109, .address = 0x5000});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 68u);
  EXPECT_EQ(bench.came_quickly, 63u);
  EXPECT_EQ(bench.request.count, requests + 3);
  // What a replay read is kept, too: unless it failed.
  bench.Resend(4, false, {.head = 0x107, .address = 0x40000 + 0x1c00});
  bench.Resend(5, false, {.head = 0x109, .address = 0x5000});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_quickly, 64u);
  EXPECT_EQ(bench.request.count, requests + 4);
}

// A descriptor is used again for other work: the newest counts.
TEST(SendQueue, NewestWorkRequestOfAHeadIsKept) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
    bench.ring[5].push_back({.head = 3, .address = address});
    bench.Ring(5);
    ASSERT_EQ(bench.Settle(), "");
    bench.Resend(5, false, {.head = 3, .address = address});
    ASSERT_EQ(bench.Settle(), "");
  }
  EXPECT_EQ(bench.came_quickly, 3u);
}

// One that is kept passes replays of others that are read again, but none of its own QP.
TEST(SendQueue, QuickReplaysPassThoseOfOtherQpsOnly) {
  Bench bench;
  for (const uint32_t qpn : {5u, 6u}) {
    bench.ring[qpn].push_back({.head = 3, .address = 0x1000 * qpn});
    bench.SetState(qpn, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
  }
  bench.hold_answers = true;
  bench.Resend(5, false, {.head = 9, .address = 0x9000});
  ASSERT_EQ(bench.Run(20), "");
  bench.Resend(5, false, {.head = 3, .address = 0x5000});
  bench.Resend(6, false, {.head = 3, .address = 0x6000});
  bench.Resend(6, true);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.came_quickly, 1u);
  EXPECT_EQ(bench.came_again, 2u);
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 4u);
  EXPECT_EQ(bench.came_quickly, 1u);
}

// What is kept for a replay that waits behind a quick one is replaced by another QP's work request.
TEST(SendQueue, ReplayIsReadAgainWhenItsPlaceIsTakenWhileItWaits) {
  Bench bench;
  for (const uint32_t qpn : {5u, 7u}) bench.SetState(qpn, IbQpState::kRts);
  bench.ring[5].push_back({.head = 3, .address = 0x5000});
  bench.Ring(5);
  ASSERT_EQ(bench.Settle(), "");
  bench.work.rate = 0;
  for (const uint32_t qpn : {6u, 8u}) bench.Resend(qpn, true);
  ASSERT_EQ(bench.Run(20), "");
  bench.Resend(5, false, {.head = 3, .address = 0x5000});
  bench.ring[7].push_back({.head = 3, .address = 0x7000});
  bench.Ring(7);
  ASSERT_EQ(bench.Run(100), "");
  const uint64_t before = bench.request.count;
  bench.work.rate = 16;
  ASSERT_EQ(bench.Run(1), "");
  bench.work.rate = 0;
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.request.count, before + 1);
  bench.work.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
}

// While a quick one waits for its turn, a slow one of its QP waits behind it; of another QP it is requested.
TEST(SendQueue, SlowReplaysWaitForTheQuickOnesOfTheirQp) {
  Bench bench;
  bench.work.rate = 0;
  for (const uint32_t qpn : {7u, 7u, 5u}) bench.Resend(qpn, true);
  ASSERT_EQ(bench.Run(20), "");
  bench.Resend(6);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.request.count, 0u);  // two are in registers, the third one and this in the queue
  bench.work.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  bench.work.rate = 0;
  bench.Resend(7, true);
  bench.Resend(5, true);
  ASSERT_EQ(bench.Run(20), "");
  bench.Resend(6);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.request.count, 2u);
  bench.Resend(5);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.request.count, 2u);
  bench.work.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.request.count, 3u);
  EXPECT_EQ(bench.came_again, 8u);
}

// Neither starves the other.
TEST(SendQueue, QuickReplaysAndWorkRequestsAlternate) {
  Bench bench;
  bench.SetState(5, IbQpState::kRts);
  bench.ring[5].push_back({.head = 3, .address = 0x5000});
  bench.SetState(6, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  const size_t before = bench.work_sink.sent().size();
  for (int i = 0; i < 60; ++i) bench.Resend(5, false, {.head = 3, .address = 0x5000});
  bench.Post(6, 60);
  bench.Ring(6);
  bench.work.rate = 0;
  ASSERT_EQ(bench.Run(100), "");  // so that both wait
  bench.work.rate = 16;
  ASSERT_EQ(bench.Run(60), "");
  unsigned quick = 0, read = 0;
  for (size_t i = before; i < bench.work_sink.sent().size(); ++i) {
    ++(bench.work_sink.sent()[i].token.is_replay ? quick : read);
  }
  EXPECT_GE(quick, 10u);
  EXPECT_GE(read, 10u);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_quickly, 60u);
  EXPECT_EQ(bench.came[6], 60u);
}

TEST(SendQueue, ResumeTakesItsTurnAmongReplaysWithoutARequest) {
  Bench bench;
  bench.hold_answers = true;
  bench.Resend(5);
  bench.Resend(5, true);
  bench.Resend(6, true);
  ASSERT_EQ(bench.Run(50), "");
  EXPECT_EQ(bench.came_again, 1u);  // that of 6; that of 5 is behind its replay
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 3u);
  EXPECT_EQ(bench.request.count, 1u);
  EXPECT_EQ(bench.fetch.count, 2u);
}

TEST(SendQueue, ExcessReplaysWaitAndKeepTheirOrder) {
  Bench bench;
  bench.work.rate = 0;
  bench.hold_answers = true;
  for (int i = 0; i < 100; ++i) bench.Resend(static_cast<uint32_t>(i % 3), i % 4 == 3);
  ASSERT_EQ(bench.Run(200), "");
  EXPECT_EQ(bench.asking.size(), kSizes.requests - 1);  // and a resume in its turn
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Run(2000), "");
  EXPECT_EQ(bench.came_again, 0u);
  EXPECT_FALSE(bench.replay.IsEmpty());
  bench.work.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 100u);
}

TEST(SendQueue, ReplayOfAnUnavailableWorkRequestReportsFailure) {
  struct Case {
    Posted posted;
    BufferStatus status;
    RdmaError code;
    uint64_t reads;
  };
  for (const Case& c : {Case{{}, BufferStatus::kFailed, RdmaError::kBadDescriptor, 0},
                        Case{{}, BufferStatus::kEmpty, RdmaError::kBadDescriptor, 0},
                        Case{{.bytes = 575}, BufferStatus::kOk, RdmaError::kBadWqe, 0},
                        Case{{.writable = true}, BufferStatus::kOk, RdmaError::kBadDescriptor, 0},
                        Case{{.more = true}, BufferStatus::kOk, RdmaError::kBadDescriptor, 0},
                        Case{{.address = 0x1000}, BufferStatus::kOk, RdmaError::kQueueDmaError, 2},
                        Case{{.address = 0x1000 - 560}, BufferStatus::kOk, RdmaError::kQueueDmaError, 2}}) {
    Bench bench;
    bench.faulty = 0x1000;
    bench.Resend(5, false, c.posted, c.status);
    bench.Resend(5, true);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came_again, 2u);
    EXPECT_EQ(bench.work_sink.sent().front().token.failed, c.code);
    EXPECT_EQ(bench.reads, c.reads);
    EXPECT_TRUE(bench.failures.empty());
  }
}

TEST(SendQueue, ReplaysAndTheLineAlternate) {
  Bench bench;
  for (uint32_t qpn = 2; qpn < 6; ++qpn) {
    bench.Post(qpn, 40);
    bench.SetState(qpn, IbQpState::kRts);
  }
  for (int i = 0; i < 40; ++i) bench.Resend(7);
  // So that both wait for a place among the requests, and doorbells do, too.
  for (int i = 0; i < 200; ++i) bench.Ring(8);
  bench.hold_answers = true;
  ASSERT_EQ(bench.Run(40), "");
  std::vector<bool> order;
  for (int i = 0; i < 600 && order.size() < 20; ++i) {
    ASSERT_EQ(bench.Run(20), "");
    bench.AnswerAll();
    for (; order.size() < bench.request_sink.sent().size();) {
      order.push_back(bench.request_sink.sent()[order.size()].token.by_index);
    }
  }
  // Once both are waiting, neither goes twice in a row.
  for (size_t i = 5; i < 20; ++i) EXPECT_NE(order.at(i), order.at(i - 1)) << i;
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came_again, 40u);
  for (uint32_t qpn = 2; qpn < 6; ++qpn) EXPECT_EQ(bench.came[qpn], 40u);
}

TEST(SendQueue, ReplaysMeetDocumentedLatencies) {
  Bench bench;
  bench.buffer.rate = 0;
  bench.Resend(5);
  ASSERT_EQ(bench.Run(SendQueue::kReplayToRequest), "");
  EXPECT_EQ(bench.request.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 1u);
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  // A resume, and a replay of what is kept.
  const spec::WorkRequest first = bench.work_sink.sent().front().token;
  for (const bool resume : {true, false}) {
    const uint64_t count = bench.work.count;
    bench.Resend(5, resume, {.head = first.head, .address = first.address});
    ASSERT_EQ(bench.Run(SendQueue::kReplayToWorkRequest), "");
    EXPECT_EQ(bench.work.count, count);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(bench.work.count, count + 1);
  }
  EXPECT_EQ(bench.came_quickly, 1u);
}

// So a long message, which comes burst by burst, is read once.
TEST(SendQueue, ReplayFromWithinAMessageReadsNothing) {
  Bench bench;
  bench.Resend(5);
  ASSERT_EQ(bench.Settle(), "");
  const spec::WorkRequest first = bench.work_sink.sent().front().token;
  const uint64_t requests = bench.request.count;
  for (const bool whole : {false, true, false}) {
    bench.Resend(5, false, {.head = first.head, .address = first.address}, BufferStatus::kOk, whole);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.request.count, requests);
  }
  EXPECT_EQ(bench.came_quickly, 3u);
}

// Between two bursts that are kept go two work requests that were read, while there are such; between two whole
// messages one.
TEST(SendQueue, ReplaysAlternateWithOtherWork) {
  for (const bool whole : {false, true}) {
    SCOPED_TRACE(whole);
    Bench bench;
    bench.SetState(6, IbQpState::kRts);
    bench.Resend(5);
    ASSERT_EQ(bench.Settle(), "");
    const spec::WorkRequest first = bench.work_sink.sent().front().token;
    bench.work.rate = 0;
    bench.Post(6, 8);
    bench.Ring(6);
    ASSERT_EQ(bench.Run(300), "");
    const size_t sent = bench.work_sink.sent().size();
    for (int i = 0; i < 6; ++i) {
      bench.Resend(5, false, {.head = first.head, .address = first.address}, BufferStatus::kOk, whole);
    }
    ASSERT_EQ(bench.Run(20), "");
    bench.work.rate = 16;
    ASSERT_EQ(bench.Settle(), "");
    // 1: a replay. What leaves first depends on what had started.
    std::string order;
    for (size_t i = sent; i < bench.work_sink.sent().size(); ++i) {
      order += bench.work_sink.sent()[i].token.qpn == 5 ? '1' : '0';
    }
    EXPECT_EQ(std::count(order.begin(), order.end(), '0'), 8) << order;
    EXPECT_EQ(std::count(order.begin(), order.end(), '1'), 6) << order;
    const size_t begin = order.find('1');
    const std::string expected = whole ? "10101010101" : "1001001001";
    EXPECT_EQ(order.substr(begin, expected.size()), expected) << order;
  }
}

// --- Hold

TEST(SendQueue, HoldStopsRingReadsOnly) {
  Bench bench;
  bench.hold_records = true;
  for (const uint32_t qpn : {5u, 6u, 7u}) bench.SetState(qpn, IbQpState::kRts);
  bench.Post(5, 8);
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.held.size(), 8u);
  const uint64_t requests = bench.request.count;

  bench.hold.on = true;
  ASSERT_EQ(bench.Run(2), "");
  for (const uint32_t qpn : {5u, 6u, 7u}) {
    bench.Post(qpn, 9);
    bench.Ring(qpn);
  }
  bench.SetState(6, IbQpState::kErr);
  const Cycle begin = bench.bench.cycle();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_LE(bench.bench.cycle() - begin, 20u);
  EXPECT_TRUE(bench.p.idle_o);
  EXPECT_EQ(bench.request.count, requests);

  // Records become free, and replays arrive.
  const size_t sends = bench.sends.sent.size();
  bench.RetireAll();
  for (uint32_t i = 0; i < 12; ++i) bench.Resend(5 + i % 3, i % 4 == 3);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.sends.sent.size(), sends + 8);
  EXPECT_EQ(bench.sends.sent.back().second, (spec::QpSends{.qpn = 5, .outstanding = 0}));
  EXPECT_EQ(bench.came_again, 12u);
  EXPECT_EQ(bench.request.count, requests + 9);
  EXPECT_EQ(bench.came[5] + bench.came[6] + bench.came[7], 8u);

  bench.hold.on = false;
  bench.hold_records = false;
  ASSERT_EQ(bench.Run(2), "");
  EXPECT_FALSE(bench.p.idle_o);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.came[5], 17u);
  EXPECT_EQ(bench.came[6], 9u);
  EXPECT_EQ(bench.came[7], 9u);
}

// In any cycle of a hold: outstanding requests return, and the rest later, in order and once.
TEST(SendQueue, RequestsInFlightEndDuringHold) {
  unsigned waited = 0, ended = 0;
  for (uint64_t at = 0; at < 60; ++at) {
    Bench bench;
    for (const uint32_t qpn : {5u, 6u}) bench.SetState(qpn, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    bench.fetch.rate = bench.work.rate = 8;
    for (const uint32_t qpn : {5u, 6u}) {
      bench.Post(qpn, 8);
      bench.Ring(qpn);
    }
    ASSERT_EQ(bench.Run(at), "");
    bench.hold.on = true;
    const uint64_t requests = bench.request.count;
    const Cycle begin = bench.bench.cycle();
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_LE(bench.bench.cycle() - begin, 200u);
    // One decided in the cycle in which the hold came, and one in the register.
    EXPECT_LE(bench.request.count, requests + 2);
    EXPECT_TRUE(bench.p.idle_o);
    ++(bench.came[5] + bench.came[6] < 16 ? waited : ended);
    bench.hold.on = false;
    ASSERT_EQ(bench.Run(2), "");
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 8u);
    EXPECT_EQ(bench.came[6], 8u);
  }
  EXPECT_GT(waited, 3u);
  EXPECT_GT(ended, 3u);
}

TEST(SendQueue, DeferredRingIsReadThreeCyclesAfterTheHold) {
  Bench bench;
  bench.hold.on = true;
  bench.SetState(5, IbQpState::kRts);
  bench.Post(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.request.count, 0u);
  bench.hold.on = false;
  ASSERT_EQ(bench.Run(SendQueue::kReleaseToRequest), "");
  EXPECT_EQ(bench.request.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 1u);
  ASSERT_EQ(bench.Settle(), "");
  // Held in time or a cycle too late.
  for (const bool late : {false, true}) {
    const uint64_t requests = bench.request.count;
    bench.Post(5);
    bench.Ring(5);
    ASSERT_EQ(bench.Run(SendQueue::kDoorbellToRequest - (late ? 2 : 3)), "");
    bench.hold.on = true;
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.request.count, requests + (late ? 1 : 0));
    bench.hold.on = false;
    ASSERT_EQ(bench.Run(2), "");
    ASSERT_EQ(bench.Settle(), "");
  }
}

// The owner of a queue index depends on the accepted features, for doorbells, for requests and for failures.
TEST(SendQueue, QueueMappingFollowsTheAcceptedNetQueuePairs) {
  Bench bench(false);
  for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  for (const bool mq : {false, true, false}) {
    bench.SetMq(mq);
    for (const uint32_t qpn : {0u, 7u, 15u}) {
      bench.SetState(qpn, IbQpState::kReset, true);
      bench.SetState(qpn, IbQpState::kInit);
      bench.SetState(qpn, IbQpState::kRts);
    }
    ASSERT_EQ(bench.Settle(), "");
    bench.is_reported.fill(false);
    for (const uint32_t qpn : {0u, 7u, 15u}) {
      const size_t requests = bench.request_sink.sent().size();
      bench.Post(qpn, 2);
      bench.ring[qpn].back().bytes = 570;
      bench.Ring(qpn);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.came[qpn], bench.posts[qpn]);
      ASSERT_GT(bench.request_sink.sent().size(), requests);
      for (size_t i = requests; i < bench.request_sink.sent().size(); ++i) {
        EXPECT_EQ(bench.request_sink.sent()[i].token.vq_index, 2 * (mq ? 3 : 1) + 16 + 1 + 2 * qpn);
      }
      EXPECT_EQ(bench.failures, bench.expected_failures);
    }
    const uint64_t requests = bench.request.count;
    for (const uint32_t vq : {0u, bench.first_queue - 2, bench.first_queue - 1, bench.first_queue + 1,
                              bench.first_queue + 31, bench.first_queue + 32, 0xffffu}) {
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq)});
    }
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.request.count, requests);
  }
  EXPECT_EQ(bench.failures.size(), 9u);
}

TEST(SendQueue, MatchesModelInRandomTrafficWithoutLoss) {
  uint64_t came_quickly = 0, came_pushed = 0;
  for (const unsigned in_rate : {16u, 4u}) {
    for (const unsigned out_rate : {16u, 7u, 2u}) {
      Bench bench(out_rate == 7);
      auto& random = bench.random;
      bench.doorbell.rate = bench.retired.rate = bench.buffer.rate = bench.replay.rate = in_rate;
      bench.fetched.rate = 1 + random() % 16;
      bench.request.rate = bench.fetch.rate = bench.work.rate = bench.failure.rate = out_rate;
      bench.fault_rate = 5;
      bench.request.keep = bench.fetch.keep = bench.work.keep = bench.failure.keep = false;
      bench.hold_answers = bench.hold_records = true;
      bench.hold.toggles = out_rate == 16 ? 1 : out_rate;
      bench.SetExtensible(out_rate != 7);
      const bool clears = in_rate == 4;
      size_t cleared = 0;
      for (int step = 0; step < 6000; ++step) {
        const auto qpn = static_cast<uint32_t>(random() % (step / 1000 % 2 == 0 ? 16 : 3));
        const auto dice = static_cast<unsigned>(random() % 36);
        if (dice >= 32) {
          // It is taken only where nothing of the ring waits or is on its way.
          for (int i = 0; i < 3 && random() % 4 != 0; ++i) {
            bench.AnswerAll();
            bench.RetireAll();
            ASSERT_EQ(bench.Run(100), "");
          }
          bench.PostShort(qpn, static_cast<uint32_t>(16 + random() % 49));
          // Of some the push is torn, or has no end, and of some a doorbell follows.
          const bool ends = random() % 8 != 0;
          bench.Push(qpn, random() % 4 == 0 ? static_cast<unsigned>(random() % 12) : ~0u, ends);
          if (!ends || random() % 4 == 0) bench.Ring(qpn);
        } else if (dice < 6) {
          bench.Post(qpn, 1 + static_cast<uint32_t>(random() % (random() % 4 == 0 ? 12 : 2)));
          Posted& last = bench.ring[qpn].back();
          if (bench.is_extensible && random() % 2 == 0) last.bytes = static_cast<uint32_t>(16 + random() % 100);
          if (random() % 16 == 0) {
            last.bytes = static_cast<uint32_t>(570 + random() % 30);
            if (bench.is_extensible && random() % 4 == 0) last.bytes = static_cast<uint32_t>(random() % 20);
            last.more = random() % 16 == 0;
            last.writable = random() % 16 == 0;
          }
          bench.Ring(qpn);
        } else if (dice < 8 && bench.doorbell.tokens.size() < 4) {
          bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(random() % 64)});
        } else if (dice < 12) {
          const bool clear = clears && random() % 4 == 0;
          cleared += clear ? 1 : 0;
          // Of others nothing is read: MatchesModelWhileQueuePairsStop.
          constexpr std::array kStates = {IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe, IbQpState::kErr};
          bench.SetState(qpn, random() % 4 != 0 ? IbQpState::kRts : kStates[random() % kStates.size()], clear);
        } else if (dice < 15 && bench.replay.tokens.size() < 20) {
          for (uint64_t i = random() % 6; i != 0; --i) {
            Posted posted;
            if (random() % 32 == 0) posted.bytes = static_cast<uint32_t>(570 + random() % 30);
            if (bench.is_extensible && random() % 2 == 0) posted.bytes = static_cast<uint32_t>(16 + random() % 100);
            if (random() % 64 == 0) posted.more = true;
            if (random() % 2 == 0) bench.ChooseRead(qpn, posted);
            bench.Resend(qpn, random() % 4 == 0, posted,
                         random() % 16 == 0 ? static_cast<BufferStatus>(random() % 3) : BufferStatus::kOk,
                         random() % 4 != 0);
          }
        } else if (dice < 17) {
          Posted posted;
          if (bench.replays[qpn].empty()) bench.ChooseRead(qpn, posted);
          if (posted.address != 0) bench.Resend(qpn, false, posted);
        } else if (dice < 20) {
          bench.AnswerAll();
        } else {
          for (uint64_t i = random() % 3; i != 0 && !bench.held.empty(); --i) bench.Retire();
        }
        ASSERT_EQ(bench.Run(random() % 8), "");
      }
      bench.hold_answers = bench.hold_records = false;
      bench.hold.toggles = 0;
      bench.hold.on = false;
      bench.doorbell.rate = bench.retired.rate = bench.buffer.rate = bench.fetched.rate = bench.replay.rate = 16;
      bench.request.rate = bench.fetch.rate = bench.work.rate = bench.failure.rate = 16;
      bench.AnswerAll();
      bench.RetireAll();
      for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kRts);
      ASSERT_EQ(bench.Settle(), "");
      bench.AnswerAll();
      ASSERT_EQ(bench.Settle(), "");
      for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        EXPECT_EQ(bench.came[qpn], bench.posts[qpn]);
        EXPECT_EQ(bench.open[qpn], 0u);
      }
      EXPECT_EQ(bench.came_again, bench.sent_again);
      EXPECT_GT(bench.came_again, 50u);
      came_quickly += bench.came_quickly;
      came_pushed += bench.came_pushed;
      if (clears) {
        EXPECT_LE(bench.failures.size(), bench.expected_failures.size()) << "of a stopped QP none is reported";
        EXPECT_GT(cleared, 0U);
      } else {
        EXPECT_EQ(bench.failures, bench.expected_failures);
        EXPECT_FALSE(bench.failures.empty());
      }
    }
  }
  EXPECT_GT(came_quickly, 10u);
  EXPECT_GT(came_pushed, 100u);
}

// --- Push

TEST(SendQueue, PushedWorkRequestReadsNothing) {
  for (const uint32_t bytes : {16u, 17u, 24u, 48u, 63u, 64u}) {
    Bench bench;
    bench.SetExtensible(true);
    bench.SetState(5, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    const Cycle began = bench.bench.cycle();
    for (int i = 0; i < 40; ++i) {
      bench.PostShort(5, bytes);
      bench.Push(5);
      ASSERT_EQ(bench.Settle(), "");
    }
    EXPECT_EQ(bench.came[5], 40u);
    EXPECT_EQ(bench.came_pushed, 40u);
    EXPECT_EQ(bench.reads, 0u);
    EXPECT_EQ(bench.pushes_taken, 40u);
    EXPECT_EQ(bench.pushes_asked, 40u);
    for (const auto& sent : bench.request_sink.sent()) {
      EXPECT_TRUE(sent.token.pushed || sent.token.by_index || sent.cycle < began) << "the ring is not read";
    }
    // What was pushed is kept for replays.
    bench.Resend(5, false, {.head = bench.recent[5].back(), .address = 1, .bytes = bytes});
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came_quickly, 1u);
  }
}

TEST(SendQueue, PushMeetsDocumentedLatencies) {
  Bench bench;
  bench.SetExtensible(true);
  bench.SetState(5, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  const uint64_t requests = bench.request.count;
  bench.buffer.rate = 0;
  bench.PostShort(5, 64);
  bench.Push(5, ~0u, false);
  ASSERT_EQ(bench.Settle(), "");
  bench.EndPush(5, {.position = 0, .head = bench.ring[5][0].head, .length = 64});
  ASSERT_EQ(bench.Run(SendQueue::kPushToRequest), "");
  EXPECT_EQ(bench.request.count, requests);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.request.count, requests + 1);
  ASSERT_EQ(bench.Run(5), "");
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Run(SendQueue::kBufferToPushed), "");
  EXPECT_EQ(bench.work.count, 0u);
  ASSERT_EQ(bench.Run(1), "");
  EXPECT_EQ(bench.work.count, 1u);
}

// Each is a doorbell all the same.
TEST(SendQueue, TornPushIsReadFromTheRing) {
  for (unsigned without = 1; without < 10; ++without) {
    Bench bench;
    bench.SetExtensible(true);
    bench.SetState(5, IbQpState::kRts);
    bench.PostShort(5, 64);
    bench.Push(5, without);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 1u);
    EXPECT_EQ(bench.came_pushed, 0u);
    EXPECT_EQ(bench.pushes_asked, 0u);
    EXPECT_EQ(bench.reads, 1u);
  }
  for (const uint16_t length : std::initializer_list<uint16_t>{0, 15, 40, 65, 72, 128, 0x1040}) {
    Bench bench;
    bench.SetExtensible(true);
    bench.SetState(5, IbQpState::kRts);
    bench.PostShort(5, 64);
    bench.Push(5, ~0u, false);
    bench.EndPush(5, {.position = 0, .head = bench.ring[5][0].head, .length = length});
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 1u);
    EXPECT_EQ(bench.pushes_asked, 0u) << length;
  }
  // In another order, and with the end twice: what has ended is no start of the next.
  Bench bench;
  bench.SetExtensible(true);
  bench.SetState(5, IbQpState::kRts);
  bench.PostShort(5, 32);
  bench.Push(5);
  std::swap(bench.push.tokens[1], bench.push.tokens[2]);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.pushes_asked, 0u);
  bench.PostShort(5, 32);
  bench.Push(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.pushes_taken, 1u);
  bench.PostShort(5, 32);
  bench.EndPush(5, {.position = 2, .head = bench.ring[5][0].head, .length = 32});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.pushes_asked, 1u);
  EXPECT_EQ(bench.came[5], 3u);
}

TEST(SendQueue, PushOfAnotherPositionIsReadFromTheRing) {
  Bench bench;
  bench.SetExtensible(true);
  bench.SetState(5, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  bench.PostShort(5, 32);  // not announced
  bench.PostShort(5, 40);
  bench.Push(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.pushes_asked, 1u);
  EXPECT_EQ(bench.pushes_taken, 0u);
  EXPECT_EQ(bench.came[5], 2u);
  // Behind it the next one is.
  bench.PostShort(5, 40);
  bench.Push(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.pushes_taken, 1u);
  EXPECT_EQ(bench.came[5], 3u);
}

// Of QPs that do not send, that ask already, in rfc-v2, and during a hold.
TEST(SendQueue, PushThatCannotBeTakenIsADoorbell) {
  for (const int why : {0, 1, 2, 3}) {
    Bench bench;
    bench.SetExtensible(why != 2);
    if (why != 0) bench.SetState(5, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    if (why == 1) {
      bench.hold_answers = true;
      bench.Ring(5);
      ASSERT_EQ(bench.Run(20), "");
    }
    if (why == 3) bench.hold.on = true;
    ASSERT_EQ(bench.Run(4), "");
    bench.PostShort(5, 64);
    if (why == 2) bench.ring[5].back().bytes = 592;
    bench.Push(5);
    ASSERT_EQ(bench.Run(40), "");
    EXPECT_EQ(bench.came[5], why == 2 ? 1u : 0u);
    bench.hold_answers = false;
    bench.AnswerAll();
    bench.hold.on = false;
    bench.SetState(5, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 1u) << why;
    EXPECT_EQ(bench.pushes_asked, 0u) << why;
  }
}

// Words of the last lifetime, maybe another program's, are no part of a push.
TEST(SendQueue, StopVoidsWhatWasPushed) {
  for (const bool clear : {true, false}) {
    for (unsigned early = 0; early < 8; ++early) {
      Bench bench;
      bench.checks = false;
      bench.SetExtensible(true);
      bench.SetState(5, IbQpState::kRts);
      bench.PostShort(5, 64);
      bench.Push(5, ~0u, false);
      ASSERT_EQ(bench.Run(12 - early), "");  // in any place, and behind all of them
      bench.SetState(5, clear ? IbQpState::kReset : IbQpState::kInit, clear);
      bench.SetState(5, IbQpState::kRts);
      ASSERT_EQ(bench.Settle(), "");
      bench.EndPush(5, {.position = bench.taken[5], .head = 1, .length = 64});
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.pushes_asked, 0u) << early;
    }
  }
}

// While the answer is awaited something else is pushed: the bytes are those of memory, or of one push.
TEST(SendQueue, PushThatIsReplacedIsRead) {
  for (unsigned words = 0; words < 11; ++words) {
    Bench bench;
    bench.SetExtensible(true);
    bench.SetState(5, IbQpState::kRts);
    ASSERT_EQ(bench.Settle(), "");
    bench.hold_answers = true;
    bench.PostShort(5, 64);
    bench.Push(5);
    ASSERT_EQ(bench.Run(30), "");
    ASSERT_EQ(bench.asking.size(), 1u);
    bench.PostShort(5, 64);
    bench.Push(5);
    bench.push.tokens.resize(words);
    ASSERT_EQ(bench.Run(30), "");
    bench.Ring(5);
    bench.hold_answers = false;
    bench.AnswerAll();
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.came[5], 2u);
    EXPECT_EQ(bench.came_pushed, words == 0 ? 1u : 0u);
  }
}

TEST(SendQueue, PushesOfManyQpsInterleave) {
  Bench bench;
  bench.SetExtensible(true);
  for (uint32_t qpn = 0; qpn < 16; ++qpn) bench.SetState(qpn, IbQpState::kRts);
  ASSERT_EQ(bench.Settle(), "");
  for (int round = 0; round < 20; ++round) {
    std::vector<spec::PushWrite> words[16];
    for (uint32_t qpn = 0; qpn < 16; ++qpn) {
      bench.PostShort(qpn, static_cast<uint32_t>(16 + bench.random() % 49));
      bench.Push(qpn);
      words[qpn].assign(bench.push.tokens.begin(), bench.push.tokens.end());
      bench.push.tokens.clear();
    }
    for (size_t i = 0; i < 10; ++i) {
      for (const auto& of_qp : words) {
        if (i < of_qp.size()) bench.push.tokens.push_back(of_qp[i]);
      }
    }
    ASSERT_EQ(bench.Settle(), "");
  }
  for (uint32_t qpn = 0; qpn < 16; ++qpn) EXPECT_EQ(bench.came[qpn], 20u);
  EXPECT_GT(bench.came_pushed, 150u) << "the others find no room, and are read";
}

}  // namespace
}  // namespace vireo::verif
