// SPDX-License-Identifier: Apache-2.0
// The registers that firmware accesses for a table operation: no word of table_data that holds its value already, one
// read for each poll; and that the entry is right whatever the register held before.
#include "firmware/hal/device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sim/common/seed.h"
#include "verif/firmware/mock_device.h"

namespace vireo::verif {
namespace {

using spec::MgmtTable;

class FirmwareDevice : public testing::Test {
 protected:
  static constexpr uint32_t kMaxPolls = 20;

  ~FirmwareDevice() override { EXPECT_TRUE(mock_.violations().empty()) << mock_.violations().front(); }

  // Register accesses, and words of table_data among those that are written.
  template <typename Do>
  std::pair<uint64_t, uint64_t> Cost(const Do& execute) {
    const uint64_t accesses = mock_.accesses, words = mock_.table_words_written;
    execute();
    return {mock_.accesses - accesses, mock_.table_words_written - words};
  }
  static spec::TableGid Gid(uint8_t last) {
    spec::TableGid entry{.valid = true, .vlan = 5};
    entry.gid[0] = 0xfe;
    entry.gid[15] = last;
    return entry;
  }
  static spec::TableQpContext Context(uint8_t timeout) {
    spec::TableQpContext context{.state = spec::IbQpState::kRts, .qp_type = spec::IbQpType::kRc, .valid = true};
    context.timeout = timeout;
    context.pdn = 3;
    context.qkey = 0x1234567;
    context.path.dgid[3] = 7;
    return context;
  }

  MockDevice mock_{spec::kNic1, spec::Profile::kVireo};
  firmware::Device device_{mock_.MakeCsr(), kMaxPolls};
};

TEST_F(FirmwareDevice, WordsThatAreThereAreNotWritten) {
  EXPECT_EQ(Cost([&] { device_.WriteEntry(1, Gid(1)); }).second, 6u);  // what it holds is not known
  EXPECT_EQ(Cost([&] { device_.WriteEntry(2, Gid(1)); }).second, 0u);
  EXPECT_EQ(Cost([&] { device_.WriteEntry(3, Gid(2)); }).second, 1u);
  for (const uint32_t index : {1u, 2u}) EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, index), Gid(1));
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 3), Gid(2));
}

TEST_F(FirmwareDevice, AReadReplacesAllWords) {
  device_.WriteEntry(1, Gid(1));
  device_.WriteEntry(2, Gid(2));
  EXPECT_EQ(device_.ReadEntry<spec::TableGid>(1, firmware::WordAt(0)).vlan, 5);
  // The last word is that of the first entry again.
  EXPECT_EQ(Cost([&] { device_.WriteEntry(3, Gid(2)); }).second, 5u);
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 3), Gid(2));
}

TEST_F(FirmwareDevice, AClearLeavesZeros) {
  device_.WriteEntry(1, Gid(1));
  EXPECT_EQ(Cost([&] { device_.ClearEntry<spec::TableGid>(1); }).second, 0u);
  EXPECT_EQ(Cost([&] { device_.WriteEntry(2, Gid(9)); }).second, 3u);
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 1), spec::TableGid{});
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 2), Gid(9));
}

TEST_F(FirmwareDevice, WordsThatWereNotReadStayInARewrite) {
  device_.WriteEntry(4, Context(14));
  device_.ClearEntry<spec::TableGid>(0);
  constexpr auto kWords = firmware::WordAt(spec::TableQpContext::kMaxRdAtomicOffset);
  auto context = device_.ReadEntry<spec::TableQpContext>(4, kWords);
  EXPECT_EQ(context.timeout, 14);
  EXPECT_EQ(context.qkey, 0u);  // not read
  context.timeout = 15;
  EXPECT_EQ(Cost([&] { device_.RewriteEntry(4, context, kWords); }).second, 1u);
  EXPECT_EQ(mock_.Qp(4), Context(15));
}

TEST_F(FirmwareDevice, TransportStateIsWrittenOnlyToLoadIt) {
  auto context = Context(14);
  context.next_psn = 5;
  context.expected_psn = 6;
  EXPECT_EQ(Cost([&] { device_.WriteEntry(4, context); }).second, 20u);
  EXPECT_EQ(mock_.Qp(4).next_psn, 0u);
  context.load_requester = true;
  EXPECT_EQ(Cost([&] { device_.WriteEntry(4, context); }).second, 1u + 6u);
  EXPECT_EQ(mock_.Qp(4).next_psn, 5u);
  EXPECT_EQ(mock_.Qp(4).expected_psn, 0u);
  context.load_responder = true;
  EXPECT_EQ(Cost([&] { device_.WriteEntry(4, context); }).second, 1u + 5u);
  EXPECT_EQ(mock_.Qp(4).expected_psn, 6u);
}

TEST_F(FirmwareDevice, AnErrorLeavesNothingKnown) {
  device_.WriteEntry(1, Gid(1));
  mock_.corrupt_entries.insert({MgmtTable::kGid, 1});
  spec::TableGid entry;
  EXPECT_FALSE(device_.TryReadEntry(1, &entry));
  EXPECT_FALSE(device_.broken());
  EXPECT_EQ(Cost([&] { device_.WriteEntry(2, Gid(1)); }).second, 6u);
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 2), Gid(1));

  // What a device does with a write while it is stuck is not known either.
  mock_.is_table_stuck = true;
  device_.WriteEntry(3, Gid(2));
  EXPECT_TRUE(device_.broken());
  mock_.is_table_stuck = false;
  device_.Repair();
  EXPECT_FALSE(device_.broken());
  EXPECT_EQ(Cost([&] { device_.WriteEntry(4, Gid(2)); }).second, 6u);
  EXPECT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, 4), Gid(2));
}

TEST_F(FirmwareDevice, TheLastPollHasTheError) {
  mock_.table_delay = 3;
  EXPECT_EQ(Cost([&] { device_.ClearEntry<spec::TableGid>(1); }).first, 2u + 4u);  // index, command, polls
  EXPECT_EQ(Cost([&] { device_.ClearEntry<spec::TableGid>(1); }).first, 1u + 4u);  // the index is there
  mock_.missing_tables.insert(MgmtTable::kGid);
  EXPECT_EQ(Cost([&] { device_.ClearEntry<spec::TableGid>(1); }).first, 1u + 4u);
  EXPECT_TRUE(device_.broken());
}

TEST_F(FirmwareDevice, RandomOperationsLeaveTheSameEntriesAsTheReference) {
  auto random = sim::MakeRandom("firmware_device");
  std::map<uint32_t, spec::TableQpContext> contexts;
  std::map<uint32_t, spec::TableGid> gids;
  const auto index = [&] { return static_cast<uint32_t>(random() % 3); };
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t at = index();
    switch (random() % 6) {
      case 0:
        contexts[at] = Context(static_cast<uint8_t>(random() % 3));
        contexts[at].dest_qpn = static_cast<uint32_t>(random() % 2);
        device_.WriteEntry(at, contexts[at]);
        break;
      case 1:
        gids[at] = Gid(static_cast<uint8_t>(random() % 3));
        device_.WriteEntry(at, gids[at]);
        break;
      case 2:
        contexts[at] = {};
        device_.ClearEntry<spec::TableQpContext>(at);
        break;
      case 3: ASSERT_EQ(device_.ReadEntry<spec::TableGid>(at), gids[at]); break;
      case 4: ASSERT_EQ(device_.ReadEntry<spec::TableQpContext>(at), contexts[at]); break;
      default: {
        const auto words = firmware::WordAt(spec::TableQpContext::kDestQpnOffset);
        auto context = device_.ReadEntry<spec::TableQpContext>(at, words);
        ASSERT_EQ(context.dest_qpn, contexts[at].dest_qpn);
        context.dest_qpn = contexts[at].dest_qpn = static_cast<uint32_t>(random() % 5);
        device_.RewriteEntry(at, context, words);
      }
    }
    ASSERT_EQ(mock_.Qp(at), contexts[at]) << i;
    ASSERT_EQ(mock_.Get<spec::TableGid>(MgmtTable::kGid, at), gids[at]) << i;
  }
}

}  // namespace
}  // namespace vireo::verif
