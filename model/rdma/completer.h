// SPDX-License-Identifier: Apache-2.0
// Keeps the send records of every QP in order until acknowledges, a failure or a change of state end them, and gives a
// completion for each: the counterpart of rtl/rdma/vireo_completer.sv. It resends nothing and counts no time.
//
// An event takes 2 cycles, 2 more for every record that it looks at, and 1 if it empties the ring.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "model/rdma/qp_set.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Completer final : public Block {
 public:
  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kAckToCompletion = 5;
  static constexpr Cycle kFailedRecordToCompletion = 5;
  static constexpr Cycle kStateToCompletion = 6;

  Completer(Agenda& agenda, const spec::Config& config);

  // The input from cycle `from` on; at first 0.
  void SetMq(Cycle from, bool mq);
  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);

  Channel<spec::SendRecord> record_in = Channel<spec::SendRecord>::Slice();
  Channel<spec::RxAck> ack_in = Channel<spec::RxAck>::Slice();
  Output<spec::Completion> completion_out;
  Output<spec::Doorbell> retired_out;
  Output<spec::QpFailure> failure_out;

  void Run(Cycle now) override;
  // Nothing is under way after the cycles that have run. Records that wait for acknowledges do not count.
  bool IsIdle() const;

 private:
  enum class State { kChoose, kDecide, kRead, kCheck };
  enum class Op { kClear, kFlush, kRecord, kAck };
  // Why records leave.
  enum class Why {
    kForget,  // all, without completion
    kFlush,   // all
    kOwn,     // those that came with a status, and what is behind them
    kAck,     // those that are covered
    kNak,     // those that are covered; the next one fails
  };
  struct Ring {
    bool failed = false;   // it completed something with an error: all else flushes
    uint32_t unacked = 0;  // oldest PSN without an acknowledge
    uint32_t newest = 0;   // last PSN of the newest record
    std::deque<spec::SendRecord> records;
  };

  bool Step(Cycle now);
  bool Choose(Cycle now);
  // Each gives the next state.
  State Decide(Cycle now);
  State DecideRecord(Cycle now);
  State DecideAck(Cycle now);
  State Check(Cycle now);

  const uint32_t num_qps_;
  const uint32_t send_records_;
  const uint32_t first_queue_one_, first_queue_many_;  // with one net queue pair, with all

  Level<uint32_t> first_queue_;  // where the send queues' indices begin
  QpSet clear_;
  QpSet flush_;
  Table<spec::IbQpState> state_table_;
  Table<uint16_t> cqns_;
  std::vector<Ring> rings_;  // only this block's machine looks at them, one event at a time

  State state_ = State::kChoose;
  Op op_ = Op::kClear;
  Why why_ = Why::kForget;
  Cycle chosen_ = 0;  // when the tables were read
  uint32_t qpn_ = 0;
  uint32_t base_ = 0;
  uint32_t covered_ = 0;  // PSNs that the acknowledge covers, from base_ on
  uint16_t cqn_ = 0;
  spec::IbWcStatus nak_status_{};
  uint8_t syndrome_ = 0;

  std::optional<spec::Completion> completion_;
  std::optional<spec::Doorbell> retired_;
  std::optional<spec::QpFailure> failure_;
};

}  // namespace vireo::model
