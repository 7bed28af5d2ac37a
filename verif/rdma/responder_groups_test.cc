// SPDX-License-Identifier: Apache-2.0
// The responder: multicast. Every queue pair that is attached to the group of a datagram gets a copy of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {
namespace {

using Group = std::array<uint8_t, 16>;
constexpr Group kGroup = {0xff, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xcd, 14, 15, 16};
constexpr Group kOther = {0xff, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 0xcd, 14, 15, 16};
constexpr Group kIpv4Group = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0x85, 2, 3};

spec::TableWrite Attachment(uint32_t row, uint32_t qpn, const Group& group, bool valid = true) {
  spec::TableMcast entry{.valid = valid, .qpn = qpn};
  std::ranges::copy(group, entry.mgid);
  spec::TableWrite write{.table_id = spec::MgmtTable::kMcast, .index = row};
  entry.Encode(write.data);
  return write;
}

RxToken ToGroup(const Group& group, uint16_t bytes = 8, BthOpcode opcode = BthOpcode::kUdSendOnly) {
  const bool is_ipv6 = group[0] == 0xff;
  RxToken token = TokenOf({.opcode = opcode, .psn = 0x123, .bytes = bytes, .is_ipv6 = is_ipv6});
  token.bth.dest_qp = spec::kMulticastQpn;
  std::ranges::copy(group, token.ip_destination);
  const std::array<uint8_t, 6> ipv6 = {0x33, 0x33, group[12], group[13], group[14], group[15]};
  const std::array<uint8_t, 6> ipv4 = {1, 0, 0x5e, static_cast<uint8_t>(group[13] & 0x7f), group[14], group[15]};
  std::ranges::copy(is_ipv6 ? ipv6 : ipv4, token.destination_mac);
  return token;
}

struct Groups : Ready {
  Groups() : Ready({.type = spec::IbQpType::kUd}) {}
  void Attach(uint32_t row, uint32_t qpn, const Group& group = kGroup, bool valid = true) {
    table.tokens.push_back(Attachment(row, qpn, group, valid));
    RunOut();
  }
  void AddQp(uint32_t qpn, bool has_receive = true) {
    Configure({.qpn = qpn, .type = spec::IbQpType::kUd}, IbQpState::kRts);
    if (has_receive) host.Post(qpn, {Host::Element(0x9000, 5000)});
  }
  // The QPs that received the datagram, in order. The last place, and no other, frees its frame.
  std::vector<uint32_t> Receivers(const RxToken& token) {
    frame.tokens.push_back(token);
    EXPECT_EQ(bench.RunOut(400), "");
    std::vector<uint32_t> receivers;
    const auto out = Take(places);
    for (size_t i = 0; i < out.size(); ++i) {
      const bool frees = !out[i].more && !out[i].copied;
      EXPECT_EQ(frees, i + 1 == out.size());
      if (frees) {
        EXPECT_EQ(Taken(out[i]), Taken(kDropped));
      }
      if (out[i].has_completion) {
        EXPECT_TRUE(out[i].copied);
        const auto cqe = spec::RdmaCqReq::Decode(out[i].completion.cqe);
        EXPECT_EQ(cqe.status, IbWcStatus::kSuccess);
        EXPECT_EQ(cqe.byte_len, token.payload_bytes + spec::kRdmaUdGrhBytes);
        receivers.push_back(cqe.qp_num);
      }
    }
    EXPECT_TRUE(block.IsIdle());
    return receivers;
  }
};

using Qpns = std::vector<uint32_t>;

TEST(ResponderGroups, EachAttachedQueuePairGetsACopy) {
  for (const Group& group : {kGroup, kIpv4Group}) {
    Groups bench;
    for (const uint32_t qpn : {5U, 9U, 14U}) bench.AddQp(qpn);
    bench.AddQp(3, false);
    EXPECT_EQ(bench.Receivers(ToGroup(group)), Qpns{});
    bench.Attach(1, 9, group);
    EXPECT_EQ(bench.Receivers(ToGroup(group)), Qpns{9});
    bench.host.Post(9, {Host::Element(0x9000, 5000)});
    bench.Attach(3, 5, group);
    bench.Attach(0, 3, group);  // which has no receive
    bench.Attach(2, 14, group);
    EXPECT_EQ(bench.Receivers(ToGroup(group)), (Qpns{9, 14, 5}));
    bench.ExpectFailures({});
  }
}

TEST(ResponderGroups, CopyIsADatagramLikeOthers) {
  Groups bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  bench.Attach(2, kQpn);
  const RxToken token = ToGroup(kGroup, 100);
  auto header = Scatter(token, 0, 0x9000, 40, kMore);
  header.offset = token.l3_offset;
  auto payload = With(
      Scatter(token, 0, 0x9028, 100),
      CompletionOf(
          posted, {.opcode = IbWcOpcode::kRecv, .byte_len = 140, .src_qp = 0x778899, .wc_flags = spec::IbWcFlags::kGrh},
          false));
  payload.copied = true;
  bench.Expect(token, {header, payload, kDropped});
  bench.ExpectFailures({});
}

TEST(ResponderGroups, OthersAreDropped) {
  Groups bench;
  bench.AddQp(kQpn);
  bench.Attach(0, kQpn);
  const std::vector<std::function<void(RxToken&)>> dropped = {
      [](RxToken& t) { t.destination_mac[5] ^= 1; },  [](RxToken& t) { std::ranges::copy(kMac, t.destination_mac); },
      [](RxToken& t) { t.ip_destination[0] = 0xfe; }, [](RxToken& t) { t.ip_destination[11] ^= 1; },
      [](RxToken& t) { t.bth.dest_qp = 0xfffffe; },   [](RxToken& t) { t.bth.dest_qp = kQpn; },
      [](RxToken& t) { t.bth.pkey = 0x1234; },        [](RxToken& t) { t.extension[0] ^= 0x80; },  // Q_Key
  };
  for (const auto& change : dropped) {
    RxToken token = ToGroup(kGroup);
    change(token);
    EXPECT_EQ(bench.Receivers(token), Qpns{});
  }
  for (const auto opcode : {BthOpcode::kRcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kRcRdmaWriteOnly}) {
    EXPECT_EQ(bench.Receivers(ToGroup(kGroup, 8, opcode)), Qpns{});
  }
  EXPECT_EQ(bench.Receivers(ToGroup(kOther)), Qpns{});
  bench.enable.rate = 0;
  EXPECT_EQ(bench.Receivers(ToGroup(kGroup)), Qpns{});
  bench.enable.rate = 16;
  bench.Attach(4, kQpn, kOther);  // there is no such row
  EXPECT_EQ(bench.Receivers(ToGroup(kOther)), Qpns{});
  EXPECT_EQ(bench.Receivers(ToGroup(kGroup)), Qpns{kQpn});
  bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  bench.Attach(0, 0, {}, false);
  EXPECT_EQ(bench.Receivers(ToGroup(kGroup)), Qpns{});
  bench.ExpectFailures({});
}

TEST(ResponderGroups, QueuePairMustReceiveDatagrams) {
  Groups bench;
  bench.Configure({.qpn = 7}, IbQpState::kRts);  // of RC
  bench.host.Post(7, {Host::Element(0x9000, 5000)});
  bench.AddQp(9);
  bench.Attach(0, 7);
  bench.Attach(1, 9);
  bench.qp_state.tokens.push_back({.qpn = 9, .state = IbQpState::kInit});
  bench.RunOut();
  EXPECT_EQ(bench.Receivers(ToGroup(kGroup)), Qpns{});
  bench.qp_state.tokens.push_back({.qpn = 9, .state = IbQpState::kRtr});
  bench.RunOut();
  EXPECT_EQ(bench.Receivers(ToGroup(kGroup)), Qpns{9});
}

// Found in a cycle, picked in the next; what is left is dropped as any other.
TEST(ResponderGroups, Latency) {
  const auto cycles = [](const std::function<void(Groups&)>& set_up, const RxToken& token, size_t places) {
    Groups bench;
    set_up(bench);
    bench.frame.tokens.push_back(token);
    unsigned count = 0;
    while (bench.place.count < places && count < 200) {
      EXPECT_EQ(bench.bench.Run(1), "");
      ++count;
    }
    return count;
  };
  const auto with = [](Groups& bench) {
    bench.AddQp(kQpn, false);
    bench.Attach(0, kQpn);
  };
  const auto without = [](Groups& bench) { bench.AddQp(kQpn, false); };
  RxToken unicast = ToGroup(kGroup);
  unicast.bth.dest_qp = 0xfffffe;
  const unsigned dropped = cycles(without, unicast, 1);
  EXPECT_EQ(cycles(with, unicast, 1), dropped);
  EXPECT_EQ(cycles(without, ToGroup(kGroup), 1), dropped + 1);
  EXPECT_EQ(cycles(with, ToGroup(kOther), 1), dropped + 1);
}

// RTL against model in every cycle; attachments change all the time.
TEST(ResponderGroups, RandomTraffic) {
  Groups bench;
  auto& random = bench.random;
  const auto below = [&random](uint64_t limit) { return random() % limit; };
  std::set<uint32_t> received;
  size_t copies = 0;
  for (uint32_t qpn = 2; qpn < 10; ++qpn) bench.AddQp(qpn);
  for (unsigned round = 0; round < 12; ++round) {
    for (uint32_t qpn = 2; qpn < 10; ++qpn) {
      while (bench.host.queues[qpn].size() < 20) {
        bench.host.Post(qpn, {Host::Element(0x9000 + 0x1000 * below(8), static_cast<uint32_t>(60 * below(3))),
                              Host::Element(0x9000, 2000)});
      }
    }
    bench.place.rate = bench.check.rate = bench.request.rate = 1 + static_cast<unsigned>(below(16));
    bench.memory.rate = bench.receive.rate = bench.frame.rate = 1 + static_cast<unsigned>(below(16));
    bench.table.rate = 1 + static_cast<unsigned>(below(16));
    bench.hold.toggles = static_cast<unsigned>(below(2) * below(8));
    const Group groups[] = {kGroup, kOther, kIpv4Group};
    for (unsigned i = 0; i < 30; ++i) {
      const auto qpn = static_cast<uint32_t>(2 + below(8));
      const auto bytes = static_cast<uint16_t>(below(200));
      if (below(3) == 0) {
        bench.Send({.opcode = BthOpcode::kUdSendOnly, .bytes = bytes, .qpn = qpn, .is_ipv6 = below(2) == 0});
      } else if (below(8) == 0) {
        bench.frame.tokens.push_back(NetOf(100));
      } else {
        bench.frame.tokens.push_back(ToGroup(groups[below(3)], bytes));
      }
      if (below(2) == 0) {
        bench.table.tokens.push_back(Attachment(static_cast<uint32_t>(below(5)), qpn, groups[below(3)], below(4) != 0));
      }
    }
    ASSERT_EQ(bench.bench.Run(1500), "");
    bench.hold.toggles = 0;
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.RunOut(40'000), "");
    for (const auto& place : Bench::Take(bench.places)) {
      copies += place.copied ? 1 : 0;
      if (place.copied && place.has_completion) received.insert(spec::RdmaCqReq::Decode(place.completion.cqe).qp_num);
    }
    bench.ExpectFailures({});
  }
  EXPECT_GT(copies, 100U);
  EXPECT_GE(received.size(), 6U);
}

}  // namespace
}  // namespace vireo::verif
