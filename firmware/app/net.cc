// SPDX-License-Identifier: Apache-2.0
// virtio-net's own commands (virtio 1.3, 5.1.6.5). A handler returns false to refuse.
#include "firmware/app/firmware.h"

namespace vireo::firmware {
namespace {

constexpr uint32_t kRssHeaderBytes = spec::NetCtrlHdr::kBytes + spec::NetRssConfigHdr::kBytes;
constexpr uint32_t kReceive = 0;  // index of coalescing_
constexpr uint32_t kTransmit = 1;

constexpr uint32_t kHashTypes = spec::NetHashTypes::kIpv4 | spec::NetHashTypes::kTcpv4 | spec::NetHashTypes::kUdpv4 |
                                spec::NetHashTypes::kIpv6 | spec::NetHashTypes::kTcpv6 | spec::NetHashTypes::kUdpv6 |
                                spec::NetHashTypes::kIpEx | spec::NetHashTypes::kTcpEx | spec::NetHashTypes::kUdpEx;

constexpr struct {
  uint64_t offload;
  spec::NetFeature feature;
} kGuestOffloads[] = {
    {spec::NetGuestOffloads::kGuestCsum, spec::NetFeature::kGuestCsum},
    {spec::NetGuestOffloads::kGuestTso4, spec::NetFeature::kGuestTso4},
    {spec::NetGuestOffloads::kGuestTso6, spec::NetFeature::kGuestTso6},
    {spec::NetGuestOffloads::kGuestEcn, spec::NetFeature::kGuestEcn},
    {spec::NetGuestOffloads::kGuestUfo, spec::NetFeature::kGuestUfo},
    {spec::NetGuestOffloads::kGuestUdpTunnelGsoMapped, spec::NetFeature::kGuestUdpTunnelGso},
    {spec::NetGuestOffloads::kGuestUdpTunnelGsoCsumMapped, spec::NetFeature::kGuestUdpTunnelGsoCsum},
    {spec::NetGuestOffloads::kGuestUso4, spec::NetFeature::kGuestUso4},
    {spec::NetGuestOffloads::kGuestUso6, spec::NetFeature::kGuestUso6},
};

}  // namespace

// --- Start and reset -------------------------------------------------------------------------------------------------

// At DRIVER_OK: everything that depends on features.
void Firmware::StartNet() {
  WriteRxMode();
  const uint64_t offloads = AcceptedGuestOffloads();
  for (uint32_t pair = 0; pair < net_pairs_; ++pair) {
    device_.WriteEntry(
        2 * pair,
        spec::TableVirtqueue{.kind = spec::TableQueueKind::kReceive, .owner = pair, .guest_offloads = offloads});
    device_.WriteEntry(2 * pair + 1, spec::TableVirtqueue{.kind = spec::TableQueueKind::kTransmit, .owner = pair});
    queue_bound_.Set(2 * pair);
    queue_bound_.Set(2 * pair + 1);
  }
}

void Firmware::ResetNet() {
  rx_mode_ = {};
  unicast_overflow_ = multicast_overflow_ = false;
  device_.Put(spec::kMgmtRxModeRegister, rx_mode_);
  device_.Write(spec::kMgmtActiveQueuePairsRegister, spec::kNetMqVqPairsMin);
  WriteMac(permanent_mac_);
  for (uint32_t i = 0; i < mac_entries_; ++i) device_.ClearEntry<spec::TableMacFilter>(i);
  mac_entries_ = 0;
  if (HasFeature(spec::NetFeature::kCtrlVlan)) {
    for (uint32_t i = 0; i < kVlanEntries; ++i) device_.ClearEntry<spec::TableVlanFilter>(i);
  }
  if (HasFeature(spec::NetFeature::kRss) || HasFeature(spec::NetFeature::kHashReport)) {
    for (uint32_t i = 0; i < kRssEntries; ++i) device_.ClearEntry<spec::TableRss>(i);
  }
  for (auto& coalescing : coalescing_) coalescing = {};
}

// virtio 1.3, 5.1.6.5.9: after a queue reset the last setting of its direction applies.
void Firmware::SetToCommonCoalescing(uint32_t index, spec::TableVirtqueue& queue) const {
  const auto& coalescing = coalescing_[index % 2 == 0 ? kReceive : kTransmit];
  queue.coal_max_packets = coalescing.max_packets;
  queue.coal_max_usecs = coalescing.max_usecs;
}

bool Firmware::IsNetQueueEnabled(uint32_t index) {
  return index < ControlQueue() && device_.ReadEntry<spec::TableVirtqueue>(index).enabled;
}

// --- rx, mac, vlan, announce -----------------------------------------------------------------------------------------

void Firmware::WriteRxMode() {
  auto mode = rx_mode_;
  mode.all_unicast = mode.all_unicast || unicast_overflow_;
  mode.all_multicast = mode.all_multicast || multicast_overflow_;
  mode.vlan_filter = HasFeature(spec::NetFeature::kCtrlVlan);
  // Without ctrl_rx the driver cannot select, so it gets everything, as in QEMU (hw/net/virtio-net.c,
  // virtio_net_reset).
  mode.promiscuous = mode.promiscuous || !HasFeature(spec::NetFeature::kCtrlRx);
  device_.Put(spec::kMgmtRxModeRegister, mode);
}

template <bool spec::MgmtRxMode::*mode>
bool Firmware::SetRxMode(const spec::NetCtrlRx& request, Empty&) {
  if (request.on > 1) return false;
  rx_mode_.*mode = request.on != 0;
  WriteRxMode();
  return true;
}

// If there are more addresses than table entries, all addresses of that kind are accepted; virtio 1.3, 5.1.6.5.2 leaves
// that to the device.
bool Firmware::SetMacTable(const spec::NetCtrlMac& unicast, Empty&) {
  constexpr size_t mac_bytes = spec::NetCtrlMacAddr::kBytes;
  uint8_t macs[spec::kTableMacFilterEntries][mac_bytes];
  uint32_t count = 0;
  bool overflow[2]{};
  uint64_t at = spec::NetCtrlHdr::kBytes;
  uint32_t entries = unicast.entries;
  for (bool& is_too_long : overflow) {
    if (&is_too_long != overflow) {
      uint8_t bytes[spec::NetCtrlMac::kBytes];
      if (device_.request_bytes() < at + sizeof(bytes) || !device_.ReadRequest(at, bytes, sizeof(bytes))) return false;
      entries = spec::NetCtrlMac::Decode(bytes).entries;
    }
    at += spec::NetCtrlMac::kBytes;
    const uint64_t list_bytes = uint64_t{entries} * mac_bytes;
    if (device_.request_bytes() < at + list_bytes) return false;
    is_too_long = entries > spec::kTableMacFilterEntries - count;
    if (!is_too_long) {
      for (uint32_t i = 0; i < entries; ++i) {
        if (!device_.ReadRequest(at + uint64_t{i} * mac_bytes, macs[count], mac_bytes)) return false;
        ++count;
      }
    }
    at += list_bytes;
  }

  // While the table changes, accept too much rather than too little.
  unicast_overflow_ = multicast_overflow_ = true;
  WriteRxMode();
  for (uint32_t i = 0; i < count; ++i) {
    spec::TableMacFilter entry{.valid = true};
    for (size_t j = 0; j < mac_bytes; ++j) entry.mac[j] = macs[i][j];
    device_.WriteEntry(i, entry);
  }
  for (uint32_t i = count; i < mac_entries_; ++i) device_.ClearEntry<spec::TableMacFilter>(i);
  mac_entries_ = count;
  unicast_overflow_ = overflow[0];
  multicast_overflow_ = overflow[1];
  WriteRxMode();
  return true;
}

void Firmware::WriteMac(const uint8_t* mac) {
  uint32_t words[2]{};
  for (size_t i = 0; i < sizeof(spec::NetCtrlMacAddr::mac); ++i) {
    words[i / 4] |= static_cast<uint32_t>(mac[i]) << (8 * (i % 4));
  }
  device_.Write(spec::kMgmtMacLowRegister, words[0]);
  device_.Write(spec::kMgmtMacHighRegister, words[1]);
}

bool Firmware::SetMacAddress(const spec::NetCtrlMacAddr& request, Empty&) {
  WriteMac(request.mac);
  return true;
}

template <bool member>
bool Firmware::SetVlan(const spec::NetCtrlVlan& request, Empty&) {
  if (request.vlan_id > kVlanIdentifier) return false;
  const uint32_t index = request.vlan_id / spec::kTableVlanFilterBits;
  const uint32_t bit = uint32_t{1} << (request.vlan_id % spec::kTableVlanFilterBits);
  auto entry = device_.ReadEntry<spec::TableVlanFilter>(index);
  entry.members = member ? entry.members | bit : entry.members & ~bit;
  device_.WriteEntry(index, entry);
  return true;
}

bool Firmware::AckAnnounce(const Empty&, Empty&) {
  auto control = device_.Get<spec::MgmtControl>(spec::kMgmtControlRegister);
  control.announce = false;
  device_.Put(spec::kMgmtControlRegister, control);
  return true;
}

// --- mq --------------------------------------------------------------------------------------------------------------

bool Firmware::SetQueuePairs(const spec::NetCtrlMqPairsSet& request, Empty&) {
  if (request.virtqueue_pairs < spec::kNetMqVqPairsMin || request.virtqueue_pairs > net_pairs_) return false;
  if (HasFeature(spec::NetFeature::kRss)) {
    auto config = device_.ReadEntry<spec::TableRssConfig>(0);
    config.steer = false;
    device_.WriteEntry(0, config);
  }
  device_.Write(spec::kMgmtActiveQueuePairsRegister, request.virtqueue_pairs);
  return true;
}

// The key is at the end of the request; true if it is complete.
bool Firmware::ReadHashKey(uint64_t offset, uint8_t length, spec::TableRssConfig& entry) {
  if (length > sizeof(entry.hash_key_data) || device_.request_bytes() < offset + length) return false;
  entry.hash_key_length = length;
  return device_.ReadRequest(offset, entry.hash_key_data, length);
}

bool Firmware::SetRss(const spec::NetRssConfigHdr& request, Empty&) {
  const uint32_t entries = uint32_t{request.indirection_table_mask} + 1;
  if ((request.hash_types & ~kHashTypes) != 0 || entries > spec::kTableRssQueues || (entries & (entries - 1)) != 0 ||
      request.unclassified_queue.vq_index_1_16 >= net_pairs_) {
    return false;
  }
  const uint64_t trailer_at = kRssHeaderBytes + uint64_t{entries} * spec::RssRqId::kBytes;
  uint8_t bytes[spec::NetRssConfigTrailer::kBytes];
  if (device_.request_bytes() < trailer_at + sizeof(bytes)) return false;
  spec::TableRss table[kRssEntries - 1]{};
  for (uint32_t i = 0; i < entries; ++i) {
    if (!device_.ReadRequest(kRssHeaderBytes + uint64_t{i} * spec::RssRqId::kBytes, bytes, spec::RssRqId::kBytes)) {
      return false;
    }
    const uint32_t pair = spec::RssRqId::Decode(bytes).vq_index_1_16;
    if (pair >= net_pairs_) return false;
    table[i / kPairsPerRssEntry].pair[i % kPairsPerRssEntry] = static_cast<uint8_t>(pair);
  }
  if (!device_.ReadRequest(trailer_at, bytes, sizeof(bytes))) return false;
  const auto trailer = spec::NetRssConfigTrailer::Decode(bytes);
  if (trailer.max_tx_vq < spec::kNetMqVqPairsMin || trailer.max_tx_vq > net_pairs_) return false;
  spec::TableRssConfig config{.steer = true,
                              .unclassified_pair = static_cast<uint8_t>(request.unclassified_queue.vq_index_1_16),
                              .indirection_table_mask = request.indirection_table_mask,
                              .hash_types = request.hash_types};
  if (!ReadHashKey(trailer_at + sizeof(bytes), trailer.hash_key_length, config)) return false;

  for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) device_.WriteEntry(1 + i, table[i]);
  device_.WriteEntry(0, config);
  device_.Write(spec::kMgmtActiveQueuePairsRegister, trailer.max_tx_vq);
  return true;
}

bool Firmware::SetHash(const spec::NetHashConfig& request, Empty&) {
  spec::TableRssConfig config{.hash_types = request.hash_types};
  if ((request.hash_types & ~kHashTypes) != 0) return false;
  if (!ReadHashKey(spec::NetCtrlHdr::kBytes + spec::NetHashConfig::kBytes, request.hash_key_length, config))
    return false;
  device_.WriteEntry(0, config);
  return true;
}

// --- guest_offloads, notf_coal ---------------------------------------------------------------------------------------

uint64_t Firmware::AcceptedGuestOffloads() const {
  uint64_t accepted = 0;
  for (const auto& row : kGuestOffloads) {
    if (HasFeature(row.feature)) accepted |= row.offload;
  }
  return accepted;
}

bool Firmware::SetGuestOffloads(const spec::NetCtrlGuestOffloads& request, Empty&) {
  if ((request.offloads & ~AcceptedGuestOffloads()) != 0) return false;
  for (uint32_t index = 0; index < ControlQueue(); index += 2) {
    auto queue = device_.ReadEntry<spec::TableVirtqueue>(index);
    queue.guest_offloads = request.offloads;
    device_.WriteEntry(index, queue);
  }
  return true;
}

template <bool transmit>
bool Firmware::SetCoalescing(const spec::NetCtrlCoal& request, Empty&) {
  coalescing_[transmit ? kTransmit : kReceive] = request;
  for (uint32_t index = transmit ? 1 : 0; index < ControlQueue(); index += 2) {
    auto queue = device_.ReadEntry<spec::TableVirtqueue>(index);
    SetToCommonCoalescing(index, queue);
    device_.WriteEntry(index, queue);
  }
  return true;
}

bool Firmware::SetQueueCoalescing(const spec::NetCtrlCoalVq& request, Empty&) {
  if (!IsNetQueueEnabled(request.vq_index)) return false;
  auto queue = device_.ReadEntry<spec::TableVirtqueue>(request.vq_index);
  queue.coal_max_packets = request.coal.max_packets;
  queue.coal_max_usecs = request.coal.max_usecs;
  device_.WriteEntry(request.vq_index, queue);
  return true;
}

bool Firmware::GetQueueCoalescing(const spec::NetCtrlCoalVqGet& request, spec::NetCtrlCoal& response) {
  if (!IsNetQueueEnabled(request.vq_index)) return false;
  const auto queue = device_.ReadEntry<spec::TableVirtqueue>(request.vq_index);
  response = {.max_packets = queue.coal_max_packets, .max_usecs = queue.coal_max_usecs};
  return true;
}

// Instantiations for the rows of dispatch.cc.
template bool Firmware::SetRxMode<&spec::MgmtRxMode::promiscuous>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetRxMode<&spec::MgmtRxMode::all_multicast>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetRxMode<&spec::MgmtRxMode::all_unicast>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetRxMode<&spec::MgmtRxMode::no_multicast>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetRxMode<&spec::MgmtRxMode::no_unicast>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetRxMode<&spec::MgmtRxMode::no_broadcast>(const spec::NetCtrlRx&, Empty&);
template bool Firmware::SetVlan<true>(const spec::NetCtrlVlan&, Empty&);
template bool Firmware::SetVlan<false>(const spec::NetCtrlVlan&, Empty&);
template bool Firmware::SetCoalescing<true>(const spec::NetCtrlCoal&, Empty&);
template bool Firmware::SetCoalescing<false>(const spec::NetCtrlCoal&, Empty&);

}  // namespace vireo::firmware
