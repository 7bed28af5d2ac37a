// SPDX-License-Identifier: Apache-2.0
#include "verif/firmware/reference.h"

#include <algorithm>

namespace vireo::verif {

using spec::IbQpState;
using spec::IbQpType;
using spec::RdmaCtrlCmd;
using spec::RdmaError;
using Mask = spec::IbQpAttrMask;
__extension__ typedef unsigned __int128 Wide;  // detects overflow of 64 bits

const QpRule* QpRuleOf(IbQpType type, IbQpState from, IbQpState to) {
  struct Row {
    std::string change;
    QpRule rule;
  };
  static const std::vector<Row> rows = {
      {"rc reset-init", {Mask::kAccessFlags, 0}},
      {"uc reset-init", {Mask::kAccessFlags, 0}},
      {"ud reset-init", {Mask::kQkey, 0}},
      {"rc init-init", {0, Mask::kAccessFlags}},
      {"uc init-init", {0, Mask::kAccessFlags}},
      {"ud init-init", {0, Mask::kQkey}},
      {"rc init-rtr",
       {Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn | Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer,
        Mask::kAccessFlags}},
      {"uc init-rtr", {Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn, Mask::kAccessFlags}},
      {"ud init-rtr", {0, Mask::kQkey}},
      {"rc rtr-rts",
       {Mask::kSqPsn | Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic,
        Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kRateLimit}},
      {"uc rtr-rts", {Mask::kSqPsn, Mask::kAccessFlags | Mask::kRateLimit}},
      {"ud rtr-rts", {Mask::kSqPsn, Mask::kQkey | Mask::kRateLimit}},
      {"rc rts-rts", {0, Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kRateLimit}},
      {"uc rts-rts", {0, Mask::kAccessFlags | Mask::kRateLimit}},
      {"ud rts-rts", {0, Mask::kQkey | Mask::kRateLimit}},
      {"rc rts-sqd", {0, 0}},
      {"uc rts-sqd", {0, 0}},
      {"ud rts-sqd", {0, 0}},
      {"rc sqd-rts", {0, Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kRateLimit}},
      {"uc sqd-rts", {0, Mask::kAccessFlags | Mask::kRateLimit}},
      {"ud sqd-rts", {0, Mask::kQkey | Mask::kRateLimit}},
      {"rc sqd-sqd",
       {0, Mask::kAv | Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry |
               Mask::kMaxQpRdAtomic | Mask::kMaxDestRdAtomic}},
      {"uc sqd-sqd", {0, Mask::kAv | Mask::kAccessFlags}},
      {"ud sqd-sqd", {0, Mask::kQkey}},
      {"rc sqe-rts", {0, Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kRateLimit}},
      {"uc sqe-rts", {0, Mask::kAccessFlags | Mask::kRateLimit}},
      {"ud sqe-rts", {0, Mask::kQkey | Mask::kRateLimit}},
  };
  static const QpRule nothing_more{};
  if (to == IbQpState::kReset || to == IbQpState::kErr) return &nothing_more;
  const char* target = spec::ToString(to);
  if (target == nullptr) return nullptr;
  const std::string service = type == IbQpType::kRc ? "rc" : type == IbQpType::kUc ? "uc" : "ud";
  const std::string change = service + " " + spec::ToString(from) + "-" + target;
  for (const auto& row : rows) {
    if (row.change == change) return &row.rule;
  }
  return nullptr;
}

namespace {

template <typename T>
T Decode(const std::vector<uint8_t>& bytes) {
  return bytes.size() >= T::kBytes ? T::Decode(bytes.data()) : T{};
}

bool IsV4(const uint8_t* gid) {
  static constexpr uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(prefix, prefix + 12, gid);
}
bool IsNull(const uint8_t* gid) {
  return std::all_of(gid + (IsV4(gid) ? 12 : 0), gid + 16, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Reference::Reference(const spec::Config& config, spec::Profile profile, uint32_t mtu)
    : config_(config), is_vireo_(profile == spec::Profile::kVireo), mtu_(mtu), pages_(config.num_translations) {}

uint32_t Reference::QueueCount() const { return ReceiveQueue(config_.num_qps - 1) + 1 + (is_vireo_ ? 1 : 0); }

bool Reference::IsReady(uint32_t queue) const {
  const auto found = queues.find(queue);
  return found != queues.end() && found->second.enabled && !found->second.stopped;
}

uint32_t Reference::FindPages(uint32_t count) const {
  uint32_t run = 0;
  for (uint32_t i = 0; i < pages_.size(); ++i) {
    run = pages_[i] ? 0 : run + 1;
    if (run == count) return i + 1 - count;
  }
  return ~0u;
}

void Reference::CheckPath(const spec::RdmaAhAttr& path, Codes& codes) const {
  const auto gid = gids.find(path.grh.sgid_index);
  if (gid == gids.end()) codes.insert(RdmaError::kBadGidIndex);
  if (path.grh.flow_label >> 20 != 0) codes.insert(RdmaError::kInvalidAttribute);
  if (IsNull(path.grh.dgid)) codes.insert(RdmaError::kInvalidAddress);
  if (gid != gids.end() && IsV4(gid->second.bytes.data()) != IsV4(path.grh.dgid))
    codes.insert(RdmaError::kInvalidAddress);
}

void Reference::CheckRegion(const spec::RdmaCmdRegUserMr& request, const uint8_t* pages, Codes& codes) const {
  const unsigned shift = is_vireo_ && request.page_shift != 0 ? request.page_shift : 12u;
  const unsigned largest_shift = is_vireo_ ? 30u : 12u;
  const auto end = static_cast<Wide>(request.virt_addr) + request.length;
  if (request.length == 0 || request.length > uint64_t{config_.num_translations} << largest_shift ||
      end > static_cast<Wide>(1) << 64) {
    codes.insert(RdmaError::kInvalidLength);
  }
  if (shift < 12 || shift > largest_shift) codes.insert(RdmaError::kInvalidPageSize);
  if (request.npages > config_.num_translations) codes.insert(RdmaError::kPageListTooLong);
  if (!codes.empty() && *codes.begin() < RdmaError::kNoFreeMr) return;  // later checks have higher codes
  const auto first_page = request.virt_addr >> shift;
  const auto end_page = (end + (uint64_t{1} << shift) - 1) >> shift;
  if (end_page - first_page != request.npages) {
    codes.insert(RdmaError::kPageCountMismatch);
    return;
  }
  for (uint32_t i = 0; i < request.npages; ++i) {
    if (spec::TableTranslation::Decode(pages + size_t{8} * i).address % (uint64_t{1} << shift) != 0) {
      codes.insert(RdmaError::kUnalignedPage);
    }
  }
  if (FindPages(request.npages) == ~0u) codes.insert(RdmaError::kNoFreePages);
}

void Reference::CheckChange(const spec::RdmaCmdReregMr& request, const uint8_t* pages, Codes& codes) const {
  if ((request.flags & 2) != 0 && !pds.contains(request.pdn)) codes.insert(RdmaError::kBadPdn);
  if (!mrs.contains(request.mrn)) codes.insert(RdmaError::kBadMrn);
  if (IsBound(request.mrn)) codes.insert(RdmaError::kHandleBusy);
  if (request.flags < 1 || request.flags > 7) codes.insert(RdmaError::kInvalidParameter);
  if ((request.flags & 4) != 0) CheckAccess(request.access_flags, codes);
  if ((request.flags & 1) != 0 && request.is_pmem > 1) codes.insert(RdmaError::kInvalidParameter);
  if (mrs.contains(request.mrn) && mrs.at(request.mrn).is_fast) codes.insert(RdmaError::kInvalidParameter);
  if (const auto found = mrs.find(request.mrn); found != mrs.end()) {
    const bool moves = (request.flags & 1) != 0;
    CheckFlush(!moves && found->second.is_dma, moves ? request.is_pmem != 0 : found->second.is_pmem,
               (request.flags & 4) != 0 ? request.access_flags : found->second.flushes, codes);
    const bool may_bind = (request.flags & 4) != 0 ? (request.access_flags & 16) != 0 : found->second.may_bind;
    if (may_bind && (found->second.invalidatable || (!moves && found->second.is_dma))) {
      codes.insert(RdmaError::kBadAccessFlags);
    }
  }
  if ((request.flags & 1) == 0) return;
  CheckRegion({.virt_addr = request.virt_addr,
               .length = request.length,
               .npages = request.npages,
               .page_shift = request.page_shift},
              pages, codes);
}

void Reference::CheckAccess(uint32_t flags, Codes& codes) const {
  // Only a region may have windows.
  if ((flags & ~(Rights() | (is_vireo_ ? 16 : 0))) != 0 || ((flags & 10) != 0 && (flags & 1) == 0))
    codes.insert(RdmaError::kBadAccessFlags);
}

// No FLUSH of a DMA MR; for persistence only of persistent memory.
void Reference::CheckFlush(bool is_dma, bool is_pmem, uint32_t flags, Codes& codes) {
  if (is_dma ? (flags & 0x300) != 0 : !is_pmem && (flags & 0x200) != 0) codes.insert(RdmaError::kBadAccessFlags);
}

bool Reference::IsBound(uint32_t mrn) const {
  return std::ranges::any_of(mws, [&](const auto& entry) { return entry.second.bound_to == mrn; });
}

void Reference::CheckModify(const spec::RdmaCmdModifyQp& request, Codes& codes) const {
  const auto found = qps.find(request.qpn);
  if (found == qps.end()) {
    codes.insert(RdmaError::kBadQpn);
    return;
  }
  const auto& qp = found->second;
  const auto has = [&](uint32_t attribute) { return (request.attr_mask & attribute) != 0; };
  const IbQpState to = has(Mask::kState) ? request.qp_state : qp.state;
  if (has(Mask::kAv)) CheckPath(request.ah_attr, codes);
  if (has(Mask::kAccessFlags) && (request.qp_access_flags & ~Rights()) != 0) codes.insert(RdmaError::kBadAccessFlags);
  if (has(Mask::kCurState) && request.cur_qp_state != qp.state) codes.insert(RdmaError::kCurStateMismatch);
  const QpRule* rule = QpRuleOf(qp.type, qp.state, to);
  const bool is_draining = qp.state == IbQpState::kSqd && qp.has_send_outstanding;
  if (rule == nullptr || (is_draining && to != IbQpState::kReset && to != IbQpState::kErr)) {
    codes.insert(RdmaError::kInvalidStateTransition);
  }
  if (rule != nullptr) {
    const uint32_t named = request.attr_mask & ~(Mask::kState | Mask::kCurState);
    if ((named & rule->required) != rule->required) codes.insert(RdmaError::kMissingAttribute);
    if ((named & ~(rule->required | rule->allowed)) != 0) codes.insert(RdmaError::kAttributeNotAllowed);
  }
  const uint32_t payload = mtu_ > 92 ? mtu_ - 92 : 0;  // 40 + 8 + 12 + 28 + 4
  const unsigned mtu = static_cast<unsigned>(request.path_mtu);
  if ((has(Mask::kPathMtu) && (mtu < 1 || mtu > 5 || (128u << mtu) > payload)) ||
      (has(Mask::kMaxQpRdAtomic) && request.max_rd_atomic > config_.max_rd_atomic) ||
      (has(Mask::kMaxDestRdAtomic) && request.max_dest_rd_atomic > config_.max_rd_atomic) ||
      (has(Mask::kMinRnrTimer) && request.min_rnr_timer > 31) || (has(Mask::kTimeout) && request.timeout > 31) ||
      (has(Mask::kRetryCnt) && request.retry_cnt > 7) || (has(Mask::kRnrRetry) && request.rnr_retry > 7) ||
      (has(Mask::kRqPsn) && request.rq_psn > 0xffffff) || (has(Mask::kSqPsn) && request.sq_psn > 0xffffff) ||
      (has(Mask::kDestQpn) && request.dest_qp_num > 0xffffff) || (has(Mask::kRateLimit) && request.rate_limit != 0)) {
    codes.insert(RdmaError::kInvalidAttribute);
  }
  if (qp.state == IbQpState::kInit && to == IbQpState::kRtr) {
    const bool send = IsReady(SendQueue(request.qpn)) && IsReady(CqQueue(qp.send_cqn)) && !cqs.at(qp.send_cqn);
    const bool receive =
        IsReady(ReceiveQueue(qp.srq.value_or(request.qpn))) && IsReady(CqQueue(qp.recv_cqn)) && !cqs.at(qp.recv_cqn);
    const bool receives = qp.max_recv_wr != 0 || qp.srq.has_value();
    if ((qp.max_send_wr != 0 && !send) || (receives && !receive)) codes.insert(RdmaError::kQueueNotReady);
  }
}

RdmaError Reference::Expect(RdmaCtrlCmd command, const std::vector<uint8_t>& bytes, uint32_t writable) const {
  Codes codes;
  const unsigned number = static_cast<unsigned>(command);
  if (number > (is_vireo_ ? 31u : 17u)) return RdmaError::kUnsupportedCommand;
  const auto& info = spec::kNetCtrlRoceCommands[number];
  if (bytes.size() < info.request_bytes) return RdmaError::kRequestTooShort;
  if (command == RdmaCtrlCmd::kRegUserMr &&
      (bytes.size() - info.request_bytes) / 8 < Decode<spec::RdmaCmdRegUserMr>(bytes).npages) {
    return RdmaError::kRequestTooShort;
  }
  if (command == RdmaCtrlCmd::kReregMr) {
    const auto r = Decode<spec::RdmaCmdReregMr>(bytes);
    if ((r.flags & 1) != 0 && (bytes.size() - info.request_bytes) / 8 < r.npages) return RdmaError::kRequestTooShort;
  }
  if (writable < 1u + info.response_bytes) codes.insert(RdmaError::kResponseTooShort);
  const auto no_pd = [&](uint32_t pdn) {
    if (!pds.contains(pdn)) codes.insert(RdmaError::kBadPdn);
  };
  const auto no_cq = [&](uint32_t cqn) {
    if (!cqs.contains(cqn)) codes.insert(RdmaError::kBadCqn);
  };
  switch (command) {
    case RdmaCtrlCmd::kQueryDevice:
    case RdmaCtrlCmd::kQueryPort:
    case RdmaCtrlCmd::kQueryClock: break;
    case RdmaCtrlCmd::kCreateExtendedCq: {
      const auto r = Decode<spec::RdmaCmdCreateExtendedCq>(bytes);
      if (r.elements == 0) codes.insert(RdmaError::kInvalidParameter);
      if ((r.elements & ~config_.cqe_elements) != 0) codes.insert(RdmaError::kUnsupportedCqElement);
      [[fallthrough]];
    }
    case RdmaCtrlCmd::kCreateCq: {
      const auto r = Decode<spec::RdmaCmdCreateCq>(bytes);
      if (r.cqe == 0) codes.insert(RdmaError::kInvalidParameter);
      if (r.cqe > config_.max_queue_entries) codes.insert(RdmaError::kCapCqeExceeded);
      if (cqs.size() == config_.num_cqs) codes.insert(RdmaError::kNoFreeCq);
      break;
    }
    case RdmaCtrlCmd::kDestroyCq: {
      const auto r = Decode<spec::RdmaCmdDestroyCq>(bytes);
      no_cq(r.cqn);
      for (const auto& [qpn, qp] : qps) {
        if (qp.send_cqn == r.cqn || qp.recv_cqn == r.cqn) codes.insert(RdmaError::kHandleBusy);
      }
      break;
    }
    case RdmaCtrlCmd::kCreatePd:
      if (pds.size() == config_.num_pds) codes.insert(RdmaError::kNoFreePd);
      break;
    case RdmaCtrlCmd::kDestroyPd: {
      const auto r = Decode<spec::RdmaCmdDestroyPd>(bytes);
      no_pd(r.pdn);
      bool busy = false;
      for (const auto& [qpn, qp] : qps) busy = busy || qp.pdn == r.pdn;
      for (const auto& [mrn, mr] : mrs) busy = busy || mr.pdn == r.pdn;
      for (const auto& [mwn, mw] : mws) busy = busy || mw.pdn == r.pdn;
      for (const auto& [ah, pdn] : ahs) busy = busy || pdn == r.pdn;
      for (const auto& [srqn, srq] : srqs) busy = busy || srq.pdn == r.pdn;
      if (busy) codes.insert(RdmaError::kHandleBusy);
      break;
    }
    case RdmaCtrlCmd::kGetDmaMr: {
      const auto r = Decode<spec::RdmaCmdGetDmaMr>(bytes);
      no_pd(r.pdn);
      CheckAccess(r.access_flags, codes);
      CheckFlush(true, false, r.access_flags, codes);
      if ((r.access_flags & 16) != 0) codes.insert(RdmaError::kBadAccessFlags);
      if (mrs.size() + mws.size() == config_.num_mrs) codes.insert(RdmaError::kNoFreeMr);
      break;
    }
    case RdmaCtrlCmd::kRegUserMr: {
      const auto r = Decode<spec::RdmaCmdRegUserMr>(bytes);
      no_pd(r.pdn);
      CheckAccess(r.access_flags, codes);
      if (mrs.size() + mws.size() == config_.num_mrs) codes.insert(RdmaError::kNoFreeMr);
      CheckFlush(false, r.is_pmem != 0, r.access_flags, codes);
      if ((r.access_flags & 16) != 0 && r.invalidatable != 0) codes.insert(RdmaError::kBadAccessFlags);
      if (is_vireo_ && r.is_pmem > config_.flush) codes.insert(RdmaError::kInvalidParameter);
      if (is_vireo_ && r.invalidatable > config_.invalidation) codes.insert(RdmaError::kInvalidParameter);
      CheckRegion(r, bytes.data() + info.request_bytes, codes);
      break;
    }
    case RdmaCtrlCmd::kReregMr:
      CheckChange(Decode<spec::RdmaCmdReregMr>(bytes), bytes.data() + info.request_bytes, codes);
      break;
    case RdmaCtrlCmd::kDeregMr: {
      const uint32_t mrn = Decode<spec::RdmaCmdDeregMr>(bytes).mrn;
      if (!mrs.contains(mrn)) codes.insert(RdmaError::kBadMrn);
      if (IsBound(mrn)) codes.insert(RdmaError::kHandleBusy);
      break;
    }
    case RdmaCtrlCmd::kAllocMw: {
      const auto r = Decode<spec::RdmaCmdAllocMw>(bytes);
      no_pd(r.pdn);
      const auto type = static_cast<unsigned>(r.mw_type);
      if (type < 1 || type > 2) codes.insert(RdmaError::kInvalidParameter);
      if (mrs.size() + mws.size() == config_.num_mrs) codes.insert(RdmaError::kNoFreeMr);
      break;
    }
    case RdmaCtrlCmd::kAllocMr: {
      const auto r = Decode<spec::RdmaCmdAllocMr>(bytes);
      no_pd(r.pdn);
      const uint64_t most = config_.fast_registration != 0 ? uint64_t{2} * config_.max_send_sge : 0;
      if (r.max_pages == 0) codes.insert(RdmaError::kInvalidParameter);
      if (r.max_pages > most) codes.insert(RdmaError::kPageListTooLong);
      if (mrs.size() + mws.size() == config_.num_mrs) codes.insert(RdmaError::kNoFreeMr);
      if (r.max_pages <= most && FindPages((r.max_pages + 1) / 2 * 2) == ~0u) codes.insert(RdmaError::kNoFreePages);
      break;
    }
    case RdmaCtrlCmd::kQueryMr:
      if (!mrs.contains(Decode<spec::RdmaCmdQueryMr>(bytes).mrn)) codes.insert(RdmaError::kBadMrn);
      break;
    case RdmaCtrlCmd::kDeallocMw:
      if (!mws.contains(Decode<spec::RdmaCmdDeallocMw>(bytes).mwn)) codes.insert(RdmaError::kBadMrn);
      break;
    case RdmaCtrlCmd::kCreateQp: {
      const auto r = Decode<spec::RdmaCmdCreateQp>(bytes);
      no_pd(r.pdn);
      no_cq(r.send_cqn);
      no_cq(r.recv_cqn);
      const unsigned type = static_cast<unsigned>(r.qp_type);
      if (type == 1 && qps.contains(1)) codes.insert(RdmaError::kHandleBusy);
      const bool has_srq = is_vireo_ && r.has_srq != 0;
      if (has_srq && (!srqs.contains(r.srqn) || srqs.at(r.srqn).pdn != r.pdn)) codes.insert(RdmaError::kBadSrqn);
      if (type < 1 || type > 4) codes.insert(RdmaError::kUnsupportedQpType);
      if (std::max(r.cap.max_send_wr, has_srq ? 0 : r.cap.max_recv_wr) > config_.max_queue_entries)
        codes.insert(RdmaError::kCapWrExceeded);
      if (r.cap.max_send_sge > config_.max_send_sge || (!has_srq && r.cap.max_recv_sge > config_.max_recv_sge)) {
        codes.insert(RdmaError::kCapSgeExceeded);
      }
      if (r.cap.max_inline_data > 512) codes.insert(RdmaError::kCapInlineExceeded);
      if (type != 1 && qps.size() - qps.count(1) + srqs.size() == config_.num_qps - 2)
        codes.insert(RdmaError::kNoFreeQp);
      break;
    }
    case RdmaCtrlCmd::kModifyQp: CheckModify(Decode<spec::RdmaCmdModifyQp>(bytes), codes); break;
    case RdmaCtrlCmd::kDestroyQp:
      for (const auto& [qpn, group] : attachments) {
        if (qpn == Decode<spec::RdmaCmdDestroyQp>(bytes).qpn) codes.insert(RdmaError::kHandleBusy);
      }
      [[fallthrough]];
    case RdmaCtrlCmd::kQueryQp:
      if (!qps.contains(Decode<spec::RdmaCmdDestroyQp>(bytes).qpn)) codes.insert(RdmaError::kBadQpn);
      break;
    case RdmaCtrlCmd::kCreateAh: {
      const auto r = Decode<spec::RdmaCmdCreateAh>(bytes);
      no_pd(r.pdn);
      CheckPath(r.ah_attr, codes);
      if (ahs.size() == config_.num_ahs) codes.insert(RdmaError::kNoFreeAh);
      break;
    }
    case RdmaCtrlCmd::kDestroyAh: {
      const auto r = Decode<spec::RdmaCmdDestroyAh>(bytes);
      no_pd(r.pdn);
      if (!ahs.contains(r.ah) || ahs.at(r.ah) != r.pdn) codes.insert(RdmaError::kBadAh);
      break;
    }
    case RdmaCtrlCmd::kAddGid: {
      const auto r = Decode<spec::RdmaCmdAddGid>(bytes);
      if (r.index >= config_.num_gids) codes.insert(RdmaError::kBadGidIndex);
      if (gids.contains(r.index)) codes.insert(RdmaError::kGidIndexInUse);
      const bool has_vlan = is_vireo_ && (r.flags & 1) != 0;
      const uint16_t vlan = is_vireo_ ? r.vlan : uint16_t{0};
      if (is_vireo_) {
        if (r.flags > 1) codes.insert(RdmaError::kInvalidParameter);
        if (static_cast<unsigned>(r.gid_type) == 1 || static_cast<unsigned>(r.gid_type) > 2)
          codes.insert(RdmaError::kUnsupportedGidType);
        if (has_vlan ? vlan % 4096 == 4095 : vlan != 0) codes.insert(RdmaError::kInvalidVlan);
      }
      if (IsNull(r.gid) || r.gid[0] == 0xff || (IsV4(r.gid) && r.gid[12] / 16 == 14))
        codes.insert(RdmaError::kInvalidGid);
      for (const auto& [index, gid] : gids) {
        if (std::equal(gid.bytes.begin(), gid.bytes.end(), r.gid) && gid.has_vlan == has_vlan &&
            gid.vlan % 4096 == vlan % 4096) {
          codes.insert(RdmaError::kGidDuplicate);
        }
      }
      break;
    }
    case RdmaCtrlCmd::kAttachMcast: {
      const auto r = Decode<spec::RdmaCmdAttachMcast>(bytes);
      if (!qps.contains(r.qpn)) {
        codes.insert(RdmaError::kBadQpn);
      } else if (qps.at(r.qpn).type != IbQpType::kUd) {
        codes.insert(RdmaError::kNotAUdQp);
      }
      if (r.mgid[0] != 0xff && !(IsV4(r.mgid) && r.mgid[12] / 16 == 14)) codes.insert(RdmaError::kInvalidGid);
      if (!attachments.contains({r.qpn, std::to_array(r.mgid)}) && attachments.size() == config_.max_mcast_attach) {
        codes.insert(RdmaError::kNoFreeMcast);
      }
      break;
    }
    case RdmaCtrlCmd::kDetachMcast: {
      const auto r = Decode<spec::RdmaCmdDetachMcast>(bytes);
      if (!qps.contains(r.qpn)) codes.insert(RdmaError::kBadQpn);
      if (!attachments.contains({r.qpn, std::to_array(r.mgid)})) codes.insert(RdmaError::kNotAttached);
      break;
    }
    case RdmaCtrlCmd::kDelGid:
      if (!gids.contains(Decode<spec::RdmaCmdDelGid>(bytes).index)) codes.insert(RdmaError::kBadGidIndex);
      break;
    case RdmaCtrlCmd::kReqNotifyCq: {
      const auto r = Decode<spec::RdmaCmdReqNotify>(bytes);
      no_cq(r.cqn);
      if (r.flags < 1 || r.flags > 3) codes.insert(RdmaError::kInvalidParameter);
      break;
    }
    case RdmaCtrlCmd::kSetWindow: {
      const auto r = Decode<spec::RdmaCmdSetWindow>(bytes);
      if (r.vq_index >= QueueCount() || r.vq_index == 2) codes.insert(RdmaError::kBadVqIndex);
      if (r.flags > 1) codes.insert(RdmaError::kInvalidParameter);
      const auto end = static_cast<Wide>(r.base) + r.length;
      if ((r.flags & 1) != 0 && (r.length == 0 || end > static_cast<Wide>(1) << 64)) {
        codes.insert(RdmaError::kInvalidWindow);
      }
      break;
    }
    case RdmaCtrlCmd::kCreateSrq: {
      const auto r = Decode<spec::RdmaCmdCreateSrq>(bytes);
      no_pd(r.pdn);
      if (r.max_wr == 0) codes.insert(RdmaError::kInvalidParameter);
      if (r.max_wr > config_.max_queue_entries) codes.insert(RdmaError::kCapWrExceeded);
      if (r.max_sge > config_.max_recv_sge) codes.insert(RdmaError::kCapSgeExceeded);
      if (srqs.size() == config_.max_srqs || qps.size() - qps.count(1) + srqs.size() == config_.num_qps - 2) {
        codes.insert(RdmaError::kNoFreeSrq);
      }
      break;
    }
    case RdmaCtrlCmd::kModifySrq: {
      const auto r = Decode<spec::RdmaCmdModifySrq>(bytes);
      const auto srq = srqs.find(r.srqn);
      if (srq == srqs.end()) {
        codes.insert(RdmaError::kBadSrqn);
      } else if (r.srq_limit > srq->second.max_wr) {
        codes.insert(RdmaError::kInvalidAttribute);
      }
      break;
    }
    case RdmaCtrlCmd::kQuerySrq:
    case RdmaCtrlCmd::kDestroySrq: {
      const uint32_t srqn = Decode<spec::RdmaCmdDestroySrq>(bytes).srqn;
      if (!srqs.contains(srqn)) codes.insert(RdmaError::kBadSrqn);
      for (const auto& [qpn, qp] : qps) {
        if (command == RdmaCtrlCmd::kDestroySrq && qp.srq == srqn) codes.insert(RdmaError::kHandleBusy);
      }
      break;
    }
  }
  return codes.empty() ? RdmaError::kOk : *codes.begin();
}

void Reference::StopQueue(uint32_t index) {
  auto& queue = queues[index];
  queue.stopped = queue.stopped || queue.enabled;
}

void Reference::ResetQueue(uint32_t index) {
  const bool was_stopped = queues[index].stopped;
  queues[index] = {};
  if (was_stopped) return;
  const auto fail = [this](uint32_t qpn) {
    auto& qp = qps.at(qpn);
    if (qp.state == IbQpState::kReset || qp.state == IbQpState::kErr) return;
    qp.state = IbQpState::kErr;
    qp.has_send_outstanding = false;
  };
  for (auto& [qpn, qp] : qps) {
    if (SendQueue(qpn) == index || ReceiveQueue(qpn) == index) fail(qpn);
    if (qp.srq.has_value() && ReceiveQueue(*qp.srq) == index) fail(qpn);
  }
  for (auto& [cqn, failed] : cqs) {
    if (CqQueue(cqn) != index || failed) continue;
    failed = true;
    for (auto& [qpn, qp] : qps) {
      if (qp.send_cqn == cqn || qp.recv_cqn == cqn) fail(qpn);
    }
  }
}

std::string Reference::Accept(RdmaCtrlCmd command, const std::vector<uint8_t>& bytes,
                              const std::vector<uint8_t>& response) {
  if (response.size() != spec::kNetCtrlRoceCommands[static_cast<unsigned>(command)].response_bytes)
    return "response of wrong length";
  switch (command) {
    case RdmaCtrlCmd::kCreateCq:
    case RdmaCtrlCmd::kCreateExtendedCq: {
      const uint32_t cqn = Decode<spec::RdmaAckCreateCq>(response).cqn;
      if (cqn >= config_.num_cqs || !cqs.emplace(cqn, false).second) return "a CQ that exists";
      break;
    }
    case RdmaCtrlCmd::kDestroyCq: {
      const uint32_t cqn = Decode<spec::RdmaCmdDestroyCq>(bytes).cqn;
      cqs.erase(cqn);
      StopQueue(CqQueue(cqn));
      break;
    }
    case RdmaCtrlCmd::kCreatePd: {
      const uint32_t pdn = Decode<spec::RdmaAckCreatePd>(response).pdn;
      if (pdn >= config_.num_pds || !pds.insert(pdn).second) return "a PD that exists";
      break;
    }
    case RdmaCtrlCmd::kDestroyPd: pds.erase(Decode<spec::RdmaCmdDestroyPd>(bytes).pdn); break;
    case RdmaCtrlCmd::kGetDmaMr:
    case RdmaCtrlCmd::kRegUserMr: {
      const auto ack = Decode<spec::RdmaAckRegUserMr>(response);
      Mr mr{.pdn = Decode<spec::RdmaCmdDestroyPd>(bytes).pdn, .key = ack.rkey};  // the first fields of both
      mr.flushes = Decode<spec::RdmaCmdGetDmaMr>(bytes).access_flags & 0x300;
      mr.may_bind = (Decode<spec::RdmaCmdGetDmaMr>(bytes).access_flags & 16) != 0;
      mr.is_dma = command == RdmaCtrlCmd::kGetDmaMr;
      if (command == RdmaCtrlCmd::kRegUserMr) {
        mr.npages = Decode<spec::RdmaCmdRegUserMr>(bytes).npages;
        mr.invalidatable = is_vireo_ && Decode<spec::RdmaCmdRegUserMr>(bytes).invalidatable != 0;
        mr.is_pmem = is_vireo_ && Decode<spec::RdmaCmdRegUserMr>(bytes).is_pmem != 0;
        mr.first = FindPages(mr.npages);
        for (uint32_t i = 0; i < mr.npages; ++i) pages_[mr.first + i] = true;
      }
      for (const auto& [mrn, other] : mrs) {
        if (other.key == mr.key) return "a key that is in use";
      }
      if (mws.contains(ack.mrn)) return "the number of a window";
      if (ack.mrn >= config_.num_mrs || !mrs.emplace(ack.mrn, mr).second) return "a region that exists";
      break;
    }
    case RdmaCtrlCmd::kReregMr: {
      const auto r = Decode<spec::RdmaCmdReregMr>(bytes);
      const auto ack = Decode<spec::RdmaAckReregMr>(response);
      Mr& mr = mrs.at(r.mrn);
      if (ack.lkey != ack.rkey || (ack.rkey == mr.key) == mr.invalidatable || ack.rkey >> 8 != r.mrn) {
        return "another key";
      }
      mr.key = ack.rkey;
      if ((r.flags & 2) != 0) mr.pdn = r.pdn;
      if ((r.flags & 4) != 0) mr.flushes = r.access_flags & 0x300;
      if ((r.flags & 4) != 0) mr.may_bind = (r.access_flags & 16) != 0;
      if ((r.flags & 1) != 0) {
        mr.is_dma = false;
        mr.is_pmem = r.is_pmem != 0;
        const uint32_t first = FindPages(r.npages);
        for (uint32_t i = 0; i < mr.npages; ++i) pages_[mr.first + i] = false;
        mr.first = first;
        mr.npages = r.npages;
        for (uint32_t i = 0; i < mr.npages; ++i) pages_[mr.first + i] = true;
      }
      break;
    }
    case RdmaCtrlCmd::kDeregMr: {
      const auto mr = mrs.find(Decode<spec::RdmaCmdDeregMr>(bytes).mrn);
      for (uint32_t i = 0; i < mr->second.npages; ++i) pages_[mr->second.first + i] = false;
      mrs.erase(mr);
      break;
    }
    case RdmaCtrlCmd::kAllocMr: {
      const auto r = Decode<spec::RdmaCmdAllocMr>(bytes);
      const auto ack = Decode<spec::RdmaAckAllocMr>(response);
      if (ack.lkey != ack.rkey || ack.rkey >> 8 != ack.mrn) return "a key of another number";
      const uint32_t npages = (r.max_pages + 1) / 2 * 2;
      const Mr mr{.pdn = r.pdn,
                  .key = ack.rkey,
                  .first = FindPages(npages),
                  .npages = npages,
                  .invalidatable = true,
                  .is_fast = true};
      for (uint32_t i = 0; i < npages; ++i) pages_[mr.first + i] = true;
      if (mws.contains(ack.mrn)) return "the number of a window";
      if (ack.mrn >= config_.num_mrs || !mrs.emplace(ack.mrn, mr).second) return "a region that exists";
      break;
    }
    case RdmaCtrlCmd::kQueryMr: {
      const auto ack = Decode<spec::RdmaAckQueryMr>(response);
      const Mr& mr = mrs.at(Decode<spec::RdmaCmdQueryMr>(bytes).mrn);
      if (ack.lkey != mr.key || ack.rkey != mr.key) return "another key";
      if (ack.pdn != mr.pdn || ack.npages != mr.npages) return "another PD or number of pages";
      if ((ack.invalidatable != 0) != mr.invalidatable || (ack.is_fast != 0) != mr.is_fast) return "another kind";
      if ((ack.access_flags & 0x300) != mr.flushes || ((ack.access_flags & 16) != 0) != mr.may_bind)
        return "other rights";
      if ((ack.is_alive != 0) == mr.is_fast) return "another state";
      break;
    }
    case RdmaCtrlCmd::kAllocMw: {
      const auto r = Decode<spec::RdmaCmdAllocMw>(bytes);
      const auto ack = Decode<spec::RdmaAckAllocMw>(response);
      if (ack.rkey >> 8 != ack.mwn) return "a key of another number";
      if (ack.mwn >= config_.num_mrs || mrs.contains(ack.mwn)) return "the number of a region";
      const Mw mw{.pdn = r.pdn, .key = ack.rkey, .is_type_2 = r.mw_type == spec::RdmaMwType::kType2};
      if (!mws.emplace(ack.mwn, mw).second) return "a window that exists";
      break;
    }
    case RdmaCtrlCmd::kDeallocMw: mws.erase(Decode<spec::RdmaCmdDeallocMw>(bytes).mwn); break;
    case RdmaCtrlCmd::kCreateQp: {
      const auto r = Decode<spec::RdmaCmdCreateQp>(bytes);
      const uint32_t qpn = Decode<spec::RdmaAckCreateQp>(response).qpn;
      if (r.qp_type == IbQpType::kGsi ? qpn != 1 : qpn < 2 || qpn >= config_.num_qps) return "a QP number out of range";
      const ReferenceQp qp{.type = r.qp_type,
                           .pdn = r.pdn,
                           .send_cqn = r.send_cqn,
                           .recv_cqn = r.recv_cqn,
                           .max_send_wr = r.cap.max_send_wr,
                           .max_recv_wr = r.cap.max_recv_wr,
                           .srq = is_vireo_ && r.has_srq != 0 ? std::optional(r.srqn) : std::nullopt};
      if (srqs.contains(qpn)) return "the number of a shared receive queue";
      if (!qps.emplace(qpn, qp).second) return "a QP that exists";
      break;
    }
    case RdmaCtrlCmd::kModifyQp: {
      const auto r = Decode<spec::RdmaCmdModifyQp>(bytes);
      auto& qp = qps.at(r.qpn);
      const IbQpState to = (r.attr_mask & Mask::kState) != 0 ? r.qp_state : qp.state;
      if (to == IbQpState::kReset && qp.state != IbQpState::kReset) {
        StopQueue(SendQueue(r.qpn));
        StopQueue(ReceiveQueue(r.qpn));
      }
      if (to == IbQpState::kReset || to == IbQpState::kErr) qp.has_send_outstanding = false;
      qp.state = to;
      break;
    }
    case RdmaCtrlCmd::kQueryQp: {
      const auto& qp = qps.at(Decode<spec::RdmaCmdQueryQp>(bytes).qpn);
      const auto ack = Decode<spec::RdmaAckQueryQp>(response);
      if (ack.qp_state != qp.state) return "another state";
      if ((ack.sq_draining != 0) != (qp.state == IbQpState::kSqd && qp.has_send_outstanding))
        return "sq_draining is wrong";
      break;
    }
    case RdmaCtrlCmd::kDestroyQp: {
      const uint32_t qpn = Decode<spec::RdmaCmdDestroyQp>(bytes).qpn;
      qps.erase(qpn);
      for (auto& [mwn, mw] : mws) {
        if (mw.is_type_2 && mw.bound_by == qpn) mw.bound_to.reset();
      }
      StopQueue(SendQueue(qpn));
      StopQueue(ReceiveQueue(qpn));
      break;
    }
    case RdmaCtrlCmd::kCreateAh: {
      const uint32_t ah = Decode<spec::RdmaAckCreateAh>(response).ah;
      if (ah >= config_.num_ahs || !ahs.emplace(ah, Decode<spec::RdmaCmdCreateAh>(bytes).pdn).second)
        return "an AH that exists";
      break;
    }
    case RdmaCtrlCmd::kDestroyAh: ahs.erase(Decode<spec::RdmaCmdDestroyAh>(bytes).ah); break;
    case RdmaCtrlCmd::kAddGid: {
      const auto r = Decode<spec::RdmaCmdAddGid>(bytes);
      Gid gid{.has_vlan = is_vireo_ && (r.flags & 1) != 0, .vlan = is_vireo_ ? r.vlan : uint16_t{0}};
      std::copy(r.gid, r.gid + 16, gid.bytes.begin());
      gids[r.index] = gid;
      break;
    }
    case RdmaCtrlCmd::kAttachMcast: {
      const auto r = Decode<spec::RdmaCmdAttachMcast>(bytes);
      attachments.emplace(r.qpn, std::to_array(r.mgid));
      break;
    }
    case RdmaCtrlCmd::kDetachMcast: {
      const auto r = Decode<spec::RdmaCmdDetachMcast>(bytes);
      attachments.erase({r.qpn, std::to_array(r.mgid)});
      break;
    }
    case RdmaCtrlCmd::kDelGid: gids.erase(Decode<spec::RdmaCmdDelGid>(bytes).index); break;
    case RdmaCtrlCmd::kCreateSrq: {
      const auto r = Decode<spec::RdmaCmdCreateSrq>(bytes);
      const uint32_t srqn = Decode<spec::RdmaAckCreateSrq>(response).srqn;
      if (srqn < 2 || srqn >= config_.num_qps) return "a number out of range";
      if (qps.contains(srqn)) return "the number of a QP";
      if (!srqs.emplace(srqn, Srq{.pdn = r.pdn, .max_wr = r.max_wr, .max_sge = r.max_sge}).second) {
        return "a shared receive queue that exists";
      }
      break;
    }
    case RdmaCtrlCmd::kModifySrq: {
      const auto r = Decode<spec::RdmaCmdModifySrq>(bytes);
      srqs.at(r.srqn).limit = r.srq_limit;
      break;
    }
    case RdmaCtrlCmd::kQuerySrq: {
      const uint32_t srqn = Decode<spec::RdmaCmdQuerySrq>(bytes).srqn;
      const auto ack = Decode<spec::RdmaAckQuerySrq>(response);
      const Srq& srq = srqs.at(srqn);
      uint32_t users = 0;
      for (const auto& [qpn, qp] : qps) users += qp.srq == srqn ? 1 : 0;
      if (ack.max_wr != srq.max_wr || ack.max_sge != srq.max_sge || ack.srq_limit != srq.limit || ack.qps != users) {
        return "other attributes";
      }
      break;
    }
    case RdmaCtrlCmd::kDestroySrq: {
      const uint32_t srqn = Decode<spec::RdmaCmdDestroySrq>(bytes).srqn;
      srqs.erase(srqn);
      StopQueue(ReceiveQueue(srqn));
      break;
    }
    default: break;
  }
  return "";
}

}  // namespace vireo::verif
