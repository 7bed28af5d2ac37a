// SPDX-License-Identifier: Apache-2.0
// Tells QP control when the device has nothing in progress any more for a QP that it has stopped or flushed, while all
// others go on: the counterpart of rtl/rdma/vireo_qp_sweep.sv. The new state was broadcast: from then on each block
// drops, or flushes, work of this QP when it takes it. What was begun before ends in order, so fences follow each other
// in the direction of the data, and each is for what was begun before its start, of all QPs. None waits for the wire.
// At the end of a stop, packets of this QP that do wait for it are marked stale, at the end of a flush its requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "model/common/agenda.h"
#include "model/common/passage.h"
#include "model/rdma/stop_pulse.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class QpSweep final : public Block {
 public:
  // Until every block uses the new state, and sets of QPs show their work; until the responder reads it.
  static constexpr unsigned kDelay = 8;
  static constexpr unsigned kResponderDelay = 2;
  static constexpr size_t kCompletionSources = 2;

  // What is in progress, as totals of what was begun and of what has ended, in order.
  struct Progress {
    uint64_t begun = 0;
    uint64_t ended = 0;
  };
  // State of the blocks at the end of a cycle.
  struct State {
    // The block is at no work that depends on an earlier state of the QP.
    bool send_queue_settled = false;
    bool requester_settled = false;
    bool responder_settled = false;
    bool read_responder_settled = false;
    bool completer_settled = false;
    Progress fetches;    // reads of work requests
    Progress entries;    // of the requester's queue
    Progress batches;    // requests for receives
    Progress packets;    // of the requester, until their payload is read
    Progress responses;  // jobs of the read responder, until tx_gather has them
    Progress places;     // of the receive scatter, until their outputs are taken
    bool memory_fence = false;
  };
  // The streams whose tokens are to pass.
  struct Passages {
    std::function<void(Passage&)> start_acks;
    std::function<void(Passage&)> advance_acks;
    std::function<bool()> ack_waits;
    std::function<void(Passage&, size_t source)> start_completions;
    std::function<void(Passage&, size_t source)> advance_completions;
    std::function<bool()> completion_waits;
  };

  explicit QpSweep(Agenda& agenda) : Block(agenda) {}

  Passages passages;
  // A new epoch of grants in cycle `now`.
  std::function<void(Cycle now)> on_epoch = [](Cycle) {};
  // Packets of this QP are stale, of one that is flushed its requests, by a pulse in cycle `now`.
  std::function<void(Cycle now, const QpStop& stop)> on_stopped = [](Cycle, const QpStop&) {};

  // The level sweep_i changes in the next cycle.
  void Set(Cycle now, bool sweep);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);
  // The responder's turn in which it notes a QP's state.
  void OnExpectedPsn(const spec::QpPsn& psn) { noted_ = step_ != Step::kIdle && psn.qpn == qpn_; }

  bool IsActive() const { return sweep_ || step_ != Step::kIdle; }
  // swept_o in the cycle after the last Advance.
  bool IsSwept() const { return step_ == Step::kDone; }
  // At the end of cycle `now`, when its blocks have run, while it is active: what happens in cycle `now` + 1.
  void Advance(Cycle now, const State& state);

  // Only keeps time going.
  void Run(Cycle now) override {
    if (IsActive()) WakeAt(now + 1);
  }

 private:
  enum class Step { kIdle, kSettle, kBegun, kAccess, kAnswers, kComplete, kCompletions, kDone };
  struct Fence {
    uint64_t end = 0;
    void Start(const Progress& progress) { end = progress.begun; }
    bool IsBusy(const Progress& progress) const { return progress.ended < end; }
  };

  void Move(Cycle now, const State& state);

  bool sweep_ = false;
  Step step_ = Step::kIdle;
  unsigned delay_ = 0;
  uint32_t qpn_ = 0;
  bool clear_ = false;  // it is stopped
  bool noted_ = false;  // a pulse of the responder for this QP in the last cycle
  // Since the start of the step; of the responder: its turn was over, and since then it has noted the state.
  bool send_queue_seen_ = false, requester_seen_ = false, responder_seen_ = false, noted_seen_ = false;
  bool read_responder_seen_ = false, completer_seen_ = false;
  Fence fetches_, entries_, batches_, packets_, responses_, places_;
  Passage acks_;
  Passage completions_[kCompletionSources];
};

}  // namespace vireo::model
