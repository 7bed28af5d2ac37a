// SPDX-License-Identifier: Apache-2.0
// Executes the RDMA READs of peers, and sends no response of a QP before the responses of the READs before it: the
// counterpart of rtl/rdma/vireo_read_responder.sv. It does not validate or count requests; it handles no path and no
// payload, only the payload's location, for which it queries memory_check one packet at a time.
//
// An answer that cannot be sent at once is held, and a later one of its QP replaces it: at most one per QP waits for
// the transmitter.
//
// A response takes 2 cycles, a held one 2 more, the end of a QP's READs 2, a READ response without bytes 4, one with
// bytes 4 plus its memory check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/event_count.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/meters.h"
#include "model/common/table.h"
#include "model/rdma/stop_pulse.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class ReadResponder final : public Block {
 public:
  // Unloaded, from the cycle in which an rx_answer is accepted to the one in which this is visible:
  static constexpr Cycle kAnswerToPacket = 3;  // the same, of a QP with nothing pending here
  static constexpr Cycle kAnswerToJob = 6;     // the same, held back
  static constexpr Cycle kAnswerToLate = 6;    // its packet, if the output was busy in the next cycle
  static constexpr Cycle kReadToCheck = 7;     // the memory_check of the first response
  static constexpr Cycle kReadToJob = 8;       // the response of a READ without bytes
  // From the cycle in which a packet is taken to the answer that waited for that.
  static constexpr Cycle kTakenToPacket = 2;
  // From the cycle in which a memory_place is accepted on.
  static constexpr Cycle kPlaceToJob = 2;
  static constexpr Cycle kPlaceToCheck = 6;  // of the next response, if the job is taken at once
  // From the cycle in which an atomic_result is accepted to its job; the atomic_request leaves as a job.
  static constexpr Cycle kResultToJob = 5;
  // From the first cycle without hold_i to the memory_check of a response that waited.
  static constexpr Cycle kReleaseToCheck = 4;
  // From the qp_state_write to the qp_reads of what is dropped.
  static constexpr Cycle kStateToReads = 4;

  // Atomic operations at a time, until their result is taken: so none that was granted waits for room in tx_gather.
  static constexpr size_t kAtomics = 32;

  // num_qps: a power of two; max_rd_atomic: concurrent READs of a QP, enforced by the responder.
  ReadResponder(Agenda& agenda, size_t num_qps, size_t max_rd_atomic, size_t data_bits);
  ReadResponder(Agenda& agenda, const spec::Config& config)
      : ReadResponder(agenda, config.num_qps, config.max_rd_atomic, config.datapath_bits) {}

  Channel<spec::RxAnswer> answer_in;
  Channel<spec::MemoryPlace> memory_place_in;
  Channel<spec::AtomicResult> result_in = Channel<spec::AtomicResult>::Fifo(kAtomics);  // room for all
  Output<spec::TxPacket> packet_out;
  Output<spec::TxJob> job_out;
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::AtomicRequest> atomic_out;
  Output<spec::QpFailure> failure_out;

  // Called in the cycle of the pulse.
  std::function<void(Cycle, const spec::QpReads&)> on_qp_reads = [](Cycle, const spec::QpReads&) {};

  // A packet is issued with that. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_room_used = [](Cycle) {};

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip) { attributes_table_.OnFlip(now, flip); }
  // The attributes of a QP with a READ have bad parity; it is not executed. Reported ahead, with the cycle of the
  // pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);
  // A job of ours has left tx_gather, and tx_builder has taken its packet.
  void OnResponseTaken(Cycle cycle) { jobs_left_.Add(cycle); }
  // Room in tx_gather for one more packet, by a pulse in cycle `cycle`.
  void OnRoom(Cycle cycle);
  // hold_i from cycle `from` on, which has not ended; initially 0. From the next cycle on no job is started.
  void SetHold(Cycle from, bool hold);
  // Pulse in cycle `now`: what waits here of this queue pair is stale.
  void OnStopped(Cycle now, const QpStop& stop);

  void Run(Cycle now) override;
  // Nothing is being issued, no answer waits, and what QPs had that were stopped before is dropped.
  bool IsSettled() const { return state_ == State::kChoose && drop_.IsEmpty() && answer_in.size() == 0; }
  // Counts how busy the machine is; null: it does not. Must outlive this.
  void SetMeter(BlockMeter* meter) { meter_ = meter; }
  bool CanRunTwice() const override { return state_ != State::kChoose; }  // choices read what turns have written
  // Jobs that were issued.
  uint64_t responses_begun() const { return responses_begun_; }
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  enum class State { kChoose, kAnswer, kTurn, kEntry, kIssue, kResult, kRespond };
  struct Attributes {
    uint16_t pdn = 0;
    spec::IbMtu path_mtu{};
  };
  // A held or waiting response.
  struct Held {
    uint32_t psn = 0;
    spec::Aeth aeth;
  };
  struct Read {
    uint32_t psn = 0;  // of the first response
    spec::Aeth aeth;   // of every response that has one
    uint64_t address = 0;
    uint32_t rkey = 0;
    uint32_t bytes = 0;
    // An atomic operation; its operands are as in an AtomicETH.
    bool is_atomic = false;
    bool is_duplicate = false;
    bool is_swap = false;
    bool is_write = false;  // ATOMIC WRITE: `swap_add` is its value
    bool is_flush = false;  // FLUSH, with the two below
    bool whole = false;     // of the region
    uint8_t placement = 0;
    uint64_t swap_add = 0;
    uint64_t compare = 0;
  };
  // Pending work of a QP.
  struct Row {
    bool halted = false;  // a key check failed: nothing more is sent until the QP is reset
    uint8_t ended = 0;    // READs, as in qp_reads
    uint16_t last = 0;    // number of the last job issued
    std::optional<Held> held;
    std::deque<Read> reads;
    bool parked = false;  // the oldest one is an atomic operation that is being executed
    uint32_t done = 0;    // bytes of the oldest
  };
  // True if there was a transition.
  bool Step(Cycle now);
  bool Choose(Cycle now);
  bool ChooseMeanwhile(Cycle now);
  void Answer(Cycle now);
  State Turn(Cycle now);
  void Cut();
  void IssueJob(Cycle now);
  State Respond(Cycle now);
  void Fail(Cycle now, spec::AethSyndrome syndrome, uint32_t psn, const spec::QpFailure& failure);
  void Load(Cycle now, const spec::TxJob& job);
  void EndAll();
  void ReportReads();
  void PushTurn(Cycle now);
  void PushAck(Cycle now);
  // True if the QP's last job is in flight. The number of a QP that issued none for long wraps to lie ahead again,
  // which only causes a detour.
  bool IsInFlight(Cycle now) { return static_cast<int16_t>(rows_[qpn_].last - jobs_left_.At(now)) > 0; }

  const uint32_t num_qps_;
  const size_t max_rd_atomic_;

  IndexSet drop_;  // QPs whose READs end, because of a state in which nothing is sent
  IndexSet turn_;  // every QP with a READ here or a response behind one, except the one whose turn is in progress
  IndexSet ack_;   // every QP with only an acknowledge that waits for the transmitter
  Table<spec::IbQpState> state_table_;
  ContextTable<Attributes> attributes_table_;
  std::vector<Row> rows_;  // accessed only by this block's machine, one at a time

  // Operations whose result has not been taken, in order.
  struct Operation {
    uint32_t qpn;
    bool stale;
  };
  std::deque<Operation> atomics_;
  StopPulse stopped_;
  uint64_t responses_begun_ = 0;
  BlockMeter* meter_ = nullptr;

  Level<bool> hold_;
  bool held_ = false;  // as of the last cycle: effective in the next one

  State state_ = State::kChoose;
  uint32_t qpn_ = 0;  // of the current turn
  spec::IbQpState qp_state_{};
  Attributes attributes_;
  bool attributes_corrupt_ = false;
  bool dropping_ = false;             // the turn is one of drop_
  bool acking_ = false;               // the turn is one of ack_
  bool room_ = false;                 // the packet's register was free when the answer was chosen
  bool turned_ = false;               // the last grant between answers and turns was for a turn
  std::optional<uint32_t> turn_qpn_;  // of the turn that waits for its memory place while an answer is processed
  uint16_t issued_ = 0;               // jobs issued
  EventCount jobs_left_;
  EventCount job_room_;         // for packets: given
  uint16_t job_room_used_ = 0;  //   and used

  // The packet being cut.
  spec::BthOpcode opcode_{};
  uint32_t psn_ = 0;
  uint32_t bytes_ = 0;
  bool is_last_ = false;
  bool is_checked_ = false;

  std::optional<spec::TxPacket> packet_;
  std::optional<spec::TxJob> job_;
  std::optional<spec::MemoryCheck> check_;
  std::optional<spec::AtomicRequest> atomic_;
  std::optional<spec::QpFailure> failure_;
  std::optional<spec::QpReads> reads_;  // the pulse of the next cycle
};

}  // namespace vireo::model
