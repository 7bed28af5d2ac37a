// SPDX-License-Identifier: Apache-2.0
// The events that the tap reports for each call, and a violation of every rule of nic.h.
#include "sim/nic/nic_tap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sim/nic/trace_hash.h"
#include "verif/sim/device/probe_nic.h"

namespace vireo::sim {
namespace {

// Counts forwarded calls, on all three parts of the environment.
class Environment final : public PcieEnvironment, public FrameEnvironment, public ManagementEnvironment {
 public:
  void CompleteBarRead(Cycle, uint64_t) override { ++calls; }
  void ReadDma(Cycle, const DmaRead&) override { ++calls; }
  void WriteDma(Cycle, const DmaWrite&) override { ++calls; }
  void SendMsix(Cycle, uint16_t) override { ++calls; }
  void TransmitFrame(Cycle, Cycle, std::span<const uint8_t>) override { ++calls; }
  void CompleteCsrRead(Cycle, uint32_t) override { ++calls; }
  void SetFirmwareInterrupt(Cycle, bool) override { ++calls; }
  int calls = 0;
};

class Events final : public EventSink {
 public:
  void OnEvent(const BoundaryEvent& event) override {
    list.push_back(event);
    payloads.emplace_back(event.payload.begin(), event.payload.end());
    list.back().payload = {};
  }
  std::vector<BoundaryEvent> list;
  std::vector<std::vector<uint8_t>> payloads;
};

struct World {
  World() : tap(scheduler, clock, spec::kNic100, {}, 7) {
    tap.Attach(nic);
    tap.Connect(environment, environment);
    tap.Connect(static_cast<ManagementEnvironment&>(environment));
    tap.AddSink(events);
  }
  void Reset() {
    tap.Reset(0);
    At(kResetCycles, [this] {
      tap.ReturnCredits(kResetCycles, CreditKind::kDmaWrite, 64);
      tap.ReturnCredits(kResetCycles, CreditKind::kTransmit, 512);
    });
  }
  void At(Cycle cycle, std::function<void()> input) { RunTo(clock.Begin(cycle)), input(); }
  void In(Cycle cycle, std::function<void()> output) { RunTo(clock.Middle(cycle)), output(); }
  void RunTo(Picoseconds time) {
    scheduler.RunUntil([] { return false; }, time);
  }
  // The only violation so far, without "nic 7, ".
  std::string Violation() const {
    EXPECT_EQ(tap.violations().size(), 1u);
    return tap.violations().empty() ? "" : tap.violations()[0].substr(7);
  }

  const CoreClock clock{250'000};
  StandaloneScheduler scheduler;
  ProbeNic nic;
  Environment environment;
  Events events;
  NicTap tap;
};

const std::vector<uint8_t> kData(256, 0xd5);
std::span<const uint8_t> Bytes(size_t count) { return std::span(kData).first(count); }

TEST(NicTap, ReportsEveryKindWithCycleAndFields) {
  World world;
  world.Reset();
  NicTap& tap = world.tap;
  const std::vector<uint8_t> frame(200, 0xf0);
  EXPECT_EQ(tap.ReadConfig(16, 0x10, 2), 0x10u);
  tap.WriteConfig(16, 0x04, 2, 0x0506);
  world.At(20, [&] { tap.WriteBar(20, 2, 0x100, 4, 0x11223344); });
  world.At(21, [&] { tap.ReadBar(21, 0, 0x8, 8); });
  world.In(22, [&] { tap.CompleteBarRead(22, 0x99); });
  world.In(23, [&] { tap.ReadDma(23, {3, 0x1000, 512}); });
  world.At(30, [&] { tap.CompleteDmaRead(30, {3, 0, 0x1000, Bytes(256), false, DmaStatus::kOk}); });
  world.At(34, [&] { tap.CompleteDmaRead(34, {3, 256, 0x1100, {}, true, DmaStatus::kCompleterAbort}); });
  world.In(40, [&] { tap.WriteDma(40, {0x2000, Bytes(100)}); });
  world.In(40, [&] { tap.SendMsix(40, 5); });
  world.At(41, [&] { tap.RefuseDmaWrite(41); });
  world.In(53, [&] { tap.TransmitFrame(50, 53, frame); });
  world.At(60, [&] { tap.ReceiveFrame(60, 63, frame, true); });
  world.At(65, [&] { tap.SetLink(65, false); });
  world.At(70, [&] { tap.WriteCsr(70, 0x0c, 0xabcd); });
  world.At(71, [&] { tap.ReadCsr(71, 0x0c); });
  world.In(72, [&] { tap.CompleteCsrRead(72, 0xabcd); });
  world.In(73, [&] { tap.SetFirmwareInterrupt(73, true); });
  EXPECT_EQ(tap.violations(), std::vector<std::string>());
  EXPECT_EQ(world.environment.calls, 7);

  const struct {
    EventKind kind;
    Cycle cycle;
    uint64_t address;
    uint32_t id, bytes;
    uint8_t status;
    size_t payload;
  } rows[] = {
      {EventKind::kReset, 0, 0, 0, 0, 0, 0},
      {EventKind::kCredits, 16, 0, 0, 64, 0, 0},
      {EventKind::kCredits, 16, 0, 1, 512, 0, 0},
      {EventKind::kConfigRead, 16, 0x10, 0, 2, 0, 2},
      {EventKind::kConfigWrite, 16, 0x04, 0, 2, 0, 2},
      {EventKind::kBarWrite, 20, 0x100, 2, 4, 0, 4},
      {EventKind::kBarRead, 21, 0x8, 0, 8, 0, 0},
      {EventKind::kBarCompletion, 22, 0, 0, 8, 0, 8},
      {EventKind::kDmaRead, 23, 0x1000, 3, 512, 0, 0},
      {EventKind::kDmaCompletion, 30, 0x1000, 3, 256, 0, 256},
      {EventKind::kDmaCompletion, 34, 0x1100, 3, 0, 0x82, 0},
      {EventKind::kDmaWrite, 40, 0x2000, 0, 100, 0, 100},
      {EventKind::kMsix, 40, 0, 5, 0, 0, 0},
      {EventKind::kDmaRefusal, 41, 0, 0, 0, 0, 0},
      {EventKind::kTransmitStart, 50, 0, 0, 0, 0, 0},
      {EventKind::kTransmitEnd, 53, 0, 0, 200, 0, 200},
      {EventKind::kReceiveStart, 60, 0, 0, 0, 0, 0},
      {EventKind::kReceiveEnd, 63, 0, 0, 200, 1, 200},
      {EventKind::kLink, 65, 0, 0, 0, 0, 0},
      {EventKind::kCsrWrite, 70, 0x0c, 0, 4, 0, 4},
      {EventKind::kCsrRead, 71, 0x0c, 0, 4, 0, 0},
      {EventKind::kCsrCompletion, 72, 0, 0, 4, 0, 4},
      {EventKind::kFirmwareInterrupt, 73, 0, 0, 0, 1, 0},
  };
  ASSERT_EQ(world.events.list.size(), std::size(rows));
  std::vector<bool> seen(kEventKinds);
  for (size_t i = 0; i < std::size(rows); ++i) {
    const BoundaryEvent& event = world.events.list[i];
    SCOPED_TRACE(std::to_string(i) + " " + ToString(event.kind));
    EXPECT_EQ(event.kind, rows[i].kind);
    EXPECT_EQ(event.stream, StreamOf(rows[i].kind));
    EXPECT_EQ(event.nic, 7);
    EXPECT_EQ(event.cycle, rows[i].cycle);
    EXPECT_EQ(event.address, rows[i].address);
    EXPECT_EQ(event.id, rows[i].id);
    EXPECT_EQ(event.bytes, rows[i].bytes);
    EXPECT_EQ(event.status, rows[i].status);
    EXPECT_EQ(world.events.payloads[i].size(), rows[i].payload);
    seen[static_cast<size_t>(event.kind)] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
  EXPECT_EQ(world.events.payloads[5], (std::vector<uint8_t>{0x44, 0x33, 0x22, 0x11}));
}

TEST(NicTap, RefusalFollowsItsWriteDirectly) {
  for (const Cycle refused : {Cycle{21}, Cycle{22}}) {
    World world;
    world.Reset();
    world.In(20, [&] { world.tap.WriteDma(20, {0x2000, Bytes(64)}); });
    world.At(refused, [&] { world.tap.RefuseDmaWrite(refused); });
    if (refused == 21) {
      EXPECT_EQ(world.tap.violations(), std::vector<std::string>());
      EXPECT_EQ(world.nic.refusals, (std::vector<Cycle>{21}));
      world.tap.RefuseDmaWrite(21);
    }
    EXPECT_EQ(world.Violation(), "cycle " + std::to_string(refused) + ": refusal of a DMA write that did not just end");
  }
}

TEST(NicTap, EventHashCoversFieldsButNotCycle) {
  World world;
  world.Reset();
  const auto write = [&](Cycle cycle, uint64_t address, std::span<const uint8_t> data) {
    world.In(cycle, [&] { world.tap.WriteDma(cycle, {address, data}); });
    BoundaryEvent event = world.events.list.back();
    event.payload = data;
    return ContentHash(event);
  };
  std::vector<uint8_t> other(Bytes(64).begin(), Bytes(64).end());
  other[63] ^= 1;
  const uint64_t hash = write(20, 0x1000, Bytes(64));
  EXPECT_EQ(write(30, 0x1000, Bytes(64)), hash);
  EXPECT_NE(write(40, 0x1040, Bytes(64)), hash);
  EXPECT_NE(write(50, 0x1000, Bytes(63)), hash);
  EXPECT_NE(write(60, 0x1000, other), hash);
}

// --- Violations. Each case starts right after the reset, in cycle 16.

struct ViolationCase {
  const char* name;
  std::function<void(World&)> commit;
  const char* violation;
};

const ViolationCase kViolationCases[] = {
    {"OutputBeforeItsCycle", [](World& w) { w.In(20, [&] { w.tap.SendMsix(21, 0); }); },
     "cycle 21: MSI-X not within its cycle, but in 20"},
    {"OutputAfterItsCycle", [](World& w) { w.In(20, [&] { w.tap.SendMsix(19, 0); }); },
     "cycle 19: MSI-X not within its cycle, but in 20"},
    {"OutputAtTheEndOfItsCycle", [](World& w) { w.At(21, [&] { w.tap.SendMsix(20, 0); }); },
     "cycle 20: MSI-X not within its cycle, but in 21"},
    {"OutputAtTheBeginOfItsCycle", [](World& w) { w.At(20, [&] { w.tap.SendMsix(20, 0); }); },
     "cycle 20: MSI-X not within its cycle, but in 20"},
    {"InputNotAtTheBegin", [](World& w) { w.In(20, [&] { w.tap.WriteBar(20, 0, 0, 4, 0); }); },
     "cycle 20: BAR write not at the start of its cycle"},
    {"TwoBarAccessesInOneCycle",
     [](World& w) { w.At(20, [&] { w.tap.WriteBar(20, 0, 0, 4, 0), w.tap.WriteBar(20, 0, 4, 4, 0); }); },
     "cycle 20: BAR access overlaps the previous one"},
    {"BarAnswerWithoutRead", [](World& w) { w.In(20, [&] { w.tap.CompleteBarRead(20, 0); }); },
     "cycle 20: BAR completion without a read"},
    {"BarAnswerInTheSameCycle",
     [](World& w) {
       w.At(20, [&] { w.tap.ReadBar(20, 0, 0, 4); });
       w.In(20, [&] { w.tap.CompleteBarRead(20, 0); });
     },
     "cycle 20: BAR completion in the cycle of its read"},
    {"CsrAnswerInTheSameCycle",
     [](World& w) {
       w.At(20, [&] { w.tap.ReadCsr(20, 0); });
       w.In(20, [&] { w.tap.CompleteCsrRead(20, 0); });
     },
     "cycle 20: CSR completion in the cycle of its read"},
    {"TwoReadsInOneCycle",
     [](World& w) { w.In(20, [&] { w.tap.ReadDma(20, {0, 0, 64}), w.tap.ReadDma(20, {1, 0, 64}); }); },
     "cycle 20: DMA read overlaps the previous one"},
    {"TagInUse",
     [](World& w) {
       for (Cycle c : {20, 21}) w.In(c, [&] { w.tap.ReadDma(c, {9, 0, 64}); });
     },
     "cycle 21: DMA read of 64 bytes with tag 9: the tag is in use"},
    {"NoSuchTag", [](World& w) { w.In(20, [&] { w.tap.ReadDma(20, {256, 0, 64}); }); },
     "cycle 20: DMA read of 64 bytes with tag 256: no such tag"},
    {"ReadTooLong", [](World& w) { w.In(20, [&] { w.tap.ReadDma(20, {0, 0, 513}); }); },
     "cycle 20: DMA read of 513 bytes with tag 0: invalid length"},
    {"ReadOfNothing", [](World& w) { w.In(20, [&] { w.tap.ReadDma(20, {0, 0, 0}); }); },
     "cycle 20: DMA read of 0 bytes with tag 0: invalid length"},
    {"ReadAcrossABoundary", [](World& w) { w.In(20, [&] { w.tap.ReadDma(20, {0, 4095, 2}); }); },
     "cycle 20: DMA read of 2 bytes with tag 0 crosses a 4 KiB boundary"},
    {"CompletionForAFreeTag",
     [](World& w) { w.At(20, [&] { w.tap.CompleteDmaRead(20, {1, 0, 0, Bytes(1), true, {}}); }); },
     "cycle 20: DMA completion for tag 1, not in use"},
    {"CompletionWithAGap",
     [](World& w) {
       w.In(20, [&] { w.tap.ReadDma(20, {1, 0, 64}); });
       w.At(21, [&] { w.tap.CompleteDmaRead(21, {1, 32, 32, Bytes(32), true, {}}); });
     },
     "cycle 21: DMA completion for tag 1 does not match its request"},
    {"CompletionLastTooEarly",
     [](World& w) {
       w.In(20, [&] { w.tap.ReadDma(20, {1, 0, 64}); });
       w.At(21, [&] { w.tap.CompleteDmaRead(21, {1, 0, 0, Bytes(32), true, {}}); });
     },
     "cycle 21: DMA completion for tag 1 does not match its request"},
    {"CompletionsOverlap",
     [](World& w) {
       w.In(20, [&] { w.tap.ReadDma(20, {1, 0, 256}); });
       w.At(21, [&] { w.tap.CompleteDmaRead(21, {1, 0, 0, Bytes(128), false, {}}); });
       w.At(22, [&] { w.tap.CompleteDmaRead(22, {1, 128, 128, Bytes(128), true, {}}); });
     },
     "cycle 22: DMA completion overlaps the previous one"},
    {"WriteTooLong",
     [](World& w) {
       const std::vector<uint8_t> data(257);
       w.In(30, [&] { w.tap.WriteDma(30, {0, data}); });
     },
     "cycle 30: DMA write of 257 bytes: invalid length"},
    {"WriteAcrossABoundary", [](World& w) { w.In(30, [&] { w.tap.WriteDma(30, {4090, Bytes(7)}); }); },
     "cycle 30: DMA write of 7 bytes crosses a 4 KiB boundary"},
    {"WritesOverlap",
     [](World& w) {
       for (Cycle c : {30, 33}) w.In(c, [&] { w.tap.WriteDma(c, {0, Bytes(256)}); });
     },
     "cycle 30: DMA write overlaps the previous one"},
    {"WriteWithoutCredits",
     [](World& w) {
       for (Cycle c = 30; c <= 30 + 16 * 4; c += 4) w.In(c, [&] { w.tap.WriteDma(c, {0, Bytes(256)}); });
     },
     "cycle 94: DMA write of 256 bytes without credits"},
    {"TwoMessagesInOneCycle", [](World& w) { w.In(20, [&] { w.tap.SendMsix(20, 0), w.tap.SendMsix(20, 1); }); },
     "cycle 20: MSI-X overlaps the previous one"},
    {"NoSuchVector", [](World& w) { w.In(20, [&] { w.tap.SendMsix(20, spec::kMsixVectorsMax); }); },
     "cycle 20: MSI-X: no vector 2048"},
    {"BrokenTrain", [](World& w) { w.In(24, [&] { w.tap.TransmitFrame(20, 24, Bytes(256)); }); },
     "cycle 24: transmitted frame's train is broken"},
    {"FramesOverlap",
     [](World& w) {
       w.In(23, [&] { w.tap.TransmitFrame(20, 23, Bytes(256)); });
       w.In(26, [&] { w.tap.TransmitFrame(23, 26, Bytes(256)); });
     },
     "cycle 23: transmitted frame overlaps the previous one"},
    {"FrameOfNothing", [](World& w) { w.In(20, [&] { w.tap.TransmitFrame(20, 19, {}); }); },
     "cycle 19: transmitted frame not within its cycle, but in 20"},
    {"FrameTooLong",
     [](World& w) {
       const std::vector<uint8_t> data(9729);
       w.In(200, [&] { w.tap.TransmitFrame(47, 200, data); });
     },
     "cycle 200: transmitted frame of 9729 bytes"},
    {"FrameWithoutCredits",
     [](World& w) {
       const std::vector<uint8_t> data(9728);
       for (Cycle c = 200; c <= 200 + 3 * 152; c += 152) w.In(c, [&] { w.tap.TransmitFrame(c - 151, c, data); });
     },
     "cycle 656: transmitted frame without credits"},
    {"ReceivedFrameEndsWrong", [](World& w) { w.At(20, [&] { w.tap.ReceiveFrame(20, 24, Bytes(256), false); }); },
     "cycle 20: received frame's end does not match its length"},
    {"ReceivedFramesOverlap",
     [](World& w) {
       w.At(20, [&] { w.tap.ReceiveFrame(20, 23, Bytes(256), false); });
       w.At(23, [&] { w.tap.ReceiveFrame(23, 23, Bytes(1), false); });
     },
     "cycle 23: received frame overlaps the previous one"},
    {"TwoCsrReadsAtOnce",
     [](World& w) {
       for (Cycle c : {20, 21}) w.At(c, [&] { w.tap.ReadCsr(c, 0); });
     },
     "cycle 21: CSR read while another is outstanding"},
    {"CsrAnswerWithoutRead", [](World& w) { w.In(20, [&] { w.tap.CompleteCsrRead(20, 0); }); },
     "cycle 20: CSR completion without a read"},
    {"InterruptDoesNotChange", [](World& w) { w.In(20, [&] { w.tap.SetFirmwareInterrupt(20, false); }); },
     "cycle 20: firmware interrupt did not change"},
    {"LinkDoesNotChange", [](World& w) { w.At(20, [&] { w.tap.SetLink(20, true); }); },
     "cycle 20: link did not change"},
    {"OutputDuringReset",
     [](World& w) {
       w.At(20, [&] { w.tap.Reset(20); });
       w.In(35, [&] { w.tap.SendMsix(35, 0); });
     },
     "cycle 35: MSI-X during reset"},
    {"InputDuringReset",
     [](World& w) {
       w.At(20, [&] { w.tap.Reset(20); });
       w.At(35, [&] { w.tap.WriteBar(35, 0, 0, 4, 0); });
     },
     "cycle 35: BAR write during reset"},
    {"CreditsOfBeforeTheReset",
     [](World& w) {
       w.At(20, [&] { w.tap.Reset(20); });
       w.In(40, [&] { w.tap.WriteDma(40, {0, Bytes(1)}); });
     },
     "cycle 40: DMA write of 1 bytes without credits"},
};

class ViolationTest : public testing::TestWithParam<ViolationCase> {};

TEST_P(ViolationTest, IsReported) {
  World world;
  world.Reset();
  GetParam().commit(world);
  ASSERT_FALSE(world.tap.violations().empty());
  EXPECT_EQ(world.tap.violations()[0].substr(7), GetParam().violation);
}

INSTANTIATE_TEST_SUITE_P(NicTap, ViolationTest, testing::ValuesIn(kViolationCases),
                         [](const auto& info) { return info.param.name; });

TEST(NicTap, ReportsAnInputBeforeTheFirstReset) {
  World world;
  world.At(20, [&] { world.tap.WriteBar(20, 0, 0, 4, 0); });
  EXPECT_EQ(world.Violation(), "cycle 20: BAR write before the first reset");
}

TEST(NicTap, KeepsTheFirstHundredViolations) {
  World world;
  world.Reset();
  for (Cycle cycle = 20; cycle < 320; ++cycle) world.In(cycle, [&] { world.tap.CompleteBarRead(cycle, 0); });
  EXPECT_EQ(world.tap.violations().size(), NicTap::kMaxViolations);
}

}  // namespace
}  // namespace vireo::sim
