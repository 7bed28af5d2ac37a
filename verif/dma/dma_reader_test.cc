// SPDX-License-Identifier: Apache-2.0
// The DMA reader: RTL against model, burst for burst, beat for beat and cycle for cycle, with a memory that answers
// late, out of order, interleaved and with errors; and both against the requests.
#include "model/dma/dma_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/dma/axi_memory.h"
#include "verif/dma/dma_reader_rtl.h"

namespace vireo::verif {
namespace {

using model::AxiResp;
using model::Cycle;
using model::DmaReader;
using model::kUnknown;
using spec::PcieSize;
using Random = std::mt19937_64;

// How often the others are ready, in 16ths of all cycles, and how the memory behaves.
struct Traffic {
  const char* name;
  unsigned request = 16;
  unsigned burst = 16;
  unsigned train = 16;
  AxiPolicy memory{};
  std::optional<PcieSize> max_read_request_size =
      std::nullopt;  // nothing: another one in every cycle, reserved codes included
};

// What GoogleTest prints of it.
void PrintTo(const Traffic& traffic, std::ostream* out) { *out << traffic.name; }

// Runs model and RTL side by side. A member function that finds a difference fails the test and stops.
class Bench {
 public:
  Bench(unsigned data_bits, const Traffic& traffic, const std::string& consumer)
      : random_(sim::MakeRandom(consumer)),
        rtl_(DmaReaderRtl::Make(data_bits, random_)),
        config_(DmaReaderRtl::ConfigOf(data_bits)),
        model_(std::make_unique<DmaReader>(config_)),
        traffic_(traffic),
        memory_(beat_bytes(), traffic.memory, random_) {}

  uint32_t beat_bytes() const { return config_.data_bits / 8; }
  const DmaReader::Config& config() const { return config_; }
  DmaReader& model() { return *model_; }
  Random& random() { return random_; }
  Traffic& traffic() { return traffic_; }
  Cycle cycle() const { return cycle_; }
  size_t unfinished() const { return waiting_.size() + flights_.size(); }
  size_t most_outstanding() const { return most_outstanding_; }
  size_t outstanding() const { return memory_.outstanding(); }
  const DmaReaderOutputs& seen() const { return seen_; }
  const std::vector<uint64_t>& resps() const { return resps_; }  // trains by AxiResp

  void Ask(uint64_t address, uint32_t bytes) {
    waiting_.push_back({address, bytes, static_cast<uint32_t>(random_() % 256), PcieSize{}});
  }

  // A generic request: any alignment, any page, sizes of every magnitude.
  void AskAny() {
    static constexpr uint32_t kSizes[] = {16, 64, 256, 1024, 4096, 0};
    uint32_t limit = kSizes[random_() % std::size(kSizes)];
    if (limit == 0) limit = model_->max_request_bytes();
    uint64_t address = random_();
    // Often around the end of a page, or at the start of a beat.
    if (random_() % 4 == 0) address |= 0xfc0;
    if (random_() % 4 == 0) address &= ~uint64_t{beat_bytes() - 1};
    address &= ~uint64_t{0} >> 1;  // so that it does not run past the end
    Ask(address, static_cast<uint32_t>(1 + random_() % limit));
  }

  // One cycle.
  void Step() {
    seen_ = rtl_->outputs();
    Compare();
    if (testing::Test::HasFatalFailure()) return;

    DmaReaderInputs in;
    in.max_read_request_size = traffic_.max_read_request_size.value_or(PcieSize{static_cast<uint8_t>(random_() % 8)});
    offered_ = !waiting_.empty() && (offered_ || random_() % 16 < traffic_.request);
    if (offered_) in.request = &waiting_.front();
    in.ar_ready = random_() % 16 < traffic_.burst;
    const auto beat = memory_.Next(cycle_);
    if (beat) {
      in.r_valid = true;
      in.r_id = beat->id;
      in.r_data = beat->data;
      in.r_resp = beat->resp;
      in.r_last = beat->last;
    }
    in.train_ready = random_() % 16 < traffic_.train;

    if (offered_ && seen_.request_ready) {
      waiting_.front().max_read_request_size = in.max_read_request_size;
      flights_.push_back({waiting_.front(), waiting_.front().address, 0, {}});
      model_->OnRequest(cycle_, waiting_.front());
    }
    if (seen_.ar_valid && in.ar_ready) {
      model_->OnBurstTaken(cycle_);
      memory_.Accept(cycle_, seen_.ar_id, seen_.ar_address, seen_.ar_len + 1);
      CheckBurst();
      most_outstanding_ = std::max(most_outstanding_, memory_.outstanding());
    }
    if (beat) {
      model_->OnReadBeat(cycle_, beat->id, beat->data, beat->resp, beat->last);
      AxiResp& resp = *resp_of_id_.at(beat->id);
      if (resp == AxiResp::kOkay) resp = beat->resp;
    }
    if (seen_.train_valid && in.train_ready) {
      CheckTrainBeat();
      model_->OnTrainBeatTaken(cycle_);
    }
    rtl_->Clock(in);
    if (offered_ && seen_.request_ready) {
      waiting_.pop_front();
      offered_ = false;
    }
    ++cycle_;
  }

  void Run(uint64_t cycles) {
    while (cycles-- > 0 && !testing::Test::HasFatalFailure()) Step();
  }

  // Until every request is answered, and a while longer.
  void Drain() {
    const Cycle limit = cycle_ + 2'000'000;
    while (unfinished() > 0 && !testing::Test::HasFatalFailure()) {
      ASSERT_LT(cycle_, limit) << unfinished() << " requests do not end";
      Step();
    }
    Run(50);
  }

  // At any time; requests in flight are discarded.
  void Reset() {
    rtl_->Reset();
    model_ = std::make_unique<DmaReader>(config_);
    memory_.Reset();
    waiting_.clear();
    flights_.clear();
    resp_of_id_.clear();
    issue_flight_ = 0;
    train_bytes_ = 0;
    offered_ = false;
    cycle_ = 0;
  }

 private:
  struct Flight {
    DmaReader::Request request;
    uint64_t next;              // address that the next burst must have
    uint64_t bursts;            // issued
    std::deque<AxiResp> resps;  // of each burst
  };

  // The outputs of this cycle equal the model's exactly.
  void Compare() {
    ASSERT_EQ(seen_.request_ready, model_->RequestReady() <= cycle_) << "cycle " << cycle_;
    ASSERT_TRUE(seen_.r_ready);
    ASSERT_EQ(seen_.ar_valid, model_->BurstCycle() <= cycle_) << "cycle " << cycle_;
    if (seen_.ar_valid) {
      const auto& burst = model_->burst();
      ASSERT_EQ(seen_.ar_id, burst.id) << "cycle " << cycle_;
      ASSERT_EQ(seen_.ar_address, burst.address) << "cycle " << cycle_;
      ASSERT_EQ(seen_.ar_len + 1, burst.beats) << "cycle " << cycle_;
      ASSERT_EQ(seen_.ar_bytes, burst.bytes) << "cycle " << cycle_;
      ASSERT_EQ(1u << seen_.ar_size, beat_bytes());
      ASSERT_EQ(seen_.ar_burst, 1u);  // INCR
    }
    ASSERT_EQ(seen_.train_valid, model_->TrainCycle() <= cycle_) << "cycle " << cycle_;
    if (seen_.train_valid) {
      const auto beat = model_->train_beat();
      ASSERT_EQ(seen_.train_last, beat.last) << "cycle " << cycle_;
      ASSERT_EQ(seen_.train_tag, beat.tag) << "cycle " << cycle_;
      ASSERT_EQ(seen_.train_bytes, beat.bytes) << "cycle " << cycle_;
      ASSERT_EQ(seen_.train_resp, beat.resp) << "cycle " << cycle_;
      if (beat.resp == AxiResp::kOkay) {
        ASSERT_TRUE(std::equal(beat.data.begin(), beat.data.end(), seen_.train_data.begin())) << "cycle " << cycle_;
      }
    } else {
      ASSERT_EQ(train_bytes_, 0u) << "a train has a gap in cycle " << cycle_;
    }
  }

  // The burst that is accepted continues the oldest request that is not covered, as far as the rules let it.
  void CheckBurst() {
    Flight& flight = flights_[issue_flight_];
    const auto& request = flight.request;
    const uint64_t end = request.address + request.bytes;
    const uint32_t limit = model::BurstLimit(request.max_read_request_size, beat_bytes());
    ASSERT_EQ(seen_.ar_address, flight.next);
    ASSERT_GT(seen_.ar_bytes, 0u);
    flight.next += seen_.ar_bytes;
    ASSERT_LE(flight.next, end);
    ASSERT_EQ(seen_.ar_address / limit, (flight.next - 1) / limit) << "crosses its limit";
    ASSERT_TRUE(flight.next == end || flight.next % limit == 0) << "ends early";
    ASSERT_EQ((seen_.ar_address % beat_bytes() + seen_.ar_bytes + beat_bytes() - 1) / beat_bytes(), seen_.ar_len + 1);
    flight.resps.push_back(AxiResp::kOkay);
    resp_of_id_[seen_.ar_id] = &flight.resps.back();
    if (flight.next == end) ++issue_flight_;
  }

  // The beat that is accepted is the next one of the oldest request.
  void CheckTrainBeat() {
    const Flight& flight = flights_.front();
    const auto& request = flight.request;
    ASSERT_EQ(seen_.train_tag, request.tag);
    ASSERT_EQ(seen_.train_bytes, request.bytes);
    AxiResp resp = AxiResp::kOkay;  // the first error by address
    for (size_t i = flight.resps.size(); i-- > 0;) {
      if (flight.resps[i] != AxiResp::kOkay) resp = flight.resps[i];
    }
    ASSERT_EQ(seen_.train_resp, resp);
    const uint32_t size = std::min(beat_bytes(), request.bytes - train_bytes_);
    for (uint32_t i = 0; i < beat_bytes() && resp == AxiResp::kOkay; ++i) {
      ASSERT_EQ(seen_.train_data[i], i < size ? MemoryByte(request.address + train_bytes_ + i) : 0)
          << "byte " << train_bytes_ + i << " of " << request.bytes << " from " << std::hex << request.address;
    }
    train_bytes_ += size;
    ASSERT_EQ(seen_.train_last, train_bytes_ == request.bytes);
    if (!seen_.train_last) return;
    ++resps_[static_cast<size_t>(resp)];
    train_bytes_ = 0;
    flights_.pop_front();
    --issue_flight_;
  }

  Random random_;
  std::unique_ptr<DmaReaderRtl> rtl_;
  const DmaReader::Config config_;
  std::unique_ptr<DmaReader> model_;
  Traffic traffic_;
  AxiReadMemory memory_;
  DmaReaderOutputs seen_{};
  std::deque<DmaReader::Request> waiting_;  // not accepted
  bool offered_ = false;                    // the first of them
  std::deque<Flight> flights_;              // accepted, train not complete
  size_t issue_flight_ = 0;                 // whose bursts are issued now
  std::map<uint32_t, AxiResp*> resp_of_id_;
  uint32_t train_bytes_ = 0;  // of the current train, accepted so far
  std::vector<uint64_t> resps_ = std::vector<uint64_t>(4);
  size_t most_outstanding_ = 0;
  Cycle cycle_ = 0;
};

std::string TestName() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

// --- Random traffic --------------------------------------------------------------------------------------------------

const Traffic kTraffics[] = {
    {.name = "Smooth"},
    {.name = "Late", .memory = {.min_latency = 100, .max_latency = 300, .out_of_order = true}},
    {.name = "Mixed", .memory = {.min_latency = 2, .max_latency = 60, .out_of_order = true, .interleave = true}},
    {.name = "Stalls",
     .request = 8,
     .burst = 8,
     .train = 8,
     .memory = {.min_latency = 1, .max_latency = 40, .stall = 8, .out_of_order = true, .interleave = true}},
    {.name = "SlowMemory", .memory = {.min_latency = 1, .max_latency = 9, .stall = 13, .interleave = true}},
    {.name = "SlowBus", .burst = 2, .memory = {.min_latency = 1, .max_latency = 9, .out_of_order = true}},
    {.name = "SlowClient", .train = 3, .memory = {.min_latency = 1, .max_latency = 30, .interleave = true}},
    {.name = "Idle", .request = 1, .train = 12, .memory = {.min_latency = 1, .max_latency = 9}},
    {.name = "Faulty",
     .request = 12,
     .train = 12,
     .memory = {.min_latency = 1, .max_latency = 50, .out_of_order = true, .interleave = true, .faulty = 30}},
};

class DmaReaderRandomTest : public testing::TestWithParam<std::tuple<unsigned, Traffic>> {
 protected:
  Bench bench_{std::get<0>(GetParam()), std::get<1>(GetParam()), "DmaReaderRandomTest." + TestName()};
};

INSTANTIATE_TEST_SUITE_P(Rtl, DmaReaderRandomTest,
                         testing::Combine(testing::Values(64u, 512u), testing::ValuesIn(kTraffics)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

TEST_P(DmaReaderRandomTest, MatchesModelInEveryCycle) {
  for (int i = 0; i < 1500; ++i) bench_.AskAny();
  bench_.Drain();
  EXPECT_GT(bench_.resps()[0], 0u);
  if (bench_.traffic().memory.faulty > 0) {
    for (const auto resp : bench_.resps()) EXPECT_GT(resp, 50u);
  }
}

// Each stall reason occurs somewhere: one that is not reached is not tested.
TEST_P(DmaReaderRandomTest, ReachesEveryStallReason) {
  const std::string name = bench_.traffic().name;
  for (int i = 0; i < 500; ++i) bench_.AskAny();
  bench_.Drain();
  const auto& waits = bench_.model().waits();
  if (name == "SlowBus") {
    EXPECT_GT(waits.bus, 10u);
  }
  if (name == "SlowClient" || name == "SlowMemory") {
    EXPECT_GT(waits.buffer, 10u);
  }
  if (name == "Late" && bench_.config().tags < 64) {
    EXPECT_GT(waits.tag, 10u);
  }
}

TEST_P(DmaReaderRandomTest, ResetClearsAllState) {
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 40; ++k) bench_.AskAny();
    bench_.Run(bench_.random()() % 600);
    bench_.Reset();
    bench_.AskAny();
    bench_.Drain();
    bench_.Reset();
  }
}

// --- Rules, directed -------------------------------------------------------------------------------------------------

// Fed by beats or by bytes, a reader returns the same train in the same cycle, also for a burst that ends early.
TEST(DmaReaderModel, TakesBytesAndEndsAsItTakesBeats) {
  auto random = sim::MakeRandom("dma_reader_bytes");
  DmaReader::Config config;
  const uint32_t beat_bytes = config.data_bits / 8;
  DmaReader beats(config), bytes(config);
  for (Cycle cycle = 10; cycle < 200'000; cycle += 1000) {
    const DmaReader::Request request{.address = 0x10000 + random() % 300,
                                     .bytes = 1 + static_cast<uint32_t>(random() % 900),
                                     .tag = 7,
                                     .max_read_request_size = spec::PcieSize::kBytes256};
    for (DmaReader* reader : {&beats, &bytes}) reader->OnRequest(cycle, request);
    Cycle bus = cycle + 100;
    while (beats.BurstCycle() != kUnknown) {
      const Cycle taken = std::max(bus, beats.BurstCycle());
      const DmaReader::Burst burst = beats.burst();
      for (DmaReader* reader : {&beats, &bytes}) reader->OnBurstTaken(taken);
      const uint64_t end = burst.address + burst.bytes;
      // The end of its data: at the end, or after any byte, with an error for the missing beats.
      const uint64_t sent = random() % 3 == 0 ? burst.address + random() % burst.bytes : end;
      bus = taken + 5;
      for (uint64_t at = burst.address; at < end; ++bus) {
        const uint64_t next = std::min(end, (at / beat_bytes + 1) * beat_bytes);
        std::vector<uint8_t> beat(beat_bytes);
        const bool is_there = next <= sent;
        for (uint64_t i = at; i < next && is_there; ++i) beat[i % beat_bytes] = static_cast<uint8_t>(i * 7 + 1);
        beats.OnReadBeat(bus, burst.id, beat, is_there ? AxiResp::kOkay : AxiResp::kSlverr, next == end);
        at = next;
      }
      for (uint64_t at = burst.address; at < sent;) {
        std::vector<uint8_t> part(1 + random() % (sent - at));
        for (uint8_t& byte : part) byte = static_cast<uint8_t>(at++ * 7 + 1);
        bytes.OnReadData(burst.id, part);
      }
      bytes.OnReadEnd(bus - 1, burst.id, sent == end ? AxiResp::kOkay : AxiResp::kSlverr);
    }
    const Cycle first = beats.TrainCycle();
    ASSERT_EQ(bytes.TrainCycle(), first);
    ASSERT_NE(first, kUnknown);
    const DmaReader::TrainBeat expected = beats.train_beat(), got = bytes.train_beat();
    ASSERT_EQ(got.resp, expected.resp);
    // One of them is consumed beat by beat.
    std::vector<uint8_t> data;
    for (Cycle now = first;; ++now) {
      ASSERT_EQ(beats.TrainCycle(), now);
      const DmaReader::TrainBeat beat = beats.train_beat();
      data.insert(data.end(), beat.data.begin(), beat.data.end());
      const bool last = beat.last;
      beats.OnTrainBeatTaken(now);
      if (last) break;
    }
    const auto train = bytes.TakeTrain(first);
    ASSERT_TRUE(std::equal(train.begin(), train.end(), data.begin(), data.end()));
  }
}

TEST(DmaSplitModel, ComputesBurstLimits) {
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes128, 8), 128u);
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes128, 128), 128u);
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes2048, 8), 2048u);
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes4096, 8), 2048u);  // 256 beats
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes4096, 16), 4096u);
  EXPECT_EQ(model::BurstLimit(PcieSize::kBytes4096, 64), 4096u);
  EXPECT_EQ(model::BurstLimit(PcieSize{6}, 64), 128u);
  EXPECT_EQ(model::BurstLimit(PcieSize{7}, 64), 128u);
}

TEST(DmaSplitModel, CutsAtMultiplesOfTheLimit) {
  model::DmaSplit split(64);
  split.OnRequest(10, 0x1fc3, 600, PcieSize::kBytes256);
  struct Expected {
    uint64_t address;
    uint32_t bytes;
    uint32_t beats;
    bool first, last;
  };
  Cycle cycle = 12;
  for (const Expected& e : {Expected{0x1fc3, 0x3d, 1, true, false}, Expected{0x2000, 256, 4, false, false},
                            Expected{0x2100, 256, 4, false, false}, Expected{0x2200, 27, 1, false, true}}) {
    ASSERT_TRUE(split.Advance());
    EXPECT_EQ(split.BurstCycle(), cycle);
    EXPECT_EQ(split.burst().address, e.address);
    EXPECT_EQ(split.burst().bytes, e.bytes);
    EXPECT_EQ(split.burst().beats, e.beats);
    EXPECT_EQ(split.burst().first, e.first);
    EXPECT_EQ(split.burst().last, e.last);
    split.TakeBurst(cycle++);
  }
  EXPECT_FALSE(split.Advance());
}

// --- Directed --------------------------------------------------------------------------------------------------------

class DmaReaderTest : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Rtl, DmaReaderTest, testing::Values(64u, 512u));

// The documented latencies, and nothing one cycle earlier.
TEST_P(DmaReaderTest, MeetsDocumentedLatency) {
  constexpr uint64_t kMemoryLatency = 7;
  Bench bench(GetParam(),
              {.name = "Latency",
               .memory = {.min_latency = kMemoryLatency, .max_latency = kMemoryLatency},
               .max_read_request_size = PcieSize::kBytes512},
              TestName());
  const uint32_t beat = bench.beat_bytes();
  struct Case {
    uint64_t address;
    uint32_t bytes;
    uint64_t bus_beats;
    uint64_t steps_before;  // the first beat
  };
  for (const Case& c : {Case{0x1000, beat, 1, 0}, Case{0x1003, 2, 1, 0}, Case{0x1000, 2 * beat, 2, 0},
                        Case{0x1004, beat, 2, 1}, Case{0x1001, 2 * beat - 1, 2, 1}}) {
    bench.Run(50);
    bench.Ask(c.address, c.bytes);
    const Cycle request = bench.cycle();
    const Cycle burst = request + DmaReader::kBurstLatency;
    const Cycle last_beat = burst + kMemoryLatency + c.bus_beats - 1;
    const Cycle train = last_beat + DmaReader::kTrainLatency + c.steps_before;
    while (bench.unfinished() > 0 && !HasFatalFailure()) {
      bench.Step();
      const Cycle now = bench.cycle() - 1;
      ASSERT_EQ(bench.seen().ar_valid, now == burst) << now;
      ASSERT_EQ(bench.seen().train_valid, now >= train) << now;
    }
    ASSERT_EQ(bench.cycle(), train + (c.bytes + beat - 1) / beat);
  }
}

// Every alignment with sizes around one to three beats, and around a page.
TEST_P(DmaReaderTest, AlignsEveryOffsetToLaneZero) {
  Bench bench(GetParam(), {.name = "Alignment", .memory = {.min_latency = 1, .max_latency = 4, .out_of_order = true}},
              TestName());
  const uint32_t beat = bench.beat_bytes();
  for (uint32_t lane = 0; lane < beat; ++lane) {
    for (uint32_t beats = 0; beats <= 3; ++beats) {
      for (int64_t more = -2; more <= 2; ++more) {
        for (const int64_t bytes : {int64_t{beats} * beat + more, int64_t{beats} * beat + more - lane}) {
          if (bytes >= 1) bench.Ask(0x7000 + lane, static_cast<uint32_t>(bytes));
        }
      }
      bench.Ask(0x8000 - beat - lane, beats * beat + 1);
      bench.Ask(0x8000 - beats * beat + lane, 4096);
    }
  }
  bench.Drain();
}

TEST_P(DmaReaderTest, StallsWhenAllTagsAreUsed) {
  Bench bench(GetParam(),
              {.name = "Tags",
               .memory = {.min_latency = 2000, .max_latency = 2000},
               .max_read_request_size = PcieSize::kBytes128},
              TestName());
  const size_t tags = bench.config().tags;
  // More bursts than tags, without filling the buffer.
  for (size_t i = 0; i < 3 * tags; ++i) bench.Ask(64 * bench.random()(), 1);
  bench.Run(1500);
  EXPECT_EQ(bench.outstanding(), tags);
  bench.Drain();
  EXPECT_EQ(bench.most_outstanding(), tags);
  // Once per round: then tags return as fast as they are used.
  EXPECT_GE(bench.model().waits().tag, 2u);
  EXPECT_EQ(bench.model().waits().buffer, 0u);
}

TEST_P(DmaReaderTest, StallsWhenTheBufferIsFull) {
  Bench bench(GetParam(), {.name = "Buffer", .train = 0, .max_read_request_size = PcieSize::kBytes4096}, TestName());
  // Exactly the buffer, less what the output stage of the train holds; the consumer takes nothing.
  const uint32_t bytes = 2048;
  const uint32_t requests = bench.config().buffer_bytes / bytes;
  for (uint32_t i = 0; i < requests + 5; ++i) bench.Ask(bytes * uint64_t{i}, bytes);
  bench.Run(5000);
  // Beats at the output have left the buffer: less than a burst, so no further one fits.
  EXPECT_EQ(bench.unfinished(), requests + 5);
  EXPECT_EQ(bench.outstanding(), 0u);
  EXPECT_FALSE(bench.seen().ar_valid);
  bench.traffic().train = 16;
  bench.Drain();
  EXPECT_EQ(bench.model().waits().tag, 0u);
  EXPECT_GE(bench.model().waits().buffer, 5u);
}

TEST_P(DmaReaderTest, TakesTheLargestRequest) {
  Bench bench(GetParam(), {.name = "Largest", .memory = {.min_latency = 1, .max_latency = 30, .out_of_order = true}},
              TestName());
  for (uint32_t lane = 0; lane < 4; ++lane) bench.Ask(0x12345000 + 3 * lane, bench.model().max_request_bytes());
  bench.Drain();
}

// The error of the lowest address counts, in any order of arrival; the next request succeeds.
TEST_P(DmaReaderTest, ReportsTheFirstErrorByAddress) {
  Bench bench(GetParam(),
              {.name = "Errors",
               .memory = {.min_latency = 1, .max_latency = 50, .out_of_order = true, .interleave = true, .faulty = 60}},
              TestName());
  for (int i = 0; i < 600; ++i) bench.Ask(64 * bench.random()(), static_cast<uint32_t>(1 + bench.random()() % 1024));
  bench.Drain();
  for (const auto resp : bench.resps()) EXPECT_GT(resp, 20u);
}

// --- Throughput ------------------------------------------------------------------------------------------------------

// Back to back, all sides ready: bytes per cycle in the steady state.
TEST_P(DmaReaderTest, Throughput) {
  struct Case {
    uint32_t bytes;
    uint64_t offset;
  };
  for (const PcieSize size : {PcieSize::kBytes512, PcieSize::kBytes4096}) {
    for (const uint64_t latency : {100u, 200u, 300u}) {
      for (const Case& c : {Case{64, 0}, Case{64, 20}, Case{256, 0}, Case{256, 20}, Case{4096, 0}, Case{4096, 20}}) {
        Bench bench(GetParam(),
                    {.name = "Throughput",
                     .memory = {.min_latency = latency, .max_latency = latency, .out_of_order = true},
                     .max_read_request_size = size},
                    TestName());
        const uint32_t requests = 300'000 / c.bytes;
        for (uint32_t i = 0; i < requests; ++i) bench.Ask(uint64_t{i} * 8192 + c.offset, c.bytes);
        while (bench.unfinished() > requests - requests / 4) bench.Step();
        const auto begin = std::pair(bench.cycle(), bench.unfinished());
        while (bench.unfinished() > requests / 4) bench.Step();
        ASSERT_FALSE(HasFatalFailure());
        const double rate = static_cast<double>((begin.second - bench.unfinished()) * c.bytes) /
                            static_cast<double>(bench.cycle() - begin.first);
        std::printf(
            "%4u bits, %4u tags, %5u bytes of buffer, bursts of %4u: %4u bytes at offset %2u, latency %3u: %5.2f bytes "
            "per cycle\n",
            GetParam(), bench.config().tags, bench.config().buffer_bytes, model::BurstLimit(size, bench.beat_bytes()),
            c.bytes, static_cast<unsigned>(c.offset), static_cast<unsigned>(latency), rate);
        // 100 Gb/s at 250 MHz.
        if (GetParam() == 512 && c.offset == 0) {
          EXPECT_GE(rate, 50.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
