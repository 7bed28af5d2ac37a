// SPDX-License-Identifier: Apache-2.0
// The table, RTL against model: random reads and writes of the same entry all the time.
#include "model/common/table.h"

#include <gtest/gtest.h>

#include <optional>

#include "Vtable_32_0.h"
#include "Vtable_32_1.h"
#include "sim/common/seed.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

// In block RAM, and in LUTs.
using Tops = testing::Types<Vtable_32_0, Vtable_32_1>;

template <typename Top>
class TableRtl : public testing::Test {};
TYPED_TEST_SUITE(TableRtl, Tops);

TYPED_TEST(TableRtl, ReadSeesExactlyTheEarlierWrites) {
  auto random = sim::MakeRandom("table");
  model::Table<uint32_t> table(8);
  RtlTop<TypeParam> rtl([](const TypeParam& top, std::vector<uint8_t>& bytes) {
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

template <typename Top>
class TableReset : public testing::Test {
 protected:
  static constexpr unsigned kEntries = 8;

  void Write(unsigned index, uint32_t data) {
    ports_.write_i = 1;
    ports_.write_address_i = static_cast<CData>(index);
    ports_.write_data_i = data;
    rtl_.Clock();
    ports_.write_i = 0;
  }
  uint32_t Read(unsigned index) {
    ports_.read_i = 1;
    ports_.read_address_i = static_cast<CData>(index);
    rtl_.Clock();
    ports_.read_i = 0;
    return ports_.read_data_o;
  }

  RtlTop<Top> rtl_{[](const Top&, std::vector<uint8_t>&) {}};
  Top& ports_ = rtl_.ports();
};
TYPED_TEST_SUITE(TableReset, Tops);

// Also one whose sweep a second reset interrupts.
TYPED_TEST(TableReset, ClearsEveryEntry) {
  for (unsigned cycles = 0; cycles <= TestFixture::kEntries; ++cycles) {
    for (unsigned index = 0; index < TestFixture::kEntries; ++index) this->Write(index, 77 + index);
    this->rtl_.Clock();
    this->rtl_.Reset();
    for (unsigned cycle = 0; cycle < cycles; ++cycle) this->rtl_.Clock();
    this->rtl_.Reset();
    for (unsigned cycle = 0; cycle < TestFixture::kEntries; ++cycle) this->rtl_.Clock();
    for (unsigned index = 0; index < TestFixture::kEntries; ++index)
      EXPECT_EQ(this->Read(index), 0u) << index << " after " << cycles;
  }
}

// The last entry is the last to be cleared.
TYPED_TEST(TableReset, EntriesAreZeroAtOnce) {
  for (unsigned index = 0; index < TestFixture::kEntries; ++index) {
    this->Write(index, 77);
    this->rtl_.Clock();
    this->rtl_.Reset();
    for (unsigned cycle = 0; cycle < TestFixture::kEntries; ++cycle)
      EXPECT_EQ(this->Read(index), 0u) << index << " in cycle " << cycle;
  }
}

// A write after so many cycles stays; one of zero before has no effect, so its owner may clear entries meanwhile.
TYPED_TEST(TableReset, TakesAsManyCyclesAsEntries) {
  this->Write(3, 77);
  this->rtl_.Clock();
  this->rtl_.Reset();
  for (unsigned cycle = 0; cycle < TestFixture::kEntries; ++cycle) this->Write(3, 0);
  this->Write(3, 78);
  this->Write(7, 79);
  for (unsigned cycle = 0; cycle < 2 * TestFixture::kEntries; ++cycle) this->rtl_.Clock();
  EXPECT_EQ(this->Read(3), 78u);
  EXPECT_EQ(this->Read(7), 79u);
}

TYPED_TEST(TableReset, NeedsNoTimeIfNothingWasWritten) {
  this->rtl_.Reset();
  this->Write(3, 77);
  for (unsigned cycle = 0; cycle < 2 * TestFixture::kEntries; ++cycle) this->rtl_.Clock();
  EXPECT_EQ(this->Read(3), 77u);
  EXPECT_EQ(this->Read(4), 0u);
}

}  // namespace
}  // namespace vireo::verif
