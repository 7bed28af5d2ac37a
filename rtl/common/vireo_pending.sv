// SPDX-License-Identifier: Apache-2.0

// A set of indices in the order in which they came: an index that waits already is not added again. For what is rung
// more often than it is served. A push is taken in every cycle and never lost; there is room for every index.
//
// An index waits from its push until the cycle in which it is loaded into the output register; a push in that cycle
// still adds nothing, one in the next cycle or later is new. The pop comes later than the load, so an index that is
// rung in the cycle of its pop or after it comes out once more. What load_o reads elsewhere for the output therefore
// sees what was written before the push in question, if that write came at least one cycle before the push.
//
// Which index waits is told by two bits per index in RAM, `in` and `out`, that differ while it does: the push side
// writes one, the load writes the other. After reset both are cleared, Entries cycles long; pushes are ignored
// meanwhile.
module vireo_pending #(
  parameter int unsigned Entries,  // 2 or more; indices are 0 ... Entries - 1
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 push_valid_i,
  input  logic [IndexBits-1:0] push_i,
  input  logic                 hold_i,       // 1: nothing is loaded; what is offered stays
  input  logic                 clear_i,      // 1: what waits is thrown away, one per cycle; what is offered stays
  output logic                 pop_valid_o,
  input  logic                 pop_ready_i,
  output logic [IndexBits-1:0] pop_o,
  output logic                 load_o,       // in this cycle load_index_o goes into the output; follows pop_ready_i
  output logic [IndexBits-1:0] load_index_o,
  output logic                 waiting_o     // something waits, or the block is not ready after reset
);

  localparam int unsigned FifoDepth = Entries < 4 ? 4 : 2 ** $clog2(Entries);
  localparam int unsigned CountBits = $clog2(Entries + 1);

  logic sweep_q;
  logic [IndexBits-1:0] sweep_index_q;
  logic push1_valid_q;
  logic [IndexBits-1:0] push1_index_q;
  logic last_valid_q, last_in_q;  // what was written to `in` one cycle ago: a read in that cycle did not see it
  logic [IndexBits-1:0] last_index_q;
  logic in_read, in_now, out_read;
  logic add;
  logic fifo_valid, fifo_take, fifo_in;
  logic [IndexBits-1:0] fifo_index;
  logic unused_fifo_ready;
  logic offer_valid_q;
  logic [IndexBits-1:0] offer_q;
  logic [CountBits-1:0] count_q;

  always_comb begin
    in_now = 1'b0;
    add = 1'b0;
    if (push1_valid_q) begin
      in_now = last_valid_q && last_index_q == push1_index_q ? last_in_q : in_read;
      add = in_now == out_read;
    end

    fifo_take = fifo_valid && (clear_i || (!hold_i && (!offer_valid_q || pop_ready_i)));
    load_o = fifo_take && !clear_i;
    load_index_o = fifo_index;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      sweep_index_q <= '0;
      push1_valid_q <= 1'b0;
      last_valid_q <= 1'b0;
      offer_valid_q <= 1'b0;
      count_q <= '0;
    end else if (sweep_q || push_valid_i || push1_valid_q || last_valid_q || offer_valid_q || count_q != '0) begin
      // Else nothing changes, and simulation passes it by.
      if (sweep_q) begin
        sweep_q <= sweep_index_q != IndexBits'(Entries - 1);
        sweep_index_q <= sweep_index_q + 1'b1;
      end
      push1_valid_q <= push_valid_i && !sweep_q;
      last_valid_q <= add;
      offer_valid_q <= load_o || (offer_valid_q && !pop_ready_i);
      count_q <= count_q + CountBits'(add) - CountBits'(fifo_take);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_valid_i) push1_index_q <= push_i;
    if (add) begin
      last_index_q <= push1_index_q;
      last_in_q <= !in_now;
    end
    if (load_o) offer_q <= fifo_index;
  end

  vireo_table #(
    .Width(1),
    .Depth(Entries)
  ) u_in (
    .clk_i,
    .rst_ni,
    .write_i(sweep_q || add),
    .write_address_i(sweep_q ? sweep_index_q : push1_index_q),
    .write_data_i(!sweep_q && !in_now),
    .read_i(push_valid_i),
    .read_address_i(push_i),
    .read_data_o(in_read)
  );

  vireo_table #(
    .Width(1),
    .Depth(Entries)
  ) u_out (
    .clk_i,
    .rst_ni,
    .write_i(sweep_q || fifo_take),
    .write_address_i(sweep_q ? sweep_index_q : fifo_index),
    .write_data_i(!sweep_q && fifo_in),
    .read_i(push_valid_i),
    .read_address_i(push_i),
    .read_data_o(out_read)
  );

  // Never full: each index is in it at most once.
  vireo_fifo #(
    .Width(1 + IndexBits),
    .Depth(FifoDepth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .s_valid_i(add),
    .s_ready_o(unused_fifo_ready),
    .s_data_i({!in_now, push1_index_q}),
    .m_valid_o(fifo_valid),
    .m_ready_i(fifo_take),
    .m_data_o({fifo_in, fifo_index})
  );

  assign pop_valid_o = offer_valid_q;
  assign pop_o = offer_q;
  assign waiting_o = sweep_q || push1_valid_q || count_q != '0;

endmodule
