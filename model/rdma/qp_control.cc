// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/qp_control.h"

#include <bit>
#include <utility>

#include "model/virtio/queue_count.h"

namespace vireo::model {

using spec::IbQpState;
using spec::QpOperation;
using spec::RdmaEventType;

namespace {

// States in which a failure stops a QP. [IBTA vol. 1, 10.3.1]
bool CanFail(IbQpState state) { return state >= IbQpState::kRtr && state <= IbQpState::kSqe; }

// The fields of token and table are wider than the state code.
IbQpState StateOf(uint8_t code) { return static_cast<IbQpState>(code & 7); }

}  // namespace

QpControl::QpControl(Agenda& agenda, const spec::Config& config)
    : QpControl(agenda, config.num_qps, QueuesOf(config), config.max_srqs != 0) {}

QpControl::QpControl(Agenda& agenda, size_t num_qps, size_t num_queues, bool has_shared_queues)
    : Block(agenda),
      desc_fetch_failure_in(Channel<spec::QueueFailure>::Fifo(std::bit_ceil(num_queues))),
      engine_state_(spec::ContextRam::kQpControlState, num_qps, on_parity_error),
      has_shared_queues_(has_shared_queues),
      requested_state_(spec::ContextRam::kQpControlRequested, num_qps, on_parity_error),
      cqns_(spec::ContextRam::kQpControlCqs, num_qps, on_parity_error),
      owner_(spec::ContextRam::kQpControlQueue, num_queues, on_parity_error),
      sends_(num_qps) {
  requester_failure_in.SetConsumer(this);
  completer_failure_in.SetConsumer(this);
  responder_failure_in.SetConsumer(this);
  desc_fetch_failure_in.SetConsumer(this);
  work_failure_in.SetConsumer(this);
  csr_event_in.SetConsumer(this);
  qp_order_in.SetConsumer(this);
  WakeAt(num_qps);
}

void QpControl::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kQpContext) {
    const auto row = spec::TableQpContext::Decode(write.data);
    requested_state_.Write(
        now, write.index,
        {.state = StateOf(static_cast<uint8_t>(row.state)), .is_srq = has_shared_queues_ && row.is_srq});
    cqns_.Write(now, write.index, {row.send_cqn, row.recv_cqn});
  } else if (write.table_id == spec::MgmtTable::kVirtqueue) {
    const auto row = spec::TableVirtqueue::Decode(write.data);
    owner_.Write(now, write.index, {row.kind, row.owner});
  }
}

void QpControl::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  engine_state_.OnFlip(now, flip);
  requested_state_.OnFlip(now, flip);
  cqns_.OnFlip(now, flip);
  owner_.OnFlip(now, flip);
}

void QpControl::OnQpSends(Cycle now, const spec::QpSends& sends) {
  sends_.Write(now, sends.qpn, sends.outstanding != 0);
  if (!drain_ || drain_->qpn != sends.qpn) return;
  drain_->pulse = now;
  drain_->waits = false;
  WakeAt(now + 1);
  WakeAt(now + 2);
}

void QpControl::SetSwept(Cycle from, bool swept) {
  swept_.Set(from, swept);
  if (fence_) WakeAt(from);
}

bool QpControl::IsIdle() const {
  return state_ == State::kIdle && !fence_ && !fenced_ && (!drain_ || drain_->waits) &&
         requester_failure_in.size() == 0 && completer_failure_in.size() == 0 && responder_failure_in.size() == 0 &&
         desc_fetch_failure_in.size() == 0 && work_failure_in.size() == 0 && csr_event_in.size() == 0 &&
         qp_order_in.size() == 0;
}

bool QpControl::CanPop(Cycle now, size_t input) const {
  switch (input) {
    case kRequester: return requester_failure_in.CanPop(now);
    case kCompleter: return completer_failure_in.CanPop(now);
    case kResponder: return responder_failure_in.CanPop(now);
    case kDescFetch: return desc_fetch_failure_in.CanPop(now);
    case kWork: return work_failure_in.CanPop(now);
    case kEvent: return csr_event_in.CanPop(now);
    // An order waits for the end of the previous one; failures do not, or a block that has one would not end. No state
    // is broadcast before the sets of QPs are cleared.
    default: return !fence_ && now >= engine_state_.size() && qp_order_in.CanPop(now);
  }
}

// In a state that is not known nothing can fail or start.
IbQpState QpControl::ReadState(Cycle now, uint32_t qpn) {
  const IbQpState state = engine_state_.Read(now, qpn);
  return engine_state_.corrupt() ? IbQpState::kErr : state;
}

void QpControl::Run(Cycle now) {
  if (auto write = std::exchange(state_write_, std::nullopt)) on_qp_state_write(now, *write);
  if (const auto done = std::exchange(done_, std::nullopt)) on_qp_done(now, *done);
  if (drain_) RunDrain(now);
  fenced_ = fence_;

  // The effect of the order's end is visible one cycle later.
  const bool ends_fence = fence_ && now >= fence_until_ && swept_.At(now);
  switch (state_) {
    case State::kIdle: Take(now); break;
    case State::kQueue:
      if (job_ == Job::kQueueFailure && vq_index_ < owner_.size()) {
        queue_owner_ = owner_.Read(now, vq_index_);
        owner_corrupt_ = owner_.corrupt();
      }
      state_ = State::kQp;
      WakeAt(now + 1);
      break;
    case State::kQp:
      is_cq_ = false;
      if (job_ == Job::kQueueFailure) {
        const bool exists = vq_index_ < owner_.size() && !owner_corrupt_;
        const auto kind = queue_owner_.kind;
        qpn_ = queue_owner_.number;
        is_cq_ = exists && kind == spec::TableQueueKind::kCq;
        has_qp_ = exists && (kind == spec::TableQueueKind::kSq || kind == spec::TableQueueKind::kRq);
      } else {
        has_qp_ = job_ != Job::kEvent;
      }
      has_qp_ = has_qp_ && qpn_ < engine_state_.size();
      if (has_qp_) {
        engine_ = ReadState(now, qpn_);
        wanted_ = requested_state_.Peek(now, qpn_);
        wanted_corrupt_ = requested_state_.corrupt();
      }
      state_ = State::kDecide;
      WakeAt(now + 1);
      break;
    case State::kDecide:
      Decide(now);
      WakeAt(now + 1);
      break;
    case State::kSendEvents:
      if (!host_event_out.CanPush(now)) break;
      host_event_out.Push(now, *event0_);
      event0_ = std::exchange(event1_, std::nullopt);
      if (!event0_) state_ = scanning_ ? State::kScan : State::kIdle;
      WakeAt(now + 1);
      break;
    case State::kScan:
      engine_ = ReadState(now, scan_);
      found_ = cqns_.Read(now, scan_);
      found_corrupt_ = cqns_.corrupt();
      state_ = State::kMatch;
      WakeAt(now + 1);
      break;
    case State::kMatch:
      Match(now);
      WakeAt(now + 1);
      break;
  }
  if (ends_fence) {
    fence_ = false;
    on_sweep(now + 1, false);
    done_ = spec::QpDone{};
    WakeAt(now + 1);
  }
}

// In RTL a table is read in every cycle, and its data is available one cycle later.
void QpControl::RunDrain(Cycle now) {
  if (now >= fence_until_ && sends_.Read(now - 1, drain_->qpn) == 0) {
    drain_.reset();
    done_ = spec::QpDone{.is_drain = true};
    WakeAt(now + 1);
    return;
  }
  drain_->waits = now + 1 >= fence_until_ && sends_.Read(now, drain_->qpn) != 0 && drain_->pulse != now;
}

void QpControl::Take(Cycle now) {
  size_t input = winner_;
  for (size_t i = 0; i < kInputs; ++i) {
    input = (input + 1) % kInputs;
    if (!CanPop(now, input)) continue;
    winner_ = input;
    switch (input) {
      case kDescFetch:
      case kWork: {
        const auto token = (input == kDescFetch ? desc_fetch_failure_in : work_failure_in).Pop(now);
        job_ = Job::kQueueFailure;
        vq_index_ = token.vq_index;
        event_.code = static_cast<uint8_t>(token.code);
        break;
      }
      case kEvent:
        job_ = Job::kEvent;
        event_ = csr_event_in.Pop(now);
        break;
      case kOrder: {
        const auto token = qp_order_in.Pop(now);
        job_ = Job::kOrder;
        qpn_ = token.qpn;
        operation_ = token.operation;
        break;
      }
      default: {
        auto& channel = input == kRequester   ? requester_failure_in
                        : input == kCompleter ? completer_failure_in
                                              : responder_failure_in;
        const auto token = channel.Pop(now);
        job_ = Job::kQpFailure;
        qpn_ = token.qpn;
        event_.event_type = token.event_type;
        event_.code = token.code;
        send_only_ = token.send_only;
        reported_ = token.reported;
        break;
      }
    }
    state_ = State::kQueue;
    WakeAt(now + 1);
    return;
  }
}

void QpControl::SetState(Cycle now, uint32_t qpn, IbQpState state, bool clear) {
  engine_state_.Write(now, qpn, state);
  state_write_ = {.qpn = qpn, .state = state, .clear = clear};
}

// True if the QP completes into the failed CQ.
void QpControl::Match(Cycle now) {
  const uint32_t qpn = scan_++;
  scanning_ = scan_ < engine_state_.size();
  state_ = scanning_ ? State::kScan : State::kIdle;
  if (!CanFail(engine_) || found_corrupt_ || (found_.send != qpn_ && found_.recv != qpn_)) return;
  SetState(now, qpn, IbQpState::kErr);
  event0_ = {
      .event_type = RdmaEventType::kQpFatal, .element = qpn, .code = static_cast<uint32_t>(spec::RdmaError::kCqFailed)};
  state_ = State::kSendEvents;
}

void QpControl::Decide(Cycle now) {
  const bool can_fail_now = has_qp_ && CanFail(engine_);
  const bool is_drained =
      has_qp_ && engine_ == IbQpState::kErr && event_.event_type == RdmaEventType::kQpLastWqeReached;
  state_ = State::kIdle;
  switch (job_) {
    case Job::kQpFailure:
      if (send_only_) {
        // [IBTA vol. 1, 10.3.1.6]
        if (has_qp_ && (engine_ == IbQpState::kRts || engine_ == IbQpState::kSqd)) {
          SetState(now, qpn_, IbQpState::kSqe);
        }
        return;
      }
      if (is_drained) {
        event0_ = {.event_type = event_.event_type, .element = qpn_, .code = event_.code};
        state_ = State::kSendEvents;
        return;
      }
      if (!can_fail_now) return;
      if (event_.event_type != RdmaEventType::kCommEst && event_.event_type != RdmaEventType::kQpLastWqeReached) {
        SetState(now, qpn_, IbQpState::kErr);
      }
      // This event is for errors that no completion can report. [IBTA vol. 1, 11.6.3.2]
      if (reported_ && event_.event_type == RdmaEventType::kQpFatal) return;
      event0_ = {.event_type = event_.event_type, .element = qpn_, .code = event_.code};
      state_ = State::kSendEvents;
      return;
    case Job::kQueueFailure:  // docs/decisions/0003: "Violation", and "CQ full", where the ring is valid
      event0_ = {.event_type = RdmaEventType::kVqErr, .element = vq_index_, .code = event_.code};
      if (can_fail_now) SetState(now, qpn_, IbQpState::kErr);
      if (can_fail_now || is_cq_) {
        event1_ = {.event_type = is_cq_ ? RdmaEventType::kCqErr : RdmaEventType::kQpFatal,
                   .element = qpn_,
                   .code = event_.code};
      }
      if (is_cq_ && event_.code == static_cast<uint32_t>(spec::RdmaError::kCqOverrun)) {
        event0_ = std::exchange(event1_, std::nullopt);
      }
      // The queue of a shared receive queue.
      if (has_qp_ && wanted_.is_srq && !wanted_corrupt_) {
        event1_ = {.event_type = RdmaEventType::kSrqErr, .element = qpn_, .code = event_.code};
        if (event_.code == static_cast<uint32_t>(spec::RdmaError::kOk)) {
          event0_ = std::exchange(event1_, std::nullopt);
          event0_->event_type = RdmaEventType::kSrqLimitReached;
        }
      }
      scanning_ = is_cq_;
      scan_ = 0;
      state_ = State::kSendEvents;
      return;
    case Job::kEvent:
      event0_ = event_;
      state_ = State::kSendEvents;
      return;
    case Job::kOrder: break;
  }
  // tables.toml, table_qp_context
  done_ = spec::QpDone{};
  drain_.reset();
  if (!has_qp_) return;
  switch (operation_) {
    case QpOperation::kStart:
      if (wanted_corrupt_) {
        requested_state_.Report(now - 1);
      } else if (engine_ != IbQpState::kErr) {
        SetState(now, qpn_, wanted_.state);
      }
      return;
    case QpOperation::kDrain:
      if (engine_ == IbQpState::kRts) SetState(now, qpn_, IbQpState::kSqd);
      done_.reset();
      drain_ = Drain{.qpn = qpn_};
      fence_until_ = now + 1 + kFenceCycles;
      WakeAt(fence_until_ - 1);
      WakeAt(fence_until_);
      return;
    case QpOperation::kFlush:
    case QpOperation::kStop: {
      const bool stop = operation_ == QpOperation::kStop;
      SetState(now, qpn_, stop ? IbQpState::kReset : IbQpState::kErr, stop);
      done_.reset();
      fence_ = true;
      on_sweep(now + 1, true);
      fence_until_ = now + 1 + kFenceCycles;
      WakeAt(fence_until_);
      return;
    }
    default: return;  // no such operation: done, without effect
  }
}

}  // namespace vireo::model
