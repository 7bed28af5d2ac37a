// SPDX-License-Identifier: Apache-2.0
// Net reception into host memory: RTL against model in every cycle, and both against drivers' buffers and a memory kept
// by the test: every byte, every completion, and the state of buffers when a frame is dropped.
#include "model/eth/net_rx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "Vnet_rx_512.h"
#include "Vnet_rx_64.h"
#include "Vnet_rx_one.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"
#include "verif/common/store_bench.h"

namespace vireo::verif {
namespace {

using Bytes = std::vector<uint8_t>;
using model::Agenda;
using model::Channel;
using model::Cycle;
using model::NetRx;
using model::WriteBeat;
using spec::BufferStatus;

constexpr size_t kHeaderBytes = spec::NetHdr::kBytes;
constexpr size_t kDescriptors = spec::kNetChainDescriptors;
constexpr unsigned kMost = spec::kNetBuffersPerRequest;

// The write port: takes beats at its rate and reports the end of a write some time after its last beat.
template <typename Top>
class WritePort final : public BenchStream {
 public:
  using OnWrite = std::function<void(const spec::DmaWriteRequest&, const Bytes&, bool refused)>;
  WritePort(Top& ports, NetRx& model, Channel<WriteBeat>& sink, std::mt19937_64& random)
      : p_(ports), model_(model), sink_(sink), random_(random) {
    p_.write_ready_i = 0;
    p_.write_done_valid_i = 0;
  }

  void Begin(Cycle cycle) override {
    p_.write_ready_i = random_() % 16 < rate;
    sink_.SetOpen(cycle, p_.write_ready_i != 0);
    p_.write_done_valid_i = ended < limit && !due_.empty() && due_.front().cycle <= cycle;
    spec::DmaDone done{.tag = static_cast<uint8_t>(random_()), .resp = static_cast<uint8_t>(random_() % 4)};
    if (p_.write_done_valid_i) {
      done = {.tag = due_.front().tag, .resp = due_.front().resp};
      model_.OnWriteDone(cycle, done);
      due_.pop_front();
      ++ended;
    }
    SetPort(p_.write_done_i, done);
  }
  void End(Cycle cycle) override {
    const bool in_rtl = p_.write_valid_o != 0 && p_.write_ready_i != 0;
    const bool in_model = !sink_.sent().empty();
    const std::string at = "write: cycle " + std::to_string(cycle);
    if (in_rtl != in_model) {
      difference = at + ": a beat leaves the " + (in_rtl ? "RTL" : "model") + " only";
      return;
    }
    if (!in_rtl) return;
    const WriteBeat beat = sink_.sent().front().token;
    sink_.sent().clear();
    const auto request = TokenFrom<spec::DmaWriteRequest>(BytesOf(std::as_const(p_.write_request_o)));
    const auto data = BytesOf(std::as_const(p_.write_data_o));
    if (request != beat.request || !std::equal(data.begin(), data.end(), beat.data.begin(), beat.data.end()) ||
        (p_.write_last_o != 0) != beat.last) {
      difference = at + ": RTL: " + TokenText(request) + "\nmodel: " + TokenText(beat.request) + " or data or last";
      return;
    }
    if (data_.empty()) firsts.push_back(cycle);
    if (!data_.empty() && !(request == request_)) difference = at + ": the request changes within a write";
    request_ = request;
    data_.insert(data_.end(), data.begin(), data.end());
    if (!beat.last) return;
    lasts.push_back(cycle);
    if (request.tag == 1) ends.push_back(cycle);
    const Cycle due = cycle + 1 + (late != 0 ? random_() % (late + 1) : 0);
    const bool refused = refuses && refuses();
    due_.push_back({due_.empty() ? due : std::max(due, due_.back().cycle + 1), request.tag,
                    static_cast<uint8_t>(refused ? 1 + random_() % 3 : 0)});
    on_write(request, std::exchange(data_, {}), refused);
  }
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  unsigned late = 0;              // maximum further cycles until a write has ended
  uint64_t limit = ~uint64_t{0};  // of writes that end
  uint64_t ended = 0;
  std::vector<Cycle> firsts, lasts;  // beats of writes
  std::vector<Cycle> ends;           // last beats of frames
  OnWrite on_write;
  std::function<bool()> refuses;  // whether the bus refuses the next write; may be empty: none

 private:
  Top& p_;
  NetRx& model_;
  Channel<WriteBeat>& sink_;
  std::mt19937_64& random_;
  spec::DmaWriteRequest request_;
  Bytes data_;
  struct Due {
    Cycle cycle;
    uint8_t tag, resp;
  };
  std::deque<Due> due_;
};

// The net filter's frames: whether the checksum of the oldest one is valid is known some time after it can be read.
template <typename Top>
class NetStore final : public StoreBench<Top, kHeaderBytes, model::NetFrameStore> {
 public:
  using Base = StoreBench<Top, kHeaderBytes, model::NetFrameStore>;
  NetStore(Top& ports, std::mt19937_64& random) : Base(ports, random) { this->p_.oldest_checked_i = 0; }

  void Add(Cycle now, Bytes frame, bool checksum_valid) {
    checksums_.push_back(checksum_valid);
    Base::Add(now, std::move(frame));
  }
  void Free(Cycle now) override {
    EXPECT_LE(checked_, now) << "freed before all of it is stored";
    checksums_.pop_front();
    Base::Free(now);
  }
  Cycle CheckedFrom() const override { return checked_; }
  bool HasValidChecksum() const override { return checksums_.front(); }

  void Begin(Cycle cycle) override {
    Base::Begin(cycle);
    this->p_.oldest_checked_i = this->HasOldest(cycle) && checked_ <= cycle;
    this->p_.oldest_checksum_valid_i =
        this->p_.oldest_checked_i ? checksums_.front() : static_cast<uint8_t>(this->random_() % 2);
  }

  // Cycles until it is known: the least, and how many more at most.
  unsigned check = 0, late_check = 0;

 private:
  void OnShow(Cycle from) override {
    checked_ = from + check + (late_check != 0 ? this->random_() % (late_check + 1) : 0);
  }

  std::deque<bool> checksums_;
  Cycle checked_ = 0;
};

struct Descriptor {
  uint32_t bytes = 0;
  bool writable = true;
};
enum class Format { kSplit, kPacked, kSplitTable, kPackedTable };

// A buffer that a driver has added.
struct Posted {
  std::vector<spec::Buffer> tokens{};  // its descriptors as delivered by descriptor fetch
  std::vector<uint64_t> regions{};     // where each of them is in the test's memory
  size_t capacity = 0;
};
// The target of a descriptor.
struct Region {
  uint64_t address = 0;
  size_t bytes = 0;
  Bytes data{};
  uint64_t last_write = 0;   // number of the last one to it, from 1
  bool refused = false;      // the bus refused one
  bool is_headless = false;  // it starts with a header that is not written yet
};

template <typename T>
using Port = std::remove_reference_t<T>;  // Verilated ports are references

template <typename Top>
constexpr size_t kPairs = std::is_same_v<Top, Vnet_rx_one> ? 1 : 4;

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::oldest_data_i);

  static std::shared_ptr<RtlTop<Top>> MakeRtl() {
    return std::make_shared<RtlTop<Top>>([](const Top& top, Bytes& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.frame_ready_o);
      add(top.oldest_read_o);
      add(top.oldest_beat_o);
      add(top.oldest_free_o);
      add(top.buffer_request_valid_o);
      add(top.buffer_request_o);
      add(top.buffer_ready_o);
      add(top.write_valid_o);
      add(top.write_request_o);
      add(top.write_data_o);
      add(top.write_last_o);
      add(top.completion_valid_o);
      add(top.completion_o);
      add(top.queue_failure_valid_o);
      add(top.queue_failure_o);
      add(top.drop_o);
      add(top.idle_o);
    });
  }

  // `again`: a running simulation, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Top>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) rtl.Reset();
    block.write_out.Connect(beats, block);
    block.completion_out.Connect(completions, block);
    block.buffer_request_out.Connect(requests, block);
    block.queue_failure_out.Connect(failures, block);
    block.on_drop = [this](Cycle now) { model_drop = now; };
    bench.AddOther(store);
    bench.AddOther(port);
    bench.AddOther(probe);
    request.on_token = [this](Cycle cycle, const spec::BufferRequest& token) { Answer(cycle, token); };
    completion.on_token = [this](Cycle, const spec::Completion& token) { Complete(token); };
    failure.on_token = [this](Cycle cycle, const spec::QueueFailure& token) {
      EXPECT_EQ(token.vq_index % 2, 0);
      if (token.code == spec::RdmaError::kQueueDmaError) {
        refused.push_back(token.vq_index / 2u);
        // Unless the token waited, or its queue was set up meanwhile.
        const auto at = row_at[token.vq_index / 2u];
        is_stopped[token.vq_index / 2u] = failure.rate == 16 && (!at || *at + 1 < cycle);
      } else {
        EXPECT_EQ(token.code, spec::RdmaError::kBadDescriptor);
      }
      failed.push_back(token.vq_index / 2u);
    };
    port.on_write = [this](const spec::DmaWriteRequest& write, const Bytes& data, bool is_refused) {
      Write(write, data, is_refused);
    };
    SetMrg(false);
    SetHold(false);
  }

  std::string Begin(Cycle) { return Same("idle", p.idle_o, idle ? 1 : 0); }
  std::string End(Cycle cycle) {
    idle = block.IsIdle();
    if (p.drop_o) ++dropped;
    return Same("drop", p.drop_o, model_drop == cycle ? 1 : 0);
  }

  // --- The driver and firmware
  void SetMrg(bool value) {
    mrg = value;
    p.mrg_rxbuf_i = value;
    block.SetMrgRxbuf(bench.cycle(), value);
  }
  void SetHold(bool value) {
    p.hold_i = value;
    block.SetHold(bench.cycle(), value);
  }
  void Ring(size_t pair) { doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(2 * pair)}); }
  void WriteRow(size_t pair, bool enable) {
    row.tokens.push_back({.vq_index = static_cast<uint16_t>(2 * pair), .enabled = enable, .queue_size = 256});
  }
  void Enable() {
    for (size_t pair = 0; pair < kPairs<Top>; ++pair) WriteRow(pair, true);
    ASSERT_EQ(bench.RunOut(1), "");
  }
  void TellRow(Cycle cycle, const spec::QueueRowWrite& token) {
    block.OnQueueRowWrite(cycle, token);
    const size_t pair = token.vq_index / 2u;
    if (token.vq_index % 2 != 0 || pair >= kPairs<Top>) return;
    enabled[pair] = token.enabled;
    is_stopped[pair] = false;
    row_at[pair] = cycle;
    ring[pair].clear();
    std::move(given[pair].begin(), given[pair].end(), std::back_inserter(old[pair]));
    given[pair].clear();
  }
  void SetOffloads(uint32_t index, uint64_t offloads, spec::MgmtTable table_id = spec::MgmtTable::kVirtqueue) {
    spec::TableWrite write{.table_id = table_id, .index = index};
    spec::TableVirtqueue entry;
    entry.guest_offloads = offloads;
    entry.Encode(write.data);
    table.tokens.push_back(write);
  }
  void Post(size_t pair, const std::vector<Descriptor>& chain, Format format = Format::kSplit) {
    Posted posted;
    const bool in_table = format == Format::kSplitTable || format == Format::kPackedTable;
    const bool packed = format == Format::kPacked;
    const uint64_t table_address = 0x7700'0000'0000 + (uint64_t{++tables} << 20);
    const auto vq = static_cast<uint16_t>(2 * pair);
    for (size_t i = 0; i < chain.size(); ++i) {
      const uint64_t name = ++last_region;
      const uint64_t address = name << 20 | (aligned ? 0 : random() % 5000);
      regions[name] = {address, chain[i].bytes, {}, 0};
      posted.regions.push_back(name);
      posted.capacity += chain[i].bytes;
      spec::Buffer token{.status = BufferStatus::kOk,
                         .vq_index = vq,
                         .head = i == 0 || !in_table ? index[pair]++ : static_cast<uint16_t>(i),
                         .address = address,
                         .bytes = chain[i].bytes,
                         .writable = chain[i].writable,
                         .more = i + 1 != chain.size()};
      if (packed) {
        token.has_id = true;
        token.id = static_cast<uint16_t>(random());
        token.next_index = index[pair];
      } else if (token.more && in_table) {
        token.indirect = true;
        token.table_address = table_address;
        token.table_entries = static_cast<uint16_t>(chain.size());
        token.next_index = static_cast<uint16_t>(i + 1);
      } else if (token.more) {
        token.next_index = index[pair];
      }
      if (i != 0) by_index[{vq, in_table, in_table ? table_address : 0, token.head}] = token;
      posted.tokens.push_back(token);
    }
    ring[pair].push_back(std::move(posted));
  }
  void PostOne(size_t pair, uint32_t bytes, size_t count = 1) {
    for (size_t i = 0; i < count; ++i) Post(pair, {{bytes}});
  }

  // --- Descriptor fetch
  void Answer(Cycle cycle, const spec::BufferRequest& token) {
    EXPECT_EQ(token.client, spec::BufferClient::kNetReceive);
    ASSERT_EQ(token.vq_index % 2, 0);
    const size_t pair = token.vq_index / 2u;
    ASSERT_LT(pair, kPairs<Top>);
    while (!open.empty() && open.front().end <= buffer.accepted) open.pop_front();
    EXPECT_LT(open.size(), NetRx::kRequests);
    EXPECT_TRUE(std::none_of(open.begin(), open.end(), [&](const Open& other) {
      return other.by_index == token.by_index && (token.by_index || other.pair == pair);
    })) << "two requests of a pair, or of a chain, are outstanding";
    GiveAnswer(cycle, token);
    open.push_back({token.by_index, pair, buffer.accepted + buffer.tokens.size()});
  }
  void GiveAnswer(Cycle cycle, const spec::BufferRequest& token) {
    const size_t pair = token.vq_index / 2u;
    asked.push_back(token);
    const auto none = [&](BufferStatus status) {
      buffer.tokens.push_back({.status = status, .last = true, .vq_index = token.vq_index});
    };
    if (!enabled[pair]) return none(BufferStatus::kEmpty);
    // Requested in the cycle of the row's write or before: discarded in any case.
    if (row_at[pair] && cycle <= *row_at[pair] + 1) {
      for (unsigned i = 0; i < token.count; ++i) {
        buffer.tokens.push_back(
            {.last = i + 1 == token.count, .vq_index = token.vq_index, .bytes = 3000, .writable = true});
      }
      return;
    }
    if (token.by_index) {
      EXPECT_EQ(token.count, 1);
      if (index_status != BufferStatus::kOk) return none(index_status);
      const auto at = by_index.find({token.vq_index, token.indirect, token.table_address, token.index});
      ASSERT_NE(at, by_index.end());
      EXPECT_EQ(token.table_entries, at->second.indirect ? at->second.table_entries : token.table_entries);
      buffer.tokens.push_back(at->second);
      buffer.tokens.back().last = true;
      return;
    }
    EXPECT_TRUE(token.count >= 1 && token.count <= spec::kNetBuffersPerRequest);
    EXPECT_FALSE(token.indirect);
    const size_t got = std::min<size_t>(token.count, ring[pair].size());
    if (got == 0) return none(ring_status);
    for (size_t i = 0; i < got; ++i) {
      buffer.tokens.push_back(ring[pair].front().tokens[0]);
      buffer.tokens.back().last = i + 1 == got;
      given[pair].push_back(std::move(ring[pair].front()));
      ring[pair].pop_front();
    }
    EXPECT_LE(given[pair].size(), 4 * kDescriptors + 80) << "more than the cache holds";
  }

  // --- The wire
  struct Frame {
    Bytes bytes;
    size_t pair = 0;
    bool checksum_valid = false;
    bool done = false;
  };
  void Send(size_t pair, size_t bytes, bool checksum_valid = false) {
    Frame frame{Bytes(bytes), pair, checksum_valid, false};
    for (auto& byte : frame.bytes) byte = static_cast<uint8_t>(random());
    const auto number = static_cast<uint32_t>(frames.size());
    for (unsigned i = 0; i < 4; ++i) frame.bytes[i] = static_cast<uint8_t>(number >> 8 * i);
    store.Add(bench.cycle(), frame.bytes, checksum_valid);
    frame_in.tokens.push_back({.bytes = static_cast<uint16_t>(bytes), .pair_index = static_cast<uint8_t>(pair)});
    frames.push_back(std::move(frame));
  }

  // --- Host memory
  void Write(const spec::DmaWriteRequest& write, const Bytes& data, bool is_refused) {
    ++writes;
    ASSERT_GE(write.bytes, 1);
    EXPECT_TRUE(write.notify);
    ASSERT_EQ(data.size(), (write.bytes + kBeatBytes - 1) / kBeatBytes * kBeatBytes);
    const auto at = regions.find(write.address >> 20);
    ASSERT_NE(at, regions.end());
    Region& region = at->second;
    region.last_write = writes;
    region.refused |= is_refused;
    if (is_all) {
      EXPECT_TRUE(ended_frame || write.tag == 1) << "a write ends in the middle of a descriptor";
    }
    is_all = false;
    ended_frame = write.tag == 1;
    // The header, behind all else of its frame.
    if (region.is_headless && write.address == region.address) {
      EXPECT_EQ(write.bytes, kHeaderBytes);
      EXPECT_EQ(write.tag, 1);
      region.is_headless = false;
      std::copy_n(data.begin(), kHeaderBytes, region.data.begin());
      return;
    }
    if (region.data.empty() && write.address == region.address + kHeaderBytes) {
      region.is_headless = true;
      region.data.resize(kHeaderBytes);
      ++late_headers;
    }
    // The header may have a descriptor of its own.
    if (write.tag != 1 || write.bytes != kHeaderBytes) {
      ASSERT_LE(write.bytes, spec::kNetWriteBytes - write.address % spec::kNetWriteBytes);
    }
    EXPECT_EQ(write.address, region.address + region.data.size()) << "not behind what was written";
    region.data.insert(region.data.end(), data.begin(), data.begin() + write.bytes);
    EXPECT_LE(region.data.size(), region.bytes) << "behind the end of a buffer";
    // A write ends in the middle of a descriptor only if nothing but the header comes behind it.
    is_all = (write.address + write.bytes) % spec::kNetWriteBytes != 0 && region.data.size() != region.bytes;
  }
  void Complete(const spec::Completion& token) {
    if (batch.empty()) ended_then = port.ended;
    batch.push_back(token);
    if (token.more) return;
    const size_t pair = token.vq_index / 2u;
    ASSERT_LT(pair, kPairs<Top>);
    EXPECT_FALSE(is_stopped[pair]) << "returned after the queue was stopped";
    Bytes stream;
    for (const spec::Completion& one : batch) {
      EXPECT_EQ(one.vq_index, token.vq_index);
      EXPECT_FALSE(one.has_cqe);
      // A frame that started before its queue was set up again returns then.
      const auto before = std::find_if(old[pair].begin(), old[pair].end(),
                                       [&](const Posted& posted) { return posted.tokens[0].head == one.head; });
      const bool is_old = before != old[pair].end();
      old[pair].erase(old[pair].begin(), before);
      auto& from = is_old ? old[pair] : given[pair];
      ASSERT_FALSE(from.empty());
      const Posted posted = std::move(from.front());
      from.pop_front();
      ASSERT_EQ(one.head, posted.tokens[0].head) << "not in the order of the ring";
      const spec::Buffer& last = posted.tokens.back();
      EXPECT_EQ(one.has_id, last.has_id);
      if (last.has_id) {
        EXPECT_EQ(one.id, last.id);
        EXPECT_EQ(one.next_position, last.next_index);
      }
      size_t used = 0;
      bool ended = false;
      for (const uint64_t name : posted.regions) {
        const Region& region = regions.at(name);
        if (ended) {
          EXPECT_TRUE(region.data.empty());
        }
        ended = region.data.size() != region.bytes;
        used += region.data.size();
        stream.insert(stream.end(), region.data.begin(), region.data.end());
        EXPECT_LE(region.last_write, ended_then) << "completed before it was written";
        EXPECT_FALSE(region.is_headless) << "completed without its header";
        EXPECT_FALSE(region.refused) << "completed, though it was not written";
        regions.erase(name);
      }
      EXPECT_EQ(one.used_bytes, used);
      // Every buffer but the last is full, and none is empty.
      if (&one != &batch.back()) {
        EXPECT_EQ(used, posted.capacity);
      }
      EXPECT_TRUE(used != 0);
    }
    if (!mrg && !toggles) {
      EXPECT_EQ(batch.size(), 1u);
    }
    ASSERT_GE(stream.size(), kHeaderBytes + 14);
    const auto header = spec::NetHdr::Decode(stream.data());
    const Bytes bytes(stream.begin() + kHeaderBytes, stream.end());
    uint32_t number = 0;
    for (unsigned i = 0; i < 4; ++i) number |= static_cast<uint32_t>(bytes[i]) << 8 * i;
    ASSERT_LT(number, frames.size());
    EXPECT_GE(number, next_number) << "out of order";
    next_number = number + 1;
    Frame& frame = frames[number];
    EXPECT_EQ(bytes, frame.bytes);
    EXPECT_EQ(pair, frame.pair);
    frame.done = true;
    spec::NetHdr expected;
    expected.num_buffers = static_cast<uint16_t>(batch.size());
    if (frame.checksum_valid && guest_csum[pair]) expected.flags = spec::NetHdrFlags::kDataValid;
    EXPECT_EQ(header, expected);
    ++done;
    batch.clear();
  }

  // Until everything has left.
  std::string Finish(uint64_t limit = 2'000'000) {
    while (!(frame_in.IsEmpty() && doorbell.IsEmpty() && row.IsEmpty() && table.IsEmpty() && block.IsIdle())) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (limit-- == 0) return "the run does not end";
    }
    return bench.Run(20);
  }
  // All frames were delivered or dropped, but for `lost` of queues that stopped because of a refused write.
  void Check(uint64_t lost = 0) {
    EXPECT_EQ(store.size(), 0u);
    EXPECT_TRUE(batch.empty());
    EXPECT_EQ(done + dropped + lost, frames.size());
    EXPECT_TRUE(buffer.IsEmpty());
  }

  std::mt19937_64 random = sim::MakeRandom("net_rx");
  Agenda agenda;
  std::shared_ptr<RtlTop<Top>> owner;
  RtlTop<Top>& rtl = *owner;
  Top& p = rtl.ports();
  NetStore<Top> store{p, random};
  NetRx block{agenda, 8 * kBeatBytes, kPairs<Top>, store};
  Channel<WriteBeat> beats = Channel<WriteBeat>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  Channel<spec::BufferRequest> requests = Channel<spec::BufferRequest>::Sink();
  Channel<spec::QueueFailure> failures = Channel<spec::QueueFailure>::Sink();
  BlockBench<Top> bench{rtl, agenda, random};
  WritePort<Top> port{p, block, beats, random};
  Probe probe{[this](Cycle cycle) { return Begin(cycle); }, [this](Cycle cycle) { return End(cycle); }};
  decltype(bench.In("frame", block.frame_in, p.frame_valid_i, p.frame_ready_o, p.frame_i)) frame_in =
      bench.In("frame", block.frame_in, p.frame_valid_i, p.frame_ready_o, p.frame_i);
  decltype(bench.In("buffer", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i)) buffer =
      bench.In("buffer", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i);
  decltype(bench.Out("request", requests, p.buffer_request_valid_o, p.buffer_request_ready_i,
                     p.buffer_request_o)) request =
      bench.Out("request", requests, p.buffer_request_valid_o, p.buffer_request_ready_i, p.buffer_request_o);
  decltype(bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i,
                     p.completion_o)) completion =
      bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i, p.completion_o);
  decltype(bench.Out("failure", failures, p.queue_failure_valid_o, p.queue_failure_ready_i,
                     p.queue_failure_o)) failure =
      bench.Out("failure", failures, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o);
  InPulse<spec::QueueRowWrite, Port<decltype(Top::queue_row_write_valid_i)>, Port<decltype(Top::queue_row_write_i)>>&
      row = bench.template Pulse<spec::QueueRowWrite>(
          p.queue_row_write_valid_i, p.queue_row_write_i,
          [this](Cycle cycle, const spec::QueueRowWrite& token) { TellRow(cycle, token); });
  InPulse<spec::TableWrite, Port<decltype(Top::table_write_valid_i)>, Port<decltype(Top::table_write_i)>>& table =
      bench.template Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle cycle, const spec::TableWrite& token) { block.OnTableWrite(cycle, token); });

  InPulse<spec::Doorbell, Port<decltype(Top::doorbell_valid_i)>, Port<decltype(Top::doorbell_i)>>& doorbell =
      bench.template Pulse<spec::Doorbell>(
          p.doorbell_valid_i, p.doorbell_i,
          [this](Cycle cycle, const spec::Doorbell& token) { block.OnDoorbell(cycle, token); });

  struct Open {
    bool by_index;
    size_t pair;
    uint64_t end;  // tokens until the last of its answer
  };
  std::deque<Open> open;  // requests that may not be answered yet
  bool mrg = false;
  bool toggles = false;  // mrg changes at any time
  bool aligned = false;  // descriptors start where a write does
  bool idle = true;
  std::optional<Cycle> model_drop;
  bool is_all = false, ended_frame = false;  // the last write is of a frame's last byte; or says so
  uint64_t late_headers = 0;                 // frames whose header is written last
  uint64_t dropped = 0, done = 0, writes = 0, ended_then = 0;
  std::array<bool, kPairs<Top>> enabled{}, guest_csum{};
  std::array<std::deque<Posted>, kPairs<Top>> ring, given,
      old;                                                 // not fetched; fetched; of the queue's earlier lifetime
  std::array<std::optional<Cycle>, kPairs<Top>> row_at{};  // the row's last write
  std::array<uint16_t, kPairs<Top>> index{};               // the next descriptor
  uint64_t last_region = 0, tables = 0;
  std::unordered_map<uint64_t, Region> regions;
  std::map<std::tuple<uint16_t, bool, uint64_t, uint16_t>, spec::Buffer> by_index;
  BufferStatus index_status = BufferStatus::kOk;    // of answers to by_index
  BufferStatus ring_status = BufferStatus::kEmpty;  // of a ring that is empty
  std::vector<spec::BufferRequest> asked;
  std::vector<size_t> failed;                  // pairs
  std::vector<size_t> refused;                 // those of them that stopped because of a refused write
  std::array<bool, kPairs<Top>> is_stopped{};  // for that reason, in this lifetime
  std::vector<spec::Completion> batch;
  std::deque<Frame> frames;
  uint32_t next_number = 0;
};

template <typename Top>
class NetRxTest : public ::testing::Test {};
using Tops = ::testing::Types<Vnet_rx_64, Vnet_rx_512, Vnet_rx_one>;
TYPED_TEST_SUITE(NetRxTest, Tops);

TYPED_TEST(NetRxTest, EveryByteOfEveryLengthReachesTheBuffer) {
  Bench<TypeParam> bench;
  bench.Enable();
  std::vector<size_t> lengths;
  for (size_t i = 14; i < 14 + 2 * bench.kBeatBytes; i += 1 + bench.kBeatBytes / 40) lengths.push_back(i);
  for (const size_t i : {1514u, 1518u, 4083u, 4084u, 4085u, 8179u, 8180u, 8181u, 9728u}) lengths.push_back(i);
  for (const size_t length : lengths) {
    // The one that just holds it, and a larger one.
    bench.PostOne(0, static_cast<uint32_t>(length + kHeaderBytes));
    bench.PostOne(0, static_cast<uint32_t>(length + kHeaderBytes + 1 + bench.random() % 3000));
    bench.Send(0, length);
    bench.Send(0, length);
  }
  ASSERT_EQ(bench.Finish(), "");
  bench.Check();
  EXPECT_EQ(bench.dropped, 0u);
}

TYPED_TEST(NetRxTest, FrameSpansBuffersOfAnySize) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.SetMrg(true);
  for (uint32_t first = 1; first < 40; first += 2) {
    bench.PostOne(0, first);
    bench.PostOne(0, first + 3);
    bench.PostOne(0, 2000);
    bench.Send(0, 60 + bench.random() % 100);
    while (bench.frame_in.tokens.size() > 4) ASSERT_EQ(bench.bench.Run(1), "");
  }
  ASSERT_EQ(bench.Finish(), "");
  // 64 buffers, of one size and of another.
  for (const uint32_t size : {30u, 64u, 152u}) {
    bench.WriteRow(0, true);  // buffers left by earlier frames are discarded
    ASSERT_EQ(bench.bench.RunOut(0), "");
    bench.PostOne(0, size, kDescriptors);
    bench.Send(0, size * kDescriptors - kHeaderBytes);
    ASSERT_EQ(bench.Finish(), "");
  }
  bench.Check();
  EXPECT_EQ(bench.dropped, 0u);
}

TYPED_TEST(NetRxTest, ChainsAreWalkedToTheirEnd) {
  for (const bool mrg : {false, true}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.SetMrg(mrg);
    for (const Format format : {Format::kSplit, Format::kPacked, Format::kSplitTable, Format::kPackedTable}) {
      bench.Post(0, {{12}, {1514}}, format);
      bench.Send(0, 1514);
      bench.Post(0, {{5}, {1}, {6}, {1}, {40}, {5000}}, format);  // the last one is not needed
      bench.Send(0, 14);
      bench.Post(0, {{9000}}, format);
      bench.Send(0, 5000);
      std::vector<Descriptor> longest(kDescriptors, Descriptor{30});
      bench.Post(0, longest, format);
      bench.Send(0, 30 * kDescriptors - kHeaderBytes);
      if (mrg) {
        bench.Post(0, {{20}, {30}}, format);
        bench.Post(0, {{1}}, format);
        bench.Post(0, {{20}, {3000}}, format);
        bench.Send(0, 800);
      }
    }
    ASSERT_EQ(bench.Finish(), "");
    bench.Check();
    EXPECT_EQ(bench.dropped, 0u);
  }
}

TYPED_TEST(NetRxTest, HeaderReportsAValidChecksum) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.PostOne(0, 2000, 40);
  const auto send = [&] {
    bench.Send(0, 100, true);
    bench.Send(0, 100, false);
    ASSERT_EQ(bench.Finish(), "");
  };
  send();
  bench.SetOffloads(0, spec::NetGuestOffloads::kGuestCsum | spec::NetGuestOffloads::kGuestTso4);
  bench.guest_csum[0] = true;
  ASSERT_EQ(bench.bench.RunOut(0), "");
  send();
  // Writes that do not concern this queue.
  bench.SetOffloads(0, 0, spec::MgmtTable::kWindow);
  bench.SetOffloads(1, 0);
  bench.SetOffloads(2 * kPairs<TypeParam>, 0);
  ASSERT_EQ(bench.bench.RunOut(0), "");
  send();
  bench.SetOffloads(0, ~spec::NetGuestOffloads::kGuestCsum);
  bench.guest_csum[0] = false;
  ASSERT_EQ(bench.bench.RunOut(0), "");
  send();
  bench.Check();
  EXPECT_EQ(bench.done, 8u);
}

// A frame is written while it is being stored, and its header when it is known whether the checksum is valid.
TYPED_TEST(NetRxTest, HeaderIsWrittenLastIfTheChecksumIsNotKnown) {
  for (const bool valid : {false, true}) {
    for (const uint32_t first : {12u, 13u, 500u, 2000u}) {
      Bench<TypeParam> bench;
      bench.Enable();
      bench.SetOffloads(0, spec::NetGuestOffloads::kGuestCsum);
      bench.guest_csum[0] = true;
      bench.store.check = 1000;
      bench.Post(0, {{first}, {2000}});
      bench.Send(0, 1514, valid);
      bench.Send(0, 60, !valid);
      bench.Post(0, {{first}, {2000}});
      ASSERT_EQ(bench.bench.Run(900), "");
      size_t written = 0;
      for (const auto& region : bench.regions) written += region.second.data.size();
      // A descriptor for the header alone is empty until then.
      const bool alone = first == kHeaderBytes;
      EXPECT_EQ(written, (alone ? 0 : kHeaderBytes) + 1514) << first;
      EXPECT_EQ(bench.late_headers, alone ? 0u : 1u);
      EXPECT_EQ(bench.completion.count, 0u);
      ASSERT_EQ(bench.Finish(), "");
      bench.Check();
      EXPECT_EQ(bench.done, 2u);
      EXPECT_EQ(bench.late_headers, alone ? 0u : 2u);
    }
  }
}

TYPED_TEST(NetRxTest, NothingIsWrittenBeforeAHeaderThatSpansDescriptors) {
  for (const uint32_t first : {1u, 11u}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.SetOffloads(0, spec::NetGuestOffloads::kGuestCsum);
    bench.guest_csum[0] = true;
    bench.store.check = 1000;
    bench.Post(0, {{first}, {2000}});
    bench.Send(0, 1514, true);
    ASSERT_EQ(bench.bench.Run(900), "");
    EXPECT_EQ(bench.writes, 0u);
    ASSERT_EQ(bench.Finish(), "");
    bench.Check();
    EXPECT_EQ(bench.done, 1u);
    EXPECT_EQ(bench.late_headers, 0u);
  }
}

// Its header does not depend on it; but the frame stays until all of it is stored.
TYPED_TEST(NetRxTest, WithoutTheOffloadNoHeaderWaitsForTheChecksum) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.store.check = 1000;
  bench.PostOne(0, 2000, 2);
  bench.Send(0, 1514, true);
  bench.Send(kPairs<TypeParam>, 100);  // dropped
  ASSERT_EQ(bench.bench.Run(900), "");
  EXPECT_EQ(bench.done, 1u);
  EXPECT_EQ(bench.late_headers, 0u);
  EXPECT_EQ(bench.store.size(), 2u);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 1u);
  bench.Check();
}

TYPED_TEST(NetRxTest, FrameForAnUnservedQueueIsDropped) {
  Bench<TypeParam> bench;
  bench.Send(0, 100);
  bench.Send(255, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 2u);
  EXPECT_TRUE(bench.asked.empty());
  bench.Enable();
  bench.PostOne(0, 2000);
  bench.Send(kPairs<TypeParam>, 100);
  bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 3u);
  EXPECT_EQ(bench.done, 1u);
  bench.WriteRow(0, false);
  ASSERT_EQ(bench.bench.RunOut(1), "");
  bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 4u);
  bench.Check();
}

TYPED_TEST(NetRxTest, FrameForAnEmptyRingIsDroppedAfterOneRequest) {
  for (const BufferStatus status : {BufferStatus::kEmpty, BufferStatus::kFailed}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.ring_status = status;
    bench.Send(0, 100);
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.dropped, 2u);
    EXPECT_EQ(bench.asked.size(), 2u);
    EXPECT_TRUE(bench.failed.empty());
    bench.PostOne(0, 2000);
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done, 1u);
    bench.Check();
  }
}

TYPED_TEST(NetRxTest, WithoutMergingAnOversizedFrameLeavesItsBuffer) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.PostOne(0, 112);
  bench.PostOne(0, 2000);
  bench.Send(0, 101);
  bench.Send(0, 1000);
  bench.Send(0, 100);  // the buffer is still there
  bench.Send(0, 101);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 2u);
  EXPECT_TRUE(bench.frames[2].done && bench.frames[3].done);
  bench.Check();
}

TYPED_TEST(NetRxTest, FrameLargerThanTheRingLeavesAllBuffers) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.SetMrg(true);
  for (unsigned i = 0; i < 40; ++i) bench.Post(0, {{10}, {22}}, i % 2 == 0 ? Format::kSplit : Format::kPackedTable);
  bench.Send(0, 9000);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 1u);
  EXPECT_TRUE(bench.failed.empty());  // though 40 chains of two are more than 64 descriptors
  bench.WriteRow(0, true);
  ASSERT_EQ(bench.bench.RunOut(0), "");
  for (unsigned i = 0; i < 20; ++i) bench.Post(0, {{10}, {22}}, i % 2 == 0 ? Format::kSplit : Format::kPackedTable);
  bench.Send(0, 9000);
  bench.Send(0, 20 * 32 - kHeaderBytes + 1);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 3u);
  EXPECT_TRUE(bench.failed.empty());
  bench.Send(0, 20 * 32 - kHeaderBytes);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 1u);
  bench.Check();
}

TYPED_TEST(NetRxTest, BufferAddedLateIsFound) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.SetMrg(true);
  // The request has found the end of the ring; then a buffer is added.
  bench.PostOne(0, 200, 8);
  for (unsigned i = 0; i < 2; ++i) {
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
  }
  ASSERT_EQ(bench.asked.size(), 1u);
  bench.PostOne(0, 4000);
  bench.Send(0, 3000);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 3u);
  bench.Check();
}

TYPED_TEST(NetRxTest, DeviceReadableBufferStopsTheQueue) {
  for (const size_t bad : {0u, 1u, 3u}) {
    for (const Format format : {Format::kSplit, Format::kPackedTable}) {
      Bench<TypeParam> bench;
      bench.Enable();
      std::vector<Descriptor> chain(4, Descriptor{100});
      chain[bad].writable = false;
      bench.Post(0, {{1000}});
      bench.Post(0, chain, format);
      bench.Post(0, {{1000}});
      for (unsigned i = 0; i < 3; ++i) bench.Send(0, 100);
      ASSERT_EQ(bench.Finish(), "");
      EXPECT_EQ(bench.done, 1u);
      EXPECT_EQ(bench.dropped, 2u);
      EXPECT_EQ(bench.failed, std::vector<size_t>{0});
      bench.WriteRow(0, true);
      ASSERT_EQ(bench.bench.RunOut(0), "");
      bench.PostOne(0, 2000);
      bench.Send(0, 100);
      ASSERT_EQ(bench.Finish(), "");
      EXPECT_EQ(bench.done, 2u);
      bench.Check();
    }
  }
}

TYPED_TEST(NetRxTest, ChainOfMoreThan64DescriptorsStopsTheQueue) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.SetMrg(true);
  bench.Post(0, std::vector<Descriptor>(kDescriptors + 1, Descriptor{20}));
  bench.Send(0, 20 * kDescriptors - kHeaderBytes + 1);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 1u);
  EXPECT_EQ(bench.failed, std::vector<size_t>{0});
  EXPECT_EQ(bench.writes, 0u);
  bench.Check();
}

TYPED_TEST(NetRxTest, FrameOfMoreThan64DescriptorsInSeveralBuffersIsDropped) {
  for (const bool chain : {false, true}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.SetMrg(true);
    if (chain) {
      bench.PostOne(0, 40);
      bench.Post(0, std::vector<Descriptor>(kDescriptors, Descriptor{20}));
    } else {
      bench.PostOne(0, 20, kDescriptors + 5);
    }
    bench.Send(0, 20 * kDescriptors - kHeaderBytes + 1);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.dropped, 1u);
    EXPECT_TRUE(bench.failed.empty());
    EXPECT_EQ(bench.writes, 0u);
    // The buffers are available for the next one.
    bench.Send(0, (chain ? 40 : 20 * kDescriptors) - kHeaderBytes);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done, 1u);
    bench.Check();
  }
}

TYPED_TEST(NetRxTest, TwoFailuresAreBothReported) {
  Bench<TypeParam> bench;
  bench.failure.rate = 0;
  bench.Enable();
  for (unsigned i = 0; i < 2; ++i) {
    bench.Post(0, {{300, false}});
    bench.Send(0, 100);
    ASSERT_EQ(bench.bench.Run(100), "");
    bench.WriteRow(0, true);
    ASSERT_EQ(bench.bench.Run(100), "");
  }
  // The second one waited until the row was written, and was then discarded.
  EXPECT_EQ(bench.dropped, 2u);
  bench.Post(0, {{300, false}});
  bench.Send(0, 100);
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.dropped, 2u);
  EXPECT_TRUE(bench.failed.empty());
  bench.failure.rate = 16;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.dropped, 3u);
  EXPECT_EQ(bench.failed, (std::vector<size_t>{0, 0}));
  bench.Check();
}

TYPED_TEST(NetRxTest, RequestsNoMoreThanTheCacheHolds) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.SetMrg(true);
  bench.PostOne(0, 20, kDescriptors - 3);
  bench.Send(0, 20 * kDescriptors - kHeaderBytes);
  while (bench.asked.size() < 2) ASSERT_EQ(bench.bench.Run(1), "");
  bench.PostOne(0, 20, 10);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 1u);
  ASSERT_EQ(bench.asked.size(), 4u);
  EXPECT_EQ(bench.asked[2].count, 3u);
  EXPECT_EQ(bench.asked[3].count, kMost);  // prefetch
  bench.Check();
}

TYPED_TEST(NetRxTest, ChainThatCannotBeWalkedIsLeft) {
  for (const BufferStatus status : {BufferStatus::kEmpty, BufferStatus::kFailed}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.Post(0, {{12}, {12}, {500}});
    bench.index_status = status;
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.dropped, 1u);
    EXPECT_TRUE(bench.failed.empty());
    bench.index_status = BufferStatus::kOk;
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done, 1u);
    bench.Check();
  }
}

TYPED_TEST(NetRxTest, PrefetchesBuffersWhileTheRingHasMore) {
  Bench<TypeParam> bench;
  bench.Enable();
  const auto counts = [&] {
    std::vector<unsigned> result;
    for (const auto& one : bench.asked) result.push_back(one.count);
    return result;
  };
  const auto send = [&](unsigned frames) {
    for (unsigned i = 0; i < frames; ++i) bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
  };
  bench.PostOne(0, 2000, 100);
  // The first answer leaves room for as many again.
  send(1);
  EXPECT_EQ(counts(), (std::vector<unsigned>{kMost, kMost}));
  // 63 are left. At 32 the next ones are requested.
  send(30);
  EXPECT_EQ(bench.asked.size(), 2u);
  send(1);
  EXPECT_EQ(bench.asked.size(), 3u);
  // 96 of 100 are delivered; the next answer is short, and there is no further prefetch.
  send(31);
  EXPECT_EQ(bench.asked.size(), 3u);
  send(1);
  EXPECT_EQ(bench.asked.size(), 4u);
  send(36);
  EXPECT_EQ(bench.asked.size(), 4u);
  EXPECT_EQ(bench.done, 100u);
  bench.PostOne(0, 2000, kMost);
  send(1);
  EXPECT_EQ(bench.asked.size(), 6u);  // a whole answer, and a short one
  EXPECT_EQ(bench.dropped, 0u);
  bench.Check();
}

TYPED_TEST(NetRxTest, DoorbellRequestsBuffersAhead) {
  Bench<TypeParam> bench;
  const auto asked = [&] { return std::exchange(bench.asked, {}).size(); };
  const auto ring = [&](uint16_t vq_index) {
    bench.doorbell.tokens.push_back({.vq_index = vq_index});
    ASSERT_EQ(bench.Finish(), "");
  };
  ring(0);  // not enabled
  EXPECT_EQ(asked(), 0u);
  bench.Enable();
  bench.PostOne(0, 2000, 40);
  ring(1);
  ring(2 * kPairs<TypeParam>);
  EXPECT_EQ(asked(), 0u);
  ring(0);
  EXPECT_EQ(asked(), 2u);  // a whole answer, and a short one
  ring(0);
  EXPECT_EQ(asked(), 0u);  // more than half
  for (unsigned i = 0; i < 10; ++i) bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(asked(), 1u);  // at half: it was rung since the short answer
  bench.PostOne(0, 2000, 5);
  ring(0);
  EXPECT_EQ(asked(), 1u);
  // Added and rung while the ring is read: it is read again.
  bench.buffer.rate = 0;
  bench.Ring(0);
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(asked(), 0u);  // 35
  bench.Send(0, 100);
  for (unsigned i = 0; i < 2; ++i) bench.Send(0, 100);
  bench.Ring(0);
  ASSERT_EQ(bench.bench.Run(100), "");
  bench.Ring(0);
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(asked(), 1u);
  bench.PostOne(0, 2000);
  bench.Ring(0);
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(asked(), 0u);
  EXPECT_EQ(bench.ring[0].size(), 1u);
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.ring[0].size(), 0u);
  // All of them are in the cache.
  asked();
  for (unsigned i = 0; i < 33; ++i) bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(asked(), 0u);
  EXPECT_EQ(bench.dropped, 0u);
  bench.Check();
}

TYPED_TEST(NetRxTest, DoorbellMeetsItsLatencyAndWaitsDuringHold) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.PostOne(0, 2000, 10);
  bench.SetHold(true);
  ASSERT_EQ(bench.bench.Run(5), "");
  bench.Ring(0);
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_TRUE(bench.block.IsIdle());
  EXPECT_TRUE(bench.asked.empty());
  // A frame does not wait.
  bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 1u);
  EXPECT_EQ(bench.asked.size(), 1u);
  bench.SetHold(false);
  ASSERT_EQ(bench.bench.Run(2), "");
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.asked.size(), 2u);
  bench.PostOne(0, 2000, 10);
  bench.Ring(0);
  const Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.requests.sent().back().cycle, start + NetRx::kDoorbellToBufferRequest);
  bench.Check();
}

TYPED_TEST(NetRxTest, RequestsForSeveralPairsAtOnce) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.buffer.rate = 0;
  for (size_t pair = 0; pair < kPairs<TypeParam>; ++pair) {
    bench.PostOne(pair, 2000, kMost + 1);
    bench.Ring(pair);
    bench.Ring(pair);
  }
  ASSERT_EQ(bench.bench.Run(40), "");
  std::vector<uint16_t> queues, expected;
  for (const auto& one : bench.asked) queues.push_back(one.vq_index);
  for (size_t pair = 0; pair < kPairs<TypeParam>; ++pair) expected.push_back(static_cast<uint16_t>(2 * pair));
  EXPECT_EQ(queues, expected);
  bench.buffer.rate = 16;
  for (size_t pair = 0; pair < kPairs<TypeParam>; ++pair) bench.Send(pair, 100);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, kPairs<TypeParam>);
  bench.Check();
}

TYPED_TEST(NetRxTest, RowWriteClearsTheCache) {
  for (const bool enable : {false, true}) {
    Bench<TypeParam> bench;
    bench.Enable();
    bench.PostOne(0, 2000, 30);
    bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    bench.WriteRow(0, enable);
    if (!enable) bench.WriteRow(0, true);
    ASSERT_EQ(bench.bench.RunOut(0), "");
    bench.PostOne(0, 2000, 3);
    for (unsigned i = 0; i < 4; ++i) bench.Send(0, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done, 4u);
    EXPECT_EQ(bench.dropped, 1u);
    bench.Check();
  }
}

TYPED_TEST(NetRxTest, RowWriteDiscardsTheAnswerInFlight) {
  // In every cycle of a frame: before it is decided the frame is dropped, then the row write does not affect it.
  constexpr size_t kPair = kPairs<TypeParam> - 1;
  unsigned completed = 0, thrown = 0;
  for (unsigned after = 0; after < 120; ++after) {
    const bool enable = after % 2 != 0;  // a row directly after the other one
    Bench<TypeParam> bench;
    bench.Enable();
    bench.buffer.rate = 6;
    bench.PostOne(kPair, 50);
    bench.Post(kPair, {{10}, {200}});
    bench.PostOne(kPair, 50, 3);
    bench.SetMrg(true);
    bench.Send(kPair, 100);
    ASSERT_EQ(bench.bench.Run(after / 2), "");
    bench.WriteRow(kPair, enable);
    ASSERT_EQ(bench.bench.Run(1), "");
    if (enable) bench.PostOne(kPair, 2000, 12);
    bench.buffer.rate = 16;
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done + bench.dropped, 1u);
    completed += bench.done != 0;
    thrown += bench.dropped != 0;
    if (!enable) {
      bench.WriteRow(kPair, true);
      ASSERT_EQ(bench.bench.RunOut(0), "");
      bench.PostOne(kPair, 2000, 12);
    }
    for (unsigned i = 0; i < 11; ++i) bench.Send(kPair, 100);
    ASSERT_EQ(bench.Finish(), "");
    EXPECT_EQ(bench.done + bench.dropped, 12u);
    EXPECT_LE(bench.dropped, 1u);
    bench.Check();
  }
  EXPECT_GE(completed, 10u);
  EXPECT_GE(thrown, 10u);
}

TYPED_TEST(NetRxTest, BuffersReturnOnlyAfterAllWritesHaveEnded) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  bench.SetMrg(true);
  bench.PostOne(0, 100, 3);
  bench.PostOne(0, 5000);
  bench.Send(0, 280);
  bench.Send(0, 5000 - kHeaderBytes);
  bench.port.limit = 2;
  ASSERT_EQ(bench.bench.Run(3000), "");
  constexpr uint64_t kWrites = 3 + (5000 + spec::kNetWriteBytes - 1) / spec::kNetWriteBytes;
  EXPECT_EQ(bench.writes, kWrites);
  EXPECT_EQ(bench.completion.count, 0u);
  bench.port.limit = kWrites - 1;
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.completion.count, 3u);
  EXPECT_FALSE(bench.block.IsIdle());
  bench.port.limit = kWrites;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.completion.count, 4u);
  bench.Check();
}

TYPED_TEST(NetRxTest, HoldsSixtyFourCompletions) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  bench.completion.rate = 0;
  bench.PostOne(0, 200, 80);
  for (unsigned i = 0; i < 80; ++i) bench.Send(0, 60);
  ASSERT_EQ(bench.bench.Run(4000), "");
  EXPECT_EQ(bench.writes, NetRx::kWaiting);
  bench.completion.rate = 16;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 80u);
  bench.Check();
}

TYPED_TEST(NetRxTest, MeetsDocumentedLatencies) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  ASSERT_EQ(bench.bench.Run(10), "");
  // Requests, and is answered.
  bench.buffer.rate = 0;
  bench.PostOne(0, 2000, 20);
  bench.Send(0, 30);
  Cycle start = bench.bench.cycle();
  ASSERT_EQ(bench.bench.Run(NetRx::kFrameToBufferRequest), "");
  EXPECT_EQ(bench.asked.size(), 0u);
  ASSERT_EQ(bench.bench.Run(20), "");
  ASSERT_EQ(bench.asked.size(), 1u);
  EXPECT_EQ(bench.requests.sent()[0].cycle, start + NetRx::kFrameToBufferRequest);
  bench.buffer.rate = 16;
  start = bench.bench.cycle();
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.port.firsts.at(0), start + NetRx::kBufferToBeat);
  // From the cache.
  bench.Send(0, 30);
  start = bench.bench.cycle();
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.port.firsts.at(1), start + NetRx::kFrameToBeat);
  // The write ends in the cycle behind the last beat.
  EXPECT_EQ(bench.completions.sent().at(1).cycle, bench.port.lasts.at(1) + 1 + NetRx::kDoneToCompletion);
  // Dropped.
  bench.WriteRow(0, false);
  ASSERT_EQ(bench.bench.RunOut(5), "");
  bench.Send(0, 30);
  start = bench.bench.cycle();
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.model_drop, start + NetRx::kFrameToDrop);
  bench.WriteRow(0, true);
  ASSERT_EQ(bench.bench.RunOut(5), "");
  bench.Send(0, 30);
  bench.buffer.rate = 0;
  ASSERT_EQ(bench.bench.Run(20), "");
  start = bench.bench.cycle();
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.model_drop, start + NetRx::kBufferToDrop);
  // A chain.
  bench.Post(0, {{10}, {300}});
  bench.buffer.rate = 0;
  bench.Send(0, 30);
  ASSERT_EQ(bench.bench.Run(20), "");
  start = bench.bench.cycle();
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.bench.Run(1), "");
  bench.buffer.rate = 0;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.requests.sent().back().cycle, start + NetRx::kBufferToDescriptor);
  EXPECT_TRUE(bench.asked.back().by_index);
}

TYPED_TEST(NetRxTest, BadBufferIsReportedInItsLatency) {
  Bench<TypeParam> bench;
  bench.Enable();
  bench.Post(0, {{300, false}});
  bench.buffer.rate = 0;
  bench.Send(0, 30);
  ASSERT_EQ(bench.bench.Run(20), "");
  const Cycle start = bench.bench.cycle();
  bench.buffer.rate = 16;
  ASSERT_EQ(bench.bench.Run(NetRx::kBufferToFailure), "");
  EXPECT_TRUE(bench.failed.empty());
  ASSERT_EQ(bench.Finish(), "");
  ASSERT_EQ(bench.failures.sent().size(), 1u);
  EXPECT_EQ(bench.failures.sent()[0].cycle, start + NetRx::kBufferToFailure);
}

TYPED_TEST(NetRxTest, OneBufferFramesMeetTheDocumentedRate) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  bench.PostOne(0, 2000, 200);
  for (unsigned i = 0; i < 60; ++i) bench.Send(0, 1514);
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.done, 60u);
  const size_t beats = (kHeaderBytes + 1514 + bench.kBeatBytes - 1) / bench.kBeatBytes;
  ASSERT_EQ(bench.port.ends.size(), 60u);
  for (size_t i = 1; i < 60; ++i) {
    EXPECT_EQ(bench.port.ends[i] - bench.port.ends[i - 1], beats + NetRx::kCyclesPerFrame);
  }
  // At any address: four more at most, one of them per write behind the first.
  bench.aligned = false;
  bench.PostOne(0, 2000, 200);
  bench.Ring(0);
  for (unsigned i = 0; i < 200; ++i) bench.Send(0, 1514);
  ASSERT_EQ(bench.Finish(), "");
  ASSERT_EQ(bench.port.ends.size(), 260u);
  Cycle longest = 0;
  for (size_t i = 161; i < 260; ++i) longest = std::max(longest, bench.port.ends[i] - bench.port.ends[i - 1]);
  EXPECT_EQ(longest, beats + NetRx::kCyclesPerFrame + 4);
  bench.Check();
}

// Drivers that add buffers of every kind, at random, to all pairs; queues that end and restart, and broken ones.
template <typename Top>
void Traffic(Bench<Top>& bench, unsigned frames, bool ample, unsigned resets, unsigned bad, bool lossy = false) {
  auto& random = bench.random;
  bench.Enable();
  for (size_t pair = 0; pair < kPairs<Top>; ++pair) {
    bench.guest_csum[pair] = (pair == 0 && bench.store.late_check != 0) || random() % 2 != 0;
    bench.SetOffloads(static_cast<uint32_t>(2 * pair),
                      bench.guest_csum[pair] ? spec::NetGuestOffloads::kGuestCsum : uint64_t{0});
  }
  ASSERT_EQ(bench.bench.RunOut(1), "");
  const auto post = [&](size_t pair) {
    std::vector<Descriptor> chain;
    const bool small = bench.mrg && random() % 2 != 0;
    for (size_t i = random() % 3 == 0 ? 1 + random() % 4 : 1; i > 0; --i) {
      chain.push_back({static_cast<uint32_t>(small ? 40 + random() % 200 : 1 + random() % 3000)});
    }
    if (ample) chain.back().bytes += 1600;
    if (bad != 0 && random() % bad == 0) chain[random() % chain.size()].writable = false;
    bench.Post(pair, chain, static_cast<Format>(random() % 4));
  };
  constexpr size_t kNone = kPairs<Top>;
  size_t resetting = kNone;
  unsigned sent = 0;
  for (uint64_t limit = 0; limit < 400'000; ++limit) {
    const size_t pair = random() % kPairs<Top>;
    if (sent < frames && bench.frame_in.tokens.size() < 3) {
      bench.Send(pair, random() % 8 == 0 ? 1514 : 14 + random() % 300, random() % 2 != 0);
      ++sent;
    }
    if (bench.toggles && random() % 64 == 0) bench.SetMrg(random() % 2 != 0);
    if (random() % 64 == 0) bench.SetHold(random() % 4 == 0);
    if (random() % 32 == 0) {  // of any net queue, and of none
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(random() % (2 * kPairs<Top> + 2))});
    }
    if (ample) {
      while (bench.ring[pair].size() < 20) post(pair);
    } else if (random() % 16 == 0 && bench.ring[pair].size() < 12) {
      post(pair);
    }
    if (!bench.failed.empty() && resetting == kNone) {
      resetting = bench.failed.back();
      bench.failed.clear();
      bench.WriteRow(resetting, false);
    } else if (resets != 0 && resetting == kNone && random() % resets == 0) {
      resetting = pair;
      bench.WriteRow(pair, false);
    } else if (resetting != kNone && bench.row.IsEmpty() && bench.buffer.IsEmpty() && !bench.p.buffer_request_valid_o &&
               random() % 32 == 0) {
      bench.WriteRow(resetting, true);
      resetting = kNone;
    }
    ASSERT_EQ(bench.bench.Run(1), "");
    if (sent == frames && bench.frame_in.IsEmpty() && bench.block.IsIdle()) break;
  }
  bench.SetHold(false);
  ASSERT_EQ(bench.bench.Run(2), "");
  ASSERT_EQ(bench.Finish(), "");
  const uint64_t lost = bench.frames.size() - bench.done - bench.dropped;
  if (lossy) {
    EXPECT_NE(lost, 0u);
  }
  bench.Check(lossy ? lost : 0);
}

// Of a frame of 22 writes, in three buffers, between others.
TYPED_TEST(NetRxTest, RefusedWriteStopsItsQueueOnly) {
  constexpr size_t kOther = kPairs<TypeParam> - 1;
  constexpr uint64_t kWrites = 3 + (9000 + spec::kNetWriteBytes - 1) / spec::kNetWriteBytes + 1;
  for (uint64_t nth = 1; nth <= kWrites; ++nth) {
    for (const unsigned completions : {16u, 1u}) {
      Bench<TypeParam> bench;
      bench.aligned = true;
      bench.Enable();
      bench.SetMrg(true);
      bench.completion.rate = completions;
      bench.PostOne(0, 512, 2);
      bench.Post(0, {{12}, {100}, {88}});
      bench.PostOne(0, 9000);
      bench.PostOne(0, 300);
      bench.PostOne(0, 512, 40);
      if (kOther != 0) bench.PostOne(kOther, 512, 40);
      bench.port.late = 40;
      bench.port.refuses = [&bench, nth] { return bench.writes == 2 + nth - 1; };
      for (unsigned i = 0; i < 2; ++i) bench.Send(0, 500);
      bench.Send(0, 200 + 9000 + 300 - kHeaderBytes);
      for (unsigned i = 0; i < 20; ++i) {
        if (kOther != 0) bench.Send(kOther, 500);
        bench.Send(0, 500);
      }
      ASSERT_EQ(bench.Finish(), "");
      EXPECT_EQ(bench.refused, std::vector<size_t>{0});
      EXPECT_EQ(bench.failed, std::vector<size_t>{0});
      EXPECT_TRUE(bench.frames[0].done && bench.frames[1].done);
      const unsigned others = kOther != 0 ? 20 : 0;
      EXPECT_EQ(bench.done, 2u + others);
      EXPECT_GE(bench.dropped, 1u);  // those that come after it
      bench.Check(21 - bench.dropped);
      // Its next lifetime.
      bench.port.refuses = {};
      bench.WriteRow(0, false);
      bench.WriteRow(0, true);
      ASSERT_EQ(bench.bench.RunOut(0), "");
      bench.PostOne(0, 2000, 3);
      for (unsigned i = 0; i < 3; ++i) bench.Send(0, 100);
      const uint64_t dropped = bench.dropped;
      ASSERT_EQ(bench.Finish(), "");
      EXPECT_EQ(bench.done, 5u + others);
      EXPECT_EQ(bench.dropped, dropped);
    }
  }
}

// Those of a queue that is reset before its refused write has ended are not returned, and not reported.
TYPED_TEST(NetRxTest, RefusedWriteOfAQueueThatWasDisabledIsNotReported) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  bench.PostOne(0, 512, 40);
  bench.port.limit = 0;
  bench.port.refuses = [&bench] { return bench.writes == 1; };
  for (unsigned i = 0; i < 3; ++i) bench.Send(0, 100);
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.writes, 3u);
  bench.WriteRow(0, false);
  ASSERT_EQ(bench.bench.RunOut(0), "");
  bench.port.limit = ~uint64_t{0};
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_TRUE(bench.failed.empty());
  EXPECT_EQ(bench.done, 2u);  // the CQ writer drops them: their queue is disabled
  bench.Check(1);
}

TYPED_TEST(NetRxTest, RefusedWriteIsReportedInItsLatencyAndWaits) {
  Bench<TypeParam> bench;
  bench.aligned = true;
  bench.Enable();
  bench.PostOne(0, 512, 40);
  bench.port.refuses = [] { return true; };
  bench.Send(0, 100);
  ASSERT_EQ(bench.Finish(), "");
  ASSERT_EQ(bench.failures.sent().size(), 1u);
  EXPECT_EQ(bench.failures.sent()[0].cycle, bench.port.lasts.at(0) + 1 + NetRx::kDoneToFailure);
  bench.Check(1);
  // A report waits for the previous one.
  bench.failure.rate = 0;
  for (unsigned i = 0; i < 2; ++i) {
    bench.WriteRow(0, true);
    ASSERT_EQ(bench.bench.RunOut(0), "");
    bench.PostOne(0, 512, 40);
    bench.Send(0, 100);
    ASSERT_EQ(bench.bench.Run(300), "");
  }
  EXPECT_FALSE(bench.block.IsIdle());
  EXPECT_EQ(bench.failed.size(), 1u);
  bench.failure.rate = 16;
  ASSERT_EQ(bench.Finish(), "");
  EXPECT_EQ(bench.failed.size(), 3u);
  EXPECT_EQ(bench.done, 0u);
  bench.Check(3);
}

TYPED_TEST(NetRxTest, MatchesModelWithRefusedWrites) {
  for (const unsigned late : {0u, 5u, 90u}) {
    for (const unsigned completions : {16u, 3u}) {
      Bench<TypeParam> bench;
      bench.toggles = true;
      bench.SetMrg(true);
      bench.port.late = late;
      bench.store.late_check = late;
      bench.port.rate = 9;
      bench.completion.rate = completions;
      bench.failure.rate = completions;
      bench.port.refuses = [&bench] { return bench.random() % 12 == 0; };
      Traffic(bench, 200, true, 400, 25, true);
      if (this->HasFatalFailure()) return;
      EXPECT_FALSE(bench.refused.empty());
      EXPECT_NE(bench.done, 0u);
    }
  }
}

TYPED_TEST(NetRxTest, MatchesModelAtEveryRate) {
  uint64_t late_headers = 0;
  struct Rates {
    unsigned frame, buffer, request, write, completion, failure, late_done, late_frame;
  };
  for (const Rates& rates :
       {Rates{16, 16, 16, 16, 16, 16, 0, 0}, Rates{16, 2, 16, 16, 16, 16, 0, 0}, Rates{16, 16, 1, 16, 16, 16, 0, 0},
        Rates{16, 16, 16, 4, 16, 16, 0, 0}, Rates{16, 16, 16, 16, 1, 16, 0, 0}, Rates{16, 16, 16, 16, 16, 16, 90, 0},
        Rates{16, 16, 16, 16, 16, 1, 0, 30}, Rates{2, 16, 16, 16, 16, 16, 5, 5}, Rates{9, 9, 9, 9, 9, 9, 9, 9}}) {
    for (const unsigned mrg : {0u, 1u, 2u}) {
      Bench<TypeParam> bench;
      bench.SetMrg(mrg != 0);
      bench.toggles = mrg == 2;
      bench.frame_in.rate = rates.frame;
      bench.buffer.rate = rates.buffer;
      bench.request.rate = rates.request;
      bench.port.rate = rates.write;
      bench.completion.rate = rates.completion;
      bench.failure.rate = rates.failure;
      bench.port.late = rates.late_done;
      bench.store.late = rates.late_frame;
      bench.store.late_check = mrg * 40;
      Traffic(bench, 80, false, 400, 25);
      if (this->HasFatalFailure()) return;
      late_headers += bench.late_headers;
    }
  }
  EXPECT_GT(late_headers, 50u);
}

TYPED_TEST(NetRxTest, AmpleBuffersLoseNoFrame) {
  for (const bool mrg : {false, true}) {
    Bench<TypeParam> bench;
    bench.SetMrg(mrg);
    Traffic(bench, 200, true, 0, 0);
    if (this->HasFatalFailure()) return;
    EXPECT_EQ(bench.dropped, 0u);
    EXPECT_EQ(bench.done, 200u);
  }
}

TYPED_TEST(NetRxTest, ResetClearsAllState) {
  std::shared_ptr<RtlTop<TypeParam>> rtl;
  for (unsigned i = 0; i < 8; ++i) {
    Bench<TypeParam> bench(rtl);
    rtl = bench.owner;
    bench.Enable();
    bench.SetMrg(true);
    bench.port.rate = 5;
    for (unsigned n = 0; n < 30; ++n) {
      bench.Post(0, {{20}, {300}});
      bench.PostOne(0, 200);
      bench.Send(0, 14 + bench.random() % 400);
    }
    ASSERT_EQ(bench.bench.Run(20 + bench.random() % 400), "");
  }
  Bench<TypeParam> bench(rtl);
  bench.SetMrg(true);
  Traffic(bench, 60, true, 0, 0);
  EXPECT_EQ(bench.dropped, 0u);
}

}  // namespace
}  // namespace vireo::verif
