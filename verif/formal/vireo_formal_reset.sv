// SPDX-License-Identifier: Apache-2.0

// A proof starts in reset, and reset may return in any later cycle. It constrains nothing else. In an induction step
// begun_q is free like every register, which only adds resets.
module vireo_formal_reset (
  input logic clk_i,
  input logic rst_ni
);

  logic begun_q;
  initial begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb begins_in_reset: assume (begun_q || !rst_ni);

endmodule
