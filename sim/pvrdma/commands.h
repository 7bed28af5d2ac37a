// SPDX-License-Identifier: Apache-2.0
// The commands of the command slot. Each checks its fields, then acts; an error has no effect.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "sim/pvrdma/data_path.h"
#include "sim/pvrdma/gsi.h"
#include "sim/pvrdma/nic.h"
#include "sim/pvrdma/objects.h"

namespace vireo::sim::pvrdma {

class Commands {
 public:
  static constexpr size_t kRequestBytes = sizeof(ModifyQp);          // of the longest command
  static constexpr size_t kResponseBytes = sizeof(QueryQpResponse);  // of the longest response
  static constexpr uint32_t kDoorbellPages = 512;                    // of BAR 2; a power of two [pvrdma_doorbell.c]
  static constexpr uint32_t kGids = 16;                              // most entries of a guest's GID table

  // All outlive it. `quota`: at most the NIC's capacity.
  Commands(Nic& nic, const verbs::Quota& quota, const GuestMemory& memory, Objects& objects, DataPath& data_path,
           GuestGsi& gsi)
      : nic_(nic), quota_(quota), memory_(memory), objects_(objects), data_path_(data_path), gsi_(gsi) {}

  // Page frame number of the first doorbell page.
  void SetFirstPfn(uint64_t pfn) { first_pfn_ = pfn; }
  // What the device offers: limits of the NIC, rounded down to powers of two where the driver rounds up, and the
  // guest's quota.
  DeviceCaps Caps() const;

  // Executes a command and writes its response. Returns 0, or an errno, which is in the response too. May run the
  // simulation.
  int Execute(std::span<const uint8_t, kRequestBytes> request, std::span<uint8_t, kResponseBytes> response);

 private:
  using Run = int (*)(Commands& commands, const uint8_t* request, uint8_t* response);
  template <auto Function>
  static int Call(Commands& commands, const uint8_t* request, uint8_t* response);
  static Run Find(Command command);

  int DoQueryPort(const QueryPort& request, QueryPortResponse& response);
  int DoQueryPkey(const QueryPkey& request, QueryPkeyResponse& response);
  int DoCreateUc(const CreateUc& request, HandleResponse& response);
  int DoDestroyUc(const HandleCommand& request, ResponseHeader& response);
  int DoCreatePd(const HandleCommand& request, HandleResponse& response);
  int DoDestroyPd(const HandleCommand& request, ResponseHeader& response);
  int DoCreateMr(const CreateMr& request, CreateMrResponse& response);
  int CreateDmaMr(const CreateMr& request, Pd& pd, CreateMrResponse& response);
  int DoDestroyMr(const HandleCommand& request, ResponseHeader& response);
  int DoCreateCq(const CreateCq& request, CreateCqResponse& response);
  int DoDestroyCq(const HandleCommand& request, ResponseHeader& response);
  int DoCreateSrq(const CreateSrq& request, HandleResponse& response);
  int DoModifySrq(const ModifySrq& request, ResponseHeader& response);
  int DoQuerySrq(const HandleCommand& request, QuerySrqResponse& response);
  int DoDestroySrq(const HandleCommand& request, ResponseHeader& response);
  int DoCreateQp(const CreateQp& request, CreateQpResponse& response);
  int DoModifyQp(const ModifyQp& request, ResponseHeader& response);
  int DoQueryQp(const QueryQp& request, QueryQpResponse& response);
  int DoDestroyQp(const HandleCommand& request, DestroyQpResponse& response);
  int DoCreateBind(const CreateBind& request, ResponseHeader& response);
  int DoDestroyBind(const DestroyBind& request, ResponseHeader& response);
  // The quota permits one more, with `pages` of memory.
  bool HasRoom(uint32_t verbs::Quota::*kind, uint32_t pages = 0) const;
  // Entries of the guest's GID table.
  uint32_t Gids() const { return std::min(kGids, quota_.gids); }
  // A number of entries that a ring of work requests may have.
  bool IsRingSize(uint32_t work_requests) const;
  void DestroyGsi();
  void DiscardCompletions(const Qp& qp);

  Nic& nic_;
  const verbs::Quota quota_;
  const GuestMemory& memory_;
  Objects& objects_;
  DataPath& data_path_;
  GuestGsi& gsi_;
  uint64_t first_pfn_ = 0;
};

}  // namespace vireo::sim::pvrdma
