// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/forged_frame.h"

#include "model/rdma/icrc.h"
#include "sim/wire/fault.h"

namespace vireo::sim {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kIcrcMinimum = spec::Ipv4::kBytes + spec::Udp::kBytes + spec::Bth::kBytes + spec::kIcrcBytes;

}  // namespace

uint16_t Ipv4Checksum(const uint8_t* header) {
  auto ip = spec::Ipv4::Decode(header);
  ip.header_checksum = 0;
  uint8_t bytes[spec::Ipv4::kBytes];
  ip.Encode(bytes);
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof bytes; i += 2) sum += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void PutNetwork16(uint8_t* at, uint64_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

void FixChecksum(Bytes& frame, size_t ip_offset) {
  if (frame.size() < ip_offset + spec::Ipv4::kBytes) return;
  PutNetwork16(frame.data() + ip_offset + spec::Ipv4::kHeaderChecksumOffset, Ipv4Checksum(frame.data() + ip_offset));
}

void FixIcrc(Bytes& frame, size_t ip_offset, size_t bytes) {
  if (bytes < kIcrcMinimum || frame.size() < ip_offset + bytes) return;
  uint8_t* end = frame.data() + ip_offset + bytes - spec::kIcrcBytes;
  const uint32_t icrc = model::IcrcCompute({frame.data() + ip_offset, bytes - spec::kIcrcBytes}, false);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) end[i] = static_cast<uint8_t>(icrc >> 8 * i);
}

void FixAll(Bytes& frame) {
  if (frame.size() < spec::Ethernet::kBytes + kIcrcMinimum) return;
  const size_t bytes = frame.size() - spec::Ethernet::kBytes;
  uint8_t* ip = frame.data() + spec::Ethernet::kBytes;
  PutNetwork16(ip + spec::Ipv4::kTotalLengthOffset, bytes);
  PutNetwork16(ip + spec::Ipv4::kBytes + spec::Udp::kLengthOffset, bytes - spec::Ipv4::kBytes);
  FixChecksum(frame);
  FixIcrc(frame, spec::Ethernet::kBytes, bytes);
}

bool MayBeAccepted(const Bytes& frame) {
  const auto roce = FindRoce(frame);
  if (!roce) return false;
  if (roce->is_ipv6) return true;  // not checked
  const uint8_t* header = frame.data() + roce->ip_offset;
  const auto ip = spec::Ipv4::Decode(header);
  const size_t header_bytes = ip.ihl * size_t{4};
  if (header_bytes != spec::Ipv4::kBytes) return true;
  if (ip.header_checksum != Ipv4Checksum(header) || ip.version != 4 || ip.more_fragments) return false;
  if (ip.total_length < kIcrcMinimum || frame.size() < roce->ip_offset + ip.total_length) return false;
  const auto udp = spec::Udp::Decode(header + header_bytes);
  if (udp.length != ip.total_length - header_bytes) return false;
  return model::IcrcCheck({header, ip.total_length}, false);
}

}  // namespace vireo::sim
