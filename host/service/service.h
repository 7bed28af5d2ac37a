// SPDX-License-Identifier: Apache-2.0
// Owns one NIC and shares it among processes, like the kernel's RDMA stack. Initializes the device, owns the control
// queue, the GID table and the GSI queue pair, and provides each client process with a context (protocol.h): its own
// objects, queues and vectors. Clients are not trusted: a misbehaving client is refused or disconnected without effect
// on others. One exception: a client whose memory is accessed through its agent can stall all others once, for
// kAgentTimeoutMs.
//
// No threads: the caller runs an EventLoop, and calls Progress() after device activity. Device commands wait in the
// function's time (a simulation runs meanwhile).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/service/counter.h"
#include "host/service/destination.h"
#include "host/service/event_loop.h"
#include "host/service/gid_table.h"
#include "host/service/neighbor_discovery.h"
#include "host/service/program_clock.h"
#include "host/service/protocol.h"
#include "host/verbs/device.h"
#include "host/verbs/quota.h"

namespace vireo::service {

class Context;

struct GidEntry : Gid {
  std::optional<uint16_t> vlan{};  // frames from this GID have this tag; not in profile rfc-v2
};

struct ServiceOptions {
  std::string name = "vireo0";  // up to 31 characters, like netdev
  std::string netdev = "vnet0";
  uint32_t ifindex = 1;
  uint32_t link_mbps = 0;      // reported to clients if the device does not report a speed; 0: unknown
  std::vector<GidEntry> gids;  // at the start; up to kMaxGids, written to the device
  Neighbors neighbors;         // resolves GIDs for clients that do not know the MAC address
  // Resolve GIDs that `neighbors` does not know on the wire, by ARP and neighbour discovery, and answer requests for
  // the NIC's addresses. Uses the device's net queues.
  bool discovers_neighbors = false;
  // A directory, absolute: what clients map shared from files in it is persistent memory. Empty: they have none.
  std::string pmem;
  host::DeviceOptions driver;
  // Clients share at most this number of vectors, and at most half of them: the device's others are for other users of
  // it in this process (Service::reserved_vectors). None: clients share all.
  std::optional<uint16_t> client_vectors{};
  // Counters of the NIC's port, for clients that ask; they may take some microseconds. Null: none.
  std::function<std::vector<Counter>()> counters;
  // Clock of the programs; outlives the service. Null: they use the system's time.
  ProgramClock* clock = nullptr;
};

// Connection management for the service's clients (connection_service.h). Called from the service's thread.
class UcmaServer {
 public:
  virtual ~UcmaServer() = default;
  // A client opened a channel (SharedDevice::OpenUcma); `channel` is the service's end, non-blocking.
  virtual void OnChannel(host::FileDescriptor channel) = 0;
  // Service::gids() has changed. Connections from a removed GID stay, as those of a host that lost its address.
  virtual void OnGidsChanged() = 0;
  // Call it after device activity, and by NextDeadlineNs() at the latest.
  virtual void Progress() = 0;
  // Latest time for the next Progress, in nanoseconds of CLOCK_MONOTONIC, the clock of programs. EventLoop::kForeverNs:
  // no deadline.
  virtual uint64_t NextDeadlineNs() const = 0;
};

class Service {
 public:
  // Opens `function` as a RoCE device and writes its GID table. Both outlive it. Errors as VirtioNetDevice::Open.
  static host::Result<std::unique_ptr<Service>> Open(host::PciFunction& function, EventLoop& loop,
                                                     const ServiceOptions& options);
  // Closes all contexts and resets the device.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Accepts clients on a socket at `path`, which is removed by the destructor.
  host::Status Listen(const std::string& path);
  // Adds a client that is already connected by `socket`.
  void Adopt(host::FileDescriptor socket);

  // Also called with every event of the device, from within Progress and clients' commands.
  void OnEvent(std::function<void(const host::DeviceEvent&)> listener) { on_event_ = std::move(listener); }
  // Forwards the device's interrupts and events, and removes disconnected clients.
  void Progress();
  // Latest time for the next Progress: see UcmaServer.
  uint64_t NextDeadlineNs() const;

  // The server may use the functions below, and is destroyed before the device.
  void SetUcmaServer(std::unique_ptr<UcmaServer> server) { ucma_ = std::move(server); }
  // The most that all clients together may have, before there is one; default: all that the device has. One process may
  // have three quarters of it, rounded up, so that it leaves something for others.
  void SetClientQuota(const verbs::Quota& together);
  const verbs::Quota& process_quota() const { return process_quota_; }
  const std::shared_ptr<verbs::Device>& device() const { return device_; }
  EventLoop& loop() { return loop_; }
  const ServiceOptions& options() const { return options_; }
  // GIDs of the service, by index. All clients see a change at once, and get an event.
  const std::vector<GidEntry>& gids() const { return gids_; }
  // Takes the lowest free index, which it returns. kInvalidArgument: the table is full, or the device refuses the GID,
  // for example because it is in the table already.
  host::Result<uint16_t> AddGid(const std::array<uint8_t, 16>& gid, std::optional<uint16_t> vlan);
  // kInvalidArgument: no such entry. Queue pairs and address handles that use it keep its address.
  host::Status DeleteGid(uint16_t index);
  // The MAC address of the host with a GID. None: not found, or, if IsSearching(), not found yet.
  std::optional<std::array<uint8_t, 6>> FindNeighbor(const std::array<uint8_t, 16>& gid);
  // Requests on the wire for these addresses are answered too: of guests that share the NIC. Replaces the former ones.
  void SetGuestAddresses(std::vector<std::array<uint8_t, 16>> gids);
  // A search for this GID is in progress: FindNeighbor may find it later. Lasts NeighborDiscovery::kSearchNs at most.
  bool IsSearching(const std::array<uint8_t, 16>& gid) const;
  const spec::NetConfig& net_config() const { return net_config_; }
  spec::IbMtu active_mtu() const;
  uint64_t node_guid() const;  // host byte order
  uint32_t link_mbps() const;  // 0: not known
  // Those that ServiceOptions::client_vectors leaves: the first one, and their number.
  std::pair<uint16_t, uint16_t> reserved_vectors() const {
    return {static_cast<uint16_t>(first_vector_ + vectors()), reserved_vectors_};
  }

  size_t contexts() const { return contexts_.size(); }
  // What connected clients have.
  struct Client {
    pid_t process = 0;  // 0: not known
    size_t pds = 0, mrs = 0, ahs = 0, cqs = 0, srqs = 0;
    struct QueuePair {
      uint32_t qpn = 0;
      spec::IbQpType type{};
      spec::RdmaAckQueryQp attributes{};
    };
    std::vector<QueuePair> qps;
  };
  // Asks the device for each queue pair.
  std::vector<Client> Clients();
  // See Objects; not those of `except`.
  std::vector<ObjectBytes> ListObjects(ObjectKind kind, uint32_t first, bool with_state, const Context* except);
  // The pids of connected clients.
  std::vector<pid_t> processes() const;
  // Memory of former clients that the device has not released.
  size_t retained() const { return retained_.size(); }

 private:
  friend class Context;
  // The object that a queue belongs to.
  struct QueueUser {
    bool is_cq = false;
    uint32_t number = 0;  // CQN or QPN
  };

  Service(EventLoop& loop, const ServiceOptions& options);
  host::Status SetUp();
  void Accept();
  void Reap();
  host::Status SetUpNeighborDiscovery();
  host::Status WriteGid(const GidEntry& entry);
  void PublishGids();
  void PublishAddresses();
  void TakeFrames();
  // Passes all pending events of the device on to the contexts that own their objects.
  void RouteEvents();
  void RouteEvent(const host::DeviceEvent& event);
  host::VirtioNetDevice& net() const { return device_->net(); }
  // kNoMemory: the context's process, or all clients together, have no room for `more`.
  host::Status CheckRoom(const Context& context, const verbs::Quota& more) const;
  std::optional<QueueUser> UserOf(uint32_t queue) const;
  // Resets a queue. False: the device may still use its ring.
  bool StopQueue(uint16_t queue);

  // Number of vectors for contexts: the device's from first_vector_.
  uint16_t vectors() const { return static_cast<uint16_t>(vector_uses_.size()); }
  uint16_t TakeVector();  // the least used one

  EventLoop& loop_;
  const ServiceOptions options_;
  std::shared_ptr<verbs::Device> device_;
  spec::NetConfig net_config_;
  verbs::Quota clients_quota_, process_quota_;
  uint16_t first_vector_ = 0, reserved_vectors_ = 0;
  std::vector<unsigned> vector_uses_;
  std::vector<GidEntry> gids_;
  std::unique_ptr<GidTableWriter> gid_table_;
  std::vector<std::unique_ptr<Context>> contexts_;
  uint32_t last_context_ = 0;  // its number
  std::vector<std::shared_ptr<void>> retained_;
  host::FileDescriptor listener_;
  std::string path_;
  std::unique_ptr<UcmaServer> ucma_;
  std::function<void(const host::DeviceEvent&)> on_event_;
  std::vector<std::array<uint8_t, 16>> guest_addresses_;
  std::unique_ptr<NeighborDiscovery> neighbor_discovery_;  // null: no discovery on the wire
};

}  // namespace vireo::service
