// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/rx_parser.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "model/rdma/icrc.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::RxVerdict;

// Last header byte that is parsed, apart from the ICRC.
constexpr size_t kMostHeaderBytes = spec::Ethernet::kBytes + spec::VlanTag::kBytes + spec::Ipv6::kBytes +
                                    spec::Udp::kBytes + spec::Bth::kBytes + RxToken::kExtensionBytes;
// Fixed part of every RoCEv2 datagram after its IP header.
constexpr size_t kFixedBytes = spec::Udp::kBytes + spec::Bth::kBytes + spec::kIcrcBytes;
constexpr unsigned kIhlWithoutOptions = spec::Ipv4::kBytes / 4;

static_assert(std::all_of(std::begin(spec::kOpcodeInfo), std::end(spec::kOpcodeInfo),
                          [](const auto& info) { return TokenExtensionBytes(info) <= RxToken::kExtensionBytes; }));

// The headers of a frame. Bytes after its end read as zero; the checks determine whether a field is present.
struct Layers {
  explicit Layers(std::span<const uint8_t> frame) : frame(frame) {
    std::copy_n(frame.begin(), std::min(frame.size(), kMostHeaderBytes), head.begin());
    ethernet = spec::Ethernet::Decode(head.data());
    auto ethertype = ethernet.ethertype;
    if (ethertype == spec::Ethertype::kVlan && frame.size() >= spec::Ethernet::kBytes + spec::VlanTag::kBytes) {
      vlan = true;
      tag = spec::VlanTag::Decode(head.data() + spec::Ethernet::kBytes);
      ethertype = tag.ethertype;
      l3 += spec::VlanTag::kBytes;
    }
    const bool complete = frame.size() >= spec::Ethernet::kBytes;
    is_ipv4 = complete && ethertype == spec::Ethertype::kIpv4;
    is_ipv6 = complete && ethertype == spec::Ethertype::kIpv6;
    is_roce_v1 = complete && ethertype == spec::Ethertype::kRoceV1;

    ipv4 = spec::Ipv4::Decode(head.data() + l3);
    ipv6 = spec::Ipv6::Decode(head.data() + l3);
    // An IPv4 header with too small a length is parsed as one without options, and rejected later.
    l4 = l3 + (is_ipv6 ? spec::Ipv6::kBytes : size_t{4} * std::max<unsigned>(ipv4.ihl, kIhlWithoutOptions));
    udp = spec::Udp::Decode(head.data() + l4);
    end = l3 + (is_ipv6 ? spec::Ipv6::kBytes + ipv6.payload_length : ipv4.total_length);

    // Valid only after an IP header of the expected length.
    bth_offset = l3 + (is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes) + spec::Udp::kBytes;
    bth = spec::Bth::Decode(head.data() + bth_offset);
    info = spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)];
  }

  // The IP datagram, by its own length.
  std::span<const uint8_t> datagram() const { return frame.subspan(l3, end - l3); }

  std::span<const uint8_t> frame;
  std::array<uint8_t, kMostHeaderBytes> head{};
  spec::Ethernet ethernet;
  bool vlan = false;
  spec::VlanTag tag;
  size_t l3 = spec::Ethernet::kBytes;
  bool is_ipv4 = false;
  bool is_ipv6 = false;
  bool is_roce_v1 = false;
  spec::Ipv4 ipv4;
  spec::Ipv6 ipv6;
  size_t l4 = 0;
  spec::Udp udp;
  size_t end = 0;  // of the datagram, with ICRC
  size_t bth_offset = 0;
  spec::Bth bth;
  spec::OpcodeInfo info;
};

// The checks, one function each, in the order of rx_verdict. Each may assume that the checks before it passed.

// A port is valid only if frame and datagram contain it. A later fragment has none. [RFC 791, 3.2; RFC 8200, 4.5; IBTA
// A17.4.3]
bool IsNet(const Layers& f) {
  const bool is_udp = (f.is_ipv4 && f.ipv4.protocol == spec::IpProtocol::kUdp && f.ipv4.fragment_offset == 0) ||
                      (f.is_ipv6 && f.ipv6.next_header == spec::IpProtocol::kUdp);
  const size_t port_end = f.l4 + spec::Udp::kDestinationPortOffset + sizeof(f.udp.destination_port);
  return !is_udp || f.udp.destination_port != spec::kUdpPortRocev2 || f.frame.size() < port_end || f.end < port_end;
}

bool IsTruncated(const Layers& f) { return f.frame.size() < f.end || f.end < f.l4 + kFixedBytes; }

// [RFC 791, 3.1; RFC 1071; RFC 8200, 3; IBTA A17.4: no options]
bool HasBadIpHeader(const Layers& f) {
  if (f.is_ipv6) return f.ipv6.version != 6;
  if (f.ipv4.version != 4 || f.ipv4.ihl != kIhlWithoutOptions) return true;
  uint32_t sum = 0;
  for (size_t i = f.l3; i < f.l4; i += 2) sum += uint32_t{f.head[i]} << 8 | f.head[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum != 0xffff;
}

// [RFC 791, 3.2; IBTA A17.4]
bool IsFragment(const Layers& f) { return f.is_ipv4 && f.ipv4.more_fragments; }

// [RFC 768; IBTA A17.4.3]
bool HasBadUdpLength(const Layers& f) { return f.l4 + f.udp.length != f.end; }

bool HasBadIcrc(const Layers& f) { return !IcrcCheck(f.datagram(), f.is_ipv6); }

// [IBTA vol. 1, 9.6]
bool HasBadTransportVersion(const Layers& f) { return f.bth.transport_version != 0; }

// An RC responder sends a NAK for an unknown opcode, so the transport must get the packet. [IBTA vol. 1, 9.7.4.1]
bool HasBadOpcode(const Layers& f) {
  const auto service = static_cast<spec::BthService>(static_cast<uint8_t>(f.bth.opcode) >> 5);
  return !f.info.valid && service != spec::BthService::kRc;
}

// [IBTA vol. 1, 9.6]
bool HasBadLength(const Layers& f) {
  const size_t room = f.end - f.bth_offset - spec::Bth::kBytes - spec::kIcrcBytes;
  return room < size_t{f.info.extension_bytes} + f.bth.pad_count;
}

RxVerdict VerdictOf(const Layers& f, bool mac_error, bool roce) {
  // Nothing in a bad frame is reliable, not even that it is not RoCEv2.
  if (mac_error) return RxVerdict::kTruncated;
  if (!roce) return RxVerdict::kNet;
  // A GRH in place of an IP header [IBTA A16]: not supported, and the host's stack could not use it.
  if (f.is_roce_v1) return RxVerdict::kTransportVersion;
  if (IsNet(f)) return RxVerdict::kNet;
  if (IsTruncated(f)) return RxVerdict::kTruncated;
  if (HasBadIpHeader(f)) return RxVerdict::kIpHeader;
  if (IsFragment(f)) return RxVerdict::kIpFragment;
  if (HasBadUdpLength(f)) return RxVerdict::kUdpLength;
  if (HasBadIcrc(f)) return RxVerdict::kIcrc;
  if (HasBadTransportVersion(f)) return RxVerdict::kTransportVersion;
  if (HasBadOpcode(f)) return RxVerdict::kOpcode;
  if (HasBadLength(f)) return RxVerdict::kLength;
  return RxVerdict::kRoce;
}

// An IPv4 address as IPv4-mapped IPv6 address (and GID). [RFC 4291, 2.5.5.2]
void PutMapped(uint32_t address, uint8_t (&to)[16]) {
  to[10] = to[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i) to[12 + i] = static_cast<uint8_t>(address >> (24 - 8 * i));
}

void DescribeFrame(const Layers& f, RxToken& token) {
  token.frame_bytes = static_cast<uint16_t>(f.frame.size());
  std::copy_n(f.ethernet.destination, sizeof(token.destination_mac), token.destination_mac);
  std::copy_n(f.ethernet.source, sizeof(token.source_mac), token.source_mac);
  token.vlan_present = f.vlan;
  token.vlan_pcp = f.tag.pcp;
  token.vlan_dei = f.tag.dei;
  token.vlan_vid = f.tag.vid;
  token.is_ipv6 = f.is_ipv6;
  token.l3_offset = static_cast<uint8_t>(f.l3);
}

void DescribePacket(const Layers& f, RxToken& token) {
  const size_t extension = f.bth_offset + spec::Bth::kBytes;
  const size_t payload = extension + f.info.extension_bytes;
  token.bth_offset = static_cast<uint8_t>(f.bth_offset);
  token.payload_offset = static_cast<uint8_t>(payload);
  token.payload_bytes = static_cast<uint16_t>(f.end - spec::kIcrcBytes - f.bth.pad_count - payload);
  if (f.is_ipv6) {
    token.dscp = f.ipv6.dscp;
    token.ecn = f.ipv6.ecn;
    token.hop_limit = f.ipv6.hop_limit;
    std::copy_n(f.ipv6.source, sizeof(token.ip_source), token.ip_source);
    std::copy_n(f.ipv6.destination, sizeof(token.ip_destination), token.ip_destination);
  } else {
    token.dscp = f.ipv4.dscp;
    token.ecn = f.ipv4.ecn;
    token.hop_limit = f.ipv4.time_to_live;
    PutMapped(f.ipv4.source, token.ip_source);
    PutMapped(f.ipv4.destination, token.ip_destination);
  }
  token.udp_source_port = f.udp.source_port;
  token.bth = f.bth;
  // An ATOMIC WRITE of another length is refused.
  const bool fits = token.payload_bytes == spec::kAtomicBytes;
  std::copy_n(f.head.data() + extension, fits ? TokenExtensionBytes(f.info) : f.info.extension_bytes, token.extension);
  if (f.info.operation == spec::BthOperation::kFlush) {
    // The RETH where others have it: the FETH is behind it.
    std::rotate(token.extension, token.extension + spec::Feth::kBytes,
                token.extension + spec::Feth::kBytes + spec::Reth::kBytes);
  }
  token.info = f.info;
}

}  // namespace

RxToken RxParser::Parse(std::span<const uint8_t> frame, bool mac_error, bool roce) {
  assert(!frame.empty() && frame.size() <= std::numeric_limits<uint16_t>::max());
  const Layers layers(frame);
  RxToken token;
  token.verdict = VerdictOf(layers, mac_error, roce);
  DescribeFrame(layers, token);
  if (token.verdict == RxVerdict::kRoce) DescribePacket(layers, token);
  return token;
}

}  // namespace vireo::model
