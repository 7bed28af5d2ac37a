// SPDX-License-Identifier: Apache-2.0
// One NIC whose peer is a capture: frames are fed to its MAC, the frames that it sends are recorded. Each flow gets a
// queue pair. Firmware chooses queue pair numbers and keys, so frames are translated, one to one, in both directions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/replay/conversation.h"
#include "sim/topology/rdma_system.h"

namespace vireo::sim {

class PeerNic final : private EventSink {
 public:
  struct Built {
    std::unique_ptr<PeerNic> nic;  // null if there is an error
    std::string error;
  };
  // `capture_path`: pcapng file for all frames on the wire; empty: none.
  static Built Build(const std::string& device, const spec::Config& config, const std::string& capture_path);
  ~PeerNic();
  PeerNic(const PeerNic&) = delete;
  PeerNic& operator=(const PeerNic&) = delete;

  struct QueuePair {
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
  };
  struct Memory {
    host::DmaBuffer buffer;
    std::shared_ptr<verbs::MemoryRegion> region;
    uint8_t* at(uint64_t address) const { return buffer->data() + (address - base); }
    uint64_t base = 0;  // address of its first byte, as work requests and peers name it
  };

  // Creates and connects a queue pair for `flow`, as responder or requester. The flow overrides `attributes`. Hop
  // limit, traffic class and flow label are those of `like`, a frame sent by our side.
  host::Result<QueuePair> Connect(const Flow& flow, bool as_responder, verbs::QueuePair::Connection attributes,
                                  const RoceFrame& like, uint32_t work_requests);
  host::Result<std::shared_ptr<verbs::AddressHandle>> CreateAh(const Flow& flow, const RoceFrame& like);
  // Memory for addresses from `first` on; `bytes` may be 0.
  host::Result<Memory> Allocate(uint64_t first, uint64_t bytes, uint32_t access, bool invalidatable = false);

  // Delivers a frame to the NIC's MAC and advances simulated time by its time on the wire. Requires the NIC's own
  // destination QP and key, and no VLAN tag.
  void Feed(RoceFrame frame);
  // Runs the simulation until `done`; false: not within `ns` of simulated time.
  bool RunUntil(const std::function<bool()>& done, uint64_t ns);
  // Runs until the NIC is idle, at most one simulated second.
  void RunUntilIdle();

  struct Sent {
    RoceFrame frame;   // with the source MAC address of the capture
    uint64_t fed = 0;  // frames fed before it
  };
  // In the order of sending; only grows. Frames that are not RoCEv2 become violations.
  const std::vector<Sent>& sent() const { return sent_; }
  uint64_t fed() const { return fed_; }
  // Violations of seam rules, lockstep mismatches, malformed frames; empty in a good run.
  std::string Violations();
  RdmaSystem& system() { return *system_; }
  uint32_t max_reads() { return device().attributes().max_qp_rd_atom; }

 private:
  PeerNic() = default;
  verbs::Device& device() { return system_->host(0).device(); }
  host::Result<spec::RdmaAhAttr> PathTo(const GidBytes& from, const GidBytes& to, const RoceFrame& like);
  host::Result<uint8_t> GidIndex(const GidBytes& gid);
  void OnEvent(const BoundaryEvent& event) override;

  std::unique_ptr<RdmaSystem> system_;
  std::shared_ptr<verbs::ProtectionDomain> pd_;
  std::map<GidBytes, uint8_t> gids_;
  std::map<GidBytes, std::array<uint8_t, 6>> stations_;  // MAC addresses, as recorded
  std::vector<Sent> sent_;
  std::string malformed_;
  uint64_t fed_ = 0;
  uint32_t link_mbps_ = 0;
};

}  // namespace vireo::sim
