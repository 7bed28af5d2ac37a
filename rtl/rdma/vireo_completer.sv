// SPDX-License-Identifier: Apache-2.0

// Keeps the send_records of every QP in order, as a ring in memory, until acknowledges, a failure or a state change
// retire them; issues a completion for each and reports free records to the send queue. Decides on retransmissions and
// their timing (go-back-N). It reads no work request, sends no packet and has no timer of its own.
//
//   ACK           every record whose last PSN it covers completes with success  [IBTA vol. 1, 9.7.5.1.2]; for UC and UD
//                 tx_gather sends one when a message has left
//   READ response likewise; nothing else completes a READ. An acknowledge past a READ that lacks responses means that
//                 they are lost: it acts as a sequence NAK of the first one  [IBTA vol. 1, 9.9.2: implied NAK]
//   sequence NAK  the records before its PSN complete, and everything from its PSN on is retransmitted
//                 [IBTA vol. 1, 9.7.5.2.3]
//   RNR NAK       likewise, after the wait that it requests  [IBTA vol. 1, 9.7.5.2.8]
//   timeout       everything unacknowledged is retransmitted  [IBTA vol. 1, 9.7.6.1.3]
//   other NAK, a READ response with a status, or no retry left
//                 the oldest unacknowledged record fails [IBTA vol. 1, 9.7.5.2], all others flush
//   failed        a record that arrived with a status completes with it when it is the oldest; then all others flush,
//                 except for UC and UD: the QP is in SQE, and each record has its own status
//                 [IBTA vol. 1, 10.3.1.6]
//   unsent        a packet of UC or UD that cannot be sent fails its record; all others flush until the QP has
//                 left SQE
//   ERR           all flush
//   clear         all are discarded without completion, those that are parked when the fence has passed them
//
// An acknowledge outside the unacknowledged PSN range is ignored. [IBTA vol. 1, 9.7.5]
//
// Retransmission: qp_hold with a new epoch, then one replay per record in order, one per turn of the QP, then a replay
// with resume. Records that arrive meanwhile are at the end of the ring, so the cursor reaches them. At a fence, and at
// a READ above the limit, the replay stops until a READ has left the ring. For a record longer than a burst a replay
// requests one burst, and the next turn comes when the requester reports that this one has started.
//
// A record whose outcome is known while its memory may still be read is parked: its completion follows when the fence
// shows that its packets and its replays have ended. So does the return of its room, without which the QP does not start
// again: so no replay of a lifetime is met by the next one. Parked records stay in their slots, before the oldest other one. So is
// a READ that ends without all its responses: one of them may still be on its way to memory.
//
// A local invalidate has no packets: it completes when all before it have, and is always parked, until every access has
// ended that was granted before.
//
// A QP whose attributes have bad parity: its records are discarded without completion, and nothing else has an effect.
module vireo_completer
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::MtuShift;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_rdma_pkg::key_generation_passed;
#(
  parameter config_t Config,
  parameter int unsigned Places,                             // of the receive scatter
  localparam int unsigned NumQps = Config.num_qps,           // a power of two, 2 or more
  localparam int unsigned SendRecords = Config.send_records,  // per QP; a power of two, 2 or more
  localparam int unsigned BurstBytes = Config.send_burst_bytes
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one
  input  logic              hold_i,  // from the next cycle on no replay is started

  input  logic              table_write_valid_i,
  input  table_write_t      table_write_i,
  input  logic              context_flip_valid_i,
  input  context_flip_t     context_flip_i,
  output logic              parity_error_o,
  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,
  input  logic              qp_sent_valid_i,
  input  qp_sent_t          qp_sent_i,

  input  logic              record_valid_i,
  output logic              record_ready_o,
  input  send_record_t      record_i,

  input  logic              ack_valid_i,
  output logic              ack_ready_o,
  input  rx_ack_t           ack_i,

  input  logic              timer_expired_valid_i,
  output logic              timer_expired_ready_o,
  input  timer_expired_t    timer_expired_i,

  output logic              completion_valid_o,
  input  logic              completion_ready_i,
  output completion_t       completion_o,

  output logic              retired_valid_o,
  input  logic              retired_ready_i,
  output doorbell_t         retired_o,

  output logic              failure_valid_o,
  input  logic              failure_ready_i,
  output qp_failure_t       failure_o,

  output logic              replay_valid_o,
  input  logic              replay_ready_i,
  output replay_t           replay_o,

  output logic              timer_set_valid_o,
  input  logic              timer_set_ready_i,
  output timer_set_t        timer_set_o,

  // Pulses of requester and tx_gather, for the fence.
  input  logic              issued_i,
  input  logic              work_ended_i,
  input  logic              replay_ended_i,
  input  logic [6:0]        replay_serial_i,  // of that replay
  input  logic [1:0]        packets_read_i,

  // Of responder and receive scatter, for the fence of responses.
  input  logic              responder_settled_i,
  input  logic              place_begins_i,
  input  logic              place_ends_i,
  input  logic              place_waits_i,

  // Who completes a local invalidate waits for the accesses that were granted before it: vireo_key_fence.
  input  key_fence_t        key_fence_i,
  output logic              fence_waits_o,

  output logic              qp_hold_valid_o,
  output qp_hold_t          qp_hold_o,
  output logic              qp_reads_valid_o,
  output qp_reads_t         qp_reads_o,

  output logic              settled_o,     // clears and flushes that came before have been done
  output logic              ack_waits_o,   // an acknowledge is at the input
  output logic              idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned SlotBits = $clog2(SendRecords);


  // Two in the slice, one in the requester's register, and those decided before the hold reached the requester; this
  // block accepts one in two cycles.
  localparam logic [7:0] RecordsInFlight = 8'd8;

  // rnr_retry: unlimited. [IBTA vol. 1, 9.7.5.2.8]
  localparam logic [2:0] RnrRetryInfinite = 3'd7;

  // A requester has no more PSNs outstanding than this. [IBTA vol. 1, 9.7.1]
  localparam logic [24:0] MostOutstanding = 25'h80_0000;

  // Packets between requester and tx_gather's output: 64 wait there, and fewer than this are on their way.
  localparam int unsigned FencePackets = 128;
  // Work requests and replays are numbered modulo 2 ** NumberBits.
  localparam int unsigned NumberBits = 10;
  // Replays that have not ended: no other one is started. Far more than there is room for on the way, except for outdated
  // ones while the wire is paused.
  localparam logic [NumberBits-1:0] MostReplays = NumberBits'(128);

  localparam int unsigned FenceBits = $bits(key_fence_i.sent);

  logic [15:0] first_queue;  // index of the first send queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaTransmitqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic record_valid, record_pop, ack_valid, ack_pop, expired_valid, expired_pop;
  send_record_t record;
  /* verilator lint_off UNUSEDSIGNAL */  // msn: for credits, later
  rx_ack_t ack;
  /* verilator lint_on UNUSEDSIGNAL */
  timer_expired_t expired;

  vireo_slice #(.Width(SendRecordBits), .Depth(wide_slice(Config.datapath_bits))) u_record (
    .clk_i, .rst_ni,
    .s_valid_i(record_valid_i), .s_ready_o(record_ready_o), .s_data_i(record_i),
    .m_valid_o(record_valid), .m_ready_i(record_pop), .m_data_o(record)
  );
  vireo_slice #(.Width(RxAckBits)) u_ack (
    .clk_i, .rst_ni,
    .s_valid_i(ack_valid_i), .s_ready_o(ack_ready_o), .s_data_i(ack_i),
    .m_valid_o(ack_valid), .m_ready_i(ack_pop), .m_data_o(ack)
  );
  vireo_slice #(.Width(TimerExpiredBits)) u_timer_expired (
    .clk_i, .rst_ni,
    .s_valid_i(timer_expired_valid_i), .s_ready_o(timer_expired_ready_o), .s_data_i(timer_expired_i),
    .m_valid_o(expired_valid), .m_ready_i(expired_pop), .m_data_o(expired)
  );

  // Two sets, so that a QP that is set up again before its turn is cleared nevertheless.
  logic clear_valid, clear_pop, clear_empty, flush_valid, flush_pop, flush_empty;
  logic [QpBits-1:0] clear_qpn, flush_qpn;

  logic unused_clear_load, unused_flush_load, unused_turn_load;
  logic [QpBits-1:0] unused_clear_index, unused_flush_index, unused_turn_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_clear (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.clear),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(clear_valid), .pop_ready_i(clear_pop), .pop_o(clear_qpn),
    .load_o(unused_clear_load), .load_index_o(unused_clear_index), .empty_o(clear_empty)
  );
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_flush (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.state == 3'(IbQpStateErr)),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(flush_valid), .pop_ready_i(flush_pop), .pop_o(flush_qpn),
    .load_o(unused_flush_load), .load_index_o(unused_flush_index), .empty_o(flush_empty)
  );

  // QPs with something to retransmit; each turn is one replay.
  logic turn_push, turn_valid, turn_pop, turn_empty;
  logic [QpBits-1:0] turn_qpn;
  logic [QpBits-1:0] qpn_d, qpn_q;  // of the current event

  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_turn (
    .clk_i, .rst_ni,
    .push_valid_i(turn_push), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(turn_valid), .pop_ready_i(turn_pop), .pop_o(turn_qpn),
    .load_o(unused_turn_load), .load_index_o(unused_turn_index), .empty_o(turn_empty)
  );

  // QPs with parked records.
  logic parked_push, parked_valid, parked_pop, unused_parked_empty, unused_parked_load;
  logic [QpBits-1:0] parked_qpn, unused_parked_index;

  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_parked (
    .clk_i, .rst_ni,
    .push_valid_i(parked_push), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(parked_valid), .pop_ready_i(parked_pop), .pop_o(parked_qpn),
    .load_o(unused_parked_load), .load_index_o(unused_parked_index), .empty_o(unused_parked_empty)
  );

  logic [NumberBits-1:0] works_ended, replays_ended;
  logic fence_changes;

  vireo_work_fence #(.Packets(FencePackets), .Replays(32'(MostReplays)), .CountBits(NumberBits)) u_fence (
    .clk_i, .rst_ni, .issued_i, .work_ended_i, .replay_ended_i, .replay_serial_i, .packets_read_i,
    .works_o(works_ended), .replays_o(replays_ended), .changes_o(fence_changes)
  );

  localparam int unsigned EpochBits = 16;
  logic response_fence_start, response_fence_changes, response_fence_busy;
  logic [EpochBits-1:0] response_epoch_needed, response_epoch_passed;

  vireo_response_fence #(.Places(Places), .CountBits(EpochBits)) u_response_fence (
    .clk_i, .rst_ni, .start_i(response_fence_start), .responder_settled_i, .place_begins_i, .place_ends_i,
    .place_waits_i, .needed_o(response_epoch_needed), .passed_o(response_epoch_passed),
    .changes_o(response_fence_changes), .busy_o(response_fence_busy)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  // Responses to its READs: are they accepted, or, since it is in ERR, may they be on their way to memory.
  typedef enum logic [1:0] {ResponsesOpen, ResponsesClosing, ResponsesClosed} responses_e;

  // A QP's ring.
  typedef struct packed {
    logic failed;                // it completed something with an error that stops the QP: all others flush
    logic [SlotBits:0] parked;   // in the slots before the oldest
    logic polled;                // in the set of QPs with parked records
    responses_e responses;
    logic [EpochBits-1:0] closed_by;  // ResponsesClosing: they are closed when this epoch has passed
    logic [SlotBits-1:0] oldest;
    logic [SlotBits:0] count;
    logic own_outcome;           // a record that leaves without an acknowledge may be among them
    logic [23:0] unacked;        // oldest unacknowledged PSN
    logic [23:0] newest;         // last PSN of the newest record
    logic [7:0] epoch;      // of the last hold
    logic [7:0] records_before;  // accepted before it, of all QPs
    logic replaying;             // replays or the resume of that hold are still to be issued
    logic [SlotBits:0] cursor;   // while replaying: records, from the oldest on, whose replay was issued
    logic part;                  // of the record at the cursor, a part was requested, up to
    logic [23:0] next;           //   this PSN
    logic awaits;                // no turn before the requester has started that part
    logic [23:0] sent;           // PSNs before it were requested once; at most MostOutstanding from `unacked` on
    logic [7:0] number;          // of records, total
    logic [SlotBits:0] reads;    // READs among the records
    logic [SlotBits:0] reads_replayed;  // READs before the cursor
    logic [7:0] reads_ended;     // READs that have left, total
    logic waits_for_read;                // the replay waits for a READ to leave
    logic waits_for_ack;         // the replay or the resume waits for an acknowledge: too much is outstanding
    logic paused;                // RNR wait: nothing is replayed before the timer expires
    logic nak_replayed;                 // a sequence NAK of `unacked` started the last replay
    logic [2:0] retries;         // started without progress, after sequence NAKs and timeouts
    logic [2:0] rnr_retries;     // likewise after RNR NAKs
    logic timer;                 // it runs
    logic timed;                 // what it covers had been sent when it was set
    logic [7:0] timer_epoch;  // of the last timer_set
  } ring_t;

  // A record as stored.
  typedef struct packed {
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] opcode;      // ib_wc_opcode_e
    logic [7:0] status;      // ib_wc_status_e
    logic [31:0] vendor_err;
    logic signaled;
    logic no_completion;
    logic to_report;              // `status` has not been reported to QP control yet
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic fence;
    logic [31:0] bytes;
    // Numbers of its work request and of its last replay; those of others if it has no packets, or no replay.
    logic [NumberBits-1:0] work;
    logic [NumberBits-1:0] replay;
    logic is_local;
    logic [FenceBits-1:0] sent, received;  // then, when parked: generations of the accesses before it
  } stored_t;

  // Last qp_sent of a QP, and the hold epoch of that packet.
  typedef struct packed {
    logic valid;  // in this instance of the QP
    logic [23:0] psn;
    logic [7:0] epoch;
  } sent_t;

  // QP attributes used for completions and retries.
  typedef struct packed {
    logic reliable;  // RC: acknowledged by the peer
    logic [2:0] path_mtu;  // ib_mtu_e; the requester sends with no other value
    logic [15:0] cqn;
    logic [4:0] timeout;
    logic [2:0] retry_cnt;
    logic [2:0] rnr_retry;
    logic [7:0] max_rd_atomic;
  } attributes_t;

  logic read, ring_write, stored_write, stored_read;
  ring_t ring_stored, ring_d, ring_q, ring;
  stored_t stored_new, stored_in, stored;
  logic [SlotBits-1:0] stored_slot, stored_read_slot;
  logic [2:0] qp_state;
  logic dead_q;          // the attributes of the turn have bad parity
  logic parity_error_q;
  sent_t sent;
  attributes_t attributes_in, attributes;
  logic attributes_corrupt;
  /* verilator lint_off UNUSEDSIGNAL */  // most attributes are used by other blocks
  table_qp_context_t context_in;
  /* verilator lint_on UNUSEDSIGNAL */
  logic unused_bits;

  // Otherwise the written value is zero, so that simulation skips it.
  always_comb begin
    context_in = '0;
    if (table_write_valid_i) begin
      context_in = unpack_table_qp_context(table_write_i.data);
    end
  end

  assign attributes_in = '{reliable: context_in.qp_type == 8'(IbQpTypeRc), path_mtu: context_in.path_mtu[2:0],
                           cqn: context_in.send_cqn,
                           timeout: context_in.timeout, retry_cnt: context_in.retry_cnt,
                           rnr_retry: context_in.rnr_retry, max_rd_atomic: context_in.max_rd_atomic};
  assign unused_bits = &{1'b0, table_write_i.index[23:QpBits], qp_state_write_i.qpn[23:QpBits], record.qpn[23:QpBits],
                         qp_sent_i.qpn[23:QpBits]};

  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(qp_state)
  );
  // Nothing is sent before an instance of the QP starts. [IBTA vol. 1, 10.3.1] A qp_sent in the cycle in which one
  // starts is of the previous one; one of another QP is written one cycle later. Pulses of a kind are never closer.
  logic instance_starts, late_valid_q;
  logic [QpBits-1:0] sent_qpn, late_qpn_q;
  sent_t sent_new, late_q;

  always_comb begin
    instance_starts = qp_state_write_valid_i
               && (qp_state_write_i.state == 3'(IbQpStateReset) || qp_state_write_i.state == 3'(IbQpStateInit)
                   || qp_state_write_i.state == 3'(IbQpStateRtr));
    sent_qpn = qp_sent_i.qpn[QpBits-1:0];
    sent_new = '{valid: 1'b1, psn: qp_sent_i.psn, epoch: qp_sent_i.epoch};
    if (late_valid_q) begin
      sent_qpn = late_qpn_q;
      sent_new = late_q;
    end
    if (instance_starts) begin
      sent_qpn = qp_state_write_i.qpn[QpBits-1:0];
      sent_new = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      late_valid_q <= 1'b0;
    end else begin
      late_valid_q <= instance_starts && qp_sent_valid_i && qp_sent_i.qpn[QpBits-1:0] != qp_state_write_i.qpn[QpBits-1:0];
    end
  end
  always_ff @(posedge clk_i) begin
    late_qpn_q <= qp_sent_i.qpn[QpBits-1:0];
    late_q <= '{valid: 1'b1, psn: qp_sent_i.psn, epoch: qp_sent_i.epoch};
  end

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) late_valid_q |-> !instance_starts && !qp_sent_valid_i)
    else $error("pulses of two cycles");
`endif

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)), .Depth(NumQps), .Ram(ContextRamCompleterQp), .Gates(1'b0)
  ) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(attributes),
    .corrupt_o(attributes_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_table #(.Width($bits(sent_t)), .Depth(NumQps)) u_sent (
    .clk_i, .rst_ni,
    .write_i(instance_starts || late_valid_q || qp_sent_valid_i), .write_address_i(sent_qpn), .write_data_i(sent_new),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(sent)
  );
  vireo_table #(.Width($bits(ring_t)), .Depth(NumQps)) u_ring (
    .clk_i, .rst_ni,
    .write_i(ring_write), .write_address_i(qpn_q), .write_data_i(ring_d),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(ring_stored)
  );
  vireo_ram_1r1w #(.Width($bits(stored_t)), .Depth(NumQps * SendRecords)) u_stored (
    .clk_i,
    .write_i(stored_write), .write_address_i({qpn_q, stored_slot}), .write_data_i(stored_in),
    .read_i(stored_read), .read_address_i({qpn_q, stored_read_slot}), .read_data_o(stored)
  );

  // --- Machine -------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {OpClear, OpFlush, OpRecord, OpRetire, OpTimer, OpAck, OpReplay} op_e;
  typedef enum logic [3:0] {StChoose, StDecide, StAmend, StReplay, StRead, StCheck, StApplyAck, StEnd, StRetire} state_e;
  // Reason for retiring records.
  typedef enum logic [2:0] {
    ReasonDiscard,  // all, without completion
    ReasonFlush,   // all
    ReasonOwnStatus,     // those that arrived with a status, and the records behind them
    ReasonAck,     // those that are covered
    ReasonNak      // those that are covered; the next one fails
  } reason_e;
  // Action after the retirement.
  typedef enum logic [2:0] {NextNothing, NextReplay, NextPause, NextContinue, NextHalt} next_action_e;

  state_e state_d, state_q;
  op_e op_d, op_q;
  reason_e reason_d, reason_q;
  next_action_e next_action_d, next_action_q;
  logic replayed_d, replayed_q;       // the last turn, records excepted, was a replay's
  logic flushed_d, flushed_q;         // the last turn, other records excepted, was that of a record with a status
  logic polled_d, polled_q;           // the last turn, records excepted, was that of a QP with parked records
  logic [QpBits:0] parked_qps_d, parked_qps_q;  // QPs in the set of those
  logic [QpBits:0] polls_left_d, polls_left_q;  // of these, to be examined since the last change of the fence
  logic [NumberBits-1:0] works_started_d, works_started_q;      // records with packets
  logic [NumberBits-1:0] replays_started_d, replays_started_q;  // issued
  logic [NumberBits-1:0] works_open, replays_open;              // that have not ended
  logic pending, awaits, parks, retires, retires_completion;
  responses_e responses;              // as of now
  logic [EpochBits-1:0] response_lead;
  logic fence_current, fence_open;     // of a parked local invalidate: accesses of before it may not have ended
  logic fence_waits_d, fence_waits_q;
  logic [QpBits+SlotBits:0] locals_parked_d, locals_parked_q;
  key_fence_t key_fence_q;             // one cycle ago, while such are parked
  logic key_fence_changes;
  logic [7:0] taken_q;                // records, of all QPs
  logic [QpBits-1:0] last_record_q;   // QP of the last record
  logic flushes, replays, expires, acks;
  logic drained;                      // no record from before the QP's hold is in flight
  logic is_read_d, is_read_q;         // the acknowledge is a READ response
  logic has_status_d, has_status_q;   // it has a status
  logic [24:0] covered_d, covered_q;  // PSNs that the acknowledge covers, from base on
  logic [23:0] base_d, base_q;
  logic [7:0] nak_status_d, nak_status_q, syndrome_d, syndrome_q;
  logic completion_valid_d, completion_valid_q, retired_valid_d, retired_valid_q, failure_valid_d, failure_valid_q;
  logic replay_valid_d, replay_valid_q, timer_set_valid_d, timer_set_valid_q, hold_valid_d, hold_valid_q;
  logic reads_valid_d, reads_valid_q;
  logic all_free, replay_free, timer_free, completion_kept, retired_kept;
  completion_t completion_d, completion_q;
  doorbell_t retired_d, retired_q;
  qp_failure_t failure_d, failure_q;
  replay_t replay_d, replay_q;
  timer_set_t timer_set_d, timer_set_q;
  qp_hold_t hold_d, hold_q;
  qp_reads_t reads_d, reads_q;
  rdma_cq_req_t cqe;

  logic counts, has_timer, fatal, retries_left;
  logic done, ends, leaves, completes, own, reports, stored_is_read, waits, exceeds, awaited, cuts;
  logic level_q;  // hold_i
  logic [15:0] burst;  // packets
  logic [23:0] replay_psn, rest, replay_end;  // where a replay starts, how many packets follow that one, where it ends
  logic [23:0] replay_ahead;        // PSNs outstanding before the replay
  logic [24:0] replay_outstanding;  // with it
  logic [23:0] outstanding;         // PSNs of all records, if all were requested
  logic first_transmission;
  logic comes_positive, is_positive, lost, is_sequence, is_rnr, rnr_forever;
  logic stops, progress, set_timer;
  logic [23:0] sent_ahead;
  logic [1:0] timer_kind;
  logic [SlotBits-1:0] slot_index, newest_slot;
  logic [23:0] distance, stored_first, stored_last, missing;
  logic [24:0] covered;
  logic [7:0] status;
  logic [31:0] vendor, code;
  logic [15:0] queue_index;
  logic [1:0] ack_kind;   // aeth_kind_e
  logic [4:0] ack_value;

  // States in which records are valid; in others they are left over from before a clear.
  function automatic logic keeps_records(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd) || state == 3'(IbQpStateSqe);
  endfunction

  // States in which records complete.
  function automatic logic completes_in(input logic [2:0] state);
    return keeps_records(state) || state == 3'(IbQpStateErr);
  endfunction

  // [IBTA vol. 1, tables 44, 45; 11.6.2]
  function automatic logic [7:0] status_of_nak(input logic [1:0] kind, input logic [4:0] value);
    if (kind == AethKindRnrNak) return IbWcStatusRnrRetryExcErr;
    if (kind == AethKindNak) begin
      unique case (value)
        NakCodePsnSequenceError: return IbWcStatusRetryExcErr;
        NakCodeInvalidRequest: return IbWcStatusRemInvReqErr;
        NakCodeRemoteAccessError: return IbWcStatusRemAccessErr;
        NakCodeRemoteOperationalError: return IbWcStatusRemOpErr;
        default: return IbWcStatusBadRespErr;
      endcase
    end
    return IbWcStatusBadRespErr;
  endfunction

  // Error code of the event.
  function automatic logic [7:0] error_of_nak(input logic [7:0] nak_status);
    unique case (nak_status)
      IbWcStatusRetryExcErr: return RdmaErrorRetryExceeded;
      IbWcStatusRnrRetryExcErr: return RdmaErrorRnrRetryExceeded;
      IbWcStatusRemInvReqErr: return RdmaErrorRemoteInvalidRequest;
      IbWcStatusRemAccessErr: return RdmaErrorRemoteAccessError;
      IbWcStatusRemOpErr: return RdmaErrorRemoteOperationalError;
      default: return RdmaErrorBadResponse;
    endcase
  endfunction

  assign stored_new = '{head: record.head, wr_id: record.wr_id, opcode: record.opcode, status: record.status,
                      vendor_err: record.vendor_err, signaled: record.signaled, no_completion: record.no_completion, to_report: 1'b0,
                      first_psn: record.first_psn, last_psn: record.last_psn, fence: record.fence,
                      bytes: record.bytes,
                      work: record.unsent || record.status != IbWcStatusSuccess || record.is_local
                          ? works_ended : works_started_q + 1'b1,
                      replay: replays_ended, is_local: record.is_local, sent: '0, received: '0};

  always_comb begin
    state_d = state_q;
    op_d = op_q;
    qpn_d = qpn_q;
    reason_d = reason_q;
    next_action_d = next_action_q;
    replayed_d = replayed_q;
    flushed_d = flushed_q;
    is_read_d = is_read_q;
    has_status_d = has_status_q;
    covered_d = covered_q;
    base_d = base_q;
    nak_status_d = nak_status_q;
    syndrome_d = syndrome_q;
    read = 1'b0;
    clear_pop = 1'b0;
    flush_pop = 1'b0;
    record_pop = 1'b0;
    ack_pop = 1'b0;
    expired_pop = 1'b0;
    turn_pop = 1'b0;
    turn_push = 1'b0;
    polled_d = polled_q;
    parked_pop = 1'b0;
    parked_push = 1'b0;
    parked_qps_d = parked_qps_q;
    polls_left_d = polls_left_q;
    works_started_d = works_started_q;
    replays_started_d = replays_started_q;
    fence_waits_d = 1'b0;
    locals_parked_d = locals_parked_q;
    ring = ring_stored;
    ring_d = ring_q;
    response_fence_start = 1'b0;
    ring_write = 1'b0;
    stored_write = 1'b0;
    stored_in = stored_new;
    stored_slot = '0;
    stored_read = 1'b0;
    stored_read_slot = ring_q.oldest;
    completion_kept = completion_valid_q && !completion_ready_i;
    completion_valid_d = completion_kept;
    completion_d = completion_q;
    retired_kept = retired_valid_q && !retired_ready_i;
    retired_valid_d = retired_kept;
    retired_d = retired_q;
    failure_valid_d = failure_valid_q && !failure_ready_i;
    failure_d = failure_q;
    replay_free = !replay_valid_q || replay_ready_i;
    replay_valid_d = !replay_free;
    replay_d = replay_q;
    timer_free = !timer_set_valid_q || timer_set_ready_i;
    timer_set_valid_d = !timer_free;
    timer_set_d = timer_set_q;
    hold_valid_d = 1'b0;
    hold_d = hold_q;
    reads_valid_d = 1'b0;
    reads_d = reads_q;
    all_free = !completion_valid_d && !retired_valid_d && !failure_valid_d;

    // UC, UD: only rx_acks for packets that have left or cannot be sent.
    distance = ack.psn - ring.unacked;
    comes_positive = ack.syndrome[6:5] == AethKindAck;  // the highest bit is reserved
    fatal = (ack.is_read || !attributes.reliable) && ack.status != IbWcStatusSuccess;
    // The records' PSNs may be more than fit into the space of numbers, those that were requested are less than half.
    counts = keeps_records(qp_state) && !ring.failed && ring.count != '0 && distance < ring.sent - ring.unacked
          && (attributes.reliable || (!ack.is_read && (comes_positive || fatal)));
    has_timer = attributes.reliable && attributes.timeout != '0;

    queue_index = first_queue + {15'(qpn_q), 1'b0};
    stored_is_read = is_read_opcode(stored.opcode);
    stored_first = stored.first_psn - base_q;
    stored_last = stored.last_psn - base_q;
    done = {1'b0, stored_last} < covered_q && (is_read_q || !stored_is_read);
    ends = done && {1'b0, stored_last} + 25'd1 == covered_q;
    leaves = 1'b1;
    completes = 1'b1;
    own = 1'b0;
    status = IbWcStatusWrFlushErr;
    vendor = '0;
    if (reason_q == ReasonDiscard || stored.no_completion) begin
      completes = 1'b0;
    end else if (stored.status != IbWcStatusSuccess) begin
      own = 1'b1;
      status = stored.status;
      vendor = stored.vendor_err;
    end else if (stored.is_local && reason_q != ReasonFlush && !ring_q.failed) begin
      status = IbWcStatusSuccess;
    end else if ((reason_q == ReasonAck || reason_q == ReasonNak) && done) begin
      status = IbWcStatusSuccess;
    end else if (reason_q == ReasonNak) begin
      status = nak_status_q;
      vendor = 32'(syndrome_q);
    end else if (reason_q != ReasonFlush && !ring_q.failed) begin
      leaves = 1'b0;
      completes = 1'b0;
    end
    reports = (reason_q == ReasonNak && completes && status != IbWcStatusSuccess && stored.status == IbWcStatusSuccess)
           // Failed when it was read again; when the QP flushes, the host has already been notified.
           || (own && stored.to_report && reason_q != ReasonFlush);
    // A status comes with its error code.
    code = vendor;
    if (!own && !has_status_q) code = 32'(error_of_nak(nak_status_q));
    // Packets of it, or a replay, may still be read: behind its completion the driver could use its memory for something
    // else, and behind its room the QP may start again. The number of a record from long ago may be among those that have
    // not ended by chance: it waits without need.
    // Work requests of records that wait in the slice may have ended.
    works_open = works_started_q - works_ended;
    replays_open = replays_started_q - replays_ended;
    pending = (!works_open[NumberBits-1] && stored.work - works_ended - 1'b1 < works_open)
           || stored.replay - replays_ended - 1'b1 < replays_open;
    fence_current = stored.sent == key_fence_i.sent || stored.received == key_fence_i.received;
    fence_open = !key_generation_passed(stored.sent, key_fence_i.sent, key_fence_i.sent_open)
              || !key_generation_passed(stored.received, key_fence_i.received, key_fence_i.received_open);
    if (state_q == StRetire) begin
      // Its outcome was stored.
      status = stored.status;
      vendor = stored.vendor_err;
    end
    // While the fence is idle, all epochs that somebody needs have passed.
    responses = ring_q.responses;
    response_lead = response_epoch_passed - ring_q.closed_by;
    if (responses == ResponsesClosing && (!response_fence_busy || !response_lead[EpochBits-1])) begin
      responses = ResponsesClosed;
    end
    awaits = stored_is_read && status != IbWcStatusSuccess && responses != ResponsesClosed;
    parks = ring_q.parked != '0 || pending || (completes && (awaits || stored.is_local));
    retires_completion = !stored.no_completion && !dead_q && completes_in(qp_state);
    cqe = '{wr_id: stored.wr_id, status: status, opcode: stored.opcode, vendor_err: vendor, qp_num: 32'(qpn_q),
            default: '0};
    if (stored_is_read && status == IbWcStatusSuccess) cqe.byte_len = stored.bytes;

    // Effect of an acknowledge on the first record that it does not complete. Of a READ, the part after the received
    // responses is missing.
    missing = stored_first > stored_last ? '0 : stored_first;
    lost = stored_is_read && !is_read_q && {1'b0, missing} < covered_q;
    covered = lost ? {1'b0, missing} : covered_q;
    {ack_kind, ack_value} = syndrome_q[6:0];
    is_positive = ack_kind == AethKindAck;
    is_sequence = lost || (ack_kind == AethKindNak && ack_value == NakCodePsnSequenceError);
    is_rnr = ack_kind == AethKindRnrNak;
    rnr_forever = attributes.rnr_retry == RnrRetryInfinite;

    waits = ring_q.reads_replayed != '0
         && (stored.fence || (stored_is_read && 32'(ring_q.reads_replayed) >= 32'(attributes.max_rd_atomic)));
    // Acknowledged packets are not retransmitted.
    burst = 16'(32'(BurstBytes) >> MtuShift >> attributes.path_mtu);
    replay_psn = stored.first_psn;
    if (ring_q.cursor == '0) replay_psn = ring_q.unacked;
    if (ring_q.part && (ring_q.cursor != '0 || replay_psn - stored.first_psn < ring_q.next - stored.first_psn)) begin
      replay_psn = ring_q.next;
    end
    rest = stored.last_psn - replay_psn;
    cuts = !stored_is_read && burst != '0 && rest >= 24'(burst);
    replay_end = cuts ? replay_psn + 24'(burst) : stored.last_psn + 24'd1;
    replay_ahead = replay_psn - ring_q.unacked;
    replay_outstanding = 25'(replay_ahead) + (cuts ? 25'(burst) : 25'(rest) + 25'd1);
    exceeds = replay_outstanding > MostOutstanding;
    outstanding = ring.newest + 24'd1 - ring.unacked;
    first_transmission = replay_psn - ring_q.unacked >= ring_q.sent - ring_q.unacked;
    retries_left = ring.retries < attributes.retry_cnt;
    newest_slot = ring.oldest + SlotBits'(ring.count) - 1'b1;
    slot_index = record.slot[SlotBits-1:0] - ring.oldest;
    awaited = ring_q.replaying && ring_q.awaits
           && {1'b0, (record.is_replay ? record.slot[SlotBits-1:0] : newest_slot) - ring_q.oldest} == ring_q.cursor;

    // The timer at an event's end.
    sent_ahead = '0;
    stops = reason_q == ReasonDiscard || reason_q == ReasonFlush;
    progress = op_q == OpAck && covered_q != '0;
    set_timer = ring_q.timer;
    timer_kind = TimerKindOff;
    if (stops) begin
      // Nothing outstanding for the timer.
    end else if (next_action_q == NextPause) begin
      set_timer = 1'b1;
      timer_kind = TimerKindRnr;
    end else if (ring_q.paused && next_action_q != NextReplay) begin
      set_timer = 1'b0;
    end else if (ring_q.count != '0 && has_timer) begin
      set_timer = !ring_q.timer || progress || next_action_q == NextReplay;
      timer_kind = TimerKindAck;
    end

    // Records before acknowledges: a record must be processed before the acknowledge of its packets. Records with a
    // status free their own space, so their stream could starve other events; they alternate with all others, which do
    // not depend on later records of their QP. There are at most two in the slice.
    acks = ack_valid && !(record_valid && (ack.qpn[QpBits-1:0] == record.qpn[QpBits-1:0]
                                           || ack.qpn[QpBits-1:0] == last_record_q));
    expires = expired_valid;
    replays = turn_valid && !level_q && replay_free && replays_open < MostReplays && (!replayed_q || (!expires && !acks));
    retires = polls_left_q != '0 && parked_valid && (!polled_q || (!replays && !expires && !acks));
    flushes = record_valid && (record.status != IbWcStatusSuccess || record.is_local);
    drained = taken_q - ring.records_before >= RecordsInFlight;

    unique case (state_q)
      StChoose: begin
        read = 1'b1;
        state_d = StDecide;
        next_action_d = NextNothing;
        if (clear_valid) begin
          op_d = OpClear;
          qpn_d = clear_qpn;
          clear_pop = 1'b1;
        end else if (flush_valid) begin
          op_d = OpFlush;
          qpn_d = flush_qpn;
          flush_pop = 1'b1;
        end else if (record_valid && !(flushes && flushed_q && (retires || replays || expires || acks))) begin
          op_d = OpRecord;
          qpn_d = record.qpn[QpBits-1:0];
          flushed_d = flushed_q || flushes;
        end else if (retires) begin
          op_d = OpRetire;
          qpn_d = parked_qpn;
          parked_pop = 1'b1;
          polls_left_d = polls_left_q - 1'b1;
          polled_d = 1'b1;
          flushed_d = 1'b0;
        end else if (replays) begin
          op_d = OpReplay;
          qpn_d = turn_qpn;
          turn_pop = 1'b1;
          replayed_d = 1'b1;
          polled_d = 1'b0;
          flushed_d = 1'b0;
        end else if (expires) begin
          op_d = OpTimer;
          qpn_d = expired.qpn[QpBits-1:0];
          replayed_d = 1'b0;
          polled_d = 1'b0;
          flushed_d = 1'b0;
        end else if (acks) begin
          op_d = OpAck;
          qpn_d = ack.qpn[QpBits-1:0];
          replayed_d = 1'b0;
          polled_d = 1'b0;
          flushed_d = 1'b0;
        end else begin
          read = 1'b0;
          state_d = StChoose;
        end
      end
      StDecide: begin
        state_d = StRead;
        unique case (op_q)
          OpClear: begin
            reason_d = ReasonDiscard;
            ring.failed = 1'b0;
            ring.epoch = '0;
            ring.records_before = taken_q;
            ring.nak_replayed = 1'b0;
            ring.retries = '0;
            ring.rnr_retries = '0;
            ring.responses = ResponsesOpen;
            // What only waits for responses leaves now.
            if (ring.parked != '0) polls_left_d = parked_qps_q;
          end
          OpRetire: begin
            stored_read = 1'b1;
            stored_read_slot = ring.oldest - SlotBits'(ring.parked);
            state_d = StRetire;
          end
          OpFlush: begin
            reason_d = ReasonFlush;
            if (qp_state != 3'(IbQpStateErr) || attributes_corrupt) begin
              state_d = StChoose;
            end else if (ring.responses == ResponsesOpen) begin
              ring.responses = ResponsesClosed;
              if (ring.reads != '0 || ring.parked != '0) begin
                ring.responses = ResponsesClosing;
                ring.closed_by = response_epoch_needed;
                response_fence_start = 1'b1;
              end
            end
          end
          OpRecord: begin
            if (attributes_corrupt) reason_d = ReasonDiscard;
            else if (qp_state == 3'(IbQpStateErr)) reason_d = ReasonFlush;
            else if (!keeps_records(qp_state)) reason_d = ReasonDiscard;
            else reason_d = ReasonOwnStatus;
            if (record.replaces) begin
              // Only its status: the other fields are kept from the first record.
              stored_read = 1'b1;
              stored_read_slot = record.is_replay ? record.slot[SlotBits-1:0] : newest_slot;
              state_d = StAmend;
            end else begin
              record_pop = 1'b1;
              stored_slot = newest_slot + 1'b1;
              stored_write = 1'b1;
              if (!record.unsent && record.status == IbWcStatusSuccess && !record.is_local) begin
                works_started_d = works_started_q + 1'b1;
              end
              // The requester has seen the hold of the failure, and SQE after it.
              if (!attributes.reliable && !attributes_corrupt && record.recovers && record.epoch == ring.epoch) begin
                ring.failed = 1'b0;
              end
              if (ring.count == '0) begin
                ring.unacked = record.first_psn;
                ring.sent = record.first_psn;
                ring.own_outcome = 1'b0;
              end
              if (record.status != IbWcStatusSuccess || record.no_completion || record.is_local) ring.own_outcome = 1'b1;
              ring.newest = record.last_psn;
              ring.number = ring.number + 1'b1;
              // A work request that failed has no packets, and earlier ones may be unsent.
              if (!record.unsent && record.status == IbWcStatusSuccess && !record.is_local) begin
                ring.sent = record.packets != '0 ? record.first_psn + 24'(record.packets) : record.last_psn + 24'd1;
              end
              if (reason_d == ReasonOwnStatus && !ring.failed && record.status == IbWcStatusSuccess && !record.no_completion
                  && !record.is_local) begin
                if ((record.unsent || record.packets != '0) && !ring.paused && !ring.replaying) begin
                  // The requester holds the QP itself, or will when the first part of the message has left, or the
                  // resume was issued before it made this record.
                  next_action_d = NextContinue;
                  ring.cursor = ring.count;
                  ring.part = !record.unsent;
                  ring.next = record.first_psn + 24'(record.packets);
                  ring.reads_replayed = ring.reads;
                  state_d = StEnd;
                end else if (!ring.timer && !ring.paused && has_timer) begin
                  state_d = StEnd;
                end else begin
                  ring_write = 1'b1;
                  state_d = StChoose;
                end
              end
              ring.count = ring.count + 1'b1;
              if (is_read_opcode(record.opcode)) ring.reads = ring.reads + 1'b1;
            end
          end
          OpTimer: begin
            expired_pop = 1'b1;
            reason_d = ReasonAck;
            base_d = ring.unacked;
            covered_d = '0;
            nak_status_d = IbWcStatusRetryExcErr;
            syndrome_d = '0;
            has_status_d = 1'b0;
            if (!keeps_records(qp_state) || ring.failed || !ring.timer || ring.timer_epoch != expired.epoch
                || (|expired.qpn[23:QpBits]) || attributes_corrupt) begin
              state_d = StChoose;
            end else if (!ring.paused && !ring.timed) begin
              // No timeout while the packets to be acknowledged wait for the wire, or less than the timeout has
              // passed since they left. [IBTA vol. 1, 9.7.6.1.3]
              state_d = StEnd;
            end else if (ring.paused || retries_left) begin
              next_action_d = NextReplay;
              state_d = StEnd;
            end else begin
              reason_d = ReasonNak;
            end
            if (!ring.paused && ring.timed && retries_left) ring.retries = ring.retries + 1'b1;
            if (ring.paused || ring.timed) ring.nak_replayed = 1'b0;
            ring.timer = 1'b0;
          end
          OpReplay: begin
            stored_read_slot = ring.oldest + SlotBits'(ring.cursor);
            if (!keeps_records(qp_state) || ring.failed || !ring.replaying || ring.awaits || attributes_corrupt) begin
              state_d = StChoose;
            end else if (ring.cursor != ring.count) begin
              stored_read = 1'b1;
              state_d = StReplay;
            end else if (record_valid && !drained) begin
              // A message that had started to leave when its QP was held must arrive before the resume is issued.
              turn_push = 1'b1;
              state_d = StChoose;
            end else if (25'(outstanding) > MostOutstanding >> 1) begin
              ring.waits_for_ack = 1'b1;
              ring_write = 1'b1;
              state_d = StChoose;
            end else begin
              replay_valid_d = 1'b1;
              replay_d = '{qpn: 24'(qpn_q), resume: 1'b1, epoch: ring.epoch, head: '0, slot: '0,
                           psn: ring.newest + 24'd1, first_psn: '0, last_psn: '0, packets: '0,
                           first_transmission: 1'b0, number: ring.number, serial: '0};
              ring.replaying = 1'b0;
              ring_write = 1'b1;
              state_d = StChoose;
            end
          end
          default: begin  // OpAck
            ack_pop = 1'b1;
            reason_d = fatal ? ReasonNak : ReasonAck;
            is_read_d = ack.is_read;
            has_status_d = fatal;
            nak_status_d = ack.status;
            syndrome_d = ack.syndrome;
            base_d = ring.unacked;
            covered_d = {1'b0, distance} + 25'(!fatal && comes_positive);
            if (!counts || (|ack.qpn[23:QpBits]) || attributes_corrupt) state_d = StChoose;
          end
        endcase
        ring_d = ring;
      end
      StAmend: begin
        record_pop = 1'b1;
        stored_in = stored;
        stored_in.status = record.status;
        stored_in.vendor_err = record.vendor_err;
        stored_in.to_report = record.is_replay;
        stored_slot = record.is_replay ? record.slot[SlotBits-1:0] : newest_slot;
        if (record.is_replay ? 32'(record.slot) < SendRecords && {1'b0, slot_index} < ring_q.count
                           && stored.first_psn == record.first_psn
                         : ring_q.count != '0) begin
          if (record.packets != '0) begin
            // A part of it has started: the next one may be requested, unless a later hold has restarted the replay.
            if (awaited && record.epoch == ring_q.epoch) begin
              ring_d.awaits = 1'b0;
              ring_write = 1'b1;
              turn_push = 1'b1;
            end
            state_d = StChoose;
          end else begin
            stored_write = 1'b1;
            ring_d.own_outcome = 1'b1;
            // The requested part will not be sent.
            if (awaited) begin
              ring_d.replaying = 1'b0;
              ring_d.awaits = 1'b0;
            end
            state_d = StRead;
          end
        end else begin
          state_d = StChoose;  // its message is complete
        end
      end
      StReplay: begin
        if (stored.status != IbWcStatusSuccess || stored.no_completion) begin
          // It is never acknowledged, so replaying later records is useless.
          ring_d.replaying = 1'b0;
        end else if (stored.is_local) begin
          // It was executed when it came.
          ring_d.part = 1'b0;
          ring_d.cursor = ring_q.cursor + 1'b1;
          turn_push = 1'b1;
        end else if (waits) begin
          ring_d.waits_for_read = 1'b1;
        end else if (exceeds) begin
          ring_d.waits_for_ack = 1'b1;
        end else begin
          stored_in = stored;
          stored_in.replay = replays_started_q + 1'b1;
          stored_slot = ring_q.oldest + SlotBits'(ring_q.cursor);
          stored_write = 1'b1;
          replays_started_d = replays_started_q + 1'b1;
          replay_valid_d = 1'b1;
          replay_d = '{qpn: 24'(qpn_q), resume: 1'b0, epoch: ring_q.epoch, head: stored.head,
                       slot: 8'(SlotBits'(ring_q.oldest + SlotBits'(ring_q.cursor))),
                       psn: replay_psn, first_psn: stored.first_psn, last_psn: stored.last_psn, packets: cuts ? burst : '0,
                       first_transmission: first_transmission, number: stored_is_read ? ring_q.reads_ended + 8'(ring_q.reads_replayed) : '0,
                       serial: 7'(replays_started_d)};
          // All READs before it have ended or are before the cursor: that is its number.
          if (replay_end - ring_q.unacked > ring_q.sent - ring_q.unacked) ring_d.sent = replay_end;
          ring_d.part = cuts;
          ring_d.next = replay_end;
          ring_d.awaits = cuts;
          if (!cuts) begin
            ring_d.cursor = ring_q.cursor + 1'b1;
            if (stored_is_read) ring_d.reads_replayed = ring_q.reads_replayed + 1'b1;
            turn_push = 1'b1;
          end
        end
        ring_write = 1'b1;
        state_d = StChoose;
      end
      StRead: begin
        if (ring_q.count == '0) begin
          state_d = StEnd;
        end else begin
          stored_read = 1'b1;
          state_d = StCheck;
        end
      end
      StCheck: begin
        ring_d.responses = responses;
        if (!leaves) begin
          // An acknowledge that may cause a retransmission, or fail this record.
          state_d = op_q == OpAck && (!is_positive || (stored_is_read && !is_read_q)) ? StApplyAck : StEnd;
        end else if (all_free) begin
          if (parks) begin
            stored_in = stored;
            stored_in.status = status;
            stored_in.vendor_err = vendor;
            stored_in.no_completion = !completes;
            stored_in.sent = key_fence_i.sent;
            stored_in.received = key_fence_i.received;
            fence_waits_d = stored.is_local;
            locals_parked_d = locals_parked_q + (QpBits + SlotBits + 1)'(stored.is_local);
            stored_slot = ring_q.oldest;
            stored_write = 1'b1;
            ring_d.parked = ring_q.parked + 1'b1;
            ring_d.polled = 1'b1;
            parked_push = !ring_q.polled;
            parked_qps_d = parked_qps_q + (QpBits + 1)'(!ring_q.polled);
          end else begin
            retired_valid_d = 1'b1;
            completion_valid_d = completes;
          end
          ring_d.oldest = ring_q.oldest + 1'b1;
          ring_d.count = ring_q.count - 1'b1;
          if (ring_q.cursor != '0) begin
            ring_d.cursor = ring_q.cursor - 1'b1;
          end else begin
            // The replay continues with the next one.
            turn_push = ring_q.awaits;
            ring_d.part = 1'b0;
            ring_d.awaits = 1'b0;
          end
          if (stored_is_read) begin
            ring_d.reads = ring_q.reads - 1'b1;
            if (ring_q.cursor != '0) ring_d.reads_replayed = ring_q.reads_replayed - 1'b1;
            ring_d.reads_ended = ring_q.reads_ended + 1'b1;
            reads_valid_d = 1'b1;
            reads_d = '{qpn: 24'(qpn_q), ended: ring_d.reads_ended};
            turn_push = turn_push || ring_q.waits_for_read;
            ring_d.waits_for_read = 1'b0;
          end
          if (reason_q != ReasonDiscard
              && (stored.no_completion || reports || (status != IbWcStatusSuccess && attributes.reliable))) begin
            ring_d.failed = 1'b1;
          end
          if (reports) begin
            failure_valid_d = 1'b1;
            failure_d = '{qpn: 24'(qpn_q), event_type: 16'(RdmaEventTypeQpFatal), code: code,
                          send_only: !attributes.reliable, reported: 1'b1};
            // Those that the requester sent or held back before it knew of the failure flush.
            if (!attributes.reliable) next_action_d = NextHalt;
          end
          if (ring_d.failed && reason_q != ReasonDiscard) reason_d = ReasonFlush;
          // If the acknowledge ends with this record, it does not concern the next one.
          state_d = reason_q == ReasonAck && ends && is_positive && !ring_q.own_outcome ? StEnd : StRead;
        end
      end
      StApplyAck: begin
        // An acknowledge that makes progress resets both retry counters. A sequence NAK without progress must not
        // consume a retry if a replay has already answered it: a responder sends one per gap. [IBTA vol. 1, 9.7.5.2.3]
        covered_d = covered;
        state_d = StEnd;
        nak_status_d = status_of_nak(ack_kind, ack_value);
        if (lost) begin
          nak_status_d = IbWcStatusRetryExcErr;
          syndrome_d = AethSyndromeNakPsnSequenceError;
        end
        if (covered != '0) begin
          ring_d.nak_replayed = 1'b0;
          ring_d.retries = '0;
          ring_d.rnr_retries = '0;
        end
        if (is_sequence) begin
          // During the RNR wait it counts as an acknowledge only.
          if (!ring_q.paused && !ring_d.nak_replayed) begin
            if (ring_d.retries < attributes.retry_cnt) next_action_d = NextReplay;
            else reason_d = ReasonNak;
            ring_d.retries = ring_d.retries + 1'b1;
            ring_d.nak_replayed = 1'b1;
          end
        end else if (is_rnr) begin
          // A repeated RNR NAK during its wait is a duplicate.
          if (!ring_q.paused || covered != '0) begin
            if (rnr_forever || ring_d.rnr_retries < attributes.rnr_retry) next_action_d = NextPause;
            else reason_d = ReasonNak;
            if (!rnr_forever) ring_d.rnr_retries = ring_d.rnr_retries + 1'b1;
            ring_d.nak_replayed = 1'b0;
          end
        end else if (!is_positive) begin
          reason_d = ReasonNak;
        end
        if (reason_d == ReasonNak) state_d = StCheck;  // the record being examined
      end
      StEnd: if (!set_timer || timer_free) begin
        if (op_q == OpAck) ring_d.unacked = base_q + covered_q[23:0];
        if (progress && next_action_q == NextNothing) begin
          ring_d.nak_replayed = 1'b0;
          ring_d.retries = '0;
          ring_d.rnr_retries = '0;
        end
        if (stops) begin
          ring_d.replaying = 1'b0;
          ring_d.paused = 1'b0;
          ring_d.waits_for_read = 1'b0;
          ring_d.waits_for_ack = 1'b0;
          ring_d.awaits = 1'b0;
          if (next_action_q == NextHalt) begin
            // What was requested before has no effect once the QP sends again.
            ring_d.epoch = ring_q.epoch + 1'b1;
            hold_valid_d = 1'b1;
            hold_d = '{qpn: 24'(qpn_q), epoch: ring_d.epoch};
            ring_d.records_before = taken_q;
          end
        end else begin
          unique case (next_action_q)
            NextReplay, NextPause: begin
              ring_d.epoch = ring_q.epoch + 1'b1;
              hold_valid_d = 1'b1;
              hold_d = '{qpn: 24'(qpn_q), epoch: ring_d.epoch};
              ring_d.records_before = taken_q;
              ring_d.replaying = next_action_q == NextReplay;
              ring_d.paused = next_action_q == NextPause;
              ring_d.cursor = '0;
              ring_d.reads_replayed = '0;
              ring_d.waits_for_read = 1'b0;
              ring_d.waits_for_ack = 1'b0;
              ring_d.part = 1'b0;
              ring_d.awaits = 1'b0;
              turn_push = next_action_q == NextReplay;
            end
            NextContinue: begin
              ring_d.replaying = 1'b1;
              turn_push = 1'b1;
            end
            default: begin
              turn_push = progress && ring_q.waits_for_ack;
              if (progress) ring_d.waits_for_ack = 1'b0;
            end
          endcase
        end
        sent_ahead = sent.psn - ring_d.unacked;
        if (set_timer) begin
          ring_d.timer = timer_kind != TimerKindOff;
          ring_d.timed = sent.valid && sent.epoch == ring_d.epoch && sent_ahead < 24'h80_0000;
          ring_d.timer_epoch = ring_q.timer_epoch + 1'b1;
          timer_set_valid_d = 1'b1;
          timer_set_d = '{qpn: 24'(qpn_q), kind: timer_kind, code: '0, epoch: ring_d.timer_epoch};
          if (timer_kind == TimerKindAck) timer_set_d.code = attributes.timeout;
          if (timer_kind == TimerKindRnr) timer_set_d.code = ack_value;
        end
        ring_write = 1'b1;
        state_d = StChoose;
      end
      StRetire: begin
        // The oldest parked record leaves, without completion if the QP was cleared since.
        ring_write = 1'b1;
        ring_d.responses = responses;
        if (pending || (retires_completion && (awaits || (stored.is_local && fence_open)))) begin
          fence_waits_d = !pending && retires_completion && stored.is_local && fence_current;
          parked_push = 1'b1;
          state_d = StChoose;
        end else if (!all_free) begin
          // Waits.
          ring_write = 1'b0;
        end else begin
          retired_valid_d = 1'b1;
          completion_valid_d = retires_completion;
          ring_d.parked = ring_q.parked - 1'b1;
          locals_parked_d = locals_parked_q - (QpBits + SlotBits + 1)'(stored.is_local);
          stored_read = ring_d.parked != '0;
          stored_read_slot = ring_q.oldest - SlotBits'(ring_d.parked);
          if (ring_d.parked != '0) begin
            state_d = StRetire;
          end else begin
            ring_d.polled = 1'b0;
            parked_qps_d = parked_qps_q - 1'b1;
            state_d = StChoose;
          end
        end
      end
      default: state_d = StChoose;
    endcase
    key_fence_changes = locals_parked_q != '0 && key_fence_i != key_fence_q;
    if (fence_changes || response_fence_changes || key_fence_changes) polls_left_d = parked_qps_d;
    if (retired_valid_d && !retired_kept) retired_d = '{vq_index: queue_index};
    if (completion_valid_d && !completion_kept) begin
      completion_d = '{vq_index: queue_index, head: stored.head, used_bytes: '0,
                       has_cqe: stored.signaled || status != IbWcStatusSuccess, cqn: attributes.cqn,
                       solicited: status != IbWcStatusSuccess, cqe: pack_rdma_cq_req(cqe), default: '0};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StChoose;
      completion_valid_q <= 1'b0;
      retired_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      replay_valid_q <= 1'b0;
      timer_set_valid_q <= 1'b0;
      hold_valid_q <= 1'b0;
      reads_valid_q <= 1'b0;
      replayed_q <= 1'b0;
      polled_q <= 1'b0;
      parked_qps_q <= '0;
      polls_left_q <= '0;
      fence_waits_q <= 1'b0;
      locals_parked_q <= '0;
      key_fence_q <= '0;
      works_started_q <= '0;
      replays_started_q <= '0;
      flushed_q <= 1'b0;
      taken_q <= '0;
      level_q <= 1'b0;
    end else begin
      level_q <= hold_i;
      state_q <= state_d;
      completion_valid_q <= completion_valid_d;
      retired_valid_q <= retired_valid_d;
      failure_valid_q <= failure_valid_d;
      replay_valid_q <= replay_valid_d;
      timer_set_valid_q <= timer_set_valid_d;
      hold_valid_q <= hold_valid_d;
      reads_valid_q <= reads_valid_d;
      replayed_q <= replayed_d;
      polled_q <= polled_d;
      parked_qps_q <= parked_qps_d;
      polls_left_q <= polls_left_d;
      fence_waits_q <= fence_waits_d;
      locals_parked_q <= locals_parked_d;
      if (locals_parked_q != '0) key_fence_q <= key_fence_i;
      works_started_q <= works_started_d;
      replays_started_q <= replays_started_d;
      flushed_q <= flushed_d;
      taken_q <= taken_q + 8'(record_pop);
    end
  end

  always_ff @(posedge clk_i) begin
    if (record_valid_i && record_ready_o) last_record_q <= record_i.qpn[QpBits-1:0];
    op_q <= op_d;
    qpn_q <= qpn_d;
    reason_q <= reason_d;
    next_action_q <= next_action_d;
    is_read_q <= is_read_d;
    has_status_q <= has_status_d;
    covered_q <= covered_d;
    base_q <= base_d;
    nak_status_q <= nak_status_d;
    syndrome_q <= syndrome_d;
    ring_q <= ring_d;
    completion_q <= completion_d;
    retired_q <= retired_d;
    failure_q <= failure_d;
    replay_q <= replay_d;
    timer_set_q <= timer_set_d;
    hold_q <= hold_d;
    reads_q <= reads_d;
  end

  // --- Parity: in the cycle after a read. A turn that clears a QP does not use its attributes.
  logic bad;
  assign bad = attributes_corrupt && op_q != OpClear;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dead_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      if (state_q == StDecide) dead_q <= bad;
      parity_error_q <= state_q == StDecide && bad;
    end
  end
  assign parity_error_o = parity_error_q;

  assign fence_waits_o = fence_waits_q;
  assign completion_valid_o = completion_valid_q;
  assign completion_o = completion_q;
  assign retired_valid_o = retired_valid_q;
  assign retired_o = retired_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign replay_valid_o = replay_valid_q;
  assign replay_o = replay_q;
  assign timer_set_valid_o = timer_set_valid_q;
  assign timer_set_o = timer_set_q;
  assign qp_hold_valid_o = hold_valid_q;
  assign qp_hold_o = hold_q;
  assign qp_reads_valid_o = reads_valid_q;
  assign qp_reads_o = reads_q;
  assign settled_o = state_q == StChoose && clear_empty && flush_empty;
  assign ack_waits_o = ack_valid;
  assign idle_o = state_q == StChoose && !response_fence_busy && clear_empty && flush_empty && (turn_empty || level_q) && parked_qps_q == '0
               && !record_valid
               && !ack_valid && !expired_valid && !completion_valid_q && !retired_valid_q && !failure_valid_q
               && !replay_valid_q && !timer_set_valid_q && !hold_valid_q && !reads_valid_q;

endmodule
