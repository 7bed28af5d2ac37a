// SPDX-License-Identifier: Apache-2.0
// Untagged RoCEv2 frames over IPv4 as somebody forges them: what protects a frame is made right again after a change.
// A frame that is too short for what should be made right stays as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Writes the low 16 bits in network order.
void PutNetwork16(uint8_t* at, uint64_t value);
// The checksum that the IPv4 header at `header` should have.
uint16_t Ipv4Checksum(const uint8_t* header);
// The frame's own IP header, wherever it is.
void FixChecksum(std::vector<uint8_t>& frame, size_t ip_offset = spec::Ethernet::kBytes);
// The ICRC where the datagram that begins at ip_offset and has `bytes` bytes ends.
void FixIcrc(std::vector<uint8_t>& frame, size_t ip_offset, size_t bytes);
// Lengths, checksum and ICRC as if the frame had been sent so; the frame ends with its datagram.
void FixAll(std::vector<uint8_t>& frame);
// A NIC may take it for a packet: nothing that protects it is wrong. Never says no to anything that a NIC may accept.
bool MayBeAccepted(const std::vector<uint8_t>& frame);

}  // namespace vireo::sim
