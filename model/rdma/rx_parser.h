// SPDX-License-Identifier: Apache-2.0
// Identifies RoCEv2 among received Ethernet frames and performs every stateless check: the counterpart of
// rtl/rdma/vireo_rx_parser.sv. It has no queue pair state, so the transport checks keys, sequence numbers and the
// payload length against the path MTU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// The parser's result for one frame: rx_token_t of vireo_rdma_pkg. The first group (up to l3_offset) is valid for every
// frame; the rest is zero unless the verdict is kRoce. Offsets count from the first byte of the frame.
struct RxToken {
  // Longest run of extended headers in the opcode table.
  static constexpr size_t kExtensionBytes = spec::AtomicEth::kBytes;

  spec::RxVerdict verdict{};
  uint16_t frame_bytes{};
  uint8_t destination_mac[6]{};
  uint8_t source_mac[6]{};
  bool vlan_present{};
  uint8_t vlan_pcp{};
  bool vlan_dei{};
  uint16_t vlan_vid{};
  bool is_ipv6{};
  uint8_t l3_offset{};

  uint8_t bth_offset{};
  uint8_t payload_offset{};
  uint16_t payload_bytes{};  // without pad
  uint8_t dscp{};
  spec::IpEcn ecn{};
  uint8_t hop_limit{};
  uint8_t ip_source[16]{};  // IPv4 as ::ffff:a.b.c.d
  uint8_t ip_destination[16]{};
  uint16_t udp_source_port{};
  spec::Bth bth{};
  uint8_t extension[kExtensionBytes]{};  // from the first byte after the BTH; zero after the last of
                                         // TokenExtensionBytes(). Of FLUSH the RETH first, then the FETH
  spec::OpcodeInfo info{};

  // Calls f(name, field, bits) for every scalar from the most significant end of rx_token_t downwards: the fields in
  // this order form the token's bit pattern. The extension is in memory order there, so its last byte comes first.
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("verdict", self.verdict, 4);
    f("frame_bytes", self.frame_bytes, 16);
    for (auto& byte : self.destination_mac) f("destination_mac", byte, 8);
    for (auto& byte : self.source_mac) f("source_mac", byte, 8);
    f("vlan_present", self.vlan_present, 1);
    f("vlan_pcp", self.vlan_pcp, 3);
    f("vlan_dei", self.vlan_dei, 1);
    f("vlan_vid", self.vlan_vid, 12);
    f("is_ipv6", self.is_ipv6, 1);
    f("l3_offset", self.l3_offset, 5);
    f("bth_offset", self.bth_offset, 7);
    f("payload_offset", self.payload_offset, 7);
    f("payload_bytes", self.payload_bytes, 16);
    f("dscp", self.dscp, 6);
    f("ecn", self.ecn, 2);
    f("hop_limit", self.hop_limit, 8);
    for (auto& byte : self.ip_source) f("ip_source", byte, 8);
    for (auto& byte : self.ip_destination) f("ip_destination", byte, 8);
    f("udp_source_port", self.udp_source_port, 16);
    spec::Bth::Visit(self.bth, f);
    for (size_t i = kExtensionBytes; i-- > 0;) f("extension", self.extension[i], 8);
    spec::OpcodeInfo::Visit(self.info, f);
  }
};

class RxParser {
 public:
  // Cycles from a frame's last beat to its token, for every datapath width: RxParserLatency of vireo_rdma_pkg.
  static constexpr uint64_t kLatency = 6;

  // The cycle in which the token of a frame is visible whose last beat is accepted in cycle `last_beat`. Independent of
  // anything else, as the parser accepts a beat in every cycle.
  static constexpr uint64_t TokenCycle(uint64_t last_beat) { return last_beat + kLatency; }

  // `frame` has no check sequence and 1 to 65,535 bytes; mac_error: the MAC reported an error. Not `roce`: no frame is
  // RoCE, every good one is kNet.
  static RxToken Parse(std::span<const uint8_t> frame, bool mac_error, bool roce = true);
};

}  // namespace vireo::model
