// SPDX-License-Identifier: Apache-2.0
// Hosts with a NIC each, ready for RDMA: simulated PCIe, firmware, driver and verbs around devices of one kind, joined
// by a wire or a switch. What tests and benchmarks start from; which device it is, they are not told.
//
// A lockstep mismatch is printed when it is found. With VIREO_STOP_AT_MISMATCH set the program then ends with status 1,
// else the RTL goes on alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "sim/device/lockstep_nic.h"
#include "sim/time/scheduler.h"
#include "sim/topology/firmware_runner.h"
#include "sim/topology/simulated_function.h"
#include "sim/topology/topology.h"

namespace vireo::sim {

// What a test's hosts want that says nothing else: the driver's default prefers packed rings.
inline host::FeatureSet SplitRings() {
  return host::DefaultFeatures() - host::FeatureSet{spec::VirtioFeature::kRingPacked};
}

// A host and its NIC.
struct HostOptions {
  NicParameters nic;
  std::string device = "model";  // DeviceNames()
  // Without: by the host's number, see RdmaHost.
  std::optional<std::array<uint8_t, 6>> mac{};
  std::optional<std::array<uint8_t, 4>> ipv4{};
  uint32_t mtu = 0;  // bytes of a packet that the link takes; 0: the most that the NIC's frames have room for
};

struct RdmaSystemOptions {
  std::string device = "model";  // DeviceNames()
  std::string peer{};            // what all NICs but the first are; empty: `device`
  const spec::Config* config = &spec::kNic100;
  std::string_view pcie_preset = "gen3x16";
  size_t nics = 2;
  Fabric fabric = Fabric::kDirect;
  SwitchParameters network_switch{};
  std::string capture_path{};
  std::vector<OuterPortParameters> outer_ports{};  // of the switch
  // On frames that a NIC sent, by its number; short: none.
  std::vector<std::vector<FaultRule>> faults_out{};
  // If there are any, these are all: `device`, `peer`, `config`, `pcie_preset`, `nics` and `faults_out` count for
  // nothing.
  std::vector<HostOptions> hosts{};
  host::DeviceOptions driver{.wanted = SplitRings()};  // of every host
  bool is_traced = true;                               // see TopologyParameters
  bool open = true;  // false: hosts are left closed, with firmware and function, for others to open
  // Factory of `device` and `peer`. Empty: NicDeviceFactory.
  std::function<NicFactory(std::string_view name, const LockstepOptions& lockstep)> devices{};
  // Of the whole system. Empty: a StandaloneScheduler.
  std::function<std::unique_ptr<Scheduler>()> make_scheduler{};
};

// One host. Unless its options say otherwise it has the IPv4 address 10.0.0.<number + 1>, and a MAC of its own. GID 0
// is its IPv4 address; GID 1, if AddIpv6Gid() gave it one, is the link-local address of its MAC.
class RdmaHost {
 public:
  RdmaHost(Scheduler& scheduler, Station& station, uint16_t number, const HostOptions& options,
           const host::DeviceOptions& driver);

  verbs::Device& device() { return *device_; }
  // Lets go of the device: it is reset, if nothing made from it is left, or with the last of that.
  void Close() { device_.reset(); }
  // Opens it (again) and gives it GID 0. Empty, or what went wrong. For a device that is closed.
  std::string Open() { return Open(driver_.wanted); }
  std::string Open(const host::FeatureSet& wanted);
  SimulatedFunction& function() { return *function_; }
  FirmwareRunner& firmware() { return *firmware_; }
  Station& station() { return station_; }
  // Flips a bit in a memory of the NIC, as radiation would (mgmt.flip_entry, mgmt.flip_bit), some cycles from now.
  // `index`: as of the memory's table; `bit`: behind the entry's last one the parity bit.
  void FlipBit(spec::ContextRam ram, uint32_t index, uint32_t bit);
  // Gives it GID kIpv6Gid, until it is closed. Empty, or what went wrong.
  std::string AddIpv6Gid();
  static constexpr uint8_t kIpv4Gid = 0, kIpv6Gid = 1;
  std::array<uint8_t, 16> gid(uint8_t index = kIpv4Gid) const;
  std::array<uint8_t, 6> mac() const { return mac_; }
  static std::array<uint8_t, 6> DefaultMac(uint16_t number);
  static std::array<uint8_t, 4> DefaultIpv4(uint16_t number);
  // The path from here to there, between the GIDs of one index.
  spec::RdmaAhAttr PathTo(const RdmaHost& peer, uint8_t gid_index = kIpv4Gid) const;

 private:
  friend class RdmaSystem;

  Station& station_;
  const std::array<uint8_t, 6> mac_;
  const std::array<uint8_t, 4> ipv4_;
  const host::DeviceOptions driver_;
  std::unique_ptr<FirmwareRunner> firmware_;
  std::unique_ptr<SimulatedFunction> function_;
  std::shared_ptr<verbs::Device> device_;
};

// Verbs objects that outlive it must be gone before it goes.
class RdmaSystem {
 public:
  struct Built {
    std::unique_ptr<RdmaSystem> system;  // null if there is an error
    std::string error;
  };
  static Built Build(const RdmaSystemOptions& options);
  ~RdmaSystem();

  RdmaHost& host(size_t number) { return *hosts_[number]; }
  Topology& topology() { return *topology_; }
  Scheduler& scheduler() { return *scheduler_; }
  // Hardware reset of a NIC whose host is closed, until its firmware serves and its function is there again. Runs the
  // simulation.
  void Reset(size_t number);
  // Those of a NIC in lockstep; null otherwise.
  LockstepNic* lockstep(size_t number);
  // There was a lockstep mismatch: from then on there is nothing to be learned from a run.
  bool is_mismatched() const { return !mismatches_.empty(); }
  // What a good run does not have: broken rules of a seam, DMA outside of windows, a lockstep mismatch, a cycle that
  // differs. Empty, or text.
  std::string Complaints();

 private:
  RdmaSystem() = default;

  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Topology> topology_;
  std::vector<std::unique_ptr<RdmaHost>> hosts_;
  std::vector<std::string> mismatches_;
};

// Two connected queue pairs, RC or UC, each with its own completion queue, and memory of the same size on both sides.
struct ConnectedPair {
  struct Side {
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
    host::DmaBuffer memory;
    std::shared_ptr<verbs::MemoryRegion> region;  // all of it, with every right
  };
  // Queue pairs first, then what they use.
  ~ConnectedPair();
  std::array<Side, 2> side;
};
struct ConnectedPairOptions {
  size_t memory_bytes = 65536;
  spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
  uint32_t cqe = 128;
  bool interrupts = true;
  uint8_t gid_index = RdmaHost::kIpv4Gid;
  verbs::QueuePairOptions qp{};
  // Of both sides; who is at the other end, PSNs, path MTU and path are filled in.
  verbs::QueuePair::Connection connection{};
};
// Null, and why, if anything is refused.
std::unique_ptr<ConnectedPair> MakeConnectedPair(RdmaHost& first, RdmaHost& second, const ConnectedPairOptions& options,
                                                 std::string* error);

// Two datagram queue pairs, UD or GSI, each with its own completion queue, memory, and the way to the other.
struct DatagramPair {
  struct Side {
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
    host::DmaBuffer memory;
    std::shared_ptr<verbs::MemoryRegion> region;
    std::shared_ptr<verbs::AddressHandle> ah;  // of the other host
    uint32_t qkey = 0;
  };
  ~DatagramPair();
  // A message to the other side: whom it is for is filled in.
  verbs::SendRequest To(size_t from, verbs::SendRequest request) const;

  std::array<Side, 2> side;
};
struct DatagramPairOptions {
  size_t memory_bytes = 65536;
  uint32_t cqe = 128;
  bool interrupts = true;
  uint8_t gid_index = RdmaHost::kIpv4Gid;
  verbs::QueuePairOptions qp{.type = spec::IbQpType::kUd};
  std::array<uint32_t, 2> qkey = {0x1234'5678, 0x0765'4321};  // of each side; other than GSI's below 2^31
};
std::unique_ptr<DatagramPair> MakeDatagramPair(RdmaHost& first, RdmaHost& second, const DatagramPairOptions& options,
                                               std::string* error);

}  // namespace vireo::sim
