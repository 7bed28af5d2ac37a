// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/roce_packet.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace vireo::sim::monitor {
namespace {

constexpr size_t kMacBytes = 6, kEthernetBytes = 14, kVlanBytes = 4, kUdpBytes = 8;

uint16_t Network16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
uint32_t Network32(const uint8_t* at) { return uint32_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3]; }
uint64_t MacAt(const uint8_t* at) { return uint64_t{Network16(at)} << 32 | Network32(at + 2); }

uint16_t Ipv4Checksum(const uint8_t* header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < 20; i += 4) sum += Network32(header + i);
  sum -= Network16(header + 10);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// The product of two polynomials modulo that of the CRC; bit 31 is the coefficient of 1.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0 - (a >> 31));
    b = b >> 1 ^ (spec::kIcrcPolynomial & (0 - (b & 1)));
  }
  return product;
}

// The CRC behind `bytes` bytes of zeros: times x to the 8 * bytes.
uint32_t Shift(uint32_t crc, size_t bytes) {
  uint32_t power = 0x8000'0000, square = 0x0080'0000;  // 1; x to the 8
  for (; bytes != 0; bytes >>= 1, square = Multiply(square, square)) {
    if ((bytes & 1) != 0) power = Multiply(power, square);
  }
  return Multiply(crc, power);
}

// The ICRC of the datagram at `ip` whose BTH begins at `bth`; `end` is that of the bytes which it covers. The fields
// that routers change count as ones: IPv4 TOS, TTL and checksum, IPv6 traffic class, flow label and hop limit, the UDP
// checksum, the byte of the BTH with FECN and BECN; 8 bytes of ones stand before. [IBTA A17.3.3]
uint32_t Icrc(std::span<const uint8_t> frame, size_t ip, bool is_ipv6, size_t bth, size_t end, Checksum& checksum) {
  std::array<uint8_t, 8 + 40 + kUdpBytes + spec::Bth::kBytes> head{};
  std::memset(head.data(), 0xff, 8);
  const size_t bytes = bth + spec::Bth::kBytes - ip;
  std::memcpy(head.data() + 8, frame.data() + ip, bytes);
  uint8_t* const at = head.data() + 8;
  if (is_ipv6) {
    at[0] |= 0x0f;
    at[1] = at[2] = at[3] = at[7] = 0xff;
  } else {
    at[1] = at[8] = at[10] = at[11] = 0xff;
  }
  at[bth - ip - 2] = at[bth - ip - 1] = 0xff;
  at[bth - ip + 4] = 0xff;
  const uint32_t crc = Crc32(~uint32_t{0}, std::span(head).first(8 + bytes));
  const auto rest = frame.subspan(bth + spec::Bth::kBytes, end - bth - spec::Bth::kBytes);
  checksum = {.all = Crc32(crc, rest), .head = crc, .bytes = rest.size()};
  return ~checksum.all;
}

void Break(RocePacket& packet, const Rule& rule, std::string seen, std::string expected) {
  if (packet.broken != nullptr) return;
  packet.broken = &rule;
  packet.seen = std::move(seen);
  packet.expected = std::move(expected);
}

// [RFC 791, 3.1; RFC 8200, 3; RFC 4291, 2.5.5.2]
void ReadIp(RocePacket& packet, const uint8_t* ip) {
  if (packet.is_ipv6) {
    packet.traffic_class = static_cast<uint8_t>(ip[0] << 4 | ip[1] >> 4);
    packet.hop_limit = ip[7];
    std::copy_n(ip + 8, 16, packet.source.begin());
    std::copy_n(ip + 24, 16, packet.destination.begin());
    return;
  }
  packet.traffic_class = ip[1];
  packet.hop_limit = ip[8];
  for (auto* const address : {&packet.source, &packet.destination}) (*address)[10] = (*address)[11] = 0xff;
  std::copy_n(ip + 12, 4, packet.source.begin() + 12);
  std::copy_n(ip + 16, 4, packet.destination.begin() + 12);
}

void CheckIpv4(RocePacket& packet, const uint8_t* ip) {
  if (Network16(ip + 10) != Ipv4Checksum(ip)) [[unlikely]] {
    Break(packet, kWireHeader, "IPv4 header checksum " + Hex(Network16(ip + 10)), Hex(Ipv4Checksum(ip)));
  }
  if ((ip[6] & 0xc0) != 0x40) [[unlikely]]
    Break(packet, kWireHeader, "IPv4 flags " + Hex(ip[6] >> 5), "don't fragment");
}

// Where a RoCEv2 packet is in its frame.
struct Layout {
  size_t ip = kEthernetBytes, ip_bytes = 0;
  bool is_ipv6 = false;
};

// Nullopt: it is none.
std::optional<Layout> FindRoce(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  Layout at;
  uint16_t type = Network16(frame.data() + 12);
  if (type == static_cast<uint16_t>(spec::Ethertype::kVlan) && frame.size() >= at.ip + kVlanBytes) {
    type = Network16(frame.data() + at.ip + 2);
    at.ip += kVlanBytes;
  }
  at.is_ipv6 = type == static_cast<uint16_t>(spec::Ethertype::kIpv6);
  if (!at.is_ipv6 && type != static_cast<uint16_t>(spec::Ethertype::kIpv4)) return std::nullopt;
  at.ip_bytes = at.is_ipv6 ? 40 : 20;
  if (frame.size() < at.ip + at.ip_bytes + kUdpBytes) return std::nullopt;
  const uint8_t* const header = frame.data() + at.ip;
  if (at.is_ipv6 ? header[0] >> 4 != 6 : header[0] != 0x45) return std::nullopt;  // no RoCEv2 packet has IP options
  if (header[at.is_ipv6 ? 6 : 9] != static_cast<uint8_t>(spec::IpProtocol::kUdp)) return std::nullopt;
  if (!at.is_ipv6 && (Network16(header + 6) & 0x3fff) != 0) return std::nullopt;  // a fragment
  if (Network16(header + at.ip_bytes + 2) != spec::kUdpPortRocev2) return std::nullopt;
  return at;
}

}  // namespace

// libdeflate inverts at both ends.
uint32_t Crc32(uint32_t crc, std::span<const uint8_t> bytes) {
  return ~libdeflate_crc32(~crc, bytes.data(), bytes.size());
}

uint64_t HashOf(std::span<const uint8_t> bytes) {
  constexpr size_t kWord = sizeof(uint64_t);
  uint64_t hash = bytes.size();
  for (size_t at = 0; at < bytes.size(); at += kWord) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(kWord, bytes.size() - at));
    hash = (hash ^ word) * 0xff51'afd7'ed55'8ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

bool HaveSameContent(const Checksum& one, const Checksum& other) {
  if (one.head == other.head) return one.bytes == other.bytes && one.all == other.all;
  return one.bytes == other.bytes && (one.all ^ other.all) == Shift(one.head ^ other.head, one.bytes);
}

std::optional<RocePacket> ReadRoce(std::span<const uint8_t> frame) {
  std::optional<RocePacket> result;
  const auto at = FindRoce(frame);
  if (!at.has_value()) return result;
  const auto [ip, ip_bytes, is_ipv6] = *at;
  const uint8_t* const header = frame.data() + ip;
  const size_t udp = ip + ip_bytes, bth = udp + kUdpBytes;
  RocePacket& packet = result.emplace();
  packet.destination_mac = MacAt(frame.data());
  packet.source_mac = MacAt(frame.data() + kMacBytes);
  if (ip != kEthernetBytes) packet.vlan = Network16(frame.data() + kEthernetBytes);
  packet.is_ipv6 = is_ipv6;
  ReadIp(packet, header);
  const size_t ip_length = is_ipv6 ? ip_bytes + Network16(header + 4) : Network16(header + 2);
  const size_t udp_length = Network16(frame.data() + udp + 4);
  const size_t end = ip + ip_length;
  if (end > frame.size() || ip_length != ip_bytes + udp_length) [[unlikely]] {
    Break(packet, kWireLength,
          "IP length " + std::to_string(ip_length) + " and UDP length " + std::to_string(udp_length) + " in " +
              std::to_string(frame.size() - ip) + " bytes",
          "lengths that agree");
    return result;
  }
  constexpr size_t kIcrc = spec::kIcrcBytes;
  if (end < bth + spec::Bth::kBytes + kIcrc) [[unlikely]] {
    Break(packet, kWireLength, std::to_string(end - bth) + " bytes behind UDP", "a BTH and an ICRC");
    return result;
  }
  packet.bth = spec::Bth::Decode(frame.data() + bth);
  packet.info = spec::kOpcodeInfo[static_cast<uint8_t>(packet.bth.opcode)];
  packet.service = static_cast<spec::BthService>(static_cast<uint8_t>(packet.bth.opcode) >> 5);
  const uint8_t* const tail = frame.data() + end - kIcrc;
  const uint32_t icrc = tail[0] | uint32_t{tail[1]} << 8 | uint32_t{tail[2]} << 16 | uint32_t{tail[3]} << 24;
  const uint32_t right = Icrc(frame, ip, is_ipv6, bth, end - kIcrc, packet.checksum);
  packet.is_intact = icrc == right;
  if (icrc != right) [[unlikely]]
    Break(packet, kWireIcrc, "ICRC " + Hex(icrc), Hex(right));
  if (!packet.info.valid) [[unlikely]] {
    Break(packet, kWireHeader, "BTH opcode " + Hex(static_cast<uint8_t>(packet.bth.opcode)), "an opcode of the table");
    return result;
  }
  const size_t begin = bth + spec::Bth::kBytes + packet.info.extension_bytes;
  const size_t pad = packet.bth.pad_count;
  if (begin + pad + kIcrc > end) [[unlikely]] {
    Break(packet, kWireLength, std::to_string(end - bth) + " bytes behind UDP", "room for the headers of the opcode");
    packet.is_intact = false;
    return result;
  }
  const uint8_t* const extension = frame.data() + bth + spec::Bth::kBytes;
  packet.extension = {extension, packet.info.extension_bytes};
  packet.payload = frame.subspan(begin, end - kIcrc - pad - begin);
  // Offsets of extension headers count from the BTH.
  const uint8_t* const transport = frame.data() + bth;
  if (packet.info.has_reth) packet.reth = spec::Reth::Decode(transport + packet.info.reth_offset);
  if (packet.info.has_aeth) packet.aeth = spec::Aeth::Decode(transport + packet.info.aeth_offset);
  if (packet.info.has_deth) packet.deth = spec::Deth::Decode(transport + packet.info.deth_offset);
  if (packet.info.has_atomic_eth) {
    packet.atomic_eth = spec::AtomicEth::Decode(transport + packet.info.atomic_eth_offset);
  }
  if (packet.info.has_atomic_ack_eth) {
    packet.atomic_ack_eth = spec::AtomicAckEth::Decode(transport + packet.info.atomic_ack_eth_offset);
  }

  const auto behind = frame.subspan(end);
  if (!behind.empty() && frame.size() > spec::kEthernetFrameBytesMin) [[unlikely]] {
    Break(packet, kWireLength, std::to_string(behind.size()) + " bytes behind the datagram", "none");
  }
  if (std::ranges::any_of(behind, [](uint8_t byte) { return byte != 0; })) [[unlikely]] {
    Break(packet, kWirePadding, "Ethernet padding that is not 0", "0");
  }
  if (!is_ipv6) CheckIpv4(packet, header);
  if (packet.bth.transport_version != 0 || packet.bth.reserved != 0 || packet.bth.reserved1 != 0) [[unlikely]] {
    Break(packet, kWireHeader, "BTH with version or reserved bits", "0");
  }
  if ((packet.payload.size() + pad) % 4 != 0) [[unlikely]] {
    Break(packet, kWirePadding,
          std::to_string(packet.payload.size()) + " bytes of payload and " + std::to_string(pad) + " of padding",
          "a multiple of 4");
  }
  for (size_t i = 0; i < pad; ++i) {
    const uint8_t byte = packet.payload.data()[packet.payload.size() + i];
    if (byte != 0) [[unlikely]]
      Break(packet, kWirePadding, "padding byte " + Hex(byte), "0");
  }
  return result;
}

}  // namespace vireo::sim::monitor
