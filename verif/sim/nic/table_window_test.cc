// SPDX-License-Identifier: Apache-2.0
// What was written to a table, when firmware does not write words that are there already.
#include "sim/nic/table_window.h"

#include <gtest/gtest.h>

#include <array>

namespace vireo::sim {
namespace {

using spec::MgmtTable;
using spec::MgmtTableOperation;

class SimTableWindow : public testing::Test {
 protected:
  std::optional<TableWindow::Write> Event(EventKind kind, uint64_t address, uint32_t value) {
    const std::array<uint8_t, 4> payload = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
                                            static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 24)};
    BoundaryEvent event{.kind = kind, .address = address, .bytes = 4, .payload = {}};
    if (kind != EventKind::kCsrRead) event.payload = payload;
    return window_.OnEvent(event);
  }
  void SetWord(size_t offset, uint32_t value) {
    EXPECT_FALSE(Event(EventKind::kCsrWrite, spec::kMgmtTableDataRegister + offset, value));
  }
  void Answer(uint64_t address, uint32_t value) {
    EXPECT_FALSE(Event(EventKind::kCsrRead, address, 0));
    EXPECT_FALSE(Event(EventKind::kCsrCompletion, 0, value));
  }
  std::optional<TableWindow::Write> Run(MgmtTable table, uint32_t index, MgmtTableOperation operation) {
    EXPECT_FALSE(Event(EventKind::kCsrWrite, spec::kMgmtTableIndexRegister, index));
    return Event(EventKind::kCsrWrite, spec::kMgmtTableCommandRegister,
                 spec::MgmtTableCommand{.table_id = table, .operation = operation}.ToWord());
  }
  // Writes what is there.
  template <typename Entry>
  Entry Written(MgmtTable table, uint32_t index) {
    const auto write = Run(table, index, MgmtTableOperation::kWrite);
    EXPECT_TRUE(write && write->table == table && write->index == index);
    return write ? Entry::Decode(write->entry) : Entry{};
  }
  template <typename Entry>
  void Set(const Entry& entry) {
    std::array<uint8_t, TableWindow::kBytes> bytes{};
    entry.Encode(bytes.data());
    for (size_t at = 0; at < Entry::kBytes; at += 4) {
      SetWord(at,
              bytes[at] | uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at + 2]} << 16 | uint32_t{bytes[at + 3]} << 24);
    }
  }

  static constexpr spec::TableVirtqueue kQueue = {.kind = spec::TableQueueKind::kSq,
                                                  .reset_positions = true,
                                                  .limit = 9,
                                                  .owner = 3,
                                                  .coal_max_usecs = 8,
                                                  .next_avail = 7};
  TableWindow window_;
};

TEST_F(SimTableWindow, WordsStayUntilTheyAreWritten) {
  Set(kQueue);
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5), kQueue);
  SetWord(spec::TableVirtqueue::kOwnerOffset, 4);
  auto expected = kQueue;
  expected.owner = 4;
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 6), expected);
}

TEST_F(SimTableWindow, AReadBringsTheKeptWordsOfItsEntry) {
  Set(kQueue);
  Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5);
  Set(spec::TableGid{.valid = true, .vlan = 0x123});
  Written<spec::TableGid>(MgmtTable::kGid, 5);
  EXPECT_FALSE(Run(MgmtTable::kVirtqueue, 5, MgmtTableOperation::kRead));
  auto expected = kQueue;
  expected.reset_positions = false;  // a request
  expected.next_avail = 0;           // not kept
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5), expected);
  EXPECT_FALSE(Run(MgmtTable::kVirtqueue, 6, MgmtTableOperation::kRead));  // was never written
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 6), spec::TableVirtqueue{});
}

TEST_F(SimTableWindow, WordsThatAreReadCount) {
  EXPECT_FALSE(Run(MgmtTable::kQpContext, 2, MgmtTableOperation::kRead));
  Answer(spec::kMgmtTableDataRegister + spec::TableQpContext::kNextPsnOffset, 0x345);
  Answer(spec::kMgmtStatusRegister, 0xffffffff);  // another register
  EXPECT_FALSE(Event(EventKind::kCsrCompletion, 0, 0xffffffff));
  EXPECT_EQ(Written<spec::TableQpContext>(MgmtTable::kQpContext, 2), spec::TableQpContext{.next_psn = 0x345});
}

TEST_F(SimTableWindow, AClearIsAWriteOfZeros) {
  Set(kQueue);
  Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5);
  const auto write = Run(MgmtTable::kVirtqueue, 5, MgmtTableOperation::kClear);
  ASSERT_TRUE(write);
  EXPECT_EQ(spec::TableVirtqueue::Decode(write->entry), spec::TableVirtqueue{});
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 6), spec::TableVirtqueue{});
  EXPECT_FALSE(Run(MgmtTable::kVirtqueue, 5, MgmtTableOperation::kRead));
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5), spec::TableVirtqueue{});
}

TEST_F(SimTableWindow, AResetEndsAll) {
  Set(kQueue);
  Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5);
  EXPECT_FALSE(Event(EventKind::kReset, 0, 0));
  EXPECT_FALSE(Run(MgmtTable::kVirtqueue, 5, MgmtTableOperation::kRead));
  EXPECT_EQ(Written<spec::TableVirtqueue>(MgmtTable::kVirtqueue, 5), spec::TableVirtqueue{});
}

}  // namespace
}  // namespace vireo::sim
