// SPDX-License-Identifier: Apache-2.0
// A RoCEv2 frame as fields: taken apart, put together again, ICRC judged and computed. What decode and replay of
// captures stand on. It judges one frame by itself: no state of a connection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

using GidBytes = std::array<uint8_t, 16>;  // network order; IPv4 as ::ffff:a.b.c.d

struct RoceFrame {
  spec::Ethernet ethernet;
  std::optional<spec::VlanTag> vlan;
  bool is_ipv6 = false;
  spec::Ipv4 ipv4;  // one of the two
  spec::Ipv6 ipv6;
  std::vector<uint8_t> ip_options;  // of IPv4; the ICRC of such a frame is nobody's business (RoCEv2 has none)
  spec::Udp udp;
  spec::Bth bth;
  // Those that info() says.
  spec::Reth reth;
  spec::Aeth aeth;
  spec::Deth deth;
  spec::Immdt immdt;
  spec::Ieth ieth;
  spec::Feth feth;
  spec::AtomicEth atomic_eth;
  spec::AtomicAckEth atomic_ack_eth;
  std::vector<uint8_t> payload;  // without pad
  std::vector<uint8_t> pad;
  uint32_t icrc = 0;             // as it stands in the frame
  std::vector<uint8_t> trailer;  // behind the datagram: padding of a short Ethernet frame

  const spec::OpcodeInfo& info() const { return spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)]; }
  GidBytes source() const;
  GidBytes destination() const;
  uint8_t hop_limit() const { return is_ipv6 ? ipv6.hop_limit : ipv4.time_to_live; }
  uint8_t traffic_class() const;
};

// Calls f(name, header) for every extended header of the frame, in the order of the wire. [IBTA vol. 1, 9.4]
template <typename Frame, typename F>
void VisitExtensions(Frame& frame, F&& f) {
  const spec::OpcodeInfo& info = frame.info();
  const size_t end = spec::Bth::kBytes + info.extension_bytes;
  const auto visit = [&](bool has, uint8_t offset, size_t at, const char* name, auto& header) {
    if (has && offset == at) f(name, header);
  };
  for (size_t at = spec::Bth::kBytes; at < end; at += 4) {
    visit(info.has_feth, info.feth_offset, at, "feth", frame.feth);
    visit(info.has_deth, info.deth_offset, at, "deth", frame.deth);
    visit(info.has_reth, info.reth_offset, at, "reth", frame.reth);
    visit(info.has_aeth, info.aeth_offset, at, "aeth", frame.aeth);
    visit(info.has_atomic_eth, info.atomic_eth_offset, at, "atomic_eth", frame.atomic_eth);
    visit(info.has_atomic_ack_eth, info.atomic_ack_eth_offset, at, "atomic_ack_eth", frame.atomic_ack_eth);
    visit(info.has_immdt, info.immdt_offset, at, "immdt", frame.immdt);
    visit(info.has_ieth, info.ieth_offset, at, "ieth", frame.ieth);
  }
}

struct ParsedFrame {
  enum class Kind : uint8_t {
    kRoce,     // `frame` is all of it
    kForeign,  // not RoCEv2; `what` says what it is
    kBroken,   // addressed to RoCEv2's port, but its lengths contradict each other or it is cut off: `what`
  };
  Kind kind = Kind::kForeign;
  RoceFrame frame;
  std::string what;
};
// `bytes` from the destination MAC address, without FCS. An opcode that the contract does not know has no extended
// headers: all behind its BTH is payload.
ParsedFrame ParseRoceFrame(std::span<const uint8_t> bytes);

// The bytes, every field as it is; the ICRC is computed. So a frame that came whole encodes to itself.
std::vector<uint8_t> Encode(const RoceFrame& frame);
// Makes lengths, pad and the IPv4 checksum what headers and payload ask for; of a frame that was changed.
void Complete(RoceFrame& frame);
// Whether the frame's ICRC is right. [IBTA vol. 1, A17.3.3]
bool IsIcrcRight(const RoceFrame& frame);
// Whether the IPv4 header checksum is right; true for IPv6.
bool IsChecksumRight(const RoceFrame& frame);

}  // namespace vireo::sim
