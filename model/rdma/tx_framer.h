// SPDX-License-Identifier: Apache-2.0
// Makes Ethernet frames of packets: the counterpart of rtl/rdma/vireo_tx_framer.sv. It determines the bytes and the
// cycles in which they leave; other blocks decide what to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/rdma/transport.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Contents of a frame: tx_token_t of vireo_rdma_pkg. Fields of the other IP version, the tag's fields without tag,
// bth.pad_count and the extension after the opcode's extended headers are ignored.
struct TxToken {
  // Longest run of extended headers in the opcode table.
  static constexpr size_t kExtensionBytes = spec::AtomicEth::kBytes;
  // The largest path MTU: ib_mtu counts in powers of two from 128. [IBTA vol. 1, 9.4.3.2]
  static constexpr size_t kPayloadBytes = size_t{1} << (kMtuShift + static_cast<unsigned>(spec::IbMtu::kMtu4096));

  uint8_t destination_mac[6]{};
  uint8_t source_mac[6]{};
  bool vlan_present{};
  uint8_t vlan_pcp{};
  bool vlan_dei{};
  uint16_t vlan_vid{};
  bool is_ipv6{};
  uint8_t dscp{};
  spec::IpEcn ecn{};
  uint8_t hop_limit{};
  uint32_t flow_label{};      // IPv6
  uint16_t identification{};  // IPv4; 0 suffices, because dont_fragment is set [RFC 6864, 4.1]
  uint8_t ip_source[16]{};    // IPv4 as ::ffff:a.b.c.d
  uint8_t ip_destination[16]{};
  uint16_t udp_source_port{};
  spec::Bth bth{};
  uint8_t extension[kExtensionBytes]{};  // from the first byte after the BTH
  uint16_t payload_bytes{};              // without pad, at most kPayloadBytes

  // Calls f(name, field, bits) for every scalar from the most significant end of tx_token_t downwards: the fields in
  // this order form the token's bit pattern. The extension is in memory order there, so its last byte comes first.
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (auto& byte : self.destination_mac) f("destination_mac", byte, 8);
    for (auto& byte : self.source_mac) f("source_mac", byte, 8);
    f("vlan_present", self.vlan_present, 1);
    f("vlan_pcp", self.vlan_pcp, 3);
    f("vlan_dei", self.vlan_dei, 1);
    f("vlan_vid", self.vlan_vid, 12);
    f("is_ipv6", self.is_ipv6, 1);
    f("dscp", self.dscp, 6);
    f("ecn", self.ecn, 2);
    f("hop_limit", self.hop_limit, 8);
    f("flow_label", self.flow_label, 20);
    f("identification", self.identification, 16);
    for (auto& byte : self.ip_source) f("ip_source", byte, 8);
    for (auto& byte : self.ip_destination) f("ip_destination", byte, 8);
    f("udp_source_port", self.udp_source_port, 16);
    spec::Bth::Visit(self.bth, f);
    for (size_t i = kExtensionBytes; i-- > 0;) f("extension", self.extension[i], 8);
    f("payload_bytes", self.payload_bytes, 13);
  }
};

// Timing of one packet. The beats of a train are in consecutive cycles.
struct TxTrain {
  uint64_t payload_beats{};
  uint64_t first_payload_cycle{};  // in which the first beat of payload is taken; 0 if there is none
  uint64_t first_beat_cycle{};     // in which the frame's first beat is visible
  uint64_t last_beat_cycle{};

  friend bool operator==(const TxTrain&, const TxTrain&) = default;
};

class TxFramer {
 public:
  // Cycles from the acceptance of a token to its frame's first beat, for every packet and datapath width:
  // TxFramerLatency of vireo_rdma_pkg.
  static constexpr uint64_t kLatency = 10;
  // From the acceptance to the first payload beat, plus one cycle for each beat that the headers fill.
  static constexpr uint64_t kPayloadLatency = 1;
  // From m_axis_tready to the token acceptance that it permits.
  static constexpr uint64_t kReadyLatency = 1;

  // The frame, without check sequence, of a token and its payload (token.payload_bytes bytes).
  static std::vector<uint8_t> Frame(const TxToken& token, std::span<const uint8_t> payload);

  // beat_bytes: DataBits/8.
  explicit TxFramer(size_t beat_bytes) : beat_bytes_(beat_bytes) {}

  // The first cycle in which the framer can accept a token, given those accepted so far. It accepts one that is offered
  // in the first cycle from then on for which the MAC was ready kReadyLatency cycles before.
  uint64_t free_at() const { return free_at_; }

  // A token is accepted in cycle `cycle`, not before free_at().
  TxTrain Accept(uint64_t cycle, const TxToken& token);

 private:
  uint64_t beat_bytes_;
  uint64_t free_at_ = 0;
};

}  // namespace vireo::model
