// SPDX-License-Identifier: Apache-2.0
// The one place that changes the state of a QP: by firmware's orders and by failures that other blocks report, one at a
// time. It says the new state to everybody (qp_state_write) and then what the host is to hear (host_event); firmware's
// own events pass through, so that there is one stream of them in the order of happening. A failed virtqueue takes its
// QP along. It knows no attribute but the state that firmware wants, and whose virtqueue is whose.
//
// Counterpart of rtl/rdma/vireo_qp_control.sv; docs/blocks/qp_control.md has the latencies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class QpControl final : public Block {
 public:
  // From the cycle in which a token is accepted to the one in which its outcome is visible, unloaded.
  static constexpr Cycle kLatency = 5;
  // From the pulse of flush, stop or drain to the first cycle in which its end is seen; qp_done comes one cycle later.
  static constexpr Cycle kFenceCycles = 4;
  static constexpr Cycle kSendsToDone = 3;  // of a drain that waits, from the pulse that says 0 to its qp_done

  QpControl(Agenda& agenda, const spec::Config& config);
  QpControl(Agenda& agenda, size_t num_qps, size_t num_queues);

  Channel<spec::QpFailure> requester_failure_in = Channel<spec::QpFailure>::Slice();
  Channel<spec::QpFailure> completer_failure_in = Channel<spec::QpFailure>::Slice();
  Channel<spec::QpFailure> responder_failure_in = Channel<spec::QpFailure>::Slice();
  // Room for every queue, so that those who take what leaves here never wait for it.
  Channel<spec::QueueFailure> desc_fetch_failure_in;
  Channel<spec::QueueFailure> work_failure_in = Channel<spec::QueueFailure>::Slice();
  Channel<spec::HostEvent> csr_event_in = Channel<spec::HostEvent>::Slice();
  Channel<spec::QpOrder> qp_order_in = Channel<spec::QpOrder>::Slice();
  Output<spec::HostEvent> host_event_out;

  // Called in the cycle of the pulse.
  std::function<void(Cycle, const spec::QpStateWrite&)> on_qp_state_write = [](Cycle, const spec::QpStateWrite&) {};
  std::function<void(Cycle, const spec::QpDone&)> on_qp_done = [](Cycle, const spec::QpDone&) {};
  // hold_o from cycle `from` on, which is the next one. 1 from the pulse of flush or stop to the cycle in which quiet
  // is seen.
  std::function<void(Cycle, bool)> on_hold = [](Cycle, bool) {};

  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnQpSends(Cycle now, const spec::QpSends& sends);
  // The level quiet_i from cycle `from` on; to be told before the blocks of that cycle run.
  void SetQuiet(Cycle from, bool quiet);
  // Whether it looks at that level: nobody needs to tell it otherwise, but for the value at the beginning.
  bool IsWaitingForQuiet() const { return fence_; }

  void Run(Cycle now) override;
  // What idle_o is in the next cycle, when all blocks of this one have run.
  bool IsIdle() const;

 private:
  enum class State { kIdle, kQueue, kQp, kDecide, kSay, kScan, kMatch };
  enum class Job { kQpFailure, kQueueFailure, kEvent, kOrder };
  // In the order of round robin.
  enum Input : size_t { kRequester, kCompleter, kResponder, kDescFetch, kWork, kEvent, kOrder, kInputs };
  struct Cqns {
    uint16_t send = 0, recv = 0;
  };
  struct Owner {
    spec::TableQueueKind kind{};
    uint32_t number = 0;
  };

  bool CanPop(Cycle now, size_t input) const;
  void Take(Cycle now);
  void Decide(Cycle now);
  void RunDrain(Cycle now);
  void Match(Cycle now);
  void SetState(Cycle now, uint32_t qpn, spec::IbQpState state, bool clear = false);

  Table<spec::IbQpState> engine_state_;
  Table<spec::IbQpState> wanted_state_;
  Table<Cqns> cqns_;
  Table<Owner> owner_;
  Table<uint8_t> sends_;  // has work requests outstanding

  State state_ = State::kIdle;
  size_t winner_ = kInputs - 1;  // the input served last

  // The token under way.
  Job job_{};
  uint32_t qpn_ = 0;  // of a virtqueue: its owner
  bool has_qp_ = false;
  bool send_only_ = false;
  bool is_cq_ = false;
  bool scanning_ = false;  // a QP is left to be looked up
  uint32_t scan_ = 0;
  uint16_t vq_index_ = 0;
  spec::QpOperation operation_{};
  spec::HostEvent event_;
  spec::IbQpState engine_{};
  spec::IbQpState wanted_{};
  Owner queue_owner_;
  Cqns found_;

  bool fence_ = false;
  bool fenced_ = false;    // in the cycle before: others know of the end one cycle late
  Cycle fence_until_ = 0;  // the first cycle whose quiet, or whose drained send queue, counts
  Level<bool> quiet_;

  // A drain whose end is to be told. Unlike other orders it holds nobody up, and a later order ends it untold.
  struct Drain {
    uint32_t qpn = 0;
    Cycle pulse = kUnknown;  // the last one about it
    bool waits = false;      // for a peer: no work
  };
  std::optional<Drain> drain_;

  // Pulses of the next cycle.
  std::optional<spec::QpStateWrite> state_write_;
  std::optional<spec::QpDone> done_;
  std::optional<spec::HostEvent> say0_, say1_;  // the second only behind the first
};

}  // namespace vireo::model
