// SPDX-License-Identifier: Apache-2.0

// A reset for one clock: begins when rst_ni falls, clock or not, and ends with the second edge after rst_ni rose, so
// that all flip-flops leave it in the same cycle.
module vireo_reset_sync (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no
);

  vireo_sync #(.Width(1)) u_sync (
    .clk_i,
    .rst_ni,
    .d_i(1'b1),
    .q_o(rst_no)
  );

endmodule
