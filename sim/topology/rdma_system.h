// SPDX-License-Identifier: Apache-2.0
// Hosts with a NIC each, ready for RDMA: simulated PCIe, firmware, driver and verbs around devices of one kind,
// connected by a wire or a switch. The base of tests and benchmarks, which do not depend on the kind of device.
//
// A lockstep mismatch is printed when it is detected. With VIREO_STOP_AT_MISMATCH set the program then exits with
// status 1, else the RTL continues alone.
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

// Default of the hosts of a test; the driver's default prefers packed rings.
inline host::FeatureSet SplitRings() {
  return host::DefaultFeatures() - host::FeatureSet{spec::VirtioFeature::kRingPacked};
}

// What runs the firmware: `native`, or `rv32`, the control processor in RTL (riscv_runner.h), of a board its own
// (board_runner.h).
inline constexpr std::array<const char*, 2> kFirmwareNames = {"native", "rv32"};
// $VIREO_FIRMWARE, for a run of tests; else native.
std::string DefaultFirmware();

// A host and its NIC.
struct HostOptions {
  NicParameters nic;
  std::string device = "model";  // DeviceNames()
  spec::Profile profile = spec::Profile{spec::kProfileDefault};
  // Default: by the host's number, see RdmaHost.
  std::optional<std::array<uint8_t, 6>> mac{};
  std::optional<std::array<uint8_t, 4>> ipv4{};
  uint32_t mtu = 0;                          // bytes per packet of the link; 0: the maximum for the NIC's frames
  std::string firmware = DefaultFirmware();  // kFirmwareNames
  // Cost of the native firmware's instructions between two accesses.
  Cycle firmware_access_cycles = FirmwareRunner::Options{}.access_cycles;
};

struct RdmaSystemOptions {
  std::string device = "model";  // DeviceNames()
  std::string peer{};            // device of all NICs but the first; empty: `device`, of a board the model
  const spec::Config* config = &spec::kNic100;
  spec::Profile profile = spec::Profile{spec::kProfileDefault};
  std::string_view pcie_preset = "gen3x16";
  size_t nics = 2;
  Fabric fabric = Fabric::kDirect;
  SwitchParameters network_switch{};
  std::string capture_path{};
  std::vector<OuterPortParameters> outer_ports{};  // of the switch
  // On frames sent by a NIC, by its number; missing: none.
  std::vector<std::vector<FaultRule>> faults_out{};
  std::string firmware = DefaultFirmware();
  Cycle firmware_access_cycles = FirmwareRunner::Options{}.access_cycles;
  // If not empty, these hosts replace `device`, `peer`, `config`, `profile`, `pcie_preset`, `nics`, `faults_out`,
  // `firmware` and `firmware_access_cycles`.
  std::vector<HostOptions> hosts{};
  host::DeviceOptions driver{.wanted = SplitRings()};  // of every host
  bool is_metered = false;                             // see TopologyParameters
  bool is_monitored = true;                            // see TopologyParameters
  bool is_traced = true;
  bool open = true;  // false: hosts stay closed, with firmware and function, for the caller to open
  // Factory of `device` and `peer`. Empty: NicDeviceFactory.
  std::function<NicFactory(std::string_view name, const LockstepOptions& lockstep)> devices{};
  // Of the whole system. Empty: a StandaloneScheduler.
  std::function<std::unique_ptr<Scheduler>()> make_scheduler{};
};

// One host. By default it has the IPv4 address 10.0.0.<number + 1> and a MAC by its number. GID 0 is its IPv4 address;
// GID 1, after AddIpv6Gid(), is the link-local address of its MAC.
class RdmaHost {
 public:
  RdmaHost(Scheduler& scheduler, Station& station, uint16_t number, const HostOptions& options,
           const host::DeviceOptions& driver);

  verbs::Device& device() { return *device_; }
  // Releases the device: it is reset when the last object made from it is gone.
  void Close() { device_.reset(); }
  // Opens a closed device and sets GID 0. Returns an error message, empty if none.
  std::string Open() { return Open(driver_.wanted); }
  std::string Open(const host::FeatureSet& wanted);
  SimulatedFunction& function() { return *function_; }
  ControlProcessor& firmware() { return *firmware_; }
  Station& station() { return station_; }
  // Flips a bit in a memory of the NIC, like radiation (mgmt.flip_entry, mgmt.flip_bit), some cycles from now. `index`:
  // that of the memory's table, of kManagementContext the word; `bit`: the parity bit follows the entry's last one.
  void FlipBit(spec::ContextRam ram, uint32_t index, uint32_t bit);
  // Sets GID kIpv6Gid, until the device is closed. Returns an error message, empty if none.
  std::string AddIpv6Gid();
  static constexpr uint8_t kIpv4Gid = 0, kIpv6Gid = 1;
  std::array<uint8_t, 16> gid(uint8_t index = kIpv4Gid) const;
  std::array<uint8_t, 6> mac() const { return mac_; }
  static std::array<uint8_t, 6> DefaultMac(uint16_t number);
  static std::array<uint8_t, 4> DefaultIpv4(uint16_t number);
  // The path from this host to `peer`, between the GIDs of one index.
  spec::RdmaAhAttr PathTo(const RdmaHost& peer, uint8_t gid_index = kIpv4Gid) const;

 private:
  friend class RdmaSystem;

  Station& station_;
  const std::array<uint8_t, 6> mac_;
  const std::array<uint8_t, 4> ipv4_;
  const host::DeviceOptions driver_;
  std::unique_ptr<ControlProcessor> firmware_;
  std::unique_ptr<SimulatedFunction> function_;
  std::shared_ptr<verbs::Device> device_;
};

// Verbs objects must be destroyed before it.
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
  // Hardware reset of a NIC whose host is closed, until its firmware serves and its function is enumerated. Runs the
  // simulation.
  void Reset(size_t number);
  // Null if the NIC is not in lockstep.
  LockstepNic* lockstep(size_t number);
  // There was a lockstep mismatch: later results are meaningless.
  bool is_mismatched() const { return !mismatches_.empty(); }
  // Errors of a run: violations of a seam or found by a monitor, DMA outside of windows, a lockstep mismatch, a cycle
  // difference. Empty: none.
  std::string Violations();

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
  // Destroys queue pairs first, then what they use.
  ~ConnectedPair();
  std::array<Side, 2> side;
};
struct ConnectedPairOptions {
  size_t memory_bytes = 65536;
  spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
  uint32_t cqe = 128;
  uint32_t cq_elements = 0;  // of completions (spec::RdmaCqElement)
  bool interrupts = true;
  uint8_t gid_index = RdmaHost::kIpv4Gid;
  // Without push: who posts a receive and its message at one time, or spoils what was posted, needs a sender that
  // reads.
  verbs::QueuePairOptions qp{.push = false};
  // Where the second side's queue pair takes its receives, with its protection domain. Null: it has its own ones.
  std::shared_ptr<verbs::SharedReceiveQueue> far_srq{};
  // Of both sides; the remote queue pair, PSNs, path MTU and path are filled in.
  verbs::QueuePair::Connection connection{};
};
// Null, with `error`, if anything is refused.
std::unique_ptr<ConnectedPair> MakeConnectedPair(RdmaHost& first, RdmaHost& second, const ConnectedPairOptions& options,
                                                 std::string* error);

// Two datagram queue pairs, UD or GSI, each with its own completion queue, memory, and address handle of the other.
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
  // A message to the other side: fills in its destination.
  verbs::SendRequest To(size_t from, verbs::SendRequest request) const;

  std::array<Side, 2> side;
};
struct DatagramPairOptions {
  size_t memory_bytes = 65536;
  uint32_t cqe = 128;
  uint32_t cq_elements = 0;  // of completions (spec::RdmaCqElement)
  bool interrupts = true;
  uint8_t gid_index = RdmaHost::kIpv4Gid;
  verbs::QueuePairOptions qp{.type = spec::IbQpType::kUd, .push = false};  // see ConnectedPairOptions
  std::array<uint32_t, 2> qkey = {0x1234'5678, 0x0765'4321};               // of each side; other than GSI's below 2^31
};
std::unique_ptr<DatagramPair> MakeDatagramPair(RdmaHost& first, RdmaHost& second, const DatagramPairOptions& options,
                                               std::string* error);

}  // namespace vireo::sim
