// SPDX-License-Identifier: Apache-2.0
#include "host/driver/net_commands.h"

#include <algorithm>
#include <string>
#include <vector>

namespace vireo::host {

using spec::NetCtrlClass;
using spec::NetFeature;

template <typename Request>
Status NetCommands::Send(NetFeature needs, NetCtrlClass ctrl_class, uint8_t command, const Request& request,
                         std::span<const uint8_t> tail) {
  if (!features_.Has(needs)) {
    return Error{ErrorCode::kUnsupported, "this command requires the feature " + std::string(spec::ToString(needs))};
  }
  Result<NoPayload> done =
      control_->Command<Request, NoPayload>(static_cast<uint8_t>(ctrl_class), command, request, tail);
  if (!done.ok()) return done.error();
  return {};
}

Status NetCommands::SetQueuePairs(uint16_t pairs) {
  return Send(NetFeature::kMq, NetCtrlClass::kMq, static_cast<uint8_t>(spec::NetCtrlMqCmd::kVqPairsSet),
              spec::NetCtrlMqPairsSet{.virtqueue_pairs = pairs});
}

Status NetCommands::SetRxMode(spec::NetCtrlRxCmd mode, bool on) {
  const bool basic = mode == spec::NetCtrlRxCmd::kPromisc || mode == spec::NetCtrlRxCmd::kAllmulti;
  return Send(basic ? NetFeature::kCtrlRx : NetFeature::kCtrlRxExtra, NetCtrlClass::kRx, static_cast<uint8_t>(mode),
              spec::NetCtrlRx{.on = on ? uint8_t{1} : uint8_t{0}});
}

Status NetCommands::SetMacTable(std::span<const MacAddress> unicast, std::span<const MacAddress> multicast) {
  std::vector<uint8_t> tail;
  for (const MacAddress& address : unicast) tail.insert(tail.end(), address.begin(), address.end());
  uint8_t second[spec::NetCtrlMac::kBytes];
  spec::NetCtrlMac{.entries = static_cast<uint32_t>(multicast.size())}.Encode(second);
  tail.insert(tail.end(), std::begin(second), std::end(second));
  for (const MacAddress& address : multicast) tail.insert(tail.end(), address.begin(), address.end());
  return Send(NetFeature::kCtrlRx, NetCtrlClass::kMac, static_cast<uint8_t>(spec::NetCtrlMacCmd::kTableSet),
              spec::NetCtrlMac{.entries = static_cast<uint32_t>(unicast.size())}, tail);
}

Status NetCommands::SetMacAddress(const MacAddress& address) {
  spec::NetCtrlMacAddr request;
  std::copy(address.begin(), address.end(), std::begin(request.mac));
  return Send(NetFeature::kCtrlMacAddr, NetCtrlClass::kMac, static_cast<uint8_t>(spec::NetCtrlMacCmd::kAddrSet),
              request);
}

Status NetCommands::AddVlan(uint16_t vlan_id) {
  return Send(NetFeature::kCtrlVlan, NetCtrlClass::kVlan, static_cast<uint8_t>(spec::NetCtrlVlanCmd::kAdd),
              spec::NetCtrlVlan{.vlan_id = vlan_id});
}

Status NetCommands::DeleteVlan(uint16_t vlan_id) {
  return Send(NetFeature::kCtrlVlan, NetCtrlClass::kVlan, static_cast<uint8_t>(spec::NetCtrlVlanCmd::kDel),
              spec::NetCtrlVlan{.vlan_id = vlan_id});
}

Status NetCommands::AcknowledgeAnnounce() {
  return Send(NetFeature::kGuestAnnounce, NetCtrlClass::kAnnounce, static_cast<uint8_t>(spec::NetCtrlAnnounceCmd::kAck),
              NoPayload{});
}

Status NetCommands::SetCoalescing(Direction direction, const spec::NetCtrlCoal& coalescing) {
  const bool transmit = direction == Direction::kTransmit;
  return Send(NetFeature::kNotfCoal, NetCtrlClass::kNotfCoal,
              static_cast<uint8_t>(transmit ? spec::NetCtrlNotfCoalCmd::kTxSet : spec::NetCtrlNotfCoalCmd::kRxSet),
              coalescing);
}

Status NetCommands::SetQueueCoalescing(uint16_t vq_index, const spec::NetCtrlCoal& coalescing) {
  return Send(NetFeature::kVqNotfCoal, NetCtrlClass::kNotfCoal, static_cast<uint8_t>(spec::NetCtrlNotfCoalCmd::kVqSet),
              spec::NetCtrlCoalVq{.vq_index = vq_index, .coal = coalescing});
}

}  // namespace vireo::host
