// SPDX-License-Identifier: Apache-2.0
#include "host/service/context_objects.h"

#include <algorithm>
#include <bit>
#include <string>

namespace vireo::service {
namespace {

using host::Error;
using host::ErrorCode;
using host::NoPayload;
using host::Status;
using spec::RdmaCtrlCmd;
using spec::RdmaError;

Error Refuse(RdmaError why, const char* text) { return {ErrorCode::kRefused, text, why}; }

struct Sizes {
  size_t request = 0;
  size_t response = 0;
};
template <typename Request, typename Response>
constexpr Sizes SizesOf() {
  return {Request::kBytes, Response::kBytes};
}

// Sizes of the commands that a context may send.
std::optional<Sizes> SizesOf(RdmaCtrlCmd command) {
  switch (command) {
    case RdmaCtrlCmd::kQueryDevice: return SizesOf<NoPayload, spec::RdmaAckQueryDevice>();
    case RdmaCtrlCmd::kQueryPort: return SizesOf<NoPayload, spec::RdmaAckQueryPort>();
    case RdmaCtrlCmd::kCreateCq: return SizesOf<spec::RdmaCmdCreateCq, spec::RdmaAckCreateCq>();
    case RdmaCtrlCmd::kCreateExtendedCq: return SizesOf<spec::RdmaCmdCreateExtendedCq, spec::RdmaAckCreateCq>();
    case RdmaCtrlCmd::kQueryClock: return SizesOf<NoPayload, spec::RdmaAckQueryClock>();
    case RdmaCtrlCmd::kDestroyCq: return SizesOf<spec::RdmaCmdDestroyCq, NoPayload>();
    case RdmaCtrlCmd::kCreatePd: return SizesOf<NoPayload, spec::RdmaAckCreatePd>();
    case RdmaCtrlCmd::kDestroyPd: return SizesOf<spec::RdmaCmdDestroyPd, NoPayload>();
    case RdmaCtrlCmd::kRegUserMr: return SizesOf<spec::RdmaCmdRegUserMr, spec::RdmaAckRegUserMr>();
    case RdmaCtrlCmd::kReregMr: return SizesOf<spec::RdmaCmdReregMr, spec::RdmaAckReregMr>();
    case RdmaCtrlCmd::kDeregMr: return SizesOf<spec::RdmaCmdDeregMr, NoPayload>();
    case RdmaCtrlCmd::kQueryMr: return SizesOf<spec::RdmaCmdQueryMr, spec::RdmaAckQueryMr>();
    case RdmaCtrlCmd::kAllocMw: return SizesOf<spec::RdmaCmdAllocMw, spec::RdmaAckAllocMw>();
    case RdmaCtrlCmd::kDeallocMw: return SizesOf<spec::RdmaCmdDeallocMw, NoPayload>();
    case RdmaCtrlCmd::kCreateQp: return SizesOf<spec::RdmaCmdCreateQp, spec::RdmaAckCreateQp>();
    case RdmaCtrlCmd::kModifyQp: return SizesOf<spec::RdmaCmdModifyQp, NoPayload>();
    case RdmaCtrlCmd::kQueryQp: return SizesOf<spec::RdmaCmdQueryQp, spec::RdmaAckQueryQp>();
    case RdmaCtrlCmd::kDestroyQp: return SizesOf<spec::RdmaCmdDestroyQp, NoPayload>();
    case RdmaCtrlCmd::kCreateAh: return SizesOf<spec::RdmaCmdCreateAh, spec::RdmaAckCreateAh>();
    case RdmaCtrlCmd::kDestroyAh: return SizesOf<spec::RdmaCmdDestroyAh, NoPayload>();
    case RdmaCtrlCmd::kReqNotifyCq: return SizesOf<spec::RdmaCmdReqNotify, NoPayload>();
    case RdmaCtrlCmd::kCreateSrq: return SizesOf<spec::RdmaCmdCreateSrq, spec::RdmaAckCreateSrq>();
    case RdmaCtrlCmd::kModifySrq: return SizesOf<spec::RdmaCmdModifySrq, NoPayload>();
    case RdmaCtrlCmd::kQuerySrq: return SizesOf<spec::RdmaCmdQuerySrq, spec::RdmaAckQuerySrq>();
    case RdmaCtrlCmd::kDestroySrq: return SizesOf<spec::RdmaCmdDestroySrq, NoPayload>();
    case RdmaCtrlCmd::kAttachMcast: return SizesOf<spec::RdmaCmdAttachMcast, NoPayload>();
    case RdmaCtrlCmd::kDetachMcast: return SizesOf<spec::RdmaCmdDetachMcast, NoPayload>();
    default: return std::nullopt;
  }
}

// The region that a change makes, if it changes its pages.
std::optional<spec::RdmaCmdRegUserMr> NewPagesOf(const spec::RdmaCmdReregMr& change) {
  if ((change.flags & spec::RdmaReregFlags::kTranslation) == 0) return std::nullopt;
  return spec::RdmaCmdRegUserMr{
      .virt_addr = change.virt_addr, .length = change.length, .npages = change.npages, .page_shift = change.page_shift};
}

bool HasTail(const ContextObjects::Command& command) {
  if (command.command == RdmaCtrlCmd::kRegUserMr) return true;
  return command.command == RdmaCtrlCmd::kReregMr &&
         NewPagesOf(spec::RdmaCmdReregMr::Decode(command.request.data())).has_value();
}

uint64_t Little64(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

Status ContextObjects::Join(const ContextObjects& other) {
  if (shared_.use_count() > 1 || !shared_->pds.empty() || !cqs_.empty()) {
    return Error{ErrorCode::kBadState, "a context with objects cannot join another one"};
  }
  shared_ = other.shared_;
  return {};
}

verbs::Quota ContextObjects::Count(std::set<const void*>& counted) const {
  const auto size = [](const auto& objects) { return static_cast<uint32_t>(objects.size()); };
  verbs::Quota count{.ahs = size(ahs_), .cqs = size(cqs_), .qps = size(qps_) + size(srqs_), .srqs = size(srqs_)};
  if (counted.insert(shared_.get()).second) count.pds = size(shared_->pds);
  for (const auto& [mrn, region] : shared_->regions) {
    if (region.owner != this) continue;
    ++count.mrs;
    count.pages += region.pages;
  }
  count.mrs += static_cast<uint32_t>(
      std::ranges::count_if(shared_->windows, [this](const auto& entry) { return entry.second == this; }));
  return count;
}

verbs::Quota ContextObjects::MadeBy(const Command& command) const {
  switch (command.command) {
    case RdmaCtrlCmd::kCreatePd: return {.pds = 1};
    case RdmaCtrlCmd::kRegUserMr:
      return {.mrs = 1, .pages = spec::RdmaCmdRegUserMr::Decode(command.request.data()).npages};
    case RdmaCtrlCmd::kReregMr: {
      const auto change = spec::RdmaCmdReregMr::Decode(command.request.data());
      const uint32_t before = shared_->regions.at(change.mrn).pages;
      const auto pages = NewPagesOf(change);
      return {.pages = pages.has_value() ? pages->npages - std::min(pages->npages, before) : 0};
    }
    case RdmaCtrlCmd::kAllocMw: return {.mrs = 1};
    case RdmaCtrlCmd::kCreateAh: return {.ahs = 1};
    case RdmaCtrlCmd::kCreateCq:
    case RdmaCtrlCmd::kCreateExtendedCq: return {.cqs = 1};
    case RdmaCtrlCmd::kCreateQp: return {.qps = 1};
    case RdmaCtrlCmd::kCreateSrq: return {.qps = 1, .srqs = 1};
    default: return {};
  }
}

Status ContextObjects::FindPd(uint32_t pdn) const {
  if (shared_->pds.contains(pdn)) return {};
  return Refuse(RdmaError::kBadPdn, "not a protection domain of this client");
}

host::Result<ContextObjects::Keys> ContextObjects::FindRegion(uint32_t mrn) const {
  const auto found = shared_->regions.find(mrn);
  if (found == shared_->regions.end()) return Refuse(RdmaError::kBadMrn, "not a memory region of this client");
  return Keys(found->second);
}

void ContextObjects::List(ObjectKind kind, const ObjectBytes& blank, std::map<uint32_t, ObjectBytes>& found) const {
  const auto add = [&](uint32_t number) -> ObjectBytes& {
    ObjectBytes& object = found.try_emplace(number, blank).first->second;
    object.number = number;
    return object;
  };
  const auto use = [&found](uint32_t number) {
    if (const auto used = found.find(number); used != found.end()) ++used->second.users;
  };
  switch (kind) {
    case ObjectKind::kContext:
      if (shared_->file.is_open() || !shared_->pds.empty() || !cqs_.empty()) add(blank.context);
      break;
    case ObjectKind::kPd:
      for (const uint32_t pdn : shared_->pds) add(pdn).pdn = pdn;
      for (const auto& [mrn, region] : shared_->regions) {
        if (region.owner == this) use(region.pdn);
      }
      for (const auto& [pdn, ah] : ahs_) use(pdn);
      for (const auto& [srqn, pdn] : srqs_) use(pdn);
      for (const auto& [qpn, qp] : qps_) use(qp.pdn);
      break;
    case ObjectKind::kMr:
      for (const auto& [mrn, region] : shared_->regions) {
        if (region.owner != this) continue;
        ObjectBytes& object = add(mrn);
        object.pdn = region.pdn;
        object.length = region.length;
      }
      break;
    case ObjectKind::kCq:
      for (const auto& [cqn, cqe] : cqs_) add(cqn).cqe = cqe;
      for (const auto& [qpn, qp] : qps_) {
        use(qp.send_cqn);
        use(qp.recv_cqn);
      }
      break;
    case ObjectKind::kQp:
      for (const auto& [qpn, qp] : qps_) {
        ObjectBytes& object = add(qpn);
        object.pdn = qp.pdn;
        object.srqn = qp.srqn;
        object.qp_type = static_cast<uint8_t>(qp.type);
      }
      break;
    case ObjectKind::kSrq:
      for (const auto& [srqn, pdn] : srqs_) add(srqn).pdn = pdn;
      break;
  }
}

Status ContextObjects::Check(const Command& command, const ContextMemory& memory) const {
  const std::optional<Sizes> sizes = SizesOf(command.command);
  if (!sizes.has_value()) return Refuse(RdmaError::kUnsupportedCommand, "a client may not send this command");
  if (command.request.size() != sizes->request || command.response_bytes != sizes->response ||
      (!command.tail.empty() && !HasTail(command))) {
    return Error{ErrorCode::kInvalidArgument, "a command of a wrong size"};
  }
  const uint8_t* const request = command.request.data();
  const auto need_pd = [&](uint32_t pdn) { return FindPd(pdn); };
  const auto need_cq = [&](uint32_t cqn) -> Status {
    if (cqs_.contains(cqn)) return {};
    return Refuse(RdmaError::kBadCqn, "not a completion queue of this client");
  };
  const auto need_qp = [&](uint32_t qpn) -> Status {
    if (qps_.contains(qpn)) return {};
    return Refuse(RdmaError::kBadQpn, "not a queue pair of this client");
  };
  const auto need_mr = [&](uint32_t mrn) -> Status {
    if (shared_->regions.contains(mrn)) return {};
    return Refuse(RdmaError::kBadMrn, "not a memory region of this client");
  };
  const auto need_srq = [&](uint32_t srqn) -> Status {
    if (srqs_.contains(srqn)) return {};
    return Refuse(RdmaError::kBadSrqn, "not a shared receive queue of this client");
  };
  switch (command.command) {
    case RdmaCtrlCmd::kDestroyCq: return need_cq(spec::RdmaCmdDestroyCq::Decode(request).cqn);
    case RdmaCtrlCmd::kReqNotifyCq: return need_cq(spec::RdmaCmdReqNotify::Decode(request).cqn);
    case RdmaCtrlCmd::kDestroyPd: return need_pd(spec::RdmaCmdDestroyPd::Decode(request).pdn);
    case RdmaCtrlCmd::kRegUserMr: {
      const auto region = spec::RdmaCmdRegUserMr::Decode(request);
      if (Status pd = need_pd(region.pdn); !pd.ok()) return pd;
      return CheckPages(region, command.tail, memory, nullptr);
    }
    case RdmaCtrlCmd::kReregMr: {
      const auto change = spec::RdmaCmdReregMr::Decode(request);
      if ((change.flags & spec::RdmaReregFlags::kPd) != 0) {
        if (Status pd = need_pd(change.pdn); !pd.ok()) return pd;
      }
      if (Status mr = need_mr(change.mrn); !mr.ok()) return mr;
      // The page lists of another context would be lost when this one ends.
      if (shared_->regions.at(change.mrn).owner != this) {
        return Refuse(RdmaError::kBadMrn, "a memory region that another client registered");
      }
      const auto pages = NewPagesOf(change);
      return pages.has_value() ? CheckPages(*pages, command.tail, memory, nullptr) : Status{};
    }
    case RdmaCtrlCmd::kDeregMr: return need_mr(spec::RdmaCmdDeregMr::Decode(request).mrn);
    case RdmaCtrlCmd::kQueryMr: return need_mr(spec::RdmaCmdQueryMr::Decode(request).mrn);
    case RdmaCtrlCmd::kAllocMw: return need_pd(spec::RdmaCmdAllocMw::Decode(request).pdn);
    case RdmaCtrlCmd::kDeallocMw: {
      const auto window = shared_->windows.find(spec::RdmaCmdDeallocMw::Decode(request).mwn);
      if (window != shared_->windows.end() && window->second == this) return {};
      return Refuse(RdmaError::kBadMrn, "not a memory window of this client");
    }
    case RdmaCtrlCmd::kCreateQp: {
      const auto qp = spec::RdmaCmdCreateQp::Decode(request);
      if (qp.qp_type == spec::IbQpType::kGsi) {
        return Refuse(RdmaError::kUnsupportedQpType, "the GSI queue pair is the service's");
      }
      if (Status pd = need_pd(qp.pdn); !pd.ok()) return pd;
      if (Status cq = need_cq(qp.send_cqn); !cq.ok()) return cq;
      if (Status cq = need_cq(qp.recv_cqn); !cq.ok()) return cq;
      return qp.has_srq != 0 ? need_srq(qp.srqn) : Status{};
    }
    case RdmaCtrlCmd::kModifyQp: return need_qp(spec::RdmaCmdModifyQp::Decode(request).qpn);
    case RdmaCtrlCmd::kQueryQp: return need_qp(spec::RdmaCmdQueryQp::Decode(request).qpn);
    case RdmaCtrlCmd::kDestroyQp: return need_qp(spec::RdmaCmdDestroyQp::Decode(request).qpn);
    case RdmaCtrlCmd::kAttachMcast: return need_qp(spec::RdmaCmdAttachMcast::Decode(request).qpn);
    case RdmaCtrlCmd::kDetachMcast: return need_qp(spec::RdmaCmdDetachMcast::Decode(request).qpn);
    case RdmaCtrlCmd::kCreateSrq: return need_pd(spec::RdmaCmdCreateSrq::Decode(request).pdn);
    case RdmaCtrlCmd::kModifySrq: return need_srq(spec::RdmaCmdModifySrq::Decode(request).srqn);
    case RdmaCtrlCmd::kQuerySrq: return need_srq(spec::RdmaCmdQuerySrq::Decode(request).srqn);
    case RdmaCtrlCmd::kDestroySrq: return need_srq(spec::RdmaCmdDestroySrq::Decode(request).srqn);
    case RdmaCtrlCmd::kCreateAh: return need_pd(spec::RdmaCmdCreateAh::Decode(request).pdn);
    case RdmaCtrlCmd::kDestroyAh: {
      const auto handle = spec::RdmaCmdDestroyAh::Decode(request);
      if (Status pd = need_pd(handle.pdn); !pd.ok()) return pd;
      if (ahs_.contains({handle.pdn, handle.ah})) return {};
      return Refuse(RdmaError::kBadAh, "not an address handle of this client");
    }
    default: return {};
  }
}

// Every byte of the region must lie in the context's mapped memory. All other checks are the device's.
Status ContextObjects::CheckPages(const spec::RdmaCmdRegUserMr& request, std::span<const uint8_t> tail,
                                  const ContextMemory& memory, std::vector<ContextMemory::Use>* uses) const {
  const unsigned shift = request.page_shift == 0 ? unsigned{spec::kRdmaPageShiftDefault} : request.page_shift;
  if (shift < spec::kRdmaPageShiftDefault || shift > 63) {
    return Refuse(RdmaError::kInvalidPageSize, "invalid page size");
  }
  if (tail.size() != size_t{request.npages} * sizeof(uint64_t)) {
    return Error{ErrorCode::kInvalidArgument, "a page list of a wrong size"};
  }
  const uint64_t page_bytes = uint64_t{1} << shift;
  uint64_t offset = request.virt_addr & (page_bytes - 1);
  uint64_t left = request.length;
  for (; !tail.empty(); tail = tail.subspan(sizeof(uint64_t))) {
    const uint64_t page = Little64(tail);
    const uint64_t bytes = std::min(page_bytes - offset, left);
    if (bytes == 0) return Refuse(RdmaError::kPageCountMismatch, "more pages than the region has");
    ContextMemory::Use use = page > ~offset ? nullptr : memory.Find(page + offset, bytes);
    if (use == nullptr) return Refuse(RdmaError::kInvalidAddress, "a page that this client has not mapped");
    if (uses != nullptr && (uses->empty() || uses->back() != use)) uses->push_back(std::move(use));
    left -= bytes;
    offset = 0;
  }
  if (left != 0) return Refuse(RdmaError::kPageCountMismatch, "fewer pages than the region has");
  return {};
}

void ContextObjects::Note(const Command& command, std::span<const uint8_t> response, const ContextMemory& memory) {
  const uint8_t* const request = command.request.data();
  switch (command.command) {
    case RdmaCtrlCmd::kCreateCq:
    case RdmaCtrlCmd::kCreateExtendedCq:
      // Both requests begin with the number of entries.
      cqs_[spec::RdmaAckCreateCq::Decode(response.data()).cqn] = spec::RdmaCmdCreateCq::Decode(request).cqe;
      break;
    case RdmaCtrlCmd::kDestroyCq: cqs_.erase(spec::RdmaCmdDestroyCq::Decode(request).cqn); break;
    case RdmaCtrlCmd::kCreatePd: shared_->pds.insert(spec::RdmaAckCreatePd::Decode(response.data()).pdn); break;
    case RdmaCtrlCmd::kDestroyPd: shared_->pds.erase(spec::RdmaCmdDestroyPd::Decode(request).pdn); break;
    case RdmaCtrlCmd::kRegUserMr: {
      const auto asked = spec::RdmaCmdRegUserMr::Decode(request);
      const auto keys = spec::RdmaAckRegUserMr::Decode(response.data());
      Region region{{keys.lkey, keys.rkey, asked.virt_addr, asked.length}, asked.pdn, asked.npages, this, {}};
      static_cast<void>(CheckPages(asked, command.tail, memory, &region.uses));
      shared_->regions[keys.mrn] = std::move(region);
      break;
    }
    case RdmaCtrlCmd::kReregMr: {
      const auto change = spec::RdmaCmdReregMr::Decode(request);
      const auto keys = spec::RdmaAckReregMr::Decode(response.data());
      Region& region = shared_->regions.at(change.mrn);
      region.lkey = keys.lkey;
      region.rkey = keys.rkey;
      if ((change.flags & spec::RdmaReregFlags::kPd) != 0) region.pdn = change.pdn;
      const auto pages = NewPagesOf(change);
      if (!pages.has_value()) break;
      region.address = pages->virt_addr;
      region.length = pages->length;
      region.pages = pages->npages;
      std::vector<ContextMemory::Use> uses;
      static_cast<void>(CheckPages(*pages, command.tail, memory, &uses));
      region.uses = std::move(uses);  // the old ones are free: the device has answered
      break;
    }
    case RdmaCtrlCmd::kDeregMr: shared_->regions.erase(spec::RdmaCmdDeregMr::Decode(request).mrn); break;
    case RdmaCtrlCmd::kAllocMw: shared_->windows[spec::RdmaAckAllocMw::Decode(response.data()).mwn] = this; break;
    case RdmaCtrlCmd::kDeallocMw: shared_->windows.erase(spec::RdmaCmdDeallocMw::Decode(request).mwn); break;
    case RdmaCtrlCmd::kCreateQp: {
      const auto asked = spec::RdmaCmdCreateQp::Decode(request);
      qps_[spec::RdmaAckCreateQp::Decode(response.data()).qpn] = {.type = asked.qp_type,
                                                                  .pdn = asked.pdn,
                                                                  .send_cqn = asked.send_cqn,
                                                                  .recv_cqn = asked.recv_cqn,
                                                                  .srqn = asked.has_srq != 0 ? asked.srqn : 0};
      break;
    }
    case RdmaCtrlCmd::kDestroyQp: qps_.erase(spec::RdmaCmdDestroyQp::Decode(request).qpn); break;
    case RdmaCtrlCmd::kAttachMcast: {
      const auto attach = spec::RdmaCmdAttachMcast::Decode(request);
      attachments_.emplace(attach.qpn, std::to_array(attach.mgid));
      break;
    }
    case RdmaCtrlCmd::kDetachMcast: {
      const auto detach = spec::RdmaCmdDetachMcast::Decode(request);
      attachments_.erase({detach.qpn, std::to_array(detach.mgid)});
      break;
    }
    case RdmaCtrlCmd::kCreateSrq:
      srqs_[spec::RdmaAckCreateSrq::Decode(response.data()).srqn] = spec::RdmaCmdCreateSrq::Decode(request).pdn;
      break;
    case RdmaCtrlCmd::kDestroySrq: srqs_.erase(spec::RdmaCmdDestroySrq::Decode(request).srqn); break;
    case RdmaCtrlCmd::kCreateAh:
      ahs_.emplace(spec::RdmaCmdCreateAh::Decode(request).pdn, spec::RdmaAckCreateAh::Decode(response.data()).ah);
      break;
    case RdmaCtrlCmd::kDestroyAh: {
      const auto handle = spec::RdmaCmdDestroyAh::Decode(request);
      ahs_.erase({handle.pdn, handle.ah});
      break;
    }
    default: break;
  }
}

}  // namespace vireo::service
