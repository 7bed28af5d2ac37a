// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/read_responder.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/common/output_register.h"
#include "model/common/wide_slice.h"
#include "model/rdma/psn.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::AethSyndrome;
using spec::BthOpcode;
using spec::IbQpState;

// States in which a responder responds [IBTA vol. 1, 10.3.1]; also ERR, where no new request is accepted, but responses
// to READs before the failed request, and its NAK after them, are still sent.
bool RespondsIn(IbQpState state) { return state >= IbQpState::kRtr && state <= IbQpState::kErr; }

bool IsNak(const spec::RxAnswer& answer) {
  return !answer.is_read && spec::Aeth::Decode(answer.packet.extension).kind != spec::AethKind::kAck;
}

spec::TxJob Acknowledge(uint32_t qpn, uint32_t psn, const spec::Aeth& aeth) {
  spec::TxJob job{.packet = {.qpn = qpn, .opcode = BthOpcode::kRcAcknowledge, .psn = psn, .is_response = true}};
  aeth.Encode(job.packet.extension);
  return job;
}

}  // namespace

ReadResponder::ReadResponder(Agenda& agenda, size_t num_qps, size_t max_rd_atomic, size_t data_bits)
    : Block(agenda),
      answer_in(WideSlice<spec::RxAnswer>(data_bits)),
      memory_place_in(WideSlice<spec::MemoryPlace>(data_bits)),
      num_qps_(static_cast<uint32_t>(num_qps)),
      max_rd_atomic_(max_rd_atomic),
      drop_(num_qps),
      turn_(num_qps),
      ack_(num_qps),
      state_table_(num_qps),
      attributes_table_(spec::ContextRam::kReadResponderQp, num_qps, on_parity_error),
      rows_(num_qps) {
  answer_in.SetConsumer(this);
  memory_place_in.SetConsumer(this);
  result_in.SetConsumer(this);
}

void ReadResponder::OnTableWrite(Cycle cycle, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kQpContext) return;
  const auto context = spec::TableQpContext::Decode(write.data);
  attributes_table_.Write(cycle, write.index, {.pdn = context.pdn, .path_mtu = context.path_mtu});
}

void ReadResponder::OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write) {
  state_table_.Write(cycle, write.qpn, write.state);
  if (RespondsIn(write.state)) return;
  drop_.Push(cycle, write.qpn);
  WakeAt(std::max(cycle, drop_.PopReady()));
}

void ReadResponder::OnRoom(Cycle cycle) {
  job_room_.Add(cycle);
  WakeAt(cycle + 1);
}

void ReadResponder::SetHold(Cycle from, bool hold) {
  hold_.Set(from, hold);
  WakeAt(from);
}

void ReadResponder::OnStopped(Cycle now, const QpStop& stop) {
  stopped_.Set(now, stop);
  WakeAt(now + 1);
}

void ReadResponder::Run(Cycle now) {
  if (const auto stop = stopped_.Take(now)) {
    if (packet_) packet_->stale |= stop->Marks(*packet_, true);
    for (Operation& operation : atomics_) operation.stale |= stop->all && operation.qpn == stop->qpn;
  }
  if (const auto reads = std::exchange(reads_, std::nullopt)) on_qp_reads(now, *reads);
  bool moved = Leave(now, packet_, packet_out);
  moved |= Leave(now, job_, job_out);
  moved |= Leave(now, check_, memory_check_out);
  moved |= Leave(now, atomic_, atomic_out);
  moved |= Leave(now, failure_, failure_out);
  const bool stepped = Step(now);
  moved |= stepped;
  if (meter_ != nullptr) {
    meter_->OnMachine(now, stepped || state_ != State::kChoose, !stepped && state_ == State::kIssue);
  }
  if (const bool hold = hold_.At(now); hold != held_) {
    held_ = hold;
    moved = true;
  }
  if (moved) WakeAt(now + 1);
}

bool ReadResponder::Step(Cycle now) {
  switch (state_) {
    case State::kChoose: return Choose(now);
    case State::kAnswer:
      Answer(now);
      state_ = turn_qpn_ ? State::kIssue : State::kChoose;
      if (turn_qpn_) qpn_ = *std::exchange(turn_qpn_, std::nullopt);
      return true;
    case State::kTurn: state_ = Turn(now); return true;
    case State::kEntry:
      state_ = State::kChoose;
      if (attributes_corrupt_) return true;
      if (rows_[qpn_].reads.front().is_atomic && atomics_.size() == kAtomics) {
        PushTurn(now);
        return true;
      }
      Cut();
      state_ = State::kIssue;
      return true;
    case State::kIssue:
      if (is_checked_ && !memory_place_in.CanPop(now)) return ChooseMeanwhile(now);
      if (atomic_ && rows_[qpn_].reads.front().is_atomic &&
          !(is_checked_ && memory_place_in.front().status != spec::MemoryStatus::kOk)) {
        return false;
      }
      IssueJob(now);
      state_ = State::kChoose;
      return true;
    case State::kResult:
      if (rows_[qpn_].parked && !atomics_.front().stale) {
        state_ = State::kRespond;
        return true;
      }
      // Of an earlier lifetime of the QP: nobody waits for it.
      result_in.Drop(now);
      atomics_.pop_front();
      state_ = State::kChoose;
      return true;
    case State::kRespond: state_ = Respond(now); return true;
  }
  return false;
}

bool ReadResponder::Choose(Cycle now) {
  // With space for every result of a turn, so that responses never wait for jobs. Responses issued before a QP's job
  // have left before it.
  const bool can_turn = turn_.CanPop(now) && !job_ && !failure_ && !held_ && job_room_.At(now) != job_room_used_ &&
                        !(packet_ && packet_->qpn % num_qps_ == turn_.front());
  if (drop_.CanPop(now)) {
    qpn_ = drop_.Pop(now);
    WakeAt(drop_.PopReady());
    dropping_ = true;
    acking_ = false;
    state_ = State::kTurn;
  } else if (ack_.CanPop(now) && !packet_) {
    // Before new responses, which could occupy the register indefinitely. The transmitter is slower than this.
    qpn_ = ack_.Pop(now);
    WakeAt(ack_.PopReady());
    dropping_ = false;
    acking_ = true;
    state_ = State::kTurn;
  } else if (result_in.CanPop(now) &&
             (atomics_.front().stale || (!job_ && !failure_ && job_room_.At(now) != job_room_used_ &&
                                         !(packet_ && packet_->qpn % num_qps_ == result_in.front().qpn % num_qps_)))) {
    // What has started ends, also during a hold.
    qpn_ = result_in.front().qpn % num_qps_;
    dropping_ = false;
    acking_ = false;
    state_ = State::kResult;
  } else if (answer_in.CanPop(now) && !(can_turn && !turned_)) {
    qpn_ = answer_in.front().packet.qpn % num_qps_;
    room_ = !packet_;
    turned_ = false;
    state_ = State::kAnswer;
  } else if (can_turn) {
    qpn_ = turn_.Pop(now);
    WakeAt(turn_.PopReady());
    dropping_ = false;
    acking_ = false;
    turned_ = true;
    state_ = State::kTurn;
  } else {
    return false;
  }
  qp_state_ = state_table_.Read(now, qpn_);
  attributes_ = attributes_table_.Peek(now, qpn_);
  attributes_corrupt_ = attributes_table_.corrupt();
  return true;
}

// While a turn waits for its memory place, an answer of another QP is processed.
bool ReadResponder::ChooseMeanwhile(Cycle now) {
  if (!answer_in.CanPop(now)) return false;
  const uint32_t qpn = answer_in.front().packet.qpn % num_qps_;
  if (qpn == qpn_) return false;
  turn_qpn_ = std::exchange(qpn_, qpn);
  room_ = !packet_;
  turned_ = false;
  state_ = State::kAnswer;
  return true;
}

void ReadResponder::Answer(Cycle now) {
  const auto answer = answer_in.Pop(now);
  Row& row = rows_[qpn_];
  const auto aeth = spec::Aeth::Decode(answer.packet.extension);
  // The held acknowledge has a later PSN than the new one, a response to a duplicate request, which does not cover it:
  // it stays.
  const bool retains_held = row.held && IsAhead(row.held->psn, answer.packet.psn);
  if (answer.is_read) {
    assert(row.reads.size() < max_rd_atomic_);
    row.reads.push_back({.psn = answer.packet.psn,
                         .aeth = aeth,
                         .address = answer.address,
                         .rkey = answer.rkey,
                         .bytes = answer.bytes});
    if (answer.packet.opcode != BthOpcode{}) {
      // The rest of an AtomicETH, behind the AETH.
      uint8_t bytes[spec::AtomicEth::kBytes]{};
      constexpr size_t kFirst = spec::AtomicEth::kSwapAddDataOffset;
      std::copy_n(answer.packet.extension + spec::Aeth::kBytes, sizeof bytes - kFirst, bytes + kFirst);
      const auto atomic = spec::AtomicEth::Decode(bytes);
      Read& read = row.reads.back();
      read.is_atomic = true;
      read.is_duplicate = answer.is_duplicate;
      read.is_swap = answer.packet.opcode == BthOpcode::kRcCompareSwap;
      read.is_write = answer.packet.opcode == BthOpcode::kRcAtomicWrite;
      // Behind the RETH's length; in the order of memory.
      constexpr size_t kStore = spec::Aeth::kBytes + spec::Reth::kBytes - spec::Reth::kDmaLengthOffset;
      read.swap_add = atomic.swap_add_data;
      read.is_flush = answer.packet.opcode == BthOpcode::kRcFlush;
      if (read.is_flush) {
        const auto feth = spec::Feth::Decode(answer.packet.extension + kStore);
        read.whole = feth.selectivity == spec::FlushSelectivity::kMemoryRegion;
        read.placement = static_cast<uint8_t>(feth.placement);
      }
      if (read.is_write) read.swap_add = HostValue(answer.packet.extension + kStore);
      read.compare = atomic.compare_data;
    }
    if (!retains_held) row.held.reset();
    PushTurn(now);
    return;
  }
  if (row.halted) return;
  const bool is_free = row.reads.empty() && !IsInFlight(now);
  if (is_free && room_ && (!row.held || (IsNak(answer) && !retains_held))) {
    packet_ = answer.packet;
    // A NAK covers the held acknowledge. [IBTA vol. 1, 9.7.5.1.2]
    row.held.reset();
    return;
  }
  if (!retains_held) row.held = {.psn = answer.packet.psn, .aeth = aeth};
  if (is_free) {
    PushAck(now);
  } else {
    PushTurn(now);
  }
}

ReadResponder::State ReadResponder::Turn(Cycle now) {
  Row& row = rows_[qpn_];
  const bool can_respond = RespondsIn(qp_state_) && !row.halted && !dropping_;
  const bool leaves = row.held && row.reads.empty() && can_respond;
  if (leaves && acking_) {
    if (IsInFlight(now)) {
      // A job was issued meanwhile, or only its number has wrapped to lie ahead.
      PushTurn(now);
      return State::kChoose;
    }
    packet_ = Acknowledge(qpn_, row.held->psn, row.held->aeth).packet;
    packet_->is_response = false;
    row.held.reset();
    return State::kChoose;
  }
  if (leaves) {
    Load(now, Acknowledge(qpn_, row.held->psn, row.held->aeth));
    row.held.reset();
    return State::kChoose;
  }
  if (!can_respond) {
    if (dropping_) row.halted = false;
    row.held.reset();
    row.parked = false;
    if (!row.reads.empty()) {
      EndAll();
      ReportReads();
    }
    return State::kChoose;
  }
  // A QP with READs gets its turns for them.
  if (row.reads.empty() || acking_ || row.parked) return State::kChoose;
  if (attributes_corrupt_) attributes_table_.Report(now - 1);
  return State::kEntry;
}

void ReadResponder::Cut() {
  const Row& row = rows_[qpn_];
  const Read& read = row.reads.front();
  const uint32_t shift = (kMtuShift + static_cast<uint32_t>(attributes_.path_mtu)) % 16;
  const uint32_t mtu = uint32_t{1} << shift;
  const uint32_t left = read.bytes - row.done;
  const bool is_first = row.done == 0;
  is_last_ = left <= mtu;
  bytes_ = is_last_ ? left : mtu;
  // The responses use the PSNs from the request's own on. [IBTA vol. 1, 9.4.4]
  psn_ = Psn(read.psn + (row.done >> shift));
  if (is_first) {
    opcode_ = is_last_ ? BthOpcode::kRcRdmaReadResponseOnly : BthOpcode::kRcRdmaReadResponseFirst;
  } else {
    opcode_ = is_last_ ? BthOpcode::kRcRdmaReadResponseLast : BthOpcode::kRcRdmaReadResponseMiddle;
  }
  // Without bytes no key is checked. [IBTA vol. 1, 9.7.4] A duplicate of an atomic operation accesses nothing.
  is_checked_ = bytes_ != 0 && !read.is_duplicate;
  if (!is_checked_) return;
  check_ = {.key = read.rkey,
            .pdn = attributes_.pdn,
            .remote_write = read.is_write,
            .remote_read = !read.is_atomic,
            .remote_atomic = read.is_atomic && !read.is_write && !read.is_flush,
            .flush_global = (read.placement & spec::FlushPlacement::kGlobalVisibility) != 0,
            .flush_persistent = (read.placement & spec::FlushPlacement::kPersistence) != 0,
            .whole = read.whole,
            .address = read.address + row.done,
            .bytes = bytes_,
            .qpn = qpn_};
}

void ReadResponder::IssueJob(Cycle now) {
  Row& row = rows_[qpn_];
  spec::MemoryPlace place{};
  if (is_checked_) place = memory_place_in.Pop(now);
  const spec::Aeth aeth = row.reads.front().aeth;
  if (place.status != spec::MemoryStatus::kOk) {
    // A NAK may replace any response. [IBTA vol. 1, 9.7.5.2]
    return Fail(now, AethSyndrome::kNakRemoteAccessError, psn_,
                {.qpn = qpn_,
                 .event_type = spec::RdmaEventType::kQpAccessErr,
                 .code = static_cast<uint32_t>(AethSyndrome::kNakRemoteAccessError)});
  }
  if (const Read& read = row.reads.front(); read.is_atomic) {
    // It is executed, and the QP waits for that; others do not.
    atomic_ = {.qpn = qpn_,
               .psn = psn_,
               .is_duplicate = read.is_duplicate,
               .is_swap = read.is_swap,
               .is_write = read.is_write,
               .is_flush = read.is_flush,
               .address = place.address0,
               .grant = place.grant,
               .swap_add = read.swap_add,
               .compare = read.compare};
    row.parked = true;
    atomics_.push_back({.qpn = qpn_, .stale = false});
    return;
  }
  spec::TxJob job{.packet = {.qpn = qpn_,
                             .opcode = opcode_,
                             .psn = psn_,
                             .payload_bytes = static_cast<uint16_t>(bytes_),
                             .is_response = true},
                  .address0 = place.address0,
                  .bytes0 = place.bytes0,
                  .address1 = place.address1,
                  .bytes1 = place.bytes1,
                  .grant = place.grant};
  aeth.Encode(job.packet.extension);
  Load(now, job);
  row.done += bytes_;
  if (is_last_) {
    row.done = 0;
    row.reads.pop_front();
    ++row.ended;
    ReportReads();
  }
  if (!row.reads.empty() || row.held) PushTurn(now);
}

// A NAK replaces the response, and nothing is sent after it.
void ReadResponder::Fail(Cycle now, AethSyndrome syndrome, uint32_t psn, const spec::QpFailure& failure) {
  Row& row = rows_[qpn_];
  spec::TxJob nak = Acknowledge(qpn_, psn, row.reads.front().aeth);
  nak.packet.extension[0] = static_cast<uint8_t>(syndrome);
  Load(now, nak);
  failure_ = failure;
  row.halted = true;
  row.held.reset();
  EndAll();
  ReportReads();
}

// The response to an atomic operation that has ended.
ReadResponder::State ReadResponder::Respond(Cycle now) {
  Row& row = rows_[qpn_];
  const spec::AtomicResult result = result_in.Pop(now);
  atomics_.pop_front();
  const Read& read = row.reads.front();
  row.parked = false;
  if (result.status == spec::AtomicStatus::kFailed) {
    // [IBTA vol. 1, 9.9.5.2]
    Fail(now, AethSyndrome::kNakRemoteOperationalError, read.psn,
         {.qpn = qpn_,
          .event_type = spec::RdmaEventType::kQpFatal,
          .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError)});
    return State::kChoose;
  }
  // A duplicate whose result is not kept is dropped.
  if (result.status == spec::AtomicStatus::kOk) {
    spec::TxJob job{
        .packet = {.qpn = qpn_, .opcode = BthOpcode::kRcAtomicAcknowledge, .psn = read.psn, .is_response = true}};
    read.aeth.Encode(job.packet.extension);
    if (read.is_write || read.is_flush) {
      job.packet.opcode = BthOpcode::kRcRdmaReadResponseOnly;
    } else {
      spec::AtomicAckEth{.original_data = result.value}.Encode(job.packet.extension + spec::Aeth::kBytes);
    }
    Load(now, job);
  }
  row.reads.pop_front();
  ++row.ended;
  ReportReads();
  if (!row.reads.empty() || row.held) PushTurn(now);
  return State::kChoose;
}

void ReadResponder::Load(Cycle now, const spec::TxJob& job) {
  job_ = job;
  ++responses_begun_;
  ++job_room_used_;
  on_room_used(now + 1);
  rows_[qpn_].last = ++issued_;
}

void ReadResponder::EndAll() {
  Row& row = rows_[qpn_];
  row.ended = static_cast<uint8_t>(row.ended + row.reads.size());
  row.reads.clear();
  row.done = 0;
}

void ReadResponder::ReportReads() { reads_ = {.qpn = qpn_, .ended = rows_[qpn_].ended}; }

void ReadResponder::PushTurn(Cycle now) {
  turn_.Push(now, qpn_);
  WakeAt(std::max(now, turn_.PopReady()));
}

void ReadResponder::PushAck(Cycle now) {
  ack_.Push(now, qpn_);
  WakeAt(std::max(now, ack_.PopReady()));
}

bool ReadResponder::IsIdle() const {
  return state_ == State::kChoose && drop_.IsEmpty() && (turn_.IsEmpty() || held_) && ack_.IsEmpty() &&
         answer_in.size() == 0 && result_in.size() == 0 && !packet_ && !job_ && !atomic_ && !check_ && !failure_ &&
         !reads_;
}

}  // namespace vireo::model
