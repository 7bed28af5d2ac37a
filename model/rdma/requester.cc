// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/requester.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include <utility>
#include "model/common/output_register.h"
#include "model/common/wide_slice.h"
#include "model/dma/dma_split.h"
#include "model/rdma/psn.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::BthOpcode;
using spec::BthService;
using spec::IbQpState;
using spec::IbSendFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::MemoryStatus;
using spec::RdmaError;

constexpr uint32_t kQpnMask = 0xff'ffff;

// Half of what may be outstanding. [IBTA vol. 1, 9.7.1]
constexpr uint32_t kHalfOutstanding = 1U << 22;

// Elements per read, after the first one.
constexpr uint32_t kFetchElements = spec::kDmaFetchBytes / spec::RdmaSge::kBytes;

// Space for the responses to a whole list.
constexpr uint32_t FetchedDepth(uint32_t max_send_sge) {
  return std::bit_ceil(std::max(4U, (max_send_sge + kFetchElements - 2) / kFetchElements));
}

constexpr uint8_t kKnownFlags =
    IbSendFlags::kFence | IbSendFlags::kSignaled | IbSendFlags::kSolicited | IbSendFlags::kInline;

// remote_qkey with this bit: the QP's own Q_Key is sent. [IBTA vol. 1, 10.2.5]
constexpr uint32_t kOwnQkey = 1U << 31;

// Sending, or finishing work fetched before a drain. [IBTA vol. 1, 10.3.1]
bool IsSending(IbQpState state) { return state == IbQpState::kRts || state == IbQpState::kSqd; }

bool RequestsFlush(const spec::RdmaSqReq& request) {
  const auto flush = spec::RdmaSqReqFlush::Decode(request.wr);
  return IsFlushLegal(flush.placement, flush.selectivity, flush.length);
}

// Of a bind. [IBTA vol. 1, 10.6.7.2]
constexpr uint32_t kWindowAccess = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead |
                                   spec::IbAccessFlags::kRemoteAtomic | spec::IbAccessFlags::kZeroBased;

// Of a registration.
constexpr uint32_t kRegionAccess = spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite |
                                   spec::IbAccessFlags::kRemoteRead | spec::IbAccessFlags::kRemoteAtomic;

bool IsRegistrationLegal(const spec::RdmaSqReq& request) {
  const auto reg = spec::RdmaSqReqReg::Decode(request.wr);
  return (reg.access_flags & ~kRegionAccess) == 0 && reg.length != 0 && reg.page_shift >= spec::kRdmaPageShiftMin &&
         reg.page_shift <= spec::kRdmaPageShiftMax;
}

bool IsAtomic(IbWcOpcode opcode) { return opcode == IbWcOpcode::kCompSwap || opcode == IbWcOpcode::kFetchAdd; }

// A failure moves it to SQE instead of ERR. [IBTA vol. 1, 10.3.1.6]
bool IsSendOnly(BthService service) { return service == BthService::kUc || service == BthService::kUd; }

}  // namespace

// [IBTA vol. 1, table 38] One row per operation.
const Requester::Operation Requester::kOperations[] = {
    {BthService::kRc,
     IbWrOpcode::kRdmaWrite,
     IbWcOpcode::kRdmaWrite,
     {BthOpcode::kRcRdmaWriteMiddle, BthOpcode::kRcRdmaWriteFirst, BthOpcode::kRcRdmaWriteLast,
      BthOpcode::kRcRdmaWriteOnly}},
    {BthService::kRc,
     IbWrOpcode::kRdmaWriteWithImm,
     IbWcOpcode::kRdmaWrite,
     {BthOpcode::kRcRdmaWriteMiddle, BthOpcode::kRcRdmaWriteFirst, BthOpcode::kRcRdmaWriteLastWithImmediate,
      BthOpcode::kRcRdmaWriteOnlyWithImmediate}},
    {BthService::kRc,
     IbWrOpcode::kSend,
     IbWcOpcode::kSend,
     {BthOpcode::kRcSendMiddle, BthOpcode::kRcSendFirst, BthOpcode::kRcSendLast, BthOpcode::kRcSendOnly}},
    {BthService::kRc,
     IbWrOpcode::kSendWithImm,
     IbWcOpcode::kSend,
     {BthOpcode::kRcSendMiddle, BthOpcode::kRcSendFirst, BthOpcode::kRcSendLastWithImmediate,
      BthOpcode::kRcSendOnlyWithImmediate}},
    {BthService::kRc,
     IbWrOpcode::kSendWithInv,
     IbWcOpcode::kSend,
     {BthOpcode::kRcSendMiddle, BthOpcode::kRcSendFirst, BthOpcode::kRcSendLastWithInvalidate,
      BthOpcode::kRcSendOnlyWithInvalidate}},
    // These three have no packet.
    {BthService::kRc,
     IbWrOpcode::kLocalInv,
     IbWcOpcode::kLocalInv,
     {BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly}},
    {BthService::kRc,
     IbWrOpcode::kBindMw,
     IbWcOpcode::kBindMw,
     {BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly}},
    {BthService::kRc,
     IbWrOpcode::kRegMr,
     IbWcOpcode::kRegMr,
     {BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly, BthOpcode::kRcSendOnly}},
    // One request, whatever PSN of its responses it starts with.
    {BthService::kRc,
     IbWrOpcode::kRdmaRead,
     IbWcOpcode::kRdmaRead,
     {BthOpcode::kRcRdmaReadRequest, BthOpcode::kRcRdmaReadRequest, BthOpcode::kRcRdmaReadRequest,
      BthOpcode::kRcRdmaReadRequest}},
    {BthService::kRc,
     IbWrOpcode::kAtomicCmpAndSwp,
     IbWcOpcode::kCompSwap,
     {BthOpcode::kRcCompareSwap, BthOpcode::kRcCompareSwap, BthOpcode::kRcCompareSwap, BthOpcode::kRcCompareSwap}},
    {BthService::kRc,
     IbWrOpcode::kAtomicFetchAndAdd,
     IbWcOpcode::kFetchAdd,
     {BthOpcode::kRcFetchAdd, BthOpcode::kRcFetchAdd, BthOpcode::kRcFetchAdd, BthOpcode::kRcFetchAdd}},
    {BthService::kRc,
     IbWrOpcode::kAtomicWrite,
     IbWcOpcode::kAtomicWrite,
     {BthOpcode::kRcAtomicWrite, BthOpcode::kRcAtomicWrite, BthOpcode::kRcAtomicWrite, BthOpcode::kRcAtomicWrite}},
    {BthService::kRc,
     IbWrOpcode::kFlush,
     IbWcOpcode::kFlush,
     {BthOpcode::kRcFlush, BthOpcode::kRcFlush, BthOpcode::kRcFlush, BthOpcode::kRcFlush}},
    {BthService::kUc,
     IbWrOpcode::kRdmaWrite,
     IbWcOpcode::kRdmaWrite,
     {BthOpcode::kUcRdmaWriteMiddle, BthOpcode::kUcRdmaWriteFirst, BthOpcode::kUcRdmaWriteLast,
      BthOpcode::kUcRdmaWriteOnly}},
    {BthService::kUc,
     IbWrOpcode::kRdmaWriteWithImm,
     IbWcOpcode::kRdmaWrite,
     {BthOpcode::kUcRdmaWriteMiddle, BthOpcode::kUcRdmaWriteFirst, BthOpcode::kUcRdmaWriteLastWithImmediate,
      BthOpcode::kUcRdmaWriteOnlyWithImmediate}},
    {BthService::kUc,
     IbWrOpcode::kSend,
     IbWcOpcode::kSend,
     {BthOpcode::kUcSendMiddle, BthOpcode::kUcSendFirst, BthOpcode::kUcSendLast, BthOpcode::kUcSendOnly}},
    {BthService::kUc,
     IbWrOpcode::kSendWithImm,
     IbWcOpcode::kSend,
     {BthOpcode::kUcSendMiddle, BthOpcode::kUcSendFirst, BthOpcode::kUcSendLastWithImmediate,
      BthOpcode::kUcSendOnlyWithImmediate}},
    // These three have no packet.
    {BthService::kUc,
     IbWrOpcode::kLocalInv,
     IbWcOpcode::kLocalInv,
     {BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly}},
    {BthService::kUc,
     IbWrOpcode::kBindMw,
     IbWcOpcode::kBindMw,
     {BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly}},
    {BthService::kUc,
     IbWrOpcode::kRegMr,
     IbWcOpcode::kRegMr,
     {BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly, BthOpcode::kUcSendOnly}},
    // A datagram is one packet.
    {BthService::kUd,
     IbWrOpcode::kSend,
     IbWcOpcode::kSend,
     {BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly, BthOpcode::kUdSendOnly}},
    {BthService::kUd,
     IbWrOpcode::kSendWithImm,
     IbWcOpcode::kSend,
     {BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate, BthOpcode::kUdSendOnlyWithImmediate,
      BthOpcode::kUdSendOnlyWithImmediate}},
};
const Requester::Operation* Requester::OperationOf(BthService service, IbWrOpcode opcode) {
  const auto* const row = std::find_if(std::begin(kOperations), std::end(kOperations), [&](const Operation& operation) {
    return operation.service == service && operation.opcode == opcode;
  });
  return row == std::end(kOperations) ? nullptr : row;
}

Requester::Requester(Agenda& agenda, const spec::Config& config, uint32_t packets)
    : Block(agenda),
      work_request_in(WideSlice<spec::WorkRequest>(config.datapath_bits)),
      load_in(WideSlice<spec::QpLoad>(config.datapath_bits)),
      memory_place_in(Channel<spec::MemoryPlace>::Fifo(packets)),
      fetched_in(Channel<spec::DmaFetched>::Fifo(FetchedDepth(config.max_send_sge))),
      max_send_sge_(config.max_send_sge),
      has_atomics_(config.atomics != 0),
      has_atomic_write_(config.atomic_write != 0),
      has_flush_(config.flush != 0),
      has_invalidation_(config.invalidation != 0),
      has_windows_(config.memory_windows != 0),
      has_fast_registration_(config.fast_registration != 0),
      has_extensible_(config.extensible_requests != 0),
      carries_inline_(config.datapath_bits >= 8 * spec::kTxInlineBytes),
      most_read_packets_(kHalfOutstanding / config.send_records),
      burst_bytes_(config.send_burst_bytes),
      attributes_(spec::ContextRam::kRequesterQp, config.num_qps, on_parity_error),
      front_state_(config.num_qps),
      back_state_(config.num_qps),
      half_(config.num_qps),
      number_(config.num_qps),
      halted_(config.num_qps),
      was_sqe_(config.num_qps),
      handles_(spec::ContextRam::kRequesterAh, config.num_ahs, on_parity_error),
      reads_started_(config.num_qps),
      ended_(config.num_qps),
      front_hold_(config.num_qps),
      front_resumed_(config.num_qps),
      back_hold_(config.num_qps),
      back_resumed_(config.num_qps),
      entries_(Channel<Entry>::Fifo(packets)) {
  work_request_in.SetConsumer(this);
  load_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
  fetched_in.SetConsumer(this);
  entries_.SetConsumer(this);
}

void Requester::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kAh) {
    const auto handle = spec::TableAh::Decode(write.data);
    handles_.Write(cycle, write.index, {handle.valid, handle.pdn});
  }
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  attributes_.Write(cycle, write.index,
                    {context.qp_type, context.path_mtu, context.sq_sig_all, context.pdn, context.max_send_sge,
                     context.max_inline_data, context.max_rd_atomic, context.qkey});
}

void Requester::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  front_state_.Write(cycle, write.qpn, write.state);
  back_state_.Write(cycle, write.qpn, write.state);
  WakeAt(cycle + 2);  // a waiting machine samples the state in every cycle, as read in the cycle before
  if (write.state != IbQpState::kSqe) return;
  sqes_.push_back({cycle + 1, write.qpn});  // in RTL a register precedes the table
  WakeAt(cycle + 1);
}

void Requester::OnQpHold(Cycle cycle, const spec::QpHold& hold) {
  holds_.push_back({cycle + 1, hold});  // in RTL a register precedes the tables
  WakeAt(cycle + 1);
}

void Requester::OnQpReads(Cycle cycle, const spec::QpReads& reads) {
  ended_.Write(cycle, reads.qpn, reads.ended);
  WakeAt(cycle + 2);  // a waiting machine samples it like the state
}

void Requester::OnRoom(Cycle cycle) {
  room_.Add(cycle);
  WakeAt(cycle + 1);
}

void Requester::WriteHolds(Cycle now) {
  hold_now_ = false;
  while (!holds_.empty() && holds_.front().cycle <= now) {
    const auto& [cycle, hold] = holds_.front();
    front_hold_.Write(cycle, hold.qpn, hold.epoch);
    back_hold_.Write(cycle, hold.qpn, hold.epoch);
    hold_now_ = true;
    holds_.pop_front();
  }
  if (!hold_now_) return;
  WakeAt(now + 1);  // a deferred load
  WakeAt(now + 2);  // a waiting machine samples the hold like the state
}

void Requester::WriteSqes(Cycle now) {
  sqe_now_ = false;
  while (!sqes_.empty() && sqes_.front().cycle <= now) {
    was_sqe_.Write(now, sqes_.front().qpn, 1);
    sqe_now_ = true;
    sqes_.pop_front();
  }
  if (sqe_now_) WakeAt(now + 1);  // a deferred check
}

void Requester::Run(Cycle now) {
  WriteHolds(now);
  WriteSqes(now);
  if (std::exchange(resent_, false)) on_resent(now);
  room_unused_ = false;
  if (const auto ends = std::exchange(ends_, std::nullopt)) on_work_ends(now, *ends);
  if (const auto psn = std::exchange(next_psn_, std::nullopt)) on_next_psn(now, *psn);
  bool moved = Leave(now, check_, memory_check_out);
  moved |= Leave(now, fetch_, fetch_request_out);
  moved |= Leave(now, job_, job_out);
  moved |= Leave(now, record_, record_out);
  moved |= Leave(now, read_, read_record_out);
  moved |= Leave(now, failure_, failure_out);
  moved |= RunFront(now);
  moved |= RunBack(now);
  if (moved) WakeAt(now + 1);
}

// For new work. Outstanding are the READs with a record that have not ended; both counts as read in the cycle before. A
// long READ waits until the completer knows that its PSNs fit: with the shorter ones of all records, and half of what
// may be outstanding when the completer resumes, no more than that is.
bool Requester::Waits(Cycle now) {
  const Message& message = message_;
  if (!message.first || message.service != BthService::kRc) return false;
  const auto reads_outstanding =
      static_cast<uint8_t>(reads_started_.Read(now - 1, message.record.qpn) - ended_.Read(now - 1, message.record.qpn));
  const uint32_t packets = ((message.record.last_psn - message.record.first_psn) & kPsnMask) + 1;
  return (message.is_read && (reads_outstanding >= message.max_reads || packets > most_read_packets_)) ||
         (message.record.fence && reads_outstanding != 0);
}

bool Requester::RunFront(Cycle now) {
  switch (front_) {
    case Front::kIdle:
      if (load_in.CanPop(now)) return Load(now);
      if (!work_request_in.CanPop(now)) return false;
      front_ = Front::kCheck;
      return true;
    case Front::kCheck: return Check(now);
    case Front::kList: return ReadList(now);
    case Front::kSum:
      message_.length = static_cast<uint32_t>(message_.total);
      if (message_.bad) {
        message_.record.status = IbWcStatus::kLocQpOpErr;
        message_.record.vendor_err = static_cast<uint32_t>(RdmaError::kQueueDmaError);
      }
      EndCheck();
      return true;
    case Front::kSkip:
      // Skip to the first byte to retransmit.
      if (message_.skip > message_.element_left) {
        message_.skip -= message_.element_left;
        message_.left -= message_.element_left;
        Advance();
      } else {
        message_.left -= message_.skip;
        message_.address += message_.skip;
        message_.element_left -= message_.skip;
        front_ = Front::kPacket;
      }
      return true;
    case Front::kPacket: return SendPacket(now);
    case Front::kLeave: return EndEarly(now);
    case Front::kMap: return MapPages(now);
  }
  return false;
}

void Requester::SetNextPsn(Cycle now, uint32_t qpn, uint32_t psn) {
  half_.Write(now, qpn, psn);
  next_psn_ = spec::QpPsn{.qpn = qpn, .psn = psn};
}

bool Requester::Load(Cycle now) {
  if (!entries_.CanPush(now) || hold_now_) return false;
  const spec::QpLoad load = load_in.Pop(now);
  SetNextPsn(now, load.qpn, load.psn);
  front_hold_.Write(now, load.qpn, 0);
  front_resumed_.Write(now, load.qpn, {});
  Entry entry{.load = true};
  entry.record.qpn = load.qpn;
  entries_.Push(now, entry);
  return true;
}

// New packets follow only if all before them were requested: packets that the completer has not yet seen arrive there
// as an unsent record, and it resumes again. PSNs alone would not show all of them: two READs may take as many as there
// are.
bool Requester::Resume(Cycle now) {
  const spec::WorkRequest& work = work_request_in.front();
  if (front_hold_.Read(now - 1, work.qpn) == work.epoch && half_.Read(now - 1, work.qpn) == work.psn &&
      number_.Read(now - 1, work.qpn) == work.number) {
    if (!entries_.CanPush(now)) return false;
    front_resumed_.Write(now, work.qpn, {.epoch = work.epoch});
    Entry entry{.resume = true, .epoch = work.epoch};
    entry.record.qpn = work.qpn;
    entries_.Push(now, entry);
  }
  work_request_in.Pop(now);
  front_ = Front::kIdle;
  return true;
}

const Requester::Operation* Requester::FindOperation(BthService service, IbWrOpcode opcode) const {
  const Operation* operation = OperationOf(service, opcode);
  if (operation == nullptr) return nullptr;
  const bool invalidates = operation->opcode == IbWrOpcode::kSendWithInv || operation->opcode == IbWrOpcode::kLocalInv;
  if (!has_invalidation_ && invalidates) return nullptr;
  if (!has_windows_ && operation->wc_opcode == IbWcOpcode::kBindMw) return nullptr;
  if (!has_fast_registration_ && operation->wc_opcode == IbWcOpcode::kRegMr) return nullptr;
  if (!has_atomics_ && IsAtomic(operation->wc_opcode)) return nullptr;
  if (!has_atomic_write_ && operation->wc_opcode == IbWcOpcode::kAtomicWrite) return nullptr;
  if (!has_flush_ && operation->wc_opcode == IbWcOpcode::kFlush) return nullptr;
  return operation;
}

Requester::Parsed Requester::Parse(const spec::WorkRequest& work, BthService service) const {
  using Element = spec::RdmaSqElement;
  Parsed parsed;
  uint8_t bytes[spec::RdmaSqReq::kBytes]{};
  std::copy(std::begin(work.head_bytes), std::end(work.head_bytes), bytes);
  parsed.request = spec::RdmaSqReq::Decode(bytes);
  if (!has_extensible_ || work.bytes >= spec::RdmaSqReq::kBytes) {
    parsed.num_sge = spec::RdmaSqReqNumSge::Decode(work.tail_bytes).num_sge;
    parsed.inline_len = spec::RdmaSqReqInlineLen::Decode(work.tail_bytes).inline_len;
    parsed.sge = spec::RdmaSge::Decode(work.tail_bytes + (spec::RdmaSqReq::kBytes - spec::RdmaSqReq::kSizeOffset));
    parsed.list = work.address + spec::RdmaSqReq::kBytes;
    parsed.data = work.address + spec::RdmaSqReq::kInlineDataOffset;
    return parsed;
  }
  // What was read of it, which ends behind the first element of a list.
  std::copy_n(work.tail_bytes, spec::kDmaFetchBytes - sizeof work.head_bytes, bytes + sizeof work.head_bytes);
  const auto base = spec::RdmaSqBase::Decode(bytes);
  const bool is_inline = (base.send_flags & IbSendFlags::kInline) != 0;
  const bool has_list = (base.elements & Element::kSgList) != 0;
  parsed.is_known = base.version == spec::kRdmaSqVersion;
  uint32_t at = spec::RdmaSqBase::kBytes;
  uint8_t needed = is_inline ? Element::kInlineData : 0;
  if (const Operation* operation = FindOperation(service, base.opcode); service == BthService::kUd) {
    needed |= Element::kUd;
  } else if (operation != nullptr &&
             (IsAtomic(operation->wc_opcode) || operation->wc_opcode == IbWcOpcode::kAtomicWrite ||
              operation->wc_opcode == IbWcOpcode::kFlush || operation->wc_opcode == IbWcOpcode::kBindMw ||
              operation->wc_opcode == IbWcOpcode::kRegMr)) {
    needed |= Element::kRdma | Element::kAtomic;
  } else if (operation != nullptr &&
             (operation->wc_opcode == IbWcOpcode::kRdmaWrite || operation->wc_opcode == IbWcOpcode::kRdmaRead)) {
    needed |= Element::kRdma;
  }
  // Peer's memory and datagram have the same fields in the same places in both formats.
  if ((base.elements & Element::kRdma) != 0) at += spec::RdmaSqRdma::kBytes;
  if ((base.elements & Element::kUd) != 0) at += spec::RdmaSqUd::kBytes;
  const bool is_bind = base.opcode == IbWrOpcode::kBindMw && service != BthService::kUd;
  const bool is_register = base.opcode == IbWrOpcode::kRegMr && service != BthService::kUd;
  if ((base.elements & Element::kAtomic) != 0 && is_bind) {
    const auto bind = spec::RdmaSqBind::Decode(bytes + spec::RdmaSqBase::kBytes);
    const auto range = spec::RdmaSqBindRange::Decode(bytes + at);
    spec::RdmaSqReqBind{.addr = bind.addr,
                        .length = range.length,
                        .access_flags = range.access_flags,
                        .rkey = bind.rkey,
                        .lkey = bind.lkey}
        .Encode(parsed.request.wr);
    at += spec::RdmaSqBindRange::kBytes;
  } else if ((base.elements & Element::kAtomic) != 0 && is_register) {
    const auto reg = spec::RdmaSqReg::Decode(bytes + spec::RdmaSqBase::kBytes);
    const auto range = spec::RdmaSqBindRange::Decode(bytes + at);
    spec::RdmaSqReqReg{.virt_addr = reg.virt_addr,
                       .length = range.length,
                       .access_flags = range.access_flags,
                       .key = reg.key,
                       .page_shift = reg.page_shift}
        .Encode(parsed.request.wr);
    at += spec::RdmaSqBindRange::kBytes;
  } else if ((base.elements & Element::kAtomic) != 0) {
    const auto rdma = spec::RdmaSqRdma::Decode(bytes + spec::RdmaSqBase::kBytes);
    const auto operands = spec::RdmaSqAtomic::Decode(bytes + at);
    spec::RdmaSqReqAtomic{
        .remote_addr = rdma.remote_addr, .compare_add = operands.compare_add, .swap = operands.swap, .rkey = rdma.rkey}
        .Encode(parsed.request.wr);
    at += spec::RdmaSqAtomic::kBytes;
  }
  const uint32_t rest = work.bytes - at;
  parsed.num_sge = has_list ? rest % 1024 / spec::RdmaSge::kBytes : 0;
  parsed.has_elements = (base.elements & ~Element::kSgList) == needed && !(is_inline && has_list);
  parsed.has_length = work.bytes >= at && (is_inline || rest == 0 || (has_list && rest % spec::RdmaSge::kBytes == 0));
  if (!parsed.has_elements || !parsed.has_length) return parsed;
  parsed.inline_len = static_cast<uint16_t>(rest);
  parsed.sge = spec::RdmaSge::Decode(bytes + at);
  parsed.list = parsed.data = work.address + at;
  parsed.is_carried = carries_inline_ && is_inline && rest <= spec::kTxInlineBytes;
  if (parsed.is_carried) std::copy_n(bytes + at, spec::kTxInlineBytes, parsed.carried);
  return parsed;
}

// Uses the data read in the cycle before.
bool Requester::Check(Cycle now) {
  if (sqe_now_) return false;
  const spec::WorkRequest& work = work_request_in.front();
  if (work.resume) return Resume(now);
  if (work.is_replay && !entries_.CanPush(now)) return false;  // its end needs a place
  const Attributes& attributes = attributes_.Read(now - 1, work.qpn);
  const uint32_t psn = work.is_replay ? work.first_psn : half_.Read(now - 1, work.qpn);
  const bool is_sending = IsSending(front_state_.Read(now - 1, work.qpn));
  if (work.is_replay && (!is_sending || front_hold_.Read(now - 1, work.qpn) != work.epoch)) {
    // Another replay follows, or the QP no longer sends.
    PushMark(now);
    work_request_in.Pop(now);
    front_ = Front::kIdle;
    return true;
  }

  message_ = Message{};
  const BthService service = ServiceOf(attributes.qp_type);
  const Parsed parsed = Parse(work, service);
  message_.request = parsed.request;
  const uint32_t num_sge = parsed.num_sge;
  const uint16_t inline_len = parsed.inline_len;
  spec::RdmaSge sge = parsed.sge;
  const uint8_t flags = message_.request.send_flags;
  const Operation* operation = FindOperation(service, message_.request.opcode);
  message_.list = parsed.list;
  message_.is_carried = parsed.is_carried;
  std::copy(std::begin(parsed.carried), std::end(parsed.carried), message_.data);
  message_.service = service;
  message_.operation = operation;
  message_.is_atomic = operation != nullptr && IsAtomic(operation->wc_opcode);
  message_.is_flush = operation != nullptr && operation->wc_opcode == IbWcOpcode::kFlush;
  message_.is_store = operation != nullptr && (operation->wc_opcode == IbWcOpcode::kAtomicWrite || message_.is_flush);
  message_.is_read = operation != nullptr &&
                     (operation->wc_opcode == IbWcOpcode::kRdmaRead || message_.is_atomic || message_.is_store);
  message_.is_bind = operation != nullptr && operation->opcode == IbWrOpcode::kBindMw;
  message_.is_register = operation != nullptr && operation->opcode == IbWrOpcode::kRegMr;
  message_.is_local =
      operation != nullptr && (operation->opcode == IbWrOpcode::kLocalInv || message_.is_bind || message_.is_register);
  message_.max_reads = attributes.max_rd_atomic;
  message_.recovers = is_sending && !work.is_replay && was_sqe_.Read(now - 1, work.qpn) != 0;
  if (message_.recovers) was_sqe_.Write(now, work.qpn, 0);
  message_.epoch = message_.recovers ? front_hold_.Read(now - 1, work.qpn) : work.epoch;
  const auto datagram = spec::RdmaSqReqUd::Decode(message_.request.wr);
  message_.qkey = (datagram.remote_qkey & kOwnQkey) != 0 ? attributes.qkey : datagram.remote_qkey;
  bool may_use_ah = false;
  if (service == BthService::kUd && datagram.ah < handles_.size()) {
    const Handle& handle = handles_.Read(now - 1, datagram.ah);
    may_use_ah = handle.valid && handle.pdn == attributes.pdn;
  }
  message_.is_inline = (flags & IbSendFlags::kInline) != 0;
  if (message_.is_inline) {
    sge.addr = parsed.data;
    sge.length = inline_len;
  } else if (num_sge == 0) {
    sge.length = 0;
  }

  // The first that applies.
  IbWcStatus status = IbWcStatus::kLocQpOpErr;
  RdmaError vendor = RdmaError::kOk;
  message_.count = 1;
  if (work.failed != RdmaError::kOk && work.is_replay) {
    vendor = work.failed;
  } else if (work.failed != RdmaError::kOk || !is_sending) {
    status = IbWcStatus::kWrFlushErr;  // not executed [IBTA vol. 1, 10.3.1.7]
  } else if (parsed.is_known && service == BthService::kCnp) {
    vendor = RdmaError::kUnsupportedQpType;
  } else if (!parsed.is_known || operation == nullptr) {
    vendor = RdmaError::kUnsupportedCommand;
  } else if (attributes.path_mtu < spec::IbMtu::kMtu256 || attributes.path_mtu > spec::IbMtu::kMtu4096 ||
             (message_.is_read && attributes.max_rd_atomic == 0)) {
    vendor = RdmaError::kInvalidAttribute;  // such a READ would wait forever
  } else if ((flags & ~kKnownFlags) != 0 || (message_.is_read && message_.is_inline) || !parsed.has_elements ||
             (message_.is_store && num_sge != 0) || (message_.is_flush && !RequestsFlush(message_.request)) ||
             (message_.is_local && (message_.is_inline || (flags & IbSendFlags::kFence) != 0 ||
                                    (num_sge != 0) != message_.is_register || work.is_replay)) ||
             (message_.is_bind &&
              (spec::RdmaSqReqBind::Decode(message_.request.wr).access_flags & ~kWindowAccess) != 0) ||
             (message_.is_register && !IsRegistrationLegal(message_.request))) {
    // What has no packet is never replayed: the work request has changed.
    vendor = RdmaError::kInvalidParameter;
  } else if (!parsed.has_length || (service == BthService::kUd && !may_use_ah)) {
    // [IBTA vol. 1, 10.2.3: AH and QP are of one protection domain]
    vendor = parsed.has_length ? RdmaError::kBadAh : RdmaError::kBadWqe;
  } else if (message_.is_inline) {
    if (inline_len > attributes.max_inline_data || inline_len > spec::kRdmaInlineBytes) {
      vendor = RdmaError::kCapInlineExceeded;
    } else {
      status = IbWcStatus::kSuccess;
    }
  } else if (num_sge > attributes.max_send_sge || num_sge > max_send_sge_) {
    vendor = RdmaError::kCapSgeExceeded;
  } else if (work.bytes < parsed.list - work.address + spec::RdmaSge::kBytes * num_sge) {
    vendor = RdmaError::kBadWqe;
  } else {
    status = IbWcStatus::kSuccess;
    message_.count = std::max(num_sge, 1U);
  }

  elements_.assign(1, sge);
  message_.length = sge.length;
  message_.total = sge.length;
  message_.address = sge.addr;
  message_.element_left = sge.length;
  message_.elements_requested = 1;
  message_.psn = work.is_replay ? work.psn : psn;
  message_.shift = kMtuShift + static_cast<uint32_t>(attributes.path_mtu) % 8;
  message_.pdn = attributes.pdn;
  message_.record = {
      .qpn = work.qpn,
      .head = work.head,
      .wr_id = message_.request.wr_id,
      .opcode = operation == nullptr ? IbWcOpcode{} : operation->wc_opcode,
      .status = status,
      .vendor_err = static_cast<uint32_t>(vendor),
      // Failures always have a CQE.
      .signaled = attributes.sq_sig_all || (flags & IbSendFlags::kSignaled) != 0,
      .first_psn = psn,
      .is_replay = work.is_replay,
      .slot = work.slot,
      .fence = (flags & IbSendFlags::kFence) != 0,
      .no_completion = work.failed != RdmaError::kOk && !work.is_replay,
  };
  if (message_.count == 1) {
    EndCheck();
  } else {
    front_ = Front::kList;
  }
  return true;
}

bool Requester::ReadList(Cycle now) {
  Message& message = message_;
  bool moved = false;
  if (message.elements_requested != message.count && !fetch_) {
    const uint32_t elements = std::min(kFetchElements, message.count - message.elements_requested);
    fetch_ = spec::DmaReadRequest{.address = message.list + spec::RdmaSge::kBytes * message.elements_requested,
                                  .bytes = static_cast<uint16_t>(spec::RdmaSge::kBytes * elements)};
    message.elements_requested += elements;
    moved = true;
  }
  if (fetched_in.CanPop(now)) {
    const spec::DmaFetched& fetched = fetched_in.front();
    const size_t place = (elements_.size() - 1) % kFetchElements;
    elements_.push_back(spec::RdmaSge::Decode(fetched.data + spec::RdmaSge::kBytes * place));
    message.total += elements_.back().length;
    message.bad |= fetched.resp != static_cast<uint8_t>(AxiResp::kOkay);
    const bool complete = elements_.size() == message.count;
    if (complete || place == kFetchElements - 1) fetched_in.Pop(now);
    if (complete) front_ = Front::kSum;
    moved = true;
  }
  return moved;
}

// The length is known now.
void Requester::EndCheck() {
  const spec::WorkRequest& work = work_request_in.front();
  Message& message = message_;
  spec::SendRecord& record = message.record;
  if (message.is_register) message.length = 0;  // the elements are pages
  if (record.status == IbWcStatus::kSuccess && !message.is_register && message.total > kMaxMessageBytes) {
    record.status = IbWcStatus::kLocLenErr;
    record.vendor_err = static_cast<uint32_t>(RdmaError::kInvalidLength);
  }
  if (message.is_atomic) {
    if (record.status == IbWcStatus::kSuccess && message.total < spec::kAtomicBytes) {
      record.status = IbWcStatus::kLocLenErr;
      record.vendor_err = static_cast<uint32_t>(RdmaError::kInvalidLength);
    }
    message.length = spec::kAtomicBytes;  // of the elements only as many bytes are written
  }
  if (record.status == IbWcStatus::kSuccess && message.service == BthService::kUd &&
      message.total > uint64_t{1} << message.shift) {
    // [IBTA vol. 1, 9.8.3: a datagram is one packet]
    record.status = IbWcStatus::kLocLenErr;
    record.vendor_err = static_cast<uint32_t>(RdmaError::kInvalidLength);
  }
  const uint32_t more_packets = message.length == 0 ? 0 : (message.length - 1) >> message.shift;
  record.last_psn = (record.first_psn + more_packets) & kPsnMask;
  if (work.is_replay) {
    const uint32_t skipped = (work.psn - work.first_psn) & kPsnMask;
    const uint32_t span = (work.last_psn - work.first_psn) & kPsnMask;
    if (record.status == IbWcStatus::kSuccess && (record.last_psn != work.last_psn || skipped > span)) {
      // It has changed since its packets got their PSNs.
      record.status = IbWcStatus::kLocQpOpErr;
      record.vendor_err = static_cast<uint32_t>(RdmaError::kBadWqe);
    }
    record.last_psn = work.last_psn;
    message.skip = skipped << message.shift;
  } else if (record.status != IbWcStatus::kSuccess || message.is_local) {
    record.last_psn = (record.first_psn - 1) & kPsnMask;
  }
  const bool sends = record.status == IbWcStatus::kSuccess;
  if (sends && message.is_read) record.bytes = message.length;
  message.packets = 0;
  if (sends && !message.is_read) {
    const bool is_long = message.length > burst_bytes_;
    const auto packets = static_cast<uint16_t>(is_long ? burst_bytes_ >> message.shift : 0);
    message.packets = work.is_replay ? work.packets : packets;
    message.end_psn = (message.psn + message.packets - 1) & kPsnMask;
  }
  message.left = sends && !message.is_read ? message.length : 0;  // the request of a READ has no payload
  front_ = sends && work.is_replay && !message.is_read ? Front::kSkip : Front::kPacket;
  if (sends && message.is_register) front_ = Front::kMap;
}

// The pages of a registration, a pair at a time. Their answers say nothing that its own one does not.
bool Requester::MapPages(Cycle now) {
  if (!entries_.CanPush(now) || check_) return false;
  Message& message = message_;
  const spec::RdmaSge& pair = elements_[message.element];  // a RdmaPagePair
  check_ = spec::MemoryCheck{.key = spec::RdmaSqReqReg::Decode(message.request.wr).key,
                             .pdn = message.pdn,
                             .address = pair.addr,
                             .bytes = pair.length,
                             .qpn = message.record.qpn,
                             .lkey = static_cast<uint32_t>(message.element),
                             .bytes_high = pair.lkey,
                             .maps = true};
  Entry entry{.mark = true, .placed = true};
  entry.record.qpn = message.record.qpn;
  entries_.Push(now, entry);
  if (message.element + 1 < elements_.size()) {
    Advance();
  } else {
    front_ = Front::kPacket;
  }
  return true;
}

void Requester::Advance() {
  const spec::RdmaSge& sge = elements_[++message_.element];
  message_.address = sge.addr;
  message_.element_left = sge.length;
}

void Requester::EndMessage(Cycle now, uint32_t next_psn) {
  const uint32_t qpn = message_.record.qpn;
  if (!work_request_in.front().is_replay) {
    SetNextPsn(now, qpn, next_psn & kPsnMask);
    number_.Write(now, qpn, static_cast<uint8_t>(number_.Read(now - 1, qpn) + 1));
  }
  work_request_in.Pop(now);
  front_ = Front::kIdle;
}

// The work request ends without another packet.
void Requester::PushMark(Cycle now) {
  const spec::WorkRequest& work = work_request_in.front();
  Entry entry{.ends = true, .mark = true, .serial = work.serial};
  entry.record.qpn = work.qpn;
  entry.record.is_replay = work.is_replay;
  entries_.Push(now, entry);
}

// The rest of the message is not cut; its record covers all of it.
bool Requester::EndEarly(Cycle now) {
  if (!entries_.CanPush(now)) return false;
  PushMark(now);
  EndMessage(now, message_.record.last_psn + 1);
  return true;
}

bool Requester::SendPacket(Cycle now) {
  const spec::WorkRequest& work = work_request_in.front();
  Message& message = message_;
  const spec::SendRecord& record = message.record;
  // Between packets, and not before a message that has no record yet. A local invalidate or bind waits for none.
  if (message.cut_bytes == 0 && record.status == IbWcStatus::kSuccess && !message.is_local) {
    const bool waits = !work.is_replay && Waits(now);
    const uint8_t hold = front_hold_.Read(now - 1, record.qpn);
    const Resumed& resumed = front_resumed_.Read(now - 1, record.qpn);
    // A replay belongs to one hold, new work to none.
    const bool held = work.is_replay ? hold != work.epoch : hold != resumed.epoch || resumed.by_itself || waits;
    if (held && message.first && !work.is_replay) {
      if (!entries_.CanPush(now)) return false;
      if (waits) front_resumed_.Write(now, record.qpn, {.by_itself = true, .epoch = resumed.epoch});
      CountRead(now);
      entries_.Push(now, Entry{.first = true,
                               .start = true,
                               .ends = true,
                               .unsent = true,
                               .recovers = message.recovers,
                               .send_only = IsSendOnly(message.service),
                               .epoch = message.epoch,
                               .record = record});
      EndMessage(now, record.last_psn + 1);
      return true;
    }
    if (held || (!message.first && !IsSending(front_state_.Read(now - 1, record.qpn)))) {
      if (!EndEarly(now)) front_ = Front::kLeave;
      return true;
    }
  }
  const uint32_t mtu = 1U << message.shift;
  const bool last = message.left <= mtu;
  const bool ends = last || (message.packets != 0 && message.psn == message.end_psn);
  const uint32_t payload = last ? message.left : mtu;
  const uint32_t rest = payload - message.cut_bytes;
  if (rest != 0 && message.element_left == 0) {
    Advance();
    return true;
  }
  const bool changes_key = message.is_local && record.status == IbWcStatus::kSuccess;
  const bool placed = (rest != 0 && !message.is_inline) || changes_key;
  // The room comes first: from the check on, nothing waits for the wire. Nor do loads, or commands would.
  const bool begins = message.cut_bytes == 0 && record.status == IbWcStatus::kSuccess && !message.is_local;
  if (begins && room_.At(now) == room_used_) return load_in.CanPop(now) && Load(now);
  if (!entries_.CanPush(now) || (placed && check_)) return false;
  if (begins) {
    ++room_used_;
    on_room_used(now + 1);
  }
  const uint32_t piece = std::min(message.element_left, rest);
  Entry entry{.first = message.first,
              .start = message.cut_bytes == 0,
              .room = begins,
              .ends = piece == rest && ends,
              .more = piece != rest,
              .placed = placed,
              .direct = message.is_inline,
              .recovers = message.first && message.recovers,
              .send_only = IsSendOnly(message.service),
              .first_transmission = work.first_transmission,
              .packets = message.packets,
              .epoch = message.epoch,
              .serial = work.serial,
              .address = message.address,
              .record = record};
  if (message.operation != nullptr) entry.packet = PacketOf(payload, last, ends);
  if (message.is_carried && payload != 0) {
    entry.packet.has_inline = true;
    std::copy(std::begin(message.data), std::end(message.data), entry.packet.inline_data);
  }
  if (message.is_read && record.status == IbWcStatus::kSuccess) {
    entry.read = true;
    entry.read_record = ReadRecordOf(now);
  }
  entry.is_local = changes_key;
  entry.is_bind = changes_key && (message.is_bind || message.is_register);
  if (entry.is_bind) {
    check_ = message.is_bind ? BindCheck() : RegistrationCheck();
  } else if (changes_key) {
    check_ = spec::MemoryCheck{.key = spec::Ieth::Decode(message.request.imm_data).rkey,
                               .pdn = message.pdn,
                               .invalidate = true,
                               .qpn = record.qpn};
  } else if (placed) {
    check_ = spec::MemoryCheck{
        .key = elements_[message.element].lkey, .pdn = message.pdn, .address = message.address, .bytes = piece};
  }
  if (message.first && !work.is_replay) CountRead(now);
  entries_.Push(now, entry);
  message.first = false;
  message.cut_bytes += piece;
  message.address += piece;
  message.element_left -= piece;
  if (message.element_left == 0 && message.element + 1 < elements_.size()) Advance();
  if (piece != rest) return true;
  message.cut_bytes = 0;
  message.left -= payload;
  message.psn = (message.psn + 1) & kPsnMask;
  if (ends && !last && !work.is_replay) {
    // The completer has a record of that, and requests the rest.
    const uint8_t epoch = front_resumed_.Read(now - 1, record.qpn).epoch;
    front_resumed_.Write(now, record.qpn, {.by_itself = true, .epoch = epoch});
  }
  // A failure before the first packet uses no PSN: its last one is the one before its first.
  if (ends) EndMessage(now, record.last_psn + 1);
  return true;
}

spec::MemoryCheck Requester::BindCheck() const {
  using Access = spec::IbAccessFlags;
  const auto bind = spec::RdmaSqReqBind::Decode(message_.request.wr);
  return {.key = bind.rkey,
          .pdn = message_.pdn,
          .remote_write = (bind.access_flags & Access::kRemoteWrite) != 0,
          .remote_read = (bind.access_flags & Access::kRemoteRead) != 0,
          .remote_atomic = (bind.access_flags & Access::kRemoteAtomic) != 0,
          .address = bind.addr,
          .bytes = static_cast<uint32_t>(bind.length),
          .qpn = message_.record.qpn,
          .binds = true,
          .zero_based = (bind.access_flags & Access::kZeroBased) != 0,
          .lkey = bind.lkey,
          .bytes_high = static_cast<uint32_t>(bind.length >> 32)};
}

spec::MemoryCheck Requester::RegistrationCheck() const {
  using Access = spec::IbAccessFlags;
  const auto reg = spec::RdmaSqReqReg::Decode(message_.request.wr);
  return {.key = reg.key,
          .pdn = message_.pdn,
          .local_write = (reg.access_flags & Access::kLocalWrite) != 0,
          .remote_write = (reg.access_flags & Access::kRemoteWrite) != 0,
          .remote_read = (reg.access_flags & Access::kRemoteRead) != 0,
          .remote_atomic = (reg.access_flags & Access::kRemoteAtomic) != 0,
          .address = reg.virt_addr,
          .bytes = static_cast<uint32_t>(reg.length),
          .qpn = message_.record.qpn,
          .lkey = reg.page_shift | message_.count << 8,
          .bytes_high = static_cast<uint32_t>(reg.length >> 32),
          .registers = true};
}

// Every READ has one record.
void Requester::CountRead(Cycle now) {
  if (!message_.is_read) return;
  const uint32_t qpn = message_.record.qpn;
  reads_started_.Write(now, qpn, static_cast<uint8_t>(reads_started_.Read(now - 1, qpn) + 1));
}

// The packet that starts at the message's PSN.
spec::TxPacket Requester::PacketOf(uint32_t payload, bool last, bool ends) const {
  const Message& message = message_;
  const bool is_connected = message.service == BthService::kRc;
  const bool begins = message.psn == message.record.first_psn;
  const BthOpcode opcode = message.operation->bth[(last ? 2 : 0) + (begins ? 1 : 0)];
  const spec::OpcodeInfo& info = spec::kOpcodeInfo[static_cast<uint8_t>(opcode)];
  spec::TxPacket packet{
      .qpn = message.record.qpn,
      .opcode = opcode,
      .solicited_event = last && info.may_solicit && (message.request.send_flags & IbSendFlags::kSolicited) != 0,
      .ack_req = is_connected && (ends || (message.psn + 1) % spec::kSendAckPackets == 0),
      .psn = message.psn,
      .payload_bytes = static_cast<uint16_t>(payload),
      .reports = last && !is_connected,
  };
  if (info.has_atomic_eth && message.record.status == IbWcStatus::kSuccess) {
    const auto atomic = spec::RdmaSqReqAtomic::Decode(message.request.wr);
    const bool swaps = opcode == BthOpcode::kRcCompareSwap;
    spec::AtomicEth{.virtual_address = atomic.remote_addr,
                    .rkey = atomic.rkey,
                    .swap_add_data = swaps ? atomic.swap : atomic.compare_add,
                    .compare_data = swaps ? atomic.compare_add : 0}
        .Encode(packet.extension);
  }
  if (message.is_flush) {
    const auto flush = spec::RdmaSqReqFlush::Decode(message.request.wr);
    spec::Feth{.selectivity = static_cast<spec::FlushSelectivity>(flush.selectivity), .placement = flush.placement}
        .Encode(packet.extension);
    spec::Reth{.virtual_address = flush.remote_addr, .rkey = flush.rkey, .dma_length = flush.length}.Encode(
        packet.extension + spec::Feth::kBytes);
  } else if (message.is_store) {
    const auto atomic = spec::RdmaSqReqAtomic::Decode(message.request.wr);
    spec::Reth{.virtual_address = atomic.remote_addr, .rkey = atomic.rkey, .dma_length = spec::kAtomicBytes}.Encode(
        packet.extension);
    for (unsigned i = 0; i < spec::kAtomicBytes; ++i) {
      packet.extension[spec::Reth::kBytes + i] = static_cast<uint8_t>(atomic.compare_add >> 8 * i);
    }
  } else if (info.has_reth) {
    const auto rdma = spec::RdmaSqReqRdma::Decode(message.request.wr);
    spec::Reth{.virtual_address = rdma.remote_addr + message.skip,
               .rkey = rdma.rkey,
               .dma_length = message.length - message.skip}
        .Encode(packet.extension);
  }
  if (info.has_deth) {
    const auto datagram = spec::RdmaSqReqUd::Decode(message.request.wr);
    packet.has_ah = true;
    packet.ah = static_cast<uint16_t>(datagram.ah);
    packet.dest_qpn = datagram.remote_qpn & kQpnMask;
    spec::Deth{.qkey = message.qkey, .source_qp = message.record.qpn}.Encode(packet.extension);
  }
  if (info.has_immdt) {
    std::copy(std::begin(message.request.imm_data), std::end(message.request.imm_data),
              packet.extension + (info.immdt_offset - spec::Bth::kBytes));
  }
  if (info.has_ieth) {
    std::copy(std::begin(message.request.imm_data), std::end(message.request.imm_data),
              packet.extension + (info.ieth_offset - spec::Bth::kBytes));
  }
  return packet;
}

spec::ReadRecord Requester::ReadRecordOf(Cycle now) {
  const spec::WorkRequest& work = work_request_in.front();
  const Parsed parsed = Parse(work, message_.service);
  spec::ReadRecord read{.qpn = message_.record.qpn,
                        .number = work.is_replay ? work.number : reads_started_.Read(now - 1, message_.record.qpn),
                        .first_psn = message_.record.first_psn,
                        .last_psn = message_.record.last_psn,
                        .bytes = message_.length,
                        .elements = parsed.list,
                        .num_sge = static_cast<uint8_t>(parsed.num_sge),
                        .is_atomic = message_.is_atomic};
  if (parsed.num_sge != 0) parsed.sge.Encode(read.sge);
  return read;
}

void Requester::PopEntry(Cycle now) {
  const Entry& entry = entries_.front();
  if (entry.ends && (entry.record.is_replay || has_packets_)) {
    if (!ends_) ends_ = WorkEnds{};
    (entry.record.is_replay ? ends_->replay : ends_->work) = true;
    ends_->serial = entry.serial;
  }
  if (entries_.front().placed) {
    const spec::MemoryGrant grant = memory_place_in.Pop(now).grant;
    // A packet that is not sent: its payload is not read.
    const bool sent = back_ == Back::kJob && !drop_;
    if (!sent && grant.valid) on_grant_ended(now, now + 1, grant);
  }
  if (entry.room && back_ != Back::kJob) {
    room_unused_ = true;
    on_room_unused(now + 1);
  }
  entries_.Pop(now);
  ++entries_ended_;
  back_ = Back::kIdle;
}

bool Requester::RunBack(Cycle now) {
  switch (back_) {
    case Back::kIdle:
      if (!entries_.CanPop(now) || (entries_.front().placed && !memory_place_in.CanPop(now))) return false;
      back_ = Back::kDecide;
      return true;
    case Back::kDecide: return Decide(now);
    case Back::kRead:
      if (record_ || read_) return false;
      read_ = entries_.front().read_record;
      back_ = Back::kJob;
      return true;
    case Back::kJob: {
      // Not before the completer has accepted the record, so that no acknowledge can arrive first; nor a READ's
      // response before the responder has its record.
      if (record_ || read_ || job_) return false;
      const Entry& entry = entries_.front();
      job_ = spec::TxJob{.packet = entry.packet, .more = entry.more && !drop_, .drop = drop_};
      job_->packet.last_psn = entry.read ? entry.record.last_psn : entry.packet.psn;
      job_->packet.epoch = generation_;
      if (drop_ || entry.packet.has_inline) {
        // Nothing is read.
      } else if (entry.placed) {
        const spec::MemoryPlace& place = memory_place_in.front();
        job_->grant = place.grant;
        job_->address0 = place.address0;
        job_->bytes0 = place.bytes0;
        job_->address1 = place.address1;
        job_->bytes1 = place.bytes1;
      } else if (entry.direct && entry.packet.payload_bytes != 0) {
        job_->address0 = entry.address;
        job_->bytes0 = entry.packet.payload_bytes;
      }
      resent_ = entry.record.is_replay && !entry.first_transmission && !job_->more && !drop_;
      if (!job_->more) {
        ends_ = WorkEnds{.issued = true};
        ++packets_begun_;
      }
      if (drop_ && !entry.record.is_replay) {
        back_ = Back::kFail;
      } else {
        PopEntry(now);
      }
      return true;
    }
    case Back::kFail:
      // After the record, so that the completer has the reason before everything flushes.
      if (record_ || failure_) return false;
      failure_ = spec::QpFailure{.qpn = entries_.front().record.qpn,
                                 .event_type = spec::RdmaEventType::kQpFatal,
                                 .code = code_,
                                 .send_only = entries_.front().send_only,
                                 .reported = true};
      PopEntry(now);
      return true;
  }
  return false;
}

bool Requester::Decide(Cycle now) {
  const Entry& entry = entries_.front();
  const uint32_t qpn = entry.record.qpn;
  const bool is_replay = entry.record.is_replay;
  if (entry.load) {
    if (hold_now_) return false;
    halted_.Write(now, qpn, {});
    back_hold_.Write(now, qpn, 0);
    back_resumed_.Write(now, qpn, 0);
    PopEntry(now);
    return true;
  }
  if (entry.resume) {
    back_resumed_.Write(now, qpn, entry.epoch);
    PopEntry(now);
    return true;
  }
  if (entry.mark) {
    PopEntry(now);
    return true;
  }
  // A packet that was started is finished, unless its memory check fails.
  Halted halted = halted_.Read(now - 1, qpn);
  halted.send_only = halted.send_only && !entry.recovers;
  const bool can_send = IsSending(back_state_.Read(now - 1, qpn)) && !halted.until_load && !halted.send_only;
  generation_ = is_replay ? entry.epoch : back_resumed_.Read(now - 1, qpn);
  const bool held = !entry.is_local && (entry.unsent || back_hold_.Read(now - 1, qpn) != generation_);
  if ((!entry.first && stop_) || ((!entry.first || is_replay) && entry.start && (!can_send || held))) {
    // The rest of a message whose record failed, flushes or is kept for a replay; or an outdated replay.
    stop_ = true;
    PopEntry(now);
    return true;
  }
  if (record_) return false;
  spec::SendRecord record = entry.record;
  record.replaces = !entry.first || is_replay;
  if (entry.first && !can_send) {
    record.status = IbWcStatus::kWrFlushErr;
    record.vendor_err = 0;
  } else if (record.status == IbWcStatus::kSuccess && entry.placed &&
             memory_place_in.front().status != MemoryStatus::kOk) {
    // [IBTA vol. 1, 11.6.2: local protection error, memory management operation error]
    record.status = entry.is_bind    ? IbWcStatus::kMwBindErr
                    : entry.is_local ? IbWcStatus::kLocQpOpErr
                                     : IbWcStatus::kLocProtErr;
    record.vendor_err = static_cast<uint32_t>(MemoryError(memory_place_in.front().status));
  }
  const bool fails = record.status != IbWcStatus::kSuccess;
  record.is_local = entry.is_local && !fails;
  record.unsent = held && entry.first && !fails;
  // A burst starts, of new work or of a replay, and more of the message follows.
  const bool continues = entry.first && entry.packets != 0 && !fails && !held;
  if (continues) {
    record.packets = entry.packets;
    if (is_replay) record.epoch = entry.epoch;
  }
  if (entry.recovers && can_send) {
    record.recovers = true;
    record.epoch = entry.epoch;
  }
  if (fails || (entry.first && !is_replay) || continues) record_ = record;
  stop_ = fails || (entry.first && held);
  if (entry.first) has_packets_ = !stop_ && !entry.is_local;
  drop_ = stop_ && !entry.start;
  code_ = record.vendor_err;
  // A flush because of the QP's state does not change that state: SQE may end, and later work may be sent. The
  // completer judges a replay's failure: the record may have been acknowledged.
  const bool halts = fails && !is_replay && (record.status != IbWcStatus::kWrFlushErr || record.no_completion);
  if (halts) (entry.send_only && !record.no_completion ? halted.send_only : halted.until_load) = true;
  if (halts || entry.recovers) halted_.Write(now, qpn, halted);
  if (!stop_ && entry.is_local) {
    PopEntry(now);
    return true;
  }
  if (!stop_ || drop_) back_ = entry.read ? Back::kRead : Back::kJob;
  if (!stop_) return true;
  if (drop_) return true;
  if (!fails || is_replay || record.status == IbWcStatus::kWrFlushErr) {
    // The block that put the QP into ERR, or stopped its queue, has reported it.
    PopEntry(now);
  } else {
    back_ = Back::kFail;
  }
  return true;
}

bool Requester::IsIdle() const {
  return front_ == Front::kIdle && work_request_in.size() == 0 && load_in.size() == 0 && entries_.size() == 0 &&
         !check_ && !record_ && !job_ && !failure_ && !next_psn_ && !ends_ && !room_unused_;
}

}  // namespace vireo::model
