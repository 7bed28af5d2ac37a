// SPDX-License-Identifier: Apache-2.0
// Forged untagged RoCEv2 frames over IPv4: recompute checksum, lengths and ICRC after a change. A frame that is too
// short is left unchanged.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Writes the low 16 bits in network order.
void PutNetwork16(uint8_t* at, uint64_t value);
// The correct checksum of the IPv4 header at `header`.
uint16_t Ipv4Checksum(const uint8_t* header);
// Recomputes the header checksum of the IPv4 header at ip_offset.
void FixChecksum(std::vector<uint8_t>& frame, size_t ip_offset = spec::Ethernet::kBytes);
// Recomputes the ICRC at the end of the datagram of `bytes` bytes at ip_offset.
void FixIcrc(std::vector<uint8_t>& frame, size_t ip_offset, size_t bytes);
// Recomputes lengths, checksum and ICRC; the frame ends with its datagram.
void FixAll(std::vector<uint8_t>& frame);
// True: checksum, lengths and ICRC are valid, so a NIC may accept the frame. Never false for an acceptable frame.
bool MayBeAccepted(const std::vector<uint8_t>& frame);

}  // namespace vireo::sim
