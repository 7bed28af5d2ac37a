// SPDX-License-Identifier: Apache-2.0
// A RoCEv2 frame as fields: parse, encode, check and compute the ICRC. The basis of decode and replay. Checks single
// frames; keeps no connection state.
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
  spec::Ipv4 ipv4;  // if not is_ipv6
  spec::Ipv6 ipv6;
  std::vector<uint8_t> ip_options;  // IPv4 options, which RoCEv2 does not use; the ICRC of such a frame is not checked
  spec::Udp udp;
  spec::Bth bth;
  // Valid ones: see info().
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
  uint32_t icrc = 0;             // as received
  std::vector<uint8_t> trailer;  // after the datagram: padding of a short Ethernet frame

  const spec::OpcodeInfo& info() const { return spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)]; }
  GidBytes source() const;
  GidBytes destination() const;
  uint8_t hop_limit() const { return is_ipv6 ? ipv6.hop_limit : ipv4.time_to_live; }
  uint8_t traffic_class() const;
};

// Calls f(name, header) for every extended header of the frame, in wire order. [IBTA vol. 1, 9.4]
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
    kRoce,       // see `frame`
    kForeign,    // not RoCEv2; `what` describes it
    kMalformed,  // UDP port of RoCEv2, but inconsistent lengths or truncated; `what` is the reason
  };
  Kind kind = Kind::kForeign;
  RoceFrame frame;
  std::string what;
};
// `bytes`: from the destination MAC address on, without FCS. An unknown opcode has no extended headers: all bytes after
// its BTH are payload.
ParsedFrame ParseRoceFrame(std::span<const uint8_t> bytes);

// The bytes of a frame; the ICRC is computed, all other fields are taken as they are. A valid frame encodes to itself.
// `is_soft_roce_flush`: with SoftRoceFlushIcrc.
std::vector<uint8_t> Encode(const RoceFrame& frame, bool is_soft_roce_flush = false);
// After a change: sets lengths, pad and IPv4 checksum according to headers and payload.
void Complete(RoceFrame& frame);
// Whether the frame's ICRC is right. [IBTA vol. 1, A17.3.3]
bool IsIcrcRight(const RoceFrame& frame);
// The ICRC that Linux' Soft-RoCE gives a FLUSH request, 6.2 to 6.12 at least, instead of the standard's: its table of
// opcodes has no place of the payload for it [drivers/infiniband/sw/rxe/rxe_opcode.c, IB_OPCODE_RC_FLUSH], so that it
// counts BTH, FETH and RETH once more as payload.
uint32_t SoftRoceFlushIcrc(const RoceFrame& frame);
// Whether the frame is a FLUSH request with that ICRC.
bool IsSoftRoceFlush(const RoceFrame& frame);
// Whether the IPv4 header checksum is right; true for IPv6.
bool IsChecksumRight(const RoceFrame& frame);

}  // namespace vireo::sim
