// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/net_frame.h"

#include <algorithm>
#include <random>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {
namespace {

constexpr uint16_t kLocalExperimental = 0x88b5;  // IEEE 802, 9.2.3
constexpr size_t kUdpChecksum = 6, kTcpChecksum = 16, kTcpBytes = 20;

void Put16(std::vector<uint8_t>& bytes, size_t at, uint16_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}
uint16_t Get16(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

std::vector<uint8_t> EthernetFrame(const Mac& destination, const Mac& source, size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> frame(bytes);
  for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random() >> 32);
  std::ranges::copy(destination, frame.begin());
  std::ranges::copy(source, frame.begin() + 6);
  return frame;
}

// Offset of a frame's transport header, and the pseudo header of its checksum. [RFC 768, RFC 9293 3.1, RFC 8200 8.1]
struct Layout {
  size_t l4 = 0;
  size_t l4_bytes = 0;
  std::vector<uint8_t> pseudo{};
};
Layout LayoutOf(std::span<const uint8_t> frame) {
  const size_t l3 = spec::Ethernet::kBytes;
  const bool ipv6 = Get16(frame, l3 - 2) == static_cast<uint16_t>(spec::Ethertype::kIpv6);
  Layout layout;
  uint8_t protocol;
  if (ipv6) {
    layout.l4 = l3 + spec::Ipv6::kBytes;
    layout.l4_bytes = Get16(frame, l3 + 4);
    protocol = frame[l3 + 6];
    layout.pseudo.assign(frame.begin() + static_cast<ptrdiff_t>(l3 + 8),
                         frame.begin() + static_cast<ptrdiff_t>(l3 + 40));
  } else {
    layout.l4 = l3 + spec::Ipv4::kBytes;
    layout.l4_bytes = Get16(frame, l3 + 2) - spec::Ipv4::kBytes;
    protocol = frame[l3 + 9];
    layout.pseudo.assign(frame.begin() + static_cast<ptrdiff_t>(l3 + 12),
                         frame.begin() + static_cast<ptrdiff_t>(l3 + 20));
  }
  for (const size_t byte : {size_t{0}, size_t{protocol}, layout.l4_bytes >> 8, layout.l4_bytes & 0xff}) {
    layout.pseudo.push_back(static_cast<uint8_t>(byte));
  }
  return layout;
}

}  // namespace

uint16_t InternetSum(std::span<const uint8_t> bytes, uint32_t start) {
  uint32_t sum = start;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

std::vector<uint8_t> PlainFrame(const Mac& destination, const Mac& source, size_t bytes, uint64_t seed) {
  auto frame = EthernetFrame(destination, source, bytes, seed);
  Put16(frame, 12, kLocalExperimental);
  return frame;
}

std::vector<uint8_t> TaggedFrame(const Mac& destination, const Mac& source, uint16_t vlan_id, size_t bytes,
                                 uint64_t seed) {
  auto frame = EthernetFrame(destination, source, bytes, seed);
  Put16(frame, 12, static_cast<uint16_t>(spec::Ethertype::kVlan));
  Put16(frame, 14, static_cast<uint16_t>(0x6000 | vlan_id));
  Put16(frame, 16, kLocalExperimental);
  return frame;
}

TransportFrame MakeTransportFrame(const Mac& destination, const Mac& source, const Flow& flow, size_t data_bytes,
                                  uint64_t seed, bool complete) {
  const bool tcp = flow.protocol == kProtocolTcp;
  const size_t l3 = spec::Ethernet::kBytes;
  const size_t l4 = l3 + (flow.ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes);
  const size_t l4_bytes = (tcp ? kTcpBytes : spec::Udp::kBytes) + data_bytes;
  TransportFrame result;
  std::vector<uint8_t>& frame = result.bytes = EthernetFrame(destination, source, l4 + l4_bytes, seed);
  Put16(frame, 12, static_cast<uint16_t>(flow.ipv6 ? spec::Ethertype::kIpv6 : spec::Ethertype::kIpv4));
  if (flow.ipv6) {
    frame[l3] = 0x60;
    Put16(frame, l3 + 4, static_cast<uint16_t>(l4_bytes));
    frame[l3 + 6] = flow.protocol;
  } else {
    frame[l3] = 0x45;
    Put16(frame, l3 + 2, static_cast<uint16_t>(spec::Ipv4::kBytes + l4_bytes));
    Put16(frame, l3 + 6, 0x4000);  // dont_fragment
    frame[l3 + 9] = flow.protocol;
    Put16(frame, l3 + 10, 0);
    Put16(frame, l3 + 10, static_cast<uint16_t>(~InternetSum(std::span(frame).subspan(l3, spec::Ipv4::kBytes))));
  }
  Put16(frame, l4, flow.source_port);
  Put16(frame, l4 + 2, flow.destination_port);
  if (tcp) {
    frame[l4 + 12] = kTcpBytes / 4 << 4;
  } else {
    Put16(frame, l4 + 4, static_cast<uint16_t>(l4_bytes));
  }
  result.csum_start = static_cast<uint16_t>(l4);
  result.csum_offset = static_cast<uint16_t>(tcp ? kTcpChecksum : kUdpChecksum);
  const size_t field = l4 + result.csum_offset;
  const uint16_t pseudo = InternetSum(LayoutOf(frame).pseudo);
  Put16(frame, field, pseudo);
  if (complete) {
    const auto sum = static_cast<uint16_t>(~InternetSum(std::span(frame).subspan(l4)));
    Put16(frame, field, sum == 0 ? 0xffff : sum);
  }
  return result;
}

bool HasGoodChecksum(std::span<const uint8_t> frame) {
  const Layout layout = LayoutOf(frame);
  return InternetSum(frame.subspan(layout.l4, layout.l4_bytes), InternetSum(layout.pseudo)) == 0xffff;
}

}  // namespace vireo::sim
