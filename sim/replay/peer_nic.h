// SPDX-License-Identifier: Apache-2.0
// One NIC whose peer is a capture: frames go in at its MAC, what it sends is kept. Queue pairs are made for flows;
// their numbers and keys are the firmware's choice, so frames are translated, one to one, on their way in and out.
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
  // `capture_path`: a pcapng of everything on the wire; empty: none.
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

  // A queue pair that plays `flow`: as responder its requests' target, else their source. `attributes` but for what the
  // flow says. The path's hop limit, traffic class and flow label are those of `like`.
  host::Result<QueuePair> Connect(const Flow& flow, bool as_responder, verbs::QueuePair::Connection attributes,
                                  const RoceFrame& like, uint32_t work_requests);
  host::Result<std::shared_ptr<verbs::AddressHandle>> CreateAh(const Flow& flow, const RoceFrame& like);
  // For addresses from `first` on; `bytes` may be 0.
  host::Result<Memory> Allocate(uint64_t first, uint64_t bytes, uint32_t access);

  // As if it came over the wire, behind what came before; time passes for it. Destination QP and key are the NIC's
  // own, and there is no VLAN tag.
  void Feed(RoceFrame frame);
  // Lets things happen; false: `done` was not true in time.
  bool RunUntil(const std::function<bool()>& done, uint64_t ns);
  // Until nothing is under way, or a second is over.
  void Settle();

  struct Sent {
    RoceFrame frame;   // from the station that the capture knows
    uint64_t fed = 0;  // frames that had been fed before
  };
  // In the order of sending; it only grows. Frames that are none of RoCEv2 become complaints.
  const std::vector<Sent>& sent() const { return sent_; }
  uint64_t fed() const { return fed_; }
  // Broken rules of the seam, lockstep mismatches, broken frames: empty in a good run.
  std::string Complaints();
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
  std::string broken_;
  uint64_t fed_ = 0;
  uint32_t link_mbps_ = 0;
};

}  // namespace vireo::sim
