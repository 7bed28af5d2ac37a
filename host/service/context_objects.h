// SPDX-License-Identifier: Apache-2.0
// The device objects that belong to a context: its commands may reference only these, and they are destroyed with it.
// Object numbers are shared by all contexts; the device does not know contexts.
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
  // Ok: the command may go to the device. kInvalidArgument or kRefused: wrong sizes, and commands reserved for the
  // service (GID table, windows, regions over the whole address space, the GSI queue pair). An object of another
  // context is refused like one that does not exist. `memory` is the context's.
  host::Status Check(const Command& command, const ContextMemory& memory) const;
  // Records a completed command. Takes references to the mappings of `memory` that it uses.
  void Note(const Command& command, std::span<const uint8_t> response, const ContextMemory& memory);

  bool OwnsCq(uint32_t cqn) const { return cqs_.contains(cqn); }
  // A QP, or a shared receive queue, which has a number of the same kind.
  bool OwnsQp(uint32_t qpn) const { return qps_.contains(qpn) || srqs_.contains(qpn); }

  // Destroys all objects in dependency order; reset_qp is called after each QP and shared receive queue was
  // destroyed, reset_cq after each CQ.
  // True: the device has released all memory.
  template <typename ResetQp, typename ResetCq>
  bool EndAll(host::RoceCommands& roce, ResetQp reset_qp, ResetCq reset_cq) {
    bool released = true;
    for (const uint32_t qpn : qps_) released = roce.DestroyQp(qpn).ok() && reset_qp(qpn) && released;
    for (const uint32_t srqn : srqs_) released = roce.DestroySrq(srqn).ok() && reset_qp(srqn) && released;
    for (const uint32_t cqn : cqs_) released = roce.DestroyCq(cqn).ok() && reset_cq(cqn) && released;
    for (const auto& [mrn, uses] : mrs_) released = roce.DeregMr(mrn).ok() && released;
    for (const auto& [pdn, ah] : ahs_) released = roce.DestroyAh(pdn, ah).ok() && released;
    for (const uint32_t pdn : pds_) released = roce.DestroyPd(pdn).ok() && released;
    return released;
  }

 private:
  host::Status CheckPages(const spec::RdmaCmdRegUserMr& request, std::span<const uint8_t> tail,
                          const ContextMemory& memory, std::vector<ContextMemory::Use>* uses) const;

  std::set<uint32_t> pds_, cqs_, qps_, srqs_;
  std::map<uint32_t, std::vector<ContextMemory::Use>> mrs_;
  std::set<std::pair<uint32_t, uint32_t>> ahs_;  // PD and handle
};

}  // namespace vireo::service
