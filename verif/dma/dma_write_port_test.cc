// SPDX-License-Identifier: Apache-2.0
// The write port as RTL and as model side by side, cycle by cycle, and both against the requests.
#include "model/dma/dma_write_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vdma_write_port_512.h"
#include "Vdma_write_port_64.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/dma/axi_memory.h"
#include "verif/dma/packed_ports.h"

namespace vireo::verif {
namespace {

using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::DmaWritePort;
using model::DmaWriter;
using spec::DmaDone;
using spec::DmaStore;
using spec::DmaWriteRequest;

template <typename Top>
DmaWritePort::Config ConfigOf();
template <>
DmaWritePort::Config ConfigOf<Vdma_write_port_64>() {
  return {.writer = {.data_bits = 64, .writes = 16, .buffer_bytes = 4096}, .store_clients = 2, .write_clients = 3};
}
template <>
DmaWritePort::Config ConfigOf<Vdma_write_port_512>() {
  return {.writer = {.data_bits = 512, .writes = 32, .buffer_bytes = 8192}, .store_clients = 3, .write_clients = 2};
}

template <typename Top>
void AllOutputs(const Top& top, std::vector<uint8_t>& bytes) {
  const auto add = [&](const auto&... ports) {
    const auto one = [&](const auto& port) {
      const auto span = BytesOf(port);
      bytes.insert(bytes.end(), span.begin(), span.end());
    };
    (one(ports), ...);
  };
  add(top.store_ready_o, top.done_valid_o, top.done_o, top.write_ready_o, top.write_done_valid_o, top.write_done_o,
      top.accepted_o, top.idle_o, top.dma_error_o);
  add(top.m_axi_awvalid_o, top.m_axi_awaddr_o, top.m_axi_awlen_o, top.m_axi_awsize_o, top.m_axi_awburst_o,
      top.m_axi_awuser_o, top.m_axi_wvalid_o, top.m_axi_wdata_o, top.m_axi_wstrb_o, top.m_axi_wlast_o,
      top.m_axi_bready_o);
}

struct Policy {
  AxiPolicy memory{};
  unsigned store_rate = 16;
  unsigned write_rate = 16;  // of train clients' beats
  unsigned address_rate = 16;
  unsigned beat_rate = 16;
};

// A requested write.
struct Write {
  size_t client;
  uint64_t address;
  bool notify;
  uint8_t tag;
  std::vector<uint8_t> data;
};

template <typename Top>
class Rig {
 public:
  Rig(RtlTop<Top>& rtl, std::mt19937_64& random, const Policy& policy)
      : policy_(policy),
        config_(ConfigOf<Top>()),
        beat_bytes_(config_.writer.data_bits / 8),
        random_(random),
        top_(rtl.ports()),
        port(agenda_, config_),
        memory(policy.memory, random),
        bench(rtl, agenda_, random),
        before_([this](Cycle) { return Before(); }, {}),
        after_([this](Cycle cycle) { return Drive(cycle); }, [this](Cycle cycle) { return Compare(cycle); }) {
    bench.AddOther(before_);
    asked.resize(clients());
    pulses_.resize(clients());
    wholes_.resize(config_.write_clients);
    for (size_t i = 0; i < whole(); ++i) {
      stores_.emplace_back();
      auto& ports = stores_.back();
      stores.push_back(&bench.template In<DmaStore>("store", port.store_in[i], ports.valid, ports.ready, ports.data));
      stores.back()->rate = policy.store_rate;
      port.on_done[i] = [this, i](Cycle cycle, const DmaDone& done) { pulses_[i] = {cycle, done}; };
    }
    for (size_t i = 0; i < config_.write_clients; ++i) {
      port.on_write_done[i] = [this, i](Cycle cycle, const DmaDone& done) { pulses_[whole() + i] = {cycle, done}; };
      port.on_accepted[i] = [this, i](Cycle cycle) { wholes_[i].accepted = cycle; };
    }
    port.on_dma_error = [this](Cycle cycle) { error_ = cycle; };
    port.aw_out.Connect(aw_, port);
    bench.AddOther(after_);
  }

  size_t clients() const { return config_.store_clients + config_.write_clients; }
  size_t whole() const { return config_.store_clients; }  // the first one; those behind it are train clients, too
  const DmaWritePort::Config& config() const { return config_; }

  void Ask(size_t client, uint64_t address, uint32_t bytes, bool notify) {
    Write write{client, address, notify, static_cast<uint8_t>(random_()), std::vector<uint8_t>(bytes)};
    for (auto& byte : write.data) byte = static_cast<uint8_t>(random_());
    asked[client].push_back(write);
    ++open_;
    if (client < whole()) {
      DmaStore store{.address = address, .bytes = static_cast<uint8_t>(bytes), .notify = notify, .tag = write.tag};
      for (auto& byte : store.data) byte = static_cast<uint8_t>(random_());  // behind the end: arbitrary
      std::copy(write.data.begin(), write.data.end(), store.data);
      stores[client]->tokens.push_back(store);
      return;
    }
    for (uint32_t begin = 0; begin < bytes; begin += beat_bytes_) {
      const uint32_t size = std::min(beat_bytes_, bytes - begin);
      DmaWritePort::WriteBeat beat{.last = begin + size == bytes};
      beat.data.assign(write.data.begin() + begin, write.data.begin() + begin + size);
      if (begin == 0) {
        beat.request = {.address = address, .bytes = static_cast<uint16_t>(bytes), .notify = notify, .tag = write.tag};
      } else {  // counts only with the first beat
        beat.request = {.address = random_(), .bytes = static_cast<uint16_t>(random_() % 8192), .tag = 7};
      }
      wholes_[client - whole()].beats.push_back(beat);
    }
  }
  void AskAny(size_t client) {
    const uint32_t most = client >= whole() ? spec::kPcieRequestBoundary : spec::kDmaFetchBytes;
    const uint32_t bytes =
        random_() % 4 == 0 ? most - static_cast<uint32_t>(random_() % 9) : 1 + static_cast<uint32_t>(random_() % most);
    uint64_t address = random_() >> 1;
    if (random_() % 2 == 0) address = (address & ~uint64_t{0xfff}) - random_() % bytes;
    if (random_() % 3 == 0) address &= ~uint64_t{63};
    Ask(client, address, bytes, random_() % 2 == 0);
  }
  // Until all has completed and the port is idle, which it must be then.
  std::string Finish(uint64_t limit = 200'000) {
    while (open_ > 0) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (limit-- == 0) return "no end";
    }
    // The last end that is not reported is detected by its answer.
    if (std::string difference = bench.Run(DmaWriter::kDoneLatency); !difference.empty()) return difference;
    if (top_.idle_o == 0) return "not idle after the last write";
    for (const auto& due : due_) {
      if (!due.empty()) return "a completion is missing";
    }
    return bench.Run(3);
  }

 private:
  struct Burst {
    size_t write;  // in `left`
    uint64_t address;
    uint32_t bytes;
    bool last;  // of its write
  };
  // A beat of the bus as taken.
  struct BusBeat {
    uint32_t lane;
    std::vector<uint8_t> data;
    bool last;
  };
  struct Due {
    Cycle cycle;
    DmaDone done;
  };

  std::string Before() {
    for (size_t i = 0; i < whole(); ++i) stores_[i].ready = Bit(top_.store_ready_o, i);
    if ((top_.idle_o != 0) != port.IsIdle()) return "idle is " + std::to_string(top_.idle_o) + " in RTL only";
    return {};
  }

  std::string Drive(Cycle cycle) {
    for (size_t i = 0; i < whole(); ++i) {
      SetBit(top_.store_valid_i, i, stores_[i].valid);
      CopyBits(stores_[i].data, 0, BytesOf(top_.store_i), i * DmaStore::kBits, DmaStore::kBits);
    }

    Scramble(top_.write_request_i, random_, DmaWriteRequest::kBits * config_.write_clients);
    Scramble(top_.write_data_i, random_);
    for (size_t i = 0; i < config_.write_clients; ++i) {
      Whole& client = wholes_[i];
      const bool ready = Bit(top_.write_ready_o, i) != 0;
      if (ready != port.write_in[i].CanPush(cycle)) return "write_ready differs";
      if (!client.offered && !client.beats.empty() && random_() % 16 < policy_.write_rate) client.offered = true;
      SetBit(top_.write_valid_i, i, client.offered);
      SetBit(top_.write_last_i, i, random_() % 2 != 0);
      if (!client.offered) continue;
      DmaWritePort::WriteBeat& beat = client.beats.front();
      CopyBits(TokenBytes(beat.request), 0, BytesOf(top_.write_request_i), i * DmaWriteRequest::kBits,
               DmaWriteRequest::kBits);
      std::copy(beat.data.begin(), beat.data.end(),
                BytesOf(top_.write_data_i).begin() + static_cast<ptrdiff_t>(i * beat_bytes_));
      SetBit(top_.write_last_i, i, beat.last);
      if (ready) {
        port.write_in[i].Push(cycle, std::move(beat));
        client.beats.pop_front();
        client.offered = false;
      }
    }

    port.max_payload_size = static_cast<spec::PcieSize>(random_() % 8);  // reserved codes too
    top_.max_payload_size_i = static_cast<CData>(port.max_payload_size);
    top_.m_axi_awready_i = random_() % 16 < policy_.address_rate;
    top_.m_axi_wready_i = random_() % 16 < policy_.beat_rate;
    aw_.SetOpen(cycle, top_.m_axi_awready_i != 0);

    std::optional<AxiResp> answer = memory.Next(cycle);
    top_.m_axi_bvalid_i = answer.has_value();
    top_.m_axi_bresp_i = static_cast<CData>(random_() % 4);
    if (!answer) return {};
    const Burst burst = bursts_.front();
    bursts_.pop_front();
    const Write& write = left[burst.write];
    if (faulty_address == write.address) answer = AxiResp::kSlverr;
    top_.m_axi_bresp_i = static_cast<CData>(*answer);
    port.OnAnswer(cycle, *answer);
    // The client to be notified, and the cycle.
    if (resp_ == AxiResp::kOkay) resp_ = *answer;
    if (burst.last) {
      if (write.notify || resp_ != AxiResp::kOkay) {
        due_[write.client].push_back(
            {cycle + DmaWriter::kDoneLatency, {.tag = write.tag, .resp = static_cast<uint8_t>(resp_)}});
      }
      failed += resp_ != AxiResp::kOkay;
      resp_ = AxiResp::kOkay;
      --open_;
    }
    return {};
  }

  std::string Compare(Cycle cycle) {
    if (top_.m_axi_bready_o == 0) return "bready is 0";
    if (std::string text = CompareAddress(cycle); !text.empty()) return text;
    if (std::string text = CompareBeat(cycle); !text.empty()) return text;
    for (size_t i = 0; i < clients(); ++i) {
      const bool valid = (i >= whole() ? Bit(top_.write_done_valid_o, i - whole()) : Bit(top_.done_valid_o, i)) != 0;
      if (valid != (pulses_[i].cycle == cycle))
        return std::string("done in the ") + (valid ? "RTL" : "model") + " only";
      if (valid != (!due_[i].empty() && due_[i].front().cycle == cycle)) return "done when it is not due";
      if (!valid) continue;
      StreamPorts<DmaDone::kBits> ports;
      if (i >= whole()) {
        CopyBits(BytesOf(std::as_const(top_.write_done_o)), (i - whole()) * DmaDone::kBits, ports.data, 0,
                 DmaDone::kBits);
      } else {
        CopyBits(BytesOf(std::as_const(top_.done_o)), i * DmaDone::kBits, ports.data, 0, DmaDone::kBits);
      }
      const auto done = TokenFrom<DmaDone>(ports.data);
      if (done != pulses_[i].done) return "done differs";
      if (done != due_[i].front().done) return "done is wrong: " + TokenText(done);
      due_[i].pop_front();
      completions.push_back({i, done});
      last_done = cycle;
    }
    if ((top_.dma_error_o != 0) != (error_ == cycle)) return "dma_error differs";
    errors += top_.dma_error_o;
    for (size_t i = 0; i < config_.write_clients; ++i) {
      const bool is_accepted = Bit(top_.accepted_o, i) != 0;
      if (is_accepted != (wholes_[i].accepted == cycle)) return "accepted differs";
      if (!is_accepted) continue;
      ++accepted;
      last_accepted = cycle;
    }
    return {};
  }

  std::string CompareAddress(Cycle cycle) {
    if (top_.m_axi_awvalid_o != 0) first_burst = std::min(first_burst, cycle);
    const bool taken = top_.m_axi_awvalid_o != 0 && top_.m_axi_awready_i != 0;
    if (taken != !aw_.sent().empty()) return std::string("a burst leaves the ") + (taken ? "RTL" : "model") + " only";
    if (!taken) return {};
    const DmaWriter::Burst burst = aw_.sent().front().token;
    aw_.sent().clear();
    if (top_.m_axi_awaddr_o != burst.address || top_.m_axi_awuser_o != burst.bytes ||
        top_.m_axi_awlen_o != burst.beats - 1 || 1u << top_.m_axi_awsize_o != beat_bytes_ ||
        top_.m_axi_awburst_o != 1) {
      return "burst differs";
    }
    // It starts the next requested write of a client, or continues the previous one.
    if (bytes_left_ == 0) {
      const auto is_next = [&](const auto& queue) { return !queue.empty() && queue.front().address == burst.address; };
      const auto found = std::find_if(asked.begin(), asked.end(), is_next);
      if (found == asked.end()) return "an unexpected burst";
      left.push_back(found->front());
      found->pop_front();
      bytes_left_ = static_cast<uint32_t>(left.back().data.size());
      next_address_ = burst.address;
    }
    if (burst.address != next_address_ || burst.bytes > bytes_left_) return "a burst outside of its write";
    next_address_ += burst.bytes;
    bytes_left_ -= burst.bytes;
    const Burst known{left.size() - 1, burst.address, burst.bytes, bytes_left_ == 0};
    bursts_.push_back(known);
    to_fill_.push_back(known);
    memory.AcceptAddress(cycle);
    return CheckBeats();
  }

  std::string CompareBeat(Cycle cycle) {
    if (top_.m_axi_wvalid_o != 0) first_beat = std::min(first_beat, cycle);
    const bool taken = top_.m_axi_wvalid_o != 0 && top_.m_axi_wready_i != 0;
    const bool valid = port.writer().WriteCycle() <= cycle;
    if (valid != (top_.m_axi_wvalid_o != 0))
      return std::string("a beat is visible in the ") + (valid ? "model" : "RTL") + " only";
    if (!taken) return {};
    const DmaWriter::WriteBeat visible = port.writer().write_beat();
    const BusBeat beat{visible.lane, {visible.data.begin(), visible.data.end()}, visible.last};
    port.OnWriteBeatTaken(cycle);
    last_beat = cycle;
    const auto data = BytesOf(std::as_const(top_.m_axi_wdata_o));
    const auto strobes = uint64_t{top_.m_axi_wstrb_o};
    for (uint32_t lane = 0; lane < beat_bytes_; ++lane) {
      const bool written = lane >= beat.lane && lane < beat.lane + beat.data.size();
      if ((strobes >> lane & 1) != written) return "strobes differ";
      if (data[lane] != (written ? beat.data[lane - beat.lane] : 0)) return "data differs";
    }
    if ((top_.m_axi_wlast_o != 0) != beat.last) return "last differs";
    seen_.push_back(beat);
    if (beat.last) memory.AcceptLastBeat(cycle);
    return CheckBeats();
  }

  // Each byte of each burst, as soon as its address and beat are known.
  std::string CheckBeats() {
    while (!to_fill_.empty() && !seen_.empty()) {
      const Burst& burst = to_fill_.front();
      const BusBeat& beat = seen_.front();
      const uint64_t address = burst.address + filled_;
      if (address % beat_bytes_ != beat.lane) return "a beat in the wrong lanes";
      const Write& write = left[burst.write];
      for (size_t k = 0; k < beat.data.size(); ++k) {
        if (write.data[static_cast<size_t>(address - write.address) + k] != beat.data[k]) return "wrong data";
      }
      filled_ += static_cast<uint32_t>(beat.data.size());
      if (beat.last != (filled_ == burst.bytes)) return "a burst of the wrong length";
      if (beat.last) {
        filled_ = 0;
        to_fill_.pop_front();
      }
      seen_.pop_front();
    }
    return {};
  }

  const Policy policy_;
  const DmaWritePort::Config config_;
  const uint32_t beat_bytes_;
  std::mt19937_64& random_;
  Top& top_;
  model::Agenda agenda_;

 public:
  DmaWritePort port;
  AxiWriteMemory memory;
  BlockBench<Top> bench;
  using Store = StreamPorts<DmaStore::kBits>;
  std::vector<InStream<DmaStore, uint8_t, uint8_t, decltype(Store::data)>*> stores;
  std::vector<std::deque<Write>> asked;  // per client: no burst has left of it yet
  std::vector<Write> left;               // in the order in which they left
  struct Completion {
    size_t client;
    DmaDone done;
  };
  std::vector<Completion> completions;
  uint64_t failed = 0;
  uint64_t errors = 0;                     // pulses of dma_error
  uint64_t accepted = 0;                   // pulses
  std::optional<uint64_t> faulty_address;  // the write that starts there fails
  Cycle first_burst = model::kUnknown;     // first seen at the bus
  Cycle first_beat = model::kUnknown;
  Cycle last_beat = 0;
  Cycle last_accepted = 0;
  Cycle last_done = 0;

 private:
  struct Pulse {
    Cycle cycle = model::kUnknown;
    DmaDone done{};
  };
  std::deque<Store> stores_;
  struct Whole {
    std::deque<DmaWritePort::WriteBeat> beats{};
    bool offered = false;
    Cycle accepted = model::kUnknown;  // the last one in the model
  };
  std::vector<Whole> wholes_;
  Channel<DmaWriter::Burst> aw_ = Channel<DmaWriter::Burst>::Sink();
  std::deque<Burst> bursts_;   // not answered
  std::deque<Burst> to_fill_;  // not all beats seen
  std::deque<BusBeat> seen_;
  uint32_t filled_ = 0;
  uint32_t bytes_left_ = 0;
  uint64_t next_address_ = 0;
  AxiResp resp_ = AxiResp::kOkay;
  uint64_t open_ = 0;
  std::vector<std::deque<Due>> due_ = std::vector<std::deque<Due>>(clients());
  std::vector<Pulse> pulses_;
  Cycle error_ = model::kUnknown;
  Other before_, after_;
};

template <typename T>
class WritePort : public testing::Test {
 public:
  using R = Rig<T>;
  std::mt19937_64 random = sim::MakeRandom("dma_write_port");
  RtlTop<T> rtl{AllOutputs<T>};
};
using Widths = testing::Types<Vdma_write_port_64, Vdma_write_port_512>;
class WidthNames {
 public:
  template <typename T>
  static std::string GetName(int index) {
    return index == 0 ? "64" : "512";
  }
};
TYPED_TEST_SUITE(WritePort, Widths, WidthNames);

TYPED_TEST(WritePort, MatchesModelAndRequests) {
  const std::vector<Policy> policies = {
      {},
      {.memory = {.min_latency = 40, .max_latency = 200, .stall = 4}},
      {.memory = {.min_latency = 5, .max_latency = 60, .faulty = 40}, .store_rate = 9, .write_rate = 9},
      {.memory = {.min_latency = 20, .max_latency = 20}, .address_rate = 2},
      {.memory = {.min_latency = 10, .max_latency = 20, .faulty = 5},
       .store_rate = 3,
       .address_rate = 9,
       .beat_rate = 9},
      {.memory = {.min_latency = 1, .max_latency = 30}, .write_rate = 3, .beat_rate = 14},
  };
  for (size_t p = 0; p < policies.size(); ++p) {
    SCOPED_TRACE(p);
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random, policies[p]);
    for (size_t i = 0; i < rig.whole(); ++i) {
      for (int k = 0; k < 250; ++k) rig.AskAny(i);
    }
    for (size_t k = 0; k < 60; ++k) rig.AskAny(rig.whole() + k % rig.config().write_clients);
    ASSERT_EQ(rig.Finish(), "");
    EXPECT_EQ(rig.accepted, 60u);
    EXPECT_EQ(rig.errors, rig.failed);
    EXPECT_EQ(rig.failed > 0, policies[p].memory.faulty > 0);
  }
}

TYPED_TEST(WritePort, IsIdleBetweenSparseWritesOnly) {
  for (const unsigned write_rate : {16u, 2u}) {  // also if a train client pauses inside its train
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random,
                                {.memory = {.min_latency = 3, .max_latency = 9}, .write_rate = write_rate});
    for (int k = 0; k < 60; ++k) {
      rig.AskAny(this->random() % rig.clients());
      ASSERT_EQ(rig.Finish(), "");
      ASSERT_EQ(rig.bench.Run(this->random() % 10), "");
    }
  }
}

TYPED_TEST(WritePort, PassesABeatPerCycle) {
  const auto config = ConfigOf<TypeParam>();
  const size_t whole = config.store_clients;
  const uint32_t beat_bytes = config.writer.data_bits / 8;
  for (const uint32_t size : {64u, 512u, 2048u, 4096u}) {  // store clients in turn, or train clients
    if (2 * size > config.writer.buffer_bytes) continue;   // no room for a train beside the one that leaves
    for (const size_t wholes : {size_t{1}, size_t{2}}) {
      this->rtl.Reset();
      typename TestFixture::R rig(this->rtl, this->random, {});
      for (uint64_t k = 0; k < 60; ++k) rig.Ask(size == 64 ? k % whole : whole + k % wholes, 4096 * k, size, false);
      ASSERT_EQ(rig.Finish(), "");
      EXPECT_EQ(rig.last_beat - rig.first_beat + 1, 60 * size / beat_bytes) << size;
    }
  }
}

TYPED_TEST(WritePort, StoresBetweenTrainsCostLittle) {
  const size_t whole = ConfigOf<TypeParam>().store_clients;
  const uint32_t beat_bytes = ConfigOf<TypeParam>().writer.data_bits / 8;
  for (const uint32_t size : {128u, 512u, 1024u, 4096u}) {
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random, {});
    for (uint64_t k = 0; k < 60; ++k) {
      for (size_t i = 0; i <= whole; ++i) rig.Ask(i, 4096 * k, i >= whole ? size : 64, false);
    }
    ASSERT_EQ(rig.Finish(), "");
    EXPECT_GE(60 * (size + 64 * whole) / beat_bytes * 100, 97 * (rig.last_beat - rig.first_beat + 1)) << size;
  }
}

TYPED_TEST(WritePort, IsIdleFromTheCycleAfterDone) {
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 7, .max_latency = 7}});
  const auto& top = this->rtl.ports();
  for (const size_t client : {size_t{0}, rig.whole(), rig.clients() - 1}) {
    ASSERT_EQ(rig.bench.Run(5), "");
    ASSERT_EQ(top.idle_o, 1);
    const size_t before = rig.completions.size();
    rig.Ask(client, 0x1000, 64, true);
    ASSERT_EQ(rig.bench.Run(1), "");
    while (rig.completions.size() == before) {
      ASSERT_EQ(top.idle_o, 0);
      ASSERT_EQ(rig.bench.Run(1), "");
    }
    ASSERT_EQ(top.idle_o, 1);
  }
}

TYPED_TEST(WritePort, ResetClearsAllState) {
  for (int k = 0; k < 4; ++k) {
    typename TestFixture::R rig(this->rtl, this->random,
                                {.memory = {.min_latency = 1, .max_latency = 80, .faulty = 30}});
    for (size_t i = 0; i < rig.clients(); ++i) {
      for (int n = 0; n < 40; ++n) rig.AskAny(i);
    }
    if (k == 3) {
      ASSERT_EQ(rig.Finish(), "");
      return;
    }
    ASSERT_EQ(rig.bench.Run(50 + this->random() % 300), "");
    auto& top = this->rtl.ports();
    top.store_valid_i = 0;
    top.write_valid_i = 0;
    top.m_axi_bvalid_i = 0;
    this->rtl.Reset();
  }
}

TYPED_TEST(WritePort, MeetsDocumentedLatencies) {
  const uint32_t beat_bytes = ConfigOf<TypeParam>().writer.data_bits / 8;
  const size_t whole = ConfigOf<TypeParam>().store_clients;
  for (const size_t client : {size_t{0}, whole, whole + 1}) {
    for (const uint32_t bytes : {1u, 8u, 9u, 16u, 63u, 64u}) {
      this->rtl.Reset();
      typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 20, .max_latency = 20}});
      const auto quiet = this->random() % 5;
      ASSERT_EQ(rig.bench.Run(quiet), "");
      rig.Ask(client, 0x10003, bytes, true);
      ASSERT_EQ(rig.Finish(), "");
      // The first cycle in which it was visible: not in n - 1, and in n.
      const Cycle accepted = quiet + DmaWritePort::kAcceptedLatency + model::BusBeats(0, bytes, beat_bytes) - 1;
      if (client >= whole) {
        EXPECT_EQ(rig.last_accepted, accepted);
      }
      const Cycle burst = std::max(quiet + DmaWritePort::kBurstLatency, accepted + DmaWriter::kTrainLatency);
      EXPECT_EQ(rig.first_burst, burst);
      EXPECT_EQ(rig.first_beat, burst + DmaWriter::kBeatLatency);
    }
  }
}

TYPED_TEST(WritePort, ServesClientsRoundRobinAndAcceptedFixesTheOrder) {
  typename TestFixture::R rig(this->rtl, this->random, {.address_rate = 9});
  const size_t clients = rig.clients();
  for (size_t i = 0; i < clients; ++i) {
    for (uint64_t k = 0; k < 50; ++k) rig.Ask(i, (i << 20) + 4096 * k, 64, false);
  }
  ASSERT_EQ(rig.Finish(), "");
  ASSERT_EQ(rig.left.size(), 50 * clients);
  for (size_t k = 0; k < rig.left.size(); ++k) ASSERT_EQ(rig.left[k].client, k % clients);

  // A write that is requested after another one's `accepted` leaves behind it, even if nothing leaves yet.
  this->rtl.Reset();
  typename TestFixture::R late(this->rtl, this->random, {.address_rate = 1});
  for (uint64_t k = 0; k < 10; ++k) {
    late.Ask(late.whole() + k % 2, 0x100000 + 4096 * k, 2048, false);
    while (late.accepted == k) ASSERT_EQ(late.bench.Run(1), "");
    late.Ask(0, 0x200000 + 4096 * k, 8, false);
    while (!late.stores[0]->IsEmpty()) ASSERT_EQ(late.bench.Run(1), "");
  }
  ASSERT_EQ(late.Finish(), "");
  for (size_t k = 0; k < late.left.size(); ++k) {
    ASSERT_EQ(late.left[k].client, k % 2 == 0 ? late.whole() + k / 2 % 2 : 0);
  }
}

TYPED_TEST(WritePort, TrainsThatPauseDoNotInterleave) {
  typename TestFixture::R rig(this->rtl, this->random, {.write_rate = 5});
  const size_t whole = rig.whole();
  for (uint64_t k = 0; k < 20; ++k) {
    for (size_t i = whole; i < rig.clients(); ++i)
      rig.Ask(i, (i << 20) + 4096 * k, 1 + 150 * static_cast<uint32_t>(k), k % 3 == 0);
  }
  ASSERT_EQ(rig.Finish(), "");  // checks every byte of every burst
  const size_t clients = rig.config().write_clients;
  ASSERT_EQ(rig.left.size(), 20 * clients);
  // With long trains and all clients busy, each has its next train ready in time.
  for (size_t k = 10 * clients; k < 15 * clients; ++k) EXPECT_EQ(rig.left[k].client, rig.left[k - clients].client);
  EXPECT_EQ(rig.accepted, 20 * clients);
}

TYPED_TEST(WritePort, NotifiesOnlyOnRequestOrFailure) {
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 10, .max_latency = 50}});
  rig.faulty_address = 0x7000;
  for (size_t i = 0; i < rig.clients(); ++i) {
    rig.Ask(i, 0x100000 * (i + 1), 64, false);
    rig.Ask(i, i == 1 ? 0x7000 : 0x1000 + 0x100000 * (i + 1), 40, false);
    rig.Ask(i, 0x2000 + 0x100000 * (i + 1), 64, i == rig.whole() || i == rig.whole() + 1);
  }
  ASSERT_EQ(rig.Finish(), "");
  EXPECT_EQ(rig.errors, 1u);
  ASSERT_EQ(rig.completions.size(), 3u);
  EXPECT_EQ(rig.completions[0].client, 1u);
  EXPECT_EQ(rig.completions[0].done.resp, static_cast<uint8_t>(AxiResp::kSlverr));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rig.completions[1 + i].client, rig.whole() + i);
    EXPECT_EQ(rig.completions[1 + i].done.resp, 0);
  }
}

TYPED_TEST(WritePort, StallsWithoutLossWhenAnswersAreLate) {
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 3000, .max_latency = 3000}});
  const uint32_t writes = rig.config().writer.writes;
  for (uint64_t k = 0; k < writes + 20; ++k) rig.Ask(k % 2, 0x1000 * k, 64, true);
  ASSERT_EQ(rig.bench.Run(1500), "");
  EXPECT_EQ(rig.left.size(), writes);
  ASSERT_EQ(rig.Finish(), "");
  EXPECT_EQ(rig.completions.size(), writes + 20);
}

}  // namespace
}  // namespace vireo::verif
