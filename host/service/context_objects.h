// SPDX-License-Identifier: Apache-2.0
// Which of the device's objects belong to a context: what its commands may name, and what ends with it. The device
// numbers its objects for all contexts together, and knows nothing of contexts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "host/driver/roce_commands.h"
#include "host/service/context_memory.h"

namespace vireo::service {

class ContextObjects {
 public:
  struct Command {
    spec::RdmaCtrlCmd command{};
    std::span<const uint8_t> request;
    std::span<const uint8_t> tail;
    size_t response_bytes = 0;
  };
  // Ok: the command may go to the device. Of the others: commands that are the service's own (GID table, windows,
  // regions over the whole address space, the GSI queue pair) and sizes that are not the command's are
  // kInvalidArgument or kRefused; an object of somebody else is refused as one that does not exist. `memory` is the
  // context's.
  host::Status Check(const Command& command, const ContextMemory& memory) const;
  // After the device has done it. Refers to `memory` for what it uses.
  void Note(const Command& command, std::span<const uint8_t> response, const ContextMemory& memory);

  bool OwnsCq(uint32_t cqn) const { return cqs_.contains(cqn); }
  bool OwnsQp(uint32_t qpn) const { return qps_.contains(qpn); }

  // Ends everything, users before what they use; `reset` is called for each queue pair and completion queue after its
  // end. True: the device has let go of all memory.
  template <typename ResetQp, typename ResetCq>
  bool EndAll(host::RoceCommands& roce, ResetQp reset_qp, ResetCq reset_cq) {
    bool let_go = true;
    for (const uint32_t qpn : qps_) let_go = roce.DestroyQp(qpn).ok() && reset_qp(qpn) && let_go;
    for (const uint32_t cqn : cqs_) let_go = roce.DestroyCq(cqn).ok() && reset_cq(cqn) && let_go;
    for (const auto& [mrn, uses] : mrs_) let_go = roce.DeregMr(mrn).ok() && let_go;
    for (const auto& [pdn, ah] : ahs_) let_go = roce.DestroyAh(pdn, ah).ok() && let_go;
    for (const uint32_t pdn : pds_) let_go = roce.DestroyPd(pdn).ok() && let_go;
    return let_go;
  }

 private:
  host::Status CheckPages(const spec::RdmaCmdRegUserMr& request, std::span<const uint8_t> tail,
                          const ContextMemory& memory, std::vector<ContextMemory::Use>* uses) const;

  std::set<uint32_t> pds_, cqs_, qps_;
  std::map<uint32_t, std::vector<ContextMemory::Use>> mrs_;
  std::set<std::pair<uint32_t, uint32_t>> ahs_;  // PD and handle
};

}  // namespace vireo::service
