// SPDX-License-Identifier: Apache-2.0
// The read port as RTL and as model side by side, cycle by cycle, and both against the memory.
#include "model/dma/dma_read_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "Vdma_read_port_512.h"
#include "Vdma_read_port_64.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/dma/axi_memory.h"
#include "verif/dma/packed_ports.h"

namespace vireo::verif {
namespace {

using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::DmaReader;
using model::DmaReadPort;
using spec::DmaFetched;
using spec::DmaReadRequest;

template <typename Top>
DmaReadPort::Config ConfigOf();
template <>
DmaReadPort::Config ConfigOf<Vdma_read_port_64>() {
  return {.reader = {.data_bits = 64, .tags = 16, .buffer_bytes = 8192},
          .fetch_clients = 3,
          .fetch_depth = 4,
          .read_clients = 3};
}
template <>
DmaReadPort::Config ConfigOf<Vdma_read_port_512>() {
  return {.reader = {.data_bits = 512, .tags = 32, .buffer_bytes = 16384},
          .fetch_clients = 3,
          .fetch_depth = 16,
          .read_clients = 2};
}

// The most bytes that a fetch client may ask for: as Verilated, with a narrow one behind two others.
constexpr size_t kNarrowClient = 2;
template <typename Top>
uint32_t FetchBytes(size_t client) {
  if (client < kNarrowClient) return spec::kDmaFetchBytes;
  return ConfigOf<Top>().reader.data_bits == 64 ? 16 : 8;
}

// Where a beat is no whole answer, answers come through the store.
uint64_t StoreLatency(const DmaReadPort::Config& config) {
  return config.reader.data_bits / 8 < spec::kDmaFetchBytes ? DmaReadPort::kStoreLatency : 0;
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
  add(top.fetch_request_ready_o, top.fetched_valid_o, top.fetched_o, top.read_request_ready_o, top.train_valid_o,
      top.train_data_o, top.train_last_o, top.train_tag_o, top.train_bytes_o, top.train_resp_o);
  add(top.m_axi_arvalid_o, top.m_axi_arid_o, top.m_axi_araddr_o, top.m_axi_arlen_o, top.m_axi_arsize_o,
      top.m_axi_arburst_o, top.m_axi_aruser_o, top.m_axi_rready_o, top.idle_o, top.outstanding_o, top.dma_error_o);
}

struct Policy {
  AxiPolicy memory{};
  unsigned request_rate = 16;
  unsigned answer_rate = 16;
  unsigned bus_rate = 16;
};

template <typename Top>
class Rig {
 public:
  Rig(RtlTop<Top>& rtl, std::mt19937_64& random, const Policy& policy)
      : policy_(policy),
        config_(ConfigOf<Top>()),
        beat_bytes_(config_.reader.data_bits / 8),
        random_(random),
        top_(rtl.ports()),
        port(agenda_, config_),
        memory(beat_bytes_, policy.memory, random),
        bench(rtl, agenda_, random),
        before_([this](Cycle cycle) { return Before(cycle); }, {}),
        after_([this](Cycle cycle) { return Drive(cycle); }, [this](Cycle cycle) { return Compare(cycle); }) {
    bench.AddOther(before_);
    wanted.resize(clients());
    answered.resize(clients());
    for (size_t i = 0; i < clients(); ++i) {
      requests_.emplace_back();
      auto& ports = requests_.back();
      auto& in = i >= whole() ? port.read_request_in[i - whole()] : port.fetch_request_in[i];
      requests.push_back(&bench.template In<DmaReadRequest>("request", in, ports.valid, ports.ready, ports.data));
      requests.back()->rate = policy.request_rate;
    }
    for (size_t i = 0; i < whole(); ++i) {
      fetched_.emplace_back();
      auto& ports = fetched_.back();
      sinks_.push_back(Channel<DmaFetched>::Sink());
      port.fetched_out[i].Connect(sinks_.back(), port);
      fetched.push_back(&bench.template Out<DmaFetched>("fetched", sinks_[i], ports.valid, ports.ready, ports.data));
      fetched.back()->rate = policy.answer_rate;
      fetched.back()->on_token = [this, i](Cycle cycle, const DmaFetched& token) {
        Check(cycle, i, token.tag, token.resp, {token.data, spec::kDmaFetchBytes}, true);
      };
    }
    port.ar_out.Connect(ar_, port);
    for (size_t i = whole(); i < clients(); ++i) {
      trains_.emplace_back(*this, i);
      port.train_sink[i - whole()] = &trains_.back();
    }
    port.on_dma_error = [this](Cycle cycle) {
      error_ = cycle;
      ++errors;
    };
    bench.AddOther(after_);
  }

  size_t clients() const { return config_.fetch_clients + config_.read_clients; }
  size_t whole() const { return config_.fetch_clients; }  // the first one; those behind it are train clients, too
  const DmaReadPort::Config& config() const { return config_; }

  // The most that a client may ask for.
  uint32_t Most(size_t client) const {
    return client >= whole() ? spec::kPcieRequestBoundary : FetchBytes<Top>(client);
  }
  // Of these bytes, as many as the client may ask for.
  void Ask(size_t client, uint64_t address, uint32_t bytes) {
    bytes = std::min(bytes, Most(client));
    const DmaReadRequest request{
        .address = address, .bytes = static_cast<uint16_t>(bytes), .tag = static_cast<uint8_t>(random_())};
    requests[client]->tokens.push_back(request);
    wanted[client].push_back(request);
  }
  // Any size and alignment, often across the end of a page.
  void AskAny(size_t client) {
    const uint32_t most = Most(client);
    const uint32_t bytes = random_() % 4 == 0 ? most - static_cast<uint32_t>(random_() % std::min(most, 9U))
                                              : 1 + static_cast<uint32_t>(random_() % most);
    uint64_t address = random_() >> 1;
    if (random_() % 2 == 0) address = (address & ~uint64_t{0xfff}) - random_() % bytes;
    if (random_() % 3 == 0) address &= ~uint64_t{63};
    Ask(client, address, bytes);
  }
  // Until all is answered and the port is idle, which it must be then.
  std::string Finish(uint64_t limit = 200'000) {
    while (std::any_of(wanted.begin(), wanted.end(), [](const auto& queue) { return !queue.empty(); })) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (limit-- == 0) return "no end";
    }
    // The last train leaves; nothing else remains.
    const Cycle end = answered_last + spec::kPcieRequestBoundary / beat_bytes_;
    while (top_.idle_o == 0 && bench.cycle() <= end) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
    }
    if (top_.idle_o == 0 || top_.outstanding_o != 0) return "not idle after the last response";
    return bench.Run(3);
  }

  void OnTrain(size_t client, Cycle first, const model::Train& train) {
    Check(first, client, train.tag, static_cast<uint8_t>(train.resp), train.data, false);
    if (!train_.empty()) failure_ = "a train before the end of the previous one";
    const auto beats = static_cast<uint32_t>((train.bytes + beat_bytes_ - 1) / beat_bytes_);
    for (uint32_t k = 0; k < beats; ++k) {
      const auto data = std::span(train.data).subspan(size_t{k} * beat_bytes_);
      TrainBeat beat{client, first + k, train.tag, train.data.size(), train.resp, k + 1 == beats, {}};
      beat.data.assign(data.begin(), data.begin() + static_cast<ptrdiff_t>(std::min<size_t>(data.size(), beat_bytes_)));
      beat.data.resize(beat_bytes_);
      train_.push_back(beat);
    }
  }

  std::string failure() const { return failure_; }

 private:
  // Of one train client.
  class Trains final : public model::TrainSink {
   public:
    Trains(Rig& rig, size_t client) : rig_(rig), client_(client) {}
    void OnTrain(Cycle first, const model::Train& train) override { rig_.OnTrain(client_, first, train); }

   private:
    Rig& rig_;
    size_t client_;
  };
  struct TrainBeat {
    size_t client;
    Cycle cycle;
    uint8_t tag;
    size_t bytes;
    AxiResp resp;
    bool last;
    std::vector<uint8_t> data;
  };

  // Exactly the requests, in order.
  void Check(Cycle cycle, size_t client, uint8_t tag, uint8_t resp, std::span<const uint8_t> data, bool padded) {
    if (wanted[client].empty()) {
      failure_ = "an unexpected response";
      return;
    }
    const DmaReadRequest request = wanted[client].front();
    wanted[client].pop_front();
    answered[client].push_back({cycle, resp});
    answered_last = cycle;
    if (tag != request.tag || (!padded && data.size() != request.bytes)) failure_ = "another request's response";
    if (resp != 0) ++failed;
    if (resp != 0 && policy_.memory.faulty == 0 && !faulty_address) failure_ = "an unexpected error";
    if (resp != 0) return;
    for (size_t k = 0; k < data.size(); ++k) {
      if (data[k] != (k < request.bytes ? MemoryByte(request.address + k) : 0)) failure_ = "wrong data";
    }
  }

  std::string Before(Cycle cycle) {
    for (size_t i = 0; i < whole(); ++i) {
      requests_[i].ready = Bit(top_.fetch_request_ready_o, i);
      fetched_[i].valid = Bit(top_.fetched_valid_o, i);
      CopyBits(BytesOf(std::as_const(top_.fetched_o)), i * DmaFetched::kBits, fetched_[i].data, 0, DmaFetched::kBits);
    }
    for (size_t i = whole(); i < clients(); ++i) requests_[i].ready = Bit(top_.read_request_ready_o, i - whole());
    if ((top_.idle_o != 0) != port.IsIdle()) return "idle is " + std::to_string(top_.idle_o) + " in RTL only";
    if (top_.outstanding_o != port.outstanding(cycle)) return "outstanding differs";
    if (top_.outstanding_o != memory.outstanding()) return "outstanding is wrong";
    return {};
  }

  std::string Drive(Cycle cycle) {
    for (size_t i = 0; i < whole(); ++i) {
      SetBit(top_.fetch_request_valid_i, i, requests_[i].valid);
      CopyBits(requests_[i].data, 0, BytesOf(top_.fetch_request_i), i * DmaReadRequest::kBits, DmaReadRequest::kBits);
      SetBit(top_.fetched_ready_i, i, fetched_[i].ready);
    }
    for (size_t i = whole(); i < clients(); ++i) {
      SetBit(top_.read_request_valid_i, i - whole(), requests_[i].valid);
      CopyBits(requests_[i].data, 0, BytesOf(top_.read_request_i), (i - whole()) * DmaReadRequest::kBits,
               DmaReadRequest::kBits);
    }

    port.max_read_request_size = static_cast<spec::PcieSize>(random_() % 8);  // reserved codes too
    top_.max_read_request_size_i = static_cast<CData>(port.max_read_request_size);
    top_.m_axi_arready_i = random_() % 16 < policy_.bus_rate;
    ar_.SetOpen(cycle, top_.m_axi_arready_i != 0);

    std::optional<AxiReadMemory::Beat> beat = memory.Next(cycle);
    top_.m_axi_rvalid_i = beat.has_value();
    if (!beat) {
      top_.m_axi_rid_i = static_cast<CData>(random_() % config_.reader.tags);
      Scramble(top_.m_axi_rdata_i, random_);
      top_.m_axi_rresp_i = random_() % 4;
      top_.m_axi_rlast_i = random_() % 2;
      return {};
    }
    if (faulty_address && faulty_tag_ == beat->id) {
      beat->resp = AxiResp::kDecerr;
      if (beat->last) faulty_tag_.reset();
    }
    top_.m_axi_rid_i = static_cast<CData>(beat->id);
    std::copy(beat->data.begin(), beat->data.end(), BytesOf(top_.m_axi_rdata_i).begin());
    top_.m_axi_rresp_i = static_cast<CData>(beat->resp);
    top_.m_axi_rlast_i = beat->last;
    port.OnReadBeat(cycle, beat->id, beat->data, beat->resp, beat->last);
    if (beat->last) last_beat = cycle;
    return {};
  }

  std::string Compare(Cycle cycle) {
    if (!failure_.empty()) return failure_;
    if (top_.m_axi_rready_o == 0) return "rready is 0";
    if (top_.m_axi_arvalid_o != 0) first_burst = std::min(first_burst, cycle);
    const bool taken = top_.m_axi_arvalid_o != 0 && top_.m_axi_arready_i != 0;
    const bool in_model = !ar_.sent().empty();
    if (taken != in_model) return std::string("a burst leaves the ") + (taken ? "RTL" : "model") + " only";
    if (taken) {
      const DmaReader::Burst burst = ar_.sent().front().token;
      ar_.sent().clear();
      if (top_.m_axi_arid_o != burst.id || top_.m_axi_araddr_o != burst.address || top_.m_axi_aruser_o != burst.bytes ||
          top_.m_axi_arlen_o != burst.beats - 1 || 1u << top_.m_axi_arsize_o != beat_bytes_ ||
          top_.m_axi_arburst_o != 1) {
        return "burst differs";
      }
      memory.Accept(cycle, burst.id, burst.address, burst.beats);
      if (faulty_address && *faulty_address == burst.address) faulty_tag_ = burst.id;
      bursts.push_back(burst);
      burst_cycles.push_back(cycle);
    }
    const bool train = !train_.empty() && train_.front().cycle == cycle;
    if ((top_.train_valid_o != 0) != train) return std::string("a beat in the ") + (train ? "model" : "RTL") + " only";
    if (train && top_.train_valid_o != 1u << (train_.front().client - whole())) return "another client's train";
    if (train) {
      const TrainBeat& beat = train_.front();
      if (top_.train_tag_o != beat.tag || top_.train_bytes_o != beat.bytes || (top_.train_last_o != 0) != beat.last ||
          top_.train_resp_o != static_cast<unsigned>(beat.resp)) {
        return "beat of a train differs";
      }
      const auto data = BytesOf(std::as_const(top_.train_data_o));
      if (!std::equal(beat.data.begin(), beat.data.end(), data.begin())) return "data of a train differs";
      train_.pop_front();
    }
    if ((top_.dma_error_o != 0) != (error_ == cycle)) return "dma_error differs";
    return {};
  }

  const Policy policy_;
  const DmaReadPort::Config config_;
  const uint32_t beat_bytes_;
  std::mt19937_64& random_;
  Top& top_;
  model::Agenda agenda_;

 public:
  DmaReadPort port;
  AxiReadMemory memory;
  BlockBench<Top> bench;
  using Request = StreamPorts<DmaReadRequest::kBits>;
  using Answer = StreamPorts<DmaFetched::kBits>;
  std::vector<InStream<DmaReadRequest, uint8_t, uint8_t, decltype(Request::data)>*> requests;  // train clients last
  std::vector<OutStream<DmaFetched, uint8_t, uint8_t, decltype(Answer::data)>*> fetched;
  std::vector<std::deque<DmaReadRequest>> wanted;  // not answered yet
  struct Answered {
    Cycle cycle;
    uint8_t resp;
  };
  std::vector<std::vector<Answered>> answered;
  std::vector<DmaReader::Burst> bursts;
  std::vector<Cycle> burst_cycles;
  Cycle answered_last = 0;
  uint64_t errors = 0;                     // pulses of dma_error
  uint64_t failed = 0;                     // answers
  std::optional<uint64_t> faulty_address;  // the burst from there on fails
  Cycle first_burst = model::kUnknown;     // first seen at the bus
  Cycle last_beat = 0;

 private:
  std::deque<Request> requests_;
  std::deque<Answer> fetched_;
  std::deque<Channel<DmaFetched>> sinks_;
  Channel<DmaReader::Burst> ar_ = Channel<DmaReader::Burst>::Sink();
  std::deque<Trains> trains_;  // per train client
  std::deque<TrainBeat> train_;
  Cycle error_ = model::kUnknown;
  std::optional<uint32_t> faulty_tag_;
  std::string failure_;
  Other before_, after_;
};

template <typename T>
class ReadPort : public testing::Test {
 public:
  using R = Rig<T>;
  std::mt19937_64 random = sim::MakeRandom("dma_read_port");
  RtlTop<T> rtl{AllOutputs<T>};
};
using Widths = testing::Types<Vdma_read_port_64, Vdma_read_port_512>;
class WidthNames {
 public:
  template <typename T>
  static std::string GetName(int index) {
    return index == 0 ? "64" : "512";
  }
};
TYPED_TEST_SUITE(ReadPort, Widths, WidthNames);

TYPED_TEST(ReadPort, MatchesModelAndMemory) {
  const std::vector<Policy> policies = {
      {},
      {.memory = {.min_latency = 40, .max_latency = 200, .stall = 4, .out_of_order = true, .interleave = true}},
      {.memory = {.min_latency = 5, .max_latency = 60, .out_of_order = true, .faulty = 30}, .request_rate = 9},
      {.memory = {.min_latency = 20, .max_latency = 20}, .answer_rate = 2, .bus_rate = 9},
      {.memory = {.min_latency = 100, .max_latency = 110, .stall = 1, .faulty = 5},
       .request_rate = 3,
       .answer_rate = 9},
      {.memory = {.min_latency = 1, .max_latency = 30, .interleave = true}, .answer_rate = 8, .bus_rate = 2},
  };
  for (size_t p = 0; p < policies.size(); ++p) {
    SCOPED_TRACE(p);
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random, policies[p]);
    for (size_t i = 0; i < rig.whole(); ++i) {
      for (int k = 0; k < 250; ++k) rig.AskAny(i);
    }
    for (size_t i = rig.whole(); i < rig.clients(); ++i) {
      for (int k = 0; k < 40; ++k) rig.AskAny(i);
    }
    ASSERT_EQ(rig.Finish(), "");
    EXPECT_EQ(rig.errors, rig.failed);
    EXPECT_EQ(rig.failed > 0, policies[p].memory.faulty > 0);
  }
}

TYPED_TEST(ReadPort, IsIdleBetweenSparseRequests) {
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 3, .max_latency = 9}});
  for (int k = 0; k < 60; ++k) {
    rig.AskAny(this->random() % rig.clients());
    ASSERT_EQ(rig.Finish(), "");
    ASSERT_EQ(rig.bench.Run(this->random() % 10), "");
  }
}

TYPED_TEST(ReadPort, IsIdleFromTheCycleAfterTheLastAnswer) {
  typename TestFixture::R rig(this->rtl, this->random, {});
  const auto& top = this->rtl.ports();
  for (const size_t client : {size_t{0}, rig.whole(), rig.clients() - 1}) {
    ASSERT_EQ(rig.bench.Run(5), "");
    ASSERT_EQ(top.idle_o, 1);
    rig.Ask(client, 0x1000, 64);
    ASSERT_EQ(rig.bench.Run(1), "");
    ASSERT_EQ(top.idle_o, 0);
    while (rig.answered[client].empty()) {
      ASSERT_EQ(top.idle_o, 0);
      ASSERT_EQ(rig.bench.Run(1), "");
    }
    // At 64 bits a train client's train has 7 beats more.
    const uint32_t more = client >= rig.whole() ? 64 / (rig.config().reader.data_bits / 8) - 1 : 0;
    for (uint32_t k = 0; k < more; ++k) {
      ASSERT_EQ(top.idle_o, 0);
      ASSERT_EQ(rig.bench.Run(1), "");
    }
    ASSERT_EQ(top.idle_o, 1);
  }
}

TYPED_TEST(ReadPort, ResetClearsAllState) {
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
    top.fetch_request_valid_i = 0;
    top.read_request_valid_i = 0;
    top.m_axi_rvalid_i = 0;
    this->rtl.Reset();
  }
}

TYPED_TEST(ReadPort, MeetsDocumentedLatencies) {
  const uint32_t beat_bytes = ConfigOf<TypeParam>().reader.data_bits / 8;
  for (const uint32_t bytes : {1u, 8u, 9u, 16u, 63u, 64u}) {
    for (const uint64_t address : {uint64_t{0x10000}, uint64_t{0x10003}}) {
      this->rtl.Reset();
      typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 20, .max_latency = 20}});
      const auto quiet = this->random() % 5;
      ASSERT_EQ(rig.bench.Run(quiet), "");
      rig.Ask(0, address, bytes);
      ASSERT_EQ(rig.Finish(), "");
      // The first cycle in which it was visible: not in n - 1, and in n.
      EXPECT_EQ(rig.first_burst, quiet + DmaReadPort::kBurstLatency);
      const uint32_t beats = model::BusBeats(0, bytes, beat_bytes);
      const uint32_t lag = DmaReader(rig.config().reader).TrainSteps(address, bytes) - beats;
      EXPECT_EQ(rig.answered[0].front().cycle,
                rig.last_beat + DmaReadPort::kFetchedLatency + StoreLatency(rig.config()) + lag + beats - 1);
    }
  }
  const auto config = ConfigOf<TypeParam>();
  for (size_t client = config.fetch_clients; client < config.fetch_clients + config.read_clients; ++client) {
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 20, .max_latency = 20}});
    rig.Ask(client, 0x20000, 128);
    ASSERT_EQ(rig.Finish(), "");
    EXPECT_EQ(rig.first_burst, DmaReadPort::kBurstLatency);
    EXPECT_EQ(rig.answered[client].front().cycle, rig.last_beat + DmaReader::kTrainLatency);
  }
}

TYPED_TEST(ReadPort, StalledFetchClientDoesNotStallOthers) {
  typename TestFixture::R rig(this->rtl, this->random, {});
  const size_t depth = rig.config().fetch_depth;
  rig.fetched[0]->rate = 0;
  for (size_t k = 0; k < depth + 6; ++k) rig.Ask(0, 0x100000, 8);
  ASSERT_EQ(rig.bench.Run(200), "");
  EXPECT_EQ(rig.bursts.size(), depth);
  EXPECT_EQ(rig.answered[0].size(), 0u);

  for (size_t k = 0; k < 3 * depth; ++k) rig.Ask(1, 0x200000, 64);
  for (size_t i = rig.whole(); i < rig.clients(); ++i) {
    for (size_t k = 0; k < 3; ++k) rig.Ask(i, 0x300000, 4096);
  }
  ASSERT_EQ(rig.bench.Run(6000 * rig.config().read_clients), "");
  EXPECT_EQ(rig.answered[1].size(), 3 * depth);
  for (size_t i = rig.whole(); i < rig.clients(); ++i) EXPECT_EQ(rig.answered[i].size(), 3u);
  EXPECT_EQ(std::count_if(rig.bursts.begin(), rig.bursts.end(), [](const auto& b) { return b.address == 0x100000; }),
            static_cast<ptrdiff_t>(depth));

  rig.fetched[0]->rate = 16;
  ASSERT_EQ(rig.Finish(), "");
}

TYPED_TEST(ReadPort, FetchClientHasUpToItsPlacesOutstanding) {
  constexpr uint64_t kLatency = 100;
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = kLatency, .max_latency = kLatency}});
  const size_t depth = rig.config().fetch_depth;
  for (size_t k = 0; k < 4 * depth; ++k) rig.Ask(0, 0x1000, 8);
  ASSERT_EQ(rig.Finish(), "");
  ASSERT_EQ(rig.burst_cycles.size(), 4 * depth);
  const uint64_t store = StoreLatency(rig.config());
  // One per cycle, or in two.
  EXPECT_EQ(rig.burst_cycles[depth - 1] - rig.burst_cycles[0], (depth - 1) * (store != 0 ? 2 : 1));
  for (size_t k = depth; k < rig.burst_cycles.size(); ++k) {
    // Of answers in the store one client gets one in 3 cycles, so the first ones spread.
    const uint64_t spread = store != 0 && k < 2 * depth ? k - depth : 0;
    EXPECT_EQ(rig.burst_cycles[k], rig.burst_cycles[k - depth] + kLatency + DmaReadPort::kPlaceCycles + store + spread);
  }
}

// A client gets its next answer n + 2 cycles after the last one; of several clients' answers a beat is moved per cycle.
TEST(ReadPort64, AnswersLeaveTheStoreWithoutGaps) {
  auto random = sim::MakeRandom("dma_read_port");
  RtlTop<Vdma_read_port_64> rtl{AllOutputs<Vdma_read_port_64>};
  for (const size_t clients : {1u, 2u}) {
    rtl.Reset();
    Rig<Vdma_read_port_64> rig(rtl, random, {.memory = {.min_latency = 1, .max_latency = 1}});
    for (size_t i = 0; i < clients; ++i) {
      for (uint64_t k = 0; k < 40; ++k) rig.Ask(i, 0x1000 + 64 * k, 64);
    }
    ASSERT_EQ(rig.Finish(), "");
    for (size_t i = 0; i < clients; ++i) {
      for (size_t k = 10; k < 40; ++k) {
        EXPECT_EQ(rig.answered[i][k].cycle, rig.answered[i][k - 1].cycle + (clients == 1 ? 8 + 2 : 2 * 8))
            << i << ", " << k;
      }
    }
  }
}

TYPED_TEST(ReadPort, ServesClientsRoundRobin) {
  typename TestFixture::R rig(this->rtl, this->random, {});
  const size_t clients = rig.clients();
  for (size_t i = 0; i < clients; ++i) {
    for (uint64_t k = 0; k < 50; ++k) rig.Ask(i, i << 20, 8);
  }
  ASSERT_EQ(rig.Finish(), "");
  ASSERT_EQ(rig.bursts.size(), 50 * clients);
  // Up to the first client's last request; fetch clients wait for room now and then, but none is skipped.
  std::vector<size_t> served(clients);
  for (const auto& burst : rig.bursts) {
    ++served[burst.address >> 20];
    if (*std::max_element(served.begin(), served.end()) == 50) break;
    const auto end = served.begin() + static_cast<ptrdiff_t>(rig.whole());
    const size_t small_least = *std::min_element(served.begin(), end);
    const size_t small_most = *std::max_element(served.begin(), end);
    const size_t whole_least = *std::min_element(end, served.end());
    const size_t whole_most = *std::max_element(end, served.end());
    ASSERT_LE(small_most - small_least, 1u);
    ASSERT_LE(whole_most - whole_least, 1u);
    ASSERT_GE(whole_least + 1, small_most);
  }
}

TYPED_TEST(ReadPort, TrainClientsShareTheBusAndGetTheirOwnTrains) {
  typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 30, .max_latency = 30}});
  const size_t whole = rig.whole();
  // The second client requests the minimum; the first one's trains delay it by its turn only.
  for (uint64_t k = 0; k < 12; ++k) rig.Ask(whole, 0x100000 + 4096 * k, 4096);
  for (uint64_t k = 0; k < 12; ++k) rig.Ask(whole + 1, 0x800000 + 64 * k, 64);
  ASSERT_EQ(rig.Finish(), "");
  ASSERT_EQ(rig.answered[whole].size(), 12u);
  ASSERT_EQ(rig.answered[whole + 1].size(), 12u);
  for (size_t k = 0; k < 12; ++k) {
    EXPECT_LT(rig.answered[whole][k].cycle, rig.answered[whole + 1][k].cycle);
    if (k + 1 < 12) {
      EXPECT_LT(rig.answered[whole + 1][k].cycle, rig.answered[whole][k + 1].cycle);
    }
  }
}

TYPED_TEST(ReadPort, FailedReadIsReportedAndAffectsNoOther) {
  const auto config = ConfigOf<TypeParam>();
  for (const size_t client : {size_t{0}, config.fetch_clients, config.fetch_clients + 1}) {
    this->rtl.Reset();
    typename TestFixture::R rig(this->rtl, this->random, {.memory = {.min_latency = 10, .max_latency = 50}});
    rig.faulty_address = 0x7000;
    for (size_t i = 0; i < rig.clients(); ++i) {
      rig.Ask(i, 0x1000, 64);
      rig.Ask(i, i == client ? 0x7000 : 0x2000, 40);
      rig.Ask(i, 0x3000, 64);
    }
    ASSERT_EQ(rig.Finish(), "");
    EXPECT_EQ(rig.errors, 1u);
    for (size_t i = 0; i < rig.clients(); ++i) {
      ASSERT_EQ(rig.answered[i].size(), 3u);
      EXPECT_EQ(rig.answered[i][0].resp, 0);
      EXPECT_EQ(rig.answered[i][1].resp, i == client ? static_cast<uint8_t>(AxiResp::kDecerr) : 0);
      EXPECT_EQ(rig.answered[i][2].resp, 0);
    }
  }
}

}  // namespace
}  // namespace vireo::verif
