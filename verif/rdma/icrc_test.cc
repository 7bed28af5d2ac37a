// SPDX-License-Identifier: Apache-2.0
// The ICRC of the model against frames that Linux sent, against zlib and against the masked fields of the standard. The
// RTL's ICRC is tested through vireo_rx_parser in rx_parser_test.cc.
#include "model/rdma/icrc.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <utility>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {
namespace {

using Bytes = std::vector<uint8_t>;

struct Datagram {
  Bytes bytes;  // from the IP header to the ICRC
  bool is_ipv6;
  size_t ip_bytes() const { return is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes; }
  size_t bth() const { return ip_bytes() + spec::Udp::kBytes; }
};

// The captures hold only untagged RoCEv2 frames.
// Without FLUSHes, whose ICRC Linux 6.12 has wrong (docs/golden.md).
std::vector<Datagram> GoldenDatagrams() {
  std::vector<Datagram> result;
  for (const auto& path : sim::ListCaptures(VIREO_VECTORS_DIR)) {
    const sim::Capture capture = sim::ReadPcap(path);
    EXPECT_EQ(capture.error, "");
    for (const auto& frame : capture.frames) {
      const uint8_t* const l3 = frame.bytes.data() + spec::Ethernet::kBytes;
      const bool is_ipv6 = spec::Ethernet::Decode(frame.bytes.data()).ethertype == spec::Ethertype::kIpv6;
      const size_t size =
          is_ipv6 ? spec::Ipv6::kBytes + spec::Ipv6::Decode(l3).payload_length : spec::Ipv4::Decode(l3).total_length;
      Datagram datagram{Bytes(l3, l3 + size), is_ipv6};
      const auto opcode = static_cast<spec::BthOpcode>(datagram.bytes[datagram.bth()]);
      if (opcode != spec::BthOpcode::kRcFlush) result.push_back(std::move(datagram));
    }
  }
  return result;
}

// The smallest datagram of each kind: opcode and IP version.
std::vector<Datagram> OneOfEachKind() {
  std::map<std::pair<uint8_t, bool>, Datagram> kinds;
  for (const auto& datagram : GoldenDatagrams()) {
    auto& smallest = kinds[{datagram.bytes[datagram.bth()], datagram.is_ipv6}];
    if (smallest.bytes.empty() || datagram.bytes.size() < smallest.bytes.size()) smallest = datagram;
  }
  std::vector<Datagram> result;
  for (auto& [kind, datagram] : kinds) result.push_back(std::move(datagram));
  return result;
}

// Bits of byte `at` that the ICRC does not cover.
uint8_t MaskedBits(const Datagram& datagram, size_t at) {
  if (at < datagram.ip_bytes()) return datagram.is_ipv6 ? spec::Ipv6::kIcrcOnes[at] : spec::Ipv4::kIcrcOnes[at];
  at -= datagram.ip_bytes();
  if (at < spec::Udp::kBytes) return spec::Udp::kIcrcOnes[at];
  at -= spec::Udp::kBytes;
  return at < spec::Bth::kBytes ? spec::Bth::kIcrcOnes[at] : 0;
}

TEST(Icrc, PolynomialOfTheContractMatchesZlib) {
  // Entry 128 of a reflected table is the polynomial itself.
  EXPECT_EQ(get_crc_table()[128], spec::kIcrcPolynomial);
}

TEST(Icrc, ResidueOfTheContractMatchesZlib) {
  auto random = sim::MakeRandom("Icrc.Residue");
  for (size_t size = 0; size < 300; ++size) {
    Bytes bytes(size + 1);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
    const auto crc = static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(crc >> (8 * i)));
    EXPECT_EQ(static_cast<uint32_t>(~crc32_z(0, bytes.data(), bytes.size())), spec::kIcrcResidue);
  }
}

// The library handles short and long runs, and odd addresses, differently.
TEST(Icrc, MatchesZlibOverMaskedBytesAtEveryLengthAndAlignment) {
  auto random = sim::MakeRandom("Icrc.Lengths");
  for (const auto& kind : OneOfEachKind()) {
    const size_t payload = kind.bth() + spec::Bth::kBytes;
    for (size_t size = payload; size < payload + 600; ++size) {
      const size_t skip = random() % 64;
      Bytes bytes(skip + size);
      for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
      const std::span datagram = std::span(bytes).subspan(skip);
      Bytes masked(spec::kIcrcPrefixBytes, 0xff);
      for (size_t i = 0; i < size; ++i) masked.push_back(static_cast<uint8_t>(datagram[i] | MaskedBits(kind, i)));
      ASSERT_EQ(model::IcrcCompute(datagram, kind.is_ipv6), crc32_z(0, masked.data(), masked.size())) << size;
    }
  }
}

TEST(Icrc, MatchesEveryGoldenFrame) {
  const auto datagrams = GoldenDatagrams();
  ASSERT_GT(datagrams.size(), 1000u);
  for (const auto& datagram : datagrams) ASSERT_TRUE(model::IcrcCheck(datagram.bytes, datagram.is_ipv6));
}

TEST(Icrc, IsLittleEndianAtTheEndOfTheDatagram) {
  const auto datagram = OneOfEachKind().front();
  const size_t end = datagram.bytes.size() - spec::kIcrcBytes;
  const uint32_t icrc = model::IcrcCompute(std::span(datagram.bytes).first(end), datagram.is_ipv6);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) EXPECT_EQ(datagram.bytes[end + i], icrc >> (8 * i) & 0xff);
}

TEST(Icrc, CoversADatagramThatEndsAtItsBth) {
  for (auto datagram : OneOfEachKind()) {
    datagram.bytes.resize(datagram.bth() + spec::Bth::kBytes);
    const uint32_t icrc = model::IcrcCompute(datagram.bytes, datagram.is_ipv6);
    for (unsigned i = 0; i < spec::kIcrcBytes; ++i) datagram.bytes.push_back(static_cast<uint8_t>(icrc >> (8 * i)));
    EXPECT_TRUE(model::IcrcCheck(datagram.bytes, datagram.is_ipv6));
  }
}

TEST(Icrc, IgnoresMaskedBitsAndDetectsEveryOtherFlip) {
  const auto kinds = OneOfEachKind();
  ASSERT_GT(kinds.size(), 30u);
  for (auto datagram : kinds) {
    unsigned masked = 0;
    for (size_t bit = 0; bit < 8 * datagram.bytes.size(); ++bit) {
      const auto mask = static_cast<uint8_t>(1u << bit % 8);
      datagram.bytes[bit / 8] ^= mask;
      const bool invisible = MaskedBits(datagram, bit / 8) & mask;
      masked += invisible;
      ASSERT_EQ(model::IcrcCheck(datagram.bytes, datagram.is_ipv6), invisible)
          << "byte " << bit / 8 << " bit " << bit % 8 << " of a datagram of " << datagram.bytes.size();
      datagram.bytes[bit / 8] ^= mask;
    }
    // Type of service, time to live and checksum, or traffic class, flow label and hop limit; UDP checksum; one byte of
    // BTH.
    EXPECT_EQ(masked, (datagram.is_ipv6 ? 8u + 20 + 8 : 8u + 8 + 16) + 16 + 8);
  }
}

}  // namespace
}  // namespace vireo::verif
