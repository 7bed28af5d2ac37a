// SPDX-License-Identifier: Apache-2.0

// A train has no gap: once its first beat was offered, there is one in every cycle until its last was taken.
// `disable iff` looks to Verilator like a synchronous use of the asynchronous reset.
/* verilator lint_off SYNCASYNCNET */
module vireo_train_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic valid_i,
  input logic ready_i,
  input logic last_i
);

  unbroken: assert property (@(posedge clk_i) disable iff (!rst_ni) valid_i && !(ready_i && last_i) |=> valid_i);

endmodule
/* verilator lint_on SYNCASYNCNET */
