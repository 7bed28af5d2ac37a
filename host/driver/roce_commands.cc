// SPDX-License-Identifier: Apache-2.0
#include "host/driver/roce_commands.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace vireo::host {

using spec::RdmaCtrlCmd;

namespace {

Error NotInProfile(const std::string& what) {
  return {ErrorCode::kUnsupported, what + " requires profile vireo, the device has rfc-v2"};
}

// Adds the command's name to an error of the control queue, which has only numbers.
Error Named(RdmaCtrlCmd command, Error error) {
  if (const char* name = spec::ToString(command); name != nullptr) error.text = std::string(name) + ": " + error.text;
  return error;
}

// A page list as the device reads it. kInvalidArgument: longer than its count can tell.
Result<std::vector<uint8_t>> ListOf(std::span<const uint64_t> pages) {
  if (pages.size() > std::numeric_limits<uint32_t>::max()) {
    return Error{ErrorCode::kInvalidArgument, "a page list of " + std::to_string(pages.size()) + " entries"};
  }
  std::vector<uint8_t> list;
  list.reserve(pages.size() * sizeof(uint64_t));
  for (uint64_t page : pages) {
    for (size_t i = 0; i < sizeof(uint64_t); ++i, page >>= 8) list.push_back(static_cast<uint8_t>(page));
  }
  return list;
}

}  // namespace

template <typename Request, typename Response>
Result<Response> RoceCommands::Send(RdmaCtrlCmd command, const Request& request, std::span<const uint8_t> tail) {
  Result<Response> response = control_->Command<Request, Response>(
      spec::ConstantsOf(control_->profile()).net_ctrl_class_roce, static_cast<uint8_t>(command), request, tail);
  if (!response.ok()) return Named(command, response.error());
  return response;
}

template <typename Request>
Status RoceCommands::SendOnly(RdmaCtrlCmd command, const Request& request) {
  Result<NoPayload> response = Send<Request, NoPayload>(command, request);
  if (!response.ok()) return response.error();
  return {};
}

Result<spec::RdmaAckQueryDevice> RoceCommands::QueryDevice() {
  return Send<NoPayload, spec::RdmaAckQueryDevice>(RdmaCtrlCmd::kQueryDevice, {});
}

Result<spec::RdmaAckQueryPort> RoceCommands::QueryPort() {
  return Send<NoPayload, spec::RdmaAckQueryPort>(RdmaCtrlCmd::kQueryPort, {});
}

Result<uint64_t> RoceCommands::QueryClock() {
  if (!has_additions()) return NotInProfile("query_clock");
  auto ack = Send<NoPayload, spec::RdmaAckQueryClock>(RdmaCtrlCmd::kQueryClock, {});
  if (!ack.ok()) return ack.error();
  return ack->time_ns;
}

Result<uint32_t> RoceCommands::CreateCq(uint32_t cqe) {
  auto ack = Send<spec::RdmaCmdCreateCq, spec::RdmaAckCreateCq>(RdmaCtrlCmd::kCreateCq, {.cqe = cqe});
  if (!ack.ok()) return ack.error();
  return ack->cqn;
}

Result<uint32_t> RoceCommands::CreateExtendedCq(uint32_t cqe, uint32_t elements) {
  if (!has_additions()) return NotInProfile("create_extended_cq");
  auto ack = Send<spec::RdmaCmdCreateExtendedCq, spec::RdmaAckCreateCq>(RdmaCtrlCmd::kCreateExtendedCq,
                                                                        {.cqe = cqe, .elements = elements});
  if (!ack.ok()) return ack.error();
  return ack->cqn;
}

Status RoceCommands::DestroyCq(uint32_t cqn) {
  return SendOnly(RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = cqn});
}

Status RoceCommands::ReqNotifyCq(uint32_t cqn, uint32_t flags) {
  return SendOnly(RdmaCtrlCmd::kReqNotifyCq, spec::RdmaCmdReqNotify{.cqn = cqn, .flags = flags});
}

Result<uint32_t> RoceCommands::CreatePd() {
  auto ack = Send<NoPayload, spec::RdmaAckCreatePd>(RdmaCtrlCmd::kCreatePd, {});
  if (!ack.ok()) return ack.error();
  return ack->pdn;
}

Status RoceCommands::DestroyPd(uint32_t pdn) {
  return SendOnly(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = pdn});
}

Result<spec::RdmaAckGetDmaMr> RoceCommands::GetDmaMr(uint32_t pdn, uint32_t access_flags) {
  return Send<spec::RdmaCmdGetDmaMr, spec::RdmaAckGetDmaMr>(RdmaCtrlCmd::kGetDmaMr,
                                                            {.pdn = pdn, .access_flags = access_flags});
}

Result<spec::RdmaAckRegUserMr> RoceCommands::RegUserMr(spec::RdmaCmdRegUserMr request,
                                                       std::span<const uint64_t> pages) {
  const Result<std::vector<uint8_t>> list = ListOf(pages);
  if (!list.ok()) return list.error();
  if (!has_additions()) {
    if (request.page_shift != 0 && request.page_shift != spec::kRdmaPageShiftDefault) {
      return NotInProfile("page_shift " + std::to_string(request.page_shift));
    }
    request.page_shift = 0;
  }
  request.npages = static_cast<uint32_t>(pages.size());
  return Send<spec::RdmaCmdRegUserMr, spec::RdmaAckRegUserMr>(RdmaCtrlCmd::kRegUserMr, request, *list);
}

Status RoceCommands::DeregMr(uint32_t mrn) { return SendOnly(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mrn}); }

Result<spec::RdmaAckReregMr> RoceCommands::ReregMr(spec::RdmaCmdReregMr request, std::span<const uint64_t> pages) {
  if (!has_additions()) return NotInProfile("a change of a memory region");
  const Result<std::vector<uint8_t>> list = ListOf(pages);
  if (!list.ok()) return list.error();
  request.npages = static_cast<uint32_t>(pages.size());
  return Send<spec::RdmaCmdReregMr, spec::RdmaAckReregMr>(RdmaCtrlCmd::kReregMr, request, *list);
}

Result<spec::RdmaAckAllocMr> RoceCommands::AllocMr(uint32_t pdn, uint32_t max_pages) {
  if (!has_additions()) return NotInProfile("a registration by work requests");
  return Send<spec::RdmaCmdAllocMr, spec::RdmaAckAllocMr>(RdmaCtrlCmd::kAllocMr, {.pdn = pdn, .max_pages = max_pages});
}

Result<spec::RdmaAckQueryMr> RoceCommands::QueryMr(uint32_t mrn) {
  if (!has_additions()) return NotInProfile("a query of a memory region");
  return Send<spec::RdmaCmdQueryMr, spec::RdmaAckQueryMr>(RdmaCtrlCmd::kQueryMr, {.mrn = mrn});
}

Result<spec::RdmaAckAllocMw> RoceCommands::AllocMw(uint32_t pdn, spec::RdmaMwType type) {
  if (!has_additions()) return NotInProfile("a memory window");
  return Send<spec::RdmaCmdAllocMw, spec::RdmaAckAllocMw>(RdmaCtrlCmd::kAllocMw, {.pdn = pdn, .mw_type = type});
}

Status RoceCommands::DeallocMw(uint32_t mwn) {
  if (!has_additions()) return NotInProfile("a memory window");
  return SendOnly(RdmaCtrlCmd::kDeallocMw, spec::RdmaCmdDeallocMw{.mwn = mwn});
}

Result<uint32_t> RoceCommands::CreateSrq(const spec::RdmaCmdCreateSrq& request) {
  if (!has_additions()) return NotInProfile("a shared receive queue");
  auto ack = Send<spec::RdmaCmdCreateSrq, spec::RdmaAckCreateSrq>(RdmaCtrlCmd::kCreateSrq, request);
  if (!ack.ok()) return ack.error();
  return ack->srqn;
}

Status RoceCommands::ModifySrq(const spec::RdmaCmdModifySrq& request) {
  if (!has_additions()) return NotInProfile("a shared receive queue");
  return SendOnly(RdmaCtrlCmd::kModifySrq, request);
}

Result<spec::RdmaAckQuerySrq> RoceCommands::QuerySrq(uint32_t srqn) {
  if (!has_additions()) return NotInProfile("a shared receive queue");
  return Send<spec::RdmaCmdQuerySrq, spec::RdmaAckQuerySrq>(RdmaCtrlCmd::kQuerySrq, {.srqn = srqn});
}

Status RoceCommands::DestroySrq(uint32_t srqn) {
  if (!has_additions()) return NotInProfile("a shared receive queue");
  return SendOnly(RdmaCtrlCmd::kDestroySrq, spec::RdmaCmdDestroySrq{.srqn = srqn});
}

Result<uint32_t> RoceCommands::CreateQp(const spec::RdmaCmdCreateQp& request) {
  if (request.has_srq != 0 && !has_additions()) return NotInProfile("a shared receive queue");
  auto ack = Send<spec::RdmaCmdCreateQp, spec::RdmaAckCreateQp>(RdmaCtrlCmd::kCreateQp, request);
  if (!ack.ok()) return ack.error();
  return ack->qpn;
}

// What the QP had in progress before it was reset may still wait behind work of others, in the end for the wire.
Status RoceCommands::ModifyQp(const spec::RdmaCmdModifyQp& request) {
  constexpr unsigned kMostTries = 1024;
  for (unsigned tries = 1;; ++tries) {
    Status modified = SendOnly(RdmaCtrlCmd::kModifyQp, request);
    if (modified.ok() || modified.error().rdma != spec::RdmaError::kHandleBusy || tries == kMostTries) return modified;
  }
}

Result<spec::RdmaAckQueryQp> RoceCommands::QueryQp(uint32_t qpn, uint32_t attr_mask) {
  return Send<spec::RdmaCmdQueryQp, spec::RdmaAckQueryQp>(RdmaCtrlCmd::kQueryQp, {.qpn = qpn, .attr_mask = attr_mask});
}

Status RoceCommands::DestroyQp(uint32_t qpn) {
  return SendOnly(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
}

Result<uint32_t> RoceCommands::CreateAh(uint32_t pdn, const spec::RdmaAhAttr& attributes) {
  spec::RdmaCmdCreateAh request;
  request.pdn = pdn;
  request.ah_attr = attributes;
  auto ack = Send<spec::RdmaCmdCreateAh, spec::RdmaAckCreateAh>(RdmaCtrlCmd::kCreateAh, request);
  if (!ack.ok()) return ack.error();
  return ack->ah;
}

Status RoceCommands::DestroyAh(uint32_t pdn, uint32_t ah) {
  return SendOnly(RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = pdn, .ah = ah});
}

Status RoceCommands::AddGid(spec::RdmaCmdAddGid request) {
  if (!has_additions()) {
    if (request.flags != 0 || request.vlan != 0) return NotInProfile("a GID with VLAN");
    if (request.gid_type != spec::RdmaGidType::kUnspecified && request.gid_type != spec::RdmaGidType::kRoceV2) {
      return NotInProfile("a GID type");
    }
    request.gid_type = spec::RdmaGidType::kUnspecified;
  }
  return SendOnly(RdmaCtrlCmd::kAddGid, request);
}

Status RoceCommands::DelGid(uint16_t index) {
  return SendOnly(RdmaCtrlCmd::kDelGid, spec::RdmaCmdDelGid{.index = index});
}

Status RoceCommands::AttachMcast(uint32_t qpn, std::span<const uint8_t, 16> mgid) {
  if (!has_additions()) return NotInProfile("attach_mcast");
  spec::RdmaCmdAttachMcast request{.qpn = qpn};
  std::ranges::copy(mgid, request.mgid);
  return SendOnly(RdmaCtrlCmd::kAttachMcast, request);
}

Status RoceCommands::DetachMcast(uint32_t qpn, std::span<const uint8_t, 16> mgid) {
  if (!has_additions()) return NotInProfile("detach_mcast");
  spec::RdmaCmdDetachMcast request{.qpn = qpn};
  std::ranges::copy(mgid, request.mgid);
  return SendOnly(RdmaCtrlCmd::kDetachMcast, request);
}

Status RoceCommands::SetWindow(const spec::RdmaCmdSetWindow& request) {
  if (static_cast<uint8_t>(RdmaCtrlCmd::kSetWindow) > spec::ConstantsOf(control_->profile()).rdma_last_command) {
    return NotInProfile("set_window");
  }
  return SendOnly(RdmaCtrlCmd::kSetWindow, request);
}

}  // namespace vireo::host
