// SPDX-License-Identifier: Apache-2.0
// A NIC that guests share: the verbs device that backs their PVRDMA functions, and its GID table, in which every guest
// has entries of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "host/service/cm/gsi.h"
#include "host/verbs/device.h"
#include "host/verbs/quota.h"

namespace vireo::sim::pvrdma {

using Gid = std::array<uint8_t, 16>;
using Mac = std::array<uint8_t, 6>;

// The GIDs that guests have bound, on all NICs of a simulation. A guest knows the MAC address of its peer's Ethernet
// function, which is not the one of the NIC that carries the peer's RDMA traffic: this finds the latter.
class GidDirectory {
 public:
  // Nothing: no guest has bound it.
  std::optional<Mac> Find(const Gid& gid) const;
  // Changes with every GID that is added or removed.
  uint64_t version() const { return version_; }

 private:
  friend class Nic;
  std::map<Gid, Mac> macs_;
  uint64_t version_ = 0;
};

class Nic;

// A vector of the NIC, for one completion queue.
class NicVector {
 public:
  ~NicVector();
  NicVector(const NicVector&) = delete;
  NicVector& operator=(const NicVector&) = delete;
  uint16_t number() const { return number_; }
  // An interrupt since the last call that returned true.
  bool TakeInterrupt() const;

 private:
  friend class Nic;
  NicVector(Nic& nic, uint16_t number) : nic_(nic), number_(number) {}
  Nic& nic_;
  const uint16_t number_;
};

class Nic {
 public:
  struct OwnGid {
    uint16_t index = 0;
    Gid gid{};
  };
  struct Options {
    Mac mac{};
    std::vector<OwnGid> own_gids{};  // entries of the table that are not for guests
    // The MAC addresses of GIDs that no guest has bound; may be empty.
    std::function<std::optional<Mac>(const Gid&)> neighbors{};
    // Passes on all events that the NIC has reported (Device::OnEvent), before their objects' numbers are used again;
    // may be empty.
    std::function<void()> drain_events{};
    // Called when guests have bound or unbound a GID, with all that they have; may be empty.
    std::function<void(std::vector<Gid>)> on_gids{};
    spec::IbMtu active_mtu = spec::IbMtu::kMtu1024;
    uint32_t link_mbps = 0;
    uint64_t node_guid = 0;
    uint16_t first_vector = 0, vectors = 0;  // of the NIC, that nobody else uses
    // The NIC's queue pair 1, which guests share; outlives this. Null: guests have none.
    service::cm::Gsi* gsi = nullptr;
  };

  // Both outlive it.
  Nic(verbs::Device& device, GidDirectory& directory, Options options);
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  verbs::Device& device() { return device_; }
  const Options& options() const { return options_; }
  // What guests and programs together can have.
  const verbs::Quota& capacity() const { return capacity_; }
  bool has_atomics() const { return device_.attributes().atomic_cap != spec::RdmaAtomicCap::kNone; }
  const GidDirectory& directory() const { return directory_; }
  // Null: all are in use, or the NIC's completion queues cannot be armed but by a command (profile rfc-v2).
  std::unique_ptr<NicVector> TakeVector();

  // Adds a GID; returns its index in the NIC's table. kRefused with gid_duplicate: it is in use on some NIC. kNoMemory:
  // the table is full. `receiver` gets the datagrams to queue pair 1 at this GID.
  host::Result<uint16_t> Bind(const Gid& gid, std::optional<uint16_t> vlan, service::cm::Gsi::Receiver receiver = {});
  void Unbind(uint16_t index);
  // Nothing: no guest has bound it.
  std::optional<Gid> GidAt(uint16_t index) const;
  // The MAC address for frames to a GID; `known`: what the guest says.
  Mac MacFor(const Gid& gid, const Mac& known) const;

 private:
  friend class NicVector;
  void Publish() const;

  verbs::Device& device_;
  GidDirectory& directory_;
  const Options options_;
  const verbs::Quota capacity_;
  uint32_t gids_ = 0;
  std::map<uint16_t, Gid> bound_;  // by index
  std::set<uint16_t> free_vectors_;
};

}  // namespace vireo::sim::pvrdma
