// SPDX-License-Identifier: Apache-2.0
// The receive buffer: frames come out unchanged, drops are reported, and RTL and model agree in every cycle.
#include "model/rdma/rx_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vrx_buffer_512.h"
#include "Vrx_buffer_64.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/rdma/frames.h"
#include "verif/rdma/reception_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::RxBuffer;
using model::RxParser;
using model::RxToken;
using spec::RxVerdict;

// As in verif/rdma/CMakeLists.txt.
template <typename Top>
RxBuffer::Sizes SizesOf() {
  constexpr bool kWide = std::is_same_v<Top, Vrx_buffer_512>;
  return {.data_bits = kWide ? 512 : 64,
          .buffer_bytes = kWide ? 8192 : 4096,
          .max_frame_bytes = 1500,
          .bytes_per_frame = 512};
}

const std::vector<Bytes>& Golden() {
  static const std::vector<Bytes> frames = [] {
    auto all = GoldenFrames(VIREO_VECTORS_DIR);
    std::erase_if(all, [](const Bytes& frame) { return frame.size() > 1500; });
    return all;
  }();
  return frames;
}

// Reads the frames whose tokens have come, in any order of beats, and frees them.
template <typename Top>
class Reader final : public BenchStream {
 public:
  static constexpr size_t kBeatBytes = sizeof(Top::oldest_data_o);

  Reader(Top& ports, RxBuffer& model, std::mt19937_64& random) : p_(ports), model_(model), random_(random) {
    p_.oldest_read_i = 0;
    p_.oldest_free_i = 0;
  }

  void Begin(Cycle cycle) override {
    const bool here = p_.oldest_valid_o != 0;
    if (here != model_.HasOldest(cycle)) difference = "oldest: cycle " + std::to_string(cycle);
    if (!expected_.empty()) {
      const auto data = BytesOf(p_.oldest_data_o);
      if (!std::equal(expected_.begin(), expected_.end(), data.begin())) {
        difference = "beat: cycle " + std::to_string(cycle) + ": not what was sent";
      }
      expected_.clear();
    }
    p_.oldest_read_i = 0;
    p_.oldest_free_i = 0;
    Scramble(p_.oldest_beat_i, random_, 8);
    if (!here || frames.empty() || random_() % 16 >= rate) return;
    const Bytes& frame = frames.front();
    const size_t beats = (frame.size() + kBeatBytes - 1) / kBeatBytes;
    const size_t beat = in_order ? read_ : random_() % beats;
    p_.oldest_read_i = 1;
    p_.oldest_beat_i = static_cast<std::remove_reference_t<decltype(p_.oldest_beat_i)>>(beat);
    const auto from = frame.begin() + static_cast<ptrdiff_t>(beat * kBeatBytes);
    expected_.assign(from, from + std::min(static_cast<ptrdiff_t>(kBeatBytes), frame.end() - from));
    ++read_;
    if (!(in_order ? read_ == beats : random_() % 4 == 0)) return;
    p_.oldest_free_i = 1;
    freed_at = cycle;
    model_.Free(cycle);
    frames.pop_front();
    read_ = 0;
    ++freed;
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return frames.empty() && expected_.empty(); }

  std::deque<Bytes> frames;
  unsigned rate = 16;
  bool in_order = true;  // every beat once; else some, in any order
  uint64_t freed = 0;
  Cycle freed_at = 0;

 private:
  Top& p_;
  RxBuffer& model_;
  std::mt19937_64& random_;
  Bytes expected_;
  size_t read_ = 0;
};

template <typename Top>
class Idle final : public BenchStream {
 public:
  Idle(const Top& ports, const RxBuffer& model) : p_(ports), model_(model) {}
  void Begin(Cycle cycle) override {
    if ((p_.idle_o != 0) != idle_) difference = "idle: cycle " + std::to_string(cycle);
  }
  void End(Cycle) override { idle_ = model_.IsIdle(); }
  bool IsEmpty() const override { return true; }

 private:
  const Top& p_;
  const RxBuffer& model_;
  bool idle_ = true;
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::s_axis_tdata_i);

  static std::shared_ptr<RtlTop<Top>> MakeRtl() {
    return std::make_shared<RtlTop<Top>>([](const Top& top, std::vector<uint8_t>& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.s_axis_tready_o);
      add(top.rx_drop_o);
      add(top.rx_verdict_valid_o);
      add(top.rx_verdict_o);
      add(top.frame_valid_o);
      add(top.frame_o);
      add(top.oldest_valid_o);
      add(top.oldest_data_o);
      add(top.idle_o);
    });
  }

  // `again`: a running simulation, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Top>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) rtl.Reset();
    block.frame_out.Connect(tokens, block);
    bench.AddOther(reader);
    bench.AddOther(wire);
    bench.AddOther(idle);
    frame.on_token = [this](Cycle, const RxToken& token) {
      // The next good frame that was kept.
      while (next < wire.sent.size() && !IsGood(wire.sent[next])) ++next;
      ASSERT_LT(next, wire.sent.size());
      const auto& sent = wire.sent[next++];
      EXPECT_EQ(TokenBytes(token), TokenBytes(RxParser::Parse(sent.bytes, sent.mac_error, sent.roce)));
      reader.frames.push_back(sent.bytes);
    };
  }
  static RxVerdict VerdictOf(const typename WireIn<Top>::Frame& frame) {
    if (frame.bytes.size() > SizesOf<Top>().max_frame_bytes) return RxVerdict::kTruncated;
    return RxParser::Parse(frame.bytes, frame.mac_error, frame.roce).verdict;
  }
  static bool IsGood(const typename WireIn<Top>::Frame& frame) {
    if (!frame.enabled || frame.dropped) return false;
    const auto verdict = VerdictOf(frame);
    return verdict == RxVerdict::kRoce || verdict == RxVerdict::kNet;
  }

  void Send(Bytes bytes, bool mac_error = false) { wire.frames.push_back({std::move(bytes), mac_error}); }
  void SendNet(size_t bytes) {
    Bytes frame(bytes);
    for (auto& byte : frame) byte = static_cast<uint8_t>(random());
    if (bytes > 13) frame[12] = 0x88;  // not IP
    Send(std::move(frame));
  }
  void RandomFrame() {
    switch (random() % 8) {
      case 0: return SendNet(1 + random() % 1500);
      case 1: return SendNet(1 + random() % 70);
      case 2:
        if (random() % 8 == 0) return SendNet(1501 + random() % 1500);
        [[fallthrough]];
      default: {
        Bytes frame = Golden()[random() % Golden().size()];
        const bool bad = random() % 8 == 0;
        if (bad) frame[random() % frame.size()] ^= static_cast<uint8_t>(1u << random() % 8);
        return Send(std::move(frame), random() % 16 == 0);
      }
    }
  }
  // Until everything has left.
  std::string RunOut() {
    std::string difference = bench.RunOut(30);
    while (difference.empty() && !block.IsIdle()) difference = bench.Run(1);
    return difference.empty() ? bench.Run(30) : difference;
  }
  void CheckAll() {
    std::vector<RxVerdict> expected;
    uint64_t good = 0;
    for (const auto& sent : wire.sent) {
      if (sent.enabled && !sent.dropped) expected.push_back(VerdictOf(sent));
      good += IsGood(sent);
    }
    EXPECT_EQ(wire.verdicts, expected);
    EXPECT_EQ(frame.count, good);
    EXPECT_EQ(reader.freed, good);
  }
  uint64_t Dropped() const {
    return static_cast<uint64_t>(
        std::count_if(wire.sent.begin(), wire.sent.end(), [](const auto& sent) { return sent.dropped; }));
  }

  std::mt19937_64 random = sim::MakeRandom("rx_buffer");
  Agenda agenda;
  RxBuffer block{agenda, SizesOf<Top>()};
  Channel<RxToken> tokens = Channel<RxToken>::Sink();
  std::shared_ptr<RtlTop<Top>> owner;
  RtlTop<Top>& rtl = *owner;
  Top& p = rtl.ports();
  BlockBench<Top> bench{rtl, agenda, random};
  WireIn<Top> wire{p, block, random};
  Reader<Top> reader{p, block, random};
  Idle<Top> idle{p, block};
  decltype(bench.Out("frame", tokens, p.frame_valid_o, p.frame_ready_i, p.frame_o)) frame =
      bench.Out("frame", tokens, p.frame_valid_o, p.frame_ready_i, p.frame_o);
  size_t next = 0;  // index in the sent frames
};

template <typename Top>
class RxBufferTest : public ::testing::Test {};
using Tops = ::testing::Types<Vrx_buffer_64, Vrx_buffer_512>;
TYPED_TEST_SUITE(RxBufferTest, Tops);

TYPED_TEST(RxBufferTest, LinuxFramesComeOutWhole) {
  Bench<TypeParam> bench;
  // One at a time, so that there is room for each.
  for (size_t i = 0; i < Golden().size(); i += 7) {
    bench.Send(Golden()[i]);
    ASSERT_EQ(bench.RunOut(), "");
  }
  bench.CheckAll();
  EXPECT_EQ(bench.Dropped(), 0u);
  for (const auto verdict : bench.wire.verdicts) EXPECT_EQ(verdict, RxVerdict::kRoce);
}

TYPED_TEST(RxBufferTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned wire, token, read, enable;
  };
  bool drops = false, none = false;
  for (const Rates& rates : {Rates{16, 16, 16, 16}, Rates{1, 16, 16, 16}, Rates{16, 16, 4, 16}, Rates{16, 1, 16, 16},
                             Rates{4, 3, 9, 15}, Rates{2, 16, 10, 8}}) {
    for (const bool in_order : {false, true}) {
      Bench<TypeParam> bench;
      bench.wire.rate = rates.wire;
      bench.wire.enable_rate = rates.enable;
      bench.wire.roce_rate = in_order ? 16 : 12;
      bench.frame.rate = rates.token;
      bench.reader.rate = rates.read;
      bench.reader.in_order = in_order;
      for (unsigned i = 0; i < 400; ++i) bench.RandomFrame();
      ASSERT_EQ(bench.RunOut(), "");
      bench.CheckAll();
      (bench.Dropped() != 0 ? drops : none) = true;
    }
  }
  EXPECT_TRUE(drops);
}

TYPED_TEST(RxBufferTest, TokenAndFrameComeEightCyclesAfterTheLastBeat) {
  for (const size_t bytes : {60u, 1500u}) {
    Bench<TypeParam> bench;
    bench.SendNet(bytes);
    bench.reader.rate = 0;
    const size_t beats = (bytes + bench.kBeatBytes - 1) / bench.kBeatBytes;
    constexpr uint64_t kLatency = RxParser::kLatency + model::FifoTiming::kFifoLatency;
    static_assert(kLatency == 8);
    // A port that is read between two cycles has the value of the next one.
    ASSERT_EQ(bench.bench.Run(beats - 1 + kLatency - 1), "");
    EXPECT_EQ(bench.p.frame_valid_o, 0);
    EXPECT_EQ(bench.p.oldest_valid_o, 0);
    EXPECT_EQ(bench.wire.verdicts.size(), 1u);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_NE(bench.p.oldest_valid_o, 0);
    EXPECT_EQ(bench.frame.count, 0u);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.frame.count, 1u);
  }
}

TYPED_TEST(RxBufferTest, ReservesRoomForTheLongestFrame) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  const size_t beats = sizes.buffer_bytes / bench.kBeatBytes;
  const size_t most = (sizes.max_frame_bytes + bench.kBeatBytes - 1) / bench.kBeatBytes;
  bench.reader.rate = 0;
  // As many of the largest as fit, then frames of one beat until the largest would not fit any more.
  const size_t large = beats / most;
  for (size_t i = 0; i < large; ++i) bench.SendNet(sizes.max_frame_bytes);
  bench.SendNet(bench.kBeatBytes);
  ASSERT_EQ(bench.bench.Run(large * most + 20), "");
  EXPECT_EQ(bench.Dropped(), 1u);
  EXPECT_EQ(bench.frame.count, large);

  // Freed in cycle t: a frame that starts in t is dropped, one that starts in t + 1 is not.
  bench.SendNet(2 * bench.kBeatBytes);
  bench.reader.rate = 16;
  const Cycle before = bench.bench.cycle();
  ASSERT_EQ(bench.bench.Run(most - 1), "");
  EXPECT_EQ(bench.reader.freed, 0u);
  bench.wire.rate = 16;
  bench.SendNet(bench.kBeatBytes);  // starts in the cycle of the free
  bench.SendNet(bench.kBeatBytes);
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.reader.freed_at, before + most - 1);
  ASSERT_EQ(bench.wire.sent.size(), large + 4);
  EXPECT_EQ(bench.wire.sent[large + 2].start, bench.reader.freed_at);
  EXPECT_TRUE(bench.wire.sent[large + 2].dropped);
  EXPECT_FALSE(bench.wire.sent[large + 3].dropped);
  ASSERT_EQ(bench.RunOut(), "");
  bench.CheckAll();
}

TYPED_TEST(RxBufferTest, FrameCountIsLimited) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  const size_t frames = sizes.buffer_bytes / sizes.bytes_per_frame;
  bench.reader.rate = 0;
  bench.frame.rate = 0;
  for (size_t i = 0; i < frames + 3; ++i) bench.SendNet(5);
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.Dropped(), 3u);
  EXPECT_EQ(bench.wire.verdicts.size(), frames);
  bench.reader.rate = bench.frame.rate = 16;
  ASSERT_EQ(bench.RunOut(), "");
  bench.CheckAll();
}

TYPED_TEST(RxBufferTest, OversizedFramesAreTruncatedAndTakeNoMoreRoom) {
  const auto sizes = SizesOf<TypeParam>();
  Bench<TypeParam> bench;
  for (const size_t bytes : {sizes.max_frame_bytes, sizes.max_frame_bytes + 1, 2 * sizes.max_frame_bytes,
                             20 * sizes.max_frame_bytes, sizes.max_frame_bytes}) {
    bench.SendNet(bytes);
    ASSERT_EQ(bench.RunOut(), "");
  }
  using V = RxVerdict;
  EXPECT_EQ(bench.wire.verdicts, (std::vector<V>{V::kNet, V::kTruncated, V::kTruncated, V::kTruncated, V::kNet}));
  bench.CheckAll();
}

TYPED_TEST(RxBufferTest, BadFramesAreReportedAndDropped) {
  Bench<TypeParam> bench;
  Bytes icrc = Golden().front();
  icrc.back() ^= 1;
  Bytes cut = Golden().front();
  cut.resize(50);
  const auto send = [&](const Bytes& frame, bool mac_error) {
    bench.Send(frame, mac_error);
    ASSERT_EQ(bench.RunOut(), "");
  };
  send(icrc, false);
  send(Golden().front(), true);
  send(cut, false);
  send(Golden().front(), false);
  using V = RxVerdict;
  EXPECT_EQ(bench.wire.verdicts, (std::vector<V>{V::kIcrc, V::kTruncated, V::kTruncated, V::kRoce}));
  EXPECT_EQ(bench.frame.count, 1u);
  bench.CheckAll();
}

TYPED_TEST(RxBufferTest, BadFramesFreeTheirRoomInOrder) {
  Bench<TypeParam> bench;
  bench.reader.rate = 0;
  bench.SendNet(64);
  for (unsigned i = 0; i < 3; ++i) {
    Bytes bad = Golden().front();
    bad.back() ^= 1;
    bench.Send(bad);
  }
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_FALSE(bench.block.IsIdle());
  bench.reader.rate = 16;
  ASSERT_EQ(bench.bench.Run(1 + 64 / bench.kBeatBytes + 3 + 1), "");
  EXPECT_TRUE(bench.block.IsIdle());
  EXPECT_EQ(bench.Dropped(), 0u);
  bench.CheckAll();
}

TYPED_TEST(RxBufferTest, FramesThatStartWhileDisabledAreIgnored) {
  Bench<TypeParam> bench;
  bench.wire.enable_rate = 0;
  for (unsigned i = 0; i < 30; ++i) bench.RandomFrame();
  ASSERT_EQ(bench.RunOut(), "");
  EXPECT_TRUE(bench.wire.verdicts.empty());
  EXPECT_EQ(bench.Dropped(), 0u);
  EXPECT_EQ(bench.frame.count, 0u);
}

TYPED_TEST(RxBufferTest, ResetClearsAllState) {
  std::shared_ptr<RtlTop<TypeParam>> rtl;
  for (unsigned i = 0; i < 10; ++i) {
    Bench<TypeParam> bench(rtl);
    rtl = bench.owner;
    bench.reader.rate = 4;
    for (unsigned n = 0; n < 60; ++n) bench.RandomFrame();
    ASSERT_EQ(bench.bench.Run(100 + bench.random() % 400), "");
  }
  Bench<TypeParam> bench(rtl);
  for (unsigned n = 0; n < 60; ++n) bench.RandomFrame();
  ASSERT_EQ(bench.RunOut(), "");
  bench.CheckAll();
}

}  // namespace
}  // namespace vireo::verif
