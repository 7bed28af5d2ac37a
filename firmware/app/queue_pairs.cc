// SPDX-License-Identifier: Apache-2.0
// Commands on QPs. The engine's state is authoritative: the engine moves QPs to SQE or ERR by itself.
#include "firmware/app/firmware.h"
#include "firmware/app/gid.h"
#include "firmware/app/qp_rules.h"

namespace vireo::firmware {
namespace {

using spec::IbQpState;
using spec::IbQpType;
using Mask = spec::IbQpAttrMask;

constexpr uint32_t kPsnEnd = uint32_t{1} << spec::kPsnBits;
constexpr uint32_t kLastQpn = AllOnes<spec::Bth>().dest_qp;
constexpr uint32_t kRnrTimers = sizeof(spec::kRnrTimerNs) / sizeof(spec::kRnrTimerNs[0]);
// Words of the context: the PD; the shared receive queue; work outstanding and the engine's state.
constexpr Words kPdn = WordAt(spec::TableQpContext::kPdnOffset), kSrq = WordAt(spec::TableQpContext::kSrqOffset),
                kOutstanding = WordAt(spec::TableQpContext::kSendOutstandingOffset);
constexpr auto kLargest = AllOnes<spec::TableQpContext>();

constexpr bool IsDatagram(IbQpType type) { return type == IbQpType::kUd || type == IbQpType::kGsi; }

// Payload bytes of an ib_mtu.
constexpr uint32_t MtuBytes(spec::IbMtu mtu) { return uint32_t{128} << static_cast<uint8_t>(mtu); }
static_assert(MtuBytes(spec::IbMtu::kMtu256) == 256 && MtuBytes(spec::IbMtu::kMtu4096) == 4096);

// Headers and ICRC of the longest RoCEv2 packet, from the IP header on.
constexpr uint32_t PacketOverhead() {
  uint32_t extension = 0;
  for (const auto& info : spec::kOpcodeInfo) {
    if (info.extension_bytes > extension) extension = info.extension_bytes;
  }
  return spec::Ipv6::kBytes + spec::Udp::kBytes + spec::Bth::kBytes + extension + spec::kIcrcBytes;
}

// The QP as after create_qp: attributes of modify_qp are cleared.
spec::TableQpContext AfterCreate(const spec::TableQpContext& of) {
  return {.state = IbQpState::kReset,
          .qp_type = of.qp_type,
          .valid = of.valid,
          .sq_sig_all = of.sq_sig_all,
          .load_requester = true,
          .load_responder = true,
          .pdn = of.pdn,
          .send_cqn = of.send_cqn,
          .recv_cqn = of.recv_cqn,
          .max_inline_data = of.max_inline_data,
          .max_send_sge = of.max_send_sge,
          .max_send_wr = of.max_send_wr,
          .max_recv_wr = of.max_recv_wr,
          .max_recv_sge = of.max_recv_sge,
          .srq = of.srq,
          .has_srq = of.has_srq};
}

}  // namespace

Firmware::Error Firmware::CreateQp(const spec::RdmaCmdCreateQp& request, spec::RdmaAckCreateQp& response) {
  const bool has_srq = profile_->rdma_has_additions && request.has_srq != 0;
  spec::RdmaQpCap cap = request.cap;
  if (has_srq) cap.max_recv_wr = cap.max_recv_sge = 0;
  const bool is_gsi = request.qp_type == IbQpType::kGsi && spec::kGsiQpn < config_.num_qps;
  if (!HasPd(request.pdn)) return Error::kBadPdn;
  if (!HasCq(request.send_cqn) || !HasCq(request.recv_cqn)) return Error::kBadCqn;
  if (is_gsi && (qp_used_.Test(spec::kGsiQpn) || HasOldWork(spec::kGsiQpn))) return Error::kHandleBusy;
  if (has_srq && (!HasSrq(request.srqn) || device_.ReadEntry<spec::TableQpContext>(request.srqn, kPdn).pdn !=
                                               static_cast<uint16_t>(request.pdn))) {
    return Error::kBadSrqn;
  }
  if (!is_gsi && request.qp_type != IbQpType::kRc && request.qp_type != IbQpType::kUc &&
      request.qp_type != IbQpType::kUd) {
    return Error::kUnsupportedQpType;
  }
  if (cap.max_send_wr > config_.max_queue_entries || cap.max_recv_wr > config_.max_queue_entries) {
    return Error::kCapWrExceeded;
  }
  if (cap.max_send_sge > config_.max_send_sge || cap.max_recv_sge > config_.max_recv_sge) {
    return Error::kCapSgeExceeded;
  }
  if (cap.max_inline_data > spec::kRdmaInlineBytes) return Error::kCapInlineExceeded;
  const uint32_t qpn = is_gsi ? spec::kGsiQpn : FindQpNumber();
  if (qpn == kNone) return Error::kNoFreeQp;

  BindQueue(SendQueue(qpn), spec::TableQueueKind::kSq, qpn, cap.max_send_wr);
  BindQueue(ReceiveQueue(qpn), spec::TableQueueKind::kRq, qpn, cap.max_recv_wr);
  device_.WriteEntry(qpn, AfterCreate({.qp_type = request.qp_type,
                                       .valid = true,
                                       .sq_sig_all = request.sq_sig_all != 0,
                                       .pdn = static_cast<uint16_t>(request.pdn),
                                       .send_cqn = static_cast<uint16_t>(request.send_cqn),
                                       .recv_cqn = static_cast<uint16_t>(request.recv_cqn),
                                       .max_inline_data = static_cast<uint16_t>(cap.max_inline_data),
                                       .max_send_sge = static_cast<uint8_t>(cap.max_send_sge),
                                       .max_send_wr = static_cast<uint16_t>(cap.max_send_wr),
                                       .max_recv_wr = static_cast<uint16_t>(cap.max_recv_wr),
                                       .max_recv_sge = static_cast<uint8_t>(cap.max_recv_sge),
                                       .srq = static_cast<uint16_t>(has_srq ? request.srqn : 0),
                                       .has_srq = has_srq}));
  qp_used_.Set(qpn);
  if (!is_gsi) next_qp_ = qpn + 1;
  qp_cqs_[qpn] = {.send = static_cast<uint16_t>(request.send_cqn), .receive = static_cast<uint16_t>(request.recv_cqn)};
  ++cq_users_[request.send_cqn];
  ++cq_users_[request.recv_cqn];
  ++pd_users_[request.pdn];
  if (has_srq) ++srq_users_[request.srqn];
  response.qpn = qpn;
  return Error::kOk;
}

Firmware::Error Firmware::DestroyQp(const spec::RdmaCmdDestroyQp& request, Empty&) {
  if (!HasQp(request.qpn)) return Error::kBadQpn;
  if (IsAttached(request.qpn)) return Error::kHandleBusy;
  const auto context = device_.ReadEntry<spec::TableQpContext>(request.qpn, kPdn | kSrq);
  draining_.Clear(request.qpn);
  RunQp(request.qpn, spec::QpOperation::kStop);
  RemoveQp(request.qpn);
  if (device_.broken()) return Error::kInternal;
  UnbindWindows(request.qpn);
  StopQueue(SendQueue(request.qpn), true);
  StopQueue(ReceiveQueue(request.qpn), true);
  --cq_users_[qp_cqs_[request.qpn].send];
  --cq_users_[qp_cqs_[request.qpn].receive];
  --pd_users_[context.pdn];
  if (context.has_srq) --srq_users_[context.srq];
  return Error::kOk;
}

// Work requests or replays that were discarded by a stop and still wait behind those of others, at last for the wire.
// What starts with this number would take them for its own.
// Other numbers are not asked: nobody reads the entry of a free one, so bad parity in it is harmless.
bool Firmware::HasOldWork(uint32_t qpn) {
  if (!qp_old_.Test(qpn)) return false;
  if (device_.ReadEntry<spec::TableQpContext>(qpn, kOutstanding).send_outstanding != 0) return true;
  qp_old_.Clear(qpn);
  return false;
}

// At most as many numbers have old work as work requests and replays fit into the device.
uint32_t Firmware::FindQpNumber() {
  uint32_t start = next_qp_;
  for (uint32_t tries = 0; tries < config_.num_qps; ++tries) {
    const uint32_t qpn = qp_used_.FindClear(spec::kRdmaFirstQpn, config_.num_qps, start);
    if (qpn == kNone || !HasOldWork(qpn)) return qpn;
    start = qpn + 1;
  }
  return kNone;
}

// After stop: removes the QP. Also by a reset after bad parity: then the count is read after the clear.
void Firmware::RemoveQp(uint32_t qpn) {
  spec::TableQpContext context;
  const bool readable = device_.TryReadEntry(qpn, &context, kOutstanding);
  if (!readable || context.send_outstanding != 0) qp_old_.Set(qpn);
  device_.ClearEntry<spec::TableQpContext>(qpn);
  qp_used_.Clear(qpn);
  draining_.Clear(qpn);
}

// --- Modify ----------------------------------------------------------------------------------------------------------

spec::IbMtu Firmware::LinkMtu() const {
  const uint32_t link = device_.Read(spec::kMgmtMtuRegister);
  uint8_t mtu = static_cast<uint8_t>(spec::IbMtu::kMtu4096);
  while (mtu != 0 &&
         (MtuBytes(spec::IbMtu{mtu}) + PacketOverhead() > link || MtuBytes(spec::IbMtu{mtu}) > config_.max_path_mtu)) {
    --mtu;
  }
  return spec::IbMtu{mtu};
}

// Only attributes in the mask are checked.
bool Firmware::AreAttributesValid(const spec::RdmaCmdModifyQp& r) const {
  const auto has = [&r](uint32_t attribute) { return (r.attr_mask & attribute) != 0; };
  return !(has(Mask::kPathMtu) && (r.path_mtu < spec::IbMtu::kMtu256 || r.path_mtu > LinkMtu())) &&
         !(has(Mask::kMaxQpRdAtomic) && r.max_rd_atomic > config_.max_rd_atomic) &&
         !(has(Mask::kMaxDestRdAtomic) && r.max_dest_rd_atomic > config_.max_rd_atomic) &&
         !(has(Mask::kMinRnrTimer) && r.min_rnr_timer >= kRnrTimers) &&
         !(has(Mask::kTimeout) && r.timeout > kLargest.timeout) &&
         !(has(Mask::kRetryCnt) && r.retry_cnt > kLargest.retry_cnt) &&
         !(has(Mask::kRnrRetry) && r.rnr_retry > kLargest.rnr_retry) && !(has(Mask::kRqPsn) && r.rq_psn >= kPsnEnd) &&
         !(has(Mask::kSqPsn) && r.sq_psn >= kPsnEnd) && !(has(Mask::kDestQpn) && r.dest_qp_num > kLastQpn) &&
         !(has(Mask::kRateLimit) && r.rate_limit != 0);
}

// Each direction needs its virtqueue and a working CQ, unless the QP has no WRs in it.
bool Firmware::AreQueuesReady(uint32_t qpn, const spec::TableQpContext& context) {
  const auto is_ready = [this](uint32_t queue, uint32_t cqn) {
    return IsQueueReady(queue) && IsQueueReady(CqQueue(cqn)) && !device_.ReadEntry<spec::TableCqContext>(cqn).failed;
  };
  return (context.max_send_wr == 0 || is_ready(SendQueue(qpn), context.send_cqn)) &&
         ((context.max_recv_wr == 0 && !context.has_srq) ||
          is_ready(ReceiveQueue(context.has_srq ? context.srq : qpn), context.recv_cqn));
}

Firmware::Error Firmware::CheckModify(const spec::RdmaCmdModifyQp& request, const spec::TableQpContext& context,
                                      IbQpState to) {
  const IbQpState from = context.engine_state;
  const uint32_t mask = request.attr_mask & ~Mask::kState;
  const bool has_path = (mask & Mask::kAv) != 0;
  if (has_path && !HasGid(request.ah_attr.grh.sgid_index)) return Error::kBadGidIndex;
  // The rule that remote_write and remote_atomic require local_write applies to memory regions. A QP's flags only limit
  // the peer, and programs set remote_write alone.
  if ((mask & Mask::kAccessFlags) != 0 && (request.qp_access_flags & ~KnownAccess()) != 0) {
    return Error::kBadAccessFlags;
  }
  if ((mask & Mask::kCurState) != 0 && request.cur_qp_state != from) return Error::kCurStateMismatch;
  const QpTransition transition = TransitionOf(context.qp_type, from, to);
  if (!transition.legal) return Error::kInvalidStateTransition;
  // IBTA vol. 1, 10.3.1.5: attribute changes in SQD, and the return to RTS, require a drained send queue.
  const bool is_draining = from == IbQpState::kSqd && context.send_outstanding != 0;
  if (is_draining && (to == IbQpState::kSqd || to == IbQpState::kRts)) return Error::kInvalidStateTransition;
  if ((transition.required & ~mask) != 0) return Error::kMissingAttribute;
  if ((mask & ~(transition.required | transition.allowed)) != 0) return Error::kAttributeNotAllowed;
  if (!AreAttributesValid(request)) return Error::kInvalidAttribute;
  if (has_path) {
    const Error error = CheckPath(request.ah_attr);
    if (error != Error::kOk) return error;
  }
  if (from == IbQpState::kInit && to == IbQpState::kRtr && !AreQueuesReady(request.qpn, context)) {
    return Error::kQueueNotReady;
  }
  return Error::kOk;
}

void Firmware::ApplyAttributes(const spec::RdmaCmdModifyQp& r, spec::TableQpContext& context) {
  const auto has = [&r](uint32_t attribute) { return (r.attr_mask & attribute) != 0; };
  if (has(Mask::kAccessFlags)) {
    context.local_write = (r.qp_access_flags & spec::IbAccessFlags::kLocalWrite) != 0;
    context.remote_write = (r.qp_access_flags & spec::IbAccessFlags::kRemoteWrite) != 0;
    context.remote_read = (r.qp_access_flags & spec::IbAccessFlags::kRemoteRead) != 0;
    context.remote_atomic = (r.qp_access_flags & spec::IbAccessFlags::kRemoteAtomic) != 0;
    context.flush_global = (r.qp_access_flags & spec::IbAccessFlags::kFlushGlobal) != 0;
    context.flush_persistent = (r.qp_access_flags & spec::IbAccessFlags::kFlushPersistent) != 0;
  }
  if (has(Mask::kQkey)) context.qkey = r.qkey;
  if (has(Mask::kAv)) context.path = ResolvePath(r.ah_attr);
  if (has(Mask::kPathMtu)) context.path_mtu = r.path_mtu;
  if (has(Mask::kTimeout)) context.timeout = r.timeout;
  if (has(Mask::kRetryCnt)) context.retry_cnt = r.retry_cnt;
  if (has(Mask::kRnrRetry)) context.rnr_retry = r.rnr_retry;
  if (has(Mask::kMaxQpRdAtomic)) context.max_rd_atomic = r.max_rd_atomic;
  if (has(Mask::kMinRnrTimer)) context.min_rnr_timer = r.min_rnr_timer;
  if (has(Mask::kMaxDestRdAtomic)) context.max_dest_rd_atomic = r.max_dest_rd_atomic;
  if (has(Mask::kDestQpn)) context.dest_qpn = r.dest_qp_num;
  if (has(Mask::kRqPsn)) {
    context.load_responder = true;
    context.expected_psn = r.rq_psn;
  }
  if (has(Mask::kSqPsn)) {
    context.load_requester = true;
    context.next_psn = r.sq_psn;
    context.unacked_psn = r.sq_psn;
    context.retries_left = context.retry_cnt;
    context.rnr_retries_left = context.rnr_retry;
  }
}

Firmware::Error Firmware::ModifyQp(const spec::RdmaCmdModifyQp& request, Empty&) {
  if (!HasQp(request.qpn)) return Error::kBadQpn;
  auto context = device_.ReadEntry<spec::TableQpContext>(request.qpn);
  const IbQpState from = context.engine_state;
  const IbQpState to = (request.attr_mask & Mask::kState) != 0 ? request.qp_state : from;
  const Error error = CheckModify(request, context, to);
  if (error != Error::kOk) return error;
  // Of its last lifetime: nothing is posted in RESET.
  if (from == IbQpState::kReset && to != IbQpState::kReset && context.send_outstanding != 0) return Error::kHandleBusy;

  if (to == IbQpState::kReset) {
    if (from == IbQpState::kReset) return Error::kOk;
    draining_.Clear(request.qpn);
    RunQp(request.qpn, spec::QpOperation::kStop);
    device_.WriteEntry(request.qpn, AfterCreate(context));
    StopQueue(SendQueue(request.qpn), false);
    StopQueue(ReceiveQueue(request.qpn), false);
    return Error::kOk;
  }
  if (draining_.Test(request.qpn)) {
    EndDrain(request.qpn);
    draining_.Clear(request.qpn);
  }
  ApplyAttributes(request, context);
  if (IsDatagram(context.qp_type)) context.path_mtu = LinkMtu();
  context.state = to;
  device_.WriteEntry(request.qpn, context);
  if (to == IbQpState::kErr) {
    RunQp(request.qpn, spec::QpOperation::kFlush);
  } else if (to == IbQpState::kSqd && from != to) {
    StartDrain(request.qpn);
  } else if (from != to) {
    RunQp(request.qpn, spec::QpOperation::kStart);
  }
  return Error::kOk;
}

Firmware::Error Firmware::QueryQp(const spec::RdmaCmdQueryQp& request, spec::RdmaAckQueryQp& response) {
  using Flags = spec::IbAccessFlags;
  if (!HasQp(request.qpn)) return Error::kBadQpn;
  const auto context = device_.ReadEntry<spec::TableQpContext>(request.qpn);
  const bool is_connected = !IsDatagram(context.qp_type);
  response = {.qp_state = context.engine_state,
              .path_mtu = is_connected ? context.path_mtu : spec::IbMtu{},
              .sq_draining = context.engine_state == IbQpState::kSqd && context.send_outstanding != 0,
              .max_rd_atomic = context.max_rd_atomic,
              .max_dest_rd_atomic = context.max_dest_rd_atomic,
              .min_rnr_timer = context.min_rnr_timer,
              .timeout = context.timeout,
              .retry_cnt = context.retry_cnt,
              .rnr_retry = context.rnr_retry,
              .qkey = context.qkey,
              .rq_psn = is_connected ? context.expected_psn : 0,
              .sq_psn = context.next_psn,
              .dest_qp_num = context.dest_qpn,
              .qp_access_flags =
                  (context.local_write ? Flags::kLocalWrite : 0) | (context.remote_write ? Flags::kRemoteWrite : 0) |
                  (context.remote_read ? Flags::kRemoteRead : 0) | (context.remote_atomic ? Flags::kRemoteAtomic : 0) |
                  (context.flush_global ? Flags::kFlushGlobal : 0) |
                  (context.flush_persistent ? Flags::kFlushPersistent : 0),
              .cap = {.max_send_wr = context.max_send_wr,
                      .max_recv_wr = context.max_recv_wr,
                      .max_send_sge = context.max_send_sge,
                      .max_recv_sge = context.max_recv_sge,
                      .max_inline_data = context.max_inline_data},
              .ah_attr = {.grh = {.flow_label = context.path.flow_label,
                                  .sgid_index = context.path.sgid_index,
                                  .hop_limit = context.path.hop_limit,
                                  .traffic_class = context.path.traffic_class}}};
  for (size_t i = 0; i < kGidBytes; ++i) response.ah_attr.grh.dgid[i] = context.path.dgid[i];
  for (size_t i = 0; i < sizeof(context.path.dmac); ++i) response.ah_attr.dmac[i] = context.path.dmac[i];
  return Error::kOk;
}

// --- Operations and draining -----------------------------------------------------------------------------------------

void Firmware::RunQp(uint32_t qpn, spec::QpOperation operation) {
  device_.RunQp(qpn, operation);
  watched_drain_ = kNone;  // a drain in progress is superseded
  WatchNextDrain();
}

void Firmware::StartDrain(uint32_t qpn) {
  draining_.Set(qpn);
  watched_drain_ = qpn;
  device_.StartQp(qpn, spec::QpOperation::kDrain);
}

// The device reports the end of one drain only. Restarting a drain has no other effect.
void Firmware::WatchNextDrain() {
  watched_drain_ = draining_.FindSet(0, config_.num_qps);
  if (watched_drain_ != kNone) device_.StartQp(watched_drain_, spec::QpOperation::kDrain);
}

// Checks all, so that one that never drains (a peer that is never ready) does not block the others.
bool Firmware::CheckDrains() {
  bool found = false;
  for (uint32_t qpn = 0; (qpn = draining_.FindSet(qpn, config_.num_qps)) != kNone; ++qpn) found |= EndDrain(qpn);
  if (found) WatchNextDrain();
  return found;
}

// A drain has ended if the queue is drained or an error occurred first.
bool Firmware::EndDrain(uint32_t qpn) {
  const auto context = device_.ReadEntry<spec::TableQpContext>(qpn, kOutstanding);
  const bool is_draining = context.engine_state == IbQpState::kSqd;
  if (device_.broken() || context.engine_state == IbQpState::kRts) return false;
  if (is_draining && context.send_outstanding != 0) return false;
  draining_.Clear(qpn);
  if (is_draining) PushEvent(spec::RdmaEventType::kSqDrained, qpn, Error::kOk);
  return true;
}

}  // namespace vireo::firmware
