// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/roce_frame.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>

#include "model/rdma/icrc.h"
#include "sim/wire/fault.h"

namespace vireo::sim {
namespace {

template <typename T>
void Append(std::vector<uint8_t>& bytes, const T& header) {
  const size_t at = bytes.size();
  bytes.resize(at + T::kBytes);
  header.Encode(bytes.data() + at);
}
void Append(std::vector<uint8_t>& bytes, const std::vector<uint8_t>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Ones' complement sum. [RFC 1071]
uint16_t Checksum(std::span<const uint8_t> header) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < header.size(); i += 2) sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

std::vector<uint8_t> Ipv4Header(const RoceFrame& frame) {
  std::vector<uint8_t> header;
  Append(header, frame.ipv4);
  Append(header, frame.ip_options);
  return header;
}

// Bytes from the IP header to the pad.
std::vector<uint8_t> Datagram(const RoceFrame& frame) {
  std::vector<uint8_t> bytes;
  if (frame.is_ipv6) {
    Append(bytes, frame.ipv6);
  } else {
    bytes = Ipv4Header(frame);
  }
  Append(bytes, frame.udp);
  Append(bytes, frame.bth);
  VisitExtensions(frame, [&](const char*, const auto& header) { Append(bytes, header); });
  Append(bytes, frame.payload);
  Append(bytes, frame.pad);
  return bytes;
}

uint32_t Icrc(const RoceFrame& frame, const std::vector<uint8_t>& datagram) {
  if (frame.ip_options.empty()) return model::IcrcCompute(datagram, frame.is_ipv6);
  return frame.icrc;
}

ParsedFrame Malformed(std::string what) { return {ParsedFrame::Kind::kMalformed, {}, std::move(what)}; }

std::string Foreign(std::span<const uint8_t> bytes) {
  if (bytes.size() < spec::Ethernet::kBytes) return fmt::format("{} bytes: no Ethernet header", bytes.size());
  const auto type = spec::Ethernet::Decode(bytes.data()).ethertype;
  return fmt::format("not RoCEv2, ethertype {:#06x}", static_cast<unsigned>(type));
}

}  // namespace

GidBytes RoceFrame::source() const {
  GidBytes gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (is_ipv6) {
    std::ranges::copy(ipv6.source, gid.begin());
  } else {
    for (unsigned i = 0; i < 4; ++i) gid.at(12 + i) = static_cast<uint8_t>(ipv4.source >> (24 - 8 * i));
  }
  return gid;
}
GidBytes RoceFrame::destination() const {
  RoceFrame swapped;
  swapped.is_ipv6 = is_ipv6;
  swapped.ipv4.source = ipv4.destination;
  std::ranges::copy(ipv6.destination, swapped.ipv6.source);
  return swapped.source();
}
uint8_t RoceFrame::traffic_class() const {
  return is_ipv6 ? static_cast<uint8_t>(ipv6.dscp << 2 | static_cast<unsigned>(ipv6.ecn))
                 : static_cast<uint8_t>(ipv4.dscp << 2 | static_cast<unsigned>(ipv4.ecn));
}

ParsedFrame ParseRoceFrame(std::span<const uint8_t> bytes) {
  const auto found = FindRoce(bytes);
  if (!found) return {ParsedFrame::Kind::kForeign, {}, Foreign(bytes)};
  ParsedFrame parsed{ParsedFrame::Kind::kRoce, {}, ""};
  RoceFrame& frame = parsed.frame;
  frame.ethernet = spec::Ethernet::Decode(bytes.data());
  if (frame.ethernet.ethertype == spec::Ethertype::kVlan) {
    frame.vlan = spec::VlanTag::Decode(bytes.data() + spec::Ethernet::kBytes);
  }
  const uint8_t* ip = bytes.data() + found->ip_offset;
  const size_t udp_offset = found->bth_offset - spec::Udp::kBytes;
  size_t datagram = 0;  // with the IP header
  frame.is_ipv6 = found->is_ipv6;
  if (frame.is_ipv6) {
    frame.ipv6 = spec::Ipv6::Decode(ip);
    if (frame.ipv6.version != 6) return Malformed("wrong version in the IPv6 header");
    datagram = spec::Ipv6::kBytes + frame.ipv6.payload_length;
  } else {
    frame.ipv4 = spec::Ipv4::Decode(ip);
    if (frame.ipv4.version != 4) return Malformed("wrong version in the IPv4 header");
    if (frame.ipv4.more_fragments) return Malformed("a fragment of an IPv4 datagram");
    frame.ip_options.assign(ip + spec::Ipv4::kBytes, bytes.data() + udp_offset);
    datagram = frame.ipv4.total_length;
  }
  frame.udp = spec::Udp::Decode(bytes.data() + udp_offset);
  frame.bth = found->bth;
  const size_t end = found->ip_offset + datagram;
  if (end > bytes.size()) {
    return Malformed(fmt::format("truncated: the IP length is {} bytes, but only {} were captured", datagram,
                                 bytes.size() - found->ip_offset));
  }
  if (udp_offset + frame.udp.length != end) {
    return Malformed(fmt::format("UDP length is {}, but the IP datagram has {} bytes for it", frame.udp.length,
                                 end > udp_offset ? end - udp_offset : 0));
  }
  size_t at = found->bth_offset + spec::Bth::kBytes;
  const size_t fixed = frame.info().extension_bytes + size_t{frame.bth.pad_count} + spec::kIcrcBytes;
  if (at + fixed > end) {
    return Malformed(
        fmt::format("{} bytes after the BTH, but headers, pad and ICRC are {}", end > at ? end - at : 0, fixed));
  }
  VisitExtensions(frame, [&](const char*, auto& header) {
    header = std::remove_reference_t<decltype(header)>::Decode(bytes.data() + at);
    at += std::remove_reference_t<decltype(header)>::kBytes;
  });
  const uint8_t* const icrc = bytes.data() + end - spec::kIcrcBytes;
  const uint8_t* const pad = icrc - frame.bth.pad_count;
  frame.payload.assign(bytes.data() + at, pad);
  frame.pad.assign(pad, icrc);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) frame.icrc |= static_cast<uint32_t>(icrc[i]) << 8 * i;
  frame.trailer.assign(bytes.begin() + static_cast<ptrdiff_t>(end), bytes.end());
  return parsed;
}

std::vector<uint8_t> Encode(const RoceFrame& frame, bool is_soft_roce_flush) {
  std::vector<uint8_t> bytes;
  Append(bytes, frame.ethernet);
  if (frame.vlan) Append(bytes, *frame.vlan);
  const std::vector<uint8_t> datagram = Datagram(frame);
  Append(bytes, datagram);
  const uint32_t icrc = is_soft_roce_flush ? SoftRoceFlushIcrc(frame) : Icrc(frame, datagram);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) bytes.push_back(static_cast<uint8_t>(icrc >> 8 * i));
  Append(bytes, frame.trailer);
  return bytes;
}

void Complete(RoceFrame& frame) {
  frame.bth.pad_count = static_cast<uint8_t>((4 - frame.payload.size() % 4) % 4);
  frame.pad.assign(frame.bth.pad_count, 0);
  frame.ip_options.clear();
  frame.trailer.clear();
  const size_t udp = spec::Udp::kBytes + spec::Bth::kBytes + frame.info().extension_bytes + frame.payload.size() +
                     frame.pad.size() + spec::kIcrcBytes;
  frame.udp.length = static_cast<uint16_t>(udp);
  if (frame.is_ipv6) {
    frame.ipv6.payload_length = static_cast<uint16_t>(udp);
    return;
  }
  frame.ipv4.ihl = spec::Ipv4::kBytes / 4;
  frame.ipv4.total_length = static_cast<uint16_t>(spec::Ipv4::kBytes + udp);
  frame.ipv4.header_checksum = 0;
  frame.ipv4.header_checksum = Checksum(Ipv4Header(frame));
}

bool IsIcrcRight(const RoceFrame& frame) {
  return frame.ip_options.empty() && Icrc(frame, Datagram(frame)) == frame.icrc;
}
uint32_t SoftRoceFlushIcrc(const RoceFrame& frame) {
  const std::vector<uint8_t> datagram = Datagram(frame);
  const size_t bth = (frame.is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes) + spec::Udp::kBytes;
  return libdeflate_crc32(model::IcrcCompute(datagram, frame.is_ipv6), &datagram.at(bth), datagram.size() - bth);
}
bool IsSoftRoceFlush(const RoceFrame& frame) {
  return frame.bth.opcode == spec::BthOpcode::kRcFlush && frame.ip_options.empty() &&
         frame.icrc == SoftRoceFlushIcrc(frame);
}
bool IsChecksumRight(const RoceFrame& frame) { return frame.is_ipv6 || Checksum(Ipv4Header(frame)) == 0; }

}  // namespace vireo::sim
