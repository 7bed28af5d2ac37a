// SPDX-License-Identifier: Apache-2.0
// The DMA writer: RTL against model, burst for burst, beat for beat and cycle for cycle, with a memory that is slow to
// accept and to answer; and both against the requests.
#include "model/dma/dma_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "verif/dma/axi_memory.h"
#include "verif/dma/dma_writer_rtl.h"

namespace vireo::verif {
namespace {

using model::AxiResp;
using model::Cycle;
using model::DmaWriter;
using spec::PcieSize;
using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

// How often the others are ready, in 16ths of all cycles, and how the memory behaves.
struct Traffic {
  const char* name;
  unsigned request = 16;
  unsigned train = 16;
  unsigned burst = 16;
  unsigned beat = 16;
  unsigned fences = 0;  // requests with after_all_b, in 16ths
  AxiPolicy memory{};
  std::optional<PcieSize> max_payload_size =
      std::nullopt;  // nothing: another one in every cycle, reserved codes included
};

// What GoogleTest prints of it.
void PrintTo(const Traffic& traffic, std::ostream* out) { *out << traffic.name; }

// Runs model and RTL side by side. A member function that finds a difference fails the test and stops.
class Bench {
 public:
  Bench(unsigned data_bits, const Traffic& traffic, const std::string& consumer)
      : random_(sim::MakeRandom(consumer)),
        rtl_(DmaWriterRtl::Make(data_bits, random_)),
        config_(DmaWriterRtl::ConfigOf(data_bits)),
        model_(std::make_unique<DmaWriter>(config_)),
        traffic_(traffic),
        memory_(traffic.memory, random_) {}

  uint32_t beat_bytes() const { return config_.data_bits / 8; }
  const DmaWriter::Config& config() const { return config_; }
  DmaWriter& model() { return *model_; }
  Random& random() { return random_; }
  Traffic& traffic() { return traffic_; }
  Cycle cycle() const { return cycle_; }
  size_t unfinished() const { return waiting_.size() + flights_.size(); }
  size_t outstanding() const { return memory_.outstanding(); }
  size_t most_outstanding() const { return most_outstanding_; }
  const DmaWriterOutputs& seen() const { return seen_; }
  const std::vector<uint64_t>& resps() const { return resps_; }  // requests by AxiResp
  uint64_t completions() const { return completions_; }
  uint64_t silent() const { return silent_; }  // requests that ended without a completion

  void Ask(uint64_t address, uint32_t bytes, bool after_all_b = false, bool notify = true) {
    waiting_.push_back({address, bytes, static_cast<uint32_t>(random_() % 256), notify, after_all_b, PcieSize{}});
    Bytes data(bytes);
    for (uint32_t i = 0; i < bytes; ++i) data[i] = MemoryByte(address + i + 0x100 * asked_);
    ++asked_;
    trains_.push_back({data, 0});
    all_data_.push_back(std::move(data));
  }

  // A generic request: any alignment, any page, sizes of every magnitude.
  void AskAny() {
    static constexpr uint32_t kSizes[] = {4, 16, 64, 256, 1024, 4096};
    uint64_t address = random_();
    // Often around the end of a page, or at the start of a beat.
    if (random_() % 4 == 0) address |= 0xfc0;
    if (random_() % 4 == 0) address &= ~uint64_t{beat_bytes() - 1};
    address &= ~uint64_t{0} >> 1;  // so that it does not run past the end
    Ask(address, static_cast<uint32_t>(1 + random_() % kSizes[random_() % std::size(kSizes)]),
        random_() % 16 < traffic_.fences, random_() % 2 == 0);
  }

  // One cycle.
  void Step() {
    seen_ = rtl_->outputs();
    Compare();
    if (testing::Test::HasFatalFailure()) return;

    DmaWriterInputs in;
    in.max_payload_size = traffic_.max_payload_size.value_or(PcieSize{static_cast<uint8_t>(random_() % 8)});
    offered_ = !waiting_.empty() && (offered_ || random_() % 16 < traffic_.request);
    if (offered_) in.request = &waiting_.front();
    train_offered_ = !trains_.empty() && (train_offered_ || random_() % 16 < traffic_.train);
    if (train_offered_) {
      const auto& train = trains_.front();
      in.train_valid = true;
      in.train_data = std::span(train.data).subspan(train.sent);
      in.train_last = in.train_data.size() <= beat_bytes();
      in.train_data = in.train_data.first(std::min<size_t>(in.train_data.size(), beat_bytes()));
    }
    in.aw_ready = random_() % 16 < traffic_.burst;
    in.w_ready = random_() % 16 < traffic_.beat;
    const auto answer = memory_.Next(cycle_);
    in.b_valid = answer.has_value();
    in.b_resp = answer.value_or(AxiResp::kOkay);

    const bool request_accepted = offered_ && seen_.request_ready;
    const bool train_accepted = train_offered_ && seen_.train_ready;
    if (request_accepted) {
      waiting_.front().max_payload_size = in.max_payload_size;
      flights_.push_back({waiting_.front(), std::move(all_data_.front()), waiting_.front().address,
                          waiting_.front().address, 0, 0, AxiResp::kOkay});
      all_data_.pop_front();
      model_->OnRequest(cycle_, waiting_.front());
    }
    if (train_accepted) model_->OnTrainBeat(cycle_, in.train_data, in.train_last);
    if (seen_.aw_valid && in.aw_ready) {
      CheckBurst();
      model_->OnBurstTaken(cycle_);
      memory_.AcceptAddress(cycle_);
      most_outstanding_ = std::max(most_outstanding_, memory_.outstanding());
    }
    if (seen_.w_valid && in.w_ready) {
      CheckBeat();
      model_->OnWriteBeatTaken(cycle_);
      if (seen_.w_last) memory_.AcceptLastBeat(cycle_);
    }
    if (answer) {
      model_->OnAnswer(cycle_, *answer);
      Answer(*answer);
    }
    rtl_->Clock(in);
    if (request_accepted) {
      waiting_.pop_front();
      offered_ = false;
    }
    if (train_accepted) {
      trains_.front().sent += in.train_data.size();
      if (in.train_last) trains_.pop_front();
      train_offered_ = false;
    }
    ++cycle_;
  }

  void Run(uint64_t cycles) {
    while (cycles-- > 0 && !testing::Test::HasFatalFailure()) Step();
  }

  // Until every request is written, and a while longer.
  void Drain() {
    const Cycle limit = cycle_ + 2'000'000;
    while (unfinished() > 0 && !testing::Test::HasFatalFailure()) {
      ASSERT_LT(cycle_, limit) << unfinished() << " requests do not end";
      Step();
    }
    Run(50);
    ASSERT_TRUE(expected_.empty()) << "a completion is missing";
  }

  // At any time; requests in flight are discarded.
  void Reset() {
    rtl_->Reset();
    model_ = std::make_unique<DmaWriter>(config_);
    memory_.Reset();
    waiting_.clear();
    all_data_.clear();
    trains_.clear();
    flights_.clear();
    expected_.clear();
    bursts_.clear();
    beat_counts_.clear();
    beats_of_burst_ = 0;
    issue_flight_ = write_flight_ = 0;
    offered_ = train_offered_ = false;
    cycle_ = 0;
  }

 private:
  struct Flight {
    DmaWriter::Request request;
    Bytes data;
    uint64_t next_burst;  // address that the next burst must have
    uint64_t next_byte;   // that must be written next
    uint64_t bursts;      // issued
    uint64_t answers;
    AxiResp resp;
  };
  struct Train {
    Bytes data;
    size_t sent;
  };
  struct Accepted {
    uint64_t address;
    uint32_t beats;
  };

  // The outputs of this cycle equal the model's exactly.
  void Compare() {
    ASSERT_EQ(seen_.request_ready, model_->RequestReady() <= cycle_) << "cycle " << cycle_;
    ASSERT_EQ(seen_.train_ready, model_->TrainReady() <= cycle_) << "cycle " << cycle_;
    ASSERT_TRUE(seen_.b_ready);
    ASSERT_EQ(seen_.aw_valid, model_->BurstCycle() <= cycle_) << "cycle " << cycle_;
    if (seen_.aw_valid) {
      const auto& burst = model_->burst();
      ASSERT_EQ(seen_.aw_address, burst.address) << "cycle " << cycle_;
      ASSERT_EQ(seen_.aw_len + 1, burst.beats) << "cycle " << cycle_;
      ASSERT_EQ(seen_.aw_bytes, burst.bytes) << "cycle " << cycle_;
      ASSERT_EQ(1u << seen_.aw_size, beat_bytes());
      ASSERT_EQ(seen_.aw_burst, 1u);  // INCR
    }
    ASSERT_EQ(seen_.w_valid, model_->WriteCycle() <= cycle_) << "cycle " << cycle_;
    if (seen_.w_valid) {
      const auto beat = model_->write_beat();
      ASSERT_EQ(seen_.w_last, beat.last) << "cycle " << cycle_;
      for (uint32_t i = 0; i < beat_bytes(); ++i) {
        const bool written = i >= beat.lane && i < beat.lane + beat.data.size();
        ASSERT_EQ(seen_.w_strobes >> i & 1, written) << "cycle " << cycle_;
        ASSERT_EQ(seen_.w_data[i], written ? beat.data[i - beat.lane] : 0) << "cycle " << cycle_;
      }
    }
    auto& completions = model_->completions();
    ASSERT_EQ(seen_.done_valid, !completions.empty() && completions.front().cycle <= cycle_) << "cycle " << cycle_;
    if (seen_.done_valid) {
      ASSERT_EQ(completions.front().cycle, cycle_);
      ASSERT_EQ(seen_.done_tag, completions.front().tag) << "cycle " << cycle_;
      ASSERT_EQ(seen_.done_resp, completions.front().resp) << "cycle " << cycle_;
      completions.pop_front();
      ASSERT_FALSE(expected_.empty());
      ASSERT_EQ(seen_.done_tag, expected_.front().first);
      ASSERT_EQ(seen_.done_resp, expected_.front().second);
      expected_.pop_front();
      ++completions_;
    }
  }

  // The burst that is accepted continues the oldest request that is not covered, as far as the rules let it.
  void CheckBurst() {
    Flight& flight = flights_[issue_flight_];
    const auto& request = flight.request;
    const uint64_t end = request.address + request.bytes;
    const uint32_t limit = model::BurstLimit(request.max_payload_size, beat_bytes());
    ASSERT_EQ(seen_.aw_address, flight.next_burst);
    ASSERT_GT(seen_.aw_bytes, 0u);
    if (request.after_all_b && flight.bursts == 0) {
      ASSERT_EQ(memory_.outstanding(), 0u);
    }
    flight.next_burst += seen_.aw_bytes;
    ++flight.bursts;
    ASSERT_LE(flight.next_burst, end);
    ASSERT_EQ(seen_.aw_address / limit, (flight.next_burst - 1) / limit) << "crosses its limit";
    ASSERT_TRUE(flight.next_burst == end || flight.next_burst % limit == 0) << "ends early";
    ASSERT_EQ((seen_.aw_address % beat_bytes() + seen_.aw_bytes + beat_bytes() - 1) / beat_bytes(), seen_.aw_len + 1);
    if (flight.next_burst == end) ++issue_flight_;
    bursts_.push_back({seen_.aw_address, seen_.aw_len + 1});
    JoinBeats();
  }

  // The beat that is accepted writes the next bytes of the oldest request that is not written.
  void CheckBeat() {
    Flight& flight = flights_[write_flight_];
    const uint64_t end = flight.request.address + flight.request.bytes;
    const uint64_t base = flight.next_byte / beat_bytes() * beat_bytes();
    ++beats_of_burst_;
    for (uint32_t i = 0; i < beat_bytes(); ++i) {
      const bool wanted = base + i >= flight.next_byte && base + i < end;
      ASSERT_EQ(seen_.w_strobes >> i & 1, wanted);
      if (wanted) {
        ASSERT_EQ(seen_.w_data[i], flight.data[base + i - flight.request.address]) << std::hex << base + i;
      }
    }
    flight.next_byte = std::min(base + beat_bytes(), end);
    if (flight.next_byte == end) ++write_flight_;
    if (seen_.w_last) {
      beat_counts_.push_back(beats_of_burst_);
      beats_of_burst_ = 0;
      JoinBeats();
    }
  }

  // Addresses and beats take separate channels; the counts must agree.
  void JoinBeats() {
    while (!bursts_.empty() && !beat_counts_.empty()) {
      ASSERT_EQ(bursts_.front().beats, beat_counts_.front());
      bursts_.pop_front();
      beat_counts_.pop_front();
    }
  }

  void Answer(AxiResp resp) {
    Flight& flight = flights_.front();
    if (flight.resp == AxiResp::kOkay) flight.resp = resp;
    ++flight.answers;
    if (flight.answers < flight.bursts || flight.next_burst != flight.request.address + flight.request.bytes) return;
    ++resps_[static_cast<size_t>(flight.resp)];
    if (flight.request.notify || flight.resp != AxiResp::kOkay) {
      expected_.emplace_back(flight.request.tag, flight.resp);
    } else {
      ++silent_;
    }
    flights_.pop_front();
    --issue_flight_;
    --write_flight_;
  }

  Random random_;
  std::unique_ptr<DmaWriterRtl> rtl_;
  const DmaWriter::Config config_;
  std::unique_ptr<DmaWriter> model_;
  Traffic traffic_;
  AxiWriteMemory memory_;
  DmaWriterOutputs seen_{};
  uint64_t asked_ = 0;
  std::deque<DmaWriter::Request> waiting_;  // not accepted
  std::deque<Bytes> all_data_;              // of those
  std::deque<Train> trains_;                // not accepted
  bool offered_ = false;
  bool train_offered_ = false;
  std::deque<Flight> flights_;  // accepted, not answered
  size_t issue_flight_ = 0;     // whose bursts are issued now
  size_t write_flight_ = 0;     // whose beats do
  std::deque<Accepted> bursts_;
  std::deque<uint32_t> beat_counts_;
  uint32_t beats_of_burst_ = 0;
  std::deque<std::pair<uint32_t, AxiResp>> expected_;  // completions
  std::vector<uint64_t> resps_ = std::vector<uint64_t>(4);
  uint64_t completions_ = 0;
  uint64_t silent_ = 0;
  size_t most_outstanding_ = 0;
  Cycle cycle_ = 0;
};

std::string TestName() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

// --- Random traffic --------------------------------------------------------------------------------------------------

const Traffic kTraffics[] = {
    {.name = "Smooth"},
    {.name = "Late", .memory = {.min_latency = 50, .max_latency = 300}},
    {.name = "Stalls",
     .request = 8,
     .train = 8,
     .burst = 8,
     .beat = 8,
     .fences = 2,
     .memory = {.min_latency = 1, .max_latency = 40, .stall = 8}},
    {.name = "SlowAddresses", .burst = 1, .memory = {.min_latency = 1, .max_latency = 5}},
    {.name = "SlowBeats", .beat = 3, .memory = {.min_latency = 1, .max_latency = 5}},
    {.name = "SlowTrains", .train = 5, .memory = {.min_latency = 1, .max_latency = 5}},
    {.name = "SlowAnswers", .memory = {.min_latency = 1, .max_latency = 3, .stall = 15}},
    {.name = "LateRequests", .request = 1, .memory = {.min_latency = 1, .max_latency = 5}},
    {.name = "Fences", .fences = 8, .memory = {.min_latency = 3, .max_latency = 30}},
    {.name = "Faulty", .beat = 12, .fences = 1, .memory = {.min_latency = 1, .max_latency = 50, .faulty = 90}},
};

class DmaWriterRandomTest : public testing::TestWithParam<std::tuple<unsigned, Traffic>> {
 protected:
  Bench bench_{std::get<0>(GetParam()), std::get<1>(GetParam()), "DmaWriterRandomTest." + TestName()};
};

INSTANTIATE_TEST_SUITE_P(Rtl, DmaWriterRandomTest,
                         testing::Combine(testing::Values(64u, 512u), testing::ValuesIn(kTraffics)),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) + std::get<1>(info.param).name;
                         });

TEST_P(DmaWriterRandomTest, MatchesModelInEveryCycle) {
  for (int i = 0; i < 1500; ++i) bench_.AskAny();
  bench_.Drain();
  EXPECT_GT(bench_.completions(), 500u);
  EXPECT_GT(bench_.silent(), 10u);
  if (bench_.traffic().memory.faulty > 0) {
    for (const auto resp : bench_.resps()) EXPECT_GT(resp, 50u);
  }
}

// Each stall reason occurs somewhere: one that is not reached is not tested.
TEST_P(DmaWriterRandomTest, ReachesEveryStallReason) {
  const std::string name = bench_.traffic().name;
  for (int i = 0; i < 500; ++i) bench_.AskAny();
  bench_.Drain();
  const auto& waits = bench_.model().waits();
  if (name == "SlowAddresses") {
    EXPECT_GT(waits.bus, 10u);
  }
  if (name == "SlowBeats") {
    EXPECT_GT(waits.beats, 10u);
  }
  if (name == "SlowTrains") {
    EXPECT_GT(waits.train, 10u);
  }
  if (name == "Fences") {
    EXPECT_GT(waits.fence, 10u);
  }
  if (name == "SlowAnswers" && bench_.config().writes < 64) {
    EXPECT_GT(waits.answers, 10u);
  }
}

TEST_P(DmaWriterRandomTest, ResetClearsAllState) {
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 40; ++k) bench_.AskAny();
    bench_.Run(bench_.random()() % 600);
    bench_.Reset();
    bench_.AskAny();
    bench_.Drain();
    bench_.Reset();
  }
}

// --- Directed --------------------------------------------------------------------------------------------------------

class DmaWriterTest : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Rtl, DmaWriterTest, testing::Values(64u, 512u));

// The documented latencies, and nothing one cycle earlier.
TEST_P(DmaWriterTest, MeetsDocumentedLatency) {
  constexpr uint64_t kMemoryLatency = 7;
  Bench bench(GetParam(),
              {.name = "Latency",
               .memory = {.min_latency = kMemoryLatency, .max_latency = kMemoryLatency},
               .max_payload_size = PcieSize::kBytes512},
              TestName());
  const uint32_t beat = bench.beat_bytes();
  struct Case {
    uint64_t address;
    uint32_t bytes;
    uint64_t train_beats;
    uint64_t bus_beats;
  };
  for (const Case& c : {Case{0x1000, beat, 1, 1}, Case{0x1003, 2, 1, 1}, Case{0x1000, 2 * beat, 2, 2},
                        Case{0x1004, beat, 1, 2}, Case{0x1000, 5 * beat, 5, 5}}) {
    bench.Run(50);
    bench.Ask(c.address, c.bytes);
    const Cycle request = bench.cycle();
    const Cycle train = request + c.train_beats - 1;
    const Cycle burst = std::max(request + DmaWriter::kBurstLatency, train + DmaWriter::kTrainLatency);
    const Cycle first_beat = burst + DmaWriter::kBeatLatency;
    const Cycle last_beat = first_beat + c.bus_beats - 1;
    const Cycle done = last_beat + kMemoryLatency + DmaWriter::kDoneLatency;
    while (bench.cycle() < done + 5 && !HasFatalFailure()) {
      bench.Step();
      const Cycle now = bench.cycle() - 1;
      ASSERT_EQ(bench.seen().aw_valid, now == burst) << now;
      ASSERT_EQ(bench.seen().w_valid, now >= first_beat && now <= last_beat) << now;
      ASSERT_EQ(bench.seen().done_valid, now == done) << now;
    }
  }
}

// Every alignment with sizes around one to three beats, and around a page.
TEST_P(DmaWriterTest, AlignsLaneZeroToEveryOffset) {
  Bench bench(GetParam(), {.name = "Alignment", .memory = {.min_latency = 1, .max_latency = 4}}, TestName());
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

TEST_P(DmaWriterTest, StallsWhenAllWritesAreUnanswered) {
  Bench bench(
      GetParam(),
      {.name = "Writes", .memory = {.min_latency = 3000, .max_latency = 3000}, .max_payload_size = PcieSize::kBytes128},
      TestName());
  const size_t writes = bench.config().writes;
  for (size_t i = 0; i < 3 * writes; ++i) bench.Ask(64 * bench.random()(), 4);
  bench.Run(2500);
  EXPECT_EQ(bench.outstanding(), writes);
  bench.Drain();
  EXPECT_EQ(bench.most_outstanding(), writes);
  EXPECT_GE(bench.model().waits().answers, 2u);
}

// Data, used entry and used index, with a host that answers late: without the fence one after the other on the bus,
// with it each only after the answer to the previous one.
TEST_P(DmaWriterTest, WaitsForAnswersOnlyWithAFence) {
  constexpr uint64_t kMemoryLatency = 100;
  for (const bool fence : {false, true}) {
    Bench bench(GetParam(),
                {.name = "Order",
                 .memory = {.min_latency = kMemoryLatency, .max_latency = kMemoryLatency},
                 .max_payload_size = PcieSize::kBytes256},
                TestName());
    bench.Ask(0x10003, 200);
    bench.Ask(0x20008, 8, fence);
    bench.Ask(0x30002, 2, fence);
    bench.Drain();
    EXPECT_EQ(bench.model().waits().fence, fence ? 2u : 0u);
    EXPECT_EQ(bench.most_outstanding(), fence ? 1u : 3u);
    EXPECT_GT(bench.cycle(), fence ? 3 * kMemoryLatency : kMemoryLatency);
    EXPECT_LT(bench.cycle(), (fence ? 3 : 1) * kMemoryLatency + 200);
  }
}

TEST_P(DmaWriterTest, ReportsAFailureWithoutNotify) {
  Bench bench(GetParam(), {.name = "Failure", .memory = {.min_latency = 1, .max_latency = 5, .faulty = 1024}},
              TestName());
  for (int i = 0; i < 20; ++i) bench.Ask(64 * bench.random()(), 200, false, false);
  bench.Drain();
  EXPECT_EQ(bench.completions(), 20u);
}

// --- A burst at once
// ---------------------------------------------------------------------------------------------------

// Taking all beats of a burst at once equals taking them one by one, in the same cycles.
TEST(DmaWriterModelTest, WholeBurstEqualsItsBeatsOneByOne) {
  auto random = sim::MakeRandom("burst at once");
  model::DmaWriter one({.data_bits = 512, .writes = 4, .buffer_bytes = 8192});
  model::DmaWriter whole = one;
  constexpr uint32_t kBeatBytes = 64;
  Cycle cycle = 10;
  size_t bursts = 0;
  for (uint32_t request = 0; request < 200; ++request) {
    const auto bytes = static_cast<uint32_t>(1 + random() % DmaWriter::kMaxRequestBytes);
    Bytes data(bytes);
    std::ranges::generate(data, [&] { return static_cast<uint8_t>(random()); });
    const uint64_t address = random() % 8192;
    for (DmaWriter* writer : {&one, &whole}) {
      Cycle at = cycle;
      ASSERT_LE(writer->RequestReady(), at);
      writer->OnRequest(at, {.address = address,
                             .bytes = bytes,
                             .tag = request,
                             .notify = true,
                             .after_all_b = request % 5 == 0,
                             .max_payload_size = PcieSize::kBytes256});
      for (uint32_t done = 0; done < bytes; done += kBeatBytes, ++at) {
        at = std::max(at, writer->TrainReady());
        ASSERT_NE(at, model::kUnknown);
        const uint32_t size = std::min(kBeatBytes, bytes - done);
        writer->OnTrainBeat(at, std::span(data).subspan(done, size), done + size == bytes);
      }
    }
    Bytes written;
    while (written.size() < bytes) {
      ASSERT_NE(one.BurstCycle(), model::kUnknown);
      ASSERT_EQ(one.BurstCycle(), whole.BurstCycle());
      cycle = one.BurstCycle() + random() % 3;
      one.OnBurstTaken(cycle);
      whole.OnBurstTaken(cycle);
      const Cycle from = cycle + 1 + random() % 4;
      const auto at_once = whole.burst_data();
      const size_t before = written.size();
      Cycle last_beat = 0;
      for (bool last = false; !last;) {
        const DmaWriter::WriteBeat beat = one.write_beat();
        written.insert(written.end(), beat.data.begin(), beat.data.end());
        last = beat.last;
        last_beat = std::max(one.WriteCycle(), from);
        one.OnWriteBeatTaken(last_beat);
      }
      ASSERT_TRUE(
          std::equal(at_once.begin(), at_once.end(), written.begin() + static_cast<ptrdiff_t>(before), written.end()));
      ASSERT_EQ(whole.TakeBurstData(from), last_beat);
      ASSERT_EQ(one.WriteCycle(), whole.WriteCycle());
      ++bursts;
      cycle = last_beat + 1 + random() % 20;
      one.OnAnswer(cycle, AxiResp::kOkay);
      whole.OnAnswer(cycle, AxiResp::kOkay);
    }
    ASSERT_EQ(written, data);
    ASSERT_EQ(one.completions().back().cycle, whole.completions().back().cycle);
    cycle += 200;
  }
  EXPECT_GT(bursts, 1000u);
}

// --- Throughput ------------------------------------------------------------------------------------------------------

// Back to back, all sides ready: bytes per cycle in the steady state.
TEST_P(DmaWriterTest, Throughput) {
  for (const PcieSize size : {PcieSize::kBytes256, PcieSize::kBytes512}) {
    for (const uint64_t latency : {100u, 300u}) {
      for (const uint32_t bytes : {64u, 256u, 4096u}) {
        for (const uint32_t offset : {0u, 20u}) {
          Bench bench(GetParam(),
                      {.name = "Throughput",
                       .memory = {.min_latency = latency, .max_latency = latency},
                       .max_payload_size = size},
                      TestName());
          const uint32_t requests = 300'000 / bytes;
          for (uint32_t i = 0; i < requests; ++i) bench.Ask(uint64_t{i} * 8192 + offset, bytes);
          while (bench.unfinished() > requests - requests / 4) bench.Step();
          const auto begin = std::pair(bench.cycle(), bench.unfinished());
          while (bench.unfinished() > requests / 4) bench.Step();
          ASSERT_FALSE(HasFatalFailure());
          const double rate = static_cast<double>((begin.second - bench.unfinished()) * bytes) /
                              static_cast<double>(bench.cycle() - begin.first);
          std::printf(
              "%4u bits, %3u writes, bursts of %3u: %4u bytes at offset %2u, latency %3u: %5.2f bytes per cycle\n",
              GetParam(), bench.config().writes, model::BurstLimit(size, bench.beat_bytes()), bytes, offset,
              static_cast<unsigned>(latency), rate);
          // 100 Gb/s at 250 MHz.
          if (GetParam() == 512 && offset == 0) {
            EXPECT_GE(rate, 50.0);
          }
        }
      }
    }
  }
}

// The model's user knows that a write was refused after it has reported the answer ahead.
TEST(DmaWriterModel, AmendedAnswerCountsAsOneReportedSo) {
  constexpr unsigned kBursts = 3;
  for (unsigned refused = 0; refused < 1U << 2 * kBursts; ++refused) {
    std::array<DmaWriter, 2> writers = {DmaWriter({}), DmaWriter({})};
    for (DmaWriter& writer : writers) {
      const bool amends = &writer == &writers[1];
      Cycle cycle = 1;
      for (uint32_t tag = 0; tag < 2; ++tag) {
        writer.OnRequest(cycle, {.address = 0x1000,
                                 .bytes = kBursts * 128,
                                 .tag = tag,
                                 .notify = true,
                                 .after_all_b = false,
                                 .max_payload_size = PcieSize::kBytes128});
        writer.OnTrain(cycle, Bytes(kBursts * 128));
        cycle += 20;
      }
      for (unsigned burst = 0; burst < 2 * kBursts; ++burst) {
        ASSERT_TRUE(writer.has_burst());
        cycle = std::max(cycle, writer.BurstCycle());
        writer.OnBurstTaken(cycle);
        cycle = writer.TakeBurstData(cycle + 1) + 1;
        const AxiResp resp = (refused >> burst & 1) != 0 ? AxiResp::kSlverr : AxiResp::kOkay;
        writer.OnAnswer(cycle, amends ? AxiResp::kOkay : resp);
        if (amends && resp != AxiResp::kOkay) writer.AmendAnswer(resp);
      }
    }
    ASSERT_EQ(writers[0].completions().size(), 2u);
    ASSERT_EQ(writers[1].completions().size(), 2u);
    for (; !writers[0].completions().empty();
         writers[0].completions().pop_front(), writers[1].completions().pop_front()) {
      const auto& direct = writers[0].completions().front();
      const auto& amended = writers[1].completions().front();
      EXPECT_EQ(amended.cycle, direct.cycle);
      EXPECT_EQ(amended.tag, direct.tag);
      EXPECT_EQ(amended.resp, direct.resp) << refused;
      EXPECT_EQ(direct.resp == AxiResp::kOkay, (refused >> kBursts * direct.tag & ((1U << kBursts) - 1)) == 0);
    }
  }
}

}  // namespace
}  // namespace vireo::verif
