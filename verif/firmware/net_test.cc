// SPDX-License-Identifier: Apache-2.0
// virtio-net commands: effects, refusals, and that a refused command has no side effects.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

using spec::NetCtrlClass;
using spec::NetFeature;

const std::set<uint32_t> kEverything = {
    Bit(NetFeature::kCtrlRx),      Bit(NetFeature::kCtrlRxExtra),   Bit(NetFeature::kCtrlVlan),
    Bit(NetFeature::kMq),          Bit(NetFeature::kRss),           Bit(NetFeature::kHashReport),
    Bit(NetFeature::kCtrlMacAddr), Bit(NetFeature::kGuestAnnounce), Bit(NetFeature::kCtrlGuestOffloads),
    Bit(NetFeature::kNotfCoal),    Bit(NetFeature::kVqNotfCoal),    Bit(NetFeature::kGuestCsum),
    Bit(NetFeature::kGuestTso4),   Bit(NetFeature::kGuestUso6),     Bit(NetFeature::kGuestUdpTunnelGso)};

class Net : public FirmwareTest {
 protected:
  void SetUp() override { UseNet(kEverything); }
  void UseNet(const std::set<uint32_t>& features, spec::Profile profile = spec::Profile::kVireo) {
    Use({.profile = profile,
         .config = &spec::kNic100,
         .features = features,
         .has_roce = profile == spec::Profile::kVireo});
  }
  template <typename Command>
  void Refused(NetCtrlClass ctrl_class, Command command, const std::vector<uint8_t>& request) {
    const auto before = device().Snapshot();
    EXPECT_FALSE(bench().Net(ctrl_class, command, request)) << int(ctrl_class) << "." << int(command);
    EXPECT_TRUE(device().Snapshot() == before);
  }
  spec::MgmtRxMode RxMode() { return device().RegisterAs<spec::MgmtRxMode>(spec::kMgmtRxModeRegister); }
};

std::vector<uint8_t> Join(std::initializer_list<std::vector<uint8_t>> parts) {
  std::vector<uint8_t> bytes;
  for (const auto& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

// --- rx --------------------------------------------------------------------------------------------------------------

TEST_F(Net, EveryRxModeIsSetAndCleared) {
  using Cmd = spec::NetCtrlRxCmd;
  const std::pair<Cmd, bool spec::MgmtRxMode::*> modes[] = {
      {Cmd::kPromisc, &spec::MgmtRxMode::promiscuous}, {Cmd::kAllmulti, &spec::MgmtRxMode::all_multicast},
      {Cmd::kAlluni, &spec::MgmtRxMode::all_unicast},  {Cmd::kNomulti, &spec::MgmtRxMode::no_multicast},
      {Cmd::kNouni, &spec::MgmtRxMode::no_unicast},    {Cmd::kNobcast, &spec::MgmtRxMode::no_broadcast},
  };
  spec::MgmtRxMode expected{.vlan_filter = true};
  for (const auto& [command, mode] : modes) {
    EXPECT_TRUE(bench().Net(NetCtrlClass::kRx, command, {1}));
    expected.*mode = true;
    EXPECT_EQ(RxMode(), expected);
    Refused(NetCtrlClass::kRx, command, {2});
    Refused(NetCtrlClass::kRx, command, {});
  }
  for (const auto& [command, mode] : modes) {
    EXPECT_TRUE(bench().Net(NetCtrlClass::kRx, command, {0}));
    expected.*mode = false;
    EXPECT_EQ(RxMode(), expected);
  }
}

TEST_F(Net, RxExtraNeedsItsFeature) {
  UseNet({Bit(NetFeature::kCtrlRx)});
  EXPECT_TRUE(bench().Net(NetCtrlClass::kRx, spec::NetCtrlRxCmd::kPromisc, {1}));
  EXPECT_TRUE(bench().Net(NetCtrlClass::kRx, spec::NetCtrlRxCmd::kAllmulti, {1}));
  for (unsigned command = 2; command < 256; ++command) Refused(NetCtrlClass::kRx, command, {1});
}

// --- mac -------------------------------------------------------------------------------------------------------------

std::vector<uint8_t> MacList(uint32_t entries, uint8_t first_byte) {
  auto bytes = BytesOf(spec::NetCtrlMac{.entries = entries});
  for (uint32_t i = 0; i < entries; ++i) {
    for (uint8_t byte :
         {first_byte, uint8_t{0}, uint8_t{0}, uint8_t{0}, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)}) {
      bytes.push_back(byte);
    }
  }
  return bytes;
}

TEST_F(Net, TheMacTableIsReplacedAsAWhole) {
  const auto set = [&](uint32_t unicast, uint32_t multicast) {
    EXPECT_TRUE(bench().Net(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kTableSet,
                            Join({MacList(unicast, 2), MacList(multicast, 3)})));
    std::multiset<std::pair<uint8_t, uint8_t>> found;
    for (uint32_t i = 0; i < spec::kTableMacFilterEntries; ++i) {
      const auto entry = device().Get<spec::TableMacFilter>(MgmtTable::kMacFilter, i);
      if (entry.valid) found.insert({entry.mac[0], entry.mac[5]});
    }
    return found;
  };
  EXPECT_EQ(set(2, 1), (std::multiset<std::pair<uint8_t, uint8_t>>{{2, 0}, {2, 1}, {3, 0}}));
  EXPECT_EQ(set(0, 1), (std::multiset<std::pair<uint8_t, uint8_t>>{{3, 0}}));
  EXPECT_EQ(set(60, 4).size(), 64u);
  EXPECT_FALSE(RxMode().all_unicast);
  EXPECT_FALSE(RxMode().all_multicast);
  // On overflow all frames of that kind are received.
  EXPECT_EQ(set(60, 5).size(), 60u);
  EXPECT_FALSE(RxMode().all_unicast);
  EXPECT_TRUE(RxMode().all_multicast);
  EXPECT_EQ(set(65, 64).size(), 64u);
  EXPECT_TRUE(RxMode().all_unicast);
  EXPECT_FALSE(RxMode().all_multicast);
  EXPECT_EQ(set(1000, 1000).size(), 0u);
  EXPECT_TRUE(RxMode().all_unicast);
  EXPECT_TRUE(RxMode().all_multicast);
  EXPECT_EQ(set(0, 0).size(), 0u);
  EXPECT_FALSE(RxMode().all_unicast);
  EXPECT_FALSE(RxMode().all_multicast);
}

TEST_F(Net, WithoutCtrlRxTheDeviceIsPromiscuous) {
  EXPECT_FALSE(RxMode().promiscuous);
  UseNet({Bit(NetFeature::kCtrlVlan)});
  EXPECT_EQ(RxMode(), (spec::MgmtRxMode{.promiscuous = true, .vlan_filter = true}));
}

TEST_F(Net, TruncatedMacTableChangesNothing) {
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kTableSet, Join({MacList(3, 2), MacList(3, 3)})));
  const auto whole = Join({MacList(90, 2), MacList(90, 3)});
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    Refused(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kTableSet,
            {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes)});
  }
  auto endless = whole;
  std::fill(endless.begin(), endless.begin() + 4, 0xff);
  Refused(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kTableSet, endless);
  // Fetch error in the second chunk.
  const auto list = Join({MacList(0, 2), MacList(64, 3), std::vector<uint8_t>(600)});
  const auto long_list = Join({MacList(30, 2), MacList(34, 3), std::vector<uint8_t>(600)});
  const auto before = device().Snapshot();
  for (const auto& request : {list, long_list}) {
    const Answer answer = bench().Send(static_cast<uint8_t>(NetCtrlClass::kMac),
                                       static_cast<uint8_t>(spec::NetCtrlMacCmd::kTableSet), request, 1, 300);
    EXPECT_NE(answer.error(), RdmaError::kOk);
    EXPECT_TRUE(device().Snapshot() == before);
  }
}

TEST_F(Net, MacAddressIsSetAndRestoredByReset) {
  const uint32_t low = device().Register(spec::kMgmtMacLowRegister),
                 high = device().Register(spec::kMgmtMacHighRegister);
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kAddrSet, {2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(device().Register(spec::kMgmtMacLowRegister), 0x05040302u);
  EXPECT_EQ(device().Register(spec::kMgmtMacHighRegister), 0x0706u);
  Refused(NetCtrlClass::kMac, spec::NetCtrlMacCmd::kAddrSet, {2, 3, 4, 5, 6});
  bench().Restart();
  EXPECT_EQ(device().Register(spec::kMgmtMacLowRegister), low);
  EXPECT_EQ(device().Register(spec::kMgmtMacHighRegister), high);
}

// --- vlan, announce --------------------------------------------------------------------------------------------------

TEST_F(Net, VlansAreAddedAndDeleted) {
  using Cmd = spec::NetCtrlVlanCmd;
  EXPECT_TRUE(RxMode().vlan_filter);
  const auto members = [&](uint32_t index) {
    return device().Get<spec::TableVlanFilter>(MgmtTable::kVlanFilter, index).members;
  };
  for (uint16_t vlan : std::initializer_list<uint16_t>{0, 31, 32, 4095}) {
    EXPECT_TRUE(bench().Net(NetCtrlClass::kVlan, Cmd::kAdd, BytesOf(spec::NetCtrlVlan{.vlan_id = vlan})));
  }
  EXPECT_EQ(members(0), 0x80000001u);
  EXPECT_EQ(members(1), 1u);
  EXPECT_EQ(members(127), 0x80000000u);
  EXPECT_TRUE(bench().Net(NetCtrlClass::kVlan, Cmd::kDel, BytesOf(spec::NetCtrlVlan{.vlan_id = 31})));
  EXPECT_TRUE(bench().Net(NetCtrlClass::kVlan, Cmd::kDel, BytesOf(spec::NetCtrlVlan{.vlan_id = 100})))
      << "not a member";
  EXPECT_EQ(members(0), 1u);
  for (uint32_t vlan : {4096u, 0xffffu}) {
    Refused(NetCtrlClass::kVlan, Cmd::kAdd, BytesOf(spec::NetCtrlVlan{.vlan_id = static_cast<uint16_t>(vlan)}));
    Refused(NetCtrlClass::kVlan, Cmd::kDel, BytesOf(spec::NetCtrlVlan{.vlan_id = static_cast<uint16_t>(vlan)}));
  }
  Refused(NetCtrlClass::kVlan, Cmd::kAdd, {1});
  UseNet({});
  EXPECT_FALSE(RxMode().vlan_filter);
  Refused(NetCtrlClass::kVlan, Cmd::kAdd, {1, 0});
}

TEST_F(Net, AnnounceIsAcknowledged) {
  auto control = device().RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister);
  EXPECT_TRUE(control.datapath_enable);
  EXPECT_TRUE(bench().Net(NetCtrlClass::kAnnounce, spec::NetCtrlAnnounceCmd::kAck));
  EXPECT_EQ(device().RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister), control);
  Refused(NetCtrlClass::kAnnounce, 1, {});
  UseNet({});
  Refused(NetCtrlClass::kAnnounce, spec::NetCtrlAnnounceCmd::kAck, {});
}

// --- mq --------------------------------------------------------------------------------------------------------------

TEST_F(Net, QueuePairs) {
  const auto set = [](uint16_t pairs) { return BytesOf(spec::NetCtrlMqPairsSet{.virtqueue_pairs = pairs}); };
  for (uint16_t pairs : std::initializer_list<uint16_t>{1, 7, 16}) {
    EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kVqPairsSet, set(pairs)));
    EXPECT_EQ(device().Register(spec::kMgmtActiveQueuePairsRegister), pairs);
  }
  for (uint16_t pairs : std::initializer_list<uint16_t>{0, 17, 0x8000, 0xffff})
    Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kVqPairsSet, set(pairs));
  bench().Restart();
  EXPECT_EQ(device().Register(spec::kMgmtActiveQueuePairsRegister), 1u);
  UseNet({Bit(NetFeature::kRss)});
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kVqPairsSet, set(1));
}

struct Rss {
  spec::NetRssConfigHdr header{
      .hash_types = 0x1ff, .indirection_table_mask = 127, .unclassified_queue = {.vq_index_1_16 = 15}};
  std::vector<uint16_t> table = std::vector<uint16_t>(128, 3);
  spec::NetRssConfigTrailer trailer{.max_tx_vq = 16, .hash_key_length = 40};
  std::vector<uint8_t> key = std::vector<uint8_t>(40, 0x6d);

  std::vector<uint8_t> Bytes() const {
    auto bytes = BytesOf(header);
    for (uint16_t pair : table) {
      bytes.push_back(static_cast<uint8_t>(pair));
      bytes.push_back(static_cast<uint8_t>(pair >> 8));
    }
    return Join({bytes, BytesOf(trailer), key});
  }
};

TEST_F(Net, RssIsConfigured) {
  Rss rss;
  for (uint16_t i = 0; i < 128; ++i) rss.table[i] = static_cast<uint16_t>(i % 16);
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kRssConfig, rss.Bytes()));
  spec::TableRssConfig expected{.steer = true,
                                .unclassified_pair = 15,
                                .indirection_table_mask = 127,
                                .hash_types = 0x1ff,
                                .hash_key_length = 40};
  std::fill(std::begin(expected.hash_key_data), std::end(expected.hash_key_data), 0x6d);
  EXPECT_EQ(device().Get<spec::TableRssConfig>(MgmtTable::kRss, 0), expected);
  for (uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(device().Get<spec::TableRss>(MgmtTable::kRss, 1 + i / 32).pair[i % 32], i % 16);
  }
  EXPECT_EQ(device().Register(spec::kMgmtActiveQueuePairsRegister), 16u);
  // The last command applies.
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kVqPairsSet, {4, 0}));
  EXPECT_FALSE(device().Get<spec::TableRssConfig>(MgmtTable::kRss, 0).steer);
}

TEST_F(Net, ABadRssConfigurationChangesNothing) {
  const auto refuse = [&](auto change) {
    Rss rss;
    change(rss);
    Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kRssConfig, rss.Bytes());
  };
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kRssConfig, Rss{}.Bytes()));
  refuse([](Rss& rss) { rss.header.hash_types = 0x200; });
  refuse([](Rss& rss) { rss.header.indirection_table_mask = 126; });
  refuse([](Rss& rss) { rss.header.indirection_table_mask = 255; });
  refuse([](Rss& rss) { rss.header.indirection_table_mask = 0xffff; });
  refuse([](Rss& rss) { rss.header.unclassified_queue.vq_index_1_16 = 16; });
  refuse([](Rss& rss) { rss.table[127] = 16; });
  refuse([](Rss& rss) { rss.table[0] = 0x4000; });
  refuse([](Rss& rss) { rss.trailer.max_tx_vq = 0; });
  refuse([](Rss& rss) { rss.trailer.max_tx_vq = 17; });
  refuse([](Rss& rss) {
    rss.trailer.hash_key_length = 41;
    rss.key.resize(41);
  });
  refuse([](Rss& rss) { rss.key.pop_back(); });
  refuse([](Rss& rss) {
    rss.key.clear();
    rss.table.pop_back();
  });
  UseNet({Bit(NetFeature::kMq)});
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kRssConfig, Rss{}.Bytes());
}

TEST_F(Net, HashIsConfigured) {
  const auto request = [](uint32_t types, uint8_t length, size_t bytes) {
    return Join(
        {BytesOf(spec::NetHashConfig{.hash_types = types, .hash_key_length = length}), std::vector<uint8_t>(bytes, 9)});
  };
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(3, 40, 40)));
  EXPECT_EQ(device().Get<spec::TableRssConfig>(MgmtTable::kRss, 0).hash_types, 3u);
  EXPECT_FALSE(device().Get<spec::TableRssConfig>(MgmtTable::kRss, 0).steer);
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(0x200, 40, 40));
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(3, 41, 41));
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(3, 40, 39));
  EXPECT_TRUE(bench().Net(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(0, 0, 0)));
  UseNet({Bit(NetFeature::kRss)});
  Refused(NetCtrlClass::kMq, spec::NetCtrlMqCmd::kHashConfig, request(3, 40, 40));
}

// --- guest_offloads, notf_coal ---------------------------------------------------------------------------------------

TEST_F(Net, GuestOffloadsAreThoseThatWereAccepted) {
  using Flags = spec::NetGuestOffloads;
  const uint64_t all = Flags::kGuestCsum | Flags::kGuestTso4 | Flags::kGuestUso6 | Flags::kGuestUdpTunnelGsoMapped;
  const auto set = [](uint64_t offloads) { return BytesOf(spec::NetCtrlGuestOffloads{.offloads = offloads}); };
  EXPECT_EQ(bench().Queue(0).guest_offloads, all) << "all enabled after negotiation";
  EXPECT_TRUE(bench().Net(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet, set(Flags::kGuestTso4)));
  for (uint32_t pair = 0; pair < 16; ++pair) {
    EXPECT_EQ(bench().Queue(2 * pair).guest_offloads, Flags::kGuestTso4);
    EXPECT_EQ(bench().Queue(2 * pair + 1).guest_offloads, 0u);
  }
  Refused(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet, set(Flags::kGuestTso6));
  Refused(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet, set(1));
  Refused(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet, std::vector<uint8_t>(7));
  UseNet({Bit(NetFeature::kGuestCsum)});
  Refused(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet, set(0));
}

TEST_F(Net, RfcV2Bit55IsNotAnOffload) {
  auto features = kEverything;
  features.insert(spec::ConstantsOf(spec::Profile::kRfcV2).net_f_roce);
  UseNet(features, spec::Profile::kRfcV2);
  EXPECT_EQ(bench().Queue(0).guest_offloads & spec::NetGuestOffloads::kGuestUso6, 0u);
  Refused(NetCtrlClass::kGuestOffloads, spec::NetCtrlGuestOffloadsCmd::kSet,
          BytesOf(spec::NetCtrlGuestOffloads{.offloads = spec::NetGuestOffloads::kGuestUso6}));
}

TEST_F(Net, CoalescingOfAllQueuesAndOfOne) {
  using Cmd = spec::NetCtrlNotfCoalCmd;
  const auto get = [&](uint16_t index) {
    const Answer answer = bench().Send(static_cast<uint8_t>(NetCtrlClass::kNotfCoal), static_cast<uint8_t>(Cmd::kVqGet),
                                       BytesOf(spec::NetCtrlCoalVqGet{.vq_index = index}), 9);
    EXPECT_EQ(answer.bytes.size(), 9u);
    EXPECT_EQ(answer.bytes.back(), 0) << "this response precedes the ack byte";
    return spec::NetCtrlCoal::Decode(answer.bytes.data());
  };
  for (uint32_t index = 0; index < 32; ++index) device().EnableQueue(index);
  EXPECT_TRUE(
      bench().Net(NetCtrlClass::kNotfCoal, Cmd::kTxSet, BytesOf(spec::NetCtrlCoal{.max_packets = 4, .max_usecs = 5})));
  EXPECT_TRUE(
      bench().Net(NetCtrlClass::kNotfCoal, Cmd::kRxSet, BytesOf(spec::NetCtrlCoal{.max_packets = 6, .max_usecs = 7})));
  EXPECT_EQ(get(0), (spec::NetCtrlCoal{.max_packets = 6, .max_usecs = 7}));
  EXPECT_EQ(get(31), (spec::NetCtrlCoal{.max_packets = 4, .max_usecs = 5}));
  EXPECT_TRUE(bench().Net(NetCtrlClass::kNotfCoal, Cmd::kVqSet,
                          BytesOf(spec::NetCtrlCoalVq{.vq_index = 4, .coal = {.max_packets = 8, .max_usecs = 9}})));
  EXPECT_EQ(get(4), (spec::NetCtrlCoal{.max_packets = 8, .max_usecs = 9}));
  EXPECT_EQ(get(6), (spec::NetCtrlCoal{.max_packets = 6, .max_usecs = 7}));
  EXPECT_EQ(bench().Queue(4).guest_offloads, bench().Queue(6).guest_offloads);
  // Reset of one queue restores the default of all queues.
  device().ResetQueue(4);
  bench().Settle();
  EXPECT_EQ(bench().Queue(4).coal_max_packets, 6u);
  const auto vq_set = [](uint16_t index) { return BytesOf(spec::NetCtrlCoalVq{.vq_index = index}); };
  Refused(NetCtrlClass::kNotfCoal, Cmd::kVqSet, vq_set(4));  // not enabled
  for (uint16_t index : std::initializer_list<uint16_t>{32, 33, 0xffff})
    Refused(NetCtrlClass::kNotfCoal, Cmd::kVqSet, vq_set(index));
  for (uint16_t index : std::initializer_list<uint16_t>{4, 32}) {
    const Answer answer = bench().Send(static_cast<uint8_t>(NetCtrlClass::kNotfCoal), static_cast<uint8_t>(Cmd::kVqGet),
                                       BytesOf(spec::NetCtrlCoalVqGet{.vq_index = index}), 9);
    EXPECT_EQ(answer.bytes.back(), 1);
  }
  bench().Restart();
  EXPECT_EQ(bench().Queue(6).coal_max_packets, 0u);
  UseNet({Bit(NetFeature::kNotfCoal)});
  Refused(NetCtrlClass::kNotfCoal, Cmd::kVqSet, vq_set(0));
  UseNet({Bit(NetFeature::kVqNotfCoal)});
  Refused(NetCtrlClass::kNotfCoal, Cmd::kTxSet, std::vector<uint8_t>(8));
}

// --- Unknown classes and commands ------------------------------------------------------------------------------------

TEST_F(Net, UnknownClassesAndCommandsAreRefused) {
  for (unsigned ctrl_class = 0; ctrl_class < 256; ++ctrl_class) {
    if (ctrl_class == bench().roce_class()) continue;
    for (unsigned command : {4u, 6u, 100u, 255u}) {
      if (ctrl_class == 0 && command == 4) continue;
      Refused(NetCtrlClass{static_cast<uint8_t>(ctrl_class)}, command, std::vector<uint8_t>(300));
    }
  }
}

TEST_F(Net, Class6IsRoceInRfcV2) {
  auto features = kEverything;
  features.erase(spec::ConstantsOf(spec::Profile::kRfcV2).net_f_roce);  // today the bit is another feature
  UseNet(features, spec::Profile::kRfcV2);
  EXPECT_EQ(bench().roce_class(), static_cast<uint8_t>(NetCtrlClass::kNotfCoal));
  const Answer answer = bench().Roce(RdmaCtrlCmd::kQueryPort);
  EXPECT_EQ(answer.error(), RdmaError::kErr) << "net_f_roce was not accepted";
  EXPECT_FALSE(bench().Net(NetCtrlClass{spec::ConstantsOf(spec::Profile::kVireo).net_ctrl_class_roce}, 0));
}

TEST_F(Net, ARequestWithoutAHeaderIsRefused) {
  for (const bool has_roce : {false, true}) {
    Use({.has_roce = has_roce});
    for (size_t bytes = 0; bytes < 2; ++bytes) {
      device().answers.clear();
      device().Post({.readable = std::vector<uint8_t>(bytes), .writable = 1});
      bench().Settle();
      const auto expected = has_roce ? RdmaError::kRequestTooShort : RdmaError::kErr;
      EXPECT_EQ(device().answers, std::vector<std::vector<uint8_t>>{{static_cast<uint8_t>(expected)}});
    }
    device().answers.clear();
    device().Post({.readable = std::vector<uint8_t>(20), .writable = 1, .fails_from = 5});
    bench().Settle();
    const auto expected = has_roce ? RdmaError::kDmaError : RdmaError::kErr;
    EXPECT_EQ(device().answers, std::vector<std::vector<uint8_t>>{{static_cast<uint8_t>(expected)}});
  }
}

TEST_F(Net, CommandWithoutRoomForAckIsNotExecuted) {
  const auto before = device().Snapshot();
  EXPECT_TRUE(bench().Send(static_cast<uint8_t>(NetCtrlClass::kRx), 0, {1}, 0).is_empty());
  EXPECT_TRUE(device().Snapshot() == before);
}

}  // namespace
}  // namespace vireo::verif
