// SPDX-License-Identifier: Apache-2.0

// A push without back-pressure must have room.
// `disable iff` looks to Verilator like a synchronous use of the asynchronous reset.
/* verilator lint_off SYNCASYNCNET */
module vireo_room_sva (
  input logic clk_i,
  input logic rst_ni,
  input logic push_i,
  input logic room_i
);

  has_room: assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> room_i);

endmodule
/* verilator lint_on SYNCASYNCNET */
