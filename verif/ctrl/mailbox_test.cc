// SPDX-License-Identifier: Apache-2.0
// The mailbox: RTL and model side by side, with a host whose memory records reads and writes.
#include "model/ctrl/mailbox.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "Vmailbox.h"
#include "model/dma/dma_split.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::Mailbox;
using model::MailboxStatus;
using spec::BufferStatus;

constexpr uint16_t kControlQueue = 32;
constexpr size_t kWords = Mailbox::kWindowBytes / 4;

struct Descriptor {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool writable = false;
  BufferStatus status = BufferStatus::kOk;
};
using Chain = std::vector<Descriptor>;

struct Bench {
  Bench() : bench(rtl, agenda, random) {
    block.buffer_request_out.Connect(request_sink, block);
    block.fetch_request_out.Connect(fetch_sink, block);
    block.store_out.Connect(store_sink, block);
    block.completion_out.Connect(completion_sink, block);
    block.on_status = [this](Cycle, const MailboxStatus& status) { model_status = status; };
    block.queue_failure_out.Connect(failure_sink, block);
    buffer_request.on_token = [this](Cycle, const spec::BufferRequest& request) { AnswerRequest(request); };
    fetch_request.on_token = [this](Cycle, const spec::DmaReadRequest& request) { AnswerFetch(request); };
    store.on_token = [this](Cycle, const spec::DmaStore& token) { AnswerStore(token); };
    completion.on_token = [this](Cycle, const spec::Completion& given) {
      EXPECT_TRUE(done.tokens.empty()) << "completed before the response is in memory";
      // From the chain's last descriptor.
      EXPECT_EQ(given.has_id, table.has_id);
      EXPECT_EQ(given.id, table.has_id ? table.id : 0);
      EXPECT_EQ(given.next_position, table.has_id ? table.next_index : 0);
      EXPECT_FALSE(given.more);
      EXPECT_FALSE(given.has_cqe);
      with_id += given.has_id;
    };
  }

  std::mt19937_64 random = sim::MakeRandom("mailbox");
  Agenda agenda;
  Mailbox block{agenda};
  Channel<spec::BufferRequest> request_sink = Channel<spec::BufferRequest>::Sink();
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::DmaStore> store_sink = Channel<spec::DmaStore>::Sink();
  Channel<spec::Completion> completion_sink = Channel<spec::Completion>::Sink();
  Channel<spec::QueueFailure> failure_sink = Channel<spec::QueueFailure>::Sink();
  RtlTop<Vmailbox> rtl{[](const Vmailbox& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.control_doorbell_ready_o, top.buffer_request_valid_o, top.buffer_ready_o,
                           top.fetch_request_valid_o, top.fetched_ready_o, top.store_valid_o, top.completion_valid_o,
                           top.queue_failure_valid_o, top.request_o, top.busy_o, top.dma_error_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      for (const auto byte : BytesOf(port)) bytes.push_back(byte);
    };
    add(top.buffer_request_o);
    add(top.fetch_request_o);
    add(top.store_o);
    add(top.completion_o);
    add(top.queue_failure_o);
    add(top.window_read_data_o);
    add(top.request_bytes_o);
    add(top.response_bytes_o);
  }};
  BlockBench<Vmailbox> bench;
  Vmailbox& p = rtl.ports();

  // --- csr's side: events of the next cycle, at most one of them
  bool reset = false;
  std::optional<uint32_t> fetch, complete, window_read;
  std::optional<std::pair<uint32_t, uint32_t>> window_write;
  uint32_t window_data = 0;  // expected result of the last read
  MailboxStatus model_status;
  std::function<void()> choose = [] {};  // in random traffic
  Probe levels{[this](Cycle now) {
                 std::string text = Same("idle", p.idle_o, block.IsIdle());
                 if (text.empty()) text = Same("window_read_data", p.window_read_data_o, window_data);
                 choose();
                 for (auto* port : {&p.fetch_i, &p.complete_i, &p.window_write_data_i}) Scramble(*port, random);
                 Scramble(p.window_write_word_i, random, 7);
                 Scramble(p.window_read_word_i, random, 7);
                 p.device_reset_i = std::exchange(reset, false);
                 if (p.device_reset_i) block.OnDeviceReset(now);
                 p.fetch_valid_i = fetch.has_value();
                 if (fetch) block.OnFetch(now, p.fetch_i = *fetch);
                 p.complete_valid_i = complete.has_value();
                 if (complete) block.OnComplete(now, p.complete_i = *complete);
                 p.window_write_valid_i = window_write.has_value();
                 if (window_write) {
                   p.window_write_word_i = static_cast<uint8_t>(window_write->first);
                   p.window_write_data_i = window_write->second;
                   block.OnWindowWrite(now, window_write->first, window_write->second);
                 }
                 p.window_read_valid_i = window_read.has_value();
                 window_data = 0;
                 if (window_read) {
                   p.window_read_word_i = static_cast<uint8_t>(*window_read);
                   window_data = block.ReadWindow(now, *window_read);
                 }
                 fetch.reset();
                 complete.reset();
                 window_read.reset();
                 window_write.reset();
                 return text;
               },
               [this](Cycle) {
                 for (const auto& text :
                      {Same("request", p.request_o, model_status.request), Same("busy", p.busy_o, model_status.busy),
                       Same("dma_error", p.dma_error_o, model_status.dma_error),
                       Same("request_bytes", p.request_bytes_o, model_status.request_bytes),
                       Same("response_bytes", p.response_bytes_o, model_status.response_bytes)}) {
                   if (!text.empty()) return text;
                 }
                 return std::string();
               }};
  // Before all others, so that idle is compared before the cycle's tokens are passed to the model.
  bool added = (bench.AddOther(levels), true);

// A declarator cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define VIREO_IN(name, port)                                                                        \
  decltype(bench.In(#name, block.name##_in, p.port##_valid_i, p.port##_ready_o, p.port##_i)) name = \
      bench.In(#name, block.name##_in, p.port##_valid_i, p.port##_ready_o, p.port##_i)
#define VIREO_OUT(name, sink)                                                             \
  decltype(bench.Out(#name, sink, p.name##_valid_o, p.name##_ready_i, p.name##_o)) name = \
      bench.Out(#name, sink, p.name##_valid_o, p.name##_ready_i, p.name##_o)
  // NOLINTEND(bugprone-macro-parentheses)
  VIREO_IN(control_doorbell, control_doorbell);
  VIREO_IN(buffer, buffer);
  VIREO_IN(fetched, fetched);
  VIREO_OUT(buffer_request, request_sink);
  VIREO_OUT(fetch_request, fetch_sink);
  VIREO_OUT(store, store_sink);
  VIREO_OUT(completion, completion_sink);
  VIREO_OUT(queue_failure, failure_sink);
#undef VIREO_IN
#undef VIREO_OUT
  decltype(bench.Pulse<spec::DmaDone>(p.store_done_valid_i, p.store_done_i, {})) done =
      bench.Pulse<spec::DmaDone>(p.store_done_valid_i, p.store_done_i,
                                 [this](Cycle now, const spec::DmaDone& token) { block.OnStoreDone(now, token); });
  decltype(bench.Pulse<spec::QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, {})) row =
      bench.Pulse<spec::QueueRowWrite>(
          p.queue_row_write_valid_i, p.queue_row_write_i,
          [this](Cycle now, const spec::QueueRowWrite& token) { block.OnQueueRowWrite(now, token); });
  decltype(bench.Pulse<spec::QueueFailure>(p.queue_stopped_valid_i, p.queue_stopped_i, {})) stopped =
      bench.Pulse<spec::QueueFailure>(
          p.queue_stopped_valid_i, p.queue_stopped_i,
          [this](Cycle now, const spec::QueueFailure& token) { block.OnQueueStopped(now, token); });

  // --- The host
  std::map<uint64_t, uint8_t> memory;
  std::deque<Chain> ring;     // pending commands
  Chain chain;                // the one being read
  size_t position = 0;        // in it
  spec::Buffer table;         // the last descriptor, with the table that it is in
  uint16_t base = 100;        // index of its first descriptor
  unsigned fetch_errors = 0;  // in 16ths
  unsigned store_errors = 0;
  uint64_t with_id = 0;
  unsigned orphans = 0;  // queue found unserved in the middle of a chain, in 16ths

  void AnswerRequest(const spec::BufferRequest& request) {
    EXPECT_EQ(request.client, spec::BufferClient::kControl);
    EXPECT_EQ(request.vq_index, kControlQueue);
    EXPECT_EQ(request.count, 1);
    spec::Buffer answer{.last = true, .vq_index = request.vq_index};
    if (!request.by_index) {
      if (ring.empty()) {
        answer.status = BufferStatus::kEmpty;
        buffer.tokens.push_back(answer);
        return;
      }
      chain = ring.front();
      ring.pop_front();
      position = 0;
      base = static_cast<uint16_t>(random() & 0x7fff);
    } else {
      EXPECT_EQ(request.index, base + 3 * position);
    }
    // The next descriptor is named as by the previous one, in a table or not.
    EXPECT_EQ(request.indirect, request.by_index && table.indirect);
    EXPECT_EQ(request.table_address, request.by_index ? table.table_address : 0);
    EXPECT_EQ(request.table_entries, request.by_index ? table.table_entries : 0);
    const Descriptor& descriptor = chain[position];
    answer.status = random() % 16 < orphans ? BufferStatus::kEmpty : descriptor.status;
    answer.head = static_cast<uint16_t>(base + 3 * position);
    answer.address = descriptor.address;
    answer.bytes = descriptor.bytes;
    answer.writable = descriptor.writable;
    answer.more = ++position < chain.size();
    answer.next_index = static_cast<uint16_t>(base + 3 * position);
    if (random() % 2 == 0) {
      answer.indirect = true;
      answer.table_address = random();
      answer.table_entries = static_cast<uint16_t>(random());
    } else if (random() % 2 == 0) {
      answer.has_id = true;
      answer.id = static_cast<uint16_t>(random());
    }
    table = answer;
    buffer.tokens.push_back(answer);
  }
  void AnswerFetch(const spec::DmaReadRequest& request) {
    EXPECT_GE(request.bytes, 1);
    EXPECT_LE(request.bytes, spec::kDmaFetchBytes);
    spec::DmaFetched answer{.tag = request.tag};
    for (size_t i = 0; i < request.bytes; ++i) answer.data[i] = memory[request.address + i];
    if (random() % 16 < fetch_errors) {
      answer.resp = static_cast<uint8_t>(AxiResp::kSlverr);
      for (auto& byte : answer.data) byte = static_cast<uint8_t>(random());
    }
    fetched.tokens.push_back(answer);
  }
  void AnswerStore(const spec::DmaStore& token) {
    EXPECT_GE(token.bytes, 1);
    EXPECT_LE(token.bytes, spec::kDmaFetchBytes);
    EXPECT_TRUE(token.notify);
    for (size_t i = 0; i < token.bytes; ++i) memory[token.address + i] = token.data[i];
    const bool fails = random() % 16 < store_errors;
    done.tokens.push_back({.tag = token.tag, .resp = static_cast<uint8_t>(fails ? AxiResp::kDecerr : AxiResp::kOkay)});
  }

  // --- Firmware and driver
  // Descriptors of these lengths somewhere in memory, filled at random.
  Chain MakeChain(const std::vector<uint32_t>& readable, const std::vector<uint32_t>& writable) {
    Chain result;
    for (const auto* lengths : {&readable, &writable}) {
      for (const uint32_t bytes : *lengths) {
        const uint64_t address = random() >> 8;
        for (uint32_t i = 0; i < bytes; ++i) memory[address + i] = static_cast<uint8_t>(random());
        result.push_back({address, bytes, lengths == &writable});
      }
    }
    return result;
  }
  std::vector<uint8_t> BytesIn(const Chain& descriptors, bool writable) {
    std::vector<uint8_t> bytes;
    for (const auto& descriptor : descriptors) {
      if (descriptor.writable != writable) continue;
      for (uint32_t i = 0; i < descriptor.bytes; ++i) bytes.push_back(memory[descriptor.address + i]);
    }
    return bytes;
  }
  void Ring() { control_doorbell.tokens.push_back({kControlQueue}); }
  void WriteRow(uint16_t vq_index, bool enabled) { row.tokens.push_back({.vq_index = vq_index, .enabled = enabled}); }
  void Stop(uint16_t vq_index) {
    stopped.tokens.push_back({.vq_index = vq_index, .code = spec::RdmaError::kQueueDmaError});
  }
  void Run(uint64_t cycles) { ASSERT_EQ(bench.Run(cycles), ""); }
  // Runs until the condition holds.
  template <typename Condition>
  void Until(Condition condition, uint64_t limit = 200'000) {
    while (!condition()) {
      ASSERT_NE(limit--, 0u) << "the condition never holds";
      ASSERT_EQ(bench.Run(1), "");
    }
  }
  void UntilRequest() {
    Until([&] { return p.request_o && !p.busy_o; });
  }
  void UntilFree() {
    Run(1);
    Until([&] { return !p.busy_o; });
  }
  void Fetch(uint32_t offset) {
    fetch = offset;
    UntilFree();
  }
  void Complete(uint32_t bytes) {
    complete = bytes;
    UntilFree();
  }
  uint32_t Read(uint32_t word) {
    window_read = word;
    EXPECT_EQ(bench.Run(1), "");
    return p.window_read_data_o;
  }
  std::vector<uint8_t> ReadWindow(size_t bytes) {
    std::vector<uint8_t> result;
    for (uint32_t word = 0; word < (bytes + 3) / 4; ++word) {
      const uint32_t data = Read(word);
      for (int i = 0; i < 4; ++i) result.push_back(static_cast<uint8_t>(data >> (8 * i)));
    }
    result.resize(bytes);
    return result;
  }
  std::vector<uint8_t> FillWindow(size_t bytes) {
    std::vector<uint8_t> result;
    for (uint32_t word = 0; word < (bytes + 3) / 4; ++word) {
      const auto data = static_cast<uint32_t>(random());
      window_write = {word, data};
      EXPECT_EQ(bench.Run(1), "");
      for (int i = 0; i < 4; ++i) result.push_back(static_cast<uint8_t>(data >> (8 * i)));
    }
    result.resize(bytes);
    return result;
  }
  std::vector<uint32_t> Lengths(size_t count, uint32_t limit) {
    std::vector<uint32_t> lengths(count);
    for (auto& length : lengths) length = static_cast<uint32_t>(sim::UniformBelow(random, limit));
    return lengths;
  }
};

// --- Copies ----------------------------------------------------------------------------------------------------------

TEST(Mailbox, CopiesAnyPartOfARequest) {
  Bench bench;
  for (int i = 0; i < 60; ++i) {
    const auto chain = bench.MakeChain(bench.Lengths(1 + i % 7, i % 3 == 0 ? 20 : 300), bench.Lengths(i % 3, 30));
    const auto request = bench.BytesIn(chain, false);
    bench.ring.push_back(chain);
    bench.Ring();
    bench.UntilRequest();
    ASSERT_EQ(bench.p.request_bytes_o, request.size());
    ASSERT_EQ(bench.p.response_bytes_o, bench.BytesIn(chain, true).size());
    for (size_t offset = 0; offset < request.size(); offset += 1 + sim::UniformBelow(bench.random, 200)) {
      bench.Fetch(static_cast<uint32_t>(offset));
      ASSERT_TRUE(bench.p.request_o);
      ASSERT_FALSE(bench.p.dma_error_o);
      const size_t bytes = std::min(request.size() - offset, Mailbox::kWindowBytes);
      std::vector<uint8_t> expected(request.begin() + static_cast<ptrdiff_t>(offset),
                                    request.begin() + static_cast<ptrdiff_t>(offset + bytes));
      // Nothing of earlier commands stands behind it in its row.
      expected.resize((bytes + spec::kDmaFetchBytes - 1) / spec::kDmaFetchBytes * spec::kDmaFetchBytes);
      ASSERT_EQ(bench.ReadWindow(expected.size()), expected);
    }
    bench.Complete(0);
    bench.Until([&] { return bench.completion.count == static_cast<uint64_t>(i) + 1; });
  }
  EXPECT_GT(bench.with_id, 3u);
  EXPECT_LT(bench.with_id, 57u);
}

TEST(Mailbox, WritesExactlyTheResponse) {
  Bench bench;
  for (int i = 0; i < 60; ++i) {
    const auto chain = bench.MakeChain(bench.Lengths(i % 4, 50), bench.Lengths(1 + i % 5, i % 3 == 0 ? 20 : 300));
    auto expected = bench.BytesIn(chain, true);
    const auto before = bench.memory;
    bench.ring.push_back(chain);
    bench.Ring();
    bench.UntilRequest();
    const auto window = bench.FillWindow(Mailbox::kWindowBytes);
    const size_t room = std::min(expected.size(), window.size());
    // Beyond the room nothing is written; if it were, it would stay in the window.
    const size_t bytes = i % 4 == 0 ? 10'000 : sim::UniformBelow(bench.random, room + 1);
    bench.Complete(static_cast<uint32_t>(bytes));
    bench.Until([&] { return bench.completion.count == static_cast<uint64_t>(i) + 1; });
    const size_t written = std::min(bytes, room);
    std::copy(window.begin(), window.begin() + static_cast<ptrdiff_t>(written), expected.begin());
    ASSERT_EQ(bench.BytesIn(chain, true), expected);
    EXPECT_EQ(bench.memory.size(), before.size());
    const auto used = bench.completion_sink.sent().back().token;
    const spec::Buffer& last = bench.table;
    EXPECT_EQ(used, (spec::Completion{.vq_index = kControlQueue,
                                      .head = bench.base,
                                      .used_bytes = static_cast<uint32_t>(written),
                                      .has_id = last.has_id,
                                      .id = last.id,
                                      .next_position = last.has_id ? last.next_index : uint16_t{0}}));
  }
}

TEST(Mailbox, OneDoorbellServesAllPendingCommands) {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.ring.push_back(bench.MakeChain({8}, {4}));
  bench.Ring();
  for (int i = 0; i < 5; ++i) {
    bench.UntilRequest();
    EXPECT_FALSE(bench.p.idle_o);
    bench.Complete(4);
  }
  bench.Run(50);
  EXPECT_FALSE(bench.p.request_o);
  EXPECT_TRUE(bench.p.idle_o);
  EXPECT_EQ(bench.completion.count, 5u);
  EXPECT_EQ(bench.buffer_request.count, 5 * 2 + 1u);
}

TEST(Mailbox, LongestChainIsAccepted) {
  Bench bench;
  bench.ring.push_back(bench.MakeChain(std::vector<uint32_t>(Mailbox::kChainEntries - 1, 9), {500}));
  const auto request = bench.BytesIn(bench.ring.front(), false);
  bench.Ring();
  bench.UntilRequest();
  EXPECT_EQ(bench.p.request_bytes_o, request.size());
  bench.Fetch(55);
  EXPECT_EQ(bench.ReadWindow(512), std::vector<uint8_t>(request.begin() + 55, request.end()));
  bench.Complete(500);
  EXPECT_EQ(bench.queue_failure.count, 0u);
  // As many writes as possible: each descriptor lies within one row.
  bench.ring.push_back(bench.MakeChain({}, std::vector<uint32_t>(Mailbox::kChainEntries, 8)));
  bench.done.rate = 0;
  bench.Ring();
  bench.UntilRequest();
  bench.complete = 512;
  bench.Until([&] { return bench.done.tokens.size() == Mailbox::kChainEntries; });
  bench.Run(20);
  EXPECT_EQ(bench.completion.count, 1u);
  bench.done.rate = 16;
  bench.Run(100);
  EXPECT_EQ(bench.completion.count, 2u);
}

// --- Errors ----------------------------------------------------------------------------------------------------------

// Descriptor fetch has reported the queues that it has stopped; no others are reported twice.
TEST(Mailbox, BadChainBreaksTheControlQueueUntilAReset) {
  Bench bench;
  std::vector<Chain> bad;
  bad.push_back(bench.MakeChain({4}, {4}));
  bad.back().push_back({0x1000, 4, false});  // readable behind writable
  bad.push_back(bench.MakeChain(std::vector<uint32_t>(Mailbox::kChainEntries + 1, 1), {}));
  bad.push_back(bench.MakeChain({}, std::vector<uint32_t>(Mailbox::kChainEntries + 1, 1)));
  bad.push_back({{0x1000, 0xffffffff, false}, {0x1000, 1, false}});
  bad.push_back({{0x1000, 0x80000000, true}, {0x1000, 0x80000000, true}});
  bad.push_back({{0x1000, 4, false, BufferStatus::kFailed}});
  bad.push_back({{0x1000, 4, false}, {0x1000, 4, true, BufferStatus::kFailed}});
  bad.push_back({{0x1000, 4, false, static_cast<BufferStatus>(3)}});
  bool by_queue = false;
  uint64_t failures = 0;
  for (const auto& chain : bad) {
    const uint64_t requests = bench.buffer_request.count;
    bench.ring = {chain, bench.MakeChain({4}, {4})};
    bench.Ring();
    bench.Until([&] { return bench.ring.size() == 1 && bench.p.idle_o; });
    if (chain.back().status == BufferStatus::kOk) ++failures;
    ASSERT_EQ(bench.queue_failure.count, failures);
    if (failures != 0) {
      EXPECT_EQ(bench.failure_sink.sent().back().token,
                (spec::QueueFailure{.vq_index = kControlQueue, .code = spec::RdmaError::kBadDescriptor}));
    }
    EXPECT_GT(bench.buffer_request.count, requests);
    const uint64_t after = bench.buffer_request.count;
    bench.Ring();  // not served, and not in the way
    bench.fetch = 0;
    bench.Run(20);
    bench.complete = 0;
    bench.Run(100);
    EXPECT_EQ(bench.buffer_request.count, after);
    EXPECT_FALSE(bench.p.request_o);
    EXPECT_TRUE(bench.p.idle_o);
    EXPECT_EQ(bench.queue_failure.count, failures);
    by_queue = !by_queue;
    if (by_queue) {
      bench.WriteRow(kControlQueue, false);
    } else {
      bench.reset = true;
    }
    bench.Run(5);
    bench.Ring();
    bench.UntilRequest();
    bench.Complete(0);
    bench.Run(20);
  }
  EXPECT_EQ(failures, 5u);
}

TEST(Mailbox, LengthSumsUpTo32BitsAreAccepted) {
  Bench bench;
  bench.ring.push_back({{0x1000, 0xfffffffe, false}, {0, 1, false}, {0x1000, 0xffffffff, true}});
  bench.memory[0] = 0x5a;
  bench.Ring();
  bench.UntilRequest();
  EXPECT_EQ(bench.p.request_bytes_o, 0xffffffffu);
  EXPECT_EQ(bench.p.response_bytes_o, 0xffffffffu);
  bench.Fetch(0xfffffffe);
  EXPECT_EQ(bench.Read(0), 0x5au);
}

TEST(Mailbox, FailedFetchIsReportedAndCanBeRepeated) {
  Bench bench;
  bench.ring.push_back(bench.MakeChain({100, 100}, {10}));
  bench.Ring();
  bench.UntilRequest();
  bench.fetch_errors = 16;
  bench.Fetch(0);
  EXPECT_TRUE(bench.p.dma_error_o);
  EXPECT_TRUE(bench.p.request_o);
  EXPECT_EQ(bench.fetch_request.count, 1u);
  bench.fetch_errors = 0;
  bench.Fetch(0);
  EXPECT_FALSE(bench.p.dma_error_o);
  EXPECT_EQ(bench.ReadWindow(200), bench.BytesIn(bench.chain, false));
  bench.fetch_errors = 16;
  bench.Fetch(0);
  bench.Complete(10);
  bench.Run(20);
  EXPECT_EQ(bench.completion.count, 1u);
}

TEST(Mailbox, FailedResponseWriteBreaksTheControlQueue) {
  Bench bench;
  for (const bool by_queue : {false, true}) {
    const uint64_t failures = bench.queue_failure.count, completions = bench.completion.count;
    bench.ring.push_back(bench.MakeChain({4}, {400}));
    bench.Ring();
    bench.UntilRequest();
    bench.store_errors = 16;
    bench.queue_failure.rate = 0;  // its report may wait: the queue is not idle meanwhile
    bench.complete = 100;
    bench.Run(200);
    EXPECT_FALSE(bench.p.idle_o || bench.p.request_o || bench.p.busy_o);
    EXPECT_TRUE(bench.p.queue_failure_valid_o);
    bench.queue_failure.rate = 16;
    bench.Run(50);
    EXPECT_TRUE(bench.p.idle_o);
    ASSERT_EQ(bench.queue_failure.count, failures + 1);
    EXPECT_EQ(bench.failure_sink.sent().back().token,
              (spec::QueueFailure{.vq_index = kControlQueue, .code = spec::RdmaError::kQueueDmaError}));
    EXPECT_EQ(bench.completion.count, completions);
    EXPECT_FALSE(bench.p.request_o || bench.p.busy_o);
    // The next lifetime does not inherit it.
    bench.store_errors = 0;
    if (by_queue) {
      bench.WriteRow(kControlQueue, false);
    } else {
      bench.reset = true;
    }
    bench.Run(5);
    bench.ring.push_back(bench.MakeChain({4}, {400}));
    bench.Ring();
    bench.UntilRequest();
    bench.Complete(100);
    bench.Run(20);
    EXPECT_EQ(bench.completion.count, completions + 1);
    EXPECT_EQ(bench.queue_failure.count, failures + 1);
  }
}

// The bus refuses the used element or index of a command, in every cycle from its start to the end of the next one.
TEST(Mailbox, RefusedUsedWriteEndsTheCommandsBehindIt) {
  uint64_t discarded = 0;
  for (uint64_t when = 3; when < 300; ++when) {  // the doorbell is taken
    SCOPED_TRACE(when);
    Bench bench;
    for (int i = 0; i < 3; ++i) bench.ring.push_back(bench.MakeChain({70}, {20}));
    bench.Ring();
    const auto serve = [&] {
      if (!bench.p.request_o || bench.p.busy_o) return;
      if (bench.fetch_request.count < 2 * (bench.completion.count + 1)) {
        bench.fetch = 0;
      } else {
        bench.complete = 20;
      }
    };
    for (uint64_t cycle = 0; cycle < when; ++cycle) {
      serve();
      bench.Run(1);
    }
    const bool was_waiting = bench.p.request_o;
    bench.Stop(kControlQueue);
    bench.Run(2);
    const uint64_t completions = bench.completion.count, requests = bench.buffer_request.count;
    const bool is_completing = bench.p.busy_o && bench.p.completion_valid_o;
    EXPECT_FALSE(bench.p.request_o);
    for (uint64_t cycle = 0; cycle < 300; ++cycle) {
      bench.fetch = 0;
      bench.Run(1);
      bench.complete = 20;
      bench.Run(1);
      ASSERT_FALSE(bench.p.request_o);
    }
    EXPECT_TRUE(bench.p.idle_o);
    EXPECT_FALSE(bench.p.busy_o);
    EXPECT_LE(bench.buffer_request.count, requests + 1);  // the one that was offered
    EXPECT_LE(bench.completion.count, completions + (is_completing ? 1 : 0));
    EXPECT_EQ(bench.queue_failure.count, 0u);  // cq_writer has reported it
    if (was_waiting) ++discarded;
    // Not served, until a reset.
    const uint64_t after = bench.buffer_request.count;
    bench.ring = {bench.MakeChain({4}, {4})};
    bench.Ring();
    bench.Run(100);
    EXPECT_EQ(bench.buffer_request.count, after);
    if (when % 2 == 0) {
      bench.WriteRow(kControlQueue, false);
    } else {
      bench.reset = true;
    }
    bench.Run(5);
    bench.Ring();
    bench.UntilRequest();
    const uint64_t before = bench.completion.count;
    bench.Complete(4);
    bench.Run(10);
    EXPECT_EQ(bench.completion.count, before + 1);
  }
  EXPECT_GT(discarded, 50u);
}

TEST(Mailbox, RefusedUsedWriteOfTheLastCommandStopsTheQueueThatIsIdle) {
  Bench bench;
  bench.ring = {bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.UntilRequest();
  bench.Complete(4);
  bench.Run(50);
  ASSERT_TRUE(bench.p.idle_o);
  const uint64_t requests = bench.buffer_request.count;
  bench.Stop(kControlQueue);
  bench.Run(2);
  bench.ring = {bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.Run(100);
  EXPECT_EQ(bench.buffer_request.count, requests);
  EXPECT_TRUE(bench.p.idle_o);
  // A stop of the lifetime that has ended, in the cycle of its reset or behind it, does not concern the next one.
  for (const uint64_t behind : {0, 1, 2, 9}) {
    bench.WriteRow(kControlQueue, false);
    if (behind != 0) bench.Run(behind);
    bench.Stop(kControlQueue);
    bench.Run(5);
    bench.ring = {bench.MakeChain({4}, {4})};
    bench.Ring();
    bench.UntilRequest();
    bench.Complete(4);
    bench.Run(20);
    EXPECT_EQ(bench.ring.size(), 0u);
  }
  // Nor does one of another queue.
  bench.Stop(kControlQueue - 1);
  bench.Run(5);
  bench.ring = {bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.UntilRequest();
}

TEST(Mailbox, FetchBehindTheRequestCopiesNothing) {
  Bench bench;
  bench.ring.push_back(bench.MakeChain({30, 0, 34}, {4}));
  bench.Ring();
  bench.UntilRequest();
  for (const uint32_t offset : {64u, 65u, 0xffffffffu}) {
    bench.Fetch(offset);
    EXPECT_FALSE(bench.p.dma_error_o);
    EXPECT_EQ(bench.fetch_request.count, 0u);
  }
}

TEST(Mailbox, FirmwareAccessesAreIgnoredWhileBusyOrWithoutACommand) {
  Bench bench;
  bench.fetch = 0;
  bench.Run(10);
  bench.complete = 4;
  bench.Run(10);
  EXPECT_EQ(bench.fetch_request.count + bench.store.count + bench.completion.count, 0u);
  EXPECT_TRUE(bench.p.idle_o);

  bench.ring.push_back(bench.MakeChain({300}, {300}));
  bench.Ring();
  bench.UntilRequest();
  const auto window = bench.FillWindow(300);
  bench.store.rate = 0;
  bench.complete = 300;
  bench.Run(80);  // while the first write waits
  ASSERT_TRUE(bench.p.busy_o && bench.p.store_valid_o);
  bench.window_write = {0, ~uint32_t{0}};
  bench.Run(1);
  EXPECT_EQ(bench.Read(1), 0u);
  bench.fetch = 0;
  bench.Run(1);
  bench.complete = 1;
  bench.Run(1);
  bench.store.rate = 16;
  bench.Run(400);
  EXPECT_EQ(bench.BytesIn(bench.chain, true), window);
  EXPECT_EQ(bench.completion_sink.sent().back().token.used_bytes, 300u);
  EXPECT_EQ(bench.fetch_request.count, 0u);
}

TEST(Mailbox, QueueThatIsNoLongerServedIsNoError) {
  Bench bench;
  bench.ring = {{{0x1000, 4, false}, {0x1000, 4, true, BufferStatus::kEmpty}}, bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.Run(50);
  EXPECT_TRUE(bench.p.idle_o);
  EXPECT_EQ(bench.queue_failure.count, 0u);
  bench.Ring();
  bench.UntilRequest();
}

// In every cycle of a command: a reset of the device, or of the queue.
void ExpectResetDiscardsTheCommand(bool by_queue) {
  for (uint64_t when = 1; when < 360; ++when) {
    Bench bench;
    bench.ring.push_back(bench.MakeChain({70, 3}, {130}));
    bench.Ring();
    bool fetches = false;
    bool completes = false;
    for (uint64_t cycle = 0; cycle < when; ++cycle) {
      if (bench.p.request_o && !bench.p.busy_o && !std::exchange(fetches, true)) {
        bench.fetch = 0;
      } else if (bench.p.request_o && !bench.p.busy_o && bench.fetch_request.count == 3 &&
                 !std::exchange(completes, true)) {
        bench.complete = 130;
      }
      bench.Run(1);
    }
    bench.fetched.rate = bench.done.rate = bench.buffer.rate = 0;
    if (by_queue) {
      bench.WriteRow(kControlQueue, false);
    } else {
      bench.reset = true;
    }
    bench.ring.clear();
    bench.Run(150);  // the copy of a piece is not broken off
    EXPECT_FALSE(bench.p.request_o);
    const bool waits = !bench.fetched.tokens.empty() || !bench.done.tokens.empty() || !bench.buffer.tokens.empty();
    if (waits) {
      EXPECT_FALSE(bench.p.idle_o);
    }
    bench.fetched.rate = bench.done.rate = bench.buffer.rate = 16;
    bench.Run(100);
    EXPECT_FALSE(bench.p.request_o || bench.p.busy_o) << when;
    EXPECT_TRUE(bench.p.idle_o) << when;
    // The next lifetime.
    const uint64_t completions = bench.completion.count;
    bench.ring = {bench.MakeChain({4}, {4})};
    bench.Ring();
    bench.UntilRequest();
    EXPECT_EQ(bench.p.request_bytes_o, 4u);
    bench.Complete(4);
    bench.Run(10);
    EXPECT_EQ(bench.completion.count, completions + 1);
  }
}
TEST(Mailbox, DeviceResetDiscardsTheCommandAfterItsDma) { ExpectResetDiscardsTheCommand(false); }
TEST(Mailbox, QueueResetDiscardsTheCommandAfterItsDma) { ExpectResetDiscardsTheCommand(true); }

TEST(Mailbox, ResetOfAnotherQueueHasNoEffect) {
  Bench bench;
  bench.ring = {bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.UntilRequest();
  bench.WriteRow(kControlQueue - 1, false);
  bench.WriteRow(kControlQueue, true);
  bench.Run(20);
  EXPECT_TRUE(bench.p.request_o);
  bench.Complete(4);
  // Readable behind writable: broken.
  bench.ring = {{{0x1000, 4, true}, {0x2000, 4, false}}};
  bench.Ring();
  bench.Run(50);
  ASSERT_EQ(bench.queue_failure.count, 1u);
  bench.WriteRow(kControlQueue - 1, false);
  bench.WriteRow(kControlQueue, true);
  bench.ring = {bench.MakeChain({4}, {4})};
  bench.Ring();
  bench.Run(50);
  EXPECT_FALSE(bench.p.request_o);
  EXPECT_EQ(bench.queue_failure.count, 1u);
  bench.reset = true;
  bench.Run(5);
  bench.Ring();
  bench.UntilRequest();
}

// --- Latencies -------------------------------------------------------------------------------------------------------

TEST(Mailbox, StepsMeetDocumentedLatencies) {
  Bench bench;
  bench.buffer.rate = bench.fetched.rate = bench.done.rate = 0;
  bench.ring.push_back(bench.MakeChain({64}, {128}));
  bench.chain.clear();
  bench.Ring();
  Cycle from = bench.bench.cycle();
  bench.Run(Mailbox::kDoorbellLatency);
  EXPECT_EQ(bench.buffer_request.count, 0u);
  bench.Run(1);
  ASSERT_EQ(bench.buffer_request.count, 1u);
  EXPECT_EQ(bench.request_sink.sent()[0].cycle, from + Mailbox::kDoorbellLatency);

  bench.buffer.rate = 16;
  bench.Until([&] { return bench.buffer_request.count == 2; });
  bench.buffer.rate = 0;
  bench.Run(10);
  bench.buffer.rate = 16;
  bench.Run(1);  // the last one is accepted in this cycle
  bench.Run(Mailbox::kRequestLatency - 2);
  EXPECT_FALSE(bench.p.request_o);
  bench.Run(1);
  EXPECT_TRUE(bench.p.request_o);

  bench.fetch = 0;
  from = bench.bench.cycle();
  bench.Run(10);
  ASSERT_EQ(bench.fetch_request.count, 1u);
  EXPECT_EQ(bench.fetch_sink.sent()[0].cycle, from + Mailbox::kFetchLatency);
  bench.fetched.rate = 16;
  bench.Run(1);
  bench.Run(64 + Mailbox::kFetchDoneLatency - 2);
  EXPECT_TRUE(bench.p.busy_o);
  bench.Run(1);
  EXPECT_FALSE(bench.p.busy_o);

  bench.complete = 128;
  from = bench.bench.cycle();
  bench.Run(2 * 64 + 20);
  ASSERT_EQ(bench.store.count, 2u);
  EXPECT_EQ(bench.store_sink.sent()[0].cycle, from + 64 + Mailbox::kStoreLatency);
  EXPECT_EQ(bench.store_sink.sent()[1].cycle, from + 2 * (64 + Mailbox::kStoreLatency));
  bench.done.rate = 16;
  from = bench.bench.cycle() + 1;  // the second one's
  bench.Run(10);
  ASSERT_EQ(bench.completion.count, 1u);
  EXPECT_EQ(bench.completion_sink.sent()[0].cycle, from + Mailbox::kCompletionLatency);

  // Likewise, if a write was refused.
  bench.ring.push_back(bench.MakeChain({64}, {64}));
  bench.Ring();
  bench.UntilRequest();
  bench.done.rate = 0;
  bench.store_errors = 16;
  bench.complete = 64;
  bench.Run(64 + 20);
  bench.done.rate = 16;
  from = bench.bench.cycle();
  bench.Run(10);
  ASSERT_EQ(bench.queue_failure.count, 1u);
  EXPECT_EQ(bench.failure_sink.sent()[0].cycle, from + Mailbox::kCompletionLatency);
}

// --- RTL against model -----------------------------------------------------------------------------------------------

TEST(Mailbox, MatchesModelInRandomTraffic) {
  for (const unsigned in_rate : {16u, 5u}) {
    for (const unsigned out_rate : {16u, 4u}) {
      for (const bool wild : {false, true}) {
        Bench bench;
        auto& random = bench.random;
        bench.buffer.rate = bench.fetched.rate = bench.done.rate = in_rate;
        bench.buffer_request.rate = bench.fetch_request.rate = bench.store.rate = bench.completion.rate = out_rate;
        bench.queue_failure.rate = out_rate;
        bench.fetch_errors = bench.store_errors = wild ? 1 : 0;
        bench.orphans = wild ? 1 : 0;
        bench.choose = [&] {
          if (bench.ring.empty() && random() % 64 == 0) {
            auto chain = bench.MakeChain(bench.Lengths(random() % 6, 100), bench.Lengths(random() % 4, 200));
            if (chain.empty()) chain = bench.MakeChain({}, {1});
            if (wild && random() % 4 == 0) {
              auto& descriptor = chain[random() % chain.size()];
              descriptor.writable = random() % 2;
              descriptor.bytes = random() % 4 == 0 ? static_cast<uint32_t>(random()) : descriptor.bytes;
              descriptor.status = random() % 8 == 0 ? BufferStatus::kFailed : BufferStatus::kOk;
            }
            bench.ring.push_back(chain);
          }
          if (bench.control_doorbell.tokens.empty() && random() % 32 == 0) bench.Ring();
          bench.reset = wild && random() % 400 == 0;
          if (wild && random() % 500 == 0) bench.Stop(static_cast<uint16_t>(kControlQueue + random() % 2));
          if (wild && random() % 200 == 0) {
            bench.WriteRow(static_cast<uint16_t>(kControlQueue + random() % 2), random() % 2 == 0);
          }
          if (!wild && bench.p.busy_o) return;
          switch (random() % 32) {
            case 0: bench.complete = static_cast<uint32_t>(sim::UniformBelow(random, 700)); break;
            case 1:
            case 2: bench.fetch = static_cast<uint32_t>(sim::UniformBelow(random, 400)); break;
            case 3:
            case 4:
            case 5: bench.window_write = {random() % kWords, static_cast<uint32_t>(random())}; break;
            case 6:
            case 7: bench.window_read = random() % kWords; break;
            default: break;
          }
        };
        bench.Run(30'000);
        EXPECT_GT(bench.completion.count, wild ? 10u : 50u);
        EXPECT_GT(bench.fetch_request.count, wild ? 30u : 100u);
        EXPECT_EQ(bench.queue_failure.count > 0, wild);
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
