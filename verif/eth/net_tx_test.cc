// SPDX-License-Identifier: Apache-2.0
// Net transmit queues: RTL against model in every cycle, and both against the buffers that a driver posted.
#include "model/eth/net_tx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "Vnet_tx_1.h"
#include "Vnet_tx_3.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::NetTx;
using spec::BufferStatus;

constexpr uint32_t kMaxFrame = 9728;  // as the Verilated classes were made
constexpr uint32_t kHeader = spec::NetHdr::kBytes;
constexpr uint32_t kShortest = kHeader + spec::Ethernet::kBytes;
constexpr uint32_t kLongest = kHeader + kMaxFrame;
constexpr uint32_t kMost = spec::kNetBuffersPerRequest;
constexpr uint32_t kChain = spec::kNetChainDescriptors;
constexpr uint32_t kRun = NetTx::kRunBytes;

// The most pairs of the classes.
constexpr uint32_t kPairs = 3;

struct Descriptor {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool writable = false;
  BufferStatus status = BufferStatus::kOk;  // of its walk
};

constexpr size_t kNoTable = ~size_t{0};

enum class BufferEnd { kNone, kWalk, kBad };

struct Posted {
  uint32_t pair = 0;
  uint16_t head = 0;
  std::vector<Descriptor> descriptors;
  size_t table_at = kNoTable;  // the first descriptor that lies in a table
  bool packed = false;
  BufferStatus status = BufferStatus::kOk;  // not ok: the answer ends here
  // Of its last descriptor.
  bool has_id = false;
  uint16_t id = 0;
  uint16_t next_position = 0;

  uint32_t life = 0;       // lifetime of its queue
  bool cancelled = false;  // nothing of it may be visible
  bool jobs_done = false;
  size_t walked = 1;      // requested descriptors
  size_t descriptor = 0;  // of the next run
  uint64_t offset = 0;    // in it

  uint64_t Total() const {
    uint64_t total = 0;
    for (const auto& descriptor : descriptors) total += descriptor.bytes;
    return total;
  }
  bool IsSent() const { return Total() >= kShortest && Total() <= kLongest; }
  // Whether it ends the buffers of its queue.
  BufferEnd Ends() const {
    for (size_t i = 0; i < descriptors.size() && i < kChain; ++i) {
      if (i != 0 && descriptors[i].status != BufferStatus::kOk) return BufferEnd::kWalk;
      if (descriptors[i].writable) return BufferEnd::kBad;
    }
    return descriptors.size() > kChain ? BufferEnd::kBad : BufferEnd::kNone;
  }
};

template <typename Top>
using Rtl = RtlTop<Top>;

template <typename Top>
std::unique_ptr<Rtl<Top>> MakeRtl() {
  return std::make_unique<Rtl<Top>>([](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.doorbell_ready_o, top.buffer_request_valid_o, top.buffer_ready_o, top.job_valid_o,
                           top.sent_ready_o, top.failed_ready_o, top.completion_valid_o, top.queue_failure_valid_o,
                           top.doorbell_valid_o, top.drop_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.buffer_request_o);
    add(top.job_o);
    add(top.completion_o);
    add(top.queue_failure_o);
    add(top.doorbell_o);
  });
}

template <typename Top, uint32_t NumPairs>
struct Bench {
  explicit Bench(Rtl<Top>& device) : rtl(device), bench(rtl, agenda, random), p(rtl.ports()) {
    p.hold_i = 0;
    block.buffer_request_out.Connect(request_sink, block);
    block.job_out.Connect(job_sink, block);
    block.completion_out.Connect(completion_sink, block);
    block.queue_failure_out.Connect(failure_sink, block);
    block.on_drop = [this](Cycle now) { model_drop = now; };
    block.on_doorbell = [this](Cycle now, const spec::Doorbell& token) { model_doorbell = {now, token}; };
    request.on_token = [this](Cycle, const spec::BufferRequest& token) { OnRequest(token); };
    job.on_token = [this](Cycle now, const spec::TxJob& token) { OnJob(now, token); };
    completion.on_token = [this](Cycle, const spec::Completion& token) { OnCompletion(token); };
    failure.on_token = [this](Cycle, const spec::QueueFailure& token) { OnFailure(token); };
    request.keep = job.keep = completion.keep = failure.keep = false;
    rtl.Reset();
  }

  // --- Descriptor fetch

  void OnRequest(const spec::BufferRequest& token) {
    EXPECT_EQ(token.client, spec::BufferClient::kNetTransmit);
    ASSERT_EQ(token.vq_index % 2, 1);
    const uint32_t pair = token.vq_index / 2u;
    ASSERT_LT(pair, NumPairs);
    if (!token.by_index) {
      // One may have been chosen while the queue broke.
      if (broken[pair]) ++asked_broken[pair];
      EXPECT_LE(asked_broken[pair], 1u);
      asked.push_back(pair);
    }
    requests.push_back(token);
    (token.by_index ? walks_asked : rings_asked) += 1;
    if (!hold_answers) AnswerAll();
  }
  void AnswerAll() {
    for (; !requests.empty(); requests.pop_front()) {
      if (requests.front().by_index) {
        AnswerWalk(requests.front());
      } else {
        AnswerRing(requests.front());
      }
    }
  }
  void AnswerRing(const spec::BufferRequest& token) {
    const uint32_t pair = token.vq_index / 2u;
    EXPECT_EQ(token.count, kMost);
    EXPECT_EQ(token.index, 0u);
    EXPECT_FALSE(token.indirect);
    while (!open.empty() && open.front().second <= buffer.accepted) open.pop_front();
    const auto same = std::count_if(open.begin(), open.end(), [&](const auto& other) { return other.first == pair; });
    EXPECT_LT(same, int{NetTx::kPairRequests});
    EXPECT_LT(open.size(), NumPairs < 2 ? 2u : NumPairs < 4 ? 4u : 8u) << "more than the heads hold";
    std::vector<spec::Buffer> answer;
    const auto is_served = [&] {
      if (out_of_service[pair] == BufferStatus::kOk && !ring[pair].empty()) {
        out_of_service[pair] = ring[pair].front().status;
      }
      return out_of_service[pair] == BufferStatus::kOk;
    };
    while (answer.size() < kMost && is_served() && !ring[pair].empty()) {
      Posted posted = ring[pair].front();
      ring[pair].pop_front();
      posted.life = life[pair];
      posted.cancelled = over[pair] || posted.Ends() != BufferEnd::kNone;
      if (!over[pair] && posted.Ends() == BufferEnd::kBad) expected_failures.push_back(pair);
      over[pair] = over[pair] || posted.cancelled;
      answer.push_back(Token(posted, 0));
      handed.push_back(std::move(posted));
    }
    if (answer.empty() || (answer.size() < kMost && !is_served())) {
      const bool failed_now = out_of_service[pair] == BufferStatus::kFailed;
      // The other fields do not count.
      answer.push_back({.status = failed_now ? BufferStatus::kFailed : BufferStatus::kEmpty,
                        .vq_index = token.vq_index,
                        .head = static_cast<uint16_t>(random()),
                        .bytes = static_cast<uint32_t>(random()),
                        .more = random() % 2 == 0});
    }
    answer.back().last = true;
    buffer.tokens.insert(buffer.tokens.end(), answer.begin(), answer.end());
    open.emplace_back(pair, buffer.accepted + buffer.tokens.size());
  }
  void AnswerWalk(const spec::BufferRequest& token) {
    EXPECT_EQ(token.count, 1u);
    EXPECT_EQ(walks_asked, walks_answered + 1);
    ++walks_answered;
    // The current buffer, or one behind it: they are walked in order.
    const auto asks = [&](const Posted& posted) {
      return QueueOf(posted.pair) == token.vq_index && posted.walked < posted.descriptors.size() &&
             IndexOf(posted, posted.walked) == token.index;
    };
    while (walking < handed.size() && !asks(handed[walking])) ++walking;
    ASSERT_LT(walking, handed.size()) << TokenText(token);
    Posted& posted = handed[walking];
    const size_t place = posted.walked++;
    ASSERT_LT(place, kChain);  // of a longer chain no more is requested
    const bool in_table = place > posted.table_at;
    EXPECT_EQ(token.indirect, in_table);
    EXPECT_EQ(token.table_address, in_table ? TableOf(posted) : 0);
    EXPECT_EQ(token.table_entries, in_table ? posted.descriptors.size() : 0);
    spec::Buffer answer = Token(posted, place);
    answer.last = true;
    answer.status = posted.descriptors[place].status;
    if (answer.status != BufferStatus::kOk) out_of_service[posted.pair] = answer.status;
    buffer.tokens.push_back(answer);
  }

  static uint16_t QueueOf(uint32_t pair) { return static_cast<uint16_t>(2 * pair + 1); }
  // Of a descriptor behind the first.
  static uint16_t IndexOf(const Posted& posted, size_t place) { return static_cast<uint16_t>(posted.head + place); }
  static uint64_t TableOf(const Posted& posted) { return uint64_t{posted.head} << 30 | 0x123450; }
  spec::Buffer Token(const Posted& posted, size_t place) {
    const bool more = place + 1 < posted.descriptors.size();
    const Descriptor& descriptor = posted.descriptors[place];
    spec::Buffer token{.vq_index = QueueOf(posted.pair),
                       .head = place == 0 ? posted.head : IndexOf(posted, place),
                       .address = descriptor.address,
                       .bytes = descriptor.bytes,
                       .writable = descriptor.writable,
                       .more = more,
                       .next_index = IndexOf(posted, place + 1)};
    if (!more && posted.has_id) {
      token.has_id = true;
      token.id = posted.id;
      token.next_index = posted.next_position;
    } else {
      // Counts in the last descriptor only, and in none of a table.
      token.has_id = posted.packed && (more || place > posted.table_at);
      token.id = static_cast<uint16_t>(random());
    }
    if (more && place >= posted.table_at) {
      token.indirect = true;
      token.table_address = TableOf(posted);
      token.table_entries = static_cast<uint16_t>(posted.descriptors.size());
    }
    return token;
  }

  // --- The gather

  void OnJob(Cycle now, const spec::TxJob& token) {
    const spec::TxPacket packet{.payload_bytes = token.packet.payload_bytes, .reports = true};
    EXPECT_EQ(token.packet, packet);
    EXPECT_FALSE(token.drop);
    if (current == kNoTable) {
      // The next buffer; those between must be invisible.
      for (; next_job < handed.size() && handed[next_job].descriptors[0].address != token.address0; ++next_job) {
        const Posted& skipped = handed[next_job];
        EXPECT_TRUE(skipped.cancelled || written[skipped.pair] || !skipped.IsSent()) << "buffer " << next_job;
      }
      ASSERT_LT(next_job, handed.size()) << "no such buffer";
      current = next_job++;
      EXPECT_EQ(handed[current].Ends(), BufferEnd::kNone);
      EXPECT_TRUE(written[handed[current].pair] || !handed[current].cancelled);
      if (handed[current].life != life[handed[current].pair]) ++late;
    }
    Posted& posted = handed[current];
    EXPECT_EQ(token.packet.payload_bytes, posted.Total());
    const auto covers = [&](uint64_t address, uint32_t bytes) {
      ASSERT_LT(posted.descriptor, posted.descriptors.size());
      const Descriptor& descriptor = posted.descriptors[posted.descriptor];
      EXPECT_EQ(address, descriptor.address + posted.offset);
      const uint64_t left = descriptor.bytes - posted.offset;
      EXPECT_EQ(bytes, left <= kRun ? left : kRun - address % kRun);
      EXPECT_GE(bytes, 1u);
      posted.offset += bytes;
      if (posted.offset == descriptor.bytes) {
        ++posted.descriptor;
        posted.offset = 0;
      }
    };
    covers(token.address0, token.bytes0);
    if (token.bytes1 != 0) {
      covers(token.address1, token.bytes1);
    } else {
      EXPECT_EQ(token.address1, 0u);
      EXPECT_FALSE(token.more);
    }
    const bool whole = posted.descriptor == posted.descriptors.size();
    EXPECT_EQ(token.more, !whole);
    job_cycles.push_back(now);
    if (!whole) return;
    posted.jobs_done = true;
    current = kNoTable;
    ++frames;
  }
  // Ends a frame, in order, if one is due.
  void EndFrame() {
    if (ended == frames || !sent.IsEmpty() || !failed.IsEmpty()) return;
    ++ended;
    if (random() % 4 == 0) {
      failed.tokens.push_back({.qpn = static_cast<uint32_t>(random() & 0xffffff)});
    } else {
      sent.tokens.push_back({.qpn = static_cast<uint32_t>(random() & 0xffffff), .is_read = random() % 2 == 0});
    }
  }

  // --- CQ writer, QP control

  void OnCompletion(const spec::Completion& token) {
    for (; next_completion < handed.size() &&
           !(handed[next_completion].head == token.head && QueueOf(handed[next_completion].pair) == token.vq_index);
         ++next_completion) {
      const Posted& skipped = handed[next_completion];
      EXPECT_TRUE((skipped.cancelled || written[skipped.pair]) && !skipped.jobs_done) << "buffer " << next_completion;
    }
    ASSERT_LT(next_completion, handed.size()) << TokenText(token);
    const Posted& posted = handed[next_completion++];
    const spec::Completion expected{.vq_index = QueueOf(posted.pair),
                                    .head = posted.head,
                                    .has_id = posted.has_id,
                                    .id = posted.has_id ? posted.id : uint16_t{0},
                                    .next_position = posted.has_id ? posted.next_position : uint16_t{0}};
    EXPECT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
    EXPECT_EQ(posted.Ends(), BufferEnd::kNone);
    EXPECT_TRUE(written[posted.pair] || !posted.cancelled);
    EXPECT_EQ(posted.IsSent(), posted.jobs_done);
    if (posted.IsSent()) {
      ++completed_frames;
      EXPECT_LE(completed_frames, sent.accepted + failed.accepted) << "completed before it was read";
    } else {
      ++completed_drops;
    }
  }
  void OnFailure(const spec::QueueFailure& token) {
    EXPECT_EQ(token.code, spec::RdmaError::kBadDescriptor);
    const uint32_t pair = token.vq_index / 2u;
    failures.push_back(pair);
    if (!written[pair]) broken[pair] = true;
  }

  // --- The driver

  Posted Make(uint32_t pair, const std::vector<uint32_t>& lengths) {
    Posted posted;
    posted.pair = pair;
    posted.head = next_head;
    for (const uint32_t bytes : lengths) posted.descriptors.push_back({.address = random(), .bytes = bytes});
    next_head = static_cast<uint16_t>(next_head + lengths.size());
    return posted;
  }
  // Each descriptor starts `offset` bytes behind where runs end.
  Posted MakeAt(uint32_t pair, uint32_t offset, const std::vector<uint32_t>& lengths) {
    Posted posted = Make(pair, lengths);
    for (Descriptor& descriptor : posted.descriptors) descriptor.address = descriptor.address / kRun * kRun + offset;
    return posted;
  }
  void Post(Posted posted) { ring[posted.pair].push_back(std::move(posted)); }
  void Post(uint32_t pair, const std::vector<uint32_t>& lengths) { Post(Make(pair, lengths)); }
  static void Pack(Posted& posted, uint16_t id, uint16_t next_position) {
    posted.packed = true;
    posted.has_id = posted.table_at == kNoTable;
    posted.id = id;
    posted.next_position = next_position;
  }
  void Ring(uint32_t pair) { doorbell.tokens.push_back({.vq_index = QueueOf(pair)}); }
  // A driver's possible actions, right or wrong.
  Posted MakeAny(uint32_t pair, unsigned errors) {
    std::vector<uint32_t> lengths;
    const uint64_t shape = sim::UniformBelow(random, 16);
    if (shape < 8) {
      lengths = {static_cast<uint32_t>(shape < 6 ? 60 + sim::UniformBelow(random, 1500)
                                                 : 1 + sim::UniformBelow(random, 11000))};
    } else if (shape < 15) {
      lengths.resize(2 + sim::UniformBelow(random, 4));
      for (auto& bytes : lengths) bytes = static_cast<uint32_t>(1 + sim::UniformBelow(random, shape < 13 ? 600 : 5000));
      if (shape == 9) lengths[0] = kHeader;
    } else {
      lengths.resize(kChain - sim::UniformBelow(random, 3));
      for (auto& bytes : lengths) bytes = static_cast<uint32_t>(1 + sim::UniformBelow(random, 200));
    }
    const bool wrong = sim::UniformBelow(random, 1000) < errors;
    const uint64_t error = sim::UniformBelow(random, 6);
    if (wrong && error == 0) lengths.resize(kChain + 1 + sim::UniformBelow(random, 20), 5);
    if (wrong && error == 1) lengths[0] = 0xffffffff;
    Posted posted = Make(pair, lengths);
    if (wrong && error >= 2 && error < 4) {
      posted.descriptors[sim::UniformBelow(random, std::min<size_t>(lengths.size(), kChain))].writable = true;
    }
    if (wrong && error == 4) posted.status = random() % 2 == 0 ? BufferStatus::kFailed : BufferStatus::kEmpty;
    if (wrong && error == 5 && lengths.size() > 1) {
      posted.descriptors[1 + sim::UniformBelow(random, lengths.size() - 1)].status =
          random() % 2 == 0 ? BufferStatus::kFailed : BufferStatus::kEmpty;
    }
    const uint64_t format = sim::UniformBelow(random, 4);
    if (format == 0 && lengths.size() > 1) posted.table_at = sim::UniformBelow(random, lengths.size());
    if (format == 1 && lengths.size() > 1) posted.table_at = 0;
    if (format != 0 && format < 3) {
      Pack(posted, static_cast<uint16_t>(random()), static_cast<uint16_t>(random()));
    }
    return posted;
  }
  // A new lifetime of the queue: the driver owns the posted buffers again.
  void WriteRow(uint32_t pair, bool enabled) { row.tokens.push_back({.vq_index = QueueOf(pair), .enabled = enabled}); }
  void OnRow(Cycle now, const spec::QueueRowWrite& write) {
    block.OnQueueRowWrite(now, write);
    if (write.vq_index % 2 == 0 || write.vq_index / 2u >= NumPairs) return;
    const uint32_t pair = write.vq_index / 2u;
    ++life[pair];
    ring[pair].clear();
    over[pair] = broken[pair] = false;
    asked_broken[pair] = 0;
    out_of_service[pair] = BufferStatus::kOk;
    for (Posted& posted : handed) posted.cancelled = posted.cancelled || posted.pair == pair;
    if (in_traffic) written[pair] = true;
  }

  // --- Running

  std::string Settle() {
    for (int i = 0; i < 200'000; ++i) {
      EndFrame();
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (doorbell.IsEmpty() && row.IsEmpty() && buffer.IsEmpty() && sent.IsEmpty() && failed.IsEmpty() &&
          requests.empty() && ended == frames && block.IsIdle()) {
        return bench.Run(4);
      }
    }
    return "the block does not become idle";
  }
  // Posts at random and rings.
  std::string Traffic(uint64_t cycles, unsigned errors, bool holds, unsigned rows = 0) {
    for (; cycles != 0; --cycles) {
      const auto pair = static_cast<uint32_t>(sim::UniformBelow(random, NumPairs));
      if (ring[pair].size() < 20 && random() % 16 == 0) {
        for (uint64_t count = sim::UniformBelow(random, 12); count != 0; --count) Post(MakeAny(pair, errors));
        Ring(pair);
      }
      if (random() % 4 == 0) EndFrame();
      if (holds && random() % 64 == 0) hold = !hold;
      if (sim::UniformBelow(random, 1000) < rows) WriteRow(pair, random() % 2 == 0);
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
    }
    hold = false;
    return Settle();
  }
  // At rest: every buffer has ended, and no more are available.
  void Check() {
    for (size_t i = next_completion; i < handed.size(); ++i) {
      EXPECT_TRUE(handed[i].cancelled || written[handed[i].pair]) << "buffer " << i << " is not completed";
    }
    for (uint32_t pair = 0; pair < NumPairs; ++pair) {
      if (over[pair] || written[pair] || out_of_service[pair] != BufferStatus::kOk) continue;
      EXPECT_TRUE(ring[pair].empty() || ring[pair].front().status != BufferStatus::kOk) << "overlooked";
    }
    EXPECT_EQ(completed_frames, frames);
    EXPECT_EQ(completed_drops, drops);
    if (in_traffic) return;
    EXPECT_EQ(failures, expected_failures);
  }
  // Ends the lifetimes of all queues and starts new ones; at rest.
  void RenewAll() {
    for (uint32_t pair = 0; pair < NumPairs; ++pair) {
      WriteRow(pair, false);
      WriteRow(pair, true);
    }
    EXPECT_EQ(Settle(), "");
    in_traffic = false;
    failures.clear();
    expected_failures.clear();
    for (bool& flag : written) flag = false;
  }
  std::string Run(uint64_t cycles) { return bench.Run(cycles); }
  // The cycle in which it is accepted.
  template <typename Stream, typename T>
  Cycle Accept(Stream& stream, T token) {
    stream.tokens.push_back(std::move(token));
    const uint64_t before = stream.accepted;
    while (stream.accepted == before) EXPECT_EQ(bench.Run(1), "");
    return bench.cycle() - 1;
  }
  void SetRates(unsigned rate_in, unsigned rate_out) {
    doorbell.rate = buffer.rate = sent.rate = failed.rate = rate_in;
    request.rate = job.rate = completion.rate = failure.rate = rate_out;
  }

  std::deque<Posted> ring[kPairs];
  std::vector<Posted> handed;  // delivered by descriptor fetch, in order
  size_t walking = 0;          // of them, the one whose chain is walked
  std::deque<spec::BufferRequest> requests;
  bool hold_answers = false;
  bool in_traffic = false;                         // rows are written while work is in flight
  std::deque<std::pair<uint32_t, uint64_t>> open;  // requests for buffers: pair, tokens until the last of its answer
  uint64_t rings_asked = 0, walks_asked = 0, walks_answered = 0;
  BufferStatus out_of_service[kPairs]{};
  bool over[kPairs]{};    // the rest of the delivered buffers is discarded
  bool broken[kPairs]{};  // and that was reported
  uint32_t asked_broken[kPairs]{};
  bool written[kPairs]{};       // a row was written in traffic: end times are unknown
  std::vector<uint32_t> asked;  // pairs
  uint32_t life[kPairs]{};
  uint16_t next_head = 0;
  size_t current = kNoTable;  // owner of the current jobs
  size_t next_job = 0, next_completion = 0;
  std::vector<Cycle> job_cycles;
  uint64_t frames = 0, ended = 0, completed_frames = 0, completed_drops = 0;
  uint64_t drops = 0, late = 0, doorbells = 0;
  std::vector<uint32_t> failures, expected_failures;
  bool hold = false;
  Cycle model_drop = model::kUnknown;
  std::pair<Cycle, spec::Doorbell> model_doorbell{model::kUnknown, {}};
  Cycle last_drop = model::kUnknown;

  std::mt19937_64 random = sim::MakeRandom("net_tx");
  Agenda agenda;
  NetTx block{agenda, NumPairs, kMaxFrame};
  Channel<spec::BufferRequest> request_sink = Channel<spec::BufferRequest>::Sink();
  Channel<spec::TxJob> job_sink = Channel<spec::TxJob>::Sink();
  Channel<spec::Completion> completion_sink = Channel<spec::Completion>::Sink();
  Channel<spec::QueueFailure> failure_sink = Channel<spec::QueueFailure>::Sink();
  Rtl<Top>& rtl;
  BlockBench<Top> bench;
  Top& p;
  Probe levels{
      [this](Cycle now) {
        if (!p.buffer_ready_o) return std::string("a response is stalled");
        if (static_cast<bool>(p.hold_i) != hold) {
          p.hold_i = hold;
          block.SetHold(now, hold);
        }
        return std::string();
      },
      [this](Cycle now) {
        drops += p.drop_o;
        const bool rings = model_doorbell.first == now;
        if ((p.doorbell_valid_o != 0) != rings) return std::string("a doorbell is passed on by one of both");
        if (rings && TokenFrom<spec::Doorbell>(BytesOf(std::as_const(p.doorbell_o))) != model_doorbell.second) {
          return std::string("another doorbell is passed on");
        }
        doorbells += p.doorbell_valid_o;
        if (p.drop_o) last_drop = now;
        return Same("drop", p.drop_o, model_drop == now);
      }};
  Probe idle{[this](Cycle) { return Same("idle", p.idle_o, block.IsIdle()); }, {}};
  // Idle is compared before the cycle's tokens are passed to the model.
  bool added = (bench.AddOther(idle), bench.AddOther(levels), true);

// A declarator cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define VIREO_IN(name)                                                                              \
  decltype(bench.In(#name, block.name##_in, p.name##_valid_i, p.name##_ready_o, p.name##_i)) name = \
      bench.In(#name, block.name##_in, p.name##_valid_i, p.name##_ready_o, p.name##_i)
#define VIREO_OUT(name, port, sink)                                                       \
  decltype(bench.Out(#port, sink, p.port##_valid_o, p.port##_ready_i, p.port##_o)) name = \
      bench.Out(#port, sink, p.port##_valid_o, p.port##_ready_i, p.port##_o)
  // NOLINTEND(bugprone-macro-parentheses)
  VIREO_IN(doorbell);
  VIREO_IN(buffer);
  VIREO_IN(sent);
  VIREO_IN(failed);
  VIREO_OUT(request, buffer_request, request_sink);
  VIREO_OUT(job, job, job_sink);
  VIREO_OUT(completion, completion, completion_sink);
  VIREO_OUT(failure, queue_failure, failure_sink);
#undef VIREO_IN
#undef VIREO_OUT
  decltype(bench.template Pulse<spec::QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, {})) row =
      bench.template Pulse<spec::QueueRowWrite>(
          p.queue_row_write_valid_i, p.queue_row_write_i,
          [this](Cycle now, const spec::QueueRowWrite& write) { OnRow(now, write); });
};

// The test's own device, beside its bench.
template <typename Top, uint32_t NumPairs>
struct Device {
  std::unique_ptr<Rtl<Top>> rtl = MakeRtl<Top>();
  Bench<Top, NumPairs> bench{*rtl};
};
using Device3 = Device<Vnet_tx_3, 3>;
using Device1 = Device<Vnet_tx_1, 1>;

// --- Random traffic --------------------------------------------------------------------------------------------------

template <typename D>
void RunTraffic(unsigned rate_in, unsigned rate_out, unsigned errors) {
  D device;
  auto& bench = device.bench;
  bench.SetRates(rate_in, rate_out);
  for (int round = 0; round < 16; ++round) {
    ASSERT_EQ(bench.Traffic(1000, errors, round % 2 == 1), "");
    bench.Check();
    bench.RenewAll();
  }
  EXPECT_GT(bench.frames, 50u);
}

TEST(NetTx, SendsEveryBufferOnceInOrder) {
  for (const unsigned rate_in : {16u, 6u}) {
    for (const unsigned rate_out : {16u, 9u, 3u}) {
      RunTraffic<Device3>(rate_in, rate_out, 0);
      RunTraffic<Device1>(rate_in, rate_out, 0);
    }
  }
}

TEST(NetTx, StopsOnlyBrokenQueues) {
  for (const unsigned rate_in : {16u, 6u}) {
    for (const unsigned rate_out : {16u, 9u, 3u}) {
      RunTraffic<Device3>(rate_in, rate_out, 40);
      RunTraffic<Device1>(rate_in, rate_out, 40);
    }
  }
}

TEST(NetTx, RowWriteDiscardsFetchedBuffers) {
  for (const unsigned rate_in : {16u, 6u}) {
    for (const unsigned rate_out : {16u, 9u, 3u}) {
      Device3 device;
      auto& bench = device.bench;
      bench.SetRates(rate_in, rate_out);
      for (int round = 0; round < 4; ++round) {
        bench.in_traffic = true;
        const auto before = bench.life[0] + bench.life[1] + bench.life[2];
        bench.late = 0;
        ASSERT_EQ(bench.Traffic(3000, round == 0 ? 0 : 30, round % 2 == 1, 15), "");
        bench.Check();
        // A job that waits to be taken, and the buffer that is being cut.
        const auto writes = bench.life[0] + bench.life[1] + bench.life[2] - before;
        EXPECT_GT(writes, 10u);
        EXPECT_LE(bench.late, 2 * writes);
        bench.RenewAll();
        // Nothing of it remains.
        ASSERT_EQ(bench.Traffic(500, 0, false), "");
        bench.Check();
      }
      EXPECT_GT(bench.frames, 50u);
    }
  }
}

TEST(NetTx, RestartsAfterReset) {
  const auto rtl = MakeRtl<Vnet_tx_3>();
  for (int round = 0; round < 20; ++round) {
    Bench<Vnet_tx_3, 3> bench(*rtl);
    for (uint32_t i = 0; i < 30; ++i) bench.Post(bench.MakeAny(i % 3, 50));
    for (uint32_t pair = 0; pair < 3; ++pair) bench.Ring(pair);
    if (round % 5 == 4) {
      ASSERT_EQ(bench.Settle(), "");
      bench.Check();
    } else {
      ASSERT_EQ(bench.Run(5 + sim::UniformBelow(bench.random, 300)), "");
    }
  }
}

// --- Directed --------------------------------------------------------------------------------------------------------

TEST(NetTx, AcceptsLengthsFromEthernetHeaderToLongestFrame) {
  struct Case {
    std::vector<uint32_t> lengths;
    bool good;
  };
  const std::vector<uint32_t> huge(kChain, 0xffffffff);
  for (const auto& [lengths, good] : std::vector<Case>{{{kShortest - 1}, false},
                                                       {{kShortest}, true},
                                                       {{kLongest}, true},
                                                       {{kLongest + 1}, false},
                                                       {{kHeader, kShortest - kHeader - 1}, false},
                                                       {{kHeader, kShortest - kHeader}, true},
                                                       {{kHeader, kMaxFrame}, true},
                                                       {{kHeader, kMaxFrame, 1}, false},
                                                       {{1, 1, 4096, 4097, 4095 - 2554}, true},
                                                       {{0xffffffff}, false},
                                                       {{0xffffffff, kShortest + 1}, false},
                                                       {huge, false}}) {
    Device3 device;
    auto& bench = device.bench;
    bench.Post(1, {60});
    bench.Post(1, lengths);
    bench.Post(1, {61});
    bench.Ring(1);
    ASSERT_EQ(bench.Settle(), "");
    bench.Check();
    EXPECT_EQ(bench.drops, good ? 0u : 1u);
    EXPECT_EQ(bench.completed_frames, good ? 3u : 2u);
  }
}

TEST(NetTx, CutsEveryDescriptorIntoRunsThatEndAtBoundaries) {
  Device3 device;
  auto& bench = device.bench;
  for (const uint32_t bytes : {kRun - 1, kRun, kRun + 1, 2 * kRun - 1, 2 * kRun, 2 * kRun + 1, kLongest}) {
    for (const uint32_t offset : {0u, 1u, 2u, kRun - 1}) {
      bench.job_cycles.clear();
      bench.Post(bench.MakeAt(0, offset, {bytes}));
      bench.Ring(0);
      ASSERT_EQ(bench.Settle(), "");
      const uint32_t runs = bytes <= kRun ? 1 : (offset + bytes + kRun - 1) / kRun;
      EXPECT_EQ(bench.job_cycles.size(), (runs + 1) / 2) << bytes << " bytes at " << offset;
    }
  }
  bench.job_cycles.clear();
  bench.Post(0, std::vector<uint32_t>(kChain, 1));
  bench.Ring(0);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.job_cycles.size(), kChain / 2);
  bench.Check();
}

TEST(NetTx, BadBufferBreaksAQueueUntilItsRowIsWritten) {
  for (const bool enabled : {false, true}) {
    for (const size_t writable : {size_t{0}, size_t{1}, size_t{3}, size_t{kChain - 1}, kNoTable}) {
      Device3 device;
      auto& bench = device.bench;
      bench.Post(1, {100});
      const size_t count = writable == kNoTable ? kChain + 1 : writable + 1;
      auto bad = bench.Make(1, std::vector<uint32_t>(count, 50));
      if (writable != kNoTable) bad.descriptors[writable].writable = true;
      bench.Post(bad);
      for (int i = 0; i < 20; ++i) bench.Post(1, {100});
      for (int i = 0; i < 10; ++i) bench.Post(2, {200});
      bench.Ring(1);
      bench.Ring(2);
      ASSERT_EQ(bench.Settle(), "");
      bench.Check();
      EXPECT_EQ(bench.failures, std::vector<uint32_t>{1});
      EXPECT_EQ(bench.completed_frames, 11u);
      // It is dead.
      const uint64_t before = bench.rings_asked;
      bench.Ring(1);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.rings_asked, before);
      // Another queue's row does not revive it.
      bench.row.tokens.push_back({.vq_index = 2, .enabled = enabled});
      bench.row.tokens.push_back({.vq_index = 5, .enabled = enabled});
      bench.row.tokens.push_back({.vq_index = 7, .enabled = enabled});
      ASSERT_EQ(bench.Settle(), "");
      bench.Ring(1);
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.rings_asked, before);
      bench.WriteRow(1, enabled);
      ASSERT_EQ(bench.Settle(), "");
      bench.Post(1, {300});
      bench.Ring(1);
      ASSERT_EQ(bench.Settle(), "");
      bench.Check();
      EXPECT_EQ(bench.completed_frames, 12u);
    }
  }
}

TEST(NetTx, SendsTheLongestChain) {
  Device3 device;
  auto& bench = device.bench;
  bench.Post(0, std::vector<uint32_t>(kChain, 50));
  auto table = bench.Make(0, std::vector<uint32_t>(kChain, 51));
  table.table_at = 0;
  bench.Post(table);
  bench.Ring(0);
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.completed_frames, 2u);
  EXPECT_EQ(bench.walks_asked, 2 * (kChain - 1));
}

TEST(NetTx, ReportsTheIdOfAPackedChainOnly) {
  Device3 device;
  auto& bench = device.bench;
  for (const size_t count : {1, 2, 5}) {
    for (const size_t table_at : {size_t{0}, kNoTable}) {
      auto posted = bench.Make(2, std::vector<uint32_t>(count, 100));
      posted.table_at = table_at;
      bench.Pack(posted, static_cast<uint16_t>(0x8123 + count), static_cast<uint16_t>(0xfff0 + count));
      bench.Post(posted);
    }
  }
  bench.Ring(2);
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();  // and each completion's contents
  EXPECT_EQ(bench.completed_frames, 6u);
}

TEST(NetTx, DescriptorFetchFailureEndsAnAnswer) {
  for (const auto status : {BufferStatus::kEmpty, BufferStatus::kFailed}) {
    Device3 device;
    auto& bench = device.bench;
    for (int i = 0; i < 3; ++i) bench.Post(0, {100});
    auto end = bench.Make(0, {100});
    end.status = status;
    bench.Post(end);
    auto walk = bench.Make(1, {100, 100, 100});
    walk.descriptors[2].status = status;
    bench.Post(walk);
    for (int i = 0; i < 12; ++i) bench.Post(1, {100});
    bench.Ring(0);
    bench.Ring(1);
    ASSERT_EQ(bench.Settle(), "");
    bench.Check();
    EXPECT_EQ(bench.completed_frames, 3u);
    EXPECT_TRUE(bench.failures.empty());  // descriptor fetch has reported it
  }
}

TEST(NetTx, AcceptsDoorbellsOfTransmitQueuesOnly) {
  Device3 device;
  auto& bench = device.bench;
  for (uint32_t pair = 0; pair < 3; ++pair) bench.Post(pair, {100});
  for (const uint16_t vq_index : std::vector<uint16_t>{0, 2, 4, 6, 7, 9, 31, 65535})
    bench.doorbell.tokens.push_back({.vq_index = vq_index});
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.rings_asked, 0u);
  EXPECT_EQ(bench.doorbells, 8u);  // passed on, all of them
}

TEST(NetTx, RequestsForSeveralPairsAtOnce) {
  Device3 device;
  auto& bench = device.bench;
  bench.hold_answers = true;
  for (uint32_t pair = 0; pair < 3; ++pair) {
    for (uint32_t i = 0; i < kMost; ++i) bench.Post(pair, {100});
    bench.Ring(pair);
    bench.Ring(pair);
  }
  ASSERT_EQ(bench.Run(40), "");
  EXPECT_EQ(std::count(bench.asked.begin(), bench.asked.end(), 0u),
            2);                       // rung again while the first one is outstanding
  EXPECT_EQ(bench.asked.size(), 4u);  // there is no room for more answers
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.completed_frames, 3 * kMost);
  // A chain's request behind those of other pairs.
  bench.hold_answers = true;
  bench.Post(0, {50, 50});
  bench.Ring(0);
  ASSERT_EQ(bench.Run(20), "");
  bench.AnswerAll();
  bench.buffer.rate = 0;
  bench.Post(1, {100});
  bench.Ring(1);
  ASSERT_EQ(bench.Run(20), "");
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Run(20), "");
  ASSERT_EQ(bench.requests.size(), 2u);
  EXPECT_FALSE(bench.requests[0].by_index);
  EXPECT_TRUE(bench.requests[1].by_index);
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.completed_frames, 3 * kMost + 2);
}

TEST(NetTx, RequestsAgainAfterAFullAnswerAndPairsAlternate) {
  Device3 device;
  auto& bench = device.bench;
  for (uint32_t pair = 0; pair < 3; ++pair) {
    for (uint32_t i = 0; i < 2 * kMost; ++i) bench.Post(pair, {100});
    bench.Ring(pair);
  }
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.asked, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(bench.completed_frames, 6 * kMost);
}

TEST(NetTx, RequestsNothingDuringHold) {
  Device3 device;
  auto& bench = device.bench;
  bench.hold_answers = true;
  for (uint32_t i = 0; i < kMost + 4; ++i) bench.Post(0, {50, 50, 50});
  bench.Post(1, {100});
  bench.Ring(0);
  ASSERT_EQ(bench.Run(20), "");
  bench.hold = true;
  bench.Ring(1);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_FALSE(bench.p.idle_o);
  // Requested buffers are walked and sent completely.
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_TRUE(bench.p.idle_o);  // though two pairs wait
  EXPECT_EQ(bench.rings_asked, 1u);
  EXPECT_EQ(bench.completed_frames, kMost);
  bench.hold = false;
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.rings_asked, 3u);
  EXPECT_EQ(bench.completed_frames, kMost + 5);
}

TEST(NetTx, HasAtMostTheStatedFramesInFlight) {
  Device3 device;
  auto& bench = device.bench;
  for (uint32_t i = 0; i < 100; ++i) bench.Post(i % 3, {i % 10 == 9 ? 4u : 100u});
  for (uint32_t pair = 0; pair < 3; ++pair) bench.Ring(pair);
  ASSERT_EQ(bench.Run(3000), "");
  EXPECT_EQ(bench.frames + bench.drops, spec::kNetTxFrames);
  EXPECT_EQ(bench.completed_frames, 0u);
  EXPECT_FALSE(bench.p.idle_o);
  ASSERT_EQ(bench.Settle(), "");
  bench.Check();
  EXPECT_EQ(bench.completed_frames + bench.completed_drops, 100u);
}

TEST(NetTx, ReadsAheadNoFurtherThanStated) {
  Device3 device;
  auto& bench = device.bench;
  constexpr uint32_t kBytes = NetTx::kReadAheadBytes / 3;
  for (const uint32_t bytes : {kBytes, kBytes - 1}) {  // as much as stated, or less, is being read
    for (uint32_t i = 0; i < 20; ++i) bench.Post(i % 3, {bytes});
    bench.Post(0, {4});  // waits, too
    for (uint32_t pair = 0; pair < 3; ++pair) bench.Ring(pair);
    const uint64_t before = bench.frames;
    ASSERT_EQ(bench.Run(500), "");
    EXPECT_EQ(bench.frames - before, bytes == kBytes ? 3u : 4u);
    ASSERT_EQ(bench.Settle(), "");
    bench.Check();
    EXPECT_EQ(bench.frames - before, 20u);
  }
}

TEST(NetTx, RowWriteDiscardsTheAnswerInFlight) {
  for (const bool enabled : {false, true}) {
    Device3 device;
    auto& bench = device.bench;
    bench.hold_answers = true;
    bench.Ring(0);
    ASSERT_EQ(bench.Run(20), "");
    ASSERT_EQ(bench.rings_asked, 1u);
    bench.in_traffic = true;
    bench.WriteRow(0, enabled);
    ASSERT_EQ(bench.Run(3), "");
    for (uint32_t i = 0; i < kMost; ++i) bench.Post(0, {100});
    bench.hold_answers = false;
    bench.AnswerAll();
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.frames, 0u);
    EXPECT_EQ(bench.rings_asked, 1u);
    bench.Check();
  }
}

TEST(NetTx, RowWriteDiscardsTheChainBeingWalked) {
  for (const bool enabled : {false, true}) {
    for (const bool writable : {false, true}) {
      Device3 device;
      auto& bench = device.bench;
      auto posted = bench.Make(0, {100, 200, 300});
      posted.descriptors[1].writable = writable;
      bench.Post(posted);
      bench.Ring(0);
      bench.hold_answers = true;
      ASSERT_EQ(bench.Run(20), "");
      bench.AnswerAll();
      ASSERT_EQ(bench.Run(20), "");
      ASSERT_EQ(bench.walks_asked, 1u);
      bench.in_traffic = true;
      bench.WriteRow(0, enabled);
      ASSERT_EQ(bench.Run(3), "");
      bench.hold_answers = false;
      bench.AnswerAll();
      ASSERT_EQ(bench.Settle(), "");
      EXPECT_EQ(bench.walks_asked, 1u);
      EXPECT_EQ(bench.frames + bench.drops, 0u);
      EXPECT_TRUE(bench.failures.empty());
      bench.Check();
    }
  }
}

TEST(NetTx, NewRowCancelsAPendingFailureReport) {
  Device3 device;
  auto& bench = device.bench;
  bench.failure.rate = 0;
  for (uint32_t pair = 0; pair < 3; ++pair) {
    auto bad = bench.Make(pair, {100});
    bad.descriptors[0].writable = true;
    bench.Post(bad);
    bench.Ring(pair);
  }
  ASSERT_EQ(bench.Run(100), "");
  bench.in_traffic = true;
  bench.WriteRow(1, false);  // the one that waits to be reported
  ASSERT_EQ(bench.Run(100), "");
  bench.failure.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.failures, (std::vector<uint32_t>{0, 2}));
  bench.Post(1, {100});
  bench.Ring(1);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.completed_frames, 1u);
}

// --- Latency ---------------------------------------------------------------------------------------------------------

TEST(NetTx, MeetsDocumentedLatencies) {
  Device3 device;
  auto& bench = device.bench;
  bench.request.keep = bench.job.keep = bench.completion.keep = bench.failure.keep = true;
  const auto request_at = [&] { return bench.request_sink.sent().back().cycle; };
  const auto job_at = [&] { return bench.job_sink.sent().back().cycle; };
  bench.hold_answers = true;

  Cycle at = bench.Accept(bench.doorbell, spec::Doorbell{.vq_index = 1});
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(request_at() - at, NetTx::kDoorbellToRequest);

  for (const uint32_t runs : {1u, 2u}) {
    bench.Post(bench.MakeAt(0, 0, {runs * kRun}));
    bench.AnswerAll();
    at = bench.Accept(bench.buffer, [&] {
      const auto token = bench.buffer.tokens.front();
      bench.buffer.tokens.clear();
      return token;
    }());
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_EQ(job_at() - at, NetTx::kBufferToJob + runs);
    at = bench.Accept(bench.sent, spec::RxAck{});
    ++bench.ended;
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_EQ(bench.completion_sink.sent().back().cycle - at, NetTx::kSentToCompletion);
    bench.Ring(0);
    ASSERT_EQ(bench.Run(20), "");
  }

  // A chain of three, two of whose runs make the first job.
  const auto accept_answer = [&] {
    bench.AnswerAll();
    const auto token = bench.buffer.tokens.front();
    bench.buffer.tokens.clear();
    return bench.Accept(bench.buffer, token);
  };
  bench.Post(bench.MakeAt(0, 0, {100, 200, 256}));
  at = accept_answer();
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(request_at() - at, NetTx::kBufferToWalk);
  at = accept_answer();
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(request_at() - at, NetTx::kWalkToWalk);
  at = accept_answer();
  const size_t jobs = bench.job_sink.sent().size();
  ASSERT_EQ(bench.Run(20), "");
  ASSERT_EQ(bench.job_sink.sent().size(), jobs + 2);
  EXPECT_EQ(bench.job_sink.sent()[jobs].cycle - at, NetTx::kWalkToJob + 2);
  EXPECT_EQ(bench.job_sink.sent()[jobs + 1].cycle - at, NetTx::kWalkToJob + 3);

  // By the other stream; and a drop, behind it.
  at = bench.Accept(bench.failed, spec::QpFailure{});
  ++bench.ended;
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.completion_sink.sent().back().cycle - at, NetTx::kSentToCompletion);
  bench.Ring(0);
  ASSERT_EQ(bench.Run(20), "");
  bench.Post(0, {5});
  at = accept_answer();
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.last_drop - at, NetTx::kBufferToDrop);
  bench.Ring(0);
  ASSERT_EQ(bench.Run(20), "");
  auto bad = bench.Make(0, {100});
  bad.descriptors[0].writable = true;
  bench.Post(bad);
  at = accept_answer();
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.failure_sink.sent().back().cycle - at, NetTx::kBufferToFailure);
}

TEST(NetTx, TakesThreeCyclesPerOneRunFrame) {
  Device3 device;
  auto& bench = device.bench;
  for (uint32_t i = 0; i < 3 * kMost; ++i) bench.Post(bench.MakeAt(0, kRun - 8, {72}));
  bench.Ring(0);
  ASSERT_EQ(bench.Settle(), "");
  ASSERT_EQ(bench.job_cycles.size(), 3 * kMost);
  // Within an answer; and the next one is fetched meanwhile.
  for (uint32_t i = 1; i < 3 * kMost; ++i) {
    if (i % kMost == 0) continue;
    EXPECT_EQ(bench.job_cycles[i] - bench.job_cycles[i - 1], NetTx::kCyclesPerBuffer + 1) << i;
  }
  EXPECT_LT(bench.job_cycles.back() - bench.job_cycles.front(), 4 * 3 * kMost);
}

}  // namespace
}  // namespace vireo::verif
