// SPDX-License-Identifier: Apache-2.0
// Ethernet frames for tests of net queues, and the Internet checksum (RFC 1071) in its simplest form.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace vireo::sim {

using Mac = std::array<uint8_t, 6>;

inline constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
inline constexpr size_t kShortestFrame = 60;  // without FCS [IEEE 802.3, 3.2.8]
inline constexpr uint8_t kProtocolTcp = 6, kProtocolUdp = 17;

// Sum of 16-bit words in network order, the last one padded with 0, folded and not inverted.
uint16_t InternetSum(std::span<const uint8_t> bytes, uint32_t start = 0);

// A frame of a local experimental EtherType, `bytes` (14 or more) long, with contents determined by `seed`.
std::vector<uint8_t> PlainFrame(const Mac& destination, const Mac& source, size_t bytes, uint64_t seed);
// With an 802.1Q tag; 18 bytes or more.
std::vector<uint8_t> TaggedFrame(const Mac& destination, const Mac& source, uint16_t vlan_id, size_t bytes,
                                 uint64_t seed);

struct Flow {
  bool ipv6 = false;
  uint8_t protocol = kProtocolUdp;
  uint16_t source_port = 1000;
  uint16_t destination_port = 2000;
};
// TCP or UDP with data_bytes of data. `complete`: with its checksum; else that field holds the pseudo header's sum, as
// a driver with feature csum leaves it.
struct TransportFrame {
  std::vector<uint8_t> bytes;
  uint16_t csum_start = 0;
  uint16_t csum_offset = 0;
};
TransportFrame MakeTransportFrame(const Mac& destination, const Mac& source, const Flow& flow, size_t data_bytes,
                                  uint64_t seed, bool complete);
// Checks the transport checksum of such a frame, over pseudo header and IP payload.
bool HasGoodChecksum(std::span<const uint8_t> frame);

}  // namespace vireo::sim
