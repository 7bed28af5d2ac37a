// SPDX-License-Identifier: Apache-2.0
#include "model/eth/net_classify.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vireo::model {
namespace {

// 2^16 / golden ratio, odd: multiplication by it is a bijection whose highest bits depend on all bits. [Knuth, The Art
// of Computer Programming vol. 3, 6.4]
constexpr uint16_t kHashFactor = 0x9e37;

// [RFC 9293, 3.1] Without options.
constexpr size_t kTcpBytes = 20;
// Both ports, in the same place in TCP and UDP.
constexpr size_t kPortBytes = 4;
constexpr uint8_t kMinIhl = spec::Ipv4::kBytes / 4;

constexpr size_t kHeaderBytes = spec::Ethernet::kBytes + spec::VlanTag::kBytes + spec::Ipv6::kBytes;

uint16_t Word(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]); }

// An odd byte at the end is the high one of a word. [RFC 1071, 1] 16,383 bytes stay below 2^32.
uint32_t SumOfWords(std::span<const uint8_t> bytes) {
  uint32_t sum = 0;
  size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) sum += Word(&bytes[i]);
  if (i < bytes.size()) sum += uint32_t{bytes[i]} << 8;
  return sum;
}

uint16_t XorOfWords(std::span<const uint8_t> bytes) {
  uint16_t result = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) result = static_cast<uint16_t>(result ^ Word(&bytes[i]));
  return result;
}

// All ones after the carries were added. [RFC 1071, 1]
bool IsAllOnes(uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

// The fields of an IP header that are used here; all of it is in the frame.
struct Ip {
  spec::IpProtocol protocol{};
  bool fragment = false;
  bool header_ok = true;
  std::span<const uint8_t> addresses;
  size_t header_bytes = 0;
  size_t bytes = 0;  // header and payload; not checked
};

// `packet` starts after the EtherType. False: not IP, or shorter than a header.
bool ReadIp(spec::Ethertype ethertype, std::span<const uint8_t> packet, Ip& ip) {
  if (ethertype == spec::Ethertype::kIpv4 && packet.size() >= spec::Ipv4::kBytes) {
    const spec::Ipv4 header = spec::Ipv4::Decode(packet.data());
    ip.header_bytes = size_t{4} * header.ihl;
    if (header.version != 4 || header.ihl < kMinIhl || packet.size() < ip.header_bytes) return false;
    ip.protocol = header.protocol;
    ip.fragment = header.more_fragments || header.fragment_offset != 0;
    ip.header_ok = IsAllOnes(SumOfWords(packet.first(ip.header_bytes)));
    ip.addresses = packet.subspan(spec::Ipv4::kSourceOffset, spec::Ipv4::kBytes - spec::Ipv4::kSourceOffset);
    ip.bytes = header.total_length;
    return true;
  }
  if (ethertype == spec::Ethertype::kIpv6 && packet.size() >= spec::Ipv6::kBytes) {
    const spec::Ipv6 header = spec::Ipv6::Decode(packet.data());
    if (header.version != 6) return false;
    ip.header_bytes = spec::Ipv6::kBytes;
    ip.protocol = header.next_header;
    ip.addresses = packet.subspan(spec::Ipv6::kSourceOffset, spec::Ipv6::kBytes - spec::Ipv6::kSourceOffset);
    ip.bytes = spec::Ipv6::kBytes + size_t{header.payload_length};
    return true;
  }
  return false;
}

// For TCP or UDP with at least its ports in frame and datagram.
bool ChecksumValid(const Ip& ip, std::span<const uint8_t> packet) {
  const bool udp = ip.protocol == spec::IpProtocol::kUdp;
  if (ip.bytes > packet.size() || ip.bytes < ip.header_bytes + (udp ? spec::Udp::kBytes : kTcpBytes)) return false;
  const auto l4 = packet.first(ip.bytes).subspan(ip.header_bytes);
  if (udp) {
    const spec::Udp header = spec::Udp::Decode(l4.data());
    // 0 means no checksum, which IPv6 forbids. [RFC 768; RFC 8200, 8.1]
    if (header.length != l4.size() || header.checksum == 0) return false;
  }
  // Including the pseudo header. [RFC 9293, 3.1; RFC 768; RFC 8200, 8.1]
  return ip.header_ok && IsAllOnes(SumOfWords(ip.addresses) + static_cast<uint32_t>(l4.size()) +
                                   static_cast<uint32_t>(ip.protocol) + SumOfWords(l4));
}

}  // namespace

size_t NetClassify::ClassBeat(size_t frame_bytes, size_t beat_bytes) {
  // Up to the ports behind the longest IPv4 header.
  constexpr size_t kClassBytes = spec::Ethernet::kBytes + spec::VlanTag::kBytes + size_t{4} * 15 + kPortBytes;
  return (std::min(frame_bytes, kClassBytes) - 1) / beat_bytes;
}

spec::NetClass NetClassify::Classify(std::span<const uint8_t> frame) {
  // Zero after the end.
  std::array<uint8_t, kHeaderBytes> start{};
  std::copy_n(frame.begin(), std::min(frame.size(), kHeaderBytes), start.begin());

  spec::NetClass result;
  const spec::Ethernet ethernet = spec::Ethernet::Decode(start.data());
  std::copy(std::begin(ethernet.destination), std::end(ethernet.destination), std::begin(result.destination_mac));
  spec::Ethertype ethertype = ethernet.ethertype;
  size_t l3 = spec::Ethernet::kBytes;
  // A truncated tag does not count as a tag.
  if (ethertype == spec::Ethertype::kVlan && frame.size() >= l3 + spec::VlanTag::kBytes) {
    const spec::VlanTag tag = spec::VlanTag::Decode(start.data() + l3);
    result.vlan_present = true;
    result.vlan_id = tag.vid;
    ethertype = tag.ethertype;
    l3 += spec::VlanTag::kBytes;
  }

  const auto packet = frame.subspan(std::min(frame.size(), l3));
  uint16_t words = 0;
  if (Ip ip; ReadIp(ethertype, packet, ip)) {
    words = XorOfWords(ip.addresses);
    // All packets of a flow must get the same hash, so ports of fragments are ignored: later fragments do not carry
    // them.
    if ((ip.protocol == spec::IpProtocol::kTcp || ip.protocol == spec::IpProtocol::kUdp) && !ip.fragment &&
        std::min(packet.size(), ip.bytes) >= ip.header_bytes + kPortBytes) {
      words = static_cast<uint16_t>(words ^ XorOfWords(packet.subspan(ip.header_bytes, kPortBytes)) ^
                                    static_cast<uint16_t>(ip.protocol));
      result.checksum_valid = ChecksumValid(ip, packet);
    }
  } else {
    words = XorOfWords(std::span(start).first(spec::Ethernet::kEthertypeOffset));
  }
  result.flow_hash = static_cast<uint16_t>(uint32_t{words} * kHashFactor);
  return result;
}

}  // namespace vireo::model
