// SPDX-License-Identifier: Apache-2.0
// The table with parity, RTL against model: reads, writes and flips of the same entry all the time, and each bit.
#include "model/common/context_table.h"

#include <gtest/gtest.h>

#include <optional>

#include "Vcontext_table_9.h"
#include "Vcontext_table_open_9.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::ContextTable;
using model::Cycle;

constexpr auto kRam = spec::ContextRam::kManagementContext;  // the parameter's default
constexpr auto kOtherRam = spec::ContextRam::kMemoryCheckTranslation;
constexpr unsigned kWidth = 9;
constexpr unsigned kEntries = 6;

template <typename Top>
struct BenchOf {
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto byte : BytesOf(top.read_data_o)) bytes.push_back(byte);
    bytes.push_back(top.corrupt_o);
  }};
  Top& ports = rtl.ports();

  // The inputs are pulses of one cycle.
  void Clock() {
    rtl.Clock();
    ports.write_i = ports.read_i = ports.flip_valid_i = 0;
  }
  void Write(unsigned index, unsigned data) {
    ports.write_i = 1;
    ports.write_address_i = static_cast<uint8_t>(index);
    ports.write_data_i = static_cast<uint16_t>(data);
  }
  void Flip(const spec::ContextFlip& flip) {
    ports.flip_valid_i = 1;
    ports.flip_i = uint64_t{static_cast<uint8_t>(flip.ram)} << 34 | uint64_t{flip.index} << 10 | flip.bit_index;
  }
  void ReadPorts(unsigned index) {
    ports.read_i = 1;
    ports.read_address_i = static_cast<uint8_t>(index);
    Clock();
  }
  // Data; nothing if it is corrupt.
  std::optional<unsigned> Read(unsigned index) {
    ReadPorts(index);
    if (ports.corrupt_o) {
      EXPECT_EQ(ports.read_data_o, 0u);
    }
    return ports.corrupt_o ? std::nullopt : std::optional<unsigned>(ports.read_data_o);
  }
};
using Bench = BenchOf<Vcontext_table_9>;

TEST(ContextTable, EveryBitFlipIsDetectedUntilTheEntryIsWritten) {
  Bench bench;
  for (unsigned index = 0; index < kEntries; ++index) EXPECT_EQ(bench.Read(index), 0u);
  for (unsigned index = 0; index < kEntries; ++index) {
    for (const unsigned bit : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, kWidth, 15u, 16u, 1023u}) {
      const unsigned data = (index * 37 + bit * 11) % (1u << kWidth);
      bench.Write(index, data);
      bench.Clock();
      EXPECT_EQ(bench.Read(index), data);
      bench.Flip({.ram = kRam, .index = index, .bit_index = static_cast<uint16_t>(bit)});
      bench.Clock();
      for (int again = 0; again < 2; ++again) EXPECT_EQ(bench.Read(index), std::nullopt) << index << " " << bit;
      EXPECT_NE(bench.Read((index + 1) % kEntries), std::nullopt);
      bench.Write(index, data);
      bench.Clock();
      EXPECT_EQ(bench.Read(index), data);
    }
  }
}

TEST(ContextTable, WithoutGateACorruptEntryIsOutputAsWritten) {
  BenchOf<Vcontext_table_open_9> bench;
  for (const unsigned bit : {0u, 4u, 8u, kWidth, 1023u}) {
    bench.Write(2, 0x155);
    bench.Clock();
    bench.ReadPorts(2);
    EXPECT_EQ(bench.ports.read_data_o, 0x155u);
    EXPECT_FALSE(bench.ports.corrupt_o);
    bench.Flip({.ram = kRam, .index = 2, .bit_index = static_cast<uint16_t>(bit)});
    bench.Clock();
    bench.ReadPorts(2);
    EXPECT_EQ(bench.ports.read_data_o, 0x155u);
    EXPECT_TRUE(bench.ports.corrupt_o);
  }
}

TEST(ContextTable, EntryThatIsPeekedIsReportedByItsUser) {
  unsigned errors = 0;
  const std::function<void(Cycle)> on_error = [&](Cycle at) {
    EXPECT_EQ(at, 20 + ContextTable<unsigned>::kErrorLatency);
    ++errors;
  };
  ContextTable<unsigned> table(kRam, kEntries, on_error);
  table.Write(1, 3, 77);
  EXPECT_EQ(table.Peek(5, 3), 77u);
  EXPECT_FALSE(table.corrupt());
  table.OnFlip(10, {.ram = kRam, .index = 3});
  EXPECT_EQ(table.Peek(20, 3), 0u);
  EXPECT_TRUE(table.corrupt());
  EXPECT_EQ(errors, 0u);
  table.Report(20);
  EXPECT_EQ(errors, 1u);
}

TEST(ContextTable, FlipsOfOtherTablesAndMissingEntriesAreIgnored) {
  Bench bench;
  bench.Flip({.ram = kOtherRam, .index = 2, .bit_index = 1});
  bench.Clock();
  for (const uint32_t index : {kEntries, kEntries + 2, 8u + 2, 0xfffffeu}) {
    bench.Flip({.ram = kRam, .index = index, .bit_index = 1});
    bench.Clock();
  }
  for (unsigned index = 0; index < kEntries; ++index) EXPECT_EQ(bench.Read(index), 0u);
}

TEST(ContextTable, NewFlipReplacesThePreviousOne) {
  Bench bench;
  for (const uint32_t index : {0u, 5u, 3u}) {
    bench.Flip({.ram = kRam, .index = index});
    bench.Clock();
  }
  for (unsigned index = 0; index < kEntries; ++index) EXPECT_EQ(bench.Read(index).has_value(), index != 3) << index;
  bench.Flip({.ram = kRam, .index = kEntries});
  bench.Clock();
  EXPECT_EQ(bench.Read(3), 0u);
}

TEST(ContextTable, MatchesModel) {
  auto random = sim::MakeRandom("context_table");
  std::optional<Cycle> error;
  const std::function<void(Cycle)> on_error = [&](Cycle at) { error = at; };
  ContextTable<unsigned> table(kRam, kEntries, on_error);
  Bench bench;
  std::optional<unsigned> expected;  // stays until the next read
  bool corrupt = false;
  unsigned found = 0, healed = 0, meetings = 0;
  for (Cycle cycle = 0; cycle < 40'000; ++cycle) {
    if (expected) {
      ASSERT_EQ(bench.ports.read_data_o, *expected) << "cycle " << cycle;
      ASSERT_EQ(bench.ports.corrupt_o != 0, corrupt) << "cycle " << cycle;
    }
    const auto any = [&] { return static_cast<unsigned>(random() % kEntries); };
    const bool writes = random() % 4 == 0, reads = random() % 2 == 0, flips = random() % 4 == 0;
    const unsigned written = any(), data = random() % (1u << kWidth);
    const spec::ContextFlip flip{.ram = random() % 8 != 0 ? kRam : kOtherRam,
                                 .index = static_cast<uint32_t>(random() % (kEntries + 2)),
                                 .bit_index = static_cast<uint16_t>(random() % 1024)};
    meetings += writes && flips && flip.index == written;
    // In any order: the result of one cycle does not depend on it.
    const auto order = random() % 6;
    const auto tell_write = [&] {
      if (writes) table.Write(cycle, written, data);
    };
    const auto tell_flip = [&] {
      if (flips) table.OnFlip(cycle, flip);
    };
    const auto tell_read = [&] {
      if (!reads) return;
      const unsigned index = any();
      bench.ports.read_i = 1;
      bench.ports.read_address_i = static_cast<uint8_t>(index);
      const bool was_corrupt = corrupt;
      error.reset();
      expected = table.Read(cycle, index);
      corrupt = table.corrupt();
      ASSERT_EQ(error.has_value(), corrupt);
      if (corrupt) {
        EXPECT_EQ(*error, cycle + ContextTable<unsigned>::kErrorLatency);
        EXPECT_EQ(*expected, 0u);
      }
      found += corrupt;
      healed += was_corrupt && !corrupt;
    };
    if (order == 0) tell_read();
    if (order % 2 == 0) tell_write();
    if (order == 1 || order == 2) tell_read();
    tell_flip();
    if (order % 2 != 0) tell_write();
    if (order > 2) tell_read();
    if (writes) bench.Write(written, data);
    if (flips) bench.Flip(flip);
    bench.Clock();
  }
  EXPECT_GT(found, 1000u);
  EXPECT_GT(healed, 500u);
  EXPECT_GT(meetings, 200u);
}

}  // namespace
}  // namespace vireo::verif
