// SPDX-License-Identifier: Apache-2.0
#include "host/service/neighbor_discovery.h"

#include <arpa/inet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>

#include <algorithm>
#include <cstring>

#include "host/service/destination.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::service {
namespace {

constexpr NeighborDiscovery::Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr uint8_t kHopLimit = 255;       // of neighbour discovery: proves that no router forwarded it [RFC 4861, 3.1]
constexpr size_t kOptionBytes = 8;       // an Ethernet link-layer address option [RFC 4861, 4.6.1]
constexpr size_t kAddressesOffset = 12;  // of an IPv4 address in a GID
constexpr size_t kDiscoveryBytes = sizeof(nd_neighbor_solicit);
static_assert(kDiscoveryBytes == sizeof(nd_neighbor_advert));

bool IsIpv4(const NeighborDiscovery::Gid& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](uint8_t byte) { return byte == 0; }) && gid[10] == 0xff &&
         gid[11] == 0xff;
}

NeighborDiscovery::Gid Ipv4Gid(const uint8_t (&address)[4]) {
  NeighborDiscovery::Gid gid{};
  gid[10] = gid[11] = 0xff;
  std::ranges::copy(address, gid.begin() + kAddressesOffset);
  return gid;
}

NeighborDiscovery::Gid ToGid(const uint8_t* address) {
  NeighborDiscovery::Gid gid;
  std::copy_n(address, gid.size(), gid.begin());
  return gid;
}

bool IsUnspecified(const NeighborDiscovery::Gid& gid) {
  return std::ranges::all_of(gid, [](uint8_t byte) { return byte == 0; });
}

// ff02::1:ff and the last 3 bytes. [RFC 4291, 2.7.1]
NeighborDiscovery::Gid SolicitedNode(const NeighborDiscovery::Gid& target) {
  NeighborDiscovery::Gid group = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::copy(target.begin() + 13, target.end(), group.begin() + 13);
  return group;
}

// The checksum of an ICMPv6 message with its pseudo header; 0 if the message contains a correct one. [RFC 4443, 2.3;
// RFC 8200, 8.1]
uint16_t Checksum(const spec::Ipv6& ip, std::span<const uint8_t> message) {
  uint32_t sum = static_cast<uint32_t>(message.size()) + static_cast<uint32_t>(ip.next_header);
  const auto add = [&sum](std::span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) sum += uint32_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  };
  add(ip.source);
  add(ip.destination);
  add(message);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// The link-layer address option of a message. `is_good`: no option has length 0. [RFC 4861, 4.6]
std::optional<NeighborDiscovery::Mac> LinkAddress(std::span<const uint8_t> options, uint8_t type, bool& is_good) {
  std::optional<NeighborDiscovery::Mac> mac;
  is_good = true;
  while (!options.empty()) {
    const size_t bytes = options.size() < 2 ? 0 : options[1] * size_t{8};
    if (bytes == 0 || bytes > options.size()) {
      is_good = false;
      return std::nullopt;
    }
    if (options[0] == type && bytes == kOptionBytes) {
      mac.emplace();
      std::copy_n(options.begin() + 2, mac->size(), mac->begin());
    }
    options = options.subspan(bytes);
  }
  return mac;
}

}  // namespace

bool NeighborDiscovery::IsOwn(const Gid& gid) const { return std::ranges::find(own_, gid) != own_.end(); }

const NeighborDiscovery::Gid* NeighborDiscovery::OwnOfKind(bool is_ipv4) const {
  const auto found = std::ranges::find_if(own_, [=](const Gid& gid) { return IsIpv4(gid) == is_ipv4; });
  return found == own_.end() ? nullptr : &*found;
}

// --- Searching

std::optional<NeighborDiscovery::Mac> NeighborDiscovery::Find(const Gid& gid, uint64_t now_ns) {
  if (IsOwn(gid)) return mac_;
  if (const auto known = known_.find(gid); known != known_.end()) return known->second;
  if (const auto search = searches_.find(gid); search != searches_.end()) {
    if (now_ns - search->second.begin_ns >= kSearchNs) searches_.erase(search);
    return std::nullopt;
  }
  if (searches_.size() >= kSearchesMax || OwnOfKind(IsIpv4(gid)) == nullptr) return std::nullopt;
  searches_[gid] = {.begin_ns = now_ns, .sent_ns = now_ns};
  SendRequest(gid);
  return std::nullopt;
}

void NeighborDiscovery::Tick(uint64_t now_ns) {
  // The caller of Find gets the end of a search reported once. Searches that are never queried again expire here.
  std::erase_if(searches_, [&](const auto& search) { return now_ns - search.second.begin_ns >= 2 * kSearchNs; });
  for (auto& [gid, search] : searches_) {
    if (now_ns - search.sent_ns < kRepeatNs) continue;
    search.sent_ns = now_ns;
    if (now_ns - search.begin_ns < kSearchNs) SendRequest(gid);
  }
}

uint64_t NeighborDiscovery::NextDeadlineNs() const {
  uint64_t next_ns = kForeverNs;
  for (const auto& [gid, search] : searches_) next_ns = std::min(next_ns, search.sent_ns + kRepeatNs);
  return next_ns;
}

void NeighborDiscovery::AddNeighbor(const Gid& gid, const Mac& mac) {
  if ((mac[0] & 1) != 0) return;  // multicast
  searches_.erase(gid);
  if (known_.size() >= kKnownMax && !known_.contains(gid)) known_.erase(known_.begin());
  known_[gid] = mac;
}

void NeighborDiscovery::SendRequest(const Gid& gid) const {
  const Gid* const own = OwnOfKind(IsIpv4(gid));
  if (own == nullptr) return;  // removed since the search began
  if (IsIpv4(gid)) return SendArp(ARPOP_REQUEST, kBroadcast, *own, Mac{}, gid);
  const Gid group = SolicitedNode(gid);
  SendDiscovery(ND_NEIGHBOR_SOLICIT, 0, *GroupMac(group), *own, group, gid);
}

// --- Frames

void NeighborDiscovery::OnFrame(std::span<const uint8_t> frame) {
  if (frame.size() < spec::Ethernet::kBytes) return;
  const auto ethernet = spec::Ethernet::Decode(frame.data());
  if (ethernet.ethertype == spec::Ethertype::kArp) OnArp(frame.subspan(spec::Ethernet::kBytes));
  if (ethernet.ethertype == spec::Ethertype::kIpv6) OnIpv6(frame.subspan(spec::Ethernet::kBytes));
}

void NeighborDiscovery::OnArp(std::span<const uint8_t> frame) {
  ether_arp arp;
  if (frame.size() < sizeof arp) return;
  std::memcpy(&arp, frame.data(), sizeof arp);
  if (ntohs(arp.ea_hdr.ar_hrd) != ARPHRD_ETHER || ntohs(arp.ea_hdr.ar_pro) != ETHERTYPE_IP ||
      arp.ea_hdr.ar_hln != sizeof arp.arp_sha || arp.ea_hdr.ar_pln != sizeof arp.arp_spa) {
    return;
  }
  const Gid sender = Ipv4Gid(arp.arp_spa), target = Ipv4Gid(arp.arp_tpa);
  Mac sender_mac;
  std::ranges::copy(arp.arp_sha, sender_mac.begin());
  const bool is_probe = std::ranges::all_of(arp.arp_spa, [](uint8_t byte) { return byte == 0; });  // [RFC 5227, 1.1]
  // Cache the sender if it addresses this host, is already cached, or is being searched for. [RFC 826, "Packet
  // Reception"]
  if (!is_probe && !IsOwn(sender) && (IsOwn(target) || known_.contains(sender) || IsSearching(sender))) {
    AddNeighbor(sender, sender_mac);
  }
  if (ntohs(arp.ea_hdr.ar_op) == ARPOP_REQUEST && IsOwn(target)) {
    SendArp(ARPOP_REPLY, sender_mac, target, sender_mac, sender);
  }
}

void NeighborDiscovery::OnIpv6(std::span<const uint8_t> frame) {
  if (frame.size() < spec::Ipv6::kBytes) return;
  const auto ip = spec::Ipv6::Decode(frame.data());
  const std::span<const uint8_t> rest = frame.subspan(spec::Ipv6::kBytes);
  if (ip.next_header != spec::IpProtocol::kIcmpv6 || ip.hop_limit != kHopLimit || ip.payload_length > rest.size() ||
      ip.payload_length < kDiscoveryBytes) {
    return;
  }
  const std::span<const uint8_t> message = rest.first(ip.payload_length);
  nd_neighbor_solicit head;  // same layout as an advertisement
  std::memcpy(&head, message.data(), sizeof head);
  const uint8_t type = head.nd_ns_type;
  if ((type != ND_NEIGHBOR_SOLICIT && type != ND_NEIGHBOR_ADVERT) || head.nd_ns_code != 0 ||
      Checksum(ip, message) != 0) {
    return;
  }
  bool is_good = false;
  const bool asks = type == ND_NEIGHBOR_SOLICIT;
  const auto mac =
      LinkAddress(message.subspan(kDiscoveryBytes), asks ? ND_OPT_SOURCE_LINKADDR : ND_OPT_TARGET_LINKADDR, is_good);
  if (!is_good) return;
  const Gid source = ToGid(ip.source), target = ToGid(head.nd_ns_target.s6_addr);
  if (!asks) {
    if (mac.has_value() && !IsOwn(target) && (known_.contains(target) || IsSearching(target)))
      AddNeighbor(target, *mac);
    return;
  }
  if (!IsOwn(target)) return;
  // A solicitation with an unspecified source (duplicate address detection) is answered to all nodes. [RFC 4861, 7.2.4]
  if (IsUnspecified(source)) {
    const Gid all_nodes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return SendDiscovery(ND_NEIGHBOR_ADVERT, ND_NA_FLAG_OVERRIDE, *GroupMac(all_nodes), target, all_nodes, target);
  }
  if (mac.has_value() && !IsOwn(source)) AddNeighbor(source, *mac);
  const auto known = known_.find(source);
  if (known == known_.end()) return;  // no source link-layer address option, and not cached
  SendDiscovery(ND_NEIGHBOR_ADVERT, ND_NA_FLAG_OVERRIDE | ND_NA_FLAG_SOLICITED, known->second, target, source, target);
}

void NeighborDiscovery::SendArp(uint16_t operation, const Mac& to, const Gid& own, const Mac& target_mac,
                                const Gid& target) const {
  ether_arp arp{};
  arp.ea_hdr.ar_hrd = htons(ARPHRD_ETHER);
  arp.ea_hdr.ar_pro = htons(ETHERTYPE_IP);
  arp.ea_hdr.ar_hln = sizeof arp.arp_sha;
  arp.ea_hdr.ar_pln = sizeof arp.arp_spa;
  arp.ea_hdr.ar_op = htons(operation);
  std::ranges::copy(mac_, arp.arp_sha);
  std::ranges::copy(target_mac, arp.arp_tha);
  std::copy(own.begin() + kAddressesOffset, own.end(), arp.arp_spa);
  std::copy(target.begin() + kAddressesOffset, target.end(), arp.arp_tpa);
  std::array<uint8_t, spec::Ethernet::kBytes + sizeof arp> frame{};
  spec::Ethernet ethernet{.ethertype = spec::Ethertype::kArp};
  std::ranges::copy(to, ethernet.destination);
  std::ranges::copy(mac_, ethernet.source);
  ethernet.Encode(frame.data());
  std::memcpy(frame.data() + spec::Ethernet::kBytes, &arp, sizeof arp);
  send_(frame);
}

void NeighborDiscovery::SendDiscovery(uint8_t type, uint32_t flags, const Mac& to, const Gid& own,
                                      const Gid& destination, const Gid& target) const {
  std::array<uint8_t, kDiscoveryBytes + kOptionBytes> message{};
  nd_neighbor_advert head{};
  head.nd_na_type = type;
  head.nd_na_flags_reserved = flags;  // in network order, as <netinet/icmp6.h> has them
  std::ranges::copy(target, head.nd_na_target.s6_addr);
  std::memcpy(message.data(), &head, sizeof head);
  message[kDiscoveryBytes] = type == ND_NEIGHBOR_SOLICIT ? ND_OPT_SOURCE_LINKADDR : ND_OPT_TARGET_LINKADDR;
  message[kDiscoveryBytes + 1] = kOptionBytes / 8;
  std::ranges::copy(mac_, message.begin() + kDiscoveryBytes + 2);
  spec::Ipv6 ip{
      .version = 6, .payload_length = message.size(), .next_header = spec::IpProtocol::kIcmpv6, .hop_limit = kHopLimit};
  std::ranges::copy(own, ip.source);
  std::ranges::copy(destination, ip.destination);
  const uint16_t checksum = htons(Checksum(ip, message));
  std::memcpy(message.data() + offsetof(nd_neighbor_advert, nd_na_cksum), &checksum, sizeof checksum);
  std::array<uint8_t, spec::Ethernet::kBytes + spec::Ipv6::kBytes + message.size()> frame{};
  spec::Ethernet ethernet{.ethertype = spec::Ethertype::kIpv6};
  std::ranges::copy(to, ethernet.destination);
  std::ranges::copy(mac_, ethernet.source);
  ethernet.Encode(frame.data());
  ip.Encode(frame.data() + spec::Ethernet::kBytes);
  std::ranges::copy(message, frame.begin() + spec::Ethernet::kBytes + spec::Ipv6::kBytes);
  send_(frame);
}

}  // namespace vireo::service
