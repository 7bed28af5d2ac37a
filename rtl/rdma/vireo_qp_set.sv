// SPDX-License-Identifier: Apache-2.0

// A set of QPs that wait for something, first come first served. A push always succeeds; of a QP that waits already it
// adds nothing, unless it comes in the very cycle in which that QP is taken: who takes one in cycle t has read what was
// so before t, and must hear of it again. What is pushed in cycle t can be taken from t + 2 on.
//
// Which QP waits is told by two bits per QP in RAM, `in` and `out`, that differ while it does: the push writes one, the
// pop the other. After reset both are cleared, Entries cycles long; pushes are ignored meanwhile (vireo_qp_control gives
// no order before). That does not count for empty_o: the clock must run for as long (vireo_retry_timer, which is cleared
// likewise, sees to it).
//
// Unlike vireo_pending, whose reader looks up what belongs to an index when it is loaded, and which takes 4 cycles.
module vireo_qp_set #(
  parameter int unsigned Entries,  // QPs; a power of two, 2 or more
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 push_valid_i,
  input  logic [IndexBits-1:0] push_i,
  output logic                 pop_valid_o,
  input  logic                 pop_ready_i,
  output logic [IndexBits-1:0] pop_o,
  output logic                 empty_o
);

  localparam int unsigned FifoDepth = Entries < 4 ? 4 : Entries;

  // A place in the order: what the pop writes to `out`.
  typedef struct packed {
    logic in;
    logic [IndexBits-1:0] qpn;
  } place_t;

  logic sweep_q;
  logic [IndexBits-1:0] sweep_index_q;
  logic push_valid_q;
  logic [IndexBits-1:0] push_q;
  logic in_read, out_read, in_now, out_now;
  logic add, pop, passes;
  logic added_q, popped_q;  // in the cycle before, which what was read then does not show
  place_t place, added_place_q, popped_place_q;
  logic fifo_push, fifo_valid, unused_fifo_ready;
  place_t fifo_place, first;
  logic passed_valid_q;  // the only one, which needed not wait for the RAM of the order
  place_t passed_q;
  logic [IndexBits:0] count_q;

  always_comb begin
    in_now = 1'b0;
    out_now = 1'b0;
    add = 1'b0;
    if (push_valid_q) begin
      in_now = added_q && added_place_q.qpn == push_q ? added_place_q.in : in_read;
      out_now = popped_q && popped_place_q.qpn == push_q ? popped_place_q.in : out_read;
      add = push_valid_q && in_now == out_now;
    end
    place = '{in: !in_now, qpn: push_q};

    first = passed_valid_q ? passed_q : fifo_place;
    pop = pop_valid_o && pop_ready_i;
    passes = add && count_q == (IndexBits + 1)'(pop);
    fifo_push = add && !passes;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      sweep_index_q <= '0;
      push_valid_q <= 1'b0;
      added_q <= 1'b0;
      popped_q <= 1'b0;
      passed_valid_q <= 1'b0;
      count_q <= '0;
    end else if (sweep_q || push_valid_i || push_valid_q || added_q || popped_q || count_q != '0) begin
      // Else nothing changes, and simulation passes it by.
      if (sweep_q) begin
        sweep_q <= sweep_index_q != IndexBits'(Entries - 1);
        sweep_index_q <= sweep_index_q + 1'b1;
      end
      push_valid_q <= push_valid_i && !sweep_q;
      added_q <= add;
      popped_q <= pop;
      passed_valid_q <= passes || (passed_valid_q && !pop_ready_i);
      count_q <= count_q + (IndexBits + 1)'(add) - (IndexBits + 1)'(pop);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_valid_i) push_q <= push_i;
    if (add) added_place_q <= place;
    if (pop) popped_place_q <= first;
    if (passes) passed_q <= place;
  end

  vireo_table #(.Width(1), .Depth(Entries)) u_in (
    .clk_i, .rst_ni,
    .write_i(sweep_q || add), .write_address_i(sweep_q ? sweep_index_q : push_q),
    .write_data_i(!sweep_q && place.in),
    .read_i(push_valid_i), .read_address_i(push_i), .read_data_o(in_read)
  );
  vireo_table #(.Width(1), .Depth(Entries)) u_out (
    .clk_i, .rst_ni,
    .write_i(sweep_q || pop), .write_address_i(sweep_q ? sweep_index_q : first.qpn),
    .write_data_i(!sweep_q && first.in),
    .read_i(push_valid_i), .read_address_i(push_i), .read_data_o(out_read)
  );

  // Never full: each QP is in it at most once.
  vireo_fifo #(
    .Width($bits(place_t)),
    .Depth(FifoDepth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .s_valid_i(fifo_push),
    .s_ready_o(unused_fifo_ready),
    .s_data_i(place),
    .m_valid_o(fifo_valid),
    .m_ready_i(pop_ready_i && !passed_valid_q),
    .m_data_o(fifo_place)
  );

  assign pop_valid_o = passed_valid_q || fifo_valid;
  assign pop_o = first.qpn;
  assign empty_o = count_q == '0 && !push_valid_q;

endmodule
