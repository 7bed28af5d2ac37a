// SPDX-License-Identifier: Apache-2.0
// The virtio-net commands that a simple driver needs, one function each. A command whose feature was not accepted fails
// with kUnsupported and is not sent. The device reports no reasons: kRefused without detail.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "host/driver/control_queue.h"
#include "host/driver/features.h"

namespace vireo::host {

using MacAddress = std::array<uint8_t, sizeof(spec::NetCtrlMacAddr{}.mac)>;

class NetCommands {
 public:
  enum class Direction { kReceive, kTransmit };

  // `control` must outlive the object; `features` are the accepted ones.
  NetCommands(ControlQueue& control, const FeatureSet& features) : control_(&control), features_(features) {}

  // Sets how many queue pairs the device receives on, from pair 0; their queues must be enabled. Feature mq.
  Status SetQueuePairs(uint16_t pairs);
  // Sets a receive mode. Feature ctrl_rx; for all modes but promisc and allmulti, ctrl_rx_extra.
  Status SetRxMode(spec::NetCtrlRxCmd mode, bool on);
  // Replaces the address filter. Feature ctrl_rx.
  Status SetMacTable(std::span<const MacAddress> unicast, std::span<const MacAddress> multicast);
  // Replaces the device's own address. Feature ctrl_mac_addr.
  Status SetMacAddress(const MacAddress& address);
  // VLAN filter, identifiers 0 to 4095. Feature ctrl_vlan.
  Status AddVlan(uint16_t vlan_id);
  Status DeleteVlan(uint16_t vlan_id);
  // Acknowledges spec::NetStatus::kAnnounce. Feature guest_announce.
  Status AcknowledgeAnnounce();
  // Sets interrupt coalescing of all queues of a direction, including queues that are reset later. The last setting of
  // a queue applies. Feature notf_coal.
  Status SetCoalescing(Direction direction, const spec::NetCtrlCoal& coalescing);
  // The same for one queue, which must be enabled; lasts until it is reset. Feature vq_notf_coal.
  Status SetQueueCoalescing(uint16_t vq_index, const spec::NetCtrlCoal& coalescing);

 private:
  template <typename Request>
  Status Send(spec::NetFeature needs, spec::NetCtrlClass ctrl_class, uint8_t command, const Request& request,
              std::span<const uint8_t> tail = {});

  ControlQueue* control_;
  FeatureSet features_;
};

}  // namespace vireo::host
