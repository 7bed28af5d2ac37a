// SPDX-License-Identifier: Apache-2.0
// A bus that is always ready may take bursts ahead, and the end of one may be reported ahead: this must not change any
// visible event. Two read ports with the same clients and the same memory, one of which is informed of everything in
// its own cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/dma/dma_read_port.h"
#include "sim/common/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::AxiResp;
using model::Channel;
using model::Cycle;
using model::DmaReader;
using model::DmaReadPort;
using model::kUnknown;

constexpr size_t kFetches = 2;
constexpr size_t kReads = 2;

struct Asked {
  Cycle cycle;  // earliest
  uint64_t address;
  uint16_t bytes;
};

struct Script {
  std::vector<std::deque<Asked>> asked = std::vector<std::deque<Asked>>(kFetches + kReads);
  Cycle latency = 20;  // of the memory, minimum
  Cycle spread = 0;    // plus up to this much, by the address
  unsigned fails = 0;  // of 16 bursts, by the address
  uint32_t tags = 16;
};

class System final : private model::TrainSink {
 public:
  System(uint32_t data_bits, bool ahead, const Script& script)
      : script_(script),
        port_(agenda_, {.reader = {.data_bits = data_bits, .tags = script.tags, .buffer_bytes = 8192},
                        .fetch_clients = kFetches,
                        .fetch_depth = 4,
                        .read_clients = kReads}),
        asked_(script.asked) {
    if (!ahead) port_.ar_out.Connect(bursts_, port_);
    port_.max_read_request_size = spec::PcieSize::kBytes512;
    for (size_t i = 0; i < kFetches; ++i) {
      fetched_.push_back(Channel<spec::DmaFetched>::Sink());
    }
    for (size_t i = 0; i < kFetches; ++i) port_.fetched_out[i].Connect(fetched_[i], no_waker_);
    for (auto& sink : port_.train_sink) sink = this;
    port_.on_dma_error = [this](Cycle cycle) { Record("error", cycle, 0); };
  }

  // The visible events, cycle by cycle, until nothing is left.
  std::vector<std::string> Run(Cycle limit) {
    for (Cycle cycle = 0; cycle < limit && !IsDone(); ++cycle) {
      if (const uint32_t outstanding = port_.outstanding(cycle); outstanding != outstanding_) {
        outstanding_ = outstanding;
        Record("outstanding", cycle, outstanding);
      }
      for (size_t i = 0; i < asked_.size(); ++i) Ask(cycle, i);
      for (; !arrivals_.empty() && arrivals_.begin()->first <= cycle; arrivals_.erase(arrivals_.begin())) {
        Answer(cycle, arrivals_.begin()->second);
      }
      for (; !ends_.empty() && ends_.front().first == cycle; ends_.pop_front()) End(cycle, ends_.front().second);
      agenda_.RunThrough(cycle);
      for (const auto& sent : bursts_.sent()) OnBurst(cycle, sent.token);
      bursts_.sent().clear();
      while (!port_.ar_out.IsConnected() && port_.reader().BurstCycle() != kUnknown) {
        const Cycle taken = port_.reader().BurstCycle();
        EXPECT_GT(taken, cycle);
        OnBurst(taken, port_.TakeBurst());
      }
      for (size_t i = 0; i < kFetches; ++i) {
        for (const auto& sent : fetched_[i].sent()) Record("fetched", sent.cycle, i << 8 | sent.token.tag);
        fetched_[i].sent().clear();
      }
    }
    EXPECT_TRUE(IsDone());
    std::ranges::sort(events_);
    return std::move(events_);
  }

 private:
  // A client to wake for room in the answers' channels, which are always open.
  class NoWaker final : public model::Block {
   public:
    using Block::Block;
    void Run(Cycle) override {}
  };

  bool IsDone() const {
    return port_.IsIdle() && arrivals_.empty() && ends_.empty() &&
           std::ranges::all_of(asked_, [](const auto& asked) { return asked.empty(); });
  }
  void Record(const char* what, Cycle cycle, uint64_t value) {
    events_.push_back(std::string(what) + " " + std::to_string(cycle) + " " + std::to_string(value));
  }
  void Ask(Cycle cycle, size_t client) {
    auto& asked = asked_[client];
    auto& in = client < kFetches ? port_.fetch_request_in[client] : port_.read_request_in[client - kFetches];
    if (asked.empty() || asked.front().cycle > cycle || !in.CanPush(cycle)) return;
    in.Push(
        cycle,
        {.address = asked.front().address, .bytes = asked.front().bytes, .tag = static_cast<uint8_t>(asked.size())});
    asked.pop_front();
  }
  void OnBurst(Cycle taken, const DmaReader::Burst& burst) {
    Record("burst", taken, burst.address);
    arrivals_.emplace(taken + script_.latency + burst.address / 512 % (script_.spread + 1), burst);
  }
  // The bus has one beat in each cycle.
  void Answer(Cycle cycle, const DmaReader::Burst& burst) {
    free_ = std::max(free_, cycle) + burst.beats;
    const std::pair<Cycle, DmaReader::Burst> end(free_ - 1, burst);
    if (!port_.ar_out.IsConnected()) return End(end.first, end.second);
    ends_.push_back(end);
  }
  void End(Cycle cycle, const DmaReader::Burst& burst) {
    const bool fails = burst.address / 512 * 7 % 16 < script_.fails;
    const std::vector<uint8_t> data(fails ? 0 : burst.bytes, static_cast<uint8_t>(burst.address));
    port_.OnReadData(burst.id, data);
    port_.OnReadEnd(cycle, burst.id, fails ? AxiResp::kSlverr : AxiResp::kOkay);
  }
  void OnTrain(Cycle first, const model::Train& train) override {
    uint64_t sum = train.tag;
    for (const uint8_t byte : train.data) sum = sum * 31 + byte;
    Record("train", first, train.resp == AxiResp::kOkay ? sum : train.tag);
  }

  const Script& script_;
  Agenda agenda_;
  NoWaker no_waker_{agenda_};
  DmaReadPort port_;
  std::vector<std::deque<Asked>> asked_;
  Channel<DmaReader::Burst> bursts_ = Channel<DmaReader::Burst>::Sink();
  std::vector<Channel<spec::DmaFetched>> fetched_;
  std::multimap<Cycle, DmaReader::Burst> arrivals_;
  std::deque<std::pair<Cycle, DmaReader::Burst>> ends_;
  Cycle free_ = 0;
  uint32_t outstanding_ = 0;
  std::vector<std::string> events_;
};

class ReadAhead : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Bits, ReadAhead, testing::Values(64, 512), testing::PrintToStringParamName());

TEST_P(ReadAhead, DoesNotChangeTimingUnderStalls) {
  auto random = sim::MakeRandom("ReadAhead");
  size_t bursts = 0;
  for (unsigned run = 0; run < 60; ++run) {
    Script script;
    script.latency = 1 + random() % 200;
    script.spread = run % 2 == 0 ? 0 : random() % 300;
    script.fails = run % 4 == 0 ? 2 : 0;
    script.tags = run % 3 == 0 ? 4 : 32;  // few: bursts wait for the ends of others
    const Cycle gap = run % 5 == 0 ? 1 : 1 + random() % 100;
    for (size_t client = 0; client < script.asked.size(); ++client) {
      Cycle cycle = random() % 50;
      for (unsigned i = 0; i < 40; ++i) {
        cycle += random() % gap;
        const size_t most = client < kFetches ? spec::kDmaFetchBytes : spec::kPcieRequestBoundary;
        script.asked[client].push_back({cycle, random() % 0x100000, static_cast<uint16_t>(1 + random() % most)});
      }
    }
    const std::vector<std::string> in_cycle = System(GetParam(), false, script).Run(200'000);
    const std::vector<std::string> ahead = System(GetParam(), true, script).Run(200'000);
    ASSERT_EQ(in_cycle, ahead) << "run " << run;
    bursts += static_cast<size_t>(std::ranges::count_if(ahead, [](const auto& event) { return event[0] == 'b'; }));
  }
  EXPECT_GT(bursts, 1000u);
}

}  // namespace
}  // namespace vireo::verif
