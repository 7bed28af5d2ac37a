// SPDX-License-Identifier: Apache-2.0
// The script's syntax, the effect of each fault on frames and their order, and the contract's field names as
// conditions.
#include "sim/wire/fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/rdma/icrc.h"
#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;

uint16_t Checksum(const uint8_t* bytes, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; i += 2) sum += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct Roce {
  BthOpcode opcode = BthOpcode::kRcSendOnly;
  uint32_t psn = 0, dest_qp = 2;
  bool vlan = false, ipv6 = false;
  spec::IpEcn ecn = spec::IpEcn::kEct0;
};

std::vector<uint8_t> MakeRoce(const Roce& roce) {
  std::vector<uint8_t> bytes;
  const auto add = [&bytes](const auto& header) {
    const size_t at = bytes.size();
    bytes.resize(at + header.kBytes);
    header.Encode(bytes.data() + at);
  };
  const auto ethertype = roce.ipv6 ? spec::Ethertype::kIpv6 : spec::Ethertype::kIpv4;
  spec::Ethernet ethernet;
  ethernet.ethertype = roce.vlan ? spec::Ethertype::kVlan : ethertype;
  add(ethernet);
  if (roce.vlan) {
    spec::VlanTag tag;
    tag.ethertype = ethertype;
    add(tag);
  }
  if (roce.ipv6) {
    spec::Ipv6 ip;
    ip.version = 6;
    ip.ecn = roce.ecn;
    ip.flow_label = 0x12345;
    ip.next_header = spec::IpProtocol::kUdp;
    add(ip);
  } else {
    spec::Ipv4 ip;
    ip.version = 4;
    ip.ihl = 5;
    ip.ecn = roce.ecn;
    ip.protocol = spec::IpProtocol::kUdp;
    ip.source = 0x0a000001;
    ip.destination = 0x0a000002;
    const size_t at = bytes.size();
    add(ip);
    ip.header_checksum = Checksum(bytes.data() + at, spec::Ipv4::kBytes);
    ip.Encode(bytes.data() + at);
  }
  spec::Udp udp;
  udp.destination_port = spec::kUdpPortRocev2;
  add(udp);
  spec::Bth bth;
  bth.opcode = roce.opcode;
  bth.psn = roce.psn;
  bth.dest_qp = roce.dest_qp;
  add(bth);
  bytes.resize(bytes.size() + 64 + spec::kIcrcBytes, 0x5a);
  return bytes;
}

class Receiver final : public FrameReceiver {
 public:
  explicit Receiver(const Scheduler& scheduler) : scheduler_(scheduler) {}
  void OnFrame(WireFrame frame) override {
    times.push_back(scheduler_.now());
    frames.push_back(std::move(frame));
  }
  std::vector<Picoseconds> times;
  std::vector<WireFrame> frames;

 private:
  const Scheduler& scheduler_;
};

struct World {
  explicit World(const std::string& text, uint64_t seed = 1)
      : wire(scheduler, {.rate_mbps = 100'000, .delay_ns = 0}),
        receiver(scheduler),
        injector(scheduler, wire, receiver, ParseFaultScript(text).rules, std::mt19937_64(seed)) {
    EXPECT_EQ(ParseFaultScript(text).error, "");
    injector.OnDrop([this](const WireFrame& frame) { dropped.push_back(frame); });
  }
  // Sends frames of PSN 0 … count - 1, one per microsecond.
  void Send(uint32_t count, Roce roce = {}) {
    for (uint32_t psn = 0; psn < count; ++psn) {
      roce.psn = psn;
      SendAt(psn * Picoseconds{1'000'000}, MakeRoce(roce));
    }
    Run();
  }
  void SendAt(Picoseconds time, std::vector<uint8_t> bytes) {
    scheduler.Call(time, [this, bytes] { injector.OnFrame({bytes, false, ""}); });
  }
  void Run() {
    scheduler.RunUntil([] { return false; }, kForever);
    EXPECT_TRUE(injector.IsIdle());
  }
  std::vector<uint32_t> Psns() const {
    std::vector<uint32_t> psns;
    for (const auto& frame : receiver.frames) psns.push_back(FindRoce(frame.bytes)->bth.psn);
    return psns;
  }

  StandaloneScheduler scheduler;
  Wire wire;
  Receiver receiver;
  FaultInjector injector;
  std::vector<WireFrame> dropped;
};

TEST(FindRoce, FindsTheBthBehindEveryHeader) {
  for (const bool vlan : {false, true}) {
    for (const bool ipv6 : {false, true}) {
      auto bytes = MakeRoce(
          {.opcode = BthOpcode::kUdSendOnly, .psn = 0xabcdef, .dest_qp = 0x123456, .vlan = vlan, .ipv6 = ipv6});
      const auto roce = FindRoce(bytes);
      ASSERT_TRUE(roce);
      EXPECT_EQ(roce->bth.opcode, BthOpcode::kUdSendOnly);
      EXPECT_EQ(roce->bth.psn, 0xabcdefu);
      EXPECT_EQ(roce->bth.dest_qp, 0x123456u);
      EXPECT_EQ(roce->is_ipv6, ipv6);
      // A frame too short for the BTH has none.
      const size_t end = roce->bth_offset + spec::Bth::kBytes;
      for (size_t length = 0; length < end; ++length) EXPECT_FALSE(FindRoce(std::span(bytes).first(length)));
      EXPECT_TRUE(FindRoce(std::span(bytes).first(end)));
      bytes[roce->bth_offset - spec::Udp::kBytes + spec::Udp::kDestinationPortOffset] ^= 1;
      EXPECT_FALSE(FindRoce(bytes));
    }
  }
  EXPECT_FALSE(FindRoce(std::vector<uint8_t>(100)));
}

TEST(FaultScript, ParsesEveryKeyword) {
  const auto script = ParseFaultScript(
      "# a comment\n"
      "drop opcode=rc_rdma_write_middle nth=2 ; duplicate 3 psn=0x10\n"
      "\n"
      "  corrupt 0x1f0 bad_fcs qp=17 count=4 rate=0.25  # here too\n"
      "reorder 2;delay 500;truncate 40 bad_fcs;ecn_mark rate=1;corrupt rate=0.000001;drop rate=0;"
      "corrupt part=icrc;oversize 9000;pause 3;psn_gap;ghost 7;stale 2;link_down 100");
  ASSERT_EQ(script.error, "");
  ASSERT_EQ(script.rules.size(), 16u);
  EXPECT_EQ(script.rules[0].kind, FaultKind::kDrop);
  EXPECT_EQ(script.rules[0].opcode, BthOpcode::kRcRdmaWriteMiddle);
  EXPECT_EQ(script.rules[0].nth, 2u);
  EXPECT_EQ(script.rules[1].kind, FaultKind::kDuplicate);
  EXPECT_EQ(script.rules[1].amount, 3u);
  EXPECT_EQ(script.rules[1].psn, 0x10u);
  EXPECT_EQ(script.rules[2].amount, 0x1f0u);
  EXPECT_TRUE(script.rules[2].bad_fcs);
  EXPECT_EQ(script.rules[2].dest_qp, 17u);
  EXPECT_EQ(script.rules[2].count, 4u);
  EXPECT_EQ(script.rules[2].per_million, 250'000u);
  EXPECT_EQ(script.rules[3].kind, FaultKind::kReorder);
  EXPECT_EQ(script.rules[6].per_million, 1'000'000u);
  EXPECT_EQ(script.rules[7].per_million, 1u);
  EXPECT_EQ(script.rules[8].per_million, 0u);
  EXPECT_EQ(script.rules[8].part, FramePart::kAny);
  EXPECT_EQ(script.rules[9].part, FramePart::kIcrc);
  constexpr FaultKind kKinds[] = {FaultKind::kOversize, FaultKind::kPause, FaultKind::kPsnGap,
                                  FaultKind::kGhost,    FaultKind::kStale, FaultKind::kLinkDown};
  for (size_t i = 0; i < std::size(kKinds); ++i) EXPECT_EQ(script.rules[10 + i].kind, kKinds[i]);
  EXPECT_EQ(ParseFaultScript("").rules.size(), 0u);
}

TEST(FaultScript, RejectsInvalidTextWithItsLine) {
  const std::pair<const char*, const char*> rows[] = {
      {"drop\nfall", "fault script, line 2: 'fall' is not a fault"},
      {"drop # fine\n\ndrop when=3", "fault script, line 3: 'when=3': unknown condition"},
      {"drop opcode=rc_send", "fault script, line 1: 'opcode=rc_send': unknown opcode"},
      {"drop psn=0x1000000", "fault script, line 1: 'psn=0x1000000': more than 24 bits"},
      {"drop qp=-1", "fault script, line 1: 'qp=-1': not a number"},
      {"drop qp=", "fault script, line 1: 'qp=': not a number"},
      {"drop qp=0x", "fault script, line 1: 'qp=0x': not a number"},
      {"drop nth=0", "fault script, line 1: 'nth=0': counts from 1"},
      {"drop nth=99999999999999999999", "fault script, line 1: 'nth=99999999999999999999': not a number"},
      {"drop rate=1.1", "fault script, line 1: 'rate=1.1': a rate is 0 to 1 with up to six decimals"},
      {"drop rate=0.0000001", "fault script, line 1: 'rate=0.0000001': a rate is 0 to 1 with up to six decimals"},
      {"drop rate=.5", "fault script, line 1: 'rate=.5': a rate is 0 to 1 with up to six decimals"},
      {"drop rate=0.", "fault script, line 1: 'rate=0.': a rate is 0 to 1 with up to six decimals"},
      {"drop rate=0.-5", "fault script, line 1: 'rate=0.-5': a rate is 0 to 1 with up to six decimals"},
      {"delay", "fault script, line 1: delay needs an amount"},
      {"truncate bad_fcs", "fault script, line 1: truncate needs an amount"},
      {"duplicate 1 2", "fault script, line 1: two amounts"},
      {"drop bad_fcs", "fault script, line 1: bad_fcs is for corrupt and truncate"},
      {"link_down", "fault script, line 1: link_down needs an amount"},
      {"oversize", "fault script, line 1: oversize needs an amount"},
      {"corrupt part=tail", "fault script, line 1: 'part=tail': a part is header, payload or icrc"},
      {"corrupt 8 part=icrc", "fault script, line 1: part is for corrupt without an amount"},
      {"drop part=icrc", "fault script, line 1: part is for corrupt without an amount"},
      {"delay 1000000001", "fault script, line 1: the amount of delay is at most 1000000000"},
      {"duplicate 1001", "fault script, line 1: the amount of duplicate is at most 1000"},
      {"pause 1001", "fault script, line 1: the amount of pause is at most 1000"},
      {"oversize 1000001", "fault script, line 1: the amount of oversize is at most 1000000"},
      {"drop rate=0x0.5", "fault script, line 1: 'rate=0x0.5': a rate is 0 to 1 with up to six decimals"},
      {"drop soon", "fault script, line 1: 'soon' is neither a number nor a condition"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_EQ(ParseFaultScript(text).error, error);
    EXPECT_TRUE(ParseFaultScript(text).rules.empty());
  }
}

TEST(Fault, FramesPassUnchangedWithoutRules) {
  World world("");
  world.Send(3);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(world.receiver.times, (std::vector<Picoseconds>{0, 1'000'000, 2'000'000}));
  for (const auto& frame : world.receiver.frames) EXPECT_EQ(frame.comment, "");
  EXPECT_EQ(world.injector.injected(), 0u);
}

TEST(Fault, DropRemovesExactlyItsFrame) {
  World world("drop nth=2");
  world.Send(4);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 2, 3}));
  ASSERT_EQ(world.dropped.size(), 1u);
  EXPECT_EQ(FindRoce(world.dropped[0].bytes)->bth.psn, 1u);
  EXPECT_EQ(world.dropped[0].comment, "fault 1: dropped (frame 2 of this link)");
}

TEST(Fault, MatchesByOpcodePsnQpNthAndCount) {
  World world("drop opcode=rc_acknowledge psn=2 ; drop qp=9 ; drop nth=6 count=2");
  world.SendAt(1, MakeRoce({.opcode = BthOpcode::kRcAcknowledge, .psn = 1}));
  world.SendAt(2, MakeRoce({.opcode = BthOpcode::kRcAcknowledge, .psn = 2}));  // first rule
  world.SendAt(3, MakeRoce({.opcode = BthOpcode::kRcSendOnly, .psn = 2}));
  world.SendAt(4, MakeRoce({.psn = 4, .dest_qp = 9, .vlan = true, .ipv6 = true}));  // second
  world.SendAt(5, std::vector<uint8_t>(60));                                        // not RoCE
  world.SendAt(6, MakeRoce({.psn = 6}));                                            // third: the sixth of all frames
  world.SendAt(7, std::vector<uint8_t>(61));                                        // and the next one
  world.SendAt(8, MakeRoce({.psn = 8}));
  world.Run();
  std::vector<Picoseconds> expected = {1, 3, 5, 8};
  EXPECT_EQ(world.receiver.times, expected);
  EXPECT_EQ(world.injector.hits(), (std::vector<uint64_t>{1, 1, 2}));
}

TEST(Fault, DuplicatesFollowTheirFrame) {
  World world("duplicate 2 psn=1");
  world.Send(3);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 1, 1, 1, 2}));
  const Picoseconds step = world.wire.Time(world.receiver.frames[1].bytes.size() + 24);
  EXPECT_EQ(world.receiver.times[2] - world.receiver.times[1], step);
  EXPECT_EQ(world.receiver.times[3] - world.receiver.times[2], step);
  EXPECT_EQ(world.receiver.frames[1].comment, "");
  EXPECT_EQ(world.receiver.frames[2].bytes, world.receiver.frames[1].bytes);
  EXPECT_NE(world.receiver.frames[3].comment, "");
}

TEST(Fault, ReorderLetsThatManyPass) {
  World world("reorder 2 psn=1");
  world.Send(5);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 2, 3, 1, 4}));
  EXPECT_EQ(world.receiver.times[2], world.receiver.times[3]);
  World two("reorder 3 psn=0; reorder 1 psn=1");
  two.Send(6);
  EXPECT_EQ(two.Psns(), (std::vector<uint32_t>{2, 1, 3, 4, 0, 5}));
}

TEST(Fault, HeldFrameIsReleasedAtTheLimit) {
  World world("reorder 1 psn=0");
  world.SendAt(5, MakeRoce({.psn = 0}));
  world.scheduler.RunUntil([] { return false; }, 5 + 100'000'000);
  EXPECT_EQ(world.receiver.frames.size(), 0u);
  EXPECT_FALSE(world.injector.IsIdle());
  world.scheduler.RunUntil([] { return false; }, 5 + 100'000'001);
  EXPECT_EQ(world.receiver.frames.size(), 1u);
  EXPECT_TRUE(world.injector.IsIdle());
}

TEST(Fault, DelayIsExactAndOthersOvertake) {
  World world("delay 1500 psn=0");
  world.Send(4);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{1, 0, 2, 3}));
  EXPECT_EQ(world.receiver.times[1], 1'500'000u);
}

TEST(Fault, CorruptFlipsOneBit) {
  const auto original = MakeRoce({});
  World named("corrupt 803");  // bit 3 of byte 100
  named.SendAt(0, original);
  named.Run();
  auto expected = original;
  expected[100] ^= 8;
  EXPECT_EQ(named.receiver.frames[0].bytes, expected);
  EXPECT_FALSE(named.receiver.frames[0].bad_fcs);
  EXPECT_EQ(named.receiver.frames[0].comment, "fault 1: bit 3 of byte 100 flipped (frame 1 of this link)");
  World random("corrupt bad_fcs");
  for (int i = 0; i < 200; ++i) random.SendAt(0, original);
  random.Run();
  bool differ = false;
  for (const auto& frame : random.receiver.frames) {
    EXPECT_TRUE(frame.bad_fcs);
    int flipped = 0;
    for (size_t i = 0; i < original.size(); ++i) {
      const int bits = std::popcount(static_cast<unsigned>(frame.bytes[i] ^ original[i]));
      flipped += bits;
      EXPECT_TRUE(bits == 0 || i >= spec::Ethernet::kBytes);
    }
    EXPECT_EQ(flipped, 1);
    differ = differ || frame.bytes != random.receiver.frames[0].bytes;
  }
  EXPECT_TRUE(differ);
  World beyond("corrupt 999999");  // beyond the frame's end: nothing to flip
  beyond.SendAt(0, original);
  beyond.Run();
  EXPECT_EQ(beyond.receiver.frames[0].bytes, original);
}

TEST(Fault, TruncateKeepsTheFirstBytes) {
  const auto original = MakeRoce({});
  World world("truncate 40 nth=1; truncate 9000 bad_fcs");
  world.SendAt(0, original);
  world.SendAt(1, original);
  world.Run();
  EXPECT_EQ(world.receiver.frames[0].bytes, std::vector<uint8_t>(original.begin(), original.begin() + 40));
  EXPECT_FALSE(world.receiver.frames[0].bad_fcs);
  EXPECT_EQ(world.receiver.frames[1].bytes, original);
  EXPECT_TRUE(world.receiver.frames[1].bad_fcs);
}

TEST(Fault, EcnMarkChangesOnlyEcnAndChecksum) {
  for (const bool vlan : {false, true}) {
    for (const auto ecn : {spec::IpEcn::kNotEct, spec::IpEcn::kEct0, spec::IpEcn::kEct1, spec::IpEcn::kCe}) {
      for (const bool ipv6 : {false, true}) {
        for (const bool always : {false, true}) {
          const auto original = MakeRoce({.vlan = vlan, .ipv6 = ipv6, .ecn = ecn});
          World world(always ? "ecn_mark 1" : "ecn_mark");
          world.SendAt(0, original);
          world.Run();
          const auto& bytes = world.receiver.frames[0].bytes;
          const bool marked = always || ecn != spec::IpEcn::kNotEct;
          EXPECT_EQ(bytes, MakeRoce({.vlan = vlan, .ipv6 = ipv6, .ecn = marked ? spec::IpEcn::kCe : ecn}));
        }
      }
    }
  }
}

// With valid lengths and ICRC.
std::vector<uint8_t> MakeWhole(bool ipv6, uint32_t psn = 0, BthOpcode opcode = BthOpcode::kRcSendOnly) {
  auto bytes = MakeRoce({.opcode = opcode, .psn = psn, .ipv6 = ipv6});
  uint8_t* header = bytes.data() + spec::Ethernet::kBytes;
  const size_t datagram = bytes.size() - spec::Ethernet::kBytes;
  if (ipv6) {
    auto ip = spec::Ipv6::Decode(header);
    ip.payload_length = static_cast<uint16_t>(datagram - spec::Ipv6::kBytes);
    ip.Encode(header);
  } else {
    auto ip = spec::Ipv4::Decode(header);
    ip.total_length = static_cast<uint16_t>(datagram);
    ip.Encode(header);
  }
  const uint32_t icrc = model::IcrcCompute({header, datagram - spec::kIcrcBytes}, ipv6);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) {
    bytes[bytes.size() - spec::kIcrcBytes + i] = static_cast<uint8_t>(icrc >> 8 * i);
  }
  return bytes;
}
bool HasRightIcrc(const std::vector<uint8_t>& bytes, bool ipv6) {
  return model::IcrcCheck(std::span(bytes).subspan(spec::Ethernet::kBytes), ipv6);
}

TEST(Fault, CorruptHitsItsPart) {
  for (const bool ipv6 : {false, true}) {
    const auto original = MakeWhole(ipv6);
    const size_t bth = FindRoce(original)->bth_offset, payload = bth + spec::Bth::kBytes;
    const size_t icrc = original.size() - spec::kIcrcBytes;
    const struct {
      const char* script;
      size_t begin, end;
    } rows[] = {{"corrupt part=header", spec::Ethernet::kBytes, payload},
                {"corrupt part=payload", payload, icrc},
                {"corrupt part=icrc", icrc, original.size()}};
    for (const auto& row : rows) {
      World world(row.script);
      for (int i = 0; i < 1500; ++i) world.SendAt(0, original);
      world.Run();
      std::vector<bool> hit(original.size());
      for (const auto& frame : world.receiver.frames) {
        for (size_t i = 0; i < original.size(); ++i) hit[i] = hit[i] || frame.bytes[i] != original[i];
      }
      for (size_t i = 0; i < original.size(); ++i) EXPECT_EQ(hit[i], i >= row.begin && i < row.end) << row.script << i;
    }
  }
}

TEST(Fault, OversizePadsWithZerosAndNeverTruncates) {
  const auto original = MakeRoce({});
  World world("oversize 5000 nth=1; oversize 10");
  world.SendAt(0, original);
  world.SendAt(1, original);
  world.Run();
  auto expected = original;
  expected.resize(5000);
  EXPECT_EQ(world.receiver.frames[0].bytes, expected);
  EXPECT_EQ(world.receiver.frames[1].bytes, original);
}

TEST(Fault, PauseFramesPrecedeTheFrame) {
  World world("pause 3 psn=1");
  world.Send(3);
  ASSERT_EQ(world.receiver.frames.size(), 6u);
  std::vector<uint8_t> pause = {0x01, 0x80, 0xc2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x88, 0x08, 0, 1, 0xff, 0xff};
  pause.resize(60);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(world.receiver.frames[i].bytes, pause);
  for (const auto& [at, psn] : {std::pair{0, 0u}, {4, 1u}, {5, 2u}}) {
    EXPECT_EQ(FindRoce(world.receiver.frames[static_cast<size_t>(at)].bytes)->bth.psn, psn);
  }
}

TEST(Fault, PsnGapHasAValidIcrc) {
  for (const bool ipv6 : {false, true}) {
    World gap("psn_gap 5");
    gap.SendAt(0, MakeWhole(ipv6, 0xfffffe));
    gap.Run();
    EXPECT_EQ(gap.Psns(), std::vector<uint32_t>{3});
    EXPECT_TRUE(HasRightIcrc(gap.receiver.frames[0].bytes, ipv6));
    World ghost("ghost 1000 opcode=rc_acknowledge");
    ghost.SendAt(0, MakeWhole(ipv6, 7, BthOpcode::kRcAcknowledge));
    ghost.SendAt(1'000'000, MakeWhole(ipv6, 8));
    ghost.Run();
    EXPECT_EQ(ghost.Psns(), (std::vector<uint32_t>{7, 1007, 8}));
    EXPECT_EQ(ghost.receiver.frames[0].bytes, MakeWhole(ipv6, 7, BthOpcode::kRcAcknowledge));
    EXPECT_TRUE(HasRightIcrc(ghost.receiver.frames[1].bytes, ipv6));
  }
  // A frame without room for an ICRC gets the PSN change only.
  World cut("psn_gap 1");
  auto frame = MakeWhole(false);
  frame.resize(frame.size() - 1);
  cut.SendAt(0, frame);
  cut.Run();
  EXPECT_EQ(cut.receiver.frames[0].bytes.size(), frame.size());
}

TEST(Fault, StaleFrameIsUnchanged) {
  World world("stale 2 opcode=rc_send_only");
  world.Send(5);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 1, 2, 0, 3, 1, 4, 2}));
  EXPECT_EQ(world.receiver.frames[3].bytes, world.receiver.frames[0].bytes);
}

TEST(Fault, LinkDownLosesFramesForItsTime) {
  World world("link_down 2500 nth=2 count=1; delay 1 psn=2");
  size_t lost = 0;
  world.wire.Connect(1, world.injector);
  world.wire.OnLost([&](unsigned, const WireFrame& frame) { lost += frame.comment == "link down" ? 1 : 0; });
  for (uint32_t psn = 0; psn < 6; ++psn) {
    world.scheduler.Call(psn * Picoseconds{1'000'000}, [&world, psn] {
      world.wire.Send(0, world.scheduler.now(), {MakeRoce({.psn = psn}), false, ""});
    });
  }
  world.Run();
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 4, 5}));
  EXPECT_EQ(world.injector.hits(), (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(world.injector.injected(), 1u);
  EXPECT_EQ(world.dropped.size(), 1u);
  EXPECT_EQ(lost, 2u);  // they did not reach the injector
}

TEST(Fault, DisarmStopsAllFaultsAndReleasesHeldFrames) {
  World world("link_down 1000000 nth=1; reorder 2");
  world.SendAt(0, MakeRoce({.psn = 9}));
  world.scheduler.Call(1, [&world] { EXPECT_FALSE(world.wire.is_up()); });
  world.scheduler.Call(1, [&world] { world.injector.Disarm(); });
  for (uint32_t psn = 0; psn < 3; ++psn) world.SendAt(2 + psn, MakeRoce({.psn = psn}));
  world.Run();
  EXPECT_TRUE(world.wire.is_up());
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(world.injector.injected(), 1u);
}

TEST(Fault, RatesHoldAndSeedDeterminesTheFrames) {
  const auto run = [](uint64_t seed) {
    World world("drop rate=0.1", seed);
    world.Send(5000);
    return world.Psns();
  };
  const auto first = run(1);
  EXPECT_GT(first.size(), 4400u);
  EXPECT_LT(first.size(), 4600u);
  EXPECT_EQ(run(1), first);
  EXPECT_NE(run(2), first);
}

TEST(Fault, FirstMatchingRuleActsAndAllCount) {
  World world("delay 10 nth=2; drop nth=2; drop nth=4");
  world.Send(5);
  EXPECT_EQ(world.Psns(), (std::vector<uint32_t>{0, 1, 2, 4}));
  EXPECT_EQ(world.injector.hits(), (std::vector<uint64_t>{1, 0, 1}));
}

}  // namespace
}  // namespace vireo::sim
