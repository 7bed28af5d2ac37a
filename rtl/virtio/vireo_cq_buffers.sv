// SPDX-License-Identifier: Apache-2.0

// Buffers of CQs, which vireo_cq_writer has requested ahead, the buffer for the next event, and the CQEs that wait for a
// buffer of their CQ (parked), in order. Answers of descriptor fetch are taken as they come, beside the state machine,
// and are stored behind the buffers that their CQ has; the end of each is a job (`filled`). It does not count what a CQ
// has: position_t does, and the state machine decides what is requested.
module vireo_cq_buffers
  import vireo_spec_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumCqs = Config.num_cqs  // 2 or more
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  input  logic                      buffer_valid_i,
  output logic                      buffer_ready_o,
  input  buffer_t                   buffer_i,

  output logic                      ask_free_o,      // buffers may be requested; at most `Asks` times
  input  logic                      ask_i,
  input  asked_t                    asked_i,
  input  logic [5:0]                ask_count_i,
  output logic                      buffer_request_valid_o,
  input  logic                      buffer_request_ready_i,
  output buffer_request_t           buffer_request_o,
  output logic                      filled_valid_o,  // a request was answered
  input  logic                      filled_pop_i,
  output filled_t                   filled_o,
  output logic [AskBits-1:0]        asks_o,          // requests whose end was not taken

  input  logic                      read_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [15:0]               read_cqn_i,      // of as many CQs as there are
  // verilator lint_on UNUSEDSIGNAL
  input  logic [BufferSlotBits-1:0] read_slot_i,
  output cached_t                   read_o,          // one cycle after read_i
  output logic                      event_ok_o,      // the last request for an event was answered with a buffer
  output cached_t                   event_o,

  input  logic                      park_i,
  output logic                      park_ready_o,
  input  parked_t                   park_data_i,
  output logic                      parked_valid_o,
  input  logic                      parked_pop_i,
  output parked_t                   parked_o,
  output logic [ParkBits-1:0]       parks_o
);

  localparam int unsigned CqBits = $clog2(NumCqs);
  localparam int unsigned Answers = 8;  // buffers at the input, which are taken as they come

  logic buffer_valid;
  // verilator lint_off UNUSEDSIGNAL
  buffer_t buffer;  // answers come in the order of the requests; chains: the first part holds all
  asked_t asked;
  // verilator lint_on UNUSEDSIGNAL

  vireo_fifo #(
    .Width(BufferBits),
    .Depth(Answers),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .s_valid_i(buffer_valid_i),
    .s_ready_o(buffer_ready_o),
    .s_data_i(buffer_i),
    .m_valid_o(buffer_valid),
    .m_ready_i(buffer_valid),
    .m_data_o(buffer)
  );

  logic ask_ready, asked_valid, asked_pop, filled_ready;
  filled_t filled_in;
  buffer_request_t request;
  logic [AskBits-1:0] asks_q;
  logic buffer_ok;
  logic bad;                                       // the buffer received cannot hold a CQE, or an event
  logic [BufferCountBits-1:0] fill_d, fill_q;      // buffers received for this request
  logic event_ok_q;
  cached_t event_q;

  vireo_output #(
    .Width(BufferRequestBits)
  ) u_request (
    .clk_i,
    .rst_ni,
    .free_o(ask_free_o),
    .load_i(ask_i),
    .data_i(request),
    .m_valid_o(buffer_request_valid_o),
    .m_ready_i(buffer_request_ready_i),
    .m_data_o(buffer_request_o)
  );
  assign request = '{client: BufferClientCompletion, vq_index: asked_i.vq_index, by_index: 1'b0, index: '0,
                     count: ask_count_i, default: '0};

  vireo_fifo #(
    .Width($bits(asked_t)),
    .Depth(Asks),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_asked (
    .clk_i,
    .rst_ni,
    .s_valid_i(ask_i),
    .s_ready_o(ask_ready),
    .s_data_i(asked_i),
    .m_valid_o(asked_valid),
    .m_ready_i(asked_pop),
    .m_data_o(asked)
  );

  vireo_fifo #(
    .Width($bits(filled_t)),
    .Depth(Asks),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_filled (
    .clk_i,
    .rst_ni,
    .s_valid_i(asked_pop),
    .s_ready_o(filled_ready),
    .s_data_i(filled_in),
    .m_valid_o(filled_valid_o),
    .m_ready_i(filled_pop_i),
    .m_data_o(filled_o)
  );

  always_comb begin
    buffer_ok = buffer.status == BufferStatusOk;
    bad = !buffer.writable || buffer.bytes < (asked.is_event ? 32'(RdmaEventBytes) : 32'(RdmaCqReqBytes));
    asked_pop = buffer_valid && buffer.last;
    fill_d = fill_q + BufferCountBits'(buffer_valid && buffer_ok);
    filled_in = '{is_event: asked.is_event, sure: asked.sure, cqn: asked.cqn, vq_index: asked.vq_index,
                  is_empty: buffer.status == BufferStatusEmpty, count: fill_d};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asks_q <= '0;
      fill_q <= '0;
    end else begin
      asks_q <= asks_q + AskBits'(ask_i) - AskBits'(filled_pop_i);
      fill_q <= asked_pop ? '0 : fill_d;
    end
  end
  always_ff @(posedge clk_i) begin
    if (buffer_valid && asked.is_event) begin
      event_ok_q <= buffer_ok;
      event_q <= '{bad: bad, head: buffer.head, address: buffer.address};
    end
  end
  assign asks_o = asks_q;
  assign event_ok_o = event_ok_q;
  assign event_o = event_q;

  vireo_ram_1r1w #(
    .Width($bits(cached_t)),
    .Depth(NumCqs * BufferSlots)
  ) u_cached (
    .clk_i,
    .write_i(buffer_valid && buffer_ok && !asked.is_event),
    .write_address_i({asked.cqn[CqBits-1:0], BufferSlotBits'(asked.base + fill_q[BufferSlotBits-1:0])}),
    .write_data_i({bad, buffer.head, buffer.address}),
    .read_i(read_i),
    .read_address_i({read_cqn_i[CqBits-1:0], read_slot_i}),
    .read_data_o(read_o)
  );

  logic [ParkBits-1:0] parks_q;

  vireo_fifo #(
    .Width($bits(parked_t)),
    .Depth(Parks),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_parked (
    .clk_i,
    .rst_ni,
    .s_valid_i(park_i),
    .s_ready_o(park_ready_o),
    .s_data_i(park_data_i),
    .m_valid_o(parked_valid_o),
    .m_ready_i(parked_pop_i),
    .m_data_o(parked_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parks_q <= '0;
    else parks_q <= parks_q + ParkBits'(park_i) - ParkBits'(parked_pop_i);
  end
  assign parks_o = parks_q;

`ifndef SYNTHESIS
  asked_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) ask_i |-> ask_ready);
  filled_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) asked_pop |-> filled_ready);
  buffer_was_asked_for: assert property (@(posedge clk_i) disable iff (!rst_ni) buffer_valid |-> asked_valid);
  parked_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) park_i |-> park_ready_o);
`endif

endmodule
