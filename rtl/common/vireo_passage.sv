// SPDX-License-Identifier: Apache-2.0

// Tells when nothing of some inputs of a vireo_arb_rr is on its way any more: neither in the arbiter nor in the slice of
// its consumer. Tokens of other inputs, which may come without end, do not count.
module vireo_passage #(
  parameter int unsigned Inputs  // that are watched
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [Inputs-1:0] enter_i,  // a token of the input enters the arbiter
  input  logic              leave_i,  // a token of any input leaves it
  input  logic              own_i,    // with leave_i: of an input that is watched
  input  logic              waits_i,  // the consumer's slice has a token
  output logic              idle_o
);

  localparam int unsigned SliceDepth = 2;
  localparam int unsigned Most = Inputs * SliceDepth + SliceDepth;  // in the arbiter
  localparam int unsigned CountBits = $clog2(Most + 1);
  localparam int unsigned LastBits = $clog2(SliceDepth + 1);

  logic [CountBits-1:0] count_d, count_q;  // tokens in the arbiter
  // Tokens after which the last one that left has left the slice, too.
  logic [LastBits-1:0] last_d, last_q;

  always_comb begin
    count_d = count_q - CountBits'(leave_i && own_i);
    for (int unsigned i = 0; i < Inputs; i++) count_d = count_d + CountBits'(enter_i[i]);
    last_d = last_q;
    if (leave_i && own_i) last_d = LastBits'(SliceDepth);
    else if (leave_i && last_q != '0) last_d = last_q - 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      last_q <= '0;
    end else begin
      count_q <= count_d;
      last_q <= last_d;
    end
  end

  assign idle_o = count_q == '0 && (last_q == '0 || !waits_i);

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) leave_i && own_i |-> count_q != '0)
  else $error("more tokens leave than entered");
`endif

endmodule
