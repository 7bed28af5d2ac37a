// SPDX-License-Identifier: Apache-2.0

// Queues with a pending avail_event, each once, with its latest value. Descriptor fetch is never stalled: vireo_cq_writer
// waits for its responses, so a stall could deadlock. It does not look whether the queue is enabled.
module vireo_avail_pending
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQueues = queues_of(Config)  // virtqueues; 2 or more
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         event_valid_i,  // a pulse of descriptor fetch
  input  avail_event_t event_i,
  output logic         avail_valid_o,
  input  logic         avail_pop_i,
  output avail_event_t avail_o,
  output logic         idle_o
);

  localparam int unsigned QueueBits = $clog2(NumQueues);

  // The value is written one cycle before the push, so that a load with which the push is merged reads the new value.
  logic in_valid_q, push_q;
  // verilator lint_off UNUSEDSIGNAL
  avail_event_t in_q;  // of as many queues as there are
  // verilator lint_on UNUSEDSIGNAL
  logic [QueueBits-1:0] push_vq_q;
  logic pending_valid, pending_ready, pending_load, pending_empty;
  logic [QueueBits-1:0] pending_vq, pending_load_vq;
  logic [15:0] pending_value;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q <= 1'b0;
      push_q <= 1'b0;
    end else begin
      in_valid_q <= event_valid_i;
      push_q <= in_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    in_q <= event_i;
    push_vq_q <= in_q.vq_index[QueueBits-1:0];
  end

  vireo_index_set #(
    .Entries(NumQueues),
    .Lookup(1'b1)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .push_valid_i(push_q),
    .push_i(push_vq_q),
    .hold_i(1'b0),
    .clear_i(1'b0),
    .pop_valid_o(pending_valid),
    .pop_ready_i(pending_ready),
    .pop_o(pending_vq),
    .load_o(pending_load),
    .load_index_o(pending_load_vq),
    .empty_o(pending_empty)
  );

  vireo_table #(
    .Width(16),
    .Depth(NumQueues)
  ) u_value (
    .clk_i,
    .rst_ni,
    .write_i(in_valid_q),
    .write_address_i(in_q.vq_index[QueueBits-1:0]),
    .write_data_i(in_q.idx),
    .read_i(pending_load),
    .read_address_i(pending_load_vq),
    .read_data_o(pending_value)
  );

  vireo_slice #(
    .Width(AvailEventBits)
  ) u_avail (
    .clk_i,
    .rst_ni,
    .s_valid_i(pending_valid),
    .s_ready_o(pending_ready),
    .s_data_i({16'(pending_vq), pending_value}),
    .m_valid_o(avail_valid_o),
    .m_ready_i(avail_pop_i),
    .m_data_o(avail_o)
  );

  assign idle_o = !in_valid_q && !push_q && pending_empty && !pending_valid && !avail_valid_o;

endmodule
