// SPDX-License-Identifier: Apache-2.0
// The device objects that belong to a context: its commands may reference only these, and they are destroyed with it.
// Object numbers are shared by all contexts; the device does not know contexts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/roce_commands.h"
#include "host/service/context_memory.h"
#include "host/service/protocol.h"
#include "host/verbs/quota.h"

namespace vireo::service {

class ContextObjects {
 public:
  struct Command {
    spec::RdmaCtrlCmd command{};
    std::span<const uint8_t> request;
    std::span<const uint8_t> tail;
    size_t response_bytes = 0;
  };
  // Ok: the command may go to the device. kInvalidArgument or kRefused: wrong sizes, and commands reserved for the
  // service (GID table, windows, regions over the whole address space, the GSI queue pair). An object of another
  // context that this one does not share with is refused like one that does not exist. `memory` is the context's.
  host::Status Check(const Command& command, const ContextMemory& memory) const;
  // Records a completed command. Takes references to the mappings of `memory` that it uses.
  void Note(const Command& command, std::span<const uint8_t> response, const ContextMemory& memory);

  // Protection domains and regions of both may be named by both from now on. A region is destroyed with the context
  // that registered it, and then so are the memory windows of both; a protection domain with the last one. kBadState:
  // this context has objects.
  host::Status Join(const ContextObjects& other);
  // The descriptor that stands for this context and those that it shares with; not open before one is set.
  host::FileDescriptor& file() const { return shared_->file; }
  struct Keys {
    uint32_t lkey = 0, rkey = 0;
    uint64_t address = 0, length = 0;
  };
  // kRefused: not of this context, or of one that it shares with.
  host::Status FindPd(uint32_t pdn) const;
  host::Result<Keys> FindRegion(uint32_t mrn) const;

  // How many it has. Protection domains: of all that it shares with, unless they are in `counted`, where they are
  // added; regions: its own, with its memory windows.
  verbs::Quota Count(std::set<const void*>& counted) const;
  // What a command makes, if it succeeds.
  verbs::Quota MadeBy(const Command& command) const;
  struct QueuePair {
    spec::IbQpType type{};
    uint32_t pdn = 0, send_cqn = 0, recv_cqn = 0, srqn = 0;
  };
  const std::map<uint32_t, QueuePair>& qps() const { return qps_; }
  // Adds its objects of a kind to `found`, by number, as `blank` with what is known here. Protection domains of
  // contexts that share them are there once, as the first one's, with the users of all.
  void List(ObjectKind kind, const ObjectBytes& blank, std::map<uint32_t, ObjectBytes>& found) const;

  bool OwnsCq(uint32_t cqn) const { return cqs_.contains(cqn); }
  // A QP, or a shared receive queue, which has a number of the same kind.
  bool OwnsQp(uint32_t qpn) const { return qps_.contains(qpn) || srqs_.contains(qpn); }

  // Destroys all objects in dependency order; reset_qp is called after each QP and shared receive queue was
  // destroyed, reset_cq after each CQ.
  // True: the device has released all memory.
  template <typename ResetQp, typename ResetCq>
  bool EndAll(host::RoceCommands& roce, ResetQp reset_qp, ResetCq reset_cq) {
    bool released = true;
    for (const auto& [qpn, mgid] : attachments_) released = roce.DetachMcast(qpn, mgid).ok() && released;
    for (const auto& [qpn, qp] : qps_) released = roce.DestroyQp(qpn).ok() && reset_qp(qpn) && released;
    for (const auto& [srqn, pdn] : srqs_) released = roce.DestroySrq(srqn).ok() && reset_qp(srqn) && released;
    for (const auto& [cqn, cqe] : cqs_) released = roce.DestroyCq(cqn).ok() && reset_cq(cqn) && released;
    const auto end_windows = [&](bool all) {
      std::erase_if(shared_->windows, [&](const auto& entry) {
        if (!all && entry.second != this) return false;
        released = roce.DeallocMw(entry.first).ok() && released;
        return true;
      });
    };
    end_windows(false);
    std::erase_if(shared_->regions, [&](const auto& entry) {
      if (entry.second.owner != this) return false;
      host::Status freed = roce.DeregMr(entry.first);
      if (!freed.ok() && !shared_->windows.empty()) {
        // A window of a context that this one shares with is bound to it.
        end_windows(true);
        freed = roce.DeregMr(entry.first);
      }
      released = freed.ok() && released;
      return true;
    });
    for (const auto& [pdn, ah] : ahs_) released = roce.DestroyAh(pdn, ah).ok() && released;
    if (shared_.use_count() > 1) return released;
    for (const uint32_t pdn : shared_->pds) released = roce.DestroyPd(pdn).ok() && released;
    return released;
  }

 private:
  struct Region : Keys {
    uint32_t pdn = 0;
    uint32_t pages = 0;
    const ContextObjects* owner = nullptr;
    std::vector<ContextMemory::Use> uses;
  };
  // Of all contexts that joined.
  struct Shared {
    host::FileDescriptor file;  // that stands for them, once it is asked for
    std::set<uint32_t> pds;
    std::map<uint32_t, Region> regions;
    std::map<uint32_t, const ContextObjects*> windows;  // memory windows, and who allocated them
  };
  host::Status CheckPages(const spec::RdmaCmdRegUserMr& request, std::span<const uint8_t> tail,
                          const ContextMemory& memory, std::vector<ContextMemory::Use>* uses) const;

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::map<uint32_t, uint32_t> cqs_;   // number of entries, as asked for
  std::map<uint32_t, uint32_t> srqs_;  // protection domain
  std::map<uint32_t, QueuePair> qps_;
  std::set<std::pair<uint32_t, uint32_t>> ahs_;                         // PD and handle
  std::set<std::pair<uint32_t, std::array<uint8_t, 16>>> attachments_;  // QP and GID of the multicast group
};

}  // namespace vireo::service
