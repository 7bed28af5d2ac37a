// SPDX-License-Identifier: Apache-2.0
// The owner of one NIC for many processes, what the kernel's RDMA stack is elsewhere: it brings the device up, keeps
// the control queue, the GID table and the GSI queue pair, and gives each client process a context (protocol.h) with
// objects, queues and vectors of its own. Clients are not trusted: one that breaks rules is refused or dropped, and no
// other notices. One limit: a client whose memory is reached through its own thread can hold everybody up for
// kAgentTimeoutMs, once.
//
// No threads: the caller runs an EventLoop, and calls Progress() when the device may have done something. Calls into
// the device wait in the function's time (a simulation runs meanwhile).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/service/destination.h"
#include "host/service/event_loop.h"
#include "host/service/neighborhood.h"
#include "host/service/program_clock.h"
#include "host/verbs/device.h"

namespace vireo::service {

class Context;

struct GidEntry {
  uint16_t index = 0;
  uint8_t gid[16]{};
  spec::RdmaGidType type = spec::RdmaGidType::kRoceV2;
};

struct ServiceOptions {
  std::string name = "vireo0";  // up to 31 characters, like netdev
  std::string netdev = "vnet0";
  uint32_t ifindex = 1;
  uint32_t link_mbps = 0;      // told to clients if the device does not say it; 0: not known
  std::vector<GidEntry> gids;  // up to kMaxGids; written to the device
  Neighbors neighbors;         // for clients that know a destination by its GID only
  // Whom `neighbors` does not know is asked for on the wire, by ARP and neighbour solicitation; and who asks for the
  // NIC's addresses is answered. Takes the device's net queues.
  bool discovers_neighbors = false;
  host::DeviceOptions driver;
  // Programs see its time; outlives the service. Null: they see the system's.
  ProgramClock* clock = nullptr;
};

// Connection management for the service's clients (connection_service.h). Called from the service's thread.
class UcmaServer {
 public:
  virtual ~UcmaServer() = default;
  // A client opened a channel (SharedDevice::OpenUcma); `channel` is the service's end, non-blocking.
  virtual void OnChannel(host::FileDescriptor channel) = 0;
  // The device may have done something, or time has passed.
  virtual void Progress() = 0;
  // When Progress shall be called at the latest, in nanoseconds of CLOCK_MONOTONIC: it serves programs, whose time that
  // is. EventLoop::kForeverNs: whenever something happens.
  virtual uint64_t NextDeadlineNs() const = 0;
};

class Service {
 public:
  // Opens `function` as a RoCE device and writes its GID table. Both outlive it. Errors as VirtioNetDevice::Open.
  static host::Result<std::unique_ptr<Service>> Open(host::PciFunction& function, EventLoop& loop,
                                                     const ServiceOptions& options);
  // Ends all contexts and resets the device.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Clients may connect to a socket at `path`, which is removed at the end.
  host::Status Listen(const std::string& path);
  // What `socket` says is a client's; for who has connected one in another way.
  void Adopt(host::FileDescriptor socket);

  // Passes on the device's interrupts and events, and forgets clients that are gone.
  void Progress();
  // Until when nothing has to be done if nothing happens: see UcmaServer.
  uint64_t NextDeadlineNs() const;

  // It may use everything below, and goes before the device does.
  void SetUcmaServer(std::unique_ptr<UcmaServer> server) { ucma_ = std::move(server); }
  const std::shared_ptr<verbs::Device>& device() const { return device_; }
  EventLoop& loop() { return loop_; }
  const ServiceOptions& options() const { return options_; }
  // The MAC address of the host with a GID. None: nobody has it; or, if IsSearching() says so, nobody is known yet.
  std::optional<std::array<uint8_t, 6>> FindNeighbor(const std::array<uint8_t, 16>& gid);
  // Whether FindNeighbor may find this one later, until Neighborhood::kSearchNs after the first time.
  bool IsSearching(const std::array<uint8_t, 16>& gid) const;
  const spec::NetConfig& net_config() const { return net_config_; }
  spec::IbMtu active_mtu() const;
  uint64_t node_guid() const;  // as a number
  uint32_t link_mbps() const;  // 0: not known

  size_t contexts() const { return contexts_.size(); }
  // Of clients that are there.
  std::vector<pid_t> processes() const;
  // Memory of clients that ended while the device did not let go of it.
  size_t kept() const { return kept_.size(); }

 private:
  friend class Context;
  // What a queue is for.
  struct QueueUser {
    bool is_cq = false;
    uint32_t number = 0;  // CQN or QPN
  };

  Service(EventLoop& loop, const ServiceOptions& options);
  host::Status SetUp();
  void Accept();
  void Reap();
  host::Status SetUpNeighborhood();
  void TakeFrames();
  void RouteEvent(const host::DeviceEvent& event);
  host::VirtioNetDevice& net() const { return device_->net(); }
  std::optional<QueueUser> UserOf(uint32_t queue) const;
  // The queue's object is destroyed, or the queue is to stop. False: the device may still use its ring.
  bool StopQueue(uint16_t queue, bool destroyed);

  // Vectors that contexts may have: the device's from first_vector_ on.
  uint16_t vectors() const { return static_cast<uint16_t>(vector_uses_.size()); }
  uint16_t TakeVector();  // one that the fewest have

  EventLoop& loop_;
  const ServiceOptions options_;
  std::shared_ptr<verbs::Device> device_;
  spec::NetConfig net_config_;
  uint16_t first_vector_ = 0;
  std::vector<unsigned> vector_uses_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::shared_ptr<void>> kept_;
  host::FileDescriptor listener_;
  std::string path_;
  std::unique_ptr<UcmaServer> ucma_;
  std::unique_ptr<Neighborhood> neighborhood_;  // null: nobody is asked
};

}  // namespace vireo::service
