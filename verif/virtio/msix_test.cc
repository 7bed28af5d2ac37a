// SPDX-License-Identifier: Apache-2.0
// vireo_msix against its model, and against the rules of MSI-X.
#include "model/virtio/msix.h"

#include <gtest/gtest.h>

#include <map>

#include "Vmsix.h"
#include "sim/common/seed.h"
#include "verif/virtio/virtio_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Cycle;
using model::Msix;
using model::MsixMessage;
using spec::BarAccess;
using spec::Interrupt;
using spec::MsixTableEntry;

constexpr uint32_t kVectors = 150;  // three rows of pending bits, the last of them short
constexpr uint32_t kRows = 3;

std::string MessageText(const MsixMessage& m) {
  char text[96];
  (void)std::snprintf(text, sizeof text, "vector %u address %#llx data %#x", m.vector,
                      static_cast<unsigned long long>(m.address), m.data);
  return text;
}

struct Bench {
  Bench() {
    block.on_message = [this](Cycle cycle, const MsixMessage& message) { messages(cycle, message); };
    block.on_read_data = [this](Cycle at, uint64_t data) { expected_reads[at] |= data; };
    bench.AddOther(others);
  }
  void PassReset() { ASSERT_EQ(bench.Run(kVectors), ""); }

  static BarAccess Access(bool write, uint32_t offset, unsigned bytes, uint64_t data = 0) {
    return {.write = write,
            .bar_index = spec::kBarMsix,
            .offset = offset,
            .bytes = static_cast<uint8_t>(bytes),
            .data = data};
  }
  static uint32_t At(uint32_t vector, size_t field) {
    return spec::kBarMsixTable + vector * static_cast<uint32_t>(MsixTableEntry::kBytes) + static_cast<uint32_t>(field);
  }
  void Write(uint32_t offset, unsigned bytes, uint64_t data) {
    bar.tokens.push_back(Access(true, offset, bytes, data));
    ASSERT_EQ(bench.RunOut(1), "");
  }
  uint64_t Read(uint32_t offset, unsigned bytes) {
    bar.tokens.push_back(Access(false, offset, bytes));
    EXPECT_EQ(bench.Run(Msix::kReadLatency + 1), "");
    return last_read;
  }
  void Mask(uint32_t vector, bool mask) { Write(At(vector, 12), 4, mask ? 1 : 0); }
  void SetUp(uint32_t vector, uint64_t address, uint32_t data) {
    Write(At(vector, MsixTableEntry::kMessageAddressOffset), 4, address & 0xffff'ffff);
    Write(At(vector, MsixTableEntry::kMessageUpperAddressOffset), 4, address >> 32);
    Write(At(vector, MsixTableEntry::kMessageDataOffset), 4, data);
    Mask(vector, false);
  }
  void Send(uint32_t vector) { interrupt.tokens.push_back({.msix_vector = static_cast<uint16_t>(vector)}); }
  void AllowAll() {
    enable = bus_master = true;
    mask = false;
    ASSERT_EQ(bench.Run(3), "");
  }
  bool Pending(uint32_t vector) { return (Read(spec::kBarMsixPba + vector / 64 * 8, 8) >> vector % 64 & 1) != 0; }

  std::mt19937_64 random = sim::MakeRandom("msix");
  Agenda agenda;
  Msix block{agenda, kVectors};
  RtlTop<Vmsix> rtl{[](const Vmsix& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.interrupt_ready_o);
    bytes.push_back(top.msix_valid_o);
    bytes.push_back(top.idle_o);
    AppendBytes(bytes, top.bar_read_data_o);
    AppendBytes(bytes, top.msix_vector_o);
    AppendBytes(bytes, top.msix_address_o);
    AppendBytes(bytes, top.msix_data_o);
  }};
  BlockBench<Vmsix> bench{rtl, agenda, random};
  Vmsix& p = rtl.ports();

  bool enable = false, mask = false, bus_master = false;
  ModelPulse<MsixMessage> messages;
  std::map<Cycle, uint64_t> expected_reads;
  uint64_t last_read = 0, nonzero_reads = 0;
  EveryCycle others{[this](Cycle cycle) {
                      if ((p.idle_o != 0) != block.IsIdle(cycle)) {
                        others.difference = "idle is not the model's in cycle " + std::to_string(cycle);
                      }
                      p.enable_i = enable;
                      p.mask_i = mask;
                      p.bus_master_i = bus_master;
                      block.SetControl(cycle, enable, mask, bus_master);
                    },
                    [this](Cycle cycle) -> std::string {
                      last_read = p.bar_read_data_o;
                      const auto it = expected_reads.find(cycle);
                      const uint64_t expected = it == expected_reads.end() ? 0 : it->second;
                      if (expected != 0) ++nonzero_reads;
                      if (last_read != expected) {
                        return "cycle " + std::to_string(cycle) + ": reads " + std::to_string(last_read) + ", model " +
                               std::to_string(expected);
                      }
                      if (!others.difference.empty()) return others.difference;
                      return messages.Compare("message", cycle, p.msix_valid_o != 0,
                                              {p.msix_vector_o, p.msix_address_o, p.msix_data_o}, MessageText);
                    }};
  decltype(bench.Pulse<BarAccess>(p.bar_valid_i, p.bar_i, nullptr)) bar = bench.Pulse<BarAccess>(
      p.bar_valid_i, p.bar_i, [this](Cycle cycle, const BarAccess& access) { block.OnBar(cycle, access); });
  decltype(bench.In("interrupt", block.interrupt_in, p.interrupt_valid_i, p.interrupt_ready_o,
                    p.interrupt_i)) interrupt =
      bench.In("interrupt", block.interrupt_in, p.interrupt_valid_i, p.interrupt_ready_o, p.interrupt_i);
};

BarAccess RandomAccess(std::mt19937_64& random) {
  const uint32_t vector = static_cast<uint32_t>(random() % (kVectors + 4));
  BarAccess access;
  const auto kind = random() % 8;
  if (kind == 0) {
    access = Bench::Access(random() % 2 == 0, spec::kBarMsixPba + static_cast<uint32_t>(random() % (8 * kRows + 8)), 8);
    access.offset &= ~7u;
  } else if (kind <= 4) {
    access = Bench::Access(true, Bench::At(vector, 12), 4, random() % 2);
  } else {
    access = Bench::Access(random() % 3 != 0, Bench::At(vector, 4 * (random() % 4)), 4, random());
  }
  if (random() % 4 == 0) {
    access.bytes = static_cast<uint8_t>(1u << random() % 4);
    access.offset = access.offset / 16 * 16 + static_cast<uint32_t>(random() % 16 & ~(access.bytes - 1u));
    access.data = random();
  }
  if (random() % 32 == 0) access.bytes = static_cast<uint8_t>(random() % 16);
  if (random() % 32 == 0) access.offset = static_cast<uint32_t>(random() % (2 * spec::kBarMsixBytes));
  if (random() % 32 == 0) access.bar_index = static_cast<uint8_t>(random() % 8);
  return access;
}

TEST(Msix, MatchesModelInRandomTraffic) {
  for (const unsigned interrupt_rate : {16u, 3u}) {
    for (const unsigned bar_rate : {16u, 2u}) {
      Bench bench;
      bench.interrupt.rate = interrupt_rate;
      bench.bar.rate = bar_rate;
      for (int round = 0; round < 200; ++round) {
        const uint32_t range = round % 2 == 0 ? kVectors : 4;  // few vectors coincide more often
        for (int i = 0; i < 40; ++i) bench.Send(static_cast<uint32_t>(bench.random() % range));
        if (round % 5 == 0) bench.Send(static_cast<uint32_t>(bench.random()));
        for (int i = 0; i < 40; ++i) bench.bar.tokens.push_back(RandomAccess(bench.random));
        ASSERT_EQ(bench.bench.Run(200), "");
        bench.enable = bench.random() % 4 != 0;
        bench.mask = bench.random() % 4 == 0;
        bench.bus_master = bench.random() % 8 != 0;
      }
      ASSERT_EQ(bench.bench.RunOut(1000), "");
      EXPECT_GT(bench.messages.all.size(), 300u);
      EXPECT_GT(bench.nonzero_reads, 100u);
    }
  }
}

// Every interrupt is sent in the end: after the last interrupt of a vector comes a message of it.
TEST(Msix, NoInterruptIsLost) {
  Bench bench;
  bench.PassReset();
  bench.enable = bench.bus_master = true;
  for (int round = 0; round < 10; ++round) {
    const size_t before = bench.messages.all.size();
    std::vector<bool> wanted(kVectors);
    for (int i = 0; i < 60; ++i) {
      const uint32_t vector = static_cast<uint32_t>(bench.random() % kVectors);
      bench.Send(vector);
      wanted[vector] = true;
      bench.bar.tokens.push_back(
          Bench::Access(true, Bench::At(static_cast<uint32_t>(bench.random() % kVectors), 12), 4, bench.random() % 2));
      bench.mask = bench.random() % 4 == 0;
      ASSERT_EQ(bench.bench.Run(bench.random() % 8), "");
    }
    ASSERT_EQ(bench.bench.RunOut(10), "");
    bench.mask = false;
    for (uint32_t vector = 0; vector < kVectors; ++vector) {
      bench.bar.tokens.push_back(Bench::Access(true, Bench::At(vector, 12), 4, 0));
    }
    ASSERT_EQ(bench.bench.RunOut(1000), "");
    EXPECT_EQ(bench.p.idle_o, 1);
    std::vector<unsigned> sent(kVectors);
    for (size_t i = before; i < bench.messages.all.size(); ++i) ++sent[bench.messages.all[i].second.vector];
    for (uint32_t vector = 0; vector < kVectors; ++vector) EXPECT_EQ(sent[vector] != 0, wanted[vector]) << vector;
    for (uint32_t row = 0; row < kRows; ++row) EXPECT_EQ(bench.Read(spec::kBarMsixPba + 8 * row, 8), 0u);
  }
}

TEST(Msix, MessageLeavesThreeCyclesAfterItsInterruptWithAddressAndData) {
  Bench bench;
  bench.PassReset();
  bench.SetUp(149, 0x1234'5678'9abc'def0, 0xcafe'f00d);
  bench.AllowAll();
  ASSERT_EQ(bench.bench.Run(50), "");
  const Cycle at = bench.bench.cycle();
  bench.Send(149);
  ASSERT_EQ(bench.bench.Run(Msix::kMessageLatency), "");
  EXPECT_TRUE(bench.messages.all.empty());
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.messages.all.size(), 1u);
  EXPECT_EQ(bench.messages.all[0].first, at + Msix::kMessageLatency);
  EXPECT_EQ(bench.messages.all[0].second, (MsixMessage{149, 0x1234'5678'9abc'def0, 0xcafe'f00d}));
}

TEST(Msix, InterruptTakesTwoCycles) {
  Bench bench;
  bench.PassReset();
  bench.Mask(0, false);
  bench.AllowAll();
  ASSERT_EQ(bench.bench.Run(50), "");
  for (int i = 0; i < 50; ++i) bench.Send(0);
  ASSERT_EQ(bench.bench.RunOut(10), "");
  ASSERT_EQ(bench.messages.all.size(), 50u);
  EXPECT_EQ(bench.messages.all.back().first - bench.messages.all.front().first, 2u * 49);
}

TEST(Msix, EachMaskKeepsTheMessagePendingUntilUnmasked) {
  for (const int what : {0, 1, 2, 3}) {
    Bench bench;
    bench.PassReset();
    for (const uint32_t vector : {3u, 70u}) bench.SetUp(vector, 0xfee0'0000, vector);
    bench.AllowAll();
    ASSERT_EQ(bench.bench.Run(30), "");
    const auto set = [&](bool keep) {
      switch (what) {
        case 0: bench.Mask(70, keep); break;
        case 1: bench.mask = keep; break;
        case 2: bench.enable = !keep; break;
        default: bench.bus_master = !keep; break;
      }
      ASSERT_EQ(bench.bench.Run(3), "");
    };
    set(true);
    for (int i = 0; i < 3; ++i) bench.Send(70);
    ASSERT_EQ(bench.bench.RunOut(300), "");
    EXPECT_TRUE(bench.messages.all.empty()) << what;
    EXPECT_EQ(bench.p.idle_o, 1);
    EXPECT_TRUE(bench.Pending(70));
    EXPECT_FALSE(bench.Pending(3));
    const Cycle at = bench.bench.cycle();
    set(false);
    ASSERT_EQ(bench.bench.Run(20), "");
    ASSERT_EQ(bench.messages.all.size(), 1u) << what;  // three coalesced into one
    EXPECT_EQ(bench.messages.all[0].second, (MsixMessage{70, 0xfee0'0000, 70}));
    EXPECT_FALSE(bench.Pending(70));
    // Row 0 is empty (2 cycles), row 1 is read (2), the bit selected and checked (2), the message is a register; two or
    // three cycles pass before the walk starts.
    EXPECT_GE(bench.messages.all[0].first, at + 8);
    EXPECT_LE(bench.messages.all[0].first, at + 9);
  }
}

TEST(Msix, ResetMasksEveryEntryAndClearsPendingBits) {
  Bench bench;
  bench.PassReset();
  bench.AllowAll();
  for (uint32_t vector = 0; vector < kVectors; ++vector) {
    EXPECT_EQ(bench.Read(Bench::At(vector, 12), 4), 1u);
    bench.Send(vector);
  }
  ASSERT_EQ(bench.bench.RunOut(10), "");
  EXPECT_TRUE(bench.messages.all.empty());
  EXPECT_EQ(bench.Read(spec::kBarMsixPba, 8), ~uint64_t{0});
  EXPECT_EQ(bench.Read(spec::kBarMsixPba + 16, 8), (uint64_t{1} << (kVectors - 128)) - 1);
}

TEST(Msix, TableReadsBackItsWrites) {
  Bench bench;
  bench.PassReset();
  bench.Write(Bench::At(7, 0), 8, 0x0123'4567'89ab'cdef);
  bench.Write(Bench::At(7, 8), 8, 0xffff'fffe'7654'3210);
  EXPECT_EQ(bench.Read(Bench::At(7, 0), 4), 0x89ab'cdecu);  // bits 1:0 are 0
  EXPECT_EQ(bench.Read(Bench::At(7, 0), 8), 0x0123'4567'89ab'cdecu);
  EXPECT_EQ(bench.Read(Bench::At(7, 4), 4), 0x0123'4567u);
  EXPECT_EQ(bench.Read(Bench::At(7, 8), 8), 0x0000'0000'7654'3210u);  // only the mask bit exists
  EXPECT_EQ(bench.Read(Bench::At(7, 10), 2), 0x7654u);
  EXPECT_EQ(bench.Read(Bench::At(7, 13), 1), 0u);
  bench.Write(Bench::At(7, 12), 4, 0xffff'ffff);
  EXPECT_EQ(bench.Read(Bench::At(7, 12), 4), 1u);
  EXPECT_EQ(bench.Read(Bench::At(6, 0), 8), 0u);
  EXPECT_EQ(bench.Read(Bench::At(8, 0), 8), 0u);
}

TEST(Msix, ReadIsAnsweredThreeCyclesLater) {
  Bench bench;
  bench.PassReset();
  bench.Write(Bench::At(7, 8), 4, 0x42);
  bench.bar.tokens.push_back(Bench::Access(false, Bench::At(7, 8), 4));
  ASSERT_EQ(bench.bench.Run(Msix::kReadLatency), "");
  EXPECT_EQ(bench.last_read, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.last_read, 0x42u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.last_read, 0u);
}

TEST(Msix, BadAccessesChangeNothing) {
  Bench bench;
  bench.PassReset();
  bench.Write(Bench::At(7, 0), 8, 0x1111'2222'3333'4444);
  bench.Write(Bench::At(7, 1), 4, ~uint64_t{0});             // not aligned
  bench.Write(Bench::At(7, 4), 8, ~uint64_t{0});             // not aligned
  bench.Write(Bench::At(7, 0), 2, ~uint64_t{0});             // too narrow
  bench.Write(Bench::At(7, 3), 1, ~uint64_t{0});             // too narrow
  bench.Write(Bench::At(7, 0), 0, ~uint64_t{0});             // no width
  bench.Write(Bench::At(7, 0) + 0x1'0000, 8, ~uint64_t{0});  // behind the BAR
  bench.Write(spec::kBarMsixPba, 8, ~uint64_t{0});           // read-only
  bench.Write(Bench::At(kVectors, 0), 8, ~uint64_t{0});      // no such vector
  BarAccess other = Bench::Access(true, Bench::At(7, 0), 8, ~uint64_t{0});
  other.bar_index = spec::kBarVirtio;
  bench.bar.tokens.push_back(other);
  ASSERT_EQ(bench.bench.RunOut(2), "");
  EXPECT_EQ(bench.Read(Bench::At(7, 0), 8), 0x1111'2222'3333'4444u);
  EXPECT_EQ(bench.Read(Bench::At(7, 4), 8), 0u);
  EXPECT_EQ(bench.Read(Bench::At(kVectors, 0), 8), 0u);
  EXPECT_EQ(bench.Read(spec::kBarMsixPba, 8), 0u);
  EXPECT_EQ(bench.Read(spec::kBarMsixPba + 8 * kRows, 8), 0u);
}

TEST(Msix, NonexistentVectorSendsNothing) {
  Bench bench;
  bench.PassReset();
  for (uint32_t vector = 0; vector < kVectors; ++vector) bench.Mask(vector, false);
  bench.AllowAll();
  for (const uint32_t vector : {kVectors, 0x800u, 0x8000u, uint32_t{spec::kVirtioMsiNoVector}}) bench.Send(vector);
  ASSERT_EQ(bench.bench.RunOut(300), "");
  EXPECT_TRUE(bench.messages.all.empty());
  for (uint32_t row = 0; row < kRows; ++row) EXPECT_EQ(bench.Read(spec::kBarMsixPba + 8 * row, 8), 0u);
}

TEST(Msix, ResetClearsAllState) {
  Bench first;
  first.PassReset();
  first.AllowAll();
  for (uint32_t vector = 0; vector < kVectors; ++vector) {
    first.Mask(vector, vector % 2 == 0);
    first.Send(vector);
  }
  ASSERT_EQ(first.bench.Run(100), "");
  auto& p = first.p;
  p.interrupt_valid_i = p.bar_valid_i = p.enable_i = 0;
  first.rtl.Reset();
  for (uint32_t i = 0; i < kVectors; ++i) {
    EXPECT_EQ(p.idle_o, 0);
    EXPECT_EQ(p.msix_valid_o, 0);
    first.rtl.Clock();
  }
  EXPECT_EQ(p.idle_o, 1);
  const auto read = [&](uint32_t offset) {
    SetPort(p.bar_i, Bench::Access(false, offset, 8));
    p.bar_valid_i = 1;
    first.rtl.Clock();
    p.bar_valid_i = 0;
    for (unsigned i = 1; i < Msix::kReadLatency; ++i) first.rtl.Clock();
    return uint64_t{p.bar_read_data_o};
  };
  for (uint32_t row = 0; row < kRows; ++row) EXPECT_EQ(read(spec::kBarMsixPba + 8 * row), 0u);
  for (uint32_t vector = 0; vector < kVectors; ++vector) EXPECT_EQ(read(Bench::At(vector, 8)), uint64_t{1} << 32);
}

}  // namespace
}  // namespace vireo::verif
