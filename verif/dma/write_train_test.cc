// SPDX-License-Identifier: Apache-2.0
// The rest of a train that is not stalled is computed at once, and bursts of a bus that is always ready are taken
// ahead: this must not change any visible event. Two write ports with the same clients and the same bus, one of which
// gets every beat and every burst in its own cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/dma/dma_write_port.h"
#include "model/dma/write_stream.h"
#include "sim/common/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::AxiResp;
using model::Block;
using model::Channel;
using model::Cycle;
using model::DmaWritePort;
using model::DmaWriter;
using model::WriteStream;

constexpr size_t kStores = 2;
constexpr size_t kWholes = 2;
constexpr Cycle kRest = 100;

struct Asked {
  Cycle cycle;  // earliest
  uint64_t address;
  size_t bytes;
  size_t lane;
  bool zeros;
};

// The activity of a port and its clients in a run; the same for both ports.
struct Script {
  std::vector<std::deque<Asked>> wholes = std::vector<std::deque<Asked>>(kWholes);
  std::vector<std::deque<Asked>> stores = std::vector<std::deque<Asked>>(kStores);
  std::vector<uint8_t> memory = std::vector<uint8_t>(8192);
  unsigned address_rate = 16;  // of 16 cycles, those in which the bus takes an address
  Cycle beat_gap = 0;          // behind an address
  Cycle answer_latency = 20;
};

class Client final : public Block, public model::BeatSource {
 public:
  Client(Agenda& agenda, size_t beat_bytes, const Script& script, std::deque<Asked> asked)
      : Block(agenda), script_(script), asked_(std::move(asked)), stream_(*this, out, beat_bytes) {
    if (!asked_.empty()) WakeAt(asked_.front().cycle);
  }

  model::Output<model::WriteBeat> out;
  std::vector<Cycle> last_steps;
  size_t trains = 0;

  std::span<const uint8_t> TakeRest(size_t sent, Cycle next) override {
    const auto data = stream_.TakeRest(sent, next);
    trains += !data.empty();
    return data;
  }
  bool IsDone() const { return !busy_ && asked_.empty(); }
  void Run(Cycle now) override {
    stream_.Run(now);
    if (busy_ && stream_.LastStep() <= now) {
      ASSERT_EQ(stream_.LastStep(), now);
      last_steps.push_back(now);
      busy_ = false;
    }
    if (busy_ || asked_.empty()) return;
    const Asked next = asked_.front();
    if (next.cycle > now) return WakeAt(next.cycle);
    asked_.pop_front();
    busy_ = true;
    stream_.Begin(now + 1, {.address = next.address,
                            .bytes = next.bytes,
                            .lane = next.lane,
                            .notify = true,
                            .tag = 0,
                            .data = next.zeros ? nullptr : script_.memory.data() + next.lane});
  }

 private:
  const Script& script_;
  std::deque<Asked> asked_;
  WriteStream stream_;
  bool busy_ = false;
};

enum class Bus { kTakesInItsCycle, kTakesAhead };

class System {
 public:
  System(uint32_t data_bits, bool whole, Bus bus, const Script& script, uint64_t seed)
      : script_(script),
        random_(seed),
        port_(agenda_, {.writer = {.data_bits = data_bits, .writes = 32, .buffer_bytes = 8192},
                        .store_clients = kStores,
                        .write_clients = kWholes}),
        stores_(script.stores) {
    if (bus == Bus::kTakesInItsCycle) port_.aw_out.Connect(bursts_, port_);
    port_.max_payload_size = spec::PcieSize::kBytes256;
    for (size_t i = 0; i < kWholes; ++i) {
      clients_.push_back(std::make_unique<Client>(agenda_, data_bits / 8, script, script.wholes[i]));
      clients_[i]->out.Connect(port_.write_in[i], *clients_[i]);
      if (whole) port_.beat_source[i] = clients_[i].get();
      port_.on_accepted[i] = [this, i](Cycle cycle) { Record("accepted", i, cycle, 0); };
      port_.on_write_done[i] = [this, i](Cycle cycle, const spec::DmaDone&) { Record("write done", i, cycle, 0); };
    }
    for (size_t i = 0; i < kStores; ++i) {
      port_.on_done[i] = [this, i](Cycle cycle, const spec::DmaDone& done) { Record("done", i, cycle, done.tag); };
    }
  }

  // Until nothing is left, or for `limit` cycles.
  void Run(Cycle limit) {
    // A beat takes some cycles from client to port.
    for (Cycle cycle = 0, rest = 0; cycle < limit && rest < kRest; ++cycle) {
      rest = IsDone() ? rest + 1 : 0;
      for (size_t i = 0; i < kStores; ++i) {
        if (stores_[i].empty() || stores_[i].front().cycle > cycle || !port_.store_in[i].CanPush(cycle)) continue;
        spec::DmaStore store{.address = stores_[i].front().address,
                             .bytes = static_cast<uint8_t>(stores_[i].front().bytes),
                             .notify = true,
                             .tag = static_cast<uint8_t>(stores_[i].size())};
        port_.store_in[i].Push(cycle, store);
        stores_[i].pop_front();
      }
      for (; !answers_.empty() && answers_.front() == cycle; answers_.pop_front()) {
        port_.OnAnswer(cycle, AxiResp::kOkay);
      }
      bursts_.SetOpen(cycle, random_() % 16 < script_.address_rate);
      agenda_.RunThrough(cycle);
      for (const auto& sent : bursts_.sent()) {
        const uint64_t sum = Sum();
        const Cycle last = port_.TakeBurstData(cycle, std::max(free_, cycle + 1 + script_.beat_gap));
        free_ = last + 1;
        OnBurst(cycle, sent.token, last, sum);
      }
      bursts_.sent().clear();
      while (!port_.aw_out.IsConnected() && port_.writer().BurstCycle() != model::kUnknown) {
        const Cycle taken = port_.writer().BurstCycle();
        EXPECT_GT(taken, cycle);
        const DmaWriter::Burst burst = port_.writer().burst();
        const uint64_t sum = Sum();
        OnBurst(taken, burst, port_.TakeBurst(taken), sum);
      }
    }
    EXPECT_TRUE(IsDone());
    for (size_t i = 0; i < kWholes; ++i) {
      for (const Cycle cycle : clients_[i]->last_steps) Record("last step", i, cycle, 0);
    }
    std::ranges::sort(events_);
  }

  // Sorted: events reported ahead may come in another order.
  const std::vector<std::string>& events() const { return events_; }
  size_t trains() const {
    size_t trains = 0;
    for (const auto& client : clients_) trains += client->trains;
    return trains;
  }

 private:
  uint64_t Sum() const {
    uint64_t sum = 0;
    for (const uint8_t byte : port_.writer().burst_data()) sum = sum * 31 + byte;
    return sum;
  }
  void OnBurst(Cycle taken, const DmaWriter::Burst& burst, Cycle last, uint64_t sum) {
    Record("burst", 0, taken, burst.address);
    Record("data", burst.bytes, last, sum);
    answers_.push_back(std::max(last + script_.answer_latency, answers_.empty() ? 0 : answers_.back() + 1));
  }
  bool IsDone() const {
    return port_.IsIdle() && std::ranges::all_of(stores_, [](const auto& asked) { return asked.empty(); }) &&
           std::ranges::all_of(clients_, [](const auto& client) { return client->IsDone(); });
  }
  void Record(const char* what, size_t who, Cycle cycle, uint64_t value) {
    events_.push_back(std::string(what) + " " + std::to_string(who) + " " + std::to_string(cycle) + " " +
                      std::to_string(value));
  }

  const Script& script_;
  std::mt19937_64 random_;
  Agenda agenda_;
  DmaWritePort port_;
  std::vector<std::deque<Asked>> stores_;
  std::vector<std::unique_ptr<Client>> clients_;
  Channel<DmaWriter::Burst> bursts_ = Channel<DmaWriter::Burst>::Sink();
  std::deque<Cycle> answers_;
  Cycle free_ = 0;
  std::vector<std::string> events_;
};

class WriteTrain : public testing::TestWithParam<uint32_t> {
 protected:
  // Of the trains that were taken at once.
  size_t ExpectNoDifference(const Script& script, uint64_t seed, Cycle limit) {
    System beats(GetParam(), false, Bus::kTakesInItsCycle, script, seed);
    System trains(GetParam(), true, Bus::kTakesInItsCycle, script, seed);
    beats.Run(limit);
    trains.Run(limit);
    EXPECT_EQ(beats.events(), trains.events());
    EXPECT_EQ(beats.trains(), 0u);
    if (script.address_rate == 16 && script.beat_gap == 0) {
      System ahead(GetParam(), true, Bus::kTakesAhead, script, seed);
      ahead.Run(limit);
      EXPECT_EQ(beats.events(), ahead.events());
    }
    return trains.trains();
  }
};
INSTANTIATE_TEST_SUITE_P(Bits, WriteTrain, testing::Values(64, 512), testing::PrintToStringParamName());

TEST_P(WriteTrain, UncontendedTrainIsTakenAtOnceFromTwelveBeatsOn) {
  const size_t beat = GetParam() / 8;
  for (size_t beats = 1; beats <= 64; ++beats) {
    for (const size_t lane : {size_t{0}, size_t{5}}) {
      Script script;
      script.wholes[0] = {{10, 0x10000, beats * beat - 3, lane, false}};
      // As many beats as there is room for have been produced by then, and those that have left.
      EXPECT_EQ(ExpectNoDifference(script, 1, 1000), beats >= WriteStream::kDepth + 4 ? 1u : 0u)
          << beats << " " << lane;
    }
  }
}

TEST_P(WriteTrain, DoesNotChangeTimingUnderContention) {
  auto random = sim::MakeRandom("WriteTrain");
  size_t trains = 0;
  for (unsigned run = 0; run < 60; ++run) {
    Script script;
    for (auto& byte : script.memory) byte = static_cast<uint8_t>(random());
    script.address_rate = random() % 3 == 0 ? 2 : 16;
    script.beat_gap = random() % 3 == 0 ? random() % 40 : 0;
    script.answer_latency = random() % 3 == 0 ? 1 + random() % 400 : 3;
    const Cycle spread = run % 3 == 0 ? 1 : run % 3 == 1 ? 40 : 700;
    const size_t most = run % 2 == 0 ? 4096 : 20 * GetParam() / 8;
    for (auto& asked : script.wholes) {
      Cycle cycle = random() % 50;
      for (unsigned i = 0; i < 25; ++i) {
        cycle += random() % spread;
        const size_t bytes = random() % 4 == 0 ? most : 1 + random() % most;
        asked.push_back({cycle, random() % 0x100000, bytes, random() % 64, random() % 4 == 0});
      }
    }
    for (auto& asked : script.stores) {
      Cycle cycle = random() % 50;
      for (unsigned i = 0; i < 60; ++i) {
        cycle += random() % (2 * spread);
        asked.push_back({cycle, random() % 0x100000, 1 + random() % spec::kDmaFetchBytes, 0, false});
      }
    }
    trains += ExpectNoDifference(script, random(), 200'000);
    if (HasFailure()) break;
  }
  EXPECT_GT(trains, 100u);
}

}  // namespace
}  // namespace vireo::verif
