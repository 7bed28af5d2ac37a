// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/translate.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace vireo::sim::pvrdma {
namespace {

using Mask = spec::IbQpAttrMask;

constexpr std::pair<uint32_t, uint32_t> kMasks[] = {
    {kMaskState, Mask::kState},
    {kMaskCurState, Mask::kCurState},
    {kMaskAccessFlags, Mask::kAccessFlags},
    {kMaskQkey, Mask::kQkey},
    {kMaskPath, Mask::kAv},
    {kMaskPathMtu, Mask::kPathMtu},
    {kMaskTimeout, Mask::kTimeout},
    {kMaskRetryCnt, Mask::kRetryCnt},
    {kMaskRnrRetry, Mask::kRnrRetry},
    {kMaskRqPsn, Mask::kRqPsn},
    {kMaskMaxRdAtomic, Mask::kMaxQpRdAtomic},
    {kMaskMinRnrTimer, Mask::kMinRnrTimer},
    {kMaskSqPsn, Mask::kSqPsn},
    {kMaskMaxDestRdAtomic, Mask::kMaxDestRdAtomic},
    {kMaskDestQpn, Mask::kDestQpn},
};

// Rights that a device may ignore, such as relaxed ordering [rdma/ib_user_ioctl_verbs.h,
// IB_UVERBS_ACCESS_OPTIONAL_RANGE].
constexpr uint32_t kOptionalAccess = 0x3ff0'0000;
constexpr uint32_t kKnownAccess = spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite |
                                  spec::IbAccessFlags::kRemoteRead | spec::IbAccessFlags::kRemoteAtomic;
uint32_t AccessWithout(uint32_t access_flags, bool has_atomics) {
  return has_atomics ? access_flags : access_flags & ~uint32_t{spec::IbAccessFlags::kRemoteAtomic};
}

template <typename T>
bool Fits(uint32_t value) {
  return static_cast<uint32_t>(static_cast<T>(value)) == value;
}

}  // namespace

std::optional<uint32_t> RegionAccess(uint32_t access_flags, bool has_atomics) {
  access_flags &= ~kOptionalAccess;
  const uint32_t unknown = access_flags & ~AccessWithout(kKnownAccess, has_atomics);
  return unknown == 0 ? std::optional(access_flags) : std::nullopt;
}

std::optional<Modification> FromModify(uint32_t mask, const QpAttributes& attributes, bool has_atomics) {
  // Accepted with the only value there is; notification of a drained send queue is always on.
  if ((mask & kMaskPkeyIndex) != 0 && attributes.pkey_index != 0) return std::nullopt;
  if ((mask & kMaskPort) != 0 && attributes.port != kPort) return std::nullopt;
  uint32_t left = mask & ~uint32_t{kMaskPkeyIndex | kMaskPort | kMaskSqdNotify};
  Modification to;
  for (const auto& [theirs, ours] : kMasks) {
    if ((left & theirs) == 0) continue;
    to.mask |= ours;
    left &= ~theirs;
  }
  if (left != 0) return std::nullopt;  // alternate path, migration, capacities
  const auto last = static_cast<uint32_t>(spec::IbQpState::kErr);
  if (((mask & kMaskState) != 0 && attributes.qp_state > last) ||
      ((mask & kMaskCurState) != 0 && attributes.cur_qp_state > last) ||
      ((mask & kMaskPathMtu) != 0 && !Fits<uint8_t>(attributes.path_mtu))) {
    return std::nullopt;
  }
  to.command = {.qp_state = static_cast<spec::IbQpState>(attributes.qp_state),
                .cur_qp_state = static_cast<spec::IbQpState>(attributes.cur_qp_state),
                .path_mtu = static_cast<spec::IbMtu>(attributes.path_mtu),
                .max_rd_atomic = attributes.max_rd_atomic,
                .max_dest_rd_atomic = attributes.max_dest_rd_atomic,
                .min_rnr_timer = attributes.min_rnr_timer,
                .timeout = attributes.timeout,
                .retry_cnt = attributes.retry_cnt,
                .rnr_retry = attributes.rnr_retry,
                .qkey = attributes.qkey,
                .rq_psn = attributes.rq_psn,
                .sq_psn = attributes.sq_psn,
                .dest_qp_num = attributes.dest_qp_num,
                // Linux' rdma_cm always permits atomics; a NIC that has none answers them as invalid.
                .qp_access_flags = AccessWithout(attributes.qp_access_flags, has_atomics)};
  return to;
}

QpAttributes FromQuery(const spec::RdmaAckQueryQp& state) {
  QpAttributes to;
  to.qp_state = to.cur_qp_state = static_cast<uint32_t>(state.qp_state);
  to.path_mtu = static_cast<uint32_t>(state.path_mtu);
  to.qkey = state.qkey;
  to.rq_psn = state.rq_psn;
  to.sq_psn = state.sq_psn;
  to.dest_qp_num = state.dest_qp_num;
  to.qp_access_flags = state.qp_access_flags;
  to.sq_draining = state.sq_draining;
  to.max_rd_atomic = state.max_rd_atomic;
  to.max_dest_rd_atomic = state.max_dest_rd_atomic;
  to.min_rnr_timer = state.min_rnr_timer;
  to.port = kPort;
  to.timeout = state.timeout;
  to.retry_cnt = state.retry_cnt;
  to.rnr_retry = state.rnr_retry;
  to.cap = {.max_send_wr = state.cap.max_send_wr,
            .max_recv_wr = state.cap.max_recv_wr,
            .max_send_sge = state.cap.max_send_sge,
            .max_recv_sge = state.cap.max_recv_sge};
  return to;
}

spec::RdmaAhAttr FromPath(const Path& path, uint8_t sgid_index) {
  spec::RdmaAhAttr to;
  std::ranges::copy(path.grh.dgid, to.grh.dgid);
  to.grh.flow_label = path.grh.flow_label;
  to.grh.sgid_index = sgid_index;
  to.grh.hop_limit = path.grh.hop_limit;
  to.grh.traffic_class = path.grh.traffic_class;
  std::ranges::copy(path.dmac, to.dmac);
  return to;
}

spec::RdmaAhAttr FromVector(const AddressVector& vector, uint8_t sgid_index) {
  spec::RdmaAhAttr to;
  std::ranges::copy(vector.dgid, to.grh.dgid);
  to.grh.flow_label = vector.sl_tclass_flowlabel & 0xf'ffff;
  to.grh.traffic_class = static_cast<uint8_t>(vector.sl_tclass_flowlabel >> 20);
  to.grh.sgid_index = sgid_index;
  to.grh.hop_limit = vector.hop_limit;
  std::ranges::copy(vector.dmac, to.dmac);
  return to;
}

Path ToPath(const spec::RdmaAhAttr& attributes, uint8_t sgid_index) {
  constexpr uint8_t kHasGrh = 1;
  Path to;
  std::ranges::copy(attributes.grh.dgid, to.grh.dgid);
  to.grh.flow_label = attributes.grh.flow_label;
  to.grh.sgid_index = sgid_index;
  to.grh.hop_limit = attributes.grh.hop_limit;
  to.grh.traffic_class = attributes.grh.traffic_class;
  to.flags = kHasGrh;
  to.port = kPort;
  std::ranges::copy(attributes.dmac, to.dmac);
  return to;
}

std::optional<spec::IbWrOpcode> FromOpcode(WrOpcode opcode) {
  switch (opcode) {
    case WrOpcode::kRdmaWrite: return spec::IbWrOpcode::kRdmaWrite;
    case WrOpcode::kRdmaWriteWithImm: return spec::IbWrOpcode::kRdmaWriteWithImm;
    case WrOpcode::kSend: return spec::IbWrOpcode::kSend;
    case WrOpcode::kSendWithImm: return spec::IbWrOpcode::kSendWithImm;
    case WrOpcode::kRdmaRead: return spec::IbWrOpcode::kRdmaRead;
    case WrOpcode::kCompareSwap: return spec::IbWrOpcode::kAtomicCmpAndSwp;
    case WrOpcode::kFetchAdd: return spec::IbWrOpcode::kAtomicFetchAndAdd;
    case WrOpcode::kSendWithInv: return spec::IbWrOpcode::kSendWithInv;
    case WrOpcode::kLocalInv: return spec::IbWrOpcode::kLocalInv;
    default: return std::nullopt;
  }
}

uint8_t FromSendFlags(uint32_t flags) {
  using Flags = spec::IbSendFlags;
  static_assert(kSendFence == Flags::kFence && kSendSignaled == Flags::kSignaled &&
                kSendSolicited == Flags::kSolicited);
  return static_cast<uint8_t>(flags & (kSendFence | kSendSignaled | kSendSolicited));
}

Cqe FromCompletion(const spec::RdmaCqReq& completion) {
  // By the NIC's value. [vmw_pvrdma-abi.h, pvrdma_wc_status and pvrdma_wc_opcode]
  constexpr std::array<uint8_t, 16> kStatus = {0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13, 16, 19, 20, 21};
  constexpr std::array<uint8_t, 8> kOpcode = {0, 1, 2, 128, 129, 3, 4, 7};
  constexpr uint32_t kGeneralError = 21;
  const auto status = static_cast<size_t>(completion.status);
  const auto opcode = static_cast<size_t>(completion.opcode);
  Cqe to;
  to.wr_id = completion.wr_id;
  to.opcode = opcode < kOpcode.size() ? kOpcode[opcode] : 0;
  to.status = status < kStatus.size() ? kStatus[status] : kGeneralError;
  to.byte_len = completion.byte_len;
  std::ranges::copy(completion.imm_data, to.imm_data);
  to.src_qp = completion.src_qp;
  if ((completion.wc_flags & spec::IbWcFlags::kGrh) != 0) to.wc_flags |= kWcGrh;
  if ((completion.wc_flags & spec::IbWcFlags::kWithImm) != 0) to.wc_flags |= kWcWithImm;
  to.vendor_err = completion.vendor_err;
  to.port = kPort;
  return to;
}

std::optional<EventType> FromEvent(spec::RdmaEventType type) {
  using Type = spec::RdmaEventType;
  switch (type) {
    case Type::kCqErr: return EventType::kCqErr;
    case Type::kQpFatal: return EventType::kQpFatal;
    case Type::kQpReqErr: return EventType::kQpReqErr;
    case Type::kQpAccessErr: return EventType::kQpAccessErr;
    case Type::kCommEst: return EventType::kCommEst;
    case Type::kSqDrained: return EventType::kSqDrained;
    case Type::kDeviceFatal: return EventType::kDeviceFatal;
    case Type::kPortActive: return EventType::kPortActive;
    case Type::kPortErr: return EventType::kPortErr;
    case Type::kSrqErr: return EventType::kSrqErr;
    case Type::kSrqLimitReached: return EventType::kSrqLimitReached;
    case Type::kQpLastWqeReached: return EventType::kQpLastWqeReached;
    default: return std::nullopt;
  }
}

LinkCode LinkCodeOf(uint32_t mbps) {
  constexpr struct {
    uint32_t mbps;
    LinkCode code;
  } kLinks[] = {{2'500, {1, 1}}, {10'000, {1, 4}}, {25'000, {1, 32}}, {40'000, {2, 4}}, {100'000, {2, 32}}};
  for (const auto& link : kLinks) {
    if (mbps <= link.mbps) return link.code;
  }
  return std::end(kLinks)[-1].code;
}

}  // namespace vireo::sim::pvrdma
