// SPDX-License-Identifier: Apache-2.0
// The simulator: NICs on a wire or switch, each with a service for unmodified RDMA programs, or exported as a whole PCI
// function for a driver or a guest. One thread; everything runs in Run().
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/service/event_loop.h"
#include "host/service/service.h"
#include "sim/pvrdma/guest.h"
#include "sim/report/message_tracker.h"
#include "sim/simulator/drop_counters.h"
#include "sim/simulator/pacer.h"
#include "sim/simulator/simulation.h"
#include "sim/simulator/virtual_time.h"
#include "sim/simulator/wire_socket.h"
#include "sim/vfio_user/server.h"

namespace vireo::sim {

struct SimulatorOptions {
  std::string directory;  // exists
  // Tracks messages from the start; must outlive the simulator. Null: no tracking, at no cost.
  MessageTracker* tracker = nullptr;
  Simulation simulation;
};

// Programs see each NIC as an RDMA device of the same name. GID 0 is the link-local address of its MAC, GID 1 its IPv4
// address; GIDs 2 and 3 are the same in the NIC's VLAN, if it has one. More come from the topology, and at run time.
// The service of NIC k listens at directory/nic<k>.sock; an exported NIC has no service and is not opened.
class Simulator {
 public:
  struct Built {
    std::unique_ptr<Simulator> simulator;  // null if there is an error
    std::string error;
  };
  static Built Build(const SimulatorOptions& options);
  ~Simulator();

  // Returns after Stop(), which a watcher of loop() calls.
  void Run();
  void Stop() { is_stopping_ = true; }

  service::EventLoop& loop() { return loop_; }
  RdmaSystem& system() { return *system_; }
  DropCounters& drops() { return *drops_; }
  // By number of its outer port.
  const WireSocket& wire(size_t number) const { return *wires_[number]; }
  size_t wires() const { return wires_.size(); }
  size_t size() const { return sockets_.size(); }
  // GIDs of a NIC by index; those of an exported NIC are its driver's: none here.
  std::vector<std::pair<uint16_t, GidSetting>> Gids(size_t nic) const;
  // kInvalidArgument, with the reason for a person: the NIC is exported or has PVRDMA guests, whose driver adds GIDs;
  // another NIC has this address; or as Service::AddGid.
  host::Result<uint16_t> AddGid(size_t nic, const GidSetting& setting);
  // kInvalidArgument: as AddGid, or there is no such entry.
  host::Status DeleteGid(size_t nic, uint16_t index);
  // Programs that use a NIC, and what they have; none of an exported NIC. Runs the simulation while the NIC is asked.
  std::vector<service::Service::Client> Programs(size_t nic) {
    return services_[nic] == nullptr ? std::vector<service::Service::Client>() : services_[nic]->Clients();
  }
  // Simulated time until now in which the devices had work: not that in which they waited for a program, a guest or a
  // timer.
  uint64_t busy_ns() const;
  const std::string& socket(size_t number) const { return sockets_[number]; }  // of either kind
  // PVRDMA guests, in the order of Simulation::guests, their sockets, and what each has of its NIC, and the most that
  // it may have.
  size_t guests() const { return guests_.size(); }
  const std::string& guest_socket(size_t number) const { return guests_[number].socket; }
  const pvrdma::Objects& guest_objects(size_t number) const { return guests_[number].guest->objects(); }
  const verbs::Quota& guest_quota(size_t number) const { return guests_[number].guest->quota(); }

 private:
  Simulator() = default;
  // Of a NIC's port: what its MAC has counted, and what the NIC dropped. Runs the simulation some microseconds.
  std::vector<service::Counter> CountersOf(size_t nic);
  std::string OpenService(const SimulatorOptions& options, size_t number);
  // Of the NIC with this GID; none: no NIC's.
  std::optional<std::array<uint8_t, 6>> MacOfNic(const std::array<uint8_t, 16>& gid) const;
  // Why the GIDs of a NIC cannot be changed; empty if they can.
  std::string WhyGidsAreFixed(size_t nic) const;
  std::string OpenGuests(const SimulatorOptions& options);
  std::string OpenVfioUser(const SimulatorOptions& options, size_t number);
  void RunInVirtualTime();
  void RunWhileQuiet(Pacer& pacer);
  std::vector<pid_t> Programs() const;
  uint64_t Interrupts() const;
  void Progress();
  void SettleMemory();
  uint64_t NextDeadlineNs(uint64_t now_ns) const;

  service::EventLoop loop_;
  std::unique_ptr<RdmaSystem> system_;
  std::unique_ptr<DropCounters> drops_;
  std::unique_ptr<VirtualTime> virtual_time_;  // null: programs see real time
  // By NIC; exactly one of the two is non-null. `windows_`: of the latter.
  std::vector<std::unique_ptr<service::Service>> services_;
  std::vector<service::cm::Gsi*> gsis_;  // of the services
  std::vector<std::unique_ptr<StationWindows>> windows_;
  std::vector<std::unique_ptr<VfioUserServer>> vfio_users_;
  // What guests share: one per NIC that has some, else null.
  pvrdma::GidDirectory guest_gids_;
  std::vector<std::unique_ptr<pvrdma::Nic>> guest_nics_;
  struct Guest {
    size_t nic = 0;
    std::string socket;
    std::unique_ptr<pvrdma::Guest> guest;
  };
  std::vector<Guest> guests_;
  std::vector<std::unique_ptr<WireSocket>> wires_;
  std::vector<std::string> sockets_;
  Picoseconds idle_ = 0;  // simulated time without work of the devices
  bool is_stopping_ = false;
};

}  // namespace vireo::sim
