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
//
// This module connects the parts: vireo_completer_events, whose turn is next; vireo_completer_tables, what is known of the
// QP; vireo_completer_control, the state machine, with a part for a record, a replay, an acknowledge, a retirement and the
// end of a turn; vireo_completer_access, whether a record's memory may still be accessed. The output registers are here.
module vireo_completer
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Places,                             // of the receive scatter
  localparam int unsigned QpBits = $clog2(Config.num_qps)    // num_qps, send_records: a power of two, 2 or more
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

  logic [15:0] first_queue;  // index of the first send queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaTransmitqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  // --- The turn

  // verilator lint_off UNUSEDSIGNAL
  step_t step;             // some of it concerns the state machine alone
  // verilator lint_on UNUSEDSIGNAL
  state_e state;
  ring_t ring;             // of its QP
  logic [QpBits-1:0] qpn, read_qpn;
  logic read, record_waits, replay_free, replay_room, settled, events_idle;
  op_e op;
  send_record_t record;
  rx_ack_t ack;
  timer_expired_t expired;
  logic [7:0] taken;
  logic access_changes;

  vireo_completer_events #(
    .Config(Config)
  ) u_events (
    .clk_i,
    .rst_ni,
    .hold_i,
    .qp_state_write_valid_i,
    .qp_state_write_i,
    .record_valid_i,
    .record_ready_o,
    .record_i,
    .ack_valid_i,
    .ack_ready_o,
    .ack_i,
    .timer_expired_valid_i,
    .timer_expired_ready_o,
    .timer_expired_i,
    .record_waits_o(record_waits),
    .record_o(record),
    .record_ends_i(step.record_ends),
    .taken_o(taken),
    .ack_waits_o,
    .ack_o(ack),
    .ack_ends_i(step.ack_ends),
    .expired_o(expired),
    .timer_ends_i(step.timer_ends),
    .choose_i(state == StChoose),
    .read_o(read),
    .op_o(op),
    .read_qpn_o(read_qpn),
    .qpn_o(qpn),
    .replay_room_i(replay_room && replay_free),
    .again_i(step.again),
    .polls_i(step.polls),
    .polls_first_i(step.polls_first),
    .polls_none_i(step.polls_none),
    .polls_all_i(step.polls_all || access_changes),
    .settled_o(settled),
    .idle_o(events_idle)
  );

  logic [2:0] qp_state;
  attributes_t attributes;
  logic corrupt;
  sent_t sent;
  ring_t ring_stored;
  stored_t stored;

  vireo_completer_tables #(
    .Config(Config)
  ) u_tables (
    .clk_i,
    .rst_ni,
    .table_write_valid_i,
    .table_write_i,
    .qp_state_write_i,
    .qp_sent_i,
    .context_flip_valid_i,
    .context_flip_i,
    .qp_state_write_valid_i,
    .qp_sent_valid_i,
    .read_i(read),
    .read_qpn_i(read_qpn),
    .qp_state_o(qp_state),
    .attributes_o(attributes),
    .corrupt_o(corrupt),
    .sent_o(sent),
    .ring_o(ring_stored),
    .qpn_i(qpn),
    .ring_write_i(step.ring_write),
    .ring_i(step.ring),
    .stored_slot_i(step.stored_slot),
    .stored_read_slot_i(step.stored_read_slot),
    .stored_write_i(step.stored_write),
    .stored_i(step.stored),
    .stored_read_i(step.stored_read),
    .stored_o(stored)
  );

  access_t access;
  logic access_busy;
  logic [EpochBits-1:0] closed_by;
  logic [NumberBits-1:0] next_work, next_replay, works_ended, replays_ended;

  vireo_completer_access #(
    .Config(Config),
    .Places(Places)
  ) u_access (
    .clk_i,
    .rst_ni,
    .issued_i,
    .work_ended_i,
    .replay_ended_i,
    .replay_serial_i,
    .packets_read_i,
    .responder_settled_i,
    .place_begins_i,
    .place_ends_i,
    .place_waits_i,
    .key_fence_i,
    .work_starts_i(step.work_starts),
    .replay_starts_i(step.replay_starts),
    .closes_i(step.closes),
    .closed_by_o(closed_by),
    .local_parks_i(step.local_parks),
    .local_leaves_i(step.local_leaves),
    .next_work_o(next_work),
    .next_replay_o(next_replay),
    .works_ended_o(works_ended),
    .replays_ended_o(replays_ended),
    .replay_room_o(replay_room),
    .ring_i(ring),
    .stored_i(stored),
    .access_o(access),
    .changes_o(access_changes),
    .busy_o(access_busy)
  );

  logic completion_free, retired_free, failure_free, timer_free;

  vireo_completer_control #(
    .Config(Config)
  ) u_control (
    .clk_i,
    .rst_ni,
    .begins_i(read),
    .op_i(op),
    .qpn_i(qpn),
    .record_i(record),
    .record_waits_i(record_waits),
    .taken_i(taken),
    .ack_i(ack),
    .expired_i(expired),
    .qp_state_i(qp_state),
    .attributes_i(attributes),
    .corrupt_i(corrupt),
    .sent_i(sent),
    .ring_i(ring_stored),
    .stored_i(stored),
    .access_i(access),
    .key_fence_i,
    .closed_by_i(closed_by),
    .next_work_i(next_work),
    .next_replay_i(next_replay),
    .works_ended_i(works_ended),
    .replays_ended_i(replays_ended),
    .free_i(completion_free && retired_free && failure_free),
    .timer_free_i(timer_free),
    .state_o(state),
    .step_o(step),
    .ring_o(ring),
    .parity_error_o
  );

  // --- Outputs

  completion_t completion_in;
  rdma_cq_req_t cqe;
  logic [15:0] queue_index;

  always_comb begin
    queue_index = first_queue + {15'(qpn), 1'b0};
    cqe = '{wr_id: stored.wr_id, status: step.status, opcode: stored.opcode, vendor_err: step.vendor,
            qp_num: 32'(qpn), default: '0};
    if (is_read_opcode(stored.opcode) && step.status == IbWcStatusSuccess) cqe.byte_len = stored.bytes;
    completion_in = '{vq_index: queue_index, head: stored.head, used_bytes: '0,
                      has_cqe: stored.signaled || step.status != IbWcStatusSuccess, cqn: attributes.cqn,
                      solicited: step.status != IbWcStatusSuccess, cqe: pack_rdma_cq_req(cqe), default: '0};
  end

  vireo_output #(.Width(CompletionBits)) u_completion (
    .clk_i, .rst_ni, .free_o(completion_free), .load_i(step.completes), .data_i(completion_in),
    .m_valid_o(completion_valid_o), .m_ready_i(completion_ready_i), .m_data_o(completion_o)
  );
  vireo_output #(.Width(DoorbellBits)) u_retired (
    .clk_i, .rst_ni, .free_o(retired_free), .load_i(step.retires), .data_i(queue_index),
    .m_valid_o(retired_valid_o), .m_ready_i(retired_ready_i), .m_data_o(retired_o)
  );
  vireo_output #(.Width(QpFailureBits)) u_failure (
    .clk_i, .rst_ni, .free_o(failure_free), .load_i(step.fails), .data_i(step.failure),
    .m_valid_o(failure_valid_o), .m_ready_i(failure_ready_i), .m_data_o(failure_o)
  );
  vireo_output #(.Width(ReplayBits)) u_replay (
    .clk_i, .rst_ni, .free_o(replay_free), .load_i(step.replays), .data_i(step.replay),
    .m_valid_o(replay_valid_o), .m_ready_i(replay_ready_i), .m_data_o(replay_o)
  );
  vireo_output #(.Width(TimerSetBits)) u_timer_set (
    .clk_i, .rst_ni, .free_o(timer_free), .load_i(step.sets_timer), .data_i(step.timer_set),
    .m_valid_o(timer_set_valid_o), .m_ready_i(timer_set_ready_i), .m_data_o(timer_set_o)
  );

  // Pulses.
  logic fence_waits_q, hold_valid_q, reads_valid_q;
  qp_hold_t hold_q;
  qp_reads_t reads_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_waits_q <= 1'b0;
      hold_valid_q <= 1'b0;
      reads_valid_q <= 1'b0;
    end else begin
      fence_waits_q <= step.fence_waits;
      hold_valid_q <= step.holds;
      reads_valid_q <= step.read_ends;
    end
  end
  always_ff @(posedge clk_i) begin
    if (step.holds) hold_q <= '{qpn: 24'(qpn), epoch: step.ring.epoch};
    if (step.read_ends) reads_q <= '{qpn: 24'(qpn), ended: step.ring.reads_ended};
  end

  assign fence_waits_o = fence_waits_q;
  assign qp_hold_valid_o = hold_valid_q;
  assign qp_hold_o = hold_q;
  assign qp_reads_valid_o = reads_valid_q;
  assign qp_reads_o = reads_q;
  assign settled_o = state == StChoose && settled;
  assign idle_o = state == StChoose && !access_busy && events_idle && !completion_valid_o && !retired_valid_o
               && !failure_valid_o && !replay_valid_o && !timer_set_valid_o && !hold_valid_q && !reads_valid_q;

endmodule
