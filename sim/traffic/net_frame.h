// SPDX-License-Identifier: Apache-2.0
// Ethernet frames for tests of net queues, byte by byte, and the Internet checksum (RFC 1071) as plainly as it can be
// computed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace vireo::sim {

using Mac = std::array<uint8_t, 6>;

inline constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
inline constexpr size_t kShortestFrame = 60;  // without check sequence [IEEE 802.3, 3.2.8]
inline constexpr uint8_t kProtocolTcp = 6, kProtocolUdp = 17;

// Sum of 16-bit words in network order, the last one padded with 0, folded and not inverted.
uint16_t InternetSum(std::span<const uint8_t> bytes, uint32_t start = 0);

// A frame that no protocol claims, of `bytes` bytes from 14 on, whose contents follow from `seed`.
std::vector<uint8_t> PlainFrame(const Mac& destination, const Mac& source, size_t bytes, uint64_t seed);
// With an 802.1Q tag; from 18 bytes on.
std::vector<uint8_t> TaggedFrame(const Mac& destination, const Mac& source, uint16_t vlan_id, size_t bytes,
                                 uint64_t seed);

struct Flow {
  bool ipv6 = false;
  uint8_t protocol = kProtocolUdp;
  uint16_t source_port = 1000;
  uint16_t destination_port = 2000;
};
// TCP or UDP with so many bytes of data. `complete`: with its checksum; else that field holds the pseudo header's sum,
// as a driver with feature csum leaves it.
struct TransportFrame {
  std::vector<uint8_t> bytes;
  uint16_t csum_start = 0;
  uint16_t csum_offset = 0;
};
TransportFrame MakeTransportFrame(const Mac& destination, const Mac& source, const Flow& flow, size_t data_bytes,
                                  uint64_t seed, bool complete);
// Of such a frame: the transport checksum is right, over pseudo header and all that IP says belongs to it.
bool HasGoodChecksum(std::span<const uint8_t> frame);

}  // namespace vireo::sim
