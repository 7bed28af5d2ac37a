// SPDX-License-Identifier: Apache-2.0
// The rules of axi_bridge.h with their cycles, and read bursts against a byte-wise reference.
#include "sim/device/axi_bridge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

std::vector<uint8_t> Bytes(uint64_t address, uint64_t count) {
  std::vector<uint8_t> bytes(count);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>((address + i) * 7 + (address + i) / 256);
  return bytes;
}

struct Bench {
  explicit Bench(const spec::Config& c) : config(c), bridge(config, "bench"), ends(config, "ends") {}
  void Read(Cycle cycle, const DmaRead& read) {
    bridge.OnReadBurst(cycle, read);
    ends.OnReadBurst(cycle, read);
    failed[read.tag] = false;
  }
  // OnCompletion and TakeCompletion report the burst's end in the same cycle with the same response.
  void Complete(Cycle cycle, const DmaRead& read, uint32_t offset, uint32_t count, bool last,
                DmaStatus status = DmaStatus::kOk) {
    const auto data = Bytes(read.address + offset, count);
    const DmaCompletion completion{.tag = read.tag,
                                   .offset = offset,
                                   .address = read.address + offset,
                                   .data = data,
                                   .last = last,
                                   .status = status};
    auto& beats = bridge.read_beats();
    const size_t known = beats.size();
    bridge.OnCompletion(cycle, completion);
    const AxiBridge::ReadPart part = ends.TakeCompletion(cycle, completion);
    EXPECT_EQ(part.bytes, count);
    EXPECT_EQ(ends.open_reads(), bridge.open_reads());
    bool ended = false;
    for (size_t i = known; i < beats.size(); ++i) {
      failed[read.tag] |= beats[i].resp != kAxiOkay;
      ended |= beats[i].last;
    }
    EXPECT_EQ(part.last, ended);
    if (!part.last) return;
    EXPECT_EQ(part.cycle, beats.back().cycle);
    EXPECT_EQ(part.resp, failed[read.tag] ? kAxiSlverr : kAxiOkay);
  }
  std::vector<Cycle> BeatCycles() const {
    std::vector<Cycle> cycles;
    for (const auto& beat : const_cast<AxiBridge&>(bridge).read_beats()) cycles.push_back(beat.cycle);
    return cycles;
  }
  const spec::Config config;
  AxiBridge bridge, ends;
  std::map<uint16_t, bool> failed;  // by tag: a beat of the burst has failed
};

constexpr DmaRead kRead{.tag = 3, .address = 0x1008, .bytes = 200};  // 56 + 64 + 64 + 16 bytes at 512 bits

TEST(AxiBridge, BeatsFollowTheirCyclesOfTheCompletion) {
  Bench bench(spec::kNic100);
  bench.Read(10, kRead);
  EXPECT_FALSE(bench.bridge.read_beats().size());
  bench.Complete(100, kRead, 0, 56, false);
  EXPECT_EQ(bench.BeatCycles(), (std::vector<Cycle>{100}));
  bench.Complete(110, kRead, 56, 144, true);
  EXPECT_EQ(bench.BeatCycles(), (std::vector<Cycle>{100, 110, 111, 112}));
  const auto& beats = bench.bridge.read_beats();
  EXPECT_EQ(bench.bridge.open_reads(), 0u);
  for (size_t i = 0; i < beats.size(); ++i) {
    EXPECT_EQ(beats[i].id, 3);
    EXPECT_EQ(beats[i].resp, kAxiOkay);
    EXPECT_EQ(beats[i].last, i == 3);
  }
  // Lanes are those of the address; zero outside of the burst.
  EXPECT_EQ(beats[0].data[7], 0);
  EXPECT_EQ(beats[0].data[8], Bytes(0x1008, 1)[0]);
  EXPECT_EQ(beats[3].data[15], Bytes(0x10cf, 1)[0]);
  EXPECT_EQ(beats[3].data[16], 0);
}

TEST(AxiBridge, PartialBeatWaitsForTheNextCompletion) {
  spec::Config config = spec::kNic100;
  config.datapath_bits = 1024;
  Bench bench(config);
  const DmaRead read{.tag = 0, .address = 0x1000, .bytes = 256};
  bench.Read(1, read);
  bench.Complete(10, read, 0, 64, false);
  EXPECT_TRUE(bench.BeatCycles().empty());
  bench.Complete(11, read, 64, 128, false);  // two beats on the seam, the second one half
  EXPECT_EQ(bench.BeatCycles(), (std::vector<Cycle>{11}));
  bench.Complete(20, read, 192, 64, true);
  EXPECT_EQ(bench.BeatCycles(), (std::vector<Cycle>{11, 20}));
  EXPECT_EQ(bench.bridge.read_beats()[1].data, Bytes(0x1080, 128));
}

TEST(AxiBridge, FailedReadDeliversErrorBeatsBeforeTheNextRead) {
  Bench bench(spec::kNic100);
  const DmaRead other{.tag = 4, .address = 0x2000, .bytes = 64};
  bench.Read(1, kRead);
  bench.Read(2, other);
  bench.Complete(50, kRead, 0, 56, false);
  bench.Complete(51, kRead, 56, 0, true, DmaStatus::kTimeout);
  bench.Complete(52, other, 0, 64, true);
  EXPECT_EQ(bench.BeatCycles(), (std::vector<Cycle>{50, 51, 52, 53, 54}));
  const auto& beats = bench.bridge.read_beats();
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(beats[i].resp, i >= 1 && i <= 3 ? kAxiSlverr : kAxiOkay) << i;
    EXPECT_EQ(beats[i].last, i >= 3) << i;
  }
  EXPECT_FALSE(bench.bridge.IsIdle(60));
}

TEST(AxiBridge, PoisonedDataIsDeliveredWithAnError) {
  Bench bench(spec::kNic100);
  bench.Read(1, kRead);
  bench.Complete(5, kRead, 0, 200, true, DmaStatus::kPoisoned);
  ASSERT_EQ(bench.bridge.read_beats().size(), 4u);
  for (const auto& beat : bench.bridge.read_beats()) EXPECT_EQ(beat.resp, kAxiSlverr);
  EXPECT_EQ(bench.bridge.read_beats()[1].data, Bytes(0x1040, 64));
}

// Every width, alignment, split and failure: each burst gets each of its beats once, in order, with its bytes.
TEST(AxiBridge, EveryBurstGetsAllItsBeats) {
  auto random = MakeRandom("axi_bridge");
  for (const uint32_t bits : {64u, 512u, 1024u}) {
    spec::Config config = spec::kNic100;
    config.datapath_bits = bits;
    const uint32_t beat = bits / 8;
    Bench bench(config);
    struct Open {
      DmaRead read;
      uint32_t sent = 0, failed_at = 0;
      uint64_t beats = 0;
    };
    std::map<uint16_t, Open> open;   // with missing completions
    std::map<uint16_t, Open> known;  // whose beats are checked
    Cycle cycle = 1;
    uint64_t finished = 0, failed = 0;
    Cycle last_beat = 0;
    while (finished < 2000) {
      const auto tag = static_cast<uint16_t>(random() % 8);
      if (!open.contains(tag) && !known.contains(tag)) {
        DmaRead read{.tag = tag, .address = 0x10000 + random() % 4096, .bytes = 0};
        read.bytes = 1 + static_cast<uint32_t>(random() % std::min<uint64_t>(512, 4096 - read.address % 4096));
        bench.Read(cycle, read);
        open[tag] = known[tag] = {read, 0, random() % 8 == 0 ? static_cast<uint32_t>(random() % read.bytes) : ~0u, 0};
      } else if (open.contains(tag)) {
        Open& now = open[tag];
        // Up to a multiple of 64 bytes or the end.
        const uint64_t at = now.read.address + now.sent;
        const uint64_t cut = std::min((at / 64 + 1 + random() % 4) * 64, now.read.address + now.read.bytes);
        const auto count = static_cast<uint32_t>(cut - at);
        const bool fails = now.sent + count > now.failed_at;
        known[tag].failed_at = now.failed_at == ~0u ? ~0u : std::min(now.failed_at, now.sent);
        if (fails) {
          known[tag].failed_at = now.sent;
          bench.Complete(cycle, now.read, now.sent, 0, true, DmaStatus::kUnsupportedRequest);
          cycle += 1;
          ++failed;
        } else {
          known[tag].failed_at = ~0u;
          bench.Complete(cycle, now.read, now.sent, count, now.sent + count == now.read.bytes);
          cycle += DmaBeats(at, count, beat);
        }
        now.sent += count;
        if (fails || now.sent == now.read.bytes) open.erase(tag);
      }
      for (auto& beats = bench.bridge.read_beats(); !beats.empty(); beats.pop_front()) {
        const auto& got = beats.front();
        ASSERT_GT(got.cycle, last_beat);
        last_beat = got.cycle;
        Open& burst = known.at(got.id);
        const uint64_t base = burst.read.address / beat * beat + burst.beats * beat;
        const uint64_t end = burst.read.address + burst.read.bytes;
        ASSERT_EQ(got.last, base + beat >= end);
        if (got.resp == kAxiOkay) {
          for (uint32_t lane = 0; lane < beat; ++lane) {
            const uint64_t address = base + lane;
            const bool inside = address >= burst.read.address && address < end;
            ASSERT_EQ(got.data[lane], inside ? Bytes(address, 1)[0] : 0) << bits << " " << lane;
          }
        } else {
          ASSERT_NE(burst.failed_at, ~0u);
          ASSERT_GT(base + beat, burst.read.address + burst.failed_at);
        }
        ++burst.beats;
        if (got.last) {
          known.erase(got.id);
          ++finished;
        }
      }
    }
    EXPECT_GT(failed, 100u);
    EXPECT_GE(bench.bridge.open_reads(), open.size());
  }
}

TEST(AxiBridge, AddressIsAcceptedOneCycleAfterItsCredits) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(10, CreditKind::kDmaWrite, 3);
  EXPECT_FALSE(bench.bridge.IsAddressReady(10, 0x1000, 64));
  EXPECT_TRUE(bench.bridge.IsAddressReady(11, 0x1000, 192));
  EXPECT_FALSE(bench.bridge.IsAddressReady(11, 0x1001, 192));  // four beats
  bench.bridge.OnAddress(11, 0x1000, 128);
  EXPECT_FALSE(bench.bridge.IsAddressReady(12, 0x1000, 65));
  EXPECT_TRUE(bench.bridge.IsAddressReady(12, 0x1000, 64));
}

TEST(AxiBridge, EarlyAddressesNeverExceedTheCredits) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(10, CreditKind::kDmaWrite, 3);
  bench.bridge.OnAddress(20, 0x1000, 128);
  EXPECT_FALSE(bench.bridge.IsAddressReady(21, 0x1000, 65));
  bench.bridge.ReturnCredits(15, CreditKind::kDmaWrite, 1);
  EXPECT_TRUE(bench.bridge.IsAddressReady(21, 0x1000, 128));
  EXPECT_FALSE(bench.bridge.IsAddressReady(21, 0x1000, 129));
}

TEST(AxiBridge, DataFollowsItsAddressAndTheResponseFollowsItsLastBeat) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(1, CreditKind::kDmaWrite, 100);
  bench.bridge.OnAddress(5, 0x1030, 100);  // lanes 48 … 63 and 0 … 63 and 0 … 19
  EXPECT_FALSE(bench.bridge.IsDataReady(5));
  EXPECT_TRUE(bench.bridge.IsDataReady(6));
  const auto memory = Bytes(0x1000, 192);
  EXPECT_EQ(bench.bridge.NextLanes(), (std::pair<uint32_t, uint32_t>{48, 64}));
  EXPECT_FALSE(bench.bridge.OnData(6, std::span(memory).first(64), false));
  EXPECT_EQ(bench.bridge.NextLanes(), (std::pair<uint32_t, uint32_t>{0, 64}));
  EXPECT_FALSE(bench.bridge.OnData(7, std::span(memory).subspan(64, 64), false));
  EXPECT_EQ(bench.bridge.NextLanes(), (std::pair<uint32_t, uint32_t>{0, 20}));
  const auto write = bench.bridge.OnData(9, std::span(memory).subspan(128, 64), true);
  ASSERT_TRUE(write);
  EXPECT_EQ(write->address, 0x1030u);
  EXPECT_EQ(write->data, Bytes(0x1030, 100));
  EXPECT_FALSE(bench.bridge.IsAnswer(9));
  EXPECT_TRUE(bench.bridge.IsAnswer(10));
  EXPECT_FALSE(bench.bridge.IsAnswer(11));
  EXPECT_FALSE(bench.bridge.IsIdle(10));
  EXPECT_TRUE(bench.bridge.IsIdle(11));
  EXPECT_FALSE(bench.bridge.IsDataReady(10));
}

TEST(AxiBridge, KnownBurstIsAnsweredOneCycleAfterItsLastBeat) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(1, CreditKind::kDmaWrite, 100);
  bench.bridge.OnAddress(5, 0x1030, 100);
  bench.bridge.OnAddress(6, 0x2000, 64);
  EXPECT_EQ(bench.bridge.OnBurstData(9, 100), 0x1030u);
  EXPECT_FALSE(bench.bridge.IsAnswer(9));
  EXPECT_TRUE(bench.bridge.IsAnswer(10));
  EXPECT_EQ(bench.bridge.open_writes(), 1u);
  EXPECT_EQ(bench.bridge.OnBurstData(10, 64), 0x2000u);
  EXPECT_TRUE(bench.bridge.IsAnswer(11));
  EXPECT_EQ(bench.bridge.open_writes(), 0u);
}

TEST(AxiBridge, RefusedWriteIsAnsweredWithAnError) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(1, CreditKind::kDmaWrite, 100);
  for (Cycle cycle = 5; cycle < 8; ++cycle) bench.bridge.OnAddress(cycle, 0x1000, 64);
  for (Cycle cycle = 9; cycle < 12; ++cycle) {
    bench.bridge.OnBurstData(cycle, 64);
    if (cycle == 10) bench.bridge.RefuseWrite(cycle + 1);
    EXPECT_TRUE(bench.bridge.IsAnswer(cycle + 1));
    EXPECT_EQ(bench.bridge.AnswerResp(cycle + 1), cycle == 10 ? kAxiSlverr : kAxiOkay);
  }
  bench.bridge.RefuseWrite(13);
  bench.bridge.Reset();
  EXPECT_EQ(bench.bridge.AnswerResp(13), kAxiOkay);
}

TEST(AxiBridge, FrameStartsOnlyWithRoomForTheLongest) {
  Bench bench(spec::kNic100);
  const uint32_t enough = FrameBeats(bench.config.max_frame_bytes, 64) + kTransmitReserve;
  EXPECT_EQ(kTransmitReserve, 11u);
  bench.bridge.ReturnCredits(1, CreditKind::kTransmit, enough - 1);
  EXPECT_FALSE(bench.bridge.IsTransmitReady(5));
  bench.bridge.ReturnCredits(6, CreditKind::kTransmit, 1);
  EXPECT_FALSE(bench.bridge.IsTransmitReady(6));
  EXPECT_TRUE(bench.bridge.IsTransmitReady(7));
  bench.bridge.OnTransmitBeat(7);
  EXPECT_TRUE(bench.bridge.IsTransmitReady(7));
  EXPECT_FALSE(bench.bridge.IsTransmitReady(8));
}

// A framer that always has a frame and starts as soon as allowed. Returns the minimum number of credits left.
template <typename Length>
int64_t RunFramer(int64_t credits, Length length) {
  Bench bench(spec::kNic100);
  bench.bridge.ReturnCredits(0, CreditKind::kTransmit, static_cast<uint32_t>(credits));
  std::map<Cycle, uint32_t> beats;  // cycles with a beat
  Cycle free_at = 1;
  for (Cycle cycle = 1; cycle < 1000; ++cycle) {
    // Accepted in cycle + 1; beats start kLatency later.
    if (bench.bridge.IsTransmitReady(cycle) && free_at <= cycle + 1) {
      const uint32_t count = length(credits);
      free_at = cycle + 1 + count;
      for (uint32_t i = 0; i < count; ++i) beats[cycle + 1 + model::TxFramer::kLatency + i] = 1;
    }
    if (beats.contains(cycle)) {
      bench.bridge.OnTransmitBeat(cycle);
      --credits;
    }
  }
  return credits;
}

TEST(AxiBridge, FrameReserveIsExact) {
  auto random = MakeRandom("axi_bridge.framer");
  const uint32_t longest = FrameBeats(spec::kNic100.max_frame_bytes, 64);
  const int64_t enough = longest + kTransmitReserve;
  for (int run = 0; run < 200; ++run) {
    const int64_t start = enough + static_cast<int64_t>(random() % 400);
    EXPECT_GE(RunFramer(start, [&](int64_t) { return 1 + static_cast<uint32_t>(random() % longest); }), 0);
    EXPECT_GE(RunFramer(start, [&](int64_t) { return 1 + static_cast<uint32_t>(random() % 4); }), 0);
  }
  // The worst case: short frames fill the pipeline, and the longest is accepted at the last moment.
  EXPECT_EQ(RunFramer(enough + 30, [&](int64_t credits) { return credits == enough ? longest : 1; }), 0);
}

TEST(AxiBridgeDeathTest, ProtocolViolationAbortsWithAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Bench bench(spec::kNic100);
  bench.Read(1, kRead);
  EXPECT_DEATH(bench.Read(2, kRead), "bench, cycle 2: read burst with ID 3, in use");
  EXPECT_DEATH(bench.Read(2, {.tag = 256, .address = 0, .bytes = 1}), "ID 256");
  EXPECT_DEATH(bench.bridge.OnAddress(2, 0, 64), "without credits");
  const std::vector<uint8_t> beat(64);
  EXPECT_DEATH(bench.bridge.OnData(2, beat, true), "before its address");
  bench.bridge.ReturnCredits(1, CreditKind::kDmaWrite, 10);
  bench.bridge.OnAddress(2, 0, 100);
  EXPECT_DEATH(bench.bridge.OnData(3, beat, true), "wlast");
  EXPECT_DEATH(bench.bridge.OnBurstData(2, 100), "before its address");
  EXPECT_DEATH(bench.bridge.OnBurstData(3, 64), "wlast");
}

}  // namespace
}  // namespace vireo::sim
