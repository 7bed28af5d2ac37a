// SPDX-License-Identifier: Apache-2.0
// The receive queue: RTL against model in every cycle, and both against rings, descriptors and memory kept by the test.
#include "model/rdma/recv_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vrecv_queue.h"
#include "model/dma/dma_split.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::RecvQueue;
using spec::BufferStatus;
using spec::IbQpState;
using spec::RdmaError;

constexpr spec::Config MakeConfig() {
  spec::Config config = spec::kNic1;  // as the Verilated class was made
  config.net_queue_pairs = 3;
  config.num_cqs = 16;
  config.num_qps = 16;
  config.max_recv_sge = 4;
  config.max_send_sge = 7;
  return config;
}
constexpr spec::Config kConfig = MakeConfig();
constexpr RecvQueue::Sizes kSizes = {.ahead = 8, .requests = 4, .fetches = 8};
constexpr uint32_t kReadElements = 4;                // in one read of a list
constexpr uint32_t kFirstQueue = 2 * 3 + 16 + 2;     // with mq
constexpr uint32_t kFirstQueueOne = 2 * 1 + 16 + 2;  // without

// Contents of host memory, except the number of elements.
uint64_t Hash(uint64_t address) {
  address ^= address >> 31;
  address *= 0x9e3779b97f4a7c15;
  return address ^ address >> 29;
}
uint8_t ByteAt(uint64_t address) { return static_cast<uint8_t>(Hash(address) >> 17); }

struct Posted {
  uint16_t head = 0;
  uint64_t address = 0;
  uint32_t bytes = 24 + 4 * 16;
  uint32_t num_sge = 4;
  bool writable = false;
  bool more = false;
};

struct Bench {
  explicit Bench(bool mq = true) : bench(rtl, agenda, random) {
    SetMq(mq);
    block.receive_out.Connect(receive_sink, block);
    block.receive_retry_out.Connect(retry_sink, block);
    block.buffer_request_out.Connect(ask_sink, block);
    block.fetch_request_out.Connect(fetch_sink, block);
    block.queue_failure_out.Connect(failure_sink, block);
    // Descriptor fetch.
    ask.on_token = [this](Cycle, const spec::BufferRequest& token) {
      EXPECT_EQ(token.client, spec::BufferClient::kReceive);
      EXPECT_FALSE(token.by_index);
      ASSERT_TRUE(token.vq_index >= first_queue && (token.vq_index - first_queue) % 2 == 0);
      const uint32_t qpn = (token.vq_index - first_queue) / 2u;
      ASSERT_LT(qpn, kConfig.num_qps);
      EXPECT_TRUE(token.count >= 1 && token.count <= spec::kReceiveBuffersPerRequest);
      // Room for all of them; the one that makes the room is being delivered.
      if (!may_skip[qpn]) {
        size_t coming = 0;
        for (const Asking& other : asking) coming += other.qpn == qpn ? other.count : 0;
        EXPECT_LE(given[qpn].size() + coming + token.count, kSizes.ahead + 1);
      }
      EXPECT_LE(++asked[qpn], RecvQueue::kRequestsPerQueue);
      asking.push_back({qpn, token.count});
      EXPECT_LE(asking.size(), kSizes.requests);
      if (!hold_answers) AnswerAll();
    };
    // Host memory.
    fetch.on_token = [this](Cycle, const spec::DmaReadRequest& token) {
      ASSERT_TRUE(token.bytes >= 1 && token.bytes <= spec::kDmaFetchBytes);
      spec::DmaFetched answer{.tag = token.tag};
      const bool fails = Fails(token.address);
      if (fails) answer.resp = static_cast<uint8_t>(random() % 2 == 0 ? AxiResp::kSlverr : AxiResp::kDecerr);
      for (size_t i = 0; i < token.bytes; ++i) {
        answer.data[i] = fails ? static_cast<uint8_t>(random()) : Memory(token.address, i);
      }
      fetched.tokens.push_back(answer);
      if (wanted && wanted->element) NoteListRead(token, fails);
      EXPECT_LE(++reads - fetched.accepted, kSizes.fetches);
    };
    receive.on_token = [this](Cycle, const spec::Receive& token) { Check(token); };
    retry.on_token = [this](Cycle, const spec::ReceiveRetry& token) {
      ASSERT_LT(token.qpn, kConfig.num_qps);
      ASSERT_TRUE(pending[token.qpn]) << "a retry of QP " << token.qpn << " without a request";
      pending[token.qpn] = false;
      retries.push_back(token.qpn);
    };
    failure.on_token = [this](Cycle, const spec::QueueFailure& token) {
      (token.code == RdmaError::kOk ? limits : failures).push_back(token);
    };
    EXPECT_EQ(Run(kConfig.num_qps), "");  // the sets of QPs are cleared
  }

  struct Asking {
    uint32_t qpn;
    uint32_t count;
  };
  uint16_t QueueOf(uint32_t qpn) const { return static_cast<uint16_t>(first_queue + 2 * qpn); }
  bool Fails(uint64_t address) const { return address == faulty || Hash(address + 1) % 1000 < fault_rate; }
  uint8_t Memory(uint64_t address, size_t offset) const {
    const auto at = num_sge_at.find(address);
    if (at != num_sge_at.end() && offset >= 8 && offset < 12) {
      return static_cast<uint8_t>(at->second >> 8 * (offset - 8));
    }
    return ByteAt(address + offset);
  }
  // One answer, with the ring's present contents.
  void Answer() {
    const auto [qpn, count] = asking.front();
    asking.pop_front();
    const uint16_t vq = QueueOf(qpn);
    --asked[qpn];
    const auto got = static_cast<uint32_t>(std::min<size_t>(count, ring[qpn].size()));
    broken_reported[qpn] = broken[qpn];
    if (got < count) {
      found_end[qpn] = true;
      full[qpn].reset();
    } else {
      full[qpn] = ring[qpn].front().head;
    }
    for (uint32_t i = 0; i < got; ++i) {
      const Posted posted = ring[qpn].front();
      ring[qpn].pop_front();
      given[qpn].push_back(posted);
      buffer.tokens.push_back({.status = BufferStatus::kOk,
                               .last = i + 1 == got && !broken[qpn],
                               .vq_index = vq,
                               .head = posted.head,
                               .address = posted.address,
                               .bytes = posted.bytes,
                               .writable = posted.writable,
                               .more = posted.more,
                               .next_index = static_cast<uint16_t>(random()),
                               .has_id = has_ids,
                               .id = IdOf(posted.head)});
    }
    if (got == 0 || broken[qpn]) {
      buffer.tokens.push_back({.status = broken[qpn] ? BufferStatus::kFailed : BufferStatus::kEmpty,
                               .last = true,
                               .vq_index = vq,
                               .head = static_cast<uint16_t>(random()),
                               .address = random(),
                               .bytes = 4096});
    }
  }
  void AnswerAll() {
    while (!asking.empty()) Answer();
  }

  static uint16_t IdOf(uint16_t head) { return static_cast<uint16_t>(head ^ 0x5a5a); }
  // As firmware writes the entry of a shared receive queue: armed, if there is a position.
  void SetShared(uint32_t queue, std::optional<uint16_t> position = {}) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = queue};
    spec::TableQpContext{.srq = position.value_or(0), .is_srq = true, .limit_armed = position.has_value()}.Encode(
        write.data);
    table.tokens.push_back(write);
  }
  void SetPacked(bool packed) {
    p.ring_packed_i = packed;
    block.SetRingPacked(bench.cycle(), packed);
    has_ids = packed;
  }

  spec::Receive Expected(const Posted& posted) const {
    spec::Receive expected{.status = BufferStatus::kFailed, .head = posted.head};
    if (posted.writable || posted.more) {
      expected.code = RdmaError::kBadDescriptor;
    } else if (posted.bytes < 24) {
      expected.code = RdmaError::kBadWqe;
    } else if (Fails(posted.address)) {
      expected.code = RdmaError::kQueueDmaError;
    } else {
      for (size_t i = 8; i-- != 0;) expected.wr_id = expected.wr_id << 8 | Memory(posted.address, i);
      if (posted.num_sge > 4 || posted.bytes < 24 + 16 * posted.num_sge) {
        expected.code = RdmaError::kBadWqe;
      } else {
        expected.status = BufferStatus::kOk;
        expected.elements = posted.address + 24;
        expected.num_sge = static_cast<uint8_t>(posted.num_sge);
        for (size_t i = 0; i < 16 && posted.num_sge != 0; ++i) expected.sge[i] = Memory(posted.address, 24 + i);
      }
    }
    return expected;
  }
  void Check(const spec::Receive& token) {
    ASSERT_TRUE(wanted.has_value());
    const Wanted want = *wanted;
    wanted.reset();
    got.push_back(token);
    if (want.element) {
      ASSERT_EQ(want.reads, want.reads_due) << "reads for an element";
      spec::Receive expected;
      if (lists[want.qpn].failed.at(want.address)) {
        expected = {.status = BufferStatus::kFailed, .code = RdmaError::kQueueDmaError};
      } else {
        for (size_t i = 0; i < 16; ++i) expected.sge[i] = ByteAt(want.address + i);
      }
      ASSERT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
      return;
    }
    const uint32_t qpn = want.qpn;
    if (token.status == BufferStatus::kPending) {
      ASSERT_TRUE(want.no_wait);
      ASSERT_EQ(token, spec::Receive{.status = BufferStatus::kPending}) << TokenText(token);
      pending[qpn] = true;
      return;
    }
    if (want.no_wait) pending[qpn] = false;
    if (token.status == BufferStatus::kEmpty) {
      ASSERT_FALSE(want.no_wait);
      ASSERT_EQ(token, spec::Receive{.status = BufferStatus::kEmpty}) << TokenText(token);
      // What is posted to a queue whose end was seen is fetched when it rings.
      ASSERT_FALSE(want.posted && !want.cleared && !found_end[qpn]) << "a receive that was posted before was not found";
      return;
    }
    if (token.status == BufferStatus::kFailed && token.code == RdmaError::kOk) {
      ASSERT_EQ(token, spec::Receive{.status = BufferStatus::kFailed}) << TokenText(token);
      ASSERT_TRUE(broken_reported[qpn]);
      return;
    }
    if (token.code != RdmaError::kOk) expected_failures.push_back({.vq_index = QueueOf(qpn), .code = token.code});
    // Was being delivered when it was discarded.
    const auto is_token = [&](const Posted& posted) { return token == Expected(posted); };
    if (std::any_of(want.old.begin(), want.old.end(), is_token)) return;
    // The next one in order. After a clear, those of one request may be missing.
    size_t skipped = 0;
    while (!given[qpn].empty() && given[qpn].front().head != token.head) {
      ASSERT_TRUE(may_skip[qpn]);
      ++skipped;
      given[qpn].pop_front();
    }
    ASSERT_LE(skipped, spec::kReceiveBuffersPerRequest);
    ASSERT_FALSE(given[qpn].empty());
    const spec::Receive expected = Expected(given[qpn].front());
    ASSERT_EQ(token, expected) << TokenText(token) << "\nexpected " << TokenText(expected);
    if (full[qpn] == given[qpn].front().head) found_end[qpn] = false;
    given[qpn].pop_front();
    may_skip[qpn] = false;
    ++came[qpn];
  }
  void OnState(Cycle cycle, const spec::QpStateWrite& write) {
    block.OnQpStateWrite(cycle, write);
    if (!write.clear) return;
    auto& kept = given[write.qpn];
    if (wanted && !wanted->element && wanted->qpn == write.qpn) {
      wanted->cleared = true;
      wanted->old.insert(wanted->old.end(), kept.begin(), kept.end());
    }
    kept.clear();
    may_skip[write.qpn] = true;
  }

  Posted& Post(uint32_t qpn, uint32_t count = 1) {
    for (; count != 0; --count) {
      const auto num_sge = static_cast<uint32_t>(random() % 5);
      Add(qpn, {.bytes = 24 + 16 * num_sge, .num_sge = num_sge});
    }
    return ring[qpn].back();
  }
  void Add(uint32_t qpn, Posted posted) {
    posted.head = next_head++;
    if (posted.address == 0) posted.address = random() >> 4;
    num_sge_at[posted.address] = posted.num_sge;
    ring[qpn].push_back(posted);
    if (rings) rung.tokens.push_back({.qpn = qpn});
  }
  void Request(uint32_t qpn, bool no_wait = false) {
    ASSERT_FALSE(wanted.has_value());
    // After a clear, the answer to an earlier request is discarded: it may take receives posted since.
    const bool posted = !broken[qpn] && !may_skip[qpn] && (!ring[qpn].empty() || !given[qpn].empty());
    wanted = Wanted{.qpn = qpn, .no_wait = no_wait, .posted = posted};
    if (no_wait) pending[qpn] = true;
    // Bits unused in this device, and fields for elements only, are arbitrary.
    request.tokens.push_back({.qpn = qpn, .no_wait = no_wait, .address = random()});
  }
  // The first one of `elements` that are left of the QP's list; is_new: of another list than the one before.
  void RequestElement(uint64_t address, uint32_t elements = 1, bool is_new = true, uint32_t qpn = 5) {
    ASSERT_FALSE(wanted.has_value());
    List& list = lists[qpn];
    const uint64_t end = address + uint64_t{spec::RdmaSge::kBytes} * elements;
    wanted = Wanted{.qpn = qpn, .element = true, .address = address};
    if (is_new || list.end != end || list.elements < elements) {
      list = {.end = end, .elements = elements};
      wanted->reads_due = (elements + kReadElements - 1) / kReadElements;
    }
    request.tokens.push_back({.qpn = qpn,
                              .is_element = true,
                              .address = address,
                              .elements = static_cast<uint8_t>(elements),
                              .is_new = is_new});
  }
  // Bytes that were asked for of the list, in one piece and not behind its end.
  void NoteListRead(const spec::DmaReadRequest& token, bool fails) {
    List& list = lists[wanted->qpn];
    const uint64_t left = list.end - token.address;
    if (left == 0 || left > uint64_t{list.elements} * spec::RdmaSge::kBytes) return;  // of a work request
    ++wanted->reads;
    EXPECT_EQ(token.bytes, std::min<uint64_t>(left, kReadElements * spec::RdmaSge::kBytes));
    for (uint64_t at = 0; at < token.bytes; at += spec::RdmaSge::kBytes) list.failed[token.address + at] = fails;
  }
  // As `Take`.
  spec::Receive TakeElement(uint64_t address, uint32_t elements, bool is_new, uint32_t qpn = 5) {
    RequestElement(address, elements, is_new, qpn);
    EXPECT_EQ(Settle(), "");
    EXPECT_FALSE(wanted.has_value());
    return got.empty() ? spec::Receive{} : got.back();
  }
  // The answer to a request with no_wait, which host memory does not delay.
  BufferStatus Try(uint32_t qpn) {
    const size_t before = got.size();
    Request(qpn, true);
    EXPECT_EQ(Run(10), "");
    EXPECT_EQ(got.size(), before + 1);
    return got.back().status;
  }
  // The answer to a request, when it arrives.
  spec::Receive Take(uint32_t qpn) {
    if (!hold_answers) {
      EXPECT_EQ(Settle(), "");  // what was posted is fetched
    }
    Request(qpn);
    EXPECT_EQ(Settle(), "");
    EXPECT_FALSE(wanted.has_value());
    return got.empty() ? spec::Receive{} : got.back();
  }
  void SetState(uint32_t qpn, IbQpState to, bool clear = false) {
    state.tokens.push_back({.qpn = qpn, .state = to, .clear = clear});
  }
  void Clear(uint32_t qpn) { SetState(qpn, IbQpState::kReset, true); }

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
      if (table.IsEmpty() && rung.IsEmpty() && request.IsEmpty() && buffer.IsEmpty() && fetched.IsEmpty() &&
          state.IsEmpty() && block.IsIdle())
        return {};
    }
    return "the block does not become idle";
  }

  struct Wanted {
    uint32_t qpn = 0;
    bool element = false;
    bool no_wait = false;
    uint64_t address = 0;
    uint32_t reads = 0, reads_due = 0;  // of the element's list
    bool posted = false;                // there was a receive when it was requested
    bool cleared = false;               // its QP was cleared since
    std::vector<Posted> old = {};       // that were due when that happened
  };
  std::optional<Wanted> wanted;
  // The last one of which an element was requested, per QP: from where it was read, and which reads failed.
  struct List {
    uint64_t end = 0;
    uint32_t elements = 0;
    std::map<uint64_t, bool> failed = {};
  };
  List lists[16];
  std::vector<spec::Receive> got;
  std::deque<Posted> ring[16], given[16];  // posted; passed to the block and not delivered
  uint16_t next_head = 0;
  std::map<uint64_t, uint32_t> num_sge_at;  // by address of the work request
  unsigned asked[16]{};                     // requests that are not answered
  bool may_skip[16]{}, broken[16]{}, broken_reported[16]{};
  uint64_t came[16]{};
  bool found_end[16]{};  // an answer had fewer than were asked for, and of the next that had not no receive was
                         // delivered
  std::optional<uint16_t> full[16];  // the first receive of that one
  bool rings = true;                 // after each post
  bool pending[16]{};                // a retry may come
  std::vector<uint32_t> retries;
  std::deque<Asking> asking;
  std::vector<spec::QueueFailure> failures, expected_failures;
  std::vector<spec::QueueFailure> limits;  // reports of a shared queue's limit
  bool has_ids = false;                    // packed ring: buffers have ids, unlike their positions
  uint64_t reads = 0;
  bool hold_answers = false;
  unsigned fault_rate = 0;  // of 1,000 reads
  uint64_t faulty = ~uint64_t{0};
  uint32_t first_queue = 0;

  std::mt19937_64 random = sim::MakeRandom("recv_queue");
  Agenda agenda;
  RecvQueue block{agenda, kConfig, kSizes};
  Channel<spec::Receive> receive_sink = Channel<spec::Receive>::Sink();
  Channel<spec::ReceiveRetry> retry_sink = Channel<spec::ReceiveRetry>::Sink();
  Channel<spec::BufferRequest> ask_sink = Channel<spec::BufferRequest>::Sink();
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::QueueFailure> failure_sink = Channel<spec::QueueFailure>::Sink();
  RtlTop<Vrecv_queue> rtl{[](const Vrecv_queue& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.receive_request_ready_o, top.buffer_ready_o, top.fetched_ready_o, top.receive_valid_o,
                           top.receive_retry_valid_o, top.buffer_request_valid_o, top.fetch_request_valid_o,
                           top.queue_failure_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.receive_o);
    add(top.receive_retry_o);
    add(top.buffer_request_o);
    add(top.fetch_request_o);
    add(top.queue_failure_o);
  }};
  BlockBench<Vrecv_queue> bench;
  Vrecv_queue& p = rtl.ports();
  decltype(bench.In("", block.receive_request_in, p.receive_request_valid_i, p.receive_request_ready_o,
                    p.receive_request_i)) request =
      bench.In("receive_request", block.receive_request_in, p.receive_request_valid_i, p.receive_request_ready_o,
               p.receive_request_i);
  decltype(bench.In("", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i)) buffer =
      bench.In("buffer", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i);
  decltype(bench.In("", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i)) fetched =
      bench.In("fetched", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i);
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) state =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { OnState(cycle, token); });
  decltype(bench.Pulse<spec::QueueRung>(p.queue_rung_valid_i, p.queue_rung_i, {})) rung =
      bench.Pulse<spec::QueueRung>(p.queue_rung_valid_i, p.queue_rung_i,
                                   [this](Cycle cycle, const auto& token) { block.OnQueueRung(cycle, token); });
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle cycle, const auto& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.Out("", receive_sink, p.receive_valid_o, p.receive_ready_i, p.receive_o)) receive =
      bench.Out("receive", receive_sink, p.receive_valid_o, p.receive_ready_i, p.receive_o);
  decltype(bench.Out("", retry_sink, p.receive_retry_valid_o, p.receive_retry_ready_i, p.receive_retry_o)) retry =
      bench.Out("receive_retry", retry_sink, p.receive_retry_valid_o, p.receive_retry_ready_i, p.receive_retry_o);
  decltype(bench.Out("", ask_sink, p.buffer_request_valid_o, p.buffer_request_ready_i, p.buffer_request_o)) ask =
      bench.Out("buffer_request", ask_sink, p.buffer_request_valid_o, p.buffer_request_ready_i, p.buffer_request_o);
  decltype(bench.Out("", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o)) fetch =
      bench.Out("fetch_request", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o);
  decltype(bench.Out("", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o)) failure =
      bench.Out("queue_failure", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o);
};

TEST(RecvQueue, ReceivesAreDeliveredInOrder) {
  Bench bench;
  bench.Post(5, 30);
  bench.Post(6, 3);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.Take(6).status, BufferStatus::kOk);
  EXPECT_EQ(bench.came[5], 30u);
  EXPECT_EQ(bench.came[6], 3u);
  EXPECT_TRUE(bench.failures.empty());
}

TEST(RecvQueue, NothingIsFetchedBeforeAReceiveIsRequested) {
  Bench bench;
  bench.Post(5, 2);
  ASSERT_EQ(bench.Run(200), "");
  EXPECT_EQ(bench.ask.count, 0u);
  // One look at the queue, and none more before it rings.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.Take(6).status, BufferStatus::kEmpty);
    ASSERT_EQ(bench.Run(200), "");
    EXPECT_EQ(bench.ask.count, 1u);
  }
  bench.rings = false;
  bench.Post(6);
  EXPECT_EQ(bench.Take(6).status, BufferStatus::kEmpty);
  EXPECT_EQ(bench.ask.count, 1u);
  bench.rings = true;
  bench.Post(6);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.ask.count, 2u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.Take(6).status, BufferStatus::kOk);
  EXPECT_EQ(bench.Take(6).status, BufferStatus::kEmpty);
  ASSERT_EQ(bench.Run(200), "");
  EXPECT_EQ(bench.ask.count, 2u);
}

// The receive was posted before it was asked for, and its doorbell rang.
TEST(RecvQueue, ReceiveOfADryQueueIsWaitedForWhenItsDoorbellHasRung) {
  Bench bench;
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
  bench.hold_answers = true;
  bench.Post(5);
  ASSERT_EQ(bench.Run(10), "");
  ASSERT_EQ(bench.asking.size(), 1u);
  const size_t before = bench.got.size();
  bench.Request(5);
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_EQ(bench.got.size(), before);
  bench.AnswerAll();
  ASSERT_EQ(bench.Run(20), "");
  ASSERT_EQ(bench.got.size(), before + 1);
  EXPECT_EQ(bench.got.back().status, BufferStatus::kOk);
}

// Whatever its doorbell and requests do, a queue without receives delays requests of others for host memory by no more
// than one part in kWaitShare of the time.
TEST(RecvQueue, QueueWithoutReceivesHoldsOthersABoundedShareOfTheTime) {
  constexpr Cycle kHeld = 40;
  Bench bench;
  bench.Post(6, 400);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
  EXPECT_EQ(bench.Take(6).status, BufferStatus::kOk);
  bench.hold_answers = true;
  Cycle begin = bench.bench.cycle(), waited = 0;
  unsigned waits = 0;
  for (unsigned i = 0; waits < 4; ++i) {
    ASSERT_LT(i, 4000u);
    bench.rung.tokens.push_back({.qpn = 5});
    ASSERT_EQ(bench.Run(5), "");
    const size_t before = bench.got.size();
    bench.Request(5);
    ASSERT_EQ(bench.Run(8), "");
    if (bench.got.size() == before) {
      ++waits;
      EXPECT_LE(waited * RecvQueue::kWaitShare, bench.bench.cycle() - begin);
      begin = bench.bench.cycle();
      ASSERT_EQ(bench.Run(kHeld), "");
      ASSERT_EQ(bench.got.size(), before);
      bench.AnswerAll();
      ASSERT_EQ(bench.Run(12), "");
      waited = kHeld;
    }
    ASSERT_EQ(bench.got.size(), before + 1);
    EXPECT_EQ(bench.got.back().status, BufferStatus::kEmpty);
    if (i % 4 == 0) {
      bench.Request(6);
      ASSERT_EQ(bench.Run(8), "");
      ASSERT_EQ(bench.got.size(), before + 2);
      EXPECT_EQ(bench.got.back().status, BufferStatus::kOk);
      while (!bench.asking.empty() && i % 8 == 0) bench.Answer();
    }
  }
}

// The share begins anew in the cycle in which it is due, in model and RTL.
TEST(RecvQueue, MeetsTheWaitsOfADryQueueInTheirCycle) {
  for (const Cycle offset : {0, 1, 2, 3}) {
    Bench bench;
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
    bench.hold_answers = true;
    for (unsigned i = 0; i < 3; ++i) {
      bench.rung.tokens.push_back({.qpn = 5});
      ASSERT_EQ(bench.Run(10), "");
      const size_t before = bench.got.size();
      bench.Request(5);
      ASSERT_EQ(bench.Run(20), "");
      bench.AnswerAll();
      // Compared in every cycle.
      ASSERT_EQ(bench.Run(8 * RecvQueue::kWaitShare + offset), "");
      ASSERT_EQ(bench.got.size(), before + 1);
    }
  }
}

TEST(RecvQueue, DoorbellDuringAnEmptyLookIsNotLost) {
  Bench bench;
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
  bench.hold_answers = true;
  bench.rung.tokens.push_back({.qpn = 5});
  ASSERT_EQ(bench.Run(10), "");
  ASSERT_EQ(bench.asking.size(), 1u);
  bench.AnswerAll();  // has read the ring as empty
  bench.Post(5);
  bench.hold_answers = false;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
}

TEST(RecvQueue, PrefetchesWhenHalfOfTheRingIsLeft) {
  Bench bench;
  bench.hold_answers = true;
  bench.Post(5, 60);
  bench.Request(5);
  std::vector<unsigned> counts;
  std::vector<size_t> left;  // when it was requested
  bench.ask.on_token = [&](Cycle, const spec::BufferRequest& token) {
    counts.push_back(token.count);
    left.push_back(bench.given[5].size());
    for (uint32_t i = 0; i < token.count; ++i) {
      const Posted posted = bench.ring[5].front();
      bench.ring[5].pop_front();
      bench.given[5].push_back(posted);
      bench.buffer.tokens.push_back({.last = i + 1u == token.count,
                                     .vq_index = bench.QueueOf(5),
                                     .head = posted.head,
                                     .address = posted.address,
                                     .bytes = posted.bytes});
    }
  };
  ASSERT_EQ(bench.Settle(), "");
  for (int i = 0; i < 14; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(counts, (std::vector<unsigned>{8, 4, 4, 4}));
  // Including the one being delivered, which the test does not know yet.
  EXPECT_EQ(left, (std::vector<size_t>{0, 5, 5, 5}));
}

// Each when what is there and what comes is half of the ring, so that a queue has a whole ring under way.
TEST(RecvQueue, TwoRequestsOfAQueueAreOutstanding) {
  Bench bench;
  bench.Post(5, 60);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  bench.hold_answers = true;
  for (const size_t outstanding : {0, 0, 1, 1, 1, 1, 2}) {
    bench.Request(5);
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_EQ(bench.asking.size(), outstanding) << bench.came[5];
  }
  bench.Request(5);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_TRUE(bench.wanted.has_value());
  ASSERT_EQ(bench.asking.size(), 2u);
  for (const Bench::Asking& asking : bench.asking) EXPECT_EQ(asking.count, kSizes.ahead / 2);
  bench.hold_answers = false;
  bench.AnswerAll();
  while (bench.came[5] != 60) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
}

// The one behind it may have found what was posted since; without, the queue is dry.
TEST(RecvQueue, OnlyTheLastRequestOutstandingTellsThatAQueueIsDry) {
  for (const uint32_t found : {0u, 2u, 4u}) {
    SCOPED_TRACE(found);
    Bench bench;
    bench.Post(5, kSizes.ahead);
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
    bench.hold_answers = true;
    bench.rings = false;
    while (bench.came[5] != kSizes.ahead) {
      bench.Request(5);
      ASSERT_EQ(bench.Run(20), "");
    }
    ASSERT_EQ(bench.asking.size(), 2u);
    bench.Request(5);
    bench.Answer();  // has read the ring as empty
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_TRUE(bench.wanted.has_value()) << "another one is under way";
    bench.Post(5, found);
    bench.Answer();
    bench.hold_answers = false;
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.got.back().status, found == 0 ? BufferStatus::kEmpty : BufferStatus::kOk);
    for (uint32_t i = 1; i < found; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
    const uint64_t asks = bench.ask.count;
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kEmpty);
    EXPECT_EQ(bench.ask.count, asks) << "nothing is looked for without a doorbell";
  }
}

TEST(RecvQueue, ReceiveFromTheRingDoesNotWaitForHostMemory) {
  Bench bench;
  bench.Post(5, 8);
  while (bench.came[5] == 0) (void)bench.Take(5);
  bench.hold_answers = true;
  for (size_t left = bench.given[5].size(); left != 0; --left) {
    bench.Request(5);
    ASSERT_EQ(bench.Run(6), "");
    EXPECT_FALSE(bench.wanted.has_value());
  }
}

TEST(RecvQueue, RequestWithoutWaitIsAnsweredPendingAndRetriedOnce) {
  Bench bench;
  bench.Post(6, 8);
  while (bench.came[6] == 0) (void)bench.Take(6);
  bench.hold_answers = true;
  bench.Post(5, 2);
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  EXPECT_EQ(bench.asking.size(), 1u);
  // Others go on meanwhile.
  bench.Request(6);
  ASSERT_EQ(bench.Run(6), "");
  EXPECT_EQ(bench.came[6], 2u);
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.retries, std::vector{5u});
  EXPECT_EQ(bench.Try(5), BufferStatus::kOk);
  EXPECT_EQ(bench.Try(5), BufferStatus::kOk);
  EXPECT_EQ(bench.came[5], 2u);
  EXPECT_EQ(bench.retries.size(), 1u);
}

TEST(RecvQueue, QueueWithoutReceivesIsNotRetried) {
  for (const bool broken : {false, true}) {
    Bench bench;
    bench.broken[5] = broken;
    EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.ask.count, 1u);
    EXPECT_TRUE(bench.retries.empty());
  }
}

// As the request in flight may have read the ring before the post.
TEST(RecvQueue, RequestWithoutWaitBehindAnEarlierOneIsRetried) {
  Bench bench;
  bench.hold_answers = true;
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  bench.AnswerAll();  // has read the ring as empty
  bench.buffer.rate = 0;
  bench.rings = false;  // its doorbell comes later
  bench.Post(5);
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  EXPECT_TRUE(bench.retries.empty());
  bench.buffer.rate = 16;
  bench.hold_answers = false;
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.retries, std::vector{5u});
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.Try(5), BufferStatus::kOk);
}

TEST(RecvQueue, ClearEndsTheRetry) {
  Bench bench;
  bench.hold_answers = true;
  bench.Post(5);
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  bench.Clear(5);
  ASSERT_EQ(bench.Run(20), "");
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_TRUE(bench.retries.empty());
}

TEST(RecvQueue, RequestWithoutWaitIsRetriedAtOnceWithoutRoom) {
  Bench bench;
  bench.hold_answers = true;
  for (uint32_t qpn = 0; qpn < kSizes.requests; ++qpn) EXPECT_EQ(bench.Try(qpn), BufferStatus::kPending);
  EXPECT_TRUE(bench.retries.empty());
  bench.Post(5);
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  EXPECT_EQ(bench.retries, std::vector{5u});
  EXPECT_EQ(bench.ask.count, kSizes.requests);
  bench.hold_answers = false;
  bench.AnswerAll();
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.Try(5), BufferStatus::kPending);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.Try(5), BufferStatus::kOk);
}

// As the responder flushes: requests after every post, receive and retry.
TEST(RecvQueue, RequestsWithoutWaitFindEveryReceive) {
  Bench bench;
  auto& random = bench.random;
  bench.hold_answers = true;
  bench.retry.rate = bench.ask.rate = 5;
  std::deque<uint32_t> due;
  uint64_t posted = 0;
  size_t seen = 0, retried = 0;
  uint32_t last = 0;
  const auto step = [&] {
    if (!bench.wanted && seen != bench.got.size()) {
      seen = bench.got.size();
      if (bench.got.back().status != BufferStatus::kPending) due.push_back(last);
    }
    for (; retried != bench.retries.size(); ++retried) due.push_back(bench.retries[retried]);
    if (!bench.wanted && !due.empty()) {
      last = due.front();
      due.pop_front();
      bench.Request(last, true);
    }
    for (uint64_t i = random() % 3; i != 0 && !bench.asking.empty(); --i) bench.Answer();
    ASSERT_EQ(bench.Run(random() % 8), "");
  };
  for (int i = 0; i < 4000; ++i) {
    if (random() % 16 == 0) {
      const auto qpn = static_cast<uint32_t>(random() % 8);
      const auto count = static_cast<uint32_t>(1 + random() % 3);
      bench.Post(qpn, count);
      posted += count;
      due.push_back(qpn);
    }
    step();
    if (HasFailure()) return;
  }
  for (int i = 0; i < 20'000; ++i) step();
  EXPECT_GT(posted, 100u);
  EXPECT_GT(retried, 50u);
  for (uint32_t qpn = 0; qpn < 8; ++qpn) {
    EXPECT_TRUE(bench.ring[qpn].empty());
    EXPECT_TRUE(bench.given[qpn].empty());
  }
}

// The prefetch may have read the ring before the post.
TEST(RecvQueue, ReceivePostedAfterThePrefetchReadIsFound) {
  for (const bool broken : {false, true}) {
    Bench bench;
    bench.Post(5, kSizes.ahead);
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
    bench.hold_answers = true;
    while (bench.came[5] != kSizes.ahead) {
      bench.Request(5);
      ASSERT_EQ(bench.Run(20), "");
    }
    ASSERT_EQ(bench.asking.size(), 2u);  // the prefetches
    bench.broken[5] = broken;
    bench.AnswerAll();  // has read the ring as empty
    bench.broken[5] = false;
    bench.buffer.rate = 0;
    bench.Post(5);
    bench.Request(5);
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_TRUE(bench.wanted.has_value());
    bench.buffer.rate = 16;
    bench.hold_answers = false;
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_FALSE(bench.wanted.has_value());
    EXPECT_EQ(bench.got.back().status, BufferStatus::kOk);
    EXPECT_EQ(bench.came[5], kSizes.ahead + 1);
  }
}

TEST(RecvQueue, BadWorkRequestIsDeliveredInOrderAndThenStopsItsQueue) {
  struct Case {
    Posted posted;
    RdmaError code;
  };
  for (const Case& c :
       {Case{{.bytes = 23, .num_sge = 0}, RdmaError::kBadWqe}, Case{{.bytes = 0, .num_sge = 0}, RdmaError::kBadWqe},
        Case{{.writable = true}, RdmaError::kBadDescriptor}, Case{{.more = true}, RdmaError::kBadDescriptor},
        Case{{.bytes = 0, .more = true}, RdmaError::kBadDescriptor}, Case{{.bytes = 24 + 63}, RdmaError::kBadWqe},
        Case{{.bytes = 39, .num_sge = 1}, RdmaError::kBadWqe}, Case{{.bytes = 24, .num_sge = 1}, RdmaError::kBadWqe},
        Case{{.bytes = 4096, .num_sge = 5}, RdmaError::kBadWqe},
        Case{{.bytes = 4096, .num_sge = 0x100}, RdmaError::kBadWqe},
        Case{{.bytes = 4096, .num_sge = 0x10000000}, RdmaError::kBadWqe},
        Case{{.bytes = 4096, .num_sge = 0xffffffff}, RdmaError::kBadWqe},
        Case{{.address = 0x1000}, RdmaError::kQueueDmaError}}) {
    Bench bench;
    bench.faulty = 0x1000;
    bench.Post(5, 2);
    bench.Add(5, c.posted);
    bench.Post(5);
    while (bench.came[5] < 2) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
    EXPECT_TRUE(bench.failures.empty());
    const spec::Receive bad = bench.Take(5);
    EXPECT_EQ(bad.status, BufferStatus::kFailed);
    EXPECT_EQ(bad.code, c.code);
    EXPECT_EQ(bad.head, 2u);
    EXPECT_EQ(bench.failures, (std::vector<spec::QueueFailure>{{.vq_index = bench.QueueOf(5), .code = c.code}}));
    // The flush takes later ones.
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
    EXPECT_EQ(bench.failures.size(), 1u);
  }
}

TEST(RecvQueue, EachWorkRequestIsOneReadOfItsDescriptor) {
  Bench bench;
  for (const uint32_t bytes : {24u, 25u, 39u, 40u, 41u, 88u, 0xffffffffu}) {
    bench.Add(5, {.bytes = bytes, .num_sge = bytes < 40 ? 0u : bytes < 88 ? 1u : 4u});
  }
  for (int i = 0; i < 7; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  std::vector<unsigned> sizes;
  for (const auto& sent : bench.fetch_sink.sent()) sizes.push_back(sent.token.bytes);
  EXPECT_EQ(sizes, (std::vector<unsigned>{24, 25, 39, 40, 40, 40, 40}));
}

TEST(RecvQueue, ElementIsReadFromItsAddress) {
  Bench bench;
  bench.faulty = 0x5008;
  for (const uint64_t address : {uint64_t{0x1000}, uint64_t{0x1ff8}, ~uint64_t{15}, uint64_t{0x5008}}) {
    bench.RequestElement(address);
    ASSERT_EQ(bench.Settle(), "");
    ASSERT_FALSE(bench.wanted.has_value());
    EXPECT_EQ(bench.got.back().status, address == bench.faulty ? BufferStatus::kFailed : BufferStatus::kOk);
    EXPECT_EQ(bench.got.back().code, address == bench.faulty ? RdmaError::kQueueDmaError : RdmaError::kOk);
    EXPECT_EQ(bench.fetch_sink.sent().back().token,
              (spec::DmaReadRequest{.address = address, .bytes = spec::RdmaSge::kBytes}));
  }
  EXPECT_TRUE(bench.failures.empty());  // no queue failure
  EXPECT_EQ(bench.ask.count, 0u);
}

// All reads of a list leave before the first of them is answered; then none of its elements needs another one.
TEST(RecvQueue, ListIsReadAtOnceAndKept) {
  Bench bench;
  bench.fetched.rate = 0;
  bench.RequestElement(0x1008, 7);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.fetch.count, 2u);
  EXPECT_EQ(bench.receive.count, 0u);
  bench.fetched.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  for (uint32_t left = 6; left != 0; --left) {
    EXPECT_EQ(bench.TakeElement(0x1008 + 16 * (7 - left), left, false).status, BufferStatus::kOk);
  }
  EXPECT_EQ(bench.receive.count, 7u);
  EXPECT_EQ(bench.fetch.count, 2u);
}

// Frames of messages of several QPs alternate.
TEST(RecvQueue, EachQueuePairKeepsItsList) {
  Bench bench;
  for (uint32_t left = 7; left != 0; --left) {
    for (const uint32_t qpn : {0u, 5u, 15u}) {
      const uint64_t address = 0x10000 * (qpn + 1) + 16 * (7 - left);
      EXPECT_EQ(bench.TakeElement(address, left, left == 7, qpn).status, BufferStatus::kOk);
    }
  }
  EXPECT_EQ(bench.fetch.count, 3 * 2u);
}

// The driver may have written a new one to the same place. READ responses come between the frames of a SEND. A message
// that uses a receive again starts in front of what was read.
TEST(RecvQueue, AnotherListIsRead) {
  Bench bench;
  bench.TakeElement(0x1000, 3, true);
  bench.TakeElement(0x1010, 2, false);
  EXPECT_EQ(bench.fetch.count, 1u);
  bench.TakeElement(0x1000, 3, true);
  EXPECT_EQ(bench.fetch.count, 2u);
  bench.TakeElement(0x2000, 2, true);
  bench.TakeElement(0x1010, 2, false);
  EXPECT_EQ(bench.fetch.count, 4u);
  bench.TakeElement(0x1000, 3, false);
  EXPECT_EQ(bench.fetch.count, 5u);
  bench.TakeElement(0x1010, 2, false);
  EXPECT_EQ(bench.fetch.count, 5u);
}

TEST(RecvQueue, FailedReadOfAListFailsItsElementsOnly) {
  Bench bench;
  bench.faulty = 0x1040;
  for (uint32_t left = 7; left != 0; --left) {
    const auto element = bench.TakeElement(0x1000 + 16 * (7 - left), left, left == 7);
    EXPECT_EQ(element.status, left > 3 ? BufferStatus::kOk : BufferStatus::kFailed) << left;
  }
  EXPECT_TRUE(bench.failures.empty());
}

TEST(RecvQueue, ElementDoesNotWaitForDescriptorFetch) {
  Bench bench;
  bench.Post(5);
  bench.hold_answers = true;
  bench.Request(5);
  ASSERT_EQ(bench.Run(20), "");
  bench.AnswerAll();
  ASSERT_EQ(bench.Run(30), "");
  EXPECT_EQ(bench.came[5], 1u);
  EXPECT_EQ(bench.asking.size(), 1u);  // the prefetch
  bench.RequestElement(0x1000);
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_FALSE(bench.wanted.has_value());
}

TEST(RecvQueue, ClearDiscardsTheRing) {
  Bench bench;
  for (const uint32_t qpn : {5u, 6u}) {
    bench.Post(qpn, 3);
    EXPECT_EQ(bench.Take(qpn).status, BufferStatus::kOk);
  }
  const size_t kept = bench.given[6].size();
  bench.ring[5].clear();
  bench.Clear(5);
  ASSERT_EQ(bench.Run(1), "");  // the next cycle's request
  bench.Request(5);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.got.back().status, BufferStatus::kEmpty);
  bench.Post(5, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.came[5], 3u);
  for (size_t i = 0; i < kept; ++i) EXPECT_EQ(bench.Take(6).status, BufferStatus::kOk);
}

// At every stage: requested, answered, being read.
TEST(RecvQueue, ClearDiscardsRequestsInFlight) {
  for (unsigned stage = 0; stage < 3; ++stage) {
    for (const bool waits : {false, true}) {
      Bench bench;
      bench.Post(5, kSizes.ahead);
      EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
      bench.hold_answers = true;
      bench.rings = false;
      while (bench.came[5] != kSizes.ahead) {
        bench.Request(5);
        ASSERT_EQ(bench.Run(20), "");
      }
      ASSERT_EQ(bench.asking.size(), 2u);
      if (waits) bench.Request(5);
      ASSERT_EQ(bench.Run(10), "");
      // The first prefetch finds two, the second one one: they are discarded.
      const auto answer = [&](const std::vector<Posted>& lost) {
        for (size_t i = 0; i < lost.size(); ++i) {
          bench.buffer.tokens.push_back({.last = i != 0,
                                         .vq_index = bench.QueueOf(5),
                                         .head = lost[i].head,
                                         .address = lost[i].address,
                                         .bytes = lost[i].bytes});
        }
      };
      bench.Add(5, {});
      bench.Add(5, {});
      bench.Add(5, {});
      if (stage < 1) bench.buffer.rate = 0;
      if (stage < 2) bench.fetched.rate = 0;
      bench.ask.on_token = nullptr;
      std::vector<Posted> lost(bench.ring[5].begin(), bench.ring[5].end());
      if (stage > 0) {
        answer(lost);
        if (stage == 2) bench.fetched.rate = 1;
        ASSERT_EQ(bench.Run(6), "");
      }
      bench.Clear(5);
      ASSERT_EQ(bench.Run(6), "");
      if (stage == 0) answer(lost);
      bench.buffer.rate = bench.fetched.rate = 16;
      ASSERT_EQ(bench.Run(60), "");
      if (waits) {
        // It sends a request of its own.
        ASSERT_TRUE(bench.wanted.has_value());
        bench.buffer.tokens.push_back({.status = BufferStatus::kEmpty, .last = true, .vq_index = bench.QueueOf(5)});
        ASSERT_EQ(bench.Settle(), "");
        EXPECT_EQ(bench.got.back().status, BufferStatus::kEmpty);
      }
      EXPECT_EQ(bench.came[5], kSizes.ahead);
      EXPECT_EQ(bench.p.idle_o, 1);
    }
  }
}

TEST(RecvQueue, EveryStateIsServedAndOnlyClearDiscards) {
  Bench bench;
  bench.Post(5, 20);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  for (unsigned state = 0; state < 7; ++state) {
    bench.SetState(5, static_cast<IbQpState>(state));
    ASSERT_EQ(bench.Settle(), "");
    EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  }
  EXPECT_EQ(bench.came[5], 8u);
}

TEST(RecvQueue, BrokenQueueIsReportedAfterEarlierReceives) {
  Bench bench;
  bench.Post(5, 2);
  bench.broken[5] = true;
  while (bench.came[5] < 2) {
    const spec::Receive receive = bench.Take(5);
    ASSERT_NE(receive.status, BufferStatus::kEmpty);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.Take(5), (spec::Receive{.status = BufferStatus::kFailed}));
  EXPECT_TRUE(bench.failures.empty());  // descriptor fetch has reported it
  EXPECT_EQ(bench.Take(6).status, BufferStatus::kEmpty);
  bench.broken[5] = false;
  bench.Post(5);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
}

// Four requests are outstanding: a QP with an empty ring waits, the others continue.
TEST(RecvQueue, WithoutRequestRoomOnlyAnEmptyRingWaits) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < 5; ++qpn) {
    bench.Post(qpn, kSizes.ahead);
    while (bench.came[qpn] != kSizes.ahead / 2 - 1) EXPECT_EQ(bench.Take(qpn).status, BufferStatus::kOk);
  }
  bench.hold_answers = true;
  const uint64_t asks = bench.ask.count;
  for (uint32_t qpn = 0; qpn < 5; ++qpn) {
    bench.Request(qpn);
    ASSERT_EQ(bench.Run(10), "");
    EXPECT_FALSE(bench.wanted.has_value());
  }
  EXPECT_EQ(bench.asking.size(), 4u);
  while (bench.came[4] != kSizes.ahead) {
    bench.Request(4);
    ASSERT_EQ(bench.Run(10), "");
    ASSERT_FALSE(bench.wanted.has_value());
  }
  bench.Post(4);
  bench.Request(4);
  ASSERT_EQ(bench.Run(100), "");
  EXPECT_EQ(bench.ask.count, asks + 4);
  EXPECT_TRUE(bench.wanted.has_value());
  bench.Answer();
  ASSERT_EQ(bench.Run(20), "");
  EXPECT_EQ(bench.ask.count, asks + 5);
  bench.AnswerAll();
  ASSERT_EQ(bench.Run(60), "");
  EXPECT_FALSE(bench.wanted.has_value());
  EXPECT_EQ(bench.came[4], kSizes.ahead + 1);
}

// The owner of a queue index depends on the accepted features, for requests and for failures.
TEST(RecvQueue, QueueMappingFollowsTheAcceptedNetQueuePairs) {
  Bench bench(false);
  for (const bool mq : {false, true, false}) {
    bench.SetMq(mq);
    ASSERT_EQ(bench.Settle(), "");
    for (const uint32_t qpn : {0u, 7u, 15u}) {
      const size_t asks = bench.ask_sink.sent().size();
      bench.Post(qpn);
      bench.Add(qpn, {.bytes = 20});
      while (bench.Take(qpn).status != BufferStatus::kEmpty) continue;
      ASSERT_GT(bench.ask_sink.sent().size(), asks);
      for (size_t i = asks; i < bench.ask_sink.sent().size(); ++i) {
        EXPECT_EQ(bench.ask_sink.sent()[i].token.vq_index, 2 * (mq ? 3 : 1) + 16 + 2 + 2 * qpn);
      }
    }
  }
  EXPECT_EQ(bench.failures, bench.expected_failures);
  EXPECT_EQ(bench.failures.size(), 9u);
}

TEST(RecvQueue, LimitOfASharedQueueIsReportedOnceWhenAsManyAreTaken) {
  Bench bench;
  bench.SetShared(5, 3);
  bench.SetShared(6);
  ASSERT_EQ(bench.Settle(), "");
  for (const uint32_t queue : {5u, 6u, 7u}) bench.Post(queue, 12);
  for (int i = 1; i <= 6; ++i) {
    for (const uint32_t queue : {5u, 6u, 7u}) {
      EXPECT_EQ(bench.Take(queue).status, BufferStatus::kOk);
      EXPECT_EQ(bench.limits.size(), i < 3 ? 0u : 1u) << i;
    }
  }
  EXPECT_EQ(bench.limits.front(), (spec::QueueFailure{.vq_index = bench.QueueOf(5)}));
  bench.SetShared(5, 8);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_EQ(bench.limits.size(), 1u);
  bench.SetShared(5, 9);  // replaces the position
  ASSERT_EQ(bench.Settle(), "");
  for (int i = 7; i <= 8; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.limits.size(), 1u);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.limits.size(), 2u);
  EXPECT_TRUE(bench.failures.empty());
}

TEST(RecvQueue, LimitThatIsReachedWhenItIsArmedIsReportedAtOnce) {
  Bench bench;
  bench.SetShared(5);
  bench.Post(5, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  // Modulo 2^16: behind by up to half of it.
  for (const int position : {4, 3, 4 - 0x7fff}) {
    bench.SetShared(5, static_cast<uint16_t>(position));
    ASSERT_EQ(bench.Settle(), "");
  }
  EXPECT_EQ(bench.limits.size(), 3u);
  bench.SetShared(5, static_cast<uint16_t>(4 - 0x8000));
  bench.SetShared(5, 5);
  bench.SetShared(5);  // disarmed
  ASSERT_EQ(bench.Settle(), "");
  bench.Post(5);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.limits.size(), 3u);
}

TEST(RecvQueue, ClearDisarmsTheLimitAndCountsFromZero) {
  Bench bench;
  bench.SetShared(5, 3);
  bench.Post(5, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  bench.Clear(5);
  ASSERT_EQ(bench.Settle(), "");
  bench.Post(5, 2);
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_TRUE(bench.limits.empty());
  bench.SetShared(5, 2);
  ASSERT_EQ(bench.Settle(), "");
  EXPECT_TRUE(bench.limits.empty());
  EXPECT_EQ(bench.Take(5).status, BufferStatus::kOk);
  EXPECT_EQ(bench.limits.size(), 1u);
}

// Its used descriptors need the id, those of a private queue have it in place.
TEST(RecvQueue, SharedQueueInAPackedRingReturnsTheBufferId) {
  Bench bench;
  bench.SetPacked(true);
  bench.SetShared(5);
  ASSERT_EQ(bench.Settle(), "");
  for (const uint32_t queue : {5u, 6u}) {
    bench.Add(queue, {});
    const uint16_t head = bench.ring[queue].front().head;
    bench.receive.on_token = [&](Cycle, const spec::Receive& token) {
      bench.wanted.reset();
      bench.got.push_back(token);
    };
    const spec::Receive receive = bench.Take(queue);
    EXPECT_EQ(receive.status, BufferStatus::kOk);
    EXPECT_EQ(receive.head, queue == 5 ? Bench::IdOf(head) : head);
  }
  // Without an id, as in an indirect table, it could not be returned.
  bench.has_ids = false;
  bench.given[5].clear();
  bench.Add(5, {});
  const spec::Receive bad = bench.Take(5);
  EXPECT_EQ(bad.status, BufferStatus::kFailed);
  EXPECT_EQ(bad.code, RdmaError::kBadDescriptor);
  EXPECT_EQ(bench.failures,
            (std::vector<spec::QueueFailure>{{.vq_index = bench.QueueOf(5), .code = RdmaError::kBadDescriptor}}));
}

TEST(RecvQueue, MeetsDocumentedLatencies) {
  Bench bench;
  const auto expect = [&](Cycle latency, const uint64_t& count) {
    const uint64_t before = count;
    ASSERT_EQ(bench.Run(latency), "");
    EXPECT_EQ(count, before);
    ASSERT_EQ(bench.Run(1), "");
    EXPECT_EQ(count, before + 1);
  };
  bench.buffer.rate = bench.fetched.rate = 0;
  bench.Add(5, {});
  bench.Request(5);
  expect(RecvQueue::kRequestToBufferRequest, bench.ask.count);
  ASSERT_EQ(bench.Run(5), "");
  bench.buffer.rate = 16;
  expect(RecvQueue::kBufferToFetch, bench.fetch.count);
  ASSERT_EQ(bench.Run(5), "");
  bench.fetched.rate = 16;
  expect(RecvQueue::kFetchedToReceive, bench.receive.count);
  ASSERT_EQ(bench.Settle(), "");

  bench.Add(6, {});
  bench.Add(6, {});
  while (bench.given[6].empty()) bench.AnswerAll(), (void)bench.Take(6);
  bench.Request(6);
  expect(RecvQueue::kRequestToReceive, bench.receive.count);
  ASSERT_EQ(bench.Settle(), "");

  bench.buffer.rate = 0;
  bench.Request(7);
  ASSERT_EQ(bench.Run(10), "");
  bench.buffer.rate = 16;
  expect(RecvQueue::kBufferToReceive, bench.receive.count);
  EXPECT_EQ(bench.got.back().status, BufferStatus::kEmpty);
  ASSERT_EQ(bench.Settle(), "");

  bench.buffer.rate = 0;
  bench.Request(7, true);
  expect(RecvQueue::kRequestToPending, bench.receive.count);
  EXPECT_EQ(bench.got.back().status, BufferStatus::kPending);
  ASSERT_EQ(bench.Run(10), "");
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Settle(), "");
  bench.Add(8, {});
  bench.fetched.rate = 0;
  bench.Request(8, true);
  ASSERT_EQ(bench.Run(10), "");
  bench.fetched.rate = 16;
  expect(RecvQueue::kFetchedToRetry, bench.retry.count);
  ASSERT_EQ(bench.Settle(), "");

  bench.fetched.rate = 0;
  bench.RequestElement(0x1000);
  expect(RecvQueue::kRequestToFetch, bench.fetch.count);
  ASSERT_EQ(bench.Run(5), "");
  bench.fetched.rate = 16;
  expect(RecvQueue::kFetchedToElement, bench.receive.count);
  bench.RequestElement(0x1000, 1, false);
  expect(RecvQueue::kRequestToElement, bench.receive.count);
  bench.fetched.rate = 0;
  bench.RequestElement(0x1000, 7);
  ASSERT_EQ(bench.Run(10), "");
  bench.fetched.rate = 16;
  expect(RecvQueue::kFetchedToElement + 1 + 6, bench.receive.count);  // another read, and elements
}

// Three for the delivery and two for the ring.
TEST(RecvQueue, ReceiveTakesAtMostSixCycles) {
  Bench bench;
  for (const uint32_t qpn : {5u, 6u, 7u}) bench.Post(qpn, 200);
  for (uint32_t i = 0; i < 600; ++i) {
    bench.Request(5 + i % 3);
    while (bench.wanted.has_value()) ASSERT_EQ(bench.Run(1), "");
  }
  EXPECT_EQ(bench.came[5] + bench.came[6] + bench.came[7], 600u);
  EXPECT_LE(bench.bench.cycle(), 600u * 6);
}

TEST(RecvQueue, MatchesModelInRandomTrafficWithoutLoss) {
  for (const unsigned in_rate : {16u, 4u}) {
    for (const unsigned out_rate : {16u, 7u, 2u}) {
      Bench bench(out_rate == 7);
      auto& random = bench.random;
      bench.request.rate = bench.buffer.rate = in_rate;
      bench.fetched.rate = 1 + random() % 16;
      bench.ask.rate = bench.fetch.rate = bench.receive.rate = bench.failure.rate = bench.retry.rate = out_rate;
      bench.fault_rate = 20;
      bench.ask.keep = bench.fetch.keep = bench.receive.keep = bench.failure.keep = false;
      bench.hold_answers = true;
      unsigned empties = 0, failed = 0, elements = 0, kept = 0;
      std::pair<uint64_t, uint32_t> next_element[16]{};
      uint16_t position = 0;
      for (int step = 0; step < 8000; ++step) {
        const auto qpn = static_cast<uint32_t>(random() % (step / 1000 % 2 == 0 ? 16 : 3));
        const unsigned dice = random() % 64;
        if (dice < 9) {
          if (bench.ring[qpn].size() > 12 || step / 300 % 2 != 0) continue;  // also run empty
          bench.Post(qpn, 1 + static_cast<uint32_t>(random() % (random() % 4 == 0 ? 12 : 3)));
          Posted& last = bench.ring[qpn].back();
          if (random() % 4 == 0) {
            last.bytes = static_cast<uint32_t>(random() % 100);
            last.more = random() % 8 == 0;
            last.writable = random() % 8 == 0;
          }
        } else if (dice < 10) {
          bench.Clear(static_cast<uint32_t>(random() % 16));
        } else if (dice < 11) {
          bench.SetState(qpn, static_cast<IbQpState>(random() % 7));
        } else if (dice < 12) {
          position = static_cast<uint16_t>(position + random() % 16);
          if (random() % 2 == 0) bench.SetShared(qpn % 4, static_cast<uint16_t>(position % 40));
        } else if (dice < 13) {
          bench.broken[qpn] = !bench.broken[qpn] && random() % 4 == 0;
        } else if (dice < 26) {
          for (uint64_t i = random() % 4; i != 0 && !bench.asking.empty(); --i) bench.Answer();
        } else if (!bench.wanted.has_value()) {
          if (random() % 4 == 0) {
            // Another one of a list, or the next one; or the list starts again.
            auto& [address, left] = next_element[qpn];
            const bool is_new = left == 0 || random() % 4 == 0;
            if (is_new) {
              address = random();
              left = 1 + static_cast<uint32_t>(random() % 7);
            } else if (left < 7 && random() % 8 == 0) {
              address -= spec::RdmaSge::kBytes;
              ++left;
            }
            bench.RequestElement(address, left, is_new, qpn);
            kept += bench.wanted->reads_due == 0;
            address += spec::RdmaSge::kBytes;
            --left;
            ++elements;
          } else {
            bench.Request(qpn, random() % 4 == 0);
          }
        }
        ASSERT_EQ(bench.Run(random() % 8), "");
        if (HasFailure()) return;
      }
      for (const auto& receive : bench.got) {
        if (receive.status == BufferStatus::kEmpty) ++empties;
        if (receive.status == BufferStatus::kFailed) ++failed;
      }
      EXPECT_GT(bench.got.size(), 200u);
      EXPECT_GT(empties, 3u);
      EXPECT_GT(failed, 10u);
      EXPECT_GT(elements, 20u);
      EXPECT_GT(kept, 5u);
      EXPECT_GT(bench.retries.size(), 5u);
      EXPECT_GT(bench.limits.size(), 3u);
      bench.hold_answers = false;
      bench.request.rate = bench.buffer.rate = bench.fetched.rate = 16;
      bench.ask.rate = bench.fetch.rate = bench.receive.rate = bench.failure.rate = bench.retry.rate = 16;
      bench.AnswerAll();
      ASSERT_EQ(bench.Settle(), "");
      for (uint32_t qpn = 0; qpn < 16; ++qpn) {
        bench.broken[qpn] = false;
        // The first empty answer may be the one that has the rest fetched.
        for (unsigned ends = 0; ends < 2;) {
          ends += bench.Take(qpn).status == BufferStatus::kEmpty;
          ASSERT_FALSE(HasFailure());
        }
        EXPECT_TRUE(bench.ring[qpn].empty());
        EXPECT_TRUE(bench.may_skip[qpn] || bench.given[qpn].empty());
      }
      EXPECT_EQ(bench.failures, bench.expected_failures);
      EXPECT_FALSE(bench.failures.empty());
    }
  }
}

}  // namespace
}  // namespace vireo::verif
