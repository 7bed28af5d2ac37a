// SPDX-License-Identifier: Apache-2.0

// A FIFO of indices without duplicates: a push of an index that is already in it has no effect. Used where requests can
// be merged, e.g. doorbells. Accepts one push per cycle without backpressure; there is space for every index.
//
// Lookup = 0: an index pushed in cycle t can be popped from t + 2 on. A push in the cycle in which its index is popped
// enters it again, because the user that pops in cycle t has read state from before t.
//
// Lookup = 1: the output is a register. load_o marks the cycle in which load_index_o is loaded, so that the user can
// read a RAM at the same time. An index pushed in cycle t is at the output from t + 4 on. A push up to the cycle of
// the load is merged; a later one enters the index again. A RAM read in the cycle of the load returns what was written
// at least one cycle before the push.
//
// An index is in the FIFO if its two bits in RAM, `in` and `out`, differ: a push toggles `in`, a pop copies it to
// `out`, so each RAM has a single writer. After reset, both RAMs are cleared in Entries cycles; pushes are ignored
// meanwhile.
module vireo_index_set #(
  parameter int unsigned Entries,  // 2 or more; indices are 0 ... Entries - 1
  parameter bit Lookup,
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 push_valid_i,
  input  logic [IndexBits-1:0] push_i,
  input  logic                 hold_i,       // Lookup: no load; the output is kept. Otherwise 0
  input  logic                 clear_i,      // Lookup: removes one index per cycle; the output is kept. Else 0
  output logic                 pop_valid_o,
  input  logic                 pop_ready_i,
  output logic [IndexBits-1:0] pop_o,
  output logic                 load_o,       // Lookup: the output is loaded; else a pop. Depends on pop_ready_i
  output logic [IndexBits-1:0] load_index_o,
  // No index is in the FIFO; with Lookup, the output register does not count. While the RAMs are cleared after reset: 0
  // with Lookup; otherwise 1, and the user must keep the clock running that long (vireo_retry_timer, which has the same
  // initialization, does).
  output logic                 empty_o
);

  if (Entries < 2) $fatal(1, "Entries is less than 2");

  localparam int unsigned FifoDepth = Entries < 4 ? 4 : 2 ** $clog2(Entries);
  localparam int unsigned CountBits = $clog2(Entries + 1);

  // An entry of the FIFO: `in` is the value that the pop writes to `out`.
  typedef struct packed {
    logic in;
    logic [IndexBits-1:0] index;
  } place_t;

  logic sweep_q;
  logic [IndexBits-1:0] sweep_index_q;
  logic push_valid_q;
  logic [IndexBits-1:0] push_q;
  logic in_read, out_read, in_now, out_now;
  logic add, take, passes, offers;
  logic added_q, taken_q;  // in the previous cycle; the RAM read of that cycle does not see it
  place_t place, first, added_place_q, taken_place_q;
  logic fifo_push, fifo_ready, fifo_valid, fifo_pop;
  place_t fifo_place;
  logic [CountBits-1:0] count_q;

  always_comb begin
    in_now = 1'b0;
    out_now = 1'b0;
    add = 1'b0;
    if (push_valid_q) begin
      in_now = added_q && added_place_q.index == push_q ? added_place_q.in : in_read;
      out_now = !Lookup && taken_q && taken_place_q.index == push_q ? taken_place_q.in : out_read;
      add = in_now == out_now;
    end
    place = '{in: !in_now, index: push_q};
    // The only index bypasses the FIFO's RAM.
    passes = !Lookup && add && count_q == CountBits'(take);
    fifo_push = add && !passes;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      sweep_index_q <= '0;
      push_valid_q <= 1'b0;
      added_q <= 1'b0;
      taken_q <= 1'b0;
      count_q <= '0;
    end else if (sweep_q || push_valid_i || push_valid_q || added_q || taken_q || offers || count_q != '0) begin
      // Otherwise nothing changes; the condition speeds up simulation.
      if (sweep_q) begin
        sweep_q <= sweep_index_q != IndexBits'(Entries - 1);
        sweep_index_q <= sweep_index_q + 1'b1;
      end
      push_valid_q <= push_valid_i && !sweep_q;
      added_q <= add;
      taken_q <= take;
      count_q <= count_q + CountBits'(add) - CountBits'(take);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_valid_i) push_q <= push_i;
    if (add) added_place_q <= place;
    if (take) taken_place_q <= first;
  end

  vireo_table #(.Width(1), .Depth(Entries)) u_in (
    .clk_i, .rst_ni,
    .write_i(sweep_q || add), .write_address_i(sweep_q ? sweep_index_q : push_q),
    .write_data_i(!sweep_q && place.in),
    .read_i(push_valid_i), .read_address_i(push_i), .read_data_o(in_read)
  );
  vireo_table #(.Width(1), .Depth(Entries)) u_out (
    .clk_i, .rst_ni,
    .write_i(sweep_q || take), .write_address_i(sweep_q ? sweep_index_q : first.index),
    .write_data_i(!sweep_q && first.in),
    .read_i(push_valid_i), .read_address_i(push_i), .read_data_o(out_read)
  );

  vireo_fifo #(
    .Width($bits(place_t)),
    .Depth(FifoDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .s_valid_i(fifo_push),
    .s_ready_o(fifo_ready),
    .s_data_i(place),
    .m_valid_o(fifo_valid),
    .m_ready_i(fifo_pop),
    .m_data_o(fifo_place)
  );

  if (Lookup) begin : gen_register
    logic offer_valid_q;
    logic [IndexBits-1:0] offer_q;

    assign take = fifo_valid && (clear_i || (!hold_i && (!offer_valid_q || pop_ready_i)));
    assign fifo_pop = take;
    assign first = fifo_place;
    assign load_o = take && !clear_i;
    assign offers = offer_valid_q;
    assign pop_valid_o = offer_valid_q;
    assign pop_o = offer_q;
    assign empty_o = !sweep_q && !push_valid_q && count_q == '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) offer_valid_q <= 1'b0;
      else if (load_o || offer_valid_q) offer_valid_q <= load_o || !pop_ready_i;
    end
    always_ff @(posedge clk_i) begin
      if (load_o) offer_q <= fifo_place.index;
    end
  end else begin : gen_direct
    logic passed_valid_q;
    place_t passed_q;

    assign pop_valid_o = passed_valid_q || fifo_valid;
    assign take = pop_valid_o && pop_ready_i;
    assign fifo_pop = pop_ready_i && !passed_valid_q;
    assign first = passed_valid_q ? passed_q : fifo_place;
    assign load_o = take;
    assign offers = passed_valid_q;
    assign pop_o = first.index;
    assign empty_o = count_q == '0 && !push_valid_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) passed_valid_q <= 1'b0;
      else if (passes || passed_valid_q) passed_valid_q <= passes || !pop_ready_i;
    end
    always_ff @(posedge clk_i) begin
      if (passes) passed_q <= place;
    end
  end
  assign load_index_o = first.index;

`ifndef SYNTHESIS
  never_full: assert property (@(posedge clk_i) disable iff (!rst_ni) fifo_push |-> fifo_ready);
  exists: assert property (@(posedge clk_i) disable iff (!rst_ni) push_valid_i |-> 32'(push_i) < Entries);
  no_hold: assert property (@(posedge clk_i) disable iff (!rst_ni) Lookup || !(hold_i || clear_i));
`endif

endmodule
