// SPDX-License-Identifier: Apache-2.0
// The receive parser: each rule directed on the model, then the RTL against the model, token for token and cycle for
// cycle, on frames that Linux sent and on corrupted frames.
#include "model/rdma/rx_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/rdma/icrc.h"
#include "sim/common/seed.h"
#include "sim/device/rx_parser_rtl.h"
#include "spec/gen/vireo_spec.h"
#include "verif/rdma/frames.h"

namespace vireo::verif {
namespace {

using model::RxParser;
using model::RxToken;
using spec::BthOpcode;
using spec::RxVerdict;
using Random = std::mt19937_64;

constexpr size_t kVerdicts = 10;

// --- Frames
// ------------------------------------------------------------------------------------------------------------------

const std::vector<Bytes>& Golden() {
  static const std::vector<Bytes> frames = GoldenFrames(VIREO_VECTORS_DIR);
  return frames;
}

// The header positions of one frame, for editing them. Works on any untagged or once tagged IP frame with whole
// headers.
class Editor {
 public:
  explicit Editor(Bytes& frame) : frame_(frame) {
    auto ethertype = spec::Ethernet::Decode(frame_.data()).ethertype;
    if (ethertype == spec::Ethertype::kVlan) {
      l3_ += spec::VlanTag::kBytes;
      ethertype = spec::VlanTag::Decode(frame_.data() + spec::Ethernet::kBytes).ethertype;
    }
    is_ipv6_ = ethertype == spec::Ethertype::kIpv6;
    l4_ = l3_ + (is_ipv6_ ? spec::Ipv6::kBytes : spec::Ipv4::kBytes);
  }

  bool is_ipv6() const { return is_ipv6_; }
  size_t l3() const { return l3_; }
  size_t l4() const { return l4_; }
  size_t bth() const { return l4_ + spec::Udp::kBytes; }

  // Decodes the structure at `at`, lets `change` edit it and writes it back.
  template <typename T>
  Editor& Change(size_t at, const std::function<void(T&)>& change) {
    T header = T::Decode(frame_.data() + at);
    change(header);
    header.Encode(frame_.data() + at);
    return *this;
  }
  Editor& Ip4(const std::function<void(spec::Ipv4&)>& change) { return Change(l3_, change); }
  Editor& Ip6(const std::function<void(spec::Ipv6&)>& change) { return Change(l3_, change); }
  Editor& Udp(const std::function<void(spec::Udp&)>& change) { return Change(l4_, change); }
  Editor& Bth(const std::function<void(spec::Bth&)>& change) { return Change(bth(), change); }

  size_t ip_bytes() const {
    return is_ipv6_ ? spec::Ipv6::kBytes + spec::Ipv6::Decode(frame_.data() + l3_).payload_length
                    : spec::Ipv4::Decode(frame_.data() + l3_).total_length;
  }

  // Corrects the IPv4 checksum.
  Editor& FixChecksum() {
    if (is_ipv6_) return *this;
    Ip4([](auto& ip) { ip.header_checksum = 0; });
    const size_t header = std::min(size_t{4} * (frame_[l3_] & 0xf), frame_.size() - l3_);
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < header; i += 2) sum += uint32_t{frame_[l3_ + i]} << 8 | frame_[l3_ + i + 1];
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return Ip4([&](auto& ip) { ip.header_checksum = static_cast<uint16_t>(~sum); });
  }

  // Corrects checksum and ICRC, if the datagram is long enough for one and not longer than the frame.
  Editor& Fix() {
    FixChecksum();
    const size_t end = ip_bytes();
    if (end < bth() - l3_ + spec::Bth::kBytes + spec::kIcrcBytes || l3_ + end > frame_.size()) return *this;
    const std::span<uint8_t> datagram(frame_.data() + l3_, end);
    const uint32_t icrc = model::IcrcCompute(datagram.first(end - spec::kIcrcBytes), is_ipv6_);
    for (unsigned i = 0; i < spec::kIcrcBytes; ++i) {
      datagram[end - spec::kIcrcBytes + i] = static_cast<uint8_t>(icrc >> (8 * i));
    }
    return *this;
  }

  // Makes the frame hold `bytes` bytes between BTH and ICRC, with everything else to match.
  Editor& Resize(size_t bytes) {
    frame_.resize(bth() + spec::Bth::kBytes + bytes + spec::kIcrcBytes);
    const size_t udp_bytes = frame_.size() - l4_;
    Udp([&](auto& udp) { udp.length = static_cast<uint16_t>(udp_bytes); });
    SetIpBytes(frame_.size() - l3_);
    return Fix();
  }

  Editor& SetIpBytes(size_t bytes) {
    if (is_ipv6_) return Ip6([&](auto& ip) { ip.payload_length = static_cast<uint16_t>(bytes - spec::Ipv6::kBytes); });
    return Ip4([&](auto& ip) { ip.total_length = static_cast<uint16_t>(bytes); });
  }

  // Puts `words` words of no-operation options behind the IPv4 header.
  Editor& InsertOptions(unsigned words) {
    frame_.insert(frame_.begin() + static_cast<ptrdiff_t>(l4_), size_t{4} * words, uint8_t{1});
    Ip4([&](auto& ip) {
      ip.ihl = static_cast<uint8_t>(ip.ihl + words);
      ip.total_length = static_cast<uint16_t>(ip.total_length + 4 * words);
    });
    return FixChecksum();
  }

 private:
  Bytes& frame_;
  size_t l3_ = spec::Ethernet::kBytes;
  size_t l4_ = 0;
  bool is_ipv6_ = false;
};

void InsertTag(Bytes& frame, uint16_t tci) {
  const size_t at = spec::Ethernet::kEthertypeOffset;
  const auto vlan = static_cast<uint16_t>(spec::Ethertype::kVlan);
  const uint8_t tag[] = {static_cast<uint8_t>(vlan >> 8), static_cast<uint8_t>(vlan), static_cast<uint8_t>(tci >> 8),
                         static_cast<uint8_t>(tci)};
  frame.insert(frame.begin() + static_cast<ptrdiff_t>(at), std::begin(tag), std::end(tag));
}

void SetEthertype(Bytes& frame, spec::Ethertype ethertype) {
  auto ethernet = spec::Ethernet::Decode(frame.data());
  ethernet.ethertype = ethertype;
  ethernet.Encode(frame.data());
}

BthOpcode OpcodeOf(Bytes frame) { return BthOpcode{frame[Editor(frame).bth()]}; }

// The smallest golden frame of each kind.
const std::map<std::pair<BthOpcode, bool>, Bytes>& Kinds() {
  static const std::map<std::pair<BthOpcode, bool>, Bytes> kinds = [] {
    std::map<std::pair<BthOpcode, bool>, Bytes> result;
    for (Bytes frame : Golden()) {
      auto& smallest = result[{OpcodeOf(frame), Editor(frame).is_ipv6()}];
      if (smallest.empty() || frame.size() < smallest.size()) smallest = frame;
    }
    return result;
  }();
  return kinds;
}

// A SEND ONLY with that many payload bytes and no pad.
Bytes SmallSend(bool ip6, size_t payload_bytes) {
  Bytes frame = Kinds().at({BthOpcode::kRcSendOnly, ip6});
  Editor(frame).Bth([](auto& bth) { bth.pad_count = 0; }).Resize(payload_bytes);
  return frame;
}

// --- Rules, directed
// ----------------------------------------------------------------------------------------------------------

struct Rule {
  const char* name;
  RxVerdict verdict;
  std::function<void(Bytes&)> change;  // of a small SEND over IPv4, or IPv6 if ip6
  bool ip6 = false;
  bool mac_error = false;
};

std::vector<Rule> Rules() {
  using V = RxVerdict;
  // The first bytes behind the headers that come before a port, and behind the port.
  constexpr size_t kPort4 = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kDestinationPortOffset;
  constexpr size_t kHeaders4 = spec::Ipv4::kBytes + spec::Udp::kBytes + spec::Bth::kBytes + spec::kIcrcBytes;
  constexpr size_t kHeaders6 = kHeaders4 - spec::Ipv4::kBytes + spec::Ipv6::kBytes;
  const auto opcode = [](BthOpcode value) {
    return [value](Bytes& f) { Editor(f).Bth([&](auto& bth) { bth.opcode = value; }).Fix(); };
  };
  const auto cut = [](size_t size) { return [size](Bytes& f) { f.resize(size); }; };
  return {
      {"ipv4", V::kRoce, [](Bytes&) {}},
      {"ipv6", V::kRoce, [](Bytes&) {}, true},
      {"tag", V::kRoce, [](Bytes& f) { InsertTag(f, 0xbeef); }},
      {"tag, ipv6", V::kRoce, [](Bytes& f) { InsertTag(f, 0x0fff); }, true},
      {"ethernet padding", V::kRoce, [](Bytes& f) { f.resize(f.size() + 9, 0xa5); }},
      {"no payload", V::kRoce, [](Bytes& f) { Editor(f).Resize(0); }},
      {"payload is all pad", V::kRoce, [](Bytes& f) { Editor(f).Bth([](auto& bth) { bth.pad_count = 3; }).Resize(3); }},
      {"udp checksum is ignored", V::kRoce, [](Bytes& f) { Editor(f).Udp([](auto& udp) { udp.checksum = 0x1234; }); }},
      {"dont_fragment clear", V::kRoce,
       [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.dont_fragment = false; }).Fix(); }},
      {"unknown rc opcode", V::kRoce, opcode(BthOpcode{0x15})},

      {"arp", V::kNet, [](Bytes& f) { SetEthertype(f, spec::Ethertype::kArp); }},
      {"roce version 1", V::kTransportVersion, [](Bytes& f) { SetEthertype(f, spec::Ethertype::kRoceV1); }},
      {"roce version 1, tag", V::kTransportVersion,
       [](Bytes& f) {
         SetEthertype(f, spec::Ethertype::kRoceV1);
         InsertTag(f, 5);
       }},
      {"roce version 1, two tags", V::kNet,
       [](Bytes& f) {
         SetEthertype(f, spec::Ethertype::kRoceV1);
         InsertTag(f, 5);
         InsertTag(f, 5);
       }},
      {"roce version 1, no header", V::kTransportVersion,
       [](Bytes& f) {
         SetEthertype(f, spec::Ethertype::kRoceV1);
         f.resize(spec::Ethernet::kBytes);
       }},
      {"roce version 1, ends in the ethertype", V::kNet,
       [](Bytes& f) {
         SetEthertype(f, spec::Ethertype::kRoceV1);
         f.resize(spec::Ethernet::kBytes - 1);
       }},
      {"two tags", V::kNet,
       [](Bytes& f) {
         InsertTag(f, 1);
         InsertTag(f, 2);
       }},
      {"tcp", V::kNet, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.protocol = spec::IpProtocol::kTcp; }).Fix(); }},
      {"tcp, ipv6", V::kNet, [](Bytes& f) { Editor(f).Ip6([](auto& ip) { ip.next_header = spec::IpProtocol::kTcp; }); },
       true},
      {"ipv6 fragment header", V::kNet,
       [](Bytes& f) { Editor(f).Ip6([](auto& ip) { ip.next_header = spec::IpProtocol{44}; }).Fix(); }, true},
      {"other port", V::kNet, [](Bytes& f) { Editor(f).Udp([](auto& udp) { --udp.destination_port; }).Fix(); }},
      {"source port only", V::kNet,
       [](Bytes& f) { Editor(f).Udp([](auto& udp) { std::swap(udp.source_port, udp.destination_port); }).Fix(); }},
      {"later fragment", V::kNet, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.fragment_offset = 1; }).Fix(); }},
      {"middle fragment", V::kNet,
       [](Bytes& f) {
         Editor(f)
             .Ip4([](auto& ip) {
               ip.fragment_offset = 8;
               ip.more_fragments = true;
             })
             .Fix();
       }},
      {"other port behind options", V::kNet,
       [](Bytes& f) { Editor(f).Udp([](auto& udp) { ++udp.destination_port; }).InsertOptions(1); }},
      {"one byte", V::kNet, cut(1)},
      {"ends in the ethertype", V::kNet, cut(spec::Ethernet::kBytes - 1)},
      {"ends after the ethertype", V::kNet, cut(spec::Ethernet::kBytes)},
      {"ends in the tag", V::kNet,
       [](Bytes& f) {
         InsertTag(f, 5);
         f.resize(spec::Ethernet::kBytes + spec::VlanTag::kBytes - 1);
       }},
      {"ends in the port", V::kNet, cut(kPort4 + 1)},
      {"datagram ends in the port", V::kNet,
       [](Bytes& f) { Editor(f).SetIpBytes(kPort4 + 1 - spec::Ethernet::kBytes).Fix(); }},

      {"mac error", V::kTruncated, [](Bytes&) {}, false, true},
      {"mac error in arp", V::kTruncated, [](Bytes& f) { SetEthertype(f, spec::Ethertype::kArp); }, false, true},
      {"ends after the port", V::kTruncated, cut(kPort4 + 2)},
      {"ends one byte early", V::kTruncated, [](Bytes& f) { f.pop_back(); }},
      {"ends one byte early, ipv6", V::kTruncated, [](Bytes& f) { f.pop_back(); }, true},
      {"datagram longer than the frame", V::kTruncated,
       [](Bytes& f) {
         Editor e(f);
         e.SetIpBytes(e.ip_bytes() + 1).Fix();
       }},
      {"datagram ends after the port", V::kTruncated,
       [](Bytes& f) { Editor(f).SetIpBytes(kPort4 + 2 - spec::Ethernet::kBytes).Fix(); }},
      {"datagram has no room for the icrc", V::kTruncated, [](Bytes& f) { Editor(f).SetIpBytes(kHeaders4 - 1).Fix(); }},
      {"datagram has no room for the icrc, ipv6", V::kTruncated,
       [](Bytes& f) { Editor(f).SetIpBytes(kHeaders6 - 1).Fix(); }, true},
      {"truncated before wrong version", V::kTruncated,
       [](Bytes& f) {
         Editor(f).Ip4([](auto& ip) { ip.version = 5; }).Fix();
         f.pop_back();
       }},

      {"ipv4 checksum", V::kIpHeader, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.header_checksum ^= 0x0100; }); }},
      {"ipv4 version", V::kIpHeader, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.version = 6; }).Fix(); }},
      {"ipv6 version", V::kIpHeader, [](Bytes& f) { Editor(f).Ip6([](auto& ip) { ip.version = 4; }).Fix(); }, true},
      {"options", V::kIpHeader, [](Bytes& f) { Editor(f).InsertOptions(1); }},
      {"longest options", V::kIpHeader, [](Bytes& f) { Editor(f).InsertOptions(10); }},
      {"longest options behind a tag", V::kIpHeader,
       [](Bytes& f) {
         Editor(f).InsertOptions(10);
         InsertTag(f, 3);
       }},
      {"impossible header length", V::kIpHeader, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.ihl = 4; }); }},
      {"header length 0", V::kIpHeader, [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.ihl = 0; }); }},
      {"checksum before fragment", V::kIpHeader,
       [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.more_fragments = true; }); }},

      {"first fragment", V::kIpFragment,
       [](Bytes& f) { Editor(f).Ip4([](auto& ip) { ip.more_fragments = true; }).Fix(); }},

      {"udp length short", V::kUdpLength, [](Bytes& f) { Editor(f).Udp([](auto& udp) { --udp.length; }).Fix(); }},
      {"udp length long", V::kUdpLength, [](Bytes& f) { Editor(f).Udp([](auto& udp) { ++udp.length; }).Fix(); }},
      {"udp length 0", V::kUdpLength, [](Bytes& f) { Editor(f).Udp([](auto& udp) { udp.length = 0; }).Fix(); }, true},

      {"icrc", V::kIcrc, [](Bytes& f) { f.back() ^= 0x80; }},
      {"payload", V::kIcrc, [](Bytes& f) { f[f.size() - 5] ^= 1; }},
      {"icrc before transport version", V::kIcrc,
       [](Bytes& f) { Editor(f).Bth([](auto& bth) { bth.transport_version = 1; }); }},

      {"transport version", V::kTransportVersion,
       [](Bytes& f) { Editor(f).Bth([](auto& bth) { bth.transport_version = 8; }).Fix(); }},
      {"transport version before opcode", V::kTransportVersion,
       [](Bytes& f) {
         Editor(f)
             .Bth([](auto& bth) {
               bth.transport_version = 1;
               bth.opcode = BthOpcode{0xff};
             })
             .Fix();
       }},

      {"unknown uc opcode", V::kOpcode, opcode(BthOpcode{0x2c})},
      {"rd opcode", V::kOpcode, opcode(BthOpcode{0x44})},
      {"unknown ud opcode", V::kOpcode, opcode(BthOpcode{0x60})},
      {"unknown congestion opcode", V::kOpcode, opcode(BthOpcode{0x80})},
      {"xrc opcode", V::kOpcode, opcode(BthOpcode{0xa4})},
      {"highest opcode", V::kOpcode, opcode(BthOpcode{0xff})},

      {"no room for extended headers", V::kLength,
       [](Bytes& f) {
         Editor(f).Bth([](auto& bth) { bth.opcode = BthOpcode::kRcRdmaWriteOnly; }).Resize(spec::Reth::kBytes - 1);
       }},
      {"no room for the longest extended header", V::kLength,
       [](Bytes& f) {
         Editor(f).Bth([](auto& bth) { bth.opcode = BthOpcode::kRcCompareSwap; }).Resize(spec::AtomicEth::kBytes - 1);
       }},
      {"pad longer than the payload", V::kLength,
       [](Bytes& f) { Editor(f).Bth([](auto& bth) { bth.pad_count = 3; }).Resize(2); }},
      {"pad without payload, unknown rc opcode", V::kLength,
       [](Bytes& f) {
         Editor(f)
             .Bth([](auto& bth) {
               bth.opcode = BthOpcode{0x1f};
               bth.pad_count = 1;
             })
             .Resize(0);
       }},
  };
}

Bytes Apply(const Rule& rule) {
  Bytes frame = SmallSend(rule.ip6, 16);
  rule.change(frame);
  return frame;
}

TEST(RxParserModel, DecidesEachRule) {
  for (const auto& rule : Rules()) {
    const Bytes frame = Apply(rule);
    const RxToken token = RxParser::Parse(frame, rule.mac_error);
    EXPECT_STREQ(spec::ToString(token.verdict), spec::ToString(rule.verdict)) << rule.name << "\n" << Hex(frame);
    EXPECT_EQ(token.frame_bytes, frame.size()) << rule.name;
  }
}

// A driver without the RoCE feature may have a stack of its own, for example Soft-RoCE.
TEST(RxParserModel, GivesEveryGoodFrameToTheNetPathWithoutRoce) {
  for (const Rule& rule : Rules()) {
    SCOPED_TRACE(rule.name);
    const Bytes frame = Apply(rule);
    const RxToken with = RxParser::Parse(frame, rule.mac_error);
    const RxToken without = RxParser::Parse(frame, rule.mac_error, /*roce=*/false);
    EXPECT_EQ(without.verdict, rule.mac_error ? RxVerdict::kTruncated : RxVerdict::kNet);
    EXPECT_EQ(without.frame_bytes, with.frame_bytes);
    EXPECT_EQ(without.l3_offset, with.l3_offset);
    EXPECT_EQ(without.bth_offset, 0u);
  }
}

TEST(RxParserModel, AcceptsEveryGoldenFrame) {
  ASSERT_GT(Golden().size(), 1000u);
  for (const auto& frame : Golden()) {
    const RxToken token = RxParser::Parse(frame, false);
    ASSERT_EQ(token.verdict, RxVerdict::kRoce) << Hex(frame);
    ASSERT_TRUE(token.info.valid);
    ASSERT_EQ(token.payload_offset + token.payload_bytes + token.bth.pad_count + spec::kIcrcBytes, frame.size());
  }
}

TEST(RxParserModel, ReportsTheHeaderFields) {
  // An RDMA WRITE with 3 bytes, written out.
  Bytes frame = Kinds().at({BthOpcode::kRcRdmaWriteOnly, false});
  Editor editor(frame);
  std::fill(frame.begin() + static_cast<ptrdiff_t>(editor.bth() + spec::Bth::kBytes), frame.end(), uint8_t{0});
  editor.Change<spec::Ethernet>(0, [](auto& ethernet) { std::copy_n("\x02\x11\x22\x33\x44\x55", 6, ethernet.source); });
  editor.Ip4([](auto& ip) {
    ip.source = 0xc0a80001;
    ip.destination = 0xc0a80102;
    ip.dscp = 26;
    ip.ecn = spec::IpEcn::kCe;
    ip.time_to_live = 63;
  });
  editor.Udp([](auto& udp) { udp.source_port = 0xd123; });
  editor.Bth([](auto& bth) {
    bth.pad_count = 1;
    bth.dest_qp = 0x123456;
    bth.psn = 0xfedcba;
    bth.ack_req = true;
  });
  editor.Change<spec::Reth>(editor.bth() + spec::Bth::kBytes, [](auto& reth) {
    reth.virtual_address = 0x0102030405060708;
    reth.rkey = 0xa1a2a3a4;
    reth.dma_length = 3;
  });
  editor.Resize(spec::Reth::kBytes + 4);
  InsertTag(frame, 0x7064);

  const RxToken token = RxParser::Parse(frame, false);
  ASSERT_EQ(token.verdict, RxVerdict::kRoce);
  const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
  EXPECT_TRUE(std::equal(std::begin(mac), std::end(mac), token.source_mac));
  EXPECT_TRUE(std::equal(std::begin(token.destination_mac), std::end(token.destination_mac), frame.begin()));
  EXPECT_TRUE(token.vlan_present);
  EXPECT_EQ(token.vlan_pcp, 3);
  EXPECT_TRUE(token.vlan_dei);
  EXPECT_EQ(token.vlan_vid, 0x064);
  EXPECT_FALSE(token.is_ipv6);
  EXPECT_EQ(token.l3_offset, 18);
  EXPECT_EQ(token.bth_offset, 46);
  EXPECT_EQ(token.payload_offset, 74);
  EXPECT_EQ(token.payload_bytes, 3);
  EXPECT_EQ(token.dscp, 26);
  EXPECT_EQ(token.ecn, spec::IpEcn::kCe);
  EXPECT_EQ(token.hop_limit, 63);
  const uint8_t source[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 0, 1};
  const uint8_t destination[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 1, 2};
  EXPECT_TRUE(std::equal(std::begin(source), std::end(source), token.ip_source));
  EXPECT_TRUE(std::equal(std::begin(destination), std::end(destination), token.ip_destination));
  EXPECT_EQ(token.udp_source_port, 0xd123);
  EXPECT_EQ(token.bth.opcode, BthOpcode::kRcRdmaWriteOnly);
  EXPECT_EQ(token.bth.dest_qp, 0x123456u);
  EXPECT_EQ(token.bth.psn, 0xfedcbau);
  EXPECT_TRUE(token.bth.ack_req);
  EXPECT_TRUE(token.info.has_reth);
  const auto reth = spec::Reth::Decode(token.extension + token.info.reth_offset - spec::Bth::kBytes);
  EXPECT_EQ(reth.virtual_address, 0x0102030405060708u);
  EXPECT_EQ(reth.rkey, 0xa1a2a3a4u);
  EXPECT_EQ(reth.dma_length, 3u);
  EXPECT_TRUE(
      std::all_of(token.extension + spec::Reth::kBytes, std::end(token.extension), [](uint8_t b) { return b == 0; }));
}

// The RETH is where others have it, and the FETH behind it.
TEST(RxParserModel, FlushHasItsFethBehindTheReth) {
  Bytes frame = Kinds().at({BthOpcode::kRcRdmaWriteOnly, false});
  Editor editor(frame);
  editor.Bth([](auto& bth) {
    bth.opcode = BthOpcode::kRcFlush;
    bth.pad_count = 0;
  });
  editor.Resize(spec::Feth::kBytes + spec::Reth::kBytes);
  const spec::Feth feth{.selectivity = spec::FlushSelectivity::kMemoryRegion, .placement = 2};
  const spec::Reth reth{.virtual_address = 0x0123'4567'89ab'cdef, .rkey = 0x1357'9bdf, .dma_length = 0x2468};
  const size_t extension = editor.bth() + spec::Bth::kBytes;
  feth.Encode(frame.data() + extension);
  reth.Encode(frame.data() + extension + spec::Feth::kBytes);
  editor.Fix();
  const RxToken token = RxParser::Parse(frame, false);
  ASSERT_EQ(token.verdict, RxVerdict::kRoce);
  EXPECT_EQ(token.payload_bytes, 0);
  EXPECT_EQ(spec::Reth::Decode(token.extension), reth);
  EXPECT_EQ(spec::Feth::Decode(token.extension + spec::Reth::kBytes), feth);
  EXPECT_TRUE(std::all_of(token.extension + spec::Reth::kBytes + spec::Feth::kBytes, std::end(token.extension),
                          [](uint8_t b) { return b == 0; }));
}

// The payload goes with the request to what executes it, if it has the length that is executed.
TEST(RxParserModel, AtomicWriteHasItsPayloadInTheExtension) {
  for (const size_t bytes : {size_t{0}, size_t{4}, size_t{8}, size_t{12}}) {
    Bytes frame = Kinds().at({BthOpcode::kRcRdmaWriteOnly, false});
    Editor editor(frame);
    editor.Bth([](auto& bth) {
      bth.opcode = BthOpcode::kRcAtomicWrite;
      bth.pad_count = 0;
    });
    editor.Resize(spec::Reth::kBytes + bytes);
    const size_t payload = editor.bth() + spec::Bth::kBytes + spec::Reth::kBytes;
    for (size_t i = 0; i < bytes; ++i) frame[payload + i] = static_cast<uint8_t>(0xc0 + i);
    editor.Fix();
    const RxToken token = RxParser::Parse(frame, false);
    ASSERT_EQ(token.verdict, RxVerdict::kRoce) << bytes;
    EXPECT_EQ(token.payload_bytes, bytes);
    EXPECT_EQ(token.payload_offset, payload);
    for (size_t i = 0; i < 12; ++i) {
      const size_t expected = bytes == 8 && i < 8 ? 0xc0 + i : 0;
      EXPECT_EQ(token.extension[spec::Reth::kBytes + i], expected) << bytes << " bytes, " << i;
    }
  }
}

// --- RTL against model
// -------------------------------------------------------------------------------------------------------

// Sends frames to the RTL and compares every token with the model's, including its cycle.
class Bench {
 public:
  Bench(unsigned data_bits, bool idle, const char* consumer)
      : random_(sim::MakeRandom(consumer)), rtl_(sim::RxParserRtl::Make(data_bits, random_)), idle_(idle) {
    rtl_->Idle(RxParser::kLatency + 1);
  }

  RxToken Send(const Bytes& frame, bool mac_error = false, bool roce = true) {
    const RxToken token = RxParser::Parse(frame, mac_error, roce);
    const uint64_t last_beat = rtl_->Send(frame, mac_error, [this] { return IdleCycles(); }, roce);
    sent_.push_back({frame, {RxParser::TokenCycle(last_beat), token}});
    if (sent_.size() >= 1000) Check();
    return token;
  }

  // Drains the parser and compares. Reports the first difference only: the rest would repeat it.
  void Check() {
    rtl_->Idle(RxParser::kLatency);
    const auto tokens = rtl_->TakeTokens();
    EXPECT_EQ(tokens.size(), sent_.size());
    for (size_t i = 0; i < std::min(tokens.size(), sent_.size()); ++i) {
      const auto& [frame, expected] = sent_[i];
      const std::string difference = sim::Difference(expected.token, tokens[i].token);
      if (tokens[i].cycle == expected.cycle && difference.empty()) continue;
      ADD_FAILURE() << "frame of " << frame.size() << " bytes: token in cycle " << tokens[i].cycle << ", expected "
                    << expected.cycle << "\n"
                    << difference << Hex(frame);
      break;
    }
    sent_.clear();
  }

  Random& random() { return random_; }
  sim::RxParserRtl& rtl() { return *rtl_; }

 private:
  struct Sent {
    Bytes frame;
    sim::TimedToken expected;
  };

  unsigned IdleCycles() { return idle_ && random_() % 4 == 0 ? static_cast<unsigned>(random_() % 6) : 0; }

  Random random_;
  std::unique_ptr<sim::RxParserRtl> rtl_;
  bool idle_;
  std::vector<Sent> sent_;
};

// Datapath width, and whether there are idle cycles between beats.
class RxParserRtlTest : public testing::TestWithParam<std::tuple<unsigned, bool>> {
 protected:
  unsigned data_bits() const { return std::get<0>(GetParam()); }
  Bench bench_{std::get<0>(GetParam()), std::get<1>(GetParam()),
               testing::UnitTest::GetInstance()->current_test_info()->name()};
};

INSTANTIATE_TEST_SUITE_P(Rtl, RxParserRtlTest, testing::Combine(testing::Values(64u, 512u), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Idle" : "Dense");
                         });

TEST_P(RxParserRtlTest, MatchesModelOnEachRule) {
  // Twice: state left by one frame must not affect the next.
  for (int i = 0; i < 2; ++i) {
    for (const auto& rule : Rules()) bench_.Send(Apply(rule), rule.mac_error);
  }
  bench_.Check();
}

TEST_P(RxParserRtlTest, MatchesModelOnGoldenFrames) {
  for (const auto& frame : Golden()) ASSERT_EQ(bench_.Send(frame).verdict, RxVerdict::kRoce);
  bench_.Check();
}

TEST_P(RxParserRtlTest, MatchesModelOnTaggedGoldenFrames) {
  for (Bytes frame : Golden()) {
    InsertTag(frame, static_cast<uint16_t>(bench_.random()()));
    ASSERT_EQ(bench_.Send(frame).verdict, RxVerdict::kRoce);
  }
  bench_.Check();
}

TEST_P(RxParserRtlTest, TokenComesExactlyInTheCycleOfTheFormula) {
  auto& rtl = bench_.rtl();
  for (const auto& [kind, frame] : Kinds()) {
    const uint64_t last_beat = rtl.Send(frame, false, [] { return 0u; });
    // The current cycle is last_beat + 1; stop before the token's cycle is reached.
    rtl.Idle(RxParser::TokenCycle(last_beat) - 1 - rtl.cycle());
    EXPECT_EQ(rtl.TakeTokens().size(), 0u);
    rtl.Idle(1);
    const auto tokens = rtl.TakeTokens();
    ASSERT_EQ(tokens.size(), 1u);
    EXPECT_EQ(tokens[0].cycle, RxParser::TokenCycle(last_beat));
    rtl.Idle(2 * RxParser::kLatency);
    EXPECT_EQ(rtl.TakeTokens().size(), 0u);
  }
}

// Frames of one beat in consecutive cycles: whole packets where a beat holds one, else runts.
TEST_P(RxParserRtlTest, TakesAFramePerCycle) {
  std::vector<Bytes> frames;
  for (const auto& frame : Golden()) {
    if (frame.size() <= bench_.rtl().beat_bytes()) frames.push_back(frame);
  }
  if (data_bits() == 512) {
    ASSERT_GT(frames.size(), 100u);
  }
  const Bytes whole = SmallSend(false, bench_.rtl().beat_bytes());
  for (size_t size = 1; size <= bench_.rtl().beat_bytes(); ++size) {
    frames.emplace_back(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
  }
  for (int i = 0; i < 2000; ++i) bench_.Send(frames[bench_.random()() % frames.size()], bench_.random()() % 16 == 0);
  bench_.Check();
}

// Every length around beat boundaries, valid and with Ethernet padding of every length up to two beats.
TEST_P(RxParserRtlTest, FindsTheEndAtEveryPosition) {
  const size_t beat = bench_.rtl().beat_bytes();
  for (const bool ip6 : {false, true}) {
    for (const bool tag : {false, true}) {
      for (size_t bytes = 0; bytes <= 2 * beat; ++bytes) {
        Bytes frame = SmallSend(ip6, bytes);
        if (tag) InsertTag(frame, 77);
        const size_t size = frame.size();
        ASSERT_EQ(bench_.Send(frame).verdict, RxVerdict::kRoce);
        for (const size_t padding : {size_t{1}, beat - size % beat, beat, 2 * beat + 1, bytes}) {
          frame.resize(size);
          while (frame.size() < size + padding) frame.push_back(static_cast<uint8_t>(bench_.random()()));
          ASSERT_EQ(bench_.Send(frame).verdict, RxVerdict::kRoce);
        }
      }
    }
  }
  bench_.Check();
}

// One way to corrupt a frame. IPv4-only ones leave IPv6 frames unchanged.
using Corruption = std::function<void(Bytes&, Random&)>;

const std::vector<Corruption>& Corruptions() {
  static const std::vector<Corruption> corruptions = {
      [](Bytes& f, Random& r) {
        for (uint64_t n = 1 + r() % 4; n > 0; --n) f[r() % f.size()] ^= static_cast<uint8_t>(1u << r() % 8);
      },
      // Most flips of a long frame hit its payload; these do not.
      [](Bytes& f, Random& r) { f[r() % std::min<size_t>(f.size(), 70)] ^= static_cast<uint8_t>(1u << r() % 8); },
      [](Bytes& f, Random& r) { f.resize(1 + r() % f.size()); },
      [](Bytes& f, Random& r) { f.resize(1 + r() % std::min<size_t>(f.size(), 110)); },
      [](Bytes& f, Random& r) {
        InsertTag(f, static_cast<uint16_t>(r()));
        InsertTag(f, static_cast<uint16_t>(r()));
      },
      [](Bytes& f, Random& r) { Editor(f).SetIpBytes(20 + r() % (2 * f.size())).Fix(); },
      [](Bytes& f, Random& r) {
        Editor(f).Udp([&](auto& udp) { udp.length = static_cast<uint16_t>(r() % (2 * f.size())); }).Fix();
      },
      [](Bytes& f, Random& r) {
        Editor(f).Udp([&](auto& udp) { udp.length = static_cast<uint16_t>(udp.length + r() % 9 - 4); }).Fix();
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); !e.is_ipv6()) e.InsertOptions(static_cast<unsigned>(1 + r() % 10));
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); !e.is_ipv6()) e.Ip4([&](auto& ip) { ip.ihl = r() & 15; }).Fix();
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); !e.is_ipv6()) {
          e.Ip4([&](auto& ip) {
             ip.more_fragments = r() & 1;
             ip.fragment_offset = r() & 1 ? r() & 0x1fff : 0;
           }).Fix();
        }
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); !e.is_ipv6()) e.Ip4([&](auto& ip) { ip.version = r() & 15; }).Fix();
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); e.is_ipv6()) e.Ip6([&](auto& ip) { ip.version = r() & 15; }).Fix();
      },
      [](Bytes& f, Random& r) {
        if (Editor e(f); !e.is_ipv6()) e.Ip4([&](auto& ip) { ip.header_checksum = static_cast<uint16_t>(r()); });
      },
      [](Bytes& f, Random& r) { Editor(f).Bth([&](auto& bth) { bth.transport_version = r() & 15; }).Fix(); },
      [](Bytes& f, Random& r) {
        Editor(f).Bth([&](auto& bth) { bth.opcode = BthOpcode{static_cast<uint8_t>(r())}; }).Fix();
      },
      [](Bytes& f, Random& r) { Editor(f).Bth([&](auto& bth) { bth.pad_count = r() & 3; }).Resize(r() % 40); },
      [](Bytes& f, Random& r) {
        Editor(f).Bth([&](auto& bth) { bth.opcode = BthOpcode{static_cast<uint8_t>(r() % 32)}; }).Resize(r() % 40);
      },
      [](Bytes& f, Random& r) { f[f.size() - 1 - r() % 4] ^= static_cast<uint8_t>(1u << r() % 8); },
      [](Bytes& f, Random& r) { SetEthertype(f, spec::Ethertype{static_cast<uint16_t>(r())}); },
      [](Bytes& f, Random& r) {
        Editor e(f);
        e.Udp([&](auto& udp) {
           udp.destination_port = static_cast<uint16_t>(udp.destination_port ^ 1u << r() % 16);
         }).Fix();
      },
      [](Bytes& f, Random& r) {
        // Noise behind an Ethernet header that may announce IP.
        f.resize(1 + r() % 200);
        for (auto& byte : f) byte = static_cast<uint8_t>(r());
        if (f.size() >= spec::Ethernet::kBytes) {
          constexpr spec::Ethertype kTypes[] = {spec::Ethertype::kIpv4, spec::Ethertype::kIpv6, spec::Ethertype::kVlan,
                                                spec::Ethertype::kArp};
          SetEthertype(f, kTypes[r() % std::size(kTypes)]);
        }
      },
      [](Bytes&, Random&) {},
  };
  return corruptions;
}

TEST_P(RxParserRtlTest, MatchesModelOnCorruptedFrames) {
  auto& random = bench_.random();
  std::array<unsigned, kVerdicts> reached{};
  for (int i = 0; i < 20000; ++i) {
    Bytes frame = Golden()[random() % Golden().size()];
    // Long payloads take time and add little; a few remain.
    if (random() % 4 != 0) Editor(frame).Resize(random() % 120);
    const bool tag = random() % 4 == 0;
    if (tag) InsertTag(frame, static_cast<uint16_t>(random()));
    Corruptions()[random() % Corruptions().size()](frame, random);
    if (random() % 4 == 0) {
      for (uint64_t n = random() % 80; n > 0; --n) frame.push_back(static_cast<uint8_t>(random()));
    }
    const bool mac_error = random() % 64 == 0;
    ++reached[static_cast<size_t>(bench_.Send(frame, mac_error, random() % 16 != 0).verdict)];
  }
  bench_.Check();
  for (size_t i = 0; i < kVerdicts; ++i) {
    const char* const name = spec::ToString(static_cast<RxVerdict>(i));
    EXPECT_GT(reached[i], 0u) << name;
    RecordProperty(name, static_cast<int>(reached[i]));
  }
  EXPECT_EQ(spec::ToString(static_cast<RxVerdict>(kVerdicts)), nullptr)
      << "a new verdict needs a corruption that reaches it";
}

class RxParserRtlFlipTest : public testing::TestWithParam<unsigned> {
 protected:
  Bench bench_{GetParam(), false, "RxParserRtlFlipTest"};
};

INSTANTIATE_TEST_SUITE_P(Rtl, RxParserRtlFlipTest, testing::Values(64u, 512u));

TEST_P(RxParserRtlFlipTest, IgnoresMaskedBitsAndDetectsEveryOtherFlip) {
  for (const auto& [kind, golden] : Kinds()) {
    Bytes frame = golden;
    Editor editor(frame);
    const std::span<const uint8_t> ip_ones = editor.is_ipv6() ? std::span<const uint8_t>(spec::Ipv6::kIcrcOnes)
                                                              : std::span<const uint8_t>(spec::Ipv4::kIcrcOnes);
    const size_t payload = editor.bth() + spec::Bth::kBytes;
    for (size_t bit = 8 * editor.l3(); bit < 8 * frame.size(); ++bit) {
      const size_t at = bit / 8;
      // The narrow datapath takes long for long payloads, and its beats are alike: check a sample.
      if (GetParam() == 64 && at > payload + 64 && at + 64 < frame.size() && bench_.random()() % 64 != 0) continue;
      uint8_t ones = 0;
      if (at < editor.l4())
        ones = ip_ones[at - editor.l3()];
      else if (at < editor.bth())
        ones = spec::Udp::kIcrcOnes[at - editor.l4()];
      else if (at < payload)
        ones = spec::Bth::kIcrcOnes[at - editor.bth()];
      const auto mask = static_cast<uint8_t>(1u << bit % 8);
      Bytes flipped = frame;
      flipped[at] ^= mask;
      const bool masked = (ones & mask) != 0;
      // A masked bit of the IPv4 header still counts for the header's own checksum.
      if (masked) Editor(flipped).FixChecksum();
      const RxVerdict verdict = bench_.Send(flipped).verdict;
      ASSERT_EQ(verdict == RxVerdict::kRoce, masked) << "byte " << at << " bit " << bit % 8;
    }
  }
  bench_.Check();
}

}  // namespace
}  // namespace vireo::verif
