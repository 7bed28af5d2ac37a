// SPDX-License-Identifier: Apache-2.0
// The block of atomic operations: RTL against model in every cycle, and both against their definition: operations in
// order on a memory whose writes are late and whose reads are early.
#include "model/rdma/atomic.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "Vatomic_16.h"
#include "model/dma/dma_split.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"
#include "verif/common/table_reset.h"
#include "verif/rdma/grant_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Atomic;
using model::Channel;
using model::Cycle;
using spec::AtomicStatus;
using spec::IbQpState;
using Top = Vatomic_16;
using Rtl = RtlTop<Top>;

constexpr uint32_t kQps = 16;  // as the Verilated class was made
constexpr uint32_t kKept = 4;
constexpr uint32_t kInFlight = 4;

uint64_t Value(const uint8_t* data) {
  uint64_t value = 0;
  for (unsigned i = 8; i-- != 0;) value = value << 8 | data[i];
  return value;
}

Rtl::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.request_ready_o, top.result_valid_o, top.fetch_request_valid_o, top.fetched_ready_o,
                           top.store_valid_o, top.grant_ended_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.result_o);
    add(top.fetch_request_o);
    add(top.store_o);
  };
}

// The block with its environment. A read returns what is in memory when it is requested, a write is there when it is
// answered: the longest time in which another operation could come between the two.
struct Bench {
  explicit Bench(Rtl& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {
    block.result_out.Connect(result_sink, block);
    block.fetch_request_out.Connect(fetch_sink, block);
    block.store_out.Connect(store_sink, block);
    fetch.on_token = [this](Cycle, const spec::DmaReadRequest& token) {
      EXPECT_EQ(token.bytes, lengths.front());
      lengths.pop_front();
      const uint64_t address = token.address & ~uint64_t{7};
      EXPECT_TRUE(reading.insert(address).second) << "two operations at one address";
      spec::DmaFetched answer{.tag = token.tag};
      for (auto& byte : answer.data) byte = static_cast<uint8_t>(random());
      for (unsigned i = 0; i < 8; ++i) answer.data[i] = static_cast<uint8_t>(memory[address] >> 8 * i);
      if (bad_reads.contains(address)) answer.resp = static_cast<uint8_t>(model::AxiResp::kSlverr);
      fetched.tokens.push_back(answer);
    };
    store.on_token = [this](Cycle, const spec::DmaStore& token) {
      EXPECT_EQ(token.bytes, 8);
      EXPECT_TRUE(token.notify);
      // That of an ATOMIC WRITE has no read, and comes when no other operation is at its address.
      if (const auto one = stores.find(token.address); one != stores.end() && !reading.contains(token.address)) {
        EXPECT_EQ(Value(token.data), one->second.front());
        one->second.pop_front();
        if (one->second.empty()) stores.erase(one);
        reading.insert(token.address);
      } else {
        EXPECT_TRUE(reading.contains(token.address)) << "a write without its read";
      }
      const bool refused = bad_writes.contains(token.address);
      written.push_back({token.address, refused ? std::optional<uint64_t>() : Value(token.data)});
      dones.tokens.push_back({.resp = static_cast<uint8_t>(refused ? model::AxiResp::kDecerr : model::AxiResp::kOkay)});
    };
    result.on_token = [this](Cycle, const spec::AtomicResult& token) {
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(TokenText(token), TokenText(expected.front()));
      busy.erase(token.qpn);
      expected.pop_front();
    };
    block.on_grant_ended = [this, compare = block.on_grant_ended](Cycle cycle, Cycle at,
                                                                  const spec::MemoryGrant& grant) {
      compare(cycle, at, grant);
      reading.erase(executed.front());
      executed.pop_front();
    };
    bench.AddOther(grants);
    bench.AddOther(surroundings);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) Clear(qpn, IbQpState::kInit);
    EXPECT_EQ(Settle(), "");
  }

  std::string End() {
    std::string difference = Same("idle", p.idle_o, idle);
    idle = block.IsIdle();
    return difference;
  }
  std::string Settle() {
    for (int i = 0; i < 20'000; ++i) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (request.IsEmpty() && states.IsEmpty() && dones.IsEmpty() && expected.empty() && block.IsIdle()) return {};
    }
    return "the block does not become idle";
  }
  void Clear(uint32_t qpn, IbQpState state) {
    states.tokens.push_back({.qpn = qpn, .state = state});
    if (state == IbQpState::kReset || state == IbQpState::kInit) kept[qpn].clear();
  }

  // An operation, whose outcome follows from those before it.
  void Execute(spec::AtomicRequest token) {
    token.grant = GrantOf(token.address);
    // A FLUSH reads a byte, wherever it is.
    const uint64_t address = token.address & ~uint64_t{7};
    uint64_t& value = now[address];
    spec::AtomicResult outcome{.qpn = token.qpn, .status = AtomicStatus::kOk, .value = value};
    const bool reads = !token.is_write;
    const bool writes = !token.is_flush && (!token.is_swap || value == token.compare);
    if (!reads) outcome.value = 0;
    if (!reads) stores[address].push_back(token.swap_add);
    if (reads) lengths.push_back(token.is_flush ? 1 : 8);
    executed.push_back(address);
    if ((reads && bad_reads.contains(address)) || (writes && bad_writes.contains(address))) {
      outcome = {.qpn = token.qpn, .status = AtomicStatus::kFailed};
    } else {
      if (writes) value = token.is_swap || token.is_write ? token.swap_add : value + token.swap_add;
      auto& results = kept[token.qpn];
      results.push_back({token.psn, outcome.value});
      if (results.size() > kKept) results.pop_front();
    }
    busy.insert(token.qpn);
    expected.push_back(outcome);
    request.tokens.push_back(token);
  }
  void Repeat(uint32_t qpn, uint32_t psn) {
    spec::AtomicResult outcome{.qpn = qpn, .status = AtomicStatus::kUnknown};
    const auto& results = kept[qpn];
    for (auto old = results.rbegin(); old != results.rend(); ++old) {
      if (old->psn != psn) continue;
      outcome.status = AtomicStatus::kOk;
      outcome.value = old->value;
      break;
    }
    busy.insert(qpn);
    expected.push_back(outcome);
    request.tokens.push_back({.qpn = qpn,
                              .psn = psn,
                              .is_duplicate = true,
                              .is_swap = random() % 2 != 0,
                              .address = random() % 4 * 8,
                              .swap_add = random(),
                              .compare = random()});
  }
  void Rates(unsigned in, unsigned out, unsigned memory_rate) {
    request.rate = in;
    result.rate = out;
    fetch.rate = store.rate = fetched.rate = dones.rate = memory_rate;
  }

  struct Kept {
    uint32_t psn;
    uint64_t value;
  };

  std::mt19937_64 random = sim::MakeRandom("atomic");
  Top& p;
  Agenda agenda;
  Atomic block{agenda, Atomic::Sizes{.num_qps = kQps, .max_rd_atomic = kKept, .in_flight = kInFlight}};
  Channel<spec::AtomicResult> result_sink = Channel<spec::AtomicResult>::Sink();
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::DmaStore> store_sink = Channel<spec::DmaStore>::Sink();

  std::map<uint64_t, uint64_t> memory;  // as reads find it
  std::map<uint64_t, uint64_t> now;     // when all that was sent has ended
  std::set<uint64_t> bad_reads, bad_writes;
  std::deque<unsigned> lengths;                     // of the reads to come
  std::set<uint64_t> reading;                       // addresses of operations that have begun and not ended
  std::deque<uint64_t> executed;                    // of all that have not ended, in order
  std::map<uint64_t, std::deque<uint64_t>> stores;  // values of ATOMIC WRITEs that were not written, by address
  std::deque<std::pair<uint64_t, std::optional<uint64_t>>> written;  // not answered
  std::deque<spec::AtomicResult> expected;
  std::array<std::deque<Kept>, kQps> kept;
  std::set<uint32_t> busy;
  bool idle = true;  // of the model, at the end of the cycle before

  BlockBench<Top> bench;
  decltype(bench.In("", block.request_in, p.request_valid_i, p.request_ready_o, p.request_i)) request =
      bench.In("request", block.request_in, p.request_valid_i, p.request_ready_o, p.request_i);
  decltype(bench.In("", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i)) fetched =
      bench.In("fetched", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i);
  decltype(bench.Pulse<spec::DmaDone>(p.done_valid_i, p.done_i, {})) dones =
      bench.Pulse<spec::DmaDone>(p.done_valid_i, p.done_i, [this](Cycle cycle, const auto& token) {
        if (const auto& [address, value] = written.front(); value) memory[address] = *value;
        written.pop_front();
        block.OnDone(cycle, token);
      });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) states =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.Out("", result_sink, p.result_valid_o, p.result_ready_i, p.result_o)) result =
      bench.Out("result", result_sink, p.result_valid_o, p.result_ready_i, p.result_o);
  decltype(bench.Out("", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o)) fetch =
      bench.Out("fetch_request", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o);
  decltype(bench.Out("", store_sink, p.store_valid_o, p.store_ready_i, p.store_o)) store =
      bench.Out("store", store_sink, p.store_valid_o, p.store_ready_i, p.store_o);
  GrantEnds<decltype(p.grant_ended_o), Atomic> grants{p.grant_ended_o, block};
  Probe surroundings{[](Cycle) { return std::string(); }, [this](Cycle) { return End(); }};
};

class AtomicTest : public testing::Test {
 protected:
  Rtl rtl{Outputs()};
  Bench b{rtl};
};
constexpr uint32_t kQp = 5;
constexpr uint64_t kAddress = 0x1234'5678'9abc'def8;

// --- The operations --------------------------------------------------------------------------------------------------

TEST_F(AtomicTest, AddsAndReturnsWhatWasThere) {
  b.memory[kAddress] = b.now[kAddress] = 0xffff'ffff'ffff'fff0;
  for (uint32_t i = 0; i < 3; ++i) {
    b.Execute({.qpn = kQp, .psn = i, .address = kAddress, .swap_add = 0x10 + i, .compare = 0x10});
    ASSERT_EQ(b.Settle(), "");
  }
  EXPECT_EQ(b.memory[kAddress], 0x23u);  // it wraps
  EXPECT_EQ(b.result_sink.sent()[1].token.value, 0u);
  EXPECT_EQ(b.result_sink.sent()[2].token.value, 0x11u);
}

TEST_F(AtomicTest, SwapsOnlyIfEqual) {
  b.memory[kAddress] = b.now[kAddress] = 0x0123'4567'89ab'cdef;
  b.Execute(
      {.qpn = kQp, .psn = 1, .is_swap = true, .address = kAddress, .swap_add = 7, .compare = 0x0123'4567'89ab'cdee});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.store.count, 0u);  // not even the same value
  EXPECT_EQ(b.memory[kAddress], 0x0123'4567'89ab'cdefu);
  b.Execute(
      {.qpn = kQp, .psn = 2, .is_swap = true, .address = kAddress, .swap_add = 7, .compare = 0x0123'4567'89ab'cdef});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.memory[kAddress], 7u);
  EXPECT_EQ(b.result_sink.sent()[1].token.value, 0x0123'4567'89ab'cdefu);
}

TEST_F(AtomicTest, EveryBitOfTheValueCounts) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const uint64_t value = b.random();
    b.memory[kAddress] = b.now[kAddress] = value;
    b.Execute({.qpn = kQp, .is_swap = true, .address = kAddress, .swap_add = 1, .compare = value ^ uint64_t{1} << bit});
    ASSERT_EQ(b.Settle(), "");
    ASSERT_EQ(b.memory[kAddress], value) << bit;
  }
}

// What is there does not matter: it is not even read.
TEST_F(AtomicTest, StoresWithoutReading) {
  b.bad_reads.insert(kAddress);
  b.memory[kAddress] = b.now[kAddress] = 0xffff'ffff'ffff'fff0;
  b.Execute(
      {.qpn = kQp, .psn = 1, .is_write = true, .address = kAddress, .swap_add = 0x0123'4567'89ab'cdef, .compare = 1});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.fetch.count, 0u);
  EXPECT_EQ(b.memory[kAddress], 0x0123'4567'89ab'cdefu);
  EXPECT_EQ(b.result_sink.sent()[0].token.status, AtomicStatus::kOk);
  // A duplicate is answered, and writes nothing.
  b.memory[kAddress] = 5;
  b.Repeat(kQp, 1);
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.store.count, 1u);
  EXPECT_EQ(b.result_sink.sent()[1].token.status, AtomicStatus::kOk);
  b.bad_writes.insert(kAddress);
  b.Execute({.qpn = kQp, .psn = 2, .is_write = true, .address = kAddress, .swap_add = 7});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.result_sink.sent()[2].token.status, AtomicStatus::kFailed);
}

// A FLUSH reads behind what was written, and ends with the read.
TEST_F(AtomicTest, FlushReadsAndStoresNothing) {
  b.memory[kAddress] = b.now[kAddress] = 7;
  b.Execute({.qpn = kQp, .psn = 1, .is_flush = true, .address = kAddress + 5, .swap_add = 1, .compare = 7});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.fetch.count, 1u);
  EXPECT_EQ(b.store.count, 0u);
  EXPECT_EQ(b.memory[kAddress], 7u);
  EXPECT_EQ(b.result_sink.sent()[0].token.status, AtomicStatus::kOk);
  b.Repeat(kQp, 1);
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.fetch.count, 1u);
  EXPECT_EQ(b.result_sink.sent()[1].token.status, AtomicStatus::kOk);
  b.bad_reads.insert(kAddress);
  b.Execute({.qpn = kQp, .psn = 2, .is_flush = true, .address = kAddress});
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.result_sink.sent()[2].token.status, AtomicStatus::kFailed);
}

// Between the read and the write of another one it would be lost.
TEST_F(AtomicTest, StoreWaitsForAnOperationAtItsAddress) {
  b.dones.rate = 0;
  b.Execute({.qpn = 0, .address = 0x40, .swap_add = 1});
  b.Execute({.qpn = 1, .is_write = true, .address = 0x40, .swap_add = 100});
  b.Execute({.qpn = 2, .address = 0x40, .swap_add = 1});
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.store.count, 1u);
  b.dones.rate = 16;
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.memory[0x40], 101u);
}

// --- Several at a time -----------------------------------------------------------------------------------------------

TEST_F(AtomicTest, OperationsAtOneAddressWaitForEachOther) {
  b.dones.rate = 0;
  b.Execute({.qpn = 0, .address = 0x40, .swap_add = 1});
  b.Execute({.qpn = 1, .address = 0x48, .swap_add = 1});
  b.Execute({.qpn = 2, .address = 0x40, .swap_add = 1});
  b.Execute({.qpn = 3, .address = 0x50, .swap_add = 1});
  ASSERT_EQ(b.bench.Run(100), "");
  // The third waits for the first, and the fourth is behind it.
  EXPECT_EQ(b.fetch.count, 2u);
  EXPECT_EQ(b.store.count, 2u);
  EXPECT_EQ(b.result.count, 0u);
  b.dones.rate = 16;
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.memory[0x40], 2u);
}

TEST_F(AtomicTest, AsManyAsSlotsAreInFlight) {
  b.fetched.rate = 0;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) b.Execute({.qpn = qpn, .address = 8 * qpn, .swap_add = 1});
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.fetch.count, kInFlight);
  EXPECT_TRUE(b.request.IsEmpty());  // the others wait inside
  b.fetched.rate = 16;
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.result.count, kQps);
}

TEST_F(AtomicTest, HalfAddressesAreDifferent) {
  b.dones.rate = 0;
  for (uint32_t i = 0; i < 3; ++i) b.Execute({.qpn = i, .address = 0x8000'0000'0000'0000 >> 30 * i, .swap_add = 1});
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.fetch.count, 3u);
  b.dones.rate = 16;
  ASSERT_EQ(b.Settle(), "");
}

// --- Duplicates ------------------------------------------------------------------------------------------------------

TEST_F(AtomicTest, LastResultsOfEveryQueuePairAreKept) {
  for (uint32_t i = 0; i < kKept + 1; ++i) {
    for (const uint32_t qpn : {kQp, kQp + 1}) {
      b.Execute({.qpn = qpn, .psn = 100 * qpn + i, .address = kAddress, .swap_add = 3});
      ASSERT_EQ(b.Settle(), "");
    }
  }
  b.fetch.count = 0;
  for (const uint32_t qpn : {kQp, kQp + 1}) {
    for (uint32_t i = 0; i < kKept + 1; ++i) {
      b.result_sink.sent().clear();
      b.Repeat(qpn, 100 * qpn + i);
      ASSERT_EQ(b.Settle(), "");
      const auto& token = b.result_sink.sent().front().token;
      EXPECT_EQ(token.status, i == 0 ? AtomicStatus::kUnknown : AtomicStatus::kOk);
      if (i != 0) {
        EXPECT_EQ(token.value, 3 * (2 * i + qpn - kQp));
      }
    }
  }
  EXPECT_EQ(b.fetch.count, 0u);
  EXPECT_EQ(b.memory[kAddress], 3u * 2 * (kKept + 1));
}

TEST_F(AtomicTest, NewestOfTwoResultsWithOneNumberIsFound) {
  for (uint32_t i = 0; i < 2; ++i) {
    b.Execute({.qpn = kQp, .psn = 9, .address = kAddress, .swap_add = 1});
    ASSERT_EQ(b.Settle(), "");
  }
  b.result_sink.sent().clear();
  b.Repeat(kQp, 9);
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.result_sink.sent().front().token.value, 1u);
}

TEST_F(AtomicTest, ResultsEndWithTheLifetime) {
  for (const auto state : {IbQpState::kReset, IbQpState::kInit, IbQpState::kRtr, IbQpState::kErr}) {
    b.Execute({.qpn = kQp, .psn = 1, .address = kAddress, .swap_add = 1});
    ASSERT_EQ(b.Settle(), "");
    b.Clear(kQp, state);
    ASSERT_EQ(b.Settle(), "");
    b.result_sink.sent().clear();
    b.Repeat(kQp, 1);
    ASSERT_EQ(b.Settle(), "");
    const bool ends = state == IbQpState::kReset || state == IbQpState::kInit;
    EXPECT_EQ(b.result_sink.sent().front().token.status, ends ? AtomicStatus::kUnknown : AtomicStatus::kOk);
  }
}

// The pulse has the table's write port.
TEST_F(AtomicTest, ClearsOfOthersInEveryCycleOfAnEnd) {
  for (unsigned delay = 0; delay < 24; ++delay) {
    for (const unsigned pulses : {1u, 2u, 3u}) {
      b.Execute({.qpn = kQp, .psn = delay, .address = kAddress, .swap_add = 1});
      ASSERT_EQ(b.bench.Run(delay), "");
      for (unsigned i = 0; i < pulses; ++i) b.Clear(kQp + 1 + i, IbQpState::kReset);
      ASSERT_EQ(b.Settle(), "");
      b.Repeat(kQp, delay);
      ASSERT_EQ(b.Settle(), "");
    }
  }
}

// --- Errors ----------------------------------------------------------------------------------------------------------

TEST_F(AtomicTest, RefusedReadsAndWritesFail) {
  b.bad_reads = {0x100};
  b.bad_writes = {0x200};
  b.Execute({.qpn = 0, .psn = 1, .address = 0x100, .swap_add = 1});
  b.Execute({.qpn = 1, .psn = 1, .address = 0x200, .swap_add = 1});
  b.Execute({.qpn = 2, .psn = 1, .address = 0x300, .swap_add = 1});
  // It writes nothing.
  b.Execute({.qpn = 3, .psn = 1, .is_swap = true, .address = 0x200, .swap_add = 1, .compare = 1});
  ASSERT_EQ(b.Settle(), "");
  std::vector<AtomicStatus> statuses;
  for (const auto& sent : b.result_sink.sent()) statuses.push_back(sent.token.status);
  EXPECT_EQ(statuses,
            (std::vector{AtomicStatus::kFailed, AtomicStatus::kFailed, AtomicStatus::kOk, AtomicStatus::kOk}));
  EXPECT_EQ(b.store.count, 2u);
  EXPECT_EQ(b.grants.ended.size(), 4u);
  // What failed is not kept.
  for (const uint32_t qpn : {0u, 1u}) b.Repeat(qpn, 1);
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.result_sink.sent().back().token.status, AtomicStatus::kUnknown);
}

// --- Timing ----------------------------------------------------------------------------------------------------------

TEST_F(AtomicTest, MeetsDocumentedLatencies) {
  // Not in the cycle before.
  const auto appears = [&](const auto& valid, Cycle after) {
    EXPECT_EQ(b.bench.Run(after - 1), "");
    EXPECT_EQ(valid, 0);
    EXPECT_EQ(b.bench.Run(1), "");
    EXPECT_NE(valid, 0);
  };
  b.fetched.rate = b.dones.rate = 0;
  b.Execute({.qpn = kQp, .psn = 1, .address = kAddress, .swap_add = 1});
  appears(b.p.fetch_request_valid_o, Atomic::kRequestToFetch);
  ASSERT_EQ(b.bench.Run(10), "");
  b.fetched.rate = 16;
  appears(b.p.store_valid_o, Atomic::kFetchedToStore);
  ASSERT_EQ(b.bench.Run(10), "");
  b.dones.rate = 16;
  appears(b.p.result_valid_o, Atomic::kDoneToResult);
  ASSERT_EQ(b.Settle(), "");

  b.fetched.rate = 0;
  b.Execute({.qpn = kQp, .psn = 2, .is_swap = true, .address = kAddress, .swap_add = 1, .compare = 77});
  ASSERT_EQ(b.bench.Run(20), "");
  b.fetched.rate = 16;
  appears(b.p.result_valid_o, Atomic::kFetchedToResult);
  ASSERT_EQ(b.Settle(), "");

  // Each older result takes one cycle more.
  for (const uint32_t back : {0u, 1u}) {
    b.Repeat(kQp, 2 - back);
    appears(b.p.result_valid_o, Atomic::kDuplicateToResult + back);
    ASSERT_EQ(b.Settle(), "");
  }

  b.dones.rate = 0;
  b.Execute({.qpn = kQp, .psn = 3, .is_write = true, .address = kAddress, .swap_add = 1});
  appears(b.p.store_valid_o, Atomic::kRequestToStore);
  b.dones.rate = 16;
  ASSERT_EQ(b.Settle(), "");

  // Operations that have ended leave at this interval.
  b.result.rate = 0;
  for (uint32_t qpn = 0; qpn < kInFlight; ++qpn) b.Execute({.qpn = qpn, .address = 8 * qpn, .swap_add = 1});
  ASSERT_EQ(b.bench.Run(100), "");
  b.result_sink.sent().clear();
  b.result.rate = 16;
  ASSERT_EQ(b.Settle(), "");
  for (size_t i = 1; i < kInFlight; ++i) {
    EXPECT_EQ(b.result_sink.sent()[i].cycle - b.result_sink.sent()[i - 1].cycle, Atomic::kInterval);
  }
}

// --- Random ----------------------------------------------------------------------------------------------------------

struct Rates {
  unsigned in, out, memory;
  uint64_t addresses;
};
class AtomicRandomTest : public testing::TestWithParam<Rates> {};

void Traffic(Bench& b, int operations, uint64_t addresses) {
  std::array<uint32_t, kQps> psn{};
  for (auto& start : psn) start = static_cast<uint32_t>(b.random()) & 0xff'ffff;
  for (int i = 0; i < operations; ++i) {
    const auto qpn = static_cast<uint32_t>(b.random() % kQps);
    if (b.busy.contains(qpn) || b.states.tokens.size() > 2) {
      ASSERT_EQ(b.bench.Run(1 + b.random() % 8), "");
      continue;
    }
    switch (b.random() % 8) {
      case 0:
        b.Clear(qpn, b.random() % 2 == 0 ? IbQpState::kReset : IbQpState::kInit);
        ASSERT_EQ(b.Settle(), "");
        break;
      case 1:
      case 2: b.Repeat(qpn, (psn[qpn] - static_cast<uint32_t>(b.random() % 6)) & 0xff'ffff); break;
      default: {
        psn[qpn] = (psn[qpn] + 1) & 0xff'ffff;
        const uint64_t address = b.random() % addresses * 8;
        const bool is_write = b.random() % 4 == 0;
        const bool is_flush = !is_write && b.random() % 4 == 0;
        const bool is_swap = !is_write && !is_flush && b.random() % 2 != 0;
        const uint64_t value = b.now[address];
        b.Execute({.qpn = qpn,
                   .psn = psn[qpn],
                   .is_swap = is_swap,
                   .is_write = is_write,
                   .is_flush = is_flush,
                   .address = address + (is_flush ? b.random() % 8 : 0),
                   .swap_add = b.random(),
                   .compare = b.random() % 2 == 0 ? value : b.random()});
      }
    }
  }
  ASSERT_EQ(b.Settle(), "");
}

TEST_P(AtomicRandomTest, RtlAndModelExecuteEachOnce) {
  Rtl rtl(Outputs());
  Bench b(rtl);
  const Rates rates = GetParam();
  b.Rates(rates.in, rates.out, rates.memory);
  for (uint64_t i = 0; i < rates.addresses; ++i) b.memory[8 * i] = b.now[8 * i] = b.random();
  if (rates.addresses > 4) {
    b.bad_reads = {8};
    b.bad_writes = {16};
  }
  Traffic(b, 3000, rates.addresses);
  EXPECT_GT(b.result.count, 1000u);
  for (const auto& [address, value] : b.now) EXPECT_EQ(b.memory[address], value) << address;
}

INSTANTIATE_TEST_SUITE_P(All, AtomicRandomTest,
                         testing::Values(Rates{16, 16, 16, 100}, Rates{16, 16, 1, 100}, Rates{8, 2, 8, 8},
                                         Rates{16, 16, 4, 1}, Rates{4, 8, 2, 3}, Rates{16, 1, 16, 20}));

TEST(AtomicReset, EndsEverything) {
  Rtl rtl(Outputs());
  for (unsigned cycles = 1; cycles < 40; ++cycles) {
    Bench b(rtl);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) b.Execute({.qpn = qpn, .address = 8 * qpn % 40, .swap_add = 1});
    ASSERT_EQ(b.bench.Run(cycles), "");
    b.p.request_valid_i = b.p.fetched_valid_i = b.p.done_valid_i = b.p.qp_state_write_valid_i = 0;
    ResetAndClear(rtl, 512);
  }
  Bench b(rtl);
  Traffic(b, 300, 8);
}

}  // namespace
}  // namespace vireo::verif
