// SPDX-License-Identifier: Apache-2.0
// The only block that changes the state of a QP: on firmware's orders and on failures that other blocks report, one at
// a time. It broadcasts the new state (qp_state_write) and then sends the event for the host (host_event); firmware's
// own events pass through it, so that all events form one stream in order. A failed virtqueue fails its QP, too. It
// uses only the state that firmware requests and the ownership of virtqueues.
//
// Counterpart of rtl/rdma/vireo_qp_control.sv; docs/blocks/qp_control.md has the latencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class QpControl final : public Block {
 public:
  // From the cycle in which a token is accepted to the one in which its effect is visible, unloaded.
  static constexpr Cycle kLatency = 5;
  // From the pulse of flush, stop or drain to the first cycle in which its end is detected; qp_done comes one cycle
  // later.
  static constexpr Cycle kFenceCycles = 4;
  static constexpr Cycle kSendsToDone = 3;  // of a drain that waits, from the pulse with 0 to its qp_done

  QpControl(Agenda& agenda, const spec::Config& config);
  QpControl(Agenda& agenda, size_t num_qps, size_t num_queues, bool has_shared_queues = true);

  Channel<spec::QpFailure> requester_failure_in = Channel<spec::QpFailure>::Slice();
  Channel<spec::QpFailure> completer_failure_in = Channel<spec::QpFailure>::Slice();
  Channel<spec::QpFailure> responder_failure_in = Channel<spec::QpFailure>::Slice();
  // Space for every queue, so that consumers of this block's outputs never wait for it.
  Channel<spec::QueueFailure> desc_fetch_failure_in;
  Channel<spec::QueueFailure> work_failure_in = Channel<spec::QueueFailure>::Slice();
  Channel<spec::HostEvent> csr_event_in = Channel<spec::HostEvent>::Slice();
  Channel<spec::QpOrder> qp_order_in = Channel<spec::QpOrder>::Slice();
  Output<spec::HostEvent> host_event_out;

  // Called in the cycle of the pulse.
  std::function<void(Cycle, const spec::QpStateWrite&)> on_qp_state_write = [](Cycle, const spec::QpStateWrite&) {};
  std::function<void(Cycle, const spec::QpDone&)> on_qp_done = [](Cycle, const spec::QpDone&) {};
  // sweep_o from cycle `from` on, which is the next one. 1 from the pulse of flush or stop to the cycle in which
  // swept_i is sampled 1.
  std::function<void(Cycle, bool)> on_sweep = [](Cycle, bool) {};

  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // An entry that is used has bad parity, and changes no QP. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnQpSends(Cycle now, const spec::QpSends& sends);
  // The level swept_i from cycle `from` on; to be set before the blocks of that cycle run.
  void SetSwept(Cycle from, bool swept);
  // Whether it samples that level: otherwise it need not be updated after its initial value.
  bool IsSweeping() const { return fence_; }

  void Run(Cycle now) override;
  // idle_o in the next cycle, when all blocks of this one have run.
  bool IsIdle() const;

 private:
  enum class State { kIdle, kQueue, kQp, kDecide, kSendEvents, kScan, kMatch };
  enum class Job { kQpFailure, kQueueFailure, kEvent, kOrder };
  // In round-robin order.
  enum Input : size_t { kRequester, kCompleter, kResponder, kDescFetch, kWork, kEvent, kOrder, kInputs };
  struct Cqns {
    uint16_t send = 0, recv = 0;
  };
  struct Owner {
    spec::TableQueueKind kind{};
    uint32_t number = 0;
  };

  bool CanPop(Cycle now, size_t input) const;
  spec::IbQpState ReadState(Cycle now, uint32_t qpn);
  void Take(Cycle now);
  void Decide(Cycle now);
  void RunDrain(Cycle now);
  void Match(Cycle now);
  void SetState(Cycle now, uint32_t qpn, spec::IbQpState state, bool clear = false);

  ContextTable<spec::IbQpState> engine_state_;
  const bool has_shared_queues_;
  // What firmware requests.
  struct Requested {
    spec::IbQpState state{};
    bool is_srq = false;  // the number is a shared receive queue's
  };
  ContextTable<Requested> requested_state_;
  ContextTable<Cqns> cqns_;
  ContextTable<Owner> owner_;
  Table<uint8_t> sends_;  // has work requests outstanding

  State state_ = State::kIdle;
  size_t winner_ = kInputs - 1;  // the input granted last

  // The current token.
  Job job_{};
  uint32_t qpn_ = 0;  // of a virtqueue: its owner
  bool has_qp_ = false;
  bool send_only_ = false;
  bool reported_ = false;  // by a completion
  bool is_cq_ = false;
  bool scanning_ = false;  // a QP is still to be looked up
  uint32_t scan_ = 0;
  uint16_t vq_index_ = 0;
  spec::QpOperation operation_{};
  spec::HostEvent event_;
  spec::IbQpState engine_{};
  Requested wanted_{};
  bool wanted_corrupt_ = false;
  Owner queue_owner_;
  bool owner_corrupt_ = false;
  Cqns found_;
  bool found_corrupt_ = false;

  bool fence_ = false;
  bool fenced_ = false;    // as of the cycle before: other blocks see the end one cycle late
  Cycle fence_until_ = 0;  // the first cycle whose swept_i, or drained send queue, is valid
  Level<bool> swept_;

  // A drain whose end is to be reported. Unlike other orders it blocks no other, and a later order supersedes it
  // without report.
  struct Drain {
    uint32_t qpn = 0;
    Cycle pulse = kUnknown;  // the last related one
    bool waits = false;      // for the peer: does not count as work
  };
  std::optional<Drain> drain_;

  // Pulses of the next cycle.
  std::optional<spec::QpStateWrite> state_write_;
  std::optional<spec::QpDone> done_;
  std::optional<spec::HostEvent> event0_, event1_;  // the second only after the first
};

}  // namespace vireo::model
