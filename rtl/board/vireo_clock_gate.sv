// SPDX-License-Identifier: Apache-2.0

// A clock that runs in the cycles of clk_i with enable_i = 1, which comes from a register of clk_i. This is what the
// primitives of FPGAs do, and a board replaces it by its own: DCCA of ECP5, BUFGCE of UltraScale+.
module vireo_clock_gate (
  input  logic clk_i,
  input  logic enable_i,
  output logic clk_o
);

  logic enable_q;

  // Transparent while the clock is low, so that clk_o has whole pulses only.
  always_latch begin
    if (!clk_i) enable_q = enable_i;
  end
  assign clk_o = clk_i & enable_q;

endmodule
