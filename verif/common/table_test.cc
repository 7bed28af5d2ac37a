// SPDX-License-Identifier: Apache-2.0
// The table, RTL against model: random reads and writes of the same entry all the time.
#include "model/common/table.h"

#include <gtest/gtest.h>

#include <optional>

#include "Vtable_32.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

TEST(Table, ReadSeesExactlyTheEarlierWrites) {
  auto random = sim::MakeRandom("table");
  model::Table<uint32_t> table(8);
  RtlTop<Vtable_32> rtl([](const Vtable_32& top, std::vector<uint8_t>& bytes) {
    const auto data = BytesOf(top.read_data_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
  });
  auto& ports = rtl.ports();
  std::optional<uint32_t> expected;  // stays until the next read
  unsigned reads_behind_a_write = 0;
  for (model::Cycle cycle = 0; cycle < 20'000; ++cycle) {
    if (expected) {
      ASSERT_EQ(ports.read_data_o, *expected) << "cycle " << cycle;
    }
    const bool wrote_this_entry = ports.write_i && cycle > 0;
    const auto last_written = ports.write_address_i;
    ports.write_i = random() % 2;
    ports.write_address_i = random() % 8;
    ports.write_data_i = static_cast<uint32_t>(random());
    ports.read_i = random() % 4 != 0;
    ports.read_address_i = random() % 8;
    // In either order: the result of one cycle does not depend on it.
    const bool write_first = random() % 2;
    if (ports.write_i && write_first) table.Write(cycle, ports.write_address_i, ports.write_data_i);
    if (ports.read_i) {
      expected = table.Read(cycle, ports.read_address_i);
      reads_behind_a_write += wrote_this_entry && last_written == ports.read_address_i;
    }
    if (ports.write_i && !write_first) table.Write(cycle, ports.write_address_i, ports.write_data_i);
    rtl.Clock();
  }
  EXPECT_GT(reads_behind_a_write, 100u);
}

// A read sees all earlier writes, however many were not read, also when it looks back.
TEST(Table, KeepsManyWritesBetweenReads) {
  constexpr uint32_t kEntries = 8;
  model::Table<uint32_t> table(kEntries);
  constexpr model::Cycle kEnd = 100'000;
  for (model::Cycle cycle = 0; cycle < kEnd; ++cycle)
    table.Write(cycle, cycle % kEntries, static_cast<uint32_t>(cycle));
  for (model::Cycle cycle = kEnd - 500; cycle <= kEnd; ++cycle) {
    for (model::Cycle back = 1; back <= kEntries; ++back) {
      ASSERT_EQ(table.Read(cycle, (cycle - back) % kEntries), cycle - back);
    }
  }
}

TEST(Table, KeepsEntriesOverReset) {
  RtlTop<Vtable_32> rtl([](const Vtable_32&, std::vector<uint8_t>&) {});
  auto& ports = rtl.ports();
  const auto read = [&](unsigned index) {
    ports.read_i = 1;
    ports.read_address_i = static_cast<CData>(index);
    rtl.Clock();
    ports.read_i = 0;
    return ports.read_data_o;
  };
  EXPECT_EQ(read(3), 0u);
  ports.write_i = 1;
  ports.write_address_i = 3;
  ports.write_data_i = 77;
  rtl.Clock();
  ports.write_i = 0;
  rtl.Clock();
  rtl.Reset();
  EXPECT_EQ(read(3), 77u);
}

}  // namespace
}  // namespace vireo::verif
