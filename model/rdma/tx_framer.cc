// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/tx_framer.h"

#include <algorithm>
#include <cassert>

#include "model/rdma/icrc.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

// Extended headers are whole words, and so is everything after the Ethernet header: the RTL depends on it.
static_assert(std::all_of(std::begin(spec::kOpcodeInfo), std::end(spec::kOpcodeInfo), [](const auto& info) {
  return TokenExtensionBytes(info) <= TxToken::kExtensionBytes && TokenExtensionBytes(info) % 4 == 0;
}));

// Bytes of the parts of a frame.
struct Sizes {
  explicit Sizes(const TxToken& token)
      : l3(spec::Ethernet::kBytes + (token.vlan_present ? spec::VlanTag::kBytes : 0)),
        l4(l3 + (token.is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes)),
        bth(l4 + spec::Udp::kBytes),
        extension(bth + spec::Bth::kBytes),
        payload(extension + TokenExtensionBytes(spec::kOpcodeInfo[static_cast<uint8_t>(token.bth.opcode)])),
        pad(-unsigned{token.payload_bytes} % 4),
        icrc(payload + token.payload_bytes + pad),
        end(icrc + spec::kIcrcBytes),
        frame(std::max(end, size_t{spec::kEthernetFrameBytesMin})) {
    assert(token.payload_bytes <= TxToken::kPayloadBytes);
  }

  // Offsets in the frame, except `pad` and `frame`, which are lengths.
  size_t l3, l4, bth, extension, payload, pad, icrc, end, frame;
};

uint32_t MappedIpv4(const uint8_t (&address)[16]) {
  uint32_t result = 0;
  for (unsigned i = 12; i < 16; ++i) result = result << 8 | address[i];
  return result;
}

// [RFC 1071]
uint16_t Checksum(std::span<const uint8_t> header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < header.size(); i += 2) sum += uint32_t{header[i]} << 8 | header[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void PutEthernet(const TxToken& token, uint8_t* to) {
  const auto ethertype = token.is_ipv6 ? spec::Ethertype::kIpv6 : spec::Ethertype::kIpv4;
  spec::Ethernet ethernet;
  std::copy_n(token.destination_mac, sizeof(token.destination_mac), ethernet.destination);
  std::copy_n(token.source_mac, sizeof(token.source_mac), ethernet.source);
  ethernet.ethertype = token.vlan_present ? spec::Ethertype::kVlan : ethertype;
  ethernet.Encode(to);
  if (!token.vlan_present) return;
  spec::VlanTag tag;
  tag.pcp = token.vlan_pcp;
  tag.dei = token.vlan_dei;
  tag.vid = token.vlan_vid;
  tag.ethertype = ethertype;
  tag.Encode(to + spec::Ethernet::kBytes);
}

void PutIpv4(const TxToken& token, size_t total_length, uint8_t* to) {
  spec::Ipv4 ip;
  ip.version = 4;
  ip.ihl = spec::Ipv4::kBytes / 4;
  ip.dscp = token.dscp;
  ip.ecn = token.ecn;
  ip.total_length = static_cast<uint16_t>(total_length);
  ip.identification = token.identification;
  ip.dont_fragment = true;
  ip.time_to_live = token.hop_limit;
  ip.protocol = spec::IpProtocol::kUdp;
  ip.source = MappedIpv4(token.ip_source);
  ip.destination = MappedIpv4(token.ip_destination);
  ip.Encode(to);
  ip.header_checksum = Checksum({to, spec::Ipv4::kBytes});
  ip.Encode(to);
}

void PutIpv6(const TxToken& token, size_t payload_length, uint8_t* to) {
  spec::Ipv6 ip;
  ip.version = 6;
  ip.dscp = token.dscp;
  ip.ecn = token.ecn;
  ip.flow_label = token.flow_label;
  ip.payload_length = static_cast<uint16_t>(payload_length);
  ip.next_header = spec::IpProtocol::kUdp;
  ip.hop_limit = token.hop_limit;
  std::copy_n(token.ip_source, sizeof(token.ip_source), ip.source);
  std::copy_n(token.ip_destination, sizeof(token.ip_destination), ip.destination);
  ip.Encode(to);
}

}  // namespace

std::vector<uint8_t> TxFramer::Frame(const TxToken& token, std::span<const uint8_t> payload) {
  assert(payload.size() == token.payload_bytes);
  const Sizes at(token);
  std::vector<uint8_t> frame;
  frame.reserve(at.frame);
  frame.resize(at.payload);
  frame.insert(frame.end(), payload.begin(), payload.end());
  frame.resize(at.frame);
  PutEthernet(token, frame.data());
  if (token.is_ipv6) {
    PutIpv6(token, at.end - at.l4, frame.data() + at.l3);
  } else {
    PutIpv4(token, at.end - at.l3, frame.data() + at.l3);
  }

  spec::Udp udp;
  udp.source_port = token.udp_source_port;
  udp.destination_port = spec::kUdpPortRocev2;
  udp.length = static_cast<uint16_t>(at.end - at.l4);
  udp.Encode(frame.data() + at.l4);

  spec::Bth bth = token.bth;
  bth.pad_count = static_cast<uint8_t>(at.pad);
  bth.Encode(frame.data() + at.bth);
  std::copy_n(token.extension, at.payload - at.extension, frame.data() + at.extension);

  const uint32_t icrc = IcrcCompute({frame.data() + at.l3, at.icrc - at.l3}, token.is_ipv6);
  for (size_t i = 0; i < spec::kIcrcBytes; ++i) frame[at.icrc + i] = static_cast<uint8_t>(icrc >> (8 * i));
  return frame;
}

TxTrain TxFramer::Accept(uint64_t cycle, const TxToken& token) {
  assert(cycle >= free_at_);
  const Sizes at(token);
  const uint64_t beats = (at.frame + beat_bytes_ - 1) / beat_bytes_;
  TxTrain train;
  train.payload_beats = (token.payload_bytes + beat_bytes_ - 1) / beat_bytes_;
  if (train.payload_beats > 0) train.first_payload_cycle = cycle + kPayloadLatency + at.payload / beat_bytes_;
  train.first_beat_cycle = cycle + kLatency;
  train.last_beat_cycle = train.first_beat_cycle + beats - 1;
  free_at_ = cycle + beats;
  return train;
}

}  // namespace vireo::model
