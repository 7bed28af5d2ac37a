// SPDX-License-Identifier: Apache-2.0

// Decides on every received frame, in order, one at a time: which bytes go to memory, what it completes and the
// response. Owner of the receive half of every QP and of its outstanding READs as requester. Of requests it executes
// SEND and RDMA WRITE, with or without immediate data, and RDMA READ on RC, SEND and WRITE on UC, and SEND
// on UD and GSI; of responses it accepts acknowledges and READ responses. A refused request takes the QP to ERR
// (on UC and UD only if a receive does not allow it): reported as a failure, and effective from the next frame on. In
// ERR it flushes the QP's receives, one per turn, so that frames of other QPs are processed in between.
//
// A frame leaves as one rx_place or, when its payload goes to several elements, as several; a dropped one as a
// place without bytes, response and acknowledge; one of the net path as a place with its length only. A
// flushed receive leaves as a place without frame.
//
// This module connects the parts, in the order in which a frame passes them: vireo_responder_tables and vireo_read_ring,
// what is known of its QP; vireo_responder_groups, copies of a multicast datagram; vireo_responder_next, checks of a
// request before its turn; vireo_response_checks, of a READ response; vireo_responder_control, the state machine;
// vireo_responder_outcome, what leaves and the QP's state after it.
// vireo_responder_flushes keeps the QPs to flush.
module vireo_responder
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,             // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            enable_i,               // sampled when a frame's turn comes; 0: it is dropped
  input  logic            mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one
  input  logic [47:0]     mac_i,                  // the device's own, byte 0 in 7:0; sampled when a frame's turn comes
  input  logic            hold_i,  // no frame's turn comes, from the next cycle on; a waiting frame is no work

  input  logic            table_write_valid_i,
  input  table_write_t    table_write_i,
  input  logic            context_flip_valid_i,
  input  context_flip_t   context_flip_i,
  output logic            parity_error_o,
  input  logic            qp_state_write_valid_i,
  input  qp_state_write_t qp_state_write_i,
  input  logic            qp_reads_valid_i,       // of the read responder
  input  qp_reads_t       qp_reads_i,

  input  logic            load_valid_i,
  output logic            load_ready_o,
  input  qp_load_t        load_i,

  input  logic            frame_valid_i,
  output logic            frame_ready_o,
  input  rx_token_t       frame_i,                // verdict roce or net

  input  logic            doorbell_valid_i,       // of receive queues
  output logic            doorbell_ready_o,
  input  doorbell_t       doorbell_i,

  output logic            queue_rung_valid_o,     // a pulse: a doorbell of the receive queue
  output queue_rung_t     queue_rung_o,

  input  logic            read_record_valid_i,    // accepted at once, whatever else is in progress
  output logic            read_record_ready_o,
  input  read_record_t    read_record_i,

  output logic            receive_request_valid_o,
  input  logic            receive_request_ready_i,
  output receive_request_t receive_request_o,
  input  logic            receive_valid_i,        // one for each receive_request
  output logic            receive_ready_o,
  input  receive_t        receive_i,
  input  logic            receive_retry_valid_i,  // of a flush that was answered `pending`
  output logic            receive_retry_ready_o,
  input  receive_retry_t  receive_retry_i,

  output logic            memory_check_valid_o,
  input  logic            memory_check_ready_i,
  output memory_check_t   memory_check_o,
  input  logic            memory_place_valid_i,   // one for each memory_check
  output logic            memory_place_ready_o,
  input  memory_place_t   memory_place_i,

  output logic            place_valid_o,
  input  logic            place_ready_i,
  output rx_place_t       place_o,

  output logic            failure_valid_o,
  input  logic            failure_ready_i,
  output qp_failure_t     failure_o,

  output logic            expected_psn_valid_o,  // a pulse, one cycle after a possible change of the QP's expected PSN
  output qp_psn_t         expected_psn_o,

  output memory_grant_t   grant_ended_o,  // a pulse: a granted access is not made
  output logic            settled_o,  // no frame or flush has its turn
  output logic            idle_o
);

  logic [15:0] first_queue;  // index of the first receive queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaReceiveqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  // --- Inputs

  logic load_valid, load_ready, waiting_valid, memory_valid, memory_ready, receive_valid, receive_ready;
  receive_t receive;
  // verilator lint_off UNUSEDSIGNAL
  qp_load_t load;      // of as many QPs as there are
  // verilator lint_on UNUSEDSIGNAL
  rx_token_t frame, waiting;  // as it came; the frame that is next, which may be a copy of it
  logic frame_valid, frame_ready, copied;
  memory_place_t memory;
  logic advance;       // it becomes the one in progress

  vireo_slice #(
    .Width($bits(qp_load_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_load (
    .clk_i,
    .rst_ni,
    .s_valid_i(load_valid_i),
    .s_ready_o(load_ready_o),
    .s_data_i(load_i),
    .m_valid_o(load_valid),
    .m_ready_i(load_ready),
    .m_data_o(load)
  );

  vireo_slice #(
    .Width($bits(rx_token_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_frame (
    .clk_i,
    .rst_ni,
    .s_valid_i(frame_valid_i),
    .s_ready_o(frame_ready_o),
    .s_data_i(frame_i),
    .m_valid_o(frame_valid),
    .m_ready_i(frame_ready),
    .m_data_o(frame)
  );

  vireo_responder_groups #(
    .Config(Config)
  ) u_groups (
    .clk_i,
    .rst_ni,
    .table_write_valid_i,
    .table_write_i,
    .frame_valid_i(frame_valid),
    .frame_ready_o(frame_ready),
    .frame_i(frame),
    .waiting_valid_o(waiting_valid),
    .waiting_o(waiting),
    .copied_o(copied),
    .advance_i(advance)
  );

  vireo_slice #(
    .Width($bits(memory_place_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_memory_place (
    .clk_i,
    .rst_ni,
    .s_valid_i(memory_place_valid_i),
    .s_ready_o(memory_place_ready_o),
    .s_data_i(memory_place_i),
    .m_valid_o(memory_valid),
    .m_ready_i(memory_ready),
    .m_data_o(memory)
  );

  vireo_slice #(
    .Width(ReceiveBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_receive (
    .clk_i,
    .rst_ni,
    .s_valid_i(receive_valid_i),
    .s_ready_o(receive_ready_o),
    .s_data_i(receive_i),
    .m_valid_o(receive_valid),
    .m_ready_i(receive_ready),
    .m_data_o(receive)
  );

  // --- The turn in progress

  // verilator lint_off UNUSEDSIGNAL
  step_t step;         // most of it concerns the state machine alone
  // verilator lint_on UNUSEDSIGNAL
  state_e state;
  job_t job;
  turn_t turn;
  logic [QpBits-1:0] qpn, receive_queue;
  logic response, announced, space, held;

  // --- QPs to flush

  logic reflush_free, flush_valid, flush_pop, flushes_idle, cleared_valid;
  logic [QpBits-1:0] flush_qpn, cleared_qpn;

  vireo_responder_flushes #(
    .Config(Config)
  ) u_flushes (
    .clk_i,
    .rst_ni,
    .first_queue_i(first_queue),
    .qp_state_write_valid_i,
    .qp_state_write_i,
    .doorbell_valid_i,
    .doorbell_ready_o,
    .doorbell_i,
    .receive_retry_valid_i,
    .receive_retry_ready_o,
    .receive_retry_i,
    .queue_rung_valid_o,
    .queue_rung_o,
    .reflush_free_o(reflush_free),
    .reflush_i(step.flushes),
    .reflush_qpn_i(qpn),
    .flush_valid_o(flush_valid),
    .flush_pop_i(flush_pop),
    .flush_qpn_o(flush_qpn),
    .cleared_o(cleared_valid),
    .cleared_qpn_o(cleared_qpn),
    .idle_o(flushes_idle)
  );

  // --- Tables

  logic read, corrupt, half_write, read_half_write;
  logic [QpBits-1:0] read_qpn, half_qpn;
  attributes_t attributes;  // as read last, as are the next
  logic [2:0] qp_state;
  half_t half, half_in;
  read_half_t read_half, read_half_in;
  logic [ReadsBits-1:0] ended;

  vireo_responder_tables #(
    .Config(Config)
  ) u_tables (
    .clk_i,
    .rst_ni,
    .table_write_valid_i,
    .table_write_i,
    .qp_state_write_i,
    .qp_reads_i,
    .qp_state_write_valid_i,
    .qp_reads_valid_i,
    .context_flip_valid_i,
    .context_flip_i,
    .parity_error_o,
    .read_i(read),
    .read_qpn_i(read_qpn),
    .attributes_o(attributes),
    .corrupt_o(corrupt),
    .qp_state_o(qp_state),
    .half_o(half),
    .read_half_o(read_half),
    .ended_o(ended),
    .half_write_i(half_write),
    .read_half_write_i(read_half_write),
    .half_qpn_i(half_qpn),
    .half_i(half_in),
    .read_half_i(read_half_in),
    .expected_psn_valid_o,
    .expected_psn_o
  );

  // Our outstanding READs.
  logic ring_load_ready, ring_idle, ring_held, retire;
  read_record_t oldest;

  vireo_read_ring #(
    .Config(Config)
  ) u_ring (
    .clk_i,
    .rst_ni,
    .read_record_valid_i,
    .read_record_ready_o,
    .read_record_i,
    .load_ready_o(ring_load_ready),
    .load_i(load_ready),
    .load_qpn_i(QpBits'(load.qpn)),
    .read_i(read),
    .read_qpn_i(read_qpn),
    .held_o(ring_held),
    .oldest_o(oldest),
    .keep_i(state == StAct),
    .retire_i(retire),
    .idle_o(ring_idle)
  );

  // --- The frame that is next: its tables are read while the one in progress waits, and nothing is issued for it before
  // the one in progress needs nothing but the answer to its last key check.

  logic starts, next_valid, next_cleared, last, check_free, next_check, next_receive, check_first, receive_first;
  logic early, early_end, waiting_send, expects, refuses, refused;
  job_t next;
  logic [QpBits-1:0] next_qpn;
  memory_check_t next_check_in;
  receive_request_t next_receive_in;

  vireo_responder_next #(
    .Config(Config)
  ) u_next (
    .clk_i,
    .rst_ni,
    .enable_i,
    .mac_i,
    .waiting_valid_i(waiting_valid),
    .waiting_i(waiting),
    .copied_i(copied),
    .held_i(held),
    .read_i(read),
    .starts_i(starts),
    .advance_i(advance),
    .valid_o(next_valid),
    .send_o(waiting_send),
    .job_o(next),
    .qpn_o(next_qpn),
    .attributes_i(attributes),
    .qp_state_i(qp_state),
    .half_i(half),
    .ended_i(ended),
    .cleared_valid_i(cleared_valid),
    .cleared_qpn_i(cleared_qpn),
    .cleared_o(next_cleared),
    .last_i(last),
    .check_free_i(check_free),
    .current_qpn_i(qpn),
    .current_pdn_i(job.pdn),
    .expects_i(expects),
    .refuses_i(refuses),
    .current_half_i(job.half),
    .refused_o(refused),
    .check_o(next_check),
    .check_in_o(next_check_in),
    .receive_o(next_receive),
    .receive_in_o(next_receive_in),
    .check_first_o(check_first),
    .receive_first_o(receive_first),
    .early_o(early),
    .early_end_i(early_end)
  );

  // --- A READ response

  read_checks_t read_checks_d, read_checks_q;
  cursor_t read_cursor;

  vireo_response_checks u_response (
    .clk_i,
    .valid_i(state == StAct),
    .frame_i(job.frame),
    .oldest_i(oldest),
    .held_i(ring_held),
    .read_half_i(read_half),
    .path_mtu_i(attributes.path_mtu),
    .checks_o(read_checks_d),
    .cursor_o(read_cursor)
  );

  always_ff @(posedge clk_i) if (state == StAct) read_checks_q <= read_checks_d;

  // --- The turn of a frame, a flush or a load

  vireo_responder_control #(
    .Config(Config)
  ) u_control (
    .clk_i,
    .rst_ni,
    .hold_i,
    .held_o(held),
    .load_valid_i(load_valid),
    .load_room_i(ring_load_ready),
    .load_o(load_ready),
    .flush_valid_i(flush_valid),
    .flush_qpn_i(flush_qpn),
    .flush_pop_o(flush_pop),
    .waiting_valid_i(waiting_valid),
    .waiting_send_i(waiting_send),
    .next_valid_i(next_valid),
    .next_i(next),
    .attributes_i(attributes),
    .read_checks_i(read_checks_q),
    .next_qpn_i(next_qpn),
    .next_cleared_i(next_cleared),
    .next_refused_i(refused),
    .read_o(read),
    .read_qpn_o(read_qpn),
    .starts_o(starts),
    .expects_o(expects),
    .refuses_o(refuses),
    .advance_o(advance),
    .corrupt_i(corrupt),
    .qp_state_i(qp_state),
    .half_i(half),
    .cleared_valid_i(cleared_valid),
    .cleared_qpn_i(cleared_qpn),
    .read_cursor_i(read_cursor),
    .last_o(last),
    .check_free_o(check_free),
    .next_check_i(next_check),
    .next_check_in_i(next_check_in),
    .next_receive_i(next_receive),
    .next_receive_in_i(next_receive_in),
    .check_first_i(check_first),
    .receive_first_i(receive_first),
    .early_i(early),
    .early_end_o(early_end),
    .memory_check_valid_o,
    .memory_check_ready_i,
    .memory_check_o,
    .memory_valid_i(memory_valid),
    .memory_ready_o(memory_ready),
    .memory_i(memory),
    .receive_request_valid_o,
    .receive_request_ready_i,
    .receive_request_o,
    .receive_valid_i(receive_valid),
    .receive_ready_o(receive_ready),
    .receive_i(receive),
    .grant_ended_o,
    .reflush_free_i(reflush_free),
    .space_i(space),
    .step_o(step),
    .state_o(state),
    .job_o(job),
    .turn_o(turn),
    .qpn_o(qpn),
    .receive_queue_o(receive_queue),
    .response_o(response),
    .announced_o(announced)
  );

  vireo_responder_outcome #(
    .Config(Config)
  ) u_outcome (
    .clk_i,
    .rst_ni,
    .first_queue_i(first_queue),
    .state_i(state),
    .step_i(step),
    .job_i(job),
    .turn_i(turn),
    .memory_i(memory),
    .read_checks_i(read_checks_q),
    .qpn_i(qpn),
    .receive_queue_i(receive_queue),
    .response_i(response),
    .announced_i(announced),
    .qp_state_i(qp_state),
    .half_i(half),
    .load_i(load_ready),
    .load_qpn_i(QpBits'(load.qpn)),
    .load_psn_i(load.psn),
    .space_o(space),
    .place_valid_o,
    .place_ready_i,
    .place_o,
    .failure_valid_o,
    .failure_ready_i,
    .failure_o,
    .retire_o(retire),
    .half_write_o(half_write),
    .read_half_write_o(read_half_write),
    .half_qpn_o(half_qpn),
    .half_o(half_in),
    .read_half_o(read_half_in)
  );

  assign settled_o = state == StIdle && !next_valid;
  assign idle_o = state == StIdle && !next_valid && !load_valid && (!frame_valid || (waiting_valid && held && !early)) && flushes_idle
               && !memory_check_valid_o && !receive_request_valid_o && !place_valid_o && !failure_valid_o && ring_idle
               && !expected_psn_valid_o;

endmodule
