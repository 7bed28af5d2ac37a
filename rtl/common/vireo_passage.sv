// SPDX-License-Identifier: Apache-2.0

// Tells when the tokens that one input of a vireo_arb_rr had before a certain cycle have left the arbiter and the slice
// of its consumer. Tokens that follow, of this input or of others, may come without end.
module vireo_passage #(
  localparam int unsigned SliceDepth = 2
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic enter_i,   // a token of the input enters the arbiter
  input  logic leave_i,   // a token of any input leaves it
  input  logic own_i,     // with leave_i: of the input
  input  logic waits_i,   // the consumer's slice has a token
  input  logic start_i,   // from now on it is about the tokens of before
  input  logic pending_i, // with start_i: one of them enters now or later
  output logic passed_o   // they have left; from the cycle after start_i on
);

  localparam int unsigned Most = 2 * SliceDepth + 1;  // in the arbiter, and one pending
  localparam int unsigned CountBits = $clog2(Most + 1);
  localparam int unsigned TailBits = $clog2(SliceDepth + 1);

  logic [CountBits-1:0] count_d, count_q;  // tokens of the input in the arbiter
  logic [CountBits-1:0] left_now, left_d, left_q;
  // Tokens after which the last one that left has left the slice, too.
  logic [TailBits-1:0] tail_now, tail_d, tail_q;

  always_comb begin
    count_d = count_q + CountBits'(enter_i) - CountBits'(leave_i && own_i);
    left_now = start_i ? count_q + CountBits'(pending_i) : left_q;
    tail_now = start_i ? TailBits'(SliceDepth) : tail_q;
    left_d = left_now;
    tail_d = tail_now;
    if (leave_i && left_now != '0) begin
      if (own_i) left_d = left_now - 1'b1;
    end else if (leave_i && tail_now != '0) begin
      tail_d = tail_now - 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      left_q <= '0;
      tail_q <= '0;
    end else begin
      count_q <= count_d;
      left_q <= left_d;
      tail_q <= tail_d;
    end
  end

  assign passed_o = left_q == '0 && (tail_q == '0 || !waits_i);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) leave_i && own_i |-> count_q != '0)
  else $error("more tokens leave than entered");
`endif

endmodule
