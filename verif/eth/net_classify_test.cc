// SPDX-License-Identifier: Apache-2.0
// The classifier: each rule directed, the model against a byte-by-byte reference without beats and words, then the RTL
// against both, class for class and cycle for cycle.
#include "model/eth/net_classify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Vnet_classify_1024.h"
#include "Vnet_classify_128.h"
#include "Vnet_classify_256.h"
#include "Vnet_classify_512.h"
#include "Vnet_classify_64.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::NetClassify;
using spec::NetClass;
using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr uint64_t kLatency = NetClassify::kLatency;
constexpr size_t kMaxFrame = 16'383;

// --- Reference -------------------------------------------------------------------------------------------------------

// RFC 1071 by its definition: a number modulo 2^16 - 1, of which each byte is a digit.
struct Residue {
  uint64_t value = 0;
  void Add(const Bytes& bytes, size_t from, size_t end) {
    for (size_t i = from; i < end; ++i) value += (i - from) % 2 == 0 ? uint64_t{bytes[i]} * 256 : bytes[i];
  }
  bool IsRight() const { return value != 0 && value % 0xffff == 0; }
};

// Zero behind the end.
unsigned At(const Bytes& frame, size_t at) { return at < frame.size() ? frame[at] : 0; }
unsigned At16(const Bytes& frame, size_t at) { return At(frame, at) * 256 + At(frame, at + 1); }

NetClass Reference(const Bytes& frame) {
  NetClass result;
  for (size_t i = 0; i < 6; ++i) result.destination_mac[i] = static_cast<uint8_t>(At(frame, i));
  size_t ip = 14;
  if (frame.size() >= 18 && At16(frame, 12) == 0x8100) {
    result.vlan_present = true;
    result.vlan_id = static_cast<uint16_t>(At16(frame, 14) % 4096);
    ip = 18;
  }
  const unsigned version = At(frame, ip) / 16;
  const unsigned ihl = At(frame, ip) % 16;
  const bool v4 = At16(frame, ip - 2) == 0x0800 && version == 4 && ihl >= 5 && frame.size() >= ip + 4 * ihl;
  const bool v6 = At16(frame, ip - 2) == 0x86dd && version == 6 && frame.size() >= ip + 40;
  const size_t l4 = ip + (v6 ? 40 : 4 * ihl);
  const size_t end = v6 ? ip + 40 + At16(frame, ip + 4) : ip + At16(frame, ip + 2);
  const unsigned protocol = At(frame, ip + (v6 ? 6 : 9));
  const size_t addresses = ip + (v6 ? 8 : 12);
  const size_t addresses_end = ip + (v6 ? 40 : 20);
  const bool fragment = v4 && At16(frame, ip + 6) % 0x4000 != 0;
  const bool ports =
      (v4 || v6) && (protocol == 6 || protocol == 17) && !fragment && l4 + 4 <= end && l4 + 4 <= frame.size();

  // The two bytes of the hash's input, separately.
  unsigned high = 0;
  unsigned low = 0;
  const auto mix = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) ((i - from) % 2 == 0 ? high : low) ^= At(frame, i);
  };
  if (v4 || v6) {
    mix(addresses, addresses_end);
  } else {
    mix(0, 12);
  }
  if (ports) {
    mix(l4, l4 + 4);
    low ^= protocol;
  }
  result.flow_hash = static_cast<uint16_t>((high * 256 + low) * 0x9e37);

  if (!ports || end > frame.size() || end < l4 + (protocol == 6 ? 20 : 8)) return result;
  if (v4) {
    Residue header;
    header.Add(frame, ip, l4);
    if (!header.IsRight()) return result;
  }
  if (protocol == 17 && (At16(frame, l4 + 4) != end - l4 || At16(frame, l4 + 6) == 0)) return result;
  Residue sum;
  sum.Add(frame, addresses, addresses_end);
  sum.value += protocol + (end - l4);
  sum.Add(frame, l4, end);
  result.checksum_valid = sum.IsRight();
  return result;
}

// --- Frames ----------------------------------------------------------------------------------------------------------

void Put16(Bytes& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

// The checksum field that completes `sum`, which does not include it yet.
uint16_t Checksum(const Residue& sum) { return static_cast<uint16_t>(0xffff - sum.value % 0xffff); }

// A valid sender's datagram; `Make` fills in lengths and checksums.
struct Datagram {
  bool ip6 = false;
  bool udp = false;
  bool tagged = false;
  uint16_t tci = 0;
  unsigned option_words = 0;  // IPv4
  uint16_t flags_and_offset = 0x4000;
  uint8_t protocol = 0;            // not 0: instead of TCP or UDP
  Bytes addresses = Bytes(32, 1);  // the first 8 for IPv4
  uint16_t source_port = 1000;
  uint16_t destination_port = 2000;
  Bytes payload;
  size_t padding = 0;
  bool zero_checksum = false;  // UDP: none

  size_t l3() const { return tagged ? 18 : 14; }
  size_t l4() const { return l3() + (ip6 ? 40 : 20 + 4 * option_words); }
  size_t l4_bytes() const { return (udp ? 8 : 20) + payload.size(); }
  size_t checksum_at() const { return l4() + (udp ? 6 : 16); }

  Bytes Make() const {
    Bytes frame{0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x06, 0x66, 0x77, 0x88, 0x99, 0xaa};
    if (tagged) {
      for (const unsigned byte : {0x81u, 0x00u, tci / 256u, tci % 256u}) frame.push_back(static_cast<uint8_t>(byte));
    }
    frame.resize(l4() + l4_bytes());
    Put16(frame, l3() - 2, ip6 ? 0x86dd : 0x0800);
    const uint8_t number = protocol != 0 ? protocol : udp ? 17 : 6;
    const size_t at = l3() + (ip6 ? 8 : 12);
    const size_t address_bytes = ip6 ? 32 : 8;
    std::copy_n(addresses.begin(), address_bytes, frame.begin() + static_cast<ptrdiff_t>(at));
    if (ip6) {
      frame[l3()] = 0x6a;
      frame[l3() + 1] = 0xbc;
      Put16(frame, l3() + 2, 0xdef1);
      Put16(frame, l3() + 4, l4_bytes());
      frame[l3() + 6] = number;
      frame[l3() + 7] = 0x37;
    } else {
      frame[l3()] = static_cast<uint8_t>(0x45 + option_words);
      frame[l3() + 1] = 0x03;
      Put16(frame, l3() + 2, l4() - l3() + l4_bytes());
      Put16(frame, l3() + 4, 0xbeef);
      Put16(frame, l3() + 6, flags_and_offset);
      frame[l3() + 8] = 0x40;
      frame[l3() + 9] = number;
      for (size_t i = l3() + 20; i < l4(); ++i) frame[i] = static_cast<uint8_t>(7 * i);
      Residue header;
      header.Add(frame, l3(), l4());
      Put16(frame, l3() + 10, Checksum(header));
    }
    Put16(frame, l4(), source_port);
    Put16(frame, l4() + 2, destination_port);
    if (udp) {
      Put16(frame, l4() + 4, l4_bytes());
    } else {
      for (size_t i = 4; i < 16; ++i) frame[l4() + i] = static_cast<uint8_t>(0x50 + i);
    }
    std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<ptrdiff_t>(l4() + (udp ? 8 : 20)));
    if (!zero_checksum) {
      Residue sum;
      sum.Add(frame, at, at + address_bytes);
      sum.value += number + l4_bytes();
      sum.Add(frame, l4(), frame.size());
      const uint16_t value = Checksum(sum);
      Put16(frame, checksum_at(), value == 0 ? 0xffff : value);
    }
    for (size_t i = 0; i < padding; ++i) frame.push_back(static_cast<uint8_t>(0xa5 + i));
    return frame;
  }
};

// A shape without payload whose IP header announces `bytes` bytes, as much as its TCP or UDP header or less, with all
// sums right: UDP's checksum field is chosen so if it is in the datagram, else a port.
Bytes OfLength(const Datagram& shape, size_t bytes) {
  Bytes frame = shape.Make();
  Put16(frame, shape.l3() + (shape.ip6 ? 4 : 2), shape.ip6 ? bytes : shape.l4() - shape.l3() + bytes);
  if (!shape.ip6) {
    Put16(frame, shape.l3() + 10, 0);
    Residue sum;
    sum.Add(frame, shape.l3(), shape.l4());
    Put16(frame, shape.l3() + 10, Checksum(sum));
  }
  if (shape.udp) Put16(frame, shape.l4() + 4, bytes);
  const size_t fix = shape.l4() + (shape.udp && bytes == 8 ? 6 : 0);
  Put16(frame, fix, 0);
  Residue sum;
  const size_t at = shape.l3() + (shape.ip6 ? 8 : 12);
  sum.Add(frame, at, at + (shape.ip6 ? 32 : 8));
  sum.value += bytes + (shape.udp ? 17 : 6);
  sum.Add(frame, shape.l4(), shape.l4() + bytes);
  Put16(frame, fix, Checksum(sum));
  return frame;
}

// Every combination of IP version, protocol, tag, options.
std::vector<Datagram> Shapes() {
  std::vector<Datagram> shapes;
  for (const bool ip6 : {false, true}) {
    for (const bool udp : {false, true}) {
      for (const bool tagged : {false, true}) {
        for (const unsigned options : {0u, 1u, 4u, 10u}) {
          if (ip6 && options != 0) continue;
          Datagram shape;
          shape.ip6 = ip6;
          shape.udp = udp;
          shape.tagged = tagged;
          shape.tci = 0xeabc;
          shape.option_words = options;
          for (size_t i = 0; i < 32; ++i) shape.addresses[i] = static_cast<uint8_t>(0x31 * i + 5);
          shapes.push_back(shape);
        }
      }
    }
  }
  return shapes;
}

Bytes RandomBytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

bool OneOf(Random& random, uint64_t chances) { return sim::UniformBelow(random, chances) == 0; }

Bytes RandomFrame(Random& random) {
  if (OneOf(random, 12)) return RandomBytes(random, 1 + sim::UniformBelow(random, OneOf(random, 2) ? 20 : 200));
  Datagram datagram;
  datagram.ip6 = OneOf(random, 2);
  datagram.udp = OneOf(random, 2);
  datagram.tagged = OneOf(random, 2);
  datagram.tci = static_cast<uint16_t>(random());
  if (OneOf(random, 2)) datagram.option_words = static_cast<unsigned>(sim::UniformBelow(random, 11));
  if (OneOf(random, 6)) {
    // The first fragment, a later one, the last one, anything.
    const std::array<unsigned, 4> flags{0x2000, 0x2001, 0x1000, static_cast<unsigned>(random() & 0xffff)};
    datagram.flags_and_offset = static_cast<uint16_t>(flags[sim::UniformBelow(random, flags.size())]);
  }
  if (OneOf(random, 6)) datagram.protocol = static_cast<uint8_t>(random());
  datagram.addresses = RandomBytes(random, 32);
  datagram.source_port = static_cast<uint16_t>(random());
  datagram.destination_port = static_cast<uint16_t>(random());
  datagram.payload = RandomBytes(random, sim::UniformBelow(random, OneOf(random, 10) ? 1500 : 90));
  if (OneOf(random, 2)) datagram.padding = sim::UniformBelow(random, 40);
  datagram.zero_checksum = datagram.udp && OneOf(random, 10);
  // A payload word that makes the checksum 0, to be sent as all ones, or as 0 nevertheless.
  const bool zero = datagram.payload.size() >= 2 && OneOf(random, 8);
  if (zero) {
    Put16(datagram.payload, 0, 0);
    datagram.zero_checksum = false;
    Put16(datagram.payload, 0, At16(datagram.Make(), datagram.checksum_at()));
  }
  Bytes frame = datagram.Make();
  if (zero && OneOf(random, 2)) Put16(frame, datagram.checksum_at(), 0);
  const auto header = [&](size_t bytes) { return datagram.l3() - 2 + sim::UniformBelow(random, bytes); };
  switch (sim::UniformBelow(random, 12)) {
    case 0:
      frame[sim::UniformBelow(random, frame.size())] ^= static_cast<uint8_t>(1u << sim::UniformBelow(random, 8));
      break;
    case 1: frame.resize(1 + sim::UniformBelow(random, frame.size())); break;
    case 2: frame[header(24)] = static_cast<uint8_t>(random()); break;
    case 3: {  // a length off by one or arbitrary
      const size_t at = datagram.l3() + (datagram.ip6 ? 4 : 2);
      Put16(frame, at, OneOf(random, 3) ? random() : At16(frame, at) + sim::UniformBelow(random, 5) - 2);
      break;
    }
    case 4: {  // a very short length, truncated to match
      const size_t bytes = sim::UniformBelow(random, 24);
      Put16(frame, datagram.l3() + (datagram.ip6 ? 4 : 2),
            datagram.ip6 ? bytes : datagram.l4() - datagram.l3() + bytes);
      if (OneOf(random, 2)) frame.resize(std::min(frame.size(), datagram.l4() + bytes));
      break;
    }
    case 5: {  // two words swapped: same sum
      const size_t at = datagram.l4() + 2 * sim::UniformBelow(random, (frame.size() - datagram.l4()) / 2 - 1);
      std::swap(frame[at], frame[at + 2]);
      std::swap(frame[at + 1], frame[at + 3]);
      break;
    }
    default: break;
  }
  return frame;
}

std::string Text(const NetClass& what) { return TokenText(what); }

NetClass ClassOf(const Bytes& frame) { return NetClassify::Classify(frame); }
bool IsValid(const Bytes& frame) { return ClassOf(frame).checksum_valid; }

// --- Rules, directed -------------------------------------------------------------------------------------------------

TEST(NetClassify, HandComputedFramesHaveTheirClass) {
  // A TCP SYN, 192.168.0.1:0x1234 to 192.168.0.199:80; checksums by the rules of RFC 1071.
  const Bytes syn{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x08, 0x00,  //
                  0x45, 0x00, 0x00, 0x28, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0xb8, 0xb7,              //
                  0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,                                      //
                  0x12, 0x34, 0x00, 0x50, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,              //
                  0x50, 0x02, 0x20, 0x00, 0xfb, 0x44, 0x00, 0x00};
  NetClass expected;
  for (uint8_t i = 0; i < 6; ++i) expected.destination_mac[i] = i;
  expected.checksum_valid = true;
  // c0a8 ^ 0001 ^ c0a8 ^ 00c7 ^ 1234 ^ 0050 ^ 0006
  expected.flow_hash = static_cast<uint16_t>(0x12a4 * 0x9e37);
  EXPECT_EQ(ClassOf(syn), expected) << Text(ClassOf(syn));

  // An ARP request: the MAC addresses' hash.
  Bytes arp(60);
  std::copy_n(syn.begin(), 12, arp.begin());
  Put16(arp, 12, 0x0806);
  expected.checksum_valid = false;
  expected.flow_hash = static_cast<uint16_t>((0x0001 ^ 0x0203 ^ 0x0405 ^ 0x0607 ^ 0x0809 ^ 0x0a0b) * 0x9e37);
  EXPECT_EQ(ClassOf(arp), expected) << Text(ClassOf(arp));
}

TEST(NetClassify, ValidFramesOfEveryShapeAndLengthAreValid) {
  for (Datagram shape : Shapes()) {
    for (const size_t size : {0, 1, 2, 3, 17, 63, 64, 65, 500, 1460}) {
      for (const size_t padding : {0, 1, 46}) {
        shape.payload = Bytes(size, static_cast<uint8_t>(size + 1));
        shape.padding = padding;
        const Bytes frame = shape.Make();
        const NetClass result = ClassOf(frame);
        ASSERT_TRUE(result.checksum_valid) << frame.size() << " bytes";
        ASSERT_EQ(result.vlan_present, shape.tagged);
        ASSERT_EQ(result.vlan_id, shape.tagged ? 0xabc : 0);
      }
    }
  }
}

// The results that a flipped bit must change, by the coverage of the sums: all from the EtherType on, but fields of
// IPv6 that are in neither length nor pseudo header, the rest of the tag, and padding.
TEST(NetClassify, DetectsEveryFlipOfCoveredBitsOnly) {
  for (Datagram shape : Shapes()) {
    shape.payload = Bytes{1, 2, 3, 4, 5};
    shape.padding = 3;
    const Bytes frame = shape.Make();
    const size_t l3 = shape.l3();
    for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
      const size_t at = bit / 8;
      Bytes flipped = frame;
      flipped[at] = static_cast<uint8_t>(flipped[at] ^ 1u << bit % 8);
      const bool in_macs = at < 12;
      const bool in_tag = shape.tagged && (at == 14 || at == 15);
      const bool in_ip6 = shape.ip6 && ((at == l3 && bit % 8 < 4) || (at > l3 && at < l3 + 4) || at == l3 + 7);
      const bool in_padding = at >= frame.size() - shape.padding;
      ASSERT_EQ(IsValid(flipped), in_macs || in_tag || in_ip6 || in_padding)
          << "byte " << at << " bit " << bit % 8 << " ip6 " << shape.ip6 << " udp " << shape.udp << " tag "
          << shape.tagged << " options " << shape.option_words;
    }
  }
}

TEST(NetClassify, FrameThatEndsBeforeItsDatagramIsNotValid) {
  for (Datagram shape : Shapes()) {
    shape.payload = Bytes{1, 2, 3, 0};
    Bytes frame = shape.Make();
    ASSERT_TRUE(IsValid(frame));
    while (frame.size() > 1) {
      frame.pop_back();
      ASSERT_FALSE(IsValid(frame)) << frame.size();
      ASSERT_EQ(ClassOf(frame), Reference(frame)) << frame.size();
    }
  }
}

TEST(NetClassify, TruncatedHeaderDoesNotCount) {
  for (const Datagram& shape : Shapes()) {
    const size_t least = shape.udp ? 8 : 20;
    for (size_t bytes = 0; bytes <= least; ++bytes) {
      ASSERT_EQ(IsValid(OfLength(shape, bytes)), bytes == least) << bytes;
    }
  }
}

TEST(NetClassify, ZeroUdpChecksumIsNoneAndZeroSumIsSentAsOnes) {
  for (Datagram shape : Shapes()) {
    shape.payload = Bytes{0, 0, 9};
    Put16(shape.payload, 0, At16(shape.Make(), shape.checksum_at()));
    Bytes frame = shape.Make();
    ASSERT_EQ(At16(frame, shape.checksum_at()), 0xffffu);
    EXPECT_TRUE(IsValid(frame));
    Put16(frame, shape.checksum_at(), 0);
    EXPECT_EQ(IsValid(frame), !shape.udp) << "TCP has both";
  }
}

TEST(NetClassify, UdpLengthThatDiffersFromIpIsNotValid) {
  for (Datagram shape : Shapes()) {
    if (!shape.udp) continue;
    shape.payload = Bytes{1, 2, 3, 4};
    for (const int difference : {-1, 0, 1}) {
      Bytes frame = shape.Make();
      Put16(frame, shape.l4() + 4, shape.l4_bytes() + static_cast<size_t>(difference));
      // Corrected again, in the payload.
      Put16(frame, shape.l4() + 8, 0x102 - static_cast<size_t>(difference));
      ASSERT_EQ(IsValid(frame), difference == 0);
    }
  }
}

TEST(NetClassify, FragmentsAreNotValidAndHashTheirAddresses) {
  Datagram shape;
  shape.payload = Bytes{1, 2, 3};
  const NetClass whole = ClassOf(shape.Make());
  Datagram icmp = shape;
  icmp.protocol = 1;
  const NetClass addresses = ClassOf(icmp.Make());
  EXPECT_FALSE(addresses.checksum_valid);
  EXPECT_NE(addresses.flow_hash, whole.flow_hash);
  for (const unsigned flags : {0x2000u, 0x0001u, 0x1000u, 0x1fffu, 0x3fffu}) {
    shape.flags_and_offset = static_cast<uint16_t>(flags);
    EXPECT_FALSE(IsValid(shape.Make())) << flags;
    EXPECT_EQ(ClassOf(shape.Make()).flow_hash, addresses.flow_hash) << flags;
  }
  for (const unsigned flags : {0x0000u, 0x8000u, 0x4000u}) {
    shape.flags_and_offset = static_cast<uint16_t>(flags);
    EXPECT_EQ(ClassOf(shape.Make()), whole) << flags;
  }
}

TEST(NetClassify, ParsesOneVlanTagOnly) {
  Datagram shape;
  Bytes frame = shape.Make();
  const Bytes tag{0x81, 0x00, 0x20, 0x07};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  EXPECT_TRUE(IsValid(frame));
  EXPECT_EQ(ClassOf(frame).vlan_id, 7);
  const Bytes outer{0x81, 0x00, 0x20, 0x08};
  frame.insert(frame.begin() + 12, outer.begin(), outer.end());
  EXPECT_FALSE(IsValid(frame));
  EXPECT_EQ(ClassOf(frame).vlan_id, 8);
  // A service tag (802.1ad) is no 802.1Q tag.
  Put16(frame, 12, 0x88a8);
  EXPECT_FALSE(ClassOf(frame).vlan_present);
}

TEST(NetClassify, AdjacentFlowsSpreadOverThePairs) {
  for (const unsigned pairs : {2u, 3u, 4u, 8u, 16u}) {
    for (const bool ip6 : {false, true}) {
      for (const uint64_t step : {1, 2}) {
        std::vector<unsigned> frames(pairs);
        Datagram shape;
        shape.ip6 = ip6;
        constexpr unsigned kFlows = 512;
        for (unsigned flow = 0; flow < kFlows; ++flow) {
          shape.source_port = static_cast<uint16_t>(40'000 + step * flow);
          ++frames[ClassOf(shape.Make()).flow_hash * pairs >> 16];
        }
        for (const unsigned count : frames) {
          EXPECT_GT(count, kFlows / pairs / 2) << pairs;
          EXPECT_LT(count, kFlows / pairs * 2) << pairs;
        }
      }
    }
  }
}

TEST(NetClassify, ModelMatchesTheReference) {
  Random random = sim::MakeRandom("net_classify.model");
  std::map<std::array<bool, 4>, unsigned> valid;
  unsigned not_valid = 0;
  for (unsigned i = 0; i < 30'000; ++i) {
    const Bytes frame = RandomFrame(random);
    const NetClass expected = Reference(frame);
    ASSERT_EQ(ClassOf(frame), expected) << frame.size() << " bytes, " << Text(expected);
    if (!expected.checksum_valid) {
      ++not_valid;
      continue;
    }
    const size_t l3 = expected.vlan_present ? 18 : 14;
    const bool ip6 = frame[l3] >> 4 == 6;
    ++valid[{ip6, expected.vlan_present, !ip6 && frame[l3] != 0x45, frame[l3 + (ip6 ? 6 : 9)] == 17}];
  }
  EXPECT_GT(not_valid, 3000u);
  EXPECT_EQ(valid.size(), 12u) << "every kind, options only with IPv4";
}

TEST(NetClassify, LongestFrameKeepsTheCarries) {
  for (Datagram shape : Shapes()) {
    shape.payload = Bytes(kMaxFrame - shape.Make().size(), 0xff);
    const Bytes frame = shape.Make();
    ASSERT_EQ(frame.size(), kMaxFrame);
    EXPECT_TRUE(IsValid(frame));
    EXPECT_EQ(ClassOf(frame), Reference(frame));
  }
}

// --- RTL -------------------------------------------------------------------------------------------------------------

template <typename Top>
class NetClassifyRtl : public testing::Test {
 protected:
  static constexpr size_t kBeatBytes = sizeof(Top::data_i);

  // One cycle: a beat of `frame` from byte `from` on; null: none.
  void Cycle(const Bytes* frame, size_t from) {
    Scramble(p_.data_i, random_);
    Scramble(p_.bytes_i, random_, 14);
    p_.last_i = random_() & 1;
    p_.valid_i = frame != nullptr;
    if (frame != nullptr) {
      const size_t size = std::min(kBeatBytes, frame->size() - from);
      if (random_() % 2 == 0) std::ranges::fill(BytesOf(p_.data_i), uint8_t{0});
      std::copy_n(frame->begin() + static_cast<ptrdiff_t>(from), size, BytesOf(p_.data_i).begin());
      p_.bytes_i = static_cast<uint16_t>(frame->size());
      p_.last_i = from + size == frame->size();
      if (from / kBeatBytes == NetClassify::ClassBeat(frame->size(), kBeatBytes)) {
        expected_.emplace_back(cycle_ + kLatency, ClassOf(*frame));
      }
      if (p_.last_i) checks_.emplace_back(cycle_ + kLatency, IsValid(*frame));
    }
    const bool due = !expected_.empty() && expected_.front().first == cycle_;
    const bool check_due = !checks_.empty() && checks_.front().first == cycle_;
    ASSERT_EQ(p_.class_valid_o != 0, due) << "cycle " << cycle_;
    ASSERT_EQ(p_.checked_o != 0, check_due) << "cycle " << cycle_;
    auto result = TokenFrom<NetClass>(BytesOf(std::as_const(p_.class_o)));
    if (check_due) {
      ASSERT_EQ(result.checksum_valid, checks_.front().second) << "cycle " << cycle_;
      checks_.pop_front();
      ++checked_;
    }
    if (due) {
      // Known later.
      result.checksum_valid = expected_.front().second.checksum_valid;
      ASSERT_EQ(result, expected_.front().second)
          << "RTL:   " << Text(result) << "\nmodel: " << Text(expected_.front().second);
      expected_.pop_front();
      ++classes_;
    }
    rtl_.Clock();
    ++cycle_;
  }
  // With gaps: a chance of this many 16ths before each beat.
  void Send(const Bytes& frame, unsigned gaps = 0) {
    for (size_t from = 0; from < frame.size(); from += kBeatBytes) {
      while (random_() % 16 < gaps) ASSERT_NO_FATAL_FAILURE(Cycle(nullptr, 0));
      ASSERT_NO_FATAL_FAILURE(Cycle(&frame, from));
    }
  }
  void Idle(uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; ++i) ASSERT_NO_FATAL_FAILURE(Cycle(nullptr, 0));
  }
  void Finish() {
    ASSERT_NO_FATAL_FAILURE(Idle(2 * kLatency));
    ASSERT_TRUE(expected_.empty() && checks_.empty());
  }
  void Reset() {
    p_.valid_i = 0;
    rtl_.Reset();
    expected_.clear();
    checks_.clear();
  }

  Random random_ = sim::MakeRandom("net_classify.rtl");
  RtlTop<Top> rtl_{[](const Top& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.class_valid_o);
    bytes.push_back(top.checked_o);
    const auto data = BytesOf(top.class_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
  }};
  Top& p_ = rtl_.ports();
  uint64_t cycle_ = 0;
  uint64_t classes_ = 0;
  uint64_t checked_ = 0;
  std::deque<std::pair<uint64_t, NetClass>> expected_;
  std::deque<std::pair<uint64_t, bool>> checks_;
};

using Widths =
    testing::Types<Vnet_classify_64, Vnet_classify_128, Vnet_classify_256, Vnet_classify_512, Vnet_classify_1024>;
class WidthNames {
 public:
  template <typename Top>
  static std::string GetName(int) {
    return std::to_string(8 * sizeof(Top::data_i));
  }
};
TYPED_TEST_SUITE(NetClassifyRtl, Widths, WidthNames);

TYPED_TEST(NetClassifyRtl, EveryShapeMatchesModel) {
  for (Datagram shape : Shapes()) {
    for (const size_t size : {0, 1, 2, 3, 4, 5, 6, 7, 8, 40, 150, 1460}) {
      shape.payload = RandomBytes(this->random_, size);
      shape.padding = size < 40 ? size : 0;
      ASSERT_NO_FATAL_FAILURE(this->Send(shape.Make()));
    }
  }
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, FlippedBitsAndShortDatagramsMatchModel) {
  for (Datagram shape : Shapes()) {
    for (size_t bytes = 0; bytes <= (shape.udp ? 8 : 20); ++bytes) {
      ASSERT_NO_FATAL_FAILURE(this->Send(OfLength(shape, bytes)));
    }
    shape.payload = Bytes{1, 2, 3, 4, 5};
    shape.padding = 3;
    const Bytes frame = shape.Make();
    for (size_t bit = 0; bit < 8 * frame.size(); ++bit) {
      Bytes flipped = frame;
      flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
      ASSERT_NO_FATAL_FAILURE(this->Send(flipped));
    }
  }
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, RandomFramesWithoutGapsMatchModel) {
  for (unsigned i = 0; i < 12'000; ++i) ASSERT_NO_FATAL_FAILURE(this->Send(RandomFrame(this->random_)));
  ASSERT_NO_FATAL_FAILURE(this->Finish());
  EXPECT_EQ(this->classes_, 12'000u);
  EXPECT_EQ(this->checked_, 12'000u);
}

TYPED_TEST(NetClassifyRtl, RandomFramesWithGapsMatchModel) {
  for (unsigned i = 0; i < 4000; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->Send(RandomFrame(this->random_), i % 4 * 4));
  }
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, OneBeatFramesFollowEachOtherInEveryCycle) {
  for (unsigned i = 0; i < 3000; ++i) {
    Bytes frame = RandomFrame(this->random_);
    frame.resize(std::min(frame.size(), this->kBeatBytes));
    ASSERT_NO_FATAL_FAILURE(this->Send(frame));
  }
  ASSERT_EQ(this->cycle_, 3000u);
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, EveryLengthFromOneByteMatchesModel) {
  for (Datagram shape : Shapes()) {
    // Zeros at the end: without them the sum is still right.
    shape.payload = RandomBytes(this->random_, 70);
    shape.payload.resize(70 + 140);
    const Bytes frame = shape.Make();
    ASSERT_TRUE(IsValid(frame));
    for (size_t size = 1; size <= frame.size(); ++size) {
      ASSERT_NO_FATAL_FAILURE(this->Send(Bytes(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size))));
    }
  }
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, LongestFrameOfOnesKeepsTheCarries) {
  for (Datagram shape : Shapes()) {
    shape.payload = Bytes(kMaxFrame - shape.Make().size(), 0xff);
    ASSERT_NO_FATAL_FAILURE(this->Send(shape.Make()));
  }
  ASSERT_NO_FATAL_FAILURE(this->Finish());
}

TYPED_TEST(NetClassifyRtl, ClassComesItsLatencyAfterTheHeadersAndTheCheckAfterTheLastBeat) {
  Datagram shape;
  for (const size_t size : {0, 1, 700}) {
    shape.payload.resize(size);
    const Bytes frame = shape.Make();
    const uint64_t class_at = this->cycle_ + std::min(frame.size() - 1, size_t{81}) / this->kBeatBytes + kLatency;
    const uint64_t check_at = this->cycle_ + (frame.size() - 1) / this->kBeatBytes + kLatency;
    ASSERT_EQ(class_at != check_at, frame.size() > 82 && (frame.size() - 1) / this->kBeatBytes > 81 / this->kBeatBytes);
    size_t from = 0;
    while (this->cycle_ <= check_at + 1) {
      ASSERT_EQ(this->p_.class_valid_o, this->cycle_ == class_at) << this->cycle_;
      ASSERT_EQ(this->p_.checked_o, this->cycle_ == check_at) << this->cycle_;
      ASSERT_NO_FATAL_FAILURE(this->Cycle(from < frame.size() ? &frame : nullptr, from));
      from += this->kBeatBytes;
    }
  }
}

TYPED_TEST(NetClassifyRtl, ResetClearsAllState) {
  for (unsigned i = 0; i < 300; ++i) {
    const Bytes frame = RandomFrame(this->random_);
    ASSERT_NO_FATAL_FAILURE(this->Send(frame));
    const Bytes cut = RandomFrame(this->random_);
    const size_t beats = sim::UniformBelow(this->random_, 1 + cut.size() / this->kBeatBytes);
    for (size_t beat = 0; beat < beats; ++beat) {
      ASSERT_NO_FATAL_FAILURE(this->Cycle(&cut, beat * this->kBeatBytes));
    }
    ASSERT_NO_FATAL_FAILURE(this->Idle(sim::UniformBelow(this->random_, 2 * kLatency)));
    this->Reset();
    ASSERT_NO_FATAL_FAILURE(this->Send(RandomFrame(this->random_)));
    ASSERT_NO_FATAL_FAILURE(this->Finish());
  }
}

}  // namespace
}  // namespace vireo::verif
