// SPDX-License-Identifier: Apache-2.0
// Memory checks: the RTL against the model in every cycle, and both against the tables byte by byte.
#include "model/rdma/memory_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Vmemory_check_16.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/table_reset.h"

namespace vireo::verif {
namespace {

using model::Channel;
using model::Cycle;
using spec::MemoryStatus;
using Check = spec::MemoryCheck;
using Place = spec::MemoryPlace;

constexpr size_t kClients = model::MemoryCheck::kClients;
constexpr size_t kMrs = 16;
constexpr size_t kPages = 64;
constexpr uint32_t kMost = 4096;  // bytes of an access that has a place

constexpr spec::Config TestConfig() {
  spec::Config config = spec::kNic1;
  config.datapath_bits = 512;
  config.fast_registration = 1;
  config.num_mrs = kMrs;
  config.num_translations = kPages;
  return config;
}
constexpr spec::Config kConfig = TestConfig();

// One bit of a port.
struct Bit {
  CData& port;
  unsigned index;
  Bit& operator=(bool value) {
    port = static_cast<CData>((port & ~(1u << index)) | unsigned{value} << index);
    return *this;
  }
  operator bool() const { return (port >> index & 1) != 0; }  // NOLINT(google-explicit-constructor): as a port is
};

using CheckPort = EData[(spec::MemoryCheck::kBits + 31) / 32];
using PlacePort = EData[5];
using Top = Vmemory_check_16;
using Rtl = RtlTop<Top>;

Rtl::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.check_ready_o);
    bytes.push_back(top.place_valid_o);
    bytes.push_back(top.idle_o);
    bytes.push_back(top.fence_o);
    const auto fence = BytesOf(top.key_fence_o);
    bytes.insert(bytes.end(), fence.begin(), fence.end());
    const auto place = BytesOf(top.place_o);
    bytes.insert(bytes.end(), place.begin(), place.end());
  };
}

// Tokens of several clients in one port do not start at words.
void CopyBits(std::span<const uint8_t> from, size_t from_bit, std::span<uint8_t> to, size_t to_bit, size_t bits) {
  for (size_t i = 0; i < bits; ++i) {
    const auto mask = static_cast<uint8_t>(1u << (to_bit + i) % 8);
    uint8_t& byte = to[(to_bit + i) / 8];
    const bool bit = (from[(from_bit + i) / 8] >> (from_bit + i) % 8 & 1) != 0;
    byte = static_cast<uint8_t>(bit ? byte | mask : byte & ~mask);
  }
}

// Compares idle_o; and takes the answers out of their port.
class Watch final : public BenchStream {
 public:
  Watch(Top& top, const model::MemoryCheck& block, std::array<PlacePort, kClients>& places)
      : top_(top), block_(block), places_(places) {}
  void Begin(Cycle cycle) override {
    if ((top_.idle_o != 0) != block_.IsIdle()) {
      difference =
          "idle: cycle " + std::to_string(cycle) + ": " + (top_.idle_o != 0 ? "only the RTL" : "only the model");
    }
  }
  void End(Cycle) override {
    for (size_t client = 0; client < kClients; ++client) {
      CopyBits(BytesOf(std::as_const(top_.place_o)), client * Place::kBits, BytesOf(places_[client]), 0, Place::kBits);
    }
  }
  bool IsEmpty() const override { return true; }

 private:
  Top& top_;
  const model::MemoryCheck& block_;
  std::array<PlacePort, kClients>& places_;
};

// Puts the checks, set by the streams, into their port.
class Checks final : public BenchStream {
 public:
  Checks(Top& top, const std::array<CheckPort, kClients>& checks) : top_(top), checks_(checks) {}
  void Begin(Cycle) override {
    for (size_t client = 0; client < kClients; ++client) {
      CopyBits(BytesOf(checks_[client]), 0, BytesOf(top_.check_i), client * Check::kBits, Check::kBits);
    }
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }

 private:
  Top& top_;
  const std::array<CheckPort, kClients>& checks_;
};

// What is compared with the tables.
Place WithoutGrant(Place place) {
  place.grant = {};
  return place;
}

// Compares the pulses that tell what windows are bound to.
class Bindings final : public BenchStream {
 public:
  Bindings(Top& top, model::MemoryCheck& block) : top_(top) {
    block.on_binding = [this](Cycle at, const spec::MrBinding& binding) { expected_.emplace_back(at, binding); };
  }
  void Begin(Cycle) override {
    is_pulse_ = top_.binding_valid_o != 0;
    if (is_pulse_) seen_ = TokenFrom<spec::MrBinding>(BytesOf(std::as_const(top_.binding_o)));
  }
  void End(Cycle cycle) override {
    const bool is_due = !expected_.empty() && expected_.front().first <= cycle;
    if (is_pulse_ != is_due || (is_due && (expected_.front() != std::pair(cycle, seen_)))) {
      difference = "binding: cycle " + std::to_string(cycle) +
                   (is_pulse_ ? ": RTL " + TokenText(seen_) : ": RTL none") +
                   (is_due ? ", model " + TokenText(expected_.front().second) : ", model none");
    }
    if (is_due) expected_.pop_front();
    count += is_pulse_ && seen_.is_bound;
  }
  bool IsEmpty() const override { return expected_.empty(); }

  uint64_t count = 0;  // of binds

 private:
  Top& top_;
  std::deque<std::pair<Cycle, spec::MrBinding>> expected_;
  bool is_pulse_ = false;
  spec::MrBinding seen_;
};

// Users of the answers: an access ends some time after its answer was taken. Compares fence_o.
class Accesses final : public BenchStream {
 public:
  static constexpr unsigned kHolders = 5;
  static constexpr unsigned kGrantBits = spec::MemoryGrant::kBits;

  Accesses(Top& top, model::MemoryCheck& block, std::array<Channel<Place>, kClients>& sinks, std::mt19937_64& random)
      : top_(top), block_(block), sinks_(sinks), random_(random) {
    top_.ended_i = 0;
    top_.epoch_i = 0;
    top_.scatter_waits_i = top_.completer_waits_i = 0;
  }

  void Begin(Cycle cycle) override {
    if ((top_.fence_o != 0) != block_.IsFencing(cycle)) {
      difference =
          "fence: cycle " + std::to_string(cycle) + ": " + (top_.fence_o != 0 ? "only the RTL" : "only the model");
    }
    const spec::KeyFence rtl = TokenFrom<spec::KeyFence>(BytesOf(std::as_const(top_.key_fence_o)));
    if (const spec::KeyFence model = block_.FenceState(cycle); rtl != model) {
      difference =
          "key fence: cycle " + std::to_string(cycle) + ": RTL " + TokenText(rtl) + ", model " + TokenText(model);
    }
    top_.scatter_waits_i = wait_rate != 0 && random_() % 64 < wait_rate;
    top_.completer_waits_i = wait_rate != 0 && random_() % 64 < wait_rate;
    if (top_.scatter_waits_i != 0 || top_.completer_waits_i != 0) block_.Wait(spec::KeySide::kSent, cycle);
    if (top_.completer_waits_i != 0) block_.Wait(spec::KeySide::kReceived, cycle);
    top_.ended_i = 0;
    if (hold) return;
    // Each holder ends at most one access in a cycle.
    for (unsigned used = 0; used != (1u << kHolders) - 1;) {
      const auto is_due = [&](const Open& open) {
        const unsigned holders = HoldersOf(open.side);
        return open.due <= cycle && (used & holders) != holders;
      };
      const auto due = std::find_if(open_.begin(), open_.end(), is_due);
      if (due == open_.end()) break;
      unsigned holder = static_cast<unsigned>(random_() % kHolders);
      while ((used >> holder & 1) != 0 || (HoldersOf(due->side) >> holder & 1) == 0) holder = (holder + 1) % kHolders;
      used |= 1u << holder;
      top_.ended_i |= static_cast<SData>((2u | unsigned{due->grant.epoch}) << kGrantBits * holder);
      block_.OnGrantEnded(cycle, cycle, due->side, due->grant);
      open_.erase(due);
    }
  }
  // By number: requester, responder, tx_gather, rx_scatter, atomic.
  static unsigned HoldersOf(spec::KeySide side) { return side == spec::KeySide::kReceived ? 0b01010 : 0b10101; }
  void End(Cycle cycle) override {
    for (size_t i = 0; i < kClients; ++i) {
      for (; seen_[i] < sinks_[i].sent().size(); ++seen_[i]) {
        const Place& place = sinks_[i].sent()[seen_[i]].token;
        if (place.grant.valid != (place.bytes0 != 0)) difference = "a grant without bytes, or the reverse";
        const auto side = i == model::MemoryCheck::kResponder ? spec::KeySide::kReceived : spec::KeySide::kSent;
        if (place.grant.valid) open_.push_back({cycle + 1 + random_() % (late + 1), place.grant, side});
      }
    }
  }
  bool IsEmpty() const override { return open_.empty(); }

  unsigned late = 20;      // most further cycles from an answer to the end of its access
  bool hold = false;       // none ends
  unsigned wait_rate = 0;  // of the pulses of who waits, of 64

 private:
  struct Open {
    Cycle due;
    spec::MemoryGrant grant;
    spec::KeySide side;
  };

  Top& top_;
  model::MemoryCheck& block_;
  std::array<Channel<Place>, kClients>& sinks_;
  std::mt19937_64& random_;
  std::array<size_t, kClients> seen_{};
  std::deque<Open> open_;
};

struct Bench {
  explicit Bench(Rtl& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {
    static constexpr std::array kIn = {"requester", "responder", "read responder"};
    static constexpr std::array kOut = {"requester's", "responder's", "read responder's"};
    bench.AddOther(watch);
    for (size_t i = 0; i < kClients; ++i) {
      block.place_out[i].Connect(sinks[i], block);
      in.push_back(&bench.In(kIn[i], block.check_in[i], check_valid[i], check_ready[i], check_ports[i]));
      out.push_back(&bench.Out(kOut[i], sinks[i], place_valid[i], place_ready[i], places[i]));
    }
    bench.AddOther(checks);
    bench.AddOther(contexts);
    bench.AddOther(accesses);
    bench.AddOther(bindings);
  }

  template <typename Row>
  void Write(spec::MgmtTable table, uint32_t index, const Row& row) {
    spec::TableWrite write{.table_id = table, .index = index};
    row.Encode(write.data);
    writes.tokens.push_back(write);
  }
  void Write(uint32_t index, const spec::TableMr& row) { Write(spec::MgmtTable::kMr, index, row); }
  void Page(uint32_t index, uint64_t address) {
    Write(spec::MgmtTable::kTranslation, index, spec::TableTranslation{.address = address});
  }
  // All pending writes, before anything else.
  void Setup() { ASSERT_EQ(bench.Run(writes.tokens.size() + 1), ""); }

  std::mt19937_64 random = sim::MakeRandom("memory_check");
  Top& p;
  model::Agenda agenda;
  model::MemoryCheck block{agenda, kConfig};
  std::array<Channel<Place>, kClients> sinks = {Channel<Place>::Sink(), Channel<Place>::Sink(), Channel<Place>::Sink()};
  std::array<Bit, kClients> check_valid = {Bit{p.check_valid_i, 0}, Bit{p.check_valid_i, 1}, Bit{p.check_valid_i, 2}};
  std::array<Bit, kClients> check_ready = {Bit{p.check_ready_o, 0}, Bit{p.check_ready_o, 1}, Bit{p.check_ready_o, 2}};
  std::array<Bit, kClients> place_valid = {Bit{p.place_valid_o, 0}, Bit{p.place_valid_o, 1}, Bit{p.place_valid_o, 2}};
  std::array<Bit, kClients> place_ready = {Bit{p.place_ready_i, 0}, Bit{p.place_ready_i, 1}, Bit{p.place_ready_i, 2}};
  std::array<CheckPort, kClients> check_ports{};
  std::array<PlacePort, kClients> places{};
  Checks checks{p, check_ports};
  ContextBench<Top, model::MemoryCheck> contexts{p, block};
  Watch watch{p, block, places};
  Accesses accesses{p, block, sinks, random};
  Bindings bindings{p, block};
  BlockBench<Top> bench;
  std::vector<InStream<Check, Bit, Bit, CheckPort>*> in;
  std::vector<OutStream<Place, Bit, Bit, PlacePort>*> out;
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) writes =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle now, const spec::TableWrite& w) { block.OnTableWrite(now, w); });
};

// --- Table contents and expected results
// ------------------------------------------------------------------

struct Tables {
  std::array<spec::TableMr, kMrs> mrs{};
  std::array<uint64_t, kPages> pages{};

  // Regions of every page size with as many pages as they need; some are not valid, some cover the whole address space.
  explicit Tables(std::mt19937_64& random) {
    for (auto& page : pages) page = random() & ~uint64_t{0xfff};
    for (auto& mr : mrs) mr = Region(random);
  }
  static spec::TableMr Region(std::mt19937_64& random) {
    spec::TableMr mr{};
    mr.valid = random() % 8 != 0;
    mr.dma = random() % 6 == 0;
    mr.local_write = random() % 4 != 0;
    mr.remote_write = random() % 4 != 0;
    mr.remote_read = random() % 4 != 0;
    mr.remote_atomic = random() % 4 != 0;
    mr.flush_global = random() % 4 != 0;
    mr.flush_persistent = random() % 4 != 0;
    mr.invalidatable = random() % 2 != 0;
    mr.key = static_cast<uint8_t>(random() % 3);
    mr.pdn = static_cast<uint16_t>(random() % 3);
    static constexpr unsigned kSpan = spec::kRdmaPageShiftMax - spec::kRdmaPageShiftMin;
    const unsigned extra = static_cast<unsigned>(random() % 3 == 0 ? random() % (kSpan + 1) : 0);
    mr.page_shift = static_cast<uint8_t>(spec::kRdmaPageShiftMin + extra);
    mr.npages = static_cast<uint32_t>(1 + random() % 6);
    mr.first_translation = static_cast<uint32_t>(random() % (kPages - mr.npages + 1));
    const uint64_t page_bytes = uint64_t{1} << mr.page_shift;
    const uint64_t low = random() % page_bytes;
    const uint64_t span = page_bytes * mr.npages;
    mr.length = 1 + random() % (span - low);
    // Anywhere, also at both ends of the address space.
    const uint64_t base = random() % 4 == 0 ? 0 : random() % 4 == 0 ? 0 - span : random();
    mr.virt_addr = (base & ~(page_bytes - 1)) + low;
    return mr;
  }

  Check RandomCheck(std::mt19937_64& random) const {
    Check check{};
    size_t index;
    do index = random() % mrs.size();
    while (mrs[index].is_window || mrs[index].length == 0);
    const spec::TableMr& mr = mrs[index];
    check.key = static_cast<uint32_t>(random() % 32 == 0 ? random() : index << 8 | mr.key);
    if (random() % 32 == 0) check.key ^= 1u << random() % 16;
    check.pdn = static_cast<uint16_t>(random() % 32 == 0 ? random() : mr.pdn);
    check.local_write = random() % 4 == 0;
    check.remote_write = random() % 4 == 0;
    check.remote_read = random() % 4 == 0;
    check.remote_atomic = random() % 4 == 0;
    check.flush_global = random() % 8 == 0;
    check.flush_persistent = random() % 8 == 0;
    check.whole = random() % 8 == 0;
    check.bytes = static_cast<uint32_t>(1 + (random() % 2 == 0 ? random() % kMost : random() % 64));
    if (random() % 4 == 0) {  // random, arbitrary, or as large as possible
      const uint64_t many = random() % 3 == 0 ? kMost + 1 : random() % 2 == 0 ? random() : random() % mr.length + kMost;
      check.bytes = static_cast<uint32_t>(many);
      check.bytes = std::max(check.bytes, kMost + 1);
    }
    switch (random() % 5) {
      case 0: check.address = mr.virt_addr - random() % 3; break;
      case 1: check.address = mr.virt_addr + mr.length - check.bytes + random() % 3 - 1; break;
      case 2: {  // around the end of a page
        const uint64_t page_bytes = uint64_t{1} << mr.page_shift;
        check.address = (mr.virt_addr & ~(page_bytes - 1)) + (random() % mr.npages + 1) * page_bytes - random() % 4200;
        break;
      }
      case 3: check.address = random(); break;
      default: check.address = mr.virt_addr + random() % mr.length; break;
    }
    return check;
  }

  // By definition, byte by byte.
  Place Expected(const Check& check) const {
    const uint32_t index = check.key >> 8;
    if (index >= mrs.size() || !mrs[index].valid || mrs[index].key != (check.key & 0xff)) {
      return {.status = MemoryStatus::kKey};
    }
    const spec::TableMr& mr = mrs[index];
    if (mr.pdn != check.pdn) return {.status = MemoryStatus::kPd};
    if (check.local_write > mr.local_write || check.remote_write > mr.remote_write ||
        check.remote_read > mr.remote_read || check.remote_atomic > mr.remote_atomic ||
        check.flush_global > mr.flush_global || check.flush_persistent > mr.flush_persistent) {
      return {.status = MemoryStatus::kRights};
    }
    std::vector<uint64_t> bus;
    const uint64_t first = !check.whole ? check.address : mr.dma ? 0 : mr.virt_addr;
    // Of many bytes the first and the last: a region has no holes.
    const uint32_t step = check.bytes > kMost ? check.bytes - 1 : 1;
    for (uint64_t i = 0; i < check.bytes; i += step) {
      const uint64_t address = first + i;
      if (address < first) return {.status = MemoryStatus::kBounds};  // past the end of the addresses
      if (mr.dma) {
        bus.push_back(address);
        continue;
      }
      if (address < mr.virt_addr || address - mr.virt_addr >= mr.length) return {.status = MemoryStatus::kBounds};
      const uint64_t page = (address >> mr.page_shift) - (mr.virt_addr >> mr.page_shift);
      bus.push_back(pages.at(mr.first_translation + page) + address % (uint64_t{1} << mr.page_shift));
    }
    if (check.bytes > kMost) return {};
    // A run ends at the end of a page, also if the next page happens to follow in memory.
    Place place{.address0 = bus[0]};
    const uint64_t page_bytes = mr.dma ? 0 : uint64_t{1} << mr.page_shift;
    for (unsigned i = 0; i < check.bytes; ++i) {
      const bool next_page = page_bytes != 0 && i > 0 && (first + i) % page_bytes == 0;
      if (next_page) place.address1 = bus[i];
      ++(next_page || place.bytes1 != 0 ? place.bytes1 : place.bytes0);
    }
    return place;
  }
};

// --- Tests
// -------------------------------------------------------------------------------------------------------------

TEST(MemoryCheck, TranslatesEveryByteByTheTables) {
  std::array<unsigned, 5> count{};
  unsigned crossing = 0;
  unsigned long_and_ok = 0;
  for (unsigned round = 0; round < 6; ++round) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    bench.random.seed(bench.random() + round);
    const Tables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    std::array<std::deque<Check>, kClients> checks;
    for (size_t client = 0; client < kClients; ++client) {
      for (unsigned i = 0; i < 600; ++i) checks[client].push_back(tables.RandomCheck(bench.random));
      bench.in[client]->tokens = checks[client];
      bench.in[client]->rate = round % 2 == 0 ? 16 : 5;
      bench.out[client]->rate = round < 3 ? 16 : 5;
    }
    ASSERT_EQ(bench.bench.RunOut(200), "");
    for (size_t client = 0; client < kClients; ++client) {
      ASSERT_EQ(bench.out[client]->count, checks[client].size());
      for (size_t i = 0; i < checks[client].size(); ++i) {
        const Place& place = bench.sinks[client].sent()[i].token;
        ASSERT_EQ(WithoutGrant(place), tables.Expected(checks[client][i])) << TokenText(checks[client][i]) << "\n"
                                                                           << TokenText(place);
        ++count.at(static_cast<size_t>(place.status));
        crossing += place.bytes1 != 0;
        long_and_ok += checks[client][i].bytes > kMost && place.status == MemoryStatus::kOk;
      }
    }
  }
  for (const unsigned n : count) EXPECT_GT(n, 20u);
  EXPECT_GT(crossing, 100u);
  EXPECT_GT(long_and_ok, 100u);
}

// An invalidate for each 8 checks, of all three clients; regions come back by writes of firmware, also in the cycles of
// invalidates.
TEST(MemoryCheck, MatchesModelWhileRegionsAreInvalidated) {
  uint64_t ended = 0, refused = 0;
  for (const unsigned rate : {16u, 5u}) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    const Tables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    for (unsigned i = 0; i < 3000; ++i) {
      const auto index = static_cast<uint32_t>(bench.random() % kMrs);
      bench.Write(index, tables.mrs[index]);
    }
    bench.writes.rate = 6;
    bench.accesses.wait_rate = 4;
    std::array<std::vector<bool>, kClients> invalidates;
    for (size_t client = 0; client < kClients; ++client) {
      bench.in[client]->rate = bench.out[client]->rate = rate;
      for (unsigned i = 0; i < 1500; ++i) {
        Check check = tables.RandomCheck(bench.random);
        invalidates[client].push_back(bench.random() % 8 == 0);
        if (invalidates[client].back()) check = {.key = check.key, .pdn = check.pdn, .invalidate = true};
        bench.in[client]->tokens.push_back(check);
      }
    }
    ASSERT_EQ(bench.bench.RunOut(600), "");
    for (size_t client = 0; client < kClients; ++client) {
      for (size_t i = 0; i < invalidates[client].size(); ++i) {
        if (!invalidates[client][i]) continue;
        const Place& place = bench.sinks[client].sent().at(i).token;
        EXPECT_EQ(place, Place{.status = place.status}) << "nothing is granted";
        ++(place.status == MemoryStatus::kOk ? ended : refused);
      }
    }
  }
  EXPECT_GT(ended, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(MemoryCheck, MatchesModelWhileTheTablesChange) {
  // The answers of one client are taken at a separate rate.
  for (const auto& [in_rate, out_rate, one_rate] :
       {std::array{16u, 16u, 16u}, {3u, 16u, 16u}, {16u, 3u, 3u}, {3u, 3u, 3u}, {16u, 16u, 1u}, {16u, 3u, 16u}}) {
    for (size_t one = 0; one < (one_rate == out_rate ? 1 : kClients); ++one) {
      Rtl rtl(Outputs());
      Bench bench(rtl);
      const Tables tables(bench.random);
      for (unsigned i = 0; i < 4000; ++i) {
        const auto index = static_cast<uint32_t>(bench.random());
        switch (bench.random() % 3) {
          case 0:
            bench.Write(index % kMrs,
                        bench.random() % 2 == 0 ? tables.mrs[index % kMrs] : Tables::Region(bench.random));
            break;
          case 1: bench.Page(index % kPages, bench.random()); break;
          default: bench.Write(spec::MgmtTable::kAh, index % kMrs, tables.mrs[0]); break;  // another block's
        }
      }
      bench.writes.rate = 8;
      for (auto* in : bench.in) {
        in->rate = in_rate;
        for (unsigned i = 0; i < 800; ++i) in->tokens.push_back(tables.RandomCheck(bench.random));
      }
      for (auto* out : bench.out) out->rate = out_rate;
      bench.out[one]->rate = one_rate;
      ASSERT_EQ(bench.bench.RunOut(600), "");
      for (const auto* out : bench.out) EXPECT_EQ(out->count, 800u);
    }
  }
}

// A region of two pages that are not adjacent; 5,000 bytes from 0x1234'5600 on.
constexpr spec::TableMr kRegion{.valid = true,
                                .local_write = true,
                                .remote_write = true,
                                .key = 0x5a,
                                .page_shift = 12,
                                .npages = 2,
                                .first_translation = 7,
                                .pdn = 3,
                                .virt_addr = 0x12345600,
                                .length = 5000};
constexpr uint32_t kIndex = 9;
constexpr uint32_t kKey = kIndex << 8 | 0x5a;

struct DirectedBench {
  DirectedBench() : bench(rtl) {
    bench.Write(kIndex, kRegion);
    spec::TableMr all{.valid = true, .dma = true, .local_write = true, .key = 1, .page_shift = 17, .pdn = 3};
    bench.Write(2, all);
    bench.Page(7, 0xa000'0000'0000);
    bench.Page(8, 0x7000);
    bench.Setup();
  }
  Place Ask(Check check) {
    bench.in[0]->tokens.push_back(check);
    EXPECT_EQ(bench.bench.RunOut(20), "");
    return bench.sinks[0].sent().empty() ? Place{} : WithoutGrant(bench.sinks[0].sent().back().token);
  }
  Rtl rtl{Outputs()};
  Bench bench;
};
constexpr Check kCheck{.key = kKey, .pdn = 3, .address = 0x12345600, .bytes = 256};

TEST(MemoryCheck, SplitsAnAccessAtThePageBoundary) {
  DirectedBench b;
  EXPECT_EQ(b.Ask(kCheck), (Place{.address0 = 0xa000'0000'0600, .bytes0 = 256}));
  Check check = kCheck;
  check.address = 0x12345fff;
  check.bytes = 2;
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0xa000'0000'0fff, .bytes0 = 1, .address1 = 0x7000, .bytes1 = 1}));
  check.address = 0x12345f00;
  check.bytes = 256;
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0xa000'0000'0f00, .bytes0 = 256}));
  check.address = 0x12346000;
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0x7000, .bytes0 = 256}));
}

TEST(MemoryCheck, FindsAPageAndTheNextFromEveryFirstPage) {
  DirectedBench b;
  for (uint32_t i = 0; i < kPages; ++i) b.bench.Page(i, uint64_t{0x1000} * (100 + i));
  b.bench.Setup();
  for (uint32_t first = 0; first < kPages; ++first) {
    spec::TableMr region = kRegion;
    region.first_translation = first;
    b.bench.Write(kIndex, region);
    b.bench.Setup();
    Check check = kCheck;
    check.address = 0x12345fff;
    check.bytes = 2;
    // The table wraps at its end: firmware ensures that no region does.
    EXPECT_EQ(b.Ask(check), (Place{.address0 = uint64_t{0x1000} * (100 + first) + 0xfff,
                                   .bytes0 = 1,
                                   .address1 = uint64_t{0x1000} * (100 + (first + 1) % kPages),
                                   .bytes1 = 1}));
  }
}

TEST(MemoryCheck, ReportsTheFirstStatusThatApplies) {
  DirectedBench b;
  const auto ask = [&](auto change) {
    Check check = kCheck;
    change(check);
    const Place place = b.Ask(check);
    EXPECT_TRUE(place == Place{.status = place.status} || place.status == MemoryStatus::kOk) << "the rest is not 0";
    return place.status;
  };
  // Everything wrong at once, then corrected one after the other.
  Check check{.key = kKey ^ 1, .pdn = 4, .remote_read = true, .address = 0, .bytes = 1};
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kKey);
  check.key = kKey;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kPd);
  check.pdn = 3;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kRights);
  check.remote_read = false;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kBounds);
  check.address = kCheck.address;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kOk);

  EXPECT_EQ(ask([](Check& c) { c.key = 3 << 8; }), MemoryStatus::kKey) << "no such region";
  EXPECT_EQ(ask([](Check& c) { c.key += static_cast<uint32_t>(kMrs << 8); }), MemoryStatus::kKey) << "beyond the table";
  EXPECT_EQ(ask([](Check& c) { c.key |= 0x80000000; }), MemoryStatus::kKey) << "far beyond the table";
  EXPECT_EQ(ask([](Check& c) { c.local_write = c.remote_write = true; }), MemoryStatus::kOk) << "all rights are there";
  EXPECT_EQ(ask([](Check& c) { c.remote_write = c.remote_read = true; }), MemoryStatus::kRights) << "one is not";
  EXPECT_EQ(ask([](Check& c) { c.remote_write = c.remote_atomic = true; }), MemoryStatus::kRights) << "nor this one";
  EXPECT_EQ(ask([](Check& c) { c.flush_global = true; }), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.flush_persistent = true; }), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.address -= 1; }), MemoryStatus::kBounds);
  EXPECT_EQ(ask([](Check& c) { c.address -= 1, c.whole = true; }), MemoryStatus::kOk) << "its first byte";
  EXPECT_EQ(ask([](Check& c) { c.address += 5000 - 256; }), MemoryStatus::kOk) << "the last byte";
  EXPECT_EQ(ask([](Check& c) { c.address += 5000 - 255; }), MemoryStatus::kBounds) << "one more";
  EXPECT_EQ(ask([](Check& c) { c.address = ~uint64_t{0}; }), MemoryStatus::kBounds) << "past the end of the addresses";
}

// The region is gone for every check that is taken after the invalidate, of any client, also for the one right behind
// it.
TEST(MemoryCheck, InvalidateEndsTheRegionForTheNextCheck) {
  for (size_t client = 0; client < kClients; ++client) {
    DirectedBench b;
    spec::TableMr region = kRegion;
    region.invalidatable = true;
    b.bench.Write(kIndex, region);
    b.bench.Setup();
    const Check invalidate{.key = kKey, .pdn = 3, .invalidate = true};
    Check other = invalidate;
    other.pdn = 4;
    EXPECT_EQ(b.Ask(other), (Place{.status = MemoryStatus::kPd}));
    b.bench.in[0]->tokens = {kCheck, invalidate, kCheck};
    b.bench.in[client]->tokens.push_back(kCheck);
    ASSERT_EQ(b.bench.bench.RunOut(100), "");
    const auto& answers = b.bench.sinks[0].sent();
    ASSERT_GE(answers.size(), 4u);
    EXPECT_EQ(answers[1].token.status, MemoryStatus::kOk);
    EXPECT_EQ(answers[2].token, Place{});
    EXPECT_EQ(answers[3].token, (Place{.status = MemoryStatus::kKey}));
    EXPECT_EQ(b.Ask(invalidate), (Place{.status = MemoryStatus::kKey})) << "it is not there any more";
    b.bench.Write(kIndex, kRegion);
    b.bench.Setup();
    EXPECT_EQ(b.Ask(invalidate), (Place{.status = MemoryStatus::kRights}));
    EXPECT_EQ(b.Ask(kCheck).status, MemoryStatus::kOk);
  }
}

// A window, and a bind of it to bytes 0x100 to 0x13ff of kRegion.
constexpr spec::TableMr kWindow{.valid = true, .key = 1, .is_window = true, .is_type_2 = true, .pdn = 3};
constexpr uint32_t kWindowIndex = 4, kQpn = 5;
constexpr spec::TableMr Bindable(spec::TableMr region = kRegion) {
  region.mw_bind = true;
  return region;
}
constexpr Check kBind{.key = kWindowIndex << 8 | 0x77,
                      .pdn = 3,
                      .remote_write = true,
                      .address = kRegion.virt_addr + 0x100,
                      .bytes = 0x1200,
                      .qpn = kQpn,
                      .binds = true,
                      .lkey = kKey};
// Of the window's first bytes, by the peer.
constexpr Check kWindowCheck{
    .key = kBind.key, .pdn = 3, .remote_write = true, .address = kBind.address, .bytes = 16, .qpn = kQpn};

struct WindowBench : DirectedBench {
  explicit WindowBench(const spec::TableMr& window = kWindow) {
    bench.Write(kIndex, Bindable());
    bench.Write(kWindowIndex, window);
    bench.Setup();
  }
  template <typename Change>
  Place AskWith(Check check, Change change) {
    change(check);
    return Ask(check);
  }
};

TEST(MemoryCheck, WindowGivesAccessToItsPartOfTheRegion) {
  WindowBench b;
  EXPECT_EQ(b.Ask(kWindowCheck), (Place{.status = MemoryStatus::kKey})) << "not bound yet";
  EXPECT_EQ(b.Ask(kBind), Place{});
  EXPECT_EQ(b.Ask(kWindowCheck), (Place{.address0 = 0xa000'0000'0700, .bytes0 = 16}));
  const auto ask = [&](auto change) { return b.AskWith(kWindowCheck, change); };
  EXPECT_EQ(ask([](Check& c) { c.address += 0x1200 - 16; }), (Place{.address0 = 0x7000 + 0x8f0, .bytes0 = 16}));
  EXPECT_EQ(ask([](Check& c) { c.address += 0x1200 - 15; }).status, MemoryStatus::kBounds) << "its last byte and one";
  EXPECT_EQ(ask([](Check& c) { c.address -= 1; }).status, MemoryStatus::kBounds) << "inside of the region";
  EXPECT_EQ(ask([](Check& c) { c.remote_read = true; }).status, MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.qpn = kQpn + 1; }).status, MemoryStatus::kPd) << "bound by another queue pair";
  EXPECT_EQ(ask([](Check& c) { c.pdn = 4; }).status, MemoryStatus::kPd);
  EXPECT_EQ(ask([](Check& c) { c.key ^= 1; }).status, MemoryStatus::kKey);
  EXPECT_EQ(ask([](Check& c) { c.remote_write = false; }).status, MemoryStatus::kKey) << "a window has no lkey";
  EXPECT_EQ(ask([](Check& c) { c.remote_write = false, c.local_write = true; }).status, MemoryStatus::kKey);
  EXPECT_EQ(b.Ask(kCheck).status, MemoryStatus::kOk) << "the region is as before";
  EXPECT_EQ(b.bench.bindings.count, 1u);

  // It is unbound by its own queue pair only, and its number stays.
  Check invalidate{.key = kBind.key, .pdn = 3, .invalidate = true, .qpn = kQpn + 1};
  EXPECT_EQ(b.Ask(invalidate).status, MemoryStatus::kPd);
  invalidate.qpn = kQpn;
  EXPECT_EQ(b.Ask(invalidate), Place{});
  EXPECT_EQ(b.Ask(kWindowCheck).status, MemoryStatus::kKey);
  EXPECT_EQ(b.Ask(invalidate).status, MemoryStatus::kKey);
  EXPECT_EQ(b.Ask(kBind), Place{});
  EXPECT_EQ(b.Ask(kWindowCheck).status, MemoryStatus::kOk);
  b.bench.Write(kWindowIndex, kWindow);
  b.bench.Setup();
  EXPECT_EQ(b.Ask(kWindowCheck).status, MemoryStatus::kKey) << "a write of firmware unbinds it";
}

TEST(MemoryCheck, ZeroBasedWindowStartsAtAddressZero) {
  WindowBench b;
  EXPECT_EQ(b.AskWith(kBind, [](Check& c) { c.zero_based = true; }), Place{});
  const auto ask = [&](uint64_t address) { return b.AskWith(kWindowCheck, [&](Check& c) { c.address = address; }); };
  EXPECT_EQ(ask(0), (Place{.address0 = 0xa000'0000'0700, .bytes0 = 16}));
  EXPECT_EQ(ask(0x8f8), (Place{.address0 = 0xa000'0000'0ff8, .bytes0 = 8, .address1 = 0x7000, .bytes1 = 8}));
  EXPECT_EQ(ask(0x1200 - 16), (Place{.address0 = 0x7000 + 0x8f0, .bytes0 = 16}));
  EXPECT_EQ(ask(0x1200 - 15).status, MemoryStatus::kBounds);
  EXPECT_EQ(ask(kBind.address).status, MemoryStatus::kBounds);
  EXPECT_EQ(ask(~uint64_t{0}).status, MemoryStatus::kBounds);
}

TEST(MemoryCheck, BindReportsTheFirstStatusThatApplies) {
  WindowBench b;
  const auto ask = [&](auto change) { return b.AskWith(kBind, change).status; };
  EXPECT_EQ(ask([](Check& c) { c.key = 3 << 8; }), MemoryStatus::kKey) << "no such window";
  EXPECT_EQ(ask([](Check& c) { c.key = kKey; }), MemoryStatus::kKey) << "a region is none";
  EXPECT_EQ(ask([](Check& c) { c.key |= 0x80000000; }), MemoryStatus::kKey) << "beyond the table";
  EXPECT_EQ(ask([](Check& c) { c.pdn = 4; }), MemoryStatus::kPd);
  EXPECT_EQ(ask([](Check& c) { c.bytes = 0; }), MemoryStatus::kBounds) << "no bytes of type 2";
  EXPECT_EQ(ask([](Check& c) { c.lkey ^= 1; }), MemoryStatus::kKey);
  EXPECT_EQ(ask([](Check& c) { c.lkey = c.key; }), MemoryStatus::kKey) << "a window is no region";
  EXPECT_EQ(ask([](Check& c) { c.lkey |= 0x80000000; }), MemoryStatus::kKey);
  EXPECT_EQ(ask([](Check& c) { c.lkey = 2 << 8 | 1; }), MemoryStatus::kRights) << "not for windows";
  EXPECT_EQ(ask([](Check& c) { c.address -= 0x101; }), MemoryStatus::kBounds);
  EXPECT_EQ(ask([](Check& c) { c.bytes = 5000 - 0x100 + 1; }), MemoryStatus::kBounds);
  EXPECT_EQ(ask([](Check& c) { c.bytes_high = 1; }), MemoryStatus::kBounds);
  EXPECT_EQ(b.Ask(kWindowCheck).status, MemoryStatus::kKey) << "none of these was a bind";
  EXPECT_EQ(ask([](Check& c) { c.bytes = 5000 - 0x100; }), MemoryStatus::kOk);
  EXPECT_EQ(ask([](Check&) {}), MemoryStatus::kRights) << "it is bound";

  // Rights to change need the region's right of local writes.
  spec::TableMr read_only = Bindable();
  read_only.local_write = read_only.remote_write = false;
  b.bench.Write(kIndex, read_only);
  b.bench.Write(kWindowIndex, kWindow);
  b.bench.Setup();
  EXPECT_EQ(ask([](Check&) {}), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.remote_write = false, c.remote_atomic = true; }), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.remote_write = false, c.remote_read = true; }), MemoryStatus::kOk);
  // Another protection domain.
  spec::TableMr other = Bindable();
  other.pdn = 4;
  b.bench.Write(kIndex, other);
  b.bench.Write(kWindowIndex, kWindow);
  b.bench.Setup();
  EXPECT_EQ(ask([](Check&) {}), MemoryStatus::kPd);
}

TEST(MemoryCheck, BindsOfAWindowOfTypeOneReplaceEachOther) {
  spec::TableMr window = kWindow;
  window.is_type_2 = false;
  WindowBench b(window);
  EXPECT_EQ(b.Ask(kBind), Place{});
  EXPECT_EQ(b.AskWith(kWindowCheck, [](Check& c) { c.qpn = kQpn + 1; }).status, MemoryStatus::kOk) << "of its domain";
  EXPECT_EQ(b.Ask({.key = kBind.key, .pdn = 3, .invalidate = true, .qpn = kQpn}).status, MemoryStatus::kRights);
  EXPECT_EQ(b.AskWith(kBind, [](Check& c) { c.zero_based = true; }).status, MemoryStatus::kRights);
  const auto move = [](Check& c) { c.key = kBind.key + 1, c.address += 0x1000, c.bytes = 0x200; };
  EXPECT_EQ(b.AskWith(kBind, move), Place{});
  EXPECT_EQ(b.Ask(kWindowCheck).status, MemoryStatus::kKey) << "the old key";
  const auto moved = [](Check& c) { c.key = kBind.key + 1, c.address += 0x1000; };
  EXPECT_EQ(b.AskWith(kWindowCheck, moved), (Place{.address0 = 0x7700, .bytes0 = 16}));
  EXPECT_EQ(b.AskWith(kBind, [](Check& c) { c.key = kBind.key + 2, c.bytes = 0, c.lkey = 0; }), Place{});
  EXPECT_EQ(b.AskWith(kWindowCheck, moved).status, MemoryStatus::kKey);
  EXPECT_EQ(b.AskWith(kWindowCheck, [](Check& c) { c.key = kBind.key + 2; }).status, MemoryStatus::kKey);
}

TEST(MemoryCheck, BindMeetsDocumentedLatency) {
  WindowBench b;
  const Cycle start = b.bench.bench.cycle();
  b.bench.in[0]->tokens = {kBind, kWindowCheck};
  ASSERT_EQ(b.bench.bench.Run(model::MemoryCheck::kBindLatency), "");
  EXPECT_EQ(b.bench.out[0]->count, 0u);
  ASSERT_EQ(b.bench.bench.RunOut(50), "");
  const auto& answers = b.bench.sinks[0].sent();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].cycle, start + model::MemoryCheck::kBindLatency);
  EXPECT_EQ(answers[0].token, Place{});
  EXPECT_EQ(answers[1].cycle, start + model::MemoryCheck::kBindInterval + model::MemoryCheck::kLatency);
  EXPECT_EQ(answers[1].token.status, MemoryStatus::kOk) << "the next check finds it";
}

// Firmware's writes in each cycle of a bind. Of the window: it is not bound behind that. Of the region: the bind was
// before, or sees the new one.
TEST(MemoryCheck, BindAndWritesOfFirmwareInAnyCycle) {
  for (const bool of_window : {true, false}) {
    for (Cycle n = 0; n < 10; ++n) {
      SCOPED_TRACE(n);
      WindowBench b;
      b.bench.in[0]->tokens = {kBind};
      ASSERT_EQ(b.bench.bench.Run(n), "");
      if (of_window)
        b.bench.Write(kWindowIndex, kWindow);
      else
        b.bench.Write(kIndex, kRegion);
      ASSERT_EQ(b.bench.bench.RunOut(20), "");
      const MemoryStatus status = b.bench.sinks[0].sent().at(0).token.status;
      const MemoryStatus after = b.Ask(kWindowCheck).status;
      if (of_window) {
        EXPECT_EQ(status, MemoryStatus::kOk);
        // Before the bind was taken, it was as good as not there.
        EXPECT_EQ(after, n < 1 ? MemoryStatus::kOk : MemoryStatus::kKey);
      } else {
        EXPECT_EQ(status, n < 2 ? MemoryStatus::kRights : MemoryStatus::kOk);
        EXPECT_EQ(after, n < 2 ? MemoryStatus::kKey : MemoryStatus::kOk);
      }
    }
  }
}

// Regions in the lower half of the table, windows in the upper one.
struct WindowTables : Tables {
  explicit WindowTables(std::mt19937_64& random) : Tables(random) {
    for (size_t i = 0; i < kMrs / 2; ++i) {
      if (mrs[i].dma) mrs[i] = Bindable();
      mrs[i].mw_bind = random() % 4 != 0;
      mrs[i].pdn %= 2;
      mrs[i].invalidatable = false;
      // The pages of a region are there.
      mrs[i].first_translation %= kPages - 8;
    }
    for (size_t i = kMrs / 2; i < kMrs; ++i) {
      mrs[i] = {.valid = true, .is_window = true, .is_type_2 = random() % 2 != 0, .pdn = mrs[i].pdn};
      mrs[i].pdn %= 2;
    }
  }
  static uint32_t Qpn(std::mt19937_64& random) { return random() % 4 == 0 ? 2 : 1; }

  Check RandomBind(std::mt19937_64& random) const {
    const size_t window = kMrs / 2 + random() % (kMrs / 2), of = random() % (kMrs / 2);
    const spec::TableMr& region = mrs[of];
    Check check{.key = static_cast<uint32_t>(window << 8 | random() % 3),
                .pdn = mrs[window].pdn,
                .remote_write = random() % 4 != 0,
                .remote_read = random() % 4 != 0,
                .remote_atomic = random() % 4 == 0,
                .qpn = Qpn(random),
                .binds = true,
                .zero_based = random() % 3 == 0,
                .lkey = static_cast<uint32_t>(of << 8 | region.key)};
    const uint64_t first = random() % region.length;
    uint64_t bytes = 1 + random() % (region.length - first);
    if (random() % 8 == 0) bytes = random() % 2 == 0 ? 0 : region.length - first + 1;
    check.address = region.virt_addr + first - (random() % 16 == 0 ? first + 1 : 0);
    check.bytes = static_cast<uint32_t>(bytes);
    check.bytes_high = static_cast<uint32_t>(bytes >> 32);
    if (random() % 32 == 0) check.lkey ^= 1u << random() % 16;
    if (random() % 32 == 0) check.key ^= 0x800;
    return check;
  }
  // An invalidate, or an access near the ends of where a window may be.
  Check RandomUse(std::mt19937_64& random) const {
    const size_t window = kMrs / 2 + random() % (kMrs / 2);
    Check check{.key = static_cast<uint32_t>(window << 8 | random() % 3), .pdn = mrs[window].pdn, .qpn = Qpn(random)};
    check.invalidate = random() % 4 == 0;
    if (check.invalidate) return check;
    check.remote_write = random() % 2 == 0;
    check.remote_read = random() % 2 == 0;
    check.local_write = random() % 16 == 0;
    check.bytes = static_cast<uint32_t>(1 + random() % (random() % 4 == 0 ? 2 * kMost : 64));
    return check;
  }
};

// What binds have made of the windows, by definition: a window has no pages of its own.
struct WindowReference {
  struct Bound {
    size_t region;
    Check bind;
  };
  const WindowTables& tables;
  std::array<std::optional<Bound>, kMrs> bound{};

  MemoryStatus Bind(const Check& check) {
    const uint32_t window = check.key >> 8, region = check.lkey >> 8;
    const uint64_t bytes = uint64_t{check.bytes_high} << 32 | check.bytes;
    if (window >= kMrs || !tables.mrs[window].is_window) return MemoryStatus::kKey;
    const spec::TableMr& mw = tables.mrs[window];
    if (mw.pdn != check.pdn) return MemoryStatus::kPd;
    if (mw.is_type_2 && bound[window].has_value()) return MemoryStatus::kRights;
    if (!mw.is_type_2 && check.zero_based) return MemoryStatus::kRights;
    if (bytes == 0) {
      if (mw.is_type_2) return MemoryStatus::kBounds;
      bound[window].reset();
      return MemoryStatus::kOk;
    }
    if (region >= kMrs || !tables.mrs[region].valid || tables.mrs[region].is_window) return MemoryStatus::kKey;
    const spec::TableMr& mr = tables.mrs[region];
    if (mr.key != (check.lkey & 0xff)) return MemoryStatus::kKey;
    if (mr.pdn != check.pdn) return MemoryStatus::kPd;
    if (!mr.mw_bind || ((check.remote_write || check.remote_atomic) && !mr.local_write)) return MemoryStatus::kRights;
    const uint64_t first = check.address - mr.virt_addr;
    if (first > mr.length || mr.length - first < bytes) return MemoryStatus::kBounds;
    bound[window] = {region, check};
    return MemoryStatus::kOk;
  }

  Place Expect(const Check& check) {
    if (check.binds) return {.status = Bind(check)};
    const uint32_t window = check.key >> 8;
    if (window >= kMrs || !bound[window].has_value()) return {.status = MemoryStatus::kKey};
    const Check bind = bound[window]->bind;
    const bool is_type_2 = tables.mrs[window].is_type_2;
    const bool is_remote = check.remote_write || check.remote_read;
    if ((bind.key & 0xff) != (check.key & 0xff) || !(is_remote || check.invalidate))
      return {.status = MemoryStatus::kKey};
    if (tables.mrs[window].pdn != check.pdn || (is_type_2 && check.qpn != bind.qpn))
      return {.status = MemoryStatus::kPd};
    if (check.invalidate) {
      if (!is_type_2) return {.status = MemoryStatus::kRights};
      bound[window].reset();
      return {};
    }
    if (check.remote_write > bind.remote_write || check.remote_read > bind.remote_read || check.local_write) {
      return {.status = MemoryStatus::kRights};
    }
    const uint64_t bytes = uint64_t{bind.bytes_high} << 32 | bind.bytes;
    const uint64_t first = bind.zero_based ? 0 : bind.address;
    if (check.address < first || check.address - first > bytes || bytes - (check.address - first) < check.bytes) {
      return {.status = MemoryStatus::kBounds};
    }
    // As an access to the region.
    const spec::TableMr& mr = tables.mrs[bound[window]->region];
    return tables.Expected({.key = static_cast<uint32_t>(bound[window]->region << 8 | mr.key),
                            .pdn = mr.pdn,
                            .address = check.address - first + bind.address,
                            .bytes = check.bytes});
  }
};

TEST(MemoryCheck, WindowsAreTranslatedByTheirRegions) {
  std::array<unsigned, 5> binds{}, uses{};
  for (unsigned round = 0; round < 4; ++round) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    bench.random.seed(bench.random() + round);
    const WindowTables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    WindowReference reference{tables};
    std::vector<Check> checks;
    std::vector<Place> expected;
    for (unsigned i = 0; i < 3000; ++i) {
      Check check = bench.random() % 4 == 0 ? tables.RandomBind(bench.random) : tables.RandomUse(bench.random);
      if (const size_t window = check.key >> 8; !check.binds && !check.invalidate && reference.bound[window]) {
        // Most with the right key, and near the ends of the window.
        const Check& bind = reference.bound[window]->bind;
        const uint64_t bytes = uint64_t{bind.bytes_high} << 32 | bind.bytes;
        if (bench.random() % 8 != 0) check.key = bind.key;
        check.address = bind.zero_based ? 0 : bind.address;
        check.address += bench.random() % 2 == 0 ? bench.random() % bytes : bytes - check.bytes + bench.random() % 2;
        check.address -= bench.random() % 16 == 0 ? bench.random() % 64 : 0;
      }
      checks.push_back(check);
      expected.push_back(reference.Expect(check));
    }
    bench.in[0]->tokens.assign(checks.begin(), checks.end());
    ASSERT_EQ(bench.bench.RunOut(200), "");
    const auto& answers = bench.sinks[0].sent();
    ASSERT_EQ(answers.size(), checks.size());
    for (size_t i = 0; i < checks.size(); ++i) {
      ASSERT_EQ(WithoutGrant(answers[i].token), expected[i]) << i << ": " << TokenText(checks[i]);
      ++(checks[i].binds ? binds : uses).at(static_cast<size_t>(expected[i].status));
    }
  }
  for (const unsigned n : binds) EXPECT_GT(n, 20u);
  for (const unsigned n : uses) EXPECT_GT(n, 20u);
}

TEST(MemoryCheck, MatchesModelWhileWindowsAreBound) {
  uint64_t binds = 0;
  for (const unsigned rate : {16u, 5u, 16u, 5u}) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    const WindowTables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    for (unsigned i = 0; i < 3000; ++i) {
      const auto index = static_cast<uint32_t>(bench.random() % kMrs);
      bench.Write(index, tables.mrs[index]);
    }
    bench.writes.rate = 4;
    bench.accesses.wait_rate = 4;
    for (size_t client = 0; client < kClients; ++client) {
      bench.in[client]->rate = bench.out[client]->rate = rate;
      for (unsigned i = 0; i < 1500; ++i) {
        const bool is_bind = client == model::MemoryCheck::kRequester && bench.random() % 2 == 0;
        Check check = is_bind                   ? tables.RandomBind(bench.random)
                      : bench.random() % 2 == 0 ? tables.RandomUse(bench.random)
                                                : tables.RandomCheck(bench.random);
        if (!is_bind && !check.invalidate && bench.random() % 2 == 0) {
          check.address = tables.mrs[bench.random() % (kMrs / 2)].virt_addr + bench.random() % 64;
        }
        bench.in[client]->tokens.push_back(check);
      }
    }
    ASSERT_EQ(bench.bench.RunOut(2000), "");
    binds += bench.bindings.count;
  }
  EXPECT_GT(binds, 50u);
}

// A region that work requests register, of four pages from kFastPage on; a pair of them, and its registration: 0x5000
// bytes need more than four pages, 0x3e00 from 0x200 on are all four.
constexpr uint32_t kFastIndex = 6, kFastPage = 21;
constexpr spec::TableMr kFast{
    .invalidatable = true, .key = 1, .is_fast = true, .npages = 4, .first_translation = kFastPage, .pdn = 3};
constexpr uint32_t Pairs(uint32_t pairs, uint32_t page_shift = 12) { return pairs << 8 | page_shift; }
constexpr Check Map(uint32_t pair, uint64_t first, uint64_t second, uint32_t index = kFastIndex, uint16_t pdn = 3) {
  return {.key = index << 8 | 0x44,
          .pdn = pdn,
          .address = first,
          .bytes = static_cast<uint32_t>(second),
          .qpn = kQpn,
          .lkey = pair,
          .bytes_high = static_cast<uint32_t>(second >> 32),
          .maps = true};
}
constexpr Check kRegister{.key = kFastIndex << 8 | 0x44,
                          .pdn = 3,
                          .local_write = true,
                          .remote_write = true,
                          .address = 0x1'2345'6200,
                          .bytes = 0x3e00,
                          .qpn = kQpn,
                          .lkey = Pairs(2),
                          .registers = true};
constexpr Check kFastCheck{
    .key = kRegister.key, .pdn = 3, .remote_write = true, .address = kRegister.address, .bytes = 16};
constexpr Check kFastInvalidate{.key = kRegister.key, .pdn = 3, .invalidate = true, .qpn = kQpn};

struct FastBench : DirectedBench {
  FastBench() {
    bench.Write(kFastIndex, kFast);
    bench.Setup();
  }
  void AskMaps() {
    EXPECT_EQ(Ask(Map(0, 0x1111'0000'1000, 0x2222'0000'3000)), Place{});
    EXPECT_EQ(Ask(Map(1, 0x3333'0000'5000, 0x4444'0000'7000)), Place{});
  }
  template <typename Change>
  MemoryStatus AskWith(Check check, Change change) {
    change(check);
    const Place place = Ask(check);
    EXPECT_TRUE(place == Place{.status = place.status} || place.bytes0 != 0) << "the rest is not 0";
    return place.status;
  }
};

TEST(MemoryCheck, RegistrationGivesAccessToItsPages) {
  FastBench b;
  const auto ask = [&](auto change) { return b.AskWith(kFastCheck, change); };
  EXPECT_EQ(b.Ask(kFastCheck).status, MemoryStatus::kKey) << "not registered";
  b.AskMaps();
  EXPECT_EQ(b.Ask(kFastCheck).status, MemoryStatus::kKey) << "not yet";
  EXPECT_EQ(b.Ask(kRegister), Place{});
  EXPECT_EQ(b.Ask(kFastCheck), (Place{.address0 = 0x1111'0000'1200, .bytes0 = 16}));
  Check check = kFastCheck;
  check.address += 0xe00 - 1;
  EXPECT_EQ(b.Ask(check),
            (Place{.address0 = 0x1111'0000'1fff, .bytes0 = 1, .address1 = 0x2222'0000'3000, .bytes1 = 15}));
  check.address = kFastCheck.address + 0x2e00 - 8;
  EXPECT_EQ(b.Ask(check),
            (Place{.address0 = 0x3333'0000'5ff8, .bytes0 = 8, .address1 = 0x4444'0000'7000, .bytes1 = 8}));
  EXPECT_EQ(ask([](Check& c) { c.address += 0x3e00 - 16; }), MemoryStatus::kOk) << "the last byte";
  EXPECT_EQ(ask([](Check& c) { c.address += 0x3e00 - 15; }), MemoryStatus::kBounds);
  EXPECT_EQ(ask([](Check& c) { c.address -= 1; }), MemoryStatus::kBounds) << "in its first page";
  EXPECT_EQ(ask([](Check& c) { c.remote_write = false; }), MemoryStatus::kOk) << "it has an lkey";
  EXPECT_EQ(ask([](Check& c) { c.local_write = true; }), MemoryStatus::kOk);
  EXPECT_EQ(ask([](Check& c) { c.remote_read = true; }), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.remote_atomic = true; }), MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.pdn = 4; }), MemoryStatus::kPd);
  EXPECT_EQ(ask([](Check& c) { c.key ^= 1; }), MemoryStatus::kKey);

  // Neither it nor its pages change before an invalidate.
  EXPECT_EQ(b.Ask(kRegister).status, MemoryStatus::kRights);
  EXPECT_EQ(b.Ask(Map(0, 0x9000, 0xa000)).status, MemoryStatus::kRights);
  EXPECT_EQ(b.Ask(kFastCheck), (Place{.address0 = 0x1111'0000'1200, .bytes0 = 16}));
  EXPECT_EQ(b.Ask(kFastInvalidate), Place{});
  EXPECT_EQ(b.Ask(kFastCheck).status, MemoryStatus::kKey);
  EXPECT_EQ(b.Ask(kFastInvalidate).status, MemoryStatus::kKey);

  // With another key, one pair, other rights, another size of pages.
  EXPECT_EQ(b.Ask(Map(0, 0x10'0000, 0x70'0000)), Place{});
  Check other = kRegister;
  other.key ^= 0xff;
  other.lkey = Pairs(1, 16);
  other.address = 0xffff'ffff'fffe'ff00;
  other.bytes = 0x1'0100;
  other.local_write = other.remote_write = false;
  other.remote_read = true;
  EXPECT_EQ(b.Ask(other), Place{}) << "up to the end of all addresses";
  EXPECT_EQ(b.Ask(kFastCheck).status, MemoryStatus::kKey) << "the key of before";
  check = {.key = other.key, .pdn = 3, .remote_read = true, .address = other.address, .bytes = 0x200};
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0x10'ff00, .bytes0 = 0x100, .address1 = 0x70'0000, .bytes1 = 0x100}));
  check.local_write = true;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kRights);
}

TEST(MemoryCheck, RegistrationReportsTheFirstStatusThatApplies) {
  FastBench b;
  b.bench.Write(kWindowIndex, kWindow);
  b.bench.Setup();
  b.AskMaps();
  const auto ask = [&](auto change) { return b.AskWith(kRegister, change); };
  // Everything wrong, then corrected one after the other.
  Check check = kRegister;
  check.key = kKey;
  check.pdn = 4;
  check.local_write = false;
  check.lkey = Pairs(1);
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kKey) << "another region";
  check.key = kRegister.key;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kPd);
  check.pdn = 3;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kRights) << "remote write without local write";
  check.local_write = true;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kBounds) << "too few pages";
  EXPECT_EQ(ask([](Check& c) { c.key = kWindowIndex << 8; }), MemoryStatus::kKey) << "a window";
  EXPECT_EQ(ask([](Check& c) { c.key = 3 << 8; }), MemoryStatus::kKey) << "nothing";
  EXPECT_EQ(ask([](Check& c) { c.key += static_cast<uint32_t>(kMrs << 8); }), MemoryStatus::kKey) << "beyond the table";
  EXPECT_EQ(ask([](Check& c) { c.local_write = c.remote_write = false, c.remote_atomic = true; }),
            MemoryStatus::kRights);
  EXPECT_EQ(ask([](Check& c) { c.bytes += 1; }), MemoryStatus::kBounds) << "one byte more than the pages";
  EXPECT_EQ(ask([](Check& c) { c.address += 1; }), MemoryStatus::kBounds) << "likewise";
  EXPECT_EQ(ask([](Check& c) { c.bytes_high = 1; }), MemoryStatus::kBounds);
  EXPECT_EQ(ask([](Check& c) { c.lkey = Pairs(3); }), MemoryStatus::kBounds) << "more pages than it may have";
  EXPECT_EQ(ask([](Check& c) { c.address = 0xffff'ffff'ffff'f000, c.bytes = 0x1001; }), MemoryStatus::kBounds)
      << "past the end of all addresses";
  EXPECT_EQ(b.Ask(kFastCheck).status, MemoryStatus::kKey) << "none was executed";
  EXPECT_EQ(b.Ask(kRegister), Place{});

  const auto map = [&](auto change) { return b.AskWith(Map(1, 0x9000, 0xa000), change); };
  EXPECT_EQ(map([](Check&) {}), MemoryStatus::kRights) << "it is registered";
  EXPECT_EQ(b.Ask(kFastInvalidate), Place{});
  EXPECT_EQ(map([](Check& c) { c.lkey = 2; }), MemoryStatus::kBounds) << "another region's page";
  EXPECT_EQ(map([](Check& c) { c.lkey = 0x100; }), MemoryStatus::kBounds);
  EXPECT_EQ(map([](Check& c) { c.pdn = 4; }), MemoryStatus::kPd);
  EXPECT_EQ(map([](Check& c) { c.key = kKey; }), MemoryStatus::kKey);
  EXPECT_EQ(b.Ask(kRegister), Place{});
  EXPECT_EQ(b.Ask(kFastCheck).address0, 0x1111'0000'1200u) << "its pages are as before";
}

TEST(MemoryCheck, RegistrationMeetsDocumentedLatency) {
  FastBench b;
  const Cycle start = b.bench.bench.cycle();
  b.bench.in[0]->tokens = {Map(0, 0x1000, 0x2000), Map(1, 0x3000, 0x4000), kRegister, kFastCheck};
  ASSERT_EQ(b.bench.bench.Run(model::MemoryCheck::kLatency), "");
  EXPECT_EQ(b.bench.out[0]->count, 0u);
  ASSERT_EQ(b.bench.bench.RunOut(50), "");
  const auto& answers = b.bench.sinks[0].sent();
  ASSERT_EQ(answers.size(), 4u);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].cycle, start + model::MemoryCheck::kLatency + i * model::MemoryCheck::kRegisterInterval);
    EXPECT_EQ(answers[i].token.status, MemoryStatus::kOk);
  }
  EXPECT_EQ(answers[3].token.address0, 0x1200u) << "the next check finds it";
}

// Firmware's writes in each cycle. Of another page: both are written. Of the region: it is as firmware wrote it.
TEST(MemoryCheck, RegistrationAndWritesOfFirmwareInAnyCycle) {
  for (const bool of_page : {true, false}) {
    for (Cycle n = 0; n < 14; ++n) {
      SCOPED_TRACE(n);
      FastBench b;
      b.bench.in[0]->tokens = {Map(0, 0x1000, 0x2000), kRegister};
      ASSERT_EQ(b.bench.bench.Run(n), "");
      if (of_page) {
        for (unsigned i = 0; i < 2; ++i) b.bench.Page(7 + i, 0x5555'0000'0000 + n);
      } else {
        b.bench.Write(kFastIndex, kFast);
      }
      ASSERT_EQ(b.bench.bench.RunOut(20), "");
      EXPECT_EQ(b.bench.sinks[0].sent().at(1).token, Place{});
      const Place after = WithoutGrant(b.Ask(kFastCheck));
      if (of_page) {
        EXPECT_EQ(after, (Place{.address0 = 0x1200, .bytes0 = 16}));
        EXPECT_EQ(b.Ask(kCheck).address0, 0x5555'0000'0600 + n);
      } else {
        // Before it was taken, it was as good as not there.
        EXPECT_EQ(after.status, n < 5 ? MemoryStatus::kOk : MemoryStatus::kKey);
      }
    }
  }
}

// Regions that work requests register, and what they have made of them: by definition, as Tables translates regions.
struct FastTables : Tables {
  explicit FastTables(std::mt19937_64& random) : Tables(random) {
    for (size_t i = kMrs / 2; i < kMrs; ++i) {
      mrs[i] = {.invalidatable = true,
                .is_fast = true,
                .npages = static_cast<uint32_t>(2 + 2 * (random() % 3)),
                .first_translation = static_cast<uint32_t>(16 + 6 * (i - kMrs / 2)),
                .pdn = static_cast<uint16_t>(random() % 2)};
    }
    for (size_t i = 0; i < kMrs / 2; ++i) mrs[i].first_translation %= 10;
  }
  // Of one region: some pairs, and the registration; some wrong.
  std::vector<Check> RandomRegistration(std::mt19937_64& random) const {
    const auto index = static_cast<uint32_t>(kMrs / 2 + random() % (kMrs / 2));
    const spec::TableMr& mr = mrs[index];
    const auto page_shift = static_cast<uint32_t>(12 + random() % 3);
    const uint32_t pairs = static_cast<uint32_t>(1 + random() % (mr.npages / 2 + (random() % 8 == 0)));
    const auto pdn = static_cast<uint16_t>(random() % 16 == 0 ? random() % 3 : mr.pdn);
    std::vector<Check> checks;
    const auto page = [&] { return random() & ~uint64_t{0xfff}; };
    for (uint32_t i = 0; i < pairs; ++i) checks.push_back(Map(i, page(), page(), index, pdn));
    Check check = kRegister;
    check.key = static_cast<uint32_t>(index << 8 | random() % 3);
    check.pdn = pdn;
    check.local_write = random() % 4 != 0;
    check.remote_write = check.local_write ? random() % 2 != 0 : random() % 8 == 0;
    check.remote_read = random() % 2 != 0;
    check.remote_atomic = check.local_write && random() % 4 == 0;
    check.lkey = Pairs(pairs, page_shift);
    const uint64_t room = uint64_t{2} * pairs << page_shift, low = random() % (uint64_t{1} << page_shift);
    check.address = (random() & ~((uint64_t{1} << page_shift) - 1)) + low;
    check.bytes = static_cast<uint32_t>(1 + random() % (room - low) + (random() % 16 == 0 ? room : 0));
    checks.push_back(check);
    return checks;
  }
  Check RandomUse(std::mt19937_64& random) const {
    const auto index = static_cast<uint32_t>(kMrs / 2 + random() % (kMrs / 2));
    const spec::TableMr& mr = mrs[index];
    const uint32_t key = random() % 8 == 0 ? static_cast<uint32_t>(random() % 3) : mr.key;
    Check check{.key = index << 8 | key, .pdn = static_cast<uint16_t>(random() % 16 == 0 ? random() % 3 : mr.pdn)};
    check.invalidate = random() % 4 == 0;
    if (check.invalidate) return check;
    check.remote_write = random() % 4 == 0;
    check.remote_read = random() % 4 == 0;
    check.local_write = random() % 4 == 0;
    check.bytes = static_cast<uint32_t>(1 + random() % (random() % 4 == 0 ? 2 * kMost : 64));
    check.address = mr.virt_addr + (mr.length == 0 ? 0 : random() % mr.length);
    if (random() % 8 == 0) check.address = mr.virt_addr + mr.length - check.bytes + random() % 2;
    return check;
  }
  Place Expect(const Check& check) {
    const uint32_t index = check.key >> 8;
    spec::TableMr& mr = mrs.at(index);
    if (check.invalidate) {
      if (!mr.valid || mr.key != (check.key & 0xff)) return {.status = MemoryStatus::kKey};
      if (mr.pdn != check.pdn) return {.status = MemoryStatus::kPd};
      mr.valid = false;
      return {};
    }
    if (!check.maps && !check.registers) return Expected(check);
    if (mr.pdn != check.pdn) return {.status = MemoryStatus::kPd};
    if (mr.valid || (!check.local_write && (check.remote_write || check.remote_atomic))) {
      return {.status = MemoryStatus::kRights};
    }
    if (check.maps) {
      if (2 * check.lkey >= mr.npages) return {.status = MemoryStatus::kBounds};
      pages[mr.first_translation + 2 * check.lkey] = check.address;
      pages[mr.first_translation + 2 * check.lkey + 1] = uint64_t{check.bytes_high} << 32 | check.bytes;
      return {};
    }
    const uint64_t page_bytes = uint64_t{1} << (check.lkey & 0xff);
    const uint32_t pairs = check.lkey >> 8;
    if (2 * pairs > mr.npages || check.address % page_bytes + check.bytes > 2 * pairs * page_bytes) {
      return {.status = MemoryStatus::kBounds};
    }
    mr.valid = true;
    mr.key = static_cast<uint8_t>(check.key);
    mr.page_shift = static_cast<uint8_t>(check.lkey);
    mr.virt_addr = check.address;
    mr.length = check.bytes;
    mr.local_write = check.local_write;
    mr.remote_write = check.remote_write;
    mr.remote_read = check.remote_read;
    mr.remote_atomic = check.remote_atomic;
    return {};
  }
};

TEST(MemoryCheck, RegistrationsAreTranslatedByTheirPages) {
  std::array<unsigned, 5> registrations{}, uses{};
  for (unsigned round = 0; round < 4; ++round) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    bench.random.seed(bench.random() + round);
    FastTables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    std::vector<Check> checks;
    std::vector<Place> expected;
    const auto add = [&](const Check& check) {
      checks.push_back(check);
      expected.push_back(tables.Expect(check));
    };
    for (unsigned i = 0; i < 2000; ++i) {
      if (bench.random() % 4 != 0) {
        add(tables.RandomUse(bench.random));
        continue;
      }
      for (const Check& check : tables.RandomRegistration(bench.random)) add(check);
    }
    bench.in[0]->tokens.assign(checks.begin(), checks.end());
    ASSERT_EQ(bench.bench.RunOut(200), "");
    const auto& answers = bench.sinks[0].sent();
    ASSERT_EQ(answers.size(), checks.size());
    for (size_t i = 0; i < checks.size(); ++i) {
      ASSERT_EQ(WithoutGrant(answers[i].token), expected[i]) << i << ": " << TokenText(checks[i]);
      if (!checks[i].maps) ++(checks[i].registers ? registrations : uses).at(static_cast<size_t>(expected[i].status));
    }
  }
  for (const auto status : {MemoryStatus::kOk, MemoryStatus::kPd, MemoryStatus::kRights, MemoryStatus::kBounds}) {
    EXPECT_GT(registrations.at(static_cast<size_t>(status)), 10u);
    EXPECT_GT(uses.at(static_cast<size_t>(status)), 10u);
  }
}

TEST(MemoryCheck, MatchesModelWhileRegionsAreRegistered) {
  for (const unsigned rate : {16u, 5u, 16u, 5u}) {
    Rtl rtl(Outputs());
    Bench bench(rtl);
    FastTables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    for (unsigned i = 0; i < 3000; ++i) {
      const auto index = static_cast<uint32_t>(bench.random() % kMrs);
      if (bench.random() % 2 == 0) {
        bench.Page(static_cast<uint32_t>(bench.random() % kPages), bench.random() & ~uint64_t{0xfff});
      } else {
        bench.Write(index, tables.mrs[index]);
      }
    }
    bench.writes.rate = 4;
    bench.accesses.wait_rate = 4;
    for (size_t client = 0; client < kClients; ++client) {
      bench.in[client]->rate = bench.out[client]->rate = rate;
      auto& tokens = bench.in[client]->tokens;
      while (tokens.size() < 1500) {
        if (client != model::MemoryCheck::kRequester || bench.random() % 3 == 0) {
          tokens.push_back(bench.random() % 2 == 0 ? tables.RandomUse(bench.random) : tables.RandomCheck(bench.random));
          continue;
        }
        for (const Check& check : tables.RandomRegistration(bench.random)) {
          tokens.push_back(check);
          tables.Expect(check);  // so that some later uses find what is registered
        }
      }
    }
    ASSERT_EQ(bench.bench.RunOut(2000), "");
  }
}

TEST(MemoryCheck, DmaRegionIsNotTranslatedButBounded) {
  DirectedBench b;
  Check check{.key = 2 << 8 | 1, .pdn = 3, .local_write = true, .address = 0x1ffff, .bytes = 4096};
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0x1ffff, .bytes0 = 4096}));
  check.address = ~uint64_t{0} - 4095;
  EXPECT_EQ(b.Ask(check), (Place{.address0 = ~uint64_t{0} - 4095, .bytes0 = 4096})) << "the last bytes";
  check.address += 1;
  EXPECT_EQ(b.Ask(check), (Place{.status = MemoryStatus::kBounds})) << "one more";
  check.address = 0;
  check.remote_write = true;
  EXPECT_EQ(b.Ask(check).status, MemoryStatus::kRights);
}

TEST(MemoryCheck, LongAccessReturnsOnlyWhetherItIsAllowed) {
  DirectedBench b;
  Check check = kCheck;
  check.bytes = 5000;
  EXPECT_EQ(b.Ask(check), Place{}) << "the whole region";
  check.bytes = 5001;
  EXPECT_EQ(b.Ask(check), (Place{.status = MemoryStatus::kBounds})) << "one more";
  check.bytes = 4096;
  EXPECT_EQ(b.Ask(check), (Place{.address0 = 0xa000'0000'0600, .bytes0 = 0xa00, .address1 = 0x7000, .bytes1 = 0x600}));
  check.bytes = 4097;
  EXPECT_EQ(b.Ask(check), Place{});
  check.remote_read = true;
  EXPECT_EQ(b.Ask(check), (Place{.status = MemoryStatus::kRights}));
  check.remote_read = false;
  // All bits count, not only the low 13.
  check.bytes = 0x80000001;
  EXPECT_EQ(b.Ask(check), (Place{.status = MemoryStatus::kBounds}));

  Check all{.key = 2 << 8 | 1, .pdn = 3, .address = ~uint64_t{0} - 0xffff'fffe, .bytes = 0xffff'ffff};
  EXPECT_EQ(b.Ask(all), Place{}) << "the last bytes of the address space";
  all.address += 1;
  EXPECT_EQ(b.Ask(all), (Place{.status = MemoryStatus::kBounds})) << "one more";
}

TEST(MemoryCheck, MeetsDocumentedLatency) {
  DirectedBench b;
  const Cycle start = b.bench.bench.cycle();
  // Not one cycle earlier, and in it: the sink is open, so an answer leaves in the first cycle in which it is visible.
  for (size_t client = 0; client < kClients; ++client) {
    for (unsigned i = 0; i < 3; ++i) b.bench.in[client]->tokens.push_back(kCheck);
  }
  b.bench.in[0]->tokens.back().key = 0;  // an error takes as long
  ASSERT_EQ(b.bench.bench.Run(model::MemoryCheck::kLatency), "");
  EXPECT_EQ(b.bench.out[0]->count, 0u);
  ASSERT_EQ(b.bench.bench.Run(1), "");
  EXPECT_EQ(b.bench.out[0]->count, 1u);
  ASSERT_EQ(b.bench.bench.RunOut(100), "");
  for (size_t client = 0; client < kClients; ++client) {
    ASSERT_EQ(b.bench.sinks[client].sent().size(), 3u);
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(b.bench.sinks[client].sent()[i].cycle,
                start + model::MemoryCheck::kLatency + (kClients * i + client) * model::MemoryCheck::kInterval)
          << "in turns, one per interval";
    }
  }
}

TEST(MemoryCheck, TakesACheckPerCycleAlsoFromOneClient) {
  static_assert(model::MemoryCheck::kInterval == 1);
  constexpr unsigned kChecks = 60;
  for (size_t client = 0; client < kClients; ++client) {
    DirectedBench b;
    const Cycle start = b.bench.bench.cycle();
    for (unsigned i = 0; i < kChecks; ++i) b.bench.in[client]->tokens.push_back(kCheck);
    ASSERT_EQ(b.bench.bench.Run(model::MemoryCheck::kLatency + kChecks - 1), "");
    EXPECT_EQ(b.bench.out[client]->count, kChecks - 1);
    ASSERT_EQ(b.bench.bench.Run(1), "");
    ASSERT_EQ(b.bench.out[client]->count, kChecks);
    for (unsigned i = 0; i < kChecks; ++i) {
      EXPECT_EQ(b.bench.sinks[client].sent()[i].cycle, start + model::MemoryCheck::kLatency + i);
    }
  }
}

TEST(MemoryCheck, StalledClientDoesNotStallOthers) {
  constexpr size_t kAnswers = model::MemoryCheck::kAnswers;
  constexpr size_t kSlice = model::FifoTiming::kSliceDepth;
  constexpr unsigned kChecks = 60;
  for (size_t slow = 0; slow < kClients; ++slow) {
    DirectedBench b;
    b.bench.out[slow]->rate = 0;
    for (auto* in : b.bench.in) in->tokens.assign(kChecks, kCheck);
    const auto others = [&] {
      uint64_t count = 0;
      for (const auto* out : b.bench.out) count += out->count;
      return count;
    };
    // All of the others' in a cycle each, and as many of the slow one's as there are places.
    constexpr unsigned kAll = (kClients - 1) * kChecks;
    ASSERT_EQ(b.bench.bench.Run(model::MemoryCheck::kLatency + kAll + kAnswers - 1), "");
    EXPECT_EQ(others(), kAll - 1);
    ASSERT_EQ(b.bench.bench.Run(1), "");
    EXPECT_EQ(others(), kAll);
    ASSERT_EQ(b.bench.bench.Run(20), "");
    EXPECT_EQ(b.bench.in[slow]->accepted, kAnswers + kSlice);
    EXPECT_EQ(b.bench.p.idle_o, 0) << "responses are pending";
    b.bench.out[slow]->rate = 16;
    ASSERT_EQ(b.bench.bench.RunOut(20), "");
    EXPECT_EQ(b.bench.out[slow]->count, kChecks);
    EXPECT_EQ(b.bench.p.idle_o, 1);
  }
}

TEST(MemoryCheck, SamplesTheRegionInTheFirstCycleAndBothPagesInTheFourth) {
  // A write in cycle n from the push on; the region is read in cycle 1, the pages in cycle 4.
  Check crossing = kCheck;
  crossing.address = 0x12345f80;
  const auto answer = [&](Cycle n, auto write) {
    DirectedBench b;
    b.bench.in[0]->tokens.push_back(crossing);
    EXPECT_EQ(b.bench.bench.Run(n), "");
    write(b.bench);
    EXPECT_EQ(b.bench.bench.Run(20), "");
    return WithoutGrant(b.bench.sinks[0].sent().at(0).token);
  };
  const Place before{.address0 = 0xa000'0000'0f80, .bytes0 = 128, .address1 = 0x7000, .bytes1 = 128};
  for (Cycle n = 0; n < model::MemoryCheck::kLatency; ++n) {
    Place place = answer(n, [](Bench& bench) {
      spec::TableMr region = kRegion;
      region.valid = false;
      bench.Write(kIndex, region);
    });
    EXPECT_EQ(place, n < 1 ? Place{.status = MemoryStatus::kKey} : before) << n;

    place = answer(n, [](Bench& bench) { bench.Page(7, 0xb000'0000'0000); });
    Place after = before;
    if (n < 4) after.address0 = 0xb000'0000'0f80;
    EXPECT_EQ(place, after) << n;

    place = answer(n, [](Bench& bench) { bench.Page(8, 0x9000); });
    after = before;
    if (n < 4) after.address1 = 0x9000;
    EXPECT_EQ(place, after) << n;
  }
}

TEST(MemoryCheck, RegionOrPageWithBadParityIsRefused) {
  constexpr auto kMr = spec::ContextRam::kMemoryCheckMr;
  constexpr auto kPage = spec::ContextRam::kMemoryCheckTranslation;
  constexpr Place kNone{.status = MemoryStatus::kKey};
  Check crossing = kCheck;
  crossing.address = 0x12345f80;
  const Place both{.address0 = 0xa000'0000'0f80, .bytes0 = 128, .address1 = 0x7000, .bytes1 = 128};
  DirectedBench b;
  auto& contexts = b.bench.contexts;
  // Flips of other tables change nothing.
  contexts.Flip(kMr, kIndex + 1);
  contexts.Flip(kPage, 9);
  EXPECT_EQ(b.Ask(crossing), both);
  EXPECT_TRUE(contexts.errors.empty());
  for (const uint32_t bit : {0u, 63u, 500u}) {
    contexts.errors.clear();
    contexts.Flip(kMr, kIndex, bit);
    for (unsigned i = 1; i <= 2; ++i) {
      EXPECT_EQ(b.Ask(crossing), kNone);
      EXPECT_EQ(contexts.errors.size(), i);
    }
    b.bench.Write(kIndex, kRegion);
    EXPECT_EQ(b.Ask(crossing), both);
    for (const uint32_t page : {7u, 8u}) {
      contexts.errors.clear();
      contexts.Flip(kPage, page, bit);
      EXPECT_EQ(b.Ask(crossing), kNone);
      EXPECT_EQ(contexts.errors.size(), 1u);
      // An access that needs the other page only, one that is not allowed, and one that has no place.
      Check other = kCheck;
      other.address = page == 7 ? 0x12346000 : 0x12345600;
      EXPECT_EQ(b.Ask(other).status, MemoryStatus::kOk);
      Check wrong = crossing;
      wrong.pdn = 4;
      EXPECT_EQ(b.Ask(wrong).status, MemoryStatus::kPd);
      EXPECT_EQ(contexts.errors.size(), 1u);
      b.bench.Page(page, page == 7 ? 0xa000'0000'0000 : 0x7000);
      EXPECT_EQ(b.Ask(crossing), both);
      EXPECT_EQ(contexts.errors.size(), 1u);
    }
  }
}

// An access that was granted before a region is written, or an epoch started, holds the fence until it has ended; later
// ones do not.
void ExpectFenceOfWhatWasGranted(bool is_write) {
  Rtl rtl(Outputs());
  Bench bench(rtl);
  const spec::TableMr region{.valid = true, .dma = true, .key = 1};
  bench.Write(2, region);
  bench.Write(3, region);
  bench.Setup();
  bench.accesses.hold = true;
  const Check check{.key = 2 << 8 | 1, .address = 0x1000, .bytes = 64};
  const auto run = [&](uint64_t cycles) { ASSERT_EQ(bench.bench.Run(cycles), ""); };
  bench.in[0]->tokens = {check};
  run(model::MemoryCheck::kLatency + 2);
  ASSERT_EQ(bench.out[0]->count, 1u);
  EXPECT_EQ(bench.p.fence_o, 0) << "no region was written since";

  if (is_write) {
    bench.Write(2, spec::TableMr{});
  } else {
    bench.p.epoch_i = 1;
    bench.block.StartEpoch(bench.bench.cycle());
  }
  run(1);
  bench.p.epoch_i = 0;
  EXPECT_EQ(bench.p.fence_o, 1) << "from the cycle after the write on";
  // Of another client, after the write: another region.
  Check later = check;
  later.key = 3 << 8 | 1;
  bench.in[1]->tokens = {later};
  run(100);
  ASSERT_EQ(bench.out[1]->count, 1u);
  EXPECT_EQ(bench.p.fence_o, 1);

  // The first access ends: 2 is its epoch, written twice before.
  bench.accesses.hold = false;
  bench.accesses.late = 0;
  for (unsigned i = 0; i < 3 && bench.p.fence_o != 0; ++i) run(1);
  EXPECT_EQ(bench.p.fence_o, 0);
}

TEST(MemoryCheck, FenceCoversWhatWasGrantedBeforeTheWrite) { ExpectFenceOfWhatWasGranted(true); }
TEST(MemoryCheck, FenceCoversWhatWasGrantedBeforeAnEpoch) { ExpectFenceOfWhatWasGranted(false); }

TEST(MemoryCheck, FenceIgnoresChecksThatGrantNothing) {
  Rtl rtl(Outputs());
  Bench bench(rtl);
  bench.Write(2, spec::TableMr{.valid = true, .dma = true, .key = 1});
  bench.Setup();
  bench.accesses.hold = true;
  bench.out[0]->rate = 0;
  const Check wrong{.key = 2 << 8 | 7, .address = 0x1000, .bytes = 64};
  const Check status_only{.key = 2 << 8 | 1, .address = 0x1000, .bytes = kMost + 1};
  bench.in[0]->tokens = {wrong, status_only};
  ASSERT_EQ(bench.bench.Run(model::MemoryCheck::kLatency + 2), "");
  bench.Write(2, spec::TableMr{});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.p.fence_o, 0);
}

// The next write of a region waits for the fence; the others do not.
TEST(MemoryCheck, GrantedAccessesEndInAnyOrder) {
  Rtl rtl(Outputs());
  Bench bench(rtl);
  const Tables tables(bench.random);
  for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
  for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
  bench.Setup();
  bench.accesses.late = 500;
  for (auto* in : bench.in) {
    in->rate = 8;
    for (unsigned i = 0; i < 4000; ++i) in->tokens.push_back(tables.RandomCheck(bench.random));
  }
  for (uint32_t i = 0; i < 60; ++i) bench.Write(i % kMrs, tables.mrs[i % kMrs]);
  ASSERT_EQ(bench.bench.RunOut(600), "");
  bench.Write(0, tables.mrs[0]);
  ASSERT_EQ(bench.bench.RunOut(2), "");
  EXPECT_EQ(bench.p.fence_o, 0) << "all have ended";
}

TEST(MemoryCheck, MatchesModelWhileBitsFlip) {
  Rtl rtl(Outputs());
  Bench bench(rtl);
  const Tables tables(bench.random);
  for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
  for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
  bench.Setup();
  for (auto* in : bench.in) {
    for (unsigned i = 0; i < 16000; ++i) in->tokens.push_back(tables.RandomCheck(bench.random));
  }
  unsigned none = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    const auto index = static_cast<uint32_t>(bench.random());
    const auto bit = static_cast<uint32_t>(bench.random());
    if (bench.random() % 2 == 0) {
      bench.contexts.Flip(spec::ContextRam::kMemoryCheckMr, index % kMrs, bit % 1024);
    } else {
      bench.contexts.Flip(spec::ContextRam::kMemoryCheckTranslation, index % kPages, bit % 1024);
    }
    if (bench.random() % 2 == 0) bench.Write(index % kMrs, tables.mrs[index % kMrs]);
    if (bench.random() % 2 == 0) bench.Page(index % kPages, tables.pages[index % kPages]);
    ASSERT_EQ(bench.bench.Run(bench.random() % 16), "");
  }
  ASSERT_EQ(bench.bench.RunOut(200), "");
  for (auto& sink : bench.sinks) {
    for (const auto& sent : sink.sent()) none += sent.token.status == MemoryStatus::kKey;
  }
  EXPECT_GT(bench.contexts.errors.size(), 100u);
  EXPECT_GT(none, bench.contexts.errors.size());
}

TEST(MemoryCheck, RestartsAfterReset) {
  Rtl rtl(Outputs());
  for (unsigned round = 0; round < 8; ++round) {
    Bench bench(rtl);
    bench.random.seed(bench.random() + round);
    const Tables tables(bench.random);
    for (uint32_t i = 0; i < kPages; ++i) bench.Page(i, tables.pages[i]);
    for (uint32_t i = 0; i < kMrs; ++i) bench.Write(i, tables.mrs[i]);
    bench.Setup();
    for (auto* in : bench.in) {
      for (unsigned i = 0; i < 100; ++i) in->tokens.push_back(tables.RandomCheck(bench.random));
    }
    for (auto* out : bench.out) out->rate = 8;
    ASSERT_EQ(bench.bench.Run(50 + round), "");
    bench.p.check_valid_i = 0;
    bench.p.table_write_valid_i = 0;
    bench.p.ended_i = 0;  // accesses of before the reset do not end behind it
    ResetAndClear(rtl, 64);
    ASSERT_EQ(rtl.ports().idle_o, 1);
  }
}

}  // namespace
}  // namespace vireo::verif
