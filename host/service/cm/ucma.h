// SPDX-License-Identifier: Apache-2.0
// The counterpart of Linux' rdma_ucm and rdma_cm: the commands of /dev/infiniband/rdma_cm (<rdma/rdma_user_cm.h>, ABI
// 4), for one NIC and any number of open files. Built on cm::ConnectionManager.
//
// Port spaces TCP (RC) and UDP (UD by SIDR) on the NIC's IPv4 and IPv6 addresses; also port space IB with a queue pair
// type, but no AF_IB addresses: librdmacm then uses IP. No multicast (-EOPNOTSUPP). Ports and IDs are per NIC, shared
// by all its files.
//
// Errors are those of Linux, as -errno. Not thread-safe. A file's `on_event` is called when its event queue becomes
// non-empty; it must not call back.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "host/service/cm/cm.h"
#include "host/service/cm/ucma_address.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::service {

class Ucma;
class UcmaFile;

// One rdma_cm identifier. [Linux: struct rdma_id_private and ucma_context]
struct UcmaId final : cm::Handler {
  enum class State : uint8_t { kIdle, kBound, kAddressResolved, kRouteResolved, kConnect, kListen, kDisconnected };

  uint32_t number = 0;
  uint64_t uid = 0;  // set by the program; 0: not yet reported to it
  UcmaFile* file = nullptr;
  uint16_t space = 0;
  bool is_datagram = false;
  State state = State::kIdle;
  UcmaAddress source, destination;
  bool has_device = false;
  cm::Path path;
  bool owns_port = false;
  bool reuse_address = false, family_only = false;
  uint8_t type_of_service = 0;
  std::optional<uint8_t> ack_timeout;
  uint32_t connection = 0;  // of the connection manager; 0: none
  uint32_t psn = 0;
  uint32_t qpn = 0, qkey = 0;
  bool srq = false;
  uint8_t responder_resources = 0;
  uint32_t backlog = 0;  // free entries of the listen backlog
  uint32_t events_reported = 0;

  void OnCmEvent(uint32_t id, const cm::Event& event) override;
  bool Is(State is) const { return state == is; }
};

// One open file. The destructor closes it and destroys its IDs.
class UcmaFile {
 public:
  ~UcmaFile();
  UcmaFile(const UcmaFile&) = delete;
  UcmaFile& operator=(const UcmaFile&) = delete;

  // Executes a command, with the option's bytes behind it. 0 or -errno; GET_EVENT without an event: -EAGAIN. `response`
  // is overwritten; empty on failure.
  int Write(std::span<const uint8_t> command, std::vector<uint8_t>& response);
  bool HasEvent() const { return !events_.empty(); }
  uint32_t number() const { return number_; }

 private:
  friend class Ucma;
  friend struct UcmaId;
  struct Pending {
    uint32_t id = 0;     // whose events_reported counts it
    uint32_t child = 0;  // of a connect request: the new ID + 1; 0: none
    std::vector<uint8_t> response;
  };
  UcmaFile(Ucma& ucma, uint32_t number, std::function<void()> on_event)
      : ucma_(ucma), number_(number), on_event_(std::move(on_event)) {}

  void Queue(Pending event);
  void DropEvents(uint32_t id);  // and destroys unreported new IDs
  struct Call {                  // a command without its header
    std::span<const uint8_t> in;
    std::span<const uint8_t> option;
    size_t out = 0;
    std::vector<uint8_t>& response;
  };
  using Command = int (UcmaFile::*)(const Call&);
  static const Command kCommands[];

  // The ID if it belongs to this file, else null with *error set.
  UcmaId* Find(uint32_t number, int* error);

  int CreateId(const Call& call);
  int DestroyId(const Call& call);
  int BindIp(const Call& call);
  int Bind(const Call& call);
  int ResolveIp(const Call& call);
  int ResolveAddress(const Call& call);
  int ResolveRoute(const Call& call);
  int QueryRoute(const Call& call);
  int Query(const Call& call);
  int Connect(const Call& call);
  int Listen(const Call& call);
  int Accept(const Call& call);
  int Reject(const Call& call);
  int Disconnect(const Call& call);
  int InitQpAttr(const Call& call);
  int GetEvent(const Call& call);
  int SetOption(const Call& call);
  int Notify(const Call& call);
  int MigrateId(const Call& call);
  int Unsupported(const Call& call);

  Ucma& ucma_;
  const uint32_t number_;
  const std::function<void()> on_event_;
  std::deque<Pending> events_;
};

class Ucma {
 public:
  struct Identity {
    uint64_t node_guid = 0;     // host byte order
    uint32_t device_index = 0;  // as ibv_get_device_index() returns
    struct Gid {
      uint8_t index = 0;
      cm::Gid gid{};
    };
    std::vector<Gid> gids;
    spec::IbMtu active_mtu = spec::IbMtu::kMtu1024;
    uint32_t link_mbps = 0;
    uint64_t seed = 0;  // of first PSNs and ports
  };
  // Reachability of a peer; kSearching: address resolution in progress, query again.
  enum class Reach : uint8_t { kNowhere, kReachable, kSearching };
  using Neighbors = std::function<Reach(const cm::Gid&)>;

  // Installs itself as the manager's acceptor. Must outlive its files; the manager must outlive it.
  Ucma(cm::ConnectionManager& manager, Identity identity, Neighbors neighbors);
  ~Ucma();
  std::unique_ptr<UcmaFile> Open(std::function<void()> on_event);
  // Replaces Identity::gids. IDs that are bound to a removed one stay.
  void SetGids(std::vector<Identity::Gid> gids) { identity_.gids = std::move(gids); }
  size_t ids() const { return ids_.size(); }
  // Retries pending address resolutions. Call it whenever a neighbour may have been found.
  void ResolveWaiting();

 private:
  friend class UcmaFile;
  friend struct UcmaId;

  UcmaId& Create(UcmaFile& file, uint16_t space, bool is_datagram);
  UcmaId* Find(uint32_t number);
  void Destroy(UcmaId& id);
  // 0 or -errno. Port 0: one is chosen.
  int Bind(UcmaId& id, const UcmaAddress& address);
  int CheckPort(const UcmaId& id, const UcmaAddress& address, bool listens) const;
  int Resolve(UcmaId& id, const std::optional<UcmaAddress>& source, const UcmaAddress& destination);
  uint32_t ReachOf(const cm::Gid& gid) const;  // in the encoding of kUcmaReach
  void ConcludeResolve(UcmaId& id, const Identity::Gid& own, Reach reach);
  const Identity::Gid* OwnGid(const UcmaAddress& address) const;
  uint8_t PacketLifeTime(const UcmaId& id) const;
  cm::ConnectionManager::Answer OnIncoming(const cm::Incoming& incoming);
  void Report(UcmaId& id, uint32_t event, int status);
  void Report(UcmaId& id, uint32_t event, int status, const cm::Event& what, uint32_t child = 0);
  void OnCmEvent(UcmaId& id, const cm::Event& event);

  cm::ConnectionManager& manager_;
  Identity identity_;
  const Neighbors neighbors_;
  std::mt19937_64 random_;
  std::map<uint32_t, std::unique_ptr<UcmaId>> ids_;
  std::map<uint32_t, UcmaFile*> files_;
  uint32_t next_id_ = 0, next_file_ = 1;
  struct Resolving {
    uint32_t id = 0;
    Identity::Gid own;
  };
  std::vector<Resolving> resolving_;  // IDs with address resolution in progress
};

}  // namespace vireo::service
