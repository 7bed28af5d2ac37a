// SPDX-License-Identifier: Apache-2.0
// The scatter block: what reaches the write port is what the places say, and RTL and model agree in every cycle.
#include "model/rdma/rx_scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vrx_scatter_512.h"
#include "Vrx_scatter_64.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/harness/seed.h"
#include "verif/rdma/reception_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::RxScatter;
using model::WriteBeat;

// The receive buffer as the block sees it: frames, each of them the oldest some time after the one before was freed.
template <typename Top>
class Store final : public BenchStream, public model::FrameStore {
 public:
  Store(Top& ports, std::mt19937_64& random) : p_(ports), random_(random) { p_.oldest_valid_i = 0; }

  bool HasOldest(Cycle now) const override { return !frames_.empty() && visible_ <= now; }
  std::span<const uint8_t> oldest() const override { return frames_.front(); }
  void Free(Cycle now) override {
    EXPECT_TRUE(HasOldest(now));
    freed_ = now;
    frames_.pop_front();
    Show(now + 1);
  }

  void Add(Cycle now, Bytes frame) {
    frames_.push_back(std::move(frame));
    if (frames_.size() == 1) Show(freed_ ? std::max(now, *freed_ + 1) : now);
  }

  void Begin(Cycle cycle) override {
    p_.oldest_valid_i = HasOldest(cycle);
    // A read's beat is there in the cycle after it; the rest is noise.
    std::copy(beat_.begin(), beat_.end(), BytesOf(p_.oldest_data_i).begin());
    Scramble(beat_);
    if (!p_.oldest_read_o) return;
    if (!HasOldest(cycle)) {
      difference = "reads a frame that is not there";
      return;
    }
    const Bytes& frame = frames_.front();
    const size_t from = p_.oldest_beat_o * beat_.size();
    for (size_t i = 0; i < beat_.size() && from + i < frame.size(); ++i) beat_[i] = frame[from + i];
    if (from >= frame.size()) difference = "reads behind the end of the frame";
  }
  void End(Cycle cycle) override {
    if ((p_.oldest_free_o != 0) != (freed_ == cycle)) difference = "free: cycle " + std::to_string(cycle);
  }
  bool IsEmpty() const override { return true; }
  size_t size() const { return frames_.size(); }

  unsigned late = 0;  // at most so many cycles between two frames

 private:
  void Show(Cycle from) {
    visible_ = from + (late != 0 ? random_() % (late + 1) : 0);
    if (!frames_.empty()) reader_->WakeAt(visible_);
  }
  void Scramble(Bytes& bytes) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random_());
  }

  Top& p_;
  std::mt19937_64& random_;
  std::deque<Bytes> frames_;
  Cycle visible_ = 0;
  std::optional<Cycle> freed_;
  Bytes beat_ = Bytes(sizeof(Top::oldest_data_i));
};

template <typename Top>
class Idle final : public BenchStream {
 public:
  Idle(const Top& ports, const RxScatter& model) : p_(ports), model_(model) {}
  void Begin(Cycle cycle) override {
    if ((p_.idle_o != 0) != idle_) difference = "idle: cycle " + std::to_string(cycle);
  }
  void End(Cycle) override { idle_ = model_.IsIdle(); }
  bool IsEmpty() const override { return true; }

 private:
  const Top& p_;
  const RxScatter& model_;
  bool idle_ = true;
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::oldest_data_i);

  static std::shared_ptr<RtlTop<Top>> MakeRtl() {
    return std::make_shared<RtlTop<Top>>([](const Top& top, std::vector<uint8_t>& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.place_ready_o);
      add(top.oldest_read_o);
      add(top.oldest_beat_o);
      add(top.oldest_free_o);
      add(top.write_valid_o);
      add(top.write_request_o);
      add(top.write_data_o);
      add(top.write_last_o);
      add(top.answer_valid_o);
      add(top.answer_o);
      add(top.idle_o);
    });
  }

  // `again`: a simulation that is under way, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Top>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) rtl.Reset();
    block.write_out.Connect(beats, block);
    block.answer_out.Connect(answers, block);
    bench.AddOther(store);
    bench.AddOther(port);
    bench.AddOther(idle);
    // Answers come in order, none before its data.
    answer.on_token = [this](Cycle, const spec::TxPacket& packet) {
      while (!expected.empty() && !expected.front().place.has_answer) Settle();
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(packet, expected.front().place.answer);
      Settle();
    };
  }

  struct Expected {
    spec::RxPlace place;
    Bytes frame;
  };
  void Settle() {
    const auto& place = expected.front().place;
    needed += place.bytes0 == 0 ? 0 : place.bytes1 == 0 ? 1 : 2;
    // Those of this cycle do not count yet, but the port's last pulse may be of this cycle.
    EXPECT_GE(port.accepted, needed);
    expected.pop_front();
  }

  void Place(const spec::RxPlace& place, size_t frame_bytes) {
    Bytes frame(frame_bytes);
    for (auto& byte : frame) byte = static_cast<uint8_t>(random());
    store.Add(bench.cycle(), frame);
    place_in.tokens.push_back(place);
    expected.push_back({place, frame});
    all.push_back({place, frame});
  }
  void RandomPlace(size_t most) {
    spec::RxPlace place;
    spec::RxPlace::Visit(place, [&](const char*, auto& field, unsigned bits) {
      const uint64_t value = random() & (~uint64_t{0} >> (64 - bits));
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    });
    place.offset = static_cast<uint8_t>(random() % 122);
    place.bytes0 = random() % 5 == 0 ? uint16_t{0} : static_cast<uint16_t>(1 + random() % most);
    place.bytes1 = place.bytes0 == 0 || random() % 2 != 0 ? uint16_t{0} : static_cast<uint16_t>(1 + random() % most);
    place.has_answer = random() % 2 != 0;
    Place(place, size_t{place.offset} + place.bytes0 + place.bytes1 + random() % 5 + 1);
  }

  // Everything that went to the port is what the places said.
  void CheckWrites() {
    size_t next = 0;
    for (const Expected& one : all) {
      const spec::RxPlace& place = one.place;
      const Bytes& frame = one.frame;
      const auto check = [&](size_t from, uint64_t address, size_t bytes) {
        ASSERT_LT(next, port.writes.size());
        const auto& write = port.writes[next++];
        EXPECT_EQ(write.request, (spec::DmaWriteRequest{address, static_cast<uint16_t>(bytes), false, 0}));
        Bytes data(frame.begin() + static_cast<ptrdiff_t>(from), frame.begin() + static_cast<ptrdiff_t>(from + bytes));
        data.resize((bytes + kBeatBytes - 1) / kBeatBytes * kBeatBytes);
        EXPECT_EQ(write.data, data);
      };
      if (place.bytes0 != 0) check(place.offset, place.address0, place.bytes0);
      if (place.bytes0 != 0 && place.bytes1 != 0)
        check(size_t{place.offset} + place.bytes0, place.address1, place.bytes1);
    }
    EXPECT_EQ(next, port.writes.size());
    EXPECT_EQ(store.size(), 0u);
    while (!expected.empty()) Settle();
  }

  std::mt19937_64 random = MakeRandom("rx_scatter");
  Agenda agenda;
  std::shared_ptr<RtlTop<Top>> owner;
  RtlTop<Top>& rtl = *owner;
  Top& p = rtl.ports();
  Store<Top> store{p, random};
  RxScatter block{agenda, 8 * kBeatBytes, store};
  Channel<WriteBeat> beats = Channel<WriteBeat>::Sink();
  Channel<spec::TxPacket> answers = Channel<spec::TxPacket>::Sink();
  BlockBench<Top> bench{rtl, agenda, random};
  WritePort<Top> port{p, block, beats, random};
  Idle<Top> idle{p, block};
  decltype(bench.In("place", block.place_in, p.place_valid_i, p.place_ready_o, p.place_i)) place_in =
      bench.In("place", block.place_in, p.place_valid_i, p.place_ready_o, p.place_i);
  decltype(bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o)) answer =
      bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o);
  std::deque<Expected> expected;
  std::vector<Expected> all;
  uint64_t needed = 0;
};

template <typename Top>
class RxScatterTest : public ::testing::Test {};
using Tops = ::testing::Types<Vrx_scatter_64, Vrx_scatter_512>;
TYPED_TEST_SUITE(RxScatterTest, Tops);

spec::RxPlace Run(size_t offset, size_t bytes) {
  spec::RxPlace place{
      .offset = static_cast<uint8_t>(offset), .address0 = 0x1000, .bytes0 = static_cast<uint16_t>(bytes)};
  place.has_answer = true;
  place.answer.psn = static_cast<uint32_t>(bytes);
  return place;
}

TYPED_TEST(RxScatterTest, EveryLaneAndLengthAroundBeats) {
  Bench<TypeParam> bench;
  const size_t beat = bench.kBeatBytes;
  for (size_t offset = 0; offset < 2 * beat; offset += beat > 8 ? 7 : 1) {
    for (const size_t bytes : {size_t{1}, beat - 1, beat, beat + 1, 2 * beat - 1, 2 * beat, 2 * beat + 1, 5 * beat}) {
      bench.Place(Run(offset, bytes), offset + bytes);
      auto two = Run(offset, bytes);
      two.address1 = 0x77000;
      two.bytes1 = static_cast<uint16_t>(1 + (bytes * 7 + offset) % (2 * beat));
      bench.Place(two, offset + bytes + two.bytes1);
    }
  }
  ASSERT_EQ(bench.bench.RunOut(100), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, PlacesOfFourKilobytes) {
  Bench<TypeParam> bench;
  for (const size_t offset : {54u, 70u, 127u, 255u}) bench.Place(Run(offset, 4096), offset + 4096);
  ASSERT_EQ(bench.bench.RunOut(20 + 4 * 4400 / bench.kBeatBytes), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, AgreesWithTheModelAtEveryRate) {
  struct Rates {
    unsigned place, write, answer, late_accept, late_frame;
  };
  for (const Rates& rates :
       {Rates{16, 16, 16, 0, 0}, Rates{16, 4, 16, 0, 0}, Rates{16, 16, 1, 0, 0}, Rates{16, 16, 16, 60, 0},
        Rates{16, 16, 16, 0, 20}, Rates{3, 16, 16, 5, 5}, Rates{9, 9, 9, 9, 9}}) {
    for (const size_t most : {40u, 600u}) {
      Bench<TypeParam> bench;
      bench.place_in.rate = rates.place;
      bench.port.rate = rates.write;
      bench.answer.rate = rates.answer;
      bench.port.late = rates.late_accept;
      bench.store.late = rates.late_frame;
      for (unsigned i = 0; i < 150; ++i) bench.RandomPlace(most);
      std::string difference;
      while (difference.empty() && !(bench.place_in.IsEmpty() && bench.block.IsIdle())) difference = bench.bench.Run(1);
      ASSERT_EQ(difference, "");
      ASSERT_EQ(bench.bench.Run(50), "");
      bench.CheckWrites();
    }
  }
}

TYPED_TEST(RxScatterTest, BeatsAndAnswersComeWhenThePageSays) {
  for (const bool lag : {false, true}) {
    Bench<TypeParam> bench;
    const size_t beat = bench.kBeatBytes;
    ASSERT_EQ(bench.bench.Run(5), "");
    bench.Place(Run(lag ? 5 : 0, 2 * beat), 3 * beat);
    const Cycle pushed = bench.bench.cycle();
    // In its slice, taken, its first step, and one more if two beats of the frame make one.
    const uint64_t latency = 1 + 1 + (lag ? 1 : 0) + RxScatter::kBeatLatency;
    ASSERT_EQ(bench.bench.Run(latency), "");
    EXPECT_TRUE(bench.port.writes.empty());
    ASSERT_EQ(bench.bench.Run(1), "");
    ASSERT_EQ(bench.port.writes.size(), 1u);
    EXPECT_EQ(bench.port.writes[0].first, pushed + latency);
    ASSERT_EQ(bench.bench.Run(1), "");
    // The second beat left in this cycle, so accepted comes in the next and the answer in the one after.
    EXPECT_EQ(bench.port.writes[0].last, pushed + latency + 1);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.answer.count, 0u);
    EXPECT_FALSE(bench.block.IsIdle());
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.answer.count, 1u);
    EXPECT_TRUE(bench.block.IsIdle());
  }
}

TYPED_TEST(RxScatterTest, AnAnswerWithoutWritesComesThreeCyclesAfterItsPlace) {
  Bench<TypeParam> bench;
  bench.Place(Run(0, 0), 60);
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.answer.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.answer.count, 1u);
}

TYPED_TEST(RxScatterTest, AnswersWaitForTheWritesBeforeThem) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  bench.Place(Run(3, 100), 200);
  bench.Place(Run(0, 0), 60);
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.answer.count, 0u);
  bench.port.hold = false;
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.answer.count, 2u);
}

TYPED_TEST(RxScatterTest, SixteenPlacesMayWaitForTheirWrites) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  for (unsigned i = 0; i < 20; ++i) bench.Place(Run(1, 1), 60);
  ASSERT_EQ(bench.bench.Run(300), "");
  EXPECT_EQ(bench.port.writes.size(), RxScatter::kPlaces);
  bench.port.hold = false;
  ASSERT_EQ(bench.bench.RunOut(300), "");
  EXPECT_EQ(bench.answer.count, 20u);
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, ABeatLeavesInEveryCycleWithinAPlace) {
  Bench<TypeParam> bench;
  const size_t beats = 4096 / bench.kBeatBytes;
  bench.Place(Run(54, 4096), 4200);
  ASSERT_EQ(bench.bench.Run(beats + 100), "");
  ASSERT_EQ(bench.port.writes.size(), 1u);
  EXPECT_EQ(bench.port.writes[0].last - bench.port.writes[0].first, beats - 1);
}

TYPED_TEST(RxScatterTest, AResetInTrafficForgetsEverything) {
  std::shared_ptr<RtlTop<TypeParam>> rtl;
  for (unsigned i = 0; i < 10; ++i) {
    Bench<TypeParam> bench(rtl);
    rtl = bench.owner;
    bench.port.rate = 5;
    for (unsigned n = 0; n < 60; ++n) bench.RandomPlace(300);
    ASSERT_EQ(bench.bench.Run(20 + bench.random() % 400), "");
  }
  Bench<TypeParam> bench(rtl);
  for (unsigned n = 0; n < 60; ++n) bench.RandomPlace(300);
  ASSERT_EQ(bench.bench.RunOut(50000 / bench.kBeatBytes), "");
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
}

}  // namespace
}  // namespace vireo::verif
