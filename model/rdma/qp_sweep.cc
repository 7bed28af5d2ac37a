// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/qp_sweep.h"

#include <utility>

namespace vireo::model {

void QpSweep::Set(Cycle now, bool sweep) {
  sweep_ = sweep;
  WakeAt(now + 1);
}

// In the first cycle of the level.
void QpSweep::OnQpStateWrite(Cycle, const spec::QpStateWrite& write) {
  if (step_ != Step::kSettle || delay_ != kDelay) return;
  qpn_ = write.qpn;
  clear_ = write.clear;
}

void QpSweep::Advance(Cycle now, const State& state) {
  if (step_ == Step::kAnswers) passages.advance_acks(acks_);
  if (step_ == Step::kCompletions) {
    for (size_t i = 0; i < kCompletionSources; ++i) passages.advance_completions(completions_[i], i);
  }
  const bool noted = std::exchange(noted_, false);
  const bool notes = step_ != Step::kIdle && responder_seen_ && noted;
  Move(now, state);
  noted_seen_ |= notes;
  if (!sweep_) step_ = Step::kIdle;
}

void QpSweep::Move(Cycle now, const State& state) {
  switch (step_) {
    case Step::kIdle:
      delay_ = kDelay;
      send_queue_seen_ = requester_seen_ = responder_seen_ = noted_seen_ = read_responder_seen_ = completer_seen_ =
          false;
      if (sweep_) step_ = Step::kSettle;
      break;
    case Step::kSettle:
      responder_seen_ |= delay_ <= kDelay - kResponderDelay && state.responder_settled;
      if (delay_ == 0) {
        send_queue_seen_ |= state.send_queue_settled;
        requester_seen_ |= state.requester_settled;
        read_responder_seen_ |= state.read_responder_settled;
        completer_seen_ |= state.completer_settled;
      } else {
        --delay_;
      }
      if (!send_queue_seen_ || !requester_seen_ || !noted_seen_ || !read_responder_seen_ || !completer_seen_) break;
      fetches_.Start(state.fetches);
      entries_.Start(state.entries);
      batches_.Start(state.batches);
      step_ = Step::kBegun;
      break;
    case Step::kBegun:
      if (fetches_.IsBusy(state.fetches) || entries_.IsBusy(state.entries) || batches_.IsBusy(state.batches)) break;
      packets_.Start(state.packets);
      places_.Start(state.places);
      on_epoch(now + 1);
      read_responder_seen_ = completer_seen_ = false;
      step_ = Step::kAccess;
      break;
    case Step::kAccess:
      if (packets_.IsBusy(state.packets) || places_.IsBusy(state.places) || state.memory_fence) break;
      passages.start_acks(acks_);
      step_ = Step::kAnswers;
      break;
    case Step::kAnswers:
      read_responder_seen_ |= state.read_responder_settled;
      if (!read_responder_seen_ || !acks_.HasPassed(passages.ack_waits())) break;
      responses_.Start(state.responses);
      step_ = Step::kComplete;
      break;
    case Step::kComplete:
      if (!state.completer_settled || responses_.IsBusy(state.responses)) break;
      on_stopped(now + 1, {.qpn = qpn_, .all = clear_});
      for (size_t i = 0; i < kCompletionSources; ++i) passages.start_completions(completions_[i], i);
      step_ = Step::kCompletions;
      break;
    case Step::kCompletions:
      for (const Passage& completions : completions_) {
        if (!completions.HasPassed(passages.completion_waits())) return;
      }
      step_ = Step::kDone;
      break;
    case Step::kDone: break;
  }
}

}  // namespace vireo::model
