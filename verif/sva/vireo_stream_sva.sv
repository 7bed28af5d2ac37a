// SPDX-License-Identifier: Apache-2.0

// Checks the standard handshake: an offered entry stays until it is accepted. Bound to the outputs of blocks (and to
// their inputs, where it checks the test).
// `disable iff` looks to Verilator like a synchronous use of the asynchronous reset.
/* verilator lint_off SYNCASYNCNET */
module vireo_stream_sva #(
  parameter int unsigned Width = 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] payload_i
);

  stays_valid: assert property (@(posedge clk_i) disable iff (!rst_ni) valid_i && !ready_i |=> valid_i);
  stays_equal: assert property (@(posedge clk_i) disable iff (!rst_ni) valid_i && !ready_i |=> $stable(payload_i));

endmodule
/* verilator lint_on SYNCASYNCNET */
