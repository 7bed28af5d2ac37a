// SPDX-License-Identifier: Apache-2.0
// One invalid value of every field of every RoCE command, in an otherwise valid request, and the expected code: for
// firmware on a mock device and for complete NICs of configuration nic1. fields_test.cc checks that no field is
// missing.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "verif/firmware/bench.h"

namespace vireo::verif {

// The expected code of an invalid value of one field. kOk: the field has no invalid value, for the stated reason.
struct FieldRow {
  RdmaCtrlCmd command;
  const char* field;
  uint64_t value;
  RdmaError expected;
  const char* why_none = "";
  // The base request: for fields that only some transitions or types have.
  const char* base = "";

  // The state of the RC QP for the request.
  IbQpState state() const {
    const std::string name = base;
    if (name == "to_rts" || name == "rate") return IbQpState::kRtr;
    return name == "rts" ? IbQpState::kRts : IbQpState::kInit;
  }
};

inline constexpr const char* kAnyNumber = "every value is valid";
inline constexpr const char* kIgnored = "not read by this command";

inline const std::vector<FieldRow> kFieldRows = {
    {RdmaCtrlCmd::kCreateCq, "cqe", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kCreateCq, "cqe", spec::kNic1.max_queue_entries + 1, RdmaError::kCapCqeExceeded},
    {RdmaCtrlCmd::kCreateExtendedCq, "cqe", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kCreateExtendedCq, "cqe", spec::kNic1.max_queue_entries + 1, RdmaError::kCapCqeExceeded},
    {RdmaCtrlCmd::kCreateExtendedCq, "elements", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kCreateExtendedCq, "elements", 0x8000'0001, RdmaError::kUnsupportedCqElement},
    {RdmaCtrlCmd::kDestroyCq, "cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kDestroyPd, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kGetDmaMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kGetDmaMr, "access_flags", 2, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kGetDmaMr, "access_flags", 8, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kGetDmaMr, "access_flags", 16, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kRegUserMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kRegUserMr, "access_flags", 2, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kRegUserMr, "virt_addr", 0x3001, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "virt_addr", ~uint64_t{0}, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kRegUserMr, "length", 0, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kRegUserMr, "length", 1, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "npages", 3, RdmaError::kRequestTooShort},
    {RdmaCtrlCmd::kRegUserMr, "npages", 1, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 11, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 31, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 13, RdmaError::kUnalignedPage},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 15, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "invalidatable", 2, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kRegUserMr, "is_pmem", 2, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kRegUserMr, "access_flags", 0x200, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kRegUserMr, "access_flags", 32, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kDeregMr, "mrn", 9, RdmaError::kBadMrn},
    {RdmaCtrlCmd::kAllocMw, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kAllocMw, "mw_type", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kAllocMw, "mw_type", 3, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kDeallocMw, "mwn", 9, RdmaError::kBadMrn},
    {RdmaCtrlCmd::kAllocMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kAllocMr, "max_pages", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kAllocMr, "max_pages", 9, RdmaError::kPageListTooLong},
    {RdmaCtrlCmd::kQueryMr, "mrn", 9, RdmaError::kBadMrn},
    {RdmaCtrlCmd::kCreateQp, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 0, RdmaError::kUnsupportedQpType},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 1, RdmaError::kHandleBusy},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 5, RdmaError::kUnsupportedQpType},
    {RdmaCtrlCmd::kCreateQp, "sq_sig_all", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateQp, "send_cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kCreateQp, "recv_cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kCreateQp, "max_send_wr", 257, RdmaError::kCapWrExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_recv_wr", 257, RdmaError::kCapWrExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_send_sge", 5, RdmaError::kCapSgeExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_recv_sge", 5, RdmaError::kCapSgeExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_inline_data", 513, RdmaError::kCapInlineExceeded},
    {RdmaCtrlCmd::kCreateQp, "has_srq", 1, RdmaError::kBadSrqn},
    {RdmaCtrlCmd::kCreateQp, "srqn", 9, RdmaError::kOk, "read with has_srq only"},
    {RdmaCtrlCmd::kModifyQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 0, RdmaError::kOk, "empty mask: no change", "rts"},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 1, RdmaError::kMissingAttribute},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 0xffffffff, RdmaError::kAttributeNotAllowed, "", "named"},
    {RdmaCtrlCmd::kModifyQp, "qp_state", 5, RdmaError::kInvalidStateTransition},
    {RdmaCtrlCmd::kModifyQp, "qp_state", 7, RdmaError::kInvalidStateTransition},
    {RdmaCtrlCmd::kModifyQp, "cur_qp_state", 3, RdmaError::kCurStateMismatch, "", "cur_state"},
    {RdmaCtrlCmd::kModifyQp, "path_mtu", 0, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "path_mtu", 6, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "max_rd_atomic", 5, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "max_dest_rd_atomic", 5, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "min_rnr_timer", 32, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "timeout", 32, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "retry_cnt", 8, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "rnr_retry", 8, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "qkey", 0xffffffff, RdmaError::kOk, kAnyNumber, "ud"},
    {RdmaCtrlCmd::kModifyQp, "rq_psn", 0x1000000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "sq_psn", 0x1000000, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "dest_qp_num", 0x1000000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "qp_access_flags", 16, RdmaError::kBadAccessFlags, "", "access"},
    {RdmaCtrlCmd::kModifyQp, "rate_limit", 1, RdmaError::kInvalidAttribute, "", "rate"},
    {RdmaCtrlCmd::kModifyQp, "max_send_wr", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_recv_wr", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_send_sge", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_recv_sge", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_inline_data", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "dgid", 0xfd, RdmaError::kInvalidAddress},
    {RdmaCtrlCmd::kModifyQp, "flow_label", 0x100000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "sgid_index", 3, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kModifyQp, "hop_limit", 0, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kModifyQp, "traffic_class", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kModifyQp, "dmac", 0xff, RdmaError::kOk, "the driver resolves it"},
    {RdmaCtrlCmd::kQueryQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kQueryQp, "attr_mask", 0xffffffff, RdmaError::kOk, "all attributes are returned for every mask"},
    {RdmaCtrlCmd::kDestroyQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kCreateAh, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kCreateAh, "dgid", 0xfd, RdmaError::kInvalidAddress},
    {RdmaCtrlCmd::kCreateAh, "flow_label", 0x100000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kCreateAh, "sgid_index", 3, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kCreateAh, "hop_limit", 0, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateAh, "traffic_class", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateAh, "dmac", 0xff, RdmaError::kOk, "the driver resolves it"},
    {RdmaCtrlCmd::kDestroyAh, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kDestroyAh, "pdn", 1, RdmaError::kBadAh},
    {RdmaCtrlCmd::kDestroyAh, "ah", 9, RdmaError::kBadAh},
    {RdmaCtrlCmd::kAddGid, "index", 8, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kAddGid, "index", 0, RdmaError::kGidIndexInUse},
    {RdmaCtrlCmd::kAddGid, "gid_type", 1, RdmaError::kUnsupportedGidType},
    {RdmaCtrlCmd::kAddGid, "flags", 2, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kAddGid, "vlan", 0xfff, RdmaError::kInvalidVlan},
    {RdmaCtrlCmd::kAddGid, "gid", 0xff, RdmaError::kInvalidGid},
    {RdmaCtrlCmd::kDelGid, "index", 1, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kReqNotifyCq, "cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kReqNotifyCq, "flags", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kReqNotifyCq, "flags", 4, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kSetWindow, "vq_index", 2, RdmaError::kBadVqIndex},
    {RdmaCtrlCmd::kSetWindow, "vq_index", 0xffff, RdmaError::kBadVqIndex},
    {RdmaCtrlCmd::kSetWindow, "flags", 3, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kSetWindow, "base", ~uint64_t{0}, RdmaError::kInvalidWindow},
    {RdmaCtrlCmd::kSetWindow, "length", 0, RdmaError::kInvalidWindow},
    {RdmaCtrlCmd::kCreateSrq, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kCreateSrq, "max_wr", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kCreateSrq, "max_wr", 257, RdmaError::kCapWrExceeded},
    {RdmaCtrlCmd::kCreateSrq, "max_sge", 5, RdmaError::kCapSgeExceeded},
    {RdmaCtrlCmd::kModifySrq, "srqn", 9, RdmaError::kBadSrqn},
    {RdmaCtrlCmd::kModifySrq, "srq_limit", 17, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifySrq, "posted", 0xffffffff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kQuerySrq, "srqn", 9, RdmaError::kBadSrqn},
    {RdmaCtrlCmd::kDestroySrq, "srqn", 9, RdmaError::kBadSrqn},
    {RdmaCtrlCmd::kReregMr, "mrn", 9, RdmaError::kBadMrn},
    {RdmaCtrlCmd::kReregMr, "flags", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kReregMr, "flags", 15, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kReregMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kReregMr, "access_flags", 2, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kReregMr, "access_flags", 32, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kReregMr, "virt_addr", 0x3001, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kReregMr, "virt_addr", ~uint64_t{0}, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kReregMr, "length", 0, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kReregMr, "length", 1, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kReregMr, "npages", 3, RdmaError::kRequestTooShort},
    {RdmaCtrlCmd::kReregMr, "page_shift", 11, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kReregMr, "page_shift", 31, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kReregMr, "page_shift", 13, RdmaError::kUnalignedPage},
    {RdmaCtrlCmd::kReregMr, "is_pmem", 2, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kReregMr, "access_flags", 0x200, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kAttachMcast, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kAttachMcast, "qpn", spec::kGsiQpn, RdmaError::kNotAUdQp},
    {RdmaCtrlCmd::kAttachMcast, "mgid", 0xfe, RdmaError::kInvalidGid},
    {RdmaCtrlCmd::kDetachMcast, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kDetachMcast, "qpn", spec::kGsiQpn, RdmaError::kNotAttached},
    {RdmaCtrlCmd::kDetachMcast, "mgid", 0xfe, RdmaError::kNotAttached},
};

// Objects of the valid requests: PD 0 and 1 with an AH in 0, two CQs, GID 0, an RC QP in INIT, a UD QP in RESET; a GSI
// QP exists; an unused shared receive queue of 16 receives; a memory window. The UD QP is attached to FieldGroup(1).
struct FieldHandles {
  uint32_t free_pd = 0, free_cq = 0;  // unused
  uint32_t rc = 0, ud = 0, ah = 0, mrn = 0, mwn = 0, srq = 0;
  // Valid consecutive requests; the last one for the UD QP.
  spec::RdmaCmdModifyQp to_rtr{}, to_rts{}, ud_to_init{};
};

// GID of a multicast group.
template <typename T>
T FieldGroup(uint32_t qpn, uint8_t number) {
  T request{.qpn = qpn};
  request.mgid[0] = 0xff;
  request.mgid[1] = 0x0e;
  request.mgid[15] = number;
  return request;
}

// The bytes of a structure with `field` changed; of an array, its first element.
template <typename T>
std::vector<uint8_t> Changed(T request, const std::string& field, uint64_t value) {
  bool done = field.empty();
  T::Visit(request, [&](const char* name, auto& member, int) {
    if (done || name != field) return;
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
    done = true;
  });
  EXPECT_TRUE(done) << field;
  return BytesOf(request);
}

// The valid request of a row, with `field` changed to the row's value; empty: unchanged.
inline std::vector<uint8_t> FieldRequest(const FieldHandles& handles, const FieldRow& row, const std::string& field) {
  using Mask = spec::IbQpAttrMask;
  const std::string base = row.base;
  switch (row.command) {
    case RdmaCtrlCmd::kCreateCq: return Changed(spec::RdmaCmdCreateCq{.cqe = 1}, field, row.value);
    case RdmaCtrlCmd::kCreateExtendedCq:
      return Changed(spec::RdmaCmdCreateExtendedCq{.cqe = 1, .elements = 1}, field, row.value);
    case RdmaCtrlCmd::kDestroyCq: return Changed(spec::RdmaCmdDestroyCq{.cqn = handles.free_cq}, field, row.value);
    case RdmaCtrlCmd::kDestroyPd: return Changed(spec::RdmaCmdDestroyPd{.pdn = handles.free_pd}, field, row.value);
    case RdmaCtrlCmd::kGetDmaMr: return Changed(spec::RdmaCmdGetDmaMr{}, field, row.value);
    case RdmaCtrlCmd::kRegUserMr: {
      auto bytes = Changed(spec::RdmaCmdRegUserMr{.virt_addr = 0x3000, .length = 8192, .npages = 2}, field, row.value);
      const auto pages = PageList(0x8000, 2);
      bytes.insert(bytes.end(), pages.begin(), pages.end());
      return bytes;
    }
    case RdmaCtrlCmd::kReregMr: {
      auto bytes = Changed(
          spec::RdmaCmdReregMr{.mrn = handles.mrn, .flags = 7, .virt_addr = 0x3000, .length = 8192, .npages = 2}, field,
          row.value);
      const auto pages = PageList(0x8000, 2);
      bytes.insert(bytes.end(), pages.begin(), pages.end());
      return bytes;
    }
    case RdmaCtrlCmd::kAllocMw:
      return Changed(spec::RdmaCmdAllocMw{.mw_type = spec::RdmaMwType::kType2}, field, row.value);
    case RdmaCtrlCmd::kDeallocMw: return Changed(spec::RdmaCmdDeallocMw{.mwn = handles.mwn}, field, row.value);
    case RdmaCtrlCmd::kAllocMr: return Changed(spec::RdmaCmdAllocMr{.max_pages = 1}, field, row.value);
    case RdmaCtrlCmd::kQueryMr: return Changed(spec::RdmaCmdQueryMr{.mrn = handles.mrn}, field, row.value);
    case RdmaCtrlCmd::kDeregMr: return Changed(spec::RdmaCmdDeregMr{.mrn = handles.mrn}, field, row.value);
    case RdmaCtrlCmd::kCreateQp: return Changed(spec::RdmaCmdCreateQp{.qp_type = IbQpType::kRc}, field, row.value);
    case RdmaCtrlCmd::kModifyQp: {
      auto request = handles.to_rtr;
      if (base == "cur_state") {
        request.attr_mask |= Mask::kCurState;
        request.cur_qp_state = IbQpState::kInit;
      } else if (base == "named") {
        request.cur_qp_state = IbQpState::kInit;
      } else if (base == "access") {
        request.attr_mask |= Mask::kAccessFlags;
      } else if (base == "ud") {
        request = handles.ud_to_init;
      } else if (row.state() != IbQpState::kInit) {
        request = handles.to_rts;
        if (base == "rate") request.attr_mask |= Mask::kRateLimit;
        if (base == "rts") request.attr_mask = Mask::kMinRnrTimer;
      }
      return Changed(request, field, row.value);
    }
    case RdmaCtrlCmd::kQueryQp: return Changed(spec::RdmaCmdQueryQp{.qpn = handles.rc}, field, row.value);
    case RdmaCtrlCmd::kDestroyQp: return Changed(spec::RdmaCmdDestroyQp{.qpn = handles.rc}, field, row.value);
    case RdmaCtrlCmd::kCreateAh: {
      spec::RdmaCmdCreateAh request;
      SetGid(request.ah_attr.grh.dgid, 5);
      return Changed(request, field, row.value);
    }
    case RdmaCtrlCmd::kDestroyAh: return Changed(spec::RdmaCmdDestroyAh{.pdn = 0, .ah = handles.ah}, field, row.value);
    case RdmaCtrlCmd::kAddGid: {
      spec::RdmaCmdAddGid request{.index = 1, .flags = 1, .vlan = 1};
      SetGid(request.gid, 2, false);
      return Changed(request, field, row.value);
    }
    case RdmaCtrlCmd::kDelGid: return Changed(spec::RdmaCmdDelGid{.index = 0}, field, row.value);
    case RdmaCtrlCmd::kReqNotifyCq: return Changed(spec::RdmaCmdReqNotify{.cqn = 0, .flags = 1}, field, row.value);
    case RdmaCtrlCmd::kSetWindow:
      return Changed(spec::RdmaCmdSetWindow{.vq_index = 1, .flags = 1, .base = 0x1000, .length = 0x1000}, field,
                     row.value);
    case RdmaCtrlCmd::kCreateSrq: return Changed(spec::RdmaCmdCreateSrq{.pdn = 1, .max_wr = 1}, field, row.value);
    case RdmaCtrlCmd::kModifySrq:
      return Changed(spec::RdmaCmdModifySrq{.srqn = handles.srq, .srq_limit = 16}, field, row.value);
    case RdmaCtrlCmd::kQuerySrq: return Changed(spec::RdmaCmdQuerySrq{.srqn = handles.srq}, field, row.value);
    case RdmaCtrlCmd::kDestroySrq: return Changed(spec::RdmaCmdDestroySrq{.srqn = handles.srq}, field, row.value);
    case RdmaCtrlCmd::kAttachMcast:
      return Changed(FieldGroup<spec::RdmaCmdAttachMcast>(handles.ud, 2), field, row.value);
    case RdmaCtrlCmd::kDetachMcast:
      return Changed(FieldGroup<spec::RdmaCmdDetachMcast>(handles.ud, 1), field, row.value);
    default: ADD_FAILURE(); return {};
  }
}

}  // namespace vireo::verif
