// SPDX-License-Identifier: Apache-2.0
// Reads a frame as a RoCEv2 packet and checks everything that one packet shows: lengths, headers, padding, ICRC. An
// implementation of its own, from the standards (docs/monitor.md): it shares no code with model, replay or reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/monitor/findings.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

// Of what the ICRC covers: of all of it, and of its headers up to the BTH; and the number of bytes behind them.
struct Checksum {
  uint32_t all = 0, head = 0;
  size_t bytes = 0;
};

struct RocePacket {
  uint64_t source_mac = 0, destination_mac = 0;
  std::optional<uint16_t> vlan;  // tag control information
  bool is_ipv6 = false;
  std::array<uint8_t, 16> source{}, destination{};  // IPv4: as an IPv4-mapped address
  uint8_t traffic_class = 0, hop_limit = 0;
  spec::Bth bth;
  spec::OpcodeInfo info;  // not valid: the contract has no such opcode
  spec::BthService service{};
  std::span<const uint8_t> extension;  // headers between BTH and payload
  std::span<const uint8_t> payload;    // without padding
  spec::Reth reth;                     // if info.has_reth
  spec::Aeth aeth;                     // if info.has_aeth
  spec::Deth deth;                     // if info.has_deth
  spec::AtomicEth atomic_eth;          // if info.has_atomic_eth
  spec::AtomicAckEth atomic_ack_eth;   // if info.has_atomic_ack_eth
  Checksum checksum;
  bool is_intact = false;  // lengths are consistent and the ICRC is right
  // The first rule that the packet breaks, what was seen and what is right; null: none.
  const Rule* broken = nullptr;
  std::string seen, expected;
};

// Nullopt: not UDP over IP to the port of RoCEv2, or a fragment. A frame that is too short for what it claims has
// `broken`, and empty spans.
std::optional<RocePacket> ReadRoce(std::span<const uint8_t> frame);

// Whether extension headers, payload and padding of two packets that are intact are equal, as far as a CRC shows. It is
// linear, so that of a part is known without another look at the bytes.
bool HaveSameContent(const Checksum& one, const Checksum& other);
// CRC-32 of IEEE 802.3 over the bytes, continued from `crc`, which starts as all ones. Not inverted at the end.
uint32_t Crc32(uint32_t crc, std::span<const uint8_t> bytes);
// A fast hash of a few bytes, for comparison within one process.
uint64_t HashOf(std::span<const uint8_t> bytes);

}  // namespace vireo::sim::monitor
