// SPDX-License-Identifier: Apache-2.0

// A proof starts in reset, and reset may return in any later cycle. It constrains nothing else. In an induction step
// started_q is free like every register, which only adds resets.
module vireo_formal_reset (
  input logic clk_i,
  input logic rst_ni
);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begins_in_reset: assume (started_q || !rst_ni);

endmodule
