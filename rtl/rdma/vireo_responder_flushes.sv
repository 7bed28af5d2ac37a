// SPDX-License-Identifier: Apache-2.0

// QPs whose receives are to be flushed, for vireo_responder, each once: those whose state became ERR or was cleared, those
// whose receive queue rang in ERR, and those of which one receive was flushed. Takes the doorbells of receive queues,
// most of which ring in another state and need no turn. It flushes nothing.
module vireo_responder_flushes
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [15:0]       first_queue_i,          // index of the first receive queue
  input  logic              qp_state_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  qp_state_write_t   qp_state_write_i,       // of as many QPs as there are
  // verilator lint_on UNUSEDSIGNAL
  input  logic              doorbell_valid_i,
  output logic              doorbell_ready_o,
  input  doorbell_t         doorbell_i,
  input  logic              receive_retry_valid_i,  // of a flush that was answered `pending`
  output logic              receive_retry_ready_o,
  input  receive_retry_t    receive_retry_i,
  output logic              queue_rung_valid_o,     // a pulse: a doorbell of the receive queue
  output queue_rung_t       queue_rung_o,

  output logic              reflush_free_o,
  input  logic              reflush_i,              // one of its receives was flushed
  input  logic [QpBits-1:0] reflush_qpn_i,
  output logic              flush_valid_o,
  input  logic              flush_pop_i,
  output logic [QpBits-1:0] flush_qpn_o,
  output logic              cleared_o,              // a pulse: the QP was cleared
  output logic [QpBits-1:0] cleared_qpn_o,
  output logic              idle_o
);

  logic doorbell_valid, doorbell_ready, retry_valid, retry_ready;
  doorbell_t doorbell;
  // verilator lint_off UNUSEDSIGNAL
  receive_retry_t retry;
  // verilator lint_on UNUSEDSIGNAL

  vireo_slice #(
    .Width(DoorbellBits)
  ) u_doorbell (
    .clk_i,
    .rst_ni,
    .s_valid_i(doorbell_valid_i),
    .s_ready_o(doorbell_ready_o),
    .s_data_i(doorbell_i),
    .m_valid_o(doorbell_valid),
    .m_ready_i(doorbell_ready),
    .m_data_o(doorbell)
  );

  vireo_slice #(
    .Width(ReceiveRetryBits)
  ) u_retry (
    .clk_i,
    .rst_ni,
    .s_valid_i(receive_retry_valid_i),
    .s_ready_o(receive_retry_ready_o),
    .s_data_i(receive_retry_i),
    .m_valid_o(retry_valid),
    .m_ready_i(retry_ready),
    .m_data_o(retry)
  );

  // A pulse comes one cycle late, so that the other sets see it and wait.

  logic change_valid_q, change_clear_q;
  logic [QpBits-1:0] change_q;
  logic reflush_valid_q;
  logic [QpBits-1:0] reflush_q;
  logic ring_valid_d, ring_valid_q;
  logic rung_q;
  logic [QpBits-1:0] ring_d, ring_q;
  logic ring_take;
  logic ring_in_error;
  logic [15:0] doorbell_offset;
  logic doorbell_known;
  logic flush_push, flush_empty;
  logic [QpBits-1:0] flush_push_qpn;

  always_comb begin
    doorbell_offset = doorbell.vq_index - first_queue_i;
    doorbell_known = doorbell.vq_index >= first_queue_i && !doorbell_offset[0] && doorbell_offset < 16'(2 * NumQps);
    retry_ready = retry_valid && !ring_valid_q;
    doorbell_ready = doorbell_valid && !ring_valid_q && !retry_valid;
    ring_take = retry_ready || doorbell_ready;
    ring_d = retry_ready ? QpBits'(retry.qpn) : doorbell_offset[QpBits:1];
    ring_valid_d = retry_ready || (doorbell_ready && doorbell_known);

    flush_push = change_valid_q || reflush_valid_q || (ring_valid_q && ring_in_error);
    flush_push_qpn = change_valid_q ? change_q : reflush_valid_q ? reflush_q : ring_q;
    if (ring_valid_q && ring_in_error && (change_valid_q || reflush_valid_q)) ring_valid_d = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      change_valid_q <= 1'b0;
      reflush_valid_q <= 1'b0;
      ring_valid_q <= 1'b0;
      rung_q <= 1'b0;
    end else begin
      change_valid_q <= qp_state_write_valid_i
                     && (qp_state_write_i.clear || qp_state_write_i.state == 3'(IbQpStateErr));
      reflush_valid_q <= reflush_i || (reflush_valid_q && change_valid_q);
      ring_valid_q <= ring_valid_d;
      rung_q <= doorbell_ready && doorbell_known;
    end
  end

  always_ff @(posedge clk_i) begin
    change_q <= QpBits'(qp_state_write_i.qpn);
    change_clear_q <= qp_state_write_i.clear;
    if (reflush_i) reflush_q <= reflush_qpn_i;
    if (ring_take) ring_q <= ring_d;
  end

  assign queue_rung_valid_o = rung_q;
  assign queue_rung_o = '{qpn: 24'(ring_q)};

  logic unused_flush_load;
  logic [QpBits-1:0] unused_flush_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_flush (
    .clk_i, .rst_ni,
    .push_valid_i(flush_push), .push_i(flush_push_qpn), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(flush_valid_o), .pop_ready_i(flush_pop_i), .pop_o(flush_qpn_o),
    .load_o(unused_flush_load), .load_index_o(unused_flush_index), .empty_o(flush_empty)
  );

  // Most receive queues ring in another state: those doorbells take no turn.
  vireo_table #(
    .Width(1),
    .Depth(NumQps)
  ) u_in_error (
    .clk_i,
    .rst_ni,
    .write_i(qp_state_write_valid_i),
    .write_address_i(QpBits'(qp_state_write_i.qpn)),
    .write_data_i(qp_state_write_i.state == 3'(IbQpStateErr)),
    .read_i(ring_take),
    .read_address_i(ring_d),
    .read_data_o(ring_in_error)
  );

  assign reflush_free_o = !reflush_valid_q;
  assign cleared_o = change_valid_q && change_clear_q;
  assign cleared_qpn_o = change_q;
  assign idle_o = !doorbell_valid && !retry_valid && !change_valid_q && !reflush_valid_q && !ring_valid_q && flush_empty;

endmodule
