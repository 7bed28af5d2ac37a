// SPDX-License-Identifier: Apache-2.0

// One event that tests should cause at least once. Its name is that of the instance (vireo_cov_bind.sv).
// `disable iff` looks to Verilator like a synchronous use of the asynchronous reset.
/* verilator lint_off SYNCASYNCNET */
module vireo_point_cov (
  input logic clk_i,
  input logic rst_ni,
  input logic hit_i
);

  point: cover property (@(posedge clk_i) disable iff (!rst_ni) hit_i);

endmodule
/* verilator lint_on SYNCASYNCNET */
